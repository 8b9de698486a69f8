"""The public lattice of a continuous attribute, whose points are the thresholds that can be released."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints


class Lattice(NamedTuple):
    """Points that cut domains into equal steps.

    The number of steps is a power of two, at most 2³², and smaller where floating-point numbers are coarse.

    NaN stands for the ends of an attribute without thresholds, and then the points are NaN too.

    Point 0 is the low end. It is no threshold, because no record is below it.
    """

    # low, high: public ends.
    low: Floats
    high: Floats
    step: Floats  # distances between the points
    size: Floats  # numbers of steps

    @classmethod
    def of(cls, low: Floats | float, high: Floats | float) -> Lattice:
        """Lattice between public ends, ``low < high``."""
        low, high = np.asarray(low, float), np.asarray(high, float)
        finest = np.spacing(np.maximum(np.abs(low), np.abs(high)))
        with np.errstate(divide="ignore", invalid="ignore"):
            # A step is at least 2² distances of floating-point numbers, so that steps differ.
            digits = np.floor(np.log2((high - low) / finest)) - 2
        size = np.ldexp(1.0, np.where(digits > 0, np.minimum(digits, 32), 0).astype(np.intp))
        return cls(low, high, (high - low) / size, size)

    def of_each(self, index: Ints) -> Lattice:
        """The lattices of some of the domains, or of repeated ones."""
        return Lattice(*(field.take(index) for field in self))

    def repeated(self, times: Ints) -> Lattice:
        """Each of the lattices, repeated."""
        return Lattice(*(field.repeat(times) for field in self))

    def at(self, number: Floats | float) -> Floats:
        """Points by number, 0 to ``size``."""
        point: Floats = self.high - self.step * (self.size - number)
        return point

    def up_to(self, value: Floats | float) -> Floats:
        """Number of the last point that is not above a value, which is the number of thresholds up to there."""
        above = np.asarray(np.subtract(self.high, value))
        with np.errstate(divide="ignore", invalid="ignore"):
            np.rint(np.divide(above, self.step, out=above), out=above)
        np.minimum(
            np.maximum(above, 0.0, out=above), self.size, out=above
        )  # steps from the point to the high end
        # Points and quotient are rounded by less than a quarter of a step: this many steps, or one more.
        above += (self.high - self.step * above > value) & (above < self.size)
        number: Floats = self.size - above
        return number
