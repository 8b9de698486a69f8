"""Trees of the lineage of DiffPRFs: one loop for all methods, with an account of what every path may cost.

Where a path ends is an outcome, so a tree costs what any path may: that holds for all outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import beta

from dpnb.arrays import Bools, Floats, Ints
from dpnb.domain import Continuous, Domain
from dpnb.privacy.curator import Curator
from dpnb.records.splits import LEAF, MULTIWAY, Splits
from dpnb.trees.candidates import Candidates
from dpnb.trees.growth import TreeBuilder, leaf_counts, noisy_counts, ranges_below
from dpnb.trees.tree import Tree, leaf_votes


@dataclass(frozen=True)
class Run:
    """What one tree is grown with."""

    # curator, domain: release door, public domain.
    curator: Curator
    domain: Domain
    _: KW_ONLY
    # size, choice, leaf: ε of a node's size (0 for no such count), of the choice of its split, of a leaf's
    # class counts.
    size: float
    choice: float
    leaf: float
    path: float  # most that a path may cost
    sensitivity: float = 1.0  # Δ of the split score

    def sizes(self, counts: Floats, nodes: Ints) -> Floats:
        """Noisy number of records of every node; NaN if none is asked for."""
        if not self.size:
            return np.full(len(nodes), np.nan)
        total, what = counts.sum(axis=1), "size of a node"
        return noisy_counts(self.curator, total, nodes=nodes, epsilon=self.size, what=what)

    def end(self, builder: TreeBuilder, counts: Floats, leaf: Bools) -> Floats:
        """Noisy class counts of the leaves."""
        return leaf_counts(self.curator, counts[leaf], nodes=builder.nodes[leaf], epsilon=self.leaf)

    @property
    def law(self) -> dict[str, Any]:
        """What a choice of a split is made with."""
        return {"epsilon": self.choice, "sensitivity": self.sensitivity, "monotone": False}


@dataclass(frozen=True)
class Front:
    """The open nodes of a level and what the splits above them leave open; all of it has been released."""

    builder: TreeBuilder  # has their numbers and their records
    depth: int  # number of splits above them
    unused: Bools  # (nodes, attributes) whether no multiway split above used the attribute
    # low, high: (nodes, attributes) range left by the thresholds above; a category counts as its code ± ½.
    low: Floats
    high: Floats

    def take(self, slots: Ints) -> Front:
        """Some of the nodes, in this order."""
        return replace(self, unused=self.unused[slots], low=self.low[slots], high=self.high[slots])

    def below(self, splits: Splits, parent: Ints) -> Front:
        """The children of these nodes, once they are split."""
        low, high = ranges_below(splits, parent, low=self.low, high=self.high)
        unused, rows = self.unused[parent], np.flatnonzero(splits.kind[parent] == MULTIWAY)
        unused[rows, splits.attribute[parent[rows]]] = False
        return Front(self.builder, self.depth + 1, unused, low, high)


Leaves = Callable[[Run, Front, Floats], Bools]
"""Open nodes and their noisy sizes → which of them become leaves."""
Choose = Callable[[Run, Front, Floats], Splits]
"""Nodes to split and their exact class counts → their splits."""


def on_a_line(domain: Domain) -> Domain:
    """The domain with every category as the number of its code, for thresholds between categories."""
    pairs = zip(domain.attributes, domain.cardinalities.tolist(), strict=True)
    return replace(domain, attributes=tuple(Continuous(a.name, -0.5, n - 0.5) if n else a for a, n in pairs))


def grow(run: Run, builder: TreeBuilder, leaves: Leaves, choose: Choose) -> tuple[Tree, Floats]:
    """Grow a tree a level at a time; returns it with the noisy size of each node."""
    view, sizes = on_a_line(run.domain), list[Floats]()
    front = Front(builder, 0, np.ones((1, len(view.lows)), bool), view.lows[None], view.highs[None])
    for _ in builder.levels():
        counts = builder.class_counts()
        sizes.append(run.sizes(counts, builder.nodes))
        leaf = leaves(run, front, sizes[-1])
        going = builder.close(leaf, run.end(builder, counts, leaf))
        if len(going):
            front = front.take(going)
            splits = choose(run, front, counts[going])
            front = front.below(splits, builder.split(splits))
    return builder.finish(), np.concatenate(sizes)


def within(candidates: Candidates, low: Floats, high: Floats) -> Candidates:
    """The thresholds of each question restricted to a public range, (questions,) ends; categories stay as they are."""
    lows, highs = low[candidates.question], high[candidates.question]
    interval = candidates.low != candidates.high
    start = np.where(interval, np.clip(candidates.low, lows, highs), candidates.low)
    stop = np.where(interval, np.clip(candidates.high, lows, highs), candidates.high)
    share = np.where(interval, (stop - start) / (highs - lows), candidates.measure)
    return replace(candidates, low=start, high=stop, measure=share)


def pruned(tree: Tree, sizes: Floats, domain: Domain) -> Tree:
    """Turn inner nodes into leaves where that lowers C4.5's bound on the errors: a function of what was released."""
    branches = tree.splits.n_branches(domain.cardinalities)
    inner = np.flatnonzero(branches).tolist()
    below = {node: tree.first_child[node] + np.arange(branches[node]) for node in inner}
    size = np.maximum(sizes, 0.0)
    for node in inner:  # downwards: the sizes of children add up to their parent's
        own = size[below[node]]
        share = own / own.sum() if own.any() else np.full(len(own), 1 / len(own))
        size[below[node]] = share * size[node]
    leaf = branches == 0
    counts = np.zeros(tree.value.shape)
    counts[leaf] = leaf_votes(tree.value[leaf], vote="probability") * size[leaf, None]
    for node in reversed(inner):
        counts[node] = counts[below[node]].sum(axis=0)
    errors = error_bound(counts)
    best, cut = errors.copy(), np.zeros(len(errors), bool)
    for node in reversed(inner):
        best[node] = best[below[node]].sum()
        cut[node] = errors[node] <= best[node] + 0.1  # C4.5's slack, in records
        best[node] = min(best[node], errors[node])
    return _without_subtrees(tree, cut, np.where(cut[:, None], counts, tree.value), branches)


def error_bound(counts: Floats) -> Floats:
    """Upper confidence limit of a leaf's number of errors: C4.5's N · U(E, N)."""
    n = counts.sum(axis=1)
    errors = np.clip(n - counts.max(axis=1), 0.0, None)
    confidence = 0.25  # C4.5's
    bound: Floats = n * beta.ppf(1 - confidence, errors + 1, np.maximum(n - errors, 1e-9))
    return bound


def _without_subtrees(tree: Tree, cut: Bools, value: Floats, branches: Ints) -> Tree:
    """The tree with the nodes of ``cut`` as leaves and nothing below them."""
    kept = np.ones(tree.n_nodes, bool)
    for node, above in enumerate(np.repeat(np.arange(tree.n_nodes), branches).tolist(), start=1):
        kept[node] = kept[above] and not cut[above]
    kind, attribute, at = (field[kept] for field in tree.splits)
    ends, number = cut[kept], np.cumsum(kept) - 1
    splits = Splits(np.where(ends, LEAF, kind), np.where(ends, -1, attribute), np.where(ends, np.nan, at))
    first = np.where(cut | (tree.first_child < 0), -1, number[tree.first_child])
    return Tree(splits, first[kept], tree.depth[kept], value[kept])
