"""The scan of fitted models: every place where a record can hide, each beside honest models that pass.

Honest subjects are convicted with probability 1e-6 at most; with fixed seeds always or never.
"""

from __future__ import annotations

import copyreg
import inspect
import json
import math
import pickle
import sys
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from audit_subjects import BY_NAME
from audit_subjects import Honest as NoisyCounts
from dpaudit import AttackError, AuditSettings, families, scan
from dpaudit.contents import agree, contents
from dpaudit.pairs import Pair, pair_of
from dpaudit.repeats import (
    BURN_IN,
    MOST_NUMBERS,
    agreement,
    combinations,
    constant_bound,
    constant_on_each,
    runs_needed,
)
from dpaudit.scan import ScanFinding
from dpnb import PrivateBooster
from dpnb.estimators.base import PrivateClassifier
from dpnb.papers.diffprfs import DiffPRFs
from private_trees.auditing.followed import scan_by_replay
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


@dataclass(frozen=True, slots=True)
class Row:
    """A data class without a dictionary."""

    content: Any


class Named(dict[str, Any]):
    """A dictionary with attributes."""

    def __init__(self, content: Any) -> None:
        super().__init__(shown=1)
        self.content = content


class Marked(float):
    """A number with attributes, which are looked for in its pickle only."""

    def __new__(cls, content: Any) -> Marked:
        number = super().__new__(cls, 1.0)
        number.content = content  # type: ignore[attr-defined]
        return number


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


def at(name: str, what: Callable[[pd.DataFrame, Any, np.random.Generator], Any]) -> More:
    """Under this name the model holds what is made of the records and noise."""
    return lambda s, X, y, r: setattr(s, name, what(X, y, r))


def size(name: str, inside: Callable[[int], Any] = int) -> More:
    """Under this name the model holds the number of records inside something."""
    return at(name, lambda X, y, r: inside(len(X)))


