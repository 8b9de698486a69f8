"""The parts of a table that do not fit the domain, in the words of the domain file."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast
from unicodedata import normalize

from ..errors import DomainError, closest
from .attributes import SHOWN, Attribute, Categorical, Continuous, listed
from .rows import SEPARATORS, stated


@dataclass(frozen=True)
class Misfit:
    """Records of a column, or of the labels, that the domain does not allow.

    Parameters
    ----------
    kind : ``"no number"``, ``"missing"``, ``"infinite"``, ``"outside"`` the bounds, or ``"unknown"``.
    count : number of such records.
    first : the first few different values.
    lines : the first few lines of a file in which they stand; empty if the records are from none.
    """

    kind: str
    count: int
    first: tuple[object, ...] = ()
    lines: tuple[int, ...] = ()

    def joined(self, other: Misfit | None) -> Misfit:
        """The same for two parts of a table; of different kinds, the one that is checked first."""
        order = ("no number", "missing", "infinite", "outside", "unknown")  # in which they are checked
        if other is None or order.index(self.kind) < order.index(other.kind):
            return self
        if other.kind != self.kind:
            return other
        first = tuple(dict.fromkeys((*other.first, *self.first)))[: SHOWN + 1]
        return Misfit(self.kind, self.count + other.count, first)

    def is_common(self, total: int) -> bool:
        """Whether a quarter or more of all records are misfits, which is hardly meant."""
        return self.count >= total / 4

    def text(self, of: Attribute | tuple[object, ...] | str, *, total: int) -> str:
        """What is wrong, the way out, and what the values were probably meant to be.

        Parameters
        ----------
        of : attribute of the column, or the classes for labels, or a string that says it in words.
        total : number of all records.
        """
        return f"{self.what(of, total=total)}; {self._way_out(of)}{self.hint(of, total=total)}"

    def text_of_target(self, response: Continuous, *, total: int) -> str:
        """The same for the numbers to predict, which are never missing and never categories."""
        way_out = {"missing": "drop these records", "no number": "convert them"}.get(self.kind)
        what, hint = self.what(response, total=total), self.hint(response, total=total)
        return f"{what}; {way_out or self._way_out(response)}{hint}"

    def what(self, of: Attribute | tuple[object, ...] | str, *, total: int) -> str:
        """What is wrong; parameters are those of :meth:`text`."""
        name, share = _name_of(of), f"{self.count} of {total} records{in_lines(self.lines)}"
        if self.kind == "no number":
            date = f"dates written as {of.format or '2001-12-31'}" if _is_date(of) else "numbers"
            return f"{name} must hold {date}, got {listed(self.first)} in {share}"
        if self.kind == "missing":
            values = f"values of {name}" if name.startswith("column") else name
            return f"{values} hold NaN in {share}"
        if self.kind == "infinite":
            return f"{name} holds inf in {share}"
        if isinstance(of, Continuous):
            shown = [of.shown(float(cast(Any, value))) for value in self.first[:SHOWN]]
            some = ", ".join(shown) + ", ..." * (len(self.first) > SHOWN)
            return f"{name} lies outside [{of.shown(of.low)}, {of.shown(of.high)}] in {share}: {some}"
        return f"unknown values in {name}: {share}, first {listed(self.first)}"

    def _way_out(self, of: Attribute | tuple[object, ...] | str) -> str:
        if self.kind == "no number":
            if _is_date(of):
                return 'state how they are written, such as `format: "%d/%m/%Y"`, or convert them'
            return "convert them, or list the values as `categorical: [...]`"
        if self.kind == "missing":
            option = "write `missing: true` in the domain"
            named = "give what is missing a name of its own"
            way_out = option if isinstance(of, Continuous | Categorical) else named
            return f"{way_out}, or drop these records"
        if self.kind == "infinite":
            return "write `clip: true` in the domain, or drop them"
        if isinstance(of, Continuous):
            return "write `clip: true` in the domain, or state wider public bounds"
        if isinstance(of, tuple):
            return (
                f"the domain's classes are {listed(of, limit=10)}; add the missing classes or map the labels"
            )
        way_out = "map them to a known value, or drop these records"
        if isinstance(of, Categorical):
            return f"write `unknown: other` in the domain, add them to its values, {way_out}"
        return way_out

    def hint(self, of: Attribute | tuple[object, ...] | str, *, total: int) -> str:
        """What the values were probably meant to be, empty without a guess; parameters are those of :meth:`text`."""
        if self.kind == "no number" and not _is_date(of):
            return next(
                (f". {hint}" for what, hint in _NO_NUMBERS if any(what(str(v)) for v in self.first)), ""
            )
        if self.kind == "outside" and self.is_common(total) and not _is_date(of):
            return ". Is it in another unit, or scaled before the model? Bounds are of records as they are"
        if self.kind != "unknown":
            return ""
        known = of.levels if isinstance(of, Categorical) else of if isinstance(of, tuple) else ()
        if meant := meant_by(self.first, known):
            value, listed_one = next(iter(meant.items()))
            return f". Is {value!r} meant to be {listed_one!r}? Spaces and capitals count"
        codes = known and all(_is_number(v) and 0 <= float(cast(Any, v)) <= len(known) for v in self.first)
        return ". Are these codes of what is listed? Map them to it" if codes else ""


def in_lines(lines: Sequence[int]) -> str:
    """The first few lines, in brackets; nothing if there are none."""
    if not len(lines):
        return ""
    return f" (line{'s' * (len(lines) > 1)} {listed(lines)})"


def meant_by(values: Iterable[object], known: Iterable[Hashable]) -> dict[str, Hashable]:
    """Texts that are listed but for spaces and capitals, and the listed value."""
    alike = {folded(value): value for value in known if isinstance(value, str)}
    return {text: alike[key] for text in values if isinstance(text, str) and (key := folded(text)) in alike}


def joined(misfits: list[str]) -> str:
    """One text of what does not fit in each column."""
    if len(misfits) == 1:
        return misfits[0]
    return f"{len(misfits)} columns do not fit the domain:\n- " + "\n- ".join(misfits)


def raise_misfits(misfits: list[str]) -> None:
    """Raise one DomainError for all that does not fit, if anything does not."""
    if misfits:
        raise DomainError(joined(misfits))


def lacking(names: Iterable[str], found: Iterable[object]) -> str | None:
    """Which columns a table lacks, what it has, and what to rename; None if it has all.

    Parameters
    ----------
    names : names of the columns that are needed.
    found : names of the columns that are there.
    """
    there = [*map(str, found)]
    if not (gone := [name for name in names if name not in there]):
        return None
    problem = f"lacks the columns {listed(gone, limit=20)}; it has {listed(there, limit=20) or 'none'}"
    if len(there) == 1 and all(name in there[0] for name in gone):
        mark = next((mark for mark in f"{SEPARATORS} " if mark in there[0]), "")
        if mark == " ":
            return f"{problem}: its cells seem to be separated by ' '; write the table with commas"
        if mark:
            return f"{problem}: its cells seem to be separated by {mark!r}: {stated(mark)}"
    spare = {folded(name): name for name in there if name not in names}
    same = [_renamed(spare[folded(name)], name) for name in gone if folded(name) in spare]
    alike = [close for name in gone if (close := closest(name, spare.values()))]
    if same:
        return f"{problem}; rename {', '.join(same)}"
    return f"{problem}; rename or add columns" + (f", is {alike[0]!r} one of them?" if alike else "")


def _grouped(text: str) -> bool:
    return (
        re.fullmatch(r"[+-]?\d{1,3}([., '’\u00a0\u2009\u202f])\d{3}(\1\d{3})*([.,]\d*)?", text.strip())
        is not None
    )


_NO_NUMBERS = (  # what such texts are, and the way out
    (
        _grouped,
        'Are these groups of three digits? Write `thousands:` under csv: in the domain file, such as `thousands: "."`, '
        'beside `decimal: ","`, as pd.read_csv(..., thousands=..., decimal=...) has it',
    ),
    (
        lambda text: "," in text and _is_number(text.replace(",", ".")),
        "Are these decimal commas? Write `decimal: \",\"` under csv: in the domain file; pd.read_csv(..., decimal=',') "
        "reads them",
    ),
    (
        lambda text: "." in text and _is_number(text),
        "Are these decimal points? The domain file says otherwise",
    ),
    (
        lambda text: re.search(r"\d", text) and not re.search(r"\d.*[A-Za-z].*\d", text),
        "Write bare numbers, without units, percent signs and currencies; `unit:` names the unit in the domain file",
    ),
)


def _renamed(found: str, name: str) -> str:
    """What to rename to what; signs of Unicode by number where both would look the same."""
    if normalize("NFC", found) == normalize("NFC", name):
        return f"{found!a} to {name!a}, which look alike"
    return f"{found!r} to {name!r}"


def _is_date(of: object) -> TypeGuard[Continuous]:
    return isinstance(of, Continuous) and of.is_date


def _is_number(value: object) -> bool:
    try:
        return math.isfinite(float(cast(Any, value)))
    except (TypeError, ValueError, OverflowError):
        return False


def folded(text: str) -> str:
    """A text without what is easily overlooked: spaces, capitals, and which of several signs stands for a letter."""
    return "".join(normalize("NFKC", text).casefold().split())


def _name_of(of: Attribute | tuple[object, ...] | str) -> str:
    if isinstance(of, str):
        return of
    return "the labels" if isinstance(of, tuple) else f"column {of.name!r}"
