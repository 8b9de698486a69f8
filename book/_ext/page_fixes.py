"""Mend what the theme gets wrong on every page: a script run twice, an unset colour mode, two ARIA roles,
boxes that a script folds, bars that stand between a chapter's first words and its first figure, empty
headers of tables, columns that a telephone has no room for, a sidebar outside all landmarks, a comma that begins a line
because the formula before it ended the last one, and regions that scroll but that no key reaches.

The theme's script makes a block of code focusable if it is too wide when the page loads, which depends on the fonts
and on what is folded, and it never names one. Here everything that can scroll is focusable and named in the HTML.
"""

from __future__ import annotations

import re
from copy import copy
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, NavigableString, Tag
from page_head import spelt
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

# Both roles are wrong where docutils puts them: a list without list items, and a deprecated role.
ROLES = '[role="list"].citation-list, [role="doc-biblioentry"]'
# Jupyter Book loads Thebe even when no button starts it, and twice: the second time is a script error. Formulas are set
# and boxes are folded without a script.
UNUSED = re.compile("thebe|THEBE_JS_URL|toggle(button|Hint|OpenOnPrint)|MathJax|none.js")
TABLES = "pst-scrollable-table-container"
# The sidebar holds the logo and the search besides the contents: all of it is a landmark.
SIDEBAR = '<div class="bd-sidebar-primary bd-sidebar'
LANDMARK = SIDEBAR.replace("<div", '<div role="complementary" aria-label="Book"')
# What a button says when it has the focus would stand behind everything else, in no landmark.
TOOLTIP = 'data-bs-toggle="tooltip"'
INSIDE = f'{TOOLTIP} data-bs-container="main"'
# What opens the pages of a chapter in the sidebar shows an arrow only.
TOGGLE = '<summary><span class="toctree-toggle"'
NAMED = TOGGLE.replace("<summary>", '<summary aria-label="Pages of this chapter">')
# Its words are its name.
SEARCH = 'search-button__button" title="Search"'
UNNAMED = f'{SEARCH} aria-label="Search"'
# Without a script there is no mode but a theme; and the theme is known before the page is drawn, or all of it moves.
AUTO = {
    'data-theme="auto"': 'data-theme="light"',
    'localStorage.getItem("theme") || "auto"': 'localStorage.getItem("theme") ||\n'
    '      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")',
}
# Tables that an engineer decides by, also on a telephone.
CARDS = ("book/choose-epsilon", "notebooks/09_leaderboard")
MANY, MOST_CARDS = 5, 20  # columns, and rows
TITLES = ("caption", "h1", "h2", "h3", "h4", "h5", "h6", "summary")

# What belongs to the formula before it: a point or bracket, a hyphen, an ending; and a bracket before a formula.
AFTER = re.compile(r"(?:[’'][a-z]+|[a-z]{1,3}\b|-|[,.;:!?)\]”’…%，。；：、！？）》」』”]+)")
BEFORE = re.compile(r"[(\[“（《「『]+$")
SHORT = 56  # letters of the source of a formula that one line of a table has room for
# Columns, and drawings in text, whose lines must not wrap.
LONG = 40  # letters of a cell that a telephone does not squeeze
NUMBER = re.compile(r"[\d.]+e-\d+")
# Where a line would end inside a number.
INSIDE_NUMBER = re.compile(r"(?<=\d) (?=\d{3}(?!\d)|%)|(?<=±) (?=\d)")
COLUMNS = re.compile(r"\S {2,}\S|[─-╿]|^ +\S", re.MULTILINE)


def is_title(tag: Tag) -> bool:
    """Tell whether an element names the section, admonition or table that it stands in."""
    return tag.name in TITLES or "admonition-title" in tag.get("class", [])


def title(region: Tag) -> str:
    """Find the words above a region: a table's caption, or the nearest heading."""
    places = [region.find("table"), *region.parents]
    found = next(filter(None, (place.find(is_title, recursive=False) for place in places if place)))
    words = "".join(text for text in found.strings if text.parent.get("class") != ["headerlink"])
    return " ".join(words.split())


def reach(region: Tag, name: str) -> None:
    """Let keys reach a region and give it a name.

    It is a group and not a region: a page has dozens, and each region would be a landmark.
    """
    region.attrs |= {"tabindex": "0", "role": "group", "aria-label": name}
    region["class"] = [*region.get("class", []), "scrolls"]


