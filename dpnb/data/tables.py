"""Tables of the user's own: a CSV file, and a domain file that states all that is public about it.

The domain file has the format of :meth:`Domain.to_yaml <dpnb.Domain.to_yaml>`, and may have a section ``csv``::

    target: income
    classes: [low, high]
    attributes: [{name: age, continuous: [0, 120]}, {name: sex, categorical: [Female, Male]}]
    csv:                  # all of it may be left out
      ignore: [name]      # columns that are not used
      missing: ["", "?"]  # cells that stand for a missing value; records with one are left out
      key: id             # column with a unique key for each record; by default the row numbers from 0
      test_share: 0.3     # probability that a record is held back for testing
      split_seed: 0       # another seed, another split

Nothing is learnt from the records, not even whether a column holds numbers.
"""

from __future__ import annotations

import io
import os
from collections.abc import Hashable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..bags import label_keys, uniforms
from ..domain import Categorical, Domain, read_domain_file
from ..domain.encoding import decoded, spelt_values
from ..errors import DataError, DomainError

_SPLIT_STREAM = 2**32  # far from the streams of the trees, should a forest have the seed of the split


@dataclass(frozen=True)
class _Layout:
    """The section ``csv`` of a domain file; a single text or number stands for a list of one."""

    ignore: Any = ()
    missing: Any = ()
    key: str | None = None
    test_share: float = 0.3
    split_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("ignore", "missing"):
            value = getattr(self, name)
            entries = tuple(value) if isinstance(value, list | tuple) else (value,)
            if not all(isinstance(entry, str | int | float) for entry in entries):
                raise DomainError(f"csv: {name} must be a list of texts or numbers, got {value!r}")
            object.__setattr__(self, name, entries)
        if self.key is not None and not isinstance(self.key, str):
            raise DomainError(f"csv: key must be the name of a column, got {self.key!r}")
        share = self.test_share
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
            raise DomainError(f"csv: test_share must be a number between 0 and 1, got {share!r}")
        try:
            check_split_seed(self.split_seed)
        except ValueError as error:
            raise DomainError(f"csv: {error}") from error


def load_csv(
    *,
    data_dir: Path | None,
    path: Path,
    domain: str | os.PathLike[str] | None = None,
    test: str | os.PathLike[str] | None = None,
    split_seed: int | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, Domain]:
    """Training part, test part and domain of a CSV file; what :func:`dpnb.load` does with the name ``csv:FILE``.

    The parts have attributes and labels, indexed by the records' keys. Continuous attributes are float64; all others,
    and the labels, have the type of the public values: a cell ``1.0`` is the value ``1``.

    Parameters
    ----------
    data_dir : not used: the paths are taken as they are.
    path : a file in UTF-8 with commas and one line of column names. Spaces after a comma do not count.
    domain : path of the domain file.
    test : path of a file of the same form that holds the test part. Without it a keyed hash of the seed and of the
        record's key decides whether a record is held back.
    split_seed : instead of the domain file's.

    Raises
    ------
    TypeError
        If ``domain`` is not a path.
    ValueError
        If ``split_seed`` is no seed, or is given together with ``test``.
    DataError
        If a file cannot be read, or leaves no record to train or to test on.
    DomainError
        If the domain file makes no sense, or a CSV file does not fit it.

    Notes
    -----
    **Privacy.** All comes from the domain file, and each record is read, left out or held back by itself: it costs
    nothing. Adding or removing a record moves no other one between the parts, as long as the others keep their keys.
    Errors show values of records, so they are for the data holder's eyes only.
    """
    if not isinstance(domain, str | os.PathLike):
        raise TypeError(
            f"a CSV file needs domain=, the path of a YAML file that states what is public; got {domain!r}"
        )
    if test is not None and split_seed is not None:
        raise ValueError("with a test file nothing is split: leave out test or split_seed")
    public, layout = _read_layout(Path(domain))
    seed = layout.split_seed if split_seed is None else split_seed
    check_split_seed(seed)
    tables: list[pd.DataFrame] = []
    files = [path] if test is None else [path, Path(test)]
    for file in files:
        tables.append(_read_table(file, domain=public, layout=layout, first_row=sum(map(len, tables))))
    _check_keys(tables, key=layout.key)
    records = [_records(t, domain=public, layout=layout, file=f) for t, f in zip(tables, files, strict=True)]
    if test is None:
        held_back = uniforms(label_keys(records[0].index), seed=int(seed), stream=_SPLIT_STREAM)
        records = [records[0][held_back >= layout.test_share], records[0][held_back < layout.test_share]]
    for part, purpose, file in zip(records, ("train", "test"), (files[0], files[-1]), strict=True):
        if part.empty:
            raise DataError(f"{file} leaves no record to {purpose} on: it is too small, or lacks values")
    return records[0], records[1], public


def read_csv(content: bytes, **how: Any) -> pd.DataFrame:
    """Read a CSV file's content, in which a category such as "?" or "None" stays what it is.

    Parameters
    ----------
    content : the file's bytes.
    **how : options of :func:`pandas.read_csv`.

    Notes
    -----
    **Privacy.** Without ``dtype`` pandas takes the columns' types from the records.
    """
    frame: pd.DataFrame = pd.read_csv(io.BytesIO(content), na_filter=False, **how)
    return frame


