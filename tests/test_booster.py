"""PrivateBooster: privacy, additive shapes, several classes, and its quality on the stand-in."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score

from dpaudit import families
from dpaudit.pairs import DOMAIN, pair_of, random_pair
from dpnb import Categorical, Continuous, Domain, DomainError, PrivateBooster, load
from dpnb.boosting import stages
from dpnb.boosting.booster import logistic
from dpnb.papers.stumps import round_budget
from dpnb.records import memory as counts
from dpnb.records.grid import public_grid
from dpnb.records.memory import Records, WeightedRecords
from dpnb.replay import Finding
from dpnb.replay.tape import replay_estimator
from private_trees.auditing.exact import exact

THREE = Domain((Continuous("x", 0, 3), Categorical("c", ("a", "b", "d"))), ("low", "middle", "high"))


def three_classes(n: int = 600) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 3, n), "c": rng.choice(["a", "b", "d"], n)})
    return X, pd.Series(np.array(["low", "middle", "high"])[X["x"].astype(int)])


def test_the_grid_depends_on_the_domain_alone() -> None:
    grid = public_grid(THREE)
    assert grid.cuts[1] is None
    cuts = grid.cuts[0]
    assert cuts is not None
    assert len(cuts) == 31 + 24
    assert np.all(np.diff(cuts) > 0)
    assert 0 < cuts[0] < cuts[-1] < 3
    assert grid.sizes.tolist() == [56, 3]
    assert grid.n_candidates == 2 * (55 + 3) + 2
    one_bit = Domain((Categorical("g", (0, 1)), Categorical("only", (7,))), (0, 1))
    assert public_grid(one_bit).n_candidates == 2 + 2


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_the_ledger_equals_epsilon(neighbours: str, epsilon: float) -> None:
    X, y = three_classes(60)
    model = PrivateBooster(
        epsilon=epsilon, n_rounds=7, domain=THREE, neighbours=neighbours, random_state=0
    ).fit(X, y)
    assert model.ledger_.epsilon == pytest.approx(epsilon, abs=1e-12)
    assert model.ledger_.leaks == {}
    assert len(model.ledger_.events) == 1 + 7
    private = clone(model).set_params(delta=1e-5).fit(X, y)
    assert 0.9 * epsilon < private.ledger_.epsilon <= epsilon
    assert private.ledger_.delta == 1e-5


@pytest.mark.parametrize("delta", [None, 1e-5])
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_replay_stays_below_the_ledger(delta: float | None, relation: str) -> None:
    """Forty pairs; with δ the loss is held against what ρ-zCDP allows but for one output in 10⁹."""
    rng = np.random.default_rng(0)
    model = PrivateBooster(
        epsilon=2.0, delta=delta, n_rounds=6, learning_rate=0.4, uniform=5, geometric=2, neighbours=relation
    )
    losses = []
    pairs = [*families(relation), *(random_pair(rng, neighbours=relation) for _ in range(33))]
    for seed, pair in enumerate(pairs):
        sides = (pair.first, pair.second) if seed % 2 else (pair.second, pair.first)
        outcome, found = replay_estimator(
            model.set_params(domain=pair.domain), *sides, seed=seed, encoded=True
        )
        assert found == relation
        rho = outcome.ledger.rho
        concentrated = rho + 2 * np.sqrt(rho * np.log(1e9))
        assert outcome.loss <= min(outcome.ledger.pure_epsilon, concentrated) * (1 + 1e-9)
        losses.append(outcome.loss)
    assert max(losses) > 0.1


def test_explanations_sum_to_the_score() -> None:
    X, y = three_classes()
    model = PrivateBooster(epsilon=20.0, domain=THREE, random_state=0).fit(X, y)
    X = X.set_axis(X.index + 1000)[:50]
    for label, one in zip(THREE.classes, model.models_, strict=True):
        table = model.explain(X, label=label)
        assert table.columns.tolist()[:3] == ["constant", "x", "c"]
        assert table.index.equals(X.index)
        np.testing.assert_allclose(table.sum(axis=1), one.score(THREE.encode(X)), atol=1e-12)
    with pytest.raises(ValueError, match="label=None"):
        model.explain(X)
    with pytest.raises(NotFittedError):
        PrivateBooster().explain(X)


def test_a_triple_has_a_column_and_shares_its_importance() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(2, size=(4000, 3))
    X = pd.DataFrame({"x": (bits[:, 0] + rng.random(4000)) / 2, "d": bits[:, 1], "c": bits[:, 2], "z": 0})
    y = bits.sum(axis=1) % 2
    domain = Domain(
        (Continuous("x", 0, 1), *(Categorical(name, (0, 1)) for name in "dc"), Categorical("z", (0, 1))),
        (0, 1),
    )
    model = PrivateBooster(domain=domain, epsilon=5.0, delta=1e-5, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    ((name, shape),) = ((n, s) for n, s in model.groups().items() if len(n) == 3)
    assert name == ("x", "d", "c")
    assert shape.score.shape == tuple(len(at) + 1 if a == 0 else len(at) for a, at in enumerate(shape.at))
    table = model.explain(X)
    assert table.columns.tolist()[:6] == ["constant", "x", "d", "c", "z", "x × d × c"]
    assert table["x × d × c"].abs().min() > table[["x", "d", "c"]].abs().mean().max()  # it says nearly all
    np.testing.assert_allclose(table.sum(axis=1), model.models_[0].score(domain.encode(X)), atol=1e-12)
    shares = model.feature_importances_
    assert shares.sum() == pytest.approx(1)
    assert shares[:3].min() > 0.25 > shares[3]
    alone = clone(model).set_params(additive=True).fit(X, y)  # broken twin
    assert alone.explain(X).columns.tolist() == ["constant", *"xdcz"]
    assert alone.score(X, y) < 0.7


def test_replay_of_three_classes() -> None:
    X, y = three_classes(30)
    model = PrivateBooster(epsilon=2.0, n_rounds=3, uniform=5, geometric=2, domain=THREE)
    for seed in range(5):
        pair = (X, y), (X.drop(index=seed), y.drop(index=seed))
        outcome, _ = replay_estimator(model, *pair, seed=seed)
        assert 0 < outcome.loss <= 2.0 + 1e-9


def test_a_doubled_rate_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    signed = stages.Stages.signed
    pair = pair_of("ties", [(0.2, 0, 0)] * 3 + [(0.8, 1, 1)] * 3, (0.2, 0, 1), neighbours="add-remove")
    model = PrivateBooster(n_rounds=1, uniform=3, geometric=1, domain=DOMAIN, random_state=0)

    def audit() -> Finding:
        return exact(lambda part: clone(model).fit(*part), pair.first, pair.second, claimed=1.0, subject="")

    assert 0.5 < audit().lower_bound <= 1 + 1e-9
    monkeypatch.setattr(
        stages.Stages,
        "signed",
        lambda self, mechanism, epsilon, *how: signed(self, mechanism, 2 * epsilon, *how),
    )
    assert audit().violated


@pytest.mark.parametrize("epsilon", [20.0, np.inf])
def test_three_classes_are_learnt(epsilon: float) -> None:
    X, y = three_classes()
    model = PrivateBooster(epsilon=epsilon, delta=1e-5, domain=THREE, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.argmax() == 0
    assert model.shape("x", label="high").score[-1] > model.shape("x", label="high").score[0]
    with pytest.raises(ValueError, match="label=None"):
        model.shape("x")


def test_shapes_add_up_to_the_log_odds() -> None:
    adult = load("adult-standin")
    X, y = adult.train[0][:3000], adult.train[1][:3000]
    model = PrivateBooster(domain=adult.domain, delta=1e-5, random_state=0).fit(X, y)
    codes = adult.domain.encode(X)
    score = np.full(len(X), model.models_[0].constant)
    for a, name in enumerate(adult.domain.names):
        at, part = model.shape(name)
        if adult.domain.continuous[a]:
            assert len(part) == len(at) + 1
            score += part[(codes[:, [a]] > at).sum(axis=1)]
        else:
            score += part[codes[:, a].astype(int)]
    assert model.groups()
    for names, (cuts, part) in model.groups().items():
        bins = []
        for name, at in zip(names, cuts, strict=True):
            a = adult.domain.names.index(name)
            ordered = adult.domain.continuous[a]
            bins.append((codes[:, [a]] > at).sum(axis=1) if ordered else codes[:, a].astype(int))
        score += part[tuple(bins)]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], logistic(score), atol=1e-12)
    with pytest.raises(ValueError, match="label='no'"):
        model.shape(name, label="no")
    with pytest.raises(DomainError):
        model.shape("nobody")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_quality_on_the_stand_in() -> None:
    adult = load("adult-standin")
    positive = np.asarray(adult.test[1]) == adult.domain.classes[1]
    for parameters, least in (({"delta": 1e-5}, 0.915), ({}, 0.9), ({"epsilon": 0.1, "delta": 1e-5}, 0.88)):
        model = PrivateBooster(domain=adult.domain, random_state=0, **parameters).fit(*adult.train)
        assert roc_auc_score(positive, model.predict_proba(adult.test[0])[:, 1]) > least


def test_few_rounds_compose_by_pure_epsilon() -> None:
    few = round_budget(epsilon=1.0, delta=1e-5, rounds=2)
    assert few.rho is None
    assert few.epsilon == pytest.approx(round_budget(epsilon=1.0, delta=None, rounds=2).epsilon) == 0.5
    many = round_budget(epsilon=1.0, delta=1e-5, rounds=150)
    assert many.rho is not None
    assert many.epsilon > 1 / 150
    halved = round_budget(epsilon=1.0, delta=1e-5, rounds=150, neighbours="replace")
    assert halved.epsilon == pytest.approx(many.epsilon / 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rounds": 0}, "n_rounds=0"),
        ({"learning_rate": float("nan")}, "learning_rate=nan"),
        ({"delta": 2.0}, "delta=2.0"),
        ({"uniform": -1}, "uniform=-1"),
        ({"neighbours": "all"}, "neighbours='all'"),
    ],
)
def test_errors_name_the_value(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PrivateBooster(domain=THREE, **wrong).fit(*three_classes(20))


def test_sums_of_weights_do_not_depend_on_the_order_of_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit: bounded weights are multiples of 2⁻²⁸."""
    X, y = three_classes(3000)
    order = np.random.default_rng(1).permutation(len(X))

    def right(X: pd.DataFrame, y: pd.Series) -> np.ndarray:
        data = WeightedRecords(Records(X, y, domain=THREE), public_grid(THREE))
        for candidate, step in ((3, 0.37), (60, 0.21), (9, 0.11)):
            data.advance(data.grid.stump(candidate), step)
        return data.right()

    np.testing.assert_array_equal(right(X, y), right(X.iloc[order], y.iloc[order]))
    monkeypatch.setattr(counts, "bounded_weights", lambda margin: np.exp(-np.maximum(margin, 0.0)))
    assert np.any(right(X, y) != right(X.iloc[order], y.iloc[order]))  # broken twin: not rounded
