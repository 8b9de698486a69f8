"""Last bits and generators: honest subjects pass, broken twins are convicted.

Honest subjects are convicted with probability 1e-6 at most; with fixed seeds always or never.
"""

from __future__ import annotations

import datetime
import math
import os
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from time import time_ns
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpaudit import families, generators
from dpaudit.generators import CIRCUMSTANCES, clock_stopped, globals_reset, process_changed
from dpaudit.look import fine_bits
from dpnb import PrivateBooster
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.privacy.curator import open_curator
from dpnb.privacy.ledger import Ledger
from private_trees.auditing.counts import epsilon_bound
from private_trees.auditing.fixed import compare

SURE = 1 - 1e-6
RUNS = 2_000
PAIR = families()[0]
SIDES = PAIR.first, PAIR.second
Draw = Callable[[float, np.random.Generator], np.ndarray]


# --- Last bits ----------------------------------------------------------------------------------------------


def test_fine_bits_are_those_of_small_numbers_and_whole_ones_have_none() -> None:
    numbers = [0.3, -0.375, -0.1, 2.0**-1074, 0.5, 0.0, 5.0, -7.25, math.nan, math.inf]
    np.testing.assert_array_equal(fine_bits(numbers), [54, 3, 55, 1074, *[math.nan] * 6])
    rng = np.random.default_rng(0)
    drawn = rng.uniform(-0.5, 0.5, 200) * 2.0 ** rng.integers(-40, 1, 200)
    assert fine_bits(drawn).tolist() == [math.log2(value.as_integer_ratio()[1]) for value in drawn.tolist()]


def by_logarithm(count: float, rng: np.random.Generator) -> np.ndarray:
    u = rng.random(RUNS) - 0.5
    return count - np.sign(u) * np.log(1 - 2 * np.abs(u))


def by_numpy(count: float, rng: np.random.Generator) -> np.ndarray:
    return count + rng.laplace(size=RUNS)


def curator_draws(mechanism: str) -> Draw:
    def draw(count: float, rng: np.random.Generator) -> np.ndarray:
        curator = open_curator(rng=rng, ledger=Ledger(claimed=1.0))
        how: dict[str, Any] = {"epsilon": 1.0, "sensitivity": 1.0, "what": "count"}
        return np.asarray(getattr(curator, mechanism)(np.full(RUNS, int(count)), **how), float)

    return draw


def snapped(count: float, rng: np.random.Generator) -> np.ndarray:
    """Mironov's remedy: rounded to multiples of a power of two that is at least the scale, and cut off."""
    return np.clip(np.rint(by_logarithm(count, rng)), -40, 40)


def gaussian(count: float, rng: np.random.Generator) -> np.ndarray:
    return count + 2 * rng.normal(size=RUNS)


HONEST: dict[str, Draw] = {"geometric": curator_draws("geometric"), "snapped": snapped}
NAIVE: dict[str, Draw] = {"logarithm": by_logarithm, "NumPy": by_numpy, "curator": curator_draws("laplace")}


def told_apart(draw: Draw, *, bits: bool = True, **how: Any) -> Any:
    rng = np.random.default_rng(0)
    sides = [draw(records, rng)[:, None] for records in (0, 1)]
    columns = [np.concatenate([side, fine_bits(side)], axis=1) if bits else side for side in sides]
    return compare(*columns, **{"claimed": 1.0, "confidence": SURE, **how})


@pytest.mark.parametrize("name", [*NAIVE, *HONEST])
def test_floating_point_noise_is_convicted_and_whole_numbers_pass(name: str) -> None:
    """Below ½, bits below 2⁻⁵³ are possible for a count of 0 only: they cannot come from 1 + noise."""
    draw, broken = (NAIVE | HONEST)[name], name in NAIVE
    found = told_apart(draw)
    assert found.violated == broken
    assert (found.lower_bound > 2) == broken
    assert not told_apart(draw, bits=False).violated  # the numbers themselves keep the claim
    rng = np.random.default_rng(0)
    seen = [int((fine_bits(draw(records, rng)) > 53).sum()) for records in (0, 1)]
    shown = epsilon_bound(*seen, RUNS, RUNS, confidence=SURE)
    assert seen[1] == 0
    assert shown > 3 if broken else shown == 0


def test_normal_noise_is_convicted_at_its_last_digits() -> None:
    """In real numbers noise of sd 2 has δ = .0004 at ε = 1.5."""
    mu, epsilon = 0.5, 1.5
    delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert delta < 0.0005
    how: dict[str, Any] = {"claimed": epsilon, "delta": 0.01, "confidence": 0.99}
    assert told_apart(gaussian, **how).violated
    assert not told_apart(gaussian, bits=False, **how).violated


