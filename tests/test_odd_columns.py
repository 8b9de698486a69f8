"""Columns of odd types: a fit moves exactly the records that the check names, and takes all others as they are."""

from __future__ import annotations

import re
import warnings
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpnb import Categorical, Continuous, Domain
from dpnb.domain import domain as domain_module
from dpnb.domain import encoding
from dpnb.domain.misfits import Misfit
from dpnb.domain.moves import Moves
from dpnb.errors import DomainError

NUMBER = Continuous("x", 0, 10)
LOOSE = Continuous("x", 0, 10, missing=True, clip=True)
WORD = Categorical("x", ("a", "b", "é", "1"))
OTHER = Categorical("x", ("a", "b"), missing=True, unknown="other")
SWITCH = Categorical("x", (True, False))
CODE = Categorical("x", (0, 1, 2))
TRUTHS = Categorical("x", ("true", "false", "1"))
EMPTY = Categorical("x", ("", "a"))
DAY = Continuous("x", "2020-01-01", "2020-12-31")
GONE = LOOSE.floor
NAN = float("nan")


def objects(*values: Any) -> pd.Series[Any]:
    column = pd.Series([None] * len(values), dtype=object)
    for place, value in enumerate(values):
        column.iat[place] = value
    return column


def arrow(values: list[Any], kind: Any) -> pd.Series[Any]:
    return pd.Series(values, dtype=pd.ArrowDtype(kind))


