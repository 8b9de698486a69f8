"""Results of the grids on eDPRF as the chapter and its appendix read them, and the laws of its two mechanisms."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpnb.arrays import Floats
from dpnb.privacy.laws import Exponential, PermuteAndFlip

from .. import experiments
from ..lineage.trees import BINS
from ..studies import edprf as grids
from ..studies import runs
from . import shared as tables

NAMES = {"robot": "Robot", "adult": "Adult", "bank": "Bank"}
FORESTS = {
    "repaired": "repaired",
    grids.AS_WRITTEN: "as written",
    "tradition": "tradition",
    "DiffPRF, 5 trees": "DiffPRF, 5 trees",
    "DiffPRF": "DiffPRF, 25 trees",
    "random splits": "random splits",
}


def grid(p: SimpleNamespace) -> pd.DataFrame:
    """Cells of the main grid, with the paper's treeDepth and names of data sets for readers.

    Parameters
    ----------
    p : checked parameters of a notebook.
    """
    points = experiments.points("edprf", p)
    dataset = points["dataset"].str.removesuffix(f"/{BINS}").map(NAMES)
    return points.assign(dataset=dataset, tree_depth=points["max_depth"] + 1)


def majority(points: pd.DataFrame) -> dict[str, float]:
    """Share of the majority class, by data set."""
    floor = points[points["method"] == runs.MAJORITY].set_index("dataset")["mean"]
    return {name: float(floor[name]) for name in NAMES.values()}


def forests(points: pd.DataFrame) -> pd.DataFrame:
    """The six forests at treeDepth 6 and finite budgets, with labels."""
    return tables.labelled(points.query("epsilon < inf and tree_depth == 6"), FORESTS)


def ladder(p: SimpleNamespace) -> pd.DataFrame:
    """Cells of the ladder from the text to the repair, with the number of each step.

    Parameters
    ----------
    p : checked parameters of a notebook.
    """
    points = experiments.points("edprf_ladder", p)
    step = points["method"].str[:2].astype(int)
    return points.assign(dataset=points["dataset"].map(NAMES), step=step)


def z_values(x: pd.DataFrame, y: pd.DataFrame) -> pd.Series[float]:
    """Differences of the means of two tables of cells in standard errors."""
    return (2 * (x["mean"] - y["mean"]) / np.hypot(x["error"], y["error"])).dropna()


def change(points: pd.DataFrame, first: int, last: int) -> pd.DataFrame:
    """What the steps after ``first`` up to ``last`` change: standard errors, points of accuracy, AUC.

    Parameters
    ----------
    points : of :func:`ladder`.
    """
    x, y = (
        points[points["step"] == step].set_index(["dataset", "epsilon"]).sort_index()
        for step in (last, first)
    )
    points_gained = 100 * (x["mean"] - y["mean"])
    return pd.DataFrame({"z": z_values(x, y), "points": points_gained, "auc": x["auc"] - y["auc"]})


def pf(scores: ArrayLike, rate: float) -> Floats:
    """Probabilities of the candidates under permute-and-flip."""
    law = PermuteAndFlip(np.asarray(scores, float), np.array([0]), np.array(rate))
    return law.probabilities()


def em(scores: ArrayLike, rate: float) -> Floats:
    """Probabilities of the candidates under the exponential mechanism."""
    u = np.asarray(scores, float)
    law = Exponential(u, np.array([0]), np.array(rate), np.ones(len(u)))
    probabilities: Floats = np.exp(law.log_probabilities())
    return probabilities
