"""The grids of the boosting chapters: DPAda's figures, its readings, the price of each repair, attacks, the booster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np
import pandas as pd

from ...arrays import Floats
from ...audit.search import DOMAIN, NEIGHBOURS, pair_of
from ...booster import PrivateBooster
from ...counts import Records, WeightedRecords
from ...curator import open_curator
from ...grid import public_grid
from ...ledger import Ledger
from ...papers.baselines import AdaBoost, CARTDPsAdaBoost, DPAdaBoost
from ...papers.dpada import READINGS, SCHEDULES, DPAda, Reading, Written
from ..runs import DELTA, Cell, Grid, measure_majority, over_repeats, records_of
from ..runs import points_of as points_of_cells
from ..targets import ADD, Target, attack_target, replay_random_pairs

RATE = 0.3  # fixed α of the repaired variants, chosen on the stand-in
INF = float("inf")

# --- Figures 2 to 6 -----------------------------------------------------------------------------------------

REPEATS = 50
BUDGETS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 3.0, 5.0)
ROUNDS = (30, 50, 70, 90, 100)
SETS = ("adult/us", "bank")
PLAIN, CLOSEST = "literal, same, signed", "flat, first, clip0"

METHODS: dict[str, Callable[..., Any]] = {
    "DP-AdaBoost": DPAdaBoost,
    "CART-DPsAdaBoost": CARTDPsAdaBoost,
    "CART-DPsAdaBoost, demo": partial(CARTDPsAdaBoost, demo=True),
    **{
        f"as written ({reading}): {schedule}": partial(
            DPAda.as_written, schedule=schedule, reading=READINGS[reading]
        )
        for reading in (PLAIN, CLOSEST)
        for schedule in SCHEDULES
    },
    **{f"repaired: {schedule}": partial(DPAda, schedule=schedule) for schedule in SCHEDULES},
    "repaired, fixed α: all": partial(DPAda, learning_rate=RATE),
    "repaired, fixed α, δ: all": partial(DPAda, learning_rate=RATE, delta=DELTA),
}
NO_NOISE, MAJORITY = "AdaBoost", "majority class"
"""References in the grid of the figures."""


def measure_booster(make: Callable[..., Any], cell: Cell, *, repeats: int) -> dict[str, float]:
    """Mean, sample standard deviation and range of the accuracy over repeats, stumps kept, and the ledger's ε.

    Parameters
    ----------
    make : unfitted estimator from ``domain`` and ``random_state``.
    """
    records, codes, labels = records_of(cell.dataset)
    rng = cell.random_state()
    fits = [make(domain=records.domain, random_state=rng).fit(records) for _ in range(repeats)]
    models = [fit.models_[0] if isinstance(fit, PrivateBooster) else fit.model_ for fit in fits]
    return over_repeats([np.mean((model.score(codes) > 0) == labels) for model in models]) | {
        "stumps": float(np.mean([len(model.stumps) for model in models])),
        "ledger_epsilon": max(fit.ledger_.epsilon for fit in fits),
    }


def _delta(cell: Cell) -> float:
    return DELTA if "δ" in cell.method else 0.0


def measure_figure(cell: Cell) -> dict[str, float]:
    """A point of Figures 2 to 6, over the paper's 50 repeats."""
    if cell.method == MAJORITY:
        return measure_majority(cell)
    if cell.method == NO_NOISE:
        return measure_booster(partial(AdaBoost, n_rounds=cell.n_rounds), cell, repeats=1)
    make = partial(METHODS[cell.method], epsilon=cell.epsilon, n_rounds=cell.n_rounds)
    return measure_booster(make, cell, repeats=REPEATS)


def dpada_grid(sets: tuple[str, ...] = SETS) -> Grid:
    """Figures 2 to 6 at the paper's full grid, for two readings, the baselines and the repaired variants."""
    axes = product(METHODS, sets, ("",), (1,), BUDGETS, (0,), ROUNDS)
    cells = [Cell(*cell) for cell in axes]
    cells += [Cell(NO_NOISE, data, "", 1, INF, 0, m) for data in sets for m in ROUNDS]
    cells += [Cell(MAJORITY, data, "", 1, INF, 0) for data in sets]
    return Grid("dpada", tuple(cells), measure_figure, sets, _delta)


points_of = partial(points_of_cells, repeats=REPEATS)


def measure_reading(cell: Cell) -> dict[str, float]:
    """One of the nine readings (``utility``) of a schedule (``method``), ten repeats."""
    make = partial(DPAda.as_written, schedule=cell.method, reading=READINGS[cell.utility])
    return measure_booster(partial(make, epsilon=cell.epsilon, n_rounds=cell.n_rounds), cell, repeats=10)


def readings_grid(dataset: str = "adult/us") -> Grid:
    """All nine readings of all four schedules, at the ends and the middle of the paper's budgets."""
    cells = product(SCHEDULES, (dataset,), READINGS, (1,), (0.1, 1.0, 5.0), (0,), (50,))
    return Grid("dpada_readings", tuple(Cell(*cell) for cell in cells), measure_reading, (dataset,))


