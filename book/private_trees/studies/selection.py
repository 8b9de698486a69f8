"""How well a private choice can do: what two mechanisms miss, and what every private choice must miss."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from dpnb.arrays import Floats
from dpnb.data.datasets import Dataset
from dpnb.privacy import laws
from dpnb.records.grid import public_grid
from dpnb.records.memory import Records
from dpnb.trees.scores import Score

START = np.array([0])
ROUNDING = 1e-9  # of a score


def flip_miss(candidates: int, signal: Floats) -> Floats:
    """Probability that permute-and-flip misses a best candidate that leads all others by the same gap.

    Parameters
    ----------
    candidates : their number k, at least 2.
    signal : rate times gap, at least 0; beyond about 20 + ln k rounding eats the result.
    """
    log_reject = np.log(-np.expm1(-np.maximum(signal, 1e-300)))
    found: Floats = -np.expm1(candidates * log_reject) * np.exp(signal) / candidates
    return 1 - found


def exponential_miss(candidates: int, signal: Floats) -> Floats:
    """Probability that the exponential mechanism misses it; parameters as of :func:`flip_miss`."""
    rivals: Floats = (candidates - 1) * np.exp(-signal)
    return rivals / (1 + rivals)


def leads_needed(candidates: int, *, miss: float, rates: Mapping[str, float]) -> dict[str, float]:
    """Lead with which each mechanism misses the best candidate with a given probability.

    Parameters
    ----------
    candidates : their number k, at least 2; all others are equally far behind.
    miss : probability, below 1 - 1/k.
    rates : ``"PF"`` and ``"EM"`` → rate, positive.
    """
    flip = brentq(lambda signal: float(flip_miss(candidates, np.array(signal))) - miss, 1e-6, 20.0)
    return {"PF": flip / rates["PF"], "EM": math.log((candidates - 1) * (1 - miss) / miss) / rates["EM"]}


def least_miss(candidates: int, *, gap: int, epsilon: float) -> float:
    """Probability with which every ε-DP choice (add or remove) misses the best on some data set of the chapter.

    Parameters
    ----------
    candidates : their number k, at least 2.
    gap : whole number of records by which the best leads, at least 0.
    epsilon : budget of the choice, positive.
    """
    steps = np.arange(gap + 1)
    return float(np.max(np.exp(-epsilon * (gap - steps)) * (1 - np.exp(epsilon * steps) / candidates)))


def misses(candidates: Collection[int], *, epsilon: float, signal: float) -> pd.DataFrame:
    """What is missed at whole gaps, up to a given signal.

    Parameters
    ----------
    candidates : numbers k of candidates.
    epsilon : budget and rate of the choice, positive.
    signal : largest ε times gap.

    Returns
    -------
    DataFrame with a row for each k and gap, and the columns candidates, signal, PF, EM and least.
    """
    gaps = range(1, round(signal / epsilon) + 1)
    signals = epsilon * np.array(gaps, float)
    parts = [
        pd.DataFrame(
            {
                "candidates": k,
                "signal": signals,
                "PF": flip_miss(k, signals),
                "EM": exponential_miss(k, signals),
                "least": [least_miss(k, gap=g, epsilon=epsilon) for g in gaps],
            }
        )
        for k in candidates
    ]
    return pd.concat(parts, ignore_index=True)


def regrets(scores: Floats, *, rate: float) -> dict[str, float]:
    """Expected distance from the best score: exact for two mechanisms and a random choice, and the bound ln k / rate.

    Parameters
    ----------
    scores : (k,) scores.
    rate : of both mechanisms, positive.
    """
    behind = scores.max() - scores
    flip = laws.PermuteAndFlip(scores, START, np.array(rate)).probabilities()
    law = laws.Exponential(scores, START, np.array(rate), np.ones(len(scores)))
    return {
        "PF": float(flip @ behind),
        "EM": float(np.exp(law.log_probabilities()) @ behind),
        "random": float(behind.mean()),
        "bound": float(np.log(len(scores)) / rate),
    }


def root_regrets(
    data: Dataset,
    *,
    score: Score,
    epsilons: Collection[float],
    shares: int,
    sizes: Collection[int],
    repeats: int,
    seed: int,
) -> pd.DataFrame:
    """Regret per record of a private choice at the root, by number of training records.

    Parameters
    ----------
    data : its training part is sampled without replacement.
    score : monotone score of a split on the public grid.
    epsilons : budgets of the tree.
    shares : number of equal shares of a path; the choice has one of them.
    sizes : numbers of records; more than there are means all of them.
    repeats : samples of each size.
    seed : of the samples.

    Returns
    -------
    DataFrame with a row for each size and ε, means over the samples: records, epsilon, PF, EM, random and bound.
    """
    X, y = data.train
    grid, rng = public_grid(data.domain), np.random.default_rng(seed)
    rows = []
    for size in (min(n, len(X)) for n in sizes for _ in range(repeats)):
        drawn = rng.choice(len(X), size, replace=False)
        records = Records(X.iloc[drawn], y.iloc[drawn], domain=data.domain)
        found = score(records.cohort().condition_tables(records.binned(grid), 1)[0])
        for epsilon in epsilons:
            rate = epsilon / (score.sensitivity * shares)
            per_record = {name: value / size for name, value in regrets(found, rate=rate).items()}
            rows.append({"records": size, "epsilon": epsilon} | per_record)
    return pd.DataFrame(rows).groupby(["records", "epsilon"], as_index=False).mean()


def enumerated_changes(score: Score, n: int) -> dict[str, Any]:
    """Largest changes of a score over all 2 × 2 tables of n records and their neighbours.

    Parameters
    ----------
    score : of a table.
    n : size of the larger data set, at least 2.

    Returns
    -------
    dict of the largest change as "add or remove" and as "replace", and "yes" or "no" as "monotone".
    """
    counts = itertools.product(range(n), repeat=4)
    base = np.array([t for t in counts if sum(t) == n - 1], float).reshape(-1, 1, 2, 2)
    after = score(base + np.eye(4).reshape(4, 2, 2))
    change = after - score(base)
    return {
        "add or remove": np.abs(change).max(),
        "replace": np.abs(after[:, :, None] - after[:, None, :]).max(),
        "monotone": "yes" if (change >= -ROUNDING).all() or (change <= ROUNDING).all() else "no",
    }
