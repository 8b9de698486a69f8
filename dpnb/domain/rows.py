"""The rows of a CSV file as texts, each with its line, and in plain words what is wrong with a file that has none."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from ..errors import DataError, DomainError
from ..files import unreadable
from .attributes import short

GZIP = b"\x1f\x8b"
LINE = "line"  # name of an index that holds lines of a file
SEPARATORS = ",;\t|"  # that are usual
IN_THE_FILE = "under csv: in the domain file"
_FOREIGN = {  # how files begin that are no CSV
    rb"PK\x03\x04": "an Excel file or another archive; save the table as CSV",
    rb"\xd0\xcf\x11\xe0": "an Excel file; save the table as CSV",
    rb"PAR1": "a Parquet file; draft, check and predict read one that is named FILE.parquet, all others need a CSV: "
    "pd.read_parquet(...).to_csv(..., index=False) writes one",
    rb"BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf|Rar!": "an archive; unpack it, or compress it by gzip",
    GZIP: "compressed by gzip twice; unpack it once",
    rb"ARROW1|FEA1|\x89HDF|\x93NUMPY|SQLite format|%PDF|\x80[\x02-\x05]": "a binary file; save the table as CSV",
    rb"\s*(?i:<!doctype|<html|<\?xml)": "a web page or XML, perhaps an error of a server; fetch the table again",
    rb"\s*(\{\s*[\"}]|\[\s*[\[{\"])": "JSON; pd.read_json(..., lines=...) reads it, and to_csv writes a CSV",
}


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written, as the section ``csv`` of a domain file says.

    Raises
    ------
    DomainError If a file cannot be written so.
    """

    separator: str = ","  # character between cells
    decimal: str = "."  # "." or ","
    # What stands between groups of three digits; a space stands for those that do not break, too.
    thousands: str = ""
    encoding: str = "utf-8"  # name of an encoding that Python knows

    def __post_init__(self) -> None:
        one = isinstance(self.separator, str) and len(self.separator) == 1
        if not one or self.separator.isalnum() or self.separator in "\"' .\n\r\0":
            raise DomainError(
                f"csv: separator must be one character, got {self.separator!r}; write it in double quotes, "
                'as ";" or "\\t"'
            )
        if self.decimal not in (".", ","):
            raise DomainError(f'csv: decimal must be "." or ",", got {self.decimal!r}; write it in quotes')
        if self.thousands not in ("", ".", ",", " ", "'") or self.thousands == self.decimal:
            raise DomainError(
                f'csv: thousands must be another one of ".", ",", " " and "\'" than decimal, got '
                f"{self.thousands!r}; leave it out if digits are not grouped"
            )
        try:
            "a".encode(self.encoding)
        except (LookupError, TypeError, ValueError) as error:
            raise DomainError(
                f"csv: encoding must be one that Python knows, got {short(self.encoding)}; utf-8 and cp1252 are usual"
            ) from error

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as Python writes them."""
        return (self.decimal, self.thousands) == (".", "")

    @property
    def is_utf_8(self) -> bool:
        """Whether the file is in UTF-8, whose mark at the beginning may be there."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig")

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Of a number, and of what stands between its thousands."""
        between = {" ": "[ \u00a0\u2009\u202f]", "'": "['’]"}.get(self.thousands, re.escape(self.thousands))
        whole = rf"(?:\d{{1,3}}(?:{between}\d{{3}})+|\d+)" if between else r"\d+"
        point = re.escape(self.decimal)
        number = rf"\s*[+-]?(?:{whole}(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?\s*"
        return re.compile(number), re.compile(between)

    def number(self, cell: str) -> float | None:
        """The number that a cell states; None if it is none, as 1.5 is none where decimals have commas."""
        number, between = self._patterns
        if not number.fullmatch(cell):
            return None
        return float((between.sub("", cell) if self.thousands else cell).replace(self.decimal, "."))

    def read(self, column: pd.Series[Any], *, but: Collection[object] = ()) -> pd.Series[Any]:
        """A column of texts with the numbers that they state; other types, and the texts in ``but``, are left alone."""
        if self.is_plain or not (column.dtype == object or pd.api.types.is_string_dtype(column.dtype)):
            return column

        def meant(cell: object) -> object:
            if not isinstance(cell, str) or cell in but:
                return cell
            number = self.number(cell)
            return Unread(cell) if number is None else number

        return column.astype(object).map({cell: meant(cell) for cell in column.unique()}, na_action="ignore")


PLAIN = CsvFormat()  # as everywhere, unless a domain file says otherwise


class Unread(str):
    """A text that is no number as its file is written, whatever Python takes it for."""

    __slots__ = ()


def read_rows(file: Path, *, written: CsvFormat) -> pd.DataFrame:
    """All cells of a CSV file as texts, indexed by their lines; errors are those of :func:`read_parts`."""
    try:
        with file.open("rb") as source:
            return pd.concat(list(read_parts(source, written=written, size=50_000, name=str(file))))
    except OSError as error:
        raise DataError(unreadable(file, error)) from error


def read_parts(source: BinaryIO, *, written: CsvFormat, size: int, name: str) -> Iterator[pd.DataFrame]:
    """The cells of a CSV file as texts under the names in its first line, some records at a time.

    The index holds the line of the file in which each record begins. The first part may be empty.

    Parameters
    ----------
    source : bytes of the file, which may be compressed by gzip.
    size : largest number of records of a part.
    name : name of the file, for errors.

    Raises
    ------
    DataError If it is no such file, or some row has another number of cells than the first one.
    DomainError If two columns have one name.
    """
    rows = _rows(source, written, name)
    _, header = next(rows)
    if repeated := sorted({column for column in header if column and header.count(column) > 1}):
        raise DomainError(
            f"{name} has more than one column {short(repeated[0])}; rename or remove the others"
        )
    part, first = list(islice(rows, size)), True
    while part or first:
        index = pd.Index([line for line, _ in part], name=LINE, dtype="int64")
        yield pd.DataFrame([row for _, row in part], columns=header, index=index, dtype=str)
        part, first = list(islice(rows, size)), False


def _rows(source: BinaryIO, written: CsvFormat, name: str) -> Iterator[tuple[int, list[str]]]:
    """Rows with their lines, each with as many cells as the first, of which there is one at least."""
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))  # a long text is no error
    lines = _lines(source, written, name)
    reader = csv.reader(lines, delimiter=written.separator, skipinitialspace=True, strict=True)
    line, at = 1, 0
    header: list[str] = []
    try:
        for row in reader:
            if row == [""] and len(header) > 1:
                row = []  # a line of spaces
            if row and not header:
                header, at = row, line
                yield line, row
            elif len(row) > 1 and row == header:
                raise DataError(
                    f"{name} repeats the column names in line {line}; remove it. Were files joined?"
                )
            elif row:
                if len(row) != len(header):
                    raise DataError(f"{name}: {_ragged(row, line, header, at, written)}")
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{name}: {_misquoted(str(error), line, reader.line_num)}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{name} is a damaged gzip file: {error}; compress the table again") from error
    except UnicodeError as error:
        raise DataError(f"{name} {_misspelt(error, reader.line_num, written)}") from error
    if not header:
        raise DataError(f"{name} is empty; expected a line of column names, and a line for each record")


def _lines(source: BinaryIO, written: CsvFormat, name: str) -> Iterator[str]:
    """Lines as they are, without Excel's first one that names the separator."""
    stream = unpacked(source)
    _check_head(stream.peek(2), written, name=name)
    encoding = "utf-8-sig" if written.is_utf_8 else written.encoding
    for number, line in enumerate(io.TextIOWrapper(stream, encoding=encoding, newline=""), 1):
        if "\0" in line:
            raise DataError(
                f"{name} holds the character NUL in line {number}; is the file damaged, or in UTF-16? Write it again"
            )
        if number == 1 and (named := separator_named(line)):
            if named != written.separator:
                raise DataError(f"{name}: the first line names the separator {named!r}; {stated(named)}")
            line = "\n"  # a blank line, so that lines are counted as they are
        yield line


