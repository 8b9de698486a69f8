"""Lower bounds of ε from how often an event that was fixed beforehand occurs on two neighbours."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainccinv, betaincinv, gammaln, logit
from scipy.stats import binom

from dpaudit.events import Counts
from dpaudit.settings import check_levels
from dpnb.arrays import Floats

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
