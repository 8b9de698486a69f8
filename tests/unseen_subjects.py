"""More subjects for the auditor, written before it changed and from what goes wrong in real programs.

They are built as those in ``audit_subjects.py`` and claim ε = 1, some with a δ. A docstring states the defect, the
pair of neighbours that shows it, and the largest privacy loss there; with a δ, the least ε that holds with that δ.
"""

from __future__ import annotations

import itertools
import math
import time
import uuid
import warnings
import weakref
import zlib
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from audit_subjects import (
    CELLS,
    CLAIM,
    INF,
    REPLACE,
    ExactIf,
    FloatLaplace,
    Honest,
    RandomisedResponse,
    Seen,
    Subject,
    codes,
    geometric,
    shares_of,
)

DELTA = 1e-3
PAUSE = 0.2  # seconds that a slow fit takes


def cell_of(position: Any, cells: int) -> Any:
    """Which of so many cells of equal width each place is in."""
    return np.minimum((position * cells).astype(int), cells - 1)


def histogram(seen: Seen, cells: int) -> Any:
    """Class counts of so many cells of equal width, (cells, classes)."""
    known = seen.label >= 0
    counts = np.zeros((cells, seen.counts.shape[1]), int)
    np.add.at(counts, (cell_of(seen.position, cells)[known], seen.label[known]), 1)
    return counts


def discrete_gaussian(rng: np.random.Generator, sigma: float, shape: tuple[int, ...]) -> Any:
    """Whole numbers k with probabilities in proportion to exp(-k²/2σ²); what is beyond 20 σ no draw reaches."""
    support = np.arange(-math.ceil(20 * sigma), math.ceil(20 * sigma) + 1)
    up_to = np.exp(-((support / sigma) ** 2) / 2).cumsum()
    return support[np.searchsorted(up_to / up_to[-1], rng.random(shape))]


class Slow(Honest):
    """A fit that takes a fifth of a second."""

    def fit(self, X: Any, y: Any) -> Any:
        time.sleep(PAUSE)
        return super().fit(X, y)


