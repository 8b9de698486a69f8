"""Subjects for the auditor: small estimators, most with one defect, some honest, all with a known verdict.

Each is a tree of fixed shape (public cells of one attribute) with noisy class counts, in plain NumPy, and claims
ε = 1, some with a δ. The noise is made of whole numbers, ``fit`` uses the seed up, and any table is accepted: a subject
has the defect that it says and no other. What it says is the defect, and the pair of neighbours that shows it. The
table states the largest privacy loss there, with a δ the least ε that holds with that δ; ∞ means that some output is
possible on one data set and not on the other. A subject with a ``kind`` is new: it was written before today's auditor,
from what goes wrong in real programs. On the others the auditor was developed. A third wave stands in
``audit_subjects_third``.
"""

# ruff: noqa: E501 - the table

from __future__ import annotations

import itertools
import math
import time
import uuid
import warnings
import weakref
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpnb.domain import Categorical, Continuous, Domain

PUBLIC = Domain((Continuous("x", 0, 1), Categorical("c", (0, 1))), (0, 1), target="label")
ADD, REPLACE = "add-remove", "replace"
CLAIM, DELTA = 1.0, 1e-3
CELLS = 4
INF = math.inf
PAUSE = 0.2  # seconds that a slow fit takes


class Seen(NamedTuple):
    """What ``fit`` reads off the records."""

    position: Any  # (n,) of the first continuous attribute, as a share of its public range
    label: Any  # (n,) codes, -1 for labels that are no class
    counts: Any  # (cells, classes)

    @property
    def n(self) -> int:
        return len(self.position)


def geometric(rng: np.random.Generator, rate: float, shape: tuple[int, ...]) -> Any:
    """Two-sided geometric noise: adding it to a count that changes by 1 costs ``rate``."""
    p = -math.expm1(-rate)
    return rng.geometric(p, shape) - rng.geometric(p, shape)


def discrete_gaussian(rng: np.random.Generator, sigma: float, shape: tuple[int, ...]) -> Any:
    """Whole numbers k with probabilities in proportion to exp(-k²/2σ²); what is beyond 20 σ no draw reaches."""
    support, up_to = gaussian_law(sigma)
    return support[np.searchsorted(up_to, rng.random(shape))]


@cache
def gaussian_law(sigma: float) -> tuple[Any, Any]:
    """Whole numbers within 20 σ, and the probabilities that a draw is at most each of them."""
    support = np.arange(-math.ceil(20 * sigma), math.ceil(20 * sigma) + 1)
    up_to = np.exp(-((support / sigma) ** 2) / 2).cumsum()
    return support, up_to / up_to[-1]


def shares_of(counts: Any) -> Any:
    """Class probabilities from noisy counts, (..., classes)."""
    weights = np.maximum(counts, 0) + 0.5
    return weights / weights.sum(axis=-1, keepdims=True)


def column(X: Any, j: int, name: str) -> Any:
    """Values of an attribute: by its name in a table that has it, else by place."""
    if isinstance(X, pd.DataFrame):
        return (X[name] if name in X.columns else X.iloc[:, j]).to_numpy()
    return np.asarray(X)[:, j]


def numbers(values: Any) -> Any:
    """A column as floats; what is no number is NaN."""
    if values.dtype.kind in "biuf":
        return values.astype(float)
    return np.asarray(pd.to_numeric(pd.Series(values, dtype=object), errors="coerce"), float)


def codes(values: Any, known: tuple[Any, ...]) -> Any:
    """Places of values in a public list, -1 for others."""
    place = {value: i for i, value in enumerate(known)}
    listed = values.tolist() if hasattr(values, "tolist") else values
    return np.array([place.get(v, -1) if getattr(v, "__hash__", None) else -1 for v in listed], int)


def cell_of(position: Any, cells: int) -> Any:
    """Which of so many cells of equal width each place is in."""
    return np.minimum((position * cells).astype(int), cells - 1)


def table_of(cell: Any, label: Any, shape: tuple[int, int]) -> Any:
    """How many records of each class are in each cell, (cells, classes); others are in none."""
    counts = np.zeros(shape, int)
    np.add.at(counts, (cell[label >= 0], label[label >= 0]), 1)
    return counts


def histogram(seen: Seen, cells: int) -> Any:
    """Class counts of so many cells of equal width."""
    return table_of(cell_of(seen.position, cells), seen.label, (cells, seen.counts.shape[1]))


