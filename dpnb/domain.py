"""What is public about a data set: its attributes, their bounds or values, and the classes.

Nothing in a :class:`Domain` is ever learnt from records. The one exception, :meth:`Domain.infer`, says so with a
:class:`~dpnb.errors.PrivacyLeakWarning`.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .errors import DomainError, PrivacyLeakWarning, closest
from .files import write_whole

_SHOWN = 3


@dataclass(frozen=True)
class Continuous:
    """A numeric attribute with public bounds.

    Parameters
    ----------
    name : column name, not empty.
    low, high : public bounds, both included; finite, ``low < high``.

    Raises
    ------
    DomainError
        If the name is empty or the bounds are not two finite numbers in increasing order.
    """

    name: str
    low: float
    high: float

    def __post_init__(self) -> None:
        _check_name(self.name)
        try:
            low, high = float(self.low), float(self.high)
        except (TypeError, ValueError) as error:
            raise DomainError(
                f"bounds of {self.name!r} must be numbers, got low={self.low!r}, high={self.high!r}"
            ) from error
        # A finite width keeps interval lengths finite too.
        if not (low < high and math.isfinite(high - low)):
            raise DomainError(
                f"bounds of {self.name!r} must be finite with low < high, got low={low}, high={high}"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)


@dataclass(frozen=True)
class Categorical:
    """An attribute with a public list of values.

    Parameters
    ----------
    name : column name, not empty.
    values : all values that a record may take, each once; at least one. Their order gives their codes.

    Raises
    ------
    DomainError
        If the name is empty, or the values are none, repeated, missing (None or NaN) or unhashable.
    """

    name: str
    values: tuple[Hashable, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "values", _check_values(self.values, of=f"values of {self.name!r}"))


Attribute = Continuous | Categorical


@dataclass(frozen=True)
class Domain:
    """The public description of a data set.

    Parameters
    ----------
    attributes : the ``A`` attributes, in the order of the encoded columns; names are unique.
    classes : the class labels, each once; at least two. Their order gives their codes.
    target : name of the label column; not the name of an attribute.

    Raises
    ------
    DomainError
        If there is no attribute, fewer than two classes, or a repeated name or class.

    Notes
    -----
    **Privacy.** The mechanisms' guarantees hold for records inside the domain, and only if the domain is
    chosen without looking at the records.
    """

    attributes: tuple[Attribute, ...]
    classes: tuple[Hashable, ...]
    target: str = "class"

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        object.__setattr__(self, "classes", _check_values(self.classes, of="classes"))
        _check_name(self.target)
        if not self.attributes:
            raise DomainError("a domain needs at least one attribute, got none")
        for attribute in self.attributes:
            if not isinstance(attribute, Continuous | Categorical):
                raise DomainError(f"attributes must be Continuous or Categorical, got {attribute!r}")
        if repeated := _repeated(self.names):
            raise DomainError(f"attribute names must be unique, repeated: {_listed(repeated)}")
        if self.target in self.names:
            raise DomainError(f"target {self.target!r} is also the name of an attribute; rename one of them")
        if len(self.classes) < 2:
            raise DomainError(f"a domain needs at least two classes, got one class: {self.classes!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """Attribute names in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def n_attributes(self) -> int:
        """Number of attributes."""
        return len(self.attributes)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def continuous(self) -> NDArray[np.bool_]:
        """(attributes,) whether each is continuous."""
        return _frozen(np.array([isinstance(a, Continuous) for a in self.attributes], dtype=np.bool_))

    @cached_property
    def cardinalities(self) -> NDArray[np.intp]:
        """(attributes,) number of values of each categorical attribute, 0 for a continuous one."""
        sizes = [len(a.values) if isinstance(a, Categorical) else 0 for a in self.attributes]
        return _frozen(np.array(sizes, dtype=np.intp))

    @cached_property
    def lows(self) -> NDArray[np.float64]:
        """(attributes,) lower bounds, NaN for a categorical attribute."""
        return _frozen(np.array([a.low if isinstance(a, Continuous) else np.nan for a in self.attributes]))

    @cached_property
    def highs(self) -> NDArray[np.float64]:
        """(attributes,) upper bounds, NaN for a categorical attribute."""
        return _frozen(np.array([a.high if isinstance(a, Continuous) else np.nan for a in self.attributes]))

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> Attribute:
        """The attribute of that name; a :class:`~dpnb.errors.DomainError` suggests another if there is none."""
        if name not in self._positions:
            close = closest(name, self.names)
            hint = f"did you mean {close!r}?" if close else f"it has {', '.join(self.names)}"
            raise DomainError(f"no attribute {name!r} in the domain; {hint}")
        return self.attributes[self._positions[name]]

    def subset(self, names: Iterable[str]) -> Domain:
        """The domain of the named attributes only, in the given order."""
        listed = [names] if isinstance(names, str) else names
        return replace(self, attributes=tuple(self[name] for name in listed))

    def drop(self, *names: str) -> Domain:
        """The domain without the named attributes."""
        gone = {self[name].name for name in names}
        return replace(self, attributes=tuple(a for a in self.attributes if a.name not in gone))

    def encode(self, X: pd.DataFrame | ArrayLike, *, strict: bool = True) -> NDArray[np.float64]:
        """Records as numbers, (n, attributes): continuous values as they are, categories as their position.

        The array is in F-order: each column is contiguous.

        Parameters
        ----------
        X : DataFrame or array (n, attributes); a frame's columns are matched by name, an array's by position.
        strict : whether continuous values outside the bounds are an error. Prediction passes False: thresholds lie
            inside the domain, so that such values need no special care there.

        Raises
        ------
        DomainError
            If columns are missing, repeated or not in the domain; if values are missing, infinite, not numbers, or
            not in the domain. Unknown categories and NaN fail whatever ``strict`` says.

        Notes
        -----
        **Privacy.** Each record is encoded by itself: it costs nothing. Errors show values of records, so they are
        for the data holder's eyes only.
        """
        columns = self._columns(X)
        codes = np.empty((len(columns[0]), self.n_attributes), order="F")
        for position, (attribute, column) in enumerate(zip(self.attributes, columns, strict=True)):
            if isinstance(attribute, Continuous):
                numbers = _numbers(column, name=attribute.name)
                if strict:
                    _check_bounds(numbers, attribute)
                codes[:, position] = numbers
            else:
                codes[:, position] = _encode_values(column, attribute.values, of=attribute)
        return codes

    def encode_labels(self, y: ArrayLike | pd.Series[Any]) -> NDArray[np.intp]:
        """Labels (n,) as their positions in ``classes``.

        Raises
        ------
        DomainError
            If ``y`` is not one-dimensional, or a label is missing or not one of the classes.
        """
        return _encode_values(_as_series(y), self.classes, of=self)

    def clip(self, X: pd.DataFrame | ArrayLike) -> pd.DataFrame:
        """A copy of the records with continuous values moved into the bounds.

        Columns are in the domain's order; the index of ``X`` is kept. Categories are left alone.

        Notes
        -----
        **Privacy.** Clipping acts on each record by itself, with public bounds: it costs nothing.
        """
        clipped = {
            a.name: column.clip(a.low, a.high) if isinstance(a, Continuous) else column.copy()
            for a, column in zip(self.attributes, self._columns(X), strict=True)
        }
        return pd.DataFrame(clipped)

    def discretise(self, bins: int) -> Domain:
        """The domain in which each continuous attribute has public bins of equal width.

        Parameters
        ----------
        bins : number of bins, at least 1; the new categorical attribute takes the values ``0 .. bins - 1``.
        """
        _check_bins(bins)
        return replace(
            self,
            attributes=tuple(
                Categorical(a.name, tuple(range(bins))) if isinstance(a, Continuous) else a
                for a in self.attributes
            ),
        )

    def discretise_records(
        self, X: pd.DataFrame | ArrayLike, bins: int, *, strict: bool = True
    ) -> pd.DataFrame:
        """The records in the domain ``discretise(bins)``; the index of ``X`` is kept.

        A bin holds its left end; the last one holds both.

        Parameters
        ----------
        X : DataFrame or array (n, attributes).
        bins : number of bins, at least 1.
        strict : as for :meth:`encode`; with False, values outside the bounds go to the first or last bin.

        Notes
        -----
        **Privacy.** The bins are public and each record is moved by itself: it costs nothing.
        """
        _check_bins(bins)
        columns = self._columns(X)
        codes = self.encode(X, strict=strict)
        binned = {}
        for position, (attribute, column) in enumerate(zip(self.attributes, columns, strict=True)):
            if isinstance(attribute, Continuous):
                share = (codes[:, position] - attribute.low) / (attribute.high - attribute.low)
                bin_numbers = np.clip(np.floor(share * bins), 0, bins - 1).astype(np.int64)
                binned[attribute.name] = pd.Series(bin_numbers, index=column.index)
            else:
                binned[attribute.name] = column.copy()
        return pd.DataFrame(binned)

    @classmethod
    def infer(cls, X: pd.DataFrame | ArrayLike, y: ArrayLike | pd.Series[Any]) -> Domain:
        """Learn a domain from records. This leaks; use it only where privacy does not matter.

        Parameters
        ----------
        X : DataFrame or array (n, attributes), n ≥ 1. Numeric columns become continuous, all others categorical; a
            column with a single number gets bounds 0.5 (or more, for huge numbers) to either side. An array's
            columns are called x0, x1, ...
        y : (n,) labels.

        Raises
        ------
        DomainError
            If there are no records, missing values, or fewer than two classes.

        Warns
        -----
        PrivacyLeakWarning
            Always; it names what was learnt.

        Notes
        -----
        **Privacy.** Bounds, values and classes are exact functions of the records: no finite epsilon covers
        them.
        """
        columns = _columns_of(X)
        labels = _as_series(y)
        if not len(labels) or not len(next(iter(columns.values()))):
            raise DomainError("cannot infer a domain from no records; give a Domain")
        attributes = tuple(_infer_attribute(name, column) for name, column in columns.items())
        classes = _distinct(labels, of="the labels")
        learnt = [
            f"{what} of {', '.join(a.name for a in attributes if isinstance(a, kind))}"
            for what, kind in (("bounds", Continuous), ("categories", Categorical))
            if any(isinstance(a, kind) for a in attributes)
        ]
        warnings.warn(
            f"learnt from the records and treated as public: {'; '.join([*learnt, 'classes'])}. "
            "This is not differentially private; give a Domain made from public knowledge",
            PrivacyLeakWarning,
            stacklevel=2,
        )
        name = getattr(y, "name", None)
        target = str(name) if name is not None and str(name) not in columns else "class"
        while target in columns:
            target += "_"
        return cls(attributes, classes, target)

    def to_yaml(self, path: str | os.PathLike[str]) -> None:
        """Write the domain to a YAML file that :meth:`from_yaml` reads; one that exists is replaced as a whole.

        Raises
        ------
        DomainError
            If a value or class is not a str, int, float or bool.

        Notes
        -----
        The format, in which words such as ``yes`` and ``no`` stay words::

            target: income
            classes: [<=50K, '>50K']
            attributes:
            - name: age
              continuous: [17.0, 90.0]
            - name: sex
              categorical: [Female, Male]
        """
        everything = [
            *self.classes,
            *(v for a in self.attributes if isinstance(a, Categorical) for v in a.values),
        ]
        if bad := [v for v in everything if not isinstance(v, str | int | float)]:
            raise DomainError(f"YAML files hold only str, int, float and bool values, got {_listed(bad)}")
        document = {
            "target": self.target,
            "classes": list(self.classes),
            "attributes": [
                {"name": a.name, "continuous": [a.low, a.high]}
                if isinstance(a, Continuous)
                else {"name": a.name, "categorical": list(a.values)}
                for a in self.attributes
            ],
        }
        from .yaml_text import dump

        write_whole(Path(path), dump(document))

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Domain:
        """Read a domain from a file in the format that :meth:`to_yaml` documents.

        A section ``csv``, which tells :func:`dpnb.load` about a table, is left to that function.

        Raises
        ------
        DomainError
            If the file is not YAML or not of that form; the message names the entry.
        """
        return read_domain_file(path)[0]

    def _columns(self, X: pd.DataFrame | ArrayLike) -> list[pd.Series[Any]]:
        """Columns of ``X`` in the domain's order."""
        columns = _columns_of(X)
        if not isinstance(X, pd.DataFrame):
            if len(columns) != self.n_attributes:
                raise DomainError(f"X has {len(columns)} features, but the domain has {self.n_attributes}")
            return list(columns.values())
        if missing := [name for name in self.names if name not in columns]:
            raise DomainError(f"X lacks the columns {_listed(missing, limit=20)} of the domain")
        if extra := [name for name in columns if name not in self._positions]:
            raise DomainError(
                f"X has columns that the domain does not know: {_listed(extra, limit=20)}; "
                "drop them or add them to the domain"
            )
        return [columns[name] for name in self.names]


