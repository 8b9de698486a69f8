"""Bounds of ε from outputs on two neighbours: choose an event that tells them apart, and count how often it occurs.

A bound is a statement about the sampled outputs only: a subject that passes is not proved private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..arrays import Bools, Floats
from .result import Finding
from .settings import AuditSettings, Keywords, check_levels

Counts = NDArray[np.int_]
Statistic = Callable[[Floats], Floats]

MIN_RUNS = 40  # on each data set: five learn, five choose an event, and thirty measure it
CHOICE_LEVEL = 0.99  # at which an event is chosen, at most: few outputs tell events apart at no higher one
MOST_CUTS = 200  # thresholds, and frequent values, that are tried of each number


# --- Counts ---------------------------------------------------------------------------------------------------


def clopper_pearson(successes: Counts, trials: int, *, alpha: float) -> tuple[Floats, Floats]:
    """Ends of exact confidence intervals of probabilities; each misses with at most ``alpha``, half on each side.

    References
    ----------
    Clopper and Pearson (1934), The use of confidence or fiducial limits.
    """
    k = np.asarray(successes, float)
    # The corners k = 0 and k = trials are no Beta distributions; their bounds are 0 and 1.
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), trials - k + 1, alpha / 2))
    high = np.where(k == trials, 1.0, betaincinv(k + 1, np.maximum(trials - k, 1), 1 - alpha / 2))
    return low, high


def _log_ratios(
    first: Counts, second: Counts, *, runs: tuple[int, int], confidence: float, delta: float
) -> Floats:
    """Lower bound of ε for each pair of counts, better direction; ``-inf`` if the counts show nothing."""
    p_low, p_high = clopper_pearson(first, runs[0], alpha=(1 - confidence) / 2)
    q_low, q_high = clopper_pearson(second, runs[1], alpha=(1 - confidence) / 2)
    ratio = np.maximum((p_low - delta) / q_high, (q_low - delta) / p_high)
    with np.errstate(divide="ignore"):
        bounds: Floats = np.log(np.maximum(ratio, 0.0))
    return bounds


def epsilon_bound(k: int, l: int, n_k: int, n_l: int, *, confidence: float, delta: float = 0.0) -> float:  # noqa: E741
    """Lower confidence bound of ε from how often an event fixed in advance occurs on two neighbours.

    Four Clopper–Pearson bounds (two probabilities, two directions) share the error probability equally, and
    ε ≥ ln((p_low − δ) / q_high) holds in the better direction.

    Parameters
    ----------
    k, l : number of outputs in the event, on the first and the second data set.
    n_k, n_l : number of outputs seen on each.
    confidence : probability in (0, 1) that the bound holds.
    delta : δ of the claim, in [0, 1).

    Returns
    -------
    The bound, 0 if the counts show nothing.
    """
    check_levels(confidence, delta)
    for successes, trials in ((k, n_k), (l, n_l)):
        if not 0 <= successes <= trials or trials < 1:
            raise ValueError(
                f"{successes} of {trials} outputs in the event: expected 0 to {trials} of at least 1"
            )
    bound = _log_ratios(np.array([k]), np.array([l]), runs=(n_k, n_l), confidence=confidence, delta=delta)
    return max(float(bound[0]), 0.0)


def largest_bound(runs: int, *, confidence: float) -> float:
    """Largest ε that an attack with ``runs`` fits on each data set can show, about ln(n / ln(4 / α))."""
    measured = runs - 2 * _eighth(runs)
    return epsilon_bound(measured, 0, measured, measured, confidence=confidence)


# --- Events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OutputEvent:
    """A set of outputs: what is looked at, and how it compares with a number.

    Parameters
    ----------
    statistic : what is looked at, in words.
    relation : ``">"``, ``"≤"``, ``"="`` or ``"≠"``; ``"≤"`` and ``"≠"`` are the complements, missing values included.
    value : the number; NaN stands for "missing" in ``"="`` and ``"≠"``.
    """

    statistic: str
    relation: str
    value: float

    def holds(self, values: Floats) -> Bools:
        """Whether each value is in the event."""
        if self.relation in (">", "≤"):
            inside = values > self.value
        else:
            inside = np.isnan(values) if math.isnan(self.value) else values == self.value
        return inside if self.relation in (">", "=") else ~inside

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"{self.statistic} is {'missing' if self.relation == '=' else 'present'}"
        return f"{self.statistic} {self.relation} {self.value:.6g}"


@dataclass(frozen=True, kw_only=True)
class SampledFinding(Finding):
    """The finding of an attack, with the numbers that it rests on.

    Parameters
    ----------
    shown : the event that tells the data sets apart.
    on_first, on_second : (n,) the event's statistic in the runs that measured it, on D and D′.
    """

    shown: OutputEvent = OutputEvent("", "=", math.nan)
    on_first: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    on_second: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)


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
    """Events of one statistic that are worth trying, and how many values on D and D′ are in each.

    Parameters
    ----------
    relation : ``">"`` or ``"="``, a word an event.
    value : (events,) NaN for "missing".
    first, second : (events,) number of values in the event.
    """

    relation: list[str]
    value: Floats
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


def _best_event(
    name: str, a: Floats, b: Floats, *, confidence: float, delta: float
) -> tuple[float, OutputEvent]:
    """Event of one statistic with the largest bound on the values ``a`` and ``b``."""
    offered = events(a, b)
    bound = partial(_log_ratios, runs=(len(a), len(b)), confidence=confidence, delta=delta)
    inside = bound(offered.first, offered.second)
    outside = bound(len(a) - offered.first, len(b) - offered.second)
    best = int(np.argmax(np.maximum(inside, outside)))
    event = offered.event(name, best, complement=bool(outside[best] > inside[best]))
    return float(max(inside[best], outside[best])), event


def column(j: int) -> Statistic:
    """The statistic that is one of the numbers."""
    return lambda outputs: outputs[:, j]


def classifiers(a: Floats, b: Floats, *, seed: int) -> Iterator[tuple[str, Statistic]]:
    """Statistics learnt from outputs on the two data sets: log-odds of the second one."""
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
        return np.nan_to_num(units, nan=0.0, posinf=1e3, neginf=-1e3)

    linear = LogisticRegression(max_iter=500).fit(scaled(X), z)
    boosted = HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=seed
    ).fit(bounded(X), z)
    yield "log-odds of D′ by logistic regression", lambda x: np.asarray(linear.decision_function(scaled(x)))
    yield "log-odds of D′ by boosted trees", lambda x: np.asarray(boosted.decision_function(bounded(x)))


def _chosen(
    statistics: Sequence[tuple[str, Statistic]],
    first: Floats,
    second: Floats,
    *,
    confidence: float,
    delta: float,
) -> tuple[OutputEvent, Statistic]:
    """The event with the largest bound on these outputs, and its statistic."""
    offers = [
        _best_event(name, statistic(first), statistic(second), confidence=confidence, delta=delta)
        for name, statistic in statistics
    ]
    best = int(np.argmax([bound for bound, _ in offers]))
    return offers[best][1], statistics[best][1]


def _split(outputs: Floats) -> list[Floats]:
    """The parts that learn, choose and measure."""
    eighth = _eighth(len(outputs))
    return np.split(outputs, [eighth, 2 * eighth])


def _eighth(runs: int) -> int:
    return math.ceil(runs / 8)


def _as_outputs(values: ArrayLike, which: str) -> Floats:
    outputs = np.asarray(values, float)
    if outputs.ndim == 1:
        outputs = outputs[:, None]
    if outputs.ndim != 2 or len(outputs) < MIN_RUNS or not outputs.shape[1]:
        raise ValueError(
            f"outputs on the {which} data set have shape {outputs.shape}: expected (runs >= {MIN_RUNS}, q)"
        )
    return outputs


def as_outputs(
    first: ArrayLike, second: ArrayLike, names: Sequence[str] | None
) -> tuple[Floats, Floats, list[str]]:
    """Outputs on two data sets as tables of the same columns, and the columns' names."""
    a, b = _as_outputs(first, "first"), _as_outputs(second, "second")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"outputs have {a.shape[1]} and {b.shape[1]} columns: expected as many on both")
    names = [f"output {j}" for j in range(a.shape[1])] if names is None else list(names)
    if len(names) != a.shape[1]:
        raise ValueError(f"{len(names)} names for {a.shape[1]} columns of outputs: expected one each")
    return a, b, names


