"""Data sets made by rules in which attributes matter together, or at narrow peaks: much of it no stump shows.

Each has eight attributes, of which a rule reads two or three. They are public:
settings may be chosen on them. One more, ``VISITS``, has people who come more often the more ill they are.
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


# --- People ---------------------------------------------------------------------------------------------------

VISITS = "made-visits"
PEOPLE = 20_000
MOST_VISITS = 50  # of a person, which is public


def made_visits(seed: int) -> Dataset:
    """Visits of people, each of whom has 1 to 50; 70 % of the people are for training.

    Four attributes are the person's, and four the visit's. Who is more ill comes more often, and more often comes
    back: the mean over visits is not the mean over people.
    """
    rng = np.random.default_rng([seed, *VISITS.encode()])
    ill, trait = rng.normal(size=PEOPLE), rng.uniform(-1, 1, (PEOPLE, 3))
    often = np.ceil(np.exp(0.9 * ill + 0.9 * rng.normal(size=PEOPLE))).clip(1, MOST_VISITS).astype(int)
    shown = np.tanh(ill + 0.5 * rng.normal(size=PEOPLE))
    who = np.repeat(np.arange(PEOPLE), often)
    X = np.column_stack([shown, trait])[who]
    X = np.column_stack([X, rng.uniform(-1, 1, (len(who), 4))])
    comes_back = ill[who] + 1.5 * X[:, 1] * X[:, 4] + np.abs(X[:, 5]) - 1 + rng.logistic(size=len(who))
    table = pd.DataFrame(X, columns=list(DOMAIN.names))
    y = pd.Series(np.where(comes_back > 0, "yes", "no"), name="label")
    train = (rng.random(PEOPLE) < 0.7)[who]
    people = pd.Series(who)
    parts = [(table[rows], y[rows], people[rows]) for rows in (train, ~train)]
    (X_train, y_train, of_train), (X_test, y_test, of_test) = parts
    return Dataset(VISITS, (X_train, y_train), (X_test, y_test), DOMAIN, (of_train, of_test))
