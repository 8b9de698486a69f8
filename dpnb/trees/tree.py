"""Trees as arrays: routed, printed and drawn without recursion."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Floats, Ints
from ..domain import Categorical, Continuous, Domain
from ..records.splits import BINNED, LEAF, MULTIWAY, ONE_VS_REST, THRESHOLD, Splits
from .picture import draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Tree:
    """A decision tree. Nodes are numbered from the root 0, by level unless the algorithm goes in another order."""

    splits: Splits  # split of every node, `LEAF` at leaves
    first_child: Ints  # (nodes,) number of the first child; children are consecutive. -1 at leaves.
    depth: Ints  # (nodes,) number of splits above the node
    value: Floats  # (nodes, classes) released counts or probabilities by which a leaf predicts; NaN elsewhere

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.first_child)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.sum(self.splits.kind == LEAF))

    def apply(self, codes: Floats) -> Ints:
        """Leaf of every record.

        Parameters
        ----------
        codes : (n, attributes) encoded records.

        Returns
        -------
        (n,) node numbers.
        """
        node = np.zeros(len(codes), np.intp)
        moving = np.arange(len(codes))
        while True:
            moving = moving[self.splits.kind[node[moving]] != LEAF]
            if not len(moving):
                return node
            at = node[moving]
            values = codes[moving, self.splits.attribute[at]]
            node[moving] = self.first_child[at] + self.splits.branch(at, values)

    def predict(self, codes: Floats) -> Floats:
        """Leaf values of every record, (n, classes)."""
        result: Floats = self.value[self.apply(codes)]
        return result

    def check(self, domain: Domain) -> None:
        """Raise ValueError unless the arrays make a tree over a domain, in which no record can get lost."""
        (kind, attribute, cut), n = self.splits, self.n_nodes
        arrays = {
            "kind": kind,
            "attribute": attribute,
            "cut": cut[..., :1].reshape(-1) if cut.ndim == 2 else cut,
        }
        arrays |= {"first_child": self.first_child, "depth": self.depth}
        for name, array in arrays.items():
            if array.shape != (n,):
                raise ValueError(f"a tree of {n} nodes has {name} of shape {array.shape}")
        if self.value.shape != (n, domain.n_classes):
            raise ValueError(
                f"a tree of {n} nodes and {domain.n_classes} classes has values of {self.value.shape}"
            )
        self._check_splits(domain)
        self._check_order(domain)
        if not np.isfinite(self.value[kind == LEAF]).all():
            raise ValueError("a tree has a leaf without finite values")

    def _check_splits(self, domain: Domain) -> None:
        """Raise ValueError unless every split is one of an attribute's."""
        kind, attribute, cut = self.splits
        inner, codes = kind != LEAF, cut[..., 0] if cut.ndim == 2 else cut
        known = np.isin(kind, [LEAF, THRESHOLD, ONE_VS_REST, MULTIWAY, BINNED])
        if not (known.all() and (attribute[inner] >= 0).all() and (attribute < domain.n_attributes).all()):
            raise ValueError("a tree has splits of no known kind or attribute")
        numeric, levels = domain.continuous[attribute], domain.cardinalities[attribute]
        named = (kind == ONE_VS_REST) | (kind == MULTIWAY)
        fits = ~inner | np.where(named, ~numeric, (kind == THRESHOLD) | numeric)
        fits &= ~((kind == ONE_VS_REST) | ((kind == THRESHOLD) & ~numeric)) | (
            (codes >= 0) & (codes < levels)
        )
        fits &= ~np.isin(kind, [THRESHOLD, BINNED]) | ~np.isnan(cut).reshape(len(kind), -1).any(axis=1)
        if not fits.all():
            raise ValueError(
                f"a tree has a split that does not fit the domain, at node {int(np.argmin(fits))}"
            )

    def _check_order(self, domain: Domain) -> None:
        """Raise ValueError unless all nodes but the root are children, and come after their parents."""
        n, branches = self.n_nodes, self.splits.n_branches(domain.cardinalities)
        parents = np.repeat(np.arange(n), branches)
        within = np.arange(len(parents)) - np.repeat(np.cumsum(branches) - branches, branches)
        children = self.first_child[parents] + within
        if n == 0 or not np.array_equal(np.sort(children), np.arange(1, n)) or (children <= parents).any():
            raise ValueError("a tree has nodes that are no child, or children that come before their parent")
        if self.depth[0] != 0 or (self.depth[children] != self.depth[parents] + 1).any():
            raise ValueError("a tree has nodes whose depth is not one more than their parent's")

    def children(self, node: int, domain: Domain) -> list[tuple[str, int]]:
        """Condition and number of each child of a node."""
        kind, first = self.splits.kind[node], int(self.first_child[node])
        if kind == LEAF:
            return []
        attribute = domain.attributes[self.splits.attribute[node]]
        cut = self.splits.cut[node]
        if kind == BINNED:
            assert isinstance(attribute, Continuous)
            ends = [attribute.shown(edge) for edge in cut]
            tests = [f"{low} < {attribute.name} ≤ {high}" for low, high in pairwise(ends)]
            tests = [attribute.test(cut[0], holds=True), *tests, attribute.test(cut[-1], holds=False)]
            return [(test, first + i) for i, test in enumerate(tests)]
        if kind == THRESHOLD and isinstance(attribute, Continuous):
            return [(attribute.test(float(cut), holds=holds), first + 1 - holds) for holds in (True, False)]
        assert isinstance(attribute, Categorical)
        if kind == THRESHOLD:
            last = attribute.levels[int(cut)]  # the cut lies between two codes
            return [(f"{attribute.name} up to {last}", first), (f"{attribute.name} after {last}", first + 1)]
        if kind == MULTIWAY:
            return [(f"{attribute.name} = {v}", first + i) for i, v in enumerate(attribute.levels)]
        value = attribute.levels[int(cut)]
        return [(f"{attribute.name} = {value}", first), (f"{attribute.name} ≠ {value}", first + 1)]

    def describe(self, node: int, domain: Domain) -> str:
        """A leaf's released values, by class."""
        return ", ".join(f"{c}: {v:.4g}" for c, v in zip(domain.classes, self.value[node], strict=True))

    def export_text(self, domain: Domain, *, max_depth: int = 10) -> str:
        """Draw the tree in text, with one condition on each line.

        Parameters
        ----------
        domain : domain on which the tree was grown, for names.
        max_depth : depth below which levels are cut off and counted.
        """
        lines: list[str] = []
        pending = [(0, "")]
        while pending:
            node, condition = pending.pop()
            indent = "|   " * max(int(self.depth[node]) - 1, 0)
            leaf = self.splits.kind[node] == LEAF
            text = (
                f"{condition}{' → ' if condition else ''}{self.describe(node, domain)}" if leaf else condition
            )
            if not leaf and self.depth[node] >= max_depth:
                text, leaf = f"{condition} → … (deeper splits not shown)", True
            if text:
                lines.append(f"{indent}|-- {text}" if condition else text)
            if not leaf:
                pending += [(child, test) for test, child in reversed(self.children(node, domain))]
        return "\n".join(lines)

    def leaves_below(self, domain: Domain) -> Ints:
        """Number of leaves that each node's records can reach."""
        leaves: Ints = (self.splits.kind == LEAF).astype(np.intp)
        branches = self.splits.n_branches(domain.cardinalities)
        for node in np.flatnonzero(branches)[::-1]:  # children come after their parents
            leaves[node] = leaves[self.first_child[node] :][: branches[node]].sum()
        return leaves

    def plot(self, domain: Domain, *, ax: Axes, max_depth: int = 3) -> None:
        """Draw the upper levels of the tree into ``ax``: tests and leaf values in boxes, answers on the edges.

        The figure grows where the boxes need more room. Deeper levels are counted, and so is what is below a node
        whose branches would make more than 16 boxes in a row.
        """
        draw(self, domain, ax=ax, max_depth=max_depth)


def leaf_votes(counts: Floats, *, vote: str) -> Floats:
    """Turn released leaf counts into votes that sum to one.

    Parameters
    ----------
    counts : (n, classes) noisy counts.
    vote : ``"probability"`` for shares of the counts, where negative counts are taken as 0 and empty leaves give
        uniform votes, or ``"majority"`` for one vote for the largest noisy count.
    """
    classes = counts.shape[1]
    if vote == "majority":
        one_vote: Floats = np.eye(classes)[counts.argmax(axis=1)]
        return one_vote
    positive = np.maximum(counts, 0.0)
    total = positive.sum(axis=1, keepdims=True)
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1 / classes)
