"""Dates are read as ISO 8601 or in the stated format, and never guessed: whatever else a text says is a misfit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpnb
from dpnb.domain import Continuous, Domain, encoding
from dpnb.domain.encoding import encoded
from dpnb.errors import DomainError
from dpnb.release.commands import main

BOUNDS: tuple[Any, Any] = "1900-01-01", "2025-12-31"
N = 100_000
DAYS = np.datetime64("1900-01-01") + np.random.default_rng(0).integers(0, 46_000, N)
FORMATS = [
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%Y.%m.%d",
    "%d%b%Y",
    "%d%m%Y",
    "%d-%m-%Y",
    "%Y/%j",
    "%d/%m/%Y %H:%M",
]
Reader = Callable[[str, str], Any]


def written(form: str, days: Any = DAYS) -> pd.Series[str]:
    return pd.Series(pd.to_datetime(days).strftime(form), dtype=object)


def wrong(texts: pd.Series[str], days: Any, *, form: str = "") -> tuple[int, int]:
    """How many texts are read as another day, and how many are read at all."""
    numbers, _ = encoded(texts, Continuous("day", *BOUNDS, format=form), bounds=True)
    read = ~np.isnan(numbers)
    return int(np.sum(read & (numbers != days.astype("datetime64[D]").astype(int)))), int(read.sum())


@pytest.mark.parametrize("form", FORMATS)
def test_all_dates_are_right_in_their_format_and_refused_without(form: str) -> None:
    texts = written(form)
    assert wrong(texts, DAYS, form=form) == (0, N)
    assert wrong(texts, DAYS) == (0, 0)


def test_all_iso_dates_are_right() -> None:
    times = "", "T00:00:00", " 00:00:00.000000", "T00:00Z", "T02:00+02:00"
    for form in ("%Y%m%d", *(f"%Y-%m-%d{time}" for time in times)):
        assert wrong(written(form), DAYS) == (0, N), form


def by_pandas(text: str, form: str) -> Any:
    """Month first where that is possible."""
    return pd.Timestamp(text)


def without_a_round_trip(text: str, form: str) -> Any:
    return datetime.strptime(text, form)


@pytest.mark.parametrize(
    ("reader", "form", "stated", "share"),
    [(by_pandas, "%d/%m/%Y", "", 0.36), (without_a_round_trip, "%-d%m%Y", "%d%m%Y", 0.02)],
)
def test_a_reader_that_guesses_is_found(
    reader: Reader, form: str, stated: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken twins: days that may be months, and numbers without their zeros and without anything between them."""
    texts, days = written(form)[:5000], DAYS[:5000]
    assert wrong(texts, days, form=stated)[0] == 0
    monkeypatch.setattr(encoding, "_read_date", reader)
    assert wrong(texts, days, form=stated)[0] > share * 0.8 * len(texts)


NO_DATES = [
    "2001", "2001-12", "12/31/2001", "31.12.2001", "1/2/03", "01-02-03", "31122001", "2001-W52-1", "2001-365", "",
    "2001-13-01", "2001-02-29", "Jan 3 2001", "now", "today", "2001-12-31x10:00", "2001-12-31-05", "11687", "31",
    "99999-01-01", "2001-12-31T25:00", "2001-12-31T24:00", "२००१-१२-३१",
]  # fmt: skip
MOMENTS = [
    "2001-12-31", " 2001-12-31 ", "2001-12-31T06:00", "2001-12-31 06:00:00", "20011231T060000", "2001-12-31T23:59:59.9",
    "2001-12-31T06:00:00.000000000", "2001-12-31T06:00Z", "2001-12-31T06:00+06:00", "2001-12-31T00:00+14:00",
    "2001-12-31 23:00:00-01:00",
]  # fmt: skip


def test_other_texts_are_misfits() -> None:
    column = Continuous("day", *BOUNDS)
    for text in NO_DATES:
        assert np.isnan(encoded(pd.Series([text]), column, bounds=True)[0][0]), text
    numbers, misfit = encoded(pd.Series(MOMENTS, dtype=object), column, bounds=True)
    assert misfit is None
    assert set(numbers) == {11687.0}


