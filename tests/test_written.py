"""CSV files as Excel writes them elsewhere, from the draft to the card; and nothing that is there is replaced."""

from __future__ import annotations

import gzip
import io
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpnb
from dpnb.domain.rows import PLAIN, CsvFormat
from dpnb.domain.yaml_text import parse
from dpnb.errors import DomainError
from dpnb.release.commands import main

Call = Callable[..., tuple[int, str, str]]
COLUMNS = ["Größe", "Einkommen", "Straße", "Eintritt", "Stufe", "krank"]
FILLED = {  # what a user fills in, and nothing else
    'classes: ["FILL IN", "FILL IN"]': "classes: [nein, ja]",
    'Größe\n  continuous: ["FILL IN", "FILL IN"]': "Größe\n  continuous: [100, 250]",
    'Einkommen\n  continuous: ["FILL IN", "FILL IN"]': "Einkommen\n  continuous: [0, 100000]",
    'Straße\n  categorical: ["FILL IN"]': "Straße\n  categorical: [Süd, Nord]",
    'Eintritt\n  continuous: ["FILL IN", "FILL IN"]': "Eintritt\n  continuous: [2000-01-01, 2029-12-31]",
    'format: "FILL IN"': 'format: "%d.%m.%Y"',
    'Stufe\n  continuous: ["FILL IN", "FILL IN"]': "Stufe\n  categorical: [1.5, 2.5]",
}


