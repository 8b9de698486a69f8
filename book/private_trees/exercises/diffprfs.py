"""Checks of the exercises of the chapter on DiffPRFs: each says which case fails, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations, pairwise
from math import expm1, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .answers import judge

Node = tuple[int, int]  # records of class 0, of class 1


@judge
def check_intervals(mine: Callable[[Any, Any, float, float], ArrayLike]) -> None:
    """Check a function of ends, scores, ε and Δ that returns a list with one probability for each interval."""
    choices: dict[str, tuple[Sequence[float], Sequence[float], float, float]] = {
        "equal lengths": ((0, 1, 2), (0, 3), 1.0, 1.0),
        "a short interval with the best score": ((0, 0.2, 0.4, 0.7, 0.8, 1), (2, 3, 4, 3, 2), 2.0, 1.0),
        "equal scores": ((0, 1, 4), (5, 5), 1.0, 1.0),
        "a sensitivity of 2": ((0, 1, 2), (0, 3), 1.0, 2.0),
        "scores of thousands": ((0, 1, 2), (20_000, 20_001), 1.0, 1.0),
    }
    for case, (ends, scores, epsilon, delta) in choices.items():
        with np.errstate(all="ignore"):
            said = np.asarray(mine(np.array(ends, float), np.array(scores, float), epsilon, delta), float)
        exponent = epsilon * (np.array(scores) - max(scores)) / (2 * delta)
        right = np.diff(ends) * np.exp(exponent)
        right /= right.sum()
        assert said.shape == right.shape, f"{case}: {said.size} numbers for {right.size} intervals"
        assert np.isfinite(said).all(), (
            f"{case}: {said} is not finite; if e to a high power overflows, subtract the largest score first"
        )
        assert abs(said.sum() - 1) < 1e-9, f"{case}: the probabilities add up to {said.sum():.4g}, not to 1"
        assert np.allclose(said, right), f"{case}: you have {said.round(4)}, expected {right.round(4)}"


@judge
def check_stop_rule(mine: Callable[[Callable[[Node], bool]], tuple[Node, Node]]) -> None:
    """Check a function of a stopping rule that returns two neighbours which it tells apart, as ((5, 0), (5, 1))."""
    all_stops: dict[str, Callable[[Node], bool]] = {
        "stop if all records have one class": lambda node: min(node) == 0,
        "stop below ten records": lambda node: sum(node) < 10,
        "stop if nine in ten have one class": lambda node: 10 * max(node) >= 9 * sum(node),
        "stop if class 1 is the larger": lambda node: node[1] > node[0],
    }
    for case, stops in all_stops.items():
        first, second = (tuple(int(n) for n in node) for node in mine(stops))
        one, other = (first[0], first[1]), (second[0], second[1])
        assert min(*one, *other) >= 0, f"{case}: {one}, {other}: counts cannot be negative"
        distance = abs(one[0] - other[0]) + abs(one[1] - other[1])
        assert distance == 1, (
            f"{case}: {one} and {other} differ by {distance} records; neighbours differ by one"
        )
        assert stops(one) != stops(other), (
            f"{case}: {one} and {other} both {'stop' if stops(one) else 'go on'}"
        )


@judge
def check_poisson(mine: Callable[[float, int, float], float]) -> None:
    """Check a function of B, t and λ that returns a number, the budget of a copy with Poisson(λ) bags."""
    bags: dict[str, tuple[float, int, float]] = {
        "B = 1, 25 trees, rate 1": (1.0, 25, 1.0),
        "a large budget: B = 5, one tree, rate 1": (5.0, 1, 1.0),
        "a rate of one half": (1.0, 5, 0.5),
        "a rate of 2": (2.0, 10, 2.0),
    }
    for case, (budget, n_trees, rate) in bags.items():
        copy = float(mine(budget, n_trees, rate))
        total = n_trees * rate * expm1(copy)
        right = log(1 + budget / (n_trees * rate))
        assert total <= budget * (1 + 1e-9), (
            f"{case}: with {copy:.5f} a copy the forest loses {total:.4f}, above B"
        )
        assert total >= budget * (1 - 1e-9), (
            f"{case}: {copy:.5f} a copy spends {total:.4f} of B; {right:.5f} is allowed"
        )


@judge
def check_midpoints(mine: Callable[[Sequence[float]], Collection[float]]) -> None:
    """Check a function of values that returns the list of all midpoints that their bags can give on [0, 1]."""
    all_values: dict[str, Sequence[float]] = {
        "two values": (0.2, 0.6),
        "three values": (0.2, 0.4, 0.6),
        "one value twice": (0.5, 0.5),
        "a value at the end": (0.0, 0.5),
    }
    for case, values in all_values.items():
        said, right = (
            {round(float(m), 9) for m in found} for found in (mine(list(values)), _midpoints(values))
        )
        assert right <= said, (
            f"{case} {values}: {min(right - said)} is possible and missing; which bag gives it?"
        )
        assert said <= right, f"{case} {values}: no bag gives {min(said - right)}"


def _midpoints(values: Sequence[float]) -> set[float]:
    distinct, found = sorted(set(values)), set()
    for k in range(1, len(distinct) + 1):
        for bag in combinations(distinct, k):
            ends = [0.0, *bag, 1.0]
            found |= {(a + b) / 2 for a, b in pairwise(ends) if a < b}
    return found