def check_split_seed(split_seed: object) -> None:
    """Raise a ValueError unless the seed of a split is an integer from 0 to 2**32 - 1."""
    is_integer = isinstance(split_seed, int | np.integer) and not isinstance(split_seed, bool)
    if not is_integer or not 0 <= split_seed < 2**32:  # type: ignore[operator]
        raise ValueError(f"split_seed must be an integer of at least 0 and below 2**32, got {split_seed!r}")


def _read_layout(file: Path) -> tuple[Domain, _Layout]:
    """Read a domain file, and check that its section ``csv`` agrees with the domain."""
    try:
        domain, section = read_domain_file(file)
    except OSError as error:
        raise DataError(f"cannot read the domain file {file.absolute()}: {error.strerror}") from error
    known = [field.name for field in fields(_Layout)]
    if not isinstance(section, dict) or not set(section) <= set(known):
        raise DomainError(f"{file}: csv may hold {', '.join(known)}, got {section!r}")
    try:
        layout = _Layout(**section)
    except DomainError as error:
        raise DomainError(f"{file}: {error}") from error
    used = [*domain.names, domain.target]
    if twice := [name for name in used if name in layout.ignore or name == layout.key]:
        raise DomainError(f"{file}: {twice[0]!r} is an attribute or the target, and cannot be ignored or key")
    values = [v for a in domain.attributes if isinstance(a, Categorical) for v in a.values]
    for marker in layout.missing:
        if any(_spells(str(marker), value) for value in (*values, *domain.classes)):
            raise DomainError(f"{file}: {marker!r} marks a missing value and is a value or class as well")
    return domain, layout


def _read_table(file: Path, *, domain: Domain, layout: _Layout, first_row: int) -> pd.DataFrame:
    """Read all cells as texts, under the columns' names and the records' keys."""
    try:
        # A header among the rows: pandas would rename columns that repeat.
        rows = read_csv(
            file.read_bytes(), header=None, dtype=str, skipinitialspace=True, encoding="utf-8-sig"
        )
    except OSError as error:
        raise DataError(f"cannot read {file.absolute()}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{file} is not a CSV file in UTF-8: {str(error).strip()}") from error
    table = rows.iloc[1:].set_axis(rows.iloc[0].tolist(), axis=1)
    _check_columns(table.columns.tolist(), domain=domain, layout=layout, file=file)
    keys = pd.RangeIndex(first_row, first_row + len(table)) if layout.key is None else table[layout.key]
    return table.set_axis(keys, axis=0)


def _check_columns(columns: list[str], *, domain: Domain, layout: _Layout, file: Path) -> None:
    needed = [*domain.names, domain.target, *([] if layout.key is None else [layout.key])]
    found = f"the file has {', '.join(map(repr, columns))}"
    if repeated := sorted({name for name in columns if columns.count(name) > 1}):
        raise DomainError(f"{file} has more than one column {repeated[0]!r}; rename or remove the others")
    if missing := [name for name in needed if name not in columns]:
        raise DomainError(f"{file} lacks the columns {', '.join(map(repr, missing))}; {found}")
    if unknown := [name for name in columns if name not in (*needed, *layout.ignore)]:
        raise DomainError(
            f"{file} has columns that the domain file does not mention: {', '.join(map(repr, unknown))}; "
            "add them to its attributes, or list them under csv: ignore"
        )


def _check_keys(tables: list[pd.DataFrame], *, key: str | None) -> None:
    keys = pd.concat([table.index.to_series() for table in tables])
    repeated = keys[keys.duplicated()]
    if len(repeated):
        raise DomainError(
            f"column {key!r} repeats a key in {len(repeated)} of {len(keys)} records, "
            f"first {repeated.iloc[0]!r}; keys must be unique, over the test file too"
        )


def _records(table: pd.DataFrame, *, domain: Domain, layout: _Layout, file: Path) -> pd.DataFrame:
    """Turn texts into records of the domain, without those that lack a value where the domain has none for that."""
    cells = table[[*domain.names, domain.target]]
    gone = cells.apply(_is_missing, markers=layout.missing)
    allowed = [a.name for a in domain.attributes if a.missing]
    gone[allowed] |= cells[allowed] == ""
    keep = ~gone.drop(columns=allowed).any(axis=1)
    cells = cells[keep].mask(gone[keep], None)
    spelt = domain.spelt(cells)
    way_out = "If the value marks what is missing, list it under csv: missing in the domain file"
    try:
        codes = domain.encode(spelt)
    except DomainError as error:
        raise DomainError(f"{file}: {error}. {way_out}") from error
    try:
        labels = domain.encode_labels(spelt_values(cells[domain.target], domain.classes))
    except DomainError as error:
        raise DomainError(f"{file}, column {domain.target!r}: {error}. {way_out}") from error
    columns: dict[str, Any] = {a.name: decoded(codes[:, j], a) for j, a in enumerate(domain.attributes)}
    columns[domain.target] = decoded(labels, Categorical(domain.target, domain.classes))
    return pd.DataFrame(columns, index=cells.index)


def _is_missing(column: pd.Series[str], markers: tuple[Hashable, ...]) -> pd.Series[bool]:
    return column.isin([cell for cell in column.unique() if any(_spells(cell, m) for m in markers)])


def _spells(cell: str, value: Hashable) -> bool:
    if isinstance(value, bool):
        return cell.lower() == str(value).lower()
    if isinstance(value, int | float):
        try:
            return "_" not in cell and float(cell) == value
        except ValueError:
            return False
    return cell == value
