"""The claim of an audit and what it may spend, in one object whose fields are the keywords of every instrument."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypedDict, TypeVar

from dpnb.domain.people import Unit
from dpnb.replay.finding import Finding

MOST_KEPT = 8_192  # outputs on each data set that are kept; a rule need not be learned from more
MIN_RUNS = 40  # on each data set: five learn, five choose an event, and thirty measure it
SURE = 1 - 1e-6  # confidence of audits that run in tests: a private subject fails one in a million of them
USUAL_RUNS = 1_000  # fits on each data set: a blatant leak takes some tens, and a test some seconds
UNLIMITED = 10**9  # runs that no audit makes, where time is the limit

Found = TypeVar("Found", bound=Finding)


class Keywords(TypedDict, total=False):
    """The keywords of the instruments, for type checkers; their meaning is told by :class:`AuditSettings`."""

    claimed: float
    delta: float
    gaussian: bool
    confidence: float
    neighbours: str
    unit: Unit
    pair: str
    subject: str
    runs: int
    minutes: float
    jobs: int
    seed: int
    progress: bool
    time: bool


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """A claim, and what an audit of it may spend.

    Parameters
    ----------
    claimed : ε of the claim.
    delta : δ of the claim, in [0, 1).
    gaussian : whether the claim says more, which is that a record's part is hidden as well as by normal noise with that
        (ε, δ). Bets are then laid against its δ at several ε. Other instruments test (ε, δ) alone.
    confidence : probability in (0, 1) that a bound holds, so a private subject is flagged with probability 1 −
        ``confidence`` at most.
    neighbours : relation of the claim, ``"add-remove"`` or ``"replace"``; nobody checks whether two data sets fit it.
    unit : unit of the claim, a ``"record"``, or a ``"person"`` with all records, whom a third part of each data set
        names.
    pair, subject : the two data sets and the audited subject, in words; by default the subject is the estimator's
        class.
    runs : number of fits on each data set.
    minutes : time after which an audit of many pairs ends; with a limit its findings depend on the machine.
    jobs : number of processes; findings do not depend on it.
    seed : seed of all runs of subjects that take a seed, of the auditor's coin, of splits and of classifiers.
    progress : whether to show a progress bar.
    time : whether the seconds that a fit takes are looked at. What else the machine does hides differences, and makes
        none; findings depend on the machine.

    Raises
    ------
    ValueError
        For numbers out of range.
    """

    claimed: float
    delta: float = 0.0
    gaussian: bool = False
    confidence: float = 0.99
    neighbours: str = "add-remove"
    unit: Unit = "record"
    pair: str = ""
    subject: str = ""
    runs: int = USUAL_RUNS
    minutes: float = math.inf
    jobs: int = 1
    seed: int = 0
    progress: bool = False
    time: bool = False

    def __post_init__(self) -> None:
        check_levels(self.confidence, self.delta)
        check_claim(self.claimed)
        if self.gaussian and not self.delta:
            raise ValueError(
                "gaussian=True, delta=0: expected the claim of normal noise, which has a δ above 0"
            )
        if not self.minutes > 0:
            raise ValueError(f"minutes={self.minutes!r}: expected a positive number, such as 5")

    def about(self, *, subject: str = "", pair: str = "") -> AuditSettings:
        """The same settings, with names where there were none."""
        return replace(self, subject=self.subject or subject, pair=self.pair or pair)

    def finding(self, kind: type[Found], **seen: Any) -> Found:
        """A finding about this claim; ``seen`` is what an instrument adds, or states in another way."""
        claim = ("claimed", "delta", "gaussian", "confidence", "neighbours", "unit", "pair", "subject")
        return kind(**{name: getattr(self, name) for name in claim} | seen)


def check_levels(confidence: float, delta: float) -> None:
    """Raise ValueError unless the confidence and δ are in range."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r}: expected a number between 0 and 1, such as 0.99")
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r}: expected a number from 0 to below 1")


def shared(confidence: float, tests: int) -> float:
    """The confidence that each of several bounds needs, so that all hold together with ``confidence`` (Bonferroni)."""
    check_levels(confidence, 0.0)
    if isinstance(tests, bool) or tests < 1:
        raise ValueError(f"tests={tests!r}: expected at least one")
    return 1 - (1 - confidence) / tests


def check_claim(claimed: float) -> None:
    """Raise ValueError unless the claim is a positive ε."""
    if isinstance(claimed, bool) or not claimed > 0:
        raise ValueError(f"claimed={claimed!r}: expected a positive ε")
