"""The book on paper: what the reading edition and the slides hold, and that nothing is lost at an edge.

`make book` builds the site first. Each check is shown to catch a broken twin.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import Page
from pypdfium2 import PdfDocument

from private_trees.site import paper, pdf, slides
from test_site import ROOT, SITE, parsed, site, unavailable

__all__ = ["site"]  # a fixture

PAGES = range(90, 121)
HEAVIEST = 10e6  # bytes
WIDTH = 631  # px between the margins of A4
SMALLEST = 24  # px, 18 pt, of a letter on a slide
LEAST = 1 / 3  # of a page that is filled
INSIDE = slice(0.07, 0.93)  # of a page's height, without what stands above and below the text

# What is wider than the sheet, or stands outside of its slide, and letters too small for a room.
WIDE = """() => [...document.querySelectorAll('.edition .part *')]
  .filter(node => !node.closest('mjx-container, svg') && node.clientWidth > 1)
  .filter(node => getComputedStyle(node).display !== 'inline')
  .filter(node => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(node => `off the paper: ${node.outerHTML.slice(0, 100)}`)"""
SPILLS = """smallest => [...document.querySelectorAll('.slide')].flatMap((slide, number) => {
  const box = slide.getBoundingClientRect(), found = [];
  for (const node of slide.querySelectorAll('*')) {
    if (node.closest('mjx-container') || node.parentElement.closest('svg')) continue;
    const own = node.getBoundingClientRect();
    if (own.right > box.right + 1 || own.bottom > box.bottom + 1)
      found.push(`off slide ${number + 1}: ${node.outerHTML.slice(0, 100)}`);
    const said = [...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim());
    if (said && parseFloat(getComputedStyle(node).fontSize) < smallest)
      found.push(`small on slide ${number + 1}: ${node.outerHTML.slice(0, 100)}`);
  }
  return found;
})"""
LONG = "<div style='width: 900px'>wide</div>"
MORE = "<p style='font-size: 20px'>small</p><p style='height: 700px'>tall</p>"


class Printed(NamedTuple):
    """The two files, and what did not fit: in them, and in their broken twins."""

    edition: Path
    lecture: Path
    wide: list[str]
    wide_twin: list[str]
    spills: list[str]
    spills_twin: list[str]
    sparse: Path


def looked_at(page: Page, check: str, twin: str, place: str) -> tuple[list[str], list[str]]:
    """What a check finds in the page that is shown, and once the twin's piece is at the end of a place."""
    found = page.evaluate(check, SMALLEST)
    page.locator(place).last.evaluate("(node, twin) => node.insertAdjacentHTML('beforeend', twin)", twin)
    return found, page.evaluate(check, SMALLEST)


@pytest.fixture(scope="module")
def printed(site: str, tmp_path_factory: pytest.TempPathFactory) -> Printed:
    folder = tmp_path_factory.mktemp("pdf")
    edition, lecture, sparse = (folder / f"{name}.pdf" for name in ("edition", "lecture", "sparse"))
    try:
        with pdf.new_page() as page:
            pdf.show(page, SITE, paper.edition(SITE, ROOT))
            pdf.save(page, edition)
            page.set_viewport_size({"width": WIDTH, "height": 900})
            wide = looked_at(page, WIDE, LONG, ".part")
            pdf.show(page, SITE, slides.lecture(SITE, ROOT))
            pdf.save(page, lecture)
            page.set_viewport_size({"width": 1280, "height": 720})
            spills = looked_at(page, SPILLS, MORE, ".slide")
            page.set_content("<p style='break-after: page'>one line</p><p>another</p>")
            pdf.save(page, sparse)
    except FileNotFoundError as error:
        unavailable(str(error))
    return Printed(edition, lecture, *wide, *spills, sparse)


def words(text: str) -> str:
    """Letters and numbers of a text, as far as formulas and the ends of lines leave them."""
    return re.sub(r"\\\(.*?\\\)|[^A-Za-z0-9.]", "", text)


@cache
def texts(path: Path) -> list[str]:
    with PdfDocument(path) as file:
        return [words(page.get_textpage().get_text_range()) for page in file]


def sparse(path: Path) -> list[int]:
    """Numbers of pages of which less than ``LEAST`` is filled from above."""
    found = []
    with PdfDocument(path) as file:
        for number, page in enumerate(file, 1):
            picture = page.render(scale=0.4, grayscale=True).to_numpy().squeeze()
            height = len(picture)
            text = picture[int(INSIDE.start * height) : int(INSIDE.stop * height)]
            inked = np.flatnonzero((text < 245).any(axis=1))
            if not len(inked) or inked[-1] < LEAST * len(text):
                found.append(number)
    return found


@cache
def main_lines() -> list[str]:
    """Pieces of the chapters' findings, and numbers of theorems and definitions that are not folded."""
    found = []
    for name in paper.chapters(ROOT):
        page = parsed(f"{name}.html").select("article")[0]
        finding = next(p for p in page.find_all("p") if p.text.startswith("The finding."))
        found += [words(str(piece)) for piece in finding.find_all(string=True, recursive=False)]
        theorems = page.select(".proof:is(.theorem, .definition):not(.dropdown *, details *) .caption-number")
        found += [words(number.text) for number in theorems]
    return found


def absent(pages: list[str]) -> list[str]:
    """List those main lines that no page holds."""
    all_of_it = "".join(pages)
    return [line for line in main_lines() if line not in all_of_it]


def misnumbered(pages: list[str], entries: list[tuple[str, int]]) -> list[str]:
    """Entries of the contents that are not on the page that they name."""
    return [
        text for text, number in entries if not (number <= len(pages) and words(text) in pages[number - 1])
    ]


def titles(part: str) -> list[str]:
    """What the contents have to list of a page: its title, and a chapter's sections."""
    found = parsed(f"{part}.html").select("article h1" if part in paper.BACK else "article :is(h1, h2)")
    return [heading.text.removesuffix("#") for heading in found]


def listed(contents: str) -> list[tuple[str, int]]:
    """The entries of the contents: a number stands between the words of one entry and those of the next."""
    entries = [title for part in (*paper.chapters(ROOT), *paper.BACK) for title in titles(part)]
    starts = [contents.index(words(entry)) for entry in entries]
    ends = [start + len(words(entry)) for start, entry in zip(starts, entries, strict=True)]
    numbers = [
        int(contents[end:start]) for end, start in zip(ends, [*starts[1:], len(contents)], strict=True)
    ]
    return list(zip(entries, numbers, strict=True))


@pytest.mark.slow
def test_the_edition_has_about_a_hundred_pages(printed: Printed) -> None:
    assert len(texts(printed.edition)) in PAGES
    assert len(texts(printed.lecture)) == len(slides.SLIDES) + 2
    assert max(path.stat().st_size for path in (printed.edition, printed.lecture)) < HEAVIEST


@pytest.mark.slow
def test_the_contents_name_the_right_pages(printed: Printed) -> None:
    pages = texts(printed.edition)
    entries = listed(pages[1])
    assert len(entries) > 80
    assert misnumbered(pages, entries) == []
    shifted = [(text, number + 1) for text, number in entries]  # broken twin
    assert len(misnumbered(pages, shifted)) > len(entries) / 2


@pytest.mark.slow
def test_only_the_last_page_of_a_chapter_is_sparse(printed: Printed) -> None:
    pages = texts(printed.edition)
    firsts = {titles(part)[0] for part in (*paper.chapters(ROOT), *paper.BACK)}
    ends = {number - 1 for title, number in listed(pages[1]) if title in firsts}
    assert set(sparse(printed.edition)) <= {1, len(pages), *ends}
    assert sparse(printed.sparse) == [1, 2]  # broken twin


@pytest.mark.slow
def test_nothing_is_off_the_sheet(printed: Printed) -> None:
    assert printed.wide == []
    assert [problem for problem in printed.wide_twin if "900px" in problem]
    assert printed.spills == []
    assert {problem.split(" ")[0] for problem in printed.spills_twin} == {"off", "small"}


@pytest.mark.slow
def test_findings_and_theorems_are_printed(printed: Printed) -> None:
    pages = texts(printed.edition)
    assert absent(pages) == []
    assert absent([page.replace("Theorem4.3", "") for page in pages]) == ["Theorem4.3"]  # broken twins
    assert len(absent(pages[: len(pages) // 2])) > 10


# --- what is chosen -----------------------------------------------------------------------------------------------

CELL = "<div class='cell'><div class='cell_input'><pre>{}</pre></div><div class='cell_output'>{}</div></div>"
TABLE = "<table><tbody>{}</tbody></table>"
CHAPTER = f"""<section id='top'><h1>1. One<a class='headerlink'>#</a></h1>
<p><strong>The finding.</strong> See <a href='two.html#x'>two</a>, <a href='one_appendix.html#y'>more</a>, <a
href='#in'>below</a>, <a href='https://o.org/#x'>o</a>, <a href='../book/bibliography.html#cited'>A</a>.</p>
{CELL.format("opening", "out")}
<details><summary>Folded</summary><p id='in'>folded</p></details>
<section id='part'><h2>Part</h2><div class='proof admonition'>proof</div><div class='proof theorem'>theorem</div>
{CELL.format("1" + chr(10) * 9 + "long", "kept")}{CELL.format("a" + chr(10) * 3 + "short", "")}
{CELL.format("a" + chr(10) * 3 + "draws", TABLE.format("<tr><td>small</td></tr>"))}
{TABLE.format("<tr><td>large</td></tr>" * 13)}
{CELL.format("", "<svg><g id='g'></g><use href='#g'></use></svg><svg class='narrow'></svg>")}
<p><em>Caption</em> of it.</p></section></section>"""


@pytest.fixture
def little(tmp_path: Path) -> Path:
    """A built site of two chapters in the project's folder."""
    bodies = {
        "book/intro": "<h1>I</h1><p><strong>Words.</strong></p><p><strong>话。</strong></p>",
        "notebooks/one": CHAPTER,
        "notebooks/two": "<section id='x'><h1>2. Two</h1><a href='one.html'>1</a></section>",
        "book/claims": "<h1>C</h1><details class='claim' id='c'><summary><a class='sd-badge'>fails</a>said</summary>"
        "why</details>",
        "book/glossary": "<h1>G</h1>",
        "book/bibliography": "<h1>B</h1><div class='citation' id='cited'>A</div><div class='citation' id='n'>N</div>",
    }
    for name, body in bodies.items():
        path = tmp_path / "html" / f"{name}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<title>T</title><article>{body}</article>", encoding="utf-8")
    toc = "parts:\n  - chapters:\n      - file: notebooks/one\n      - file: notebooks/two\n"
    (tmp_path / "_toc.yml").write_text(toc, encoding="utf-8")
    for name in ("_config.yml", "CITATION.cff", "book/_static/logo.svg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path


def test_the_main_lines_are_kept(little: Path) -> None:
    page = BeautifulSoup(paper.edition(little / "html", little), "html.parser").article
    assert page is not None
    for word in ("folded", "proof", "long", "draws", "large", "why", "N", "#"):
        assert word not in page.text.replace("https", ""), word
    for word in (
        "opening",
        "kept",
        "short",
        "small",
        "theorem",
        "A table of 13 rows stands on the web.",
        "话。",
    ):
        assert word in page.text, word
    assert [tag.text for tag in page.select(".claim")] == ["saidfails"]
    listed = [entry.text for entry in page.select(".contents p")]
    assert listed == ["1. One000", "Part000", "2. Two000", "C000", "G000", "B000"]


def test_links_lead_within_or_to_the_web(little: Path) -> None:
    page = BeautifulSoup(paper.edition(little / "html", little), "html.parser")
    web = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["html"]["baseurl"]
    links = [str(link["href"]) for link in page.select(".part a[href]")]
    assert links == [
        *("#notebooks-two--x", f"{web}notebooks/one_appendix.html#y", f"{web}notebooks/one.html#in"),
        *(
            "https://o.org/#x",
            "#book-bibliography--cited",
            f"{web}notebooks/one.html#part",
            "#notebooks-one--",
        ),
    ]
    ids = [str(tag["id"]) for tag in page.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in page.select("a[href^='#']")} <= set(ids)
    (little / "html" / "notebooks" / "two.html").unlink()
    with pytest.raises(FileNotFoundError, match=r"no page notebooks/two .* run `make book`"):
        paper.edition(little / "html", little)


def test_sentences_end_at_their_points() -> None:
    text = "<p><strong>So.</strong> At <i>n</i> it is 0.5. <b data-after='.'>N.</b> And? <a>Yes</a>, al. <i>x</i>.</p>"
    found = ["".join(part.text for part in one).strip() for one in slides.sentences(paper.fragment(text))]
    assert found == ["At n it is 0.5.", "N.", "And?", "Yes, al. x."]


def test_a_slide_that_finds_nothing_says_so() -> None:
    page = paper.fragment(
        "<article><h1>3. Title</h1><p>One. Two. Three.</p><div class='thing'>T</div></article>"
    )
    slide = slides.Slide("a/page", ".thing")
    assert slides.draw(slide, page).text == "Title Two. Three.T"
    with pytest.raises(ValueError, match=r"a/page: no \.thing number 1"):
        slides.draw(slide._replace(number=1), page)
