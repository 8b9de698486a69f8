"""Markers of missing values are public, travel with a model, and mean the same wherever records are taken."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpnb
from dpnb import Categorical, Continuous, Domain
from dpnb.domain.encoding import replaced, unmarked
from dpnb.errors import DomainError

MARKERS = ("?", "NA", -999, "9999-12-31")
NUMBER = Continuous("x", 0, 10, missing=True)
DATE = Continuous("x", "2000-01-01", "2020-12-31", missing=True, format="%d/%m/%Y")
WORD = Categorical("x", ("a", "?", "b"), missing=True)
CODE = Categorical("x", (1, -999, 2), missing=True)
PLAIN = Categorical("x", ("a", "b"), missing=True)

COLUMNS: list[tuple[Any, Any, list[bool]]] = [
    (NUMBER, [1.0, -999.0, 2.0], [False, True, False]),
    (NUMBER, pd.array([1, -999, None], "Int64"), [False, True, True]),
    (NUMBER, pd.array([1, -999, 3], "int64[pyarrow]"), [False, True, False]),
    (NUMBER, pd.array([1.5, -999.0], "float32[pyarrow]"), [False, True]),
    (NUMBER, ["5", "-999.0", "NA", "na", " -999 ", "-99"], [False, True, True, False, True, False]),
    (NUMBER, pd.Categorical(["5", "?", "7"]), [False, True, False]),
    (DATE, ["01/02/2003", "?", "31/12/9999", "9999-12-31", "-999"], [False, True, False, True, True]),
    (replace(DATE, format=""), ["2003-02-01", "9999-12-31T10:00", "99991231"], [False, True, True]),
    (replace(DATE, format=""), np.array(["2003-02-01", "9999-12-31"], "datetime64[s]"), [False, True]),
    (WORD, ["a", "?", "NA", None], [False, False, True, True]),
    (CODE, [1, -999, "-999", "NA"], [False, False, False, True]),
    (PLAIN, pd.array(["a", "?", "-999"], "string"), [False, True, True]),
    (PLAIN, pd.Categorical(["a", "?"]), [False, True]),
    (PLAIN, [True, -999, [1], {}], [False, True, False, False]),
    (Categorical("x", (True, False), missing=True), [True, -999, False], [False, True, False]),
]


@pytest.mark.parametrize(("attribute", "values", "gone"), COLUMNS)
def test_a_marker_is_one_however_a_column_is_typed(attribute: Any, values: Any, gone: list[bool]) -> None:
    column = pd.Series(values, dtype=object if isinstance(values, list) else None)
    assert unmarked(column, attribute, MARKERS).isna().tolist() == gone
    assert unmarked(column, attribute, ()) is column
    there = ~np.array(gone)
    kept = replaced(column, attribute)[there]  # a marker beside them changes no other value
    np.testing.assert_array_equal(replaced(unmarked(column, attribute, MARKERS), attribute)[there], kept)


def test_markers_mean_the_same_wherever_records_are_taken() -> None:
    domain = Domain((NUMBER, replace(PLAIN, name="c")), response=Continuous("y", 0, 9), missing=MARKERS)
    X = pd.DataFrame({"x": ["1", "-999", "NA"], "c": ["?", "a", "z"]})
    right = [[1, 2], [NUMBER.floor, 0], [NUMBER.floor, 2]]
    assert domain.replaced(X).tolist() == domain.replaced(X.to_numpy()).tolist() == right
    assert domain.encode(X[:2]).tolist() == right[:2]
    assert "all 2 records fit" in domain.check(X[:2], [1, 2])
    assert domain.replaced_labels([1, -999, "NA", 20]).tolist() == [1, 4.5, 4.5, 9]
    with pytest.raises(DomainError, match=r"missing|NaN"):
        domain.encode_labels([1, -999])
    classes = Domain((NUMBER,), ("no", "NA"), missing=MARKERS)
    assert classes.encode_labels(["NA", "no"]).tolist() == [1, 0]


def test_an_unknown_category_is_missing_where_that_is_allowed() -> None:
    for options, code in (
        ({}, 0), ({"missing": True}, 2), ({"unknown": "other"}, 2), ({"missing": True, "unknown": "other"}, 2)
    ):  # fmt: skip
        attribute = Categorical("c", ("a", "b"), **options)
        assert replaced(pd.Series(["z", "b"]), attribute).tolist() == [code, 1]
        assert attribute.levels[code] == ("a" if not options else list(attribute.levels)[2])
    with pytest.raises(DomainError, match="unknown values"):  # who checks a table is told
        Domain((Categorical("c", ("a", "b"), missing=True),), (0, 1)).encode(pd.DataFrame({"c": ["z"]}))


def test_documents_carry_markers(tmp_path: Path) -> None:
    """One without any is as it was, to the byte; one with some is of a version that earlier packages refuse."""
    plain = Domain((NUMBER, replace(PLAIN, name="c")), ("no", "yes"))
    X = pd.DataFrame({"x": [1.0, 2.0, -999.0] * 30, "c": ["a", "?", "b"] * 30})
    y = pd.Series(["no", "yes", "yes"] * 30)
    found = {}
    for name, domain in (("plain", plain), ("marked", replace(plain, missing=MARKERS))):
        model = dpnb.PrivateBooster(domain=domain, epsilon=5.0, n_rounds=3, random_state=0).fit(X, y)
        model.release(tmp_path / f"{name}.json")
        again = dpnb.read(tmp_path / f"{name}.json")
        assert again.domain_ == domain
        assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
        found[name] = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        domain.to_yaml(tmp_path / "d.yml")
        assert Domain.from_yaml(tmp_path / "d.yml") == domain
    assert [found[name]["version"] for name in ("plain", "marked")] == [2, 3]
    assert found["marked"]["domain"].pop("csv") == {"missing": [*MARKERS]}
    assert found["marked"]["domain"] == found["plain"]["domain"]
    found["plain"]["domain"]["csv"] = {"ignore": ["x"]}
    (tmp_path / "odd.json").write_text(json.dumps(found["plain"]), encoding="utf-8")
    with pytest.raises(dpnb.DataError, match=r"csv reads \{.ignore."):
        dpnb.read(tmp_path / "odd.json")


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ([None], "must be a list of texts or numbers"),
        ([[1]], "must be a list"),
        (float("nan"), "missing value"),
        (1e999, "finite"),
    ],
)
def test_markers_that_make_no_sense(missing: Any, message: str) -> None:
    with pytest.raises(
        DomainError, match=f"csv: missing {message}|csv: missing must not hold|csv: missing must be finite"
    ):
        Domain((NUMBER,), (0, 1), missing=missing)
    assert Domain((NUMBER,), (0, 1), missing="?").missing == ("?",)
    assert Domain((NUMBER,), (0, 1), missing=["?", "?"]).missing == ("?",)


def test_a_transformed_number_has_the_range_of_the_transformed() -> None:
    """With the range of the number itself the R² is beyond all measure, and only the check can say so."""
    from sklearn.compose import TransformedTargetRegressor

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 10, 2000)})
    y = np.expm1(X["x"] * 0.9)
    ranges = {"right": np.log1p(20_000), "wrong": 20_000.0}
    scores = {}
    for name, high in ranges.items():
        domain = Domain((replace(NUMBER, missing=False),), response=Continuous("price", 0, high))
        inner = dpnb.PrivateBoosterRegressor(domain=domain, epsilon=3.0, n_rounds=9, random_state=0)
        model = TransformedTargetRegressor(inner, func=np.log1p, inverse_func=np.expm1, check_inverse=False)
        scores[name] = model.fit(X, y).score(X, y)
        assert ("in less than 1% of its bounds" in domain.check(X, np.log1p(y))) == (name == "wrong")
    assert scores["right"] > 0.2 > 0 > scores["wrong"]
