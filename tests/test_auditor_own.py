"""The book's estimators with their defaults: no bound is above the ledger, and those of twins are."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from private_trees.studies.auditor_own import MANY, OWN, REPLAY, SCAN, TWINS, above, caught, summary
from private_trees.studies.runs import read, wide

CAUGHT = ("PrivateBooster", "DPAda", "EDPRF")  # at half as much again


@pytest.fixture(scope="module")
def table(root: Path) -> pd.DataFrame:
    return read("auditor_own", root / "results")


def test_no_bound_is_above_the_ledger(table: pd.DataFrame) -> None:
    assert not set(above(table)["method"]) & set(OWN)
    halved = table.assign(value=table["value"].where(table["metric"] != "ledger", table["value"] / 2))
    assert set(above(halved)["method"]) & set(OWN)  # broken twin: ledgers that tell half


def test_twins_that_spend_too_much_are_convicted(table: pd.DataFrame) -> None:
    found = caught(table)
    assert set(found.index) == set(OWN)
    assert (found[list(CAUGHT)] == min(TWINS.values())).all()
    at_once = table[table["method"].isin([twin + name for twin in TWINS for name in CAUGHT])]
    halved = at_once.assign(value=at_once["value"].where(at_once["metric"] != "bound", at_once["value"] / 2))
    missed = caught(halved)  # with bounds half as large twins have to spend more
    assert (missed[list(CAUGHT)] > min(TWINS.values())).all()


def test_ledgers_tell_the_claims(table: pd.DataFrame) -> None:
    rows = wide(table)
    rows = rows[rows["method"].isin(list(OWN))]
    assert (rows["ledger"] <= rows["epsilon"] * (1 + 1e-9)).all()
    assert (rows["share"] - rows["bound"] / rows["ledger"]).abs().max() < 1e-5


def test_the_summary_has_a_row_a_guarantee_and_relation(table: pd.DataFrame) -> None:
    found = summary(table)
    assert len(found) == 2 * len(OWN)
    assert found.index.is_unique
    assert found["of the ledger"].max() == wide(table).query("method in @OWN")["share"].max()
    assert found[[REPLAY, SCAN]].notna().all(axis=None)
    assert MANY not in found
