"""Forest baseline: random splits that read no data, and private labels, as diffprivlib's forest has them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..counts import CohortDoor, RecordsDoor
from ..curator import Curator
from ..domain import Domain
from ..estimators import PrivateForest, check_choice, check_count, leaf_labels
from ..ledger import Neighbours, TreeScope
from ..splits import ONE_VS_REST, THRESHOLD, Splits, no_splits
from ..trees import Tree, TreeBuilder


class RandomSplitForest(PrivateForest):
    """Forest of trees with random splits; only the leaves' labels read the data, ε-DP.

    Parameters
    ----------
    epsilon : total budget ε > 0; ``inf`` releases the largest class of each leaf.
    domain : public domain; if None it is read off the records, with a warning and an infinite ε on the ledger.
    n_trees : number of trees ≥ 1; each record is in one of them.
    max_depth : number of splits on every path ≥ 0.
    neighbours : ``"add-remove"`` or ``"replace"``; the latter halves the budget.
    random_state : seed, Generator or None. Noise and bags follow from it: keep it secret.

    Attributes
    ----------
    trees_ : list of :class:`~dpnb.trees.Tree`.
    ledger_ : :class:`~dpnb.ledger.Ledger` with the claimed and the true ε.
    domain_, classes_, n_features_in_ : as usual.

    Notes
    -----
    **Privacy**: ``epsilon``-DP under ``neighbours`` for a given domain. Splits are drawn from the public bounds
    alone: an attribute, then a threshold uniform in the node's part of the domain, or a category against the
    rest. Each record enters one tree, chosen by its key, and one leaf there, whose label is chosen by
    permute-and-flip on the class counts (Δ = 1, monotone, so the rate is ε).

    References
    ----------
    Fletcher, Islam (2017), Differentially private random decision forests using smooth sensitivity; diffprivlib's
    ``RandomForestClassifier`` for labels by permute-and-flip on disjoint data. Unlike it, categories have no order
    here, and trees vote by majority.
    """

    bags = "disjoint"
    bag_rate = None
    vote = "majority"

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        domain: Domain | None = None,
        n_trees: int = 25,
        max_depth: int = 5,
        neighbours: Neighbours = "add-remove",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.domain = domain
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.neighbours = neighbours
        self.random_state = random_state

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
        check_choice("neighbours", self.neighbours, ("add-remove", "replace"))
        check_count("n_trees", self.n_trees, low=1)
        check_count("max_depth", self.max_depth, low=0)
        records, curator = self._open(X, y)

        def grow(cohort: CohortDoor, scope: TreeScope, per_copy: float) -> Tree:
            builder = TreeBuilder(self.domain_, scope)
            low, high = self.domain_.lows[None], self.domain_.highs[None]
            for _ in range(self.max_depth):
                splits = _random_splits(curator, self.domain_, low=low, high=high)
                values = np.full((len(low), self.domain_.n_classes), np.nan)
                cohort.descend(splits, builder.grow(splits, values))
                low, high = _halves(splits, low=low, high=high)
            nodes = builder.frontier
            counts = cohort.class_counts(len(nodes))
            builder.grow(no_splits(len(nodes)), leaf_labels(curator, counts, nodes=nodes, epsilon=per_copy))
            return builder.finish()

        self.trees_ = self._plant(records, curator, grow, n_trees=self.n_trees)
        self.ledger_ = curator.ledger
        return self


def _random_splits(curator: Curator, domain: Domain, *, low: Floats, high: Floats) -> Splits:
    """One random split of each node's public box ``low..high``, (nodes, attributes) each."""
    u = curator.public(lambda rng: rng.random((2, len(low))), what="random splits")
    attribute = (u[0] * domain.n_attributes).astype(np.intp)
    numeric = domain.continuous[attribute]
    low, high = (bound[np.arange(len(bound)), attribute] for bound in (low, high))
    cut = np.where(numeric, low + u[1] * (high - low), np.floor(u[1] * domain.cardinalities[attribute]))
    return Splits(np.where(numeric, THRESHOLD, ONE_VS_REST), attribute, cut)


def _halves(splits: Splits, *, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Boxes of the children, first and second child of each node in turn."""
    low, high = np.repeat(low, 2, axis=0), np.repeat(high, 2, axis=0)
    numeric = np.flatnonzero(splits.kind == THRESHOLD)
    high[2 * numeric, splits.attribute[numeric]] = splits.cut[numeric]
    low[2 * numeric + 1, splits.attribute[numeric]] = splits.cut[numeric]
    return low, high
