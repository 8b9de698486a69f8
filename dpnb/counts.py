"""Records door: the only module that reads records.

Everything that the algorithms of this book ask of the data is a table of counts by node, attribute, value and
class. A :class:`Records` encodes the data once; a :class:`Cohort` is one bag of them on its way down a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .bags import Copies, Keys, record_keys
from .domain import Domain
from .splits import Ints, Splits

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ValueCounts:
    """Counts of the values that occur, for several questions "this attribute at this node?".

    Parameters
    ----------
    question : (cells,) question number, increasing.
    value : (cells,) value (category code), increasing within a question; only values that occur are listed.
    counts : (cells, classes) number of records.
    """

    question: Ints
    value: Floats
    counts: Floats


class Records:
    """A training set behind the records door.

    Parameters
    ----------
    X : DataFrame or array (n, attributes); a frame's index labels are the record keys and must be unique.
    y : (n,) labels.
    domain : public domain; values and labels outside of it raise :class:`~dpnb.errors.DomainError`.
    """

    def __init__(self, X: pd.DataFrame | ArrayLike, y: ArrayLike | pd.Series[Any], *, domain: Domain) -> None:
        matrix = domain.encode(X)
        self.domain = domain
        self._y = domain.encode_labels(y)
        if len(matrix) == 0:
            raise ValueError("0 sample(s) (shape=(0, ...)): there are no records to fit")
        if len(matrix) != len(self._y):
            raise ValueError(
                f"inconsistent numbers of samples: X has {len(matrix)} records, y has {len(self._y)} labels"
            )
        self.keys: Keys = record_keys(X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(matrix)))
        self._columns = np.ascontiguousarray(matrix.T)
        self._cells = np.empty(self._columns.shape, np.intp)  # value code * classes + class
        self._values: list[Floats] = []
        for a, column in enumerate(self._columns):
            if domain.continuous[a]:
                values, codes = np.unique(column, return_inverse=True)
            else:
                values, codes = np.arange(domain.cardinalities[a], dtype=float), column.astype(np.intp)
            self._values.append(values)
            self._cells[a] = codes * domain.n_classes + self._y

    def cohort(self, copies: Copies | None = None) -> Cohort:
        """A bag of these records at the root of a tree.

        Parameters
        ----------
        copies : (n,) how often each record is in the bag; once if None.
        """
        return Cohort(self, copies)

    def observed_bounds(self) -> tuple[Floats, Floats]:
        """Smallest and largest value of each attribute: data-dependent, for readings that leak them."""
        return self._columns.min(axis=1), self._columns.max(axis=1)


class Cohort:
    """A bag of records on its way down a tree; ``slot`` numbers the nodes of the current level."""

    def __init__(self, records: Records, copies: Copies | None) -> None:
        self._classes = records.domain.n_classes
        self._columns, self._cells = records._columns, records._cells
        self._values = np.concatenate(records._values)
        self._sizes = np.array([len(v) for v in records._values])
        self._first_value = np.cumsum(self._sizes) - self._sizes
        self._row = np.arange(len(records.keys)) if copies is None else np.flatnonzero(copies)
        self._copies = None if copies is None else copies[self._row].astype(float)
        self._label = records._y[self._row]
        self._slot = np.zeros(len(self._row), np.intp)

    def class_counts(self, n_slots: int) -> Floats:
        """Records of each class at each node of the level, (n_slots, classes)."""
        key = self._slot * self._classes + self._label
        counts = np.bincount(key, self._copies, minlength=n_slots * self._classes)
        return counts.reshape(n_slots, self._classes).astype(float)

    def value_counts(self, asked: Ints) -> ValueCounts:
        """Counts by value and class for the attributes asked at each node.

        Parameters
        ----------
        asked : (n_slots, f) attribute positions; the question number is ``slot * f + j``.
        """
        first = np.concatenate([[0], np.cumsum(self._sizes[asked])])
        base: Ints = first[:-1].reshape(asked.shape) * self._classes
        keys: Ints = np.empty((asked.shape[1], len(self._row)), np.intp)
        row_length = len(self._cells[0])
        for j in range(len(keys)):
            place = (asked[:, j] * row_length).take(self._slot)
            place += self._row
            self._cells.take(place, out=keys[j], mode="clip")
            keys[j] += base[:, j].take(self._slot)
        copies = None if self._copies is None else np.tile(self._copies, len(keys))
        cell, counts = _tally(keys.reshape(-1), copies, n_cells=int(first[-1]), classes=self._classes)
        cells_of = np.diff(np.searchsorted(cell, first))
        question = np.repeat(np.arange(asked.size), cells_of)
        start = self._first_value[asked.reshape(-1)] - first[:-1]
        value = self._values.take(cell + np.repeat(start, cells_of))
        return ValueCounts(question, value, counts)

    def keep(self, slots: Ints) -> None:
        """Drop the records of all other nodes and number the nodes that are kept 0, 1, ... anew.

        Parameters
        ----------
        slots : (kept,) increasing.
        """
        if np.array_equal(slots, np.arange(len(slots))) and self._slot.max(initial=-1) < len(slots):
            return
        renumbered = np.full(int(max(self._slot.max(initial=-1), slots.max(initial=-1))) + 1, -1)
        renumbered[slots] = np.arange(len(slots))
        slot = renumbered[self._slot]
        inside = np.flatnonzero(slot >= 0)
        self._row, self._label, self._slot = self._row[inside], self._label[inside], slot[inside]
        self._copies = None if self._copies is None else self._copies[inside]

    def descend(self, splits: Splits, first_slot: Ints) -> None:
        """Move every record to its child on the next level.

        Parameters
        ----------
        splits : splits of this level's nodes.
        first_slot : (n_slots,) slot of each node's first child on the next level.
        """
        values = self._columns.take(splits.attribute.take(self._slot) * self._columns.shape[1] + self._row)
        self._slot = first_slot.take(self._slot) + splits.branch(self._slot, values)


def _tally(keys: Ints, copies: Floats | None, *, n_cells: int, classes: int) -> tuple[Ints, Floats]:
    """Count keys ``cell * classes + class``: the cells that occur, and their counts by class.

    A table of all cells is fastest while it is not much longer than the keys. When many small nodes ask for
    attributes of many values, it would be mostly empty: then the keys are sorted, the copies packed into them as
    a last digit.
    """
    if n_cells * classes <= 8 * len(keys) + 4096:
        table = np.bincount(keys, copies, minlength=n_cells * classes)
        occurs = table[0::classes].copy()
        for c in range(1, classes):
            occurs += table[c::classes]
        cell = np.flatnonzero(occurs > 0)
        return cell, table.reshape(n_cells, classes)[cell].astype(float)
    base = 1 if copies is None else int(copies.max()) + 1
    packed = np.sort(keys if copies is None else keys * base + copies.astype(np.intp))
    keys, weight = packed // base, np.ones(len(packed)) if copies is None else packed % base
    cells = keys // classes
    new = np.flatnonzero(np.diff(cells, prepend=-1))
    counts = np.stack(
        [np.add.reduceat(np.where(keys % classes == c, weight, 0.0), new) for c in range(classes)], 1
    )
    return cells[new], counts
