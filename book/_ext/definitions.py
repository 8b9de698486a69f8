"""The first time that a page uses a term of the glossary, the word leads there and shows its definition.

A script places what is shown (``definitions.js``); without it the link remains, and what it is described by.
"""

from __future__ import annotations

import posixpath
import re
from html import escape
from typing import Any, NamedTuple

from bs4 import BeautifulSoup, NavigableString
from docutils import nodes
from page_head import CHINESE, plain
from sphinx.application import Sphinx

GLOSSARY = "book/glossary"
LONGEST = 200  # letters of a definition, and of its first sentence
TEXT = ("p", "li", "dd")
ELSEWHERE = (
    "a, code, pre, table, figure, details, .dropdown, label, h1, h2, h3, h4, .math, .cell, .admonition-title"
)


class Entry(NamedTuple):
    """A term's place in the glossary, its Chinese and its definition."""

    place: str
    chinese: str
    definition: str


def entries(glossary: nodes.document) -> dict[str, Entry]:
    """Read the English terms of the glossary."""
    found = {}
    for item in glossary.findall(nodes.definition_list_item):
        terms = list(item.findall(nodes.term))
        chinese = ", ".join(term.astext().rstrip("*") for term in terms if re.search(CHINESE, term.astext()))
        words = shortened(plain(next(item.findall(nodes.definition)).astext()))
        for term in terms:
            if not re.search(CHINESE, term.astext()):
                found[term.astext()] = Entry(term["ids"][0], chinese, words)
    return found


def shortened(text: str) -> str:
    """As many whole sentences as there is room for."""
    sentences = re.split(r"(?<=\.) ", text)
    while len(" ".join(sentences)) > LONGEST and len(sentences) > 1:
        sentences.pop()
    return " ".join(sentences)


def forms(term: str) -> str:
    """A pattern for a term: with a capital, and in the plural."""
    first, rest = term[0], term[1:]
    begin = f"[{first}{first.upper()}]" if first.isascii() and first.islower() else re.escape(first)
    if rest.endswith("y") and not rest.endswith(("ay", "ey")):
        return f"{begin}{re.escape(rest[:-1])}(?:y|ies)"
    return begin + re.escape(rest) + ("(?:e?s)?" if rest else "")


def define(soup: BeautifulSoup, known: dict[str, Entry], glossary: str) -> list[str]:
    """Link the first use of each term in running text, the longest first; returns the terms that are linked."""
    patterns = {term: re.compile(forms(term)) for term in known}
    longest = sorted(known, key=len, reverse=True)
    any_term = re.compile(rf"(?<![\w-])(?:{'|'.join(map(forms, longest))})(?![\w-])")
    elsewhere = {id(tag) for tag in soup.select(ELSEWHERE)}
    used: list[str] = []
    shown = []

    def link(found: re.Match[str]) -> str:
        term = next(term for term in longest if patterns[term].fullmatch(found[0]))
        if term in used:
            return escape(found[0], quote=False)
        used.append(term)
        entry, name = known[term], f"definition-{len(used)}"
        shown.append(
            f'<span class="meaning" hidden="" id="{name}" role="tooltip">{escape(entry.definition)} '
            f'<span lang="zh">{escape(entry.chinese)}</span></span>'
        )
        address = f"{glossary}#{entry.place}"
        return f'<a class="defined" aria-describedby="{name}" href="{address}">{escape(found[0])}</a>'

    for text in soup.find_all(string=any_term):
        if text.find_parent(TEXT) and not any(id(tag) in elsewhere for tag in text.parents):
            linked = any_term.sub(link, escape(text, quote=False)) if type(text) is NavigableString else None
            if linked and "<a " in linked:
                text.replace_with(BeautifulSoup(linked, "html.parser"))
    soup.append(BeautifulSoup("".join(shown), "html.parser"))
    return used


def extend(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Define the terms of a page."""
    if doctree is None or pagename == GLOSSARY:
        return
    if not hasattr(app, "glossary_entries"):
        app.glossary_entries = entries(app.env.get_doctree(GLOSSARY))
    soup = BeautifulSoup(context["body"], "html.parser")
    address = posixpath.relpath(f"{GLOSSARY}.html", posixpath.dirname(pagename) or ".")
    define(soup, app.glossary_entries, address)
    context["body"] = str(soup)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", extend, priority=870)  # after what is checked has been found
    app.add_js_file("definitions.js", loading_method="defer")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
