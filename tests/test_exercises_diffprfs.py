"""The checks of chapter 2's exercises accept a right answer and name the case in which a wrong one fails."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from private_trees.exercises import diffprfs as exercises

NOTEBOOK = Path(__file__).resolve().parent.parent / "notebooks" / "02_diffprfs.ipynb"


def solutions() -> dict[str, Any]:
    """Run the folded solutions of the chapter; return what they define."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    defined: dict[str, Any] = {"np": np, "exercises_diffprfs": exercises}
    for source in sources:
        if "print(exercises_diffprfs.check_" in source:
            exec(source, defined)
    return defined


@pytest.mark.parametrize(
    ("check", "solution"),
    [
        ("check_intervals", "my_intervals"),
        ("check_stop_rule", "my_pair"),
        ("check_poisson", "my_budget"),
        ("check_midpoints", "my_midpoints"),
    ],
)
def test_the_solution_passes(check: str, solution: str) -> None:
    assert getattr(exercises, check)(solutions()[solution]) == exercises.RIGHT


def without_lengths(ends: Any, scores: Any, epsilon: float, sensitivity: float) -> Any:
    weight = np.exp(epsilon * (scores - scores.max()) / (2 * sensitivity))
    return weight / weight.sum()


def monotone_rate(ends: Any, scores: Any, epsilon: float, sensitivity: float) -> Any:
    weight = np.diff(ends) * np.exp(epsilon * (scores - scores.max()) / sensitivity)
    return weight / weight.sum()


def overflowing(ends: Any, scores: Any, epsilon: float, sensitivity: float) -> Any:
    weight = np.diff(ends) * np.exp(epsilon * scores / (2 * sensitivity))
    return weight / weight.sum()


def weights(ends: Any, scores: Any, epsilon: float, sensitivity: float) -> Any:
    return np.diff(ends) * np.exp(epsilon * (scores - scores.max()) / (2 * sensitivity))


@pytest.mark.parametrize(
    ("mine", "message"),
    [
        (without_lengths, "a short interval with the best score: you have"),
        (monotone_rate, "equal lengths: you have"),
        (overflowing, "scores of thousands: .* overflows"),
        (weights, "equal lengths: the probabilities add up to"),
        (lambda *_: [1.0], "equal lengths: 1 numbers for 2 intervals"),
    ],
)
def test_a_wrong_mechanism_is_refused(mine: Callable[..., Any], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        exercises.check_intervals(mine)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (((5, 0), (5, 1)), "stop below ten records: .* both stop"),
        (((9, 0), (0, 9)), "stop if all records have one class: .* differ by 18 records"),
        (((5, 1), (5, 2)), "stop if all records have one class: .* both go on"),
        (((0, -1), (0, 0)), "counts cannot be negative"),
    ],
)
def test_a_pair_that_breaks_no_rule_is_refused(pair: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        exercises.check_stop_rule(lambda stops: pair)


@pytest.mark.parametrize(
    ("mine", "message"),
    [
        (lambda budget, n_trees, rate: budget / n_trees, "B = 1, 25 trees, rate 1: .* above B"),
        (lambda budget, n_trees, rate: np.log1p(budget / n_trees), "a rate of one half: .* is allowed"),
        (lambda budget, n_trees, rate: budget / (2 * n_trees), "B = 1, 25 trees, rate 1: .* is allowed"),
    ],
)
def test_a_wrong_budget_is_refused(mine: Callable[[float, int, float], float], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        exercises.check_poisson(mine)


def of_all_values(values: Sequence[float]) -> set[float]:
    return {(a + b) / 2 for a, b in pairwise([0, *sorted(values), 1])}


def between_any_two(values: Sequence[float]) -> set[float]:
    ends = [0, *sorted(set(values)), 1]
    return {(a + b) / 2 for a in ends for b in ends if a < b}


def test_midpoints_of_other_bags_are_missed_or_too_many() -> None:
    with pytest.raises(AssertionError, match=r"two values .* 0\.3 is possible and missing"):
        exercises.check_midpoints(of_all_values)
    with pytest.raises(AssertionError, match=r"two values .* no bag gives 0\.5"):
        exercises.check_midpoints(between_any_two)
