"""Chapter 1's exercises: a right answer passes, and typical wrong ones are refused with the case that fails."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpnb.trees.scores import Score
from private_trees.exercises import foundations as exercises

Answer = Callable[..., Any]


def geometric(rng: Any, size: int, epsilon: float) -> Any:
    chance = 1 - np.exp(-epsilon)
    return rng.geometric(chance, size) - rng.geometric(chance, size)


def witness() -> Any:
    return [0, 0], [0, 0, 1], 1


def flip(scores: Any, rate: float, rng: Any) -> int:
    for j in rng.permutation(len(scores)):
        if rng.random() < np.exp(rate * (scores[j] - scores.max())):
            return int(j)
    raise RuntimeError("a best candidate is always accepted")


def price(pmf: Any, epsilon_0: float) -> float:
    return float(np.log(pmf @ np.exp(epsilon_0 * np.arange(len(pmf)))))


def tables(n: int) -> Any:
    return np.array([t for t in itertools.product(range(n + 1), repeat=4) if sum(t) == n], float)


def largest_change(score: Score, n: int) -> float:
    before = tables(n - 1).reshape(-1, 1, 2, 2)
    return float(np.abs(score(before + np.eye(4).reshape(4, 2, 2)) - score(before)).max())


def rises_only(score: Score, n: int) -> float:
    before = tables(n - 1).reshape(-1, 1, 2, 2)
    return float((score(before + np.eye(4).reshape(4, 2, 2)) - score(before)).max())


def one_table(score: Score, n: int) -> float:
    before = np.array([[n - 1.0, 0.0], [0.0, 0.0]])  # where chapter 1's scores change most
    return float(np.abs(score(before + np.eye(4).reshape(4, 2, 2)) - score(before)).max())


def exponential(scores: Any, rate: float, rng: Any) -> int:
    weight = np.exp(rate * (scores - scores.max()))
    return int(rng.choice(len(scores), p=weight / weight.sum()))


def in_order(scores: Any, rate: float, rng: Any) -> int:
    accepted = rng.random(len(scores)) < np.exp(rate * (scores - scores.max()))
    return int(accepted.argmax())


def uncentred(scores: Any, rate: float, rng: Any) -> int:
    order = rng.permutation(len(scores))
    accepted = rng.random(len(scores)) < np.exp(rate * scores[order])
    return int(order[accepted.argmax()])


def shares_of_levels(candidates: int, **asked: float) -> float:
    return exercises.records_needed(candidates, **asked | {"depth": asked["depth"] - 1})  # type: ignore[arg-type]


RIGHT: list[tuple[Answer, Answer]] = [
    (exercises.check_geometric, geometric),
    (exercises.check_witness, witness),
    (exercises.check_permute_and_flip, flip),
    (exercises.check_bag_price, price),
    (exercises.check_sensitivity, largest_change),
    (exercises.check_records_needed, exercises.records_needed),
]
WRONG: dict[str, tuple[Answer, Answer, str]] = {
    "rounded Laplace": (
        exercises.check_geometric,
        lambda rng, size, epsilon: np.round(rng.laplace(scale=1 / epsilon, size=size)),
        r"ε = 0\.5, noise -?\d",
    ),
    "Laplace": (
        exercises.check_geometric,
        lambda rng, size, epsilon: rng.laplace(scale=1 / epsilon, size=size),
        "expected whole numbers",
    ),
    "one side": (
        exercises.check_geometric,
        lambda rng, size, epsilon: rng.geometric(1 - np.exp(-epsilon), size) - 1,
        "no draw is below 0",
    ),
    "ε upside down": (
        exercises.check_geometric,
        lambda rng, size, epsilon: geometric(rng, size, 1 / epsilon),
        r"ε = 0\.5, noise",
    ),
    "noise that ends at ±3": (  # a release beyond 3 + count has an infinite loss
        exercises.check_geometric,
        lambda rng, size, epsilon: np.clip(geometric(rng, size, epsilon), -3, 3),
        r"noise from 9 on: 0\.000 of .*no last number",
    ),
    "noise that ends above": (
        exercises.check_geometric,
        lambda rng, size, epsilon: np.minimum(geometric(rng, size, epsilon), 3),
        "noise from 9 on",
    ),
    "two records more": (exercises.check_witness, lambda: ([0], [0, 1, 0], 1), "no neighbours"),
    "replaced": (exercises.check_witness, lambda: ([0, 0], [0, 1], 1), "no neighbours"),
    "noise on both": (exercises.check_witness, lambda: ([1], [1, 1], 2), "0.462"),
    "no third value": (exercises.check_witness, lambda: ([0], [0, 2], 1), "only zeros and ones"),
    "from neither": (exercises.check_witness, lambda: ([0], [0, 0], 1), "comes from neither"),
    "exponential mechanism": (exercises.check_permute_and_flip, exponential, "scores 0, -1, -3 at rate 1"),
    "no permutation": (exercises.check_permute_and_flip, in_order, "candidate 0"),
    "best score forgotten": (exercises.check_permute_and_flip, uncentred, "plus 100"),
    "the score itself": (
        exercises.check_permute_and_flip,
        lambda u, rate, rng: u.max(),
        "expected a position",
    ),
    "mean copies": (
        exercises.check_bag_price,
        lambda pmf, epsilon_0: epsilon_0 * (pmf @ np.arange(len(pmf))),
        "one record in five",
    ),
    "no logarithm": (
        exercises.check_bag_price,
        lambda pmf, epsilon_0: pmf @ np.exp(epsilon_0 * np.arange(len(pmf))),
        "always once",
    ),
    "rises only": (exercises.check_sensitivity, rises_only, "gini, n = 2"),
    "one table": (
        exercises.check_sensitivity,
        one_table,
        r"the root of max, n = 5: 0\.2361, expected 0\.3178",
    ),
    "one record late": (exercises.check_sensitivity, lambda score, n: largest_change(score, n + 1), "n = 2"),
    "the constant": (exercises.check_sensitivity, lambda score, n: score.sensitivity, "info_gain, n = 5"),
    "no share for the leaves": (exercises.check_records_needed, shares_of_levels, "the exercise's node"),
    "half the rate": (
        exercises.check_records_needed,
        lambda k, **asked: 2 * exercises.records_needed(k, **asked),
        "monotone",
    ),
    "budget forgotten": (
        exercises.check_records_needed,
        lambda k, **asked: exercises.records_needed(k, **asked | {"epsilon": 1.0}),
        "a tenth of the budget",
    ),
}


@pytest.mark.parametrize(("check", "answer"), RIGHT, ids=lambda f: f.__name__)
def test_a_right_answer_passes(check: Answer, answer: Answer) -> None:
    assert check(answer) == "all right"


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_answer_is_refused_with_its_case(mistake: str) -> None:
    check, answer, case = WRONG[mistake]
    with pytest.raises(AssertionError, match=case):
        check(answer)


@pytest.mark.parametrize("n", [2, 5, 10])
def test_the_spread_score_changes_as_its_formula_says(n: int) -> None:
    found = largest_change(exercises.SPREAD, n)
    assert found == pytest.approx(exercises.SPREAD.sensitivity_at(n))
    assert one_table(exercises.SPREAD, n) <= found
    if n > 2:
        assert one_table(exercises.SPREAD, n) < found - 0.05  # .1623 instead of .2134 at ten records


def test_the_careless_counter_is_a_law() -> None:
    for records in ([0], [0, 1], [1, 1, 1]):
        assert sum(exercises.careless_count(records, k) for k in range(-60, 70)) == pytest.approx(1)
