"""How far sums of stumps get without noise, and whether grid or steps hold them back: the grid ``ceiling``."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from ...arrays import Floats
from ...booster import PrivateBooster
from ...domain import Continuous, Domain
from ...grid import grid_shares
from ..runs import INF, Cell, Study, cells, data_of, records_of
from .booster import GRIDS_WITHOUT_NOISE

QUANTILES = "quantiles of the data"
STEPS = {
    "1000 stumps, λ = 0.2": (1000, 0.2),
    "1000 stumps, λ = 0.1": (1000, 0.1),
    "3000 stumps, λ = 0.1": (3000, 0.1),
}
REFERENCE = "additive trees"


def measure_ceiling(cell: Cell) -> dict[str, float]:
    """AUC without noise of the booster with given steps, or of scikit-learn's boosted trees without interactions.

    ``cell.method`` is the learner, ``cell.reading`` the grid. The reference sees each value's bin on the public grid
    instead of the value; of more than 255 bins it joins neighbours with few records.
    """
    records, codes, labels = records_of(cell.dataset)
    if cell.method in STEPS:
        rounds, rate = STEPS[cell.method]
        uniform, geometric = GRIDS_WITHOUT_NOISE[cell.reading]
        model = PrivateBooster(
            epsilon=INF,
            domain=records.domain,
            n_rounds=rounds,
            learning_rate=rate,
            uniform=uniform,
            geometric=geometric,
            random_state=0,
        ).fit(records)
        return {"auc": float(roc_auc_score(labels, model.models_[0].score(codes)))}
    X, y = data_of(cell.dataset).train
    sides = [_seen(records.domain, values, cell.reading) for values in (records.domain.encode(X), codes)]
    trees = HistGradientBoostingClassifier(
        max_iter=400,
        learning_rate=0.1,
        max_leaf_nodes=8,
        early_stopping=False,
        interaction_cst="no_interactions",
        categorical_features=[not isinstance(a, Continuous) for a in records.domain.attributes],
        random_state=0,
    ).fit(sides[0], records.domain.encode_labels(y))
    return {"auc": float(roc_auc_score(labels, trees.predict_proba(sides[1])[:, 1]))}


def _seen(domain: Domain, values: Floats, grid: str) -> Floats:
    """Values as a learner sees them that knows only the bins of a public grid, (n, attributes)."""
    if grid == QUANTILES:
        return values
    uniform, geometric = GRIDS_WITHOUT_NOISE[grid]
    shares, seen = grid_shares(uniform=uniform, geometric=geometric), values.astype(float)
    for at, a in enumerate(domain.attributes):
        if isinstance(a, Continuous):
            seen[:, at] = np.searchsorted(a.low + shares * (a.high - a.low), values[:, at])
    return seen


def ceiling_grid() -> Study:
    """Steps and reference on public grids of three sizes; the reference also with bins of its own."""
    on = {"dataset": ("adult", "bank"), "max_depth": 1, "epsilon": INF}
    found = cells(method=[*STEPS, REFERENCE], reading=GRIDS_WITHOUT_NOISE, **on)
    found += cells(method=REFERENCE, reading=QUANTILES, **on)
    return Study("ceiling", found, measure_ceiling)


GRIDS = (ceiling_grid,)
