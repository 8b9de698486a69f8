"""eDPRF, the random forest of Wang, Qiu, Zhao, Zou, Wang (2025), as written and repaired.

Step numbers are those of the listing in chapter 7, "The algorithm as written"; equation and algorithm numbers are the
paper's. The paper's levels 1 to treeDepth are the levels 0 to ``max_depth`` here, so treeDepth = ``max_depth`` + 1,
because leaves are a level of their own. The listing of "The repair" is the same code with the default options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..checks import check_count, check_share
from ..domain import Domain
from ..estimators.base import PrivateForest
from ..privacy.curator import Curator
from ..privacy.ledger import Neighbours
from ..records.bags import PARTS
from ..records.doors import BinnedRecords, RecordsDoor
from ..records.grid import public_grid
from ..records.splits import BINNED, MULTIWAY, Splits, no_splits
from ..settings import STOP_SCALES
from ..trees.growth import NOISES, TreeBuilder, leaf_counts, leaf_labels, noisy_counts, select_offered
from ..trees.scores import SCORES
from ..trees.tree import Tree

SPLIT_SENSITIVITY = 2.0  # Δ of the Gini score by counts under add or remove (Algorithm 2)


class Stop(NamedTuple):
    """The nodes of a level that become leaves, and the noisy class counts that decided it."""

    leaf: Bools  # (nodes,) whether a node becomes a leaf
    counts: Floats  # (nodes, classes) noisy counts; NaN where no counts were asked for
    share: float  # share of the path's budget that the noisy counts cost


class BuildTree:
    """Steps 3 to 8, Algorithm 5, which build one tree, a level at a time (chapter 7, "The algorithm as written").

    Parameters
    ----------
    forest : parameters of the forest, and its domain.
    curator : release door.
    builder : builder of the tree, at its root.
    binned : the records on the public grid of binary splits; None for multiway splits.
    per_copy : ε that every path spends.
    """

    def __init__(
        self,
        forest: EDPRF,
        curator: Curator,
        builder: TreeBuilder,
        *,
        binned: BinnedRecords | None,
        per_copy: float,
    ) -> None:
        self.forest = forest
        self.curator = curator
        self.builder = builder
        self.binned = binned
        self.per_copy = per_copy
        self.domain = builder.domain
        self.score = SCORES[forest.utility]

    def build(self) -> Tree:
        """Spend ``per_copy`` on every path and return the tree."""
        forest, builder = self.forest, self.builder
        shares = level_shares(forest.max_depth + 1, forest.levels)  # step 5
        free = np.ones((1, self.domain.n_attributes), bool)
        for level in builder.levels():
            counts, drawn, share = builder.class_counts(), self.draw_attributes(free), shares[level]
            stop = self.stops(counts, drawn, share, last=level == forest.max_depth)  # step 3
            # Step 8, equation (10): an early leaf gets all that no ancestor has spent.
            left = (shares[level:].sum() if forest.align else share) - stop.share
            going = builder.close(stop.leaf, self.build_leaf(counts, stop, left))
            if len(going):
                splits, free = self.build_split(drawn[going], share - stop.share), free[going]  # steps 4, 6
                if not forest.reuse:
                    free[np.arange(len(going)), splits.attribute] = False
                free = free[builder.split(splits)]  # step 7
        return builder.finish()

    def draw_attributes(self, free: Bools) -> Bools:
        """The free attributes on which each node may be split, (nodes, attributes); in the paper these are all."""
        f = self.forest.max_features
        if isinstance(f, str):
            return free
        order = self.curator.public(lambda rng: rng.random(free.shape), what="attributes of a node")
        order = np.where(free, order, 2.0)
        drawn: Bools = free & (np.argsort(np.argsort(order, axis=1), axis=1) < f)
        return drawn

    def stops(self, counts: Floats, drawn: Bools, share: float, *, last: bool) -> Stop:
        """Step 3, which nodes become leaves; the noisy stop is step 2 of eDPRF-R (chapter 7, "The repair")."""
        leaf, nodes = np.full(len(counts), last), self.builder.nodes
        if self.binned is None:
            leaf |= ~drawn.any(axis=1)
        else:  # an attribute of one value has no condition
            leaf |= ~drawn[:, np.unique(self.binned.grid.attribute)].any(axis=1)
        none = np.full(counts.shape, np.nan)
        if last or self.forest.stop == "depth":
            return Stop(leaf, none, 0.0)
        if self.forest.stop == "one-label":
            one = (counts > 0).sum(axis=1) <= 1
            why = "one-label stop, tested without noise (Algorithm 5)"
            return Stop(leaf | self.curator.exact(one, why=why, parts=nodes), none, 0.0)
        asked = share * self.forest.stop_share
        epsilon = asked * self.per_copy
        what, noise = "class counts for the stop", self.forest.noise
        noisy = noisy_counts(self.curator, counts, nodes=nodes, epsilon=epsilon, noise=noise, what=what)
        others = noisy.sum(axis=1) - noisy.max(axis=1)
        return Stop(leaf | (others < STOP_SCALES / epsilon), noisy, asked)

    def build_split(self, drawn: Bools, share: float) -> Splits:
        """Steps 4 and 6, Algorithm 2, which choose a split for each node."""
        nodes, cohort = self.builder.nodes, self.builder.cohort
        if self.binned is not None:
            grid, tables = self.binned.grid, cohort.condition_tables(self.binned, len(nodes))
            at = self.select(self.score(tables), drawn[:, grid.attribute], share)
            return Splits(grid.kind[at], grid.attribute[at], grid.cut[at])
        options = [self.multiway(a, len(nodes)) for a in range(self.domain.n_attributes)]
        widths = [int(s.n_branches(self.domain.cardinalities).max()) for s in options]
        counted = [cohort.branch_counts(s, w) for s, w in zip(options, widths, strict=True)]
        at = self.select(np.stack([self.score(t) for t in counted], axis=1), drawn, share)
        kind, attribute, cut = (
            np.stack(field)[at, np.arange(len(nodes))] for field in zip(*options, strict=True)
        )
        scored = drawn[:, self.domain.continuous].any(axis=1)
        if self.forest.bins != "public" and scored.any():
            own = kind == BINNED
            # Scores of such bins have no finite Δ, so a node pays for them whichever attribute it is split on.
            why = "edges of bins made from the data of a node (Algorithm 5)"
            cut[own] = self.curator.exact(cut[own], why=why, parts=nodes[scored])
        return Splits(kind, attribute, cut)

    def select(self, scores: Floats, offered: Bools, share: float) -> Ints:
        """Step 6, the choice of one of the offered options of each node by its score, (nodes,)."""
        flip = self.forest.selection == "permute-and-flip"
        return select_offered(
            self.curator.permute_and_flip if flip else self.curator.exponential,
            scores,
            offered,
            epsilon=share * self.per_copy,
            sensitivity=SPLIT_SENSITIVITY,
            monotone=self.score.monotone and self.forest.monotone_rate,
            what="split of a node",
            parts=self.builder.nodes,
        )

    def multiway(self, attribute: int, n_nodes: int) -> Splits:
        """Step 4, the split of every node into one branch for each category or bin of an attribute."""
        n_bins = self.forest.n_bins
        splits = no_splits(n_nodes, edges=n_bins - 1)
        splits.attribute[:] = attribute
        splits.kind[:] = BINNED if self.domain.continuous[attribute] else MULTIWAY
        if not self.domain.continuous[attribute]:
            return splits
        if self.forest.bins == "public":
            splits.cut[:] = self.domain.edges(attribute, n_bins)
        else:
            quantiles = self.forest.bins == "node-quantile"
            splits.cut[:] = self.builder.cohort.node_edges(
                attribute, n_nodes, n_bins=n_bins, quantiles=quantiles
            )
        return splits

    def build_leaf(self, counts: Floats, stop: Stop, share: float) -> Floats:
        """Step 8, Algorithm 3, a label or class counts for the leaves (chapter 7, "The label of a leaf")."""
        counts, nodes, asked = counts[stop.leaf], self.builder.nodes[stop.leaf], stop.counts[stop.leaf]
        if not len(nodes):
            return counts
        epsilon = share * self.per_copy
        if self.forest.leaf == "label":
            monotone = self.forest.monotone_rate
            return leaf_labels(self.curator, counts, nodes=nodes, epsilon=epsilon, monotone=monotone)
        fresh = leaf_counts(self.curator, counts, nodes=nodes, epsilon=epsilon, noise=self.forest.noise)
        if stop.share == 0:
            return fresh
        # Inverse-variance mean of the two noisy counts, whose variances are proportional to 1/ε².
        weight = share**2 / (share**2 + stop.share**2)
        return weight * fresh + (1 - weight) * asked


def level_shares(n_levels: int, rule: str) -> Floats:
    """Step 5, shares of a path's budget for each level from the root; they sum to 1 (chapter 7, "Budget of a path").

    Parameters
    ----------
    n_levels : number of levels, leaves included, at least 1.
    rule : ``"uniform"``; ``"harmonic"``, equation (9), 1/(n_levels − k) for level k; or ``"geometric"``, where each
        level gets 2^(1/3) times the share of the level above it.

    References
    ----------
    Cormode, Procopiuc, Srivastava, Shen, Yu (2012), Differentially private spatial decompositions, for 2^(1/3).

    Examples
    --------
    >>> level_shares(3, "harmonic").round(2).tolist()
    [0.18, 0.27, 0.55]
    """
    level = np.arange(n_levels)
    weights = {
        "uniform": np.ones(n_levels),
        "harmonic": 1 / (n_levels - level),
        "geometric": 2 ** (level / 3),
    }[rule]
    shares: Floats = weights / weights.sum()
    return shares


CHOICES = {
    "utility": ("gini", "gini_normalised"),
    "splits": ("binary", "multiway"),
    "bins": ("public", "node-width", "node-quantile"),
    "stop": ("depth", "one-label", "noisy"),
    "selection": ("permute-and-flip", "exponential"),
    "leaf": ("counts", "label"),
    "levels": ("uniform", "harmonic", "geometric"),
    "bags": ("disjoint", "cover", "full", "poisson", "bernoulli", PARTS),
    "noise": NOISES,
    "vote": ("probability", "majority"),
}

ABLATIONS: dict[str, dict[str, Any]] = {
    "tradition": {"selection": "exponential", "leaf": "counts", "align": False},
    "tradition_spl_imp": {"selection": "permute-and-flip", "leaf": "counts", "align": False},
    "tradition_leaf_imp": {"selection": "exponential", "leaf": "label", "align": False},
    "all": {"selection": "permute-and-flip", "leaf": "label", "align": True},
}
"""The variants of the paper's Figures 5 and 6 as parameters: split mechanism, leaf mechanism, alignment.

