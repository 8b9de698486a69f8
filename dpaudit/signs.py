"""Signs, which are events of single numbers that two samples show more unequally than a claim allows.

They choose columns for rules, pairs for bets, and words for a report, which are then looked at closely. No sign is
evidence.
"""

from __future__ import annotations

import math
from itertools import permutations
from typing import NamedTuple

import numpy as np

from dpnb.arrays import Floats, Ints

from .events import OutputEvent

MOST_ROWS = 1_024  # of each sample, the latest
MISSING, LEAST, GREATEST = -1e300, -1e299, 1e299  # stand for no number, and for the infinite ones
SUMMED = 12  # numbers that are added up
SIGN_STAKES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])


class Signs(NamedTuple):
    """The event that exceeds a claim most, for each column that varies; of columns that are the same, for the first."""

    columns: Ints  # (c,) which ones
    excess: Floats  # (c,) by how many standard deviations
    value: Floats  # (c,) number of the event
    relation: Ints  # (c,) 0 for "at most", 1 for "above", 2 for "equal"
    side: Ints  # (c,) data set on which the event is frequent

    def event(self, at: int, name: str = "") -> OutputEvent:
        """The event of one of the columns."""
        value = float(self.value[at])
        stands_for = {MISSING: math.nan, LEAST: -math.inf, GREATEST: math.inf}
        relation = ("≤", ">", "=")[self.relation[at]]
        if value == MISSING and relation != "=":  # all others are above
            return OutputEvent(name, "=" if relation == "≤" else "≠", math.nan)
        return OutputEvent(name, relation, stands_for.get(value, value))


def signs(first: Floats, second: Floats, *, epsilon: float, delta: float = 0.0) -> Signs:
    """Of each threshold, and of each value, see what its frequency exceeds e^ε times that on the other side, plus δ.

    Parameters
    ----------
    first, second : (n, q) outputs on D and on D′; NaN for what is missing.
    epsilon, delta : the claim.
    """
    a, b = first[-MOST_ROWS:], second[-MOST_ROWS:]
    both = np.nan_to_num(np.concatenate([a, b]), nan=MISSING, neginf=LEAST, posinf=GREATEST)
    columns = _unlike(both)
    order = np.argsort(both[:, columns], axis=0, kind="stable")
    ranked = np.take_along_axis(both[:, columns], order, axis=0)
    none = np.zeros((1, len(columns)))
    last = np.concatenate([ranked[1:] != ranked[:-1], none == 0])  # of equal values
    shares = []
    for inside, runs in ((order < len(a), len(a)), (order >= len(a), len(b))):
        upto = np.where(last, np.cumsum(inside, axis=0) / runs, 0.0)
        before = np.concatenate([none, np.maximum.accumulate(upto, axis=0)[:-1]])
        shares.append(np.where(last, [upto, 1 - upto, upto - before], 0.0))
    allowed = math.exp(epsilon)
    excess = []
    for (p, n), (q, m) in permutations(zip(shares, (len(a), len(b)), strict=True)):
        spread = np.sqrt(p / n + allowed**2 * q / m + 1 / n**2 + (allowed / m) ** 2)
        excess.append((p - allowed * q - delta) / spread)
    by_column = np.stack(excess).reshape(6 * len(both), len(columns))
    best = by_column.argmax(axis=0)
    side, relation, row = np.unravel_index(best, (2, 3, len(both)))
    along = np.arange(len(columns))
    return Signs(columns, by_column[best, along], ranked[row, along], relation, side)


def _unlike(table: Floats) -> Ints:
    """Columns that vary, the first one of those that are the same."""
    varied = np.flatnonzero((table != table[0]).any(axis=0))
    first = {values.tobytes(): j for j, values in zip(varied[::-1], table.T[varied[::-1]], strict=True)}
    return np.sort(np.array([*first.values()], np.intp))


