"""Output distributions of the mechanisms, with their draws and their exact log densities.

A law knows nothing of budgets. The :class:`~dpnb.privacy.curator.Curator` builds one for every release, draws from
it and books its cost; an auditor evaluates the same law on a neighbouring data set. *Ragged* laws serve many
independent selections at once: candidates lie in one flat array, and ``starts`` gives the first candidate of
each group, as in ``numpy.add.reduceat``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from . import samplers
from .lattice import Lattice

Outcome = TypeVar("Outcome")

# Where the rate is finite, no candidate is less likely than 2⁻⁶⁰ times the best one of its measure: a limit on the
# exponent moves two exponents no further apart, and leaves every weight a number with all its digits.
LEAST_EXPONENT = -60 * math.log(2)


class Law(Protocol[Outcome]):
    """A distribution of a release."""

    def draw(self, rng: np.random.Generator) -> Outcome:
        """Draw one outcome (vectorised over entries or groups)."""

    def log_density(self, outcome: Outcome) -> Floats:
        """Log density (or log probability) of an outcome, by entry or by group."""


def _point_mass(outcome: Floats, centre: Floats) -> Floats:
    return np.where(np.equal(outcome, centre), 0.0, -np.inf)


@dataclass(frozen=True)
class Laplace:
    """Independent Laplace variables; a scale of 0 is a point mass.

    The draws are floating-point numbers, whose last digits betray the centre, because it decides which numbers can
    occur.
    """

    centre: Floats
    scale: Floats

    def draw(self, rng: np.random.Generator) -> Floats:
        return self.centre + self.scale * rng.laplace(size=self.centre.shape)

    def log_density(self, outcome: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            smooth = -np.abs(outcome - self.centre) / self.scale - np.log(2 * self.scale)
        return np.where(self.scale == 0, _point_mass(outcome, self.centre), smooth)


def _around(
    centre: NDArray[np.int64],
    spread: Floats,
    noise: Callable[[np.random.Generator, Floats], NDArray[np.int64]],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Whole numbers around a centre; without spread, the centre itself."""
    spread = np.broadcast_to(np.asarray(spread, float), centre.shape)
    drawn = np.zeros(spread.shape, np.int64)
    if (random := spread > 0).any():
        drawn[random] = noise(rng, spread[random])
    return np.asarray(centre + drawn, np.int64)


def _of_whole(
    outcome: NDArray[np.int64], centre: NDArray[np.int64], spread: Floats, smooth: Floats
) -> Floats:
    """A log density on whole numbers; without spread, that of a point mass."""
    exact = _point_mass(np.asarray(outcome, float), np.asarray(centre, float))
    return np.where(spread == 0, exact, np.where(np.equal(outcome, np.round(outcome)), smooth, -np.inf))


@dataclass(frozen=True)
class TwoSidedGeometric:
    """Integers with P(centre + k) proportional to exp(-|k| / scale); a scale of 0 is a point mass.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan (2009), Universally utility-maximizing privacy mechanisms.
    """

    centre: NDArray[np.int64]
    scale: Floats

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        return _around(self.centre, self.scale, samplers.two_sided_geometric, rng)

    def log_density(self, outcome: NDArray[np.int64]) -> Floats:
        steps = np.abs(outcome - self.centre)
        with np.errstate(divide="ignore", invalid="ignore"):
            smooth = -steps / self.scale + np.log(np.tanh(0.5 / self.scale))
        return _of_whole(outcome, self.centre, self.scale, smooth)


