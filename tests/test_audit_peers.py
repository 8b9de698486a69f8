"""The table of attacks on other people's software is whole, and its bounds follow from its counts.

Most attacks need an environment of their own: see ``benchmarks/peers/README.md``. Those on OpenDP run here, with few
runs.
"""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from private_trees.auditing.counts import epsilon_bound

COLUMNS = [
    "case", "subject", "version", "relation_documented", "relation_tested", "claimed", "delta", "runs",
    "confidence", "lower_bound", "pair", "event", "command",
]  # fmt: skip
COUNTS = re.compile(r": (\d+) of (\d+) on D, (\d+) of (\d+) on D′$")
PEERS = Path("benchmarks") / "peers"
LUMBERJACK = {"dp-random-forest": "0+b613fe7"}  # has no release; the number is that of a commit
FINDING = [
    "finding", "package", "version", "where", "what", "promise", "readings", "cases", "reported", "threads",
]  # fmt: skip


def table(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "results" / "audit_peers.csv", keep_default_na=False)


def pins(root: Path) -> dict[str, str]:
    lines = (root / PEERS / "requirements.txt").read_text(encoding="utf-8").split()
    return {name: number for name, _, number in (line.partition("==") for line in lines)}


def row_faults(row: dict[Any, Any]) -> list[str]:
    """What is wrong with one row by itself."""
    faults = [f"{name} is empty" for name in COLUMNS if row[name] == ""]
    if row["relation_tested"] not in ("add-remove", "replace"):
        faults.append(f"relation_tested {row['relation_tested']!r}")
    if not (row["claimed"] > 0 and 0 <= row["delta"] < 1 and row["runs"] >= 1000):
        faults.append("claimed, delta or runs out of range")
    if not row["command"].endswith(f"--only {row['case']}"):
        faults.append("the command runs another case")
    counts = COUNTS.search(row["event"])
    if counts is None:
        return [*faults, "the event shows no counts"]
    k, n_k, l, n_l = map(int, counts.groups())  # noqa: E741
    bound = epsilon_bound(k, l, n_k, n_l, confidence=row["confidence"], delta=row["delta"])
    if max(n_k, n_l) > row["runs"] or abs(bound - row["lower_bound"]) > 1e-4:
        faults.append(f"lower_bound {row['lower_bound']} instead of {bound:.4f}")
    return faults


def surely(row: dict[Any, Any], confidence: float) -> float:
    """Bound from the counts of a row at another confidence."""
    found = COUNTS.search(row["event"])
    assert found is not None
    k, n_k, l, n_l = map(int, found.groups())  # noqa: E741
    return epsilon_bound(k, l, n_k, n_l, confidence=confidence, delta=row["delta"])


def faults(frame: pd.DataFrame) -> list[str]:
    """What is wrong with a table, row by row."""
    if list(frame.columns) != COLUMNS:
        return [f"columns {list(frame.columns)}"]
    found = [
        f"{row['case']}: {fault}" for row in frame.to_dict(orient="records") for fault in row_faults(row)
    ]
    for case, rows in frame.groupby("case"):
        if sorted(rows["confidence"]) != [0.95, 0.99]:
            found.append(f"{case}: confidences {sorted(rows['confidence'])}")
    return found


def test_the_table_has_no_fault(root: Path) -> None:
    frame = table(root)
    assert faults(frame) == []
    assert frame["case"].nunique() >= 15


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("relation_tested", "bounded"),
        ("claimed", 0.0),
        ("runs", 10),
        ("confidence", 0.9),
        ("lower_bound", 9.9),
        ("event", "it differs"),
        ("pair", ""),
        ("command", "python benchmarks/peers/audit_peers.py --only another"),
    ],
)
def test_a_spoilt_row_is_found(root: Path, column: str, value: Any) -> None:
    frame = table(root)
    frame[column] = frame[column].astype(object)
    frame.loc[0, column] = value
    assert faults(frame)


def test_provenance_fits_the_table_and_the_environment(root: Path) -> None:
    frame, pinned = table(root), pins(root)
    provenance = json.loads((root / "results" / "audit_peers.json").read_text(encoding="utf-8"))
    assert set(provenance["seconds_by_case"]) == set(frame["case"])
    assert provenance["cases"] == frame["case"].nunique()
    assert provenance["seconds"] == pytest.approx(sum(provenance["seconds_by_case"].values()), abs=0.1)
    pinned |= LUMBERJACK
    versions = provenance["versions"]
    assert {name: number for name, number in versions.items() if name in pinned} == {
        name: pinned[name] for name in versions if name not in ("dpnb", "python")
    }
    names = ("diffprivlib", "interpret-core", "dp-xgboost", "dp-random-forest", "opendp")
    assert set(frame["version"]) == {f"{name} {pinned[name]}" for name in names}


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-mst.txt"])
def test_requirements_are_exact_versions_without_addresses(root: Path, name: str) -> None:
    text = (root / PEERS / name).read_text(encoding="utf-8")
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*", line) for line in text.splitlines())


