"""The table of attacks on other people's software is whole, and its bounds follow from its counts.

The attacks themselves need that software, in an environment of its own: see ``benchmarks/peers/README.md``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from dpnb.audit import epsilon_bound

COLUMNS = [
    "case", "subject", "version", "relation_documented", "relation_tested", "claimed", "delta", "runs",
    "confidence", "lower_bound", "pair", "event", "command",
]  # fmt: skip
COUNTS = re.compile(r": (\d+) of (\d+) on D, (\d+) of (\d+) on D′$")
PEERS = Path("benchmarks") / "peers"


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
    versions = provenance["versions"]
    assert {name: number for name, number in versions.items() if name in pinned} == {
        name: pinned[name] for name in versions if name not in ("dpnb", "python")
    }
    assert set(frame["version"]) == {f"{name} {pinned[name]}" for name in ("diffprivlib", "interpret-core")}


def test_requirements_are_exact_versions_without_addresses(root: Path) -> None:
    text = (root / PEERS / "requirements.txt").read_text(encoding="utf-8")
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
