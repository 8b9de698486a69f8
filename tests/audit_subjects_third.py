"""The third wave of subjects for the auditor: defects of kinds that the first two waves do not have.

They are built like those in ``audit_subjects``, and again each has the defect that it says and no other. They were
written without a run of the auditor on them. New are numbers to predict, claims for people, missing values, what a fit
prints, and the time that it takes. Eight subjects, whose kind begins with "missed", are of kinds that the auditor was
known to miss when they were written. A loss is ∞ as well where it exceeds every bound for data sets that are large
enough, or for outputs that are far enough out; the text says so. A loss with a δ is the least ε that holds with that δ.
"""

# ruff: noqa: E501 - the table

from __future__ import annotations

import logging
import math
import time
import zlib
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import audit_subjects
from audit_subjects import (
    CELLS,
    CLAIM,
    DELTA,
    PUBLIC,
    REPLACE,
    GaussianLevels,
    Honest,
    Levels,
    Seen,
    Subject,
    cell_of,
    codes,
    column,
    discrete_gaussian,
    geometric,
    histogram,
    numbers,
    refuse,
    shares_of,
    table_of,
    warned,
)
from dpnb.domain import Categorical, Continuous, Domain

PERSON = "person"
MISSING = replace(PUBLIC, attributes=(Continuous("x", 0, 1, missing=True), PUBLIC.attributes[1]))
NUMBERS = Domain(PUBLIC.attributes, response=Continuous("number", 0, 1))
SPARSE_DELTA = 0.007
HALF = math.log(1 + 2 * math.expm1(CLAIM))  # that a random half of the records brings down to the claim
TICK = 0.003  # seconds


def attribute_of(model: Any, kind: type) -> tuple[int, Any]:
    """Place of the first attribute of a kind in the public domain, and the attribute; else the first of all."""
    attributes = model.domain_.attributes
    j = next((j for j, attribute in enumerate(attributes) if isinstance(attribute, kind)), 0)
    return j, attributes[j]


def levels_of(model: Any, X: Any) -> Any:
    """Codes of the first categorical attribute, and their number; cells of places where there is none."""
    j, attribute = attribute_of(model, Categorical)
    if isinstance(attribute, Continuous):
        return cell_of(Honest.positions(model, X), CELLS), CELLS
    return np.maximum(codes(column(X, j, attribute.name), attribute.values), 0), len(attribute.values)


# --- Bases of several -----------------------------------------------------------------------------------------


class Regressor(Honest):
    """Sums of targets, in eighths of their public range, and numbers of records in cells, at ε/2 each.

    Exact loss ½ + 8 · ½/8: a record with the largest target.
    """

    noise = 1 / 2
    steps = 8

    def fit(self, X: Any, y: Any) -> Any:
        self.before(X, y)
        rng = self.generator()
        self.domain_ = self.public(X, y)
        self.average(self.cells(self.positions(X)), self.targets(y), rng)
        return self

    def predict(self, X: Any) -> Any:
        response = self.domain_.response
        return response.low + (response.high - response.low) * self.means_[self.cells(self.positions(X))]

    @property
    def predict_proba(self) -> Any:
        raise AttributeError("numbers have no probabilities")

    def public(self, X: Any, y: Any) -> Any:
        return NUMBERS if self.domain is None else self.domain

    def targets(self, y: Any) -> Any:
        """Whole steps above the lower end of the public range; the lower end for what is no number."""
        response = self.domain_.response
        share = (numbers(np.asarray(y, object)) - response.low) / (response.high - response.low)
        return np.rint(self.steps * np.clip(np.where(np.isnan(share), 0, share), 0, 1)).astype(int)

    def summed(self, cell: Any, values: Any, rng: np.random.Generator) -> Any:
        """Noisy sums of whole steps in cells, with noise for values of the size of the range."""
        sums = np.zeros(self.n_cells, int)
        np.add.at(sums, cell, values)
        return sums + geometric(rng, self.rate / self.steps, sums.shape)

    def average(self, cell: Any, target: Any, rng: np.random.Generator) -> None:
        self.sizes_ = np.bincount(cell, minlength=self.n_cells) + geometric(rng, self.rate, (self.n_cells,))
        self.sums_ = self.summed(cell, target, rng)
        self.means_ = np.clip(self.sums_ / (self.steps * np.maximum(self.sizes_, 1)), 0, 1)


