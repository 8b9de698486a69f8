"""Figures of the chapter on the board; none is wider than a telephone shows at 60 %."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..board.standings import Ranking
from .common import (
    HATCHES,
    MARKERS,
    SMALLER,
    WIDTH,
    dotted,
    draw_curve,
    draw_levels,
    epsilon_axis,
    label_ends,
    legend_below,
    look_of,
    panel_grid,
    small,
    wrapped,
)

NAMED = 3  # methods with a colour of their own where lines are many


def _by_method(methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Look and name of each method: the first few have their own, the others are grey and have one together."""
    others = methods[NAMED:]
    grey = {"color": "0.55", "linewidth": 1, "zorder": 1.5}
    looks = {m: grey | {"label": f"{len(others)} other methods" if m == others[0] else None} for m in others}
    return looks | {
        m: look_of(i, label=m, markersize=3.5, linewidth=1.3) for i, m in enumerate(methods[:NAMED])
    }


def plot_losses(table: pd.DataFrame, methods: Sequence[str], *, label: str) -> Figure:
    """What is lost against no privacy, by ε on logarithmic axes, a line a method, a panel a data set.

    Parameters
    ----------
    table : columns dataset, method, epsilon, loss and ``error``.
    methods : the first few have a colour and a name.
    label : of the vertical axes.
    """
    sets = sorted(table["dataset"].unique())
    figure, axes = panel_grid(-(-len(sets) // 2), 2, (WIDTH / 2, 1.9), sharex=True, sharey=True)
    looks = _by_method(methods)
    for axis, name in zip(axes.ravel(), sets, strict=False):
        panel = table[table["dataset"] == name]
        for method, look in looks.items():
            line = panel[panel["method"] == method].sort_values("epsilon")
            if len(line):
                axis.errorbar(line["epsilon"], line["loss"], line["error"], elinewidth=0.8, **look)
        epsilon_axis(axis, table["epsilon"].unique(), "")
        small(axis, title=name, pad=3)
        axis.set_yscale("log")
        tenths = (0.003, 0.01, 0.03, 0.1, 0.3)
        axis.set_yticks(tenths, [f"{loss:g}" for loss in tenths])
    least = table.loc[table["method"].isin(methods), "loss"].min()
    axes[0, 0].set_ylim(0.8 * least, 0.6)
    for axis in axes.ravel()[len(sets) :]:
        figure.delaxes(axis)
    for axis in axes[-1]:
        axis.set_xlabel("ε", fontsize="small")
    for axis in axes[:, 0]:
        axis.set_ylabel(label, fontsize=SMALLER)
    legend_below(figure, 2, fontsize="small")
    return figure


def plot_by_epsilon(
    points: pd.DataFrame,
    *,
    levels: Mapping[str, Mapping[str, float]],
    label: str,
    limits: tuple[float, float],
) -> Figure:
    """Means against ε, a line for each method, a panel for each data set; a line that ends below is not shown.

    Parameters
    ----------
    points : columns dataset, label, epsilon, mean and ``error``.
    levels : data set → name → height of horizontal lines.
    label, limits : of the vertical axes.
    """
    figure, axes = panel_grid(len(levels), 1, (WIDTH, 1.75), sharex=True)
    looks = {name: i for i, name in enumerate(points["label"].unique())}
    for axis, (dataset, lines) in zip(axes[:, 0], levels.items(), strict=True):
        panel = points[points["dataset"] == dataset].sort_values("epsilon")
        for name, i in looks.items():
            curve = panel[panel["label"] == name]
            if curve["mean"].iloc[-1] > limits[0]:
                draw_curve(axis, curve, index=i, label=name)
        draw_levels(axis, lines)
        epsilon_axis(axis, points["epsilon"].unique(), "")
        small(axis, title=dataset, y=label, pad=3)
        axis.set_ylim(*limits)
    axes[-1, 0].set_xlabel("ε", fontsize="small")
    label_ends(figure)
    return figure


def plot_leads(best: pd.DataFrame, epsilons: Sequence[float], *, label: str) -> Figure:
    """Leads with 95 % intervals over the best other method, which stands below the data set of the row; a panel an ε.

    Parameters
    ----------
    best : of :func:`private_trees.board.standings.over_best`.
    epsilons : which to show.
    label : of the horizontal axis.
    """
    sets = sorted(best["dataset"].unique(), reverse=True)
    figure, axes = panel_grid(len(epsilons), 1, (WIDTH, 0.7 + 0.34 * len(sets)))
    for axis, epsilon in zip(axes[:, 0], epsilons, strict=True):
        rows = best[best["epsilon"] == epsilon]
        at = rows["dataset"].map(sets.index)
        axis.axvline(0, color="black", linewidth=0.9)
        axis.errorbar(rows["mean"], at, xerr=rows["half"], fmt="o", color="C0", markersize=4.5, capsize=2)
        names = dict(zip(at, rows["dataset"] + "\nover " + rows["method"], strict=True))
        axis.set_yticks(range(len(sets)), [names.get(i, "") for i in range(len(sets))], fontsize=SMALLER)
        axis.set_ylim(-0.6, len(sets) - 0.4)
        axis.set_title(f"ε = {epsilon:g}", fontsize="small", pad=3)
        axis.tick_params(axis="x", labelsize=SMALLER)
        axis.set_xlabel(wrapped(label, 26), fontsize="small")
    return figure


def plot_ranks(rankings: Mapping[float, Ranking]) -> Figure:
    """Mean ranks over data sets, a row a method, a marker an ε, and the critical difference as a bar.

    Parameters
    ----------
    rankings : ε → ranking of the same methods.
    """
    ranks = pd.DataFrame({epsilon: found.mean for epsilon, found in rankings.items()})
    names = list(ranks.mean(axis=1).sort_values(ascending=False).index)
    figure, axis = plt.subplots(figsize=(WIDTH, 1.6 + 0.25 * len(names)))
    for i, (epsilon, found) in enumerate(rankings.items()):
        look = look_of(i, linestyle="none", markersize=6)
        axis.plot(found.mean[names], range(len(names)), label=f"ε = {epsilon:g}", **look)
    critical = next(iter(rankings.values())).critical
    top = len(names) - 0.2
    axis.plot([1, 1 + critical], [top, top], color="black", linewidth=3, solid_capstyle="butt")
    axis.text(1 + critical / 2, top + 0.2, "critical difference", ha="center", va="bottom", fontsize=SMALLER)
    axis.set_yticks(range(len(names)), names, fontsize="small")
    axis.set(xlabel="mean rank (1 is best)", ylim=(-0.6, len(names) + 0.9))
    legend_below(figure, len(rankings))
    return figure


def plot_costs(costs: pd.DataFrame, *, named: Sequence[str]) -> Figure:
    """Loss against time, a dot a method; those with a name have a colour, and all others are grey.

    Parameters
    ----------
    costs : a row a method, with the columns ``first``, a ratio, and ``loss``.
    named : methods with a name.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 4.2))
    others = costs.drop(index=list(named))
    axis.plot(others["first"], others["loss"], "o", color="0.45", markersize=5, label="other methods")
    for i, method in enumerate(named):
        one = costs.loc[[method]]
        axis.plot(one["first"], one["loss"], MARKERS[i], color=f"C{i}", markersize=7, label=method)
    dotted(axis, x=1)
    axis.set(
        xscale="log",
        xlabel="CPU time of a first fit over that of a forest; dotted: 1",
        ylabel="mean loss of AUC",
        ylim=(0, None),
    )
    axis.xaxis.set_major_formatter("{x:g}")
    legend_below(figure, 2)
    return figure


def plot_stress(table: pd.DataFrame, groups: Mapping[str, Sequence[str]], *, label: str) -> Figure:
    """Changes under growing stress, a line a method, a panel a kind.

    Parameters
    ----------
    table : a row a stress, a column a method.
    groups : kind → its stresses, from none on.
    label : of the vertical axis.
    """
    figure, axes = panel_grid(1, len(groups), (WIDTH / len(groups), 3.0), sharey=True)
    looks = _by_method(list(map(str, table.columns)))
    for axis, (kind, stresses) in zip(axes[0], groups.items(), strict=True):
        for method, look in looks.items():
            axis.plot(range(len(stresses)), table[method].reindex(list(stresses)), **look)
        axis.axhline(0, color="black", linewidth=0.8)
        words = [
            stress.replace(" of the records", "").replace(" attributes of noise", "") for stress in stresses
        ]
        axis.set_xticks(
            range(len(stresses)), [w.removeprefix("bounds ") for w in words], fontsize=SMALLER, rotation=45
        )
        axis.set_xlabel(kind, fontsize="small")
        axis.tick_params(axis="y", labelsize=SMALLER)
    axes[0, 0].set_ylabel(label, fontsize="small")
    legend_below(figure, 2, fontsize=SMALLER)
    return figure


def plot_budget(shares: pd.DataFrame, *, label: str) -> Figure:
    """Parts of a whole as bars, a row each.

    Parameters
    ----------
    shares : a row for each bar, a column for each part; rows sum to 1.
    label : of the rows.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 1.4 + 0.3 * len(shares)))
    left = np.zeros(len(shares))
    for i, (part, hatch) in enumerate(zip(shares, HATCHES, strict=False)):
        look: dict[str, Any] = {"color": f"C{i}", "hatch": hatch, "edgecolor": "white"}
        axis.barh(range(len(shares)), shares[part], left=left, label=str(part), **look)
        left += shares[part].to_numpy()
    axis.set_yticks(range(len(shares)), list(map(str, shares.index)), fontsize="small")
    axis.invert_yaxis()
    axis.set(xlabel="share of ρ", ylabel=label, xlim=(0, 1))
    axis.grid(visible=False, axis="y")
    legend_below(figure, 3)
    return figure
