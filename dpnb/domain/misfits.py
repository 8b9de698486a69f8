"""What of a table does not fit the domain, told to the data holder in the words of the domain file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from ..errors import DomainError, closest
from .attributes import SHOWN, Attribute, Categorical, Continuous, listed

_KINDS = ("no number", "missing", "infinite", "outside", "unknown")  # in the order in which they are checked


@dataclass(frozen=True)
class Misfit:
    """Records of a column, or of the labels, that the domain does not allow.

    Parameters
    ----------
    kind : ``"no number"``, ``"missing"``, ``"infinite"``, ``"outside"`` the bounds, or ``"unknown"``.
    count : number of such records.
    first : the first few different values.
    """

    kind: str
    count: int
    first: tuple[object, ...] = ()

    def joined(self, other: Misfit | None) -> Misfit:
        """The same for two parts of a table; of different kinds, the one that is checked first."""
        if other is None or (other.kind != self.kind and _KINDS.index(self.kind) < _KINDS.index(other.kind)):
            return self
        if other.kind != self.kind:
            return other
        first = tuple(dict.fromkeys((*other.first, *self.first)))[: SHOWN + 1]
        return Misfit(self.kind, self.count + other.count, first)

    def told(self, of: Attribute | tuple[object, ...] | str, *, total: int) -> str:
        """What is wrong, what is expected, and the way out.

        Parameters
        ----------
        of : attribute of the column; the classes for labels; a string says it in words.
        total : number of all records.
        """
        name, share = _name_of(of), f"{self.count} of {total} records"
        if self.kind == "no number":
            got = f"got {listed(self.first)} in {share}"
            if isinstance(of, Continuous) and of.is_date:
                written = f"written as {of.format}" if of.format else "written as 2001-12-31"
                way_out = 'state how they are written, such as `format: "%d/%m/%Y"`'
                return f"{name} must hold dates {written}, {got}; {way_out}, or convert them"
            return (
                f"{name} must hold numbers, {got}; convert them, or list the values as `categorical: [...]`"
            )
        if self.kind == "missing":
            way_out = (
                "write `missing: true` in the domain"
                if isinstance(of, Continuous | Categorical)
                else "give what is missing a name of its own"
            )
            values = f"values of {name}" if name.startswith("column") else name
            return f"{values} hold NaN in {share}; {way_out}, or drop these records"
        if self.kind == "infinite":
            return f"{name} holds inf in {share}; write `clip: true` in the domain, or drop them"
        if isinstance(of, Continuous):
            some = ", ".join(of.shown(float(cast(Any, value))) for value in self.first[:SHOWN]) + ", ..." * (
                len(self.first) > SHOWN
            )
            return (
                f"{name} lies outside [{of.shown(of.low)}, {of.shown(of.high)}] in {share}: {some}; "
                "write `clip: true` in the domain, or state wider public bounds"
            )
        way_out = "map them to a known value, or drop these records"
        if isinstance(of, tuple):
            way_out = (
                f"the domain's classes are {listed(of, limit=10)}; add the missing classes or map the labels"
            )
        elif isinstance(of, Categorical):
            way_out = f"write `unknown: other` in the domain, add them to its values, {way_out}"
        return f"unknown values in {name}: {share}, first {listed(self.first)}; {way_out}"


def joined(told: list[str]) -> str:
    """One text of what does not fit in each column."""
    if len(told) == 1:
        return told[0]
    return f"{len(told)} columns do not fit the domain:\n- " + "\n- ".join(told)


def raise_misfits(told: list[str]) -> None:
    """Raise one DomainError for all that does not fit, if anything does not."""
    if told:
        raise DomainError(joined(told))


def lacking(names: Iterable[str], found: Iterable[object]) -> str | None:
    """Which columns a table lacks, what it has, and what to rename; None if it has all.

    Parameters
    ----------
    names : of the columns that are needed.
    found : of those that are there.
    """
    there = [*map(str, found)]
    if not (gone := [name for name in names if name not in there]):
        return None
    told = f"lacks the columns {listed(gone, limit=20)}; it has {listed(there, limit=20) or 'none'}"
    if len(there) == 1 and (separators := [mark for mark in ";\t|" if mark in there[0]]):
        return f"{told}: its cells seem to be separated by {separators[0]!r}, expected commas"
    spare = {_folded(name): name for name in there if name not in names}
    same = [f"{spare[_folded(name)]!r} to {name!r}" for name in gone if _folded(name) in spare]
    alike = [close for name in gone if (close := closest(name, spare.values()))]
    if same:
        return f"{told}; rename {', '.join(same)}"
    return f"{told}; rename or add columns" + (f", is {alike[0]!r} one of them?" if alike else "")


def _folded(name: str) -> str:
    return "".join(name.casefold().split())


def _name_of(of: Attribute | tuple[object, ...] | str) -> str:
    if isinstance(of, str):
        return of
    return "the labels" if isinstance(of, tuple) else f"column {of.name!r}"
