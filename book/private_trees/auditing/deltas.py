"""Claims with δ, decided by log-likelihood ratios: (ε, δ) is a statement about the law of the privacy loss.

Let L be the log-likelihood ratio of P, the law of the outputs on D, to Q, that on D′, at an output drawn from P. The
least δ for which P(S) ≤ e^ε Q(S) + δ holds for all sets S is δ_P(ε) = E_P[(1 − e^(ε − L))₊]. A replay gives L without
error. So replays with independent seeds give numbers in [0, 1] whose mean is the δ in question, and a bet on that mean
holds at any time. Where releases do not depend on earlier ones, :mod:`~private_trees.auditing.losses` knows the law
of L.

References
----------
Sommer, Meiser, Mohammadi (2019), Privacy loss classes; Waudby-Smith and Ramdas (2024), Estimating means of bounded
random variables by betting.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.betting import LEAST_LOG_ODDS, exp, log_mean, stakes
from dpaudit.settings import check_claim, check_levels
from dpnb.arrays import Floats
from dpnb.replay import Finding
from dpnb.replay.neighbours import Part, split_pair
from dpnb.replay.tape import Replay, replay_estimator, replay_fit

from .losses import GUARD, LARGEST, PRECISION, Run, excess, largest, loss_laws

DIGITS = 40  # halvings of the range of δ


def _log_e_value(values: Floats, mean: float) -> float:
    """Log e-value against "given the past, each value has a mean of at most ``mean``", for values of at least 0.

    Wealth is multiplied by 1 − κ + κ · value / mean, for stakes κ down to about the mean, which is what pays when a
    value of 1 is rare. It falls as ``mean`` grows, so all means below a refuted one are refuted.

    Parameters
    ----------
    values : (n,) numbers.
    mean : in (0, 1].
    """
    kappa = stakes(min(math.log(mean), LEAST_LOG_ODDS))
    with np.errstate(divide="ignore"):
        logs = np.log1p(kappa * (values[:, None] / mean - 1)).sum(axis=0)
    return float(log_mean(logs))


@dataclass(frozen=True, kw_only=True)
class DeltaFinding(Finding):
    """The finding of an instrument that holds the law of the loss against (ε, δ)."""

    # Lower bound of δ at the claimed ε, as sure as `lower_bound`, which is of ε at the claimed δ.
    delta_bound: float = 0.0
    e_value: float = 1.0  # evidence against the claim; `inf` for exact arguments that refute it


class LossSample:
    """Losses at outputs drawn on D and at outputs drawn on D′, and what they show of (ε, δ), whenever one looks.

    Both directions are bet on, and the average of the two wealths counts: under the claim neither grows on average.

    Parameters
    ----------
    confidence : probability in (0, 1) that a bound holds at all times.
    """

    def __init__(self, *, confidence: float) -> None:
        check_levels(confidence, 0.0)
        self._enough = -math.log(1 - confidence)
        self.losses: tuple[list[float], list[float]] = [], []

    def add(self, side: int, loss: float) -> None:
        """Add the log-likelihood ratio of ``side`` (0 for D) to the other, at an output drawn on ``side``."""
        self.losses[side].append(loss)

    def log_e_value(self, epsilon: float, delta: float) -> float:
        """Log evidence against (ε, δ)-DP, δ > 0; the smaller, the larger ε and δ are."""
        both = [_log_e_value(excess(losses, epsilon), delta) for losses in self.losses]
        return float(log_mean(np.array(both)))

    def refutes(self, epsilon: float, delta: float) -> bool:
        """Whether (ε, δ) is refuted; pure ε is by one loss that exceeds it."""
        if delta == 0:
            return self.epsilon(delta) > epsilon
        return self.log_e_value(epsilon, delta) >= self._enough

    def epsilon(self, delta: float) -> float:
        """Lower bound of ε at δ; ``inf`` if no ε in reach is true."""
        if delta == 0:
            return max(0.0, *self.losses[0], *self.losses[1])
        if self.refutes(LARGEST, delta):
            return math.inf
        return largest(lambda epsilon: self.refutes(epsilon, delta), LARGEST)

    def delta(self, epsilon: float) -> float:
        """Lower bound of δ at ε."""
        # By its logarithm, since what matters may be small.
        log = largest(lambda x: self.refutes(epsilon, 2.0 ** (x - DIGITS)), float(DIGITS))
        return 2.0 ** (log - DIGITS) if log > 0 else 0.0


Outcomes = Callable[[int, int], Replay]
"""One replay: the side that outputs are drawn on, and a seed."""


def _sampled(
    replayed: Outcomes, *, claimed: float, delta: float, confidence: float, runs: int, seed: int, stop: bool
) -> Iterator[tuple[LossSample, Replay]]:
    """Replays, drawn on D and D′ in turn; ends when the claim is refuted."""
    if isinstance(runs, bool) or not isinstance(runs, int | np.integer) or runs < 1:
        raise ValueError(f"runs={runs!r}: expected a whole number of at least 1")
    sample, rng = LossSample(confidence=confidence), np.random.default_rng(seed)
    for number in range(runs):
        outcome = replayed(number % 2, int(rng.integers(2**32)))
        sample.add(number % 2, outcome.log_ratio)
        yield sample, outcome
        # A loss within the claim is no evidence.
        if stop and outcome.log_ratio > claimed and sample.refutes(claimed + PRECISION, delta):
            return


def _found(
    replayed: Outcomes, *, confidence: float, runs: int, seed: int, stop: bool, **about: Any
) -> DeltaFinding:
    claimed, delta = about["claimed"], about["delta"]
    check_levels(confidence, delta)
    check_claim(claimed)
    sampled = _sampled(
        replayed, claimed=claimed, delta=delta, confidence=confidence, runs=runs, seed=seed, stop=stop
    )
    samples, outcomes = zip(*sampled, strict=True)
    sample, worst = samples[-1], max(outcomes, key=lambda outcome: float(outcome.log_ratio))
    beyond = sum(outcome.log_ratio > claimed for outcome in outcomes)
    at = sample.delta(claimed)
    words = f"δ ≥ {at:.3g} at the claimed ε; {beyond} of {len(outcomes)} losses exceed it"
    words += f", the largest is {worst.log_ratio:.4g}"
    return DeltaFinding(
        instrument="replay",
        lower_bound=sample.epsilon(delta),
        confidence=confidence if delta else 1.0,
        event="; ".join([words, *worst.blame]),
        place=worst.place,
        trials=sum(outcome.fits for outcome in outcomes),
        given=max(outcome.given for outcome in outcomes),
        delta_bound=at,
        e_value=exp(sample.log_e_value(claimed, delta)) if delta else 1.0,
        **about,
    )


def replay_delta(
    estimator: Any,
    first: Part,
    second: Part,
    *,
    claimed: float,
    delta: float,
    confidence: float = 0.99,
    runs: int = 200,
    seed: int = 0,
    stop: bool = True,
    encoded: bool = False,
    subject: str = "",
    pair: str = "",
) -> DeltaFinding:
    """Hold the exact losses of repeated replays against a claim with δ; stop as soon as it is refuted.

    Parameters
    ----------
    estimator : any estimator of this package; it is cloned.
    first, second : (X, y) with labelled records, neighbours under add/remove or replace.
    claimed, delta : the claim, δ in [0, 1). Where it was made for add/remove and the two differ by a replacement, 2ε
        and (1 + e^ε) δ are what follows from it, and what counts.
    confidence : probability in (0, 1) that a bound holds, however many replays were made.
    runs : replays at most, drawn on both data sets in turn.
    seed : of the fits.
    stop : whether to stop when the claim is refuted.
    encoded : whether each data set is encoded once; what encoding itself may tell is then out of sight.
    subject, pair : names for the report.

    Returns
    -------
    DeltaFinding, with bounds of ε at δ and of δ at ε. It is about all that was released, from which the model follows:
    a claim about the model alone could still be true. For a bootstrap it is given the bags, and says so.

    References
    ----------
    Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting.
    """
    sides, relation = (first, second), split_pair(first, second)[2]
    if relation == "replace" and estimator.neighbours == "add-remove":
        claimed, delta = 2 * claimed, (1 + math.exp(claimed)) * delta

    def replayed(side: int, number: int) -> Replay:
        return replay_estimator(estimator, sides[side], sides[1 - side], seed=number, encoded=encoded)[0]

    return _found(
        replayed,
        confidence=confidence,
        runs=runs,
        seed=seed,
        stop=stop,
        claimed=claimed,
        delta=delta,
        subject=subject or type(estimator).__name__,
        pair=pair or f"{len(first[0])} and {len(second[0])} records",
        neighbours=relation,
    )


def replay_mechanism_delta(
    run: Run,
    first: Any,
    second: Any,
    *,
    claimed: float,
    delta: float,
    confidence: float = 0.99,
    runs: int = 200,
    seed: int = 0,
    stop: bool = True,
    subject: str = "",
    pair: str = "",
    neighbours: str = "add-remove",
) -> DeltaFinding:
    """:func:`replay_delta` of a function that opens its curator by ``open_curator`` and draws no bags.

    Parameters
    ----------
    run : data set, random generator → anything.
    first, second : the neighbours.
    claimed, delta, confidence, runs, seed, stop, subject, pair : as of :func:`replay_delta`.
    neighbours : relation of the two and of the claim.
    """
    sides = first, second

    def replayed(side: int, number: int) -> Replay:
        here, there = sides[side], sides[1 - side]
        return replay_fit(
            lambda data: run(data, np.random.default_rng(number)), here, there, common=here, own=(True, True)
        )

    return _found(
        replayed,
        confidence=confidence,
        runs=runs,
        seed=seed,
        stop=stop,
        claimed=claimed,
        delta=delta,
        subject=subject or getattr(run, "__name__", type(run).__name__),
        pair=pair,
        neighbours=neighbours,
    )


def exact_delta(
    run: Run,
    first: Any,
    second: Any,
    *,
    claimed: float,
    delta: float,
    step: float = 1e-4,
    subject: str = "",
    pair: str = "",
    neighbours: str = "add-remove",
) -> DeltaFinding:
    """Decide a claim with δ about a mechanism whose releases do not depend on earlier ones, without sampling.

    Parameters
    ----------
    run, first, second, step : as of :func:`loss_laws`.
    claimed, delta : the claim.
    subject, pair, neighbours : for the report.

    Returns
    -------
    DeltaFinding: bounds of ε at δ and of δ at ε, by losses that are rounded down; its event tells both from above
    as well.

    References
    ----------
    Koskela, Jälkö, Honkela (2020), Computing tight differential privacy guarantees using FFT.
    """
    check_levels(0.5, delta)
    check_claim(claimed)
    laws = loss_laws(run, first, second, step=step)
    low = max(max(law[0].delta(claimed) for law in laws) - GUARD, 0.0)
    high = max(law[1].delta(claimed) for law in laws) + GUARD
    least, most = (
        max(law[way].epsilon(delta + guard) for law in laws) for way, guard in ((0, GUARD), (1, -GUARD))
    )
    return DeltaFinding(
        instrument="exact",
        subject=subject,
        claimed=claimed,
        lower_bound=least,
        confidence=1.0,
        neighbours=neighbours,
        pair=pair,
        event=f"δ is {low:.6g} to {high:.6g} at the claimed ε, and ε is {least:.6g} to {most:.6g} at the claimed δ",
        delta=delta,
        delta_bound=low,
        e_value=math.inf if least > claimed else 1.0,
    )