def telling(first: Floats, second: Floats, *, epsilon: float, delta: float = 0.0, most: int) -> Ints:
    """Columns that vary and are unlike, if there are more than ``most`` those of the best signs, in their order."""
    found = signs(first, second, epsilon=epsilon, delta=delta)
    return found.columns[np.sort(np.argsort(-found.excess, kind="stable")[:most])]


class Promise(NamedTuple):
    """Growth of log wealth a fit that bets on a pair promise: at least, and on the face of it."""

    least: float
    seen: float


NO_PROMISE = Promise(-math.inf, -math.inf)


def promise(first: Floats, second: Floats, *, epsilon: float, delta: float = 0.0) -> Promise:
    """What bets promise against a claim: each half of the outputs chooses an event that the other half measures.

    Two events are tried, one of a single number and one of a sum of several; the better one counts.

    Parameters
    ----------
    first, second, epsilon, delta : as of :func:`signs`.
    """
    halves = [(first[::2], second[::2]), (first[1::2], second[1::2])]
    # Outputs in the events, and all outputs, on the side where an event is frequent and on the other.
    counts = np.zeros((2, 2, 2))
    for chosen, measured in (halves, halves[::-1]):
        for count, score in zip(counts, (_alone, _together), strict=True):
            (a, b), (x, y) = score(*chosen, *measured)
            found = signs(a, b, epsilon=epsilon, delta=delta)
            if len(found.columns):
                at = int(found.excess.argmax())
                event, sides = found.event(at), (x, y)[:: 1 - 2 * int(found.side[at])]
                for row, outputs in zip(count, sides, strict=True):
                    row += event.holds(outputs[:, found.columns[at]]).sum(), len(outputs)
    return max(_promise(count, epsilon=epsilon, delta=delta) for count in counts)


Sides = tuple[Floats, Floats]


def _alone(a: Floats, b: Floats, x: Floats, y: Floats) -> tuple[Sides, Sides]:
    return (a, b), (x, y)


def _together(a: Floats, b: Floats, x: Floats, y: Floats) -> tuple[Sides, Sides]:
    """The sum of the numbers that differ most, as the outputs ``a`` and ``b`` tell, by how much they differ."""
    columns = telling(a, b, epsilon=0.0, most=SUMMED)
    tables = [
        np.nan_to_num(side[-MOST_ROWS:, columns], nan=0.0, posinf=0.0, neginf=0.0) for side in (a, b, x, y)
    ]
    gap = tables[1].mean(axis=0) - tables[0].mean(axis=0)
    spread = tables[0].var(axis=0) + tables[1].var(axis=0)
    weight = np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)
    one, other, left, right = (table @ weight[:, None] for table in tables)
    return (one, other), (left, right)


def _promise(counts: Floats, *, epsilon: float, delta: float) -> Promise:
    """What an event promises by how often it came up; nothing, if it was not looked for on both sides."""
    runs = counts[:, 1]
    if not runs.all():
        return NO_PROMISE
    p, q = counts[:, 0] / runs
    near, far = 2 * np.sqrt(counts[:, 0] + 0.5) / runs  # two standard deviations, or more
    return Promise(
        _growth(p - near, q + far, epsilon=epsilon, delta=delta),
        _growth(p, q + 0.5 / runs[1], epsilon=epsilon, delta=delta),
    )


def _growth(p: float, q: float, *, epsilon: float, delta: float) -> float:
    """Growth of log wealth a round at the best stake, by a guess that is made with probability (p + q)/2; or a loss."""
    p, q = min(max(p, 0.0), 1.0), min(max(q, 0.0), 1.0)
    share = SIGN_STAKES / (math.exp(epsilon) + delta)
    none = np.log1p(-share * delta)
    return float(
        (
            none + p / 2 * (np.log1p(share * (1 - delta)) - none) + q / 2 * (np.log1p(-SIGN_STAKES) - none)
        ).max()
    )
