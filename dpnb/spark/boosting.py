"""Weighted and scored records of a Spark table, for boosting.

Scores, and the numbers that follow from them, are whole multiples of 2⁻²⁸ and are added up as whole numbers. Up to 2²⁵
records the sums equal those of the in-memory doors to the bit; beyond that number, only the sums here are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FIXED_POINT, Floats, Ints
from ..records.doors import ScoredDoor, WeightedDoor
from ..records.grid import Grid, Stump
from ..records.losses import Loss, Margins, Measure, fixed, weight_right
from ..records.people import voted
from ..records.shapes import WHOLE, Block, Cuts, Layout, layout_of
from ..records.splits import LEAF, Splits
from .blocks import Counted, EncodedRecords, Int64s, OnlyInMemory, dense, not_answered

if TYPE_CHECKING:
    from .table import SparkTable


@dataclass(frozen=True)
class FixedPointScores:
    """Scores in units of 2⁻²⁸, as tables over layouts of codes, (problems, cells), and a constant for each problem."""

    loss: Loss
    constant: Int64s
    layouts: tuple[Layout, ...] = ()
    tables: tuple[Int64s, ...] = ()

    def of(self, records: EncodedRecords) -> Floats:
        """Scores of a block's records, (problems, n)."""
        total = np.repeat(self.constant[:, None], len(records.labels), axis=1)
        for layout, table in zip(self.layouts, self.tables, strict=True):
            for block, part in zip(layout.blocks, np.split(table, layout.starts[1:], axis=1), strict=True):
                if part.any():
                    total += part.take(_cells(block, records), axis=1)
        return total / FIXED_POINT

    def plus(self, layout: Layout, table: Floats, constant: Floats) -> FixedPointScores:
        """The scores after a table is added."""
        added, more = (np.rint(part * FIXED_POINT).astype(np.int64) for part in (table, constant))
        tables, layouts = self.tables, self.layouts
        if layout in layouts:
            at = layouts.index(layout)
            tables = (*tables[:at], tables[at] + added, *tables[at + 1 :])
        else:
            layouts, tables = (*layouts, layout), (*tables, added)
        return replace(self, constant=self.constant + more, layouts=layouts, tables=tables)


Question = Callable[[FixedPointScores, EncodedRecords], Floats]  # → (problems, n) multiples of 2⁻²⁸


def _ones(scores: FixedPointScores, records: EncodedRecords) -> Floats:
    return voted(np.ones((1, len(records.labels))), records.votes)


def _residuals(scores: FixedPointScores, records: EncodedRecords) -> Floats:
    return voted(scores.loss.residuals(scores.of(records), records.labels), records.votes)


def _squares(scores: FixedPointScores, records: EncodedRecords) -> Floats:
    return voted(fixed(scores.loss.residuals(scores.of(records), records.labels) ** 2), records.votes)


def _curvatures(scores: FixedPointScores, records: EncodedRecords) -> Floats:
    return voted(scores.loss.curvatures(scores.of(records), records.labels), records.votes)


def _measured(scores: FixedPointScores, records: EncodedRecords, *, measure: Measure) -> Floats:
    return voted(measure(scores.of(records), records.labels), records.votes)


def _cells(block: Block, records: EncodedRecords) -> Ints:
    """Cell of each record; the bins of codes are looked up, because a search for each record takes much longer."""
    sizes, codes = records.sizes, records.columns
    return block.joined(
        [axis.bins(np.arange(sizes[axis.attribute]))[codes[axis.attribute]] for axis in block.axes]
    )


def _sums(
    records: EncodedRecords, *, scores: FixedPointScores, layout: Layout, question: Question
) -> Counted:
    values: NDArray[np.float64] = question(scores, records) * FIXED_POINT
    found = np.zeros((len(values), layout.total), np.int64)
    for block, start in zip(layout.blocks, layout.starts, strict=True):
        cell = _cells(block, records)
        for problem, value in enumerate(values):
            # Sums of a block are below 2⁵³, where floats are whole numbers.
            part = np.bincount(cell, value, minlength=block.size)
            found[problem, start : start + block.size] = part.astype(np.int64)
    return np.arange(found.size), found.reshape(-1)


