"""Facts that never change, because a number with noise takes many values, and a number without noise takes one.

What is the same in every fit on D, and something else in every fit on its neighbour D′, had no noise, or the same noise
each time. If it is the sum or the difference of two numbers that do change, then these two had the same noise, or
opposite noise. :func:`constant_bound` says how much ε a mechanism needs to look like that by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dpnb.arrays import Bools, Floats

from .contents import Fact, agree
from .settings import SURE, AuditSettings

BURN_IN = 3  # fits on each data set that choose what is looked at: a coin is constant in one of 32 such sixes
MOST_RUNS = 1_000  # fits on each data set; they refute claims up to ε = 5
ABSENT = np.empty((), object)  # the fact of a path that leads nowhere
MOST_NUMBERS = 64  # that are added to and subtracted from each other, the first ones
BITS = 40  # of a number that are compared: sums of floating-point numbers have an error in the last of 53

Run = Callable[[int], dict[str, Fact]]


class Place(NamedTuple):
    """A number among the facts of a fit: the path of a fact, and which of its entries."""

    path: str
    entry: int

    def number(self, facts: dict[str, Fact]) -> float:
        """The number; NaN where there is none."""
        fact = facts.get(self.path, ABSENT)
        return (
            float(fact.flat[self.entry]) if fact.dtype.kind in "iuf" and fact.size > self.entry else math.nan
        )


class Combination(NamedTuple):
    """The sum or the difference of two numbers, as a multiple of a step."""

    one: Place
    other: Place
    sign: int
    step: float

    def __call__(self, facts: dict[str, Fact]) -> Fact:
        """Its value in a fit."""
        return _combined(self.one.number(facts), self.other.number(facts), self.sign, self.step)


@dataclass
class Constant:
    """A fact that had one value in every fit on each data set."""

    path: str  # where
    # on_first, on_second: the values.
    on_first: Fact
    on_second: Fact
    where: Bools  # entries that differ, True if the facts as wholes do
    of: Combination | None = None  # what makes the value of other facts; None for a fact of the model itself


def agreement(*, epsilon: float, delta: float = 0.0) -> float:
    """Largest r such that some (ε, δ)-DP mechanism says *a* on D and *b* ≠ *a* on D′, with probability r each.

    It is (e^ε + δ) / (e^ε + 1), reached by randomised response.
    """
    return float(1 / (1 + math.exp(-epsilon)) + delta / (1 + math.exp(epsilon)) if epsilon < 700 else 1.0)


def runs_needed(
    *, claimed: float, delta: float = 0.0, confidence: float = SURE, candidates: int = 1
) -> float:
    """Fits on each data set, after those that chose the candidates, that refute a claim; ``inf`` if none do."""
    r = agreement(epsilon=claimed, delta=delta)
    return (
        math.inf if r >= 1 else math.ceil(math.log(candidates / (1 - confidence)) / (-2 * math.log(r)) + 1e-9)
    )


def constant_bound(runs: int, *, confidence: float, delta: float = 0.0, candidates: int = 1) -> float:
    """Lower confidence bound of ε if one of some candidates never changed in ``runs`` further fits on each data set.

    Parameters
    ----------
    runs : number of fits on D, and of fits on D′, that confirmed the values; the fits that chose them do not count.
    confidence : probability that the bound holds.
    delta : δ of the claim.
    candidates : number of facts that the first fits left.

    Returns
    -------
    The ε at which ``candidates`` · r^(2 ``runs``) = 1 − ``confidence``, for r of :func:`agreement`.

    Notes
    -----
    Let an (ε, δ)-DP output be *a* with probability p on D and *b* ≠ *a* with probability q on D′. Then
    q ≤ 1 − e^−ε (p − δ) and p ≤ 1 − e^−ε (q − δ), and so pq ≤ r². Given the fits that chose *a* and *b*, the others are
    independent: all of them agree with probability (pq)^k ≤ r^2k, and a union bound pays for the candidates. What
    follows from an output is (ε, δ)-DP as well, so that this holds for a rounded sum of two numbers too, once the first
    fits have chosen the numbers and the step.
    """
    if runs < 1:
        return 0.0
    r = ((1 - confidence) / candidates) ** (1 / (2 * runs))
    return max(math.log(max(r - delta, 1e-300) / (1 - r)), 0.0) if r < 1 else math.inf


def constant_on_each(
    run: Run, asked: AuditSettings, *, most_runs: int = MOST_RUNS
) -> tuple[list[Constant], float, int]:
    """Find facts that are the same in all fits on D, and others in all fits on D′.

    Three fits on each data set choose the candidates. As many more as a claim needs confirm them; if no candidate is
    left, no more fits are made. The order of the fits is random, for what changes with time is not a leak.

    Parameters
    ----------
    run : side (0 or 1) → facts of a fresh fit.
    asked : the claim, and the seed of the order.
    most_runs : most fits on each data set.

    Returns
    -------
    The facts, the lower bound of ε that they show, and the number of fits.
    """
    rng = np.random.default_rng(asked.seed)
    level = {"delta": asked.delta, "confidence": asked.confidence}
    fits: list[list[dict[str, Fact]]] = [[], []]
    for side in rng.permutation(np.repeat([0, 1], BURN_IN)).tolist():
        fits[side].append(run(side))
    left = [*differing(*fits), *combinations(*fits)]
    candidates = sum(int(fact.where.sum()) for fact in left)
    confirmed = 0
    if candidates:
        needed = runs_needed(claimed=asked.claimed, candidates=candidates, **level)
        while left and confirmed < min(needed, most_runs - BURN_IN):
            for side in rng.permutation(2).tolist():
                facts = run(side)
                left = [fact for before in left if (fact := _confirmed(before, facts, side)) is not None]
            confirmed += 1
    bound = constant_bound(confirmed, candidates=max(candidates, 1), **level)
    return left, bound if left else 0.0, 2 * (BURN_IN + confirmed)


def differing(first: list[dict[str, Fact]], second: list[dict[str, Fact]]) -> list[Constant]:
    """Facts that are the same in all fits of each list, and differ between the lists."""
    found = []
    for path in dict.fromkeys(path for facts in (*first, *second) for path in facts):
        sides = [[facts[path] for facts in fits if path in facts] for fits in (first, second)]
        a, b = (fits[0] if fits else ABSENT for fits in sides)
        always = [len(there) == len(fits) for there, fits in zip(sides, (first, second), strict=True)]
        if not all(sides):
            where = np.asarray(any(always))  # whatever it is, if it is in all fits of its side
        elif all(always):
            where = _parted(*sides)
        else:
            continue
        if where.any():
            found.append(Constant(path, a, b, where))
    return found


def _parted(first: list[Fact], second: list[Fact]) -> Bools:
    """Entries that are the same on each side, and differ between the sides; one answer for facts of unlike forms."""
    a, b = first[0], second[0]
    same = _all_agree(first), _all_agree(second)
    if a.shape == b.shape and a.dtype == b.dtype:
        return np.asarray(same[0] & same[1] & ~agree(a, b))
    return np.asarray(bool(same[0].all() and same[1].all()))


def combinations(first: list[dict[str, Fact]], second: list[dict[str, Fact]]) -> list[Constant]:
    """Sums and differences of varying numbers that are the same in all fits of each list, and differ between them.

    They are rounded to 40 bits of the larger number, so that floating-point errors do not count.
    """
    table, names = _varying(first, second)
    largest = np.abs(table).max(axis=0, initial=0)
    steps = 2.0 ** (np.ceil(np.log2(np.maximum.outer(largest, largest))) - BITS)
    found = []
    for word, sign in (("difference", -1), ("sum", 1)):
        values = _combined(table[:, :, None], table[:, None, :], sign, steps)
        a, b = values[: len(first)], values[len(first) :]
        constant = (a == a[0]).all(axis=0) & (b == b[0]).all(axis=0) & (a[0] != b[0])
        for i, j in np.argwhere(np.triu(constant, 1)).tolist():
            (one, shown), (other, also) = names[i], names[j]
            found.append(
                Constant(
                    f"{word} of {shown} and {also}", np.asarray(a[0, i, j]), np.asarray(b[0, i, j]), np.asarray(True),
                    Combination(one, other, sign, float(steps[i, j])),
                )
            )  # fmt: skip
    return found


def _combined(one: Any, other: Any, sign: int, step: Any) -> Fact:
    with np.errstate(all="ignore"):  # numbers out of range agree with none
        return np.asarray(np.round((one + sign * other) / step) * step)


def _varying(*sides: list[dict[str, Fact]]) -> tuple[Floats, list[tuple[Place, str]]]:
    """The first numbers that vary on both sides, (fits, numbers), with places and names; one of equal ones."""
    fits = [facts for side in sides for facts in side]
    found: dict[tuple[float, ...], tuple[Place, str]] = {}
    for path, fact in fits[0].items():
        parts = [facts.get(path, ABSENT) for facts in fits]
        if any(part.dtype.kind not in "iuf" or part.shape != fact.shape for part in parts):
            continue
        rows = np.array([part.reshape(-1) for part in parts], float)
        halves = rows[: len(sides[0])], rows[len(sides[0]) :]
        vary = np.logical_and(*[(half != half[0]).any(axis=0) for half in halves])
        for entry in np.flatnonzero(vary & np.isfinite(rows).all(axis=0))[:MOST_NUMBERS].tolist():
            position = str([int(i) for i in np.unravel_index(entry, fact.shape)]) if fact.ndim else ""
            found.setdefault(tuple(rows[:, entry].tolist()), (Place(path, entry), path + position))
        if len(found) >= MOST_NUMBERS:
            break
    first = list(found)[:MOST_NUMBERS]
    return np.array(first).reshape(len(first), len(fits)).T, [found[values] for values in first]


def _all_agree(facts: list[Fact]) -> Bools:
    """Entry by entry whether all facts are the same."""
    same = np.ones(facts[0].shape, np.bool_)
    for fact in facts[1:]:
        same = same & agree(facts[0], fact)
    return np.asarray(same)


def _confirmed(fact: Constant, facts: dict[str, Fact], side: int) -> Constant | None:
    """What a further fit leaves of a fact."""
    expected, other = (fact.on_first, fact.on_second)[:: 1 - 2 * side]
    there = fact.of(facts) if fact.of else facts.get(fact.path)
    if expected is ABSENT or other is ABSENT:
        return fact if (there is None) == (expected is ABSENT) else None
    if there is None:
        return None
    same = agree(expected, there)
    where = np.asarray(fact.where & (same if fact.where.ndim else same.all()))
    return replace(fact, where=where) if where.any() else None
