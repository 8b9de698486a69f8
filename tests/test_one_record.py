"""One record decides nothing in the open: fits on neighbours raise, warn and name classes and columns alike.

A case is a domain, a model, a few records, and one more with a hostile cell, label or index label. Both tables are put
together as people do it, so that the record may change the type of a whole column. What differs must be on the list of
the page on limitations. ``python tests/test_one_record.py 20000`` fits that many pairs; the tests fit fewer.
"""

# ruff: noqa: E501 - hostile values in few lines

from __future__ import annotations

import faulthandler
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpnb import Categorical, Continuous, Domain
from dpnb.domain import domain, encoding
from dpnb.errors import FewRecordsWarning
from dpnb.estimators import base as estimators
from dpnb.records import memory as counts
from private_trees.lineage.trees import DiffPID3
from registered import ENTRIES
from test_fuzz import ODD, parameters

PAIRS = 300  # of the tests
LISTED = (  # what one record may change, as the page on limitations lists it
    "Labels that are missing or left over",
    "Lists of rows",
    "`max_records`",
    "Arrays of labels",
    "Tools that number the classes",  # not drawn here: tests/test_scikit.py has it
)


def touched(*_: Any) -> Any:
    raise RuntimeError("do not touch")


TOUCHED = ("repr", "str", "hash", "bool", "float", "int", "len", "iter", "eq", "lt", "array", "getattr")
Raises = type("Raises", (), {f"__{name}__": touched for name in TOUCHED})


class Half(str):
    """A text that looks like half a surrogate."""

    def __repr__(self) -> str:
        return "\ud800"


class Whole(float):
    def is_integer(self) -> bool:
        raise RuntimeError("who knows")


def nested(depth: int = 3000) -> tuple[Any, ...]:
    made: tuple[Any, ...] = ()
    for _ in range(depth):
        made = (made,)
    return made


NESTED = nested()
# fmt: off
HOSTILE: tuple[Any, ...] = (
    *ODD, "\ud800", "a\udfff", 10**5000, -(10**5000), (10**5000,), ("\ud800", 1), Raises(), Half("a"), Whole(1), NESTED, 2**63,
    -(2**63), 2**64, b"\xff", bytearray(b"x"), np.longdouble("1e4000"), np.float16(1), np.complex128("nan"), np.bool_(True), False,
    np.str_("no"), np.timedelta64(1, "s"), np.datetime64("2020-01-01", "D"), np.datetime64("2020-01-01T01", "h"), np.int8(1),
    np.datetime64("2020-01-01T01", "as"), np.datetime64(10**17, "s"), np.datetime64("1000000-01-01"), time(1), date(1, 1, 1),
    datetime.max, datetime.min, pd.Timestamp("2020-02-02", tz="Asia/Shanghai"), pd.Timestamp.max, pd.Timedelta(1), pd.Timedelta.max,
    pd.Interval(0, 1), pd.Period("2020"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e400"), Fraction(1, 3), Fraction(10**400),
    range(3), len, int, {1, 2}, frozenset((1,)), Exception("x"), np.array([1, 2]), np.array(1.5), np.array([]), pd.Series([1]),
    pd.DataFrame({"a": [1]}), memoryview(b"x"), ..., NotImplemented, slice(1), "0", "1", "no", "yes", " no", "NO", "nan", "NaN", "None",
    "1e999", "٣", "１", "\0", "9" * 5000, "0x10", "1,5", "NaT", "2020-13-45", "0000-00-00", "true", "中", 0.0, -0.0, 1.0, 0.5, 1e-320, 5,
    0, 1, 2, -1, [], [[1]], ("no",), ["no"], (0, 1), {"no": 1},
)
# fmt: on


def objects(values: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), object)
    for place, value in enumerate(values):
        array[place] = value
    return array


def _series(values: list[Any]) -> pd.Series[Any]:
    return pd.Series(values if values else objects(values))


def _plain(values: list[Any]) -> pd.Series[Any]:
    return pd.Series(objects(values), dtype=object)


def _typed(values: list[Any]) -> pd.Series[Any]:
    return _series(values).convert_dtypes()


def _arrow(values: list[Any]) -> pd.Series[Any]:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values)))


def _category(values: list[Any]) -> pd.Series[Any]:
    return _series(values).astype("category")


def _sparse(values: list[Any]) -> pd.Series[Any]:
    return pd.Series(pd.arrays.SparseArray(values))


