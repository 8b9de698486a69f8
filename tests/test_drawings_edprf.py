"""Drawings and tables of the chapter on eDPRF: readable, without faults, and true to what they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from private_trees.drawings import edprf as drawings_edprf
from private_trees.drawings import plots
from private_trees.site import figures
from private_trees.tables import edprf as tables_edprf

LEAST_SIZE = 8.0  # points
PARAMETERS = SimpleNamespace(results="committed", scale="default", jobs=1)
POINTS = pd.DataFrame(
    [
        (dataset, step, epsilon, depth, 0.5 + 0.1 * epsilon, 0.01)
        for dataset in ("Adult", "Robot")
        for step in ("00 a", "01 b")
        for epsilon in (0.1, 1.0)
        for depth in (4, 5)
    ],
    columns=["dataset", "method", "epsilon", "tree_depth", "mean", "error"],
).assign(label=lambda t: t["method"])
ERRORS = pd.DataFrame({"a": [0.5, 0.1], "b": [0.5, 0.2]}, index=[0.0, 1.0])
FLAT = POINTS[POINTS["tree_depth"] == 4]

FIGURES: dict[str, Callable[[], Figure]] = {
    "choices": lambda: drawings_edprf.plot_choices(["A", "B"], {"x": np.array([0.7, 0.3]), "y": np.array([0.6, 0.4])}),
    "orders": lambda: drawings_edprf.draw_orders([1.0, 0.4, 0.1], "ABC"),
    "dataflow": drawings_edprf.draw_dataflow,
    "bins": lambda: drawings_edprf.draw_bins({"D": (np.array([0.0, 0.1, 0.1]), [0, 1, 1], np.array([0.05]))}),
    "paths": lambda: drawings_edprf.draw_paths({"plain": {"to C": [("A", 0.2), ("C", 0.3)]}}),
    "errors": lambda: drawings_edprf.plot_errors({"left": ERRORS, "right": ERRORS}),
    "parts": lambda: drawings_edprf.draw_parts([["1", "2"], ["3"]], [["1", "z"], ["3", "2"]], "z", "2"),
    "roots": lambda: drawings_edprf.draw_roots({"D": [1, 1], "D′": [1, 6]}),
    "forests": lambda: drawings_edprf.plot_forests(FLAT, {name: {"floor": 0.5} for name in ("Adult", "Robot")}),
    "ladder": lambda: drawings_edprf.plot_ladder(FLAT, (0.1, 1.0), {"00 a": "∞", "01 b": "1.00"}),
    "ablations": lambda: drawings_edprf.plot_ablations(POINTS, levels={"Adult": 0.5, "Robot": 0.5}),
    "budgets": lambda: drawings_edprf.plot_budgets(FLAT, ["00 a", "01 b"]),
}  # fmt: skip


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    matplotlib.use("Agg")
    plots.use_style()
    yield
    plt.close("all")


def words(figure: Figure) -> list[Text]:
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def small(figure: Figure) -> list[str]:
    """Texts that are too small to read."""
    return [text.get_text() for text in words(figure) if text.get_fontsize() < LEAST_SIZE]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_readable_and_has_no_faults(name: str) -> None:
    figure = FIGURES[name]()
    figure.canvas.draw()
    assert figures.faults(figure) == []
    assert figure.get_size_inches()[0] <= drawings_edprf.WIDTH + 1e-9
    assert small(figure) == []
    words(figure)[0].set_fontsize(6)  # broken twin
    assert len(small(figure)) == 1


def test_a_path_that_leaves_budget_says_so() -> None:
    def said(budget: float) -> bool:
        figure = drawings_edprf.draw_paths({"rule": {"to C": [("A", 0.2), ("C", budget)]}})
        return "unspent" in [text.get_text() for text in words(figure)]

    assert said(0.3)
    assert not said(0.8)


def test_only_a_tree_with_nodes_has_branches() -> None:
    def branches(sizes: list[int]) -> int:
        return len(drawings_edprf.draw_roots({"D": sizes}).axes[0].lines)

    assert branches([1, 1, 1]) == 0
    assert branches([1, 6, 1]) == 5


def test_coins_after_the_best_one_are_grey() -> None:
    axis = drawings_edprf.draw_orders([1.0, 0.4, 0.1], "ABC").axes[0]
    grey = [text.get_text() for text in axis.texts if text.get_color() == "0.55"]
    assert sorted(grey) == ["B", "B", "B", "C", "C", "C"]


def test_changes_are_those_of_the_results() -> None:
    ladder = tables_edprf.ladder(PARAMETERS)
    of = ladder.set_index(["step", "dataset", "epsilon"])["mean"]
    change = tables_edprf.change(ladder, 8, 9)
    assert change["points"]["Robot", 1.0] == pytest.approx(100 * (of[9, "Robot", 1.0] - of[8, "Robot", 1.0]))
    back = tables_edprf.change(ladder, 9, 8)
    assert np.allclose(change["z"], -back["z"])


def test_the_six_forests_have_every_cell() -> None:
    forests = tables_edprf.forests(tables_edprf.grid(PARAMETERS))
    assert forests.groupby("label", sort=False).size().to_dict() == dict.fromkeys(
        tables_edprf.FORESTS.values(), 18
    )
    assert not forests["dataset"].isna().any()
