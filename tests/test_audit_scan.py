"""The scan of fitted models: every place where a record can hide, each beside honest models that pass.

Honest subjects are convicted with probability 1e-6 at most; with fixed seeds always or never.
"""

from __future__ import annotations

import inspect
import json
import math
import pickle
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dpnb import PrivateBooster
from dpnb.audit.attack import AttackError
from dpnb.audit.constant import BURN_IN, agreement, constant_bound, constant_on_each, runs_needed
from dpnb.audit.contents import agree, contents
from dpnb.audit.pairs import Pair, families, pair_of
from dpnb.audit.scan import ScanFinding, scan, scan_by_replay
from dpnb.audit.settings import AuditSettings
from dpnb.estimators.base import PrivateClassifier
from dpnb.papers.diffprfs import DiffPRFs
from registered import ENTRIES, Entry

PAIR = pair_of(
    "one of the other class",
    [(i / 10, i % 2, 0) for i in range(1, 10)],
    (0.97, 1, 1),
    neighbours="add-remove",
)
SIDES = PAIR.first, PAIR.second


class Honest(BaseEstimator):  # type: ignore[misc]
    """Class counts with two-sided geometric noise, and attributes as fitted models have them."""

    def __init__(
        self, *, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0), random_state: Any = None
    ):
        self.epsilon = epsilon
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: Any) -> Honest:
        rng = np.random.default_rng(self.random_state)
        self.n_features_in_ = X.shape[1]
        self.feature_names_in_ = np.array(getattr(X, "columns", ["x", "c"]), dtype=object)
        self.classes_ = np.array([0, 1])
        self.thresholds_ = np.linspace(*self.bounds, 5)
        noise = rng.geometric(1 - math.exp(-self.epsilon), (2, 2))
        self.counts_ = np.bincount(y, minlength=2) + noise[0] - noise[1]
        self.tree_ = {"cut": float(rng.random()), "leaves": self.counts_.tolist()}
        self.more(X, np.asarray(y), rng)
        return self

    def more(self, X: pd.DataFrame, y: Any, rng: np.random.Generator) -> None:
        """What else the model holds."""

    def predict(self, X: Any) -> Any:
        return np.full(len(X), int(self.counts_.argmax()))


class Box:
    """Something with slots."""

    __slots__ = ("content",)

    def __init__(self, content: Any) -> None:
        self.content = content

    def told(self) -> Any:
        return self.content


More = Callable[[Any, pd.DataFrame, Any, np.random.Generator], None]


def holding(more: More, **members: Any) -> type[Honest]:
    """A subject that holds something more."""
    return type("Subject", (Honest,), {"more": more, **members})


def random_leaves(self: Any, X: pd.DataFrame, y: Any, rng: np.random.Generator) -> None:
    leaf = np.digitize(X["x"], np.sort(rng.random(3)))
    self.trees_ = [{"counts": np.bincount(leaf, minlength=4)}, {"cut": rng.random()}]


def fails(self: Any, X: pd.DataFrame, y: Any, rng: np.random.Generator) -> None:
    if len(X) == 10:
        raise ValueError(f"{len(X)} records are too many")


def function_of(content: Any) -> Callable[[], Any]:
    return lambda: content


