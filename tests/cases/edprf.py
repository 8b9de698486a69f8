"""eDPRF: answers to the exercises, and what they are told; what the figures are given."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from private_trees.drawings import edprf as drawings
from private_trees.exercises import edprf as exercises

from . import EPSILONS, LADDER, LEVELS, LINES, RIGHT, TWO, Answer, Answers, points

# --- exercises ------------------------------------------------------------------------------------------------


def flipped(*, rate: float = 1.0, centred: bool = True, shuffle: bool = True) -> Answer:
    def choose(scores: Any, given: float, shuffled: Any, coin: Any) -> int:
        order = shuffled(len(scores)) if shuffle else range(len(scores))
        best = max(scores) if centred else 0
        return next(i for i in order if coin(math.exp(rate * given * (scores[i] - best))))

    return choose


def put_back(scores: Any, rate: float, shuffled: Any, coin: Any) -> int:
    while True:
        i: int = shuffled(len(scores))[0]
        if coin(math.exp(rate * (scores[i] - max(scores)))):
            return i


def path(leaf: int, levels: int, epsilon: float) -> list[float]:
    above = [epsilon * share for share in exercises.level_shares(levels, "harmonic")[: leaf - 1]]
    return [*above, epsilon - sum(above)]


def right_label(gap: float, rate: float, classes: int) -> float:
    """The best one is named if all that stand before it refuse."""
    refuses = 1 - math.exp(-rate * gap)
    return sum(refuses**before for before in range(classes)) / classes


ANSWERS: Answers = {
    exercises.check_permute_and_flip: [
        (flipped(), RIGHT),
        (flipped(centred=False), r"coin\(.*subtract the best"),
        (flipped(shuffle=False), r"scores \(6, 4, 2\) at rate 0.5: your law is \[1. 0. 0.\]"),
        (put_back, "must not come back.*exponential mechanism"),
        (flipped(rate=0.5), "at rate 0.5: your law is"),
        (lambda s, r, o, c: len(s), "you return 3; expected"),
    ],
    exercises.check_path_budgets: [
        (path, RIGHT),
        (
            lambda leaf, h, e: e * exercises.level_shares(h, "harmonic")[:leaf],
            "leaf on level 2 of 3, epsilon 1: the path spends 0.4545",
        ),
        (
            lambda leaf, h, e: [e / leaf] * leaf,
            r"leaf on level 3 of 3, epsilon 1: level 1 has 0.3333; equation \(9\) gives it 0.1818",
        ),
        (lambda leaf, h, e: [e], "1 budgets; the path has 3 nodes"),
    ],
    exercises.check_broken_stop: [
        (lambda trees: ([0] * (2 * trees), 1), RIGHT),
        (lambda trees: ([0, 1] * (2 * trees), 1), "2 trees, seed 0: some tree splits on D;"),
        (lambda trees: ([0] * (2 * trees), 0), "no tree splits on D'"),
        (lambda trees: ([0] * (trees - 1), 1), "must meet another label"),
        (lambda trees: ([0] * (2 * trees - 1), "1"), "is no label"),
    ],
    exercises.check_right_label: [
        (right_label, RIGHT),
        (
            lambda g, r, k: 1 / (1 + (k - 1) * math.exp(-r * g)),
            "2 classes, gap 1, rate 0.5: you say 0.6225",
        ),
        (lambda g, r, k: 1 - math.exp(-r * g) / 2, "3 classes, gap 1, rate 0.5"),
    ],
}

# --- figures --------------------------------------------------------------------------------------------------


FIGURES = [
    partial(drawings.plot_choices, ["A", "B"], {"x": np.array([0.7, 0.3]), "y": np.array([0.6, 0.4])}),
    partial(drawings.draw_orders, [1.0, 0.4, 0.1], "ABC"),
    partial(drawings.draw_dataflow),
    partial(drawings.draw_bins, {"D": (np.array([0.0, 0.1, 0.1]), [0, 1, 1], np.array([0.05]))}),
    partial(drawings.draw_paths, {"plain": {"to C": [("A", 0.2), ("C", 0.3)]}}),
    partial(drawings.plot_errors, {"left": LINES, "right": LINES}),
    partial(drawings.draw_parts, [["1", "2"], ["3"]], [["1", "z"], ["3", "2"]], "z", "2"),
    partial(drawings.draw_roots, {"D": [1, 1], "D′": [1, 6]}),
    partial(drawings.plot_forests, LADDER.assign(label=LADDER["method"]), LEVELS),
    partial(drawings.plot_ladder, LADDER, (0.1, 1.0), {"00 a": "∞", "01 b": "1.00"}),
    partial(
        drawings.plot_ablations,
        points(dataset=TWO, label=["a", "b"], tree_depth=[4, 5], epsilon=EPSILONS),
        levels={"one": 0.5, "two": 0.5},
    ),
    partial(drawings.plot_budgets, LADDER, ["00 a", "01 b"]),
]
