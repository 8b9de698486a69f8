"""Drawings and figures of the chapter on the Pearson tree; none is wider than a telephone shows at 60 %."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from dpnb.arrays import Ints

from .common import (
    LEAK,
    SIZE,
    SMALLER,
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
    small,
)

Kinds = Mapping[str, tuple[float, float, str]]

# --- Records in blocks ----------------------------------------------------------------------------------------


def draw_blocks(
    columns: Mapping[str, ArrayLike],
    label: ArrayLike,
    *,
    m: int,
    score: Callable[[Ints, Ints], float],
) -> Figure:
    """Records cut in m blocks by position, without the last of them and with it, and each block's coefficients.

    Parameters
    ----------
    columns : name of an attribute → (n,) zeros and ones.
    label : (n,) classes, 0 or 1.
    m : number of blocks.
    score : attribute and class of a block's records → coefficient.
    """
    y = np.asarray(label)
    names = {**{name: np.asarray(x) for name, x in columns.items()}, "class": y}
    figure, axes = plt.subplots(2, 1, figsize=(WIDTH, 1.15 + 0.62 * 2 * (len(names) + 1) * 0.62))
    for axis, n, title in zip(axes, (len(y) - 1, len(y)), ("D", "D′: one record more"), strict=True):
        blocks = np.array_split(np.arange(n), m)
        _cells(axis, names, blocks, new=n - 1 if n == len(y) else None)
        for row, (name, x) in enumerate(columns.items()):
            scores = [score(np.asarray(x)[i], y[i]) for i in blocks]
            _coefficients(axis, blocks, scores, height=-1.0 - 0.85 * row, name=name)
        axis.set_xlim(-3.1, len(y) + 0.4 * m + 2.6)
        axis.set_ylim(-1.2 - 0.85 * len(columns), len(names) + 0.3)
        axis.set_title(title, fontsize="small", loc="left", pad=2)
        axis.axis("off")
    return figure


def _left(i: int, block: int) -> float:
    """Left edge of a record, with a gap between blocks."""
    return i + 0.4 * block


def _cells(axis: Axes, rows: Mapping[str, Any], blocks: Sequence[Ints], *, new: int | None) -> None:
    """A square a record and row: dark for 1, light for 0; a thick red border for the new record."""
    for height, (name, values) in zip(range(len(rows))[::-1], rows.items(), strict=True):
        axis.text(-0.4, height + 0.5, name, ha="right", va="center", fontsize="small")
        for block, members in enumerate(blocks):
            for i in members:
                look: dict[str, Any] = {"facecolor": "0.35" if values[i] else "0.93", "edgecolor": "white"}
                if i == new:
                    look |= {"edgecolor": LEAK, "linewidth": 2.5, "zorder": 3}
                left = _left(int(i), block)
                axis.add_patch(Rectangle((left, height), 1, 1, **look))
                how: dict[str, Any] = {"fontsize": SIZE, "zorder": 4}
                tone = "white" if values[i] else "black"
                say(axis, left + 0.5, height + 0.48, str(values[i]), color=tone, **how)


def _coefficients(
    axis: Axes, blocks: Sequence[Ints], scores: Sequence[float], *, height: float, name: str
) -> None:
    """The coefficient of an attribute below each block, and their mean at the end."""
    how: dict[str, Any] = {"va": "center", "fontsize": SIZE}
    axis.text(-0.4, height + 0.4, f"|φ| of {name}", ha="right", **how)
    for block, (members, score) in enumerate(zip(blocks, scores, strict=True)):
        middle = (_left(int(members[0]), block) + _left(int(members[-1]), block) + 1) / 2
        said = f"{score:.0f}" if score in (0.0, 1.0) else f"{score:.2f}"
        axis.text(middle, height + 0.4, said, ha="center", **how)
    end = _left(int(blocks[-1][-1]), len(blocks) - 1) + 1.3
    if len(blocks) > 1:
        axis.text(end, height + 0.4, f"mean {np.mean(scores):.2f}", ha="left", weight="bold", **how)
    elif max(scores) > 0:
        axis.text(end, height + 0.4, "▮" * round(20 * float(np.mean(scores))), ha="left", color="C0", **how)


# --- The dataflow of a node -----------------------------------------------------------------------------------

_SUBSET = "subset {}\ncorrelations,\nbest points,\nclass counts"
DATAFLOW: Kinds = {
    "records of a node": (0.5, 0.95, "records"),
    _SUBSET.format(1): (0.16, 0.72, "records"),
    _SUBSET.format("…"): (0.5, 0.72, "records"),
    _SUBSET.format("m"): (0.84, 0.72, "records"),
    "means of correlations and of points,\nsums of class counts": (0.5, 0.46, "records"),
    "step 5\nattribute\nof largest\nprobability": (0.115, 0.16, "exact"),
    "step 4\nits mean\nbest\npoint": (0.375, 0.16, "exact"),
    "step 6\none class\nonly?": (0.62, 0.16, "exact"),
    "step 6\ncounts of\na leaf +\nLaplace": (0.875, 0.16, "noise"),
}
"""Boxes of a node: text → centre and kind, ``"records"``, ``"exact"`` (leaves without noise) or ``"noise"``."""

_BORDERS: dict[str, Look] = {
    "records": {"facecolor": "white", "edgecolor": "black"},
    "noise": {"facecolor": "white", "edgecolor": "C0", "linewidth": 3},
    "exact": {"facecolor": "0.95", "edgecolor": LEAK, "linestyle": "--", "linewidth": 2},
}


def draw_dataflow(boxes: Kinds = DATAFLOW) -> Figure:
    """The dataflow of a node, from its records to what leaves it."""
    names = list(boxes)
    arrows = [(names[0], name) for name in names[1:4]] + [(name, names[4]) for name in names[1:4]]
    arrows += [(names[4], name) for name in names[5:]]
    figure, axis = sheet(4.6, y=(-0.05, 1))
    _join(axis, boxes, arrows, linewidth=1.3)
    axis.text(0.37, -0.02, "leave without noise", ha="center", color=LEAK, fontsize="small")
    axis.text(0.875, -0.02, "with noise", ha="center", color="C0", fontsize="small")
    return figure


def _join(
    axis: Axes, boxes: Kinds, arrows: Sequence[tuple[str, str]], *, linewidth: float | None = None
) -> None:
    """Boxes, and the arrows between them."""
    drawn = {
        words: box(axis, (x, y), words, _BORDERS[kind], pad=0.4) for words, (x, y, kind) in boxes.items()
    }
    for first, second in arrows:
        arrow(axis, drawn[first], drawn[second], linewidth=linewidth)


# --- Two exact releases ---------------------------------------------------------------------------------------


def draw_points(points: Mapping[str, ArrayLike]) -> Figure:
    """Best points of the subsets, a row a data set, and their mean as a line.

    Parameters
    ----------
    points : name of a data set → (m,) best points of its subsets.
    """
    figure, axes = plt.subplots(len(points), 1, figsize=(WIDTH, 1.15 * len(points) + 0.5), sharex=True)
    for axis, (name, found) in zip(axes, points.items(), strict=True):
        values = np.asarray(found, float)
        places, heights = np.unique(values, return_counts=True)
        for place, height in zip(places, heights, strict=True):
            axis.plot(np.full(height, place), np.arange(height), "o", color="C0", markersize=6)
        axis.axvline(values.mean(), color=LEAK, linestyle="--")
        axis.annotate(
            f"published: {values.mean():.4f}", (values.mean(), len(values) - 1.5), xytext=(8, 0),
            textcoords="offset points", fontsize="small", color=LEAK, va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
        axis.set(yticks=[], ylim=(-1, len(values)), xlim=(0.08, 0.22))
        axis.set_title(name, fontsize="small", loc="left", pad=2)
        small(axis)
    small(axes[-1], x="best point of a subset")
    return figure


def draw_stops(classes: Mapping[str, tuple[int, int]]) -> Figure:
    """A node below the root on two data sets: a leaf if it has one class, else split.

    Parameters
    ----------
    classes : name of a data set → records of class 0 and of class 1 in the node.
    """
    figure, axes = plt.subplots(1, len(classes), figsize=(WIDTH, 2.5))
    for axis, (name, (zeros, ones)) in zip(axes, classes.items(), strict=True):
        boxes: dict[str, tuple[float, float, str]] = {
            "c = 0?": (0.55, 0.9, "records"),
            f"{zeros} of class 0\n{ones} of class 1": (0.3, 0.5, "exact"),
            "c = 1": (0.85, 0.5, "records"),
        }
        arrows = [("c = 0?", text) for text in list(boxes)[1:]]
        if ones:
            boxes |= {"g = 0": (0.12, 0.1, "records"), "g = 1": (0.5, 0.1, "records")}
            arrows += [(list(boxes)[1], text) for text in ("g = 0", "g = 1")]
        _join(axis, boxes, arrows)
        if not ones:
            axis.text(0.3, 0.24, "a leaf", ha="center", fontsize="small", color=LEAK)
        axis.set_title(name, fontsize="small", pad=2)
        axis.set(xlim=(0, 1), ylim=(0, 1))
        axis.axis("off")
    return figure


# --- Curves ---------------------------------------------------------------------------------------------------


def plot_curves(
    table: pd.DataFrame, *, levels: Mapping[str, float] | None = None, height: float = 3.8, **axes: str
) -> Figure:
    """A line for each column of a table against its index, and horizontal lines.

    Parameters
    ----------
    levels : name → height of horizontal lines.
    axes : what Matplotlib sets of the axes: ``xlabel``, ``ylabel``, ``xscale``, ``yscale``.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, height))
    draw_columns(axis, table)
    draw_levels(axis, levels or {})
    axis.set(**axes)
    if axes.get("xscale") == "log" and len(table) <= 8:
        axis.set_xticks(
            list(table.index), [f"{n:,g}" if n < 1e4 else f"$10^{len(str(n)) - 1}$" for n in table.index]
        )
        axis.minorticks_off()
    axis.tick_params(labelsize=SMALLER)
    legend_below(figure, 2)
    return figure


