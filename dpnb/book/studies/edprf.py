"""The grids of the chapter on eDPRF: its ablations, its readings, the price of each repair, attacks and replays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np
import pandas as pd

from ...arrays import Floats
from ...audit.attack import white_box
from ...audit.search import DOMAIN, NEIGHBOURS, pair_of
from ...papers.baselines_forest import RandomSplitForest
from ...papers.edprf import ABLATIONS, EDPRF
from ...papers.lineage import BINS, DiffPRF
from ..runs import Cell, Grid, measure_forests, measure_majority, steps_up_to
from ..runs import points_of as points_of_cells
from ..targets import (
    ADD,
    LONELY,
    NARROW,
    PURE,
    Target,
    attack_target,
    replay_random_pairs,
    splits,
)

REPEATS = 20
INF = float("inf")
BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
SETS = ("robot", "adult", "bank")

points_of = partial(points_of_cells, repeats=REPEATS)

# --- Figures 5 and 6, Table 2 -------------------------------------------------------------------------------

AS_WRITTEN, MAJORITY = "as written", "majority class"
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


def measure_edprf(cell: Cell) -> dict[str, float]:
    """A point of Figures 5 and 6, or of a method beside them, over 20 repeats."""
    if cell.method == MAJORITY:
        return measure_majority(cell)
    make = (METHODS | TABLE_2)[cell.method]
    return measure_forests(
        partial(make, epsilon=cell.epsilon, max_depth=cell.max_depth), cell, repeats=REPEATS
    )


def edprf_grid() -> Grid:
    """Figures 5 and 6 on the paper's robot data, and on Adult and Bank, at the paper's five tree depths."""
    cells = [
        Cell(method, data, "", max_depth(depth), epsilon, 0)
        for data in SETS
        for method, depth, epsilon in product(METHODS, range(4, 9), (*BUDGETS, INF))
        if epsilon < INF or method not in ABLATIONS  # without noise the ablations are the text
    ]
    for data in SETS:
        cells += [
            Cell(name, f"{data}/{BINS}", "", max_depth(6), e, 0) for name, e in product(TABLE_2, BUDGETS)
        ]
        cells.append(Cell(MAJORITY, data, "", 0, INF, 0))
    return Grid("edprf", tuple(cells), measure_edprf, (*SETS, *(f"{data}/{BINS}" for data in SETS)))


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
"""What the seen pages leave open, one inference changed at a time."""


def measure_reading(cell: Cell) -> dict[str, float]:
    """A variant of the figures in one of the readings (``utility``)."""
    size = {"epsilon": cell.epsilon, "max_depth": cell.max_depth}
    make = partial(WRITTEN[cell.method], **(size | READINGS[cell.utility]))
    return measure_forests(make, cell, repeats=REPEATS)


def readings_grid() -> Grid:
    """Every reading of the tradition and of both improvements that concern leaves, at treeDepth 6."""
    variants = ("tradition", "tradition_leaf_imp", AS_WRITTEN)
    cells = product(variants, ("robot",), READINGS, (max_depth(6),), (1.0,), (0,))
    return Grid("edprf_readings", tuple(Cell(*cell) for cell in cells), measure_reading, ("robot",))


# --- The price of each step ---------------------------------------------------------------------------------

LADDER: dict[str, dict[str, Any]] = {
    "00 as written": {},
    "01 disjoint bags": {"bags": "disjoint"},
    "02 public bins": {"bins": "public"},
    "03 stop at full depth": {"stop": "depth"},
    "04 binary splits": {"splits": "binary", "reuse": True},
    "05 depth 6": {"max_depth": 6},
    "06 uniform levels": {"levels": "uniform"},
    "07 monotone rate": {"monotone_rate": True},
    "08 leaf counts": {"leaf": "counts", "vote": "probability"},
    "09 noisy stop": {"stop": "noisy"},
    "10 trees by the budget": {"n_trees": None},
    "11 full depth again": {"stop": "depth"},
}
NOTES = {
    "00 as written": "five trees, treeDepth 5",
    "01 disjoint bags": "each record draws its tree",
    "02 public bins": "five of equal width, from the domain",
    "03 stop at full depth": "from here on ε is true",
    "04 binary splits": "thresholds of a public grid, attributes may return",
    "05 depth 6": "six splits on a path",
    "06 uniform levels": "instead of equation (9)",
    "07 monotone rate": "ε/Δ instead of ε/(2Δ)",
    "08 leaf counts": "and a vote by probability",
    "09 noisy stop": "aligned: early leaves take the rest",
    "10 trees by the budget": "3√ε: the package's default",
    "11 full depth again": "no stop to pay for, nothing to align",
}


def ladder_forest(step: str, **parameters: Any) -> EDPRF:
    """The forest after ``step`` of the ladder of repairs and all steps above it."""
    return EDPRF.as_written(**(parameters | steps_up_to(step, LADDER)))


def measure_step(cell: Cell) -> dict[str, float]:
    """A step of the ladder over 20 repeats."""
    return measure_forests(partial(ladder_forest, cell.method, epsilon=cell.epsilon), cell, repeats=REPEATS)


def edprf_ladder_grid() -> Grid:
    """What each step from the text to the repaired forest costs or brings."""
    cells = product(LADDER, ("adult", "robot"), ("",), (0,), BUDGETS, (0,))
    return Grid("edprf_ladder", tuple(Cell(*cell) for cell in cells), measure_step, ("adult", "robot"))


# --- Undersampling ------------------------------------------------------------------------------------------


def undersample(
    X: pd.DataFrame, y: pd.Series[Any], *, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """As many records of every class as the rarest has, drawn without replacement; positions keep their order."""
    labels, sizes = np.unique(y, return_counts=True)
    kept = [rng.choice(np.flatnonzero(y == label), sizes.min(), replace=False) for label in labels]
    rows = np.sort(np.concatenate(kept))
    return X.iloc[rows], y.iloc[rows]


class Undersampled:
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


RUNS = 20_000
_TINY: dict[str, Any] = {"domain": DOMAIN, "n_trees": 1}
TARGETS: dict[str, Target] = {
    "one-label stop: some tree splits": Target(
        partial(EDPRF.as_written, max_depth=1, bins="public", **_TINY),
        PURE,
        splits,
        RUNS,
        (0.1,),
        encoded=True,
    ),
    "bins of the node: an edge": Target(
        partial(EDPRF.as_written, max_depth=1, stop="depth", **_TINY),
        NARROW,
        largest_edge,
        RUNS,
        (1.0,),
        encoded=True,
    ),
    "parts of equal size: two leaves": Target(
        partial(EDPRF, domain=DOMAIN, bags="parts", n_trees=2, max_depth=0),
        TWO_PARTS,
        parts_log_ratio,
        RUNS,
        (1.0,),
        encoded=True,
    ),
    "undersampling first: a leaf": Target(
        partial(Undersampled, max_depth=0, **_TINY), RARE, smallest_count, RUNS, (1.0,)
    ),
    "repaired, tight: a leaf": Target(
        partial(EDPRF, max_depth=0, **_TINY), LONELY, white_box, RUNS, (1.0,), encoded=True
    ),
    "repaired: one tree, noisy stop": Target(
        partial(EDPRF, max_depth=1, **_TINY), LONELY, white_box, RUNS, (1.0,), encoded=True
    ),
}
PRIVATE = tuple(name for name in TARGETS if name.startswith("repaired"))


def measure_edprf_attack(cell: Cell) -> dict[str, float]:
    """Attack a target of the chapter; metrics as of :func:`~dpnb.book.studies.audit.measure_attack`."""
    return attack_target(TARGETS[cell.method], cell)


def edprf_attack_grid() -> Grid:
    """Attacks on single defects of the text and on the repair, 20 000 runs a side."""
    cells = [Cell(name, ADD, "", 0, claim, 0) for name, target in TARGETS.items() for claim in target.claims]
    return Grid("edprf_attack", tuple(cells), measure_edprf_attack)


_PRIVATE_TEXT: dict[str, Any] = {"bins": "public", "stop": "depth", "bags": "disjoint"}
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
TRIPLES = 50


def measure_edprf_replay(cell: Cell) -> dict[str, float]:
    """Replay a private variant on random neighbours; metrics as of ``audit_replay``."""
    make = REPLAYED[cell.method]
    model = make(epsilon=cell.epsilon, n_trees=3, max_depth=cell.max_depth, neighbours=cell.dataset)
    return replay_random_pairs(model, cell, triples=TRIPLES)


def edprf_replay_grid() -> Grid:
    """Replays of every private variant: both relations, depths and budgets."""
    cells = product(REPLAYED, NEIGHBOURS, ("",), (1, 3), (0.5, 3.0), (0,))
    return Grid("edprf_replay", tuple(Cell(*cell) for cell in cells), measure_edprf_replay)


GRIDS: dict[str, Callable[[], Grid]] = {
    "edprf": edprf_grid,
    "edprf_readings": readings_grid,
    "edprf_ladder": edprf_ladder_grid,
    "edprf_attack": edprf_attack_grid,
    "edprf_replay": edprf_replay_grid,
}
