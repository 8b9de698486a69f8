"""Mechanisms with a known verdict: each broken one stands beside its correct twin.

An instrument is trusted only while it catches the broken ones and passes the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpnb.arrays import Floats
from dpnb.privacy.curator import Curator, open_curator
from dpnb.privacy.lattice import Lattice
from dpnb.privacy.ledger import Ledger

Run = Callable[[Any, np.random.Generator], Floats]
EPSILON = 1.0


@dataclass(frozen=True)
class Twin:
    """A mechanism with a claim of ε = 1 and the pair of neighbours that decides it."""

    name: str  # the defect, and `"correct"` or `"broken"`
    broken: bool  # whether the claim is false
    run: Run  # data, generator → released numbers
    # first, second: neighbours under add/remove.
    first: Any
    second: Any
    claimed: float = EPSILON


def _door(rng: np.random.Generator) -> Curator:
    return open_curator(rng=rng, ledger=Ledger(claimed=EPSILON))


def _pick(curator: Curator, scores: Any, *, epsilon: float, monotone: bool = False) -> int:
    chosen = curator.permute_and_flip(
        scores, starts=np.array([0]), epsilon=epsilon, sensitivity=1.0, monotone=monotone, what="choice"
    )
    return int(chosen[0])


def _selection(scores: Any, rng: np.random.Generator, *, factor: float) -> Floats:
    return np.array([_pick(_door(rng), scores, epsilon=factor * EPSILON)], float)


def _count(records: int, rng: np.random.Generator, *, sensitivity: float) -> Floats:
    return _door(rng).laplace([records], epsilon=EPSILON, sensitivity=sensitivity, what="count")


def _stopping(labels: list[int], rng: np.random.Generator, *, tested: bool) -> Floats:
    """A split, unless the node is pure; then the class counts."""
    curator, counts = _door(rng), np.bincount(labels, minlength=2)
    split = -1
    if not (tested and len(set(labels)) == 1):
        split = _pick(curator, counts, epsilon=EPSILON / 2, monotone=True)
    noisy = curator.laplace(counts, epsilon=EPSILON / 2, sensitivity=1.0, what="class counts")
    return np.array([split, *noisy])


def _threshold(values: list[float], rng: np.random.Generator, *, public: bool) -> Floats:
    """Median by the exponential mechanism on intervals between values."""
    ends = (0.0, 1.0) if public else (min(values), max(values))
    cuts = np.array([ends[0], *sorted(values), ends[1]])
    below = np.arange(len(values) + 1)
    lattice = Lattice.of(*np.reshape(ends, (2, 1)))
    lengths = np.diff(np.append(0, lattice.up_to(cuts[1:]))) / lattice.size
    point = _door(rng).exponential_intervals(
        -np.abs(below - len(values) / 2.0),
        starts=np.array([0]),
        option=np.zeros(len(below), np.intp),
        low=cuts[:-1],
        high=cuts[1:],
        lattice=lattice,
        measure=lengths,
        epsilon=EPSILON,
        sensitivity=0.5,
        monotone=False,
        what="threshold",
    )
    return point.value


def _shards(records: list[tuple[int, int]], rng: np.random.Generator, *, by_position: bool) -> Floats:
    """Class counts of four disjoint blocks, each at the full ε (parallel composition)."""
    curator, blocks = _door(rng), 4
    home = [4 * i // len(records) if by_position else key % blocks for i, (key, _) in enumerate(records)]
    table = np.zeros((blocks, 2))
    for block, (_, label) in zip(home, records, strict=True):
        table[block, label] += 1
    with curator.ledger.parallel("blocks"):
        noisy = [
            curator.laplace(row, epsilon=EPSILON, sensitivity=1.0, what="counts of a block") for row in table
        ]
    return np.concatenate(noisy)


def _mean_of_draws(records: int, rng: np.random.Generator, *, draws: int) -> Floats:
    curator = _door(rng)
    return np.array(
        [curator.laplace([records] * draws, epsilon=EPSILON, sensitivity=1.0, what="count").mean()]
    )


def _levels(scores: Any, rng: np.random.Generator, *, share: float) -> Floats:
    """A choice on each of four levels."""
    curator = _door(rng)
    return np.array([_pick(curator, scores, epsilon=share * EPSILON) for _ in range(4)], float)


def _leaf_label(counts: tuple[int, int], rng: np.random.Generator, *, smooth: bool) -> Floats:
    """Label of a leaf; broken: the weights of smooth sensitivity inside the exponential mechanism (Fletcher 2017)."""
    curator = _door(rng)
    if not smooth:
        return np.array([_pick(curator, counts, epsilon=EPSILON, monotone=True)], float)
    gap = abs(counts[0] - counts[1])
    log_weight = min(50.0, EPSILON / 2 * math.exp(gap * EPSILON))
    scores = np.where(np.arange(2) == np.argmax(counts), log_weight, 0.0)
    chosen = curator.exponential(
        scores, starts=np.array([0]), epsilon=EPSILON, sensitivity=1.0, monotone=True, what="label of a leaf"
    )
    return chosen.astype(float)


# With a record in front, 18 instead of 17 records, blocks by position hand on the records 5 and 9.
_RECORDS = [(key, int(key == 5)) for key in range(1, 18)]

TWINS = (
    Twin("doubled rate", True, partial(_selection, factor=2.0), [0, -4], [-1, -3]),
    Twin("rate as proved", False, partial(_selection, factor=1.0), [0, -4], [-1, -3]),
    Twin("halved noise", True, partial(_count, sensitivity=0.5), 10, 11),
    Twin("noise as proved", False, partial(_count, sensitivity=1.0), 10, 11),
    Twin("stop tested without noise", True, partial(_stopping, tested=True), [0] * 6, [0] * 6 + [1]),
    Twin("fixed depth", False, partial(_stopping, tested=False), [0] * 6, [0] * 6 + [1]),
    Twin(
        "domain from the data", True, partial(_threshold, public=False), [0.2, 0.4, 0.5], [0.2, 0.4, 0.5, 0.9]
    ),
    Twin("public domain", False, partial(_threshold, public=True), [0.2, 0.4, 0.5], [0.2, 0.4, 0.5, 0.9]),
    Twin("bags by position", True, partial(_shards, by_position=True), _RECORDS, [(0, 0), *_RECORDS]),
    Twin("bags by record", False, partial(_shards, by_position=False), _RECORDS, [(0, 0), *_RECORDS]),
    Twin("mean of 100 draws", True, partial(_mean_of_draws, draws=100), 10, 11),
    Twin("one draw", False, partial(_mean_of_draws, draws=1), 10, 11),
    Twin("budget of a level spent on each", True, partial(_levels, share=1.0), [0, -4], [-1, -3]),
    Twin("budget shared by levels", False, partial(_levels, share=0.25), [0, -4], [-1, -3]),
    Twin("smooth sensitivity as a rate", True, partial(_leaf_label, smooth=True), (3, 1), (4, 1)),
    Twin("label by permute-and-flip", False, partial(_leaf_label, smooth=False), (3, 1), (4, 1)),
)