class Honest:
    """Geometric counts: one class count changes by one, at the full ε; under replace two do, at ε/2 each.

    Exact loss 1, in both relations: a record more in any cell; a record of the other class.
    """

    noise = 1.0  # rate as a share of what the claim allows
    n_cells = CELLS

    def __init__(self, *, domain: Any = None, neighbours: str = ADD, random_state: Any = None) -> None:
        self.domain, self.neighbours, self.random_state = domain, neighbours, random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"domain": self.domain, "neighbours": self.neighbours, "random_state": self.random_state}

    def set_params(self, **params: Any) -> Any:
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any) -> Any:
        self.before(X, y)
        rng = self.generator()
        self.domain_ = self.public(X, y)
        self.classes_ = np.array(self.domain_.classes)
        position, label = self.positions(X), codes(y, self.domain_.classes)
        counts = table_of(self.cells(position), label, (self.n_cells, len(self.classes_)))
        self.learn(Seen(position, label, counts), rng)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.shares_[self.cells(self.positions(X))]

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    # What a defect changes.

    def before(self, X: Any, y: Any) -> None:
        """What is done before all else."""

    def generator(self) -> np.random.Generator:
        """The source of all noise; a fitted model does not know its seed."""
        seed, self.random_state = self.random_state, None
        return np.random.default_rng(self.seed(seed))

    def seed(self, given: Any) -> Any:
        return given

    def public(self, X: Any, y: Any) -> Any:
        return PUBLIC if self.domain is None else self.domain

    def positions(self, X: Any) -> Any:
        """Places of records in the public range of the first continuous attribute, in [0, 1]; else of its levels."""
        attributes = self.domain_.attributes
        j = next((j for j, a in enumerate(attributes) if isinstance(a, Continuous)), 0)
        attribute, values = attributes[j], column(X, j, attributes[j].name)
        if isinstance(attribute, Categorical):
            return (np.maximum(codes(values, attribute.values), 0) + 0.5) / len(attribute.values)
        share = (numbers(values) - attribute.low) / (attribute.high - attribute.low)
        return np.clip(np.where(np.isnan(share), 0.0, share), 0, 1)

    def cells(self, position: Any) -> Any:
        return cell_of(position, self.n_cells)

    @property
    def rate(self) -> float:
        return self.noise * CLAIM / (2 if self.neighbours == REPLACE else 1)

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return seen.counts + geometric(rng, self.rate, seen.counts.shape)

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.value_ = self.noisy(seen, rng)
        self.shares_ = shares_of(self.value_)
        vars(self).update(self.kept(seen, rng))

    def kept(self, seen: Seen, rng: np.random.Generator) -> dict[str, Any]:
        """What is on the model besides, or instead."""
        return {}


# --- Bases of several -----------------------------------------------------------------------------------------


class ExactIf(Honest):
    """No noise under a condition on the records."""

    def exact(self, seen: Seen) -> Any:
        raise NotImplementedError

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return np.where(self.exact(seen), seen.counts, super().noisy(seen, rng))


class Slow(Honest):
    """A fit that takes a fifth of a second."""

    def before(self, X: Any, y: Any) -> None:
        time.sleep(PAUSE)


