"""Figures and drawings of the audit chapter. They draw what they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpnb.arrays import Floats

from .colours import readable
from .common import (
    HATCHES,
    LEAK,
    LINES,
    MARKERS,
    SIZE,
    WIDTH,
    Look,
    arrow,
    box,
    dotted,
    legend_below,
    panels_of_rows,
    rows,
    sheet,
    ticks,
)

# --- Boxes and arrows ---------------------------------------------------------------------------------------

KINDS: dict[str, Look] = {
    "exact": {"facecolor": "white", "edgecolor": "black", "linewidth": 1.2},
    "noisy": {"facecolor": "#dcebf7", "edgecolor": "C0", "linewidth": 2.5},
    "tool": {"facecolor": "#fdf3dc", "edgecolor": "C1", "linewidth": 1.5},
    "leak": {"facecolor": "white", "edgecolor": LEAK, "linewidth": 2.0, "linestyle": "--"},
}
PAST_THE_DOOR: dict[str, Any] = {"color": LEAK, "linestyle": "--", "linewidth": 2.0}  # an arrow


def draw_instruments() -> Figure:
    """A learner from records to predictions, what each instrument watches, and a branch past the door."""
    figure, axis = sheet(4.6, x=(0, 10))
    flow = (
        ("records", "exact"),
        ("exact counts", "exact"),
        ("the door:\nnoise or choice", "noisy"),
        ("releases", "noisy"),
        ("model and\npredictions", "noisy"),
    )
    heights = np.linspace(0.93, 0.07, len(flow))
    boxes = [box(axis, (5.2, y), text, KINDS[kind]) for y, (text, kind) in zip(heights, flow, strict=True)]
    for first, second in pairwise(boxes):
        arrow(axis, first, second)
    tools = {
        0: "one run:\ncanaries in or\nout by a coin",
        2: "exact:\nall outputs\nof each law",
        3: "replay:\none output,\non D and D′",
        4: "bets, curves:\nmany fits,\nmodels only",
    }
    for place, text in tools.items():
        tool = box(axis, (1.35, heights[place]), text, KINDS["tool"])
        arrow(axis, tool, boxes[place])
    leak = box(axis, (8.7, heights[2]), "a branch that\nlooks past\nthe door", KINDS["leak"])
    for first, second in ((boxes[1], leak), (leak, boxes[4])):
        arrow(axis, first, second, connectionstyle="arc3,rad=-0.25", **PAST_THE_DOOR)
    return figure


# --- Bounds -------------------------------------------------------------------------------------------------


def plot_climbing(table: pd.DataFrame, truth: Mapping[str, float], *, claim: float) -> Figure:
    """Bounds against runs: the first audit as a line, all audits as a band, true ε dashed.

    Parameters
    ----------
    table : of :func:`private_trees.audits.climbing`.
    truth : name → true ε.
    claim : what all of them claim.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.9))
    for i, (name, value) in enumerate(truth.items()):
        mine = table[table["name"] == name]
        spread = mine.groupby("runs")["bound"].agg(["min", "max"])
        axis.fill_between(spread.index, spread["min"], spread["max"], color=f"C{i}", alpha=0.2)
        one = mine[mine["audit"] == 0]
        axis.plot(one["runs"], one["bound"], LINES[i], color=f"C{i}", label=f"{name} coin", linewidth=2.2)
        axis.axhline(value, color=f"C{i}", linestyle="--", linewidth=1)
        beside: dict[str, Any] = {"transform": axis.get_yaxis_transform(), "va": "center", "fontsize": SIZE}
        axis.text(1.02, value, f"true\nε = {value:g}", color=readable(f"C{i}"), **beside)
    axis.axhspan(claim, 1.15 * max(truth.values()), color="0.93", zorder=0)
    axis.text(0.97, 0.75 * claim + 0.25 * max(truth.values()), "claim refuted", ha="right", **beside)
    axis.set(xscale="log", xlabel="runs", ylabel="lower bound for ε, 95 %")
    axis.set_ylim(0, 1.15 * max(truth.values()))
    axis.legend(loc="lower right")
    return figure