class OfPeople(Honest):
    """The first three records of each person, at ε/3 each; records of nobody are left out.

    Exact loss 3 · ⅓: a person with three records or more.
    """

    noise = 1 / 3
    most = 3

    def fit(self, X: Any, y: Any, people: Any = None) -> Any:
        self.before(X, y)
        rng = self.generator()
        self.domain_ = self.public(X, y)
        self.classes_ = np.array(self.domain_.classes)
        position, label = self.positions(X), codes(y, self.domain_.classes)
        person = owners(range(len(label)) if people is None else people)
        cell, known = self.cells(position), (label >= 0) & (person >= 0)
        weight = self.weights(person, cell)[known]
        counts = np.zeros((self.n_cells, len(self.classes_)), int)
        np.add.at(counts, (cell[known], label[known]), weight)
        self.learn(Seen(position, label, counts), rng)
        return self

    def weights(self, person: Any, cell: Any) -> Any:
        """Whole weights of records."""
        return rank_of(person) < self.most


def owners(people: Any) -> Any:
    """Numbers of people in the order in which they occur, -1 for nobody."""
    place: dict[Any, int] = {}
    return np.array(
        [-1 if name is None or name != name else place.setdefault(name, len(place)) for name in people], int
    )


def rank_of(*keys: Any) -> Any:
    """How many records before each one have the same keys."""
    often: dict[Any, int] = {}
    rank = []
    for key in zip(*(key.tolist() for key in keys), strict=True):
        rank.append(often.get(key, 0))
        often[key] = rank[-1] + 1
    return np.array(rank, int)


class Imputed(Honest):
    """A missing value counts as the middle of the public range, so that a record is in one cell. Exact loss 1."""

    def positions(self, X: Any) -> Any:
        j, attribute = attribute_of(self, Continuous)
        place = super().positions(X)
        if isinstance(attribute, Categorical):
            return place
        lacks = np.isnan(numbers(column(X, j, attribute.name)))
        return np.where(lacks, self.stand_in(place[~lacks]), place)

    def stand_in(self, known: Any) -> float:
        return 0.5


class Gradient(Honest):
    """One step of gradient descent: the sum of vectors (1, x, c) of each class, clipped to length 1, in steps of 1/32.

    A clipped vector is rounded towards nought, so that it is no longer than 1. Discrete Gaussian noise of σ = 2.6 has
    (1, .001) for a vector of length 1, and a little to spare: a record (1, 0, 0) more.
    """

    sigma = 2.6
    steps = 32

    def fit(self, X: Any, y: Any) -> Any:
        self.before(X, y)
        rng = self.generator()
        self.domain_ = self.public(X, y)
        self.classes_ = np.array(self.domain_.classes)
        label, vectors = codes(y, self.domain_.classes), self.vectors(self.features(X))
        sums = np.zeros((len(self.classes_), 3), int)
        np.add.at(sums, label[label >= 0], vectors[label >= 0])
        self.weights_ = sums + discrete_gaussian(rng, self.sigma * self.steps, sums.shape)
        return self

    def predict_proba(self, X: Any) -> Any:
        return shares_of(self.features(X) @ self.weights_.T / self.steps)

    def features(self, X: Any) -> Any:
        level, n_levels = levels_of(self, X)
        place = self.positions(X)
        return np.column_stack([np.ones(len(place)), place, level / max(n_levels - 1, 1)])

    def vectors(self, features: Any) -> Any:
        """Vectors of records in whole steps."""
        length = np.linalg.norm(features, axis=1, keepdims=True)
        return np.trunc(self.steps * features / np.maximum(length, 1)).astype(int)


class Sparse(Honest):
    """Counts of halves and of quarters at ε/2 each; of those above 0, the noisy ones from a public threshold on.

    A count of 1 instead of 0 shows with probability .0025 in each of the two, which is below δ/2; between counts above
    0 the threshold is post-processing. So the claim (1, .007) is the sum of two claims (½, .0035).
    """

    noise = 1 / 2
    threshold = 12

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.leaves_: dict[str, int] = {}
        for cells in (2, CELLS):
            exact = histogram(seen, cells)
            noisy = exact + geometric(rng, self.rate, exact.shape)
            shown = (exact > 0) & (noisy >= self.threshold)
            for cell, j in np.argwhere(shown).tolist():
                self.leaves_[f"cell {cell} of {cells}, class {j}"] = int(noisy[cell, j])
        self.shares_ = shares_of(np.where(shown, noisy, 0))


# --- Broken ---------------------------------------------------------------------------------------------------


