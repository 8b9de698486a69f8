"""What is reached without privacy on the board's splits, and what a forest costs: the grid ``references``.

Beside it ``board_first``: what the first fit of each of the book's own learners costs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from dpnb.boosting.booster import PrivateBooster
from dpnb.domain import Domain

from ..studies.runs import DELTA, INF, Cell, Study, cells
from ..studies.scores import class_scores
from ..studies.sets import SEEDS, SETS, split_of
from . import learners
from .costs import costly
from .learners import parts_of

FIRST_FITS = "board_first"
FOREST = "random forest"  # 25 trees of depth 5: the measure of all costs
NO_NOISE = "PrivateBooster, no noise"
LEARNERS = ("gradient boosting", "gradient boosting, additive", "logistic regression", FOREST)


def _boosting(domain: Domain, seed: int, **settings: Any) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        categorical_features=~domain.continuous, random_state=seed, early_stopping=False, **settings
    )


def _additive(domain: Domain, seed: int) -> HistGradientBoostingClassifier:
    slow: dict[str, Any] = {"max_iter": 400, "learning_rate": 0.05, "max_leaf_nodes": 4}
    return _boosting(domain, seed, interaction_cst="no_interactions", **slow)


def _logistic(domain: Domain, seed: int) -> Any:
    numbers, names = np.flatnonzero(domain.continuous), np.flatnonzero(~domain.continuous)
    columns = make_column_transformer(
        (StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), names)
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def _forest(domain: Domain, seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(25, max_depth=5, n_jobs=1, random_state=seed)


MAKE: dict[str, Callable[[Domain, int], Any]] = dict(
    zip(LEARNERS, (_boosting, _additive, _logistic, _forest), strict=True)
)


def measure_reference(cell: Cell) -> dict[str, float]:
    """Test scores, costs, and the number of training records."""
    data, parts = split_of(cell.dataset, cell.seed), parts_of(cell.dataset, cell.seed, False)
    (X, y), domain = data.train, data.domain
    if cell.method == NO_NOISE:
        model = PrivateBooster(epsilon=INF, delta=DELTA, domain=domain, random_state=cell.seed)
        p, costs = costly(partial(model.fit, parts.records), lambda fitted: fitted._votes(parts.codes))
    else:
        codes, labels = domain.encode(X), domain.encode_labels(y)
        plain = MAKE[cell.method](domain, cell.seed)
        p, costs = costly(partial(plain.fit, codes, labels), lambda fitted: fitted.predict_proba(parts.codes))
    return class_scores(p, parts.labels) | costs | {"records": float(len(X))}


def references_grid() -> Study:
    """Learners without privacy, and the booster without noise, on the sets and splits of the board."""
    found = cells(method=(*LEARNERS, NO_NOISE), dataset=SETS, epsilon=INF, seed=SEEDS)
    return Study("references", sorted(found, key=lambda c: (c.dataset, c.seed)), measure_reference)


def measure_first(cell: Cell) -> dict[str, float]:
    """Costs of a fit in a process that never planned such a budget, as every user's first fit is, and the records."""
    if cell.method == FOREST:
        found = measure_reference(cell)
        return {name: found[name] for name in ("cpu_seconds", "memory_mb", "records")}
    setting = learners.LEARNERS[cell.method].settings[cell.reading]
    model = learners.MAKE[cell.method](epsilon=cell.epsilon, random_state=cell.random_state(), **setting)
    records = parts_of(cell.dataset, cell.seed, False).records
    size, costs = costly(lambda: model.fit(records), lambda fitted: float(len(records.labels)))
    return costs | {"records": size}


def first_grid() -> Study:
    """What first fits of the book's own learners cost at ε = 1 in the board's settings, beside the forest."""
    picked = {(r.method, r.dataset, r.utility) for r in learners.chosen().itertuples() if r.epsilon == 1}
    single = {name for name, learner in learners.LEARNERS.items() if len(learner.settings) == 1}
    found = [
        c
        for c in learners.board_grid().cells
        if c.epsilon == 1
        and c.seed < 3
        and (c.method in single or (c.method, c.dataset, c.reading) in picked)
    ]
    found += cells(method=FOREST, dataset=SETS, epsilon=INF, seed=range(3))
    delta = {name: learner.delta for name, learner in learners.LEARNERS.items()}
    found.sort(key=lambda c: (c.dataset, c.seed))
    return Study(FIRST_FITS, found, measure_first, lambda cell: delta.get(cell.method, 0.0))


GRIDS = {"references": references_grid, FIRST_FITS: first_grid}
