"""The growth of trees, whose nodes end as leaves or are split and hand their records down; steps that papers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..domain import Domain
from ..privacy.curator import Curator
from ..privacy.ledger import TreeScope
from ..records.doors import CohortDoor
from ..records.splits import LEAF, THRESHOLD, Splits
from ..settings import MOST_NODES
from .tree import Tree

NOISES = ("geometric", "laplace")


def check_nodes(size: int, *, depth: int, n_classes: int) -> None:
    """Raise ValueError for a tree that would be too large at some depth; its size is public, or was released."""
    most = MOST_NODES * 8 // (n_classes + 6)  # a node takes six numbers and one per class
    if size > most:
        raise ValueError(
            f"a tree would have {size} nodes at depth {depth}, more than {most}: lower max_depth, or bin attributes of "
            "many values"
        )


class TreeBuilder:
    """Builder of a tree on a bag of records, which keeps the ledger's node numbers equal to the tree's.

    Parameters
    ----------
    domain : public domain.
    scope : the open ledger scope of this tree.
    cohort : the bag of records, at the root.
    depth_first : whether nodes are grown one at a time, first children first, instead of a level at a time.

    Attributes
    ----------
    nodes : (nodes,) numbers of the nodes that are growing now.
    cohort : the records of these nodes.
    """

    def __init__(
        self, domain: Domain, scope: TreeScope, cohort: CohortDoor, *, depth_first: bool = False
    ) -> None:
        self.domain = domain
        self.scope = scope
        self.cohort = cohort
        self.nodes: Ints = np.array([0])
        self._depth_first = depth_first
        self._depth: Ints = np.array([0])
        self._open = [(self.nodes, cohort)]
        self._leaves: list[tuple[Ints, Floats]] = []
        self._splits: list[tuple[Ints, Splits, Ints]] = []

    def levels(self) -> Iterator[int]:
        """Take up the open nodes, a level or a node at a time, until none is left; yields their depth."""
        while self._open:
            self.nodes, self.cohort = self._open.pop()
            yield int(self._depth[self.nodes[0]])

    def class_counts(self) -> Floats:
        """Exact class counts of the nodes, (nodes, classes)."""
        return self.cohort.class_counts(len(self.nodes))

    def close(self, leaf: Bools, values: Floats) -> Ints:
        """Make leaves of some nodes; the others are the nodes from now on.

        Parameters
        ----------
        leaf : (nodes,) which of the nodes become leaves.
        values : (leaves, classes) released values by which the leaves predict.

        Returns
        -------
        (left,) positions of the others, to be split.
        """
        left = np.flatnonzero(~leaf)
        self._leaves.append((self.nodes[leaf], values))
        if 0 < len(left) < len(leaf):
            self.cohort.keep(left)
        self.nodes = self.nodes[left]
        return left

    def split(self, splits: Splits) -> Ints:
        """Split every node and send its records to its children, which are open from now on.

        Parameters
        ----------
        splits : one split for each node, none of them a leaf.

        Returns
        -------
        (children,) position of each child's parent.

        Raises
        ------
        ValueError
            If the tree would have more than 2²⁰ nodes, or fewer for many classes. That follows from the splits, which
            are released.
        """
        branches = splits.n_branches(self.domain.cardinalities)
        size, depth = len(self._depth) + int(branches.sum()), int(self._depth[self.nodes[0]]) + 1
        check_nodes(size, depth=depth, n_classes=self.domain.n_classes)
        parent = np.repeat(np.arange(len(branches)), branches)
        first_slot = np.cumsum(branches) - branches
        children = self.scope.grow(self.nodes[parent])
        self._splits.append((self.nodes, splits, children[first_slot]))
        self._depth = np.append(self._depth, self._depth[self.nodes[parent]] + 1)
        self.cohort.descend(splits, first_slot)
        if self._depth_first:
            slots = np.arange(len(children))[::-1, None]
            self._open += [(children[slot], self.cohort.part(slot)) for slot in slots]
        else:
            self._open.append((children, self.cohort))
        return parent

    def finish(self) -> Tree:
        """The tree, once no node is left."""
        n = len(self._depth)
        left = n - sum(len(nodes) for nodes, *_ in [*self._leaves, *self._splits])
        if left:
            raise RuntimeError(f"{left} nodes have no split and no value yet")
        edges = self._splits[0][1].cut.shape[1:] if self._splits else ()
        splits = Splits(np.full(n, LEAF), np.full(n, -1), np.full((n, *edges), np.nan))
        first_child, value = np.full(n, -1), np.full((n, self.domain.n_classes), np.nan)
        for nodes, own, first in self._splits:
            first_child[nodes] = first
            for field, chosen in zip(splits, own, strict=True):
                field[nodes] = chosen
        for nodes, values in self._leaves:
            value[nodes] = values
        return Tree(splits, first_child, self._depth, value)


def ranges_below(splits: Splits, parent: Ints, *, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Public ranges of the children; a threshold ends the range of one child and begins that of the other.

    Parameters
    ----------
    splits : splits of the parents.
    parent : (children,) position of each child's parent, from :meth:`TreeBuilder.split`.
    low, high : (parents, attributes) ranges of the parents.
    """
    low, high = low[parent], high[parent]
    branch = np.arange(len(parent)) - np.searchsorted(parent, parent)
    for side, bound in ((0, high), (1, low)):
        rows = np.flatnonzero((splits.kind[parent] == THRESHOLD) & (branch == side))
        bound[rows, splits.attribute[parent[rows]]] = splits.cut[parent[rows]]
    return low, high