def plot_sets(points: pd.DataFrame, *, levels: Mapping[str, Mapping[str, float]]) -> Figure:
    """Accuracy against ε, a line for each method, a panel for each data set.

    Parameters
    ----------
    points : columns dataset, label, epsilon, mean, error.
    levels : data set → name → height of horizontal lines.
    """
    figure, axes = panel_grid(len(levels), 1, (WIDTH, 2.5))
    for axis, (dataset, lines) in zip(axes[:, 0], levels.items(), strict=True):
        panel = points[points["dataset"] == dataset]
        for i, label in enumerate(points["label"].unique()):
            draw_curve(axis, panel[panel["label"] == label], index=i, label=label)
        draw_levels(axis, lines)
        epsilon_axis(axis, panel["epsilon"].unique(), "")
        small(axis, title=dataset, x="claimed ε", y="test accuracy", pad=3)
    label_ends(figure)
    return figure


def plot_price(points: pd.DataFrame, *, booked: Mapping[str, str]) -> Figure:
    """Accuracy after each step of a ladder, a panel for each data set, a marker for each ε.

    Parameters
    ----------
    points : columns dataset, method (the step), epsilon, mean, error.
    booked : step → the ledger's ε for a claim of 1.
    """
    sets, steps = list(points["dataset"].unique()), list(booked)[::-1]
    figure, axes = panel_grid(1, len(sets), (WIDTH / len(sets), 4.8), sharey=True)
    for axis, dataset in zip(axes[0], sets, strict=True):
        draw_dots(axis, points[points["dataset"] == dataset], steps, gap=0.2)
        small(axis, title=dataset, x="test accuracy", pad=3)
    names = [f"{step[3:]}\nε {booked[step]}" for step in steps]
    axes[0, 0].set_yticks(range(len(steps)), names, fontsize=SMALLER)
    legend_below(figure, 2)
    return figure


