"""What stands around the chapters: the front page, heads of pages, scripts, search, the Colab cell."""

from __future__ import annotations

import json
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.errors import ExtensionError

from private_trees.site import claims, glance

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))
sys.path.insert(0, str(ROOT / "book" / "_ext"))
EXTENSIONS = {path.stem: runpy.run_path(str(path)) for path in (ROOT / "book" / "_ext").glob("*.py")}
TOOLS, HEAD, SEARCH, FIXES, NUMBERS, MARKS, FORMULAS, TERMS, LANGUAGES = (
    SimpleNamespace(**EXTENSIONS[name])
    for name in (
        "chapter_tools",
        "page_head",
        "page_search",
        "page_fixes",
        "page_numbers",
        "check_marks",
        "formulas",
        "definitions",
        "one_language",
    )
)


def soup(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


# --- the front page ---------------------------------------------------------------------------------------------


def test_the_front_page_is_current() -> None:
    """If not: python -m private_trees.site.pages."""
    intro = (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    for path, text in glance.files(ROOT).items():
        assert (ROOT / path).read_text(encoding="utf-8") == text
        assert path.relative_to("book").as_posix() in intro


def test_pictures_show_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = glance.exposed(ROOT / "results")
    assert (counts > 100).all()  # the sentence below it: at any claimed ε
    picture = glance.exposed_picture(ROOT / "results")
    assert all(f">{count:.0f}</text>" in picture for count in counts)
    monkeypatch.setattr(glance, "exposed", lambda folder: counts / 2)  # broken twin
    assert glance.exposed_picture(ROOT / "results") != picture


def test_a_changed_verdict_changes_the_line() -> None:
    papers = claims.load(ROOT / "claims")
    line = glance.verdict_line(papers)
    assert f"All {sum(len(paper.claims) for paper in papers)} claims" in line
    assert glance.verdict_line(papers[1:]) != line
    defects = {(c.id.partition("-")[0], d) for paper in papers for c in paper.claims for d in c.defects}
    assert line.endswith(f"rest on {len(defects)} defects.")
    assert len(defects) < sum(c.verdict == "fails" for paper in papers for c in paper.claims)


# --- heads and cards --------------------------------------------------------------------------------------------

PAGE = "<div class='admonition'><p>Box.</p></div><p>First \\(\\varepsilon\\le1\\) words.</p><p>No.</p>"


def test_a_description_is_the_first_paragraph_outside_of_boxes() -> None:
    assert HEAD.description(soup(PAGE)) == "First ε≤1 words."
    assert HEAD.description(soup("<p></p>")) == ""
    english = f"<p>{'中文' * 50}</p><p>{'English ' * 10} [Mu <em>et al.</em>, 2016] \\(\\log_2 n\\).</p>"
    assert HEAD.description(soup(english)) == f"{'English ' * 10}log_2 n."
    long = HEAD.description(soup(f"<p>{'word ' * 100}</p>"))
    assert long.endswith("word …")
    assert len(long) <= HEAD.LONGEST + 2


def test_tags_are_escaped() -> None:
    page = dict.fromkeys(("site", "title", "description", "address", "card"), 'a "b" <c>')
    found = soup(HEAD.tags(page)).find_all("meta")
    assert {tag["content"] for tag in found} == {'a "b" <c>', "article", "summary_large_image"}
    assert {"description", "twitter:image"} < {tag.get("name") for tag in found}
    assert {"og:title", "og:image", "og:description"} < {tag.get("property") for tag in found}


def test_a_card_shows_its_title() -> None:
    cards = [HEAD.draw(title, "Private Trees") for title in ("Notation", "Glossary · 中英文术语", "Glossary")]
    assert {card.size for card in cards} == {HEAD.SIZE}
    assert cards[0].tobytes() != cards[1].tobytes()
    assert cards[1].tobytes() == cards[2].tobytes()  # the font has no Chinese


# --- chapters: scripts, and the menus of figures -------------------------------------------------------------


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_is_a_script(path: Path) -> None:
    script = TOOLS.script(cells(path))
    code = [
        line
        for cell in cells(path)
        if cell["cell_type"] == "code"
        for line in "".join(cell["source"]).split("\n")
    ]
    assert [line for line in script.split("\n") if line in code and not line.startswith("#")]
    compile(script, path.stem, "exec")
    with pytest.raises(SyntaxError):  # broken twin: text that is no comment
        compile(TOOLS.script([cell | {"cell_type": "code"} for cell in cells(path)]), path.stem, "exec")


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_line_of_a_figure_names_every_parameter(path: Path) -> None:
    line = shlex.split(TOOLS.command(f"notebooks/{path.stem}", cells(path)))
    assert line[:3] == ["papermill", f"notebooks/{path.stem}.ipynb", "out.ipynb"]
    (tagged,) = [cell for cell in cells(path) if "parameters" in cell["metadata"].get("tags", [])]
    names: dict[str, Any] = {}
    exec("".join(tagged["source"]), names)
    given = dict(zip(line[4::3], line[5::3], strict=True))
    assert given == {name: str(names[name]) for name in names["__annotations__"]}


def test_only_figures_have_a_menu() -> None:
    code, figure = "<div class='cell_input'><pre>code</pre></div>", "<div class='cell_output'>{}</div>"
    folded = "<details class='{}'><summary>A</summary>{}</details>"
    cells = {
        code + figure.format("<img/>"): ["code", "papermill x"],
        folded.format("above-input", code) + figure.format("<svg></svg>"): ["code", "papermill x"],
        folded.format("above-input", code + figure.format("<img/>")): [
            "papermill x"
        ],  # a folded cell stays one
        code + figure.format("<pre>1</pre>"): [],
    }
    for cell, inside in cells.items():
        page = soup(f"<div class='cell'>{cell}</div>")
        assert TOOLS.offer_menus(page, "papermill x") == bool(inside)
        assert [pre.text for pre in page.select("details.figure-menu pre")] == inside
        assert page.text.count("code") == cell.count(
            "code</pre>"
        )  # nothing is lost, and nothing is there twice


# --- formulas ---------------------------------------------------------------------------------------------------


def test_formulas_are_set_and_nothing_else() -> None:
    text = r'<p>(<span class="math whole">(\(a&lt;b\)<i>,</i></span>) <code>\(a\)</code></p>'
    block = r'<div id="a" class="math scrolls"><span class="eqno">1</span>\[\begin{split}a&amp;=b\end{split}\]</div>'
    page = soup(FORMULAS.fill(text + block))
    inline, display = page.select(".math > mjx-container mjx-assistive-mml")
    assert [inline.text, display.text] == ["a<b", "a=b"]
    assert display.parent["display"] == "true"
    assert page.code.text == r"\(a\)"
    assert page.p.text.endswith("a<b,) \\(a\\)")
    with pytest.raises(ExtensionError, match="nosuchmacro"):
        FORMULAS.fill(r'<span class="math">\(\nosuchmacro\)</span>')


# --- terms ------------------------------------------------------------------------------------------------------


def test_the_first_use_of_a_term_is_defined() -> None:
    known = {
        term: TERMS.Entry(f"term-{i}", "词", term) for i, term in enumerate(("leaf query", "query", "ε"))
    }
    page = soup(
        "<h1>Query</h1><p><code>query</code> <em>Leaf queries</em> ask, unlike a subquery. "
        "Queries &amp; a query at ε = 1.</p><table><tr><td><p>ε</p></td></tr></table>"
    )
    assert TERMS.define(page, known, "g.html") == ["leaf query", "query", "ε"]
    links = [(link.text, link["href"]) for link in page.select("a")]
    assert links == [("Leaf queries", "g.html#term-0"), ("Queries", "g.html#term-1"), ("ε", "g.html#term-2")]
    assert [span["id"] for span in page.select(".meaning")] == [
        link["aria-describedby"] for link in page.select("a")
    ]
    assert page.p.text.endswith("Queries & a query at ε = 1.")
    assert TERMS.shortened(f"One. {'word ' * 60}end.") == "One."


# --- checked sentences ------------------------------------------------------------------------------------------

SAID = """<ul><li><p>It is <em>0.5</em> at \\(n=1\\), we observe.</p></li></ul><p>Other.</p>
<div class="output stream"><pre>✓ toy-a: is .5 at $n=1$
✓ toy-b: it is elsewhere</pre></div>"""


def test_a_checked_sentence_leads_to_its_check_and_back() -> None:
    page = soup(SAID)
    MARKS.mark(page)
    (link,) = page.select(".marks a")
    assert (link["href"], link["aria-label"], link.parent.parent.name) == (
        "#check-toy-a",
        "Checked: toy-a",
        "p",
    )
    found, elsewhere = page.select(".checks li")
    assert (found["id"], found.a["href"], elsewhere.a) == ("check-toy-a", f"#{link['id']}", None)
    assert found.text == r"✓ toy-a: is .5 at \(n=1\)"
    twin = soup(SAID.replace("0.5", "0.6"))
    MARKS.mark(twin)
    assert twin.select(".marks, .checks a") == []


def test_other_outputs_stay_outputs() -> None:
    page = soup(SAID.replace("✓ toy-b", "toy-b"))
    before = str(page)
    MARKS.mark(page)
    assert str(page) == before


# --- the bar before a chapter's first figure --------------------------------------------------------------------

FOLDED = """<div class="{} cell"><details class="hide above-input"><summary><p class="collapsed">{title}</p>
<p class="expanded">{title}</p></summary><pre>{title}</pre></details>{shown}</div>"""


def beginning(*titles: str, shown: str = "<div class='cell_output'><img/></div>") -> BeautifulSoup:
    """Return folded cells of which the last one shows something, then a paragraph and one more folded cell."""
    tags = ["tag_parameters", *["tag_hide-cell"] * len(titles[1:])]
    parts = [
        FOLDED.format(tag, title=title, shown="") for tag, title in zip(tags[:-1], titles[:-1], strict=True)
    ]
    parts += ["<div class='cell'></div>", FOLDED.format(tags[-1], title=titles[-1], shown=shown)]
    return soup(
        "\n".join(["<p>The finding.</p>", *parts, "<p>Text.</p>", FOLDED.format("", title="More", shown="")])
    )


def test_a_chapter_begins_with_one_bar() -> None:
    page = beginning("Parameters", "Imports", "How the figure is made")
    code = [pre.text for pre in page.select("pre")]
    FIXES.gather(page)
    one, _ = page.select("details")
    for state in ("collapsed", "expanded"):
        assert one.select_one(f"summary .{state}").text == "Parameters · Imports · How the figure is made"
    assert [pre.text for pre in page.select("pre")] == code  # nothing is lost, and nothing changes places
    assert one.find_next_sibling()["class"] == ["cell_output"]


def test_boxes_are_folded_without_a_script() -> None:
    page = soup(
        "<div class='admonition dropdown' id='a'><p class='admonition-title'><a href='#e'>A</a></p><p>1</p></div>"
        "<div class='proof admonition dropdown'><p>2</p></div><div class='admonition'><p>3</p></div>"
    )
    FIXES.fold(page)
    assert [(bar.summary.text, bar.p.text) for bar in page.select("details")] == [("A", "1"), ("Proof", "2")]
    assert page.details["id"] == "a"
    assert page.select_one("details > p > a")["href"] == "#e"
    assert not page.select("summary a")
    assert not page.select(".dropdown")


def test_bars_stay_where_they_are_elsewhere() -> None:
    for page in (
        beginning("Parameters"),
        soup("<p>No cells.</p>"),
        soup(str(beginning("A", "B")).replace("tag_par", "")),
    ):
        before = str(page)
        FIXES.gather(page)
        assert str(page) == before


# --- numbers ----------------------------------------------------------------------------------------------------


def test_pages_under_a_chapter_have_no_number() -> None:
    pages = ("intro", "one", "one-more", "two")
    env = SimpleNamespace(
        toctree_includes={"intro": ["one", "two"], "one": ["one-more"]},
        toc_secnumbers={"one": {"": (1,), "#a": (1, 1)}, "one-more": {"": (1, 2)}, "two": {"": (2,)}},
        titles={page: nodes.title(page, page, secnumber=(9,)) for page in pages},
        tocs={page: nodes.paragraph("", "", nodes.reference("", page, secnumber=(9,))) for page in pages},
    )
    NUMBERS.unnumber(None, env)
    assert env.toc_secnumbers == {"one": {"": (1,), "#a": (1, 1)}, "one-more": {}, "two": {"": (2,)}}
    numbered = [page for page in pages if "secnumber" in env.titles[page]]
    assert numbered == ["intro", "one", "two"]
    assert numbered == [page for page in pages if "secnumber" in env.tocs[page][0]]


# --- search -----------------------------------------------------------------------------------------------------


def test_chinese_words_are_found_by_their_pairs() -> None:
    words = SEARCH.Bilingual({}).split("eDPRF 采用重排翻转机制 and noise2")
    assert {"eDPRF", "重排", "翻转", "机制", "and", "noise2", "重"} < set(words)
    assert "采用重排翻转机制" not in words


def test_chinese_is_marked_and_so_is_the_english_before_it() -> None:
    page = soup(
        "<section><h1>A</h1><p>Ten people.</p><p>One is ill.</p><p>十个人，一人患病。</p><p>More.</p></section>"
        "<details class='fold'><summary>中文摘要</summary><p>十个人。</p></details><p class='x'>结论</p>"
    )
    assert LANGUAGES.mark(page)
    assert [tag.get("lang") for tag in page.select("section > p")] == ["en", "en", "zh", None]
    assert page.details["lang"] == "zh"
    english = soup("<section><p>Ten people 十.</p><p>One is ill.</p></section>")  # a page without a button
    assert not LANGUAGES.mark(english)
    assert not english.select("[lang]")


# --- fixes ------------------------------------------------------------------------------------------------------


def test_no_header_of_a_table_is_empty() -> None:
    page = soup(
        "<table><thead><tr><th> </th><th></th></tr></thead><tbody><tr><th>a</th><th></th></tr></tbody></table>"
    )
    FIXES.headed(page)
    assert str(page) == "<table><tbody><tr><th>a</th><td></td></tr></tbody></table>"


WIDE = """<table><thead><tr><td></td><td></td><th>take</th><th>AUC</th><th>loss</th></tr>
<tr><th>classes</th><th>n·ε</th><td></td><td></td><td></td></tr></thead><tbody>
<tr><th rowspan="2">two</th><th>few</th><td>a</td><td>.7</td><td>.2</td></tr>
<tr><th>many</th><td>b</td><td>.8</td><td>.1</td></tr>
</tbody></table>"""


def test_a_row_of_many_columns_is_a_card_with_its_names() -> None:
    page = soup(WIDE)
    FIXES.cards(page)
    rows = page.select("table.cards tbody tr")
    assert [row["data-about"] for row in rows] == ["classes two · n·ε few", "classes two · n·ε many"]
    assert [[(cell["data-name"], cell.text) for cell in row.select("[data-name]")] for row in rows] == [
        [("take", "a"), ("AUC", ".7"), ("loss", ".2")],
        [("take", "b"), ("AUC", ".8"), ("loss", ".1")],
    ]
    assert {tag["role"] for tag in page.select("tbody th")} == {"rowheader"}
    narrow = soup(WIDE.replace("<th>loss</th>", "").replace("<td>.2</td>", ""))  # four columns fit
    narrow.select("thead tr")[1].td.decompose()
    FIXES.cards(narrow)
    assert not narrow.select(".cards, [data-name]")


def test_a_header_that_is_a_formula_has_words_if_there_are_any() -> None:
    formulas = {r"\(N\to\infty\)": "N→∞", r"\(\varepsilon\)": "ε", r"\(\sqrt n\)": None, r"\(e^x\)": None}
    for formula, words in formulas.items():
        page = soup(f"<table><tr><th><span class='math'>{formula}</span></th><th>a</th></tr></table>")
        FIXES.headed(page)
        assert page.th.text == (words or formula)
        assert bool(page.select(".math")) is (words is None)


def test_punctuation_stays_in_the_box_of_its_formula() -> None:
    box = "<span class='math'>\\(n\\)</span>"
    for before, after, first, last in (
        ("of (", "), as", "(", "),"),
        ("the ", "-th one", "", "-"),
        ("the ", "th one", "", "th"),
        ("", "；其次", "", "；"),
        ("so ", " is", "", ""),
        ("so ", "这样", "", ""),
    ):
        page = soup(f"<p>{before}{box}{after}</p>")
        FIXES.keep(page)
        assert page.p.text == f"{before}\\(n\\){after}"
        assert page.span.text == f"{first}\\(n\\){last}"


def test_a_short_formula_is_whole_and_a_long_one_is_not() -> None:
    page = soup(f"<span class='math'>x</span><span class='math'>{'x' * 60}</span>")
    FIXES.keep(page)
    assert ["whole" in formula["class"] for formula in page.find_all("span")] == [True, False]


def test_lines_wrap_but_for_columns_and_drawings() -> None:
    def wraps(text: str, around: str) -> bool:
        page = soup(f"<section><h1>A</h1><div class='{around}'><pre>{text}</pre></div></section>")
        FIXES.reachable(page)
        return "wraps" in page.pre.span["class"]

    output = {"✓ a: it rises\n✓ b: it falls": True, "n = 1:   20\nn = 10: 200": False, "ε\n└─ tree": False}
    assert {text: wraps(text, "cell_output") for text in output} == output
    assert wraps("def f():\n    return  1", "cell_input")
    assert not wraps("door  |  records", "highlight-text")


# --- Binder and Colab -------------------------------------------------------------------------------------------

COLAB = """import sys

if "google.colab" in sys.modules:  # a fresh machine there; elsewhere nothing happens
    get_ipython().system("git clone -q --depth 1 {address}")
    get_ipython().run_line_magic("run", "private-trees/.binder/colab.py")"""


def address() -> str:
    """Return the address of the repository, from the one place that has it."""
    configuration = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return str(configuration["repository"]["url"])


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_colab_is_asked_for_after_the_parameters(path: Path) -> None:
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert code[1]["metadata"]["tags"] == ["remove-cell", "colab"]
    assert "".join(code[1]["source"]) == COLAB.format(address=address())


def test_the_colab_cell_does_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    shell = SimpleNamespace(system=done.append, run_line_magic=lambda *words: done.append(" ".join(words)))
    exec(COLAB, {"get_ipython": lambda: shell})
    assert done == []
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    exec(COLAB, {"get_ipython": lambda: shell})
    assert [words.split()[0] for words in done] == ["git", "run"]


def test_colab_installs_both_packages_and_goes_to_the_notebooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / address().rpartition("/")[2]).symlink_to(ROOT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    done: list[list[str]] = []
    monkeypatch.setattr(subprocess, "check_call", done.append)
    left = runpy.run_path(str(ROOT / ".binder" / "colab.py"))
    assert [(words[1:4], words[-1]) for words in done] == [
        (["-m", "pip", "install"], "jinja2"),
        (["-m", "pip", "install"], "./book"),
    ]
    assert Path.cwd() == ROOT / "notebooks"
    assert [Path(place) for place in sys.path[:2]] == [ROOT, ROOT / "book"]
    # Another name than a module's would pass for a parameter.
    assert {name for name in left if not name.startswith("_")} == {"os", "subprocess", "sys"}


def test_binder_installs_the_pinned_project() -> None:
    lines = (ROOT / ".binder" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert lines[1:] == ["-c ../constraints.txt", "-e .", "-e ./book", "jupyterlab-myst"]
    assert (ROOT / ".binder" / "runtime.txt").read_text(encoding="utf-8") == "python-3.12\n"


def test_the_repository_has_one_address() -> None:
    assert f'Repository = "{address()}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["repository-code"] == address()
