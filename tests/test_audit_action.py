"""The GitHub Action that audits an estimator: its steps are run here as GitHub runs them, but for the installation."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpaudit import assert_private
from dpaudit.cli import _options
from dpaudit.report import SUFFIXES

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".github" / "actions" / "audit"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
MINE = """
class Honest:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return [0] * len(X)


class Broken(Honest):
    def fit(self, X, y):
        self.n_records_ = len(X)
        return self
"""


@dataclass
class Outcome:
    """Status of the first step that fails, else 0; what was told; the summary; what was to be installed."""

    status: int
    told: str
    summary: str
    installed: list[str]


def substituted(text: str, inputs: dict[str, str]) -> str:
    """Replace ``${{ inputs.name }}`` by a value, and by nothing if it has none, as GitHub does."""
    return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs.get(found[1], ""), text)


def run_action(folder: Path, **given: str) -> Outcome:
    """Run the steps that are scripts; ``python -m pip`` is written down instead."""
    inputs = {name: one["default"] for name, one in ACTION["inputs"].items() if "default" in one} | given
    tools, log, summary = folder / "tools", folder / "pip.txt", folder / "summary.md"
    tools.mkdir()
    python = shlex.quote(sys.executable)
    (tools / "python").write_text(
        f'#!/bin/sh\n[ "$2" = pip ] && {{ printf "%s\\n" "$*" >>{shlex.quote(str(log))}; exit 0; }}\n'
        f'exec {python} "$@"\n'
    )
    (tools / "python").chmod(0o755)
    (folder / "mine.py").write_text(MINE, encoding="utf-8")
    told, status = "", 0
    for step in (step for step in STEPS if "run" in step):
        assert step["shell"] == "bash"
        own = {name: substituted(value, inputs) for name, value in step.get("env", {}).items()}
        places = {"GITHUB_ACTION_PATH": str(FOLDER), "GITHUB_STEP_SUMMARY": str(summary)}
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", substituted(step["run"], inputs)],
            cwd=folder,
            env={**os.environ, **places, **own, "PATH": path, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        told, status = told + done.stdout + done.stderr, done.returncode
        if status:
            break
    text = summary.read_text(encoding="utf-8") if summary.exists() else ""
    return Outcome(status, told, text, log.read_text().splitlines())


@pytest.mark.parametrize(
    ("given", "status", "verdict", "words"),
    [
        ({"estimator": "mine:Honest"}, 0, "No violation found", "no violation found"),
        ({"estimator": "mine:Honest", "neighbours": "replace", "delta": "1e-5"}, 0, "No violation found", "(replace)"),
        ({"estimator": "mine:Broken"}, 1, "The claim is refuted", "holds the number of records"),
        ({"estimator": "mine:Brocken"}, 2, "No verdict", "did you mean 'Broken'"),
        ({"estimator": "$(touch run)"}, 2, "No verdict", "expected module:function"),
        ({"estimator": "mine:Honest", "epsilon": "-1"}, 2, "No verdict", "expected a positive number"),
    ],
)  # fmt: skip
def test_the_action_fails_where_the_claim_does(
    tmp_path: Path, given: dict[str, str], status: int, verdict: str, words: str
) -> None:
    done = run_action(tmp_path, **{"epsilon": "1", "minutes": "0.1"} | given)
    assert done.status == status, done.told
    assert done.summary.splitlines()[0] == f"## Privacy audit: {verdict}"
    assert words in done.summary
    assert words in done.told
    assert (tmp_path / "privacy-audit.html").exists() == (status < 2)
    assert not (tmp_path / "run").exists()
    assert [shlex.split(line)[-1] for line in done.installed] == [f"{ROOT}[plot]"]


def test_the_action_hands_on_all_inputs_and_has_the_command_s_defaults() -> None:
    inputs: dict[str, Any] = ACTION["inputs"]
    assert {name for name, one in inputs.items() if one.get("required")} == {"estimator", "epsilon"}
    (audit,) = (step for step in STEPS if step.get("name") == "Audit")
    assert set(audit["env"].values()) == {f"${{{{ inputs.{name} }}}}" for name in inputs if name != "python"}
    usual = vars(_options(["mine:factory", "--epsilon", "1"]))
    for name in ("delta", "neighbours", "minutes", "confidence"):
        assert type(usual[name])(inputs[name]["default"]) == usual[name], name
    assert inspect.signature(assert_private).parameters["confidence"].default == usual["confidence"]
    assert Path(inputs["report"]["default"]).suffix in SUFFIXES


def test_the_report_is_uploaded_whatever_the_verdict() -> None:
    upload = STEPS[-1]
    assert upload["uses"].startswith("actions/upload-artifact@")
    assert upload["if"] == "always()"
    assert upload["with"]["path"] == "${{ inputs.report }}"
    assert not any("continue-on-error" in step for step in STEPS)
