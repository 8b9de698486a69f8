"""Many tests at once: what is left of a level when several pairs, events or instruments are tried.

A finding at confidence 1 − α errs with probability α. The largest of k findings errs with probability up to kα. Two
rules keep the level whatever the dependence: p-values are corrected step by step (Holm); e-values are averaged, since a
mean of numbers of expectation at most 1 has one too. Bounds share a level by :func:`~dpaudit.settings.shared`.

References
----------
Holm (1979), A simple sequentially rejective multiple test procedure; Vovk and Wang (2021), E-values: calibration,
combination and applications; Wang and Ramdas (2022), False discovery rate control with e-values.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dpnb.arrays import Bools, Floats


def holm(p: ArrayLike) -> Floats:
    """p-values of several tests, corrected by Holm's step-down rule.

    Parameters
    ----------
    p : (k,) p-values, of any dependence.

    Returns
    -------
    (k,) corrected values. Rejecting all up to α rejects a true hypothesis with probability α at most: of the true ones,
    the first that is rejected has a p-value up to α over their number.
    """
    values = _checked("p-values", p, most=1.0)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected


def apart(first: ArrayLike, second: ArrayLike) -> Floats:
    """p-values that two methods differ in mean, one a setting, corrected by :func:`holm` for their number.

    Parameters
    ----------
    first, second : (settings, repeats) scores of independent repeats.

    Returns
    -------
    (settings,) by Welch's test, which estimates the two variances apart.

    References
    ----------
    Welch (1947), The generalization of Student's problem when several different population variances are involved.
    """
    both = (np.asarray(scores, float) for scores in (first, second))
    return holm(stats.ttest_ind(*both, axis=1, equal_var=False).pvalue)


def e_closed(e: ArrayLike) -> Floats:
    """e-values of several tests, corrected so that the largest may be looked at.

    Parameters
    ----------
    e : (k,) e-values, of any dependence.

    Returns
    -------
    (k,) for each test the smallest mean among all sets of tests that it is in. Rejecting those of at least 1/α rejects
    any true hypothesis with probability α at most: the mean over the true ones is an e-value that is never smaller.
    """
    values = _checked("e-values", e, most=math.inf)
    order = np.argsort(values, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(values[order])])
    sizes = np.arange(1, len(values) + 1)
    corrected = np.empty(len(values))
    for rank, test in enumerate(order):
        # The smallest mean of a set of a given size takes the smallest values besides its own.
        corrected[test] = np.min((values[test] + below[: rank + 1]) / sizes[: rank + 1])
    return corrected


def e_bh(e: ArrayLike, *, alpha: float) -> Bools:
    """Rejections of which a share α at most is false on average, by e-values of any dependence.

    Parameters
    ----------
    e : (k,) e-values.
    alpha : share of false ones among the rejections, in (0, 1), in expectation.

    Returns
    -------
    (k,) whether each hypothesis is rejected: the largest j of them such that the j-th largest is at least k/(α j).
    """
    values = _checked("e-values", e, most=math.inf)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r}: expected a number between 0 and 1")
    order = np.argsort(-values, kind="stable")
    enough = np.flatnonzero(values[order] >= len(values) / (alpha * np.arange(1, len(values) + 1)))
    rejected = np.zeros(len(values), bool)
    rejected[order[: enough[-1] + 1 if len(enough) else 0]] = True
    return rejected


def _checked(what: str, given: ArrayLike, *, most: float) -> Floats:
    values = np.asarray(given, float)
    if values.ndim != 1 or not len(values) or not ((values >= 0) & (values <= most)).all():
        raise ValueError(f"{what} {given!r}: expected one or more numbers from 0 to {most:g}")
    return values
