"""Paper-scale grids: tidy results that resume, show progress and carry their provenance.

Run ``python -m dpnb.experiments all --jobs 2`` to fill in whatever is missing in ``results/``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from tqdm import tqdm

from .datasets import Dataset, load
from .papers.diffprfs import DiffPRFs

PACKAGES = ("numpy", "pandas", "scipy", "scikit-learn", "dpnb")
SAVE_EVERY = 30.0  # seconds between checkpoints


@dataclass(frozen=True)
class Cell:
    """One run of a grid: everything that decides its result.

    Parameters
    ----------
    method : name of the algorithm and reading.
    dataset : name, with the variant after a slash: ``adult/merged``.
    utility : split score, empty where there is none.
    max_depth : depth of the trees.
    epsilon : claimed ε, ``inf`` without privacy.
    seed : repeat number.
    """

    method: str
    dataset: str
    utility: str
    max_depth: int
    epsilon: float
    seed: int

    def random_state(self) -> np.random.Generator:
        """Generator of this cell, independent of all others."""
        return np.random.default_rng([self.seed, zlib.crc32(repr(self).encode())])


@dataclass(frozen=True)
class Grid:
    """A named set of cells and what measures one of them.

    Parameters
    ----------
    name : name of the results file.
    cells : all runs.
    measure : cell → metrics by name.
    datasets : names of the data sets that the runs load, for the provenance.
    """

    name: str
    cells: tuple[Cell, ...]
    measure: Callable[[Cell], dict[str, float]]
    datasets: tuple[str, ...] = ()


KEYS = list(Cell.__dataclass_fields__)
COLUMNS = [*KEYS, "delta", "metric", "value"]


def results_folder() -> Path:
    """The project's ``results`` folder, looked for from the current folder upwards.

    Raises
    ------
    FileNotFoundError
        Outside of a checkout of the project.
    """
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "results").is_dir() and (folder / "_toc.yml").is_file():
            return folder / "results"
    raise FileNotFoundError(
        f"no results folder above {Path.cwd().name!r}: run from the project's folder, or name a folder of your own"
    )


def read(name: str, folder: Path) -> pd.DataFrame:
    """Read a results file; an empty table if there is none.

    Returns
    -------
    DataFrame with the columns method, dataset, utility, max_depth, epsilon, seed, delta, metric, value.
    """
    path = folder / f"{name}.csv"
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(path, keep_default_na=False, na_values={"value": "", "delta": ""})


def missing(grid: Grid, table: pd.DataFrame) -> list[Cell]:
    """Cells of the grid that the table does not hold."""
    done = {Cell(*row) for row in table[KEYS].drop_duplicates().itertuples(index=False)}
    return [cell for cell in grid.cells if cell not in done]


def run(grid: Grid, *, folder: Path, jobs: int = 1, command: str = "") -> pd.DataFrame:
    """Measure the missing cells of a grid and save the table as it grows.

    Parameters
    ----------
    grid : what to run.
    folder : where ``<name>.csv`` and ``<name>.json`` lie; made if need be.
    jobs : number of processes.
    command : how the run was asked for, for the provenance.

    Returns
    -------
    The complete table, rows of the grid in a fixed order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    table = read(grid.name, folder)
    todo = missing(grid, table)
    if not todo:
        return table
    began = saved = time.monotonic()
    rows: list[dict[str, Any]] = []
    for cell, metrics in tqdm(_measured(grid, todo, jobs), total=len(todo), desc=grid.name, unit="fit"):
        rows += [asdict(cell) | {"delta": 0.0, "metric": m, "value": round(v, 6)} for m, v in metrics.items()]
        if time.monotonic() - saved > SAVE_EVERY:
            _save(grid, table, rows, folder)
            saved = time.monotonic()
    table = _save(grid, table, rows, folder)
    _write(
        folder / f"{grid.name}.json", json.dumps(_provenance(grid, folder, began, command), indent=2) + "\n"
    )
    return table


