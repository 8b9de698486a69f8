"""The page of the benchmarks shows what their table says, and the table only grows. No test depends on a timing."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def made() -> ModuleType:
    """Return the module that makes the page."""
    spec = importlib.util.spec_from_file_location("benchmarks_page", ROOT / "benchmarks" / "page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def history(made: ModuleType) -> pd.DataFrame:
    return made.read(ROOT / made.RESULTS)


def faults(history: pd.DataFrame, made: ModuleType) -> list[str]:
    """What is wrong with the table."""
    found = [] if list(history.columns) == made.COLUMNS else [f"columns {', '.join(history.columns)}"]
    if found:
        return found
    for row in history.to_dict("records"):
        found += [f"{row['case']}: {fault}" for fault in row_faults(row, made)]
    twice = history[history.duplicated(made.KEY)]
    found += [f"{case}, {data}: twice at {commit}" for case, data, commit in twice[made.KEY].to_numpy()]
    if not history["date"].is_monotonic_increasing:
        found.append("a row stands before an older one")
    return found


def row_faults(row: dict[Any, Any], made: ModuleType) -> list[str]:
    """What is wrong with one row by itself."""
    shapes = {
        "date": r"\d{4}-\d\d-\d\d",
        "commit": r"[0-9a-f]{7,}(-dirty)?",
        "case": "|".join(made.MEANING),
        "peer": "forest|binning",
        "data": r"adult(-standin)?( x\d+)?",
    }
    shapes |= dict.fromkeys(("version", "python", "numpy", "sklearn"), r"\d+\.\d+[.\w+]*")
    found = [name for name, shape in shapes.items() if not re.fullmatch(shape, row[name])]
    if not 0 < row["lower"] <= row["ratio"] <= row["upper"]:
        found.append("quartiles")
    found += [name for name in ("rows", "pairs", "peer_seconds", "peak_mb") if not row[name] > 0]
    return found + ["first_seconds"] * bool(row["first_seconds"] <= 0)  # rows of before have none


def test_the_page_is_the_table(made: ModuleType, history: pd.DataFrame) -> None:
    assert (ROOT / made.PAGE).read_text(encoding="utf-8") == made.page(history)


def test_another_table_makes_another_page(made: ModuleType, history: pd.DataFrame) -> None:
    twin = history.assign(ratio=np.where(history.index == len(history) - 1, 99.0, history["ratio"]))
    assert made.page(twin) != made.page(history)


def test_the_table_is_whole(made: ModuleType, history: pd.DataFrame) -> None:
    assert len(history) > 0
    assert faults(history, made) == []
    assert set(history["case"]) == set(made.MEANING)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda t: pd.concat([t, t.tail(1)]), "twice at"),
        (lambda t: t[::-1].assign(date=[f"2026-01-{d:02}" for d in (3, 2)]), "before an older one"),
        (lambda t: t.assign(ratio=0.0), "quartiles"),
        (lambda t: t.assign(commit="HEAD"), "commit"),
        (lambda t: t.assign(first_seconds=0.0), "first_seconds"),
        (lambda t: t.assign(case="another"), "case"),
        (lambda t: t.drop(columns="pairs"), "columns"),
    ],
)
def test_a_broken_table_is_caught(
    change: Any, expected: str, made: ModuleType, history: pd.DataFrame
) -> None:
    good = history.head(2)
    assert faults(good, made) == []
    assert any(expected in fault for fault in faults(change(good), made))


def test_a_target_is_met_or_not(made: ModuleType, history: pd.DataFrame) -> None:
    """The verdict follows from the latest row on Adult alone."""
    row = history.head(1).assign(case="edprf", peer="forest", data="adult")
    for ratio, verdict in ((1.0, "| 1.00 | met |"), (1.01, "| 1.01 | **not met** |")):
        table = pd.concat([row.assign(ratio=5.0), row.assign(ratio=ratio)])
        assert f"| `edprf` | ≤ 1.0 {verdict}" in made.page(table)
    assert "| `edprf` | ≤" not in made.page(row.assign(data="adult x33"))


def commits(page: str, heading: str) -> list[str]:
    """Commits that a section of the page names."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    return re.findall(r"commit `([0-9a-f]{7,})`", section)


def test_a_table_is_of_one_commit(made: ModuleType, history: pd.DataFrame) -> None:
    one = history[(history["commit"] == history["commit"].iloc[0]) & (history["data"] == "adult")]
    code = one.assign(commit="abcdef0", ratio=77.0, lower=77.0, upper=77.0)  # other code, one size
    both = pd.concat([history, code.assign(case=history["case"].iloc[0]).head(1)])
    page = made.page(both)
    latest, growth = (re.split(r"^## ", page, flags=re.MULTILINE)[i] for i in (3, 4))
    assert "77.00" not in latest + growth  # a commit that measured a single case adds no row to either table
    assert "77.00" in page  # but to the history
    assert len(commits(page, "Latest measurements")) == len(commits(page, "Growth with the records")) == 1
    for heading in ("Latest measurements", "Growth with the records"):
        (commit,) = commits(page, heading)
        assert commit in set(history["commit"])
    last = both.drop_duplicates(
        ["case", "data"], keep="last"
    )  # broken twin: the last row of each case and size
    assert last["commit"].nunique() > 1


def test_a_row_is_added_below(
    made: ModuleType, history: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    run = importlib.import_module("run")
    table = tmp_path / "table.csv"
    rows = history.head(2).to_dict("records")
    run.append(rows[0], table)
    before = table.read_text(encoding="utf-8")
    run.append(rows[1], table)
    assert table.read_text(encoding="utf-8").startswith(before)
    pd.testing.assert_frame_equal(made.read(table), history.head(2))
    assert list(tmp_path.iterdir()) == [table]


def test_the_pure_booster_became_slower_and_the_one_with_delta_faster(history: pd.DataFrame) -> None:
    ratio = history.query("data == 'adult'").set_index(["case", "commit"])["ratio"]
    pure, delta = (ratio[case] for case in ("booster-defaults", "booster-delta-defaults"))
    since = list(pure.index)[list(pure.index).index("f629b95") :]
    assert (pure[since] > 1.5 * pure["17b3f56"]).all()
    assert pure[since].is_monotonic_decreasing
    assert (delta[since] < delta["17b3f56"]).all()
    assert not (pure[since] < pure["17b3f56"]).any()  # broken twin: that it became faster


def test_every_case_has_words_and_every_target_a_case(made: ModuleType) -> None:
    cases = re.findall(
        r'TimedCase\("([\w-]+)", "', (ROOT / "benchmarks" / "run.py").read_text(encoding="utf-8")
    )
    assert cases == list(made.MEANING)
    assert set(made.TARGETS) <= set(cases)
