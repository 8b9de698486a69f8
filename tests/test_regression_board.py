"""The board for numbers: its data sets, scores, the private ridge, what its tests say, and the stored tables."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from dpnb import Categorical, Continuous, Domain
from dpnb.data.datasets import Dataset
from dpnb.errors import DataError, DomainError
from private_trees.board import regression, ridge
from private_trees.board.regression import LEARNERS, OURS, PLAIN, PURE, RIDGE, RIVALS
from private_trees.studies import runs
from private_trees.studies.runs import Cell, missing, read
from private_trees.studies.scores import number_scores
from private_trees.studies.sets import DOMAINS, NUMBERS, TESTED_NUMBERS, split_of
from test_board_peers import script

__all__ = ["script"]  # a fixture

PRICE = Continuous("price", 0, 10)
DOMAIN = Domain((Continuous("x", -1, 1), Categorical("c", ("a", "b", "c"))), response=PRICE)


# Data sets


@pytest.mark.realdata
@pytest.mark.parametrize("name", NUMBERS)
def test_every_record_lies_in_the_domain_that_was_written_for_it(name: str) -> None:
    data = split_of(name, 0)
    for X, y in (data.train, data.test):
        data.domain.encode(X)
        data.domain.encode_labels(y)
    assert data.domain.response is not None
    narrow = replace(data.domain.response, high=data.domain.response.high / 3)
    with pytest.raises(DomainError, match="outside"):  # broken twin
        replace(data.domain, response=narrow).encode_labels(data.train[1])


@pytest.mark.realdata
@pytest.mark.parametrize("name", NUMBERS)
def test_a_seed_is_a_split_of_all_records_with_a_number(name: str) -> None:
    first, again, second = (split_of(name, seed) for seed in (0, 0, 1))
    keys = [set(part[0].index) for part in (first.train, first.test)]
    assert not keys[0] & keys[1]
    assert keys[0] | keys[1] == set(second.train[0].index) | set(second.test[0].index)
    assert keys[1] == set(again.test[0].index) != set(second.test[0].index)
    assert len(keys[1]) / (len(keys[0]) + len(keys[1])) == pytest.approx(TESTED_NUMBERS, abs=1e-3)
    assert first.train[1].notna().all()


def test_every_set_has_a_domain_file_and_another_table_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {path.stem for path in DOMAINS.glob("*.yml")} == set(NUMBERS)
    split_of.cache_clear()
    monkeypatch.setenv("DPNB_DATA", str(tmp_path))
    with pytest.raises(
        DataError, match=r"cannot read .*; set DPNB_DATA to a folder that holds regression/taxis"
    ):
        split_of("taxis", 0)
    (tmp_path / "regression").mkdir()
    (tmp_path / "regression" / "taxis.csv.gz").write_bytes(gzip.compress(b"total\n1\n"))
    with pytest.raises(DataError, match=r"is not the expected file: sha256 \w+ instead of 8a12613cf15cbd5a"):
        split_of("taxis", 0)


# Scores


def test_predictions_are_scored_within_the_range() -> None:
    truth = np.array([0.0, 5.0, 10.0])
    found = number_scores(np.array([-90.0, 6.0, 99.0]), truth, PRICE)
    assert found == pytest.approx({"r2": 1 - 1 / 50, "mae": 1 / 3, "level": 16 / 15})
    wide = number_scores(np.array([-90.0, 6.0, 99.0]), truth, replace(PRICE, low=-100, high=100))
    assert wide["r2"] < -100  # broken twin: as they are


# The private ridge


def drawn(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Codes, and numbers that are linear in them."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.uniform(-1, 1, n), rng.integers(3, size=n).astype(float)])
    return codes, 5 + 2 * codes[:, 0] + codes[:, 1]


def moved(units: int) -> float:
    """Largest norm of the upper triangle that a record adds to the sums, over its extremes and beyond."""
    assert DOMAIN.response is not None
    records = [
        ((x, c), y) for x in (-9.0, -1.0, 0.3, 1.0, 9.0) for c in (0.0, 2.0) for y in (-5.0, 0.0, 10.0, 99.0)
    ]
    upper = np.triu_indices(6)
    sums = (ridge.products(np.array([codes]), np.array([y]), DOMAIN) for codes, y in records)
    return max(float(np.linalg.norm(found[upper])) for found in sums) / units**2


def test_a_record_changes_the_sums_by_no_more_than_the_noise_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0.7 < moved(ridge.UNITS) <= 1
    found = ridge.products(*drawn(50), DOMAIN)
    assert (found == np.rint(found)).all()
    monkeypatch.setattr(ridge, "math", type("Twin", (), {"sqrt": staticmethod(lambda _: 1.0)}))
    assert moved(ridge.UNITS) > 1  # broken twin: records that are not divided


def test_the_ridge_is_a_linear_model_that_costs_what_it_claims() -> None:
    codes, y = drawn(60_000)
    rng = np.random.default_rng
    fitted = ridge.fit_ridge(codes, y, DOMAIN, epsilon=100.0, delta=1e-5, rng=rng(0))
    one_hot = ridge.columns(codes, DOMAIN)
    exact = LinearRegression().fit(one_hot, y).predict(one_hot)
    assert np.abs(fitted.predict(codes) - exact).max() < 0.05
    for epsilon in (0.1, 1.0, 5.0):
        few = ridge.fit_ridge(codes[:500], y[:500], DOMAIN, epsilon=epsilon, delta=1e-5, rng=rng(1))
        other = ridge.fit_ridge(codes[:500], y[:500], DOMAIN, epsilon=epsilon, delta=1e-5, rng=rng(2))
        assert 0.99 * epsilon < few.ledger.epsilon <= epsilon
        assert not np.allclose(few.weights, other.weights)  # there is noise
    assert np.abs(few.predict(codes) - exact).max() > 0.05  # broken twin: of few records and with much noise


# First, tied, behind


def fits(r2: dict[str, np.ndarray], *, dataset: str = "taxis", epsilon: float = 1.0) -> pd.DataFrame:
    """Fits by method, a row a seed."""
    known = LEARNERS | RIVALS
    rows = [
        (method, dataset, epsilon, seed, known[method].delta, method in RIVALS, value, 1 - value)
        for method, values in r2.items()
        for seed, value in enumerate(values)
    ]
    columns = ["method", "dataset", "epsilon", "seed", "delta", "rival", "r2", "mae"]
    return pd.DataFrame(rows, columns=columns)


HARD = np.random.default_rng(0).uniform(0.3, 0.7, 10)  # splits differ more than methods
WAVE = np.tile([0.001, -0.001], 5)
MADE = pd.concat(
    [
        fits({OURS: HARD + 0.05 + WAVE, RIDGE: HARD, "DP-EBM regressor": HARD - 0.01}),
        fits({OURS: HARD, RIDGE: HARD + 9 * WAVE, "DP-EBM regressor": HARD + 5 * WAVE}, dataset="diamonds"),
        fits({OURS: HARD, RIDGE: HARD + 0.05 + WAVE, PURE: HARD}, dataset="abalone"),
        fits({PLAIN: np.full(10, 0.9)}, epsilon=np.inf),
    ]
)


@pytest.mark.parametrize("metric", ["r2", "mae"])
def test_a_method_is_first_tied_or_behind(metric: str) -> None:
    found = regression.verdicts(regression.number_leads(MADE, metric=metric))[1.0]
    assert found.to_dict() == {"taxis": "first", "diamonds": "tied", "abalone": "behind"}
    shuffled = MADE.assign(seed=MADE["seed"].where(MADE["method"] != OURS, 9 - MADE["seed"]))
    twin = regression.verdicts(regression.number_leads(shuffled, metric=metric))[1.0]
    assert set(twin) == {"tied"}  # broken twin: what is not paired is not clear


def test_the_best_other_method_decides() -> None:
    """A method far behind whose scores swing has no clear distance, and does not count."""
    table = pd.DataFrame({"dataset": ["a", "a", "b", "b"], "epsilon": 1.0, "mean": [0.1, 9.0, -0.1, 0.2]})
    found = regression.verdicts(table.assign(p_holm=[0.01, 0.2, 0.2, 0.01]))[1.0]
    assert found.to_dict() == {"a": "first", "b": "tied"}
    twin = regression.verdicts(table.assign(mean=[9.0, 0.1, 0.2, -0.1], p_holm=[0.01, 0.2, 0.2, 0.01]))[1.0]
    assert twin.to_dict() == {"a": "tied", "b": "behind"}


def test_leads_are_corrected_for_a_quarter_of_records() -> None:
    private = MADE[np.isfinite(MADE["epsilon"])]
    half, twin = (
        regression.number_leads(MADE)["half"],
        regression.leads(private, metric="r2", of=OURS)["half"],
    )
    np.testing.assert_allclose(half, twin * np.sqrt((0.1 + 1 / 3) / (0.1 + 3 / 7)))  # 1/J + test/train
    assert (half > 0).any()


def test_of_several_settings_the_best_by_test_score_is_shown(root: Path) -> None:
    cell = ["method", "dataset", "epsilon"]
    shown = regression.number_fits(root / "results").groupby(cell)["r2"].agg(["mean", "size"])
    mean = runs.wide(read(regression.PEERS, root / "results")).groupby([*cell, "utility"])["r2"].mean()
    of = shown.loc["dp-xgboost regressor"]
    assert (of["size"] == 10).all()
    best, first = (
        by.loc["dp-xgboost regressor"] for by in (mean.groupby(cell).max(), mean.groupby(cell).first())
    )
    np.testing.assert_allclose(of["mean"], best)
    assert (of["mean"] > first + 0.1).any()  # broken twin: one setting for all


def test_the_table_has_means_and_their_errors() -> None:
    means = regression.number_means(MADE)
    table = regression.number_table(means, "r2")
    values = HARD - 0.01
    error = values.std(ddof=1) / np.sqrt(10)
    assert table.loc[("taxis", 1.0), "DP-EBM, δ"] == f"{values.mean():.3f} ± {error:.3f}"
    assert table.columns.tolist() == ["booster, δ", "booster", "ridge, δ", "no privacy", "DP-EBM, δ"]
    points, levels = regression.number_points(means)
    assert levels == {"taxis": {"no privacy": pytest.approx(0.9)}}
    assert "no privacy" not in set(points["label"])
    row = points.set_index(["dataset", "label"]).loc[("taxis", "DP-EBM, δ")]
    assert row["error"] == pytest.approx(2 * error)


# The rivals


def test_every_rival_has_a_way_to_run(script: ModuleType) -> None:
    assert list(script.NUMBER_WAYS) == list(RIVALS)
    assert not set(RIVALS) & set(script.RIVALS)


def test_the_first_category_is_left_out(script: ModuleType) -> None:
    codes = np.array([[-1.0, 0.0], [1.0, 1.0], [0.5, 2.0]])
    assert script.without_first(codes, DOMAIN).tolist() == [[0, 0, 0], [1, 1, 0], [0.75, 0, 1]]
    many = drawn(20)[0]
    ones = np.ones((20, 1))
    for prepare, dependent in (
        (script.without_first, 0),
        (script.one_hot, 1),
    ):  # the second is the broken twin
        X = np.hstack([prepare(many, DOMAIN), ones])
        assert X.shape[1] - np.linalg.matrix_rank(X) == dependent


def test_targets_go_to_trees_and_back(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(script, "_trees", lambda task, y, loss, **how: given.update(how, y=y))
    numbers = np.array([0.0, 5, 10])
    script.trees_of_numbers(script.Task(None, numbers, DOMAIN, script.bounds(DOMAIN), 1.0, 0.0, 0), n_trees=2)
    assert given["y"].tolist() == [-1, 0, 1]
    monkeypatch.setattr(
        script, "_dp_xgboost", lambda: type("Twin", (), {"DMatrix": staticmethod(np.asarray)})
    )
    same = type("Same", (), {"predict": staticmethod(lambda X: X[:, 0])})
    back = script.predicted_by_trees(same, given["y"][:, None], DOMAIN)
    assert back.tolist() == [0, 5, 10] != given["y"].tolist()


def toy_data(name: str, seed: int) -> Dataset:
    """Records whose number follows from x."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.uniform(-1, 1, 100), "c": "a"})
    y = pd.Series(5 + 4 * X["x"])
    return Dataset(name, (X[:75], y[:75]), (X[75:], y[75:]), DOMAIN)


