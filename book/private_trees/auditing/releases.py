"""What each release of a fit costs on two neighbours: its laws on both of them, given the same outputs before.

A replay weighs the outputs that happened to come out. Here the laws themselves are compared, all outputs at once, so
that noise without a finite pure ε is held against its ρ, with certainty. Bags are not averaged over: this is for fits
that see every record once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpnb.privacy.laws import (
    DiscreteGaussian,
    Exact,
    Exponential,
    Gaussian,
    Laplace,
    Law,
    PermuteAndFlip,
    TwoSidedGeometric,
)
from dpnb.privacy.ledger import Event
from dpnb.replay.questions import Fit

from .exact import cost_of_noise
from .followed import follow

PUBLISHED = "what is published"


@dataclass(frozen=True)
class Spent:
    """A release on two neighbours."""

    # what, mechanism: as on the ledger.
    what: str
    mechanism: str
    # Least budget for which the two laws keep the promise: ρ of Gaussian noise, the range of the log-ratios
    # of the exponential mechanism, else the largest absolute log-ratio; `inf` where the two sides go
    # different ways.
    cost: float
    booked: float  # the budget, for the relation of the two; 0 where nothing was booked

    @property
    def share(self) -> float:
        """Cost as a share of what was booked."""
        return self.cost / self.booked if self.booked else math.inf


def spent(publish: Fit, first: Any, second: Any, *, neighbours: str = "add-remove") -> list[Spent]:
    """Compare the laws of each release on two neighbours, the outputs drawn on the first.

    Parameters
    ----------
    publish : runs the subject; what it returns, as JSON has it, must follow from its releases.
    first, second : the neighbours.
    neighbours : their relation. A replacement is a removal and an addition: ε counts twice, ρ four times.

    Returns
    -------
    One entry a release; in the end another one of infinite cost if the second data set has more or fewer releases, or
    other ones, or other things published with the same outputs.
    """
    here, published = follow(publish, first, None)
    there, other = follow(publish, second, iter(here.outcomes))
    found = [
        _spent(*pair, replaced=neighbours == "replace") for pair in zip(here.laws, there.laws, strict=False)
    ]
    if len(here.laws) != len(there.laws) or isinstance(other, Exception) or published != other:
        found.append(Spent(PUBLISHED, "", math.inf, 0.0))
    return found


def _spent(here: tuple[Event, Law[Any]], there: tuple[Event, Law[Any]], *, replaced: bool) -> Spent:
    event, law = here
    same = (event.what, event.mechanism) == (there[0].what, there[0].mechanism)
    noisy = isinstance(law, Gaussian | DiscreteGaussian)
    booked = event.worst.rho * (4 if replaced else 1) if noisy else event.worst.epsilon * (1 + replaced)
    return Spent(event.what, event.mechanism, _cost(law, there[1]) if same else math.inf, booked)


def _cost(law: Any, other: Any) -> float:
    """Cost of a pair of laws; one record is in one of several groups, or moves all of the noisy numbers."""
    match law, other:
        case (Exponential(), Exponential()) | (PermuteAndFlip(), PermuteAndFlip()):
            return _cost_of_choice(law, other)
        case (Gaussian(), Gaussian()) | (DiscreteGaussian(), DiscreteGaussian()):
            return cost_of_noise(law.centre, other.centre, law.sd, other.sd, power=2)
        case (Laplace(), Laplace()) | (TwoSidedGeometric(), TwoSidedGeometric()):
            return cost_of_noise(law.centre, other.centre, law.scale, other.scale, power=1)
        case (Exact(), Exact()):
            return 0.0 if np.array_equal(law.value, other.value) else math.inf
    raise TypeError(f"{type(law).__name__} and {type(other).__name__}: expected choices or additive noise")


def _cost_of_choice(law: Exponential | PermuteAndFlip, other: Exponential | PermuteAndFlip) -> float:
    """Range of the log-ratios of the exponential mechanism, largest absolute one of permute-and-flip."""
    if not np.array_equal(law.starts, other.starts) or len(law.scores) != len(other.scores):
        return math.inf
    with np.errstate(divide="ignore"):
        one, two = (
            each.log_probabilities() if isinstance(each, Exponential) else np.log(each.probabilities())
            for each in (law, other)
        )
    if not np.array_equal(one == -np.inf, two == -np.inf):
        return math.inf
    ratio = np.where(one == -np.inf, 0.0, one - np.where(one == -np.inf, 0.0, two))
    if isinstance(law, PermuteAndFlip):
        return float(np.maximum.reduceat(np.abs(ratio), law.starts).sum())
    possible = one > -np.inf
    high = np.maximum.reduceat(np.where(possible, ratio, -np.inf), law.starts)
    low = np.minimum.reduceat(np.where(possible, ratio, np.inf), law.starts)
    return float((high - low).sum())
