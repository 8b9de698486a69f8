"""What the book's notebooks need around their contents: checked parameters, and runs that leave no traces.

A notebook's first code cell holds its parameters and the second one checks them, so that a run with a
misspelt name or a bad value stops at once instead of publishing numbers for something else.
"""

from __future__ import annotations

import numbers
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from dpnb.errors import closest
from dpnb.files import write_whole
from dpnb.terminal import Parser, announce, command, note

from ..drawings import plots
from . import defaults, observations

STORING = (
    "PRIVATE_TREES_STORING"  # environment variable: the run's outputs become those of the chapter's file
)
_IPYTHON = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})


class ParameterError(ValueError):
    """A notebook was given a parameter that it does not have, or a value that it cannot use."""


class WarnedError(ValueError):
    """A notebook ran to its end and warned of something, so that its outputs are not to be stored."""


@dataclass(frozen=True)
class Allowed:
    """What a parameter may be."""

    expected: str  # the accepted values in words, for the error message
    accepts: Callable[[Any], bool]  # whether a value is one of them
    convert: Callable[[Any], Any]  # turns an accepted value into the type that the notebook computes with
    choices: tuple[str, ...] = ()  # the accepted texts, if they are few, for suggestions


def one_of(*choices: str) -> Allowed:
    """Accept one of the given texts."""
    return Allowed(
        expected="one of " + ", ".join(map(repr, choices)),
        accepts=lambda value: isinstance(value, str) and value in choices,
        convert=str,
        choices=choices,
    )


def positive(*, below: float = float("inf")) -> Allowed:
    """Accept a finite number above 0 and below a bound, as a float."""
    return Allowed(
        expected="a finite number above 0" + (f" and below {below:g}" if below < float("inf") else ""),
        accepts=lambda value: (
            _is_number(value, numbers.Real) and 0 < value <= sys.float_info.max and value < below
        ),
        convert=float,
    )


def integer(*, low: int, high: int = sys.maxsize) -> Allowed:
    """Accept an integer from ``low`` on, or up to ``high``."""
    return Allowed(
        expected=f"an integer of {low} or more"
        if high == sys.maxsize
        else f"an integer from {low} to {high}",
        accepts=lambda value: _is_number(value, numbers.Integral) and low <= value <= high,
        convert=int,
    )


def text() -> Allowed:
    """Accept any text that is not empty."""
    return Allowed(
        expected="a text", accepts=lambda value: isinstance(value, str) and bool(value), convert=str
    )


def check_parameters(namespace: Mapping[str, object], **rules: Allowed) -> SimpleNamespace:
    """Check a notebook's parameters, right after the cell that sets them.

    Parameters
    ----------
    namespace : the notebook's ``globals()``.
    **rules : what each parameter may be; the result has the checked values under the same names.

    Raises
    ------
    ParameterError
        If a value breaks its rule, a parameter is not set, or a variable is not a parameter: papermill only
        warns about a name that it does not know, and the notebook would run without it.

    Examples
    --------
    >>> check_parameters({"epsilon": 1, "seed": 7}, epsilon=positive(), seed=integer(low=0))
    namespace(epsilon=1.0, seed=7)
    """
    for name, value in namespace.items():
        if name not in rules and not _is_machinery(name, value):
            raise ParameterError(
                f"'{name}' is not a parameter of this notebook{_suggestion(name, rules)} "
                f"Its parameters are {', '.join(rules)}."
            )
    checked = {}
    for name, rule in rules.items():
        if name not in namespace:
            raise ParameterError(
                f"The parameter '{name}' is not set. Set it in the cell tagged 'parameters' to {rule.expected}."
            )
        value = namespace[name]
        if not rule.accepts(value):
            hint = _suggestion(value, rule.choices) if isinstance(value, str) else "."
            raise ParameterError(
                f"The parameter '{name}' is {value!r}, but it must be {rule.expected}{hint} "
                f"Change it in the cell tagged 'parameters', or with papermill's -p {name} VALUE."
            )
        checked[name] = rule.convert(value)
    if isinstance(folder := checked.get("results"), str) and folder != "committed":
        _check_results(Path(folder), make=checked.get("scale") == "paper")
    return SimpleNamespace(**checked)


