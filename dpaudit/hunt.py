"""Bets on many pairs: each is tried, the promising ones more often, and one wealth is laid on whichever leads.

A hunt goes in rounds, each with twice as many fits as the one before. A third of a round scouts: fits of all pairs,
then of those that promise more. The rest bets on the pair that leads, as long as it does, with rules that were learned
from all that is known of it. All bets together are one game of :class:`~dpaudit.monitor.Monitor`: the coin is
tossed after the pair was chosen, so that a subject that keeps its claim gives no gain, whatever chose the pair and the
guess. Whenever the lead changes, or bets have lost, a part of the wealth that was laid aside is bet, so that nothing is
lost for good. A pair whose last bets gained more than another one promises is not left, unless bets on it have lost in
all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dpnb.arrays import Floats

from .contents import group, reached
from .events import OutputEvent
from .fits import NOTED
from .look import LABELS
from .monitor import Monitor, MonitoredFinding
from .pairs import Pair
from .scout import SCOUTS, Scout, Tried, tables
from .settings import AuditSettings
from .signs import signs, telling
from .words import asked_for, texts_in, words_of

RESERVE = 0.5  # of the wealth, for rounds after the first
MOST_BLOCKS = 100  # of a fit's numbers that are looked at each time; more take longer than many fits
MOST_FOLLOWED = 30  # columns, at each point of the claim, whose names are followed then
ENOUGH = 16  # fits on each data set that choose them: one chance column in 300 million parts so many

Sides = tuple[list[Floats], list[Floats]]  # rows on D and on D′


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


class FewNames(NamedTuple):
    """What is looked at of the fits on one pair, by names with stars, and all that is known of it."""

    only: frozenset[str]
    rows: Sides


@dataclass(frozen=True)
class Bets:
    """Bets on many pairs."""

    finding: MonitoredFinding  # of all bets; its pair is the last one that was bet on
    pair: Pair  # that pair
    plain: Plain  # what tells its data sets apart most plainly
    tried: tuple[Tried, ...]  # all pairs, the most promising first
    fits: int  # number of fits in all
    columns: int  # numbers and texts of the fits that were looked at


class Hunt:
    """The game, and the scout that tells which pair to bet on.

    Parameters
    ----------
    factory, pairs, settings : as of :class:`~dpaudit.scout.Scout`.
    """

    def __init__(self, factory: Callable[[], Any], pairs: Sequence[Pair], settings: AuditSettings) -> None:
        self.game = Monitor(names=self._names, tell=self._tell, reserve=RESERVE, **vars(settings))
        self.scout = Scout(factory, pairs, settings, points=self.game.points)
        self._playing, self._rate = -1, -math.inf  # growth of log wealth a fit, by the last bets
        self._followed: dict[int, FewNames] = {}  # by pair, where a look takes long

    def _names(self, width: int) -> list[str]:
        return self.scout.view.names[:width]

    def _tell(self, event: OutputEvent) -> str:
        return words_of(event, self.scout.view.texts)

    @contextmanager
    def at_work(self) -> Iterator[Scout]:
        """Inside, pairs can be tried and bet on."""
        with self.scout.at_work() as self._bar:
            yield self.scout

    def bet(self, fits: float) -> None:
        """Play for so many fits on the pair that leads, or on the one before as long as it gains."""
        game, until = self.game, self.game.runs + fits
        if self._playing < 0 or game.gain < 1 or not self._stays():
            self._playing = self.scout.leader
            game.turn(self._known)
        staying = True
        while staying and game.runs < until and not game.refuted and self.scout.allowance.left >= 1:
            self._look_closely()
            known, runs, wealth = sum(map(len, self._known)), game.runs, game.gain
            self._play(int(min(known, until - game.runs, self.scout.allowance.left)))
            self._rate = math.log(game.gain / wealth) / max(game.runs - runs, 1) if wealth else -math.inf
            self.scout.judge([self._playing])
            staying = self._stays()

    @property
    def _known(self) -> Sides:
        """Rows of the pair that is played on."""
        followed = self._followed.get(self._playing)
        return followed.rows if followed else self.scout.known(self._playing)

    def _look_closely(self) -> None:
        """Where a look takes long and enough is known, look only at what tells most from now on.

        A name tells with all its positions, so that a leaf of a tree is followed in all trees.
        """
        view, known = self.scout.view, self._known
        if view.blocks <= MOST_BLOCKS or self._playing in self._followed or min(map(len, known)) < ENOUGH:
            return
        first, second = tables(known)
        looks = [*self.game.points, (0.0, 0.0)]
        best = {
            j
            for e, d in looks
            for j in telling(first, second, epsilon=e, delta=d, most=MOST_FOLLOWED).tolist()
        }
        only = frozenset(group(view.names[j]) for j in best)
        seen = [
            group(name) in only or not (reached(name).startswith("model") or name == LABELS)
            for name in view.names
        ]
        rows = tuple([np.where(seen[: len(row)], row, np.nan) for row in side] for side in known)
        self._followed[self._playing] = FewNames(only, (rows[0], rows[1]))
        self.game.follow(self._known)

    def _stays(self) -> bool:
        """Whether the pair that is played on leads, or has gained more by its last bets than the leader promises."""
        return self._playing == self.scout.leader or self._rate > max(self.scout.promised.least, 0.0)

    def _play(self, rounds: int) -> None:
        """Bet on a pair for some rounds, or until the claim is refuted."""
        game, sides, until = self.game, self.scout.sides[self._playing], self.game.runs + max(rounds, 1)
        # So many are fitted in vain when the claim falls.
        at_once = 1 if self.scout.settings.jobs == 1 else 16 * self.scout.settings.jobs
        while game.runs < until and not game.refuted and self.scout.allowance.left >= 1:
            tossed = list(game.ahead(min(at_once, until - game.runs)))
            only = self._followed[self._playing].only if self._playing in self._followed else frozenset[str]()
            rows = self.scout.fits([sides[side] for side in tossed], only)
            for side, row in zip(tossed, rows, strict=True):
                game.add(side, row)
                self._bar.set_postfix_str(self._progress(), refresh=False)
                if game.refuted:
                    return

    def _progress(self) -> str:
        enough = 1 / (1 - self.scout.settings.confidence)
        return f"wealth {self.game.e_value:.3g}, {enough:.3g} refutes; {self.scout.pairs[self._playing].name}"

    def go_on(self) -> None:
        """Bet and scout in turn until the claim is refuted, or nothing is left to spend; a first scouting is done."""
        scouted = self.scout.allowance.fits
        while not self.game.refuted and self.scout.allowance.left >= 1:
            self.bet(max(scouted * (1 - SCOUTS) / SCOUTS, 1))
            scouted = int(min(2 * scouted, SCOUTS * self.scout.allowance.left))
            if scouted >= 1 and not self.game.refuted:
                self.scout.again(scouted)

    def bets(self) -> Bets:
        """What was found so far."""
        place = self.scout.leader if self._playing < 0 else self._playing
        pair, known = (
            self.scout.pairs[place],
            self._known if place == self._playing else self.scout.known(place),
        )
        return Bets(
            finding=replace(self.game.finding(), pair=pair.name),
            pair=pair,
            plain=self._plain(*tables(known)),
            tried=self.scout.in_order,
            fits=self.scout.allowance.fits,
            columns=len(self.scout.view.names),
        )

    def _plain(self, first: Floats, second: Floats) -> Plain:
        """The event by one number that tells two samples apart best."""
        looks = [signs(first, second, epsilon=e, delta=d) for e, d in self.game.points]
        found = max(looks, key=lambda one: one.excess.max(initial=-math.inf))
        j, event = 0, OutputEvent(NOTED[0], "=", 0.0)
        if len(found.columns):
            at = int(found.excess.argmax())
            j = int(found.columns[at])
            event = found.event(at, self.scout.view.names[j])
        k, l = (int(event.holds(side[:, j]).sum()) for side in (first, second))  # noqa: E741
        return Plain(
            event,
            asked_for(self._tell(event), self.scout.queries_at(self._playing)),
            texts_in(event, self.scout.view.texts),
            (k, len(first)),
            (l, len(second)),
        )
