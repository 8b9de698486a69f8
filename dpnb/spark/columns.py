"""Columns of a Spark table as numbers of the domain, and the values that do not fit."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql import types as sql

from ..arrays import Floats
from ..domain import Attribute, Categorical, Continuous, Domain, Misfit
from ..domain.attributes import listed, repeated
from ..domain.encoding import encoded, replaced, unmarked
from ..domain.misfits import lacking
from ..domain.people import plain_labels
from ..errors import DomainError

SHOWN = 3  # values that an error names
Markers = tuple[str | float, ...]
NUMBERS = (sql.NumericType, sql.BooleanType, sql.NullType)
WORDS = (sql.StringType, sql.CharType, sql.VarcharType)
TEXTS = (*WORDS, sql.NullType)
DATES = (sql.DateType, sql.TimestampType, sql.TimestampNTZType, *TEXTS)
KEYS = (sql.IntegralType, *WORDS)


def by_place(frame: DataFrame) -> DataFrame:
    """The table with its columns called 0, 1, ...: Spark looks for dots in names, and takes A for a."""
    return frame.toDF(*map(str, range(len(frame.columns))))


def check_columns(
    frame: DataFrame, domain: Domain, *, target: bool = False, key: str | None = None, of: str = "key"
) -> list[str]:
    """Places of the domain's attributes, and perhaps of its target and of a key, see :func:`by_place`.

    Parameters
    ----------
    of : what the key is, in words.

    Raises
    ------
    TypeError
        If ``frame`` is no Spark table.
    DomainError
        If the table lacks one of these columns, has it twice, or in a type that does not fit.
    """
    if not isinstance(frame, DataFrame):
        raise TypeError(
            f"frame is of type {type(frame).__name__}: expected a Spark DataFrame; session.createDataFrame(frame) "
            "makes one of a table in memory"
        )
    names, fields = frame.columns, frame.schema.fields
    wanted = [*domain.names, *([domain.target] if target else []), *([key] if key is not None else [])]
    if problem := lacking(wanted, names):
        raise DomainError(f"the table {problem}{_fields_of(frame, wanted)}")
    if twice := [name for name in repeated(names) if name in wanted]:
        raise DomainError(
            f"the table has repeated columns, as after a join: {listed(twice)}; rename or drop all but one of each"
        )
    places = [names.index(name) for name in wanted]
    types = [fields[place].dataType for place in places]
    for attribute, found in zip(domain.attributes, types, strict=False):
        public = attribute.values if isinstance(attribute, Categorical) else attribute
        _check_type(f"column {attribute.name!r}", public, found)
    if target:
        _check_type(
            f"the target {domain.target!r}", domain.response or domain.classes, types[domain.n_attributes]
        )
    if key is not None and not isinstance(types[-1], KEYS):
        raise DomainError(
            f"the {of} {key!r} must hold whole numbers or strings, but its Spark type is "
            f"{types[-1].simpleString()}; cast it to a string"
        )
    return [*map(str, places)]


def names_one(frame: DataFrame, missing: Markers) -> Column:
    """Whether the last column of a record names a person, as :func:`~dpnb.domain.people.people_of` has it."""
    field = frame.schema.fields[-1]
    is_text = isinstance(field.dataType, WORDS)
    marks = [
        mark
        for mark in plain_labels(pd.Index(["", *missing], dtype=object))
        if isinstance(mark, str) == is_text
    ]
    column = functions.col(field.name)
    return column.isNotNull() & ~column.isin(marks) if marks else column.isNotNull()


def _fields_of(frame: DataFrame, wanted: Iterable[str]) -> str:
    """The way out if a lacking column is a field of a struct."""
    structs = {field.name for field in frame.schema.fields if isinstance(field.dataType, sql.StructType)}
    for name in wanted:
        column, dot, field = name.partition(".")
        if dot and column in structs and name not in frame.columns:
            return f"; {column!r} is a struct: frame.withColumn({name!r}, frame[{column!r}][{field!r}]) takes its field"
    return ""


def _check_type(of: str, public: Continuous | tuple[object, ...], found: sql.DataType) -> None:
    """Raise DomainError if no value of a Spark type can be one of the public numbers, dates or values."""
    but = f"but its Spark type is {found.simpleString()}; cast it"
    if isinstance(public, tuple):
        if not any(isinstance(found, _readable(value)) for value in public):
            raise DomainError(f"{of} must hold values such as {listed(public)}, {but}")
    elif public.is_date:
        if not isinstance(found, DATES):
            raise DomainError(f"{of} must hold dates, {but}")
    elif not isinstance(found, NUMBERS):
        raise DomainError(f"{of} must hold numbers, {but}, or make the attribute Categorical")


def _readable(value: object) -> tuple[type[sql.DataType], ...]:
    """Spark types of columns that can hold a public value: True is 1, in memory as well."""
    if isinstance(value, str):
        return TEXTS
    if isinstance(value, date):
        return DATES
    return NUMBERS if value in (0, 1) else (sql.NumericType, sql.NullType)


def in_pandas(column: pa.Array, attribute: Attribute | None = None) -> Any:
    """A column as it is in memory; no record changes the type of the others, and none makes this fail."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:  # Spark's strings may hold any bytes
            cells = column.cast(pa.binary()).to_pylist()
            column = pa.array(
                [None if c is None else c.decode(errors="backslashreplace") for c in cells], pa.string()
            )
    is_date = isinstance(attribute, Continuous) and attribute.is_date  # Python has no year 10000
    return column.to_pandas(
        date_as_object=not is_date, integer_object_nulls=not isinstance(attribute, Continuous)
    )


def encode_column(
    column: pa.Array, attribute: Attribute, *, missing: Markers
) -> tuple[Floats, Misfit | None]:
    """Numbers of a column as :meth:`~dpnb.domain.Domain.encode` gives them, or the misfits.

    Parameters
    ----------
    missing : the domain's markers of missing values.
    """
    return encoded(unmarked(in_pandas(column, attribute), attribute, missing), attribute, bounds=True)


def replaced_column(column: pa.Array, attribute: Attribute, *, missing: Markers) -> Floats:
    """Numbers of a column as :meth:`~dpnb.domain.Domain.replaced` gives them; parameters are the same."""
    return replaced(unmarked(in_pandas(column, attribute), attribute, missing), attribute)


def label_column(column: pa.Array, domain: Domain, *, strict: bool) -> tuple[NDArray[Any], Misfit | None]:
    """Labels as the domain encodes them, moved into it or, if ``strict``, as they are; or the misfits."""
    labels = in_pandas(column, domain.response)
    if not strict:
        return domain.replaced_labels(labels), None
    codes, misfit = encoded(unmarked(labels, domain.label, domain.missing), domain.label, bounds=True)
    return codes if domain.response is not None else codes.astype(np.intp), misfit


def key_column(column: pa.Array) -> Any:
    """Labels of the records; a missing one does not change the type of the others."""
    return in_pandas(column.fill_null(0 if pa.types.is_integer(column.type) else "")).to_numpy()
