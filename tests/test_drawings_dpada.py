"""The drawings of chapter 4 show what was run, in letters that a phone can show."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from dpnb.papers.dpada import READINGS
from private_trees.drawings import dpada as drawings
from private_trees.drawings import plots
from private_trees.site import figures
from private_trees.studies import dpada as grids

LETTERS, WIDEST = 8, 7.0  # points, inches
EPSILONS = (0.1, 1.0)
POINTS = pd.DataFrame(
    [(d, e, 0.7 + e / 10, 0.01) for d in ("one", "two") for e in EPSILONS],
    columns=["dataset", "epsilon", "mean", "error"],
)


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    plots.use_style()
    yield
    plt.close("all")


def rounds(reading: str = grids.ACCURATE, seed: int = 2023) -> list[drawings.Round]:
    return drawings.three_rounds(drawings.NINE.first, reading=READINGS[reading], epsilon=1.0, seed=seed)


def test_three_rounds_are_those_of_the_listing() -> None:
    first, second, third = rounds()
    assert first.weights == pytest.approx(np.full(9, 1 / 9))
    assert first.alpha == pytest.approx(np.log(3.5) / 2)  # two of nine are wrong
    assert sorted(second.weights) == pytest.approx([1 / 14] * 7 + [1 / 4] * 2)
    assert second.weights == pytest.approx(second.exact)  # Swing: no noise after round 1
    factor = third.weights / third.exact
    assert (~np.isclose(factor, np.median(factor))).sum() == 2  # one largest, one smallest
    for seen in (first, second, third):
        assert seen.weights.sum() == pytest.approx(1)


def test_the_noise_does_not_reach_the_first_step() -> None:
    seeds = [rounds(seed=seed) for seed in range(5)]
    assert len({seen[0].alpha for seen in seeds}) == 1
    assert len({tuple(seen[2].weights) for seen in seeds}) > 3  # broken twin: later weights have it
    on = {name: drawings.first_steps(part, epsilon=1.0, runs=20) for name, part in sides().items()}
    assert {name: np.unique(found.round(9)).size for name, found in on.items()} == {"D": 1, "D′": 1}
    assert on["D′"][0] - on["D"][0] == pytest.approx((np.log(4) - np.log(3.5)) / 2)


def sides() -> dict[str, tuple[pd.DataFrame, pd.Series]]:
    return {"D": drawings.NINE.first, "D′": drawings.NINE.second}


DRAWN: dict[str, Callable[[], Figure]] = {
    "rounds": lambda: drawings.plot_rounds(
        rounds(), {name: drawings.first_steps(part, epsilon=1.0, runs=3) for name, part in sides().items()}
    ),
    "written": lambda: drawings.draw_flow(drawings.WRITTEN, passes="no noise"),
    "repaired": lambda: drawings.draw_flow(drawings.REPAIRED, passes="private"),
    "sizes": lambda: drawings.plot_sizes({"weight": 1e-5, "noise": 30.0}),
    "jumps": lambda: drawings.plot_jumps(np.array([0.0, 1.0]), {10: np.array([0.0, 0.5])}),
    "shares": lambda: drawings.plot_shares(
        pd.DataFrame(
            {"data": ["D", "D′"], "share": [0.0, 0.5], "low": [0.0, 0.4], "high": [0.1, 0.6]},
            index=["all", "all"],
        ),
        label="share",
    ),
    "schedules": lambda: drawings.draw_schedules({"a": [0, 1, 0], "b": [1, 1, 1]}, limit=1),
    "budgets": lambda: drawings.plot_budgets(
        POINTS.assign(label="a"), levels={"one": {"floor": 0.6}, "two": {"floor": 0.6}}
    ),
    "by schedule": lambda: drawings.plot_by_schedule(
        pd.concat([POINTS.assign(schedule="a", n_rounds=m) for m in (3, 4)]), levels={"one": 0.6, "two": 0.6}
    ),
    "ladder": lambda: drawings.plot_ladder(
        pd.concat([POINTS.assign(method=name) for name in ("0 a", "1 b")]), steps=["0 a", "1 b"]
    ),
    "bounds": lambda: drawings.plot_bounds(
        pd.DataFrame(
            {"claim": ["1", "4"], "lower_95": [8.0, 3.0], "theory": ["refuted", "holds"]}, index=["a", "b"]
        )
    ),
}


def small(figure: Figure) -> list[str]:
    """Texts in letters that are too small, and a figure that a page would shrink."""
    figure.canvas.draw()
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    found = [t.get_text() for t in texts if t.get_fontsize() < LETTERS]
    return found + ["width"] * int(figure.get_size_inches()[0] > WIDEST)


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_can_be_read(name: str) -> None:
    figure = DRAWN[name]()
    assert figures.faults(figure) == []
    assert small(figure) == []
    assert figure.get_facecolor() == (1, 1, 1, 1)


def test_small_letters_and_wide_figures_are_caught() -> None:
    figure = DRAWN["sizes"]()
    figure.axes[0].set_title("tiny", fontsize=6)
    assert small(figure) == ["tiny"]
    figure.set_size_inches(9, 3)
    assert "width" in small(figure)


def test_a_schedule_counts_rounds_from_the_second_on() -> None:
    figure = DRAWN["schedules"]()
    counts = {t.get_text(): t.get_weight() for t in figure.axes[0].texts if t.get_text().startswith("R")}
    assert counts == {"R = 1": "normal", "R = 2": "bold"}
