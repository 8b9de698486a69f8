"""Records door on Apache Spark: the counts of :mod:`dpnb.counts` from a table that need not fit into one machine.

The table is encoded once, into blocks of many records that Spark keeps. A question is one pass over the blocks: each
task answers it for its blocks with the in-memory door, and the tables of whole numbers are added up. Sums of whole
numbers do not depend on their order, so that the same seed gives the same model, bit for bit.
"""

from __future__ import annotations

import gc
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .bags import POSITIONAL, Bags, hash_keys
from .counts import (
    FIXED_POINT,
    BinnedRecords,
    Cohort,
    Records,
    ValueCounts,
    WeightedRecords,
    bounded_weights,
    fixed,
)
from .domain import Attribute, Categorical, Continuous, Domain, Misfit
from .errors import DataError, DomainError
from .grid import Grid, Stump
from .splits import BINNED, LEAF, THRESHOLD, Floats, Ints, Splits

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
except ImportError as error:  # pragma: no cover - depends on the installation
    raise ImportError(
        f"dpnb.spark needs Spark ({error}); install it with: pip install 'dpnb[spark]'"
    ) from error

# It works with pandas 3 as far as it is used here; the warning would stand in every notebook.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)

Int64s = NDArray[np.int64]

JAVA = 17  # Spark 4 runs on this Java or a later one
BLOCK = 2**18  # records a block
FAN_IN = 64  # partial tables that are added up in one place
MAX_VALUES = 100_000  # different values of an attribute that the driver is willing to hold
ONE_KEY = "bags need one unique key a record"
SHOWN = 3  # values that an error names


# --- Session ------------------------------------------------------------------------------------------------


def check_java() -> int:
    """Major version of the Java that Spark will start.

    Raises
    ------
    DataError
        If there is none, or one older than Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    way_out = (
        f"install Java {JAVA} or later (Debian, Ubuntu: openjdk-{JAVA}-jre-headless; conda: openjdk={JAVA})"
    )
    if java is None or not Path(java).exists():
        where = (
            f"JAVA_HOME={home} holds no bin/java" if home else "there is no 'java' on PATH and no JAVA_HOME"
        )
        raise DataError(f"Spark needs Java, but {where}; {way_out}")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', printed.stderr + printed.stdout)
    if found is None:
        raise DataError(f"{java} -version says {(printed.stderr + printed.stdout).strip()!r}; {way_out}")
    if int(found[1]) < JAVA:
        raise DataError(f"{java} is Java {found[1]}, but Spark needs Java {JAVA} or later; {way_out}")
    return int(found[1])


def local_session(*, cores: int | str = "*", memory: str = "2g", **conf: str) -> SparkSession:
    """A quiet Spark session on this machine only, or the one that is running already.

    Parameters
    ----------
    cores : number of threads, ``"*"`` for all. A task is tried four times.
    memory : of the Java process.
    conf : further settings, with ``__`` for a dot in their names.

    Raises
    ------
    DataError
        Without a Java that Spark can use.
    """
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else the workers may miss this environment
    builder = SparkSession.builder.master(f"local[{cores},4]").appName("dpnb")
    settings = {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in (settings | {k.replace("__", "."): v for k, v in conf.items()}).items():
        builder = builder.config(name, value)
    with _silent_stderr():
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
    return session


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Java writes past Python to file descriptor 2; if it fails to start, what it wrote is shown after all."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        try:
            yield
        except Exception:
            written.seek(0)
            os.write(kept, written.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


# --- Encoding -----------------------------------------------------------------------------------------------


def _encode_column(column: pa.Array, attribute: Attribute, *, strict: bool) -> tuple[Floats, Misfit | None]:
    """Numbers of a column as :meth:`~dpnb.domain.Domain.encode` gives them, or what does not fit the domain."""
    if isinstance(attribute, Categorical):
        codes, misfit = _positions(column, attribute.values)
        return codes.astype(float), misfit
    numbers: Floats = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    missing, infinite = np.isnan(numbers), np.isinf(numbers)
    if missing.any():
        return numbers, Misfit("missing", int(missing.sum()))
    if infinite.any():
        return numbers, Misfit("infinite", int(infinite.sum()))
    outside = (numbers < attribute.low) | (numbers > attribute.high)
    if strict and outside.any():
        return numbers, Misfit("outside", int(outside.sum()), _first(numbers[outside].tolist()))
    return numbers, None


def _positions(column: pa.Array, values: tuple[object, ...]) -> tuple[Ints, Misfit | None]:
    """Positions of a column's entries among public values, or what does not fit."""
    known = pa.array(list(values))
    codes = pc.index_in(column, value_set=known if known.type == column.type else known.cast(column.type))
    if not codes.null_count:
        return codes.to_numpy().astype(np.intp), None
    missing = column.is_null(nan_is_null=True)
    n_missing = pc.sum(missing).as_py()
    if n_missing:
        return np.empty(0, np.intp), Misfit("missing", n_missing)
    unknown = column.filter(codes.is_null())
    return np.empty(0, np.intp), Misfit("unknown", len(unknown), _first(unknown.to_pylist()))


