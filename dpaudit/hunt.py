"""Bets on many pairs: each is tried, the promising ones more often, and one wealth is laid on whichever leads.

A hunt goes in rounds, each with twice as many fits as the one before. A third of a round scouts: fits of all pairs,
then of those that promise more. The rest bets on the pair that leads, as long as it does, with rules that were learned
from all that is known of it. All bets together are one game of :class:`~dpaudit.monitor.Monitor`: the coin is
tossed after the pair was chosen, so that a subject that keeps its claim gives no gain, whatever chose the pair and the
guess. Whenever the lead changes, or bets have lost, a part of the wealth that was laid aside is bet, so that nothing is
lost for good.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dpnb.arrays import Floats

from .adapters import OnDomain
from .events import OutputEvent
from .fits import NOTED, AttackError, fitting, progress_bar, table
from .look import Columns, Look, LookedAt, queries_for
from .monitor import MOST_KEPT, Monitor, MonitoredFinding
from .pairs import Pair
from .settings import UNLIMITED, AuditSettings
from .signs import NOTHING, Promise, promise, signs
from .words import asked_for, texts_in, words_of

LEAST_RUNS = 4  # of a data set in the first round; two where fits are dear, one to choose and one to measure
SCOUTS = 1 / 3  # of a round's fits
RESERVE = 0.5  # of the wealth, for rounds after the first
KEPT = 1 / 3  # of the pairs after each stage of a scouting
CONSTANT = 3  # fits on each data set after which what never changed is looked into


@dataclass(frozen=True)
class Tried:
    """What was tried on one pair."""

    pair: str  # its name
    runs: int = 0  # fits on its second data set
    promise: Promise = NOTHING  # what bets on it would gain
    note: str = ""  # why nothing, if all fits failed


class Plain(NamedTuple):
    """An event by one number, in words, and how often it came up; chosen afterwards, so no evidence by itself."""

    event: OutputEvent
    words: str
    texts: list[str] | None  # in the event, if its numbers stand for texts
    on_first: tuple[int, int]  # fits in the event, of so many on D
    on_second: tuple[int, int]

    def __str__(self) -> str:
        (k, n), (l, m) = self.on_first, self.on_second  # noqa: E741
        return f"{self.words}: {k} of {n} fits on D, {l} of {m} on D′"


@dataclass(frozen=True)
class Bets:
    """Bets on many pairs."""

    finding: MonitoredFinding  # of all bets; its pair is the last one that was bet on
    pair: Pair  # that pair
    plain: Plain  # what tells its data sets apart most plainly
    tried: tuple[Tried, ...]  # all pairs, the most promising first
    fits: int  # number of fits in all
    columns: int  # numbers and texts of the fits that were looked at


class Allowance:
    """What an audit may still spend: fits, and time from now on."""

    def __init__(self, settings: AuditSettings) -> None:
        self.fits, self._most = 0, 2 * settings.runs
        self._began = time.monotonic()
        self._end = self._began + 60 * settings.minutes

    def begin(self) -> None:
        """Fits are counted, and timed, from now on."""
        self._began = time.monotonic()

    @property
    def left(self) -> float:
        """Number of fits that can still be made, at the pace of those that were made."""
        by_number = max(self._most - self.fits, 0)
        if math.isinf(self._end):
            return by_number
        now = time.monotonic()
        pace = (now - self._began) / max(self.fits, 1)
        return min(by_number, max(self._end - now, 0.0) / max(pace, 1e-9))


class Hunt:
    """All that is known of the pairs, and the game.

    Parameters
    ----------
    factory : returns an unfitted estimator.
    pairs : neighbours, in the order in which they are tried when there are few runs.
    settings : the claim, and what may be spent.
    allowance : what is left of that.
    """

    def __init__(
        self, factory: Callable[[], Any], pairs: Sequence[Pair], settings: AuditSettings, allowance: Allowance
    ) -> None:
        self.pairs, self.settings, self.allowance = list(pairs), settings, allowance
        self.view, self.leader, self._playing = Columns(), 0, -1
        self.tried = [Tried(pair.name) for pair in self.pairs]
        self.samples: list[LookedAt] = []
        self._sides = self._numbered(factory)
        self.rows: list[list[Floats]] = [[] for _ in self.samples]
        self._counts: Counter[int] = Counter()
        self.game = Monitor(names=self._names, tell=self._tell, reserve=RESERVE, **vars(settings))
        self._seeds = np.random.default_rng([settings.seed, 1])  # apart from the coin's

    def _numbered(self, factory: Callable[[], Any]) -> list[tuple[int, int]]:
        """Places of both data sets of each pair; one that several pairs have in common is fitted for all of them."""
        groups: dict[int, list[int]] = {}
        for place, pair in enumerate(self.pairs):
            groups.setdefault(id(pair.first), []).append(place)
        sides = [(0, 0)] * len(self.pairs)
        for places in groups.values():
            alike = [self.pairs[place] for place in places]
            look, made, first = (
                Look(queries_for(alike)),
                OnDomain(factory, alike[0].domain),
                len(self.samples),
            )
            parts = [("first", alike[0].first), *(("second", pair.second) for pair in alike)]
            self.samples += [LookedAt(made, part, look, name, failures=True) for name, part in parts]
            for number, place in enumerate(places, start=1):
                sides[place] = first, first + number
        return sides

    def _names(self, width: int) -> list[str]:
        return self.view.names[:width]

    def _tell(self, event: OutputEvent) -> str:
        return words_of(event, self.view.texts)

    # --- Fits -------------------------------------------------------------------------------------------------

    @contextmanager
    def at_work(self) -> Iterator[Hunt]:
        """Inside, data sets can be fitted; processes and progress are shared by all rounds."""
        asked = self.settings
        total = math.inf if asked.runs >= UNLIMITED else 2 * asked.runs
        with (
            fitting(self.samples, jobs=asked.jobs) as self._made,
            progress_bar(total, title="audit", unit="fit", shown=asked.progress) as self._bar,
        ):
            self.allowance.begin()
            yield self

    def _fits(self, places: Sequence[int]) -> Iterator[Floats]:
        """Fit these data sets, each fit with a seed of its own, and tell what is seen of each as a row."""
        seeds = self._seeds.integers(2**32, size=len(places)).tolist()
        runs = [(place, seed, i) for i, (place, seed) in enumerate(zip(places, seeds, strict=True))]
        for place, seen in zip(places, self._made(runs), strict=True):
            self.allowance.fits += 1
            self._counts[place] += 1
            self._bar.update()
            look: Any = self.samples[place].observe
            yield self.view.row(seen, look)

    def begin(self) -> None:
        """Fit all pairs a few times; if a third of what is left affords less, twice, as many pairs as it affords."""
        if math.isfinite(self.settings.minutes):
            self._fitted([0, 0])  # to see how long a fit takes
        fits = SCOUTS * self.allowance.left
        each = int(np.clip(fits / len(self.samples), 2, LEAST_RUNS))
        self._fitted(np.repeat(self._samples_of(self._order())[: max(int(fits / each), 2)], each).tolist())
        self._judge(range(len(self.pairs)))

    def scout(self, fits: float) -> None:
        """Fit all pairs again, then the better third of them, and so on until one is left."""
        alive = self._order()
        stages = 1 + math.ceil(math.log(len(alive)) / -math.log(KEPT))
        for _ in range(stages):
            samples = self._samples_of(alive)
            self._fitted(np.tile(samples, math.ceil(fits / stages / len(samples))).tolist())
            self._judge(alive)
            alive = [place for place in self._order() if place in set(alive)][: math.ceil(KEPT * len(alive))]

    def _samples_of(self, order: Sequence[int]) -> list[int]:
        """Data sets of pairs, in their order, each once."""
        return list(dict.fromkeys(side for place in order for side in self._sides[place]))

    def _fitted(self, places: Sequence[int]) -> None:
        """Fit data sets, as far as something is left to spend, and keep what is seen."""
        self._bar.set_postfix_str("scouting", refresh=False)
        places = places[: int(self.allowance.left)]
        for place, row in zip(places, self._fits(places), strict=True):
            self.rows[place].append(row)
            del self.rows[place][:-MOST_KEPT]
            if self.allowance.left < 1:
                break

    def _judge(self, places: Iterable[int]) -> None:
        """See what pairs promise, and which leads."""
        for place in places:
            self.tried[place] = self._judged(place)
        self.leader = self._order()[0]

    def _order(self) -> list[int]:
        """Pairs, the most promising first: by what they gain at least, else on the face of it."""
        gains = [(-max(one.promise.least, 0.0), -one.promise.seen) for one in self.tried]
        return sorted(range(len(self.pairs)), key=lambda place: (*gains[place], place))

    def known(self, place: int) -> tuple[list[Floats], list[Floats]]:
        """Rows of both data sets of a pair."""
        first, second = self._sides[place]
        return self.rows[first], self.rows[second]

    def _judged(self, place: int) -> Tried:
        """What the runs on a pair promise."""
        sides, name = self.known(place), self.pairs[place].name
        if min(map(len, sides)) < 2:
            return self.tried[place]
        runs = self._counts[self._sides[place][1]]
        if not any(len(row) > len(NOTED) for side in sides for row in side):
            raised = [self.view.texts[NOTED[1], row[1]] for side in sides for row in side if row[1]]
            return Tried(name, runs, NOTHING, (raised or ["nothing was observed"])[0])
        first, second = _tables(sides)
        return Tried(name, runs, max(promise(first, second, epsilon=e, delta=d) for e, d in self.game.points))

    def check(self) -> None:
        """Raise AttackError if the estimator failed in every run on all pairs that were tried."""
        fitted = [one for one in self.tried if one.runs]
        if fitted and all(one.note for one in fitted):
            runs = sum(self._counts.values())
            raise AttackError(
                f"pair {fitted[0].pair!r}: all {runs} runs failed on both data sets: {fitted[0].note}"
            )

    # --- Bets -------------------------------------------------------------------------------------------------

    def suspects(self) -> list[Pair]:
        """Pairs on which something had one value in all fits on D and another one in all fits on D′; most first."""
        numbers = [_constant(*self.known(place)) for place in range(len(self.pairs))]
        order = sorted(range(len(self.pairs)), key=lambda place: -numbers[place])
        return [self.pairs[place] for place in order if numbers[place]]

    def bet(self, fits: float) -> None:
        """Play on the pair that leads, for so many fits, while it leads."""
        leader, game, until = self.leader, self.game, self.game.runs + fits
        if leader != self._playing or game.gain < 1:
            game.turn(self.known(leader))
            self._playing = leader
        while self.leader == leader and game.runs < until and not game.refuted and self.allowance.left >= 1:
            self._play(int(min(sum(map(len, self.known(leader))), until - game.runs, self.allowance.left)))
            self._judge([leader])

    def _play(self, rounds: int) -> None:
        """Bet on a pair for some rounds, or until the claim is refuted."""
        game, sides, until = self.game, self._sides[self._playing], self.game.runs + max(rounds, 1)
        # So many are fitted in vain when the claim falls.
        at_once = 1 if self.settings.jobs == 1 else 16 * self.settings.jobs
        while game.runs < until and not game.refuted and self.allowance.left >= 1:
            tossed = list(game.ahead(min(at_once, until - game.runs)))
            for side, row in zip(tossed, self._fits([sides[side] for side in tossed]), strict=True):
                game.add(side, row)
                self._bar.set_postfix_str(self._progress(), refresh=False)
                if game.refuted:
                    return

    def _progress(self) -> str:
        enough = 1 / (1 - self.settings.confidence)
        return f"wealth {self.game.e_value:.3g}, {enough:.3g} refutes; {self.pairs[self.leader].name}"

    def go_on(self) -> None:
        """Bet and scout in turn until the claim is refuted, or nothing is left to spend; a first scouting is done."""
        scouted = self.allowance.fits
        while not self.game.refuted and self.allowance.left >= 1:
            self.bet(max(scouted * (1 - SCOUTS) / SCOUTS, 1))
            scouted = int(min(2 * scouted, SCOUTS * self.allowance.left))
            if scouted >= 1 and not self.game.refuted:
                self.scout(scouted)

    def bets(self) -> Bets:
        """What was found so far."""
        pair, known = self.pairs[self.leader], self.known(self.leader)
        return Bets(
            finding=replace(self.game.finding(), pair=pair.name),
            pair=pair,
            plain=self._plain(*_tables(known)),
            tried=tuple(self.tried[place] for place in self._order()),
            fits=self.allowance.fits,
            columns=len(self.view.names),
        )

    @property
    def _look(self) -> Look:
        """How fits of the pair that leads are looked at."""
        look = self.samples[self._sides[self.leader][0]].observe
        assert isinstance(look, Look)
        return look

    def _plain(self, first: Floats, second: Floats) -> Plain:
        """The event by one number that tells two samples apart best."""
        looks = [signs(first, second, epsilon=e, delta=d) for e, d in self.game.points]
        found = max(looks, key=lambda one: one.excess.max(initial=-math.inf))
        j, event = 0, OutputEvent(NOTED[0], "=", 0.0)
        if len(found.columns):
            at = int(found.excess.argmax())
            j = int(found.columns[at])
            event = found.event(at, self.view.names[j])
        k, l = (int(event.holds(side[:, j]).sum()) for side in (first, second))  # noqa: E741
        return Plain(
            event,
            asked_for(self._tell(event), self._look.answers.queries),
            texts_in(event, self.view.texts),
            (k, len(first)),
            (l, len(second)),
        )


def _tables(sides: tuple[list[Floats], list[Floats]]) -> tuple[Floats, Floats]:
    """Rows of two data sets as tables of the same columns."""
    width = max((len(row) for side in sides for row in side), default=len(NOTED))
    return table(sides[0], width), table(sides[1], width)


def _constant(first: list[Floats], second: list[Floats]) -> int:
    """Number of columns that have one value in all rows of each side, and not the same."""
    if min(len(first), len(second)) < CONSTANT:
        return 0
    a, b = (np.nan_to_num(side, nan=-1e300) for side in _tables((first, second)))
    return int(((a == a[0]).all(axis=0) & (b == b[0]).all(axis=0) & (a[0] != b[0])).sum())