def reachable(soup: BeautifulSoup) -> None:
    """Make all that can scroll focusable, whether or not it is too wide with some font."""
    for table in soup.find_all("table"):
        if TABLES not in table.parent.get("class", []):  # the HTML of an output
            table.wrap(soup.new_tag("div", attrs={"class": [TABLES]}))
        reach(table.parent, f"Table: {title(table.parent)}")
    for block in soup.select("pre"):
        # The theme's script sets the tabindex of pre itself, so what scrolls stands inside.
        inside = soup.new_tag("span")
        inside.extend(list(block.contents))
        block.append(inside)
        around = block.find_parent(class_=["cell_output", "figure-menu"])
        output = around if around and "cell_output" in around["class"] else None
        reach(inside, "Output" if output else "Code")
        text = output or block.find_parent(class_="highlight-text")
        if not (text and COLUMNS.search(inside.text)):
            inside["class"].append("wraps")
    for formula in soup.select("div.math"):
        number = formula.select_one(".eqno")
        reach(formula, f"Formula {number.find(string=True)}" if number else "Formula")


def join(soup: BeautifulSoup) -> None:
    """Keep numbers in a line, with their per cent, and give room to cells with much text."""
    for text in soup.find_all(string=INSIDE_NUMBER):
        if type(text) is NavigableString and not text.find_parent(["pre", "code", "script", "svg"]):
            text.replace_with(INSIDE_NUMBER.sub("\N{NO-BREAK SPACE}", text))
    for cell in soup.select("tbody :is(th, td)"):
        if len(cell.text) > LONG:
            cell["class"] = [*cell.get("class", []), "long"]
        elif NUMBER.fullmatch(cell.text):
            cell["class"] = [*cell.get("class", []), "number"]


def keep(soup: BeautifulSoup) -> None:
    """Put the punctuation around a formula in a line into its box, and mark a short formula, which a table keeps whole.

    A browser may break the line between the box and a comma after it.
    """
    for formula in soup.select("span.math"):
        if len(formula.text) <= SHORT:
            formula["class"].append("whole")
        before, after = formula.previous_sibling, formula.next_sibling
        if isinstance(before, NavigableString) and (first := BEFORE.search(before)):
            formula.insert(0, first.group())
            before.replace_with(before[: first.start()])
        if isinstance(after, NavigableString) and (last := AFTER.match(after)):
            signs = soup.new_tag("span", attrs={"class": ["after"]})
            signs.string = formula["data-after"] = last.group()
            formula.append(signs)
            after.replace_with(after[last.end() :])


def fold(soup: BeautifulSoup) -> None:
    """Fold boxes of class ``dropdown`` in the HTML: a script would fold them when the page stands, and move it."""
    for box in soup.select("div.admonition.dropdown"):
        box["class"].remove("dropdown")
        title = box.find(class_="admonition-title", recursive=False)
        if title:
            box.name, title.name = "details", "summary"
            box["class"].append("fold")
            for link in title.find_all("a"):  # what folds holds no link
                end = soup.new_tag("p")
                end.append(copy(link))
                box.append(end)
                link.unwrap()
        else:  # a proof
            details = box.wrap(soup.new_tag("details", attrs={"class": ["folded-proof"]}))
            summary = soup.new_tag("summary")
            summary.string = "Proof"
            details.insert(0, summary)


def opening(soup: BeautifulSoup) -> list[Tag]:
    """List the folded cells at a chapter's beginning, from that of the parameters to the first that shows something."""
    cells: list[Tag] = []
    cell = soup.select_one("div.cell.tag_parameters")
    while cell is not None and "cell" in cell.get("class", []):
        if cell.find(True):  # else it has neither code nor output to show
            if not cell.select_one(":scope > details.hide"):
                break
            cells.append(cell)
            if cell.select_one(":scope > .cell_output"):
                break
        cell = cell.find_next_sibling()
    return cells


def gather(soup: BeautifulSoup) -> None:
    """Put the folded cells at a chapter's beginning under one bar, whose title lists them."""
    cells = opening(soup)
    bars = [cell.select_one(":scope > details.hide") for cell in cells]
    if len(bars) < 2:
        return
    *before, last = bars
    for state in ("collapsed", "expanded"):
        last.select_one(f"summary .{state}").string = " · ".join(
            bar.select_one(f"summary .{state}").text for bar in bars
        )
    codes = [code for bar in before for code in bar.find_all(recursive=False) if code.name != "summary"]
    last.summary.insert_after(*codes)
    for cell in cells[:-1]:
        cell.decompose()