COLUMNS = (_series, _plain, _typed, _arrow, _category, _sparse)
Maker = Callable[[list[Any]], Any]


def _polars(values: list[Any]) -> Any:
    if any(value is NESTED for value in values):
        raise RecursionError("polars would look into it for hours")
    return pl.Series(values, strict=False)


LABELS: tuple[Maker, ...] = (*COLUMNS, list, tuple, np.array, objects, pd.Index, _polars, pa.array)


def _levels(values: list[Any]) -> pd.Index:
    return pd.MultiIndex.from_tuples([(value, 1) for value in values])


INDEXES: tuple[Maker, ...] = (
    pd.Index,
    partial(pd.Index, dtype=object),
    lambda values: pd.Index(_typed(values)),
    lambda values: pd.Index(_arrow(values)),
    pd.CategoricalIndex,
    _levels,
)


def _frame(rows: list[list[Any]], names: tuple[str, ...], *, kind: Maker) -> pd.DataFrame:
    columns = zip(names, columns_of(rows, len(names)), strict=True)
    return pd.DataFrame({name: made(kind, values, instead=_plain) for name, values in columns})


def columns_of(rows: list[list[Any]], n_columns: int) -> list[list[Any]]:
    return [[row[place] for row in rows] for place in range(n_columns)]


def _polars_frame(rows: list[list[Any]], names: tuple[str, ...]) -> Any:
    columns = zip(names, columns_of(rows, len(names)), strict=True)
    return pl.DataFrame({name: _polars(values) for name, values in columns})


def _arrow_table(rows: list[list[Any]], names: tuple[str, ...]) -> Any:
    return pa.table(dict(zip(names, map(pa.array, columns_of(rows, len(names))), strict=True)))


def _array(rows: list[list[Any]], names: tuple[str, ...]) -> Any:
    return np.array(rows).reshape(len(rows), len(names))


def _object_array(rows: list[list[Any]], names: tuple[str, ...]) -> Any:
    return objects([value for row in rows for value in row]).reshape(len(rows), len(names))


def _rows(rows: list[list[Any]], names: tuple[str, ...]) -> Any:
    return rows


FOREIGN = (_polars_frame, _arrow_table)
TABLES = (*FOREIGN, _array, _object_array, _rows)


