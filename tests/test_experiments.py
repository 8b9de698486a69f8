"""Grids resume, write atomically and stay equal to what the code gives."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from dpnb.errors import DataError
from private_trees import experiments
from private_trees.experiments import GRIDS, STUDIES
from private_trees.studies import runs
from private_trees.studies.diffprfs import LADDER
from private_trees.studies.runs import Cell, Study, cells, missing, read, run
from private_trees.studies.targets import LONELY, Target

CELLS = runs.cells(
    method="toy",
    dataset="adult-standin",
    utility="max",
    max_depth=(1, 2),
    epsilon=(0.1, float("inf")),
    seed=(0, 1),
)
MEASURED: list[Cell] = []
DEAR = {
    "dpada": 3,
    "dpada_ladder": 3,
    "pearson": 2,
    "pearson_ladder": 2,
    "pearson_rate": 1,
    "edprf": 2,
    "edprf_readings": 2,
    "edprf_ladder": 2,
    "board_replay": 1,
    "auditor_own": 3,
    "auditor_power": 1,
    "audit_subjects": 1,
    "betting_coverage": 1,
    "betting_power": 1,
    "betting_conviction": 1,
    "reconstruction": 3,
}  # cells to recompute at night where one is dear; everywhere else six
COSTS = {"cpu_seconds", "memory_mb"}  # of the machine, not of the code


def toy(cell: Cell) -> dict[str, float]:
    MEASURED.append(cell)
    return {"accuracy": cell.max_depth / 10, "auc": float(cell.random_state().random())}


def breaks(cell: Cell) -> dict[str, float]:
    if cell == CELLS[5]:
        raise RuntimeError("interrupted")
    return toy(cell)


@pytest.fixture(autouse=True)
def _nothing_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    MEASURED.clear()
    monkeypatch.setattr(runs, "_checksum", lambda name: "0" * 64)


@pytest.mark.parametrize("row_a_cell", [False, True])
def test_a_run_computes_only_what_is_missing(row_a_cell: bool, tmp_path: Path) -> None:
    first = run(Study("toy", CELLS[:3], toy, row_a_cell=row_a_cell), folder=tmp_path)
    assert len(first) == 6
    assert CELLS[:3] == MEASURED
    MEASURED.clear()
    whole = run(Study("toy", CELLS, toy, row_a_cell=row_a_cell), folder=tmp_path)
    assert sorted(map(repr, MEASURED)) == sorted(map(repr, CELLS[3:]))
    MEASURED.clear()
    again = run(Study("toy", CELLS, toy, row_a_cell=row_a_cell), folder=tmp_path)
    assert MEASURED == []
    assert (tmp_path / "toy.csv").read_text(encoding="utf-8").count("\n") == (9 if row_a_cell else 17)
    pd.testing.assert_frame_equal(again, read("toy", tmp_path))
    assert len(whole) == 16
    assert set(whole["epsilon"]) == {0.1, float("inf")}


@pytest.mark.parametrize("row_a_cell", [False, True])
def test_an_interrupted_run_loses_nothing_that_was_saved(
    row_a_cell: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SAVE_EVERY", -1.0)
    with pytest.raises(RuntimeError, match="interrupted"):
        run(Study("toy", CELLS, breaks, row_a_cell=row_a_cell), folder=tmp_path)
    assert len(missing(Study("toy", CELLS, toy), read("toy", tmp_path))) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy.csv"]
    MEASURED.clear()
    run(Study("toy", CELLS, toy), folder=tmp_path)
    assert len(MEASURED) == 3


def test_processes_give_the_same_table(tmp_path: Path) -> None:
    alone = run(Study("toy", CELLS, toy), folder=tmp_path / "one", jobs=1)
    shared = run(Study("toy", CELLS, toy), folder=tmp_path / "two", jobs=2)
    pd.testing.assert_frame_equal(alone, shared)


@pytest.mark.parametrize("name", GRIDS)
def test_other_processes_can_be_told_what_to_measure(name: str) -> None:
    assert pickle.loads(pickle.dumps(GRIDS[name]().measure))
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(lambda cell: toy(cell))  # broken twin


def test_cells_are_built_and_read_by_what_a_study_means() -> None:
    replay, other = runs.cells(method="a", neighbours="replace", epsilon=(0.5, 1.0))
    assert (replay, other) == (
        Cell(method="a", dataset="replace", epsilon=0.5),
        Cell(method="a", dataset="replace", epsilon=1.0),
    )
    assert replay.neighbours == "replace"
    (read,) = runs.cells(method="a", dataset="d", reading="plain", n_specialisations=10, epsilon=1.0)
    assert (read.reading, read.utility, read.n_specialisations, read.max_depth) == ("plain", "plain", 10, 10)
    with pytest.raises(ValueError, match="'depth' is not in list"):
        runs.cells(method="a", dataset="d", epsilon=1.0, depth=3)


def test_data_sets_of_a_study_are_those_that_it_loads() -> None:
    assert Study("toy", CELLS, toy).datasets == ["adult-standin"]
    assert Study("toy", runs.cells(method="a", neighbours="replace", epsilon=1.0), toy).datasets == []


def test_provenance(tmp_path: Path) -> None:
    run(Study("toy", CELLS, toy), folder=tmp_path, command="the command")
    record = json.loads((tmp_path / "toy.json").read_text())
    assert record["command"] == "the command"
    assert record["cells"] == 8
    assert record["parameters"]["max_depth"] == ["1", "2"]
    assert set(record["versions"]) >= {"numpy", "scikit-learn", "python"}


def test_every_step_of_the_ladder_differs_and_the_end_is_the_class_itself() -> None:
    steps = [step().get_params() for step in LADDER.values()]
    assert all(a != b for a, b in itertools.pairwise(steps))
    repaired = type(LADDER["0 as written"]())().get_params()
    assert LADDER["6 vote by probability"]().get_params() == repaired


def can_lose(accuracy: pd.DataFrame, steps: list[str]) -> bool:
    """Whether a forest is ahead of the majority class by two points before a step is taken, at ε = 1 and 2."""
    majority = 0.7543
    return bool((accuracy.loc[steps, [1.0, 2.0]] > majority + 0.02).all(axis=None))


def test_the_steps_that_buy_privacy_start_from_a_forest_that_has_something_to_lose(root: Path) -> None:
    table = read("diffprfs_ladder", root / "results").query("metric == 'accuracy'")
    accuracy = table.pivot_table("value", "method", "epsilon")
    assert can_lose(accuracy, ["0 as written", "1 no purity test"])
    assert not can_lose(accuracy, ["4 one joint choice"])  # broken twin: on the floor nothing shows


@pytest.mark.parametrize("name", GRIDS)
def test_committed_results_are_complete(name: str, root: Path) -> None:
    grid, table = GRIDS[name](), read(name, root / "results")
    assert grid.name == name
    assert missing(grid, table) == []
    assert len(table[runs.KEYS].drop_duplicates()) == len(grid.cells)
    record = json.loads((root / "results" / f"{name}.json").read_text())
    assert record["cells"] == len(grid.cells)


def seedless(targets: Mapping[str, Target]) -> list[str]:
    """Targets whose attacks nobody could repeat."""
    return [name for name, t in targets.items() if "random_state" not in t.make(epsilon=1.0).get_params()]


def test_every_target_takes_a_seed() -> None:
    found = [study.TARGETS for study in STUDIES if hasattr(study, "TARGETS")]
    assert len(found) > 3
    assert [seedless(targets) for targets in found if seedless(targets)] == []
    seeded = Target(lambda epsilon: LogisticRegression(C=epsilon), LONELY, None)
    deaf = replace(seeded, make=lambda epsilon: GaussianNB(var_smoothing=epsilon))  # broken twin
    assert seedless({"seeded": seeded, "deaf": deaf}) == ["deaf"]


def some_cells(grid: Study) -> list[Cell]:
    """Cells to measure again: up to six over the whole grid, of those that cost little where that can be told."""
    if grid.early:
        return list(grid.cells[:: max(len(grid.cells) // 6, 1)])
    shallow = [cell for cell in grid.cells if cell.max_depth in (1, 5) and "merged" not in cell.dataset]
    some = shallow[:: max(len(shallow) // 5, 1)] if shallow else grid.cells[:6]
    return list(some[: DEAR.get(grid.name, 6)])


def assert_measured_again(grid: Study, some: Sequence[Cell], folder: Path) -> None:
    """The code gives what is stored of some cells, and would not give values that are a little off."""
    table = read(grid.name, folder)
    for cell in some:
        mine = table[(table[runs.KEYS] == list(vars(cell).values())).all(axis=1)]
        committed = mine[~mine["metric"].isin(COSTS)].set_index("metric")["value"].to_dict()
        measured = (grid.early or grid.measure)(cell)
        again = {m: round(v, 6) for m, v in measured.items() if m not in COSTS}
        committed = {m: committed[m] for m in again} if grid.early else committed
        assert again == pytest.approx(committed, abs=2e-6)
        off = {metric: value + 1e-5 for metric, value in committed.items() if np.isfinite(value)}
        assert off != pytest.approx({metric: committed[metric] for metric in off}, abs=2e-6)  # broken twin


@pytest.mark.realdata
@pytest.mark.parametrize("name", GRIDS)
def test_a_committed_cell_is_what_the_code_gives(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    grid = GRIDS[name]()
    assert_measured_again(grid, some_cells(grid)[:1], root / "results")
    record = json.loads((root / "results" / f"{name}.json").read_text())
    assert record["data_sha256"] == {data: runs._checksum(data) for data in grid.datasets}


@pytest.mark.nightly
@pytest.mark.realdata
@pytest.mark.parametrize("name", GRIDS)
def test_committed_results_are_what_the_code_gives(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    grid = GRIDS[name]()
    assert_measured_again(grid, some_cells(grid)[1:], root / "results")


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiments, "GRIDS", {"toy": lambda: Study("toy", CELLS, toy)})
    assert experiments.main(["all", "--results", str(tmp_path)]) == 0
    assert "toy: 8 cells in toy.csv" in capsys.readouterr().out
    for bad in (["toys"], ["toy", "--jobs", "0"]):
        assert experiments.main(bad) == 2


TABLE = """method,dataset,utility,max_depth,epsilon,seed,n_rounds,delta,metric,value
toy,adult,,0,1.0,0,0,0.0,accuracy,0.5
toy,adult,,0,1.0,1,0,0.0,accuracy,
"""


def test_a_results_file_with_a_missing_value_is_read(tmp_path: Path) -> None:
    (tmp_path / "toy.csv").write_text(TABLE, encoding="utf-8")
    assert read("toy", tmp_path)["value"].isna().tolist() == [False, True]


def test_a_reading_that_looks_like_a_number_stays_text(tmp_path: Path) -> None:
    (tmp_path / "toy.csv").write_text(TABLE.replace("adult,,0", "adult,2000,0"), encoding="utf-8")
    assert read("toy", tmp_path)["utility"].tolist() == ["2000", "2000"]


def uneven(cell: Cell) -> dict[str, float]:
    """Metrics that not every cell has, one that is no number, and one of many digits."""
    found = {"accuracy": cell.max_depth / 3, "sd": float("nan")}
    return found | ({"loss": float("inf")} if cell.seed else {})


def test_a_table_with_a_row_a_cell_is_read_as_the_tidy_one(tmp_path: Path) -> None:
    tidy = run(Study("toy", CELLS, uneven), folder=tmp_path)
    narrow = (tmp_path / "toy.csv").read_text(encoding="utf-8")
    run(
        Study("short", CELLS[:5], uneven), folder=tmp_path
    )  # of the other form: it is read and goes on in the new one
    run(Study("short", CELLS, uneven, row_a_cell=True), folder=tmp_path)
    stored = (tmp_path / "short.csv").read_text(encoding="utf-8")
    assert stored.startswith(",".join([*runs.FIT, "accuracy", "loss", "sd"]) + "\n")
    assert stored.count("\n") == 1 + len(CELLS)
    again = read("short", tmp_path)
    pd.testing.assert_frame_equal(again, tidy, check_exact=True)
    assert again.to_csv(index=False) == narrow
    assert len(again) == 20
    (tmp_path / "short.csv").write_text(stored.replace(",nan", ","), encoding="utf-8")
    assert not read("short", tmp_path).equals(tidy)  # broken twin: what is no number is no measurement


def test_no_results_file_is_large(root: Path, tmp_path: Path) -> None:
    assert [file.name for file in (root / "results").iterdir() if file.stat().st_size > 3e6] == []
    read("board", root / "results").to_csv(tmp_path / "board.csv", index=False)
    assert (tmp_path / "board.csv").stat().st_size > 3e6  # broken twin: a row a metric


WIDE = """method,dataset,utility,max_depth,epsilon,seed,n_rounds,delta,accuracy,auc
toy,adult,,0,1.0,0,0,0.0,0.5,0.6
toy,adult,,0,1.0,1,0,0.0,0.5,
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TABLE[:-30].encode(), "damaged in line 3, or was cut short"),
        (TABLE[:-1].encode(), "damaged in line 3, or was cut short"),
        (TABLE.replace("0.0,accuracy,0.5", "0.0,,0.5").encode(), "damaged in line 2"),
        (TABLE.replace(",1,0,0.0", ",one,0,0.0").encode(), "damaged in line 3"),
        (TABLE.replace("0.5", "half").encode(), "damaged in line 2"),
        (TABLE.replace("0.5", "0.5,more").encode(), "damaged in line 2"),
        (TABLE.replace("method", "methods").encode(), "its columns are not method, dataset"),
        (b"garbage", "its columns are not"),
        (b"\x00\xff\xfe", "is no table of results"),
        (b"", "is no table of results"),
        (WIDE[:-5].encode(), "damaged in line 3, or was cut short"),
        (WIDE[:-2].encode() + b"\n", "damaged in line 3"),
        (WIDE.replace(",1,0,0.0", ",one,0,0.0").encode(), "damaged in line 3"),
        (WIDE.replace("0.6", "half").encode(), "damaged in line 2"),
        (WIDE.replace("0.6", "0.6,more").encode(), "damaged in line 2"),
        (WIDE.replace("accuracy", "auc").encode(), "its columns are not"),
        (WIDE.replace("accuracy", "").encode(), "its columns are not"),
        (
            WIDE.replace(",accuracy,auc", "").encode(),
            "nor method, dataset, .*, delta and one for each metric",
        ),
    ],
    ids=[
        *("row", "end", "metric", "seed", "value", "fields", "columns", "garbage", "bytes", "empty"),
        *("wide row", "wide fields", "wide seed", "wide value", "wide more", "twice", "no name", "no metric"),
    ],
)
def test_a_damaged_results_file_is_told(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "toy.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as error:
        run(
            Study(name="toy", cells=cells(method="toy", dataset="adult", epsilon=1.0), measure=toy),
            folder=tmp_path,
        )
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == content


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here", encoding="utf-8")
    study = Study(name="toy", cells=cells(method="toy", dataset="adult", epsilon=1.0), measure=breaks)
    with pytest.raises(DataError, match=r"cannot write results to .*file"):
        run(study, folder=tmp_path / "file" / "results")


@pytest.mark.parametrize("folder", ["file/results", "file"])
def test_the_command_tells_mistakes_in_a_line(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("here", encoding="utf-8")
    monkeypatch.setattr(experiments, "GRIDS", {"toy": lambda: Study("toy", CELLS, toy)})
    assert experiments.main(["toy", "--results", str(tmp_path / folder)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


KILLED = """
import os, sys, time
from pathlib import Path
from private_trees.studies import runs
{twin}
def slow(cell):
    os.write(1, b"%d\\n" % os.getpid())  # one write, so that two workers' lines cannot mix
    time.sleep(60)
    return {{"accuracy": 0.0}}
if __name__ == "__main__":
    grid = runs.cells(method="toy", dataset="adult", epsilon=1.0, seed=range(4))
    runs.run(runs.Study(name="toy", cells=grid, measure=slow), folder=Path(sys.argv[1]), jobs=2)
"""


def left_after_a_kill(folder: Path, *, twin: str = "") -> list[int]:
    """Workers that are alive two seconds after their parent was killed."""
    script = folder / "killed.py"
    script.write_text(KILLED.format(twin=twin), encoding="utf-8")
    parent = subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert parent.stdout is not None
    workers = [int(parent.stdout.readline()) for _ in range(2)]
    parent.kill()
    parent.wait()
    ends = time.monotonic() + 2
    while time.monotonic() < ends and any(map(alive, workers)):
        time.sleep(0.05)
    left = [worker for worker in workers if alive(worker)]
    for worker in left:
        os.kill(worker, signal.SIGKILL)
    return left


def alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks processes up in /proc")
def test_no_worker_outlives_a_killed_run(tmp_path: Path) -> None:
    assert left_after_a_kill(tmp_path) == []
    assert len(left_after_a_kill(tmp_path, twin="runs.as_worker = int")) == 2  # broken twin


def test_every_command_that_the_book_names_does_something(root: Path) -> None:
    """``python -m`` runs a module; broken twin: one that defines ``main`` and does not call it."""
    pages = [*root.glob("*.md"), *(root / "book").glob("*.md"), root / "Makefile"]
    pages += [*(root / "notebooks").glob("*.ipynb"), *(root / "book" / "private_trees").rglob("*.py")]
    named = {
        name
        for page in pages
        for name in re.findall(r"python -m (private_trees[a-z_.]*[a-z_])", page.read_text(encoding="utf-8"))
    }

    def runs_something(name: str) -> bool:
        path = root.joinpath("book", *name.split(".")).with_suffix(".py")
        return '\nif __name__ == "__main__":\n' in path.read_text(encoding="utf-8")

    assert {"private_trees.experiments", "private_trees.standin", "private_trees.site.pdf"} <= named
    assert [name for name in sorted(named) if not runs_something(name)] == []
    assert not runs_something("private_trees.studies.runs")


def test_a_notebook_in_another_folder_finds_the_results(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert runs.results_folder() == root / "results"
    (tmp_path / "results").mkdir()
    (tmp_path / "_toc.yml").touch()
    assert runs.results_folder() == tmp_path / "results"  # another checkout's own
    monkeypatch.setattr(runs, "__file__", str(tmp_path.parent / "runs.py"))
    monkeypatch.chdir(tmp_path.parent)
    with pytest.raises(FileNotFoundError, match="no results folder above"):
        runs.results_folder()
