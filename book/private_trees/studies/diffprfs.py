"""The grids of the chapter on DiffPRFs: its figures, and the price of each repair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from dpnb.arrays import Floats, Ints
from dpnb.data.datasets import Dataset
from dpnb.domain import Domain
from dpnb.papers.baselines_forest import RandomTrees, balanced_depth
from dpnb.papers.diffprfs import Asked, BuildTree, DiffPRFs
from dpnb.privacy.curator import Curator
from dpnb.privacy.lattice import Lattice
from dpnb.records.doors import RecordsDoor
from dpnb.records.splits import LEAF, ONE_VS_REST, THRESHOLD, Splits
from dpnb.trees.growth import TreeBuilder, ranges_below
from dpnb.trees.tree import Tree

from ..lineage.growth import within
from ..lineage.trees import BINS
from .exposure import exposed_by
from .runs import INF, MAJORITY, Cell, Study, cells, data_of, ladder, majority_accuracy, test_scores

WRITTEN: dict[str, dict[str, Any]] = {
    "as written": {},
    "as written, shrinking ε": {"budget_flow": "shrinking"},
    "discretised": {},
}
LADDER = ladder(
    partial(DiffPRFs.as_written, utility="max"),
    {
        "0 as written": {},
        "1 no purity test": {"stop": "depth"},
        "2 Poisson bags": {"bags": "poisson"},
        "3 no unused size query": {"size_query": False},
        "4 one joint choice": {"selection": "joint", "categorical": "one-vs-rest"},
        "5 monotone rate": {"monotone_rate": True},
        "6 vote by probability": {"vote": "probability", "noise": "geometric"},
        "7 Gini score": {"utility": "gini"},
        "8 five disjoint trees, all attributes": {"bags": "disjoint", "n_trees": 5, "max_features": "all"},
    },
)


def forest_of(cell: Cell, data: Dataset) -> tuple[Any, Dataset]:
    """Unfitted estimator of a cell of the DiffPRFs grids, and the data in the form that it takes."""
    shared: dict[str, Any] = {
        "epsilon": cell.epsilon,
        "max_depth": cell.max_depth,
        "domain": data.domain,
        "random_state": cell.random_state(),
    }
    if cell.method in LADDER:
        return LADDER[cell.method](**shared), data
    if cell.method == "repaired":
        return DiffPRFs(utility=cell.utility, **shared), data
    if cell.method == "discretised":
        data = discretised(cell.dataset)
        shared["domain"] = data.domain
    return DiffPRFs.as_written(utility=cell.utility, **shared, **WRITTEN[cell.method]), data


@lru_cache(maxsize=2)
def discretised(name: str) -> Dataset:
    """A data set with its continuous attributes in public bins, kept in memory."""
    return data_of(name).discretised(BINS)


def measure_forest(cell: Cell) -> dict[str, float]:
    """Accuracy and AUC on the test part, and the ε that the ledger finds."""
    data = data_of(cell.dataset)
    if cell.method == MAJORITY:
        return {"accuracy": majority_accuracy(data), "auc": 0.5}
    if cell.method == "scikit-learn forest":
        seed = int(cell.random_state().integers(2**31))
        forest: Any = RandomForestClassifier(25, max_depth=cell.max_depth, random_state=seed)
        forest.fit(data.domain.encode(data.train[0]), data.train[1])
        return test_scores(forest, data.domain.encode(data.test[0]), data.test[1])
    forest, data = forest_of(cell, data)
    forest.fit(*data.train)
    return test_scores(forest, *data.test) | {"ledger_epsilon": forest.ledger_.epsilon}


def diffprfs_grid() -> Study:
    """Figures 1 and 2 of the paper, at its full grid, for the readings, the repair and the baselines."""
    epsilons, depths, sets = (
        (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.0),
        (3, 4, 5, 6, 7),
        ("adult", "adult/merged"),
    )
    scored = partial(cells, utility=("info_gain", "max"), max_depth=depths, seed=range(5))
    return Study(
        "diffprfs",
        [
            *scored(method=("as written", "repaired"), dataset=sets, epsilon=epsilons),
            *scored(method="as written, shrinking ε", dataset="adult", epsilon=epsilons),
            *scored(method="repaired", dataset="adult", utility="gini", epsilon=epsilons),
            *scored(method="discretised", dataset=sets, max_depth=5, epsilon=epsilons),
            *scored(method=("as written", "discretised"), dataset=sets, epsilon=INF),
            *scored(method="scikit-learn forest", dataset=sets, utility="", epsilon=INF),
            *cells(method=MAJORITY, dataset="adult", epsilon=INF),
        ],
        measure_forest,
    )


def ladder_grid() -> Study:
    """The price of each repair, one step at a time, at depth 5."""
    budgets = (0.1, 0.5, 1.0, 2.0)
    found = cells(method=LADDER, dataset="adult", max_depth=5, epsilon=budgets, seed=range(10))
    return Study("diffprfs_ladder", found, measure_forest)


# --- Trees whose splits read no data ------------------------------------------------------------------------

PUBLIC_SIZE = 30_000
"""Guess at the number of records of Adult (30 162) and Bank (28 831), for the depth of random trees."""
RIVALS: dict[str, Any] = {
    "DiffPRFs-R": DiffPRFs,
    "DiffPRFs-R, Gini": partial(DiffPRFs, utility="gini"),
    "five disjoint trees": partial(DiffPRFs, utility="gini", bags="disjoint", n_trees=5, max_features="all"),
}
RANDOM = {f"random, {t} trees": t for t in (5, 25, 100)}


def random_trees_of(cell: Cell) -> RandomTrees:
    """Unfitted forest of random trees; at depth 0 of the cell the depth follows from public numbers."""
    t = RANDOM[cell.method]
    depth = cell.max_depth or balanced_depth(PUBLIC_SIZE, epsilon=cell.epsilon, n_trees=t)
    return RandomTrees(
        epsilon=cell.epsilon,
        domain=data_of(cell.dataset).domain,
        n_trees=t,
        max_depth=depth,
        random_state=cell.random_state(),
    )


def measure_random_trees(cell: Cell) -> dict[str, float]:
    """Accuracy, AUC, the depth, and the ε that the ledger finds."""
    data = data_of(cell.dataset)
    if cell.method in RANDOM:
        forest: Any = random_trees_of(cell)
    else:
        forest = RIVALS[cell.method](
            epsilon=cell.epsilon,
            max_depth=cell.max_depth,
            domain=data.domain,
            random_state=cell.random_state(),
        )
    forest.fit(*data.train)
    facts = {"depth": float(forest.max_depth), "ledger_epsilon": forest.ledger_.epsilon}
    return test_scores(forest, *data.test) | facts


def random_trees_grid() -> Study:
    """Forests that choose their splits beside forests that draw them, and the latter at fixed depths."""
    shared: dict[str, Any] = {
        "dataset": ("adult", "bank"),
        "epsilon": (0.1, 0.5, 1.0, 2.0),
        "seed": range(10),
    }
    found = cells(method=RIVALS, max_depth=5, **shared)
    found += cells(method=RANDOM, **shared)
    found += cells(method="random, 25 trees", max_depth=(4, 6, 8, 10, 12), **shared)
    return Study("random_trees", found, measure_random_trees)


# --- Records that the exact steps expose --------------------------------------------------------------------

EXACT: dict[str, dict[str, Any]] = {"as written": {}, "thresholds at data values": {"thresholds": "data"}}


def measure_exposed(cell: Cell) -> dict[str, float]:
    """How many training records the forest exposes, and why."""
    data = data_of(cell.dataset)
    forest = DiffPRFs.as_written(
        utility=cell.utility,
        epsilon=cell.epsilon,
        max_depth=cell.max_depth,
        domain=data.domain,
        random_state=cell.random_state(),
        **EXACT[cell.method],
    )
    found = exposed_by(forest, *data.train)
    return {
        "records": float(len(found.pure)),
        "split_nodes": float(found.split_nodes),
        "pure_in_bags": float(found.pure_in_bags.sum()),
        "pure": float(found.pure.sum()),
        "holder": float(found.holder.sum()),
        "either": float((found.pure | found.holder).sum()),
    }


def exposed_grid() -> Study:
    """Records of Adult without which the published forest would have been impossible."""
    shared: dict[str, Any] = {"utility": ("info_gain", "max"), "max_depth": 5, "seed": range(5)}
    found = cells(method=EXACT, dataset="adult", epsilon=1.0, **shared)
    found += cells(method="as written", dataset="adult", epsilon=(0.1, 2.0), **shared)
    return Study("exposed", found, measure_exposed)


# --- Ranges below the root ----------------------------------------------------------------------------------


class NarrowedTree(BuildTree):
    """The other reading of ambiguity i: a node draws thresholds from the range that its path leaves."""

    def build(self, per_copy: float) -> Tree:
        """Spend ``per_copy`` on every path and return the tree."""
        self.low, self.high = self.domain.lows[None], self.domain.highs[None]  # of all nodes so far
        return super().build(per_copy)

    def ask(self, drawn: Ints) -> Asked:
        """Candidates of the attributes drawn, in the range of their node."""
        asked, at = super().ask(drawn), (self.builder.nodes[:, None], drawn)
        numeric = self.domain.continuous[drawn]
        low, high = np.where(numeric, self.low[at], 0.0), np.where(numeric, self.high[at], 1.0)
        return asked._replace(candidates=within(asked.candidates, low.reshape(-1), high.reshape(-1)))

    def choose(self, epsilon: Floats) -> tuple[Splits, Floats]:
        """A split for each node; the ranges of its children follow."""
        nodes, (splits, spent) = self.builder.nodes, super().choose(epsilon)
        parent = np.arange(len(nodes)).repeat(splits.n_branches(self.domain.cardinalities))
        below = ranges_below(splits, parent, low=self.low[nodes], high=self.high[nodes])
        self.low, self.high = np.concatenate([self.low, below[0]]), np.concatenate([self.high, below[1]])
        return splits, spent


class Narrowed(DiffPRFs):
    """DiffPRFs with trees of the other reading. They cost the same, because the ranges follow from what is released."""

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        lattice = Lattice.of(*self._threshold_bounds(records, curator))

        def build(builder: TreeBuilder, per_copy: float) -> Tree:
            return NarrowedTree(self, curator, builder, lattice=lattice).build(per_copy)

        self.trees_ = self._plant(records, curator, build, alike=False)


RANGES: dict[str, Callable[..., DiffPRFs]] = {
    "as written": DiffPRFs.as_written,
    "as written, narrowed": Narrowed.as_written,
    "repaired": DiffPRFs,
    "repaired, narrowed": Narrowed,
}


def dead_splits(tree: Tree, domain: Domain) -> dict[str, int]:
    """Number of splits of a tree, and of those with which at most one branch can be reached at all, by any record.

    Also the number of ``cuts`` of an attribute that was cut above, and of those ``outside`` the range left there.
    """
    (kind, attribute, cut), n = tree.splits, tree.n_nodes
    branches, inner = tree.splits.n_branches(domain.cardinalities), np.flatnonzero(kind != LEAF)
    low, high = (np.tile(ends, (n, 1)) for ends in (domain.lows, domain.highs))
    code = np.arange(max(1, *domain.cardinalities))
    left, reached = np.tile(code < domain.cardinalities[:, None], (n, 1, 1)), np.ones(n, bool)
    found = {"splits": len(inner), "dead": 0, "cuts": 0, "outside": 0}
    for node in inner:
        a, first = attribute[node], tree.first_child[node]
        children = slice(first, first + branches[node])
        for own in (low, high, left, reached):
            own[children] = own[node]
        if kind[node] == THRESHOLD:
            found["cuts"] += bool(low[node, a] > domain.lows[a] or high[node, a] < domain.highs[a])
            found["outside"] += not low[node, a] < cut[node] < high[node, a]
            high[first, a], low[first + 1, a] = min(high[node, a], cut[node]), max(low[node, a], cut[node])
            reached[children] &= low[children, a] < high[children, a]
        else:
            one = code == cut[node]
            left[children, a] &= (
                [one, ~one] if kind[node] == ONE_VS_REST else np.eye(len(code), dtype=bool)[: branches[node]]
            )
            reached[children] &= left[children, a].any(axis=1)
        found["dead"] += bool(reached[children].sum() < 2)
    return found


def measure_ranges(cell: Cell) -> dict[str, float]:
    """Accuracy and AUC, cuts ``outside`` their node's range among repeated ones, and ``dead`` ones among all splits."""
    data = data_of(cell.dataset)
    forest = RANGES[cell.method](
        utility=cell.utility,
        epsilon=cell.epsilon,
        max_depth=cell.max_depth,
        domain=data.domain,
        random_state=cell.random_state(),
    ).fit(*data.train)
    n: Counter[str] = sum((Counter(dead_splits(tree, data.domain)) for tree in forest.trees_), Counter())
    shares = {"outside": n["outside"] / max(n["cuts"], 1), "dead": n["dead"] / max(n["splits"], 1)}
    return test_scores(forest, *data.test) | shares | {"ledger_epsilon": forest.ledger_.epsilon}


def ranges_grid() -> Study:
    """The text and its repair on Adult, with thresholds from the whole domain and from the range of the path."""
    shared: dict[str, Any] = {"dataset": "adult", "utility": "max", "max_depth": 5}
    found = cells(method=RANGES, epsilon=1.0, seed=range(20), **shared)
    return Study("diffprfs_ranges", found, measure_ranges)


GRIDS = {
    "diffprfs": diffprfs_grid,
    "diffprfs_ranges": ranges_grid,
    "diffprfs_ladder": ladder_grid,
    "random_trees": random_trees_grid,
    "exposed": exposed_grid,
}