@dataclass(frozen=True)
class Gaussian:
    """Independent normal variables; a standard deviation of 0 is a point mass."""

    centre: Floats
    sd: Floats

    def draw(self, rng: np.random.Generator) -> Floats:
        return self.centre + self.sd * rng.standard_normal(self.centre.shape)

    def log_density(self, outcome: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            smooth = -0.5 * ((outcome - self.centre) / self.sd) ** 2 - np.log(self.sd * np.sqrt(2 * np.pi))
        return np.where(self.sd == 0, _point_mass(outcome, self.centre), smooth)


@dataclass(frozen=True)
class DiscreteGaussian:
    """Integers with P(centre + k) proportional to exp(-k² / (2 sd²)); a standard deviation of 0 is a point mass.

    References
    ----------
    Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy.
    """

    centre: NDArray[np.int64]
    sd: Floats

    def draw(self, rng: np.random.Generator) -> NDArray[np.int64]:
        return _around(self.centre, self.sd, samplers.discrete_gaussian, rng)

    def log_density(self, outcome: NDArray[np.int64]) -> Floats:
        steps = np.asarray(outcome, float) - self.centre
        with np.errstate(divide="ignore", invalid="ignore"):
            smooth = -0.5 * (steps / self.sd) ** 2 - _log_theta(np.asarray(self.sd, float))
        return _of_whole(outcome, self.centre, self.sd, smooth)


def _log_theta(sd: Floats) -> Floats:
    """Log of Σ exp(−k² / (2 sd²)) over all whole numbers k: as it stands, or by Poisson's formula where sd is large."""
    k = np.arange(1, 16)[:, None]
    flat = np.where(sd > 0, sd, 1.0).reshape(1, -1)
    small, large = np.minimum(flat, 1.0), np.maximum(flat, 1.0)
    direct = np.log1p(2 * np.exp(-0.5 * (k / small) ** 2).sum(axis=0))
    turned = np.log(large[0] * np.sqrt(2 * np.pi)) + np.log1p(
        2 * np.exp(-2 * (np.pi * k * large) ** 2).sum(axis=0)
    )
    both: Floats = np.where(flat[0] <= 1, direct, turned).reshape(sd.shape)
    return both


def group_of(starts: Ints, size: int) -> Ints:
    """Group number of each of ``size`` candidates."""
    return np.arange(len(starts)).repeat(group_sizes(starts, size))


def group_sizes(starts: Ints, size: int) -> Ints:
    """Number of candidates of each group, of ``size`` in all."""
    return np.concatenate([starts[1:], [size]]) - starts


def _exponents(rate: Floats, gaps: Floats) -> Floats:
    """Exponents ``rate · gap`` of candidates, limited where the rate is finite; 0 for the best ones at any rate."""
    if not (exact := np.isinf(rate)).any():
        return np.maximum(rate * gaps, LEAST_EXPONENT)
    with np.errstate(invalid="ignore"):
        exponents = rate * gaps
    unlimited = np.nan_to_num(np.where(gaps == 0, 0.0, exponents), neginf=-np.inf)
    return np.where(exact, unlimited, np.maximum(exponents, LEAST_EXPONENT))


def _of_chosen(logs: Floats, starts: Ints, outcome: Ints) -> Floats:
    """Entry of each group's outcome; -inf where a group has fewer candidates."""
    sizes = np.diff(starts, append=len(logs))
    return np.where(outcome < sizes, logs[starts + np.minimum(outcome, sizes - 1)], -np.inf)


@dataclass(frozen=True)
class Exponential:
    """Exponential mechanism: P(i) proportional to measure_i · exp(rate_g · score_i) within each group g.

    References
    ----------
    McSherry and Talwar (2007), Mechanism design via differential privacy.
    """

    scores: Floats  # (candidates,) scores, of which larger ones are better
    starts: Ints  # (groups,) first candidate of each group
    # Scalar or (groups,) exponent per unit of score; `inf` picks a best candidate, ties by measure.
    rate: Floats
    measure: Floats  # (candidates,) data-independent base measure, 0 for impossible candidates

    def _weighed(self) -> tuple[Floats, Floats]:
        """Exponent and weight of every candidate; the best possible candidates have the exponent 0."""
        sizes = group_sizes(self.starts, len(self.scores))
        possible = np.where(self.measure == 0, -np.inf, self.scores)
        gaps = possible - np.maximum.reduceat(possible, self.starts).repeat(sizes)
        rate = np.asarray(self.rate)
        exponents = _exponents(rate if rate.ndim == 0 else rate.repeat(sizes), gaps)
        return exponents, self.measure * np.exp(exponents)

    def draw(self, rng: np.random.Generator) -> Ints:
        """Candidate chosen in each group, counted from the group's start."""
        _, weights = self._weighed()
        position: Ints = samplers.chosen(rng, weights, self.starts) - self.starts
        return position

    def log_probabilities(self) -> Floats:
        """Log probability of every candidate within its group."""
        exponents, weights = self._weighed()
        total = np.log(np.add.reduceat(weights, self.starts))
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.measure) + exponents
        return logs - total.repeat(group_sizes(self.starts, len(logs)))

    def log_density(self, outcome: Ints) -> Floats:
        return _of_chosen(self.log_probabilities(), self.starts, outcome)


class Point(NamedTuple):
    """The release of an interval mechanism for each group, which is an option and a point of its lattice."""

    option: Ints
    value: Floats


