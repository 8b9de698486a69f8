"""Bounds of ε from outputs on two neighbours, by the counts of an event that tells the data sets apart.

A bound is a statement about the sampled outputs only, so a subject that passes is not proved private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betainccinv, betaincinv, gammaln, logit
from scipy.stats import binom
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..arrays import Bools, Floats
from .result import Finding
from .settings import AuditSettings, Keywords, check_levels

Counts = NDArray[np.int_]
Statistic = Callable[[Floats], Floats]

MIN_RUNS = 40  # on each data set: five learn, five choose an event, and thirty measure it
CHOICE_LEVEL = 0.999  # of limits that choose an event: at a lower level luck decides, at a higher one nothing
MOST_CUTS = 200  # thresholds, and frequent values, that are tried of each number
RESERVED = 0.01  # of α: half for far probabilities, a quarter for far counts, a quarter for rounding
STEPS = 24  # points of the border at which a tail is summed, for each of two probabilities
PRECISION = 1e-6  # of ε


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
    high = np.where(k == trials, 1.0, betainccinv(k + 1, np.maximum(trials - k, 1), alpha / 2))
    return low, high


class _Limits:
    """Of counts: one-sided limits of their probabilities, each at ``alpha``, and their shares."""

    def __init__(self, counts: Counts, trials: int, *, alpha: float) -> None:
        self.low, self.high = clopper_pearson(counts, trials, alpha=2 * alpha)
        self.share = np.maximum(counts, 0.5) / trials


def _shown(first: _Limits, second: _Limits, *, delta: float) -> Floats:
    """Ratio of two probabilities after δ, one by its limit and one by its share, the smaller; better direction."""
    ratios = [
        np.minimum((one.low - delta) / other.share, (one.share - delta) / other.high)
        for one, other in ((first, second), (second, first))
    ]
    return np.asarray(np.maximum(*ratios))


class _Count(_Limits):
    """A count's interval of probabilities, and the counts that these make likely."""

    def __init__(self, seen: int, trials: int, *, alpha: float) -> None:
        self.trials = trials
        low, high = clopper_pearson(np.array(seen), trials, alpha=alpha * RESERVED / 4)
        self.ends = float(low), float(high)
        rare = alpha * RESERVED / 32
        few, many = (int(binom.ppf(rare, trials, p)) for p in (low, 1 - high))
        self.near = np.arange(few, trials - many + 1)
        super().__init__(self.near, trials, alpha=alpha)
        self._logs = gammaln(trials + 1) - gammaln(self.near + 1) - gammaln(trials - self.near + 1)

    def masses(self, p: Floats) -> Floats:
        """(len(p), near) probability of each near count."""
        logs = self._logs + self.trials * np.log1p(-p)[:, None] + logit(p)[:, None] * self.near
        return np.asarray(np.exp(logs))

    def sag(self, p: Floats) -> Floats:
        """(len(p) - 1,) how far n ln(1 + e^θ), θ the log-odds, is below its chord between neighbours, at most."""
        steepest = np.clip(0.5, p[:-1], p[1:])
        return np.asarray(self.trials * steepest * (1 - steepest) * np.diff(logit(p)) ** 2 / 8)


