"""What bags drawn with replacement cost DiffPRFs: bounds of ε, and of δ, for the listing without its purity test.

A bag of D' = D + z holds K ~ Bin(N, 1/N) copies of z, and can be coupled with a bag of D at distance c(K) records,
c(0) = 1 and c(k) = 2k − 1. Proofs are in chapter 4, "Bags drawn with replacement", and in its appendix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import binom

from dpnb.arrays import Floats

MOST = 40  # copies of a record that are reckoned with: more have a probability below 1e-47
STEP = 1e-5  # of the grid of privacy losses; each loss is rounded up to it


def _no_copy(n: float) -> float:
    """(1 − 1/N)^N, the probability of no copy."""
    return math.exp(n * math.log1p(-1 / n)) if math.isfinite(n) else math.exp(-1)


def _power(x: float, n: float) -> float:
    """(1 + x/N)^N."""
    return math.exp(n * math.log1p(x / n)) if math.isfinite(n) else math.exp(x)


def forward(rate: float, n: float = math.inf) -> float:
    """F: ln E exp(a (2K − 1)), what outputs show that are likelier on the larger data set.

    Parameters
    ----------
    rate : a > 0, what a record of the bag can change of a log density.
    n : number N ≥ 2 of records of the larger data set; the largest value over all N by default.
    """
    return math.log(_power(math.expm1(2 * rate), n)) - rate


def backward(rate: float, n: float = math.inf) -> float:
    """G: −ln E exp(−a c(K)), what outputs show that are likelier on the smaller data set; as of :func:`forward`."""
    lost = -math.expm1(-2 * rate)
    return -rate - math.log(_power(-lost, n) - lost * _no_copy(n))


def either(rate: float, n: float = math.inf) -> float:
    """U: ln E exp(a c(K)), a bound of both for any algorithm; as of :func:`forward`."""
    return math.log(math.exp(forward(rate, n)) + 2 * math.sinh(rate) * _no_copy(n))


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The listing of chapter 4 with step 7 stopping at full depth only, under add or remove."""

    budget: float  # claimed B
    n_trees: int  # trees t
    depth: int  # splits d on a path
    sizes: bool = True  # whether the noisy sizes of step 6 count as released, or the forest alone
    n: float = math.inf  # records N ≥ 2 of the larger data set; the largest value over all N by default

    @property
    def share(self) -> float:
        """σ: what step 4 gives to a size, to the choices of a node, and to the counts of a leaf."""
        return self.budget / self.n_trees / (2 * (self.depth + 1))

    @property
    def root(self) -> float:
        """Cost of the root's size, which differs by one record whatever the bags hold."""
        return self.share if self.sizes else 0.0

    @property
    def counts(self) -> float:
        """Rate of the counts on a path below the root's size: sizes, and the leaf."""
        return self.share * (self.depth + 1 if self.sizes else 1)

    @property
    def copy(self) -> float:
        """Rate of everything but the root's size: counts, and half a share for the choices of each level."""
        return self.counts + self.share * self.depth / 2

    def exact(self) -> float:
        """ε of single leaves, no more and no less."""
        if self.depth:
            raise ValueError(
                f"depth={self.depth}: the exact loss is known for depth 0, ask for lower and upper"
            )
        return self.n_trees * (self.root + max(forward(self.counts, self.n), backward(self.counts, self.n)))

    def upper(self) -> float:
        """ε that the forest keeps; with information gain for two classes."""
        if not self.depth:
            return self.exact()
        return self.n_trees * (self.root + either(self.copy, self.n))

    def lower(self) -> float:
        """ε that the forest exceeds or attains on some data, with either score and two classes."""
        return self.n_trees * (self.root + max(forward(self.counts, self.n), backward(self.counts, self.n)))

    def lower_by_max(self, n_classes: float = math.inf) -> float:
        """ε that no smaller number than this is kept on all domains, with the max-class sum, for N → ∞."""
        away = 1 / n_classes + (1 - 1 / n_classes) * math.exp(-self.share * self.depth / 2)
        g = math.exp(-self.counts) * away
        return max(self.lower(), self.n_trees * (self.root + math.log(g) + math.exp(self.copy) / g - 1))

    def profile(self) -> Profile:
        """δ for each ε: an upper bound.

        Raises
        ------
        ValueError
            If ``n`` is not finite.
        """
        if not math.isfinite(self.n):
            raise ValueError("n=inf: δ is bounded for one number of records at a time, name it")
        larger, smaller = _tree_losses(self.copy, int(self.n))
        size = [_laplace_losses(self.share)] if self.sizes else []
        return Profile((_composed([larger, *size], self.n_trees), _composed([smaller, *size], self.n_trees)))


class Losses(NamedTuple):
    """A law of privacy losses on a grid: ``probability[i]`` at ``(first + i) STEP``."""

    first: int
    probability: Floats


@dataclass(frozen=True)
class Profile:
    """Upper bound of the privacy profile of a forest."""

    # Laws of the loss when the larger data set is likelier, and when the smaller one is.
    sides: tuple[Losses, Losses]

    def delta(self, epsilon: float) -> float:
        """δ at which the forest is (ε, δ)-differentially private."""
        found = []
        for first, probability in self.sides:
            loss = (first + np.arange(len(probability))) * STEP
            found.append(float(np.sum(probability * np.maximum(-np.expm1(epsilon - loss), 0.0))))
        return max(found)

    def epsilon(self, delta: float) -> float:
        """Smallest ε, up to 1e-6, with at most that δ."""
        low, high = 0.0, STEP * max(first + len(probability) for first, probability in self.sides)
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high


def _tree_losses(rate: float, n: int) -> tuple[Losses, Losses]:
    """Losses of the pair that dominates a tree without its root's size, in both directions."""
    k = np.arange(min(n, MOST) + 1)
    c, probability = np.where(k == 0, 1, 2 * k - 1), binom(n, 1 / n).pmf(k)
    cut = 1 / (
        1 + np.exp(rate * c)
    )  # u below it: the ratio given k copies is e^{rate c}, above it e^{-rate c}
    edges = np.unique([0.0, *cut, 1.0])
    middle, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    ratio = np.where(middle[:, None] < cut, np.exp(rate * c), np.exp(-rate * c)) @ probability
    return _on_grid(np.log(ratio), ratio * width), _on_grid(-np.log(ratio), width)


def _laplace_losses(rate: float) -> Losses:
    """Losses of a count with Laplace noise of scale 1/``rate`` that differs by one, in either direction."""
    edges = np.linspace(-rate, rate, max(2, math.ceil(2 * rate / STEP) + 1))
    below = (
        np.exp((edges - rate) / 2) / 2
    )  # probability of a loss below: 1/2 at +rate, and an atom at each end
    below[0] = 0.0
    return _on_grid(np.append(edges[1:], rate), np.append(np.diff(below), 0.5))


def _on_grid(loss: Floats, probability: Floats) -> Losses:
    """Round losses up to the grid."""
    at = np.ceil(loss / STEP - 1e-9).astype(int)
    return Losses(int(at.min()), np.bincount(at - at.min(), probability).astype(float))


def _composed(laws: list[Losses], times: int) -> Losses:
    """Law of the sum of independent losses, ``times`` of each law."""
    first, total = 0, np.ones(1)
    for law in laws:
        for _ in range(times):
            total = np.maximum(fftconvolve(total, law.probability), 0.0)
            first += law.first
    return Losses(first, total)
