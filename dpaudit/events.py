"""Events: sets of outputs, by a threshold or a value of one number, that two samples show unequally often."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from dpnb.arrays import Bools, Floats

Counts = NDArray[np.int_]
Statistic = Callable[[Floats], Floats]
MOST_CUTS = 200  # thresholds, and frequent values, that are tried of each number


# --- Events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OutputEvent:
    """A set of outputs, given by a statistic and its comparison with a number."""

    statistic: str  # the statistic, in words
    # `">"`, `"≤"`, `"="` or `"≠"`; `"≤"` and `"≠"` are the complements, missing values included.
    relation: str
    value: float  # the number; NaN stands for "missing" in `"="` and `"≠"`

    def holds(self, values: Floats) -> Bools:
        """Whether each value is in the event."""
        if self.relation in (">", "≤"):
            inside = values > self.value
        else:
            inside = np.isnan(values) if math.isnan(self.value) else values == self.value
        return inside if self.relation in (">", "=") else ~inside

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"there is {'no' if self.relation == '=' else 'a value for'} {self.statistic}"
        return f"{self.statistic} {self.relation} {self.value:.6g}"


def _cuts(a: Floats, b: Floats) -> Floats:
    """Thresholds worth trying: all values if few, else spread over the ranks and dense in the tails."""
    pooled = np.unique(np.concatenate([a, b]))
    if len(pooled) <= MOST_CUTS:
        return pooled
    ranks = np.geomspace(1, len(pooled) // 2, MOST_CUTS // 3).astype(int)
    even = np.linspace(0, len(pooled) - 1, MOST_CUTS // 3).astype(int)
    spread = pooled[np.concatenate([ranks - 1, len(pooled) - 1 - ranks, even])]
    # The largest values of each side are where disjoint supports part.
    ends = [edge(side) for side in (a, b) if len(side) for edge in (np.min, np.max)]
    return np.unique(np.concatenate([spread, ends]))


def _above(values: Floats, cuts: Floats) -> Counts:
    return len(values) - np.searchsorted(values, cuts, side="right")


def _equal(values: Floats, points: Floats) -> Counts:
    return np.searchsorted(values, points, side="right") - np.searchsorted(values, points, side="left")


@dataclass(frozen=True)
class Events:
    """Events of one statistic that are worth trying, and how many values on D and D′ are in each."""

    relation: list[str]  # `">"` or `"="`, a word an event
    value: Floats  # (events,) NaN for "missing"
    # first, second: (events,) number of values in the event.
    first: Counts
    second: Counts

    def event(self, name: str, at: int, *, complement: bool = False) -> OutputEvent:
        """One of the events, or its complement."""
        relation = self.relation[at]
        if complement:
            relation = {">": "≤", "=": "≠"}[relation]
        return OutputEvent(name, relation, float(self.value[at]))


def events(a: Floats, b: Floats) -> Events:
    """Thresholds, frequent values, and missing values, of a statistic with the values ``a`` on D and ``b`` on D′."""
    x, y = np.sort(a[~np.isnan(a)]), np.sort(b[~np.isnan(b)])
    cuts = _cuts(x, y)
    points, often = np.unique(np.concatenate([x, y]), return_counts=True)
    points, often = points[often > 1], often[often > 1]
    points = points[np.argsort(-often, kind="stable")[:MOST_CUTS]]
    first, second = (
        np.concatenate([_above(z, cuts), _equal(z, points), [n - len(z)]])
        for z, n in ((x, len(a)), (y, len(b)))
    )
    relation = [">"] * len(cuts) + ["="] * (len(points) + 1)
    return Events(relation, np.concatenate([cuts, points, [np.nan]]), first, second)


def column(j: int) -> Statistic:
    """The statistic that is one of the numbers."""
    return lambda outputs: outputs[:, j]


def classifiers(a: Floats, b: Floats, *, seed: int) -> Iterator[tuple[str, Statistic]]:
    """Statistics learnt from outputs on the two data sets: log-odds of the second one, the quick one first."""
    X, z = np.concatenate([a, b]), np.repeat([0, 1], [len(a), len(b)])
    finite = np.where(np.isfinite(X), X, np.nan)
    kept = np.flatnonzero([len(np.unique(column[~np.isnan(column)])) > 1 for column in finite.T])
    if not len(kept):
        return
    low, high = np.nanmin(finite[:, kept], axis=0), np.nanmax(finite[:, kept], axis=0)
    centre, spread = np.nanmean(finite[:, kept], axis=0), np.nanstd(finite[:, kept], axis=0)

    def bounded(outputs: Floats) -> Floats:
        return np.clip(outputs[:, kept], low, high)

    def scaled(outputs: Floats) -> Floats:
        # Tails count: do not clip what the training part happened not to reach.
        units: Floats = (outputs[:, kept] - centre) / spread
        return units if np.isfinite(units).all() else np.nan_to_num(units, nan=0.0, posinf=1e3, neginf=-1e3)

    linear = LogisticRegression(max_iter=500).fit(scaled(X), z)
    weights, level = linear.coef_.T, linear.intercept_  # its own function takes long to check one output
    yield "log-odds of D′ by logistic regression", lambda x: np.ravel(scaled(x) @ weights + level)
    boosted = HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=seed
    ).fit(bounded(X), z)
    yield "log-odds of D′ by boosted trees", lambda x: np.asarray(boosted.decision_function(bounded(x)))
