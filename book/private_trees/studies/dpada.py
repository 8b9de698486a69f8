"""The grids of the boosting chapters: DPAda's figures, its readings, the price of each repair, attacks, the booster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from dpaudit.pairs import DOMAIN, pair_of
from dpnb.arrays import Floats
from dpnb.boosting.booster import PrivateBooster
from dpnb.data.datasets import Dataset
from dpnb.domain import Domain
from dpnb.papers.baselines import AdaBoost, CARTDPsAdaBoost, DPAdaBoost
from dpnb.papers.dpada import READINGS, SCHEDULES, DPAda, Reading, Repaired, Written
from dpnb.privacy.curator import Curator, open_curator
from dpnb.privacy.ledger import Ledger
from dpnb.records.doors import WeightedDoor
from dpnb.records.grid import Additive, Grid, Stump, public_grid
from dpnb.records.memory import Records, WeightedRecords

from .runs import DELTA, INF, MAJORITY, Cell, Study, cells, measure_majority, over_repeats, records_of
from .targets import ADD, Target, attack_study, replay_study

RATE = 0.3  # fixed α of the repaired variants, chosen on the stand-in

# --- Figures 2 to 6 -----------------------------------------------------------------------------------------

REPEATS = 50
BUDGETS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 3.0, 5.0)
ROUNDS = (30, 50, 70, 90, 100)
SETS = ("adult/us", "bank")
PLAIN, ACCURATE = "literal, same, signed", "flat, first, clip0"  # with noise that stays in the weights
LETTERS = PLAIN + ", raw"  # the plainest reading of the text's letters
SHOWN = (LETTERS, PLAIN, ACCURATE)  # on the grid of the figures

METHODS: dict[str, Callable[..., Any]] = {
    "DP-AdaBoost": DPAdaBoost,
    "CART-DPsAdaBoost": CARTDPsAdaBoost,
    "CART-DPsAdaBoost, demo": partial(CARTDPsAdaBoost, demo=True),
    **{
        f"as written ({reading}): {schedule}": partial(
            DPAda.as_written, schedule=schedule, reading=READINGS[reading]
        )
        for reading in SHOWN
        for schedule in SCHEDULES
    },
    **{f"repaired: {schedule}": partial(DPAda, schedule=schedule) for schedule in SCHEDULES},
    "repaired, fixed α: all": partial(DPAda, learning_rate=RATE),
    "repaired, fixed α, δ: all": partial(DPAda, learning_rate=RATE, delta=DELTA),
}
NO_NOISE = "AdaBoost"
"""Reference in the grid of the figures."""


def measure_booster(make: Callable[..., Any], cell: Cell, *, repeats: int = REPEATS) -> dict[str, float]:
    """Mean, sample standard deviation and range of the accuracy over repeats, stumps kept, and the ledger's ε.

    Parameters
    ----------
    make : unfitted estimator from ``domain``, ``random_state`` and, if the cell has them, ``n_rounds`` and a finite
        ``epsilon``; without noise one fit is enough.
    """
    records, codes, labels = records_of(cell.dataset)
    size = {"n_rounds": cell.n_rounds} if cell.n_rounds else {}
    noise, fits_of = ({"epsilon": cell.epsilon}, repeats) if cell.epsilon < INF else ({}, 1)
    make = partial(make, domain=records.domain, random_state=cell.random_state(), **size, **noise)
    fits = [make().fit(records) for _ in range(fits_of)]
    models = [fit.models_[0] if isinstance(fit, PrivateBooster) else fit.model_ for fit in fits]
    return over_repeats([np.mean((model.score(codes) > 0) == labels) for model in models]) | {
        "stumps": float(np.mean([n_stumps(fit) for fit in fits])),
        "ledger_epsilon": max(fit.ledger_.epsilon for fit in fits),
    }


def n_stumps(fit: PrivateBooster | DPAda) -> int:
    """Number of stumps that a fit chose."""
    chosen = [event for event in fit.ledger_.events if event.what == "stump"]
    return len(chosen) if isinstance(fit, PrivateBooster) else len(fit.model_.stumps)


def _delta(cell: Cell) -> float:
    return DELTA if "δ" in cell.method else 0.0


def measure_figure(cell: Cell) -> dict[str, float]:
    """A point of Figures 2 to 6, over the paper's 50 repeats."""
    if cell.method == MAJORITY:
        return measure_majority(cell)
    return measure_booster((METHODS | {NO_NOISE: AdaBoost})[cell.method], cell)


