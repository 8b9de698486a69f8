"""Domain files from the command line: skeletons for tables, and reports of what does not fit."""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import DataError, DomainError, visible
from ..files import check_new, unreadable, write_whole
from ..terminal import Parser, command, tell
from .attributes import UNFILLED
from .cells import check_columns, check_keys, encode_cells, read_layout, report
from .misfits import lacking
from .rows import PLAIN, CsvFormat, read_rows, separator_named, unpacked
from .yaml_text import dump

_HEAD = """\
# Public domain of the table {name}: fill in every "{UNFILLED}".
#
# This file says what anybody may know before looking at a record: bounds that values cannot leave, all values that a
# category can have, all classes. The draft fills in none of them. Read off the records, the largest income would be
# somebody's income, and a category that one person has would tell that this person is there. Take them from a
# codebook, a law, a form or common sense, and rather too wide than too narrow.
#
# Names and types come from the table: check the types. Numbers that are codes, such as one for male and two for
# female, are `categorical: [...]`. A column that names a person is no attribute: see the end of the file.
# Options of an attribute, in lines of their own: `missing: true`; of bounds `clip: true` and `unit: years`; of a list
# of values `unknown: other`.
"""
_END = """\
#   ignore: [name]      # columns that are not used
#   missing: ["", "?"]  # cells that stand for a missing value
#   key: id             # column with a unique key for each record
"""
_NO_NUMBERS = frozenset(
    ["", "na", "n/a", "nan", "null", "none", "-", "?", ".", "#n/a", "inf", "-inf"]
)  # nor words
_NUMBERS = [(".", ""), (",", ""), (",", "."), (",", " "), (",", "'"), (".", ","), (".", " "), (".", "'")]


def detected(file: Path) -> tuple[pd.DataFrame, CsvFormat]:
    """A CSV file with numbers where a column holds nothing else, and how it is written.

    Raises
    ------
    DataError, DomainError
        As for :func:`~dpnb.domain.rows.read_parts`.
    """
    written = PLAIN
    with suppress(OSError, ValueError, EOFError, zlib.error):  # which reading tells
        written = _separated(unpacked(file.read_bytes()).read())
    table = read_rows(file, written=written)
    cells = [
        {c.strip() for c in table.iloc[:, k] if c.strip().lower() not in _NO_NUMBERS}
        for k in range(table.shape[1])
    ]
    kinds = [replace(written, decimal=decimal, thousands=thousands) for decimal, thousands in _NUMBERS]
    counts = [sum(_all_numbers(column, kind) for column in cells) for kind in kinds]
    best = counts.index(max(counts))
    # Where semicolons do not tell that commas are decimal, 1,234 could be either number.
    if (
        kinds[best].decimal == ","
        and written.separator != ";"
        and counts[best] == counts[_NUMBERS.index((".", ","))]
    ):
        best = 0
    written = kinds[best]
    typed = {
        name: table[name].map(written.number)
        if _all_numbers(column, written)
        else table[name].replace("", None)
        for name, column in zip(table, cells, strict=True)
        if name  # a column without a name is not read
    }
    return pd.DataFrame(typed), written


def _all_numbers(cells: set[str], written: CsvFormat) -> bool:
    return bool(cells) and all(written.number(cell) is not None for cell in cells)


def _separated(content: bytes) -> CsvFormat:
    """Encoding and separator of a file."""
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        encoding, text = "cp1252", content.decode("cp1252")
    lines = [*islice(io.StringIO(text.removeprefix("\ufeff"), newline=""), 1000)]
    if named := separator_named(lines[0] if lines else ""):
        return CsvFormat(separator=named, encoding=encoding)

    def rows_alike(separator: str) -> int:
        widths = Counter(map(len, csv.reader(lines, delimiter=separator, skipinitialspace=True)))
        return max((count for width, count in widths.items() if width > 1), default=0)

    # What is rarer in words counts more.
    return CsvFormat(separator=max("\t|;,", key=rows_alike) if lines else ",", encoding=encoding)


