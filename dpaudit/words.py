"""Events in words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .events import OutputEvent
from .fits import Texts, brief


def words_of(event: OutputEvent, texts: Texts) -> str:
    """An event in words: by the texts in it, if it is one of texts, such as exceptions and warnings."""
    inside = texts_in(event, texts)
    if inside is None or not inside:
        return str(event)
    inside = [brief(text) or "none" for text in inside]
    listed = "” or “".join(inside[:3]) + ("” or others" if len(inside) > 3 else "”")  # enough for a line
    return f"{event.statistic}: “{listed}"


def counted(n: float, what: str) -> str:
    """A number of things, in the singular where it is one."""
    if n != 1:
        many = {"y": what[:-1] + "ies", "s": what + "es"}
        what = many.get(what[-1], what + "s")
    return f"{n} {what}"


def texts_in(event: OutputEvent, texts: Texts) -> list[str] | None:
    """The texts in an event, None if its numbers are numbers."""
    column = sorted((number, text) for (name, number), text in texts.items() if name == event.statistic)
    return [text for number, text in column if event.holds(np.array([number]))[0]] if column else None


def asked_for(words: str, queries: Any) -> str:
    """Words in which the records of queries stand instead of their numbers."""

    def record(found: re.Match[str]) -> str:
        one = queries.iloc[int(found[1])]
        return "at " + ", ".join(f"{name} = {value}" for name, value in one.items())

    return re.sub(r"query (\d+)", record, words)
