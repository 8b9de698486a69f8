"""Rivals of the board: the choice of their settings, the command that runs them, and the tables that it left.

The rivals themselves need an environment of their own: see ``benchmarks/peers/README.md``.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpnb import Categorical, Continuous, Domain
from dpnb.data.datasets import Dataset
from private_trees.board import rivals
from private_trees.board.rivals import RIVALS, Rival
from private_trees.studies import runs
from private_trees.studies.runs import COLUMNS, Cell, read

SCRIPT = Path("benchmarks") / "peers" / "board_peers.py"
DOMAIN = Domain((Continuous("x", -1, 1), Categorical("c", ("a", "b"))), classes=("no", "yes"))
FITTED: list[tuple[str, int]] = []


@pytest.fixture(scope="module")
def script(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("board_peers", root / SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def toy_data(name: str, seed: int) -> Dataset:
    """Records whose class is the sign of x."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, 200)
    X = pd.DataFrame({"x": x, "c": rng.choice(["a", "b"], 200)})
    y = pd.Series(np.where(x > 0, "yes", "no"))
    return Dataset(name, (X[:140], y[:140]), (X[140:], y[140:]), DOMAIN)


class Sign:
    """Stands for a rival: states the sign of x with so much of an error."""

    def __init__(self, noise: float, seed: int):
        self.classes_ = np.array([0, 1])
        self.noise, self.rng = noise, np.random.default_rng(seed)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        p = 1 / (1 + np.exp(-X[:, 0] - self.rng.normal(0, self.noise, len(X))))
        return np.column_stack([1 - p, p])


