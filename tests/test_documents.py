"""Released models: the document predicts to the bit what the model does, and holds nothing that was not released."""

from __future__ import annotations

import json
import math
import pickle
import re
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpnb
from dpnb import Categorical, Continuous, Domain
from dpnb.errors import DataError
from dpnb.estimators.base import register
from dpnb.estimators.documents import ESTIMATORS, PARTS, Limits, find_class, plain, unplain
from dpnb.papers.dpada import READINGS, DPAda
from dpnb.records.shapes import Block, category_axis, interval_axis
from dpnb.trees.tree import Tree
from registered import ENTRIES, Entry, seen
from test_read_model_js import CODE, NODE, in_javascript

DOMAIN = Domain(
    (
        Continuous("x", 0, 10, missing=True, unit="cm"),
        Categorical("c", ("a", "b", True, 1.5), missing=True, unknown="other"),
        Continuous("d", "2020-01-01", "2021-01-01", clip=True),
        Categorical("g", (0, 1)),
    ),
    ("no", 1, 2.5),
    "outcome",
)
SECRET = 7351846255  # a seed that no document may hold


def sample(domain: Domain) -> tuple[pd.DataFrame, pd.Series[Any]]:
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0, 10, n)),
            "c": rng.choice(np.array(["a", "b", True, 1.5, "new", None], dtype=object), n),
            "d": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 360, n), unit="D"),
            "g": rng.integers(0, 2, n),
        },
        index=pd.Index([f"person {i}" for i in range(n)]),
    )
    X.loc[X["x"].notna(), "x"] += 0.000123456789  # a number that would be found
    codes = (X["x"].fillna(0) > 4).astype(int).to_numpy() + (X["g"].to_numpy() if domain.n_classes > 2 else 0)
    return X, pd.Series([domain.classes[code] for code in codes], index=X.index)


def subjects() -> list[Any]:
    found = []
    for name, entry in ENTRIES.items():
        found += [pytest.param(entry, entry.model(p), id=f"{name}, {p}") for p in entry.private]
        found += [
            pytest.param(entry, make(**entry.small), id=f"{name}, {p}") for p, make in entry.leaking.items()
        ]
    entry = ENTRIES["DPAda"]
    found += [
        pytest.param(entry, DPAda.as_written(reading=r, n_rounds=3), id=f"DPAda, {p}")
        for p, r in READINGS.items()
    ]
    return found


def fitted(entry: Entry, model: Any, *, classes: int = 3) -> tuple[Any, pd.DataFrame]:
    domain = DOMAIN
    if entry.estimator.two_classes or classes == 2:
        domain = Domain(domain.attributes, domain.classes[:2], domain.target)
    X, y, domain = entry.suited(*sample(domain), domain)
    return model.set_params(domain=domain, random_state=SECRET).fit(X, y), X


def booster(**parameters: Any) -> Any:
    entry = ENTRIES["PrivateBooster"]
    return fitted(entry, entry.model("pure", **parameters))[0]


def warns_of_leaks(model: Any) -> AbstractContextManager[object]:
    """Whoever releases a model without privacy is told so, once, and nobody else."""
    if math.isinf(model.ledger_.epsilon):
        return pytest.warns(dpnb.PrivacyLeakWarning, match=re.escape(next(iter(model.ledger_.leaks))))
    warnings.simplefilter("error", dpnb.PrivacyLeakWarning)
    return nullcontext()