def _check_results(folder: Path, *, make: bool) -> None:
    """Raise ParameterError unless results can be read from a folder, or written to it where they are computed."""
    there = next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)
    if not (there.is_dir() and os.access(there, os.W_OK)) if make else not any(folder.glob("*.csv")):
        raise ParameterError(
            f"results = {str(folder)!r}: expected 'committed', or a folder that "
            + ("can be written to." if make else "holds results, files *.csv.")
        )


def start(notebook: str, namespace: Mapping[str, object], rules: Mapping[str, Allowed]) -> SimpleNamespace:
    """Begin a chapter: check its parameters, say which are not those of its text, and set the look of its figures.

    From now on its text is what :func:`~private_trees.site.observations.observe` judges.

    Parameters
    ----------
    notebook : name of the chapter's file, without its ending.
    namespace : the notebook's ``globals()``.
    rules : what each parameter may be, as :func:`check_parameters` takes them.
    """
    from IPython.display import display

    parameters = check_parameters(namespace, **rules)
    plots.use_style()
    path = defaults.NOTEBOOKS / f"{notebook}.ipynb"
    said = defaults.note(parameters, defaults.of_notebook(path))
    sentences = {} if os.environ.get(STORING) else observations.stored(path)
    observations.open_page(sentences, said.run if said else "")
    if said:
        display(said)  # type: ignore[no-untyped-call]
    return parameters


def execute(path: Path) -> float:
    """Run a notebook from its own folder and store its outputs in it; returns the seconds that it took.

    The file changes only if every cell ran without a warning, and keeps no times, versions or other traces of the run.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails.
    WarnedError
        If one prints a warning, as figures that would mislead and exercises with a wrong answer do.
    """
    timeout = 600  # seconds a cell: ten times what a whole notebook should take
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    start = time.perf_counter()
    client = NotebookClient(
        notebook,
        resources={"metadata": {"path": str(path.parent)}},
        kernel_name="python3",
        timeout=timeout,
        record_timing=False,
        coalesce_streams=True,
    )
    client.execute(env={**os.environ, STORING: "1"})
    seconds = time.perf_counter() - start
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    if warned := [output.text for output in outputs if output.get("name") == "stderr"]:
        raise WarnedError("".join(warned))
    language = notebook.metadata["language_info"]
    notebook.metadata["language_info"] = {key: language[key] for key in ("name", "pygments_lexer")}
    for part in (notebook, *notebook.cells):
        for trace in ("execution", "papermill"):
            part.metadata.pop(trace, None)
    write_whole(path, nbformat.writes(notebook) + "\n")
    return seconds


@command()
def main(arguments: Sequence[str], /) -> int:
    """Command line: run notebooks and store their outputs in them; returns 1 if one failed, else 0."""
    parser = Parser(prog="python -m private_trees.site.notebook", description=__doc__.split("\n")[0])
    executing = parser.add_subparsers(required=True, metavar="execute").add_parser(
        "execute", help="run notebooks and store their outputs in them"
    )
    executing.add_argument(
        "paths", nargs="*", type=Path, help="notebooks; those in notebooks/ if none is named"
    )
    paths = parser.parse_args(arguments).paths or sorted(Path("notebooks").glob("*.ipynb"))
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        parser.error(f"no such notebook: {', '.join(missing)}")
    if not paths:
        parser.error("no notebooks in notebooks/; run the command from the folder of the book, or name some")
    try:
        from nbclient.exceptions import CellExecutionError
    except ImportError:
        parser.error(
            "nbclient is missing. Install the book's packages: pip install -e . -e ./book in the project's folder"
        )

    failed = 0
    for path in paths:
        try:
            announce(f"{path}: {execute(path):.1f} s")
        except (CellExecutionError, WarnedError) as error:
            what = "warned" if isinstance(error, WarnedError) else "failed"
            note(f"{path}: a cell {what}; the file is unchanged.\n{error}")
            failed += 1
    return min(failed, 1)


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _is_machinery(name: str, value: object) -> bool:
    """Tell what Python, IPython and imports put into a namespace from what a user sets."""
    return name.startswith("_") or name in _IPYTHON or callable(value) or isinstance(value, ModuleType)


def _suggestion(word: str, known: Iterable[str]) -> str:
    close = closest(word, known)
    return f". Did you mean '{close}'?" if close else "."


if __name__ == "__main__":
    sys.exit(main())
