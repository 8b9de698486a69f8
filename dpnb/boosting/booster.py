"""PrivateBooster, boosted decision stumps under differential privacy, which makes a product of the repaired DPAda."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..arrays import Floats
from ..checks import check_delta, check_step
from ..domain import Domain
from ..estimators.base import PrivateClassifier, PrivateEstimator
from ..privacy.accounting import budgeted
from ..privacy.curator import Curator
from ..privacy.ledger import Neighbours
from ..records.doors import RecordsDoor
from ..records.grid import Shape
from ..records.losses import Loss, loss_of, softmax
from ..records.shapes import GroupShape, Shapes
from .plans import Planner, Settings
from .stages import boost, boost_purely, finest_cuts, most_purely, spread_purely


def logistic(score: Floats) -> Floats:
    """Probability of the positive class at a score F of bounded weights, ``1 / (1 + exp(−F))``.

    The weights are the slopes of MadaBoost's loss φ(z) = 1 − z for z < 0 and exp(−z) for z ≥ 0. Where a share p is
    positive, p φ(F) + (1 − p) φ(−F) is least at F = ln(p / (1 − p)). AdaBoost's exponential loss is least at half of
    this, see :func:`~dpnb.papers.stumps.half_logistic`.
    """
    return 0.5 * (1 + np.tanh(score / 2))


def probabilities(models: Sequence[Shapes], codes: Floats) -> Floats:
    """Class probabilities (n, classes) that follow from the scores of one model, or of one model for each class."""
    scores = np.stack([model.score(codes) for model in models])
    if len(scores) > 1:
        return softmax(scores).T
    second = logistic(scores[0])
    return np.stack([1 - second, second], axis=1)


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
    _products_from: ClassVar = 3000.0  # records times ε, with pure ε; no run chose it

    def _boost(self, records: RecordsDoor, curator: Curator) -> tuple[list[Shapes], float]:
        """The models, and the spread of the residuals of a number."""
        how: dict[str, Any] = {"uniform": self.uniform, "geometric": self.geometric}
        finest = finest_cuts(self.domain_, uniform=self.uniform, geometric=self.geometric)
        data, budget = records.scored(finest, self._loss()), self._budget
        if self.delta is None:
            size: dict[str, Any] = {"n_rounds": self.n_rounds, "n_problems": data.loss.n_problems}
            most = most_purely(budget, **size, of_spread=spread_purely(self.domain_))
            with curator.ledger.adaptive("booster", most=most):
                how |= {"n_rounds": self.n_rounds, "learning_rate": self.learning_rate}
                how["products_from"] = math.inf if self.additive else self._products_from
                return boost_purely(data, curator, self.domain_, epsilon=budget, **how)
        planner = Planner(
            self._settings,
            self.domain_,
            data.loss.n_problems,
            n_rounds=self.n_rounds,
            learning_rate=self.learning_rate,
            additive=self.additive,
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
        lowest to its highest score takes its place, and a warning says so, because an attribute that is the same in all
        records can then have a share. :meth:`explain` says what attributes add to the scores of records at hand.

        **Privacy**: post-processing, free.
        """
        check_is_fitted(self)
        if not all(model.counted for model in self.models_):
            warnings.warn(
                "importances are distances between scores, wherever records lie: this model has no noisy counts of "
                "them, which a fit with delta=1e-6, say, releases",
                stacklevel=2,
            )
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


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateBooster(Boosted, PrivateClassifier):
    """Boosted stumps, with δ also groups of attributes and noisy sweeps; a sum of shapes to plot, ε-DP or (ε, δ)-DP.

    Parameters
    ----------
    delta : total δ in (0, 1) for all stages, or None for pure ε. With pure ε the booster chooses stumps and products of
        two.
    n_rounds : number of stumps m ≥ 1; if None, it follows from a noisy number of records times ε.
    learning_rate : first step λ > 0 of the stumps; the step shrinks linearly to λ/5 in the last round. If None, it
        follows from the number of rounds.
    uniform, geometric : number of thresholds of each continuous attribute before the data are seen, see
        :func:`~dpnb.records.grid.public_cuts`; with δ, bins that hold many records are halved afterwards.
    additive : whether to do without pairs and triples of attributes.

    Attributes
    ----------
    models_ : list of :class:`~dpnb.records.shapes.Shapes`, one for two classes (the second is +1), otherwise one for
        each class.
    feature_importances_ : (attributes,) share of each attribute in the movements of the score; see the property.

    Notes
    -----
    **Privacy**: ``epsilon``-DP, or (``epsilon``, ``delta``)-DP, under ``neighbours`` for a given domain. Given past
    outputs the scores F of all records are fixed, and a record changes sums over cells by its own residual r. This is
    ``y · min(1, exp(−y F))`` for two classes, and ``1[y = k] − p_k`` of each class k for more.

    * The booster releases a noisy number of records with pure ε. With δ it releases noisy counts of the bins of each
      attribute, some of which are halved; a record is in one bin of each attribute.
    * For stumps, and with pure ε for products of two in the last rounds, the score ``½ Σ r h`` moves by at most ½
      either way. Permute-and-flip chooses them, or with δ the exponential mechanism, several times in a pass over the
      records.
    * For fine attributes, the score ``Σ max(|Σ r| − 3 √(Σ r² + 36), 0)`` over bins moves up by Σ|r| or down by Σ|r| +
      r²/4 at most.
    * For groups, the largest ``|½ Σ r h|`` over products h of a condition on each of two or three attributes moves by
      at most ½ Σ|r|, either way.
    * For sweeps, a record is in one cell of each block, with a residual of at most 1 (√2 for more than two classes) in
      L2.

    Draws are exact. Sums of residuals, which are multiples of 2⁻²⁸, are exact for up to 2²⁵ records, and scores that
    are added up over bins are exact while records times attributes are at most 2²⁵. The number of rounds, and
    everything else that follows from the noisy number of records, is post-processing; budgets are fixed in advance.
    With δ, all plans that may follow are declared, and ρ is what the worst of them leaves, see
    :mod:`dpnb.privacy.accounting`.

    Call ``print(domain.check(X, y))`` before a fit, because a fit silently moves misfits into the domain, and spends
    its budget.

    You may choose ``n_rounds`` and ``learning_rate`` freely before the data are seen. Every further fit on the private
    records spends its own budget.

    References
    ----------
    Domingo, Watanabe (2000), MadaBoost; McKenna, Sheldon (2020), Permute-and-Flip; Cesar, Rogers (2021), Bounding,
    concentrating, and truncating; Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy.
    """

    _released: ClassVar = ("models_",)

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        self.models_, _ = self._boost(records, curator)

    def _loss(self) -> Loss:
        return loss_of(self.domain_.n_classes)

    def _votes(self, codes: Floats) -> Floats:
        return probabilities(self.models_, codes)

    def _model(self, label: Any) -> Shapes:
        if len(self.models_) > 1:
            if label not in self.domain_.classes:
                raise ValueError(
                    f"label={label!r}: expected one of {', '.join(map(repr, self.domain_.classes))}"
                )
            return self.models_[self.domain_.classes.index(label)]
        if label not in (None, second := self.domain_.classes[1]):
            raise ValueError(
                f"label={label!r}: expected {second!r} or None; with two classes the others are these upside down"
            )
        return self.models_[0]
