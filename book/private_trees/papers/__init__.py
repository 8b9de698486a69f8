"""The papers: a module each, with all that the book's lists and the tests' lists have to know of one.

The rest is found by the stem of the module's name, which a paper's module in :mod:`dpnb.papers`, its studies, drawings,
exercises, claims, notebook and plain implementation share.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from .. import modules_of
from ..studies.runs import DELTA

Parameters = Mapping[str, Any]


class Text(NamedTuple):
    """The text's version on the board, at its claim."""

    name: str
    make: Callable[..., Any]
    cell: Parameters  # what a cell of the grid says of it


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What the book and its tests have to know of a paper."""

    chapter: int  # its number
    estimator: Any  # the class: the repaired algorithm by default, the text's by ``as_written``
    beside: tuple[type, ...] = ()  # other estimators that the chapter treats
    # On the board.
    board: str  # name of the repaired algorithm
    settings: Mapping[str, Parameters]  # to choose from; the first is how it comes
    additive: bool = False  # whether its score is a sum over attributes
    text: Text
    # In a lecture.
    said: tuple[int, int] = (1, 3)  # sentences of the finding, from and to
    code: int = 0  # number of the cell of code that is shown
    # In tests.
    small: Parameters  # a model that is fitted in milliseconds
    private: Mapping[str, Parameters]  # by name, what to change of it; each costs what its ledger says
    leaking: Mapping[str, Callable[..., Any]] = field(default_factory=dict)  # beside the text's version
    learns: Parameters | None  # a model that learns whatever can be learnt; None if none can
    reruns: tuple[Parameters, ...] = ()  # of its notebooks: the cheapest, the largest, others
    measured: str = ""  # pattern of the places that tell experiments

    @property
    def stem(self) -> str:
        """Name of its module."""
        return str(self.estimator.__module__).rpartition(".")[2]

    @property
    def estimators(self) -> list[type]:
        """All estimators that the chapter treats, by name."""
        return sorted((self.estimator, *self.beside), key=lambda kind: kind.__name__)

    @property
    def notebooks(self) -> tuple[str, str]:
        """Names of the chapter's notebook and of its appendix."""
        return f"{self.chapter:02d}_{self.stem}", f"{self.chapter:02d}_appendix"

    @property
    def page(self) -> str:
        """The chapter's page of the book."""
        return f"notebooks/{self.notebooks[0]}"

    @property
    def takes_delta(self) -> bool:
        """Whether there is a version with δ."""
        return "delta" in inspect.signature(self.estimator).parameters

    def makers(self, name: str) -> dict[str, Callable[..., Any]]:
        """Makers of the repaired model under a name, with pure ε and, where it takes one, with δ."""
        with_delta = {f"{name}, δ": partial(self.estimator, delta=DELTA)} if self.takes_delta else {}
        return {name: self.estimator} | with_delta


def settings_of(*names: str, **columns: tuple[Any, ...]) -> dict[str, dict[str, Any]]:
    """Settings by name, from a column of values for each parameter."""
    rows = zip(*columns.values(), strict=True)
    return {name: dict(zip(columns, row, strict=True)) for name, row in zip(names, rows, strict=True)}


PAPERS: dict[str, Declaration] = {module.PAPER.stem: module.PAPER for module in modules_of(__name__)}
"""By stem, in the order of the files of claims."""
BY_CHAPTER = sorted(PAPERS.values(), key=lambda paper: paper.chapter)