DECIMALS = objects(Decimal("1.5"), Decimal("NaN"), Decimal("11"), Decimal("sNaN"))
# A column, an attribute, and the number of each record; None where the record does not fit.
COLUMNS: dict[str, tuple[Any, Any, list[float | None]]] = {
    "durations": (pd.Series(pd.to_timedelta([1, 2], unit="D")), NUMBER, [None, None]),
    "durations that may be missing": (pd.Series(pd.to_timedelta([1, None], unit="D")), LOOSE, [None, GONE]),
    "durations of all kinds": (objects(timedelta(1), np.timedelta64(3, "D"), 4), NUMBER, [None, None, 4]),
    "durations of Arrow": (arrow([timedelta(1), None], pa.duration("us")), OTHER, [2, 3]),
    "decimals": (DECIMALS, NUMBER, [1.5, None, None, None]),
    "decimals, loose": (DECIMALS, LOOSE, [1.5, GONE, 10, GONE]),
    "decimals as codes": (objects(Decimal(1), Decimal("1.5")), CODE, [1, None]),
    "decimals of Arrow": (arrow([Decimal("1.5"), None, Decimal("12")], pa.decimal128(5, 2)), LOOSE, [1.5, GONE, 10]),
    "fractions": (objects(Fraction(1, 2), Fraction(21, 2)), NUMBER, [0.5, None]),
    "complex numbers": (pd.Series([1 + 0j, 2 + 1j, complex(NAN)]), NUMBER, [1, None, None]),
    "complex numbers as objects": (objects(1 + 0j, 2 + 1j), LOOSE, [1, None]),
    "complex codes": (pd.Series([1 + 0j, 2 + 1j]), CODE, [1, None]),
    "huge numbers": (objects(10**400, -(10**5000), 5), NUMBER, [None, None, 5]),
    "huge numbers, clipped": (objects(10**400, -(10**400), 5), LOOSE, [10, 0, 5]),
    "huge categories": (objects(10**400, 10**5000, "a"), WORD, [None, None, 0]),
    "more than 63 bits": (pd.Series([2**64 - 1, 5]), NUMBER, [None, 5]),
    "levels that no record has": (pd.Series(pd.Categorical(["a", None], categories=["zz", "b", "a"])), WORD, [0, None]),
    "numbers as levels": (pd.Series(pd.Categorical([1, None, 9], categories=[9, 1, 0])), CODE, [1, None, None]),
    "numbers as ordered levels": (pd.Series(pd.Categorical([1, 9], ordered=True)), NUMBER, [1, 9]),
    "lists and dicts": (objects([1], {"a": 1}, (1, 2), {3}, "a"), WORD, [None] * 4 + [0]),
    "lists and dicts for numbers": (objects([1], {"a": 1}, (1, 2), 3), NUMBER, [None] * 3 + [3]),
    "lists of Arrow": (arrow([[1], None], pa.list_(pa.int64())), OTHER, [2, 3]),
    "all that is missing": (objects(None, pd.NA, pd.NaT, NAN, np.datetime64("NaT"), 1.0), LOOSE, [GONE] * 5 + [1]),
    "all that is missing and may not": (objects(None, pd.NA, pd.NaT, NAN, "a"), WORD, [None] * 4 + [0]),
    "missing and outside": (pd.Series([NAN, 11, np.inf, 5]), NUMBER, [None, None, None, 5]),
    "missing and unknown": (objects(None, "zz", "a"), WORD, [None, None, 0]),
    "empty texts and spaces": (pd.Series(["", " ", "\t", "a"]), OTHER, [2, 2, 2, 0]),
    "empty texts that are listed": (pd.Series(["", " ", "a"]), EMPTY, [0, None, 1]),
    "empty texts for numbers": (pd.Series(["", " ", "1"]), LOOSE, [None, None, 1]),
    "words for nothing": (pd.Series(["nan", "NA", "None", "1"]), LOOSE, [None, None, None, 1]),
    "zeros with a sign": (pd.Series([-0.0, 0.0]), CODE, [0, 0]),
    "tiny numbers": (pd.Series([-0.0, 5e-324, -5e-324, 1e-310]), NUMBER, [0, 5e-324, None, 1e-310]),
    "bytes": (objects(b"a", b"\xc3\xa9", b"1", b"\xe9", "a"), WORD, [0, 2, 3, None, 0]),
    "bytes of NumPy": (pd.Series(np.array([b"a", b"zz"], "S2").astype(object)), WORD, [0, None]),
    "bytes of Arrow": (arrow([b"a", None], pa.binary()), OTHER, [0, 3]),
    "bytes for numbers": (objects(b"1.5", b"11", b"x"), NUMBER, [1.5, None, None]),
    "bytes for dates": (objects(b"2020-01-02", b"x", b"\xff"), DAY, [18263, None, None]),
    "one in all types": (objects(1, "1", True, 1.0, "1.0"), CODE, [1] * 5),
    "one as a text in all types": (objects(1, "1", True, 1.0, "true"), WORD, [3] * 5),
    "true and one are two texts": (objects(True, "TRUE", 1, "1.0", False, 0), TRUTHS, [0, 0, 2, 2, 1, 1]),
    "0 and 1 for switches": (pd.Series([0, 1, 2]), SWITCH, [1, 0, None]),
    "0.0 and 1.0 for switches": (pd.Series([0.0, 1.0, NAN]), SWITCH, [1, 0, None]),
    "words for switches": (pd.Series(["0", "1.0", "true", "FALSE", "yes"]), SWITCH, [1, 0, 0, 1, None]),
    "switches for codes": (pd.Series([True, False]), CODE, [1, 0]),
    "switches as words for codes": (pd.Series(["True", "false"]), CODE, [1, 0]),
    "switches for numbers": (pd.Series([True, False]), NUMBER, [1, 0]),
    "switches that may be missing": (pd.Series([True, None], dtype="boolean"), SWITCH, [0, None]),
    "whole numbers that may be missing": (pd.Series([1, None, 12], dtype="Int64"), NUMBER, [1, None, None]),
    "Arrow's switches": (arrow([True, None], pa.bool_()), CODE, [1, None]),
    "Arrow's texts": (pd.Series(["a", None], dtype="string[pyarrow]"), OTHER, [0, 3]),
    "texts of NumPy": (objects(np.str_("a"), np.str_("zz")), WORD, [0, None]),
    "numbers of NumPy": (objects(np.int64(1), np.uint8(2), np.float32(11)), NUMBER, [1, 2, None]),
    "half precision": (pd.Series(np.array([1, NAN, 11], np.float16)), OTHER, [2, 3, 2]),
    "long precision": (pd.Series(np.array([1, NAN, 11], np.longdouble)), NUMBER, [1, None, None]),
    "sparse": (pd.Series(pd.arrays.SparseArray([0, 0, 11])), NUMBER, [0, 0, None]),
    "sparse with gaps": (pd.Series(pd.arrays.SparseArray([NAN, 1.0, 11.0])), LOOSE, [GONE, 1, 10]),
    "sparse switches": (pd.Series(pd.arrays.SparseArray([True, False])), SWITCH, [0, 1]),
    "sparse codes": (pd.Series(pd.arrays.SparseArray([0, 2, 7])), CODE, [0, 2, None]),
    "periods": (pd.Series(pd.period_range("2020-01-01", periods=2)), DAY, [None, None]),
    "periods as categories": (pd.Series(pd.PeriodIndex(["2020-01", None], freq="M")), OTHER, [2, 3]),
    "intervals": (pd.Series(pd.interval_range(0, 2)), NUMBER, [None, None]),
    "times of day": (objects(time(1), time(2)), DAY, [None, None]),
    "dates for numbers": (objects(date(2020, 1, 2), 5), NUMBER, [None, 5]),
    "numbers for dates": (pd.Series([18263, 0]), DAY, [None, None]),
    "dates beyond": (pd.Series(pd.to_datetime(["2020-01-02", "2021-01-01", None])), DAY, [18263, None, None]),
    "identifiers": (objects(UUID(int=1), "a"), WORD, [None, 0]),
    "half letters": (objects("\ud800", "a"), WORD, [None, 0]),
    "letters of two signs": (pd.Series(["é", "e\u0301", "e"]), WORD, [2, 2, None]),
    "numbers as texts": (pd.Series(["1", " 3 ", "1e1", "1_0", "0x1", "11"]), NUMBER, [1, 3, 10, None, None, None]),
    "an ellipsis": (objects(..., "a"), WORD, [None, 0]),
}  # fmt: skip


