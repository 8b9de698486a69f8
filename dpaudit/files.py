"""The pair of neighbours that a user brings as two CSV files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from dpnb.checks import check_choice
from dpnb.domain import Categorical, Domain
from dpnb.domain.cells import CsvSection, check_columns, check_keys, encode_cells, ids_of, read_layout
from dpnb.domain.encoding import decoded
from dpnb.domain.people import UNITS, Unit
from dpnb.domain.rows import read_rows
from dpnb.errors import DomainError
from dpnb.replay.neighbours import SIZES, Part, own_rows, row_keys, split_pair

from .pairs import NEIGHBOURS, Pair

MOST_ROWS = 3  # that an error shows
MOST_CELLS = 6  # of a row that is shown


class NeighbourError(ValueError):
    """Two files do not hold neighbouring data sets; the message says which rows differ."""


def own_pair(
    first: Path | str,
    second: Path | str,
    *,
    domain_file: Path | str,
    neighbours: str = "add-remove",
    target: str | None = None,
    unit: Unit = "record",
) -> Pair:
    """The pair of two CSV files.

    Parameters
    ----------
    first, second : CSV files of D and D′, with a header.
    domain_file : the domain file that describes both.
    neighbours : relation in which they have to stand.
    target : column of the labels, by default the domain's.
    unit : in what they differ, a ``"record"``, or a ``"person"`` with all records. Then the domain file has to name the
        column of people.

    Raises
    ------
    NeighbourError
        If they are no neighbours: the message names the rows that only one file holds, or counts the people.
    DataError, DomainError
        If a file cannot be read or does not fit the domain.
    """
    check_choice("neighbours", neighbours, NEIGHBOURS)
    check_choice("unit", unit, UNITS)
    first, second = Path(first), Path(second)
    domain, layout = read_layout(Path(domain_file))
    if target is not None:
        number = None if domain.response is None else replace(domain.response, name=target)
        domain = replace(domain, target=target, response=number)
    if unit == "person" and layout.person is None:
        raise DomainError(
            f"{domain_file} names no column of people: expected csv: {{person: ...}}, the column that says whose each "
            "record is"
        )
    parts = [_read(file, domain, layout, unit) for file in (first, second)]
    name = f"{first.name} and {second.name}"
    if unit == "person":
        _check_people(name, parts, neighbours)
        return Pair(name, parts[0], parts[1], domain)
    own = own_rows(parts[0], parts[1], labels=layout.key is not None)
    _check_neighbours((first, second), parts, own, neighbours)
    if layout.key is None:
        parts = [_labelled(part, rows) for part, rows in zip(parts, own, strict=True)]
    return Pair(name, parts[0], parts[1], domain)


def _read(file: Path, domain: Domain, layout: CsvSection, unit: Unit) -> Any:
    """Records and labels of a file, and whose they are if its neighbour differs in a person."""
    cells = read_rows(file, written=domain.written)
    check_columns(cells.columns, domain=domain, layout=layout, file=file)
    check_keys([cells], key=layout.key)
    codes, labels, keep = encode_cells(cells, domain=domain, layout=layout, file=file)
    assert labels is not None  # check_columns asks for them
    index = pd.RangeIndex(len(cells))[keep] if layout.key is None else pd.Index(cells[layout.key])[keep]
    columns = {a.name: decoded(codes[:, j], a) for j, a in enumerate(domain.attributes)}
    y = decoded(labels, domain.response or Categorical(domain.target, domain.classes))
    X = pd.DataFrame(columns).set_axis(index, axis=0)
    part = X, pd.Series(y, index=index, name=domain.target)
    ids = ids_of(cells[keep], domain=domain, layout=layout)
    return part if unit == "record" or ids is None else (*part, ids.set_axis(index).rename("person"))


def _check_people(name: str, parts: Sequence[Any], neighbours: str) -> None:
    words = f"{name} are no neighbours under {neighbours} of people"
    try:
        _, _, found = split_pair(parts[0], parts[1])
    except ValueError as error:
        raise NeighbourError(f"{words}: {error}") from error
    if found != neighbours:
        raise NeighbourError(f"{words}; they are neighbours under {found}")


def _check_neighbours(
    files: tuple[Path, Path], parts: Sequence[Part], own: tuple[list[int], list[int]], neighbours: str
) -> None:
    sizes = len(own[0]), len(own[1])
    if SIZES.get(sizes) == neighbours:
        return
    words = f"{files[0].name} and {files[1].name} are no neighbours under {neighbours}"
    if sizes == (0, 0):
        raise NeighbourError(f"{words}: they hold the same rows; add a record to one of them")
    want = "one row of its own in each" if neighbours == "replace" else "one row more in one of them"
    shown = [
        f"only in {file.name}: " + (_shown(part, rows) if rows else "none")
        for file, part, rows in zip(files, parts, own, strict=True)
    ]
    way_out = f"; they are neighbours under {SIZES[sizes]}" if sizes in SIZES else ""
    raise NeighbourError(f"{words}: expected {want}; {'; '.join(shown)}{way_out}")


def _shown(part: Part, rows: list[int]) -> str:
    X, y = part
    words = []
    for position in rows[:MOST_ROWS]:
        cells = [*islice(X.iloc[position].items(), MOST_CELLS), (y.name, y.iloc[position])]
        words.append(f"row {position + 1} (" + ", ".join(f"{name}={value}" for name, value in cells) + ")")
    return ", ".join(words) + (f" and {len(rows) - MOST_ROWS} more" if len(rows) > MOST_ROWS else "")


def _labelled(part: Part, own: list[int]) -> Part:
    """The records with index labels that common ones share: exact copies in the order in which they come."""
    rows, seen = row_keys(part, labels=False), Counter[Hashable]()
    labels = []
    for position, row in enumerate(rows):
        labels.append(("own", position) if position in own else (row, seen[row]))
        seen[row] += position not in own
    index = pd.Index([f"{label}" for label in labels], dtype=object)
    return part[0].set_axis(index, axis=0), part[1].set_axis(index, axis=0)