def plot_shards(points: pd.DataFrame, *, metrics: Mapping[str, str]) -> Figure:
    """Metrics against the number of shards, a line for each way to divide, a row for each data set.

    Parameters
    ----------
    points : columns dataset, label, shards, and the metrics, sorted by shards; ``mean`` has a band of ``error``.
    metrics : column → label of the vertical axis.
    """
    sets, shards = list(points["dataset"].unique()), sorted(points["shards"].unique())
    figure, axes = panel_grid(len(sets), len(metrics), (WIDTH / len(metrics), 1.9), sharex=True)
    for row, dataset in zip(axes, sets, strict=True):
        for axis, (metric, name) in zip(row, metrics.items(), strict=True):
            panel = points[points["dataset"] == dataset]
            for i, label in enumerate(panel["label"].unique()):
                line = panel[panel["label"] == label]
                axis.plot(line["shards"], line[metric], label=label, **look_of(i))
                if metric == "mean":
                    ends = line["mean"] - line["error"], line["mean"] + line["error"]
                    axis.fill_between(line["shards"], *ends, color=f"C{i}", alpha=0.2)
            axis.set(xscale="log")
            axis.set_xticks(shards, [str(s) if s != 8 else "" for s in shards])
            axis.minorticks_off()
            small(axis, title=dataset, x="shards m" if dataset == sets[-1] else "", y=name, pad=3)
    legend_below(figure, 2)
    return figure
