"""Rebuild: the training records that a released forest makes most likely, by integer programming.

A data set is how often each possible record, a *cell* of the domain with a class, occurs. A leaf's count is a sum over
cells, so the forest gives linear equations, up to noise of known size. The best data set is the solution of an integer
program: its order is of no importance, so no two solutions stand for the same data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linear_sum_assignment, milp
from scipy.sparse import block_diag, csr_array, eye_array, hstack, vstack
from scipy.special import expit

from dpnb.arrays import Bools, Floats, Ints
from dpnb.domain import Categorical, Domain
from dpnb.privacy.ledger import TreeScope
from dpnb.records.splits import LEAF
from dpnb.trees.tree import Tree

APART = ("disjoint", "parts")  # bags in which a record is in one tree
DRAWN = ("poisson", "bootstrap")  # bags that hold one copy of a record on average
COUNTS = ("class counts of a leaf", "class counts for the stop", "label of a leaf")
EXACT_STOPS = ("pure", "one-label")
LARGEST_RATE = 30.0  # a record of difference from an exact count is as unlikely as e⁻³⁰
MOST_CELLS = 2**12
GAP = 1e-3  # share of its log probability by which a data set that counts as the best may miss it


class TreeReport(NamedTuple):
    """What a tree tells of the records that it has seen."""

    reach: Bools  # (nodes, cells) whether the records of a cell pass a node
    leaf: Ints  # (leaves,) node numbers
    value: Floats  # (leaves, classes) released counts; of labels 1 for the label and 0 elsewhere
    rate: Floats  # (leaves,) by how much the log likelihood falls for each record of difference
    # (split nodes,) node numbers that a test without noise found to hold both classes; empty without one.
    split: Ints
    pure: Bools  # (leaves,) whether such a test found the leaf to hold at most one class


def cells_of(domain: Domain) -> Floats:
    """All records that a domain of categorical attributes has, encoded, (cells, attributes).

    Raises
    ------
    ValueError
        If an attribute is continuous, or there are more than 4096 cells.
    """
    levels = [len(a.levels) for a in domain.attributes if isinstance(a, Categorical)]
    if len(levels) < domain.n_attributes or math.prod(levels) > MOST_CELLS:
        raise ValueError(
            f"a domain of {domain.n_attributes} attributes, {len(levels)} of them categorical: expected categorical "
            f"ones with at most {MOST_CELLS} combinations; bin the others by Domain.discretise, or take fewer"
        )
    cells: Floats = np.indices(levels).reshape(len(levels), -1).T.astype(float)
    return cells


def reach_of(tree: Tree, cells: Floats) -> Bools:
    """Whether the records of each cell pass each node, (nodes, cells)."""
    reach = np.zeros((tree.n_nodes, len(cells)), bool)
    reach[0] = True
    for node in np.flatnonzero(tree.splits.kind != LEAF):  # parents come before their children
        here = np.flatnonzero(reach[node])
        values = cells[here, tree.splits.attribute[node]]
        reach[tree.first_child[node] + tree.splits.branch(np.full(len(here), node), values), here] = True
    return reach


def reports_of(model: Any) -> list[TreeReport]:
    """What each tree of a fitted forest of this package tells, from the model and its ledger alone.

    Parameters
    ----------
    model : with ``trees_`` over a domain of :func:`cells_of`; bags of another kind than full, Poisson, bootstrap,
        disjoint or parts raise ValueError.
    """
    if model.bags not in ("full", *APART, *DRAWN):
        raise ValueError(
            f"bags={model.bags!r}: expected 'full', 'poisson', 'bootstrap', 'disjoint' or 'parts'; an average number "
            "of copies other than 1 is not reckoned with"
        )
    cells, scopes = cells_of(model.domain_), model.ledger_.root.trees()
    return [_report(model, tree, scope, cells) for tree, scope in zip(model.trees_, scopes, strict=True)]


def _report(model: Any, tree: Tree, scope: TreeScope, cells: Floats) -> TreeReport:
    leaf = np.flatnonzero(tree.splits.kind == LEAF)
    squares = np.zeros(tree.n_nodes)  # two counts of a node are weighted by 1/variance: rates add in squares
    for event in scope.events():
        if event.what in COUNTS and event.parts is not None:
            np.add.at(squares, event.parts, np.asarray(event.epsilon) ** 2)
    rate, value = np.sqrt(squares[leaf]), tree.value[leaf]
    if _are_labels(model):
        rate = rate if model.monotone_rate else rate / 2
    if model.bags in DRAWN:  # the bag adds a variance of one a record to the noise's 2/rate²
        rate = 1 / np.sqrt(1 / rate**2 + np.maximum(value.max(axis=1), 1) / 2)
    tested = getattr(model, "stop", "depth") in EXACT_STOPS and model.domain_.n_classes == 2
    split = np.flatnonzero(tree.splits.kind != LEAF)
    early = tree.depth[leaf] < min(model.max_depth, model.domain_.n_attributes)  # attributes may run out
    rate = np.minimum(rate, LARGEST_RATE)
    return TreeReport(reach_of(tree, cells), leaf, value, rate, split[: tested * len(split)], early & tested)


def _are_labels(model: Any) -> bool:
    return getattr(model, "leaf", "counts") == "label"


class Kinds(NamedTuple):
    """Records that no tree tells apart: their class, and the same leaf in each tree."""

    # cell, label: (kinds,) a cell of each, and the class.
    cell: Ints
    label: Ints
    of: Ints  # (cells, classes) kind of each record

    def at(self, report: TreeReport, nodes: Ints) -> Floats:
        """Which kinds are counted at some nodes, by class: (nodes, classes, kinds)."""
        classes = np.arange(report.value.shape[1])
        counted: Floats = report.reach[nodes][:, None, self.cell] * (self.label == classes[:, None]).astype(
            float
        )
        return counted


def kinds_of(reports: Sequence[TreeReport]) -> Kinds:
    """The kinds that all trees together tell apart."""
    leaves = np.stack([one.reach[one.leaf].argmax(axis=0) for one in reports])
    _, first, alike = np.unique(leaves, axis=1, return_index=True, return_inverse=True)
    classes = reports[0].value.shape[1]
    of = alike.reshape(-1, 1) * classes + np.arange(classes)
    return Kinds(first.repeat(classes), np.tile(np.arange(classes), len(first)), of)


class PossibleRecords(NamedTuple):
    """Records that a data set may hold: the first of a cell, the second, and so on."""

    # cell, label: (records,) cell and class.
    cell: Ints
    label: Ints
    gain: Floats  # (records,) what each adds to the log probability of the data set


def records_for(kinds: Kinds, *, n: int, prior: Floats) -> PossibleRecords:
    """The records that ``n`` of them may be.

    Parameters
    ----------
    kinds : what the trees tell apart.
    n : number of records of the data set.
    prior : (cells, classes) positive probabilities of a record.

    Notes
    -----
    A multiset with k records of each cell has the probability n! Π pᵏ/k!, so the k-th record of a cell multiplies it
    by p/k. Of a kind one takes the likeliest, at most ten and three times as many as expected.
    """
    cell, label, before = (axis.reshape(-1) for axis in np.indices((*prior.shape, n)))
    gain, kind = np.log(prior[cell, label] / (before + 1)), kinds.of[cell, label]
    expected = np.bincount(kind, prior[cell, label])
    order = np.lexsort((-gain, kind))
    rank = np.arange(len(order)) - np.searchsorted(kind[order], kind[order])
    kept = order[rank < 10 + 3 * expected[kind[order]]]
    return PossibleRecords(cell[kept], label[kept], gain[kept])


# --- The program ----------------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Conditions ``low <= seen @ x + slack @ z <= high`` on how often each kind was seen, and what the slack costs."""

    seen: csr_array  # (rows, kinds)
    slack: csr_array  # (rows, slacks)
    # low, high: (rows,).
    low: Floats
    high: Floats
    # cost, most: (slacks,) price and upper end of each slack.
    cost: Floats
    most: Floats
    whole: Bools  # (slacks,) whether it is a whole number


