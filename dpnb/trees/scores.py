"""Split scores, which are pure functions of contingency tables, each with its sensitivities.

A table has the shape (..., branches, classes). ``sensitivity`` holds for one record added or removed among any number
of records, and for one replaced with one exception (information gain with at least three branches and three classes);
``sensitivity_at(n)`` is the exact value when the larger data set has n records, for two branches or two classes.
``change_range`` says how far one record can move the scores of two candidates apart, and this fixes the rate of a
private choice (fact F1). Larger scores are better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FIXED_POINT, Floats
from ..privacy.ledger import Neighbours

LEAST = 1 / FIXED_POINT  # the smallest number of records above 0, where several share a vote


@dataclass(frozen=True)
class Score:
    """A split score, with the numbers that the privacy proofs need."""

    name: str  # identifier
    function: Callable[[Floats], Floats]  # table (..., branches, classes) → score (...)
    sensitivity: float  # Δ, supremum over all data sets; `inf` if it grows with the number of records
    # Exact largest change at n records (the larger data set), the same for add/remove and replace, for two
    # branches or two classes.
    sensitivity_at: Callable[[int], float]
    monotone: bool  # whether adding a record never raises, or never lowers, the score of any split
    # For scores that follow from a sum over branches, counts (..., classes) → contribution of a branch.
    part: Callable[[Floats], Floats] | None = None
    # Sum over branches (...), class counts of the node (..., classes) → score; None if the sum is the score.
    of_sum: Callable[[Floats, Floats], Floats] | None = None
    # (branches, classes) → the most by which one record added or removed moves two candidates' scores apart,
    # where we have a proof; `inf` for tables that the proof does not cover, None if there is no proof.
    apart: Callable[[int, int], float] | None = None

    def change_range(
        self, *, classes: int, branches: int = 2, neighbours: Neighbours = "add-remove"
    ) -> float:
        """Largest difference between the changes of two candidates' scores by one record: the range g of fact F1.

        Parameters
        ----------
        classes, branches : shape of the tables; with unequal numbers of branches, the largest.
        neighbours : relation of the two data sets.

        Notes
        -----
        **Privacy**: a choice by the exponential mechanism or by permute-and-flip at rate ε/g is ε-DP under
        ``neighbours`` (fact F1). Under add/remove g is Δ for a monotone score, and what is proved in chapter 5 for |φ|
        and information gain; otherwise g is 2Δ. A replacement is a removal and an addition, so twice that number is
        valid under replace, and so is 2Δ where Δ holds under replace.
        """
        proved = math.inf if self.apart is None else self.apart(branches, classes)
        once = self.sensitivity if self.monotone else min(2 * self.sensitivity, proved)
        if neighbours == "add-remove":
            return once
        uncovered = self.apart is not None and math.isinf(proved)
        return 2 * once if uncovered else min(2 * once, 2 * self.sensitivity)

    def __call__(self, table: ArrayLike) -> Floats:
        """Score of a contingency table (..., branches, classes)."""
        return self.function(np.asarray(table, float))

    def of_branches(self, branches: Floats, totals: Floats, combine: Callable[[Floats], Floats]) -> Floats:
        """Score of ragged splits: ``combine`` sums the contributions of the rows of ``branches``.

        Parameters
        ----------
        branches : (rows, classes) counts, one row for each branch of some split.
        totals : (splits, classes) counts of the whole node of each split.
        combine : (rows,) contributions → (splits,) sums.
        """
        if self.part is None:
            raise ValueError(f"score {self.name!r} is not a sum over branches")
        summed = combine(self.part(branches))
        return summed if self.of_sum is None else self.of_sum(summed, totals)


def _xlogx(x: Floats) -> Floats:
    return x * np.log2(np.maximum(x, 1e-300))


def _total(counts: Floats) -> Floats:
    """Sum over the last axis; NumPy's own sum is slow where this axis is as short as two classes."""
    return counts[..., 0] + counts[..., 1] if counts.shape[-1] == 2 else counts.sum(axis=-1)


def _max_part(counts: Floats) -> Floats:
    return np.maximum(counts[..., 0], counts[..., 1]) if counts.shape[-1] == 2 else counts.max(axis=-1)


def _entropy_part(counts: Floats) -> Floats:
    """−n H(branch) in bits."""
    return _total(_xlogx(counts)) - _xlogx(_total(counts))


def _gini_part(counts: Floats) -> Floats:
    """−n Gini(branch)."""
    total = _total(counts)
    return _total(counts**2) / np.maximum(total, LEAST) - total


def _gain(summed: Floats, totals: Floats) -> Floats:
    """Information gain from the sum of −n H over branches: ( n H(node) − Σ n H(branch) ) / n, at least 0."""
    n = _total(totals)
    return np.maximum(summed - _entropy_part(totals), 0.0) / np.maximum(n, 1.0)


