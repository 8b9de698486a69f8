"""Residuals, curvatures and weights of records for boosters, on a lattice so that sums are exact."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FIXED_POINT, Floats, Ints

# From scores (1, n) and numbers (n,) to (1, n) multiples of 2⁻²⁸ between -1 and 1.
Measure = Callable[[Floats, NDArray[Any]], Floats]


class Loss(Protocol):
    """Residuals of records, and bounds on what one record can change by them.

    Attributes
    ----------
    n_problems : number of scores of a record.
    absolute : largest sum of a record's absolute residuals over the problems.
    square : largest sum of their squares.
    curvature : largest L2 norm of a record's curvatures.
    width : how far a score has to move for the residual to move by 1, where the curvature is 1.
    """

    n_problems: int
    absolute: float
    square: float
    curvature: float
    width: float

    def residuals(self, score: Floats, labels: NDArray[Any]) -> Floats:
        """Residuals (problems, n) at scores (problems, n) and class codes, or numbers, (n,)."""

    def curvatures(self, score: Floats, labels: NDArray[Any]) -> Floats:
        """Curvatures (problems, n)."""


class Margins:
    """MadaBoost's loss of two classes, ``y = ±1``, where the residual is ``y · min(1, exp(−y F))``."""

    n_problems = 1
    absolute = square = curvature = width = 1.0

    def residuals(self, score: Floats, labels: Ints) -> Floats:
        sign = np.where(labels == 1, 1.0, -1.0)
        return sign * bounded_weights(sign * score)

    def curvatures(self, score: Floats, labels: Ints) -> Floats:
        return fixed(np.exp(-np.abs(score)))


class Softmax:
    """Log loss of K > 2 classes with one score each; the residual is 1 for the record's class, minus the probability.

    A record's residuals are positive for its own class only, where 1 − p is, and −p for the others, which add up to
    p − 1: their absolute values add up to 2 (1 − p), and their squares to less than 2. The squares of the curvatures
    p (1 − p) add up to 4/27 at most, for p (1 − p)² is at most that.

    Rounding to multiples of 2⁻²⁸ moves each residual by at most 2⁻²⁹, so that the absolute values of K classes add up
    to K 2⁻²⁹ more at most, and the squares to 2⁻²⁷ + K 2⁻⁵⁸ more: the bounds below are above that for any K, and no
    residual passes 1. All of them follow from the record alone, to the last bit.
    """

    curvature = 0.4
    width = 1.0

    def __init__(self, n_classes: int) -> None:
        self.n_problems = n_classes
        self.absolute = 2 + n_classes / FIXED_POINT
        self.square = 2 + 2 * n_classes / FIXED_POINT

    def residuals(self, score: Floats, labels: Ints) -> Floats:
        own = labels == np.arange(self.n_problems)[:, None]
        return fixed(own - softmax(score))

    def curvatures(self, score: Floats, labels: Ints) -> Floats:
        p = softmax(score)
        return fixed(p * (1 - p))


class Clipped(Softmax):
    """Log loss of any number of classes with residuals cut to a length, for private gradient descent.

    Parameters
    ----------
    n_classes : number of classes; two classes have a single score, that of the second one.
    length : largest L2 norm of a record's residuals, at most √2.
    """

    def __init__(self, n_classes: int, length: float) -> None:
        super().__init__(n_classes)
        self.length = length
        self.n_problems = 1 if n_classes == 2 else n_classes
        self.square = (length + math.sqrt(n_classes) / FIXED_POINT) ** 2

    def residuals(self, score: Floats, labels: Ints) -> Floats:
        if self.n_problems == 1:
            own = (labels == 1) - 0.5 * (1 + np.tanh(score / 2))
        else:
            own = (labels == np.arange(self.n_problems)[:, None]) - softmax(score)
        long = np.sqrt(_of_each(own**2)) / self.length
        return fixed(own / np.maximum(long, 1.0))