def _first(values: Iterable[object]) -> tuple[object, ...]:
    return tuple(dict.fromkeys(values))[: SHOWN + 1]


@dataclass(frozen=True)
class _Encoder:
    """Turns Arrow batches of a table into blocks: a row of a few binaries for many records."""

    domain: Domain
    key: str | None
    cuts: tuple[Floats | None, ...]
    dtype: str

    SCHEMA = "n long, codes binary, labels binary, keys binary, repeated long, misfits binary"

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in _gathered(batches):
            yield pa.RecordBatch.from_pylist([self._block(table)])

    def _block(self, table: pa.Table) -> dict[str, Any]:
        columns = dict(zip(table.column_names, (_whole(c) for c in table.columns), strict=True))
        misfits: dict[int, Misfit] = {}
        codes: NDArray[Any] = np.zeros((self.domain.n_attributes, len(table)), self.dtype)
        for a, attribute in enumerate(self.domain.attributes):
            numbers, misfit = _encode_column(columns[attribute.name], attribute, strict=True)
            if misfit is not None:
                misfits[a] = misfit
            else:
                cuts = self.cuts[a]
                codes[a] = numbers if cuts is None else np.searchsorted(cuts, numbers)
        labels, misfit = _positions(columns[self.domain.target], self.domain.classes)
        if misfit is not None:
            misfits[-1] = misfit
        keys = np.empty(0, np.uint64)
        if self.key is not None:
            keys = hash_keys(columns[self.key].to_numpy(zero_copy_only=False))
        return {
            "n": len(table),
            "codes": codes.tobytes(),
            "labels": labels.astype(_label_type(self.domain)).tobytes(),
            "keys": keys.tobytes(),
            "repeated": int(np.sum(np.diff(np.sort(keys)) == 0)),
            "misfits": pickle.dumps(misfits),
        }


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


class _Block(Records):
    """A block as records of the in-memory door; a continuous value is replaced by the number of cuts below it."""

    def __init__(self, row: dict[str, Any], encoder: _Encoder) -> None:
        self.domain = encoder.domain
        self._y = np.frombuffer(row["labels"], _label_type(encoder.domain)).astype(np.intp)
        self.keys = np.frombuffer(row.get("keys", b""), np.uint64)
        self._columns = np.frombuffer(row["codes"], encoder.dtype).reshape(-1, row["n"])
        self._sizes = _sizes(encoder)

    @cached_property
    def _values(self) -> list[Floats]:
        return [np.arange(size, dtype=float) for size in self._sizes]

    @cached_property
    def _cells(self) -> Ints:
        cells: Ints = self._columns.astype(np.intp) * self.domain.n_classes + self._y
        return cells


def _label_type(domain: Domain) -> np.dtype[Any]:
    return np.min_scalar_type(domain.n_classes - 1)


def _sizes(encoder: _Encoder) -> Ints:
    """Number of codes of each attribute."""
    pairs = zip(encoder.cuts, encoder.domain.cardinalities, strict=True)
    return np.array([card if cuts is None else len(cuts) + 1 for cuts, card in pairs], np.intp)


class _BlockBins(BinnedRecords):
    """The codes of a block as bins."""

    def __init__(self, block: _Block, grid: Grid) -> None:
        self.grid = grid
        self._bins = cast("Ints", block._columns)


# --- Counting -----------------------------------------------------------------------------------------------

Counted = tuple[Int64s, Int64s]  # numbers of cells, and how many records (or fixed-point weight) are in each
Task = Callable[[_Block], Counted]
COUNTED = "cells binary, counts binary"


def _count_blocks(
    batches: Iterable[pa.RecordBatch], *, task: Task, encoder: _Encoder
) -> Iterator[pa.RecordBatch]:
    """Answer a question for every block of a partition, added up."""
    _spare_the_collector()
    parts = [task(_Block(row, encoder)) for batch in batches for row in batch.to_pylist()]
    yield _counted_batch(_add_up(parts))


@cache
def _spare_the_collector() -> None:
    """Spark collects garbage after every task; what the imports made need not be looked at each time."""
    gc.freeze()


def _add_up_partitions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield _counted_batch(_add_up(part for batch in batches for part in _parts(batch)))


def _counted_batch(counted: Counted) -> pa.RecordBatch:
    cells, counts = counted
    return pa.RecordBatch.from_pydict({"cells": [cells.tobytes()], "counts": [counts.tobytes()]})


def _parts(table: pa.Table | pa.RecordBatch) -> Iterator[Counted]:
    for row in table.to_pylist():
        yield np.frombuffer(row["cells"], np.int64), np.frombuffer(row["counts"], np.int64)


