"""Every notebook runs to its end with other parameters than its own, without warnings, NaN or figures that mislead."""

from __future__ import annotations

import ast
import re
import shutil
import warnings
from collections.abc import Collection
from typing import Any

import papermill
import pytest

from dpnb import errors
from private_trees.site import figures, observations
from private_trees.studies import runs
from reruns import NOTEBOOKS, RERUNS, Parameters, rerun

CHEAP = (
    "01_foundations",
    "02_mechanisms",
    "05_pearson",
    "06_dpada",
    "07_edprf",
    "09_leaderboard",
    "10_scale",
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # papermill's own


def untried(documented: Parameters, sets: Collection[Parameters]) -> set[str]:
    """Parameters of a notebook that no set moves, and those of a set that the notebook does not have."""
    moved = {name for each in sets for name, value in each.items() if documented.get(name) != value}
    return moved ^ set(documented)


def documented(notebook: str) -> dict[str, Any]:
    """Parameters that papermill lists for a notebook, and their defaults."""
    found = papermill.inspect_notebook(NOTEBOOKS / f"{notebook}.ipynb")
    return {name: ast.literal_eval(about["default"]) for name, about in found.items()}


def test_the_table_moves_every_parameter_of_every_notebook() -> None:
    assert set(RERUNS) == {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    assert [name for name, sets in RERUNS.items() if untried(documented(name), sets)] == []


def test_a_parameter_that_is_left_out_is_found() -> None:
    for sets, found in (
        ([{"a": 2}], {"b"}),
        ([{"a": 2, "b": 1}], {"b"}),
        ([{"a": 2}, {"b": 2, "c": 1}], {"c"}),
    ):
        assert untried({"a": 1, "b": 1}, sets) == found


def told(parameters: Parameters) -> str:
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def cases() -> list[Any]:
    """Every run of the table, with the marks that say when it runs."""
    found = []
    for notebook, sets in RERUNS.items():
        for number, parameters in enumerate(sets):
            marks = [] if number == 0 and notebook in CHEAP else [pytest.mark.nightly]
            if {"bank", "adult"} & {*parameters.values()}:
                marks.append(pytest.mark.realdata)
            if parameters.get("engine") == "spark":
                marks.append(pytest.mark.skipif(shutil.which("java") is None, reason="needs Java"))
            found.append(
                pytest.param(notebook, parameters, marks=marks, id=f"{notebook}: {told(parameters)}")
            )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("notebook", "parameters"), cases())
def test_a_notebook_runs_with_other_parameters(
    notebook: str,
    parameters: Parameters,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for costly in ("svg", "png", "display"):
        monkeypatch.setattr(figures, costly, lambda *_, **__: "")
    monkeypatch.setattr(observations, "page", observations.page)  # each notebook opens its own
    monkeypatch.setattr(runs, "_measured", lambda *_: pytest.fail("a stored result is missing"))
    with warnings.catch_warnings(record=True) as warned:
        rerun(NOTEBOOKS / f"{notebook}.ipynb", parameters)
    said, misleading = capsys.readouterr()
    ours = (errors.FewRecordsWarning, errors.PrivacyLeakWarning, DeprecationWarning)
    spoken = [str(one.message) for one in warned if not issubclass(one.category, ours)]
    assert [text for text in spoken if not text.startswith("PySpark does not yet fully support pandas")] == []
    assert re.findall(r"^.*\bnan\b.*$", said, re.MULTILINE | re.IGNORECASE) == []
    assert misleading == ""
