"""Laws of what mechanisms give away, one output at a time, and the largest loss between two of them.

The curators of ``dpnb`` know nothing of bounds that an output is kept within; other people's mechanisms do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from dpnb.arrays import Floats
from dpnb.privacy.laws import DiscreteGaussian, Gaussian, Laplace, PermuteAndFlip, TwoSidedGeometric

BASES: dict[str, Any] = {
    "laplace": Laplace,
    "geometric": TwoSidedGeometric,
    "normal": Gaussian,
    "discrete normal": DiscreteGaussian,
}
WIDE = 40  # scales on each side of the centres that numerical sums run over
MOST_IMAGES = 10_000  # reflections of a folded law at each bound


class OutputLaw:
    """The law of a call's output."""

    def log_density(self, outcome: Any) -> float:
        """Log density or log probability of an outcome."""
        raise NotImplementedError

    def points(self, other: Any) -> list[Any]:
        """Outcomes among which the ratio to a law of the same kind is largest and smallest."""
        raise NotImplementedError

    def ratio(self, other: OutputLaw, outcome: Any) -> float:
        """Log ratio of the densities at an outcome, 0 where neither law has any."""
        a, b = self.log_density(outcome), other.log_density(outcome)
        return 0.0 if a == b else a - b

    def extreme(self, other: OutputLaw, sign: int) -> Any:
        """The outcome that speaks most for this law (sign 1), or for the other one (sign -1)."""
        return max(self.points(other), key=lambda outcome: sign * self.ratio(other, outcome))

    def loss(self, other: OutputLaw) -> float:
        """Largest absolute log ratio over all outcomes."""
        return max(abs(self.ratio(other, self.extreme(other, sign))) for sign in (1, -1))


@dataclass(frozen=True)
class NoisyNumber(OutputLaw):
    """A number with noise, as it is or kept within bounds."""

    centre: float
    scale: float
    noise: str  # of `BASES`, or `"staircase"` or `"uniform"`
    # `"plain"`; `"truncated"` onto the bounds, `"folded"` at them, `"bounded"` to what is within; `"clipped"`
    # noise, of at most `high`.
    form: str = "plain"
    low: float = -math.inf
    high: float = math.inf
    shape: tuple[float, float] = (0.0, 0.0)  # ε and γ of a staircase

    def _step(self) -> float:
        return 1.0 if self.noise in ("geometric", "discrete normal") else 0.0

    def base(self, outcome: Any) -> Any:
        """Log density without bounds, of one outcome or of many."""
        gap = np.abs(np.asarray(outcome, float) - self.centre)
        if self.noise == "uniform":
            return np.where(gap <= self.high, -math.log(2 * self.high), -np.inf)
        if self.noise == "staircase":
            (epsilon, gamma), widths = self.shape, gap / self.scale
            steps = np.floor(widths) + (widths - np.floor(widths) >= gamma)
            height = (1 - math.exp(-epsilon)) / (gamma + math.exp(-epsilon) * (1 - gamma)) / (2 * self.scale)
            return math.log(height) - epsilon * steps
        law = BASES[self.noise](np.asarray(self.centre), np.asarray(self.scale))
        within = law.log_density(np.asarray(outcome))
        return np.where(gap <= self.high, within, -np.inf) if self.form == "clipped" else within

    def _beyond(self, gap: float) -> float:
        """Probability that Laplace or geometric noise is at least so large."""
        step = self._step()
        if self.scale == 0:
            return float(gap <= 0)
        if gap < step:
            return 1 - self._beyond(step - gap)
        return math.exp(-gap / self.scale) / (1 + math.exp(-step / self.scale))

    def log_density(self, outcome: Any) -> float:
        """Log density of an outcome, or its log probability if it is an end that outcomes are moved to."""
        if self.form in ("plain", "clipped"):
            return float(self.base(outcome))
        if not self.low <= outcome <= self.high or self.low == self.high:
            return 0.0 if outcome == self.low == self.high else -math.inf
        with np.errstate(divide="ignore"):
            if self.form == "truncated" and outcome in (self.low, self.high):
                ends = [self._beyond(self.centre - outcome), self._beyond(outcome - self.centre)]
                atom = (ends[0] if outcome == self.low else 0) + (ends[1] if outcome == self.high else 0)
                return float(np.log(min(atom, 1.0)))
            if self.form == "folded":
                return float(logsumexp(self.base(self._images(outcome))))
            if self.form == "bounded":
                inside = replace(self, centre=min(max(self.centre, self.low), self.high), form="plain")
                gaps = (inside.centre - self.low, self.high - inside.centre)
                return float(inside.base(outcome) - np.log1p(-sum(map(inside._beyond, gaps))))
        return float(self.base(outcome))

    def _images(self, outcome: float) -> Floats:
        """Numbers that are folded onto an outcome; a whole number on a bound is its own image."""
        width, most = 2 * (self.high - self.low) or 1.0, 0
        if math.isfinite(width):
            most = min(math.ceil(WIDE * self.scale / width) + 1, MOST_IMAGES)
        turns = width * np.arange(-most, most + 1) if most else np.zeros(1)
        ends = [end for end in (self.low, self.high) if math.isfinite(end)]
        found = np.concatenate([outcome + turns, *(2 * end - outcome + turns for end in ends[:1])])
        return np.unique(found) if self._step() else found

    def points(self, other: Any) -> list[Any]:
        """The centres and the bounds, where the slope of the ratio may change, and what is next to the bounds."""
        both, step = (self, other), self._step()
        wide = 3 * self.scale * self.noise.endswith("normal")  # the ratio of normal laws has no largest value
        found = {law.centre + shift for law in both for shift in (0.0, wide, -wide)}
        if self.form not in ("plain", "clipped"):
            ends = [end for law in both for end in (law.low, law.high) if math.isfinite(end)]
            around = (math.floor, math.ceil) if step else (lambda end: end,)
            found |= {2 * end - law.centre for end in ends for law in both if self.form == "folded"}
            for end in [side(end) for end in ends for side in around]:
                beside = [end - 1, end + 1] if step else np.nextafter(end, [-np.inf, np.inf]).tolist()
                found |= {end, *beside}
        if self.noise == "staircase":
            most = math.ceil(abs(self.centre - other.centre) / self.scale) + 2
            edges = sorted(
                law.centre + side * law.scale * (k + shift)
                for law in both
                for side in (1, -1)
                for k in range(most)
                for shift in (0.0, law.shape[1])
            )
            found = {(a + b) / 2 for a, b in pairwise(edges)}
        return [round(point) if step else point for point in sorted(found) if math.isfinite(point)]

    def loss(self, other: OutputLaw) -> float:
        """Infinite where two scales meet without a bound: the ratio of the tails has none."""
        assert isinstance(other, NoisyNumber)
        endless = self.form == "plain" or math.inf in (-self.low, self.high)
        if self.form == "clipped" and (self.centre, self.high) != (other.centre, other.high):
            return math.inf
        if endless and (self.scale != other.scale or (self.noise.endswith("normal") and self != other)):
            return math.inf
        return super().loss(other)

    def loss_beyond(self, other: NoisyNumber, delta: float) -> float:
        """Smallest ε with which a number with noise keeps (ε, δ) on both sides, by numerical sums."""
        centres, wide = sorted((self.centre, other.centre)), WIDE * max(self.scale, other.scale)
        low, high = centres[0] - wide, centres[1] + wide
        where = np.arange(round(low), round(high) + 1) if self._step() else np.linspace(low, high, 100_001)
        width = 1.0 if self._step() else where[1] - where[0]
        logs = [law.base(where) for law in (self, other)]

        def exceeds(epsilon: float) -> bool:
            return any(
                float(np.maximum(np.exp(a) - np.exp(epsilon + b), 0).sum()) * width > delta
                for a, b in (logs, logs[::-1])
            )

        smallest, largest = 0.0, 1.0
        while exceeds(largest):
            if largest > 700:
                return math.inf
            smallest, largest = largest, 2 * largest
        for _ in range(40):
            middle = (smallest + largest) / 2
            smallest, largest = (middle, largest) if exceeds(middle) else (smallest, middle)
        return largest