def made(kind: Callable[..., Any], *arguments: Any, instead: Callable[..., Any]) -> Any:
    """What a tool makes of values; what stands in for it if it cannot: its errors are none of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return kind(*arguments)
        except (Exception, pl.exceptions.PanicException):
            return instead(*arguments)


@dataclass(frozen=True)
class Given:
    """What a fit is given."""

    model: Any
    # rows, labels, index: as they are.
    rows: list[Any]
    labels: list[Any]
    index: list[Any]
    # How a table is made of the rows: by columns with an index, or by one of `TABLES`.
    table: Callable[..., Any]
    label: Maker  # how the labels are put together
    keys: Maker  # how the index is put together

    def records(self) -> tuple[Any, Any]:
        names = self.model.domain.names
        y = made(self.label, self.labels, instead=_plain)
        if self.table in TABLES:
            other = partial(_frame, kind=_plain) if self.table in FOREIGN else _object_array
            return made(self.table, self.rows, names, instead=other), y
        index = made(self.keys, self.index, instead=lambda labels: pd.Index(objects(labels), dtype=object))
        return _frame(self.rows, names, kind=self.table).set_axis(index, axis=0), y

    def outcome(self) -> tuple[Any, ...]:
        """What whoever looks sees of a fit: error, warnings, and what a model says of classes and columns."""
        X, y = self.records()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            seen: tuple[Any, ...]
            try:
                model = self.model.fit(X, y)
                names = getattr(model, "feature_names_in_", np.empty(0)).tolist()
                classes = getattr(model, "classes_", np.empty(0))
                seen = (classes.tolist(), str(classes.dtype), model.n_features_in_, names, model.domain_)
            except Exception as error:
                seen = (type(error).__name__, str(error))
        said = {(w.category.__name__, str(w.message)) for w in told if w.category is not FewRecordsWarning}
        return *seen, frozenset(said)

    def __str__(self) -> str:
        kinds = [
            kind.__name__ if hasattr(kind, "__name__") else str(kind)
            for kind in (self.table, self.label, self.keys)
        ]
        return f"{type(self.model).__name__} on {len(self.rows)} records, {kinds}"


KINDS = ("cell", "label", "index", "all", "row", "no label")


def pair(rng: np.random.Generator) -> tuple[Given, Given, str]:
    """A case, its neighbour with one more record that is hostile, and what is hostile about it."""
    entry = list(ENTRIES.values())[rng.integers(len(ENTRIES))]
    public, n, what = (
        entry.domain(_domain(rng, entry.estimator)),
        int(rng.choice([0, 1, 2, 3, 7, 20])),
        str(rng.choice(KINDS)),
    )
    records = [([_value(rng, a) for a in public.attributes], _label(rng, public)) for _ in range(n + 1)]
    rows, labels = [row for row, _ in records], [label for _, label in records]
    if rng.random() < 0.3 and public.classes:
        labels = [public.classes.index(label) for label in labels]
    index: list[Any] = [i if rng.random() < 0.9 else 0 for i in range(n + 1)]
    if rng.random() < 0.5:
        index = [f"r{i}" for i in index]
    at, hostile = int(rng.integers(n + 1)), HOSTILE[rng.integers(len(HOSTILE))]
    rest = Given(
        model=_model(rng, entry, public),
        rows=_without(rows, at),
        labels=_without(labels, at),
        index=_without(index, at),
        table=COLUMNS[rng.integers(len(COLUMNS))]
        if rng.random() < 0.7
        else TABLES[rng.integers(len(TABLES))],
        label=LABELS[rng.integers(len(LABELS))],
        keys=INDEXES[rng.integers(len(INDEXES))],
    )
    if what in ("cell", "all"):
        rows[at][rng.integers(public.n_attributes)] = hostile
    if what in ("label", "all"):
        labels[at] = hostile
    if what in ("index", "all"):
        index[at] = hostile
    if what == "row":
        rest = replace(rest, table=_rows)
        rows[at] = (hostile, rows[at][:-1], [*rows[at], hostile])[rng.integers(3)]
    if what == "no label":
        labels = rest.labels
    return rest, replace(rest, rows=rows, labels=labels, index=index), f"{what}, {_shown(hostile)}"


def _without(values: list[Any], at: int) -> list[Any]:
    return [copy(value) for place, value in enumerate(values) if place != at]


def _model(rng: np.random.Generator, entry: Any, public: Domain) -> Any:
    private = list(entry.private.values()) or [{}]
    chosen = {**entry.small, **private[rng.integers(len(private))]}
    bagged = parameters(rng, entry.estimator, written=False)
    chosen |= {name: bagged[name] for name in ("bags", "bag_rate", "n_trees") if name in bagged}
    if entry.estimator is DiffPID3 and rng.random() < 0.5:
        chosen |= {"utility": "info_gain", "max_records": 3}
    return entry.estimator(**chosen, domain=public, random_state=int(rng.integers(2**31)))


def _label(rng: np.random.Generator, public: Domain) -> Any:
    if public.response:
        return [0, 10, 2.5, "7", True][rng.integers(5)]
    return public.classes[rng.integers(public.n_classes)]


BOUNDS: tuple[tuple[Any, Any], ...] = ((0, 1), (-5, 300), ("2001-01-01", "2026-12-31"))


def _domain(rng: np.random.Generator, kind: Any) -> Domain:
    classes = [("no", "yes"), ("yes", "no"), (0, 1), ("0", "1"), (False, True), (1.5, "x"), ("a", "b")]
    many = [*classes, ("no", "unclear", "yes"), (3, 1, 2)]
    choice = classes if kind.two_classes else many
    made: list[Categorical | Continuous] = []
    for place in range(rng.integers(1, 4)):
        name, missing, moved = f"a{place}", bool(rng.integers(2)), bool(rng.integers(2))
        if kind.discrete_only or rng.random() < 0.5:
            values: Any = [("p", "q", "r"), (0, 1, 2), (True, False), ("1", "2")][rng.integers(4)]
            made.append(Categorical(name, values, missing=missing, unknown="other" if moved else "error"))
        else:
            low, high = BOUNDS[rng.integers(len(BOUNDS))]
            made.append(Continuous(name, low, high, missing=missing, clip=moved))
    return Domain(tuple(made), choice[rng.integers(len(choice))])


def _value(rng: np.random.Generator, public: Any) -> Any:
    if isinstance(public, Categorical):
        return public.values[rng.integers(len(public.values))]
    if public.is_date:
        return [datetime(2005, 5, 5), date(2006, 6, 6), "2007-07-07"][rng.integers(3)]
    return [1, 0.5, 0][rng.integers(3)]


def _shown(value: Any) -> str:
    try:
        return f"{type(value).__name__} {value!r}"[:60]
    except Exception:
        return str(type(value))


def listed(rest: Given, whole: Given) -> str | None:
    """The entry of the list that allows neighbours to differ, if there is one."""
    if len(whole.rows) != len(whole.labels):
        return "Labels that are missing or left over"
    rows = [len(row) if isinstance(row, list) else -1 for row in whole.rows]
    if whole.table is _rows and (not rest.rows or set(rows) != {whole.model.domain.n_attributes}):
        return "Lists of rows"
    if len(whole.rows) > (getattr(whole.model, "max_records", None) or np.inf):
        return "`max_records`"
    arrays = [made(np.array, given.labels, instead=_plain) for given in (rest, whole)]
    if whole.label is np.array and len({(a.dtype.kind in "biufc", a.ndim) for a in arrays}) > 1:
        return "Arrays of labels"
    return None


def compared(seed: list[int]) -> str:
    """How a pair of fits compares: alike, or the entry of the list that says why not; else an AssertionError."""
    rest, whole, what = pair(np.random.default_rng(seed))
    one, other = rest.outcome(), whole.outcome()
    if one == other:
        return "alike"
    parts = [f"{str(a)[:150]} / {str(b)[:150]}" for a, b in zip(one, other, strict=False) if a != b]
    why = listed(rest, whole)
    assert why is not None, f"{seed}, {whole}, {what}: {'; '.join(parts)}"
    return why


def run(n: int) -> Counter[str]:
    """How that many pairs compare; the first that differs beyond the list raises an AssertionError."""
    return Counter(compared([0, i]) for i in range(n))


def test_neighbours_differ_by_what_the_list_says_alone() -> None:
    found = run(PAIRS)
    assert found["alike"] > 0.6 * PAIRS
    assert set(found) <= {"alike", *LISTED}


def entries_of(page: str) -> list[str]:
    """Bold words at the head of the list in the section on what one record may change."""
    section = page.split("(limitations-records)=")[1].split("\n## ")[1]
    return re.findall(r"^- \*\*(.+?)\.\*\*", section, re.MULTILINE)


def test_the_page_on_limitations_has_the_same_list() -> None:
    page = (Path(__file__).parents[1] / "book" / "limitations.md").read_text(encoding="utf-8")
    assert entries_of(page) == [*LISTED]
    assert entries_of(page.replace("- **Lists of rows.**", "- Lists of rows.")) != [*LISTED]  # broken twin


def raises_on_half_a_surrogate(labels: Any) -> Any:
    """The keys of before."""
    return pd.util.hash_array(np.array([str(label) for label in labels.tolist()], object), categorize=False)


def numbers_are_codes_if_whole(y: Any, public: Domain) -> bool:
    """The rule of before."""
    whole = isinstance(y, np.ndarray) and y.dtype.kind in "iu"
    return whole and not any(
        isinstance(label, int | float) or label in ("0", "1") for label in public.classes
    )


def warns_of_misfits(column: Any, attribute: Any) -> Any:
    codes = encoding.replaced(column, attribute)
    if column.isna().any():
        warnings.warn("a value is missing", stacklevel=2)
    return codes


@pytest.mark.parametrize(
    ("where", "name", "twin"),
    [
        (counts, "label_keys", raises_on_half_a_surrogate),
        (estimators, "_are_codes", numbers_are_codes_if_whole),
        (domain, "replaced", warns_of_misfits),
    ],
)
def test_what_depends_on_one_record_is_found(
    where: Any, name: str, twin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, twin)
    with pytest.raises(AssertionError):
        run(10 * PAIRS)


def main(n: int, seed: int = 1) -> int:
    found: Counter[str] = Counter()
    for i in range(n):
        faulthandler.dump_traceback_later(60)
        try:
            found[compared([seed, i])] += 1
        except AssertionError as error:
            found["depends on records"] += 1
            print(error, flush=True)
        if (i + 1) % 1000 == 0:
            print(i + 1, dict(found), flush=True)
    print(dict(found))
    return int(bool(found["depends on records"]))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:] or ["20000"])))
