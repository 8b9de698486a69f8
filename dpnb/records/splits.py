"""Splits of tree nodes, with the one rule by which a record finds its branch in training and prediction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints

LEAF, THRESHOLD, ONE_VS_REST, MULTIWAY, BINNED = -1, 0, 1, 2, 3


class Splits(NamedTuple):
    """Splits of several nodes."""

    # (nodes,) `LEAF`, `THRESHOLD` (value ≤ cut | value > cut), `ONE_VS_REST` (category = cut | any other),
    # `MULTIWAY` (a branch for each category) or `BINNED` (a branch for each interval, upper ends included).
    kind: Ints
    attribute: Ints  # (nodes,) attribute position; -1 for leaves
    # (nodes,) threshold or category code, NaN where there is none; in trees with `BINNED` splits (nodes,
    # edges) increasing edges between the intervals.
    cut: Floats

    def n_branches(self, cardinalities: Ints) -> Ints:
        """Number of children of each node."""
        edges = np.where(self.attribute >= 0, cardinalities[self.attribute], 0)
        if self.cut.ndim == 2:
            edges = np.where(self.kind == BINNED, self.cut.shape[1] + 1, edges)
        several = (self.kind == MULTIWAY) | (self.kind == BINNED)
        return np.where(self.kind == LEAF, 0, np.where(several, edges, 2))

    def branch(self, node: Ints, values: Floats) -> Ints:
        """Branch that each record takes.

        Parameters
        ----------
        node : (n,) the record's node, as a position in these arrays.
        values : (n,) the record's value of that node's attribute, a category as its code.
        """
        cut = self.cut.take(node, axis=0)
        if cut.ndim == 2:
            kind = self.kind.take(node)
            codes = np.where(kind == BINNED, 0.0, values).astype(np.intp)
            return np.where(kind == BINNED, (values[:, None] > cut).sum(axis=1), codes)
        binary = values > cut
        if (nominal := self.kind != THRESHOLD).any():
            binary |= nominal.take(node) & (values != cut)
        if MULTIWAY not in self.kind:
            return binary.astype(np.intp)
        kind = self.kind.take(node)
        codes = np.where(kind == MULTIWAY, values, 0.0).astype(np.intp)
        return np.where(kind == MULTIWAY, codes, binary)


def no_splits(n: int, *, edges: int | None = None) -> Splits:
    """Splits that make each of ``n`` nodes a leaf, with room for the given number of edges at each node."""
    shape = n if edges is None else (n, edges)
    return Splits(np.full(n, LEAF), np.full(n, -1), np.full(shape, np.nan))
