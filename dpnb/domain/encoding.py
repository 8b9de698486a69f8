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
from unicodedata import normalize

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
    """Numbers of a column, and the first kind of what does not fit.

    Parameters
    ----------
    bounds : whether values outside the bounds are misfits; otherwise thresholds route them like the bounds.
    """
    numbers, found = checked(column, attribute, bounds=bounds)
    return numbers, found[0] if found else None


@np.errstate(all="ignore")  # what NumPy says of a number depends on it
def checked(
    column: pd.Series[Any], attribute: Attribute, *, bounds: bool
) -> tuple[Floats, tuple[Misfit, ...]]:
    """Numbers of a column, and all that :func:`replaced` has to move; parameters are those of :func:`encoded`."""
    numbers = _read(column, attribute)
    found = []
    for kind, rows in _misfits(numbers, column, attribute).items():
        if rows.any() and (bounds or kind != "outside"):
            values = numbers[rows].tolist() if kind == "outside" else column[rows] if kind in NAMED else ()
            found.append(_misfit(kind, rows, column, values))
    if isinstance(attribute, Categorical):
        return _moved(numbers, attribute), tuple(found)
    if attribute.clip:
        numbers = np.clip(numbers, attribute.low, attribute.high)
    return np.where(np.isnan(numbers) & attribute.missing, attribute.floor, numbers), tuple(found)


@np.errstate(all="ignore")
def replaced(column: pd.Series[Any], attribute: Attribute) -> Floats:
    """Numbers of a column, with every misfit replaced by a number of the domain; never raises an error."""
    return _moved(_read(column, attribute), attribute)


@np.errstate(all="ignore")
def replaced_and_moved(column: pd.Series[Any], attribute: Attribute) -> tuple[Floats, list[Group]]:
    """The same, and which entries were replaced by what; those that an option of the domain asks for are left out."""
    numbers = _read(column, attribute)
    rows = _misfits(numbers, column, attribute)
    if isinstance(attribute, Categorical):
        groups = _moved_categories(rows, attribute)
    else:
        became = "missing" if attribute.missing else f"{attribute.shown(attribute.stand_in)}, the middle"
        groups = [Group(rows[kind], kind, became, attribute.missing) for kind in ("no number", "missing")]
        beyond = rows["infinite"] | rows["outside"]
        groups += [
            Group(beyond & (numbers < attribute.low), "outside", attribute.shown(attribute.low), True),
            Group(beyond & (numbers > attribute.high), "outside", attribute.shown(attribute.high), True),
        ]
    return _moved(numbers, attribute), [group for group in groups if group.rows.any()]


def _moved_categories(rows: dict[str, Bools], attribute: Categorical) -> list[Group]:
    groups = []
    for kind, code in (("unknown", attribute.stand_in), ("missing", attribute.missing_code)):
        has_place = attribute.missing or attribute.unknown == "other"
        level = attribute.levels[code]
        became = str(level) if has_place else f"{short(level)}, the first of its values"
        groups.append(Group(rows[kind], kind, became, has_place))
    return groups


UNKNOWN, EMPTY = -1, -2  # for codes of entries that are none of the levels
NAMED = "no number", "unknown"  # misfits that are told by their values, as they are


@np.errstate(all="ignore")
def _read(column: pd.Series[Any], attribute: Attribute) -> Floats:
    """A column as numbers as they are, with :data:`UNKNOWN` and :data:`EMPTY` among codes, and NaN among numbers."""
    if isinstance(attribute, Categorical):
        return replaced_positions(column, attribute.levels, stand_in=UNKNOWN, missing=EMPTY).astype(float)
    return _loose(column, attribute)


def _misfits(numbers: Floats, column: pd.Series[Any], attribute: Attribute) -> dict[str, Bools]:
    """Which entries do not fit, by kind, in the order in which they are told; an option may let some pass.

    The check, the moves of a fit, and what a prediction says of them all follow from this.
    """
    if isinstance(attribute, Categorical):
        return {
            "missing": (numbers == EMPTY) & (not attribute.missing),
            "unknown": (numbers == UNKNOWN) & (attribute.unknown == "error"),
        }
    nothing, infinite = np.isnan(numbers), np.isinf(numbers)
    gone = nothing & _gone(column) if nothing.any() else nothing
    outside = ((numbers < attribute.low) | (numbers > attribute.high)) & ~infinite
    return {
        "no number": nothing & ~gone,
        "missing": gone & (not attribute.missing),
        "infinite": infinite & (not attribute.clip),
        "outside": outside & (not attribute.clip),
    }


