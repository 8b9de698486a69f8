"""What the book's audits are pointed at: pairs of neighbours, what is observed, and how a target is attacked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpaudit import black_box, families
from dpaudit.pairs import NEIGHBOURS, Pair, pair_of, random_pair
from dpnb.arrays import Floats
from dpnb.estimators.base import PrivateForest
from dpnb.records.memory import Records
from dpnb.records.splits import THRESHOLD
from dpnb.replay.tape import replay_estimator

from ..auditing.fixed import compare, largest_bound, observations
from .runs import Cell, Study, cells

ADD = "add-remove"
EARLY_RUNS = 300  # fits on each data set of a small attack
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


def last_digits(model: PrivateForest) -> Floats:
    """Whether the count that the own record of ``LONELY`` adds to, in its leaf of the first tree, is no sum with 1.

    A floating-point number between -½ and ½ that is made by adding noise to 1 is a multiple of 2⁻⁵³. Noise added to 0
    has more digits there.
    """
    X, y = LONELY.second
    tree = model.trees_[0]
    count = tree.value[tree.apply(LONELY.domain.encode(X[:1]))[0], int(y.iloc[0])]
    return np.array([abs(count) < 0.5 and (count * 2.0**53) % 1 != 0], float)


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
    """What an attack is pointed at."""

    make: Callable[..., Any]  # ε → unfitted estimator
    pair: Pair  # the neighbours
    observe: Callable[[Any], Floats] | None  # fitted estimator → numbers; None for predicted probabilities
    runs: int = 20_000  # fits on each data set
    claims: tuple[float, ...] = (1.0,)  # values of ε to attack
    encoded: bool = False  # whether the estimator is given encoded records, which takes a quarter of the time
    private: bool = False  # whether the claim holds in theory


MOST_SHOWN = largest_bound(Target.runs, confidence=0.95)  # by an attack of the usual number of fits


def attack_study(name: str, targets: Mapping[str, Target], **axes: Any) -> Study:
    """Attacks on all targets; ``axes`` as of :func:`attack_cells`."""
    measure, early = partial(measure_attack, targets), partial(early_attack, targets)
    return Study(name, attack_cells(targets, **axes), measure, early=early)


def attack_cells(targets: Mapping[str, Target], **axes: Any) -> list[Cell]:
    """A cell for each target and claim; ``axes`` as of :func:`~private_trees.studies.runs.cells`."""
    return [
        cell
        for name, target in targets.items()
        for cell in cells(method=name, neighbours=ADD, epsilon=target.claims, **axes)
    ]


def measure_attack(targets: Mapping[str, Target], cell: Cell) -> dict[str, float]:
    """Attack the cell's target at its claim; metrics as of :func:`bounds`, and those of :func:`early_attack`."""
    runs = targets[cell.method].runs
    return bounds(cell, *_seen(targets, cell, runs), runs) | early_attack(targets, cell)


def early_attack(targets: Mapping[str, Target], cell: Cell) -> dict[str, float]:
    """A small attack on the cell's target: what tests repeat of :func:`measure_attack`."""
    return early_bounds(cell, *_seen(targets, cell, EARLY_RUNS))


def _seen(targets: Mapping[str, Target], cell: Cell, runs: int) -> tuple[Floats, Floats]:
    """Observations of the cell's target, so many on each data set of its pair."""
    target = targets[cell.method]
    pair = target.pair
    observe = target.observe or black_box(pair.first, pair.second)
    factory = partial(target.make, epsilon=cell.epsilon)
    seed = int(cell.random_state().integers(2**31))
    sides: list[Any] = [pair.first, pair.second]
    if target.encoded:
        sides = [(Records(*side, domain=pair.domain), None) for side in sides]
    return observations(factory, *sides, runs=runs, observe=observe, jobs=1, seed=seed, progress=False)


def bounds(cell: Cell, first: Floats, second: Floats, runs: int) -> dict[str, float]:
    """What ``runs`` observations on each data set show.

    Returns
    -------
    ``runs``, and the lower bounds at 95 % and 99 % confidence and (``lower_sure``) at 1 - 1e-6.
    """
    levels = {"lower_95": 0.95, "lower_99": 0.99, "lower_sure": 1 - 1e-6}
    bounds = {
        name: compare(first, second, claimed=cell.epsilon, confidence=level).lower_bound
        for name, level in levels.items()
    }
    return {"runs": float(runs), **bounds}


def early_bounds(cell: Cell, first: Floats, second: Floats) -> dict[str, float]:
    """:func:`bounds` of ``EARLY_RUNS`` observations, by names that begin with ``early``."""
    return {f"early_{name}": value for name, value in bounds(cell, first, second, EARLY_RUNS).items()}


def replay_study(
    name: str,
    make: Callable[[Cell], Any],
    *,
    triples: int,
    relations: Sequence[str] = (),
    **axes: Any,
) -> Study:
    """Replays on random neighbours of both relations, and the first of them; see :func:`measure_replays`.

    Parameters
    ----------
    axes : as of :func:`~private_trees.studies.runs.cells`.
    """
    measure = partial(_measure_all, make, triples=triples, relations=relations)
    early = partial(early_replays, make, relations=relations)
    return Study(name, cells(neighbours=NEIGHBOURS, **axes), measure, early=early)


def measure_replays(
    make: Callable[[Cell], Any], cell: Cell, *, triples: int, relations: Sequence[str] = ()
) -> dict[str, float]:
    """Replay a private estimator on random neighbours of the cell's relation, in both directions.

    Parameters
    ----------
    make : cell → estimator.
    triples : number of (D, D′, seed).
    relations : those that the estimator is told in turn besides the cell's own.

    Returns
    -------
    ``triples``, the number of replays; ``worst_share``, the largest loss as a share of what the ledger allows for the
    pair's relation; ``excess``, the number of losses above it.
    """
    rng, model, shares = cell.random_state(), make(cell), []
    stated = (*relations, cell.neighbours)
    for i in range(triples):
        pair = random_pair(rng, neighbours=cell.neighbours)
        sides = (pair.first, pair.second) if i % 2 else (pair.second, pair.first)
        model.set_params(domain=pair.domain, neighbours=stated[i // 2 % len(stated)])
        outcome, relation = replay_estimator(model, *sides, seed=int(rng.integers(2**31)), encoded=True)
        twice = relation == "replace" and model.neighbours == ADD
        shares.append(outcome.loss / (outcome.ledger.epsilon * (2 if twice else 1)))
    excess = float(np.sum(np.array(shares) > 1 + 1e-9))
    return {"triples": float(triples), "worst_share": max(shares), "excess": excess}


def early_replays(
    make: Callable[[Cell], Any], cell: Cell, *, relations: Sequence[str] = ()
) -> dict[str, float]:
    """The largest share of the first few replays: what tests repeat of :func:`replay_study`."""
    found = measure_replays(make, cell, triples=30, relations=relations)
    return {"early_share": found["worst_share"]}


def _measure_all(
    make: Callable[[Cell], Any], cell: Cell, *, triples: int, relations: Sequence[str]
) -> dict[str, float]:
    every = measure_replays(make, cell, triples=triples, relations=relations)
    return every | early_replays(make, cell, relations=relations)
