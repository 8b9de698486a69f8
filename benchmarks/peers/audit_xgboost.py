"""Attacks on dp-xgboost. Its noise is seeded with the second of the clock, so every event here holds or fails for
each second alike: the frequencies are those of all seconds, though fits within one second are not independent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from audit_case import Case, Data, without_first


class Trees:
    """Boosted trees of depth 1 without samples and with rate 1, at ε = 1 together.

    Parameters
    ----------
    count : number of trees.
    """

    def __init__(self, count: int):
        self.count = count

    def fit(self, X: Any, y: Any) -> Trees:
        setattr(np, "cfloat", np.complex128)  # noqa: B010  # a name that it looks up, and that NumPy 2 dropped
        import dp_xgboost

        ends = np.zeros(X.shape[1]), np.ones(X.shape[1])
        data = dp_xgboost.DMatrix(
            X.astype(np.float32), label=y.astype(float), feature_min=ends[0], feature_max=ends[1]
        )
        options = {
            "objective": "binary:logistic",
            "tree_method": "approxDP",
            "dp_epsilon_per_tree": 1 / self.count,
            "max_depth": 1,
            "learning_rate": 1.0,
            "subsample": 1.0,
            "min_child_weight": 1.0,
            "nthread": 1,
            "verbosity": 0,
        }
        self.trees_ = [
            json.loads(text)
            for text in dp_xgboost.train(options, data, num_boost_round=self.count).get_dump(
                with_stats=True, dump_format="json"
            )
        ]
        return self


# --- What is looked at --------------------------------------------------------------------------------------


def covers(model: Trees, *, records: int) -> list[bool]:
    """At first every record weighs 1/4."""
    root = model.trees_[0]
    return [root["cover"] == records / 4]


def splits(model: Trees) -> list[bool]:
    return ["children" in model.trees_[0]]


def noise_is_shared(model: Trees, *, labels: Any) -> list[bool]:
    """Whether two trees of one leaf have the same noise, if the records have these labels."""
    first, second = (tree["leaf"] for tree in model.trees_)
    gap = leaf(labels, margin=first) - leaf(labels, margin=0.0)
    return [abs((second - first) - gap) < 1e-4]


def leaf(labels: Any, *, margin: float) -> float:
    """Value of a leaf of all records before the noise, where they all have this log-odds; regularisation 1."""
    p = 1 / (1 + np.exp(-margin))
    weight = len(labels) * p * (1 - p)
    value = (labels.sum() - len(labels) * p) / (weight + 1) if weight >= 1 else 0.0
    return float(np.clip(value, -1, 1))


# --- Attacks ------------------------------------------------------------------------------------------------


def cases() -> Iterator[Case]:
    """All attacks, in the order of the table."""
    two_points: Data = (np.repeat([0.0, 1.0], 4)[:, None], np.repeat([0, 1], 4))
    yield Case(
        "xgboost-cover-add-remove-1",
        "approxDP, 1 tree of depth 1, with its statistics",
        "dp-xgboost",
        "add-remove",
        1.0,
        2_000,
        partial(Trees, 1),
        two_points,
        without_first(two_points),
        "4 records of class 0 at 0 and 4 of class 1 at 1; D′ lacks one of class 0",
        partial(covers, records=8),
        "the dump of the model says cover = 2 at the root",
    )
    yield Case(
        "xgboost-split-add-remove-1",
        "approxDP, 1 tree of depth 1",
        "dp-xgboost",
        "add-remove",
        1.0,
        2_000,
        partial(Trees, 1),
        two_points,
        without_first(two_points),
        "4 records of class 0 at 0 and 4 of class 1 at 1; D′ lacks one of class 0",
        splits,
        "the tree has a split",
    )
    point = np.full((8, 1), 0.5)
    labels = np.repeat([0, 1], 4)
    yield Case(
        "xgboost-noise-replace-1",
        "approxDP, 2 trees of depth 1",
        "dp-xgboost",
        "replace",
        1.0,
        2_000,
        partial(Trees, 2),
        (point, labels),
        (point, np.repeat([0, 1], [5, 3])),
        "8 equal points, 4 of class 1; in D′ 3 of class 1",
        partial(noise_is_shared, labels=labels),
        "the two leaf values differ as they would on D with one noise in both",
    )