def unpacked(source: BinaryIO | bytes) -> io.BufferedReader[Any]:
    """A file's bytes, whether they are compressed by gzip or not."""
    raw: Any = io.BytesIO(source) if isinstance(source, bytes) else source
    stream = io.BufferedReader(raw)
    if not stream.peek(2).startswith(GZIP):
        return stream
    raw = gzip.GzipFile(fileobj=stream)
    return io.BufferedReader(raw)


def separator_named(line: str) -> str | None:
    """The separator that Excel's first line ``sep=;`` names; None if the line is another."""
    named = re.fullmatch(r'"?sep=(.)"?\s*', line)
    return named and named[1]


def _check_head(head: bytes, written: CsvFormat, *, name: str) -> None:
    """Raise DataError if a file that ought to be a CSV begins like something else."""
    for mark, what in _FOREIGN.items():
        if re.match(mark, head):
            raise DataError(f"{name} is not a CSV file, but {what}")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and written.is_utf_8:
        raise DataError(
            f"{name} is not a CSV file in UTF-8, but text in UTF-16; write `encoding: utf-16` {IN_THE_FILE}, or save "
            "it in UTF-8"
        )


def stated(separator: str) -> str:
    """How to state a separator."""
    return f"write `separator: {json.dumps(separator)}` {IN_THE_FILE}, as pd.read_csv(..., sep={separator!r}) has it"


