"""Figures and drawings of the chapter on scale. They draw what they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpnb.arrays import Floats, Ints
from dpnb.domain import Domain
from dpnb.trees.tree import Tree

from .audit import KINDS, PAST_THE_DOOR
from .common import LINES, MARKERS, SIZE, WIDTH, arrow, box, legend_below, look_of, say, sheet, ticks


def draw_one_pass(
    values: Floats, block: Ints, counts: Floats, tree: Tree, domain: Domain, *, names: Sequence[str]
) -> Figure:
    """Records as dots, the counts of one attribute by block, and the tree that follows from their sum.

    Parameters
    ----------
    values : (n, 2) two values of each record.
    block : (n,) its block.
    counts : (blocks, bins) records of each block in each bin.
    tree : the tree.
    names : of the two values and of the attribute that is counted.
    """
    figure, axes = plt.subplot_mosaic("ab;cc", figsize=(WIDTH, 5.6))
    left, right = axes["a"], axes["b"]
    bottom = np.zeros(counts.shape[1])
    colours = [f"C{k}" for k in (0, 1, 2, 3, 4, 5, 7)]  # C6 looks like C4
    for b, own in enumerate(counts):
        right.bar(np.arange(len(own)), own, bottom=bottom, color=colours[b], width=1.0, linewidth=0)
        bottom = bottom + own
    some = slice(None, None, 1 + len(values) // 2500)  # what a panel has room for
    left.scatter(
        values[some, 0],
        values[some, 1],
        s=4,
        linewidths=0,
        c=[colours[b] for b in block[some]],
        rasterized=True,
    )
    left.set(title="records, in blocks", xlabel=names[0], ylabel=names[1])
    right.set(title="counts, added up", xlabel=f"bin of {names[2]}", ylabel="records")
    draw_tree(axes["c"], tree, domain)
    return figure


def draw_tree(axis: Axes, tree: Tree, domain: Domain) -> None:
    """The first two levels of a binary tree: at each node its condition; the left branch is where it holds."""
    axis.set(xlim=(0, 10), ylim=(0, 1))
    axis.axis("off")
    (_, left), (_, right) = tree.children(0, domain)
    places = {0: (5.0, 0.88), left: (2.4, 0.47), right: (7.6, 0.47)}
    boxes = {}
    for node, (x, y) in places.items():
        (condition, _), _ = tree.children(node, domain)
        boxes[node] = box(
            axis, (x, y), condition.replace(" = ", " =\n").replace(" ≤ ", "\n≤ "), KINDS["noisy"]
        )
    for node, side, answer in ((left, "right", "yes  "), (right, "left", "  no")):
        arrow(axis, boxes[0], boxes[node])
        axis.text((5 + places[node][0]) / 2, 0.7, answer, ha=side, fontsize=SIZE)
        for shift in (-1.2, 1.2):
            more = say(axis, places[node][0] + shift, 0.1, "…", fontsize=14)
            arrow(axis, boxes[node], more)


def draw_pass() -> Figure:
    """One pass over blocks of records: tasks count, a lost one is repeated, the driver alone draws noise."""
    figure, axis = sheet(4.8, x=(0, 10))
    rows = (0.93, 0.7, 0.47)
    blocks = [box(axis, (1.2, y), f"block {i + 1}\nof records", KINDS["exact"]) for i, y in enumerate(rows)]
    tasks = [box(axis, (4.6, y), "task:\ncounts", KINDS["exact"]) for y in rows]
    total = box(axis, (8.3, rows[1]), "sum of\ntables", KINDS["exact"])
    for records, task in zip(blocks, tasks, strict=True):
        arrow(axis, records, task)
        arrow(axis, task, total)
    lost = box(axis, (4.6, 0.24), "first attempt:\nthrown away", KINDS["leak"])
    arrow(axis, blocks[2], lost, **PAST_THE_DOOR)
    driver = box(axis, (8.3, 0.3), "driver: noise,\nchoice, ledger", KINDS["noisy"])
    model = box(axis, (8.3, 0.06), "model", KINDS["noisy"])
    arrow(axis, total, driver)
    arrow(axis, driver, model)
    seen = box(axis, (1.9, 0.06), "operator, logs,\nerror messages", KINDS["leak"])
    arrow(axis, blocks[2], seen, **PAST_THE_DOOR)
    return figure


def plot_sums(sums: Mapping[str, Floats]) -> Figure:
    """Sums of the same weights in several orders, as differences from the first, in units of 10⁻⁹.

    Parameters
    ----------
    sums : name → (orders,) sums.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.0))
    for i, (name, values) in enumerate(sums.items()):
        off = 1e9 * (values - values[0])
        axis.plot(np.arange(len(values)), off, MARKERS[i], color=f"C{i}", label=name, markersize=7)
    axis.set(xlabel="order of the records", ylabel="sum less the first, 10⁻⁹")
    axis.set_xticks(range(0, len(values), 5))
    legend_below(figure, 2)
    return figure


def plot_passes(passes: Mapping[str, Floats]) -> Figure:
    """Seconds of each pass of each model.

    Parameters
    ----------
    passes : model → (passes,) seconds.
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.5))
    for i, (name, seconds) in enumerate(passes.items()):
        every = 1 + len(seconds) // 25
        look = look_of(i, markersize=None)
        axis.plot(np.arange(1, len(seconds) + 1), seconds, markevery=every, label=name, **look)
    axis.set(xlabel="pass", ylabel="seconds", ylim=(0, None), xscale="log")
    longest = max(map(len, passes.values()))
    ticks(axis, x=[n for n in (1, 2, 5, 10, 20, 50, 100, 200) if n <= longest])
    legend_below(figure, 2)
    return figure


def plot_billion(guesses: pd.DataFrame) -> Figure:
    """Predicted minutes by number of machines, split into reading and waiting.

    Parameters
    ----------
    guesses : columns model, machines, "reading, s" and "waiting, s".
    """
    figure, axis = plt.subplots(figsize=(WIDTH, 3.6))
    for i, (name, rows) in enumerate(guesses.groupby("model", sort=False)):
        both = (rows["reading, s"] + rows["waiting, s"]) / 60
        look: dict[str, Any] = {"marker": MARKERS[i], "color": f"C{i}"}
        axis.plot(rows["machines"], both, LINES[i], label=str(name), **look)
        fixed = f"{name}: fixed part alone"
        axis.plot(
            rows["machines"], rows["waiting, s"] / 60, ":", markerfacecolor="white", label=fixed, **look
        )
    axis.set(xscale="log", yscale="log", xlabel="machines of two cores", ylabel="minutes")
    ticks(axis, x=sorted(guesses["machines"].unique()), y=[0.01, 0.1, 1, 10, 100])
    legend_below(figure, 2, fontsize=SIZE)
    return figure
