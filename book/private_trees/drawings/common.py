"""What drawings of all chapters are made of: an empty sheet, boxes with words, and arrows from edge to edge."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text
from numpy.typing import NDArray

from dpnb.arrays import Floats

from .colours import readable

WIDTH = 5.3  # inches of a figure: a telephone of 390 px shows no less than 60 % of it
SIZE = 10  # points of the text in a drawing, and of what stands beside axes
INK = "0.25"  # grey of arrows
LEAK = "C3"  # colour of what leaves without noise
SMALLER = "x-small"  # size of the text in narrow panels
NO_BREAK = "\N{NO-BREAK SPACE}"
ERROR_BARS = 2.0  # standard errors
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
HATCHES = ("", "//", "..", "xx", "\\\\", "++")

Look = Mapping[str, Any]
"""Frame of a box: ``facecolor``, ``edgecolor``, ``linewidth`` and so on."""
Point = tuple[float, float]


def sheet(
    height: float, *, width: float = WIDTH, x: Point | None = (0, 1), y: Point | None = (0, 1)
) -> tuple[Figure, Axes]:
    """An empty drawing without axes.

    Parameters
    ----------
    height, width : inches.
    x, y : limits of the coordinates; None leaves them open.
    """
    figure, axis = plt.subplots(figsize=(width, height))
    axis.axis("off")
    if x is not None:
        axis.set_xlim(x)
    if y is not None:
        axis.set_ylim(y)
    return figure, axis


def box(
    axis: Axes, at: Point, words: str, look: Look, *, size: float | str = SIZE, pad: float = 0.45
) -> Text:
    """A box that is as large as its words need.

    Parameters
    ----------
    axis : of the drawing.
    at : its middle.
    words : in the box.
    look : of the frame.
    size : of the words, in points or by name.
    pad : room around the words, in units of their size.
    """
    frame = {"boxstyle": f"round,pad={pad:g}", **look}
    return axis.text(*at, words, ha="center", va="center", fontsize=size, bbox=frame, zorder=3)


def panel(axis: Axes, middle: Point, size: Point, words: str, look: Look, *, text: float = SIZE) -> None:
    """A box of a given size, for columns of boxes that are equally wide.

    Parameters
    ----------
    axis : of the drawing.
    middle, size : in its coordinates.
    words : in the box.
    look : of the frame.
    text : size of the words, in points.
    """
    corner = middle[0] - size[0] / 2, middle[1] - size[1] / 2
    axis.add_patch(FancyBboxPatch(corner, *size, boxstyle="round,pad=0,rounding_size=0.12", **look))
    axis.text(*middle, words, ha="center", va="center", fontsize=text)


def arrow(
    axis: Axes,
    first: Text | Point,
    second: Text | Point,
    *,
    onto: Point | None = None,
    zorder: float | None = None,
    **look: Any,
) -> None:
    """An arrow between the edges of boxes, or from and to points.

    Parameters
    ----------
    axis : of the drawing.
    first, second : where it starts and ends.
    onto : point of the second box that it aims at, if that is not its middle.
    zorder : of the arrow, if it is not that of other arrows.
    **look : what is unlike other arrows, as ``color`` or ``linewidth``.
    """
    style: dict[str, Any] = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 2}
    ends = []
    for end, patch in ((first, "patchA"), (second, "patchB")):
        if isinstance(end, Text):
            style[patch] = end.get_bbox_patch()
            ends.append(end.get_position())
        else:
            ends.append(end)
    drawn = axis.annotate("", xy=onto or ends[1], xytext=ends[0], arrowprops=style | look)
    if zorder is not None:
        drawn.set_zorder(zorder)


# --- Panels, lines and legends --------------------------------------------------------------------------------


def panel_grid(
    rows: int, columns: int, size: tuple[float, float], **shared: Any
) -> tuple[Figure, NDArray[np.object_]]:
    """Figure of panels, each ``size`` inches wide and high, and the panels, (rows, columns)."""
    inches = (size[0] * columns, size[1] * rows)
    figure, axes = plt.subplots(rows, columns, figsize=inches, squeeze=False, **shared)
    return figure, axes


def look_of(index: int, **other: Any) -> dict[str, Any]:
    """Colour, line and marker of the ``index``-th of several things."""
    look = {
        "color": f"C{index}",
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": LINES[index % len(LINES)],
        "markersize": 5,
    }
    return look | other


def draw_levels(axis: Axes, levels: Mapping[str, float]) -> None:
    """Horizontal lines, name → height."""
    for style, (name, value) in zip(LINES[1:] * 2, levels.items(), strict=False):
        axis.axhline(value, color="0.3", linestyle=style, linewidth=1.2, label=name)


def legend_below(
    figure: Figure, columns: int, *, order: Iterable[str] | None = None, fontsize: float | str | None = None
) -> None:
    """One legend below for what any panel shows, in the order given."""
    found: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    names = [name for name in order or found if name in found]
    handles = [found[name] for name in names]
    figure.legend(handles, names, loc="outside lower center", ncols=columns, fontsize=fontsize)


def label_ends(figure: Figure, *, length: int = 15) -> None:
    """Write the names of lines at their right ends, moved apart so that they do not touch, in place of a legend.

    Parameters
    ----------
    figure : its panels stand below each other.
    length : letters of a line of a name.
    """
    for axis in figure.axes:
        axis.autoscale_view()
        lines = zip(*axis.get_legend_handles_labels(), strict=True)
        ends = {name: getattr(handle, "lines", [handle])[0] for handle, name in lines}
        low_to_high = sorted(ends, key=lambda name: _end(ends[name])[1])
        names = [wrapped(name, length) for name in low_to_high]
        heights = np.array([(name.count("\n") + 1) * 10.5 for name in names])  # points
        room = 72 * figure.get_figheight() * axis.get_position().height
        wanted = [axis.transData.transform(_end(ends[name])) for name in low_to_high]
        at = _apart(room * axis.transAxes.inverted().transform(wanted)[:, 1], heights)
        for name, key, y in zip(names, low_to_high, at / room, strict=True):
            colour = readable(ends[key].get_color())
            lead = {
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.8,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            }
            axis.annotate(
                name, _end(ends[key]), (1.05, y), textcoords="axes fraction", va="center", fontsize=SMALLER,
                color=colour, arrowprops=lead, linespacing=1.0,
            )  # fmt: skip


def _end(line: Line2D) -> Point:
    """The last point of a line; a line across the panel ends at the panel's edge."""
    points, axis = np.asarray(line.get_xydata(), float), line.axes
    assert axis is not None
    x, y = points[~np.isnan(points).any(axis=1)][-1]
    across = line.get_transform() != axis.transData
    return (axis.get_xlim()[1] if across else float(x)), float(y)


