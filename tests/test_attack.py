"""The attack and the one-run audit: bounds, tight mechanisms, broken twins, whole estimators.

Findings on private subjects are checked at confidence 1 - 1e-6: each such test fails by chance with probability
1e-6 at most, and with fixed seeds always or never.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dpaudit import AttackError, black_box
from dpaudit.events import OutputEvent
from dpaudit.fits import seeded
from dpnb import Categorical, Continuous, Domain
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.privacy.laws import PermuteAndFlip
from private_trees.auditing import counts, fixed
from private_trees.auditing.counts import clopper_pearson, epsilon_bound
from private_trees.auditing.fixed import attack, compare, largest_bound, observations, white_box
from private_trees.auditing.onerun import one_run, one_run_epsilon

SURE = 1 - 1e-6
DOMAIN = Domain((Continuous("x", 0, 1),), (0, 1))


def pf_draws(scores: list[float], *, rate: float, n: int, rng: np.random.Generator) -> np.ndarray:
    law = PermuteAndFlip(np.tile(scores, n), np.arange(0, len(scores) * n, len(scores)), np.array(rate))
    return law.draw(rng).astype(float)


# --- Bounds -------------------------------------------------------------------------------------------------


def test_clopper_pearson_known_values() -> None:
    assert clopper_pearson(0, 10, alpha=0.05) == pytest.approx((0, 1 - 0.025**0.1))
    assert clopper_pearson(10, 10, alpha=0.05) == pytest.approx((0.025**0.1, 1))
    for k, n, alpha in ((3, 20, 0.05), (999, 1000, 1e-6), (12, 75_000, 0.01)):
        expected = beta.ppf(alpha / 2, k, n - k + 1), beta.ppf(1 - alpha / 2, k + 1, n - k)
        assert clopper_pearson(k, n, alpha=alpha) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("p", [0.003, 0.1, 0.37, 0.5, 0.92])
def test_clopper_pearson_coverage_is_exact(p: float) -> None:
    n, alpha = 40, 0.1
    ends = [clopper_pearson(k, n, alpha=alpha) for k in range(n + 1)]
    missed = [k for k, (low, high) in enumerate(ends) if not low <= p <= high]
    assert binom.pmf(missed, n, p).sum() <= alpha


def wrong_bounds(n_k: int, n_l: int, *, confidence: float, delta: float) -> float:
    """Largest probability, over ε and pairs on its border, that a bound is above ε."""
    k, l = np.arange(n_k + 1), np.arange(n_l + 1)  # noqa: E741
    levels = {"confidence": confidence, "delta": delta}
    shown = np.array([[epsilon_bound(i, j, n_k, n_l, **levels) for j in l.tolist()] for i in k.tolist()])
    worst = 0.0
    for epsilon in (0.0, 0.2, 0.5, 1.0, 1.7, 2.5):
        q = np.sin(np.linspace(0.001, math.asin(math.sqrt((1 - delta) * math.exp(-epsilon))), 200)) ** 2
        p = np.minimum(math.exp(epsilon) * q + delta, 1)
        for first, second in ((p, q), (q, p)):
            pairs = binom.pmf(k[:, None], n_k, first), shown > epsilon, binom.pmf(l[:, None], n_l, second)
            worst = max(worst, np.einsum("ig,ij,jg->g", *pairs).max())
    return worst


@pytest.mark.parametrize(
    ("runs", "confidence", "delta"), [((30, 30), 0.9, 0.0), ((20, 40), 0.99, 0.05), ((30, 20), 0.95, 0.3)]
)
def test_epsilon_bound_holds_with_its_confidence(
    runs: tuple[int, int], confidence: float, delta: float
) -> None:
    assert 0.8 < wrong_bounds(*runs, confidence=confidence, delta=delta) / (1 - confidence) <= 1


def test_a_test_of_both_directions_pays_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_bounds(15, 15, confidence=0.9, delta=0) <= 0.1
    largest = counts._Tail.largest
    monkeypatch.setattr(counts._Tail, "largest", lambda *asked: largest(*asked) / 2)  # broken twin
    assert wrong_bounds(15, 15, confidence=0.9, delta=0) > 0.1


@pytest.mark.parametrize(
    ("k", "l", "delta", "epsilon"),
    [(30, 8, 0.0, 0.0), (30, 8, 0.0, 1.2), (13, 1, 0.2, 0.4), (60, 4, 0.1, 1.8), (20, 0, 0.25, 0.2)],
)
def test_a_tail_is_bounded_between_the_points_where_it_is_summed(
    k: int,
    l: int,  # noqa: E741
    delta: float,
    epsilon: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = counts._Count(k, 60, alpha=0.05), counts._Count(l, 45, alpha=0.05)
    tail = counts._Tail(first, second, ratio=1.5, delta=delta)
    (low, high), (start, end) = second.ends, ((p - delta) * math.exp(-epsilon) for p in first.ends)
    q = np.linspace(max(low, start), min(high, end), 2_000)
    p = np.minimum(math.exp(epsilon) * q + delta, 1)
    least = np.append(first.near, 61)[tail._start]
    pairs = binom.sf(least[:, None] - 1, 60, p) * binom.pmf(second.near[:, None], 45, q)
    exact, at = pairs.sum(axis=0).max(), pairs.sum(axis=0).argmax()
    assert exact <= tail.largest(epsilon) + 1e-4 < 1.05 * exact + 2e-4
    monkeypatch.setattr(counts, "STEPS", 3)
    assert exact <= tail.largest(epsilon) + 1e-4
    monkeypatch.setattr(counts._Count, "sag", lambda _, p: 0 * p[1:])  # broken twin: largest of the points
    assert (exact <= tail.largest(epsilon) + 1e-4) == (at in (0, len(q) - 1))


def told_apart(seed: int, *, chance: float, runs: int = 400) -> list[np.ndarray]:
    """Twenty numbers of noise a run, of which one is 9 on D with some probability, and never on D′."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, runs, 20))
    first[rng.random(runs) < chance, 7] = 9
    return [first, second]


