"""What the tests of the Spark door share: records, their Spark table, and what it means that two models are equal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession

from dpnb import Categorical, Continuous, Domain, spark
from dpnb.estimators.documents import ledger_document, plain
from dpnb.records.memory import Records

DOMAIN = Domain(
    (
        Continuous("x", 0, 1),
        Categorical("c", ("red", "green", "blue")),
        Continuous("hours-per-week", 0, 99),
        Categorical("flag", (False, True)),
    ),
    ("no", "perhaps", "yes"),
    "label",
)
N = 900


def three_classes() -> tuple[pd.DataFrame, pd.Series[Any], Domain]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "x": rng.random(N).round(2),
            "c": rng.choice(["red", "green", "blue"], N),
            "hours-per-week": rng.integers(0, 100, N),
            "flag": rng.integers(0, 2, N).astype(bool),
        }
    )
    signal = 2 * (X["x"] > 0.6) + (X["c"] == "red") + rng.normal(0, 0.5, N)
    y = pd.Series(np.array(DOMAIN.classes)[np.digitize(signal, [0.8, 1.8])], name="label")
    return X, y, DOMAIN


def table_of(session: SparkSession, X: pd.DataFrame, y: pd.Series[Any], *, parts: int) -> DataFrame:
    """Records in another order, in so many partitions, with their index labels as the column ``id``."""
    frame = X.assign(**{str(y.name): y}, id=X.index).sample(frac=1, random_state=parts)
    return session.createDataFrame(frame).repartition(parts)


def parts_of(model: Any) -> str:
    """Everything that a model releases, to the bit, and its ledger."""
    released = {name: plain(getattr(model, name)) for name in model._released}
    return json.dumps([released, ledger_document(model.ledger_)])


def check_equal(make: Callable[..., Any], records: Records, table: spark.SparkTable) -> None:
    one, other = make(random_state=3).fit(records), make(random_state=3).fit(table)
    assert parts_of(one) == parts_of(other)
    # Broken twins: other seeds, of which one may well choose the same stumps.
    assert any(parts_of(one) != parts_of(make(random_state=seed).fit(records)) for seed in range(4, 12))
