"""DPAda: answers to the exercises, and what they are told; what the figures are given."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dpnb.papers import dpada as dpada_paper
from dpnb.papers.dpada import causal, definition7
from private_trees.drawings import dpada as drawings
from private_trees.exercises import dpada as exercises
from private_trees.studies import dpada as grids

from . import AT_ONE, EPSILONS, LADDER, LEVELS, RIGHT, TWO, Answers, points

# --- exercises ------------------------------------------------------------------------------------------------


def bounded(margins: Any) -> Any:
    return np.minimum(1, np.exp(-margins))


ANSWERS: Answers = {
    exercises.check_schedule: [
        (definition7, RIGHT),
        (causal, r"coins \[1\].*no zero in front"),
        (lambda h: [b * (1 - a) for a, b in itertools.pairwise([0, *h])], r"\[1, 1\].*no zero in front"),
        (list, r"coins \[0, 1, 1, 0\].*zeros on both sides"),
        (lambda h: [0] * len(h), r"coins \[1\]: you give \[0\]"),
        (lambda h: 3, "expected a list of 0 and 1"),
        (lambda h: [1] * len(h), r"coins \[0\].*adds none"),
        (lambda h: [*definition7(h)[:-1], 0], r"coins \[1\]|reaches the last round"),
    ],
    exercises.check_weights: [
        (bounded, RIGHT),
        (lambda z: np.exp(-z), r"margins \[-3.*weight of 20.1"),
        (lambda z: bounded(z) / bounded(z).sum(), r"margins \[-3.0.*: a record of margin .* joins"),
        (lambda z: -z, "a weight of 3, .*more than 1"),
        (lambda z: np.minimum(1, -z), "negative"),
        (lambda z: np.ones(len(z)), r"MadaBoost has \[1.0, 1.0, 1.0, 0.607"),
        (lambda z: 1.0, "expected one a record"),
    ],
    exercises.check_guess: [
        (lambda box: box.label(0.0) == 1, RIGHT),
        (lambda box: True, "run 0: the model was trained on D"),
        (lambda box: False, "found in 0 of 60"),
        (lambda box: 1, "expected True for D′"),
        (lambda box: box.label(1.0) == 1, "trained on D"),
    ],
}

# --- figures --------------------------------------------------------------------------------------------------


def rounds(seed: int = 2023) -> list[drawings.Round]:
    reading = dpada_paper.READINGS[grids.ACCURATE]
    return drawings.three_rounds(drawings.NINE.first, reading=reading, epsilon=1.0, seed=seed)


def first_steps(n: int) -> dict[str, Any]:
    sides = {"D": drawings.NINE.first, "D′": drawings.NINE.second}
    return {name: drawings.first_steps(part, epsilon=1.0, runs=n) for name, part in sides.items()}


FIGURES = [
    partial(drawings.plot_rounds, rounds(), first_steps(3)),
    partial(drawings.draw_flow, drawings.WRITTEN, passes="no noise"),
    partial(drawings.draw_flow, drawings.REPAIRED, passes="private"),
    partial(drawings.plot_sizes, {"weight": 1e-5, "noise": 30.0}),
    partial(drawings.plot_jumps, np.array([0.0, 1.0]), {10: np.array([0.0, 0.5])}),
    partial(
        drawings.plot_shares,
        pd.DataFrame(
            {"data": ["D", "D′"], "share": [0.0, 0.5], "low": [0.0, 0.4], "high": [0.1, 0.6]},
            index=["all", "all"],
        ),
        label="share",
    ),
    partial(drawings.draw_schedules, {"a": [0, 1, 0], "b": [1, 1, 1]}, limit=1),
    partial(drawings.plot_budgets, AT_ONE.assign(label="a"), levels=LEVELS),
    partial(
        drawings.plot_by_schedule,
        points(dataset=TWO, schedule=["a"], n_rounds=[3, 4], epsilon=EPSILONS),
        levels={"one": 0.6, "two": 0.6},
    ),
    partial(
        drawings.plot_runs,
        pd.DataFrame(
            [(s, d, m, 0.8, m == 3) for s in ("all", "swing") for d in TWO for m in (3, 4)],
            columns=["method", "dataset", "n_rounds", "accuracy", "last"],
        ),
    ),
    partial(drawings.plot_ladder, LADDER, steps=["00 a", "01 b"]),
    partial(
        drawings.plot_bounds,
        pd.DataFrame(
            {"claim": ["1", "4"], "lower_95": [8.0, 3.0], "theory": ["refuted", "holds"]}, index=["a", "b"]
        ),
    ),
]
