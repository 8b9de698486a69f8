"""Fits that follow the outcomes of another one: what still differs went past the doors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sklearn.base import clone

from dpaudit.contents import Fact, contents, single
from dpaudit.fits import Data
from dpaudit.meanings import FAILS, explained
from dpaudit.repeats import differing
from dpaudit.scan import ScanFinding
from dpnb.privacy.laws import Law
from dpnb.privacy.ledger import Event
from dpnb.replay import Finding
from dpnb.replay.neighbours import sizes_of
from dpnb.replay.questions import Fit, Question, answering, ordinary_answer
from dpnb.replay.tape import replay_fit


class Followed:
    """Takes down laws and outcomes; with a script it answers with the script's outcomes."""

    def __init__(self, script: Iterator[Any] | None) -> None:
        self._script = script
        self.outcomes: list[Any] = []
        self.laws: list[tuple[Event, Law[Any]]] = []

    def __call__(self, question: Question) -> Any:
        """The next outcome of the script, else a draw."""
        if question.law is not None and question.event is not None:
            self.laws.append((question.event, question.law))
        self.outcomes.append(ordinary_answer(question) if self._script is None else next(self._script))
        return self.outcomes[-1]


def follow(publish: Fit, data: Any, script: Iterator[Any] | None) -> tuple[Followed, object]:
    """Run a subject that returns what it publishes; with a script, an error is what it publishes."""
    followed = Followed(script)
    try:
        with answering(followed):
            published = publish(data)
    except Exception as error:
        if script is None:
            raise
        published = error
    return followed, published


def replay_mechanism(
    run: Fit, first: Any, second: Any, *, claimed: float, subject: str, neighbours: str = "add-remove"
) -> Finding:
    """Replay of a function that runs on a data set, opens its curator by ``open_curator`` and draws no bags.

    Parameters
    ----------
    run : the mechanism; seed it inside, so that every call draws the same.
    first, second : the neighbours.
    claimed : ε that it promises.
    """
    outcome = replay_fit(run, first, second, common=first, own=(True, True))
    return outcome.finding(claimed=claimed, subject=subject, pair="", neighbours=neighbours)


def scan_by_replay(estimator: Any, first: Data, second: Data) -> list[ScanFinding]:
    """Scan an estimator of this package with its releases held fixed: what still differs is not on the ledger.

    The outcomes of all releases and public draws of a fit on D are forced on a fit on D′. Whatever the models hold then
    follows from these, and is the same, or it was released past the curator.

    Parameters
    ----------
    estimator : any estimator of this package, with a domain; it is cloned.
    first, second : (X, y) of neighbours.

    Returns
    -------
    One finding for each attribute that differs, of infinite loss, with certainty.
    """

    def publish(part: Data) -> dict[str, Fact]:
        return contents(clone(estimator).set_params(random_state=0).fit(*part)).facts

    here, published = follow(publish, first, None)
    _, other = follow(publish, second, iter(here.outcomes))
    if not isinstance(other, dict):
        other = {FAILS: single(f"{type(other).__name__}: {other}")}
    assert isinstance(published, dict)
    return [
        ScanFinding(
            instrument="scan",
            subject=type(estimator).__name__,
            claimed=float(estimator.epsilon),
            delta=estimator.delta or 0.0,
            neighbours=estimator.neighbours,
            pair=sizes_of(first, second),
            lower_bound=math.inf,
            confidence=1.0,
            event=f"{path} holds {holds}: {values}, though all releases came out the same; it is not on the ledger",
            trials=2,
            path=path,
            holds=holds,
        )
        for path, holds, values in explained(differing([published], [other]), first, second, publish)
    ]