def count_rows(report: TreeReport, kinds: Kinds) -> Rows:
    """Count of records + slack = released count, for each leaf and class; the slack costs its size times the rate."""
    counted = csr_array(kinds.at(report, report.leaf).reshape(report.value.size, -1))
    one, value = eye_array(report.value.size), report.value.reshape(-1)
    cost = np.tile(report.rate.repeat(report.value.shape[1]), 2)
    free = np.full(len(cost), np.inf)
    return Rows(counted, csr_array(hstack([one, -one])), value, value, cost, free, free < 0)


def label_rows(report: TreeReport, kinds: Kinds) -> Rows:
    """No class has more records than a leaf's label has, beyond the slack: permute-and-flip by its exponents."""
    counted, label = kinds.at(report, report.leaf), report.value.argmax(axis=1)
    leaves, classes = report.value.shape
    ahead = counted - counted[np.arange(leaves), label][:, None]
    slack = -csr_array(eye_array(leaves).tocsr()[np.arange(leaves).repeat(classes)])
    free = np.full(leaves, np.inf)
    low, high = np.full(report.value.size, -np.inf), np.zeros(report.value.size)
    return Rows(csr_array(ahead.reshape(len(low), -1)), slack, low, high, report.rate, free, free < 0)


def purity_rows(report: TreeReport, kinds: Kinds, *, n: int, drawn: bool) -> Rows:
    """A node that was split has both classes; a leaf above the last level has one: a test without noise said so.

    Which one is a slack of 0 or 1 for each leaf. A bag that was drawn misses a record with probability 1/e.
    """
    both = kinds.at(report, report.split).reshape(2 * len(report.split), len(kinds.cell))
    one = kinds.at(report, report.leaf[report.pure])
    leaves = len(one)
    which, missed = eye_array(leaves), eye_array(2 * leaves)
    both_ways = vstack([-n * which, n * which])
    slack = vstack([csr_array((len(both), 3 * leaves)), hstack([both_ways, -missed])])
    records = np.concatenate([both, one[:, 0], one[:, 1]])
    low = np.concatenate([np.ones(len(both)), np.full(2 * leaves, -np.inf)])
    high = np.concatenate([np.full(len(both), np.inf), np.zeros(leaves), np.full(leaves, n)])
    cost = np.concatenate([np.zeros(leaves), np.ones(2 * leaves)])
    most = np.concatenate([np.ones(leaves), np.full(2 * leaves, np.inf if drawn else 0.0)])
    return Rows(csr_array(records), csr_array(slack), low, high, cost, most, np.arange(3 * leaves) < leaves)


