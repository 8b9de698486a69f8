"""Whether two samples are of one law."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats import chi2_contingency, ks_2samp


def chance(a: Sequence[Any], b: Sequence[Any]) -> float:
    """Probability of samples that differ as much, if both are of one law.

    Kolmogorov and Smirnov's for floating-point numbers; for all else the G-test, with rare values put together.
    """
    if isinstance([*a, *b][0], float):
        return float(ks_2samp(a, b, method="asymp").pvalue) if len(a) and len(b) else 1.0
    ours, theirs = Counter(a), Counter(b)
    often = [value for value in {**ours, **theirs} if ours[value] + theirs[value] >= 20]
    table = [[*(c[v] for v in often), c.total() - sum(c[v] for v in often)] for c in (ours, theirs)]
    if not table[0][-1] + table[1][-1]:
        table = [row[:-1] for row in table]
    return float(chi2_contingency(table, lambda_="log-likelihood").pvalue) if len(table[0]) > 1 else 1.0


def chances(a: Mapping[str, Sequence[Any]], b: Mapping[str, Sequence[Any]], *, most: int) -> dict[str, float]:
    """:func:`chance` of each of at most so many statistics."""
    shown = {name: chance(a[name], b[name]) for name in {**a, **b}}
    assert len(shown) <= most
    return shown
