"""The slides of one lecture: what the built pages say and show in a few places, which ``SLIDES`` lists.

``pdf`` prints them; ``book/_static/slides.css`` says how they look.
"""

from __future__ import annotations

import re
from copy import copy
from pathlib import Path
from typing import NamedTuple

from bs4 import Tag
from bs4.element import NavigableString, PageElement

from ..papers import BY_CHAPTER
from . import paper

FINDING = "p:has(> strong:first-child)"
PICTURE = "div.cell_output:has(img, svg)"
CODE = "div.cell:has(> .cell_input)"
TABLE = "div.cell_output table"
ROWS = 6  # of a table's head
END = re.compile(r"(?<=[.!?]) (?=[A-Z])")


class Slide(NamedTuple):
    """What a slide takes from a page: a thing to show, and sentences to say."""

    page: str  # name of the page; its title is the slide's
    show: str  # selector of what is shown
    say: str = ""  # selector of the paragraph, or empty for that which stands before what is shown
    sentences: slice = slice(-2, None)  # those of the paragraph that are said
    number: int = 0  # which of the things that `show` selects, from 0


SLIDES = (
    Slide(paper.FRONT, ".glances", "p:has(> em:first-child)", slice(2)),
    Slide("notebooks/01_foundations", PICTURE, FINDING, slice(2)),
    Slide("notebooks/02_mechanisms", PICTURE, FINDING, slice(1)),
    Slide("notebooks/03_trees", PICTURE, FINDING, slice(2)),
    *(
        slide
        for one in BY_CHAPTER
        for slide in (
            Slide(one.page, PICTURE, FINDING, slice(*one.said)),
            Slide(one.page, CODE, number=one.code),
        )
    ),
    Slide("notebooks/08_audit", PICTURE, FINDING, slice(1, 3)),
    Slide("notebooks/08_audit", CODE),
    Slide("notebooks/09_leaderboard", TABLE, FINDING, slice(1, 2)),
    Slide("notebooks/09_leaderboard", CODE, number=1),
    Slide("notebooks/10_scale", PICTURE, FINDING, slice(2)),
    Slide("notebooks/10_scale", CODE, number=1),
)


def lecture(site: Path, root: Path) -> str:
    """The slides as one HTML document."""
    settings = paper.read(root / "_config.yml")
    body = paper.fragment("<article class='bd-article lecture'></article>")
    body.append(paper.cover(site, root, settings))
    names = [*(slide.page for slide in SLIDES), *paper.chapters(root)]
    pages = {name: paper.article(site, name) for name in dict.fromkeys(names)}  # each is read once
    for slide in SLIDES:
        body.append(draw(slide, pages[slide.page]))
    titles = [paper.title(pages[name]) for name in paper.chapters(root)]
    web = settings["html"]["baseurl"]
    body.append(
        paper.fragment(
            f"<div class='slide'><h1><a href='{web}'>{web}</a></h1><ul class='on'>"
            f"{''.join(f'<li>{name}</li>' for name in titles)}</ul></div>"
        )
    )
    for tag in body.select(paper.NAMED):
        del tag["id"]
    for first in body.select(".cover"):
        first["class"] = "slide cover"
    return paper.document(site, body, "<link rel='stylesheet' href='../_static/slides.css'>")


def draw(slide: Slide, page: Tag) -> Tag:
    """Draw one slide; the page keeps what it shows."""
    for found in page.select(", ".join(paper.DROPPED.values())):
        found.decompose()
    things = page.select(slide.show)
    thing = things[slide.number] if slide.number < len(things) else None
    said = page.select_one(slide.say) if slide.say else thing and thing.find_previous("p")
    if thing is None or said is None:
        raise ValueError(f"{slide.page}: no {slide.show} number {slide.number}, or no paragraph {slide.say}")
    thing = copy(thing)
    for row in thing.select("tbody tr")[ROWS:]:
        row.decompose()
    found = paper.fragment("<div class='slide'><h1></h1><p></p></div>")
    found.h1.append(re.sub(r"^\d+\. ", "", paper.title(page)))  # type: ignore[union-attr]
    found.p.extend(part for sentence in sentences(said)[slide.sentences] for part in sentence)  # type: ignore[union-attr]
    found.append(thing)
    for link in found.find_all("a"):
        link.unwrap()
    return found


def sentences(paragraph: Tag) -> list[list[PageElement]]:
    """The sentences of a paragraph, without the bold words at its beginning."""
    found: list[list[PageElement]] = [[]]
    for node in paragraph.contents:
        if isinstance(node, Tag):
            if node.name != "strong" or any(found):
                found[-1].append(copy(node))
            ends = str(node.get("data-after", "")).endswith((".", "?", "!"))
        else:
            after = node.next_sibling.text[:1] if node.next_sibling else ""
            pieces = END.split(f"{node}{after}")
            pieces[-1] = pieces[-1].removesuffix(after)
            found[-1].append(NavigableString(pieces[0]))
            found += [[NavigableString(f" {piece}")] for piece in pieces[1:]]
            ends = False
        if ends:
            found.append([])
    return [sentence for sentence in found if any(part.text.strip() for part in sentence)]