Without alignment in the traditional ones is inferred; the paper names the two mechanisms only.
"""


def default_trees(epsilon: float) -> int:
    """Number of trees that follows from the budget alone, 3 √ε within 1 to 10; we tuned it on the stand-in.

    Disjoint trees divide the records among them, so with a small budget one tree does best.

    Examples
    --------
    >>> [default_trees(epsilon) for epsilon in (0.1, 1.0, 5.0)]
    [1, 3, 7]
    """
    return round(float(np.clip(3 * np.sqrt(epsilon), 1, 10)))


@dataclass(kw_only=True, eq=False, repr=False)
class EDPRF(PrivateForest):
    """Differentially private random forest with permute-and-flip; by default the repaired algorithm, ε-DP.

    Parameters
    ----------
    n_trees : number of trees ≥ 1; by :func:`default_trees` if None.
    max_depth : largest number ≥ 0 of splits on a path.
    max_features : number of attributes drawn for each node, a whole number or ``"all"``.
    utility : split score, ``"gini"`` for −Σ n_k Gini_k, weighted by counts, or ``"gini_normalised"`` for equation (8).
    splits : ``"binary"`` for thresholds of a public grid and one category against the rest, or ``"multiway"`` for a
        branch for each category or bin.
    bins : bins of a continuous attribute for multiway splits. They are ``"public"`` if they follow from the domain's
        bounds. Those made from the data of each node have equal widths (``"node-width"``) or equally many records
        (``"node-quantile"``).
    n_bins : number of bins of a multiway split ≥ 2.
    reuse : whether an attribute may be used again further down a path.
    stop : where a path ends, at full depth only (``"depth"``), also where a node has records of one class only, tested
        without noise (``"one-label"``), or where noisy counts show too few records outside the largest class
        (``"noisy"``). The noisy stop makes small trees; ``"depth"`` is more accurate in most settings (chapter 7, "The
        price of each step").
    stop_share : share of a level's budget that pays for the noisy stop, in (0, 1).
    selection : mechanism that chooses splits, ``"permute-and-flip"`` or ``"exponential"``.
    leaf : what a leaf releases, either noisy class ``"counts"`` or a ``"label"`` chosen by permute-and-flip.
    levels : how a path's budget is divided among its levels, see :func:`level_shares`.
    align : whether an early leaf takes all that is left on its path, equation (10), or its level's share only.
    monotone_rate : whether choices get the rate ε/Δ that monotone scores allow, instead of ε/(2Δ).
    noise : noise of class counts, ``"geometric"``, or ``"laplace"`` as in the texts, whose last digits leak.
    bags, bag_rate : how records enter the trees, see :class:`~dpnb.records.bags.Bags`.
    vote : how trees vote, by ``"probability"`` or ``"majority"``.

    Notes
    -----
    **Privacy**: With any ``stop`` but ``"one-label"``, public ``bins``, any ``bags`` but ``"parts"`` and a given
    domain, the model is ``epsilon``-DP under ``neighbours``. A record is in one node of each level. There a choice
    costs the level's share (Δ = 2, and the Gini score by counts is monotone; fact F1), and a noisy stop costs a part of
    that share (class counts, Δ = 1). A leaf costs at most what is left on its path. The budget of a node follows from
    what was released above it. Every path costs at most the budget of the tree, and with ``align`` exactly that budget.
    The ledger books all of it, however early the paths of this fit end. Bags compose by fact F2. Draws are exact;
    scores are taken as computed.

    References
    ----------
    Wang, Qiu, Zhao, Zou, Wang (2025), Journal of Software 36(7), sections 2 and 3. McKenna, Sheldon (2020),
    Permute-and-Flip: a new mechanism for differentially private selection.
    """

    epsilon: float = 1.0
    domain: Domain | None = None
    n_trees: int | None = None
    max_depth: int = 6
    max_features: int | str = "all"
    utility: str = "gini"
    splits: str = "binary"
    bins: str = "public"
    n_bins: int = 5
    reuse: bool = True
    stop: str = "noisy"
    stop_share: float = 0.2
    selection: str = "permute-and-flip"
    leaf: str = "counts"
    levels: str = "uniform"
    align: bool = True
    monotone_rate: bool = True
    bags: str = "disjoint"
    bag_rate: float | None = None
    noise: str = "geometric"
    vote: str = "probability"
    neighbours: Neighbours = "add-remove"
    random_state: Any = None

    _choices: ClassVar = CHOICES
    _least: ClassVar = {"n_trees": 1, "max_depth": 0, "n_bins": 2}
    _people: ClassVar = {"utility": ("gini",)}
    _beyond: ClassVar = {"stop": ("one-label",), "bins": ("node-width", "node-quantile"), "bags": (PARTS,)}

    @classmethod
    def as_written(cls, *, n_trees: int = 5, max_depth: int = 4, **readings: Any) -> Self:
        """Make the paper's algorithm as far as we know its pages; it is not ε-DP, as its ledger shows.

        Parameters
        ----------
        n_trees, max_depth : number of trees, and depth. The paper's treeDepth is ``max_depth`` + 1; it tries 4 to 8.
        readings : any parameter of the class.

        Notes
        -----
        The paper says the following. Level budgets are harmonic (9), and early leaves take the rest of their path (10).
        Algorithm 2 chooses among all attributes by permute-and-flip with Δ = 2. Algorithm 3 releases a label alone, by
        permute-and-flip on class counts with Δ = 1 and rate ε/2 (16). In Algorithm 5 each value has a branch, a used
        attribute is removed, a node of one label or at full depth is a leaf, and continuous attributes are binned
        inside the node. Training subsets are drawn without replacement, and each tree spends the full ε.

        We infer the rest, and keywords give the alternatives: (11) is the Gini index weighted by counts (``utility``),
        to which Δ = 2 fits; the rate of (12) is ε/(2Δ) (``monotone_rate``); five bins of equal width (``bins``,
        ``n_bins``); subsets are random parts of equal size (``bags``), and the bootstrap samples of section 2.2 belong
        to random forests in general; trees vote by majority (``vote``); five trees (``n_trees``).

        **Privacy**: The text claims ε-DP. The one-label stop and bins made from the data cost ε = ∞. Parts of equal
        size depend on the number of records, so they cost up to 3ε, see :func:`~dpnb.records.bags.parts_bound`.
        """
        text: dict[str, Any] = {
            "splits": "multiway",
            "bins": "node-width",
            "reuse": False,
            "stop": "one-label",
            "leaf": "label",
            "levels": "harmonic",
            "monotone_rate": False,
            "bags": PARTS,
            "noise": "laplace",
            "vote": "majority",
        }
        return cls(n_trees=n_trees, max_depth=max_depth, **(text | readings))

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        """Carry out steps 1 and 2."""
        binned = records.binned(public_grid(self.domain_)) if self.splits == "binary" else None

        def build(builder: TreeBuilder, per_copy: float) -> Tree:
            return BuildTree(self, curator, builder, binned=binned, per_copy=per_copy).build()

        alike = self.stop == "depth" and self.reuse and self.max_features == "all"
        self.trees_ = self._plant(records, curator, build, alike=alike)

    def _number(self) -> int:
        return default_trees(float(self.epsilon)) if self.n_trees is None else self.n_trees

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("max_features", self.max_features, low=1, words=("all",))
        check_share("stop_share", self.stop_share)
        if self.bins != "public" and self.splits != "multiway":
            raise ValueError(f"bins={self.bins!r} are of multiway splits: set splits='multiway'")
