"""The grids of the chapter on eDPRF: its ablations, its readings, the price of each repair, attacks and replays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from dpaudit.pairs import DOMAIN, pair_of
from dpnb.arrays import Floats
from dpnb.papers.baselines_forest import RandomSplitForest
from dpnb.papers.edprf import ABLATIONS, EDPRF

from ..auditing.fixed import white_box
from ..lineage.trees import BINS, DiffPRF
from .runs import INF, MAJORITY, Cell, Study, cells, ladder, measure_forests, measure_methods
from .targets import ADD, LONELY, NARROW, PURE, Target, attack_study, replay_study, splits

REPEATS = 20
BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
SETS = ("robot", "adult", "bank")

# --- Figures 5 and 6, Table 2 -------------------------------------------------------------------------------

AS_WRITTEN = "as written"
WRITTEN: dict[str, Callable[..., Any]] = {
    **{name: partial(EDPRF.as_written, **ABLATIONS[name]) for name in ABLATIONS if name != "all"},
    AS_WRITTEN: EDPRF.as_written,
}
"""The variants of Figures 5 and 6; "all" of the ablations is eDPRF as written."""
METHODS: dict[str, Callable[..., Any]] = {**WRITTEN, "repaired": EDPRF, "random splits": RandomSplitForest}
TABLE_2: dict[str, Callable[..., Any]] = {
    "DiffPRF": DiffPRF,
    "DiffPRF, 5 trees": partial(DiffPRF, n_trees=5),
}
"""The one baseline of Table 2 that can be rebuilt."""


def max_depth(tree_depth: int) -> int:
    """Splits on a path for the paper's treeDepth, which counts the leaves' level."""
    return tree_depth - 1


def edprf_grid() -> Study:
    """Figures 5 and 6 on the paper's robot data, and on Adult and Bank, at the paper's five tree depths."""
    depths, found = [max_depth(depth) for depth in range(4, 9)], []
    for data, method in product(SETS, METHODS):
        budgets = (
            BUDGETS if method in ABLATIONS else (*BUDGETS, INF)
        )  # without noise the ablations are the text
        found += cells(method=method, dataset=data, max_depth=depths, epsilon=budgets)
    for data in SETS:
        found += cells(method=TABLE_2, dataset=f"{data}/{BINS}", max_depth=max_depth(6), epsilon=BUDGETS)
        found += cells(method=MAJORITY, dataset=data, epsilon=INF)
    measure = partial(measure_methods, METHODS | TABLE_2, repeats=REPEATS)
    return Study("edprf", found, measure, repeats=REPEATS)


READINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "one tree": {"n_trees": 1},
    "public bins": {"bins": "public"},
    "bins of equal size": {"bins": "node-quantile"},
    "ten bins": {"n_bins": 10},
    "normalised Gini": {"utility": "gini_normalised"},
    "monotone rate": {"monotone_rate": True},
    "not aligned": {"align": False},
}
"""What the seen pages leave open, one change at a time; the last two depart from (16) and (10), which were seen."""


def measure_reading(cell: Cell) -> dict[str, float]:
    """A variant of the figures in one of the readings."""
    return measure_forests(partial(WRITTEN[cell.method], **READINGS[cell.reading]), cell, repeats=REPEATS)


def readings_grid() -> Study:
    """Every reading of the tradition and of both improvements that concern leaves, at treeDepth 6."""
    variants = ("tradition", "tradition_leaf_imp", AS_WRITTEN)
    found = cells(method=variants, dataset="robot", reading=READINGS, max_depth=max_depth(6), epsilon=1.0)
    return Study("edprf_readings", found, measure_reading, repeats=REPEATS)


# --- The price of each step ---------------------------------------------------------------------------------

STEPS: dict[str, tuple[dict[str, Any], str]] = {
    "00 as written": ({}, "five trees, treeDepth 5"),
    "01 disjoint bags": ({"bags": "disjoint"}, "each record draws its tree"),
    "02 public bins": ({"bins": "public"}, "five of equal width, from the domain"),
    "03 stop at full depth": ({"stop": "depth"}, "from here on ε is true"),
    "04 binary splits": (
        {"splits": "binary", "reuse": True},
        "thresholds of a public grid, attributes may return",
    ),
    "05 depth 6": ({"max_depth": 6}, "six splits on a path"),
    "06 uniform levels": ({"levels": "uniform"}, "instead of equation (9)"),
    "07 monotone rate": ({"monotone_rate": True}, "ε/Δ instead of ε/(2Δ)"),
    "08 leaf counts": (
        {"leaf": "counts", "vote": "probability", "noise": "geometric"},
        "in whole numbers, and a vote by probability",
    ),
    "09 noisy stop": ({"stop": "noisy"}, "aligned: early leaves take the rest"),
    "10 trees by the budget": ({"n_trees": None}, "3√ε: the package's default"),
    "11 full depth again": ({"stop": "depth"}, "no stop to pay for, nothing to align"),
}
LADDER = ladder(EDPRF.as_written, {step: change for step, (change, _) in STEPS.items()})


def edprf_ladder_grid() -> Study:
    """What each step from the text to the repaired forest costs or brings."""
    found = cells(method=LADDER, dataset=("adult", "robot"), epsilon=BUDGETS)
    measure = partial(measure_methods, LADDER, repeats=REPEATS)
    return Study("edprf_ladder", found, measure, repeats=REPEATS)


# --- Undersampling ------------------------------------------------------------------------------------------


def undersample(
    X: pd.DataFrame, y: pd.Series[Any], *, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """As many records of every class as the rarest has, drawn without replacement; positions keep their order."""
    labels, sizes = np.unique(y, return_counts=True)
    kept = [rng.choice(np.flatnonzero(y == label), sizes.min(), replace=False) for label in labels]
    rows = np.sort(np.concatenate(kept))
    return X.iloc[rows], y.iloc[rows]


class Undersampled(BaseEstimator):  # type: ignore[misc]
    """The repaired forest on an undersampled training set, as if it cost no more than the forest alone.

    Parameters
    ----------
    epsilon : budget of the forest.
    random_state : seed or Generator, of the sample as well.
    forest : parameters of :class:`~dpnb.papers.edprf.EDPRF`.

    Attributes
    ----------
    trees_ : of the forest.

    Notes
    -----
    **Privacy**: claims ``epsilon``. With K classes it costs up to K times that: one more record of the rarest class
    brings one more of each other class into the sample.
    """

    def __init__(self, *, epsilon: float, random_state: Any = None, **forest: Any) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.forest = forest

    def fit(self, X: pd.DataFrame, y: pd.Series[Any]) -> Self:
        """Sample, then train."""
        rng = np.random.default_rng(self.random_state)
        model = EDPRF(epsilon=self.epsilon, random_state=rng, **self.forest)
        self.trees_ = model.fit(*undersample(X, y, rng=rng)).trees_
        return self


# --- Audit --------------------------------------------------------------------------------------------------

TWO_PARTS = pair_of("one record of class 0, then one of class 1", [(0.5, 0, 0)], (0.5, 0, 1), neighbours=ADD)
RARE = pair_of(
    "5 records of class 1 among 25, then 6",
    [(i / 25, 0, int(i % 5 == 0)) for i in range(25)],
    (0.5, 0, 1),
    neighbours=ADD,
)


def largest_edge(model: EDPRF) -> Floats:
    """Largest edge between the bins of the root, -1 without any."""
    cuts = model.trees_[0].splits.cut[0]
    return np.array([np.max(np.nan_to_num(cuts, nan=-1.0))])


def smallest_count(model: Any) -> Floats:
    """Smallest released class count of the first tree's root."""
    return np.array([model.trees_[0].value[0].min()])