def _apart(wanted: Floats, heights: Floats) -> Floats:
    """Heights near those wanted, increasing, at which boxes of these heights do not touch."""
    gaps = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2)])
    # Without the gaps the order is all that is asked for: the mean of least squares of each pool of neighbours.
    pools: list[list[float]] = []
    for value in wanted - gaps:
        pools.append([value])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    found: Floats = np.concatenate([np.full(len(pool), np.mean(pool)) for pool in pools]) + gaps
    return found


def dotted(axis: Axes, *, x: float | None = None, y: float | None = None) -> None:
    """A dotted line across the panel: a claim, or what is allowed."""
    look: dict[str, Any] = {"color": "black", "linestyle": ":", "linewidth": 1.4}
    if x is not None:
        axis.axvline(x, **look)
    if y is not None:
        axis.axhline(y, **look)


def ticks(
    axis: Axes, x: Sequence[float] = (), y: Sequence[float] = (), *, last: str = "", **look: Any
) -> None:
    """Ticks at these numbers and no others, also on a logarithmic axis; ``last`` is a word for the last one."""
    for values, place in ((x, axis.set_xticks), (y, axis.set_yticks)):
        if len(values):
            names = [f"{value:g}" for value in values]
            place(list(values), [*names[:-1], last or names[-1]], **look)
    axis.minorticks_off()


def rows(axis: Axes, names: Iterable[str], *, length: int | None = None) -> Floats:
    """Name the rows of a panel from top to bottom, in lines of about ``length`` letters; returns their heights."""
    labels = [name if length is None else wrapped(name, length) for name in names]
    height = np.arange(len(labels), dtype=float)[::-1]
    axis.set_yticks(height, labels, fontsize=SIZE)
    axis.grid(axis="y", visible=False)
    return height