def plot_losses(table: pd.DataFrame, *, claim: float, beyond: float) -> Figure:
    """A dot for each replay; infinite losses stand at the right edge.

    Parameters
    ----------
    table : columns subject and loss.
    beyond : where infinite losses are drawn.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.6))
    names = list(dict.fromkeys(table["subject"]))
    for i, name in enumerate(names):
        loss = table.loc[table["subject"] == name, "loss"].to_numpy()
        at = np.where(np.isinf(loss), beyond, loss)
        height = len(names) - 1 - i + 0.5 * (np.arange(len(at)) / max(len(at) - 1, 1) - 0.5)
        axis.plot(at, height, MARKERS[i], color=f"C{i}", markersize=4.5, alpha=0.7)
    dotted(axis, x=claim)
    ticks(axis, x=[*np.arange(0, np.ceil(beyond)), beyond], last="∞")
    rows(axis, names, length=18)
    axis.set(xlabel="loss of one replay; dotted: the claim", xlim=(-0.2, beyond + 0.4))
    return figure


def plot_exact(chances: Mapping[str, Floats], depths: Mapping[str, Mapping[int, float]]) -> Figure:
    """Probabilities of a choice on two neighbours, and exact losses of trees by depth.

    Parameters
    ----------
    chances : name of the data set → probability of each candidate.
    depths : name of the pair → depth → exact loss.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.3))
    for i, (name, chance) in enumerate(chances.items()):
        place = np.arange(len(chance)) + 0.38 * (i - 0.5)
        left.bar(place, chance, width=0.36, color=f"C{i}", hatch=HATCHES[i], edgecolor="white", label=name)
        for x, p in zip(place, chance, strict=True):
            left.text(x, p + 0.01, f"{p:.3f}".lstrip("0"), ha="center", fontsize=SIZE)
    left.set_xticks(range(2), ["first", "second"])
    left.set(title="permute-and-flip", ylabel="probability", ylim=(0, 1.3), xlabel="candidate")
    left.legend(loc="upper right", ncols=2, fontsize=SIZE, handlelength=1.2, columnspacing=1)
    for i, (name, losses) in enumerate(depths.items()):
        look: dict[str, Any] = {"color": f"C{i + 2}", "marker": MARKERS[i], "label": name}
        right.plot(list(losses), list(losses.values()), LINES[i], **look)
    dotted(right, y=1)
    right.set_xticks([0, 1, 2])
    right.set(title="small trees", xlabel="depth", ylabel="exact loss", ylim=(0, 1.3))
    right.legend(loc="lower left", fontsize=SIZE)
    return figure


def plot_events(found: Mapping[str, Any]) -> Figure:
    """How often each value of the event's statistic came out on two neighbours, and where the event is.

    Parameters
    ----------
    found : name → finding of an attack.
    """
    figure, axes = plt.subplots(len(found), 1, figsize=(WIDTH, 2.5 * len(found)), squeeze=False)
    for axis, (name, finding) in zip(axes[:, 0], found.items(), strict=True):
        values = np.concatenate([finding.on_first, finding.on_second])
        whole = _are_whole(values)
        low, high = float(values.min()), float(values.max())
        edges = np.arange(low - 0.5, high + 1) if whole else np.linspace(low, high, 31)
        for i, (side, data) in enumerate((("D", finding.on_first), ("D′", finding.on_second))):
            _shares(axis, data, edges, i, f"on {side}")
        if finding.shown.relation in (">", "≤"):
            cut = finding.shown.value + (0.5 if whole else 0.0)
            axis.axvline(cut, color="black", linestyle="--", linewidth=1.4)
        if whole:
            axis.set_xticks(np.arange(values.min(), values.max() + 1))
        axis.set(xlabel=finding.shown.statistic, ylabel="share of runs")
        axis.set_title(f"{name}: ε ≥ {finding.lower_bound:.2f}")
        axis.legend(loc="best")
    return figure


def _shares(axis: Axes, values: Floats, edges: Floats, i: int, label: str) -> None:
    """A histogram of shares, of the ``i``-th of two sides."""
    weights = np.full(len(values), 1 / len(values))
    look: dict[str, Any] = {"color": f"C{i}", "alpha": 0.55, "hatch": HATCHES[i], "edgecolor": "white"}
    axis.hist(values, bins=edges.tolist(), weights=weights, label=label, **look)


def _are_whole(values: Floats) -> bool:
    """Whether values are whole numbers, and few different ones."""
    return bool((values == np.round(values)).all()) and len(np.unique(values)) < 40


