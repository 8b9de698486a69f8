"""Audits of claims that protect people, each with all records; false alarms at 1e-6 a test, with fixed seeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from dpaudit import PrivacyViolation, as_estimator, assert_private, own_pair
from dpaudit import pairs as made
from dpaudit.cli import _by_ledger, main
from dpaudit.examine import replayed
from dpaudit.files import NeighbourError
from dpaudit.pairs import DOMAIN, KINDS, MANY, NEIGHBOURS, NUMBERS, kinds_of
from dpaudit.settings import AuditSettings
from dpnb import PrivateBooster
from dpnb.domain.people import people_of
from dpnb.errors import DomainError
from dpnb.papers.baselines_logistic import LogisticRegression
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.dpada import DPAda
from dpnb.papers.edprf import EDPRF
from dpnb.papers.pearson import PearsonTree
from dpnb.replay import Finding
from dpnb.replay.neighbours import split_pair

PEOPLE: dict[str, Any] = {"unit": "person", "kinds": ["people"], "epsilon": 1.0}


def nameless(kind: type) -> type:
    """The same estimator before it took people: its fit is not given whose the records are."""
    return type("Nameless", (kind,), {"fit": lambda self, X, y: kind.fit(self, X, y)})  # type: ignore[attr-defined]


TREE = partial(PearsonTree, epsilon=1.0, max_depth=3)
BOOSTER = partial(PrivateBooster, epsilon=1.0, delta=1e-6)
DAILY: list[Any] = [TREE]
NIGHTLY: list[Any] = [
    partial(EDPRF, epsilon=1.0, n_trees=2, max_depth=3),
    partial(DiffPRFs, epsilon=1.0, n_trees=2, max_depth=3),
    partial(PrivateBooster, epsilon=1.0),
    BOOSTER,
    partial(DPAda, epsilon=1.0, n_rounds=4),
    partial(LogisticRegression, epsilon=1.0, delta=1e-6, n_rounds=5),
]
LEARNERS = [*DAILY, *(pytest.param(make, marks=pytest.mark.nightly) for make in NIGHTLY)]


# --- Pairs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("domain", [DOMAIN, NUMBERS])
def test_every_kind_gives_neighbours_by_a_person(domain: Any, relation: str) -> None:
    for kind in kinds_of("person"):
        if kind == "missing":  # of these domains nothing may be
            continue
        for pair in made(relation, domain=domain, kinds=[kind], unit="person")[:: 1 + 9 * (kind == "rare")]:
            _, _, found = split_pair(pair.first, pair.second)
            assert found == relation, pair.name
            if not pair.malformed:
                domain = pair.domain
                domain.encode(pair.second[0]), domain.encode_labels(pair.second[1])


def test_people_come_first_and_records_are_people_with_one() -> None:
    people, records = made(unit="person"), made()
    assert [pair.name for pair in people[-len(records) :]] == [pair.name for pair in records]
    assert set(people_of(people[-1].second[2]).counts) == {1}
    own = [int((pair.second[2] == -1).sum()) for pair in people[: -len(records)]]
    assert sorted(set(own)) == list(MANY)
    # In one place, all over, of both classes, alone, and with one record among those of others.
    assert len(own) == len(MANY) * (len(made(kinds=["structured"])) + 4)


def test_a_kind_for_people_is_none_for_records() -> None:
    with pytest.raises(ValueError, match="no kind of pairs 'people'"):
        made(kinds=["people"])
    with pytest.raises(ValueError, match="unit"):
        made(unit="household")  # type: ignore[arg-type]
    assert "people" not in KINDS


# --- Verdicts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", LEARNERS)
def test_a_vote_each_passes_and_the_same_fit_without_names_is_refuted(make: Any) -> None:
    delta = make.keywords.get("delta", 0.0)
    found = assert_private(make(domain=DOMAIN), delta=delta, runs=200, **PEOPLE)
    assert found[-1].unit == "person"
    before = partial(nameless(make.func), *make.args, **make.keywords)
    with pytest.raises(PrivacyViolation, match="add-remove of people") as caught:
        assert_private(before(domain=DOMAIN), delta=delta, runs=1000, **PEOPLE)
    assert "a person" in caught.value.finding.pair


@pytest.mark.parametrize("make", LEARNERS)
def test_no_replay_on_pairs_of_people_exceeds_the_ledger(make: Any) -> None:
    tried = made(unit="person", kinds=["structured", "people"])
    (found,) = replayed(partial(make, domain=DOMAIN), tried, AuditSettings(claimed=1.0, unit="person"))
    ledger = make(domain=DOMAIN, random_state=0).fit(*tried[0].first[:2], people=tried[0].first[2]).ledger_
    assert 0 < found.lower_bound <= ledger.pure_epsilon * (1 + 1e-6)
    assert found.unit == "person"
    nobody = partial(nameless(make.func), domain=DOMAIN, **make.keywords)
    assert replayed(nobody, tried, AuditSettings(claimed=1.0, unit="person")) == []


def test_a_ledger_of_records_says_nothing_of_people() -> None:
    pair, settings = made(unit="person")[0], AuditSettings(claimed=1.0, delta=1e-6, unit="person")
    bets: Any = SimpleNamespace(
        finding=settings.finding(Finding, instrument="betting", lower_bound=9.0, event="")
    )
    (found,) = _by_ledger(BOOSTER, pair, bets, settings)
    assert found.violated
    assert "by its ledger" in found.subject
    before = partial(nameless(PrivateBooster), **BOOSTER.keywords)
    assert _by_ledger(before, pair, bets, settings) == []


def count_people(data: Any, rng: np.random.Generator) -> ArrayLike:
    """A private count of people."""
    return [len(people_of(data[2]).counts) + rng.laplace()]


def count_records(data: Any, rng: np.random.Generator) -> ArrayLike:
    """The same noise on a count of their records."""
    return [len(data[1]) + rng.laplace()]


@pytest.mark.parametrize(("mechanism", "keeps"), [(count_people, True), (count_records, False)])
def test_a_mechanism_is_given_the_people(mechanism: Callable[..., Any], keeps: bool) -> None:
    audit = partial(assert_private, as_estimator(mechanism), runs=400, **PEOPLE)
    if keeps:
        audit()
        return
    with pytest.raises(PrivacyViolation):
        audit()


def test_what_tells_a_number_of_people_is_found_by_a_scan() -> None:
    class Telling(PearsonTree):
        def fit(self, X: Any, y: Any, people: Any = None) -> Any:
            super().fit(X, y, people=people)
            self.most_ = int(people_of(people).counts.max(initial=0))
            return self

    with pytest.raises(PrivacyViolation, match=r"most_"):
        assert_private(Telling(epsilon=1.0, max_depth=1, domain=DOMAIN), runs=200, **PEOPLE)


# --- Files and the command line -----------------------------------------------------------------------------------

MODELS = """
from dpnb.papers.pearson import PearsonTree


