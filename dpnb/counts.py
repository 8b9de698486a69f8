"""Records door: the only module that reads records.

Everything that the algorithms of this book ask of the data is a table of counts by node, attribute, value and
class. Three doors say what may be asked: of a training set, of one bag of it on its way down a tree, and of
records with a weight each. :class:`Records` answers in memory, :class:`dpnb.spark.SparkTable` on a cluster.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from .arrays import Floats, Ints, check_cells
from .bags import Bags, Copies, Keys, label_keys, numbered, record_keys, uniforms
from .domain import Domain
from .grid import Grid, Stump, grid_of
from .shapes import Block, Cuts, Layout
from .splits import THRESHOLD, Splits

FIXED_POINT = 2.0**28


@dataclass(frozen=True)
class ValueCounts:
    """Counts of the values that occur, for several questions "this attribute at this node?".

    Parameters
    ----------
    question : (cells,) question number, increasing.
    value : (cells,) value (category code), increasing within a question; only values that occur are listed.
    counts : (cells, classes) number of records.
    """

    question: Ints
    value: Floats
    counts: Floats


@dataclass(frozen=True)
class BinnedRecords:
    """Says that a door has its records in the bins of a grid, for :meth:`CohortDoor.bin_counts`."""

    grid: Grid


class RecordsDoor(ABC):
    """What may be asked of a training set; a question that a door does not answer raises an error that names it.

    It is a base class, for by it estimators know a training set that is encoded already.

    Attributes
    ----------
    domain : public domain of the records.
    keys : (n,) record keys, which bags and shards follow.
    strict : whether records that do not fit the domain are refused, rather than moved.
    """

    domain: Domain
    keys: Keys
    strict: bool = True

    @abstractmethod
    def bag(self, bags: Bags, *, seed: int, tree: int) -> CohortDoor:
        """The bag of a tree by a rule of :class:`~dpnb.bags.Bags`, at its root.

        Parameters
        ----------
        bags : the rule.
        seed : 64-bit secret seed of the forest's bags.
        tree : number of the tree.
        """

    @abstractmethod
    def cohort(self, copies: Copies | None = None) -> CohortDoor:
        """Records at the root of a tree.

        Parameters
        ----------
        copies : (n,) how often each record is in the bag; once if None.
        """

    @abstractmethod
    def binned(self, grid: Grid) -> BinnedRecords:
        """The same records with every value replaced by its bin of a grid."""

    @abstractmethod
    def weighted(self, grid: Grid | None, *, positive: int) -> WeightedDoor:
        """These records with a weight each, for boosting; parameters as of :class:`WeightedRecords`."""

    @abstractmethod
    def scored(self, finest: Cuts, loss: Loss) -> ScoredDoor:
        """These records with scores, for boosting with tables.

        Parameters
        ----------
        finest : all thresholds that will be asked about, of each attribute; None for categorical ones.
        loss : what residuals are.
        """

    @abstractmethod
    def observed_bounds(self) -> tuple[Floats, Floats]:
        """Smallest and largest value of each attribute: data-dependent, for readings that leak them."""


class CohortDoor(Protocol):
    """What may be asked of a bag of records on its way down a tree; a level's nodes are its *slots* 0, 1, ..."""

    def class_counts(self, n_slots: int) -> Floats:
        """Records of each class at each node of the level, (n_slots, classes)."""

    def value_counts(self, asked: Ints) -> ValueCounts:
        """Counts by value and class for the attributes asked at each node.

        Parameters
        ----------
        asked : (n_slots, f) attribute positions; the question number is ``slot * f + j``.
        """

    def bin_counts(self, binned: BinnedRecords, n_slots: int) -> Floats:
        """Records by node, class and bin, (n_slots, classes, bins); bins are counted over all attributes."""

    def condition_tables(self, binned: BinnedRecords, n_slots: int) -> Floats:
        """Records where each condition holds and elsewhere, by class, (n_slots, conditions, 2, classes)."""
        return binned.grid.tables(self.bin_counts(binned, n_slots))

    def branch_counts(self, splits: Splits, n_branches: int) -> Floats:
        """Records by node, branch and class if the nodes were split like that, (n_slots, n_branches, classes).

        Parameters
        ----------
        splits : one for each node of the level, none a leaf.
        n_branches : most branches of any.
        """

    def node_edges(self, attribute: int, n_slots: int, *, n_bins: int, quantiles: bool) -> Floats:
        """Edges between bins of a continuous attribute, from the records of each node: data-dependent.

        Parameters
        ----------
        attribute : its position.
        n_slots : number of nodes of the level.
        n_bins : number of bins, at least 2.
        quantiles : bins of equal numbers of records instead of equal widths.

        Returns
        -------
        (n_slots, n_bins - 1) edges; 0 at nodes without records.
        """

    def keep(self, slots: Ints) -> None:
        """Drop the records of all other nodes and number the nodes that are kept 0, 1, ... anew.

        Parameters
        ----------
        slots : (kept,) increasing.
        """

    def part(self, slots: Ints) -> Self:
        """The records of some nodes as a cohort of its own, numbered as by :meth:`keep`; this one keeps them too."""
        part = copy(self)
        part.keep(slots)
        return part

    def divided(self, n_shards: int, *, seed: int | None) -> CohortDoor:
        """The same records with every node divided: shard s of node v is slot ``v * n_shards + s``.

        Parameters
        ----------
        n_shards : number m ≥ 1 of shards.
        seed : of the hash that gives each record its shard by its key, the same one at every node; None for
            consecutive blocks of a node's records, the first ones longer by one if need be (not a per-record rule).
        """

    def descend(self, splits: Splits, first_slot: Ints) -> None:
        """Move every record to its child on the next level.

        Parameters
        ----------
        splits : splits of this level's nodes.
        first_slot : (n_slots,) slot of each node's first child on the next level.
        """


