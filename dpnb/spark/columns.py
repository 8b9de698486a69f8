"""Columns of a Spark table and the domain: what fits, and the numbers that it becomes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from ..arrays import Floats, Ints
from ..domain import Attribute, Categorical, Continuous, Domain, Misfit
from ..errors import DomainError

SHOWN = 3  # values that an error names


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


def encode_column(column: pa.Array, attribute: Attribute, *, strict: bool) -> tuple[Floats, Misfit | None]:
    """Numbers of a column as :meth:`~dpnb.domain.Domain.encode` gives them, or what does not fit the domain."""
    if isinstance(attribute, Categorical):
        codes, misfit = positions(column, attribute.values)
        return codes.astype(float), misfit
    numbers: Floats = pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)
    missing, infinite = np.isnan(numbers), np.isinf(numbers)
    if missing.any():
        return numbers, Misfit("missing", int(missing.sum()))
    if infinite.any():
        return numbers, Misfit("infinite", int(infinite.sum()))
    outside = (numbers < attribute.low) | (numbers > attribute.high)
    if strict and outside.any():
        return numbers, Misfit("outside", int(outside.sum()), first_few(numbers[outside].tolist()))
    return numbers, None


def positions(column: pa.Array, values: tuple[object, ...]) -> tuple[Ints, Misfit | None]:
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
    return np.empty(0, np.intp), Misfit("unknown", len(unknown), first_few(unknown.to_pylist()))


def first_few(values: Iterable[object]) -> tuple[object, ...]:
    """Different values in the order in which they come; one more than an error shows."""
    return tuple(dict.fromkeys(values))[: SHOWN + 1]
