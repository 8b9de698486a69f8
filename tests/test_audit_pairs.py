"""Pairs over any domain, the user's own pairs, and subjects in other shapes.

Convictions of honest subjects are checked at confidence 1 - 1e-6, with fixed seeds.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpaudit import adapted, as_estimator, own_pair, released
from dpaudit import pairs as made
from dpaudit.cli import main
from dpaudit.files import NeighbourError
from dpaudit.pairs import (
    COPIES,
    DOMAIN,
    KINDS,
    LONE,
    NEIGHBOURS,
    ON_BOUND,
    ON_REQUEST,
    ONE_CLASS,
    STRATA,
    Pair,
)
from dpnb import Categorical, Continuous, Domain
from dpnb.replay.neighbours import own_rows, row_keys, split_pair
from private_trees.auditing.fixed import attack
from test_audit_hunt import Counts, audit

SURE = 1 - 1e-6
MIXED = Domain(
    (
        Categorical("job", ("a", "b", "c")),
        Continuous("age", 0, 100),
        Continuous("day", "2001-01-01", "2002-01-01"),  # type: ignore[arg-type]
        Categorical("zip", tuple(range(30))),
    ),
    ("no", "so", "yes"),
    "answer",
)
MAY_LACK = Domain(
    (
        Continuous("age", 0, 100, missing=True),
        Categorical("job", ("a", "b"), missing=True, unknown="other"),
        Categorical("zip", (3, 4), unknown="other"),
        Continuous("day", "2001-01-01", "2002-01-01", missing=True),  # type: ignore[arg-type]
    ),
    ("no", "yes"),
)
DOMAINS = {
    "the auditor's": DOMAIN,
    "with what may be missing": MAY_LACK,
    "mixed": MIXED,
    "one category": MIXED.subset("job"),
    "one number": MIXED.subset("age"),
}


# --- Pairs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("name", DOMAINS)
def test_every_kind_gives_neighbours_over_every_domain(name: str, relation: str) -> None:
    domain = DOMAINS[name]
    for kind in KINDS:
        if kind == "missing" and domain != MAY_LACK:
            with pytest.raises(ValueError, match="the domain allows no missing or unlisted value"):
                made(relation, domain=domain, kinds=[kind])
            continue
        found = made(relation, domain=domain, kinds=[kind])
        assert found, kind
        for pair in found[:: 1 + 9 * (kind == "rare")]:
            assert split_pair(pair.first, pair.second)[2] == relation
            if not pair.malformed:
                assert pair.domain.encode(pair.second[0]).shape == (len(pair.second[1]), domain.n_attributes)
                pair.domain.encode_labels(pair.second[1])
                if kind != "empty":
                    pair.domain.check(*pair.first)


def test_seeds_decide_the_pairs() -> None:
    names = [[pair.name for pair in made(domain=MIXED, seed=seed, kinds=["rare"])] for seed in (0, 0, 1)]
    assert names[0] == names[1] != names[2]


def own_values(pairs: list[Pair], column: str) -> np.ndarray:
    """The values that only the second sides have."""
    lone = [np.setdiff1d(pair.second[0][column], pair.first[0][column]) for pair in pairs]
    return np.sort(np.concatenate(lone).astype(float))


def test_rare_values_cover_every_attribute() -> None:
    """Every interval of a fortieth of the width is met, and every category but the ends'; shapes alone fail."""
    rare, shapes = made(domain=MIXED, kinds=["rare"]), made(domain=MIXED, kinds=["structured"])
    assert np.diff(own_values(rare, "age")) == pytest.approx(100 / STRATA)
    assert own_values(rare, "age")[[0, -1]] == pytest.approx([50 / STRATA, 100 - 50 / STRATA])
    assert np.diff(own_values(shapes, "age")).max() > 100 / STRATA  # broken twin
    assert set(own_values(rare, "zip")) == set(range(1, 29))


def own_record(pair: Pair) -> tuple[Any, ...]:
    """The values and the class of the record that the second data set has of its own."""
    (row,) = own_rows(pair.first, pair.second)[1]
    return tuple(row_keys(pair.second, labels=False)[row])  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_pairs_are_few_and_equal_first_data_sets_are_shared(relation: str) -> None:
    for domain in DOMAINS.values():
        found = made(relation, domain=domain)
        assert 40 < len(found) < 100 + 20 * (domain == MAY_LACK)
        if domain.n_attributes > 1:
            assert len({pair.name for pair in found}) == len(found)
        keys = {(pair.domain, *row_keys(pair.first, labels=True)) for pair in found}
        assert len({id(pair.first) for pair in found}) == len(keys) <= 44 + 10 * (domain == MAY_LACK)
    alone = KINDS["meeting"](relation, MIXED, np.random.default_rng(0))  # broken twin: as the kinds make them
    assert len({id(pair.first) for pair in alone}) == len(alone)