class WeightedDoor(Protocol):
    """What boosting may ask of all records of a two-class problem with a weight each, on a grid.

    Weights start at 1. They follow a margin (:meth:`advance`), or are multiplied round by round (:meth:`reweigh`).

    Attributes
    ----------
    grid : bins of the attributes.
    weights : (n,) of the records; an algorithm that perturbs single weights may set them.
    """

    grid: Grid
    weights: Floats

    def advance(self, stump: Stump, step: float) -> None:
        """Add ``step · y G(x)`` to every margin; weights become :func:`bounded_weights` of it."""

    def afford(self, *, total: float) -> None:
        """Individual privacy filter: give weight 0 to the records whose weights would sum to more than ``total``.

        Parameters
        ----------
        total : sum of a record's weights over all rounds that the budget pays for. Sums of
            :func:`bounded_weights` are exact.
        """

    def reweigh(self, stump: Stump, alpha: float) -> None:
        """Multiply every weight by AdaBoost's ``exp(−alpha · y G(x))``."""

    def right(self) -> Floats:
        """Weight of the records that each stump of the grid classifies rightly, in the order of ``Grid.stump``.

        Returns
        -------
        (candidates,). With S the sum of u·y where the condition holds, and P, N the weights of the two classes,
        the stump that answers +1 there is right on N + S, its negation on P − S.
        """

    def outcome(self, stump: Stump, weights: Floats | None = None) -> Floats:
        """Weight of the records on which a stump is right, and on which it is wrong, (2,).

        Parameters
        ----------
        stump : any, on the grid or not.
        weights : (n,) to use instead of the current ones.
        """

    def leaves(self, stump: Stump) -> Floats:
        """Weight by leaf (condition holds, or not) and class (+1, -1), (1, 4)."""

    def tables(self) -> Floats:
        """Weight of +1 and -1 where each condition of the grid holds, then of both elsewhere, (conditions, 4)."""