class Levels(Honest):
    """Class counts on every level of a tree, 1, 2, 4, … cells: a record is in one cell of each level."""

    depth = 4

    def cells(self, position: Any, *, size: bool = False) -> Any:
        leaves = 2 ** (self.depth - 1)
        return leaves if size else cell_of(position, leaves)

    def levels(self, seen: Seen, rng: np.random.Generator) -> list[Any]:
        exact = [histogram(seen, 2**level) for level in range(self.depth)]
        return [counts + self.draw(rng, counts.shape) for counts in exact]

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return geometric(rng, self.rate, shape)

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.levels_ = self.levels(seen, rng)
        self.shares_ = shares_of(
            np.repeat(self.levels_[-1], len(seen.counts) // len(self.levels_[-1]), axis=0)
        )


# --- Broken: scale, noise, composition ------------------------------------------------------------------------


class ReplaceHalf(Honest):
    """Counts have the noise for one record more, while records are replaced, which takes ε/2 each.

    Exact loss 2: a record of the other class in the same cell moves two counts by one, at ε each.
    """

    noise = 2.0


class GeoLarge(Honest):
    """Above 150 records the noise is that of a sample, and all records are used; under replace, where n is public.

    A sample of .154 of the records would bring 2.5 down to 1. Exact loss 2.5: more than 150 records, one of which
    changes its class, so that two counts move by one at 1.25 each.
    """

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        rate = self.rate * (2.5 if seen.n > 150 else 1)
        return seen.counts + geometric(rng, rate, seen.counts.shape)


class DepthBudget(Levels):
    """The ε of a path is divided by the two children of a node instead of the four levels of the tree.

    Exact loss 4 · ½ = 2, any pair: each level has one count that moves.
    """

    noise = 1 / 2


class UncountedQuery(Honest):
    """The noisy number of records is asked for at ε/2 besides counts that cost all of ε.

    Exact loss 1 + ½, any pair: a count and the size move by one.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.size_ = seen.n + int(geometric(rng, self.rate / 2, (1,))[0])


class GaussianLevels(Levels):
    """Discrete Gaussian counts on four levels: four counts move by one, so the sensitivity is √4.

    The loss is (s + 2)/σ² for the sum s of four draws. With σ = 5.1515 the claim (1, .001) holds, and is tight.
    """

    sigma = 5.1515

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
        return discrete_gaussian(rng, self.sigma, shape)


class SqrtMissing(GaussianLevels):
    """The σ of Gaussian noise is that of a sensitivity of 1 where it is √4: the square root is missing.

    Exact loss 2.30 at δ = .001, any pair: σ is half of what is right.
    """

    sigma = GaussianLevels.sigma / 2


class VarianceForSigma(GaussianLevels):
    """The σ of Gaussian noise is passed where its variance belongs, so that σ becomes √σ.

    Exact loss 2.69 at δ = .001, any pair.
    """

    sigma = math.sqrt(GaussianLevels.sigma)


class TruncatedNoise(Honest):
    """Noise is cut at three scales on both sides. Loss ∞, any pair: a count of one more can be four above the other."""

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        most = round(3 / self.rate)
        return seen.counts + np.clip(geometric(rng, self.rate, seen.counts.shape), -most, most)


class OneNoiseTwice(Slow):
    """The totals have the same noise as the first cell, and take a fifth of a second.

    Loss ∞: a record outside of the first cell moves the difference of totals and first cell, which is exact.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        noise = self.value_[0] - seen.counts[0]
        self.totals_ = seen.counts.sum(axis=0) + noise


# --- Broken: thresholds, bounds, cells ------------------------------------------------------------------------


class SparseVector(Honest):
    """The first of six cuts with ten records to its left, by the sparse vector technique at ε/2 and ε/2.

    Loss at most 1: counts to the left of cuts all move the same way (Lyu, Su and Li 2017, for monotonic queries).
    """

    noise = 1 / 2
    cuts = 6

    def cells(self, position: Any, *, size: bool = False) -> Any:
        return self.cuts + 1 if size else cell_of(position, self.cuts + 1)

    def threshold(self, rng: np.random.Generator) -> int:
        return 10 + int(geometric(rng, self.rate, (1,))[0])

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        left = seen.counts.sum(axis=1).cumsum()[:-1]
        above = left + geometric(rng, self.rate, left.shape) >= self.threshold(rng)
        self.first_ = int(above.argmax()) if above.any() else self.cuts
        last = seen.counts.shape[1] - 1
        self.shares_ = shares_of(np.eye(last + 1)[np.where(np.arange(self.cuts + 1) > self.first_, last, 0)])


class FixedThreshold(SparseVector):
    """Sparse vector without noise on the threshold.

    Exact loss 6 · ½ = 3: nine or ten records to the left of all cuts, and none of six noisy counts reaches ten.
    """

    def threshold(self, rng: np.random.Generator) -> int:
        return 10


class EarlyStop(Levels):
    """A tree has a further level as long as its fullest node holds ten records, by an exact count.

    Loss ∞: nine records, or ten. The number of levels tells.
    """

    noise = 1 / 4

    def levels(self, seen: Seen, rng: np.random.Generator) -> list[Any]:
        fullest = [histogram(seen, 2**level).sum(axis=1).max() for level in range(self.depth - 1)]
        grown = 1 + sum(size >= 10 for size in fullest)  # nodes of a deeper level are no fuller
        return super().levels(seen, rng)[:grown]


class ClipAtN(Honest):
    """Noisy counts are clipped at the number of records. Loss ∞: a pure cell that holds all n, or n + 1, records."""

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return np.clip(super().noisy(seen, rng), 0, seen.n)


class LowerBound(Honest):
    """The lower end of the range is the least value of the records, the upper end is public.

    Loss ∞: a record below all others. The cells begin there.
    """

    low_ = 0.0

    def fit(self, X: Any, y: Any) -> Any:
        self.domain_ = self.public(X, y)
        self.low_ = float(super().positions(X).min(initial=1.0))
        return super().fit(X, y)

    def positions(self, X: Any) -> Any:
        share = (super().positions(X) - self.low_) / max(1 - self.low_, 1e-9)
        return np.clip(share, 0, 1)


class ZeroSuppressed(Honest):
    """Of 32 cells those without records are left out of a dictionary of noisy counts.

    Loss ∞: the one record of a cell, added or removed. The keys tell.
    """

    def cells(self, position: Any, *, size: bool = False) -> Any:
        return 32 if size else cell_of(position, 32)

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        noisy = self.noisy(seen, rng)
        full = np.flatnonzero(seen.counts.sum(axis=1)).tolist()
        self.counts_ = {cell: noisy[cell].tolist() for cell in full}
        filled = np.zeros_like(noisy)
        filled[full] = noisy[full]
        self.shares_ = shares_of(filled)


class LargeCounts(Slow, ExactIf):
    """Counts of fifty and more are released without noise, and take a fifth of a second.

    Loss ∞: fifty records or more of a class in a cell, and one more.
    """

    def exact(self, seen: Seen) -> Any:
        return seen.counts >= 50


class TwoRare(ExactIf):
    """No noise if a record of the last class lies between .40 and .45 of the range.

    Loss ∞: a pair whose one record is such a one; the place or the class alone does nothing.
    """

    def exact(self, seen: Seen) -> Any:
        last = seen.label == seen.counts.shape[1] - 1
        return np.any(last & (seen.position >= 0.40) & (seen.position <= 0.45))


class SeveralOnBound(Honest):
    """Five records on the lower end of the range get a cell of their own. Loss ∞: four of them, or five."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        on_bound = seen.label[(seen.position == 0) & (seen.label >= 0)]
        if len(on_bound) >= 5:
            counts = np.bincount(on_bound, minlength=len(self.classes_))
            self.value_ = np.vstack([self.value_, counts + geometric(rng, self.rate, counts.shape)])


class LoneInLarge(ExactIf):
    """From 500 records on, cells without records are skipped, noise and all.

    Loss ∞: the one record of a cell, beside 500 others.
    """

    def exact(self, seen: Seen) -> Any:
        return (seen.n >= 500) & (seen.counts.sum(axis=1, keepdims=True) == 0)


# --- Broken: classes, relation, seeds -------------------------------------------------------------------------


class FirstLabelFirst(Honest):
    """Classes stand in the order in which they occur. Loss ∞: a record of the last class in front of the others."""

    def public(self, X: Any, y: Any) -> Any:
        given = super().public(X, y)
        found = [code for code in codes(y, given.classes).tolist() if code >= 0]
        order = dict.fromkeys([*found, *range(len(given.classes))])
        classes = tuple(given.classes[code] for code in order)
        return SimpleNamespace(attributes=given.attributes, classes=classes)


class ResponseForAdd(RandomisedResponse):
    """Randomised response of each record, which hides what it holds and not that it is there.

    Loss ∞, any pair: the counts add up to n, which is no secret under replace, but is one under add/remove.
    """


class HashedSeed(Honest):
    """The seed is a hash of the labels and eight random bits.

    Loss ∞, any pair that differs in labels: 256 outputs are possible on each data set, few of which they share.
    """

    def fit(self, X: Any, y: Any) -> Any:
        label = codes(y, self.public(X, y).classes)
        self.random_state = zlib.crc32(label.tobytes(), int(self.generator().integers(256)))
        return super().fit(X, y)


TURNS = itertools.count()


class NoiseTable(Honest):
    """Noise is one of 64 tables, taken in turn by a counter of the process.

    Loss ∞, any pair: 64 outputs are possible on each data set, few of which they share.
    """

    def generator(self) -> np.random.Generator:
        super().generator()
        return np.random.default_rng(next(TURNS) % 64)


# --- Broken: the fitted object --------------------------------------------------------------------------------

CACHE: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def rebuilt(kind: type, state: dict[str, Any], cached: Any) -> Any:
    """A model from what its pickle carries."""
    model: Any = object.__new__(kind)
    vars(model).update(state)
    CACHE[model] = cached
    return model


class CarriesCache(Honest):
    """The pickle carries a cache of exact counts, by ``__reduce__``. Loss ∞: any pair, for who holds the file."""

    def cached(self, seen: Seen) -> Any:
        return seen.counts

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        CACHE[self] = self.cached(seen)

    def __reduce__(self) -> Any:
        return rebuilt, (type(self), vars(self).copy(), CACHE.get(self))


class SizeInState(Honest):
    """The number of records is in a slot, and by ``__getstate__`` in the pickle.

    Loss ∞: any pair of different sizes, for who holds the file.
    """

    __slots__ = ("_n",)

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self._n = seen.n

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"n": getattr(self, "_n", 0)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._n = state["n"]
        vars(self).update({name: value for name, value in state.items() if name != "n"})


class SizeOfBuffer(Honest):
    """A buffer of zeros holds as many places as the next power of two above n.

    Loss ∞: n is a power of two, and one record more.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.buffer_ = [0] * (1 << max(seen.n - 1, 0).bit_length())


class SummaryText(Honest):
    """A text on the model tells the number of records. Loss ∞: any pair of different sizes."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.summary_ = f"{CELLS} leaves, grown on {seen.n} records"


class SizeInRate(Honest):
    """A learning rate on the model is .1 up to 100 records, and 10/n for more. Loss ∞: any pair above 100 records."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.learning_rate_ = min(0.1, 10 / max(seen.n, 1))


class DigitsByN(Honest):
    """Probabilities are rounded to as many digits as n has. Loss ∞: nine records or ten, 99 or 100."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.shares_ = np.round(self.shares_, len(str(seen.n)))


class BitsInside(FloatLaplace):
    """Textbook Laplace noise in floating point, in nested lists of a dictionary.

    Loss ∞: a count 1 instead of 0, as the low bits tell. Everything else on the model is rounded.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.tree_ = {"leaves": [{"counts": row} for row in self.value_.tolist()]}
        self.value_ = np.round(self.value_)


class RaisesOnLone(Honest):
    """``fit`` raises if a class has one record only. Loss ∞: a class of one record, and one more."""

    def fit(self, X: Any, y: Any) -> Any:
        label = codes(y, self.public(X, y).classes)
        if 1 in np.bincount(label[label >= 0]):
            raise ValueError("The least populated class has only 1 member, which is too few.")
        return super().fit(X, y)


class WarnsWithN(Honest):
    """Below 1000 records a warning tells how many there are. Loss ∞: any pair of different sizes, for who reads it."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        if seen.n < 1000:
            warnings.warn(f"{seen.n} records are few: expected 1000 or more", UserWarning, stacklevel=3)


# --- Honest ---------------------------------------------------------------------------------------------------


class NoisyMax(Honest):
    """Labels of cells by report noisy max of counts, at ε. Loss at most 1: a record moves one count one way.

    For all noise but the winner's, the winner is one if its own noise reaches some whole number. One record moves this
    number by one at most, and P(noise ≥ k) ≤ e P(noise ≥ k + 1) for all k.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.shares_ = np.eye(len(self.classes_))[self.noisy(seen, rng).argmax(axis=1)]


class DeepAndSlow(Levels, Slow):
    """Eight levels at ε/8 each, a fifth of a second. Exact loss 8 · ⅛ = 1: any pair."""

    noise = 1 / 8
    depth = 8


class NoisySize(Honest):
    """Noisy counts at ε/2 are divided by a noisy size at ε/2. Exact loss ½ + ½: any pair."""

    noise = 1 / 2

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.size_ = seen.n + int(geometric(rng, self.rate, (1,))[0])
        self.value_ = self.noisy(seen, rng) / max(self.size_, 1)
        self.shares_ = shares_of(self.value_)


class NoisyTexts(Honest):
    """Noisy counts in texts, dictionaries and lists, with sizes that are public. Exact loss 1: any pair."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        rows = self.value_.tolist()
        self.summary_ = f"{CELLS} leaves, grown on about {sum(map(sum, rows))} records"
        self.tree_ = {
            "leaves": [{"counts": row, "text": f"about {sum(row)} records"} for row in rows],
            "shape": self.value_.shape,
        }


class CarriesNoise(CarriesCache):
    """The pickle carries a cache by ``__reduce__``, of noisy counts. Exact loss 1: any pair."""

    def cached(self, seen: Seen) -> Any:
        return self.value_


class PublicWarning(Honest):
    """A warning that is the same for all records. Exact loss 1: any pair."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        warnings.warn(f"ε = {CLAIM} is all that a tree can have", UserWarning, stacklevel=3)


class Snapped(Honest):
    """Sums of places in steps of ⅛, with noise on the same grid at ε/8 a step.

    Exact loss 8 · ⅛ = 1: a record at the upper end.
    """

    steps = 8

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        known = seen.label >= 0
        sums = np.zeros(len(self.classes_), int)
        np.add.at(sums, seen.label[known], np.rint(self.steps * seen.position[known]).astype(int))
        self.value_ = (sums + geometric(rng, self.rate / self.steps, sums.shape)) / self.steps
        self.shares_ = np.tile(shares_of(self.value_), (CELLS, 1))


class IdsAndTimes(Honest):
    """A random name and the time before records are read are on the model. Exact loss 1: any pair."""

    def fit(self, X: Any, y: Any) -> Any:
        self.id_, self.started_ = uuid.uuid4().hex, time.time()
        return super().fit(X, y)


class Constant(Honest):
    """Every class is as probable as every other, whatever the records. Exact loss 0: any pair."""

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.shares_ = np.full(seen.counts.shape, 1 / len(self.classes_))


class WideSeed(Honest):
    """The seed is a random number of 64 bits, so that no audit meets one twice. Loss 1 for it: any pair."""

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(super().generator().integers(2**64, dtype=np.uint64))


# --- The table ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Unseen(Subject):
    """A subject with a kind of defect, or ``"honest"``, and the δ of its claim."""

    kind: str
    delta: float = 0.0


OBJECT, BITS, RAISED = "fitted object", "low bits", "exception"
UNSEEN: tuple[Unseen, ...] = (
    Unseen(
        "noise of add/remove", partial(ReplaceHalf, neighbours=REPLACE), 2.0, neighbours=REPLACE, kind="scale"
    ),
    Unseen("noise of a sample", partial(GeoLarge, neighbours=REPLACE), 2.5, neighbours=REPLACE, kind="scale"),
    Unseen("square root missing", SqrtMissing, 2.30, delta=DELTA, kind="scale"),
    Unseen("σ for a variance", VarianceForSigma, 2.69, delta=DELTA, kind="noise"),
    Unseen("cut noise", TruncatedNoise, INF, kind="noise"),
    Unseen("one noise twice, slow", OneNoiseTwice, INF, kind="noise"),
    Unseen("ε/2 on four levels", DepthBudget, 2.0, kind="composition"),
    Unseen("uncounted size", UncountedQuery, 1.5, kind="composition"),
    Unseen("threshold without noise", FixedThreshold, 3.0, kind="threshold"),
    Unseen("exact early stop", EarlyStop, INF, kind="early stop"),
    Unseen("counts clipped at n", ClipAtN, INF, kind="clip"),
    Unseen("lower end from the data", LowerBound, INF, kind="clip"),
    Unseen("empty cells left out", ZeroSuppressed, INF, kind="cells"),
    Unseen("large counts without noise, slow", LargeCounts, INF, kind="cells"),
    Unseen("rare place and class", TwoRare, INF, kind="narrow"),
    Unseen("five on the lower end", SeveralOnBound, INF, kind="narrow"),
    Unseen("empty cell of a large table", LoneInLarge, INF, kind="narrow"),
    Unseen("order of labels", FirstLabelFirst, INF, kind="classes"),
    Unseen("response for add/remove", ResponseForAdd, INF, kind="relation"),
    Unseen("seed of eight bits", HashedSeed, INF, "generator", kind="seed"),
    Unseen("64 noises in turn", NoiseTable, INF, "generator", kind="seed"),
    Unseen("counts in __reduce__", CarriesCache, INF, OBJECT, kind="pickle"),
    Unseen("size in __getstate__", SizeInState, INF, OBJECT, kind="pickle"),
    Unseen("size of a buffer", SizeOfBuffer, INF, OBJECT, kind="size"),
    Unseen("size in a text", SummaryText, INF, OBJECT, kind="text"),
    Unseen("size in a rate", SizeInRate, INF, OBJECT, kind="bits"),
    Unseen("digits by n", DigitsByN, INF, BITS, kind="bits"),
    Unseen("Laplace in a dictionary", BitsInside, INF, BITS, kind="bits"),
    Unseen("raises on a class of one", RaisesOnLone, INF, RAISED, kind="exception"),
    Unseen("size in a warning", WarnsWithN, INF, RAISED, kind="exception"),
    # Honest ones.
    Unseen("honest: discrete Gaussian levels", GaussianLevels, 1.0, "", delta=DELTA, kind="honest"),
    Unseen("honest: sparse vector", SparseVector, 1.0, "", kind="honest"),
    Unseen("honest: report noisy max", NoisyMax, 1.0, "", kind="honest"),
    Unseen("honest: eight levels, slow", DeepAndSlow, 1.0, "", kind="honest"),
    Unseen("honest: divided by a noisy size", NoisySize, 1.0, "", kind="honest"),
    Unseen("honest: noisy texts", NoisyTexts, 1.0, "", kind="honest"),
    Unseen("honest: noise in __reduce__", CarriesNoise, 1.0, "", kind="honest"),
    Unseen("honest: public warning", PublicWarning, 1.0, "", kind="honest"),
    Unseen("honest: sums on a grid", Snapped, 1.0, "", kind="honest"),
    Unseen("honest: random names and times", IdsAndTimes, 1.0, "", kind="honest"),
    Unseen("honest: constant", Constant, 0.0, "", kind="honest"),
    Unseen("honest: seed of 64 bits", WideSeed, 1.0, "", kind="honest"),
)
