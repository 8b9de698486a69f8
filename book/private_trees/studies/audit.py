"""Large campaigns of replays, run like the papers' grids."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpaudit.pairs import DOMAIN, random_pair
from dpnb.arrays import Floats
from dpnb.boosting.booster import PrivateBooster
from dpnb.boosting.plans import Plan, Settings
from dpnb.estimators.documents import plain
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.pearson import PearsonTree
from dpnb.privacy.laws import PermuteAndFlip
from dpnb.records.memory import Records
from dpnb.trees.growth import NOISES

from ..auditing.releases import Spent, spent
from ..auditing.twins import TWINS
from ..board.learners import MAKE
from ..papers import PAPERS
from .runs import DELTA, Cell, Study, cells, read, results_folder, wide
from .targets import (
    ADD,
    EARLY_RUNS,
    LONELY,
    NARROW,
    PURE,
    Target,
    attack_cells,
    bounds,
    early_attack,
    early_bounds,
    labels,
    largest_threshold,
    last_digits,
    leaf_counts,
    measure_attack,
    measure_replays,
    replay_study,
    splits,
)

RATES = {"full": None, "poisson": None, "bernoulli": 0.3, "disjoint": None, "cover": 2.0}


def repaired(cell: Cell) -> DiffPRFs:
    """A repaired forest with the cell's bags."""
    return DiffPRFs(
        epsilon=cell.epsilon,
        n_trees=3,
        max_depth=cell.max_depth,
        max_features=1,
        utility=cell.utility,
        bags=cell.method,
        bag_rate=RATES[cell.method],
    )


def replay_grid() -> Study:
    """36 cells for each per-record bag mode: relations, scores, depths and ε."""
    return replay_study(
        "audit_replay",
        repaired,
        triples=300,
        relations=(ADD,),
        method=RATES,
        utility=("max", "info_gain", "gini"),
        max_depth=(1, 2, 3),
        epsilon=(0.5, 3.0),
    )


# --- All learners of the board ------------------------------------------------------------------------------

BOARD_REPLAY = "board_replay"
TRIPLES = 50
SMALL: dict[str, dict[str, Any]] = {
    **{paper.estimator.__name__: dict(paper.small) for paper in PAPERS.values()},
    "RandomTrees": {"n_trees": 2, "max_depth": 3},
    "LogisticRegression": {"n_rounds": 6, "uniform": 5, "geometric": 2},
    "PrivateBooster": {"n_rounds": 4, "uniform": 5, "geometric": 2},
}
"""Of the estimator's arguments, those by which it is fitted in milliseconds."""


class EveryStage(Settings):
    """Settings of the booster by which few records go through all stages, with few stumps and sweeps."""

    def plan(self, known: float) -> Plan:
        """The plan of the most records, but short."""
        plan = super().plan(1e9)
        return plan._replace(stumps=4, level=plan.level._replace(groups=4, sweeps=3))

    def of_a_pass(self, stumps: int, *, n_attributes: int) -> int:
        """Two stumps a pass."""
        return 2


class ThroughEveryStage(PrivateBooster):
    """The booster as it is on many records."""

    _settings: ClassVar = EveryStage()
    _products_from: ClassVar = 0.0


def on_the_board(cell: Cell) -> Any:
    """A learner of the board, small enough to be fitted thousands of times."""
    how = MAKE[cell.method]
    kind, given = getattr(how, "func", how), getattr(how, "keywords", {})
    model = ThroughEveryStage if kind is PrivateBooster else kind
    return model(epsilon=cell.epsilon, **SMALL[kind.__name__] | given)


def measure_learner(cell: Cell) -> dict[str, float]:
    """Replays as of :func:`~private_trees.studies.targets.measure_replays`; with δ also what single releases cost.

    Returns
    -------
    With δ also ``worst_release``, the largest cost of a release as a share of what it books, over as many neighbours.
    """
    found = measure_replays(on_the_board, cell, triples=TRIPLES)
    return found | ({"worst_release": worst_release(cell)} if delta_of(cell) else {})


def worst_release(cell: Cell) -> float:
    """Largest share of its budget that a release costs on random neighbours; ``inf`` if the two sides part ways."""
    rng, shares = cell.random_state(), [0.0]
    model = on_the_board(cell).set_params(neighbours=cell.neighbours)
    for seed in range(TRIPLES):
        pair = random_pair(rng, neighbours=cell.neighbours)
        sides = [Records(*part, domain=pair.domain, strict=False) for part in (pair.first, pair.second)]
        first, second = sides[:: 1 if seed % 2 else -1]
        found = spent_by(model, first, second, neighbours=cell.neighbours, seed=seed)
        shares += [one.share for one in found]
    return max(shares)


def spent_by(estimator: Any, first: Any, second: Any, *, neighbours: str = ADD, seed: int = 0) -> list[Spent]:
    """:func:`~private_trees.auditing.releases.spent` for an estimator; what it publishes is what its documents hold.

    Parameters
    ----------
    first, second : encoded records.
    seed : of the fit.
    """

    def publish(records: Any) -> object:
        model = clone(estimator).set_params(random_state=seed).fit(records)
        return [plain(getattr(model, name)) for name in model._released]

    return spent(publish, first, second, neighbours=neighbours)


def delta_of(cell: Cell) -> float:
    """The δ of a cell's learner, 0 for pure ε."""
    return DELTA if "δ" in cell.method else 0.0


def board_replay_grid() -> Study:
    """Replays of every learner of the board: both relations, two budgets."""
    return Study(
        BOARD_REPLAY,
        cells(method=MAKE, neighbours=(ADD, "replace"), epsilon=(0.5, 3.0)),
        measure_learner,
        delta=delta_of,
    )


