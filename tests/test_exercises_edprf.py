"""Exercises of the chapter on eDPRF: its solutions pass, and typical wrong answers are told what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import exp
from pathlib import Path
from typing import Any

import pytest

from private_trees.exercises import edprf as exercises

CHAPTER = Path(__file__).resolve().parent.parent / "notebooks" / "05_edprf.ipynb"


def solutions() -> dict[str, Any]:
    """Functions that the chapter's solutions define, run as the chapter runs them."""
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    found: dict[str, Any] = {}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "exercises.edprf" in source:
            exec(source, {"exp": exp} | found, found)
    return found


def test_the_solutions_of_the_chapter_pass(capsys: pytest.CaptureFixture[str]) -> None:
    found = solutions()  # each cell calls its check
    assert {"permute_and_flip", "path_budgets", "broken_stop", "right_label"} <= found.keys()
    said = capsys.readouterr().out
    assert said.count("agree") == 2
    assert "exactly their budget" in said
    assert "some tree did" in said


def without_the_best(scores: Any, rate: float, shuffled: Any, coin: Any) -> int:
    return next(i for i in shuffled(len(scores)) if coin(exp(rate * scores[i])))


def unshuffled(scores: Any, rate: float, shuffled: Any, coin: Any) -> int:
    return next(i for i, u in enumerate(scores) if coin(exp(rate * (u - max(scores)))))


def put_back(scores: Any, rate: float, shuffled: Any, coin: Any) -> int:
    while True:
        i: int = shuffled(len(scores))[0]
        if coin(exp(rate * (scores[i] - max(scores)))):
            return i


def half_the_rate(scores: Any, rate: float, shuffled: Any, coin: Any) -> int:
    return next(i for i in shuffled(len(scores)) if coin(exp(rate / 2 * (scores[i] - max(scores)))))


WRONG: dict[str, tuple[Callable[[Any], None], Callable[..., Any], str]] = {
    "no best score": (exercises.check_permute_and_flip, without_the_best, r"coin\(.*subtract the best"),
    "no order": (
        exercises.check_permute_and_flip,
        unshuffled,
        r"scores \(6, 4, 2\) at rate 0.5: your law is \[1. 0. 0.\]",
    ),
    "put back": (exercises.check_permute_and_flip, put_back, "must not come back.*exponential mechanism"),
    "half the rate": (exercises.check_permute_and_flip, half_the_rate, r"at rate 0.5: your law is"),
    "no candidate": (exercises.check_permute_and_flip, lambda s, r, o, c: len(s), "you return 3; expected"),
    "not aligned": (
        exercises.check_path_budgets,
        lambda leaf, h, e: [e * s for s in exercises.level_shares(h, "harmonic")[:leaf]],
        "leaf on level 2 of 3, epsilon 1: the path spends 0.4545",
    ),
    "uniform": (
        exercises.check_path_budgets,
        lambda leaf, h, e: [e / leaf] * leaf,
        r"leaf on level 3 of 3, epsilon 1: level 1 has 0.3333; equation \(9\) gives it 0.1818",
    ),
    "short path": (exercises.check_path_budgets, lambda leaf, h, e: [e], "1 budgets; the path has 3 nodes"),
    "two labels": (
        exercises.check_broken_stop,
        lambda t: ([0, 1] * (2 * t), 1),
        "2 trees, seed 0: some tree splits on D;",
    ),
    "same label": (exercises.check_broken_stop, lambda t: ([0] * (2 * t), 0), "no tree splits on D'"),
    "too few": (exercises.check_broken_stop, lambda t: ([0] * (t - 1), 1), "must meet another label"),
    "replaced": (
        exercises.check_right_label,
        lambda g, r, k: 1 / (1 + (k - 1) * exp(-r * g)),
        "2 classes, gap 1, rate 0.5: you say 0.6225",
    ),
    "two classes only": (
        exercises.check_right_label,
        lambda g, r, k: 1 - exp(-r * g) / 2,
        "3 classes, gap 1, rate 0.5",
    ),
}


@pytest.mark.parametrize("answer", WRONG)
def test_a_wrong_answer_is_told_what_is_wrong(answer: str) -> None:
    check, wrong, message = WRONG[answer]
    with pytest.raises(exercises.WrongAnswerError, match=message):
        check(wrong)
