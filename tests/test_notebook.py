"""The check of a notebook's parameters, and the command that runs notebooks."""

from __future__ import annotations

import importlib
import json
import pkgutil
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from private_trees import chapters
from private_trees.site.notebook import (
    ParameterError,
    check_parameters,
    integer,
    main,
    one_of,
    positive,
    text,
)

RULES = {
    "dataset": one_of("adult-standin", "adult"),
    "epsilon": positive(),
    "seed": integer(low=0),
    "scale": one_of("default", "paper"),
    "jobs": integer(low=1),
    "delta": positive(below=1),
    "depth": integer(low=1, high=7),
}
GOOD: dict[str, Any] = {
    "dataset": "adult", "epsilon": 0.5, "seed": 7, "scale": "default", "jobs": 2, "delta": 0.5, "depth": 7
}  # fmt: skip


def test_good_values_come_back_as_attributes() -> None:
    p = check_parameters(GOOD, **RULES)
    assert vars(p) == GOOD


def test_values_are_converted() -> None:
    p = check_parameters({"epsilon": 1, "seed": np.int64(3)}, epsilon=positive(), seed=integer(low=0))
    assert (type(p.epsilon), type(p.seed)) == (float, int)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("epsilon", -1, "'epsilon' is -1, but it must be a finite number above 0"),
        ("epsilon", 0, "above 0"),
        ("epsilon", float("nan"), "above 0"),
        ("epsilon", float("inf"), "finite"),
        ("epsilon", "1", "'1', but it must be a finite number"),
        ("epsilon", True, "True, but it must be a finite number"),
        ("epsilon", None, "None, but"),
        ("seed", -1, "an integer of 0 or more"),
        ("seed", 1.0, "an integer of 0 or more"),
        ("seed", False, "an integer of 0 or more"),
        ("jobs", 0, "an integer of 1 or more"),
        ("scale", "papr", "one of 'default', 'paper'. Did you mean 'paper'?"),
        ("dataset", ["adult"], "one of 'adult-standin', 'adult'"),
        ("depth", 8, "an integer from 1 to 7"),
        ("delta", 1, "a finite number above 0 and below 1"),
    ],
)
def test_bad_value(name: str, value: object, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        check_parameters(GOOD | {name: value}, **RULES)
    assert message in str(error.value)
    assert f"-p {name} VALUE" in str(error.value)


# The nearest value that is refused, in whatever chapter it is asked for.
REFUSED = {
    "dataset": "adlt", "delta": 0, "draws": 999, "engine": "sprk", "epsilon": 0, "jobs": 0, "max_depth": 0,
    "n_rounds": 3, "n_shards": 0, "n_trees": 0, "repeats": 0, "results": "", "runs": 399, "scale": "papr",
    "seed": -1, "tree_depth": 1,
}  # fmt: skip


@pytest.mark.parametrize("chapter", [module.name for module in pkgutil.iter_modules(chapters.__path__)])
def test_what_chapters_refuse(chapter: str) -> None:
    module = importlib.import_module(f"{chapters.__name__}.{chapter}")
    rules = getattr(module, "PARAMETERS", {})  # an appendix may take its chapter's
    assert [name for name, rule in rules.items() if rule.accepts(REFUSED[name])] == []


def test_unknown_name_with_suggestion() -> None:
    with pytest.raises(ParameterError, match=r"'epsilom' is not a parameter.*Did you mean 'epsilon'\?"):
        check_parameters(GOOD | {"epsilom": 0.1}, **RULES)


def test_unknown_name_without_suggestion() -> None:
    with pytest.raises(
        ParameterError, match=r"'zzz' is not .* notebook\. Its parameters are dataset, epsilon"
    ):
        check_parameters(GOOD | {"zzz": 0.1}, **RULES)


def test_missing_name() -> None:
    with pytest.raises(ParameterError, match="'seed' is not set"):
        check_parameters({k: v for k, v in GOOD.items() if k != "seed"}, **RULES)


def test_machinery_is_not_a_parameter() -> None:
    """What IPython and imports leave in the namespace passes; a plain value beside it does not."""
    namespace = GOOD | {"_i1": "text", "In": [""], "Out": {}, "np": np, "main": main, "Path": Path}
    check_parameters(namespace, **RULES)
    with pytest.raises(ParameterError, match="'out'"):
        check_parameters(namespace | {"out": {}}, **RULES)


def write(path: Path, *sources: str) -> Path:
    cells = [new_markdown_cell("# Title"), *(new_code_cell(source) for source in sources)]
    nbformat.write(new_notebook(cells=cells), path)
    return path


@pytest.mark.slow
def test_execute_stores_outputs_and_no_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.ipynb", "import pathlib\nprint(6 * 7, pathlib.Path('a.ipynb').exists())")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].metadata["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
    notebook.metadata["papermill"] = {"duration": 1.0}
    nbformat.write(notebook, path)

    assert main(["execute", str(path)]) == 0

    done = json.loads(path.read_text(encoding="utf-8"))
    assert done["cells"][1]["outputs"][0]["text"] == ["42 True\n"]
    assert done["cells"][1]["execution_count"] == 1
    assert "execution" not in done["cells"][1]["metadata"]
    assert "papermill" not in done["metadata"]
    assert set(done["metadata"]["language_info"]) == {"name", "pygments_lexer"}
    assert list(tmp_path.iterdir()) == [path]
    assert str(path) in capsys.readouterr().out

    once = path.read_bytes()
    assert main(["execute", str(path)]) == 0
    assert path.read_bytes() == once


MISLEADS = """import matplotlib.pyplot as plt
from private_trees.site import figures
plt.plot([3, 1, 2])
figures.show()"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "what", "said"),
    [
        ("1 / 0", "failed", "ZeroDivisionError"),
        (MISLEADS, "warned", "This figure may mislead: panel 0: no label"),
    ],
    ids=["error", "misleading figure"],
)
def test_a_notebook_that_fails_or_warns_stays_as_it_was(
    cell: str, what: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.ipynb", cell)
    before = path.read_bytes()
    assert main(["execute", str(path)]) == 1
    assert path.read_bytes() == before
    error = capsys.readouterr().err
    assert f"a cell {what}; the file is unchanged" in error
    assert said in error
    assert list(tmp_path.iterdir()) == [path]


def test_missing_notebook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["execute", str(tmp_path / "b.ipynb")]) == 2
    assert "no such notebook" in capsys.readouterr().err


def test_no_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["execute"]) == 2


@pytest.mark.parametrize(
    ("scale", "said"), [("default", "that holds results"), ("paper", "that can be written to")]
)
def test_a_folder_of_results_is_checked_before_anything_is_computed(
    scale: str, said: str, tmp_path: Path
) -> None:
    rules = {"results": text(), "scale": one_of("default", "paper")}
    assert check_parameters({"results": "committed", "scale": scale}, **rules).results == "committed"
    file = tmp_path / "file.csv"
    file.write_text("here", encoding="utf-8")
    assert check_parameters({"results": str(tmp_path), "scale": scale}, **rules).results == str(tmp_path)
    (empty := tmp_path / "empty").mkdir()
    for folder, fine in (
        (file / "results", False),
        (empty, scale == "paper"),
        (tmp_path / "new", scale == "paper"),
    ):
        values = {"results": str(folder), "scale": scale}
        if fine:
            assert check_parameters(values, **rules).results == str(folder)
        else:
            with pytest.raises(
                ParameterError, match=f"results = .*: expected 'committed', or a folder {said}"
            ):
                check_parameters(values, **rules)
