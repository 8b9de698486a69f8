"""The boosting baselines: what they compute, what they claim, and what they leak."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import AdaBoostClassifier

from dpaudit.pairs import DOMAIN, pair_of
from dpnb import Categorical, Continuous, Domain
from dpnb.papers import baselines
from dpnb.papers.baselines import AdaBoost, CARTDPsAdaBoost, DPAdaBoost
from dpnb.privacy.curator import Curator
from dpnb.privacy.ledger import Ledger
from dpnb.records.memory import Records
from dpnb.replay import replay
from dpnb.replay.neighbours import Part

ALPHA = "weight α_t of a stump, from its exact weighted error"
STUMP = "stump of least weighted error, without noise"
UNIT = "normaliser of the weights, without noise"
BEST = "attribute and partition of least Gini index, without noise"
MIDPOINTS = "candidate thresholds: midpoints of the values that occur"
CASES = {
    "DPAdaBoost": (DPAdaBoost(n_rounds=4), {ALPHA: 4, STUMP: 4, UNIT: 3}),
    "CARTDPsAdaBoost": (CARTDPsAdaBoost(n_rounds=4), {ALPHA: 4, BEST: 4, UNIT: 3}),
    "demo": (CARTDPsAdaBoost(n_rounds=4, demo=True), {ALPHA: 4, MIDPOINTS: 1, UNIT: 3}),
}
PAIR = pair_of(
    "α₁",
    [(1.0, 1, 1)] * 3 + [(1.0, 1, 0)] + [(0.0, 0, 0)] * 3 + [(0.0, 0, 1)],
    (1.0, 1, 1),
    neighbours="add-remove",
)


def sample(n: int = 300, seed: int = 0) -> Part:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.random(n).round(3), "c": rng.integers(0, 2, n)})
    likely = np.where((X["x"] > 0.4) & (X["c"] == 1), 0.95, 0.1)
    return X, pd.Series((rng.random(n) < likely).astype(int))


class PlainStump(ClassifierMixin, BaseEstimator):
    """Stump of least weighted error by trying all: scikit-learn's own minimises the Gini index instead."""

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[Any]) -> PlainStump:
        self.classes_ = np.unique(y)
        tried = []
        for a in range(X.shape[1]):
            values = np.unique(X[:, a])
            for cut in (values[1:] + values[:-1]) / 2:
                for below in (0, 1):
                    said = np.where(X[:, a] <= cut, below, 1 - below)
                    tried.append((sample_weight[said != y].sum(), a, cut, below))
        _, self.attribute_, self.cut_, self.below_ = min(tried)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        return np.where(np.asarray(X)[:, self.attribute_] <= self.cut_, self.below_, 1 - self.below_)


def continuous_sample(seed: int, n: int = 80) -> tuple[pd.DataFrame, pd.Series, Domain]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((n, 3)), columns=["a", "b", "c"])
    y = pd.Series((X.sum(axis=1) + 0.3 * rng.standard_normal(n) > 1.5).astype(int))
    return X, y, Domain(tuple(Continuous(name, 0, 1) for name in X), (0, 1))


@pytest.mark.parametrize("seed", range(3))
def test_adaboost_equals_scikit_learn_on_the_same_weak_learner(seed: int) -> None:
    """Errors, twice our α, and predictions on new records."""
    X, y, domain = continuous_sample(seed)
    ours = AdaBoost(n_rounds=10, domain=domain).fit(X, y)
    theirs = AdaBoostClassifier(PlainStump(), n_estimators=10).fit(X.to_numpy(), y)
    np.testing.assert_allclose(2 * ours.model_.alpha, theirs.estimator_weights_, rtol=1e-9)
    np.testing.assert_allclose(1 / (1 + np.exp(2 * ours.model_.alpha)), theirs.estimator_errors_, rtol=1e-9)
    new = np.random.default_rng(9).random((500, 3))
    np.testing.assert_array_equal(ours.predict(pd.DataFrame(new, columns=X.columns)), theirs.predict(new))


def test_adaboost_mostly_agrees_with_scikit_learns_gini_stumps() -> None:
    X, y, domain = continuous_sample(4, 400)
    theirs = AdaBoostClassifier(n_estimators=30, random_state=0).fit(X, y)
    for thresholds in ("data", "grid"):
        ours = AdaBoost(domain=domain, thresholds=thresholds).fit(X, y)
        assert (ours.predict(X) == theirs.predict(X)).mean() > 0.9


def test_adaboost_claims_nothing() -> None:
    ledger = AdaBoost(n_rounds=5, domain=DOMAIN).fit(*sample()).ledger_
    assert ledger.claimed == ledger.epsilon == math.inf
    assert ledger.leaks == {STUMP: 5, ALPHA: 5}
    assert not replay(AdaBoost(n_rounds=5, domain=DOMAIN), PAIR.first, PAIR.second).violated


@pytest.mark.parametrize("name", CASES)
def test_the_ledger_names_the_leaks(name: str) -> None:
    model, leaks = CASES[name]
    ledger = clone(model).set_params(epsilon=0.7, domain=DOMAIN, random_state=0).fit(*sample()).ledger_
    assert ledger.claimed == 0.7
    assert ledger.epsilon == math.inf
    assert ledger.leaks == leaks


