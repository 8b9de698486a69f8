"""Records that the exact steps expose: each by a replay without it, and others with a finite loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpnb
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.records.memory import Records
from dpnb.replay.tape import replay_estimator
from private_trees.studies.exposure import exposed_by

DATA = dpnb.load("adult-standin")


def sample(n: int = 1500) -> tuple[pd.DataFrame, pd.Series]:
    """Some records in the order of their keys, in which a replay draws its bags."""
    X, y = (part.iloc[:n] for part in DATA.train)
    order = np.argsort(Records(X, y, domain=DATA.domain).keys)
    return X.iloc[order], y.iloc[order]


def forest_with(**reading: Any) -> DiffPRFs:
    return DiffPRFs.as_written(
        utility="max", domain=DATA.domain, n_trees=5, max_depth=5, random_state=0, **reading
    )


def loss_without(forest: DiffPRFs, row: int) -> float:
    X, y = sample()
    label = X.index[row]
    return replay_estimator(forest, (X, y), (X.drop(index=label), y.drop(index=label)), seed=0)[0].loss


def test_whoever_is_alone_surely_is_alone_given_the_bags() -> None:
    found = exposed_by(forest_with(), *DATA.train)
    assert found.pure.sum() > 50
    assert not (found.pure & ~found.pure_in_bags).any()
    assert found.pure_in_bags.sum() > found.pure.sum()  # broken twin: the bags expose more
    assert not found.holder.any()


def test_exposed_records_have_an_infinite_loss_and_others_a_finite_one() -> None:
    forest = forest_with()
    found = exposed_by(forest_with(), *sample())
    assert found.pure.sum() > 10
    for row in np.flatnonzero(found.pure)[::5][:5]:
        assert loss_without(forest, row) == np.inf
    for row in np.flatnonzero(~found.pure_in_bags)[::300][:4]:
        assert loss_without(forest, row) < np.inf  # broken twin


def test_holders_of_a_threshold_have_an_infinite_loss() -> None:
    """With the purity test out, so that nothing else exposes them."""
    reading = {"stop": "depth", "thresholds": "data"}
    found = exposed_by(forest_with(**reading), *sample())
    assert found.holder.sum() > 3
    assert not found.pure.any()
    forest = forest_with(**reading)
    for row in np.flatnonzero(found.holder)[:3]:
        assert loss_without(forest, row) == np.inf


@pytest.mark.parametrize("reading", [{"stop": "depth"}, {"stop": "depth", "bags": "poisson"}])
def test_without_the_exact_steps_nobody_is_exposed(reading: dict[str, Any]) -> None:
    found = exposed_by(forest_with(**reading), *sample())
    assert found.split_nodes > 50
    assert not (found.pure | found.pure_in_bags | found.holder).any()
