"""Drawings and figures of the chapter on eDPRF; none is wider than a telephone shows at 60 %."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle, Wedge

from dpnb.arrays import Floats

from .common import (
    HATCHES,
    INK,
    LEAK,
    MARKERS,
    SIZE,
    SMALLER,
    WIDTH,
    Look,
    arrow,
    box,
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


def plot_choices(names: Sequence[str], laws: Mapping[str, Floats]) -> Figure:
    """Probability of every candidate, a group of bars a candidate, a bar a mechanism.

    Parameters
    ----------
    names : of the candidates, the best one first.
    laws : mechanism → (candidates,) probabilities.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.3))
    at, width = np.arange(len(names)), 0.8 / len(laws)
    for i, (name, law) in enumerate(laws.items()):
        bars = axis.bar(at + (i - (len(laws) - 1) / 2) * width, law, width, color=f"C{i}", hatch=HATCHES[i])
        bars.set_label(name)
        axis.bar_label(bars, [f"{q:.3f}" for q in law], fontsize=SMALLER, padding=2)
    axis.set_xticks(at, names, fontsize="small")
    axis.set(ylabel="probability of being named", ylim=(0, 1.12 * max(law.max() for law in laws.values())))
    axis.yaxis.label.set_fontsize("small")
    axis.grid(visible=False, axis="x")
    legend_below(figure, 1)
    return figure


