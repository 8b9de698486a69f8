"""Drawings of chapter 2 show what the fits say, and pass the check of figures."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from dpnb import Continuous, Domain
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.trees.tree import Tree
from private_trees.drawings import diffprfs as drawings
from private_trees.site.figures import faults

X = np.linspace(0.1, 0.9, 9)
SETS = {"D": (X, [0] * 9), "D′": (np.append(X, 0.5), [0] * 9 + [1])}


@pytest.fixture(autouse=True)
def _no_window() -> None:
    plt.switch_backend("Agg")
    plt.close("all")


def trees() -> list[Tree]:
    line = Domain((Continuous("x", 0, 1),), (0, 1))
    one = DiffPRFs.as_written(domain=line, epsilon=0.1, n_trees=1, max_depth=1, random_state=2016)
    return [one.fit(pd.DataFrame({"x": x}), y).trees_[0] for x, y in SETS.values()]


def words(figure: Figure) -> list[list[str]]:
    return [[text.get_text() for text in axis.texts] for axis in figure.axes]


def test_the_trees_of_the_opener_are_those_that_were_fitted() -> None:
    grown = trees()
    left, right = words(drawings.plot_two_trees(SETS, grown))
    assert "splits: 0" in left
    assert "splits: 1" in right
    assert f"x ≤ {grown[1].splits.cut[0]:.2f} ?" in right
    left, right = words(drawings.plot_two_trees(SETS, grown[::-1]))  # broken twin
    assert "splits: 1" in left


@pytest.mark.parametrize("repaired", [False, True])
def test_only_the_text_has_leaks(repaired: bool) -> None:
    (axis,) = drawings.plot_dataflow(repaired=repaired).axes
    boxes = [text.get_bbox_patch() for text in axis.texts]
    dashed = [box for box in boxes if box is not None and box.get_linestyle() == "--"]
    assert len(dashed) == (0 if repaired else 2)


def test_bars_divide_the_whole_into_equal_parts() -> None:
    (axis,) = drawings.plot_shares([("all", 4, ()), ("a part", 2, ("size", "rest"))]).axes
    widths = [bar.get_width() for container in axis.containers for bar in container]
    assert widths == [0.25] * 4 + [0.5] * 2


def test_figures_with_data_pass_the_check_of_figures() -> None:
    seen = pd.DataFrame({"on D": [0, 0], "on D′": [137, 198], "exact": [0.65, 0.99]}, index=[1, 5])
    bounds = {"alone": pd.DataFrame({"least": [0.4, 0.3], "most": [0.6, 0.5]})}
    apart = pd.DataFrame({"gain": [1e-6, 1e-5], "max": [1e-3, 1e-2]}, index=[0.1, 1.0])
    for figure in (
        drawings.plot_splits_found(seen, runs=200),
        drawings.plot_bounds(bounds, claim=1),
        drawings.plot_choice(apart),
        drawings.plot_copies([0, 1], np.array([0.4, 0.6]), [1, 1]),
        drawings.plot_intervals([0, 0.5, 1], [0], {1: [0.5, 0.5], 2: [0.4, 0.6]}),
    ):
        assert faults(figure) == []
