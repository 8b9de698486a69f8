"""Weighted records of a Spark table, for boosting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats, Ints
from ..records.doors import WeightedDoor
from ..records.grid import Grid, Stump
from ..records.losses import FIXED_POINT, bounded_weights, fixed, weight_right
from ..records.splits import LEAF, Splits
from .blocks import Counted, EncodedRecords, Int64s, OnlyInMemory, dense, not_answered

if TYPE_CHECKING:
    from .table import SparkTable


@dataclass(frozen=True)
class FixedPointScore:
    """Additive score in units of 2⁻²⁸, by bin, and the weights that follow from it.

    Parameters
    ----------
    by_bin : (bins,) score of each bin, summed over the stumps so far.
    constant : score of the stumps that always answer the same.
    positive : code of the class that counts as +1.
    first : (attributes,) first bin of each attribute.
    """

    by_bin: Int64s
    constant: int
    positive: int
    first: Ints

    def weigh(self, records: EncodedRecords) -> tuple[Int64s, Int64s]:
        """Weights in units of 2⁻²⁸, and signs of the labels, of a block's records."""
        sign = np.where(records.labels == self.positive, 1, -1)
        total = np.full(len(sign), self.constant)
        for codes, first, size in zip(records.columns, self.first, records.sizes, strict=True):
            scores = self.by_bin[first : first + size]
            if scores.any():
                total += scores.take(codes)
        weights = bounded_weights(sign * total / FIXED_POINT)
        return (weights * FIXED_POINT).astype(np.int64), sign


def _signed_bins(records: EncodedRecords, *, score: FixedPointScore) -> Counted:
    """Weight times label by bin, then the sums of weights and of weights times label."""
    weights, sign = score.weigh(records)
    signed = weights * sign
    # Sums of a block are below 2⁵³, where floats are whole numbers.
    bins = [
        np.bincount(codes, signed, minlength=size)
        for codes, size in zip(records.columns, records.sizes, strict=True)
    ]
    counts = np.concatenate([*bins, [weights.sum(), signed.sum()]]).astype(np.int64)
    return np.arange(len(counts)), counts


def _right_and_wrong(records: EncodedRecords, *, score: FixedPointScore, answer: FixedPointScore) -> Counted:
    weights, sign = score.weigh(records)
    total = np.full(len(sign), answer.constant)
    for codes, first, size in zip(records.columns, answer.first, records.sizes, strict=True):
        total += answer.by_bin[first : first + size].take(codes)
    return np.arange(2), np.array([weights[total * sign > 0].sum(), weights[total * sign < 0].sum()])


class SparkWeighted(WeightedDoor):
    """The records of a :class:`SparkTable` with a bounded weight each; a question is one pass over the blocks.

    Scores and weights are whole multiples of 2⁻²⁸ and are added up as whole numbers. Up to 2²⁵ records the sums equal
    those of the in-memory door to the bit; beyond, only these are exact.
    """

    weights: Any = OnlyInMemory()
    afford: Any = OnlyInMemory()
    reweigh: Any = OnlyInMemory()
    leaves: Any = OnlyInMemory()
    tables: Any = OnlyInMemory()

    def __init__(self, table: SparkTable, grid: Grid, *, positive: int) -> None:
        self.grid = grid
        self._encoding = table.encoding(grid)
        first = np.cumsum(grid.sizes) - grid.sizes
        nothing = np.zeros(int(grid.sizes.sum()), np.int64)
        self._score = FixedPointScore(by_bin=nothing, constant=0, positive=positive, first=first)

    def advance(self, stump: Stump, step: float) -> None:
        self._score = self._plus(self._score, stump, round(float(fixed(step)) * int(FIXED_POINT)))

    def right(self) -> Floats:
        sums = self._ask(_signed_bins, len(self._score.by_bin) + 2)
        return weight_right(self.grid.within(sums[:-2]), total=sums[-2], difference=sums[-1])

    def outcome(self, stump: Stump, weights: Floats | None = None) -> Floats:
        if weights is not None:
            raise not_answered("outcome by other weights")
        nothing = replace(self._score, by_bin=np.zeros_like(self._score.by_bin), constant=0)
        return self._ask(_right_and_wrong, 2, answer=self._plus(nothing, stump, 1))

    def _ask(self, question: Callable[..., Counted], length: int, **more: FixedPointScore) -> Floats:
        counted = self._encoding.run(partial(question, score=self._score, **more))
        return dense(counted, (length,)) / FIXED_POINT

    def _plus(self, score: FixedPointScore, stump: Stump, units: int) -> FixedPointScore:
        """The score plus so many units of a stump on the grid."""
        units *= int(stump.sign)
        if stump.kind == LEAF:
            return replace(score, constant=score.constant + units)
        codes = np.arange(self.grid.sizes[stump.attribute])
        one = Splits(*(np.array([field]) for field in (stump.kind, stump.attribute, stump.cut)))
        branch = self._encoding.coded(one).branch(np.zeros(len(codes), np.intp), codes.astype(float))
        by_bin = score.by_bin.copy()
        by_bin[score.first[stump.attribute] + codes] += np.where(branch == 0, units, -units)
        return replace(score, by_bin=by_bin)
