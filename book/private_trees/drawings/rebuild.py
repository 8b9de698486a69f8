"""The figure of rebuilt records in the audit chapter. It draws what it is given."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import expit

from .common import LINES, WIDTH, label_ends, look_of, ticks

NONE = 1_000.0  # where ε = ∞ is drawn


def plot_rebuilt(leaks: pd.DataFrame, guesses: pd.DataFrame) -> Figure:
    """What rebuilt tables know of the trained beyond strangers, and how surely one value is guessed, against ε.

    Parameters
    ----------
    leaks, guesses : of :func:`private_trees.studies.reconstruction.leaks` and ``guesses``.
    """
    figure, (above, below) = plt.subplots(2, 1, figsize=(WIDTH, 6.6), sharex=True)
    _curves(above, 100 * leaks[["excess", "error"]].rename(columns={"excess": "value"}))
    _curves(below, 100 * guesses[["right", "error"]].rename(columns={"right": "value"}))
    epsilon = np.geomspace(0.08, 30, 200)
    below.plot(
        epsilon, 100 * expit(2 * epsilon), color="black", linestyle=(0, (1, 1)), label="most, by the claim"
    )
    above.axhline(0, color="black", linewidth=1)
    above.set(title="rebuilt table: trained minus strangers", ylabel="values right, % points")
    below.set(title="one value, all else known", ylabel="guesses right, %", xlabel="claimed ε")
    below.set(xscale="log", ylim=(45, 104))
    finite = sorted(e for e in set(leaks.index.get_level_values("epsilon")) if np.isfinite(e))
    ticks(below, x=[*finite, NONE], last="none")
    label_ends(figure)
    return figure


def _curves(axis: Axes, points: pd.DataFrame) -> None:
    """A line with error bars for each subject."""
    names = list(dict.fromkeys(points.index.get_level_values("method")))
    for i, name in enumerate(names):
        mine = points.loc[name]
        # A factor between the ε of two subjects, so that error bars do not hide each other.
        at = np.where(np.isinf(mine.index), NONE, mine.index) * 1.09 ** (i - (len(names) - 1) / 2)
        look = look_of(i, linestyle=(*LINES, (0, (5, 1)))[i], linewidth=1.6, capsize=2)
        axis.errorbar(at, mine["value"], mine["error"], label=str(name), **look)
