"""An audit in a test: :func:`assert_private` fails with the event that convicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from sklearn.base import clone

from ..domain import Domain
from .campaign import OnDomain, Plan, campaign, measured_by_betting
from .channels import generators
from .constant import SURE
from .pairs import DOMAIN, pairs
from .result import Finding
from .scan import scan


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
    runs: int = 1_000,
    confidence: float = SURE,
    seed: int = 0,
) -> list[Finding]:
    """Fail a test if a privacy claim can be refuted within some seconds.

    Fitted models are searched for what they should not hold, their noise is drawn again with the clock stopped, and the
    most promising of some forty pairs of neighbours is played on by :func:`~dpnb.audit.monitor.monitor`, which stops
    when the claim is refuted.

    Parameters
    ----------
    subject : an unfitted estimator with ``fit`` and ``predict``, or a class or a function that makes one:
        :func:`~dpnb.audit.adapters.adapted` and :func:`~dpnb.audit.adapters.as_estimator` make one of anything else.
    epsilon, delta : the claim.
    neighbours : ``"add-remove"`` or ``"replace"``.
    domain : public domain of the records that the auditor makes up.
    kinds : kinds of pairs, as of :func:`~dpnb.audit.pairs.pairs`.
    runs : fits on each of two data sets, scouting included; a blatant leak takes some tens of them.
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
    found = list(
        examined(
            subject,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            domain=domain,
            kinds=kinds,
            runs=runs,
            confidence=confidence,
            seed=seed,
        )
    )
    for finding in found:
        if finding.violated:
            raise PrivacyViolation(finding)
    return found


def examined(
    subject: Any,
    *,
    epsilon: float,
    delta: float,
    neighbours: str,
    domain: Domain,
    kinds: Sequence[str] | None,
    runs: int,
    confidence: float,
    seed: int,
) -> Iterator[Finding]:
    """Findings of all instruments, the quick ones first, up to the first violation; as :func:`assert_private`."""
    is_model = hasattr(subject, "fit") and not isinstance(subject, type)
    factory: Callable[[], Any] = partial(clone, subject) if is_model else subject
    tried = pairs(neighbours, domain=domain, kinds=kinds, seed=seed)
    malformed = [pair for pair in tried if pair.malformed]  # where an honest fit neither raises nor warns
    looks = [(scan, pair) for pair in (tried[0], tried[-1], *malformed)] + [(generators, tried[0])]
    claim: dict[str, Any] = {
        "claimed": epsilon,
        "delta": delta,
        "neighbours": neighbours,
        "confidence": 1 - (1 - confidence) / (len(looks) + 1),
        "seed": seed,
    }
    for instrument, pair in looks:
        for finding in instrument(
            OnDomain(factory, pair.domain), pair.first, pair.second, pair=pair.name, **claim
        ):
            yield finding
            if finding.violated:
                return
    yield campaign(factory, tried, Plan(runs=runs, **claim), measure=measured_by_betting).finding
