"""What the claims about DPAda rest on."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpnb
from dpnb.papers import dpada
from dpnb.papers.dpada import READINGS, SCHEDULES, DPAda, Reading, Written
from dpnb.privacy.curator import Curator
from dpnb.privacy.laws import Laplace
from dpnb.privacy.ledger import Ledger
from dpnb.records.grid import public_grid
from dpnb.records.memory import Records, WeightedRecords
from private_trees.studies import dpada as grids
from private_trees.studies import runs

ROOT = Path(__file__).parents[1]


def noised(weights: np.ndarray, *, seed: int, epsilon: float = 1.0) -> np.ndarray:
    """Algorithm 2 with one record for each extreme, before step 10 at N times the mean."""
    curator = Curator(rng=np.random.default_rng(seed), ledger=Ledger(claimed=epsilon))
    owner = DPAda.as_written(epsilon=epsilon, n_rounds=50)
    return Written(owner, Reading(ties="first"), curator).noised(weights)


def test_round_1_leaves_two_weights_and_equal_scales() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.random(200), "c": rng.integers(0, 2, 200)})
    y = np.where(rng.random(200) < 0.2, X["x"] < 0.5, X["x"] >= 0.5).astype(int)
    data = WeightedRecords(Records(X, y, domain=grids.DOMAIN), public_grid(grids.DOMAIN))
    data.weights = data.weights / 200
    stump = data.grid.stump(int(np.argmax(data.right())))
    wrong = data.outcome(stump)[1]
    data.reweigh(stump, 0.5 * math.log((1 - wrong) / wrong))
    weights = data.weights / data.weights.sum()
    small, large = np.unique(weights.round(12))
    assert 0 < small < 1 / 200 < large
    gaps = (1 - 1 / (200 * large), 1 / (200 * small) - 1)  # sensitivity over budget, without m/B
    assert gaps == pytest.approx([1 - 2 * wrong] * 2)
    data.reweigh(data.grid.stump(3), 0.3)  # broken twin: after a second stump there are more
    assert len(np.unique(data.weights.round(12))) > 2
    for labels, alpha in ((X["x"] >= 0.5, 11.5), (np.arange(200) % 2, 0.0)):  # e = 0 is clipped; e = 1/2
        even = WeightedRecords(Records(X, np.asarray(labels, int), domain=grids.DOMAIN), data.grid)
        best = even.grid.stump(int(np.argmax(even.right())))
        assert alpha == 0 or even.outcome(best)[1] == 0
        even.reweigh(best, alpha)
        assert len(np.unique((even.weights / even.weights.sum()).round(12))) == 1


def test_the_largest_weight_has_the_smaller_scale() -> None:
    """After rounds without noise, for records always wrong and always right; the chapter has it with noise."""
    rng = np.random.default_rng(2)
    for k in range(1, 30):
        x = rng.uniform(0, 1, k)
        inverse = np.prod(1 - x), np.prod(1 + x)  # 1 / (N w) of a record always wrong, always right
        assert 1 - inverse[0] <= inverse[1] - 1 + 1e-12
        assert (1 - inverse[0] == pytest.approx(inverse[1] - 1)) == (k == 1)


def test_a_weight_becomes_the_mean_in_half_of_all_noise_rounds() -> None:
    """False alarm below 1e-9: a share of 2000 fair coins; the same in a late round as after round 1."""
    rng = np.random.default_rng(1)
    two = np.where(np.arange(100) < 20, 1 / 40, 1 / 160)
    late = rng.exponential(size=100)
    for weights in (two, late / late.sum()):
        weights = weights / weights.sum()
        top = int(np.argmax(weights))
        # Divided by the sum of step 10, a weight at the mean equals the sum's inverse over N.
        clamped = 0
        for seed in range(2000):
            after = noised(weights, seed=seed)
            others = np.delete(np.arange(100), [top, int(np.argmin(weights))])
            clamped += abs(after[top] / after[others[0]] - 0.01 / weights[others[0]]) < 1e-6
        assert abs(clamped / 2000 - 0.5 * math.exp(-weights[top] / 50)) < 0.07
        assert abs(clamped / 2000 - 0.3) > 0.07  # broken twin


def test_true_sensitivities_of_the_extreme_weights() -> None:
    for n, a in ((100, 2.0), (1000, 5.0), (7, 0.5)):
        before = np.full(n, 1 / n)
        for side, extreme in ((1, np.max), (-1, np.min)):
            after = np.append(np.exp(-side * np.full(n, a)), np.exp(side * a))
            after /= after.sum()
            truth = {
                1: math.exp(2 * a) / (n + math.exp(2 * a)) - 1 / n,
                -1: 1 / n - 1 / (1 + n * math.exp(2 * a)),
            }[side]
            assert abs(extreme(after) - extreme(before)) == pytest.approx(truth)
            declared = abs(extreme(before) - 1 / n)  # equations (14) and (15)
            assert declared < 1e-15 < truth
    assert math.exp(4) / (100 + math.exp(4)) - 0.01 == pytest.approx(0.343, abs=5e-4)
    assert math.exp(10) / (1000 + math.exp(10)) - 0.001 == pytest.approx(0.956, abs=5e-4)


def test_noise_rounds_of_each_schedule() -> None:
    for m in range(2, 11):
        swing = int(dpada.swing(m)[1:].sum())
        assert swing == m // 2
        runs = {
            rule: [int(change(h)[1:].sum()) for h in product((0, 1), repeat=m)]
            for rule, change in (("definition7", dpada.definition7), ("causal", dpada.causal))
        }
        assert max(runs["definition7"]) == m - 1  # as many as DPAda
        assert (max(runs["definition7"]) > swing) == (m > 2)
        assert max(runs["causal"]) <= swing  # the repaired rule
    assert dpada.definition7([0, 1, 1])[1:].sum() == 2 > dpada.swing(3)[1:].sum()
    written = DPAda.as_written(schedule="all", n_rounds=9)
    assert written._draw_schedule(np.random.default_rng(0)).tolist() == [0] + [1] * 8


def test_the_least_error_needs_negatives_or_positive_steps() -> None:
    """With errors .40 and .95 a negative α for the worse stump gives the smaller loss, unless its negative is there."""

    def loss(errors: list[float], alphas: np.ndarray) -> dict[float, float]:
        return {e: float(np.min(np.exp(-alphas) * (1 - e) + np.exp(alphas) * e)) for e in errors}

    every, positive = np.linspace(-3, 3, 6001), np.linspace(0, 3, 3001)
    assert min(loss([0.4, 0.95], positive).items(), key=lambda found: found[1])[0] == 0.4
    closed = loss([0.4, 0.6, 0.95, 0.05], every)
    assert closed[0.05] == pytest.approx(closed[0.95]) == pytest.approx(2 * math.sqrt(0.05 * 0.95), abs=1e-6)
    assert closed[0.05] == pytest.approx(min(closed.values()))  # least error, least loss
    alone = loss([0.4, 0.95], every)
    assert alone[0.95] < 0.45 < 0.97 < alone[0.4]  # broken twin


@pytest.mark.parametrize(("n", "wrong", "epsilon"), [(9, 4, 1.0), (101, 50, 1.0), (5, 2, 40.0)])
def test_uniform_weights_have_the_probability_of_the_formula(n: int, wrong: int, epsilon: float) -> None:
    """Theorem `dpada-alone`: atoms of the clamps; false alarm below 1e-4 for each share of 2000 draws."""
    draws, m = 2000, 50
    large, small = 1 / (2 * wrong), 1 / (2 * (n - wrong))
    curator = Curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=epsilon))
    written = Written(DPAda.as_written(epsilon=epsilon, n_rounds=m), Reading(), curator)

    def share(weights: np.ndarray) -> float:
        return float(np.mean([np.ptp(written.noised(weights)) < 1e-12 for _ in range(draws)]))

    def error(p: float) -> float:
        return 4 * math.sqrt(p * (1 - p) / draws)

    found = share(np.repeat([large, small], [wrong, n - wrong]))
    law = 0.25 * math.exp(-epsilon * (large + small) / m)
    assert abs(found - law) < error(law)
    assert found > 0  # "probability 0" was wrong
    assert 1 - found >= 1 - 0.5 * math.exp(-epsilon * large / m) - error(0.5)  # the theorem's bound
    assert share(np.full(n - 1, 1 / (n - 1))) == 1  # D
    if epsilon > 1:  # broken twin: a quarter alone is not the law
        assert abs(found - 0.25) > error(0.25)


def test_a_round_is_one_pass_over_records_and_attributes() -> None:
    """The counts of a round read each record's bin of each attribute once."""
    for n, d in ((50, 3), (100, 3), (100, 6)):
        rng = np.random.default_rng(0)
        domain = dpnb.Domain(tuple(dpnb.Continuous(f"x{a}", 0, 1) for a in range(d)), (0, 1))
        X = pd.DataFrame(rng.random((n, d)), columns=domain.names)
        records = Records(X, rng.integers(0, 2, n), domain=domain)
        assert records.one_hot(public_grid(domain)).nnz == n * d


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", READINGS)
def test_one_label_tells_neighbours_apart_in_every_reading(name: str, schedule: str) -> None:
    """Label + of EVEN's point never on D; on D′ it follows from small noises, whose density is positive at any B."""
    for rounds in (1, 9, 10):
        make: dict[str, Any] = {"schedule": schedule, "n_rounds": rounds, "uniform": 3}
        make |= {"reading": READINGS[name], "domain": grids.EVEN.domain}

        def plus(part: Any, epsilon: float, make: dict[str, Any] = make) -> bool:
            model = DPAda.as_written(random_state=0, epsilon=epsilon, **make).fit(*part)
            return bool(grids.one_label(model)[0])

        assert not plus(grids.EVEN.first, 1.0)
        assert not plus(grids.EVEN.first, 1e6)
        assert plus(grids.EVEN.second, 1e6)
        assert not plus((grids.EVEN.second[0], 1 - grids.EVEN.second[1]), 1e6)  # broken twin: the other class


