"""PrivateBoosterRegressor, the private booster for a number instead of classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..arrays import Floats
from ..domain import Continuous
from ..errors import DataError
from ..estimators.base import PrivateRegressor
from ..privacy.curator import Curator
from ..records.doors import RecordsDoor
from ..records.losses import Huber
from ..records.shapes import Shapes
from .boosted import Boosted


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateBoosterRegressor(Boosted, PrivateRegressor):
    """The stages of :class:`~dpnb.PrivateBooster` for a number with a public range, ε-DP or (ε, δ)-DP.

    Parameters
    ----------
    domain : a domain with a ``response``, whose bounds are public. Numbers outside of them count as the next
        bound, and what is missing or no number counts as the middle.
    delta, n_rounds, uniform, geometric, additive : as for :class:`~dpnb.PrivateBooster`.
    learning_rate : first step λ > 0 of the stumps, in widths of the loss; if None, it follows from the number of
        rounds.

    Attributes
    ----------
    models_ : list of one :class:`~dpnb.records.shapes.Shapes`, whose scores are -1 at the lower bound of the target and
        1 at the upper one. :meth:`shape`, :meth:`groups` and :meth:`explain` give them in the target's unit.
    spread_ : noisy root of the mean of squares of the residuals, each cut to the width of the loss, in the target's
        unit. It is of the training records, so that new records may lie further away.

    Notes
    -----
    **Privacy**: ``epsilon``-DP, or (``epsilon``, ``delta``)-DP, under ``neighbours`` for a given domain. The residual
    of a record is the distance of its number from its score, in widths of Huber's loss, cut to [-1, 1]. It follows from
    the record and from past outputs, so all that :class:`~dpnb.PrivateBooster` says of two classes holds: a stump's
    score moves by at most ½ either way, a sum over cells by 1 for each block.

    The width is 1¼ times a noisy spread of the residuals, with two standard deviations of the noise on top. Spread and
    middle follow from sums of residuals, and of their squares, over all records, which a record changes by at most 1
    each. These sums are released three times before the stumps, with δ once before the sweeps, and once at the end.

    A weight would multiply what a record may change, so there are no sample weights.

    References
    ----------
    Huber (1964), Robust estimation of a location parameter, whose second proposal the width follows.
    """

    _released: ClassVar = ("models_", "spread_")

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        self.models_, spread = self._boost(records, curator)
        self.spread_ = spread * self._half

    def _check_revived(self) -> None:
        super()._check_revived()
        if len(self.models_) != 1 or not 0 <= self.spread_ < math.inf:
            raise DataError(
                f"{len(self.models_)} models, spread {self.spread_}: expected one, and a finite spread"
            )

    @property
    def _response(self) -> Continuous:
        """The target with its bounds."""
        response = self.domain_.response
        assert response is not None
        return response

    @property
    def _half(self) -> float:
        """Half of the target's range, which is 1 of the score."""
        return (self._response.high - self._response.low) / 2

    def _loss(self) -> Huber:
        return Huber(self._response.low, self._response.high)

    def _numbers(self, codes: Floats) -> Floats:
        return self._loss().numbers(self.models_[0].score(codes))

    def _model(self, label: Any) -> Shapes:
        """The score in the target's unit."""
        if label is not None:
            raise ValueError(f"label={label!r}: expected None, because {self._response.name!r} is a number")
        model = self.models_[0]
        constant = self._response.low + (model.constant + 1) * self._half
        return replace(model, constant=constant, table=model.table * self._half)
