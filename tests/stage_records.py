"""Records on which the tests of the booster's stages agree, neighbours of them, and stages that pay too little."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpnb import Categorical, Continuous, Domain
from dpnb.boosting.plans import Level, Plan
from dpnb.boosting.stages import Stages
from dpnb.records.memory import Records

DELTA = 1e-5
ATTRIBUTES = (
    Continuous("x", -3, 5),
    Categorical("c", ("a", "b", "c")),
    Continuous("z", 0, 100, missing=True),
    Categorical("one", ("only",)),
    Continuous("w", 0, 1),
    Categorical("v", (0, 1)),
)
EVERYTHING = Plan(6, 0.4, 2, Level(0.4, sweeps=3, groups=4, of_groups=0.05, fine=2, of_fine=0.045))
BY_CELLS = EVERYTHING._replace(level=EVERYTHING.level._replace(by_cells=3, of_cells=0.04))


def domain_of(n_classes: int) -> Domain:
    return Domain(ATTRIBUTES, tuple("pqrst"[:n_classes]), "y")


def sample(rng: np.random.Generator, n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Encoded records that crowd, and classes that depend on three attributes at once."""
    domain = domain_of(n_classes)
    codes = np.stack(
        [
            rng.normal(1, 0.3, n).clip(-3, 5),
            rng.integers(3, size=n),
            np.where(rng.random(n) < 0.2, domain.lows[2], rng.exponential(2, n).clip(0, 100)),
            np.zeros(n),
            rng.random(n),
            rng.integers(2, size=n),
        ],
        axis=1,
    )
    hidden = (codes[:, 0] > 1) ^ (codes[:, 1] > 0) ^ (codes[:, 5] > 0)
    return codes, (hidden + rng.integers(0, max(n_classes - 1, 1), n)) % n_classes


class Encoded(Records):
    """Records that are encoded already."""

    def __init__(self, codes: np.ndarray, labels: np.ndarray, domain: Domain) -> None:
        self.domain = domain
        self.labels = np.asarray(labels, np.intp)
        self.columns = np.ascontiguousarray(codes.T)


def neighbour(
    codes: np.ndarray, labels: np.ndarray, rng: np.random.Generator, *, replaced: bool, n_classes: int
) -> Any:
    """Without a record, or with another one in its place."""
    at = int(rng.integers(len(labels)))
    if not replaced:
        return np.delete(codes, at, axis=0), np.delete(labels, at)
    other, label = sample(rng, 1, n_classes)
    changed, classes = codes.copy(), labels.copy()
    changed[at], classes[at] = other[0], label[0]
    return changed, classes


# --- Broken twins ---------------------------------------------------------------------------------------------


def half_of_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """Stumps at half of the sensitivity."""
    choose = Stages._unlike
    patch.setattr(Stages, "_unlike", lambda self, *how: choose(self, *how[:-1], how[-1] / 2))


def noise_of_one_block(patch: pytest.MonkeyPatch) -> None:
    """Noise as if a record were in one cell of all blocks together."""
    noisy = Stages.noisy

    def less(self: Stages, layout: Any, sums: Any, rho: float, reach: float, shares: Any, what: str) -> Any:
        return noisy(self, layout, sums, rho, reach, np.ones_like(shares), what)

    patch.setattr(Stages, "noisy", less)


def choices_at(share: float, patch: pytest.MonkeyPatch) -> None:
    """Fine attributes and groups at a share of the range."""
    choose = Stages.choose

    def chosen(
        self: Stages,
        options: Any,
        scores: Any,
        times: int,
        rho: float,
        most: float,
        width: float,
        *why: Any,
        **more: Any,
    ) -> Any:
        return choose(self, options, scores, times, rho, share * most, share * width, *why, **more)

    patch.setattr(Stages, "choose", chosen)
