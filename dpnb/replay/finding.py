"""The one result type of all instruments."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..domain.people import Unit


def exceeds(bound: float, claimed: float) -> bool:
    """Whether a bound exceeds a claim, beyond rounding errors."""
    return bound > claimed * (1 + 1e-9) + 1e-12


def relation_in_words(neighbours: str, unit: Unit) -> str:
    """The relation of neighbours, and that they are people if so."""
    return neighbours + " of people" * (unit == "person")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of an instrument on one pair of neighbours."""

    # `"replay"`, `"exact"`, `"attack"`, `"betting"`, `"curve"`, `"one-run"`, `"scan"`, `"generators"` or `"library"`.
    instrument: str
    subject: str  # name of the audited subject
    claimed: float  # the ε that the subject promises
    # The privacy loss found; unless `given` says otherwise, no ε below it is true, and `inf` means that no
    # finite ε is.
    lower_bound: float
    confidence: float  # probability that `lower_bound` holds, 1 for exact arguments
    neighbours: str  # `"add-remove"` or `"replace"`
    unit: Unit = "record"  # in what the neighbours differ, a `"record"`, or a `"person"` with all records
    pair: str  # the two data sets, in words
    event: str  # the outputs that tell them apart, in words
    place: str = ""  # where in the code they come from, `module:line function`; empty for black boxes
    delta: float = 0.0  # the δ of the claim
    trials: int = 1  # number of fits or of transcripts looked at
    # Condition of the loss that the claim does not have, such as `"the bags"` of a bootstrap. Such a loss
    # shows what a proof overlooked, but by itself it does not refute a claim about secret bags. An infinite
    # loss does refute it if no bag makes the output possible on the other data set.
    given: str = ""
    # Whether the claim, and then the bound of bets, is of normal noise with that ε and δ.
    gaussian: bool = False
    why: str = ""  # reason why the event is possible, in words, where it is known

    @property
    def flagged(self) -> bool:
        """Whether the loss exceeds the claim (beyond rounding errors)."""
        return exceeds(self.lower_bound, self.claimed)

    @property
    def violated(self) -> bool:
        """Whether the loss exceeds the claim, and not merely by a finite loss given something secret."""
        return self.flagged and not (self.given and math.isfinite(self.lower_bound))

    def __str__(self) -> str:
        bound = "∞" if math.isinf(self.lower_bound) else f"{self.lower_bound:.4g}"
        certainty = "exact" if self.confidence == 1 else f"{100 * self.confidence:.10g} % confidence"
        claim = f"ε = {self.claimed:.4g}" + (f", δ = {self.delta:g}" if self.delta else "")
        claim += ", normal noise" if self.gaussian else ""
        verdict = "VIOLATED" if self.violated else "FLAGGED" if self.flagged else "no violation found"
        certainty += f", given {self.given}" if self.given else ""
        lines = [
            f"{self.subject}: {verdict}",
            f"  claimed      {claim} ({relation_in_words(self.neighbours, self.unit)})",
            f"  lower bound  ε ≥ {bound} ({certainty}, {self.instrument}, {self.trials} trials)",
        ]
        words = (("pair", self.pair), ("event", self.event), ("place", self.place), ("why", self.why))
        return "\n".join(lines + [f"  {name:12} {text}" for name, text in words if text])
