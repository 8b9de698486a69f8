"""Forest baselines whose random splits read no data, with private labels or noisy class counts in the leaves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..arrays import Floats
from ..domain import Domain
from ..estimators.base import PrivateForest
from ..privacy.curator import Curator
from ..privacy.ledger import Neighbours
from ..records.doors import RecordsDoor
from ..records.splits import ONE_VS_REST, THRESHOLD, Splits
from ..trees.growth import TreeBuilder, leaf_counts, leaf_labels, ranges_below
from ..trees.tree import Tree


def public_stream(curator: Curator) -> np.random.Generator:
    """Generator of all splits of a forest, so that no noise drawn between two trees changes the second one."""
    seed = curator.public(lambda rng: int(rng.integers(2**63)), what="seed of the random splits")
    return np.random.default_rng(seed)


def build_tree(
    rng: np.random.Generator, builder: TreeBuilder, *, max_depth: int, leaves: Callable[..., Floats]
) -> Tree:
    """Draw the splits of one tree, then release its leaves by their exact class counts and their ``nodes``."""
    low, high = builder.domain.lows[None], builder.domain.highs[None]
    for depth in builder.levels():
        if depth < max_depth:
            splits = random_splits(rng, builder.domain, low=low, high=high)
            low, high = ranges_below(splits, builder.split(splits), low=low, high=high)
        else:
            released = leaves(builder.class_counts(), nodes=builder.nodes)
            builder.close(np.ones(len(released), bool), released)
    return builder.finish()


def random_splits(rng: np.random.Generator, domain: Domain, *, low: Floats, high: Floats) -> Splits:
    """Draw a random split of each node's public box ``low..high``, (nodes, attributes) each."""
    u = rng.random((2, len(low)))
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
    n_trees : number of trees ≥ 1; each record is in one of them.
    max_depth : number of splits on every path ≥ 0.

    Notes
    -----
    **Privacy**: ``epsilon``-DP under ``neighbours`` for a given domain. Splits are drawn from the public bounds alone.
    First an attribute is drawn, then a threshold that is uniform in the node's part of the domain, or a category
    against the rest. Each record enters one tree, chosen by its key, and one leaf there, whose label is chosen by
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
    _people: ClassVar = {}

    _leaves: ClassVar[Callable[..., Floats]] = staticmethod(leaf_labels)

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        public = public_stream(curator)

        def build(builder: TreeBuilder, per_copy: float) -> Tree:
            leaves = partial(self._leaves, curator, epsilon=per_copy)
            return build_tree(public, builder, max_depth=self.max_depth, leaves=leaves)

        self.trees_ = self._plant(records, curator, build, alike=True)

    def _full_depth(self) -> int:
        return self.max_depth


def balanced_depth(n: float, *, epsilon: float, n_trees: int) -> int:
    """Depth at which the average number of records in a leaf of :class:`RandomTrees` equals the scale of its noise.

    Parameters
    ----------
    n : number of records, or a guess at it. It has to be public, because the depth publishes it.
    epsilon : budget of the forest, finite.
    n_trees : number of trees t.

    Returns
    -------
    ``floor(log2(n ε / t))``, at least 0, since a leaf has n / 2^d records, and the scale of its noise is t / ε.
    """
    if not 0 < n < math.inf:
        raise ValueError(f"n={n!r}: expected a number of records above 0, public or a guess")
    return max(math.floor(math.log2(n * epsilon / n_trees)), 0)


@dataclass(kw_only=True, eq=False, repr=False)
class RandomTrees(RandomSplitForest):
    """Forest of trees with random splits on all records; only the leaves' class counts read the data, ε-DP.

    Parameters
    ----------
    epsilon : total budget ε > 0; ``inf`` releases the exact class counts.
    n_trees : number of trees t ≥ 1.
    max_depth : number of splits on every path ≥ 0; :func:`balanced_depth` suggests one from public numbers.

    Notes
    -----
    **Privacy**: ``epsilon``-DP under ``neighbours`` for a given domain. Splits are drawn from the public bounds alone,
    so the trees are public. Each record is in one leaf of every tree and adds 1 to one class count there. So geometric
    noise with Δ = 1 and scale t/ε costs ε/t for each tree, and t trees cost ε. Prediction averages the leaves' class
    shares, with negative counts taken as 0, which is post-processing.

    References
    ----------
    Jagannathan, Pillaipakkamnatt, Wright (2012), A practical differentially private random decision tree classifier.
    The binary splits, the vote and the rule for the depth are ours.
    """

    max_depth: int = 8

    bags = "full"
    vote = "probability"
    _leaves: ClassVar[Callable[..., Floats]] = staticmethod(leaf_counts)
