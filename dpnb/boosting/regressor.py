"""PrivateBoosterRegressor, the private booster for a number instead of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
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
from .plans import LEVELS_OF_A_NUMBER, Settings


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateBoosterRegressor(Boosted, PrivateRegressor):
    """The stages of :class:`~dpnb.PrivateBooster` for a number with a public range, ε-DP or (ε, δ)-DP.

    Parameters
    ----------
    domain : a domain with a ``response``, whose bounds are public. Numbers outside of them count as the next
        bound, and what is missing or no number counts as the middle.
    delta, n_rounds, uniform, geometric, additive : as for :class:`~dpnb.PrivateBooster`.
    learning_rate : first step λ > 0 of the stumps, in 1¼ times the noisy spread of the residuals; if None, it follows
        from the number of rounds.

    Attributes
    ----------
    models_ : list of one :class:`~dpnb.records.shapes.Shapes`, whose scores are -1 at the lower bound of the target and
        1 at the upper one. :meth:`shape`, :meth:`groups` and :meth:`explain` give them in the target's unit.
    error_ : noisy mean distance of the predictions for the training records from their numbers, in the target's unit,
        or twice ``error_noise_`` where it is below that. NaN in documents of earlier versions, which do not have it.
    error_noise_ : standard deviation of the noise of ``error_``.
    error_cut_ : distance as which larger ones count in ``error_``.

    Notes
    -----
    A prediction is an estimate of the mean, given the attributes, of the numbers cut to the public range. Huber's loss
    lies between a mean and a median. The last stages therefore turn and move the predictions, such that over all
    training records their slope and their level are those of the numbers, as far as noise lets this be seen.

    **Privacy**: ``epsilon``-DP, or (``epsilon``, ``delta``)-DP, under ``neighbours`` for a given domain. The residual
    of a record is the distance of its number from its score, in widths of Huber's loss, cut to [-1, 1]. It follows from
    the record and from past outputs, so all that :class:`~dpnb.PrivateBooster` says of two classes holds: a stump's
    score moves by at most ½ either way, a sum over cells by 1 for each block.

    The width is 1¼ times a noisy spread of the residuals, with two standard deviations of the noise on top. All of
    middle, spread, slope, level and error follow from sums over all records, which a record changes by at most 1 each,
    see :mod:`dpnb.boosting.numbers`. They are released with shares of the budget that do not depend on the records.

    A weight would multiply what a record may change, so there are no sample weights.

    References
    ----------
    Huber (1964), Robust estimation of a location parameter, whose second proposal the width follows.
    """

    _settings: ClassVar = Settings(levels=LEVELS_OF_A_NUMBER)
    _released: ClassVar = ("models_", "error_", "error_noise_", "error_cut_")

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        self.models_, off = self._boost(records, curator)
        assert off is not None
        self.error_, self.error_noise_, self.error_cut_ = (part * self._half for part in off)

    @classmethod
    def _of_today(cls, released: Mapping[str, Any]) -> dict[str, Any]:
        """Earlier documents have a spread of residuals that were cut to the loss's width, which is no error."""
        if set(released) != {"models_", "spread_"}:
            return dict(released)
        return {"models_": released["models_"]} | dict.fromkeys(cls._released[1:], math.nan)

    def _check_revived(self) -> None:
        super()._check_revived()
        error = self.error_, self.error_noise_, self.error_cut_
        known = all(0 <= part < math.inf for part in error) and self.error_ >= 2 * self.error_noise_
        if len(self.models_) != 1 or not (known or all(map(math.isnan, error))):
            raise DataError(f"{len(self.models_)} models, error {error}: expected one, and finite numbers")

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
