"""Figures are shown only if a reader would not be misled; each rule catches a broken twin."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from private_trees.site.figures import FigureError, faults, show

X = np.linspace(0.1, 1.0, 7)


@pytest.fixture(autouse=True)
def _no_window() -> None:
    matplotlib.use("Agg")
    plt.close("all")


def good() -> Figure:
    """A figure with two lines, their bands, a level, and points."""
    figure, axis = plt.subplots()
    for i in (0, 1):
        y = X * (i + 1)
        axis.plot(X, y, color=f"C{i}", label=f"line {i}")
        axis.fill_between(X, y - 0.1, y + 0.1, color=f"C{i}", alpha=0.2)
    axis.axhline(0.5, color="black", label="level")
    axis.plot(X[::-1], X, "o", color="C2", label="points")
    axis.set(xlabel="ε", ylabel="test accuracy")
    axis.legend()
    return figure


def backwards(figure: Figure) -> None:
    figure.axes[0].lines[0].set_xdata(X[[2, 0, 1, 3, 4, 5, 6]])


def band_off(figure: Figure) -> None:
    figure.axes[0].lines[1].set_ydata(X + 5)


def same_look(figure: Figure) -> None:
    figure.axes[0].lines[1].set_color("C0")


def no_label(figure: Figure) -> None:
    figure.axes[0].set_ylabel("")


def no_legend(figure: Figure) -> None:
    figure.axes[0].get_legend().remove()


def unnamed(figure: Figure) -> None:
    figure.axes[0].plot(X, -X, color="C5")


TWINS: dict[str, tuple[Callable[[Figure], None], str]] = {
    "backwards": (backwards, "'line 0' runs backwards in x"),
    "band off its line": (band_off, "is not around a line of that colour"),
    "same look": (same_look, "'line 0' and 'line 1' look the same"),
    "no label": (no_label, "no label on the axis y"),
    "no legend": (no_legend, "no legend explains"),
    "a line without a name": (unnamed, "no legend explains"),
}


def test_a_good_figure_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    figure = good()
    assert faults(figure) == []
    show()
    assert shown == [figure]


@pytest.mark.parametrize("twin", TWINS)
def test_a_figure_that_misleads_is_not_shown(twin: str) -> None:
    spoil, message = TWINS[twin]
    figure = good()
    spoil(figure)
    assert any(message in fault for fault in faults(figure)), faults(figure)
    with pytest.raises(FigureError, match="would mislead"):
        show()
