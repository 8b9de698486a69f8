"""The public facts about a data set, which are its attributes, their bounds or values, and the classes.

Nothing in a :class:`Domain` is ever learnt from records. The one exception, :meth:`Domain.infer`, says so with a
:class:`~dpnb.errors.PrivacyLeakWarning`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..checks import check_count, check_path
from ..errors import DataError, DomainError, PrivacyLeakWarning, closest
from ..files import unreadable, write_whole
from .attributes import (
    LARGEST,
    SHORT,
    UNFILLED,
    Attribute,
    Categorical,
    Continuous,
    check_name,
    check_values,
    listed,
    repeated,
    short,
)
from .encoding import (
    checked,
    distinct,
    encoded,
    replaced,
    replaced_and_moved,
    spelt_values,
    unmarked,
)
from .frames import as_frame, as_series, columns_of, is_table, objects
from .hints import another_order, notes, notes_on_copies, notes_on_index, notes_on_target
from .misfits import Misfit, joined, lacking, raise_misfits
from .moves import Moves
from .people import Owners, people_of
from .rows import PLAIN, CsvFormat


@dataclass(frozen=True)
class Domain:
    """The public description of a data set.

    Parameters
    ----------
    attributes : the ``A`` attributes, in the order of the encoded columns; names are unique.
    classes : the class labels, each once; at least two. Their order gives their codes.
    target : name of the label column; not the name of an attribute.
    response : the number to predict with its public bounds, in place of classes and target.
    missing : markers of missing values, such as ``("?", -999)``; a cell of any column that is one of them has no value.
        Where an attribute lists a marker as a value, it stays that value.
    written : how CSV files are written that hold such records.

    Raises
    ------
    DomainError
        If there is no attribute, fewer than two classes, or a repeated name or class.

    Notes
    -----
    **Privacy.** The mechanisms' guarantees hold for records inside the domain, and only if the domain is
    chosen without looking at the records.

    ``print(domain.check(X, y))`` says which records do not fit, before a fit spends its budget.
    """

    attributes: tuple[Attribute, ...]
    classes: tuple[Hashable, ...] = ()
    target: str = "class"
    response: Continuous | None = None
    missing: tuple[str | float, ...] = ()
    written: CsvFormat = field(default=PLAIN, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.attributes, Continuous | Categorical):
            raise DomainError(
                f"attributes must be a list of attributes, got one, {self.attributes.name!r}; write [...]"
            )
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if self.response is None:
            object.__setattr__(self, "classes", check_values(self.classes, of="classes"))
        else:
            self._check_response()
        check_name(self.target)
        if not self.attributes:
            raise DomainError("a domain needs at least one attribute, got none; keep or list one")
        for attribute in self.attributes:
            if not isinstance(attribute, Continuous | Categorical):
                raise DomainError(
                    f"attributes must be Continuous or Categorical, got {attribute!r}; Domain.from_yaml(path) and "
                    "Domain.from_document({...}) read them"
                )
        if repeats := repeated(self.names):
            raise DomainError(f"attribute names must be unique, repeated: {listed(repeats)}; rename one")
        if self.target in self.names:
            raise DomainError(f"target {self.target!r} is also the name of an attribute; rename one of them")
        if self.response is None and len(self.classes) < 2:
            raise DomainError(
                f"a domain needs at least two classes, got one class: {self.classes!r}; list all that can occur"
            )
        object.__setattr__(self, "missing", _checked_markers(self.missing))

    def _check_response(self) -> None:
        """Raise DomainError unless the target is a number, and has no classes beside that."""
        response = self.response
        if not isinstance(response, Continuous) or response.is_date or response.missing:
            raise DomainError(
                f"response must be Continuous, without dates and missing values, got {response!r}; write "
                "Continuous(name, low, high), or in a file {name: ..., range: [low, high]}"
            )
        if len(self.classes) or self.target not in ("class", response.name):
            raise DomainError(
                f"a domain with response {response.name!r} has no classes and no other target, got {self.classes!r} "
                f"and {self.target!r}; leave them out"
            )
        object.__setattr__(self, "target", response.name)

    def __repr__(self) -> str:
        parts = (f"{field.name}={SHORT.repr(getattr(self, field.name))}" for field in fields(self))
        return f"Domain({', '.join(parts)})"

    def __deepcopy__(self, memo: object) -> Self:
        """The domain itself, because nothing in it changes, and every clone of an estimator asks for a copy."""
        return self

    @cached_property
    def label(self) -> Attribute:
        """The target as an attribute, with the classes as values, or with the bounds of the number to predict."""
        return self.response or Categorical(self.target, self.classes)

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
        """(attributes,) number of levels of each categorical attribute, 0 for a continuous one."""
        sizes = [len(a.levels) if isinstance(a, Categorical) else 0 for a in self.attributes]
        return _frozen(np.array(sizes, dtype=np.intp))

    @cached_property
    def lows(self) -> NDArray[np.float64]:
        """(attributes,) lower ends of the encoded numbers (``Continuous.floor``), NaN for a categorical attribute."""
        return _frozen(np.array([a.floor if isinstance(a, Continuous) else np.nan for a in self.attributes]))

    @cached_property
    def highs(self) -> NDArray[np.float64]:
        """(attributes,) upper bounds, NaN for a categorical attribute."""
        return _frozen(np.array([a.high if isinstance(a, Continuous) else np.nan for a in self.attributes]))

    def edges(self, attribute: int, n_bins: int) -> NDArray[np.float64]:
        """Public edges between bins of a continuous attribute by position, (n_bins - 1,).

        The bins have equal widths; where a value may be missing, the first bin is for missing values.
        """
        public = self.attributes[attribute]
        if not isinstance(public, Continuous):
            raise DomainError(
                f"{public.name!r} is categorical and has no edges: ask for those of a continuous attribute"
            )
        missing = [(public.floor + public.low) / 2] * public.missing
        given = n_bins - public.missing
        return np.append(missing, public.low + (public.high - public.low) * np.arange(1, given) / given)

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
        X : table or array (n, attributes); a table's columns are matched by name, an array's by position.
        strict : whether continuous values outside the bounds are an error. Prediction passes False, because thresholds
            lie inside the domain, so such values need no special care there.

        Raises
        ------
        DomainError If columns are missing, repeated or not in the domain; if values are missing, infinite, not numbers,
            or not in the domain, and the attribute has no option for them. One message reports on all columns.

        Notes
        -----
        **Privacy.** Each record is encoded by itself, which costs nothing. Errors show values of records, so only the
        data holder may see them.
        """
        codes, misfits = self.replaced_and_misfits(X, bounds=strict)
        raise_misfits(misfits)
        return codes

    def replaced_and_misfits(
        self, X: pd.DataFrame | ArrayLike, *, bounds: bool = True
    ) -> tuple[NDArray[np.float64], list[str]]:
        """Records as :meth:`replaced` gives them, and the misfits of each column, in words and with values.

        Parameters
        ----------
        X : table or array (n, attributes).
        bounds : whether values outside the bounds are misfits; if not, they are left as they are.
        """
        columns = self._columns(X)
        codes, misfits = self._empty(columns), []
        for position, (attribute, column) in enumerate(zip(self.attributes, columns, strict=True)):
            codes[:, position], found = checked(column, attribute, bounds=bounds)
            if found:
                misfits.append(". Also ".join(misfit.text(attribute, total=len(column)) for misfit in found))
                codes[:, position] = replaced(column, attribute)
        return codes, misfits

    def check(self, X: pd.DataFrame | ArrayLike, y: Any = None, *, people: Any = None) -> str:
        """Report to the data holder, before a fit, everything that does not fit the domain.

        A fit silently moves misfits into the domain, because any message about them would be a release. Labels that are
        none of the classes, texts where numbers belong, or columns in another order give a useless model, and the
        budget is spent.

        Parameters
        ----------
        X : table or array (n, attributes).
        y : (n,) labels; None if only attributes are to be checked.
        people : (n,) the person of each record, as for a fit; None if each record stands for itself.

        Returns
        -------
        A text, which says that all records fit, and which values fit and are odd, such as values in one corner of the
        bounds.

        Raises
        ------
        DomainError If anything does not fit; one message reports on all columns, with values of records and what they
            may have been meant to be.

        Notes
        -----
        **Privacy.** The check is local. Its answer depends on single records and is not private, so only the data
        holder, who has the records, may see it. It spends no ε.
        """
        local = "a local check, which is not private and spends no ε"
        owners = None if people is None else people_of(people, missing=self.missing)
        if problems := [*self._problems(X, y, owners)]:
            raise DomainError("\n".join([*problems, f"({local})"]))
        said = [f"all {len(self._columns(X)[0])} records fit the domain ({local})"]
        if owners is not None:
            said += [owners.in_words(), *notes_on_index(as_frame(X), people, of="person")]
        return "\n- ".join([*said, *self.oddities(X, y)])

    def _problems(self, X: Any, y: Any, owners: Owners | None) -> Iterator[str]:
        """What does not fit, in words."""
        misfits, columns = self.replaced_and_misfits(X)[1], self._columns(X)
        if misfits:
            yield joined(misfits)
        n = len(columns[0])
        if not n:
            yield "there are no records, and a model of none is noise; pass those to learn from"
        if misfits and not is_table(X) and (order := another_order(self.attributes, columns)):
            yield order
        labels = None if y is None else as_series(y)
        if labels is not None and len(labels) != n:
            yield f"there are {n} records and {len(labels)} labels; pass one label a record"
        try:
            _ = None if labels is None else self.encode_labels(labels)
        except DomainError as error:
            yield str(error)
        if owners is not None and len(owners.known) != n:
            yield f"there are {n} records and {len(owners.known)} names of people; pass the person of each record"

    def oddities(self, X: pd.DataFrame | ArrayLike, y: Any = None) -> list[str]:
        """Values that fit and are odd, in words; parameters and privacy are those of :meth:`check`."""
        pairs = zip(self.attributes, self._columns(X), strict=True)
        found = [note for attribute, column in pairs for note in notes(attribute, column)]
        records = codes = self.replaced(X)
        if y is not None:
            labels = self.replaced_labels(y)
            records = np.column_stack([codes, labels])
            if self.response is not None:
                found += notes(self.response, self._labels(y))
            else:
                counts = np.bincount(labels, minlength=self.n_classes)
                never = [repr(label) for label, n in zip(self.classes, counts, strict=True) if not n]
                found += [f"no record has the class {', '.join(never)}"] if never and counts.any() else []
            what = "the class" if self.response is None else "the number to predict"
            found += [
                *notes_on_target(self.attributes, codes, labels, what=what),
                *notes_on_index(as_frame(X), y),
            ]
        return [*found, *notes_on_copies(records)]

    def replaced(self, X: pd.DataFrame | ArrayLike) -> NDArray[np.float64]:
        """Records as numbers, as by :meth:`encode`, with misfits replaced by values of the domain; a fit sees these.

        Numbers outside the bounds become the nearest bound. Values that are no numbers become missing or, where none
        may be missing, the middle of the domain. Unknown categories become the level "other" or, without one, the level
        "missing" or, without both, the first value. Missing categories become the level "missing" or, without one, what
        unknown categories become.

        Parameters
        ----------
        X : table or array (n, attributes).

        Raises
        ------
        DomainError If columns are missing, repeated or not in the domain; never because of values of the records.

        Notes
        -----
        **Privacy.** Each value is replaced by a public one, whatever the other records hold, which costs nothing.
        """
        columns = self._columns(X)
        codes = self._empty(columns)
        for position, (attribute, column) in enumerate(zip(self.attributes, columns, strict=True)):
            codes[:, position] = replaced(column, attribute)
        return codes

    def replaced_and_moves(self, X: pd.DataFrame | ArrayLike) -> tuple[NDArray[np.float64], Moves]:
        """The same, and which values became what, for whoever may see the records; parameters are the same."""
        columns = self._columns(X)
        codes, found = self._empty(columns), Moves()
        for position, (attribute, column) in enumerate(zip(self.attributes, columns, strict=True)):
            codes[:, position], groups = replaced_and_moved(column, attribute)
            found.add(attribute, column, groups)
        return codes, found

    def spelt(self, X: pd.DataFrame) -> pd.DataFrame:
        """A table of texts, such as a CSV file holds, with the public values that its cells spell.

        An empty cell is a missing value, as a marker is, unless the attribute lists it as a value.

        Parameters
        ----------
        X : columns of the domain. Cells of continuous attributes stay texts, unless numbers are written otherwise than
            Python's.
        """
        columns = {}
        for a in self.attributes:
            columns[a.name] = unmarked(self._spelt(X[a.name], a), a, ("", *self.missing))
        return pd.DataFrame(columns, index=X.index)

    def encode_labels(self, y: ArrayLike | pd.Series[Any]) -> NDArray[Any]:
        """Labels (n,) as their positions in ``classes``, numbers to predict as they are.

        Raises
        ------
        DomainError
            If ``y`` is not one-dimensional, or a label is missing, not one of the classes, or outside the bounds.
        """
        labels = self._labels(y)
        codes, misfits = checked(labels, self.label, bounds=True)
        if misfits:
            raise DomainError(
                ". Also ".join(self.misfit_text(misfit, total=len(labels)) for misfit in misfits)
            )
        return codes if self.response is not None else codes.astype(np.intp)

    def misfit_text(self, misfit: Misfit, *, total: int) -> str:
        """What is wrong with labels, or numbers to predict, and the way out; ``total`` is the number of all records."""
        if self.response is not None:
            return misfit.text_of_target(self.response, total=total)
        return misfit.text(self.classes, total=total)

    def replaced_labels(self, y: ArrayLike | pd.Series[Any]) -> NDArray[Any]:
        """Labels as by :meth:`encode_labels`; a label that is missing or unknown counts as the first class.

        A number outside the bounds counts as the nearest bound, and one that is missing as the middle.
        """
        y = objects(y) if isinstance(y, list | tuple) else y  # a label that is a list is an unknown one
        codes = replaced(self._labels(y), self.label)
        return codes if self.response is not None else codes.astype(np.intp)

    def spelt_labels(self, y: pd.Series[Any]) -> pd.Series[Any]:
        """Labels with the classes that texts spell, as by :meth:`spelt`."""
        return unmarked(self._spelt(y, self.label), self.label, ("", *self.missing))

    def marked(self, column: pd.Series[Any], attribute: Attribute) -> NDArray[np.bool_]:
        """Which cells of a column of texts are markers of missing values."""
        return unmarked(self._spelt(column, attribute), attribute, self.missing).isna().to_numpy(np.bool_)

    def _spelt(self, column: pd.Series[Any], attribute: Attribute) -> pd.Series[Any]:
        if isinstance(attribute, Categorical):
            return spelt_values(self.written.read(column, but=attribute.levels), attribute.levels)
        return column if attribute.is_date else self.written.read(column)

    def discretise(self, bins: int) -> Domain:
        """The domain in which each continuous attribute has public bins of equal width.

        Parameters
        ----------
        bins : number of bins, at least 1; the new categorical attribute takes the values ``0 .. bins - 1``.
        """
        check_count("bins", bins, low=1)
        return replace(
            self,
            attributes=tuple(
                Categorical(a.name, tuple(range(bins)), missing=a.missing) if isinstance(a, Continuous) else a
                for a in self.attributes
            ),
        )

    def discretise_records(
        self, X: pd.DataFrame | ArrayLike, bins: int, *, strict: bool = True
    ) -> pd.DataFrame:
        """The records in the domain ``discretise(bins)``; the index of ``X`` is kept.

        A bin includes its left end; the last bin includes both ends.

        Parameters
        ----------
        X : DataFrame or array (n, attributes).
        bins : number of bins, at least 1.
        strict : as for :meth:`encode`; with False, values outside the bounds go to the first or last bin.

        Notes
        -----
        **Privacy.** The bins are public and each record is moved by itself, which costs nothing.
        """
        check_count("bins", bins, low=1)
        columns = self._columns(X)
        codes = self.encode(X, strict=strict)
        binned = {}
        for position, (attribute, column) in enumerate(zip(self.attributes, columns, strict=True)):
            if isinstance(attribute, Continuous):
                share = (codes[:, position] - attribute.low) / (attribute.high - attribute.low)
                numbers = pd.Series(
                    np.clip(np.floor(share * bins), 0, bins - 1).astype(np.int64), column.index
                )
                gone = attribute.missing & (codes[:, position] == attribute.floor)
                binned[attribute.name] = numbers.astype(object).mask(gone, None) if gone.any() else numbers
            else:
                binned[attribute.name] = column.copy()
        return pd.DataFrame(binned)

    @classmethod
    def infer(
        cls, X: pd.DataFrame | ArrayLike, y: ArrayLike | pd.Series[Any], *, numbers: bool = False
    ) -> Domain:
        """Learn a domain from records. This leaks; use it only where privacy does not matter.

        Parameters
        ----------
        X : DataFrame or array (n, attributes), n ≥ 1. Numeric columns become continuous, all others categorical; a
            column with a single number gets bounds 0.5 (or more, for huge numbers) to either side. An array's
            columns are called x0, x1, ...
        y : (n,) labels, or numbers to predict.
        numbers : whether ``y`` holds numbers to predict.

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
        **Privacy.** Bounds, values and classes are exact functions of the records, so no finite ε covers them.
        """
        columns = columns_of(X)
        if not columns:
            raise DomainError(
                f"X has 0 feature(s) (shape=({len(as_frame(X))}, 0)) while a minimum of 1 is required; pass the "
                "attributes' columns"
            )
        labels = as_series(y)
        if not len(labels) or not len(next(iter(columns.values()))):
            raise DomainError("cannot infer a domain from no records; give a Domain")
        try:
            attributes = tuple(_infer_attribute(name, column) for name, column in columns.items())
        except DomainError as error:
            raise without_domain(error) from error
        name = getattr(y, "name", None)
        target = str(name) if name is not None and str(name) not in columns else "class"
        while target in columns:
            target += "_"
        response = _infer_attribute(target, labels) if numbers else None
        if isinstance(response, Categorical):
            raise DomainError("the numbers to predict hold something else; convert them")
        learnt = [
            f"{what} of {', '.join(a.name for a in attributes if isinstance(a, kind))}"
            for what, kind in (("bounds", Continuous), ("categories", Categorical))
            if any(isinstance(a, kind) for a in attributes)
        ]
        warnings.warn(
            "learnt from the records and treated as public: "
            f"{'; '.join([*learnt, 'bounds of the target' if numbers else 'classes'])}. "
            "This is not differentially private; give a Domain made from public knowledge",
            PrivacyLeakWarning,
            stacklevel=2,
        )
        if response is not None:
            return cls(attributes, response=response)
        return cls(attributes, distinct(labels, of="the labels"), target)

    def document(self) -> dict[str, Any]:
        """The domain in the form of a YAML or JSON document, see :meth:`to_yaml`.

        Raises
        ------
        DomainError
            If a value or class is not a str, int, float or bool.
        """
        target: dict[str, Any] = {"target": self.target, "classes": list(self.classes)}
        if self.response is not None:
            written = _written(self.response)
            target = {"target": {"name": self.target, "range": written.pop("continuous")} | written}
        everything = [
            *self.classes,
            *(v for a in self.attributes if isinstance(a, Categorical) for v in a.values),
        ]
        if bad := [v for v in everything if not isinstance(v, str | int | float)]:
            raise DomainError(
                f"such documents hold only str, int, float and bool values, got {listed(bad)}; "
                "name them by texts"
            )
        csv: dict[str, Any] = {"missing": list(self.missing)} if self.missing else {}
        for f in fields(CsvFormat):
            if (value := getattr(self.written, f.name)) != f.default:
                csv[f.name] = value
        attributes = [_written(attribute) for attribute in self.attributes]
        return target | {"attributes": attributes} | ({"csv": csv} if csv else {})

    @classmethod
    def from_document(cls, document: Any) -> Domain:
        """The domain that a document describes, see :meth:`document`.

        Raises
        ------
        DomainError
            If it is not of that form; the message names the entry.
        """
        _check_keys(document)
        if not isinstance(document["attributes"], list):
            got = document["attributes"]
            raise DomainError(
                f"attributes must be a list of `- name: ...` with bounds or values, got {got!r}"
            )
        if unfilled := [name for name, entry in _entries(document) if UNFILLED in entry]:
            raise DomainError(f"{UNFILLED!r} has still to be filled in for {listed(unfilled, limit=20)}")
        attributes = tuple(
            _read_attribute(entry, place) for place, entry in enumerate(document["attributes"], 1)
        )
        target, csv = document.get("target", "class"), _read_csv(document.get("csv", {}))
        if isinstance(target, dict):
            domain = cls(attributes, response=_read_response(document), **csv)
        else:
            domain = cls(attributes, document["classes"], target, **csv)
        domain.document()  # what YAML has beside plain values, such as dates, cannot be written again
        return domain

    def to_yaml(self, path: str | os.PathLike[str]) -> None:
        """Write the domain to a YAML file that :meth:`from_yaml` reads; an existing file is replaced as a whole.

        Raises
        ------
        DomainError
            If a value or class is not a str, int, float or bool.

        Notes
        -----
        In the format, words such as ``yes`` and ``no`` stay words::

            target: income
            classes: [<=50K, '>50K']
            attributes:
            - name: age
              continuous: [17.0, 90.0]
              missing: true  # may be left out, as all options
              clip: true
              unit: years
            - name: joined
              continuous: [2001-01-01, 2026-12-31]
              format: "%d/%m/%Y"  # without it dates are ISO 8601, as 2001-12-31
            - name: sex
              categorical: [Female, Male]
              missing: true
              unknown: other

        Where a number is to be predicted, there are no classes, and the target has a range::

            target: {name: price, range: [0.0, 20000.0], unit: dollars}

        Markers of missing values stand in the section ``csv``::

            csv: {missing: ['?', -999]}
        """
        from .yaml_text import dump

        write_whole(check_path("path", path, such="domain.yml"), dump(self.document()))

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Domain:
        """Read a domain from a file in the format that :meth:`to_yaml` documents.

        Of a section ``csv``, what tells :func:`dpnb.load` which records to read is left to that function.

        Raises
        ------
        DataError
            If the file cannot be read.
        DomainError
            If it is not YAML or not of that form; the message names the entry.
        """
        return read_domain_file(path)[0]

    def _columns(self, X: pd.DataFrame | ArrayLike) -> list[pd.Series[Any]]:
        """Columns of ``X`` in the domain's order, in which markers of missing values are missing values."""
        columns = self._named_columns(X)
        pairs = zip(columns, self.attributes, strict=True)
        return [unmarked(column, attribute, self.missing) for column, attribute in pairs]

    def _labels(self, y: Any) -> pd.Series[Any]:
        """Labels, in which markers of missing values are missing values."""
        return unmarked(as_series(y), self.label, self.missing)

    def _named_columns(self, X: pd.DataFrame | ArrayLike) -> list[pd.Series[Any]]:
        columns = columns_of(X)
        if not is_table(X):
            if len(columns) != self.n_attributes:
                raise DomainError(
                    f"X has {len(columns)} features, but the domain has {self.n_attributes}; pass one column each, in "
                    f"this order: {listed(self.names, limit=20)}"
                )
            return list(columns.values())
        if problem := lacking(self.names, columns):
            raise DomainError(f"X {problem}")
        if extra := [name for name in columns if name not in self._positions]:
            raise DomainError(
                f"X has columns that the domain does not know: {listed(extra, limit=20)}; "
                "drop them or add them to the domain"
            )
        return [columns[name] for name in self.names]

    def _empty(self, columns: list[pd.Series[Any]]) -> NDArray[np.float64]:
        return np.empty((len(columns[0]), self.n_attributes), order="F")


