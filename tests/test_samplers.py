"""Exact draws against exact laws and against OpenDP's, and what rounding would do to them: broken twins.

Statistical tests compare counts by a G-test whose false-alarm rate is 1e-9 a test.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest

from dpnb import Curator, Ledger
from dpnb.privacy import samplers
from dpnb.privacy.lattice import Lattice
from dpnb.privacy.laws import DiscreteGaussian, Exponential, PermuteAndFlip, TwoSidedGeometric
from test_laws import DRAWS, FALSE_ALARM, fits
from two_samples import chance

dp.enable_features("contrib")


class Scripted:
    """A generator that answers with given numbers; asked for more than there are, it fails."""

    def __init__(self, *numbers: float) -> None:
        self._numbers = list(numbers)
        self.asked = 0

    def random(self, shape: int | tuple[int, ...]) -> np.ndarray:
        self.asked += 1
        return np.full(shape, self._numbers.pop(0))

    def integers(self, high: int, *, size: int, dtype: type) -> np.ndarray:
        self.asked += 1
        return np.full(size, int(self._numbers.pop(0) * high), dtype)


def rounded(rng: Scripted, probability: np.ndarray) -> np.ndarray:
    """Broken twin of ``bernoulli``: one uniform number, compared as it is."""
    return rng.random(probability.shape) < probability


TINY = np.array([2.0**-60])


def test_a_probability_below_the_step_of_uniform_numbers_is_kept() -> None:
    """2⁻⁶⁰ = 2⁻⁵³ · 2⁻⁷: the first number has to be 0, the second below 2⁻⁷."""
    assert samplers.bernoulli(Scripted(0.0, 2.0**-7 - 2.0**-53), TINY).all()
    assert not samplers.bernoulli(Scripted(0.0, 2.0**-7), TINY).any()
    assert not samplers.bernoulli(Scripted(2.0**-53), TINY).any()
    assert rounded(Scripted(0.0), TINY).all()  # broken twin: true as often as 2⁻⁵³


@pytest.mark.parametrize("p", [0.0, 1.0, 0.5, 1 / 3, 0.1, 1e-300, 5e-324, 1 - 2.0**-53])
def test_bernoulli_takes_the_branch_that_the_binary_digits_say(p: float) -> None:
    """The probability of True, added up over the three ways that a number can fall in, is the probability itself."""
    mass, weight, left = Fraction(0), Fraction(1), Fraction(p)
    for _ in range(25):  # 1074 binary digits at most
        whole = int(left * 2**53)
        if whole:
            assert samplers.bernoulli(Scripted((whole - 1) / 2**53), np.array([float(left)])).all()
        if whole < 2**53 - 1:
            assert not samplers.bernoulli(Scripted((whole + 1) / 2**53), np.array([float(left)])).any()
        mass += weight * whole / 2**53
        left, weight = left * 2**53 - whole, weight / 2**53
    assert mass == Fraction(p)
    assert left == 0


def test_below_divides_the_unit_interval_into_equal_parts() -> None:
    rng = np.random.default_rng(2)
    for k, count in zip(
        rng.integers(2**53, size=3000).tolist(), rng.integers(1, 2**32 + 1, 3000).tolist(), strict=True
    ):
        first, last = k * count >> 53, ((k + 1) * count - 1) >> 53
        ends = [samplers.below(Scripted(k / 2**53, u), np.array([count]))[0] for u in (0.0, 1 - 2.0**-53)]
        assert set(ends) == {first, last}, (k, count)
    counts = np.bincount(samplers.below(rng, np.full(DRAWS, 3)))
    assert fits(counts, np.ones(3) / 3)
    assert not fits(counts, np.array([0.35, 0.33, 0.32]))


def test_below_decides_by_more_bits_where_the_first_leave_it_open() -> None:
    count, k = np.array([3]), 2**53 // 3  # 2⁵³/3 lies between k and k + 1
    share = (3 * (k + 1) - 2**53) / 3  # of the step that is above it
    assert samplers.below(Scripted(k / 2**53, share - 1e-9), count) == 1
    assert samplers.below(Scripted(k / 2**53, share + 1e-9), count) == 0


def choose(weights: Sequence[float], *numbers: float) -> int:
    return int(samplers.chosen(Scripted(*numbers), np.array(weights), np.array([0]))[0])


def test_a_choice_sees_weights_that_rounding_would_swallow() -> None:
    """1 + 2⁻⁶⁰ is 1 in floats: of two numbers in 2⁶⁰, the last candidate is one."""
    weights = [1.0, 2.0**-60]
    top = 1 - 2.0**-53
    assert choose(weights, top, 0.0) == 0
    assert choose(weights, top, 1 - 2.0**-53) == 1
    assert choose(weights, 0.5) == 0
    mass = np.cumsum(weights)  # broken twin: inversion with sums in floats
    assert np.searchsorted(mass, top * mass[-1], side="right") == 0
    assert choose([2.0**-60, 1.0], 0.0, 0.0) == 0
    assert choose([2.0**-60, 1.0], 2.0**-53, 0.0) == 1


def test_choices_agree_with_sums_of_fractions() -> None:
    """Wherever the first 53 bits decide, the choice is that of exact sums; elsewhere more bits are asked for."""
    rng = np.random.default_rng(3)
    undecided = 0
    for _ in range(400):
        weights = np.exp(-rng.exponential(12, size=int(rng.integers(1, 40))))
        weights[rng.random(len(weights)) < 0.2] = 0.0
        weights[0 if len(weights) == 1 else -1] = 1.0
        sums = np.cumsum([Fraction(w) for w in weights.tolist()])
        edge = sums[int(rng.integers(len(sums)))] / sums[-1]  # next to an end, where rounding would show
        k = min(max(int(edge * 2**53) + int(rng.integers(-1, 2)), 0), 2**53 - 1)
        low, high = (
            next(
                i
                for i, s in enumerate(sums)
                if s > Fraction(c, 2**53) * sums[-1] or (s == sums[-1] and c == 2**53)
            )
            for c in (k, k + 1)
        )
        script = Scripted(k / 2**53, 0.5)
        found = int(samplers.chosen(script, weights, np.array([0]))[0])
        assert low <= found <= high
        assert weights[found] > 0
        undecided += script.asked > 1
    assert undecided > 100


def test_groups_are_chosen_by_their_own_weights() -> None:
    weights, starts = np.tile([0.0, 0.5, 1.5, 0.0, 2.0], DRAWS // 2), np.arange(0, DRAWS // 2 * 5, 5)
    counts = np.bincount(samplers.chosen(np.random.default_rng(4), weights, starts) - starts, minlength=5)
    assert fits(counts, np.array([0, 0.125, 0.375, 0, 0.5]))
    assert not fits(counts, np.array([0, 0.125, 0.4, 0, 0.475]))


def distribution(
    law: TwoSidedGeometric | DiscreteGaussian, drawn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    support = np.arange(drawn.min() - 1, drawn.max() + 2)
    exact = np.exp(law.log_density(support))
    return np.bincount(drawn - support[0], minlength=len(support)), exact / exact.sum()


@pytest.mark.parametrize("sd", [0.3, 1.0, 2.7, 40.0])
def test_discrete_gaussian(sd: float) -> None:
    law = DiscreteGaussian(np.full(DRAWS, 7), np.array(sd))
    drawn = law.draw(np.random.default_rng(5))
    assert fits(*distribution(law_at(law, 7), drawn))
    assert not fits(*distribution(law_at(law, 8 + round(sd / 4)), drawn))
    whole = np.arange(-2000, 2000)
    assert np.exp(DiscreteGaussian(np.array([0]), np.array(sd)).log_density(whole)).sum() == pytest.approx(
        1, abs=1e-12
    )
    assert law.log_density(np.array([7.5]))[0] == -np.inf


class Digits:
    """A generator that hands out the binary digits of a number where they can be 1, and takes what is proposed."""

    def __init__(self, number: int, *, down: bool) -> None:
        self._left, self._down = number, down

    def random(self, shape: tuple[int, ...]) -> np.ndarray:
        if len(shape) == 1:
            return np.zeros(shape)  # whether a proposal is taken, or further bits
        drawn = np.full(shape, 1 - 2.0**-53)
        drawn[[digit for digit in range(shape[0]) if self._left >> digit & 1], int(self._down)] = 0.0
        self._left >>= shape[0]
        return drawn


def reached(mechanism: str, number: int, *, scale: float) -> bool:
    """Whether noise of a scale, drawn by a curator, can be so many steps up and down."""
    found = []
    for down in (False, True):
        c = Curator(rng=Digits(number, down=down), ledger=Ledger(claimed=1.0))  # type: ignore[arg-type]
        budget = {"epsilon": 1 / scale} if mechanism == "geometric" else {"rho": 0.5 / scale**2}
        noisy = getattr(c, mechanism)([0], sensitivity=1, what="count", **budget)
        found.append(int(noisy[0]) == (-number if down else number))
    return all(found)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.3, 1e3, 1e9, 2.0**50])
def test_the_tail_of_geometric_noise_ends_where_no_float_has_its_chance(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 744 scales a digit still has a chance above 0; what lies beyond has less than exp(−744) in all."""
    rng, honest = np.random.default_rng(0), samplers.geometric
    numbers = [int(744 * scale), *(int(n) for n in rng.uniform(127, 744, 6) * scale)]
    assert all(reached("geometric", number, scale=scale) for number in numbers)

    def cut(rng: np.random.Generator, scales: np.ndarray) -> np.ndarray:
        return np.minimum(honest(rng, scales), np.floor(63 * scales).astype(np.int64))

    monkeypatch.setattr(samplers, "geometric", cut)  # broken twin: ends at 63 scales
    assert not any(reached("geometric", number, scale=scale) for number in numbers)


