"""Large campaigns of replays, run like the papers' grids."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...arrays import Floats
from ...audit.search import DOMAIN
from ...audit.twins import TWINS
from ...growth import NOISES
from ...laws import PermuteAndFlip
from ...papers.diffprfs import DiffPRFs
from ...papers.pearson import PearsonTree
from ..runs import Cell, Study, cells
from ..targets import (
    ADD,
    LONELY,
    NARROW,
    PURE,
    Target,
    attack_cells,
    bounds,
    labels,
    largest_threshold,
    last_digits,
    leaf_counts,
    measure_attack,
    replay_study,
    splits,
)

RATES = {"full": None, "poisson": None, "bernoulli": 0.3, "disjoint": None, "cover": 2.0}


def repaired(cell: Cell) -> DiffPRFs:
    """A repaired forest with the cell's bags."""
    return DiffPRFs(
        epsilon=cell.epsilon,
        n_trees=3,
        max_depth=cell.max_depth,
        max_features=1,
        utility=cell.utility,
        bags=cell.method,
        bag_rate=RATES[cell.method],
    )


def replay_grid() -> Study:
    """36 cells for each per-record bag mode: relations, scores, depths and ε."""
    return replay_study(
        "audit_replay",
        repaired,
        triples=300,
        relations=(ADD,),
        method=RATES,
        utility=("max", "info_gain", "gini"),
        max_depth=(1, 2, 3),
        epsilon=(0.5, 3.0),
    )


# --- Attacks ------------------------------------------------------------------------------------------------

_WRITTEN = partial(DiffPRFs.as_written, domain=DOMAIN, max_depth=2)
_ONE: dict[str, Any] = {"domain": DOMAIN, "n_trees": 1, "max_depth": 0}
TARGETS = {
    "as written: some tree splits, t = 1": Target(partial(_WRITTEN, n_trees=1), PURE, splits, claims=(0.1,)),
    "as written: some tree splits, t = 5": Target(partial(_WRITTEN, n_trees=5), PURE, splits, 4_000, (0.1,)),
    "as written: some tree splits, t = 25": Target(partial(_WRITTEN, n_trees=25), PURE, splits, 2_000),
    "as written: predicted labels, t = 1": Target(partial(_WRITTEN, n_trees=1), PURE, labels),
    "as written: predicted labels, t = 5": Target(partial(_WRITTEN, n_trees=5), PURE, labels, 4_000),
    "bounds from the data: a threshold": Target(
        partial(DiffPRFs, bounds="data", selection="two-step", max_features=2, **_ONE | {"max_depth": 1}),
        NARROW,
        largest_threshold,
    ),
    "bootstrap only: a leaf": Target(
        partial(DiffPRFs.as_written, stop="depth", size_query=False, **_ONE),
        LONELY,
        leaf_counts,
        100_000,
        (1.0, 3.0),
    ),
    "Poisson bags: a leaf": Target(
        partial(DiffPRFs, **_ONE), LONELY, leaf_counts, 100_000, (1.0, 3.0), private=True
    ),
    **{
        f"last digits of a leaf, {noise} noise": Target(
            partial(PearsonTree, domain=DOMAIN, noise=noise),
            LONELY,
            last_digits,
            encoded=True,
            private=noise == "geometric",
        )
        for noise in NOISES
    },
    "repaired: predicted probabilities": Target(
        partial(DiffPRFs, domain=DOMAIN, n_trees=3, max_depth=2), PURE, None, private=True
    ),
}
FLIP = "permute-and-flip: its tight pair"
FLIP_DRAWS = 100_000
TWIN = "twin: "
TWIN_RUNS = 60_000


def _flips(scores: list[float], epsilon: float, rng: np.random.Generator) -> Floats:
    law = PermuteAndFlip(np.tile(scores, FLIP_DRAWS), 2 * np.arange(FLIP_DRAWS), np.array(epsilon / 2))
    return law.draw(rng).astype(float)


def measure_any(cell: Cell) -> dict[str, float]:
    """Attack a target, a broken twin, or permute-and-flip on its tight pair; metrics as of :func:`bounds`."""
    twin = next((twin for twin in TWINS if cell.method == TWIN + twin.name), None)
    if twin is not None:
        rng, runs = cell.random_state(), TWIN_RUNS
        sides = [np.array([twin.run(data, rng) for _ in range(runs)]) for data in (twin.first, twin.second)]
        return bounds(cell, sides[0], sides[1], runs)
    if cell.method == FLIP:
        rng = cell.random_state()
        sides = [_flips(scores, cell.epsilon, rng) for scores in ([0.0, -4.0], [-1.0, -3.0])]
        return bounds(cell, sides[0], sides[1], FLIP_DRAWS)
    return measure_attack(TARGETS, cell)


def attack_grid() -> Study:
    """Attacks on DiffPRFs as written, on its single defects and on the repair, at full length."""
    found = cells(method=FLIP, neighbours=ADD, epsilon=(0.5, 1.0, 2.0, 4.0))
    for twin in TWINS:
        found += cells(method=TWIN + twin.name, neighbours=ADD, epsilon=twin.claimed)
    return Study("audit_attack", found + attack_cells(TARGETS), measure_any)


GRIDS = (replay_grid, attack_grid)
