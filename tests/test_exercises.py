"""The checks of the exercises: a right answer passes, and each usual wrong one is told which case fails, and why.

The chapters' own solutions are run by `pytest --nbval notebooks`.
"""

from __future__ import annotations

import inspect
import itertools
import math
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from cases import RIGHT, Answer, Answers
from cases.pearson import pattern
from dpnb.trees.scores import Score
from private_trees import exercises, modules_of
from private_trees.auditing.fixed import compare
from private_trees.auditing.multiplicity import holm
from private_trees.board.standings import MUCH
from private_trees.exercises import answers, audit, board, foundations, pearson, scale
from private_trees.papers import PAPERS
from private_trees.site.notebook import main
from private_trees.studies.pearson import shifted

ROOT = Path(__file__).resolve().parent.parent

# --- chapters 1 to 3--------------------------------------------------------------------------------------------


def geometric(rng: Any, size: int, epsilon: float) -> Any:
    chance = 1 - np.exp(-epsilon)
    return rng.geometric(chance, size) - rng.geometric(chance, size)


def flip(scores: Any, rate: float, rng: Any) -> int:
    order = rng.permutation(len(scores))
    return next(int(j) for j in order if rng.random() < np.exp(rate * (scores[j] - scores.max())))


def exponential(scores: Any, rate: float, rng: Any) -> int:
    weight = np.exp(rate * (scores - scores.max()))
    return int(rng.choice(len(scores), p=weight / weight.sum()))


def in_order(scores: Any, rate: float, rng: Any) -> int:
    return int((rng.random(len(scores)) < np.exp(rate * (scores - scores.max()))).argmax())


def uncentred(scores: Any, rate: float, rng: Any) -> int:
    order = rng.permutation(len(scores))
    return int(order[(rng.random(len(scores)) < np.exp(rate * scores[order])).argmax()])


def price(pmf: Any, epsilon_0: float) -> float:
    return float(np.log(pmf @ np.exp(epsilon_0 * np.arange(len(pmf)))))


def changes(score: Score, before: Any) -> Any:
    before = np.asarray(before, float).reshape(-1, 1, 2, 2)
    return score(before + np.eye(4).reshape(4, 2, 2)) - score(before)


def tables(n: int) -> Any:
    return [t for t in itertools.product(range(n + 1), repeat=4) if sum(t) == n]


def largest_change(score: Score, n: int) -> float:
    return float(np.abs(changes(score, tables(n - 1))).max())


def one_table(score: Score, n: int) -> float:
    """Where chapter 3's own scores change most."""
    return float(np.abs(changes(score, [n - 1, 0, 0, 0])).max())


def needed(candidates: int, **changed: float) -> float:
    return foundations.records_needed(candidates, **changed)  # type: ignore[arg-type]


# --- chapters 8 to 10 --------------------------------------------------------------------------------------------


def bound(k: int, l: int, n: int, level: float = 0.05 / 4, *, both: bool = True) -> float:  # noqa: E741
    def one(k: int, l: int) -> float:  # noqa: E741
        low = beta.ppf(level, k, n - k + 1) if k else 0.0
        high = beta.ppf(1 - level, l + 1, n - l) if l < n else 1.0
        return float(np.log(low / high)) if low else 0.0

    return max(one(k, l), one(l, k) if both else 0.0, 0.0)


def loss(p: Any, q: Any) -> float:
    seen = (p > 0) | (q > 0)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(p[seen] / q[seen])).max())


def best_guess(a: Any, b: Any) -> bool:
    """Flag by the largest ratio of frequencies, without a bound."""
    above = [((a > c).mean(), (b > c).mean()) for c in np.unique([*a, *b])]
    return any(max(x, y) > np.e * min(x, y) > 0 for x, y in above)


def bet(right: bool | None, epsilon: float, delta: float, kappa: float) -> float:
    x = {True: 1.0, False: -np.exp(epsilon), None: 0.0}[right]
    return float(1 + kappa * (x - delta) / (np.exp(epsilon) + delta))


CHOICE = pd.DataFrame(
    {"method": [f"m{i}" for i in range(6)], "additive": [f"a{i}" for i in range(6)]},
    index=pd.MultiIndex.from_product([["(ε, δ)", "pure ε"], ["two"], range(3)]),
)