def _add_up(parts: Iterable[Counted]) -> Counted:
    """Sum of several tables, each with its cells in any order."""
    pairs = list(parts)
    if not pairs:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    cells, counts = (np.concatenate(arrays) for arrays in zip(*pairs, strict=True))
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    first = np.flatnonzero(np.diff(cells, prepend=cells[:1] - 1)) if len(cells) else np.empty(0, np.intp)
    return cells[first], np.add.reduceat(counts, first) if len(first) else counts


def _dense(counted: Counted, shape: tuple[int, ...]) -> Floats:
    table = np.zeros(int(np.prod(shape)))
    cells, counts = counted
    table[cells] = counts
    return table.reshape(shape)


def _sparse(table: Floats) -> Counted:
    flat = table.reshape(-1)
    cells = np.flatnonzero(flat)
    return cells.astype(np.int64), flat[cells].astype(np.int64)


# --- Trees --------------------------------------------------------------------------------------------------


class _Bag(NamedTuple):
    """The bag of a tree, drawn anew from the keys in every pass."""

    bags: Bags
    seed: int
    tree: int

    def cohort(self, block: _Block) -> Cohort:
        return block.cohort(self.bags.hashed(block.keys, self.seed, self.tree))


class _Keep(NamedTuple):
    slots: Ints

    def apply(self, cohort: Cohort) -> Cohort:
        cohort.keep(self.slots)
        return cohort


class _Descend(NamedTuple):
    splits: Splits
    first_slot: Ints

    def apply(self, cohort: Cohort) -> Cohort:
        cohort.descend(self.splits, self.first_slot)
        return cohort


class _Divide(NamedTuple):
    n_shards: int
    seed: int

    def apply(self, cohort: Cohort) -> Cohort:
        return cohort.divided(self.n_shards, seed=self.seed)


_Move = _Keep | _Descend | _Divide


@dataclass(frozen=True)
class _TreeTask:
    """Send the records of a block down the tree as it is so far, then count them."""

    bag: _Bag | None
    route: tuple[_Move, ...]
    count: Callable[[Cohort], Counted]

    def __call__(self, block: _Block) -> Counted:
        cohort = block.cohort() if self.bag is None else self.bag.cohort(block)
        for move in self.route:
            cohort = move.apply(cohort)
        return self.count(cohort)


def _count_classes(cohort: Cohort, *, n_slots: int) -> Counted:
    return _sparse(cohort.class_counts(n_slots))


def _count_roots(block: _Block, *, bags: Bags, seed: int) -> Counted:
    """Class counts of the bags of all trees."""
    trees = range(bags.n_trees)
    return _sparse(np.stack([_Bag(bags, seed, tree).cohort(block).class_counts(1)[0] for tree in trees]))


def _count_bins(cohort: Cohort, *, grid: Grid, n_slots: int) -> Counted:
    block = cohort._records
    assert isinstance(block, _Block)
    return _sparse(cohort.bin_counts(_BlockBins(block, grid), n_slots))


def _count_branches(cohort: Cohort, *, splits: Splits, n_branches: int) -> Counted:
    return _sparse(cohort.branch_counts(splits, n_branches))


def _count_values(cohort: Cohort, *, asked: Ints, most: int) -> Counted:
    """Cells ``(question * most + code) * classes + class``."""
    found = cohort.value_counts(asked)
    rows = found.question * most + found.value.astype(np.int64)
    classes = found.counts.shape[1]
    cells = rows[:, None] * classes + np.arange(classes)
    occur = found.counts > 0
    return cells[occur], found.counts[occur].astype(np.int64)


class _Answer(NamedTuple):
    """What the last pass told about the values in each node of a level.

    Parameters
    ----------
    encoding : what the codes mean.
    of : node, attribute → codes and their counts by class (codes, classes), or None if this was not asked.
    """

    encoding: _Encoding
    of: Callable[[int, int], tuple[Ints, Floats] | None]