def _moved(numbers: Floats, attribute: Attribute) -> Floats:
    """The numbers inside of the domain, for those that :func:`_read` gives."""
    if isinstance(attribute, Categorical):
        known = np.where(numbers == UNKNOWN, attribute.stand_in, numbers)
        return np.where(numbers == EMPTY, attribute.missing_code, known)
    return np.where(np.isnan(numbers), attribute.stand_in, np.clip(numbers, attribute.low, attribute.high))


def _gone(column: pd.Series[Any]) -> Bools:
    """Which entries are missing."""
    with suppress(Exception):  # pandas compares some that cannot be compared
        gone: Bools = column.isna().to_numpy(np.bool_)
        return gone
    return np.array([_is_missing(cell) for cell in cells_of(column)], np.bool_)


class Group(NamedTuple):
    """Entries of a column that were replaced by one value."""

    rows: Bools  # (n,) which entries
    kind: str  # what is wrong with them, as for a :class:`~dpnb.domain.misfits.Misfit`
    became: str  # what they count as, in words
    # Whether the domain has a place for them, a bound, "missing" or "other"; the first value and the middle
    # are none.
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


def _misfit(kind: str, where: Bools, column: pd.Series[Any], values: Iterable[Any] = ()) -> Misfit:
    """What does not fit, and the lines of the file, if the column comes from one."""
    lines = column.index[where][: SHOWN + 1].tolist() if column.index.name == LINE else ()
    return Misfit(kind, int(where.sum()), first_few(values), tuple(lines))


@np.errstate(all="ignore")
def replaced_positions(
    column: pd.Series[Any], values: tuple[Hashable, ...], *, stand_in: int, missing: int
) -> Ints:
    """Position of each entry among the values; an entry that is not listed has the position of ``stand_in``."""
    read = _reader(values)

    def position(entry: Any) -> int:
        found = read(entry)
        return stand_in if found is None else found

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
    places = replaced_positions(column, values, stand_in=-1, missing=-1)
    cells = [values[p] if p >= 0 else cell for p, cell in zip(places, cells_of(column), strict=True)]
    return pd.Series(objects(cells), index=column.index, dtype=object)


def _reader(values: tuple[Hashable, ...]) -> Callable[[Any], int | None]:
    """The rule by which an entry is one of the values: it says which, None if it is none.

    An entry that is itself listed is that value; another one is the value that is spelt alike, so that neither a file
    nor a type that pandas takes for a column makes a difference. True is 1, unless both are listed, each as a text.
    """
    exact = {value: code for code, value in enumerate(values)}
    spelt: dict[Hashable, int] = {}
    for code, value in enumerate(values):
        spelt.setdefault(_spelling(value), code)
    for word, number in (("true", 1.0), ("false", 0.0)):
        for one, other in ((word, number), (number, word)):
            if one in spelt:
                spelt.setdefault(other, spelt[one])

    def read(entry: Any) -> int | None:
        found = exact.get(entry)
        return spelt.get(_spelling(entry)) if found is None else found

    return read


def decoded(codes: NDArray[Any], attribute: Attribute) -> Any:
    """Values for which :func:`encoded` gives these numbers: levels, numbers or dates, NaN or NaT for missing ones."""
    if isinstance(attribute, Categorical):
        # The type comes from the public values, not from those that happen to occur.
        return pd.Index(list(attribute.levels), tupleize_cols=False).take(codes.astype(np.intp))
    numbers = np.where(attribute.missing & (codes == attribute.floor), np.nan, codes)
    return pd.to_datetime(numbers, unit="D") if attribute.is_date else numbers


def _spelling(value: Any) -> Hashable:
    """What equal values have in common however they are typed: 1, 1.0 and "1"; True, "True" and "true"; b"é" and "é".

    A letter with its accent may be one sign of Unicode or two, which look alike.
    """
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower()
    number = spelt_number(value)
    if number == number:
        return number
    return normalize("NFC", value) if isinstance(value, str) else cast("Hashable", value)


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
    if not isinstance(value, str | bytes | date | np.datetime64):
        return np.nan
    try:
        text = value.decode() if isinstance(value, bytes) else value
        day = _read_date(text.strip(), form) if isinstance(text, str) else text
        return float(_since_epoch(pd.Timestamp(day)))
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
        found.setdefault(short(value, limit=1000), value)
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
