"""Drawings and figures of the chapter on DiffPRFs; none is wider than a telephone shows at 60 %."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from dpnb.arrays import Floats
from dpnb.trees.tree import Tree

from .common import (
    LEAK,
    LINES,
    SIZE,
    WIDTH,
    Look,
    arrow,
    box,
    draw_columns,
    draw_curve,
    draw_dots,
    draw_levels,
    epsilon_axis,
    label_ends,
    legend_below,
    look_of,
    panel_grid,
    say,
    sheet,
)
from .plots import UTILITIES, summarise

KINDS: dict[str, Look] = {
    "plain": {"facecolor": "white", "edgecolor": "0.3"},
    "noise": {"facecolor": "white", "edgecolor": "C0", "linewidth": 2.5},
    "leak": {"facecolor": "#fbe3d6", "edgecolor": LEAK, "linestyle": "--", "linewidth": 2.5},
    "unused": {"facecolor": "0.9", "edgecolor": "0.5", "linestyle": ":"},
}
ARROW: dict[str, Any] = {"color": "0.3", "linewidth": None, "shrinkB": 1, "zorder": 1}


def plot_two_trees(sets: Mapping[str, tuple[ArrayLike, ArrayLike]], trees: Sequence[Tree]) -> Figure:
    """Show neighbours with one attribute, and below each the tree that was fitted to it.

    Parameters
    ----------
    sets : name → values in 0..1 and classes, 0 or 1.
    trees : one a data set, a leaf or a split by a threshold into two leaves.
    """
    figure, axes = plt.subplots(1, len(sets), figsize=(WIDTH, 2.4))
    for axis, (name, (x, y)), tree in zip(axes, sets.items(), trees, strict=True):
        x, y = np.asarray(x, float), np.asarray(y)
        for c, marker in enumerate("o^"):
            axis.plot(x[y == c], 1.5 + 0.13 * c + 0 * x[y == c], marker, color=f"C{c}", markersize=8 + c)
        axis.plot([0, 1], [1.4, 1.4], color="0.3", linewidth=1)
        split = tree.n_nodes > 1
        words = f"x ≤ {tree.splits.cut[0]:.2f} ?" if split else "leaf"
        root = box(axis, (0.5, 0.95), words, KINDS["leak" if split else "plain"], pad=0.4)
        for at in (0.22, 0.78) if split else ():
            arrow(axis, root, box(axis, (at, 0.4), "leaf", KINDS["plain"], pad=0.4), **ARROW)
        say(axis, 0.5, 0, f"splits: {tree.n_nodes // 2}", fontsize=SIZE + 2)
        axis.set_title(name, fontsize=SIZE)
        axis.set(xlim=(-0.05, 1.05), ylim=(-0.1, 1.75))
        axis.axis("off")
    return figure


def plot_intervals(ends: ArrayLike, classes: Sequence[int], shares: Mapping[float, ArrayLike]) -> Figure:
    """Show the density of a threshold that the exponential mechanism draws, for several ε, above the records.

    Parameters
    ----------
    ends : (m + 1,) ends of the intervals; all but the first and the last are values of records.
    classes : (m - 1,) classes, 0 or 1, of these records.
    shares : ε → (m,) probabilities of the intervals.
    """
    x = np.asarray(ends, float)
    figure, axis = plt.subplots(figsize=(WIDTH, 3.2))
    for i, (epsilon, share) in enumerate(shares.items()):
        density = np.asarray(share, float) / np.diff(x)
        axis.stairs(density, x, color=f"C{i}", linestyle=LINES[i], linewidth=2, label=f"ε = {epsilon:g}")
    for c, marker in enumerate("o^"):
        own = x[1:-1][np.asarray(classes) == c]
        look: dict[str, Any] = {"color": "black", "fillstyle": ("none", "full")[c], "clip_on": False}
        axis.plot(own, 0 * own, marker, label=f"class {c}", **look)
    axis.set(xlabel="threshold", ylabel="density", xlim=(x[0], x[-1]), ylim=(0, None))
    legend_below(figure, 3)
    return figure


def plot_dataflow(*, repaired: bool = False) -> Figure:
    """Draw the way of a record through DiffPRFs: noise in thick boxes, the leak dashed, what nothing uses dotted."""
    figure, axis = sheet(4.6)
    boxes = _REPAIRED if repaired else _WRITTEN
    drawn = [box(axis, (x, y), text, KINDS[kind], pad=0.4) for text, (x, y, kind) in boxes.items()]
    for first, second in _WAYS_REPAIRED if repaired else _WAYS:
        arrow(axis, drawn[first], drawn[second], **ARROW)
    return figure


_WRITTEN = {
    "records": (0.5, 0.95, "plain"),
    "bag, drawn with replacement": (0.5, 0.79, "leak"),
    "size + Laplace\n(unused)": (0.15, 0.6, "unused"),
    "one class only?\nno noise": (0.55, 0.6, "leak"),
    "thresholds, then\nan attribute:\nexponential": (0.25, 0.32, "noise"),
    "leaf: class counts\n+ Laplace": (0.8, 0.32, "noise"),
    "children": (0.25, 0.1, "plain"),
    "forest: a vote": (0.8, 0.1, "plain"),
}
_WAYS = ((0, 1), (1, 2), (1, 3), (3, 4), (3, 5), (4, 6), (5, 7))
_REPAIRED = {
    "records": (0.5, 0.95, "plain"),
    "bag: Poisson(1) copies of each": (0.5, 0.79, "noise"),
    "depth reached?\npublic": (0.5, 0.6, "plain"),
    "attribute and split\ntogether:\nexponential": (0.25, 0.32, "noise"),
    "leaf: class counts\n+ geometric": (0.8, 0.32, "noise"),
    "children": (0.25, 0.1, "plain"),
    "forest: mean of shares": (0.75, 0.1, "plain"),
}
_WAYS_REPAIRED = ((0, 1), (1, 2), (2, 3), (2, 4), (3, 5), (4, 6))


def plot_shares(rows: Sequence[tuple[str, int, Sequence[str]]]) -> Figure:
    """Show how a budget is divided, a row a division; a part of each row is what the next row divides.

    Parameters
    ----------
    rows : what the row's budget is, the number of equal parts, and names of the first parts.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 0.95 * len(rows)))
    for row, (name, parts, words) in enumerate(rows):
        y = len(rows) - 1 - row
        for i in range(parts):
            unused = len(words) > i and "size" in words[i]
            look: dict[str, Any] = {
                "edgecolor": "white",
                "color": "0.8" if unused else f"C{row}",
                "alpha": 0.6,
            }
            axis.barh(y, 1 / parts, 0.42, left=i / parts, **look)
            if i < len(words):
                say(axis, (i + 0.5) / parts, y, words[i], fontsize=SIZE)
        paper: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axis.text(0, y + 0.27, name, va="bottom", fontsize=SIZE, bbox=paper)
        if row + 1 < len(rows):  # the last part is divided below
            for x, below in ((1 - 1 / parts, 0), (1, 1)):
                axis.plot([x, below], [y - 0.21, y - 0.79], color="0.5", linewidth=0.8, linestyle=":")
    axis.set(xlim=(0, 1), ylim=(-0.3, len(rows) - 0.35))
    axis.axis("off")
    return figure