def dpada_grid() -> Study:
    """Figures 2 to 6 at the paper's full grid, for two readings, the baselines and the repaired variants."""
    on = partial(cells, dataset=SETS, max_depth=1)
    found = on(method=METHODS, epsilon=BUDGETS, n_rounds=ROUNDS)
    found += on(method=NO_NOISE, epsilon=INF, n_rounds=ROUNDS) + on(method=MAJORITY, epsilon=INF)
    return Study("dpada", found, measure_figure, _delta, REPEATS)


def measure_reading(cell: Cell) -> dict[str, float]:
    """One of the readings of a schedule (``method``), ten repeats."""
    make = partial(DPAda.as_written, schedule=cell.method, reading=READINGS[cell.reading])
    return measure_booster(make, cell, repeats=10)


def readings_grid() -> Study:
    """All readings of A1 to A3 and A10: at the ends and the middle of the budgets, and at few and many rounds."""
    on = partial(cells, method=SCHEDULES, reading=READINGS, max_depth=1)
    found = on(dataset="adult/us", epsilon=(0.1, 1.0, 5.0), n_rounds=50)
    found += on(dataset=SETS, epsilon=1.0, n_rounds=(30, 100))
    return Study("dpada_readings", found, measure_reading, repeats=10)


def measure_run(cell: Cell) -> dict[str, float]:
    """Accuracy of one fit by the letters, and whether its last stump was trained on noisy weights."""
    records, codes, labels = records_of(cell.dataset)
    make = partial(DPAda.as_written, schedule=cell.method, reading=READINGS[cell.reading])
    fit = make(
        epsilon=cell.epsilon, n_rounds=cell.n_rounds, domain=records.domain, random_state=cell.random_state()
    ).fit(records)
    last = cell.n_rounds > 2 and fit.schedule_[cell.n_rounds - 2]
    return {"accuracy": float(np.mean((fit.model_.score(codes) > 0) == labels)), "last": float(last)}


def runs_grid() -> Study:
    """Single runs by the letters, at an even and an odd number of rounds."""
    axes: dict[str, Any] = {"epsilon": 1.0, "n_rounds": (90, 91), "seed": range(REPEATS)}
    found = cells(method=SCHEDULES, reading=LETTERS, dataset=SETS, max_depth=1, **axes)
    return Study("dpada_runs", found, measure_run, row_a_cell=True)


# --- Does boosting converge ---------------------------------------------------------------------------------


class Halves(Written):
    """As written, but half of a noise round's budget goes to the largest weight and half to the smallest."""

    def noised(self, weights: Floats) -> Floats:
        """Step 8, with the same total for both weights."""
        self._half = (abs(float(weights.max())) + abs(float(weights.min()))) / 2
        return super().noised(weights)

    def _laplace(self, values: Floats, gap: float, *, largest: bool) -> Floats:
        return super()._laplace(values, gap * abs(float(values[0])) / self._half, largest=largest)


DIVISIONS = {"by weight": Written, "in halves": Halves}


