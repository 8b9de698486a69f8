"""Trade-off curves of two neighbours, with confidence over all thresholds at once, and what follows for ε, δ, μ and ρ.

A score orders the outputs; whoever sees one above a threshold says D′, else D. The chance of being right on D and the
one of being right on D′ bound everything that a claim of privacy says about the pair.

Notes
-----
*Band.* Of n outputs on D let k have a score up to t. Let ℓ_1 ≤ … ≤ ℓ_n be numbers such that the order statistics of n
uniform numbers stay above them, U_(k) ≥ ℓ_k for all k, with probability 1 − α. Then with the same probability
P(score ≤ t) ≥ ℓ_k at all t at once, whatever the law of the scores is: the distribution function at the k-th smallest
score is at least as large as its uniform number. The ℓ_k are quantiles of the Beta(k, n − k + 1) laws at one local
level η, so that tails are treated like the middle. η follows from an exact recursion for finite n. On D′ the same holds
of the scores above t. No bound in the other direction is needed.

*Pin.* Most of α goes to one threshold that was chosen on other outputs: two Clopper–Pearson bounds, one on each side.

All of it holds together with probability ``confidence`` at least, by the union bound.

References
----------
Clopper and Pearson (1934); Berk and Jones (1979), Goodness-of-fit test statistics that dominate the Kolmogorov
statistics; Moscovich and Nadler (2017), Fast calculation of boundary crossing probabilities for Poisson processes;
Dong, Roth, Su (2022), Gaussian differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betaincinv, gammaln, ndtri, xlogy
from scipy.stats import binom
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dpaudit.betting import gaussian_delta
from dpaudit.events import Statistic, classifiers, column
from dpaudit.settings import check_claim, check_levels
from dpnb.arrays import Floats, Ints
from dpnb.replay import Finding

from .counts import clopper_pearson
from .fixed import as_outputs

Focus = float | Literal["mu"]

LEARN = 0.1  # share of the outputs that learns scores, and as much again chooses one
PIN = 0.75  # share of α for the threshold that was chosen beforehand
SPLITS = (0.1, 0.25, 0.5, 0.75, 0.9)  # of the pin's α between the two sides
SPACING = 0.5  # of the band's steps, in standard deviations of a count
NEGLIGIBLE = 1e-19  # probabilities that are dropped, to the band's disadvantage
MOST_VALUES = 64  # of an output whose values are counted one by one
ORDERS = np.concatenate([[1.0], 1 + np.geomspace(1e-3, 1e3, 60)])  # of Rényi divergences
DELTAS = (0.0, *np.geomspace(1e-6, 0.5, 40).tolist())  # where a curve is compared with a ledger's


# --- Band ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def band(n: int, *, alpha: float) -> Floats:
    """Numbers below which no order statistic of uniform numbers falls, but with probability ``alpha``.

    Parameters
    ----------
    n : how many uniform numbers.
    alpha : probability in (0, 1) that some order statistic is below its number.

    Returns
    -------
    (n + 1,) floats, not falling: P(U_(k) ≥ band[k] for k = 1, …, n) ≥ 1 − alpha, and band[0] = 0.
    """
    ranks = _ranks(n)

    def ends(log_level: float) -> Floats:
        return np.asarray(betaincinv(ranks, n - ranks + 1, math.exp(log_level)), float)

    def excess(log_level: float) -> float:
        return math.log(max(1 - stay_above(n, ranks, ends(log_level)), 1e-300)) - math.log(alpha)

    low, high = math.log(alpha / len(ranks)), math.log(alpha)
    level = float(brentq(excess, low, high, xtol=1e-3)) if len(ranks) > 1 else high
    while excess(level) > 0:  # the root is met up to its tolerance: end on the safe side
        level -= 1e-3
    values = np.zeros(n + 1)
    values[ranks] = ends(level)
    found: Floats = np.maximum.accumulate(values)
    found.flags.writeable = False
    return found


def _ranks(n: int) -> Ints:
    """Ranks at which the band steps up: all in the tails, else in shares of a standard deviation."""
    ranks = [1]
    while ranks[-1] < n:
        k = ranks[-1]
        ranks.append(min(n, k + max(1, int(SPACING * math.sqrt(k * (1 - k / n) + 1)))))
    return np.array(ranks)


def stay_above(n: int, ranks: Ints, ends: Floats) -> float:
    """Probability that the order statistics of n uniform numbers are at least ``ends`` at the given ranks.

    Parameters
    ----------
    n : how many uniform numbers.
    ranks, ends : (j,) rising ranks from 1 to n, and rising numbers in [0, 1).

    Notes
    -----
    Fewer than k numbers lie below the end of rank k. Uniform numbers are a Poisson process of rate n, given that it has
    n points. Its counts have independent increments, so one convolution a rank follows the law of the count. What
    is below 1e-19 is dropped, so that the result errs on the low side up to rounding.
    """
    state, least, reached = np.ones(1), 0, 0.0
    for rank, end in zip(ranks.tolist(), ends.tolist(), strict=True):
        state = np.convolve(state, _poisson(n * (end - reached)))[: rank - least]
        kept = np.flatnonzero(state > NEGLIGIBLE)
        if not len(kept):
            return 0.0
        state, least, reached = state[kept[0] : kept[-1] + 1], least + int(kept[0]), end
    left = n - (least + np.arange(len(state)))
    return float(state @ np.exp(_log_poisson(left, n * (1 - reached)) - _log_poisson(np.array(n), float(n))))


def _poisson(mean: float) -> Floats:
    most = int(mean + 9 * math.sqrt(mean) + 40)
    return np.exp(_log_poisson(np.arange(most), mean))


def _log_poisson(k: Ints, mean: float) -> Floats:
    return np.asarray(xlogy(k, mean) - mean - gammaln(k + 1.0), float)


# --- The curve ------------------------------------------------------------------------------------------------


class Priced(Protocol):
    """A ledger: what it says that δ costs."""

    def at(self, delta: float | None) -> Any:
        """Total at δ, with its ``epsilon``."""


@dataclass(frozen=True, kw_only=True)
class Tradeoff:
    """Lower confidence bounds of the chances of being right on D and on D′, at all thresholds of a score at once."""

    score: str  # what orders the outputs, in words
    # (j,) rising thresholds; an output with a score above is said to come from D′.
    cuts: Floats = field(repr=False)
    # right_first, right_second: (j,) lower bounds of P(score ≤ cut) on D and of P(score > cut) on D′.
    right_first: Floats = field(repr=False)
    right_second: Floats = field(repr=False)
    # seen_first, seen_second: (j,) the same as shares of the measured outputs.
    seen_first: Floats = field(repr=False)
    seen_second: Floats = field(repr=False)
    pinned: int  # index of the cut that was chosen on other outputs
    confidence: float  # probability that all bounds hold together
    measured: tuple[int, int]  # outputs that measured, on D and D′
    trials: int  # outputs in all

    @property
    def false_positive(self) -> Floats:
        """(j,) upper bounds of the false positive rate: D′ is said on D."""
        return 1 - self.right_first

    @property
    def false_negative(self) -> Floats:
        """(j,) upper bounds of the false negative rate: D is said on D′."""
        return 1 - self.right_second

    def _best(self, delta: float) -> tuple[float, int]:
        values = _log_ratio(self.right_first, self.right_second, delta)
        return float(values.max()), int(values.argmax())

    def epsilon(self, delta: float = 0.0) -> float:
        """Lower bound of ε at δ: no (ε, δ) below is true of both directions. 0 if the outputs show nothing."""
        check_levels(self.confidence, delta)
        return max(self._best(delta)[0], 0.0)

    def delta(self, epsilon: float) -> float:
        """Lower bound of δ at ε."""
        grow = math.exp(min(epsilon, 700.0))
        a, b = self.right_first, self.right_second
        return max(float(np.maximum(b - grow * (1 - a), a - grow * (1 - b)).max()), 0.0)

    def mu(self) -> float:
        """Lower bound of μ: the pair is not μ'-GDP for any smaller μ'. No family of laws is assumed."""
        return max(float(_separation(self.right_first, self.right_second).max()), 0.0)

    def rho(self) -> float:
        """Lower bound of ρ under zCDP: Rényi divergences of the decision are at most those of the outputs."""
        a, b = self.right_first, self.right_second
        some = a + b > 1  # else the bounds show nothing
        if not some.any():
            return 0.0
        a, b = a[some, None], b[some, None]
        return float(max(_renyi_rate(b, 1 - a).max(), _renyi_rate(a, 1 - b).max(), 0.0))

    def gaussian_epsilon(self, delta: float) -> float:
        """ε at δ that :meth:`mu` gives: any smaller one is false *as a claim of μ-GDP*, such as Gaussian noise."""
        return gaussian_epsilon(self.mu(), delta=delta)

    def finding(
        self,
        claimed: float,
        *,
        delta: float = 0.0,
        gaussian: bool = False,
        neighbours: str = "add-remove",
        subject: str = "",
        pair: str = "",
    ) -> Finding:
        """Finding against a claim of (ε, δ).

        Parameters
        ----------
        claimed, delta : the claim.
        gaussian : whether it is one of Gaussian noise, or of μ-GDP told at that δ; then μ decides.
        neighbours, subject, pair : as of :func:`~private_trees.auditing.fixed.compare`.
        """
        check_claim(claimed)
        if gaussian:
            at = int(_separation(self.right_first, self.right_second).argmax())
            shown = self.gaussian_epsilon(delta), f"{self._event(at)}, so μ ≥ {self.mu():.4g}"
        else:
            shown = self.epsilon(delta), self._event(self._best(delta)[1])
        return self._finding(claimed, delta, *shown, neighbours, subject, pair)

    def against(self, ledger: Priced, *, subject: str = "", pair: str = "") -> Finding:
        """Finding against a ledger's whole curve, at the δ where the measured one exceeds it most.

        Parameters
        ----------
        ledger : its ``at(δ)`` is the claim, for δ = 0 as ``at(None)``. Its ``neighbours``, if it has them, are those of
            the claim.
        subject, pair : as of :func:`~private_trees.auditing.fixed.compare`.
        """
        claims = [float(ledger.at(delta or None).epsilon) for delta in DELTAS]
        excess = [
            self.epsilon(delta) - claim if math.isfinite(claim) else -math.inf
            for delta, claim in zip(DELTAS, claims, strict=True)
        ]
        worst = int(np.argmax(excess))
        delta = DELTAS[worst]
        shown = self.epsilon(delta), self._event(self._best(delta)[1])
        neighbours = str(getattr(ledger, "neighbours", "add-remove"))
        return self._finding(claims[worst], delta, *shown, neighbours, subject, pair)

    def _finding(
        self, claimed: float, delta: float, bound: float, event: str, neighbours: str, subject: str, pair: str
    ) -> Finding:
        return Finding(
            instrument="curve",
            subject=subject,
            claimed=claimed,
            lower_bound=bound,
            confidence=self.confidence,
            neighbours=neighbours,
            pair=pair,
            event=event,
            delta=delta,
            trials=self.trials,
        )

    def _event(self, at: int) -> str:
        right = round(self.seen_first[at] * self.measured[0]), round(self.seen_second[at] * self.measured[1])
        return (
            f"{self.score} > {self.cuts[at]:.6g}: {self.measured[0] - right[0]} of {self.measured[0]} on D, "
            f"{right[1]} of {self.measured[1]} on D′"
        )


def _log_ratio(right_first: Floats, right_second: Floats, delta: float) -> Floats:
    """Logarithm of (right − δ) over wrong on the other data set, better direction; ``-inf`` if nothing is left."""
    with np.errstate(divide="ignore"):
        ratio = np.maximum(
            (right_second - delta) / np.maximum(1 - right_first, 1e-300),
            (right_first - delta) / np.maximum(1 - right_second, 1e-300),
        )
        return np.asarray(np.log(np.maximum(ratio, 0.0)), float)


def _separation(right_first: Floats, right_second: Floats) -> Floats:
    """μ of the Gaussian pair on which a test is right as often; ``-inf`` if one side is never right."""
    never = (right_first <= 0) | (right_second <= 0)
    inside = ndtri(np.where(never, 0.5, right_first)) + ndtri(np.where(never, 0.5, right_second))
    return np.asarray(np.where(never, -np.inf, inside), float)


def _renyi_rate(p: Floats, q: Floats) -> Floats:
    """D_a(Bernoulli(p) ‖ Bernoulli(q)) / a for all orders a, (j, orders)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = xlogy(p, p / q) + xlogy(1 - p, (1 - p) / (1 - q))
        more = ORDERS[1:]
        yes = np.where(p > 0, more * np.log(p) + (1 - more) * np.log(q), -np.inf)
        no = np.where(p < 1, more * np.log1p(-p) + (1 - more) * np.log1p(-q), -np.inf)
        rest = np.logaddexp(yes, no) / (more - 1)
    return np.asarray(np.concatenate([kl, rest], axis=1) / ORDERS, float)