def take(n: int, epsilon: float, *, allows_delta: bool, needs_shapes: bool, above: float = 0.0) -> str:
    rows = CHOICE.loc[("(ε, δ)" if allows_delta else "pure ε", "two")]
    row = rows.iloc[sum(n * epsilon >= limit + above for limit in MUCH)]
    return str(row["additive" if needs_shapes else "method"])


def check_take(mine: Answer) -> str:
    return board.check_take(mine, CHOICE)


def fixed_sum(weights: Any, steps: float = 2.0**28, whole: Answer = np.round) -> float:
    return float(whole(weights * steps).sum() / steps)


def shards(keys: Any, m: int) -> Any:
    return ((keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)).astype(int) % m


# --- answers ----------------------------------------------------------------------------------------------------

# Answers to each check, and what they are told.
ANSWERS: Answers = {
    **{check: found for stem in PAPERS for check, found in import_module(f"cases.{stem}").ANSWERS.items()},
    foundations.check_geometric: [
        (geometric, RIGHT),
        (lambda rng, n, e: np.round(rng.laplace(scale=1 / e, size=n)), r"ε = 0\.5, noise -?\d"),
        (lambda rng, n, e: rng.laplace(scale=1 / e, size=n), "expected whole numbers"),
        (lambda rng, n, e: rng.geometric(1 - np.exp(-e), n) - 1, "no draw is below 0"),
        (lambda rng, n, e: geometric(rng, n, 1 / e), r"ε = 0\.5, noise"),
        # A release beyond 3 + count has an infinite loss.
        (
            lambda rng, n, e: np.clip(geometric(rng, n, e), -3, 3),
            r"from 9 on: 0\.000 of .*no last number",
        ),
        (lambda rng, n, e: np.minimum(geometric(rng, n, e), 3), "noise from 9 on"),
    ],
    foundations.check_witness: [
        (lambda: ([0, 0], [0, 0, 1], 1), RIGHT),
        (lambda: ([0], [0, 1, 0], 1), "no neighbours"),
        (lambda: ([0, 0], [0, 1], 1), "no neighbours"),
        (lambda: ([1], [1, 1], 2), "0.462"),
        (lambda: ([0], [0, 2], 1), "only zeros and ones"),
        (lambda: ([0], [0, 0], 1), "comes from neither"),
        (lambda: ([0], [0, 1], 0.5), "expected a whole number"),
        (lambda: ([0], [0, 1]), "expected three things"),
    ],
    foundations.check_permute_and_flip: [
        (flip, RIGHT),
        (exponential, "scores 0, -1, -3 at rate 1"),
        (in_order, "candidate 0"),
        (uncentred, "plus 100"),
        (lambda u, rate, rng: u.max(), "expected a position"),
    ],
    foundations.check_bag_price: [
        (price, RIGHT),
        (lambda pmf, e: e * (pmf @ np.arange(len(pmf))), "one record in five"),
        (lambda pmf, e: pmf @ np.exp(e * np.arange(len(pmf))), "always once"),
        (lambda pmf, e: np.log(pmf * np.exp(e * np.arange(len(pmf)))), "expected a number"),
    ],
    foundations.check_sensitivity: [
        (largest_change, RIGHT),
        (lambda score, n: changes(score, tables(n - 1)).max(), "gini, n = 2"),
        (one_table, r"the root of max, n = 5: 0\.2361, expected 0\.3178"),
        (lambda score, n: largest_change(score, n + 1), "n = 2"),
        (lambda score, n: score.sensitivity, "info_gain, n = 5"),
        (lambda score, n: ["1", "2"], "max, n = 2: .* expected a number"),
    ],
    foundations.check_records_needed: [
        (needed, RIGHT),
        (lambda k, depth, **a: needed(k, depth=depth - 1, **a), "the exercise's node"),
        (lambda k, **a: 2 * needed(k, **a), "monotone"),
        (lambda k, **a: needed(k, **a | {"epsilon": 1.0}), "a tenth of the budget"),
        (lambda k, **a: "many", "the exercise's node: 'many' is returned, expected a number"),
    ],
    audit.check_bet: [
        (bet, RIGHT),
        (lambda right, e, d, k: 1 + k * ((right or 0) - (right is False)), r"right=True.*e\^−ε"),
        (
            lambda right, e, d, k: bet(right, e, d, k) - 0.1 * (right is None),
            "right=None.*nothing is won",
        ),
        (lambda right, e, d, k: bet(right, e, 0.0, k), "δ=0.5.*take δ off"),
    ],
    audit.check_bound: [
        (bound, RIGHT),
        (lambda k, j, n: abs(np.log(k / j)), r"90 and 10 of 100.*ln\(k / l\)"),
        (lambda k, j, n: bound(k, j, n, 0.05), "90 and 10 of 100.*α / 4"),
        (lambda k, j, n: bound(k, j, n, 0.025), "90 and 10 of 100.*α / 4"),
        (lambda k, j, n: bound(k, j, n, both=False), "10 and 90 of 100.*exchanged"),
        (lambda k, j, n: bound(k, j, n) or -0.1, "50 and 50 of 100.*below 0"),
    ],
    audit.check_loss: [
        (loss, RIGHT),
        (lambda p, q: np.log(p / q)[p > q].max(initial=0.0), r"\(0.6, 0.3, 0.1\).*expected"),
        (lambda p, q: loss(p, q) if (p * q).all() else np.nan, r"\(0.5, 0.5, 0.0\).*nothing"),
        (
            lambda p, q: loss(*(x[(p > 0) & (q > 0)] for x in (p, q))),
            r"\(1.0, 0.0\).*only one of the two",
        ),
    ],
    audit.check_auditor: [
        (lambda a, b: compare(a, b, claimed=1.0).violated, RIGHT),
        (best_guess, "honest counter: the claim is true"),
        (lambda a, b: "yes", "expected True or False"),
        (lambda a, b: abs(a.mean() - b.mean()) > 1.1, "counter with half of the noise.*thresholds"),
        (lambda a, b: False, "counter with half of the noise"),
    ],
    board.check_holm: [
        (lambda p: holm(np.array(p)), RIGHT),
        (lambda p: np.minimum(np.array(p) * len(p), 1), r"for p = \[0.01, 0.04, 0.03\]: expected"),
        (lambda p: np.sort(holm(np.array(p))), r"p = \[0.01, 0.04, 0.03\]|\[0.001, 0.2, 0.06\]"),
        # Neither monotone nor cut off, and then without a cap at 1.
        (lambda p: p * (len(p) - np.argsort(np.argsort(p))), r"p = \[0.01, 0.04, 0.03\]|\[0.5, 0.5\]"),
        (
            lambda p: np.maximum.accumulate(np.sort(p) * np.arange(len(p), 0, -1))[np.argsort(np.argsort(p))],
            r"p = \[0.9, 0.4, 0.6\]",
        ),
    ],
    check_take: [
        (take, RIGHT),
        (lambda n, epsilon, **more: take(n, 1.0, **more), "n·ε"),
        (lambda needs_shapes, **more: take(needs_shapes=False, **more), "'a"),
        (lambda n, epsilon, **more: take(n, epsilon, above=1e-9, **more), f"n·ε = {MUCH[0]:g}"),
    ],
    scale.check_sum: [
        (fixed_sum, RIGHT),
        (lambda w: float(np.cumsum(w)[-1]), "order 0"),
        (math.fsum, "parts: .*math.fsum"),
        (lambda w: fixed_sum(w, 2.0**12), "weights: off.*steps"),
        (lambda w: fixed_sum(w, whole=np.floor), r"of 0\.99 .*to the nearest"),
        (lambda w: fixed_sum(w, whole=np.ceil), r"of 1\.01 .*to the nearest"),
    ],
    scale.check_total: [
        (lambda attempts: sum({a.task: a.table for a in attempts if a.ended}.values()), RIGHT),
        (lambda attempts: sum(a.table for a in attempts), "a task fails.*more than once"),
        (lambda attempts: sum(a.table for a in attempts if a.ended), "run twice.*more than once"),
        (lambda attempts: sum({a.task: a.table for a in attempts}.values()), "a copy fails.*missing"),
    ],
    scale.check_shards: [
        (shards, RIGHT),
        (lambda keys, m: np.arange(len(keys)) % m, "shuffled rows"),
        (lambda keys, m: keys.argsort().argsort() % m, "removed: .*rank"),
        (lambda keys, m: np.zeros(len(keys), int), "hold"),
        (lambda keys, m: np.full(len(keys), m), "from 0 to 7"),
    ],
}


