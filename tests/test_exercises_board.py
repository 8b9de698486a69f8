"""The checks of the exercises on which method to take accept a right answer and refuse the usual wrong ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from dpnb.audit.multiplicity import holm
from private_trees.exercises.board import check_holm, check_take
from private_trees.standings import MUCH

CHOICE = pd.DataFrame(
    {"method": [f"m{i}" for i in range(6)], "additive": [f"a{i}" for i in range(6)]},
    index=pd.MultiIndex.from_product([["(ε, δ)", "pure ε"], ["two"], range(3)]),
)


def take(
    n: int,
    epsilon: float,
    *,
    allows_delta: bool,
    needs_shapes: bool,
    limits: tuple[float, float] = (MUCH[0], MUCH[1]),
) -> str:
    rows = CHOICE.loc[("(ε, δ)" if allows_delta else "pure ε", "two")]
    row = rows.iloc[sum(n * epsilon >= limit for limit in limits)]
    return str(row["additive" if needs_shapes else "method"])


def test_right_answers_pass() -> None:
    assert check_holm(lambda p: holm(np.array(p))).startswith("all right")
    assert check_take(take, CHOICE).startswith("all right")


@pytest.mark.parametrize(
    ("wrong", "case"),
    [
        (lambda p: np.minimum(np.array(p) * len(p), 1), r"\[0.01, 0.04, 0.03\]"),  # Bonferroni
        (lambda p: np.sort(holm(np.array(p))), r"\[0.01, 0.04, 0.03\]|\[0.001, 0.2, 0.06\]"),  # order lost
        (
            lambda p: np.array(p) * (len(p) - np.argsort(np.argsort(p))),  # neither monotone nor cut off
            r"\[0.01, 0.04, 0.03\]|\[0.5, 0.5\]",
        ),
        (
            lambda p: np.maximum.accumulate(np.sort(p) * np.arange(len(p), 0, -1))[np.argsort(np.argsort(p))],
            r"\[0.9, 0.4, 0.6\]",  # no cap at 1
        ),
    ],
    ids=["Bonferroni", "order lost", "not monotone", "above 1"],
)
def test_wrong_corrections_are_named(wrong: Callable[[list[float]], np.ndarray], case: str) -> None:
    with pytest.raises(AssertionError, match=f"for p = (?:{case}): expected"):
        check_holm(wrong)


@pytest.mark.parametrize(
    ("wrong", "case"),
    [
        (lambda n, epsilon, **more: take(n, 1.0, **more), "n·ε"),  # ε forgotten
        (lambda n, epsilon, *, needs_shapes, **more: take(n, epsilon, needs_shapes=False, **more), "'a"),
        (
            lambda n, epsilon, **more: take(n, epsilon, limits=(MUCH[0] + 1e-9, MUCH[1] + 1e-9), **more),
            f"n·ε = {MUCH[0]:g}",
        ),
    ],
    ids=["epsilon forgotten", "shapes forgotten", "limits excluded"],
)
def test_wrong_choices_are_named(wrong: Callable[..., str], case: str) -> None:
    with pytest.raises(AssertionError, match=case):
        check_take(wrong, CHOICE)
