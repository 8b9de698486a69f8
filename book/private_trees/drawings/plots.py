"""Figures of the book: one style, and one function a figure.

The functions draw what they are given. They compute nothing about the data, draw no random numbers, and return
the figure. Colours are safe for colour-blind readers, and no figure relies on colour alone. The background is
white; a page in the dark gives every colour another value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from dpnb.arrays import Floats

from ..studies.scale import PassCost
from .colours import readable
from .common import ERROR_BARS, HATCHES, LINES, MARKERS, legend_below, look_of, panel_grid, ticks

UTILITIES = {"info_gain": "information gain", "max": "max-class sum", "gini": "Gini"}


def use_style() -> None:
    """Set the book's figure style for all later figures."""
    safe = sns.color_palette("colorblind").as_hex()
    sns.set_theme(
        context="notebook",
        style="whitegrid",
        # Words are in C0, which is dark enough, C2 and C3.
        palette=[readable(colour, 4.5 if i in (2, 3) else 3) for i, colour in enumerate(safe)],
        font="DejaVu Sans",  # pages bring it along
        rc={
            "figure.dpi": 110,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "figure.constrained_layout.w_pad": 0.1,  # inches: room for half of a tick's label
            "savefig.facecolor": "white",
            "path.simplify_threshold": 0.5,  # points: a figure is part of its page
            "axes.titlesize": "medium",
            "axes.labelsize": "medium",
            "legend.fontsize": "small",
        },
    )


def plot_privacy_loss(
    outcomes: ArrayLike,
    densities: Mapping[str, Floats],
    *,
    epsilon: float,
    outcome_label: str,
    draws: ArrayLike | None = None,
    records: ArrayLike | None = None,
) -> Figure:
    """Show the densities of an output on two neighbours, and the log-ratio between the bounds ±ε.

    Parameters
    ----------
    outcomes : (points,) outputs, increasing.
    densities : two entries, name of the data set → (points,) positive density.
    epsilon : bound to draw, at least 0.
    outcome_label : what an output is, with its unit.
    draws : (n,) outputs drawn on the first data set, shown as a histogram.
    records : (n,) values of the first data set's records, marked on the axis.

    Raises
    ------
    ValueError
        If there are not exactly two densities.
    """
    if len(densities) != 2:
        raise ValueError(f"{len(densities)} densities given: expected two, one for each neighbour")
    x = np.asarray(outcomes, float)
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.2, 5.2), sharex=True)
    if draws is not None:
        top.hist(np.asarray(draws), bins=100, range=(x[0], x[-1]), density=True, color="0.82", label="draws")
    for style, (name, density) in zip(LINES, densities.items(), strict=False):
        top.plot(x, density, style, label=name)
    if records is not None:
        top.plot(records, np.zeros(np.shape(records)), "|", color="black", markersize=14, label="records")
    top.set(ylabel="density", title="Output on two neighbours")
    top.set_ylim(bottom=0)
    first, second = densities.values()
    bottom.plot(x, np.log(first / second), color="C2", label="log-ratio")
    for bound in (-epsilon, epsilon):
        bottom.axhline(bound, color="black", linestyle=":", label="±ε" if bound > 0 else None)
    bottom.set(xlabel=outcome_label, ylabel="privacy loss", title="Log-ratio of the densities")
    legend_below(figure, 3)
    return figure


@dataclass(frozen=True)
class NoisePanel:
    """Draws of a noise beside its law."""

    title: str  # name of the mechanism
    draws: NDArray[np.generic]  # (n,) noise
    # (points,) where the law is given, increasing; consecutive whole numbers if `discrete`.
    outcomes: NDArray[np.generic]
    density: Floats  # (points,) density, or probability if `discrete`
    discrete: bool = False  # whether the noise is whole-numbered


def plot_noise(panels: Sequence[NoisePanel]) -> Figure:
    """Show the laws of noises as lines, and seeded draws as points with two standard errors.

    Parameters
    ----------
    panels : one panel a mechanism.
    """
    figure, axes = panel_grid(len(panels), 1, (5.2, 2.1), sharex=True)
    for axis, panel in zip(axes[:, 0], panels, strict=True):
        _draw_noise(axis, panel)
        axis.set_ylabel("density or\nprobability")
    axes[-1, 0].set_xlabel("noise")
    axes[0, 0].legend()
    return figure