def _measured(grid: Grid, cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, dict[str, float]]]:
    if jobs == 1:
        yield from ((cell, grid.measure(cell)) for cell in cells)
        return
    with ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(grid.measure, cell): cell for cell in cells}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _save(grid: Grid, table: pd.DataFrame, rows: list[dict[str, Any]], folder: Path) -> pd.DataFrame:
    grown = (
        pd.concat([table, pd.DataFrame(rows, columns=COLUMNS)])
        if len(table)
        else pd.DataFrame(rows, columns=COLUMNS)
    )
    grown = grown.sort_values([*KEYS, "metric"], ignore_index=True)
    _write(folder / f"{grid.name}.csv", grown.to_csv(index=False))
    return grown


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _provenance(grid: Grid, folder: Path, began: float, command: str) -> dict[str, Any]:
    """How a results file came about; run time adds up over resumed runs."""
    path = folder / f"{grid.name}.json"
    before = json.loads(path.read_text())["seconds"] if path.exists() else 0.0
    cells = pd.DataFrame([asdict(c) for c in grid.cells])
    return {
        "grid": grid.name,
        "command": command,
        "cells": len(grid.cells),
        "parameters": {name: [f"{v}" for v in sorted(cells[name].unique())] for name in KEYS},
        "data_sha256": {name: _checksum(name) for name in grid.datasets},
        "versions": {name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "seconds": round(before + time.monotonic() - began, 1),
    }


def _checksum(dataset: str) -> str:
    """SHA-256 of the training and test tables as they are used, whatever files they came from."""
    digest = hashlib.sha256()
    for X, y in (_data(dataset).train, _data(dataset).test):
        digest.update(X.to_csv(index=True).encode())
        digest.update(y.to_csv(index=True).encode())
    return digest.hexdigest()


@lru_cache(maxsize=4)
def _data(name: str) -> Dataset:
    base, _, variant = name.partition("/")
    return load(base, split=variant) if variant else load(base)


# --- DiffPRFs, chapter 2 ------------------------------------------------------------------------------------

BINS = 10
WRITTEN: dict[str, dict[str, Any]] = {
    "as written": {},
    "as written, shrinking ε": {"budget_flow": "shrinking"},
    "discretised": {},
}
LADDER: dict[str, dict[str, Any]] = {
    "0 as written": {},
    "1 one category against the rest": {"categorical": "one-vs-rest"},
    "2 no purity test": {"stop": "depth"},
    "3 Poisson bags": {"bags": "poisson"},
    "4 no unused size query": {"size_query": False},
    "5 one joint choice": {"selection": "joint"},
    "6 monotone rate": {"monotone_rate": True},
    "7 vote by probability": {"vote": "probability"},
    "8 Gini score": {"utility": "gini"},
    "9 five disjoint trees, all attributes": {"bags": "disjoint", "n_trees": 5, "max_features": "all"},
}


def ladder_forest(step: str, **parameters: Any) -> DiffPRFs:
    """The forest after ``step`` of the ladder of repairs and all steps above it."""
    readings: dict[str, Any] = {"utility": "max"}
    for name, change in LADDER.items():
        readings |= change
        if name == step:
            return DiffPRFs.as_written(**(parameters | readings))
    raise ValueError(f"step={step!r}: expected one of {', '.join(LADDER)}")


def forest_of(cell: Cell, data: Dataset) -> tuple[Any, Dataset]:
    """Unfitted estimator of a cell of the DiffPRFs grids, and the data in the form that it takes."""
    shared: dict[str, Any] = {
        "epsilon": cell.epsilon,
        "max_depth": cell.max_depth,
        "domain": data.domain,
        "random_state": cell.random_state(),
    }
    if cell.method in LADDER:
        return ladder_forest(cell.method, **shared), data
    if cell.method == "repaired":
        return DiffPRFs(utility=cell.utility, **shared), data
    if cell.method == "discretised":
        data = _discretised(cell.dataset)
        shared["domain"] = data.domain
    return DiffPRFs.as_written(utility=cell.utility, **shared, **WRITTEN[cell.method]), data


@lru_cache(maxsize=2)
def _discretised(name: str) -> Dataset:
    data = _data(name)
    parts = [(data.domain.discretise_records(X, BINS), y) for X, y in (data.train, data.test)]
    return Dataset(data.name, parts[0], parts[1], data.domain.discretise(BINS))


def measure_forest(cell: Cell) -> dict[str, float]:
    """Accuracy and AUC on the test part, and the ε that the ledger finds."""
    data = _data(cell.dataset)
    if cell.method == "majority class":
        return {"accuracy": float(np.mean(data.test[1] == data.train[1].mode()[0])), "auc": 0.5}
    if cell.method == "scikit-learn forest":
        seed = int(cell.random_state().integers(2**31))
        forest: Any = RandomForestClassifier(25, max_depth=cell.max_depth, random_state=seed)
        forest.fit(data.domain.encode(data.train[0]), data.train[1])
        return test_scores(forest, data.domain.encode(data.test[0]), data.test[1])
    forest, data = forest_of(cell, data)
    forest.fit(*data.train)
    return test_scores(forest, *data.test) | {"ledger_epsilon": forest.ledger_.epsilon}


def test_scores(forest: Any, X: Any, y: pd.Series[Any]) -> dict[str, float]:
    """Accuracy, and the area under the ROC curve of the second class, of a fitted two-class estimator."""
    p = forest.predict_proba(X)
    right = forest.classes_[p.argmax(axis=1)] == y.to_numpy()
    return {
        "accuracy": float(np.mean(right)),
        "auc": float(roc_auc_score(y == forest.classes_[1], p[:, 1])),
    }


def mean_scores(estimator: Any, data: Dataset, *, repeats: int, seed: int) -> dict[str, float]:
    """Mean :func:`test_scores` of clones of an estimator, with the seeds ``seed``, ``seed + 1``, ..."""
    runs = [clone(estimator).set_params(random_state=seed + r).fit(*data.train) for r in range(repeats)]
    scores = [test_scores(run, *data.test) for run in runs]
    return {metric: float(np.mean([s[metric] for s in scores])) for metric in scores[0]}


def diffprfs_grid(dataset: str = "adult") -> Grid:
    """Figures 1 and 2 of the paper, at its full grid, for the readings, the repair and the baselines."""
    epsilons = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0)
    depths, utilities, seeds = (3, 4, 5, 6, 7), ("info_gain", "max"), range(5)
    merged = f"{dataset}/merged"
    axes = [
        (("as written", "repaired"), (dataset, merged), utilities, depths, epsilons),
        (("as written, shrinking ε",), (dataset,), utilities, depths, epsilons),
        (("repaired",), (dataset,), ("gini",), depths, epsilons),
        (("discretised",), (dataset, merged), utilities, (5,), epsilons),
        (("as written", "discretised"), (dataset, merged), utilities, depths, (float("inf"),)),
        (("scikit-learn forest",), (dataset, merged), ("",), depths, (float("inf"),)),
    ]
    cells = [
        Cell(method, data, utility, depth, epsilon, seed)
        for methods, sets, scores, levels, budgets in axes
        for method, data, utility, depth, epsilon, seed in product(
            methods, sets, scores, levels, budgets, seeds
        )
    ]
    cells.append(Cell("majority class", dataset, "", 0, float("inf"), 0))
    return Grid("diffprfs", tuple(cells), measure_forest, (dataset, merged))


def ladder_grid(dataset: str = "adult") -> Grid:
    """The price of each repair, one step at a time, at depth 5."""
    cells = product(LADDER, (dataset,), ("",), (5,), (0.1, 0.5, 1.0, 2.0), range(10))
    return Grid("diffprfs_ladder", tuple(Cell(*cell) for cell in cells), measure_forest, (dataset,))


def audit_grid() -> Grid:
    """Replays of the repaired forest on random neighbours, for every bag mode."""
    from .audit.campaign import replay_grid  # the auditor stands above the experiments

    return replay_grid()


def attack_grid() -> Grid:
    """Attacks on DiffPRFs as written and repaired, at full length."""
    from .audit.campaign import attack_grid

    return attack_grid()


GRIDS: dict[str, Callable[[], Grid]] = {
    "diffprfs": diffprfs_grid,
    "diffprfs_ladder": ladder_grid,
    "audit_replay": audit_grid,
    "audit_attack": attack_grid,
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


if __name__ == "__main__":
    sys.exit(main())