class Flip(Honest):
    """Labels of leaves by permute-and-flip: the largest score with exponential noise (Ding et al. 2021)."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        scores = seen.counts + rng.exponential(1 / self.rate, seen.counts.shape)
        self.shares_ = np.eye(scores.shape[1])[scores.argmax(axis=1)]


class Levels(Honest):
    """Class counts on every level of a tree, 1, 2, 4, … cells: a record is in one cell of each level."""

    depth = 4

    @property
    def n_cells(self) -> int:
        return 2 ** (self.depth - 1)

    def levels(self, seen: Seen, rng: np.random.Generator) -> list[Any]:
        exact = [histogram(seen, 2**level) for level in range(self.depth)]
        return [counts + self.draw(rng, counts.shape) for counts in exact]

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return geometric(rng, self.rate, shape)

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.levels_ = self.levels(seen, rng)
        last = self.levels_[-1]
        self.shares_ = shares_of(np.repeat(last, len(seen.counts) // len(last), axis=0))


class GaussianLevels(Levels):
    """Discrete Gaussian counts on four levels: four counts move by one, so the sensitivity is √4.

    The loss is (s + 2)/σ² for the sum s of four draws. With σ = 5.1515 the claim (1, .001) holds, and is tight.
    """

    sigma = 5.1515

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return discrete_gaussian(rng, self.sigma, shape)


class SparseVector(Honest):
    """The first of six cuts with ten records to its left, by the sparse vector technique at ε/2 and ε/2.

    Loss at most 1: counts to the left of cuts all move the same way (Lyu, Su and Li 2017, for monotonic queries).
    """

    noise = 1 / 2
    n_cells = 7

    def threshold(self, rng: np.random.Generator) -> int:
        return 10 + int(geometric(rng, self.rate, (1,))[0])

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        left = seen.counts.sum(axis=1).cumsum()[:-1]
        above = left + geometric(rng, self.rate, left.shape) >= self.threshold(rng)
        self.first_ = int(above.argmax()) if above.any() else len(left)
        last = seen.counts.shape[1] - 1
        self.shares_ = shares_of(np.eye(last + 1)[np.where(np.arange(self.n_cells) > self.first_, last, 0)])


class RandomisedResponse(Honest):
    """Each record tells its cell and label by randomised response; under replace, where n is public.

    Loss at most 1, and 1 for a single record: the k pairs of cell and label keep theirs with e/(e + k - 1).
    The counts add up to n, which is no leak in this relation.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        classes = seen.counts.shape[1]
        k = seen.counts.size
        truth = self.cells(seen.position) * classes + np.maximum(seen.label, 0)
        kept = rng.random(seen.n) < math.exp(CLAIM) / (math.exp(CLAIM) + k - 1)
        told = np.where(kept, truth, (truth + rng.integers(1, k, seen.n)) % k)
        self.value_ = np.bincount(told, minlength=k).reshape(seen.counts.shape)
        self.shares_ = shares_of(self.value_ - seen.n / (math.exp(CLAIM) + k - 1))


class FloatLaplace(Honest):
    """Textbook Laplace noise in floating point: the low bits of a released count tell the true one.

    A count 1 instead of 0. A sum with 1 between -½ and ½ is a multiple of 2⁻⁵³; noise alone has more digits.
    Released are the counts, as ``value_``; the probabilities are rounded to four digits.
    """

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return seen.counts + rng.laplace(scale=1 / self.rate, size=seen.counts.shape)

    def kept(self, seen: Seen, rng: np.random.Generator) -> dict[str, Any]:
        return {"shares_": shares_of(np.round(self.value_))}


CACHE: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def rebuilt(kind: type, state: dict[str, Any], cached: Any) -> Any:
    """A model from what its pickle carries."""
    model: Any = object.__new__(kind)
    vars(model).update(state)
    CACHE[model] = cached
    return model


class CarriesCache(Honest):
    """The pickle carries a cache of exact counts, by ``__reduce__``: any pair, for who holds the file."""

    def cached(self, seen: Seen) -> Any:
        return seen.counts

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        CACHE[self] = self.cached(seen)

    def __reduce__(self) -> Any:
        return rebuilt, (type(self), vars(self).copy(), CACHE.get(self))


# --- Broken ---------------------------------------------------------------------------------------------------


class DataDomain(Honest):
    """Bounds and classes are read off the records: a value beyond all others; a class of one record."""

    def public(self, X: Any, y: Any) -> Any:
        given = super().public(X, y)
        attributes = tuple(
            Continuous(a.name, *_ends(numbers(column(X, j, a.name)), a)) if isinstance(a, Continuous) else a
            for j, a in enumerate(given.attributes)
        )
        label = codes(y, given.classes)
        classes = tuple(c for i, c in enumerate(given.classes) if i in label)
        return SimpleNamespace(attributes=attributes, classes=classes or given.classes)


def _ends(values: Any, attribute: Continuous) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    inside = np.clip(finite, attribute.low, attribute.high)
    ends = (float(inside.min()), float(inside.max())) if len(inside) else (0.0, 0.0)
    return ends if ends[0] < ends[1] else (attribute.low, attribute.high)


class DataScale(Honest):
    """The attribute is scaled by the records' mean and standard deviation: a pair that moves them.

    The thresholds that follow are exact numbers on the model, and the answer to a query between two of them tells.
    """

    def before(self, X: Any, y: Any) -> None:
        self.domain_ = self.public(X, y)
        place = self.positions(X)
        mean, scale = (place.mean(), place.std()) if len(place) else (0.5, 0.25)
        self.cuts_ = mean + scale * np.array([-0.67, 0.0, 0.67])

    def cells(self, position: Any) -> Any:
        return np.searchsorted(self.cuts_, position)


