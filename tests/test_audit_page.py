"""The page on auditing one's own estimator: its code runs, and says what the page says."""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from dpaudit import PrivacyViolation

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "book" / "audit-yours.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
MINE = """
class PrivateForest:
    def fit(self, X, y):
        {kept}
        return self

    def predict(self, X):
        return [0] * len(X)
"""
LEAKS, HONEST = MINE.format(kept="self.n_records_ = len(X)"), MINE.format(kept="pass")


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, whose module ``mine`` is written by the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    importlib.invalidate_caches()
    return tmp_path / "mine.py"


def test_every_block_is_run() -> None:
    assert [kind for kind, _ in BLOCKS] == ["bash", "python", "text", "bash", "yaml", "python"]


def test_the_test_fails_as_the_page_shows(mine: Path) -> None:
    mine.write_text(LEAKS, encoding="utf-8")
    space: dict[str, Any] = {}
    exec(blocks("python")[0], space)
    with pytest.raises(PrivacyViolation) as caught:
        space["test_it_keeps_its_promise"]()
    shown = re.escape(blocks("text")[0].strip()).replace("…", ".*")
    assert re.match(shown, str(caught.value).strip(), re.DOTALL)


def test_the_test_passes_for_an_honest_estimator(mine: Path) -> None:
    mine.write_text(HONEST, encoding="utf-8")
    space: dict[str, Any] = {}
    exec(blocks("python")[0].replace("epsilon=1.0", "epsilon=1.0, runs=40"), space)
    space["test_it_keeps_its_promise"]()


@pytest.mark.parametrize(("leak", "status"), [("", 0), (", random_state=0", 1)])
def test_the_booster_is_audited_as_the_page_says(mine: Path, leak: str, status: int) -> None:
    lines = blocks("bash")[0].replace("delta=1e-6)", f"delta=1e-6{leak})")
    command = lines.replace("python -m", f"{sys.executable} -W ignore -m").replace(
        "> audit", "--runs 40 > audit"
    )
    assert subprocess.run(command, shell=True, check=False, capture_output=True).returncode == status
    text = (mine.parent / "audit.txt").read_text(encoding="utf-8")
    assert text.count("no violation found") == (2 if status == 0 else 0)


@pytest.mark.parametrize(("content", "status"), [(LEAKS, 1), (HONEST, 0)])
def test_the_command_says_so_by_its_status(mine: Path, content: str, status: int) -> None:
    mine.write_text(content, encoding="utf-8")
    program, *arguments = shlex.split(blocks("bash")[1])
    assert program == "python"
    done = subprocess.run(
        [sys.executable, *arguments, *["--runs", "40"]], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert (mine.parent / "report.html").stat().st_size > 1_000


def test_the_workflow_uses_the_action_of_this_repository() -> None:
    (text,) = blocks("yaml")
    assert len(text.splitlines()) == 6
    checkout, audit = yaml.safe_load(text)["jobs"]["audit"]["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    place, _, branch = audit["uses"].partition("@")
    repository = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]
    assert f"https://github.com/{place}" == f"{repository['url']}/.github/actions/audit"
    assert branch == repository["branch"]
    inputs = yaml.safe_load((ROOT / ".github/actions/audit/action.yml").read_text(encoding="utf-8"))["inputs"]
    assert {name for name, one in inputs.items() if one.get("required")} <= set(audit["with"]) <= set(inputs)


def test_the_monitor_convicts(mine: Path) -> None:
    rng = np.random.default_rng(0)
    space: dict[str, Any] = {
        "data_sets": (0.0, 1.0),
        "run_on": lambda data: [data + rng.normal(scale=0.1)],
    }
    exec(blocks("python")[1], space)
    assert space["watch"].refuted
    assert space["watch"].bound > 1
