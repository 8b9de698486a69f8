"""Audits that may stop at any time, by the fair-coin game with estimators, with mechanisms, or by hand.

The rule for guesses is learned from past outputs only, anew whenever their number has doubled: a short list of events,
each of which guesses one of the two data sets; an output in none of them gets no guess. What the list is chosen for is
the growth of the wealth of :mod:`~dpnb.audit.betting` against the claim, since that is what stops early.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import randbits
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..arrays import Bools, Floats, Ints
from ..checks import check_count
from .attack import (
    NOTED,
    AttackError,
    Data,
    Observe,
    Texts,
    black_box,
    fitting,
    noted_names,
    progress_bar,
    side_by_side,
    two_samples,
    words_of,
)
from .betting import STEP, CoinGame, Tally, exp
from .bounds import Events, OutputEvent, Statistic, classifiers, column, events
from .result import Finding, exceeds
from .settings import AuditSettings, Keywords
from .signs import STAKES, telling

DOUBTS = 0.5  # wrong guesses that are added to those seen of an event: none seen is not none
CAUTION = 1.0  # standard deviations by which an event may be worse than it was
NO_GUESS = -1
MOST_OFFERS = 30  # columns that a rule is learned from
MOST_KEPT = 8_192  # outputs on each data set; a rule need not be learned from more


# --- Rules for guesses --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guess:
    """If ``event`` holds of ``statistic``, the data set is ``side``: 0 for D, 1 for D′."""

    event: OutputEvent
    statistic: Statistic
    side: int


@dataclass(frozen=True)
class Rule:
    """A list of guesses; the first one whose event holds decides."""

    guesses: tuple[Guess, ...] = ()  # in this order
    width: int = 0  # how many numbers of an output they look at

    def sides(self, outputs: Floats) -> Ints:
        """Data set that is guessed for each output, -1 for none."""
        sides = np.full(len(outputs), NO_GUESS)
        table = _fitted(outputs, self.width)
        for guess in reversed(self.guesses):
            sides[guess.event.holds(guess.statistic(table))] = guess.side
        return sides

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

    def learn(self, first: Floats, second: Floats, names: Sequence[str], *, seed: int) -> tuple[Rule, Tally]:
        """Learn a rule from outputs on D and D′; returns it with what such guesses would have come to in a fair game.

        A rule looks better on the outputs that it was learned from than on others, so each half of them tells what the
        rule of the other half comes to.
        """
        halves = [(first[::2], second[::2]), (first[1::2], second[1::2])]
        rates = np.zeros((2, 2))
        for learned, judged in (halves, halves[::-1]):
            rule = self._rule(*learned, names, seed=seed)
            rates += [[np.mean(rule.sides(side) == s) / 4 for s in (0, 1)] for side in judged]
        rounds, right, both = len(first) + len(second), float(np.trace(rates)), float(rates.sum())
        tally = Tally(right * rounds, (both - right) * rounds + DOUBTS, max(1 - both, 0.0) * rounds)
        return self._rule(first, second, names, seed=seed), tally

    def _rule(self, first: Floats, second: Floats, names: Sequence[str], *, seed: int) -> Rule:
        aimed = self.claimed if math.isfinite(self.claimed) else 0.0
        offers = _offers(first, second, names, epsilon=aimed, delta=self.delta, seed=seed)
        left = [np.ones(len(side), np.bool_) for side in (first, second)]
        rates = [_rates(offer, left) for offer in offers]
        epsilon = self._reach(offers, rates, runs=len(first) + len(second))
        kappa = STAKES[[np.argmax(self._growth(offers, rates, epsilon))]]
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
        aim = _aim(epsilon, STAKES, self.delta)
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
        with threadpool_limits(1):  # as in compare
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


# --- The monitor --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MonitoredFinding(Finding):
    """The finding of an audit that may stop at any time."""

    e_value: float = 1.0  # evidence against the claim when it ended; 1/(1 − confidence) refutes
    # (looks, 3) runs, bound and e-value at the claim, as they went.
    path: Floats = field(default_factory=lambda: np.empty((0, 3)), repr=False, compare=False)


class Monitor:
    """The coin game with a subject that runs elsewhere; it may go on for ever.

    For each run ask for :attr:`side`, run the subject on D if it is 0 and on D′ if it is 1, and :meth:`add` what it
    released. :attr:`bound` and :attr:`e_value` hold whenever one looks.

    Parameters
    ----------
    names : names of the numbers of an output.
    tell : function from an event to its words.
    best : whether rules are learned for the largest bound, instead of for a fast refutation of the claim.
    most_runs : number of rounds that are planned; None if no number is planned.
    reserve : share of the wealth that is laid aside for further pairs, see :meth:`turn`.
    settings : of :class:`~dpnb.audit.settings.AuditSettings`; the seed, by default from the operating system, is that
        of the coin and of classifiers, and the subject must not know it.

    Notes
    -----
    We assume that each run, given all earlier ones, treats the pair as the claim says. Runs need not be independent.
    """

    def __init__(
        self,
        *,
        names: Callable[[int], Sequence[str]] | None = None,
        tell: Callable[[OutputEvent], str] = str,
        best: bool = False,
        most_runs: float = math.inf,
        reserve: float = 0.0,
        **settings: Unpack[Keywords],
    ) -> None:
        settings.setdefault("seed", randbits(128))
        self.asked = asked = AuditSettings(**settings)
        self.rule = Rule()
        self._names = names or (lambda width: [f"output {j}" for j in range(width)])
        self._tell = tell
        self._coin, self._lots = map(np.random.default_rng, np.random.SeedSequence(asked.seed).spawn(2))
        self._tossed: list[int] = []
        self._kept: tuple[list[Floats], list[Floats]] = [], []
        self._game = CoinGame(
            confidence=asked.confidence, delta=asked.delta, reserve=reserve, gaussian=asked.gaussian
        )
        self._best, self._lessons = best, self._taught(best, most_runs)
        self._shown = self.rule, Tally()
        self._next_lesson, self._next_look = 8, 1
        self._path: list[tuple[float, float, float]] = []
        self.runs = 0

    def _taught(self, best: bool, most_runs: float) -> list[Lesson]:
        """A lesson for each point of the claim that can be played against."""
        aims = self.points
        if best:  # probabilities should be as far apart as they can, whatever the claim allows
            aims = [(math.inf, self.asked.delta), (0.0, 0.0)][: len(aims)]
        enough = -math.log(1 - self.asked.confidence)
        return [Lesson(epsilon, enough, delta, most_runs) for epsilon, delta in aims]

    def turn(self, kept: tuple[list[Floats], list[Floats]]) -> None:
        """Play on a pair, another one or the same again, with a part of the wealth that was laid aside.

        The game goes on: a coin picks the data set of each run, of whatever pair, and what is known of all pairs by
        then may choose one.

        Parameters
        ----------
        kept : outputs on D and on D′ that are known already, to learn from; those of the runs to come are added.
        """
        if self.runs:
            self._game.anew()
        self.rule, self._shown = (
            Rule(),
            (Rule(), Tally()),
        )  # those of the pair before tell nothing of this one
        self._kept = kept
        self._learn()

    def ahead(self, count: int) -> list[int]:
        """Data sets of the next ``count`` runs."""
        if (more := count - len(self._tossed)) > 0:
            self._tossed += self._coin.integers(2, size=more).tolist()
        return self._tossed[:count]

    @property
    def side(self) -> int:
        """Data set of the next run: 0 for D and 1 for D′."""
        return self.ahead(1)[0]

    @property
    def points(self) -> list[tuple[float, float]]:
        """Each ε and δ of the claim that runs can be played against."""
        return [(float(epsilon), float(delta)) for epsilon, delta in self._game.points(self.asked.claimed)]

    @property
    def bound(self) -> float:
        """Lower bound of ε, with the stated confidence at all times."""
        return self._game.bound

    @property
    def e_value(self) -> float:
        """Evidence against the claim."""
        return exp(self._game.log_e_value(self.asked.claimed))

    @property
    def gain(self) -> float:
        """What a unit of the wealth that is being bet has become since the last :meth:`turn`."""
        return exp(self._game.log_present(self.asked.claimed))

    @property
    def refuted(self) -> bool:
        """Whether the bound exceeds the claim."""
        return exceeds(self.bound, self.asked.claimed)

    def add(self, side: int, output: ArrayLike) -> None:
        """Add a run.

        Parameters
        ----------
        side : the data set that it ran on, as :attr:`side` said.
        output : one-dimensional numbers. NaN stands for a missing one, and there may be fewer numbers than in other
            outputs.

        Raises
        ------
        ValueError
            If the run was not on the coin's side, or the output is no row of numbers.
        """
        row = np.atleast_1d(np.asarray(output, float))
        if row.ndim != 1:
            raise ValueError(f"output of shape {row.shape}: expected one-dimensional numbers")
        if side != self.side:
            raise ValueError(f"side={side!r}: the coin says {self.side}; run the subject on monitor.side")
        self._tossed.pop(0)
        guess = int(self.rule.sides(row[None])[0])
        self._game.add(None if guess == NO_GUESS else guess == side)
        self._kept[side].append(row)
        self.runs += 1
        if self.runs >= self._next_look:
            self._look()
        if self.runs >= self._next_lesson:
            self._learn()

    def _look(self) -> None:
        self._path.append((self.runs, self.bound, self.e_value))
        self._next_look = math.floor(self.runs * 1.05) + 1

    def _learn(self) -> None:
        if min(map(len, self._kept)) < 4:  # two for each half
            self._next_lesson = self.runs + 1
            return
        self._next_lesson = self.runs + sum(map(len, self._kept))
        for rows in self._kept:
            del rows[:-MOST_KEPT]  # the latest ones stay
        width = max(len(row) for rows in self._kept for row in rows)
        first, second = (np.array([_fitted(row[None], width)[0] for row in rows]) for rows in self._kept)
        lots = int(self._lots.integers(2**31))
        self._retire()
        learned = [lesson.learn(first, second, self._names(width), seed=lots) for lesson in self._lessons]
        # What is to be refuted next: the claim, or what is just above the bound.
        against = self.bound + STEP if self._best else self.asked.claimed
        point = self._game.better([tally for _, tally in learned], against)
        self.rule, suggested = learned[point]
        self._game.begin(suggested, point=point)

    def _retire(self) -> None:
        """Remember the rule that has guessed most on this pair."""
        self._shown = max(
            self._shown, (self.rule, self._game.now), key=lambda one: one[1].correct + one[1].wrong
        )

    def seen_beside(self, width: int) -> bool:
        """Whether some output, of those that are kept, had more than ``width`` numbers."""
        return any(len(row) > width for rows in self._kept for row in rows)

    def finding(self) -> MonitoredFinding:
        """What was found so far."""
        self._retire()
        rule, shown = self._shown
        right = [
            f"{round(one.correct)} of {round(one.correct + one.wrong)}" for one in (shown, self._game.total)
        ]
        by_rule = f"right in {right[0]} guesses, " if shown.correct + shown.wrong else "no guess yet; right "
        event = f"{rule.in_words(self._tell)}: {by_rule}in {right[1]} of all {self.runs} runs"
        return self.asked.finding(
            MonitoredFinding,
            instrument="betting",
            lower_bound=self.bound,
            event=event,
            trials=self.runs,
            e_value=self.e_value,
            path=np.array(self._path, float).reshape(-1, 3),
        )


Outputs = Callable[[Sequence[int]], Iterator[ArrayLike]]
"""Outputs of the next runs, on these data sets."""


def _play(game: Monitor, run: Outputs, *, most_runs: int, stop: bool, at_once: int = 1) -> MonitoredFinding:
    """Play until the claim is refuted, or for ``most_runs`` runs."""
    with progress_bar(most_runs, title="betting", unit="run", shown=game.asked.progress) as bar:
        while game.runs < most_runs and not (stop and game.refuted):
            sides = game.ahead(min(at_once, most_runs - game.runs))
            for side, output in zip(list(sides), run(sides), strict=True):
                game.add(side, output)
                bar.update()
                if stop and game.refuted:
                    break
    return game.finding()


def monitor(
    factory: Callable[[], Any],
    first: Data,
    second: Data,
    *,
    most_runs: int,
    observe: Observe | None = None,
    stop: bool = True,
    **settings: Unpack[Keywords],
) -> MonitoredFinding:
    """Audit any scikit-learn-like estimator on one pair of neighbours; stop as soon as the claim is refuted.

    An exception or a warning of a run is an output like any other, as in :func:`~dpnb.audit.attack.attack`.

    Parameters
    ----------
    factory, first, second, observe : as for :func:`~dpnb.audit.attack.attack`.
    most_runs : largest number of fits, each on one of the data sets by a coin.
    stop : whether to stop when the claim is refuted; otherwise all runs go for the largest bound.
    settings : of :class:`~dpnb.audit.settings.AuditSettings`; the bound holds however long the audit went on.

    Returns
    -------
    MonitoredFinding, whose ``trials`` are the number of runs that it took.

    Raises
    ------
    AttackError
        If every run fails, or ``factory`` cannot be sent to a process.
    ValueError
        For numbers out of range.

    References
    ----------
    Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting; González, Dulce-Rubio,
    Ramdas, Ribero (2025), Sequentially auditing differential privacy, who bet on pairs of runs.
    """
    asked = AuditSettings(**settings).about(subject=type(factory()).__name__)
    check_count("most_runs", most_runs, low=1)
    observe = black_box(first, second) if observe is None else observe
    texts: Texts = {}
    game = Monitor(
        names=partial(noted_names, observe),
        tell=lambda event: words_of(event, texts),
        best=not stop,
        most_runs=most_runs,
        **vars(asked),
    )
    samples = two_samples(factory, first, second, observe, failures=True)
    seeds, asked_for = np.random.default_rng([asked.seed, 1]), 0  # apart from the coin's
    with fitting(samples, jobs=asked.jobs) as made:

        def outputs(sides: Sequence[int]) -> Iterator[ArrayLike]:
            nonlocal asked_for
            runs = [(side, int(seeds.integers(2**32)), asked_for + i) for i, side in enumerate(sides)]
            asked_for += len(runs)
            return (side_by_side(seen, texts) for seen in made(runs))

        at_once = 1 if asked.jobs == 1 else 16 * asked.jobs  # what is fitted in vain when the claim falls
        found = _play(game, outputs, most_runs=most_runs, stop=stop, at_once=at_once)
    if not game.seen_beside(len(NOTED)):
        why = next((text for text in texts.values() if text), "nothing was observed")
        raise AttackError(f"all {game.runs} runs failed on both data sets: {why}")
    return found


def monitor_mechanism(
    run: Callable[[Any, np.random.Generator], ArrayLike],
    first: Any,
    second: Any,
    *,
    most_runs: int,
    stop: bool = True,
    **settings: Unpack[Keywords],
) -> MonitoredFinding:
    """:func:`monitor` for a plain mechanism.

    Parameters
    ----------
    run : data set, random generator → released numbers, one-dimensional or a single one.
    first, second : the neighbours.
    most_runs, stop, settings : as for :func:`monitor`.
    """
    asked = AuditSettings(**settings).about(subject=getattr(run, "__name__", type(run).__name__))
    check_count("most_runs", most_runs, low=1)
    game = Monitor(best=not stop, most_runs=most_runs, **vars(asked))
    rng = np.random.default_rng([asked.seed, 1])

    def outputs(sides: Sequence[int]) -> Iterator[ArrayLike]:
        for side in sides:
            try:
                yield run((first, second)[side], rng)
            except Exception as error:
                which = ("first", "second")[side]
                raise AttackError(
                    f"run {game.runs} on the {which} data set failed: {type(error).__name__}: {error}"
                ) from error

    return _play(game, outputs, most_runs=most_runs, stop=stop)
