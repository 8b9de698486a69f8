"""Search for worst-case neighbours by replay: the structured pairs and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit import families
from dpaudit.pairs import random_pair
from dpnb.replay import Finding, replay


def search(
    estimator: Any, *, neighbours: str = "add-remove", trials: int = 100, seed: int = 0, subject: str = ""
) -> Finding:
    """Replay an estimator on all families and on random pairs, in both directions; return the worst finding.

    Parameters
    ----------
    estimator : estimator of this package; its ``domain`` is set to the pairs'.
    trials : number of replays in all.
    seed : of pairs and fits.
    """
    rng = np.random.default_rng(seed)
    pairs = families(neighbours)
    pairs += [random_pair(rng, neighbours=neighbours) for _ in range(max(trials - len(pairs), 0))]
    worst: Finding | None = None
    for i, pair in enumerate(pairs[:trials]):
        sides = (pair.first, pair.second) if i % 2 else (pair.second, pair.first)
        named = estimator.set_params(domain=pair.domain)
        found = replay(named, *sides, seed=seed + i, subject=subject, pair=pair.name)
        if worst is None or found.lower_bound > worst.lower_bound:
            worst = found
    if worst is None:
        raise ValueError(f"trials={trials}: expected at least 1")
    return worst
