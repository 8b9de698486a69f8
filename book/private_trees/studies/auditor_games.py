"""Which game to bet in: growth of wealth a run, for a gambler who knows both distributions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.stats import laplace, norm

from dpnb.arrays import Floats, Ints

from .runs import Cell, Study, cells

POINTS = 20_001
STAKES = np.linspace(0.01, 0.99, 99)

CASES: dict[str, Callable[[Floats, int], Floats]] = {
    "Laplace, ε = 2": lambda y, side: laplace.pdf(y, side, 1 / 2),
    "Laplace, ε = 1.2": lambda y, side: laplace.pdf(y, side, 1 / 1.2),
    "Laplace, ε = 8": lambda y, side: laplace.pdf(y, side, 1 / 8),
    "Gaussian, μ = 1": lambda y, side: norm.pdf(y, side, 1),
    "Gaussian, μ = 2": lambda y, side: norm.pdf(y, 2 * side, 1),
}
SHIFTS = {"Gaussian, μ = 2": 2.0}
CLAIMS = {
    "Laplace, ε = 2": 1.0,
    "Laplace, ε = 1.2": 1.0,
    "Laplace, ε = 8": 4.0,
    "Gaussian, μ = 1": 1.0,
    "Gaussian, μ = 2": 2.0,
}


def chances(case: str) -> tuple[Floats, Floats]:
    """Probabilities of small intervals on D and on D′, by falling likelihood ratio."""
    y = SHIFTS.get(case, 1.0) / 2 + np.linspace(-11, 11, POINTS)
    p, q = (CASES[case](y, side) for side in (0, 1))
    order = np.argsort(q / p, kind="stable")
    return p[order] / p.sum(), q[order] / q.sum()


def tried(p: Floats) -> Ints:
    """Thresholds that are tried, by the mass before them."""
    return np.searchsorted(p.cumsum(), np.linspace(0, 0.995, 200))  # so many thresholds of an event


def by_events(p: Floats, q: Floats, claimed: float) -> float:
    """One run a round: guess where a guess pays, with one stake for all guesses."""
    best = 0.0
    for stake in STAKES:
        right, wrong = math.log1p(stake * math.exp(-claimed)), math.log1p(-stake)
        growth = np.maximum(p * right + q * wrong, 0) + np.maximum(q * right + p * wrong, 0)
        best = max(best, float(growth.sum()) / 2)
    return best


def by_ratios(p: Floats, q: Floats, claimed: float) -> float:
    """One run a round, the stake by the likelihood ratio of the output: the most in this game."""
    sigma = 1 / (1 + math.exp(-claimed))
    posterior = np.minimum(np.maximum(p, q) / (p + q), 1 - 1e-16)
    gain = posterior * np.log(posterior / sigma) + (1 - posterior) * np.log((1 - posterior) / (1 - sigma))
    return float(((p + q) / 2 * np.where(posterior > sigma, gain, 0)).sum())


def by_pairs(p: Floats, q: Floats, claimed: float) -> float:
    """Both data sets in every round, a bet that an event comes on the one and not on the other; half of it a run."""
    best = 0.0
    for a, b in ((p, q), (q[::-1], p[::-1])):
        at = tried(a)
        a, b = a.cumsum()[at], b.cumsum()[at]
        for stake in STAKES:
            right = stake * math.exp(-claimed)
            growth = a * (1 - b) * math.log1p(right) + b * (1 - a) * math.log1p(-stake)
            growth = growth + a * b * math.log1p(right - stake)
            best = max(best, float(growth.max()) / 2)
    return best


def by_pairs_of_guesses(p: Floats, q: Floats, claimed: float) -> float:
    """Both data sets in every round, a guess for each output, half of the stake on each of the two."""
    best, ratio = 0.0, math.exp(claimed)
    for at in np.unique(np.minimum(tried(p), POINTS // 2 - 1)).tolist():
        tails = [[side[: at + 1].sum(), side[POINTS - 1 - at :].sum()] for side in (p, q)]
        on_first = {1.0: tails[0][0], -ratio: tails[0][1]}
        on_second = {1.0: tails[1][1], -ratio: tails[1][0]}
        on_first[0.0], on_second[0.0] = (1 - sum(side.values()) for side in (on_first, on_second))
        for stake in STAKES:
            growth = sum(
                x * y * math.log1p(stake / ratio / 2 * (u + v))
                for u, x in on_first.items()
                for v, y in on_second.items()
            )
            best = max(best, float(growth) / 2)
    return best


GAMES: dict[str, Callable[[Floats, Floats, float], float]] = {
    "coin, events": by_events,
    "coin, stakes by likelihood ratio": by_ratios,
    "pairs, one event": by_pairs,
    "pairs, a guess for each": by_pairs_of_guesses,
}


def measure_game(cell: Cell) -> dict[str, float]:
    """Growth of log wealth in a thousand runs, against a claim."""
    return {"growth": 1000 * GAMES[cell.reading](*chances(cell.method), cell.epsilon)}


def games() -> Study:
    """Four games on five pairs of distributions."""
    found: list[Cell] = []
    for case, claimed in CLAIMS.items():
        found += cells(method=case, neighbours="add-remove", reading=GAMES, epsilon=claimed)
    return Study("betting_games", found, measure_game)


GRIDS = {"betting_games": games}
