"""What the chapters say about their outputs is registered, and true.

The sentences are checked when a notebook runs (`pytest --nbval notebooks`), in its last cell; here we check that the
register is complete: each checked sentence stands in the text, every decimal number of its paragraph is in a checked
sentence, and every other one of the chapter is printed by a cell or stands in its code. A paragraph that says "We
observe" holds a checked sentence. Each rule is shown to catch a broken twin.
"""

from __future__ import annotations

import copy
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from private_trees.site import claims
from private_trees.site import observations as observing
from private_trees.site.observations import (
    EMPTY,
    FALSE,
    LINE,
    OTHER,
    TRUE,
    observe,
    open_page,
    plain,
    stored,
)

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WORDS = re.compile(r"We observe")
DECIMAL = re.compile(r"(?<![\w.])\d*\.\d+")
BOXES = re.compile(r"^(:{3,})\{.*?^\1\s*$", re.MULTILINE | re.DOTALL)  # theorems, proofs, cards, exercises
QUOTED = re.compile(
    r"[Ss]ections? [\d. and]+|第 ?[\d.]+ ?节|[\w-]+ \d+\.\d+\.\d+"
)  # places in a paper, versions

Notebook = Any  # nbformat is not typed
Check = Callable[[Notebook], list[str]]

# --- the function -----------------------------------------------------------------------------------------------

TABLE = pd.DataFrame({"method": ["a", "b", "c"], "auc": [0.7, 0.8, 0.9]})


def said(capsys: pytest.CaptureFixture[str], *arguments: Any, **options: Any) -> str:
    observe("toy-x", *arguments, **options)
    return capsys.readouterr().out


def test_a_true_sentence_is_ticked(capsys: pytest.CaptureFixture[str]) -> None:
    rises = lambda t: t["auc"].is_monotonic_increasing  # noqa: E731
    assert said(capsys, "it rises to {:.1f}", rises, TABLE, says=[0.9]) == f"{TRUE} toy-x: it rises to 0.9\n"


@pytest.mark.parametrize(
    "broken",
    [
        TABLE.assign(auc=[0.8, 0.7, 0.9]),  # two rows of a results file swapped
        TABLE.assign(auc=[-0.7, -0.8, -0.9]),  # a lead that turns negative
    ],
    ids=["swapped rows", "negative lead"],
)
def test_a_false_sentence_is_crossed(broken: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "it rises", lambda t: t["auc"].is_monotonic_increasing, broken).startswith(FALSE)


@pytest.mark.parametrize(
    ("holds", "data"),
    [
        (lambda t: len(t) == 3, TABLE),
        (lambda t: t["auc"].max() >= t["auc"].min(), TABLE),
        (lambda a: a == a, 3.0),
        (lambda flag: flag in (True, False), True),
        (lambda d: set(d) == {"a"}, {"a": 1}),
    ],
    ids=["shape", "order of itself", "number", "truth value", "keys"],
)
def test_a_sentence_that_cannot_be_false_is_told_apart(
    holds: Callable[..., bool], data: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "it is so", holds, data).startswith("∅")


@pytest.mark.parametrize(
    ("holds", "data"),
    [
        (lambda a, b: a < b, (0.2, 0.3)),
        (lambda words: "exact" in words, (["exact", "noisy"],)),
        (lambda count: count == 200, (200,)),
        (lambda flags: all(flags), ([True, True],)),
        (lambda array: (array == 0).all(), (np.zeros(4),)),
        (lambda d: d["a"] > d["b"], ({"a": 2, "b": 1},)),
        (lambda series: series["a"] > series["b"], (pd.Series({"a": 2.0, "b": 1.0}),)),
        (lambda word: word == "inf", ("inf",)),
    ],
)
def test_what_can_fail_passes(
    holds: Callable[..., bool], data: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "it is so", holds, *data).startswith(TRUE)