def total_rows(size: int, low: float, high: float) -> Rows:
    """The number of all records."""
    none = np.empty(0)
    ends = np.array([low]), np.array([high])
    return Rows(csr_array(np.ones((1, size))), csr_array((1, 0)), *ends, none, none, none.astype(bool))


def stacked(blocks: Sequence[Rows], *, apart: bool) -> Rows:
    """Conditions below each other, each with its own slack; ``apart`` if each also sees records of its own."""
    seen = [block.seen for block in blocks]
    slack = block_diag([block.slack for block in blocks])
    _, _, *others = zip(*blocks, strict=True)
    both = block_diag(seen) if apart else vstack(seen)
    return Rows(csr_array(both), csr_array(slack), *map(np.concatenate, others))


def shared_out(rows: Rows, *, trees: int, n: int) -> Rows:
    """Conditions on the records of each tree as conditions on all: each record is seen by one tree.

    Parameters
    ----------
    rows : of all trees, ``apart``. What each of them has seen becomes a slack without a price.
    """
    kinds = rows.seen.shape[1] // trees
    split = hstack([eye_array(kinds)] * trees)
    seen = vstack([csr_array((len(rows.low), kinds)), -eye_array(kinds)])
    slack = vstack([hstack([rows.seen, rows.slack]), hstack([split, csr_array((kinds, len(rows.cost)))])])
    low, high = (np.concatenate([end, np.zeros(kinds)]) for end in (rows.low, rows.high))
    new = np.zeros(trees * kinds)
    cost, most = np.concatenate([new, rows.cost]), np.concatenate([new + n, rows.most])
    return Rows(
        csr_array(seen), csr_array(slack), low, high, cost, most, np.concatenate([new == 0, rows.whole])
    )


class Rebuilt(NamedTuple):
    """A data set that a forest makes likely."""

    counts: Ints  # (cells, classes) how often each record occurs
    # How far its log probability may lie below the best one, as a share of it; 0 if it is the best.
    gap: float

    def records(self, cells: Floats) -> Floats:
        """The records, attributes and class, (n, attributes + 1)."""
        cell, label = np.nonzero(self.counts)
        rows: Floats = np.column_stack([cells[cell], label]).repeat(self.counts[cell, label], axis=0)
        return rows


