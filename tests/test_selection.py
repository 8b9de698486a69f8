"""What a private choice needs: both theorems of chapter 2 against exact laws, with broken twins."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.optimize import linprog

from dpnb.arrays import Floats
from dpnb.data.datasets import load
from dpnb.privacy import laws
from dpnb.trees import scores
from private_trees.studies import selection

START = np.array([0])


def flip(u: Floats, rate: float) -> Floats:
    return laws.PermuteAndFlip(u, START, np.array(rate)).probabilities()


def exponential(u: Floats, rate: float) -> Floats:
    return np.exp(laws.Exponential(u, START, np.array(rate), np.ones(len(u))).log_probabilities())


def instances() -> Iterator[tuple[Floats, float, float]]:
    """Scores, a rate and a gap; every third instance has one leader and equal rivals, the worst case."""
    rng = np.random.default_rng(3)
    for i in range(400):
        k = int(rng.integers(2, 30))
        u = -(10 ** rng.uniform(-1, 1)) * rng.exponential(size=k)
        gap = float(rng.uniform(0.1, 5))
        if i % 3 == 0:
            u = np.where(np.arange(k) == 0, 0.0, -gap)
        yield u, float(10 ** rng.uniform(-1, 0.5)), gap


def broken_bounds(share: float, mechanism: Callable[[Floats, float], Floats]) -> int:
    """Instances on which more mass than ``share`` a candidate and e^(−γg) lies at least g behind the best."""
    broken = 0
    for u, rate, gap in instances():
        far = u <= u.max() - gap
        broken += mechanism(u, rate)[far].sum() > share * far.sum() * np.exp(-rate * gap) * (1 + 1e-9)
    return broken


@pytest.mark.parametrize(("mechanism", "share"), [(flip, 0.5), (exponential, 1.0)])
def test_few_choices_are_far_behind(mechanism: Callable[[Floats, float], Floats], share: float) -> None:
    assert broken_bounds(share, mechanism) == 0
    assert broken_bounds(share / 2, mechanism) > 0  # twin: half of the bound


def test_the_expected_error_is_at_most_the_logarithm() -> None:
    for u, rate, _ in instances():
        found = selection.regrets(u, rate=rate)
        assert found["PF"] <= found["EM"] * (1 + 1e-9)
        assert found["EM"] <= found["bound"] * (1 + 1e-9)
    twin = selection.regrets(np.where(np.arange(1000) == 0, 0.0, -5.0), rate=1.0)
    assert twin["PF"] > 0.5 * twin["bound"]  # half of the bound would be too little


@pytest.mark.parametrize("k", [2, 3, 10, 100])
@pytest.mark.parametrize("signal", [0.1, 1.0, 4.0, 8.0])
def test_formulas_are_the_laws(k: int, signal: float) -> None:
    u = np.where(np.arange(k) == 0, 0.0, -signal)
    for formula, law in ((selection.flip_miss, flip), (selection.exponential_miss, exponential)):
        np.testing.assert_allclose(formula(k, np.array(signal)), 1 - law(u, 1.0)[0], rtol=1e-9, atol=1e-12)


def node(k: int, gap: int, pad: int, leader: int) -> list[Floats]:
    """Tables (branches, classes) of every attribute on the theorem's data set; no leader: the common part."""
    common = [(np.zeros(k, int), 0)] * gap + [(np.zeros(k, int), c) for c in (0, 1)] * pad
    raised = [(np.eye(k, dtype=int)[leader], 1)] * gap if leader >= 0 else []
    tables = [np.zeros((2, 2)) for _ in range(k)]
    for x, c in common + raised:
        for j in range(k):
            tables[j][x[j], c] += 1
    return tables


@pytest.mark.parametrize(("k", "gap", "pad"), [(2, 1, 0), (3, 4, 0), (5, 3, 7)])
def test_the_data_sets_have_the_gap(k: int, gap: int, pad: int) -> None:
    for leader in range(k):
        u = np.array([float(scores.MAX_CLASS_SUM(t)) for t in node(k, gap, pad, leader)])
        assert u[leader] - np.delete(u, leader).max() == gap
        assert u.min() == np.delete(u, leader).max()
        assert node(k, gap, pad, leader)[0].sum() == 2 * gap + 2 * pad