def draft(
    table: pd.DataFrame, *, name: str, target: str, number: bool = False, written: CsvFormat = PLAIN
) -> str:
    """Skeleton of a domain file, with names and types of the columns, and no bounds, values or classes.

    Parameters
    ----------
    table : the data holder's records.
    name : name of the table, for the heading.
    target : name of the column to predict.
    number : whether it is a number, which has a range instead of classes.
    written : how the table is written, if it is a CSV file.

    Raises
    ------
    DomainError
        If the table has no such column.
    """
    columns = [str(column) for column in table.columns]
    notes = {
        "continuous": "lowest and highest possible value",
        "dates": "first and last possible day, such as 2001-12-31",
        "categorical": "all possible values",
    }
    if target not in columns:
        raise DomainError(
            f"no column {target!r} to predict: {name} {lacking([target], columns)}; --target names one"
        )
    two = f'["{UNFILLED}", "{UNFILLED}"]'
    predicted = [f"target: {_word(target)}", f"classes: {two}  # all classes"]
    if number:
        predicted = ["target:", f"  name: {_word(target)}", f"  range: {two}  # {notes['continuous']}"]
    lines = [_HEAD.format(name=visible(_word(name)), UNFILLED=UNFILLED), *predicted, "attributes:"]
    for column in columns:
        if column != target:
            kind = _kind(table[column])
            places = ", ".join([f'"{UNFILLED}"'] * (1 if kind == "categorical" else 2))
            entry = "categorical" if kind == "categorical" else "continuous"
            lines += [f"- name: {_word(column)}", f"  {entry}: [{places}]  # {notes[kind]}"]
            if kind == "dates" and not all(
                re.match(r"\d{4}-\d\d-\d\d", str(day)) for day in table[column].dropna()
            ):
                lines.append(f'  format: "{UNFILLED}"  # how they are written, such as "%d/%m/%Y"')
    csv_section = {
        f.name: value for f in fields(CsvFormat) if (value := getattr(written, f.name)) != f.default
    }
    entries = [f"  {key}: {_word(value)}" for key, value in csv_section.items()]
    if "encoding" in csv_section:
        entries[-1] += "  # are letters such as ä and é right?"
    how = "csv:                  # how to read the table"
    lines += [how, *entries] if entries else [f"# {how}; all of it may be left out"]
    return "\n".join([*lines, _END])


def _kind(column: pd.Series[Any]) -> str:
    """The type that a column seems to have, and nothing about its values."""
    if pd.api.types.is_bool_dtype(column):
        return "categorical"
    if pd.api.types.is_numeric_dtype(column):
        return "continuous"
    dates = pd.api.types.is_datetime64_any_dtype(column) or column.dropna().map(_is_date).all()
    return "dates" if dates and column.notna().any() else "categorical"


def _is_date(value: Any) -> bool:
    pattern = r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b"
    return isinstance(value, date) or (isinstance(value, str) and re.match(pattern, value) is not None)


def _word(text: str) -> str:
    """A text as YAML has it."""
    return dump([text]).strip().removeprefix("[").removesuffix("]").removeprefix("- ")


@command()
def main(arguments: Sequence[str], /) -> int:
    """Draft a domain file, or check a table against one."""
    parser = Parser(prog="dpnb domain", description=main.__doc__)
    commands = parser.add_subparsers(required=True, dest="command", metavar="draft | check")
    drafting = commands.add_parser("draft", help="write a skeleton: names and types, no bounds and no values")
    drafting.add_argument("table", type=Path, help="CSV or Parquet file")
    drafting.add_argument("--target", required=True, help="column to predict")
    drafting.add_argument("--number", action="store_true", help="it is a number, and no class")
    drafting.add_argument("--out", type=Path, help="file to write (default: print)")
    checking = commands.add_parser("check", help="tell everything in a table that does not fit, with values")
    checking.add_argument("domain", type=Path, help="domain file")
    checking.add_argument("table", type=Path, help="CSV or Parquet file")
    options = parser.parse_args(arguments)
    if options.command == "check":
        return _check(options.domain, options.table)
    parquet = options.table.suffix == ".parquet"
    try:
        if options.out is not None:
            check_new(options.out)
        table, written = (_parquet(options.table), PLAIN) if parquet else detected(options.table)
        how = {"target": options.target, "number": options.number, "written": written}
        text = draft(table, name=options.table.name, **how)
        if options.out is None:
            tell(text, document=True)
        else:
            write_whole(options.out, text)
    except OSError as error:
        raise DataError(f"cannot write {options.out}: {error.strerror or error}") from error
    return 0


def _check(domain_file: Path, table_file: Path) -> int:
    domain, layout = read_layout(domain_file)
    typed = table_file.suffix == ".parquet"
    table = _parquet(table_file) if typed else read_rows(table_file, written=domain.written)
    check_columns(map(str, table), domain=domain, layout=layout, file=table_file, labels=False)
    check_keys([table], key=layout.key)
    if table.empty:
        raise DataError(f"{table_file} holds column names only; expected a line for each record below them")
    if typed:
        records = domain.spelt(table[list(domain.names)])
        labels = domain.spelt_labels(table[domain.target]) if domain.target in table else None
        domain.check(records, labels)
        keep = np.ones(len(table), np.bool_)
    else:
        *_, keep = encode_cells(table, domain=domain, layout=layout, file=table_file)
    absent = f"\nthere are no labels: the table has no column {domain.target!r}"
    said = report(table, keep, domain=domain, layout=layout, file=domain_file)
    tell(said + absent * (domain.target not in table))
    return 0


def _parquet(path: Path) -> pd.DataFrame:
    try:
        records: pd.DataFrame = pd.read_parquet(path)
        return records
    except OSError as error:
        raise DataError(unreadable(path, error)) from error
    except ImportError as error:
        raise DataError(f"Parquet files need pyarrow: pip install pyarrow ({error})") from error
    except ValueError as error:
        raise DataError(
            f"{path} is not a Parquet file: {' '.join(str(error).split())}; write it again"
        ) from error