def learning_curves(
    X: pd.DataFrame,
    y: pd.Series[Any],
    *,
    domain: Domain,
    schedule: str,
    reading: str,
    epsilon: float,
    seeds: Sequence[int],
    after: Sequence[int],
) -> pd.DataFrame:
    """Accuracy as written on the training records after some of 50 rounds, with two standard errors.

    Parameters
    ----------
    X, y, domain : records.
    schedule : of the noise.
    reading : a literal one, where a weight's share of the budget is its size.
    epsilon : claimed; infinite for no noise.
    seeds : one for each repeat.
    after : numbers of rounds.

    Returns
    -------
    DataFrame with a row a division of the budget and number of rounds, and the columns ``accuracy`` and ``two``.
    """
    records, grid = Records(X, y, domain=domain), public_grid(domain)
    codes, labels = domain.encode(X), np.asarray(y == domain.classes[1])
    rows: dict[tuple[str, int], tuple[float, float]] = {}
    owner = DPAda.as_written(
        schedule=schedule, epsilon=epsilon, n_rounds=50, reading=READINGS[reading], domain=domain
    )
    for name, written in DIVISIONS.items():
        right = []
        for seed in seeds:
            model = _boosted(written, records, grid, owner=owner, seed=seed)
            parts = [Additive(domain, model.stumps[:k], model.alpha[:k]) for k in after]
            right.append([np.mean((part.score(codes) > 0) == labels) for part in parts])
        means, error = np.mean(right, axis=0), np.std(right, axis=0, ddof=1) / len(seeds) ** 0.5
        rows |= {(name, k): (m, 2 * e) for k, m, e in zip(after, means, error, strict=True)}
    return pd.DataFrame(rows, index=["accuracy", "two"]).T.rename_axis(["budget", "rounds"])


def _boosted(written: type[Written], records: Records, grid: Grid, *, owner: DPAda, seed: int) -> Additive:
    rng = np.random.default_rng(seed)
    owner.domain_, owner.schedule_ = records.domain, owner._draw_schedule(rng)
    curator = open_curator(rng=rng, ledger=Ledger(claimed=owner.epsilon))
    assert owner.reading is not None
    return written(owner, owner.reading, curator).boost(records, grid)


# --- Clean weights in the repair ------------------------------------------------------------------------------


class Shaken(Repaired):
    """The repaired loop with Algorithm 2's noise on its weights as well, anew in each round or so that it stays."""

    stays = False

    def rounds(self, data: WeightedDoor) -> Additive:
        """As in the repaired loop, on weights with noise."""
        return super().rounds(_ShakenDoor(data, self.owner, self.curator, stays=self.stays))


class ShakenForGood(Shaken):
    """The same, and noise stays."""

    stays = True


class _ShakenDoor:
    """Door whose weights get noise after each round."""

    def __init__(self, data: WeightedDoor, owner: DPAda, curator: Curator, *, stays: bool) -> None:
        self._data, self._stays, self._kept = data, stays, np.ones(len(data.weights))
        self._noise = Written(owner, READINGS["flat, same, clip0"], curator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._data, name)

    def advance(self, stump: Stump, step: float) -> None:
        """Go on, and put noise on the largest and the smallest weight."""
        self._data.advance(stump, step)
        before = np.maximum(self._data.weights * self._kept, 1e-300)
        self._data.weights = np.minimum(self._noise.noised(before / before.sum()) * before.sum(), 1.0)
        if self._stays:
            self._kept *= self._data.weights / before


REPAIRS = {
    "clean weights": Repaired,
    "noisy weights, anew": Shaken,
    "noisy weights, noise stays": ShakenForGood,
}


def shaken_scores(
    data: Dataset, records: Records, *, epsilon: float, n_rounds: int, seeds: Sequence[int]
) -> pd.DataFrame:
    """Test accuracy of the repaired loop on weights without noise and with it, and its two standard errors."""
    codes, labels = data.domain.encode(data.test[0]), np.asarray(data.test[1] == data.domain.classes[1])
    grid, rows = public_grid(data.domain), {}
    for name, loop in REPAIRS.items():
        right = []
        for seed in seeds:
            owner = DPAda(epsilon=epsilon, n_rounds=n_rounds, domain=data.domain)
            rng = np.random.default_rng(seed)
            owner.domain_, owner.schedule_ = data.domain, owner._draw_schedule(rng)
            curator = open_curator(rng=rng, ledger=Ledger(claimed=epsilon))
            right.append(np.mean((loop(owner, curator).boost(records, grid).score(codes) > 0) == labels))
        rows[name] = np.mean(right), 2 * np.std(right, ddof=1) / len(right) ** 0.5
    return pd.DataFrame(rows, index=["accuracy", "two"]).T