def parts_log_ratio(model: EDPRF) -> Floats:
    """Log-likelihood ratio of the counts of two single leaves on the pair ``TWO_PARTS``, larger to smaller data set."""
    released = np.stack([tree.value[0] for tree in model.trees_])

    def log_density(*counts: tuple[int, int]) -> float:
        return float(-model.epsilon * np.abs(released - np.array(counts)).sum())

    one = log_density((1, 0), (0, 0))
    two = np.logaddexp(log_density((1, 0), (0, 1)), log_density((0, 1), (1, 0))) - np.log(2)
    return np.array([two - one])


_TINY: dict[str, Any] = {"domain": DOMAIN, "n_trees": 1}
_encoded = partial(Target, encoded=True)
_private = partial(_encoded, pair=LONELY, observe=white_box, private=True)
TARGETS: dict[str, Target] = {
    "one-label stop: some tree splits": _encoded(
        partial(EDPRF.as_written, max_depth=1, bins="public", **_TINY), PURE, splits, claims=(0.1,)
    ),
    "bins of the node: an edge": _encoded(
        partial(EDPRF.as_written, max_depth=1, stop="depth", **_TINY), NARROW, largest_edge
    ),
    "parts of equal size: two leaves": _encoded(
        partial(EDPRF, domain=DOMAIN, bags="parts", n_trees=2, max_depth=0), TWO_PARTS, parts_log_ratio
    ),
    "undersampling first: a leaf": Target(partial(Undersampled, max_depth=0, **_TINY), RARE, smallest_count),
    "repaired, tight: a leaf": _private(partial(EDPRF, max_depth=0, **_TINY)),
    "repaired: one tree, noisy stop": _private(partial(EDPRF, max_depth=1, **_TINY)),
}


def edprf_attack_grid() -> Study:
    """Attacks on single defects of the text and on the repair, 20 000 runs a side."""
    return attack_study("edprf_attack", TARGETS)


_PRIVATE_TEXT: dict[str, Any] = {
    "bins": "public",
    "stop": "depth",
    "bags": "disjoint",
    "noise": "geometric",
}
REPLAYED: dict[str, Callable[..., Any]] = {
    "repaired": EDPRF,
    "Poisson bags": partial(EDPRF, bags="poisson"),
    "full depth, harmonic levels": partial(EDPRF, stop="depth", levels="harmonic"),
    "labels, geometric levels": partial(EDPRF, leaf="label", levels="geometric"),
    "exponential mechanism": partial(EDPRF, selection="exponential"),
    "normalised Gini": partial(EDPRF, utility="gini_normalised"),
    "text, made private": partial(EDPRF.as_written, **_PRIVATE_TEXT),
    "tradition, made private": partial(EDPRF.as_written, **_PRIVATE_TEXT, **ABLATIONS["tradition"]),
    "random splits": RandomSplitForest,
}


def replayed(cell: Cell) -> Any:
    """A private variant of three trees."""
    return REPLAYED[cell.method](epsilon=cell.epsilon, n_trees=3, max_depth=cell.max_depth)


def edprf_replay_grid() -> Study:
    """Replays of nine private variants: both relations, depths and budgets."""
    axes: dict[str, Any] = {"method": REPLAYED, "max_depth": (1, 3), "epsilon": (0.5, 3.0)}
    return replay_study("edprf_replay", replayed, triples=50, **axes)


GRIDS = {
    "edprf": edprf_grid,
    "edprf_readings": readings_grid,
    "edprf_ladder": edprf_ladder_grid,
    "edprf_attack": edprf_attack_grid,
    "edprf_replay": edprf_replay_grid,
}