def crossed(pair: Pair) -> set[tuple[str, int]]:
    """Powers of two that the size goes up to or beyond."""
    sizes = len(pair.first[1]), len(pair.second[1])
    return {
        (way, 2**k)
        for k in range(1, 16)
        for way, size in zip(("beyond", "up to"), sizes, strict=True)
        if size == 2**k
    }


def test_sizes_cross_powers_of_two() -> None:
    ways = set().union(*map(crossed, made(kinds=["duplicates", "large"])))
    assert {("up to", 2**k) for k in (*range(1, 9), 15)} | {("beyond", 2**k) for k in (2, 4, 5, 8)} <= ways
    assert not set().union(*map(crossed, made(kinds=["bounds", "lone"])))  # broken twin


def absent(part: Any, name: str) -> tuple[int, int]:
    """Numbers of records without a value of an attribute, and with one that is not listed."""
    column, attribute = part[0][name], next(a for a in MAY_LACK.attributes if a.name == name)
    known = attribute.values if isinstance(attribute, Categorical) else column.dropna().tolist()
    return int(column.isna().sum()), int((column.notna() & ~column.isin(known)).sum())


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_what_may_be_missing_is_missing_once_often_and_beside_extreme_records(relation: str) -> None:
    found = made(relation, domain=MAY_LACK, kinds=["missing"])
    assert len(found) == 4 * 5
    for name in ("age", "job", "day"):
        mine = [pair for pair in found if pair.name.startswith(f"{name} is missing")]
        counts = [[absent(part, name)[0] for part in (pair.first, pair.second)] for pair in mine]
        assert counts == [[0, 1], [4, 5], [4, 4], [4, 4]]
    for name in ("job", "zip"):
        mine = [pair for pair in found if pair.name.startswith(f"{name} is other")]
        counts = [[absent(part, name)[1] for part in (pair.first, pair.second)] for pair in mine]
        assert counts == [[0, 1], [4, 5], [4, 4], [4, 4]]
    ages = [{pair.second[0]["age"].iloc[0] for pair in found if pair.name.endswith(f"the {end} end")} for end in
            ("lower", "upper")]  # fmt: skip
    assert ages == [{0.0}, {100.0}]
    # Broken twin: the other kinds have all values.
    for pair in made(relation, domain=MAY_LACK, kinds=["structured", "ends", "large"]):
        assert [absent(part, a) for part in (pair.first, pair.second) for a in pair.first[0]] == [(0, 0)] * 8


def classes_of(pair: Pair) -> tuple[set[Any], set[Any]]:
    return set(pair.first[1]), set(pair.second[1])


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_single_classes_get_one_more_or_one_of_another(relation: str) -> None:
    found = [classes_of(pair) for pair in made(relation, domain=MIXED, kinds=["duplicates"])]
    # Under replace the copy takes the place of a record of another class.
    more = ({"so"}, {"so"}) if relation == "add-remove" else ({"so", "yes"}, {"so"})
    assert found.count(more) == len(COPIES)
    assert found.count(({"so"}, {"no", "so"})) == len(ONE_CLASS)
    large = made(relation, domain=MIXED, kinds=["large"])  # broken twin
    assert all(len(first) == 3 for first, _ in map(classes_of, large))


def on_bounds(part: Any) -> tuple[int, int]:
    return int((part[0]["age"] == 0).sum()), int((part[0]["age"] == 100).sum())


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_bounds_have_several_records_and_get_one_more(relation: str) -> None:
    seen = [
        [on_bounds(part) for part in (pair.first, pair.second)]
        for pair in made(relation, domain=MIXED, kinds=["bounds"])
    ]
    assert seen == [[(n, n), more] for n in ON_BOUND for more in ((n + 1, n), (n, n + 1))]
    others = made(relation, domain=MIXED, kinds=["structured", "rare"])  # broken twin
    assert max(sum(on_bounds(pair.first)) for pair in others) < sum(seen[-1][0])


