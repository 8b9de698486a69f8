"""Trees of the lineage of DiffPRFs: grown a level at a time, with an account of what every path may cost.

Where a path ends is an outcome, so the ledger books as kept back what an early leaf leaves of ε: its total then holds
for all outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from ..arrays import Bools, Floats, Ints
from ..candidates import Candidates
from ..counts import CohortDoor
from ..curator import Curator
from ..domain import Continuous, Domain
from ..estimators import leaf_votes
from ..laws import Point
from ..ledger import Event, Ledger, TreeScope
from ..scores import Score
from ..splits import LEAF, MULTIWAY, THRESHOLD, Splits, no_splits
from ..trees import Tree, TreeBuilder

RESERVE = "kept back for what a longer path would cost"
PRUNING_CONFIDENCE = 0.25  # C4.5's
PRUNING_SLACK = 0.1


@dataclass(frozen=True)
class Run:
    """What one tree is grown with.

    Parameters
    ----------
    size, choice, leaf : ε of a node's size (0 for no such count), of the choice of its split, of a leaf's class counts.
    path : most that a path may cost.
    sensitivity : Δ of the split score.
    """

    curator: Curator
    cohort: CohortDoor
    domain: Domain
    size: float
    choice: float
    leaf: float
    path: float
    sensitivity: float

    def sizes(self, counts: Floats, nodes: Ints) -> Floats:
        """Noisy number of records of every node; NaN if none is asked for."""
        if not self.size:
            return np.full(len(nodes), np.nan)
        total, what = counts.sum(axis=1), "size of a node"
        return self.curator.laplace(total, epsilon=self.size, sensitivity=1.0, what=what, parts=nodes)

    def end(self, scope: TreeScope, counts: Floats, nodes: Ints) -> Floats:
        """Noisy class counts of leaves, Δ = 1 as a record is in one class; what their paths did not spend is kept."""
        if not len(nodes):
            return counts
        what = "class counts of a leaf"
        noisy = self.curator.laplace(counts, epsilon=self.leaf, sensitivity=1.0, what=what, parts=nodes)
        if math.isfinite(self.path):
            reserve(self.curator.ledger, self.path - scope.path_costs()[0][nodes], nodes)
        return noisy

    def select(
        self,
        scores: Floats,
        *,
        starts: Ints,
        what: str,
        parts: Ints | None = None,
        log_measure: Floats | None = None,
    ) -> Ints:
        """One candidate of each group by the exponential mechanism, (groups,)."""
        return self.curator.exponential(
            scores,
            starts=starts,
            epsilon=self.choice,
            sensitivity=self.sensitivity,
            monotone=False,
            what=what,
            parts=parts,
            log_measure=log_measure,
        )

    def select_point(
        self,
        candidates: Candidates,
        score: Score,
        *,
        offered: Bools,
        groups: Ints,
        what: str,
        parts: Ints | None = None,
    ) -> Point:
        """A threshold or an atom of the candidates offered, in each group that begins at the questions ``groups``."""
        return self.curator.exponential_intervals(
            candidates.scores(score)[offered],
            **candidates.intervals(offered, groups=groups),
            epsilon=self.choice,
            sensitivity=self.sensitivity,
            monotone=False,
            what=what,
            parts=parts,
        )


def reserve(ledger: Ledger, rest: ArrayLike, parts: Ints | None = None) -> None:
    """Book a rest of the budget that no release of this fit costs."""
    epsilon = np.maximum(np.asarray(rest, float), 0.0)
    if np.any(epsilon > 1e-12):
        rho = 0.5 * epsilon**2
        ledger.book(Event(what=RESERVE, mechanism="none", epsilon=epsilon, rho=rho, parts=parts))


@dataclass(frozen=True)
class Front:
    """The open nodes of a level and what the splits above them leave open; all of it has been released.

    Parameters
    ----------
    nodes : (nodes,) numbers on the ledger.
    depth : number of splits above them.
    unused : (nodes, attributes) whether no multiway split above used the attribute.
    low, high : (nodes, attributes) range left by the thresholds above; a category counts as its code ± ½.
    """

    nodes: Ints
    depth: int
    unused: Bools
    low: Floats
    high: Floats

    @classmethod
    def root(cls, domain: Domain) -> Front:
        """The root of a tree."""
        view, unused = on_a_line(domain), np.ones((1, domain.n_attributes), bool)
        return cls(np.array([0]), 0, unused, view.lows[None], view.highs[None])

    def take(self, slots: Ints) -> Front:
        """Some of the nodes, in this order."""
        return Front(self.nodes[slots], self.depth, self.unused[slots], self.low[slots], self.high[slots])

    def below(self, splits: Splits, nodes: Ints, cardinalities: Ints) -> Front:
        """The level below, once all of these nodes are split."""
        branches = splits.n_branches(cardinalities)
        parent = np.repeat(np.arange(len(branches)), branches)
        branch = np.arange(len(parent)) - (np.cumsum(branches) - branches)[parent]
        kind, attribute, cut = (field[parent] for field in splits)
        front = replace(self.take(parent), nodes=nodes, depth=self.depth + 1)
        for side, bound in ((0, front.high), (1, front.low)):
            rows = np.flatnonzero((kind == THRESHOLD) & (branch == side))
            bound[rows, attribute[rows]] = cut[rows]
        rows = np.flatnonzero(kind == MULTIWAY)
        front.unused[rows, attribute[rows]] = False
        return front


def on_a_line(domain: Domain) -> Domain:
    """The domain with every category as the number of its code, for thresholds between categories."""
    pairs = zip(domain.attributes, domain.cardinalities.tolist(), strict=True)
    return replace(domain, attributes=tuple(Continuous(a.name, -0.5, n - 0.5) if n else a for a, n in pairs))


def grow(
    run: Run,
    scope: TreeScope,
    *,
    leaves: Callable[[Run, Front, Floats], Bools],
    choose: Callable[[Run, Front, Floats], Splits],
) -> tuple[Tree, Floats]:
    """Grow a tree a level at a time.

    Parameters
    ----------
    leaves : open nodes, their noisy sizes → which of them become leaves.
    choose : nodes to split, their class counts → their splits.

    Returns
    -------
    The tree, and the noisy size of each node.
    """
    builder, front, sizes = TreeBuilder(run.domain, scope), Front.root(run.domain), []
    while True:
        counts = run.cohort.class_counts(len(front.nodes))
        sizes.append(run.sizes(counts, front.nodes))
        leaf = leaves(run, front, sizes[-1])
        values, splits = np.full(counts.shape, np.nan), no_splits(len(leaf))
        values[leaf] = run.end(scope, counts[leaf], front.nodes[leaf])
        going = np.flatnonzero(~leaf)
        if not len(going):
            builder.grow(splits, values)
            return builder.finish(), np.concatenate(sizes)
        run.cohort.keep(going)
        front = front.take(going)
        chosen = choose(run, front, counts[going])
        for field, own in zip(splits, chosen, strict=True):
            field[going] = own
        first_slot = builder.grow(splits, values)
        run.cohort.descend(chosen, first_slot[going])
        front = front.below(chosen, builder.frontier, run.domain.cardinalities)


def within(candidates: Candidates, low: Floats, high: Floats) -> Candidates:
    """The thresholds of each question restricted to a public range, (questions,) ends; categories stay as they are."""
    lows, highs = low[candidates.question], high[candidates.question]
    interval = candidates.low != candidates.high
    start = np.where(interval, np.clip(candidates.low, lows, highs), candidates.low)
    stop = np.where(interval, np.clip(candidates.high, lows, highs), candidates.high)
    with np.errstate(divide="ignore"):
        share = np.where(interval, np.log(stop - start) - np.log(highs - lows), candidates.log_measure)
    return replace(candidates, low=start, high=stop, log_measure=share)


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
        cut[node] = errors[node] <= best[node] + PRUNING_SLACK
        best[node] = min(best[node], errors[node])
    return _without_subtrees(tree, cut, np.where(cut[:, None], counts, tree.value), branches)


def error_bound(counts: Floats) -> Floats:
    """Upper confidence limit of a leaf's number of errors: C4.5's N · U(E, N)."""
    n = counts.sum(axis=1)
    errors = np.clip(n - counts.max(axis=1), 0.0, None)
    bound: Floats = n * beta.ppf(1 - PRUNING_CONFIDENCE, errors + 1, np.maximum(n - errors, 1e-9))
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