def test_a_sentence_about_what_the_data_lack_is_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    ahead = lambda t: t.loc[1.0] > t.loc[0.1]  # noqa: E731
    assert said(capsys, "it is ahead", ahead, pd.Series({0.1: 0.7, 1.0: 0.8})).startswith(TRUE)
    lacking = f"{EMPTY} toy-x: this run has no such number: it is "
    assert said(capsys, "it is ahead", ahead, pd.Series({0.1: 0.7, 2.0: 0.8})) == f"{lacking}ahead\n"
    assert said(capsys, "it is above 1", lambda a: a.min() > 1, np.zeros(0)) == f"{lacking}above 1\n"
    for none in (float("nan"), np.float32("nan"), None, pd.NA):
        assert said(capsys, "it is {:.1f}", bool, 1, says=[none]) == f"{lacking}?\n"
    assert said(capsys, "it is {:.1f}", bool, 1, says=np.zeros(0)) == f"{lacking}?\n"


# --- the function in a chapter, with other numbers than the text's -------------------------------------------------

RISES = "it rises from {:.2f} to {:.2f}"
TEXT = "it rises from 0.71 to 0.83"
rises = lambda a: a[-1] > a[0]  # noqa: E731


@pytest.fixture
def in_a_chapter() -> Iterator[None]:
    open_page(
        {"toy-x": TEXT, "toy-half": "more than half of the 41 countries"}, "epsilon = 0.2 (default 1.0)"
    )
    observing.page.first = "toy-first"  # so that no line says how to read the list
    yield
    open_page({})


OUTCOMES: list[tuple[list[float], str]] = [
    ([0.71, 0.83], f"{TRUE} toy-x: {TEXT}"),
    ([0.714, 0.826], f"{TRUE} toy-x: {TEXT}"),  # the same when rounded as the text is
    ([0.71, 0.84], f"{OTHER} toy-x: text: “{TEXT}”; this run: 0.71, 0.84"),
    ([0.83, 0.71], f"{FALSE} toy-x: with these data it is not so that: {TEXT}; this run: 0.83, 0.71"),
    ([0.71, 0.71], f"{FALSE} toy-x: with these data it is not so that: {TEXT}; this run: 0.71, 0.71"),
    (
        [0.71, np.nan],
        f"{FALSE} toy-x: with these data it is not so that: {TEXT}; this run: 0.71, no such number",
    ),
    ([np.nan, np.nan], f"{EMPTY} toy-x: this run has no such number: {TEXT}"),
    ([], f"{EMPTY} toy-x: this run has no such number: {TEXT}"),
]


@pytest.mark.usefixtures("in_a_chapter")
@pytest.mark.parametrize(("numbers", "line"), OUTCOMES)
def test_the_sentence_that_is_judged_is_the_text_s(
    numbers: list[float], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, RISES, rises, numbers, says=np.array(numbers)) == f"{line}\n"


@pytest.mark.usefixtures("in_a_chapter")
def test_a_run_with_other_numbers_gets_no_tick(capsys: pytest.CaptureFixture[str]) -> None:
    observe("toy-half", "more than half of the {} countries", bool, 1, says=[0])
    line = f"{OTHER} toy-half: text: “more than half of the 41 countries”; this run: 0\n"
    assert capsys.readouterr().out == line
    other = said(capsys, "it rises from {1:.2f} to {0:.2f}", bool, 1, says=[0.9, 0.71])
    assert other.endswith("this run: 0.71, 0.90\n")
    open_page({})  # broken twin: what no text says, the run says itself
    assert said(capsys, RISES, rises, [0.1, 0.2], says=[0.1, 0.2]).startswith(TRUE)