def _ragged(row: list[str], line: int, header: list[str], at: int, written: CsvFormat) -> str:
    """A row with another number of cells than there are column names, and what is probably wrong."""
    separator, more = written.separator, len(row) - len(header)
    what = f"line {line} has {len(row)} cell{'s' * (len(row) != 1)}, expected {len(header)}, as line {at} has"
    title, text = (short(separator.join(cells)) for cells in (header, row))
    other = [mark for mark in SEPARATORS if mark != separator and mark in header[0]]
    if len(header) == 1 and other:
        return f"{what}; its cells seem to be separated by {other[0]!r}: {stated(other[0])}"
    if row[0].startswith("#") and not header[0].startswith("#"):
        return f"{what}; it reads {text}: remove what is a comment"
    if more > 0 and (len(header) == 1 or header[0].startswith("#")):
        return f"{what}; line {at} reads {title}: remove titles and comments above the column names"
    if more > 0 and not "".join(row[len(header) :]):
        return f"{what}; those beyond are empty: remove the separators at the end of lines"
    if more > 0:
        numbered = "; if row numbers have no name in the first line, write one" if more == 1 else ""
        return f"{what}; put cells that hold {separator!r} in quotes, such as numbers with decimal commas{numbered}"
    if not "".join(header[len(row) :]):
        return f"{what}; line {at} ends with separators: remove them"
    way_out = "was the file cut there? Mend cells with a line break, remove totals and further tables"
    return f"{what}; it reads {text}: {way_out}"


def _misquoted(error: str, line: int, end: int) -> str:
    """What is wrong with the quotes of a row."""
    if "end of data" in error:
        return f"a quote in line {line} is never closed; close it, or fetch the whole file"
    where = f"line {line}" if line == end else f"lines {line} to {end}"
    return f"a cell in {where} goes on after its closing quote; close it before, and double the quotes inside of a cell"


def _misspelt(error: UnicodeError, line: int, written: CsvFormat) -> str:
    """What is wrong with letters after a line that could be read."""
    odd = ""
    if isinstance(error, UnicodeDecodeError):  # the text is decoded some thousand bytes ahead
        line += len((error.object[: error.start] + b"x").splitlines())
        odd = f": byte {error.object[error.start]:#x} in line {line}"
    old = f"write `encoding: cp1252` {IN_THE_FILE} if Excel or an old program wrote it, or save it in UTF-8"
    way_out = old if written.is_utf_8 else f"mend `encoding:` {IN_THE_FILE}"
    return f"is not a CSV file in {written.encoding.upper()}{odd}; {way_out}"
