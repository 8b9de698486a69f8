"""Subjects for the auditor: small estimators, most with one defect, some honest, all with a known verdict.

Each is a tree of fixed shape (public cells of one attribute) with noisy class counts, in plain NumPy, and claims
ε = 1. The noise is made of whole numbers, ``fit`` uses the seed up, and any table is accepted: a subject has the defect
that it says and no other. A docstring states the defect, the pair of neighbours that shows it, and the largest privacy
loss there; ∞ means that some output is possible on one data set and not on the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpnb.domain import Categorical, Continuous, Domain

PUBLIC = Domain((Continuous("x", 0, 1), Categorical("c", (0, 1))), (0, 1), target="label")
ADD, REPLACE = "add-remove", "replace"
CLAIM = 1.0
CELLS = 4
INF = math.inf


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


class Honest:
    """Geometric counts: one class count changes by one, at the full ε; under replace two do, at ε/2 each.

    Exact loss 1, in both relations: a record more in any cell; a record of the other class.
    """

    noise = 1.0  # rate as a share of what the claim allows

    def __init__(self, *, domain: Any = None, neighbours: str = ADD, random_state: Any = None) -> None:
        self.domain, self.neighbours, self.random_state = domain, neighbours, random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"domain": self.domain, "neighbours": self.neighbours, "random_state": self.random_state}

    def set_params(self, **params: Any) -> Any:
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any) -> Any:
        rng = self.generator()
        self.domain_ = self.public(X, y)
        self.classes_ = np.array(self.domain_.classes)
        position, label = self.positions(X), codes(y, self.domain_.classes)
        counts = np.zeros((self.cells(position[:0], size=True), len(self.classes_)), int)
        known = label >= 0
        np.add.at(counts, (self.cells(position)[known], label[known]), 1)
        self.learn(Seen(position, label, counts), rng)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.shares_[self.cells(self.positions(X))]

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    # What a defect changes.

    def generator(self) -> np.random.Generator:
        """The source of all noise; a fitted model does not know its seed."""
        seed, self.random_state = self.random_state, None
        return np.random.default_rng(seed)

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

    def cells(self, position: Any, *, size: bool = False) -> Any:
        """Cell of each place, or how many cells there are."""
        return CELLS if size else np.minimum((position * CELLS).astype(int), CELLS - 1)

    @property
    def rate(self) -> float:
        return self.noise * CLAIM / (2 if self.neighbours == REPLACE else 1)

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return seen.counts + geometric(rng, self.rate, seen.counts.shape)

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.value_ = self.noisy(seen, rng)
        self.shares_ = shares_of(self.value_)


# --- Broken: outputs ------------------------------------------------------------------------------------------


class LittleNoise(Honest):
    """The noise is 1.2 times too small. Exact loss 1.2: any pair."""

    noise = 1.2


class ThreeTimesHalf(Honest):
    """The smallest of three noisy counts is taken, each at ε/2.

    Exact loss 1.5, any pair: all three are above the smaller true count.
    """

    noise = 0.5

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return np.min([super(ThreeTimesHalf, self).noisy(seen, rng) for _ in range(3)], axis=0)


class LowDigits(Honest):
    """The size n is added to the probabilities beyond the eighth digit. Loss ∞: any pair of different sizes."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.shares_ = self.shares_ + 1e-9 * seen.n


class ExactIf(Honest):
    """No noise under a condition on the records."""

    def exact(self, seen: Seen) -> Any:
        raise NotImplementedError

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return np.where(self.exact(seen), seen.counts, super().noisy(seen, rng))


class RareAtTheEnd(ExactIf):
    """No noise if a value lies beyond .97 of its range. Loss ∞: a pair whose one record has such a value."""

    def exact(self, seen: Seen) -> Any:
        return np.any(seen.position > 0.97)


class RareInside(ExactIf):
    """No noise if a value lies between .61 and .64 of its range. Loss ∞: a pair whose one record has such a value."""

    def exact(self, seen: Seen) -> Any:
        return np.any((seen.position >= 0.61) & (seen.position <= 0.64))


class SmallCounts(ExactIf):
    """Counts below 3 are released without noise. Loss ∞: a pair that changes such a count."""

    def exact(self, seen: Seen) -> Any:
        return seen.counts < 3


class EmptyLeaf(ExactIf):
    """A leaf without records is released without noise. Loss ∞: the one record of a leaf, added or removed."""

    def exact(self, seen: Seen) -> Any:
        return seen.counts.sum(axis=1, keepdims=True) == 0


class ManyRecords(ExactIf):
    """No noise if n > 50. Loss ∞: any pair in which one data set has more than 50 records."""

    def exact(self, seen: Seen) -> Any:
        return seen.n > 50


