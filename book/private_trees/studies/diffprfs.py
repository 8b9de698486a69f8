"""The grids of the chapter on DiffPRFs: its figures, and the price of each repair."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

from sklearn.ensemble import RandomForestClassifier

from dpnb.data.datasets import Dataset
from dpnb.papers.baselines_forest import RandomTrees, balanced_depth
from dpnb.papers.diffprfs import DiffPRFs

from ..lineage.trees import BINS
from .exposure import exposed_by
from .runs import INF, MAJORITY, Cell, Study, cells, data_of, ladder, majority_accuracy, test_scores

WRITTEN: dict[str, dict[str, Any]] = {
    "as written": {},
    "as written, shrinking ε": {"budget_flow": "shrinking"},
    "discretised": {},
}
LADDER = ladder(
    partial(DiffPRFs.as_written, utility="max"),
    {
        "0 as written": {},
        "1 no purity test": {"stop": "depth"},
        "2 Poisson bags": {"bags": "poisson"},
        "3 no unused size query": {"size_query": False},
        "4 one joint choice": {"selection": "joint", "categorical": "one-vs-rest"},
        "5 monotone rate": {"monotone_rate": True},
        "6 vote by probability": {"vote": "probability", "noise": "geometric"},
        "7 Gini score": {"utility": "gini"},
        "8 five disjoint trees, all attributes": {"bags": "disjoint", "n_trees": 5, "max_features": "all"},
    },
)


def forest_of(cell: Cell, data: Dataset) -> tuple[Any, Dataset]:
    """Unfitted estimator of a cell of the DiffPRFs grids, and the data in the form that it takes."""
    shared: dict[str, Any] = {
        "epsilon": cell.epsilon,
        "max_depth": cell.max_depth,
        "domain": data.domain,
        "random_state": cell.random_state(),
    }
    if cell.method in LADDER:
        return LADDER[cell.method](**shared), data
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
    if cell.method == MAJORITY:
        return {"accuracy": majority_accuracy(data), "auc": 0.5}
    if cell.method == "scikit-learn forest":
        seed = int(cell.random_state().integers(2**31))
        forest: Any = RandomForestClassifier(25, max_depth=cell.max_depth, random_state=seed)
        forest.fit(data.domain.encode(data.train[0]), data.train[1])
        return test_scores(forest, data.domain.encode(data.test[0]), data.test[1])
    forest, data = forest_of(cell, data)
    forest.fit(*data.train)
    return test_scores(forest, *data.test) | {"ledger_epsilon": forest.ledger_.epsilon}


def diffprfs_grid() -> Study:
    """Figures 1 and 2 of the paper, at its full grid, for the readings, the repair and the baselines."""
    epsilons, depths, sets = (
        (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0),
        (3, 4, 5, 6, 7),
        ("adult", "adult/merged"),
    )
    scored = partial(cells, utility=("info_gain", "max"), max_depth=depths, seed=range(5))
    return Study(
        "diffprfs",
        [
            *scored(method=("as written", "repaired"), dataset=sets, epsilon=epsilons),
            *scored(method="as written, shrinking ε", dataset="adult", epsilon=epsilons),
            *scored(method="repaired", dataset="adult", utility="gini", epsilon=epsilons),
            *scored(method="discretised", dataset=sets, max_depth=5, epsilon=epsilons),
            *scored(method=("as written", "discretised"), dataset=sets, epsilon=INF),
            *scored(method="scikit-learn forest", dataset=sets, utility="", epsilon=INF),
            *cells(method=MAJORITY, dataset="adult", epsilon=INF),
        ],
        measure_forest,
    )


def ladder_grid() -> Study:
    """The price of each repair, one step at a time, at depth 5."""
    budgets = (0.1, 0.5, 1.0, 2.0)
    found = cells(method=LADDER, dataset="adult", max_depth=5, epsilon=budgets, seed=range(10))
    return Study("diffprfs_ladder", found, measure_forest)


# --- Trees whose splits read no data ------------------------------------------------------------------------

PUBLIC_SIZE = 30_000
"""Guess at the number of records of Adult (30 162) and Bank (28 831), for the depth of random trees."""
RIVALS: dict[str, Any] = {
    "DiffPRFs-R": DiffPRFs,
    "DiffPRFs-R, Gini": partial(DiffPRFs, utility="gini"),
    "five disjoint trees": partial(DiffPRFs, utility="gini", bags="disjoint", n_trees=5, max_features="all"),
}
RANDOM = {f"random, {t} trees": t for t in (5, 25, 100)}


def random_trees_of(cell: Cell) -> RandomTrees:
    """Unfitted forest of random trees; at depth 0 of the cell the depth follows from public numbers."""
    t = RANDOM[cell.method]
    depth = cell.max_depth or balanced_depth(PUBLIC_SIZE, epsilon=cell.epsilon, n_trees=t)
    return RandomTrees(
        epsilon=cell.epsilon,
        domain=data_of(cell.dataset).domain,
        n_trees=t,
        max_depth=depth,
        random_state=cell.random_state(),
    )


def measure_random_trees(cell: Cell) -> dict[str, float]:
    """Accuracy, AUC, the depth, and the ε that the ledger finds."""
    data = data_of(cell.dataset)
    if cell.method in RANDOM:
        forest: Any = random_trees_of(cell)
    else:
        forest = RIVALS[cell.method](
            epsilon=cell.epsilon,
            max_depth=cell.max_depth,
            domain=data.domain,
            random_state=cell.random_state(),
        )
    forest.fit(*data.train)
    facts = {"depth": float(forest.max_depth), "ledger_epsilon": forest.ledger_.epsilon}
    return test_scores(forest, *data.test) | facts


def random_trees_grid() -> Study:
    """Forests that choose their splits beside forests that draw them, and the latter at fixed depths."""
    shared: dict[str, Any] = {
        "dataset": ("adult", "bank"),
        "epsilon": (0.1, 0.5, 1.0, 2.0),
        "seed": range(10),
    }
    found = cells(method=RIVALS, max_depth=5, **shared)
    found += cells(method=RANDOM, **shared)
    found += cells(method="random, 25 trees", max_depth=(4, 6, 8, 10, 12), **shared)
    return Study("random_trees", found, measure_random_trees)


# --- Records that the exact steps expose --------------------------------------------------------------------

EXACT: dict[str, dict[str, Any]] = {"as written": {}, "thresholds at data values": {"thresholds": "data"}}


def measure_exposed(cell: Cell) -> dict[str, float]:
    """How many training records the forest exposes, and why."""
    data = data_of(cell.dataset)
    forest = DiffPRFs.as_written(
        utility=cell.utility,
        epsilon=cell.epsilon,
        max_depth=cell.max_depth,
        domain=data.domain,
        random_state=cell.random_state(),
        **EXACT[cell.method],
    )
    found = exposed_by(forest, *data.train)
    return {
        "records": float(len(found.pure)),
        "split_nodes": float(found.split_nodes),
        "pure_in_bags": float(found.pure_in_bags.sum()),
        "pure": float(found.pure.sum()),
        "holder": float(found.holder.sum()),
        "either": float((found.pure | found.holder).sum()),
    }


def exposed_grid() -> Study:
    """Records of Adult without which the published forest would have been impossible."""
    shared: dict[str, Any] = {"utility": ("info_gain", "max"), "max_depth": 5, "seed": range(5)}
    found = cells(method=EXACT, dataset="adult", epsilon=1.0, **shared)
    found += cells(method="as written", dataset="adult", epsilon=(0.1, 2.0), **shared)
    return Study("exposed", found, measure_exposed)


GRIDS = {
    "diffprfs": diffprfs_grid,
    "diffprfs_ladder": ladder_grid,
    "random_trees": random_trees_grid,
    "exposed": exposed_grid,
}