class _OnCluster:
    """What the in-memory door knows and this one does not is an error that says so."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise DataError(
            f"this algorithm asks its records for {name.lstrip('_')!r}, which only the in-memory door answers: it "
            "depends on single records or their positions. Fit it on dpnb.counts.Records instead, or choose "
            "parameters that do not need it"
        )


class SparkCohort(_OnCluster, Cohort):
    """A bag of records of a :class:`SparkTable` on its way down a tree.

    It holds no records, only the way that they took. A question is one pass over the blocks; the class counts of new
    children follow from the counts that split their parents, without a pass.
    """

    def __init__(self, table: SparkTable, bag: _Bag | None) -> None:
        self._table = table
        self._bag = bag
        self._route: tuple[_Move, ...] = ()
        self._totals: Floats | None = None
        self._answer: _Answer | None = None
        self._whole: SparkCohort | None = None

    def class_counts(self, n_slots: int) -> Floats:
        if self._totals is None and self._bag is not None and not self._route:
            self._totals = self._table._root_counts(self._bag)[[self._bag.tree]]
        if self._totals is None:
            counted = self._pass(partial(_count_classes, n_slots=n_slots))
            self._totals = _dense(counted, (n_slots, self._table.domain.n_classes))
        return self._totals.copy()

    def bin_counts(self, binned: BinnedRecords, n_slots: int) -> Floats:
        encoding = self._table._encoding(binned.grid)
        counted = self._pass(partial(_count_bins, grid=encoding.codes, n_slots=n_slots), encoding)
        table = _dense(counted, (n_slots, self._table.domain.n_classes, int(encoding.sizes.sum())))
        owner, by_node = self, table
        if self._whole is not None:
            owner, n_shards = self._whole, self._route[-1].n_shards  # type: ignore[union-attr]
            by_node = table.reshape(-1, n_shards, *table.shape[1:]).sum(axis=1)
        first = np.cumsum(encoding.sizes) - encoding.sizes

        def of(slot: int, attribute: int) -> tuple[Ints, Floats]:
            codes = np.arange(encoding.sizes[attribute])
            return codes, by_node[slot][:, first[attribute] + codes].T

        owner._answer = _Answer(encoding, of)
        return table

    def value_counts(self, asked: Ints) -> ValueCounts:
        encoding = self._table._all_values()
        most, classes = int(encoding.sizes.max()), self._table.domain.n_classes
        cells, counts = self._pass(partial(_count_values, asked=asked, most=most), encoding)
        rows, row = np.unique(cells // classes, return_inverse=True)
        by_class = np.zeros((len(rows), classes))
        by_class[row, cells % classes] = counts
        question, code = np.divmod(rows, most)

        def of(slot: int, attribute: int) -> tuple[Ints, Floats] | None:
            place = np.flatnonzero(asked[slot] == attribute)
            if not len(place):
                return None
            mine = slice(*np.searchsorted(question, slot * asked.shape[1] + place[0] + np.arange(2)))
            return code[mine], by_class[mine]

        self._answer = _Answer(encoding, of)
        value = code.astype(float)
        for a, values in enumerate(encoding.cuts):
            if values is not None:
                mine = asked.reshape(-1)[question] == a
                value[mine] = values[code[mine]]
        return ValueCounts(question, value, by_class)

    def branch_counts(self, splits: Splits, n_branches: int) -> Floats:
        encoding = self._table._encoding_for((*self._route, _Descend(splits, np.empty(0, np.intp))))
        count = partial(_count_branches, splits=encoding.coded(splits), n_branches=n_branches)
        shape = (len(splits.kind), n_branches, self._table.domain.n_classes)
        return _dense(self._pass(count, encoding), shape)

    def keep(self, slots: Ints) -> None:
        if self._totals is not None:
            if np.array_equal(slots, np.arange(len(self._totals))):
                return
            self._totals = self._totals[slots]
        self._answer = None
        self._route = (*self._route, _Keep(slots))

    def divided(self, n_shards: int, *, seed: int | None) -> SparkCohort:
        if seed is None:
            raise DataError(
                "blocks by position: a distributed table has no order of its own; divide by record keys"
            )
        self._table._check_keyed("shards")
        divided = copy(self)
        divided._route = (*self._route, _Divide(n_shards, seed))
        divided._totals, divided._whole = None, self
        return divided

    def descend(self, splits: Splits, first_slot: Ints) -> None:
        self._totals = self._children(splits, first_slot)
        self._answer = None
        self._route = (*self._route, _Descend(splits, first_slot))

    def _children(self, splits: Splits, first_slot: Ints) -> Floats | None:
        """Class counts of the children, from the counts that the parents' splits were chosen by."""
        if self._answer is None:
            return None
        branches = splits.n_branches(self._table.domain.cardinalities)
        totals = np.zeros((int(branches.sum()), self._table.domain.n_classes))
        coded = self._answer.encoding.coded(splits)
        for slot, attribute in enumerate(splits.attribute):
            found = self._answer.of(slot, int(attribute))
            if found is None:
                return None
            codes, counts = found
            branch = coded.branch(np.full(len(codes), slot), codes.astype(float))
            np.add.at(totals, first_slot[slot] + branch, counts)
        return totals

    def _pass(self, count: Callable[[Cohort], Counted], encoding: _Encoding | None = None) -> Counted:
        encoding = encoding or self._table._encoding_for(self._route)
        route = tuple(
            move._replace(splits=encoding.coded(move.splits)) if isinstance(move, _Descend) else move
            for move in self._route
        )
        keys = self._bag is not None or any(isinstance(move, _Divide) for move in route)
        return encoding.run(_TreeTask(self._bag, route, count), keys=keys)


