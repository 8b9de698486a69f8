"""The book's grids: what is run for each chapter, at the papers' own scale.

Run ``python -m dpnb.experiments all --jobs 2`` to fill in whatever is missing in ``results/``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from .runs import KEYS, Study, results_folder, run
from .studies import audit, booster, diffprfs, dpada, edprf, lineage, pearson

GRIDS: dict[str, Callable[[], Study]] = {
    name: grid
    for study in (diffprfs, lineage, audit, dpada, booster, edprf, pearson)
    for name, grid in study.GRIDS.items()
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: fill in the missing cells of one grid or of all."""
    parser = argparse.ArgumentParser(prog="python -m dpnb.experiments", description=main.__doc__)
    parser.add_argument("grid", choices=[*GRIDS, "all"])
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default 1)")
    parser.add_argument("--results", type=Path, help="folder of the results (default: the project's)")
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        parser.error(f"--jobs {options.jobs}: expected at least 1")
    folder = options.results or results_folder()
    for name in GRIDS if options.grid == "all" else [options.grid]:
        table = run(
            GRIDS[name](), folder=folder, jobs=options.jobs, command=f"python -m dpnb.experiments {name}"
        )
        print(f"{name}: {len(table[KEYS].drop_duplicates())} cells in {name}.csv")
    return 0
