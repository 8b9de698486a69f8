"""Array trees: routing, numbering, text."""

from __future__ import annotations

import numpy as np
import pytest

from dpnb import Categorical, Continuous, Domain
from dpnb.ledger import Ledger
from dpnb.splits import LEAF, MULTIWAY, ONE_VS_REST, THRESHOLD, Splits, no_splits
from dpnb.trees import Tree, TreeBuilder

DOMAIN = Domain((Continuous("x", 0, 1), Categorical("c", ("a", "b", "d"))), ("n", "y"))


def grown() -> Tree:
    """Root x ≤ .5 | x > .5, then c = b | rest on the left and a multiway split on the right."""
    ledger = Ledger(claimed=1.0)
    with ledger.tree("tree") as scope:
        builder = TreeBuilder(DOMAIN, scope)
        empty = np.full((1, 2), np.nan)
        first = builder.grow(Splits(np.array([THRESHOLD]), np.array([0]), np.array([0.5])), empty)
        np.testing.assert_array_equal(first, [0])
        kinds = Splits(np.array([ONE_VS_REST, MULTIWAY]), np.array([1, 1]), np.array([1.0, np.nan]))
        first = builder.grow(kinds, np.full((2, 2), np.nan))
        np.testing.assert_array_equal(first, [0, 2])
        builder.grow(no_splits(5), np.arange(10.0).reshape(5, 2))
        assert len(scope.path_costs()[0]) == 8
    tree = builder.finish()
    assert len(ledger.leaf_costs()) == tree.n_leaves
    return tree


def test_routing() -> None:
    tree = grown()
    codes = np.array([[0.5, 1], [0.2, 0], [0.2, 2], [0.51, 0], [0.9, 1], [0.9, 2], [7.0, 2]])
    np.testing.assert_array_equal(tree.apply(codes), [3, 4, 4, 5, 6, 7, 7])
    np.testing.assert_array_equal(tree.predict(codes)[0], [0, 1])
    np.testing.assert_array_equal(tree.depth, [0, 1, 1, 2, 2, 2, 2, 2])
    assert (tree.n_nodes, tree.n_leaves) == (8, 5)
    assert len(tree.apply(codes[:0])) == 0


def test_text() -> None:
    text = grown().export_text(DOMAIN).splitlines()
    assert text[0] == "|-- x ≤ 0.5"
    assert text[1] == "|   |-- c = b → n: 0, y: 1"
    assert text[2] == "|   |-- c ≠ b → n: 2, y: 3"
    assert text[-1] == "|   |-- c = d → n: 8, y: 9"
    assert len(text) == 7


def test_an_unfinished_tree_is_refused() -> None:
    ledger = Ledger(claimed=1.0)
    with ledger.tree("tree") as scope:
        builder = TreeBuilder(DOMAIN, scope)
        with pytest.raises(RuntimeError, match="1 nodes have no split"):
            builder.finish()


def test_a_single_leaf() -> None:
    ledger = Ledger(claimed=1.0)
    with ledger.tree("tree") as scope:
        builder = TreeBuilder(DOMAIN, scope)
        builder.grow(no_splits(1), np.array([[3.0, 4.0]]))
    tree = builder.finish()
    assert tree.export_text(DOMAIN) == "n: 3, y: 4"
    assert tree.splits.kind[0] == LEAF