# --- Boosting -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Score:
    """Additive score in units of 2⁻²⁸, by bin, and the weights that follow from it.

    Parameters
    ----------
    by_bin : (bins,) score of each bin, summed over the stumps so far.
    constant : score of the stumps that always answer the same.
    positive : code of the class that counts as +1.
    first : (attributes,) first bin of each attribute.
    """

    by_bin: Int64s
    constant: int
    positive: int
    first: Ints

    def weigh(self, block: _Block) -> tuple[Int64s, Int64s]:
        """Weights in units of 2⁻²⁸, and signs of the labels, of a block's records."""
        sign = np.where(block._y == self.positive, 1, -1)
        total = np.full(len(sign), self.constant)
        for codes, first, size in zip(block._columns, self.first, block._sizes, strict=True):
            scores = self.by_bin[first : first + size]
            if scores.any():
                total += scores.take(codes)
        weights = bounded_weights(sign * total / FIXED_POINT)
        return (weights * FIXED_POINT).astype(np.int64), sign


def _signed_bins(block: _Block, *, score: _Score) -> Counted:
    """Weight times label by bin, then the sums of weights and of weights times label."""
    weights, sign = score.weigh(block)
    signed = weights * sign
    # Sums of a block are below 2⁵³, where floats are whole numbers.
    bins = [
        np.bincount(codes, signed, minlength=size)
        for codes, size in zip(block._columns, block._sizes, strict=True)
    ]
    counts = np.concatenate([*bins, [weights.sum(), signed.sum()]]).astype(np.int64)
    return np.arange(len(counts)), counts


def _right_and_wrong(block: _Block, *, score: _Score, answer: _Score) -> Counted:
    weights, sign = score.weigh(block)
    total = np.full(len(sign), answer.constant)
    for codes, first, size in zip(block._columns, answer.first, block._sizes, strict=True):
        total += answer.by_bin[first : first + size].take(codes)
    return np.arange(2), np.array([weights[total * sign > 0].sum(), weights[total * sign < 0].sum()])


def _light(block: _Block, *, score: _Score) -> Counted:
    weights, _ = score.weigh(block)
    return np.arange(1), np.array([np.count_nonzero(weights < FIXED_POINT)])


class SparkWeighted(_OnCluster, WeightedRecords):
    """The records of a :class:`SparkTable` with a bounded weight each; a question is one pass over the blocks.

    Scores and weights are whole multiples of 2⁻²⁸ and are added up as whole numbers. Up to 2²⁵ records the sums equal
    those of the in-memory door to the bit; beyond, only these are exact.
    """

    def __init__(self, table: SparkTable, grid: Grid, *, positive: int) -> None:
        self.grid = grid
        self._encoding = table._encoding(grid)
        first = np.cumsum(grid.sizes) - grid.sizes
        self._score = _Score(np.zeros(int(grid.sizes.sum()), np.int64), 0, positive, first)

    def advance(self, stump: Stump, step: float) -> None:
        self._score = self._plus(self._score, stump, round(float(fixed(step)) * int(FIXED_POINT)))

    def right(self) -> Floats:
        sums = self._ask(_signed_bins, len(self._score.by_bin) + 2)
        return self._right(self.grid.within(sums[:-2]), total=sums[-2], difference=sums[-1])

    def outcome(self, stump: Stump, weights: Floats | None = None) -> Floats:
        if weights is not None:
            return super().outcome(stump, weights)
        nothing = replace(self._score, by_bin=np.zeros_like(self._score.by_bin), constant=0)
        return self._ask(_right_and_wrong, 2, answer=self._plus(nothing, stump, 1))

    def n_right(self) -> float:
        return float(self._ask(_light, 1)[0] * FIXED_POINT)

    def _ask(self, question: Callable[..., Counted], length: int, **more: _Score) -> Floats:
        counted = self._encoding.run(partial(question, score=self._score, **more))
        return _dense(counted, (length,)) / FIXED_POINT

    def _plus(self, score: _Score, stump: Stump, units: int) -> _Score:
        """The score plus so many units of a stump on the grid."""
        units *= int(stump.sign)
        if stump.kind == LEAF:
            return replace(score, constant=score.constant + units)
        codes = np.arange(self.grid.sizes[stump.attribute])
        one = Splits(*(np.array([field]) for field in (stump.kind, stump.attribute, stump.cut)))
        branch = self._encoding.coded(one).branch(np.zeros(len(codes), np.intp), codes.astype(float))
        by_bin = score.by_bin.copy()
        by_bin[score.first[stump.attribute] + codes] += np.where(branch == 0, units, -units)
        return replace(score, by_bin=by_bin)


# --- The table ----------------------------------------------------------------------------------------------


