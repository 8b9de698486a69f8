"""Bounds of ε by betting that are valid at any time, from e-values of the fair-coin game.

*The game*. In every round a fair coin picks D or D′, the subject runs on it, and the auditor guesses the side from the
output or abstains. If the subject is (ε, δ)-DP given all earlier rounds, P(correct) ≤ e^ε P(wrong) + δ for any rule
that was fixed before the round. So the number X = 1 after a correct guess, −e^ε after a wrong one and 0 without a guess
has a mean of at most δ, and wealth that is multiplied by 1 + κ (X − δ) / (e^ε + δ), for a stake κ in [0, 1], does not
grow on average. A mixture of stakes is such a wealth too. By Ville's inequality it ever reaches 1/α with a probability
of at most α. So an auditor who looks after every round, and stops when it suits, errs no more often than that.

*A curve*. Let several points (ε_i, δ_i) of a claim be true, and let each have a rule of its own. X_i, which is the X of
point i, has a mean of at most δ_i. So for stakes c_i ≥ 0 the factor 1 + Σ c_i (X_i − δ_i) has a mean of at most 1, and
it is never negative if Σ c_i (e^ε_i + δ_i) ≤ 1, as who is wrong at all points loses no more. Here each point gets the
same part of a stake κ, and a guess of the k-th strength counts at the first k points. Thus one round bets weak guesses
against an ε near 0, and strong ones also against larger ε.

*Normal noise*. If a record moves its centre by μ standard deviations, an output that is z of them from the middle has
log-odds of zμ, and guesses beyond z have the claim's δ at ε = zμ. Let μ be small, and the truth μ + Δ, a little more.
Then bets against one such point gain φ(z)² Δ² / 4Φ(−z) nats a round: Δ²/4π at ε = 0, and never more than .102 Δ². The
same stake at all z > 0 is a bet in proportion to the output, and gains Δ²/8. No bet gains more, as that is the
divergence of the truth from a law within the claim, where outputs as far from the middle have the claim's log-odds.

References
----------
Ville (1939), Étude critique de la notion de collectif; Waudby-Smith and Ramdas (2024), Estimating means of bounded
random variables by betting; Steinke, Nasr, Jagielski (2023), Privacy auditing with one (1) training run; Dong, Roth, Su
(2022), Gaussian differential privacy; Kutta, Dunsche, Wei, Zikas (2026), Sequential auditing for f-differential
privacy; Larsson, Ramdas, Ruf (2025), The numeraire e-variable and reverse information projection.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_ndtr, ndtr

from dpnb.arrays import Floats

from .settings import check_levels

STEP = 1e-3  # of the grid of ε on which claims are refuted
LEAST_LOG_ODDS = -5.0  # of the smallest stake of the coin game
AT_ONCE = 128  # points of the grid
HEDGE = 0.1  # share of the wealth that lies on all stakes alike, whatever past rounds suggest
DISTANCES = (0.3, 0.9, 1.5)  # from the middle of normal noise, for points of its curve
STRENGTHS = (1, 1, len(DISTANCES))  # of guesses against each of a claim's curves


# --- Mixtures of stakes -------------------------------------------------------------------------------------


def stakes(least: float = LEAST_LOG_ODDS) -> Floats:
    """Stakes from near 0 to 1, equally spaced in log-odds, and 1 itself; all of the same weight."""
    most, spacing = 4.5, 0.1  # in log-odds
    return np.append(expit(np.arange(least, most + spacing / 2, spacing)), 1.0)


STAKES = stakes()


def _log_sum(logs: Floats) -> Floats:
    """Log of the sum of exponentials over the last axis, of which some number is finite."""
    most = logs.max(axis=-1)
    total: Floats = most + np.log(np.exp(logs - most[..., None]).sum(axis=-1))
    return total


def log_mean(logs: Floats) -> Floats:
    """Log of the mean of exponentials over the last axis: e-values of any dependence have an e-value as their mean."""
    return _log_sum(logs) - math.log(logs.shape[-1])


class Tally(NamedTuple):
    """Rounds of the coin game: correct guesses, wrong ones, and rounds without a guess."""

    correct: float | Floats = 0  # or their numbers by strength, the weakest first
    wrong: float | Floats = 0
    none: float = 0

    @property
    def plain(self) -> tuple[float, float, float]:
        """The same, of guesses of any strength."""
        return float(np.sum(self.correct)), float(np.sum(self.wrong)), self.none


_Curve = Sequence[tuple[Floats, Floats]]  # points of a claim: an ε, or several, and the δ there


class Factors(NamedTuple):
    """Logs of what each result multiplies the wealth by, (..., ε, stakes), of guesses by their strength."""

    right: Floats
    wrong: Floats
    none: Floats

    @classmethod
    def against(cls, points: _Curve) -> Factors:
        """Each point gets the same part of a stake; guesses of the k-th strength count at the first k points."""
        epsilon, delta = (np.array(part)[..., None] for part in zip(*points, strict=True))
        part, share = STAKES / len(points), 1 / (np.exp(epsilon) + delta)
        won, paid = np.cumsum(part * (1 - delta) * share, axis=0), np.cumsum(part * delta * share, axis=0)
        owed = paid[-1] - paid  # at the points that a guess is too weak for
        lost = [-STAKES * k / len(points) - rest for k, rest in enumerate(owed, start=1)]
        with np.errstate(divide="ignore"):  # the whole stake may be lost
            return cls(np.log1p(won - owed), np.log1p(lost), np.log1p(-paid[-1]))

    def wealth(self, tally: Tally) -> Floats:
        """Log wealth after a tally, (..., stakes)."""
        wealth: Floats = np.zeros(self.none.shape)
        for of, logs in (tally.correct, self.right), (tally.none, [self.none]), (tally.wrong, self.wrong):
            wealth = sum((n * log for n, log in zip(np.ravel(of), logs, strict=False) if n), wealth)
        return wealth


def log_wealth(tally: Tally, *, epsilon: ArrayLike, delta: ArrayLike = 0.0) -> Floats:
    """Log wealth after a tally, by ε and by stake, (..., stakes)."""
    return Factors.against([(np.asarray(epsilon, float), np.asarray(delta, float))]).wealth(tally)


def log_e_values(tally: Tally, *, epsilon: ArrayLike, delta: ArrayLike = 0.0) -> Floats:
    """Log e-values of the coin game, one for each ε, all stakes alike; parameters as of :func:`e_value`."""
    return log_mean(log_wealth(tally, epsilon=epsilon, delta=delta))


def exp(log: float) -> float:
    """The number of a logarithm, ``inf`` if it is too large."""
    return math.exp(log) if log < 709 else math.inf


# --- Normal noise -------------------------------------------------------------------------------------------


def gaussian_delta(mu: ArrayLike, *, epsilon: ArrayLike) -> Floats:
    """δ at ε of normal noise whose centre moves by μ > 0 standard deviations.

    References
    ----------
    Balle and Wang (2018), Improving the Gaussian mechanism for differential privacy, theorem 8.
    """
    half, tilt = np.asarray(mu, float) / 2, np.asarray(epsilon, float) / mu
    return np.asarray(ndtr(half - tilt) - np.exp(epsilon + log_ndtr(-half - tilt)))


def gaussian_mu(epsilon: ArrayLike, *, delta: float) -> Floats:
    """By how many standard deviations the centre of normal noise moves that has ``delta`` at ``epsilon``."""
    low, high = (np.full(np.shape(epsilon), math.log(end)) for end in (1e-9, 1e3))  # of μ
    for _ in range(60):  # halvings: down to rounding; the upper end errs on the claim's side
        middle = (low + high) / 2
        enough = gaussian_delta(np.exp(middle), epsilon=epsilon) >= delta
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(np.exp(high))


def gaussian_shares(mu: float) -> list[float]:
    """Of the outputs of normal noise, the share that is so far from the middle, for each distance."""
    return [float(ndtr(mu / 2 - z) + ndtr(-mu / 2 - z)) for z in DISTANCES]


# --- The game -----------------------------------------------------------------------------------------------


class _Stretch(NamedTuple):
    """What was laid down before it, its rounds, and which points of the claim they are played against."""

    before: Tally
    rounds: Tally
    against: int


class CoinGame:
    """The coin game as it goes on, and the bound of ε that it has shown so far.

    A game consists of stretches. Where one begins, what the gambler has is laid on the stakes anew, as past rounds
    suggest: so an early rule for guesses that was no good is forgotten, and a good one pays at once. A gambler who
    turns to another subject of bets may begin anew with a part of a reserve, so that no loss is for good. The sum of
    all that was laid aside, lost and won is a wealth too.

    The bound is the largest point of a grid of ε up to which every point was refuted, at this or at an earlier time.
    It errs with a probability of at most 1 − ``confidence`` over all times: if it lies above the least true ε, then
    also the first point of the grid that is true was refuted, though its wealth grows beyond 1/α that rarely.

    Parameters
    ----------
    confidence : probability in (0, 1) that the bound holds at all times.
    delta : δ of the claim, in [0, 1).
    reserve : share of the wealth that :meth:`anew` draws on.
    gaussian : whether the claim is of normal noise with that (ε, δ), so that there is more to play against.
    """

    def __init__(
        self, *, confidence: float, delta: float = 0.0, reserve: float = 0.0, gaussian: bool = False
    ) -> None:
        check_levels(confidence, delta)
        self.delta, self.gaussian = delta, gaussian
        self._enough = -math.log(1 - confidence)
        self._refuted = -1  # last point of the grid
        self._share, self._reserve = 1 - reserve, reserve
        self._ended: list[tuple[float, list[_Stretch]]] = []  # share and stretches of what was before
        self._finished: list[_Stretch] = []
        self._before, self.now, self._against = Tally(), Tally(), 0
        self._near: _View | None = None

    @property
    def bound(self) -> float:
        """The lower bound of ε."""
        return max(self._refuted, 0) * STEP

    @property
    def total(self) -> Tally:
        """All rounds so far."""
        before = [stretch for _, stretches in self._ended for stretch in stretches]
        return Tally(*np.sum([one.rounds.plain for one in (*before, *self._stretches)], axis=0).tolist())

    @property
    def _stretches(self) -> list[_Stretch]:
        """All since :meth:`anew` or the beginning."""
        return [*self._finished, _Stretch(self._before, self.now, self._against)]

    def begin(self, suggested: Tally, *, against: int = 0) -> None:
        """Begin a stretch, with stakes as a tally of past rounds suggests; no bet is on the stretch yet.

        Parameters
        ----------
        against : what to play against, of :meth:`curves`.
        """
        self._finished = self._stretches
        self._before, self.now, self._against = suggested, Tally(), against
        self._near = None

    def anew(self) -> None:
        """Bet with a part of the reserve from now on: the k-th time with 1/(k + 2) of what is left of it."""
        if not self._reserve:
            raise ValueError("reserve=0: expected some of the wealth to be laid aside, such as reserve=0.5")
        self._ended.append((self._share, self._stretches))
        self._share = self._reserve / (len(self._ended) + 2)
        self._reserve -= self._share
        self._finished, self._before, self.now, self._against = [], Tally(), Tally(), 0
        self._near = None

    def log_e_value(self, epsilon: float) -> float:
        """Log of the present wealth against (ε, δ)-DP."""
        factors = self._factors(epsilon)
        won = self._log_won(self._share, self._stretches, factors)
        return float(np.logaddexp(self._log_aside(factors), won))

    def log_present(self, epsilon: float) -> float:
        """Log of what a unit of the wealth that is being bet has become, since :meth:`anew` or the beginning."""
        return float(self._log_won(1.0, self._stretches, self._factors(epsilon)))

    def curves(self, epsilon: ArrayLike) -> list[_Curve]:
        """What stretches can be played against: (ε, δ), the δ at ε = 0 of normal noise, or its δ at all distances."""
        own: Floats = np.asarray(epsilon, float)
        known: list[_Curve] = [[(own, np.full(own.shape, self.delta))]]
        if self.gaussian:
            mu = gaussian_mu(own, delta=self.delta)
            for zs in ((0.0,), DISTANCES):
                known.append([(z * mu, gaussian_delta(mu, epsilon=z * mu)) for z in zs])
        return known

    def better(self, tallies: Sequence[Tally], epsilon: float) -> int:
        """What a tally would have won more against, of one tally for each of :meth:`curves`."""
        pairs = zip(self._factors(epsilon), tallies, strict=True)
        return int(np.argmax([log_mean(factors.wealth(tally)) for factors, tally in pairs]))

    def _factors(self, epsilon: ArrayLike) -> list[Factors]:
        return [Factors.against(points) for points in self.curves(epsilon)]

    def _log_won(self, share: float, stretches: Sequence[_Stretch], factors: Sequence[Factors]) -> Floats:
        """Log of what a share of the wealth has become, for each ε."""
        each = [self._log_factor(stretch, factors[stretch.against]) for stretch in stretches]
        won: Floats = sum(each, np.full(factors[0].none.shape[:-1], math.log(share)))
        return won

    def _log_aside(self, factors: Sequence[Factors]) -> Floats:
        """Log of the reserve and of what was won or lost before, for each ε."""
        with np.errstate(divide="ignore"):
            aside: Floats = np.full(factors[0].none.shape[:-1], np.log(self._reserve))
        for ended in self._ended:
            aside = np.logaddexp(aside, self._log_won(*ended, factors))
        return aside

    def _log_laid(self, suggested: Tally, factors: Factors) -> Floats:
        """Log share of what the gambler has that each stake gets: most of it by the tally, the rest alike."""
        logs = factors.wealth(suggested)
        posterior = logs - _log_sum(logs)[..., None]
        laid: Floats = np.logaddexp(math.log(1 - HEDGE) + posterior, math.log(HEDGE) - math.log(len(STAKES)))
        return laid

    def _log_factor(self, stretch: _Stretch, factors: Factors) -> Floats:
        """Log of what a stretch multiplies the wealth by, for each ε."""
        return _log_sum(self._log_laid(stretch.before, factors) + factors.wealth(stretch.rounds))

    def _view(self, first: int) -> _View:
        factors = self._factors(np.arange(first, first + AT_ONCE, dtype=float) * STEP)
        present = factors[self._against]
        carried = self._log_won(self._share, self._finished, factors)
        return _View(first, present, self._log_laid(self._before, present), carried, self._log_aside(factors))

    def add(self, right: bool | None, *, strength: int = 0) -> None:
        """Add a round: a correct guess, a wrong one, or none; of some strength, where there are several."""
        correct, wrong, none = self.now
        one = np.eye(STRENGTHS[self._against])[strength]
        correct, wrong = correct + one * (right is True), wrong + one * (right is False)
        self.now = Tally(correct, wrong, none + (right is None))
        if right:
            self.look()  # wealth grows by correct guesses only

    def look(self) -> float:
        """Refute what can be refuted by now, and return the bound."""
        count = 1
        while self._refuted * STEP < 50.0:  # no number of guesses in reach shows more
            near = self._near
            if near is None or self._refuted + 1 >= near.first + AT_ONCE:
                near = self._near = self._view(self._refuted + 1)
            start = self._refuted + 1 - near.first
            part = slice(start, start + count)
            wealth = Factors(*(logs[..., part, :] for logs in near.factors)).wealth(self.now)
            logs = np.logaddexp(near.aside[part], near.carried[part] + _log_sum(near.laid[part] + wealth))
            refuted = logs >= self._enough
            if not refuted.all():
                self._refuted += int(np.argmin(refuted))
                break
            self._refuted += len(refuted)
            count = min(4 * count, AT_ONCE)
        return self.bound


class _View(NamedTuple):
    """What a game keeps of the points of the grid that come next."""

    first: int
    factors: Factors
    laid: Floats
    carried: Floats
    aside: Floats


def most_refutable(runs: int, *, confidence: float) -> float:
    """Largest claim that ``runs`` runs can refute by any valid test, see :func:`least_guesses`."""
    check_levels(confidence, 0.0)
    return max(-math.log(math.expm1(-math.log(1 - confidence) / runs)), 0.0)
