"""Estimators in trouble: forks, fits that fail, parameters changed after a fit, extreme budgets; and what they show."""

from __future__ import annotations

import copy
import inspect
import math
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RANSACRegressor

import dpnb.privacy.curator
from dpnb import (
    Categorical,
    Continuous,
    Curator,
    Domain,
    FewRecordsWarning,
    Ledger,
    PrivateBooster,
    PrivateBoosterRegressor,
    read,
)
from dpnb.arrays import MOST_CELLS
from dpnb.domain.drafts import draft
from dpnb.estimators.base import PrivateEstimator
from dpnb.papers.baselines_forest import RandomTrees
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.dpada import DPAda, Reading
from dpnb.papers.edprf import EDPRF
from dpnb.privacy.curator import at_home, opening
from dpnb.privacy.ledger import Budget, Event, Scope
from dpnb.records.memory import Records
from dpnb.release import card
from dpnb.replay import replay
from registered import ENTRIES

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {"x": RNG.uniform(0, 10, 120), "c": RNG.choice(["a", "b", "d"], 120), "g": RNG.integers(0, 2, 120)}
)
Y = pd.Series(np.where(X["x"] > 4, "yes", "no"), name="class")
ATTRIBUTES = (Continuous("x", 0, 10), Categorical("c", ("a", "b", "d")), Categorical("g", (0, 1)))
DOMAIN = Domain(ATTRIBUTES, ("no", "yes"))
NUMBERS = Domain(ATTRIBUTES, response=Continuous("cost", 0, 10))
KINDS: dict[str, tuple[type, dict[str, Any]]] = {
    name: (entry.estimator, dict(entry.small)) for name, entry in ENTRIES.items()
}
EVERY = pytest.mark.parametrize("name", KINDS)


def made(name: str, **parameters: Any) -> tuple[Any, Any, Any]:
    """An estimator, and records and labels for it."""
    kind, small = KINDS[name]
    table, domain = X, NUMBERS if kind is PrivateBoosterRegressor else DOMAIN
    if kind.discrete_only:  # type: ignore[attr-defined]
        table, domain = DOMAIN.discretise_records(X, 4), DOMAIN.discretise(4)
    labels = X["x"] if kind is PrivateBoosterRegressor else Y
    return kind(**{"domain": domain, "random_state": 0} | small | parameters), table, labels


# --- Forks ----------------------------------------------------------------------------------------------------------


def of_forks(give: Callable[[], Any]) -> list[Any]:
    """What two forked processes give, and then this one."""
    found = []
    for _ in range(2):
        mine, other = os.pipe()
        if not (child := os.fork()):
            with os.fdopen(other, "wb") as pipe, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pickle.dump(give(), pipe)
                pipe.flush()
                os._exit(0)
        os.close(other)
        with os.fdopen(mine, "rb") as pipe:
            found.append(pickle.load(pipe))
        os.waitpid(child, 0)
    return [*found, give()]


def votes(model: Any) -> list[Any]:
    found: list[Any] = model.set_params(epsilon=0.1).fit(X, Y).predict_proba(X).tolist()
    return found


def booster(source: Any) -> PrivateBooster:
    return PrivateBooster(domain=DOMAIN, n_rounds=4, random_state=source)


def count(curator: Curator) -> list[int]:
    found: list[int] = curator.geometric(
        np.zeros(9), epsilon=0.01, sensitivity=1, what="numbers of nobody"
    ).tolist()
    return found


def curator() -> Curator:
    return Curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0))


SHARED = np.random.default_rng(0)
BEFORE: dict[str, Callable[[], Callable[[], Any]]] = {
    "a Generator": lambda: partial(votes, booster(np.random.default_rng(0))),
    "a Generator of no estimator yet": lambda: lambda: votes(booster(SHARED)),
    "bits": lambda: partial(votes, booster(np.random.PCG64(0))),
    "a RandomState": lambda: partial(votes, booster(np.random.RandomState(0))),
    "NumPy's own": lambda: lambda: votes(booster(np.random.mtrand._rand)),
    "a clone": lambda: partial(votes, clone(booster(np.random.default_rng(0)))),
    "cloned there": lambda: partial(lambda model: votes(clone(model)), booster(np.random.default_rng(0))),
    "spawned there": lambda: partial(lambda rng: votes(booster(rng.spawn(1)[0])), np.random.default_rng(0)),
    "the operating system": lambda: partial(votes, booster(None)),
    "a curator": lambda: partial(count, curator()),
}  # fmt: skip


