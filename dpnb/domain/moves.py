"""What prediction makes of values that are not the domain's, told to whoever asks for the prediction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import cells_of
from .attributes import Attribute, Categorical, listed, short
from .encoding import Group
from .misfits import Misfit

MOST = 10  # different values that are told one by one
OTHERS = "others"


@dataclass
class Move:
    """Values of one column that count as one value of the domain."""

    attribute: Attribute  # the column's
    # kind, became, has_place: as of the :class:`~dpnb.domain.encoding.Group`.
    kind: str
    became: str
    has_place: bool
    first: int  # position of the first of these records
    # Number of records of each value, in words; those beyond :data:`MOST` are counted as others.
    counts: dict[str, int] = field(default_factory=dict)
    values: tuple[object, ...] = ()  # the first few of them, for hints

    def count(self, value: str, times: int) -> None:
        """Count records of a value."""
        name = value if value in self.counts or len(self.counts) < MOST else OTHERS
        self.counts[name] = self.counts.get(name, 0) + times

    def text(self, total: int) -> str:
        """What became of the values, and what can be done about it; ``total`` is the number of all records."""
        values = ", ".join(f"{value} ({times})" for value, times in self.counts.items())
        misfit = Misfit(self.kind, sum(self.counts.values()), self.values)
        way_out = "" if self.has_place else f"; {self.way_out}, or drop these records"
        hint = misfit.hint(self.attribute, total=total)
        return f"{values} counted as {self.became}{way_out}{hint}"

    @property
    def value(self) -> str:
        """The first of the values, in words."""
        return next(iter(self.counts))

    @property
    def way_out(self) -> str:
        """What can be done about the values by somebody who cannot change the domain."""
        a = self.attribute
        if self.kind == "missing":
            return "fill them in"
        if self.kind == "outside" and not isinstance(a, Categorical):
            return f"write them as they are, within {a.span}"
        if isinstance(a, Categorical):
            return f"map them to one of {listed(a.values, limit=MOST)}"
        return f"write them as {a.format or '2001-12-31'}" if a.is_date else "write them as numbers"


class Moves:
    """What became of the values of a table, which may come in parts.

    Parameters
    ----------
    total : number of all records.
    """

    def __init__(self) -> None:
        self.total = 0
        self._found: dict[tuple[str, str, str], Move] = {}

    def __iter__(self) -> Iterator[Move]:
        """Those of one column follow each other."""
        columns = [name for name, *_ in self._found]
        return iter(sorted(self._found.values(), key=lambda move: columns.index(move.attribute.name)))

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, attribute: Attribute, column: pd.Series[Any], groups: list[Group]) -> None:
        """Note what became of the values of a column."""
        self.total = len(column)
        for rows, kind, became, has_place in groups:
            cells = [None] * int(rows.sum()) if kind == "missing" else cells_of(column[rows])
            move = Move(attribute, kind, became, has_place, int(np.argmax(rows)), values=tuple(cells[:MOST]))
            for cell in cells:
                move.count(_shown(cell), 1)
            self._found[attribute.name, kind, became] = move

    def extend(self, later: Moves) -> None:
        """Add what became of the values of a later part."""
        self.total += later.total
        for key, move in later._found.items():
            own = self._found.setdefault(key, move)
            if own is not move:
                for value, times in move.counts.items():
                    own.count(value, times)

    def without_place(self) -> Moves:
        """Those of values that the domain has no place for."""
        found = Moves()
        found.total = self.total
        found._found = {key: move for key, move in self._found.items() if not move.has_place}
        return found

    def texts(self) -> list[str]:
        """What became of the values of each column, in words."""
        columns = groupby(self, key=lambda move: move.attribute.name)
        return [f"column {name!r}: {'; '.join(m.text(self.total) for m in moves)}" for name, moves in columns]


def _shown(cell: object) -> str:
    if cell is None:
        return "no value"
    return str(cell) if isinstance(cell, date) else short(cell)
