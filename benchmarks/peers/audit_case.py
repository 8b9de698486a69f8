"""One attack on other people's software, and the data sets that several attacks share.

No module of cases imports the software that it attacks before a subject is made, so that one that cannot be installed
leaves the others alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Data = tuple[NDArray[Any], NDArray[Any]]

# Looked for in the docstrings of the class and its module, and in the README of the release.
NOT_STATED = "not stated"


@dataclass(frozen=True)
class Case:
    """One attack: a subject, two neighbours and what is looked at."""

    name: str  # short name for the command line
    subject: str  # class and settings, in words
    package: str  # distribution that the subject comes from
    relation: str  # how the two data sets differ, `"add-remove"` or `"replace"`
    # claimed, delta: the claim.
    claimed: float
    runs: int  # number of fits on each data set
    factory: Callable[[], Any]  # returns the unfitted subject
    # first, second: (X, y) of D and D′.
    first: Data
    second: Data
    pair: str  # the two data sets, in words
    # Fitted model → numbers; a single 0 or 1 if `event` names an event that was fixed in advance.
    observe: Callable[[Any], ArrayLike]
    event: str = ""  # that event in words; empty if a part of the runs shall choose one
    names: tuple[str, ...] = ()  # names of the numbers, where there is no such event
    delta: float = 0.0
    documented: str = NOT_STATED  # relation that the claim is for, as the software says it


QUERY = np.array([[1.0]])


def at_one(labels: Sequence[int]) -> Data:
    """Records at x = 1, where each tree with bounds (0, 1) and depth 1 has them all in one leaf."""
    return np.ones((len(labels), 1)), np.array(labels)


def without_first(data: Data) -> Data:
    return data[0][1:], data[1][1:]


def label_1(model: Any) -> list[bool]:
    return [model.predict(QUERY)[0] == 1]