# The calendar of the place where a date was written decides, from the first minute of the first day on.
WALL = [
    datetime(1969, 12, 31),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(1970, 1, 1, 0, 30),
    datetime(2020, 2, 29, 12),
    datetime(2020, 12, 31, 10),
    datetime(2020, 12, 31, 23, 59, 59, 999999),
]
PLAIN = pd.Series(WALL).astype("datetime64[us]")
BERLIN = PLAIN.dt.tz_localize("Europe/Berlin")
HONOLULU = PLAIN.dt.tz_localize("Pacific/Honolulu")
WITH_HOURS: dict[str, Any] = {
    "texts": pd.Series([w.isoformat() for w in WALL]),
    "texts, some with zones": pd.Series(
        [w.isoformat(" ") + z for w, z in zip(WALL, ["+14:00", "Z", ""] * 2, strict=True)]
    ),
    "dates": pd.Series([w.date() for w in WALL], dtype=object),
    "datetimes": pd.Series(WALL, dtype=object),
    "datetimes of many zones": pd.Series([*BERLIN.array[:3], *HONOLULU.array[3:]], dtype=object),
    "NumPy's, as objects": pd.Series([*map(np.datetime64, WALL)], dtype=object),
    "days of NumPy": PLAIN.to_numpy().astype("datetime64[D]"),
    "nanoseconds": PLAIN.astype("datetime64[ns]"),
    "Berlin": BERLIN,
    "Honolulu": HONOLULU,
    "a category": HONOLULU.astype("category"),
    "pandas on Arrow": BERLIN.astype(pd.ArrowDtype(pa.timestamp("us", tz="Europe/Berlin"))),
    "days of Arrow": pa.array([w.date() for w in WALL]),
    "Arrow": pa.array(WALL, pa.timestamp("us")),
    "Arrow in Berlin": pa.array(BERLIN, pa.timestamp("us", tz="Europe/Berlin")),
    "polars": pl.Series(WALL),
    "days of polars": pl.Series([w.date() for w in WALL]),
    "polars in Berlin": pl.Series(WALL).dt.replace_time_zone("Europe/Berlin"),
}


def tables(column: Any) -> list[Any]:
    """The tables of several libraries that hold a column as it is."""
    if isinstance(column, pl.Series):
        return [pl.DataFrame({"day": column}), pl.DataFrame({"day": column}).to_arrow()]
    if isinstance(column, pa.Array):
        return [pa.table({"day": column})]
    return [pd.DataFrame({"day": column})]


def days_of(column: Any) -> set[tuple[float, ...]]:
    """What every door makes of a column, one answer if they agree."""
    domain = Domain((Continuous("day", "1969-12-31", "2020-12-31"),), ("a", "b"))
    read = [reader(table).ravel() for table in tables(column) for reader in (domain.encode, domain.replaced)]
    if isinstance(column, pa.Array):
        read.append(
            pytest.importorskip("dpnb.spark.columns").replaced_column(column, domain["day"], missing=())
        )
    return {tuple(numbers.tolist()) for numbers in read}


@pytest.mark.parametrize("name", WITH_HOURS)
def test_the_day_as_written_counts_whatever_holds_it(name: str) -> None:
    assert days_of(WITH_HOURS[name]) == {(-1, -1, 0, 18321, 18627, 18627)}


