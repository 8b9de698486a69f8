"""Drawings and pictures of chapters 1 to 3: each shows one idea, narrow enough for a telephone.

They draw what they are given, as the functions of :mod:`~private_trees.drawings.plots` do. Colours repeat what
words, marks or hatches say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from numpy.typing import NDArray

from dpnb.arrays import Floats, Ints

from .common import (
    ERROR_BARS,
    HATCHES,
    LEAK,
    LINES,
    MARKERS,
    arrow,
    legend_below,
    panel,
    say,
    sheet,
)

WIDTH = 5.2  # inches: shown on a telephone at 60 % or more
TEXT = 11.5  # points
CLASSES = (("C0", "white"), ("C1", "black"))  # colour of a class's records, and of letters on it
KINDS: dict[str, dict[str, Any]] = {
    "private": {"facecolor": "#dff1e8", "edgecolor": "C2", "linewidth": 1.2},
    "leak": {"facecolor": "#fbe3d6", "edgecolor": LEAK, "linewidth": 2, "linestyle": "--"},
    "public": {"facecolor": "#f2f2f2", "edgecolor": "0.55", "linewidth": 1.2},
}
ARROW: dict[str, Any] = {"color": "0.35", "linewidth": None, "mutation_scale": 12}


def _record(axis: Axes, x: float, y: float, label: int, *, new: bool = False) -> None:
    """A record as a disc with the number of its class; a new one has a thick black rim."""
    colour, letters = CLASSES[label]
    axis.add_patch(Circle((x, y), 0.3, facecolor=colour, edgecolor="black", linewidth=2.5 if new else 0.5))
    say(axis, x, y, str(label), fontsize=TEXT, color=letters)


# --- What privacy promises --------------------------------------------------------------------------------------


def draw_promise(answers: Mapping[str, Ints], *, epsilon: float, low: int, high: int) -> Figure:
    """Shares of each noisy answer on two neighbours, and their ratio in the band from e^-ε to e^ε.

    Parameters
    ----------
    answers : two entries, who is there → (draws,) whole answers.
    epsilon : budget of the answer, for the band.
    low, high : first and last answer shown.
    """
    at = np.arange(low, high + 1)
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(WIDTH, 4.9), sharex=True)
    shares = {who: np.array([np.mean(values == k) for k in at]) for who, values in answers.items()}
    for i, (who, share) in enumerate(shares.items()):
        top.bar(at + 0.4 * (i - 0.5), share, 0.4, color=f"C{i}", hatch=("", "//")[i], label=who)
    top.set_ylabel("share of answers")
    top.legend()
    n = len(next(iter(answers.values())))
    seen = np.all([share > 0 for share in shares.values()], axis=0)  # few draws miss rare answers
    first, second = (share[seen] for share in shares.values())
    ratio = first / second
    error = ERROR_BARS * ratio * np.sqrt((1 - first) / first / n + (1 - second) / second / n)
    bottom.axhspan(np.exp(-epsilon), np.exp(epsilon), color="0.9", label="allowed")
    bottom.errorbar(at[seen], ratio, error, fmt="o", color="black", markersize=4, capsize=3, label="ratio")
    ticks = {np.exp(-epsilon): "$e^{-ε}$", 1.0: "1", np.exp(epsilon): "$e^{ε}$"}
    bottom.set(yscale="log", xlabel="noisy count that is released", ylabel="with ÷ without")
    bottom.set_yticks(list(ticks), list(ticks.values()))
    bottom.minorticks_off()
    bottom.set_ylim(0.7 * np.exp(-epsilon), 1.45 * np.exp(epsilon))
    # Above the panel: with few draws the bars of errors are as high as the panel.
    bottom.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, borderaxespad=0.2)
    return figure


def draw_neighbours() -> Figure:
    """A data set and its two kinds of neighbour: a record more, a record replaced; counts of both classes beside."""
    rows = {
        "$D$": ([0, 0, 0, 1, 1, 1, 1, 1], None, "3  and  5"),
        "one added": ([0, 0, 0, 1, 1, 1, 1, 1, 1], 8, "3  and  6"),
        "one replaced": ([0, 0, 1, 1, 1, 1, 1, 1], 2, "2  and  6"),
    }
    figure, axis = sheet(2.3, width=WIDTH, x=(0, 13), y=(0, 4.4))
    say(axis, 11.6, 4.1, "counts", fontsize=TEXT)
    for (name, (labels, new, counts)), y in zip(rows.items(), (3.3, 2.0, 0.7), strict=True):
        axis.text(2.6, y, name, ha="right", va="center", fontsize=TEXT)
        for i, label in enumerate(labels):
            _record(axis, 3.4 + 0.78 * i, y, label, new=i == new)
        say(axis, 11.6, y, counts, fontsize=TEXT)
    axis.set_aspect("equal")
    return figure


def draw_beliefs(prior: Floats, after: Mapping[float, tuple[Floats, Floats]]) -> Figure:
    """How sure somebody can become that a record is there, by how sure they were before.

    Parameters
    ----------
    prior : (points,) probabilities before the release, increasing.
    after : ε → least and largest probability after it, (points,) each.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 4.2))
    axis.plot(prior, prior, color="black", linewidth=1, label="nothing released")
    for i, (epsilon, (least, most)) in enumerate(after.items()):
        for values, label in ((most, f"ε = {epsilon:g}"), (least, None)):
            axis.plot(prior, values, LINES[i + 1], color=f"C{i}", label=label)
    axis.set(xlabel="belief before", ylabel="belief after, between", xlim=(0, 1), ylim=(0, 1))
    legend_below(figure, 2)
    return figure