def read_domain_file(path: str | os.PathLike[str]) -> tuple[Domain, object]:
    """Read a domain file, that is, the domain and the rest of its section ``csv``, which tells how to load a table.

    Raises
    ------
    DataError
        If the file cannot be read.
    DomainError
        If it is not YAML or not of the form that :meth:`Domain.to_yaml` documents.
    """
    from .yaml_text import YAMLError, parse, why

    file = check_path("path", path, such="domain.yml")
    try:
        document = parse(file.read_text(encoding="utf-8"))
        section = (document.pop("csv", None) or {}) if isinstance(document, dict) else {}
        if isinstance(section, dict) and (csv := {k: section.pop(k) for k in IN_CSV if k in section}):
            document["csv"] = csv
        domain = Domain.from_document(document)
    except OSError as error:
        raise DataError(
            unreadable(file, error).replace("cannot read", "cannot read the domain file", 1)
        ) from error
    except UnicodeDecodeError as error:
        raise DomainError(f"{path}: not a YAML file in UTF-8: {error.reason}; save it as UTF-8") from error
    except YAMLError as error:
        raise DomainError(f"{path}: not a YAML file: {why(error)}") from error
    except DomainError as error:
        raise DomainError(f"{path}: {error}") from error
    return domain, section


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def without_domain(error: DomainError) -> DomainError:
    """The error for records that a domain which is read off records does not take, and the way out."""
    return DomainError(
        f"{error}. No domain was given, so this one was read off the records: pass domain=Domain([...], [...]), whose "
        "attributes may have missing=True"
    )


