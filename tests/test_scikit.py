"""Estimators in scikit-learn's tools, with labels that are words; and what wrong arguments are answered with."""

from __future__ import annotations

import copy
import pickle
import secrets
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

import dpnb
import dpnb.records.memory
from dpnb import Categorical, Continuous, Domain, PrivateBooster
from dpnb.papers.dpada import DPAda
from dpnb.papers.edprf import EDPRF
from dpnb.privacy.curator import source_of_noise
from registered import ENTRIES

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
    monkeypatch.setattr(dpnb.estimators.base, "_are_codes", lambda y, domain: False)
    assert np.mean(clone(model).fit(X, codes).predict(X) == "no") == 1  # broken twin: all labels are unknown


@pytest.mark.parametrize("first", [np.nan, 0.5, -1, 7, np.inf, True, 1j, 10**30])
def test_one_label_among_codes_does_not_change_what_the_others_mean(
    first: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = sample()
    codes = np.array([first, *(y[1:] == "yes")])
    if codes.dtype.kind == "O":  # whole numbers beyond 64 bits
        codes = codes.astype(float)
    model = learner().fit(X, codes)
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(
        model.predict_proba(X),
        learner().fit(X, np.where(np.arange(200) == 0, first == 1, y == "yes")).predict_proba(X),
    )
    monkeypatch.setattr(
        dpnb.estimators.base,
        "_are_codes",
        lambda y, domain: isinstance(y, np.ndarray) and y.dtype.kind in "iu",
    )  # broken twin: the rule of before
    named = [learner().fit(X, labels).classes_.tolist() for labels in (codes, (y == "yes").to_numpy(int))]
    assert (named[0] != named[1]) is (codes.dtype.kind not in "iu")


def proba(model: Any) -> list[Any]:
    found: list[Any] = model.fit(*sample()).predict_proba(sample()[0]).tolist()
    return found


def noisy(source: Any) -> PrivateBooster:
    return learner().set_params(epsilon=0.1, random_state=source)


STREAMS = {
    "Generator": lambda: np.random.default_rng(0),
    "bits": lambda: np.random.PCG64(0),
    "RandomState": lambda: np.random.RandomState(0),
    "old bits": lambda: np.random.Generator(np.random.RandomState(0)._bit_generator),
}
COPIES = {
    "clone": clone,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "clone of a clone": lambda model: clone(clone(model)),
    "in a pipeline": lambda model: clone(make_pipeline(model)),
    "in a pickled pipeline": lambda model: pickle.loads(pickle.dumps(make_pipeline(model))),
    "of a fitted one": lambda model: clone(clone(model).fit(*sample())),
}


@pytest.mark.parametrize(
    ("stream", "copied"),
    [("Generator", copied) for copied in COPIES]
    + [(s, c) for s in [*STREAMS][1:] for c in ("clone", "pickle")],
)
def test_no_copy_draws_the_noise_of_another(stream: str, copied: str) -> None:
    model = noisy(STREAMS[stream]())
    twins = [COPIES[copied](model) for _ in range(2)]
    fits = [proba(one) for one in (model, *twins, model)]  # the model itself goes on
    assert all(one != other for one, other in combinations(fits, 2))
    seeded = noisy(7)  # broken twin: a seed repeats the noise, as it is meant to
    assert proba(COPIES[copied](seeded)) == proba(seeded) == proba(seeded)


def test_the_key_of_the_noise_has_256_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(secrets, "randbits", lambda bits: asked.append(bits) or 7)
    one, other = (source_of_noise(None).random() for _ in range(2))
    assert asked == [256, 256]
    assert one == other  # nothing but the key decides


def test_clones_of_a_generator_repeat_with_their_script() -> None:
    runs = []
    for _ in range(2):
        model = noisy(np.random.default_rng(3))
        runs.append([proba(clone(model)), proba(clone(model)), proba(model)])
    assert runs[0] == runs[1]


@pytest.mark.parametrize("source", [np.random.default_rng(0), 0], ids=["Generator", "seed"])
def test_workers_draw_noise_of_their_own(source: Any) -> None:
    X, y = sample()
    rows = np.arange(len(X))
    with parallel_config(backend="multiprocessing"):  # quicker than workers that import all anew
        found = cross_validate(noisy(source), X, y, cv=[(rows, rows)] * 2, n_jobs=2, return_estimator=True)
    one, other = (fitted.predict_proba(X).tolist() for fitted in found["estimator"])
    assert (one == other) is (source == 0)  # broken twin: a seed


@pytest.mark.parametrize("tool", [*TOOLS, "pipeline", "grid of pipelines"])
def test_what_a_tool_shows_has_no_seed(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = 987_654_321
    tools = {
        **TOOLS,
        "pipeline": make_pipeline,
        "grid of pipelines": lambda model: GridSearchCV(
            make_pipeline(model), {"privatebooster__n_rounds": [4, 6]}
        ),
    }
    model = tools[tool](learner().set_params(random_state=seed)).fit(*sample())

    def shown() -> bool:
        with config_context(print_changed_only=False):
            everything = repr(model)
        return any(str(seed) in text for text in (repr(model), str(model), everything, model._repr_html_()))

    assert not shown()
    assert seed in [
        value for value in model.get_params().values() if isinstance(value, int)
    ]  # whoever asks has it
    monkeypatch.setattr(
        PrivateBooster, "get_params", BaseEstimator.get_params
    )  # broken twin: as scikit-learn does
    assert shown()


def test_weights_are_refused_and_none_are_not() -> None:
    X, y = sample()
    assert learner().fit(X, y, sample_weight=None).predict_proba(X).tolist() == proba(learner())
    assert not has_fit_parameter(
        learner(), "sample_weight"
    )  # BaggingClassifier would give its draws as weights


def test_tools_number_the_classes_that_occur() -> None:
    """What the page on limitations says: a label that no class has moves the codes of all."""
    X, y = sample()
    odd = y.where(y.index > 0, "maybe")
    right = VotingClassifier([("a", learner())]).fit(X, y)
    wrong = VotingClassifier([("a", learner())]).fit(X, odd)
    assert np.mean(right.predict(X) == y) > 0.9
    assert np.mean(wrong.predict(X) == y) < 0.5


def test_bagging_seeds_its_members_with_31_bits() -> None:
    """What the page on limitations says of it."""
    model = BaggingClassifier(noisy(None), n_estimators=3).fit(*sample())
    assert all(0 <= member.random_state < 2**31 for member in model.estimators_)


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
    assert "column 'x': 'ten' (29) counted as 5, the middle; write them as numbers" in str(told[0].message)
    assert "'z' (28) counted as 'a', the first of its values; map them to one of 'a', 'b'" in str(
        told[0].message
    )
    codes = DOMAINS[2].replaced(X)
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
    encoded = PrivateBooster(random_state=0).fit(dpnb.records.memory.Records(X, y, domain=DOMAINS[2]))
    with pytest.warns(
        UserWarning, match=r"column 'x': no value \(200\) counted as 5, the middle; fill them in"
    ):
        encoded.predict(X.assign(x=np.nan))


def test_tags() -> None:
    assert [get_tags(model).input_tags.allow_nan for model in (learner(), PrivateBooster())] == [True, False]
    assert not get_tags(learner().set_params(strict=True)).input_tags.allow_nan
    assert not get_tags(DPAda()).classifier_tags.multi_class
    assert get_tags(PrivateBooster()).classifier_tags.multi_class
    for entry in ENTRIES.values():
        tags = get_tags(entry.estimator())
        assert (tags.classifier_tags is None) == entry.numbers == (tags.regressor_tags is not None)
        assert entry.numbers or tags.classifier_tags.multi_class is not entry.estimator.two_classes


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
