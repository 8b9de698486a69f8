"""An audit with all instruments: look into models, scout pairs with few fits each, bet on the most promising one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..arrays import Floats
from ..domain import Domain
from ..estimators.base import PrivateClassifier
from ..trees.tree import Tree
from .attack import (
    NOTED,
    AttackError,
    BlackBox,
    Sample,
    Seen,
    check_some_succeed,
    drawn,
    white_box,
    white_names,
    with_notes,
)
from .bounds import MIN_RUNS, scouted_margin
from .channels import fineness, generators
from .multiplicity import shared
from .pairs import Pair, asked
from .replay import replay
from .result import Finding
from .scan import scan
from .sequential import MonitoredFinding, monitor
from .settings import AuditSettings

SCOUT_SHARE = 0.25  # of all fits
FIRST_SHARE = 0.5  # of the scouting fits, on all pairs; the later rounds share the rest
LEAST_RUNS = 4  # of a pair in a round, on each data set: two halves choose and measure
KEPT = 1 / 3  # of the pairs after each round


@dataclass(frozen=True)
class OnDomain:
    """A factory whose estimators know the public domain of the auditor's data."""

    factory: Callable[[], Any]
    domain: Domain

    def __call__(self) -> Any:
        """Return an unfitted estimator."""
        model = self.factory()
        return model.set_params(domain=self.domain) if _lacks_domain(model) else model


def _lacks_domain(model: Any) -> bool:
    return hasattr(model, "get_params") and model.get_params(deep=False).get("domain", model) is None


def own_domain(model: Any) -> Domain | None:
    """The domain that an estimator comes with."""
    domain = getattr(model, "domain", None)
    return domain if isinstance(domain, Domain) else None


@dataclass(frozen=True)
class Released:
    """What a fitted estimator gives away: its answers, its trees and other numbers that it declares as released.

    Parameters
    ----------
    answers : the model's answers to queries.
    n_trees : number of trees of a forest, for names.
    types : whether the type of the predicted labels counts too: a malformed record may change it.
    """

    answers: BlackBox
    n_trees: int = 1
    types: bool = False

    def __call__(self, model: Any) -> Floats:
        """Observe a fitted model, (numbers,)."""
        seen = self.answers(model)
        if self.types:
            kind = np.asarray(model.predict(self.answers.queries)).dtype.kind
            seen = np.append(float(ord(kind)), seen)
        trees = getattr(model, "trees_", None)
        if isinstance(trees, list) and trees and all(isinstance(tree, Tree) for tree in trees):
            seen = np.append(seen, white_box(model)[:256])  # the upper levels come first
        return np.append(seen, np.asarray(getattr(model, "released_", ()), float).ravel())

    def names(self, width: int) -> list[str]:
        """Names of ``width`` observed numbers."""
        front = ["type of the predicted labels"] * self.types
        answers = len(self.answers.queries) * len(self.answers.classes) + 1
        known = self.answers.names(min(answers, width - len(front)))
        rest = width - len(known) - len(front)
        return [*front, *known, *white_names(rest, n_trees=self.n_trees, classes=self.answers.classes)]


@dataclass(frozen=True)
class Tried:
    """What was tried on one pair.

    Parameters
    ----------
    pair : its name.
    runs : fits on its second data set.
    margin : scouted bound of ε, which may be negative and promises nothing; NaN if there is none.
    note : why the pair was given up, if something failed.
    """

    pair: str
    runs: int
    margin: float
    note: str = ""


@dataclass(frozen=True)
class Bets:
    """Bets on the most promising of many pairs.

    Parameters
    ----------
    finding : of the pair that was bet on.
    pair : that pair.
    tried : all pairs, the most promising first.
    fits : number of fits in all.
    most_runs : runs that the game might have taken.
    """

    finding: MonitoredFinding
    pair: Pair
    tried: tuple[Tried, ...]
    fits: int
    most_runs: int


def observed(alike: Sequence[Pair], *, n_trees: int = 1) -> Released:
    """What is looked at on pairs that share their first data set; the number of trees matters for names only."""
    return Released(asked(alike), n_trees, any(pair.malformed for pair in alike))


def _trees_of(factory: Callable[[], Any], pair: Pair, *, seed: int) -> int:
    """Number of trees of a model; one that the estimator works out itself shows when it is fitted."""
    sample = Sample(OnDomain(factory, pair.domain), pair.first, np.ravel, "first", failures=True)
    stated = getattr(sample.factory(), "n_trees", 1)
    if stated is None:
        stated = len(getattr(sample.fit(seed)[0], "trees_", ()))
    return max(stated, 1) if isinstance(stated, int) else 1


# --- Scouting -----------------------------------------------------------------------------------------------