def test_the_readme_shows_the_numbers_of_the_table(root: Path) -> None:
    shown = {
        cells[0].strip("`"): tuple(cells[1:4])
        for line in (root / PEERS / "README.md").read_text(encoding="utf-8").splitlines()
        if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 5
        and cells[0].startswith("`")
    }
    frame = table(root)
    wanted = {
        case: (f"{rows['claimed'].iloc[0]:g}", *(f"{bound:.2f}" for bound in rows["lower_bound"]))
        for case, rows in frame.sort_values("confidence").groupby("case")
    }
    assert shown == wanted


# What was found, for those whose software it is


def findings(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "results" / "audit_peers_disclosure.csv", keep_default_na=False)


def disclosure_faults(found: pd.DataFrame, frame: pd.DataFrame) -> list[str]:
    """What is wrong with the list of findings, given the table of attacks."""
    if list(found.columns) != FINDING:
        return [f"columns {list(found.columns)}"]
    faults = [f"{name} is empty" for name in FINDING if (found[name] == "").any()]
    faults += [
        f"reported {value!r}" for value in found["reported"] if not re.match(r"no$|yes, https://", value)
    ]
    rows = frame[frame["confidence"] == 0.95].set_index("case")
    named = [(case, row) for row in found.to_dict("records") for case in row["cases"].split()]
    above = rows.index[rows["lower_bound"] > rows["claimed"]]
    if sorted(case for case, _ in named) != sorted(above):
        faults.append("not each attack above its claim stands in one finding")
    faults += [
        f"{case}: {row['package']} {row['version']}"
        for case, row in named
        if case in rows.index and rows.loc[case, "version"] != f"{row['package']} {row['version']}"
    ]
    return faults


def test_every_bound_above_a_claim_is_a_finding(root: Path) -> None:
    found, frame = findings(root), table(root)
    assert disclosure_faults(found, frame) == []
    twins = {
        "a finding is gone": found[1:],
        "a case is in no table": found.assign(cases=found["cases"].replace("bayes-add-remove-1", "bayes")),
        "no reading": found.assign(readings=""),
        "another version": found.assign(version="0.1"),
        "reported somewhere": found.assign(reported="yes"),
    }
    for what, twin in twins.items():
        assert disclosure_faults(twin, frame), what


def test_the_readme_says_what_was_reported(root: Path) -> None:
    assert set(findings(root)["reported"]) == {"no"}
    assert "Nothing of it has been reported by us so far." in (root / PEERS / "README.md").read_text("utf-8")


# Attacks that run here


@pytest.fixture
def script(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(root / PEERS))
    return importlib.import_module("audit_peers")


def test_opendp_is_attacked_by_one_command(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [case.name for case in script.cases() if case.package == "opendp"]
    command = ["--quick", "--jobs", "1", "--out", str(tmp_path), "--only", *names, "forest-1-replace-1"]
    assert script.main(command) == 0
    found = pd.read_csv(tmp_path / "audit_peers.csv")
    assert set(found["case"]) - {"forest-1-replace-1"} == set(names)
    honest = found[found["case"].isin(names)]
    assert (honest["runs"] == script.QUICK).all()
    # OpenDP's noise takes no seed: an alarm once in 10⁷ runs of this test at most for each case.
    assert all(surely(row, 1 - 1e-7) <= row["claimed"] for row in honest.to_dict("records"))
    assert honest.groupby("case")["lower_bound"].max().min() > 0.1  # the attack is not blind
    assert [fault for fault in faults(honest) if "out of range" not in fault] == []
    if script.installed("diffprivlib") is None:
        assert "not installed, and left out:" in capsys.readouterr().err


def test_a_claim_of_a_third_is_refuted(script: ModuleType) -> None:
    """The broken twin: the same law under a claim that it does not keep."""
    known = {case.name: case for case in script.cases()}
    for name in ("opendp-max-replace-1", "opendp-max-add-remove-1"):
        case = replace(known[name], runs=2 * script.QUICK, claimed=1 / 3)
        rows = script.measure(case, jobs=1, progress=False)
        assert all(row["lower_bound"] > row["claimed"] for row in rows)


def test_opendp_states_the_claims_that_are_tested(script: ModuleType) -> None:
    for case in script.cases():
        if case.package == "opendp":
            assert case.factory().loss(case.delta) == pytest.approx(case.claimed, abs=1e-3)


def test_cases_are_told_apart_and_can_be_made_without_the_software(script: ModuleType, root: Path) -> None:
    names = [case.name for case in script.cases()]
    assert len(set(names)) == len(names)
    assert set(names) == set(table(root)["case"])


def test_a_leaf_of_boosted_trees_is_worked_out(script: ModuleType) -> None:
    module = importlib.import_module("audit_xgboost")
    labels = np.repeat([0, 1], [5, 3])
    assert module.leaf(labels, margin=0.0) == pytest.approx(-1 / 3)  # gradients add up to 1, hessians to 2
    assert module.leaf(labels, margin=9.0) == 0.0  # hessians add up to less than 1
    same = module.Trees(2)
    same.trees_ = [{"leaf": -1 / 3 + 0.5}, {"leaf": 0.5 + module.leaf(labels, margin=-1 / 3 + 0.5)}]
    assert module.noise_is_shared(same, labels=labels) == [True]
    assert module.noise_is_shared(same, labels=np.repeat([0, 1], 4)) == [False]