def read_domain_file(path: str | os.PathLike[str]) -> tuple[Domain, object]:
    """Read a domain file: the domain, and its section ``csv`` as it stands, an empty dict if there is none.

    Raises
    ------
    DomainError
        If the file is not YAML or not of the form that :meth:`Domain.to_yaml` documents.
    """
    from .yaml_text import YAMLError, parse

    try:
        document = parse(Path(path).read_text(encoding="utf-8"))
        if not isinstance(document, dict) or set(document) - {"target", "csv"} != {"classes", "attributes"}:
            raise DomainError("expected the keys target, classes, attributes, and csv for a table")
        if not isinstance(document["attributes"], list):
            raise DomainError("attributes must be a list")
        attributes = tuple(map(_read_attribute, document["attributes"]))
        domain = Domain(attributes, document["classes"], document.get("target", "class"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise DomainError(f"{path}: not a YAML file: {error}") from error
    except DomainError as error:
        raise DomainError(f"{path}: {error}") from error
    return domain, document.get("csv", {})


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _listed(values: Iterable[object], *, limit: int = _SHOWN) -> str:
    """Show the first few values."""
    shown = [repr(v) for v in values]
    return ", ".join(shown[:limit]) + (", ..." if len(shown) > limit else "")


def _repeated(values: Iterable[Hashable]) -> list[Hashable]:
    seen: set[Hashable] = set()
    return [v for v in values if v in seen or seen.add(v)]  # type: ignore[func-returns-value]


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise DomainError(f"a name must be a non-empty str, got {name!r}")


def _check_values(values: object, *, of: str) -> tuple[Hashable, ...]:
    # A str is iterable too, but ("yes") with its comma forgotten is hardly meant as y, e, s.
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DomainError(f"{of} must be a tuple, got {values!r}")
    checked = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
    if not checked:
        raise DomainError(f"{of} must not be empty")
    for value in checked:
        if not isinstance(value, Hashable):
            raise DomainError(f"{of} must be hashable, got {value!r}")
        if value is None or value is pd.NA or value is pd.NaT or value != value:
            raise DomainError(
                f"{of} must not hold the missing value {value!r}; give it a name such as 'missing'"
            )
    if repeated := _repeated(checked):
        raise DomainError(f"{of} must be unique, repeated: {_listed(repeated)}")
    return checked


def _check_bins(bins: object) -> None:
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise DomainError(f"bins must be an integer of at least 1, got {bins!r}")


def _columns_of(X: pd.DataFrame | ArrayLike) -> dict[str, pd.Series[Any]]:
    """Columns of a frame by name, or those of an array as x0, x1, ..."""
    if isinstance(X, pd.DataFrame):
        names = [str(name) for name in X.columns]
        if repeated := _repeated(names):
            raise DomainError(f"X has repeated columns: {_listed(repeated)}")
        frame = X
    else:
        if hasattr(X, "toarray"):
            raise TypeError("X is sparse; pass X.toarray()")
        # Lists of mixed values must not all be turned into strings.
        array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        if array.ndim != 2:
            raise DomainError(
                f"X must be a DataFrame or a 2-D array, got {array.ndim} dimension(s), shape {array.shape}. "
                "Reshape your data: X.reshape(-1, 1) for one attribute, X.reshape(1, -1) for one record"
            )
        frame = pd.DataFrame(array)
        names = [f"x{position}" for position in range(array.shape[1])]
    if not names:
        raise DomainError(f"X has 0 feature(s) (shape={frame.shape}) while a minimum of 1 is required.")
    return {name: frame.iloc[:, position] for position, name in enumerate(names)}


def _as_series(y: ArrayLike | pd.Series[Any]) -> pd.Series[Any]:
    if isinstance(y, pd.Series):
        return y
    array = y if isinstance(y, np.ndarray) else np.array(y, dtype=object)
    if array.ndim != 1:
        raise DomainError(f"labels must be one-dimensional, got shape {array.shape}")
    return pd.Series(array)


_KINDS = ("missing", "infinite", "outside", "unknown")  # in the order in which they are checked


@dataclass(frozen=True)
class Misfit:
    """Records of a column, or of the labels, that the domain does not allow.

    Parameters
    ----------
    kind : ``"missing"``, ``"infinite"``, ``"outside"`` the bounds, or ``"unknown"``.
    count : number of such records.
    first : the first few different values.
    """

    kind: str
    count: int
    first: tuple[object, ...] = ()

    def joined(self, other: Misfit | None) -> Misfit:
        """The same for two parts of a table; of different kinds, the one that is checked first."""
        if other is None or (other.kind != self.kind and _KINDS.index(self.kind) < _KINDS.index(other.kind)):
            return self
        if other.kind != self.kind:
            return other
        first = tuple(dict.fromkeys((*other.first, *self.first)))[: _SHOWN + 1]
        return Misfit(self.kind, self.count + other.count, first)

    def error(self, of: Attribute | Domain | str, *, total: int) -> DomainError:
        """What to raise: the message names values, expectation and the way out.

        Parameters
        ----------
        of : attribute of the column; the domain for labels; a string says it in words.
        total : number of all records.
        """
        name, share = _name_of(of), f"{self.count} of {total} records"
        if self.kind == "missing":
            way_out = "drop these records or give the missing value a public name or number"
            values = f"values of {name}" if isinstance(of, Continuous) else name
            return DomainError(f"{values} hold NaN in {share}; {way_out}")
        if self.kind == "infinite":
            return DomainError(f"{name} holds inf in {share}; clip or drop them")
        if isinstance(of, Continuous):
            return DomainError(
                f"{name} lies outside [{of.low:g}, {of.high:g}] in {share}: {_listed(self.first)}; "
                "clip them with domain.clip(X), or state wider public bounds"
            )
        way_out = "map them to a known value, or drop these records"
        if isinstance(of, Domain):
            known = _listed(of.classes, limit=10)
            way_out = f"the domain's classes are {known}; add the missing classes or map the labels"
        elif isinstance(of, Categorical):
            way_out = f"add them to Categorical({of.name!r}, ...), {way_out}"
        return DomainError(f"unknown values in {name}: {share}, first {_listed(self.first)}; {way_out}")


def _name_of(of: Attribute | Domain | str) -> str:
    if isinstance(of, str):
        return of
    return "the labels" if isinstance(of, Domain) else f"column {of.name!r}"


def _check_not_missing(missing: NDArray[np.bool_], *, of: str) -> None:
    if missing.any():
        raise Misfit("missing", int(missing.sum())).error(of, total=len(missing))


def _numbers(column: pd.Series[Any], *, name: str) -> NDArray[np.float64]:
    """A column as finite floats."""
    of = f"column {name!r}"
    values = column.to_numpy()
    if np.iscomplexobj(values):
        raise DomainError(f"Complex data not supported: {of} holds complex numbers")
    try:
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        bad = column[[not _is_number(v) for v in column]]
        raise DomainError(
            f"{of} must hold numbers, got {_listed(bad.unique())} in {len(bad)} of {len(column)} records; "
            "convert them, or make the attribute Categorical"
        ) from error
    finite = np.isfinite(numbers)
    if not finite.all():
        _check_not_missing(np.isnan(numbers), of=f"values of {of}")
        raise Misfit("infinite", int(np.sum(~finite))).error(of, total=len(numbers))
    return numbers


def _is_number(value: object) -> bool:
    try:
        float(cast("float", value))
    except (TypeError, ValueError):
        return False
    return True


def _check_bounds(numbers: NDArray[np.float64], attribute: Continuous) -> None:
    outside = (numbers < attribute.low) | (numbers > attribute.high)
    if outside.any():
        first = tuple(dict.fromkeys(numbers[outside].tolist()))
        raise Misfit("outside", int(outside.sum()), first).error(attribute, total=len(numbers))


def _encode_values(
    column: pd.Series[Any], values: tuple[Hashable, ...], *, of: Categorical | Domain
) -> NDArray[np.intp]:
    """Position of each entry among the values."""
    name = _name_of(of)
    index = pd.Index(list(values), tupleize_cols=False)
    try:
        if isinstance(column.dtype, pd.CategoricalDtype):
            entries, distinct = column.cat.codes.to_numpy(), column.cat.categories
        else:
            entries, distinct = column.array.factorize()
        # Appending -1 sends pandas' own code for missing, -1, to itself.
        codes = np.append(index.get_indexer(distinct), -1).take(entries)
    except TypeError as error:
        raise DomainError(f"{name} must hold hashable values: {error}") from error
    unknown = codes < 0
    if unknown.any():
        _check_not_missing(column.isna().to_numpy(dtype=np.bool_), of=name)
        first = tuple(column[unknown].unique().tolist())
        raise Misfit("unknown", int(unknown.sum()), first).error(of, total=len(column))
    return codes.astype(np.intp, copy=False)


def _distinct(column: pd.Series[Any], *, of: str) -> tuple[Hashable, ...]:
    """Sorted distinct values of a column."""
    _check_not_missing(column.isna().to_numpy(dtype=np.bool_), of=of)
    try:
        values = column.unique().tolist()
    except TypeError as error:
        raise TypeError(f"{of}: argument must be a string or a number: {error}") from error
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=lambda v: (type(v).__name__, str(v))))


def _infer_attribute(name: str, column: pd.Series[Any]) -> Attribute:
    column = column.infer_objects()
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return Categorical(name, _distinct(column, of=f"values of column {name!r}"))
    numbers = _numbers(column, name=name)
    low, high = float(numbers.min()), float(numbers.max())
    if low == high:
        # Half a unit vanishes beside a huge number.
        widening = max(0.5, 1e-12 * abs(low))
        low, high = low - widening, high + widening
    return Continuous(name, low, high)


def _read_attribute(entry: object) -> Attribute:
    """Attribute of one entry of a YAML file."""
    if isinstance(entry, dict) and set(entry) == {"name", "categorical"}:
        return Categorical(entry["name"], entry["categorical"])
    if isinstance(entry, dict) and set(entry) == {"name", "continuous"}:
        bounds = entry["continuous"]
        if isinstance(bounds, list) and len(bounds) == 2:
            return Continuous(entry["name"], *bounds)
    raise DomainError(
        f"an attribute must read {{name: ..., continuous: [low, high]}} or "
        f"{{name: ..., categorical: [...]}}, got {entry!r}"
    )
