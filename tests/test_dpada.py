"""DPAda: schedules and Theorem 1, the repaired booster, and the algorithm as written."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from dpaudit import families
from dpaudit.pairs import DOMAIN, pair_of, random_pair
from dpnb import Categorical, Continuous, Curator, Domain, Ledger
from dpnb.papers import dpada
from dpnb.papers.dpada import READINGS, SCHEDULES, DPAda, Reading, Written, causal, definition7
from dpnb.papers.stumps import RoundBudget
from dpnb.records.grid import public_grid
from dpnb.records.memory import Records, WeightedRecords
from dpnb.replay import Finding, replay
from dpnb.replay.tape import replay_estimator
from private_trees.auditing.exact import exact
from private_trees.chapters.dpada_appendix import noise_round_distribution

TABLE = {  # m: Definition 7 mean, sd, P(R > Swing); causal mean, sd; random mean, P(R > Swing)
    3: (1.00, 0.71, 0.25, 0.50, 0.50, 1.0, 0.25),
    10: (3.24, 1.44, 0.074, 2.25, 0.83, 4.5, 0.254),
    30: (8.25, 1.85, 1.7e-3, 7.25, 1.39, 14.5, 0.356),
    50: (13.25, 2.17, 3.4e-5, 12.25, 1.79, 24.5, 0.388),
    70: (18.25, 2.44, 6.1e-7, 17.25, 2.11, 34.5, 0.405),
    90: (23.25, 2.68, 1.1e-8, 22.25, 2.38, 44.5, 0.416),
    100: (25.75, 2.80, 1.4e-9, 24.75, 2.51, 49.5, 0.420),
}
RULES = {"random": np.asarray, "definition7": definition7, "causal": causal}


def moments(m: int, rule: str) -> tuple[float, float, float]:
    law, r = noise_round_distribution(m, rule), np.arange(m)
    mean = law @ r
    return mean, math.sqrt(law @ (r - mean) ** 2), law[m // 2 + 1 :].sum()


@pytest.mark.parametrize("m", TABLE)
def test_noise_rounds_equal_the_table(m: int) -> None:
    mean, sd, above, causal_mean, causal_sd, random_mean, random_above = TABLE[m]
    found = moments(m, "definition7")
    assert found[:2] == pytest.approx((mean, sd), abs=0.0051)
    assert found[2] == pytest.approx(above, rel=0.04)
    assert moments(m, "causal") == pytest.approx((causal_mean, causal_sd, 0.0), abs=0.0051)
    assert moments(m, "causal")[0] == pytest.approx((m - 1) / 4)
    assert moments(m, "random")[0] == pytest.approx(random_mean)
    assert moments(m, "random")[2] == pytest.approx(random_above, abs=6e-4)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("m", range(1, 11))
def test_noise_rounds_equal_enumeration(m: int, rule: str) -> None:
    counted = [int(RULES[rule](h)[1:].sum()) for h in itertools.product((0, 1), repeat=m)]
    np.testing.assert_allclose(
        noise_round_distribution(m, rule), np.bincount(counted, minlength=m) / 2**m, atol=1e-15
    )


@given(st.lists(st.integers(0, 1), min_size=1, max_size=40))
def test_the_causal_rule_differs_on_boundary_runs_only(h: list[int]) -> None:
    early, printed = causal(h), definition7(h)
    assert early.sum() <= len(h) // 2
    zeros = np.flatnonzero(np.array(h) == 0)
    if len(zeros):
        inside = slice(zeros[0], zeros[-1] + 1)
        np.testing.assert_array_equal(early[inside], printed[inside])


@given(st.integers(0, 10**6))
def test_weighted_counts_equal_a_direct_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = Domain(
        (Continuous("x", 0, 4), Categorical("c", ("a", "b", "d")), Categorical("g", (0, 1))), (0, 1)
    )
    n = int(rng.integers(1, 20))
    X = pd.DataFrame(
        {
            "x": rng.integers(0, 9, n) / 2,
            "c": rng.choice(["a", "b", "d"], n),
            "g": rng.integers(0, 2, n),
        }
    )
    for grid in (public_grid(domain, uniform=7, geometric=3), None):
        data = WeightedRecords(Records(X, rng.integers(0, 2, n), domain=domain), grid)
        data.weights = weights = rng.random(n)
        stumps = [data.grid.stump(j) for j in range(data.grid.n_candidates)]
        direct = [weights[data._answers(stump) == data._sign].sum() for stump in stumps]
        np.testing.assert_allclose(data.right(), direct, atol=1e-12)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("rate", [None, 0.3])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_ledger_equals_epsilon(schedule: str, rate: float | None, neighbours: str) -> None:
    part = families()[1].first
    model = DPAda(
        schedule=schedule,
        learning_rate=rate,
        neighbours=neighbours,
        domain=DOMAIN,
        random_state=3,
        n_rounds=7,
    )
    for epsilon in (0.1, 1.0, 5.0):
        ledger = clone(model).set_params(epsilon=epsilon).fit(*part).ledger_
        assert ledger.epsilon == pytest.approx(epsilon, abs=1e-12)
        assert ledger.leaks == {}
        spent = clone(model).set_params(epsilon=epsilon, delta=1e-5).fit(*part).ledger_
        planned = spent.by_sums(1e-5).epsilon  # rounds are planned by sums; the tight rule finds less
        assert 0.99 * epsilon < planned <= epsilon
        assert spent.epsilon <= planned


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_only_active_rounds_read_the_data(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, right = [], WeightedRecords.right

    def counted(self: WeightedRecords) -> np.ndarray:
        assert self.weights.min() >= 0
        assert self.weights.max() <= 1
        reads.append(1)
        return right(self)

    monkeypatch.setattr(WeightedRecords, "right", counted)
    model = DPAda(schedule=schedule, domain=DOMAIN, random_state=0, n_rounds=12).fit(*families()[0].first)
    assert model.schedule_[0] == 1
    assert len(reads) == model.schedule_.sum() == len(model.model_.stumps)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("rate", [None, 0.4])
def test_the_individual_filter_keeps_the_budget(relation: str, rate: float | None) -> None:
    rng = np.random.default_rng(4)
    model = DPAda(
        learning_rate=rate,
        epsilon=2.0,
        n_rounds=12,
        filter_rounds=3,
        uniform=5,
        geometric=2,
        neighbours=relation,  # type: ignore[arg-type]
    )
    losses = []
    for seed, pair in enumerate(
        [*families(relation), *(random_pair(rng, neighbours=relation) for _ in range(10))]
    ):
        outcome, _ = replay_estimator(
            model.set_params(domain=pair.domain), pair.second, pair.first, seed=seed
        )
        assert outcome.ledger.epsilon == pytest.approx(2.0)
        assert outcome.loss <= outcome.ledger.epsilon * (1 + 1e-9)
        losses.append(outcome.loss)
    assert max(losses) > 0.2


def test_the_auditor_catches_a_filter_that_lets_all_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = pair_of(
        "always wrong", [(0.2, 0, 0)] * 30 + [(0.8, 1, 1)] * 30, (0.2, 0, 1), neighbours="add-remove"
    )
    model = DPAda(
        learning_rate=0.5, epsilon=4.0, n_rounds=30, filter_rounds=2, uniform=5, geometric=2, domain=DOMAIN
    )
    losses = [replay_estimator(model, pair.second, pair.first, seed=seed)[0].loss for seed in range(5)]
    assert max(losses) <= 4.0 * (1 + 1e-9)
    monkeypatch.setattr(WeightedRecords, "afford", lambda self, *, total: None)
    losses = [replay_estimator(model, pair.second, pair.first, seed=seed)[0].loss for seed in range(5)]
    assert max(losses) > 4.5


def test_no_record_spends_more_than_the_filter_allows() -> None:
    X = pd.DataFrame({"x": [0.2] * 5 + [0.8] * 5, "c": [0, 1] * 5})
    records = Records(X, [0, 1, 1, 0, 1] * 2, domain=DOMAIN)

    def spent(total: float) -> Any:
        data = records.weighted(public_grid(DOMAIN, uniform=3, geometric=0))
        stump, sums = data.grid.stump(0), np.zeros(10)
        for _ in range(20):
            data.afford(total=total)
            sums += data.weights
            data.advance(stump, 0.3)
        return sums

    assert 2.5 < spent(3).max() <= 3
    assert (spent(3) == 3).any()  # whole weights of 1: the budget is used up
    assert spent(4).max() > 3  # broken twin: a round more


def test_the_auditor_catches_a_doubled_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = pair_of("ties", [(0.2, 0, 0)] * 3 + [(0.8, 1, 1)] * 3, (0.2, 0, 1), neighbours="add-remove")
    model = DPAda(n_rounds=1, learning_rate=0.5, uniform=3, geometric=1, domain=DOMAIN, random_state=0)

    def audit() -> Finding:
        return exact(lambda part: clone(model).fit(*part), pair.first, pair.second, claimed=1.0, subject="")

    assert not audit().violated
    assert audit().lower_bound > 0.5
    honest = dpada.select_stump

    def doubled(curator: Curator, right: np.ndarray, budget: RoundBudget, *, share: float = 1.0) -> int:
        return honest(curator, 2 * right, budget, share=share)

    monkeypatch.setattr(dpada, "select_stump", doubled)
    assert audit().violated


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", READINGS)
def test_every_reading_leaks_without_bound(schedule: str, name: str) -> None:
    model = DPAda.as_written(
        schedule=schedule, reading=READINGS[name], n_rounds=4, uniform=5, geometric=2, domain=DOMAIN
    )
    pair = pair_of(
        "α₁",
        [(1.0, 1, 1)] * 3 + [(1.0, 1, 0)] + [(0.0, 0, 0)] * 3 + [(0.0, 0, 1)],
        (1.0, 1, 1),
        neighbours="add-remove",
    )
    found = replay(model, pair.first, pair.second)
    assert found.lower_bound == math.inf
    assert found.violated
    if READINGS[name].ties == "indep":  # the number of draws depends on the data as well
        assert "diverges" in found.event or "without noise" in found.event
    else:
        assert "α_k, without noise (step 6)" in found.event
    ledger = clone(model).set_params(random_state=0).fit(*pair.first).ledger_
    assert ledger.epsilon == math.inf
    assert "weight α_k, without noise (step 6)" in ledger.leaks


def noting(mechanism: str) -> Any:
    """Note how a mechanism is called."""
    return mock.patch.object(Curator, mechanism, autospec=True, side_effect=getattr(Curator, mechanism))


def test_noise_scales_after_round_1_are_equal() -> None:
    """Both are m/B (1 − 2 e₁), and uniform weights get none."""
    curator = Curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=2.0))
    written = Written(DPAda.as_written(epsilon=2.0, n_rounds=10), Reading(), curator)
    e1, n = 0.2, 50
    weights = np.full(n, 1 / (2 * n * (1 - e1)))
    weights[:10] = 1 / (2 * n * e1)
    assert weights.sum() == pytest.approx(1)
    with noting("laplace") as asked:
        written.noised(weights)
        np.testing.assert_allclose(written.noised(np.full(n, 1 / n)), 1 / n)
    scales = [call.kwargs["sensitivity"] / call.kwargs["epsilon"] for call in asked.call_args_list]
    assert scales == pytest.approx([10 / 2 * (1 - 2 * e1)] * 2)
    assert math.isinf(curator.ledger.epsilon)


def test_without_privacy_it_learns() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.random(400), "c": rng.integers(0, 2, 400)})
    y = pd.Series(np.where((X["x"] > 0.4) & (X["c"] == 1), 1, 0))
    for model in (DPAda(epsilon=np.inf), DPAda(epsilon=4.0), DPAda(epsilon=np.inf, delta=1e-5)):
        assert model.set_params(domain=DOMAIN, random_state=0).fit(X, y).score(X, y) > 0.9
    written = DPAda.as_written(
        reading=Reading(scale="flat", ties="first", clamp="clip0", thresholds="data"), epsilon=1e9
    )
    assert written.set_params(domain=DOMAIN, random_state=0).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("delta", [None, 1e-5])
def test_weights_are_released_in_public_steps_of_which_one_is_a_multiple(delta: float | None) -> None:
    """The step follows from the budget alone; a record moves the released sums by at most 1, whatever the step."""
    rng = np.random.default_rng(0)
    for epsilon in (1e-6, 1e-3, 1.0, 1e6):
        model = DPAda(epsilon=epsilon, delta=delta, n_rounds=5, domain=DOMAIN, random_state=0)
        with noted() as asked:
            X = pd.DataFrame({"x": rng.random(40), "c": rng.integers(0, 2, 40)})
            model.fit(X, (X["x"] > 0.5).astype(int))
        for values, unit in asked():
            assert 1 / unit == round(1 / unit)
            assert (values / unit == np.floor(values / unit)).all()
    sums, step = np.arange(0, 3, 2.0**-7), 2.0**-3
    for added in (1.0, 0.3, 2.0**-7):
        assert np.abs(np.floor((sums + added) / step) - np.floor(sums / step)).max() * step <= 1
    half = np.array([0.5, 1.5])  # broken twin: rounded to even in steps of 1, one record moves a sum by 2
    assert np.ptp(np.rint(half)) == 2


def test_the_filter_releases_weights_in_steps_of_weights() -> None:
    """A record pays for its weight u; in steps s it may change a sum by ⌈u/s⌉ s, so only steps of weights do."""

    def steps(**parameters: Any) -> set[float]:
        with noted() as asked:
            DPAda(n_rounds=3, domain=DOMAIN, random_state=0, **parameters).fit(*families()[0].first)
        return {unit for _, unit in asked()}

    assert steps(filter_rounds=2, epsilon=1e-5) == {2.0**-28}
    (coarse,) = steps(epsilon=1e-5)
    assert coarse > 2.0**-28
    u, sums = 2.0**-28, np.arange(4) * 2.0**-28 + coarse - 2.0**-28
    moved = np.floor((sums + u) / coarse) * coarse - np.floor(sums / coarse) * coarse
    assert moved.max() == coarse  # broken twin: many times the weight that the record pays for
    assert steps(filter_rounds=2, epsilon=1e-8) == {
        2.0**-28
    }  # noise that 64 bits do not hold hides all of the value


@contextmanager
def noted() -> Iterator[Callable[[], list[tuple[np.ndarray, float]]]]:
    """What discrete noise is added to, and its unit."""
    with noting("geometric") as a, noting("discrete_gaussian") as b:
        yield lambda: [(np.asarray(c.args[1]), c.kwargs["unit"]) for m in (a, b) for c in m.call_args_list]


def one_bit_up(function: Any) -> Any:
    return lambda *numbers, **how: np.nextafter(function(*numbers, **how), np.inf)


def test_as_written_does_not_hang_on_the_last_bit_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's exponential rounds otherwise on other processors, and all weights hang on it."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.random(400), "c": rng.choice([0, 1], 400)})
    y = pd.Series(rng.choice(DOMAIN.classes, 400))

    def learnt() -> str:
        how: dict[str, Any] = {"schedule": "swing", "n_rounds": 40, "domain": DOMAIN, "random_state": 0}
        return repr(DPAda.as_written(**how).fit(X, y).model_.alpha.tolist())  # to the last digit

    right = learnt()
    for module, differs in (
        (np, False),
        (math, True),
    ):  # the second is the broken twin: it is the one that is used
        with monkeypatch.context() as patched:
            for name in ("exp", "log"):
                patched.setattr(module, name, one_bit_up(getattr(module, name)))
            assert (learnt() != right) is differs
