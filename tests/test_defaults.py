"""A chapter that is run with other parameters says so, and marks what it says of the defaults."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import papermill
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from private_trees.site import defaults
from test_observations import observations, plain

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = sorted((ROOT / "notebooks").glob("0[1-5]_*.ipynb"))
QUICK = ROOT / "notebooks" / "01_foundations.ipynb"

Notebook = Any  # nbformat is not typed


# --- the note ---------------------------------------------------------------------------------------------------


def test_the_defaults_need_no_note() -> None:
    assert defaults.note(SimpleNamespace(epsilon=1.0, n_trees=25), epsilon=1.0, n_trees=25) is None
    assert defaults.note(SimpleNamespace(epsilon=1.0, jobs=4), epsilon=1.0) is None


def test_other_values_are_named() -> None:
    found = defaults.note(SimpleNamespace(epsilon=0.5, data="<b>", n=3), epsilon=1.0, data="adult", n=3)
    assert found is not None
    assert found.changed == {"epsilon": (0.5, 1.0), "data": ("<b>", "adult")}
    for text in (repr(found), found._repr_html_()):
        assert "epsilon = 0.5 (default 1.0)" in text
        assert defaults.SIGN in text
        assert "n = 3" not in text
    assert "<b>" not in found._repr_html_()


# --- the cell ---------------------------------------------------------------------------------------------------


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def cell_of(notebook: dict[str, Any]) -> list[str]:
    """Sources of the cells that say when the parameters are others."""
    tagged = (c for c in notebook["cells"] if defaults.TAG in c["metadata"].get("tags", []))
    return ["".join(cell["source"]) for cell in tagged]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_cell_of_a_chapter_is_current(path: Path) -> None:
    """If not: python -m private_trees.site.defaults notebooks/0[1-5]_*.ipynb."""
    notebook = read(path)
    assert cell_of(notebook) == [defaults.source(notebook)]
    moved = copy.deepcopy(notebook)
    parameters = next(c for c in moved["cells"] if "parameters" in c["metadata"].get("tags", []))
    parameters["source"] = re.sub(r"(seed: int = )\d+", r"\g<1>99", "".join(parameters["source"]))
    assert cell_of(moved) != [defaults.source(moved)]


def test_the_cell_stands_after_the_check_once() -> None:
    cells = [
        {"metadata": {"tags": ["parameters"]}, "source": ["n: int = 3  # a number\n", "jobs: int = 1"]},
        {"metadata": {}, "source": ["p = check_parameters(globals(), n=integer(low=1))"]},
        {"metadata": {}, "source": ["print(p.n)"]},
    ]
    once = defaults.with_cell({"cells": [cell | {"cell_type": "code"} for cell in cells]})
    assert [c["metadata"].get("tags", []) for c in once["cells"]] == [
        ["parameters"],
        [],
        ["remove-input", "defaults"],
        [],
    ]
    assert "    n=3,\n)" in cell_of(once)[0]
    assert defaults.with_cell(copy.deepcopy(once)) == once


# --- the marks --------------------------------------------------------------------------------------------------


def paragraphs(notebook: Notebook) -> Iterator[str]:
    """Paragraphs of the text, and points of its lists."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield from re.split(r"\n\s*\n|\n(?=- )", cell.source)


def moved(stored: Notebook, ran: Notebook) -> dict[str, str]:
    """Sentences that a run checked with another outcome than the stored one, or with other numbers."""
    now = {name: (outcome, text) for outcome, name, text in observations(ran)}
    return {name: text for outcome, name, text in observations(stored) if now.get(name) != (outcome, text)}


def unmarked(stored: Notebook, ran: Notebook) -> list[str]:
    """Sentences that do not hold in a run as they stand, and have no mark."""
    found = []
    for name, text in moved(stored, ran).items():
        holders = [p for p in paragraphs(stored) if plain(text) in plain(p.replace(defaults.MARK, ""))]
        found += [f"{name}: {p[:70]}" for p in holders if defaults.MARK not in p]
    return found


def chapter(number: str, mark: str = "") -> Notebook:
    """Return a chapter that checked one sentence."""
    check = new_output("stream", text=f"✓ toy-a: it is {number}\n")
    return new_notebook(
        cells=[new_markdown_cell(f"We see that it is 0.1.{mark}"), new_code_cell("", outputs=[check])]
    )


def test_a_sentence_without_its_mark_is_found() -> None:
    assert unmarked(chapter("0.1"), chapter("0.1")) == []
    assert unmarked(chapter("0.1"), chapter("0.2")) == ["toy-a: We see that it is 0.1."]
    assert unmarked(chapter("0.1", defaults.MARK), chapter("0.2", defaults.MARK)) == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_marks_are_written_in_one_way(path: Path) -> None:
    for text in paragraphs(nbformat.read(path, as_version=4)):
        assert text.count(defaults.SIGN) == text.count(defaults.MARK) <= 1


def behind_fences(notebook: Notebook) -> list[str]:
    """Lines of a fence that a mark stands behind: such a fence closes nothing, and what follows stays folded."""
    lines = [
        line for cell in notebook.cells for line in cell.source.split("\n") if cell.cell_type == "markdown"
    ]
    return [line for line in lines if defaults.MARK in line and re.match(r"\s*(:{3,}|`{3,}|\$\$)", line)]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_marks_leave_fences_alone(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    assert behind_fences(stored) == []
    stored.cells.append(new_markdown_cell(f":::{{note}}\nIt is 0.1.\n::: {defaults.MARK}"))
    assert behind_fences(stored) == [f"::: {defaults.MARK}"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:papermill", "ignore::DeprecationWarning")
def test_a_run_with_other_parameters_says_so(tmp_path: Path) -> None:
    ran = papermill.execute_notebook(
        QUICK,
        tmp_path / "out.ipynb",
        parameters={"draws": 3000, "seed": 7},
        kernel_name="python3",
        cwd=ROOT / "notebooks",
        progress_bar=False,
    )
    (said,) = (c for c in ran.cells if defaults.TAG in c.metadata.get("tags", []))
    assert "draws = 3000 (default 200000)" in said.outputs[0]["data"]["text/plain"]
    stored = nbformat.read(QUICK, as_version=4)
    assert all(not c.outputs for c in stored.cells if defaults.TAG in c.metadata.get("tags", []))
    assert moved(stored, ran)
    assert unmarked(stored, ran) == []
    for cell in stored.cells:
        cell.source = cell.source.replace(defaults.MARK, "")
    assert unmarked(stored, ran) != []