class _Encoding:
    """Blocks of a table in which a continuous value is replaced by the number of cuts below it."""

    def __init__(self, frame: DataFrame, encoder: _Encoder, *, grid: Grid | None, persist: bool) -> None:
        self.grid = grid
        self.cuts = encoder.cuts
        self.sizes = _sizes(encoder)
        self._encoder = encoder
        self.blocks = frame.mapInArrow(encoder, encoder.SCHEMA)
        if persist:
            self.blocks = self.blocks.persist(StorageLevel.MEMORY_AND_DISK)
        self.partitions = self.blocks.rdd.getNumPartitions()
        self.n_records = self._check()

    @property
    def codes(self) -> Grid:
        """What bins are counted in: the sizes matter, the cuts are in the codes already."""
        assert self.grid is not None
        return self.grid

    def _check(self) -> int:
        """Number of records; raises what :class:`~dpnb.counts.Records` would."""
        domain = self._encoder.domain
        rows = self.blocks.select("n", "repeated", "misfits").toArrow().to_pylist()
        n = sum(row["n"] for row in rows)
        found: dict[int, Misfit] = {}
        for row in rows:
            for place, misfit in pickle.loads(row["misfits"]).items():
                found[place] = misfit.joined(found.get(place))
        for place in sorted(found, key=lambda place: (place < 0, place)):
            raise found[place].error(domain.attributes[place] if place >= 0 else domain, total=n)
        if n == 0:
            raise ValueError("0 sample(s) (shape=(0, ...)): there are no records to fit")
        if repeated := sum(row["repeated"] for row in rows):
            raise ValueError(f"column {self._encoder.key!r} has at least {repeated} repeated keys: {ONE_KEY}")
        return int(n)

    def run(self, task: Task, *, keys: bool = False) -> Counted:
        """Answer a question in one pass; partial tables are added up in a tree. ``keys`` if the task needs them."""
        count = partial(_count_blocks, task=task, encoder=self._encoder)
        read = self.blocks.select("n", "codes", "labels", *(["keys"] if keys else []))
        partial_tables = read.mapInArrow(count, COUNTED)
        left = self.partitions
        while left > FAN_IN:
            left = ceil(left / FAN_IN)
            partial_tables = partial_tables.repartition(left).mapInArrow(_add_up_partitions, COUNTED)
        return _add_up(_parts(partial_tables.toArrow()))

    def coded(self, splits: Splits) -> Splits:
        """The same splits for codes instead of values."""
        cut = splits.cut.copy()
        for a, cuts in enumerate(self.cuts):
            mine = (splits.attribute == a) & np.isin(splits.kind, (THRESHOLD, BINNED))
            if cuts is not None and mine.any():
                cut[mine] = np.searchsorted(cuts, cut[mine], side="right") - 0.5
        return splits._replace(cut=cut)

    def resolves(self, splits: Splits) -> bool:
        """Whether codes tell on which side of every split a value lies."""
        if self.grid is None:
            return True
        pairs = ((splits.attribute == a, cuts) for a, cuts in enumerate(self.cuts) if cuts is not None)
        return all(np.isin(splits.cut[mine], cuts).all() for mine, cuts in pairs)