def name(check: Answer) -> str:
    return f"{check.__module__.rpartition('.')[2]}-{check.__name__}"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("check", "answer", "says"),
    [
        pytest.param(check, *answer, id=name(check))
        for check, answers in ANSWERS.items()
        for answer in answers
    ],
)
def test_an_answer_is_told_whether_it_is_right(
    check: Answer, answer: Answer, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if says == RIGHT:
        check(answer)
        assert capsys.readouterr().out.startswith("all right")
        return
    with pytest.raises(AssertionError, match=says):
        check(answer)
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("check", ANSWERS, ids=name)
def test_a_stub_and_a_wrong_type_are_told_in_words(check: Answer, capsys: pytest.CaptureFixture[str]) -> None:
    def mine(*_: Any, **__: Any) -> Any:
        return None

    check(mine)
    assert capsys.readouterr().out == "mine returns nothing yet: write its body and run this cell again.\n"
    for strange in ("words", ["a", "b"], {"a": 1}, object(), 1j):
        with pytest.raises(AssertionError) as told:
            check(lambda *_, value=strange, **__: value)
        assert len(str(told.value)) > 20, told.value
    with pytest.raises(AssertionError, match="7 is no function"):
        check(7)
    with pytest.raises(AssertionError, match="is called with"):
        check(lambda a, b, c, d, e, f, g: 1)


def divides(*_: Any, **__: Any) -> Any:
    return 1 / 0


def asserts(*_: Any, **__: Any) -> Any:
    raise AssertionError("my own rule")


def overflows(*_: Any, **__: Any) -> Any:
    return np.exp(np.array([1e4, 1e4])) * np.array([0, 1])


WRONG: list[Any] = ["words", divides, asserts, overflows, lambda a, b, c, d, e, f, g: 1]  # to any check
OWN = {
    divides: "divides raises ZeroDivisionError: division by zero, in the line: return 1 / 0",
    asserts: 'asserts raises AssertionError: my own rule, in the line: raise AssertionError("my own rule")',
}


def lines_of(*sources: str) -> set[str]:
    """Lines of code that would tell how a check finds out what is right."""
    lines = {line.strip() for source in sources for line in source.splitlines()}
    return {line for line in lines if len(line) > 12 and not line.startswith(('"""', "def ", "#", "raise "))}


SOLUTIONS = [
    cell.source
    for cell in nbformat.read(ROOT / "notebooks" / "solutions.ipynb", as_version=4).cells
    if cell.cell_type == "code"
]


@pytest.mark.parametrize("check", ANSWERS, ids=name)
def test_a_notebook_says_in_words_what_is_wrong_and_goes_on(
    check: Answer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "get_ipython", object)
    secret = lines_of(*SOLUTIONS, inspect.getsource(inspect.getmodule(inspect.unwrap(check)) or answers))
    assert len(secret) > 100
    for answer in [*WRONG, *(answer for answer, says in ANSWERS[check] if says != RIGHT)]:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            check(answer)
        assert not [
            warning for warning in warned if "private_trees" in warning.filename
        ]  # they show the line
        told = capfd.readouterr()
        assert told.out == ""
        assert len(told.err) > 15
        assert "Traceback" not in told.err
        assert OWN.get(answer, "") in told.err
        assert not {line for line in secret if line in told.err}, answer


CELL = """
from private_trees.exercises import diffprfs as exercises
def mine(budget, n_trees, rate):
    {}
exercises.check_poisson(mine)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "says"),
    [
        (
            "return budget / n_trees",
            "B = 1, 25 trees, rate 1: with 0.04000 a copy the forest loses 1.0203, above B\n",
        ),
        ("return 1 / 0", "mine raises ZeroDivisionError: division by zero, in the line: return 1 / 0\n"),
        ("raise KeyboardInterrupt", "Stopped before the check had ended."),
    ],
)
def test_ipython_shows_no_traceback(body: str, says: str) -> None:
    """In a process of its own: a shell cannot be left."""
    shell = "from IPython.core.interactiveshell import InteractiveShell as Shell"
    code = f"{shell}; Shell.instance().run_cell({CELL.format(body)!r})"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (shown.stdout + shown.stderr).strip() == says.strip()


@pytest.mark.slow
def test_nbval_refuses_a_wrong_answer_and_a_figure_that_may_mislead(tmp_path: Path) -> None:
    """Both go on in a reader's run; stored is what a right answer and a good figure print."""
    drawing = "import matplotlib.pyplot as plt\nfrom private_trees.site import figures\n{}\nfigures.show()"
    cells = [
        (CELL.format("return math.log1p(budget / (n_trees * rate))"), CELL.format("return budget / n_trees")),
        (drawing.format("plt.axis('off')"), drawing.format("plt.plot([3, 1, 2])")),
    ]
    right = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("import math\n" + good) for good, _ in cells]
    )
    path = tmp_path / "a.ipynb"
    nbformat.write(right, path)
    assert main(["execute", str(path)]) == 0
    stored = nbformat.read(path, as_version=4)
    for cell, (_, wrong) in zip(stored.cells, cells, strict=True):
        cell.source = "import math\n" + wrong
    nbformat.write(stored, tmp_path / "b.ipynb")
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider"]
    outcome = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True).stdout
    assert "2 failed, 2 passed" in outcome, outcome