KEPT: dict[str, Any] = {}
BROKEN: dict[str, tuple[More, str, str]] = {  # more, path, what is there
    "records": (lambda s, X, y, r: setattr(s, "_fit_X", X.to_numpy()), "model._fit_X", "the records"),
    "a table": (lambda s, X, y, r: setattr(s, "table_", X), "model.table_", "the values of 'x'"),
    "a column": (lambda s, X, y, r: setattr(s, "x_", X["x"]), "model.x_", "the values of 'x'"),
    "labels": (lambda s, X, y, r: setattr(s, "y_", y), "model.y_", "the records' labels"),
    "n": (lambda s, X, y, r: setattr(s, "n_records_", len(X)), "model.n_records_", "the number of records"),
    "a mean": (lambda s, X, y, r: setattr(s, "means_", X["x"].mean()), "model.means_", "the mean of 'x'"),
    "a class's count": (
        lambda s, X, y, r: setattr(s, "prior_", int(y.sum())),
        "model.prior_",
        "the number of records of class 1",
    ),
    "classes read off": (
        lambda s, X, y, r: setattr(s, "classes_", np.unique(y)),
        "model.classes_",
        "the classes that occur",
    ),
    "a view": (lambda s, X, y, r: setattr(s, "edges_", X.to_numpy()[:0]), "model.edges_", "the records"),
    "a closure": (lambda s, X, y, r: setattr(s, "f_", function_of(len(X))), "model.f_.content", "number of records"),
    "a default": (
        lambda s, X, y, r: setattr(s, "f_", eval("lambda n=n: n", {"n": len(X)})),
        "model.f_.__defaults__",
        "number of records",
    ),
    "a partial": (lambda s, X, y, r: setattr(s, "f_", partial(max, len(X))), "model.f_.args", "number of records"),
    "a bound method": (
        lambda s, X, y, r: setattr(s, "f_", Box(len(X)).told),
        "model.f_.__self__.content",
        "number of records",
    ),
    "a slot": (lambda s, X, y, r: setattr(s, "box_", Box(len(X))), "model.box_.content", "number of records"),
    "a pickle": (
        lambda s, X, y, r: setattr(s, "state_", pickle.dumps({"n": len(X)})),
        "pickle.loads(model.state_)['n']",
        "number of records",
    ),
    "the class": (lambda s, X, y, r: setattr(type(s), "n", len(X)), "model.Subject.n", "number of records"),
    "hashed keys": (
        lambda s, X, y, r: setattr(s, "keys_", pd.util.hash_pandas_object(X).to_numpy()),
        "model.keys_",
        "an entry for each record",
    ),
    "a set": (lambda s, X, y, r: setattr(s, "seen_", set(X["x"])), "model.seen_", "number of records"),
    "keys of a dictionary": (lambda s, X, y, r: setattr(s, "at_", dict.fromkeys(X["x"], 0)), "model.at_", ""),
    "leaf counts in random trees": (random_leaves, "model.trees_[*]", "the number of records"),
    "leaf counts": (
        lambda s, X, y, r: setattr(s, "leaves_", [{"counts": np.bincount(y, minlength=2) + r.permutation(2)}]),
        "model.leaves_[*]['counts']",
        "numbers without noise",
    ),
    "one count": (
        lambda s, X, y, r: setattr(s, "leaves_", [{"counts": np.array([r.normal(), y.sum()])}]),
        "model.leaves_[0]['counts'][1]",
        "numbers without noise",
    ),
    "an error": (fails, "the fit", ""),
}  # fmt: skip


def scanned(subject: Callable[[], Any], **more: Any) -> list[ScanFinding]:
    return scan(subject, *SIDES, claimed=1.0, **more)


# --- What a model contains -------------------------------------------------------------------------------------------


def test_an_honest_model_passes() -> None:
    assert scanned(Honest) == []
    assert scanned(lambda: make_pipeline(Honest())) == []


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_model_holds_is_found(name: str) -> None:
    more, path, holds = BROKEN[name]
    found = scanned(holding(more))
    assert found
    for finding in found:
        assert finding.violated
        assert finding.confidence == 1 - 1e-6
        assert 1 < finding.lower_bound < 1.1  # as many fits as the claim needs
        assert math.isinf(finding.loss)
    assert any(path in finding.path and holds in finding.holds for finding in found), [str(f) for f in found]
    assert len({finding.path for finding in found}) == len(found) <= 3


def test_what_noise_covers_and_what_no_record_changes_is_not() -> None:
    """Honest twins of the broken ones: the same places, with numbers that noise covers or that are public."""

    def noisy(s: Any, X: pd.DataFrame, y: Any, r: np.random.Generator) -> None:
        s.n_records_, s.box_, s.f_ = (
            len(X) + r.normal(),
            Box(len(X) + r.normal()),
            partial(max, len(X) + r.normal()),
        )
        s.state_, s.trees_ = pickle.dumps(len(X) + r.normal()), [{"counts": y.sum() + r.normal(size=3)}]
        s.g_, s.names_, s.ref_ = function_of(len(X) + r.normal()), set(X.columns), weakref.ref(X)
        s.ref_ = weakref.ref(type(X))

    assert scanned(holding(noisy)) == []


