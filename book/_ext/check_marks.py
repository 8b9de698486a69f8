"""Marks in the margin: a sentence that was checked leads to the line of its check at the end of the chapter, and back.

The lines are those that ``private_trees.site.observations`` prints; here they become a list.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx

from private_trees.site.observations import LINE, TRUE, plain

BLOCKS = ("p", "li", "dd", "td", "caption", "figcaption")
FORMULA = re.compile(r"\$([^$]+)\$")
CODE = re.compile(r"`([^`]+)`")
SLANTED = re.compile(r"(?<![\w^])\*([^*]+)\*")
REFERENCE = re.compile(r"\{prf:ref\}`([^`]+)`")


def blocks(soup: BeautifulSoup) -> list[tuple[Tag, str]]:
    """Paragraphs, points, captions and cells, with their plain text; cells of printed tables are no sentences."""
    found = soup.find_all(BLOCKS)
    said = [block for block in found if block.name != "td" or not block.find_parent(class_="cell_output")]
    return [(block, plain(block.get_text())) for block in said]


def holders(found: list[tuple[Tag, str]], sentence: str) -> list[Tag]:
    """List the blocks that hold a sentence, but no smaller block that does."""
    holding = [block for block, text in found if plain(sentence) in text]
    return [block for block in holding if not any(block in other.parents for other in holding)]


def mark(soup: BeautifulSoup) -> None:
    """Make the printed lines a list, and give a mark to each block that holds a checked sentence."""
    found = blocks(soup)
    for output in soup.select("div.output.stream"):
        lines = LINE.findall(output.text)
        if not lines or len(lines) < len(output.text.strip().splitlines()):
            continue
        points = []
        for outcome, name, said in lines:
            sentence = REFERENCE.sub(lambda label: _words(soup, label[1]), said)
            holding = holders(found, sentence)
            for number, block in enumerate(holding):
                _add(soup, block, name, first=not number)
            label = f'<a href="#said-{name}">{name}</a>' if holding else name
            points.append(f'<li id="check-{name}">{outcome} {label}: {_shown(sentence)}</li>')
        output.replace_with(BeautifulSoup(f'<ul class="checks">{"".join(points)}</ul>', "html.parser"))


def _words(soup: BeautifulSoup, label: str) -> str:
    """What the page writes for a reference."""
    return next(link.text for link in soup.select(f'a[href$="#{label}"]') if link.text.strip("#"))


def _shown(sentence: str) -> str:
    """HTML of a sentence with formulas, code and slanted words."""
    slanted = SLANTED.sub(r"<em>\1</em>", CODE.sub(r"<code>\1</code>", escape(sentence)))
    return FORMULA.sub(r'<span class="math notranslate nohighlight">\\(\1\\)</span>', slanted)


def _add(soup: BeautifulSoup, block: Tag, name: str, *, first: bool) -> None:
    marks = block.find(class_="marks", recursive=False)
    if not marks:
        marks = soup.new_tag("span", attrs={"class": ["marks"]})
        block.extend([" ", marks])
    said = f"Checked: {name}"
    link = soup.new_tag("a", attrs={"href": f"#check-{name}", "title": said, "aria-label": said})
    link.string = TRUE
    if first:
        link["id"] = f"said-{name}"
    marks.append(link)


def extend(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Mark the sentences of a page that has checks."""
    if f"{TRUE} " in context.get("body", ""):
        soup = BeautifulSoup(context["body"], "html.parser")
        mark(soup)
        context["body"] = str(soup)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", extend, priority=860)  # before page_fixes keeps formulas together
    return {"parallel_read_safe": True, "parallel_write_safe": True}
