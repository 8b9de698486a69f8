"""What the estimators of all papers share: opening the doors, predicting by vote, checking parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .arrays import Floats, Ints
from .bags import Bags
from .counts import CohortDoor, Records, RecordsDoor
from .curator import Curator, open_curator
from .domain import Domain
from .ledger import Ledger, Neighbours, TreeScope
from .trees import Tree


def check_epsilon(epsilon: object) -> float:
    """Return ε as a float; raise ValueError unless it is a positive number (``inf`` switches privacy off)."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.number) or not epsilon > 0:
        raise ValueError(f"epsilon={epsilon!r}: expected a positive number, or inf for no privacy")
    return float(epsilon)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}")


def check_count(name: str, value: object, *, low: int) -> None:
    """Raise ValueError unless ``value`` is a whole number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ValueError(f"{name}={value!r}: expected a whole number of at least {low}")


def select_offered(
    mechanism: Callable[..., Ints], scores: Floats, offered: NDArray[np.bool_], **budget: Any
) -> Ints:
    """Choose one option for each node among those that it is offered.

    Parameters
    ----------
    mechanism : a curator's choice, such as :meth:`~dpnb.curator.Curator.permute_and_flip`.
    scores : (nodes, options) larger is better.
    offered : (nodes, options) public; at least one option for each node.
    budget : what else the mechanism takes.

    Returns
    -------
    (nodes,) numbers of options.
    """
    node, option = np.nonzero(offered)
    starts = np.searchsorted(node, np.arange(len(offered)))
    chosen: Ints = option[starts + mechanism(scores[node, option], starts=starts, **budget)]
    return chosen


def leaf_labels(
    curator: Curator, counts: Floats, *, nodes: Ints, epsilon: float, monotone: bool = True
) -> Floats:
    """A label for each leaf by permute-and-flip on its class counts: Algorithm 3 of eDPRF, equations (15) and (16).

    Parameters
    ----------
    counts : (leaves, classes) exact class counts.
    nodes : (leaves,) node numbers.
    epsilon : cost of a leaf.
    monotone : whether to use the rate ε that monotone scores allow, instead of the paper's ε/2. With two classes,
        the larger of two noisy counts errs more often than the former and less often than the latter.

    Returns
    -------
    (leaves, classes) 1 for the label, 0 elsewhere.

    **Privacy**: ``epsilon``-DP for a record of each leaf; a record adds 1 to one count, so Δ = 1 and the score is
    monotone (fact F1).
    """
    classes = counts.shape[1]
    label = curator.permute_and_flip(
        counts.reshape(-1),
        starts=np.arange(len(counts)) * classes,
        epsilon=epsilon,
        sensitivity=1.0,
        monotone=monotone,
        what="label of a leaf",
        parts=nodes,
    )
    one_hot: Floats = np.eye(classes)[label]
    return one_hot


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: parameters ``epsilon``, ``delta``, ``domain``, ``neighbours``, ``random_state``."""

    epsilon: float
    delta: float | None = None
    domain: Domain | None
    neighbours: Neighbours
    random_state: Any

    def _open(self, X: Any, y: Any) -> tuple[RecordsDoor, Curator]:
        """Open the three doors for a fit: records, releases, budget."""
        epsilon = check_epsilon(self.epsilon)
        ledger = Ledger(neighbours=self.neighbours, delta=self.delta, claimed=epsilon)
        if isinstance(X, RecordsDoor):
            return self._open_records(X, y), open_curator(
                rng=np.random.default_rng(self.random_state), ledger=ledger
            )
        if y is None:
            raise ValueError("a classifier requires y to be passed, but the target y is None")
        y = y if isinstance(y, pd.Series) else column_or_1d(y, warn=True)
        validate_data(self, X, skip_check_array=True)
        curator = open_curator(rng=np.random.default_rng(self.random_state), ledger=ledger)
        if self.domain is not None:
            self.domain_ = self.domain
        else:
            check_classification_targets(y)
            why = "no domain given: bounds, categories and classes read off the records"
            self.domain_ = curator.exact(Domain.infer(X, y), why=why)
        records = Records(X, y, domain=self.domain_)
        self.classes_ = np.array(self.domain_.classes)
        return records, curator

    def _open_records(self, records: RecordsDoor, y: object) -> RecordsDoor:
        """Take records that are encoded already; they carry labels and domain."""
        if y is not None:
            raise ValueError("y given beside encoded records: they carry their labels, call fit(records)")
        if self.domain not in (None, records.domain):
            raise ValueError("domain differs from the one that the records were encoded with")
        self.domain_ = records.domain
        self.classes_ = np.array(self.domain_.classes)
        self.n_features_in_ = self.domain_.n_attributes
        self.feature_names_in_ = np.array(self.domain_.names, dtype=object)
        return records

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ledger_")

    @property
    def _budget(self) -> float:
        """Budget under add/remove: a replacement is a removal and an addition, each pays half."""
        return float(self.epsilon) / (2 if self.neighbours == "replace" else 1)

    def _votes(self, codes: Floats) -> Floats:
        """Unnormalised class scores of encoded records, (n, classes)."""
        raise NotImplementedError

    def predict_proba(self, X: pd.DataFrame | ArrayLike) -> Floats:
        """Class probabilities.

        Parameters
        ----------
        X : (n, attributes) records; unknown categories and NaN raise, numbers beyond the bounds are routed
            like the bounds.

        Returns
        -------
        (n, classes), columns in the order of ``classes_``.

        **Privacy**: post-processing of the released model, free.
        """
        check_is_fitted(self)
        if isinstance(X, np.ndarray) and X.ndim == 1:
            raise ValueError("X is one-dimensional. Reshape your data: X.reshape(1, -1) for one record")
        validate_data(self, X, skip_check_array=True, reset=False)
        return self._probabilities(self.domain_.encode(X, strict=False))

    def _probabilities(self, codes: Floats) -> Floats:
        """Class probabilities of encoded records, (n, classes)."""
        scores = self._votes(codes)
        shares: Floats = scores / scores.sum(axis=1, keepdims=True)
        return shares

    def predict(self, X: pd.DataFrame | ArrayLike) -> NDArray[Any]:
        """Most probable class of every record, (n,)."""
        chosen = self.predict_proba(X).argmax(axis=1)
        result: NDArray[Any] = self.classes_[chosen]
        return result


