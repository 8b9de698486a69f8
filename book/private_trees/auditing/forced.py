"""Forced outcomes that tell two data sets apart, looked for release by release.

Pure ε bounds the log-likelihood ratio at every possible output, however unlikely it is. So an auditor need not wait for
one that tells much. Here both fits run side by side. At each release some outcomes are drawn, entry by entry the one
whose likelihood changes most is kept, and both fits go on with it. A replay of the outcomes so found gives the ratio.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from threading import Barrier
from typing import Any

import numpy as np

from dpnb.privacy.laws import Point
from dpnb.replay.questions import Fit, Question, Request, ordinary_answer
from dpnb.replay.tape import Release, Tape, shared_bootstrap

DRAWS = 8  # of every release


class _Meeting:
    """Where two fits agree on the outcome of a release, until they ask for different ones."""

    def __init__(self, rng: np.random.Generator, draws: int) -> None:
        self._rng, self._draws = rng, draws
        self._own = rng.spawn(2)  # for each fit, once it is alone
        self._asked: list[tuple[Request, Any] | None] = [None, None]
        self._outcome: Any = None
        self._barrier = Barrier(2, action=self._agree)
        self._apart = False

    def answer(self, question: Question, *, side: int) -> Any:
        """The outcome, as soon as the other fit has come to it; a draw once the two have gone apart."""
        if question.law is None:
            return ordinary_answer(question)
        if not self._apart:
            self._meet(side, (question.request, question.law))
        return question.draw(self._own[side]) if self._apart else self._outcome

    def leave(self, side: int) -> None:
        """A fit has ended."""
        if not self._apart:
            self._meet(side, None)

    def _meet(self, side: int, asked: tuple[Request, Any] | None) -> None:
        self._asked[side] = asked
        self._barrier.wait()

    def _agree(self) -> None:
        first, second = self._asked
        self._apart = first is None or second is None or first[0] != second[0]
        if first is None or second is None or self._apart:
            return
        here, there = first[1], second[1]
        drawn = [here.draw(self._rng) for _ in range(self._draws)]
        with np.errstate(invalid="ignore"):
            gains = [np.nan_to_num(here.log_density(one) - there.log_density(one)) for one in drawn]
        self._outcome = _kept(drawn, np.argmax(gains, axis=0))


def _kept(drawn: list[Any], best: Any) -> Any:
    """Entry by entry, or group by group, one of several outcomes."""
    if isinstance(drawn[0], Point):
        return Point(*(_kept(list(field), best) for field in zip(*drawn, strict=True)))
    return np.choose(best, drawn) if np.shape(drawn[0]) == np.shape(best) else drawn[0]


def forced(fit: Fit, first: Any, second: Any, *, draws: int = DRAWS, seed: int = 0) -> list[Release]:
    """Outcomes of a fit on ``first`` that are likelier there than on ``second``.

    Parameters
    ----------
    fit : runs the subject on a data set, with the same seed always. A partial function of this one is the ``force`` of
        :func:`~dpnb.replay.tape.replay_estimator`.
    first, second : the neighbours.
    draws : of every release; 1 draws outcomes as a fit on ``first`` does.
    seed : of the outcomes.

    Returns
    -------
    The releases in their order; drawn as ever from where the two fits ask for different ones.
    """
    meeting = _Meeting(np.random.default_rng(seed), draws)
    rule = shared_bootstrap(fit, first, second)
    tapes = [Tape(partial(meeting.answer, side=side)) for side in (0, 1)]

    def run(side: int) -> None:
        try:
            tapes[side].record(fit, (first, second)[side], rule=rule)
        finally:
            meeting.leave(side)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(copy_context().run, run, side) for side in (0, 1)]:
            done.result()
    return tapes[0].releases
