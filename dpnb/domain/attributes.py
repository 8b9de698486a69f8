"""Attributes of a public domain, with bounds or values, and what happens to records outside these."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..errors import DomainError

UNFILLED = "FILL IN"  # stands in the draft of a domain file
EPOCH = date(1970, 1, 1)  # day 0, as NumPy and pandas count
SHOWN = 3  # number of values that an error names
LARGEST = 1e300  # largest bound, so that sums of values and multiples of the width stay finite too


@dataclass(frozen=True)
class Continuous:
    """A numeric attribute, or a date, with public bounds.

    Parameters
    ----------
    name : column name, not empty.
    low, high : public bounds, both included; at most 1e300 in size, ``low < high``. Two dates, or texts such as
        ``"2001-12-31"``, make an attribute of dates, whose numbers are days since 1970-01-01. Only the calendar day
        counts, as the value states it: its hours and its time zone do not, so that the last day has all its hours. Give
        an hour that matters a column of its own.
    missing : whether a record may have no value. A missing value is a number of its own below ``low``, and a model can
        ask whether the value is missing.
    clip : whether values outside the bounds count as the nearest bound, rather than as an error.
    unit : unit of the numbers, for labels; ``"date"`` for dates.
    format : how texts of dates are written, in the codes of Python's ``strptime``, such as ``"%d/%m/%Y"``. Without a
        format they must be ISO 8601, such as ``2001-12-31`` or ``2001-12-31T10:00+02:00``. No other text is taken for a
        date.

    Raises
    ------
    DomainError If the name is empty, the bounds are not two finite numbers, or two dates, in increasing order, or the
        format does not determine a day.
    """

    name: str
    low: float
    high: float
    missing: bool = field(default=False, kw_only=True)
    clip: bool = field(default=False, kw_only=True)
    unit: str = field(default="", kw_only=True)
    format: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name)
        for option in ("missing", "clip"):
            _check_switch(self.name, option, getattr(self, option))
        if not isinstance(self.unit, str):
            raise DomainError(f"unit of {self.name!r} must be a text, got {self.unit!r}; write unit: years")
        dates = [_as_date(bound) for bound in (self.low, self.high)]
        if all(day is not None for day in dates):
            low, high = (float((day - EPOCH).days) for day in dates if day is not None)
            object.__setattr__(self, "unit", "date")
        else:
            low, high = self._bounds()
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        self._check_bounds()
        if self.format != "":
            self._check_format()

    def _bounds(self) -> tuple[float, float]:
        given = self.low, self.high
        try:
            low, high = float(self.low), float(self.high)
            # A switch is no number, nor is 1_0, which Python reads as ten.
            if any(isinstance(bound, bool | np.bool_) or "_" in str(bound) for bound in given):
                raise ValueError
            return low, high
        except OverflowError as error:
            raise DomainError(
                f"bounds of {self.name!r} must be at most {LARGEST:g} in size, one has hundreds of digits; state others"
            ) from error
        except (TypeError, ValueError) as error:
            raise DomainError(
                f"bounds of {self.name!r} must be two numbers or two dates, got low={given[0]!r}, high={given[1]!r}; "
                "write numbers as 2500.5 and dates as 2001-12-31"
            ) from error

    def _check_bounds(self) -> None:
        if not all(abs(bound) <= LARGEST for bound in (self.low, self.high)):
            raise DomainError(
                f"bounds of {self.name!r} must be finite, at most {LARGEST:g} in size, got low={self.low}, "
                f"high={self.high}; state bounds that are wide enough, with clip: true for what lies beyond"
            )
        first, last = ((day - EPOCH).days for day in (date.min, date.max))
        if self.is_date and not all(first <= bound <= last for bound in (self.low, self.high)):
            raise DomainError(
                f"unit of {self.name!r} is 'date', got low={self.low}, high={self.high}, which are no days; write "
                "bounds as [2001-01-01, 2026-12-31]"
            )
        if not self.low < self.high:
            bounds = f"low={self.shown(self.low)}, high={self.shown(self.high)}"
            way_out = "swap them" if self.low > self.high else "an attribute of one value can be left out"
            raise DomainError(f"bounds of {self.name!r} must be low < high, got {bounds}; {way_out}")

    def _check_format(self) -> None:
        """Raise DomainError unless a day that is written in the format can only be read as that day."""
        what = f"format of {self.name!r}, {self.format!r},"
        if not self.is_date:
            raise DomainError(f"{what} is for dates: write the bounds as [2001-01-01, 2026-12-31]")
        probe, read = datetime(1912, 11, 30, 15, 7, 9, tzinfo=UTC), None  # no two of its numbers are alike
        with suppress(TypeError, ValueError, re.error):
            # neither names of zones nor years without their century
            if re.fullmatch(r"([^%]|%[YmdjbBHMSfzIp%])+", self.format):
                read = datetime.strptime(probe.strftime(self.format), self.format)
        if read is None or read.date() != probe.date() or read.hour not in (0, probe.hour):
            raise DomainError(
                f'{what} must tell day, month and a year of four digits, as "%d/%m/%Y" does; an hour may follow, as '
                '"%d/%m/%Y %H:%M"'
            )

    @property
    def is_date(self) -> bool:
        """Whether the numbers are days since 1970-01-01."""
        return self.unit == "date"

    @property
    def floor(self) -> float:
        """Lower end of the encoded numbers; where a value may be missing, it is below ``low`` and stands for that."""
        share = 1 / 16  # part of the whole measure for the missing value, as much as for one of 16 bins
        return self.low - self.missing * (self.high - self.low) * share / (1 - share)

    @property
    def stand_in(self) -> float:
        """The number for a value that is missing or no number, where a model must not stop at it."""
        return self.floor if self.missing else self.low + (self.high - self.low) / 2

    def shown(self, number: float) -> str:
        """An encoded number in the words of the attribute."""
        if self.is_date:
            return (EPOCH + timedelta(days=math.floor(number))).isoformat()
        whole = float(number).is_integer() and abs(number) < 1e15
        return (f"{number:.0f}" if whole else f"{number:.6g}") + (f" {self.unit}" if self.unit else "")

    @property
    def span(self) -> str:
        """The bounds in the words of the attribute."""
        if self.is_date or not self.unit:
            return f"{self.shown(self.low)} to {self.shown(self.high)}"
        return f"{self.shown(self.low).removesuffix(self.unit).strip()} to {self.shown(self.high)}"

    def test(self, cut: float, *, holds: bool) -> str:
        """The condition ``value ≤ cut``, or its negation, in words."""
        if cut < self.low:
            return f"{self.name} is missing" if holds else f"{self.name} is given"
        below = f"{self.name} {'≤' if holds else '>'} {self.shown(cut)}"
        return f"{below} or missing" if holds and self.missing else below


@dataclass(frozen=True)
class Categorical:
    """An attribute with a public list of values.

    Parameters
    ----------
    name : column name, not empty.
    values : all values that a record may take, each once; at least one. Their order gives their codes.
    missing : whether a record may have no value, which adds a level ``"missing"``.
    unknown : ``"error"`` if values that are not listed are errors, or ``"other"`` if they add a level ``"other"``.
        Where no error may stop a model, as in a fit or a prediction, they count as missing if that is a level, and as
        the first value if it is not.

    Raises
    ------
    DomainError If the name is empty, if there are no values, or if values are repeated, missing (None or NaN) or
        unhashable.
    """

    name: str
    values: tuple[Hashable, ...]
    missing: bool = field(default=False, kw_only=True)
    unknown: Literal["error", "other"] = field(default="error", kw_only=True)

    def __post_init__(self) -> None:
        check_name(self.name)
        object.__setattr__(self, "values", check_values(self.values, of=f"values of {self.name!r}"))
        _check_switch(self.name, "missing", self.missing)
        if self.unknown not in ("error", "other"):
            raise DomainError(
                f"unknown of {self.name!r} must be 'error' or 'other', got {self.unknown!r}; write unknown: other for "
                "one level more, or leave it out"
            )

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """Values, then the levels ``"other"`` and ``"missing"`` that the options add; their order gives the codes."""
        added = ["other"] * (self.unknown == "other") + ["missing"] * self.missing
        return (*self.values, *(level for level in added if level not in self.values))

    @property
    def stand_in(self) -> int:
        """Code of a value that is not listed, where a model must not stop at it."""
        if self.unknown == "other":
            return self.levels.index("other")
        return self.levels.index("missing") if self.missing else 0

    @property
    def missing_code(self) -> int:
        """Code of a missing value, where a model must not stop at it."""
        return self.levels.index("missing") if self.missing else self.stand_in


Attribute = Continuous | Categorical


def _as_date(value: Any) -> date | None:
    value = pd.Timestamp(value) if isinstance(value, np.datetime64) else value
    if isinstance(value, datetime):
        return value.date() if value == value else None  # as a missing date is not
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _check_switch(name: str, option: str, value: object) -> None:
    if not isinstance(value, bool):
        raise DomainError(f"{option} of {name!r} must be true or false, got {value!r}; write {option}: true")


def check_name(name: object) -> None:
    """Raise DomainError unless a name is a text that is not empty."""
    if not isinstance(name, str) or not name:
        raise DomainError(
            f"a name must be a non-empty str, got {name!r}; write a text, in quotes if it is a number"
        )
    _check_letters(name)


def _check_letters(value: object) -> None:
    """Raise DomainError for half a surrogate pair in a text: no file in UTF-8 can hold it."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise DomainError(f"{value!a} holds half a letter, {error.reason}; write it whole") from error


