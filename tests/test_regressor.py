"""PrivateBoosterRegressor: its loss, the width that is bought, the target's range and unit, and what it spends."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import dpnb
from dpnb import Categorical, Continuous, DataError, Domain, PrivateBoosterRegressor
from dpnb.arrays import FIXED_POINT, Floats
from dpnb.boosting import numbers
from dpnb.boosting.numbers import NumberStages, shrunk
from dpnb.boosting.plans import Settings, shares_of_a_number
from dpnb.boosting.stages import Stages, Totals
from dpnb.records.losses import Huber
from dpnb.records.memory import Records
from dpnb.release import card
from dpnb.settings import WIDTHS

DELTAS = (None, 1e-6)


def domain_to(low: float, high: float) -> Domain:
    attributes = (Continuous("x", 0, 10), Categorical("c", ("a", "b")))
    return Domain(attributes, response=Continuous("cost", low, high, unit="euros"))


def sample(n: int = 4000) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Numbers between 0 and 64 that follow from x and c, with noise on a lattice."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"x": rng.uniform(0, 10, n), "c": rng.choice(["a", "b"], n)})
    y = 3 * X["x"] + 10 * (X["c"] == "b") + rng.integers(-8, 9, n) / 4
    return X, pd.Series(np.rint(np.clip(y, 0, 64) * 4) / 4, name="cost")


def learner(**how: Any) -> PrivateBoosterRegressor:
    return PrivateBoosterRegressor(**{"epsilon": 5.0, "domain": domain_to(0, 64), "random_state": 0} | how)


@pytest.mark.parametrize("delta", DELTAS)
def test_it_learns(delta: float | None) -> None:
    X, y = sample()
    model = learner(delta=delta).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.ledger_.epsilon <= 5
    assert abs(model.error_ - np.abs(y - model.predict(X)).mean()) < 5 * model.error_noise_ < 1.5
    shuffled = y.sample(frac=1, random_state=0).set_axis(y.index)
    assert learner(delta=delta).fit(X, shuffled).score(X, y) < 0.2  # broken twin: nothing to learn


MEASURES = {
    "residuals": {},
    "squares": {},
    "missed": {},
    "distances": {},
    "along": {"middle": -0.3, "reach": 0.01},
    "places": {"middle": 0.2, "reach": 3.0},
    "spreads": {"middle": 0.2, "reach": 3.0},
}


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_are_between_minus_one_and_one_on_the_lattice(
    measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For any number, score and width; 2⁻²⁸ is the lattice, so that sums are exact."""

    def largest() -> float:
        rng, found = np.random.default_rng(0), 0.0
        for width in 2.0 ** rng.uniform(-12, 1, 200):
            loss = Huber(-3.0, 7.0)
            loss.width = width
            score, numbers = rng.uniform(-4, 4, (1, 50)), rng.uniform(-3, 7, 50)
            r, h = (
                getattr(loss, measure)(score, numbers, **MEASURES[measure]),
                loss.curvatures(score, numbers),
            )
            assert r.shape == (1, 50)
            assert np.array_equal(r * FIXED_POINT, np.rint(r * FIXED_POINT))
            assert set(np.unique(h)) <= {0.0, 1.0}
            found = max(found, float(np.abs(r).max()))
        return found

    assert 0.9 < largest() <= 1
    monkeypatch.setattr("dpnb.records.losses.np.clip", lambda values, *_: values)
    assert largest() > 1  # broken twin


def narrowed(times: int) -> tuple[float, float, Floats]:
    """Width and constant after narrowing without noise, and the numbers in halves of the range."""
    X, y = sample()
    data = Records(X, y, domain=domain_to(0, 64)).scored((), Huber(0.0, 64.0))
    made = Stages(data, None, domain_to(0, 64), math.inf, Settings())  # type: ignore[arg-type]
    stages = NumberStages(made, lambda share: Totals(lambda total, what: total, 0.0), len(y))
    for _ in range(times):
        stages.narrow()
    return data.loss.width, float(made.constant[0]), y.to_numpy() / 32 - 1


