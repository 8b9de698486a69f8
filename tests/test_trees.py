"""Array trees: routing, numbering, text."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.transforms import Bbox

from dpnb import Categorical, Continuous, Domain
from dpnb.privacy.curator import Curator
from dpnb.privacy.ledger import Ledger, TreeScope
from dpnb.records.memory import Records
from dpnb.records.splits import LEAF, MULTIWAY, ONE_VS_REST, THRESHOLD, Splits
from dpnb.trees.growth import TreeBuilder, noisy_counts, ranges_below
from dpnb.trees.tree import Tree, leaf_votes

DOMAIN = Domain((Continuous("x", 0, 1), Categorical("c", ("a", "b", "d"))), ("n", "y"))


CODES = np.array([[0.5, 1], [0.2, 0], [0.2, 2], [0.51, 0], [0.9, 1], [0.9, 2], [1.0, 2]])


def builder(scope: TreeScope, *, depth_first: bool = False) -> TreeBuilder:
    """Seven records at a root, of the classes n, y, n, y, ..."""
    X = pd.DataFrame({"x": CODES[:, 0], "c": [DOMAIN["c"].values[int(c)] for c in CODES[:, 1]]})
    records = Records(X, pd.Series(["n", "y"] * 3 + ["n"]), domain=DOMAIN)
    return TreeBuilder(DOMAIN, scope, records.cohort(), depth_first=depth_first)


def grown() -> Tree:
    """Root x ≤ .5 | x > .5, then c = b | rest on the left and a multiway split on the right."""
    ledger = Ledger(claimed=1.0)
    with ledger.tree("tree") as scope:
        building = builder(scope)
        for depth in building.levels():
            if depth == 0:
                parent = building.split(Splits(np.array([THRESHOLD]), np.array([0]), np.array([0.5])))
                np.testing.assert_array_equal(parent, [0, 0])
            elif depth == 1:
                np.testing.assert_array_equal(building.class_counts(), [[2, 1], [2, 2]])
                kinds = Splits(np.array([ONE_VS_REST, MULTIWAY]), np.array([1, 1]), np.array([1.0, np.nan]))
                np.testing.assert_array_equal(building.split(kinds), [0, 0, 1, 1, 1])
            else:
                counts = [[1, 0], [1, 1], [0, 1], [1, 0], [1, 1]]
                np.testing.assert_array_equal(building.class_counts(), counts)
                assert not len(building.close(np.ones(5, bool), np.arange(10.0).reshape(5, 2)))
        assert len(scope.path_costs()[0]) == 8
    tree = building.finish()
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
    with ledger.tree("tree") as scope, pytest.raises(RuntimeError, match="1 nodes have no split"):
        builder(scope).finish()


def test_a_single_leaf() -> None:
    ledger = Ledger(claimed=1.0)
    with ledger.tree("tree") as scope:
        building = builder(scope)
        for _ in building.levels():
            building.close(np.array([True]), np.array([[3.0, 4.0]]))
    tree = building.finish()
    assert tree.export_text(DOMAIN) == "n: 3, y: 4"
    assert tree.splits.kind[0] == LEAF


def halved(*, least: int, depth_first: bool) -> tuple[Tree, list[list[int]]]:
    """Cut x at 0.5, then at 0.9; nodes of fewer than ``least`` records are leaves. Also the sizes in order."""
    ledger, seen = Ledger(claimed=1.0), []
    with ledger.tree("tree") as scope:
        building = builder(scope, depth_first=depth_first)
        for depth in building.levels():
            counts = building.class_counts()
            seen.append(counts.sum(axis=1).astype(int).tolist())
            leaf = (counts.sum(axis=1) < least) | (depth == 2)
            n = len(building.close(leaf, counts[leaf]))
            if n:
                cut = np.full(n, (0.5, 0.9)[depth])
                building.split(Splits(np.full(n, THRESHOLD), np.zeros(n, np.intp), cut))
    return building.finish(), seen


def test_depth_first_grows_the_same_tree_in_another_order() -> None:
    for least, levels, alone in (
        (3, [[7], [3, 4], [3, 0, 3, 1]], [[7], [3], [3], [0], [4], [3], [1]]),
        (4, [[7], [3, 4], [3, 1]], [[7], [3], [4], [3], [1]]),
    ):
        (tree, by_level), (other, by_node) = (halved(least=least, depth_first=d) for d in (False, True))
        assert (by_level, by_node) == (levels, alone)
        assert other.export_text(DOMAIN) == tree.export_text(DOMAIN)
        np.testing.assert_array_equal(other.predict(CODES), tree.predict(CODES))
        np.testing.assert_array_equal(tree.predict(CODES).sum(axis=1) >= 1, True)


def test_ranges_of_children() -> None:
    splits = Splits(np.array([MULTIWAY, THRESHOLD]), np.array([1, 0]), np.array([np.nan, 0.3]))
    low, high = ranges_below(splits, np.array([0, 0, 0, 1, 1]), low=np.zeros((2, 2)), high=np.ones((2, 2)))
    np.testing.assert_array_equal(low, [[0, 0]] * 4 + [[0.3, 0]])
    np.testing.assert_array_equal(high, [[1, 1]] * 3 + [[0.3, 1], [1, 1]])


def drawn(tree: Tree, max_depth: int) -> list[str]:
    """Words in the drawing of a tree."""
    figure, axis = plt.subplots()
    tree.plot(DOMAIN, ax=axis, max_depth=max_depth)
    words = [text.get_text() for text in axis.texts]
    plt.close(figure)
    return words


def test_a_drawing_says_how_much_it_leaves_out() -> None:
    assert {"2 leaves", "3 leaves"} <= set(drawn(grown(), 1))
    assert not any("leaves" in word or word == "…" for word in drawn(grown(), 2))  # nothing is left out


def tall(levels: int, branches: int) -> tuple[Tree, Domain]:
    """A full tree of one-record leaves with long words, and its domain: two branches a node, or one for each value."""
    names = [f"value {chr(97 + i)} of many" for i in range(max(branches, 3))]
    wide = Domain(
        [Categorical(f"attribute {k}", names) for k in range(levels)], [f"class {c}" for c in range(5)]
    )
    kinds = np.concatenate(
        [np.full(branches**k, ONE_VS_REST if branches == 2 else MULTIWAY) for k in range(levels)]
        + [np.full(branches**levels, LEAF)]
    )
    depth = np.repeat(np.arange(levels + 1), [branches**k for k in range(levels + 1)])
    first = np.where(kinds == LEAF, -1, 1 + branches * np.arange(len(kinds)))
    splits = Splits(kinds, np.minimum(depth, levels - 1), np.where(kinds == ONE_VS_REST, 1.0, np.nan))
    return Tree(splits, first, depth, np.full((len(kinds), 5), -12345.678)), wide


@pytest.mark.parametrize(("levels", "branches"), [(1, 2), (2, 2), (4, 2), (1, 9), (2, 4), (1, 20)])
@pytest.mark.parametrize("layout", ["constrained", None])
def test_boxes_of_a_drawing_neither_touch_nor_leave_the_canvas(
    levels: int, branches: int, layout: Any
) -> None:
    tree, domain = tall(levels, branches)
    tree.check(domain)
    figure, axis = plt.subplots(figsize=(3, 2), layout=layout)
    tree.plot(domain, ax=axis, max_depth=4)
    figure.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in axis.texts]
    assert all(figure.bbox.containsx(x) for box in boxes for x in (box.x0, box.x1))
    assert all(figure.bbox.containsy(y) for box in boxes for y in (box.y0, box.y1))
    assert not [pair for pair in combinations(boxes, 2) if Bbox.intersection(*pair)]
    assert len(boxes) == (1 if branches > 16 else 2 * len(tree.depth) - 1)  # and an answer on each edge
    plt.close(figure)


def test_counts_below_zero_are_no_votes() -> None:
    votes = leaf_votes(np.array([[-3.0, 1.0], [3.0, 1.0], [-2.0, -5.0]]), vote="probability")
    assert votes.tolist() == [[0.0, 1.0], [0.75, 0.25], [0.5, 0.5]]


@pytest.mark.parametrize(("noise", "whole"), [("geometric", True), ("laplace", False)])
def test_noisy_counts_are_whole_numbers(noise: str, whole: bool) -> None:
    curator = Curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0))
    counts, nodes = np.arange(20.0).reshape(10, 2), np.arange(10)
    noisy = noisy_counts(curator, counts, nodes=nodes, epsilon=0.5, what="counts", noise=noise)
    assert (noisy == np.rint(noisy)).all() == whole


def test_a_threshold_that_is_no_number_makes_no_tree() -> None:
    tree = grown()
    tree.check(DOMAIN)
    tree.splits.cut[0] = np.nan
    with pytest.raises(ValueError, match="a split that does not fit the domain, at node 0"):
        tree.check(DOMAIN)