# --- The price of each step ---------------------------------------------------------------------------------

STEPS: dict[str, tuple[Callable[..., Any], str]] = {
    "0 as written": (
        partial(DPAda.as_written, schedule="improved", reading=READINGS[CLOSEST]),
        "Improved, the reading closest to the figures",
    ),
    "1 no noise": (partial(AdaBoost), "AdaBoost on midpoints of the data"),
    "2 public thresholds": (partial(AdaBoost, thresholds="grid"), "31 uniform and 24 geometric ones"),
    "3 bounded weights": (
        partial(DPAda, learning_rate=RATE),
        "min(1, exp(−yF)) and α = 0.3, still without noise",
    ),
    "4 private stump": (partial(DPAda, learning_rate=RATE), "permute-and-flip with B/m a round: pure ε-DP"),
    "5 noisy α": (partial(DPAda), "half of each round for two noisy weights"),
    "6 fewer, dearer rounds": (partial(DPAda, schedule="improved"), "the causal schedule"),
    "7 individual filter": (
        partial(DPAda, learning_rate=RATE, filter_rounds=20),
        "B/20 a round, records leave when they have spent B",
    ),
    "8 composition by zCDP": (partial(DPAda, learning_rate=RATE, delta=DELTA), "step 4 with δ = 1e-5"),
    "9 the booster, δ": (partial(PrivateBooster, delta=DELTA), "a shrinking step, rounds by the budget"),
}
NOT_PRIVATE = ("1 no noise", "2 public thresholds")
WITHOUT_NOISE = (*NOT_PRIVATE, "3 bounded weights")


def measure_step(cell: Cell) -> dict[str, float]:
    """A step of the ladder, 50 repeats where there is noise."""
    parameters: dict[str, Any] = {"epsilon": cell.epsilon, "n_rounds": cell.n_rounds or None}
    if cell.method in NOT_PRIVATE:
        del parameters["epsilon"]
    silent = cell.epsilon == INF
    return measure_booster(
        partial(STEPS[cell.method][0], **parameters), cell, repeats=1 if silent else REPEATS
    )


def dpada_ladder_grid(sets: tuple[str, ...] = SETS) -> Grid:
    """What each step from AdaBoost to the booster costs or brings, at 50 rounds."""
    cells = [
        Cell(step, data, "", 1, epsilon, 0, 0 if step.startswith("9") else 50)
        for step, data in product(STEPS, sets)
        for epsilon in ((INF,) if step in WITHOUT_NOISE else (0.1, 0.5, 1.0, 5.0))
    ]
    return Grid("dpada_ladder", tuple(cells), measure_step, sets, _delta)


# --- Audit --------------------------------------------------------------------------------------------------

ROUND_ONE = pair_of(
    "a stump that is right on 6 of 8 records",
    [(1.0, 0, 1)] * 3 + [(1.0, 0, 0)] + [(0.0, 0, 0)] * 3 + [(0.0, 0, 1)],
    (1.0, 0, 1),
    neighbours=ADD,
)
ROUND_ONE_REPLACED = pair_of(
    "the same stump, one label turned",
    [(1.0, 0, 1)] * 3 + [(1.0, 0, 0)] + [(0.0, 0, 0)] * 3,
    (0.0, 0, 1),
    neighbours="replace",
)
SEPARABLE = pair_of(
    "two points that a stump separates, and one record against it",
    [(1.0, 0, 1)] * 4 + [(0.0, 0, 0)] * 2,
    (0.0, 0, 1),
    neighbours=ADD,
)
BALANCED = pair_of(
    "exclusive or: no stump is better than a coin",
    [(float(a), b, a ^ b) for a in (0, 1) for b in (0, 1)] * 2,
    (1.0, 0, 1),
    neighbours=ADD,
)


TIED = pair_of(
    "labels in balance: every stump is right on three",
    [(0.2, 0, i % 2) for i in range(6)],
    (0.2, 0, 1),
    neighbours=ADD,
)


class NoisedWeights:
    """Rounds 1 and 2 of DPAda as written, of which only Algorithm 2's output, the weights w₃, is released."""

    def __init__(self, *, epsilon: float, random_state: Any = None) -> None:
        self.epsilon = epsilon
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: pd.Series[Any]) -> Self:
        """Run two rounds and keep the weights."""
        owner = DPAda.as_written(epsilon=self.epsilon, n_rounds=50)
        rng, ledger = np.random.default_rng(self.random_state), Ledger(claimed=self.epsilon)
        written = Written(owner, Reading(), open_curator(rng=rng, ledger=ledger))
        data = WeightedRecords(Records(X, y, domain=DOMAIN), public_grid(DOMAIN, uniform=3), positive=1)
        written.start(data)
        for noise in (False, True):
            written.round(data, noise=noise)
        self.weights_ = data.weights
        return self


