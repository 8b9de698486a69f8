"""Columns of a Spark table as numbers of the domain, and the values that do not fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from ..arrays import Floats
from ..domain import Attribute, Categorical, Continuous, Domain, Misfit
from ..domain.encoding import encoded, positions, replaced
from ..errors import DomainError

SHOWN = 3  # values that an error names
NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")  # how types of numbers begin


def check_columns(frame: DataFrame, domain: Domain, *, more: Iterable[str] = ()) -> None:
    """Raise DomainError unless a Spark table has the domain's attributes, in types that fit, and some more columns."""
    if not isinstance(frame, DataFrame):
        raise TypeError(
            f"frame is of type {type(frame).__name__}: expected a Spark DataFrame; session.createDataFrame(frame) "
            "makes one of a table in memory"
        )
    types = dict(frame.dtypes)
    if missing := [name for name in (*domain.names, *more) if name not in types]:
        raise DomainError(
            f"the table lacks the columns {', '.join(map(repr, missing))}; it has {', '.join(types)}"
        )
    for attribute in domain.attributes:
        found = types[attribute.name]
        if isinstance(attribute, Continuous) and attribute.is_date:
            if not found.startswith(("date", "timestamp", "string")):
                raise DomainError(
                    f"column {attribute.name!r} must hold dates, but its Spark type is {found}; cast it"
                )
        elif isinstance(attribute, Continuous) and not found.startswith(NUMERIC):
            raise DomainError(
                f"column {attribute.name!r} must hold numbers, but its Spark type is {found}; cast it, or make the "
                "attribute Categorical"
            )
        if isinstance(attribute, Categorical):
            _check_type(f"column {attribute.name!r}", attribute.values, found)
    if domain.target in more and domain.response is not None:
        if not types[domain.target].startswith(NUMERIC):
            raise DomainError(
                f"the target {domain.target!r} must hold numbers, but its Spark type is {types[domain.target]}; cast it"
            )
    elif domain.target in more:
        _check_type(f"the target {domain.target!r}", domain.classes, types[domain.target])


def _check_type(of: str, values: tuple[object, ...], found: str) -> None:
    """Raise DomainError if public values cannot be compared with a column of a Spark type."""
    words, switches = (all(isinstance(v, kind) for v in values) for kind in (str, bool))
    fits = words == (found == "string") and switches == (found == "boolean")
    if not fits or found.startswith(("array", "map", "struct", "binary")):
        raise DomainError(
            f"{of} has the Spark type {found}, but its values are {values[:SHOWN]!r}...: cast it"
        )


def encode_column(column: pa.Array, attribute: Attribute) -> tuple[Floats, Misfit | None]:
    """Numbers of a column as :meth:`~dpnb.domain.Domain.encode` gives them, or the misfits."""
    return encoded(column.to_pandas(), attribute, bounds=True)


def replaced_column(column: pa.Array, attribute: Attribute) -> Floats:
    """Numbers of a column as :meth:`~dpnb.domain.Domain.replaced` gives them."""
    return replaced(column.to_pandas(), attribute)


def label_column(column: pa.Array, domain: Domain, *, strict: bool) -> tuple[NDArray[Any], Misfit | None]:
    """Labels as the domain encodes them, moved into it or, if ``strict``, as they are; or the misfits."""
    labels = column.to_pandas()
    if not strict:
        return domain.replaced_labels(labels), None
    if domain.response is not None:
        return encoded(labels, domain.response, bounds=True)
    return positions(labels, domain.classes)


def key_column(column: pa.Array) -> Any:
    """Labels of the records; a missing one does not change the type of the others."""
    if pa.types.is_integer(column.type) or pa.types.is_string(column.type):
        column = column.fill_null(0 if pa.types.is_integer(column.type) else "")
    return column.to_numpy(zero_copy_only=False)