def plot_ceiling(attacks: pd.DataFrame, curve: pd.DataFrame, groups: Mapping[str, Sequence[str]]) -> Figure:
    """Bounds of attacks against their runs, below the most that so many runs can show.

    Parameters
    ----------
    attacks : columns method, runs and lower_95.
    curve : columns runs and bound: the ceiling.
    groups : label → what its methods begin with.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.9))
    axis.plot(curve["runs"], curve["bound"], color="black", linewidth=1.6)
    start = tuple(curve[["runs", "bound"]].iloc[0])
    axis.annotate("ceiling", start, (0, 18), textcoords="offset points", fontsize=SIZE)
    for i, (label, starts) in enumerate(groups.items()):
        mine = attacks[attacks["method"].str.startswith(tuple(starts))]
        axis.plot(mine["runs"], mine["lower_95"], MARKERS[i], color=f"C{i}", label=label, markersize=8)
    axis.set(
        xscale="log",
        xlabel="runs on each data set",
        ylabel="lower bound for ε, 95\N{NO-BREAK SPACE}%",
        ylim=(-0.3, None),
    )
    legend_below(figure, 2, fontsize=SIZE)
    return figure


def plot_canaries(
    scores: Mapping[str, tuple[Floats, Floats]], bounds: pd.DataFrame, ceiling: Mapping[int, float]
) -> Figure:
    """Scores of canaries in and out, and the bounds of one-run audits by number of canaries.

    Parameters
    ----------
    scores : name → scores of the canaries that were in, and of those that were out.
    bounds : of :func:`private_trees.audits.canary_bounds`.
    ceiling : canaries → bound if all guesses are right.
    """
    layout: Any = [list(scores), ["bounds"] * len(scores)]
    figure: Figure
    figure, axes = plt.subplot_mosaic(layout, figsize=(WIDTH, 5.6), height_ratios=(1, 1.25))
    tops = [axes[name] for name in scores]
    for axis, (name, sides) in zip(tops, scores.items(), strict=True):
        axis.sharey(tops[0])
        for i, (label, values) in enumerate(zip(("in", "out"), sides, strict=True)):
            _shares(axis, values, np.arange(-6.5, 7.5), i, label)
        axis.set(title=name, xlabel="count in its leaf")
    tops[0].set_ylabel("share of canaries")
    tops[0].legend()
    axis = axes["bounds"]
    for i, (which, mine) in enumerate(bounds.groupby("name", sort=False)):
        look: dict[str, Any] = {"color": f"C{i + 2}", "markersize": 7, "alpha": 0.8}
        axis.plot(mine["canaries"], mine["bound"], MARKERS[i], label=str(which), **look)
    axis.plot(list(ceiling), list(ceiling.values()), color="black", label="all guesses right")
    dotted(axis, y=1)
    axis.set(xscale="log", xlabel="canaries in one run", ylabel="lower bound for ε, 95 %")
    axis.set_ylim(0, 1.5 * max(ceiling.values()))  # room for the legend
    axis.legend(loc="upper left", fontsize=SIZE)
    return figure


def plot_twins(table: pd.DataFrame, *, beyond: float) -> Figure:
    """Bounds of three instruments for each twin, on a logarithmic axis; infinite ones at the right edge.

    Parameters
    ----------
    table : of :func:`private_trees.audits.twin_table`.
    beyond : where infinite losses are drawn.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 6.8))
    height = rows(axis, table["mechanism"], length=18)
    for i, name in enumerate(("exact", "replay", "attack")):
        values = np.where(np.isinf(table[name]), beyond, table[name])
        axis.plot(values, height + 0.22 * (1 - i), MARKERS[i], color=f"C{i}", label=name, markersize=6)
    dotted(axis, x=1)
    for y, truth in zip(height, table["truth"], strict=True):
        if truth == "broken":
            axis.axhspan(y - 0.5, y + 0.5, color="0.93", zorder=0)
    axis.set(xscale="log", xlabel="lower bound for ε; dotted: the claim", ylim=(-0.6, len(table) - 0.4))
    ticks(axis, x=[0.5, 1, 2, 5, 10, 50, beyond], last="∞")
    legend_below(figure, 3)
    return figure


def plot_rivals(table: pd.DataFrame) -> Figure:
    """Bounds over claims of other people's learners, in groups by what became of their claims.

    Parameters
    ----------
    table : columns learner, with its setting after a comma, relation_tested, claimed and together.
    """
    shares = table.assign(
        share=table["together"] / table["claimed"], learner=table["learner"].str.split(",").str[0]
    )
    above = shares.groupby("learner", sort=False)["share"].agg(lambda x: (x > 1).mean())
    groups = {
        "above the claim in every audit": above.index[above == 1],
        "in some audits": above.index[(above > 0) & (above < 1)],
        "in no audit": above.index[above == 0],
    }
    figure, panels = panels_of_rows(groups, row=0.3, rest=2.2)
    for axis, names in panels:
        height = dict(zip(names, rows(axis, names), strict=True))
        for i, relation in enumerate(("add-remove", "replace")):
            mine = shares[(shares["relation_tested"] == relation) & shares["learner"].isin(names)]
            axis.plot(
                mine["share"],
                mine["learner"].map(height),
                MARKERS[i],
                color=f"C{i}",
                label=relation,
                markersize=7,
                alpha=0.8,
            )
        dotted(axis, x=1)
        axis.set_xscale("log")
        ticks(axis, x=[0.1, 0.2, 0.5, 1, 2, 5])
    panels[-1][0].set_xlabel("lower bound over the claim; dotted: 1")
    legend_below(figure, 2)
    return figure