def records(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    size = rng.integers(1500, 2000, n) / 10
    day = np.datetime64("2001-01-01") + rng.integers(0, 9000, n)
    columns = [
        size,
        rng.integers(0, 10**7, n) / 100,
        rng.choice(["Süd", "Nord"], n),
        day,
        rng.choice([1.5, 2.5], n),
    ]
    return pd.DataFrame(
        dict(
            zip(
                COLUMNS,
                [*columns, np.where((size > 175) ^ (rng.random(n) < 0.02), "ja", "nein")],
                strict=True,
            )
        )
    )


def number(value: float, written: CsvFormat) -> str:
    """A number as Excel shows it."""
    text = f"{value:,.2f}"
    return text.translate(str.maketrans({",": written.thousands, ".": written.decimal}))


def excel(table: pd.DataFrame, written: CsvFormat, *, first: str = "") -> bytes:
    """A table as Excel saves it."""
    cells = {
        name: [number(v, written) for v in table[name]] if table[name].dtype == np.float64 else table[name]
        for name in table
    }
    cells["Eintritt"] = table["Eintritt"].dt.strftime("%d.%m.%Y")
    text = pd.DataFrame(cells).to_csv(sep=written.separator, index=False, lineterminator="\r\n")
    return (first + text).encode(written.encoding)


COUNTRIES = {
    "Germany": (CsvFormat(";", ",", ".", "cp1252"), ""),
    "Germany, in UTF-8 with a mark": (CsvFormat(";", ",", ".", "utf-8-sig"), ""),
    "Germany, with Excel's line": (CsvFormat(";", ",", ".", "cp1252"), "sep=;\r\n"),
    "France": (CsvFormat(";", ",", " ", "cp1252"), ""),
    "Switzerland": (CsvFormat(";", ".", "'", "utf-8-sig"), ""),
    "America": (CsvFormat(",", ".", ",", "utf-8"), ""),
    "text of Unicode": (CsvFormat("\t", ",", ".", "utf-16"), ""),
}


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        try:
            status = main(words)
        except SystemExit as error:
            status = int(error.code or 0)
        return status, *capsys.readouterr()

    return run


def filled(text: str) -> str:
    for gap, entry in FILLED.items():
        assert text.count(gap) == 1, gap
        text = text.replace(gap, entry)
    return text.replace("  # how they are written", "  #")


@pytest.mark.parametrize("country", COUNTRIES)
def test_from_the_draft_to_the_card(call: Call, country: str) -> None:
    written, first = COUNTRIES[country]
    table = records()
    Path("t.csv").write_bytes(excel(table, written, first=first))
    assert call("domain", "draft", "t.csv", "--target", "krank", "--out", "d.yml") == (0, "", "")
    text = Path("d.yml").read_text(encoding="utf-8")
    Path("d.yml").write_text(filled(text), encoding="utf-8")
    assert call("domain", "check", "d.yml", "t.csv") == (0, "all 300 records fit d.yml\n", "")
    data = dpnb.load("csv:t.csv", domain="d.yml", test="t.csv")
    for name in COLUMNS:
        assert [*data.train[0].assign(krank=data.train[1])[name]] == [*table[name]]
    status, _, err = call("fit", "t.csv", "--domain", "d.yml", "--epsilon", "50", "--out", "m.json")
    assert (status, err) == (
        0,
        "all 300 records fit d.yml\n(a local check, which is not private and spends no ε)\n",
    )
    model = dpnb.read("m.json")
    assert model.domain_ == data.domain
    Path("t.csv").rename("new.csv")
    assert call("predict", "m.json", "new.csv", "--out", "p.csv") == (0, "", "")
    how = {"sep": written.separator, "decimal": written.decimal, "encoding": model.domain_.written.encoding}
    found = pd.read_csv("p.csv", **how)
    shares = model.predict_proba(data.train[0])
    np.testing.assert_allclose(found[["probability nein", "probability ja"]], shares)
    assert found["prediction"].tolist() == model.predict(data.train[0]).tolist()
    assert (found["prediction"] == table["krank"]).mean() > 0.9  # what a wrong decimal would spoil
    assert found["Straße"].tolist() == table["Straße"].tolist()
    assert call("card", "m.json", "--report", "c.html")[0] == 0


def test_a_document_of_a_plain_table_says_nothing_of_it(call: Call) -> None:
    domain = dpnb.Domain((dpnb.Continuous("a", 0, 9),), ("no", "yes"))
    assert "csv" not in domain.document()
    german = dpnb.Domain(domain.attributes, ("no", "yes"), written=CsvFormat(";", ","))
    assert german.document()["csv"] == {"separator": ";", "decimal": ","}
    assert dpnb.Domain.from_document(json.loads(json.dumps(german.document()))) == german != domain
    with pytest.raises(DomainError, match=r"csv reads .*: expected missing, separator, decimal"):
        dpnb.Domain.from_document(domain.document() | {"csv": {"sep": ";"}})


@pytest.mark.parametrize(
    ("cell", "written", "expected"),
    [
        ("1.234,5", CsvFormat(";", ",", "."), 1234.5),
        ("1234,5", CsvFormat(";", ",", "."), 1234.5),
        ("1.234.567", CsvFormat(";", ",", "."), 1234567),
        ("-1.234", CsvFormat(";", ",", "."), -1234),
        ("1.5", CsvFormat(";", ",", "."), None),
        ("12.34,5", CsvFormat(";", ",", "."), None),
        ("1,234.5", CsvFormat(";", ",", "."), None),
        (",5", CsvFormat(";", ","), 0.5),
        ("1,5E+03", CsvFormat(";", ","), 1500),
        ("1.234", CsvFormat(";", ","), None),
        ("1,5,2", CsvFormat(";", ","), None),
        ("inf", CsvFormat(";", ","), None),
        ("1 234,5", CsvFormat(";", ",", " "), 1234.5),
        ("1\u202f234\u00a0567,5", CsvFormat(";", ",", " "), 1234567.5),
        ("1'234.5", CsvFormat(";", ".", "'"), 1234.5),
        ("", CsvFormat(";", ","), None),
        ("1_0", PLAIN, None),
    ],
)
def test_a_number_is_what_its_file_says(cell: str, written: CsvFormat, expected: float | None) -> None:
    assert written.number(cell) == expected


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            {"separator": ";;"},
            "separator must be one character, got ';;'; write it in double quotes, as \";\"",
        ),
        ({"separator": "a"}, "separator must be one character, got 'a'"),
        ({"separator": ""}, "separator must be one character, got ''"),
        ({"decimal": ";"}, 'decimal must be "." or ",", got \';\''),
        ({"decimal": ",", "thousands": ","}, "thousands must be another one .*, got ','"),
        ({"thousands": "x"}, "thousands must be another one .*, got 'x'; leave it out"),
        ({"encoding": "utf-9"}, "encoding must be one that Python knows, got 'utf-9'; utf-8 and cp1252"),
        ({"encoding": "base64"}, "encoding must be one that Python knows, got 'base64'"),
        ({"encoding": 8}, "encoding must be one that Python knows, got 8"),
    ],
)
def test_a_way_to_write_that_is_none_is_refused(section: dict[str, str], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        CsvFormat(**section)


AMBIGUOUS = 'a,y\n"1,234",n\n"2,345",y\n'


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("a,b,y\n1.5,x,n\n2,z,y\n", None),
        ("a;b;y\n1,5;x;n\n2;z;y\n", {"separator": ";", "decimal": ","}),
        ("a;b;y\n1.5;x;n\n2;z;y\n", {"separator": ";"}),
        ("a;b;y\n1.234;1,5;n\n2;3;y\n", {"separator": ";", "decimal": ",", "thousands": "."}),
        ("a\tb\ty\n1,5\tx, z\tn\n2\tz\ty\n", {"separator": "\t", "decimal": ","}),
        ("a|y\n1|n\n2|y\n", {"separator": "|"}),
        ('a;y\n"x, y; z";n\n"x, y";y\n', {"separator": ";"}),
        ('a,y\n"1,234.5",n\n2,y\n', {"thousands": ","}),
        (AMBIGUOUS, None),  # 1.234 or 1234: the draft does not guess
        ("a,y\nx,n\nz,j\n", None),
        ("sep=|\na|y\n1|n\n", {"separator": "|"}),
    ],
)
def test_a_draft_finds_how_a_table_is_written(call: Call, text: str, section: dict[str, str] | None) -> None:
    Path("t.csv").write_text(text, encoding="utf-8")
    status, out, _ = call("domain", "draft", "t.csv", "--target", "y")
    assert status == 0
    assert parse(out).get("csv") == section
    if text == AMBIGUOUS:
        assert parse(out)["attributes"][0].keys() == {"name", "categorical"}