def panels_of_rows(
    groups: Mapping[str, Any], *, row: float, rest: float
) -> tuple[Figure, list[tuple[Axes, Any]]]:
    """A titled panel for each group that has rows, one below the other on the same horizontal axis.

    Parameters
    ----------
    groups : title → what the rows show, one each.
    row, rest : inches of a row, and of all that stands around the rows.
    """
    shown = {title: own for title, own in groups.items() if len(own)}
    sizes = [len(own) for own in shown.values()]
    size = (WIDTH, row * sum(sizes) + rest)
    figure, axes = plt.subplots(len(shown), sharex=True, squeeze=False, height_ratios=sizes, figsize=size)
    for axis, title, count in zip(axes.flat, shown, sizes, strict=True):
        axis.set_title(title, loc="left", fontsize=SIZE)
        axis.set_ylim(-0.6, count - 0.4)
    return figure, list(zip(axes.flat, shown.values(), strict=True))


def together(name: str) -> str:
    """A name with NO_BREAK around "=", after numbers and before a last one, where no line should end."""
    return re.sub(r"(?<==) | (?==)|(?<=\d) (?=[a-z%])| (?=\d+$)", NO_BREAK, name)


def wrapped(name: str, length: int) -> str:
    """A name in lines of about so many letters."""
    lines = [""]
    for word in together(name).split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= length:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines).replace(NO_BREAK, " ")


def say(axis: Axes, x: float, y: float, words: str, **look: Any) -> Text:
    """Words whose middle is at a point."""
    return axis.text(x, y, words, **{"ha": "center", "va": "center", **look})


def small(
    axis: Axes, *, title: str = "", x: str = "", y: str = "", size: str = "small", pad: float | None = None
) -> None:
    """Title, labels and numbers of a narrow panel."""
    if title:
        axis.set_title(title, fontsize="small", pad=pad)
    if x:
        axis.set_xlabel(x, fontsize="small")
    if y:
        axis.set_ylabel(y, fontsize=size)
    axis.tick_params(labelsize=SMALLER)


def draw_curve(axis: Axes, curve: pd.DataFrame, *, index: int, label: str) -> None:
    """One line with a band of two standard errors, in the ``index``-th look."""
    axis.plot(curve["epsilon"], curve["mean"], label=label, **look_of(index))
    low, high = curve["mean"] - curve["error"], curve["mean"] + curve["error"]
    axis.fill_between(curve["epsilon"], low, high, color=f"C{index}", alpha=0.2, linewidth=0)


def draw_columns(axis: Axes, table: pd.DataFrame) -> None:
    """A line a column of a table against its index."""
    for i, (name, values) in enumerate(table.items()):
        axis.plot(table.index, values, label=str(name), **look_of(i))


def draw_dots(axis: Axes, points: pd.DataFrame, steps: Sequence[str], *, gap: float) -> None:
    """Means with error bars in the rows of their ``method``, a marker for each ε."""
    budgets = sorted(points["epsilon"].unique())
    for i, epsilon in enumerate(budgets):
        rows = points[points["epsilon"] == epsilon]
        at = rows["method"].map(steps.index) + gap * (i - (len(budgets) - 1) / 2)
        name = "no noise" if np.isinf(epsilon) else f"claimed ε = {epsilon:g}"
        axis.errorbar(rows["mean"], at, xerr=rows["error"], label=name, **look_of(i, linestyle="none"))


def epsilon_axis(axis: Axes, epsilons: Iterable[float], label: str) -> None:
    """A logarithmic axis of ε, whose labels keep apart."""
    axis.set_xscale("log")
    names: list[str] = []
    ticks, labelled = sorted(epsilons), np.inf
    for epsilon in reversed(ticks):  # labels that would overlap are left out
        names.append(f"{epsilon:g}" if labelled / epsilon > 1.3 else "")
        labelled = epsilon if names[-1] else labelled
    axis.set_xticks(ticks, names[::-1], rotation=45)
    axis.minorticks_off()
    axis.set_xlabel(label)
