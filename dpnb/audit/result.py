"""The one result type of all instruments."""

from __future__ import annotations

import math
from dataclasses import dataclass


def exceeds(bound: float, claimed: float) -> bool:
    """Whether a bound exceeds a claim, beyond rounding errors."""
    return bound > claimed * (1 + 1e-9) + 1e-12


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What an instrument found out about one pair of neighbours.

    Parameters
    ----------
