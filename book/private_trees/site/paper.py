"""The reading edition: the chapters' main lines, claims, terms and sources in one HTML document, from the built pages.

``pdf`` prints it. What is left out stands in ``DROPPED`` and ``code``; ``book/_static/print.css`` says how it looks.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from matplotlib import get_data_path

from dpnb.domain.yaml_text import parse

FRONT = "book/intro"
BACK = ("book/claims", "book/glossary", "book/bibliography")
DROPPED = {
    "folded": "details, .dropdown, .toggle",
    "proofs": "[class='proof admonition']",
    "checks": ".marks, .checks, sup.of-defaults",
    "stubs and solutions": "#exercises .cell, .exercise [class*=highlight-], .solution",
    "for a screen": ".headerlink, .sd-summary-state-marker, .toctree-wrapper, .claim-filter, script, svg.narrow",
    "shown under a pointer": ".meaning",
    "how to use a page": "#claims-and-verdicts > p",
    "labels of a list": ".citation .label",
}
SHORT_CODE = range(3, 9)  # lines of code that are printed after a chapter's opening, where all are
ROWS, COLUMNS = 12, 10  # of the largest table that is printed
NAMED = "[id]:not(svg, svg *)"  # a drawing keeps its own names
FACES = {
    "": "400 normal",
    "Italic": "400 italic",
    "Bol": "700 normal",
    "BolIta": "700 italic",
}  # weight, style
ELSEWHERE = "<p class='elsewhere'>{} stands <a href='{}'>on the web</a>.</p>"


def read(path: Path) -> Any:
    """Values of one of the project's files of settings."""
    return parse(path.read_text(encoding="utf-8"))


def chapters(root: Path) -> list[str]:
    """Names of the numbered chapters, without what stands under them."""
    return [chapter["file"] for chapter in read(root / "_toc.yml")["parts"][0]["chapters"]]


def article(site: Path, name: str) -> Tag:
    """The article of a built page; ``name`` is without ending, such as ``book/claims``."""
    path = site / f"{name}.html"
    if not path.is_file():
        raise FileNotFoundError(f"no page {name} in {site}: run `make book`")
    found = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").find("article")
    assert isinstance(found, Tag)
    return found


def fragment(html: str) -> Tag:
    """The one element of a piece of HTML."""
    found = BeautifulSoup(html, "html.parser").find(True)
    assert isinstance(found, Tag)
    return found


def title(page: Tag) -> str:
    """The heading of an article, without the sign that links to it."""
    return " ".join(page.select_one("h1").text.removesuffix("#").split())  # type: ignore[union-attr]


def faces() -> str:
    """CSS of the serif that comes with Matplotlib: pages are of one length on every machine."""
    folder = Path(get_data_path()) / "fonts" / "ttf"
    return "".join(
        f"@font-face {{ font-family: STIXGeneral; font-weight: {look.split()[0]}; font-style: {look.split()[1]};"
        f" src: url({(folder / f'STIXGeneral{name}.ttf').as_uri()}) }}"
        for name, look in FACES.items()
    )


def document(site: Path, body: Tag, own: str) -> str:
    """An HTML document with the book's styles and one of its own; it lies in ``book/``."""
    page = BeautifulSoup((site / f"{FRONT}.html").read_text(encoding="utf-8"), "html.parser")
    head = [str(link) for link in page.select("head link[rel=stylesheet]")]
    return (
        "<!DOCTYPE html><html lang='en' data-theme='light' data-mode='light'><head><meta charset='utf-8'>"
        f"<title>{escape(page.title.text)}</title>{''.join(head)}<style>{faces()}</style>{own}</head>"  # type: ignore[union-attr]
        f"<body>{body}</body></html>"
    )


def edition(site: Path, root: Path) -> str:
    """The reading edition as one HTML document."""
    settings = read(root / "_config.yml")
    web = settings["html"]["baseurl"]
    body = fragment("<article class='bd-article edition'></article>")
    style = []
    names = [*chapters(root), *BACK]
    for number, name in enumerate(names):
        part = article(site, name)
        shorten(part, f"{web}{name}.html")
        for heading in part.find_all("h2") if name in BACK else ():
            heading.name = "h3"
        part.name, part.attrs = "div", {"class": "part", "id": anchor(name), "style": f"page: part{number}"}
        style.append(f"@page part{number}:right {{ @top-right {{ content: '{escape(title(part))}' }} }}")
        for tag in part.select(NAMED):
            tag["id"] = anchor(name, str(tag["id"]))
        for link in part.find_all("a", href=True):
            link["href"] = resolve(name, str(link["href"]))
        body.append(part)
    link_up(body, web)
    body.insert(0, cover(site, root, settings))
    body.insert(1, contents(body))
    return document(site, body, f"<style>{''.join(style)}</style>")