def check_values(values: object, *, of: str) -> tuple[Hashable, ...]:
    """Public values as a tuple; raises DomainError if there are none, or some are repeated, missing or unhashable."""
    # A str is iterable too, but ("yes") with its comma forgotten is hardly meant as y, e, s. A set has no order.
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise DomainError(f"{of} must be a list such as [a, b, c], got {values!r}; list all that can occur")
    checked = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
    if not checked:
        raise DomainError(f"{of} must not be empty, got {values!r}; list all that can occur")
    for value in checked:
        if not isinstance(value, Hashable):
            raise DomainError(f"{of} must be hashable, got {value!r}; list plain texts or numbers")
        if value is None or value is pd.NA or value is pd.NaT or value != value:
            raise DomainError(
                f"{of} must not hold the missing value {value!r}; give it a name such as 'missing'"
            )
        _check_letters(value)
        if not _is_finite(value):
            raise DomainError(f"{of} must be finite, got a number that no file can hold; write it as a text")
    if repeats := repeated(checked):
        why = "" if all(isinstance(v, str) for v in repeats) else " (1, 1.0 and True are one value)"
        raise DomainError(f"{of} must be unique, repeated: {listed(repeats)}{why}; list each once")
    numbers = [v for v in checked if isinstance(v, int | float) and abs(v) >= 2**53]
    if len({*map(float, numbers)}) < len(numbers):
        # One missing value makes floats of a column of whole numbers.
        raise DomainError(f"{of} differ by less than floats can tell; write them as texts: {listed(numbers)}")
    return checked


def _is_finite(value: object) -> bool:
    try:
        return not isinstance(value, int | float) or math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def repeated(values: Iterable[Hashable]) -> list[Hashable]:
    """Values that came before."""
    seen: set[Hashable] = set()
    return [v for v in values if v in seen or seen.add(v)]  # type: ignore[func-returns-value]


def short(value: object, *, limit: int = 80) -> str:
    """A value as a message shows it: cut where it is long, and the name of its type where it cannot be shown."""
    try:
        text = repr(value)
    except Exception:  # whatever an odd object raises
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def listed(values: Iterable[Any], *, limit: int = SHOWN) -> str:
    """Show the first few values."""
    some = [*islice(values, limit + 1)]
    return ", ".join(map(short, some[:limit])) + (", ..." if len(some) > limit else "")
