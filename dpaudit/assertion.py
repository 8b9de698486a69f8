"""An audit in a test, where :func:`assert_private` fails with the event that convicts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from sklearn.base import clone

from dpnb.checks import check_count, check_epsilon
from dpnb.domain import Domain
from dpnb.domain.people import Unit
from dpnb.estimators.base import check_domain
from dpnb.replay.finding import Finding

from .examine import examine, own_domain
from .pairs import pairs
from .settings import SURE, USUAL_RUNS, AuditSettings


class PrivacyViolation(AssertionError):  # noqa: N818
    """A claim is refuted; the message is the finding.

    Parameters
    ----------
    finding : the finding that refutes the claim.
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"\n{finding}")
        self.finding = finding


def assert_private(
    subject: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    gaussian: bool = False,
    neighbours: str = "add-remove",
    unit: Unit = "record",
    domain: Domain | None = None,
    kinds: Sequence[str] | None = None,
    runs: int = USUAL_RUNS,
    minutes: float = math.inf,
    confidence: float = SURE,
    seed: int = 0,
    time: bool = False,
) -> list[Finding]:
    """Fail a test if a privacy claim can be refuted within some seconds.

    Fitted models are searched for what they should not hold, and their noise is drawn again with the clock stopped. If
    a fit calls the mechanisms of a library that :mod:`dpaudit.primitives` knows, their calls are replayed.
    Then all pairs of neighbours are tried, and bets are made on the most promising ones, by anything that a fit shows:
    answers, numbers, texts, last bits, sizes, errors, what it prints and logs, outputs that come up again. The bets
    stop when the claim is refuted. The instruments share the error that ``confidence`` allows (Bonferroni).

    Parameters
    ----------
    subject : an unfitted estimator with ``fit`` and ``predict``, or a class or a function that makes one.
        :func:`~dpaudit.adapters.adapted` and :func:`~dpaudit.adapters.as_estimator` turn anything else into one.
    epsilon, delta : the claim.
    gaussian : whether the claim is that of normal noise with this (ε, δ), so that bets are laid against its whole
        curve. This claims more than (ε, δ). For example, randomised response keeps ε = 1 and any δ, but it is no such
        noise and fails.
    neighbours : ``"add-remove"`` or ``"replace"``.
    unit : whom the claim protects, a ``"record"``, or a ``"person"`` with all records. Then a ``fit`` that takes
        ``people`` is given the person of each record; one that does not has to keep its claim without.
    domain : public domain of the records that the auditor makes up; by default that of the subject, or two
        attributes with two classes, or with a number for a regressor.
    kinds : kinds of pairs, as for :func:`~dpaudit.pairs.pairs`.
    runs : number of fits on each of two data sets, scouting included; a blatant leak takes some tens of them.
    minutes : time limit, for subjects that are slow; the verdict may then depend on the machine.
    confidence : smallest probability with which a subject that keeps its claim passes.
    seed : seed that decides all runs of subjects that take a seed.
    time : whether the seconds that a fit takes are looked at as well; the verdict then depends on the machine.

    Returns
    -------
    The findings, none of them above the claim. They are no proof, because other data, other events or more runs may
    refute the claim.

    Raises
    ------
    PrivacyViolation An ``AssertionError`` that states event, pair and bound.
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
    factory: Callable[[], Any] = partial(clone, subject) if is_model else subject
    domain = own_domain(factory()) if domain is None else domain
    check_domain(domain)
    settings = AuditSettings(
        claimed=epsilon,
        delta=delta,
        gaussian=gaussian,
        neighbours=neighbours,
        unit=unit,
        runs=runs,
        minutes=minutes,
        confidence=confidence,
        seed=seed,
        time=time,
    )
    found = examine(factory, pairs(neighbours, domain=domain, kinds=kinds, seed=seed, unit=unit), settings)
    for note in found.skipped:
        warnings.warn(f"not looked at: {note}", stacklevel=2)
    for finding in found.findings:
        if finding.violated:
            raise PrivacyViolation(finding)
    return list(found.findings)
