"""An audit over many pairs: scout them with few fits each, and measure the most promising one with fresh fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

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
    Data,
    Sample,
    Seen,
    attack,
    check_some_succeed,
    drawn,
    white_box,
    white_names,
    with_notes,
)
from .bounds import MIN_RUNS, SampledFinding, scouted_margin
from .monitor import MonitoredFinding, monitor
from .pairs import Pair, asked
from .replay import replay
from .result import Finding

MOST_TREE_NUMBERS = 256  # of a forest's numbers, upper levels first
SCOUT_SHARE = 0.25  # of all fits
FIRST_SHARE = 0.5  # of the scouting fits, on all pairs; the later rounds share the rest
LEAST_RUNS = 4  # of a pair in a round, on each data set
SHARED = 4  # most times as many fits of a data set that several pairs have in common
KEPT = 1 / 3  # of the pairs after each round
SCOUT_COLUMNS = 6  # numbers looked at for each way in which they may differ
SCOUT_LEVEL = 0.9
LEAK = "PrivacyLeakWarning: "
MOST_SHOWN = 120  # characters of a value in a reason


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
            seen = np.append(seen, white_box(model)[:MOST_TREE_NUMBERS])
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


Found = TypeVar("Found", bound=Finding)


@dataclass(frozen=True)
class Campaign(Generic[Found]):
    """An audit over many pairs.

    Parameters
    ----------
    finding : of the pair that was measured.
    pair : that pair.
    tried : all pairs, the most promising first.
    fits : number of fits in all.
    measured : fits on each data set of the measurement, at most.
    """

    finding: Found
    pair: Pair
    tried: tuple[Tried, ...]
    fits: int
    measured: int


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is claimed, and what the audit may spend; parameters as of :func:`~dpnb.audit.attack.attack`."""

    claimed: float
    runs: int
    confidence: float = 0.99
    delta: float = 0.0
    neighbours: str = "add-remove"
    jobs: int = 1
    seed: int = 0
    progress: bool = False
    subject: str = ""


Measure = Callable[[Callable[[], Any], Pair, Plan], Found]


def measured_by_attack(factory: Callable[[], Any], pair: Pair, plan: Plan) -> SampledFinding:
    """The measurement: fresh fits on one pair, as many as the plan says; another one can stand in its place."""
    return attack(*_of(factory, pair), runs=plan.runs, **_asked(factory, pair, plan))


def measured_by_betting(factory: Callable[[], Any], pair: Pair, plan: Plan) -> MonitoredFinding:
    """The measurement by bets, which stops as soon as the claim is refuted."""
    return monitor(*_of(factory, pair), most_runs=2 * plan.runs, **_asked(factory, pair, plan))


def _of(factory: Callable[[], Any], pair: Pair) -> tuple[Callable[[], Any], Data, Data]:
    return OnDomain(factory, pair.domain), pair.first, pair.second