class ScoredDoor(Protocol):
    """What boosting with tables may ask of all records; each has a score for every problem.

    Two classes are one problem, more are one problem a class. Scores start at 0 and are multiples of 2⁻²⁸, and so is
    what is added up; sums are exact in any order up to 2²⁵ records.

    Attributes
    ----------
    loss : what residuals are, see :class:`Margins` and :class:`Softmax`.
    """

    loss: Loss

    def counts(self, layout: Layout) -> Floats:
        """Number of records in each cell, (cells,)."""

    def residuals(self, layout: Layout) -> Floats:
        """Sum of the residuals in each cell, (problems, cells)."""

    def squares(self, layout: Layout) -> Floats:
        """Sum of the residuals' squares in each cell, (problems, cells)."""

    def curvatures(self, layout: Layout) -> Floats:
        """Sum of the curvatures in each cell, (problems, cells)."""

    def move(self, layout: Layout, table: Floats, constant: Floats) -> None:
        """Add to every score what its cells say.

        Parameters
        ----------
        table : (problems, cells) multiples of 2⁻²⁸.
        constant : (problems,) the same.
        """

    def keep(self, layout: Layout) -> None:
        """Say that a layout will be asked about often."""


class Loss(Protocol):
    """Residuals of records and what one record can change by them.

    Attributes
    ----------
    n_problems : number of scores of a record.
    absolute : most that the absolute residuals of a record add up to over the problems.
    square : most that their squares add up to.
    curvature : most that the curvatures of a record are in L2.
    """

    n_problems: int
    absolute: float
    square: float
    curvature: float

    def residuals(self, score: Floats, labels: Ints) -> Floats:
        """Residuals (problems, n) at scores (problems, n) and class codes (n,)."""

    def curvatures(self, score: Floats) -> Floats:
        """Curvatures (problems, n)."""


class Margins:
    """MadaBoost's loss of two classes, ``y = ±1``: the residual is ``y · min(1, exp(−y F))``."""

    n_problems = 1
    absolute = square = curvature = 1.0

    def residuals(self, score: Floats, labels: Ints) -> Floats:
        sign = np.where(labels == 1, 1.0, -1.0)
        return sign * bounded_weights(sign * score)

    def curvatures(self, score: Floats) -> Floats:
        return fixed(np.exp(-np.abs(score)))


class Softmax:
    """Log loss of K > 2 classes with one score each: the residual is 1 for the class less its probability.

    A record's residuals are positive for its own class only, where 1 − p is, and −p for the others, which add up to
    p − 1: their absolute values add up to 2 (1 − p), and their squares to less than 2. The squares of the curvatures
    p (1 − p) add up to 4/27 at most, for p (1 − p)² is at most that.

    Rounding to multiples of 2⁻²⁸ moves each residual by at most 2⁻²⁹, so that the absolute values of K classes add up
    to K 2⁻²⁹ more at most, and the squares to 2⁻²⁷ + K 2⁻⁵⁸ more: the bounds below are above that for any K, and no
    residual passes 1. All of them follow from the record alone, to the last bit.
    """

    curvature = 0.4

    def __init__(self, n_classes: int) -> None:
        self.n_problems = n_classes
        self.absolute = 2 + n_classes / FIXED_POINT
        self.square = 2 + 2 * n_classes / FIXED_POINT

    def residuals(self, score: Floats, labels: Ints) -> Floats:
        own = labels == np.arange(self.n_problems)[:, None]
        return fixed(own - softmax(score))

    def curvatures(self, score: Floats) -> Floats:
        p = softmax(score)
        return fixed(p * (1 - p))


class Clipped(Softmax):
    """Log loss of any number of classes, residuals cut to a length: what a private gradient descent adds up.

    Parameters
    ----------
    n_classes : number of classes; two have a single score, the second one's.
    length : most that a record's residuals are in L2, at most √2.
    """

    def __init__(self, n_classes: int, length: float) -> None:
        super().__init__(n_classes)
        self.length = length
        self.n_problems = 1 if n_classes == 2 else n_classes
        self.square = (length + math.sqrt(n_classes) / FIXED_POINT) ** 2

    def residuals(self, score: Floats, labels: Ints) -> Floats:
        if self.n_problems == 1:
            own = (labels == 1) - 0.5 * (1 + np.tanh(score / 2))
        else:
            own = (labels == np.arange(self.n_problems)[:, None]) - softmax(score)
        long = np.sqrt(_of_each(own**2)) / self.length
        return fixed(own / np.maximum(long, 1.0))


def softmax(score: Floats) -> Floats:
    """Probability of each class, (classes, n), from scores of that shape."""
    odds = np.exp(score - score.max(axis=0))
    shares: Floats = odds / _of_each(odds)
    return shares


