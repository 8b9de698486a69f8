"""The Pearson tree, a MapReduce decision tree by Wang, Yan, Li (patent, 2020), as written and repaired.

Step numbers are those of the patent's claim 1 and of the listing in chapter 5, "The algorithm as written". The patent's
formulas are images that the text at hand does not contain; they are reconstructed from the words around them. The
listing of "The repair" is the same code with the default options.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..checks import check_share
from ..domain import Domain
from ..estimators.base import PrivateForest
from ..privacy.curator import Curator
from ..privacy.ledger import Neighbours
from ..records.doors import CohortDoor, RecordsDoor
from ..records.grid import public_grid
from ..records.splits import THRESHOLD, Splits
from ..trees.growth import NOISES, TreeBuilder, leaf_counts, select_offered
from ..trees.scores import ABS_PHI, ABS_S_XY, PHI, PHI_RANGE_MANY
from ..trees.tree import Tree


class Options(NamedTuple):
    """Splits among which each node of a front can choose."""

    score: Floats  # (nodes, options)
    # kind, attribute: (options,) as in :class:`~dpnb.records.splits.Splits`.
    kind: Ints
    attribute: Ints
    cut: Floats  # (nodes, options)


class BuildTree:
    """Steps 1 to 9, which build the tree by levels, or depth first by nodes (chapter 5, "The algorithm as written").

    Parameters
    ----------
    options : parameters of the tree.
    curator : release door.
    records : all training records.
    builder : builder of the tree, at its root.
    """

    def __init__(
        self, options: PearsonTree, curator: Curator, records: RecordsDoor, builder: TreeBuilder
    ) -> None:
        self.options = options
        self.curator = curator
        self.builder = builder
        self.domain = builder.domain
        self.statistic = STATISTICS[options.statistic]
        self.binned = records.binned(public_grid(self.domain)) if options.thresholds == "public" else None
        self.usable: Bools = np.full(self.domain.n_attributes, self.binned is None)
        if self.binned is not None:  # an attribute of one value has no condition
            self.usable[self.binned.grid.attribute] = True
        self.depth = min(options.max_depth, int(self.usable.sum()))
        self.choice_share = (1 - options.leaf_share) / (
            max(self.depth, 1) if options.levels == "shared" else 1
        )
        self.seed = None
        if options.shards == "record" and options.n_shards > 1:
            self.seed = curator.public(lambda rng: int(rng.integers(2**63)), what="seed of the shards")

    def build(self) -> Tree:
        """Spend the budget on every path and return the tree."""
        builder, free = self.builder, self.usable[None].copy()  # step 1
        for level in builder.levels():  # steps 7 and 8: back to the last data sets that are open
            counts = builder.class_counts()
            leaf = self.stops(counts, free, level)
            going = builder.close(leaf, self.leaf_values(counts, free, leaf, level))
            if len(going):
                splits = self.choose(free[going])  # steps 2 to 5
                free[going, splits.attribute] = False  # step 6: out of the set of attributes
                parent = builder.split(splits)
                if self.options.attributes == "path":
                    free = free[going][parent]
        return builder.finish()

    def stops(self, counts: Floats, free: Bools, level: int) -> Bools:
        """Step 6, which nodes become leaves, (nodes,)."""
        leaf: Bools = np.full(len(counts), level == self.depth) | ~free.any(axis=1)
        if self.options.stop == "one-class":
            one = (counts > 0).sum(axis=1) <= 1
            why = "one class only, tested without noise (step 6)"
            leaf |= self.curator.exact(one, why=why, parts=self.builder.nodes)
        return leaf

    def leaf_values(self, counts: Floats, free: Bools, leaf: Bools, level: int) -> Floats:
        """Step 6, noisy class counts of the leaves; by step 9 there are none once the set of attributes is empty."""
        options, values = self.options, np.zeros((int(leaf.sum()), counts.shape[1]))
        counted = free[leaf].any(axis=1) | (options.open_leaves == "counted")
        left = 1 - level * self.choice_share if options.levels == "shared" else options.leaf_share
        nodes, epsilon = self.builder.nodes[leaf][counted], left * options._budget
        how: dict[str, Any] = {"epsilon": epsilon, "noise": options.noise}
        values[counted] = leaf_counts(self.curator, counts[leaf][counted], nodes=nodes, **how)
        return values

    def choose(self, free: Bools) -> Splits:
        """Steps 2 to 5, which choose a split for each node."""
        found = self.score()
        at = self.select(found.score, free[:, found.attribute])
        cut = found.cut[np.arange(len(at)), at]
        if self.binned is None:
            why = "split point made from the values of a node's records (steps 3 and 4)"
            cut = self.curator.exact(cut, why=why, parts=self.builder.nodes)
        return Splits(found.kind[at], found.attribute[at], cut)

    def score(self) -> Options:
        """Steps 2 to 4, which score the conditions of the public grid, or each attribute at its mean best value."""
        m, n_nodes, cohort = self.options.n_shards, len(self.builder.nodes), self.builder.cohort
        shards = cohort if m == 1 else cohort.divided(m, seed=self.seed)  # step 2
        if self.binned is None:
            return self.best_values(shards, n_nodes)
        grid = self.binned.grid
        bins = shards.bin_counts(self.binned, n_nodes * m)
        each = (self.statistic.function(grid.tables(own)) for own in np.split(bins, n_nodes))
        score = np.stack([shard_scores.mean(axis=0) for shard_scores in each])
        return Options(score, grid.kind, grid.attribute, np.broadcast_to(grid.cut, score.shape))

    def best_values(self, shards: CohortDoor, n_nodes: int) -> Options:
        """Steps 3 and 4, the best value of every attribute in each shard, and the means over shards that have one."""
        attributes = np.arange(self.domain.n_attributes)
        shape = (n_nodes, self.options.n_shards, len(attributes))
        cells = shards.value_counts(np.tile(attributes, (shape[0] * shape[1], 1)))
        first = np.flatnonzero(np.diff(cells.question, prepend=-1))
        group = np.cumsum(np.diff(cells.question, prepend=-1) > 0) - 1
        up_to = np.cumsum(cells.counts, axis=0)
        total = np.add.reduceat(cells.counts, first, axis=0)[group]
        left = up_to - (up_to[first] - cells.counts[first])[group]
        at_value = self.statistic.function(np.stack([left, total - left], axis=1))
        largest = np.maximum.reduceat(at_value, first)
        tied = np.flatnonzero(equal(at_value, largest[group]))
        best = tied[np.diff(group[tied], prepend=-1) > 0]  # the first of equals
        score, point, known = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        score.flat[cells.question[first]] = largest
        point.flat[cells.question[first]] = cells.value[best]
        known.flat[cells.question[first]] = 1.0
        cut = np.zeros((n_nodes, len(attributes)))
        # Exact: a rounded mean of three 0.7 is below 0.7, and would send every record of that value above the cut.
        for node, a in np.argwhere(known.any(axis=1)):
            cut[node, a] = mean(point[node, known[node, :, a] > 0, a].tolist())
        return Options(score.mean(axis=1), np.full(len(attributes), THRESHOLD), attributes, cut)

    def select(self, scores: Floats, offered: Bools) -> Ints:
        """Step 5, the choice of one of the offered options of each node, by its mean statistic."""
        options, nodes = self.options, self.builder.nodes
        if options.selection == "arg-max":
            open_to = np.where(offered, scores, -np.inf)
            best: Ints = equal(open_to, open_to.max(axis=1, keepdims=True)).argmax(
                axis=1
            )  # the first of equals
            why = "option of largest probability, taken without a draw (step 5)"
            return self.curator.exact(best, why=why, parts=nodes)
        flip = options.selection == "permute-and-flip"
        # One more record can shift all blocks by position. At the same rate, change and cost are then m times as large.
        shards = options.n_shards if options.shards == "position" else 1
        sensitivity = shards * self.statistic.sensitivity(self.domain.n_classes) / options.n_shards
        return select_offered(
            self.curator.permute_and_flip if flip else self.curator.exponential,
            scores,
            offered,
            epsilon=shards * self.choice_share * options._budget,
            sensitivity=sensitivity,
            monotone=False,
            change_range=self.change_range(sensitivity),
            what="split of a node",
            parts=nodes,
        )

    def change_range(self, sensitivity: float) -> float | None:
        """Range of the changes of a node's scores by one record; None if it is not below 2Δ."""
        options, classes = self.options, self.domain.n_classes
        one_shard = options.shards == "record" or options.n_shards == 1  # blocks by position may all change
        if options.rate == "sensitivity" or not one_shard:
            return None
        found = self.statistic.change_range(classes) / options.n_shards
        return found if found < 2 * sensitivity else None