def test_libraries_without_privacy_are_convicted() -> None:
    found = scanned(DecisionTreeClassifier)
    assert any("tree_" in f.path for f in found)
    assert any(f.holds == "the classes that occur" for f in found)
    pipe = scanned(lambda: make_pipeline(StandardScaler(), Honest()))
    assert any("mean_" in f.path for f in pipe)


class Hidden(Honest):
    """Holds the records nowhere but in its pickle."""

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "records": KEPT["X"]}

    def more(self, X: pd.DataFrame, y: Any, rng: np.random.Generator) -> None:
        KEPT["X"] = X["x"].to_numpy()


def test_what_only_a_pickle_holds_is_found() -> None:
    (finding,) = scanned(Hidden)
    assert finding.path == "model.__getstate__()['records']"
    assert finding.holds == "the values of 'x'"


def written(s: Any) -> Any:
    return json.dumps({"counts": s.counts_.tolist(), "records": KEPT["n"]})


EXPORTS: dict[str, Callable[..., Any]] = {  # a method, and how it gives the model away
    "to_json": written,
    "export": lambda s, path: path.write_text(written(s), encoding="utf-8") and None,
    "document": lambda s, *, indent=0: json.loads(written(s)),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_what_only_an_exported_form_holds_is_found(name: str) -> None:
    def counted(s: Any, X: pd.DataFrame, y: Any, r: np.random.Generator) -> None:
        KEPT["n"] = len(X)

    def noisy(s: Any, X: pd.DataFrame, y: Any, r: np.random.Generator) -> None:
        KEPT["n"] = len(X) + int(r.integers(9))

    kind = type("Exporting", (Honest,), {name: EXPORTS[name], "more": counted})
    (finding,) = scanned(kind)
    assert (finding.path, finding.holds) == (f"model.{name}()['records']", "the number of records")
    assert scanned(type("Twin", (kind,), {"more": noisy})) == []
    assert scanned(type("Plain", (Honest,), {"more": counted})) == []  # the same number, not given away


def test_a_method_that_is_no_export_of_a_model_is_left_alone() -> None:
    def asks_more(s: Any, path: Path, kind: str) -> None:
        raise AssertionError("not to be called")

    def fails(s: Any) -> None:
        raise OSError("no disk")

    assert scanned(type("Other", (Honest,), {"export": asks_more, "to_json": fails, "document": 3})) == []


def test_fits_that_all_fail_are_no_verdict() -> None:
    def broken(s: Any, X: pd.DataFrame, y: Any, r: np.random.Generator) -> None:
        raise ArithmeticError("nothing works")

    with pytest.raises(
        AttackError, match="all 6 fits failed, the last one with ArithmeticError: nothing works"
    ):
        scanned(holding(broken))


def test_a_model_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpnb.audit.contents.MOST_OBJECTS", 100)
    assert contents([[] for _ in range(90)]).facts
    with pytest.raises(
        ValueError, match="more than 100 objects are reachable from model, the last one at model"
    ):
        contents([[] for _ in range(110)])


def test_numbers_agree_with_themselves() -> None:
    a = np.array([1.0, np.nan, 2.0])
    assert agree(a, a.copy()).all()
    assert agree(a, np.array([1.0, np.nan, 3.0])).tolist() == [True, True, False]
    assert not agree(a, a[:2]).any()
    assert not agree(a, a.astype(object)).any()
    assert agree(np.array(["a", math.nan], object), np.array(["a", math.nan], object)).all()


# --- Generators and seeds -----------------------------------------------------------------------------------


def test_a_generator_that_is_left_in_the_model_is_found() -> None:
    found = scanned(holding(lambda s, X, y, r: setattr(s, "rng_", r)))
    assert [(f.path, f.holds) for f in found] == [("model.rng_", "a random generator")]
    assert math.isinf(found[0].lower_bound)
    assert found[0].violated


def test_a_generator_that_the_noise_does_not_come_from_is_not() -> None:
    class Bystander(Honest):
        def fit(self, X: pd.DataFrame, y: Any) -> Honest:
            given, self.random_state = self.random_state, None  # the noise is the system's
            super().fit(X, y)
            self.random_state, self.ties_ = given, np.random.default_rng(given)
            return self

    factory = partial(Bystander, random_state=0)
    assert [f.path for f in scanned(factory) if f.path == "model.random_state"] == []


def test_a_generator_of_the_users_shows_in_pickles_unless_it_is_kept_back() -> None:
    found = scanned(lambda: Honest(random_state=np.random.default_rng(0)))
    assert [f.path for f in found] == ["model.random_state"]
    own = partial(DiffPRFs, domain=PAIR.domain, n_trees=2, max_depth=1)
    assert scanned(lambda: own(random_state=np.random.default_rng(0))) == []


def test_seeds_show_in_pickles_unless_they_are_kept_back(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scanned(lambda: Honest(random_state=7))
    assert [f.path for f in found] == ["model.random_state"]
    assert "model.random_state = 7, and the noise follows from it" in found[0].event
    assert found[0].confidence == 1
    own = partial(DiffPRFs, domain=PAIR.domain, n_trees=2, max_depth=1, random_state=7)
    assert scanned(own) == []
    monkeypatch.setattr(PrivateClassifier, "__getstate__", BaseEstimator.__getstate__)  # broken twin
    assert {f.holds for f in scanned(own)} == {"a seed"}
    copied = scanned(holding(lambda s, X, y, r: setattr(s, "seeded_with_", s.random_state)))
    assert [f.path for f in copied] == ["model.seeded_with_"]


# --- The bound ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0])
def test_no_mechanism_agrees_more_often_than_randomised_response(epsilon: float, delta: float) -> None:
    """All pairs (p, q) on a fine grid that (ε, δ)-DP allows for two different outputs."""
    p, q = np.meshgrid(*[np.linspace(0, 1, 1001)] * 2)
    allowed = (q <= 1 - math.exp(-epsilon) * (p - delta)) & (p <= 1 - math.exp(-epsilon) * (q - delta))
    r = agreement(epsilon=epsilon, delta=delta)
    assert (p * q)[allowed].max() <= r**2 + 1e-12
    assert (p * q)[allowed].max() >= r**2 - 5e-3
    assert (p * q).max() > r**2 + 1e-3  # broken twin: without the constraints


def test_runs_and_bounds_fit_together() -> None:
    for claimed, delta, candidates in ((0.1, 0.0, 1), (1.0, 0.0, 40), (1.0, 1e-3, 3), (4.0, 0.0, 2)):
        runs = runs_needed(claimed=claimed, delta=delta, candidates=candidates)
        how: dict[str, Any] = {"confidence": 1 - 1e-6, "delta": delta, "candidates": candidates}
        assert constant_bound(int(runs), **how) >= claimed
        assert constant_bound(int(runs) - 1, **how) < claimed
    assert runs_needed(claimed=1.0) == 23
    assert math.isinf(runs_needed(claimed=math.inf))
    assert constant_bound(0, confidence=0.99) == 0


def response(rng: np.random.Generator, *, truth: float, size: int) -> Callable[[int], dict[str, Any]]:
    """Randomised response of ε = ``truth`` to one bit, by ``size`` independent respondents of whom one is asked."""

    def run(side: int) -> dict[str, Any]:
        answers = (rng.random(size) < agreement(epsilon=truth)).astype(int)
        return {"answer": np.where(np.arange(size) == 0, answers ^ side, answers)}

    return run


def settings(claimed: float, **more: Any) -> AuditSettings:
    return AuditSettings(claimed=claimed, **more)


@pytest.mark.parametrize("truth", [0.5, 1.0, 2.0])
def test_coverage_on_randomised_response(truth: float) -> None:
    """The bound exceeds the truth in at most 30 % of 1 000 repetitions: 5 standard errors are 7 points."""
    rng = np.random.default_rng(0)
    wrong = sum(
        constant_on_each(response(rng, truth=truth, size=1), settings(truth, confidence=0.7, seed=i))[1]
        > truth
        for i in range(1_000)
    )
    assert wrong / 1_000 <= 0.37
    broken = sum(  # twin: the claim is half of the truth
        constant_on_each(response(rng, truth=6, size=1), settings(truth / 4, confidence=0.7, seed=i))[1]
        > truth / 4
        for i in range(200)
    )
    assert broken / 200 > 0.5


def test_many_honest_numbers_are_not_convicted() -> None:
    """300 noisy bits: some are constant in the first fits, none in all that the claim needs."""
    rng = np.random.default_rng(0)
    run = response(rng, truth=1.0, size=300)
    found, bound, fits = constant_on_each(run, settings(1.0, confidence=1 - 1e-6))
    assert (found, bound) == ([], 0.0)
    assert fits < 2 * (BURN_IN + runs_needed(claimed=1.0, candidates=300))


# --- The package --------------------------------------------------------------------------------------------


def suited(pair: Pair, entry: Entry) -> Pair:
    if not entry.estimator.discrete_only:
        return pair
    sides = [(pair.domain.discretise_records(X, 4), y) for X, y in (pair.first, pair.second)]
    return replace(pair, first=sides[0], second=sides[1], domain=pair.domain.discretise(4))


CASES = [
    pytest.param(entry, name, relation, id=f"{entry.estimator.__name__}, {name}, {relation}")
    for entry in ENTRIES.values()
    for name in entry.private
    for relation in ("add-remove", "replace")
    if relation == "add-remove" or "neighbours" in inspect.signature(entry.estimator).parameters
]


@pytest.mark.filterwarnings("ignore::dpnb.FewRecordsWarning")
@pytest.mark.parametrize(("entry", "name", "relation"), CASES)
def test_estimators_hold_releases_only(entry: Entry, name: str, relation: str) -> None:
    pair = suited(families(relation)[0], entry)
    how: Any = {} if relation == "add-remove" else {"neighbours": relation}
    model = entry.model(name, domain=pair.domain, **how)
    assert scan_by_replay(model, pair.first, pair.second) == []


@pytest.mark.filterwarnings("ignore::dpnb.FewRecordsWarning")
@pytest.mark.parametrize("kind", [DiffPRFs, PrivateBooster])
def test_an_estimator_that_holds_more_is_caught_by_both(kind: Any) -> None:
    class Twin(kind):  # type: ignore[misc]
        def _fit(self, records: Any, curator: Any) -> None:
            super()._fit(records, curator)
            self.n_records_ = len(records.keys)

    small = {"n_trees": 2, "max_depth": 1} if kind is DiffPRFs else {"n_rounds": 2}
    for subject, broken in ((kind, False), (Twin, True)):
        factory = partial(subject, domain=PAIR.domain, **small)
        found = [scan_by_replay(factory(), *SIDES), scanned(factory)]
        for findings in found:
            assert [f.path for f in findings] == (["model.n_records_"] if broken else [])
            assert all(f.violated for f in findings)
    assert [f[0].lower_bound for f in found] == [math.inf, pytest.approx(1, abs=0.1)]


def test_a_domain_that_is_read_off_the_records_is_told() -> None:
    pair = pair_of(
        "beyond", [(i / 10, i % 2, i // 2 % 2) for i in range(1, 9)], (0.97, 1, 1), neighbours="add-remove"
    )
    with pytest.warns(match="learnt from the records"):
        found = scan(partial(DiffPRFs, n_trees=1, max_depth=0), pair.first, pair.second, claimed=1.0)
    assert any("domain_" in f.path for f in found)
    assert all(f.violated for f in found)


def test_the_ledger_holds_nothing_of_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: a ledger that says how many records there are."""
    forest = DiffPRFs(domain=PAIR.domain, n_trees=1, max_depth=0)
    assert scan_by_replay(forest, *SIDES) == []
    fit = DiffPRFs._fit

    def talkative(self: Any, records: Any, curator: Any) -> None:
        fit(self, records, curator)
        curator.ledger.note = f"{len(records.keys)} records"

    monkeypatch.setattr(DiffPRFs, "_fit", talkative)
    (finding,) = scan_by_replay(forest, *SIDES)
    assert finding.path == "model.ledger_.note"
