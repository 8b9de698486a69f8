"""The committed notebooks are complete, leave no traces of a run, and refuse bad parameters.

That their outputs are current is proved by `pytest --nbval notebooks`. Each check here is shown to catch a broken twin.
"""

from __future__ import annotations

import copy
import re
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from papermill.exceptions import PapermillExecutionError

from private_trees.site.notebook import ParameterError
from reruns import rerun

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))
SOLUTIONS = "solutions"
LINES, MEDIAN = 16, 8  # longest code cell, and what half of the cells do not exceed
TRACES = {
    "path": re.compile(
        r"(?<![\w.:/])/(?:home|root|Users|tmp|var|opt|usr|work|mnt|private)/[\w.-]+|\b[A-Z]:\\\w"
    ),
    "time": re.compile(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d|\b[012]?\d:\d\d:\d\d\b"),
    "process": re.compile(r"\b(?:pid|process)[ =:]+\d+|ipykernel_\d+|\bat 0x[0-9a-f]{6,}", re.IGNORECASE),
}

Notebook = Any  # nbformat is not typed
Check = Callable[[Notebook], list[str]]

pytestmark = [
    # papermill's own: the name that a test passes on purpose, and its use of a deprecated call
    pytest.mark.filterwarnings("ignore::UserWarning:papermill", "ignore::DeprecationWarning"),
]


def code_cells(notebook: Notebook) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def not_executed(notebook: Notebook) -> list[str]:
    """Find code cells without an execution count: nbval would pass them unseen."""
    return [cell.source[:60] for cell in code_cells(notebook) if cell.execution_count is None]


def wrong_parameters(notebook: Notebook) -> list[str]:
    """Find anything but one cell of parameters, which comes first."""
    tagged = [i for i, c in enumerate(code_cells(notebook)) if "parameters" in c.metadata.get("tags", [])]
    return [] if tagged == [0] else [f"code cells tagged 'parameters': {tagged}"]


def texts(cell: Any) -> list[str]:
    """List all that a cell's outputs say, pictures aside."""
    found = []
    for output in cell.outputs:
        found.append(output.get("text", ""))
        found += [str(d) for kind, d in output.get("data", {}).items() if not kind.startswith("image/")]
        found += output.get("traceback", [])
    return found


def traces(notebook: Notebook) -> list[str]:
    """Find outputs that carry a path, a time or a process."""
    return [
        f"{kind}: {match.group(0)}"
        for cell in code_cells(notebook)
        for text in texts(cell)
        for kind, pattern in TRACES.items()
        for match in pattern.finditer(text)
    ]


def on_stderr(notebook: Notebook) -> list[str]:
    """Find outputs on stderr, such as warnings, and errors."""
    return [
        f"{output.output_type}: {cell.source[:60]}"
        for cell in code_cells(notebook)
        for output in cell.outputs
        if output.get("name") == "stderr" or output.output_type == "error"
    ]


def too_long(notebook: Notebook) -> list[str]:
    """Find code cells whose contents belong in the package."""
    return [cell.source[:60] for cell in code_cells(notebook) if len(cell.source.splitlines()) > LINES]


def too_long_on_average(notebook: Notebook) -> list[str]:
    """Find a median length of code cells that says that thoughts are not kept apart."""
    median = statistics.median(len(cell.source.splitlines()) for cell in code_cells(notebook))
    return [] if median <= MEDIAN else [f"median: {median} lines"]


def too_folded(notebook: Notebook) -> list[str]:
    """Find more than a third of the code where a reader of the page does not see it."""
    lines = {True: 0, False: 0}
    for cell in code_cells(notebook):
        folded = any(tag.startswith(("hide-", "remove-")) for tag in cell.metadata.get("tags", []))
        lines[folded] += len(cell.source.splitlines())
    return [] if 2 * lines[True] <= lines[False] else [f"{lines[True]} lines folded, {lines[False]} open"]


def wrong_kernel(notebook: Notebook) -> list[str]:
    """Find a kernel that only its author has."""
    name = notebook.metadata.get("kernelspec", {}).get("name")
    return [] if name == "python3" else [f"kernel: {name}"]


def without_alt(notebook: Notebook) -> list[str]:
    """Find figures that a reader who cannot see them learns nothing of."""
    return [
        cell.source[:60]
        for cell in code_cells(notebook)
        if has_figure(cell) and not cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "").strip()
    ]


