"""Figures show what they are given, with labelled axes and an opaque background."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpnb import Categorical, Continuous
from dpnb.papers import dpada
from dpnb.records.grid import Shape
from dpnb.release import pictures
from private_trees import runs, selection, standings
from private_trees.drawings import board as board_plots
from private_trees.drawings import dpada as drawings_dpada
from private_trees.drawings import plots
from private_trees.scale import PassCost
from private_trees.site import figures
from private_trees.studies import dpada as grids
from private_trees.tables import shared as tables

X = np.linspace(-2.0, 2.0, 41)
HALF = np.full(41, 0.25)
DRAWS = np.random.default_rng(0).normal(size=500)


def results(**axes: list[object]) -> pd.DataFrame:
    """A tidy table with every combination of the axes, two repeats each."""
    rows = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return pd.DataFrame(rows * 2).assign(value=lambda t: 0.7 + 0.01 * np.arange(len(t)) / len(t))


EPSILONS: list[object] = [0.1, 1.0]
POINTS = results(dataset=["one", "two"], epsilon=EPSILONS).assign(mean=lambda t: t["value"], error=0.01)
BOARD = pd.DataFrame(
    [(m, d, e, 0.1, 0.01) for m in "ab" for d in ("one", "two", "three") for e in (0.1, 1.0)],
    columns=["method", "dataset", "epsilon", "loss", "error"],
)
LEADS = BOARD.assign(mean=0.01, half=0.02)[["method", "dataset", "epsilon", "mean", "half"]].query(
    "method == 'a'"
)
RANKING = standings.Ranking(pd.Series({"a": 1.2, "b": 1.8}), 0.01, 0.7, 5)
FIGURES: dict[str, Callable[[], Figure]] = {
    "scaling": lambda: plots.plot_scaling(
        pd.DataFrame(
            {"model": "a", "rows": [1e6, 2e6] * 2, "cores": [1, 1, 2, 2], "pass_s": [1.0, 2.0, 0.5, 1.0]}
        ),
        {"a": PassCost(fixed=0.1, record=1e-7, value=5e-8)},
        attributes=14,
    ),
    "noise_rounds": lambda: plots.plot_noise_rounds({"a": np.array([0.2, 0.8])}, limit=1),
    "by_rounds": lambda: plots.plot_by_rounds(
        pd.concat([POINTS.assign(schedule=s, n_rounds=m) for s in ("a", "b") for m in (3, 4)]),
        levels={"one": 0.7, "two": 0.7},
    ),
    "privacy_loss": lambda: plots.plot_privacy_loss(
        X, {"D": HALF, "D'": 2 * HALF}, epsilon=1.0, outcome_label="output", draws=DRAWS, records=X[:3]
    ),
    "noise": lambda: plots.plot_noise(
        [
            plots.NoisePanel("smooth", DRAWS, X, HALF),
            plots.NoisePanel("whole", DRAWS.round(), np.arange(-2.0, 3), HALF[:5], discrete=True),
        ]
    ),
    "selection": lambda: plots.plot_selection(
        [0, -1], {"EM": HALF[:2], "PF": HALF[:2]}, {"EM": HALF[:2], "PF": HALF[:2]}, draws=10
    ),
    "error_ratio": lambda: plots.plot_error_ratio({"PF": HALF, "EM": 2 * HALF}),
    "loss_curves": lambda: plots.plot_loss_curves(X, {"K": HALF}, {"K": 0.3}, outcome_label="output"),
    "shapes": lambda: pictures.plot_shapes(
        {
            "age": (Continuous("age", 17, 90), Shape(np.array([30.0, 50.0]), np.array([-0.1, 0.2, 0.1]))),
            "gain": (Continuous("gain", 0, 99999), Shape(np.array([10.0, 5e3]), np.array([0.0, 0.2, 1.0]))),
            "c": (Categorical("c", ("a", "b")), Shape(np.arange(2.0), np.array([0.5, -0.5]))),
        },
        log=("gain",),
    ),
    "losses": lambda: board_plots.plot_losses(BOARD, ["a", "b"], label="loss"),
    "leads": lambda: board_plots.plot_leads(LEADS, [0.1, 1.0], label="lead"),
    "ranks": lambda: board_plots.plot_ranks({0.1: RANKING, 1.0: RANKING}),
    "costs": lambda: board_plots.plot_costs(
        pd.DataFrame({"cpu": [0.5, 2.0], "loss": [0.1, 0.2]}, index=["a", "b"]),
        panels={"cpu": "CPU"},
        label="loss",
    ),
    "stress": lambda: board_plots.plot_stress(
        pd.DataFrame({"a": [0.0, -0.1]}, index=["as it is", "bounds × 10"]),
        {"bounds": ["as it is", "bounds × 10"]},
        label="change",
    ),
    "changes": lambda: board_plots.plot_changes(
        pd.DataFrame({"gain": [0.1, -0.1], "half": [0.2, 0.1]}, index=["a", "b"]), label="gain"
    ),
    "budget": lambda: board_plots.plot_budget(
        pd.DataFrame({"a": [0.4, 0.5], "b": [0.6, 0.5]}, index=["0", "500"]), label="from"
    ),
    "reachable": lambda: plots.plot_reachable({"0": X, "1": X + 1}, low=0, high=1),
    "misses": lambda: plots.plot_misses(selection.misses([2, 10], epsilon=0.5, signal=3.0), epsilon=0.5),
    "regret": lambda: plots.plot_regret(
        pd.DataFrame(
            {"records": [10, 10, 100, 100], "epsilon": EPSILONS * 2, "PF": 0.1, "EM": 0.2, "random": 0.3}
        ).assign(bound=0.4)
    ),
}


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    matplotlib.use("Agg")
    plots.use_style()
    yield
    plt.close("all")
    matplotlib.rcdefaults()


def unlabelled(figure: Figure) -> list[Axes]:
    """Axes without a label, own or shared with another one that has it; a single axis may have named y ticks."""
    return [
        axis
        for axis in figure.axes
        if not any(
            o.get_xlabel() and (o is axis or axis.get_shared_x_axes().joined(axis, o)) for o in figure.axes
        )
        or not any(
            o.get_ylabel() or len(figure.axes) == 1 or o is figure.axes[0]
            for o in figure.axes
            if o is axis or axis.get_shared_y_axes().joined(axis, o)
        )
    ]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_labels_data_and_a_white_background(name: str) -> None:
    figure = FIGURES[name]()
    figure.canvas.draw()
    assert unlabelled(figure) == []
    assert all(axis.has_data() for axis in figure.axes)
    assert figure.get_facecolor() == (1, 1, 1, 1)


def test_a_missing_label_is_noticed() -> None:
    figure = FIGURES["error_ratio"]()
    figure.axes[0].set_xlabel("")
    assert unlabelled(figure)


def test_the_loss_panel_shows_the_log_ratio() -> None:
    loss = FIGURES["privacy_loss"]().axes[1].lines[0].get_ydata()
    np.testing.assert_allclose(np.asarray(loss), -np.log(2))


def test_points_of_draws_are_densities() -> None:
    axis = FIGURES["noise"]().axes[1]
    points = axis.containers[0].lines[0]  # type: ignore[attr-defined]
    np.testing.assert_allclose(
        np.asarray(points.get_ydata()), [(DRAWS.round() == k).mean() for k in range(-2, 3)]
    )


def test_comparisons_need_two_sides() -> None:
    with pytest.raises(ValueError, match="1 densities given"):
        plots.plot_privacy_loss(X, {"D": HALF}, epsilon=1.0, outcome_label="output")
    with pytest.raises(ValueError, match="3 mechanisms given"):
        plots.plot_error_ratio({"a": HALF, "b": HALF, "c": HALF})


ROUNDS = pd.DataFrame(
    [
        (f"as written: {s}", d, m, e, 0.6 + 0.02 * i + m / 1000, 0.01)
        for s in ("swing", "random", "improved")
        for d in ("one", "two")
        for m in (30, 50)
        for i, e in enumerate((0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 3.0, 5.0))
    ],
    columns=["method", "dataset", "n_rounds", "epsilon", "mean", "error"],
)


def by_rounds(points: pd.DataFrame) -> Figure:
    """The figure by rounds as chapter 4 draws it, from rows in any order."""
    return plots.plot_by_rounds(points, levels={"one": 0.7, "two": 0.7})


def ordered(points: pd.DataFrame) -> pd.DataFrame:
    """Rows in the order of schedule and ε, as chapter 4 takes them."""
    labels = {name: name.removeprefix("as written: ") for name in points["method"].unique()}
    mine = tables.labelled(points, dict(sorted(labels.items())))
    return mine.assign(schedule=mine["label"])


def unstable(points: pd.DataFrame) -> pd.DataFrame:
    """What the chapter once did: sort by schedule alone, with a sort that shuffles rows of one schedule."""
    mine = points.assign(schedule=points["method"].str.removeprefix("as written: "))
    return mine.sort_values("schedule", key=lambda names: names.map({"swing": 0, "random": 1, "improved": 2}))


def curves(figure: Figure) -> list[np.ndarray]:
    """Values of x of all lines that stand for a number of rounds."""
    return [
        np.asarray(line.get_xdata(), float)
        for axis in figure.axes
        for line in axis.lines
        if str(line.get_label()).startswith("m = ")
    ]


def test_lines_by_rounds_rise_in_x() -> None:
    """Rows may come in any order: the lines of the figure do not turn back."""
    for seed in range(3):
        figure = by_rounds(ordered(ROUNDS.sample(frac=1, random_state=seed)))
        lines = curves(figure)
        assert len(lines) == 12
        for x in lines:
            assert x.tolist() == [0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 3.0, 5.0]
        assert figures.faults(figure) == []


def test_the_unstable_sort_cannot_get_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: with it lines turn back, and the figure is refused."""
    figure = by_rounds(unstable(ROUNDS.sample(frac=1, random_state=0)))
    assert any((np.diff(x) < 0).any() for x in curves(figure))
    monkeypatch.setattr(plt, "show", lambda: None)
    with pytest.raises(figures.FigureError, match="runs backwards in x"):
        figures.show()