def _draw_noise(axis: Axes, panel: NoisePanel) -> None:
    x, n = panel.outcomes.astype(float), len(panel.draws)
    edges = np.append(x - 0.5, x[-1] + 0.5) if panel.discrete else np.linspace(x[0], x[-1], 26)
    share = np.histogram(panel.draws.astype(float), edges)[0] / n
    width = np.diff(edges)
    error = ERROR_BARS * np.sqrt(share * (1 - share) / n) / width
    axis.plot(x, panel.density, "_" if panel.discrete else "-", color="C0", markersize=12, label="law")
    axis.errorbar(
        (edges[1:] + edges[:-1]) / 2, share / width, error, fmt="o", color="C1", markersize=3, label="draws"
    )
    axis.set(title=panel.title)


def plot_selection(
    scores: ArrayLike, probabilities: Mapping[str, Floats], frequencies: Mapping[str, Floats], *, draws: int
) -> Figure:
    """Show how often each mechanism chooses each candidate: exact bars, and draws with two standard errors.

    Parameters
    ----------
    scores : (candidates,) scores, for the labels.
    probabilities : mechanism → (candidates,) exact probabilities.
    frequencies : mechanism → (candidates,) shares of the draws; the same names.
    draws : number of draws, for the error bars.
    """
    names = list(probabilities)
    figure, axis = plt.subplots(figsize=(5.2, 3.2))
    at = np.arange(np.size(scores))
    width = 0.8 / len(names)
    for i, (name, hatch) in enumerate(zip(names, HATCHES, strict=False)):
        place = at + (i - (len(names) - 1) / 2) * width
        share = frequencies[name]
        axis.bar(place, probabilities[name], width, hatch=hatch, alpha=0.6, label=f"{name}, exact")
        error = ERROR_BARS * np.sqrt(share * (1 - share) / draws)
        label = "draws" if i == 0 else None
        axis.errorbar(
            place, share, error, fmt=MARKERS[0], color="black", markersize=4, capsize=4, label=label
        )
    axis.set_xticks(at, [f"{score:g}" for score in np.asarray(scores, float)])
    axis.set(xlabel="score of the candidate", ylabel="probability of being chosen")
    legend_below(figure, 3)
    return figure


def plot_error_ratio(errors: Mapping[str, Floats]) -> Figure:
    """Compare the expected errors of two mechanisms on many instances.

    Parameters
    ----------
    errors : two entries, mechanism → (instances,) positive expected errors.

    Raises
    ------
    ValueError
        If there are not exactly two mechanisms.
    """
    if len(errors) != 2:
        raise ValueError(f"{len(errors)} mechanisms given: expected two to compare")
    (first, x), (second, y) = errors.items()
    figure, axis = plt.subplots(figsize=(5.2, 3.2))
    axis.plot(x, y / x, MARKERS[0], markersize=3, alpha=0.6)
    for bound in (1, 2):
        axis.axhline(bound, color="black", linewidth=0.8)
    axis.set(
        xscale="log", xlabel=f"expected error of {first}", ylabel=f"error of {second} / error of {first}"
    )
    return figure


