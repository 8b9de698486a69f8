"""Blocks of encoded records that Spark keeps, and passes over them.

A pass answers a question for every block with the in-memory door, and adds up the tables of whole numbers.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from math import ceil
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from ..arrays import FIXED_POINT, Floats, Ints
from ..domain import Domain, Misfit
from ..domain.misfits import raise_misfits
from ..errors import DataError
from ..records.bags import Keys, label_keys, record_keys
from ..records.grid import Grid
from ..records.memory import Records
from ..records.people import vote_of
from ..records.shapes import Cuts
from ..records.splits import BINNED, THRESHOLD, Splits
from .columns import encode_column, key_column, label_column, replaced_column
from .session import in_words

Int64s = NDArray[np.int64]
Counted = tuple[Int64s, Int64s]  # numbers of cells, and what is in each, in units of 2⁻²⁸

BLOCK = 2**18  # records a block, which ends with the batch that reaches them
FAN_IN = 64  # partial tables that are added up in one place
COUNTED = "cells binary, counts binary"
ONE_KEY = "bags need one unique key a record"


class OnlyInMemory:
    """A question that only the in-memory door answers; asking it raises an error that says so."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, door: object, owner: type) -> OnlyInMemory:
        if door is None:
            return self
        raise not_answered(self._name)


def not_answered(question: str) -> DataError:
    """The error for an algorithm that asks a question that only the in-memory door answers."""
    return DataError(
        f"this algorithm asks its records for {question!r}, which only the in-memory door answers: it "
        "depends on single records or their positions. Fit it on dpnb.records.memory.Records instead, or choose "
        "parameters that do not need it"
    )


@dataclass(frozen=True)
class Encoder:
    """Encoder of Arrow batches of a table into blocks, each a row of a few binaries for many records."""

    domain: Domain
    key: str | None
    cuts: tuple[Floats | None, ...]
    strict: bool = False
    # Whether the key names a person; then the last column has the number of that person's records.
    person: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest type that holds every code."""
        return np.min_scalar_type(int(sizes_of(self).max()) - 1)

    SCHEMA = "n long, codes binary, labels binary, keys binary, misfits binary, counts binary, repeated long"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _gathered(batches):
            yield pa.RecordBatch.from_pylist([self._block(table)])

    def _block(self, table: pa.Table) -> dict[str, Any]:
        columns = [
            *map(_whole, table.columns)
        ]  # the attributes, the target, and perhaps the key and its count
        target = columns[self.domain.n_attributes]
        misfits: dict[int, Misfit] = {}
        values: list[Floats] = []
        codes: NDArray[Any] = np.zeros((self.domain.n_attributes, len(table)), self.dtype)
        for a, attribute in enumerate(self.domain.attributes):
            misfit, column = None, columns[a]
            if self.strict:
                numbers, misfit = encode_column(column, attribute, missing=self.domain.missing)
            else:
                numbers = replaced_column(column, attribute, missing=self.domain.missing)
            if misfit is not None:
                misfits[a] = misfit
            else:
                cuts = self.cuts[a]
                values.append(numbers)
                codes[a] = numbers if cuts is None else np.searchsorted(cuts, numbers)
        labels, misfit = label_column(target, self.domain, strict=self.strict)
        if misfit is not None:
            misfits[-1] = misfit
        named: Keys = np.empty(0, np.uint64)
        if self.key is not None:
            named = label_keys(key_column(columns[self.domain.n_attributes + 1]))
        keys = named
        if len(named) and not (self.person or misfits):
            keys = record_keys(named, values, labels)
        block = {
            "n": len(table),
            "codes": codes.tobytes(),
            "labels": labels.astype(_label_type(self.domain)).tobytes(),
            "keys": keys.tobytes(),
            "misfits": pickle.dumps(misfits),
        }
        return block | self._whose(named, columns[-1])

    def _whose(self, named: Keys, last: pa.Array) -> dict[str, Any]:
        """How many records each record's person has, or how many keys of records repeat."""
        if self.person:
            return {"counts": np.asarray(last.to_numpy(), np.int64).tobytes(), "repeated": 0}
        return {"counts": b"", "repeated": int(np.sum(np.diff(np.sort(named)) == 0))}


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together until they hold a block's number of records."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= BLOCK:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if sum(map(len, waiting)):
        yield pa.Table.from_batches(waiting)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks)


class EncodedRecords(Records):
    """A block as records of the in-memory door; a continuous value is replaced by the number of cuts below it."""

    def __init__(self, row: dict[str, Any], encoder: Encoder) -> None:
        self.domain = encoder.domain
        kept = np.frombuffer(row["labels"], _label_type(encoder.domain))
        self.labels = kept.astype(np.intp) if encoder.domain.response is None else kept
        self.keys = np.frombuffer(row.get("keys", b""), np.uint64)
        if encoder.person:
            self.votes = vote_of(np.frombuffer(row["counts"], np.int64))
        self.columns = np.frombuffer(row["codes"], encoder.dtype).reshape(-1, row["n"])
        self.sizes = sizes_of(encoder)

    def _bins(self, grid: Grid) -> Ints:
        # The codes are the bins of the grid that the block was encoded for.
        return cast("Ints", self.columns)

    def _placed(self, attribute: int) -> tuple[Floats, Ints]:
        return np.arange(self.sizes[attribute], dtype=float), self.columns[attribute].astype(np.intp)


def _label_type(domain: Domain) -> np.dtype[Any]:
    """How a block holds labels, which are codes of classes, or numbers to predict."""
    return np.min_scalar_type(domain.n_classes - 1) if domain.response is None else np.dtype(np.float64)


