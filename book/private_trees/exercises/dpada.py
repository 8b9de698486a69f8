"""Checks of the exercises of chapter 6: each says which case a solution gets wrong, and why."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpnb.arrays import Floats
from dpnb.papers.dpada import DPAda, definition7

from ..studies.dpada import SEPARABLE
from .answers import judge


@judge
def check_schedule(schedule: Callable[[list[int]], ArrayLike]) -> None:
    """Check a function that turns a list of coins, 0 or 1, into the list that Definition 7 makes of it."""
    for m in range(1, 7):
        for coins in product((0, 1), repeat=m):
            given, right = np.asarray(schedule(list(coins))).tolist(), definition7(coins).tolist()
            if given == right:
                continue
            usable = isinstance(given, list) and all(coin in (0, 1) for coin in given)
            assert usable, f"coins {list(coins)}: you give {given!r}; expected a list of 0 and 1, {m} in all"
            where = next((k for k in range(m) if given[k : k + 1] != right[k : k + 1]), m)
            raise AssertionError(
                f"coins {list(coins)}: you give {given}, Definition 7 gives {right}; {_run(coins, where)}"
            )


def _run(coins: tuple[int, ...], where: int) -> str:
    """What is special about a round."""
    if where >= len(coins):
        return "there are too many rounds"
    if not coins[where]:
        return f"round {where + 1} has no one, and the rule adds none"
    if 0 not in coins[:where]:
        return f"the run of round {where + 1} has no zero in front, so it stays as it is"
    if 0 not in coins[where:]:
        return f"the run of round {where + 1} reaches the last round, so it stays as it is"
    return f"the run of round {where + 1} has zeros on both sides, so only its first one stays"


@judge
def check_weights(weights: Callable[[Floats], ArrayLike]) -> None:
    """Check a function that turns an array of margins y·F(x) into an array of as many weights."""
    for margins in ([-3.0, -0.5, 0.0, 0.5, 3.0], [0.0], [2.0, 2.0, 2.0]):
        D = np.array(margins)
        found = np.asarray(weights(D), float)
        assert found.shape == D.shape, (
            f"margins {margins}: you give {found.tolist()}; expected one a record, so {len(D)} numbers"
        )
        for extra in (-4.0, 0.0, 4.0):
            moved = np.asarray(weights(np.append(D, extra)), float)[:-1]
            assert np.allclose(moved, found), (
                f"margins {margins}: a record of margin {extra:g} joins, and the weights of the others move from "
                f"{found.round(3).tolist()} to {moved.round(3).tolist()}; a sum over records does that"
            )
        high = found.max()
        assert high <= 1, (
            f"margins {margins}: a weight of {high:.3g}, so one record moves a score by more than 1"
        )
        assert found.min() >= 0, f"margins {margins}: a weight of {found.min():.3g} is negative"
        right = np.minimum(1, np.exp(-D))
        assert np.allclose(found, right), (
            f"margins {margins}: weights {found.round(3).tolist()}; MadaBoost has {right.round(3).tolist()}"
        )


class LabelBox:
    """A fitted classifier of which only the predicted labels show."""

    def __init__(self, model: DPAda) -> None:
        self._predict = model.predict

    def label(self, x: float) -> int:
        """Label of the point x, 0 or 1."""
        return int(self._predict(pd.DataFrame({"x": [x], "c": [0]}))[0])


@judge
def check_guess(guess: Callable[[LabelBox], bool], *, n_rounds: int = 3) -> str:
    """Check an attack on labels, a function that returns True for D′ and False for D."""
    seen, least, runs = 0, 6, 60
    for seed in range(runs):
        first, second = (_box(part, seed, n_rounds) for part in (SEPARABLE.first, SEPARABLE.second))
        says = [guess(first), guess(second)]
        assert all(isinstance(said, bool | np.bool_) for said in says), (
            f"run {seed}: you say {says[0]!r} and {says[1]!r}; expected True for D′ and False for D"
        )
        assert not says[0], f"run {seed}: the model was trained on D, but you say D′, so that is no proof"
        seen += int(says[1])
    assert seen >= least, (
        f"D′ found in {seen} of {runs} runs, expected at least {least}: look where D′ has another record"
    )
    return f"D′ found in {seen} of {runs} runs, D never taken for it"


def _box(part: tuple[pd.DataFrame, pd.Series[int]], seed: int, n_rounds: int) -> LabelBox:
    model = DPAda.as_written(n_rounds=n_rounds, uniform=3, domain=SEPARABLE.domain, random_state=seed)
    return LabelBox(model.fit(*part))