@pytest.mark.parametrize("source", BEFORE)
def test_a_forked_process_draws_noise_of_its_own(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = of_forks(BEFORE[source]())
    assert all(one != other for one, other in combinations(found, 2))
    if source != "the operating system":
        monkeypatch.setattr(dpnb.privacy.curator.os, "getpid", lambda: dpnb.privacy.curator._HOME)
        found = of_forks(BEFORE[source]())
        assert any(one == other for one, other in combinations(found, 2))  # broken twin: no process is told


def test_a_seed_repeats_its_noise_in_every_process() -> None:
    one, other, own = of_forks(lambda: votes(booster(7)))
    assert one == other == own


def test_a_process_may_state_that_its_generators_are_its_own() -> None:
    def own() -> list[Any]:
        at_home()
        return votes(booster(np.random.default_rng(7)))

    one, other, mine = of_forks(own)
    assert one == other == mine


def _of_pool(_: int) -> list[Any]:
    warnings.simplefilter("ignore")
    return votes(booster(SHARED))


def test_a_pool_draws_noise_for_each() -> None:
    with get_context("fork").Pool(2) as pool:
        found = pool.map(_of_pool, range(4), chunksize=1)
    assert all(one != other for one, other in combinations(found, 2))


def test_a_generator_in_a_forked_process_is_told() -> None:
    def told() -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            votes(booster(np.random.default_rng(0)))
        return [str(one.message) for one in caught if "forked" in str(one.message)]

    one, other, own = of_forks(told)
    assert len(one) == len(other) == 1
    assert "give None, or a whole number" in one[0]
    assert own == []


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda door: pickle.loads(pickle.dumps(door))])
def test_a_copy_of_a_curator_draws_noise_of_its_own(copied: Callable[[Curator], Curator]) -> None:
    one, other = curator(), curator()
    assert count(copied(one)) != count(one) == count(other)


# --- Fits that fail -------------------------------------------------------------------------------------------------


class Failing(Curator):
    """Raises an error instead of a release."""

    after, error = 0, KeyboardInterrupt

    def _settle(self, law: Any, event: Event) -> Any:
        if sum(1 for _ in self.ledger.root.events()) == self.after:
            raise self.error("no more")
        return super()._settle(law, event)


def failing(after: int, error: type[BaseException]) -> Any:
    return opening(type("Door", (Failing,), {"after": after, "error": error}))


