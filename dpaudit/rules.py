"""Rules for guesses, learned from past outputs only, anew whenever their number has doubled.

A rule is a short list of events, each of which guesses one of the two data sets; an output in none of them gets no
guess. What the list is chosen for is the growth of the wealth of :mod:`~dpaudit.betting` against the claim, since that
is what stops early. Rules for a curve guess by log-odds, the stronger the further these are from even.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from dpnb.arrays import Bools, Floats, Ints

from .betting import Tally
from .events import Events, OutputEvent, Statistic, classifiers, column, events
from .settings import MOST_KEPT
from .signs import SIGN_STAKES, telling

DOUBTS = 0.5  # wrong guesses that are added to those seen of an event: none seen is not none
CAUTION = 1.0  # standard deviations by which an event may be worse than it was
NO_GUESS = -1
MOST_OFFERS = 30  # columns that a rule is learned from
THREADS = ThreadpoolController()  # looks for the libraries once, which takes longer than a small fit


# --- Rules for guesses --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guess:
    """If ``event`` holds of ``statistic``, the data set is ``side``: 0 for D, 1 for D′."""

    event: OutputEvent
    statistic: Statistic
    side: int
    strength: int = 0


@dataclass(frozen=True)
class Rule:
    """A list of guesses; the first one whose event holds decides."""

    guesses: tuple[Guess, ...] = ()  # in this order
    width: int = 0  # how many numbers of an output they look at

    def sides(self, outputs: Floats) -> Ints:
        """Data set that is guessed for each output, -1 for none."""
        return self.guessed(outputs)[0]

    def guessed(self, outputs: Floats) -> tuple[Ints, Ints]:
        """Data set that is guessed for each output, -1 for none, and how strong each guess is."""
        sides, strengths = np.full(len(outputs), NO_GUESS), np.zeros(len(outputs), np.intp)
        table = _fitted(outputs, self.width)
        values = {one: one(table) for one in {guess.statistic for guess in self.guesses}}
        for guess in reversed(self.guesses):
            within = guess.event.holds(values[guess.statistic])
            sides[within], strengths[within] = guess.side, guess.strength
        return sides, strengths

    def __str__(self) -> str:
        return self.in_words(str)

    def in_words(self, tell: Callable[[OutputEvent], str]) -> str:
        """The rule in words; ``tell`` puts an event into words."""
        words = [f"D{'′' if guess.side else ''} if {tell(guess.event)}" for guess in self.guesses]
        return ", else ".join(words) if words else "no guess"


def _fitted(outputs: Floats, width: int) -> Floats:
    """Outputs with ``width`` numbers: what is missing is NaN."""
    if outputs.shape[1] >= width:
        return outputs[:, :width]
    return np.pad(outputs, ((0, 0), (0, width - outputs.shape[1])), constant_values=np.nan)


class _Offer(NamedTuple):
    """A statistic, its values in all runs, and the runs by which its events are judged."""

    name: str
    statistic: Statistic
    values: tuple[Floats, Floats]
    judges: slice

    def doubt(self, position: int = 0) -> float:
        """Rate of wrong guesses that is added to what was seen, more of them further down in a rule."""
        return DOUBTS * (1 + position) / sum(len(values[self.judges]) for values in self.values)

    def between(self, event: OutputEvent) -> OutputEvent:
        """A threshold half-way to the next larger value that was seen; other events as they are."""
        if event.relation in ("=", "≠"):
            return event
        above = [values[values > event.value] for values in self.values]
        following = min((float(values.min()) for values in above if len(values)), default=event.value)
        middle = event.value + (following - event.value) / 2
        return replace(event, value=middle if math.isfinite(middle) else event.value)


class _Rates(NamedTuple):
    """How often each event, and each complement, holds on D and on D′, of all rounds."""

    offered: Events
    first: Floats
    second: Floats
    rounds: int


def _rates(offer: _Offer, left: Sequence[Bools]) -> _Rates:
    """Rates of a statistic's events among the outputs that are left."""
    judges = offer.judges
    whole = [len(values[judges]) for values in offer.values]
    a, b = (values[judges][mark[judges]] for values, mark in zip(offer.values, left, strict=True))
    offered = events(a, b)
    first, second = (
        np.concatenate([inside, len(rest) - inside]) / (2 * n)
        for inside, rest, n in zip((offered.first, offered.second), (a, b), whole, strict=True)
    )
    return _Rates(offered, first, second, sum(whole))


