"""Tables of the user's own, given by a CSV file and a domain file that states all that is public about it.

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

Where a number is to be predicted, the target has a range, and there are no classes::

    target: {name: price, range: [0, 20000], unit: dollars}

Nothing is learnt from the records, not even whether a column holds numbers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd

from ..checks import check_path
from ..domain import Domain
from ..domain.cells import (
    CsvSection,
    check_columns,
    check_keys,
    check_split_seed,
    encode_cells,
    read_cells,
    read_layout,
)
from ..domain.encoding import decoded
from ..errors import DataError
from ..records.bags import label_keys, uniforms


def load_csv(
    *,
    data_dir: Path | None,
    path: Path,
    domain: str | os.PathLike[str] | None = None,
    test: str | os.PathLike[str] | None = None,
    split_seed: int | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, Domain]:
    """Training part, test part and domain of a CSV file; :func:`dpnb.load` calls this for the name ``csv:FILE``.

    The parts have attributes and labels, indexed by the records' keys. Continuous attributes, and numbers to predict,
    are float64; all others, and class labels, have the type of the public values, so that a cell ``1.0`` is the value
    ``1``.

    Parameters
    ----------
    data_dir : not used, because the paths are taken as they are.
    path : a file in UTF-8 with commas and one line of column names, or such a file compressed by gzip. Spaces after a
        comma do not count.
    domain : path of the domain file.
    test : path of a file of the same form that holds the test part. Without it a keyed hash of the seed and of the
        record's key decides whether a record is held back.
    split_seed : seed of the split, instead of the domain file's.

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
    public, layout = read_layout(Path(domain))
    seed = layout.split_seed if split_seed is None else split_seed
    check_split_seed(seed)
    tables: list[pd.DataFrame] = []
    files = [path] if test is None else [path, check_path("test", test, such="test.csv")]
    for file in files:
        tables.append(_keyed(file, domain=public, layout=layout, first_row=sum(map(len, tables))))
    check_keys(tables, key=layout.key)
    records = [_records(t, domain=public, layout=layout, file=f) for t, f in zip(tables, files, strict=True)]
    if test is None:
        # Far from the streams of the trees, should a forest have the seed of the split.
        drawn = uniforms(label_keys(records[0].index), seed=int(seed), stream=2**32)
        records = [records[0][drawn >= layout.test_share], records[0][drawn < layout.test_share]]
    for part, purpose, file in zip(records, ("train", "test"), (files[0], files[-1]), strict=True):
        if part.empty:
            raise DataError(
                f"{file} leaves no record to {purpose} on: expected more records, with values in all columns; "
                "csv: test_share says how many are held back"
            )
    return records[0], records[1], public


def _keyed(file: Path, *, domain: Domain, layout: CsvSection, first_row: int) -> pd.DataFrame:
    """All cells of a table as texts, indexed by the records' keys."""
    table = read_cells(file)
    check_columns(table.columns, domain=domain, layout=layout, file=file)
    keys = pd.RangeIndex(first_row, first_row + len(table)) if layout.key is None else table[layout.key]
    return table.set_axis(keys, axis=0)


def _records(table: pd.DataFrame, *, domain: Domain, layout: CsvSection, file: Path) -> pd.DataFrame:
    """Turn texts into records of the domain, without those that lack a value where the domain has none for that."""
    codes, labels, index = encode_cells(table, domain=domain, layout=layout, file=file)
    assert labels is not None
    columns: dict[str, Any] = {a.name: decoded(codes[:, j], a) for j, a in enumerate(domain.attributes)}
    columns[domain.target] = decoded(labels, domain.label)
    return pd.DataFrame(columns, index=index)
