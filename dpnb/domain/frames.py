"""Tables of any kind as columns by name: pandas, polars, pyarrow and whatever else Narwhals reads, and plain arrays."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..errors import DomainError
from .attributes import listed, repeated


def is_table(X: object) -> bool:
    """Whether an object has columns with names."""
    return isinstance(as_frame(X), pd.DataFrame)


def as_frame(X: Any) -> Any:
    """A table of any library as a DataFrame; anything else as it is.

    Raises
    ------
    TypeError If the table is lazy, because its rows are not there yet. A Spark table goes in by another door.
    """
    if isinstance(X, np.ndarray | list | tuple | pd.DataFrame):
        return X
    table = nw.from_native(X, pass_through=True)
    if type(X).__module__.startswith("pyspark."):
        raise TypeError(
            "X is a Spark table: fit(SparkTable(X, domain)) trains on it, and dpnb.spark.predict(model, X) predicts"
        )
    if isinstance(table, nw.LazyFrame):
        raise TypeError("X is a lazy table: pass X.collect()")
    if isinstance(table, nw.DataFrame):
        try:
            return table.to_pandas()
        except Exception:  # pyarrow is not there, or has no such type
            return pd.DataFrame({name: objects(table[name].to_list()) for name in table.columns})
    if hasattr(X, "__dataframe__"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas gives the protocol up, tables still speak it
            return pd.api.interchange.from_dataframe(X)
    return X


def columns_of(X: pd.DataFrame | ArrayLike) -> dict[str, pd.Series[Any]]:
    """Columns of a table by name, or those of an array as x0, x1, ...

    Raises
    ------
    TypeError
        If X is sparse or lazy, or no table at all.
    DomainError
        If X is not two-dimensional, or has two columns of one name.
    """
    X = as_frame(X)
    if isinstance(X, pd.DataFrame):
        names = [str(name) for name in X.columns]
        if repeats := repeated(names):
            raise DomainError(
                f"X has repeated columns: {listed(repeats)}; rename or drop all but one of each"
            )
        frame = X
    else:
        if hasattr(X, "toarray"):
            raise TypeError("X is sparse: expected a table or a dense array; pass X.toarray()")
        array = _rows(X)
        if array.ndim != 2:
            raise DomainError(f"X must be a table or a 2-D array, got {_no_rows(X, array)}")
        frame = pd.DataFrame(array, dtype=array.dtype)  # objects stay objects
        names = [f"x{position}" for position in range(array.shape[1])]
    return {name: column for name, (_, column) in zip(names, frame.items(), strict=True)}


def _rows(X: Any) -> NDArray[Any]:
    """An array from something that is no table; lists of mixed values are not all turned into strings."""
    if _is_record(X):
        raise DomainError(
            f"X is one record, {_called(X)}: expected a table or a 2-D array of records; {_as_table(X)} makes a table "
            "of it"
        )
    if not hasattr(X, "__array__") and not isinstance(X, list | tuple):
        raise TypeError(f"X is {_called(X)}: expected a table or a 2-D array of records; {_way_out(X)}")
    if isinstance(X, tuple) and len(X) == 2 and is_table(X[0]):
        raise TypeError(
            "X is a pair: expected a table or a 2-D array of records; pass both parts, fit(*data.train)"
        )
    listed = isinstance(X, list | tuple) and all(isinstance(row, list | tuple) for row in X)
    if listed and len({len(row) for row in X}) == 1:
        return objects(value for row in X for value in row).reshape(len(X), -1)
    return X if isinstance(X, np.ndarray) else np.array(X, dtype=object)


def _is_record(X: Any) -> bool:
    """Whether an object holds one value of each attribute, rather than rows or columns."""
    if isinstance(X, Mapping):
        return bool(X) and all(isinstance(v, str) or not isinstance(v, Iterable) for v in X.values())
    return isinstance(X, pd.Series)


def _as_table(X: Any) -> str:
    return "pd.DataFrame([X])" if isinstance(X, Mapping) else "X.to_frame().T, or table.iloc[[0]],"


def _called(value: object) -> str:
    """What an object is, in few words; nothing that may be a record."""
    shown = f", {str(value)!r}" if isinstance(value, str | os.PathLike) and len(str(value)) <= 80 else ""
    return "None" if value is None else f"of type {type(value).__name__}{shown}"


def _way_out(X: object) -> str:
    if isinstance(X, str | os.PathLike):
        return (
            'pd.read_csv reads a file; dpnb.load("csv:FILE", domain=...) also holds it against a domain file'
        )
    if hasattr(X, "train") and hasattr(X, "test"):
        return "pass its parts, fit(*data.train)"
    if isinstance(X, Mapping):
        return "pd.DataFrame(X) makes a table of columns"
    return (
        "pd.DataFrame(list(X)) makes one of rows" if isinstance(X, Iterable) else "pandas.DataFrame makes one"
    )


def _no_rows(X: Any, array: NDArray[Any]) -> str:
    """A message for data without rows of one length, and how to make such rows."""
    if array.ndim == 1 and isinstance(X, list | tuple) and all(isinstance(row, list | tuple) for row in X):
        return "1 dimension(s), rows of different lengths; give each record one value an attribute"
    if array.ndim == 1 and isinstance(X, list | tuple) and all(isinstance(row, Mapping) for row in X):
        return "1 dimension(s), a list of dicts; pd.DataFrame(X) makes a table of them"
    reshape = "[X] for one record" if isinstance(X, list | tuple) else "X.reshape(1, -1) for one record"
    return f"{array.ndim} dimension(s). Reshape your data: X.reshape(-1, 1) for one attribute, {reshape}"


def objects(values: Iterable[Any]) -> NDArray[Any]:
    """One-dimensional array of objects, whatever they are: numpy would look into those that are sequences."""
    found = list(values)
    array = np.empty(len(found), object)
    for place, value in enumerate(found):
        array[place] = value
    return array


def only_column(y: Any) -> Any:
    """The column of a table or array that has one, without a look at the records; anything else as it is."""
    frame = as_frame(y)
    if isinstance(frame, pd.DataFrame) and frame.shape[1] == 1:
        return frame.iloc[:, 0]
    return y[:, 0] if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1 else y


def as_series(y: Any, *, of: str = "labels", what: str = "y", such: str = "class") -> pd.Series[Any]:
    """Labels as a series: a series of any library, a list, a one-dimensional array, or a table of one column.

    Parameters
    ----------
    of, what, such : what they are, the argument, and a column that may be such, for errors.
    """
    y = only_column(y)
    if isinstance(y, pd.Series):
        return y
    native = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(native, nw.Series):
        try:
            return native.to_pandas()
        except Exception:  # as for tables
            return pd.Series(objects(native.to_list()), dtype=object)
    if hasattr(y, "toarray") or not (hasattr(y, "__array__") or isinstance(y, list | tuple | pd.Index)):
        raise DomainError(
            f"{of} must be one-dimensional, got {what} {_called(y)}; pass a column, such as table[{such!r}]"
        )
    try:
        array = y if isinstance(y, np.ndarray) else np.array(y, dtype=object)
    except Exception:  # some label is an odd object
        array = objects(y)
    if array.ndim != 1:
        raise DomainError(
            f"{of} must be one-dimensional, got {array.ndim} dimensions; pass one a record, such as table[{such!r}]"
        )
    return pd.Series(array, dtype=array.dtype)