def test_the_width_is_hubers_second_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    width, middle, halves = narrowed(60)
    cut = np.clip((halves - middle) / width, -1, 1)
    assert np.mean(cut**2) == pytest.approx(1 / WIDTHS**2, rel=1e-3)
    assert np.mean(cut) == pytest.approx(0, abs=1e-3)
    monkeypatch.setattr(numbers, "WIDTHS", 2 * WIDTHS)
    assert narrowed(60)[0] > 1.5 * width  # broken twin


@pytest.mark.parametrize("delta", DELTAS)
def test_another_unit_is_another_unit(delta: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the numbers in twice the range are twice the predictions, shapes and error, to the bit."""
    X, y = sample(500)

    def doubled() -> bool:
        one = learner(delta=delta).fit(X, y)
        two = learner(delta=delta, domain=domain_to(0, 128)).fit(X, 2 * y)
        pairs = ((m.predict(X), m.shape("x").score, m.error_, m.explain(X)) for m in (one, two))
        return all(np.array_equal(2 * a, b) for a, b in zip(*pairs, strict=True))

    assert doubled()
    monkeypatch.setattr(PrivateBoosterRegressor, "_half", property(lambda self: 32.0))
    assert not doubled()  # broken twin


def test_parts_add_up_to_the_prediction() -> None:
    X, y = sample()
    model = learner(delta=1e-6).fit(X, y)
    score = model.explain(X).sum(axis=1)
    assert np.allclose(model.predict(X), np.clip(score, 0, 64), atol=1e-9)
    assert not np.allclose(model.predict(X), np.clip(score + 0.01, 0, 64), atol=1e-9)  # broken twin
    with pytest.raises(ValueError, match="label='b': expected None, because 'cost' is a number"):
        model.shape("x", label="b")


@pytest.mark.parametrize("odd", [1e9, -5.0, math.nan, "much"])
def test_a_number_outside_of_the_range_is_moved_into_it(odd: Any) -> None:
    X, y = sample(300)
    inside = {1e9: 64.0, -5.0: 0.0}.get(odd, 32.0)
    fitted = [
        learner().fit(X, pd.Series([first, *y[1:]], dtype=object)).models_[0].table for first in (odd, inside)
    ]
    assert np.array_equal(*fitted)
    with pytest.raises(ValueError, match="cost"):
        domain_to(0, 64).check(X, pd.Series([1e9, *y[1:]]))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("how", [{}, {"n_rounds": 3}, {"n_rounds": 900}, {"additive": True}])
def test_it_spends_what_it_claims(neighbours: Any, delta: float | None, how: dict[str, Any]) -> None:
    X, y = sample(300)
    model = learner(epsilon=1.0, delta=delta, neighbours=neighbours, **how).fit(X, y)
    assert 0.9 < model.ledger_.epsilon <= 1 + 1e-9
    names = [event.what for event in model.ledger_.events]
    own = (
        "residuals",
        "squares of residuals",
        "places",
        "squares of places",
        "residuals by place",
        "distances",
    )
    asked = shares_of_a_number(sweeps=delta is not None)
    assert sum(map(names.count, own)) == len(asked)
    assert sum(asked) < 0.15


def test_a_budget_without_end_gives_no_noise() -> None:
    X, y = sample(1000)
    for number in (y, y * 0 + 5):  # also numbers that are all the same, which have no spread
        model = learner(epsilon=math.inf, delta=1e-6).fit(X, number)
        assert np.abs(model.predict(X) - number).mean() < 1.5


@pytest.mark.parametrize("error", [-1.0, 0.0, "nan", "inf", "1", None])
def test_a_document_with_another_error_is_refused(error: Any, tmp_path: Path) -> None:
    model = learner().fit(*sample(300))
    model.release(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["model"]["error_"] = error
    (tmp_path / "other.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="damaged"):
        dpnb.read(tmp_path / "other.json")
    assert dpnb.read(tmp_path / "model.json").error_ == model.error_  # broken twin: nothing is wrong


def test_an_earlier_document_predicts_and_says_no_error(tmp_path: Path) -> None:
    X, y = sample(300)
    model = learner().fit(X, y)
    model.release(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["model"] = {"models_": document["model"]["models_"], "spread_": 0.0}
    (tmp_path / "old.json").write_text(json.dumps(document))
    old = dpnb.read(tmp_path / "old.json")
    assert np.array_equal(old.predict(X), model.predict(X))
    assert math.isnan(old.error_)
    old.release(tmp_path / "again.json")
    assert "was not measured by the version that wrote this model" in card.page(
        dpnb.read(tmp_path / "again.json"), versions={}
    )
    del document["model"]["spread_"]  # broken twin: a document that lost a part
    (tmp_path / "old.json").write_text(json.dumps(document))
    with pytest.raises(DataError, match="damaged"):
        dpnb.read(tmp_path / "old.json")


# --- What is predicted, and how far it is off -------------------------------------------------------------------


def costs(n: int = 20_000) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Numbers whose mean is far above their median, in a range that some exceed."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"x": rng.uniform(0, 10, n), "c": rng.choice(["a", "b"], n)})
    mean = 1 + X["x"] / 5 + 2 * (X["c"] == "b")
    return X, pd.Series(np.clip(mean * rng.lognormal(-0.32, 0.8, n), 0, 64), name="cost")


def level(model: PrivateBoosterRegressor, X: pd.DataFrame, y: Any) -> tuple[float, float]:
    """Sum of predictions over that of numbers, and slope of numbers over predictions."""
    found = model.predict(X)
    return float(found.sum() / y.sum()), float(np.cov(found, y)[0, 1] / np.var(found))


@pytest.mark.parametrize("delta", DELTAS)
def test_predictions_have_the_level_and_the_slope_of_the_numbers(
    delta: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = costs()

    def levels() -> Any:
        return np.mean(
            [level(learner(delta=delta, random_state=s).fit(X, y), X, y) for s in range(4)], axis=0
        )

    of_sums, slope = levels()
    assert of_sums == pytest.approx(1, abs=0.02)
    assert slope == pytest.approx(1, abs=0.27)
    with monkeypatch.context() as patch:  # broken twins: Huber's loss alone
        patch.setattr(numbers, "OFF_LEVEL", 1e-9)
        assert levels()[0] < 0.85
    monkeypatch.setattr(numbers, "OFF_SLOPE", 1e-9)
    assert levels()[1] > 1.35


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 50.0])
def test_an_error_is_never_nothing(delta: float | None, epsilon: float) -> None:
    """Neither where all numbers are the same, nor where noise hides it: then it is two deviations of the noise."""
    X, y = costs(2000)
    for number in (y, y * 0 + 3):
        for seed in range(5):
            model = learner(delta=delta, epsilon=epsilon, random_state=seed).fit(X, number)
            assert model.error_ >= 2 * model.error_noise_ > 0
            assert model.error_cut_ <= 64
    if epsilon > 1:
        real = np.abs(y - learner(delta=delta, epsilon=epsilon).fit(X, y).predict(X)).mean()
        found = [learner(delta=delta, epsilon=epsilon, random_state=s).fit(X, y).error_ for s in range(5)]
        assert np.median(found) == pytest.approx(real, rel=0.25)


def test_noise_shrinks_what_it_hides() -> None:
    assert shrunk(3.0, noise=0.0, usual=0.1) == 3
    assert shrunk(3.0, noise=0.1, usual=0.1) == pytest.approx(1.5)
    assert abs(shrunk(30.0, noise=30.0, usual=0.1)) < 1e-3


@pytest.mark.parametrize(
    ("share", "noise", "unit"), [(0.5, 0.001, 0.5), (0.0, 0.1, 0.2 / 9), (-0.5, 0.1, 0.1 / 9)]
)
def test_a_step_follows_the_spread_or_a_third_of_its_upper_bound(
    share: float, noise: float, unit: float
) -> None:
    """Where noise hides the spread, and its sum is nothing or below, stumps move little, but they move."""
    X, y = sample()
    data = Records(X, y, domain=domain_to(0, 64)).scored((), Huber(0.0, 64.0))
    made = Stages(data, None, domain_to(0, 64), math.inf, Settings())  # type: ignore[arg-type]
    stages = NumberStages(made, lambda of: Totals(lambda total, what: total, 0.0), len(y))
    stages.data.set_width(1.0)
    stages.totals = lambda of: Totals(lambda total, what: share * len(y), noise * len(y))
    stages._measure()
    assert made.unit == pytest.approx(min(WIDTHS * math.sqrt(unit), 1.0))


def test_weights_are_refused() -> None:
    X, y = sample(50)
    with pytest.raises(TypeError, match="weight"):
        clone(learner()).fit(X, y, sample_weight=np.ones(50))
