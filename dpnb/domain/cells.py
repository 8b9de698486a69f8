"""A CSV file as texts, read by the rules of its domain file; loading and checking a table share them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..arrays import Bools, Floats
from ..checks import check_share
from ..errors import DomainError, closest
from .attributes import listed, short
from .domain import IN_CSV, Domain, read_domain_file
from .misfits import in_lines, lacking
from .people import people_of
from .rows import LINE


@dataclass(frozen=True)
class CsvSection:
    """What the section ``csv`` of a domain file says of records; a single text or number stands for a list of one."""

    ignore: Any = ()
    key: str | None = None
    person: str | None = None
    test_share: float = 0.3
    split_seed: int = 0

    def __post_init__(self) -> None:
        entries = tuple(self.ignore) if isinstance(self.ignore, list | tuple) else (self.ignore,)
        if not all(isinstance(entry, str | int | float) for entry in entries):
            raise DomainError(
                f"csv: ignore must be a list of texts or numbers, got {self.ignore!r}; write [a, b]"
            )
        object.__setattr__(self, "ignore", entries)
        for name, value in (("key", self.key), ("person", self.person)):
            if value is not None and not isinstance(value, str):
                raise DomainError(
                    f"csv: {name} must be the name of a column, got {value!r}; write it in quotes"
                )
        if self.key is not None and self.key == self.person:
            raise DomainError(
                f"csv: {self.key!r} is key and person, but a key names one record, and a person may have several; "
                "leave key out"
            )
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


def read_layout(file: Path, *, person: str | None = None) -> tuple[Domain, CsvSection]:
    """Read a domain file, and check that its section ``csv`` agrees with the domain.

    Parameters
    ----------
    person : column that says whose each record is, instead of the file's.

    Raises
    ------
    DataError, DomainError
        If the file cannot be read, or makes no sense.
    """
    domain, section = read_domain_file(file)
    known = [field.name for field in fields(CsvSection)]
    if not isinstance(section, dict) or not set(section) <= set(known):
        unknown = next((key for key in section if key not in known), "") if isinstance(section, dict) else ""
        may = [*known, *IN_CSV]
        close = next(
            (name for name in may if unknown and name.startswith(str(unknown))), closest(unknown, may)
        )
        hint = f"; did you mean {close!r}?" if close else ""
        raise DomainError(f"{file}: csv may hold {', '.join(may)}, got {short(section)}{hint}")
    try:
        layout = CsvSection(**(section if person is None else section | {"person": person}))
    except DomainError as error:
        raise DomainError(f"{file}: {error}") from error
    used, others = [*domain.names, domain.target], (*layout.ignore, layout.key, layout.person)
    if twice := [name for name in used if name in others]:
        raise DomainError(
            f"{file}: {twice[0]!r} is an attribute or the target, and cannot be ignored, key or person; name it once"
        )
    return domain, layout


def check_columns(
    columns: Iterable[str], *, domain: Domain, layout: CsvSection, file: Path, labels: bool = True
) -> None:
    """Raise DomainError unless a table has all columns that a domain file names, and no others.

    Parameters
    ----------
    labels : whether the class labels are needed.
    """
    found = [*columns]
    known = [
        *domain.names,
        domain.target,
        *(name for name in (layout.key, layout.person) if name is not None),
    ]
    needed = [name for name in known if labels or name != domain.target]
    if problem := lacking(needed, found):
        title = (
            "" if all(found) else "; or is its first line a title? Remove what stands above the column names"
        )
        raise DomainError(f"{file} {problem}{title}")
    mentioned = {"", *known, *layout.ignore}  # a column without a name is no attribute
    if not (unknown := [name for name in found if name not in mentioned]):
        return
    problem = f"{file} has columns that the domain file does not mention: {listed(unknown, limit=20)}"
    if domain.target not in found:
        raise DomainError(
            f"{problem}, and none that is its target, {domain.target!r}; if one of them is the target, name it there, "
            "and list the others under csv: ignore"
        )
    raise DomainError(
        f"{problem}; list them under csv: ignore, or make attributes of those that are known before the "
        f"{'class' if domain.response is None else 'number'} is"
    )


def check_keys(tables: Sequence[pd.DataFrame], *, key: str | None) -> None:
    """Raise DomainError if keys of tables repeat, which the column ``key`` holds; None is none."""
    if key is None:
        return
    keys = pd.concat([table[key] for table in tables])
    repeated = keys[keys.duplicated()]
    if len(repeated):
        raise DomainError(
            f"column {key!r} repeats a key in {len(repeated)} of {len(keys)} records, first {short(repeated.iloc[0])}"
            f"{in_lines(repeated.index[:1])}; a key names one record, over the test file too. Where it names a person "
            "with several records, write it under csv: person, and the model protects people. Else name another column "
            "under csv: key, or list this one under csv: ignore"
        )


def ids_of(table: pd.DataFrame, *, domain: Domain, layout: CsvSection) -> pd.Series[Any] | None:
    """The person of each record, None where it names nobody: a cell that is empty, or marks what is missing."""
    if layout.person is None:
        return None
    ids: pd.Series[Any] = table[layout.person]
    return ids.where(~ids.isin(["", *map(str, domain.missing)]), None)


def encode_cells(
    table: pd.DataFrame, *, domain: Domain, layout: CsvSection, file: Path
) -> tuple[Floats, NDArray[Any] | None, Bools]:
    """Codes of the records, codes of their labels if there are some, and which records are kept.

    Records with a marker of missing values are left out where the domain allows no missing value. A number to predict
    is its own code.

    Parameters
    ----------
    table : table of texts, as :func:`~dpnb.domain.rows.read_rows` gives it.

    Raises
    ------
    DomainError If something does not fit; one message reports on all columns and the labels.
    """
    with_labels = domain.target in table
    needed = [a for a in domain.attributes if not a.missing] + [domain.label] * with_labels
    keep = np.ones(len(table), np.bool_)
    for a in needed:
        keep &= ~domain.marked(table[a.name], a)
    cells = table[keep]
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
    return codes, labels, keep


def report(table: pd.DataFrame, keep: Bools, *, domain: Domain, layout: CsvSection, file: Path) -> str:
    """What the data holder should know of a table that fits: how many records, which are left out, and oddities.

    Parameters
    ----------
    table : columns of the domain, and its target or not.
    keep : which records are kept.
    file : the domain file.
    """
    records = domain.spelt(table[list(domain.names)][keep])
    labels = domain.spelt_labels(table[domain.target][keep]) if domain.target in table else None
    ids = ids_of(table[keep], domain=domain, layout=layout)
    text = f"all {keep.sum()} records fit {file.name}"
    if gone := int((~keep).sum()):
        lines = table.index[~keep][:4].tolist() if table.index.name == LINE else []
        text += f"; {gone} more lack a value and are left out{in_lines(lines)}"
    found = [] if ids is None else [people_of(ids).in_words()]
    return "\n- ".join([text, *found, *domain.oddities(records, labels)])
