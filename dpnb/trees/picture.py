"""The drawing of a tree: boxes that never touch, and a figure that is large enough for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..domain import Domain
from ..records.splits import BINNED, LEAF, MULTIWAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .tree import Tree

MOST = 16  # boxes in a row
SIZE, PAD, GAP, EDGE = 10, 4, 8, 44  # points of letters, around them, between boxes, and between levels
FRAME = {"boxstyle": "round", "fc": "white", "ec": "0.4"}


@dataclass
class _Box:
    """A node as it is drawn."""

    node: int  # its number
    level: int = 0  # number of nodes above it
    answer: str = ""  # on the edge from the node above
    # Where the answer stands on that edge, from its upper end; far down where many edges begin.
    at: float = 0.5
    words: str = ""  # in the box
    below: list[_Box] = field(default_factory=list)  # its children
    # width, height: of the box, in points.
    width: float = 0.0
    height: float = 0.0
    slot: float = 0.0  # width of all that hangs from it
    left: float = 0.0  # where the slot begins


def draw(tree: Tree, domain: Domain, *, ax: Axes, max_depth: int) -> None:
    """Draw the upper levels of a tree; see :meth:`Tree.plot`."""
    ax.set_axis_off()
    boxes = _boxes(tree, domain, max_depth)
    _set_side_by_side(ax, boxes)
    levels = range(boxes[-1].level + 1)
    tall = [max(box.height for box in boxes if box.level == k) for k in levels]
    width, height = _room(ax, boxes[0].slot, sum(tall) + EDGE * levels[-1] + GAP)
    edge = (height - GAP - sum(tall)) / max(levels[-1], 1)
    rows = [height - GAP / 2 - sum(tall[:k]) - tall[k] / 2 - edge * k for k in levels]
    place = {box.node: ((box.left + box.slot / 2) * width / boxes[0].slot, rows[box.level]) for box in boxes}
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SIZE}
    for box in boxes:
        x, y = place[box.node]
        ax.annotate(literal(box.words), (x, y), bbox=FRAME, **style)
        for child in box.below:
            (to_x, to_y), low = place[child.node], y - box.height / 2
            fall = low - (to_y + child.height / 2)
            ax.plot([x, to_x], [low, low - fall], color="0.5", lw=1, zorder=1)
            middle = x + child.at * (to_x - x), low - child.at * fall
            ax.annotate(literal(child.answer), middle, backgroundcolor="white", **style)
    ax.set(xlim=(0, width), ylim=(0, height))


def _boxes(tree: Tree, domain: Domain, max_depth: int) -> list[_Box]:
    """List the boxes level by level, each with its words and with what hangs from it."""
    leaves = tree.leaves_below(domain)
    boxes, row = [_Box(0)], 1
    for box in boxes:  # it grows
        kind, children = tree.splits.kind[box.node], tree.children(box.node, domain)
        if kind == LEAF:
            box.words = tree.describe(box.node, domain).replace(", ", "\n")
            continue
        many, name = kind in (MULTIWAY, BINNED), domain.names[tree.splits.attribute[box.node]]
        deep, full = box.level >= max_depth, row + len(children) - 1 > MOST
        if deep or full:
            box.words = f"{leaves[box.node]} leaves" if deep else f"{name}\n{leaves[box.node]} leaves"
            continue
        row += len(children) - 1
        box.words = name if many else children[0][0]
        answers = [test.split(" = ")[-1] for test, _ in children] if many else ["yes", "no"]
        for (_, node), answer in zip(children, answers, strict=True):
            box.below.append(_Box(node, box.level + 1, answer, 0.75 if many else 0.5))
        boxes += box.below
    return boxes


def _set_side_by_side(ax: Axes, boxes: list[_Box]) -> None:
    """Give each box its size and a slot of its own, which holds the slots of its children."""
    for box in reversed(boxes):
        box.width, box.height = _size(ax, box.words)
        answer = (_size(ax, box.answer)[0] + GAP) / box.at
        box.slot = max(box.width + GAP, answer, sum(child.slot for child in box.below))
    for box in boxes:
        left = box.left + (box.slot - sum(child.slot for child in box.below)) / 2
        for child in box.below:
            child.left, left = left, left + child.slot


def _size(ax: Axes, words: str) -> tuple[float, float]:
    """Width and height of words in their frame."""
    text = ax.annotate(literal(words), (0, 0), fontsize=SIZE)
    extent, points = text.get_window_extent(), 72 / ax.figure.dpi
    text.remove()
    return extent.width * points + 2 * PAD, extent.height * points + 2 * PAD


def _room(ax: Axes, width: float, height: float) -> tuple[float, float]:
    """Width and height of the axes, after the figure has grown if they lack any."""
    figure = ax.figure.figure

    def has() -> tuple[float, float]:
        figure.draw_without_rendering()
        return ax.bbox.width * 72 / figure.dpi, ax.bbox.height * 72 / figure.dpi

    room = has()
    if room[0] < width or room[1] < height:
        figure.set_figwidth(figure.get_figwidth() * max(1.0, width / room[0]))
        figure.set_figheight(figure.get_figheight() * max(1.0, height / room[1]))
        room = has()
    return room


def literal(value: object) -> str:
    """A text that matplotlib shows as it is: a dollar starts no formula."""
    return str(value).replace("$", r"\$")
