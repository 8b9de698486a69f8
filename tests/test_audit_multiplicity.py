"""Correction for many tests keeps the level; picking the best without it does not."""

from __future__ import annotations

import itertools
import math
import sys
from contextlib import nullcontext
from dataclasses import dataclass
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit import AuditSettings, pairs, scan, shared
from dpnb.replay import Finding
from private_trees.auditing.multiplicity import apart, e_bh, e_closed, holm

ALPHA, REPETITIONS, TESTS = 0.05, 4_000, 12


def plausible(failures: int, *, level: float = ALPHA) -> bool:
    return bool(binom.sf(failures - 1, REPETITIONS, level) > 1e-6)


def test_holm_by_hand() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]


def test_holm_keeps_the_level_and_the_smallest_p_value_does_not() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((REPETITIONS, TESTS))
    p[:, :4] = rng.random((REPETITIONS, 1))  # depend on each other
    p[:, 10:] *= 1e-6  # false hypotheses
    true = slice(0, 10)
    corrected = np.array([holm(row)[true].min() for row in p])
    assert plausible(int((corrected <= ALPHA).sum()))
    assert not plausible(int((p[:, true].min(axis=1) <= ALPHA).sum()))  # broken twin
    bonferroni = (p * TESTS)[:, true].min(axis=1)
    assert (corrected <= bonferroni).all()


def test_two_like_methods_are_told_apart_no_more_often_than_claimed() -> None:
    """Of 35 settings with five repeats; two standard errors each, without a correction, are the broken twin."""
    first, second = np.random.default_rng(2).normal(size=(2, REPETITIONS, 35, 5))
    found = sum(apart(*pair).min() < ALPHA for pair in zip(first, second, strict=True))
    assert plausible(found)
    assert round(100 * found / REPETITIONS) == 3  # as the page on how to read the book says
    gap = first.mean(axis=2) - second.mean(axis=2)
    error = np.sqrt((first.var(axis=2, ddof=1) + second.var(axis=2, ddof=1)) / 5)
    beyond = (np.abs(gap) > 2 * error).any(axis=1)
    assert not plausible(int(beyond.sum()))
    assert round(100 * beyond.mean()) == 95
    assert apart(first[0] + 3, second[0]).max() < ALPHA  # and what differs is seen


def bets(rng: np.random.Generator, repetitions: int) -> np.ndarray:
    """e-values 20 with probability 1/20, else 0; the first five are the same."""
    draws = rng.random((repetitions, TESTS))
    draws[:, 1:5] = draws[:, :1]
    return np.where(draws < ALPHA, 1 / ALPHA, 0.0)


def test_closed_e_values_keep_the_level_and_the_largest_does_not() -> None:
    e = bets(np.random.default_rng(1), REPETITIONS)
    assert plausible(int((np.array([e_closed(row).max() for row in e]) >= 1 / ALPHA).sum()))
    assert not plausible(int((e.max(axis=1) >= 1 / ALPHA).sum()))


def test_closed_e_values_by_all_sets() -> None:
    e = np.array([3.0, 0.2, 40.0, 1.0, 0.0])
    by_hand = [
        min(
            np.mean([e[j] for j in chosen])
            for size in range(1, 6)
            for chosen in itertools.combinations(range(5), size)
            if test in chosen
        )
        for test in range(5)
    ]
    assert e_closed(e).tolist() == pytest.approx(by_hand)


def test_e_bh_by_hand_and_by_its_rate() -> None:
    assert e_bh([100.0, 30.0, 1.0, 0.0], alpha=0.1).tolist() == [True, True, False, False]
    assert not e_bh([30.0, 1.0, 1.0, 0.0], alpha=0.1).any()
    e = bets(np.random.default_rng(2), REPETITIONS)
    e[:, 8:] = 1e4
    rejected = np.array([e_bh(row, alpha=ALPHA) for row in e])
    shares = rejected[:, :8].sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)
    assert rejected[:, 8:].all()
    assert shares.mean() < ALPHA
    raw = e >= 1 / ALPHA  # broken twin: each alone, on hypotheses that are all true
    alone = raw[:, :8].any(axis=1).mean()
    assert alone > ALPHA


def test_bounds_hold_together() -> None:
    assert shared(0.95, 1) == pytest.approx(0.95)
    assert shared(0.9, 10) == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: holm([0.5, 1.5]), "p-values"),
        (lambda: holm([]), "one or more"),
        (lambda: e_closed([-1.0]), "e-values"),
        (lambda: e_closed([math.nan]), "e-values"),
        (lambda: e_bh([1.0], alpha=1.0), "alpha"),
        (lambda: shared(0.9, 0), "tests=0"),
        (lambda: shared(1.0, 2), "confidence=1"),
    ],
)
def test_bad_numbers_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@dataclass(frozen=True)
class Found:
    finding: Finding


class Bets:
    """A hunt that finds all pairs odd and bets nothing."""

    def __init__(self, factory: Any, tried: Any, settings: AuditSettings) -> None:
        self.tried, self.settings, self.game = tried, settings, SimpleNamespace(runs=1, refuted=False)

    def at_work(self) -> Any:
        return nullcontext(self)

    def suspects(self) -> Any:
        return self.tried

    def go_on(self) -> None:
        """Spend nothing."""

    begin = check = go_on

    def bets(self) -> Any:
        nothing: Any = {"instrument": "betting", "lower_bound": 0.0, "event": "", "trials": 1}
        return Found(self.settings.finding(Finding, **nothing))


@pytest.mark.parametrize("kinds", [None, ["malformed"], ["empty"]])
def test_the_instruments_of_an_audit_share_its_level(kinds: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Union bound: what the bets may err, and each scan that may be made, is .01 together."""
    used: list[float] = []
    scanned: list[str] = []

    @wraps(scan)
    def look(*_: Any, confidence: float, pair: str, **__: Any) -> list[Any]:
        used.append(confidence)
        scanned.append(pair)
        return []

    module = sys.modules["dpaudit.examine"]
    monkeypatch.setattr(module, "scan", look)
    monkeypatch.setattr(module, "generators", look)
    monkeypatch.setattr(module, "Hunt", Bets)
    tried = pairs("add-remove", kinds=kinds)

    def error(claim: float) -> tuple[float, float]:
        """What may go wrong in all that was done, and in all that may be done."""
        used.clear()
        scanned.clear()
        found = module.examine(object, tried, AuditSettings(claimed=1.0, runs=100, confidence=1 - claim))
        bets = 1 - found.findings[-1].confidence
        return bets + sum(1 - each for each in used), bets + (len(tried) + 1) * (1 - used[0])

    done, most = error(0.01)
    assert most == pytest.approx(0.01)
    assert done <= most
    assert len(set(used)) == 1
    again = [pair for pair in set(scanned) if scanned.count(pair) > 1]
    assert again == [tried[0].name]  # the noise is drawn again on it
    monkeypatch.setattr(module, "shared", lambda confidence, tests: confidence)  # broken twin: each has all
    assert error(0.01)[0] > 0.01