@pytest.mark.parametrize("sort", ["as it is", "unstable"])
def test_the_cell_of_chapter_4_that_draws_it(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cell passes; with the old sort put back into it, it fails."""
    root = Path(__file__).resolve().parent.parent
    cells = json.loads((root / "notebooks" / "04_appendix.ipynb").read_text(encoding="utf-8"))["cells"]
    (source,) = ("".join(cell["source"]) for cell in cells if cell["id"] == "dpada-30")
    points = runs.points_of(runs.read("dpada", root / "results"), repeats=grids.REPEATS)
    monkeypatch.setattr(plt, "show", lambda: None)
    names: dict[str, Any] = {
        **{"dpada": dpada, "drawings": drawings_dpada, "figures": figures, "grids": grids, "tables": tables},
        **{"points": points, "majority": dict.fromkeys(grids.SETS, 0.8)},
    }
    if sort == "as it is":
        exec(source, names)
        return

    def labelled(points: pd.DataFrame, labels: dict[str, str]) -> pd.DataFrame:
        """Rows in the order of the labels alone, by the sort that is not stable."""
        rows = points.assign(label=points["method"].map(labels)).dropna(subset=["label"])
        return rows.sort_values("label", key=lambda names: names.map(list(labels.values()).index))

    with pytest.raises(figures.FigureError, match="runs backwards in x"):
        exec(source, names | {"tables": SimpleNamespace(labelled=labelled)})