def test_a_clean_last_round_takes_a_label_back() -> None:
    """Why the theorem has a pair of its own: by the letters Swing of an even m corrects itself on the chapter's."""
    zero = pd.DataFrame({"x": [0.0], "c": [0]})

    def plus(rounds: int, update: str) -> int:
        make: dict[str, Any] = {"n_rounds": rounds, "schedule": "swing", "uniform": 3}
        make |= {"domain": grids.SEPARABLE.domain, "reading": Reading(update=update)}
        fits = (DPAda.as_written(random_state=s, **make).fit(*grids.SEPARABLE.second) for s in range(20))
        return sum(int(fit.predict(zero)[0]) for fit in fits)

    assert plus(4, "raw") == 0 < plus(3, "raw")
    assert plus(4, "noised") > 0


def test_noise_of_two_scales_has_an_unbounded_ratio() -> None:
    def ratio(y: float, scale: float) -> float:
        laws = Laplace(np.array(0.2), np.array(0.5)), Laplace(np.array(0.2), np.array(scale))
        return float(laws[0].log_density(np.array(y)) - laws[1].log_density(np.array(y)))

    assert abs(ratio(1e4, 0.6)) > 3000
    assert abs(ratio(1e6, 0.6)) > 300_000
    assert abs(ratio(1e6, 0.5)) < 1e-6  # broken twin: equal scales