# --- Statistics -----------------------------------------------------------------------------------------------


def equal(score: Floats, largest: Floats) -> Bools:
    """Which scores equal the largest; rounding, which breaks no ties, moves them by less than 1e-9."""
    return np.isclose(score, largest, rtol=1e-9, atol=1e-9)


def one_against_rest(table: Floats) -> Floats:
    """Tables of each class against all others, (..., classes, 2, 2), from tables (..., 2, classes)."""
    mine = np.swapaxes(table, -1, -2)
    rest = table.sum(axis=-1)[..., None, :] - mine
    return np.stack([rest, mine], axis=-1)


def covariation(table: Floats) -> Floats:
    """Largest |S_xy| of any group of classes against the rest, for tables (..., 2, classes).

    With x = 1 in the second branch and y = 1 in group A, S_A = Σ (x − x̄)(y − ȳ). It is additive over the classes of A,
    and all classes together give 0, so the largest |S_A| is the sum of the positive S_c, half of Σ |S_c|.

    **Privacy**: Δ = 1 for one record added, removed or replaced, as for two classes, because each S_A changes by at
    most (n − 1)/n, and so does the largest of them. The score is not monotone.
    """
    if table.shape[-1] == 2:
        return ABS_S_XY(table)
    half_sum: Floats = ABS_S_XY(one_against_rest(table)).sum(axis=-1) / 2
    return half_sum


