"""Cohorts of a Spark table, which are bags of records on their way down a tree."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import FIXED_POINT, Floats, Ints
from ..errors import DataError
from ..records.bags import Bags
from ..records.doors import BinnedRecords, CohortDoor, ValueCounts
from ..records.memory import Cohort
from ..records.splits import Splits
from .blocks import Counted, EncodedRecords, Encoding, OnlyInMemory, dense, sparse

if TYPE_CHECKING:
    from .table import SparkTable


class Bag(NamedTuple):
    """The bag of a tree, drawn anew from the keys in every pass."""

    bags: Bags
    seed: int
    tree: int

    def cohort(self, records: EncodedRecords) -> Cohort:
        return records.cohort(self.bags.hashed(records.keys, self.seed, self.tree))


class Keep(NamedTuple):
    """Drop the records of all other nodes, see :meth:`~dpnb.records.memory.Cohort.keep`."""

    slots: Ints

    def apply(self, cohort: Cohort) -> Cohort:
        cohort.keep(self.slots)
        return cohort


class Descend(NamedTuple):
    """Move every record to its child, see :meth:`~dpnb.records.memory.Cohort.descend`."""

    splits: Splits
    first_slot: Ints

    def apply(self, cohort: Cohort) -> Cohort:
        cohort.descend(self.splits, self.first_slot)
        return cohort


class Divide(NamedTuple):
    """Divide every node into shards, see :meth:`~dpnb.records.memory.Cohort.divided`."""

    n_shards: int
    seed: int

    def apply(self, cohort: Cohort) -> Cohort:
        return cohort.divided(self.n_shards, seed=self.seed)


Move = Keep | Descend | Divide


@dataclass(frozen=True)
class TreeTask:
    """Send the records of a block down the tree as it is so far, then count them."""

    bag: Bag | None
    route: tuple[Move, ...]
    count: Callable[[Cohort], Counted]

    def __call__(self, records: EncodedRecords) -> Counted:
        cohort = records.cohort() if self.bag is None else self.bag.cohort(records)
        for move in self.route:
            cohort = move.apply(cohort)
        return self.count(cohort)


def _count_classes(cohort: Cohort, *, n_slots: int) -> Counted:
    return sparse(cohort.class_counts(n_slots))


def count_roots(records: EncodedRecords, *, bags: Bags, seed: int) -> Counted:
    """Class counts of the bags of all trees."""
    trees = range(bags.n_trees)
    return sparse(np.stack([Bag(bags, seed, tree).cohort(records).class_counts(1)[0] for tree in trees]))


def _count_bins(cohort: Cohort, *, binned: BinnedRecords, n_slots: int) -> Counted:
    return sparse(cohort.bin_counts(binned, n_slots))


def _count_branches(cohort: Cohort, *, splits: Splits, n_branches: int) -> Counted:
    return sparse(cohort.branch_counts(splits, n_branches))


def _count_values(cohort: Cohort, *, asked: Ints, most: int) -> Counted:
    """Cells ``(question * most + code) * classes + class``."""
    found = cohort.value_counts(asked)
    rows = found.question * most + found.value.astype(np.int64)
    classes = found.counts.shape[1]
    cells = rows[:, None] * classes + np.arange(classes)
    occur = found.counts > 0
    return cells[occur], (found.counts[occur] * FIXED_POINT).astype(np.int64)


class Answer(NamedTuple):
    """The counts of the last pass for the values in each node of a level."""

    encoding: Encoding  # encoding that says what the codes mean
    # Mapping from a node and an attribute to codes and their counts by class (codes, classes), or None if
    # this was not asked.
    of: Callable[[int, int], tuple[Ints, Floats] | None]


class SparkCohort(CohortDoor):
    """A bag of records of a :class:`SparkTable` on its way down a tree.

    It holds no records, only the way that they took. A question takes one pass over the blocks. The class counts of new
    children follow from the counts by which their parents were split, without a pass.
    """

    node_edges: Any = OnlyInMemory()

    def __init__(self, table: SparkTable, bag: Bag | None) -> None:
        self._table = table
        self._bag = bag
        self._route: tuple[Move, ...] = ()
        self._totals: Floats | None = None
        self._answer: Answer | None = None
        self._whole: SparkCohort | None = None

    def class_counts(self, n_slots: int) -> Floats:
        if self._totals is None and self._bag is not None and not self._route:
            self._totals = self._table.root_counts(self._bag)[[self._bag.tree]]
        if self._totals is None:
            counted = self._pass(partial(_count_classes, n_slots=n_slots))
            self._totals = dense(counted, (n_slots, self._table.domain.n_classes))
        return self._totals.copy()

    def bin_counts(self, binned: BinnedRecords, n_slots: int) -> Floats:
        encoding = self._table.encoding(binned.grid)
        counted = self._pass(partial(_count_bins, binned=binned, n_slots=n_slots), encoding)
        table = dense(counted, (n_slots, self._table.domain.n_classes, int(encoding.sizes.sum())))
        owner, by_node = self, table
        if self._whole is not None:
            owner, n_shards = self._whole, self._route[-1].n_shards  # type: ignore[union-attr]
            by_node = table.reshape(-1, n_shards, *table.shape[1:]).sum(axis=1)
        first = np.cumsum(encoding.sizes) - encoding.sizes

        def of(slot: int, attribute: int) -> tuple[Ints, Floats]:
            codes = np.arange(encoding.sizes[attribute])
            return codes, by_node[slot][:, first[attribute] + codes].T

        owner._answer = Answer(encoding, of)
        return table

    def value_counts(self, asked: Ints) -> ValueCounts:
        encoding = self._table.all_values()
        most, classes = int(encoding.sizes.max()), self._table.domain.n_classes
        cells, counts = self._pass(partial(_count_values, asked=asked, most=most), encoding)
        rows, row = np.unique(cells // classes, return_inverse=True)
        by_class = np.zeros((len(rows), classes))
        by_class[row, cells % classes] = counts / FIXED_POINT
        question, code = np.divmod(rows, most)

        def of(slot: int, attribute: int) -> tuple[Ints, Floats] | None:
            place = np.flatnonzero(asked[slot] == attribute)
            if not len(place):
                return None
            mine = slice(*np.searchsorted(question, slot * asked.shape[1] + place[0] + np.arange(2)))
            return code[mine], by_class[mine]

        self._answer = Answer(encoding, of)
        value = code.astype(float)
        for a, values in enumerate(encoding.cuts):
            if values is not None:
                mine = asked.reshape(-1)[question] == a
                value[mine] = values[code[mine]]
        return ValueCounts(question, value, by_class)

    def branch_counts(self, splits: Splits, n_branches: int) -> Floats:
        encoding = self._table.encoding_for((*self._route, Descend(splits, np.empty(0, np.intp))))
        count = partial(_count_branches, splits=encoding.coded(splits), n_branches=n_branches)
        shape = (len(splits.kind), n_branches, self._table.domain.n_classes)
        return dense(self._pass(count, encoding), shape)

    def keep(self, slots: Ints) -> None:
        if self._totals is not None:
            if np.array_equal(slots, np.arange(len(self._totals))):
                return
            self._totals = self._totals[slots]
        self._answer = None
        self._route = (*self._route, Keep(slots))

    def divided(self, n_shards: int, *, seed: int | None) -> SparkCohort:
        if seed is None:
            raise DataError(
                "blocks by position: a distributed table has no order of its own; divide by record keys"
            )
        self._table.check_keyed("shards")
        divided = copy(self)
        divided._route = (*self._route, Divide(n_shards, seed))
        divided._totals, divided._whole = None, self
        return divided

    def descend(self, splits: Splits, first_slot: Ints) -> None:
        self._totals = self._children(splits, first_slot)
        self._answer = None
        self._route = (*self._route, Descend(splits, first_slot))

    def _children(self, splits: Splits, first_slot: Ints) -> Floats | None:
        """Class counts of the children, from the counts by which the parents' splits were chosen."""
        if self._answer is None:
            return None
        branches = splits.n_branches(self._table.domain.cardinalities)
        totals = np.zeros((int(branches.sum()), self._table.domain.n_classes))
        coded = self._answer.encoding.coded(splits)
        for slot, attribute in enumerate(splits.attribute):
            found = self._answer.of(slot, int(attribute))
            if found is None:
                return None
            codes, counts = found
            branch = coded.branch(np.full(len(codes), slot), codes.astype(float))
            np.add.at(totals, first_slot[slot] + branch, counts)
        return totals

    def _pass(self, count: Callable[[Cohort], Counted], encoding: Encoding | None = None) -> Counted:
        encoding = encoding or self._table.encoding_for(self._route)
        route = tuple(
            move._replace(splits=encoding.coded(move.splits)) if isinstance(move, Descend) else move
            for move in self._route
        )
        keys = self._bag is not None or any(isinstance(move, Divide) for move in route)
        return encoding.run(TreeTask(self._bag, route, count), keys=keys)
