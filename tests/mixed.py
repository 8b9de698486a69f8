"""A small sample of two continuous and two categorical attributes, for the tests of every paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dpnb import Categorical, Continuous, Domain

MIXED = Domain(
    (
        Continuous("x", -5, 20),
        Categorical("c", ("a", "b", "d")),
        Continuous("z", -1, 1),
        Categorical("g", (0, 1)),
    ),
    ("no", "yes"),
)
THREE = replace(MIXED, classes=("no", "perhaps", "yes"))


def sample(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Records of ``MIXED``, whose x fills less than its domain; the class follows from x and c."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "x": rng.uniform(0, 10, n),
            "c": rng.choice(["a", "b", "d"], n),
            "z": rng.uniform(-1, 1, n),
            "g": rng.integers(0, 2, n),
        }
    )
    return X, pd.Series(np.where((X["x"] > 4) & (X["c"] != "a"), "yes", "no"), name="class")


def sample_of_three(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """The same records with the classes of ``THREE``."""
    X, y = sample(n, seed)
    return X, y.mask((X["x"] > 4) & (X["c"] == "a"), "perhaps")