class SparkScored(ScoredDoor):
    """The records of a :class:`SparkTable` with scores; a question is one pass over the blocks."""

    def __init__(self, table: SparkTable, finest: Cuts, loss: Loss) -> None:
        self.loss, self.unit = loss, table.unit
        self._finest = finest
        self._encoding = table.encoding_at(finest)
        self._scores = FixedPointScores(self.loss, np.zeros(self.loss.n_problems, np.int64))
        self._coded: dict[int, tuple[Layout, Layout]] = {}

    def keep(self, layout: Layout) -> None:
        coded = Layout(tuple(block.coded(self._finest) for block in layout.blocks))
        self._coded[id(layout)] = layout, coded

    def counts(self, layout: Layout) -> Floats:
        counted: Floats = self._ask(_ones, layout, 1)[0]
        return counted

    def residuals(self, layout: Layout) -> Floats:
        return self._ask(_residuals, layout)

    def squares(self, layout: Layout) -> Floats:
        return self._ask(_squares, layout)

    def curvatures(self, layout: Layout) -> Floats:
        return self._ask(_curvatures, layout)

    def total(self, measure: Measure) -> float:
        return float(self._ask(partial(_measured, measure=measure), WHOLE).item())

    def set_width(self, width: float) -> None:
        self.loss.width = width

    def move(self, layout: Layout, table: Floats, constant: Floats) -> None:
        self._scores = self._scores.plus(self._code(layout), table, constant)

    def _code(self, layout: Layout) -> Layout:
        if id(layout) not in self._coded:
            self.keep(layout)
        return self._coded[id(layout)][1]

    def _ask(self, question: Question, layout: Layout, problems: int | None = None) -> Floats:
        task = partial(_sums, scores=self._scores, layout=self._code(layout), question=question)
        shape = (problems or self.loss.n_problems, layout.total)
        return dense(self._encoding.run(task), shape)


def _signed_bins(records: EncodedRecords, *, scores: FixedPointScores, layout: Layout) -> Counted:
    """Weight times label by bin, then the sums of weights and of weights times label."""
    signed = _residuals(scores, records)
    _, bins = _sums(records, scores=scores, layout=layout, question=lambda *_: signed)
    totals = np.array([np.abs(signed).sum(), signed.sum()]) * FIXED_POINT
    return np.arange(len(bins) + 2), np.concatenate([bins, totals.astype(np.int64)])


def _right_and_wrong(
    records: EncodedRecords, *, scores: FixedPointScores, answer: FixedPointScores
) -> Counted:
    agreed = _residuals(scores, records) * answer.of(records) * FIXED_POINT
    sums = np.array([agreed[agreed > 0].sum(), -agreed[agreed < 0].sum()])
    return np.arange(2), sums.astype(np.int64)


class SparkWeighted(WeightedDoor):
    """The records of a :class:`SparkTable` with a bounded weight each; a question is one pass over the blocks.

    A record's weight times its label is the residual of :class:`~dpnb.records.losses.Margins` at its score.
    """

    weights: Any = OnlyInMemory()
    afford: Any = OnlyInMemory()
    reweigh: Any = OnlyInMemory()
    leaves: Any = OnlyInMemory()
    tables: Any = OnlyInMemory()

    def __init__(self, table: SparkTable, grid: Grid) -> None:
        self.grid = grid
        self._encoding = table.encoding(grid)
        self._layout = Layout(tuple(block.coded(grid.cuts) for block in layout_of(grid).blocks))
        self._scores = FixedPointScores(Margins(), np.zeros(1, np.int64))

    def advance(self, stump: Stump, step: float) -> None:
        self._scores = self._plus(self._scores, stump, float(fixed(step)))

    def right(self) -> Floats:
        sums = self._ask(partial(_signed_bins, layout=self._layout), self._layout.total + 2)
        return weight_right(self.grid.within(sums[:-2]), total=sums[-2], difference=sums[-1])

    def outcome(self, stump: Stump, weights: Floats | None = None) -> Floats:
        if weights is not None:
            raise not_answered("outcome by other weights")
        nothing = FixedPointScores(self._scores.loss, np.zeros(1, np.int64))
        return self._ask(partial(_right_and_wrong, answer=self._plus(nothing, stump, 1.0)), 2)

    def _ask(self, question: Callable[..., Counted], length: int) -> Floats:
        counted = self._encoding.run(partial(question, scores=self._scores))
        return dense(counted, (length,))

    def _plus(self, scores: FixedPointScores, stump: Stump, step: float) -> FixedPointScores:
        """The scores after a step of a stump on the grid."""
        table, step = np.zeros((1, self._layout.total)), step * stump.sign
        if stump.kind == LEAF:
            return scores.plus(self._layout, table, np.array([step]))
        codes = np.arange(self.grid.sizes[stump.attribute])
        one = Splits(*(np.array([field]) for field in (stump.kind, stump.attribute, stump.cut)))
        branch = self._encoding.coded(one).branch(np.zeros(len(codes), np.intp), codes.astype(float))
        table[0, self._layout.starts[stump.attribute] + codes] = np.where(branch == 0, step, -step)
        return scores.plus(self._layout, table, np.zeros(1))