def learnt(model: Any) -> dict[str, bytes]:
    """All that a fit has left on an estimator."""
    return {
        name: pickle.dumps(value)
        for name, value in vars(model).items()
        if name not in (*model.get_params(), "_unfinished")
    }


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
@EVERY
def test_a_fit_that_fails_leaves_what_was_there(
    name: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, table, labels = made(name)
    with failing(0, error), pytest.raises(error):
        model.fit(table, labels)
    assert not model.unfinished_  # nothing was released
    with failing(1, error), pytest.raises(error) as raised:
        model.fit(table, labels)
    (ledger,) = model.unfinished_
    most = model.worst_cost()
    assert (ledger.pure_epsilon, ledger.claimed) == (most.epsilon, model.epsilon)
    assert "It counts as ε = " in raised.value.__notes__[0]
    assert learnt(model) == {}
    with pytest.raises(NotFittedError):
        model.predict(table)

    before = learnt(model.fit(table, labels))
    twice = pd.concat([table, table[::-1]], ignore_index=True)
    for after in (0, 1):
        with failing(after, error), pytest.raises(error):
            model.fit(twice, pd.concat([labels, labels], ignore_index=True))
        assert learnt(model) == before
    assert len(model.unfinished_) == 2
    assert clone(model).unfinished_ == []
    if name == "PrivateBooster":
        monkeypatch.setattr(PrivateEstimator, "_unfitted", lambda self: self)
        other = Domain(ATTRIBUTES, ("yes", "no"))  # broken twin: a fit works on the model itself
        with failing(1, error), pytest.raises(error):
            model.set_params(domain=other).fit(table, labels)
        assert learnt(model) != before


def test_a_warning_that_is_an_error_is_counted() -> None:
    """As it comes: few records by a noisy number, which was released."""
    model, budget = booster(0).set_params(epsilon=0.01), Budget(epsilon=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fit in (model.fit, lambda x, y: budget.fit(model, x, y)):
            with pytest.raises(FewRecordsWarning):
                fit(X, Y)
    assert [ledger.epsilon for ledger in model.unfinished_] == [0.01, 0.01]
    assert budget.left == pytest.approx(0.99)
    elsewhere = Budget(epsilon=1.0)
    elsewhere.book(model.unfinished_[0])
    assert elsewhere.left == pytest.approx(0.99)
    assert "PrivateBooster, which did not come to its end" in str(model.unfinished_[0])


def test_with_delta_a_fit_that_failed_costs_what_was_stated() -> None:
    model = booster(0).set_params(delta=1e-6)
    with failing(1, ValueError), pytest.raises(ValueError, match="no more"):
        model.fit(X, Y)
    whole = booster(0).set_params(delta=1e-6).fit(X, Y).ledger_
    assert model.unfinished_[0].epsilon > 0.99 * whole.epsilon  # broken twin: what was booked until then
    assert model.unfinished_[0].events[0].worst.rho < 0.1 * whole.rho


def test_a_table_in_spark_fails_alike() -> None:
    """The records' door is open before anything is released, whatever is behind it."""
    model = booster(0).set_params(domain=None)
    with failing(1, KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        model.fit(Records(X, Y, domain=DOMAIN))
    assert learnt(model) == {}
    assert len(model.unfinished_) == 1


# --- Parameters changed after the fit -------------------------------------------------------------------------------

OTHERWISE: dict[str, Any] = {"epsilon": 2.0, "neighbours": "replace", "strict": True, "domain": None}


def changes(model: Any) -> Iterator[tuple[str, Any]]:
    """Each parameter with another value, and attributes of the class that predictions go by."""
    for name, value in model.get_params(deep=False).items():
        if name in model._choices:
            yield name, next(choice for choice in model._choices[name] if choice != value)
        elif name == "reading":
            yield name, Reading()
        elif name != "random_state":
            yield (
                name,
                OTHERWISE[name] if name in OTHERWISE else 3 if isinstance(value, str) else (value or 0) + 1,
            )
    if hasattr(model, "vote") and "vote" not in model.get_params():
        yield "vote", "majority" if model.vote == "probability" else "probability"


@EVERY
def test_a_model_goes_with_the_parameters_of_its_fit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, table, labels = made(name)
    model.fit(table, labels)
    expected = model.predict(table)
    for parameter, value in changes(model):
        for changed in (model, pickle.loads(pickle.dumps(model))):
            before = getattr(changed, parameter)
            setattr(changed, parameter, value)
            for use in (
                lambda one=changed: one.predict(table),
                lambda one=changed: one.release(tmp_path / "no.json"),
                lambda one=changed: card.page(one, versions={}),
            ):
                with pytest.raises(ValueError, match=f"^{parameter}.* was set after the fit") as told:
                    use()
                assert len(str(told.value)) < 400
            setattr(changed, parameter, before)
            np.testing.assert_array_equal(changed.predict(table), expected)
    model.set_params(random_state=1).predict(table)  # the noise is drawn
    monkeypatch.setattr(PrivateEstimator, "_check_unchanged", lambda self: None)
    if name in ("DiffPRFs", "EDPRF"):
        shares = model.predict_proba(table)
        assert (model.set_params(vote="majority").predict_proba(table) != shares).any()  # broken twin


def test_a_document_goes_with_its_parameters(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        booster(0).fit(X, Y).release(tmp_path / "m.json")
    model = read(tmp_path / "m.json")
    assert "4" in card.page(model, versions={})
    with pytest.raises(ValueError, match=r"n_rounds=100 was set after the fit, which used 4: .* fit again"):
        card.page(model.set_params(n_rounds=100), versions={})


# --- Extreme parameters ---------------------------------------------------------------------------------------------

NUMBERS_OF: dict[str, st.SearchStrategy[Any]] = {
    "delta": st.sampled_from([None, 1e-2, 1e-6, 1e-30, 1e-100]),
    "learning_rate": st.sampled_from([1e-300, 1e-9, 0.3, 1e6]),
    "n_rounds": st.sampled_from([1, 3, 20]),
    "n_trees": st.sampled_from([1, 2, 20]),
    "max_depth": st.sampled_from([0, 1, 3, 60]),
    "bag_rate": st.sampled_from([None, 1e-12, 0.3, 1, 2, 1e9]),
    "max_features": st.sampled_from(["all", "sqrt", 1, 10**6]),
    "filter_rounds": st.sampled_from([None, 1, 5]),
    "max_records": st.sampled_from([None, 10**6]),
    "n_shards": st.sampled_from([1, 3, 100]),
    "n_bins": st.sampled_from([2, 5, 100]),
    "n_specialisations": st.sampled_from([0, 3, 10]),
}  # fmt: skip
SHARES = st.sampled_from([1e-300, 1e-12, 1e-9, 0.5, 1 - 1e-12])
BUDGETS = st.one_of(st.floats(-320, 3).map(lambda e: 10.0**e), st.floats(-18, 3).map(lambda e: 10.0**e))
DOMAINS = [
    DOMAIN,
    NUMBERS,
    DOMAIN.discretise(3),
    Domain(ATTRIBUTES[:1], ("no", "yes")),
    Domain((Categorical("c", ("a",)),), ("no", "yes", "never")),
    Domain(ATTRIBUTES[:1], response=Continuous("cost", -1e300, 1e300)),
]


@st.composite
def extreme(draw: Any) -> Any:
    """An estimator with any parameters."""
    kind, small = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    parameters: dict[str, Any] = {"domain": draw(st.sampled_from(DOMAINS)), "random_state": 0}
    for name, parameter in inspect.signature(kind).parameters.items():
        if name == "epsilon":
            parameters[name] = draw(BUDGETS)
        elif name in ("domain", "random_state", "strict", "reading") or draw(st.booleans()):
            continue
        elif name in kind._choices:  # type: ignore[attr-defined]
            parameters[name] = draw(st.sampled_from(kind._choices[name]))  # type: ignore[attr-defined]
        elif isinstance(parameter.default, bool):
            parameters[name] = draw(st.booleans())
        elif isinstance(parameter.default, float) and name not in NUMBERS_OF:
            parameters[name] = draw(SHARES)
        elif name in NUMBERS_OF:
            parameters[name] = draw(NUMBERS_OF[name])
    return kind(**small | parameters)


def refused_in_its_middle(model: Any) -> str:
    """The error of a fit whose parameters were good for ``worst_cost``; empty if there is none."""
    try:
        model.worst_cost()
    except ValueError:
        return ""
    names = model.domain.names
    table = pd.DataFrame({"x": X["x"], "c": "a", "g": 0})[:40][list(names)]
    try:
        model.fit(table, X["x"][:40] if model.domain.response else Y[:40])
    except ValueError as error:
        return str(error)
    return ""


@given(model=extreme())
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_what_may_be_fitted_is_known_before_a_record_is_read(model: Any) -> None:
    error = refused_in_its_middle(model)
    assume(f"more than {MOST_CELLS}" not in error and "nodes at depth" not in error)  # that was released
    assert error == ""


FORESEEN: list[tuple[Any, str | None]] = [
    (PrivateBoosterRegressor(epsilon=1e-5, domain=NUMBERS), None),
    (PrivateBoosterRegressor(epsilon=1e-16, domain=NUMBERS), None),
    (PrivateBooster(epsilon=1e-17, domain=DOMAIN), None),
    (DPAda(epsilon=1e-12, filter_rounds=3, domain=DOMAIN), None),
    (DPAda(epsilon=1e-30, delta=1e-30, domain=DOMAIN), None),
    (EDPRF(epsilon=1e-14, domain=DOMAIN), None),
    (RandomTrees(epsilon=1.0, max_depth=60, domain=DOMAIN), "nodes at depth 60"),
    (DiffPRFs(max_depth=60, domain=DOMAIN), "nodes at depth 60"),
    (DiffPRFs(bag_rate=1.0, domain=DOMAIN), "bag_rate"),
    (DPAda(domain=Domain(ATTRIBUTES, ("a", "b", "c"))), "3 classes"),
    (PrivateBooster(domain=NUMBERS), "is a number"),
    (PrivateBoosterRegressor(domain=DOMAIN), "is a class"),
    (PrivateBooster(epsilon=1e-300, domain=DOMAIN), "at least 1e-100"),
    (PrivateBooster(delta=5e-324, domain=DOMAIN), "delta"),
    (ENTRIES["PINQID3"].estimator(domain=DOMAIN), "x are continuous"),
    (ENTRIES["AdaBoost"].estimator(n_rounds=0), "n_rounds=0"),
]


@pytest.mark.parametrize(("model", "message"), FORESEEN)
@pytest.mark.filterwarnings("ignore")
def test_what_was_refused_in_the_middle_is_foreseen(
    model: Any, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if message is not None:
        with pytest.raises(ValueError, match=message):
            model.worst_cost()
        with pytest.raises(ValueError, match=message):
            Budget(epsilon=math.inf).check(model)
        return
    assert refused_in_its_middle(clone(model)) == ""

    def refused(centre: Any, spread: Any) -> Any:
        if (spread > 2.0**51).any():
            raise ValueError("a budget is too small for noise in steps of 1")
        return centre, spread

    monkeypatch.setattr(dpnb.privacy.curator, "_held", refused)  # broken twin: as it was
    if model.epsilon < 1e-5:
        assert "too small" in refused_in_its_middle(clone(model))


@pytest.mark.parametrize(("mechanism", "budget"), [("geometric", "epsilon"), ("discrete_gaussian", "rho")])
def test_noise_that_64_bits_do_not_hold_hides_all(mechanism: str, budget: str) -> None:
    def drawn(values: Any, size: float) -> Any:
        return getattr(curator(), mechanism)(values, **{budget: size}, sensitivity=1, what="count").tolist()

    values = np.arange(1000) * 10**12
    assert drawn(values, 1e-60) == drawn(-values, 1e-60)
    assert max(map(abs, drawn(values, 1e-60))) > 2**50
    assert drawn(values, 1.0) != drawn(-values, 1.0)  # broken twin: there is a budget


# --- What objects show ----------------------------------------------------------------------------------------------


def things() -> dict[str, Any]:
    many = Domain(
        (Categorical("c", tuple(f"value {i}" for i in range(5000))), *ATTRIBUTES[:1]), ("no", "yes")
    )
    table = X[["x"]].assign(c="value 3")
    models = {name: model.fit(table, y) for name in KINDS for model, table, y in [made(name)]}
    large = [kind(domain=many, random_state=0).fit(table, Y) for kind in (PrivateBooster, EDPRF)]
    with_delta = booster(0).set_params(delta=1e-6).fit(X, Y)
    budget = Budget(epsilon=2.0)
    budget.fit(booster(0), X, Y)
    scopes = [ledger.root.children[0] for ledger in (with_delta.ledger_, large[1].ledger_)]
    return models | {
        **{f"{type(one).__name__} of many values": one for one in large},
        "shapes": large[0].models_,
        "trees": large[1].trees_,
        "with δ": with_delta,
        "ledger": large[0].ledger_,
        "ledger with δ": with_delta.ledger_,
        "scope": scopes[0],
        "forest's scope": scopes[1],
        "event": with_delta.ledger_.events[0],
        "cost": booster(0).worst_cost(),
        "budget": budget,
        "curator": curator(),
        "domain": many,
        "attribute": many.attributes[0],
        "records": Records(table, Y, domain=many),
        "data set": dpnb.load("adult-standin"),
        "finding": replay(booster(0), (X, Y), (X[1:], Y[1:]), seed=0),
    }


def seen(thing: Any) -> list[str]:
    """What goes wrong when somebody looks at a thing, as editors, notebooks and debuggers do."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in dir(thing):
            with suppress(AttributeError):
                getattr(thing, name)
        inspect.getmembers(thing)
        shown = [repr(thing), str(thing)]
        if hasattr(thing, "_repr_html_"):
            thing._repr_html_()
    faults = [
        f"warns: {one.message}"
        for one in caught
        if not issubclass(one.category, DeprecationWarning | FutureWarning)
    ]
    faults += ["address" for text in shown if " at 0x" in text]
    return faults + [f"{len(text)} characters" for text in shown if len(text) > 5000]


class Odd(PrivateBooster):
    """Broken twin: a property warns, and it shows an address."""

    @property
    def odd_(self) -> int:
        warnings.warn("odd", stacklevel=2)
        return 1

    def __repr__(self) -> str:
        return object.__repr__(self)


@pytest.mark.filterwarnings("ignore")
def test_whoever_looks_at_a_thing_is_not_warned_and_sees_something() -> None:
    found = things()
    assert {name: faults for name, thing in found.items() if (faults := seen(thing))} == {}
    assert {*seen(Odd(domain=DOMAIN))} == {"warns: odd", "address"}
    assert repr(found["ledger"]).startswith("Ledger(ε = 1 (pure), add-remove, ")
    assert "tight" in repr(found["ledger with δ"])
    assert repr(found["budget"]) == "Budget(1 is left of ε = 2, 1 fits)"
    assert repr(found["records"]) == "Records(2 attributes, target 'class')"
    assert "15060 records" in repr(found["data set"])


RAW = "turned \u202egnp.exe, rings \x07, hides \u200b"


def test_nothing_hides_or_turns_around(tmp_path: Path) -> None:
    ledger = Ledger(claimed=1.0)
    ledger.root.children = [Scope(RAW + "\nε = 0", RAW, sum)]
    domain = Domain((Continuous(RAW, 0, 10), Categorical("c", ("a", RAW))), ("no", RAW), target=f"{RAW}!")
    model = EDPRF(domain=domain, random_state=0, n_trees=1).fit(pd.DataFrame({RAW: X["x"], "c": "a"}), Y)
    model.ledger_.root.children[0].what = RAW
    page = card.page(model, versions={RAW: RAW}, data=RAW, purpose=RAW, audit=RAW)
    text = draft(pd.DataFrame({"x": [1.0], RAW: ["a"]}), name=f"t{RAW}\nclasses: [9]", target=RAW)
    assert yaml.safe_load(text)["classes"] == ["FILL IN", "FILL IN"]
    for shown in (str(model.ledger_), page, text.splitlines()[0]):
        assert not set("\u202e\x07\u200b") & set(shown)
        assert r"turned \u202egnp.exe" in shown
    assert set("\u202e\x07\u200b") <= set(RAW)  # broken twin: as it was given
    assert "نمی\u200cدانم" in card.escape("نمی\u200cدانم")  # words that need it keep it


# --- Seeds that others choose ---------------------------------------------------------------------------------------


def test_tools_choose_seeds_that_are_no_secret() -> None:
    """What the page on limitations says of them."""
    numbers, cost = X[["x"]].to_numpy(), X["x"].to_numpy()
    model = PrivateBoosterRegressor(
        domain=Domain(ATTRIBUTES[:1], response=Continuous("cost", 0, 10)), epsilon=100.0, n_rounds=2
    )
    bagged = BaggingRegressor(model, n_estimators=3).fit(numbers, cost)
    assert all(0 <= member.random_state < 2**31 for member in bagged.estimators_)
    chosen = RANSACRegressor(model, min_samples=0.9, max_trials=2, residual_threshold=20.0).fit(numbers, cost)
    assert chosen.estimator_.random_state is np.random.mtrand._rand
