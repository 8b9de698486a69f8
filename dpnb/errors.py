"""The warnings and errors that are the package's own, and what they suggest."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PrivacyLeakWarning(UserWarning):
    """The program treats something as public that depends on the records; the message names it."""


class FewRecordsWarning(UserWarning):
    """By a number that was released with noise, there are too few records to learn much from at this budget."""


class DomainError(ValueError):
    """Records, labels or a file do not fit the public domain, or the domain itself makes no sense."""


class DataError(RuntimeError):
    """A data set's file is missing, damaged, or not the one that is expected."""


def visible(text: str) -> str:
    """A text in one line, in which no character hides, rings, or turns others around: such ones are escaped."""
    joins = "\u00a0\u200c\u200d"  # words of some languages, and emoji, need these
    return "".join(c if c.isprintable() or c in joins else repr(c)[1:-1] for c in text)


def closest(word: object, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, for "did you mean"; None if no word is close."""
    return next(iter(difflib.get_close_matches(str(word), list(known), n=1)), None)