def test_the_command_runs_the_regressors_that_are_missing(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "name": "line",
        "package": "numpy",
        "settings": {"one": {}},
        "defaults": ("one",),
        "seeds": (0, 1),
    }
    fake = {"line": replace(RIVALS["diffprivlib linear"], **given)}
    line = script.Way(
        script.without_first, lambda task: LinearRegression().fit(task.X, task.y), script.predicted
    )
    monkeypatch.setattr(regression, "RIVALS", fake)
    monkeypatch.setattr(script, "NUMBER_WAYS", {"line": line})
    monkeypatch.setattr(script, "split_of", toy_data)
    monkeypatch.setattr(runs, "_checksum", lambda name: "0" * 64)
    script.prepared.cache_clear()
    out = ["--out", str(tmp_path), "--numbers"]
    assert script.main([*out, "--only", "line,taxis"]) == 0
    assert set(read(regression.PEERS, tmp_path)["dataset"]) == {"taxis"}
    assert script.main(out) == 0
    table = read(regression.PEERS, tmp_path)
    assert missing(regression.peers_grid(), table) == []
    assert table.loc[table["metric"] == "r2", "value"].min() > 0.99
    assert not (tmp_path / "board_peers.csv").exists()


# The stored tables


def gaps(found: pd.DataFrame) -> list[str]:
    """What the fits of all methods lack of five sets, three ε and ten seeds, and numbers that cannot be."""
    private = (0.1, 1.0, 5.0)
    wanted = {
        (method, dataset, epsilon, seed)
        for method in (*LEARNERS, *RIVALS)
        for dataset in NUMBERS
        for epsilon in ((np.inf,) if method == PLAIN else private)
        for seed in range(10)
    }
    keys = list(found[["method", "dataset", "epsilon", "seed"]].itertuples(index=False, name=None))
    told = []
    if set(keys) != wanted or len(keys) != len(wanted):
        told.append("cells")
    if not ((found["r2"] <= 1) & (found["mae"] > 0) & np.isfinite(found["r2"])).all():
        told.append("scores")
    own = found[~found["rival"]]
    if not (own["ledger_epsilon"] <= own["epsilon"]).all():
        told.append("ledger")
    return told


