"""Neighbours, which are data sets that differ in one record: a check of two data sets, and their common records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any, cast

import numpy as np
import pandas as pd

Part = tuple[pd.DataFrame, "pd.Series[Any]"]
SIZES = {(0, 1): "add-remove", (1, 0): "add-remove", (1, 1): "replace"}
"""How many records each side has of its own, and the relation that follows."""


def sizes_of(first: tuple[Any, Any], second: tuple[Any, Any]) -> str:
    """Two data sets (X, y) in words, where nobody gave them a name."""
    return f"{len(first[1])} and {len(second[1])} records"


def split_pair(first: Part, second: Part) -> tuple[Part, tuple[bool, bool], str]:
    """Common records, which of two data sets that differ in one record has one of its own, and their relation.

    Raises
    ------
    ValueError
        If they are not neighbours under add/remove or replace.
    """
    own = own_rows(first, second)
    sizes = len(own[0]), len(own[1])
    if sizes not in SIZES:
        raise ValueError(
            f"first has {sizes[0]} records of its own and second has {sizes[1]}: neighbours differ in one record "
            "that is added, removed or replaced; records are told apart by their index labels and their values"
        )
    keep = ~np.isin(np.arange(len(first[1])), own[0])
    common = (first[0][keep], first[1][keep])
    return common, (sizes[0] > 0, sizes[1] > 0), SIZES[sizes]


def row_keys(part: Part, *, labels: bool) -> list[Hashable]:
    """Records by value, a missing one by None; with their index labels on demand."""
    X, y = part
    rows = zip(X.index, *(X[name] for name in X), y, strict=True)
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