@pytest.fixture
def toy(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The command with two rivals that need nothing, on data that are drawn."""
    fake = {
        "sign": Rival(
            name="sign",
            package="numpy",
            settings={"noisy": {"noise": 9.0}, "clear": {"noise": 0.0}, "dim": {"noise": 1.0}},
            defaults=("noisy",),
            datasets=("adult", "bank"),
            epsilons=(0.1, 1.0),
            seeds=(0, 1),
        ),
        "plain": Rival(
            name="plain", package="numpy", settings={"one": {"noise": 1.0}}, defaults=("one",), datasets=("adult",),
            epsilons=(1.0,), seeds=(0,), limit=60.0,
        ),
    }  # fmt: skip
    way = script.Way(script.ordinal, lambda task, noise: Sign(noise, task.seed))
    for module in (rivals, script):
        monkeypatch.setattr(module, "RIVALS", fake)
    monkeypatch.setattr(rivals, "PUBLIC", ("adult-standin", "nursery"))
    monkeypatch.setattr(script, "WAYS", dict.fromkeys(fake, way))
    monkeypatch.setattr(script, "split_of", toy_data)
    monkeypatch.setattr(runs, "_checksum", lambda name: "0" * 64)
    measured = script.measure

    def noted(cell: Cell, *, inner: bool = False) -> dict[str, float]:
        FITTED.append((cell.method, cell.seed))
        return dict(measured(cell, inner=inner))

    monkeypatch.setattr(script, "measure", noted)
    script.prepared.cache_clear()
    FITTED.clear()
    return script


def test_the_command_runs_what_is_missing(toy: ModuleType, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)]
    assert toy.main([*out, "--only", "plain"]) == 0
    assert FITTED == [("plain", 0)]
    told = json.loads((tmp_path / "board_peers.json").read_text(encoding="utf-8"))
    assert told["missing"] == {"sign on adult": 4, "sign on bank": 4}
    FITTED.clear()
    assert toy.main(out) == 0
    assert {method for method, _ in FITTED} == {"sign"}  # the other one is there
    log, board = (read(name, tmp_path) for name in ("board_peers_tuning", "board_peers"))
    assert len(log) == 2 * 3 * 2 * 2
    assert set(log["metric"]) == {"auc"}
    assert len(FITTED) == len(log) + 2 * 2 * 2 * 2  # the default and the chosen setting
    told = json.loads((tmp_path / "board_peers.json").read_text(encoding="utf-8"))
    assert "missing" not in told
    assert {row["utility"] for row in told["chosen"]} == {"clear"}
    assert set(board["metric"]) == {
        "accuracy", "balanced_accuracy", "auc", "log_loss", "calibration_error", "cpu_seconds", "memory_mb",
    }  # fmt: skip
    areas = board[(board["metric"] == "auc") & (board["method"] == "sign")].groupby("utility")["value"].mean()
    assert areas["clear"] > 0.99
    assert areas["noisy"] < 0.8
    FITTED.clear()
    assert toy.main(out) == 0
    assert FITTED == []


def test_a_fit_out_of_time_is_noted_and_not_tried_again(
    toy: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*args: Any, **options: Any) -> None:
        raise toy.OutOfTimeError

    monkeypatch.setattr(toy, "costly", slow)
    for fits in (1, 1):
        toy.main(["--out", str(tmp_path), "--only", "plain"])
        assert len(FITTED) == fits
    assert read("board_peers", tmp_path)[["metric", "value"]].to_numpy().tolist() == [["out_of_time", 1.0]]


def test_a_rival_is_run_on_the_data_set_that_was_asked_for(toy: ModuleType, tmp_path: Path) -> None:
    toy.main(["--out", str(tmp_path), "--only", "sign,bank"])
    assert set(read("board_peers", tmp_path)["dataset"]) == {"bank"}


def test_an_unknown_rival_is_refused(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("forrest", "DP-EBM,iris"):
        assert script.main(["--out", "x", "--only", name]) == 2
        assert f"{name!r}: expected a rival of 'diffprivlib forest'" in capsys.readouterr().err


def test_the_command_has_a_help_without_any_rival(root: Path) -> None:
    run = subprocess.run(
        [sys.executable, str(root / SCRIPT), "--help"], capture_output=True, text=True, check=True, cwd=root
    )
    assert "--only" in run.stdout


def test_every_rival_has_a_way_to_run(script: ModuleType) -> None:
    assert list(script.WAYS) == list(RIVALS)
    for rival in RIVALS.values():
        assert set(rival.defaults) <= set(rival.settings)
        assert len(rival.settings) <= 10


# How data are handed over


def test_records_are_prepared_within_their_bounds(script: ModuleType) -> None:
    codes = np.array([[-1.0, 0.0], [1.0, 1.0], [0.5, 1.0]])
    low, high = script.bounds(DOMAIN)
    assert (low.tolist(), high.tolist()) == ([-1, 0], [1, 1])
    assert script.one_hot(codes, DOMAIN).tolist() == [[0, 1, 0], [1, 0, 1], [0.75, 0, 1]]
    norms = np.linalg.norm(script.in_ball(codes, DOMAIN), axis=1)
    assert norms.max() == pytest.approx(1.0)
    assert np.linalg.norm(script.one_hot(codes, DOMAIN), axis=1).max() > 1.4  # broken twin
    assert [len(side) for side in script.unit(DOMAIN)] == [3, 3]
    categories = script.named(codes[1:], DOMAIN)["c"]
    assert categories.tolist() == ["1", "1"]
    assert categories.cat.categories.tolist() == ["0", "1"]  # the public list, and no more than it
    assert not categories.cat.ordered
    inside = script.in_border(codes, DOMAIN)[:, 0]
    assert (inside.min() > 0, inside.max() < 1) == (True, True)


@pytest.mark.parametrize("n_trees", [2, 20])
def test_trees_on_samples_cost_what_is_claimed(script: ModuleType, n_trees: int) -> None:
    share = script.budget_per_tree(1.0, n_trees, sampled=0.1)
    total = n_trees * np.log(1 + 0.1 * (np.exp(share) - 1))
    assert total == pytest.approx(1.0)
    assert n_trees * share > 2  # broken twin: without the samples


def stuck(table: pd.DataFrame) -> set[tuple[str, str]]:
    """Rivals and data sets with the same AUC in every fit: such a rival did not learn, and that is our fault."""
    fits = runs.wide(table)
    kinds = fits[fits["auc"].notna()].groupby(["method", "dataset"])["auc"].nunique()
    return set(kinds.index[kinds < 2])


def test_every_rival_can_learn(root: Path) -> None:
    table, _ = stored(root, rivals.BOARD)
    assert stuck(table) == set()
    at_rest = (table["method"] == "dp-xgboost") & (table["dataset"] == "online-shoppers")
    twin = table.assign(value=table["value"].mask(at_rest & (table["metric"] == "auc"), 0.5))
    assert stuck(twin) == {("dp-xgboost", "online-shoppers")}


# The choice of settings


def toy_log(values: dict[tuple[str, str], tuple[float, ...]]) -> pd.DataFrame:
    """(setting, data set) → AUC by seed."""
    rows = [
        ("forest", name, setting, 0, 1.0, seed, 0, 0.0, "auc", value)
        for (setting, name), found in values.items()
        for seed, value in enumerate(found)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


FOREST = Rival(name="forest", package="numpy", settings={"a": {}, "b": {}, "c": {}}, defaults=("a",))


def test_the_best_mean_rank_is_chosen_without_the_set_itself() -> None:
    names = rivals.PUBLIC
    values = {("a", n): (0.7, 0.7) for n in names} | {("b", n): (0.6, 0.9) for n in names}
    values |= {("c", n): (0.5, 0.6) for n in names} | {("c", "nursery"): (1.0, 1.0)}
    log = toy_log(values)
    assert FOREST.chosen(log, "adult", 1.0) == "b"  # .75 on average
    alone = log[log["dataset"].isin(["nursery", "german-credit"])]
    others = [name for name in names if name not in ("nursery", "german-credit")]
    assert FOREST.chosen(alone, "adult", 1.0, leave_out=[*others, "german-credit"]) == "c"
    assert (
        FOREST.chosen(alone, "nursery", 1.0, leave_out=others) == "b"
    )  # its own lead on nursery does not count
    best_mean = log.groupby("utility")["value"].mean()
    assert best_mean.idxmax() == "b"


def test_ranks_count_and_not_areas() -> None:
    names = rivals.PUBLIC
    values = {("a", n): (0.70,) for n in names} | {("b", n): (0.71,) for n in names}
    values |= {("c", n): (0.50,) for n in names} | {("a", "nursery"): (0.99,)}
    log = toy_log(values)
    assert FOREST.chosen(log, "adult", 1.0) == "b"
    assert log.groupby("utility")["value"].mean().idxmax() == "a"  # broken twin


def test_a_tie_goes_to_the_first_setting() -> None:
    log = toy_log({(s, n): (0.7,) for s in "cba" for n in rivals.PUBLIC})
    assert FOREST.chosen(log, "adult", 1.0) == "a"


def test_a_rival_of_two_classes_leaves_out_the_others() -> None:
    two = Rival(
        name="forest", package="numpy", settings={"a": {}, "b": {}}, defaults=("a",), two_classes=True
    )
    assert not two.takes("robot")
    assert two.takes("bank")
    names = [name for name in rivals.PUBLIC if two.takes(name)]
    log = toy_log({("a", n): (0.6,) for n in names} | {("b", n): (0.7,) for n in names})
    assert two.chosen(log, "adult", 1.0) == "b"


# The stored tables

RANGES = {
    "accuracy": (0, 1), "balanced_accuracy": (0, 1), "auc": (0, 1), "log_loss": (0, 21),
    "calibration_error": (0, 1), "cpu_seconds": (0, 300), "memory_mb": (0, 8000), "out_of_time": (1, 1),
}  # fmt: skip


def stored(root: Path, name: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    told = json.loads((root / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return read(name, root / "results"), told


def faults(table: pd.DataFrame, told: dict[str, Any], study: runs.Study) -> list[str]:
    """What is wrong with a table of results, given what should be there."""
    found = []
    lacking: dict[str, int] = {}
    for cell in runs.missing(study, table):
        place = f"{cell.method} on {cell.dataset}"
        lacking[place] = lacking.get(place, 0) + 1
    if lacking != told.get("missing", {}):
        found.append(f"missing {lacking}")
    if len(runs.missing(study, table)) + len(table[runs.KEYS].drop_duplicates()) != told["cells"]:
        found.append("cells that nobody asked for, or a wrong number of them")
    for metric, values in table.groupby("metric")["value"]:
        low, high = RANGES.get(str(metric), (1, 0))
        if not values.between(low, high).all():
            found.append(f"{metric} out of range")
    if not (table["delta"] == table["method"].map(lambda name: RIVALS[name].delta)).all():
        found.append("δ of another claim")
    if table.duplicated([*runs.KEYS, "metric"]).any():
        found.append("a measurement twice")
    return found


def spoilt(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Broken twins of a table: each must be found."""
    first = table.index == table.index[0]
    return {
        "a cell is gone": table[~(table[runs.KEYS] == table.loc[0, runs.KEYS]).all(axis=1)],
        "a value": table.assign(value=table["value"].mask(first, -1.0)),
        "a metric": table.assign(metric=table["metric"].mask(first, "area")),
        "δ": table.assign(delta=table["delta"].mask(first, 0.5)),
        "twice": pd.concat([table, table[first]]),
        "a setting": table.assign(utility=table["utility"].mask(first, "another")),
    }


@pytest.mark.parametrize("name", [rivals.TUNING, rivals.BOARD])
def test_a_stored_table_has_no_fault(root: Path, name: str) -> None:
    table, told = stored(root, name)
    study = rivals.tuning_study()
    if name == rivals.BOARD:
        study = rivals.board_study(rivals.choices(stored(root, rivals.TUNING)[0]))
        metrics = table.groupby(runs.KEYS)["metric"].apply(frozenset)
        assert set(metrics) <= {frozenset(RANGES) - {"out_of_time"}, frozenset({"out_of_time"})}
    assert faults(table, told, study) == []
    for what, twin in spoilt(table).items():
        assert faults(twin, told, study), what


Areas = dict[str, dict[str, float]]  # by data set and setting


def logged(log: pd.DataFrame, method: str, epsilon: float) -> Areas:
    """Mean area of each setting of a rival, on all data sets of the log."""
    rows = log[(log["method"] == method) & np.isclose(log["epsilon"], epsilon)]
    settings = RIVALS[method].settings
    return {
        str(name): {s: part.loc[part["utility"] == s, "value"].mean() for s in settings}
        for name, part in rows.groupby("dataset")
    }


def by_hand(every: Areas, rival: Rival, without: set[str]) -> str:
    """The choice again: how many settings are better on each public set, half a place for a tie."""
    areas = {name: own for name, own in every.items() if name not in without}
    total = {
        s: sum(
            sum((other > a[s]) + 0.5 * (other == a[s] and t != s) for t, other in a.items())
            for a in areas.values()
        )
        for s in rival.settings
    }
    return min(total, key=lambda s: (total[s], list(rival.settings).index(s)))


def wrong_choices(log: pd.DataFrame, chosen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found, areas = [], cache(partial(logged, log))
    for row in chosen:
        rival, every = RIVALS[row["method"]], areas(row["method"], row["epsilon"])
        setting = other = by_hand(every, rival, {row["dataset"]})
        if row["dataset"] == "adult":
            other = by_hand(every, rival, {"adult", "adult-standin"})
        if (row["utility"], row["without_standin"]) != (setting, "" if other == setting else other):
            found.append(row)
    return found


def test_stored_choices_follow_from_the_log(root: Path) -> None:
    log, _ = stored(root, rivals.TUNING)
    board, told = stored(root, rivals.BOARD)
    several = {r.name for r in RIVALS.values() if len(r.settings) > 1}
    assert {row["method"] for row in told["chosen"]} == several & set(log["method"])
    assert wrong_choices(log, told["chosen"]) == []
    assert rivals.choices(log).to_dict("records") == told["chosen"]
    # Broken twins: two settings swap their names in the log, and a choice by test score.
    row = told["chosen"][0]
    first, second = row["utility"], next(s for s in RIVALS[row["method"]].settings if s != row["utility"])
    swapped = log["utility"].where(
        log["method"] != row["method"], log["utility"].replace({first: second, second: first})
    )
    assert row in wrong_choices(log.assign(utility=swapped), told["chosen"])
    areas = (
        board[board["metric"] == "auc"].groupby(["method", "dataset", "epsilon", "utility"])["value"].mean()
    )
    best = {key[:3]: key[3] for key in areas.groupby(["method", "dataset", "epsilon"]).idxmax()}
    by_test = [r | {"utility": best[r["method"], r["dataset"], r["epsilon"]]} for r in told["chosen"]]
    assert wrong_choices(log, by_test)


def test_hard_labels_have_their_balanced_accuracy_as_auc(root: Path) -> None:
    """Trees among the rivals that were measured once vote without shares, so they are not on the board."""
    once = pd.read_csv(root / "results" / "peers.csv")
    once = once[once["balanced_accuracy_mean"].notna()]
    hard = once["method"].str.contains("PrivaTree|BDPT|DPGDT|diffprivlib DecisionTree")
    gap = (once["auc_mean"] - once["balanced_accuracy_mean"]).abs()
    assert gap[hard].max() < 1e-9
    assert gap[~hard & (once["epsilon"] == 1)].max() > 0.1  # broken twin: not so of shares


def pins(root: Path, requirements: str) -> dict[str, str]:
    text = (root / "benchmarks" / "peers" / requirements).read_text(encoding="utf-8")
    return dict(line.split("==") for line in text.split())


def unpinned(root: Path, told: dict[str, Any], measured: set[str]) -> set[str]:
    """Rivals that were measured in another environment than the pinned one; of the others there are no versions."""
    found = set()
    for rival, about in told["rivals"].items():
        pinned = pins(root, about["requirements"])
        names = {about["package"], "numpy", "pandas", "scipy", "scikit-learn"}
        wanted = {name: pinned.get(name) for name in names} if rival in measured else {}
        if about["versions"] != wanted:
            found.add(rival)
    return found


def test_provenance_names_the_pinned_versions(root: Path) -> None:
    for name in (rivals.TUNING, rivals.BOARD):
        table, told = stored(root, name)
        measured = set(table["method"])
        assert unpinned(root, told, measured) == set()
        assert told["command"].startswith("python benchmarks/peers/board_peers.py")
        told["rivals"]["DP-EBM"]["requirements"] = "requirements-mst.txt"  # broken twins
        told["rivals"]["dp-xgboost"]["versions"]["numpy"] = "1.0"
        assert unpinned(root, told, measured) == {"DP-EBM", "dp-xgboost"}


def test_versions_are_those_of_the_environment_that_a_rival_ran_in(toy: ModuleType, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path), "--only"]
    toy.main([*out, "plain"])
    path = tmp_path / "board_peers.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told["rivals"]["plain"]["versions"]["pandas"] == pd.__version__
    assert told["rivals"]["sign"]["versions"] == {}
    told["rivals"]["plain"]["versions"]["pandas"] = "0.1"
    path.write_text(json.dumps(told), encoding="utf-8")
    toy.main([*out, "sign"])
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told["rivals"]["plain"]["versions"]["pandas"] == "0.1"  # another environment
    assert told["rivals"]["sign"]["versions"]["pandas"] == pd.__version__


@pytest.mark.realdata
def test_provenance_names_the_data(root: Path) -> None:
    _, told = stored(root, rivals.BOARD)
    assert told["data_sha256"]["nursery"] == runs._checksum("nursery")
    assert told["data_sha256"]["nursery"] != runs._checksum("german-credit")  # broken twin
