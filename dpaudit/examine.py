"""An audit with all instruments, which looks into models, draws the noise again, and bets on all pairs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from dpnb.domain import Domain
from dpnb.estimators.base import PrivateEstimator
from dpnb.replay.finding import Finding
from dpnb.replay.tape import replay

from .adapters import OnDomain
from .fits import NOTED, AttackError, Sample
from .generators import generators
from .hunt import Allowance, Bets, Hunt
from .pairs import DOMAIN, NUMBERS, Pair
from .scan import scan
from .settings import AuditSettings, shared

SUSPECTS = 20  # pairs that are scanned because nothing changed in something; chance ones cost six fits each


def own_domain(model: Any) -> Domain:
    """The domain that an estimator comes with, else the auditor's, which has a number to predict for a regressor."""
    domain = getattr(model, "domain", None)
    if isinstance(domain, Domain):
        return domain
    return NUMBERS if isinstance(model, RegressorMixin) else DOMAIN


@dataclass(frozen=True)
class Examination:
    """The findings of the instruments of an audit."""

    findings: tuple[Finding, ...]  # what refutes the claim is the last, else the bets are
    bets: Bets | None  # None if the claim was refuted before, or the audit was interrupted before
    skipped: tuple[str, ...] = ()  # which scans could not be made, and why
    looked: tuple[str, ...] = ()  # pairs that were scanned
    interrupted: bool = False  # whether somebody ended the audit before its time
    seconds: float = field(default=0.0, compare=False)  # that it took


class _Desk:
    """An audit as it goes on: what was found, and what could not be looked at."""

    def __init__(self, factory: Callable[[], Any], tried: Sequence[Pair], settings: AuditSettings) -> None:
        self.factory, self.tried, self.began = factory, tried, time.monotonic()
        # Half of what the audit may err is for the bets. Any pair may be scanned, and the generators are tried once.
        half = shared(settings.confidence, 2)
        self.looking = replace(settings, confidence=shared(half, len(tried) + 1), progress=False)
        self.hunt = Hunt(factory, tried, replace(settings, confidence=half), Allowance(settings))
        self.found: list[Finding] = []
        self.skipped: list[str] = []
        self.why = ""
        self.looked: list[str] = []

    @property
    def convicted(self) -> bool:
        return any(finding.violated for finding in self.found)

    def look(self, instrument: Callable[..., Sequence[Finding]], pair: Pair) -> None:
        """Take down what a scan finds on a pair, or why it could not look."""
        known, on_pair = OnDomain(self.factory, pair.domain), vars(replace(self.looking, pair=pair.name))
        try:
            self.found += instrument(known, pair.first, pair.second, **on_pair)
            self.looked += [pair.name] if instrument is scan else []
        except AttackError as error:
            self.skipped.append(f"{instrument.__name__} on pair {pair.name!r}: {error}")

    def work(self) -> None:
        """Scan a few pairs, draw the noise again, scout all pairs, scan those that look odd, and bet."""
        malformed = [
            pair for pair in self.tried if pair.malformed
        ]  # where an honest fit neither raises nor warns
        first = {id(pair): pair for pair in (self.tried[0], self.tried[-1], *malformed)}
        looks: list[tuple[Any, Pair]] = [
            *((scan, pair) for pair in first.values()),
            (generators, self.tried[0]),
        ]
        for instrument, pair in looks:
            self.look(instrument, pair)
            if self.convicted:
                return
        hunt = self.hunt
        with hunt.at_work():
            hunt.begin()
            hunt.check()
            for pair in [pair for pair in hunt.suspects() if id(pair) not in first][:SUSPECTS]:
                self.look(scan, pair)
                if self.convicted:
                    return
            hunt.go_on()
        if hunt.game.refuted:
            bets = hunt.bets()
            self.why = reason(self.factory, bets.pair, bets.finding, seed=self.looking.seed)

    def result(self, *, interrupted: bool) -> Examination:
        about = tuple(self.skipped), tuple(self.looked), interrupted, time.monotonic() - self.began
        if self.convicted:
            return Examination(tuple(self.found), None, *about)
        if not self.hunt.game.runs:
            raise AttackError(
                "nothing was left for a bet: give more minutes or runs, or an estimator that fits faster"
            )
        bets = self.hunt.bets()
        return Examination((*self.found, replace(bets.finding, why=self.why)), bets, *about)