# --- The price of each step ---------------------------------------------------------------------------------

STEPS: dict[str, tuple[Callable[..., Any], str]] = {
    "0 as written": (
        partial(DPAda.as_written, schedule="improved", reading=READINGS[ACCURATE + ", raw"]),
        "Improved, noise in the budget's flat reading",
    ),
    "as written, noise stays": (
        partial(DPAda.as_written, schedule="improved", reading=READINGS[ACCURATE]),
        "the same, but step 7 starts from the noisy weights",
    ),
    "1 no noise": (AdaBoost, "AdaBoost on midpoints of the data"),
    "2 public thresholds": (partial(AdaBoost, thresholds="grid"), "31 uniform and 24 geometric ones"),
    "3 bounded weights": (
        partial(DPAda, learning_rate=RATE, epsilon=INF),
        "min(1, exp(−yF)) and α = 0.3, still without noise",
    ),
    "4 private stump": (partial(DPAda, learning_rate=RATE), "permute-and-flip with B/m a round: pure ε-DP"),
    "5 noisy α": (DPAda, "half of each round for two noisy weights"),
    "6 fewer, dearer rounds": (partial(DPAda, schedule="improved"), "the causal schedule"),
    "7 individual filter": (
        partial(DPAda, learning_rate=RATE, filter_rounds=20),
        "B/20 a round, records leave when they have spent B",
    ),
    "8 composition by zCDP": (partial(DPAda, learning_rate=RATE, delta=DELTA), "step 4 with δ = 1e-5"),
    "9 the booster, δ": (
        partial(PrivateBooster, delta=DELTA),
        "shrinking steps, groups of attributes, and noisy sweeps over all",
    ),
}
WITHOUT_NOISE = ("1 no noise", "2 public thresholds", "3 bounded weights")


def measure_step(cell: Cell) -> dict[str, float]:
    """A step of the ladder, 50 repeats where there is noise."""
    return measure_booster(STEPS[cell.method][0], cell)


def dpada_ladder_grid() -> Study:
    """What each step from AdaBoost to the booster costs or brings, at 50 rounds; the booster has its own number."""
    found = []
    for step in STEPS:
        rounds = 0 if step.startswith("9") else 50
        budgets = INF if step in WITHOUT_NOISE else (0.1, 0.5, 1.0, 5.0)
        found += cells(method=step, dataset=SETS, max_depth=1, epsilon=budgets, n_rounds=rounds)
    return Study("dpada_ladder", found, measure_step, _delta, REPEATS)


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
EVEN = pair_of(
    "one record of each class at one point, and one more",
    [(0.2, 0, 1), (0.2, 0, 0)],
    (0.2, 0, 1),
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


class NoisedWeights(BaseEstimator):  # type: ignore[misc]
    """Rounds 1 and 2 of DPAda as written, of which only Algorithm 2's output, the weights w₃, is released."""

    def __init__(self, *, epsilon: float, random_state: Any = None) -> None:
        self.epsilon = epsilon
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: pd.Series[Any]) -> Self:
        """Run two rounds and keep the weights."""
        owner = DPAda.as_written(epsilon=self.epsilon, n_rounds=50)
        rng, ledger = np.random.default_rng(self.random_state), Ledger(claimed=self.epsilon)
        written = Written(owner, Reading(), open_curator(rng=rng, ledger=ledger))
        data = WeightedRecords(Records(X, y, domain=DOMAIN), public_grid(DOMAIN, uniform=3))
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


def one_label(model: DPAda) -> Floats:
    """The label of the only point of ``EVEN``, by the score as for :func:`label_at_0`, and faster."""
    return (model.model_.score(model.domain_.encode(EVEN.first[0][:1])) > 0).astype(float)