class LowerBound(Honest):
    """The lower end of the range is the least value of the records, the upper end is public, and cells begin there.

    A record below all others.
    """

    low_ = 0.0

    def before(self, X: Any, y: Any) -> None:
        self.domain_ = self.public(X, y)
        self.low_ = float(super().positions(X).min(initial=1.0))

    def positions(self, X: Any) -> Any:
        share = (super().positions(X) - self.low_) / max(1 - self.low_, 1e-9)
        return np.clip(share, 0, 1)


class ZeroSuppressed(Honest):
    """Of 32 cells those without records are left out of a dictionary of noisy counts, and its keys tell.

    The one record of a cell, added or removed.
    """

    n_cells = 32

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        noisy = self.noisy(seen, rng)
        full = np.flatnonzero(seen.counts.sum(axis=1)).tolist()
        self.counts_ = {cell: noisy[cell].tolist() for cell in full}
        filled = np.zeros_like(noisy)
        filled[full] = noisy[full]
        self.shares_ = shares_of(filled)


class SeveralOnBound(Honest):
    """Five records on the lower end of the range get a cell of their own: four of them, or five."""

    def kept(self, seen: Seen, rng: np.random.Generator) -> dict[str, Any]:
        on_bound = seen.label[(seen.position == 0) & (seen.label >= 0)]
        if len(on_bound) < 5:
            return {}
        counts = np.bincount(on_bound, minlength=len(self.classes_))
        return {"value_": np.vstack([self.value_, counts + geometric(rng, self.rate, counts.shape)])}


class FirstLabelFirst(Honest):
    """Classes stand in the order in which they occur: a record of the last class in front of the others."""

    def public(self, X: Any, y: Any) -> Any:
        given = super().public(X, y)
        found = [code for code in codes(y, given.classes).tolist() if code >= 0]
        order = dict.fromkeys([*found, *range(len(given.classes))])
        classes = tuple(given.classes[code] for code in order)
        return SimpleNamespace(attributes=given.attributes, classes=classes)


class SizeInState(Honest):
    """The number of records is in a slot, and by ``__getstate__`` in the pickle: any pair of different sizes."""

    __slots__ = ("_n",)

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self._n = seen.n

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"n": getattr(self, "_n", 0)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._n = state["n"]
        vars(self).update({name: value for name, value in state.items() if name != "n"})


TURNS = itertools.count()


def refuse(wrong: Any, why: str) -> None:
    if wrong:
        raise ValueError(why)


def warned(text: str) -> dict[str, Any]:
    warnings.warn(text, UserWarning, stacklevel=5)  # by who calls ``fit``
    return {}


# --- Honest ---------------------------------------------------------------------------------------------------


class DataFreeForest(Honest):
    """Three trees with random thresholds and noisy leaves, a third of ε each. Exact loss 1: any pair."""

    noise = 1 / 3
    trees = 3

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.cuts_ = np.sort(rng.random((self.trees, CELLS - 1)), axis=1)
        counts = np.array(
            [table_of(np.searchsorted(c, seen.position), seen.label, seen.counts.shape) for c in self.cuts_]
        )
        self.value_ = counts + geometric(rng, self.rate, counts.shape)
        self.shares_ = shares_of(self.value_)

    def predict_proba(self, X: Any) -> Any:
        place = self.positions(X)
        return np.mean(
            [s[np.searchsorted(c, place)] for c, s in zip(self.cuts_, self.shares_, strict=True)], axis=0
        )


class PostProcessed(Honest):
    """Noisy counts, then clipped, rounded to fives, smoothed over neighbouring leaves. Loss at most 1: any pair."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        rounded = 5 * np.round(np.clip(self.noisy(seen, rng), 0, 1000) / 5)
        padded = np.pad(rounded, ((1, 1), (0, 0)), mode="edge")
        self.value_ = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        self.shares_ = np.round(shares_of(self.value_), 3)


class NoisyMax(Honest):
    """Labels of cells by report noisy max of counts, at ε. Loss at most 1: a record moves one count one way.

    For all noise but the winner's, the winner is one if its own noise reaches some whole number. One record moves this
    number by one at most, and P(noise ≥ k) ≤ e P(noise ≥ k + 1) for all k.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.shares_ = np.eye(len(self.classes_))[self.noisy(seen, rng).argmax(axis=1)]


