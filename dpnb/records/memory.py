"""Records in memory, in the only module that reads them one by one; it answers for :mod:`dpnb.records.doors`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ..arrays import Floats, Ints, check_cells
from ..domain import Domain
from ..domain.people import Owners, people_of
from .bags import Bags, Copies, Keys, label_keys, numbered, record_keys, uniforms
from .doors import BinnedRecords, CohortDoor, RecordsDoor, ScoredDoor, ValueCounts, WeightedDoor
from .grid import Grid, Stump, grid_of
from .losses import Loss, Measure, bounded_weights, fixed, weight_right
from .people import vote_of, voted
from .shapes import Block, Cuts, Layout
from .splits import THRESHOLD, Splits


class Records(RecordsDoor):
    """A training set behind the records door.

    Parameters
    ----------
    X : table or array (n, attributes). A record's key is a hash of its index label (or of its position in an array), of
        its values in the domain, and of its class. Exact copies, label included, are numbered.
    y : (n,) labels.
    domain : public domain.
    strict : whether values and labels outside the domain raise :class:`~dpnb.errors.DomainError`; otherwise they are
        moved into it, see :meth:`~dpnb.Domain.replaced`.
    by_content : whether keys follow from values and class too. They do not where the domain was read off the records,
        because one more record would change the codes of all.
    people : (n,) the person of each record, see :func:`~dpnb.domain.people.people_of`. A person's records share one
        vote and one key, and records of nobody are left out. None if each record stands for itself.
    """

    def __init__(
        self,
        X: pd.DataFrame | ArrayLike,
        y: ArrayLike | pd.Series[Any],
        *,
        domain: Domain,
        strict: bool = True,
        by_content: bool = True,
        people: ArrayLike | pd.Series[Any] | None = None,
    ) -> None:
        matrix = domain.encode(X) if strict else domain.replaced(X)
        self.domain, self.strict = domain, strict
        self.labels = domain.encode_labels(y) if strict else domain.replaced_labels(y)
        if len(matrix) != len(self.labels):
            numbers = f": {len(matrix)} records, {len(self.labels)} labels" if strict else ""
            raise ValueError(
                f"inconsistent numbers of samples: X and y are not equally long{numbers}; pass one label a record, "
                "Domain.check(X, y) counts them"
            )
        if people is not None:
            matrix = self._vote(people_of(people, missing=domain.missing), matrix)
        self._index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(matrix))
        self._by_content = by_content
        self._binned: tuple[Grid, Ints] | None = None
        self._one_hot: tuple[Grid, csr_array] | None = None
        self.columns = np.ascontiguousarray(matrix.T)

    def _vote(self, people: Owners, matrix: Floats) -> Floats:
        """Keep the records of people, with their votes; returns what is kept of the matrix."""
        if len(people.known) != len(matrix):
            numbers = f": {len(matrix)} records, {len(people.known)} people" if self.strict else ""
            raise ValueError(f"X and people are not equally long{numbers}; pass the person of each record")
        self.unit, self.votes = "person", vote_of(people.counts)[people.person]
        self.labels = self.labels[people.known]
        self.keys = label_keys(people.names)[people.person]
        return matrix[people.known]

    @cached_property
    def keys(self) -> Keys:  # type: ignore[override]
        labels = label_keys(self._index)
        return numbered(record_keys(labels, self.columns, self.labels) if self._by_content else labels)

    def _placed(self, attribute: int) -> tuple[Floats, Ints]:
        """Values that occur of a continuous attribute, all codes of a categorical one; each record's place in them."""
        column = self.columns[attribute]
        if not self.domain.continuous[attribute]:
            return np.arange(self.domain.cardinalities[attribute], dtype=float), column.astype(np.intp)
        places, values = pd.factorize(column, sort=True)
        return values, places

    @cached_property
    def _table(self) -> tuple[list[Floats], NDArray[np.integer[Any]]]:
        """Values of each attribute; place among them, times the number of classes, plus the class, (n, attributes)."""
        values, places = zip(*map(self._placed, range(len(self.columns))), strict=True)
        classes = self.domain.n_classes
        cells = np.empty(self.columns.shape[::-1], np.min_scalar_type(max(map(len, values)) * classes))
        for a, place in enumerate(places):
            cells[:, a] = place * classes + self.labels
        return list(values), cells

    @cached_property
    def _listed_values(self) -> tuple[Floats, Ints, Ints]:
        """The values of all attributes in one list, where those of each begin, and how many they are."""
        values, _ = self._table
        sizes = np.array([len(own) for own in values])
        return np.concatenate(values), sizes.cumsum() - sizes, sizes

    def bag(self, bags: Bags, *, seed: int, tree: int) -> Cohort:
        return self.cohort(bags.draw(self.keys, seed=seed, tree=tree))

    def weighted(self, grid: Grid | None) -> WeightedRecords:
        return WeightedRecords(self, grid)

    def scored(self, finest: Cuts, loss: Loss) -> ScoredRecords:
        return ScoredRecords(self, loss)

    def cohort(self, copies: Copies | None = None) -> Cohort:
        return Cohort(self, copies)

    def one_hot(self, grid: Grid) -> csr_array:
        """Which records are in each bin of a grid, (bins, n); kept for the next question about the same grid."""
        if self._one_hot is None or self._one_hot[0] is not grid:
            bins = self._bins(grid)
            record = np.concatenate([np.argsort(b, kind="stable").astype(np.int32) for b in bins])
            sizes = [np.bincount(b, minlength=size) for b, size in zip(bins, grid.sizes, strict=True)]
            starts = np.cumsum(np.concatenate([[0], *sizes]), dtype=np.int32)
            shape = (len(starts) - 1, len(self.labels))
            self._one_hot = grid, csr_array((np.ones(len(record)), record, starts), shape=shape)
        return self._one_hot[1]

    def _bins(self, grid: Grid) -> Ints:
        """Bin of every value, (attributes, n); kept for the next question about the same grid."""
        if self._binned is None or self._binned[0] is not grid:
            small = np.min_scalar_type(grid.sizes.max(initial=0))
            pairs = zip(self.columns, grid.cuts, strict=True)
            self._binned = grid, np.stack([_bin_numbers(c, cuts).astype(small) for c, cuts in pairs])
        return self._binned[1]

    def observed_bounds(self) -> tuple[Floats, Floats]:
        if not len(self.labels):
            return np.nan_to_num(self.domain.lows), np.nan_to_num(self.domain.highs)
        return self.columns.min(axis=1), self.columns.max(axis=1)

    def binned(self, grid: Grid) -> BinnedRecords:
        self._bins(grid)
        return BinnedRecords(grid)


