"""Bounds of ε by betting that are valid at any time, from e-values of the fair-coin game.

*The game*. In every round a fair coin picks D or D′, the subject runs on it, and the auditor guesses the side from the
output or abstains. If the subject is (ε, δ)-DP given all earlier rounds, P(correct) ≤ e^ε P(wrong) + δ for any rule
that was fixed before the round. So the number X = 1 after a correct guess, −e^ε after a wrong one and 0 without a guess
has a mean of at most δ, and wealth that is multiplied by 1 + κ (X − δ) / (e^ε + δ), for a stake κ in [0, 1], does not
grow on average. A mixture of stakes is such a wealth too. By Ville's inequality it ever reaches 1/α with a probability
of at most α. So an auditor who looks after every round, and stops when it suits, errs no more often than that.

References
----------
Ville (1939), Étude critique de la notion de collectif; Waudby-Smith and Ramdas (2024), Estimating means of bounded
random variables by betting; Steinke, Nasr, Jagielski (2023), Privacy auditing with one (1) training run.
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


# --- Mixtures of stakes -------------------------------------------------------------------------------------


def stakes(least: float = LEAST_LOG_ODDS) -> Floats:
    """Stakes from near 0 to 1, equally spaced in log-odds, and 1 itself; all of the same weight."""
    most, spacing = 4.5, 0.1  # in log-odds
    return np.append(expit(np.arange(least, most + spacing / 2, spacing)), 1.0)


STAKES = stakes()
_LOG_KEPT = np.append(np.log1p(-STAKES[:-1]), -np.inf)  # log of what a wrong guess leaves


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

    correct: float = 0
    wrong: float = 0
    none: float = 0


def log_wealth(tally: Tally, *, epsilon: ArrayLike, delta: ArrayLike = 0.0) -> Floats:
    """Log wealth after a tally, by ε and by stake, (..., stakes)."""
    beyond = np.asarray(delta, float)[..., None]
    share = 1 / (np.exp(np.asarray(epsilon, float))[..., None] + beyond)
    logs = tally.correct * np.log1p(STAKES * (1 - beyond) * share)
    if tally.none and beyond.any():
        logs = logs + tally.none * np.log1p(-STAKES * beyond * share)
    wealth: Floats = logs + tally.wrong * _LOG_KEPT if tally.wrong else logs
    return wealth


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


def gaussian_variation(epsilon: ArrayLike, *, delta: float) -> Floats:
    """δ at ε = 0 of normal noise that has ``delta`` at ``epsilon``, the most that it can move any probability."""
    low, high = (np.full(np.shape(epsilon), math.log(end)) for end in (1e-9, 1e3))  # of μ
    for _ in range(60):  # halvings: down to rounding; the upper end errs on the claim's side
        middle = (low + high) / 2
        enough = gaussian_delta(np.exp(middle), epsilon=epsilon) >= delta
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return gaussian_delta(np.exp(high), epsilon=0.0)


# --- The game -----------------------------------------------------------------------------------------------


_Point = tuple[Floats, Floats]  # an ε, or several, and the δ there


class _Stretch(NamedTuple):
    """What was laid down before it, its rounds, and which point of the claim they are played against."""

    before: Tally
    rounds: Tally
    point: int


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
    gaussian : whether the claim is of normal noise with that (ε, δ), so that stretches may also be played on how far
        its probabilities move.
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
        self._before, self.now, self._point = Tally(), Tally(), 0
        self._near: _View | None = None

    @property
    def bound(self) -> float:
        """The lower bound of ε."""
        return max(self._refuted, 0) * STEP

    @property
    def total(self) -> Tally:
        """All rounds so far."""
        before = [stretch for _, stretches in self._ended for stretch in stretches]
        return Tally(*np.sum([one.rounds for one in (*before, *self._stretches)], axis=0).tolist())

    @property
    def _stretches(self) -> list[_Stretch]:
        """All since :meth:`anew` or the beginning."""
        return [*self._finished, _Stretch(self._before, self.now, self._point)]

    def begin(self, suggested: Tally, *, point: int = 0) -> None:
        """Begin a stretch, with stakes as a tally of past rounds suggests; no bet is on the stretch yet.

        Parameters
        ----------
        point : 0 to play against (ε, δ); 1, if the claim is of normal noise, against its δ at ε = 0.
        """
        self._finished = self._stretches
        self._before, self.now, self._point = suggested, Tally(), point
        self._near = None

    def anew(self) -> None:
        """Bet with a part of the reserve from now on: the k-th time with 1/(k + 2) of what is left of it."""
        if not self._reserve:
            raise ValueError("reserve=0: expected some of the wealth to be laid aside, such as reserve=0.5")
        self._ended.append((self._share, self._stretches))
        self._share = self._reserve / (len(self._ended) + 2)
        self._reserve -= self._share
        self._finished, self._before, self.now, self._point = [], Tally(), Tally(), 0
        self._near = None

    def log_e_value(self, epsilon: float) -> float:
        """Log of the present wealth against (ε, δ)-DP."""
        points = self.points(epsilon)
        won = self._log_won(self._share, self._stretches, points)
        return float(np.logaddexp(self._log_aside(points), won))

    def log_present(self, epsilon: float) -> float:
        """Log of what a unit of the wealth that is being bet has become, since :meth:`anew` or the beginning."""
        return float(self._log_won(1.0, self._stretches, self.points(epsilon)))

    def points(self, epsilon: ArrayLike) -> list[_Point]:
        """Points that stretches can be played against, for each ε of a claim."""
        own: Floats = np.asarray(epsilon, float)
        known = [(own, np.full(own.shape, self.delta))]
        if self.gaussian:
            known.append((np.zeros(own.shape), gaussian_variation(own, delta=self.delta)))
        return known

    def better(self, tallies: Sequence[Tally], epsilon: float) -> int:
        """The point of a claim against which a tally would have won more, of one tally for each."""
        points = self.points(epsilon)
        won = [
            log_e_values(tally, epsilon=at, delta=d) for tally, (at, d) in zip(tallies, points, strict=True)
        ]
        return int(np.argmax(won))

    def _log_won(self, share: float, stretches: Sequence[_Stretch], points: Sequence[_Point]) -> Floats:
        """Log of what a share of the wealth has become, for each ε."""
        factors = [self._log_factor(stretch, points[stretch.point]) for stretch in stretches]
        won: Floats = sum(factors, np.full(points[0][0].shape, math.log(share)))
        return won

    def _log_aside(self, points: Sequence[_Point]) -> Floats:
        """Log of the reserve and of what was won or lost before, for each ε."""
        with np.errstate(divide="ignore"):
            aside: Floats = np.full(points[0][0].shape, np.log(self._reserve))
        for ended in self._ended:
            aside = np.logaddexp(aside, self._log_won(*ended, points))
        return aside

    def _log_laid(self, suggested: Tally, point: _Point) -> Floats:
        """Log share of what the gambler has that each stake gets: most of it by the tally, the rest alike."""
        logs = log_wealth(suggested, epsilon=point[0], delta=point[1])
        posterior = logs - _log_sum(logs)[..., None]
        laid: Floats = np.logaddexp(math.log(1 - HEDGE) + posterior, math.log(HEDGE) - math.log(len(STAKES)))
        return laid

    def _log_factor(self, stretch: _Stretch, point: _Point) -> Floats:
        """Log of what a stretch multiplies the wealth by, for each ε."""
        laid = self._log_laid(stretch.before, point)
        return _log_sum(laid + log_wealth(stretch.rounds, epsilon=point[0], delta=point[1]))

    def _view(self, first: int) -> _View:
        grid: Floats = np.arange(first, first + AT_ONCE, dtype=float) * STEP
        points = self.points(grid)
        laid = self._log_laid(self._before, points[self._point])
        carried = self._log_won(self._share, self._finished, points)
        return _View(first, *points[self._point], laid, carried, self._log_aside(points))

    def add(self, right: bool | None) -> None:
        """Add a round: a correct guess, a wrong one, or none."""
        correct, wrong, none = self.now
        self.now = Tally(correct + (right is True), wrong + (right is False), none + (right is None))
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
            wealth = log_wealth(self.now, epsilon=near.epsilon[part], delta=near.delta[part])
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
    epsilon: Floats
    delta: Floats
    laid: Floats
    carried: Floats
    aside: Floats


def most_refutable(runs: int, *, confidence: float) -> float:
    """Largest claim that ``runs`` runs can refute by any valid test, see :func:`least_guesses`."""
    check_levels(confidence, 0.0)
    return max(-math.log(math.expm1(-math.log(1 - confidence) / runs)), 0.0)
