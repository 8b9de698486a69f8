"""Whether the importances of the booster rank attributes as permuting them does: the grid ``importances``.

The measure is not private: it is how much the AUC of the same model falls on test records with an attribute permuted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import spearmanr

from dpnb.arrays import Floats
from dpnb.boosting.booster import PrivateBooster

from ..board.learners import Parts, parts_of
from .runs import DELTA, Cell, Study, cells
from .scores import class_scores

DATASETS = ("adult", "credit-default", "magic-telescope", "online-shoppers")
SEEDS = range(5)
REPEATS = 3


def permuted(model: PrivateBooster, parts: Parts, rng: np.random.Generator) -> Floats:
    """How much AUC falls where an attribute of the test records is permuted, (attributes,), mean of some times."""

    def auc(codes: Floats) -> float:
        return class_scores(model._votes(codes), parts.labels)["auc"]

    fall = np.zeros(parts.codes.shape[1])
    for a in range(len(fall)):
        for _ in range(REPEATS):
            codes = parts.codes.copy()
            codes[:, a] = rng.permutation(codes[:, a])
            fall[a] -= auc(codes) / REPEATS
    return fall + auc(parts.codes)


def measure_importances(cell: Cell) -> dict[str, float]:
    """Spearman's rank correlation of importances with that fall: by released counts, and by ranges of the shapes."""
    parts, rng = parts_of(cell.dataset, cell.seed, False), np.random.default_rng([cell.seed, 17])
    model = PrivateBooster(epsilon=cell.epsilon, delta=DELTA, random_state=rng).fit(parts.records)
    fall, (shapes,) = permuted(model, parts, rng), model.models_
    ways = {"counts": shapes.importances(), "ranges": replace(shapes, counted=()).importances()}
    return {name: float(spearmanr(fall, sizes).statistic) for name, sizes in ways.items()}


def importances_grid() -> Study:
    """ε = 1 on four sets."""
    found = cells(method="PrivateBooster, δ", dataset=DATASETS, seed=SEEDS, epsilon=1.0)
    return Study("importances", found, measure_importances, lambda cell: DELTA)


GRIDS = {"importances": importances_grid}