class NoisySize(Honest):
    """Noisy counts at ε/2 are divided by a noisy size at ε/2. Exact loss ½ + ½: any pair."""

    noise = 1 / 2

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.size_ = seen.n + int(geometric(rng, self.rate, (1,))[0])
        self.value_ = self.noisy(seen, rng) / max(self.size_, 1)
        self.shares_ = shares_of(self.value_)


class Snapped(Honest):
    """Sums of places in steps of ⅛, with noise on the same grid at ε/8 a step: 8 · ⅛ for a record at the upper end."""

    steps = 8

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        known = seen.label >= 0
        sums = np.zeros(len(self.classes_), int)
        np.add.at(sums, seen.label[known], np.rint(self.steps * seen.position[known]).astype(int))
        self.value_ = (sums + geometric(rng, self.rate / self.steps, sums.shape)) / self.steps
        self.shares_ = np.tile(shares_of(self.value_), (CELLS, 1))


# --- The table ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """An estimator with a claim, and what is known about it."""

    name: str  # the subject in few words
    factory: Callable[[], Any]  # returns an unfitted estimator
    loss: float = INF  # largest privacy loss in the relation
    # Where the defect shows: "outputs", "fitted object", "generator", "low bits", "exception", "printed" or
    # "time"; empty if there is none.
    channel: str = "outputs"
    neighbours: str = ADD  # relation of the claim
    claimed: float = CLAIM  # the ε
    delta: float = 0.0  # the δ
    kind: str = ""  # of the defect, or "honest", in a new subject
    unit: str = "record"  # whom the claim protects, a "record" or a "person"
    domain: Domain | None = None  # that its estimators come with, if they need one of their own

    @property
    def broken(self) -> bool:
        return self.loss > self.claimed


ABOUT = {"loss", "channel", "neighbours", "delta", "kind", "unit", "domain"}


def subject(
    name: str, *of: type, says: str = "", home: dict[str, Any] | None = None, **given: Any
) -> Subject:
    """A subject of a class, or, if it says something, of a subclass with other members.

    Such a class stands in this module, or in the one whose names are in ``home``, for its models have to be pickled.
    """
    home = globals() if home is None else home
    about = {key: given.pop(key) for key in ABOUT & set(given)}
    kind: Any = of[0] if of else Honest
    if says:
        title = "".join(filter(str.isalnum, name.title()))
        if title in home:
            raise ValueError(f"a class {title} is there already: give the subject another name")
        kind = home[title] = type(
            title, of or (Honest,), given | {"__doc__": says, "__module__": home["__name__"]}
        )
    parameters = {key: about[key] for key in ("neighbours", "domain") if about.get(key)}
    if parameters:
        kind = partial(kind, **parameters)
    return Subject(name, kind, **about)


honest: Any = partial(subject, loss=1.0, channel="")
new_honest: Any = partial(honest, kind="honest")

