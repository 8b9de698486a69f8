"""Domain files from the command line: skeletons for tables, and reports of what does not fit."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import DataError, DomainError
from ..files import unreadable, write_whole
from .attributes import UNFILLED
from .cells import check_columns, check_keys, encode_cells, read_cells, read_layout, read_typed
from .misfits import lacking
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
# csv:                  # how to read the table; all of it may be left out
#   ignore: [name]      # columns that are not used
#   missing: ["", "?"]  # cells that stand for a missing value
#   key: id             # column with a unique key for each record
"""


def draft(table: pd.DataFrame, *, name: str, target: str, number: bool = False) -> str:
    """Skeleton of a domain file, with names and types of the columns, and no bounds, values or classes.

    Parameters
    ----------
    table : the data holder's records.
    name : name of the table, for the heading.
    target : name of the column to predict.
    number : whether it is a number, which has a range instead of classes.

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
    lines = [_HEAD.format(name=name, UNFILLED=UNFILLED), *predicted, "attributes:"]
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


def main(arguments: Sequence[str] | None = None, *, prog: str = "python -m dpnb.domain") -> int:
    """Command line: draft a domain file, or check a table against one."""
    parser = argparse.ArgumentParser(prog=prog, description=main.__doc__)
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
    try:
        if options.command == "check":
            return _check(options.domain, options.table)
        table = _parquet(options.table) if options.table.suffix == ".parquet" else read_typed(options.table)
        text = draft(table, name=options.table.name, target=options.target, number=options.number)
        if options.out is None:
            sys.stdout.write(text)
        elif options.out.exists():
            what = "is a folder: name a file in it" if options.out.is_dir() else "exists: name another file"
            parser.exit(1, f"{options.out} {what}, so that nothing is lost\n")
        else:
            write_whole(options.out, text)
    except (DataError, DomainError) as error:
        parser.exit(1, f"{error}\n")
    except OSError as error:
        parser.exit(1, f"cannot write {options.out}: {error.strerror}\n")
    return 0


def _check(domain_file: Path, table_file: Path) -> int:
    domain, layout = read_layout(domain_file)
    typed = table_file.suffix == ".parquet"
    table = _parquet(table_file) if typed else read_cells(table_file)
    check_columns(map(str, table), domain=domain, layout=layout, file=table_file, labels=False)
    if layout.key is not None:
        check_keys([table.set_axis(table[layout.key])], key=layout.key)
    kept = len(table)
    records = domain.spelt(table[list(domain.names)])
    labels = domain.spelt_labels(table[domain.target]) if domain.target in table else None
    if typed:
        domain.check(records, labels)
    else:
        *_, index = encode_cells(table, domain=domain, layout=layout, file=table_file)
        kept, records, labels = (
            len(index),
            records.loc[index],
            labels if labels is None else labels.loc[index],
        )
    left = f"; {len(table) - kept} more lack a value and will be left out" if kept < len(table) else ""
    print(
        "\n- ".join([f"all {kept} records fit {domain_file.name}{left}", *domain.oddities(records, labels)])
    )
    if domain.target not in table:
        print(f"there are no labels: the table has no column {domain.target!r}")
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