LISTING_SHARES = (
    ("budget B = 1: 25 trees", 25, ()),
    ("a tree: six levels", 6, ("leaves", "4", "3", "2", "1", "level 0")),
    ("a level: two halves", 2, ("size: never used", "choices")),
    ("its choices: two thresholds, one attribute", 3, ("threshold", "threshold", "attribute")),
)
"""How the listing of DiffPRFs divides B = 1 among 25 trees of depth 5."""


def plot_splits_found(found: pd.DataFrame, *, runs: int) -> Figure:
    """Show how often forests split on two neighbours, with two standard errors, beside the exact probability.

    Parameters
    ----------
    found : index is the number of trees; columns ``on D``, ``on D′`` (runs with a split) and ``exact`` (on D′).
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.0))
    axis.plot(range(len(found)), found["exact"], "--", color="0.3", label="exact, on D′")
    for i, name in enumerate(("on D", "on D′")):
        share = found[name] / runs
        error = 2 * np.sqrt(share * (1 - share) / runs)
        axis.errorbar(
            range(len(found)),
            share,
            error,
            label=name,
            **look_of(i, linestyle="none", markersize=7),
            capsize=4,
        )
    axis.set_xticks(range(len(found)), [str(t) for t in found.index])
    axis.set(xlabel="trees", ylabel="runs with a split", ylim=(-0.05, 1.08))
    legend_below(figure, 3)
    return figure


def plot_copies(copies: ArrayLike, probability: Floats, distance: ArrayLike) -> Figure:
    """Show how often a bag holds so many copies of a record, and by how many records two bags then differ."""
    figure, axes = panel_grid(1, 2, (WIDTH / 2, 2.5))
    for axis, y, name, color in zip(
        axes[0], (probability, distance), ("probability", "records that differ"), ("C0", "C3"), strict=True
    ):
        axis.bar(np.asarray(copies), np.asarray(y, float), color=color, alpha=0.7)
        axis.set(xlabel="copies of the record", ylabel=name)
        axis.set_xticks(np.asarray(copies))
    return figure


def plot_bounds(bounds: Mapping[str, pd.DataFrame], *, claim: float) -> Figure:
    """Show between which bounds a loss lies, by depth, a panel a kind of release, beside the claim.

    Parameters
    ----------
    bounds : what is released → a row for each depth, with the columns ``least`` and ``most``.
    """
    figure, axes = panel_grid(1, len(bounds), (WIDTH / 2, 3.0), sharey=True)
    top = max(rows["most"].max() for rows in bounds.values())
    for axis, (name, rows) in zip(axes[0], bounds.items(), strict=True):
        gap = rows["most"] - rows["least"]
        axis.bar(rows.index, gap, 0.5, bottom=rows["least"], color="C0", alpha=0.35)
        axis.plot(rows.index, rows["most"], "v", color="C0", label="at most")
        axis.plot(rows.index, rows["least"], "^", color="C1", label="at least")
        axis.axhline(claim, color="black", linestyle=":", label="claim")
        axis.set(title=name, xlabel="depth", ylim=(0, 1.1 * top))
        axis.set_xticks(rows.index)
    axes[0, 0].set_ylabel("ε of the forest")
    legend_below(figure, 3)
    return figure


def plot_choice(table: pd.DataFrame) -> Figure:
    """How far a choice is from pure chance, against ε.

    Parameters
    ----------
    table : a row for each ε (the index), a column for each rule, total variation distances in 0..1.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 4.2))
    draw_columns(axis, table)
    axis.set(yscale="log", ylabel="distance from a random split")
    epsilon_axis(axis, list(table.index), "claimed ε")
    legend_below(figure, 1)
    return figure