def _of_each(rows: Floats) -> Floats:
    """Sum over the classes (n,), one after the other: NumPy's adds up eight or more of a lone record in another order.

    What is computed of a record would then depend on whether there are others.
    """
    total: Floats = reduce(np.add, rows)
    return total


def loss_of(n_classes: int) -> Loss:
    """What a booster of so many classes minimises."""
    return Margins() if n_classes == 2 else Softmax(n_classes)


class Records(RecordsDoor):
    """A training set behind the records door.

    Parameters
    ----------
    X : table or array (n, attributes). A record's key is a hash of its index label (of its position in an array), its
        values in the domain and its class; exact copies, label included, are numbered.
    y : (n,) labels.
    domain : public domain.
    strict : whether values and labels outside of it raise :class:`~dpnb.errors.DomainError`; else they are moved into
        it, see :meth:`~dpnb.Domain.move`.
    by_content : whether keys follow from values and class too; not where the domain was read off the records, as one
        more of them would change the codes of all.
    """

    def __init__(
        self,
        X: pd.DataFrame | ArrayLike,
        y: ArrayLike | pd.Series[Any],
        *,
        domain: Domain,
        strict: bool = True,
        by_content: bool = True,
    ) -> None:
        matrix = domain.encode(X) if strict else domain.move(X)
        self.domain, self.strict = domain, strict
        self._y = domain.encode_labels(y) if strict else domain.move_labels(y)
        if len(matrix) != len(self._y):
            raise ValueError(
                f"inconsistent numbers of samples: X has {len(matrix)} records, y has {len(self._y)} labels"
            )
        self._index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(matrix))
        self._by_content = by_content
        self._binned: tuple[Grid, Ints] | None = None
        self._one_hot: tuple[Grid, csr_array] | None = None
        self._columns = np.ascontiguousarray(matrix.T)

    @cached_property
    def keys(self) -> Keys:  # type: ignore[override]
        labels = label_keys(self._index)
        return numbered(record_keys(labels, self._columns, self._y) if self._by_content else labels)

    def _placed(self, attribute: int) -> tuple[Floats, Ints]:
        """Values that occur of a continuous attribute, all codes of a categorical one; each record's place in them."""
        column = self._columns[attribute]
        if not self.domain.continuous[attribute]:
            return np.arange(self.domain.cardinalities[attribute], dtype=float), column.astype(np.intp)
        places, values = pd.factorize(column, sort=True)
        return values, places

    @cached_property
    def _table(self) -> tuple[list[Floats], NDArray[np.integer[Any]]]:
        """Values of each attribute; place among them, times the number of classes, plus the class, (n, attributes)."""
        values, places = zip(*map(self._placed, range(len(self._columns))), strict=True)
        classes = self.domain.n_classes
        cells = np.empty(self._columns.shape[::-1], np.min_scalar_type(max(map(len, values)) * classes))
        for a, place in enumerate(places):
            cells[:, a] = place * classes + self._y
        return list(values), cells

    @cached_property
    def _listed_values(self) -> tuple[Floats, Ints, Ints]:
        """The values of all attributes in one list, where those of each begin, and how many they are."""
        values, _ = self._table
        sizes = np.array([len(own) for own in values])
        return np.concatenate(values), sizes.cumsum() - sizes, sizes

    def bag(self, bags: Bags, *, seed: int, tree: int) -> Cohort:
        return self.cohort(bags.draw(self.keys, seed=seed, tree=tree))

    def weighted(self, grid: Grid | None, *, positive: int) -> WeightedRecords:
        return WeightedRecords(self, grid, positive=positive)

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
            shape = (len(starts) - 1, len(self._y))
            self._one_hot = grid, csr_array((np.ones(len(record)), record, starts), shape=shape)
        return self._one_hot[1]

    def _bins(self, grid: Grid) -> Ints:
        """Bin of every value, (attributes, n); kept for the next question about the same grid."""
        if self._binned is None or self._binned[0] is not grid:
            small = np.min_scalar_type(grid.sizes.max(initial=0))
            pairs = zip(self._columns, grid.cuts, strict=True)
            self._binned = grid, np.stack([_bin_numbers(c, cuts).astype(small) for c, cuts in pairs])
        return self._binned[1]

    def observed_bounds(self) -> tuple[Floats, Floats]:
        if not len(self._y):
            return np.nan_to_num(self.domain.lows), np.nan_to_num(self.domain.highs)
        return self._columns.min(axis=1), self._columns.max(axis=1)

    def binned(self, grid: Grid) -> BinnedRecords:
        self._bins(grid)
        return BinnedRecords(grid)