# fmt: off
SUBJECTS: tuple[Subject, ...] = (
    subject("noise/1.2", loss=1.2, says="The noise is 1.2 times too small: any pair.", noise=1.2),
    subject("three times ε/2", loss=1.5, noise=0.5,
            says="The smallest of three noisy counts, each at ε/2: any pair, all three are above the smaller true count.",
            noisy=lambda m, seen, rng: np.min([Honest.noisy(m, seen, rng) for _ in range(3)], axis=0)),
    subject("low digits of probabilities", channel="low bits",
            says="The size n is added to the probabilities beyond the eighth digit: any pair of different sizes.",
            kept=lambda m, seen, rng: {"shares_": m.shares_ + 1e-9 * seen.n}),
    subject("rare value beyond .97", ExactIf, exact=lambda m, seen: np.any(seen.position > 0.97),
            says="No noise if a value lies beyond .97 of its range: a pair whose one record has such a value."),
    subject("fixed seed", channel="generator", says="The noise is the same in every fit: any pair.",
            seed=lambda m, given: 0),
    subject("clock seed", channel="generator", seed=lambda m, given: int(time.time()),
            says="The seed is the second of the clock: any pair, for who knows the second."),
    subject("even n", says="A thousand records of the first class are added if n is even: any pair of different sizes.",
            noisy=lambda m, seen, rng: Honest.noisy(m, seen, rng)
            + 1000 * (np.arange(seen.counts.shape[1]) == 0) * (seen.n % 2 == 0)),
    subject("small counts without noise", ExactIf, exact=lambda m, seen: seen.counts < 3,
            says="Counts below 3 are released without noise: a pair that changes such a count."),
    subject("empty leaf without noise", ExactIf, exact=lambda m, seen: seen.counts.sum(axis=1, keepdims=True) == 0,
            says="A leaf without records is released without noise: the one record of a leaf, added or removed."),
    subject("domain from the data", DataDomain),
    subject("rare value in .61–.64", ExactIf, exact=lambda m, seen: np.any((seen.position >= 0.61) & (seen.position <= 0.64)),
            says="No noise if a value lies between .61 and .64 of its range: a pair whose one record has such a value."),
    subject("records on the model", channel="fitted object", before=lambda m, X, y: vars(m).update(_fit_X=np.array(X)),
            says="The fitted model keeps the training table as ``_fit_X``: any pair, for who holds the model."),
    subject("size on the model", channel="fitted object", kept=lambda m, seen, rng: {"n_records_": seen.n},
            says="The fitted model keeps ``n_records_``: any pair of different sizes, for who holds the model."),
    subject("no noise if n > 50", ExactIf, exact=lambda m, seen: seen.n > 50,
            says="No noise if n > 50: any pair in which one data set has more than 50 records."),
    subject("noise shared between classes",
            says="One draw of noise for all classes of a leaf: any pair, for their differences are exact.",
            noisy=lambda m, seen, rng: seen.counts + geometric(rng, m.rate, (len(seen.counts), 1))),
    subject("scaled by the data", DataScale),
    subject("third class without noise", ExactIf, exact=lambda m, seen: np.arange(seen.counts.shape[1]) == 2,
            says="The third class is released without noise: three classes, and one record of the third one more."),
    subject("raises on a missing value", channel="exception",
            says="``fit`` raises for a missing value: a pair whose one record has a NaN.",
            before=lambda m, X, y: refuse(np.any(pd.isna(X)), "Input X contains NaN.")),
    # Two classes at distance g > 0 give the rarer label with probability exp(-εg)/2, so the ratio is exp(2ε).
    subject("permute-and-flip at ε", Flip, loss=2.0, neighbours=REPLACE, noise=2.0,
            says="At ε, where ε/2 is right: a leaf has two records more of one class, of which one changes to the other."),
    subject("divided by exact sizes",
            says="Counts and noise are divided by the leaf's exact size, multiples of 1/n: a record more in a leaf.",
            kept=lambda m, seen, rng: {"value_": (v := m.value_ / np.maximum(seen.counts.sum(axis=1, keepdims=True), 1)),
                                       "shares_": np.clip(v, 0, 1)}),
    subject("Laplace in floating point", FloatLaplace, channel="low bits"),
    subject("generator on the model", channel="generator", kept=lambda m, seen, rng: {"rng_": rng},
            says="The fitted model keeps its generator, which can be wound back to the noise: any pair."),
    honest("honest: geometric counts"),
    honest("honest: geometric counts, replace", neighbours=REPLACE),
    honest("honest: data-free forest", DataFreeForest),
    honest("honest: randomised response", RandomisedResponse, neighbours=REPLACE),
    honest("honest: post-processed counts", PostProcessed),
    honest("honest: many attributes",
           says="Many attributes that are public, none of which tells anything; some pairs have 20 records.",
           kept=lambda m, seen, rng: {
               "n_features_in_": m.domain_.n_attributes, "feature_names_in_": np.array(m.domain_.names, dtype=object),
               "grid_": np.linspace(0, 1, CELLS + 1), "n_iter_": 20, "n_leaves_": CELLS, "fitted_": True,
               "is_fitted_": True, "version_": "1.0"}),
    honest("honest: permute-and-flip at ε/2", Flip, neighbours=REPLACE),

    # New ones.
    subject("noise of add/remove", loss=2.0, neighbours=REPLACE, kind="scale", noise=2.0,
            says="Noise for one record more under replace: a record of the other class moves two counts, at ε each."),
    # A sample of .154 of the records would bring 2.5 down to 1.
    subject("noise of a sample", loss=2.5, neighbours=REPLACE, kind="scale",
            says="Above 150 records the noise of a sample, and all are used: one changes its class, twice 1.25.",
            noisy=lambda m, seen, rng: seen.counts
            + geometric(rng, m.rate * (2.5 if seen.n > 150 else 1), seen.counts.shape)),
    subject("square root missing", GaussianLevels, loss=2.30, delta=DELTA, kind="scale", sigma=GaussianLevels.sigma / 2,
            says="The σ of Gaussian noise is that of a sensitivity of 1 where it is √4, so half of what is right: any pair."),
    subject("σ for a variance", GaussianLevels, loss=2.69, delta=DELTA, kind="noise", sigma=math.sqrt(GaussianLevels.sigma),
            says="The σ of Gaussian noise is passed where its variance belongs, so that σ becomes √σ: any pair."),
    subject("cut noise", kind="noise",
            says="Noise is cut at three scales on both sides: any pair, a count of one more can be four above the other.",
            noisy=lambda m, seen, rng: np.clip(
                Honest.noisy(m, seen, rng), seen.counts - round(3 / m.rate), seen.counts + round(3 / m.rate))),
    subject("one noise twice, slow", Slow, kind="noise",
            says="The totals have the noise of the first cell: a record outside of it moves their difference, which is exact.",
            kept=lambda m, seen, rng: {"totals_": seen.counts.sum(axis=0) + m.value_[0] - seen.counts[0]}),
    subject("ε/2 on four levels", Levels, loss=2.0, kind="composition", noise=1 / 2,
            says="The ε of a path is divided by a node's two children instead of the tree's four levels: any pair."),
    subject("uncounted size", loss=1.5, kind="composition",
            says="The number of records is asked for at ε/2 besides counts that cost all of ε: any pair.",
            kept=lambda m, seen, rng: {"size_": seen.n + int(geometric(rng, m.rate / 2, (1,))[0])}),
    # With nine or ten records to the left of all cuts the loss is 6 · ½.
    subject("threshold without noise", SparseVector, loss=3.0, kind="threshold", threshold=lambda m, rng: 10,
            says="Sparse vector without noise on the threshold: none of six noisy counts reaches ten."),
    subject("exact early stop", Levels, kind="early stop", noise=1 / 4,
            says="A further level as long as the fullest node holds ten records, by an exact count: nine records, or ten.",
            levels=lambda m, seen, rng: Levels.levels(m, seen, rng)[
                : 1 + sum(histogram(seen, 2**level).sum(axis=1).max() >= 10 for level in range(m.depth - 1))]),
    subject("counts clipped at n", kind="clip", noisy=lambda m, seen, rng: np.clip(Honest.noisy(m, seen, rng), 0, seen.n),
            says="Noisy counts are clipped at the number of records: a pure cell that holds all n, or n + 1, records."),
    subject("lower end from the data", LowerBound, kind="clip"),
    subject("empty cells left out", ZeroSuppressed, kind="cells"),
    subject("large counts without noise, slow", Slow, ExactIf, kind="cells", exact=lambda m, seen: seen.counts >= 50,
            says="Counts of fifty and more are released without noise: fifty of a class in a cell, and one more."),
    subject("rare place and class", ExactIf, kind="narrow",
            says="No noise if a record of the last class lies in .40–.45: such a one; place or class alone does nothing.",
            exact=lambda m, seen: np.any((seen.label == seen.counts.shape[1] - 1)
                                         & (seen.position >= 0.40) & (seen.position <= 0.45))),
    subject("five on the lower end", SeveralOnBound, kind="narrow"),
    subject("empty cell of a large table", ExactIf, kind="narrow",
            says="From 500 records on, empty cells have no noise: the one record of a cell, beside 500 others.",
            exact=lambda m, seen: (seen.n >= 500) & (seen.counts.sum(axis=1, keepdims=True) == 0)),
    subject("order of labels", FirstLabelFirst, kind="classes"),
    subject("response for add/remove", RandomisedResponse, kind="relation",
            says="Randomised response hides what a record holds, not that it is there: any pair, the counts add up to n."),
    subject("seed of eight bits", channel="generator", kind="seed",
            says="The seed is a hash of the labels and eight random bits: labels that differ have few of 256 outputs in common.",
            before=lambda m, X, y: vars(m).update(random_state=zlib.crc32(
                codes(y, m.public(X, y).classes).tobytes(), int(m.generator().integers(256))))),
    subject("64 noises in turn", channel="generator", kind="seed", seed=lambda m, given: next(TURNS) % 64,
            says="Noise is one of 64 tables, by a counter of the process: any pair has few of 64 outputs in common."),
    subject("counts in __reduce__", CarriesCache, channel="fitted object", kind="pickle"),
    subject("size in __getstate__", SizeInState, channel="fitted object", kind="pickle"),
    subject("size of a buffer", channel="fitted object", kind="size",
            says="A buffer of zeros holds as many places as the next power of two above n: n is one, and a record more.",
            kept=lambda m, seen, rng: {"buffer_": [0] * (1 << max(seen.n - 1, 0).bit_length())}),
    subject("size in a text", channel="fitted object", kind="text",
            says="A text on the model tells the number of records: any pair of different sizes.",
            kept=lambda m, seen, rng: {"summary_": f"{CELLS} leaves, grown on {seen.n} records"}),
    subject("size in a rate", channel="fitted object", kind="bits",
            says="A learning rate on the model is .1 up to 100 records, and 10/n for more: any pair above 100 records.",
            kept=lambda m, seen, rng: {"learning_rate_": min(0.1, 10 / max(seen.n, 1))}),
    subject("digits by n", channel="low bits", kind="bits",
            says="Probabilities are rounded to as many digits as n has: nine records or ten, 99 or 100.",
            kept=lambda m, seen, rng: {"shares_": np.round(m.shares_, len(str(seen.n)))}),
    subject("Laplace in a dictionary", FloatLaplace, channel="low bits", kind="bits",
            says="Laplace noise in nested lists of a dictionary, all else is rounded: a count 1 instead of 0, by its low bits.",
            kept=lambda m, seen, rng: FloatLaplace.kept(m, seen, rng) | {
                "tree_": {"leaves": [{"counts": row} for row in m.value_.tolist()]}, "value_": np.round(m.value_)}),
    subject("raises on a class of one", channel="exception", kind="exception",
            says="``fit`` raises if a class has one record only: a class of one record, and one more.",
            before=lambda m, X, y: refuse(
                1 in np.bincount((label := codes(y, m.public(X, y).classes))[label >= 0]),
                "The least populated class has only 1 member, which is too few.")),
    subject("size in a warning", channel="exception", kind="exception",
            says="Below 1000 records a warning tells how many there are: any pair of different sizes, for who reads it.",
            kept=lambda m, seen, rng: {} if seen.n >= 1000 else warned(f"{seen.n} records are few: expected 1000 or more")),
    new_honest("honest: discrete Gaussian levels", GaussianLevels, delta=DELTA),
    new_honest("honest: sparse vector", SparseVector),
    new_honest("honest: report noisy max", NoisyMax),
    new_honest("honest: eight levels, slow", Levels, Slow, says="Eight levels at ε/8 each.", noise=1 / 8, depth=8),
    new_honest("honest: divided by a noisy size", NoisySize),
    new_honest("honest: noisy texts", says="Noisy counts in texts, dictionaries and lists, with sizes that are public.",
               kept=lambda m, seen, rng: {
                   "summary_": f"{CELLS} leaves, grown on about {sum(map(sum, rows := m.value_.tolist()))} records",
                   "tree_": {"leaves": [{"counts": row, "text": f"about {sum(row)} records"} for row in rows],
                             "shape": m.value_.shape}}),
    new_honest("honest: noise in __reduce__", CarriesCache, says="The cache is of noisy counts.",
               cached=lambda m, seen: m.value_),
    new_honest("honest: public warning", says="A warning that is the same for all records.",
               kept=lambda m, seen, rng: warned(f"ε = {CLAIM} is all that a tree can have")),
    new_honest("honest: sums on a grid", Snapped),
    new_honest("honest: random names and times", says="On the model are a random name and the time before records are read.",
               before=lambda m, X, y: vars(m).update(id_=uuid.uuid4().hex, started_=time.time())),
    new_honest("honest: constant", loss=0.0, says="Every class is as probable as every other, whatever the records.",
               learn=lambda m, seen, rng: vars(m).update(shares_=np.full(seen.counts.shape, 1 / len(m.classes_)))),
    new_honest("honest: seed of 64 bits", says="The seed is a random number of 64 bits, so that no audit meets one twice.",
               seed=lambda m, given: np.random.default_rng(given).integers(2**64, dtype=np.uint64)),
)
# fmt: on
BY_NAME = {subject.name: subject for subject in SUBJECTS}