@pytest.mark.parametrize("sd", [1.5, 40.0, 1e6])
def test_the_tail_of_discrete_gaussian_noise_ends_where_no_float_has_its_chance(
    sd: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond 38 standard deviations the chance of an outcome is below the least number, 5e-324."""
    assert reached("discrete_gaussian", int(38 * sd), scale=sd)
    honest = samplers.two_sided_geometric

    def cut(rng: np.random.Generator, scales: np.ndarray) -> np.ndarray:
        most = np.floor(20 * scales).astype(np.int64)
        return np.clip(honest(rng, scales), -most, most)

    monkeypatch.setattr(samplers, "two_sided_geometric", cut)  # broken twin
    assert not reached("discrete_gaussian", int(38 * sd), scale=sd)


def law_at(law: DiscreteGaussian, centre: int) -> DiscreteGaussian:
    return DiscreteGaussian(np.array([centre]), law.sd)


def same_law(a: np.ndarray, b: np.ndarray) -> bool:
    """Two-sample G-test at the stated false-alarm rate."""
    return chance(a.tolist(), b.tolist()) > FALSE_ALARM


THEIRS = 40_000


@pytest.mark.parametrize("scale", [0.6, 4.0])
def test_two_sided_geometric_noise_is_that_of_opendp(scale: float) -> None:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale)([0] * THEIRS))
    ours, wider = (
        TwoSidedGeometric(np.zeros(THEIRS, int), np.array(s)).draw(np.random.default_rng(6))
        for s in (scale, 1.1 * scale)
    )
    assert same_law(ours, theirs)
    assert not same_law(wider, theirs)


@pytest.mark.parametrize("sd", [0.6, 4.0])
def test_discrete_gaussian_noise_is_that_of_opendp(sd: float) -> None:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    theirs = np.array(dp.m.make_gaussian(*space, sd)([0] * THEIRS))
    ours, wider = (
        DiscreteGaussian(np.zeros(THEIRS, int), np.array(s)).draw(np.random.default_rng(7))
        for s in (sd, 1.1 * sd)
    )
    assert same_law(ours, theirs)
    assert not same_law(wider, theirs)


def test_permute_and_flip_is_the_noisy_maximum_of_opendp() -> None:
    """Their maximum with exponential noise has the law of permute-and-flip at rate 1 / scale."""
    scores, draws = [0.0, -1.0, -3.0], 8000
    space = (
        dp.vector_domain(dp.atom_domain(T=float, nan=False)),
        dp.linf_distance(T=float),
        dp.max_divergence(),
    )
    noisy_max = dp.m.make_noisy_max(*space, 2.0)
    theirs = np.array([noisy_max(scores) for _ in range(draws)])
    starts, rng = 3 * np.arange(draws), np.random.default_rng(8)
    assert same_law(PermuteAndFlip(np.tile(scores, draws), starts, np.array(0.5)).draw(rng), theirs)
    exponential = Exponential(np.tile(scores, draws), starts, np.array(0.5), np.ones(3 * draws)).draw(rng)
    assert not same_law(exponential, theirs)


def test_no_candidate_is_less_likely_than_the_limit() -> None:
    """However far behind, a candidate keeps 2⁻⁶⁰ of the best one's weight: no outcome rules a data set out."""
    far = np.array([0.0, -1e9])
    start = np.array([0])
    for law in (
        Exponential(far, start, np.array(1.0), np.ones(2)),
        PermuteAndFlip(far, start, np.array(1.0)),
    ):
        assert law.log_density(np.array([1]))[0] == pytest.approx(-60 * np.log(2), abs=1)
    best = Exponential(far, start, np.array(np.inf), np.ones(2))  # without privacy the best one is certain
    assert best.log_density(np.array([1]))[0] == -np.inf


ENDS = [
    (0.0, 1.0),
    (-7.3, 1e6),
    (1e15, 1e15 + 8),
    (1e15, 1e15 + 0.25),
    (-1e-290, 3e-290),
    (0.1, 0.1 + 2.0**-50),
]


@pytest.mark.parametrize(("low", "high"), ENDS)
def test_a_lattice_cuts_a_domain_into_steps_that_floats_tell_apart(low: float, high: float) -> None:
    lattice = Lattice.of(low, high)
    last = np.minimum(lattice.size, 5000)
    points = lattice.at(np.append(np.arange(last), lattice.size - np.arange(last)[::-1]))
    assert (np.diff(np.unique(points)) > 0).all()
    assert len(np.unique(points)) == len(
        np.unique(np.append(np.arange(last), lattice.size - np.arange(last)))
    )
    assert points[-1] == high
    assert abs(points[0] - low) <= 4 * max(np.spacing(abs(low)), np.spacing(abs(high)))


def test_more_steps_than_floats_would_be_equal_points() -> None:
    """Broken twin: 2³² steps wherever the domain lies."""
    twin = Lattice(np.array(1e15), np.array(1e15 + 8), np.array(8 * 2.0**-32), np.array(2.0**32))
    assert twin.at(0.0) == twin.at(1000.0)


@pytest.mark.parametrize(("low", "high"), [*ENDS, (-1e-300, 3e-300)])
def test_points_up_to_a_value_are_those_that_compare_so(low: float, high: float) -> None:
    """Whatever rounding does, the last point counted is not above the value, and the next one is."""
    lattice, rng = Lattice.of(low, high), np.random.default_rng(9)
    values = low + (high - low) * rng.random(3000)
    exact = lattice.at(np.floor(rng.random(3000) * lattice.size) + 1)
    values = np.concatenate(
        [values, exact, np.nextafter(exact, -np.inf), np.nextafter(exact, np.inf), [low, high]]
    )
    values = np.clip(values, low, high)
    number = lattice.up_to(values)
    assert (lattice.at(number)[number > 0] <= values[number > 0]).all()
    below_the_end = number < lattice.size
    assert (lattice.at(number + 1)[below_the_end] > values[below_the_end]).all()
    assert lattice.up_to(np.array([low]))[0] == 0
    assert lattice.up_to(np.array([high]))[0] == lattice.size


def test_points_counted_by_a_quotient_alone_are_off_by_one() -> None:
    """Broken twin of ``up_to``: the quotient, rounded down, at points."""
    lattice = Lattice.of(0.1, 0.7)
    number = lattice.size - np.arange(20_000.0)
    points = lattice.at(number)
    assert (np.floor((points - 0.1) / lattice.step) < number).any()
    assert (lattice.up_to(points) == number).all()
