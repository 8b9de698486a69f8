"""The Pearson tree as written publishes what the plain one publishes, in each reading: the same trees and counts.

Both run equally often on the tables below. The G-test compares the trees, which are the splits and the leaves' labels,
and Kolmogorov-Smirnov compares the noise of a leaf's counts. A comparison's p is three times the least of theirs.
There are fewer than 100 comparisons, each of which alarms below 1e-8, so all of them alarm in vain with at most 1e-6.
The plain one compares coefficients as fractions, and shards of three records have many that are equal, of which the
first counts.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from dpnb import Continuous, Domain
from dpnb.papers.pearson import PearsonTree
from dpnb.trees.tree import Tree
from plain import pearson as plain
from two_samples import chance

LIMIT = 1e-8


class Table(NamedTuple):
    """Records, and the patent's h and m for them."""

    x: np.ndarray
    d: np.ndarray
    classes: int
    h: int
    m: int

    @property
    def domain(self) -> Domain:
        return Domain(tuple(Continuous(name, 0, 4) for name in "abc"), tuple(range(self.classes)))


def table(seed: int, *, n: int, classes: int = 2, h: int = 3, m: int = 3) -> Table:
    rng = np.random.default_rng(seed)
    x, d = rng.integers(0, 5, (n, 3)).astype(float), rng.integers(0, classes, n)
    return Table(x, d, classes, h, m)


TABLES = {
    "many equal coefficients": table(89, n=12, m=4),
    "three classes": table(1, n=12, classes=3, h=2, m=2),
    "a root": table(90, n=12, h=1),
    "a root, where covariance differs": table(14, n=12, h=1),
} | {
    # m is up to more than a node has records.
    f"table {i}": table(i, n=4 + i % 11, classes=2 + i % 2, h=1 + i % 4, m=1 + i % 5)
    for i in range(30)
}
TABLES |= {f"{name}, of decimals": t._replace(x=np.round(t.x * 0.7, 1)) for name, t in TABLES.items()}
READINGS: dict[str, dict[str, Any]] = {
    f"{selection}, {statistic}, {attributes}, {leaves}": {
        "selection": selection,
        "statistic": statistic,
        "attributes": attributes,
        "open_leaves": leaves,
    }
    for selection, statistic, (attributes, leaves) in product(
        ("arg-max", "exponential"),
        ("phi-codes", "phi-signed"),
        (("tree", "empty"), ("tree", "counted"), ("path", "counted")),
    )
}


class Run(NamedTuple):
    """What a run publishes: its splits, the labels of its leaves, and the noise of one count of its first leaf."""

    splits: tuple[Any, ...]
    labels: tuple[Any, ...]
    noise: float


def published(splits: dict[Any, Any], counts: dict[Any, Any]) -> Run:
    cuts = tuple(sorted((place, a, round(cut, 9)) for place, (a, cut) in splits.items()))
    labels = tuple(sorted((place, int(np.argmax(c))) for place, c in counts.items()))
    return Run(cuts, labels, float(counts[min(counts)][0]) if counts else 0.0)


def places(tree: Tree) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """A tree of the package in the plain one's words; leaves without counts are left out."""
    splits, counts, todo = {}, {}, [(0, ())]
    for node, place in todo:
        first = int(tree.first_child[node])
        if first >= 0:
            splits[place] = int(tree.splits.attribute[node]), float(tree.splits.cut[node])
            todo += [(first, (*place, 0)), (first + 1, (*place, 1))]
        elif tree.value[node].any():
            counts[place] = tree.value[node]
    return splits, counts


@cache
def of_package(name: str, reading: str, *, epsilon: float, runs: int) -> list[Run]:
    t = TABLES[name]
    how: dict[str, Any] = {"max_depth": t.h, "n_shards": t.m, "domain": t.domain, "epsilon": epsilon}
    fits = (
        PearsonTree.as_written(**how, **READINGS[reading], random_state=i).fit(t.x, t.d) for i in range(runs)
    )
    return [published(*places(fit.trees_[0])) for fit in fits]


@cache
def _best(
    values: tuple[float, ...], d: tuple[int, ...], how: tuple[tuple[str, str], ...]
) -> tuple[float, float]:
    return plain.best_split(np.array(values), np.array(d), **dict(how))


def best(values: np.ndarray, d: np.ndarray, **how: str) -> tuple[float, float]:
    """Step 3, once for each question: fractions are slow."""
    return _best(tuple(values.tolist()), tuple(d.tolist()), tuple(how.items()))


