"""The checks of the audit chapter's exercises: solutions pass, and each typical wrong answer is told why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from dpnb import audit
from private_trees.exercises import audit as checks


def bound(k: int, l: int, n: int, level: float = 0.05 / 4) -> float:  # noqa: E741
    def one(k: int, l: int) -> float:  # noqa: E741
        low = beta.ppf(level, k, n - k + 1) if k else 0.0
        high = beta.ppf(1 - level, l + 1, n - l) if l < n else 1.0
        return float(np.log(low / high)) if low else 0.0

    return max(one(k, l), one(l, k), 0.0)


def loss(p: Any, q: Any) -> float:
    seen = (p > 0) | (q > 0)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(p[seen] / q[seen])).max())


def best_guess(a: Any, b: Any) -> bool:
    """Flag by the largest ratio of frequencies, without a bound."""
    cuts = np.unique([*a, *b])
    above = [((a > c).mean(), (b > c).mean()) for c in cuts]
    return any(max(x, y) > np.e * min(x, y) > 0 for x, y in above)


def by_means(a: Any, b: Any) -> bool:
    """Flag by the means: a claim of 1 is taken for noise of that size."""
    return bool(abs(a.mean() - b.mean()) > 1.1)


def bet(right: bool | None, epsilon: float, delta: float, kappa: float) -> float:
    x = {True: 1.0, False: -np.exp(epsilon), None: 0.0}[right]
    return float(1 + kappa * (x - delta) / (np.exp(epsilon) + delta))


ANSWERS: dict[str, tuple[Callable[..., None], Callable[..., Any]]] = {
    "bet": (checks.check_bet, bet),
    "bound": (checks.check_bound, bound),
    "loss": (checks.check_loss, loss),
    "auditor": (checks.check_auditor, lambda a, b: audit.compare(a, b, claimed=1.0).violated),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_solution_passes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    check, answer = ANSWERS[name]
    check(answer)
    assert capsys.readouterr().out


def one_way(k: int, l: int, n: int) -> float:  # noqa: E741
    return bound(k, l, n) if k >= l else 0.0


WRONG: dict[str, tuple[Callable[..., None], Callable[..., Any], str]] = {
    "even odds": (
        checks.check_bet,
        lambda right, e, d, k: 1 + k if right else 1 - k if right is False else 1.0,
        r"right=True.*e\^−ε",
    ),
    "silence costs": (
        checks.check_bet,
        lambda right, e, d, k: bet(right, e, d, k) - 0.1 * (right is None),
        "right=None.*nothing is won",
    ),
    "δ forgotten": (checks.check_bet, lambda right, e, d, k: bet(right, e, 0.0, k), "δ=0.5.*take δ off"),
    "point estimate": (
        checks.check_bound,
        lambda k, j, n: abs(np.log(k / j)),
        r"90 and 10 of 100.*ln\(k / l\)",
    ),
    "level not shared": (checks.check_bound, lambda k, j, n: bound(k, j, n, 0.05), "90 and 10 of 100.*α / 4"),
    "level half shared": (
        checks.check_bound,
        lambda k, j, n: bound(k, j, n, 0.025),
        "90 and 10 of 100.*α / 4",
    ),
    "one direction": (checks.check_bound, one_way, "10 and 90 of 100.*exchanged"),
    "negative": (checks.check_bound, lambda k, j, n: bound(k, j, n) or -0.1, "50 and 50 of 100.*below 0"),
    "one ratio": (
        checks.check_loss,
        lambda p, q: np.log(p / q)[p > q].max(initial=0.0),
        r"\(0.6, 0.3, 0.1\).*expected",
    ),
    "nan": (
        checks.check_loss,
        lambda p, q: loss(p, q) if (p * q).all() else np.nan,
        r"\(0.5, 0.5, 0.0\).*nothing",
    ),
    "no infinity": (
        checks.check_loss,
        lambda p, q: loss(*(x[(p > 0) & (q > 0)] for x in (p, q))),
        r"\(1.0, 0.0\).*only one of the two",
    ),
    "no bound": (checks.check_auditor, best_guess, "honest counter: the claim is true"),
    "means": (checks.check_auditor, by_means, "counter with half of the noise.*thresholds"),
    "never": (checks.check_auditor, lambda a, b: False, "counter with half of the noise"),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_told_why(name: str) -> None:
    check, answer, message = WRONG[name]
    with pytest.raises(checks.WrongAnswerError, match=message):
        check(answer)


def test_broken_boxes_lose_twice_their_claim_and_honest_ones_keep_it() -> None:
    rng = np.random.default_rng(0)
    for box in checks.BOXES:
        sides = [box.answers(n, 40_000, rng) for n in checks.RECORDS]
        found = audit.compare(*sides, claimed=1.0, confidence=0.999)
        assert found.violated is box.broken, box.name