class Huber:
    """Huber's loss of a number, which grows like a square up to ``width`` and linearly beyond it.

    The target's public range is [-1, 1] here. The residual is the distance of target and score in widths, cut to
    [-1, 1]; it is 1 at most for any width, which may change as long as it follows from what was released.

    References
    ----------
    Huber (1964), Robust estimation of a location parameter.
    """

    n_problems = 1
    absolute = square = curvature = 1.0

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high, self.width = low, high, 1.0

    def _distance(self, score: Floats, labels: Floats) -> Floats:
        share = (labels - self.low) / (self.high - self.low)
        distance: Floats = (fixed(2 * share - 1) - score) / self.width
        return distance

    def residuals(self, score: Floats, labels: Floats) -> Floats:
        return fixed(np.clip(self._distance(score, labels), -1, 1))

    def curvatures(self, score: Floats, labels: Floats) -> Floats:
        inside: Floats = (np.abs(self._distance(score, labels)) < 1).astype(float)
        return inside

    def squares(self, score: Floats, labels: Floats) -> Floats:
        """Squares of the residuals."""
        return fixed(self.residuals(score, labels) ** 2)

    def missed(self, score: Floats, labels: Floats) -> Floats:
        """Residuals of the predictions, which are the scores cut to the target's range."""
        return self.residuals(np.clip(score, -1, 1), labels)

    def distances(self, score: Floats, labels: Floats) -> Floats:
        """Absolute residuals of the predictions."""
        return np.abs(self.missed(score, labels))

    def along(self, score: Floats, labels: Floats, *, middle: float, reach: float) -> Floats:
        """Residuals of the predictions times the place of the score between middle ± reach, which are ±1."""
        return fixed(self.missed(score, labels) * _place(score, middle, reach))

    def places(self, score: Floats, labels: Floats, *, middle: float, reach: float) -> Floats:
        """These places."""
        return fixed(_place(score, middle, reach))

    def spreads(self, score: Floats, labels: Floats, *, middle: float, reach: float) -> Floats:
        """Squares of these places."""
        return fixed(_place(score, middle, reach) ** 2)

    def numbers(self, score: Floats) -> Floats:
        """The numbers that scores stand for, inside of the target's range."""
        share = (np.clip(score, -1, 1) + 1) / 2
        return self.low + share * (self.high - self.low)


def _place(score: Floats, middle: float, reach: float) -> Floats:
    return np.clip((score - middle) / reach, -1, 1)


def softmax(score: Floats) -> Floats:
    """Probability of each class, (classes, n), from scores of that shape."""
    odds = np.exp(score - score.max(axis=0))
    shares: Floats = odds / _of_each(odds)
    return shares


def _of_each(rows: Floats) -> Floats:
    """Sum over the classes (n,), one after the other: NumPy's adds up eight or more of a lone record in another order.

    What is computed of a record would then depend on whether there are others.
    """
    total: Floats = reduce(np.add, rows)
    return total


def loss_of(n_classes: int) -> Loss:
    """The loss that a booster minimises for a number of classes."""
    return Margins() if n_classes == 2 else Softmax(n_classes)


def bounded_weights(margin: Floats) -> Floats:
    """MadaBoost weights ``min(1, exp(−margin))``; they follow from the record itself and past outputs alone.

    They are rounded to multiples of 2⁻²⁸, and so are the steps of which a margin is the sum. Sums of size up to 2²⁵,
    such as those of the weights of 2²⁵ records, are then exact in any order.

    References
    ----------
    Domingo, Watanabe (2000), MadaBoost: a modification of AdaBoost.
    """
    return fixed(np.exp(-np.maximum(margin, 0.0)))


def fixed(values: ArrayLike) -> Floats:
    """Round to multiples of 2⁻²⁸."""
    return np.rint(np.asarray(values) * FIXED_POINT) / FIXED_POINT


def weight_right(within: Floats, *, total: float, difference: float) -> Floats:
    """Weight on which each stump is right, see :meth:`WeightedDoor.right`.

    Parameters
    ----------
    within : (conditions,) sum of u·y where each condition holds.
    total, difference : sum of u, and of u·y, over all records.
    """
    positive, negative = (total + difference) / 2, (total - difference) / 2
    return np.concatenate([negative + within, positive - within, [positive, negative]])
