"""Sentences of the book that are checked each time a notebook runs.

A chapter registers what it says about an output beside the output. A false sentence prints a cross instead of a
tick: nbval then finds another output than the stored one, and the tests refuse a stored cross.

The sentence that is judged is the text's. Its numbers are those that the chapter's file has stored for it; tests see
to it that the text says the same. A run with other numbers says both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd

TRUE, FALSE, OTHER, EMPTY = "✓", "✗", "≠", "∅"
LINE = re.compile(rf"^([{TRUE}{FALSE}{OTHER}{EMPTY}]) ([\w-]+): (.*)$", re.MULTILINE)
NONE = "?"  # in place of a number that a run does not have


class Page:
    """What the running chapter's text says.

    Parameters
    ----------
    sentences : name → sentence, as the chapter's file stores it.
    changed : the parameters that this run has and the text has not, in words; empty if there are none.
    """

    def __init__(self, sentences: Mapping[str, str], changed: str = "") -> None:
        self.sentences = dict(sentences)
        self.changed = changed
        self.first: str | None = None  # name of the first check

    def begin(self, name: str) -> None:
        """Say above the list of checks, if the run has other parameters, how to read it."""
        self.first = self.first or name
        if self.changed and name == self.first:
            print(
                f"This run has other parameters than the text: {self.changed}. {TRUE} holds in it too, {OTHER} has "
                f"other numbers, {FALSE} does not hold, and {EMPTY} it cannot tell."
            )


page = Page({})


def open_page(sentences: Mapping[str, str], changed: str = "") -> None:
    """Name the text that :func:`observe` judges from now on, see :class:`Page`."""
    global page
    page = Page(sentences, changed)


def stored(path: Path) -> dict[str, str]:
    """Checked sentences in a notebook's outputs, by their names."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    printed = ["".join(output.get("text", "")) for cell in cells for output in cell.get("outputs", [])]
    return {name: said for text in printed for mark, name, said in LINE.findall(text) if mark == TRUE}


def observe(
    name: str,
    sentence: str,
    holds: Callable[..., Any],
    *data: Any,
    says: Sequence[Any] | None = None,
) -> None:
    """Check a sentence of the chapter against the data that it speaks of, and print the outcome.

    Parameters
    ----------
    name : unique name, beginning with that of the chapter.
    sentence : the sentence or the part of it that is checked, as the text has it; with numbers as ``{:.3f}``.
    holds : predicate over ``data``.
    *data : what the predicate is asked about: numbers, texts, arrays, frames, or dicts and lists of them.
    says : the numbers of the sentence in this run.

    Notes
    -----
    The text's numbers are those that its file has stored, see :class:`Page`; where no chapter has begun, or the file
    is being written, they are this run's. Other numbers print ``≠``. A predicate, or a number, that asks for what the
    data lack, as a run with other parameters may, prints ``∅``. A predicate has to be able to fail: it is asked again
    with spoiled data (in reversed order, with the opposite sign, all zero, …), and one that is true of all of them
    prints ``∅`` too.

    Examples
    --------
    >>> observe("toy-rise", "accuracy rises to {:.2f}", lambda a: a[0] < a[-1], [0.71, 0.83], says=[0.83])
    ✓ toy-rise: accuracy rises to 0.83
    >>> observe("toy-fall", "accuracy falls", lambda a: a[0] > a[-1], [0.71, 0.83])
    ✗ toy-fall: with these data it is not so that: accuracy falls
    >>> observe("toy-vain", "accuracy is a number", lambda a: len(a) == 2, [0.71, 0.83])
    ∅ toy-vain: nothing could make it false that: accuracy is a number
    >>> observe("toy-none", "accuracy is {:.2f}", bool, 0.71, says=[float("nan")])
    ∅ toy-none: this run has no such number: accuracy is ?
    """
    page.begin(name)
    numbers, said = _printed(sentence, says)
    text = page.sentences.get(name, said)
    shown = ["no such number" if number == NONE else number for number in numbers]
    this_run = "" if text == said else f"; this run: {', '.join(shown)}"
    true = _holds(holds, data)
    if true is None or set(numbers) == {NONE}:
        print(f"{EMPTY} {name}: this run has no such number: {text}")
    elif not true:
        print(f"{FALSE} {name}: with these data it is not so that: {text}{this_run}")
    elif this_run:
        print(f"{OTHER} {name}: text: “{text}”{this_run}")
    elif all(_true_of(holds, other) for other in spoiled(data)):
        print(f"{EMPTY} {name}: nothing could make it false that: {text}")
    else:
        print(f"{TRUE} {name}: {text}")


def _printed(sentence: str, says: Sequence[Any] | None) -> tuple[list[str], str]:
    """This run's numbers as the sentence prints them, in its order, and the sentence with them."""
    if says is None:
        return [], sentence
    numbers: list[str] = []
    words = ""
    for before, place, form, _ in Formatter().parse(sentence):
        words += before
        if place is not None:
            numbers.append(_number(says, int(place or len(numbers)), form or ""))
            words += numbers[-1]
    return numbers, words


def _number(says: Sequence[Any], place: int, form: str) -> str:
    """A number in its format, or a mark if the run has none."""
    try:
        number = says[place]
        return NONE if number != number else format(number, form)
    except (LookupError, TypeError, ValueError):
        return NONE


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


def _holds(holds: Callable[..., Any], data: Sequence[Any]) -> bool | None:
    """Whether the predicate is true; None if the data lack what it speaks of, as empty ones do."""
    try:
        return bool(holds(*data))
    except (LookupError, ValueError, ArithmeticError):
        return None


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