# --- Mechanisms and budgets -------------------------------------------------------------------------------------


def draw_budget_tree(shares: Sequence[float], names: Sequence[str]) -> Figure:
    """A binary tree whose nodes are gauges: filled is what a record has paid on its path down to the node.

    Parameters
    ----------
    shares : budget of each level, from the root; they sum to the total.
    names : what each level asks.
    """
    depth, total = len(shares), sum(shares)
    figure, axis = sheet(1.1 * depth + 0.3, width=WIDTH, x=(0, 10), y=(0, 2.2 * depth))
    for level, name in enumerate(names):
        y = 2.2 * (depth - level) - 1.0
        paid = sum(shares[: level + 1])
        wide = 1.7
        for i in range(2**level):
            x = 1.9 + 8.1 * (i + 0.5) / 2**level
            axis.add_patch(
                Rectangle((x - wide / 2, y - 0.28), wide, 0.56, facecolor="white", edgecolor="black")
            )
            for step in range(level + 1):
                left = x - wide / 2 + wide * sum(shares[:step]) / total
                look: dict[str, Any] = {
                    "facecolor": f"C{step}",
                    "hatch": HATCHES[step],
                    "edgecolor": "white",
                }
                axis.add_patch(Rectangle((left, y - 0.28), wide * shares[step] / total, 0.56, **look))
            say(axis, x, y - 0.62, f"{paid:.2f}", fontsize=TEXT)
            if level:
                parent = 1.9 + 8.1 * (i // 2 + 0.5) / 2 ** (level - 1)
                arrow(axis, (parent, y + 2.2 - 0.85), (x, y + 0.32), **ARROW)
        axis.text(0.0, y, f"{name}\nε = {shares[level]:.2f}", ha="left", va="center", fontsize=TEXT)
    return figure


def draw_parts(parts: Mapping[str, tuple[Ints, Ints]]) -> Figure:
    """Which part each record is in before and after the first record leaves; a cross marks a record that moved.

    Parameters
    ----------
    parts : rule → parts of the records before, (n,), and of the n - 1 that stay.
    """
    figure, axis = sheet(2.6, width=WIDTH, x=(0, 14.2), y=(0, 6.6))
    y = 6.2
    for rule, (before, after) in parts.items():
        axis.text(0, y, rule, ha="left", va="center", fontsize=TEXT)
        for row, (name, shift) in enumerate((("before", 0), ("after", 1))):
            here = y - 0.9 - 1.1 * row
            axis.text(2.0, here, name, ha="right", va="center", fontsize=TEXT)
            for i, part in enumerate((before, after)[row]):
                left = 2.3 + 0.7 * (i + shift)
                moved = bool(row and part != before[i + 1])
                look: dict[str, Any] = {"facecolor": f"C{part}", "alpha": 0.55, "edgecolor": "black"}
                axis.add_patch(Rectangle((left, here - 0.4), 0.64, 0.8, **look))
                text = "✕" if moved else str(part + 1)
                say(axis, left + 0.32, here, text, fontsize=TEXT)
        y -= 3.4
    return figure


def draw_noise_losses(outputs: Floats, losses: Mapping[str, Floats], *, epsilon: float) -> Figure:
    """Privacy loss by output for several noises, with the band ±ε.

    Parameters
    ----------
    outputs : (points,) increasing.
    losses : noise → (points,) privacy loss.
    epsilon : half of the band's height.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.2))
    axis.axhspan(-epsilon, epsilon, color="0.9", label="within ±ε")
    for i, (name, loss) in enumerate(losses.items()):
        axis.plot(outputs, loss, LINES[i], color=f"C{i}", label=name)
    axis.set(xlabel="released count", ylabel="privacy loss")
    axis.legend()
    return figure


def draw_totals(table: pd.DataFrame) -> Figure:
    """Total ε of several releases by the rule that adds them up.

    Parameters
    ----------
    table : a column a rule, with the number of releases as index.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.4))
    for i, name in enumerate(table.columns):
        axis.plot(table.index, table[name], LINES[i], color=f"C{i}", marker=MARKERS[i], label=name)
    axis.set(xscale="log", yscale="log", xlabel="number of choices with ε = 0.1 each", ylabel="total ε")
    axis.legend()
    return figure


