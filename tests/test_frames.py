"""Tables of any library are read by name, in memory and in a stream; a column out of place changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dpnb import Categorical, Continuous, Domain, PrivacyLeakWarning, PrivateBooster
from dpnb.domain import as_frame, as_series, frames
from dpnb.errors import DomainError

DOMAIN = Domain(
    (
        Continuous("a", 0, 1, missing=True),
        Continuous("b", 0, 1),
        Categorical("c", ("x", "y"), missing=True),
        Continuous("day", "2020-01-01", "2021-01-01"),
    ),
    ("no", "yes"),
)


def sample(n: int = 200) -> tuple[pd.DataFrame, pd.Series[Any]]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
            "b": rng.random(n),
            "c": rng.choice(["x", "y"], n).astype(object),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 360, n), unit="D"),
        }
    )
    X.loc[:10, "c"] = None
    return X, pd.Series(np.where(X["a"] > 0.5, "yes", "no"), name="class")


class Interchange:
    """A table that can do nothing but the interchange protocol."""

    def __init__(self, X: pd.DataFrame) -> None:
        self.X = X

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self.X.__dataframe__(allow_copy=allow_copy)


def arrow(X: pd.DataFrame) -> Any:
    return pytest.importorskip("pyarrow").Table.from_pandas(X)


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "polars": lambda X: pl.DataFrame(
        {name: X[name].to_numpy() if name != "c" else X[name].replace({np.nan: None}).to_list() for name in X}
    ),
    "pyarrow": arrow,
    "interchange": Interchange,
    "pandas, other types": lambda X: X.astype({"c": "category", "a": "Float64"}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "names", [["a", "b", "c", "day"], ["day", "c", "b", "a"]], ids=["in order", "reordered"]
)
def test_tables_are_read_by_name(kind: str, names: list[str]) -> None:
    X, y = sample()
    table = KINDS[kind](X[names])
    np.testing.assert_array_equal(DOMAIN.replaced(table), DOMAIN.replaced(X))
    np.testing.assert_array_equal(DOMAIN.encode(table), DOMAIN.encode(X))
    model = PrivateBooster(domain=DOMAIN, epsilon=100.0, n_rounds=6, random_state=0)
    there, here = model.fit(table, y).predict_proba(table), model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(there, here)
    assert model.feature_importances_[0] > model.feature_importances_[1]


def test_read_by_position_the_columns_would_be_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: what polars frames were before they were read by name."""
    X, _ = sample()
    numbers, domain = X[["b", "a"]].fillna(0.0), DOMAIN.subset(["a", "b"])
    table = pl.DataFrame({name: numbers[name].to_numpy() for name in numbers})
    right = domain.replaced(table)
    np.testing.assert_array_equal(right[:, 0], numbers["a"].to_numpy())
    monkeypatch.setattr(frames, "as_frame", lambda X: X if isinstance(X, pd.DataFrame) else np.asarray(X))
    wrong = domain.replaced(frames.as_frame(table))
    np.testing.assert_array_equal(wrong[:, 0], numbers["b"].to_numpy())


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "interchange"])
def test_names_are_kept_without_a_domain_too(kind: str) -> None:
    X, y = sample()
    X = X[["b"]].assign(a=X["a"].fillna(0.0))
    with pytest.warns(PrivacyLeakWarning):
        model = PrivateBooster(n_rounds=3, random_state=0).fit(KINDS[kind](X), y)
    assert model.feature_names_in_.tolist() == ["b", "a"]
    assert model.domain_.names == ("b", "a")


def test_a_lazy_table_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"lazy table: pass X.collect\(\)"):
        DOMAIN.replaced(pl.LazyFrame({"a": [1.0]}))


def test_columns_that_a_library_cannot_hand_over_go_value_by_value() -> None:
    table = pl.DataFrame({"a": pl.Series([object(), 0.5], dtype=pl.Object), "b": [0.1, 0.2]})
    np.testing.assert_array_equal(
        DOMAIN.subset(["a", "b"]).replaced(table), [[DOMAIN.lows[0], 0.1], [0.5, 0.2]]
    )


def test_without_pyarrow_tables_go_value_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample()
    table, labels = KINDS["polars"](X), pl.Series(y.tolist())
    whole, codes = DOMAIN.replaced(table), DOMAIN.replaced_labels(labels)

    def fails(self: Any) -> Any:
        raise ModuleNotFoundError("pyarrow")

    monkeypatch.setattr(pl.DataFrame, "to_pandas", fails)
    monkeypatch.setattr(pl.Series, "to_pandas", fails)
    np.testing.assert_array_equal(DOMAIN.replaced(table), whole)
    np.testing.assert_array_equal(DOMAIN.encode(table), whole)
    np.testing.assert_array_equal(DOMAIN.replaced_labels(labels), codes)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pl.DataFrame({"a": [0.1]}), r"X lacks the columns 'b', 'c', 'day'"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "repeated columns: 'a'"),
        (np.zeros(3), "2-D array, got 1 dimension"),
        ([[1.0, 2.0], [1.0]], "2-D array, got 1 dimension"),
        (np.zeros((2, 3)), "X has 3 features, but the domain has 4"),
    ],
)
def test_wrong_columns(table: Any, message: str) -> None:
    for read in (DOMAIN.replaced, DOMAIN.encode):
        with pytest.raises(DomainError, match=message):
            read(table)


def test_rows_of_lists_keep_what_they_hold() -> None:
    rows = [[0.5, [1, 2], {"x": 1}, None], [None, 0.25, "x", "2020-01-02"]]
    moved = DOMAIN.replaced(rows)
    assert moved[:, 1].tolist() == [0.5, 0.25]
    assert moved[1, 2:].tolist() == [0, 18263]


def test_labels_of_any_library() -> None:
    for labels in (pl.Series(["no", "yes"]), np.array(["no", "yes"]), ["no", "yes"], ("no", "yes")):
        assert DOMAIN.replaced_labels(labels).tolist() == [0, 1]
        assert DOMAIN.encode_labels(labels).tolist() == [0, 1]
    assert isinstance(as_series(pl.Series([1])), pd.Series)
    with pytest.raises(DomainError, match="one-dimensional"):
        as_series([["no"], ["yes"]])


def test_arrays_stay_arrays() -> None:
    array = np.zeros((2, 2))
    assert as_frame(array) is array
    sparse = pytest.importorskip("scipy.sparse").csr_array(array)
    with pytest.raises(TypeError, match=r"X is sparse: .*pass X.toarray\(\)"):
        DOMAIN.replaced(sparse)
