"""Figures of the audit chapter and of the chapter on scale mislead nobody: no faults, and text large enough."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from dpnb.audit import compare
from private_trees.auditing import tradeoff
from private_trees.drawings import audit as drawings_audit
from private_trees.drawings import bets as drawings_bets
from private_trees.drawings import plots
from private_trees.drawings import scale as drawings_scale
from private_trees.site import figures

SMALLEST = 8.0  # points
RNG = np.random.default_rng(0)
CLIMB = pd.DataFrame({"name": ["a", "b"] * 4, "audit": 0, "runs": np.repeat([1, 2, 3, 4], 2), "bound": 0.5})
TWINS = pd.DataFrame(
    {"mechanism": ["x", "y"], "truth": ["broken", "correct"], "exact": [np.inf, 1], "replay": 1, "attack": 1}
)
RIVALS = pd.DataFrame(
    {
        "learner": ["p", "q"],
        "relation_tested": ["replace", "add-remove"],
        "claimed": 1.0,
        "together": [0.5, 2],
    }
)
GUESSES = pd.DataFrame(
    {"model": ["a", "a", "b"], "machines": [1, 10, 1], "reading, s": 2.0, "waiting, s": 1.0}
)
BOUNDS = pd.DataFrame({"name": ["a", "b"], "canaries": [10, 10], "bound": [0.1, 1.0]})
SCORES = {"a": (np.ones(3), np.zeros(3)), "b": (np.ones(3), np.zeros(3))}
GAMES = pd.DataFrame(
    {"name": ["a", "b"] * 4, "game": [0, 0, 1, 1] * 2, "runs": np.repeat([1, 2], 4), "wealth": 1.0}
)
RULES = pd.DataFrame(
    {"share": [0.01, 0.5], "low": [0.005, 0.4], "high": [0.02, 0.6]},
    index=["bets", "broken: looked at twice"],
)
SOON = pd.DataFrame(
    {
        "least": [50.0, 60],
        "bets": [100.0, 110],
        "tenth": [150.0, 160],
        "split": [300.0, 400],
        "longest": [200.0, 210],
    },
    index=[("Laplace", 1.0), ("Laplace", 2.0)],
)
CURVE = tradeoff(RNG.normal(size=200), 2 + RNG.normal(size=200))
FIGURES: dict[str, Callable[[], Figure]] = {
    "instruments": drawings_audit.draw_instruments,
    "climbing": lambda: drawings_audit.plot_climbing(CLIMB, {"a": 1.0, "b": 2.0}, claim=1.0),
    "losses": lambda: drawings_audit.plot_losses(
        pd.DataFrame({"subject": ["a", "b"], "loss": [0.5, np.inf]}), claim=1.0, beyond=4
    ),
    "exact": lambda: drawings_audit.plot_exact(
        {"D": np.array([0.9, 0.1]), "D′": np.array([0.8, 0.2])},
        {"one": {0: 1.0, 1: 0.8}, "two": {0: 1.0, 1: 0.9}},
    ),
    "events": lambda: drawings_audit.plot_events(
        {"a": compare(RNG.integers(0, 3, 80), RNG.integers(0, 3, 80), claimed=1.0)}
    ),
    "ceiling": lambda: drawings_audit.plot_ceiling(
        pd.DataFrame({"method": ["a", "b"], "runs": [100, 200], "lower_95": [1.0, 2.0]}),
        pd.DataFrame({"runs": [100, 200], "bound": [3.0, 4.0]}),
        {"one": ["a"], "two": ["b"]},
    ),
    "canaries": lambda: drawings_audit.plot_canaries(SCORES, BOUNDS, {10: 1.0, 20: 2.0}),
    "twins": lambda: drawings_audit.plot_twins(TWINS, beyond=200),
    "rivals": lambda: drawings_audit.plot_rivals(RIVALS),
    "games": lambda: drawings_bets.plot_games(GAMES, enough=100),
    "coverage": lambda: drawings_bets.plot_coverage(RULES, stated=0.05),
    "conviction": lambda: drawings_bets.plot_conviction(SOON),
    "subjects": lambda: drawings_bets.plot_subjects(
        pd.DataFrame({"before": [3000, np.inf, np.nan], "after": [60, 90, 400]}, index=["a", "b", "c"]),
        beyond=1e5,
    ),
    "tradeoff": lambda: drawings_bets.plot_tradeoff(
        CURVE, (np.array([0.0, 1.0]), np.array([1.0, 0.0])), {"claim": 1.0}
    ),
    "pass": drawings_scale.draw_pass,
    "sums": lambda: drawings_scale.plot_sums({"a": np.arange(6.0), "b": np.zeros(6)}),
    "passes": lambda: drawings_scale.plot_passes({"a": np.arange(6.0), "b": np.zeros(3)}),
    "billion": lambda: drawings_scale.plot_billion(GUESSES),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_no_faults_and_can_be_read(name: str) -> None:
    plots.use_style()
    figure = FIGURES[name]()
    figure.canvas.draw()
    assert figures.faults(figure) == []
    assert figure.get_figwidth() <= drawings_audit.WIDTH
    small = [t.get_text() for t in figure.findobj(Text) if t.get_text() and t.get_fontsize() < SMALLEST]
    plt.close(figure)
    assert small == []


def test_infinite_losses_stand_at_the_edge() -> None:
    figure = drawings_audit.plot_twins(TWINS, beyond=200)
    drawn = [line.get_xdata() for line in figure.axes[0].lines if line.get_label() == "exact"]
    plt.close(figure)
    assert np.array_equal(drawn[0], [200, 1])
