"""Drawings of chapter 6: nine points that are boosted, where the noise goes, what leaks, and what a repair costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dpaudit.pairs import Pair
from dpnb.arrays import Floats
from dpnb.domain import Continuous, Domain
from dpnb.papers.dpada import SCHEDULES, DPAda, Reading, Written
from dpnb.privacy.curator import open_curator
from dpnb.privacy.ledger import Ledger
from dpnb.records.grid import Stump, public_grid
from dpnb.records.memory import Records, WeightedRecords

from .common import (
    INK,
    LEAK,
    LINES,
    MARKERS,
    WIDTH,
    Look,
    arrow,
    box,
    draw_curve,
    draw_dots,
    draw_levels,
    epsilon_axis,
    label_ends,
    legend_below,
    say,
    sheet,
)

SIDE = 10  # the points live in a square of this side
GRID = {"uniform": 9, "geometric": 0}  # thresholds 1 to 9
DISC = 2600.0  # area of a disc of weight 1, in square points
CLASSES = {1: ("C0", "o"), -1: ("C1", "s")}  # colour and marker

_POINTS = (
    *((4.5, 7.5, 1), (2.5, 0.5, 1), (9.5, 5.5, 1), (2.5, 9.5, 1), (4.5, 2.5, 1)),
    *((5.5, 9.5, 0), (8.5, 7.5, 0), (3.5, 4.5, 0), (9.5, 1.5, 0)),
)
_TENTH = (6.5, 4.5, 0)


def _part(rows: Sequence[tuple[float, float, int]]) -> tuple[pd.DataFrame, pd.Series[Any]]:
    frame = pd.DataFrame([row[:2] for row in rows], columns=["x1", "x2"])
    return frame, pd.Series([row[2] for row in rows], name="label")


NINE = Pair(
    "nine points, and a tenth",
    _part(_POINTS),
    _part([*_POINTS, _TENTH]),
    Domain((Continuous("x1", 0, SIDE), Continuous("x2", 0, SIDE)), (0, 1), target="label"),
)
"""D has nine points; D′ has one more."""


class Round(NamedTuple):
    """What a round of AdaBoost sees and learns."""

    weights: Floats  # (n,) weights that the round trains on
    exact: Floats  # (n,) the same before the noise of the round before
    stump: Stump  # the stump
    alpha: float  # its weight


def three_rounds(
    part: tuple[pd.DataFrame, pd.Series[Any]], *, reading: Reading, epsilon: float, seed: int
) -> list[Round]:
    """Run three rounds of Swing as written on points of the square; its noise comes after round 2.

    Parameters
    ----------
    part : points and labels.
    reading, epsilon : of :meth:`~dpnb.papers.dpada.DPAda.as_written`.
    seed : of the noise.
    """
    owner = DPAda.as_written(epsilon=epsilon, n_rounds=3)
    curator = open_curator(rng=np.random.default_rng(seed), ledger=Ledger(claimed=epsilon))
    written = Written(owner, reading, curator)
    data = WeightedRecords(Records(*part, domain=NINE.domain), public_grid(NINE.domain, **GRID))
    written.start(data)
    seen = []
    for noise in (False, True, False):
        weights, exact = data.weights.copy(), written._raw.copy()
        learnt = written.round(data, noise=noise)
        if learnt is None:
            break
        seen.append(Round(weights, exact, *learnt))
    return seen


def first_steps(part: tuple[pd.DataFrame, pd.Series[Any]], *, epsilon: float, runs: int) -> Floats:
    """α₁ of DPAda as written on points of the square, (runs,), one seed each."""
    make: dict[str, Any] = {"epsilon": epsilon, "n_rounds": 3, "domain": NINE.domain, **GRID}
    fits = (DPAda.as_written(random_state=seed, **make).fit(*part) for seed in range(runs))
    return np.array([fit.model_.alpha[0] for fit in fits])


def plot_rounds(rounds: Sequence[Round], alphas: Mapping[str, Floats]) -> Figure:
    """Three rounds on nine points, weights as discs, and what one number of the model says about D and D′.

    Parameters
    ----------
    rounds : of :func:`three_rounds` on ``NINE.first``.
    alphas : ``"D"`` and ``"D′"`` → α₁ of many runs.
    """
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 6.1))
    figure.set_layout_engine("constrained", h_pad=0.12)  # inches: a step stands below its own panel
    X, y = NINE.first
    points, signs = X.to_numpy(), np.where(y == 1, 1, -1)
    for number, (axis, seen) in enumerate(zip(axes.flat, rounds, strict=False), 1):
        _draw_stump(axis, seen.stump)
        _draw_points(axis, points, signs, seen)
        noisy = not np.allclose(seen.weights, seen.exact)
        ends = (-0.8, SIDE + 0.8)
        axis.set(xlim=ends, ylim=ends, xticks=[], yticks=[], aspect="equal")
        axis.set_title(f"round {number}" + (", two noisy weights" if noisy else ""), fontsize=11)
        axis.set_xlabel(f"α{'₀₁₂₃'[number]} = {seen.alpha:.4f}")
    _draw_alphas(axes.flat[3], alphas)
    return figure


def _draw_stump(axis: Axes, stump: Stump) -> None:
    """Shade the half in which a stump says +."""
    span = (-SIDE, stump.cut) if stump.sign > 0 else (stump.cut, 2 * SIDE)
    shade: dict[str, Any] = {"color": CLASSES[1][0], "alpha": 0.15, "linewidth": 0}
    if stump.attribute == 0:
        axis.axvspan(*span, **shade)
        axis.axvline(stump.cut, color="black")
    else:
        axis.axhspan(*span, **shade)
        axis.axhline(stump.cut, color="black")


def _draw_points(axis: Axes, points: Floats, signs: Floats, seen: Round) -> None:
    """Discs and squares with an area like the weight; where noise moved it, a dashed ring of the exact weight."""
    ring: dict[str, Any] = {"facecolor": "none", "edgecolor": LEAK, "linewidth": 1.8, "zorder": 4}
    factor = seen.weights / seen.exact
    noisy = ~np.isclose(factor, np.median(factor))  # all others are divided by one sum
    for (x, z), sign, weight, exact, moved in zip(
        points, signs, seen.weights, seen.exact, noisy, strict=True
    ):
        colour, marker = CLASSES[int(sign)]
        size = DISC * max(weight, 0.0)
        axis.scatter(x, z, s=size, color=colour, marker=marker, edgecolor="black", linewidth=0.8, zorder=3)
        if moved:
            axis.scatter(x, z, s=DISC * exact, marker=marker, linestyle="--", **ring)


def _draw_alphas(axis: Axes, alphas: Mapping[str, Floats]) -> None:
    """Values of α₁ on either side, as bars of their shares."""
    for i, (name, found) in enumerate(alphas.items()):
        values, counts = np.unique(np.round(found, 6), return_counts=True)
        axis.bar(values, counts / len(found), width=0.015, color=f"C{2 + 2 * i}", label=name, hatch="//" * i)
        for value in values:
            axis.annotate(f"{value:.4f}", (value, 1.02), ha="center", fontsize=10)
    ends = np.concatenate(list(alphas.values()))
    axis.set(xlim=(ends.min() - 0.06, ends.max() + 0.06), ylim=(0, 1.45), yticks=[0, 0.5, 1])
    axis.set(title=f"α₁ in {len(found)} runs", xlabel="α₁", ylabel="share of runs")
    axis.grid(False, axis="x")
    axis.legend(loc="upper center", ncols=2)


# --- dataflow -----------------------------------------------------------------------------------------------

Box = tuple[float, float, str, str]  # centre, kind, text
_KINDS: dict[str, Look] = {
    "records": {"facecolor": "white", "edgecolor": "black", "linewidth": 1.2},
    "noise": {"facecolor": "#e3f1fa", "edgecolor": "C0", "linewidth": 2.5},
    "exact": {"facecolor": "#fbe9e2", "edgecolor": LEAK, "linestyle": "--", "linewidth": 2.0},
    "model": {"facecolor": "0.95", "edgecolor": "black", "linewidth": 1.2},
}
_LEFT, _RIGHT = 0.27, 0.8
WRITTEN: dict[str, Box] = {
    "records": (_LEFT, 0.95, "records", "records and labels"),
    "weights": (_LEFT, 0.76, "records", "weights of all records,\nsum 1"),
    "stump": (_LEFT, 0.55, "exact", "best stump $G_k$\nexact"),
    "alpha": (_LEFT, 0.34, "exact", "error, stop, step $α_k$\nexact"),
    "noise": (_LEFT, 0.11, "noise", "new weights;\nnoise on the largest\nand the smallest"),
    "model": (_RIGHT, 0.445, "model", "model\n$\\sum α_kG_k$"),
}
REPAIRED: dict[str, Box] = {
    "records": (_LEFT, 0.95, "records", "records and labels"),
    "weights": (_LEFT, 0.76, "records", "$v=\\min(1,e^{-yF})$, each\nrecord's own; no sum"),
    "stump": (_LEFT, 0.55, "noise", "stump $G_k$ by\npermute-and-flip"),
    "alpha": (_LEFT, 0.34, "noise", "step $α_k$: fixed, or\nfrom two noisy sums"),
    "noise": (_LEFT, 0.11, "model", "$F ← F+α_kG_k$"),
    "model": (_RIGHT, 0.445, "model", "model\n$\\sum α_kG_k$"),
}


def draw_flow(boxes: Mapping[str, Box], *, passes: str) -> Figure:
    """One round of boosting as boxes and arrows: what has noise, and what reaches the model without any.

    Parameters
    ----------
    boxes : ``WRITTEN`` or ``REPAIRED``.
    passes : what the arrows to the model say.
    """
    figure, axis = sheet(5.0, x=(-0.1, 1))
    drawn = {
        name: box(axis, (x, y), words, _KINDS[kind], size=10.5) for name, (x, y, kind, words) in boxes.items()
    }
    for a, b in (("records", "weights"), ("weights", "stump"), ("stump", "alpha"), ("alpha", "noise")):
        arrow(axis, drawn[a], drawn[b], linewidth=1.6)
    for name in ("stump", "alpha"):
        colour = LEAK if boxes[name][2] == "exact" else "C0"
        arrow(axis, drawn[name], drawn["model"], color=colour, linewidth=1.6)
        axis.text(
            0.56, boxes[name][1] + (0.04 if name == "stump" else -0.06), passes, color=colour, ha="center"
        )
    arrow(axis, (-0.02, 0.08), (-0.02, 0.8), linewidth=1.6)
    say(axis, -0.06, 0.44, "next round", rotation=90, color=INK, fontsize=10.5)
    if boxes["noise"][2] == "noise":
        say(axis, 0.7, 0.11, "the only noise", color="C0")
    return figure


# --- numbers ------------------------------------------------------------------------------------------------


def plot_sizes(sizes: Mapping[str, float]) -> Figure:
    """Weights and scales of noise on one logarithmic axis.

    Parameters
    ----------
    sizes : name → size, drawn from top to bottom; names with "noise" have the colour of noise.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 2.9))
    for i, (name, size) in enumerate(sizes.items()):
        noise = "noise" in name
        axis.plot(size, -i, MARKERS[int(noise)], color=LEAK if noise else "C0", markersize=8)
        axis.annotate(
            f"{size:.2g}", (size, -i), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=10
        )
    axis.set_yticks(-np.arange(len(sizes)), list(sizes))
    axis.set(xscale="log", xlabel="size", ylim=(0.7 - len(sizes), 0.8))
    axis.set_xlim(min(sizes.values()) / 20, max(sizes.values()) * 5)
    return figure