@pytest.mark.parametrize(
    ("reader", "names"),
    [
        (lambda times: times.tz_localize(None).to_numpy().astype(np.int64) / 864e8, ["datetimes", "polars"]),
        (lambda times: np.asarray(times, "datetime64[D]").astype(float), ["Berlin", "Honolulu"]),
    ],
    ids=["with its hours", "in Greenwich"],
)
def test_days_with_hours_and_days_elsewhere_are_found(
    reader: Any, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken twins: the last day ends as it begins; midnight in Berlin belongs to the day before."""
    monkeypatch.setattr(encoding, "_since_epoch", reader)
    for name in names:
        with pytest.raises(DomainError, match="'day' lies outside"):
            days_of(WITH_HOURS[name])


def test_bounds_are_days_however_they_are_given() -> None:
    first, last = "1969-12-31", datetime(2020, 12, 31, 10)
    for low, high in (
        (first, "2020-12-31"),
        (np.datetime64(first), np.datetime64(last)),
        (pd.Timestamp(first), last),
    ):
        assert Continuous("day", low, high) == Continuous("day", -1, 18627, unit="date")  # type: ignore[arg-type]


BAD_FORMATS = [
    "%d/%m/%y", "%x", "%c", "%Y", "%m/%Y", "%d/%m", "%d/%m/%Y %I", "%d/%m/%Y %Z", "%", "dd/mm/yyyy", 5, None, "%d%d%m%Y"
]  # fmt: skip


@pytest.mark.parametrize("form", BAD_FORMATS)
def test_formats_that_do_not_tell_a_day(form: Any) -> None:
    with pytest.raises(
        DomainError, match=r"format of 'day', .* must tell day, month and a year of four digits"
    ):
        Continuous("day", *BOUNDS, format=form)


def test_a_format_is_for_dates() -> None:
    with pytest.raises(DomainError, match="is for dates: write the bounds as"):
        Continuous("age", 0, 120, format="%d/%m/%Y")


DOMAIN = """\
target: y
classes: [a, b]
attributes:
- name: day
  continuous: [1900-01-01, 2025-12-31]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("plain.yml").write_text(DOMAIN, encoding="utf-8")
    Path("stated.yml").write_text(DOMAIN + '  format: "%d/%m/%Y"\n', encoding="utf-8")
    labels = np.where(np.datetime64("1960-01-01") < DAYS, "b", "a")
    pd.DataFrame({"day": written("%d/%m/%Y"), "y": labels})[:2000].to_csv("t.csv", index=False)
    return tmp_path


def test_every_door_refuses_what_it_would_have_to_guess(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "column 'day' must hold dates written as 2001-12-31, got .* in 2000 of 2000 records.*; state how"
    with pytest.raises(DomainError, match=told):
        dpnb.load("csv:t.csv", domain="plain.yml")
    assert main(["domain", "check", "plain.yml", "t.csv"]) == 1
    assert "in 2000 of 2000 records" in capsys.readouterr().err
    table = pd.read_csv("t.csv")
    with pytest.raises(DomainError, match=told):
        Domain.from_yaml("plain.yml").check(table[["day"]], table["y"])


def test_a_stated_format_goes_everywhere(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["domain", "check", "stated.yml", "t.csv"]) == 0
    data = dpnb.load("csv:t.csv", domain="stated.yml")
    X, y = data.train
    assert (X["day"].to_numpy().astype("datetime64[D]") == DAYS[X.index]).all()
    table = pd.read_csv("t.csv")
    texts = table[["day"]].loc[X.index]
    model = dpnb.PrivateBooster(epsilon=np.inf, domain=data.domain, random_state=0).fit(X, y)
    again = dpnb.PrivateBooster(epsilon=np.inf, domain=data.domain, random_state=0).fit(texts, y)
    assert model.score(*data.test) > 0.99
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(texts))
    model.release("m.json")
    assert dpnb.read("m.json").domain == data.domain
    capsys.readouterr()
    assert main(["predict", "m.json", "t.csv", "--out", "p.csv"]) == 0
    assert (pd.read_csv("p.csv")["prediction"].loc[X.index] == model.predict(X)).all()
    data.domain.to_yaml("back.yml")
    assert Domain.from_yaml("back.yml") == data.domain


def test_a_draft_asks_how_dates_are_written(folder: Path) -> None:
    from dpnb.domain.drafts import draft

    text = draft(pd.read_csv("t.csv"), name="t.csv", target="y")
    assert '  continuous: ["FILL IN", "FILL IN"]  # first and last' in text
    assert '  format: "FILL IN"  # how they are written, such as "%d/%m/%Y"' in text
    assert "format" not in draft(pd.DataFrame({"day": written("%Y-%m-%d")[:9], "y": 1}), name="t", target="y")


def test_files_keep_the_day_as_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A CSV file and its check, a Parquet file and its check, and predictions for both."""
    Path("hours.yml").write_text(DOMAIN.replace("1900-01-01, 2025", "1969-12-31, 2020"), encoding="utf-8")
    labels = ["a", "a", "a", "b", "b", "b"]
    pd.DataFrame({"day": WITH_HOURS["texts, some with zones"], "y": labels}).to_csv("t.csv", index=False)
    pd.DataFrame({"day": BERLIN, "y": labels}).to_parquet("t.parquet")
    data = dpnb.load("csv:t.csv", domain="hours.yml", test="t.csv")
    assert data.domain.replaced(data.train[0]).ravel().tolist() == [-1, -1, 0, 18321, 18627, 18627]
    dpnb.PrivateBooster(epsilon=np.inf, domain=data.domain).fit(*data.train).release("m.json")
    for table in ("t.csv", "t.parquet"):
        capsys.readouterr()
        assert main(["domain", "check", "hours.yml", table]) == 0
        assert capsys.readouterr().out == "all 6 records fit hours.yml\n"
        assert main(["predict", "m.json", table, "--out", f"{table}.csv"]) == 0
        assert pd.read_csv(f"{table}.csv")["prediction"].tolist() == labels
        assert capsys.readouterr().err == ""