def unchecked_figures(notebook: Notebook) -> list[str]:
    """Find figures that are shown past the check of their artists."""
    return [cell.source[:60] for cell in code_cells(notebook) if "plt.show()" in cell.source]


def has_figure(cell: Any) -> bool:
    return any(kind.startswith("image/") for output in cell.outputs for kind in output.get("data", {}))


def open_machinery(notebook: Notebook) -> list[str]:
    """Find set-up, checks and code of figures that Jupyter does not collapse."""
    machinery = [
        cell
        for cell in code_cells(notebook)
        if has_figure(cell) or {"hide-cell", "remove-cell"} & set(cell.metadata.get("tags", []))
    ]
    return [
        cell.source[:60] for cell in machinery if not cell.metadata.get("jupyter", {}).get("source_hidden")
    ]


def given_away(notebook: Notebook) -> list[str]:
    """Find solutions beside their exercises, and exercises whose stub is a text that nobody can fill in."""
    markdown = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    found = [
        text[:60] for text in markdown if "{exercise}" in text and ("{solution}" in text or "```" in text)
    ]
    for cell in code_cells(notebook):
        if any("{exercise}" in text for text in markdown) and re.search(
            r"^exercises\.check_", cell.source, re.MULTILINE
        ):
            found += [] if "returns nothing yet" in " ".join(texts(cell)) else [cell.source[:60]]
    return found


CHECKS = (
    not_executed,
    wrong_parameters,
    traces,
    on_stderr,
    too_long,
    too_long_on_average,
    too_folded,
    wrong_kernel,
    without_alt,
    unchecked_figures,
    open_machinery,
    given_away,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, check: Check) -> None:
    assert check(nbformat.read(path, as_version=4)) == []


def test_every_exercise_is_solved_in_one_notebook() -> None:
    labels = {
        directive: Counter(
            label
            for path in NOTEBOOKS
            for cell in nbformat.read(path, as_version=4).cells
            for label in re.findall(pattern, cell.source, re.MULTILINE)
            if (path.stem == SOLUTIONS) is (directive == "solution")
        )
        for directive, pattern in (
            ("exercise", r"^:+\{exercise\}.*\n:label: (\S+)"),
            ("solution", r"^:+\{solution\} (\S+)"),
        )
    }
    assert labels["solution"] == labels["exercise"]
    assert len(labels["exercise"]) > 50


def good() -> Notebook:
    """Return a notebook that passes every check."""
    figure = new_output(
        "display_data", data={"image/png": "AAAA", "text/plain": "<Figure size 1x1 with 1 Axes>"}
    )
    cells = [
        new_code_cell("seed: int = 0", metadata={"tags": ["parameters"]}, execution_count=1),
        new_code_cell(
            "print(1 / 3)", execution_count=2, outputs=[new_output("stream", text="0.33 at 1/2, 3:4\n")]
        ),
        new_code_cell(
            "figures.show()",
            metadata={"mystnb": {"image": {"alt": "A tree"}}, "jupyter": {"source_hidden": True}},
            execution_count=3,
            outputs=[figure],
        ),
        new_code_cell(""),
        new_markdown_cell(":::{exercise} Rain\nWrite it.\n:::"),
        new_code_cell(
            "exercises.check_rain(mine)",
            execution_count=4,
            outputs=[new_output("stream", text="mine returns nothing yet: …\n")],
        ),
    ]
    return new_notebook(
        cells=cells,
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )


def printed(text: str, name: str = "stdout") -> Callable[[Notebook], None]:
    """Break a notebook by what a cell prints."""
    return lambda notebook: notebook.cells[1].outputs.append(new_output("stream", name=name, text=text))