def _sorted(column: Floats, votes: Floats | None) -> tuple[Floats, Floats]:
    """Values of a column, increasing, and the votes of those before each and before its end."""
    if votes is None:
        return np.sort(column), np.arange(len(column) + 1.0)
    order = np.argsort(column, kind="stable")
    return column[order], np.append(0.0, votes[order].cumsum())


def _bin_numbers(column: Floats, cuts: Floats | None) -> Ints:
    return column.astype(np.intp) if cuts is None else np.searchsorted(cuts, column)


class Cohort(CohortDoor):
    """A bag of records on its way down a tree; ``slot`` numbers the nodes of the current level."""

    def __init__(self, records: Records, copies: Copies | None) -> None:
        self._classes = records.domain.n_classes
        self._records = records
        self._columns = records.columns
        self._row = np.arange(len(records.labels)) if copies is None else np.flatnonzero(copies > 0)
        once = copies is None or copies.max(initial=0) <= 1
        self._copies = None if copies is None or once else copies.take(self._row).astype(float)
        if records.votes is not None:
            votes = records.votes.take(self._row)
            self._copies = votes if self._copies is None else votes * self._copies
        self._label = records.labels.take(self._row)
        self._slot = np.zeros(len(self._row), np.intp)
        self._repeated: tuple[Ints, Floats | None] | None = None

    def class_counts(self, n_slots: int) -> Floats:
        key = self._slot * self._classes + self._label
        counts = np.bincount(key, self._copies, minlength=n_slots * self._classes)
        return counts.reshape(n_slots, self._classes).astype(float)

    def value_counts(self, asked: Ints) -> ValueCounts:
        values, first_value, sizes = self._records._listed_values
        first = np.concatenate([[0], sizes.take(asked).cumsum()])
        base: Ints = first[:-1].reshape(asked.shape) * self._classes
        # Records outside, attributes inside: a cell is rarely counted twice in a row, which would be slow.
        row, copies = self._each_asked(asked.shape[1])
        place = asked.take(self._slot, axis=0).reshape(-1)
        place += row
        keys = base.take(self._slot, axis=0).reshape(-1)
        keys += self._records._table[1].take(place)
        cell, counts = _tally(keys, copies, n_cells=int(first[-1]), classes=self._classes)
        cells_of = np.diff(cell.searchsorted(first))
        question = np.arange(asked.size).repeat(cells_of)
        start = first_value.take(asked.reshape(-1)) - first[:-1]
        value = values.take(cell + start.repeat(cells_of))
        return ValueCounts(question, value, counts)

    def _each_asked(self, f: int) -> tuple[Ints, Floats | None]:
        """Place of each record's first cell, and its copies, once for each of ``f`` questions: until records leave."""
        if self._repeated is None or len(self._repeated[0]) != f * len(self._row):
            copies = None if self._copies is None else self._copies.repeat(f)
            self._repeated = (self._row * len(self._columns)).repeat(f), copies
        return self._repeated

    def bin_counts(self, binned: BinnedRecords, n_slots: int) -> Floats:
        sizes = binned.grid.sizes
        cells = n_slots * self._classes * int(sizes.sum())
        check_cells(cells, what=f"the counts of all bins at {n_slots} nodes")
        group = self._slot * self._classes + self._label
        parts = []
        for size, bins in zip(sizes, self._records._bins(binned.grid), strict=True):
            key = group * size + bins.take(self._row)
            part = np.bincount(key, self._copies, minlength=n_slots * self._classes * size)
            parts.append(part.reshape(n_slots, self._classes, size))
        return np.concatenate(parts, axis=2, dtype=float)

    def branch_counts(self, splits: Splits, n_branches: int) -> Floats:
        branch = splits.branch(self._slot, self._split_values(splits))
        key = (self._slot * n_branches + branch) * self._classes + self._label
        shape = (len(splits.kind), n_branches, self._classes)
        check_cells(math.prod(shape), what=f"the counts of all branches of {len(splits.kind)} nodes")
        counts = np.bincount(key, self._copies, minlength=math.prod(shape))
        return counts.reshape(shape).astype(float)

    def node_edges(self, attribute: int, n_slots: int, *, n_bins: int, quantiles: bool) -> Floats:
        values = self._columns[attribute].take(self._row)
        order = np.lexsort((values, self._slot))
        values = np.append(values[order], 0.0)
        sizes = np.bincount(self._slot, minlength=n_slots)[:, None]
        first = np.cumsum(sizes)[:, None] - sizes
        share = np.arange(1, n_bins) / n_bins
        if quantiles:
            ranks = np.ceil(share * sizes).astype(np.intp) - 1
            edges = values[first + np.maximum(ranks, 0)]
        else:
            low, high = values[first], values[first + np.maximum(sizes - 1, 0)]
            edges = low + share * (high - low)
        return np.where(sizes > 0, edges, 0.0)

    def keep(self, slots: Ints) -> None:
        if np.array_equal(slots, np.arange(len(slots))) and self._slot.max(initial=-1) < len(slots):
            return
        renumbered = np.full(int(max(self._slot.max(initial=-1), slots.max(initial=-1))) + 1, -1)
        renumbered[slots] = np.arange(len(slots))
        slot = renumbered[self._slot]
        inside = np.flatnonzero(slot >= 0)
        self._row, self._label, self._slot = self._row[inside], self._label[inside], slot[inside]
        self._copies = None if self._copies is None else self._copies[inside]
        self._repeated = None

    def divided(self, n_shards: int, *, seed: int | None) -> Cohort:
        if seed is None:
            order = np.argsort(self._slot, kind="stable")
            sizes = np.bincount(self._slot)
            rank = np.empty(len(order), np.intp)
            rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            size, longer = (part.take(self._slot) for part in np.divmod(sizes, n_shards))
            after = (rank - longer) // np.maximum(size, 1)
            shard = np.where(rank < longer * (size + 1), rank // (size + 1), after)
        else:
            keys = self._records.keys[self._row]
            shard = np.floor(uniforms(keys, seed=seed, stream=0) * n_shards).astype(np.intp)
        divided = copy(self)
        divided._slot = self._slot * n_shards + shard
        return divided

    def descend(self, splits: Splits, first_slot: Ints) -> None:
        branch = splits.branch(self._slot, self._split_values(splits))
        self._slot = first_slot.take(self._slot)
        self._slot += branch

    def _split_values(self, splits: Splits) -> Floats:
        """Each record's value of the attribute that its node is split on."""
        place = (splits.attribute * self._columns.shape[1]).take(self._slot)
        place += self._row
        values: Floats = self._columns.take(place)
        return values


def _tally(keys: Ints, copies: Floats | None, *, n_cells: int, classes: int) -> tuple[Ints, Floats]:
    """Count keys ``cell * classes + class``: the cells that occur, and their counts by class.

    A table of all cells is fastest while it is not much longer than the keys. When many small nodes ask for attributes
    with many values, the table would be mostly empty. Then the keys are sorted, with whole numbers of copies packed
    into them as a last digit.
    """
    if n_cells * classes <= 8 * len(keys) + 4096:
        table = np.bincount(keys, copies, minlength=n_cells * classes)
        occurs = table[0::classes] + table[1::classes]
        for c in range(2, classes):
            occurs += table[c::classes]
        cell = (occurs > 0).nonzero()[0]
        return cell, table.reshape(n_cells, classes).take(cell, axis=0).astype(float, copy=False)
    if copies is not None and np.any(copies % 1):
        order = np.argsort(keys, kind="stable")
        keys, weight = keys[order], copies[order]
    else:
        base = 1 if copies is None else int(copies.max(initial=0)) + 1
        packed = np.sort(keys if copies is None else keys * base + copies.astype(np.intp))
        keys, weight = (
            packed // base,
            np.ones(len(packed)) if copies is None else (packed % base).astype(float),
        )
    cells = keys // classes
    new = np.flatnonzero(np.diff(cells, prepend=-1))
    counts = np.stack(
        [np.add.reduceat(np.where(keys % classes == c, weight, 0.0), new) for c in range(classes)], 1
    )
    return cells[new], counts


class WeightedRecords(WeightedDoor):
    """All records of a two-class problem with a weight each, on a grid, and the sums for which boosting asks.

    Parameters
    ----------
    records : the training set.
    grid : public bins of the attributes; None for thresholds halfway between the values that occur, which leaks them.
    """

    def __init__(self, records: Records, grid: Grid | None) -> None:
        domain = records.domain
        if grid is None:
            midpoints = (
                (v[1:] + v[:-1]) / 2 if c else None
                for v, c in zip(records._table[0], domain.continuous, strict=True)
            )
            grid = grid_of(domain, tuple(midpoints))
        self.grid = grid
        self._columns = records.columns
        self._sign: Floats = np.where(records.labels == 1, 1.0, -1.0)
        self._margin = np.zeros(len(self._sign))
        self._spent = np.zeros(len(self._sign))
        self._asked: tuple[Stump, Floats] | None = None
        self._votes = records.votes
        self._weigh(np.ones(len(self._sign)))
        self._one_hot = records.one_hot(grid)

    def advance(self, stump: Stump, step: float) -> None:
        self._margin += fixed(step) * self._agreement(stump)
        self._weigh(bounded_weights(self._margin))

    def _weigh(self, each: Floats) -> None:
        """Weigh the records, whose own weights a person's vote divides."""
        self._each, self.weights = each, voted(each, self._votes)

    def afford(self, *, total: float) -> None:
        pays = self._spent + self._each <= total
        self._weigh(np.where(pays, self._each, 0.0))
        self._spent = self._spent + self._each

    def reweigh(self, stump: Stump, alpha: float) -> None:
        # Not NumPy's exponential: its last bit depends on the processor, and ties of weights hang on that bit.
        right, wrong = math.exp(-alpha), math.exp(alpha)
        self.weights = self.weights * np.where(self._agreement(stump) > 0, right, wrong)

    def _answers(self, stump: Stump) -> Floats:
        if stump.attribute < 0:
            return np.full(len(self._sign), stump.sign)
        column = self._columns[stump.attribute]
        holds = column <= stump.cut if stump.kind == THRESHOLD else column == stump.cut
        return np.where(holds, stump.sign, -stump.sign)

    def _agreement(self, stump: Stump) -> Floats:
        """``y G(x)``: 1.0 where the stump is right, -1.0 where it is wrong; a round asks more than once."""
        if self._asked is None or self._asked[0] is not stump:
            self._asked = stump, self._sign * self._answers(stump)
        return self._asked[1]

    def right(self) -> Floats:
        signed = self.weights * self._sign
        within = self.grid.within(np.asarray(self._one_hot @ signed, float))
        return weight_right(within, total=self.weights.sum(), difference=signed.sum())

    def outcome(self, stump: Stump, weights: Floats | None = None) -> Floats:
        weights = self.weights if weights is None else weights
        agreement = self._agreement(stump)
        return np.array([weights @ (agreement > 0), weights @ (agreement < 0)])

    def leaves(self, stump: Stump) -> Floats:
        leaf, label = self._answers(stump) != stump.sign, self._sign < 0
        return np.asarray(np.bincount(2 * leaf + label, self.weights, minlength=4)[None], float)

    def tables(self) -> Floats:
        sides = [np.where(self._sign == s, self.weights, 0.0) for s in (1, -1)]
        inside = [self.grid.within(np.asarray(self._one_hot @ side, float)) for side in sides]
        outside = [side.sum() - within for side, within in zip(sides, inside, strict=True)]
        # A difference of sums may be a rounding error below zero.
        return np.asarray(np.maximum(np.stack([*inside, *outside], axis=1), 0.0), float)


class ScoredRecords(ScoredDoor):
    """All records with scores, in memory."""

    def __init__(self, records: Records, loss: Loss) -> None:
        self.loss, self.unit = loss, records.unit
        self._columns = records.columns
        self._labels = records.labels
        self._score = np.zeros((self.loss.n_problems, len(self._labels)))
        self._votes = records.votes
        self._kept: dict[int, tuple[Layout, list[tuple[Ints, csr_array]]]] = {}
        self._sorted: dict[int, tuple[Floats, Floats]] = {}
        self._residuals = self.loss.residuals(self._score, self._labels)

    def keep(self, layout: Layout) -> None:
        ones = np.ones(len(self._labels))  # of all blocks together: memory is what a sum waits for
        kept = []
        for cells, size in zip(self._cells(layout, range(len(layout.blocks))), layout.sizes, strict=True):
            record = np.argsort(cells, kind="stable").astype(np.int32)
            first = np.append(0, np.cumsum(np.bincount(cells, minlength=size))).astype(np.int32)
            kept.append((cells, csr_array((ones, record, first), shape=(size, len(cells)))))
        self._kept[id(layout)] = layout, kept

    def counts(self, layout: Layout) -> Floats:
        return np.concatenate([self._counted(block) for block in layout.blocks], dtype=float)

    def _counted(self, block: Block) -> Floats:
        axis = block.axes[0]
        if len(block.axes) > 1 or not axis.ordered:
            cells = block.cells(self._columns.__getitem__)
            return np.bincount(cells, self._votes, minlength=block.size).astype(float)
        if axis.attribute not in self._sorted:
            self._sorted[axis.attribute] = _sorted(self._columns[axis.attribute], self._votes)
        values, below = self._sorted[axis.attribute]
        up_to = below[values.searchsorted(axis.cuts, side="right")]
        return np.diff(up_to, prepend=0.0, append=below[-1])

    def residuals(self, layout: Layout) -> Floats:
        return self._sums(layout, voted(self._residuals, self._votes))

    def squares(self, layout: Layout) -> Floats:
        return self._sums(layout, voted(fixed(self._residuals**2), self._votes))

    def curvatures(self, layout: Layout) -> Floats:
        return self._sums(layout, voted(self.loss.curvatures(self._score, self._labels), self._votes))

    def total(self, measure: Measure) -> float:
        return float(voted(measure(self._score, self._labels), self._votes).sum())

    def set_width(self, width: float) -> None:
        self.loss.width = width
        self._residuals = self.loss.residuals(self._score, self._labels)

    def move(self, layout: Layout, table: Floats, constant: Floats) -> None:
        changed = np.unique(layout.block_of[table.any(axis=0)]).tolist()
        for i, cells in zip(changed, self._cells(layout, changed), strict=True):
            start = layout.starts[i]
            self._score += table[:, start : start + layout.sizes[i]].take(cells, axis=1)
        self._score += constant[:, None]
        self._residuals = self.loss.residuals(self._score, self._labels)

    def _cells(self, layout: Layout, blocks: Iterable[int]) -> Iterator[Ints]:
        """Cell of each record in some of the blocks."""
        if id(layout) in self._kept:
            yield from (self._kept[id(layout)][1][i][0] for i in blocks)
            return
        bins: dict[int, Ints] = {}  # by axis: groups share theirs
        for block in (layout.blocks[i] for i in blocks):
            for axis in block.axes:
                if id(axis) not in bins:
                    bins[id(axis)] = axis.bins(self._columns[axis.attribute])
            yield block.joined([bins[id(axis)] for axis in block.axes])

    def _sums(self, layout: Layout, values: Floats) -> Floats:
        if id(layout) in self._kept:
            each = [[sums @ value for _, sums in self._kept[id(layout)][1]] for value in values]
            return np.array([np.concatenate(own) for own in each])
        sums = np.empty((len(values), layout.total))
        every = self._cells(layout, range(len(layout.blocks)))
        for block, start, cells in zip(layout.blocks, layout.starts, every, strict=True):
            for problem, value in enumerate(values):
                sums[problem, start : start + block.size] = np.bincount(cells, value, minlength=block.size)
        return sums
