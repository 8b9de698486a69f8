"""The checks of the scale chapter's exercises: solutions pass, and each typical wrong answer is told why."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from private_trees.exercises import scale as checks

HASH = np.uint64(0x9E3779B97F4A7C15)


def fixed_sum(weights: Any, steps: float = 2.0**28) -> float:
    return float(np.round(weights * steps).sum() / steps)


def down(weights: Any) -> float:
    return float(np.floor(weights * 2.0**28).sum() / 2.0**28)


def total(attempts: Any) -> Any:
    return sum({a.task: a.table for a in attempts if a.ended}.values())


def shards(keys: Any, m: int) -> Any:
    return ((keys * HASH) >> np.uint64(32)).astype(int) % m


ANSWERS: dict[str, tuple[Callable[..., None], Callable[..., Any]]] = {
    "sum": (checks.check_sum, fixed_sum),
    "total": (checks.check_total, total),
    "shards": (checks.check_shards, shards),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_solution_passes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check, answer = ANSWERS[name]
    check(answer)
    assert capsys.readouterr().out


WRONG: dict[str, tuple[Callable[..., None], Callable[..., Any], str]] = {
    "running sum": (checks.check_sum, lambda w: float(np.cumsum(w)[-1]), "order 0"),
    "exact and then rounded": (checks.check_sum, math.fsum, "parts: .*math.fsum"),
    "coarse": (checks.check_sum, lambda w: fixed_sum(w, 2.0**12), "weights: off.*steps"),
    "rounded down": (checks.check_sum, lambda w: down(w), r"of 0\.99 .*to the nearest"),
    "rounded up": (checks.check_sum, lambda w: -down(-w), r"of 1\.01 .*to the nearest"),
    "all attempts": (checks.check_total, lambda a: sum(x.table for x in a), "a task fails.*more than once"),
    "all that ended": (
        checks.check_total,
        lambda a: sum(x.table for x in a if x.ended),
        "run twice.*more than once",
    ),
    "the last attempt": (
        checks.check_total,
        lambda a: sum({x.task: x.table for x in a}.values()),
        "a copy fails.*missing",
    ),
    "by position": (checks.check_shards, lambda keys, m: np.arange(len(keys)) % m, "shuffled rows"),
    "by rank": (checks.check_shards, lambda keys, m: keys.argsort().argsort() % m, "removed: .*rank"),
    "one shard": (checks.check_shards, lambda keys, m: np.zeros(len(keys), int), "hold"),
    "too many": (checks.check_shards, lambda keys, m: np.full(len(keys), m), "from 0 to 7"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_told_why(name: str) -> None:
    check, answer, message = WRONG[name]
    with pytest.raises(checks.WrongAnswerError, match=message):
        check(answer)
