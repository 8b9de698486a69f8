"""The exact law of the privacy loss, where releases do not depend on earlier ones.

The losses of independent releases add up. The law of each follows from the laws of the release on both data sets; it is
rounded to a grid, down and up, so that their convolution brackets every δ and every ε.

References
----------
Sommer, Meiser, Mohammadi (2019), Privacy loss classes; Koskela, Jälkö, Honkela (2020), Computing tight differential
privacy guarantees using FFT.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from dpnb.arrays import Floats
from dpnb.privacy.laws import (
    DiscreteGaussian,
    Exact,
    Exponential,
    Gaussian,
    Laplace,
    Law,
    PermuteAndFlip,
    TwoSidedGeometric,
)
from dpnb.replay.questions import answering

from .followed import Followed

PRECISION = 1e-4  # of bounds of ε
LARGEST = 50.0  # bound of ε
GUARD = 1e-12  # of δ, for rounding in Fourier transforms
NOISY = (Laplace, TwoSidedGeometric, Gaussian, DiscreteGaussian)

Run = Callable[[Any, np.random.Generator], object]
"""Runs a mechanism on a data set; opens its curator by :func:`~dpnb.privacy.curator.open_curator`."""


def excess(losses: ArrayLike, epsilon: float) -> Floats:
    """(1 − e^(ε − L))₊ of each loss: its mean under P is the least δ at ε."""
    gaps: Floats = epsilon - np.asarray(losses, float)
    return -np.expm1(np.minimum(gaps, 0.0))


def largest(
    refuted: Callable[[float], bool], high: float = LARGEST, *, within: float = PRECISION / 4
) -> float:
    """Nearly the largest number that is refuted, where all smaller ones are as well; 0 if none is.

    By halves and not by a root finder: what is returned is always refuted, so that rounding errs on the safe side.
    """
    if not refuted(0.0):
        return 0.0
    low = 0.0
    while high - low > within:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class LossLaw:
    """A law of the loss on the grid of multiples of ``step``."""

    step: float
    start: int  # multiple that the first mass is at
    mass: Floats  # (points,) probabilities
    infinite: float = 0.0  # probability of an infinite loss

    def __add__(self, other: LossLaw) -> LossLaw:
        """Law of the sum of two independent losses."""
        from scipy.signal import fftconvolve  # loads slowly, and few need it

        mass = np.maximum(fftconvolve(self.mass, other.mass), 0.0)
        infinite = 1 - (1 - self.infinite) * (1 - other.infinite)
        return LossLaw(self.step, self.start + other.start, mass, infinite)

    def delta(self, epsilon: float) -> float:
        """Least δ at ε."""
        beyond = max(math.floor(epsilon / self.step) - self.start, 0)
        losses = np.arange(self.start + beyond, self.start + len(self.mass)) * self.step
        return self.infinite + float(self.mass[beyond:] @ excess(losses, epsilon))

    def epsilon(self, delta: float) -> float:
        """Nearly the largest ε at which the least δ exceeds ``delta``; ``inf`` if it does at any in reach."""
        if self.delta(LARGEST) > delta:
            return math.inf
        return largest(lambda epsilon: self.delta(epsilon) > delta)

    @classmethod
    def rounded(cls, losses: Floats, mass: Floats, *, step: float, up: bool) -> LossLaw:
        """Law of finitely many losses, each rounded to the grid; NaN where an outcome has no probability."""
        possible = mass > 0
        losses, mass = losses[possible], mass[possible]
        finite = losses < np.inf
        steps = losses[finite] / step
        # A loss that is a multiple but for its last digits stays where it is.
        at = (np.ceil(steps - 1e-9) if up else np.floor(steps + 1e-9)).astype(np.int64)
        start = int(at.min()) if len(at) else 0
        return cls(
            step, start, np.bincount(at - start, mass[finite]).astype(float), float(mass[~finite].sum())
        )


def _continuous(
    upper: Callable[[Floats], Floats], low: float, high: float, *, step: float, up: bool
) -> LossLaw:
    """Rounded law of a loss in [low, high] from P(loss > x)."""
    first, last = math.floor(low / step) - 1, math.ceil(high / step) + 1
    ends: Floats = np.arange(first, last + 1, dtype=float) * step
    tail = upper(ends)
    mass = np.concatenate([[1 - tail[0]], -np.diff(tail), [tail[-1]]])  # below first, between, above last
    if up:
        return LossLaw(step, first, mass[:-1], float(mass[-1]))
    return LossLaw(step, first, mass[1:])


def _of_laplace(units: float, *, step: float, up: bool) -> LossLaw:
    """Loss of Laplace noise whose centre moves by so many scales: two atoms and what lies between."""

    def upper(x: Floats) -> Floats:
        between = 1 - 0.5 * np.exp(-np.clip(units - x, 0.0, 2 * units) / 2)
        return np.where(x >= units, 0.0, np.where(x < -units, 1.0, between))

    return _continuous(upper, -units, units, step=step, up=up)


def _of_gaussian(square: float, *, step: float, up: bool) -> LossLaw:
    """Loss of normal noise whose centre moves by so many standard deviations, squared: normal."""
    mu, reach = math.sqrt(square), 12 * math.sqrt(square)
    middle = square / 2
    return _continuous(
        lambda x: np.asarray(ndtr((middle - x) / mu), float), middle - reach, middle + reach, step=step, up=up
    )


def _of_geometric(shift: int, scale: float, *, step: float, up: bool) -> LossLaw:
    """Loss of two-sided geometric noise whose centre moves by ``shift`` > 0: two ends and the numbers between."""
    between = np.arange(1, shift)
    fall, share = math.exp(-1 / scale), math.tanh(0.5 / scale)
    mass = [1 / (1 + fall), *(share * np.exp(-between / scale)), math.exp(-shift / scale) / (1 + fall)]
    losses = [shift, *(shift - 2 * between), -shift]
    return LossLaw.rounded(np.array(losses) / scale, np.array(mass), step=step, up=up)


def _of_discrete_gaussian(shift: int, sd: float, *, step: float, up: bool) -> LossLaw:
    """Loss of discrete normal noise; what is beyond 12 standard deviations is left out, or counts as infinite."""
    most = math.ceil(12 * sd) + shift
    law = DiscreteGaussian(np.zeros(2 * most + 1, np.int64), np.array(sd))
    numbers = np.arange(-most, most + 1)
    mass = np.exp(law.log_density(numbers))
    found = LossLaw.rounded((shift - 2 * numbers) * shift / (2 * sd**2), mass, step=step, up=up)
    return replace(found, infinite=max(1 - float(mass.sum()), 0.0)) if up else found


def _of_choice(law: Exponential | PermuteAndFlip, other: Any, *, step: float, up: bool) -> Iterator[LossLaw]:
    """Losses of the groups' choices."""
    if not np.array_equal(law.starts, other.starts) or len(law.scores) != len(other.scores):
        yield LossLaw(step, 0, np.zeros(1), 1.0)
        return
    with np.errstate(divide="ignore"):
        one, two = (
            each.log_probabilities() if isinstance(each, Exponential) else np.log(each.probabilities())
            for each in (law, other)
        )
        gaps = np.where(one == -np.inf, np.nan, one - np.where(one == -np.inf, 0.0, two))
    for group in np.split(np.arange(len(one)), law.starts[1:]):
        if not np.array_equal(one[group], two[group]):
            yield LossLaw.rounded(gaps[group], np.exp(one[group]), step=step, up=up)


