"""Replays, which fit on D, force the same outputs on D′, and add up exact log-likelihood ratios.

Every release goes through one method of the curator, so a recorder can take down what was released, and a replayer can
answer with the same outputs on other data while it asks each law how likely they are there. Bags are secret, so their
randomness is averaged out exactly, by one replay for each number of copies that a record may have.

The log-ratio at any output bounds the true ε from below (for pure differential privacy, with certainty).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp
from scipy.stats import bernoulli, poisson
from sklearn.base import clone

from ..arrays import Floats
from ..domain.people import Unit
from ..privacy.curator import Curator, opening
from ..privacy.ledger import Ledger
from ..records.bags import PARTS, POSITIONAL, Bags, Copies, Keys, drawing
from ..records.memory import Records
from .finding import Finding
from .neighbours import Part, Peopled, fitted_on, sizes_of, split_pair, unit_of
from .questions import Answer, Fit, Question, Request, answering, ordinary_answer

MULTIPLICITY = "bootstrap multiplicity: a bag may hold a record several times"
MOVES = "parts of equal size: one record more moves another"
BagRule = Callable[[Bags, Keys, int, int], Copies | None]
MOST_COPIES = 12  # P(Poisson(1) > 12) < 1e-10; leaving it out lowers a likelihood by less than that


class DivergenceError(Exception):
    """The fit on D′ asks for other releases than the fit on D, so the data decide, unnoticed, what is released.

    Parameters
    ----------
    message : what differs.
    place : where the code asked for the release in question; empty where there is none.
    """

    def __init__(self, message: str, *, place: str = "") -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True)
class Release:
    """One recorded answer of a curator."""

    request: Request  # what the fit asked for
    bag: int  # number of the bag that it was made from, in order of opening; -1 outside of bags
    outcome: Any  # what was released
    log_density: float  # of the outcome, on the data that it was recorded or replayed on
    place: str  # where the code asked for it


class Tape:
    """Takes down everything released in one fit, and how it was bagged.

    Parameters
    ----------
    answer : where outcomes come from.
    """

    def __init__(self, answer: Answer = ordinary_answer) -> None:
        self.releases: list[Release] = []
        self.bags: Bags | None = None
        self.keys: Keys | None = None
        self.ledger: Ledger | None = None
        self._answer = answer
        self._bag_numbers: dict[int, int] = {}

    def __call__(self, question: Question) -> Any:
        """The outcome, after it was noted."""
        outcome, law = self._answer(question), question.law
        log_density = 0.0 if law is None else float(np.sum(law.log_density(outcome)))
        opened, numbers = question.ledger.open_bag, self._bag_numbers
        bag = -1 if opened is None else numbers.setdefault(id(opened), len(numbers))
        self.releases.append(Release(question.request, bag, outcome, log_density, question.place))
        return outcome

    def record(self, fit: Fit, data: Any, *, rule: BagRule) -> Tape:
        """Run a fit, with its bags drawn by a rule."""

        def draw(bags: Bags, keys: Keys, seed: int, tree: int) -> Copies | None:
            self.bags, self.keys = bags, keys
            return rule(bags, keys, seed, tree)

        with answering(self) as curators, drawing(draw):
            fit(data)
        self.ledger = curators[-1].ledger
        return self

    def by_bag(self) -> Floats:
        """Log density of the outcomes of each bag; the entry before the first is for what lies outside of bags."""
        total = np.zeros(2 + max((r.bag for r in self.releases), default=-1))
        for release in self.releases:
            total[release.bag + 1] += release.log_density
        return total


class _Script:
    """Answers with recorded outcomes, in their order, as long as the fit asks for the same releases."""

    def __init__(self, releases: list[Release]) -> None:
        self._left = iter(releases)

    def __call__(self, question: Question) -> Any:
        request, place, expected = question.request, question.place, next(self._left, None)
        if expected is None:
            raise DivergenceError(f"one release more: {request.what} at {place}", place=place)
        if expected.request != request:
            raise DivergenceError(
                f"{request} at {place} instead of {expected.request} at {expected.place}",
                place=expected.place,
            )
        return expected.outcome

    def end(self) -> None:
        """Raise if there are releases that were not asked for."""
        left = next(self._left, None)
        if left is not None:
            what, mechanism, _ = left.request
            message = f"{what} ({mechanism}) at {left.place} is not asked for any more"
            raise DivergenceError(message, place=left.place)


def _forced(fit: Fit, data: Any, script: list[Release], *, rule: BagRule) -> Tape:
    """Tape of a fit that releases what the script says."""
    answer = _Script(script)
    try:
        tape = Tape(answer).record(fit, data, rule=rule)
    except DivergenceError:
        raise
    except Exception as error:
        raise DivergenceError(f"the fit fails on the neighbour: {error}") from error
    answer.end()
    return tape


class _KeysFoundError(Exception):
    """Ends a fit at its first bag."""


def _keys_of(fit: Fit, data: Any) -> Keys:
    """Keys of a data set's records, as a fit that draws bags hands them over."""
    found: list[Keys] = []

    def stop(bags: Bags, keys: Keys, seed: int, tree: int) -> Copies | None:
        found.append(keys)
        raise _KeysFoundError

    with opening(Curator), drawing(stop), suppress(_KeysFoundError):
        fit(data)
    return found[0]


