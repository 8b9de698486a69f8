"""Columns as numbers, either strictly, so that the data holder learns what does not fit, or with misfits replaced.

A fit on a given domain learns from the second form. It looks at one value at a time, never raises an error, and gives a
value the same number whatever the other records hold, and so whatever type pandas gave to the column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from numbers import Complex, Real
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype

from ..arrays import Bools, Floats, Ints, cells_of
from ..errors import DomainError
from .attributes import SHOWN, Attribute, Categorical, Continuous, short
from .frames import objects
from .misfits import Misfit
from .rows import LINE, Unread


def encoded(column: pd.Series[Any], attribute: Attribute, *, bounds: bool) -> tuple[Floats, Misfit | None]:
    """Numbers of a column, or what does not fit.

    Parameters
    ----------
    bounds : whether values outside the bounds are misfits; otherwise thresholds route them like the bounds.
    """
    if isinstance(attribute, Categorical):
        gone = column.isna().to_numpy(np.bool_)
        if gone.any() and not attribute.missing:
            return np.zeros(len(column)), _misfit("missing", gone, column)
        if attribute.unknown == "other":
            return replaced(column, attribute), None
        codes = np.full(len(column), attribute.missing_code)
        codes[~gone], misfit = positions(column[~gone] if gone.any() else column, attribute.levels)
        return codes.astype(float), misfit
    return _checked_numbers(column, attribute, bounds=bounds)


def replaced(column: pd.Series[Any], attribute: Attribute) -> Floats:
    """Numbers of a column, with every misfit replaced by a number of the domain; never raises an error."""
    return replaced_and_moved(column, attribute)[0]


@np.errstate(all="ignore")  # what NumPy says of a number depends on it
def replaced_and_moved(column: pd.Series[Any], attribute: Attribute) -> tuple[Floats, list[Group]]:
    """The same, and which entries were replaced by what; those that an option of the domain asks for are left out."""
    if isinstance(attribute, Categorical):
        return _replaced_categories(column, attribute)
    numbers = _loose(column, attribute)
    codes = np.where(np.isnan(numbers), attribute.stand_in, np.clip(numbers, attribute.low, attribute.high))
    groups, none = [], np.isnan(numbers)
    if none.any():
        empty = none & column.isna().to_numpy(np.bool_)
        became = "missing" if attribute.missing else f"{attribute.shown(attribute.stand_in)}, the middle"
        groups = [Group(none & ~empty, "no number", became, attribute.missing)]
        groups += [] if attribute.missing else [Group(empty, "missing", became, False)]
    if not attribute.clip:
        groups += [
            Group(numbers < attribute.low, "outside", attribute.shown(attribute.low), True),
            Group(numbers > attribute.high, "outside", attribute.shown(attribute.high), True),
        ]
    return codes, [group for group in groups if group.rows.any()]


def _replaced_categories(column: pd.Series[Any], attribute: Categorical) -> tuple[Floats, list[Group]]:
    found = replaced_positions(column, attribute.levels, stand_in=-1, missing=-2)
    groups, codes = [], found.astype(float)
    for mark, kind, code, is_asked in (
        (-1, "unknown", attribute.stand_in, attribute.unknown == "other"),
        (-2, "missing", attribute.missing_code, attribute.missing),
    ):
        rows = found == mark
        codes[rows] = code
        if not is_asked and rows.any():
            has_place = attribute.missing or attribute.unknown == "other"
            level = attribute.levels[code]
            became = str(level) if has_place else f"{short(level)}, the first of its values"
            groups.append(Group(rows, kind, became, has_place))
    return codes, groups


class Group(NamedTuple):
    """Entries of a column that were replaced by one value.

    Parameters
    ----------
    rows : (n,) which entries.
    kind : what is wrong with them, as for a :class:`~dpnb.domain.misfits.Misfit`.
    became : what they count as, in words.
    has_place : whether the domain has a place for them, a bound, "missing" or "other"; the first value and the middle
        are none.
    """

    rows: Bools
    kind: str
    became: str
    has_place: bool


def unmarked(column: pd.Series[Any], attribute: Attribute, markers: Sequence[Hashable]) -> pd.Series[Any]:
    """A column in which the markers of missing values are missing values; one that the attribute lists is a value.

    Numbers are compared as numbers, and dates as days, however a cell or a marker is typed.
    """
    if not markers:
        return column
    listed = attribute.values if isinstance(attribute, Categorical) else ()
    marks = {_spelling(marker) for marker in markers} - {_spelling(value) for value in listed}

    def is_marker(entry: Any) -> bool:
        return _spelling(entry) in marks

    if isinstance(attribute, Categorical):
        gone = _each(column, is_marker).astype(np.bool_)
    else:
        numbers, days = (
            _loose(some, attribute) for some in (column, pd.Series(objects(markers), dtype=object))
        )
        gone = np.isin(numbers, days[~np.isnan(days)])
        words = np.isnan(numbers)
        gone[words] = _each(column[words], is_marker)
    return _emptied(column, gone) if gone.any() else column


def _emptied(column: pd.Series[Any], gone: Bools) -> pd.Series[Any]:
    try:
        return column.mask(gone)
    except Exception:  # a type of another library that has no missing values
        cells = (None if empty else cell for empty, cell in zip(gone, cells_of(column), strict=True))
        return pd.Series(objects(cells), index=column.index, name=column.name, dtype=object)


def _checked_numbers(
    column: pd.Series[Any], attribute: Continuous, *, bounds: bool
) -> tuple[Floats, Misfit | None]:
    if np.iscomplexobj(column.to_numpy()):
        raise DomainError(f"Complex data not supported: column {attribute.name!r} holds complex numbers")
    numbers = _loose(column, attribute)
    missing = column.isna().to_numpy(np.bool_)
    none = np.isnan(numbers) & ~missing
    if none.any():
        return numbers, _misfit("no number", none, column, column[none])
    if missing.any():
        if not attribute.missing:
            return numbers, _misfit("missing", missing, column)
        numbers = np.where(missing, attribute.floor, numbers)
    if attribute.clip:
        numbers = np.where(missing, numbers, np.clip(numbers, attribute.low, attribute.high))
    infinite = np.isinf(numbers)
    if infinite.any():
        return numbers, _misfit("infinite", infinite, column)
    outside = ((numbers < attribute.low) | (numbers > attribute.high)) & ~missing
    if bounds and outside.any():
        return numbers, _misfit("outside", outside, column, numbers[outside].tolist())
    return numbers, None


def _misfit(kind: str, where: Bools, column: pd.Series[Any], values: Iterable[Any] = ()) -> Misfit:
    """What does not fit, and the lines of the file, if the column comes from one."""
    lines = column.index[where][: SHOWN + 1].tolist() if column.index.name == LINE else ()
    return Misfit(kind, int(where.sum()), first_few(values), tuple(lines))


def positions(column: pd.Series[Any], values: tuple[Hashable, ...]) -> tuple[Ints, Misfit | None]:
    """Position of each entry among the values, or what does not fit."""
    index = pd.Index(list(values), tupleize_cols=False)
    try:
        if isinstance(column.dtype, pd.CategoricalDtype):
            entries, distinct = column.cat.codes.to_numpy(), column.cat.categories
        else:
            entries, distinct = column.array.factorize()
        # Appending -1 sends pandas' own code for missing, -1, to itself.
        codes = np.append(index.get_indexer(distinct), -1).take(entries)
    except TypeError as error:
        raise DomainError(f"column {column.name!r} must hold hashable values: {error}") from error
    unknown = codes < 0
    if unknown.any():
        missing = column.isna().to_numpy(dtype=np.bool_)
        if missing.any():
            return codes, _misfit("missing", missing, column)
        return codes, _misfit("unknown", unknown, column, column[unknown])
    return codes.astype(np.intp, copy=False), None


@np.errstate(all="ignore")
def replaced_positions(
    column: pd.Series[Any], values: tuple[Hashable, ...], *, stand_in: int, missing: int
) -> Ints:
    """Position of each entry among the values; an entry that is not listed has the position of ``stand_in``."""
    exact = {value: code for code, value in enumerate(values)}
    spelt: dict[Hashable, int] = {}
    for code, value in enumerate(values):
        spelt.setdefault(_spelling(value), code)

    def position(entry: Any) -> int:
        found = exact.get(entry)
        return spelt.get(_spelling(entry), stand_in) if found is None else found

    return _each(column, position, odd=stand_in, missing=missing)


def _each(column: pd.Series[Any], look: Callable[[Any], int], *, odd: int = 0, missing: int = 0) -> Ints:
    """What a function says of each entry.

    Parameters
    ----------
    odd : for an entry with which the function raises an error.
    missing : for a missing entry.
    """

    def found(entry: Any) -> int:
        if _is_missing(entry):
            return missing
        try:
            return look(entry)
        except Exception:  # whatever an odd object raises
            return odd

    # Entries of one plain type are looked up once each. Others one by one: 1 equals True, but is spelt otherwise.
    plain = column.dtype != object or infer_dtype(column.to_numpy()) in ("string", "integer", "boolean")
    with suppress(Exception):  # a text that is none, such as half a surrogate
        if plain:
            entries, distinct = pd.factorize(column.array, use_na_sentinel=True)
            each = map(found, np.asarray(distinct, dtype=object).tolist())
            return np.array([*each, missing], np.intp)[entries]
    return np.array([found(entry) for entry in cells_of(column)], np.intp)


def spelt_values(column: pd.Series[Any], values: tuple[Hashable, ...]) -> pd.Series[Any]:
    """The values that texts spell, where the cell ``1.0`` is the value ``1``; other cells stay texts."""
    spelt: dict[Hashable, Hashable] = {}
    for value in values:
        spelt.setdefault(_spelling(value), value)
    exact = set(values)
    meanings = {
        cell: cell if cell in exact or cell is None else spelt.get(_spelling(cell), cell)
        for cell in column.unique()
    }
    return pd.Series([meanings[cell] for cell in column], index=column.index, dtype=object)


def decoded(codes: NDArray[Any], attribute: Attribute) -> Any:
    """Values for which :func:`encoded` gives these numbers: levels, numbers or dates, NaN or NaT for missing ones."""
    if isinstance(attribute, Categorical):
        # The type comes from the public values, not from those that happen to occur.
        return pd.Index(list(attribute.levels), tupleize_cols=False).take(codes.astype(np.intp))
    numbers = np.where(attribute.missing & (codes == attribute.floor), np.nan, codes)
    return pd.to_datetime(numbers, unit="D") if attribute.is_date else numbers


def _spelling(value: Any) -> Hashable:
    """What equal values have in common however they are typed: 1, 1.0 and "1"; True, "True" and "true"."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower()
    number = spelt_number(value)
    return value if number != number else number