KEPT: dict[str, Any] = {}
N = "the number of records"
BROKEN: dict[str, tuple[More, str, str]] = {  # more, path, what is there
    "records": (at("_fit_X", lambda X, y, r: X.to_numpy()), "model._fit_X", "the records"),
    "a table": (at("table_", lambda X, y, r: X), "model.table_", "the values of 'x'"),
    "a column": (at("x_", lambda X, y, r: X["x"]), "model.x_", "the values of 'x'"),
    "labels": (at("y_", lambda X, y, r: y), "model.y_", "the records' labels"),
    "n": (size("n_records_"), "model.n_records_", N),
    "a mean": (at("means_", lambda X, y, r: X["x"].mean()), "model.means_", "the mean of 'x'"),
    "a class's count": (at("prior_", lambda X, y, r: int(y.sum())), "model.prior_", f"{N} of class 1"),
    "classes read off": (at("classes_", lambda X, y, r: np.unique(y)), "model.classes_", "the classes that occur"),
    "a view": (at("edges_", lambda X, y, r: X.to_numpy()[:0]), "model.edges_", "the records"),
    "a closure": (size("f_", function_of), "model.f_.content", N),
    "a default": (size("f_", lambda n: eval("lambda n=n: n", {"n": n})), "model.f_.__defaults__", N),
    "a partial": (size("f_", partial(partial, max)), "model.f_.args", N),
    "a bound method": (size("f_", lambda n: Box(n).told), "model.f_.__self__.content", N),
    "a slot": (size("box_", Box), "model.box_.content", N),
    "a pickle": (size("state_", lambda n: pickle.dumps({"n": n})), "pickle.loads(model.state_)['n']", N),
    "the class": (lambda s, X, y, r: setattr(type(s), "n", len(X)), "model.Subject.n", N),
    "hashed keys": (
        at("keys_", lambda X, y, r: pd.util.hash_pandas_object(X).to_numpy()), "model.keys_", "an entry for each record"
    ),
    "a namespace": (size("told_", lambda n: SimpleNamespace(deep=SimpleNamespace(n=n))), "model.told_.deep.n", N),
    "a queue": (size("last_", lambda n: deque([None, n])), "model.last_[1]", N),
    "a data class": (size("row_", Row), "model.row_.content", N),
    "a list in a dictionary": (
        size("told_", lambda n: {"deep": {3: [0.5, "a", [n, "b"]]}}), "model.told_['deep'][3][2][0]", N
    ),
    "a dictionary's attribute": (size("told_", Named), "model.told_.content", N),
    "a set": (at("seen_", lambda X, y, r: set(X["x"])), "model.seen_", "without noise"),
    "keys of a dictionary": (at("at_", lambda X, y, r: dict.fromkeys(X["x"], 0)), "model.at_", ""),
    "leaf counts in random trees": (random_leaves, "model.trees_[*]", N),
    "leaf counts": (
        at("leaves_", lambda X, y, r: [{"counts": np.bincount(y, minlength=2) + r.permutation(2)}]),
        "model.leaves_[*]['counts']", "a number without noise",
    ),
    "one count": (
        at("leaves_", lambda X, y, r: [{"counts": np.array([r.normal(), y.sum()])}]),
        "model.leaves_[0]['counts'][1]", "a number without noise",
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
        s.row_, s.told_, s.last_ = (
            Row(len(X) + r.normal()),
            Named(len(X) + r.normal()),
            deque([len(X) + r.normal()]),
        )

    assert scanned(holding(noisy)) == []


def test_libraries_without_privacy_are_convicted() -> None:
    found = scanned(DecisionTreeClassifier)
    assert any("tree_" in f.path for f in found)
    assert any(f.holds == "the classes that occur" for f in found)
    pipe = scanned(lambda: make_pipeline(StandardScaler(), Honest()))
    assert any("mean_" in f.path for f in pipe)


class Telling:
    """Has an attribute, and hands out something else where a subclass lets it."""

    def __init__(self, shown: Any = 1) -> None:
        self.shown = shown


class ByReduce(Telling):
    def __reduce__(self) -> Any:
        return Telling, (KEPT["n"],)


class ByReduceEx(Telling):
    def __reduce_ex__(self, protocol: Any) -> Any:
        return partial(Telling, KEPT["n"]), ()


class ByState(Telling):
    def __getstate__(self) -> Any:
        return {"shown": [KEPT["n"]]}


class ByItems(dict[str, Any]):
    def __reduce__(self) -> Any:
        return dict, (), None, None, iter([("n", KEPT["n"])])


class ByTable(Telling):
    """Is registered with ``copyreg``."""


copyreg.pickle(ByTable, lambda whole: (ByTable, (KEPT["n"],)))


class Keeps(Honest):
    """Holds an object in a pickle of which a count is, without noise or with it."""

    kind: Any = Telling
    most = 1

    def more(self, X: pd.DataFrame, y: Any, rng: np.random.Generator) -> None:
        self.told_ = {"deep": [self.kind()]}
        KEPT["n"] = len(X) + int(rng.integers(self.most))


@pytest.mark.parametrize("kind", [ByReduce, ByReduceEx, ByState, ByItems, ByTable])
def test_pickles_are_looked_into_where_classes_make_them(kind: Any) -> None:
    found = scanned(type("Subject", (Keeps,), {"kind": kind}))
    assert [f.holds for f in found] == ["the number of records"]
    assert found[0].path.startswith("model.told_['deep'][0].__reduce__()")
    assert scanned(type("Twin", (Keeps,), {"kind": kind, "most": 9})) == []
    assert scanned(Keeps) == []  # the same number, not given away


class Lengthy(Honest):
    """Only the length of the pickle depends on the records; and in the twin on noise as well."""

    most = 1

    def more(self, X: pd.DataFrame, y: Any, rng: np.random.Generator) -> None:
        del self.tree_, self.counts_, self.random_state  # whole numbers vary in length
        self.mark_ = Marked("x" * (len(X) + int(rng.integers(self.most))))


def test_the_length_of_a_pickle_is_looked_at() -> None:
    (finding,) = scanned(Lengthy)
    assert (finding.path, finding.holds) == ("len(pickle.dumps(model))", "a size without noise")
    assert scanned(type("Twin", (Lengthy,), {"most": 9})) == []


class Exporting(Honest):
    def more(self, X: pd.DataFrame, y: Any, rng: np.random.Generator) -> None:
        self.row_, self.packed_ = Row(len(X)), pickle.dumps(len(X))

    def to_json(self) -> str:
        return json.dumps({"records": self.row_.content})


def test_the_surface_has_the_numbers_and_nothing_that_takes_long() -> None:
    model = Exporting().fit(*PAIR.first)
    whole, surface = contents(model).facts, contents(model, surface=True).facts
    assert {"model.counts_", "model.row_.content", "sum of model.counts_"} <= surface.keys()
    for left_out in (
        "repr(model)",
        "len(pickle.dumps(model))",
        "model.to_json()['records']",
        "pickle.loads(model.packed_)",
    ):
        assert left_out in whole
        assert left_out not in surface


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
    monkeypatch.setattr("dpaudit.contents.MOST_OBJECTS", 100)
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
    found = scanned(holding(at("rng_", lambda X, y, r: r)))
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


def rebuilt() -> Any:
    return Reducing()


class Reducing(Honest):
    """Says itself what is in its pickle: its attributes, or a generator alone."""

    only_there = False

    def more(self, X: pd.DataFrame, y: Any, rng: np.random.Generator) -> None:
        KEPT["rng"] = rng
        if not self.only_there:
            self.rng_ = rng

    def __reduce__(self) -> Any:
        return rebuilt, (), {"rng_": KEPT["rng"]} if self.only_there else dict(vars(self))


def test_a_generator_is_told_once_in_memory_and_pickle() -> None:
    assert [f.path for f in scanned(Reducing)] == ["model.rng_"]
    only = type("Only", (Reducing,), {"only_there": True})
    assert [f.path for f in scanned(only)] == ["model.__reduce__().state['rng_']"]


# --- Equal noise --------------------------------------------------------------------------------------------


def equal_noise(sign: int, told: Callable[[Any], float]) -> More:
    """Two numbers with the same noise, or with opposite noise; one of them has a count."""

    def more(s: Any, X: pd.DataFrame, y: Any, r: np.random.Generator) -> None:
        noise = r.normal(scale=5)
        s.total_, s.leaves_ = told(X) / 3 + noise, {"first": [r.normal(), 1e3 + sign * noise]}

    return more


@pytest.mark.parametrize(("word", "sign"), [("difference", 1), ("sum", -1)])
def test_noise_that_is_added_twice_is_taken_off(
    word: str, sign: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = holding(equal_noise(sign, len))
    (finding,) = scanned(subject)
    assert finding.path == f"{word} of model.total_ and model.leaves_['first'][1]"
    assert finding.violated
    assert finding.trials < 60
    # Honest twins: what is public differs by the same on both sides, as p and 1 - p add up to 1.
    assert scanned(holding(equal_noise(sign, lambda X: 7))) == []
    monkeypatch.setattr(sys.modules["dpaudit.repeats"], "combinations", lambda *_: [])  # broken twin
    assert scanned(subject) == []


def test_noise_shared_between_classes_shows_on_the_first_pair() -> None:
    first = families()[0]
    (finding,) = scan(BY_NAME["noise shared between classes"].factory, first.first, first.second, claimed=1.0)
    assert finding.path == "difference of model.value_[2, 0] and model.value_[2, 1]"
    assert finding.trials < 60
    assert scan(NoisyCounts, first.first, first.second, claimed=1.0) == []


def test_only_the_first_numbers_are_combined() -> None:
    """A model of many numbers takes no longer; the broken twin has the pair beyond them."""
    rng = np.random.default_rng(0)

    def fits(side: int, place: int) -> list[dict[str, Any]]:
        noise = rng.normal(size=(BURN_IN, 200))
        noise[:, place + 1] = noise[:, place] + side
        return [{"model.a": row} for row in noise]

    place = MOST_NUMBERS - 2
    (found,) = combinations(fits(0, place), fits(1, place))
    assert found.path == f"difference of model.a[{place}] and model.a[{place + 1}]"
    assert combinations(fits(0, MOST_NUMBERS - 1), fits(1, MOST_NUMBERS - 1)) == []


def test_a_combination_that_is_not_there_any_more_is_no_constant() -> None:
    rng, runs = np.random.default_rng(0), iter(range(99))

    def run(side: int, last: int) -> dict[str, Any]:
        noise = rng.normal()
        return {"a": np.array(noise), **({"b": np.array([noise + side])} if next(runs) < last else {})}

    asked = settings(1.0, confidence=1 - 1e-6)
    assert constant_on_each(partial(run, last=9), asked)[0] == []
    assert constant_on_each(partial(run, last=99), asked)[0]


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


def hidden_response(rng: np.random.Generator, *, truth: float, size: int) -> Callable[[int], dict[str, Any]]:
    """Randomised response in the difference of two numbers that vary, beside others that do."""

    def run(side: int) -> dict[str, Any]:
        numbers = rng.normal(size=size)
        return {"a": numbers, "b": numbers[0] + response(rng, truth=truth, size=1)(side)["answer"]}

    return run


def response(rng: np.random.Generator, *, truth: float, size: int) -> Callable[[int], dict[str, Any]]:
    """Randomised response of ε = ``truth`` to one bit, by ``size`` independent respondents of whom one is asked."""

    def run(side: int) -> dict[str, Any]:
        answers = (rng.random(size) < agreement(epsilon=truth)).astype(int)
        return {"answer": np.where(np.arange(size) == 0, answers ^ side, answers)}

    return run


def settings(claimed: float, **more: Any) -> AuditSettings:
    return AuditSettings(claimed=claimed, **more)


@pytest.mark.parametrize("mechanism", [response, hidden_response])
@pytest.mark.parametrize("truth", [0.5, 1.0, 2.0])
def test_coverage_on_randomised_response(truth: float, mechanism: Any) -> None:
    """The bound exceeds the truth in at most 30 % of 1 000 repetitions: 5 standard errors are 7 points."""
    rng = np.random.default_rng(0)
    wrong = sum(
        constant_on_each(mechanism(rng, truth=truth, size=1), settings(truth, confidence=0.7, seed=i))[1]
        > truth
        for i in range(1_000)
    )
    assert wrong / 1_000 <= 0.37
    broken = sum(  # twin: the claim is half of the truth
        constant_on_each(mechanism(rng, truth=6, size=1), settings(truth / 4, confidence=0.7, seed=i))[1]
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
    first, second = (entry.suited(*side, pair.domain) for side in (pair.first, pair.second))
    return replace(pair, first=first[:2], second=second[:2], domain=first[2])


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