def plot_jumps(steps: Floats, jumps: Mapping[int, Floats]) -> Figure:
    """How much one record changes the largest weight, against the sum A of the steps so far.

    Parameters
    ----------
    steps : (k,) values of A, increasing.
    jumps : number of records N → (k,) changes.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.8))
    for i, (n, change) in enumerate(jumps.items()):
        name = f"true, N = {n:,}".replace(",", " ")
        axis.plot(steps, change, LINES[i], color=f"C{i}", label=name, linewidth=2)
    axis.axhline(0, color="black", linewidth=2, linestyle=":", label="paper, every N")
    axis.set(xlabel="sum A of the steps so far", ylabel="change of the\nlargest weight", ylim=(-0.04, 1.04))
    legend_below(figure, 2)
    return figure


def plot_shares(shares: pd.DataFrame, *, label: str) -> Figure:
    """Shares of runs on two data sets, with their intervals, a row for each method.

    Parameters
    ----------
    shares : indexed by method; columns data ("D" or "D′"), share, low, high.
    label : what is counted.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 2.7))
    methods = list(dict.fromkeys(shares.index))
    for i, (name, rows) in enumerate(shares.groupby("data")):
        height = -np.array([methods.index(method) for method in rows.index]) - 0.2 * i
        ends = [rows["share"] - rows["low"], rows["high"] - rows["share"]]
        look: dict[str, Any] = {"fmt": MARKERS[i], "color": f"C{2 + 2 * i}", "markersize": 8, "capsize": 3}
        axis.errorbar(rows["share"], height, xerr=ends, label=str(name), **look)
    axis.set_yticks(-np.arange(len(methods)) - 0.1, methods)
    axis.set(xlabel=label, xlim=(-0.03, 1.0))
    axis.legend(loc="lower right")
    return figure


