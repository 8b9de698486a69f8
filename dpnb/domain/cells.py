"""A CSV file as texts, read by the rules of its domain file; loading and checking a table share them."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..arrays import Floats
from ..checks import check_share
from ..errors import DataError, DomainError, closest
from ..files import unreadable
from .attributes import listed
from .domain import Domain, read_domain_file
from .encoding import unmarked
from .misfits import lacking

# With a header, pandas would rename columns that repeat, and would take a surplus column for an index.
LINE = "line"  # name of an index that holds lines of a file
AS_TEXTS: dict[str, Any] = {"dtype": str, "na_filter": False, "skipinitialspace": True}


@dataclass(frozen=True)
class CsvSection:
    """What a domain's own markers leave of the section ``csv``; a single text stands for a list of one."""

    ignore: Any = ()
    key: str | None = None
    test_share: float = 0.3
    split_seed: int = 0

    def __post_init__(self) -> None:
        entries = tuple(self.ignore) if isinstance(self.ignore, list | tuple) else (self.ignore,)
        if not all(isinstance(entry, str | int | float) for entry in entries):
            raise DomainError(
                f"csv: ignore must be a list of texts or numbers, got {self.ignore!r}; write [a, b]"
            )
        object.__setattr__(self, "ignore", entries)
        if self.key is not None and not isinstance(self.key, str):
            raise DomainError(f"csv: key must be the name of a column, got {self.key!r}; write it in quotes")
        try:
            check_share("test_share", self.test_share)
            check_split_seed(self.split_seed)
        except ValueError as error:
            raise DomainError(f"csv: {error}") from error


def check_split_seed(split_seed: object) -> None:
    """Raise a ValueError unless the seed of a split is an integer from 0 to 2**32 - 1."""
    is_integer = isinstance(split_seed, int | np.integer) and not isinstance(split_seed, bool)
    if not is_integer or not 0 <= split_seed < 2**32:  # type: ignore[operator]
        raise ValueError(
            f"split_seed must be an integer of at least 0 and below 2**32, got {split_seed!r}; 0 is the default"
        )


def read_layout(file: Path) -> tuple[Domain, CsvSection]:
    """Read a domain file, and check that its section ``csv`` agrees with the domain.

    Raises
    ------
    DataError, DomainError
        If the file cannot be read, or makes no sense.
    """
    domain, section = read_domain_file(file)
    known = ["missing", *(field.name for field in fields(CsvSection))]
    if not isinstance(section, dict) or not set(section) <= set(known):
        unknown = (
            next((key for key in section if key not in known), None) if isinstance(section, dict) else None
        )
        close = closest(unknown, known)
        hint = f"; did you mean {close!r}?" if close else "; cells are separated by commas, in UTF-8"
        raise DomainError(f"{file}: csv may hold {', '.join(known)}, got {section!r}{hint}")
    try:
        layout = CsvSection(**section)
    except DomainError as error:
        raise DomainError(f"{file}: {error}") from error
    used = [*domain.names, domain.target]
    if twice := [name for name in used if name in layout.ignore or name == layout.key]:
        raise DomainError(
            f"{file}: {twice[0]!r} is an attribute or the target, and cannot be ignored or key; name it once"
        )
    return domain, layout


def read_csv(content: bytes, **how: Any) -> pd.DataFrame:
    """Read a CSV file's bytes, in which a category such as "?" or "None" stays what it is.

    **Privacy.** Without ``dtype`` among the options of :func:`pandas.read_csv`, columns' types come from the records.
    """
    frame: pd.DataFrame = pd.read_csv(io.BytesIO(content), na_filter=False, **how)
    return frame


def read_cells(file: Path) -> pd.DataFrame:
    """All cells of a CSV file as texts, under the names in its first line; it may be compressed by gzip.

    Raises
    ------
    DataError
        If the file cannot be read, or is no CSV in UTF-8.
    DomainError
        If two columns have one name.
    """
    rows = _parsed(file, header=None, **AS_TEXTS)
    return rows.iloc[1:].set_axis(_header(rows, name=str(file)), axis=1).reset_index(drop=True)


def read_parts(source: Any, *, size: int, name: str) -> Iterator[pd.DataFrame]:
    """The same for a file that is too large for memory, some records at a time; the first part may be empty.

    Parameters
    ----------
    source : path or binary stream.
    size : largest number of records of a part.
    name : name of the source, for errors.
    """
    header: list[str] | None = None
    for rows in pd.read_csv(source, header=None, encoding="utf-8-sig", chunksize=size, **AS_TEXTS):
        first = header is None
        header = header or _header(rows, name=name)
        yield (
            rows.iloc[int(first) :]
            .set_axis(header, axis=1)
            .set_axis(rows.index[int(first) :].rename(LINE) + 1)
        )


def _header(rows: pd.DataFrame, *, name: str) -> list[str]:
    columns: list[str] = rows.iloc[0].tolist()
    if repeated := sorted({column for column in columns if columns.count(column) > 1}):
        raise DomainError(f"{name} has more than one column {repeated[0]!r}; rename or remove the others")
    return columns