def rebuild(model: Any, *, n: int, prior: Floats, nodes: int = 100, seconds: float = 60.0) -> Rebuilt:
    """The most probable training records, given a released forest.

    Parameters
    ----------
    model : fitted forest of this package, over categorical attributes, see :func:`reports_of`.
    n : number of training records, taken as known.
    prior : (cells, classes) positive probabilities of a record, as far as they are known without the forest.
    nodes, seconds : limits of the branch and bound; with ``nodes`` alone the result does not depend on the machine.

    Raises
    ------
    RuntimeError
        If the solver finds no data set within its limits.

    References
    ----------
    Gorgé, Ferry, Gambs, Vidal (2026), Training set reconstruction from differentially private forests: how effective
    is DP?, arXiv:2502.05307. They maximise the likelihood by constraint programming, record by record.
    """
    reports, apart = reports_of(model), model.bags in APART
    kinds = kinds_of(reports)
    rows = stacked([rows_of(model, one, kinds, n=n) for one in reports], apart=apart)
    rows = shared_out(rows, trees=len(reports), n=n) if apart else rows
    rows = stacked([rows, total_rows(len(kinds.cell), n, n)], apart=False)
    records = records_for(kinds, n=n, prior=prior)
    found, gap = _solved(
        rows, records.gain, kinds.of[records.cell, records.label], nodes=nodes, seconds=seconds
    )
    counts = np.zeros(prior.shape, int)
    np.add.at(counts, (records.cell, records.label), found)
    return Rebuilt(counts, gap)


def rows_of(model: Any, report: TreeReport, kinds: Kinds, *, n: int) -> Rows:
    """All conditions of one tree."""
    rows = [(label_rows if _are_labels(model) else count_rows)(report, kinds)]
    if len(report.split) or report.pure.any():
        rows.append(purity_rows(report, kinds, n=n, drawn=model.bags in DRAWN))
    if model.bags == "parts":
        share = n / len(model.trees_)
        rows.append(total_rows(len(kinds.cell), math.floor(share), math.ceil(share)))
    return stacked(rows, apart=False)


def _solved(rows: Rows, gain: Floats, kind: Ints, *, nodes: int, seconds: float) -> tuple[Ints, float]:
    """Which records the best data set holds, and the gap."""
    seen = rows.seen.tocsc()[:, kind]
    found: OptimizeResult = milp(
        np.concatenate([-gain, rows.cost]),
        constraints=LinearConstraint(hstack([seen, rows.slack]), rows.low, rows.high),
        bounds=Bounds(0, np.concatenate([np.ones(len(gain)), rows.most])),
        integrality=np.concatenate([np.ones(len(gain)), rows.whole]),
        options={"node_limit": nodes, "time_limit": seconds, "mip_rel_gap": GAP},
    )
    if found.x is None:
        raise RuntimeError(f"no data set found ({found.message}): allow more nodes or seconds")
    return found.x[: len(gain)].round().astype(int), float(found.mip_gap or 0.0)


# --- Measures -------------------------------------------------------------------------------------------------


def share_right(rebuilt: Floats | Ints, truth: Floats | Ints) -> float:
    """Share of values that are right once rows are matched as well as can be.

    Parameters
    ----------
    rebuilt, truth : (n, columns) records.
    """
    if rebuilt.shape != truth.shape:
        raise ValueError(
            f"rebuilt has the shape {rebuilt.shape} and truth {truth.shape}: expected equal ones"
        )
    equal = (rebuilt[:, None] == truth[None]).mean(axis=2)
    return float(equal[linear_sum_assignment(equal, maximize=True)].mean())


def guess_bound(epsilon: float, *, prior: float = 0.5) -> float:
    """Largest probability of guessing which of two data sets was released, for any attack on an ε-DP release.

    Parameters
    ----------
    epsilon : bound of the log-ratio between the two: ε for neighbours, 2ε under add/remove for a record with one of two
        values.
    prior : probability of one of the two data sets.

    Returns
    -------
    ``max(prior, 1 - prior, e^ε / (1 + e^ε))``; attained by randomised response.
    """
    return max(prior, 1 - prior, float(expit(epsilon)))
