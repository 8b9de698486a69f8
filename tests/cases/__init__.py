"""What tests of all papers are given, a module a paper: answers to its exercises, and what its figures show."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pandas as pd

Answer = Callable[..., Any]
Answers = dict[Answer, list[tuple[Answer, str]]]
RIGHT = ""  # what a check says of a right answer


def points(**axes: list[Any]) -> pd.DataFrame:
    """Means with errors at every combination of the axes."""
    rows = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return pd.DataFrame(rows).assign(mean=lambda t: 0.5 + 0.1 * t.get("epsilon", 1.0), error=0.01)


TWO, EPSILONS, LEVELS = ["one", "two"], [0.1, 1.0], {name: {"floor": 0.6} for name in ("one", "two")}
AT_ONE = points(dataset=TWO, epsilon=EPSILONS)
LADDER = points(dataset=TWO, method=["00 a", "01 b"], epsilon=EPSILONS)
LINES = pd.DataFrame({"a": [1.0, 10.0], "b": [2.0, 5.0]}, index=[10, 100])