def test_a_draft_of_columns_without_names(call: Call) -> None:
    """What ``to_csv`` writes by itself, whose first column has no name."""
    pd.DataFrame({"a": [1, 2], "y": ["n", "j"]}).to_csv("t.csv")
    _, out, _ = call("domain", "draft", "t.csv", "--target", "y")
    assert [entry["name"] for entry in parse(out)["attributes"]] == ["a"]
    Path("d.yml").write_text(
        out.replace('["FILL IN", "FILL IN"]', "[n, j]", 1).replace('["FILL IN", "FILL IN"]', "[0, 9]"),
        encoding="utf-8",
    )
    assert call("domain", "check", "d.yml", "t.csv")[1].startswith("all 2 records fit d.yml\n")


def test_a_name_of_a_table_is_no_yaml(call: Call) -> None:
    name = "t\ntarget: other\n.csv"
    Path(name).write_text("a,y\n1,n\n", encoding="utf-8")
    assert parse(call("domain", "draft", name, "--target", "y")[1])["target"] == "y"


PLAIN_DOMAIN = """\
target: y
classes: [n, j]
attributes:
- {name: a, continuous: [0, 9]}
csv:
  missing: ["?"]
"""


@pytest.fixture
def small(call: Call) -> Call:
    Path("d.yml").write_text(PLAIN_DOMAIN, encoding="utf-8")
    Path("t.csv").write_text("a,y\n1,n\n9,j\n?,n\n", encoding="utf-8")
    assert call("fit", "t.csv", "--domain", "d.yml", "--epsilon", "1", "--out", "m.json")[0] == 0
    return call


def fit(call: Call, *words: str, epsilon: str = "1") -> tuple[int, str, str]:
    return call("fit", "t.csv", "--domain", "d.yml", "--epsilon", epsilon, *words)


@pytest.mark.parametrize("rows", ["1,n\n", "1,n\n9,j\n", "1,n\n9,j\n1,n\n"])
def test_a_fit_of_few_records_needs_no_test_part(small: Call, rows: str) -> None:
    Path("t.csv").write_text(f"a,y\n{rows}", encoding="utf-8")
    assert fit(small, "--out", "few.json")[0] == 0


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("", "t.csv leaves no record to learn from: it holds column names only"),
        ("?,n\n1,?\n", "t.csv leaves no record to learn from: each of its 2 records lacks a value"),
    ],
)
def test_a_fit_to_nothing_is_told(small: Call, rows: str, told: str) -> None:
    Path("t.csv").write_text(f"a,y\n{rows}", encoding="utf-8")
    status, out, err = fit(small, "--out", "none.json")
    assert (status, out) == (1, "")
    assert err.startswith(told)
    assert not Path("none.json").exists()


def test_a_fit_says_what_a_check_says(small: Call) -> None:
    told = small("domain", "check", "d.yml", "t.csv")[1]
    assert told == "all 2 records fit d.yml; 1 more lack a value and are left out (line 4)\n"
    assert fit(small, "--out", "n.json")[2].startswith(told)


