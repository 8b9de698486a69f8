"""Checks of the exercises in the chapter on which method to take; each says which case fails and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..auditing.multiplicity import holm
from ..board.standings import MUCH
from .answers import judge


@judge
def check_holm(mine: Callable[[list[float]], ArrayLike]) -> str:
    """Check a function of a list of p-values that returns the corrected ones by Holm's rule, in the same order."""
    lists = ([0.01, 0.04, 0.03], [0.5, 0.5], [0.001, 0.2, 0.06], [0.04], [0.9, 0.4, 0.6])
    for given in lists:
        said, right = np.asarray(mine(list(given)), float), holm(np.array(given))
        same = said.shape == right.shape and np.allclose(said, right)
        assert same, f"for p = {given}: expected {right.tolist()}, got {said.tolist()}"
    return f"tried on {len(lists)} lists of p-values"


@judge
def check_take(mine: Callable[..., str], choice: pd.DataFrame) -> str:
    """Check a function of n, epsilon, allows_delta and needs_shapes that returns a method of the decision table.

    The cases lie on both sides of every limit of n·ε.

    Parameters
    ----------
    mine : function of ``n``, ``epsilon``, ``allows_delta`` and ``needs_shapes`` that names a method for two classes.
    choice : the decision table, see :func:`~private_trees.board.standings.decisions`.
    """
    low, high = MUCH
    cases: list[dict[str, Any]] = [
        {"n": n, "epsilon": 0.5, "allows_delta": delta, "needs_shapes": shapes}
        for n, delta, shapes in product(
            (low, 2 * low, high, 2 * high, 4 * high), (True, False), (True, False)
        )
    ]
    for case in cases:
        known = case["n"] * case["epsilon"]
        rows = choice.loc["(ε, δ)" if case["allows_delta"] else "pure ε"].loc["two"]
        right = rows.iloc[int(known >= low) + int(known >= high)][
            "additive" if case["needs_shapes"] else "method"
        ]
        said = mine(**case)
        assert said == right, f"for {case}, where n·ε = {known:g}: expected {right!r}, got {said!r}"
    return f"tried on {len(cases)} hospitals"
