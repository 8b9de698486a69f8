"""Tests of several differences at once."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats


def holm(p: Floats) -> Floats:
    """p-values of several tests, corrected by Holm's step-down rule."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected
