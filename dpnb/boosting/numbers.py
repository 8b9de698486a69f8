"""Stages that only a number has: the middle and the width of its loss, and slope, level and error at the end.

Each release is a sum over all records of something that is between -1 and 1 for a record, whatever its number. So one
record changes the sum by 1 at most, and so does a person, whose records share a vote.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..records.losses import Huber, Measure, fixed
from ..records.shapes import WHOLE
from ..settings import (
    FARTHEST,
    LEAST_WIDTH,
    NARROWED,
    NOISE_OF_A_MEAN,
    OF_A_WIDTH,
    OF_ERROR,
    OF_LEVEL,
    OF_MIDDLE,
    OF_SLOPE,
    OFF_LEVEL,
    OFF_MIDDLE,
    OFF_RANGE,
    OFF_SLOPE,
    WIDTHS,
)
from .stages import Stages, Totals


class Off(NamedTuple):
    """How far predictions for the training records are off, in units of the score."""

    mean: float  # noisy mean distance, and two standard deviations of the noise where it is below that
    noise: float  # standard deviation of the noise
    most: float  # distance as which a larger one counts


def shrunk(found: float, *, noise: float, usual: float) -> float:
    """What is most likely behind a noisy number, if it is normal about 0 with the standard deviation ``usual``."""
    return found * usual**2 / (usual**2 + noise**2)


@dataclass
class NumberStages:
    """The stages of a number, around those of :class:`~dpnb.boosting.stages.Stages`."""

    stages: Stages
    totals: Callable[[float], Totals]  # release of sums for a share of the budget each
    n: float  # noisy number of records, at least 1

    def __post_init__(self) -> None:
        assert isinstance(self.stages.loss, Huber)
        self.data, self.loss = self.stages.data, self.stages.loss
        self.spread = 1.0  # of the residuals, an upper estimate
        self.narrow(OF_MIDDLE, usual=OFF_RANGE)
        for _ in range(NARROWED - 1):
            self.narrow()
        self.middle, self.first = float(self.stages.constant[0]), self.spread

    def narrow(self, share: float = OF_A_WIDTH, *, usual: float = OFF_MIDDLE) -> None:
        """Move the scores to the middle of the numbers, and narrow the loss to a multiple of the residuals' spread."""
        self._shift(self.loss.residuals, share, usual=usual)
        self._measure()

    def settle(self) -> Off:
        """Give predictions the level and the slope of the numbers, and measure how far they are off then."""
        self._measure()
        self._widen(OF_LEVEL)
        self._shift(self.loss.missed, OF_LEVEL, usual=OFF_LEVEL * self.spread / self.loss.width)
        self._turn()
        self._widen(OF_ERROR)
        found, noise = self._mean(self.loss.distances, OF_ERROR, "distances")
        width = self.loss.width
        return Off(width * max(found, 2 * noise), width * noise, width)

    def _mean(
        self, measure: Callable[..., Floats], share: float, what: str, **where: float
    ) -> tuple[float, float]:
        """Noisy sum of a measure over the number of records, and the standard deviation of its noise."""
        totals = self.totals(share)
        return totals.release(self.data.total(partial(measure, **where)), what) / self.n, totals.sd / self.n

    def _shift(self, measure: Measure, share: float, *, usual: float) -> None:
        """Move all scores by a mean of residuals; ``usual`` is its size in widths of the loss."""
        found, noise = self._mean(measure, share, "residuals")
        shift = fixed([self.loss.width * np.clip(shrunk(found, noise=noise, usual=usual), -1, 1)])
        self.data.move(WHOLE, np.zeros((1, 1)), shift)
        self.stages.constant += shift

    def _measure(self) -> None:
        """Measure the residuals' spread, cut to the width before, and give the loss a multiple of it as its width.

        A width w that stays is Huber's second proposal for a scale, where the mean of min(r²/w², 1) is one over the
        square of WIDTHS. Two standard deviations of the noise are added to the spread. A stump's step is in units of
        the spread without them, or of a third of the spread with them where noise hides it, so that it moves little.
        """
        found, noise = self._mean(self.loss.squares, OF_A_WIDTH, "squares of residuals")
        before = self.loss.width
        likely, most = before * math.sqrt(max(found, 0.0)), before * math.sqrt(max(found + 2 * noise, noise))
        self.data.set_width(max(min(WIDTHS * most, before), LEAST_WIDTH))
        self.spread = self.loss.width / WIDTHS
        self.stages.unit = min(WIDTHS * max(likely, most / 3), self.loss.width)

    def _turn(self) -> None:
        """Scale the scores' distances from their mean by the slope of the numbers over the scores."""
        self._widen(OF_SLOPE)
        middle = self.middle
        farthest = abs(self.stages.constant[0] - middle) + sum(np.abs(t).max() for t in self.stages.tables)
        reach = max(min(2 * self.first, float(farthest)), LEAST_WIDTH)
        where = {"middle": middle, "reach": reach}
        mean, noise = self._mean(self.loss.places, OF_SLOPE, "places", **where)
        square, _ = self._mean(self.loss.spreads, OF_SLOPE, "squares of places", **where)
        found, _ = self._mean(self.loss.along, OF_SLOPE, "residuals by place", **where)
        each = self.loss.width / (reach * max(max(square - mean**2, 0.0) + 2 * noise, LEAST_WIDTH))
        slope = float(np.clip(shrunk(each * found, noise=each * noise, usual=OFF_SLOPE), -1, 1))
        self.stages.turn(slope, about=middle + reach * float(np.clip(mean, -1, 1)))

    def _widen(self, share: float) -> None:
        """Cut residuals far out, or nowhere, such that noise moves a mean by a share of their spread at most."""
        noise = max(self.totals(share).sd / self.n, LEAST_WIDTH)
        self.data.set_width(min(max(FARTHEST, NOISE_OF_A_MEAN / noise) * self.spread, 2.0))