def gaussian_epsilon(mu: float, *, delta: float) -> float:
    """ε at δ of Gaussian noise at sensitivity over standard deviation ``mu``; 0 if δ alone covers it.

    References
    ----------
    Balle and Wang (2018), Improving the Gaussian mechanism for differential privacy, theorem 8.
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r}: expected a number between 0 and 1")
    if mu <= 0 or gaussian_delta(mu, epsilon=0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(mu, epsilon=high) > delta:
        high *= 2
    return float(brentq(lambda e: float(gaussian_delta(mu, epsilon=e)) - delta, 0.0, high, xtol=1e-10))


# --- Measuring ------------------------------------------------------------------------------------------------


def tradeoff(
    first: ArrayLike,
    second: ArrayLike,
    *,
    confidence: float = 0.95,
    names: Sequence[str] | None = None,
    focus: Focus = 0.0,
    seed: int = 0,
) -> Tradeoff:
    """Measure the trade-off curve of independent outputs on two neighbours D and D′.

    A tenth of the outputs learns scores, a tenth chooses one of them and a threshold, the rest measures the curve.

    Parameters
    ----------
    first, second : (n, q) or (n,) outputs on D and D′, a row a run; NaN where an output lacks a number.
    confidence : probability in (0, 1) that all bounds of the curve hold, at all thresholds and in both directions.
    names : (q,) names of the numbers.
    focus : the δ whose ε matters most, or ``"mu"``; decides the score and the threshold that gets most of the error
        probability. All bounds hold whatever it is.
    seed : of the split and of the classifiers.

    Returns
    -------
    Tradeoff

    Raises
    ------
    ValueError
        For fewer than 40 outputs on a data set, or numbers out of range.
    """
    check_levels(confidence, 0.0 if isinstance(focus, str) else focus)
    a, b, names = as_outputs(first, second, names)
    rng = np.random.default_rng(seed)
    learn, choose, measure = zip(*(_parts(rng.permutation(side)) for side in (a, b)), strict=True)
    alpha = 1 - confidence
    with threadpool_limits(1):
        choices = [
            _pin(name, score, *map(score, choose), runs=len(measure[0]), alpha=PIN * alpha, focus=focus)
            for name, score in _scores(learn[0], learn[1], names, seed=int(rng.integers(2**31)))
        ]
        pin = max(choices, key=lambda choice: choice.promise)
        x, y = (np.sort(pin.score(side)) for side in measure)
    return _measured(pin, x, y, alpha, len(a) + len(b))


@dataclass(frozen=True)
class _Pin:
    """A score, and the threshold and the split of α that promise most."""

    promise: float
    name: str
    score: Statistic
    cut: float
    alphas: tuple[float, float]


def _parts(outputs: Floats) -> list[Floats]:
    """The parts that learn, choose and measure."""
    tenth = math.ceil(LEARN * len(outputs))
    return np.split(outputs, [tenth, 2 * tenth])


def _scores(a: Floats, b: Floats, names: Sequence[str], *, seed: int) -> Iterator[tuple[str, Statistic]]:
    """Scores that may be larger on D′: each number both ways, how often its values came up, and classifiers."""
    for j, name in enumerate(names):
        values_of = column(j)
        yield name, _ordered(values_of, 1.0)
        yield f"−({name})", _ordered(values_of, -1.0)
        counted = _counted(values_of(a), values_of(b))
        if counted is not None:
            yield f"log-odds of D′ by {name}", _after(values_of, counted)
    yield from classifiers(a, b, seed=seed)


def _ordered(column: Statistic, sign: float) -> Statistic:
    return lambda outputs: np.nan_to_num(sign * column(outputs), nan=-np.inf, posinf=np.inf, neginf=-np.inf)


def _after(column: Statistic, counted: Statistic) -> Statistic:
    return lambda outputs: counted(column(outputs))


def _counted(a: Floats, b: Floats) -> Statistic | None:
    """Log-odds of D′ given the value, for numbers with few values; missing is a value."""
    values, inverse = np.unique(np.concatenate([a, b]), return_inverse=True)
    if not 1 < len(values) <= MOST_VALUES:
        return None
    on_a, on_b = (np.bincount(part, minlength=len(values)) for part in (inverse[: len(a)], inverse[len(a) :]))
    odds = np.append(np.log((on_b + 0.5) / (on_a + 0.5)), 0.0)

    def score(column: Floats) -> Floats:
        at = np.minimum(np.searchsorted(values, column), len(values) - 1)
        known = (values[at] == column) | (np.isnan(values[at]) & np.isnan(column))
        return np.asarray(odds[np.where(known, at, len(values))], float)

    return score


def _pin(name: str, score: Statistic, x: Floats, y: Floats, *, runs: int, alpha: float, focus: Focus) -> _Pin:
    """The threshold and the split that promise the largest bound, by Wilson's intervals of what was seen."""
    x, y = np.sort(x), np.sort(y)
    cuts = np.unique(np.concatenate([x, y]))
    a = (np.searchsorted(x, cuts, side="right") + 0.5) / (len(x) + 1)
    b = (len(y) - np.searchsorted(y, cuts, side="right") + 0.5) / (len(y) + 1)
    # What was seen is itself uncertain, as if fewer outputs measured: that keeps away from lucky corners.
    known = 1 / (1 / runs + 1 / len(x))
    shares = np.array(SPLITS)[:, None]
    lower = _wilson(a, known, -ndtri(shares * alpha)), _wilson(b, known, -ndtri((1 - shares) * alpha))
    promise = _separation(*lower) if isinstance(focus, str) else _log_ratio(*lower, focus)
    split, cut = np.unravel_index(int(promise.argmax()), promise.shape)
    share = SPLITS[int(split)]
    return _Pin(float(promise.max()), name, score, float(cuts[cut]), (share * alpha, (1 - share) * alpha))