@pytest.mark.parametrize("epsilon", ["inf", "1e999"])
def test_a_model_without_privacy_is_not_released_in_passing(small: Call, epsilon: str) -> None:
    status, _, err = fit(small, "--out", "n.json", epsilon=epsilon)
    assert status == 2
    assert err.startswith("epsilon=inf: this model would be exact")
    assert not Path("n.json").exists()
    with pytest.raises(ValueError, match="expected a positive number"):  # and none at all stays what it was
        dpnb.PrivateBooster(epsilon=-math.inf).worst_cost()


WRITERS = {
    "predict": ("predict", "m.json", "t.csv", "--out", "there.csv"),
    "predict, as Parquet": ("predict", "m.json", "t.csv", "--out", "there.parquet"),
    "card": ("card", "m.json", "--report", "there.html"),
    "draft": ("domain", "draft", "t.csv", "--target", "y", "--out", "there.yml"),
    "fit": ("fit", "t.csv", "--domain", "d.yml", "--epsilon", "1", "--out", "there.json"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_overwritten(small: Call, name: str) -> None:
    *words, out = WRITERS[name]
    Path("t.csv").write_text("a,y\n1,n\n9,j\n", encoding="utf-8")
    Path(out).write_text("mine", encoding="utf-8")
    before = sorted(Path().iterdir())
    status, _, err = small(*words, out)
    assert (status, err) == (
        1,
        f"cannot write {out}: there is such a file, name another or remove it first\n",
    )
    assert Path(out).read_text(encoding="utf-8") == "mine"
    assert sorted(Path().iterdir()) == before
    Path(out).unlink()
    assert small(*words, out)[0] == 0
    assert Path(out).stat().st_size > 10
    status, _, err = small(*words, "")
    assert status == 1
    assert err.startswith(("cannot write .", "--out is empty"))


def test_gzip_on_standard_input(small: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("t.csv").write_text("a\n1\n9\n", encoding="utf-8")
    plain = small("predict", "m.json", "t.csv")
    for content in (Path("t.csv").read_bytes(), gzip.compress(Path("t.csv").read_bytes())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert small("predict", "m.json") == plain
    assert plain[1].count("\n") == 3


def test_a_key_that_repeats_and_a_target_that_is_misspelt(small: Call) -> None:
    Path("d.yml").write_text(PLAIN_DOMAIN + "  key: id\n", encoding="utf-8")
    Path("t.csv").write_text("id,a,y\np,1,n\nq,9,j\np,1,n\n", encoding="utf-8")
    for told in (small("domain", "check", "d.yml", "t.csv")[2], fit(small, "--out", "n.json")[2]):
        assert "repeats a key in 1 of 3 records, first 'p' (line 4); a key names one record" in told
        assert "write it under csv: person" in told
    Path("t.csv").write_text("id,a,Y\np,1,n\n", encoding="utf-8")
    told = small("domain", "check", "d.yml", "t.csv")[2]
    assert "'Y', and none that is its target, 'y'; if one of them is the target, name it there" in told
    assert "attributes" not in told


def test_what_a_terminal_would_obey_is_shown_on_a_card(call: Call) -> None:
    odd = "a\u202eb\x07"
    domain = dpnb.Domain((dpnb.Continuous("x", 0, 9), dpnb.Categorical("c", (odd, "z"))), ("n", "j"))
    X = pd.DataFrame({"x": [1, 2], "c": [odd, "z"]})
    dpnb.PrivateBooster(domain=domain, n_rounds=2).fit(X, ["n", "j"]).release("m.json")
    assert call("card", "m.json", "--report", "c.html", "--data", f"{odd}ä")[0] == 0
    text = Path("c.html").read_text(encoding="utf-8")
    assert not {"\u202e", "\x07"} & set(text)
    assert text.count(r"a\u202eb\x07") >= 2
    assert r"a\u202eb\x07ä" in text


def test_without_a_network_one_error_tells_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dpnb.data import datasets

    def refuse(url: str, folder: Path) -> Path:
        raise OSError("no network") from ConnectionError("refused")

    monkeypatch.setattr(datasets, "_fetch", refuse)
    monkeypatch.setattr(datasets, "_cache_folder", lambda: tmp_path)
    with pytest.raises(dpnb.errors.DataError, match="Three ways to provide the file") as error:
        dpnb.load("adult", data_dir=tmp_path)
    assert error.value.__suppress_context__
    assert error.value.__cause__ is None
