"""Exact losses, by enumeration of all that a mechanism or a tiny tree can release.

Choices (exponential mechanism, permute-and-flip, intervals) are enumerated, by running the subject again for every
sequence of choices on both data sets. Additive noise is not enumerated: its worst log-ratio is known in closed form.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dpaudit.settings import check_levels
from dpnb.arrays import Floats
from dpnb.privacy.lattice import Lattice
from dpnb.privacy.laws import (
    Exact,
    Exponential,
    Gaussian,
    IntervalExponential,
    Laplace,
    Law,
    PermuteAndFlip,
    Point,
    TwoSidedGeometric,
)
from dpnb.replay import Finding
from dpnb.replay.questions import Fit, Question, answering

Noise = Laplace | TwoSidedGeometric | Gaussian


class _PausedError(Exception):
    """The run has reached a choice that the prefix does not decide."""


class _Path:
    """Answers choices from a prefix; notes log probabilities and additive laws; pauses at the first open choice."""

    def __init__(self, prefix: list[Any]) -> None:
        self._left = list(prefix)
        self.log_probability = 0.0
        self.noise: list[Noise] = []
        self.waiting: tuple[str, Law[Any]] | None = None

    def __call__(self, question: Question) -> Any:
        law = question.law
        if law is None:
            # The same on both sides: it does not depend on the data.
            return question.draw(np.random.default_rng(0))
        if isinstance(law, Noise):
            self.noise.append(law)
            return law.centre
        if not self._left:
            self.waiting = (question.request.what, law)
            raise _PausedError
        outcome = self._left.pop(0)
        self.log_probability += float(np.sum(law.log_density(outcome)))
        return outcome


def _run(run: Fit, data: Any, prefix: list[Any]) -> _Path:
    path = _Path(prefix)
    with answering(path), contextlib.suppress(_PausedError):
        run(data)
    return path


def exact(
    run: Fit,
    first: Any,
    second: Any,
    *,
    claimed: float,
    subject: str,
    delta: float = 0.0,
    neighbours: str = "add-remove",
    pair: str = "",
) -> Finding:
    """Largest |log-ratio| of the output distributions of ``run`` on two data sets, over all transcripts.

    Parameters
    ----------
    run : runs the subject on one data set through the doors; must not act on values with additive noise.
    first, second : the neighbours.
    claimed : ε that the subject promises; with δ, ``ledger.epsilon``.
    delta : δ of the promise, in [0, 1); with δ > 0 only choices may be released.
    subject, neighbours, pair : for the report.

    Returns
    -------
    Finding with the exact privacy loss, given the bags and attribute subsets of seed 0. ``inf`` if a transcript is
    possible on one side only or the two sides release different things. With δ it is the least ε for which the two
    distributions are (ε, δ)-close; where intervals are chosen, at least a bound of it from below.
    """
    check_levels(0.5, delta)
    found = list(_transcripts(run, first, second, []))
    top = max(found, key=lambda transcript: transcript.loss)
    worst, event = _with_delta(found, delta) if delta else (top.loss, top.words)
    return Finding(
        instrument="exact",
        subject=subject,
        claimed=claimed,
        lower_bound=worst,
        confidence=1.0,
        neighbours=neighbours,
        pair=pair,
        event=event,
        delta=delta,
        trials=len(found),
    )


class _Transcript(NamedTuple):
    """A sequence of choices."""

    logs: tuple[float, float]  # log probabilities on both data sets
    noise: float  # what additive noise adds to their difference at most
    apart: bool  # whether the two sides release different things from there on
    words: str  # for the report

    @property
    def loss(self) -> float:
        return math.inf if self.apart else abs(self.logs[0] - self.logs[1]) + self.noise


def _with_delta(found: list[_Transcript], delta: float) -> tuple[float, str]:
    """Least ε at δ: the largest (P(S) − δ) / Q(S) over sets S of the transcripts with the largest ratios."""
    if any(transcript.noise for transcript in found):
        raise ValueError(
            f"delta={delta!r} with additive noise: expected a subject that releases choices only"
        )
    both = (((t.logs[0], -np.inf), (-np.inf, t.logs[1])) if t.apart else (t.logs,) for t in found)
    rows = [logs for pair in both for logs in pair if max(logs) > -np.inf]
    best = (0.0, "")
    for side, name in enumerate(("first", "second")):
        ranked = sorted(rows, key=lambda logs: logs[1 - side] - logs[side])
        p, q = np.exp(ranked).cumsum(axis=0).T[[side, 1 - side]]
        with np.errstate(divide="ignore", invalid="ignore"):
            bounds: Floats = np.nan_to_num(np.log(np.maximum(p - delta, 0.0) / q), nan=0.0, posinf=np.inf)
        size = int(bounds.argmax())
        best = max(best, (float(bounds[size]), f"{size + 1} transcripts, likelier on the {name} data set"))
    return best


def _transcripts(run: Fit, first: Any, second: Any, prefix: list[Any]) -> Iterator[_Transcript]:
    sides = [_run(run, data, prefix) for data in (first, second)]
    a, b = sides
    logs = (a.log_probability, b.log_probability)
    if (a.waiting is None) != (b.waiting is None) or len(a.noise) != len(b.noise):
        open_side = a.waiting or b.waiting
        words = f"only one side releases {open_side[0] if open_side else 'a noisy value'} after {prefix}"
        if max(logs) > -math.inf:
            yield _Transcript(logs, 0.0, True, words)
        return
    if max(logs) == -math.inf:
        return
    if a.waiting is None or b.waiting is None:
        noise = math.fsum(_worst_shift(x, y) for x, y in zip(a.noise, b.noise, strict=True))
        words = f"choices {[_short(o) for o in prefix]}" + (f", noise adds {noise:.4g}" if noise else "")
        yield _Transcript(logs, noise, False, words)
        return
    for outcome in _outcomes(a.waiting[1], b.waiting[1]):
        yield from _transcripts(run, first, second, [*prefix, outcome])


def _short(outcome: Any) -> Any:
    if isinstance(outcome, Point):
        pairs = zip(outcome.option, outcome.value, strict=True)
        return [f"option {int(option)} at {float(value):.3g}" for option, value in pairs]
    return np.asarray(outcome).tolist()


def _worst_shift(a: Any, b: Any) -> float:
    """Supremum over outputs of the log-ratio of two additive noises of the same kind."""
    if type(a) is not type(b):
        return math.inf
    if isinstance(a, Gaussian):
        return math.inf if cost_of_noise(a.centre, b.centre, a.sd, b.sd, power=1) else 0.0
    return cost_of_noise(a.centre, b.centre, a.scale, b.scale, power=1)


def cost_of_noise(here: Any, there: Any, scale: Any, other: Any, *, power: int) -> float:
    """Sum of the shifts over the scales; for Gaussians half of the sum of their squares."""
    if here.shape != there.shape or not np.array_equal(scale, other):
        return math.inf
    shift = np.abs(np.asarray(here, float) - there)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(shift == 0, 0.0, shift / scale)
    return float((ratio**power).sum() / power)


def _outcomes(a: Law[Any], b: Law[Any]) -> Iterator[Any]:
    """Every outcome that is possible on either side; one point for each interval on which both densities are flat."""
    if isinstance(a, Exact) and isinstance(b, Exact):
        yield a.value
        if not np.array_equal(np.asarray(a.value), np.asarray(b.value)):
            yield b.value
        return
    if isinstance(a, IntervalExponential) and isinstance(b, IntervalExponential):
        groups = zip(_points(a), _points(b), strict=True)
        for chosen in itertools.product(*(_refined(x, y) for x, y in groups)):
            yield Point(np.array([option for option, _ in chosen]), np.array([value for _, value in chosen]))
        return
    assert isinstance(a, Exponential | PermuteAndFlip)
    assert isinstance(b, Exponential | PermuteAndFlip)
    sizes = np.maximum(np.diff(a.starts, append=len(a.scores)), np.diff(b.starts, append=len(b.scores)))
    for combination in itertools.product(*(range(size) for size in sizes)):
        yield np.array(combination)


Ends = list[tuple[int, float, float, Lattice]]


def _points(law: IntervalExponential) -> list[Ends]:
    """Option, ends and lattice of every candidate, by group."""
    lattices = [law.lattice.of_each(option) for option in law.option.tolist()]
    candidates = list(zip(law.option.tolist(), law.low.tolist(), law.high.tolist(), lattices, strict=True))
    bounds = [*law.choice.starts.tolist(), len(candidates)]
    return [candidates[start:stop] for start, stop in itertools.pairwise(bounds)]


def _refined(a: Ends, b: Ends) -> list[tuple[int, float]]:
    """Atoms, and the last lattice point of every interval between cuts of either side, if it has one."""
    chosen: list[tuple[int, float]] = []
    for option in sorted({o for o, *_ in a + b}):
        spans = [(low, high) for o, low, high, _ in a + b if o == option]
        lattice = next(lattice for o, _, _, lattice in a + b if o == option)
        cuts = sorted({end for span in spans if span[0] < span[1] for end in span})
        last = [(low, float(lattice.at(lattice.up_to(high)))) for low, high in itertools.pairwise(cuts)]
        chosen += [(option, point) for low, point in last if point > low]
        if not cuts:
            chosen += [(option, low) for low in sorted({low for low, _ in spans})]
    return chosen