def draw_schedules(rows: Mapping[str, Sequence[int]], *, limit: int) -> Figure:
    """Rounds as squares, filled where they have noise, and how many of them count.

    Parameters
    ----------
    rows : name → schedule of rounds 1 to m.
    limit : how many noise rounds Theorem 1 allows.
    """
    m = max(map(len, rows.values()))
    figure, axis = plt.subplots(figsize=(WIDTH, 0.55 * len(rows) + 0.7))
    for i, (name, schedule) in enumerate(rows.items()):
        for k, h in enumerate(schedule):
            colour = ("0.75" if k == 0 else LEAK) if h else "white"
            axis.add_patch(Rectangle((k + 0.08, -i - 0.36), 0.84, 0.72, facecolor=colour, edgecolor="0.3"))
        total = int(sum(schedule[1:]))
        axis.text(-0.3, -i, name, ha="right", va="center", fontsize=11)
        weight = "bold" if total > limit else "normal"
        axis.text(m + 0.4, -i, f"R = {total}", va="center", fontsize=11, weight=weight)
    for k in range(m):
        say(axis, k + 0.5, 0.62, str(k + 1), fontsize=10, color="0.3")
    axis.text(-0.3, 0.62, "round", ha="right", va="center", fontsize=10, color="0.3")
    axis.set(xlim=(-0.62 * m, m + 2.2), ylim=(-len(rows) + 0.4, 0.95))
    axis.axis("off")
    return figure


