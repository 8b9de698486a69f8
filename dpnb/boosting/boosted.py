"""What the boosters for classes and for numbers share: parameters, how they learn, and views of what they learnt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..arrays import Floats
from ..checks import check_delta, check_step
from ..domain import Domain
from ..estimators.base import PrivateEstimator
from ..privacy.accounting import budgeted
from ..privacy.curator import Curator
from ..privacy.ledger import Neighbours
from ..records.doors import RecordsDoor
from ..records.grid import Shape
from ..records.losses import Loss
from ..records.shapes import GroupShape, Shapes
from ..settings import PRODUCTS_FROM
from .numbers import Off
from .plans import Planner, Settings, most_touched
from .runs import boost, boost_purely, most_purely, shares_purely
from .stages import finest_cuts


@dataclass(kw_only=True, eq=False, repr=False)
class Boosted(PrivateEstimator):
    """What :class:`PrivateBooster` and :class:`~dpnb.PrivateBoosterRegressor` share."""

    epsilon: float = 1.0
    delta: float | None = None
    domain: Domain | None = None
    n_rounds: int | None = None
    learning_rate: float | None = None
    uniform: int = 31
    geometric: int = 24
    additive: bool = False
    neighbours: Neighbours = "add-remove"
    random_state: Any = None

    _least: ClassVar = {"n_rounds": 1, "uniform": 0, "geometric": 0}
    _settings: ClassVar = Settings()
    _products_from: ClassVar = PRODUCTS_FROM
    _people: ClassVar = {}

    def _boost(self, records: RecordsDoor, curator: Curator) -> tuple[list[Shapes], Off | None]:
        """The models, and how far predictions of a number are off."""
        how: dict[str, Any] = {"uniform": self.uniform, "geometric": self.geometric}
        finest = finest_cuts(self.domain_, uniform=self.uniform, geometric=self.geometric)
        data, budget = records.scored(finest, self._loss()), self._budget
        planner = Planner(
            self._settings,
            self.domain_,
            data.loss.n_problems,
            n_rounds=self.n_rounds,
            learning_rate=self.learning_rate,
            additive=self.additive,
            touched=most_touched(self.domain_, finest, unit=records.unit),
        )
        if self.delta is None:
            size: dict[str, Any] = {"n_rounds": self.n_rounds, "n_problems": planner.n_problems}
            most = most_purely(budget, shares=shares_purely(self.domain_), **size)
            products_from = math.inf if self.additive else self._products_from
            with curator.ledger.adaptive("booster", most=most):
                return boost_purely(
                    data, curator, planner, epsilon=budget, products_from=products_from, **how
                )
        rho, plans = budgeted(
            planner.declared(), epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours
        )
        with curator.ledger.adaptive("booster", plans=plans):
            return boost(data, curator, planner, rho=rho, epsilon=budget, **how)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_delta(self.delta)
        if self.learning_rate is not None:
            check_step("learning_rate", self.learning_rate)

    def _loss(self) -> Loss:
        """The loss that is minimised."""
        raise NotImplementedError

    def _model(self, label: Any) -> Shapes:
        """Score of a class, or of the target."""
        raise NotImplementedError

    @property
    def feature_importances_(self) -> Floats:
        """Share of each attribute in the movements of the score, (attributes,); the shares sum to 1 or are all 0.

        With δ, the share follows from the mean absolute deviation of what an attribute adds to the score, over records
        that lie where the noisy counts say. These counts are released anyway, see
        :meth:`~dpnb.records.shapes.Shapes.importances`.

        With pure ε no counts are released, and earlier documents hold none. Then half the distance from an attribute's
        lowest to its highest score takes its place, wherever records lie, so that an attribute that is the same in all
        records can have a share. :meth:`explain` says what attributes add to the scores of records at hand.

        **Privacy**: post-processing, free.
        """
        check_is_fitted(self)
        total: Floats = np.sum([model.importances() for model in self.models_], axis=0)
        shares: Floats = total / max(float(total.sum()), 1e-300)
        return shares

    def explain(self, X: pd.DataFrame | ArrayLike, *, label: Any = None) -> pd.DataFrame:
        """The part of each attribute, and of each group of them, in the score of each record.

        Parameters
        ----------
        X : (n, attributes) records, as for :meth:`predict_proba`.
        label : class whose score is meant, as for :meth:`shape`.

        Returns
        -------
        DataFrame (n, 1 + attributes + groups): "constant", the attributes, and groups as "one × other". A row sums to
        the score F. With two classes P(second class) = ``logistic(F)``, with more the probabilities are the softmax of
        the classes' scores. A regressor's prediction is F, moved into the target's range.

        **Privacy**: post-processing, free. The rows describe the records in ``X``.
        """
        check_is_fitted(self)
        codes = self._codes(X)
        model, names = self._model(label), self.domain_.names
        parts = {"constant": np.full(len(codes), model.constant)}
        parts |= {name: model.part(codes, a) for a, name in enumerate(names)}
        for block, table in model.groups():
            name = " × ".join(names[axis.attribute] for axis in block.axes)
            added = table.reshape(-1)[block.cells(lambda a: codes[:, a])]
            parts[name] = parts.get(name, 0.0) + added
        index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(codes))
        return pd.DataFrame(parts, index=index)

    def shape(self, name: str, *, label: Any = None) -> Shape:
        """The part that an attribute by itself adds to the score.

        Parameters
        ----------
        name : name of an attribute.
        label : class whose score is meant; the second of two classes if None. A regressor has no classes.

        Returns
        -------
        :class:`~dpnb.records.grid.Shape` with thresholds or category codes, and scores.

        **Privacy**: post-processing, free.
        """
        check_is_fitted(self)
        self.domain_[name]  # raises for an unknown name
        return self._model(label).shape(self.domain_.names.index(name))

    def groups(self, *, label: Any = None) -> dict[tuple[str, ...], GroupShape]:
        """The parts that pairs and triples of attributes add to the score beside their own shapes.

        Parameters
        ----------
        label : class whose score is meant, as for :meth:`shape`.

        Returns
        -------
        Mapping from the names of two or three attributes to :class:`~dpnb.records.shapes.GroupShape`; empty with
        ``additive=True``.

        **Privacy**: post-processing, free.
        """
        check_is_fitted(self)
        names = self.domain_.names
        return {
            tuple(names[axis.attribute] for axis in block.axes): GroupShape(
                tuple(axis.at for axis in block.axes), table
            )
            for block, table in self._model(label).groups()
        }
