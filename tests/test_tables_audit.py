"""What the audit chapter says of the auditor's own bounds is what the studies hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from private_trees import audits
from private_trees.auditing.counts import clopper_pearson
from private_trees.studies.runs import read
from private_trees.tables import audit as tables_audit


@pytest.fixture
def folder(root: Path) -> Path:
    return root / "results"


def covered(folder: Path) -> pd.DataFrame:
    return tables_audit.covered(read("auditor_coverage", folder), read("betting_coverage", folder))


def test_coverage_counts_every_repetition(folder: Path) -> None:
    found, curves = covered(folder), read("auditor_coverage", folder)
    bets = read("betting_coverage", folder)
    total = sum(table.loc[table["metric"] == "repetitions", "value"].sum() for table in (curves, bets))
    assert found["repetitions"].sum() == total
    wrong = (
        curves[curves["metric"] == "failures"]["value"].sum() + bets[bets["metric"] == "wrong"]["value"].sum()
    )
    assert found["wrong"].sum() == wrong
    assert (found["repetitions"] >= 1000).all()
    assert set(found["rule"]) == set(tables_audit.RULES.values())
    twins = found["rule"].str.startswith(tables_audit.BROKEN)
    assert (found.loc[twins, "wrong"] / found.loc[twins, "repetitions"] > 0.05).all()


def test_a_rule_without_a_name_is_refused(folder: Path) -> None:
    curves = read("auditor_coverage", folder)
    curves = curves.assign(method=curves["method"].replace("one run, ε", "a new rule"))
    found = tables_audit.covered(curves, read("betting_coverage", folder))
    assert "one run, ε" not in set(found["rule"])  # it is missed, and the test above would tell


def test_intervals_hold_the_shares(folder: Path) -> None:
    rules = tables_audit.by_rule(covered(folder))
    assert ((rules["low"] <= rules["share"]) & (rules["share"] <= rules["high"])).all()
    bets = rules.loc["bets"]
    low, high = clopper_pearson(int(bets["wrong"]), int(bets["repetitions"]), alpha=0.05)
    assert (bets["low"], bets["high"]) == (pytest.approx(float(low)), pytest.approx(float(high)))


def test_ratios_are_those_of_the_studies(folder: Path) -> None:
    curves, bets = read("auditor_power", folder), read("betting_power", folder)
    found = tables_audit.ratios(curves, bets)
    assert found.shape == (15, 8)
    assert not found.isna().any(axis=None)
    picked = curves[
        (curves["method"] == "Laplace") & (curves["epsilon"] == 2) & (curves["utility"] == "2000")
    ]
    assert found.loc[("Laplace", 2.0), "curve, 2 000"] == picked.set_index("metric")["value"]["curve"]
    picked = bets[
        (bets["method"] == "Gaussian, δ = .01") & (bets["utility"] == "betting") & (bets["epsilon"] == 1)
    ]
    picked = picked[(picked["n_rounds"] == 20_000) & (picked["metric"] == "share of the truth")]
    assert found.loc[("Gaussian", 1.0), "bets, 20 000"] == picked["value"].item()


def test_no_test_of_guesses_needs_fewer_runs_than_the_least(folder: Path) -> None:
    runs = tables_audit.convicted(read("betting_conviction", folder))
    assert runs.shape == (15, 5)
    assert (runs["least"] < runs["bets"]).all()
    assert (runs["bets"] < runs["tenth"]).all()  # a mean beside a ninth decile would compare two powers
    assert (runs["tenth"] <= runs["longest"]).all()


def test_games_of_coins_follow_their_claims() -> None:
    coins = {"honest": 1.0, "broken": 3.0}
    played = audits.games(coins, claim=1.0, most=120, repeats=30, seed=0)
    most = played.groupby(["name", "game"])["wealth"].max()
    assert (most["broken"] >= 100).mean() > 0.9
    assert (most["honest"] >= 100).mean() < 0.1
    climbed = audits.climbing(coins, most=20_000, audits=3, seed=0)
    paths = climbed.pivot(index="runs", columns=["name", "audit"], values="bound")
    assert (np.diff(paths.to_numpy(), axis=0) >= 0).all()
    last = paths.iloc[-1]
    assert (last["honest"] < 1.05).all()
    assert (last["broken"] > 2.5).all()