@pytest.mark.parametrize("name", CASES)
def test_replay_refutes_the_claim(name: str) -> None:
    model, leaks = CASES[name]
    model = clone(model).set_params(domain=DOMAIN)
    found = replay(model, PAIR.first, PAIR.second)
    assert found.lower_bound == math.inf
    assert found.violated
    assert set(found.event.split("; ")) <= set(leaks)
    assert ALPHA in found.event


def test_new_midpoints_are_named() -> None:
    pair = pair_of("", [(0.2, 0, 0), (0.8, 1, 1)] * 3, (0.5, 1, 1), neighbours="add-remove")
    found = replay(CARTDPsAdaBoost(demo=True, n_rounds=2, domain=DOMAIN), pair.first, pair.second)
    assert MIDPOINTS in found.event
    assert replay(AdaBoost(n_rounds=2, domain=DOMAIN), pair.first, pair.second).lower_bound == math.inf


def noise(model: Any, part: Part) -> list[tuple[str, float, float]]:
    """What was noised, what one record pays for it, and the scale: sensitivity over price."""
    ledger = model.set_params(domain=DOMAIN, random_state=0).fit(*part).ledger_
    noised = [e for e in ledger.events if e.mechanism != "exact"]
    return [(e.what, float(e.epsilon), e.sensitivity / float(e.epsilon)) for e in noised]


def test_prices_of_the_noise() -> None:
    """The scales are the papers'; the price is theirs in round 1, where all weights are 1, and more from then on."""
    part = sample()
    shen = noise(DPAdaBoost(epsilon=0.8, n_rounds=4), part)
    assert [scale for *_, scale in shen] == pytest.approx([4 / 0.8] * 4)
    assert shen[0][1] == pytest.approx(0.2)
    assert all(price > 0.2 for _, price, _ in shen[1:])
    cart = noise(CARTDPsAdaBoost(epsilon=0.8, n_rounds=4), part)
    assert sum(price for _, price, _ in cart[:2]) == pytest.approx(0.2)
    demo = noise(CARTDPsAdaBoost(epsilon=0.8, n_rounds=4, demo=True), part)
    assert [scale for *_, scale in demo] == pytest.approx([1 / 0.8] * 8)
    candidates = len(np.unique(part[0]["x"])) - 1 + 1  # both attributes are in the subspace of ⌈√2⌉
    assert demo[0][1] == pytest.approx(100 * candidates * 0.8)
    assert demo[1] == ("leaf counts", pytest.approx(80), pytest.approx(1.25))


def test_the_demos_noise_is_ten_times_too_small() -> None:
    curator = Curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0))
    now = baselines._Round(curator, None, 1.0)  # type: ignore[arg-type]
    means = baselines._noisy(np.zeros((500, 4)), now, 0.5, what="counts", draws=baselines.DRAWS)
    assert means.std() == pytest.approx(math.sqrt(2) / 0.5 / 10, rel=0.05)


def test_alpha_of_the_demo_has_base_10() -> None:
    model = CARTDPsAdaBoost(epsilon=math.inf, n_rounds=1, domain=DOMAIN, random_state=0)
    part = sample()
    plain, demo = (clone(model).set_params(demo=d).fit(*part) for d in (False, True))
    errors = [(m.predict(part[0]) != part[1]).mean() for m in (plain, demo)]
    assert plain.model_.alpha[0] == pytest.approx(0.5 * math.log((1 - errors[0]) / errors[0]))
    assert demo.model_.alpha[0] == pytest.approx(0.5 * math.log10((1 - errors[1]) / errors[1]))


@pytest.mark.parametrize("name", CASES)
def test_they_learn(name: str) -> None:
    X, y = sample(1000)
    for epsilon in (math.inf, 50.0):
        model = clone(CASES[name][0]).set_params(epsilon=epsilon, domain=DOMAIN, random_state=0, n_rounds=20)
        assert model.fit(X, y).score(*sample(500, seed=1)) > 0.85
        shares = model.predict_proba(X)
        assert shares.min() >= 0
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(shares, clone(model).fit(X, y).predict_proba(X))


def test_gini_indices_equal_a_direct_sum() -> None:
    X, y = sample(60)
    X = X.assign(c=np.random.default_rng(0).choice(["a", "b", "d"], 60))
    domain = Domain((Continuous("x", 0, 1), Categorical("c", ("a", "b", "d"))), (0, 1))
    data = Records(X, y, domain=domain).weighted(None)
    data.weights = weights = np.random.default_rng(1).random(60)
    found = baselines._gini(data.tables())
    for j in range(len(found)):
        holds, direct = data._answers(data.grid.stump(j)) > 0, 0.0
        for child in (holds, ~holds):
            total, share = weights[child].sum(), weights[child & (data._sign > 0)].sum()
            direct += total * (1 - (share / total) ** 2 - (1 - share / total) ** 2)
        assert found[j] == pytest.approx(direct)


@pytest.mark.parametrize("name", CASES)
def test_degenerate_data(name: str) -> None:
    """One class, one value, and more rounds than a perfect stump needs."""
    model = clone(CASES[name][0]).set_params(domain=DOMAIN, random_state=0, epsilon=math.inf)
    X, y = PAIR.first
    assert model.set_params(n_rounds=2).fit(X.iloc[:3], y.iloc[:3]).score(X.iloc[:3], y.iloc[:3]) == 1
    X, y = sample(50)
    assert model.set_params(n_rounds=100).fit(X, (X["x"] > 0.4).astype(int)).score(X, X["x"] > 0.4) > 0.9
