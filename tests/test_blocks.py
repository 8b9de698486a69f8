"""Records in blocks that are counted apart give the models of the records in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpnb import PrivateBooster, load
from dpnb.papers.baselines_forest import RandomTrees
from dpnb.papers.pearson import PearsonTree
from dpnb.records.memory import Records
from private_trees.studies.blocks import Blocks

DATA = load("adult-standin")
X, Y = (part.head(2000) for part in DATA.train)
BLOCK = np.random.default_rng(1).integers(0, 5, len(X))


@pytest.mark.parametrize("make", [PearsonTree, PrivateBooster, RandomTrees], ids=lambda make: make.__name__)
def test_blocks_give_the_same_model(make: Any) -> None:
    def shares(records: Any) -> Any:
        return make(epsilon=1.0, random_state=3).fit(records).predict_proba(DATA.test[0].head(300))

    whole = shares(Records(X, Y, domain=DATA.domain))
    np.testing.assert_array_equal(shares(Blocks(X, Y, BLOCK, domain=DATA.domain)), whole)
    kept = BLOCK > 0  # broken twin: the records of a block are lost
    lost = shares(Blocks(X[kept], Y[kept], BLOCK[kept] - 1, domain=DATA.domain))
    assert not np.array_equal(lost, whole)


def test_copies_by_position_are_refused() -> None:
    blocks = Blocks(X, Y, BLOCK, domain=DATA.domain)
    with pytest.raises(NotImplementedError, match="ask for a bag by keys"):
        blocks.cohort(np.ones(len(X), np.int64))
    low, high = blocks.observed_bounds()
    np.testing.assert_array_equal((low, high), Records(X, Y, domain=DATA.domain).observed_bounds())