def correlation(table: Floats) -> Floats:
    """Largest |φ| of any class against the rest, for tables (..., 2, classes); 0 where a variance is 0.

    **Privacy**: Δ = 1 for any number of records, because the coefficient lies in [0, 1] and one record can take it from
    0 to 1. One record added or removed moves the coefficients of two cuts of a node apart by at most ½ + 1/√3 < 1.0774
    with two classes. With more classes it moves them apart by at most 1.5, because each coefficient moves by a number
    in [−½, 1], or each by a number in [−1, ½] (chapter 5).
    """
    if table.shape[-1] == 2:
        return ABS_PHI(table)
    largest: Floats = ABS_PHI(one_against_rest(table)).max(axis=-1)
    return largest


class Statistic(NamedTuple):
    """A statistic of a table of branches and classes."""

    function: Callable[[Floats], Floats]  # the statistic, tables (..., 2, classes) → (...)
    sensitivity: Callable[[int], float]  # number of classes → Δ for one record added or removed, at one shard
    # Number of classes → most by which that record moves two scores apart, at one shard.
    change_range: Callable[[int], float]


def _correlation_range(classes: int) -> float:
    return PHI_RANGE_MANY if classes > 2 else ABS_PHI.change_range(classes=2)


STATISTICS = {
    "s_xy": Statistic(covariation, lambda classes: 1.0, lambda classes: 2.0),
    "phi": Statistic(correlation, lambda classes: 1.0, _correlation_range),
    "phi-codes": Statistic(
        ABS_PHI, lambda classes: 1.0, lambda classes: ABS_PHI.change_range(classes=classes)
    ),
    # Between -1 and 1; with two classes one more record never takes it past 0 and beyond, see the tests.
    "phi-signed": Statistic(
        PHI, lambda classes: 1.0 if classes == 2 else 2.0, lambda classes: 2.0 if classes == 2 else 4.0
    ),
}


