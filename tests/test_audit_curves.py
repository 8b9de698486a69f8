"""Trade-off curves: exact bands, bounds on mechanisms whose truth is known, and twins whose level breaks.

Private subjects are measured at confidence 1 - 1e-6: each such test fails by chance with probability 1e-6 at most.
Tests of a level count how often a bound fails in independent repetitions; a correct one fails so often with
probability below 1e-6.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpaudit.betting import gaussian_delta
from dpnb.privacy.accounting import Step, tight_epsilon
from dpnb.privacy.ledger import Event, Ledger
from private_trees.auditing.counts import clopper_pearson, epsilon_bound
from private_trees.auditing.curves import (
    DELTAS,
    ORDERS,
    PIN,
    attainable,
    band,
    gaussian_epsilon,
    stay_above,
    tradeoff,
)
from private_trees.exercises.audit import two_limits

SURE = 1 - 1e-6


def plausible(failures: int, repetitions: int, *, level: float) -> bool:
    """Whether so many failures are no rarer than 1e-6 at the level."""
    return bool(binom.sf(failures - 1, repetitions, level) > 1e-6)


def laplace(epsilon: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.laplace(size=n) / epsilon, 1 + rng.laplace(size=n) / epsilon


# --- Bands --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(0.1, 0.4), (0.3, 0.3), (0.0, 0.8)])
def test_two_order_statistics_by_hand(a: float, b: float) -> None:
    # U_(1) >= a and U_(2) >= b: none below a, and not both below b.
    by_hand = (1 - a) ** 2 - (b - a) ** 2
    assert stay_above(2, np.array([1, 2]), np.array([a, b])) == pytest.approx(by_hand, rel=1e-12)


def test_a_known_law_of_the_largest_deviation() -> None:
    # P(U_(k) >= s k / n for all k) = 1 - s (Daniels 1945).
    n = 50
    ranks = np.arange(1, n + 1)
    for s in (0.2, 0.7, 0.95):
        assert stay_above(n, ranks, s * ranks / n) == pytest.approx(1 - s, rel=1e-10)


@pytest.mark.parametrize("n", [1, 7, 60, 900])
def test_the_band_has_its_level_and_is_not_wasteful(n: int) -> None:
    alpha = 0.05
    values = band(n, alpha=alpha)
    order = np.sort(np.random.default_rng(n).random((4_000, n)), axis=1)
    fails = int((order < values[1:]).any(axis=1).sum())
    assert plausible(fails, 4_000, level=alpha)
    assert not plausible(4_000 - fails, 4_000, level=1 - 1.5 * alpha)
    wide = np.minimum(values * 1.05, 1)  # broken twin
    assert not plausible(int((order < wide[1:]).any(axis=1).sum()), 4_000, level=alpha) or n < 900


def test_dkw_loses_the_tails() -> None:
    n, alpha = 900, 0.05
    dkw = np.maximum(np.arange(n + 1) / n - math.sqrt(math.log(1 / alpha) / (2 * n)), 0)
    assert 1 - band(n, alpha=alpha)[n] < 0.2 * (1 - dkw[n])  # one never seen
    assert n / 2 / n - band(n, alpha=alpha)[n // 2] < 1.6 * (0.5 - dkw[n // 2])


def test_a_band_of_local_levels_without_union_breaks_its_level() -> None:
    n, alpha = 200, 0.05
    pointwise = clopper_pearson(np.arange(1, n + 1), n, alpha=2 * alpha)[0]
    order = np.sort(np.random.default_rng(0).random((2_000, n)), axis=1)
    assert not plausible(int((order < pointwise).any(axis=1).sum()), 2_000, level=alpha)


# --- Curves -------------------------------------------------------------------------------------------------


class Known(NamedTuple):
    """A pair of neighbours whose truth is known."""

    draw: Any
    exact: Any  # delta -> epsilon


def gaussian(mu: float) -> Known:
    return Known(
        lambda n, rng: (rng.normal(size=n), mu + rng.normal(size=n)),
        lambda delta: gaussian_epsilon(mu, delta=delta) if delta else math.inf,
    )


def response(epsilon: float, k: int = 2) -> Known:
    """Randomised response among k values."""

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        honest = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
        kept, other = rng.random((2, n)) < honest, rng.integers(1, k, (2, n))
        return np.where(kept[0], 0, other[0]).astype(float), np.where(kept[1], 1, (1 + other[1]) % k).astype(
            float
        )

    return Known(draw, lambda delta: epsilon)


MECHANISMS = {
    "Laplace 1": Known(lambda n, rng: laplace(1, n, rng), lambda delta: 1.0),
    "Laplace 4": Known(lambda n, rng: laplace(4, n, rng), lambda delta: 4.0),
    "response 2 of 5": response(2.0, 5),
    "Gaussian 1": gaussian(1.0),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_bounds_stay_below_the_truth_and_near_it(name: str) -> None:
    first, second = MECHANISMS[name].draw(4_000, np.random.default_rng(5))
    exact = MECHANISMS[name].exact
    sure = tradeoff(first, second, confidence=SURE)
    for delta in DELTAS:
        assert sure.epsilon(delta) <= exact(delta)
    focus = 0.1 if name.startswith("Gaussian") else 0.0
    usual = tradeoff(first, second, confidence=0.95, focus=focus)
    least = 0.6 if focus else 0.8  # at δ = 0.1 no method shows more than 0.89 of the exact ε half of the time
    assert least * exact(focus) <= usual.epsilon(focus) <= 1.1 * exact(focus)
    swapped = tradeoff(second, first, confidence=0.95, focus=focus)
    assert least * exact(focus) <= swapped.epsilon(focus) <= 1.1 * exact(focus)


def test_doubled_epsilon_is_convicted_and_the_claim_itself_is_not() -> None:
    curve = tradeoff(*laplace(2, 4_000, np.random.default_rng(1)), confidence=SURE)
    assert not curve.finding(2.0).violated
    found = curve.finding(1.0, subject="count", pair="one more")
    assert found.violated
    assert "on D′" in found.event
    assert found.trials == 8_000


def test_epsilon_and_delta_invert_each_other() -> None:
    curve = tradeoff(*gaussian(1.0).draw(2_000, np.random.default_rng(2)), confidence=0.95, focus="mu")
    for delta in (0.01, 0.1, 0.2):
        epsilon = curve.epsilon(delta)
        assert epsilon > 0
        assert curve.delta(epsilon) == pytest.approx(delta, abs=1e-9)
    values = [curve.epsilon(delta) for delta in DELTAS]
    assert values == sorted(values, reverse=True)


def test_mu_of_gaussian_noise() -> None:
    pair = gaussian(1.5).draw(20_000, np.random.default_rng(3))
    assert 0.93 * 1.5 <= tradeoff(*pair, confidence=0.95, focus="mu").mu() <= 1.5
    sure = tradeoff(*pair, confidence=SURE, focus="mu")
    assert sure.mu() <= 1.5
    assert sure.rho() <= 1.5**2 / 2
    assert sure.rho() > 0.5 * 1.5**2 / 2
    # A claim of μ = 1 is refuted, told as ε at δ; as a claim of (ε, δ) alone it is not.
    claim = gaussian_epsilon(1.0, delta=1e-5)
    assert sure.gaussian_epsilon(1e-5) > claim
    assert sure.epsilon(1e-5) < claim
    found = sure.finding(claim, delta=1e-5, gaussian=True)
    assert found.violated
    assert "μ ≥" in found.event
    assert not sure.finding(claim, delta=1e-5).violated
    assert not sure.finding(gaussian_epsilon(1.5, delta=1e-5), delta=1e-5, gaussian=True).violated


def test_rho_of_a_subject_that_is_no_gaussian() -> None:
    """Randomised response has KL below ε tanh(ε/2); μ-GDP does not follow from zCDP, and is not assumed."""
    epsilon = 1.0
    curve = tradeoff(*response(epsilon).draw(20_000, np.random.default_rng(4)), confidence=SURE)
    p = 1 / (1 + math.exp(-epsilon))
    orders, up, down = ORDERS[1:], math.log(p), math.log(1 - p)
    likely, rare = orders * up + (1 - orders) * down, orders * down + (1 - orders) * up
    renyi = np.logaddexp(likely, rare) / (orders - 1)
    rho = max(epsilon * (2 * p - 1), float((renyi / orders).max()))
    assert 0.8 * rho < curve.rho() <= rho


def test_gaussian_curve_agrees_with_the_accountant() -> None:
    for mu, delta in ((0.5, 1e-5), (1.0, 1e-3), (3.0, 0.1)):
        epsilon = gaussian_epsilon(mu, delta=delta)
        assert gaussian_delta(mu, epsilon=epsilon) == pytest.approx(delta, rel=1e-6)
        assert tight_epsilon((Step("gaussian", mu),), delta=delta) == pytest.approx(epsilon, rel=1e-4)
    assert gaussian_epsilon(0.1, delta=0.2) == 0
    with pytest.raises(ValueError, match="delta=0"):
        gaussian_epsilon(1.0, delta=0)


def booked(epsilon: float) -> Ledger:
    ledger = Ledger(claimed=epsilon)
    ledger.book(
        Event(mechanism="laplace", epsilon=np.array(epsilon), rho=np.array(epsilon**2 / 2), what="count")
    )
    return ledger


def test_a_ledger_is_a_claim_for_every_delta() -> None:
    pair = laplace(2, 4_000, np.random.default_rng(6))
    assert not tradeoff(*pair, confidence=SURE).against(booked(2.0)).violated
    found = tradeoff(*pair, confidence=SURE).against(booked(1.0))
    assert found.violated
    assert found.delta in DELTAS
    assert not tradeoff(*pair).against(booked(math.inf)).violated
    nothing = Ledger(claimed=1.0)  # nothing was booked, so that ε is 0 for every δ
    assert tradeoff(*pair).against(nothing).violated


def test_constant_outputs_show_nothing() -> None:
    curve = tradeoff(np.zeros((100, 2)), np.zeros((100, 2)))
    assert (curve.epsilon(), curve.mu(), curve.rho(), curve.delta(0.0)) == (0, 0, 0, 0)


def test_missing_values_and_rare_values_are_scored() -> None:
    rng = np.random.default_rng(7)
    first = np.where(rng.random(2_000) < 0.5, np.nan, 1.0)
    second = np.where(rng.random(2_000) < 0.05, np.nan, 1.0)
    curve = tradeoff(first, second, names=["answer"])
    assert 1.5 < curve.epsilon() < math.log(10)
    # A middle value that neither order of the numbers parts.
    first, second = rng.integers(0, 9, (2, 2_000)).astype(float)
    second[rng.random(2_000) < 0.5] = 4.0
    curve = tradeoff(first, second, names=["answer"])
    assert "log-odds" in curve.score
    assert 1.0 < curve.epsilon() < math.log(5)


def test_little_is_lost_against_one_event_at_the_best_threshold() -> None:
    """At the very threshold, by the exact test of both counts and the same outputs."""
    losses = []
    for seed in range(10):
        curve = tradeoff(*laplace(2, 4_000, np.random.default_rng(seed)), confidence=0.95, seed=seed)
        n, at = curve.measured[0], curve.pinned
        right = round(curve.seen_first[at] * n), round(curve.seen_second[at] * n)
        alone = max(
            epsilon_bound(right[1], n - right[0], n, n, confidence=0.95),
            epsilon_bound(right[0], n - right[1], n, n, confidence=0.95),
        )
        losses.append(alone - curve.epsilon())
    assert np.mean(losses) < 0.03 * 2


def chosen_on_the_same_outputs(first: np.ndarray, second: np.ndarray, alpha: float) -> float:
    """Largest bound over all columns and thresholds, each with the error probability of one event."""
    best = 0.0
    for x, y in zip(np.sort(first.T), np.sort(second.T), strict=True):
        cuts = np.concatenate([x, y])
        counts = [np.searchsorted(side, cuts, side="right") for side in (x, y)]
        (p_low, p_high), (q_low, q_high) = (clopper_pearson(k, len(x), alpha=alpha / 2) for k in counts)
        best = max(best, float(np.log(np.maximum(p_low / q_high, q_low / p_high).max())))
    return best


def test_a_threshold_chosen_on_the_same_outputs_breaks_the_level() -> None:
    alpha, repetitions, fails, broken = 0.05, 20, 0, 0
    for seed in range(repetitions):
        first, second = np.random.default_rng(seed).normal(size=(2, 200, 24))  # ε = 0
        fails += tradeoff(first, second, confidence=1 - alpha, seed=seed).epsilon() > 0
        broken += chosen_on_the_same_outputs(first, second, alpha) > 0
    assert plausible(fails, repetitions, level=alpha)
    assert not plausible(broken, repetitions, level=alpha)


def test_dkw_on_both_sides_without_a_union_breaks_the_level() -> None:
    n, alpha, repetitions = 500, 0.05, 4_000
    half = math.sqrt(math.log(1 / alpha) / (2 * n))
    draws = np.sort(np.random.default_rng(1).random((repetitions, 2, n)), axis=2)
    rank = np.arange(1, n + 1) / n
    failed = (draws < rank - half).any(axis=(1, 2))  # D by its order, D′ by the order turned round
    assert not plausible(int(failed.sum()), repetitions, level=alpha)
    kept = (draws < band(n, alpha=alpha / 2)[1:]).any(axis=(1, 2))
    assert plausible(int(kept.sum()), repetitions, level=alpha)


def test_pins_are_never_worse_than_the_band_alone() -> None:
    curve = tradeoff(*laplace(2, 2_000, np.random.default_rng(8)), confidence=0.95)
    n = curve.measured[0]
    alone = band(n, alpha=(1 - PIN) * 0.05 / 2) * (1 - 1e-9)
    counts = np.round(curve.seen_first * n).astype(int)
    assert (curve.right_first >= alone[counts]).all()
    assert (np.diff(curve.right_first) >= 0).all()
    assert (np.diff(curve.right_second) <= 0).all()


# --- What can be attained -----------------------------------------------------------------------------------


def test_attainable_is_what_the_exact_test_shows_at_the_median() -> None:
    for p, q, n in ((0.5, 0.5 * math.exp(-4), 2_000), (0.73, 0.27, 500), (0.5, 0.5 * math.exp(-4), 20_000)):
        exact = math.log(p / q)
        k, l = (int(binom.median(n, prob)) for prob in (p, q))  # noqa: E741
        best = attainable(p, q, runs=n, confidence=0.95)
        assert best < exact
        assert best == pytest.approx(epsilon_bound(k, l, n, n, confidence=0.95), rel=0.005)
        # Broken twin: two limits show less, although these pay for one direction only.
        assert best > 1.005 * two_limits(k, l, n, confidence=0.90)
    assert attainable(0.02, 0.01, runs=50, confidence=0.95) == 0


def test_attainable_of_a_sure_event_is_the_power_of_one_count() -> None:
    """With p near 1 only the other count matters: the exact binomial test of q."""
    q, n = 0.05, 400
    best = attainable(1 - 1e-12, q, runs=n, confidence=0.95)
    k = int(binom.median(n, q))
    ends = [-math.log(clopper_pearson(j, n, alpha=0.1)[1]) for j in (k + 1, k - 1)]
    assert ends[0] <= best <= ends[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tradeoff(np.zeros(10), np.zeros(100)), "runs >= 40"),
        (lambda: tradeoff(np.zeros((50, 2)), np.zeros((50, 3))), "2 and 3 columns"),
        (lambda: tradeoff(np.zeros(50), np.zeros(50), names=["a", "b"]), "2 names"),
        (lambda: tradeoff(np.zeros(50), np.zeros(50), focus=1.0), "delta"),
        (lambda: tradeoff(np.zeros(50), np.zeros(50), confidence=1.0), "confidence"),
        (lambda: tradeoff(np.zeros(50), np.zeros(50)).finding(0.0), "claimed"),
        (lambda: attainable(0.1, 0.2, runs=50, confidence=0.95), "p=0.1"),
    ],
)
def test_bad_numbers_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_normal_quantiles_of_the_curve() -> None:
    curve = tradeoff(*gaussian(1.0).draw(2_000, np.random.default_rng(9)), focus="mu")
    at = curve.pinned
    by_hand = norm.ppf(curve.right_first[at]) - norm.ppf(curve.false_negative[at])
    assert curve.mu() >= by_hand - 1e-12
    assert curve.false_positive[at] == 1 - curve.right_first[at]