# --- Generators ---------------------------------------------------------------------------------------------


class Noisy:
    """A noisy count; where the noise comes from is the subject's affair."""

    def __init__(self, noise: Callable[[], float]) -> None:
        self.noise = noise

    def fit(self, X: Any, y: Any) -> Noisy:
        self.count_ = len(X) + self.noise()
        return self


def seconds() -> float:
    return float(np.random.default_rng(int(time.time())).laplace())


def nanoseconds() -> float:
    return random.Random(time_ns()).gauss()  # imported by name


def of_day() -> float:
    return random.Random(datetime.datetime.now().isoformat()).gauss()


def of_process() -> float:
    return random.Random(os.getpid()).gauss()


def of_both() -> float:
    return random.Random(os.getpid() ^ time.time_ns()).gauss()


REPEATED = {
    "a seed inside": (lambda: random.Random(3).gauss(), "as they come"),
    "the process": (of_process, "in one process"),
    "seconds": (seconds, "with the clock stopped"),
    "nanoseconds": (nanoseconds, "with the clock stopped"),
    "the date": (of_day, "with the clock stopped"),
    "clock and process": (of_both, "with the clock stopped"),
    "NumPy's globals": (lambda: float(np.random.laplace()), "with the global generators reset"),  # noqa: NPY002
    "Python's globals": (lambda: random.gauss(0, 1), "with the global generators reset"),
}
FRESH = {
    "NumPy": lambda: float(np.random.default_rng().laplace()),
    "the system": lambda: random.SystemRandom().gauss(),
    "a seed from the system": lambda: random.Random(os.urandom(16)).gauss(),
}


@pytest.fixture(autouse=True)
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves on by a second whenever it is read; dates go by the system's, which is finer than a fit."""
    ticks = count(1_000)
    monkeypatch.setattr(time, "time", lambda: float(next(ticks)))
    monkeypatch.setattr(time, "time_ns", lambda: next(ticks) * 10**9)
    monkeypatch.setitem(globals(), "time_ns", time.time_ns)


def repeated(noise: Callable[[], float], **more: Any) -> list[Any]:
    return generators(partial(Noisy, noise), *SIDES, claimed=1.0, **more)


@pytest.mark.parametrize("name", REPEATED)
def test_noise_that_repeats_itself_is_convicted(name: str) -> None:
    noise, words = REPEATED[name]
    (found,) = repeated(noise)
    assert found.path == "model.count_"
    assert f"fits {words}" in found.event
    assert found.flagged
    assert found.violated == (found.given == "")
    assert bool(found.given) == ("globals" in name)
    assert 1 < found.lower_bound < 1.2
    assert found.confidence == pytest.approx(SURE, abs=1e-6)


@pytest.mark.parametrize("name", FRESH)
def test_noise_of_the_system_passes(name: str) -> None:
    assert repeated(FRESH[name]) == []


def test_estimators_do_not_repeat_their_noise() -> None:
    """Their noise is the system's, not that of the clock, the process or the global generators; a seed is a twin."""
    small: Any = {"domain": PAIR.domain, "epsilon": 0.5}
    for factory in (
        partial(DiffPRFs, n_trees=6, max_depth=0, **small),
        partial(PrivateBooster, n_rounds=8, **small),
    ):
        assert generators(factory, *SIDES, claimed=0.5) == []
        twin = partial(factory, random_state=1)
        found = generators(twin, *SIDES, claimed=0.5, circumstances=CIRCUMSTANCES[:1])
        assert found
        assert all(finding.violated and "as they come" in finding.event for finding in found)


def test_what_is_held_fixed_is_let_go() -> None:
    def seen() -> list[Any]:
        return [time.time, time.time_ns, datetime.datetime, os.getpid, time_ns]

    before, state, python = seen(), np.random.get_state(), random.getstate()  # noqa: NPY002
    with clock_stopped(sys.modules[__name__]), process_changed():
        assert time.time() == time.time() == datetime.datetime.now().timestamp()
        assert time_ns() == time.time_ns()
        assert all(a is not b for a, b in zip(seen(), before, strict=True))
    with globals_reset():
        first = random.random(), np.random.random()  # noqa: NPY002
    with globals_reset():
        assert first == (random.random(), np.random.random())  # noqa: NPY002
    assert all(a is b for a, b in zip(seen(), before, strict=True))
    assert repr(np.random.get_state()) == repr(state)  # noqa: NPY002
    assert random.getstate() == python