class Boosted(Regressor):
    """Two rounds of boosting at ε/2; what the first one leaves over is not clipped before it is summed.

    What the first round predicts lies between one range below the targets and one above, so that a target is up to two
    ranges away from it, and the noise is for one. The largest target where the first round predicts the least: its sum
    costs ½, and what is left over twice ½. For the least target where the first round predicts the most it is 0 + 1.
    """

    def left(self, residual: Any) -> Any:
        return residual

    def average(self, cell: Any, target: Any, rng: np.random.Generator) -> None:
        self.sums_ = self.summed(cell, target, rng)
        start = np.clip(self.sums_, -self.steps, 2 * self.steps)
        self.residuals_ = self.summed(cell, self.left(target - start[cell]), rng)
        self.means_ = np.clip((start + self.residuals_) / self.steps, 0, 1)


class TargetEncoded(Honest):
    """A category is encoded by the exact share of the last class among its records, and cells are cut by that code.

    Two categories of one class, and a record of the last class in one of them: their answers were the same in all fits.
    """

    @property
    def n_cells(self) -> int:
        attribute = attribute_of(self, Categorical)[1]
        return len(attribute.values) if isinstance(attribute, Categorical) else CELLS

    def positions(self, X: Any) -> Any:
        level, n_levels = levels_of(self, X)
        return (level + 0.5) / n_levels

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        code = seen.counts[:, -1] / np.maximum(seen.counts.sum(axis=1), 1)
        cell = cell_of(code, CELLS)
        merged = np.zeros((CELLS, seen.counts.shape[1]), int)
        np.add.at(merged, cell, seen.counts)
        self.shares_ = shares_of(merged + geometric(rng, self.rate, merged.shape))[cell]


class BetterLevel(Levels):
    """Of halves and quarters, that which fits the records better has ¾ of ε and the other one ¼, by exact counts.

    A record of the other class in the same half, but in another quarter. The loss of two rates exceeds every bound far
    out: at a distance of k from the counts it is about k/2.
    """

    depth = 3

    def levels(self, seen: Seen, rng: np.random.Generator) -> list[Any]:
        exact = [histogram(seen, cells) for cells in (2, CELLS)]
        shares = self.split([int(counts.max(axis=1).sum()) for counts in exact])
        return [
            counts + geometric(rng, share * self.rate, counts.shape)
            for counts, share in zip(exact, shares, strict=True)
        ]

    def split(self, right: list[int]) -> tuple[float, float]:
        """Shares of ε by how many records each level classifies."""
        return (0.25, 0.75) if right[1] > right[0] else (0.75, 0.25)


class FirstOfEqual(Honest):
    """Of records at one place only the first one counts, whatever its class.

    A record of the other class in front of another one at its place moves two counts by one. Exact loss 2.
    """

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        first = np.sort(np.unique(seen.position, return_index=True)[1])
        counts = table_of(self.cells(seen.position[first]), seen.label[first], seen.counts.shape)
        return counts + geometric(rng, self.rate, counts.shape)