def sizes_of(encoder: Encoder) -> Ints:
    """Number of codes of each attribute."""
    pairs = zip(encoder.cuts, encoder.domain.cardinalities, strict=True)
    return np.array([card if cuts is None else len(cuts) + 1 for cuts, card in pairs], np.intp)


Task = Callable[[EncodedRecords], Counted]


def _count_blocks(
    batches: Iterable[pa.RecordBatch], *, task: Task, encoder: Encoder
) -> Iterator[pa.RecordBatch]:
    """Answer a question for every block of a partition, and add the answers up."""
    _spare_the_collector()
    parts = [task(EncodedRecords(row, encoder)) for batch in batches for row in batch.to_pylist()]
    yield counted_batch(add_up(parts))


@cache
def _spare_the_collector() -> None:
    """Exempt the objects that imports made from the garbage collection that follows every task of Spark."""
    gc.freeze()


def _add_up_partitions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield counted_batch(add_up(part for batch in batches for part in counted_parts(batch)))


def counted_batch(counted: Counted) -> pa.RecordBatch:
    """A table of counts as the only row of a batch."""
    cells, counts = counted
    return pa.RecordBatch.from_pydict({"cells": [cells.tobytes()], "counts": [counts.tobytes()]})


def counted_parts(table: pa.Table | pa.RecordBatch) -> Iterator[Counted]:
    """The tables of counts in the rows of a batch."""
    for row in table.to_pylist():
        yield np.frombuffer(row["cells"], np.int64), np.frombuffer(row["counts"], np.int64)


def add_up(parts: Iterable[Counted]) -> Counted:
    """Sum of several tables, each with its cells in any order."""
    pairs = list(parts)
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    cells, counts = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    first = np.flatnonzero(np.diff(cells, prepend=cells[:1] - 1)) if len(cells) else np.empty(0, np.intp)
    return cells[first], np.add.reduceat(counts, first) if len(first) else counts


def dense(counted: Counted, shape: tuple[int, ...]) -> Floats:
    """All cells as an array, 0 where nothing was counted."""
    table = np.zeros(int(np.prod(shape)))
    cells, counts = counted
    table[cells] = counts / FIXED_POINT
    return table.reshape(shape)


def sparse(table: Floats) -> Counted:
    """The cells of an array that are not 0."""
    flat = table.reshape(-1)
    cells = np.flatnonzero(flat)
    return cells.astype(np.int64), (flat[cells] * FIXED_POINT).astype(np.int64)


class Encoding:
    """Blocks of a table in which a continuous value is replaced by the number of cuts below it."""

    @in_words()
    def __init__(
        self, frame: DataFrame, encoder: Encoder, *, grid: Grid | Cuts | None, persist: bool
    ) -> None:
        self.grid = grid
        self.cuts = encoder.cuts
        self.sizes = sizes_of(encoder)
        self._encoder = encoder
        self._weights = ["counts"] if encoder.person else []
        self.blocks = frame.mapInArrow(encoder, encoder.SCHEMA)
        if persist:
            self.blocks = self.blocks.persist(StorageLevel.MEMORY_AND_DISK)
        self.partitions = self.blocks.rdd.getNumPartitions()
        try:
            self._check()
        except Exception:
            self.forget()
            raise

    def forget(self) -> None:
        """Let Spark forget the blocks; a session that was stopped has forgotten them."""
        with suppress(DataError), in_words():
            self.blocks.unpersist()

    def _check(self) -> None:
        """Raise the errors that strict :class:`~dpnb.records.memory.Records` would raise."""
        if not self._encoder.strict:
            return
        domain = self._encoder.domain
        rows = self.blocks.select("n", "repeated", "misfits").toArrow().to_pylist()
        n = sum(row["n"] for row in rows)
        found: dict[int, Misfit] = {}
        for row in rows:
            for place, misfit in pickle.loads(row["misfits"]).items():
                found[place] = misfit.joined(found.get(place))
        labels = found.pop(-1, None)
        raise_misfits([found[a].text(domain.attributes[a], total=n) for a in sorted(found)])
        raise_misfits([] if labels is None else [domain.misfit_text(labels, total=n)])
        if repeated := sum(row["repeated"] for row in rows):
            raise ValueError(f"column {self._encoder.key!r} has at least {repeated} repeated keys: {ONE_KEY}")

    @in_words()
    def run(self, task: Task, *, keys: bool = False) -> Counted:
        """Answer a question in one pass; partial tables are added up in a tree. ``keys``: whether it needs keys."""
        count = partial(_count_blocks, task=task, encoder=self._encoder)
        read = self.blocks.select("n", "codes", "labels", *(["keys"] if keys else []), *self._weights)
        partial_tables = read.mapInArrow(count, COUNTED)
        left = self.partitions
        while left > FAN_IN:
            left = ceil(left / FAN_IN)
            partial_tables = partial_tables.repartition(left).mapInArrow(_add_up_partitions, COUNTED)
        return add_up(counted_parts(partial_tables.toArrow()))

    def coded(self, splits: Splits) -> Splits:
        """The same splits for codes instead of values."""
        cut = splits.cut.copy()
        for a, cuts in enumerate(self.cuts):
            mine = (splits.attribute == a) & np.isin(splits.kind, (THRESHOLD, BINNED))
            if cuts is not None and mine.any():
                cut[mine] = np.searchsorted(cuts, cut[mine], side="right") - 0.5
        return splits._replace(cut=cut)

    def resolves(self, splits: Splits) -> bool:
        """Whether codes show on which side of every split a value lies."""
        if self.grid is None:
            return True
        pairs = ((splits.attribute == a, cuts) for a, cuts in enumerate(self.cuts) if cuts is not None)
        return all(np.isin(splits.cut[mine], cuts).all() for mine, cuts in pairs)
