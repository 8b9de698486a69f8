"""Estimators in scikit-learn's tools, with labels that are words; and what wrong arguments are answered with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import get_tags

import dpnb
import dpnb.counts
from dpnb import Categorical, Continuous, Domain, PrivateBooster, papers
from dpnb.papers.dpada import DPAda
from dpnb.papers.edprf import EDPRF

CLASSES = {2: ("no", "yes"), 3: ("no", "unclear", "yes")}
DOMAINS = {
    n: Domain((Continuous("x", 0, 10), Categorical("c", ("a", "b"))), classes)
    for n, classes in CLASSES.items()
}


def sample(n_classes: int = 2) -> tuple[pd.DataFrame, pd.Series[Any]]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(0, 10, 200), "c": rng.choice(["a", "b"], 200)})
    y = np.where(X["x"] > 4, "yes", "no")
    return X, pd.Series(np.where((X["x"] > 7) & (n_classes > 2), "unclear", y), name="class")


def learner(n_classes: int = 2) -> PrivateBooster:
    return PrivateBooster(domain=DOMAINS[n_classes], epsilon=100.0, n_rounds=6, random_state=0)


TOOLS = {
    "voting": lambda model: VotingClassifier([("a", model), ("b", clone(model))]),
    "soft voting": lambda model: VotingClassifier([("a", model), ("b", clone(model))], voting="soft"),
    "bagging": lambda model: BaggingClassifier(model, n_estimators=2, random_state=0),
    "stacking": lambda model: StackingClassifier([("a", model)]),
    "one against the rest": OneVsRestClassifier,
    "calibration": lambda model: CalibratedClassifierCV(model, ensemble=False),
    "grid": lambda model: GridSearchCV(model, {"n_rounds": [4, 6]}),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("tool", TOOLS)
def test_meta_estimators_take_labels_that_are_words(tool: str, n_classes: int) -> None:
    X, y = sample(n_classes)
    model = TOOLS[tool](learner(n_classes)).fit(X, y)
    assert model.score(X, y) > 0.9
    assert set(model.predict(X)) <= set(y)


def test_codes_are_those_of_the_sorted_classes() -> None:
    X, y = sample(3)
    backwards = learner().set_params(domain=Domain(DOMAINS[3].attributes, ("yes", "unclear", "no")))
    assert TOOLS["voting"](backwards).fit(X, y).score(X, y) > 0.9


def test_codes_are_told_by_the_type_of_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample()
    codes = (y == "yes").to_numpy().astype(int)
    model = learner().fit(X, codes)
    assert model.classes_.tolist() == [0, 1]
    assert np.mean(model.predict(X) == codes) > 0.9
    words = learner().fit(X, y)
    np.testing.assert_array_equal(words.predict_proba(X), model.predict_proba(X))
    numbers = Domain(DOMAINS[2].attributes, (1, 0))  # classes that are numbers are no codes
    assert learner().set_params(domain=numbers).fit(X, codes).classes_.tolist() == [1, 0]
    monkeypatch.setattr(dpnb.estimators, "_are_codes", lambda y, domain: False)
    assert np.mean(clone(model).fit(X, codes).predict(X) == "no") == 1  # broken twin: all labels are unknown


def test_cross_validation() -> None:
    X, y = sample()
    assert cross_val_score(learner(), X, y, scoring="roc_auc").mean() > 0.9


def spoilt() -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Records of which some lack a value, are outside, or are no number."""
    X, y = sample()
    X = X.astype(object)
    X.loc[X.index[::7], "x"], X.loc[X.index[1::7], "x"], X.loc[X.index[2::7], "x"] = None, 1e9, "ten"
    X.loc[X.index[3::7], "c"], X.loc[X.index[4::7], "c"] = np.nan, "z"
    return X, y


@pytest.mark.filterwarnings("ignore:Scoring failed")
def test_predict_moves_what_fit_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = spoilt()
    model = learner().fit(X, y)
    with pytest.warns(UserWarning, match="moved into the domain, as by fit: 2 columns do not fit") as told:
        shares = model.predict_proba(X)
    assert "got 'ten' in 29 of 200 records" in str(told[0].message)
    codes = DOMAINS[2].move(X)
    inside = pd.DataFrame({"x": codes[:, 0], "c": np.array(["a", "b"])[codes[:, 1].astype(int)]})
    np.testing.assert_array_equal(shares, model.predict_proba(inside))
    np.testing.assert_array_equal(learner().fit(inside, y).predict_proba(inside), shares)
    with pytest.warns(UserWarning, match="moved"):
        model.explain(X)
    with pytest.warns(UserWarning, match="moved"):
        assert cross_val_score(learner(), X, y).mean() > 0.6
    monkeypatch.setattr(PrivateBooster, "_codes", lambda self, X: self.domain_.encode(X, strict=False))
    assert np.isnan(cross_val_score(learner(), X, y)).all()  # broken twin: as it was


