"""Prediction as one pass over a Spark table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import CalendarIntervalType, StructType, YearMonthIntervalType

from ..arrays import Floats
from ..domain import Domain
from ..domain.misfits import joined
from ..errors import DomainError
from .columns import by_place, check_columns, in_pandas
from .session import in_words

UNREAD = (CalendarIntervalType, YearMonthIntervalType)
TYPES = {bool: "boolean", int: "bigint", float: "double", str: "string"}


@in_words()
def predict(model: Any, frame: DataFrame, *, move: bool = False) -> DataFrame:
    """Append the most probable class and the class probabilities, or the number, to a Spark table, in one pass.

    Parameters
    ----------
    model : a fitted estimator of this package, from either door.
    frame : Spark DataFrame with at least the attributes of the model's domain.
    move : whether to count a value that the domain has no place for as the first value, or as the middle of the bounds,
        as a fit does. By default it is an error, because Spark does not pass on the warnings of its tasks.

    Returns
    -------
    The table with two more columns: ``prediction``, and ``probability``, an array in the order of ``classes_``. A
    regressor adds only ``prediction``, a double. The table is computed when Spark needs it. Numbers beyond a bound
    count as the bound, and what is unknown or no number counts as missing where the domain has a place for that; a
    model that is ``strict`` refuses all misfits, as in memory.

    Raises
    ------
    DataError If the table's session has ended.
    DomainError If columns are missing, are there twice, have a type that does not fit, or have the names of the new
        ones; when the table is computed, if a value has no place in the domain.

    **Privacy**: post-processing of the released model, free.
    """
    model._check_unchanged()
    domain = model.domain_
    places = check_columns(frame, domain)
    more = StructType.fromDDL(_added(domain))
    if taken := [name for name in frame.columns if name.lower() in more.names]:  # Spark takes A for a
        raise DomainError(f"the table has a column {', '.join(taken)} already: rename it")
    if lost := [f for f in frame.schema.fields if isinstance(f.dataType, UNREAD)]:
        raise DomainError(
            f"column {lost[0].name!r} has the type {lost[0].dataType.simpleString()}, which Spark hands to no Python: "
            "drop it, or cast it to a string"
        )
    slim = copy(model)
    slim.ledger_ = slim.random_state = None  # neither is needed, and both may be large or secret
    placed = by_place(frame)
    schema = StructType([*placed.schema.fields, *more.fields])
    predicted = placed.mapInArrow(partial(_predict_batches, model=slim, places=places, move=move), schema)
    return predicted.toDF(*frame.columns, *more.names)


def _added(domain: Domain) -> str:
    """The columns that are appended, with their types."""
    if domain.response is not None:
        return "prediction double"
    kinds = {type(label) for label in domain.classes}
    if len(kinds) > 1 or not kinds <= set(TYPES):
        known = ", ".join(kind.__name__ for kind in TYPES)
        raise DomainError(f"classes {domain.classes!r}: a Spark column needs labels of one type, of {known}")
    return f"prediction {TYPES[kinds.pop()]}, probability array<double>"


def _predict_batches(
    batches: Iterable[pa.RecordBatch], *, model: Any, places: list[str], move: bool
) -> Iterator[pa.RecordBatch]:
    domain = model.domain_
    for batch in batches:
        columns = {
            a.name: in_pandas(batch.column(place), a)
            for a, place in zip(domain.attributes, places, strict=False)
        }
        records = pd.DataFrame(columns, index=range(batch.num_rows))
        codes, moves = domain.replaced_and_moves(records)
        if model.strict:
            codes = domain.encode(records)
        elif not move and (stops := moves.without_place()):
            raise DomainError(f"{joined(stops.texts())}; predict(model, frame, move=True) counts them so")
        more = _predicted(model, codes)
        every = [*batch.columns, *more.values()]
        yield pa.RecordBatch.from_arrays(every, names=[*batch.schema.names, *more])


def _predicted(model: Any, codes: Floats) -> dict[str, pa.Array]:
    """The columns that are appended for encoded records."""
    if model.domain_.response is not None:
        return {"prediction": pa.array(model._numbers(codes))}
    shares = model._probabilities(codes)
    ends = np.arange(0, shares.size + 1, shares.shape[1], dtype=np.int32)
    labels = pa.array(list(model.domain_.classes)).take(pa.array(shares.argmax(axis=1)))
    return {"prediction": labels, "probability": pa.ListArray.from_arrays(ends, shares.reshape(-1))}