def _infer_attribute(name: str, column: pd.Series[Any]) -> Attribute:
    column = column.infer_objects()
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return Categorical(name, distinct(column, of=f"values of column {name!r}"))
    if pd.api.types.is_complex_dtype(column):
        raise DomainError(f"Complex data not supported: column {name!r} holds complex numbers")
    numbers, misfit = encoded(column, Continuous(name, -LARGEST, LARGEST), bounds=False)
    if misfit is not None:
        raise DomainError(misfit.text(f"column {name!r}", total=len(column)))
    low, high = float(numbers.min()), float(numbers.max())
    if low == high:
        # Half a unit vanishes beside a huge number.
        widening = max(0.5, 1e-12 * abs(low))
        low, high = low - widening, high + widening
    return Continuous(name, low, high)


def _written(attribute: Attribute) -> dict[str, object]:
    """Entry of a YAML file."""
    entry: dict[str, object] = {"name": attribute.name}
    options: dict[str, object]
    if isinstance(attribute, Continuous):
        bounds = [attribute.low, attribute.high]
        entry["continuous"] = [attribute.shown(b) for b in bounds] if attribute.is_date else bounds
        options = {"missing": attribute.missing, "clip": attribute.clip}
        options |= {"unit": "" if attribute.is_date else attribute.unit, "format": attribute.format}
    else:
        entry["categorical"] = list(attribute.values)
        options = {"missing": attribute.missing, "unknown": attribute.unknown.removeprefix("error")}
    return entry | {option: value for option, value in options.items() if value}


