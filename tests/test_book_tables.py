"""Tables of the chapters: what they sum up, in which order, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from dpnb import load
from dpnb.book import experiments, runs, tables
from dpnb.book.runs import Study, cells, run
from dpnb.book.studies import pearson
from dpnb.counts import Records
from dpnb.papers.edprf import EDPRF
from dpnb.papers.pearson import PearsonTree


def test_compare_gives_the_means_of_single_fits() -> None:
    data = load("adult-standin")
    tree = PearsonTree(max_depth=2)
    table = tables.compare({"tree": tree}, data, budgets=(1.0, 0.1, 1.0), repeats=2, seed=3)
    assert table.index.tolist() == [("tree", 0.1), ("tree", 1.0)]
    for epsilon in (0.1, 1.0):
        model = PearsonTree(max_depth=2, epsilon=epsilon, domain=data.domain)
        alone = runs.mean_scores(model, data, repeats=2, seed=3)
        assert table.loc[("tree", epsilon)].to_dict() == alone
        assert alone["true epsilon"] == pytest.approx(epsilon)
        other = runs.mean_scores(model, data, repeats=2, seed=4)
        assert other["auc"] != alone["auc"]  # broken twin
    part = Records(*(side.iloc[:500] for side in data.train), domain=data.domain)
    fewer = tables.compare({"tree": tree}, data, budgets=(1.0,), repeats=2, seed=3, records=part)
    assert fewer["auc"].item() != table["auc"].iloc[1]


def test_rows_that_do_not_count_are_grey() -> None:
    names = pd.MultiIndex.from_tuples([("adult", "a"), ("adult", "b")])
    table = pd.DataFrame({"x": [0.25, 0.5], "y": [0.75, 1.0]}, index=names)
    page = BeautifulSoup(
        tables.shown(table, "two", formats={}, grey=[("adult", "b")])._repr_html_(), "html.parser"
    )
    style, found = page.find("style").text, {}
    for cell in page.select("tbody th, tbody td"):
        found[cell.text] = f"#{cell['id']}" in style
    assert found == {"adult": False, "a": False, "0.250000": False, "0.750000": False} | {
        "b": True,
        "0.500000": True,
        "1.000000": True,
    }
    assert tables.GREY.split(";")[1].strip() in style
    assert "italic" not in tables.shown(table, "two", formats={})._repr_html_()  # broken twin


def test_attacks_stand_beside_what_theory_says(root: Path) -> None:
    found = runs.read("pearson_attack", root / "results")
    table = tables.attack_table(found, pearson.TARGETS)
    assert list(dict.fromkeys(table.index)) == list(pearson.TARGETS)
    claims = table["claim"].astype(float)
    assert (table.loc[table["theory"] == "holds", "lower_95"] <= 1).all()
    refuted = table[(table["theory"] == "refuted") & (table["lower_95"] > claims)]
    assert len(refuted) == 6  # that of one claim of 1 is not reached by an attack
    with pytest.raises(KeyError):
        tables.attack_table(found, pearson.TARGETS | {"none": pearson.TARGETS["repaired: C"]})


def test_replays_are_summed_up() -> None:
    pair = cells(method="a", neighbours=("add-remove", "replace"), epsilon=1.0)
    rows = [
        vars(cell) | {"delta": 0.0, "metric": metric, "value": value}
        for cell, share in zip(pair, (0.4, 1.2), strict=True)
        for metric, value in (("triples", 50.0), ("worst_share", share), ("excess", float(share > 1)))
    ]
    (row,) = tables.replay_table(pd.DataFrame(rows)).to_dict("records")
    assert row == {
        "replays": 100, "worst_share": 1.2, "above_the_ledger": 1, "add-remove": 0.4, "replace": 1.2,
    }  # fmt: skip


def test_labelled_rows_are_in_the_order_of_the_labels_and_of_epsilon() -> None:
    points = pd.DataFrame({"method": list("abcab"), "epsilon": [2.0, 1.0, 1.0, 1.0, 2.0]})
    table = tables.labelled(points, {"b": "second", "a": "first"})
    assert table[["label", "epsilon"]].to_numpy().tolist() == [
        ["second", 1.0], ["second", 2.0], ["first", 1.0], ["first", 2.0],
    ]  # fmt: skip
    assert tables.labelled(points, ["c"])["label"].tolist() == ["c"]


def test_notes_tell_the_true_epsilon() -> None:
    points = pd.DataFrame(
        {"method": list("aab"), "epsilon": [1.0, 5.0, 1.0], "ledger_epsilon": [np.inf, 5.0, 2.5]}
    )
    notes = tables.step_notes(points, {"a": ({}, "text"), "b": ({}, "next")})
    assert notes == {"a": "text; ε ∞", "b": "next; ε 2.50"}


def test_every_path_spends_the_budget_of_an_aligned_forest() -> None:
    data = load("adult-standin")
    records = Records(*(side.iloc[:2000] for side in data.train), domain=data.domain)
    for model in (EDPRF(n_trees=2, max_depth=3, stop="noisy", random_state=0), PearsonTree(random_state=0)):
        costs = model.fit(records).ledger_.leaf_costs()
        assert len(costs) == sum(tree.n_leaves for tree in model.trees_)
        np.testing.assert_allclose(costs, 1.0)
    loose = EDPRF(n_trees=2, max_depth=3, stop="noisy", align=False, random_state=0)  # broken twin
    assert loose.fit(records).ledger_.leaf_costs().min() < 0.99


def test_results_are_complete_or_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study("toy", cells(method="a", neighbours="replace", epsilon=(0.5, 1.0)), one, repeats=4)
    monkeypatch.setattr(experiments, "GRIDS", {"toy": lambda: study})
    p = SimpleNamespace(results=str(tmp_path), scale="default", jobs=1)
    with pytest.raises(FileNotFoundError, match=r"lacks 2 of 2 runs: run python -m dpnb.experiments toy"):
        experiments.results("toy", p)
    computed = experiments.results("toy", SimpleNamespace(**(vars(p) | {"scale": "paper"})))
    pd.testing.assert_frame_equal(experiments.results("toy", p), computed)
    assert experiments.points("toy", p)["error"].tolist() == pytest.approx([0.1, 0.1])
    pd.testing.assert_frame_equal(run(study, folder=tmp_path), computed)


def one(cell: runs.Cell) -> dict[str, float]:
    return {"accuracy": cell.epsilon, "sd": 0.1}