def laplace_answers(seed: int, *, runs: int = 1_000) -> list[np.ndarray]:
    """Answers with noise of scale 1 to counts that differ by 1: no event shows more than one half of the outputs."""
    return list(np.random.default_rng(seed).laplace([[0.0], [1.0]], 1.0, (2, runs)))


@pytest.mark.parametrize(
    ("sides", "confidence", "twin"),
    [(partial(told_apart, chance=0.2), SURE, SURE), (laplace_answers, 0.95, 0.5)],
)
def test_the_choice_of_the_event_has_a_level_of_its_own(
    sides: Callable[[int], list[np.ndarray]], confidence: float, twin: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mean_bound() -> float:
        found = [compare(*sides(seed), claimed=1, confidence=confidence) for seed in range(10)]
        return float(np.mean([one.lower_bound for one in found]))

    chosen_well = mean_bound()
    monkeypatch.setattr(fixed, "CHOICE_LEVEL", twin)  # broken twins: chosen by next to nothing, and by luck
    assert chosen_well > mean_bound() + 0.4


def test_what_is_chosen_below_the_stated_confidence_is_measured_at_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two data sets that do not differ, 80 outputs on each, of which 10 choose: no bound errs, of 40."""

    def missed() -> int:
        rng = np.random.default_rng(5)
        found = [compare(*rng.normal(size=(2, 80, 20)), claimed=1, confidence=0.999) for _ in range(40)]
        return sum(one.lower_bound > 0 for one in found)

    assert missed() == 0
    monkeypatch.setattr(fixed, "_split", lambda outputs: [outputs] * 3)
    assert missed() > 5  # broken twin: what learns and chooses the event measures it


def test_epsilon_bound_known_values() -> None:
    n = 20_000
    # Always on D and never on D′: (1 - q)^n = α decides, less what is reserved.
    sure = -math.log(1 - (0.05 * (1 - counts.RESERVED)) ** (1 / n))
    assert epsilon_bound(n, 0, n, n, confidence=0.95) == pytest.approx(sure, abs=1e-4)
    assert epsilon_bound(0, n, n, n, confidence=0.95) == epsilon_bound(n, 0, n, n, confidence=0.95)
    assert largest_bound(n, confidence=0.95) == pytest.approx(math.log(15_000 / math.log(20)), abs=0.01)
    # At one half, a bound at expected counts is the truth.
    assert epsilon_bound(n // 2, n // 10, n, n, confidence=0.5) == pytest.approx(math.log(5), abs=0.01)
    assert epsilon_bound(10, 10, 100, 100, confidence=0.95) == 0
    assert epsilon_bound(40, 0, 100, 100, confidence=0.95, delta=0.9) == 0


@pytest.mark.parametrize("confidence", [1e-9, 0.5, 0.99, SURE, 1 - 1e-14])
@pytest.mark.parametrize(
    ("k", "l", "n_k", "n_l", "delta"),
    [(1, 0, 1, 1, 0), (30, 1, 30, 30, 0), (60, 4, 500, 90_000, 0.01), (9000, 80, 10**6, 10**6, 1e-5)],
)
def test_one_test_shows_more_than_two_limits(
    k: int,
    l: int,  # noqa: E741
    n_k: int,
    n_l: int,
    delta: float,
    confidence: float,
) -> None:
    """Two Clopper–Pearson limits that share what a direction may err show less, down to a single output."""
    level = (1 - confidence) / 2
    ends = clopper_pearson(k, n_k, alpha=level)[0] - delta, clopper_pearson(l, n_l, alpha=level)[1]
    apart = math.log(ends[0] / ends[1]) if ends[0] > ends[1] else 0.0
    together = epsilon_bound(k, l, n_k, n_l, confidence=confidence, delta=delta)
    assert together > apart or together == apart == 0
    assert together < math.log(max(n_k, n_l)) + 6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: epsilon_bound(1, 1, 0, 1, confidence=0.9), "1 of 0"),
        (lambda: epsilon_bound(1, 1, 2, 2, confidence=1.0), "confidence"),
        (lambda: epsilon_bound(1, 1, 2, 2, confidence=0.9, delta=1), "delta"),
        (lambda: compare(np.zeros(10), np.zeros(100), claimed=1), "runs >= 40"),
        (lambda: compare(np.zeros((50, 2)), np.zeros((50, 3)), claimed=1), "2 and 3 columns"),
        (lambda: compare(np.zeros(50), np.zeros(50), claimed=0), "claimed"),
        (lambda: compare(np.zeros(50), np.zeros(50), claimed=1, names=["a", "b"]), "2 names"),
        (lambda: one_run_epsilon(5, 4, confidence=0.9), "5 correct of 4"),
    ],
)
def test_bad_numbers_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# --- Outputs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_tight_permute_and_flip_pair(epsilon: float) -> None:
    bounds = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        draws = [
            pf_draws(scores, rate=epsilon / 2, n=20_000, rng=rng) for scores in ([0.0, -4.0], [-1.0, -3.0])
        ]
        bounds.append(compare(*draws, claimed=epsilon, confidence=0.95, seed=seed).lower_bound)
        assert not compare(*draws, claimed=epsilon, confidence=SURE, seed=seed).violated
    assert 0.85 * epsilon <= np.mean(bounds) <= epsilon
    assert np.sum(np.array(bounds) > epsilon) <= 1


def laplace_count(records: int, n: int, *, scale: float, draws: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, records])
    return records + scale * np.stack([rng.laplace(size=n) for _ in range(draws)]).mean(axis=0)


@pytest.mark.parametrize(
    ("scale", "draws", "broken"),
    [(1.0, 1, False), (0.5, 1, True), (1.0, 100, True)],
    ids=["Laplace", "halved noise", "mean of 100 draws"],
)
def test_laplace_count_and_its_broken_twins(scale: float, draws: int, broken: bool) -> None:
    sides = [laplace_count(records, 20_000, scale=scale, draws=draws, seed=3) for records in (10, 11)]
    found = compare(*sides, claimed=1, confidence=SURE, subject="count")
    assert found.violated == broken
    assert found.trials == 40_000


def test_event_is_named_and_missing_numbers_count() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 2_000, 3))
    second[:, 1] = np.nan
    found = compare(first, second, claimed=1, names=["a", "depth of the tree", "c"])
    assert found.violated
    assert found.shown.statistic == "depth of the tree"
    assert "missing" in found.event or "present" in found.event or "depth" in found.event


def test_classifier_finds_what_no_single_number_shows() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 4_000, 2))
    first[:, 1] = first[:, 0] + 0.01 * first[:, 1]
    found = compare(first, second, claimed=1)
    assert found.lower_bound > 2
    assert "log-odds" in found.event


def test_delta_lowers_the_bound() -> None:
    first, second = np.repeat([0.0, 1.0], [900, 100]), np.zeros(1_000)
    pure = compare(first, second, claimed=1)
    assert pure.violated
    assert compare(first, second, claimed=1, delta=0.2).lower_bound == 0


def test_constant_outputs_show_nothing() -> None:
    found = compare(np.zeros((100, 2)), np.zeros((100, 2)), claimed=1)
    assert found.lower_bound == 0


@pytest.mark.parametrize(("relation", "complement"), [(">", "≤"), ("=", "≠")])
def test_events_and_complements(relation: str, complement: str) -> None:
    values = np.array([0.0, 1.0, 2.0, np.nan])
    event, rest = (OutputEvent("x", r, 1.0) for r in (relation, complement))
    assert (event.holds(values) ^ rest.holds(values)).all()
    assert OutputEvent("x", "=", math.nan).holds(values).tolist() == [False, False, False, True]
    assert str(OutputEvent("x", "≠", math.nan)) == "there is a value for x"


# --- Estimators ---------------------------------------------------------------------------------------------


class Parity:
    """Not private: tells whether the number of records is odd; takes anything for records."""

    def fit(self, X: Any, y: Any) -> Parity:
        self.odd = len(X) % 2
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), self.odd)


class Failing(Parity):
    """Raises on five records."""

    def fit(self, X: Any, y: Any) -> Parity:
        if len(X) == 5:
            raise ArithmeticError("five records")
        return super().fit(X, y)


class GlobalNoise(Parity):
    """Draws from NumPy's global generator."""

    def predict(self, X: Any) -> np.ndarray:
        return np.random.random(len(X))  # noqa: NPY002


def bootstrap_leaf() -> DiffPRFs:
    return DiffPRFs.as_written(
        n_trees=1, max_depth=0, size_query=False, stop="depth", epsilon=3, domain=DOMAIN
    )


def repaired_leaf() -> DiffPRFs:
    return bootstrap_leaf().set_params(bags="poisson")


def leaf_counts(model: Any) -> Any:
    return model.trees_[0].value[0]


def one_more() -> tuple[Any, Any]:
    X, y = pd.DataFrame({"x": np.full(21, 0.5)}), pd.Series([0] * 20 + [1])
    return (X[:20], y[:20]), (X, y)


@pytest.mark.parametrize(("leaf", "broken"), [(bootstrap_leaf, True), (repaired_leaf, False)])
def test_a_bootstrap_leaf_is_flagged_and_its_repair_is_not(leaf: Callable[[], Any], broken: bool) -> None:
    how: dict[str, Any] = {"claimed": 3, "confidence": 0.95 if broken else SURE, "progress": False}
    found = attack(leaf, *one_more(), runs=2_000, observe=leaf_counts, **how)
    assert found.violated == broken
    assert found.subject == "DiffPRFs"


def test_processes_give_the_same_finding() -> None:
    settings: dict[str, Any] = {"claimed": 3, "runs": 60, "progress": False, "seed": 5}
    alone = attack(bootstrap_leaf, *one_more(), jobs=1, **settings)
    assert attack(bootstrap_leaf, *one_more(), jobs=2, **settings) == alone


def test_runs_are_independent_and_repeatable() -> None:
    data = [[0], [1]], [0, 1]
    kept = np.random.get_state()[1].copy()  # noqa: NPY002
    one, other = observations(
        GlobalNoise, data, data, runs=50, observe=lambda m: m.predict([0]), progress=False
    )
    assert len(np.unique(np.concatenate([one, other]))) == 100
    assert (np.random.get_state()[1] == kept).all()  # noqa: NPY002


def test_lists_and_models_without_parameters() -> None:
    texts = ["a cat", "a dog", "a cow", "a hen"]
    found = attack(Parity, (texts, [0, 1, 0, 1]), (texts[:3], [0, 1, 0]), claimed=1, runs=200, progress=False)
    assert found.violated
    assert "label" in found.event


@pytest.mark.parametrize("jobs", [1, 2])
def test_failing_fit_names_data_set_run_and_cause(jobs: int) -> None:
    X = np.zeros((5, 1))
    sides = (X[:4], np.zeros(4)), (X, np.zeros(5))
    with pytest.raises(
        AttackError, match=r"run \d+ on the second data set failed: ArithmeticError: five records"
    ):
        observations(Failing, *sides, runs=50, observe=parity_of, jobs=jobs, progress=False)


def parity_of(model: Any) -> Any:
    return [model.odd]


class Warns(Parity):
    """Warns on five records, and is otherwise constant."""

    def fit(self, X: Any, y: Any) -> Warns:
        self.odd = 0
        if len(X) == 5:
            warnings.warn("few records", UserWarning, stacklevel=2)
        return self


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("subject", "words"),
    [(Failing, "fit raised ArithmeticError: five records"), (Warns, "warned UserWarning: few records")],
)
def test_an_exception_or_a_warning_on_one_side_is_an_event(subject: Any, words: str, jobs: int) -> None:
    X = np.zeros((5, 1))
    sides = (X[:4], np.zeros(4)), (X, np.zeros(5))
    found = attack(subject, *sides, claimed=1, runs=60, jobs=jobs, progress=False)
    assert found.violated
    assert found.event.count(words) == found.event.count(words.partition(":")[0]) == 1  # told once
    same = attack(subject, sides[0], sides[0], claimed=1, runs=60, jobs=jobs, progress=False)
    assert not same.violated  # broken twin of the event: both data sets alike