def _entries(document: dict[str, Any]) -> Iterator[tuple[str, list[object]]]:
    """Lists of a document that a draft leaves open, each with what it is for."""
    if isinstance(document.get("classes"), list):
        yield "classes", document["classes"]
    if isinstance(document.get("target"), dict) and isinstance(document["target"].get("range"), list):
        yield "the range of the target", document["target"]["range"]
    for entry in document["attributes"]:
        for kind in OPTIONS:
            if isinstance(entry, dict) and isinstance(entry.get(kind), list):
                yield str(entry.get("name")), entry[kind]


def _check_keys(document: object) -> None:
    """Raise DomainError unless a document has the keys of a domain."""
    expected = "expected the keys target, classes, attributes, and csv for a table; see `dpnb domain draft`"
    if document is None or document == "":
        raise DomainError(f"it is empty: {expected}")
    if not isinstance(document, dict):
        raise DomainError(f"it holds {short(document)}: {expected}")
    keys = ("target", "classes", "attributes", "csv")
    if unknown := [key for key in document if key not in keys]:
        close = closest(unknown[0], keys)
        hint = f"did you mean {close!r}? " if close else ""
        raise DomainError(f"it has an unknown key {unknown[0]!r}: {hint}{expected.capitalize()}")
    needed = keys[2:3] if isinstance(document.get("target"), dict) else keys[1:3]
    if lacks := [key for key in needed if key not in document]:
        raise DomainError(f"it lacks {', '.join(map(repr, lacks))}: {expected}")