def compare(
    first: ArrayLike,
    second: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    **settings: Unpack[Keywords],
) -> SampledFinding:
    """Bound ε from independent outputs on two neighbours D and D′.

    An eighth of the outputs trains two classifiers, an eighth chooses one event (a threshold or a frequent value
    of one number, or a threshold of a classifier's score), and the rest measures that event. Since no output
    takes part in both choice and measurement, the bound holds with the stated confidence. It does so whatever the
    event is chosen for: that is the largest bound at the stated confidence, or at 0.99 if that is less, because at
    1 − 10⁻⁶ the few outputs that choose show next to nothing, and the choice would go by chance.

    Parameters
    ----------
    first, second : (n, q) or (n,) outputs on D and D′, a row a run; NaN where an output lacks a number.
    names : (q,) names of the numbers, for the event.
    settings : of :class:`~dpnb.audit.settings.AuditSettings`; the seed is that of the split and of the classifiers.

    Raises
    ------
    ValueError
        For fewer than 40 outputs on a data set, or numbers out of range.

    References
    ----------
    Bichsel, Steffen, Bogunovic, Vechev (2021), DP-Sniper; Jagielski, Ullman, Oprea (2020), Auditing DP-SGD.
    """
    asked = AuditSettings(**settings)
    a, b, names = as_outputs(first, second, names)
    rng = np.random.default_rng(asked.seed)
    learn, choose, measure = zip(*(_split(rng.permutation(side)) for side in (a, b)), strict=True)
    columns = [(name, column(j)) for j, name in enumerate(names)]
    # One thread: the answer does not depend on the machine, and processes forked later inherit no thread pool.
    with threadpool_limits(1):
        statistics = [*columns, *classifiers(*learn, seed=int(rng.integers(2**31)))]
        level = min(asked.confidence, CHOICE_LEVEL)
        event, statistic = _chosen(statistics, *choose, confidence=level, delta=asked.delta)
        on_first, on_second = (statistic(side) for side in measure)
    runs = len(on_first), len(on_second)
    k, l = (event.holds(side).sum(keepdims=True) for side in (on_first, on_second))  # noqa: E741
    bound = float(_log_ratios(k, l, runs=runs, confidence=asked.confidence, delta=asked.delta)[0])
    return asked.finding(
        SampledFinding,
        instrument="attack",
        lower_bound=max(bound, 0.0),
        event=f"{event}: {k[0]} of {runs[0]} on D, {l[0]} of {runs[1]} on D′",
        trials=len(a) + len(b),
        shown=event,
        on_first=on_first,
        on_second=on_second,
    )
