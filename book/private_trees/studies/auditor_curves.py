"""Trade-off curves and one-run audits where the truth is known: how often bounds fail, and how near they come.

Broken twins of the rules stand beside them: they fail more often than they say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from dpaudit.betting import gaussian_delta
from dpnb.arrays import Floats
from dpnb.privacy.laws import Exponential, PermuteAndFlip, TwoSidedGeometric

from ..auditing.counts import clopper_pearson, epsilon_bound
from ..auditing.curves import attainable, band, tradeoff
from ..auditing.fixed import compare
from ..auditing.multiplicity import holm
from ..auditing.onerun import one_run_epsilon, one_run_mu
from .runs import Cell, Study, cells
from .targets import ADD

CONFIDENCE = 0.95
PARTS = 20
REPETITIONS, CHEAP = 50, 100  # a part: 1 000 in all, and 2 000 of what takes no classifiers
FEW = 300  # outputs a side where coverage is counted
POWER_REPETITIONS = {2_000: 15, 20_000: 5}
GAUSSIAN_DELTA = 0.05
CANDIDATES = 8

Pair = tuple[Floats, Floats]


# --- Mechanisms -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnWorstPair:
    """A mechanism on its worst pair, or on one that is near it."""

    # Its parameter ε, outputs a side, generator → outputs on D and on D′.
    draw: Callable[[float, int, np.random.Generator], Pair]
    exact: Callable[[float], float]  # parameter → exact ε of the pair at `delta`
    # Parameter → probabilities (p, q) of events that show most.
    events: Callable[[float], list[tuple[float, float]]]
    delta: float = 0.0  # δ at which the pair is measured


def _laplace(epsilon: float, n: int, rng: np.random.Generator) -> Pair:
    first, second = rng.laplace(scale=1 / epsilon, size=(2, n))
    return first, 1 + second


def _geometric(epsilon: float, n: int, rng: np.random.Generator) -> Pair:
    first, second = (
        TwoSidedGeometric(np.full(n, at), np.full(n, 1 / epsilon)).draw(rng).astype(float) for at in (0, 1)
    )
    return first, second


@lru_cache
def gaussian_mu(epsilon: float) -> float:
    """μ at which Gaussian noise has this exact ε at ``GAUSSIAN_DELTA``."""
    return float(brentq(lambda mu: float(gaussian_delta(mu, epsilon=epsilon)) - GAUSSIAN_DELTA, 1e-3, 50.0))


def _gaussian(epsilon: float, n: int, rng: np.random.Generator) -> Pair:
    first, second = rng.normal(size=(2, n))
    return first, gaussian_mu(epsilon) + second


def _gaussian_events(epsilon: float) -> list[tuple[float, float]]:
    mu = gaussian_mu(epsilon)
    cuts = mu / 2 + epsilon / mu + np.linspace(-1.5, 0.4, 12)
    events = [(float(norm.sf(cut - mu)), float(norm.sf(cut))) for cut in cuts]
    return [(p, q) for p, q in events if p - GAUSSIAN_DELTA > q]


def _exponential(epsilon: float, n: int, rng: np.random.Generator) -> Pair:
    starts, rate = CANDIDATES * np.arange(n), np.array(epsilon / 2)
    first, second = (
        Exponential(np.tile(side, n), starts, rate, np.ones(CANDIDATES * n)).draw(rng).astype(float)
        for side in (LIFTED, 1 - LIFTED)
    )
    return first, second


def _flipped(epsilon: float, n: int, rng: np.random.Generator) -> Pair:
    first, second = (
        PermuteAndFlip(np.tile(side, n), 2 * np.arange(n), np.array(epsilon / 2)).draw(rng).astype(float)
        for side in FLIP_SIDES
    )
    return first, second


def _exponential_event(epsilon: float) -> list[tuple[float, float]]:
    grow, others = math.exp(epsilon / 2), CANDIDATES - 1
    return [(grow / (grow + others), 1 / (1 + others * grow))]


def _flip_event(epsilon: float) -> list[tuple[float, float]]:
    probs = [
        np.asarray(PermuteAndFlip(np.array(side), np.array([0]), np.array(epsilon / 2)).probabilities())[1]
        for side in FLIP_SIDES
    ]
    return [(float(max(probs)), float(min(probs)))]


def _from_event(event: Callable[[float], list[tuple[float, float]]], epsilon: float) -> float:
    ((p, q),) = event(epsilon)
    return max(math.log(p / q), math.log((1 - q) / (1 - p)))


LIFTED = np.eye(CANDIDATES)[0]
FLIP_SIDES = (np.array([0.0, -4.0]), np.array([-1.0, -3.0]))
KNOWN = {
    "Laplace": OnWorstPair(_laplace, lambda e: e, lambda e: [(0.5, 0.5 * math.exp(-e))]),
    "geometric": OnWorstPair(
        _geometric, lambda e: e, lambda e: [(1 / (1 + math.exp(-e)), math.exp(-e) / (1 + math.exp(-e)))]
    ),
    "Gaussian": OnWorstPair(_gaussian, lambda e: e, _gaussian_events, GAUSSIAN_DELTA),
    "exponential": OnWorstPair(_exponential, partial(_from_event, _exponential_event), _exponential_event),
    "permute-and-flip": OnWorstPair(_flipped, partial(_from_event, _flip_event), _flip_event),
}


# --- Coverage -------------------------------------------------------------------------------------------------


def _by_curve(known: OnWorstPair, epsilon: float, rng: np.random.Generator) -> float:
    curve = tradeoff(
        *known.draw(epsilon, FEW, rng),
        confidence=CONFIDENCE,
        focus=known.delta,
        seed=int(rng.integers(2**31)),
    )
    return curve.epsilon(known.delta)


def _by_compare(known: OnWorstPair, epsilon: float, rng: np.random.Generator) -> float:
    pair = known.draw(epsilon, FEW, rng)
    seed = int(rng.integers(2**31))
    return compare(*pair, claimed=epsilon, confidence=CONFIDENCE, delta=known.delta, seed=seed).lower_bound


def _mu_by_curve(known: OnWorstPair, epsilon: float, rng: np.random.Generator) -> float:
    """Bound of μ, in units in which the exact μ is the exact ε."""
    pair = known.draw(epsilon, FEW, rng)
    curve = tradeoff(*pair, confidence=CONFIDENCE, focus="mu", seed=int(rng.integers(2**31)))
    return curve.mu() / gaussian_mu(epsilon) * epsilon


def _uniform(n: int, rng: np.random.Generator) -> Floats:
    return np.sort(rng.random((2, n)), axis=1)


def _fails_by_band(rng: np.random.Generator) -> bool:
    """Whether some bound of the band fails, on either side."""
    lower = band(FEW, alpha=(1 - CONFIDENCE) / 2)[1:]
    return bool((_uniform(FEW, rng) < lower).any())


def _fails_by_dkw(rng: np.random.Generator) -> bool:
    """Broken twin: Dvoretzky–Kiefer–Wolfowitz for each side at the level of both."""
    half = math.sqrt(math.log(1 / (1 - CONFIDENCE)) / (2 * FEW))
    return bool((_uniform(FEW, rng) < np.arange(1, FEW + 1) / FEW - half).any())


def _fails_by_points(rng: np.random.Generator) -> bool:
    """Broken twin: Clopper–Pearson at every threshold, each with the error probability of one."""
    lower = clopper_pearson(np.arange(1, FEW + 1), FEW, alpha=1 - CONFIDENCE)[0]
    return bool((_uniform(FEW, rng) < lower).any())


def _fails_by_choice(rng: np.random.Generator) -> bool:
    """Broken twin: on equal data the best threshold of 24 numbers is measured by the outputs that chose it."""
    first, second = np.sort(rng.random((2, 24, FEW)), axis=2)
    for x, y in zip(first, second, strict=True):
        cuts = np.concatenate([x, y])
        k, l = (np.searchsorted(side, cuts, side="right") for side in (x, y))  # noqa: E741
        (p_low, p_high), (q_low, q_high) = (
            clopper_pearson(count, FEW, alpha=(1 - CONFIDENCE) / 2) for count in (k, l)
        )
        if ((p_low > q_high) | (q_low > p_high)).any():
            return True
    return False


def _canaries(mu: float, m: int, r: int, rng: np.random.Generator) -> int:
    """Right guesses at both ends, where each canary is seen with Gaussian noise."""
    inside = rng.random(m) < 0.5
    ranked = inside[np.argsort(mu * inside + rng.normal(size=m))]
    return int((~ranked[: r // 2]).sum() + ranked[m - (r - r // 2) :].sum())


@lru_cache(maxsize=4096)
def _mu_bound(correct: int, guesses: int, canaries: int) -> float:
    return one_run_mu(correct, guesses, canaries=canaries, confidence=CONFIDENCE)


@lru_cache(maxsize=4096)
def _run_bound(correct: int, guesses: int, delta: float) -> float:
    return one_run_epsilon(correct, guesses, delta=delta, confidence=CONFIDENCE)


def _response(epsilon: float, delta: float, rng: np.random.Generator) -> int:
    right = rng.random(FEW) < 1 / (1 + math.exp(-epsilon))
    return int((right | (rng.random(FEW) < delta)).sum())


def _smallest(corrected: bool, rng: np.random.Generator) -> bool:
    p = rng.random(12)
    return bool((holm(p) if corrected else p).min() <= 1 - CONFIDENCE)


FAILS: dict[str, Callable[[np.random.Generator], bool]] = {
    "band of both sides": _fails_by_band,
    "twin: DKW without a union": _fails_by_dkw,
    "twin: every threshold as if alone": _fails_by_points,
    "twin: chosen on the same outputs": _fails_by_choice,
    "one run, ε": lambda rng: _run_bound(_response(1.0, 0.0, rng), FEW, 0.0) > 1 + 1e-5,
    "one run, ε and δ": lambda rng: _run_bound(_response(1.0, 0.05, rng), FEW, 0.05) > 1 + 1e-5,
    "twin: one run, δ forgotten": lambda rng: _run_bound(_response(1.0, 0.05, rng), FEW, 0.0) > 1 + 1e-5,
    "one run, μ, all guessed": lambda rng: _mu_bound(_canaries(1.0, FEW, FEW, rng), FEW, FEW) > 1,
    "one run, μ, 40 of 2 000 guessed": lambda rng: _mu_bound(_canaries(1.0, 2_000, 40, rng), 40, 2_000) > 1,
    "twin: one run, μ, abstention forgotten": lambda rng: (
        _mu_bound(_canaries(1.0, 2_000, 40, rng), 40, 40) > 1
    ),
    "Holm's smallest of 12": partial(_smallest, True),
    "twin: the smallest of 12": partial(_smallest, False),
}
BOUNDS = {"curve": _by_curve, "compare": _by_compare}


def measure_coverage(cell: Cell) -> dict[str, float]:
    """How many of the cell's repetitions fail, that is claim more than the truth.

    Returns
    -------
    ``repetitions``, ``failures``, and for bounds their ``mean_ratio`` to the exact ε, or μ.
    """
    rng = cell.random_state()
    if cell.method in FAILS:
        fails = sum(FAILS[cell.method](rng) for _ in range(CHEAP))
        return {"repetitions": float(CHEAP), "failures": float(fails)}
    instrument, _, name = cell.method.partition(": ")
    if instrument == "curve, μ":
        known, bound = KNOWN[name], _mu_by_curve
    else:
        known, bound = KNOWN[name], BOUNDS[instrument]
    exact = known.exact(cell.epsilon)
    found = np.array([bound(known, cell.epsilon, rng) for _ in range(REPETITIONS)])
    return {
        "repetitions": float(REPETITIONS),
        "failures": float((found > exact + 1e-9).sum()),
        "mean_ratio": float(found.mean() / exact),
    }


def _delta(cell: Cell) -> float:
    name = cell.method.rpartition(": ")[2]
    return KNOWN[name].delta if name in KNOWN else 0.05 if cell.method.endswith("ε and δ") else 0.0


def coverage_grid() -> Study:
    """1 000 repetitions of every instrument on every mechanism at ε = 1, and 2 000 of the rules and their twins."""
    methods = [*FAILS, *(f"{how}: {name}" for how in BOUNDS for name in KNOWN), "curve, μ: Gaussian"]
    found = cells(method=methods, neighbours=ADD, epsilon=1.0, seed=range(PARTS))
    return Study("auditor_coverage", found, measure_coverage, delta=_delta)


# --- Power ----------------------------------------------------------------------------------------------------


def measure_power(cell: Cell) -> dict[str, float]:
    """Bounds at equal runs as shares of the exact ε; the cell's reading is the number of outputs a side.

    Returns
    -------
    ``exact`` ε; medians over repetitions of ``curve`` and ``compare`` as shares of it; ``attainable``, the share that
    no method can pass half of the time by counts of one event; ``known_event``, that of the exact test of both counts
    at expected counts of the best event, all outputs measuring; of the Gaussian also ``mu`` as a share of the exact μ.
    """
    known, rng, n = KNOWN[cell.method], cell.random_state(), int(cell.reading)
    exact = known.exact(cell.epsilon)
    found: dict[str, list[float]] = {"curve": [], "compare": []}
    for _ in range(POWER_REPETITIONS[n]):
        pair, seed = known.draw(cell.epsilon, n, rng), int(rng.integers(2**31))
        curve = tradeoff(*pair, confidence=CONFIDENCE, focus=known.delta, seed=seed)
        split = compare(*pair, claimed=exact, confidence=CONFIDENCE, delta=known.delta, seed=seed)
        found["curve"].append(curve.epsilon(known.delta) / exact)
        found["compare"].append(split.lower_bound / exact)
        if known.delta:
            mu = tradeoff(*pair, confidence=CONFIDENCE, focus="mu", seed=seed).mu()
            found.setdefault("mu", []).append(mu / gaussian_mu(cell.epsilon))
    settings = {"confidence": CONFIDENCE, "delta": known.delta}
    ends = [
        (
            attainable(p, q, runs=n, **settings),
            epsilon_bound(round(n * p), round(n * q), n, n, **settings),
        )
        for p, q in known.events(cell.epsilon)
    ]
    most, alone = (max(values) / exact for values in zip(*ends, strict=True))
    return {"exact": exact, "attainable": most, "known_event": alone} | {
        name: float(np.median(values)) for name, values in found.items()
    }


def power_grid() -> Study:
    """Every mechanism at three ε and two numbers of outputs."""
    runs = [str(n) for n in POWER_REPETITIONS]
    found = cells(method=KNOWN, neighbours=ADD, reading=runs, epsilon=(1.0, 2.0, 4.0))
    return Study("auditor_power", found, measure_power, delta=_delta)


GRIDS = {"auditor_coverage": coverage_grid, "auditor_power": power_grid}