class _Arms:
    """Pairs and what was seen of them; a data set that several pairs have in common is fitted for all of them."""

    def __init__(self, factory: Callable[[], Any], pairs: Sequence[Pair]) -> None:
        self.pairs = list(pairs)
        self.groups: dict[int, list[int]] = {}
        for place, pair in enumerate(pairs):
            self.groups.setdefault(id(pair.first), []).append(place)
        self.samples: list[Sample] = []
        self.seen: list[list[Seen]] = []
        self.sides: list[tuple[int, int]] = [(0, 0)] * len(self.pairs)
        for places in self.groups.values():
            alike = [self.pairs[place] for place in places]
            watch = observed(alike)
            made = OnDomain(factory, alike[0].domain)
            first = self._add(Sample(made, alike[0].first, watch, "first", failures=True))
            for place, pair in zip(places, alike, strict=True):
                second = Sample(made, pair.second, watch, "second", failures=True)
                self.sides[place] = first, self._add(second)

    def _add(self, sample: Sample) -> int:
        self.samples.append(sample)
        self.seen.append([])
        return len(self.samples) - 1

    def spend(self, alive: Sequence[int], fits: int, *, settings: AuditSettings, seed: int) -> int:
        """Fit the data sets of some pairs about ``fits`` times in all; return how often."""
        weight = np.zeros(len(self.samples), int)
        for place in alive:
            first, second = self.sides[place]
            # A data set that several pairs share serves them all, so that four times as many fits are enough.
            weight[first] = min(weight[first] + 1, 4)
            weight[second] = 1
        runs = (weight * (fits // max(int(weight.sum()), 1))).tolist()
        jobs, progress = settings.jobs, settings.progress
        found = drawn(self.samples, runs, jobs=jobs, seed=seed, progress=progress, title="scouting")
        for rows, new in zip(self.seen, found, strict=True):
            rows += new
        return sum(runs)

    def tried(self, place: int, delta: float) -> Tried:
        """What the runs on a pair promise."""
        sides = [self.seen[side] for side in self.sides[place]]
        name, runs = self.pairs[place].name, len(sides[1])
        if not all(sides):
            return Tried(name, 0, math.nan)
        try:
            check_some_succeed(sides)
        except AttackError as error:
            return Tried(name, runs, -math.inf, str(error))
        (a, b), _ = with_notes(sides)
        return Tried(name, runs, promise(a, b, delta=delta))


def promise(first: Floats, second: Floats, *, delta: float = 0.0) -> float:
    """Rank of a pair: a bound of ε that two halves of the outputs choose and measure for each other.

    It promises nothing, for it serves to choose between pairs only; the measurement takes fresh runs.
    """
    both = np.nan_to_num(np.concatenate([first, second]), nan=-1e300)
    varied = np.flatnonzero((both != both[0]).any(axis=0))
    if not len(varied):
        return -math.inf
    ranks = rankdata(both[:, varied], axis=0)
    middle = ranks - ranks.mean(axis=0)
    sides = np.repeat([0, 1], [len(first), len(second)])
    chosen: set[int] = set()
    for scores in (middle, np.abs(middle)):
        gap = np.abs(scores[sides == 0].mean(axis=0) - scores[sides == 1].mean(axis=0))
        best = np.argsort(-gap, kind="stable")[:6]
        chosen |= set(varied[best].tolist())
    columns = sorted(chosen)
    return scouted_margin(
        first[:, columns], second[:, columns], confidence=0.9, delta=delta
    )  # to rank pairs only


def scout(
    factory: Callable[[], Any], pairs: Sequence[Pair], *, fits: int, settings: AuditSettings
) -> tuple[int, list[Tried], int]:
    """Spend ``fits`` where it pays: all pairs get a few, then the better third of them more, until one is left.

    Returns
    -------
    Position of the most promising pair, what was tried in the order of the pairs, and the number of fits.
    """
    room = int(FIRST_SHARE * fits) // LEAST_RUNS
    shared = len(pairs) - len({id(pair.first) for pair in pairs})
    most = max(room // 2 if not shared else room * len(pairs) // (2 * len(pairs) - shared), 0)
    alive = list(range(min(len(pairs), most)))
    if len(pairs) == 1 or len(alive) < 2:
        return 0, [Tried(pair.name, 0, math.nan) for pair in pairs], 0
    arms = _Arms(factory, pairs)
    rounds = 1 + math.ceil(math.log(len(alive)) / -math.log(KEPT))
    seeds = np.random.SeedSequence([settings.seed, 1]).generate_state(rounds).tolist()
    spent, found = 0, {place: Tried(pairs[place].name, 0, math.nan) for place in range(len(pairs))}
    for number, seed in enumerate(seeds):
        share = FIRST_SHARE * fits if number == 0 else (fits - spent) / (rounds - number)
        spent += arms.spend(alive, int(share), settings=settings, seed=seed)
        found |= {place: arms.tried(place, settings.delta) for place in alive}
        alive.sort(key=lambda place: (-found[place].margin, place))
        if math.isinf(found[alive[0]].margin) and all(found[place].note for place in alive):
            raise AttackError(f"pair {pairs[alive[0]].name!r}: {found[alive[0]].note}")
        if len(alive) == 1:
            break
        better = alive[: math.ceil(KEPT * len(alive))]
        alive = [place for place in better if not found[place].note] or alive[:1]
    return alive[0], [found[place] for place in range(len(pairs))], spent


def bet_on_pairs(factory: Callable[[], Any], pairs: Sequence[Pair], settings: AuditSettings) -> Bets:
    """Scout pairs and bet on the most promising one with fresh fits, until the claim is refuted.

    A quarter of the fits scouts. None of them takes part in the bets, so that their confidence is their own, whatever
    scouting did. Scouting and betting together take ``2 · runs`` fits at most; where that leaves fewer than 80 fits to
    bet on, nothing is scouted and the first pair is taken. Besides, a conviction takes two fits to tell its reason, and
    a forest that works out its number of trees itself takes one.

    Parameters
    ----------
    factory : returns an unfitted estimator.
    pairs : neighbours, in the order in which they are tried when there are few runs.
    settings : the claim, and the fits to spend.

    Raises
    ------
    AttackError
        If the estimator fails in every run on all pairs that were tried.
    """
    fits = min(int(2 * SCOUT_SHARE * settings.runs), 2 * (settings.runs - MIN_RUNS))
    best, tried, spent = scout(factory, pairs, fits=fits, settings=settings)
    pair, most_runs = pairs[best], 2 * (settings.runs - -(-spent // 2))
    known = OnDomain(factory, pair.domain)
    watch = observed([pair], n_trees=_trees_of(factory, pair, seed=settings.seed))
    on_pair = vars(replace(settings, pair=pair.name))
    try:
        finding = monitor(known, pair.first, pair.second, most_runs=most_runs, observe=watch, **on_pair)
    except AttackError as error:
        raise AttackError(f"pair {pair.name!r}: {error}") from error
    if finding.violated:
        finding = replace(finding, why=reason(factory, pair, finding, seed=settings.seed))
    margins = [-np.nan_to_num(one.margin, nan=-np.inf) for one in tried]
    order = sorted(range(len(pairs)), key=lambda place: (place != best, margins[place]))
    return Bets(finding, pair, tuple(tried[place] for place in order), spent + finding.trials, most_runs)


# --- All instruments ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Examination:
    """What the instruments of an audit found.

    Parameters
    ----------
    findings : what refutes the claim is the last, else the bets are.
    bets : None if the claim was refuted before.
    skipped : which scans could not be made, and why.
    """

    findings: tuple[Finding, ...]
    bets: Bets | None
    skipped: tuple[str, ...] = ()


def examine(factory: Callable[[], Any], tried: Sequence[Pair], settings: AuditSettings) -> Examination:
    """Look into fitted models, draw the noise again, and bet; stops when an instrument refutes the claim.

    The instruments share what the confidence allows them to err (Bonferroni). Scans take some tens of fits beside those
    of the settings; one that finds no fit that succeeds is skipped, for the bets try other pairs. Last bits are bet on
    after all else, on the first pair of ordinary records, which is fixed ahead:
    :func:`~dpnb.audit.channels.fineness`.

    Parameters
    ----------
    factory : returns an unfitted estimator.
    tried : pairs of neighbours.
    settings : the claim, and the fits to spend on bets.

    Raises
    ------
    AttackError
        If the estimator fails on all pairs that were tried.
    """
    malformed = [pair for pair in tried if pair.malformed]  # where an honest fit neither raises nor warns
    searched = {id(pair): pair for pair in (tried[0], tried[-1], *malformed)}
    looks = [*((scan, pair) for pair in searched.values()), (generators, tried[0])]
    settings = replace(settings, confidence=shared(settings.confidence, len(looks) + 2))
    found: list[Finding] = []
    skipped: list[str] = []
    for instrument, pair in looks:
        found += _looked(instrument, instrument.__name__, factory, pair, settings, skipped)
        if any(finding.violated for finding in found):
            return Examination(tuple(found), None, tuple(skipped))
    bets = bet_on_pairs(factory, tried, settings)
    if bets.finding.violated:
        return Examination((*found, bets.finding), bets, tuple(skipped))
    pair = next((pair for pair in tried if not pair.malformed), tried[0])
    last_bits = partial(fineness, most_runs=2 * settings.runs)
    quiet = replace(settings, progress=False)
    games = [*_looked(last_bits, "last bits", factory, pair, quiet, skipped), bets.finding]
    games.sort(key=lambda finding: finding.violated)
    return Examination((*found, *games), bets, tuple(skipped))


def _looked(
    instrument: Callable[..., Sequence[Finding]],
    name: str,
    factory: Callable[[], Any],
    pair: Pair,
    settings: AuditSettings,
    skipped: list[str],
) -> Sequence[Finding]:
    """What an instrument finds on a pair; a note of why it could not look goes into ``skipped``."""
    known, on_pair = OnDomain(factory, pair.domain), vars(replace(settings, pair=pair.name))
    try:
        return instrument(known, pair.first, pair.second, **on_pair)
    except AttackError as error:
        skipped.append(f"{name} on pair {pair.name!r}: {error}")
        return []


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
    if not isinstance(factory(), PrivateClassifier):
        return []
    how: Any = {"seed": settings.seed, "subject": settings.subject}
    found = [
        replay(OnDomain(factory, pair.domain)(), pair.first, pair.second, pair=pair.name, **how)
        for pair in pairs
    ]
    return [replace(max(found, key=lambda finding: finding.lower_bound), claimed=settings.claimed)]
