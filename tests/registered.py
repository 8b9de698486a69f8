"""All estimators and what tests know of them: the contract of test_contract.py is that of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dpnb.boosting.booster import PrivateBooster
from dpnb.estimators.base import PrivateClassifier
from dpnb.papers.baselines import AdaBoost, CARTDPsAdaBoost, DPAdaBoost
from dpnb.papers.baselines_forest import RandomSplitForest, RandomTrees
from dpnb.papers.baselines_logistic import LogisticRegression
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.dpada import DPAda
from dpnb.papers.edprf import EDPRF
from dpnb.papers.pearson import VARIANTS, PearsonTree
from private_trees.lineage.trees import PINQID3, DiffGen, DiffPC45, DiffPID3, DiffPRF, DTDiff, SuLQID3

Parameters = Mapping[str, Any]


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


_ALL = (
    _older(DTDiff, {"n_specialisations": 25}, n_specialisations=3),
    _older(DiffGen, n_specialisations=3),
    _older(DiffPC45, {}, max_depth=2),
    _older(DiffPID3, max_depth=2),
    _older(DiffPRF, max_depth=2, n_trees=2),
    Entry(
        estimator=DiffPRFs,
        small={"n_trees": 2, "max_depth": 2},
        private={
            "default": {},
            "full bags": {"bags": "full", "utility": "info_gain"},
            "Bernoulli bags, Gini": {"bags": "bernoulli", "bag_rate": 0.3, "utility": "gini"},
            "disjoint bags, all attributes": {"bags": "disjoint", "max_features": "all"},
            "cover": {"bags": "cover", "bag_rate": 2, "n_trees": 3},
            "in two steps": {
                "selection": "two-step",
                "size_query": True,
                "stop": "noisy",
                "categorical": "multiway",
            },
        },
        leaking={
            "as written": DiffPRFs.as_written,
            "bounds from the data": partial(DiffPRFs, bounds="data", selection="two-step"),
        },
        learns={"n_trees": 15, "utility": "gini", "max_features": "all"},
    ),
    _older(PINQID3, max_depth=2),
    Entry(
        estimator=RandomTrees,
        small={"n_trees": 2, "max_depth": 3},
        learns={"n_trees": 25, "max_depth": 9},
    ),
    _older(SuLQID3, max_depth=2),
    Entry(
        estimator=PearsonTree,
        small={"max_depth": 2},
        private={
            "C": {},
            "S": VARIANTS["S"] | {"n_shards": 30},
            "class codes": {"statistic": "phi-codes", "selection": "exponential", "n_shards": 3},
            "signed": {"statistic": "phi-signed"},
        },
        leaking={
            "as written": PearsonTree.as_written,
            "one class": partial(PearsonTree, stop="one-class"),
        },
        learns={"max_depth": 8},
    ),
    _boosted(AdaBoost),
    _boosted(CARTDPsAdaBoost),
    Entry(
        estimator=DPAda,
        small={"n_rounds": 4, "uniform": 5, "geometric": 2},
        private={
            "default": {},
            "swing": {"schedule": "swing"},
            "random": {"schedule": "random"},
            "improved, with δ": {"schedule": "improved", "delta": 1e-5, "n_rounds": 12},
            "fixed step": {"learning_rate": 0.3},
        },
        leaking={"as written": DPAda.as_written},
        learns={"n_rounds": 60, "learning_rate": 0.5},
    ),
    _boosted(DPAdaBoost),
    Entry(
        estimator=EDPRF,
        small={"n_trees": 2, "max_depth": 2},
        private={
            "default": {},
            "trees by the budget": {"n_trees": None},
            "Poisson bags, full depth": {"bags": "poisson", "stop": "depth"},
            "cover, labels": {
                "bags": "cover",
                "bag_rate": 2,
                "n_trees": 3,
                "leaf": "label",
                "levels": "geometric",
            },
            "exponential mechanism, normalised Gini": {
                "selection": "exponential",
                "utility": "gini_normalised",
            },
            "text, made private": {"splits": "multiway", "reuse": False, "stop": "depth", "leaf": "label"},
        },
        leaking={"as written": EDPRF.as_written},
        learns={},
    ),
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
ENTRIES = {entry.estimator.__name__: entry for entry in _ALL}
"""By the name of the class, in the order of the chapters."""
