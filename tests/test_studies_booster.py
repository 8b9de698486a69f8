"""Every idea keeps the budget: its ledger, replays on neighbours, and broken twins that are caught."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpnb import Categorical, Continuous, Domain
from dpnb.arrays import Floats
from dpnb.audit.replay import replay_estimator
from dpnb.audit.search import random_pair
from dpnb.book.runs import records_of
from dpnb.book.studies import booster as booster_ideas
from dpnb.book.studies.booster import (
    FINE,
    IDEAS,
    NOT_PURE,
    BinByBin,
    Idea,
    Sweeps,
    Table,
    answers,
    shape_step,
)
from dpnb.booster import RoundBudget, select_stump
from dpnb.counts import Records, WeightedRecords
from dpnb.curator import Curator
from dpnb.grid import public_grid

SMALL = Domain((Continuous("x", 0, 3), Categorical("c", ("a", "b", "d"))), (0, 1))
LOOPS = [name for name in IDEAS if name not in NOT_PURE]


@pytest.mark.parametrize("name", IDEAS)
def test_the_ledger_keeps_the_budget(name: str) -> None:
    records, _, _ = records_of("adult-standin")
    for delta in (1e-5, None)[: 1 if name in NOT_PURE else 2]:
        model = IDEAS[name](epsilon=1.0, delta=delta, random_state=0, n_rounds=60).fit(records)
        assert model.ledger_.by_sums(delta).epsilon > 0.99
        assert model.ledger_.epsilon <= 1 + 1e-9
        assert model.ledger_.leaks == {}


def losses(model: Any, pairs: int = 90) -> list[float]:
    """Privacy losses of replays on random neighbours."""
    rng, found = np.random.default_rng(0), []
    for seed in range(pairs):
        pair = random_pair(rng, neighbours="add-remove")
        sides = (pair.first, pair.second) if seed % 2 else (pair.second, pair.first)
        model.set_params(domain=pair.domain, n_rounds=6, uniform=5, geometric=2)
        outcome, _ = replay_estimator(model, *sides, seed=seed)
        found.append(outcome.loss)
    return found


@pytest.mark.parametrize("name", LOOPS)
def test_replay_stays_below_epsilon(name: str) -> None:
    found = losses(IDEAS[name](epsilon=2.0))
    assert 0.1 < max(found) <= 2 + 1e-9


def test_replay_of_the_prior() -> None:
    """With δ the pure ε of the same ledger bounds every output."""
    rng = np.random.default_rng(0)
    for seed in range(10):
        pair = random_pair(rng, neighbours="add-remove")
        model = IDEAS[NOT_PURE[0]](epsilon=1.0, delta=1e-5, n_rounds=60, domain=pair.domain)
        outcome, _ = replay_estimator(model, pair.first, pair.second, seed=seed)
        assert outcome.loss <= outcome.ledger.pure_epsilon * (1 + 1e-9)


class Overdrawn(Idea):
    """Rounds with twice their share: the ledger shows it."""

    def _shares(self, rounds: int) -> Floats:
        return 2 * super()._shares(rounds)


class WholeEdge(Idea):
    """Stumps scored by the weight that is right less that which is wrong: a record moves it by 2, not by 1."""

    def _learner(self, data: WeightedRecords, curator: Curator, budget: RoundBudget) -> Floats:
        return answers(data.grid, select_stump(curator, 2 * data.right(), budget))


def test_broken_twins_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(losses(WholeEdge(epsilon=2.0))) > 2
    records, _, _ = records_of("adult-standin")
    assert Overdrawn(n_rounds=5).fit(records).ledger_.epsilon == pytest.approx(2.0)

    def too_little_noise(curator: Curator, exact: Floats, budget: RoundBudget) -> Floats:
        return curator.laplace(exact, epsilon=budget.epsilon, sensitivity=0.25, what="groups")

    monkeypatch.setattr(booster_ideas, "release_groups", too_little_noise)
    assert max(losses(BinByBin(epsilon=2.0))) > 2


def test_a_table_answers_like_its_stump() -> None:
    records, _, _ = records_of("adult-standin")
    grid = public_grid(records.domain, **FINE)
    for candidate in (0, len(grid.kind) - 1, len(grid.kind) + 3, grid.n_candidates - 1):
        data = WeightedRecords(records, grid, positive=1)
        other = WeightedRecords(records, grid, positive=1)
        data.add(0.5 * answers(grid, candidate))
        other.advance(grid.stump(candidate), 0.5)
        np.testing.assert_allclose(data.weights, other.weights, atol=1e-8)


def test_a_record_moves_one_entry_an_attribute_by_its_weight() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 3, 40), "c": rng.choice(["a", "b", "d"], 40)})
    y = pd.Series((X["x"] > 1).astype(int))
    grid = public_grid(SMALL, uniform=4, geometric=0)
    both = [Records(X[k:], y[k:], domain=SMALL) for k in (0, 1)]
    tables = []
    for records in both:
        data = WeightedRecords(records, grid, positive=1)
        data.add(np.linspace(-1, 1, int(grid.sizes.sum())))
        tables.append(data.by_bin())
    change = tables[0] - tables[1]
    first = WeightedRecords(both[0], grid, positive=1)
    first.add(np.linspace(-1, 1, int(grid.sizes.sum())))
    assert np.count_nonzero(change) == 2
    np.testing.assert_array_equal(change[change != 0], first.weights[0])


def test_the_sweep_of_exact_weights_is_a_newton_step_less_its_mean() -> None:
    grid = public_grid(SMALL, uniform=3, geometric=0)
    weight = np.array([10.0, 20.0, 30.0, 40.0, 50.0, 25.0, 25.0])
    signed = np.array([5.0, -10.0, 3.0, 12.0, 10.0, 5.0, -5.0])
    step = shape_step(Table(signed, weight, 0.0), grid)
    ratio = signed / weight
    centred = np.concatenate([ratio[:4] - signed[:4].sum() / 100, ratio[4:] - signed[4:].sum() / 100])
    np.testing.assert_allclose(step, centred + signed.sum() / weight.sum() / 2)
    drowned = shape_step(Table(signed, weight, 1e9), grid)
    np.testing.assert_allclose(drowned, signed.sum() / weight.sum() / 2, atol=1e-5)


@pytest.mark.parametrize(("declared", "private"), [(2.0, True), (0.25, False)])
def test_a_sweep_with_too_small_a_sensitivity_is_caught(
    declared: float, private: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def release(curator: Curator, data: WeightedRecords, budget: RoundBudget) -> Table:
        noisy = curator.laplace(data.by_bin(), epsilon=budget.epsilon, sensitivity=declared, what="sweep")
        return Table(noisy[0] - noisy[1], noisy[0] + noisy[1], 1.0)

    monkeypatch.setattr(booster_ideas, "release_table", release)
    assert (max(losses(Sweeps(epsilon=1.0))) <= 1 + 1e-9) == private


# The rivals

BUDGETS = [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0]
PRIVATE = list(booster_ideas.GUARANTEES)


def rivals(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "results" / "peers.csv", dtype={"privacy": str})


def ours(root: Path) -> pd.DataFrame:
    grid = pd.read_csv(root / "results" / "booster.csv")
    return (
        grid.groupby(["method", "dataset", "epsilon", "metric"])["value"].mean().rename("mean").reset_index()
    )


def left_out(table: pd.DataFrame, settings: list[str]) -> list[str]:
    """Settings that were measured and are not in the table, on both data sets and at all budgets; and the reverse."""
    private = table[table["privacy"].isin(PRIVATE)]
    found = {
        (method, dataset): sorted(set(rows["epsilon"]) & set(BUDGETS))
        for (method, dataset), rows in private.groupby(["method", "dataset"])
    }
    wanted = {(method, dataset): BUDGETS for method in settings for dataset in ("adult", "bank")}
    on_both = {key: value for key, value in found.items() if key[1] in ("adult", "bank")}
    return sorted(
        {key[0] for key in wanted if on_both.get(key) != wanted[key]}
        | {key[0] for key in on_both if key not in wanted}
    )


def test_the_table_holds_every_setting_that_was_measured(root: Path) -> None:
    table = rivals(root)
    about = json.loads((root / "results" / "peers.json").read_text(encoding="utf-8"))
    assert about["rows"] == len(table)
    assert set(table["privacy"]) == {*PRIVATE, "floor", "ceiling"}
    assert left_out(table, about["settings"]) == []
    best_pure = "diffprivlib LogisticRegression, C = 0.01"  # broken twins
    assert left_out(table[table["method"] != best_pure], about["settings"]) == [best_pure]
    assert left_out(table, [m for m in about["settings"] if m != best_pure]) == [best_pure]
    assert left_out(table.drop(index=table.index[table["method"] == "S-BDT"][:1]), about["settings"]) == [
        "S-BDT"
    ]


@pytest.mark.parametrize("metric", ["accuracy", "auc"])
def test_a_lead_is_one_over_all_settings(metric: str, root: Path) -> None:
    table, mine = rivals(root), ours(root)
    found = booster_ideas.leads(mine, table, metric)
    assert found.shape == (6, 7)
    assert (found > 0).all(axis=None)
    for (dataset, name), lead in found.iterrows():
        own = mine[(mine["dataset"] == dataset) & (mine["method"] == name) & (mine["metric"] == metric)]
        strict = [p for p, d in booster_ideas.GUARANTEES.items() if d <= (booster_ideas.PRODUCT[name] or 0.0)]
        them = table[(table["dataset"] == dataset) & table["privacy"].isin(strict)]
        apart = [
            own.set_index("epsilon")["mean"] - rows.set_index("epsilon")[f"{metric}_mean"]
            for _, rows in them.groupby("method")
        ]
        smallest = pd.DataFrame(apart).min()
        np.testing.assert_allclose(lead[BUDGETS].astype(float), smallest[BUDGETS], atol=1e-12)


def test_a_rival_that_is_better_ends_a_lead(root: Path) -> None:
    table, mine = rivals(root), ours(root)
    for privacy in PRIVATE:
        row = table[(table["privacy"] == privacy) & (table["dataset"] == "adult") & (table["epsilon"] == 1.0)]
        better = pd.concat([table, row[:1].assign(method="new", auc_mean=0.99)])
        lost = booster_ideas.leads(mine, better, "auc") < 0
        stricter = [
            name for name, d in booster_ideas.PRODUCT.items() if booster_ideas.GUARANTEES[privacy] <= (d or 0)
        ]
        assert {name for (_, name), gone in lost[1.0].items() if gone} == set(stricter)
    ahead = booster_ideas.leads(mine, table, "auc").loc[("adult", "pure"), 1.0]
    without = table[table["method"] != "diffprivlib LogisticRegression, C = 0.01"]
    assert ahead + 0.02 < booster_ideas.leads(mine, without, "auc").loc[("adult", "pure"), 1.0]


def test_the_error_of_an_area_is_the_spread_of_areas() -> None:
    """Against 2000 samples of scores with normal noise, AUC .91."""
    rng, n = np.random.default_rng(0), 120
    labels = np.arange(n) < 30
    areas = []
    for _ in range(2000):
        scores = rng.normal(size=n) + 1.9 * labels
        areas.append(np.mean(scores[labels][:, None] > scores[~labels]))
    stated = booster_ideas.area_error(float(np.mean(areas)), positive=30, negative=90)
    assert 1 <= stated / np.std(areas) < 1.35  # on the safe side
    assert booster_ideas.area_error(0.91, positive=300, negative=900) < 0.5 * np.std(areas)  # broken twin


# The weights, normalised


def right_share(weights: Floats, right: Floats) -> float:
    return float(weights @ right / weights.sum())


def test_a_normalised_weight_bounds_its_own_effect_but_not_the_sign() -> None:
    """What `board-ex-normalise` says: the change is ω (1 − c) or −ω c; unnormalised it is the weight or nothing."""
    rng, changes = np.random.default_rng(0), []
    for _ in range(2000):
        n = rng.integers(1, 8)
        weights, right, w, hit = (
            rng.exponential(size=n),
            rng.integers(0, 2, n),
            rng.exponential() * 10,
            rng.integers(2),
        )
        before = right_share(weights, right)
        after = right_share(np.append(weights, w), np.append(right, hit))
        omega = w / (weights.sum() + w)
        assert after - before == pytest.approx(omega * (1 - before) if hit else -omega * before, abs=1e-12)
        assert abs(after - before) <= omega + 1e-12  # the twin: a change of more than ω is never found
        changes.append(after - before)
    assert min(changes) < -0.9
    assert max(changes) > 0.9
    pair = right_share(np.array([1, 1, 1000.0]), np.array([1, 1, 0])) - right_share(np.ones(2), np.ones(2))
    assert pair == pytest.approx(-1000 / 1002)


def test_two_stumps_range_over_nearly_twice_the_weight() -> None:
    """Right with c near 0, and wrong with c near 1: no bound below 2ω for the range, so F1 gives half of the rate."""
    weights, first, second = np.array([1.0, 1e-6]), np.array([0, 1]), np.array([1, 0])
    for w in (1.0, 9.0):
        omega = w / (weights.sum() + w)
        moves = [
            right_share(np.append(weights, w), np.append(right, hit)) - right_share(weights, right)
            for right, hit in ((first, 1), (second, 0))
        ]
        assert 1.99 * omega < moves[0] - moves[1] <= 2 * omega
        bare = [
            np.append(weights, w) @ np.append(r, hit) - weights @ r for r, hit in ((first, 1), (second, 0))
        ]
        assert bare == pytest.approx([w, 0.0])