def _wilson(p: Floats, n: float, z: Floats) -> Floats:
    centre, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.asarray((centre - half) / (1 + z**2 / n), float)


def _measured(pin: _Pin, x: Floats, y: Floats, alpha: float, trials: int) -> Tradeoff:
    """The curve of sorted scores that took no part in the choice."""
    cuts = np.unique(np.concatenate([x, y, [pin.cut]]))
    right = np.searchsorted(x, cuts, side="right"), len(y) - np.searchsorted(y, cuts, side="right")
    at = int(np.searchsorted(cuts, pin.cut))
    rest = (1 - PIN) * alpha / 2
    lower = []
    for count, n, share, beyond in (
        (right[0], len(x), pin.alphas[0], cuts >= pin.cut),
        (right[1], len(y), pin.alphas[1], cuts <= pin.cut),
    ):
        pinned = float(clopper_pearson(count[at], n, alpha=2 * share)[0])
        lower.append(np.maximum(band(n, alpha=rest)[count], np.where(beyond, pinned, 0.0)))
    return Tradeoff(
        score=pin.name,
        cuts=cuts,
        right_first=lower[0],
        right_second=lower[1],
        seen_first=right[0] / len(x),
        seen_second=right[1] / len(y),
        pinned=at,
        confidence=1 - alpha,
        measured=(len(x), len(y)),
        trials=trials,
    )


