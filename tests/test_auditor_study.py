"""The study of curves: its truths are true, its instruments keep their level, and its twins do not."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import binom

from private_trees.auditing.curves import tradeoff
from private_trees.studies.auditor_curves import (
    CONFIDENCE,
    GAUSSIAN_DELTA,
    KNOWN,
    Cell,
    OnWorstPair,
    gaussian_mu,
)
from private_trees.studies.runs import read, wide

RANDOM = Cell(method="truth", dataset="add-remove", epsilon=1.0)


def shares(known: OnWorstPair, epsilon: float, name: str) -> tuple[float, float]:
    """How often the best event occurs on the side where it is likely, and on the other."""
    first, second = known.draw(epsilon, 20_000, RANDOM.random_state())
    if name in ("Laplace", "geometric"):
        return float((first <= 0).mean()), float((second <= 0).mean())
    if name == "exponential":
        return float((first == 0).mean()), float((second == 0).mean())
    if name == "permute-and-flip":
        both = float((first == 1).mean()), float((second == 1).mean())
        return max(both), min(both)
    cut = gaussian_mu(epsilon) / 2 + epsilon / gaussian_mu(epsilon)
    return float((second > cut).mean()), float((first > cut).mean())


@pytest.mark.parametrize("name", KNOWN)
def test_the_truths_are_true(name: str) -> None:
    known = KNOWN[name]
    for epsilon in (1.0, 2.0):
        p, q = shares(known, epsilon, name)
        near = math.log((p - known.delta) / q)
        assert near == pytest.approx(known.exact(epsilon), abs=0.35)
        if name == "Gaussian":
            assert p - math.exp(epsilon) * q == pytest.approx(GAUSSIAN_DELTA, abs=0.03)
        else:
            ((most, least),) = known.events(epsilon)
            assert (p, q) == pytest.approx((most, least), abs=0.015)
    twin = OnWorstPair(lambda e, n, rng: known.draw(2 * e, n, rng), known.exact, known.events, known.delta)
    p, q = shares(twin, 1.0, name)
    if name != "Gaussian":
        assert (p, q) != pytest.approx(known.events(1.0)[0], abs=0.015)


def failures(root: Path) -> pd.DataFrame:
    table = wide(read("auditor_coverage", root / "results"))
    return table.groupby("method")[["failures", "repetitions"]].sum()


def test_instruments_keep_their_level_and_twins_do_not(root: Path) -> None:
    table = failures(root)
    assert (table["repetitions"] >= 1_000).all()
    level = 1 - CONFIDENCE
    rare = binom.sf(table["failures"] - 1, table["repetitions"], level)
    for method, chance in zip(table.index, rare, strict=True):
        assert (chance < 1e-6) == method.startswith("twin: "), method


def test_no_curve_passes_what_can_be_attained_by_much(root: Path) -> None:
    table = wide(read("auditor_power", root / "results"))
    assert (table["curve"] <= table["attainable"] + 0.05).all()
    assert (table["known_event"] <= table["attainable"] + 0.02).all()


def test_a_curve_of_few_outputs_says_little() -> None:
    pair = KNOWN["Laplace"].draw(1.0, 40, RANDOM.random_state())
    assert tradeoff(*pair).epsilon() < 1