def _covariation(table: Floats) -> tuple[Floats, Floats, Floats]:
    """Σ(x−x̄)(y−ȳ), Σ(x−x̄)², Σ(y−ȳ)² for branch numbers x and class numbers y."""
    # One array for each cell of the tables: NumPy's sums over axes as short as these are slow.
    cells = np.moveaxis(table, (-2, -1), (0, 1))
    by_x, by_y = [sum(row) for row in cells], [sum(column) for column in cells.swapaxes(0, 1)]
    n = np.maximum(sum(by_x), LEAST)
    sx, sy, sxy = _moment(by_x), _moment(by_y), _moment([_moment(row) for row in cells])
    return sxy - sx * sy / n, _moment(by_x, 2) - sx**2 / n, _moment(by_y, 2) - sy**2 / n


def _moment(counts: Iterable[Floats], power: int = 1) -> Floats:
    """Σ i^power n_i for counts n_i of the numbers i = 0, 1, ..."""
    return np.asarray(sum(i**power * n for i, n in enumerate(counts) if i))


def _abs_s_xy(table: Floats) -> Floats:
    return np.abs(_covariation(table)[0])


def _phi(table: Floats) -> Floats:
    sxy, sxx, syy = _covariation(table)
    spread = sxx * syy
    return np.where(spread > 1e-12, sxy / np.sqrt(np.where(spread > 1e-12, spread, 1.0)), 0.0)


def _abs_phi(table: Floats) -> Floats:
    return np.abs(_phi(table))


def binary_entropy(p: float) -> float:
    """Entropy in bits of a coin with probability p."""
    return 0.0 if p in (0.0, 1.0) else -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def _psi(n: int) -> float:
    return n * math.log2(n) - (n - 1) * math.log2(n - 1) if n > 1 else 0.0


def _one(n: int) -> float:
    return 1.0


def _one_from_two(n: int) -> float:
    return 1.0 if n > 1 else 0.0


def _gain_apart(branches: int, classes: int) -> float:
    """Range of information gain in bits: 1 for two branches or two classes (chapter 5)."""
    return 1.0 if min(branches, classes) <= 2 else math.inf


def _phi_apart(branches: int, classes: int) -> float:
    """Range of |φ|: ½ + 1/√3 for two branches and two classes (chapter 5)."""
    return PHI_RANGE if max(branches, classes) <= 2 else 2.0


PHI_RANGE = 0.5 + 1 / math.sqrt(3)  # of the changes of |φ| by one record, two classes (chapter 5)
# Of the largest |φ| of a class against the rest: each change lies in [−½, 1] (chapter 5).
PHI_RANGE_MANY = 1.5


INFO_GAIN = Score(
    "info_gain",
    lambda t: _gain(_entropy_part(t).sum(axis=-1), t.sum(axis=-2)),
    sensitivity=1.0,
    sensitivity_at=lambda n: binary_entropy(1 / n),
    monotone=False,
    part=_entropy_part,
    of_sum=_gain,
    apart=_gain_apart,
)
CONDITIONAL_ENTROPY = Score(
    "conditional_entropy",
    lambda t: _entropy_part(t).sum(axis=-1),
    sensitivity=math.inf,
    sensitivity_at=_psi,
    monotone=True,
    part=_entropy_part,
)
MAX_CLASS_SUM = Score(
    "max",
    lambda t: _max_part(t).sum(axis=-1),
    sensitivity=1.0,
    sensitivity_at=_one,
    monotone=True,
    part=_max_part,
)
GINI = Score(
    "gini",
    lambda t: _gini_part(t).sum(axis=-1),
    sensitivity=2.0,
    sensitivity_at=lambda n: 2 * (n - 1) / n,
    monotone=True,
    part=_gini_part,
)
GINI_NORMALISED = Score(
    "gini_normalised",
    lambda t: _gini_part(t).sum(axis=-1) / np.maximum(t.sum(axis=(-1, -2)), 1.0),
    sensitivity=0.5,
    sensitivity_at=lambda n: 2 * (n - 1) / n**2,
    monotone=False,
)
PHI = Score("phi", _phi, sensitivity=1.0, sensitivity_at=_one_from_two, monotone=False)
ABS_PHI = Score(
    "abs_phi", _abs_phi, sensitivity=1.0, sensitivity_at=_one_from_two, monotone=False, apart=_phi_apart
)
ABS_S_XY = Score("abs_s_xy", _abs_s_xy, sensitivity=1.0, sensitivity_at=lambda n: (n - 1) / n, monotone=False)

SCORES = {
    s.name: s
    for s in (INFO_GAIN, CONDITIONAL_ENTROPY, MAX_CLASS_SUM, GINI, GINI_NORMALISED, PHI, ABS_PHI, ABS_S_XY)
}