def meets_for_once(pair: Pair) -> bool:
    """Whether other records have each value of the record's own, at an end of the domain, but none has two of them."""
    age, job, label = (own_record(pair)[i] for i in (1, 0, 4))
    X, y = pair.first
    there = X["age"] == age, X["job"] == job
    return bool(
        age in (0, 100)
        and all(v.any() for v in there)
        and not (there[0] & there[1]).any()
        and (y == label).any()
    )


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_values_that_are_common_apart_meet_for_once(relation: str) -> None:
    meeting = made(relation, domain=MIXED, kinds=["meeting"])
    assert all(map(meets_for_once, meeting))
    met = {tuple(own_record(pair)[i] for i in (1, 0, 4)) for pair in meeting}
    assert met == {(age, job, label) for age in (0, 100) for job in ("a", "c") for label in ("no", "yes")}
    assert not any(map(meets_for_once, made(relation, domain=MIXED, kinds=["ends", "rare"])))  # broken twin


def is_lone(pair: Pair) -> bool:
    """Whether the record has a half of every attribute to itself, and a class."""
    job, age, day, code, label = own_record(pair)
    X, y = pair.first
    apart = X["age"].max() <= 50 < age, X["day"].max() < day, X["zip"].max() < code, job not in set(X["job"])
    return all(apart) and label not in set(y)


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_a_lone_record_has_half_of_a_large_domain_to_itself(relation: str) -> None:
    lone = made(relation, domain=MIXED, kinds=["lone"])
    assert all(map(is_lone, lone))
    assert [len(pair.second[1]) for pair in lone] == [n + 1 for n in LONE]
    assert not any(map(is_lone, made(relation, domain=MIXED, kinds=["large", "bounds"])))  # broken twin


def test_empty_data_keep_their_types() -> None:
    (pair,) = made(domain=MIXED, kinds=["empty"])
    assert len(pair.first[0]) == 0
    assert (pair.first[0].dtypes == pair.second[0].dtypes).all()


def test_kinds_on_request_are_not_in_the_default() -> None:
    default = {pair.name for pair in made()}
    assert not default & {pair.name for pair in made(kinds=ON_REQUEST)}


def test_an_unknown_kind_is_told() -> None:
    with pytest.raises(ValueError, match="did you mean 'large'"):
        made(kinds=["larg"])
    with pytest.raises(ValueError, match="neighbours='swap'"):
        made("swap")


# --- The user's own pairs -------------------------------------------------------------------------------------

TABLE = "age,job,answer\n30,a,no\n30,a,no\n70,b,yes\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    MIXED.subset(["age", "job"]).to_yaml(tmp_path / "d.yml")
    (tmp_path / "a.csv").write_text(TABLE)
    return tmp_path


def both(folder: Path, content: str, **more: Any) -> Pair:
    (folder / "b.csv").write_text(content)
    return own_pair(folder / "a.csv", folder / "b.csv", domain_file=folder / "d.yml", **more)


def test_own_pairs_share_the_labels_of_common_records(folder: Path) -> None:
    one_more = both(folder, "age,job,answer\n70,b,yes\n31,c,so\n30,a,no\n30,a,no\n")
    assert split_pair(one_more.first, one_more.second)[1:] == ((False, True), "add-remove")
    fewer = both(folder, "age,job,answer\n30,a,no\n70,b,yes\n")
    assert split_pair(fewer.first, fewer.second)[1:] == ((True, False), "add-remove")
    other = both(folder, "age,job,answer\n30,a,no\n30,a,yes\n70,b,yes\n", neighbours="replace")
    assert split_pair(other.first, other.second)[2] == "replace"


@pytest.mark.parametrize(
    ("rows", "relation", "words"),
    [
        ("30,a,no\n70,b,yes\n30,a,no\n", "add-remove", "they hold the same rows"),
        (
            "30,a,no\n",
            "add-remove",
            r"only in a.csv: row 2 \(age=30.0, job=a, answer=no\), row 3 .*b.csv: none",
        ),
        ("30,a,no\n30,a,no\n71,b,yes\n", "add-remove", "they are neighbours under replace"),
        ("30,a,no\n30,a,no\n", "replace", "they are neighbours under add-remove"),
        ("1,a,no\n2,a,no\n3,a,no\n4,a,no\n5,a,no\n", "add-remove", r"row 3 .* and 2 more"),
    ],
)
def test_files_that_are_no_neighbours_are_told(folder: Path, rows: str, relation: str, words: str) -> None:
    with pytest.raises(NeighbourError, match=words):
        both(folder, "age,job,answer\n" + rows, neighbours=relation)