def plot_budgets(points: pd.DataFrame, *, levels: Mapping[str, Mapping[str, float]]) -> Figure:
    """Accuracy against claimed ε, a line a method, one panel below the other for each data set.

    Parameters
    ----------
    points : columns dataset, label, epsilon, mean, error.
    levels : data set → name → height of horizontal lines.
    """
    figure, axes = plt.subplots(len(levels), 1, figsize=(WIDTH, 3.4 * len(levels) + 1.0), squeeze=False)
    for axis, (dataset, lines) in zip(axes[:, 0], levels.items(), strict=True):
        panel = points[points["dataset"] == dataset]
        for i, label in enumerate(panel["label"].unique()):
            draw_curve(axis, panel[panel["label"] == label], index=i, label=label)
        draw_levels(axis, lines)
        axis.set(title=dataset, ylabel="test accuracy")
        epsilon_axis(axis, panel["epsilon"].unique(), "claimed ε")
    label_ends(figure, length=18)
    return figure


def plot_by_schedule(points: pd.DataFrame, *, levels: Mapping[str, float]) -> Figure:
    """Accuracy against claimed ε, a line for each number of rounds, a row a schedule and a column a data set.

    Parameters
    ----------
    points : columns dataset, schedule, n_rounds, epsilon, mean, error.
    levels : data set → accuracy of its majority class.
    """
    few = (0.1, 0.3, 1.0, 5.0)  # budgets with a tick where panels are small
    schedules = list(points["schedule"].unique())
    size = (WIDTH, 2.3 * len(schedules) + 0.8)
    figure, axes = plt.subplots(
        len(schedules), len(levels), figsize=size, sharex=True, sharey="col", squeeze=False
    )
    for row, schedule in zip(axes, schedules, strict=True):
        for axis, (dataset, level) in zip(row, levels.items(), strict=True):
            panel = points[(points["schedule"] == schedule) & (points["dataset"] == dataset)]
            for i, (m, curve) in enumerate(panel.groupby("n_rounds")):
                draw_curve(axis, curve, index=i, label=f"m = {m}")
            draw_levels(axis, {"_majority class": level})
            axis.set_title(f"{dataset}, {schedule}", fontsize=11)
            epsilon_axis(axis, few, "claimed ε" if schedule == schedules[-1] else "")
    for axis in axes[0]:
        axis.set_ylabel("test accuracy;\ndashed: majority class")
    legend_below(figure, 3)
    return figure


