"""Large campaigns of replays, run like the papers' grids."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from ...arrays import Floats
from ...audit.replay import replay_estimator
from ...audit.search import DOMAIN, NEIGHBOURS, random_pair
from ...audit.twins import TWINS
from ...laws import PermuteAndFlip
from ...papers.diffprfs import DiffPRFs
from ..runs import Cell, Grid
from ..targets import (
    ADD,
    LONELY,
    NARROW,
    PURE,
    Target,
    attack_target,
    bounds,
    labels,
    largest_threshold,
    leaf_counts,
    splits,
)

TRIPLES = 300  # (D, D′, seed) a cell
RATES = {"bernoulli": 0.3, "cover": 2.0}


def measure_replays(cell: Cell) -> dict[str, float]:
    """Replay a repaired forest on random neighbours.

    Returns
    -------
    ``triples``, the number of replays; ``worst_share``, the largest loss as a share of what the ledger allows for the
    pair's relation; ``excess``, the number of losses above it.
    """
    rng = cell.random_state()
    forest = DiffPRFs(
        epsilon=cell.epsilon,
        n_trees=3,
        max_depth=cell.max_depth,
        max_features=1,
        utility=cell.utility,
        bags=cell.method,
        bag_rate=RATES.get(cell.method),
    )
    shares = []
    for i in range(TRIPLES):
        pair = random_pair(rng, neighbours=cell.dataset)
        sides = (pair.first, pair.second) if i % 2 else (pair.second, pair.first)
        forest.set_params(domain=pair.domain, neighbours=("add-remove", cell.dataset)[i // 2 % 2])
        outcome, relation = replay_estimator(forest, *sides, seed=int(rng.integers(2**31)))
        allowed = outcome.ledger.epsilon
        if relation == "replace" and forest.neighbours == "add-remove":
            allowed *= 2
        shares.append(outcome.loss / allowed)
    excess = float(np.sum(np.array(shares) > 1 + 1e-9))
    return {"triples": float(TRIPLES), "worst_share": max(shares), "excess": excess}


def replay_grid() -> Grid:
    """36 cells for each per-record bag mode: relations, scores, depths and ε."""
    modes = ("full", "poisson", "bernoulli", "disjoint", "cover")
    axes = (modes, NEIGHBOURS, ("max", "info_gain", "gini"), (1, 2, 3), (0.5, 3.0), (0,))
    return Grid("audit_replay", tuple(Cell(*cell) for cell in product(*axes)), measure_replays)


# --- Attacks ------------------------------------------------------------------------------------------------

_WRITTEN = partial(DiffPRFs.as_written, domain=DOMAIN, max_depth=2)
_LEAF: dict[str, Any] = {"domain": DOMAIN, "n_trees": 1, "max_depth": 0}
TARGETS = {
    "as written: some tree splits, t = 1": Target(partial(_WRITTEN, n_trees=1), PURE, splits, 20_000, (0.1,)),
    "as written: some tree splits, t = 5": Target(partial(_WRITTEN, n_trees=5), PURE, splits, 4_000, (0.1,)),
    "as written: some tree splits, t = 25": Target(
        partial(_WRITTEN, n_trees=25), PURE, splits, 2_000, (1.0,)
    ),
    "as written: predicted labels, t = 1": Target(partial(_WRITTEN, n_trees=1), PURE, labels, 20_000, (1.0,)),
    "as written: predicted labels, t = 5": Target(partial(_WRITTEN, n_trees=5), PURE, labels, 4_000, (1.0,)),
    "bounds from the data: a threshold": Target(
        partial(
            DiffPRFs,
            domain=DOMAIN,
            bounds="data",
            selection="two-step",
            n_trees=1,
            max_depth=1,
            max_features=2,
        ),
        NARROW,
        largest_threshold,
        20_000,
        (1.0,),
    ),
    "bootstrap only: a leaf": Target(
        partial(DiffPRFs.as_written, stop="depth", size_query=False, **_LEAF),
        LONELY,
        leaf_counts,
        100_000,
        (1.0, 3.0),
    ),
    "Poisson bags: a leaf": Target(partial(DiffPRFs, **_LEAF), LONELY, leaf_counts, 100_000, (1.0, 3.0)),
    "repaired: predicted probabilities": Target(
        partial(DiffPRFs, domain=DOMAIN, n_trees=3, max_depth=2), PURE, None, 20_000, (1.0,)
    ),
}
FLIP = "permute-and-flip: its tight pair"
FLIP_DRAWS = 100_000
TWIN = "twin: "
TWIN_RUNS = 60_000


def _flips(scores: list[float], epsilon: float, rng: np.random.Generator) -> Floats:
    law = PermuteAndFlip(np.tile(scores, FLIP_DRAWS), 2 * np.arange(FLIP_DRAWS), np.array(epsilon / 2))
    return law.draw(rng).astype(float)


def measure_attack(cell: Cell) -> dict[str, float]:
    """Attack a target.

    Returns
    -------
    ``runs`` on each data set, and the lower bounds at 95 % and 99 % confidence and (``lower_sure``) at 1 - 1e-6.
    """
    twin = next((twin for twin in TWINS if cell.method == TWIN + twin.name), None)
    if twin is not None:
        rng, runs = cell.random_state(), TWIN_RUNS
        sides = [np.array([twin.run(data, rng) for _ in range(runs)]) for data in (twin.first, twin.second)]
        return bounds(cell, sides[0], sides[1], runs)
    if cell.method == FLIP:
        rng = cell.random_state()
        sides = [_flips(scores, cell.epsilon, rng) for scores in ([0.0, -4.0], [-1.0, -3.0])]
        return bounds(cell, sides[0], sides[1], FLIP_DRAWS)
    return attack_target(TARGETS[cell.method], cell)


def attack_grid() -> Grid:
    """Attacks on DiffPRFs as written, on its single defects and on the repair, at full length."""
    cells = [Cell(FLIP, ADD, "", 0, epsilon, 0) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    cells += [Cell(TWIN + twin.name, ADD, "", 0, twin.claimed, 0) for twin in TWINS]
    cells += [
        Cell(name, ADD, "", 0, epsilon, 0) for name, target in TARGETS.items() for epsilon in target.claims
    ]
    return Grid("audit_attack", tuple(cells), measure_attack)


GRIDS: dict[str, Callable[[], Grid]] = {"audit_replay": replay_grid, "audit_attack": attack_grid}