def of_plain(name: str, reading: str, *, epsilon: float, runs: int, **wrong: Any) -> list[Run]:
    """Run the plain one in a reading, or in a misreading of it."""
    t, words = TABLES[name], READINGS[reading]
    measure = {"phi-codes": "absolute", "phi-signed": "signed"}[words["statistic"]]
    how: dict[str, Any] = {
        "choice": {"arg-max": "taken", "exponential": "drawn"}[words["selection"]],
        "spent": words["attributes"],
        "unfinished": {"empty": "none", "counted": "leaf"}[words["open_leaves"]],
        "three": partial(best, measure=measure),
        "h": t.h,
        "m": t.m,
        "epsilon_1": epsilon / 2,
        "epsilon_2": epsilon / 2,
        "sensitivity": 1 / t.m,
    } | wrong
    rng = np.random.default_rng(7)
    return [published(*plain.pearson_tree(t.x, t.d, classes=t.classes, rng=rng, **how)) for _ in range(runs)]


def p_value(one: list[Run], two: list[Run]) -> float:
    trees = chance([run[:2] for run in one], [run[:2] for run in two])
    splits = chance([run[0] for run in one], [run[0] for run in two])
    noise = chance([run.noise for run in one], [run.noise for run in two])
    return min(1.0, 3 * min(trees, splits, noise))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("name", ["many equal coefficients", "three classes"])
def test_the_package_publishes_what_the_text_says(name: str, reading: str) -> None:
    how: dict[str, Any] = {"epsilon": 4.0, "runs": 40}
    assert p_value(of_package(name, reading, **how), of_plain(name, reading, **how)) > LIMIT


@pytest.mark.parametrize("name", [name for name in TABLES if name.startswith("table")])
def test_the_same_tree_where_nothing_is_drawn(name: str) -> None:
    """The noise is so small that nothing but the text decides."""
    for reading in (reading for reading in READINGS if reading.startswith("arg-max")):
        ours, plains = (of(name, reading, epsilon=1e9, runs=1)[0] for of in (of_package, of_plain))
        assert ours.splits == plains.splits
        assert [place for place, _ in ours.labels] == [place for place, _ in plains.labels]
        assert ours.noise == pytest.approx(plains.noise, abs=1e-6)


# --- Misreadings that the same comparison must see ---------------------------------------------------------------


def covariance(values: np.ndarray, d: np.ndarray) -> tuple[float, float]:
    found = [(abs(float(np.cov(values <= c, d, bias=True)[0, 1])), -c) for c in np.unique(values)]
    return max(found)[0], -max(found)[1]


TEXT, COUNTED, SIGNED, DRAWN = (
    "arg-max, phi-codes, tree, empty",
    "arg-max, phi-codes, tree, counted",
    "arg-max, phi-signed, tree, empty",
    "exponential, phi-codes, tree, empty",
)
TREE, ROOT = "many equal coefficients", "a root"
TWINS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "no absolute value": (TREE, TEXT, {"three": partial(best, measure="signed")}),
    "an absolute value too many": (TREE, SIGNED, {"three": best}),
    "covariance": ("a root, where covariance differs", TEXT, {"three": covariance}),
    "last of equal values": (TREE, TEXT, {"three": partial(best, equal="last")}),
    "median of the values": (TREE, TEXT, {"four": lambda values: float(np.median(values))}),
    "equal to the cut goes above": (TREE, TEXT, {"four": lambda values: plain.mean(values) - 1e-12}),
    "one subset": (TREE, TEXT, {"m": 1}),
    "records dealt": (TREE, TEXT, {"divide": "dealt"}),
    "last data set first": (TREE, TEXT, {"order": "last"}),
    "a set of attributes for each path": (TREE, COUNTED, {"spent": "path"}),
    "counts for data sets that wait": (TREE, TEXT, {"unfinished": "leaf"}),
    "one level less": (TREE, TEXT, {"h": 2}),
    "half the budget of counts": (ROOT, TEXT, {"epsilon_2": 2.0}),
    "drawn, not taken": (ROOT, TEXT, {"choice": "drawn"}),
    "taken, not drawn": (ROOT, DRAWN, {"choice": "taken"}),
    "a draw at the rate for one subset": (ROOT, DRAWN, {"sensitivity": 1.0}),
    "a draw without the 2": (ROOT, DRAWN, {"epsilon_1": 8.0}),
}


@pytest.mark.parametrize("misreading", TWINS)
def test_a_misreading_is_seen(misreading: str) -> None:
    name, reading, wrong = TWINS[misreading]
    how: dict[str, Any] = {"epsilon": 8.0, "runs": 400 if name == ROOT else 40}
    ours = of_package(name, reading, **how)
    assert p_value(ours, of_plain(name, reading, **how)) > LIMIT
    assert p_value(ours, of_plain(name, reading, **how, **wrong)) < LIMIT