def shorten(part: Tag, address: str) -> None:
    """Leave out of a page what the edition has no room for, and say where the large tables and moving figures are."""
    for claim in part.select("details.claim"):
        summary = claim.select_one("summary")
        assert summary is not None
        summary.name, summary.attrs = "p", {"class": "claim", "id": claim["id"]}
        badge = summary.select_one(".sd-badge")
        claim.replace_with(summary.extract())
        if badge:
            summary.append(badge.extract())
    for paper in part.select("details.paper"):
        paper.summary.decompose()  # type: ignore[union-attr]
        paper.name = "div"
    for found in part.select(", ".join(DROPPED.values())):
        found.decompose()
    for cell in part.select("div.cell"):
        code(cell)
        if not cell.find(True):
            cell.decompose()
    for large in part.select("table, figure.moving"):
        rows = large.select("tbody > tr")
        widest = max((len(row.find_all(["td", "th"])) for row in large.find_all("tr")), default=0)
        if large.name == "table" and len(rows) <= ROWS and widest <= COLUMNS:
            continue
        what = f"A table of {len(rows)} rows" if rows else f"The moving figure “{large.p.text.strip()}”"  # type: ignore[union-attr]
        place = large.find_parent("section", id=True)
        large.replace_with(fragment(ELSEWHERE.format(what, f"{address}#{place['id'] if place else ''}")))
    for figure in part.select("div.cell_output:has(img, svg)"):
        figure["class"] = "cell_output picture"
        caption = figure.find_parent(class_="cell").find_next_sibling()  # type: ignore[union-attr]
        if caption and caption.name == "p" and caption.decode_contents().startswith("<em>"):
            caption["class"] = "under"
            figure.append(caption.extract())


def code(cell: Tag) -> None:
    """Drop the code of a cell that is long and not at the chapter's opening, and code that draws up a table."""
    source = cell.select_one(".cell_input")
    if source:
        opening = cell.parent is not None and cell.parent.h1 is not None
        lines = len(source.text.strip().splitlines())
        if cell.find("table") or not (opening or lines in SHORT_CODE):
            source.decompose()


def anchor(page: str, within: str = "") -> str:
    """The id, in the whole document, of a page or of what has an id within it."""
    return f"{page.replace('/', '-')}--{within}"


def resolve(page: str, link: str) -> str:
    """The address of a link on a page, from the folder of all pages; one to elsewhere is left as it is."""
    path, _, place = link.partition("#")
    if re.match(r"[a-z]+:", link):
        return link
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else f"{page}.html"
    return f"{target}#{place}"


def link_up(body: Tag, web: str) -> None:
    """Let links lead within the document where they can, else to the web; list only those sources that are cited."""
    ids = {str(tag["id"]) for tag in body.select(NAMED)}
    reached = set()
    for link in body.find_all("a", href=True):
        path, _, place = str(link["href"]).partition("#")
        own = anchor(path.removesuffix(".html"), place)
        if own in ids:
            link["href"] = f"#{own}"
            reached.add(own)
        elif ":" not in path:
            link["href"] = f"{web}{path}" + f"#{place}" * bool(place)
    for tag in body.select(NAMED):
        if str(tag["id"]) not in reached:
            if "citation" in tag.get_attribute_list("class"):
                tag.decompose()
            else:
                del tag["id"]


def cover(site: Path, root: Path, settings: dict[str, Any]) -> Tag:
    """The first sheet: title, the front page's first words in both languages, the drawing, version and year."""
    front = article(site, FRONT)
    words = [str(strong) for strong in front.select("p > strong:first-child")[:2]]
    return fragment(
        f"<div class='cover'><p class='name'>{settings['title']}</p><p>{words[0]}</p><p lang='zh'>{words[1]}</p>"
        f"{(root / settings['logo']).read_text(encoding='utf-8')}"
        f"<p>{settings['author']}<br>Version {read(root / 'CITATION.cff')['version']}, {settings['copyright']}</p>"
        f"<p><a href='{settings['html']['baseurl']}'>{settings['html']['baseurl']}</a></p></div>"
    )


def headings(body: Tag) -> Iterator[Tag]:
    """What the contents list: titles of parts and of their sections."""
    yield from body.select(".part h1, .part h2")


def contents(body: Tag) -> Tag:
    """The contents, whose numbers ``pdf`` fills in once it knows them."""
    found = fragment("<div class='contents'><h1>Contents</h1></div>")
    for number, heading in enumerate(headings(body)):
        heading["id"] = f"heading-{number}"
        entry = fragment(
            f"<p class='level-{heading.name[1]}'><a href='#heading-{number}'></a><span class='page'>000</span></p>"
        )
        entry.a.extend(BeautifulSoup(heading.decode_contents(), "html.parser").contents[:])  # type: ignore[union-attr]
        found.append(entry)
    return found