class ThirdClass(ExactIf):
    """The third class is released without noise. Loss ∞: three classes, and one record of the third one more."""

    def exact(self, seen: Seen) -> Any:
        return np.arange(seen.counts.shape[1]) == 2


class EvenSize(Honest):
    """A thousand records of the first class are added if n is even. Loss ∞: any pair of different sizes."""

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        added = 1000 * (np.arange(seen.counts.shape[1]) == 0) * (seen.n % 2 == 0)
        return super().noisy(seen, rng) + added


class SharedNoise(Honest):
    """One draw of noise for all classes of a leaf: their differences are exact. Loss ∞: any pair."""

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return seen.counts + geometric(rng, self.rate, (len(seen.counts), 1))


class ExactSizes(Honest):
    """Counts and noise are divided by the leaf's exact size: multiples of 1/n. Loss ∞: a record more in a leaf."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        size = np.maximum(seen.counts.sum(axis=1, keepdims=True), 1)
        self.value_ = self.noisy(seen, rng) / size
        self.shares_ = np.clip(self.value_, 0, 1)


class DataDomain(Honest):
    """Bounds and classes are read off the records. Loss ∞: a value beyond all others; a class of one record."""

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
    """The attribute is scaled by the records' mean and standard deviation. Loss ∞: a pair that moves them.

    The thresholds that follow are exact numbers on the model, and the answer to a query between two of them tells.
    """

    def fit(self, X: Any, y: Any) -> Any:
        self.domain_ = self.public(X, y)
        place = self.positions(X)
        mean, scale = (place.mean(), place.std()) if len(place) else (0.5, 0.25)
        self.cuts_ = mean + scale * np.array([-0.67, 0.0, 0.67])
        return super().fit(X, y)

    def cells(self, position: Any, *, size: bool = False) -> Any:
        return CELLS if size else np.searchsorted(self.cuts_, position)


class FlipAtFullRate(Honest):
    """Labels of leaves by permute-and-flip at ε, under replace; ε/2 is right, for two counts move apart by 2.

    Exact loss 2: a leaf has two records more of one class, and one of that class becomes one of the other.
    Two classes at distance g > 0 give the rarer label with probability exp(-εg)/2, so the ratio is exp(2ε).
    """

    noise = 2.0

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        # Permute-and-flip is the largest score with exponential noise (Ding et al. 2021).
        scores = seen.counts + rng.exponential(1 / self.rate, seen.counts.shape)
        self.shares_ = np.eye(scores.shape[1])[scores.argmax(axis=1)]


# --- Broken: the fitted object, generators, low bits, exceptions ----------------------------------------------


class KeepsRecords(Honest):
    """The fitted model keeps the training table as ``_fit_X``. Loss ∞: any pair, for who holds the model."""

    def fit(self, X: Any, y: Any) -> Any:
        self._fit_X = np.array(X)
        return super().fit(X, y)


class KeepsSize(Honest):
    """The fitted model keeps ``n_records_``. Loss ∞: any pair of different sizes, for who holds the model."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.n_records_ = seen.n


class KeepsGenerator(Honest):
    """The fitted model keeps its generator, which can be wound back to the noise. Loss ∞: any pair."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.rng_ = rng


class FixedSeed(Honest):
    """The noise is the same in every fit. Loss ∞: any pair."""

    def generator(self) -> np.random.Generator:
        super().generator()
        return np.random.default_rng(0)


class ClockSeed(Honest):
    """The seed is the second of the clock. Loss ∞, any pair, for who knows the second."""

    def generator(self) -> np.random.Generator:
        super().generator()
        return np.random.default_rng(int(time.time()))


class FloatLaplace(Honest):
    """Textbook Laplace noise in floating point: the low bits of a released count tell the true one.

    Loss ∞: a count 1 instead of 0. A sum with 1 between -½ and ½ is a multiple of 2⁻⁵³; noise alone has more digits.
    Released are the counts, as ``value_``; the probabilities are rounded to four digits.
    """

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return seen.counts + rng.laplace(scale=1 / self.rate, size=seen.counts.shape)

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.shares_ = shares_of(np.round(self.value_))


class RaisesOnMissing(Honest):
    """``fit`` raises for a missing value. Loss ∞: a pair whose one record has a NaN."""

    def fit(self, X: Any, y: Any) -> Any:
        if np.any(pd.isna(X)):
            raise ValueError("Input X contains NaN.")
        return super().fit(X, y)


# --- Honest ---------------------------------------------------------------------------------------------------


class HonestFlip(FlipAtFullRate):
    """Labels of leaves by permute-and-flip at ε/2 under replace. Exact loss 1, where its broken twin has 2."""

    noise = 1.0


class DataFreeForest(Honest):
    """Three trees with random thresholds and noisy leaves, a third of ε each. Exact loss 1: any pair."""

    noise = 1 / 3
    trees = 3

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.cuts_ = np.sort(rng.random((self.trees, CELLS - 1)), axis=1)
        known = seen.label >= 0
        counts = np.zeros((self.trees, *seen.counts.shape), int)
        for cuts, table in zip(self.cuts_, counts, strict=True):
            np.add.at(table, (np.searchsorted(cuts, seen.position[known]), seen.label[known]), 1)
        self.value_ = counts + geometric(rng, self.rate, counts.shape)
        self.shares_ = shares_of(self.value_)

    def predict_proba(self, X: Any) -> Any:
        place = self.positions(X)
        return np.mean(
            [s[np.searchsorted(c, place)] for c, s in zip(self.cuts_, self.shares_, strict=True)], axis=0
        )


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


class PostProcessed(Honest):
    """Noisy counts, then clipped, rounded to fives, smoothed over neighbouring leaves. Loss at most 1: any pair."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        rounded = 5 * np.round(np.clip(self.noisy(seen, rng), 0, 1000) / 5)
        padded = np.pad(rounded, ((1, 1), (0, 0)), mode="edge")
        self.value_ = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        self.shares_ = np.round(shares_of(self.value_), 3)