AN_ATTRIBUTE = "expected {name: ..., continuous: [low, high]} or {name: ..., categorical: [a, b, ...]}"
OPTIONS = {  # of each kind of attribute
    "continuous": ("missing", "clip", "unit", "format"),
    "categorical": ("missing", "unknown"),
}


def _read_attribute(entry: object, place: int) -> Attribute:
    """Attribute of one entry of a YAML file, the ``place``-th."""
    if not isinstance(entry, dict) or "name" not in entry:
        raise DomainError(f"attribute {place} reads {short(entry)}: {AN_ATTRIBUTE}")
    kind, name = _kind(entry), entry["name"]
    value = entry[kind]
    options = {option: entry[option] for option in entry if option != kind}
    if kind == "categorical":
        return Categorical(values=value, **options)
    if not isinstance(value, list) or len(value) != 2:
        raise DomainError(f"bounds of {name!r} must read continuous: [low, high], got {short(value)}")
    attribute = Continuous(low=value[0], high=value[1], **options)
    if options.get("unit") == "date" and not isinstance(value[0], str):
        raise DomainError(
            f"unit of {name!r} is 'date', got {value}: write bounds as [2001-01-01, 2026-12-31]"
        )
    return attribute


def _kind(entry: dict[Any, Any]) -> str:
    """The kind of attribute that an entry describes, with no options but those of this kind."""
    kinds = [kind for kind in OPTIONS if kind in entry]
    options = OPTIONS[kinds[0]] if kinds else ()
    known = ("name", *options, *OPTIONS)
    unknown = [key for key in entry if key not in known]
    if len(kinds) == 1 and not unknown:
        return kinds[0]
    reads = f"attribute {entry['name']!r} reads {short(entry)}"
    close = closest(unknown[0], known) if unknown else None
    hint = f"did you mean `{close}:`? " if close else ""
    if len(kinds) == 1:
        may = ", ".join(f"`{option}:`" for option in options)
        raise DomainError(
            f"{reads}: {kinds[0]} attributes have no `{unknown[0]}:`; {hint}they may have {may}"
        )
    raise DomainError(f"{reads}: {hint}{AN_ATTRIBUTE.capitalize() if hint else AN_ATTRIBUTE}")


