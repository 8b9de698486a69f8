"""Where the booster was weak: attributes that matter together, and few records: the grids ``deep`` and ``few``.

Learners as they come. The sets of ``deep`` are made by rules, see :mod:`private_trees.studies.made`; its references
without privacy say what there is to find, by trees of any depth and of depth 3.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from dpnb.arrays import Floats
from dpnb.records.memory import Records

from ..studies.made import MADE
from ..studies.runs import INF, MAJORITY, Cell, Study, cells
from ..studies.scores import class_scores
from ..studies.sets import SETS, split_of
from .learners import LEARNERS, MAKE, Parts

BOOSTERS = (
    "PrivateBooster, δ",
    "PrivateBooster, δ, additive",
    "PrivateBooster",
    "PrivateBooster, additive",
)
DEEP_TREES = ("Pearson tree", "random trees", "eDPRF-R")
FREE = {"gradient boosting": None, "gradient boosting, depth 3": 3}  # without privacy → depth
EPSILONS = (0.1, 1.0, 5.0)
DEEP_SEEDS = range(10)
SMALL = ("PrivateBooster, δ", "PrivateBooster, δ, additive", "logistic regression, δ", MAJORITY)
RECORDS = 1_000  # or as many as a training part has
SMALL_EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 3.0)
SMALL_SEEDS = range(20)


@lru_cache(maxsize=2)
def parts_of(dataset: str, seed: int, most: int | None) -> Parts:
    """A split, with so many of its training records at most."""
    data = split_of(dataset, seed)
    (X, y), (X_test, y_test) = data.train, data.test
    if most is not None:
        kept = np.random.default_rng([seed, 17]).permutation(len(X))[:most]
        X, y = X.iloc[kept], y.iloc[kept]
    codes, labels = data.domain.encode(X_test, strict=False), data.domain.encode_labels(y_test)
    return Parts(Records(X, y, domain=data.domain), codes, labels)


def measure(cell: Cell, *, most: int | None) -> dict[str, float]:
    """Test scores of a learner as it comes, of one without privacy, or of the shares of the classes."""
    parts = parts_of(cell.dataset, cell.seed, most)
    records = parts.records
    if cell.method == MAJORITY:
        share = np.bincount(records.labels, minlength=records.domain.n_classes) / len(records.labels)
        return class_scores(np.tile(share, (len(parts.labels), 1)), parts.labels)
    rng = np.random.default_rng([cell.seed, int(1000 * min(cell.epsilon, 1e3))])
    if cell.method in FREE:
        free = HistGradientBoostingClassifier(
            max_depth=FREE[cell.method], random_state=cell.seed, early_stopping=False
        )
        stated: Floats = free.fit(records.columns.T, records.labels).predict_proba(parts.codes)
        return class_scores(stated, parts.labels)
    settings = LEARNERS[cell.method].settings[LEARNERS[cell.method].defaults[0]]
    model = MAKE[cell.method](epsilon=cell.epsilon, random_state=rng, **settings).fit(records)
    return class_scores(model._votes(parts.codes), parts.labels)


def deep_grid() -> Study:
    """Sets in which attributes matter together."""
    found = cells(method=(*BOOSTERS, *DEEP_TREES), dataset=MADE, epsilon=EPSILONS, seed=DEEP_SEEDS)
    found += cells(method=FREE, dataset=MADE, epsilon=INF, seed=DEEP_SEEDS)
    return _study("deep", found, partial(measure, most=None))


def few_grid() -> Study:
    """A thousand records of each set of the board."""
    found = cells(method=SMALL, dataset=SETS, epsilon=SMALL_EPSILONS, seed=SMALL_SEEDS)
    return _study("few", found, partial(measure, most=RECORDS))


def _study(name: str, found: list[Cell], run: Callable[[Cell], dict[str, float]]) -> Study:
    order = sorted(found, key=lambda c: (c.dataset, c.seed))
    deltas = {name: learner.delta for name, learner in LEARNERS.items()}
    return Study(name, order, run, lambda cell: deltas.get(cell.method, 0.0), row_a_cell=True)


def few_gains(log: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC of the booster with δ less that of each other learner of few records, by ε and data set."""
    part = log[log["metric"] == "auc"]
    mean = part.pivot_table(index=["epsilon", "dataset"], columns="method", values="value")
    return -mean[list(SMALL[1:])].sub(mean[SMALL[0]], axis=0)


GRIDS: dict[str, Any] = {"deep": deep_grid, "few": few_grid}
