"""The second layout of a figure, for telephones: panels below each other, and words in shorter lines.

Letters keep their size. A drawing without axes has one layout, which a telephone shows smaller.
"""

from __future__ import annotations

import re
from itertools import pairwise
from math import inf
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text

from ..drawings.common import NO_BREAK, legend_below, together

WIDTH = 3.7  # inches
WIDEST = 5.5  # inches of a drawing that a telephone shows as a whole; a wider one scrolls
LONGEST = 0.42  # share of the width that names of rows take
TELEPHONE, SCREEN = (
    358,
    560,
)  # pixels for a figure, on a page of 390 and where it is wide


def pixels(figure: Figure) -> int:
    """Width of a figure on the narrowest page that shows this layout of it."""
    wide = any(axis.axison for axis in figure.axes) and figure.get_figwidth() > WIDTH
    return SCREEN if wide or figure.get_figwidth() > WIDEST else TELEPHONE


def narrow(figure: Figure) -> bool:
    """Lay a figure out for telephones; returns whether it has panels, so that it could be done."""
    panels = [axis for axis in figure.axes if axis.get_subplotspec() is not None]
    if not any(axis.axison for axis in panels):
        return False
    _stack(figure, panels)
    figure.set_figwidth(WIDTH)
    for axis in panels:
        _shorten_names(axis)
    figure.canvas.draw()
    _fit(figure)
    figure.set_figheight(figure.get_figheight() + sum(_lacking(figure, axis) for axis in panels))
    figure.canvas.draw()
    for axis in panels:
        _fold(axis.title, axis.bbox.width)
        _fold(axis.xaxis.label, axis.bbox.width)
        _fold(axis.yaxis.label, axis.bbox.height)
        _thin(figure, axis.xaxis)
    return True


def _stack(figure: Figure, panels: list[Axes]) -> None:
    """Put panels that stand side by side below each other, each as high as it was, with its own labels."""
    specs = [spec for axis in panels if (spec := axis.get_subplotspec()) is not None]
    grid = specs[0].get_gridspec()
    if grid.ncols == 1 or any(spec.get_gridspec() is not grid for spec in specs):
        return
    heights = [spec.rowspan.stop - spec.rowspan.start for spec in specs]
    figure.set_figheight(figure.get_figheight() * sum(heights) / grid.nrows)
    stacked = GridSpec(len(panels), 1, figure, height_ratios=heights)
    for number, axis in enumerate(panels):
        first = panels[max(k for k in range(number + 1) if specs[k].colspan.start == 0)]
        last = number + 1 == len(panels) or not axis.get_shared_x_axes().joined(axis, panels[number + 1])
        axis.set_subplotspec(stacked[number])
        if axis.axison:
            axis.set_ylabel(
                axis.get_ylabel() or first.get_ylabel(), fontsize=first.yaxis.label.get_fontsize()
            )
            axis.tick_params(labelleft=True, labelbottom=last)
            axis.xaxis.label.set_visible(last)


def _fit(figure: Figure) -> None:
    """Put all legends below the panels, in as few columns as they need to be no wider than the figure."""
    own = [legend for axis in figure.axes if (legend := axis.get_legend()) is not None]
    legends = [*own, *figure.legends]
    if not legends:
        return
    size = min(float(text.get_fontsize()) for legend in legends for text in legend.get_texts())
    names = [text.get_text() for legend in legends for text in legend.get_texts()]
    for legend in legends:
        legend.remove()
    for columns in (3, 2, 1):
        legend_below(figure, columns, order=list(dict.fromkeys(names)), fontsize=size)
        figure.canvas.draw()
        if figure.legends[0].get_window_extent().width <= figure.bbox.width or columns == 1:
            break
        figure.legends[0].remove()


def _shorten_names(axis: Axes) -> None:
    """Names of rows in more lines; a line that starts with a small letter goes on from the one above it."""
    labels = axis.get_yticklabels()
    if any(label.get_text()[:1].isalpha() for label in labels):
        size = float(labels[0].get_fontsize())
        whole = [re.sub(r"\n(?=[a-z])", " ", label.get_text()) for label in labels]
        names = [_lines(name, LONGEST * WIDTH * 72 / size / 0.6) for name in whole]
        axis.set_yticks(axis.get_yticks(), names, fontsize=size)


def _lacking(figure: Figure, axis: Axes) -> float:
    """Inches by which a panel is too low for the names of its rows."""
    lines = [label.get_text().count("\n") + 1 for label in axis.get_yticklabels()]
    if len(lines) < 2 or max(lines) == 1:
        return 0.0
    pair = max(first + second for first, second in pairwise(lines)) / 2
    low, high = sorted(axis.get_ylim())
    rows = (high - low) / np.abs(np.diff(axis.get_yticks())).min()
    needed = rows * pair * 1.3 * float(axis.get_yticklabels()[0].get_fontsize()) / 72
    return max(0.0, float(needed - axis.bbox.height / figure.dpi))


def _fold(text: Text, room: float) -> None:
    """Break a text into lines that are no longer than the room for them."""
    box = text.get_window_extent()
    length = max(box.width, box.height)
    if text.get_text().count(" ") and length > room:
        text.set_text(_lines(text.get_text(), len(text.get_text()) * room / length))


def _lines(words: str, letters: float) -> str:
    return "\n".join(
        line.replace(NO_BREAK, " ")
        for part in words.split("\n")
        for line in wrap(together(part), max(int(letters), 6), break_long_words=False, break_on_hyphens=False)
    )


def _thin(figure: Figure, axis: Axis) -> None:
    """Leave out labels of ticks that would touch the one before, or that would leave the canvas."""
    end = -inf
    labels = axis.get_ticklabels(which="both")
    for label in sorted(labels, key=lambda label: label.get_window_extent().x0):
        box = label.get_window_extent()
        slanted = label.get_rotation() != 0
        width = 1.8 * float(label.get_fontsize()) * figure.dpi / 72 if slanted else box.width + 3
        if label.get_text():
            kept = box.x1 - width >= end and box.x1 <= figure.bbox.width
            label.set_visible(kept)
            end = box.x1 if kept else end
