"""Words of a figure that cannot be read: struck through, on other words, off the canvas, or too small."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Bbox, BboxBase, Transform

from dpnb.arrays import Floats

SLACK = 0.7  # points by which boxes may touch
FAINT = 0.3  # opacity, and darkness of a grid
LEAST = 9.0  # pixels of letters


def unreadable(figure: Figure, *, pixels: float) -> list[str]:
    """List what hides a figure's words, and words that are too small.

    Parameters
    ----------
    figure : any.
    pixels : of its width on the narrowest page that shows it.
    """
    drawn = _Drawn(figure)
    box = Path(np.array(drawn.get_canvas_width_height()) * [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
    least = LEAST * 72 * figure.get_figwidth() / pixels  # points
    small = sorted({f"'{words}'" for words, size, _ in drawn.texts.values() if size < least - 0.05})
    found = [f"smaller than {least:.1f} points: {', '.join(small)}"] if small else []
    for number, (words, _, quad) in drawn.texts.items():
        if not box.contains_points(_points(quad)).all():
            found.append(f"'{words}' leaves the canvas")
        if any(drawn.strikes(stroke, number, quad) for stroke in drawn.near(quad)):
            found.append(f"'{words}' is struck through")
    for (_, (first, _, a)), (_, (second, _, b)) in combinations(drawn.texts.items(), 2):
        if _overlap(_points(a), _points(b)):
            found.append(f"'{first}' is on '{second}'")
    return found


def _points(path: Path) -> Floats:
    return np.asarray(path.vertices, float)


def _overlap(a: Floats, b: Floats) -> bool:
    """Whether two boxes, (5, 2) corners, share a point: no side of either lies between them."""
    sides = np.concatenate([np.diff(a, axis=0), np.diff(b, axis=0)])
    of_a, of_b = (corners @ (sides[:, ::-1] * [1, -1]).T for corners in (a, b))
    return bool(((of_a.max(axis=0) > of_b.min(axis=0)) & (of_b.max(axis=0) > of_a.min(axis=0))).all())


class _Shape(NamedTuple):
    """A line or a filled shape; ``number`` is its place in the order of drawing."""

    number: int
    path: Path
    seen: BboxBase
    line: bool
    opaque: bool


class _Drawn(RendererBase):
    """What a figure draws, in its order, in points from its lower left corner."""

    def __init__(self, figure: Figure) -> None:
        super().__init__()
        self.texts: dict[int, tuple[str, float, Path]] = {}
        self.shapes: list[_Shape] = []
        self._size = tuple(72 * figure.get_size_inches())
        self._groups: list[str] = []
        dpi, figure.dpi = figure.dpi, 72
        figure.draw(self)
        figure.dpi = dpi
        self._seen = np.array([shape.seen.extents for shape in self.shapes]).reshape(-1, 4)

    def get_canvas_width_height(self) -> tuple[float, float]:
        return self._size

    def flipy(self) -> bool:
        return False

    def open_group(self, s: str, gid: str | None = None) -> None:
        self._groups.append(s)

    def close_group(self, s: str) -> None:
        self._groups.pop()

    def draw_image(self, *_: Any, **__: Any) -> None:
        pass

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None
    ) -> None:
        inked = gc.get_linewidth() > 0 and min(gc.get_alpha(), gc.get_rgb()[3]) >= FAINT
        pale = min(to_rgb(gc.get_rgb())) > 1 - FAINT / 2
        line = inked and not pale and not {"xtick", "ytick"} & {*self._groups}
        opaque = rgbFace is not None and min([gc.get_alpha(), *rgbFace[3:]]) == 1
        if line or opaque:
            flat = path.cleaned(transform=transform, remove_nans=True, curves=False)
            placed = Path(_points(flat)[:-1], np.asarray(flat.codes)[:-1])  # without the mark of its end
            seen = placed.get_extents()
            if (clip := gc.get_clip_rectangle()) is not None:
                seen = Bbox.intersection(seen, clip) or Bbox.null()
            self.shapes.append(_Shape(self._next(), placed, seen, line, opaque))

    def draw_text(
        self,
        gc: Any,
        x: float,
        y: float,
        s: str,
        prop: Any,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        width, height, descent = self.get_text_width_height_descent(s, prop, ismath)
        low, high = SLACK - descent, height - descent - SLACK
        corners = np.array(
            [[SLACK, low], [width - SLACK, low], [width - SLACK, high], [SLACK, high], [SLACK, low]]
        )
        turned = Affine2D().rotate_deg(angle).translate(x, y).transform(corners)
        if s.strip():
            self.texts[self._next()] = s, prop.get_size_in_points(), Path(turned)

    def _next(self) -> int:
        return len(self.texts) + len(self.shapes)

    def near(self, quad: Path) -> list[_Shape]:
        """Lines whose box meets that of some words."""
        box, own = quad.get_extents(), self._seen
        meets = (own[:, :2] <= box.max).all(axis=1) & (own[:, 2:] >= box.min).all(axis=1)
        return [self.shapes[i] for i in np.flatnonzero(meets) if self.shapes[i].line]

    def strikes(self, stroke: _Shape, text: int, quad: Path) -> bool:
        """Whether a line is seen across words: it meets their box, and nothing opaque lies between them."""
        inside = quad.contains_points(_points(stroke.path)[:1]).any()
        if not (inside or stroke.path.intersects_path(quad, filled=False)):
            return False
        papers = (s for s in self.shapes if s.opaque and stroke.number < s.number < text)
        return not any(paper.path.contains_points(_points(quad)).all() for paper in papers)
