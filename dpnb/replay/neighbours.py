"""Neighbours, which differ in one record, or in one person: a check of two data sets, and what they have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn.utils.validation import has_fit_parameter

from ..domain.people import Unit

Part = tuple[pd.DataFrame, "pd.Series[Any]"]
Peopled = tuple[pd.DataFrame, "pd.Series[Any]", "pd.Series[Any]"]
"""Records, labels, and the person of each record."""
SIZES = {(0, 1): "add-remove", (1, 0): "add-remove", (1, 1): "replace"}
"""How many records, or people, each side has of its own, and the relation that follows."""


def fitted_on(estimator: Any, part: Part | Peopled | tuple[Any, None]) -> Any:
    """An estimator, fitted on a data set; one whose ``fit`` takes no ``people`` is not given their names."""
    records, people = part[:2], part[2:]
    if people and takes_people(estimator):
        return estimator.fit(*records, people=people[0])
    return estimator.fit(*records)


def takes_people(estimator: Any) -> bool:
    """Whether ``fit`` takes the person of each record."""
    return bool(has_fit_parameter(estimator, "people"))


def sizes_of(first: Any, second: Any) -> str:
    """Two data sets in words, where nobody gave them a name."""
    return f"{len(first[1])} against {len(second[1])} records"


def unit_of(part: Any) -> Unit:
    """In what a neighbour of a data set differs from it."""
    return "record" if len(part) == 2 else "person"


def split_pair(first: Any, second: Any) -> tuple[Any, tuple[bool, bool], str]:
    """Common records, which of two data sets has a record, or a person, of its own, and their relation.

    Raises
    ------
    ValueError
        If they are not neighbours under add/remove or replace.
    """
    unit = unit_of(first)
    if unit == "record":
        by = "index labels"
        own = own_rows(first, second)
        sizes = len(own[0]), len(own[1])
    else:
        by = "names"
        own, sizes = _own_people(first, second)
    if sizes not in SIZES:
        what = "records" if unit == "record" else "people"
        raise ValueError(
            f"first has {sizes[0]} {what} of its own and second has {sizes[1]}: neighbours differ in one {unit} "
            f"that is added, removed or replaced; {what} are told apart by their {by} and their values"
        )
    keep = ~np.isin(np.arange(len(first[1])), own[0])
    common = tuple(part[keep] for part in first)
    return common, (sizes[0] > 0, sizes[1] > 0), SIZES[sizes]


def _own_people(first: Peopled, second: Peopled) -> tuple[tuple[list[int], list[int]], tuple[int, int]]:
    """Positions of the records of people whose records the other data set has not, and the numbers of such people."""
    of_each: list[dict[Hashable, list[Hashable]]] = [{}, {}]
    for (X, y, people), found in zip((first, second), of_each, strict=True):
        for person, row in zip(people, row_keys((X, y), labels=False), strict=True):
            if (named := _comparable(person)) is not None:  # records of nobody have no vote
                found.setdefault(named, []).append(row)
    own = [
        {person for person, rows in mine.items() if Counter(rows) != Counter(other.get(person, []))}
        for mine, other in (of_each, of_each[::-1])
    ]
    places = [
        [place for place, person in enumerate(part[2]) if _comparable(person) in lone]
        for part, lone in zip((first, second), own, strict=True)
    ]
    return (places[0], places[1]), (len(own[0]), len(own[1]))


def row_keys(part: Part | Peopled, *, labels: bool) -> list[Hashable]:
    """Records by value, a missing one by None, and whose they are; with their index labels on demand."""
    X, *columns = part
    rows = zip(X.index, *(X[name] for name in X), *columns, strict=True)
    return [(*row[: int(labels)], *(_comparable(value) for value in row[1:])) for row in rows]


def _comparable(value: Any) -> Hashable:
    """A value that equals itself, as NaN does not, and can be looked up."""
    if isinstance(value, Hashable) and np.ndim(cast("Any", value)) == 0:
        return None if pd.isna(cast("Any", value)) else value
    return repr(value)


def own_rows(first: Part, second: Part, *, labels: bool = True) -> tuple[list[int], list[int]]:
    """Positions of the rows that the other data set does not hold, or not as often."""
    rows = [row_keys(part, labels=labels) for part in (first, second)]
    return _lone(rows[0], rows[1]), _lone(rows[1], rows[0])


def _lone(rows: list[Hashable], others: list[Hashable]) -> list[int]:
    left, lone = Counter(others), []
    for position, row in enumerate(rows):
        left[row] -= 1
        if left[row] < 0:
            lone.append(position)
    return lone
