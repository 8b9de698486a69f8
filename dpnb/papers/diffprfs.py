"""DiffPRFs: the random forest of Mu, Ding, Song, Lu (2016), as written and repaired.

Step numbers are those of the paper's section 3.1 and of the listing in chapter 4, "The algorithm as written". Letters
are those of the list of ambiguities in the chapter's appendix. The listing of "The repair" is the same code with the
default options.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..checks import check_count
from ..domain import Domain
from ..estimators.base import PrivateForest
from ..privacy.curator import Curator
from ..privacy.lattice import Lattice
from ..privacy.ledger import Neighbours
from ..records.bags import MODES
from ..records.doors import RecordsDoor, ValueCounts
from ..records.splits import MULTIWAY, ONE_VS_REST, THRESHOLD, Splits
from ..trees.candidates import Candidates, binary_candidates, multiway_scores
from ..trees.growth import NOISES, TreeBuilder, leaf_counts, noisy_counts
from ..trees.scores import SCORES
from ..trees.tree import Tree


class Asked(NamedTuple):
    """The candidates of the attributes that are drawn at each node. A question is one attribute at one node."""

    attributes: Ints  # (questions,) attribute of each question, `f` questions a node
    f: int  # number of attributes drawn at a node
    counts: ValueCounts  # counts from which the scores are computed
    candidates: Candidates  # thresholds and categories, each with its score in `scores`
    scores: Floats  # (candidates,)


class BuildTree:
    """Steps 4 to 12, ``Build_Tree`` of the paper: one tree, a level at a time (chapter 4, "The algorithm as written").

    Parameters
    ----------
    forest : parameters of the forest, and its domain.
    curator : release door.
    builder : builder of the tree, at its root.
    lattice : (attributes,) public lattice of the thresholds of each attribute.
    """

    def __init__(self, forest: DiffPRFs, curator: Curator, builder: TreeBuilder, *, lattice: Lattice) -> None:
        self.forest = forest
        self.curator = curator
        self.builder = builder
        self.lattice = lattice
        self.domain = builder.domain
        self.score = SCORES[forest.utility]
        unit = forest.gain_sensitivity == "unit" or forest.utility != "info_gain"
        self.law: dict[str, Any] = {
            "sensitivity": self.score.sensitivity if unit else math.log(self.domain.n_classes),
            "monotone": self.score.monotone and forest.monotone_rate,
        }

    def build(self, per_copy: float) -> Tree:
        """Spend ``per_copy`` on every path and return the tree."""
        forest, builder = self.forest, self.builder
        epsilon = np.array([per_copy / (forest.max_depth + 1)])
        if forest.size_query:
            epsilon = epsilon / 2  # step 4
        for depth in builder.levels():  # step 5
            leaf = self.stops(epsilon, last=depth == forest.max_depth)  # steps 6 and 7
            going = builder.close(leaf, self.leaf_values(leaf, epsilon[leaf]))
            if len(going):
                splits, spent = self.choose(epsilon[going])  # steps 8 to 11
                passed = spent if forest.budget_flow == "shrinking" else epsilon[going]
                epsilon = passed[builder.split(splits)]  # step 12
        return builder.finish()

    def stops(self, epsilon: Floats, *, last: bool) -> Bools:
        """Steps 6 and 7, the noisy size of each node, and which nodes become leaves, (nodes,)."""
        nodes = self.builder.nodes
        stop = np.full(len(nodes), last)
        if not self.forest.size_query and self.forest.stop == "depth":
            return stop
        counts = self.builder.class_counts()
        if self.forest.size_query:
            how: dict[str, Any] = {"epsilon": epsilon, "noise": self.forest.noise, "what": "size of a node"}
            size = noisy_counts(self.curator, counts.sum(axis=1), nodes=nodes, **how)
        if self.forest.stop == "pure":
            pure = (counts > 0).sum(axis=1) <= 1
            why = "purity of a node, tested without noise (step 7)"
            stop |= self.curator.exact(pure, why=why, parts=nodes)
        elif self.forest.stop == "noisy":
            branches = 2 if self.forest.categorical == "one-vs-rest" else max(2, *self.domain.cardinalities)
            stop |= size / (branches * self.domain.n_classes) < math.sqrt(2) / epsilon
        return stop

    def leaf_values(self, leaf: Bools, epsilon: Floats) -> Floats:
        """Steps 6 and 7, noisy class counts of the nodes that become leaves, (leaves, classes)."""
        if not leaf.any():
            return np.empty((0, self.domain.n_classes))
        counts, nodes = self.builder.class_counts()[leaf], self.builder.nodes[leaf]
        return leaf_counts(self.curator, counts, nodes=nodes, epsilon=epsilon, noise=self.forest.noise)

    def choose(self, epsilon: Floats) -> tuple[Splits, Floats]:
        """Steps 8 to 11, a split for each node, and the ε of each of its choices."""
        drawn = self.draw_attributes()
        asked = self.ask(drawn)
        if self.forest.selection == "joint":
            return self.choose_jointly(asked, epsilon), epsilon
        share = epsilon / (self.domain.continuous[drawn].sum(axis=1) + 1)  # step 10
        numeric = np.flatnonzero(self.domain.continuous[asked.attributes])  # step 9: there may be none
        thresholds = self.choose_thresholds(asked, numeric, share) if len(numeric) else np.empty(0)
        return self.choose_attribute(asked, numeric, thresholds, share), share

    def draw_attributes(self) -> Ints:
        """Step 8, f of the attributes for each node, (nodes, f), drawn uniformly without replacement."""
        shape = len(self.builder.nodes), self.domain.n_attributes
        shuffled = self.curator.public(
            lambda rng: np.argsort(rng.random(shape), axis=1), what="attributes of a node"
        )
        return np.sort(shuffled[:, : self.forest.n_drawn(self.domain.n_attributes)], axis=1)

    def ask(self, drawn: Ints) -> Asked:
        """Count the values of the attributes drawn, and score their thresholds and categories."""
        counts, f = self.builder.cohort.value_counts(drawn), drawn.shape[1]
        candidates = binary_candidates(
            counts, attributes=drawn.reshape(-1), lattice=self.lattice, domain=self.domain
        )
        return Asked(drawn.reshape(-1), f, counts, candidates, candidates.scores(self.score))

    def choose_thresholds(self, asked: Asked, numeric: Ints, share: Floats) -> Floats:
        """Step 10, a threshold for each continuous attribute drawn, that is, for the questions ``numeric``."""
        candidates, node = asked.candidates, numeric // asked.f
        mine = np.isin(candidates.question, numeric)
        point = self.curator.exponential_intervals(
            asked.scores[mine],
            **candidates.intervals(mine, groups=numeric),
            epsilon=share[node],
            what="threshold of an attribute",
            parts=self.builder.nodes[node],
            **self.law,
        )
        if self.forest.thresholds == "uniform":
            return point.value
        at = candidates.locate(numeric, point.value)
        low, high = candidates.low[at], candidates.high[at]
        value = low if self.forest.thresholds == "data" else (low + high) / 2
        return self.curator.exact(value, why=f"threshold is the {self.forest.thresholds} point (ambiguity d)")

    def choose_attribute(self, asked: Asked, numeric: Ints, thresholds: Floats, share: Floats) -> Splits:
        """Step 11, a choice of one of the attributes drawn, each with its threshold or its categories."""
        candidates = asked.candidates
        nominal = ~self.domain.continuous[asked.attributes[candidates.question]]
        kind, cut = np.full(len(nominal), ONE_VS_REST), candidates.low.copy()
        scores, offered = asked.scores.copy(), nominal.copy()
        at = candidates.locate(numeric, thresholds)
        offered[at], kind[at], cut[at] = True, THRESHOLD, thresholds
        if self.forest.categorical == "multiway":
            whole = np.flatnonzero(~self.domain.continuous[asked.attributes])
            first = candidates.starts[whole]
            offered[nominal], offered[first] = False, True
            kind[first], cut[first] = MULTIWAY, np.nan
            scores[first] = multiway_scores(asked.counts, totals=candidates.totals, score=self.score)[whole]
        options = np.flatnonzero(offered)
        starts = np.searchsorted(options, candidates.starts[:: asked.f])
        chosen = self.curator.exponential(
            scores[options],
            starts=starts,
            epsilon=share,
            what="attribute of a node",
            parts=self.builder.nodes,
            **self.law,
        )
        option = options[starts + chosen]
        return Splits(kind[option], asked.attributes[candidates.question[option]], cut[option])

    def choose_jointly(self, asked: Asked, epsilon: Floats) -> Splits:
        """Step 3 of DiffPRFs-R, one choice among all thresholds and categories (chapter 4, "The repair")."""
        candidates = asked.candidates
        point = self.curator.exponential_intervals(
            asked.scores,
            starts=candidates.starts[:: asked.f],
            option=asked.attributes[candidates.question],
            low=candidates.low,
            high=candidates.high,
            lattice=self.lattice,
            measure=candidates.measure,
            epsilon=epsilon,
            what="split of a node",
            parts=self.builder.nodes,
            **self.law,
        )
        kind = np.where(self.domain.continuous[point.option], THRESHOLD, ONE_VS_REST)
        return Splits(kind, point.option, point.value)


CHOICES = {
    "utility": ("max", "info_gain", "gini"),
    "bags": MODES,
    "stop": ("depth", "pure", "noisy"),
    "selection": ("joint", "two-step"),
    "budget_flow": ("local", "shrinking"),
    "categorical": ("one-vs-rest", "multiway"),
    "thresholds": ("uniform", "midpoint", "data"),
    "bounds": ("public", "data"),
    "gain_sensitivity": ("unit", "log-classes"),
    "noise": NOISES,
    "vote": ("probability", "majority"),
}


@dataclass(kw_only=True, eq=False, repr=False)
class DiffPRFs(PrivateForest):
    """Differentially private random forest; by default the repaired algorithm, ε-DP.

    Parameters
    ----------
    n_trees : number of trees t ≥ 1.
    max_depth : number d ≥ 0 of splits on every path.
    max_features : number f of attributes drawn for each node, which is a whole number, ``"sqrt"`` (rounded) or
        ``"all"``.
    utility : split score, ``"max"`` (max-class sum), ``"info_gain"`` (bits) or ``"gini"`` (not in the paper).
    bags, bag_rate : how records enter the trees, see :class:`~dpnb.records.bags.Bags`.
    stop : where a path ends, at full depth only (``"depth"``), also at pure nodes, tested without noise as in step 7
        (``"pure"``), or where the noisy size is below the noise of the class counts (``"noisy"``, ambiguity h).
    selection : ``"joint"`` for one choice among all thresholds and categories of the drawn attributes, or
        ``"two-step"`` for a threshold of each continuous attribute, and then an attribute (steps 10 and 11).
    budget_flow : whether children get their parent's ε before (``"local"``) or after (``"shrinking"``) the
        division in step 10 (ambiguity a).
    categorical : ``"one-vs-rest"`` or ``"multiway"`` splits (ambiguity b).
    thresholds : place of the threshold in the chosen interval, ``"uniform"``, ``"midpoint"`` or its lower end
        (``"data"``, ambiguity d). The last two publish functions of the data.
    bounds : ends of a continuous domain, ``"public"`` or the smallest and largest ``"data"`` value (ambiguity e).
    gain_sensitivity : Δ declared for the information gain, 1 (``"unit"``) or ln |C| (ambiguity f).
    monotone_rate : whether monotone scores get the rate ε/Δ instead of ε/(2Δ).
    size_query : whether half of each level's budget pays for a noisy node size (step 6).
    noise : noise of sizes and class counts, ``"geometric"``, or ``"laplace"`` as in the text, whose last digits leak.
    vote : how trees vote, by ``"probability"`` or ``"majority"`` (ambiguity g).

    Notes
    -----
    **Privacy**: With the default ``stop``, ``thresholds`` and ``bounds``, any bag mode but ``"bootstrap"``, and a given
    domain, the model is ``epsilon``-DP under ``neighbours``. On each level, one node contains a given copy of a record.
    The choice at this node costs the level's share (fact F1), and the leaf counts (geometric noise, Δ = 1) cost theirs.
    Where outputs or the attributes drawn decide what a path costs, the ledger books the most that a path may cost. Bags
    multiply the cost by fact F2, and the costs of trees add up. Draws are exact; scores are taken as computed.

    References
    ----------
    Mu, Ding, Song, Lu (2016), DiffPRFs: random forest under differential privacy, section 3.
    """

    epsilon: float = 1.0
    domain: Domain | None = None
    n_trees: int = 25
    max_depth: int = 5
    max_features: int | str = "sqrt"
    utility: str = "max"
    bags: str = "poisson"
    bag_rate: float | None = None
    stop: str = "depth"
    selection: str = "joint"
    budget_flow: str = "local"
    categorical: str = "one-vs-rest"
    thresholds: str = "uniform"
    bounds: str = "public"
    gain_sensitivity: str = "unit"
    monotone_rate: bool = True
    size_query: bool = False
    noise: str = "geometric"
    vote: str = "probability"
    neighbours: Neighbours = "add-remove"
    random_state: Any = None

    _choices: ClassVar = CHOICES
    _least: ClassVar = {"n_trees": 1, "max_depth": 0}
    _people: ClassVar = {"utility": ("max", "gini")}
    _beyond: ClassVar = {
        "stop": ("pure",),
        "thresholds": ("midpoint", "data"),
        "bounds": ("data",),
        "bags": ("bootstrap",),
    }

    @classmethod
    def as_written(cls, *, utility: str = "info_gain", **readings: Any) -> Self:
        """Make the paper's algorithm to the letter; it is not ε-DP, as its ledger shows.

        Parameters
        ----------
        utility : ``"info_gain"`` or ``"max"``, the paper's two.
        readings : any parameter of the class. The defaults here are the plainest reading of the text, with bootstrap
            bags, an exact purity test, an unused size query, a two-step choice with Δ = 1 and rate ε/(2Δ), multiway
            splits, and a majority vote.

        Notes
        -----
        **Privacy**: The text claims ε-DP. The purity test makes it ε = ∞, and the bootstrap alone exceeds the claim for
        single leaves with their sizes (chapter 4, "Bags drawn with replacement").
        """
        text: dict[str, Any] = {
            "bags": "bootstrap",
            "stop": "pure",
            "selection": "two-step",
            "categorical": "multiway",
            "monotone_rate": False,
            "size_query": True,
            "noise": "laplace",
            "vote": "majority",
        }
        return cls(utility=utility, **(text | readings))

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        """Carry out steps 1 to 3; the bags are step 1 of DiffPRFs-R."""
        lattice = Lattice.of(*self._threshold_bounds(records, curator))

        def build(builder: TreeBuilder, per_copy: float) -> Tree:
            return BuildTree(self, curator, builder, lattice=lattice).build(per_copy)

        alike = self.stop == "depth" and self.selection == "joint"
        self.trees_ = self._plant(records, curator, build, alike=alike)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("max_features", self.max_features, low=1, words=("sqrt", "all"))
        if self.stop == "noisy" and not self.size_query:
            raise ValueError("stop='noisy' reads the noisy size of a node: set size_query=True")
        if self.selection == "joint" and (self.categorical != "one-vs-rest" or self.thresholds != "uniform"):
            raise ValueError("selection='joint' needs categorical='one-vs-rest' and thresholds='uniform'")

    def _full_depth(self) -> int | None:
        return self.max_depth if self.stop == "depth" and self.categorical == "one-vs-rest" else None

    def _threshold_bounds(self, records: RecordsDoor, curator: Curator) -> tuple[Floats, Floats]:
        if self.bounds == "public":
            return records.domain.lows, records.domain.highs
        why = "bounds of the thresholds are the smallest and largest values (ambiguity e)"
        low, high = curator.exact(np.stack(records.observed_bounds()), why=why)
        return low, np.where(high > low, high, low + np.maximum(1.0, 1e-12 * np.abs(low)))

    def n_drawn(self, n_attributes: int) -> int:
        """Number f of attributes drawn at a node."""
        if isinstance(self.max_features, str):
            return n_attributes if self.max_features == "all" else max(round(math.sqrt(n_attributes)), 1)
        return min(self.max_features, n_attributes)
