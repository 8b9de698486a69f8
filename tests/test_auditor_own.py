"""The book's estimators with their defaults: no bound is above the ledger, and those of twins are."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from dpnb.book.runs import read, wide
from dpnb.book.studies.auditor_own import MANY, OWN, REPLAY, SCAN, TWIN, above, summary

CAUGHT = ("PrivateBooster", "DPAda", "EDPRF")  # replays of the others tell too little to convict


@pytest.fixture(scope="module")
def table(root: Path) -> pd.DataFrame:
    return read("auditor_own", root / "results")


def test_no_bound_is_above_the_ledger(table: pd.DataFrame) -> None:
    assert set(above(table)["method"]) <= {TWIN + name for name in OWN}
    halved = table.assign(value=table["value"].where(table["metric"] != "ledger", table["value"] / 2))
    assert set(above(halved)["method"]) & set(OWN)  # broken twin: ledgers that tell half


def test_twins_that_spend_half_as_much_again_are_convicted(table: pd.DataFrame) -> None:
    assert set(above(table)["method"]) == {TWIN + name for name in CAUGHT}
    assert set(CAUGHT) < set(OWN)


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
