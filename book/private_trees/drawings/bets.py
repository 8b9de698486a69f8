"""Figures of the audit chapter about bets, coverage, runs to conviction and curves. They draw what they are given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpnb.arrays import Floats

from ..auditing.curves import Tradeoff
from ..tables.audit import BROKEN
from .common import LINES, MARKERS, SIZE, SMALLER, WIDTH, dotted, legend_below, panels_of_rows, rows, ticks


def plot_games(games: pd.DataFrame, *, enough: float) -> Figure:
    """Wealth of gamblers against runs: all games thin, the median one thick, and the wealth that refutes.

    Parameters
    ----------
    games : of :func:`private_trees.audits.games`.
    enough : wealth that refutes.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.9))
    for i, (name, own) in enumerate(games.groupby("name", sort=False)):
        paths = own.pivot(index="runs", columns="game", values="wealth")
        few = paths.iloc[::6]  # as many points as thin lines show
        axis.plot(few.index, few.to_numpy(), color=f"C{i}", alpha=0.15, linewidth=0.8)
        axis.plot(
            paths.index, paths.median(axis=1), LINES[i], color=f"C{i}", linewidth=2.6, label=f"{name}, median"
        )
    axis.axhline(enough, color="black", linestyle=":", linewidth=1.4, label=f"{enough:g}: refuted")
    axis.set(yscale="log", ylim=(1e-3, 1e6), xlabel="runs", ylabel="wealth, from 1")
    axis.legend(loc="upper left", fontsize=SIZE)
    return figure


def plot_coverage(rules: pd.DataFrame, *, stated: float) -> Figure:
    """Shares of wrong bounds with intervals, a line for each rule; broken rules in a panel of their own.

    Parameters
    ----------
    rules : of :func:`private_trees.tables.audit.by_rule`.
    stated : share that the rules allow themselves.
    """
    broken = rules.index.str.startswith(BROKEN)
    groups = {"rules as they are proved": rules[~broken], "the same with a mistake": rules[broken]}
    figure, panels = panels_of_rows(groups, row=0.27, rest=1.5)
    for axis, own in panels:
        height = rows(axis, own.index.str.removeprefix(BROKEN))
        share, low, high = (100 * own[name].to_numpy() for name in ("share", "low", "high"))
        around = [share - low, high - share]
        axis.errorbar(share, height, xerr=around, fmt=MARKERS[0], color="C0", markersize=5, capsize=2)
        dotted(axis, x=100 * stated)
        axis.set_xscale("symlog", linthresh=1)
        ticks(axis, x=[0, 1, 5, 20, 100])
        axis.set_xlim(-0.15, 130)
    panels[-1][0].set_xlabel(f"wrong bounds, %; dotted: {100 * stated:g}")
    return figure


def plot_conviction(runs: pd.DataFrame) -> Figure:
    """Runs to conviction, a line for each mechanism and ε.

    Parameters
    ----------
    runs : of :func:`private_trees.tables.audit.convicted`.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 0.29 * len(runs) + 1.4))
    height = rows(axis, [f"{method}, {epsilon:g}" for method, epsilon in runs.index])
    axis.hlines(height, runs["bets"], runs["longest"], color="C1", linewidth=1.4, zorder=1)
    labels = {
        "least": "least, in theory",
        "bets": "bets, mean to longest",
        "tenth": "bets, 9 of 10",
        "split": "sample splitting, 9 of 10",
    }
    for i, (name, label) in enumerate(labels.items()):
        axis.plot(runs[name], height, MARKERS[i], color=f"C{i}", label=label, markersize=6)
    axis.set(xscale="log", xlabel="runs in all, on both data sets")
    ticks(axis, x=[100, 300, 1000, 3000])
    legend_below(figure, 2, fontsize=SIZE)
    return figure


def plot_tradeoff(curve: Tradeoff, truth: tuple[Floats, Floats], lines: Mapping[str, float]) -> Figure:
    """A measured trade-off curve between its upper bound and what was seen, the true one, and ε by δ.

    Parameters
    ----------
    curve : as measured.
    truth : false positive and false negative rates of the mechanism.
    lines : name → claimed ε, drawn as the least that such a claim allows, at δ = 0.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 4.2))
    order = np.argsort(1 - curve.seen_first, kind="stable")
    bound = np.argsort(curve.false_positive, kind="stable")
    axis.plot(*truth, LINES[1], color="black", linewidth=1.4, label="true curve")
    seen = 1 - curve.seen_first[order], 1 - curve.seen_second[order]
    axis.plot(*seen, color="C0", linewidth=1.4, label="as seen")
    rates = curve.false_positive[bound], curve.false_negative[bound]
    axis.plot(*rates, LINES[2], color="C1", linewidth=2, label="bound, 95 %")
    x = np.linspace(0, 1, 200)
    for i, (name, epsilon) in enumerate(lines.items()):
        grow = np.exp(epsilon)
        least = np.maximum(np.maximum(1 - grow * x, (1 - x) / grow), 0)
        axis.plot(x, least, LINES[3], color=f"C{i + 2}", linewidth=2, label=name)
    axis.set(xlabel="false positives: D′ is said on D", ylabel="false negatives", xlim=(0, 1), ylim=(0, 1))
    axis.legend(loc="upper right", fontsize=SIZE)
    return figure


def plot_subjects(broken: pd.DataFrame, *, beyond: float) -> Figure:
    """Fits to conviction of each subject, sorted; hollow what an earlier auditor acquits.

    Parameters
    ----------
    broken : subjects by ``before``, whether the earlier auditor convicts, and ``fits``, infinite where today's acquits.
    beyond : where infinite numbers are drawn.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 0.12 * len(broken) + 2))
    own = broken.sort_values("fits")
    fits, rank = own["fits"].clip(upper=beyond).to_numpy(), np.arange(1, len(own) + 1)
    before = own["before"].to_numpy(bool)
    looks = {"convicted before, too": (before, "full"), "acquitted before": (~before, "none")}
    for i, (label, (those, fill)) in enumerate(looks.items()):
        look: dict[str, Any] = {"color": f"C{i}", "fillstyle": fill, "markersize": 5}
        axis.plot(fits[those], rank[those], MARKERS[i], label=label, **look)
    # Sorted dots leave room above to their left, and below to their right.
    for row in range(len(own))[::-3]:
        late = fits[row] > math.sqrt(10 * beyond)
        place: dict[str, Any] = {"ha": "right", "va": "bottom"} if late else {"ha": "left", "va": "top"}
        axis.annotate(
            own.index[row],
            (fits[row], rank[row]),
            (-5, -3) if late else (5, 3),
            textcoords="offset points",
            fontsize=SMALLER,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            zorder=3,  # above the grid
            **place,
        )
    axis.set(xscale="log", ylabel="new programs", xlabel="fits to conviction, on both data sets")
    if np.isinf(broken["fits"]).any():
        ticks(axis, x=[*(10.0**k for k in range(1, math.ceil(math.log10(beyond)))), beyond], last="∞")
    legend_below(figure, 2)
    return figure
