"""Serve MathJax from the book itself, so that its pages ask no other host for anything.

The files come from the installed package sphinx-mathjax-offline. Only those that the pages can ask for are
copied: one component, its fonts, and the TeX extensions that it loads on demand.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PACKAGE = "sphinx-mathjax-offline"
COMPONENT = "tex-chtml.js"
PARTS = (COMPONENT, "output/chtml/fonts/woff-v2", "input/tex/extensions")


def source() -> Path:
    """Find the MathJax files in the installed package."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ExtensionError(
            f"{PACKAGE} is missing, and formulas need it. Install it: pip install -e . -e ./book"
        )
    root = Path(spec.origin).parent / "static" / "mathjax"
    missing = [part for part in PARTS if not (root / part).exists()]
    if missing:
        raise ExtensionError(
            f"The installed {PACKAGE} lacks {', '.join(missing)}. "
            "Install the version that constraints.txt names: pip install -c constraints.txt -e . -e ./book"
        )
    return root


def copy(app: Sphinx, exception: Exception | None) -> None:
    """Copy MathJax to the static files of a finished HTML build."""
    if exception is not None or app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "mathjax"
    shutil.rmtree(target, ignore_errors=True)
    for part in PARTS:
        origin = source() / part
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(origin, target / part)
        else:
            shutil.copy2(origin, target / part)


def check(app: Sphinx) -> None:
    """Fail before the pages are built rather than after."""
    source()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", check)
    app.connect("build-finished", copy)
    app.config.mathjax_path = f"mathjax/{COMPONENT}"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