# --- What can be attained -------------------------------------------------------------------------------------


def attainable(p: float, q: float, *, runs: int, confidence: float, delta: float = 0.0) -> float:
    """Largest lower bound of ε that any valid method shows with probability one half, from counts of one event.

    A method that says "ε is at least e" with more than that probability is a test of e at level 1 − ``confidence``.
    Its power is at most that of the Neyman–Pearson test of one pair of probabilities that obeys e. The pair next to
    (p, q) is taken; any pair would do, so the answer is never too small.

    Parameters
    ----------
    p, q : probabilities of the event on two neighbours, p larger.
    runs : outputs on each.
    confidence : of the bound.
    delta : δ of the claim.

    References
    ----------
    Neyman and Pearson (1933), On the problem of the most efficient tests of statistical hypotheses.
    """
    check_levels(confidence, delta)
    if not 0 < q < p - delta < 1 - delta:
        raise ValueError(f"p={p!r}, q={q!r}: expected 0 < q < p − δ and p < 1")
    exact = math.log((p - delta) / q)

    def lacking(epsilon: float) -> float:
        null = _next_to(p, q, epsilon=epsilon, delta=delta)
        return _power((p, q), null, runs=runs, alpha=1 - confidence) - 0.5

    if lacking(1e-9) <= 0:
        return 0.0
    return float(brentq(lacking, 1e-9, exact, xtol=1e-6))


