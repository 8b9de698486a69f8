"""The book's grids: what is run for each chapter, at the papers' own scale.

Run ``python -m dpnb.experiments all --jobs 2`` to fill in whatever is missing in ``results/``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

from .audit.campaign import attack_grid, replay_grid
from .booster_ideas import ideas_grid
from .boosting_grids import GRIDS as BOOSTING_GRIDS
from .datasets import Dataset
from .forest_grids import GRIDS as FOREST_GRIDS
from .papers.diffprfs import DiffPRFs
from .papers.lineage import BINS, LINEAGE, DiffGen
from .pearson_grids import GRIDS as PEARSON_GRIDS
from .runs import KEYS, Cell, Grid, data_of, missing, read, results_folder, run, steps_up_to

__all__ = [
    "GRIDS",
    "KEYS",
    "LADDER",
    "Cell",
    "Grid",
    "diffprfs_grid",
    "ladder_forest",
    "ladder_grid",
    "lineage_grid",
    "main",
    "mean_scores",
    "missing",
    "read",
    "results_folder",
    "run",
    "test_scores",
]

# --- DiffPRFs ------------------------------------------------------------------------------------

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
    return DiffPRFs.as_written(**(parameters | {"utility": "max"} | steps_up_to(step, LADDER)))


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
    return data_of(name).discretised(BINS)


def measure_forest(cell: Cell) -> dict[str, float]:
    """Accuracy and AUC on the test part, and the ε that the ledger finds."""
    data = data_of(cell.dataset)
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


def measure_lineage(cell: Cell) -> dict[str, float]:
    """As :func:`measure_forest`, for a row of Table 1; ``max_depth`` is the number of specialisations of a table."""
    method = next(m for m in LINEAGE if m.name == cell.method)
    data = _discretised(cell.dataset) if method.estimator.discrete_only else data_of(cell.dataset)
    size = "n_specialisations" if issubclass(method.estimator, DiffGen) else "max_depth"
    parameters: dict[str, Any] = {
        "epsilon": cell.epsilon,
        "domain": data.domain,
        "random_state": cell.random_state(),
        size: cell.max_depth,
    }
    if cell.utility:
        parameters["utility"] = cell.utility
    model: Any = method.estimator(**(parameters | method.parameters)).fit(*data.train)
    return test_scores(model, *data.test) | {"ledger_epsilon": model.ledger_.epsilon}


def lineage_grid(dataset: str = "adult") -> Grid:
    """Every row of Table 1 with each of its split scores: trees of depth 5, tables of 10 specialisations."""
    cells = [
        Cell(method.name, dataset, utility, 10 if issubclass(method.estimator, DiffGen) else 5, epsilon, seed)
        for method in LINEAGE
        for utility in method.utilities
        for epsilon, seed in product((0.1, 0.5, 1.0, 2.0), range(10))
    ]
    return Grid("lineage", tuple(cells), measure_lineage, (dataset,))


GRIDS: dict[str, Callable[[], Grid]] = {
    "diffprfs": diffprfs_grid,
    "diffprfs_ladder": ladder_grid,
    "lineage": lineage_grid,
    "audit_replay": replay_grid,
    "audit_attack": attack_grid,
    **BOOSTING_GRIDS,
    "booster_ideas": ideas_grid,
    **FOREST_GRIDS,
    **PEARSON_GRIDS,
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