def test_a_subject_that_fails_on_everything_is_no_finding() -> None:
    X = np.zeros((5, 1))
    with pytest.raises(
        AttackError, match="all 100 runs failed on both data sets: fit raised ArithmeticError: five"
    ):
        attack(Failing, (X, np.zeros(5)), (X, np.ones(5)), claimed=1, runs=50, progress=False)


def test_unpicklable_factory_needs_one_job() -> None:
    with pytest.raises(AttackError, match="use jobs=1"):
        attack(lambda: Parity(), *one_more(), claimed=1, runs=50, jobs=2, progress=False)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"runs": 10}, "runs=10"),
        ({"jobs": 0}, "jobs=0"),
        ({"confidence": 2}, "confidence"),
        ({"delta": -1}, "delta"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attack(Parity, *one_more(), **({"claimed": 1, "runs": 50, "progress": False} | settings))


def test_observation_must_be_one_dimensional() -> None:
    with pytest.raises(AttackError, match="one-dimensional"):
        attack(
            Parity, *one_more(), claimed=1, runs=50, observe=lambda model: np.zeros((2, 2)), progress=False
        )


def test_seeds_reach_every_step_of_a_pipeline() -> None:
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    first = seeded(model, 1).get_params()["decisiontreeclassifier__random_state"]
    assert first != seeded(model, 2).get_params()["decisiontreeclassifier__random_state"]


def test_queries_start_with_the_record_that_differs() -> None:
    first, second = one_more()
    second[0].loc[20, "x"] = 0.9
    queries = black_box(first, second).queries
    assert queries["x"].iloc[0] == 0.9
    assert queries["x"].is_unique
    array = black_box((first[0].to_numpy(), first[1]), (second[0].to_numpy(), second[1])).queries
    assert array.shape == queries.shape


def test_black_box_sees_an_unknown_class() -> None:
    X = np.array([[0.0], [1.0]])
    box = black_box((X, ["a", "a"]), (X, ["a", "b"]))
    model = DecisionTreeClassifier().fit(X, ["a", "a"])
    assert np.isnan(box(model)).sum() == len(box.queries)
    assert len(box.names(len(box(model)))) == len(box(model))


def test_white_box_layout() -> None:
    domain = Domain((Continuous("x", 0, 1), Categorical("c", ("a", "b"))), (0, 1))
    X, y = pd.DataFrame({"x": [0.1, 0.9], "c": ["a", "b"]}), [0, 1]
    model = DiffPRFs(domain=domain, n_trees=2, max_depth=1, random_state=0).fit(X, y)
    seen = white_box(model)
    table = seen[1:].reshape(3, 2, 4)  # node, tree; attribute, cut, values
    assert seen[0] == 6
    assert table[0, 1, 1] == model.trees_[1].splits.cut[0]
    assert table[2, 0, 3] == model.trees_[0].value[2, 1]
    assert math.isnan(table[1, 0, 1])


# --- One run ------------------------------------------------------------------------------------------------


def test_one_run_epsilon_known_values() -> None:
    # All of r guesses correct: q^r = 1 - confidence.
    q = 0.05 ** (1 / 1000)
    assert one_run_epsilon(1000, 1000, confidence=0.95) == pytest.approx(math.log(q / (1 - q)), abs=1e-4)
    assert one_run_epsilon(1000, 1000, confidence=0.95) == pytest.approx(5.8, abs=0.05)
    assert one_run_epsilon(500, 1000, confidence=0.95) == 0
    bound = one_run_epsilon(80, 100, confidence=0.95)
    assert binom.sf(79, 100, 1 / (1 + math.exp(-bound))) == pytest.approx(0.05, abs=1e-5)
    assert one_run_epsilon(80, 100, confidence=0.95, delta=1e-3) < bound
    assert (
        one_run_epsilon(80, 100, confidence=0.95, delta=1e-3, canaries=1000)
        <= one_run_epsilon(80, 100, confidence=0.95, delta=1e-3)
    )  # fmt: skip


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_one_run_coverage_is_exact(epsilon: float) -> None:
    # Randomised response is the worst case of the bound.
    r, confidence = 60, 0.9
    correct = [v for v in range(r + 1) if one_run_epsilon(v, r, confidence=confidence) > epsilon + 1e-5]
    assert binom.pmf(correct, r, 1 / (1 + math.exp(-epsilon))).sum() <= 1 - confidence


def canary_data(n: int, m: int) -> tuple[pd.DataFrame, pd.Series[int], tuple[pd.DataFrame, pd.Series[int]]]:
    """Records labelled by a threshold, and canaries with the wrong label."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.random(n + m)})
    y = (X["x"] > 0.5).astype(int)
    y[n:] = 1 - y[n:]
    return X[:n], y[:n], (X[n:], y[n:])


def test_one_run_flags_a_model_that_memorises() -> None:
    found = one_run(DecisionTreeClassifier, *canary_data(2_000, 200), claimed=1)
    assert found.violated
    assert found.trials == 1
    assert "guesses correct" in found.event


def test_one_run_takes_arrays_lists_and_few_guesses() -> None:
    X, y, (cX, cy) = canary_data(500, 100)
    arrays = one_run(
        DecisionTreeClassifier,
        X.to_numpy(),
        y.to_numpy(),
        (cX.to_numpy(), cy.to_numpy()),
        claimed=1,
        guesses=51,
    )
    assert "of 51 guesses" in arrays.event
    lists = one_run(
        DecisionTreeClassifier,
        X.to_numpy().tolist(),
        y.tolist(),
        (cX.to_numpy().tolist(), cy.tolist()),
        claimed=1,
        guesses=51,
    )
    assert lists == arrays


def test_one_run_refuses_shared_keys_and_bad_scores() -> None:
    X, y, (cX, cy) = canary_data(50, 10)
    with pytest.raises(ValueError, match="share 10 index labels"):
        one_run(DecisionTreeClassifier, X, y, (cX.set_axis(range(10)), cy.set_axis(range(10))), claimed=1)
    with pytest.raises(ValueError, match="scores have shape"):
        one_run(DecisionTreeClassifier, X, y, (cX, cy), claimed=1, score=lambda *_: np.zeros(3))
    with pytest.raises(ValueError, match="11 guesses"):
        one_run(DecisionTreeClassifier, X, y, (cX, cy), claimed=1, guesses=11)