def whole_model(model: DPAda) -> Floats:
    """Stumps and steps of a booster, all that it releases."""
    stumps = np.array([[s.attribute, np.nan_to_num(s.cut), s.sign] for s in model.model_.stumps])
    return np.concatenate([stumps.ravel(), model.model_.alpha])


def uniform_weights(model: NoisedWeights) -> Floats:
    """Whether all weights are equal."""
    return np.array([float(np.ptp(model.weights_) < 1e-12)])


_SMALL: dict[str, Any] = {"domain": DOMAIN, "uniform": 3, "geometric": 0}
_TEXT = partial(DPAda.as_written, **_SMALL)
_WRITTEN = partial(Target, encoded=True)
_REPAIRED = partial(_WRITTEN, pair=TIED, observe=whole_model, claims=(1.0, 4.0), private=True)
TARGETS: dict[str, Target] = {
    **{
        f"α₁: {schedule}": _WRITTEN(partial(_TEXT, schedule=schedule, n_rounds=2), ROUND_ONE, first_alpha)
        for schedule in SCHEDULES
    },
    "α₁: Algorithm 3 as printed": _WRITTEN(
        partial(_TEXT, reading=Reading(noise_in_round_1=True), n_rounds=2), ROUND_ONE, first_alpha
    ),
    "α₁: all, one record replaced": _WRITTEN(partial(_TEXT, n_rounds=2), ROUND_ONE_REPLACED, first_alpha),
    **{
        f"black-box label: {schedule}": _WRITTEN(
            partial(_TEXT, schedule=schedule, n_rounds=10, reading=Reading(update="noised")),
            SEPARABLE,
            label_at_0,
        )
        for schedule in SCHEDULES
    },
    **{
        f"black-box label, letters: {schedule}": _WRITTEN(
            partial(_TEXT, schedule=schedule, n_rounds=4), EVEN, one_label
        )
        for schedule in SCHEDULES
    },
    "Algorithm 2 alone": Target(NoisedWeights, BALANCED, uniform_weights),
    **{
        f"repaired, whole model: {schedule}": _REPAIRED(
            partial(DPAda, schedule=schedule, n_rounds=2, **_SMALL)
        )
        for schedule in SCHEDULES
    },
    "repaired, fixed α, one round": _REPAIRED(partial(DPAda, learning_rate=RATE, n_rounds=1, **_SMALL)),
    "individual filter, whole model": _REPAIRED(
        partial(DPAda, learning_rate=RATE, n_rounds=6, filter_rounds=2, **_SMALL)
    ),
}


def dpada_attack_grid() -> Study:
    """Attacks on DPAda as written, on Algorithm 2 alone and on the repaired variants, 20 000 runs a side."""
    return attack_study("dpada_attack", TARGETS, max_depth=1)


REPLAYED: dict[str, dict[str, Any]] = {
    **{schedule: {"schedule": schedule} for schedule in SCHEDULES},
    "fixed α": {"learning_rate": RATE},
    "individual filter": {"learning_rate": RATE, "filter_rounds": 3},
}


def repaired(cell: Cell) -> DPAda:
    """A repaired variant on a small grid of thresholds."""
    size: dict[str, Any] = {"n_rounds": cell.n_rounds, "uniform": 5, "geometric": 2}
    return DPAda(epsilon=cell.epsilon, **size, **REPLAYED[cell.method])


def dpada_replay_grid() -> Study:
    """Replays of every repaired variant: both relations, several lengths and budgets."""
    axes: dict[str, Any] = {"method": REPLAYED, "max_depth": 1, "epsilon": (0.5, 3.0), "n_rounds": (4, 12)}
    return replay_study("dpada_replay", repaired, triples=300, **axes)


GRIDS = {
    "dpada": dpada_grid,
    "dpada_readings": readings_grid,
    "dpada_runs": runs_grid,
    "dpada_ladder": dpada_ladder_grid,
    "dpada_attack": dpada_attack_grid,
    "dpada_replay": dpada_replay_grid,
}
