"""Figures are shown, and where their artists do not show what a reader will take them for, that is said."""

from __future__ import annotations

import re
import sys
from base64 import b64encode
from io import BytesIO, StringIO

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from dpnb.arrays import Floats

from .narrow import narrow, pixels
from .words import unreadable

NARROW = "narrow"  # in an output's metadata: the layout for telephones
TOLD = 3  # faults of a figure that a reader is told


def show() -> None:
    """Show the current figure as SVG; beside it, its layout for telephones.

    Jupyter shows no SVG of a notebook that a reader has not run yet, so there is a small PNG as well.

    What :func:`faults` finds in either layout is told to the reader in a sentence below the figure, on the channel of
    errors: a notebook of the book prints nothing there, so nbval fails, and nothing is stored.
    """
    figure = plt.gcf()
    found = faults(figure)
    wide = {"text/plain": str(figure), "image/svg+xml": svg(figure), "image/png": png(figure)}
    other = {}
    if narrow(figure):
        found += [f"on a telephone, {fault}" for fault in faults(figure) if fault not in found]
        other[NARROW] = svg(figure)
    plt.close(figure)
    display(wide, metadata=other, raw=True)  # type: ignore[no-untyped-call]
    if found:
        more = f"; and {len(found) - TOLD} more" if len(found) > TOLD else ""
        print(f"This figure may mislead: {'; '.join(found[:TOLD])}{more}.", file=sys.stderr)


def png(figure: Figure) -> str:
    """A figure as a PNG of 64 colours, in base 64."""
    drawn, small = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png", dpi=100)
    Image.open(drawn).convert("RGB").quantize(64).save(small, format="png", optimize=True)
    return b64encode(small.getvalue()).decode()


def svg(figure: Figure) -> str:
    """A figure as SVG whose text is text, the same from run to run; without what a page does not need."""
    file = StringIO()
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "private trees"}):
        figure.savefig(
            file, format="svg", dpi=120, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
        )
    text = file.getvalue()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = text[text.index("<svg") :].replace("<svg", '<svg stroke-linejoin="round"', 1)
    used = set(re.findall(r"#([\w-]+)[)\"]", text))
    text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in used else "", text)
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r"\d+\.\d{3,}", _short, tag[0]), text).strip()


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def faults(figure: Figure) -> list[str]:
    """List what would mislead: lines that turn back, bands off their line, looks used twice, words that are hidden."""
    found = []
    for number, axis in enumerate(figure.axes):
        if not axis.axison:  # a drawing
            continue
        lines = [line for line in axis.lines if _is_curve(line)]
        place = f"panel {number}"
        found += [f"{place}: '{line.get_label()}' runs backwards in x" for line in lines if _turns_back(line)]
        found += [f"{place}: a band of colour {band}" for band in _stray_bands(axis, lines)]
        found += [f"{place}: {twins} look the same" for twins in _same_looks(axis)]
        found += [f"{place}: no label on the axis {name}" for name in _bare_axes(axis)]
    return found + _unnamed(figure) + unreadable(figure, pixels=pixels(figure))


def _points(line: Line2D) -> Floats:
    """Points of a line, (n, 2)."""
    points: Floats = np.asarray(line.get_xydata(), float)
    return points


def _is_curve(line: Line2D) -> bool:
    """Whether a line joins data: not only markers, and no reference line right across the panel."""
    joined = line.get_linestyle() not in ("None", "none", " ", "")
    across = line.get_transform() != line.axes.transData  # type: ignore[union-attr]
    return joined and not across and len(_points(line)) > 1


def _turns_back(line: Line2D) -> bool:
    x = _points(line)[:, 0]
    x = x[~np.isnan(x)]
    return bool((np.diff(x) < 0).any())


def _stray_bands(axis: Axes, lines: list[Line2D]) -> list[str]:
    """Colours of the bands that hold no line of their colour: all its points have to be in the band."""
    colours = {to_hex(line.get_color()) for line in lines}
    stray = []
    for band in axis.collections:
        if not isinstance(band, PolyCollection):
            continue
        colour = to_hex(np.asarray(band.get_facecolor())[0])
        mine = [line for line in lines if to_hex(line.get_color()) == colour]
        if colour in colours and not any(_inside(line, band) for line in mine):
            stray.append(f"{colour} is not around a line of that colour")
    return stray


def _inside(line: Line2D, band: PolyCollection) -> bool:
    """Whether a line's points lie between the lowest and the highest corner of the band at their x."""
    corners = np.concatenate([path.vertices for path in band.get_paths()])
    for x, y in _points(line):
        at = corners[np.isclose(corners[:, 0], x), 1]
        if at.size and not at.min() - 1e-9 <= y <= at.max() + 1e-9:
            return False
    return bool(np.isclose(corners[:, :1], _points(line)[:, 0]).any())


def _same_looks(axis: Axes) -> list[str]:
    """Pairs of labelled series that a reader cannot tell apart."""
    seen: dict[tuple[str, ...], str] = {}
    twins = []
    for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
        if (line := _line_of(handle)) is None:
            continue
        look = to_hex(line.get_color()), str(line.get_linestyle()), str(line.get_marker())
        if look in seen:
            twins.append(f"'{seen[look]}' and '{label}'")
        seen[look] = label
    return twins


def _bare_axes(axis: Axes) -> list[str]:
    """Axes with numbers that nothing names; a neighbour that shares the axis may carry the label."""
    bare = []
    for name, shared in (("x", axis.get_shared_x_axes()), ("y", axis.get_shared_y_axes())):
        family = shared.get_siblings(axis)
        words = [getattr(other, f"get_{name}label")() for other in family]
        ticks = [t.get_text() for t in getattr(axis, f"get_{name}ticklabels")()]
        numbers = any(text and not any(letter.isalpha() for letter in text) for text in ticks)
        if numbers and not any(words):
            bare.append(name)
    return bare


def _unnamed(figure: Figure) -> list[str]:
    """Colours of curves that neither a legend nor words at an end explain, where there is more than one colour."""
    named = set()
    legends = [*figure.legends, *filter(None, (axis.get_legend() for axis in figure.axes))]
    said = {text.get_text() for legend in legends for text in legend.get_texts()}
    for axis in figure.axes:
        at_ends = {text.get_text().replace("\n", " ") for text in axis.texts}
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            if (line := _line_of(handle)) is not None and label in said | at_ends:
                named.add(to_hex(line.get_color()))
    drawn = {
        to_hex(line.get_color())
        for axis in figure.axes
        if axis.axison
        for line in axis.lines
        if _is_curve(line)
    }
    missing = drawn - named
    return (
        [f"no legend explains the colours {', '.join(sorted(missing))}"] if missing and len(drawn) > 1 else []
    )


def _line_of(handle: object) -> Line2D | None:
    """Line of a legend's handle, if it has one: an error bar carries it as its first part."""
    line = handle if isinstance(handle, Line2D) else (getattr(handle, "lines", None) or (None,))[0]
    return line if isinstance(line, Line2D) else None
