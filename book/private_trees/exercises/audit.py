"""Checks of the audit chapter's exercises: each says which case fails, and why."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpnb.arrays import Floats

from ..auditing.counts import clopper_pearson
from .answers import judge

RECORDS = (10, 11)  # on D and on D′


@judge
def check_bet(your_function: Callable[[bool | None, float, float, float], float]) -> str:
    """Check a function of (right, epsilon, delta, kappa) that returns the factor of the wealth in a round.

    Parameters
    ----------
    your_function : takes ``(right, epsilon, delta, kappa)``; ``right`` is None for a round without a guess.
    """
    factors = {0.0: {True: 1.25, False: 0.5, None: 1.0}, 0.5: {True: 1.1, False: 0.5, None: 0.9}}
    rounds = [(delta, right, factor) for delta, own in factors.items() for right, factor in own.items()]
    for delta, right, factor in rounds:
        yours = float(your_function(right, math.log(2), delta, 0.5))
        assert math.isclose(yours, factor, abs_tol=1e-9), (
            f"right={right}, ε=ln 2, δ={delta:g}, κ=0.5: you say {yours:.4f}, expected {factor:.4f}; "
            f"{_why_bet(right, delta)}"
        )
    return f"{len(rounds)} rounds agree"


def _why_bet(right: bool | None, delta: float) -> str:
    """What a wrong factor looks like."""
    if delta:
        return "under the claim X may have a mean of δ: take δ off, and divide by e^ε + δ"
    if right is None:
        return "without a guess nothing is won or lost at δ = 0"
    return "a wrong guess loses the stake κ, a right one wins κ e^−ε"


def two_limits(k: int, l: int, n: int, *, confidence: float) -> float:  # noqa: E741
    """Lower bound of ε from two Clopper–Pearson limits, k of n runs on D and l of n on D′ in the event.

    For work by hand. The exact test of :func:`private_trees.auditing.counts.epsilon_bound` shows more.
    """
    low, high = clopper_pearson(np.array([k, l]), n, alpha=(1 - confidence) / 2)
    return math.log(max(low[0] / high[1], low[1] / high[0], 1.0))


@judge
def check_bound(your_function: Callable[[int, int, int], float]) -> str:
    """Check a function of (k, l, n) that returns a lower bound for ε, against that of two limits.

    Parameters
    ----------
    your_function : takes ``(k, l, n)``, how often the event happened in n runs on D and in n runs on D′, and returns
        a bound that holds with 95 % confidence, at least 0.
    """
    counts = ((90, 10, 100), (10, 90, 100), (50, 50, 100), (100, 0, 100), (0, 0, 40), (700, 300, 1000))
    for k, l, n in counts:  # noqa: E741
        yours = your_function(k, l, n)
        right = two_limits(k, l, n, confidence=0.95)
        assert math.isclose(yours, right, abs_tol=1e-6), (
            f"{k} and {l} of {n}: you say {yours:.4f}, expected {right:.4f}; {_why(yours, k, l, n)}"
        )
    return f"{len(counts)} pairs of counts agree"


def _why(yours: float, k: int, l: int, n: int) -> str:  # noqa: E741
    """What a wrong bound looks like."""
    if yours < 0:
        return "a bound below 0 says nothing: return 0 instead"
    if l and k and math.isclose(yours, abs(math.log(k / l)), abs_tol=1e-6):
        return "ln(k / l) is the best guess, not a bound: it is above the truth half of the time"
    for level, name in ((0.05, "α"), (0.025, "α / 2")):
        other = two_limits(k, l, n, confidence=1 - 4 * level)
        if math.isclose(yours, other, abs_tol=1e-6):
            return f"each end misses with {name}; two ends and two directions share α, so it is α / 4 each"
    if k < l and yours == 0:
        return "try D and D′ exchanged as well: the better direction counts"
    return (
        "the ends of the Clopper–Pearson intervals are quantiles of Beta(k, n − k + 1) and Beta(k + 1, n − k)"
    )


@judge
def check_loss(your_function: Callable[[Floats, Floats], float]) -> str:
    """Check a function of two arrays of probabilities that returns the exact loss of a mechanism.

    Parameters
    ----------
    your_function : takes the probabilities of all outputs on D and on D′ and returns the smallest true ε, which may be
        infinite.
    """
    laws = (
        ((0.75, 0.25), (0.25, 0.75), math.log(3)),
        ((0.6, 0.3, 0.1), (0.6, 0.2, 0.2), math.log(2)),
        ((0.5, 0.5, 0.0), (0.5, 0.5, 0.0), 0.0),
        ((1.0, 0.0), (0.999, 0.001), math.inf),
        ((0.9, 0.1), (1.0, 0.0), math.inf),
    )
    for first, second, right in laws:
        case = f"{first} and {second}"
        yours = float(your_function(np.array(first), np.array(second)))
        assert not math.isnan(yours), (
            f"{case}: you say nan; an output that neither side has, 0 and 0, loses nothing"
        )
        assert math.isclose(yours, right, abs_tol=1e-9), (
            f"{case}: you say {yours:.4f}, expected {right:.4f}; {_why_loss(yours, right)}"
        )
    return f"{len(laws)} pairs of laws agree"


def _why_loss(yours: float, right: float) -> str:
    if math.isinf(right):
        return "an output that only one of the two has refutes every finite ε"
    return (
        "both ratios count, p / q and q / p" if yours < right else "take the largest ratio of a single output"
    )


@dataclass(frozen=True)
class Box:
    """A counter that claims ε = 1 and whose code nobody may read."""

    name: str  # what it does, for the message when an auditor errs
    broken: bool  # whether the claim is false
    # Number of records, runs, generator → (runs,) answers.
    answers: Callable[[int, int, np.random.Generator], Floats]


def _noise(runs: int, rng: np.random.Generator, *, epsilon: float = 1.0) -> Floats:
    """Two-sided geometric noise of scale 1/ε."""
    up, down = rng.geometric(1 - math.exp(-epsilon), (2, runs))
    noise: Floats = (up - down).astype(float)
    return noise


def _rare(records: int, runs: int, rng: np.random.Generator) -> Floats:
    """Noisy counts, but one in ten is the exact one, marked by a half."""
    noisy = records + _noise(runs, rng)
    return np.where(rng.random(runs) < 0.1, records + 0.5, noisy)


def _digits(records: int, runs: int, rng: np.random.Generator) -> Floats:
    """Noisy counts with the parity of the exact one far behind the point."""
    return records + _noise(runs, rng) + 1e-9 * (records % 2)


BOXES = (
    Box("honest counter", False, lambda n, runs, rng: n + _noise(runs, rng)),
    Box("counter with half of the noise", True, lambda n, runs, rng: n + _noise(runs, rng, epsilon=2.0)),
    Box(
        "honest counter with a number added that is public",
        False,
        lambda n, runs, rng: n + 1000 + _noise(runs, rng),
    ),
    Box("counter that tells one answer in ten without noise", True, _rare),
    Box("counter whose last digits tell the parity", True, _digits),
    Box("counter with twice the noise", False, lambda n, runs, rng: n + _noise(runs, rng, epsilon=0.5)),
)


@judge
def check_auditor(your_function: Callable[[Floats, Floats], bool]) -> str:
    """Check a function of two arrays of answers that returns True if they refute ε = 1, and else False.

    Parameters
    ----------
    your_function : takes the answers of a box on D, 10 records, and on D′, 11 records, (3000,) each, and says whether
        they refute the claim at 95 % confidence or more.
    """
    rng, audits = np.random.default_rng(6), 8  # of each box; an honest one may be flagged once by chance
    for box in BOXES:
        said = [your_function(*(box.answers(n, 3000, rng) for n in RECORDS)) for _ in range(audits)]
        assert all(isinstance(verdict, bool | np.bool_) for verdict in said), (
            f"{box.name}: you say {said[0]!r}, expected True or False"
        )
        flags = sum(map(bool, said))
        assert not box.broken or flags >= audits - 1, (
            f"{box.name}: ε is at least 2, and you refute the claim in {flags} of {audits} audits; look at single "
            "values and at thresholds, not at means"
        )
        assert box.broken or flags <= 1, (
            f"{box.name}: the claim is true, and you refute it in {flags} of {audits} audits; use a bound, and "
            "count the event on other runs than those that chose it"
        )
    return f"{len(BOXES)} boxes are judged rightly"