def select_offered(mechanism: Callable[..., Ints], scores: Floats, offered: Bools, **budget: Any) -> Ints:
    """Choose one option for each node among the options that the node is offered.

    Parameters
    ----------
    mechanism : a curator's choice, such as :meth:`~dpnb.privacy.curator.Curator.permute_and_flip`.
    scores : (nodes, options) scores, of which larger ones are better.
    offered : (nodes, options) public switches; each node is offered at least one option.
    budget : other arguments of the mechanism.

    Returns
    -------
    (nodes,) numbers of options.
    """
    node, option = np.nonzero(offered)
    starts = np.searchsorted(node, np.arange(len(offered)))
    chosen: Ints = option[starts + mechanism(scores[node, option], starts=starts, **budget)]
    return chosen


def noisy_counts(
    curator: Curator,
    counts: Floats,
    *,
    nodes: Ints,
    epsilon: float | Floats,
    what: str,
    noise: str = "geometric",
    sensitivity: float = 1.0,
) -> Floats:
    """Release numbers of records of nodes with noise.

    Parameters
    ----------
    counts : (nodes, ...) exact numbers.
    nodes : (nodes,) node numbers.
    epsilon : cost of a node, scalar or (nodes,).
    what : purpose of the release, for the ledger.
    noise : ``"geometric"`` for whole numbers, or ``"laplace"`` as in the texts.
    sensitivity : Δ of all numbers of a node together.

    **Privacy**: ``epsilon``-DP for a record of each node.
    """
    mechanism = {"geometric": curator.geometric, "laplace": curator.laplace}[noise]
    noisy = mechanism(counts, epsilon=epsilon, sensitivity=sensitivity, what=what, parts=nodes)
    return noisy.astype(float)


def leaf_counts(
    curator: Curator, counts: Floats, *, nodes: Ints, epsilon: float | Floats, noise: str = "geometric"
) -> Floats:
    """Release noisy class counts of leaves.

    Parameters
    ----------
    counts : (leaves, classes) exact class counts.
    nodes : (leaves,) node numbers.
    epsilon : cost of a leaf, scalar or (leaves,).
    noise : as for :func:`noisy_counts`.

    **Privacy**: ``epsilon``-DP for a record of each leaf; a record is in one class, so Δ = 1 for all together.
    """
    if not len(nodes):
        return counts
    what = "class counts of a leaf"
    return noisy_counts(curator, counts, nodes=nodes, epsilon=epsilon, noise=noise, what=what)


def leaf_labels(
    curator: Curator, counts: Floats, *, nodes: Ints, epsilon: float, monotone: bool = True
) -> Floats:
    """Release a label for each leaf by permute-and-flip on its class counts, by Algorithm 3 of eDPRF, (15) and (16).

    Parameters
    ----------
    counts, nodes, epsilon : as for :func:`leaf_counts`.
    monotone : whether to use the rate ε that monotone scores allow, instead of the paper's ε/2. With two classes,
        the larger of two noisy counts for ``epsilon`` errs more often than the former and less often than the
        latter, which costs half of ``epsilon`` under add or remove; at equal cost the label errs less often.

    Returns
    -------
    (leaves, classes) 1 for the label, 0 elsewhere.

    **Privacy**: ``epsilon``-DP for a record of each leaf; a record adds 1 to one count, so Δ = 1 and the score is
    monotone (fact F1).
    """
    classes = counts.shape[1]
    label = curator.permute_and_flip(
        counts.reshape(-1),
        starts=np.arange(len(counts)) * classes,
        epsilon=epsilon,
        sensitivity=1.0,
        monotone=monotone,
        what="label of a leaf",
        parts=nodes,
    )
    one_hot: Floats = np.eye(classes)[label]
    return one_hot