def _of_pair(law: Any, other: Any, *, step: float, up: bool) -> Iterator[LossLaw]:
    """Losses of independent parts of a release, drawn from ``law``; parts that are alike on both sides have none."""
    if isinstance(law, Exponential | PermuteAndFlip) and type(law) is type(other):
        yield from _of_choice(law, other, step=step, up=up)
        return
    if isinstance(law, Exact) and isinstance(other, Exact):
        if not np.array_equal(law.value, other.value):
            yield LossLaw(step, 0, np.zeros(1), 1.0)
        return
    if not isinstance(law, NOISY) or type(law) is not type(other):
        raise TypeError(
            f"{type(law).__name__} and {type(other).__name__}: expected choices or additive noise"
        )
    width, others = (
        np.asarray(each.sd if hasattr(each, "sd") else each.scale, float) for each in (law, other)
    )
    if law.centre.shape != other.centre.shape or not np.array_equal(width, others):
        raise ValueError(
            "noise of another shape or width on the other data set: its losses are not worked out"
        )
    shift = np.abs(np.asarray(law.centre, float) - other.centre)
    changed = shift > 0
    shift, width = shift[changed], np.broadcast_to(width, shift.shape)[changed]
    if (width == 0).any():
        yield LossLaw(step, 0, np.zeros(1), 1.0)
    elif isinstance(law, Gaussian):
        if len(shift):
            yield _of_gaussian(float(((shift / width) ** 2).sum()), step=step, up=up)
    else:
        for by, wide in zip(shift.tolist(), width.tolist(), strict=True):
            if isinstance(law, Laplace):
                yield _of_laplace(by / wide, step=step, up=up)
            elif isinstance(law, TwoSidedGeometric):
                yield _of_geometric(round(by), wide, step=step, up=up)
            else:
                yield _of_discrete_gaussian(round(by), wide, step=step, up=up)