def _is_missing(value: object) -> bool:
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, float | complex | np.inexact | Decimal):
        return bool(value.is_nan() if isinstance(value, Decimal) else value != value)
    return isinstance(value, np.datetime64 | np.timedelta64) and bool(np.isnat(value))


def _loose(column: pd.Series[Any], attribute: Continuous) -> Floats:
    """A column as floats, with NaN for values that are no numbers, or no dates."""
    return _loose_dates(column, attribute.format) if attribute.is_date else _loose_numbers(column)


def _loose_numbers(column: pd.Series[Any]) -> Floats:
    """A column as floats, with NaN for values that are no numbers."""
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_complex_dtype(column.dtype):
        numbers: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers
    return np.array([spelt_number(value) for value in cells_of(column)], np.float64)


def spelt_number(value: Any) -> float:
    """A value as a float, NaN if it is none; ``1_0`` is a name and no number, and only plain types are looked at."""
    if isinstance(value, Complex) and not isinstance(
        value, Real
    ):  # one complex number makes its column complex
        value = value.real if value.imag == 0 else np.nan
    if isinstance(value, np.timedelta64) or not isinstance(value, str | bytes | Real | Decimal | np.bool_):
        return np.nan
    if (isinstance(value, str) and "_" in value) or (isinstance(value, bytes) and b"_" in value):
        return np.nan
    try:
        return math.nan if type(value) is Unread else float(value)
    except OverflowError:
        return math.inf if cast("int", value) > 0 else -math.inf
    except Exception:  # whatever an odd object raises
        return np.nan