class SparkTable(_OnCluster, Records):
    """A training set in a Spark table, for the ``fit`` of every estimator that does not need single records.

    Parameters
    ----------
    frame : Spark DataFrame with the domain's attributes, its target, and the key; other columns are ignored. It must
        give the same rows whenever it is computed: no random functions without a seed.
    domain : public domain; values and labels outside of it raise :class:`~dpnb.errors.DomainError` at the first fit.
    key : column of whole numbers or strings that is different for every record; bags and shards follow from it. With
        the row numbers of a pandas frame as keys, a model equals the one that is fitted in memory. None suffices where
        every tree sees every record.
    persist : whether Spark keeps the encoded blocks, about one byte a value, in memory or on disk. Without, every pass
        reads the table again.

    Raises
    ------
    DomainError
        If columns are missing or have a type that does not fit the domain.

    Notes
    -----
    **Privacy**: a door, no release: the same counts as from :class:`~dpnb.counts.Records`. A lost task is computed
    again from the same records, and only the counts of tasks that ended are added up; the ledger is the driver's.
    That keys differ is checked within blocks of 2¹⁸ records; :meth:`check_keys` checks all.

    Models are equal bit for bit for the same seed, whatever the partitions and the order of rows; with more than 2²⁵
    records a booster's sums are no longer exact in memory. Weights use the exponential function of NumPy, rounded to
    2⁻²⁸: machines whose functions differ in the last bit disagree on that rounding once in about 2²⁴ weights.
    """

    def __init__(
        self, frame: DataFrame, domain: Domain, *, key: str | None = None, persist: bool = True
    ) -> None:
        check_columns(frame, domain, more=(domain.target, *([key] if key else [])))
        self.domain = domain
        self._frame = frame.select(*(f"`{name}`" for name in _needed(domain, key)))
        self._key = key
        self._persist = persist
        self._encodings: list[_Encoding] = []
        self._roots: tuple[_Bag, Floats] | None = None

    @classmethod
    def from_pandas(
        cls, session: SparkSession, X: pd.DataFrame, y: pd.Series[Any], *, domain: Domain, partitions: int = 7
    ) -> SparkTable:
        """Hand a training set in memory to Spark, to try things out; its index labels are the keys.

        Parameters
        ----------
        session : Spark session.
        X, y : records and labels.
        domain : public domain.
        partitions : number of parts, which Spark shuffles the records into.
        """
        key = "record key"
        more = pd.DataFrame({domain.target: y.to_numpy(), key: X.index}, index=X.index)
        frame = pd.concat([X, more], axis=1)
        return cls(session.createDataFrame(frame).repartition(partitions), domain, key=key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let Spark forget the encoded blocks."""
        for encoding in self._encodings:
            encoding.blocks.unpersist()
        self._encodings = []

    def check_keys(self) -> None:
        """Raise ValueError if two records have the same key; this shuffles the keys once."""
        self._check_keyed("check_keys()")
        repeated = self._frame.groupBy(f"`{self._key}`").count().where("count > 1").limit(SHOWN).toArrow()
        if len(repeated):
            first = repeated.column(0).to_pylist()
            raise ValueError(
                f"column {self._key!r} has repeated keys, first {first}: bags need one unique key a record"
            )

    def binned(self, grid: Grid) -> BinnedRecords:
        return _TableBins(self._encoding(grid).codes)

    def weighted(self, grid: Grid | None, *, positive: int) -> SparkWeighted:
        if grid is None:
            raise DataError("thresholds halfway between the values that occur: give a public grid")
        return SparkWeighted(self, grid, positive=positive)

    def bag(self, bags: Bags, *, seed: int, tree: int) -> SparkCohort:
        if bags.mode in POSITIONAL:
            raise DataError(
                f"bags={bags.mode!r} depend on the number and the order of records: choose bags by record, "
                "such as 'poisson' or 'disjoint'"
            )
        if bags.mode == "full":
            return SparkCohort(self, None)
        self._check_keyed(f"bags={bags.mode!r}")
        return SparkCohort(self, _Bag(bags, seed, tree))

    def cohort(self, copies: Any = None) -> SparkCohort:
        if copies is not None:
            raise DataError("copies of each record by position: draw the bag by record, with SparkTable.bag")
        return SparkCohort(self, None)

    def _check_keyed(self, what: str) -> None:
        if self._key is None:
            raise DataError(f"{what} needs a key for each record: SparkTable(..., key='name of a column')")

    def _root_counts(self, bag: _Bag) -> Floats:
        """Class counts of the bags of all trees, (trees, classes), in one pass for the forest."""
        asked = bag._replace(tree=0)
        if self._roots is None or self._roots[0] != asked:
            counted = self._encoding_for(()).run(
                partial(_count_roots, bags=bag.bags, seed=bag.seed), keys=True
            )
            self._roots = asked, _dense(counted, (bag.bags.n_trees, self.domain.n_classes))
        return self._roots[1]

    def _encoding(self, grid: Grid) -> _Encoding:
        """Blocks in the bins of a grid."""
        for encoding in self._encodings:
            if encoding.grid is grid:
                return encoding
        return self._encoded(grid.cuts, grid)

    def _all_values(self) -> _Encoding:
        """Blocks in which every value that occurs has a code."""
        for encoding in self._encodings:
            if encoding.grid is None:
                return encoding
        continuous = [isinstance(a, Continuous) for a in self.domain.attributes]
        pairs = zip(self.domain.names, continuous, strict=True)
        return self._encoded(tuple(self._distinct(name) if c else None for name, c in pairs), None)

    def _encoding_for(self, route: tuple[_Move, ...]) -> _Encoding:
        """Blocks that can be sent along a way; those that are there already, if possible."""
        splits = [move.splits for move in route if isinstance(move, _Descend)]
        for encoding in reversed(self._encodings):
            if all(encoding.resolves(s) for s in splits):
                return encoding
        return self._all_values()

    def _encoded(self, cuts: tuple[Floats | None, ...], grid: Grid | None) -> _Encoding:
        encoder = _Encoder(self.domain, self._key, cuts, "uint8")
        encoder = replace(encoder, dtype=str(np.min_scalar_type(int(_sizes(encoder).max()) - 1)))
        encoding = _Encoding(self._frame, encoder, grid=grid, persist=self._persist)
        self._encodings.append(encoding)
        return encoding

    def _distinct(self, name: str) -> Floats:
        """Values that occur of a continuous attribute, increasing."""
        column = self._frame.select(f"`{name}`")
        partial_tables = column.mapInArrow(_distinct_values, COUNTED)
        bits, _ = _add_up(_parts(partial_tables.toArrow()))
        if len(bits) > MAX_VALUES:
            raise DataError(
                f"column {name!r} has more than {MAX_VALUES} different values, and this algorithm looks at each: round "
                "them, or choose an algorithm on a public grid, such as EDPRF or PrivateBooster"
            )
        return np.sort(bits.view(np.float64))


class _TableBins(BinnedRecords):
    """Stands for the bins of a table."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid


def _distinct_values(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Different values of the only column, as the bits of floats; too many are cut off one past the limit."""
    found = np.empty(0)
    for batch in batches:
        numbers = pc.cast(batch.column(0), pa.float64()).to_numpy(zero_copy_only=False)
        known = np.union1d(found, numbers[np.isfinite(numbers)] + 0.0)  # no -0.0
        found = known[: MAX_VALUES + 1]
    yield _counted_batch((found.view(np.int64), np.ones(len(found), np.int64)))


def _needed(domain: Domain, key: str | None) -> tuple[str, ...]:
    columns = (*domain.names, domain.target)
    return columns if key is None or key in columns else (*columns, key)


def check_columns(frame: DataFrame, domain: Domain, *, more: Iterable[str] = ()) -> None:
    """Raise DomainError unless a Spark table has the domain's attributes, in types that fit, and some more columns."""
    types = dict(frame.dtypes)
    if missing := [name for name in (*domain.names, *more) if name not in types]:
        raise DomainError(
            f"the table lacks the columns {', '.join(map(repr, missing))}; it has {', '.join(types)}"
        )
    for attribute in domain.attributes:
        found = types[attribute.name]
        numeric = found.startswith(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"))
        if isinstance(attribute, Continuous) and not numeric:
            raise DomainError(
                f"column {attribute.name!r} must hold numbers, but its Spark type is {found}; cast it, or make the "
                "attribute Categorical"
            )
        if isinstance(attribute, Categorical):
            _check_type(f"column {attribute.name!r}", attribute.values, found)
    if domain.target in more:
        _check_type(f"the target {domain.target!r}", domain.classes, types[domain.target])


def _check_type(of: str, values: tuple[object, ...], found: str) -> None:
    """Raise DomainError if public values cannot be compared with a column of a Spark type."""
    words, switches = (all(isinstance(v, kind) for v in values) for kind in (str, bool))
    fits = words == (found == "string") and switches == (found == "boolean")
    if not fits or found.startswith(("array", "map", "struct", "binary")):
        raise DomainError(
            f"{of} has the Spark type {found}, but its values are {values[:SHOWN]!r}...: cast it"
        )


# --- Prediction ---------------------------------------------------------------------------------------------

TYPES = {bool: "boolean", int: "bigint", float: "double", str: "string"}


def predict(model: Any, frame: DataFrame) -> DataFrame:
    """Append the most probable class and the class probabilities to a Spark table, in one pass.

    Parameters
    ----------
    model : a fitted estimator of this package, from either door.
    frame : Spark DataFrame with at least the attributes of the model's domain.

    Returns
    -------
    The table with two more columns: ``prediction``, and ``probability``, an array in the order of ``classes_``. It is
    computed when Spark needs it; records outside the domain then raise, as ``model.predict_proba`` does in memory.

    Raises
    ------
    DomainError
        If columns are missing, have a type that does not fit, or are called like the new ones.

    **Privacy**: post-processing of the released model, free.
    """
    domain = model.domain_
    check_columns(frame, domain)
    if taken := {"prediction", "probability"} & set(frame.columns):
        raise DomainError(f"the table has a column {', '.join(sorted(taken))} already: rename it")
    kinds = {type(label) for label in domain.classes}
    if len(kinds) > 1 or not kinds <= set(TYPES):
        known = ", ".join(kind.__name__ for kind in TYPES)
        raise DomainError(f"classes {domain.classes!r}: a Spark column needs labels of one type, of {known}")
    slim = copy(model)
    slim.ledger_ = slim.random_state = None  # neither is needed, and both may be large or secret
    more = StructType.fromDDL(f"prediction {TYPES[kinds.pop()]}, probability array<double>")
    schema = StructType([*frame.schema.fields, *more.fields])
    return frame.mapInArrow(partial(_predict_batches, model=slim), schema)


def _predict_batches(batches: Iterable[pa.RecordBatch], *, model: Any) -> Iterator[pa.RecordBatch]:
    domain, labels = model.domain_, pa.array(list(model.domain_.classes))
    for batch in batches:
        codes = np.empty((batch.num_rows, domain.n_attributes))
        for a, attribute in enumerate(domain.attributes):
            numbers, misfit = _encode_column(batch.column(attribute.name), attribute, strict=False)
            if misfit is not None:
                raise misfit.error(attribute, total=batch.num_rows)
            codes[:, a] = numbers
        shares = model._probabilities(codes)
        ends = np.arange(0, shares.size + 1, shares.shape[1], dtype=np.int32)
        probability = pa.ListArray.from_arrays(ends, shares.reshape(-1))
        columns = [*batch.columns, labels.take(pa.array(shares.argmax(axis=1))), probability]
        yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, "prediction", "probability"])
