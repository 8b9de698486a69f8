"""The book's grids: what is run for each chapter, at the papers' own scale.

Run ``python -m private_trees.experiments all --jobs 2`` to fill in whatever is missing in ``results/``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pandas as pd

from dpnb.errors import DataError
from dpnb.terminal import Parser, announce, command

from . import board, modules_of, studies
from .studies.runs import KEYS, Study, missing, points_of, read, results_folder, run

STUDIES = [
    module
    for folder in (studies, board)
    for module in modules_of(folder.__name__)
    if hasattr(module, "GRIDS")
]
GRIDS: dict[str, Callable[[], Study]] = {
    name: grid for study in STUDIES for name, grid in study.GRIDS.items()
}


def folder_of(p: SimpleNamespace) -> Path:
    """Folder of the results that a notebook's parameters name."""
    return results_folder() if p.results == "committed" else Path(p.results)


def results(name: str, p: SimpleNamespace) -> pd.DataFrame:
    """Tidy results of a study for a notebook with the parameters ``p``; at scale "paper" what is missing is computed.

    Raises
    ------
    FileNotFoundError
        If the folder does not hold all of them.
    """
    study, folder = GRIDS[name](), folder_of(p)
    if getattr(p, "scale", "default") == "paper":
        return run(study, folder=folder, jobs=p.jobs, command="papermill, scale paper")
    table = read(name, folder)
    if lacking := missing(study, table):
        raise FileNotFoundError(
            f"{name}.csv in {folder.name!r} lacks {len(lacking)} of {len(study.cells)} runs: "
            f"run python -m private_trees.experiments {name} --results {folder.name}, or take results='committed'"
        )
    return table


def points(name: str, p: SimpleNamespace) -> pd.DataFrame:
    """:func:`results` as :func:`~private_trees.studies.runs.points_of`, a row a cell."""
    return points_of(results(name, p), repeats=GRIDS[name]().repeats)


@command(known=(DataError, FileNotFoundError))
def main(arguments: Sequence[str], /) -> int:
    """Command line: fill in the missing cells of one grid or of all."""
    parser = Parser(prog="python -m private_trees.experiments", description=main.__doc__)
    parser.add_argument("grid", choices=[*GRIDS, "all"])
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default 1)")
    parser.add_argument("--results", type=Path, help="folder of the results (default: the project's)")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}: expected at least 1")
    folder = options.results or results_folder()
    for name in GRIDS if options.grid == "all" else [options.grid]:
        table = run(
            GRIDS[name](),
            folder=folder,
            jobs=options.jobs,
            command=f"python -m private_trees.experiments {name}",
        )
        announce(f"{name}: {len(table[KEYS].drop_duplicates())} cells in {name}.csv")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
