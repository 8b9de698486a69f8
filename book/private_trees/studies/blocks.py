"""A training set in blocks that are counted apart: what a cluster does, in one process and without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpnb.arrays import Floats, Ints
from dpnb.domain import Domain
from dpnb.records.bags import Bags, Copies
from dpnb.records.doors import BinnedRecords, RecordsDoor
from dpnb.records.grid import Grid
from dpnb.records.losses import Loss
from dpnb.records.memory import Records
from dpnb.records.shapes import Cuts


class _Sum:
    """One door for several: a question goes to all of them, and the tables that come back are added up."""

    def __init__(self, doors: Sequence[Any]) -> None:
        self._doors = doors

    def __getattr__(self, name: str) -> Any:
        asked = [getattr(door, name) for door in self._doors]

        def ask(*question: Any, **more: Any) -> Any:
            return _together([one(*question, **more) for one in asked])

        return ask if callable(asked[0]) else asked[0]


def _together(answers: Sequence[Any]) -> Any:
    if isinstance(answers[0], np.ndarray):
        return sum(answers[1:], start=answers[0])
    return None if answers[0] is None else _Sum(answers)


class Blocks(RecordsDoor):
    """Records in blocks; no block sees another, and what leaves a block is a table.

    Parameters
    ----------
    X, y, domain : as of :class:`~dpnb.records.memory.Records`.
    block : (n,) number of the block that each record is in, 0, 1, ...
    """

    def __init__(self, X: pd.DataFrame, y: pd.Series[Any], block: Ints, *, domain: Domain) -> None:
        self.domain = domain
        self._blocks = [Records(X[block == b], y[block == b], domain=domain) for b in range(block.max() + 1)]
        self.keys = np.concatenate([records.keys for records in self._blocks])

    def cohort(self, copies: Copies | None = None) -> Any:
        """All records, at the root of a tree; not with copies, which go by position."""
        if copies is not None:
            raise NotImplementedError(
                "copies of records by their position: blocks have none, ask for a bag by keys"
            )
        return _Sum([records.cohort() for records in self._blocks])

    def bag(self, bags: Bags, *, seed: int, tree: int) -> Any:
        """The bag of a tree, block by block."""
        return _Sum([records.bag(bags, seed=seed, tree=tree) for records in self._blocks])

    def binned(self, grid: Grid) -> BinnedRecords:
        """Put the values of every block into the bins of a grid."""
        for records in self._blocks:
            records.binned(grid)
        return BinnedRecords(grid)

    def weighted(self, grid: Grid | None) -> Any:
        """Weights of all records, block by block."""
        return _Sum([records.weighted(grid) for records in self._blocks])

    def scored(self, finest: Cuts, loss: Loss) -> Any:
        """Scores of all records, block by block."""
        return _Sum([records.scored(finest, loss) for records in self._blocks])

    def observed_bounds(self) -> tuple[Floats, Floats]:
        """Smallest and largest value of each attribute over all blocks."""
        low, high = zip(*(records.observed_bounds() for records in self._blocks), strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)
