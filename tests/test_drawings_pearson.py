"""Drawings of chapter 3 show every text inside the picture, large enough, and nothing that misleads."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from private_trees.drawings import pearson as drawings
from private_trees.drawings import plots
from private_trees.exercises.pearson import phi
from private_trees.site.figures import faults

SMALLEST, WIDEST = 8.0, 5.3  # points, inches
POINTS = pd.DataFrame(
    [(d, e, 0.7, 0.01) for d in ("one", "two", "three") for e in (0.1, 1.0)],
    columns=["dataset", "epsilon", "mean", "error"],
)
BITS = np.array([0, 1, 1, 0, 0])

FIGURES: dict[str, Callable[[], Figure]] = {
    "blocks": lambda: drawings.draw_blocks({"a": BITS, "b": 1 - BITS}, BITS, m=2, score=phi),
    "one block": lambda: drawings.draw_blocks({"a": BITS, "b": 1 - BITS}, BITS, m=1, score=phi),
    "dataflow": drawings.draw_dataflow,
    "points": lambda: drawings.draw_points({"D": [0.1, 0.1], "D′": [0.1, 0.2]}),
    "stops": lambda: drawings.draw_stops({"D": (8, 0), "D′": (8, 1)}),
    "curves": lambda: drawings.plot_curves(
        pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]}, index=[10, 100]),
        levels={"claim": 1.0}, xscale="log", xlabel="records", ylabel="change",
    ),
    "sets": lambda: drawings.plot_sets(
        pd.concat([POINTS.assign(label=name) for name in ("a", "b")]),
        levels={name: {"floor": 0.6} for name in ("one", "two", "three")},
    ),
    "price": lambda: drawings.plot_price(
        pd.concat([POINTS.assign(method=name) for name in ("00 a", "01 b")]), booked={"00 a": "∞", "01 b": "1.00"}
    ),
    "shards": lambda: drawings.plot_shards(
        pd.concat([POINTS.assign(label=name, shards=m, auc=0.8) for name in ("S", "blocks") for m in (1, 64)]),
        metrics={"mean": "accuracy", "auc": "AUC"},
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _style() -> None:
    matplotlib.use("Agg")
    plt.close("all")
    plots.use_style()


def words(figure: Figure) -> list[Text]:
    """Texts that a reader sees."""
    figure.canvas.draw()
    return [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]


def unreadable(figure: Figure) -> list[str]:
    """Texts that are too small or not in the picture, and a figure that is too wide."""
    found = [t.get_text() for t in words(figure) if t.get_fontsize() < SMALLEST]
    for axis in figure.axes:
        ends = [t.get_window_extent() for t in axis.texts]
        inside = figure.bbox
        found += [
            t.get_text()
            for t, box in zip(axis.texts, ends, strict=True)
            if box.x0 < 0 or box.y0 < 0 or box.x1 > inside.x1 or box.y1 > inside.y1
        ]
    return found + [f"{figure.get_figwidth()} inches"] * bool(figure.get_figwidth() > WIDEST)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_readable_and_does_not_mislead(name: str) -> None:
    figure = FIGURES[name]()
    assert unreadable(figure) == []
    assert faults(figure) == []
    assert figure.get_facecolor() == (1, 1, 1, 1)


@pytest.mark.parametrize("spoil", ["small", "outside", "wide"])
def test_an_unreadable_figure_is_noticed(spoil: str) -> None:
    figure = FIGURES["dataflow"]()
    figure.set_layout_engine("none")
    if spoil == "wide":
        figure.set_figwidth(9.0)
    elif spoil == "small":
        figure.axes[0].texts[0].set_fontsize(6)
    else:
        figure.axes[0].texts[0].set_x(1.2)
    assert unreadable(figure) != []


def test_the_blocks_show_what_their_coefficients_are() -> None:
    a, b = np.array([0, 1, 1, 0] * 4 + [0]), np.array([0, 0, 1, 1] * 4 + [0])
    figure = drawings.draw_blocks({"a": a, "b": b}, np.array([0, 1] * 8 + [0]), m=8, score=phi)
    means = [t.get_text() for t in words(figure) if t.get_text().startswith("mean")]
    assert means == ["mean 1.00", "mean 0.00", "mean 0.06", "mean 0.94"]


def test_one_noisy_release_is_drawn() -> None:
    kinds = [kind for _, _, kind in drawings.DATAFLOW.values()]
    assert (kinds.count("noise"), kinds.count("exact")) == (1, 3)