def named(domain: Domain, X: pd.DataFrame, y: Any = None) -> int:
    """How many records the check says do not fit."""
    try:
        domain.check(X, y)
    except DomainError as error:
        return sum(map(int, re.findall(r"(\d+) of \d+ records", str(error))))
    return 0


def alone(domain: Domain, column: Any) -> list[float | None]:
    """What each record is, if it is the only one; None where it is refused."""
    found: list[float | None] = []
    for place in range(len(column)):
        try:
            found.append(domain.encode(pd.DataFrame({"x": column.iloc[[place]]})).item())
        except DomainError:
            found.append(None)
    return found


def expected(attribute: Any, column: Any, codes: list[float | None]) -> list[float]:
    """What a fit learns from: stand-ins where a record does not fit, and the nearest bound of a number."""
    numbers = (
        encoding._loose(column, attribute) if isinstance(attribute, Continuous) else np.full(len(column), NAN)
    )
    moved = []
    for code, number, cell in zip(codes, numbers, encoding.cells_of(column), strict=True):
        nothing = attribute.stand_in if isinstance(attribute, Continuous) else attribute.missing_code
        stand_in = nothing if encoding._is_missing(cell) else attribute.stand_in
        clipped = stand_in if np.isnan(number) else float(np.clip(number, attribute.low, attribute.high))
        moved.append(clipped if code is None else code)
    return moved


def compared(name: str) -> None:
    column, attribute, codes = COLUMNS[name]
    domain = Domain((attribute,), ("no", "yes"))
    X = pd.DataFrame({"x": column})
    assert alone(domain, column) == codes
    assert named(domain, X) == codes.count(None)
    _, moves = domain.replaced_and_moves(X)
    assert sum(sum(move.counts.values()) for move in moves) == codes.count(None)
    assert domain.replaced(X).ravel().tolist() == expected(attribute, column, codes)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_fit_moves_exactly_what_the_check_names(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compared(name)


@pytest.mark.parametrize(
    "name", [name for name, (_, attribute, _) in COLUMNS.items() if isinstance(attribute, Categorical)]
)
def test_labels_are_read_by_the_same_rule(name: str) -> None:
    column, attribute, codes = COLUMNS[name]
    if attribute is OTHER:
        return
    domain = Domain((NUMBER,), attribute.values)
    X = pd.DataFrame({"x": np.ones(len(column))})
    assert domain.replaced_labels(column).tolist() == [0 if code is None else code for code in codes]
    assert named(domain, X, column) == codes.count(None)


@pytest.mark.parametrize(
    "name", ["one as a text in all types", "0 and 1 for switches", "bytes", "letters of two signs"]
)
def test_a_check_by_another_rule_than_the_fit_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: the check compares as pandas does, the fit by what is spelt."""

    def as_pandas_does(column: Any, attribute: Any, *, bounds: bool) -> Any:
        places = pd.Index(list(attribute.levels)).get_indexer(pd.Index(column))
        unknown = int((places < 0).sum())
        return places.astype(float), (Misfit("unknown", unknown),) if unknown else ()

    monkeypatch.setattr(domain_module, "checked", as_pandas_does)
    with pytest.raises(AssertionError):
        compared(name)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_fit_puts_no_value_of_a_record_into_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of values take time and may raise errors, both by what records hold; only a prediction says them."""

    def speak(*_: Any) -> None:
        raise AssertionError("words of a value")

    monkeypatch.setattr(Moves, "add", speak)
    column, attribute, _ = COLUMNS[name]
    domain, X = Domain((attribute,), ("no", "yes")), pd.DataFrame({"x": column})
    domain.replaced(X)
    with pytest.raises(AssertionError, match="words of a value"):  # broken twin: what a prediction asks for
        domain.replaced_and_moves(X)
