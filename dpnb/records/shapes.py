"""Layouts of cells over one to three attributes, and additive models made of tables on them.

Nothing here reads records. A layout follows from the domain and from released values, and a model is a function of
released values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..domain import Continuous, Domain
from ..settings import EMPTY_DEVIATIONS
from .grid import LARGEST_WEIGHT, Grid, Shape

Cuts = tuple[Floats | None, ...]  # thresholds of each attribute, None for categorical ones
ColumnOf = Callable[[int], Floats]  # attribute → encoded values of records, (n,)


class Axis(NamedTuple):
    """The bins of an attribute's values."""

    attribute: int  # position of the attribute
    cuts: Floats  # increasing thresholds, each the upper end of a bin; empty for a categorical attribute
    size: int  # number of bins, which are the categories of a categorical attribute

    @property
    def ordered(self) -> bool:
        """Whether bins are intervals."""
        return len(self.cuts) > 0 or self.size == 1

    @property
    def at(self) -> Floats:
        """Thresholds, or category codes."""
        return self.cuts if self.ordered else np.arange(self.size, dtype=float)

    def coded(self, finest: Cuts) -> Axis:
        """The same axis for the number of ``finest`` thresholds below a value instead of the value."""
        cuts = finest[self.attribute]
        return self if cuts is None else self._replace(cuts=np.searchsorted(cuts, self.cuts).astype(float))

    def bins(self, values: Floats) -> Ints:
        """Bin of each encoded value, (n,)."""
        return np.searchsorted(self.cuts, values) if self.ordered else values.astype(np.intp)


def interval_axis(attribute: int, cuts: Floats) -> Axis:
    """Axis of a continuous attribute."""
    return Axis(attribute, np.asarray(cuts, float), len(cuts) + 1)


def category_axis(attribute: int, cardinality: int) -> Axis:
    """Axis of a categorical attribute."""
    return Axis(attribute, np.empty(0), int(cardinality))


class Block(NamedTuple):
    """Cells of one attribute, or of a group of two or three; the bins of the last attribute change fastest."""

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of bins of each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(np.prod(self.shape))

    def cells(self, columns: ColumnOf) -> Ints:
        """Cell of each record, (n,)."""
        return self.joined([axis.bins(columns(axis.attribute)) for axis in self.axes])

    def joined(self, bins: list[Ints]) -> Ints:
        """Cell of each record, (n,), from its bin on each axis; in as few bytes as the number of cells needs."""
        cell = bins[0].astype(np.min_scalar_type(self.size))
        for axis, own in zip(self.axes[1:], bins[1:], strict=True):
            cell = cell * axis.size + own.astype(cell.dtype)
        return cell

    def coded(self, finest: Cuts) -> Block:
        """The same block for codes, see :meth:`Axis.coded`."""
        return Block(tuple(axis.coded(finest) for axis in self.axes))


