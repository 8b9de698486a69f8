"""All estimators and what tests know of them: the contract of test_contract.py is that of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from dpnb import Continuous, Domain
from dpnb.boosting.booster import PrivateBooster
from dpnb.boosting.regressor import PrivateBoosterRegressor
from dpnb.estimators.base import PrivateEstimator, PrivateRegressor
from dpnb.papers.baselines import AdaBoost, CARTDPsAdaBoost, DPAdaBoost
from dpnb.papers.baselines_forest import RandomSplitForest, RandomTrees
from dpnb.papers.baselines_logistic import LogisticRegression
from private_trees.lineage.trees import PINQID3, DiffGen, DiffPC45, DiffPID3, DiffPRF, DTDiff, SuLQID3
from private_trees.papers import BY_CHAPTER, Declaration, Parameters


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An estimator and what it promises."""

    estimator: type[PrivateEstimator]  # the class
    small: Parameters  # parameters of a model that is small enough to be fitted thousands of times
    # By name, what to change of `small`; each of these models costs at most what its ledger says, under each
    # relation that it takes.
    private: Mapping[str, Parameters] = field(default_factory=lambda: {"default": {}})
    # By name, makers of models whose true ε is infinite on some pair of the auditor's.
    leaking: Mapping[str, Callable[..., PrivateEstimator]] = field(default_factory=dict)
    # Parameters at which it learns whatever can be learnt, for scikit-learn's checks; None if it cannot.
    learns: Parameters | None = None
    in_spark: bool = True  # whether a :class:`~dpnb.spark.SparkTable` answers what the private models ask

    def model(self, name: str, **parameters: Any) -> PrivateEstimator:
        """One of the private models, unfitted."""
        return self.estimator(**{**self.small, **self.private[name], **parameters})

    @property
    def numbers(self) -> bool:
        """Whether it predicts a number."""
        return issubclass(self.estimator, PrivateRegressor)

    def domain(self, domain: Domain) -> Domain:
        """A domain that it takes: discrete if need be, and for a number with 10 for each class after the first."""
        if self.numbers:
            response = Continuous(domain.target, 0, 10 * (domain.n_classes - 1))
            return replace(domain, classes=(), target="class", response=response)
        return domain.discretise(4) if self.estimator.discrete_only else domain

    def labels(self, y: Any, domain: Domain) -> Any:
        """Labels, of which those of the domain are numbers if it predicts numbers."""
        if not self.numbers:
            return y
        of = {label: 10.0 * place for place, label in enumerate(domain.classes)}
        return pd.Series(y).map(lambda label: of.get(label, label))

    def suited(self, X: Any, y: Any, domain: Domain) -> tuple[Any, Any, Domain]:
        """Records, labels and domain as it takes them."""
        X = domain.discretise_records(X, 4) if self.estimator.discrete_only else X
        return X, self.labels(y, domain), self.domain(domain)


def seen(model: Any, X: Any) -> Any:
    """What a fitted model says of records: probabilities that add up to 1, or finite numbers."""
    found = model.predict(X) if isinstance(model, PrivateRegressor) else model.predict_proba(X)
    if found.ndim > 1:
        np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.isfinite(found).all()
    return found


def _older(estimator: type[PrivateEstimator], learns: Parameters | None = None, **small: Any) -> Entry:
    return Entry(estimator=estimator, small=small, learns=learns, in_spark=False)


def _boosted(estimator: type[PrivateEstimator]) -> Entry:
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
    Entry(
        estimator=PrivateBoosterRegressor,
        small={"n_rounds": 4, "uniform": 5, "geometric": 2},
        private={"pure": {}, "with δ": {"n_rounds": 12, "delta": 1e-5}},
        learns={"n_rounds": 60},
    ),
)
_CHAPTER = {kind: paper.chapter for paper in BY_CHAPTER for kind in paper.estimators}
ENTRIES = {
    entry.estimator.__name__: entry
    for entry in sorted(_ALL, key=lambda e: (_CHAPTER.get(e.estimator, 99), e.estimator.__name__))
}
"""By the name of the class, in the order of the chapters."""
