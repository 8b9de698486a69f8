"""Tables of the user's own, given by a CSV file and a domain file that states all that is public about it.

The domain file has the format of :meth:`Domain.to_yaml <dpnb.Domain.to_yaml>`, and may have a section ``csv``::

    target: income
    classes: [low, high]
    attributes: [{name: age, continuous: [0, 120]}, {name: sex, categorical: [Female, Male]}]
    csv:                  # all of it may be left out
      ignore: [name]      # columns that are not used
      missing: ["", "?"]  # cells that stand for a missing value; records with one are left out
      key: id             # column with a unique key for each record; by default the row numbers from 0
      person: patient     # column that says whose each record is; the model then protects people
      test_share: 0.3     # probability that a record is held back for testing
      split_seed: 0       # another seed, another split
      separator: ";"      # between cells; by default a comma
      decimal: ","        # by default a point
      thousands: "."      # between groups of three digits; by default nothing
      encoding: cp1252    # by default UTF-8

Where a number is to be predicted, the target has a range, and there are no classes::

    target: {name: price, range: [0, 20000], unit: dollars}

Nothing is learnt from the records, not even whether a column holds numbers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from ..arrays import Bools
from ..checks import check_path
from ..domain import Domain
from ..domain.cells import (
    CsvSection,
    check_columns,
    check_keys,
    check_split_seed,
    encode_cells,
    ids_of,
    read_layout,
    report,
)
from ..domain.encoding import decoded
from ..domain.people import people_of
from ..domain.rows import read_rows
from ..errors import DataError
from ..records.bags import Keys, label_keys, uniforms


def load_csv(
    *,
    data_dir: Path | None,
    path: Path,
    domain: str | os.PathLike[str] | None = None,
    test: str | os.PathLike[str] | None = None,
    split_seed: int | None = None,
    person: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, Domain, str | None]:
    """Training part, test part and domain of a CSV file; :func:`dpnb.load` calls this for the name ``csv:FILE``.

    The fourth is the name of the column that says whose each record is, or None. The parts have attributes, labels, and
    that column, indexed by the records' keys. Continuous attributes, and numbers to predict,
    are float64; all others, and class labels, have the type of the public values, so that a cell ``1.0`` is the value
    ``1``.

    Parameters
    ----------
    data_dir : not used, because the paths are taken as they are.
    path : a file with one line of column names, written as the section ``csv`` says, or such a file compressed by gzip.
        Spaces after a separator do not count, nor do columns without a name.
    domain : path of the domain file.
    test : path of a file of the same form that holds the test part. Without it a keyed hash of the seed and of the
        record's key, or of its person, decides whether a record is held back.
    split_seed : seed of the split, instead of the domain file's.
    person : column that says whose each record is, instead of the domain file's.

    Raises
    ------
    TypeError, ValueError, DataError, DomainError As for :func:`dpnb.load`; also if a file leaves no record to train or
        to test on.

    Notes
    -----
    **Privacy.** Everything comes from the domain file, and each record is read, left out or held back by itself, which
    costs nothing. Adding or removing a record moves no other one between the parts, as long as the others keep their
    keys. Errors show values of records, so only the data holder may see them.
    """
    if not isinstance(domain, str | os.PathLike):
        got = "None" if domain is None else f"an object of type {type(domain).__name__}"
        raise TypeError(
            f"a CSV file needs domain=, the path of a YAML file that states what is public; got {got}; "
            "`dpnb domain draft` writes a skeleton of one"
        )
    if test is not None and split_seed is not None:
        raise ValueError("with a test file nothing is split: leave out test or split_seed")
    public, layout = read_layout(Path(domain), person=person)
    seed = layout.split_seed if split_seed is None else split_seed
    check_split_seed(seed)
    files = [path] if test is None else [path, check_path("test", test, such="test.csv")]
    tables = [_cells(file, domain=public, layout=layout) for file in files]
    check_keys(tables, key=layout.key)
    parts, first_row = [], 0
    for table, file in zip(tables, files, strict=True):
        found, _ = _records(table, domain=public, layout=layout, file=file, first_row=first_row)
        _check_some(found, table, file=file, purpose="train on" if file is path else "test on")
        parts.append(found)
        first_row += len(table)
    if test is None:
        # Far from the streams of the trees, should a forest have the seed of the split.
        drawn = uniforms(_split_keys(parts[0], layout.person), seed=int(seed), stream=2**32)
        parts = [parts[0][drawn >= layout.test_share], parts[0][drawn < layout.test_share]]
    for part, purpose in zip(parts, ("train", "test"), strict=True):
        if part.empty:
            raise DataError(
                f"{path} leaves no record to {purpose} on: expected more records than {first_row}; csv: test_share "
                "says how many are held back, and `dpnb fit` learns from all"
            )
    return parts[0], parts[1], public, layout.person


def _split_keys(records: pd.DataFrame, person: str | None) -> Keys:
    """Keys by which records are held back, all of a person or none; a record of nobody goes by itself."""
    keys = label_keys(records.index)
    if person is not None:
        people = people_of(records[person])
        keys[people.known] = label_keys(people.names)[people.person]
    return keys


def read_all(
    path: Path, *, domain: Path, person: str | None = None
) -> tuple[pd.DataFrame, Domain, str | None, str]:
    """All records of a CSV file, none of which is held back, their domain, and a report for the data holder.

    Other parameters, errors and privacy are those of :func:`load_csv`; the third is the name of the column of people.

    Parameters
    ----------
    person : column that says whose each record is, instead of the domain file's.
    """
    public, layout = read_layout(domain, person=person)
    table = _cells(path, domain=public, layout=layout)
    check_keys([table], key=layout.key)
    records, keep = _records(table, domain=public, layout=layout, file=path, first_row=0)
    _check_some(records, table, file=path, purpose="learn from")
    return records, public, layout.person, report(table, keep, domain=public, layout=layout, file=domain)


def _check_some(records: pd.DataFrame, table: pd.DataFrame, *, file: Path, purpose: str) -> None:
    """Raise DataError if a table has no record, or none that is kept."""
    if not records.empty:
        return
    why = "it holds column names only; expected a line for each record below them"
    if len(table):
        why = (
            f"each of its {len(table)} records lacks a value in some column; write `missing: true` for attributes that "
            "may have none"
        )
    raise DataError(f"{file} leaves no record to {purpose}: {why}")


def _cells(file: Path, *, domain: Domain, layout: CsvSection) -> pd.DataFrame:
    """All cells of a table as texts."""
    table = read_rows(file, written=domain.written)
    check_columns(table.columns, domain=domain, layout=layout, file=file)
    return table


def _records(
    table: pd.DataFrame, *, domain: Domain, layout: CsvSection, file: Path, first_row: int
) -> tuple[pd.DataFrame, Bools]:
    """Records of the domain, indexed by their keys, and which of the table's they are: some may lack a value."""
    codes, labels, keep = encode_cells(table, domain=domain, layout=layout, file=file)
    assert labels is not None
    columns: dict[str, Any] = {a.name: decoded(codes[:, j], a) for j, a in enumerate(domain.attributes)}
    columns[domain.target] = decoded(labels, domain.label)
    if (ids := ids_of(table, domain=domain, layout=layout)) is not None:
        columns[str(ids.name)] = ids[keep].to_numpy()
    rows = pd.RangeIndex(first_row, first_row + len(table))
    keys = rows if layout.key is None else pd.Index(table[layout.key])
    return pd.DataFrame(columns, index=keys[keep]), keep
