"""The questions that may be asked of records, whose answers are tables of counts by node, attribute, value and class.

There is a door for a training set, one for a bag of it on its way down a tree, and one for records with a weight or a
score each. :mod:`dpnb.records.memory` answers in memory, and :class:`dpnb.spark.SparkTable` on a cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Protocol, Self

from ..arrays import Floats, Ints
from ..domain import Domain
from ..domain.people import Unit
from .bags import Bags, Copies, Keys
from .grid import Grid, Stump
from .losses import Loss, Measure
from .shapes import Cuts, Layout
from .splits import Splits


@dataclass(frozen=True)
class ValueCounts:
    """Counts of the values that occur, for several questions; a question is one attribute at one node."""

    question: Ints  # (cells,) question number, increasing
    # (cells,) value (category code), increasing within a question; only values that occur are listed.
    value: Floats
    counts: Floats  # (cells, classes) number of records


@dataclass(frozen=True)
class BinnedRecords:
    """Mark of a door whose records are in the bins of a grid, for :meth:`CohortDoor.bin_counts`."""

    grid: Grid


class RecordsDoor(ABC):
    """Door of a training set; a question that a door does not answer raises an error that names it.

    This is a base class, by which estimators recognise a training set that is encoded already.

    Attributes
    ----------
    domain : public domain of the records.
    keys : (n,) record keys, by which bags and shards are drawn.
    strict : whether records that do not fit the domain are refused, rather than moved into it.
    unit : whose privacy the answers can protect, a ``"record"``'s or a ``"person"``'s, whose records share one vote.
    votes : (n,) weights of the records, multiples of 2⁻²⁸; None where each is 1.
    """

    domain: Domain
    keys: Keys
    strict: bool = True
    unit: Unit = "record"
    votes: Floats | None = None

    def __repr__(self) -> str:
        """Nothing of the records, not even their number, because tracebacks and logs show this."""
        domain = getattr(self, "domain", None)
        public = "" if domain is None else f"{domain.n_attributes} attributes, target {domain.target!r}"
        return f"{type(self).__name__}({public})"

    @abstractmethod
    def bag(self, bags: Bags, *, seed: int, tree: int) -> CohortDoor:
        """The bag of a tree by a rule of :class:`~dpnb.records.bags.Bags`, at its root.

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
        copies : (n,) number of copies of each record in the bag; one copy of each if None.
        """

    @abstractmethod
    def binned(self, grid: Grid) -> BinnedRecords:
        """The same records with every value replaced by its bin of a grid."""

    @abstractmethod
    def weighted(self, grid: Grid | None) -> WeightedDoor:
        """These records with a weight each, for boosting; parameters are those of :class:`WeightedRecords`."""

    @abstractmethod
    def scored(self, finest: Cuts, loss: Loss) -> ScoredDoor:
        """These records with scores, for boosting with tables.

        Parameters
        ----------
        finest : all thresholds of each attribute about which questions will be asked; None for categorical attributes.
        loss : loss that defines the residuals.
        """

    @abstractmethod
    def observed_bounds(self) -> tuple[Floats, Floats]:
        """Smallest and largest value of each attribute, which depend on the data; for readings that leak them."""


class CohortDoor(Protocol):
    """Door of a bag of records on its way down a tree; a level's nodes are its *slots* 0, 1, ..."""

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
        """Records by node, branch and class if the nodes were split in this way, (n_slots, n_branches, classes).

        Parameters
        ----------
        splits : one split for each node of the level, none of them a leaf.
        n_branches : largest number of branches of a split.
        """

    def node_edges(self, attribute: int, n_slots: int, *, n_bins: int, quantiles: bool) -> Floats:
        """Edges between bins of a continuous attribute, from the records of each node; they depend on the data.

        Parameters
        ----------
        attribute : position of the attribute.
        n_slots : number of nodes of the level.
        n_bins : number of bins, at least 2.
        quantiles : whether bins have equal numbers of records instead of equal widths.

        Returns
        -------
        (n_slots, n_bins - 1) edges; 0 at nodes without records.
        """

    def keep(self, slots: Ints) -> None:
        """Drop the records of all other nodes and number the nodes that are kept 0, 1, ... anew.

        Parameters
        ----------
        slots : (kept,) slots of the nodes that are kept, increasing.
        """

    def part(self, slots: Ints) -> Self:
        """The records of some nodes as a cohort of its own, numbered as by :meth:`keep`; this cohort keeps them too."""
        part = copy(self)
        part.keep(slots)
        return part

    def divided(self, n_shards: int, *, seed: int | None) -> CohortDoor:
        """The same records with every node divided; shard s of node v is slot ``v * n_shards + s``.

        Parameters
        ----------
        n_shards : number m ≥ 1 of shards.
        seed : seed of the hash that gives each record its shard by its key, the same shard at every node. None stands
            for consecutive blocks of a node's records, of which the first ones are longer by one if need be (not a
            per-record rule).
        """

    def descend(self, splits: Splits, first_slot: Ints) -> None:
        """Move every record to its child on the next level.

        Parameters
        ----------
        splits : splits of this level's nodes.
        first_slot : (n_slots,) slot of each node's first child on the next level.
        """


class WeightedDoor(Protocol):
    """Door of all records of two classes with a weight each, on a grid, for boosting; the second class is +1.

    Weights start at 1. They follow a margin (:meth:`advance`), or are multiplied round by round (:meth:`reweigh`).

    Attributes
    ----------
    grid : bins of the attributes.
    weights : (n,) weights of the records; an algorithm that perturbs single weights may set them.
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
    unit : as of the training set.
    """

    loss: Loss
    unit: Unit

    def counts(self, layout: Layout) -> Floats:
        """Number of records in each cell, (cells,)."""

    def residuals(self, layout: Layout) -> Floats:
        """Sum of the residuals in each cell, (problems, cells)."""

    def squares(self, layout: Layout) -> Floats:
        """Sum of the residuals' squares in each cell, (problems, cells)."""

    def curvatures(self, layout: Layout) -> Floats:
        """Sum of the curvatures in each cell, (problems, cells)."""

    def total(self, measure: Measure) -> float:
        """Sum of a measure of the loss over all records, such as :meth:`~dpnb.records.losses.Huber.distances`."""

    def move(self, layout: Layout, table: Floats, constant: Floats) -> None:
        """Add to every score what its cells say.

        Parameters
        ----------
        table : (problems, cells) multiples of 2⁻²⁸.
        constant : (problems,) the same.
        """

    def set_width(self, width: float) -> None:
        """Give the loss another width, see :class:`~dpnb.records.losses.Huber`."""

    def keep(self, layout: Layout) -> None:
        """Say that a layout will be asked about often."""