def _loose_dates(column: pd.Series[Any], form: str) -> Floats:
    """A column of dates as days since 1970-01-01, with NaN for values that are no dates."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype) and not isinstance(column.dtype, pd.ArrowDtype):
        days: Floats = _since_epoch(pd.DatetimeIndex(column))
        return days
    texts: dict[str, float] = {}  # days come often, and are dear to read
    found = np.empty(len(column))
    for place, value in enumerate(cells_of(column)):
        if type(value) is not str:
            found[place] = _days(value, form)
        elif value in texts:
            found[place] = texts[value]
        else:
            found[place] = texts[value] = _days(value, form)
    return found


def _since_epoch(times: Any) -> Any:
    """Whole days since 1970-01-01 of pandas' times, each on the calendar of its own zone; NaN for missing ones."""
    days = times.tz_localize(None).to_numpy().astype("datetime64[D]")
    return np.where(np.isnat(days), np.nan, days.astype(np.int64))


def _days(value: Any, form: str) -> float:
    """A date as days since 1970-01-01, NaN if it is none; a number is none, nor is a text that is not as stated."""
    if not isinstance(value, str | date | np.datetime64):
        return np.nan
    try:
        return float(
            _since_epoch(pd.Timestamp(_read_date(value.strip(), form) if isinstance(value, str) else value))
        )
    except Exception:  # whatever an odd object raises, or a date that no calendar has
        return np.nan


