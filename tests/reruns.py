"""The parameters that each notebook is rerun with, in one table, and such a run without a kernel.

The first set of a notebook is its cheapest, most of which run at each push; ``make test-all`` runs all of them.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import papermill

from private_trees.papers import BY_CHAPTER, Declaration

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
Parameters = Mapping[str, Any]

_DRAWS: list[Parameters] = [{"draws": 1000}, {"seed": 0, "draws": 400_000}]
_BUDGETS: list[Parameters] = [{"epsilon": epsilon} for epsilon in (0.001, 0.05, 0.1, 0.2, 3.0, 10.0, 100.0)]
_SETS: list[Parameters] = [
    {"dataset": "bank"},
    {"dataset": "adult"},
    {"dataset": "bank", "epsilon": 0.05},
]
_GRID: list[Parameters] = [{"seed": 1}, {"results": "../results"}, {"scale": "paper", "jobs": 2}]


def _live(**small: Any) -> list[Parameters]:
    """Other budgets, data, seeds and results; what is small in each of them saves time."""
    return [{**each, **small} for each in (*_BUDGETS, *_SETS, *_GRID)]


def _of(paper: Declaration) -> dict[str, list[Parameters]]:
    """The sets of a paper's notebooks, of which each has some of the parameters."""
    cheapest, *others = paper.reruns
    sets = [{"epsilon": 0.05} | cheapest, *_live(repeats=cheapest["repeats"]), *others]
    found = {}
    for name in paper.notebooks:
        has = papermill.inspect_notebook(NOTEBOOKS / f"{name}.ipynb")
        own = [{key: value for key, value in each.items() if key in has} for each in sets]
        found[name] = [each for each in own if each]
    return found


RERUNS: dict[str, list[Parameters]] = {
    "01_foundations": _DRAWS,
    "02_mechanisms": _DRAWS,
    "03_trees": _DRAWS,
    "03_appendix": [*_DRAWS, {"results": "../results"}],
    **{name: sets for paper in BY_CHAPTER for name, sets in _of(paper).items()},
    "08_audit": [{"draws": 1000}, {"seed": 0, "draws": 20_000}],
    "08_appendix": [{"runs": 400}, {"seed": 0, "runs": 2000}],
    "09_leaderboard": [
        *_BUDGETS,
        *_SETS,
        {"delta": 1e-12},
        {"delta": 0.009},
        {"seed": 1},
        {"results": "../results"},
    ],
    "10_scale": [
        *_BUDGETS,
        {"seed": 1},
        {"results": "../results"},
        {"engine": "spark"},
    ],
    "solutions": [{"results": "../results"}],
}
"""Notebook → sets of parameters, each beside the defaults of the others."""


def rerun(path: Path, parameters: Parameters) -> None:
    """Run a notebook's code with other parameters from its folder, in this process, and print what its page says."""
    notebook = papermill.parameterize.parameterize_notebook(
        papermill.iorw.load_notebook_node(str(path)), parameters, kernel_name="python3", language="python"
    )
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(path.parent), mpl.rc_context():
        for number, cell in enumerate(notebook.cells):
            if cell.cell_type == "code":
                _run(cell.source, f"{path.stem}[{number}]", names)


def _run(source: str, place: str, names: dict[str, Any]) -> None:
    """Run a cell, and print what its last line is, as a page would show it."""
    lines = ast.parse(source).body
    last = lines.pop() if lines and isinstance(lines[-1], ast.Expr) else None
    exec(compile(ast.Module(lines, []), place, "exec"), names)
    if isinstance(last, ast.Expr):
        shown = eval(compile(ast.Expression(last.value), place, "eval"), names)
        if shown is not None:
            print(shown._repr_html_() if hasattr(shown, "_repr_html_") else repr(shown))