def first_alpha(model: DPAda) -> Floats:
    """α₁ of a booster."""
    return model.model_.alpha[:1]


def label_at_0(model: DPAda) -> Floats:
    """The label of the point x = 0, all that a black box shows."""
    return model.predict(pd.DataFrame({"x": [0.0], "c": [0]})).astype(float)


def whole_model(model: DPAda) -> Floats:
    """Stumps and steps of a booster, all that it releases."""
    stumps = np.array([[s.attribute, np.nan_to_num(s.cut), s.sign] for s in model.model_.stumps])
    return np.concatenate([stumps.ravel(), model.model_.alpha])


def uniform_weights(model: NoisedWeights) -> Floats:
    """Whether all weights are equal."""
    return np.array([float(np.ptp(model.weights_) < 1e-12)])


RUNS = 20_000
_SMALL: dict[str, Any] = {"domain": DOMAIN, "uniform": 3, "geometric": 0}
DPADA_TARGETS: dict[str, Target] = {
    **{
        f"α₁: {schedule}": Target(
            partial(DPAda.as_written, schedule=schedule, n_rounds=2, **_SMALL),
            ROUND_ONE,
            first_alpha,
            RUNS,
            (1.0,),
        )
        for schedule in SCHEDULES
    },
    "α₁: Algorithm 3 as printed": Target(
        partial(DPAda.as_written, reading=Reading(noise_in_round_1=True), n_rounds=2, **_SMALL),
        ROUND_ONE,
        first_alpha,
        RUNS,
        (1.0,),
    ),
    "α₁: all, one record replaced": Target(
        partial(DPAda.as_written, n_rounds=2, **_SMALL), ROUND_ONE_REPLACED, first_alpha, RUNS, (1.0,)
    ),
    **{
        f"black-box label: {schedule}": Target(
            partial(DPAda.as_written, schedule=schedule, n_rounds=10, **_SMALL),
            SEPARABLE,
            label_at_0,
            RUNS,
            (1.0,),
        )
        for schedule in SCHEDULES
    },
    "Algorithm 2 alone": Target(NoisedWeights, BALANCED, uniform_weights, RUNS, (1.0,)),
    **{
        f"repaired, whole model: {schedule}": Target(
            partial(DPAda, schedule=schedule, n_rounds=2, **_SMALL), TIED, whole_model, RUNS, (1.0, 4.0)
        )
        for schedule in SCHEDULES
    },
    "repaired, fixed α, one round": Target(
        partial(DPAda, learning_rate=RATE, n_rounds=1, **_SMALL), TIED, whole_model, RUNS, (1.0, 4.0)
    ),
    "individual filter, whole model": Target(
        partial(DPAda, learning_rate=RATE, n_rounds=6, filter_rounds=2, **_SMALL),
        TIED,
        whole_model,
        RUNS,
        (1.0, 4.0),
    ),
}


def measure_dpada_attack(cell: Cell) -> dict[str, float]:
    """Attack a target of the boosting chapter; metrics as of :func:`~dpnb.book.studies.audit.measure_attack`."""
    return attack_target(DPADA_TARGETS[cell.method], cell)


def dpada_attack_grid() -> Grid:
    """Attacks on DPAda as written, on Algorithm 2 alone and on the repaired variants, 20 000 runs a side."""
    cells = [Cell(name, ADD, "", 1, b, 0) for name, target in DPADA_TARGETS.items() for b in target.claims]
    return Grid("dpada_attack", tuple(cells), measure_dpada_attack)


REPLAYED: dict[str, dict[str, Any]] = {
    **{schedule: {"schedule": schedule} for schedule in SCHEDULES},
    "fixed α": {"learning_rate": RATE},
    "individual filter": {"learning_rate": RATE, "filter_rounds": 3},
}
TRIPLES = 300


def measure_dpada_replay(cell: Cell) -> dict[str, float]:
    """Replay a repaired variant on random neighbours; metrics as of ``audit_replay``."""
    model = DPAda(
        epsilon=cell.epsilon,
        n_rounds=cell.n_rounds,
        uniform=5,
        geometric=2,
        neighbours=cell.dataset,  # type: ignore[arg-type]
        **REPLAYED[cell.method],
    )
    return replay_random_pairs(model, cell, triples=TRIPLES)


def dpada_replay_grid() -> Grid:
    """Replays of every repaired variant: both relations, several lengths and budgets."""
    cells = product(REPLAYED, NEIGHBOURS, ("",), (1,), (0.5, 3.0), (0,), (4, 12))
    return Grid("dpada_replay", tuple(Cell(*cell) for cell in cells), measure_dpada_replay)


GRIDS: dict[str, Callable[[], Grid]] = {
    "dpada": dpada_grid,
    "dpada_readings": readings_grid,
    "dpada_ladder": dpada_ladder_grid,
    "dpada_attack": dpada_attack_grid,
    "dpada_replay": dpada_replay_grid,
}
