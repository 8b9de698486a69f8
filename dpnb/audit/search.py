"""Neighbours that are hard on tree learners: structured families and random pairs, searched by replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..domain import Categorical, Continuous, Domain
from .replay import Part, replay
from .result import Finding

DOMAIN = Domain((Continuous("x", 0, 1), Categorical("c", (0, 1))), (0, 1), target="label")
NEIGHBOURS = ("add-remove", "replace")


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets.

    Parameters
    ----------
    name : what is special about them.
    first, second : (X, y) with labelled records.
    domain : their public domain; all attributes and classes are numbers.
    """

    name: str
    first: Part
    second: Part
    domain: Domain = DOMAIN


Rows = list[tuple[float, int, int]]  # x, c, label

BASES: dict[str, tuple[Rows, tuple[float, int, int]]] = {
    "pure node, one record of the other class": ([(i / 10, i % 2, 0) for i in range(1, 10)], (0.5, 1, 1)),
    "XOR of the two attributes": (
        [(0.2 + 0.6 * a, b, a ^ b) for a in (0, 1) for b in (0, 1)] * 2,
        (0.8, 1, 1),
    ),
    "duplicate rows, one more": ([(0.3, 0, 0)] * 8 + [(0.7, 1, 1)] * 8, (0.3, 0, 1)),
    "a value at the end of the domain": ([(i / 10, 0, i % 2) for i in range(3, 8)], (1.0, 0, 1)),
    "a leaf of one record": ([(0.1 + i / 100, 0, 0) for i in range(12)], (0.95, 1, 1)),
    "a tie, broken by one record": ([(i / 10, i % 2, i % 2) for i in range(10)], (0.45, 0, 1)),
    "blocks of labels, a record in front": ([(i / 20, 0, i // 5 % 2) for i in range(20)], (0.0, 0, 1)),
}


def _part(rows: Rows, labels: range | list[int]) -> Part:
    frame = pd.DataFrame([row[:2] for row in rows], columns=["x", "c"], index=list(labels))
    return frame, pd.Series([row[2] for row in rows], index=list(labels), name="label")


def pair_of(name: str, rows: Rows, record: tuple[float, int, int], *, neighbours: str) -> Pair:
    """Neighbours made of common rows and one record.

    Under add/remove the second data set has the record in front. Under replace both have a record in front, of
    opposite labels and at opposite ends of the domain of ``c``.
    """
    if neighbours not in NEIGHBOURS:
        raise ValueError(f"neighbours={neighbours!r}: expected one of {', '.join(NEIGHBOURS)}")
    labels = [-1, *range(len(rows))]
    second = _part([record, *rows], labels)
    if neighbours == "add-remove":
        return Pair(name, _part(rows, labels[1:]), second)
    x, c, label = record
    return Pair(name, _part([(x, 1 - c, 1 - label), *rows], labels), second)


def families(neighbours: str = "add-remove") -> list[Pair]:
    """The structured pairs."""
    return [pair_of(name, rows, record, neighbours=neighbours) for name, (rows, record) in BASES.items()]


def random_pair(rng: np.random.Generator, *, neighbours: str = "add-remove", most: int = 12) -> Pair:
    """A pair of 1 to ``most`` random common records and one more, on a coarse grid so that values tie."""
    n = int(rng.integers(1, most + 1))
    table = np.stack(
        [rng.integers(0, 11, n + 1) / 10, rng.integers(0, 2, n + 1), rng.integers(0, 2, n + 1)], axis=1
    )
    rows: Rows = [(float(x), int(c), int(label)) for x, c, label in table]
    return pair_of(f"random, {n} common records", rows[1:], rows[0], neighbours=neighbours)


def search(
    estimator: Any, *, neighbours: str = "add-remove", trials: int = 100, seed: int = 0, subject: str = ""
) -> Finding:
    """Replay an estimator on all families and on random pairs, in both directions; return the worst finding.

    Parameters
    ----------
    estimator : estimator of this package; its ``domain`` is set to the pairs'.
    trials : number of replays in all.
    seed : of pairs and fits.
    """
    rng = np.random.default_rng(seed)
    pairs = families(neighbours)
    pairs += [random_pair(rng, neighbours=neighbours) for _ in range(max(trials - len(pairs), 0))]
    worst: Finding | None = None
    for i, pair in enumerate(pairs[:trials]):
        sides = (pair.first, pair.second) if i % 2 else (pair.second, pair.first)
        named = estimator.set_params(domain=pair.domain)
        found = replay(named, *sides, seed=seed + i, subject=subject, pair=pair.name)
        if worst is None or found.lower_bound > worst.lower_bound:
            worst = found
    if worst is None:
        raise ValueError(f"trials={trials}: expected at least 1")
    return worst
