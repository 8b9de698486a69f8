"""What drawings of all chapters are made of: an empty sheet, boxes with words, and arrows from edge to edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

WIDTH = 5.3  # inches of a figure: a telephone of 390 px shows no less than 60 % of it
SIZE = 10  # points of the text in a drawing
INK = "0.25"  # grey of arrows
LEAK = "C3"  # colour of what leaves without noise

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
