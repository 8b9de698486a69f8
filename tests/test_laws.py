"""Every law against its exact distribution, with broken twins.

Statistical tests compare counts with exact probabilities by a G-test whose false-alarm rate is 1e-9 a test.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, kstest, laplace

from dpnb.privacy.lattice import Lattice
from dpnb.privacy.laws import (
    DiscreteGaussian,
    Exact,
    Exponential,
    Gaussian,
    IntervalExponential,
    Laplace,
    PermuteAndFlip,
    Point,
    TwoSidedGeometric,
)

DRAWS = 100_000
FALSE_ALARM = 1e-9


def fits(counts: np.ndarray, probabilities: np.ndarray) -> bool:
    """G-test at the stated false-alarm rate."""
    expected = probabilities * counts.sum()
    if np.any(counts[expected == 0] > 0):
        return False
    if np.sum(expected > 0) == 1:
        return True
    seen = counts > 0
    g = 2 * np.sum(counts[seen] * np.log(counts[seen] / expected[seen]))
    return bool(chi2.sf(g, np.sum(expected > 0) - 1) > FALSE_ALARM)


def groups(scores: list[float], rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.tile(scores, DRAWS), np.arange(DRAWS) * len(scores), np.array(rate)


def one(scores: list[float], rate: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.array(scores), np.array([0]), np.array(rate)


SCORES = [0.0, -1.0, -3.0]


def test_permute_and_flip_probabilities() -> None:
    np.testing.assert_allclose(
        PermuteAndFlip(*one(SCORES, 1.0)).probabilities(), [0.79727, 0.18089, 0.02184], atol=5e-6
    )


def test_permute_and_flip_equals_its_definition_by_enumeration() -> None:
    """Sum over all orders of the product of flips."""
    from itertools import permutations

    rng = np.random.default_rng(1)
    for _ in range(20):
        scores = rng.integers(-5, 1, size=rng.integers(2, 6)).astype(float)
        accept = np.exp(0.7 * (scores - scores.max()))
        exact = np.zeros(len(scores))
        orders = list(permutations(range(len(scores))))
        for order in orders:
            survive = 1.0
            for r in order:
                exact[r] += survive * accept[r] / len(orders)
                survive *= 1 - accept[r]
        np.testing.assert_allclose(PermuteAndFlip(*one(list(scores), 0.7)).probabilities(), exact, atol=1e-12)


@pytest.mark.parametrize("rate", [0.1, 1.0, np.inf])
def test_permute_and_flip_draws(rate: float) -> None:
    drawn = PermuteAndFlip(*groups(SCORES, rate)).draw(np.random.default_rng(2))
    counts = np.bincount(drawn, minlength=3)
    assert fits(counts, PermuteAndFlip(*one(SCORES, rate)).probabilities())
    if rate == 1.0:  # broken twin: twice the rate
        assert not fits(counts, PermuteAndFlip(*one(SCORES, 2.0)).probabilities())


def test_permute_and_flip_is_tight() -> None:
    """[0, −4] against [−1, −3] at rate ε/2: log-ratio ε; monotone [0, −4] against [0, −3]: ε/2 at ε/2, ε at ε."""

    def loss(a: list[float], b: list[float], rate: float) -> float:
        pa, pb = (PermuteAndFlip(*one(s, rate)).probabilities() for s in (a, b))
        return float(np.abs(np.log(pa / pb)).max())

    for epsilon in (0.5, 1.0, 2.0, 4.0):
        assert loss([0, -4], [-1, -3], epsilon / 2) == pytest.approx(epsilon, rel=1e-9)
        assert loss([0, -4], [0, -3], epsilon / 2) == pytest.approx(epsilon / 2, rel=1e-9)
        assert loss([0, -4], [0, -3], epsilon) == pytest.approx(epsilon, rel=1e-9)
        assert loss([0, -4], [-1, -3], epsilon) > 1.5 * epsilon  # broken twin: doubled rate


def test_permute_and_flip_error_never_above_exponential() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        scores = list(rng.normal(scale=3, size=rng.integers(2, 9)))
        gaps = np.array(scores) - max(scores)
        flip = -gaps @ PermuteAndFlip(*one(scores, 0.5)).probabilities()
        exponential = -gaps @ np.exp(Exponential(*one(scores, 0.5), np.ones(len(scores))).log_probabilities())
        assert 1 - 1e-9 <= exponential / flip <= 2 + 1e-9


@pytest.mark.parametrize("rate", [0.0, 0.5, np.inf])
def test_exponential_draws(rate: float) -> None:
    measure = np.array([0.2, 0.5, 0.3])
    exact = np.exp(Exponential(*one(SCORES, rate), measure).log_probabilities())
    if rate == 0.5:
        weights = np.exp(0.5 * np.array(SCORES)) * [0.2, 0.5, 0.3]
        np.testing.assert_allclose(exact, weights / weights.sum())
    drawn = Exponential(*groups(SCORES, rate), np.tile(measure, DRAWS)).draw(np.random.default_rng(4))
    counts = np.bincount(drawn, minlength=3)
    assert fits(counts, exact)
    assert not fits(counts, np.roll(exact, 1))


def test_exponential_groups_differ_in_size_and_rate() -> None:
    scores, starts = np.array([1.0, 2.0, 5.0, 5.0, 0.0]), np.array([0, 2, 4])
    law = Exponential(scores, starts, np.array([np.log(3), 1.0, 2.0]), np.ones(5))
    np.testing.assert_allclose(np.exp(law.log_probabilities()), [0.25, 0.75, 0.5, 0.5, 1.0])
    assert np.all(law.draw(np.random.default_rng(0)) < [2, 2, 1])


def test_impossible_candidates_are_never_chosen() -> None:
    measure = np.tile([1.0, 0.0, 1.0], DRAWS)
    drawn = Exponential(*groups([0, 9, -3], 0.5), measure).draw(np.random.default_rng(5))
    assert set(drawn) == {0, 2}


UNIT = Lattice.of(np.zeros(1), np.ones(1))


def intervals(rate: float, copies: int = 1) -> IntervalExponential:
    """One continuous option cut at .25 and .75 with scores 0, 2, 1, and an atom of an option of two values."""
    scores, low, high = [0.0, 2.0, 1.0, 1.5], [0.0, 0.25, 0.75, 1.0], [0.25, 0.75, 1.0, 1.0]
    measure = np.array([0.25, 0.5, 0.25, 0.5])
    choice = Exponential(
        np.tile(scores, copies), np.arange(copies) * 4, np.array(rate), np.tile(measure, copies)
    )
    lattice = UNIT.of_each(np.zeros(2, int))
    return IntervalExponential(
        choice, np.tile([0, 0, 0, 1], copies), np.tile(low, copies), np.tile(high, copies), lattice
    )


def test_interval_exponential_matches_its_law() -> None:
    point = intervals(1.0, DRAWS).draw(np.random.default_rng(6))
    mass = np.exp(intervals(1.0).choice.log_probabilities())
    edges = np.array([0, 0.125, 0.25, 0.5, 0.75, 1.0])
    inside, _ = np.histogram(point.value[point.option == 0], edges)
    share = np.array([0.5, 0.5, 0.5, 0.5, 1.0])
    cells = np.append(inside, np.sum(point.option == 1))
    exact = np.append(mass[[0, 0, 1, 1, 2]] * share, mass[3])
    assert fits(cells, exact)
    assert not fits(cells, np.append(np.diff(edges) * (1 - mass[3]), mass[3]))  # broken twin: lengths alone
    assert np.all(point.value[point.option == 1] == 1.0)
    drawn = point.value[point.option == 0]
    assert (UNIT.at(UNIT.up_to(drawn)) == drawn).all()  # on the lattice
    assert (drawn > 0).all()


def test_the_law_of_a_point_does_not_depend_on_how_the_data_cut_the_domain() -> None:
    whole = intervals(1.0)
    c = whole.choice
    at = [0, 1, 1, 2, 3]
    finer = IntervalExponential(
        Exponential(c.scores[at], c.starts, c.rate, np.array([0.25, 0.125, 0.375, 0.25, 0.5])),
        whole.option[at],
        np.array([0.0, 0.25, 0.375, 0.75, 1.0]),
        np.array([0.25, 0.375, 0.75, 1.0, 1.0]),
        whole.lattice,
    )
    for option, value in ((0, 0.0625), (0, 0.25), (0, 0.375), (0, 0.9375), (1, 1.0)):
        point = Point(np.array([option]), np.array([value]))
        assert finer.log_density(point) == pytest.approx(whole.log_density(point))
    assert whole.log_density(Point(np.array([1]), np.array([0.5]))) == -np.inf
    points = [Point(np.array([0]), np.array([v])) for v in np.arange(0.005, 1, 0.01)]
    mass = sum(float(np.exp(whole.log_density(p))[0] * UNIT.size[0] * 0.01) for p in points)
    assert mass + np.exp(whole.log_density(Point(np.array([1]), np.array([1.0])))) == pytest.approx(1.0)


def test_laplace() -> None:
    law = Laplace(np.zeros(DRAWS), np.array(2.0))
    drawn = law.draw(np.random.default_rng(7))
    assert kstest(drawn, laplace(scale=2).cdf).pvalue > FALSE_ALARM
    assert kstest(drawn, laplace(scale=1).cdf).pvalue < FALSE_ALARM  # broken twin: halved noise
    np.testing.assert_allclose(law.log_density(drawn), laplace(scale=2).logpdf(drawn))


def test_geometric() -> None:
    law = TwoSidedGeometric(np.full(DRAWS, 3), np.array(1.5))
    drawn = law.draw(np.random.default_rng(8))
    support = np.arange(-12, 19)
    exact = np.exp(TwoSidedGeometric(np.full(31, 3), np.array(1.5)).log_density(support))
    assert exact.sum() == pytest.approx(1, abs=1e-3)
    counts = np.array([np.sum(drawn == k) for k in support])
    assert fits(counts, exact / exact.sum())
    assert not fits(counts, np.exp(-np.abs(support - 3) / 0.75) / np.exp(-np.abs(support - 3) / 0.75).sum())


def test_gaussian() -> None:
    law = Gaussian(np.zeros(DRAWS), np.array(3.0))
    drawn = law.draw(np.random.default_rng(9))
    assert kstest(drawn / 3, "norm").pvalue > FALSE_ALARM
    assert kstest(drawn / 2.8, "norm").pvalue < FALSE_ALARM
    assert law.log_density(np.zeros(1))[0] == pytest.approx(-np.log(3 * np.sqrt(2 * np.pi)))


@pytest.mark.parametrize("law", [Laplace, Gaussian, TwoSidedGeometric, DiscreteGaussian])
def test_zero_scale_is_a_point_mass(law: type) -> None:
    exact = law(np.array([4, 7]), np.array(0.0))
    np.testing.assert_array_equal(exact.draw(np.random.default_rng(0)), [4, 7])
    np.testing.assert_array_equal(exact.log_density(np.array([4, 8])), [0, -np.inf])


def test_exact_release() -> None:
    law = Exact(np.array([True, False]))
    assert law.log_density(np.array([True, False])) == 0
    assert law.log_density(np.array([True, True])) == -np.inf


def test_a_point_of_a_narrow_domain_is_in_its_interval() -> None:
    """An interval holds its upper end and not its lower one, also where few numbers lie between them."""
    low, high = np.array([1e15]), np.array([1e15 + 0.125])
    choice = Exponential(scores=np.zeros(1), starts=np.array([0]), rate=np.array(1.0), measure=np.ones(1))
    lattice = Lattice.of(low, high)
    law = IntervalExponential(choice=choice, option=np.array([0]), low=low, high=high, lattice=lattice)
    rng = np.random.default_rng(0)
    drawn = [law.draw(rng) for _ in range(50)]
    assert all(np.isfinite(law.log_density(point)).all() for point in drawn)
    twin = [point._replace(value=low) for point in drawn]  # broken twin: what rounding gave half of the time
    assert all(np.isneginf(law.log_density(point)).all() for point in twin)


def test_real_numbers_in_an_interval_betray_its_ends() -> None:
    """Broken twin of the lattice: a uniform real number between cuts has digits that follow from them."""
    rng, cuts = np.random.default_rng(1), (0.1, 0.123456789)
    reachable = [low + (0.7 - low) * np.arange(2**12) / 2**12 for low in cuts]  # of a coarse uniform number
    assert len(np.intersect1d(*reachable)) < 10
    seen = []
    for low in cuts:
        choice = Exponential(np.zeros(1), np.array([0]), np.array(1.0), np.ones(1))
        ends = np.array([low]), np.array([0.7])
        law = IntervalExponential(choice, np.array([0]), *ends, Lattice.of(np.zeros(1), np.ones(1)))
        seen.append(np.concatenate([law.draw(rng).value for _ in range(200)]))
    for drawn in seen:
        assert (UNIT.at(UNIT.up_to(drawn)) == drawn).all()
