"""An audit in a test: :func:`assert_private` fails with the event that convicts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sklearn.base import clone

from ..checks import check_count, check_epsilon
from ..domain import Domain
from ..estimators.base import check_domain
from .attack import AttackError
from .campaign import Campaign, OnDomain, Plan, campaign, measured_by_betting
from .channels import fineness, generators
from .constant import SURE
from .many import shared
from .monitor import MonitoredFinding
from .pairs import DOMAIN, Pair, pairs
from .result import Finding
from .scan import scan

USUAL_RUNS = 1_000
CLAIMED = ("claimed", "delta", "neighbours", "confidence", "seed", "subject")  # what a plan tells a scan


class PrivacyViolation(AssertionError):  # noqa: N818
    """A claim is refuted; the message is the finding.

    Parameters
    ----------
    finding : what was found.
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"\n{finding}")
        self.finding = finding


def assert_private(
    subject: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    neighbours: str = "add-remove",
    domain: Domain = DOMAIN,
    kinds: Sequence[str] | None = None,
    runs: int = USUAL_RUNS,
    confidence: float = SURE,
    seed: int = 0,
) -> list[Finding]:
    """Fail a test if a privacy claim can be refuted within some seconds.

    Fitted models are searched for what they should not hold, their noise is drawn again with the clock stopped, and the
    most promising of 59 pairs of neighbours is played on by :func:`~dpnb.audit.monitor.monitor`, which stops when the
    claim is refuted. If it is not, a game of its own is played on the last bits of the floating-point numbers that
    models hold. The instruments share equally what ``confidence`` allows them to err (Bonferroni).

    Parameters
    ----------
    subject : an unfitted estimator with ``fit`` and ``predict``, or a class or a function that makes one:
        :func:`~dpnb.audit.adapters.adapted` and :func:`~dpnb.audit.adapters.as_estimator` make one of anything else.
    epsilon, delta : the claim.
    neighbours : ``"add-remove"`` or ``"replace"``.
    domain : public domain of the records that the auditor makes up.
    kinds : kinds of pairs, as of :func:`~dpnb.audit.pairs.pairs`.
    runs : fits on each of two data sets, scouting included; a blatant leak takes some tens of them. The game on last
        bits takes as many again at most, and none where models hold no such numbers.
    confidence : probability at least with which a subject that keeps its claim passes.
    seed : decides all runs of subjects that take a seed.

    Returns
    -------
    What was found, none of it above the claim. That is no proof: other data, other events or more runs may refute it.

    Raises
    ------
    PrivacyViolation
        An ``AssertionError`` that tells event, pair and bound.
    AttackError
        If the subject fails on all data.

    Examples
    --------
    >>> from dpnb.papers.pearson import PearsonTree
    >>> assert_private(PearsonTree(epsilon=1.0, max_depth=2), epsilon=1.0, runs=100)[-1].violated
    False
    """
    is_model = hasattr(subject, "fit") and not isinstance(subject, type)
    if not (is_model or callable(subject)):
        raise TypeError(
            f"subject is of type {type(subject).__name__}: expected an unfitted estimator with fit and predict, or a "
            "class or a function that makes one"
        )
    check_epsilon(epsilon)
    check_count("runs", runs, low=1)
    check_domain(domain)
    factory: Callable[[], Any] = partial(clone, subject) if is_model else subject
    plan = Plan(
        claimed=epsilon, delta=delta, neighbours=neighbours, runs=runs, confidence=confidence, seed=seed
    )
    found = examined(factory, pairs(neighbours, domain=domain, kinds=kinds, seed=seed), plan)
    for note in found.skipped:
        warnings.warn(f"not looked at: {note}", stacklevel=2)
    for finding in found.findings:
        if finding.violated:
            raise PrivacyViolation(finding)
    return list(found.findings)


@dataclass(frozen=True)
class Examination:
    """What the instruments of an audit found.

    Parameters
    ----------
    findings : what refutes the claim is the last, else the bets are.
    held : the bets, None if the claim was refuted before.
    skipped : which scans could not be made, and why.
    """

    findings: tuple[Finding, ...]
    held: Campaign[MonitoredFinding] | None
    skipped: tuple[str, ...] = ()


def examined(factory: Callable[[], Any], tried: Sequence[Pair], plan: Plan) -> Examination:
    """Look into fitted models, draw the noise again, and bet; stops when an instrument refutes the claim.

    The instruments share what the plan's confidence allows them to err. Scans take some tens of fits beside those of
    the plan; one that finds no fit that succeeds is skipped, for the bets try other pairs. Last bits are bet on after
    all else, on the first pair of ordinary records, which is fixed ahead: :func:`~dpnb.audit.channels.fineness`.

    Parameters
    ----------
    factory : returns an unfitted estimator.
    tried : pairs of neighbours.
    plan : the claim, and the fits to spend on bets.

    Raises
    ------
    AttackError
        If the estimator fails on all pairs that were tried.
    """
    malformed = [pair for pair in tried if pair.malformed]  # where an honest fit neither raises nor warns
    searched = {id(pair): pair for pair in (tried[0], tried[-1], *malformed)}
    looks = [*((scan, pair) for pair in searched.values()), (generators, tried[0])]
    plan = replace(plan, confidence=shared(plan.confidence, len(looks) + 2))
    claim: dict[str, Any] = {name: getattr(plan, name) for name in CLAIMED}
    found: list[Finding] = []
    skipped = []
    for instrument, pair in looks:
        known = OnDomain(factory, pair.domain)
        try:
            found += instrument(known, pair.first, pair.second, pair=pair.name, **claim)
        except AttackError as error:
            skipped.append(f"{instrument.__name__} on pair {pair.name!r}: {error}")
        if any(finding.violated for finding in found):
            return Examination(tuple(found), None, tuple(skipped))
    held = campaign(factory, tried, plan, measure=measured_by_betting)
    if held.finding.violated:
        return Examination((*found, held.finding), held, tuple(skipped))
    pair = next((pair for pair in tried if not pair.malformed), tried[0])
    known = OnDomain(factory, pair.domain)
    bets: list[Finding] = [held.finding]
    try:
        bets += fineness(
            known, pair.first, pair.second, pair=pair.name, most_runs=2 * plan.runs, jobs=plan.jobs, **claim
        )
    except AttackError as error:
        skipped.append(f"last bits on pair {pair.name!r}: {error}")
    bets = sorted(reversed(bets), key=lambda finding: finding.violated)
    return Examination((*found, *bets), held, tuple(skipped))
