"""The cost model of the chapter on scale."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpnb import PrivateBooster, load
from dpnb.arrays import FIXED_POINT
from dpnb.records.grid import public_grid
from dpnb.records.memory import ScoredRecords
from dpnb.records.shapes import Layout
from private_trees.chapters import scale as chapter
from private_trees.papers import BY_CHAPTER
from private_trees.studies import scale
from registered import ENTRIES

TRUE = scale.PassCost(fixed=0.2, record=1e-8, value=2e-8)


def measured(cost: scale.PassCost) -> pd.DataFrame:
    cells = itertools.product((1e6, 5e6, 1e7), (1, 2), (7, 14))
    table = pd.DataFrame(cells, columns=["rows", "cores", "attributes"])
    seconds = [cost.seconds(rows=r, attributes=a, cores=c) for r, c, a in table.to_numpy()]
    return table.assign(pass_s=seconds)


def test_costs_are_found_again() -> None:
    found = scale.fit_pass_cost(measured(TRUE))
    assert (found.fixed, found.record, found.value) == pytest.approx((0.2, 1e-8, 2e-8), rel=1e-6)
    other = scale.fit_pass_cost(measured(TRUE).assign(cores=1))  # broken twin: cores that do not help
    assert found.value != pytest.approx(other.value, rel=0.1)


def test_costs_are_not_negative() -> None:
    table = measured(TRUE).assign(
        pass_s=lambda t: np.where(t["rows"] > 1e6, t["pass_s"] * 2, t["pass_s"] / 4)
    )
    found = scale.fit_pass_cost(table)
    assert min(found.fixed, found.record, found.value) >= 0


def test_a_pass_takes_the_longer_the_more_it_reads() -> None:
    base = TRUE.seconds(rows=1e6, attributes=14, cores=2)
    assert base == pytest.approx(0.2 + 1e6 * (1e-8 + 28e-8) / 2)
    assert TRUE.seconds(rows=2e6, attributes=14, cores=4) == pytest.approx(base)
    assert TRUE.seconds(rows=2e6, attributes=14, cores=2) > base


def test_bytes_of_an_answer() -> None:
    assert scale.table_bytes(nodes=1, classes=2, bins=400) == 12_800
    assert scale.table_bytes(nodes=8, classes=2, bins=400) == 8 * 12_800


def test_rounds_ask_for_as_many_cells_as_the_chapter_says(monkeypatch: pytest.MonkeyPatch) -> None:
    data, cells, residuals = load("adult-standin"), set[int](), ScoredRecords.residuals

    def asked(self: ScoredRecords, layout: Layout) -> np.ndarray:
        cells.add(layout.total)
        return residuals(self, layout)

    monkeypatch.setattr(ScoredRecords, "residuals", asked)
    bins, products = int(public_grid(data.domain).sizes.sum()), chapter.product_cells(data.domain)
    PrivateBooster(n_rounds=4, domain=data.domain, random_state=0).fit(*data.train)
    assert cells == {bins, bins + products}
    cells.clear()
    PrivateBooster(n_rounds=4, additive=True, domain=data.domain, random_state=0).fit(*data.train)
    assert cells == {bins}  # broken twin: stumps alone
    sizes = chapter.answer_sizes(bins=bins, classes=2, products=products)["KB a task, at most"]
    assert sizes["a round of stumps"] < sizes["a round of stumps and products"]


def test_the_committed_measurements_are_complete(root: Path) -> None:
    table = scale.read_scale(root / "results")
    keys = ["model", "rows", "cores", "attributes"]
    assert not table.duplicated(keys).any()
    assert set(table["model"]) == {"booster", "booster with δ", "Pearson tree", "eDPRF", "DiffPRFs"}
    largest = table[table["rows"] == 10_000_000]
    assert set(largest["model"]) == set(table["model"])
    assert (table["all_mb"] < 8 * 1024).all()
    passes = table["pass_list_s"].str.split().map(len)
    assert (passes == table["passes"]).all()


def test_the_second_core_brings_what_the_chapter_says(root: Path) -> None:
    table = scale.read_scale(root / "results").query("attributes == 14")
    at = table.set_index(["model", "rows", "cores"])["pass_s"]
    gain = {name: at[name, 10_000_000, 1] / at[name, 10_000_000, 2] for name in ("booster", "Pearson tree")}
    assert gain == pytest.approx({"booster": 1.26, "Pearson tree": 1.59}, abs=0.005)
    assert gain != pytest.approx({"booster": 1.59, "Pearson tree": 1.26}, abs=0.005)  # broken twin


def test_what_the_chapter_says_about_spark() -> None:
    trained = {name for name, entry in ENTRIES.items() if entry.in_spark}
    assert {
        *(paper.estimator.__name__ for paper in BY_CHAPTER),
        "PrivateBooster",
        "RandomSplitForest",
    } <= trained
    assert "DiffPRF" not in trained  # one of the older methods


def test_rounded_weights_of_neighbouring_floats_differ_once_in_two_to_the_25() -> None:
    """The same ratio in small: steps of 2^-5 and floats 2^-16 apart differ in one of 2^11 cases."""
    fine = np.arange(2**15, 2**16) / 2**16  # all "floats" in [1/2, 1)
    moved = np.round(fine * 2**5) != np.round((fine + 2.0**-16) * 2**5)
    assert moved.mean() == 2.0**-11
    assert np.spacing(0.5) * FIXED_POINT == 2.0**-25
    assert np.spacing(0.49) * FIXED_POINT < 2.0**-25
