"""What a chapter's page offers beside its text: a menu with the code of each figure, and the chapter as a script."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from shlex import quote
from typing import Any

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx

SOURCES = "_sources"
INPUT = "div.cell_input"
MENU = """<details class="figure-menu"><summary title="Code of this figure"><span aria-hidden="true">⋯</span>\
<span class="visually-hidden">Code of figure {number}</span></summary>
<p>To draw it again, in the project's folder; it is figure {number} of {count} in out.ipynb:</p><pre></pre></details>"""


def notebook(app: Sphinx, pagename: str) -> dict[str, Any] | None:
    """Read the notebook of a page, if it is one."""
    path = Path(app.srcdir) / f"{pagename}.ipynb"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def parameters(cells: list[dict[str, Any]]) -> dict[str, str]:
    """Names and default values of a notebook's parameters, as its cell of parameters has them."""
    tagged = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    found = {}
    for node in (node for cell in tagged for node in ast.parse("".join(cell["source"])).body):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            found[ast.unparse(node.target)] = str(ast.literal_eval(node.value))
    return found


def command(pagename: str, cells: list[dict[str, Any]]) -> str:
    """The papermill line that draws the figures of a chapter, with its parameters spelt out."""
    given = " ".join(f"-p {name} {quote(value)}" for name, value in parameters(cells).items())
    return f"papermill {pagename}.ipynb out.ipynb {given}".strip()


def offer_menus(soup: BeautifulSoup, line: str) -> int:
    """Put a cell's code and the line into a menu at the corner of its figure; returns the number of figures.

    In a folded cell the code stays where it is.
    """
    outputs = [cell for cell in soup.select("div.cell_output") if cell.select_one("img, svg")]
    for number, output in enumerate(outputs, 1):
        menu = BeautifulSoup(MENU.format(number=number, count=len(outputs)), "html.parser").details
        menu.pre.string = line
        code = output.find_previous_sibling(is_code)
        if code and output.parent.name != "details":
            menu.p.insert_before(code.extract() if code.name == "div" else code.extract().select_one(INPUT))
        output.insert(0, menu)
    return len(outputs)


def is_code(tag: Tag) -> bool:
    """Tell whether this is the code of a cell, open or folded."""
    return bool({"cell_input", "above-input"} & set(tag.get("class", [])))


def script(cells: list[dict[str, Any]]) -> str:
    """A notebook as a script whose cells begin with ``# %%``, as editors know them; its text is comments."""
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code":
            lines = text.split("\n")
            parts.append(
                "\n".join(["# %%", *(f"# {x}" if x.lstrip().startswith(("%", "!")) else x for x in lines)])
            )
        elif cell["cell_type"] == "markdown":
            parts.append("\n".join(["# %% [markdown]", *(f"# {x}".rstrip() for x in text.split("\n"))]))
    return "\n\n".join(parts) + "\n"


def extend(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Add both to the page of a chapter."""
    found = notebook(app, pagename)
    if found is None or doctree is None:
        return
    soup = BeautifulSoup(context["body"], "html.parser")
    offer_menus(soup, command(pagename, found["cells"]))
    context["body"] = str(soup)
    target = Path(app.outdir) / SOURCES / f"{pagename}.py"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(script(found["cells"]), encoding="utf-8")
    for button in context["header_buttons"]:
        if button["label"] == "download-buttons":
            button["buttons"].insert(1, _button(f"{context['pathto'](SOURCES, 1)}/{pagename}.py"))


def _button(address: str) -> dict[str, str]:
    return {
        "type": "link",
        "url": address,
        "text": ".py",
        "tooltip": "Download as a script",
        "icon": "fas fa-file-code",
        "label": "download-script-button",
    }


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", extend, priority=850)  # before page_fixes makes what scrolls reachable
    return {"parallel_read_safe": True, "parallel_write_safe": True}
