"""Set formulas when the book is built, so that its pages need neither a script nor another host for them.

MathJax comes from the installed package sphinx-mathjax-offline and runs in QuickJS. A page gets what MathJax would make
of it in a browser, glyphs and MathML for screen readers; its style sheet and its fonts are copied.
"""

from __future__ import annotations

import json
import re
import shutil
from functools import cache
from html import unescape
from importlib.util import find_spec
from pathlib import Path

import quickjs
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PACKAGE = "sphinx-mathjax-offline"
FONTS = "output/chtml/fonts/woff-v2"
PARTS = ("loader", "core", "adaptors/liteDOM", "input/tex-full", "output/chtml", "output/chtml/fonts/tex")
# An unknown macro is an error, not red text that a reader has to find. In the end QuickJS hands on texts that are
# whole, as JSON is.
SCRIPT = """
const {adaptors, handlers, a11y, input, output, mathjax} = MathJax._;
const adaptor = adaptors.liteAdaptor.liteAdaptor();
a11y['assistive-mml'].AssistiveMmlHandler(handlers.html_ts.RegisterHTMLHandler(adaptor));
const packages = input.tex.AllPackages.AllPackages.filter(name => !/^no(errors|undefined)$/.test(name));
const font = new output.chtml.fonts.tex_ts.TeXFont({fontURL: 'mathjax'});
const OutputJax = new output.chtml_ts.CHTML({adaptiveCSS: false, font});
const page = mathjax.mathjax.document('', {InputJax: new input.tex_ts.TeX({packages}), OutputJax});
const typeset = (tex, display) => JSON.stringify(adaptor.outerHTML(page.convert(tex, {display})));
const style = () => JSON.stringify(adaptor.textContent(OutputJax.styleSheet(page)));
"""
FORMULA = re.compile(
    r'(<(?:span|div) [^>]*\bclass="math\b[^>]*>)((?:(?!</div>).)*?)(\\\(|\\\[)(.+?)(?:\\\)|\\\])', re.DOTALL
)


def source() -> Path:
    """Find the MathJax files in the installed package."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ExtensionError(
            f"{PACKAGE} is missing, and formulas need it. Install it: pip install -e . -e ./book"
        )
    return Path(spec.origin).parent / "static" / "mathjax"


@cache
def engine() -> quickjs.Context:
    """MathJax, ready to set formulas."""
    context = quickjs.Context()
    for part in (*PARTS, "a11y/assistive-mml"):
        context.eval((source() / f"{part}.js").read_text(encoding="utf-8"))
    context.eval(SCRIPT)
    return context


@cache
def typeset(tex: str, *, display: bool) -> str:
    """HTML of a formula."""
    found = str(json.loads(engine().eval(f"typeset({json.dumps(tex)}, {json.dumps(display)})")))
    if "<mjx-merror" in found:
        raise ExtensionError(f"formula with an error: {tex}")
    return found


def fill(page: str) -> str:
    """Set all formulas of a finished page."""
    return FORMULA.sub(
        lambda found: found[1] + found[2] + typeset(unescape(found[4]).strip(), display=found[3] == r"\["),
        page,
    )


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Set the formulas of all pages, and copy what shows them."""
    if exception is not None or app.builder.format != "html":
        return
    for name in sorted(app.env.found_docs):
        path = Path(app.builder.get_outfilename(name))
        path.write_text(fill(path.read_text(encoding="utf-8")), encoding="utf-8")
    static = Path(app.outdir) / "_static"
    (static / "mathjax.css").write_text(json.loads(engine().eval("style()")), encoding="utf-8")
    shutil.copytree(source() / FONTS, static / "mathjax", dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_css_file("mathjax.css")
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