def headed(soup: BeautifulSoup) -> None:
    """Let no header of a table be empty: a whole row of them goes, a single one is a plain cell."""
    for head in soup.find_all("thead"):
        if not head.text.strip() and not head.find(["img", "svg"]):
            head.decompose()
    for cell in soup.find_all("th"):
        # The glyphs of a formula are no text: a header of nothing else reads as an empty one.
        formula = cell.select_one(".math")
        if formula and cell.text.strip() == formula.text.strip() and (words := spelt(formula.text)):
            formula.replace_with(words)
        if not cell.text.strip() and not cell.find(["img", "svg"]):
            cell.name = "td"
            cell.attrs.pop("scope", None)


def columns(rows: list[Tag]) -> list[list[Tag]]:
    """Cells of each row, with those that reach down from rows above."""
    filled: list[list[Tag]] = []
    hanging: dict[int, tuple[Tag, int]] = {}
    for row in rows:
        own, cells = iter(row.find_all(["th", "td"], recursive=False)), []
        while True:
            cell, left = hanging.pop(len(cells), (None, 0))
            if cell is None:
                cell = next(own, None)
                left = int(cell.get("rowspan", 1)) if cell is not None else 0
            if cell is None:
                break
            if left > 1:
                hanging[len(cells)] = cell, left - 1
            cells.append(cell)
        filled.append(cells)
    return filled


def cards(soup: BeautifulSoup) -> None:
    """Let a telephone show a row of many columns as a card: what the row is about, and a line a column."""
    for table in soup.find_all("table"):
        rows = table.select("tbody > tr")
        heads, cells = columns(table.select("thead > tr")), columns(rows)
        if not heads or table.select("[colspan]") or len(heads[-1]) < MANY or len(rows) > MOST_CARDS:
            continue
        names = [
            " ".join(next(filter(None, (cell.text.strip() for cell in down[::-1])), "").split())
            for down in zip(*heads, strict=True)
        ]
        about = max(1, *(sum(cell.name == "th" for cell in row) for row in cells))
        table["class"] = [*table.get("class", []), "cards"]
        # What is drawn as a block is no table to a screen reader, unless it is told.
        table["role"] = "table"
        for part, role in (
            ("thead, tbody", "rowgroup"),
            ("tr", "row"),
            ("td", "cell"),
            ("th", "columnheader"),
            ("tbody th", "rowheader"),
        ):
            for tag in table.select(part):
                tag["role"] = role
        for row, inside in zip(rows, cells, strict=True):
            row["data-about"] = " · ".join(
                f"{name} {cell.text.strip()}".strip()
                for name, cell in zip(names, inside[:about], strict=False)
            )
            for name, cell in list(zip(names, inside, strict=True))[about:]:
                cell["data-name"] = name


def mend(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Change the page's context before the template is filled in."""
    context["script_files"] = [
        script
        for script in context.get("script_files", [])
        if not UNUSED.search(f"{script.filename} {script.attributes.get('body')}")
    ]
    context.setdefault("default_mode", "auto")
    soup = BeautifulSoup(context.get("body", ""), "html.parser")
    for tag in soup.select(ROLES):
        del tag["role"]
    for summary in soup.select("details.hide > summary"):
        del summary["aria-label"]  # its words are its name
    for mark in soup.select(".of-defaults"):
        mark["title"] = "Known to hold for the default parameters"
    fold(soup)
    gather(soup)
    headed(soup)
    if pagename in CARDS:
        cards(soup)
    join(soup)
    keep(soup)
    reachable(soup)
    context["body"] = str(soup)


def landmarks(app: Sphinx, exception: Exception | None) -> None:
    """Mend what the theme's templates write on finished pages: landmarks, names of toggles, the theme."""
    if exception is not None or app.builder.format != "html":
        return
    written = {
        Path(app.builder.get_outfilename(name)) for name in (*app.env.found_docs, "search", "genindex")
    }
    for page in sorted(path for path in written if path.is_file()):
        text = page.read_text(encoding="utf-8")
        if LANDMARK not in text and SIDEBAR not in text:
            raise ExtensionError(f"{page.name} has no '{SIDEBAR}': the theme has changed, see page_fixes.py")
        if INSIDE not in text:
            text = text.replace(TOOLTIP, INSIDE)
        for old, new in {SIDEBAR: LANDMARK, TOGGLE: NAMED, UNNAMED: SEARCH, **AUTO}.items():
            text = text.replace(old, new)
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend, priority=900)
    app.connect("build-finished", landmarks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
