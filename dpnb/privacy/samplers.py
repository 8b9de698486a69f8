"""Draws whose probabilities are right to the last bit of their parameters, made from ordinary random numbers.

A floating-point number between 0 and 1 has 53 random bits. Where these leave open on which side of a limit it falls,
more bits are drawn, so that no outcome is missing or too frequent because numbers are rounded.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ..arrays import Bools, Floats, Ints

Int64s = NDArray[np.int64]

BITS = 53  # of a uniform number


def bernoulli(rng: np.random.Generator, probability: Floats, which: Ints | None = None) -> Bools:
    """True with exactly the given probability, entry by entry, not with one rounded to a multiple of 2⁻⁵³.

    Parameters
    ----------
    probability : (..., k) in [0, 1].
    which : (n,) which of the k probabilities an entry has, for entries (..., n) with few different probabilities; each
        once if None.
    """
    scaled = 2.0**BITS * np.asarray(probability, float)
    whole = np.floor(scaled)
    least = _spread(whole / 2.0**BITS, which)
    drawn = rng.random(least.shape)
    true: Bools = drawn < least
    open_yet = drawn == least
    if open_yet.any():
        rest = _spread(scaled - whole, which)
        open_yet &= rest > 0
    if open_yet.any():
        true[open_yet] = bernoulli(rng, rest[open_yet])
    return true


def _spread(values: Floats, which: Ints | None) -> Floats:
    """Entry ``which`` of the last axis; where it has only one, without copies."""
    if which is None:
        return values
    if values.shape[-1] == 1:
        return np.broadcast_to(values, (*values.shape[:-1], len(which)))
    return values[..., which]


def below(rng: np.random.Generator, count: NDArray[np.integer]) -> Int64s:
    """A whole number in 0, …, count − 1, entry by entry, each with probability 1/count.

    Parameters
    ----------
    count : number of values, 1 to 2³².
    """
    bound = count.astype(np.uint64)
    drawn = np.ldexp(rng.random(bound.shape), BITS).astype(np.uint64)
    # drawn · count / 2⁵³ in whole numbers of 64 bits, 32 and 21 of the drawn bits at a time
    half, low = np.uint64(32), np.uint64(21)
    lower = (drawn & np.uint64(2**21 - 1)) * bound
    upper = (drawn >> low) * bound + (lower >> low)
    number = (upper >> half).astype(np.int64)
    rest = ((upper & np.uint64(2**32 - 1)) << low) | (lower & np.uint64(2**21 - 1))
    over = np.maximum(
        (rest + bound).astype(np.int64) - 2**BITS, 0
    )  # of the numbers that the next bits make of it
    return number + bernoulli(rng, over / bound) if over.any() else number


def geometric(rng: np.random.Generator, scale: Floats) -> Int64s:
    """A whole number k ≥ 0 with probability ∝ exp(−k / scale), entry by entry.

    Its binary digits are independent, and digit j is 1 with probability 1 / (1 + exp(2ʲ / scale)). Digits that are 1
    with a probability that no floating-point number expresses are left out.
    """
    most = 745 * float(scale.max(initial=0.0))  # exp(−745) is the least floating-point number above 0
    digits = min(math.ceil(math.log2(max(most, 1.0))) + 1, 62)  # of whole numbers of 64 bits
    # 2¹⁷ digits fit a cache, and 53 of a number are added up without rounding.
    at_once = min(max(2**17 // max(scale.size, 1), 1), BITS)
    scales, which = _distinct(scale)  # of which there are few
    odds = np.exp(-np.ldexp(1 / scales, np.arange(digits)[:, None]))
    chances, drawn = odds / (1 + odds), np.zeros(scale.size, np.int64)
    for first in range(0, digits, at_once):
        ones = bernoulli(rng, chances[first : first + at_once], which)
        drawn += (2.0 ** np.arange(len(ones)) @ ones).astype(np.int64) << first
    return drawn.reshape(scale.shape)


def _distinct(values: Floats) -> tuple[Floats, Ints]:
    """The values that occur, and which of them each entry is, in one row; a single one is told without sorting."""
    flat = values.reshape(-1)
    if (flat == flat[:1]).all():
        return flat[:1], np.zeros(flat.size, np.intp)
    return np.unique(flat, return_inverse=True)


def two_sided_geometric(rng: np.random.Generator, scale: Floats) -> Int64s:
    """A whole number k with probability ∝ exp(−|k| / scale), entry by entry."""
    up, down = geometric(rng, np.stack([scale, scale]))
    difference: Int64s = up - down
    return difference


def discrete_gaussian(rng: np.random.Generator, sd: Floats) -> Int64s:
    """A whole number k with probability ∝ exp(−k² / (2 sd²)), entry by entry, by rejection from geometric ones.

    References
    ----------
    Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy, algorithm 3.
    """
    drawn, left = np.zeros(sd.shape, np.int64), np.ones(sd.shape, np.bool_)
    while left.any():
        own = sd[left]
        scale = np.floor(own) + 1
        proposed = two_sided_geometric(rng, scale)
        far = (np.abs(proposed) - own**2 / scale) ** 2 / (2 * own**2)
        taken = bernoulli(rng, np.exp(-far))
        at = np.flatnonzero(left)[taken]
        drawn.reshape(-1)[at] = proposed[taken]
        left.reshape(-1)[at] = False
    return drawn


def chosen(rng: np.random.Generator, weights: Floats, starts: Ints) -> Ints:
    """One position in each group with probability ∝ weight, as if the weights were added up without rounding.

    Parameters
    ----------
    weights : (candidates,) weights, at least 0, of which each group has a positive one.
    starts : (groups,) first candidate of each group.

    Returns
    -------
    (groups,) positions among all candidates.
    """
    ends = np.concatenate([starts[1:], [len(weights)]])
    sums = np.zeros(len(weights) + 1)
    before, mass = sums[:-1], np.cumsum(weights, out=sums[1:])
    total = mass[ends - 1] - before[starts]
    uniform = rng.random(len(starts))
    target = before[starts] + uniform * total
    found: Ints = np.minimum(np.maximum(np.searchsorted(mass, target, side="right"), starts), ends - 1)
    # The sums are off by less than this, and the bits that are not drawn yet move the target by less than this.
    doubt = np.ldexp(mass[-1] * (len(weights) + 4), -BITS) + np.ldexp(total, 1 - BITS)
    near = (found > starts) & (target - before[found] < doubt)
    near |= (found < ends - 1) & (mass[found] - target < doubt)
    for group in np.flatnonzero(near | (weights[found] == 0)):
        own = weights[starts[group] : ends[group]]
        found[group] = starts[group] + _chosen_exactly(rng, own, math.ldexp(uniform[group], BITS))
    return found


def _chosen_exactly(rng: np.random.Generator, weights: Floats, drawn: float) -> int:
    """:func:`chosen` for one group in whole numbers of any size, once the first 53 bits are drawn."""
    # Weights above 2⁻²⁴⁷ lie on this lattice; smaller ones are rounded down to it.
    sums = list(accumulate(int(Fraction(weight) * 2**300) for weight in weights.tolist()))
    uniform = int(drawn)
    for more in rng.integers(2**62, size=4, dtype=np.int64).tolist():
        uniform = uniform << 62 | more
    return bisect_right(sums, uniform * sums[-1] >> (BITS + 4 * 62))