def _next_to(p: float, q: float, *, epsilon: float, delta: float) -> tuple[float, float]:
    """The pair on the border of (ε, δ) that is hardest to tell from (p, q), by relative entropy."""
    grow = math.exp(epsilon)

    def entropy(other: float) -> float:
        pairs = ((p, grow * other + delta), (q, other))
        return float(sum(xlogy(s, s / t) + xlogy(1 - s, (1 - s) / (1 - t)) for s, t in pairs))

    most = (1 - delta) / grow
    best = float(minimize_scalar(entropy, bounds=(most * 1e-12, most * (1 - 1e-12)), method="bounded",
                                 options={"xatol": most * 1e-12}).x)  # fmt: skip
    return grow * best + delta, best


def _power(truth: tuple[float, float], null: tuple[float, float], *, runs: int, alpha: float) -> float:
    """Power of the most powerful test, randomised at its edge, from two independent counts."""
    near = [_range(true, runs) for true in truth]
    logs = [
        [binom.logpmf(k, runs, prob) for k, prob in zip(near, probs, strict=True)] for probs in (truth, null)
    ]
    alternative, under = (np.add.outer(*pair).ravel() for pair in logs)
    order = np.argsort(under - alternative)
    level, power = np.cumsum(np.exp(under[order])), np.cumsum(np.exp(alternative[order]))
    return float(np.interp(alpha, np.append(0.0, level), np.append(0.0, power)))


def _range(p: float, n: int) -> Ints:
    half = 9 * math.sqrt(n * p * (1 - p)) + 12
    return np.arange(max(int(n * p - half), 0), min(int(n * p + half), n) + 1)
