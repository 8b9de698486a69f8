"""Scouting: all pairs are fitted a few times, and those that promise more again; what is seen of each fit is kept.

A pair promises what bets on it would gain. No promise is evidence.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpnb.arrays import Floats

from .adapters import OnDomain
from .fits import NOTED, AttackError, fitting, progress_bar, table
from .look import Columns, Look, LookedAt, queries_for
from .pairs import Pair
from .settings import MOST_KEPT, UNLIMITED, AuditSettings
from .signs import NO_PROMISE, Promise, promise

LEAST_RUNS = 4  # of a data set in the first round; two where fits are dear, one to choose and one to measure
SCOUTS = 1 / 3  # of a round's fits
KEPT = 1 / 3  # of the pairs after each stage of a scouting
MANY = 10_000  # records of a data set
CONSTANT = 3  # fits on each data set after which what never changed is looked into


@dataclass(frozen=True)
class Tried:
    """What was tried on one pair."""

    pair: str  # its name
    runs: int = 0  # fits on its second data set
    promise: Promise = NO_PROMISE  # what bets on it would gain
    note: str = ""  # why nothing, if all fits failed


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


class Scout:
    """All that is known of the pairs.

    Parameters
    ----------
    factory : returns an unfitted estimator.
    pairs : neighbours, in the order in which they are tried when there are few runs.
    settings : the claim, and what may be spent.
    points : each ε and δ of the claim that a pair may refute.
    """

    def __init__(
        self,
        factory: Callable[[], Any],
        pairs: Sequence[Pair],
        settings: AuditSettings,
        *,
        points: Sequence[tuple[float, float]],
    ) -> None:
        self.pairs, self.settings, self.allowance = list(pairs), settings, Allowance(settings)
        self.view, self.leader, self._points = Columns(), 0, points
        self.tried = [Tried(pair.name) for pair in self.pairs]
        self._samples: list[LookedAt] = []
        self.sides = self._numbered(factory)
        self._rows: list[list[Floats]] = [[] for _ in self._samples]
        self._counts: Counter[int] = Counter()
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
                len(self._samples),
            )
            parts = [("first", alike[0].first), *(("second", pair.second) for pair in alike)]
            self._samples += [
                LookedAt(made, part, look, name, failures=True, timed=self.settings.time)
                for name, part in parts
            ]
            for number, place in enumerate(places, start=1):
                sides[place] = first, first + number
        return sides

    @contextmanager
    def at_work(self) -> Iterator[Any]:
        """Inside, data sets can be fitted; processes and the progress bar, which is given, serve all rounds."""
        asked = self.settings
        total = math.inf if asked.runs >= UNLIMITED else 2 * asked.runs
        with (
            fitting(self._samples, jobs=asked.jobs) as self._made,
            progress_bar(total, title="audit", unit="fit", shown=asked.progress) as self._bar,
        ):
            self.allowance.begin()
            yield self._bar

    def fits(self, places: Sequence[int], only: frozenset[str] = frozenset()) -> Iterator[Floats]:
        """Fit these data sets, each fit with a seed of its own, and tell what is seen of each as a row.

        With ``only``, that is answers, what a fit tells beside, and what stands under these names.
        """
        seeds = self._seeds.integers(2**32, size=len(places)).tolist()
        runs = [(place, seed, i, only) for i, (place, seed) in enumerate(zip(places, seeds, strict=True))]
        for place, seen in zip(places, self._made(runs), strict=True):
            self.allowance.fits += 1
            self._counts[place] += 1
            self._bar.update()
            look: Any = self._samples[place].observe
            yield self.view.row(seen, look)

    def begin(self) -> None:
        """Fit all pairs a few times; if a third of what is left affords less, twice, as many pairs as it affords."""
        if math.isfinite(self.settings.minutes):
            self._fitted([0, 0])  # to see how long a fit takes
        fits = SCOUTS * self.allowance.left
        each = int(np.clip(fits / len(self._samples), 2, LEAST_RUNS))
        self._fitted(np.repeat(self._samples_of(self._order())[: max(int(fits / each), 2)], each).tolist())
        self.judge(range(len(self.pairs)))

    def again(self, fits: float) -> None:
        """Fit all pairs again, then the better third of them, and so on until one is left."""
        alive = [place for place in self._order() if not self._dear(place)]
        stages = 1 + math.ceil(math.log(len(alive)) / -math.log(KEPT))
        for _ in range(stages):
            samples = self._samples_of(alive)
            self._fitted(np.tile(samples, math.ceil(fits / stages / len(samples))).tolist())
            self.judge(alive)
            alive = [place for place in self._order() if place in set(alive)][: math.ceil(KEPT * len(alive))]

    def _dear(self, place: int) -> bool:
        """Whether a pair has many records and promises nothing: its fits would take the time of many others."""
        return len(self.pairs[place].first[1]) > MANY and self.tried[place].promise.seen <= 0

    def _samples_of(self, order: Sequence[int]) -> list[int]:
        """Data sets of pairs, in their order, each once."""
        return list(dict.fromkeys(side for place in order for side in self.sides[place]))

    def _fitted(self, places: Sequence[int]) -> None:
        """Fit data sets, as far as something is left to spend, and keep what is seen."""
        self._bar.set_postfix_str("scouting", refresh=False)
        places = places[: int(self.allowance.left)]
        for place, row in zip(places, self.fits(places), strict=True):
            self._rows[place].append(row)
            del self._rows[place][:-MOST_KEPT]
            if self.allowance.left < 1:
                break

    def judge(self, places: Iterable[int]) -> None:
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
        first, second = self.sides[place]
        return self._rows[first], self._rows[second]

    def _judged(self, place: int) -> Tried:
        """What the runs on a pair promise."""
        sides, name = self.known(place), self.pairs[place].name
        if min(map(len, sides)) < 2:
            return self.tried[place]
        runs = self._counts[self.sides[place][1]]
        if not any(len(row) > len(NOTED) for side in sides for row in side):
            raised = [self.view.texts[NOTED[1], row[1]] for side in sides for row in side if row[1]]
            return Tried(name, runs, NO_PROMISE, (raised or ["nothing was observed"])[0])
        first, second = tables(sides)
        return Tried(name, runs, max(promise(first, second, epsilon=e, delta=d) for e, d in self._points))

    def check(self) -> None:
        """Raise AttackError if the estimator failed in every run on all pairs that were tried."""
        fitted = [one for one in self.tried if one.runs]
        if fitted and all(one.note for one in fitted):
            runs = sum(self._counts.values())
            raise AttackError(
                f"pair {fitted[0].pair!r}: all {runs} runs failed on both data sets: {fitted[0].note}"
            )

    def suspects(self) -> list[Pair]:
        """Pairs on which something had one value in all fits on D and another one in all fits on D′; most first."""
        numbers = [_constant(*self.known(place)) for place in range(len(self.pairs))]
        order = sorted(range(len(self.pairs)), key=lambda place: -numbers[place])
        return [self.pairs[place] for place in order if numbers[place]]

    @property
    def promised(self) -> Promise:
        """What the pair that leads promises."""
        return self.tried[self.leader].promise

    @property
    def in_order(self) -> tuple[Tried, ...]:
        """What was tried, the most promising pair first."""
        return tuple(self.tried[place] for place in self._order())

    def queries_at(self, place: int) -> Any:
        """Records that models of a pair are asked for."""
        look: Any = self._samples[self.sides[place][0]].observe
        return look.answers.queries


def tables(sides: tuple[list[Floats], list[Floats]]) -> tuple[Floats, Floats]:
    """Rows of two data sets as tables of the same columns."""
    width = max((len(row) for side in sides for row in side), default=len(NOTED))
    return table(sides[0], width), table(sides[1], width)


def _constant(first: list[Floats], second: list[Floats]) -> int:
    """Number of columns that have one value in all rows of each side, and not the same."""
    if min(len(first), len(second)) < CONSTANT:
        return 0
    a, b = (np.nan_to_num(side, nan=-1e300) for side in tables((first, second)))
    return int(((a == a[0]).all(axis=0) & (b == b[0]).all(axis=0) & (a[0] != b[0])).sum())
