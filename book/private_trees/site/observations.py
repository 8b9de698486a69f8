"""Sentences of the book that are checked each time a notebook runs.

A chapter registers what it says about an output beside the output. A false sentence prints a cross instead of a
tick: nbval then finds another output than the stored one, and the tests refuse a stored cross.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

TRUE, FALSE, EMPTY = "✓", "✗", "∅"
LINE = re.compile(rf"^([{TRUE}{FALSE}{EMPTY}]) ([\w-]+): (.*)$", re.MULTILINE)


def observe(
    name: str, sentence: str, holds: Callable[..., Any] | None = None, *data: Any, says: Sequence[float] = ()
) -> None:
    """Check a sentence of the chapter against the data that it speaks of, and print the outcome.

    Parameters
    ----------
    name : unique name, beginning with that of the chapter.
    sentence : the sentence or the part of it that is checked, as the text has it; with numbers as ``{:.3f}``.
    holds : predicate over ``data``; may be left out where the numbers are all that is said.
    *data : what the predicate is asked about: numbers, texts, arrays, frames, or dicts and lists of them.
    says : the numbers of the sentence, which are printed into it.

    Raises
    ------
    TypeError
        If there is neither a predicate nor a number.

    Notes
    -----
    A predicate that looks for what the data lack, as a run with other parameters may, is false. A predicate has to be
    able to fail. It is asked again with spoiled data (in reversed order, with the opposite
    sign, all zero, …), and one that is true of all of them prints ``∅``.

    Examples
    --------
    >>> observe("toy-rise", "accuracy rises to {:.2f}", lambda a: a[0] < a[-1], [0.71, 0.83], says=[0.83])
    ✓ toy-rise: accuracy rises to 0.83
    >>> observe("toy-fall", "accuracy falls", lambda a: a[0] > a[-1], [0.71, 0.83])
    ✗ toy-fall: with these data it is not so that: accuracy falls
    >>> observe("toy-vain", "accuracy is a number", lambda a: len(a) == 2, [0.71, 0.83])
    ∅ toy-vain: nothing could make it false that: accuracy is a number
    """
    if holds is None and not says:
        raise TypeError(f"'{name}' has neither a predicate nor a number: give one, or both")
    text = sentence.format(*says) if says else sentence
    if holds is None or _holds(holds, data):
        vain = holds is not None and all(_true_of(holds, other) for other in spoiled(data))
        print(
            f"{EMPTY} {name}: nothing could make it false that: {text}" if vain else f"{TRUE} {name}: {text}"
        )
    else:
        print(f"{FALSE} {name}: with these data it is not so that: {text}")


def plain(text: str) -> str:
    """Text without what differs between a printed sentence, its source and the page that shows it."""
    text = re.sub(r"[*$`]|\\[,;!()]", "", text).replace("−", "-").replace("{,}", ",")
    text = text.translate(str.maketrans("‘’“”", "''\"\""))
    return re.sub(r"(?<!\d)0\.(?=\d)", ".", " ".join(text.split()))


def spoiled(data: Sequence[Any]) -> Iterator[list[Any]]:
    """Data as they are not: one argument at a time, reversed, negated, set to zero, shifted."""
    for i, argument in enumerate(data):
        for change in (_reversed, np.negative, np.zeros_like, _shifted, _cut):
            yield [*data[:i], _changed(argument, change), *data[i + 1 :]]


def _holds(holds: Callable[..., Any], data: Sequence[Any]) -> bool:
    """Whether the predicate is true; the data may lack what it speaks of, and then it is not."""
    try:
        return bool(holds(*data))
    except LookupError:
        return False


def _true_of(holds: Callable[..., Any], data: Sequence[Any]) -> bool:
    """Whether the predicate is true; an error says nothing about the data, so it does not count as false."""
    try:
        return bool(holds(*data))
    except Exception:
        return True


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change all numbers and texts in a value and keep its shape and its labels."""
    if isinstance(value, pd.DataFrame):
        return value.apply(lambda column: _changed(column, change))
    if isinstance(value, pd.Series):
        return pd.Series(_changed(value.to_numpy(), change), value.index, name=value.name)
    if isinstance(value, Mapping):
        numbers = _changed(list(value.values()), change)
        return dict(zip(value, numbers, strict=True))
    if isinstance(value, list | tuple | set | frozenset):
        parts = [_changed(part, change) for part in value]
        return type(value)(reversed(parts) if change is _reversed else parts)
    array = np.asarray(value)
    if array.dtype == bool:
        return ~array if array.ndim else not value
    if array.dtype.kind in "iuf":
        return change(array.astype(float)) if array.ndim else float(change(float(value)))
    if change is _reversed:
        return array[::-1] if array.ndim else f"not {value}"
    return value


def _reversed(numbers: Any) -> Any:
    return numbers[::-1] if np.ndim(numbers) else 1 - numbers


def _shifted(numbers: Any) -> Any:
    return numbers + 1


def _cut(numbers: Any) -> Any:
    return numbers / 2