def test_the_stored_fits_are_complete(root: Path) -> None:
    found = regression.number_fits(root / "results")
    assert gaps(found) == []
    first = found.index == 0
    assert gaps(found[~first]) == gaps(pd.concat([found, found[first]])) == ["cells"]  # broken twins
    assert gaps(found.assign(r2=found["r2"].mask(first, 1.5))) == ["scores"]
    assert gaps(found.assign(ledger_epsilon=found["ledger_epsilon"].mask(first, 9.0))) == ["ledger"]


@pytest.mark.realdata
@pytest.mark.parametrize("method", [OURS, PURE, RIDGE])
def test_a_small_cell_is_what_a_rerun_gives(method: str, root: Path) -> None:
    setting = LEARNERS[method].defaults[0]
    cell, twin = (
        Cell(method=method, dataset="abalone", utility=setting, epsilon=1.0, seed=s) for s in (3, 4)
    )
    stored = (
        runs.wide(read(regression.BOARD, root / "results"))
        .set_index(runs.KEYS)
        .loc[tuple(vars(cell).values())]
    )
    again = regression.measure(cell)
    for metric in ("r2", "mae", "ledger_epsilon"):
        assert again[metric] == pytest.approx(stored[metric], abs=1e-6)
    assert regression.measure(twin)["r2"] != pytest.approx(
        stored["r2"], abs=1e-6
    )  # broken twin: another split