def test_the_list_of_a_run_with_other_parameters_says_so_first(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (lambda name=name: observe(name, "{}", bool, 1, says=[1]) for name in ("toy-a", "toy-b"))
    open_page({}, "epsilon = 0.2 (default 1.0)")
    for _ in range(2):  # the cell is run again
        first(), second()
        head, *lines = capsys.readouterr().out.splitlines()
        assert head.startswith("This run has other parameters than the text: epsilon = 0.2 (default 1.0). ")
        assert lines == [f"{TRUE} toy-a: 1", f"{TRUE} toy-b: 1"]
    open_page({})
    first()
    assert capsys.readouterr().out == f"{TRUE} toy-a: 1\n"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_s_own_sentences_are_found(path: Path) -> None:
    lines = list(observations(nbformat.read(path, as_version=4)))
    assert stored(path) == {name: text for _, name, text in lines}
    assert lines


# --- the register -----------------------------------------------------------------------------------------------


def observations(notebook: Notebook) -> Iterator[tuple[str, str, str]]:
    """List what the cells of a notebook checked: outcome, name, sentence."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for output in cell.outputs:
                yield from LINE.findall(output.get("text", ""))


def paragraphs(notebook: Notebook) -> Iterator[str]:
    """Paragraphs of a chapter's prose, each point of a list for itself; no headings, tables, theorems and proofs."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for block in re.split(r"\n\s*\n|^- ", BOXES.sub("\n\n", cell.source), flags=re.MULTILINE):
                if block.strip() and not re.match(r"[#|]", block.strip()):
                    yield plain(block)


def checked(notebook: Notebook) -> list[str]:
    """Sentences that were checked, the longest first."""
    return sorted((plain(text) for _, _, text in observations(notebook)), key=len, reverse=True)


def not_true(notebook: Notebook) -> list[str]:
    """Find sentences that the stored outputs contradict, or that nothing could contradict."""
    return [f"{name}: {text}" for outcome, name, text in observations(notebook) if outcome != TRUE]


def nowhere(notebook: Notebook) -> list[str]:
    """Find checked sentences that neither the chapter nor its claims contain."""
    prose = plain(" ".join(c.source for c in notebook.cells if c.cell_type == "markdown") + notebook.notes)
    return [f"{name}: {text}" for _, name, text in observations(notebook) if plain(text) not in prose]


def unobserved(notebook: Notebook) -> list[str]:
    """Find paragraphs that say "We observe" and hold no checked sentence, nor does the list that they begin."""
    found, all_of_it = [], list(paragraphs(notebook))
    for paragraph, following in zip(all_of_it, [*all_of_it[1:], ""], strict=True):
        said = paragraph + (following if paragraph.endswith(":") else "")
        if WORDS.search(paragraph) and not any(text in said for text in checked(notebook)):
            found.append(paragraph[:70])
    return found


def unchecked_numbers(notebook: Notebook) -> list[str]:
    """Find decimal numbers beside a checked sentence, in its paragraph, that are in no checked sentence."""
    texts, found = checked(notebook), []
    for paragraph in paragraphs(notebook):
        rest = paragraph
        for text in texts:
            rest = rest.replace(text, " ")
        if rest != paragraph:
            found += [f"{number} in: {paragraph[:70]}" for number in DECIMAL.findall(QUOTED.sub(" ", rest))]
    return found


def unprinted(notebook: Notebook) -> list[str]:
    """Find decimal numbers of the prose that no cell prints, and that stand in none."""
    shown = set()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts = [cell.source, *(output.get("text", "") for output in cell.outputs)]
            for output in cell.outputs:
                data = output.get("data", {}).items()
                texts += [re.sub("<[^>]+>", " ", str(d)) for kind, d in data if not kind.startswith("image/")]
            shown |= {number for text in texts for number in DECIMAL.findall(plain(text))}
    return [
        f"{number} in: {paragraph[:70]}"
        for paragraph in paragraphs(notebook)
        for number in DECIMAL.findall(QUOTED.sub(" ", paragraph))
        if number not in shown
    ]


def repeated(notebook: Notebook) -> list[str]:
    """Find names that stand for two sentences."""
    return [name for name, n in Counter(name for _, name, _ in observations(notebook)).items() if n > 1]


def elsewhere(notebook: Notebook) -> list[str]:
    """Find checks before the last code cell, and what else than checks that one does; the page folds it."""
    *others, last = [cell for cell in notebook.cells if cell.cell_type == "code"]
    found = [
        cell.source[:60] for cell in others for output in cell.outputs if LINE.search(output.get("text", ""))
    ]
    found += [line for line in last.source.splitlines() if not re.match(r"\w+\.check_\w+\(|\s", line)]
    folded = "hide-cell" in last.metadata.get("tags", [])
    titled = last.metadata.get("mystnb", {}).get("code_prompt_show") == "What was checked"
    return found if folded and titled else [*found, last.source[:60]]


CHECKS = (not_true, nowhere, unobserved, unchecked_numbers, unprinted, repeated, elsewhere)


def read(path: Path) -> Notebook:
    """Read a notebook, with the notes of its chapter's claims."""
    notebook = nbformat.read(path, as_version=4)
    papers = [
        paper for paper in claims.load(ROOT / "claims") if path in claims.notebooks_of(ROOT / paper.chapter)
    ]
    notebook.notes = " ".join(f"{claim.claim} {claim.note}" for paper in papers for claim in paper.claims)
    return notebook


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_chapter(path: Path, check: Check) -> None:
    assert check(read(path)) == []


def good() -> Notebook:
    """Return a chapter that passes every check."""
    prose = (
        "We observe that AUC is $0.75$ and *never* falls.\n\nWe observe:\n\n- It is **private**.\n- It is .5."
    )
    printed = (
        f"{TRUE} toy-a: AUC is 0.75 and never falls\n{TRUE} toy-b: is private\n{TRUE} toy-c: It is 0.5\n"
    )
    cells = [
        new_markdown_cell(prose),
        new_code_cell(
            "chapter.check_rain(fallen)",
            outputs=[new_output("stream", text=printed)],
            metadata={"tags": ["hide-cell"], "mystnb": {"code_prompt_show": "What was checked"}},
        ),
    ]
    notebook = new_notebook(cells=cells)
    notebook.notes = ""
    return notebook


def reprinted(old: str, new: str) -> Callable[[Notebook], None]:
    def spoil(notebook: Notebook) -> None:
        output = notebook.cells[1].outputs[0]
        assert old in output.text
        output.text = output.text.replace(old, new)

    return spoil


TWINS: dict[str, tuple[Check, Callable[[Notebook], object]]] = {
    "false": (not_true, reprinted(f"{TRUE} toy-a", f"{FALSE} toy-a")),
    "vain": (not_true, reprinted(f"{TRUE} toy-a", "∅ toy-a")),
    "number moved": (nowhere, reprinted("0.75", "0.76")),
    "words moved": (nowhere, reprinted("never", "seldom")),
    "paragraph added": (unobserved, lambda nb: nb.cells.append(new_markdown_cell("We observe rain."))),
    "number added": (
        unchecked_numbers,
        lambda nb: nb.cells[0].update(source=nb.cells[0].source + " Or .6."),
    ),
    "number from memory": (unprinted, lambda nb: nb.cells.append(new_markdown_cell("It has been .61."))),
    "name twice": (repeated, reprinted("toy-b", "toy-a")),
    "unfolded": (elsewhere, lambda nb: nb.cells[1].metadata.update(tags=[])),
    "no prompt": (elsewhere, lambda nb: nb.cells[1].metadata.update(mystnb={})),
    "in between": (elsewhere, lambda nb: nb.cells.append(copy.deepcopy(nb.cells[1]))),
    "computed": (elsewhere, lambda nb: nb.cells[1].update(source="fallen = 3\n" + nb.cells[1].source)),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_chapter_is_caught(twin: str) -> None:
    check, spoil = TWINS[twin]
    assert [other(good()) for other in CHECKS] == [[]] * len(CHECKS)
    broken = copy.deepcopy(good())
    spoil(broken)
    assert check(broken) != []


# --- from end to end --------------------------------------------------------------------------------------------


def swapped(table: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """The results of two methods exchanged: a row of the one for a row of the other."""
    assert {first, second} <= set(table["method"])
    return table.assign(method=table["method"].replace({first: second, second: first}))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:papermill", "ignore::DeprecationWarning")
def test_a_spoilt_results_file_prints_a_cross(tmp_path: Path) -> None:
    folder, chapter = tmp_path / "results", ROOT / "notebooks" / "07_appendix.ipynb"
    shutil.copytree(ROOT / "results", folder)
    path = folder / "edprf_attack.csv"
    spoiling = swapped(pd.read_csv(path), "undersampling first: a leaf", "repaired, tight: a leaf")
    spoiling.to_csv(path, index=False)
    ran = papermill.execute_notebook(
        chapter,
        tmp_path / "out.ipynb",
        parameters={"results": str(folder)},
        kernel_name="python3",
        cwd=ROOT / "notebooks",
        progress_bar=False,
    )
    as_it_is, spoilt = (
        [text for outcome, _, text in observations(notebook) if outcome == FALSE]
        for notebook in (nbformat.read(chapter, as_version=4), ran)
    )
    assert as_it_is == []  # and nbval shows that a run prints what is stored
    assert spoilt != []
    ticked = {name: text for outcome, name, text in observations(ran) if outcome == TRUE}
    assert ticked.items() < stored(chapter).items()
    assert ran.cells[-1].outputs[0].text.startswith("This run has other parameters than the text: results = ")