def _own_key(keys: Keys, common: Keys) -> np.uint64:
    """Key of the only record, or person, that is not among the common ones."""
    own = np.setdiff1d(keys, common)
    if len(own) != 1:
        raise ValueError(
            f"one record, or person, changes {len(own)} keys, so that bags cannot be replayed: keys must follow from "
            "each of them alone"
        )
    key: np.uint64 = own[0]
    return key


def _with_copies(key: np.uint64, copies: int) -> BagRule:
    """Bags as hashed, but with a given number of copies of one record."""

    def rule(bags: Bags, keys: Keys, seed: int, tree: int) -> Copies | None:
        drawn = bags.hashed(keys, seed, tree)
        drawn = np.ones(len(keys), np.int64) if drawn is None else drawn.copy()
        drawn[keys == key] = copies
        return drawn

    return rule


def shared_bootstrap(fit: Fit, first: Any, second: Any) -> BagRule:
    """Bags as hashed; a bootstrap is drawn once, on all records of both data sets, and restricted."""

    @cache
    def union() -> Keys:
        return np.union1d(_keys_of(fit, first), _keys_of(fit, second))

    def rule(bags: Bags, keys: Keys, seed: int, tree: int) -> Copies | None:
        if bags.mode != "bootstrap":
            return bags.hashed(keys, seed, tree)
        drawn = bags.hashed(union(), seed, tree)
        assert drawn is not None
        return drawn[np.searchsorted(union(), keys)]

    return rule


def _log_likelihood(bags: Bags | None, without: Tape, copies: dict[int, Tape]) -> float:
    """Log likelihood of the outcomes on a data set, averaged over the secret number of copies of its own record.

    Parameters
    ----------
    without : replay on the records that both data sets share.
    copies : replays on the data set with k copies of its own record; empty if it has no record of its own.
    """
    base = without.by_bag()
    if not copies:
        return float(base.sum())
    outside = copies[min(copies)].by_bag()[0]
    each = {k: tape.by_bag()[1:] for k, tape in copies.items()}
    if bags is None or len(base) == 1 or bags.mode in POSITIONAL:  # these are judged given the bags
        return float(outside + next(iter(each.values())).sum())
    if bags.mode in ("poisson", "bernoulli"):
        law = poisson(1) if bags.rate is None else bernoulli(bags.rate)
        stacked = [base[1:] + law.logpmf(0)] + [values + law.logpmf(k) for k, values in each.items()]
        return float(outside + logsumexp(np.stack(stacked), axis=0).sum())
    return float(outside + _log_chosen(base[1:], each[1], chosen=int(bags.shares)))


def _log_chosen(out: Floats, into: Floats, *, chosen: int) -> float:
    """Log of the mean over all sets of ``chosen`` trees of the product of likelihoods with the record in them."""
    log_sum = np.full(chosen + 1, -np.inf)
    log_sum[0] = 0.0
    for a, b in zip(out, into, strict=True):
        log_sum[1:] = np.logaddexp(log_sum[1:] + a, log_sum[:-1] + b)
        log_sum[0] += a
    n = len(out)
    return float(log_sum[chosen] - (gammaln(n + 1) - gammaln(chosen + 1) - gammaln(n - chosen + 1)))


@dataclass(frozen=True)
class Replay:
    """Outcome of one replay."""

    # Log-likelihood of the recorded outputs on the first data set less that on the second, `inf` after a
    # divergence or outside of a support.
    log_ratio: float
    ledger: Ledger  # ledger of the recorded fit
    blame: tuple[str, ...]  # names of what made the loss infinite, or of the release with the largest change
    place: str  # code place of the first of them
    fits: int  # number of fits that it took

    @property
    def loss(self) -> float:
        """|log-likelihood ratio| of the recorded outputs."""
        return abs(self.log_ratio)

    @property
    def given(self) -> str:
        """What the ratio is conditional on: the bags of a bootstrap, and of parts by position."""
        return "the bags" if {MULTIPLICITY, MOVES} & set(self.blame) else ""

    def finding(
        self, *, claimed: float, subject: str, pair: str, neighbours: str, unit: Unit = "record"
    ) -> Finding:
        """What the replay says about a claim, with certainty."""
        return Finding(
            instrument="replay",
            subject=subject,
            claimed=claimed,
            lower_bound=self.loss,
            confidence=1.0,
            neighbours=neighbours,
            unit=unit,
            pair=pair,
            event="; ".join(self.blame),
            place=self.place,
            trials=self.fits,
            given=self.given,
        )