@dataclass(frozen=True, eq=False)
class Layout:
    """Several blocks; a record is in one cell of each, and cells are numbered through all of them."""

    blocks: tuple[Block, ...]

    @cached_property
    def sizes(self) -> Ints:
        """Number of cells of each block."""
        return np.array([block.size for block in self.blocks], np.intp)

    @cached_property
    def starts(self) -> Ints:
        """First cell of each block."""
        return np.cumsum(self.sizes) - self.sizes

    @property
    def total(self) -> int:
        """Number of cells."""
        return int(self.sizes.sum())

    @cached_property
    def block_of(self) -> Ints:
        """Number of each cell's block."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def sums(self, table: Floats) -> Floats:
        """Sum of a table over each block, (..., blocks)."""
        total: Floats = np.add.reduceat(table, self.starts, axis=-1)
        return total

    def parts(self, table: Floats) -> list[Floats]:
        """The table of each block, in its shape."""
        pieces = np.split(table, self.starts[1:]) if self.blocks else []
        return [piece.reshape(block.shape) for piece, block in zip(pieces, self.blocks, strict=True)]


WHOLE = Layout((Block((interval_axis(0, np.empty(0)),)),))  # a single cell of all records


class GroupShape(NamedTuple):
    """The part that the cells of two or three attributes add to the score."""

    # Thresholds of each attribute, or category codes, as `at` of :class:`~dpnb.records.grid.Shape`.
    at: tuple[Floats, ...]
    score: Floats  # (bins of the first, bins of the second, ...) scores of the cells


def layout_of(grid: Grid) -> Layout:
    """A block for each attribute of a grid, with its bins as cells."""
    pairs = enumerate(zip(grid.cuts, grid.sizes, strict=True))
    axes = (category_axis(a, size) if cuts is None else interval_axis(a, cuts) for a, (cuts, size) in pairs)
    return Layout(tuple(Block((axis,)) for axis in axes))


@dataclass(frozen=True)
class Shapes:
    """Additive score ``F(x) = constant + Σ table[cell(x)]`` over the blocks of a layout."""

    domain: Domain  # public domain
    constant: float  # score of every record
    blocks: tuple[Block, ...]  # blocks of one to three attributes each
    table: Floats  # (cells,) scores that the cells of all blocks add, one block after the other
    # A block of each attribute whose bins were counted; empty if no counts were released.
    counted: tuple[Block, ...] = ()
    # (cells of the counted blocks,) released noisy numbers of records.
    records: Floats = field(default_factory=lambda: np.empty(0))
    noise: float = 0.0  # largest standard deviation of the noise of these numbers

    @property
    def layout(self) -> Layout:
        """Layout of the table."""
        return Layout(self.blocks)

    def check(self, domain: Domain) -> None:
        """Raise ValueError unless the blocks fit the domain, and all numbers are finite."""
        _check_table(self.blocks, self.table, domain)
        _check_table(self.counted, self.records, domain)
        own = [tuple(axis.attribute for axis in block.axes) for block in self.counted]
        if own not in ([], [(a,) for a in range(domain.n_attributes)]):
            raise ValueError(f"numbers of records of attributes {own}: expected one list of each, or none")
        if not (abs(self.constant) < LARGEST_WEIGHT and 0 <= self.noise < LARGEST_WEIGHT):
            raise ValueError(
                f"constant={self.constant}, noise={self.noise}: expected finite numbers, noise from 0 on"
            )

    def score(self, codes: Floats) -> Floats:
        """Score F of encoded records, (n,)."""
        total = np.full(len(codes), self.constant)
        for block, table in zip(self.blocks, self.layout.parts(self.table), strict=True):
            total += table.reshape(-1)[block.cells(lambda a: codes[:, a])]
        return total

    def shape(self, attribute: int) -> Shape:
        """The part that an attribute, given by its position, adds by itself, which is the sum of its own blocks."""
        return self._sum(attribute, self._own(attribute))

    def _own(self, attribute: int) -> list[tuple[Axis, Floats]]:
        """Axes and tables of an attribute's own blocks."""
        return [
            (block.axes[0], table)
            for block, table in zip(self.blocks, self.layout.parts(self.table), strict=True)
            if len(block.axes) == 1 and block.axes[0].attribute == attribute
        ]

    def _sum(self, attribute: int, parts: list[tuple[Axis, Floats]]) -> Shape:
        """Sum of tables over bins of an attribute."""
        if self.domain.continuous[attribute]:
            at = np.unique(np.concatenate([np.empty(0), *(axis.cuts for axis, _ in parts)]))
            inside = np.append(at, np.inf)  # a value of each interval
            score = np.sum([table[axis.bins(inside)] for axis, table in parts], axis=0)
            return Shape(at, np.zeros(len(inside)) + score)
        size = self.domain.cardinalities[attribute]
        return Shape(np.arange(size, dtype=float), np.zeros(size) + np.sum([t for _, t in parts], axis=0))

    def part(self, codes: Floats, attribute: int) -> Floats:
        """The part that an attribute, given by its position, adds by itself to the score of encoded records, (n,)."""
        return self.shape(attribute).of(codes[:, attribute])

    def groups(self) -> list[tuple[Block, Floats]]:
        """Groups of attributes, and the parts that their cells add."""
        both = zip(self.blocks, self.layout.parts(self.table), strict=True)
        return [(block, table) for block, table in both if len(block.axes) > 1]

    @property
    def number(self) -> float:
        """Noisy number of records; NaN without counts."""
        return float(self.records.sum()) / len(self.counted) if self.counted else np.nan

    def _counts(self, attribute: int) -> tuple[Floats, Floats]:
        """Thresholds of the bins that were counted, and the noisy numbers of records in them."""
        return self.counted[attribute].axes[0].cuts, Layout(self.counted).parts(self.records)[attribute]

    def shares(self, attribute: int, at: Floats) -> Floats:
        """Share of the records in each interval that thresholds cut, or in each category, (k,), by released counts.

        Records lie evenly within a bin.
        """
        cuts, counts = self._counts(attribute)
        counts = nearest(counts)
        own = self.domain.attributes[attribute]
        if isinstance(own, Continuous):
            ends = np.concatenate([[own.floor], cuts, [own.high]])
            below = np.append(0.0, np.cumsum(counts))
            counts = np.diff(np.interp([own.floor, *at, own.high], ends, below))
        return counts / max(float(counts.sum()), 1e-300)

    def empty(self, attribute: int, at: Floats) -> Bools:
        """The intervals, or categories, in which released counts cannot tell that there is a record, (k,).

        There the noisy counts of the bins that an interval touches sum to at most :data:`EMPTY_DEVIATIONS` of their
        noise.
        """
        cuts, counts = self._counts(attribute)
        first, stop = np.arange(len(counts)), np.arange(len(counts)) + 1
        if self.domain.continuous[attribute]:
            first = np.append(0, np.searchsorted(cuts, at, side="right"))
            stop = np.append(np.searchsorted(cuts, at), len(cuts)) + 1
        below = np.append(0.0, np.cumsum(counts))
        nobody: Bools = below[stop] - below[first] <= EMPTY_DEVIATIONS * self.noise * np.sqrt(stop - first)
        return nobody

    def interaction(self, block: Block, table: Floats) -> tuple[list[Floats], float]:
        """A group's table, split into the parts that each attribute's bins add by themselves, and the size of the rest.

        The attributes are taken as independent, each distributed as :meth:`shares` says. The size is the mean absolute
        value.
        """
        places = range(table.ndim)
        shares = [self.shares(axis.attribute, axis.at) for axis in block.axes]
        weight = reduce(np.multiply.outer, shares)
        others = [tuple(o for o in places if o != place) for place in places]
        mean = float((weight * table).sum())
        own = [(weight * table).sum(axis=rest) / np.maximum(weight.sum(axis=rest), 1e-300) for rest in others]
        added = [np.expand_dims(one, rest) for one, rest in zip(own, others, strict=True)]
        left = table - sum(added, np.zeros_like(table)) + (table.ndim - 1) * mean
        return own, float((weight * np.abs(left)).sum())

    def importances(self) -> Floats:
        """How much each attribute moves the score, (attributes,).

        An importance is the mean absolute deviation of what the attribute adds, over records that lie as :meth:`shares`
        says. The part that an attribute's bins add by themselves in a group goes to this attribute, and the rest is
        divided equally among the group (functional analysis of variance, with attributes taken as independent).

        Without counts it is half the distance from the lowest to the highest score, wherever records lie; that of a
        group is divided among its attributes.
        """
        parts = [self._own(a) for a in range(self.domain.n_attributes)]
        if not self.counted:
            spread = np.array([np.ptp(self._sum(a, own).score) / 2 for a, own in enumerate(parts)])
            for block, table in self.groups():
                spread[[axis.attribute for axis in block.axes]] += np.ptp(table) / 2 / len(block.axes)
            return spread
        spread = np.zeros(self.domain.n_attributes)
        for block, table in self.groups():
            alone, rest = self.interaction(block, table)
            for axis, own in zip(block.axes, alone, strict=True):
                parts[axis.attribute].append((axis, own))
                spread[axis.attribute] += rest / len(block.axes)
        for a, mine in enumerate(parts):
            at, score = self._sum(a, mine)
            weight = self.shares(a, at)
            spread[a] += weight @ np.abs(score - weight @ score)
        return spread