# --- What a tree asks of data -----------------------------------------------------------------------------------


def draw_split_table(counts: NDArray[np.integer], *, branch: int, label: int) -> Figure:
    """A split as a table of records, branches by classes; one more record enters one cell.

    Parameters
    ----------
    counts : (2, 2) records in each cell, at most 5.
    branch, label : cell of the new record.
    """
    figure, axis = sheet(2.8, width=WIDTH, x=(0, 11.4), y=(0, 6.2))
    lefts, bottoms, wide, high = (3.0, 7.3), (3.0, 0.4), 4.1, 2.3
    for b in range(2):
        axis.text(2.7, bottoms[b] + high / 2, ("left\nbranch", "right\nbranch")[b], ha="right", va="center")
        for c in range(2):
            here = (b, c) == (branch, label)
            corner, n = (lefts[c], bottoms[b]), int(counts[b, c])
            look: dict[str, Any] = {"facecolor": "#fdf1dc" if here else "#eef3f8", "edgecolor": "0.35"}
            axis.add_patch(Rectangle(corner, wide, high, linewidth=2.5 if here else 1, **look))
            for i in range(n + here):
                _record(axis, corner[0] + 0.5 + 0.75 * i, corner[1] + 1.6, c, new=here and i == n)
            text = f"{n} → {n + 1}" if here else f"{n}"
            say(axis, corner[0] + wide / 2, corner[1] + 0.6, text, fontsize=TEXT + 1)
    for c in range(2):
        say(axis, lefts[c] + wide / 2, 5.75, f"class {c}")
    axis.set_aspect("equal")
    return figure


def draw_signal(table: pd.DataFrame) -> Figure:
    """Lead of a good split, measured in sensitivities, against the number of records.

    Parameters
    ----------
    table : a column a score, with the number of records as index.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 4.4))
    for i, name in enumerate(table.columns):
        axis.plot(table.index, table[name], LINES[i % 4], color=f"C{i}", marker=MARKERS[i], label=name)
    axis.set(xscale="log", yscale="log", xlabel="records in the node", ylabel="lead ÷ sensitivity")
    legend_below(figure, 2)
    return figure


def draw_tree_flow() -> Figure:
    """What a tree builder reads and releases, from records to leaves, with three usual leaks beside the private way."""
    figure, axis = sheet(5.6, width=WIDTH, x=(0, 10.4), y=(0, 11.4))
    axis.text(2.55, 11.0, "private", ha="center", fontsize=TEXT, color="C2", fontweight="bold")
    axis.text(7.9, 11.0, "leaks", ha="center", fontsize=TEXT, color="C3", fontweight="bold")
    steps = (
        ("public domain: bounds,\ncategories, classes", "public", "smallest and largest\nvalue of the data"),
        ("candidates: public grid,\nor density on interval", "private", "midpoints between\nrecords"),
        ("choice: bounded score,\nat the budget's rate", "private", "the best score\nwithout noise"),
        ("stop: by depth,\nor by a noisy count", "private", "stop when a node\nis pure"),
        ("leaves: counts\nwith noise", "private", "exact counts,\nor an exact majority"),
    )
    for i, (private, kind, leak) in enumerate(steps):
        y = 9.7 - 2.1 * i
        panel(axis, (2.55, y), (4.9, 1.35), private, KINDS[kind], text=TEXT)
        panel(axis, (7.9, y), (4.2, 1.35), leak, KINDS["leak"], text=TEXT)
        if i:
            arrow(axis, (2.55, y + 1.4), (2.55, y + 0.72), **ARROW)
    return figure
