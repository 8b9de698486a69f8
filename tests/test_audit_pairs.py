"""Pairs over any domain, the budgeted search over them, the user's own pairs, and subjects in other shapes.

Convictions of honest subjects are checked at confidence 1 - 1e-6, with fixed seeds.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpnb import Categorical, Continuous, Domain
from dpnb.audit import AuditSettings, adapted, as_estimator, attack, own_pair, released
from dpnb.audit import pairs as made
from dpnb.audit.__main__ import main
from dpnb.audit.examine import bet_on_pairs, promise, scout
from dpnb.audit.pairs import DOMAIN, KINDS, NEIGHBOURS, ON_REQUEST, STRATA, NeighbourError, Pair
from dpnb.audit.replay import split_pair
from dpnb.papers.diffprfs import DiffPRFs

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
DOMAINS = {
    "the auditor's": DOMAIN,
    "mixed": MIXED,
    "one category": MIXED.subset("job"),
    "one number": MIXED.subset("age"),
}


class Counts:
    """Noisy counts of the quarters of ``x`` by class, honest at ε = 1 under add/remove."""

    noise = 1.0

    def fit(self, X: Any, y: Any) -> Counts:
        x, label = X["x"].to_numpy(float), np.asarray(y, int)
        counts = np.zeros((4, 4))
        np.add.at(counts, (np.minimum((4 * np.nan_to_num(x)).astype(int), 3), np.minimum(label, 3)), 1)
        noise = np.random.laplace(size=counts.shape)  # noqa: NPY002 - seeded by the auditor
        self.counts = counts + self.noise * self.share(len(X)) * noise
        self.mark = self.seen(x, label)
        self.classes_ = [0, 1]
        return self

    def share(self, n: int) -> float:
        """Of the noise that is added."""
        return 1.0

    def seen(self, x: np.ndarray, label: np.ndarray) -> float:
        """What leaks."""
        return 0.0

    def predict_proba(self, X: Any) -> np.ndarray:
        x = X["x"].to_numpy(float)
        return np.asarray(self.counts[np.minimum((4 * x).astype(int), 3), :2] + self.mark)

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.predict_proba(X).argmax(axis=1))


class RareValue(Counts):
    """Reacts to a value in a short interval."""

    def seen(self, x: np.ndarray, label: np.ndarray) -> float:
        return 1e6 * ((x > 0.61) & (x < 0.64)).any()


class RareEnd(Counts):
    def seen(self, x: np.ndarray, label: np.ndarray) -> float:
        return 1e6 * (x > 0.97).any()


class Large(Counts):
    """No noise for more than 50 records."""

    def share(self, n: int) -> float:
        return float(n <= 50)


class ThirdClass(Counts):
    """Tells the exact number of records of the third class."""

    def seen(self, x: np.ndarray, label: np.ndarray) -> float:
        return 1e6 * float((label == 2).sum())


class Refusing(Counts):
    """Raises for a record that is not a number."""

    def fit(self, X: Any, y: Any) -> Counts:
        if X["x"].isna().any():
            raise ValueError("x holds NaN")
        return super().fit(X, y)


# --- Pairs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("name", DOMAINS)
def test_every_kind_gives_neighbours_over_every_domain(name: str, relation: str) -> None:
    domain = DOMAINS[name]
    for kind in KINDS:
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


# --- Search -------------------------------------------------------------------------------------------------


def audit(subject: Any, *, runs: int = 600, seed: int = 0, **chosen: Any) -> Any:
    settings = AuditSettings(claimed=1.0, runs=runs, confidence=SURE, seed=seed)
    return bet_on_pairs(subject, made(**chosen), settings)


@pytest.mark.parametrize(
    ("subject", "kinds", "runs", "words"),
    [
        (RareValue, ["ends", "rare"], 900, "a value of its own: x = 0.6"),
        (RareEnd, ["ends", "structured"], 300, "end"),
        (Large, ["ends", "large"], 240, "common records"),
        (ThirdClass, ["ends", "classes"], 300, "classes, a record of class"),
    ],
)
def test_leaks_are_found_where_they_are(subject: Any, kinds: list[str], runs: int, words: str) -> None:
    bets = audit(subject, runs=runs, kinds=kinds, seed=1)
    assert bets.finding.violated
    assert words in bets.pair.name
    assert not audit(
        subject, runs=240, kinds=["duplicates"]
    ).finding.violated  # broken twin: other pairs only


def test_an_honest_subject_passes_all_kinds() -> None:
    assert not audit(Counts, runs=700, seed=1).finding.violated


def test_malformed_records_are_events() -> None:
    bets = audit(Refusing, runs=200, kinds=["malformed"])
    assert bets.finding.violated
    assert "fit raised ValueError: x holds NaN" in bets.finding.event
    assert "is an output too" in bets.finding.why
    assert not audit(Refusing, runs=200, kinds=["duplicates"]).finding.violated  # broken twin: clean records


def test_repaired_forests_bear_malformed_records_and_no_records() -> None:
    bets = audit(lambda: DiffPRFs(epsilon=1, n_trees=1, max_depth=1), runs=60, kinds=["empty"])
    assert not bets.finding.violated


class CountedFits(Counts):
    fits = 0

    def fit(self, X: Any, y: Any) -> Counts:
        CountedFits.fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize("runs", [40, 47, 150])
def test_fits_never_exceed_the_budget(runs: int) -> None:
    CountedFits.fits = 0
    bets = audit(CountedFits, runs=runs)
    assert CountedFits.fits == bets.fits <= 2 * runs
    assert bets.most_runs >= 80
    assert len(bets.tried) == len(made())


def test_runs_go_where_the_margin_is() -> None:
    offered = made(kinds=["structured", "rare"])
    best, tried, spent = scout(RareValue, offered, fits=500, settings=AuditSettings(claimed=1.0, runs=1_000))
    assert spent <= 500
    assert tried[best].runs == max(one.runs for one in tried) > 4 * min(one.runs for one in tried)
    again = scout(RareValue, offered, fits=500, settings=AuditSettings(claimed=1.0, runs=1_000))
    assert again[0] == best


def test_the_bets_take_what_is_left_and_no_outputs_of_the_scouting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The game gets the pair that was chosen, the rest of the budget, and fits of its own."""
    module, seen = sys.modules["dpnb.audit.examine"], []
    play = module.monitor  # type: ignore[attr-defined]

    def counted(*sides: Any, most_runs: int, **how: Any) -> Any:
        before = CountedFits.fits
        finding = play(*sides, most_runs=most_runs, **how)
        seen.append((how["pair"], before, most_runs, CountedFits.fits - before == finding.trials))
        return finding

    monkeypatch.setattr(module, "monitor", counted)
    CountedFits.fits = 0
    bets = audit(CountedFits, runs=300, kinds=["rare"])
    ((pair, before, most_runs, fresh),) = seen
    assert fresh
    assert pair == bets.pair.name
    assert 0 < before <= 150
    assert before + most_runs <= 600
    assert most_runs == bets.most_runs


def test_promise_is_fair_to_unequal_numbers() -> None:
    """A pair whose first data set was fitted more often promises no more by that."""
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=(40, 8, 1)), rng.normal(size=(40, 64, 1))
    other = rng.normal(1, size=(40, 8, 1))
    gap = np.mean([promise(b, c) - promise(a, c) for a, b, c in zip(few, many, other, strict=True)])
    assert abs(gap) < 0.5
    assert promise(np.zeros((8, 1)), np.ones((8, 1))) > promise(few[0], other[0])
    assert promise(np.zeros((8, 1)), np.zeros((8, 1))) == -math.inf


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


def exact_count(data: Any, rng: np.random.Generator) -> list[float]:
    return [len(data[0]) + 0.4 * rng.laplace()]


def noisy_count(data: Any, rng: np.random.Generator) -> list[float]:
    return [len(data[0]) + rng.laplace()]


@pytest.mark.parametrize(("mechanism", "broken"), [(noisy_count, False), (exact_count, True)])
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
