"""Data sets made by rules in which attributes matter together, or at narrow peaks: much of it no stump shows.

Each has eight attributes, of which a rule reads two or three. They are public:
settings may be chosen on them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from dpnb.arrays import Bools, Floats
from dpnb.data.datasets import Dataset
from dpnb.domain import Continuous, Domain

RECORDS = 30_000
ATTRIBUTES = 8
FLIPPED = 0.1  # share of the labels that are turned over
DOMAIN = Domain(tuple(Continuous(f"x{a}", -1.0, 1.0) for a in range(ATTRIBUTES)), ("no", "yes"), "label")


def _parity(X: Floats, rng: np.random.Generator) -> Bools:
    """Whether an odd number of three attributes is positive: no two of them say anything."""
    odd: Bools = (X[:, :3] > 0).sum(axis=1) % 2 == 1
    return odd


def _ball(X: Floats, rng: np.random.Generator) -> Bools:
    """Within a ball in three attributes that holds half of the records."""
    inside: Bools = (X[:, :3] ** 2).sum(axis=1) < 0.985
    return inside


def _xor(X: Floats, rng: np.random.Generator) -> Bools:
    """Whether just one of two attributes is above its threshold."""
    one: Bools = (X[:, 0] > 0.2) ^ (X[:, 1] > -0.1)
    return one


def _peaks(X: Floats, rng: np.random.Generator) -> Bools:
    """Two attributes are 0 for nine records in ten and at one of 25 values for the rest, each with its own label.

    A third attribute hints at the label of those that are 0 in both.
    """
    label = rng.random(len(X)) < 0.5 + 0.4 * X[:, 2]
    for a in (0, 1):
        peaks, own = rng.uniform(-1, 1, 25), rng.random(25) < 0.5
        which, here = rng.integers(25, size=len(X)), rng.random(len(X)) < 0.1
        X[:, a] = np.where(here, peaks[which], 0.0)
        label = np.where(here, own[which], label)
    return label


RULES: dict[str, Callable[[Floats, np.random.Generator], Bools]] = {
    "made-parity": _parity,
    "made-ball": _ball,
    "made-xor": _xor,
    "made-peaks": _peaks,
}
MADE = tuple(RULES)
DEEP = MADE[:3]  # those in which attributes matter together


def made(name: str, seed: int) -> Dataset:
    """A set of a rule, drawn anew for each seed; 70 % are for training."""
    rng = np.random.default_rng([seed, *name.encode()])
    X = rng.uniform(-1, 1, (RECORDS, ATTRIBUTES))
    label = RULES[name](X, rng) ^ (rng.random(RECORDS) < FLIPPED)
    table = pd.DataFrame(X, columns=list(DOMAIN.names))
    y = pd.Series(np.where(label, "yes", "no"), name="label")
    cut = int(0.7 * RECORDS)
    return Dataset(name, (table[:cut], y[:cut]), (table[cut:], y[cut:]), DOMAIN)