class PublicShuffle(Honest):
    """Counts of half of the records, which a shuffle with a public seed picks by their positions in the table.

    A record in front moves all others on by one, and thereby many into the half or out of it: the more records, the
    larger is the loss, without a bound.
    """

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        half = np.random.default_rng(0).permutation(seen.n)[: seen.n // 2]
        counts = table_of(self.cells(seen.position[half]), seen.label[half], seen.counts.shape)
        return counts + geometric(rng, self.rate, counts.shape)


class CrossValidated(Levels):
    """One, two, four or eight cells, as two folds of the records tell, by exact numbers; the counts cost all of ε.

    A lone record, and one of the other class in the next eighth: there is one cell, so that all answers are the same,
    or there are eight.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        right = [self.right(seen, 2**level) for level in range(self.depth)]
        counts = histogram(seen, 2 ** right.index(max(right)))
        noisy = counts + geometric(rng, self.rate, counts.shape)
        self.shares_ = shares_of(np.repeat(noisy, self.n_cells // len(noisy), axis=0))

    def right(self, seen: Seen, cells: int) -> int:
        """How many records the other fold classifies."""
        odd, found = np.arange(seen.n) % 2 == 1, 0
        for fold in (odd, ~odd):
            rest = Seen(seen.position[~fold], seen.label[~fold], seen.counts)
            told = histogram(rest, cells).argmax(axis=1)[cell_of(seen.position[fold], cells)]
            found += int((told == seen.label[fold]).sum())
        return found


class HashedHalf(Honest):
    """The noise of a random half of the records, but a hash of its place says whether a record is in the half.

    A record that is in it, for sure. Exact loss log(1 + 2(e - 1)), which a random half would bring down to 1.
    """

    noise = HALF

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        inside = hashed(seen.position)
        counts = table_of(self.cells(seen.position[inside]), seen.label[inside], seen.counts.shape)
        return counts + geometric(rng, self.rate, counts.shape)


def hashed(position: Any) -> Any:
    """One bit of a multiplicative hash of places."""
    return ((position * 2**20).astype(np.uint64) * np.uint64(2654435761) >> np.uint64(16)) & np.uint64(1) == 1


class Overlapping(Honest):
    """Counts of four cells, each at all of ε as if cells had no record in common; but each reaches over its ends by 1/32.

    A record within 1/32 of a cut is in two cells. Exact loss 2 there, and 1 elsewhere.
    """

    over = 1 / 32

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        counts = np.zeros_like(seen.counts)
        for cell in range(self.n_cells):
            ends = cell / self.n_cells - self.over, (cell + 1) / self.n_cells + self.over
            inside = (self.cells(seen.position) == cell) | (
                (seen.position > ends[0]) & (seen.position < ends[1])
            )
            counts[cell] = np.bincount(seen.label[inside & (seen.label >= 0)], minlength=seen.counts.shape[1])
        return counts + geometric(rng, self.rate, counts.shape)


class Logarithms(Honest):
    """Logarithms to base 2 of one plus each count, in tenths, with noise for six tenths, as from one record to two.

    From no record to one they move by ten tenths. Exact loss 10/6; every other step is six tenths at most.
    """

    sensitivity = 6

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        tenths = np.rint(10 * np.log2(1 + seen.counts)).astype(int)
        self.value_ = tenths + geometric(rng, self.rate / self.sensitivity, tenths.shape)
        self.shares_ = shares_of(2 ** (np.minimum(self.value_, 500) / 10) - 1)


class Centred(Regressor):
    """Sums of centred targets between -1 and 1, with noise for a value of size one, under replace.

    A record with the largest target becomes one with the least: the sum moves by two. Exact loss 2.
    """

    noise = 2.0

    def average(self, cell: Any, target: Any, rng: np.random.Generator) -> None:
        self.sums_ = self.summed(cell, 2 * target - self.steps, rng)
        each = max(len(target) / self.n_cells, 1)  # n is public under replace
        self.means_ = np.clip((1 + self.sums_ / (self.steps * each)) / 2, 0, 1)


class LabelsAlone(Honest):
    """Each record tells its label by randomised response at ε, and its cell as it is: a claim for labels, not records.

    Under replace, a record moves to another cell.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        k = seen.counts.shape[1]
        truth = np.maximum(seen.label, 0)
        kept = rng.random(seen.n) < math.exp(CLAIM) / (math.exp(CLAIM) + k - 1)
        told = np.where(kept, truth, (truth + rng.integers(1, k, seen.n)) % k)
        self.value_ = table_of(self.cells(seen.position), told, seen.counts.shape)
        self.shares_ = shares_of(self.value_)


class TiesByOrder(Honest):
    """Noisy counts, and the label of each cell by the largest; ties go to the class of the first record.

    A record of the other class in front of all: where two noisy counts are equal the other label is impossible.
    """

    def first(self, seen: Seen) -> int:
        return int(seen.label[seen.label >= 0][:1].sum())

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.value_ = self.noisy(seen, rng)
        first, best = self.first(seen), self.value_.max(axis=1)
        label = np.where(self.value_[:, first] == best, first, self.value_.argmax(axis=1))
        self.shares_ = np.eye(self.value_.shape[1])[label]


class ExactWhereStable(Honest):
    """Labels of cells by report noisy max, but the exact label where it leads by three records, by an exact test.

    A lead of two records, or of three: the other label is possible, or not.
    """

    lead = 3

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        ordered = np.sort(seen.counts, axis=1)
        stable = ordered[:, -1] - ordered[:, -2] >= self.lead
        label = np.where(stable, seen.counts.argmax(axis=1), self.noisy(seen, rng).argmax(axis=1))
        self.shares_ = np.eye(seen.counts.shape[1])[label]


class UntilRight(Honest):
    """Up to five rounds of noisy counts at ε/5 each, as long as their mean does not classify all records.

    Two records of both classes at one place, which no tree classifies, or one of them, so that fewer rounds can do.
    """

    noise = 1 / 5
    rounds = 5

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        self.rounds_: list[Any] = []
        while len(self.rounds_) < self.rounds:
            self.rounds_.append(self.noisy(seen, rng))
            self.shares_ = shares_of(np.mean(self.rounds_, axis=0))
            if self.right(seen):
                break

    def right(self, seen: Seen) -> bool:
        known = seen.label >= 0
        told = self.shares_.argmax(axis=1)[self.cells(seen.position)]
        return bool((told[known] == seen.label[known]).all())


class CappedByCell(OfPeople):
    """Of each person one record in each cell counts, as if a person were in one cell only; the claim is for people.

    A person with a record in each of the four cells. Exact loss 4.
    """

    noise = 1.0

    def weights(self, person: Any, cell: Any) -> Any:
        return rank_of(person, cell) < 1


class RoundedWeights(OfPeople):
    """A record of a person with m records weighs 1/m, rounded to sixteenths, with noise for a person of weight one.

    A person with 31 records of one class in one cell weighs 31/16, for 16/31 is rounded to one. From 32 on a record
    weighs nothing, and for no other m is m times 16/m, rounded, larger. Exact loss 31/16.
    """

    noise = 1.0
    steps = 16

    def rounded(self, share: Any) -> Any:
        return np.rint(share)

    def weights(self, person: Any, cell: Any) -> Any:
        many = np.bincount(person[person >= 0], minlength=1)
        return self.rounded(self.steps / np.maximum(many, 1)).astype(int)[person]

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return seen.counts + geometric(rng, self.rate / self.steps, seen.counts.shape)

    def kept(self, seen: Seen, rng: np.random.Generator) -> dict[str, Any]:
        return {"shares_": shares_of(self.value_ / self.steps)}


class InTurn(OfPeople):
    """Of each person one record counts: the first of the first person, the second of the second one, and so on, in turn.

    A person in front of all: everybody else's turn moves on by one, and another record of theirs may count. The loss
    grows with the number of people, without a bound.
    """

    noise = 1.0

    def turns(self, number: Any, many: Any) -> Any:
        return number % many

    def weights(self, person: Any, cell: Any) -> Any:
        many = np.maximum(np.bincount(person[person >= 0], minlength=1), 1)
        return rank_of(person) == self.turns(np.arange(len(many)), many)[person]


class OutOfBag(Honest):
    """Counts of a random half of the records; on the model is what share of the others the tree classifies.

    The share is exact: two records of both classes at one place can have ½, a single one cannot.
    """

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        bag, cell = rng.random(seen.n) < 0.5, self.cells(seen.position)
        counts = table_of(cell[bag], seen.label[bag], seen.counts.shape)
        self.value_ = counts + geometric(rng, self.rate, counts.shape)
        self.shares_ = shares_of(self.value_)
        told = self.shares_.argmax(axis=1)[cell[~bag]]
        self.oob_score_ = float(np.mean(told == seen.label[~bag])) if len(told) else math.nan


class KeepsError(Honest):
    """The fitted model keeps an error that it has met, and its traceback leads to what ``fit`` worked on.

    Any pair, for who holds the model; a pickle of it has no traceback.
    """

    def kept(self, seen: Seen, rng: np.random.Generator) -> dict[str, Any]:
        try:
            refuse(wrong=True, why="There is no validation set: all rounds are made.")
        except ValueError as error:
            return {"failure_": error}
        return {}


class SeedInName(Honest):
    """The name of a model is a random number of 63 bits, and the seed of its noise: any pair, for who reads the name."""

    def generator(self) -> np.random.Generator:
        self.name_ = f"tree {super().generator().integers(2**63):016x}"
        return np.random.default_rng(int(self.name_.split()[1], 16))


class OffGrid(Honest):
    """Sums of places of each class, with noise on a grid of 1/1024; what a sum has beyond the grid is exact.

    A record at a place that is not on the grid. Predictions follow from whole numbers.
    """

    steps = 1024

    def on_grid(self, position: Any) -> Any:
        return position

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        known = seen.label >= 0
        sums = np.bincount(
            seen.label[known], weights=self.on_grid(seen.position[known]), minlength=seen.counts.shape[1]
        )
        self.value_ = sums + geometric(rng, self.rate / self.steps, sums.shape) / self.steps
        self.shares_ = np.tile(shares_of(np.rint(self.value_)), (self.n_cells, 1))


class MeansChecked(Honest):
    """Means of places are checked to lie in the range; NumPy warns of a division by nought where a cell is empty.

    The one record of a cell, where all other cells have some.
    """

    def sizes(self, seen: Seen) -> Any:
        return np.bincount(self.cells(seen.position), minlength=self.n_cells)

    def kept(self, seen: Seen, rng: np.random.Generator) -> dict[str, Any]:
        cell = self.cells(seen.position)
        means = np.bincount(cell, weights=seen.position, minlength=self.n_cells) / self.sizes(seen)
        refuse(np.any(means > 1), "A mean is out of range.")
        return {}


TABLES: dict[Any, Any] = {}


def cached(m: Any, seen: Seen, rng: np.random.Generator) -> Any:
    """The noisy counts of these records, drawn once in a process."""
    key = seen.counts.shape, zlib.crc32(m.cells(seen.position).tobytes() + seen.label.tobytes())
    return TABLES.setdefault(key, Honest.noisy(m, seen, rng))


def printed(text: str) -> dict[str, Any]:
    print(text)
    return {}


def slept(seconds: float) -> dict[str, Any]:
    time.sleep(seconds)
    return {}


# --- Missed ---------------------------------------------------------------------------------------------------


class HalvedSigma(GaussianLevels):
    """Discrete Gaussian counts on three levels; σ is right for a sensitivity of √3, but on the last level it is halved.

    Any pair. The loss is (a + b + 4c + 3)/σ² for the draws a, b and c, and 1.51 holds with δ = .001 where 1 should.
    """

    depth = 3
    sigma = 4.47
    last = 1 / 2

    def levels(self, seen: Seen, rng: np.random.Generator) -> list[Any]:
        exact = [histogram(seen, 2**level) for level in range(self.depth)]
        sigmas = [self.sigma] * (self.depth - 1) + [self.last * self.sigma]
        return [c + discrete_gaussian(rng, s, c.shape) for c, s in zip(exact, sigmas, strict=True)]


# --- Honest ---------------------------------------------------------------------------------------------------


class TellsNoise(Honest):
    """Noisy counts and their total are printed, logged, and in the text of a warning: all of it follows from outputs."""

    def kept(self, seen: Seen, rng: np.random.Generator) -> dict[str, Any]:
        total = int(self.value_.sum())
        print(f"about {total} records in {self.n_cells} leaves")
        logging.getLogger(__name__).info("counts: %s", self.value_.tolist())
        return warned(f"about {total} records are few") if total < 1000 else {}


LAWS: dict[float, Any] = {}


class CachedLaws(Honest):
    """Noise is drawn from a table of its law, which a process computes once for a rate and models share.

    The table follows from the rate alone. It ends where the law has less than 2⁻⁵³ left, which no draw reaches.
    """

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        if self.rate not in LAWS:
            support = np.arange(-100, 101)
            LAWS[self.rate] = support, np.exp(-self.rate * abs(support)).cumsum()
        self.law_ = LAWS[self.rate]
        support, up_to = self.law_
        return seen.counts + support[np.searchsorted(up_to / up_to[-1], rng.random(seen.counts.shape))]


class TimeOfItsOwn(Honest):
    """A fit takes a random time, which is drawn for it and has nothing to do with the records."""

    def kept(self, seen: Seen, rng: np.random.Generator) -> dict[str, Any]:
        return slept(2 * TICK * rng.random())


class Saturated(Honest):
    """Noisy counts are cut at 0 and 255 and kept in bytes: nothing overflows, for noise is added before."""

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        return np.clip(super().noisy(seen, rng), 0, 255).astype(np.uint8)


class RandomHalf(Honest):
    """Each record is counted with probability ½, and the counts cost log(1 + 2(e - 1)).

    Exact loss 1: of an output the probability is the mean of two, of which one may be 1 + 2(e - 1) times the other.
    """

    noise = HALF

    def noisy(self, seen: Seen, rng: np.random.Generator) -> Any:
        half = rng.random(seen.n) < 0.5
        counts = table_of(self.cells(seen.position[half]), seen.label[half], seen.counts.shape)
        return counts + geometric(rng, self.rate, counts.shape)


class MedianByDraw(Honest):
    """A cut at the median by the exponential mechanism at ε/2, and counts of both sides at ε/2. Loss at most ½ + ½.

    A record changes by one the distance between the numbers of records on both sides of each of 15 public cuts.
    """

    noise = 1 / 2
    n_cells = 2
    cut_ = 0.5

    def cells(self, position: Any) -> Any:
        return (position >= self.cut_).astype(int)

    def learn(self, seen: Seen, rng: np.random.Generator) -> None:
        cuts = np.arange(1, 16) / 16
        left = (seen.position[:, None] < cuts).sum(axis=0)
        score = -abs(2 * left - seen.n) * self.rate / 2
        self.cut_ = float(cuts[np.argmax(score + rng.gumbel(size=len(cuts)))])
        counts = table_of(self.cells(seen.position), seen.label, seen.counts.shape)
        self.value_ = counts + geometric(rng, self.rate, counts.shape)
        self.shares_ = shares_of(self.value_)


class FormOfNoise(Honest):
    """Leaves stand in a dictionary in random order, and noisy counts in the smallest type that holds them.

    The order is drawn, and the type follows from noisy counts.
    """

    def kept(self, seen: Seen, rng: np.random.Generator) -> dict[str, Any]:
        rows, order = self.value_.tolist(), rng.permutation(self.n_cells).tolist()
        small = np.min_scalar_type(-1 - int(abs(self.value_).max()))
        return {"leaves_": {f"leaf {i}": rows[i] for i in order}, "value_": self.value_.astype(small)}


# --- The table ------------------------------------------------------------------------------------------------

subject: Any = partial(audit_subjects.subject, home=globals())
honest: Any = partial(subject, loss=1.0, channel="", kind="honest")

# fmt: off
SUBJECTS: tuple[Subject, ...] = (
    subject("what is left over is not clipped", Boosted, loss=1.5, kind="residuals", domain=NUMBERS),
    subject("categories by their share", TargetEncoded, kind="target encoding"),
    subject("more budget where it pays", BetterLevel, kind="budget by data"),
    subject("the first of equal records", FirstOfEqual, loss=2.0, kind="duplicates"),
    subject("shuffled with a public seed", PublicShuffle, kind="shuffle"),
    subject("depth by cross-validation", CrossValidated, kind="cross-validation"),
    # Not positive has probability P(c + noise <= 0) twice, and each changes by a factor of e.
    subject("asked again unless positive", loss=2.0, kind="asked again",
            says="A noisy count that is not positive is drawn once more, for nothing: one record more, and still none is told.",
            noisy=lambda m, seen, rng: np.where(
                (first := Honest.noisy(m, seen, rng)) > 0, first, Honest.noisy(m, seen, rng))),
    subject("half of the records, by a hash", HashedHalf, loss=HALF, kind="amplification"),
    subject("cells that overlap", Overlapping, loss=2.0, kind="overlap"),
    subject("noise for logarithms", Logarithms, loss=10 / 6, kind="logarithm"),
    subject("gradient without a clip", Gradient, loss=1.91, delta=DELTA, kind="gradient",
            says="Vectors (1, x, c) are summed without a clip, with Gaussian noise for length 1: x = c = 1 has length √3.",
            vectors=lambda m, features: np.rint(m.steps * features).astype(int)),
    # The exact table has .01 + .99 p on one data set and .99 p/e on the other, with p = tanh(½)⁸; no other output helps.
    subject("one fit in a hundred", loss=2.68, delta=DELTA, kind="rare failure",
            says="One fit in a hundred has no noise, where δ is .001: any pair; all eight counts are the exact ones.",
            noisy=lambda m, seen, rng: np.where(rng.random() < 0.01, seen.counts, Honest.noisy(m, seen, rng))),
    subject("sums of centred targets", Centred, loss=2.0, neighbours=REPLACE, kind="range", domain=NUMBERS),
    subject("only labels are private", LabelsAlone, neighbours=REPLACE, kind="label privacy"),
    subject("ties by the first record", TiesByOrder, kind="ties"),
    subject("exact where it is stable", ExactWhereStable, kind="stability"),
    subject("rounds until all is right", UntilRight, kind="boosting stops"),
    subject("capped in each cell", CappedByCell, loss=4.0, kind="cap by cell", unit=PERSON),
    subject("weights of people are rounded", RoundedWeights, loss=31 / 16, kind="rounded weights", unit=PERSON),
    subject("people in turn", InTurn, kind="turns", unit=PERSON),
    subject("score out of bag", OutOfBag, channel="fitted object", kind="score"),
    subject("order of the leaves", channel="fitted object", kind="order of keys",
            says="Leaves stand in a dictionary in the order in which records came to them: a record of another leaf in front.",
            kept=lambda m, seen, rng: {"leaves_": {
                f"leaf {i}": m.value_[i].tolist()
                for i in dict.fromkeys([*m.cells(seen.position).tolist(), *range(m.n_cells)])}}),
    subject("type of the counters", channel="fitted object", kind="smallest type",
            says="Counters of visits, all zero, have the smallest type that holds n: 255 records or 256, 65,535 or 65,536.",
            kept=lambda m, seen, rng: {"visits_": np.zeros(m.n_cells, np.min_scalar_type(seen.n))}),
    subject("error with its traceback", KeepsError, channel="fitted object", kind="traceback"),
    subject("tables by a hash of the records", channel="generator", kind="cache",
            says="A process draws noise once for the same records, by a hash: any pair, for who has seen a model of either.",
            noisy=cached),
    subject("seed in a name, at random", SeedInName, channel="generator", kind="seed in a name"),
    subject("zeros with a sign", channel="low bits", kind="negative zero",
            says="Zeros are made of 0 times exact margins, and -0.0 is of a negative one: a leaf with more of the last class.",
            kept=lambda m, seen, rng: {"start_": 0.0 * (seen.counts[:, 0] - seen.counts[:, -1])}),
    subject("sums beside the grid", OffGrid, channel="low bits", kind="grid"),
    subject("a total that is too large", channel="exception", kind="check of noise",
            says="A warning if noisy counts add up to more than 2n: totals of 1 and 2 come without it for one record, not for none.",
            kept=lambda m, seen, rng: warned("Noise is larger than counts.") if m.value_.sum() > 2 * seen.n else {}),
    subject("mean of an empty cell", MeansChecked, channel="exception", kind="numerical warning"),

    # What the auditor was known to miss.
    subject("ε/√6 on six levels", Levels, loss=math.sqrt(6), kind="missed: square root of levels", depth=6, noise=1 / math.sqrt(6),
            says="Of six levels each has ε/√6, as if Laplace noise composed like Gaussian noise: any pair, six counts move by one."),
    subject("a flag for nothing", loss=1.25, kind="missed: forgotten composition",
            says="A noisy majority at ε/4 beside counts that cost ε: a record of the first class that makes it as common as the last.",
            kept=lambda m, seen, rng: {
                "majority_": bool((total := seen.counts.sum(axis=0))[0] - total[-1] + geometric(rng, m.rate / 4, (1,))[0] >= 0)}),
    # A lone record shows with probability 1 - (1 - .0069)² > .007, and where it is not there it never does; (1, 2δ) holds.
    subject("δ in two places", Sparse, delta=SPARSE_DELTA, kind="missed: δ twice", threshold=10,
            says="Each of two sparse histograms has a threshold for (½, δ), and the claim is (1, δ): the one record of a cell."),
    subject("σ halved on one level", HalvedSigma, loss=1.51, delta=DELTA, kind="missed: σ of one level"),
    subject("mean of the others", Imputed, kind="missed: imputation", domain=MISSING,
            says="Missing values become the exact mean of the others: a record moves the mean, and all that miss to another cell. No bound.",
            stand_in=lambda m, known: known.mean() if len(known) else 0.5),
    subject("counters of eight bits", loss=255.0, kind="missed: overflow",
            says="Counts overflow at 256 before noise is added: 255 records of a class in a cell, or 256, which count as none.",
            noisy=lambda m, seen, rng: seen.counts.astype(np.uint8) + geometric(rng, m.rate, seen.counts.shape)),
    subject("size on the screen", channel="printed", kind="missed: printed",
            says="``fit`` prints the number of records: any pair of different sizes, for who sees the screen.",
            kept=lambda m, seen, rng: printed(f"{seen.n} records, {m.n_cells} leaves")),
    subject("slow beyond .9", channel="time", kind="missed: time",
            says="``fit`` takes 3 ms for each record beyond .9 of the range: such a one, for who has a clock.",
            kept=lambda m, seen, rng: slept(TICK * int((seen.position > 0.9).sum()))),

    honest("honest: gradient with a clip", Gradient, delta=DELTA),
    honest("honest: noise on the screen", TellsNoise),
    honest("honest: laws of noise in a cache", CachedLaws),
    honest("honest: missing in the middle", Imputed, domain=MISSING),
    honest("honest: three records of a person", OfPeople, unit=PERSON),
    honest("honest: a time of its own", TimeOfItsOwn),
    honest("honest: bytes that saturate", Saturated),
    honest("honest: a random half", RandomHalf),
    honest("honest: sparse with a threshold", Sparse, delta=SPARSE_DELTA),
    honest("honest: median by a draw", MedianByDraw),
    honest("honest: order and type of noise", FormOfNoise),
    honest("honest: sums of targets", Regressor, domain=NUMBERS),
)
# fmt: on
BY_NAME = {subject.name: subject for subject in SUBJECTS}