@dataclass(frozen=True)
class IntervalExponential:
    """Exponential mechanism over the thresholds on public lattices, and atoms.

    Each candidate is an interval ``low < value ≤ high`` of one ``option`` (an attribute, say) on which the score is
    constant, or an atom (``low == high`` with a finite measure). The measure of an interval is its number of points of
    the option's public lattice, by their number in all, so that the law of a point does not depend on how the data cut
    the domain. An interval is drawn first, then one of its points, all of them equally likely.
    """

    choice: Exponential  # law of the choice among the candidates
    # option, low, high: (candidates,) option and ends of each interval.
    option: Ints
    low: Floats
    high: Floats
    lattice: Lattice  # (options,) lattice of each option

    def draw(self, rng: np.random.Generator) -> Point:
        at = self.choice.starts + self.choice.draw(rng)
        low, high, lattice = self.low[at], self.high[at], self.lattice.of_each(self.option[at])
        atom = low == high
        first, last = lattice.up_to(np.array([low, high]))
        count = np.where(atom, 1.0, last - first)
        inside = lattice.at(first + 1 + samplers.below(rng, count.astype(np.int64)))
        return Point(self.option[at], np.where(atom, low, inside))

    def interval_of(self, outcome: Point) -> Ints:
        """Flat index of the candidate that holds each group's outcome; -1 where none does."""
        group = group_of(self.choice.starts, len(self.low))
        value = outcome.value[group]
        inside = np.where(self.low == self.high, value == self.low, (self.low < value) & (value <= self.high))
        hit = np.flatnonzero(inside & (self.option == outcome.option[group]))
        found = np.full(len(self.choice.starts), -1)
        found[group[hit]] = hit
        return found

    def log_density(self, outcome: Point) -> Floats:
        at = self.interval_of(outcome)
        lattice = self.lattice.of_each(self.option[at])
        with np.errstate(divide="ignore"):
            count = np.log(lattice.up_to(self.high[at]) - lattice.up_to(self.low[at]))
        each = self.choice.log_probabilities()[at] - np.where(self.low[at] == self.high[at], 0.0, count)
        return np.where(at < 0, -np.inf, each)


@lru_cache(maxsize=64)
def _quadrature(order: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    return 0.5 * (nodes + 1), 0.5 * weights


@dataclass(frozen=True)
class PermuteAndFlip:
    """Permute-and-flip within each group: in random order, take a candidate with probability exp(rate · gap).

    References
    ----------
    McKenna and Sheldon (2020), Permute-and-Flip: a new mechanism for differentially private selection.
    """

    scores: Floats
    starts: Ints
    rate: Floats

    def draw(self, rng: np.random.Generator) -> Ints:
        """Candidate chosen in each group, counted from the group's start."""
        group = group_of(self.starts, len(self.scores))
        gaps = self.scores - np.maximum.reduceat(self.scores, self.starts)[group]
        rate = np.broadcast_to(self.rate, self.starts.shape)[group]
        taken = samplers.bernoulli(
            rng, np.exp(_exponents(rate, gaps))
        )  # a best candidate is taken for certain
        arrival = np.where(taken, rng.permutation(len(taken)), len(taken))
        first = np.flatnonzero(arrival == np.minimum.reduceat(arrival, self.starts)[group])
        return first - self.starts

    def probabilities(self) -> Floats:
        """Exact probability of every candidate within its group.

        In a random order each candidate has a uniform arrival time. Candidate r wins at time t if no other one has both
        arrived and been accepted. So P(r) = q_r ∫₀¹ ∏_{j≠r} (1 − t q_j) dt, q = exp(rate · gap). The integrand is a
        polynomial, so Gauss–Legendre quadrature of half its degree is exact.
        """
        parts = np.split(self.scores, self.starts[1:])
        rates = np.broadcast_to(self.rate, self.starts.shape)
        return np.concatenate([_flip(part, rate) for part, rate in zip(parts, rates, strict=True)])

    def log_density(self, outcome: Ints) -> Floats:
        with np.errstate(divide="ignore"):
            return _of_chosen(np.log(self.probabilities()), self.starts, outcome)


def _flip(scores: Floats, rate: float) -> Floats:
    accept = np.exp(_exponents(np.asarray(rate), scores - scores.max()))
    times, weights = _quadrature(min(len(scores) // 2 + 1, 512))
    log_reject = np.log1p(-times[:, None] * accept)
    others = np.exp(log_reject.sum(axis=1, keepdims=True) - log_reject)
    probability: Floats = accept * (weights @ others)
    return probability


@dataclass(frozen=True)
class Exact:
    """A value released without noise: a point mass."""

    value: Any

    def draw(self, rng: np.random.Generator) -> Any:
        return self.value

    def log_density(self, outcome: Any) -> Floats:
        same = np.array_equal(np.asarray(outcome), np.asarray(self.value))
        return np.array([0.0 if same else -np.inf])
