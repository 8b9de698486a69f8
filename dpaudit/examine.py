"""An audit with all instruments: it looks into models, draws the noise again, replays calls, and bets on all pairs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from dpnb.domain import Domain
from dpnb.estimators.base import PrivateEstimator
from dpnb.replay.finding import Finding
from dpnb.replay.neighbours import takes_people
from dpnb.replay.tape import replay

from .adapters import OnDomain
from .fits import CHANNELS, AttackError, Sample
from .generators import generators
from .hunt import Bets, Hunt
from .libraries import library_replay
from .pairs import DOMAIN, NUMBERS, Pair
from .scan import scan
from .settings import AuditSettings, shared

SUSPECTS = 20  # pairs that are scanned because nothing changed in something; chance ones cost six fits each
REPLAYED = 4  # pairs whose calls of other people's mechanisms are replayed, besides those that are scanned


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


@dataclass(frozen=True)
class Case:
    """An audit as it goes on, which every instrument is handed."""

    factory: Callable[[], Any]
    tried: Sequence[Pair]
    looking: AuditSettings  # the claim, with the confidence of one look
    hunt: Hunt
    skipped: list[str] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, factory: Callable[[], Any], tried: Sequence[Pair], settings: AuditSettings) -> Case:
        """Half of what it may err is for the bets; any pair may be scanned, and the generators are tried once."""
        half = shared(settings.confidence, 2)
        looking = replace(settings, confidence=shared(half, len(tried) + 1), progress=False)
        return cls(factory, tried, looking, Hunt(factory, tried, replace(settings, confidence=half)))

    def look(self, instrument: Callable[..., Sequence[Finding]], pair: Pair) -> Sequence[Finding]:
        """What a scan finds on a pair; or nothing, and why it could not look is written down."""
        known, on_pair = OnDomain(self.factory, pair.domain), vars(replace(self.looking, pair=pair.name))
        try:
            found = instrument(known, pair.first, pair.second, **on_pair)
        except AttackError as error:
            self.skipped.append(f"{instrument.__name__} on pair {pair.name!r}: {error}")
            return ()
        self.looked.extend([pair.name] if instrument is scan else [])
        return found

    @property
    def first(self) -> list[Pair]:
        """The pairs that are scanned before any bet: two, and those where an honest fit neither raises nor warns."""
        malformed = [pair for pair in self.tried if pair.malformed]
        return [*{id(pair): pair for pair in (self.tried[0], self.tried[-1], *malformed)}.values()]


Findings = Generator[Sequence[Finding], None, None]
Instrument = Callable[[Case], Findings]
"""A case → what is found, as it is found; the audit ends with what refutes the claim."""


def scans(case: Case) -> Findings:
    """Look into models that were fitted on a few pairs."""
    for pair in case.first:
        yield case.look(scan, pair)


def noise(case: Case) -> Findings:
    """Draw the noise again."""
    yield case.look(generators, case.tried[0])


def libraries(case: Case) -> Findings:
    """Replay the calls of another library's mechanisms on a few pairs, if a fit makes any; a line is told once."""
    known: set[tuple[str, str]] = set()
    quiet: list[Finding] = []
    well_formed = [pair for pair in (*case.first, *case.tried[:REPLAYED]) if not pair.malformed]
    for pair in {id(pair): pair for pair in well_formed}.values():
        skipped, found = len(case.skipped), case.look(library_replay, pair)
        if not found and len(case.skipped) == skipped:
            break
        flagged: list[Any] = [one for one in found if one.flagged]
        quiet += found if not flagged else []
        yield [one for one in flagged if one.violated or (one.what, one.place) not in known]
        known |= {(one.what, one.place) for one in flagged}
    yield sorted(quiet, key=lambda finding: finding.lower_bound)[-1:]


def bets(case: Case) -> Findings:
    """Scout all pairs, scan those that look odd, and bet; what these have shown is taken down in the end."""
    done = {id(pair) for pair in case.first}
    with case.hunt.at_work() as scout:
        scout.begin()
        scout.check()
        for pair in [pair for pair in scout.suspects() if id(pair) not in done][:SUSPECTS]:
            yield case.look(scan, pair)
        case.hunt.go_on()


