"""The checks of chapter 4's exercises pass a right solution and say what is wrong with others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpnb.papers.dpada import causal, definition7
from private_trees.exercises.dpada import BlackBox, check_guess, check_schedule, check_weights

Check = Callable[[Any], None]


def starts(coins: list[int]) -> list[int]:
    """The first one of each run, also of those at the ends."""
    return [h * (1 - before) for before, h in zip([0, *coins], coins, strict=False)]


def exponential(margins: np.ndarray) -> np.ndarray:
    return np.exp(-margins)


def bounded(margins: np.ndarray) -> np.ndarray:
    return np.minimum(1, np.exp(-margins))


def normalised(margins: np.ndarray) -> np.ndarray:
    return bounded(margins) / bounded(margins).sum()


def at_0(box: BlackBox) -> bool:
    return box.label(0.0) == 1


RIGHT: dict[str, tuple[Check, Any]] = {
    "schedule": (check_schedule, definition7),
    "weights": (check_weights, bounded),
    "guess": (check_guess, at_0),
}
WRONG: dict[str, tuple[Check, Any, str]] = {
    "causal": (check_schedule, causal, r"coins \[1\].*no zero in front"),
    "first of each run": (check_schedule, starts, r"coins \[1, 1\].*no zero in front"),
    "unchanged": (check_schedule, list, r"coins \[0, 1, 1, 0\].*zeros on both sides"),
    "no noise": (check_schedule, lambda h: [0] * len(h), r"coins \[1\]: you give \[0\]"),
    "ones added": (check_schedule, lambda h: [1] * len(h), r"coins \[0\].*adds none"),
    "ends cut": (check_schedule, lambda h: [*definition7(h)[:-1], 0], r"coins \[1\]|reaches the last round"),
    "exponential": (check_weights, exponential, r"margins \[-3.*weight of 20.1"),
    "normalised": (check_weights, normalised, r"margins \[-3.0.*: a record of margin .* joins"),
    "negative": (check_weights, lambda z: -z, "a weight of 3, .*more than 1"),
    "below 0": (check_weights, lambda z: np.minimum(1, -z), "negative"),
    "constant": (check_weights, lambda z: np.ones(len(z)), r"MadaBoost has \[1.0, 1.0, 1.0, 0.607"),
    "one number": (check_weights, lambda z: 1.0, "expected one a record"),
    "always": (check_guess, lambda box: True, "run 0: the model was trained on D"),
    "never": (check_guess, lambda box: False, "found in 0 of 60"),
    "elsewhere": (check_guess, lambda box: box.label(1.0) == 1, "trained on D"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_solution_passes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check, solution = RIGHT[name]
    check(solution)
    assert capsys.readouterr().out.startswith(f"{name}: all cases are right")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_told_which_case(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check, wrong, words = WRONG[name]
    with pytest.raises(AssertionError, match=words):
        check(wrong)
    assert capsys.readouterr().out == ""
