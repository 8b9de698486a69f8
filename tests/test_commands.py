"""The command ``dpnb``: draft and check a domain file, predict in a stream, write a card; every mistake is one line."""

from __future__ import annotations

import hashlib
import html
import io
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import dpnb
from dpnb.domain import drafts
from dpnb.domain.yaml_text import parse
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.pearson import PearsonTree
from dpnb.release import card, commands, pictures
from dpnb.replay import Finding

DOMAIN = """\
target: default
classes: ["no", "yes"]
attributes:
- name: income
  continuous: [0, 200000]
  clip: true
  unit: euros
- name: age
  continuous: [18, 120]
  missing: true
- name: grade
  categorical: [1, 2, 3]
  missing: true
  unknown: other
- name: since
  continuous: [2000-01-01, 2030-12-31]
csv:
  missing: ["?"]
"""
Call = Callable[..., tuple[int, str, str]]


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 100, n).astype(object)
    age[rng.random(n) < 0.2] = ""
    income = rng.integers(0, 250_000, n)
    return pd.DataFrame(
        {
            "income": income,
            "age": age,
            "grade": rng.choice(["1", "2.0", "3", "9", ""], n),
            "since": (np.datetime64("2001-01-01") + rng.integers(0, 9000, n)).astype(str),
            "default": np.where(income > 90_000, "no", "yes"),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "domain.yml").write_text(DOMAIN, encoding="utf-8")
    table().to_csv(tmp_path / "data.csv", index=False)
    parts = dpnb.load(f"csv:{tmp_path / 'data.csv'}", domain=tmp_path / "domain.yml")
    model = dpnb.PrivateBooster(domain=parts.domain, epsilon=2.0, delta=1e-6, n_rounds=20, random_state=0)
    model.fit(*parts.train).release(tmp_path / "model.json")
    return tmp_path


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(folder)

    def run(*words: str) -> tuple[int, str, str]:
        try:
            status = commands.main(words)
        except SystemExit as error:
            status = int(error.code or 0)
        return status, *capsys.readouterr()

    return run


# --- Drafts and checks ----------------------------------------------------------------------------------------------


def test_a_draft_has_names_and_types_and_nothing_of_the_values(call: Call, folder: Path) -> None:
    status, out, _ = call("domain", "draft", "data.csv", "--target", "default")
    assert status == 0
    found = parse(out)
    assert found["target"] == "default"
    entries = {entry["name"]: [key for key in entry if key != "name"] for entry in found["attributes"]}
    assert entries == {k: ["continuous"] for k in ("income", "age", "grade", "since")}
    assert "would be\n# somebody's income" in out
    assert "possible day" in out
    assert values_in(out, table()) == []
    assert (
        values_in(dpnb.Domain.infer(table()[["income"]], table()["default"]).document().__repr__(), table())
        != []
    )


def values_in(text: str, records: pd.DataFrame) -> list[str]:
    """Numbers and words of the records in a text, but for the example of a date."""
    cells = {str(cell) for name in records for cell in records[name] if len(str(cell)) > 2}
    return sorted(
        cell for cell in cells if re.search(rf"\b{re.escape(cell)}\b", text.replace("2001-12-31", ""))
    )


@pytest.mark.parametrize(
    "name", ["a: b", "yes", "# x", '"q"', "1", "", " ", "ä", "[", "null", "a\tb", "-", "'"]
)
def test_odd_names_of_columns_come_back(name: str) -> None:
    records = pd.DataFrame({name: [1.5], "y": ["a"]})
    text = drafts.draft(records, name="data.csv", target="y")
    assert parse(text)["attributes"][0]["name"] == name


def test_types_of_a_draft() -> None:
    records = pd.DataFrame(
        {
            "number": [1, 2],
            "switch": [True, False],
            "word": ["2001-01-01", "then"],
            "day": ["2001-01-01", None],
            "stamp": pd.to_datetime(["2001-01-01", "2002-01-01"]),
            "nothing": [None, None],
            "y": ["a", "b"],
        }
    )
    kinds = [[*entry][1] for entry in parse(drafts.draft(records, name="t", target="y"))["attributes"]]
    assert kinds == ["continuous", "categorical", "categorical", "continuous", "continuous", "categorical"]


@pytest.mark.parametrize("name", ["price", "a: b", "[", "x, y: {", "1"])
def test_a_draft_of_a_number_to_predict_has_a_range(name: str) -> None:
    records = pd.DataFrame({"rooms": [3, 4], name: [101.5, 202.5]})
    text = drafts.draft(records, name="data.csv", target=name, number=True)
    found = parse(text)
    assert found["target"] == {"name": name, "range": ["FILL IN", "FILL IN"]}
    assert "classes" not in found
    assert values_in(text, records[[name]]) == []
    with pytest.raises(dpnb.DomainError, match="filled in for 'the range of the target', 'rooms'"):
        dpnb.Domain.from_document(found)
    filled = dpnb.Domain.from_document(parse(text.replace('"FILL IN", "FILL IN"', "0, 1000")))
    assert filled.response == dpnb.Continuous(name, 0, 1000)
    classes = parse(drafts.draft(records, name="data.csv", target=name))  # broken twin: a class
    assert classes["target"] == name
    assert len(classes["classes"]) == 2


def test_an_unfilled_draft_is_told_by_name(call: Call, folder: Path) -> None:
    assert call("domain", "draft", "data.csv", "--target", "default", "--out", "draft.yml")[0] == 0
    status, _, err = call("domain", "check", "draft.yml", "data.csv")
    assert status == 1
    assert "'FILL IN' has still to be filled in for 'classes', 'income', 'age', 'grade', 'since'" in err


def test_a_check_tells_everything_at_once(call: Call, folder: Path) -> None:
    threshold = "column 'income' alone tells the class of each of the 300 records; is it the target in other words, or"
    told = f"all 300 records fit domain.yml\n- {threshold} known only after it?\n"
    assert call("domain", "check", "domain.yml", "data.csv") == (0, told, "")
    bad = table().astype(object)
    bad.loc[0, ["income", "age", "since", "default"]] = ["much", "7", "soon", "perhaps"]
    bad.loc[1, "age"] = "?"  # a marker of the domain file
    bad.loc[2, "income"] = "1_0"
    bad.to_csv("bad.csv", index=False)
    status, out, err = call("domain", "check", "domain.yml", "bad.csv")
    assert (status, out) == (1, "")
    assert "3 columns do not fit the domain" in err
    assert "'income' must hold numbers, got 'much', '1_0' in 2 of 300 records (lines 2, 4)" in err
    assert "'age' lies outside [18, 120" in err
    assert "'since' must hold dates" in err
    assert "unknown values in the labels: 1 of 300 records (line 2), first 'perhaps'" in err
    assert "`clip: true`" in err  # the words of the file
    assert "Continuous(" not in err


def test_a_check_without_labels_says_so(call: Call) -> None:
    table().drop(columns="default").to_csv("new.csv", index=False)
    assert "there are no labels" in call("domain", "check", "domain.yml", "new.csv")[1]


# --- Prediction -----------------------------------------------------------------------------------------------------


def predicted(folder: Path) -> pd.DataFrame:
    domain, _ = dpnb.domain.read_domain_file(folder / "domain.yml")
    X = domain.spelt(table().astype(str))
    model = dpnb.read(folder / "model.json")
    shares = model.predict_proba(X)
    found = pd.DataFrame({"prediction": model.classes_[shares.argmax(1)]})
    return found.assign(**{f"probability {label}": shares[:, k] for k, label in enumerate(domain.classes)})


@pytest.mark.parametrize("chunk", [7, 50_000])
def test_predictions_of_a_csv(call: Call, folder: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "CHUNK", chunk)
    status, out, err = call("predict", "model.json", "data.csv")
    assert (status, err) == (0, "")
    found = pd.read_csv(io.StringIO(out), dtype=str, na_filter=False)
    pd.testing.assert_frame_equal(found.iloc[:, :5], table().astype(str), check_dtype=False)
    expected = predicted(folder)
    assert found["prediction"].tolist() == expected["prediction"].tolist()
    for name in ("probability no", "probability yes"):
        np.testing.assert_array_equal(found[name].astype(float), expected[name])
    assert call("predict", "model.json", "data.csv", "--out", "out.csv") == (0, "", "")
    assert Path("out.csv").read_text(encoding="utf-8") == out
    assert sorted(path.name for path in folder.iterdir()) == [
        "data.csv",
        "domain.yml",
        "model.json",
        "out.csv",
    ]


@pytest.mark.parametrize("chunk", [7, 50_000])
def test_predictions_of_a_parquet_file(
    call: Call, folder: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr(commands, "CHUNK", chunk)
    records = table()
    ages = [int(age) if age != "" else None for age in records["age"]]
    whole = arrow.table(
        {
            "income": arrow.array(records["income"].tolist(), arrow.int32()),
            "age": arrow.array(ages, arrow.int16()),
            "grade": arrow.array([grade or None for grade in records["grade"]]),
            "since": arrow.array(
                [np.datetime64(day).astype(object) for day in records["since"]], arrow.date32()
            ),
            "more": arrow.array([[1, 2]] * len(records)),
        }
    )
    parquet.write_table(whole, "data.parquet")
    assert call("predict", "model.json", "data.parquet", "--out", "out.parquet") == (0, "", "")
    found = parquet.read_table("out.parquet")
    assert found.select(whole.column_names).schema.types == whole.schema.types
    assert found.select(whole.column_names).to_pylist() == whole.to_pylist()
    expected = predicted(folder)
    assert found["prediction"].to_pylist() == expected["prediction"].tolist()
    np.testing.assert_array_equal(found["probability yes"].to_numpy(), expected["probability yes"])


def test_a_table_without_records_has_a_header(call: Call) -> None:
    table(0).to_csv("empty.csv", index=False)
    status, out, _ = call("predict", "model.json", "empty.csv")
    assert status == 0
    assert out.strip().split(",")[-3:] == ["prediction", "probability no", "probability yes"]


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    root = Path(dpnb.__file__).parent.parent
    program = f'{sys.executable} -c "import sys; from dpnb.release.commands import main; sys.exit(main())"'
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.run(
        ["bash", "-c", command.replace("dpnb", program)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_stream(folder: Path) -> None:
    run = shell("dpnb predict model.json < data.csv > out.csv", folder)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert len(pd.read_csv(folder / "out.csv")) == 300
    itself = shell("dpnb predict model.json --out data.csv < data.csv", folder)
    assert (itself.returncode, "there is such a file" in itself.stderr) == (1, True)
    assert len(pd.read_csv(folder / "data.csv").columns) == 5
    cut = shell("dpnb predict model.json < data.csv | head -1", folder)
    assert (cut.stdout.count("\n"), cut.stderr) == (1, "")


# --- Cards ----------------------------------------------------------------------------------------------------------


FINDING = Finding(
    instrument="bets",
    subject="model:<b>make</b>",
    claimed=1.0,
    lower_bound=0.2,
    confidence=0.99,
    neighbours="add-remove",
    pair="a record more",
    event="label = 1",
)


@pytest.mark.parametrize("line", range(3))
def test_only_what_an_audit_prints_is_attached(line: int) -> None:
    for more in ({}, {"lower_bound": math.inf, "delta": 1e-6}, {"given": "the bags", "lower_bound": 2.0}):
        lines = str(replace(FINDING, **more)).splitlines(keepends=True)
        assert card.FINDING.match("".join(lines))
        del lines[line]  # broken twins
        assert not card.FINDING.match("".join(lines))


def test_the_card_says_what_a_privacy_officer_signs(call: Call, folder: Path) -> None:
    (folder / "audit.txt").write_text(f"{FINDING}\n\nA pass is no proof.\n", encoding="utf-8")
    assert call("card", "model.json", "--report", "card.html", "--audit", "audit.txt")[0] == 0
    text = (folder / "card.html").read_text(encoding="utf-8")
    model = dpnb.read(folder / "model.json")
    assert gaps(text, model) == []
    assert "model:<b>make</b>: no violation found" in html.unescape(text)
    assert "<b>make" not in text
    assert "<img" in text
    assert 'alt=""' not in text
    assert "http" not in text.replace("http-equiv", "")  # self-contained
    assert ">ρ</th>" in text  # with δ the costs that add up are ρ: no ε of a part stands beside the total
    assert ">ε</th>" not in text
    assert "They add up to ρ = " in text
    bare = card.page(model, versions={})
    assert "No audit was attached" in bare
    twins = (
        "δ = 1e-06",
        card.PROMISES[1],
        card.LIMITS[0],
        "0 to 200000 euros",
        "20 × stump",
        f"factor of {np.exp(model.ledger_.epsilon):.3g}",
        "(tight accounting)",
        "grade",
    )
    for part in twins:
        assert part in text
        assert gaps(text.replace(part, ""), model) != []


def test_a_card_is_of_one_document(call: Call, folder: Path) -> None:
    """Who signs it signs for that document; a card of another one has another checksum."""
    found = []
    for change in ("", " "):
        model = folder / "model.json"
        model.write_text(model.read_text(encoding="utf-8") + change, encoding="utf-8")
        assert call("card", "model.json", "--report", f"card{len(found)}.html")[0] == 0
        text = (folder / f"card{len(found)}.html").read_text(encoding="utf-8")
        found.append(hashlib.sha256(model.read_bytes()).hexdigest())
        assert f"<code>model.json</code>, SHA-256 <code>{found[-1]}</code>" in text
    assert found[0] != found[1]
    assert found[0] not in text
    assert "SHA-256" not in card.page(dpnb.read(folder / "model.json"), versions={})


def test_attributes_that_are_alike_share_a_line_of_the_card() -> None:
    names = [f"bill{i}" for i in range(6)]
    alike = [dpnb.Continuous(name, 0, 9, clip=True) for name in names]
    domain = dpnb.Domain((*alike, dpnb.Continuous("age", 0, 9, missing=True)), ("no", "yes"))
    model = dpnb.PrivateBooster(domain=domain, n_rounds=2, random_state=0)
    text = card.page(
        model.fit(pd.DataFrame({name: [1, 2] for name in domain.names}), ["no", "yes"]), versions={}
    )
    assert f"<td>{', '.join(names)}</td><td>0 to 9</td>" in text
    assert "<td>age</td><td>0 to 9</td><td>outside: the next bound; missing: a place of its own</td>" in text


def test_dollars_in_names_start_no_formula() -> None:
    domain = dpnb.Domain(
        (dpnb.Continuous("pay_{$", 0, 9, unit="NT$"), dpnb.Categorical("a$^{b$", ("$x$", "$\\bad$"))),
        ("$no$", "yes$"),
    )
    X, y = pd.DataFrame({"pay_{$": [1, 8] * 20, "a$^{b$": ["$x$", "$\\bad$"] * 20}), ["$no$", "yes$"] * 20
    for model in (
        dpnb.PrivateBooster(domain=domain, n_rounds=9, epsilon=99.0, random_state=0),
        DiffPRFs(domain=domain, n_trees=1, max_depth=2, random_state=0),
    ):
        for figure, _ in pictures.of_model(model.fit(X, y)):
            figure.canvas.draw()  # a formula that makes no sense raises here
            texts = figure.findobj(lambda part: hasattr(part, "get_text") and "$" in part.get_text())
            assert all(re.search(r"(?<!\\)\$", text.get_text()) is None for text in texts)
    figure, axis = plt.subplots()
    axis.set_title("pay$_{$")
    with pytest.raises(ValueError, match=r"_\{"):  # broken twin: as it stands
        figure.canvas.draw()
    plt.close("all")


def gaps(text: str, model: Any) -> list[str]:
    """What a card lacks."""
    needed = [
        f"ε = {model.ledger_.epsilon:.4g}, δ = 1e-06",
        card.RELATIONS["add-remove", "record"],
        card.ONE["record"],
        f"A person with 2, 3, 5, 10 records is promised ε = {model.ledger_.of_group(2):.4g}, ",
        "one record of the training table",
        *card.PROMISES,
        *card.LIMITS,
        *(f"<td>{name}</td>" for name in model.domain_.names),
        "0 to 200000 euros",
        f"one after the other, is ε = {model.ledger_.epsilon:.4g} at δ = 1e-06 (tight accounting)",
        f"by a factor of {np.exp(model.ledger_.epsilon):.3g} at most, and by 1e-06 beside that",
        "18 to 120",
        "2000-01-01 to 2030-12-31",
        "unknown: other; missing: missing",
        "Classes of &#x27;default&#x27;: no, yes",
        *{event.what for event in model.ledger_.events},
        *{event.mechanism for event in model.ledger_.events},
        "version of dpnb",
        "signature",
    ]
    return [part for part in needed if part not in text and part.replace("'", "&#x27;") not in text]


def test_a_card_warns_of_noise_of_real_numbers(folder: Path) -> None:
    parts = dpnb.load("adult-standin")
    pages = [
        card.page(
            PearsonTree(domain=parts.domain, noise=noise, random_state=0).fit(*parts.train), versions={}
        )
        for noise in ("laplace", "geometric")  # the second is the broken twin of the first
    ]
    assert ["Do not publish this model" in page for page in pages] == [True, False]


def test_a_card_of_a_model_that_is_not_private_says_so(folder: Path) -> None:
    parts = dpnb.load(f"csv:{folder / 'data.csv'}", domain=folder / "domain.yml")
    tree = DiffPRFs.as_written(domain=parts.domain, n_trees=2, max_depth=2, random_state=0)
    text = card.page(tree.fit(*parts.train), versions={})
    assert "Not differentially private: ε = ∞" in text
    assert "purity of a node" in text
    assert ">ε</th>" in text
    assert "They add up to ε = ∞" in text


# --- Mistakes -------------------------------------------------------------------------------------------------------


def test_what_predict_moves_is_told(call: Call, folder: Path) -> None:
    """A value that the domain has a place for is no reason to stop: a bound, or missing."""
    late = table().assign(age="old", since="2031-01-01")
    late.to_csv(folder / "words.csv", index=False)
    status, out, err = call("predict", "model.json", "words.csv")
    assert (status, out.count("\n")) == (0, 301)
    assert err == (
        "moved into the domain: column 'age': 'old' (300) counted as missing\n"
        "moved into the domain: column 'since': '2031-01-01' (300) counted as 2030-12-31\n"
    )
    late.assign(age="", since="2030-12-31").to_csv(folder / "right.csv", index=False)
    assert (lambda run: (run[0], run[2]))(call("predict", "model.json", "right.csv")) == (0, "")
    shares = [
        pd.read_csv(io.StringIO(text))["probability yes"]
        for text in (out, call("predict", "model.json", "right.csv")[1])
    ]
    pd.testing.assert_series_equal(*shares)


MARKED = table(6).assign(
    income=["?", "1", "2", "x", "3", "1e999"], grade="?", since=["2001-02-03"] * 5 + ["03/02/2001"]
)


@pytest.mark.parametrize("chunk", [2, 50_000])
def test_predict_stops_at_a_value_without_a_place(
    call: Call, folder: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Income may not be missing, and "?" marks what is missing, for grade as well; a line break in a cell is a line."""
    monkeypatch.setattr(commands, "CHUNK", chunk)
    MARKED.assign(note=["a\nb", *"bcdef"]).to_csv("odd.csv", index=False)
    status, out, err = call("predict", "model.json", "odd.csv", "--out", "out.csv")
    assert (status, out, sorted(path.name for path in folder.glob("*out.csv*"))) == (1, "", [])
    assert err.startswith(
        "odd.csv does not fit the domain; nothing is written\nline 2, column 'income': no value; fill them in, "
        "drop these records, or write --move, which counts them as 100000 euros, the middle\n"
    )
    MARKED.iloc[1:].to_csv("odd.csv", index=False)
    status, out, err = call("predict", "model.json", "odd.csv")
    assert (status, out.count("\n")) == (1, 3 if chunk == 2 else 0)
    assert ("; 2 records are out already\n" if chunk == 2 else "; nothing is written\n") in err
    assert "\nline 4, column 'income': 'x'; write them as numbers, drop these records, or write --move" in err
    MARKED.iloc[1:].astype(str).to_parquet(
        "odd.parquet"
    )  # without lines: records are counted through all parts
    assert "\nrecord 3, column 'income': 'x'; " in call("predict", "model.json", "odd.parquet")[2]
    status, out, err = call("predict", "model.json", "odd.csv", "--move")
    assert (status, out.count("\n")) == (0, 6)
    assert err.splitlines() == [
        "moved into the domain: column 'income': 'x' (1) counted as 100000 euros, the middle; write them as numbers, "
        "or drop these records",
        "moved into the domain: column 'since': '03/02/2001' (1) counted as 2015-07-02, the middle; write them as "
        "2001-12-31, or drop these records",
    ]
    model, right = dpnb.read("model.json"), MARKED.iloc[1:].drop(columns="default")
    right = right.assign(income=[1, 2, 1e5, 3, 2e5], grade=None, since=pd.Timestamp("2001-02-03"))
    right["age"] = pd.to_numeric(right["age"])
    right.loc[right.index[-1], "since"] = pd.Timestamp("2015-07-02")
    shares = pd.read_csv(io.StringIO(out))[["probability no", "probability yes"]]
    np.testing.assert_array_equal(shares, model.predict_proba(right))


def test_a_strict_model_stops_at_a_bound_as_well(call: Call, folder: Path) -> None:
    domain = dpnb.Domain.from_yaml("domain.yml")
    X = domain.spelt(table().drop(columns="default").astype(str).assign(income="5", grade="1"))
    with pytest.warns(dpnb.PrivacyLeakWarning):
        dpnb.PrivateBooster(epsilon=math.inf, domain=domain, strict=True).fit(X, table()["default"]).release(
            "s.json"
        )
    table(9).assign(age="999").to_csv("high.csv", index=False)
    assert call("predict", "model.json", "high.csv")[0] == 0
    status, _, err = call("predict", "s.json", "high.csv")
    assert status == 1
    assert (
        "line 2, column 'age': '999', and 8 more in the records up to the 9th; write them as they are, within 18 to"
        in err
    )
    assert call("predict", "s.json", "high.csv", "--move")[0] == 0


# --- Fitting --------------------------------------------------------------------------------------------------------


def test_a_model_from_the_command_line_learns_from_all_records(call: Call, folder: Path) -> None:
    words = (
        "fit",
        "data.csv",
        "--domain",
        "domain.yml",
        "--epsilon",
        "2",
        "--delta",
        "1e-6",
        "--out",
        "new.json",
    )
    status, out, err = call(*words)
    assert status == 0
    assert "a local check, which is not private" in err
    model = dpnb.read(folder / "new.json")
    assert out == f"{model.ledger_}\n"
    assert (model.epsilon, model.delta, model.ledger_.delta) == (2.0, 1e-6, 1e-6)
    before = (folder / "new.json").read_bytes()
    status, _, err = call(*words)  # a second fit would be a second release
    assert status == 1
    assert "cannot write new.json: there is such a file, name another" in err
    assert (folder / "new.json").read_bytes() == before


NUMBER = DOMAIN.replace(
    'target: default\nclasses: ["no", "yes"]', "target: {name: debt, range: [0, 9000], unit: euros}"
)


def test_a_number_from_the_command_line(call: Call, folder: Path) -> None:
    """Draft, check, fit, predict and card; the last record has no number, and one lies in a row of its own."""
    (folder / "number.yml").write_text(NUMBER, encoding="utf-8")
    records = table().drop(columns="default")
    debt = (records["income"] / 30).astype(object)
    debt[299] = "?"
    records.assign(debt=debt).to_csv("debt.csv", index=False)
    status, out, _ = call("domain", "draft", "debt.csv", "--target", "debt", "--number")
    assert (status, parse(out)["target"]["name"]) == (0, "debt")
    assert call("domain", "check", "number.yml", "debt.csv")[1].startswith(
        "all 299 records fit number.yml; 1 more lack"
    )
    how = ("--domain", "number.yml", "--epsilon", "50", "--out", "number.json")
    status, out, err = call("fit", "debt.csv", *how)
    model = dpnb.read(folder / "number.json")
    assert (status, out) == (0, f"{model.ledger_}\n")
    assert err.startswith("all 299 records fit number.yml; 1 more lack a value and are left out (line 301)")
    assert isinstance(model, dpnb.PrivateBoosterRegressor)
    assert isinstance(dpnb.read(folder / "model.json"), dpnb.PrivateBooster)  # broken twin: a class
    records.assign(**{"probability yes": 1}).to_csv("new.csv", index=False)
    status, out, err = call("predict", "number.json", "new.csv")
    assert (status, err) == (0, "")
    found = pd.read_csv(io.StringIO(out))
    assert found.columns.tolist() == [*records.columns, "probability yes", "prediction"]
    domain, _ = dpnb.domain.read_domain_file(folder / "number.yml")
    X = domain.spelt(records.astype(str))
    np.testing.assert_array_equal(found["prediction"], model.predict(X))
    assert np.corrcoef(found["prediction"], records["income"])[0, 1] > 0.9
    records.assign(prediction=1).to_csv("taken.csv", index=False)
    assert "has a column 'prediction' already" in call("predict", "number.json", "taken.csv")[2]
    assert "has a column 'probability yes' already" in call("predict", "model.json", "new.csv")[2]
    assert call("card", "number.json", "--report", "card.html")[0] == 0


@pytest.mark.parametrize(("domain", "target"), [(NUMBER, "debt"), (DOMAIN, "default")])
def test_what_does_not_fit_spends_nothing(call: Call, folder: Path, domain: str, target: str) -> None:
    (folder / "own.yml").write_text(domain, encoding="utf-8")
    table().drop(columns="default").assign(**{target: "perhaps"}).to_csv("wrong.csv", index=False)
    status, _, err = call("fit", "wrong.csv", "--domain", "own.yml", "--epsilon", "1", "--out", "new.json")
    numbers = (
        "column 'debt' must hold numbers, got 'perhaps' in 300 of 300 records (lines 2, 3, 4, ...); convert"
    )
    assert (status, (numbers if domain is NUMBER else "perhaps") in err) == (1, True)
    assert not (folder / "new.json").exists()


def test_options_may_stand_before_the_table(call: Call, folder: Path) -> None:
    table().replace("", "?").to_csv(folder / "na.csv", index=False)
    for words in (("--move", "na.csv", "--out", "a.csv"), ("na.csv", "--out", "b.csv", "--move")):
        assert call("predict", "model.json", *words) == (0, "", "")
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    assert call("predict", "model.json", "na.csv", "--out", "")[2].startswith("--out is empty: name a file")


def test_the_version_is_told(call: Call) -> None:
    assert call("--version") == (0, f"dpnb {dpnb.__version__}\n", "")