def nearest(noisy: Floats) -> Floats:
    """The nearest numbers that are at least 0 and have the same sum, in least squares; all 0 if it is not above 0.

    Cutting off at 0 alone would add records where there are none. (Euclidean projection onto a simplex; Norm-Sub in
    Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li, 2020, Locally differentially private frequency estimation with
    consistency.)
    """
    down = np.sort(noisy)[::-1]
    taken = (np.cumsum(down) - max(float(noisy.sum()), 0.0)) / np.arange(1, len(down) + 1)
    found: Floats = np.maximum(noisy - taken[down >= taken][-1], 0.0)
    return found


def _check_table(blocks: tuple[Block, ...], table: Floats, domain: Domain) -> None:
    for place, block in enumerate(blocks):
        if not 1 <= len(block.axes) <= 3 or not all(_fits(axis, domain) for axis in block.axes):
            axes = "; ".join(f"attribute={axis.attribute}, size={axis.size}" for axis in block.axes)
            raise ValueError(f"block {place} does not fit the domain: {axes}")
    if table.shape != (sum(block.size for block in blocks),):
        raise ValueError(f"a table of {table.shape} for {len(blocks)} blocks of another size")
    if not (np.abs(table) < LARGEST_WEIGHT).all():
        raise ValueError("some scores are no finite numbers")


def _fits(axis: Axis, domain: Domain) -> bool:
    if not 0 <= axis.attribute < domain.n_attributes:
        return False
    if domain.continuous[axis.attribute]:
        increasing = bool((np.diff(axis.cuts) > 0).all() and np.isfinite(axis.cuts).all())
        return increasing and axis.size == len(axis.cuts) + 1
    return len(axis.cuts) == 0 and axis.size == domain.cardinalities[axis.attribute]
