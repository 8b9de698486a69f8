"""The exact law of the choice that the listing of DiffPRFs makes at a root, in two steps, beside a random split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpnb.arrays import Bools, Floats
from dpnb.privacy.lattice import Lattice
from dpnb.records.memory import Records
from dpnb.trees.candidates import binary_candidates, multiway_scores
from dpnb.trees.scores import SCORES

GRID = 0.25  # step in log s: the error of the trapezoid rule is about exp(-π² / GRID)


@dataclass(frozen=True)
class Offer:
    """What one attribute offers: its thresholds with equal score as one, or its split into all categories."""

    score: Floats  # (options,) in any unit; only differences matter
    measure: Floats  # (options,) share of the public interval, sums to 1


@dataclass(frozen=True)
class Root:
    """What a node offers in steps 10 and 11, attribute by attribute."""

    offers: Sequence[Offer]
    continuous: Bools


def root_of(records: Records, utility: str) -> Root:
    """All thresholds, and all splits by category, of the root on all records.

    **Privacy**: for study only, nothing here is private.
    """
    domain, score = records.domain, SCORES[utility]
    every, root = np.arange(domain.n_attributes), records.cohort()
    counts, totals = root.value_counts(every[None]), root.class_counts(1).repeat(domain.n_attributes, axis=0)
    found = binary_candidates(
        counts, attributes=every, totals=totals, lattice=Lattice.of(domain.lows, domain.highs), domain=domain
    )
    binary, whole = found.scores(score), multiway_scores(counts, totals=totals, score=score)
    offers = []
    for a in every:
        own = found.question == a
        values, group = np.unique(binary[own] if domain.continuous[a] else whole[[a]], return_inverse=True)
        weight = found.measure[own] if domain.continuous[a] else np.ones(1)
        offers.append(Offer(values, np.bincount(group, weight).astype(float)))
    return Root(offers, domain.continuous)


class TwoSteps:
    """Steps 10 and 11 at one rate.

    Parameters
    ----------
    root : what is offered.
    rate : of both choices, ε / 2Δ.

    Notes
    -----
    Step 10 draws a threshold τ_a for each continuous attribute with probability p_a(τ) ∝ measure × w_a(τ), where
    w = exp(rate × score). Step 11 takes attribute a with probability w_a(τ_a) / Σ_j w_j(τ_j). As 1/x = ∫ exp(−s x) ds,

        P(a, τ) = p_a(τ) w_a(τ) ∫ exp(−s w_a(τ)) Π_{j ≠ a} E exp(−s w_j) ds.
    """

    def __init__(self, root: Root, *, rate: float) -> None:
        best = max(offer.score.max() for offer in root.offers)
        self._weights = [np.exp(rate * (offer.score - best)) for offer in root.offers]
        self._laws = [
            o.measure * w / (o.measure @ w) for o, w in zip(root.offers, self._weights, strict=True)
        ]
        # What lies below e⁻³⁰ weighs less than 1e-12, and so does what lies above the last s.
        self._s = np.exp(np.arange(-30.0, np.log(60 / min(w.min() for w in self._weights)), GRID))
        self._decays = [np.exp(-w[:, None] * self._s) for w in self._weights]
        self._transforms = np.array([p @ decay for p, decay in zip(self._laws, self._decays, strict=True)])

    def law(self, drawn: Sequence[int]) -> list[Floats]:
        """Probability of every option of every attribute in ``drawn``, the attributes of step 8."""
        found = []
        for a in drawn:
            others = self._transforms[[j for j in drawn if j != a]].prod(axis=0)
            found.append(self._laws[a] * self._weights[a] * (self._decays[a] @ (others * self._s)) * GRID)
        return found


def two_step_tv(root: Root, *, budget: float, n_trees: int, depth: int, f: int) -> Floats:
    """Total variation between the listing's choice and a random split, for every set of drawn attributes.

    Parameters
    ----------
    root : what is offered.
    budget, n_trees, depth : B, t and d; Δ = 1.
    f : number of attributes drawn.

    Returns
    -------
    (sets,) distance from an attribute uniform among those drawn, with a uniform threshold.
    """
    share = budget / (2 * n_trees * (depth + 1))
    at = {n_c: TwoSteps(root, rate=share / (n_c + 1) / 2) for n_c in range(min(f, sum(root.continuous)) + 1)}
    found = []
    for drawn in combinations(range(len(root.offers)), f):
        law = at[root.continuous[list(drawn)].sum()].law(drawn)
        apart = [np.abs(p - root.offers[a].measure / f).sum() for a, p in zip(drawn, law, strict=True)]
        found.append(sum(apart) / 2)
    return np.array(found)