class _Tail:
    """The pairs of near counts that show at least a ratio."""

    def __init__(self, first: _Count, second: _Count, *, ratio: float, delta: float) -> None:
        self.first, self.second, self.delta = first, second, delta
        self._start = np.maximum(
            np.searchsorted(first.low, delta + ratio * second.share),
            np.searchsorted(first.share, delta + ratio * second.high),
        )

    def largest(self, epsilon: float) -> float:
        """Upper bound of the tail's probability over the p ≤ e^ε q + δ in the intervals."""
        p, q = (np.clip(side, 1e-300, 1 - 2**-53) for side in self._border(math.exp(epsilon)))
        above = np.cumsum(self.first.masses(p)[:, ::-1], axis=1)[:, ::-1]
        above = np.pad(above, ((0, 0), (0, 1)))[:, self._start]
        below = self.second.masses(q)
        exact = (above * below).sum(axis=1)
        if len(p) < 2:
            return float(exact.sum())
        corners = (above[1:] * below[:-1]).sum(axis=1)
        with np.errstate(over="ignore"):
            chords = np.maximum(exact[1:], exact[:-1]) * np.exp(self.first.sag(p) + self.second.sag(q))
        return float(np.minimum(corners, chords).max())

    def _border(self, grow: float) -> tuple[Floats, Floats]:
        """Pairs with p = e^ε q + δ; one corner if all of the intervals obeys, none if nothing does."""
        (p_low, p_high), (q_low, q_high) = self.first.ends, self.second.ends
        if p_high <= grow * q_low + self.delta:
            return np.array([p_high]), np.array([q_low])
        start, end = max(q_low, (p_low - self.delta) / grow), min(q_high, (p_high - self.delta) / grow)
        if start > end:
            return np.empty(0), np.empty(0)
        by_p = (_even(grow * start + self.delta, grow * end + self.delta) - self.delta) / grow
        q = np.unique(np.clip(np.concatenate([_even(start, end), by_p]), start, end))
        return np.minimum(grow * q + self.delta, 1.0), q


def _even(low: float, high: float) -> Floats:
    """Probabilities whose counts are equally many standard deviations apart."""
    first, last = (math.asin(math.sqrt(min(end, 1.0))) for end in (low, high))
    return np.asarray(np.sin(np.linspace(first, last, STEPS)) ** 2)


def epsilon_bound(k: int, l: int, n_k: int, n_l: int, *, confidence: float, delta: float = 0.0) -> float:  # noqa: E741
    """Lower confidence bound of ε from how often an event fixed in advance occurs on two neighbours.

    An exact test of both counts rejects every smaller ε.

    Parameters
    ----------
    k, l : number of outputs in the event, on the first and the second data set.
    n_k, n_l : number of outputs seen on each.
    confidence : probability in (0, 1) that the bound holds.
    delta : δ of the claim, in [0, 1).

    Returns
    -------
    The bound, 0 if the counts show nothing.

    Notes
    -----
    Let p and q be the event's probabilities, T a statistic fixed in advance with the value t, and C intervals that miss
    p or q with probability r at most. The test's π(ε) is r + sup P(T ≥ t) over the pairs in C that obey (ε, δ). If
    (p, q) obeys, then π(ε) ≤ α has probability α at most: either C misses, or P(T ≥ t) at (p, q) itself is at most
    α − r. More pairs obey a larger ε, so π rises, and the bound passes the true ε only if π is at most α there.

    T is the larger one of two directions. The first is min((p_low − δ) / q̂, (p̂ − δ) / q_high), with shares p̂ and q̂
    and limits at α; any choice is valid. Its tail is a union of two, so the two suprema are added. The first part's
    probability rises in p and falls in q. So its supremum is on the border p = e^ε q + δ, and between two points of the
    border it is at most the value at the larger p and the smaller q. It is also at most the larger one of the two
    values times exp((n v Δθ² + m w Δη²) / 8), with θ and η the log-odds of p and q, and v and w the largest p(1 − p)
    and q(1 − q) between: its logarithm is a convex function of (θ, η) less n ln(1 + e^θ) + m ln(1 + e^η), and as
    dθ/dη = (1 − δ/p) (1 − q) / (1 − p) rises along the border, its chords have the larger p.

    References
    ----------
    Buehler (1957), Confidence intervals for the product of two binomial parameters; Berger and Boos (1994), P values
    maximized over a confidence set for the nuisance parameter.
    """
    check_levels(confidence, delta)
    for successes, trials in ((k, n_k), (l, n_l)):
        if not 0 <= successes <= trials or trials < 1:
            raise ValueError(
                f"{successes} of {trials} outputs in the event: expected 0 to {trials} of at least 1"
            )
    alpha = 1 - confidence
    seen = (_Limits(np.array(count), n, alpha=alpha) for count, n in ((k, n_k), (l, n_l)))
    shown = float(_shown(*seen, delta=delta))
    if shown <= 0:
        return 0.0
    counts = _Count(k, n_k, alpha=alpha), _Count(l, n_l, alpha=alpha)
    # A little less than what is shown: rounding must not push the counts themselves out of their tail.
    tails = [_Tail(*pair, ratio=shown * (1 - 1e-9), delta=delta) for pair in (counts, counts[::-1])]

    def excess(epsilon: float) -> float:
        return math.log((alpha * RESERVED + sum(tail.largest(epsilon) for tail in tails)) / alpha)

    if excess(0.0) >= 0:
        return 0.0
    # No ε is rejected under which the less likely count can be 0 with probability 1 - e^-6.
    most = math.log(max(n_k, n_l)) + 6
    return max(float(brentq(excess, 0.0, most, xtol=PRECISION)) - 2 * PRECISION, 0.0)