@pytest.mark.parametrize(("entry", "model"), subjects())
def test_a_document_predicts_the_same_to_the_bit(entry: Entry, model: Any, tmp_path: Path) -> None:
    model, X = fitted(entry, model)
    path = tmp_path / "model.json"
    with warns_of_leaks(model):
        model.release(path)
    again = dpnb.read(path)
    assert seen(again, X).tobytes() == seen(model, X).tobytes()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert str(again.ledger_) == str(model.ledger_)
    assert again.ledger_.epsilon == model.ledger_.epsilon
    assert again.ledger_.leaks == model.ledger_.leaks
    assert again.domain_ == model.domain_
    assert again.get_params() == model.get_params() | {"random_state": None}
    assert pickle.loads(pickle.dumps(again)).predict(X).tolist() == model.predict(X).tolist()
    with warns_of_leaks(again):
        again.release(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert secrets_in(path.read_text(encoding="utf-8")) == []


def kept(model: Any) -> set[str]:
    """What a fitted model has beside its parameters, what is public, its ledger, and what it released."""
    public = {"domain_", "classes_", "n_features_in_", "feature_names_in_", "ledger_"}
    public |= {"schedule_"}  # DPAda draws it before it reads the records
    public |= {"_read_off", "_used"}  # whether a domain was given, and the parameters of the fit
    return set(vars(model)) - set(model.get_params()) - public - set(type(model)._released)


@pytest.mark.parametrize(("entry", "model"), subjects())
def test_a_fitted_model_keeps_nothing_else(entry: Entry, model: Any) -> None:
    model, X = fitted(entry, model)
    assert kept(model) == set()
    model.n_records_, model._fit_X = len(X), X  # broken twins, as an adversary found them in other models
    assert kept(model) == {"n_records_", "_fit_X"}


def secrets_in(text: str) -> list[str]:
    """What a document must not hold: the seed, the generator's name or state, records, their keys or their number."""
    words = (str(SECRET), "random_state", "PCG64", "Generator", "person ", "0123456789")
    return [word for word in words if word in text]


def test_secrets_would_be_found() -> None:
    """Broken twins: a document with the seed, with a generator, with records."""
    X, _ = sample(DOMAIN)
    twins = (
        f'{{"random_state": {SECRET}}}',
        str(np.random.default_rng(SECRET)),
        X.to_json(double_precision=15, date_format="iso"),
    )
    assert all(secrets_in(twin) for twin in twins)


@pytest.mark.parametrize("seed", [SECRET, np.random.default_rng(SECRET)])
def test_neither_seed_nor_generator_leave_in_a_pickle_or_in_text(seed: Any) -> None:
    entry = ENTRIES["EDPRF"]
    model, _ = fitted(entry, entry.model("default"))
    model.set_params(random_state=seed)
    assert "random_state" not in repr(model)
    assert str(SECRET) not in model._repr_html_()
    state = pickle.dumps(model)
    assert b"PCG64" not in state
    assert SECRET.to_bytes(5, "little") not in state
    twin = pickle.dumps(vars(model))  # broken twin: what a pickle was
    assert SECRET.to_bytes(5, "little") in twin or b"PCG64" in twin


def test_the_default_noise_does_not_repeat() -> None:
    entry = ENTRIES["PearsonTree"]
    first, second = (
        fitted(entry, entry.model("C", epsilon=0.1))[0].set_params(random_state=None) for _ in range(2)
    )
    X, y = sample(DOMAIN)
    leaves = [model.fit(X, y).trees_[0].value for model in (first, second)]
    assert leaves[0].shape != leaves[1].shape or not np.array_equal(leaves[0], leaves[1], equal_nan=True)


def test_values_come_back_as_they_were() -> None:
    for value in (
        None,
        True,
        1,
        0.1,
        math.pi,
        math.inf,
        -math.inf,
        "nan and all",
        [1, [2.5]],
        np.arange(3),
        np.eye(2),
    ):
        back = unplain(json.loads(json.dumps(plain(value), allow_nan=False)), DOMAIN)
        np.testing.assert_array_equal(np.asarray(back, object), np.asarray(value, object))
    assert math.isnan(unplain(plain(math.nan), DOMAIN))
    assert unplain(plain(DOMAIN), DOMAIN) is DOMAIN
    array = unplain(plain(np.array([np.nan, np.inf, 5e-324])), DOMAIN)
    np.testing.assert_array_equal(array, [np.nan, np.inf, 5e-324])
    with pytest.raises(TypeError, match="cannot be written: expected plain values, arrays, and Additive"):
        plain(np.random.default_rng(0))


ODD: tuple[Any, ...] = (
    None, -1, 0, 1, 2, 7, 1e308, -1e308, 10**12, "nan", "inf", "x", "", [], {}, [1], True, 0.5, {"the": "domain"},
)  # fmt: skip


def places(found: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document."""
    for key, value in (
        found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    ):
        yield (*at, key)
        yield from places(value, (*at, key))


@pytest.mark.parametrize("name", ["PrivateBooster", "EDPRF", "DiffPRFs", "RandomSplitForest"])
def test_whatever_stands_in_a_document_is_refused_or_predicts(name: str, tmp_path: Path) -> None:
    """One value changed or gone, anywhere: no hang, no other error, no probability that is none."""
    entry, path, rng = ENTRIES[name], tmp_path / "model.json", np.random.default_rng(0)
    model, _ = fitted(entry, entry.model(next(iter(entry.private))))
    model.release(path)
    whole = path.read_text(encoding="utf-8")
    everywhere = [at for at in places(json.loads(whole)) if at[0] != "versions"]
    refused = 0
    for _ in range(150):
        document = json.loads(whole)
        *way, last = everywhere[rng.integers(len(everywhere))]
        part = document
        for key in way:
            part = part[key]
        if rng.random() < 0.15:
            del part[last]
        else:
            part[last] = ODD[rng.integers(len(ODD))]
        path.write_text(json.dumps(document), encoding="utf-8")
        try:
            again = dpnb.read(path)
        except DataError:
            refused += 1
            continue
        ends = np.where(again.domain_.continuous, again.domain_.highs, again.domain_.cardinalities - 1)[None]
        assert np.isfinite(again._probabilities(ends)).all(), (*way, last)
        assert str(again.ledger_)
    assert 50 < refused < 150


def test_a_document_that_is_not_looked_at_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken twin: trees that are taken as they come predict what is no number."""
    entry, path = ENTRIES["DiffPRFs"], tmp_path / "model.json"
    fitted(entry, entry.model("default"))[0].release(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    values = document["model"]["trees_"][0]["value"]["data"]
    values[-1] = values[-2] = "inf"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DataError, match="leaf without finite values"):
        dpnb.read(path)
    monkeypatch.setattr(Tree, "check", lambda *_: None)
    again = dpnb.read(path)
    leaves = again.trees_[0].value
    assert not np.isfinite(leaves[-1]).all()


def test_cut_short_anywhere_a_document_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    booster().release(path)
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, max(len(whole) // 60, 1)):
        path.write_bytes(whole[:end])
        with pytest.raises(DataError):
            dpnb.read(path)


OLD = Path(__file__).with_name("documents_version_1.jsonl")


def test_a_ledger_that_is_not_compared_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: without the comparison a model states ε = 0."""
    path = tmp_path / "model.json"
    booster().release(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["ledger"].update(entries=[], epsilon=0.0)
    path.write_text(json.dumps(document), encoding="utf-8")
    monkeypatch.setattr("dpnb.estimators.base._check_alike", lambda *_: None)
    assert dpnb.read(path).ledger_.epsilon == 0


LINES = OLD.read_text(encoding="utf-8").splitlines()
TUNED = [line for line in LINES if "selection" in json.loads(line)["document"]["ledger"]]


def first_edition(value: Any) -> Any:
    """A value of JSON without the fields that objects have got since version 1."""
    if isinstance(value, dict):
        of = {"Shapes": ("counted", "records", "noise"), "Reading": ("update",)}
        added = of.get(value.get("object", ""), ("followed",))
        return {name: first_edition(part) for name, part in value.items() if name not in added}
    return [first_edition(part) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("line", TUNED, ids=lambda x: json.loads(x)["name"])
def test_documents_of_tuned_models_say_what_they_are(line: str, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(json.dumps(json.loads(line)["document"]), encoding="utf-8")
    with pytest.raises(
        dpnb.DataError, match="private tuning, whose totals only the dpnb that wrote it reads"
    ):
        dpnb.read(tmp_path / "old.json")


@pytest.mark.parametrize(
    "line",
    [line for line in LINES if line not in TUNED],
    ids=lambda x: json.loads(x)["name"],
)
def test_documents_of_version_1_stay_readable_to_the_bit(line: str, tmp_path: Path) -> None:
    old = json.loads(line)
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old["document"]), encoding="utf-8")
    model = dpnb.read(path)
    assert str(model.ledger_) == old["ledger"]
    reading = getattr(
        model, "reading", None
    )  # that step 7 starts from noisy weights was not said then, but done
    assert getattr(reading, "update", "noised") == "noised"
    np.testing.assert_allclose(
        model._probabilities(np.array(old["codes"])), old["probabilities"], rtol=1e-13, atol=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpnb.PrivacyLeakWarning)
        model.release(tmp_path / "new.json")
    text = (tmp_path / "new.json").read_text(encoding="utf-8")
    assert "dpnb." not in text  # no module is named
    new = json.loads(text)
    assert new["model"].pop("vote", "none") == getattr(model, "vote", "none")
    named = re.sub(r'"dpnb\.[\w.]+:(\w+)"', r'"\1"', json.dumps(old["document"]))
    assert first_edition(new) == json.loads(named) | {"version": 2, "versions": new["versions"]}


def test_every_part_of_documents_is_among_those_of_version_1() -> None:
    """So that a change of any of them shows here; their names were modules and classes."""
    text = "".join(line for line in LINES if line not in TUNED)
    assert {name for _, name in re.findall(r'"object": "([\w.]+):(\w+)"', text)} == set(PARTS) - {"Cost"}
    assert {name for _, name in re.findall(r'"estimator": "([\w.]+):(\w+)"', text)} == set(ESTIMATORS) - {
        "PrivateBoosterRegressor"
    }


@dataclass(kw_only=True, eq=False, repr=False)
class Own(dpnb.PrivateBooster):
    """An estimator of the user's."""


@dataclass(kw_only=True, eq=False, repr=False)
class Forgetful(dpnb.PrivateBooster):
    """One that learns what it likes, past the curator."""

    def _fit(self, records: Any, curator: Any) -> None:
        self.models_ = ["all of it"]


def test_what_could_not_be_read_again_is_not_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, model, other = tmp_path / "model.json", booster(), booster()
    other.ledger_.claimed = 0.1
    with pytest.raises(
        ValueError, match="would not be read again: the document is damaged: its ledger is for"
    ):
        other.release(path)
    monkeypatch.setattr("dpnb.estimators.documents.MOST", Limits(bytes=1000))
    with pytest.raises(
        ValueError, match="would not be read again: the document is no model: it has more than"
    ):
        model.release(path)
    assert not path.exists()


def test_a_class_of_ones_own_is_registered_or_pickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpnb.estimators.documents.ESTIMATORS", known := dict(ESTIMATORS))
    monkeypatch.setattr("dpnb.estimators.base.ESTIMATORS", known)
    small = ENTRIES["PrivateBooster"].small
    X, y = sample(DOMAIN)
    model = Own(domain=DOMAIN, random_state=0, **small).fit(X, y)
    with pytest.raises(
        TypeError, match=r"Own of .*test_documents has no name .*dpnb.estimators.base.register.*pickle"
    ):
        model.release(tmp_path / "model.json")
    assert list(tmp_path.iterdir()) == []
    register(Own)
    model.release(tmp_path / "model.json")
    assert type(again := dpnb.read(tmp_path / "model.json")) is Own
    assert again.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    twin = type("PrivateBooster", (Own,), {})  # the name of another
    with pytest.raises(TypeError, match=r"PrivateBooster of .*test_documents has no name"):
        twin(domain=DOMAIN, random_state=0, **small).fit(X, y).release(tmp_path / "twin.json")
    known.pop("Own")
    with pytest.raises(
        DataError, match=r"'Own' is no class .* import what registers an estimator of your own"
    ):
        dpnb.read(tmp_path / "model.json")


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
def test_an_estimator_that_releases_nothing_is_no_model(epsilon: float) -> None:
    """Its ledger would state ε = 0; what the records hold has no part in it."""
    X, y = sample(DOMAIN)
    for n in (0, 120):
        model = Forgetful(domain=DOMAIN, epsilon=epsilon)
        with pytest.raises(RuntimeError, match=r"Forgetful learnt without its curator.*curator\.exact"):
            model.fit(X.head(n), y.head(n))
        assert not hasattr(model, "ledger_")


def test_names_lead_to_registered_classes_only() -> None:
    """One table says what documents may hold, by name; the name of version 1 had the module before it."""
    assert find_class("Tree", PARTS) is find_class("dpnb.trees.tree:Tree", PARTS) is Tree
    for name, entry in ENTRIES.items():
        assert find_class(name, ESTIMATORS) is entry.estimator
        assert ESTIMATORS[name].startswith(
            "private_trees.lineage" if "lineage" in entry.estimator.__module__ else "."
        )
    for name in (
        "builtins:eval",
        "dpnb",
        "os:Tree",
        "dpnbx:Tree",
        "dpnb.boosting.booster:np.array",
        ":",
        "",
        3,
        None,
    ):
        with pytest.raises(DataError, match="is no class that documents hold"):
            find_class(name, PARTS)


def test_the_page_says_what_a_document_holds(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (root / "book" / "releasing.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = "".join(re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE))
    exec(code.replace("PrivateBooster(", "PrivateBooster(n_rounds=2, "), {})
    document = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    table = page.partition("## What the document holds")[2].partition("In `model`")[0]
    named = [
        name
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row)
    ]
    assert named == list(document)
    for kind, number in (
        ("threshold", 0),
        ("one category", 1),
        ("a branch a category", 2),
        ("a branch a bin", 3),
    ):
        assert f"{number} {kind}" in page


@pytest.mark.skipif(NODE is None, reason="Node is not installed: the reader in JavaScript is not run")
def test_the_reader_in_javascript_predicts_the_same(tmp_path: Path) -> None:
    """Every estimator that it reads; tests/test_read_model_js.py has the odd values."""
    asked, expected = [], []
    everything = [(*subject.values, classes) for subject in subjects() for classes in (2, 3)]
    for place, (entry, model, classes) in enumerate(everything):
        if "model_" in model._released:  # stumps, which the page leaves out
            continue
        model, X = fitted(entry, model, classes=classes)
        if entry.estimator is dpnb.PrivateBooster:  # such a small one has no groups
            axes = interval_axis(0, np.array([2.0, 7.0])), category_axis(1, 6), category_axis(3, 2)
            groups, added = (Block(axes[:2]), Block(axes)), np.linspace(-1, 1, 18 + 36)
            model.models_ = [
                replace(one, blocks=(*one.blocks, *groups), table=np.append(one.table, added * sign))
                for one, sign in zip(model.models_, (1, -1, 2), strict=False)
            ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dpnb.PrivacyLeakWarning)
            model.release(path := tmp_path / f"{place}.json")
        if entry.estimator.discrete_only is False:
            X["d"] = X["d"].dt.strftime("%Y-%m-%d")
        records = json.loads(X.to_json(orient="records", double_precision=15))
        asked.append({"document": json.loads(path.read_text(encoding="utf-8")), "records": records})
        expected.append(seen(model, X))
    assert {np.size(found[0]) for found in expected} == {1, 2, 3}
    trees = [tree for one in asked for tree in one["document"]["model"].get("trees_", ())]
    kinds = {kind for tree in trees for kind in tree["splits"]["kind"]["data"]}
    assert kinds == {-1, 0, 1, 2, 3}

    def wrong(code: str) -> int:
        return sum(
            any(isinstance(one, str) for one in mine)  # an error
            or not np.allclose(np.array(mine, float), theirs, rtol=1e-12, atol=1e-15)
            for mine, theirs in zip(in_javascript(asked, code), expected, strict=True)
        )

    assert wrong(CODE) == 0
    for part, twin in (
        ("cut < x[a]", "cut > x[a]"),
        ("v > cuts[0]", "v < cuts[0]"),
        ("cut < v", "cut > v"),
        ("Math.max(n, 0)", "n"),
        ("a.missing ? -Infinity", "a.missing ? Infinity"),
        ('gone && a.missing ? "missing"', 'gone && a.missing ? "other"'),
        ("cell * axis.size + bin(axis)", "cell + bin(axis)"),
        ("start + axes.reduce", "start + axes.slice(0, 2).reduce"),
    ):
        assert part in CODE
        assert wrong(CODE.replace(part, twin)) > 0, part
