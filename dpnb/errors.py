"""The warnings and errors that are the package's own, and what they suggest."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PrivacyLeakWarning(UserWarning):
    """Something that depends on the records is treated as if it were public; the message names what."""


class FewRecordsWarning(UserWarning):
    """There are too few records for the budget to learn much from them, by a number that was released with noise."""


class DomainError(ValueError):
    """Records, labels or a file do not fit the public domain, or the domain itself makes no sense."""


class DataError(RuntimeError):
    """A data set's file is missing, damaged, or not the one that is expected."""


def closest(word: object, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, for "did you mean"; None if no word is close."""
    return next(iter(difflib.get_close_matches(str(word), list(known), n=1)), None)
