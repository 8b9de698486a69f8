"""Descriptions of facts about a fitted model in words, such as the records, their number, the mean of an attribute."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpnb.arrays import Bools

from .contents import PICKLED, TOTALS, Fact, group
from .fits import Data
from .repeats import ABSENT, Constant

FAILS = "the fit"  # the path of its error
STATISTICS = ("mean", "min", "max", "sum", "median", "std", "var")
PLAIN = (
    "what is there for one data set only", "two numbers with the same noise", "a size without noise", "a type",
    "a text", "a number without noise",
)  # fmt: skip


def third(second: Data) -> Data:
    """A data set in which every other record stands three times, to tell a meaning from a coincidence."""
    places = np.repeat(np.arange(n := len(second[1])), np.where(np.arange(n) % 2, 1, 3))
    return tuple(
        part.iloc[places].reset_index(drop=True)
        if isinstance(part, pd.DataFrame | pd.Series)
        else np.asarray(part)[places]
        for part in second
    )


class Computable:
    """Data sets and what can be computed from them, to recognise it in a model."""

    def __init__(self, *sides: Data) -> None:
        tables = [(pd.DataFrame(X), np.asarray(y)) for X, y, *_ in sides]
        self.sizes = [len(labels) for _, labels in tables]
        known = [list(_known(*side)) for side in tables]
        self.values: list[tuple[str, list[Any]]] = [
            (each[0][0], [value for _, value in each]) for each in zip(*known, strict=False)
        ]
        self.counts = [_counts(*side) for side in tables]

    def describe(self, fact: Constant, again: Fact) -> str:
        """What a fact is: the records, their number, a mean, or just a number without noise.

        Parameters
        ----------
        again : the same fact on a further data set, where what agrees by chance does not agree again.
        """
        if fact.path == FAILS:
            return "an error"
        facts = fact.on_first, fact.on_second, again
        if any(part is ABSENT for part in facts):
            return _plainly(fact)
        for words, values in self.values:
            if all(map(_is, facts, values)):
                return words
        rows = [_length(part, fact.path) for part in facts]
        if rows == self.sizes and rows[0] != rows[1]:
            return "an entry for each record"
        if fact.where.ndim == 0 and all(part.size == 1 for part in facts):
            for words in dict.fromkeys(words for count in self.counts for words in count):
                if all(_is(part, count[words]) for part, count in zip(facts, self.counts, strict=True)):
                    return words
        return _plainly(fact)


def _plainly(fact: Constant) -> str:
    """What a fact is by its path and its type."""
    if fact.on_first is ABSENT or fact.on_second is ABSENT:
        return PLAIN[0]
    if fact.of is not None:
        return PLAIN[1]
    if fact.path.startswith(("len(", TOTALS[0])) or fact.path.endswith(".shape"):
        return PLAIN[2]
    return PLAIN[3 if fact.path.endswith(".dtype") else 4 if fact.on_first.dtype.kind == "O" else 5]


def _known(table: pd.DataFrame, labels: Any) -> Iterator[tuple[str, Any]]:
    """What can be computed from a data set, in words; the same words in the same order for a neighbour."""
    classes, numeric = np.unique(labels.astype(str)), table.select_dtypes("number")
    yield "the number of records", len(labels)
    yield "the records' labels", labels
    yield "the classes that occur", classes
    yield "the number of classes that occur", len(classes)
    yield from (("the records", rows) for rows in (table.to_numpy(), table.to_numpy().T))
    yield from ((f"the {what} of the columns", getattr(numeric, what)()) for what in STATISTICS)
    for name, column in table.items():
        yield f"the values of {name!r}", column.to_numpy()
        if name in numeric and len(column):
            yield from ((f"the {what} of {name!r}", getattr(column, what)()) for what in STATISTICS)
            yield f"the deviation of {name!r}", column.std(ddof=0)
            yield f"the variance of {name!r}", column.var(ddof=0)


def _counts(table: pd.DataFrame, labels: Any) -> Counter[str]:
    """How many records there are of each class, and with each value."""
    found = Counter(f"the number of records of class {label!r}" for label in labels.tolist())
    for name, column in table.items():
        found.update(f"the number of records with {name} = {value!r}" for value in column.tolist())
    return found


def _is(fact: Fact, value: Any) -> bool:
    """Whether a fact is a value, whatever the types; arrays in any shape."""
    wanted = np.asarray(value)
    if fact.size != wanted.size or fact is ABSENT:
        return False
    flat, other = fact.reshape(-1), wanted.reshape(-1)
    if flat.dtype.kind in "biuf" and other.dtype.kind in "biuf":
        return bool(np.allclose(flat.astype(float), other.astype(float), rtol=1e-12, atol=0, equal_nan=True))
    return [str(v) for v in flat.tolist()] == [str(v) for v in other.tolist()]


def _length(fact: Fact, path: str) -> int:
    """Number of rows of an array, or of the array that a shape or a length belongs to; -1 if there is none."""
    if path.endswith(".shape") and fact.ndim:
        return int(fact[0]) if fact.size else -1
    if path.startswith("len("):
        return int(fact)
    return len(fact) if fact.ndim else -1


def _follows(fact: Constant) -> bool:
    """Whether a fact may follow from others: documents, lengths of pickles and sums repeat what the model holds."""
    return (
        fact.of is not None or ".release()['model']" in fact.path or fact.path.startswith("len(pickle.dumps(")
    )


def _place(fact: Constant) -> str:
    """The attribute that a fact belongs to: a total, a length, a shape or a column of it; two for a combination."""
    path = fact.path
    if fact.of is not None:
        return path
    path = next((path.removeprefix(f"{what} of ") for what in TOTALS if path.startswith(f"{what} of ")), path)
    path = path.removeprefix("len(").removesuffix(")") if path.startswith("len(") else path
    return re.split(r"\.(?:shape|dtype|base|iloc|index|columns|to_numpy\(\))(?![\w])", path)[0]


def in_memory(path: str) -> str:
    """The path of what is in a pickle, if it is in the model at hand as well."""
    return re.sub(rf"{re.escape(PICKLED)}\['(\w+)'\]", r".\1", path)


def _shown(fact: Fact, where: Bools) -> str:
    """A fact, or the first entry that matters, in a few words."""
    if fact is ABSENT:
        return "not there"
    entry = fact[where].flat[0] if where.ndim and where.shape == fact.shape else fact
    if isinstance(entry, np.ndarray):
        entry = entry.reshape(-1)[:4].tolist() if entry.ndim else entry.item()
    entry = entry.item() if isinstance(entry, np.generic) else entry
    text = f"{entry:.6g}" if isinstance(entry, float) else repr(entry)
    return text if len(text) <= 60 else f"{text[:59]}…"  # a line has two values


def explained(
    facts: list[Constant], first: Data, second: Data, again: Callable[[Data], dict[str, Fact]]
) -> list[tuple[str, str, str]]:
    """Path, what is there, and its two values, for each attribute that is convicted.

    Parameters
    ----------
    again : function from a data set to the facts of a fit on it.
    """
    if not facts:
        return []
    further, places = third(second), defaultdict(list)
    known, once_more = Computable(first, second, further), again(further)
    # An error stands for all that is missing.
    other = [fact for fact in facts if not _follows(fact)] or facts
    for fact in [fact for fact in facts if fact.path == FAILS] or other:
        places[group(in_memory(_place(fact)))].append(fact)
    found = []
    for members in places.values():
        words = [known.describe(fact, once_more.get(fact.path, ABSENT)) for fact in members]
        telling = min(range(len(words)), key=lambda i: (words[i] in PLAIN, _far(members[i].path)))
        fact = members[telling]
        paths = {_place(m) for m in members if "*" not in m.path and PICKLED not in m.path}
        values = f"{_shown(fact.on_first, fact.where)} on D, {_shown(fact.on_second, fact.where)} on D′"
        named = fact.path + (str(np.argwhere(fact.where)[0].tolist()) if fact.where.ndim else "")
        more = f" (and {len(paths) - 1} more such)" if len(paths) > 1 else ""
        found.append((named + more, words[telling], values))
    return sorted(found, key=lambda one: (one[1] in PLAIN, _far(one[0])))


def _far(path: str) -> tuple[bool, bool, bool]:
    """What makes a place hard to look at: many entries at once, a total of them, or a pickle."""
    return "*" in path, path.startswith(TOTALS), PICKLED in path
