"""Hints for the data holder: what a misfit was probably meant to be, and which values fit and are odd."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace as changed
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ..arrays import Floats, cells_of
from .attributes import SHOWN, Attribute, Categorical, Continuous, short
from .encoding import checked, replaced, replaced_positions
from .misfits import Misfit, meant_by


def notes(attribute: Attribute, column: pd.Series[Any]) -> Iterator[str]:
    """Odd values of a column that fits, which only an option lets pass, or which lie in one corner of the bounds."""
    total = len(column)
    plain: Attribute
    if isinstance(attribute, Categorical):
        plain, place = changed(attribute, unknown="error"), "'other'"
    else:
        plain, place = changed(attribute, clip=False), "a bound"
    numbers, found = checked(column, plain, bounds=True)
    nothing = attribute.missing_code if isinstance(attribute, Categorical) else attribute.floor
    gone = Misfit("missing", int((replaced(column, attribute) == nothing).sum()))
    if attribute.missing and gone.count and gone.is_common(total):
        yield f"column {attribute.name!r} has no value in {gone.count} of {total} records"
    for misfit in found:  # an option lets it pass
        meant = _meant(attribute, column) if isinstance(attribute, Categorical) else ""
        if meant or misfit.is_common(total):
            hint = meant or misfit.hint(attribute, total=total)
            yield f"{misfit.what(attribute, total=total)}, which count as {place}{hint}"
    given = numbers[numbers >= attribute.low] if isinstance(attribute, Continuous) else numbers[:0]
    if isinstance(attribute, Continuous) and not found and len(given):
        low, high = float(given.min()), float(given.max())
        if high - low < 0.01 * (attribute.high - attribute.low):
            yield (
                f"all values of column {attribute.name!r} lie from {attribute.shown(low)} to {attribute.shown(high)}, "
                f"in less than 1% of its bounds; is it in another unit, or scaled before the model?"
            )


def _meant(attribute: Categorical, column: pd.Series[Any]) -> str:
    """Unknown values that are listed but for spaces and capitals, the most frequent first; empty without any."""
    unknown = replaced_positions(column, attribute.levels, stand_in=-1, missing=0) < 0
    counts = Counter(value for value in cells_of(column[unknown]) if isinstance(value, str))
    meant = meant_by((value for value, _ in counts.most_common()), attribute.levels)
    meanings = [
        f"{short(v)} meant to be {listed_one!r} ({counts[v]} records)" for v, listed_one in meant.items()
    ]
    more = f", and {len(meanings) - SHOWN} more" * (len(meanings) > SHOWN)
    return f". Is {', '.join(meanings[:SHOWN])}{more}? Spaces and capitals count" if meanings else ""


FEW = 10  # records of a class, or of a value, that chance hardly keeps apart from all others


def tells(column: Floats, labels: NDArray[Any], *, is_ordered: bool) -> bool:
    """Whether an attribute alone tells the class, or the number to predict, of every record.

    It does so if records of one value have one class, and each value has many records; or if the classes lie side by
    side in the order of the values, as a number to predict does if it rises, or falls, with the values.

    Parameters
    ----------
    column : codes of the attribute.
    labels : codes of the classes, or numbers.
    is_ordered : whether the attribute's values have an order.
    """
    _, sizes = np.unique(labels, return_counts=True)
    if len(sizes) < 2 or len(labels) - sizes.max() < FEW:
        return False
    values, places = np.unique(column, return_inverse=True)
    label_of = np.empty(len(values), labels.dtype)
    label_of[places] = labels
    if len(values) < 2 or not np.array_equal(label_of[places], labels):
        return False
    changes = np.diff(label_of.astype(float))
    if is_ordered and len(values) > FEW:
        rises, falls = (changes >= 0).all(), (changes <= 0).all()
        return bool(
            rises or falls or np.count_nonzero(changes) < len(sizes) or FEW * len(values) <= len(labels)
        )
    return FEW * len(values) <= len(labels)


def notes_on_target(
    attributes: Sequence[Attribute], codes: Floats, labels: NDArray[Any], *, what: str
) -> Iterator[str]:
    """Note on attributes each of which alone tells the target; ``what`` says what that is."""
    for attribute, column in zip(attributes, codes.T, strict=True):
        if tells(column, labels, is_ordered=isinstance(attribute, Continuous)):
            yield (
                f"column {attribute.name!r} alone tells {what} of each of the {len(codes)} records; is it the target "
                "in other words, or known only after it?"
            )


def notes_on_copies(codes: Floats) -> Iterator[str]:
    """Note on records that are exact copies of others, unless few, or as many as attributes of so few values make."""
    table = pd.DataFrame(codes)
    copies = int(table.duplicated().sum())
    if copies <= len(table) / 100:
        return
    shuffle = np.random.default_rng(
        0
    ).permuted  # by chance, if the attributes had nothing to do with each other
    if copies > 10 * int(pd.DataFrame(shuffle(codes, axis=0)).duplicated().sum()):
        yield (
            f"{copies} of {len(table)} records are exact copies of others; is each in the table once? If people have "
            "several, name the person of each: fit(X, y, people=...)"
        )


def notes_on_index(X: Any, y: Any, *, of: str = "class") -> Iterator[str]:
    """Note on records and labels, or people, that have different index labels."""
    if isinstance(X, pd.DataFrame) and isinstance(y, pd.Series) and not X.index.equals(y.index):
        differ = np.flatnonzero(X.index.to_numpy(object) != y.index.to_numpy(object))
        at = int(differ[0]) if len(differ) else 0
        name = "y" if of == "class" else "people"
        yield (
            f"{len(differ)} records stand under another index label than their {of}, first {X.index[at]!r} beside "
            f"{y.index[at]!r}; a fit takes both by position, {name}.loc[X.index] by label"
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
    misfits = checked(column, attribute, bounds=True)[1]
    return 1 - sum(misfit.count for misfit in misfits) / max(len(column), 1)
