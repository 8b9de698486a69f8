"""DiffPRFs: answers to the exercises, and what they are told; what the figures are given."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpnb import Continuous, Domain
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.trees.tree import Tree
from private_trees.drawings import diffprfs as drawings
from private_trees.exercises import diffprfs as exercises

from . import EPSILONS, RIGHT, TWO, Answer, Answers, points

# --- exercises ------------------------------------------------------------------------------------------------


def intervals(scale: float, *, lengths: bool = True, centred: bool = True, sum_to_1: bool = True) -> Answer:
    def law(ends: Any, scores: Any, epsilon: float, sensitivity: float) -> Any:
        power = epsilon * (scores - scores.max() * centred) / (scale * sensitivity)
        weight = (np.diff(ends) if lengths else 1) * np.exp(power)
        return weight / weight.sum() if sum_to_1 else weight

    return law


def pair(stops: Answer) -> Any:
    counts = itertools.product(range(12), repeat=2)
    return next(((a, b), (a, b + 1)) for a, b in counts if stops((a, b)) != stops((a, b + 1)))


def midpoints(values: Any) -> set[float]:
    return {(a + b) / 2 for a in [0, *values] for b in [*values, 1] if a < b and {a, b} & set(values)}


def all_values(values: Any) -> set[float]:
    return {(a + b) / 2 for a, b in itertools.pairwise([0, *sorted(values), 1])}


def any_two(values: Any) -> set[float]:
    ends = [0, *sorted(set(values)), 1]
    return {(a + b) / 2 for a in ends for b in ends if a < b}


ANSWERS: Answers = {
    exercises.check_intervals: [
        (intervals(2), RIGHT),
        (intervals(2, lengths=False), "a short interval with the best score: you have"),
        (intervals(1), "equal lengths: you have"),
        (intervals(2, centred=False), "scores of thousands: .* overflows"),
        (intervals(2, sum_to_1=False), "equal lengths: the probabilities add up to"),
        (lambda *_: [1.0], "equal lengths: 1 numbers for 2 intervals"),
    ],
    exercises.check_stop_rule: [
        (pair, RIGHT),
        (lambda stops: ((5, 0), (5, 1)), "stop below ten records: .* both stop"),
        (lambda stops: ((9, 0), (0, 9)), "stop if all records have one class: .* differ by 18 records"),
        (lambda stops: ((5, 1), (5, 2)), "stop if all records have one class: .* both go on"),
        (lambda stops: ((0, -1), (0, 0)), "counts cannot be negative"),
    ],
    exercises.check_poisson: [
        (lambda budget, trees, rate: math.log1p(budget / (trees * rate)), RIGHT),
        (lambda budget, trees, rate: budget / trees, "B = 1, 25 trees, rate 1: .* above B"),
        (lambda budget, trees, rate: np.log1p(budget / trees), "a rate of one half: .* is allowed"),
        (lambda budget, trees, rate: budget / (2 * trees), "B = 1, 25 trees, rate 1: .* is allowed"),
    ],
    exercises.check_midpoints: [
        (midpoints, RIGHT),
        (all_values, r"two values .* 0\.3 is possible and missing"),
        (any_two, r"two values .* no bag gives 0\.5"),
    ],
}

# --- figures --------------------------------------------------------------------------------------------------

PLACES = np.linspace(0.1, 0.9, 9)
SETS = {"D": (PLACES, [0] * 9), "D′": (np.append(PLACES, 0.5), [0] * 9 + [1])}


def trees() -> list[Tree]:
    line = Domain((Continuous("x", 0, 1),), (0, 1))
    one = DiffPRFs.as_written(domain=line, epsilon=0.1, n_trees=1, max_depth=1, random_state=2016)
    return [one.fit(pd.DataFrame({"x": x}), y).trees_[0] for x, y in SETS.values()]


REPEATS = pd.concat(
    [
        points(
            metric=["accuracy", "auc"],
            method=TWO,
            utility=["max", "gini"],
            max_depth=[1, 5],
            epsilon=EPSILONS,
        )
    ]
    * 2
).assign(label=lambda t: t["method"], value=lambda t: t["mean"])

FIGURES = [
    partial(drawings.plot_two_trees, SETS, trees()),
    partial(drawings.plot_dataflow),
    partial(drawings.plot_dataflow, repaired=True),
    partial(drawings.plot_shares, [("all", 4, ()), ("a part", 2, ("size", "rest"))]),
    partial(
        drawings.plot_splits_found,
        pd.DataFrame({"on D": [0, 0], "on D′": [137, 198], "exact": [0.65, 0.99]}, index=[1, 5]),
        runs=200,
    ),
    partial(
        drawings.plot_bounds,
        dict.fromkeys(TWO, pd.DataFrame({"least": [0.4, 0.3], "most": [0.6, 0.5]})),
        claim=1,
    ),
    partial(drawings.plot_choice, pd.DataFrame({"gain": [1e-6, 1e-5], "max": [1e-3, 1e-2]}, index=EPSILONS)),
    partial(drawings.plot_copies, [0, 1], np.array([0.4, 0.6]), [1, 1]),
    partial(drawings.plot_intervals, [0, 0.3, 0.6, 1], [0, 1], {1: [0.3, 0.3, 0.4], 2: [0.2, 0.2, 0.6]}),
    partial(drawings.plot_repairs, REPEATS, true_epsilon={"one": "1.00", "two": "2.00"}),
    partial(drawings.plot_depths, REPEATS[REPEATS["metric"] == "auc"], floor=0.5),
    partial(drawings.plot_beside, REPEATS, levels={"accuracy": {"floor": 0.5}, "auc": {}}),
]
