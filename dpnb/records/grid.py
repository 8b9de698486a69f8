"""Decision stumps on a public grid, and additive models made of them.

Nothing here reads records: a grid follows from the domain alone, and a model is a function of what was released.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..domain import Categorical, Continuous, Domain
from ..settings import FINEST_POWER
from .splits import LEAF, ONE_VS_REST, THRESHOLD

# Of a stump, in units of the score: sums of weights, and pictures of them, stay finite.
LARGEST_WEIGHT = 1e100


class Stump(NamedTuple):
    """The classifier ``sign`` where a condition holds and ``-sign`` elsewhere."""

    kind: int  # `THRESHOLD` (value ≤ cut), `ONE_VS_REST` (category = cut) or `LEAF` (always)
    attribute: int  # attribute position, -1 for `LEAF`
    cut: float  # threshold or category code; NaN for `LEAF`
    sign: float  # 1.0 or -1.0


@dataclass(frozen=True)
class Grid:
    """Bins of every attribute, and the conditions that can be asked of them."""

    # For each attribute its increasing thresholds; None for a categorical attribute.
    cuts: tuple[Floats | None, ...]
    sizes: Ints  # (attributes,) number of bins
    # kind, attribute, cut: (conditions,) as in :class:`Stump`.
    kind: Ints
    attribute: Ints
    cut: Floats
    # start, stop: (conditions,) range of bins, counted over all attributes, in which the condition holds.
    start: Ints
    stop: Ints

    @property
    def n_candidates(self) -> int:
        """Number of stumps, with both signs of every condition, and of the condition that always holds."""
        return 2 * len(self.kind) + 2

    def within(self, bins: Floats) -> Floats:
        """Sum over the bins in which each condition holds.

        Parameters
        ----------
        bins : (..., sum of sizes) one number for each bin.

        Returns
        -------
        (..., conditions) sums.
        """
        up_to = np.zeros((*bins.shape[:-1], bins.shape[-1] + 1))
        np.cumsum(bins, axis=-1, out=up_to[..., 1:])
        return up_to.take(self.stop, axis=-1) - up_to.take(self.start, axis=-1)

    def tables(self, bins: Floats) -> Floats:
        """Counts where each condition holds and elsewhere.

        Parameters
        ----------
        bins : (n, classes, sum of sizes) counts by bin.

        Returns
        -------
        (n, conditions, 2, classes) counts.
        """
        holds = self.within(bins)
        totals = bins[:, :, : self.sizes[0]].sum(axis=2, keepdims=True)
        return np.stack([holds, totals - holds]).transpose(1, 3, 0, 2)

    def only(self, attribute: int) -> Grid:
        """Bins of a single attribute and their conditions."""
        mine = self.attribute == attribute
        first = int(self.sizes[:attribute].sum())
        return Grid(
            cuts=(self.cuts[attribute],),
            sizes=self.sizes[[attribute]],
            kind=self.kind[mine],
            attribute=np.zeros(int(mine.sum()), np.intp),
            cut=self.cut[mine],
            start=self.start[mine] - first,
            stop=self.stop[mine] - first,
        )

    def stump(self, candidate: int) -> Stump:
        """Stump of a position in the order: conditions with sign 1, with sign -1, always 1, always -1."""
        n = len(self.kind)
        if candidate >= 2 * n:
            return Stump(LEAF, -1, np.nan, 1.0 if candidate == 2 * n else -1.0)
        at = candidate % n
        sign = 1.0 if candidate < n else -1.0
        return Stump(int(self.kind[at]), int(self.attribute[at]), float(self.cut[at]), sign)


def grid_of(domain: Domain, cuts: tuple[Floats | None, ...]) -> Grid:
    """Grid with given thresholds, and each category against the rest.

    Parameters
    ----------
    domain : public domain.
    cuts : increasing thresholds of each continuous attribute, None for each categorical one.
    """
    pairs = zip(cuts, domain.cardinalities, strict=True)
    sizes = np.array([card if t is None else len(t) + 1 for t, card in pairs], np.intp)
    rows: list[tuple[float, ...]] = []  # kind, attribute, cut, start, stop
    for a, (thresholds, first) in enumerate(zip(cuts, np.cumsum(sizes) - sizes, strict=True)):
        if thresholds is None:
            # Of two values one is enough, and a single value is no condition.
            codes = range(sizes[a] if sizes[a] > 2 else sizes[a] - 1)
            rows += [(ONE_VS_REST, a, code, first + code, first + code + 1) for code in codes]
        else:
            rows += [(THRESHOLD, a, cut, first, first + j + 1) for j, cut in enumerate(thresholds)]
    kind, attribute, cut, start, stop = np.array(rows, float).reshape(-1, 5).T.copy()
    kind, attribute, start, stop = (column.astype(np.intp) for column in (kind, attribute, start, stop))
    return Grid(cuts=cuts, sizes=sizes, kind=kind, attribute=attribute, cut=cut, start=start, stop=stop)


@lru_cache(maxsize=16)
def public_grid(domain: Domain, *, uniform: int = 31, geometric: int = 24) -> Grid:
    """Generic grid that depends on the domain alone.

    Parameters
    ----------
    domain : public domain.
    uniform : thresholds that cut each continuous domain into equal parts, at least 0.
    geometric : number, at least 0, of thresholds ``low + width · 10^(−4 i / geometric)``, i = 1, 2, …, since attributes
        such as amounts and durations crowd near their low end.

    **Privacy**: free, no record is read.
    """
    return grid_at(domain, grid_shares(uniform=uniform, geometric=geometric))


def grid_shares(*, uniform: int, geometric: int) -> Floats:
    """Where :func:`public_grid` cuts, as shares of a domain's width, increasing."""
    even = np.arange(1, uniform + 1) / (uniform + 1)
    return np.unique(np.append(even, _powers(geometric)))


