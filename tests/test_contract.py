"""What every registered estimator promises, each promise with a broken twin; a new paper is tested by being listed."""

from __future__ import annotations

import inspect
import math
import pickle
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from dpaudit import families
from dpaudit.pairs import Pair, random_pair
from dpnb import Categorical, Continuous, Domain, DomainError, Ledger, PrivacyLeakWarning, PrivateBooster
from dpnb.estimators.base import register
from dpnb.privacy import accounting
from dpnb.privacy import ledger as ledgers
from dpnb.privacy.curator import REAL_NOISE
from dpnb.privacy.lattice import Lattice
from dpnb.privacy.ledger import PlannedScope, Scope
from dpnb.records.memory import Records
from dpnb.replay import replay
from dpnb.replay.tape import replay_estimator
from registered import ENTRIES, Entry, seen

PRIVATE = [
    pytest.param(e, name, id=f"{e.estimator.__name__}, {name}")
    for e in ENTRIES.values()
    for name in e.private
]
LEAKING = [
    pytest.param(e, name, id=f"{e.estimator.__name__}, {name}")
    for e in ENTRIES.values()
    for name in e.leaking
]
TRIPLES = 24
DOMAIN = Domain(
    (
        Continuous("x", 0, 10),
        Categorical("c", ("a", "b", "d")),
        Continuous("z", -1, 1),
        Categorical("g", (0, 1)),
    ),
    ("no", "yes"),
)


def sample(entry: Entry) -> tuple[pd.DataFrame, pd.Series[Any], Domain]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"x": rng.uniform(0, 10, 300), "c": rng.choice(["a", "b", "d"], 300), "z": rng.uniform(-1, 1, 300)}
    ).assign(g=rng.integers(0, 2, 300))
    y = pd.Series(np.where((X["x"] > 4) & (X["c"] != "a"), "yes", "no"), name="class")
    return entry.suited(X, y, DOMAIN)


def fitted(entry: Entry, name: str, **parameters: Any) -> Any:
    X, y, domain = sample(entry)
    return entry.model(name, domain=domain, random_state=0, **parameters).fit(X, y)


def released(model: Any) -> bytes:
    """Everything that a model releases, to the bit."""
    parts = [getattr(model, name) for name in ("trees_", "model_", "models_") if hasattr(model, name)]
    return pickle.dumps([(type(part), part) for part in parts])


def suited(pair: Pair, entry: Entry) -> Pair:
    """The pair as the estimator takes it."""
    first, second = (entry.suited(*side, pair.domain) for side in (pair.first, pair.second))
    return replace(pair, first=first[:2], second=second[:2], domain=first[2])


def relations(entry: Entry) -> tuple[dict[str, Any], ...]:
    """Arguments for each relation that the estimator takes."""
    return (
        ({}, {"neighbours": "replace"})
        if "neighbours" in inspect.signature(entry.estimator).parameters
        else ({},)
    )


def shares(entry: Entry, variant: str | Mapping[str, Any], *, neighbours: str = "add-remove") -> list[float]:
    """Losses of replays on structured and random neighbours, as shares of what the ledger allows."""
    rng, found = np.random.default_rng(0), []
    relation = {} if neighbours == "add-remove" else {"neighbours": neighbours}
    parameters = entry.private[variant] if isinstance(variant, str) else variant
    model: Any = entry.estimator(**{**entry.small, **parameters, "epsilon": 2.0, **relation})
    pairs = families(neighbours)
    pairs += [random_pair(rng, neighbours=neighbours) for _ in range(TRIPLES - len(pairs))]
    for seed, pair in enumerate(suited(pair, entry) for pair in pairs):
        sides = (pair.first, pair.second) if seed % 2 else (pair.second, pair.first)
        outcome, _ = replay_estimator(model.set_params(domain=pair.domain), *sides, seed=seed, encoded=True)
        ledger = outcome.ledger
        found.append(outcome.loss / allowed(ledger))
    return found