def largest_bound(runs: int, *, confidence: float) -> float:
    """Largest ε that an attack with ``runs`` fits on each data set can show, about ln(n / ln(1 / α))."""
    measured = runs - 2 * _eighth(runs)
    return epsilon_bound(measured, 0, measured, measured, confidence=confidence)


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
            return f"{self.statistic} is {'missing' if self.relation == '=' else 'present'}"
        return f"{self.statistic} {self.relation} {self.value:.6g}"


@dataclass(frozen=True, kw_only=True)
class SampledFinding(Finding):
    """The finding of an attack, with the numbers that it rests on."""

    shown: OutputEvent = OutputEvent("", "=", math.nan)  # the event that tells the data sets apart
    # on_first, on_second: (n,) the event's statistic in the runs that measured it, on D and D′.
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


def _best_event(name: str, a: Floats, b: Floats, *, delta: float) -> tuple[float, OutputEvent]:
    """Event of one statistic that shows most on the values ``a`` and ``b``, and the ratio that it shows."""
    offered = events(a, b)

    def shown(k: Counts, l: Counts) -> Floats:  # noqa: E741
        counts = (_Limits(side, len(z), alpha=1 - CHOICE_LEVEL) for side, z in ((k, a), (l, b)))
        return _shown(*counts, delta=delta)

    inside = shown(offered.first, offered.second)
    outside = shown(len(a) - offered.first, len(b) - offered.second)
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
    statistics: Sequence[tuple[str, Statistic]], first: Floats, second: Floats, *, delta: float
) -> tuple[OutputEvent, Statistic]:
    """The event that shows most on these outputs, and its statistic."""
    offers = [
        _best_event(name, statistic(first), statistic(second), delta=delta) for name, statistic in statistics
    ]
    best = int(np.argmax([shown for shown, _ in offers]))
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

    An eighth of the outputs trains two classifiers, an eighth chooses one event (a threshold or a frequent value of one
    number, or a threshold of a classifier's score), and the rest measures that event. Since no output takes part in
    both choice and measurement, the bound holds with the stated confidence, however the event is chosen. We choose it
    by the statistic of :func:`epsilon_bound`'s test with limits at 0.999, whatever the stated confidence is. At a lower
    level rare outputs are taken by luck, and at 1 − 10⁻⁶ the few outputs that choose show next to nothing.

    Parameters
    ----------
    first, second : (n, q) or (n,) outputs on D and D′, with a row for each run; NaN where an output lacks a number.
    names : (q,) names of the numbers, for the event.
    settings : settings of :class:`~dpnb.audit.settings.AuditSettings`; the seed is that of the split and of the
        classifiers.

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
        event, statistic = _chosen(statistics, *choose, delta=asked.delta)
        on_first, on_second = (statistic(side) for side in measure)
    runs = len(on_first), len(on_second)
    k, l = (int(event.holds(side).sum()) for side in (on_first, on_second))  # noqa: E741
    bound = epsilon_bound(k, l, *runs, confidence=asked.confidence, delta=asked.delta)
    return asked.finding(
        SampledFinding,
        instrument="attack",
        lower_bound=bound,
        event=f"{event}: {k} of {runs[0]} on D, {l} of {runs[1]} on D′",
        trials=len(a) + len(b),
        shown=event,
        on_first=on_first,
        on_second=on_second,
    )
