"""Labels of every form are taken by one rule, and classes keep their types in what a model says."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

from dpnb import Continuous, Domain, PrivacyLeakWarning, PrivateBooster, PrivateBoosterRegressor, read
from dpnb.errors import DomainError

X = pd.DataFrame({"x": np.tile(np.linspace(0, 1, 20), 20)})
HIGH = X["x"] > 0.5
DOMAIN = Domain((Continuous("x", 0, 1),), ("no", "yes"))
WORDS = np.where(HIGH, "yes", "no")


def fitted(domain: Domain | None, y: Any) -> Any:
    return PrivateBooster(epsilon=1e4, domain=domain, n_rounds=3, random_state=0).fit(X, y)


FORMS: dict[str, Any] = {
    "bytes of NumPy": WORDS.astype("S3"),
    "bytes": [word.encode() for word in WORDS],
    "a category": pd.Series(WORDS).astype("category"),
    "polars": pl.Series(WORDS),
    "a frame": pd.DataFrame({"class": WORDS}),
    "a frame of polars": pl.DataFrame({"class": WORDS}),
    "a frame of Arrow": pa.table({"class": WORDS}),
    "an array of one column": WORDS.reshape(-1, 1),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_labels_in_every_form_give_one_model(name: str) -> None:
    y = FORMS[name]
    assert DOMAIN.check(X, y) == DOMAIN.check(X, WORDS)
    np.testing.assert_array_equal(fitted(DOMAIN, y).predict(X), WORDS)
    np.testing.assert_array_equal(fitted(DOMAIN, y).predict_proba(X), fitted(DOMAIN, WORDS).predict_proba(X))


@pytest.mark.parametrize("name", [name for name in FORMS if "frame" in name or "one column" in name])
@pytest.mark.parametrize("domain", [None, DOMAIN], ids=["without a domain", "with one"])
@pytest.mark.filterwarnings("ignore::dpnb.PrivacyLeakWarning")
def test_one_column_is_taken_with_and_without_a_domain(name: str, domain: Domain | None) -> None:
    with pytest.warns(DataConversionWarning, match="its only column is taken"):
        model = fitted(domain, FORMS[name])
    np.testing.assert_array_equal(model.predict(X), WORDS)
    two = pd.DataFrame({"a": WORDS, "b": WORDS})
    with pytest.raises(ValueError, match=r"got 2 dimensions|shape \(400, 2\)"):
        fitted(domain, two)


def test_numbers_to_predict_in_one_column() -> None:
    domain = Domain(DOMAIN.attributes, response=Continuous("price", 0, 1))
    model = PrivateBoosterRegressor(epsilon=1e4, domain=domain, n_rounds=3, random_state=0)
    expected = model.fit(X, X["x"]).predict(X)
    with pytest.warns(DataConversionWarning):
        np.testing.assert_array_equal(model.fit(X, X[["x"]]).predict(X), expected)


@pytest.mark.parametrize(
    "classes",
    [
        ("no", "yes"),
        (0, 1),
        (1, "1"),
        (True, 2),
        (2.5, "a"),
        (("a", 1), ("b", 2)),
        (b"a", "b"),
        (False, True),
    ],
)
def test_classes_keep_their_types(classes: tuple[Any, Any]) -> None:
    domain = Domain(DOMAIN.attributes, classes)
    y = pd.Series([classes[high] for high in HIGH], dtype=object)
    assert "do not fit" not in domain.check(X, y)
    model = fitted(domain, y)
    for found in (model.classes_.tolist(), list(dict.fromkeys(model.predict(X).tolist()))):
        assert [(type(label), label) for label in found] == [(type(label), label) for label in classes]


def test_mixed_classes_go_through_a_document(tmp_path: Path) -> None:
    y = pd.Series(["a" if high else 1 for high in HIGH], dtype=object)
    model = fitted(Domain(DOMAIN.attributes, (1, "a")), y)
    model.release(tmp_path / "m.json")
    assert read(tmp_path / "m.json").classes_.tolist() == [1, "a"]
    assert read(tmp_path / "m.json").predict(X).tolist() == model.predict(X).tolist()


def test_a_forgotten_domain_is_named() -> None:
    """What is missing can be allowed in a domain only, and whoever gave none does not know of it."""
    gone, told = X.mask(X["x"] > 0.9), "hold NaN in 40 of 400 records.* No domain was given, .* domain=Domain"
    with pytest.raises(DomainError, match=told):
        fitted_without(gone)
    with pytest.raises(DomainError, match=told):
        fitted_without(X).predict(gone)
    with pytest.raises(DomainError) as error:
        PrivateBooster(epsilon=1, domain=DOMAIN, strict=True).fit(gone, WORDS)
    assert "No domain was given" not in str(error.value)


def fitted_without(records: pd.DataFrame) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return PrivateBooster(epsilon=1e4, n_rounds=3, random_state=0).fit(records, WORDS)