def best_possible(k: int, gap: int, epsilon: float) -> float:
    """Least largest miss of any ε-DP choice on the chains from the common part to each data set: a linear programme.

    By symmetry the leader has one probability at each step and the others share the rest equally.
    """
    rows, limits = [], []
    for m in range(gap):
        for a, b in ((m, m + 1), (m + 1, m)):
            leader, other = np.zeros(gap + 1), np.zeros(gap + 1)
            leader[[a, b]] = 1, -np.exp(epsilon)  # p_a ≤ e^ε p_b
            other[[a, b]] = -1, np.exp(epsilon)  # 1 − p_a ≤ e^ε (1 − p_b)
            rows += [leader, other]
            limits += [0.0, np.exp(epsilon) - 1]
    first = np.eye(gap + 1)[:1]
    found = linprog(
        -np.eye(gap + 1)[-1], np.array(rows), limits, A_eq=first, b_eq=[1 / k], bounds=(0, 1), method="highs"
    )
    return 1 - float(found.x[-1])


GRID = list(itertools.product([2, 3, 5, 10, 100], [1, 2, 5, 12], [0.1, 0.5, 1.0]))


def constant(epsilon: float) -> float:
    return float(1 - np.expm1(epsilon / 2) ** 2)


@pytest.mark.parametrize(("k", "gap", "epsilon"), GRID)
def test_nobody_misses_less(k: int, gap: int, epsilon: float) -> None:
    least = selection.least_miss(k, gap=gap, epsilon=epsilon)
    best = best_possible(k, gap, epsilon)
    assert least <= best + 1e-9
    assert best - 1e-9 <= selection.flip_miss(k, np.array(epsilon * gap)) <= 2 / constant(epsilon) * least
    if np.exp(epsilon * gap) >= k / 2:
        assert least >= constant(epsilon) * k / 4 * np.exp(-epsilon * gap) - 1e-12
    else:
        assert least >= 1 - np.exp(epsilon * gap) / k >= 0.5
    if k == 2:
        np.testing.assert_allclose(selection.flip_miss(2, np.array(epsilon * gap)), best, rtol=1e-6)


def test_a_bound_that_promises_too_much_is_caught() -> None:
    """Twin: without the constant of the step size, and a mechanism at twice its rate."""
    assert any(k / 4 * np.exp(-e * g) > best_possible(k, g, e) for k, g, e in GRID if np.exp(e * g) >= k / 2)
    assert any(
        selection.flip_miss(k, np.array(2 * e * g)) < best_possible(k, g, e) - 1e-6 for k, g, e in GRID
    )


def test_regret_at_the_root_falls_with_the_records() -> None:
    asked = {"score": scores.GINI, "epsilons": [0.1, 1.0], "shares": 6, "repeats": 2, "seed": 1}
    table = selection.root_regrets(load("adult-standin"), sizes=[200, 5000], **asked)  # type: ignore[arg-type]
    assert list(table["records"]) == [200, 200, 5000, 5000]
    assert (table["PF"] <= table["EM"] + 1e-12).all()
    assert (table["EM"] <= table["bound"]).all()
    few, many = table["PF"].to_numpy()[[1, 3]]
    assert many < few / 10


@pytest.mark.parametrize("candidates", [2, 10, 1000])
@pytest.mark.parametrize("miss", [0.01, 0.3])
def test_at_the_lead_that_is_needed_a_mechanism_misses_as_often_as_asked(
    candidates: int, miss: float
) -> None:
    rates = {"PF": 0.2, "EM": 0.3}
    leads = selection.leads_needed(candidates, miss=miss, rates=rates)
    u = np.zeros(candidates)
    for name, mechanism in (("PF", flip), ("EM", exponential)):
        u[1:] = -leads[name]
        assert 1 - mechanism(u, rates[name])[0] == pytest.approx(miss, rel=1e-6)
        u[1:] = -0.9 * leads[name]
        assert 1 - mechanism(u, rates[name])[0] > 1.02 * miss  # broken twin: a lead too short
