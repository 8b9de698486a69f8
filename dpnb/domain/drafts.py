"""Domain files from the command line: a skeleton for a table, and what of a table does not fit."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ..errors import DataError, DomainError
from ..files import write_whole
from ..yaml_text import dump
from .domain import read_domain_file

_HEAD = """\
# Public domain of the table {name}: fill in every "?".
#
# This file says what anybody may know before looking at a record: bounds that values cannot leave, all values that a
# category can have, all classes. The draft fills in none of them. Read off the records, the largest income would be
# somebody's income, and a category that one person has would tell that this person is there. Take them from a
# codebook, a law, a form or common sense, and rather too wide than too narrow.
# Names and types come from the table: check the types.
"""
_NOTES = {
    "continuous": "lowest and highest possible value, as numbers or as dates; options: missing, clip, unit",
    "categorical": "all possible values; options: missing: true, unknown: other",
}


def draft(table: pd.DataFrame, *, name: str, target: str) -> str:
    """Skeleton of a domain file: names and types of the columns, no bounds, no values, no classes.

    Parameters
    ----------
    table : the data holder's records.
    name : of the table, for the heading.
    target : the column to predict.

    Raises
    ------
    DomainError
        If the table has no such column.
    """
    columns = [str(column) for column in table.columns]
    if target not in columns:
        raise DomainError(f"no column {target!r} to predict; the table has {', '.join(columns)}")
    lines = [
        _HEAD.format(name=name),
        f"target: {_word(target)}",
        'classes: ["?", "?"]  # all classes',
        "attributes:",
    ]
    for column in columns:
        if column != target:
            numeric = pd.api.types.is_numeric_dtype(table[column]) and not pd.api.types.is_bool_dtype(
                table[column]
            )
            kind, places = ("continuous", '["?", "?"]') if numeric else ("categorical", '["?"]')
            lines += [f"- name: {_word(column)}", f"  {kind}: {places}  # {_NOTES[kind]}"]
    return "\n".join(lines) + "\n"


def _word(text: str) -> str:
    """A text as YAML has it."""
    return dump([text]).strip().removeprefix("[").removesuffix("]").removeprefix("- ")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: draft a domain file, or check a table against one."""
    parser = argparse.ArgumentParser(prog="python -m dpnb.domain", description=main.__doc__)
    commands = parser.add_subparsers(required=True, dest="command", metavar="draft | check")
    drafting = commands.add_parser("draft", help="write a skeleton: names and types, no bounds and no values")
    drafting.add_argument("table", type=Path, help="CSV or Parquet file")
    drafting.add_argument("--target", required=True, help="column to predict")
    drafting.add_argument("--out", type=Path, help="file to write (default: print)")
    checking = commands.add_parser("check", help="tell everything in a table that does not fit, with values")
    checking.add_argument("domain", type=Path, help="domain file")
    checking.add_argument("table", type=Path, help="CSV or Parquet file")
    options = parser.parse_args(arguments)
    try:
        if options.command == "check":
            return _check(options.domain, options.table)
        text = draft(_table(options.table), name=options.table.name, target=options.target)
    except (DataError, DomainError) as error:
        parser.exit(1, f"{error}\n")
    if options.out is None:
        sys.stdout.write(text)
    elif options.out.exists():
        parser.error(f"{options.out} exists: name another file, so that nothing is lost")
    else:
        write_whole(options.out, text)
    return 0


def _check(domain_file: Path, table_file: Path) -> int:
    domain, _ = read_domain_file(domain_file)
    table = _table(table_file)
    labels = table.get(domain.target)
    known = [name for name in domain.names if name in table]
    if lacking := [name for name in domain.names if name not in table]:
        raise DomainError(f"the table lacks the columns {', '.join(map(repr, lacking))}")
    domain.check(table[known], labels)
    print(f"all {len(table)} records fit {domain_file.name}")
    return 0


def _table(path: Path) -> pd.DataFrame:
    try:
        return (
            pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, skipinitialspace=True)
        )
    except (OSError, ValueError, ImportError) as error:
        raise DataError(f"cannot read {path}: {error}") from error