def _read_date(text: str, form: str) -> date:
    """The day that a text states in a format, in ISO 8601 without one; anything else is a ValueError.

    What pandas makes of other texts is a guess: 03/02/2001 is in March, 13/02/2001 in February, and "now" is a date.
    """
    if form:
        moment = datetime.strptime(text, form)
        # Numbers with nothing between them and without their zeros, as 1112001, could be two days.
        if re.search("%[dmYjHIMSf]%[dmYjHIMSf]", form) and moment.strftime(form) != text:
            raise ValueError(text)
        return moment
    written = re.fullmatch(r"([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{8})([T ][0-9].*)?", text)
    day = None if written is None else date.fromisoformat(written[1])
    if (
        datetime.fromisoformat(text).date() != day
    ):  # 24:00 is on the next day for some Pythons, and no time for others
        raise ValueError(text)
    return day


def first_few(values: Iterable[Any]) -> tuple[object, ...]:
    """Different values in the order in which they come; one more than an error shows."""
    found: dict[str, object] = {}
    for value in values:
        found.setdefault(repr(value), value)
        if len(found) > SHOWN:
            break
    return tuple(found.values())


def distinct(column: pd.Series[Any], *, of: str) -> tuple[Hashable, ...]:
    """Sorted distinct values of a column; raises DomainError if some are missing."""
    missing: NDArray[np.bool_] = column.isna().to_numpy(dtype=np.bool_)
    if missing.any():
        raise DomainError(Misfit("missing", int(missing.sum())).text(of, total=len(column)))
    try:
        values = column.unique().tolist()
    except TypeError as error:
        odd = next((value for value in column if not isinstance(value, Hashable)), None)
        raise TypeError(
            f"{of}: argument must be a string or a number, got {odd!r}; convert them to texts"
        ) from error
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=lambda v: (type(v).__name__, str(v))))
