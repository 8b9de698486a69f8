"""What of a table does not fit the domain, told to the data holder in the words of the domain file."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import DomainError
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
            kind = "dates" if isinstance(of, Continuous) and of.is_date else "numbers"
            got = f"{name} must hold {kind}, got {listed(self.first)} in {share}"
            return f"{got}; convert them, or list the values as `categorical: [...]`"
        if self.kind == "missing":
            way_out = (
                "write `missing: true` in the domain"
                if isinstance(of, Continuous | Categorical)
                else "name it"
            )
            values = f"values of {name}" if isinstance(of, Continuous) else name
            return f"{values} hold NaN in {share}; {way_out}, or drop these records"
        if self.kind == "infinite":
            return f"{name} holds inf in {share}; write `clip: true` in the domain, or drop them"
        if isinstance(of, Continuous):
            return (
                f"{name} lies outside [{of.shown(of.low)}, {of.shown(of.high)}] in {share}: {listed(self.first)}; "
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


def raise_misfits(told: list[str]) -> None:
    """Raise one DomainError for all that does not fit, if anything does not."""
    if len(told) == 1:
        raise DomainError(told[0])
    if told:
        raise DomainError(f"{len(told)} columns do not fit the domain:\n- " + "\n- ".join(told))


def _name_of(of: Attribute | tuple[object, ...] | str) -> str:
    if isinstance(of, str):
        return of
    return "the labels" if isinstance(of, tuple) else f"column {of.name!r}"
