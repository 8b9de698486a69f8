"""Attacks on Lumberjack's DPSparseExtraTreesClassifier, one tree."""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import lru_cache, partial
from typing import Any

from audit_case import Case, at_one, label_1, without_first

DOCUMENTED = "add-remove or zero-out, in a comment of the code"


@lru_cache
def forest(epsilon: float, delta: float) -> Any:
    """An unfitted forest; thresholds are worked out when it is made, which takes longer than a fit."""
    from dp_random_forest.algorithms import DPSparseExtraTreesClassifier

    return DPSparseExtraTreesClassifier(
        epsilon=epsilon,
        delta=delta,
        splitting_fraction=0.75,
        n_estimators=1,
        max_depth=1,
        leaf_algorithm="exponential_mechanism",
        bounds=([0.0], [1.0]),
    )


class Quiet:
    """The forest without a seed and without what it prints."""

    def __init__(self, epsilon: float, delta: float):
        self.model = copy.deepcopy(forest(epsilon, delta))

    def fit(self, X: Any, y: Any) -> Quiet:
        with redirect_stdout(io.StringIO()):
            self.model.fit(X, y)
        self.tree_ = self.model.estimators_[0].tree_
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(X)


def splits(model: Quiet) -> list[bool]:
    return [model.tree_.node_count > 1]


def records_are(model: Quiet, *, count: int) -> list[bool]:
    return [model.tree_.n_node_samples[0] == count]


def cases() -> Iterator[Case]:
    """All attacks, in the order of the table."""
    three = at_one([0, 0, 1])
    words = "3 equal points, two of class 0 and one of class 1; D′ lacks one of class 0"
    for name, delta, runs, observe, event in (
        ("split", 0.01, 4_000, splits, "the tree has a split"),
        ("label", 1e-5, 4_000, label_1, "predict at the point: class 1"),
        ("size", 1e-5, 1_000, partial(records_are, count=3), "tree_.n_node_samples of the root is 3"),
    ):
        yield Case(
            f"lumberjack-{name}-add-remove-1",
            "DPSparseExtraTreesClassifier, 1 tree of depth 1"
            + (", the fitted object" if name == "size" else ""),
            "dp-random-forest",
            "add-remove",
            1.0,
            runs,
            partial(Quiet, 1.0, delta),
            three,
            without_first(three),
            words,
            observe,
            event,
            delta=delta,
            documented=DOCUMENTED,
        )