def replay_fit(
    fit: Fit,
    first: Any,
    second: Any,
    *,
    common: Any,
    own: tuple[bool, bool],
    script: list[Release] | None = None,
) -> Replay:
    """Replay for anything that fits through the doors.

    Parameters
    ----------
    fit : runs the subject on a data set.
    first, second : the neighbours; outputs are drawn on ``first``.
    common : the records that both hold.
    own : whether ``first`` has a record that ``second`` has not, and the other way round.
    script : outputs to replay, by default those of a fit on ``first``.
    """
    shared = shared_bootstrap(fit, first, second)
    recorded = (
        Tape().record(fit, first, rule=shared) if script is None else _forced(fit, first, script, rule=shared)
    )
    script, bags = recorded.releases, recorded.bags
    assert recorded.ledger is not None
    counts = range(1, MOST_COPIES + 1) if bags is not None and bags.mode == "poisson" else range(1, 2)
    fits = 1
    try:
        without = _forced(fit, common, script, rule=shared)
        likelihood, tapes = [], []
        for data, has_own in ((first, own[0]), (second, own[1])):
            if not has_own:
                copies = {}
            elif bags is None or bags.mode in ("full", *POSITIONAL):  # there is nothing to average over
                copies = {1: _forced(fit, data, script, rule=shared)}
            else:
                assert without.keys is not None
                key = _own_key(_keys_of(fit, data), without.keys)
                copies = {k: _forced(fit, data, script, rule=_with_copies(key, k)) for k in counts}
            fits += 1 + len(copies)
            likelihood.append(_log_likelihood(bags, without, copies))
            tapes.append(copies.get(1, without))
    except DivergenceError as error:
        blame = (f"control flow diverges: {error}",)
        return Replay(log_ratio=math.inf, ledger=recorded.ledger, blame=blame, place=error.place, fits=fits)
    names, place = _blame(tapes[0], tapes[1], bags)
    log_ratio = likelihood[0] - likelihood[1]
    return Replay(log_ratio=log_ratio, ledger=recorded.ledger, blame=names, place=place, fits=fits)


def _blame(first: Tape, second: Tape, bags: Bags | None) -> tuple[tuple[str, ...], str]:
    """Releases whose outcome is impossible on one side, else the release whose likelihood changes most."""
    changes = [
        (abs(a.log_density - b.log_density) if a.log_density != b.log_density else 0.0, a)
        for a, b in zip(first.releases, second.releases, strict=True)
    ]
    impossible = [release for change, release in changes if math.isinf(change)]
    worst = impossible or [max(changes, key=lambda pair: pair[0])[1]] if changes else []
    names = list(dict.fromkeys(release.request.what for release in worst))
    if bags is not None and bags.mode in POSITIONAL:
        names.append(MOVES if bags.mode == PARTS else MULTIPLICITY)
    return tuple(names), worst[0].place if worst else ""


Force = Callable[[Fit, Any, Any], list[Release]]
"""How the subject runs, and two data sets → outputs that are possible on the first one."""


def replay_estimator(
    estimator: Any,
    first: Part | Peopled,
    second: Part | Peopled,
    *,
    seed: int = 0,
    encoded: bool = False,
    force: Force | None = None,
) -> tuple[Replay, str]:
    """Replay of a ``dpnb`` estimator; returns the neighbouring relation of the pair as well.

    Parameters
    ----------
    encoded : whether each data set is encoded once, ahead of all fits, which takes a quarter of the time. What
        encoding itself may tell is then out of sight.
    force : which outputs to replay, by default those that a fit on ``first`` draws.
    """
    common, own, relation = split_pair(first, second)

    def fit(part: Any) -> object:
        return fitted_on(clone(estimator).set_params(random_state=seed), part)

    parts: list[Any] = [first, second, common]
    if encoded:
        how: dict[str, Any] = {"domain": estimator.domain, "strict": False}
        parts = [(Records(X, y, people=p[0] if p else None, **how), None) for X, y, *p in parts]
    script = None if force is None else force(fit, parts[0], parts[1])
    return replay_fit(fit, *parts[:2], common=parts[2], own=own, script=script), relation


def replay(
    estimator: Any,
    first: Part | Peopled,
    second: Part | Peopled,
    *,
    seed: int = 0,
    subject: str = "",
    pair: str = "",
) -> Finding:
    """Fit on ``first``, force the outputs on ``second`` and return the exact privacy loss at them.

    Parameters
    ----------
    estimator : any estimator of this package; it is cloned.
    first, second : (X, y) with labelled records, or (X, y, people) with the person of each; neighbours under
        add/remove or replace of a record, or of a person.
    seed : seed of the fit.
    subject, pair : names for the report.

    Returns
    -------
    Finding whose bound holds with certainty. For a bootstrap it is the loss given the bags, and says so. Under replace
    a claim that was made for add/remove counts twice. A claim with δ allows larger losses at rare outputs, so the
    losses are compared with the ledger's pure ε.
    """
    outcome, relation = replay_estimator(estimator, first, second, seed=seed)
    ledger = outcome.ledger
    doubled = 2 if relation == "replace" and estimator.neighbours == "add-remove" else 1
    return outcome.finding(
        claimed=(ledger.claimed if ledger.delta is None else ledger.pure_epsilon) * doubled,
        subject=subject or type(estimator).__name__,
        pair=pair or sizes_of(first, second),
        neighbours=relation,
        unit=unit_of(first),
    )
