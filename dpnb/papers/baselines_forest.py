"""Forest baseline: random splits that read no data, and private labels, as diffprivlib's forest has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arrays import Floats
from ..counts import RecordsDoor
from ..curator import Curator
from ..domain import Domain
from ..estimators import PrivateForest
from ..growth import TreeBuilder, leaf_labels, ranges_below
from ..ledger import Neighbours
from ..registry import register
from ..splits import ONE_VS_REST, THRESHOLD, Splits
from ..trees import Tree


def build_tree(curator: Curator, builder: TreeBuilder, *, max_depth: int, epsilon: float) -> Tree:
    """Draw the splits of one tree, then choose the labels of its leaves at ``epsilon``."""
    low, high = builder.domain.lows[None], builder.domain.highs[None]
    for depth in builder.levels():
        if depth < max_depth:
            splits = random_splits(curator, builder.domain, low=low, high=high)
            low, high = ranges_below(splits, builder.split(splits), low=low, high=high)
        else:
            labels = leaf_labels(curator, builder.class_counts(), nodes=builder.nodes, epsilon=epsilon)
            builder.close(np.ones(len(labels), bool), labels)
    return builder.finish()


def random_splits(curator: Curator, domain: Domain, *, low: Floats, high: Floats) -> Splits:
    """One random split of each node's public box ``low..high``, (nodes, attributes) each."""
    u = curator.public(lambda rng: rng.random((2, len(low))), what="random splits")
    attribute = (u[0] * domain.n_attributes).astype(np.intp)
    numeric = domain.continuous[attribute]
    low, high = (bound[np.arange(len(bound)), attribute] for bound in (low, high))
    cut = np.where(numeric, low + u[1] * (high - low), np.floor(u[1] * domain.cardinalities[attribute]))
    return Splits(np.where(numeric, THRESHOLD, ONE_VS_REST), attribute, cut)


@dataclass(kw_only=True, eq=False, repr=False)
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

    epsilon: float = 1.0
    domain: Domain | None = None
    n_trees: int = 25
    max_depth: int = 5
    neighbours: Neighbours = "add-remove"
    random_state: Any = None

    bags = "disjoint"
    bag_rate = None
    vote = "majority"
    _least: ClassVar = {"n_trees": 1, "max_depth": 0}

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        def build(builder: TreeBuilder, per_copy: float) -> Tree:
            return build_tree(curator, builder, max_depth=self.max_depth, epsilon=per_copy)

        self.trees_ = self._plant(records, curator, build, n_trees=self.n_trees)


register(
    RandomSplitForest,
    page="notebooks/05_edprf",
    small={"n_trees": 2, "max_depth": 3},
    learns={"n_trees": 1, "max_depth": 11},
)