class _Aim(NamedTuple):
    """What a right guess, a wrong one, and a round are worth: growth of log wealth at an ε, by stake."""

    right: Floats
    wrong: Floats
    none: Floats

    def gains(self, rates: _Rates, doubt: float) -> tuple[Floats, Floats]:
        """Growth a round by each event, if D is guessed and if D′ is, (events, stakes); what is not sure is left out.

        The best of many events looks better than it is, so a standard deviation of what was seen is taken off.
        """
        p, q = rates.first[:, None], rates.second[:, None]
        return self._gain(p, q + doubt, rates.rounds), self._gain(q, p + doubt, rates.rounds)

    def _gain(self, right: Floats, wrong: Floats, rounds: int) -> Floats:
        spread = np.sqrt((right * self.right**2 + wrong * self.wrong**2) / rounds)
        return right * self.right + wrong * self.wrong - CAUTION * spread


def _aim(epsilon: float, kappa: Floats, delta: float) -> _Aim:
    share = 1 / (math.exp(epsilon) + delta)
    none = np.log1p(-kappa * delta * share)
    return _Aim(np.log1p(kappa * (1 - delta) * share) - none, np.log1p(-kappa) - none, none)


@dataclass(frozen=True)
class Lesson:
    """What rules are learned for."""

    claimed: float  # the ε to be refuted; `inf` for the largest bound instead
    enough: float  # log wealth that refutes
    delta: float  # δ of the claim
    most_runs: float  # rounds that the whole game may take
    shares: Sequence[float] = (1.0,)  # of the outputs, that get a guess so strong or stronger

    def learn(self, first: Floats, second: Floats, names: Sequence[str], *, seed: int) -> tuple[Rule, Tally]:
        """Learn a rule from outputs on D and D′; returns it with what such guesses would have come to in a fair game.

        A rule looks better on the outputs that it was learned from than on others, so each half of them tells what the
        rule of the other half comes to.
        """
        halves = [(first[::2], second[::2]), (first[1::2], second[1::2])]
        rates = np.zeros((len(self.shares), 2, 2))
        for learned, judged in (halves, halves[::-1]):
            rule = self._rule(*learned, names, seed=seed)
            for row, (sides, strong) in enumerate(map(rule.guessed, judged)):
                for k, rate in enumerate(rates):
                    rate[row] += [np.mean((sides == s) & (strong == k)) / 4 for s in (0, 1)]
        rounds, both, right = len(first) + len(second), rates.sum(axis=(1, 2)), np.trace(rates, 0, 1, 2)
        tally = Tally(right * rounds, (both - right) * rounds + DOUBTS, max(1 - both.sum(), 0.0) * rounds)
        return self._rule(first, second, names, seed=seed), tally

    def _rule(self, first: Floats, second: Floats, names: Sequence[str], *, seed: int) -> Rule:
        aimed = self.claimed if math.isfinite(self.claimed) else 0.0
        offers = _offers(first, second, names, epsilon=aimed, delta=self.delta, seed=seed)
        left = [np.ones(len(side), np.bool_) for side in (first, second)]
        rates = [_rates(offer, left) for offer in offers]
        epsilon = self._reach(offers, rates, runs=len(first) + len(second))
        kappa = SIGN_STAKES[[np.argmax(self._growth(offers, rates, epsilon))]]
        aim = _aim(epsilon, kappa, self.delta)
        guesses: list[Guess] = []
        # A rule of more than four guesses is hard to read.
        while len(guesses) < 4 and (best := _best_guess(offers, rates, aim, len(guesses))):
            offer, guess = best
            guesses.append(guess)
            left = [
                mark & ~guess.event.holds(values) for mark, values in zip(left, offer.values, strict=True)
            ]
            rates = [_rates(offer, left) for offer in offers]
        return Rule(tuple(guesses), first.shape[1])

    def _growth(self, offers: Sequence[_Offer], rates: Sequence[_Rates], epsilon: float) -> Floats:
        """Growth a round at each stake, by the best event for D and the best for D′."""
        aim = _aim(epsilon, SIGN_STAKES, self.delta)
        gains = [aim.gains(each, offer.doubt()) for offer, each in zip(offers, rates, strict=True)]
        for_first, for_second = (np.max([gain[i].max(axis=0) for gain in gains], axis=0) for i in (0, 1))
        growth: Floats = np.maximum(for_first, 0) + np.maximum(for_second, 0) + aim.none
        return growth

    def _reach(self, offers: Sequence[_Offer], rates: Sequence[_Rates], *, runs: int) -> float:
        """The claim, or the largest ε that looks refutable in the rounds that are left, if that is less."""
        # Mixing stakes costs about two nats. A rule is used until the number of rounds has doubled, and then some.
        need = (self.enough + 2.0) / min(max(self.most_runs - runs, runs), 2.0 * runs)

        def refutable(epsilon: float) -> bool:
            return bool(self._growth(offers, rates, epsilon).max() >= need)

        low, high = 0.0, min(self.claimed, 12.0)  # a larger ε takes more than 10⁵ rounds
        if refutable(high):
            return high
        for _ in range(10):  # to a thousandth: this is an aim and no bound, so that no root finder is needed
            middle = (low + high) / 2
            low, high = (middle, high) if refutable(middle) else (low, middle)
        return 0.8 * low  # what looks refutable by the best of many events is less