def loss_laws(
    run: Run, first: Any, second: Any, *, step: float = 1e-4, checks: int = 5
) -> tuple[tuple[LossLaw, LossLaw], tuple[LossLaw, LossLaw]]:
    """Laws of the losses on D and on D′ of a mechanism whose releases do not depend on earlier ones.

    Parameters
    ----------
    run : data set, random generator → anything; opens its curator by ``open_curator`` and draws no bags.
    first, second : the neighbours.
    step : of the grid that losses are rounded to.
    checks : runs in which the laws of the releases must be the same.

    Returns
    -------
    For D and for D′: the law with every loss rounded down, and with every loss rounded up.

    Raises
    ------
    ValueError
        If the laws differ between runs: then replays decide, :func:`replay_mechanism_delta`.
    """
    pairs = [_laws(run, first, second, seed) for seed in range(checks)]
    if any(repr(pair) != repr(pairs[0]) for pair in pairs):
        raise ValueError(
            "the laws of the releases differ between runs, so that they depend on earlier ones: use "
            "replay_mechanism_delta"
        )
    here, there = pairs[0]
    a, b = (
        tuple(_sum(sides, step=step, up=up) for up in (False, True))
        for sides in (list(zip(here, there, strict=True)), list(zip(there, here, strict=True)))
    )
    return (a[0], a[1]), (b[0], b[1])


def _sum(sides: list[tuple[Any, Any]], *, step: float, up: bool) -> LossLaw:
    total = LossLaw(step, 0, np.ones(1))
    for law, other in sides:
        for losses in _of_pair(law, other, step=step, up=up):
            total += losses
    return total


def _laws(run: Run, first: Any, second: Any, seed: int) -> tuple[list[Law[Any]], list[Law[Any]]]:
    """Laws of the releases on both data sets, at the same outputs."""
    here = _followed(run, first, seed, None)
    there = _followed(run, second, seed, iter(here.outcomes))
    asked = [[(event.what, event.mechanism) for event, _ in side.laws] for side in (here, there)]
    if asked[0] != asked[1]:
        raise ValueError("the two data sets ask for different releases: replay shows where")
    a, b = ([law for _, law in side.laws] for side in (here, there))
    return a, b


def _followed(run: Run, data: Any, seed: int, script: Iterator[Any] | None) -> Followed:
    followed = Followed(script)
    with answering(followed) as curators:
        try:
            run(data, np.random.default_rng(seed))
        except StopIteration as end:
            raise ValueError("the second data set asks for more releases: replay shows where") from end
    if len(curators) != 1:
        raise ValueError(
            f"the mechanism opens {len(curators)} curators: expected one for all of its releases"
        )
    return followed
