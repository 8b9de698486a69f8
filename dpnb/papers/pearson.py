"""Pearson tree: the MapReduce decision tree of Wang, Yan, Li (patent, 2020), as written and repaired.

Step numbers are those of the patent's claim 1. Its formulas are images that the text at hand does not contain; they
are reconstructed from the words around them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..arrays import Bools, Floats, Ints
from ..counts import CohortDoor, RecordsDoor
from ..curator import Curator
from ..domain import Domain
from ..estimators import PrivateForest, check_choice, check_count, select_offered
from ..grid import public_grid
from ..ledger import Neighbours, TreeScope
from ..scores import ABS_PHI, ABS_S_XY, PHI
from ..splits import THRESHOLD, Splits, no_splits
from ..trees import Tree, TreeBuilder

CHOICES = {
    "shards": ("record", "position"),
    "selection": ("permute-and-flip", "exponential", "arg-max"),
    "thresholds": ("public", "data"),
    "attributes": ("path", "tree"),
    "stop": ("depth", "one-class"),
    "levels": ("shared", "whole"),
    "open_leaves": ("counted", "empty"),
}
ARG_MAX = "option of largest probability, taken without a draw (step 5)"
POINTS = "split point made from the values of a node's records (steps 3 and 4)"
ONE_CLASS = "one class only, tested without noise (step 6)"

VARIANTS: dict[str, dict[str, Any]] = {
    "C": {"statistic": "s_xy", "n_shards": 1, "selection": "permute-and-flip"},
    "S": {"statistic": "phi", "n_shards": 400, "selection": "exponential"},
}
"""The two private trees as parameters: covariation of counts (the default), and mean correlation over shards."""


# --- Statistics -----------------------------------------------------------------------------------------------


def one_against_rest(table: Floats) -> Floats:
    """Tables (..., 2, classes) of each class against all others, (..., classes, 2, 2)."""
    mine = np.swapaxes(table, -1, -2)
    rest = table.sum(axis=-1)[..., None, :] - mine
    return np.stack([rest, mine], axis=-1)


def covariation(table: Floats) -> Floats:
    """Largest |S_xy| of any group of classes against the rest, for tables (..., 2, classes).

    With x = 1 in the second branch and y = 1 in group A, S_A = Σ (x − x̄)(y − ȳ). It is additive over the classes of A,
    and all classes together give 0, so the largest |S_A| is the sum of the positive S_c, half of Σ |S_c|.

    **Privacy**: Δ = 1 for one record added, removed or replaced, as for two classes: the largest of numbers that each
    change by at most (n − 1)/n changes by no more. Not monotone.
    """
    if table.shape[-1] == 2:
        return ABS_S_XY(table)
    half_sum: Floats = ABS_S_XY(one_against_rest(table)).sum(axis=-1) / 2
    return half_sum


def correlation(table: Floats) -> Floats:
    """Largest |φ| of any class against the rest, for tables (..., 2, classes); 0 where a variance is 0.

    **Privacy**: Δ = 1 for any number of records, as it lies in [0, 1] and one record can take it from 0 to 1.
    """
    if table.shape[-1] == 2:
        return ABS_PHI(table)
    largest: Floats = ABS_PHI(one_against_rest(table)).max(axis=-1)
    return largest


class Statistic(NamedTuple):
    """What is measured on a table of branches and classes.

    Parameters
    ----------
    function : tables (..., 2, classes) → (...).
    sensitivity : number of classes → Δ for one record added or removed, at one shard.
    """

    function: Callable[[Floats], Floats]
    sensitivity: Callable[[int], float]


STATISTICS = {
    "s_xy": Statistic(covariation, lambda classes: 1.0),
    "phi": Statistic(correlation, lambda classes: 1.0),
    "phi-codes": Statistic(ABS_PHI, lambda classes: 1.0),
    # Between -1 and 1; with two classes one more record never takes it past 0 and beyond, see the tests.
    "phi-signed": Statistic(PHI, lambda classes: 1.0 if classes == 2 else 2.0),
}


# --- The tree -------------------------------------------------------------------------------------------------


class PearsonTree(PrivateForest):
    """Differentially private decision tree split by correlation with the class; by default repaired, ε-DP.

    Parameters
    ----------
    epsilon : total budget ε > 0; ``inf`` releases everything exactly.
    domain : public domain; if None it is read off the records, with a warning and an infinite ε on the ledger.
    max_depth : most splits h ≥ 0 on a path.
    statistic : what a condition is scored by: ``"s_xy"`` :func:`covariation`, ``"phi"`` :func:`correlation`, or the
        correlation with the class numbers 0, 1, ... as in the text, absolute (``"phi-codes"``) or ``"phi-signed"``.
    n_shards : number m ≥ 1 of shards of a node; the score is the mean over them, 0 counting for an empty one.
    shards : how records are divided, by a hash of each ``"record"``'s key, or by ``"position"`` into blocks of a
        node's records.
    selection : ``"permute-and-flip"``, ``"exponential"``, or ``"arg-max"``, without a draw.
    thresholds : ``"public"`` conditions of a public grid, one category against the rest; or ``"data"``, for each
        attribute the mean over shards of the best value, categories ordered by their codes.
    attributes : whether a used attribute is removed for its ``"path"`` or for the whole ``"tree"``, which is then
        grown depth first.
    stop : ``"depth"`` at full depth only, or ``"one-class"`` also there, tested without noise.
    levels : whether the h choices of a path have the budget of choices ``"shared"``, or each spends the ``"whole"``.
    open_leaves : whether leaves that have no attribute left to be split on are ``"counted"`` or left ``"empty"``.
    leaf_share : share of the budget for a leaf's class counts, in (0, 1), the rest pays for choices; with ``levels``
        shared, a leaf above full depth takes all that is left on its path.
    neighbours : ``"add-remove"`` or ``"replace"``; the latter halves the budget.
    random_state : seed, Generator or None. Noise and shards follow from it: keep it secret.

    Attributes
    ----------
    trees_ : list of one :class:`~dpnb.trees.Tree`.
    ledger_ : :class:`~dpnb.ledger.Ledger` with the claimed and the true ε.
    domain_, classes_, n_features_in_ : as usual.

    Notes
    -----
    **Privacy**: with a draw in ``selection``, public ``thresholds``, ``stop="depth"``, shared ``levels``, shards by
    record and a given domain, the tree is ``epsilon``-DP under ``neighbours``. A record is in one node of a level and,
    given all shard numbers, in one shard of it. Added or removed, it changes that shard's statistic by at most Δ₁ = 1
    and the mean of m by at most Δ = Δ₁/m, whatever m; the divisor must not be the number of shards that hold records.
    A choice costs its level's share (rate ε/(2Δ), fact F1), the class counts of a leaf (Laplace, Δ = 1) what is left,
    so every path sums to the budget. A replaced record whose key stays changes one shard, Δ = Δ₁/m; if its key changes
    too it changes two, and the ledger books the removal and the addition. Numbers are idealised reals.

    References
    ----------
    Wang, Yan, Li (2020), CN111259442A, claim 1. Mu, Liu, Wang (2018), A Pearson's correlation coefficient based
    decision tree and its parallel implementation. McKenna, Sheldon (2020), Permute-and-Flip.
    """

    vote = "probability"

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        domain: Domain | None = None,
        max_depth: int = 4,
        statistic: str = "s_xy",
        n_shards: int = 1,
        shards: str = "record",
        selection: str = "permute-and-flip",
        thresholds: str = "public",
        attributes: str = "path",
        stop: str = "depth",
        levels: str = "shared",
        open_leaves: str = "counted",
        leaf_share: float = 0.3,
        neighbours: Neighbours = "add-remove",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.domain = domain
        self.max_depth = max_depth
        self.statistic = statistic
        self.n_shards = n_shards
        self.shards = shards
        self.selection = selection
        self.thresholds = thresholds
        self.attributes = attributes
        self.stop = stop
        self.levels = levels
        self.open_leaves = open_leaves
        self.leaf_share = leaf_share
        self.neighbours = neighbours
        self.random_state = random_state

    @classmethod
    def as_written(cls, *, max_depth: int = 4, n_shards: int = 8, **readings: Any) -> Self:
        """The patent's steps 1 to 9 to the letter; not ε-DP, see its ledger.

        Parameters
        ----------
        max_depth, n_shards : the patent's h and m; it names no values.
        readings : any parameter of the class.

        Notes
        -----
        Read in the text: a node's records are divided into m disjoint subsets (step 2); in each, every attribute has
        the value that correlates best with the class numbers (3); these values are averaged (4); the attribute is
        the one with the largest probability under the exponential mechanism on the mean correlation (5); a node of
        one class or at depth h gets class counts with Laplace noise 1/ε₂, any other is split, depth first, and the
        attribute leaves *the* set of attributes (6); once the set is empty the counts are returned (9), so open nodes
        have none. The claim is ε = ε₁ + ε₂, though each of h levels spends ε₁.

        Inferred, with the alternatives as keywords: |φ|, as the inventors' later paper has it (``statistic``); blocks
        by position, as a distributed file is read (``shards``); Δ = 1/m, in case the choice is drawn (``selection``);
        one set for the tree (``attributes``); ε₁ = ε₂ (``leaf_share``).

        **Privacy**: claims ε-DP. Choices without a draw, split points and the test for one class cost ε = ∞. If they
        are mended, a choice still costs m ε₁ for blocks by position, as one record more shifts every block behind it,
        and the choices of a path add up.
        """
        text: dict[str, Any] = {
            "statistic": "phi-codes",
            "shards": "position",
            "selection": "arg-max",
            "thresholds": "data",
            "attributes": "tree",
            "stop": "one-class",
            "levels": "whole",
            "open_leaves": "empty",
            "leaf_share": 0.5,
        }
        return cls(max_depth=max_depth, n_shards=n_shards, **(text | readings))

    def fit(
        self, X: pd.DataFrame | ArrayLike | RecordsDoor, y: ArrayLike | pd.Series[Any] | None = None
    ) -> Self:
        """Train the tree.

        Parameters
        ----------
        X : DataFrame (n, attributes), whose index labels are the record keys, array (positions are keys), or encoded
            :class:`~dpnb.counts.Records` (without ``y``).
        y : (n,) labels in the domain's classes.

        Raises
        ------
        ValueError
            For records outside the domain, missing values, no records, or a parameter out of range.

        **Privacy**: see the class; every release is on ``ledger_``.
        """
        self._check_parameters()
        records, curator = self._open(X, y)
        with curator.ledger.tree("tree") as scope:
            self.trees_ = [_Grower(self, curator, records).grow(scope)]
        self.ledger_ = curator.ledger
        return self

    def _check_parameters(self) -> None:
        check_choice("statistic", self.statistic, tuple(STATISTICS))
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        check_choice("neighbours", self.neighbours, ("add-remove", "replace"))
        check_count("max_depth", self.max_depth, low=0)
        check_count("n_shards", self.n_shards, low=1)
        if not 0 < self.leaf_share < 1:
            raise ValueError(f"leaf_share={self.leaf_share!r}: expected a share in (0, 1)")


class _Front(NamedTuple):
    """Nodes that are grown next.

    Parameters
    ----------
    nodes : (nodes,) numbers in the tree and on the ledger.
    cohort : their records.
    free : (nodes, attributes) which attributes each may be split on; for ``attributes="tree"`` all fronts share one.
    level : number of splits above them.
    """

    nodes: Ints
    cohort: CohortDoor
    free: Bools
    level: int


class _Options(NamedTuple):
    """Splits that each node of a front can choose from.

    Parameters
    ----------
    score : (nodes, options).
    kind, attribute : (options,) as in :class:`~dpnb.splits.Splits`.
    cut : (nodes, options).
    """

    score: Floats
    kind: Ints
    attribute: Ints
    cut: Floats


class _Grower:
    """Grows the tree: steps 1 to 9, a level or, depth first, a node at a time."""

    def __init__(self, tree: PearsonTree, curator: Curator, records: RecordsDoor) -> None:
        self.tree = tree
        self.curator = curator
        self.records = records
        self.domain = tree.domain_
        self.statistic = STATISTICS[tree.statistic]
        self.binned = records.binned(public_grid(self.domain)) if tree.thresholds == "public" else None
        self.usable: Bools = np.ones(self.domain.n_attributes, bool)
        if self.binned is not None:  # an attribute of one value has no condition
            self.usable = np.isin(np.arange(len(self.usable)), self.binned.grid.attribute)
        self.depth = min(tree.max_depth, int(self.usable.sum()))
        self.choice_share = (1 - tree.leaf_share) / (max(self.depth, 1) if tree.levels == "shared" else 1)
        self.seed = None
        if tree.shards == "record" and tree.n_shards > 1:
            self.seed = curator.public(lambda rng: int(rng.integers(2**63)), what="seed of the shards")

    def grow(self, scope: TreeScope) -> Tree:
        """Spend the budget on every path and return the tree."""
        builder = TreeBuilder(self.domain, scope)
        pending = [_Front(builder.frontier, self.records.cohort(), self.usable[None].copy(), 0)]
        while pending:  # steps 7 and 8: back to the last front that is open
            front = pending.pop()
            counts = front.cohort.class_counts(len(front.nodes))
            leaf = self._stops(counts, front)
            values = np.full(counts.shape, np.nan)
            values[leaf] = self._leaf_counts(counts[leaf], front, leaf)
            splits, going = no_splits(len(leaf)), np.flatnonzero(~leaf)
            front.cohort.keep(going)
            if len(going):
                chosen = self._choose(front.cohort, front.nodes[going], front.free[going])
                for field, own in zip(splits, chosen, strict=True):
                    field[going] = own
            builder.frontier = front.nodes
            first_slot = builder.grow(splits, values)
            if len(going):
                front.free[going, chosen.attribute] = False
                front.cohort.descend(chosen, first_slot[going])
                pending += self._below(front, builder.frontier, going)
        return builder.finish()

    def _below(self, front: _Front, children: Ints, going: Ints) -> list[_Front]:
        """The children, two for each node that was split: a level, or one by one, the last to be grown first."""
        cohort, level = front.cohort, front.level + 1
        if self.tree.attributes == "path":
            return [_Front(children, cohort, np.repeat(front.free[going], 2, axis=0), level)]
        return [_Front(children[[i]], cohort.part(np.array([i])), front.free, level) for i in (1, 0)]

    def _stops(self, counts: Floats, front: _Front) -> Bools:
        """Step 6: which nodes become leaves."""
        leaf: Bools = np.full(len(counts), front.level == self.depth) | ~front.free.any(axis=1)
        if self.tree.stop == "one-class":
            one = (counts > 0).sum(axis=1) <= 1
            leaf |= self.curator.exact(one, why=ONE_CLASS, parts=front.nodes)
        return leaf

    def _leaf_counts(self, counts: Floats, front: _Front, leaf: Bools) -> Floats:
        """Step 6: noisy class counts; a record is in one class, so Δ = 1 for all classes together."""
        tree, values = self.tree, np.zeros(counts.shape)
        has_more = front.free[leaf].any(axis=1)  # step 9: open nodes have no counts
        labelled = np.flatnonzero(has_more | (tree.open_leaves == "counted"))
        if len(labelled):
            left = 1 - front.level * self.choice_share if tree.levels == "shared" else tree.leaf_share
            values[labelled] = self.curator.laplace(
                counts[labelled],
                epsilon=left * tree._budget,
                sensitivity=1.0,
                what="class counts of a leaf",
                parts=front.nodes[leaf][labelled],
            )
        return values

    def _choose(self, cohort: CohortDoor, nodes: Ints, free: Bools) -> Splits:
        """Steps 2 to 5: a split for each node."""
        options = self._options(cohort, len(nodes))
        at = self._select(options.score, free[:, options.attribute], nodes)
        cut = options.cut[np.arange(len(nodes)), at]
        if self.binned is None:
            cut = self.curator.exact(cut, why=POINTS, parts=nodes)
        return Splits(options.kind[at], options.attribute[at], cut)

    def _select(self, scores: Floats, offered: Bools, nodes: Ints) -> Ints:
        """Step 5: one of the offered options of each node, by its mean statistic."""
        tree = self.tree
        if tree.selection == "arg-max":
            best: Ints = np.where(offered, scores, -np.inf).argmax(axis=1)
            return self.curator.exact(best, why=ARG_MAX, parts=nodes)
        flip = tree.selection == "permute-and-flip"
        # One record more shifts all blocks by position: m times the change, and m times the cost at the same rate.
        moved = tree.n_shards if tree.shards == "position" else 1
        return select_offered(
            self.curator.permute_and_flip if flip else self.curator.exponential,
            scores,
            offered,
            epsilon=moved * self.choice_share * tree._budget,
            sensitivity=moved * self.statistic.sensitivity(self.domain.n_classes) / tree.n_shards,
            monotone=False,
            what="split of a node",
            parts=nodes,
        )

    def _options(self, cohort: CohortDoor, n_nodes: int) -> _Options:
        """Conditions of the public grid, or each attribute at its mean best value."""
        m = self.tree.n_shards
        shards = cohort if m == 1 else cohort.divided(m, seed=self.seed)
        if self.binned is None:
            return self._from_values(shards, n_nodes)
        grid = self.binned.grid
        bins = shards.bin_counts(self.binned, n_nodes * m)
        each = (self.statistic.function(grid.tables(own)) for own in np.split(bins, n_nodes))
        score = np.stack([shard_scores.mean(axis=0) for shard_scores in each])
        return _Options(score, grid.kind, grid.attribute, np.broadcast_to(grid.cut, score.shape))

    def _from_values(self, shards: CohortDoor, n_nodes: int) -> _Options:
        """Steps 3 and 4: the best value of every attribute in each shard, and the means over shards that have one."""
        attributes = np.arange(self.domain.n_attributes)
        shape = (n_nodes, self.tree.n_shards, len(attributes))
        cells = shards.value_counts(np.tile(attributes, (shape[0] * shape[1], 1)))
        first = np.flatnonzero(np.diff(cells.question, prepend=-1))
        group = np.cumsum(np.diff(cells.question, prepend=-1) > 0) - 1
        up_to = np.cumsum(cells.counts, axis=0)
        total = np.add.reduceat(cells.counts, first, axis=0)[group]
        left = up_to - (up_to[first] - cells.counts[first])[group]
        at_value = self.statistic.function(np.stack([left, total - left], axis=1))
        largest = np.maximum.reduceat(at_value, first)
        tied = np.flatnonzero(at_value == largest[group])
        best = tied[np.diff(group[tied], prepend=-1) > 0]  # the first of equals
        score, point, known = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        score.flat[cells.question[first]] = largest
        point.flat[cells.question[first]] = cells.value[best]
        known.flat[cells.question[first]] = 1.0
        cut = point.sum(axis=1) / np.maximum(known.sum(axis=1), 1.0)
        return _Options(score.mean(axis=1), np.full(len(attributes), THRESHOLD), attributes, cut)
