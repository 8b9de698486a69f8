"""DiffPRFs: the random forest of Mu, Ding, Song, Lu (2016), as written and repaired.

Step numbers are those of the algorithm in the paper's section 3.1, letters those of the list of
ambiguities in the chapter.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints
from ..bags import MODES
from ..candidates import Candidates, binary_candidates, multiway_scores
from ..counts import CohortDoor, RecordsDoor, ValueCounts
from ..curator import Curator
from ..domain import Domain
from ..estimators import PrivateForest, check_choice, check_count
from ..ledger import Neighbours, TreeScope
from ..scores import SCORES
from ..splits import MULTIWAY, ONE_VS_REST, THRESHOLD, Splits, no_splits
from ..trees import Tree, TreeBuilder

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
    "vote": ("probability", "majority"),
}


class DiffPRFs(PrivateForest):
    """Differentially private random forest; by default the repaired algorithm, ε-DP.

    Parameters
    ----------
    epsilon : total budget ε > 0; ``inf`` releases everything exactly.
    domain : public domain; if None it is read off the records, with a warning and an infinite ε on the ledger.
    n_trees : number of trees t ≥ 1.
    max_depth : number d ≥ 0 of splits on every path.
    max_features : attributes f drawn for each node: a whole number, ``"sqrt"`` (rounded) or ``"all"``.
    utility : split score, ``"max"`` (max-class sum), ``"info_gain"`` (bits) or ``"gini"`` (not in the paper).
    bags, bag_rate : how records enter the trees, see :class:`~dpnb.bags.Bags`.
    stop : ``"depth"`` at full depth only; ``"pure"`` also at pure nodes, tested without noise (step 7);
        ``"noisy"`` where the noisy size is below the noise of the class counts (ambiguity h).
    selection : ``"joint"`` one choice among all thresholds and categories of the drawn attributes;
        ``"two-step"`` a threshold for each continuous attribute, then an attribute (steps 10, 11).
    budget_flow : whether children get their parent's ε before (``"local"``) or after (``"shrinking"``) the
        division in step 10 (ambiguity a).
    categorical : ``"one-vs-rest"`` or ``"multiway"`` splits (ambiguity b).
    thresholds : where in the chosen interval, ``"uniform"``, ``"midpoint"`` or its lower end (``"data"``,
        ambiguity d). The last two publish functions of the data.
    bounds : ends of a continuous domain, ``"public"`` or the smallest and largest ``"data"`` value (ambiguity e).
    gain_sensitivity : Δ declared for the information gain, 1 (``"unit"``) or ln |C| (ambiguity f).
    monotone_rate : whether monotone scores get the rate ε/Δ instead of ε/(2Δ).
    size_query : whether half of each level's budget pays for a noisy node size (step 6).
    vote : ``"probability"`` or ``"majority"`` (ambiguity g).
    neighbours : ``"add-remove"`` or ``"replace"``; the latter halves the budget.
    random_state : seed, Generator or None. Noise and bags follow from it: keep it secret.

    Attributes
    ----------
    trees_ : list of :class:`~dpnb.trees.Tree`.
    ledger_ : :class:`~dpnb.ledger.Ledger` with the claimed and the true ε.
    domain_, classes_, n_features_in_ : as usual.

    Notes
    -----
    **Privacy**: with the default ``stop``, ``thresholds`` and ``bounds``, any bag mode but ``"bootstrap"``, and a
    given domain, the model is ``epsilon``-DP under ``neighbours``. Per copy of a record one node a level contains
    it; the choice there costs the level's share (fact F1), the leaf counts (Laplace, Δ = 1) theirs; bags
    multiply by fact F2 and trees compose. Numbers are idealised reals.

    References
    ----------
    Mu, Ding, Song, Lu (2016), DiffPRFs: random forest under differential privacy, section 3.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        domain: Domain | None = None,
        n_trees: int = 25,
        max_depth: int = 5,
        max_features: int | str = "sqrt",
        utility: str = "max",
        bags: str = "poisson",
        bag_rate: float | None = None,
        stop: str = "depth",
        selection: str = "joint",
        budget_flow: str = "local",
        categorical: str = "one-vs-rest",
        thresholds: str = "uniform",
        bounds: str = "public",
        gain_sensitivity: str = "unit",
        monotone_rate: bool = True,
        size_query: bool = False,
        vote: str = "probability",
        neighbours: Neighbours = "add-remove",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.domain = domain
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.max_features = max_features
        self.utility = utility
        self.bags = bags
        self.bag_rate = bag_rate
        self.stop = stop
        self.selection = selection
        self.budget_flow = budget_flow
        self.categorical = categorical
        self.thresholds = thresholds
        self.bounds = bounds
        self.gain_sensitivity = gain_sensitivity
        self.monotone_rate = monotone_rate
        self.size_query = size_query
        self.vote = vote
        self.neighbours = neighbours
        self.random_state = random_state

    @classmethod
    def as_written(cls, *, utility: str = "info_gain", **readings: Any) -> Self:
        """The paper's algorithm to the letter; it is not ε-DP, see its ledger.

        Parameters
        ----------
        utility : ``"info_gain"`` or ``"max"``, the paper's two.
        readings : any parameter of the class. Defaults here are the plainest reading of the text: bootstrap
            bags, exact purity test, unused size query, two-step choice with Δ = 1 and rate ε/(2Δ), multiway
            splits, majority vote.

        Notes
        -----
        **Privacy**: claims ε-DP; the purity test makes it ε = ∞, the bootstrap alone exceeds the claim.
        """
        text: dict[str, Any] = {
            "bags": "bootstrap",
            "stop": "pure",
            "selection": "two-step",
            "categorical": "multiway",
            "monotone_rate": False,
            "size_query": True,
            "vote": "majority",
        }
        return cls(utility=utility, **(text | readings))

    def fit(
        self, X: pd.DataFrame | ArrayLike | RecordsDoor, y: ArrayLike | pd.Series[Any] | None = None
    ) -> Self:
        """Train the forest.

        Parameters
        ----------
        X : DataFrame (n, attributes), whose index labels are the record keys, array (positions are keys), or
            encoded :class:`~dpnb.counts.Records` (without ``y``).
        y : (n,) labels in the domain's classes.

        Raises
        ------
        ValueError
            For records outside the domain, missing values, no records, or a parameter out of range.

        **Privacy**: see the class; every release is on ``ledger_``.
        """
        self._check_parameters()
        records, curator = self._open(X, y)
        lows, highs = self._threshold_bounds(records, curator)

        def grow(cohort: CohortDoor, scope: TreeScope, per_copy: float) -> Tree:
            return _Grower(self, curator, cohort, lows, highs).grow(scope, per_copy)

        self.trees_ = self._plant(records, curator, grow, n_trees=self.n_trees)  # steps 1 to 3
        self.ledger_ = curator.ledger
        return self

    def _check_parameters(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        check_choice("neighbours", self.neighbours, ("add-remove", "replace"))
        check_count("n_trees", self.n_trees, low=1)
        check_count("max_depth", self.max_depth, low=0)
        if self.max_features not in ("sqrt", "all"):
            check_count("max_features", self.max_features, low=1)
        if self.stop == "noisy" and not self.size_query:
            raise ValueError("stop='noisy' reads the noisy size of a node: set size_query=True")
        if self.selection == "joint" and (self.categorical != "one-vs-rest" or self.thresholds != "uniform"):
            raise ValueError("selection='joint' needs categorical='one-vs-rest' and thresholds='uniform'")

    def _threshold_bounds(self, records: RecordsDoor, curator: Curator) -> tuple[Floats, Floats]:
        if self.bounds == "public":
            return records.domain.lows, records.domain.highs
        why = "bounds of the thresholds are the smallest and largest values (ambiguity e)"
        low, high = curator.exact(np.stack(records.observed_bounds()), why=why)
        return low, np.where(high > low, high, low + 1.0)

    def n_drawn(self, n_attributes: int) -> int:
        """Number f of attributes drawn at a node."""
        if isinstance(self.max_features, str):
            return n_attributes if self.max_features == "all" else max(round(math.sqrt(n_attributes)), 1)
        return min(self.max_features, n_attributes)


class _Grower:
    """Grows one tree: ``Build_Tree`` of the paper, a level at a time."""

    def __init__(
        self, forest: DiffPRFs, curator: Curator, cohort: CohortDoor, lows: Floats, highs: Floats
    ) -> None:
        self.forest = forest
        self.curator = curator
        self.cohort = cohort
        self.domain = forest.domain_
        self.lows, self.highs = lows, highs
        self.score = SCORES[forest.utility]
        unit = forest.gain_sensitivity == "unit" or forest.utility != "info_gain"
        self.sensitivity = self.score.sensitivity if unit else math.log(self.domain.n_classes)
        self.monotone = self.score.monotone and forest.monotone_rate

    def grow(self, scope: TreeScope, per_copy: float) -> Tree:
        """Spend ``per_copy`` on every path and return the tree."""
        forest, builder = self.forest, TreeBuilder(self.domain, scope)
        epsilon = np.array([per_copy / (forest.max_depth + 1)])
        if forest.size_query:
            epsilon = epsilon / 2  # step 4
        for depth in range(forest.max_depth + 1):
            nodes = builder.frontier
            counts = self.cohort.class_counts(len(nodes))
            leaf = self._stops(counts, nodes, epsilon, last=depth == forest.max_depth)
            values = np.full(counts.shape, np.nan)
            values[leaf] = self._leaf_counts(counts[leaf], nodes[leaf], epsilon[leaf])
            going = np.flatnonzero(~leaf)
            self.cohort.keep(going)
            splits, passed = no_splits(len(nodes)), epsilon
            if len(going):
                chosen, spent = self._choose(counts[going], nodes[going], epsilon[going])
                for field, own in zip(splits, chosen, strict=True):
                    field[going] = own
                if forest.budget_flow == "shrinking":
                    passed = epsilon.copy()
                    passed[going] = spent  # step 12 hands on the ε that step 10 has divided
            first_slot = builder.grow(splits, values)
            if not len(builder.frontier):
                break
            self.cohort.descend(chosen, first_slot[going])
            epsilon = np.repeat(passed, splits.n_branches(self.domain.cardinalities))
        return builder.finish()

    def _stops(self, counts: Floats, nodes: Ints, epsilon: Floats, *, last: bool) -> Any:
        """Steps 6 and 7: which nodes become leaves, (nodes,) booleans."""
        stop = np.full(len(nodes), last)
        if self.forest.size_query:
            size = self.curator.laplace(
                counts.sum(axis=1), epsilon=epsilon, sensitivity=1.0, what="size of a node", parts=nodes
            )
        if self.forest.stop == "pure":
            pure = (counts > 0).sum(axis=1) <= 1
            why = "purity of a node, tested without noise (step 7)"
            stop |= self.curator.exact(pure, why=why, parts=nodes)
        elif self.forest.stop == "noisy":
            branches = 2 if self.forest.categorical == "one-vs-rest" else max(2, *self.domain.cardinalities)
            stop |= size / (branches * self.domain.n_classes) < math.sqrt(2) / epsilon
        return stop

    def _leaf_counts(self, counts: Floats, nodes: Ints, epsilon: Floats) -> Floats:
        """Step 7: noisy class counts; a record is in one class, so Δ = 1 for all classes together."""
        if not len(nodes):
            return counts
        return self.curator.laplace(
            counts, epsilon=epsilon, sensitivity=1.0, what="class counts of a leaf", parts=nodes
        )

    def _choose(self, totals: Floats, nodes: Ints, epsilon: Floats) -> tuple[Splits, Floats]:
        """Steps 8 to 11: a split for each node, and the ε of each of its choices."""
        asked = self._draw_attributes(len(nodes))
        counts = self.cohort.value_counts(asked)
        f = asked.shape[1]
        attributes = asked.reshape(-1)
        candidates = binary_candidates(
            counts,
            attributes=attributes,
            totals=np.repeat(totals, f, axis=0),
            lows=self.lows,
            highs=self.highs,
            domain=self.domain,
        )
        scores = candidates.scores(self.score)
        if self.forest.selection == "joint":
            return self._choose_jointly(candidates, scores, attributes, f, nodes, epsilon), epsilon
        share = epsilon / (self.domain.continuous[asked].sum(axis=1) + 1)  # step 10
        return self._choose_in_two_steps(candidates, scores, counts, attributes, f, nodes, share), share

    def _draw_attributes(self, n_nodes: int) -> Ints:
        """Step 8: f of the attributes for each node, (nodes, f), uniformly without replacement."""
        n_attributes = self.domain.n_attributes
        f = self.forest.n_drawn(n_attributes)
        shuffled = self.curator.public(
            lambda rng: np.argsort(rng.random((n_nodes, n_attributes)), axis=1), what="attributes of a node"
        )
        return np.sort(shuffled[:, :f], axis=1)

    def _choose_jointly(
        self, candidates: Candidates, scores: Floats, attributes: Ints, f: int, nodes: Ints, epsilon: Floats
    ) -> Splits:
        point = self.curator.exponential_intervals(
            scores,
            starts=candidates.starts[::f],
            option=attributes[candidates.question],
            low=candidates.low,
            high=candidates.high,
            log_measure=candidates.log_measure,
            epsilon=epsilon,
            what="split of a node",
            parts=nodes,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
        )
        kind = np.where(self.domain.continuous[point.option], THRESHOLD, ONE_VS_REST)
        return Splits(kind, point.option, point.value)

    def _choose_in_two_steps(
        self,
        candidates: Candidates,
        scores: Floats,
        counts: ValueCounts,
        attributes: Ints,
        f: int,
        nodes: Ints,
        share: Floats,
    ) -> Splits:
        """Steps 10 and 11: a threshold for each continuous attribute drawn, then an attribute."""
        numeric = np.flatnonzero(self.domain.continuous[attributes])
        threshold = self._choose_thresholds(candidates, scores, numeric, f, nodes, share)
        offered = np.ones(len(scores), bool)
        cut = candidates.low.copy()
        kind = np.full(len(scores), ONE_VS_REST)
        if len(numeric):
            at = candidates.locate(numeric, threshold)
            offered &= ~self.domain.continuous[attributes[candidates.question]]
            offered[at] = True
            cut[at], kind[at] = threshold, THRESHOLD
        if self.forest.categorical == "multiway":
            nominal = np.flatnonzero(~self.domain.continuous[attributes])
            first = candidates.starts[nominal]
            offered[~self.domain.continuous[attributes[candidates.question]]] = False
            offered[first] = True
            scores = scores.copy()
            scores[first] = multiway_scores(counts, totals=candidates.totals, score=self.score)[nominal]
            cut[first], kind[first] = np.nan, MULTIWAY
        options = np.flatnonzero(offered)
        starts = np.searchsorted(options, candidates.starts[::f])
        chosen = self.curator.exponential(
            scores[options],
            starts=starts,
            epsilon=share,
            what="attribute of a node",
            parts=nodes,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
        )
        option = options[starts + chosen]
        return Splits(kind[option], attributes[candidates.question[option]], cut[option])

    def _choose_thresholds(
        self, candidates: Candidates, scores: Floats, numeric: Ints, f: int, nodes: Ints, share: Floats
    ) -> Floats:
        """Step 10: one threshold for each continuous attribute drawn, (numeric questions,)."""
        if not len(numeric):
            return np.empty(0)
        mine = np.isin(candidates.question, numeric)
        point = self.curator.exponential_intervals(
            scores[mine],
            **candidates.intervals(mine, groups=numeric),
            epsilon=share[numeric // f],
            what="threshold of an attribute",
            parts=nodes[numeric // f],
            sensitivity=self.sensitivity,
            monotone=self.monotone,
        )
        if self.forest.thresholds == "uniform":
            return point.value
        at = candidates.locate(numeric, point.value)
        low, high = candidates.low[at], candidates.high[at]
        value = low if self.forest.thresholds == "data" else (low + high) / 2
        return self.curator.exact(value, why=f"threshold is the {self.forest.thresholds} point (ambiguity d)")