# --- The estimator --------------------------------------------------------------------------------------------

CHOICES = {
    "shards": ("record", "position"),
    "selection": ("permute-and-flip", "exponential", "arg-max"),
    "thresholds": ("public", "data"),
    "attributes": ("path", "tree"),
    "stop": ("depth", "one-class"),
    "levels": ("shared", "whole"),
    "rate": ("range", "sensitivity"),
    "open_leaves": ("counted", "empty"),
    "noise": NOISES,
}

VARIANTS: dict[str, dict[str, Any]] = {
    "C": {"statistic": "s_xy", "n_shards": 1, "selection": "permute-and-flip"},
    "S": {"statistic": "phi", "n_shards": 400, "selection": "exponential"},
}
"""The two private trees as parameters: covariation of counts (the default), and mean correlation over shards."""


@dataclass(kw_only=True, eq=False, repr=False)
class PearsonTree(PrivateForest):
    """Differentially private decision tree split by correlation with the class; by default repaired, ε-DP.

    Parameters
    ----------
    max_depth : largest number h ≥ 0 of splits on a path.
    statistic : score of a condition, which is :func:`covariation` (``"s_xy"``), :func:`correlation` (``"phi"``), or the
        correlation with the class numbers 0, 1, ... as in the text, absolute (``"phi-codes"``) or signed
        (``"phi-signed"``).
    n_shards : number m ≥ 1 of shards of a node; the score is the mean over all shards, where an empty one counts as 0.
    shards : how the records of a node are divided, by a hash of each ``"record"``'s key, or by ``"position"`` into
        blocks.
    selection : mechanism that chooses splits, ``"permute-and-flip"`` or ``"exponential"``, or ``"arg-max"``, which
        draws nothing.
    thresholds : ``"public"`` for thresholds of a public grid and one category against the rest, or ``"data"`` for the
        mean over shards of the best value of each attribute, where categories are ordered by their codes.
    attributes : whether a used attribute is removed for its ``"path"`` or for the whole ``"tree"``, which is then
        grown depth first.
    stop : where a path ends, at full depth only (``"depth"``), or also at nodes of one class, tested without noise
        (``"one-class"``).
    levels : whether the h choices of a path share the budget of choices (``"shared"``), or each spends all of it
        (``"whole"``).
    rate : whether a choice is drawn at ε divided by twice the ``"sensitivity"``, or by the ``"range"`` of the changes
        of its scores, where a proof shows that the range is below 2Δ (``"phi"``, and ``"phi-codes"`` with two classes).
    open_leaves : whether leaves that have no attribute left to be split on are ``"counted"`` or left ``"empty"``.
    noise : noise of class counts, ``"geometric"``, or ``"laplace"`` as in the text, whose last digits leak.
    leaf_share : share of the budget for a leaf's class counts, in (0, 1). The rest pays for choices. With shared
        ``levels``, a leaf above full depth takes all that is left on its path.

    Notes
    -----
    **Privacy**: With a draw in ``selection``, public ``thresholds``, ``stop="depth"``, shared ``levels``, shards by
    record and a given domain, the tree is ``epsilon``-DP under ``neighbours``. A record is in one node of each level
    and, given all shard numbers, in one shard of that node. If it is added or removed, it changes that shard's
    statistic by at most Δ₁ = 1, and the mean of m shards by at most Δ = Δ₁/m, for every m. The divisor must not be the
    number of shards that hold records. A choice costs its level's share (fact F1), at rate ε/(2Δ), or ε/g for
    ``rate="range"``, where g = (½ + 1/√3)/m for ``"phi"`` and ``"phi-codes"`` with two classes, and 1.5/m for ``"phi"``
    with more. The class counts of a leaf (geometric noise, Δ = 1) cost what is left, so every path sums to the budget.
    A replaced record has another key and may change two shards, so the ledger books a removal and an addition. Draws
    are exact; scores are taken as computed.

    References
    ----------
    Wang, Yan, Li (2020), CN111259442A, claim 1. Mu, Liu, Wang (2018), A Pearson's correlation coefficient based
    decision tree and its parallel implementation. McKenna, Sheldon (2020), Permute-and-Flip.
    """

    epsilon: float = 1.0
    domain: Domain | None = None
    max_depth: int = 4
    statistic: str = "s_xy"
    n_shards: int = 1
    shards: str = "record"
    selection: str = "permute-and-flip"
    thresholds: str = "public"
    attributes: str = "path"
    stop: str = "depth"
    levels: str = "shared"
    rate: str = "range"
    open_leaves: str = "counted"
    noise: str = "geometric"
    leaf_share: float = 0.3
    neighbours: Neighbours = "add-remove"
    random_state: Any = None

    vote = "probability"
    _choices: ClassVar = {"statistic": tuple(STATISTICS)} | CHOICES
    _least: ClassVar = {"max_depth": 0, "n_shards": 1}
    _people: ClassVar = {"statistic": ("s_xy",)}
    _beyond: ClassVar = {
        "selection": ("arg-max",),
        "thresholds": ("data",),
        "stop": ("one-class",),
        "levels": ("whole",),
        "shards": ("position",),
    }

    @classmethod
    def as_written(cls, *, max_depth: int = 4, n_shards: int = 8, **readings: Any) -> Self:
        """Make the patent's steps 1 to 9 to the letter; the tree is not ε-DP, as its ledger shows.

        Parameters
        ----------
        max_depth, n_shards : the patent's h and m, for which it names no values.
        readings : any parameter of the class.

        Notes
        -----
        The text says the following. A node's records are divided into m disjoint subsets (step 2). In each subset,
        every attribute has a value that correlates best with the class numbers (3), and these values are averaged (4).
        The tree splits on the attribute with the largest probability under the exponential mechanism on the mean
        correlation (5). A node of one class or at depth h gets class counts with Laplace noise of scale 1/ε₂. Any other
        node is split, depth first, and its attribute leaves *the* set of attributes (6). Once the set is empty the
        counts are returned (9), so open nodes have none. The claim is ε = ε₁ + ε₂, though each of h levels spends ε₁.

        We infer the rest, and keywords give the alternatives: |φ|, as in a later paper by two of the inventors
        (``statistic``); equal blocks by position (``shards``); Δ = 1/m, in case the choice is drawn (``selection``), at
        the rate ε₁/(2Δ) (``rate``); one set for the tree (``attributes``); ε₁ = ε₂ (``leaf_share``).

        **Privacy**: The text claims ε-DP. Choices without a draw, split points and the test for one class cost ε = ∞.
        If they are mended, a choice can still cost nearly m ε₁ for blocks by position, because one more record can
        shift every block, and the costs of the choices on a path add up.
        """
        text: dict[str, Any] = {
            "statistic": "phi-codes",
            "shards": "position",
            "selection": "arg-max",
            "thresholds": "data",
            "attributes": "tree",
            "stop": "one-class",
            "levels": "whole",
            "rate": "sensitivity",
            "open_leaves": "empty",
            "noise": "laplace",
            "leaf_share": 0.5,
        }
        return cls(max_depth=max_depth, n_shards=n_shards, **(text | readings))

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        with curator.ledger.tree("tree") as scope:
            depth_first = self.attributes == "tree"
            builder = TreeBuilder(self.domain_, scope, records.cohort(), depth_first=depth_first)
            self.trees_ = [BuildTree(self, curator, records, builder).build()]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_share("leaf_share", self.leaf_share)
