"""Which training records the exact steps of DiffPRFs expose: without one of them the published forest is impossible.

For study only: it reads the records again, and what it finds is not private.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dpnb.arrays import Bools, Floats, Ints
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.records.bags import Bags, Copies, Keys, drawing
from dpnb.records.splits import LEAF, THRESHOLD
from dpnb.trees.tree import Tree


@dataclass(frozen=True)
class Exposed:
    """Training records without which a published forest has probability 0."""

    # (n,) alone in their class, among all records that reach some split node, which are of two classes:
    # whatever the bags were, the exact purity test had not let the node be split.
    pure: Bools
    pure_in_bags: Bools  # (n,) the same among the records of the tree's bag: given the bags
    # (n,) the only ones that hold the value of a published threshold, among all that reach its node.
    holder: Bools
    split_nodes: int  # number of split nodes


@dataclass
class _Noted:
    """A rule for bags that draws as always and takes down what it drew."""

    bags: list[Copies] = field(default_factory=list)

    def __call__(self, bags: Bags, keys: Keys, seed: int, tree: int) -> Copies:
        drawn = bags.hashed(keys, seed, tree)
        self.bags.append(np.ones(len(keys), np.int64) if drawn is None else drawn)
        return self.bags[-1]


def exposed_by(forest: DiffPRFs, X: pd.DataFrame, y: pd.Series[Any]) -> Exposed:
    """Fit a forest and look for the records that it exposes.

    Parameters
    ----------
    forest : unfitted, with a domain. Only with ``stop="pure"`` can records be alone, and only with
        ``thresholds="data"`` can they hold a threshold.
    X, y : training records.
    """
    noted = _Noted()
    with drawing(noted):
        forest.fit(X, y)
    codes, labels = forest.domain_.encode(X), forest.domain_.encode_labels(y)
    pure, in_bags, holder = (np.zeros(len(X), bool) for _ in range(3))
    nodes = 0
    for tree, copies in zip(forest.trees_, noted.bags, strict=True):
        nodes += tree.n_nodes - tree.n_leaves
        for rows, at in _levels(tree, codes):
            if forest.stop == "pure":
                pure[rows] |= _alone(at, labels[rows], np.ones(len(rows)))
                in_bags[rows] |= _alone(at, labels[rows], copies[rows])
            if forest.thresholds == "data":
                holder[rows] |= _holds(tree, codes[rows], at, lows=forest.domain_.lows)
    return Exposed(pure, in_bags, holder, nodes)


def _levels(tree: Tree, codes: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Level by level the records that reach a split node, and the node of each."""
    rows, node = np.arange(len(codes)), np.zeros(len(codes), np.intp)
    while True:
        rows = rows[tree.splits.kind[node[rows]] != LEAF]
        if not len(rows):
            return
        at = node[rows]
        yield rows, at
        branch = tree.splits.branch(at, codes[rows, tree.splits.attribute[at]])
        node[rows] = tree.first_child[at] + branch


def _alone(at: Ints, labels: Ints, copies: Floats | Copies) -> Bools:
    """Whether the node would be pure without the record and all of its copies."""
    table = np.zeros((at.max() + 1, labels.max() + 1))
    np.add.at(table, (at, labels), copies)
    two_classes = (table > 0).sum(axis=1) == 2
    alone: Bools = (copies > 0) & (table[at, labels] == copies) & two_classes[at]
    return alone


def _holds(tree: Tree, codes: Floats, at: Ints, *, lows: Floats) -> Bools:
    """Whether the record is the only one at its node with the value that is published as threshold."""
    attribute, cut = tree.splits.attribute[at], tree.splits.cut[at]
    value = codes[np.arange(len(at)), attribute]
    holds = (tree.splits.kind[at] == THRESHOLD) & (value == cut) & (cut != lows[attribute])
    only: Bools = holds & (np.bincount(at, holds)[at] == 1)
    return only