def audited(folder: Path | None = None) -> pd.DataFrame:
    """What replays say of each learner of the board, from the stored results.

    Parameters
    ----------
    folder : of the results, by default the project's.

    Returns
    -------
    DataFrame with a row a learner, in the board's order: ``verdict``, "holds" or "violated"; ``neighbours``, how many
    pairs were replayed; ``loss_over_claim``, the largest loss as a share of ε; ``release_over_budget``, the largest
    exact cost of a release as a share of what it books, NaN for pure ε. A claim with δ lets a loss pass ε with a
    probability of about δ; that is counted as a violation all the same.
    """
    table = wide(read(BOARD_REPLAY, folder or results_folder())).groupby("method")
    found = pd.DataFrame(
        {
            "neighbours": table["triples"].sum().astype(int),
            "loss_over_claim": table["worst_share"].max(),
            "release_over_budget": table["worst_release"].max(),
        }
    ).loc[list(MAKE)]
    most = found[["loss_over_claim", "release_over_budget"]].max(axis=1)
    found.insert(0, "verdict", np.where(most <= 1, "holds", "violated"))
    return found.rename_axis("learner")


# --- Attacks ------------------------------------------------------------------------------------------------

_WRITTEN = partial(DiffPRFs.as_written, domain=DOMAIN, max_depth=2)
_ONE: dict[str, Any] = {"domain": DOMAIN, "n_trees": 1, "max_depth": 0}
TARGETS = {
    "as written: some tree splits, t = 1": Target(partial(_WRITTEN, n_trees=1), PURE, splits, claims=(0.1,)),
    "as written: some tree splits, t = 5": Target(partial(_WRITTEN, n_trees=5), PURE, splits, 4_000, (0.1,)),
    "as written: some tree splits, t = 25": Target(partial(_WRITTEN, n_trees=25), PURE, splits, 2_000),
    "as written: predicted labels, t = 1": Target(partial(_WRITTEN, n_trees=1), PURE, labels),
    "as written: predicted labels, t = 5": Target(partial(_WRITTEN, n_trees=5), PURE, labels, 4_000),
    "bounds from the data: a threshold": Target(
        partial(DiffPRFs, bounds="data", selection="two-step", max_features=2, **_ONE | {"max_depth": 1}),
        NARROW,
        largest_threshold,
    ),
    "bootstrap only: a leaf": Target(
        partial(DiffPRFs.as_written, stop="depth", size_query=False, **_ONE),
        LONELY,
        leaf_counts,
        100_000,
        (1.0, 3.0),
    ),
    "Poisson bags: a leaf": Target(
        partial(DiffPRFs, **_ONE), LONELY, leaf_counts, 100_000, (1.0, 3.0), private=True
    ),
    **{
        f"last digits of a leaf, {noise} noise": Target(
            partial(PearsonTree, domain=DOMAIN, noise=noise),
            LONELY,
            last_digits,
            encoded=True,
            private=noise == "geometric",
        )
        for noise in NOISES
    },
    "repaired: predicted probabilities": Target(
        partial(DiffPRFs, domain=DOMAIN, n_trees=3, max_depth=2), PURE, None, private=True
    ),
}
FLIP = "permute-and-flip: its tight pair"
FLIP_DRAWS = 100_000
TWIN = "twin: "
TWIN_RUNS = 60_000


def _flips(scores: list[float], epsilon: float, rng: np.random.Generator, draws: int) -> Floats:
    law = PermuteAndFlip(np.tile(scores, draws), 2 * np.arange(draws), np.array(epsilon / 2))
    return law.draw(rng).astype(float)


def _drawn(cell: Cell, runs: int) -> tuple[Floats, Floats]:
    """Outputs of a twin, or of permute-and-flip on its tight pair, so many on each side."""
    rng = cell.random_state()
    if cell.method == FLIP:
        return _flips([0.0, -4.0], cell.epsilon, rng, runs), _flips([-1.0, -3.0], cell.epsilon, rng, runs)
    (twin,) = (twin for twin in TWINS if cell.method == TWIN + twin.name)
    first, second = (
        np.array([twin.run(data, rng) for _ in range(runs)]) for data in (twin.first, twin.second)
    )
    return first, second


def measure_any(cell: Cell) -> dict[str, float]:
    """Attack a target, a twin, or permute-and-flip, as :func:`~private_trees.studies.targets.measure_attack`."""
    if cell.method in TARGETS:
        return measure_attack(TARGETS, cell)
    runs = FLIP_DRAWS if cell.method == FLIP else TWIN_RUNS
    return bounds(cell, *_drawn(cell, runs), runs) | early_of_any(cell)


def early_of_any(cell: Cell) -> dict[str, float]:
    """What tests repeat of :func:`measure_any`."""
    if cell.method in TARGETS:
        return early_attack(TARGETS, cell)
    return early_bounds(cell, *_drawn(cell, EARLY_RUNS))


def attack_grid() -> Study:
    """Attacks on DiffPRFs as written, on its single defects and on the repair, at full length."""
    found = cells(method=FLIP, neighbours=ADD, epsilon=(0.5, 1.0, 2.0, 4.0))
    for twin in TWINS:
        found += cells(method=TWIN + twin.name, neighbours=ADD, epsilon=twin.claimed)
    return Study("audit_attack", found + attack_cells(TARGETS), measure_any, early=early_of_any)


GRIDS = {"audit_replay": replay_grid, "board_replay": board_replay_grid, "audit_attack": attack_grid}