@dataclass(frozen=True)
class Selected(OutputLaw):
    """One of some candidates, by scores."""

    candidates: tuple[Any, ...]
    scores: tuple[float, ...]
    rate: float  # exponent per unit of score
    flips: bool = False  # whether by permute-and-flip, else by the exponential mechanism

    @cached_property
    def logs(self) -> Floats:
        """Log probability of every candidate."""
        scores = np.asarray(self.scores, float)
        if self.flips:
            law = PermuteAndFlip(scores, np.array([0]), np.array([self.rate]))
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(law.probabilities()))
        gaps = scores - scores.max()
        exponents = np.where(gaps == 0, 0.0, -np.inf) if math.isinf(self.rate) else self.rate * gaps
        return np.asarray(log_softmax(exponents))

    def log_density(self, outcome: Any) -> float:
        """Log probability of a candidate."""
        return float(self.logs[self.candidates.index(outcome)]) if outcome in self.candidates else -math.inf

    def points(self, other: Any) -> list[Any]:
        """All candidates of both."""
        return [*dict.fromkeys((*self.candidates, *other.candidates))]


@dataclass(frozen=True)
class SideBySide(OutputLaw):
    """Independent outputs, side by side."""

    parts: tuple[OutputLaw, ...]

    def log_density(self, outcome: Any) -> float:
        """Sum over all outputs."""
        if len(outcome) != len(self.parts):
            return -math.inf
        return sum(law.log_density(one) for law, one in zip(self.parts, outcome, strict=True))

    def extreme(self, other: OutputLaw, sign: int) -> Any:
        """Each output's."""
        assert isinstance(other, SideBySide)
        return [a.extreme(b, sign) for a, b in zip(self.parts, other.parts, strict=False)]

    def loss(self, other: OutputLaw) -> float:
        """Largest sum of the outputs' log ratios."""
        assert isinstance(other, SideBySide)
        if len(self.parts) != len(other.parts):
            return math.inf
        pairs = [*zip(self.parts, other.parts, strict=True)]
        if any(math.isinf(a.loss(b)) for a, b in pairs):
            return math.inf
        sums = [sum(a.ratio(b, a.extreme(b, sign)) for a, b in pairs) for sign in (1, -1)]
        return max(map(abs, sums))