def plot_misses(table: pd.DataFrame, *, epsilon: float) -> Figure:
    """Show how often private choices miss the best candidate, and what no private choice reaches.

    Parameters
    ----------
    table : of :func:`private_trees.studies.selection.misses`.
    epsilon : budget, for the label of the axis.
    """
    groups = list(table.groupby("candidates"))
    figure, axes = panel_grid(-(-len(groups) // 2), 2, (2.6, 2.4), sharex=True, sharey=True)
    for i, (k, rows) in enumerate(groups):
        axis, x = axes[divmod(i, 2)], rows["signal"]
        axis.fill_between(x, 0, rows["least"], color="0.8", label="no private choice")
        for name, line, colour in (("PF", "-", "C0"), ("EM", "--", "C1")):
            axis.plot(x, rows[name], line, color=colour, label=name)
        axis.set(title=f"{k} candidates", ylim=(1e-3, 1.2), yscale="log")
    for axis in axes[-1]:
        axis.set_xlabel(f"ε · lead, ε = {epsilon:g}")
    for axis in axes[:, 0]:
        axis.set_ylabel("chance of a miss")
    legend_below(figure, 3)
    return figure


def plot_regret(table: pd.DataFrame) -> Figure:
    """Show the regret of private choices by number of records, beside a random choice and the theorem's bound.

    Parameters
    ----------
    table : of :func:`private_trees.studies.selection.root_regrets`.
    """
    groups = list(table.groupby("epsilon"))
    figure, axes = panel_grid(1, len(groups), (2.6, 3.6), sharex=True, sharey=True)
    lines = {"PF": "PF", "EM": "EM", "random": "a random split", "bound": "bound for PF and EM"}
    for axis, (epsilon, rows) in zip(axes[0], groups, strict=True):
        for i, (name, label) in enumerate(lines.items()):
            axis.plot(rows["records"], rows[name], label=label, **look_of(i))
        axis.set(
            xscale="log", xlabel="records", title=f"ε = {epsilon:g}", ylim=(0, 1.5 * table["random"].max())
        )
    axes[0, 0].set_ylabel("regret, per record")
    legend_below(figure, 2)
    return figure


def plot_loss_curves(
    outcomes: ArrayLike, losses: Mapping[str, Floats], bounds: Mapping[str, float], *, outcome_label: str
) -> Figure:
    """Show privacy losses as functions of the output, each with its bound.

    Parameters
    ----------
    outcomes : (points,) outputs.
    losses : name → (points,) log-ratios.
    bounds : name → bound; the same names.
    outcome_label : what an output is.
    """
    figure, axis = plt.subplots(figsize=(5.2, 3.4))
    for i, (name, loss) in enumerate(losses.items()):
        axis.plot(outcomes, loss, LINES[i % len(LINES)], color=f"C{i}", label=name)
        axis.axhline(bounds[name], color=f"C{i}", linewidth=0.8)
    axis.set(xlabel=outcome_label, ylabel="privacy loss")
    axis.legend()
    return figure


def plot_reachable(reachable: Mapping[str, Floats], *, low: float, high: float) -> Figure:
    """Show which outputs a computer can produce, one row of ticks for each centre.

    Parameters
    ----------
    reachable : name → outputs.
    low, high : part of the axis to show.
    """
    figure, axis = plt.subplots(figsize=(5.2, 0.8 + 0.5 * len(reachable)))
    rows = [values[(low <= values) & (values <= high)] for values in reachable.values()]
    axis.eventplot(rows, linelengths=0.7, linewidths=0.9, colors=[f"C{i}" for i in range(len(rows))])
    axis.set_yticks(range(len(rows)), list(reachable))
    axis.set(xlabel="output", xlim=(low, high))
    axis.invert_yaxis()  # the first row on top
    axis.grid(visible=False)
    return figure


# --- Forests -------------------------------------------------------------------------------------


def summarise(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Mean and two standard errors over the repeats of each group.

    Parameters
    ----------
    table : tidy results with the column ``value``, one row a repeat.
    by : columns that name a group.
    """
    groups = table.groupby(list(by), sort=True, observed=True)["value"]
    summary = groups.agg(["mean", "sem"]).reset_index()
    summary["error"] = ERROR_BARS * summary.pop("sem")
    return summary


# --- Boosting -----------------------------------------------------------------------------------------------


def plot_noise_rounds(laws: Mapping[str, Floats], *, limit: int) -> Figure:
    """Distributions of the number of noise rounds, and a limit that they should not exceed.

    Parameters
    ----------
    laws : rule → (m,) probabilities of 0, 1, … noise rounds.
    limit : drawn as a vertical line.
    """
    figure, axis = plt.subplots(figsize=(5.3, 3.8))
    for i, (name, law) in enumerate(laws.items()):
        axis.plot(np.arange(len(law)), law, label=name, **look_of(i))
    axis.axvline(limit + 0.5, color="0.3", linestyle=":", label=f"limit: {limit} rounds")
    axis.set(xlabel="noise rounds R", ylabel="probability")
    legend_below(figure, 2)
    return figure


def plot_scaling(table: pd.DataFrame, costs: Mapping[str, PassCost], *, attributes: int) -> Figure:
    """Seconds of a pass against records, a panel for each model, a line of its cost model for each number of cores.

    Parameters
    ----------
    table : columns model, rows, cores, pass_s.
    costs : model → its cost.
    attributes : number of attributes, for the lines.
    """
    figure, axes = panel_grid(len(costs), 1, (5.3, 3.0), sharex=True, sharey=True)
    for axis, (model, cost) in zip(axes[:, 0], costs.items(), strict=True):
        mine = table[table["model"] == model]
        for i, cores in enumerate(sorted(int(c) for c in mine["cores"].unique())):
            points = mine[mine["cores"] == cores].sort_values("rows")
            rows = np.geomspace(points["rows"].min(), points["rows"].max(), 60)
            line = [cost.seconds(rows=n, attributes=attributes, cores=cores) for n in rows]
            name = f"{cores} core" + "s" * (cores > 1)
            axis.plot(rows, line, LINES[i], color=f"C{i}", linewidth=1.2)
            axis.plot(points["rows"], points["pass_s"], MARKERS[i], color=f"C{i}", label=name)
        axis.set(title=model, ylabel="seconds a pass", xscale="log", yscale="log")
        sizes = sorted(mine["rows"].unique())
        axis.set_xticks(sizes, [f"{n / 1e6:g}" for n in sizes])
        ticks(axis, y=(0.25, 0.5, 1.0, 2.0))
    axes[-1, 0].set_xlabel("million records")
    axes[0, 0].legend()
    return figure
