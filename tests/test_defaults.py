"""A chapter that is run with other parameters says so, and marks what it says of the defaults."""

from __future__ import annotations

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
from private_trees.site.observations import plain
from test_observations import observations

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
QUICK = ROOT / "notebooks" / "01_foundations.ipynb"

Notebook = Any  # nbformat is not typed


# --- the note ---------------------------------------------------------------------------------------------------


def test_the_defaults_need_no_note() -> None:
    assert defaults.note(SimpleNamespace(epsilon=1.0, n_trees=25), {"epsilon": 1.0, "n_trees": 25}) is None
    assert defaults.note(SimpleNamespace(epsilon=1.0, jobs=4), {"epsilon": 1.0}) is None


def test_other_values_are_named() -> None:
    usual = {"epsilon": 1.0, "data": "adult", "n": 3}
    found = defaults.note(SimpleNamespace(epsilon=0.5, data="<b>", n=3), usual)
    assert found is not None
    assert found.changed == {"epsilon": (0.5, 1.0), "data": ("<b>", "adult")}
    for text in (repr(found), found._repr_html_()):
        assert "epsilon = 0.5 (default 1.0)" in text
        assert defaults.SIGN in text
        assert "n = 3" not in text
    assert "<b>" not in found._repr_html_()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_begins_with_its_own_name(path: Path) -> None:
    sources = ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]
    begun = [
        name for source in sources for name in re.findall(r'^p = start\("(\w+)", globals\(\)', source, re.M)
    ]
    assert begun == [path.stem]


def test_defaults_are_those_of_the_file(tmp_path: Path) -> None:
    assert defaults.of_notebook(QUICK) == {"seed": 20240613, "draws": 200_000}
    text = (
        QUICK.read_text(encoding="utf-8")
        .replace("seed: int = 20240613", "seed: int = 99")
        .replace("draws:", "jobs:")
    )
    (tmp_path / "other.ipynb").write_text(text, encoding="utf-8")
    assert defaults.of_notebook(tmp_path / "other.ipynb") == {
        "seed": 99
    }  # the number of jobs changes no number


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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_marks_are_written_in_one_way(path: Path) -> None:
    for text in paragraphs(nbformat.read(path, as_version=4)):
        assert text.count(defaults.SIGN) == text.count(defaults.MARK) <= 1


def behind_fences(notebook: Notebook) -> list[str]:
    """Lines of a fence that a mark stands behind: such a fence closes nothing, and what follows stays folded."""
    lines = [
        line for cell in notebook.cells for line in cell.source.split("\n") if cell.cell_type == "markdown"
    ]
    return [line for line in lines if defaults.MARK in line and re.match(r"\s*(:{3,}|`{3,}|\$\$)", line)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
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
    (said,) = (c for c in ran.cells if c.cell_type == "code" and "p = start(" in c.source)
    assert "draws = 3000 (default 200000)" in said.outputs[0]["data"]["text/plain"]
    stored = nbformat.read(QUICK, as_version=4)
    assert all(not c.outputs for c in stored.cells if c.cell_type == "code" and "p = start(" in c.source)
    assert moved(stored, ran)
    assert unmarked(stored, ran) == []
    for cell in stored.cells:
        cell.source = cell.source.replace(defaults.MARK, "")
    assert unmarked(stored, ran) != []