def _asked(factory: Callable[[], Any], pair: Pair, plan: Plan) -> dict[str, Any]:
    """What a plan says about a measurement on a pair, but for the number of fits."""
    said = {field.name: getattr(plan, field.name) for field in fields(plan) if field.name != "runs"}
    watch = observed([pair], n_trees=_trees_of(factory, pair, seed=plan.seed))
    return {**said, "pair": pair.name, "observe": watch}


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

    def spend(self, alive: Sequence[int], fits: int, *, plan: Plan, seed: int) -> int:
        """Fit the data sets of some pairs about ``fits`` times in all; return how often."""
        weight = np.zeros(len(self.samples), int)
        for place in alive:
            first, second = self.sides[place]
            weight[first] = min(weight[first] + 1, SHARED)
            weight[second] = 1
        runs = (weight * (fits // max(int(weight.sum()), 1))).tolist()
        found = drawn(self.samples, runs, jobs=plan.jobs, seed=seed, progress=plan.progress, title="scouting")
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
        best = np.argsort(-gap, kind="stable")[:SCOUT_COLUMNS]
        chosen |= set(varied[best].tolist())
    columns = sorted(chosen)
    return scouted_margin(first[:, columns], second[:, columns], confidence=SCOUT_LEVEL, delta=delta)


def scout(
    factory: Callable[[], Any], pairs: Sequence[Pair], *, fits: int, plan: Plan
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
    seeds = np.random.SeedSequence([plan.seed, 1]).generate_state(rounds).tolist()
    spent, found = 0, {place: Tried(pairs[place].name, 0, math.nan) for place in range(len(pairs))}
    for number, seed in enumerate(seeds):
        share = FIRST_SHARE * fits if number == 0 else (fits - spent) / (rounds - number)
        spent += arms.spend(alive, int(share), plan=plan, seed=seed)
        found |= {place: arms.tried(place, plan.delta) for place in alive}
        alive.sort(key=lambda place: (-found[place].margin, place))
        if math.isinf(found[alive[0]].margin) and all(found[place].note for place in alive):
            raise AttackError(f"pair {pairs[alive[0]].name!r}: {found[alive[0]].note}")
        if len(alive) == 1:
            break
        alive = [place for place in alive[: math.ceil(KEPT * len(alive))] if not found[place].note] or alive[
            :1
        ]
    return alive[0], [found[place] for place in range(len(pairs))], spent


def campaign(
    factory: Callable[[], Any], pairs: Sequence[Pair], plan: Plan, *, measure: Measure[Found]
) -> Campaign[Found]:
    """Scout pairs and measure the most promising one with fresh fits.

    A quarter of the fits scouts. None of them takes part in the measurement, so that its confidence is its own,
    whatever scouting did. Scouting and measuring together take ``2 · runs`` fits at most; where that leaves fewer than
    40 fits on each data set, nothing is scouted and the first pair is measured. Besides, a conviction takes two fits to
    tell its reason, and a forest that works out its number of trees itself takes one.

    Parameters
    ----------
    factory : returns an unfitted estimator.
    pairs : neighbours, in the order in which they are tried when there are few runs.
    plan : the claim, and the fits to spend.
    measure : the measurement, :func:`measured_by_attack` or :func:`measured_by_betting`.

    Raises
    ------
    AttackError
        If the estimator fails in every run on all pairs that were tried.
    """
    fits = min(int(2 * SCOUT_SHARE * plan.runs), 2 * (plan.runs - MIN_RUNS))
    best, tried, spent = scout(factory, pairs, fits=fits, plan=plan)
    left = replace(plan, runs=plan.runs - -(-spent // 2))
    try:
        finding = measure(factory, pairs[best], left)
    except AttackError as error:
        raise AttackError(f"pair {pairs[best].name!r}: {error}") from error
    if finding.violated:
        finding = replace(finding, why=reason(factory, pairs[best], finding, seed=plan.seed))
    order = sorted(
        range(len(pairs)), key=lambda place: (place != best, -np.nan_to_num(tried[place].margin, nan=-np.inf))
    )
    return Campaign(
        finding, pairs[best], tuple(tried[place] for place in order), spent + finding.trials, left.runs
    )


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
    told = []
    for name, what in FOLLOWED.items():
        values = [getattr(model, name, None) for model in (one, other)]
        if any(value is None for value in values):
            continue
        shown = [_shown(value) for value in values]
        if shown[0] != shown[1]:
            told.append(f"{what} read off the data, {shown[0]} on D and {shown[1]} on D′")
    leaks = [note.partition(LEAK)[2] for note in (notes[-1], more[-1]) if LEAK in note]
    if leaks:
        told.append(f"the fit itself warns of what it read off the data: {leaks[0]}")
    if any(name in finding.event for name in NOTED):
        told.append("what a fit raises or warns is an output too, and here it depends on the records")
    return "; ".join(told)


def _shown(value: Any) -> str:
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    return " ".join(repr(listed).split())[:MOST_SHOWN]


# --- Replays ------------------------------------------------------------------------------------------------


def replayed(
    factory: Callable[[], Any], pairs: Sequence[Pair], *, claimed: float, seed: int, subject: str
) -> list[Finding]:
    """The worst replay of an estimator of this package, none of others; an exact loss refutes a claim of pure ε."""
    if not isinstance(factory(), PrivateClassifier):
        return []
    found = [
        replay(
            OnDomain(factory, pair.domain)(),
            pair.first,
            pair.second,
            seed=seed,
            subject=subject,
            pair=pair.name,
        )
        for pair in pairs
    ]
    return [replace(max(found, key=lambda finding: finding.lower_bound), claimed=claimed)]