def plot_runs(runs: pd.DataFrame) -> Figure:
    """Accuracy of single runs as dots, a column of them for each schedule, apart by what trained the last stump.

    Parameters
    ----------
    runs : columns dataset, n_rounds, method (the schedule), accuracy and last (whether noisy weights trained it).
    """
    sizes, sets = sorted(runs["n_rounds"].unique()), list(runs["dataset"].unique())
    figure, axes = plt.subplots(
        len(sizes),
        len(sets),
        figsize=(WIDTH, 2.6 * len(sizes) + 0.8),
        sharex=True,
        sharey="col",
        squeeze=False,
    )
    for row, m in zip(axes, sizes, strict=True):
        for axis, dataset in zip(row, sets, strict=True):
            panel = runs[(runs["n_rounds"] == m) & (runs["dataset"] == dataset)]
            for noisy, mine in panel.groupby("last"):
                place = mine["method"].map(SCHEDULES.index) + (0.05 if noisy else -0.35)
                beside = place + 0.3 * mine.groupby("method").cumcount() / 50
                look: dict[str, Any] = {
                    "color": LEAK if noisy else "C0",
                    "marker": MARKERS[int(bool(noisy))],
                }
                name = f"last stump trained on {'noisy' if noisy else 'clean'} weights"
                axis.plot(
                    beside, mine["accuracy"], linestyle="", markersize=3.5, alpha=0.8, label=name, **look
                )
            axis.set_title(f"{dataset}, m = {m}", fontsize=11)
            axis.set_xticks(range(len(SCHEDULES)), SCHEDULES, fontsize=10, rotation=35)
            axis.grid(False, axis="x")
            axis.set_ylabel("test accuracy")
    legend_below(figure, 1)
    return figure


def plot_ladder(points: pd.DataFrame, *, steps: Sequence[str]) -> Figure:
    """Accuracy after each step of a ladder, one panel below the other for each data set, a marker for each ε.

    Parameters
    ----------
    points : columns dataset, method (the step), epsilon, mean, error; ε = inf for a step without noise.
    steps : from top to bottom.
    """
    sets, upward = list(points["dataset"].unique()), list(steps)[::-1]
    size = (WIDTH, 4.0 * len(sets) + 0.6)
    figure, axes = plt.subplots(len(sets), 1, figsize=size, squeeze=False)
    for axis, dataset in zip(axes[:, 0], sets, strict=True):
        draw_dots(axis, points[points["dataset"] == dataset], upward, gap=0.14)
        axis.set(title=dataset, xlabel="test accuracy")
        axis.set_yticks(range(len(upward)), upward)
    legend_below(figure, 2)
    return figure


def plot_bounds(table: pd.DataFrame) -> Figure:
    """Lower bounds that attacks found, a row an attack, with the claim as a line to stay left of.

    Parameters
    ----------
    table : indexed by attack; columns claim, "lower_95" and theory ("holds" or "refuted").
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 0.34 * len(table) + 1.3))
    height = -np.arange(len(table), dtype=float)
    look: dict[str, Any] = {"color": "black", "markersize": 15, "markeredgewidth": 2.5}
    axis.plot(table["claim"].astype(float), height, "|", label="claim", **look)
    for theory, colour, marker in (("refuted", LEAK, MARKERS[1]), ("holds", "C0", MARKERS[0])):
        mine = (table["theory"] == theory).to_numpy()
        name = f"{'as written' if theory == 'refuted' else 'repaired'}, at least"
        axis.plot(table["lower_95"][mine], height[mine], marker, color=colour, markersize=8, label=name)
    axis.set_yticks(height, list(table.index))
    axis.set(xlabel="ε", xlim=(-0.3, 9))
    legend_below(figure, 3)
    return figure