class ManyAttributes(Honest):
    """Geometric counts on a model with many attributes that are public: none tells anything. Exact loss 1: any pair."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.n_features_in_ = self.domain_.n_attributes
        self.feature_names_in_ = np.array(self.domain_.names, dtype=object)
        self.grid_ = np.linspace(0, 1, CELLS + 1)
        self.n_iter_ = 20  # some pairs have as many records
        self.n_leaves_ = CELLS
        self.fitted_, self.is_fitted_ = True, True
        self.version_ = "1.0"


# --- The table ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """An estimator with a claim, and what is known about it."""

    name: str  # the subject in few words
    factory: Callable[[], Any]  # returns an unfitted estimator
    loss: float  # largest privacy loss in the relation
    # Where the defect shows: "outputs", "fitted object", "generator", "low bits" or "exception"; empty if
    # there is none.
    channel: str = "outputs"
    neighbours: str = ADD  # relation of the claim
    claimed: float = CLAIM  # the ε

    @property
    def broken(self) -> bool:
        return self.loss > self.claimed

    @property
    def defect(self) -> str:
        """The first sentence of the class."""
        kind = self.factory.func if isinstance(self.factory, partial) else self.factory
        return " ".join((kind.__doc__ or "").split()).partition(". ")[0] + "."


SUBJECTS: tuple[Subject, ...] = (
    # The attack's own.
    Subject("noise/1.2", LittleNoise, 1.2),
    Subject("three times ε/2", ThreeTimesHalf, 1.5),
    Subject("low digits of probabilities", LowDigits, INF, "low bits"),
    Subject("rare value beyond .97", RareAtTheEnd, INF),
    Subject("fixed seed", FixedSeed, INF, "generator"),
    Subject("clock seed", ClockSeed, INF, "generator"),
    Subject("even n", EvenSize, INF),
    Subject("small counts without noise", SmallCounts, INF),
    Subject("empty leaf without noise", EmptyLeaf, INF),
    Subject("domain from the data", DataDomain, INF),
    Subject("rare value in .61–.64", RareInside, INF),
    Subject("records on the model", KeepsRecords, INF, "fitted object"),
    Subject("size on the model", KeepsSize, INF, "fitted object"),
    Subject("no noise if n > 50", ManyRecords, INF),
    # More that are broken.
    Subject("noise shared between classes", SharedNoise, INF),
    Subject("scaled by the data", DataScale, INF),
    Subject("third class without noise", ThirdClass, INF),
    Subject("raises on a missing value", RaisesOnMissing, INF, "exception"),
    Subject("permute-and-flip at ε", partial(FlipAtFullRate, neighbours=REPLACE), 2.0, neighbours=REPLACE),
    Subject("divided by exact sizes", ExactSizes, INF),
    Subject("Laplace in floating point", FloatLaplace, INF, "low bits"),
    Subject("generator on the model", KeepsGenerator, INF, "generator"),
    # Honest ones.
    Subject("honest: geometric counts", Honest, 1.0, ""),
    Subject(
        "honest: geometric counts, replace", partial(Honest, neighbours=REPLACE), 1.0, "", neighbours=REPLACE
    ),
    Subject("honest: data-free forest", DataFreeForest, 1.0, ""),
    Subject(
        "honest: randomised response",
        partial(RandomisedResponse, neighbours=REPLACE),
        1.0,
        "",
        neighbours=REPLACE,
    ),
    Subject("honest: post-processed counts", PostProcessed, 1.0, ""),
    Subject("honest: many attributes", ManyAttributes, 1.0, ""),
    Subject(
        "honest: permute-and-flip at ε/2",
        partial(HonestFlip, neighbours=REPLACE),
        1.0,
        "",
        neighbours=REPLACE,
    ),
)