IN_CSV = ("missing", *(f.name for f in fields(CsvFormat)))  # what a section csv says of the domain


def _read_csv(section: object) -> dict[str, Any]:
    """Markers of missing values, and how CSV files are written."""
    if not isinstance(section, dict) or not set(section) <= set(IN_CSV):
        raise DomainError(f"csv reads {short(section)}: expected {', '.join(IN_CSV)}")
    how = {name: value for name, value in section.items() if name != "missing"}
    return {"missing": section.get("missing", ()), "written": CsvFormat(**how)}


def _read_response(document: dict[str, Any]) -> Continuous:
    """The number to predict."""
    entry = document["target"]
    if "classes" in document:
        raise DomainError(
            f"target reads {short(entry)}, a number, which has no classes: leave out one of both"
        )
    bounds = entry.get("range")
    known = ("name", "range", "clip", "unit")
    if not {"name", "range"} <= set(entry) <= set(known) or not isinstance(bounds, list) or len(bounds) != 2:
        raise DomainError(
            f"target reads {short(entry)}: expected {{name: ..., range: [low, high]}}, and unit or clip if you like"
        )
    return Continuous(low=bounds[0], high=bounds[1], **{k: v for k, v in entry.items() if k != "range"})


def _checked_markers(missing: Any) -> tuple[str | float, ...]:
    """Markers of missing values, each once; a single one stands for a list of one."""
    markers = tuple(missing) if isinstance(missing, list | tuple) else (missing,)
    if not all(isinstance(marker, str | int | float) for marker in markers):
        raise DomainError(
            f"csv: missing must be a list of texts or numbers, got {short(missing)}; write [a, b]"
        )
    once = tuple(dict.fromkeys(markers))
    return check_values(once, of="csv: missing") if once else ()  # type: ignore[return-value]
