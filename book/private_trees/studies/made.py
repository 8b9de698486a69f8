"""Data sets made by rules in which attributes matter together, or at narrow peaks: much of it no stump shows.

Most have eight attributes, of which a rule reads two or three. Two have more structure than two or three attributes
show: classes of boxes, and classes of the nearest of 40 prototypes in attributes that go together. They are public:
settings may be chosen on them. One more, ``VISITS``, has people who come more often the more ill they are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from dpnb.arrays import Bools, Floats, Ints
from dpnb.data.datasets import Dataset
from dpnb.domain import Continuous, Domain

RECORDS = 30_000
ATTRIBUTES = 8
FLIPPED = 0.1  # share of the labels that are turned over


def _domain(attributes: int, *classes: str) -> Domain:
    return Domain(tuple(Continuous(f"x{a}", -1.0, 1.0) for a in range(attributes)), classes, "label")


DOMAIN = _domain(ATTRIBUTES, "no", "yes")
DOMAINS = {"made-boxes": _domain(ATTRIBUTES, *"pqrstu"), "made-prototypes": _domain(14, *"pqrs")}


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


def _boxes(X: Floats, rng: np.random.Generator) -> Ints:
    """Six classes: of the first of twelve boxes in three attributes that a record is in, or the first class."""
    label = np.zeros(len(X), np.intp)
    for box in reversed(range(12)):
        middle, which = rng.uniform(-0.6, 0.6, 3), rng.choice(5, 3, replace=False)
        label[(np.abs(X[:, which] - middle) < 0.5).all(axis=1)] = box % 6
    return label


def _prototypes(X: Floats, rng: np.random.Generator) -> Ints:
    """Four classes: that of the nearest of 40 records; attributes follow from five hidden numbers and noise."""
    hidden = rng.normal(size=(len(X), 5)) @ rng.normal(size=(5, X.shape[1]))
    X[:] = np.tanh((hidden + 0.5 * rng.normal(size=X.shape)) / 3)
    near, own = X[rng.choice(len(X), 40, replace=False)], rng.integers(4, size=40)
    apart = (X**2).sum(axis=1)[:, None] - 2 * X @ near.T + (near**2).sum(axis=1)
    label: Ints = own[apart.argmin(axis=1)]
    return label


RULES: dict[str, Callable[[Floats, np.random.Generator], Bools | Ints]] = {
    "made-parity": _parity,
    "made-ball": _ball,
    "made-xor": _xor,
    "made-peaks": _peaks,
    "made-boxes": _boxes,
    "made-prototypes": _prototypes,
}
MADE = tuple(RULES)
DEEP = MADE[:3]  # those in which attributes matter together


def made(name: str, seed: int) -> Dataset:
    """A set of a rule, drawn anew for each seed; 70 % are for training."""
    rng = np.random.default_rng([seed, *name.encode()])
    domain = DOMAINS.get(name, DOMAIN)
    X, classes = rng.uniform(-1, 1, (RECORDS, domain.n_attributes)), domain.n_classes
    label = RULES[name](X, rng).astype(int)
    flipped = rng.random(RECORDS) < FLIPPED
    label = (label + flipped * (rng.integers(1, classes, RECORDS) if classes > 2 else 1)) % classes
    table = pd.DataFrame(X, columns=list(domain.names))
    y = pd.Series(np.array(domain.classes)[label], name="label")
    cut = int(0.7 * RECORDS)
    return Dataset(name, (table[:cut], y[:cut]), (table[cut:], y[cut:]), domain)


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
