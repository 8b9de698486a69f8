"""A plain rival for numbers: ridge regression from noisy sums of products, because diffprivlib has none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpnb.arrays import Floats
from dpnb.domain import Domain
from dpnb.privacy.accounting import gaussian_rho
from dpnb.privacy.curator import open_curator
from dpnb.privacy.ledger import Ledger

UNITS = 2**14  # in the norm of a record, so that products and their sums are whole numbers


@dataclass(frozen=True)
class Ridge:
    """A linear model of numbers within public bounds."""

    domain: Domain  # with a response
    weights: Floats  # of :func:`columns`
    ledger: Ledger  # what it cost

    def predict(self, codes: Floats) -> Floats:
        """Numbers for encoded records, possibly outside of the range."""
        assert self.domain.response is not None
        low, high = self.domain.response.low, self.domain.response.high
        found: Floats = low + (columns(codes, self.domain) @ self.weights + 1) / 2 * (high - low)
        return found


def columns(codes: Floats, domain: Domain) -> Floats:
    """Numbers scaled to [-1, 1], a column of 0 and 1 for each category, and a column of ones.

    A number that is missing, or below its range, counts as the middle, and one above it as its end. So each attribute
    adds at most 1 to the squared norm of a record.
    """
    parts = [np.ones((len(codes), 1))]
    for code, attribute, levels in zip(codes.T, domain.attributes, domain.cardinalities, strict=True):
        if levels:
            parts.append((code[:, None] == np.arange(levels)).astype(float))
        else:
            low, high = attribute.low, attribute.high  # type: ignore[union-attr]
            scaled = 2 * (code[:, None] - low) / (high - low) - 1
            parts.append(np.where(scaled < -1, 0.0, np.minimum(scaled, 1.0)))
    return np.hstack(parts)


def products(codes: Floats, numbers: Floats, domain: Domain) -> Floats:
    """Sums over records of the products of all columns and the target, (p, p), in units of 1 / ``UNITS``².

    A record adds z zᵀ to them, for a z of whole numbers with a norm of at most ``UNITS``.
    """
    assert domain.response is not None
    low, high = domain.response.low, domain.response.high
    target = np.clip(2 * (numbers - low) / (high - low) - 1, -1, 1)
    records = np.column_stack([columns(codes, domain), target])
    z = np.trunc(UNITS * records / math.sqrt(domain.n_attributes + 2))
    found: Floats = z.T @ z
    return found


def fit_ridge(
    codes: Floats, numbers: Floats, domain: Domain, *, epsilon: float, delta: float, rng: np.random.Generator
) -> Ridge:
    """Ridge regression by the noisy sums of products of all columns and the target.

    Parameters
    ----------
    codes, numbers : encoded records and targets; a target outside of its range counts as the next bound.
    domain : public, with a response.
    epsilon, delta : of the claim.
    rng : source of the noise.

    Notes
    -----
    **Privacy**: (ε, δ)-DP for adding or removing a record. The columns and the target, scaled to [-1, 1], have together
    a squared norm of at most the number of attributes and two. They are divided by its root and cut to whole units, so
    that a record adds a vector z zᵀ of norm 1 at most. Its upper triangle is released once with discrete Gaussian
    noise. All else is post-processing.

    The penalty is the largest eigenvalue that the noise is expected to have, 2 σ √p for p columns and target, so that
    no direction is followed in which there is nothing but noise.
    """
    exact = products(codes, numbers, domain)
    upper = np.triu_indices(len(exact))
    curator = open_curator(rng=rng, ledger=Ledger(neighbours="add-remove", delta=delta, claimed=epsilon))
    rho = gaussian_rho(epsilon=epsilon, delta=delta) * (1 - 1e-9)
    noisy = np.zeros_like(exact)
    noisy[upper] = curator.discrete_gaussian(exact[upper], rho=rho, sensitivity=UNITS**2, what="products")
    noisy += np.triu(noisy, 1).T
    penalty = 2 * UNITS**2 / math.sqrt(2 * rho) * math.sqrt(len(noisy))
    inner = noisy[:-1, :-1] + penalty * np.eye(len(noisy) - 1)
    weights = np.asarray(np.linalg.solve(inner, noisy[:-1, -1]), float)
    return Ridge(domain, weights, curator.ledger)
