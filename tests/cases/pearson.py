"""The Pearson tree: answers to the exercises, and what they are told; what the figures are given."""

from __future__ import annotations

import hmac
import zlib
from functools import partial
from typing import Any

import numpy as np

from private_trees.drawings import pearson as drawings
from private_trees.exercises import pearson as exercises
from private_trees.exercises.pearson import phi

from . import EPSILONS, LADDER, LEVELS, LINES, RIGHT, TWO, Answers, points

# --- exercises ------------------------------------------------------------------------------------------------


def coefficient(table: Any) -> float:
    (_, b), (c, d) = table
    n, ones, class_1 = np.sum(table), c + d, b + d
    below = ones * (n - ones) * class_1 * (n - class_1)
    return 0.0 if below == 0 else float(abs(n * d - ones * class_1) / np.sqrt(below))


def signed(table: Any) -> float:
    return coefficient(table) * float(np.sign(np.linalg.det(table)))


def undefined(table: Any) -> float:
    with np.errstate(all="ignore"):
        return float(abs(np.linalg.det(table)) / np.sqrt(np.prod([*table.sum(0), *table.sum(1)])))


def covariation(table: Any) -> float:
    return float(abs(table[1][1] - table[1].sum() * table[:, 1].sum() / max(float(np.sum(table)), 1.0)))


def hashed(keys: Any, m: int, secret: bytes) -> list[int]:
    return [int(hmac.new(secret, key.encode(), "sha256").hexdigest(), 16) % m for key in keys]


def numbers(keys: Any) -> Any:
    return np.array([int(key.split()[1]) for key in keys])


def pattern(n: int) -> list[exercises.Row]:
    return [((i + 1) // 2 % 2, i // 2 % 2, i % 2) for i in range(n)]


DRAWN = np.random.default_rng(0)


ANSWERS: Answers = {
    exercises.check_phi: [
        (coefficient, RIGHT),
        (signed, "the cut says the opposite"),
        (undefined, "all records in one branch.*yours nan, expected 0"),
        (covariation, "the cut says the class.*expected 1"),
    ],
    exercises.check_shards: [
        (hashed, RIGHT),
        (lambda keys, m, _: np.arange(len(keys)) * m // len(keys), r"more at the end: \d+ others"),
        (lambda keys, m, _: np.arange(len(keys)) % m, "one record more in front: 2000 others"),
        (
            lambda keys, m, _: np.argsort(np.argsort(keys)) * m // len(keys),
            r"one record more .*\d+ others",
        ),
        (lambda keys, m, _: DRAWN.integers(m, size=len(keys)), "the same keys twice"),
        (
            lambda keys, m, _: [zlib.crc32(key.encode()) % m for key in keys],
            "two secrets: 2.. records.*Without the secret anybody",
        ),
        (lambda keys, m, _: numbers(keys) % m, "two secrets: 250 records"),
        (lambda keys, m, secret: (numbers(keys) + sum(secret)) % m, "two secrets: 250 records"),
        # Linear: a salt renames the shards of equal lengths.
        (lambda keys, m, secret: [zlib.crc32(secret + k.encode()) % m for k in keys], "two secrets"),
        (lambda keys, m, _: [0] * len(keys), "sizes of the shards"),
        (lambda keys, m, secret: np.add(hashed(keys, m, secret), 1), "from 1 to 8: expected 0 to 7"),
        (lambda keys, m, _: 0, "the shape"),
    ],
    exercises.check_pair: [
        (lambda: (pattern(8), pattern(9)[-1]), RIGHT),
        (lambda: (pattern(8), (0, 2, 1)), r"row 8 is \(0, 2, 1\)"),
        (lambda: ([(1, 1, 1)] * 9, (0, 0, 0)), "a loss of 0.00"),
        (lambda: (pattern(3), (0, 0, 0)), "3 rows: expected 4"),
    ],
    exercises.check_share: [
        (lambda total, leaf, h, m, blocks: (total - leaf) / (h * (m if blocks else 1)), RIGHT),
        (lambda total, leaf, h, m, blocks: (total - leaf) / h, "m = 8, blocks.*books 4.5"),
        (lambda total, leaf, h, m, blocks: (total - leaf) / (h * m), "m = 8, by record"),
        (lambda total, leaf, h, m, blocks: total / (h * m), "expected 1"),
    ],
}

# --- figures --------------------------------------------------------------------------------------------------

BITS = np.array([0, 1, 1, 0, 0])

FIGURES = [
    partial(drawings.draw_blocks, {"a": BITS, "b": 1 - BITS}, BITS, m=2, score=phi),
    partial(drawings.draw_blocks, {"a": BITS, "b": 1 - BITS}, BITS, m=1, score=phi),
    partial(drawings.draw_dataflow),
    partial(drawings.draw_points, {"D": [0.1, 0.1], "D′": [0.1, 0.2]}),
    partial(drawings.draw_stops, {"D": (8, 0), "D′": (8, 1)}),
    partial(
        drawings.plot_curves,
        LINES,
        levels={"claim": 1.0},
        xscale="log",
        xlabel="records",
        ylabel="change",
    ),
    partial(
        drawings.plot_sets,
        points(dataset=["one", "two", "three"], label=["a", "b"], epsilon=EPSILONS),
        levels=LEVELS | {"three": {"floor": 0.6}},
    ),
    partial(drawings.plot_price, LADDER, booked={"00 a": "∞", "01 b": "1.00"}),
    partial(
        drawings.plot_shards,
        points(dataset=TWO, label=["S", "blocks"], shards=[1, 64]).assign(auc=0.8),
        metrics={"mean": "accuracy", "auc": "AUC"},
    ),
]