def grid_at(domain: Domain, shares: Floats) -> Grid:
    """Grid that cuts every continuous domain at the same shares of its width, and the missing value off."""
    cuts = tuple(
        None
        if isinstance(a, Categorical)
        else np.append([(a.floor + a.low) / 2] * a.missing, a.low + (a.high - a.low) * shares)
        for a in domain.attributes
    )
    return grid_of(domain, cuts)


@lru_cache(maxsize=16)
def public_cuts(domain: Domain, *, uniform: int, geometric: int) -> tuple[Floats | None, ...]:
    """Thresholds of each attribute, None for categorical ones; some are even, some geometric where values crowd.

    Parameters
    ----------
    uniform : thresholds that cut each continuous domain into equal parts, at least 0.
    geometric : number, at least 0, of thresholds that crowd at the low end of a domain, or at 0 from both sides if 0
        lies inside.

    **Privacy**: free, no record is read.
    """
    return tuple(
        None if isinstance(a, Categorical) else _cuts_of(a, uniform=uniform, geometric=geometric)
        for a in domain.attributes
    )


def _cuts_of(a: Continuous, *, uniform: int, geometric: int) -> Floats:
    cuts = a.low + (a.high - a.low) * np.arange(1, uniform + 1) / (uniform + 1)
    if a.low < 0 < a.high:
        far = max(a.high, -a.low) * _powers(geometric // 2)
        cuts = np.concatenate([cuts, far, -far, [0.0] * (geometric > 0)])
    else:
        cuts = np.append(cuts, a.low + (a.high - a.low) * _powers(geometric))
    cuts = np.unique(cuts[(a.low < cuts) & (cuts < a.high)])
    return np.append([(a.floor + a.low) / 2] * a.missing, cuts)


def _powers(n: int) -> Floats:
    """Shares of a width."""
    return 10.0 ** (FINEST_POWER * np.arange(1, n + 1) / max(n, 1))


class Shape(NamedTuple):
    """The part that one attribute adds to the score."""

    at: Floats  # (k,) thresholds, or category codes
    # (k + 1,) scores of the intervals that the thresholds cut, `at[j - 1] < value ≤ at[j]`; or (k,) score of
    # the categories.
    score: Floats

    def of(self, column: Floats) -> Floats:
        """The part of each encoded value, (n,)."""
        ordered = len(self.score) > len(self.at)
        found: Floats = self.score[np.searchsorted(self.at, column) if ordered else column.astype(np.intp)]
        return found


@dataclass(frozen=True)
class Additive:
    """Additive score ``F(x) = Σ alpha_k G_k(x)`` of stumps, kept as one table for each attribute."""

    domain: Domain  # public domain
    stumps: tuple[Stump, ...]  # (rounds,) stumps G
    alpha: Floats  # (rounds,) weights

    def check(self, domain: Domain) -> None:
        """Raise ValueError unless the stumps fit the domain, each with a finite weight."""
        if self.alpha.shape != (len(self.stumps),) or not (np.abs(self.alpha) < LARGEST_WEIGHT).all():
            raise ValueError(f"{len(self.stumps)} stumps have weights that are not as many finite numbers")
        used = len({stump.attribute for stump in self.stumps})
        # What a score takes: stumps times the attributes that they ask, or their square over 64.
        if len(self.stumps) * max(used, len(self.stumps) // 64) > 2**22:
            raise ValueError(f"{len(self.stumps)} stumps on {used} attributes are too many to score with")
        for place, stump in enumerate(self.stumps):
            if stump.kind == LEAF:
                fits = stump.attribute == -1
            elif not 0 <= stump.attribute < domain.n_attributes:
                fits = False
            elif domain.continuous[stump.attribute]:
                fits = stump.kind == THRESHOLD and np.isfinite(stump.cut)
            else:
                fits = stump.kind == ONE_VS_REST and stump.cut in range(domain.cardinalities[stump.attribute])
            if not fits or abs(stump.sign) != 1:
                raise ValueError(f"stump {place} does not fit the domain: {stump}")

    @property
    def constant(self) -> float:
        """Score of the stumps that always answer the same."""
        return float(sum(a * s.sign for s, a in zip(self.stumps, self.alpha, strict=True) if s.attribute < 0))

    def shape(self, attribute: int) -> Shape:
        """Table of an attribute, given by its position."""
        mine = [
            (s, float(a)) for s, a in zip(self.stumps, self.alpha, strict=True) if s.attribute == attribute
        ]
        if self.domain.continuous[attribute]:
            at = np.unique(np.array([s.cut for s, _ in mine], float))
            score = np.zeros(len(at) + 1)
            for stump, a in mine:
                score += np.where(np.arange(len(score)) <= np.searchsorted(at, stump.cut), a, -a) * stump.sign
            return Shape(at, score)
        at = np.arange(self.domain.cardinalities[attribute], dtype=float)
        score = np.zeros(len(at))
        for stump, a in mine:
            score += np.where(at == stump.cut, a, -a) * stump.sign
        return Shape(at, score)

    def score(self, codes: Floats) -> Floats:
        """Score F of encoded records, (n,)."""
        total = np.full(len(codes), self.constant)
        for a in {s.attribute for s in self.stumps} - {-1}:
            total += self.shape(a).of(codes[:, a])
        return total

    def importances(self) -> Floats:
        """Sum of |alpha| of each attribute's stumps, (attributes,)."""
        total = np.zeros(self.domain.n_attributes)
        for stump, a in zip(self.stumps, self.alpha, strict=True):
            if stump.attribute >= 0:
                total[stump.attribute] += abs(a)
        return total