@pytest.mark.realdata
def test_sizes_of_the_data_sets() -> None:
    adult = dpnb.load("adult", missing="keep")
    X = pd.concat([adult.train[0], adult.test[0]])
    assert (len(adult.train[0]), len(adult.test[0])) == (32_561, 16_281)
    assert (sum(adult.domain.continuous), adult.domain.n_attributes) == (6, 14)
    elsewhere = (X["native-country"] != "United-States").mean()
    assert round(100 * elsewhere, 1) == 10.3
    complete = dpnb.load("adult")
    known = pd.concat([complete.train[0], complete.test[0]])["native-country"]
    assert round(100 * (known != "United-States").mean(), 1) == 8.7
    bank = dpnb.load("bank")
    assert len(bank.train[0]) + len(bank.test[0]) == 41_188
    assert (sum(bank.domain.continuous), bank.domain.n_attributes) == (10, 20)


def test_all_readings_were_run() -> None:
    words = ("literal", "flat"), ("same", "indep", "first"), ("signed", "clip0")
    stays = {", ".join(c) for c in product(*words)}
    table = runs.read("dpada_readings", ROOT / "results")
    for n_rounds in (30, 50, 100):
        found = set(table.loc[table["n_rounds"] == n_rounds, "utility"])
        assert set(READINGS) == found == stays | {f"{name}, raw" for name in stays}
    for name, reading in READINGS.items():
        end = ", raw" if reading.update == "raw" else ""
        assert name == f"{reading.scale}, {reading.ties}, {reading.clamp}{end}"
    assert Reading() == READINGS[grids.LETTERS]