TWINS: dict[str, tuple[Check, Callable[[Notebook], Any]]] = {
    "stripped": (not_executed, lambda nb: nb.cells[1].update(execution_count=None)),
    "no parameters": (wrong_parameters, lambda nb: nb.cells[0].metadata.clear()),
    "two parameters": (wrong_parameters, lambda nb: nb.cells[1].metadata.update(tags=["parameters"])),
    "late parameters": (
        wrong_parameters,
        lambda nb: nb.cells.insert(0, new_code_cell("1", execution_count=0)),
    ),
    "home": (traces, printed("saved to /home/ann/private-trees/out.csv")),
    "drive": (traces, printed(r"saved to C:\Users\ann")),
    "date": (traces, printed("done 2026-01-31 12:30")),
    "clock": (traces, printed("done 12:30:59")),
    "process": (traces, printed("worker pid=1234")),
    "object": (traces, printed("<dpnb.Tree object at 0x7f12ab34cd>")),
    "warning": (on_stderr, printed("UserWarning: look", name="stderr")),
    "error": (on_stderr, lambda nb: nb.cells[1].outputs.append(new_output("error", ename="E", evalue="e"))),
    "long": (too_long, lambda nb: nb.cells[1].update(source="1\n" * (LINES + 1))),
    "long on average": (
        too_long_on_average,
        lambda nb: [cell.update(source="1\n" * (MEDIAN + 1)) for cell in nb.cells[:3]],
    ),
    "open figure": (open_machinery, lambda nb: nb.cells[2].metadata.pop("jupyter")),
    "open set-up": (open_machinery, lambda nb: nb.cells[1].metadata.update(tags=["hide-cell"])),
    "solved": (given_away, lambda nb: nb.cells[5].outputs[0].update(text="all right\n")),
    "solution below": (
        given_away,
        lambda nb: nb.cells[4].update(source=nb.cells[4].source + "\n:::{solution} rain"),
    ),
    "stub in a text": (
        given_away,
        lambda nb: nb.cells[4].update(source=nb.cells[4].source + "\n```python\n```"),
    ),
    "folded": (
        too_folded,
        lambda nb: [cell.metadata.update(tags=["hide-cell"]) for cell in nb.cells[1:3]],
    ),
    "kernel": (wrong_kernel, lambda nb: nb.metadata.kernelspec.update(name="my-env")),
    "no alt": (without_alt, lambda nb: nb.cells[2].metadata.clear()),
    "unchecked figure": (unchecked_figures, lambda nb: nb.cells[2].update(source="plt.show()")),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_notebook_is_caught(twin: str) -> None:
    check, spoil = TWINS[twin]
    notebook = good()
    assert [other(notebook) for other in CHECKS] == [[]] * len(CHECKS)
    broken = copy.deepcopy(notebook)
    spoil(broken)
    assert check(broken) != []


def refusal(path: Path, **parameters: object) -> str:
    """Run a notebook's code with bad parameters; text of the error that stops it."""
    with pytest.raises(ParameterError) as error:
        rerun(path, parameters)
    return str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_bad_parameters_stop_the_run(path: Path) -> None:
    documented = papermill.inspect_notebook(path)
    name = next(iter(documented))
    assert f"'{name}x' is not a parameter" in refusal(path, **{name + "x": 1})
    for name, about in documented.items():
        said = refusal(path, **{name: -1})
        assert f"'{name}' is -1, but it must be" in said
        assert not_said(said, about["help"]) == []


def not_said(refusal: str, help_text: str) -> list[str]:
    """What a refusal asks for, and the documented line does not: choices, and bounds that a reader could not guess."""
    asked = refusal.partition(" must be ")[2].partition(" Change ")[0]
    wanted = re.findall(r"an integer of (\d\d+|[2-9]) or more|(?:to|below) (\d+)|'([\w-]+)'", asked)
    return [word for words in wanted for word in words if word and not re.search(rf"\b{word}\b", help_text)]


def test_a_bound_that_is_not_documented_is_found() -> None:
    for must, found in (
        ("an integer of 4 or more.", ["4"]),
        ("one of 'here', 'there'. Change", ["there"]),
        ("a finite number above 0 and below 1.", ["1"]),
        ("an integer of 0 or more.", []),
        ("an integer from 1 to 7.", ["7"]),
    ):
        assert not_said(f"'a' is -1, but it must be {must}", "rounds, here or elsewhere") == found


@pytest.mark.slow
def test_papermill_is_stopped_too(tmp_path: Path) -> None:
    path = NOTEBOOKS[0]
    with pytest.raises(PapermillExecutionError, match="'sed' is not a parameter") as error:
        papermill.execute_notebook(
            path,
            tmp_path / "out.ipynb",
            parameters={"sed": 1},
            kernel_name="python3",
            cwd=path.parent,
            progress_bar=False,
        )
    assert error.value.ename == "ParameterError"


def test_a_notebook_without_a_check_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "unchecked.ipynb"
    notebook = good()
    del notebook.cells[2:]
    nbformat.write(notebook, path)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        refusal(path, sed=-1)
