"""The one curator that does not draw; it asks for the outcome of every release and of every public draw.

The answers decide what a fit releases. A replay takes outcomes down and forces them on a neighbour, an
enumeration answers by a prefix, a search by what tells two data sets apart.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..privacy.curator import Curator, T, opening
from ..privacy.laws import Law
from ..privacy.ledger import Event, Ledger

Fit = Callable[[Any], object]
"""Runs the subject on a data set; opens its curator by :func:`~dpnb.privacy.curator.open_curator`."""


class Request(NamedTuple):
    """What a fit asks the release door for: purpose, mechanism, and number of disjoint parts."""

    what: str
    mechanism: str
    parts: int

    def __str__(self) -> str:
        return f"{self.what} ({self.mechanism}, {self.parts} parts)"


class Question(NamedTuple):
    """A release or public draw whose outcome is wanted."""

    request: Request  # what the fit asked for
    # event, law: as booked, and of the outcome; None for a public draw.
    event: Event | None
    law: Law[Any] | None
    draw: Callable[[np.random.Generator], Any]  # the outcome as the fit would have it, from a generator
    # rng, ledger: the curator's.
    rng: np.random.Generator
    ledger: Ledger
    place: str  # where the code asked for it


Answer = Callable[[Question], Any]


class ReplayCurator(Curator):
    """Books events as ever; outcomes are what ``answer`` says."""

    def __init__(self, *, rng: np.random.Generator, ledger: Ledger, answer: Answer) -> None:
        super().__init__(rng=rng, ledger=ledger)
        self._answer = answer

    def _settle(self, law: Law[Any], event: Event) -> Any:
        self.ledger.book(event)
        request = Request(event.what, event.mechanism, event.n_parts)
        return self._answer(Question(request, event, law, law.draw, self._rng, self.ledger, _place()))

    def public(self, draw: Callable[[np.random.Generator], T], *, what: str) -> T:
        """Ask for the outcome of a draw that does not depend on the data."""
        request = Request(what, "public", 1)
        outcome: T = self._answer(Question(request, None, None, draw, self._rng, self.ledger, _place()))
        return outcome


def ordinary_answer(question: Question) -> Any:
    """The answer of an ordinary curator."""
    return question.draw(question.rng)


@contextmanager
def answering(answer: Answer) -> Iterator[list[ReplayCurator]]:
    """Curators that are opened inside ask for outcomes; they are listed as they open.

    Raises
    ------
    ValueError
        If none was opened in the end: what the subject releases went round the door, and would pass unseen.
    """
    opened: list[ReplayCurator] = []

    def make(**doors: Any) -> ReplayCurator:
        opened.append(ReplayCurator(**doors, answer=answer))
        return opened[-1]

    with opening(make):
        yield opened
    if not opened:
        raise ValueError(
            "the subject opened no curator, so nothing that it releases was seen: expected one that releases through "
            "dpnb.privacy.curator.open_curator; audit others by bets"
        )


def _place() -> str:
    """Module, line and function of the code outside the release door that asked for a release."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") in (Curator.__module__, __name__):
        frame = frame.f_back
    return f"{frame.f_globals.get('__name__')}:{frame.f_lineno} {frame.f_code.co_name}"
