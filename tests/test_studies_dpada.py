"""The grids of the boosting chapters: what they hold, and how their results are summed up."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpnb import load
from dpnb.boosting.booster import PrivateBooster, logistic
from dpnb.papers.baselines import AdaBoost
from dpnb.papers.dpada import DPAda
from dpnb.papers.stumps import half_logistic
from dpnb.records.losses import bounded_weights
from dpnb.records.memory import Records
from private_trees.studies import dpada as grids
from private_trees.studies.runs import KEYS, Cell, points_of
from private_trees.studies.scores import probability_scores


def test_the_grid_is_the_papers() -> None:
    cells = grids.dpada_grid().cells
    assert len(set(cells)) == len(cells) == len(grids.METHODS) * 2 * 8 * 5 + 2 * 5 + 2
    for method in grids.METHODS:
        mine = [cell for cell in cells if cell.method == method]
        assert {cell.epsilon for cell in mine} == {0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 3.0, 5.0}
        assert {cell.n_rounds for cell in mine} == {30, 50, 70, 90, 100}
        assert {cell.dataset for cell in mine} == {"adult/us", "bank"}
    grid = grids.dpada_grid()
    assert {grid.delta(cell) for cell in cells if "δ" in cell.method} == {1e-5}
    assert {grid.delta(cell) for cell in cells if "δ" not in cell.method} == {0.0}


@pytest.mark.parametrize("method", grids.METHODS)
def test_every_method_of_the_grid_fits(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.random(300).round(2), "c": rng.integers(0, 2, 300)})
    y = np.where(rng.random(300) < 0.1, X["x"] < 0.5, X["x"] >= 0.5).astype(int)
    small = Records(X, y, domain=grids.DOMAIN), grids.DOMAIN.encode(X), y
    monkeypatch.setattr(grids, "records_of", lambda name: small)
    cell = Cell(method=method, dataset="small", max_depth=1, epsilon=1.0, n_rounds=3)
    make = grids.METHODS[method]
    found = grids.measure_booster(make, cell, repeats=2)
    assert 0 <= found["lowest"] <= found["accuracy"] <= found["highest"] <= 1
    assert math.isinf(found["ledger_epsilon"]) == ("repaired" not in method)
    assert found == grids.measure_booster(make, cell, repeats=2)


def test_points_of_a_grid() -> None:
    cell = Cell(method="a", dataset="bank", max_depth=1, epsilon=0.5, n_rounds=30)
    rows = [vars(cell) | {"metric": m, "value": v} for m, v in (("accuracy", 0.8), ("sd", 0.1))]
    (point,) = points_of(pd.DataFrame(rows), repeats=25).to_dict("records")
    assert (point["mean"], point["error"]) == pytest.approx((0.8, 0.04))
    assert [point[key] for key in KEYS] == list(vars(cell).values())


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.8, 0.99])
def test_the_link_minimises_the_loss_of_the_weights(p: float) -> None:
    """Weights are minus the slopes of MadaBoost's loss; the link turns its least point into p."""
    scores = np.linspace(-6, 6, 24_001)

    def loss(margin: np.ndarray) -> np.ndarray:
        return np.where(margin < 0, 1 - margin, np.exp(-margin))

    slopes = -np.gradient(loss(scores), scores)
    np.testing.assert_allclose(slopes[2:-2], bounded_weights(scores)[2:-2], atol=5e-4)
    best = scores[np.argmin(p * loss(scores) + (1 - p) * loss(-scores))]
    assert logistic(np.array(best)) == pytest.approx(p, abs=2e-3)
    exponential = scores[np.argmin(p * np.exp(-scores) + (1 - p) * np.exp(scores))]
    assert half_logistic(np.array(exponential)) == pytest.approx(p, abs=2e-3)
    if p != 0.5:  # broken twin: each link is wrong for the other loss
        assert abs(half_logistic(np.array(best)) - p) > 5e-3


@pytest.mark.parametrize("delta", [None, 1e-5])
def test_probabilities_are_calibrated(delta: float | None) -> None:
    data = load("adult-standin")
    model = PrivateBooster(epsilon=1.0, delta=delta, domain=data.domain, random_state=0).fit(*data.train)
    labels = data.domain.encode_labels(data.test[1])
    found = probability_scores(model.predict_proba(data.test[0])[:, 1], labels)
    score = model.models_[0].score(data.domain.encode(data.test[0]))
    twin = probability_scores(half_logistic(score), labels)
    assert found["calibration_error"] < 0.02 < 0.05 < twin["calibration_error"]
    assert found["log_loss"] < twin["log_loss"]
    assert found["accuracy"] == twin["accuracy"]
    assert found["auc"] == pytest.approx(
        twin["auc"], abs=1e-4
    )  # scores that tie but for rounding may change places


def test_encoded_records_give_the_same_model() -> None:
    data = load("adult-standin")
    records = Records(*data.train, domain=data.domain)
    for model in (
        PrivateBooster(n_rounds=5, random_state=1, domain=data.domain),
        DPAda(n_rounds=5, random_state=1, domain=data.domain),
        DPAda.as_written(n_rounds=5, random_state=1, domain=data.domain),
        AdaBoost(n_rounds=5, domain=data.domain),
    ):
        plain, encoded = clone(model).fit(*data.train), clone(model).set_params(domain=None).fit(records)
        np.testing.assert_array_equal(plain.predict_proba(data.test[0]), encoded.predict_proba(data.test[0]))
        assert encoded.feature_names_in_.tolist() == list(data.domain.names)
    with pytest.raises(ValueError, match="they carry their labels"):
        PrivateBooster().fit(records, data.train[1])
    with pytest.raises(ValueError, match="domain differs"):
        PrivateBooster(domain=grids.DOMAIN).fit(records)
