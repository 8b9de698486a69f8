"""Figures of notebooks as part of their page: in its colours, with letters that are text, and a layout for telephones.

The notebooks hold SVG in the colours of white paper. In the page each colour is a variable, whose value in the dark
has a little more contrast with the dark page than the colour has with white: what can be read in the light can be
read in the dark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from html import escape, unescape
from pathlib import Path
from typing import Any

from fontTools import subset
from matplotlib import font_manager
from sphinx.application import Sphinx

from private_trees.drawings.colours import contrast, with_contrast
from private_trees.site.figures import NARROW

PAPER, PAGE = "#ffffff", "#121212"  # grounds of figures in the light, and of the theme in the dark
PIXELS = 1.8  # of the page in a point of a figure
WIDEST = 688  # pixels of a figure, which then scrolls on a telephone
FACES = {"": {}, "-bold": {"weight": "bold"}, "-oblique": {"style": "oblique"}}
IMAGE = re.compile(r'<img [^>]*src="[^"]*?(\w{64})\.svg"[^>]*>')
COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def bundles(path: Path) -> Iterator[tuple[str, str | None]]:
    """SVG of a notebook's figures, and of their layouts for telephones."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if wide := "".join(output.get("data", {}).get("image/svg+xml", "")):
                yield wide, output["metadata"].get(NARROW)


def notebooks(app: Sphinx) -> Iterator[Path]:
    """Paths of the book's notebooks."""
    paths = (Path(app.env.doc2path(name)) for name in sorted(app.env.found_docs))
    return (path for path in paths if path.suffix == ".ipynb")


def embedded(svg: str, *, key: str, label: str, kind: str) -> str:
    """SVG as a page holds it.

    Parameters
    ----------
    svg : of a notebook.
    key : what its ids begin with, unlike any other figure of the book.
    label : what it shows, in words.
    kind : class of the element.
    """
    head, _, body = svg.partition(">")
    size = [float(x) for x in re.findall(r'viewBox="0 0 (\S+) ([^\s"]+)"', head)[0]]
    width, height = (round(min(PIXELS, WIDEST / size[0]) * x) for x in size)
    view = re.findall(r'viewBox="[^"]*"', head)[0]
    body = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{key}-", body)
    body = re.sub(r"<(?:[^>]*)>", lambda tag: COLOUR.sub(variable, tag[0]), body)
    look = f'class="vector-figure {kind}" {view} width="{width}" height="{height}"'
    figure = f'<svg {look} role="img" aria-label="{escape(label)}">{body}'
    if kind == "only" and width == WIDEST:
        return f'<div class="scrolls" tabindex="0" role="group" aria-label="Figure">{figure}</div>'
    return figure


def variable(colour: re.Match[str]) -> str:
    """A colour as a variable of the page, with its value on paper."""
    return f"var(--f-{colour[0][1:]},{colour[0]})"


def inline(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Put the figures of a notebook into its page, in place of the images that Sphinx writes."""
    path = Path(app.srcdir) / f"{pagename}.ipynb"
    if doctree is None or not path.is_file():
        return
    figures = {sha256(wide.encode()).hexdigest(): (wide, narrow) for wide, narrow in bundles(path)}
    seen: list[str] = []

    def replaced(image: re.Match[str]) -> str:
        wide, narrow = figures[image[1]]
        seen.append(image[1])
        key = f"f{image[1][:8]}{seen.count(image[1])}"
        label = unescape(re.findall(r'alt="([^"]*)"', image[0])[0])
        parts = [embedded(wide, key=key, label=label, kind="wide" if narrow else "only")]
        if narrow:
            parts.append(embedded(narrow, key=f"{key}n", label=label, kind="narrow"))
        return "".join(parts)

    context["body"] = IMAGE.sub(replaced, context["body"])
    for uri in [
        uri for uri in app.builder.images if Path(uri).stem in seen
    ]:  # no second copy beside the page
        del app.builder.images[uri]


def dark(colours: set[str]) -> str:
    """CSS with the value of each colour in the dark."""
    inks = sorted(colours - {PAPER})
    lines = [f"--f-{c[1:]}:{with_contrast(c, contrast(c, PAPER) ** 1.15, PAGE)};" for c in inks]
    lines.append(f"--f-{PAPER[1:]}:var(--pst-color-background);")
    return "\n".join(['@media screen{html[data-theme="dark"]{', *lines, "}}", ""])


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the dark colours, and the fonts with the letters that the figures use."""
    if exception is not None or app.builder.format != "html":
        return
    figures = [svg for path in notebooks(app) for pair in bundles(path) for svg in pair if svg]
    static = Path(app.outdir) / "_static"
    colours = {colour for svg in figures for colour in COLOUR.findall(svg)} | {"#000000"}
    (static / "figure-colours.css").write_text(dark(colours), encoding="utf-8")
    letters = unescape("".join(text for svg in figures for text in re.findall(r">([^<]+)<", svg)))
    for name, look in FACES.items():
        font = font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans", **look))
        write_font(Path(font), letters, static / f"figures{name}.woff")


def write_font(font: Path, letters: str, target: Path) -> None:
    """Write the part of a font that has these letters."""
    options = subset.Options(
        flavor="woff", layout_features=["kern"], notdef_outline=True, drop_tables=["FFTM"]
    )
    loaded = subset.load_font(str(font), options)
    part = subset.Subsetter(options)
    part.populate(text=letters)
    part.subset(loaded)
    subset.save_font(loaded, str(target), options)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", inline, priority=950)  # after all that reads the page: it sees images
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
