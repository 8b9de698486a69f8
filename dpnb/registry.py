"""The contract of all estimators: what is said here of one is what it is tested, listed and run through Spark for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .booster import PrivateBooster
from .documents import ESTIMATORS
from .estimators import PrivateClassifier

Parameters = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An estimator and what it promises.

    Parameters
    ----------
    estimator : the class.
    page : page of the book that treats it.
    small : parameters of a model that is small enough to be fitted thousands of times.
    private : by name, what to change of ``small``; each of these models costs at most what its ledger says, under each
        relation that it takes.
    leaking : by name, makers of models whose true ε is infinite on some pair of the auditor's.
    learns : parameters at which it learns whatever can be learnt, for scikit-learn's checks; None if it cannot.
    in_spark : whether a :class:`~dpnb.spark.SparkTable` answers what the private models ask.
    """

    estimator: type[PrivateClassifier]
    page: str
    small: Parameters
    private: Mapping[str, Parameters] = field(default_factory=lambda: {"default": {}})
    leaking: Mapping[str, Callable[..., PrivateClassifier]] = field(default_factory=dict)
    learns: Parameters | None = None
    in_spark: bool = True

    def model(self, name: str, **parameters: Any) -> PrivateClassifier:
        """One of the private models, unfitted."""
        return self.estimator(**{**self.small, **self.private[name], **parameters})


ENTRIES: dict[str, Entry] = {}
"""Every registered estimator by the name of its class; :func:`dpnb.papers.estimators` fills in those of the papers."""


def register(estimator: type[PrivateClassifier], **promises: Any) -> None:
    """List an estimator; a paper's module does so for its own. Arguments as of :class:`Entry`.

    Its models can be released then, and read wherever it is registered.

    Raises
    ------
    ValueError
        If another class has that name already.
    """
    entry = Entry(estimator=estimator, **promises)
    known = ENTRIES.setdefault(estimator.__name__, entry).estimator
    if known is not estimator:
        raise ValueError(f"{estimator.__name__!r} is registered already, by {known.__module__}: rename one")
    ESTIMATORS.setdefault(estimator.__name__, estimator.__module__)


register(
    PrivateBooster,
    page="notebooks/07_leaderboard",
    small={"n_rounds": 4, "uniform": 5, "geometric": 2},
    private={"pure": {}, "with δ": {"n_rounds": 12, "delta": 1e-5}},
    learns={"n_rounds": 60, "learning_rate": 0.5},
)