OWN_MODELS = """
from dpnb.papers.diffprfs import DiffPRFs


class Size:
    def fit(self, X, y):
        self.size = len(X)
        return self

    def predict(self, X):
        return [("no", "yes")[self.size % 2]] * len(X)


class Constant:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return ["no"] * len(X)


def good():
    return DiffPRFs(epsilon=1, n_trees=1, max_depth=1)
"""


def test_own_pair_on_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    (folder / "own_models.py").write_text(OWN_MODELS, encoding="utf-8")
    (folder / "b.csv").write_text("age,job,reply\n30,a,no\n70,b,yes\n")
    (folder / "a.csv").write_text(TABLE.replace("answer", "reply"))
    own = [
        "--pair",
        "a.csv",
        "b.csv",
        "--domain",
        "d.yml",
        "--target",
        "reply",
        "--epsilon",
        "1",
        "--runs",
        "60",
    ]
    assert main(["own_models:Size", *own]) == 1
    assert "pair         a.csv and b.csv" in capsys.readouterr().out
    assert main(["own_models:Constant", *own]) == 0
    assert main(["own_models:good", *own]) == 0
    capsys.readouterr()
    assert main(["own_models:good", *own, "--neighbours", "replace"]) == 2
    assert "they are neighbours under add-remove" in capsys.readouterr().err


# --- Adapters -----------------------------------------------------------------------------------------------


class Foreign:
    """Wants arrays of codes, in two positions, and returns a model of another class."""

    def __init__(self, *, key: int | None = None) -> None:
        self.rng = np.random.default_rng(key)

    def learn(self, table: np.ndarray, codes: np.ndarray, /) -> ForeignModel:
        assert type(table) is type(codes) is np.ndarray
        assert set(codes.tolist()) <= {0, 1, 2}
        return ForeignModel(int((codes == 2).sum()), self.rng.normal())


class ForeignModel:
    def __init__(self, third: int, noise: float) -> None:
        self.third, self.noise = third, noise

    def answer(self, table: np.ndarray, /) -> np.ndarray:
        return np.full(len(table), 2 * (self.third % 2))


def test_foreign_estimators_are_adapted() -> None:
    how: dict[str, Any] = {"encoded": True, "fit": "learn", "predict": "answer", "seed": "key"}
    factory = adapted(Foreign, **how)
    pair = made(domain=MIXED, kinds=["classes"])[-1]
    model = factory().set_params(random_state=3, domain=MIXED).fit(*pair.second)
    assert model.predict(pair.second[0])[0] in ("no", "yes")
    assert (
        model.model_.noise
        == factory().set_params(random_state=3, domain=MIXED).fit(*pair.second).model_.noise
    )
    bets = audit(factory, runs=200, domain=MIXED, kinds=["classes"])
    assert bets.finding.violated
    assert not audit(adapted(Counts), runs=200, kinds=["duplicates"]).finding.violated
    with pytest.raises(ValueError, match="encoded=True needs the public domain"):
        factory().fit(*pair.second)
    with pytest.raises(ValueError, match="no parameter 'depth'"):
        factory().set_params(depth=1)


def noisy_count(data: Any, rng: np.random.Generator, *, rate: float = 1.0) -> list[float]:
    """A number of records with two-sided geometric noise, which costs ``rate``."""
    up, down = rng.geometric(-math.expm1(-rate), 2)
    return [len(data[0]) + up - down]


def bare_count(data: Any, rng: np.random.Generator) -> list[float]:
    return noisy_count(data, rng, rate=2.5)


@pytest.mark.parametrize(("mechanism", "broken"), [(noisy_count, False), (bare_count, True)])
def test_mechanisms_are_subjects(mechanism: Any, broken: bool) -> None:
    pair = made(kinds=["duplicates"])[0]
    settings: dict[str, Any] = {"claimed": 1, "runs": 800, "confidence": SURE, "progress": False}
    factory = as_estimator(mechanism)
    found = attack(factory, pair.first, pair.second, observe=released, **settings)
    assert found.violated == broken
    plain = attack(factory, ([[1], [2]],), ([[1, 2], [2]],), observe=released, **settings)  # type: ignore[arg-type]
    assert plain.violated == broken
    assert audit(factory, runs=1_000, kinds=["duplicates"]).finding.violated == broken


def test_frames_reach_an_adapted_estimator_as_they_are() -> None:
    class Reads:
        def fit(self, X: Any, y: Any) -> None:
            assert isinstance(X, pd.DataFrame)

        def predict(self, X: Any) -> Any:
            return [0] * len(X)

    assert not audit(adapted(Reads), runs=40, kinds=["duplicates"]).finding.violated
