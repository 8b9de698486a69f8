"""Large campaigns of replays, run like the papers' grids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..counts import Records
from ..laws import PermuteAndFlip
from ..papers.diffprfs import DiffPRFs
from ..runs import Cell, Grid
from ..splits import THRESHOLD
from .attack import black_box, compare, observations
from .replay import replay_estimator
from .search import DOMAIN, NEIGHBOURS, Pair, families, pair_of, random_pair
from .twins import TWINS

Floats = NDArray[np.float64]
ADD = "add-remove"
PURE = families()[0]
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


def replay_random_pairs(model: Any, cell: Cell, *, triples: int) -> dict[str, float]:
    """Replay an estimator on random neighbours of its own relation, ``cell.dataset``, in both directions.

    Returns
    -------
    Metrics of :func:`measure_replays`.
    """
    rng, shares = cell.random_state(), []
    for i in range(triples):
        pair = random_pair(rng, neighbours=cell.dataset)
        sides = (pair.first, pair.second) if i % 2 else (pair.second, pair.first)
        model.set_params(domain=pair.domain)
        outcome, _ = replay_estimator(model, *sides, seed=int(rng.integers(2**31)))
        shares.append(outcome.loss / outcome.ledger.epsilon)
    excess = float(np.sum(np.array(shares) > 1 + 1e-9))
    return {"triples": float(triples), "worst_share": max(shares), "excess": excess}


def replay_grid() -> Grid:
    """36 cells for each per-record bag mode: relations, scores, depths and ε."""
    modes = ("full", "poisson", "bernoulli", "disjoint", "cover")
    axes = (modes, NEIGHBOURS, ("max", "info_gain", "gini"), (1, 2, 3), (0.5, 3.0), (0,))
    return Grid("audit_replay", tuple(Cell(*cell) for cell in product(*axes)), measure_replays)


# --- Attacks ------------------------------------------------------------------------------------------------

LONELY = pair_of(
    "one record of class 1 among 20", [(i / 20, i % 2, 0) for i in range(19)], (0.5, 0, 1), neighbours=ADD
)
NARROW = pair_of(
    "a value beyond all others", [(i / 20, i % 2, i % 2) for i in range(2, 11)], (1.0, 0, 1), neighbours=ADD
)


def leaf_counts(model: DiffPRFs) -> Floats:
    """Released counts of a forest's first leaf."""
    released: Floats = model.trees_[0].value[0]
    return released


def splits(model: DiffPRFs) -> Floats:
    """Number of splits in the forest."""
    return np.array([sum(tree.n_nodes > 1 for tree in model.trees_)], float)


def labels(model: DiffPRFs) -> Floats:
    """Whether the forest tells any two records of the pair apart."""
    return np.array([len(set(model.predict(PURE.second[0])))], float)


def largest_threshold(model: DiffPRFs) -> Floats:
    """Largest threshold on the continuous attribute, -1 without any."""
    cuts = [
        cut for tree in model.trees_ for kind, _, cut in zip(*tree.splits, strict=True) if kind == THRESHOLD
    ]
    return np.array([max(cuts, default=-1.0)])


@dataclass(frozen=True)
class Target:
    """What an attack is pointed at.

    Parameters
    ----------
    make : ε → unfitted estimator.
    pair : the neighbours.
    observe : fitted estimator → numbers; None for predicted probabilities.
    runs : fits on each data set.
    claims : values of ε to attack.
    encoded : whether the estimator is given encoded records, which takes a quarter of the time.
    """

    make: Callable[..., Any]
    pair: Pair
    observe: Callable[[Any], Floats] | None
    runs: int
    claims: tuple[float, ...]
    encoded: bool = False


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
        return _bounds(cell, sides[0], sides[1], runs)
    if cell.method == FLIP:
        rng = cell.random_state()
        sides = [_flips(scores, cell.epsilon, rng) for scores in ([0.0, -4.0], [-1.0, -3.0])]
        return _bounds(cell, sides[0], sides[1], FLIP_DRAWS)
    return attack_target(TARGETS[cell.method], cell)


def attack_target(target: Target, cell: Cell) -> dict[str, float]:
    """Attack one target at the cell's claim; metrics as of :func:`measure_attack`."""
    pair = target.pair
    observe = target.observe or black_box(pair.first, pair.second)
    factory = partial(target.make, epsilon=cell.epsilon)
    seed = int(cell.random_state().integers(2**31))
    sides: list[Any] = [pair.first, pair.second]
    if target.encoded:
        sides = [(Records(*side, domain=pair.domain), None) for side in sides]
    first, second = observations(
        factory, *sides, runs=target.runs, observe=observe, jobs=1, seed=seed, progress=False
    )
    return _bounds(cell, first, second, target.runs)


def _bounds(cell: Cell, first: Floats, second: Floats, runs: int) -> dict[str, float]:
    levels = {"lower_95": 0.95, "lower_99": 0.99, "lower_sure": 1 - 1e-6}
    bounds = {
        name: compare(first, second, claimed=cell.epsilon, confidence=level).lower_bound
        for name, level in levels.items()
    }
    return {"runs": float(runs), **bounds}


def attack_grid() -> Grid:
    """Attacks on DiffPRFs as written, on its single defects and on the repair, at full length."""
    cells = [Cell(FLIP, ADD, "", 0, epsilon, 0) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    cells += [Cell(TWIN + twin.name, ADD, "", 0, twin.claimed, 0) for twin in TWINS]
    cells += [
        Cell(name, ADD, "", 0, epsilon, 0) for name, target in TARGETS.items() for epsilon in target.claims
    ]
    return Grid("audit_attack", tuple(cells), measure_attack)
