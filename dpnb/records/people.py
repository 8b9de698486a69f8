"""People who have several records each: a person's records share one vote.

A person with m records gives each of them the weight 1/m, rounded down to a multiple of 2⁻²⁸. The weights follow from
the person's own records alone, and add up to 1 at most. So a sum over records, of which one moves it by g(z), is moved
by a mean of g(z) when a person comes or goes, and bounds on a norm, or on an interval, hold for people as they do for
records (chapter 3, "Patients who come ten times").
"""

from __future__ import annotations

import numpy as np

from ..arrays import FIXED_POINT, Floats, Ints


def vote_of(counts: Ints) -> Floats:
    """The vote of a record of a person who has so many, a multiple of 2⁻²⁸."""
    votes: Floats = np.floor(FIXED_POINT / counts) / FIXED_POINT
    return votes


def voted(values: Floats, votes: Floats | None) -> Floats:
    """Values of records (..., n), multiples of 2⁻²⁸, times their votes, rounded towards zero to such multiples.

    Rounding makes no value larger, so that a person's values add up to no more than a record's, to the last bit. The
    products are taken of whole numbers, because a product of floats is rounded, and may be rounded up.
    """
    if votes is None:
        return values
    units = np.rint(values * FIXED_POINT).astype(np.int64)
    parts = np.abs(units) * np.rint(votes * FIXED_POINT).astype(np.int64) >> 28
    down: Floats = np.sign(units) * parts / FIXED_POINT
    return down
