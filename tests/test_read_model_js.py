"""The reader in JavaScript predicts what ``dpnb.read`` predicts, or throws; this needs Node."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpnb
from dpnb import Categorical, Continuous, Domain
from dpnb.domain.encoding import _days
from dpnb.papers.edprf import EDPRF

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None, reason="Node is not installed: the reader in JavaScript is not run"
)
CODE = (Path(__file__).parents[1] / "book" / "_static" / "read-model.js").read_text(encoding="utf-8")
RUN = """
let text = "";
const tried = (work) => { try { return work(); } catch (error) { return String(error); } };
process.stdin.on("data", (part) => (text += part)).on("end", () =>
  console.log(JSON.stringify(JSON.parse(text).map(({ document, records, texts, format }) => texts
    ? texts.map((one) => (format ? formatDay(one.trim(), format) : isoDay(one.trim())))
    : records.map((record) => tried(() => predict(document, record)))))));
"""
ATTRIBUTES = (
    Continuous("age", 0, 100, missing=True, unit="years"),
    Continuous("cost", -5, 1000, clip=True),
    Continuous("since", "2000-01-01", "2020-12-31", format="%d/%m/%Y"),
    Continuous("seen", "1990-01-01", "2030-06-30", missing=True),
    Categorical("smoker", ("Y", "N", "-"), missing=True),
    Categorical("grade", (1, 2.5, "three", False), unknown="other"),
    Categorical("plan", ("a", "other", "Émile"), missing=True, unknown="other"),
    Categorical("ward", ("north", "south")),
)
MARKERS = ("-", "NA", -999, "01/01/1900")
DOMAIN = Domain(ATTRIBUTES, ("no", "yes", "perhaps"), missing=MARKERS)
# fmt: off
COMMON: dict[str, list[Any]] = {
    "age": [*range(0, 101, 7), None, "NA", -999, "-999.0"], "cost": [*range(0, 1000, 90)],
    "since": ["01/02/2003", "3/4/2011", "31/12/2020"], "seen": ["2001-02-03", "20100506", "2030-06-30T23:59"],
    "smoker": ["Y", "N", "-", "NA"], "grade": [1, 2.5, "three", "5"], "plan": ["a", "other", "b", None],
    "ward": ["north", "south"],
}
ODD: list[Any] = [
    None, "", " ", "-", "NA", "na", -999, "-999", "-999.0", "01/01/1900", "1900-01-01", "0", "57", 57, " 12 ",
    "1e1", "0x10", "1_0", "12,5", "inf", "-Infinity", "nan", 1e9, -1e9, -0.0, 1, 1.0, "1.0", "2.50", "true", "TRUE",
    True, False, "false", "21/10/2022", "03/04/2012", "31/02/2012", "12/31/2012", "1/1/2001 ", "2012-04-03",
    "2012-04-03T10:00", "2012-02-30", "2001-01-00",
    "2012-04-03T24:00", "2012-04-03 10:00:00.5+02:00", "2012-04-03Tx", "1850-01-01", "9999-12-31", "0000-01-01", "y",
    "missing", "Missing", "other", "Other", "three ", "\u00c9mile", "E\u0301mile", "north", "North", [], {}, [1],
]
# fmt: on


def random_records(n: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    records = []
    for _ in range(n):
        record = {name: values[rng.integers(len(values))] for name, values in COMMON.items()}
        for name in record:
            if rng.random() < 0.12:
                record[name] = ODD[rng.integers(len(ODD))]
        records.append(record)
    usual = {name: values[0] for name, values in COMMON.items()}
    return [*records, *(usual | {"age": age} for age in (-1e9, -1, 1e9, "-inf")), usual | {"grade": True}]


def sample(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    picked = {k: [v[i] for i in rng.integers(len(v), size=n)] for k, v in COMMON.items()}
    return pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in picked.items()})


@cache
def documents(folder: Path) -> list[dict[str, Any]]:
    """A booster, a forest, a regressor and a forest of bins on a domain with all options, and their models."""
    X = sample()
    score = (
        pd.to_numeric(X["age"], errors="coerce").fillna(150) / 50
        + (X["ward"] == "north")
        + (X["smoker"] == "Y")
        + (X["grade"] == 1)
        + X["plan"].isna()
    )
    y = pd.cut(score + X["since"].eq("3/4/2011"), [-1, 1.2, 2.2, 9], labels=["no", "yes", "perhaps"]).astype(
        str
    )
    number = Domain(ATTRIBUTES, response=Continuous("price", 0, 500), missing=MARKERS)
    how: dict[str, Any] = {"epsilon": 50.0, "random_state": 0}
    models = [
        dpnb.PrivateBooster(domain=DOMAIN, n_rounds=9, **how).fit(X, y),
        EDPRF(domain=DOMAIN, n_trees=5, **how).fit(X, y),
        dpnb.PrivateBoosterRegressor(domain=number, n_rounds=9, **how).fit(X, 100 * score),
        EDPRF(domain=DOMAIN, n_trees=5, splits="multiway", **how).fit(X, y),
    ]
    for place, model in enumerate(models):
        model.release(folder / f"{place}.json")
    return [
        json.loads((folder / f"{place}.json").read_text(encoding="utf-8")) for place in range(len(models))
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def in_javascript(asked: list[dict[str, Any]], code: str = CODE) -> list[Any]:
    run = subprocess.run(
        [str(NODE), "-e", code + RUN],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return list(json.loads(run.stdout))


def expected(model: Any, records: list[dict[str, Any]]) -> list[Any]:
    """What the model predicts of each record; None if the domain has no place for a value, or a list is one."""
    found: list[Any] = []
    for record in records:
        table = pd.DataFrame({k: pd.Series([v], dtype=object) for k, v in record.items()})
        codes, moves = model.domain_.replaced_and_moves(table)
        is_odd = moves.without_place() or any(isinstance(v, list | dict) for v in record.values())
        predicted = model._numbers if model.domain_.response is not None else model._probabilities
        found.append(None if is_odd else predicted(codes)[0].tolist())
    return found


def wrong(found: list[Any], right: list[Any]) -> int:
    """Records that are predicted otherwise, or not refused."""

    def differ(mine: Any, theirs: Any) -> bool:
        if theirs is None or isinstance(mine, str):
            return not (theirs is None and isinstance(mine, str) and mine.startswith("Error: "))
        return not np.allclose(np.array(mine, float), theirs, rtol=1e-12, atol=1e-12)

    return sum(map(differ, found, right))


def test_the_reader_predicts_the_same_or_throws(folder: Path) -> None:
    records = random_records(200)
    asked = [{"document": document, "records": records} for document in documents(folder)]
    right = [expected(dpnb.read(folder / f"{place}.json"), records) for place in range(len(asked))]
    assert all(50 < sum(one is None for one in each) < 150 for each in right)
    assert all(
        one["document"]["version"] == 3 for one in asked
    )  # no earlier package reads them without the markers
    assert [*map(wrong, in_javascript(asked), right)] == [0, 0, 0, 0]

    def twin(change: Callable[[dict[str, Any]], object], place: int) -> None:
        document = json.loads(json.dumps(asked[place]["document"]))
        change(document)
        assert wrong(in_javascript([{"document": document, "records": records}])[0], right[place]) > 0

    for place in (0, 1, 2, 3):
        twin(lambda one: one["domain"]["attributes"][2].update(format="%m/%d/%Y"), place)
    twin(lambda one: one["domain"].pop("csv"), 0)
    twin(lambda one: one["model"]["models_"][0]["table"]["data"].reverse(), 0)
    twin(lambda one: one["model"]["trees_"][0]["value"]["data"].reverse(), 1)
    twin(lambda one: one["domain"]["target"].update(range=[0, 501]), 2)
    twins = (
        ("Math.min(Math.max(n, low), high)", "n"),
        ("a.missing ? -Infinity", "a.missing ? Infinity"),
        ('gone && a.missing ? "missing" : a.unknown', "a.unknown"),
        ("read(m) === n ||", "m === n ||"),
        ("cut < x[a]", "cut <= x[a]"),
        ("cut < v", "cut > v"),
        ("v > cuts[0]", "v < cuts[0]"),
    )
    assert all(part in CODE for part, _ in twins)
    found = (in_javascript(asked, CODE.replace(part, other)) for part, other in twins)
    missed = [part for (part, _), each in zip(twins, found, strict=True) if not sum(map(wrong, each, right))]
    assert missed == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one.update(version=4), r"version 4: take the functions of dpnb \d"),
        (lambda one: one.update(format="x"), "no document of a model"),
        (lambda one: one.update(estimator="Oracle"), "models of Oracle are not read here"),
        (lambda one: one.update(estimator="DPAda"), "models of DPAda are not read here"),
        (lambda one: one["domain"]["attributes"].append({"name": "new", "continuous": [0, 1]}), "lacks new"),
        (lambda one: one["domain"]["attributes"][0].pop("continuous"), "age is of an unknown kind"),
        (
            lambda one: one["domain"]["attributes"][2].update(format="%d/%q/%Y"),
            "no dates are read in the format",
        ),
        (lambda one: one["model"]["models_"].pop(), "the document is damaged"),
        (lambda one: one["model"]["models_"][0]["table"].update(data=[]), "the document is damaged"),
    ],
)
def test_what_cannot_be_read_is_an_error(folder: Path, change: Callable[[Any], object], message: str) -> None:
    document = json.loads(json.dumps(documents(folder)[0]))
    record = {name: values[0] for name, values in COMMON.items()}
    before, after = {"document": document, "records": [record]}, json.loads(json.dumps(document))
    change(after)
    fine, refused = in_javascript([before, {"document": after, "records": [record]}])
    assert sum(fine[0]) == pytest.approx(1)
    assert re.search(f"^Error: .*{message}", refused[0]), refused


FORMATS = (
    "", "%d/%m/%Y", "%m-%d-%Y", "%Y%m%d", "%d %b %Y", "%B %d, %Y", "%Y.%j", "%Y%j", "%d.%m.%Y %H:%M", "%d%m%Y%H%M%S",
    "%d/%m/%Y %I:%M %p", "%Y-%m-%dT%H:%M:%S.%f%z", "le %d/%m/%Y (%%)", "%d%b%Y",
)  # fmt: skip
ISO = ("%Y-%m-%d", "%Y%m%d", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M")


def test_dates_are_read_by_one_rule() -> None:
    """Written in every format, and then changed in a sign or two."""
    rng = np.random.default_rng(0)
    asked = []
    for form in FORMATS:
        texts = []
        for _ in range(400):
            moment = datetime(1, 1, 1) + timedelta(
                seconds=float(rng.integers(3650 * 86400 * 1000 * 86)) % 3.15e11
            )
            written = form or ISO[len(texts) % len(ISO)]
            shown = moment.strftime(written.replace("%z", "+0200"))
            for _ in range(rng.integers(3)):
                at = rng.integers(len(shown) + 1)
                more = "0123456789 :.-+TZzaM/"[rng.integers(21)] * int(rng.integers(2))
                shown = shown[:at] + more + shown[at + rng.integers(2) :]
            texts.append(shown)
        asked.append({"texts": [*texts, *(v for v in ODD if isinstance(v, str))], "format": form})
    for one, found in zip(asked, in_javascript(asked), strict=True):
        right = [_days(text, one["format"]) for text in one["texts"]]
        assert 30 < sum(day == day for day in right) < 400, one["format"]
        differ = [
            (one["format"], text, mine, theirs)
            for text, mine, theirs in zip(one["texts"], found, right, strict=True)
            if mine != (theirs if theirs == theirs else None)
        ]
        assert differ == []
