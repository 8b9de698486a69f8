"""Attacks on interpret's DPExplainableBoostingClassifier (DP-EBM), 5 rounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from audit_case import Case, without_first


def answers_differ(model: Any, *, queries: tuple[str, str]) -> list[bool]:
    first, second = model.predict_proba(np.array([[q] for q in queries], dtype=object))[:, 1]
    return [first != second]


def bag_weighs(model: Any, *, weight: int) -> list[bool]:
    return [model.bag_weights_[0] == weight]


def log_odds(model: Any) -> list[float]:
    p = model.predict_proba(np.array([[0.0], [0.5], [1.0]]))[:, 1]
    return [*np.log(p / (1 - p)), model.intercept_[0]]


def booster(**options: Any) -> Any:
    from interpret.privacy import DPExplainableBoostingClassifier

    return DPExplainableBoostingClassifier(epsilon=1.0, delta=1e-5, max_rounds=5, n_jobs=1, **options)


def cases() -> Iterator[Case]:
    """All attacks, in the order of the table."""
    y = np.arange(20) % 2
    common = np.array([["common"]] * 20, dtype=object)
    rare = common.copy()
    rare[-1] = "rare"
    for name, kind, types, queries in (
        ("nominal", "feature_types=['nominal']", ["nominal"], ("rare", "never seen")),
        ("listed", "categories listed in feature_types", [["common", "rare", "unused"]], ("rare", "unused")),
    ):
        yield Case(
            f"booster-{name}-replace-1",
            f"DPExplainableBoostingClassifier, {kind}",
            "interpret-core",
            "replace",
            1.0,
            20_000,
            partial(booster, feature_types=types),
            (rare, y),
            (common, y),
            "20 records, 19 of category 'common' and one 'rare'; in D′ all are 'common'",
            partial(answers_differ, queries=queries),
            f"predict_proba differs between '{queries[0]}' and '{queries[1]}'",
            delta=1e-5,
        )
    continuous = partial(booster, feature_types=["continuous"], privacy_bounds={0: (0.0, 1.0)})
    X = np.zeros((20, 1))
    yield Case(
        "booster-size-add-remove-1",
        "DPExplainableBoostingClassifier, feature_types=['continuous']",
        "interpret-core",
        "add-remove",
        1.0,
        2_000,
        continuous,
        (X, y),
        without_first((X, y)),
        "20 records at 0; D′ lacks one",
        partial(bag_weighs, weight=20),
        "bag_weights_ is 20",
        delta=1e-5,
    )
    moved = X.copy()
    moved[0] = 1.0
    yield Case(
        "booster-continuous-replace-1",
        "DPExplainableBoostingClassifier, feature_types=['continuous']",
        "interpret-core",
        "replace",
        1.0,
        20_000,
        continuous,
        (X, y),
        (moved, np.where(np.arange(20) == 0, 1 - y, y)),
        "20 records at 0; in D′ the first is at 1 and has the other class",
        log_odds,
        names=("log-odds at 0", "log-odds at 0.5", "log-odds at 1", "intercept_"),
        delta=1e-5,
    )
