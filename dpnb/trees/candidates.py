"""Candidate splits of a level's nodes, with the counts that a score needs; all are pure functions of counts.

A *question* is "this attribute at this node?". The binary candidates of a continuous attribute are the intervals of
thresholds between the values that occur at the node, because the score is constant on each interval. Those of a
categorical attribute are its public values, each against the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FIXED_POINT, Floats, Ints, check_cells
from ..domain import Domain
from ..privacy.lattice import Lattice
from ..records.doors import ValueCounts
from .scores import Score


@dataclass(frozen=True)
class Candidates:
    """Binary splits of several questions, in one flat array."""

    starts: Ints  # (questions,) first candidate of each question
    question: Ints  # (candidates,) number of the question
    # low, high: (candidates,) ends of an interval of thresholds; twice the code of a category.
    low: Floats
    high: Floats
    lattice: Lattice  # (questions,) public lattices of the thresholds
    # (candidates,) share of the lattice's points in an interval, 0 for intervals without one; for a category,
    # its share among the categories.
    measure: Floats
    left: Floats  # (candidates, classes) class counts of the first branch
    totals: Floats  # (questions, classes) class counts of the node of each question

    def scores(self, score: Score) -> Floats:
        """Score of every candidate, (candidates,)."""
        totals = self.totals.take(self.question, axis=0)
        n = len(totals)
        branches = np.empty((2 * n, totals.shape[1]))
        branches[:n] = self.left
        np.subtract(totals, self.left, out=branches[n:])
        return score.of_branches(branches, totals, lambda parts: parts[:n] + parts[n:])

    def intervals(self, offered: NDArray[np.bool_], *, groups: Ints) -> dict[str, Any]:
        """Arguments of :meth:`~dpnb.privacy.curator.Curator.exponential_intervals` for the candidates that are offered.

        Parameters
        ----------
        offered : (candidates,) whether a candidate can be chosen.
        groups : questions at which a group begins.
        """
        return {
            "starts": np.searchsorted(np.flatnonzero(offered), self.starts[groups]),
            "option": self.question[offered],
            "low": self.low[offered],
            "high": self.high[offered],
            "lattice": self.lattice,
            "measure": self.measure[offered],
        }

    def locate(self, questions: Ints, threshold: Floats) -> Ints:
        """Candidate interval that holds each question's threshold, (questions,)."""
        wanted = np.full(len(self.starts), -np.inf)
        wanted[questions] = threshold
        passed = np.bincount(self.question, self.low < wanted[self.question], minlength=len(self.starts))
        at: Ints = self.starts[questions] + np.maximum(passed[questions].astype(np.intp) - 1, 0)
        return at


def binary_candidates(
    counts: ValueCounts,
    *,
    attributes: Ints,
    totals: Floats | None = None,
    lattice: Lattice,
    domain: Domain,
) -> Candidates:
    """Make the candidates of every question from the values that occur.

    Parameters
    ----------
    counts : counts by question, value and class.
    attributes : (questions,) attribute position of each question.
    totals : (questions, classes) counts of each question's node, where they are known; otherwise the sums of
        ``counts``.
    lattice : (attributes,) lattice of the thresholds; its ends are public unless a reading leaks them.
    domain : public domain.
    """
    continuous = domain.continuous[attributes]
    cards = domain.cardinalities[attributes]
    present = np.bincount(counts.question, minlength=len(attributes))
    sizes = np.where(continuous, present + 1, cards)
    listed = int(cards[~continuous].sum()) * domain.n_classes
    check_cells(listed, what=f"the categories at {len(attributes)} questions of a level")
    starts, first_cell = sizes.cumsum() - sizes, present.cumsum() - present
    question = np.arange(len(attributes)).repeat(sizes)
    code = np.arange(len(question)) - starts.repeat(sizes)
    is_cut = continuous.repeat(present)
    cell, category = is_cut.nonzero()[0], (~is_cut).nonzero()[0]
    nominal = (~continuous).repeat(sizes).nonzero()[0]

    # Left of interval k are the records of the first k values.
    below = _running_sums(counts.counts)
    before = below.take(first_cell, axis=0)
    if totals is None:
        totals = below.take(first_cell + present, axis=0) - before
    cells_below = first_cell.repeat(sizes) + code
    cells_below[nominal] = 0
    left = below.take(cells_below, axis=0) - before.repeat(sizes, axis=0)
    left[nominal] = 0.0
    at = starts.take(counts.question.take(category)) + counts.value.take(category).astype(np.intp)
    left[at] = counts.counts.take(category, axis=0)

    # The k-th value of a continuous attribute ends candidate k and starts candidate k + 1.
    lattice = lattice.of_each(attributes)
    cuts = np.where(continuous, present, 0)
    cut, each = cell + (starts + 1 - first_cell).repeat(cuts), lattice.repeated(cuts)
    value = np.minimum(np.maximum(counts.value.take(cell), each.low), each.high)
    low, high = lattice.low.repeat(sizes), lattice.high.repeat(sizes)
    low[nominal] = high[nominal] = code.take(nominal)
    low[cut] = high[cut - 1] = value

    width = np.where(continuous, lattice.size, cards)
    points = np.where(continuous, lattice.size, 1.0).repeat(sizes)
    up_to_cut = each.up_to(value)
    points[cut - 1] = up_to_cut
    points[cut] -= up_to_cut
    return Candidates(starts, question, low, high, lattice, points / width.repeat(sizes), left, totals)


def _running_sums(counts: Floats) -> Floats:
    """Sums of the first 0, 1, ... rows, (rows + 1, classes); whole numbers are added up far faster than floats."""
    sums = np.zeros((len(counts) + 1, counts.shape[1]))
    for c, own in enumerate(counts.T):
        sums[1:, c] = (own * FIXED_POINT).astype(np.int64).cumsum() / FIXED_POINT
    return sums


def multiway_scores(counts: ValueCounts, *, totals: Floats, score: Score) -> Floats:
    """Score of splitting each question's node into a branch for each value, (questions,)."""

    def combine(parts: Floats) -> Floats:
        return np.bincount(counts.question, parts, minlength=len(totals)).astype(float)

    return score.of_branches(counts.counts, totals, combine)