class PrivateForest(PrivateClassifier):
    """Base of the forests: trees with released leaf counts, combined by ``vote``."""

    bags: str
    bag_rate: float | None
    vote: str
    trees_: list[Tree]

    def _plant(
        self,
        records: RecordsDoor,
        curator: Curator,
        grow: Callable[[CohortDoor, TreeScope, float], Tree],
        *,
        n_trees: int,
    ) -> list[Tree]:
        """Draw the bags and grow a tree on each.

        Parameters
        ----------
        grow : bag, ledger scope, and ε that every path may spend on each copy of a record → tree.
        n_trees : number of trees.

        **Privacy**: bags compose by fact F2, see :class:`~dpnb.bags.Bags`.
        """
        bags = Bags(self.bags, n_trees, self.bag_rate)
        seed = curator.public(lambda rng: int(rng.integers(2**63)), what="seed of the bags")
        per_copy = bags.per_copy_epsilon(self._budget)
        trees = []
        with bags.forest_scope(curator.ledger, f"forest of {n_trees} trees"):
            for b in range(n_trees):
                with bags.tree_scope(curator.ledger), curator.ledger.tree("tree") as scope:
                    cohort = records.bag(bags, seed=seed, tree=b)
                    trees.append(grow(cohort, scope, per_copy))
        return trees

    def _votes(self, codes: Floats) -> Floats:
        votes = np.zeros((len(codes), self.domain_.n_classes))
        for tree in self.trees_:
            votes += leaf_votes(tree.value, vote=self.vote)[tree.apply(codes)]
        return votes


def leaf_votes(counts: Floats, *, vote: str) -> Floats:
    """Turn released leaf counts into votes that sum to one.

    Parameters
    ----------
    counts : (n, classes) noisy counts.
    vote : ``"probability"`` share of the counts cut off at 0, uniform for empty leaves; ``"majority"`` one vote
        for the largest noisy count.
    """
    classes = counts.shape[1]
    if vote == "majority":
        one_vote: Floats = np.eye(classes)[counts.argmax(axis=1)]
        return one_vote
    positive = np.maximum(counts, 0.0)
    total = positive.sum(axis=1, keepdims=True)
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1 / classes)