@dataclass(frozen=True)
class Graded(Lesson):
    """What graded rules are learned for: all points of a curve at once."""

    def _rule(self, first: Floats, second: Floats, names: Sequence[str], *, seed: int) -> Rule:
        chosen = telling(first, second, epsilon=0.0, most=MOST_OFFERS)
        with THREADS.limit(limits=1):  # as in compare
            learned = next(classifiers(first[:, chosen], second[:, chosen], seed=seed), None)
        if learned is None:
            return Rule()
        name, score = learned[0], _of_columns(learned[1], chosen)
        odds = np.abs(score(np.concatenate([first, second])))
        # Just below, so that what is as far from even is as strong.
        cuts = np.nextafter(np.quantile(odds, 1 - np.array(self.shares)), -np.inf).tolist()
        guesses = [
            Guess(OutputEvent(name, relation, (2 * side - 1) * cuts[k]), score, side, k)
            for k in reversed(range(len(self.shares)))
            for side, relation in enumerate(("≤", ">"))
        ]
        return Rule(tuple(guesses), first.shape[1])


def _offers(
    first: Floats, second: Floats, names: Sequence[str], *, epsilon: float, delta: float, seed: int
) -> list[_Offer]:
    """Columns that vary, judged by all runs, and classifiers, trained on every other run and judged by the rest.

    Of many columns those are taken that look as if they refuted (ε, δ) best alone, and for classifiers those that
    differ most. Besides, outputs may have come up before.
    """
    chosen = telling(first, second, epsilon=epsilon, delta=delta, most=MOST_OFFERS)
    differ = telling(first, second, epsilon=0.0, most=MOST_OFFERS)  # and may tell more together
    offers = [
        _Offer(names[j], column(j), (first[:, j], second[:, j]), slice(None))
        for j in chosen.tolist() or range(1)
    ]
    if len(differ) > 1 and min(len(first), len(second)) >= 32:  # half of them train
        part, other = first[:, differ], second[:, differ]
        with THREADS.limit(limits=1):  # as in compare
            learned = classifiers(part[::2], other[::2], seed=seed)
            offers += [
                _Offer(name, _of_columns(score, differ), (score(part), score(other)), slice(1, None, 2))
                for name, score in learned
            ]
    return offers + _remembered(first, second)


def _of_columns(score: Statistic, chosen: Ints) -> Statistic:
    return lambda outputs: score(outputs[:, chosen])