def read_typed(file: Path) -> pd.DataFrame:
    """A CSV file with the types that pandas sees in its columns, for a draft, which states types and no more."""
    return _parsed(file, skipinitialspace=True)


def _parsed(file: Path, **how: Any) -> pd.DataFrame:
    """A CSV file; DataError if it cannot be read, or is none in UTF-8."""
    try:
        content = file.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        check_head(content[:4], name=str(file))
        found: pd.DataFrame = pd.read_csv(io.BytesIO(content), encoding="utf-8-sig", **how)
        return found
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{file} is a damaged gzip file: {error}; compress the table again") from error
    except OSError as error:
        raise DataError(unreadable(file, error)) from error
    except ValueError as error:
        raise DataError(f"{file} is not a CSV file in UTF-8: {csv_problem(error)}") from error


def check_head(head: bytes, *, name: str) -> None:
    """Raise DataError if a file that ought to be a CSV begins like something else."""
    foreign = {  # how files begin that are no CSV
        b"PK\x03\x04": "an Excel file or another archive; save the table as CSV",
        b"\xd0\xcf\x11\xe0": "an Excel file; save the table as CSV",
        b"PAR1": "a Parquet file; name it so, FILE.parquet, or write the table as CSV",
        b"\xff\xfe": "text in UTF-16; save it in UTF-8",
        b"\xfe\xff": "text in UTF-16; save it in UTF-8",
    }
    for mark, what in foreign.items():
        if head.startswith(mark):
            raise DataError(f"{name} is not a CSV file in UTF-8, but {what}")


def csv_problem(error: Exception) -> str:
    """What is wrong with a CSV file that pandas cannot read, and what to do."""
    text = " ".join(str(error).split())
    if isinstance(error, pd.errors.EmptyDataError):
        return "it is empty; expected a line of column names, and a line for each record"
    if isinstance(error, UnicodeDecodeError):
        return f"{error.reason}, byte {error.object[error.start]:#x}; save it in UTF-8"
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text):
        expected, line, saw = found.groups()
        return f"line {line} has {saw} cells, expected {expected}; put cells that hold commas in quotes"
    if found := re.search(r"EOF inside string starting at row (\d+)", text):
        return f"a quote in line {int(found[1]) + 1} is never closed; close it, or fetch the whole file"
    return text


def check_columns(
    columns: Iterable[str], *, domain: Domain, layout: CsvSection, file: Path, labels: bool = True
) -> None:
    """Raise DomainError unless a table has all columns that a domain file names, and no others.

    Parameters
    ----------
    labels : whether the class labels are needed.
    """
    found = list(columns)
    known = [*domain.names, domain.target, *([] if layout.key is None else [layout.key])]
    needed = [name for name in known if labels or name != domain.target]
    if problem := lacking(needed, found):
        raise DomainError(f"{file} {problem}")
    if unknown := [name for name in found if name not in (*known, *layout.ignore)]:
        raise DomainError(
            f"{file} has columns that the domain file does not mention: {listed(unknown, limit=20)}; "
            "add them to its attributes, or list them under csv: ignore"
        )


def check_keys(tables: Sequence[pd.DataFrame], *, key: str | None) -> None:
    """Raise DomainError if index labels of tables repeat, which the column ``key`` holds."""
    keys = pd.concat([table.index.to_series() for table in tables])
    repeated = keys[keys.duplicated()]
    if len(repeated):
        raise DomainError(
            f"column {key!r} repeats a key in {len(repeated)} of {len(keys)} records, first {repeated.iloc[0]!r}; keys "
            "must be unique, over the test file too: name another column under csv: key, or leave it out"
        )


def encode_cells(
    table: pd.DataFrame, *, domain: Domain, layout: CsvSection, file: Path
) -> tuple[Floats, NDArray[Any] | None, pd.Index]:
    """Codes of the records, codes of their labels if there are some, and the index of the records that are kept.

    Records with a marker of missing values are left out where the domain allows no missing value. A number to predict
    is its own code.

    Parameters
    ----------
    table : table of texts, as :func:`read_cells` gives it.

    Raises
    ------
    DomainError If something does not fit; one message reports on all columns and the labels.
    """
    with_labels = domain.target in table
    needed = [a for a in domain.attributes if not a.missing] + [domain.label] * with_labels
    gone = [unmarked(table[a.name], a, domain.missing).isna() for a in needed]
    cells = table[~np.any(gone, axis=0)] if needed else table
    problems, codes, labels = [], np.empty((0, 0)), None
    try:
        codes = domain.encode(domain.spelt(cells))
    except DomainError as error:
        problems.append(str(error))
    try:
        if with_labels:
            labels = domain.encode_labels(domain.spelt_labels(cells[domain.target]))
    except DomainError as error:
        problems.append(str(error) if domain.response else f"column {domain.target!r}: {error}")
    if problems:
        way_out = "If a value marks what is missing, list it under csv: missing in the domain file"
        raise DomainError(f"{file}: " + "\n".join(problems) + f". {way_out}")
    return codes, labels, cells.index