def _bin_numbers(column: Floats, cuts: Floats | None) -> Ints:
    return column.astype(np.intp) if cuts is None else np.searchsorted(cuts, column)


class Cohort(CohortDoor):
    """A bag of records on its way down a tree; ``slot`` numbers the nodes of the current level."""

    def __init__(self, records: Records, copies: Copies | None) -> None:
        self._classes = records.domain.n_classes
        self._records = records
        self._columns = records._columns
        self._row = np.arange(len(records._y)) if copies is None else np.flatnonzero(copies > 0)
        once = copies is None or copies.max(initial=0) <= 1
        self._copies = None if copies is None or once else copies.take(self._row).astype(float)
        self._label = records._y.take(self._row)
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

    A table of all cells is fastest while it is not much longer than the keys. When many small nodes ask for
    attributes of many values, it would be mostly empty: then the keys are sorted, the copies packed into them as
    a last digit.
    """
    if n_cells * classes <= 8 * len(keys) + 4096:
        table = np.bincount(keys, copies, minlength=n_cells * classes)
        occurs = table[0::classes] + table[1::classes]
        for c in range(2, classes):
            occurs += table[c::classes]
        cell = (occurs > 0).nonzero()[0]
        return cell, table.reshape(n_cells, classes).take(cell, axis=0).astype(float, copy=False)
    base = 1 if copies is None else int(copies.max(initial=0)) + 1
    packed = np.sort(keys if copies is None else keys * base + copies.astype(np.intp))
    keys, weight = packed // base, np.ones(len(packed)) if copies is None else packed % base
    cells = keys // classes
    new = np.flatnonzero(np.diff(cells, prepend=-1))
    counts = np.stack(
        [np.add.reduceat(np.where(keys % classes == c, weight, 0.0), new) for c in range(classes)], 1
    )
    return cells[new], counts


def bounded_weights(margin: Floats) -> Floats:
    """MadaBoost weights ``min(1, exp(−margin))``; they follow from a record itself and past outputs alone.

    They are rounded to multiples of 2⁻²⁸, and so are the steps that a margin sums up. Sums of up to 2²⁵ in size, as of
    the weights of 2²⁵ records, are then exact in any order.

    References
    ----------
    Domingo, Watanabe (2000), MadaBoost: a modification of AdaBoost.
    """
    return fixed(np.exp(-np.maximum(margin, 0.0)))


def fixed(values: ArrayLike) -> Floats:
    """Round to multiples of 2⁻²⁸."""
    return np.rint(np.asarray(values) * FIXED_POINT) / FIXED_POINT


def weight_right(within: Floats, *, total: float, difference: float) -> Floats:
    """Weight on which each stump is right, see :meth:`WeightedDoor.right`.

    Parameters
    ----------
    within : (conditions,) sum of u·y where each condition holds.
    total, difference : sum of u, and of u·y, over all records.
    """
    positive, negative = (total + difference) / 2, (total - difference) / 2
    return np.concatenate([negative + within, positive - within, [positive, negative]])


class WeightedRecords(WeightedDoor):
    """All records of a two-class problem with a weight each, on a grid: the counts that boosting asks for.

    Parameters
    ----------
    records : the training set.
    grid : bins of the attributes, public; None for thresholds halfway between the values that occur, which leaks
        them.
    positive : code of the class that counts as +1; all others are -1.
    """

    def __init__(self, records: Records, grid: Grid | None, *, positive: int) -> None:
        domain = records.domain
        if grid is None:
            midpoints = (
                (v[1:] + v[:-1]) / 2 if c else None
                for v, c in zip(records._table[0], domain.continuous, strict=True)
            )
            grid = grid_of(domain, tuple(midpoints))
        self.grid = grid
        self._columns = records._columns
        self._sign: Floats = np.where(records._y == positive, 1.0, -1.0)
        self._margin = np.zeros(len(self._sign))
        self._spent = np.zeros(len(self._sign))
        self._asked: tuple[Stump, Floats] | None = None
        self.weights: Floats = np.ones(len(self._sign))
        self._one_hot = records.one_hot(grid)

    def advance(self, stump: Stump, step: float) -> None:
        self._margin += fixed(step) * self._agreement(stump)
        self.weights = bounded_weights(self._margin)

    def afford(self, *, total: float) -> None:
        pays = self._spent + self.weights <= total
        self.weights = np.where(pays, self.weights, 0.0)
        self._spent = self._spent + self.weights

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
        self.loss = loss
        self._columns = records._columns
        self._labels = records._y
        self._score = np.zeros((self.loss.n_problems, len(self._labels)))
        self._kept: dict[int, tuple[Layout, list[Ints], csr_array]] = {}
        self._sorted: dict[int, Floats] = {}
        self._residuals = self.loss.residuals(self._score, self._labels)

    def keep(self, layout: Layout) -> None:
        cells = [block.cells(self._columns.__getitem__) for block in layout.blocks]
        small = [c.astype(np.min_scalar_type(size)) for c, size in zip(cells, layout.sizes, strict=True)]
        record = np.concatenate([np.argsort(c, kind="stable").astype(np.int32) for c in small])
        sizes = [np.bincount(c, minlength=size) for c, size in zip(cells, layout.sizes, strict=True)]
        first = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(np.int32)
        shape = (layout.total, len(self._labels))
        self._kept[id(layout)] = layout, small, csr_array((np.ones(len(record)), record, first), shape=shape)

    def counts(self, layout: Layout) -> Floats:
        return np.concatenate([self._counted(block) for block in layout.blocks], dtype=float)

    def _counted(self, block: Block) -> Ints:
        axis = block.axes[0]
        if len(block.axes) > 1 or not axis.ordered:
            return np.bincount(block.cells(self._columns.__getitem__), minlength=block.size)
        if axis.attribute not in self._sorted:
            self._sorted[axis.attribute] = np.sort(self._columns[axis.attribute])
        up_to = self._sorted[axis.attribute].searchsorted(axis.cuts, side="right")
        return np.diff(up_to, prepend=0, append=len(self._labels))

    def residuals(self, layout: Layout) -> Floats:
        return self._sums(layout, self._residuals)

    def squares(self, layout: Layout) -> Floats:
        return self._sums(layout, fixed(self._residuals**2))

    def curvatures(self, layout: Layout) -> Floats:
        return self._sums(layout, self.loss.curvatures(self._score))

    def move(self, layout: Layout, table: Floats, constant: Floats) -> None:
        moved = np.unique(layout.block_of[table.any(axis=0)]).tolist()
        for i, cells in zip(moved, self._cells(layout, moved), strict=True):
            start = layout.starts[i]
            self._score += table[:, start : start + layout.sizes[i]].take(cells, axis=1)
        self._score += constant[:, None]
        self._residuals = self.loss.residuals(self._score, self._labels)

    def _cells(self, layout: Layout, blocks: Iterable[int]) -> Iterator[Ints]:
        """Cell of each record in some of the blocks."""
        if id(layout) in self._kept:
            yield from (self._kept[id(layout)][1][i] for i in blocks)
            return
        bins: dict[int, Ints] = {}  # by axis: pairs share theirs
        for block in (layout.blocks[i] for i in blocks):
            for axis in block.axes:
                if id(axis) not in bins:
                    bins[id(axis)] = axis.bins(self._columns[axis.attribute])
            yield block.joined([bins[id(axis)] for axis in block.axes])

    def _sums(self, layout: Layout, values: Floats) -> Floats:
        if id(layout) in self._kept:
            return np.asarray((self._kept[id(layout)][2] @ values.T).T, float)
        sums = np.empty((len(values), layout.total))
        every = self._cells(layout, range(len(layout.blocks)))
        for block, start, cells in zip(layout.blocks, layout.starts, every, strict=True):
            for problem, value in enumerate(values):
                sums[problem, start : start + block.size] = np.bincount(cells, value, minlength=block.size)
        return sums
