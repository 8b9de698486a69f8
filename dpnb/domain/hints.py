"""Hints for the data holder: what a misfit was probably meant to be, and which values fit and are odd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from .attributes import Attribute, Categorical, Continuous
from .encoding import encoded


def notes(attribute: Attribute, column: pd.Series[Any]) -> Iterator[str]:
    """Odd values of a column that fits, which only an option lets pass, or which lie in one corner of the bounds."""
    plain: Attribute
    if isinstance(attribute, Categorical):
        plain, place = replace(attribute, unknown="error"), "'other'"
    else:
        plain, place = replace(attribute, clip=False), "a bound"
    numbers, misfit = encoded(column, plain, bounds=True)
    passed = misfit is not None and misfit.kind in ("outside", "infinite", "unknown")  # by an option
    if misfit is not None and passed and misfit.is_common(len(column)):
        what, hint = (tell(attribute, total=len(column)) for tell in (misfit.what, misfit.hint))
        yield f"{what}, which count as {place}{hint}"
    given = numbers[numbers >= attribute.low] if isinstance(attribute, Continuous) else numbers[:0]
    if isinstance(attribute, Continuous) and misfit is None and len(given):
        low, high = float(given.min()), float(given.max())
        if high - low < 0.01 * (attribute.high - attribute.low):
            yield (
                f"all values of column {attribute.name!r} lie from {attribute.shown(low)} to {attribute.shown(high)}, "
                f"in less than 1% of its bounds; is it in another unit, or scaled before the model?"
            )


def notes_on_index(X: Any, y: Any) -> Iterator[str]:
    """Note on records and labels that have different index labels."""
    if isinstance(X, pd.DataFrame) and isinstance(y, pd.Series) and not X.index.equals(y.index):
        differ = np.flatnonzero(X.index.to_numpy(object) != y.index.to_numpy(object))
        at = int(differ[0]) if len(differ) else 0
        yield (
            f"{len(differ)} records stand under another index label than their class, first {X.index[at]!r} beside "
            f"{y.index[at]!r}; a fit takes both by position, y.loc[X.index] by label"
        )


def another_order(attributes: Sequence[Attribute], columns: Sequence[pd.Series[Any]]) -> str | None:
    """The order in which an array's columns would fit, if they do not in the one they have."""
    if len(attributes) > 50:  # each is tried in each other's place, by its first 200 records
        return None
    fits = np.array([[_share(column[:200], a) for column in columns] for a in attributes])
    places, found = linear_sum_assignment(fits + 1e-6 * np.eye(len(fits)), maximize=True)
    if fits[places, found].sum() < fits.trace() + 1:
        return None
    moves = [f"column {j} as {a.name!r}" for a, i, j in zip(attributes, places, found, strict=True) if i != j]
    return f"are the columns in another order? They would fit with {', '.join(moves)}"


def _share(column: pd.Series[Any], attribute: Attribute) -> float:
    """Share of values that fit."""
    try:
        _, misfit = encoded(column, attribute, bounds=True)
    except Exception:  # whatever an odd object raises
        return 0.0
    return 1.0 if misfit is None else 1 - misfit.count / len(column)