def test_a_strict_model_refuses_what_its_fit_refuses() -> None:
    X, y = sample()
    strict = learner().set_params(strict=True)
    for column, value in (("x", None), ("x", 11.0), ("c", "z")):
        odd = X.assign(**{column: value})
        with pytest.raises(dpnb.DomainError) as of_fit:
            clone(strict).fit(odd, y)
        with pytest.raises(dpnb.DomainError) as of_predict:
            clone(strict).fit(X, y).predict(odd)
        assert str(of_fit.value) == str(of_predict.value)


def test_a_domain_that_was_read_off_holds_no_missing_values() -> None:
    X, y = sample()
    with pytest.warns(dpnb.PrivacyLeakWarning):
        model = PrivateBooster(random_state=0).fit(X, y)
    with pytest.raises(dpnb.DomainError, match="hold NaN"):
        model.predict(X.assign(x=np.nan))
    encoded = PrivateBooster(random_state=0).fit(dpnb.counts.Records(X, y, domain=DOMAINS[2]))
    with pytest.warns(UserWarning, match="hold NaN"):
        encoded.predict(X.assign(x=np.nan))


def test_tags() -> None:
    assert [get_tags(model).input_tags.allow_nan for model in (learner(), PrivateBooster())] == [True, False]
    assert not get_tags(learner().set_params(strict=True)).input_tags.allow_nan
    assert not get_tags(DPAda()).classifier_tags.multi_class
    assert get_tags(PrivateBooster()).classifier_tags.multi_class
    for entry in papers.estimators().values():
        assert get_tags(entry.estimator()).classifier_tags.multi_class is not entry.estimator.two_classes


def test_two_class_estimators_refuse_three() -> None:
    X, y = sample(3)
    with pytest.raises(
        ValueError, match=r"Only binary classification is supported.*PrivateBooster takes any number"
    ):
        DPAda(domain=DOMAINS[3], n_rounds=2).fit(X, y)


def test_parameters_are_set() -> None:
    model = learner().set_params(n_rounds=2, epsilon=0.5, strict=True)
    assert (model.n_rounds, model.epsilon, model.strict) == (2, 0.5, True)
    with pytest.raises(ValueError, match="Invalid parameter 'rounds'"):
        model.set_params(rounds=3)


def test_names_of_features() -> None:
    X, y = sample()
    assert learner().fit(X, y).feature_names_in_.tolist() == ["x", "c"]
    assert learner().fit(X[["c", "x"]], y).feature_names_in_.tolist() == ["x", "c"]
    assert not hasattr(learner().fit(X.to_numpy(), y), "feature_names_in_")


@pytest.mark.parametrize("kind", [PrivateBooster, EDPRF])
def test_reordered_frames_are_read_by_name(kind: Any) -> None:
    X, y = sample()
    model = kind(domain=DOMAINS[2], random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X[["c", "x"]]), model.predict_proba(X))
    with pytest.raises(dpnb.DomainError, match="lacks the columns 'c'"):
        model.predict(X[["x"]])


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ("domain.yml", r"of type str: .*Domain.from_yaml\('domain.yml'\) reads"),
        ({"x": (0, 1)}, r"of type dict: .*Domain.from_document"),
        (DOMAINS[2].attributes, r"of type tuple: .*Domain\(attributes, classes\) makes"),
        (sample()[0], "of type DataFrame: .*see dpnb.Domain"),
        (dpnb.load("adult-standin"), "of type Dataset: .*pass its attribute domain"),
        (3, "of type int"),
    ],
    ids=["path", "dict", "attributes", "frame", "data set", "number"],
)
def test_what_is_no_domain(domain: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message) as error:
        PrivateBooster(domain=domain).fit(*sample())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("delta", [0.5, 0.02])
def test_a_large_delta_is_refused_with_the_reason(delta: float) -> None:
    for kind in (PrivateBooster, DPAda):
        with pytest.raises(
            ValueError, match=r"to publish each record with probability δ would be allowed.*1e-6"
        ):
            kind(domain=DOMAINS[2], delta=delta).fit(*sample())


def test_a_forest_that_would_fill_the_memory_is_refused() -> None:
    X, y = sample()
    forest = papers.estimators()["DiffPRFs"].estimator(
        domain=DOMAINS[2], max_depth=40, n_trees=1, random_state=0
    )
    with pytest.raises(
        ValueError, match=r"would have \d+ nodes at depth \d+, more than 1048576: lower max_depth"
    ):
        forest.fit(X[:29], y[:29])


def test_the_type_of_a_column_decides_nothing() -> None:
    """A table's reader makes whole numbers of a column, or objects if one record has a word: no model may tell."""
    X, _ = sample()
    numbers = pd.Series(np.arange(len(X)) % 2, index=X.index)
    with_a_word = numbers.astype(object)
    with_a_word.iloc[0] = "yes"
    assert numbers.dtype != with_a_word.dtype
    fits = [learner().fit(X, labels) for labels in (numbers, with_a_word)]
    assert fits[0].classes_.tolist() == fits[1].classes_.tolist() == ["no", "yes"]
    assert learner().fit(X, numbers.to_numpy()).classes_.tolist() == [
        0,
        1,
    ]  # broken twin: the same as an array