INSTRUMENTS: tuple[Instrument, ...] = (scans, noise, libraries, bets)


def examine(factory: Callable[[], Any], tried: Sequence[Pair], settings: AuditSettings) -> Examination:
    """Look into fitted models, draw the noise again, replay calls, and bet; stops when an instrument refutes the claim.

    The bets take half of what the confidence allows to err, and the scans share the other half (Bonferroni); replays of
    other people's mechanisms are exact. A few pairs are scanned and replayed before the bets, others if something on
    them never changes; a scan takes some tens of fits beside those of the settings. One that finds no fit that succeeds
    is skipped, for the bets try other pairs. Bets end with the fits, with the time, or with Ctrl-C; what was seen by
    then counts.

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
    began, case = time.monotonic(), Case.of(factory, tried, settings)
    game, found, why, interrupted = case.hunt.game, list[Finding](), "", False
    try:
        for instrument in INSTRUMENTS:
            if _convicts(found, instrument(case)):
                break
        else:
            last = case.hunt.bets() if game.refuted else None
            why = reason(factory, last.pair, last.finding, seed=settings.seed) if last else ""
    except KeyboardInterrupt:
        if not (any(finding.violated for finding in found) or game.runs):
            raise
        interrupted = True
    ended = None if any(finding.violated for finding in found) else _ended(case.hunt)
    if ended:
        found.append(replace(ended.finding, why=why))
    spent = time.monotonic() - began
    return Examination(tuple(found), ended, tuple(case.skipped), tuple(case.looked), interrupted, spent)


def _convicts(found: list[Finding], looks: Findings) -> bool:
    """Take down what an instrument finds, until something refutes the claim; whether it did."""
    with closing(looks):
        for findings in looks:
            found += findings
            if any(finding.violated for finding in findings):
                return True
    return False


def _ended(hunt: Hunt) -> Bets:
    if not hunt.game.runs:
        raise AttackError(
            "nothing was left for a bet: give more minutes or runs, or an estimator that fits faster"
        )
    return hunt.bets()


# --- Reasons ------------------------------------------------------------------------------------------------

FOLLOWED = {  # attributes of fitted models that are public unless they follow the records
    "classes_": "the classes were",
    "domain_": "the bounds or values of the attributes were",
    "data_min_": "bounds were",
    "data_max_": "bounds were",
    "categories_": "categories were",
}


class _Whole(Sample):
    """A sample that shows the fitted models themselves."""

    def _observed(self, model: Any, *only: Any) -> Any:
        return model


def reason(factory: Callable[[], Any], pair: Pair, finding: Finding, *, seed: int = 0) -> str:
    """What makes the event possible, as far as one fit on each data set tells: what follows the records."""
    made = OnDomain(factory, pair.domain)
    fits = [
        _Whole(made, data, np.ravel, "", failures=True).run(seed, 0) for data in (pair.first, pair.second)
    ]
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
    leaks = [text.partition(warning)[2] for text in (*notes.texts, *more.texts) if warning in text]
    if leaks:
        reasons.append(f"the fit itself warns of what it read off the data: {leaks[0]}")
    if any(name in finding.event for name in CHANNELS):
        reasons.append(
            "what a fit raises, warns, writes or logs is an output too, and here it depends on the records"
        )
    return "; ".join(reasons)


def _shown(value: Any) -> str:
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    return " ".join(repr(listed).split())[:120]  # a line and a half


# --- Replays ------------------------------------------------------------------------------------------------


def replayed(factory: Callable[[], Any], pairs: Sequence[Pair], settings: AuditSettings) -> list[Finding]:
    """The worst replay of an estimator of this package, none of others; an exact loss refutes a claim of pure ε.

    A fit that takes no people has no bags by person, so that it is not replayed on a neighbour by a person.
    """
    model = factory()
    nameless = settings.unit == "person" and not takes_people(model)
    if nameless or not isinstance(model, PrivateEstimator):
        return []
    how: Any = {"seed": settings.seed, "subject": settings.subject}
    found = [
        replay(OnDomain(factory, pair.domain)(), pair.first, pair.second, pair=pair.name, **how)
        for pair in pairs
    ]
    return [replace(max(found, key=lambda finding: finding.lower_bound), claimed=settings.claimed)]
