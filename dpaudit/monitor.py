"""Audits that may stop at any time, by the fair-coin game with a subject that runs elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from secrets import randbits
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from dpnb.arrays import Floats
from dpnb.replay.finding import Finding, exceeds

from .betting import STEP, CoinGame, Tally, exp, gaussian_mu, gaussian_shares
from .events import OutputEvent
from .rules import NO_GUESS, Graded, Learner, Lesson
from .settings import AuditSettings, Keywords
from .words import counted

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
    settings : of :class:`~dpaudit.settings.AuditSettings`; the seed, by default from the operating system, is that
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
        self._tell, self._best = tell, best
        self._coin, lots = map(np.random.default_rng, np.random.SeedSequence(asked.seed).spawn(2))
        self._tossed: list[int] = []
        self._game = CoinGame(
            confidence=asked.confidence, delta=asked.delta, reserve=reserve, gaussian=asked.gaussian
        )
        aims = self.points
        if best:  # probabilities should be as far apart as they can, whatever the claim allows
            aims = [(math.inf, asked.delta), (0.0, 0.0)][: len(aims)]
        enough = -math.log(1 - asked.confidence)
        lessons = [Lesson(epsilon, enough, delta, most_runs) for epsilon, delta in aims]
        if asked.gaussian:
            shares = gaussian_shares(float(gaussian_mu(asked.claimed, delta=asked.delta)))
            lessons.append(Graded(asked.claimed, enough, asked.delta, most_runs, shares))
        self.learner = Learner(lessons, names=names, rng=lots)
        self._next_look = 1
        self._path: list[tuple[float, float, float]] = []
        self.runs = 0

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
        self.learner.forget(kept)
        self._learn()

    def follow(self, kept: tuple[list[Floats], list[Floats]]) -> None:
        """Learn from these outputs of the same pair, and those to come; parameters as of :meth:`turn`."""
        self.learner.kept = kept
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
        """The claim's ε and δ, and its δ at ε = 0 if it is of normal noise."""
        curves = self._game.curves(self.asked.claimed)[:2]
        return [(float(epsilon), float(delta)) for ((epsilon, delta),) in curves]

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
        guess, strength = (int(one[0]) for one in self.learner.rule.guessed(row[None]))
        self._game.add(None if guess == NO_GUESS else guess == side, strength=strength)
        self.learner.kept[side].append(row)
        self.runs += 1
        if self.runs >= self._next_look:
            self._look()
        if self.runs >= self.learner.due:
            self._learn()

    def _look(self) -> None:
        self._path.append((self.runs, self.bound, self.e_value))
        self._next_look = math.floor(self.runs * 1.05) + 1

    def _learn(self) -> None:
        """Guess by a new rule, where there is enough to learn one from, and lay the stakes anew."""
        learned = self.learner.learn(self.runs, guessed=self._game.now)
        if not learned:
            return
        # What is to be refuted next: the claim, or what is just above the bound.
        against = self.bound + STEP if self._best else self.asked.claimed
        best = self._game.better([tally for _, tally in learned], against)
        self.learner.rule, suggested = learned[best]
        self._game.begin(suggested, against=best)

    def seen_beside(self, width: int) -> bool:
        """Whether some output, of those that are kept, had more than ``width`` numbers."""
        return any(len(row) > width for rows in self.learner.kept for row in rows)

    def _rightly(self, tally: Tally) -> str:
        """How often guesses were right, and how often they may be."""
        correct, wrong, none = tally.plain
        guesses, rounds = round(correct + wrong), round(correct + wrong + none)
        if not guesses:
            return f"no guess in {counted(rounds, 'fit')}"
        points = [point for curve in self._game.curves(self.asked.claimed) for point in curve]
        allowed = [
            guesses + float(delta * rounds - guesses) / (exp(float(epsilon)) + 1) for epsilon, delta in points
        ]
        return (
            f"right in {round(correct)} of {counted(guesses, 'guess')}, where the claim allows "
            f"{min(*allowed, guesses):.1f} on average"
        )

    def finding(self) -> MonitoredFinding:
        """What was found so far."""
        rule, shown = self.learner.most_used(self._game.now)
        event, total = f"guess {rule.in_words(self._tell)}: {self._rightly(shown)}", self._game.total
        if not rule.guesses:
            event = f"no guess yet by this pair; by others {self._rightly(total)}"
        elif total.plain[:2] != shown.plain[:2]:
            event += f"; by this rule and others {self._rightly(total)}"
        return self.asked.finding(
            MonitoredFinding,
            instrument="betting",
            lower_bound=self.bound,
            event=event,
            trials=self.runs,
            e_value=self.e_value,
            path=np.array(self._path, float).reshape(-1, 3),
        )
