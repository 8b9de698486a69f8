"""The names of people and of records: whole numbers, or texts; and how many records each person has."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ..arrays import Bools, Ints, cells_of
from .attributes import listed
from .frames import as_series, objects

Unit = Literal["record", "person"]
"""What is protected: a record, or a person with all records."""
UNITS: tuple[Unit, ...] = get_args(Unit)
MOST_WHOLE = 2.0**53  # from which on not every whole number is a float, and two people may have become one


def plain_labels(labels: pd.Index | NDArray[Any]) -> list[int | str]:
    """Labels as whole numbers and texts; equal ones are the same label, however they are held."""
    cells = cells_of(labels)
    if set(map(type, cells)) <= {str} and _is_unicode("".join(cells)):  # most are, and one look is quick
        return cells
    return [_plain(label) for label in cells]


def _plain(label: Any) -> int | str:
    """The stand-in for a label, which is a whole number of 64 bits, or a text that UTF-8 can hold."""
    try:
        if isinstance(label, str) and _is_unicode(str.__str__(label)):
            return str.__str__(label)
        label = _python(label)
        if type(label) is int and -(2**63) <= label < 2**63:
            return label
        long = type(label) is int and label.bit_length() > 2048  # Python may refuse to write so many digits
        shown = hex(label) if long else repr(label)
    except Exception:  # whatever an odd object raises
        shown = ""
    return f"\0{type(label).__name__}\0{shown}".encode(errors="backslashreplace").decode()


def _python(label: Any) -> Any:
    """A label as Python has it; a whole number of any type as an integer."""
    if isinstance(label, tuple):
        return tuple(map(_python, label))
    label = label.item() if isinstance(label, np.generic) else label
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _is_unicode(text: str) -> bool:
    """Whether UTF-8 can hold a text, that is, whether it has no half surrogate."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


class Owners(NamedTuple):
    """Whose each record is."""

    known: Bools  # (n,) whether the record names a person
    person: Ints  # (known,) number of the person
    names: NDArray[Any]  # (people,) whole numbers, or objects
    counts: Ints  # (people,) number of records of each person

    def in_words(self) -> str:
        """How many people there are, in words for the data holder."""
        most = self.counts.max(initial=0)
        text = f"{len(self.person)} records of {len(self.counts)} people, at most {most} each"
        if nobodys := int((~self.known).sum()):
            text += f"; {nobodys} more name no person, and have no vote"
        if alike := self._alike():
            text += f"; names that differ in spaces or capitals alone are two people: {listed(alike)}"
        return text

    def _alike(self) -> list[str]:
        """Names that are another one's but for spaces and capitals."""
        names = pd.Series([name for name in self.names.tolist() if isinstance(name, str)], dtype=object)
        plain = names.map(lambda name: "".join(name.split()).casefold())
        same = plain.duplicated(keep=False)
        return names[same].iloc[plain[same].argsort(kind="stable")].tolist()


def people_of(ids: ArrayLike | pd.Series[Any], *, missing: Collection[Hashable] = ()) -> Owners:
    """Find whose each record is.

    Parameters
    ----------
    ids : (n,) whole numbers or texts that name each person once; " 1" and "1" are two. What is missing names nobody,
        and so does a floating-point number from 2⁵³ on, which may stand for several people.
    missing : markers of missing values, which name nobody either.
    """
    column = as_series(ids, of="people", what="names", such="patient")
    known = np.array(column.notna(), bool)
    if column.dtype.kind == "f":
        known &= np.abs(np.asarray(column.to_numpy(float, na_value=np.nan))) < MOST_WHOLE
    named = column[known]
    whole = pd.api.types.is_signed_integer_dtype(named.dtype)
    labels: NDArray[Any] = named.to_numpy(np.int64) if whole else objects(plain_labels(pd.Index(named)))
    nobody = ["", *plain_labels(pd.Index([*missing], dtype=object))]
    marks = [mark for mark in nobody if isinstance(mark, int) or not whole]
    person, names = pd.factorize(labels)
    is_one = ~pd.Series(names).isin(marks).to_numpy()
    if not whole:
        is_one &= np.array([not _is_mute(name) for name in names], bool)
    known[known] = is_one[person]
    person = (is_one.cumsum() - 1)[person[is_one[person]]]
    return Owners(known, person, names[is_one], np.bincount(person, minlength=int(is_one.sum())))


def _is_mute(label: int | str) -> bool:
    """Whether a stand-in says the type alone of an object that cannot be shown: several may have the same."""
    return isinstance(label, str) and label.startswith("\0") and label.endswith("\0")
