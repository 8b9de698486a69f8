"""Facts that never change: a number that noise covers takes many values, and one without noise takes one.

What is the same in every fit on D, and something else in every fit on its neighbour D′, had no noise, or the same noise
each time. :func:`constant_bound` says how much ε a mechanism needs to look like that by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Bools
from .contents import Fact, agree
from .settings import SURE, AuditSettings

BURN_IN = 3  # fits on each data set that choose what is looked at: a coin is constant in one of 32 such sixes
MOST_RUNS = 1_000  # fits on each data set; they refute claims up to ε = 5
ABSENT = np.empty((), object)  # the fact of a path that leads nowhere

Run = Callable[[int], dict[str, Fact]]


@dataclass
class Constant:
    """A fact that had one value in every fit on each data set.

    Parameters
    ----------
    path : where.
    on_first, on_second : the values.
    where : entries that differ, True if the facts as wholes do.
    """

    path: str
    on_first: Fact
    on_second: Fact
    where: Bools


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
    independent: all of them agree with probability (pq)^k ≤ r^2k, and a union bound pays for the candidates.
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
    left = differing(*fits)
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
        if not sides[0] or not sides[1]:
            # There on one side only, whatever it is: in all fits of that side?
            if len(sides[0]) == len(first) or len(sides[1]) == len(second):
                found.append(Constant(path, a, b, np.asarray(True)))
        elif len(sides[0]) == len(first) and len(sides[1]) == len(second):
            constant = [_all_agree(fits) for fits in sides]
            if a.shape == b.shape and a.dtype == b.dtype:
                where = constant[0] & constant[1] & ~agree(a, b)
            else:
                where = np.asarray(bool(constant[0].all() and constant[1].all()))
            if where.any():
                found.append(Constant(path, a, b, where))
    return found


def _all_agree(facts: list[Fact]) -> Bools:
    """Entry by entry whether all facts are the same."""
    same = np.ones(facts[0].shape, np.bool_)
    for fact in facts[1:]:
        same = same & agree(facts[0], fact)
    return np.asarray(same)


def _confirmed(fact: Constant, facts: dict[str, Fact], side: int) -> Constant | None:
    """What a further fit leaves of a fact."""
    expected, other = (fact.on_first, fact.on_second)[:: 1 - 2 * side]
    there = facts.get(fact.path)
    if expected is ABSENT or other is ABSENT:
        return fact if (there is None) == (expected is ABSENT) else None
    if there is None:
        return None
    same = agree(expected, there)
    where = np.asarray(fact.where & (same if fact.where.ndim else same.all()))
    return replace(fact, where=where) if where.any() else None
