"""The grids of the chapter on DiffPRFs: its figures, and the price of each repair."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ...data.datasets import Dataset
from ...papers.diffprfs import DiffPRFs
from ...papers.lineage import BINS
from ..runs import Cell, Grid, data_of, steps_up_to, test_scores

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
        data = discretised(cell.dataset)
        shared["domain"] = data.domain
    return DiffPRFs.as_written(utility=cell.utility, **shared, **WRITTEN[cell.method]), data


@lru_cache(maxsize=2)
def discretised(name: str) -> Dataset:
    """A data set with its continuous attributes in public bins, kept in memory."""
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


GRIDS: dict[str, Callable[[], Grid]] = {
    "diffprfs": diffprfs_grid,
    "diffprfs_ladder": ladder_grid,
}