def examine(factory: Callable[[], Any], tried: Sequence[Pair], settings: AuditSettings) -> Examination:
    """Look into fitted models, draw the noise again, and bet; stops when an instrument refutes the claim.

    The bets take half of what the confidence allows to err, and the scans share the other half (Bonferroni). A few
    pairs are scanned before the bets, others if something on them never changes; a scan takes some tens of fits beside
    those of the settings. One that finds no fit that succeeds is skipped, for the bets try other pairs. Bets end with
    the fits, with the time, or with Ctrl-C; what was seen by then counts.

    Parameters
    ----------
    factory : returns an unfitted estimator.
    tried : pairs of neighbours.
    settings : the claim, and what may be spent.

    Raises
    ------
    AttackError
        If the estimator fails on all pairs that were tried.
    KeyboardInterrupt
        If it comes before anything was found out.
    """
    desk, interrupted = _Desk(factory, tried, settings), False
    try:
        desk.work()
    except KeyboardInterrupt:
        if not (desk.convicted or desk.hunt.game.runs):
            raise
        interrupted = True
    return desk.result(interrupted=interrupted)


# --- Reasons ------------------------------------------------------------------------------------------------

FOLLOWED = {  # attributes of fitted models that are public unless they follow the records
    "classes_": "the classes were",
    "domain_": "the bounds or values of the attributes were",
    "data_min_": "bounds were",
    "data_max_": "bounds were",
    "categories_": "categories were",
}


def reason(factory: Callable[[], Any], pair: Pair, finding: Finding, *, seed: int = 0) -> str:
    """What makes the event possible, as far as one fit on each data set tells: what follows the records."""
    made = OnDomain(factory, pair.domain)
    fits = [Sample(made, data, np.ravel, "", failures=True).fit(seed) for data in (pair.first, pair.second)]
    (one, notes), (other, more) = fits
    reasons = []
    for name, what in FOLLOWED.items():
        values = [getattr(model, name, None) for model in (one, other)]
        if any(value is None for value in values):
            continue
        shown = [_shown(value) for value in values]
        if shown[0] != shown[1]:
            reasons.append(f"{what} read off the data, {shown[0]} on D and {shown[1]} on D′")
    warning = "PrivacyLeakWarning: "
    leaks = [note.partition(warning)[2] for note in (notes[-1], more[-1]) if warning in note]
    if leaks:
        reasons.append(f"the fit itself warns of what it read off the data: {leaks[0]}")
    if any(name in finding.event for name in NOTED):
        reasons.append("what a fit raises or warns is an output too, and here it depends on the records")
    return "; ".join(reasons)


def _shown(value: Any) -> str:
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    return " ".join(repr(listed).split())[:120]  # a line and a half


# --- Replays ------------------------------------------------------------------------------------------------


def replayed(factory: Callable[[], Any], pairs: Sequence[Pair], settings: AuditSettings) -> list[Finding]:
    """The worst replay of an estimator of this package, none of others; an exact loss refutes a claim of pure ε."""
    if not isinstance(factory(), PrivateEstimator):
        return []
    how: Any = {"seed": settings.seed, "subject": settings.subject}
    found = [
        replay(OnDomain(factory, pair.domain)(), pair.first, pair.second, pair=pair.name, **how)
        for pair in pairs
    ]
    return [replace(max(found, key=lambda finding: finding.lower_bound), claimed=settings.claimed)]
