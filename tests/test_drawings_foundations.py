"""Chapter 1's drawings say what they are given, fit a telephone, and pass the check of figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from private_trees.drawings import foundations as drawings
from private_trees.drawings import plots
from private_trees.site import figures

X = np.linspace(0.01, 0.99, 50)
TABLE = pd.DataFrame({"a": [1.0, 10.0], "b": [2.0, 5.0]}, index=[10, 100])
ANSWERS = {"with": np.repeat(np.arange(3), 10), "without": np.repeat(np.arange(3), [20, 5, 5])}
DRAWN: dict[str, Callable[[], Figure]] = {
    "promise": lambda: drawings.draw_promise(ANSWERS, epsilon=1.0, low=0, high=2),
    "neighbours": drawings.draw_neighbours,
    "beliefs": lambda: drawings.draw_beliefs(X, {0.1: (X / 2, X), 1.0: (X / 3, X)}),
    "budget tree": lambda: drawings.draw_budget_tree([0.25, 0.75], ["split", "leaf counts"]),
    "parts": lambda: drawings.draw_parts({"by position": (np.array([0, 0, 1, 1]), np.array([0, 1, 1]))}),
    "noise losses": lambda: drawings.draw_noise_losses(X, {"a": X, "b": -X}, epsilon=1.0),
    "totals": lambda: drawings.draw_totals(TABLE),
    "split table": lambda: drawings.draw_split_table(np.array([[3, 1], [0, 1]]), branch=1, label=1),
    "signal": lambda: drawings.draw_signal(TABLE),
    "tree flow": drawings.draw_tree_flow,
}


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    matplotlib.use("Agg")
    plots.use_style()
    yield
    plt.close("all")


def words(figure: Figure) -> list[str]:
    return [text.get_text() for axis in figure.axes for text in axis.texts]


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_is_sound_and_narrow(name: str) -> None:
    figure = DRAWN[name]()
    assert figures.faults(figure) == []
    assert figure.get_size_inches()[0] <= drawings.WIDTH
    assert all(text.get_fontsize() >= 11 for axis in figure.axes for text in axis.texts)


def test_the_gauges_say_what_a_path_has_paid() -> None:
    shown = words(drawings.draw_budget_tree([0.25, 0.75], ["split", "leaf counts"]))
    assert [shown.count(paid) for paid in ("0.25", "1.00")] == [1, 2]


def test_a_record_that_moves_is_crossed_and_no_other() -> None:
    before = np.array([0, 0, 1, 1])
    moved = drawings.draw_parts({"by position": (before, np.array([0, 1, 0]))})
    stayed = drawings.draw_parts({"by hash": (before, before[1:])})
    assert [words(figure).count("✕") for figure in (moved, stayed)] == [1, 0]


def test_the_new_record_enters_its_cell() -> None:
    shown = words(drawings.draw_split_table(np.array([[3, 1], [0, 1]]), branch=1, label=1))
    assert [text for text in shown if "→" in text] == ["1 → 2"]


def test_the_band_holds_what_is_allowed() -> None:
    top, bottom = drawings.draw_promise(ANSWERS, epsilon=1.0, low=0, high=2).axes
    assert [label.get_text() for label in bottom.get_yticklabels()] == ["$e^{-ε}$", "1", "$e^{ε}$"]
    assert sum(bar.get_height() for bar in top.patches) == pytest.approx(2)
