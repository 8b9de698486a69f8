"""What the book's audits are pointed at: pairs of neighbours, what is observed, and how a target is attacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..arrays import Floats
from ..audit.attack import black_box, observations
from ..audit.bounds import compare
from ..audit.replay import replay_estimator
from ..audit.search import Pair, families, pair_of, random_pair
from ..counts import Records
from ..estimators import PrivateForest
from ..splits import THRESHOLD
from .runs import Cell

ADD = "add-remove"
PURE = families()[0]
LONELY = pair_of(
    "one record of class 1 among 20", [(i / 20, i % 2, 0) for i in range(19)], (0.5, 0, 1), neighbours=ADD
)
NARROW = pair_of(
    "a value beyond all others", [(i / 20, i % 2, i % 2) for i in range(2, 11)], (1.0, 0, 1), neighbours=ADD
)


def leaf_counts(model: PrivateForest) -> Floats:
    """Released counts of a forest's first leaf."""
    released: Floats = model.trees_[0].value[0]
    return released


def splits(model: PrivateForest) -> Floats:
    """Number of splits in the forest."""
    return np.array([sum(tree.n_nodes > 1 for tree in model.trees_)], float)


def labels(model: PrivateForest) -> Floats:
    """Whether the forest tells any two records of the pair apart."""
    return np.array([len(set(model.predict(PURE.second[0])))], float)


def largest_threshold(model: PrivateForest) -> Floats:
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
    return bounds(cell, first, second, target.runs)


def bounds(cell: Cell, first: Floats, second: Floats, runs: int) -> dict[str, float]:
    """Lower bounds at three levels of confidence from observations on both data sets."""
    levels = {"lower_95": 0.95, "lower_99": 0.99, "lower_sure": 1 - 1e-6}
    bounds = {
        name: compare(first, second, claimed=cell.epsilon, confidence=level).lower_bound
        for name, level in levels.items()
    }
    return {"runs": float(runs), **bounds}
