"""A training set in a Spark table, behind the records door."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window, functions

from ..arrays import Floats
from ..domain import Attribute, Continuous, Domain
from ..errors import DataError
from ..estimators.base import check_domain
from ..records.bags import POSITIONAL, Bags
from ..records.doors import BinnedRecords, RecordsDoor
from ..records.grid import Grid
from ..records.losses import Loss
from ..records.shapes import Cuts
from .blocks import (
    COUNTED,
    ONE_KEY,
    Encoder,
    Encoding,
    OnlyInMemory,
    add_up,
    counted_batch,
    counted_parts,
    dense,
)
from .boosting import SparkScored, SparkWeighted
from .columns import SHOWN, Markers, by_place, check_columns, names_one, replaced_column
from .session import in_words
from .trees import Bag, Descend, Move, SparkCohort, count_roots

MAX_VALUES = 100_000  # different values of an attribute that the driver is willing to hold


class SparkTable(RecordsDoor):
    """A training set in a Spark table, for the ``fit`` of every estimator that does not need single records.

    Parameters
    ----------
    frame : Spark DataFrame with the domain's attributes, its target, and the key; other columns are ignored. Columns
        may have any names, and the case of letters matters. It must give the same rows whenever it is computed,
        so it must not use random functions without a seed.
    domain : public domain. Values and labels outside of it are moved into it, as :meth:`~dpnb.Domain.replaced` does.
    key : column of whole numbers or strings that is different for every record. The proofs for bags and shards need
        this promise. :meth:`check_keys` says whether it is kept, and a fit does not. Records that share a key are told
        apart by their values and classes, but exact copies are not. With the index labels of a pandas frame as keys, a
        model equals the one that is fitted in memory. None suffices where every tree sees every record.
    person : column of whole numbers or strings that says whose each record is, as ``people`` of a fit in memory. It
        stands in place of a key, and its records share one vote. Records without a person are left out.
    strict : whether misfits, and keys that repeat in a block of about 2¹⁸ records, are errors at the first fit. Such
        errors reveal something about the records to everyone who sees them.
    persist : whether Spark keeps the encoded blocks, with one to four bytes for each value, in memory or on disk.
        Otherwise every pass reads the table again.

    Raises
    ------
    DomainError
        If columns are missing, are there twice, or have a type that does not fit the domain.
    DataError If ``frame`` is a stream, or its session has ended.
    TypeError If ``frame`` is no Spark table, or ``domain`` is no domain.

    Notes
    -----
    **Privacy**: the table is a door and no release. It gives the same counts as :class:`~dpnb.records.memory.Records`.
    A lost task is computed again from the same records, and only the counts of finished tasks are added up. The ledger
    is on the driver. Algorithms that look at each value refuse an attribute with more than 100 000 different values,
    and this error depends on the records.

    Models are equal bit for bit for the same seed, whatever the partitions and the order of rows; with more than 2²⁵
    records a booster's sums are no longer exact in memory. Weights use the exponential function of NumPy, rounded to
    2⁻²⁸. Machines whose functions differ in the last bit disagree on this rounding once in about 2²⁵ weights.
    """

    keys: Any = OnlyInMemory()
    observed_bounds: Any = OnlyInMemory()

    @in_words()
    def __init__(
        self,
        frame: DataFrame,
        domain: Domain,
        *,
        key: str | None = None,
        person: str | None = None,
        strict: bool = False,
        persist: bool = True,
    ) -> None:
        check_domain(domain)
        if key is not None and person is not None:
            raise ValueError(
                f"key={key!r} beside person={person!r}: a person's name is the key, leave key out"
            )
        name, of = (key, "key") if person is None else (person, "person")
        places = check_columns(frame, domain, target=True, key=name, of=of)
        if frame.isStreaming:
            raise DataError(
                "frame is a stream, and a fit reads its records again and again: write them to a table, and read that"
            )
        self.domain = domain
        self._frame = by_place(by_place(frame).select(*places))
        self._key = name
        if person is not None:
            self.unit, parts = "person", self._frame.rdd.getNumPartitions()
            named = self._frame.where(names_one(self._frame, domain.missing))
            of_each = functions.count("*").over(Window.partitionBy(named.columns[-1]))
            self._frame = named.withColumn("count", of_each).coalesce(
                parts
            )  # a window makes 200 of any table
        self.strict = strict
        self._persist = persist
        self._encodings: list[Encoding] = []
        self._roots: tuple[Bag, Floats] | None = None

    @classmethod
    def from_pandas(
        cls,
        session: SparkSession,
        X: pd.DataFrame,
        y: pd.Series[Any],
        *,
        domain: Domain,
        people: pd.Series[Any] | None = None,
        partitions: int = 7,
    ) -> SparkTable:
        """Hand a training set in memory to Spark, so that you can try things out; its index labels are the keys.

        Parameters
        ----------
        session : Spark session.
        X, y, people : records, labels, and perhaps the person of each record, in place of the index labels.
        domain : public domain.
        partitions : number of parts into which Spark shuffles the records.
        """
        key = "record key"
        while key in X or key == domain.target:
            key += "_"
        keys = X.index if people is None else people.to_numpy()
        more = pd.DataFrame({domain.target: y.to_numpy(), key: keys}, index=X.index)
        frame = session.createDataFrame(pd.concat([X, more], axis=1)).repartition(partitions)
        return cls(frame, domain, key=key) if people is None else cls(frame, domain, person=key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let Spark forget the encoded blocks."""
        for encoding in self._encodings:
            encoding.forget()
        self._encodings = []

    @in_words()
    def check_keys(self) -> None:
        """Raise ValueError if two records have the same key; this shuffles the keys once."""
        self.check_keyed("check_keys()")
        if self.unit == "person":
            raise ValueError(
                f"{self._key!r} names people, who may have several records: there is no key to check"
            )
        repeated = (
            self._frame.groupBy(self._frame.columns[-1]).count().where("count > 1").limit(SHOWN).toArrow()
        )
        if len(repeated):
            first = repeated.column(0).to_pylist()
            raise ValueError(f"column {self._key!r} has repeated keys, first {first}: {ONE_KEY}")

    def binned(self, grid: Grid) -> BinnedRecords:
        self.encoding(grid)
        return BinnedRecords(grid)

    def weighted(self, grid: Grid | None) -> SparkWeighted:
        if grid is None:
            raise DataError("thresholds halfway between the values that occur: give a public grid")
        return SparkWeighted(self, grid)

    def scored(self, finest: Cuts, loss: Loss) -> SparkScored:
        return SparkScored(self, finest, loss)

    def bag(self, bags: Bags, *, seed: int, tree: int) -> SparkCohort:
        if bags.mode in POSITIONAL:
            raise DataError(
                f"bags={bags.mode!r} depend on the number and the order of records: choose bags by record, "
                "such as 'poisson' or 'disjoint'"
            )
        if bags.mode == "full":
            return SparkCohort(self, None)
        self.check_keyed(f"bags={bags.mode!r}")
        return SparkCohort(self, Bag(bags, seed, tree))

    def cohort(self, copies: Any = None) -> SparkCohort:
        if copies is not None:
            raise DataError("copies of each record by position: draw the bag by record, with SparkTable.bag")
        return SparkCohort(self, None)

    def check_keyed(self, what: str) -> None:
        if self._key is None:
            raise DataError(f"{what} needs a key for each record: SparkTable(..., key='name of a column')")

    def root_counts(self, bag: Bag) -> Floats:
        """Class counts of the bags of all trees, (trees, classes), in one pass for the forest."""
        asked = bag._replace(tree=0)
        if self._roots is None or self._roots[0] != asked:
            counted = self.encoding_for(()).run(partial(count_roots, bags=bag.bags, seed=bag.seed), keys=True)
            self._roots = asked, dense(counted, (bag.bags.n_trees, self.domain.n_classes))
        return self._roots[1]

    def encoding_at(self, cuts: Cuts) -> Encoding:
        """Blocks in which a value is replaced by the number of given cuts below it, existing ones if they are there."""
        for encoding in self._encodings:
            if encoding.grid is not None and _same(encoding.cuts, cuts):
                return encoding
        return self._encoded(cuts, cuts)

    def encoding(self, grid: Grid) -> Encoding:
        """Blocks in the bins of a grid."""
        return self.encoding_at(grid.cuts)

    def all_values(self) -> Encoding:
        """Blocks in which every value that occurs has a code."""
        for encoding in self._encodings:
            if encoding.grid is None:
                return encoding
        continuous = [isinstance(a, Continuous) for a in self.domain.attributes]
        return self._encoded(tuple(self._distinct(a) if c else None for a, c in enumerate(continuous)), None)

    def encoding_for(self, route: tuple[Move, ...]) -> Encoding:
        """Blocks that can be sent along a way, existing ones if possible."""
        splits = [move.splits for move in route if isinstance(move, Descend)]
        for encoding in reversed(self._encodings):
            if all(encoding.resolves(s) for s in splits):
                return encoding
        return self.all_values()

    def _encoded(self, cuts: Cuts, grid: Cuts | None) -> Encoding:
        encoder = Encoder(self.domain, self._key, cuts, self.strict, self.unit == "person")
        encoding = Encoding(self._frame, encoder, grid=grid, persist=self._persist)
        self._encodings.append(encoding)
        return encoding

    @in_words()
    def _distinct(self, a: int) -> Floats:
        """Values that occur of the ``a``-th attribute, a continuous one, increasing."""
        attribute = self.domain.attributes[a]
        column = self._frame.select(self._frame.columns[a])
        task = partial(_distinct_values, attribute=attribute, missing=self.domain.missing)
        partial_tables = column.mapInArrow(task, COUNTED)
        bits, _ = add_up(counted_parts(partial_tables.toArrow()))
        if len(bits) > MAX_VALUES:
            raise DataError(
                f"column {attribute.name!r} has more than {MAX_VALUES} different values, and this algorithm looks at "
                "each: round them, or choose an algorithm on a public grid, such as EDPRF or PrivateBooster"
            )
        return np.sort(bits.view(np.float64))


def _distinct_values(
    batches: Iterable[pa.RecordBatch], *, attribute: Attribute, missing: Markers
) -> Iterator[pa.RecordBatch]:
    """Different values of the only column, as the bits of floats, up to one more than the limit."""
    found = np.empty(0)
    for batch in batches:
        known = np.union1d(
            found, replaced_column(batch.column(0), attribute, missing=missing) + 0.0
        )  # no -0.0
        found = known[: MAX_VALUES + 1]
    yield counted_batch((found.view(np.int64), np.ones(len(found), np.int64)))


def _same(one: Cuts, other: Cuts) -> bool:
    pairs = zip(one, other, strict=True)
    return all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in pairs)
