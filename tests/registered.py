"""All estimators and what tests know of them: the contract of test_contract.py is that of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpnb.boosting.booster import PrivateBooster
from dpnb.estimators.base import PrivateClassifier
from dpnb.papers.baselines import AdaBoost, CARTDPsAdaBoost, DPAdaBoost
from dpnb.papers.baselines_forest import RandomSplitForest, RandomTrees
from dpnb.papers.baselines_logistic import LogisticRegression
from private_trees.lineage.trees import PINQID3, DiffGen, DiffPC45, DiffPID3, DiffPRF, DTDiff, SuLQID3
from private_trees.papers import BY_CHAPTER, Declaration, Parameters


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An estimator and what it promises."""

    estimator: type[PrivateClassifier]  # the class
    small: Parameters  # parameters of a model that is small enough to be fitted thousands of times
    # By name, what to change of `small`; each of these models costs at most what its ledger says, under each
    # relation that it takes.
    private: Mapping[str, Parameters] = field(default_factory=lambda: {"default": {}})
    # By name, makers of models whose true ε is infinite on some pair of the auditor's.
    leaking: Mapping[str, Callable[..., PrivateClassifier]] = field(default_factory=dict)
    # Parameters at which it learns whatever can be learnt, for scikit-learn's checks; None if it cannot.
    learns: Parameters | None = None
    in_spark: bool = True  # whether a :class:`~dpnb.spark.SparkTable` answers what the private models ask

    def model(self, name: str, **parameters: Any) -> PrivateClassifier:
        """One of the private models, unfitted."""
        return self.estimator(**{**self.small, **self.private[name], **parameters})


def _older(estimator: type[PrivateClassifier], learns: Parameters | None = None, **small: Any) -> Entry:
    return Entry(estimator=estimator, small=small, learns=learns, in_spark=False)


def _boosted(estimator: type[PrivateClassifier]) -> Entry:
    small = {"n_rounds": 4}
    return Entry(
        estimator=estimator, small=small, private={}, leaking={"as it is": estimator}, in_spark=False
    )


def _repaired(paper: Declaration) -> Entry:
    return Entry(
        estimator=paper.estimator,
        small=paper.small,
        private=paper.private,
        leaking={"as written": paper.estimator.as_written} | paper.leaking,
        learns=paper.learns,
    )


_ALL = (
    *map(_repaired, BY_CHAPTER),
    _older(DTDiff, {"n_specialisations": 25}, n_specialisations=3),
    _older(DiffGen, n_specialisations=3),
    _older(DiffPC45, {}, max_depth=2),
    _older(DiffPID3, max_depth=2),
    _older(DiffPRF, max_depth=2, n_trees=2),
    _older(PINQID3, max_depth=2),
    Entry(
        estimator=RandomTrees,
        small={"n_trees": 2, "max_depth": 3},
        learns={"n_trees": 25, "max_depth": 9},
    ),
    _older(SuLQID3, max_depth=2),
    _boosted(AdaBoost),
    _boosted(CARTDPsAdaBoost),
    _boosted(DPAdaBoost),
    Entry(
        estimator=RandomSplitForest,
        small={"n_trees": 2, "max_depth": 3},
        learns={"n_trees": 1, "max_depth": 11},
    ),
    Entry(
        estimator=LogisticRegression,
        small={"n_rounds": 6, "uniform": 5, "geometric": 2},
        private={"public bins": {}, "ranks": {"bins": "ranks"}},
        learns={"n_rounds": 100, "learning_rate": 4.0},
    ),
    Entry(
        estimator=PrivateBooster,
        small={"n_rounds": 4, "uniform": 5, "geometric": 2},
        private={"pure": {}, "with δ": {"n_rounds": 12, "delta": 1e-5}},
        learns={"n_rounds": 60, "learning_rate": 0.5},
    ),
)
_CHAPTER = {kind: paper.chapter for paper in BY_CHAPTER for kind in paper.estimators}
ENTRIES = {
    entry.estimator.__name__: entry
    for entry in sorted(_ALL, key=lambda e: (_CHAPTER.get(e.estimator, 99), e.estimator.__name__))
}
"""By the name of the class, in the order of the chapters."""