def test_every_check_is_in_the_table() -> None:
    checks = {
        f"{m.__name__.rpartition('.')[2]}-{n}"
        for m in modules_of(exercises.__name__)
        for n, function in vars(m).items()
        if n.startswith("check_") and function.__module__ == m.__name__
    }
    assert {name(check).replace("test_exercises", "board") for check in ANSWERS} == checks
    assert all([says for _, says in answers].count(RIGHT) == 1 for answers in ANSWERS.values())


# --- what the exercises are made of -----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 10])
def test_the_spread_score_changes_as_its_formula_says(n: int) -> None:
    found = largest_change(foundations.SPREAD, n)
    assert found == pytest.approx(foundations.SPREAD.sensitivity_at(n))
    assert (one_table(foundations.SPREAD, n) < found - 0.05) is (
        n > 2
    )  # .1623 instead of .2134 at ten records


def test_the_careless_counter_is_a_law() -> None:
    for records in ([0], [0, 1], [1, 1, 1]):
        assert sum(foundations.careless_count(records, k) for k in range(-60, 70)) == pytest.approx(1)


def test_broken_boxes_lose_twice_their_claim_and_honest_ones_keep_it() -> None:
    rng = np.random.default_rng(0)
    for box in audit.BOXES:
        sides = [box.answers(n, 40_000, rng) for n in audit.RECORDS]
        assert compare(*sides, claimed=1.0, confidence=0.999).violated is box.broken, box.name


@pytest.mark.parametrize("m", [2, 8, 16])
def test_the_law_of_blocks_loses_what_the_formula_says(m: int) -> None:
    laws = [pearson.block_law(pattern(n), m, 1.0) for n in (2 * m, 2 * m + 1)]
    losses = np.abs(np.log(laws[1] / laws[0]))
    np.testing.assert_allclose(losses, pearson.block_losses(m, 1, 1.0))
    assert not np.allclose(losses, pearson.block_losses(m, 2, 1.0))  # broken twin


def test_the_pattern_is_that_of_the_attack() -> None:
    X, y = shifted(8).second
    assert [tuple(row) for row in np.column_stack([X, y]).tolist()] == pattern(17)


def test_a_path_of_one_choice_loses_at_most_half_of_its_budget() -> None:
    losses = [pearson.path_loss(1.0, n, n - 10, 1) for n in (20, 100, 10_000)]
    assert losses == sorted(losses)
    assert 0.49 < losses[-1] < 0.5
