"""People who have several records each: a person's records share one vote.

A person with m records gives each of them the weight 1/m, rounded down to a multiple of 2⁻²⁸. The weights follow from
the person's own records alone, and add up to 1 at most. So a sum over records, of which one moves it by g(z), is moved
by a mean of g(z) when a person comes or goes, and bounds on a norm, or on an interval, hold for people as they do for
records (chapter 2, "People").
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..arrays import FIXED_POINT, Bools, Floats, Ints
from ..domain.frames import as_series, objects
from .bags import Keys, label_keys, plain_labels

MOST_WHOLE = 2.0**53  # from which on not every whole number is a float, and two people may have become one


class People(NamedTuple):
    """The person of each record that has a vote."""

    known: Bools  # (n,) whether the record names a person; the others have no vote, and are left out
    keys: Keys  # (known,) key of the person, by which bags are drawn
    votes: Floats  # (known,) share of one vote
    counts: Ints  # (people,) number of records of each person


def people_of(ids: ArrayLike | pd.Series[Any]) -> People:
    """Whose each record is, and its share of that person's vote.

    Parameters
    ----------
    ids : (n,) whole numbers or texts that name each person once; " 1" and "1" are two. What is missing names nobody,
        and so does a floating-point number from 2⁵³ on, which may be several.
    """
    column = as_series(ids)
    known = np.asarray(column.notna(), bool)
    if column.dtype.kind == "f":
        known &= np.abs(np.asarray(column.to_numpy(float, na_value=np.nan))) < MOST_WHOLE
    named = column[known]
    whole = pd.api.types.is_integer_dtype(named.dtype) and pd.api.types.is_signed_integer_dtype(named.dtype)
    labels: NDArray[Any] = named.to_numpy(np.int64) if whole else objects(plain_labels(pd.Index(named)))
    person, people = pd.factorize(labels)
    counts = np.bincount(person, minlength=len(people))
    return People(known, label_keys(people)[person], vote_of(counts)[person], counts)


def vote_of(counts: Ints) -> Floats:
    """The vote of each record of people who have so many, a multiple of 2⁻²⁸."""
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