def plot_repairs(table: pd.DataFrame, *, true_epsilon: Mapping[str, str]) -> Figure:
    """Accuracy and AUC after each step of a ladder of repairs, one below the other, a marker for each ε.

    Parameters
    ----------
    table : tidy results with the columns method (the step), epsilon, metric, value.
    true_epsilon : step → what the ledger says for a claim of 1, written beside the step.
    """
    steps = sorted(table["method"].unique(), reverse=True)
    figure, axes = panel_grid(2, 1, (WIDTH, 4.0), sharey=True)
    for axis, (metric, name) in zip(axes[:, 0], _METRICS.items(), strict=True):
        draw_dots(axis, summarise(table[table["metric"] == metric], ["method", "epsilon"]), steps, gap=0.15)
        axis.set_xlabel(name)
        axis.set_yticks(range(len(steps)), [f"{s}  [{true_epsilon[s]}]" for s in steps], fontsize=SIZE - 1)
    legend_below(figure, 2)
    return figure


_METRICS = {"accuracy": "test accuracy", "auc": "test AUC"}


def plot_depths(table: pd.DataFrame, *, floor: float) -> Figure:
    """Accuracy against ε, a line a depth, a panel for each method and score.

    Parameters
    ----------
    table : tidy results of one metric, finite ε, with method, utility, max_depth, epsilon, value.
    floor : accuracy of the majority class, drawn for comparison.
    """
    points = summarise(table, ["method", "utility", "max_depth", "epsilon"])
    methods, scores = points["method"].unique(), points["utility"].unique()
    every_other = sorted(points["epsilon"].unique())[::2]  # as many labels as a narrow panel has room for
    figure, axes = panel_grid(len(methods), len(scores), (WIDTH / 2, 2.8), sharex=True, sharey=True)
    for row, method in zip(axes, methods, strict=True):
        for axis, score in zip(row, scores, strict=True):
            panel = points[(points["method"] == method) & (points["utility"] == score)]
            for i, (depth, curve) in enumerate(panel.groupby("max_depth")):
                draw_curve(axis, curve, index=i, label=f"depth {depth}")
            axis.axhline(floor, color="black", linestyle=":", linewidth=1)
            axis.set_title(f"{method},\n{UTILITIES[score]}", fontsize=SIZE)
            epsilon_axis(axis, every_other, "claimed ε" if method == methods[-1] else "")
        row[0].set_ylabel("test accuracy;\ndotted: majority class")
    legend_below(figure, 3)
    return figure


def plot_beside(table: pd.DataFrame, *, levels: Mapping[str, Mapping[str, float]]) -> Figure:
    """Metrics against ε, a line a method, a panel for each metric, with levels that do not depend on ε.

    Parameters
    ----------
    table : tidy results with the columns metric, label, epsilon, value.
    levels : metric → name → value of horizontal lines, such as a forest without privacy.
    """
    figure, axes = panel_grid(len(levels), 1, (WIDTH, 3.0 + 1.4 / len(levels)), sharex=True)
    for axis, (metric, lines) in zip(axes[:, 0], levels.items(), strict=True):
        rows = table[table["metric"] == metric]
        curves = summarise(rows, ["label", "epsilon"])
        for i, label in enumerate(rows["label"].unique()):
            draw_curve(axis, curves[curves["label"] == label], index=i, label=label)
        draw_levels(axis, lines)
        axis.set_ylabel(_METRICS[metric])
        epsilon_axis(axis, rows["epsilon"].unique(), "")
    axes[-1, 0].set_xlabel("claimed ε")
    label_ends(figure)
    return figure