def allowed(ledger: Ledger) -> float:
    """Loss that no replay exceeds: pure ε, or, where there is none, that of ρ-zCDP but for one output in 10⁹."""
    if math.isfinite(ledger.pure_epsilon):
        return ledger.pure_epsilon
    return ledger.rho + 2 * math.sqrt(ledger.rho * math.log(1e9))


def test_all_estimators_are_registered() -> None:
    """Every public class with a ``fit`` in the modules of the papers, by name."""
    found = {
        name
        for entry in ENTRIES.values()
        for name, kind in vars(inspect.getmodule(entry.estimator)).items()
        if inspect.isclass(kind) and hasattr(kind, "fit") and kind.__module__ == entry.estimator.__module__
        if not name.startswith("_")
    }
    assert found == set(ENTRIES)


def test_a_name_is_registered_once() -> None:
    twin = type("DiffPRFs", (ENTRIES["DiffPRFs"].estimator,), {})
    with pytest.raises(ValueError, match=r"'DiffPRFs' is registered already, by \.papers\.diffprfs"):
        register(twin)


@pytest.mark.parametrize(("entry", "name"), PRIVATE)
def test_no_replay_exceeds_the_ledger(entry: Entry, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for relation in relations(entry):
        assert max(shares(entry, name, **relation)) <= 1 + 1e-9
    book = Ledger.book

    def booked_at_a_tenth(self: Ledger, event: Any) -> None:
        book(self, replace(event, epsilon=event.epsilon / 10, rho=event.rho / 100))

    monkeypatch.setattr(Ledger, "book", booked_at_a_tenth)
    monkeypatch.setattr(
        PlannedScope, "cost", Scope.cost
    )  # which would be that of the declared plans at least
    monkeypatch.setattr(ledgers, "_booked", lambda most, happened: happened)  # the same for trees
    assert max(shares(entry, name)) > 1  # broken twin: the ledger books a tenth


# Other settings of the papers, as deep as their steps go, beside those that are registered.
READINGS: list[tuple[str, dict[str, Any]]] = [
    ("EDPRF", {"stop": "depth", "levels": "harmonic", "bags": "full"}),
    ("EDPRF", {"levels": "geometric", "leaf": "label", "selection": "exponential", "bags": "poisson"}),
    (
        "EDPRF",
        {"splits": "multiway", "reuse": False, "levels": "harmonic", "bags": "bernoulli", "bag_rate": 0.3},
    ),
    ("EDPRF", {"splits": "multiway", "leaf": "label", "monotone_rate": False, "max_features": 1}),
    ("EDPRF", {"utility": "gini_normalised", "max_features": 2, "reuse": False, "align": False}),
    ("PearsonTree", {"selection": "exponential", "n_shards": 2, "leaf_share": 0.6}),
    ("PearsonTree", {"statistic": "phi", "n_shards": 3, "max_depth": 3}),
    ("PearsonTree", {"attributes": "tree"}),
    ("PearsonTree", {"attributes": "tree", "open_leaves": "empty"}),
    ("DPAda", {"schedule": "swing", "learning_rate": 0.4, "n_rounds": 6}),
    ("DPAda", {"filter_rounds": 3, "n_rounds": 9}),
]


@pytest.mark.parametrize(("name", "parameters"), READINGS)
def test_no_replay_exceeds_the_ledger_in_other_readings(name: str, parameters: dict[str, Any]) -> None:
    for relation in relations(ENTRIES[name]):
        assert 0.02 < max(shares(ENTRIES[name], parameters, **relation)) <= 1 + 1e-9


@pytest.mark.parametrize(("entry", "name"), PRIVATE)
def test_the_ledger_holds_the_claim(entry: Entry, name: str) -> None:
    for relation in relations(entry):
        ledger = fitted(entry, name, epsilon=2.0, **relation).ledger_
        assert ledger.claimed == 2.0
        assert ledger.neighbours == relation.get("neighbours", "add-remove")
        assert not ledger.leaks
        assert 0 < ledger.epsilon <= 2.0 * (1 + 1e-9)


# Settings in which outputs decide what follows, beside those that are registered.
BY_OUTPUTS: list[tuple[str, dict[str, Any]]] = [
    ("DiffPRFs", {"size_query": True, "stop": "noisy"}),
    ("DiffPRFs", {"selection": "two-step", "budget_flow": "shrinking", "categorical": "multiway"}),
    ("EDPRF", {"align": False}),
    ("EDPRF", {"align": False, "splits": "multiway", "reuse": False, "max_depth": 4}),
    ("EDPRF", {"max_features": 1, "reuse": False, "stop": "depth", "max_depth": 3}),
    ("PearsonTree", {"attributes": "tree", "open_leaves": "empty", "max_depth": 5}),
    ("DPAda", {"filter_rounds": 2, "n_rounds": 6}),
    ("DPAda", {"filter_rounds": 9}),
    ("PrivateBooster", {"n_rounds": None}),
    ("PrivateBooster", {"n_rounds": None, "delta": 1e-5}),
]


def stated(entry: Entry, parameters: dict[str, Any], *, epsilon: float = 20.0) -> set[tuple[float, ...]]:
    """What ledgers state of fits on several data sets with several seeds: schedule drawn ahead, ε, ρ."""
    X, y, domain = sample(entry)
    found = set()
    for n in (0, 1, 40, 300):
        for labels in (y, y.where(y == y[0], y[0])):
            records = Records(X[:n], labels[:n], domain=domain)
            for seed in range(4):
                model: Any = entry.estimator(epsilon=epsilon, random_state=seed, **parameters).fit(records)
                active = float(
                    np.sum(getattr(model, "schedule_", 0))
                )  # public, drawn before the data are read
                found.add((active, model.ledger_.epsilon, model.ledger_.rho))
    return found


@pytest.mark.parametrize(("entry", "name"), PRIVATE)
def test_what_is_stated_does_not_depend_on_what_comes_out(entry: Entry, name: str) -> None:
    found = stated(entry, {**entry.small, **entry.private[name]})
    assert len(found) == len({active for active, *_ in found})


@pytest.mark.parametrize(("name", "parameters"), BY_OUTPUTS)
def test_nor_does_it_where_outputs_decide_what_follows(name: str, parameters: dict[str, Any]) -> None:
    assert len(stated(ENTRIES[name], {**ENTRIES[name].small, **parameters})) == 1


def test_totals_of_what_happened_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin."""
    monkeypatch.setattr(ledgers, "_booked", lambda most, happened: happened)
    for name, variant in (("DiffPRFs", "in two steps"), ("EDPRF", "default"), ("DiffPID3", "default")):
        entry = ENTRIES[name]
        assert len(stated(entry, {**entry.small, **entry.private[variant]})) > 1
    assert len(stated(ENTRIES["PrivateBooster"], {"uniform": 5, "geometric": 2})) > 1


WITH_DELTA = [
    pytest.param(e, name, id=f"{e.estimator.__name__}, {name}")
    for e in ENTRIES.values()
    for name in e.private
    if "delta" in inspect.signature(e.estimator).parameters
]


def above_its_claim(entry: Entry, name: str) -> list[tuple[float, float]]:
    """Tiny budgets (ε, δ) of which the ledger states more than the claim; an error for a parameter is no statement."""
    X, y, domain = sample(entry)
    records, found = Records(X, y, domain=domain), []
    for epsilon, delta, relation in product(
        (1e-3, 1e-5, 1e-6, 1e-9, 1e-12), (1e-2, 1e-6, 1e-10), relations(entry)
    ):
        model: Any = entry.model(name, epsilon=epsilon, delta=delta, random_state=0, **relation)
        with suppress(ValueError):
            if model.fit(records).ledger_.epsilon > epsilon * (1 + 1e-9):
                found.append((epsilon, delta))
    return found


@pytest.mark.parametrize(("entry", "name"), WITH_DELTA)
def test_no_tiny_budget_is_passed(entry: Entry, name: str) -> None:
    assert above_its_claim(entry, name) == []


def test_a_plan_that_counts_entries_by_the_least_lattice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: a planned sd is a lower bound, so what it lets a record change is none from above."""

    def by_lattice(step: Any) -> float:
        most = (step.size * step.sd) ** 2
        return 0.0 if math.isinf(step.sd) else step.times * min(step.entries, most)

    monkeypatch.setattr(accounting, "_changed", by_lattice)
    caches = (accounting._epsilon, accounting.tight_rho)
    for cache in caches:
        cache.cache_clear()
    assert (1e-9, 1e-6) in above_its_claim(ENTRIES["LogisticRegression"], "public bins")
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize(("entry", "name"), LEAKING)
def test_what_leaks_is_convicted(entry: Entry, name: str) -> None:
    """Some pair has a loss without bound, and the finding says of what and where."""
    found = []
    for seed, pair in enumerate(families() * 2):
        sides = (pair.first, pair.second) if seed < len(families()) else (pair.second, pair.first)
        model = entry.leaking[name](domain=pair.domain, **entry.small)
        found.append(replay(model, *sides, seed=seed))
    worst = max(found, key=lambda finding: finding.lower_bound)
    assert math.isinf(worst.lower_bound)
    assert worst.event
    assert re.fullmatch(r"dpnb\.\w.*:\d+ \w+", worst.place)


@pytest.mark.parametrize(("entry", "name"), PRIVATE)
def test_same_seed_same_model_in_any_order_pickled_and_cloned(entry: Entry, name: str) -> None:
    X, y, domain = sample(entry)
    order = np.random.default_rng(0).permutation(len(X))
    model = fitted(entry, name, epsilon=0.1)  # so little that the seed matters
    again, unpickled = clone(model).fit(X.iloc[order], y.iloc[order]), pickle.loads(pickle.dumps(model))
    assert unpickled.random_state is None  # the noise follows from a seed: it stays at home
    encoded = clone(model).fit(Records(X, y, domain=domain, strict=False))
    for other in (again, unpickled.set_params(random_state=0), clone(model).fit(X, y), encoded):
        assert released(other) == released(model)
        assert str(other.ledger_) == str(model.ledger_)
        assert other.get_params() == model.get_params()
    twin = clone(model).set_params(random_state=1).fit(X, y)
    assert released(twin) != released(model)  # broken twin: another seed
    pipe = make_pipeline(FunctionTransformer(), clone(model)).fit(X, y)
    np.testing.assert_array_equal(pipe.predict(X), model.predict(X))
    seen(model, X)
    assert entry.numbers or set(model.predict(X)) <= {"no", "yes"}
    check_trees(model)


def check_trees(model: Any) -> None:
    """Check that leaves, and they alone, have values, and that all of them are printed."""
    for tree in getattr(model, "trees_", []):
        leaf = tree.first_child < 0
        assert np.isfinite(tree.value[leaf]).all()
        assert np.isnan(tree.value[~leaf]).all()
        assert tree.export_text(model.domain_, max_depth=99).count("→") == leaf.sum() * (tree.n_nodes > 1)


@pytest.mark.parametrize(
    "entry",
    [e for e in ENTRIES.values() if hasattr(e.estimator, "as_written")],
    ids=lambda e: e.estimator.__name__,
)
def test_every_choice_fits_and_predicts(entry: Entry) -> None:
    """Of the repaired algorithm and of the text; some choices need others, and say so."""
    X, y, domain = sample(entry)
    fits = 0
    for name, choices in entry.estimator._choices.items():
        for choice, make in product(choices, (entry.estimator, entry.estimator.as_written)):
            with suppress(ValueError):
                model: Any = make(**{**entry.small, "domain": domain, "random_state": 0, name: choice}).fit(
                    X, y
                )
                check_trees(model)
                np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
                fits += 1
    assert fits >= 2 * len(entry.estimator._choices)


@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES.values() if e.learns is not None], ids=lambda e: e.estimator.__name__
)
def test_a_larger_budget_learns_more(entry: Entry) -> None:
    X, y, domain = sample(entry)
    made: Any = entry.estimator(**entry.learns, domain=domain)  # type: ignore[arg-type]
    least, most = (
        np.mean([clone(made).set_params(epsilon=e, random_state=s).fit(X, y).score(X, y) for s in range(4)])
        for e in (1e-3, 1e3)
    )
    assert most > max(0.85, least + 0.05)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_nothing_is_fitted_when_input_is_bad(entry: Entry) -> None:
    X, y, domain = sample(entry)
    model: Any = entry.estimator(**entry.small, domain=domain, strict=True)
    with pytest.raises(DomainError):
        model.fit(X.assign(g=9), y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_without_a_domain_it_warns_and_the_ledger_says_so(entry: Entry) -> None:
    X, y, _ = sample(entry)
    model: Any = entry.estimator(**entry.small)
    with pytest.warns(PrivacyLeakWarning):
        model.fit(X[["c", "g"]].astype(str) if entry.estimator.discrete_only else X, y)
    assert math.isinf(model.ledger_.epsilon)


def undocumented(kind: type) -> list[str]:
    """Arguments of the constructor that no docstring of the class or of its bases describes."""
    text = "\n".join(base.__doc__ or "" for base in kind.__mro__)
    described = re.findall(r"^\s*(\w+(?:, \w+)*) : ", text, re.MULTILINE)
    return sorted(set(inspect.signature(kind).parameters) - set(", ".join(described).split(", ")))


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_arguments_are_named_and_documented(entry: Entry) -> None:
    arguments = inspect.signature(entry.estimator).parameters.values()
    assert all(argument.kind is inspect.Parameter.KEYWORD_ONLY for argument in arguments)
    assert undocumented(entry.estimator) == []
    assert "**Privacy**" in (entry.estimator.__doc__ or "")
    twin = type("Twin", (entry.estimator,), {"__init__": lambda self, *, surprise=1: None})
    assert undocumented(twin) == ["surprise"]


@parametrize_with_checks(
    [e.estimator(epsilon=np.inf, **e.learns) for e in ENTRIES.values() if e.learns is not None]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    """At ε = ∞, as the checks ask for accuracy; without a domain, as they know none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        check(estimator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES.values() if e.private], ids=lambda e: e.estimator.__name__
)
def test_scikit_learn_checks_at_a_finite_epsilon(entry: Entry) -> None:
    check_estimator(entry.model(next(iter(entry.private)), epsilon=1e-3, random_state=0))


class Promising(PrivateBooster):
    """Broken twin: its tags promise that it learns, whatever the noise."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = False
        return tags


@pytest.mark.filterwarnings("ignore")
def test_a_model_that_promises_to_learn_is_caught() -> None:
    with pytest.raises(AssertionError):
        check_estimator(Promising(epsilon=1e-3, random_state=0))


# --- Numbers that are released ------------------------------------------------------------------------------------


def real_noise(model: Any) -> set[str]:
    """Releases of a fit whose last digits leak."""
    return {event.what for event in model.ledger_.events if event.mechanism in REAL_NOISE}


@pytest.mark.parametrize(("entry", "name"), PRIVATE)
def test_no_private_estimator_releases_noise_of_real_numbers(entry: Entry, name: str) -> None:
    assert not real_noise(fitted(entry, name))


def test_texts_as_written_are_caught_with_noise_of_real_numbers() -> None:
    """Broken twins."""
    for entry in ENTRIES.values():
        if "noise" in entry.estimator.__dataclass_fields__:
            first = next(iter(entry.private))
            assert "class counts of a leaf" in real_noise(fitted(entry, first, noise="laplace"))


def cuts(model: Any) -> np.ndarray:
    """Thresholds of a forest on its first attribute."""
    found = [t.splits.cut[(t.splits.attribute == 0) & (t.first_child >= 0)] for t in model.trees_]
    return np.concatenate(found).ravel()


@pytest.mark.parametrize("name", ["default", "in two steps"])
def test_thresholds_that_are_drawn_lie_on_the_public_lattice(name: str) -> None:
    entry = ENTRIES["DiffPRFs"]
    lattice = Lattice.of(0.0, 10.0)
    drawn = cuts(fitted(entry, name, n_trees=12, max_depth=4, stop="depth"))
    assert len(drawn) > 20
    assert (lattice.at(lattice.up_to(drawn)) == drawn).all()
    twin = drawn * (1 + 2.0**-50)  # broken twin: digits below the lattice's
    assert (lattice.at(lattice.up_to(twin)) != twin).any()
