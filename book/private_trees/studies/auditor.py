"""The auditor on mechanisms whose privacy is known: how often its bounds are wrong, and how many runs it needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, ndtr

from dpaudit import Monitor
from dpaudit.betting import gaussian_delta
from dpaudit.rules import Lesson
from dpnb.arrays import Floats, Ints
from dpnb.privacy.laws import Exponential, PermuteAndFlip, TwoSidedGeometric

from ..auditing.bets import betting_bound
from ..auditing.counts import clopper_pearson
from ..auditing.fixed import compare
from .runs import Cell, Study, cells

CONFIDENCE = 0.95
BATCH = 50  # repetitions of a cell
COVERED_ROUNDS = 1000
FEW_ROUNDS = 200
RUNS = (2000, 20_000)  # a side
CONVICTION = 0.99
MOST = 20_000  # rounds
REPEATS = 10

AMONG_NOISE = "randomised response among noise"

Draw = Callable[[Ints, np.random.Generator], Floats]
"""Data sets (0 or 1) of the runs, generator → outputs."""


@dataclass(frozen=True)
class Known:
    """A mechanism on a pair of neighbours for which it is exactly (ε, δ)-DP."""

    draw: Draw  # outputs
    epsilon: float  # least ε at `delta`, in both directions
    delta: float
    # Chances of the best guesses: of D on D and on D′, of D′ on D and on D′.
    rates: tuple[tuple[float, float], tuple[float, float]]

    def per_round(self) -> tuple[float, float]:
        """Chances of a correct and of a wrong guess."""
        (a, b), (c, d) = self.rates
        return (a + d) / 2, (b + c) / 2


def _two_outcomes(p: float, q: float) -> tuple[Draw, float]:
    """A bit of chance p on D and q on D′, and its exact ε."""

    def draw(sides: Ints, rng: np.random.Generator) -> Floats:
        return (rng.random(len(sides)) < np.where(sides == 0, p, q)).astype(float)

    return draw, max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))


def _randomised_response(epsilon: float) -> Known:
    p = float(expit(epsilon))
    draw, true = _two_outcomes(p, 1 - p)
    return Known(draw, true, 0.0, ((p, 1 - p), (1 - p, p)))


def _laplace(epsilon: float) -> Known:
    def draw(sides: Ints, rng: np.random.Generator) -> Floats:
        return sides + rng.laplace(size=len(sides)) / epsilon

    low = 0.5 * math.exp(-epsilon)
    return Known(draw, epsilon, 0.0, ((0.5, low), (low, 0.5)))


def _geometric(epsilon: float) -> Known:
    def draw(sides: Ints, rng: np.random.Generator) -> Floats:
        law = TwoSidedGeometric(sides.astype(np.int64), np.array(1 / epsilon))
        return law.draw(rng).astype(float)

    high = 1 / (1 + math.exp(-epsilon))
    return Known(draw, epsilon, 0.0, ((high, 1 - high), (1 - high, high)))


def _gaussian(epsilon: float, *, delta: float) -> Known:
    mu = float(brentq(lambda m: float(gaussian_delta(m, epsilon=epsilon)) - delta, 1e-3, 50))

    def draw(sides: Ints, rng: np.random.Generator) -> Floats:
        return mu * sides + rng.standard_normal(len(sides))

    rates = float(ndtr(mu / 2 - epsilon / mu)), float(ndtr(-mu / 2 - epsilon / mu))
    return Known(draw, epsilon, delta, (rates, rates[::-1]))


def _choice(epsilon: float, *, flip: bool) -> Known:
    """Two candidates of scores 0 and −2 on D, both −1 on D′."""
    start, rate = np.array([0]), np.array(epsilon / 2)
    chances = []
    for scores in (np.array([0.0, -2.0]), np.array([-1.0, -1.0])):
        if flip:
            chances.append(PermuteAndFlip(scores, start, rate).probabilities()[1])
        else:
            chances.append(np.exp(Exponential(scores, start, rate, np.ones(2)).log_probabilities()[1]))
    p, q = map(float, chances)
    draw, true = _two_outcomes(p, q)
    return Known(draw, true, 0.0, ((0.0, 0.0), (p, q)))


def _revealing(epsilon: float, *, delta: float = 0.05) -> Known:
    """Randomised response that gives its data away, and says so, with probability δ."""
    base = _randomised_response(epsilon)

    def draw(sides: Ints, rng: np.random.Generator) -> Floats:
        return np.where(rng.random(len(sides)) < delta, 10.0 + sides, base.draw(sides, rng))

    p = delta + (1 - delta) * float(expit(epsilon))
    return Known(draw, epsilon, delta, ((p, 1 - p), (1 - p, p)))


def _among_noise(epsilon: float) -> Known:
    """Randomised response, and twenty numbers that say nothing."""
    base = _randomised_response(epsilon)

    def draw(sides: Ints, rng: np.random.Generator) -> Floats:
        return np.column_stack([base.draw(sides, rng), rng.random((len(sides), 20))])

    return Known(draw, base.epsilon, 0.0, base.rates)


MECHANISMS: dict[str, Callable[[float], Known]] = {
    "randomised response": _randomised_response,
    "Laplace": _laplace,
    "geometric": _geometric,
    "exponential": partial(_choice, flip=False),
    "permute-and-flip": partial(_choice, flip=True),
    "Gaussian, δ = .01": partial(_gaussian, delta=0.01),
    "Gaussian, δ = 1e-5": partial(_gaussian, delta=1e-5),
    "revealing with δ = .05": _revealing,
    AMONG_NOISE: _among_noise,
}
GAUSSIAN = {"Gaussian, δ = .01": 0.01, "Gaussian, δ = 1e-5": 1e-5}
DELTAS = GAUSSIAN | {"revealing with δ = .05": 0.05}


@cache
def known(method: str, epsilon: float) -> Known:
    """A mechanism of a study."""
    return MECHANISMS[method](epsilon)


def _delta_of(cell: Cell) -> float:
    return DELTAS.get(cell.method, 0.0)


# --- Coverage -----------------------------------------------------------------------------------------------


def _monitored(
    one: Known,
    rng: np.random.Generator,
    *,
    rounds: int,
    delta: float | None = None,
    gaussian: bool = False,
) -> float:
    """Largest bound of a monitor that is looked at after every round."""
    game = Monitor(
        claimed=one.epsilon,
        confidence=CONFIDENCE,
        delta=one.delta if delta is None else delta,
        gaussian=gaussian,
        best=True,
        most_runs=rounds,
        seed=int(rng.integers(2**32)),
    )
    sides = np.array(game.ahead(rounds))
    for side, output in zip(sides.tolist(), one.draw(sides, rng), strict=True):
        game.add(side, output)
    return game.bound


def _peeking(one: Known, rng: np.random.Generator, *, rounds: int) -> float:
    """Broken twin, of randomised response: an interval for one look, looked at after every round."""
    sides = rng.integers(2, size=rounds)
    right = np.cumsum((one.draw(sides, rng) > 0.5) == (sides == 0))
    tried = range(1, rounds + 1)
    lows = [
        clopper_pearson(np.array([k]), n, alpha=2 * (1 - CONFIDENCE))[0][0]
        for k, n in zip(right, tried, strict=True)
    ]
    return max(math.log(low / (1 - low)) if low > 0 else -math.inf for low in lows)


def _on_itself(one: Known, rng: np.random.Generator, *, rounds: int) -> float:
    """Broken twin: a rule learned on the outputs whose sides it then guesses."""
    sides = rng.integers(2, size=rounds)
    outputs = one.draw(sides, rng).reshape(rounds, -1)
    lesson = Lesson(math.inf, -math.log(1 - CONFIDENCE), one.delta, rounds)
    names = [f"output {j}" for j in range(outputs.shape[1])]
    rule, _ = lesson.learn(outputs[sides == 0], outputs[sides == 1], names, seed=0)
    guesses = rule.sides(outputs)
    made = guesses >= 0
    correct = int((guesses == sides)[made].sum())
    return betting_bound(correct, int(made.sum()), confidence=CONFIDENCE, delta=one.delta, rounds=rounds)


HONEST, NORMAL = "betting", "betting on normal noise"  # on its whole curve
READINGS: dict[str, Callable[..., float]] = {
    HONEST: _monitored,
    NORMAL: partial(_monitored, gaussian=True),
    "twin: normal noise assumed": partial(_monitored, gaussian=True, delta=1e-5),
    "twin: δ forgotten": partial(_monitored, delta=0.0),
    "twin: an interval for one look": _peeking,
    "twin: a rule learned on its own outputs": _on_itself,
}


def measure_coverage(cell: Cell) -> dict[str, float]:
    """How many bounds of a batch are wrong, and the mean bound as a share of the truth."""
    rng, one = cell.random_state(), known(cell.method, cell.epsilon)
    bounds = [READINGS[cell.reading](one, rng, rounds=cell.n_rounds) for _ in range(BATCH)]
    return {
        "repetitions": float(BATCH),
        "wrong": float(sum(bound > one.epsilon + 1e-9 for bound in bounds)),
        "share of the truth": float(np.mean(np.minimum(bounds, 50.0)) / one.epsilon),
    }


def coverage() -> Study:
    """1 000 repetitions of every mechanism at 95 %, looked at after every round; broken twins where they show."""
    found: list[Cell] = []
    for reading, method, epsilon, rounds in (
        *((HONEST, method, 1.0, COVERED_ROUNDS) for method in MECHANISMS if method != AMONG_NOISE),
        (HONEST, AMONG_NOISE, 0.1, FEW_ROUNDS),
        *((NORMAL, method, 1.0, COVERED_ROUNDS) for method in GAUSSIAN),
        ("twin: normal noise assumed", "randomised response", 1.0, COVERED_ROUNDS),
        ("twin: δ forgotten", "revealing with δ = .05", 1.0, COVERED_ROUNDS),
        ("twin: an interval for one look", "randomised response", 1.0, COVERED_ROUNDS),
        ("twin: a rule learned on its own outputs", AMONG_NOISE, 0.1, FEW_ROUNDS),
    ):
        found += cells(
            method=method,
            neighbours="add-remove",
            reading=reading,
            epsilon=epsilon,
            seed=range(1000 // BATCH),
            n_rounds=rounds,
        )
    return Study("betting_coverage", found, measure_coverage, delta=_delta_of)


# --- Power --------------------------------------------------------------------------------------------------


def _compared(one: Known, rng: np.random.Generator, runs: int, *, claimed: float, confidence: float) -> float:
    outputs = [one.draw(np.full(runs, side), rng) for side in (0, 1)]
    return compare(
        outputs[0],
        outputs[1],
        claimed=claimed,
        confidence=confidence,
        delta=one.delta,
        seed=int(rng.integers(2**31)),
    ).lower_bound


def _best(one: Known, rng: np.random.Generator, runs: int) -> float:
    """Bound by the best fixed guesses at the expected counts: what learning costs is not in it."""
    correct, wrong = (round(2 * runs * rate) for rate in one.per_round())
    return betting_bound(
        correct,
        correct + wrong,
        confidence=CONFIDENCE,
        delta=one.delta,
        rounds=max(2 * runs, correct + wrong),
    )


def measure_power(cell: Cell) -> dict[str, float]:
    """Bounds at equal runs, 95 %: mean and least share of the truth, over ten repetitions."""
    rng, one, runs = cell.random_state(), known(cell.method, cell.epsilon), cell.n_rounds
    if cell.reading == "compare":
        bounds = [
            _compared(one, rng, runs, claimed=one.epsilon, confidence=CONFIDENCE) for _ in range(REPEATS)
        ]
    elif cell.reading in READINGS:
        bounds = [READINGS[cell.reading](one, rng, rounds=2 * runs) for _ in range(REPEATS)]
    else:
        bounds = [_best(one, rng, runs)]
    shares = np.array(bounds) / one.epsilon
    return {"share of the truth": float(shares.mean()), "least share": float(shares.min())}


def measure_conviction(cell: Cell) -> dict[str, float]:
    """Runs in all, on both sides, until a claim of half the truth is refuted at 99 %.

    Returns
    -------
    Of betting the mean, median, ninth decile and largest number over 40 games; of ``compare`` the least number of a
    grid at which 9 of 10 repetitions convict; of the best guesses, ln(100) by the growth of wealth: no test of such
    guesses that errs once in a hundred times needs fewer on average.
    """
    rng, one = cell.random_state(), known(cell.method, cell.epsilon)
    claimed = one.epsilon / 2
    if cell.reading == "compare":
        return {"runs": float(_least_runs(one, rng, claimed))}
    if cell.reading == HONEST:
        used = [_until_refuted(one, rng, claimed) for _ in range(4 * REPEATS)]
        tenths = {"median": float(np.median(used)), "nine of ten": float(np.quantile(used, 0.9))}
        return {"runs": float(np.mean(used)), "most": float(max(used))} | tenths
    return {"runs": -math.log(1 - CONVICTION) / best_growth(one, claimed)}


def _until_refuted(one: Known, rng: np.random.Generator, claimed: float) -> int:
    game = Monitor(
        claimed=claimed,
        confidence=CONVICTION,
        delta=one.delta,
        most_runs=MOST,
        seed=int(rng.integers(2**32)),
    )
    while game.runs < MOST and not game.refuted:
        side = game.side
        game.add(side, one.draw(np.array([side]), rng))
    return game.runs


def _least_runs(one: Known, rng: np.random.Generator, claimed: float) -> int:
    """Least of the numbers of runs, a third more each time, at which 9 of 10 convict."""
    runs = 40
    while runs < MOST:
        found = [
            _compared(one, rng, runs, claimed=claimed, confidence=CONVICTION) > claimed
            for _ in range(REPEATS)
        ]
        if sum(found) >= 0.9 * REPEATS:
            break
        runs = math.ceil(4 * runs / 3)
    return 2 * runs


def best_growth(one: Known, claimed: float) -> float:
    """Largest growth of log wealth a round, by the guesses of ``rates`` and the best stake."""
    correct, wrong = one.per_round()
    stakes = np.linspace(0.001, 0.999, 999)
    share = stakes / (math.exp(claimed) + one.delta)
    growth = (
        correct * np.log1p(share * (1 - one.delta))
        + wrong * np.log1p(-stakes)
        + (1 - correct - wrong) * np.log1p(-share * one.delta)
    )
    return float(growth.max())


def power() -> Study:
    """Betting against ``compare`` at equal runs, and the best that fixed guesses come to."""
    all_of_them: Any = {"neighbours": "add-remove", "epsilon": (1.0, 2.0, 4.0), "n_rounds": RUNS}
    plain = [name for name in MECHANISMS if name not in ("revealing with δ = .05", AMONG_NOISE)]
    return Study(
        "betting_power",
        [
            *cells(method=plain, reading=(HONEST, "compare", "best guesses known"), **all_of_them),
            *cells(method=GAUSSIAN, reading=NORMAL, **all_of_them),
        ],
        measure_power,
        delta=_delta_of,
    )


def conviction() -> Study:
    """Runs until claims of half the truth are refuted."""
    return Study(
        "betting_conviction",
        cells(
            method=("randomised response", "Laplace", "geometric", "exponential", "permute-and-flip"),
            neighbours="add-remove",
            reading=(HONEST, "compare", "best guesses known"),
            epsilon=(1.0, 2.0, 4.0),
        ),
        measure_conviction,
        delta=_delta_of,
    )


GRIDS = {"betting_coverage": coverage, "betting_power": power, "betting_conviction": conviction}