def tree():
    return PearsonTree(epsilon=1.0, max_depth=2)


class Before(PearsonTree):
    def fit(self, X, y):
        return super().fit(X, y)


def before():
    return Before(epsilon=1.0, max_depth=2)
"""
LAYOUT = """
csv: {person: patient}
target: ill
classes: [no, yes]
attributes:
- {name: age, continuous: [0, 100]}
"""
TABLE = "patient,age,ill\n1,30,no\n2,70,yes\n2,71,yes\n"
HERS = "".join(f"3,{40 + i},yes\n" for i in range(10))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "peopled_models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "d.yml").write_text(LAYOUT, encoding="utf-8")
    (tmp_path / "a.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "b.csv").write_text(TABLE + HERS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


OWN = ["--pair", "a.csv", "b.csv", "--domain", "d.yml", "--epsilon", "1", "--runs", "150", "--unit", "person"]


def test_own_files_differ_in_a_person(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["peopled_models:tree", *OWN, "--report", "a.html"]) == 0
    said = capsys.readouterr().out
    assert "add-remove of people" in said
    assert "takes no people" not in said
    page = (folder / "a.html").read_text(encoding="utf-8")
    assert '<th scope="col">person</th>' in page
    assert "ε = 1, δ = 0, add-remove of people" in page
    assert main(["peopled_models:before", *OWN, "--runs", "400"]) == 1
    said = capsys.readouterr().out
    assert "The fit takes no people: it was not given whose the records are." in said
    assert "unit='person'" in said  # the lines that show it again
    assert main(["peopled_models:tree", *OWN[:-2]]) == 2  # by record they differ in ten
    assert "no neighbours under add-remove" in capsys.readouterr().err


def test_files_that_differ_in_two_people_are_none(folder: Path) -> None:
    both = partial(own_pair, "a.csv", "b.csv", domain_file="d.yml", unit="person")
    assert len(both().second[2]) == len(both().first[2]) + 10
    with pytest.raises(NeighbourError, match="they are neighbours under add-remove"):
        both(neighbours="replace")
    (folder / "b.csv").write_text(TABLE + HERS + "4,20,no\n", encoding="utf-8")
    with pytest.raises(NeighbourError, match="of people: first has 0 people of its own and second has 2"):
        both()
    (folder / "d.yml").write_text(LAYOUT.replace("patient}", "patient, missing: ['?']}"), encoding="utf-8")
    (folder / "b.csv").write_text(TABLE + HERS.replace("3,4", "?,4"), encoding="utf-8")
    with pytest.raises(NeighbourError, match="second has 0"):  # records of nobody are no person's
        both()
    (folder / "d.yml").write_text(LAYOUT.replace("csv: {person: patient}", ""), encoding="utf-8")
    with pytest.raises(DomainError, match="names no column of people"):
        both()


def test_pairs_of_people_on_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--epsilon", "1", "--runs", "60", "--domain", "d.yml"]
    assert main(["peopled_models:tree", *few, "--unit", "person", "--pairs", "people"]) == 0
    assert "a person" in capsys.readouterr().out
    assert main(["peopled_models:tree", *few, "--pairs", "people"]) == 2
    assert "no kind of pairs 'people'" in capsys.readouterr().err
    assert main(["--pairs", "list"]) == 0
    assert "people     A person with 2, 10 or 50 records" in capsys.readouterr().out