def draw_orders(heads: Sequence[float], names: Sequence[str]) -> Figure:
    """All orders of some coins: a disc is filled by its probability of heads; grey ones are never flipped.

    Parameters
    ----------
    heads : probability of heads of every candidate's coin; that of the best one is 1.
    names : one letter a candidate.
    """
    orders = list(permutations(range(len(heads))))
    figure, axis = _canvas((2.4 * len(heads) + 1.4, 1.15 * -(-len(orders) // 2) + 0.1), WIDTH)
    for k, order in enumerate(orders):
        x, y = (k % 2) * (1.2 * len(heads) + 1.0) + 0.6, -1.15 * (k // 2)
        reached = True
        for j, q in enumerate(order):
            centre = x + 1.2 * j, y
            _coin(axis, centre, heads[q], names[q], live=reached)
            if j:
                arrow(
                    axis, (centre[0] - 0.78, y), (centre[0] - 0.42, y),
                    color=INK if reached else "0.55", linewidth=1.2, shrinkB=0,
                )  # fmt: skip
            reached = reached and heads[q] < 1
    axis.set(xlim=(0, 2.4 * len(heads) + 1.2), ylim=(-1.15 * (-(-len(orders) // 2) - 1) - 0.6, 0.6))
    return figure


def _canvas(size: tuple[float, float], width: float) -> tuple[Figure, Axes]:
    """Figure without axes whose units are as wide as they are high."""
    figure, axis = sheet(width * size[1] / size[0], width=width, x=None, y=None)
    axis.set_aspect("equal")
    return figure, axis


def _coin(axis: Axes, centre: tuple[float, float], heads: float, name: str, *, live: bool) -> None:
    axis.add_patch(Circle(centre, 0.4, facecolor="white" if live else "0.93", edgecolor="0.4"))
    if live:
        wedge = Wedge(centre, 0.4, 90 - 360 * heads, 90, facecolor="C0", edgecolor="none", alpha=0.45)
        axis.add_patch(wedge)
    say(axis, *centre, name, fontsize=11, color="black" if live else "0.45")


def draw_dataflow() -> Figure:
    """What eDPRF does with the records as written: noisy steps with a thick border, leaks red and dashed."""
    figure, axis = sheet(5.6)
    records: Look = {"facecolor": "white", "edgecolor": "black"}
    noisy: Look = {"facecolor": "white", "edgecolor": "C0", "linewidth": 3}
    leak: Look = {"facecolor": "0.96", "edgecolor": LEAK, "linestyle": "--", "linewidth": 2}
    boxes = {
        "records": (0.3, 0.95, "records", records),
        "parts": (0.3, 0.80, "t parts of equal size,\nwithout replacement", leak),
        "one": (0.3, 0.63, "one label only?", leak),
        "bins": (0.3, 0.46, "bins of each attribute\nfrom the node's records", leak),
        "split": (0.3, 0.28, "attribute by\npermute-and-flip, (9)", noisy),
        "leaf": (0.79, 0.46, "label by\npermute-and-flip,\nall that is left, (10)", noisy),
        "forest": (0.555, 0.05, "published: edges of bins, attributes, leaves, labels", records),
    }
    drawn = {key: box(axis, (x, y), words, look, size=SIZE) for key, (x, y, words, look) in boxes.items()}
    for words, y in (("one more record:\nanother one moves", 0.80), ("no noise", 0.63), ("no noise", 0.44)):
        axis.text(0.5, y, words, color=LEAK, fontsize=SIZE, fontweight="bold", va="center")
    ways = [("records", "parts"), ("parts", "one"), ("one", "bins"), ("bins", "split"), ("one", "leaf")]
    for first, second in ways:
        arrow(axis, drawn[first], drawn[second])
    for first in ("split", "leaf"):  # straight down
        arrow(axis, drawn[first], drawn["forest"], onto=(boxes[first][0], boxes["forest"][1]))
    axis.text(0.60, 0.565, "yes", fontsize=SIZE)
    axis.text(0.245, 0.56, "no", fontsize=SIZE, ha="right", va="center")
    axis.plot([0.155, 0.05, 0.05], [0.28, 0.28, 0.63], color=INK, linewidth=1.4)
    arrow(axis, (0.05, 0.63), (0.19, 0.63), linewidth=1.2, shrinkB=0)
    axis.text(0.03, 0.685, "next level", fontsize=SIZE, ha="left", va="center")
    return figure


def draw_bins(rows: Mapping[str, tuple[Floats, Sequence[int], Floats]]) -> Figure:
    """Records of two classes on a line, and the edges of their bins, a row a data set.

    Parameters
    ----------
    rows : name → values of the records, their classes 0 and 1, and the edges between the bins.
    """
    figure, axes = panel_grid(len(rows), 1, (WIDTH, 1.3), sharex=True)
    for axis, (name, (x, y, edges)) in zip(axes[:, 0], rows.items(), strict=True):
        for edge in edges:
            axis.axvline(edge, color=LEAK, linestyle="--", linewidth=1.3)
        for label in (0, 1):
            mine = np.sort(x[np.asarray(y) == label])
            above = np.concatenate([np.arange(n) for n in np.unique(mine, return_counts=True)[1]])
            axis.plot(mine, above, MARKERS[label], color=f"C{label}", label=f"class {label}", markersize=6)
        axis.set(ylim=(-1, 6), yticks=[])
        axis.set_title(name, fontsize="small")
    axes[-1, 0].set_xlabel("x; dashed: edges of the five bins", fontsize="small")
    axes[-1, 0].tick_params(labelsize="small")
    legend_below(figure, 2)
    return figure


def draw_paths(spent: Mapping[str, Mapping[str, Sequence[tuple[str, float]]]]) -> Figure:
    """What the nodes of some paths spend, a bar a path; what is left of 1 is hatched.

    Parameters
    ----------
    spent : rule → path → its nodes from the root, (name, budget).
    """
    figure, axes = panel_grid(len(spent), 1, (WIDTH, 1.25), sharex=True)
    colours: dict[str, str] = {}
    for axis, (rule, paths) in zip(axes[:, 0], spent.items(), strict=True):
        for row, nodes in enumerate(paths.values()):
            start = 0.0
            for name, budget in nodes:
                colour = colours.setdefault(name, f"C{len(colours)}")
                axis.barh(row, budget, left=start, color=colour, edgecolor="white", alpha=0.75)
                say(axis, start + budget / 2, row, f"{name} {budget:.2f}", fontsize=9)
                start += budget
            if start < 1 - 1e-9:
                axis.barh(row, 1 - start, left=start, color="white", edgecolor="0.5", hatch="//")
                unspent: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
                say(axis, (1 + start) / 2, row, "unspent", fontsize=9, bbox=unspent)
        axis.set_yticks(range(len(paths)), list(paths), fontsize="small")
        axis.invert_yaxis()
        axis.set_title(rule, fontsize="small")
        axis.grid(visible=False)
    axes[-1, 0].set_xlabel("budget of the path", fontsize="small")
    axes[-1, 0].tick_params(axis="x", labelsize="small")
    return figure


def plot_errors(panels: Mapping[str, pd.DataFrame]) -> Figure:
    """Probability of a wrong label on a logarithmic axis, a panel a comparison, a line a mechanism.

    Parameters
    ----------
    panels : title → table with a column a mechanism; its index is ε times the gap.
    """
    figure, axes = panel_grid(1, len(panels), (WIDTH / len(panels), 3.6), sharey=True)
    names = list(dict.fromkeys(name for table in panels.values() for name in table))
    for axis, (title, table) in zip(axes[0], panels.items(), strict=True):
        for name in table:
            look = look_of(names.index(name), linewidth=1.4, markersize=4)
            axis.plot(table.index, table[name], label=name, **look)
        axis.set(yscale="log")
        small(axis, title=title, x="ε times the gap")
    axes[0, 0].set_ylabel("probability of a wrong label", fontsize="small")
    legend_below(figure, 1, fontsize=SMALLER)
    return figure


def draw_parts(
    before: Sequence[Sequence[str]], after: Sequence[Sequence[str]], new: str, moved: str
) -> Figure:
    """Records dealt to trees, before and after one more record.

    Parameters
    ----------
    before, after : names of the records of each tree.
    new, moved : record that joins, and record that has to move for it.
    """
    figure, axis = _canvas((10.6, 4.6), WIDTH)
    for left, (title, parts) in zip((0.0, 5.6), (("D", before), ("D′ = D and one more", after)), strict=True):
        say(axis, left + 2.4, 3.9, title, fontsize=10)
        for t, records in enumerate(parts):
            x = left + 1.7 * t
            axis.add_patch(Rectangle((x, 0.4), 1.4, 3.0, facecolor="white", edgecolor="0.4"))
            say(axis, x + 0.7, 0.0, f"tree {t + 1}", fontsize=SIZE)
            for k, name in enumerate(records):
                colour = {new: LEAK, moved: "C1"}.get(name, "0.85")
                axis.add_patch(Circle((x + 0.7, 0.95 + 0.9 * k), 0.38, facecolor=colour, alpha=0.75))
                say(axis, x + 0.7, 0.95 + 0.9 * k, name, fontsize=10)
    axis.set(xlim=(-0.1, 10.6), ylim=(-0.4, 4.3))
    return figure


def draw_roots(forests: Mapping[str, Sequence[int]]) -> Figure:
    """Roots of the first ten trees of some forests: a disc without children, or one with branches.

    Parameters
    ----------
    forests : data set → number of nodes of each tree.
    """
    trees = max(map(len, forests.values()))
    most = min(trees, 10)
    figure, axis = _canvas((1.6 * most + 2.8, 1.9 * len(forests)), WIDTH)
    for row, (name, sizes) in enumerate(forests.items()):
        y = -1.9 * row
        words = name if most == trees else f"{name},\n{most} of {trees}\ntrees"
        axis.text(0, y, words, ha="left", va="center", fontsize=SIZE)
        for t, size in enumerate(sizes[:most]):
            x = 3.4 + 1.6 * t
            for k in range(size - 1 if size > 1 else 0):
                end = x + 0.32 * (k - (size - 2) / 2), y - 0.75
                axis.plot([x, end[0]], [y, end[1]], color=LEAK, linewidth=1.3, zorder=1)
                axis.add_patch(Circle(end, 0.11, facecolor=LEAK, edgecolor="none", zorder=2))
            look = {"facecolor": "white" if size > 1 else "0.8", "edgecolor": LEAK if size > 1 else "0.4"}
            axis.add_patch(Circle((x, y), 0.3, linewidth=1.5, zorder=2, **look))
    axis.set(xlim=(-0.1, 1.6 * most + 2.6), ylim=(-1.9 * (len(forests) - 1) - 1.0, 0.5))
    return figure


def plot_forests(points: pd.DataFrame, levels: Mapping[str, Mapping[str, float]]) -> Figure:
    """Accuracy against ε with error bars, a panel a data set, a line a method.

    Parameters
    ----------
    points : columns dataset, label, epsilon, mean and error.
    levels : data set → name → height of a horizontal line.
    """
    labels = list(points["label"].unique())
    figure, axes = panel_grid(len(levels), 1, (WIDTH, 2.5))
    for axis, (dataset, lines) in zip(axes[:, 0], levels.items(), strict=True):
        for i, label in enumerate(labels):
            line = points[(points["dataset"] == dataset) & (points["label"] == label)].sort_values("epsilon")
            look = look_of(i, linewidth=1.3, markersize=4)
            axis.errorbar(line["epsilon"], line["mean"], line["error"], label=label, elinewidth=0.8, **look)
        draw_levels(axis, lines)
        epsilon_axis(axis, points["epsilon"].unique(), "")
        small(axis, title=dataset, x="claimed ε", y="test accuracy", pad=3)
    label_ends(figure)
    return figure


def plot_ladder(points: pd.DataFrame, epsilons: Iterable[float], truth: Mapping[str, str]) -> Figure:
    """Accuracy after each step of a ladder with error bars, a panel a data set, a marker an ε.

    Parameters
    ----------
    points : columns dataset, method (the step), epsilon, mean and error.
    epsilons : which to show.
    truth : step → what a claim of 1 costs in truth, in the order of the steps.
    """
    sets, steps = list(points["dataset"].unique()), list(truth)[::-1]
    figure, axes = panel_grid(1, len(sets), (WIDTH / len(sets), 5.2), sharey=True)
    for axis, dataset in zip(axes[0], sets, strict=True):
        for i, epsilon in enumerate(epsilons):
            mine = points[(points["dataset"] == dataset) & (points["epsilon"] == epsilon)]
            y = mine["method"].map(steps.index) + 0.16 * (1 - i)
            look = look_of(i, linestyle="none", elinewidth=1)
            axis.errorbar(mine["mean"], y, xerr=mine["error"], label=f"ε = {epsilon:g}", **look)
        small(axis, title=dataset, x="test accuracy")
    axes[0, 0].set_yticks(range(len(steps)), [f"{s[3:]}\n(ε {truth[s]})" for s in steps], fontsize=SMALLER)
    legend_below(figure, 3)
    return figure


def plot_ablations(points: pd.DataFrame, *, levels: Mapping[str, float]) -> Figure:
    """Accuracy against ε with bands, a panel a data set and variant, a line a treeDepth.

    Parameters
    ----------
    points : columns dataset, label, tree_depth, epsilon, mean and error.
    levels : data set → share of its majority class.
    """
    panels = [(name, label) for name in levels for label in points["label"].unique()]
    depths = sorted(points["tree_depth"].unique())
    figure, axes = panel_grid(len(panels) // 2, 2, (WIDTH / 2, 1.75), sharex=True)
    for axis, (name, label) in zip(axes.ravel(), panels, strict=True):
        rows = points[(points["dataset"] == name) & (points["label"] == label)]
        for i, depth in enumerate(depths):
            line = rows[rows["tree_depth"] == depth].sort_values("epsilon")
            look = look_of(i, linewidth=1.2, markersize=3.5)
            axis.plot(line["epsilon"], line["mean"], label=f"treeDepth {depth}", **look)
            ends = line["mean"] - line["error"], line["mean"] + line["error"]
            axis.fill_between(line["epsilon"], *ends, color=f"C{i}", alpha=0.2)
        draw_levels(axis, {"_majority class": levels[name]})
        every = points[points["dataset"] == name]
        axis.set_ylim((every["mean"] - every["error"]).min(), (every["mean"] + every["error"]).max())
        epsilon_axis(axis, points["epsilon"].unique(), "")
        small(axis, title=f"{name}, {label}", y="test accuracy", size=SMALLER, pad=3)
    for axis in axes[-1]:
        small(axis, x="claimed ε; dashed:\nmajority class")
    legend_below(figure, 3)
    return figure


def plot_budgets(points: pd.DataFrame, steps: Sequence[str]) -> Figure:
    """Accuracy in per cent after each step of a ladder at each ε, as numbers on a ground of their height.

    Parameters
    ----------
    points : columns dataset, method (the step), epsilon and mean.
    steps : in their order.
    """
    sets = list(points["dataset"].unique())
    figure, axes = panel_grid(len(sets), 1, (WIDTH, 3.6))
    for axis, name in zip(axes[:, 0], sets, strict=True):
        table = (
            100 * points[points["dataset"] == name].pivot_table("mean", "method", "epsilon").loc[list(steps)]
        )
        low, high = table.min().min(), table.max().max()
        # Light, for black text; rectangles and not a raster, whose colours the dark could not change.
        ground: dict[str, Any] = {"cmap": "Blues", "vmin": low, "vmax": 2 * high - low}
        axis.pcolormesh(np.arange(table.shape[1]), np.arange(len(steps)), table, shading="nearest", **ground)
        axis.invert_yaxis()
        for (row, column), value in np.ndenumerate(table.to_numpy()):
            say(axis, column, row, f"{value:.1f}", fontsize=9)
        axis.set_xticks(range(table.shape[1]), [f"{eps:g}" for eps in table], fontsize="small")
        axis.set_yticks(range(len(steps)), [step[3:] for step in steps], fontsize=SMALLER)
        axis.set_title(name, fontsize="small")
        axis.set_xlabel("claimed ε", fontsize="small")
        axis.grid(visible=False)
    return figure