def _remembered(first: Floats, second: Floats) -> list[_Offer]:
    """The side on which an output came up more often before: noise from few seeds repeats itself.

    A column in which no value ever came up twice, such as a time or a name drawn at random, is no part of an output
    here. A single number is its own memory: its frequent values are events anyway.
    """
    both = np.concatenate([first, second])
    repeated = np.flatnonzero([1 < len(np.unique(values)) < len(values) for values in both.T])
    if len(repeated) < 2:
        return []
    seen = [Counter(row.tobytes() for row in side[:, repeated]) for side in (first, second)]

    def balance(outputs: Floats) -> Floats:
        keys = [row.tobytes() for row in np.ascontiguousarray(outputs[:, repeated])]
        return np.array([seen[0][key] - seen[1][key] for key in keys], float)

    # An output that is known does not count for itself.
    values = np.sign(balance(first) - 1), np.sign(balance(second) + 1)
    if not any(side.any() for side in values):
        return []
    name = "side on which the same output came up more often before (1 for D, -1 for D′)"
    return [_Offer(name, lambda outputs: np.sign(balance(outputs)), values, slice(None))]


def _best_guess(
    offers: Sequence[_Offer], rates: Sequence[_Rates], aim: _Aim, position: int
) -> tuple[_Offer, Guess] | None:
    """The event that gains most by a guess, the last of several, which is broad; none if all lose."""
    best, found = 0.0, None
    for offer, each in zip(offers, rates, strict=True):
        for side, gains in enumerate(aim.gains(each, offer.doubt(position))):
            at = len(gains) - 1 - int(np.argmax(gains[::-1, 0]))
            if gains[at, 0] > best:
                best, found = float(gains[at, 0]), (offer, each.offered, at, side)
    if found is None:
        return None
    offer, offered, at, side = found
    number = len(offered.relation)
    event = offered.event(offer.name, at % number, complement=at >= number)
    return offer, Guess(offer.between(event), offer.statistic, side)


# --- Learning ------------------------------------------------------------------------------------------------


class Learner:
    """Outputs on D and on D′, and the rule that was learned from them, anew whenever their number has doubled.

    Parameters
    ----------
    lessons : what rules are learned for, one for each point of the claim.
    names : names of the numbers of an output.
    rng : of classifiers.
    """

    def __init__(
        self,
        lessons: Sequence[Lesson],
        *,
        names: Callable[[int], Sequence[str]] | None,
        rng: np.random.Generator,
    ) -> None:
        self._lessons, self._rng = lessons, rng
        self._names = names or (lambda width: [f"output {j}" for j in range(width)])
        self.due = 8  # number of runs after which to learn
        self.forget(([], []))

    def forget(self, kept: tuple[list[Floats], list[Floats]]) -> None:
        """Learn from other outputs from now on: rules of the pair before tell nothing of this one."""
        self.rule, self.kept = Rule(), kept
        self._most_used = self.rule, Tally()

    def learn(self, runs: int, *, guessed: Tally) -> list[tuple[Rule, Tally]]:
        """A rule for each lesson, and what its guesses would have come to; none yet if outputs are too few."""
        if min(map(len, self.kept)) < 4:  # two for each half
            self.due = runs + 1
            return []
        self.due = runs + sum(map(len, self.kept))
        for rows in self.kept:
            del rows[:-MOST_KEPT]  # the latest ones stay
        width = max(len(row) for rows in self.kept for row in rows)
        first, second = (np.array([_fitted(row[None], width)[0] for row in rows]) for rows in self.kept)
        lots = int(self._rng.integers(2**31))
        self.most_used(guessed)
        return [lesson.learn(first, second, self._names(width), seed=lots) for lesson in self._lessons]

    def most_used(self, guessed: Tally) -> tuple[Rule, Tally]:
        """The rule that has guessed most on this pair, and what its guesses came to, ``guessed`` by the present one."""
        self._most_used = max(self._most_used, (self.rule, guessed), key=lambda one: sum(one[1].plain[:2]))
        return self._most_used
