"""eDPRF as the package has it as written, beside one that was written from one page of its text.

Both train forests of two trees on fourteen records, and what they publish is compared: the roots, shapes and labels of
each tree, noisy counts, votes. Continuous attributes, of which the page says nothing, are binned before the plain
forest sees them. False alarms of the whole file have a probability of at most 10⁻⁶, since each reading makes at most
MOST comparisons, and each of them is made at the rate ALARM.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import plain.edprf
from dpnb import Categorical, Continuous, Domain
from dpnb.papers.edprf import EDPRF
from dpnb.records.memory import Records
from dpnb.records.splits import LEAF
from dpnb.trees.tree import Tree
from two_samples import chances

FORESTS, TREES, BINS = 200, 2, 4
# The classes differ by x, whose domain is wider than the records; the second value of g is that of one record.
TABLE = pd.DataFrame(
    {
        "x": [2.1, 2.4, 2.6, 3.2, 3.8, 4.5, 4.9, 5.1, 5.6, 6.3, 6.8, 7.0, 7.2, 7.4],
        "c": [0, 1, 2, 0, 1, 0, 2, 0, 1, 2, 2, 1, 1, 0],
        "g": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    }
)
Y = np.array([0] * 4 + [1, 0] + [1] * 8)
DOMAIN = Domain((Continuous("x", 0, 10), Categorical("c", (0, 1, 2)), Categorical("g", (0, 1))), (0, 1))


def binned(low: float, high: float) -> np.ndarray:
    """The records with x in bins of equal width, upper ends included."""
    edges = np.linspace(low, high, BINS + 1)[1:-1]
    return TABLE.assign(x=np.searchsorted(edges, TABLE["x"])).to_numpy()


@dataclass(frozen=True)
class Reading:
    """A reading that both have, and the forest on which it shows."""

    written: dict[str, Any] = field(default_factory=dict)  # keywords of as_written
    plain: dict[str, Any] = field(default_factory=dict)  # and of the plain forest
    depth: int = 2
    epsilon: float = 12.0
    ends: tuple[float, float] = (0.0, 10.0)  # between which x is binned
    single: int = 0  # so many trees instead of forests, each on all records and each by itself


READINGS = {
    "default": Reading(),
    "split": Reading(depth=1, epsilon=10.0, single=1000),
    "index": Reading(
        {"utility": "gini_normalised"}, {"utility": "index"}, depth=1, epsilon=60.0, single=1800
    ),
    "label": Reading(depth=0, epsilon=0.9, single=2500),
    "counts": Reading({"leaf": "counts"}, {"label": "laplace"}, epsilon=24.0),
    "pure": Reading({"stop": "depth", "reuse": True}, {"pure": False, "reuse": True}, epsilon=24.0),
    "one feature": Reading(
        {"max_features": 1, "align": False, "levels": "uniform"},
        {"tried": 1, "aligned": False, "shares": None},
    ),
    "bins of the node": Reading({"bins": "node-width"}, depth=1, ends=(2.1, 7.4), single=800),
}
MOST = 12
ALARM = 1e-6 / (MOST * len(READINGS))

Trees = list[dict[str, Any]]
Sample = dict[str, list[Any]]


def node(tree: Tree, number: int = 0) -> dict[str, Any]:
    """A tree of the package as the plain one has it."""
    if tree.splits.kind[number] == LEAF:
        counts = tree.value[number]
        return {"label": int(counts.argmax()), "counts": counts}
    first, feature = int(tree.first_child[number]), int(tree.splits.attribute[number])
    children = [node(tree, first + i) for i in range((BINS, 3, 2)[feature])]
    return {"feature": feature, "children": children}


def shape(node: dict[str, Any], leaves: Trees) -> Any:
    """Features by which a tree divides; its leaves go to a list."""
    if "children" in node:
        return node["feature"], *(shape(child, leaves) for child in node["children"])
    leaves.append(node)
    return ()


def collected(forests: Iterator[tuple[Trees, list[int]]], *, counts: bool) -> Sample:
    """What is seen of each forest: statistics of different forests are independent."""
    sample: Sample = defaultdict(list)
    for trees, votes in forests:
        sample["roots"].append(tuple(tree.get("feature") for tree in trees))
        sample["votes"].append(sum(votes))  # of two trees that differ, the first class
        for i, tree in enumerate(trees):
            leaves: Trees = []
            sample[f"shape {i}"].append(shape(tree, leaves))
            sample[f"labels {i}"].append(tuple(leaf["label"] for leaf in leaves))
            first = tree["children"][0] if "children" in tree else {}
            sample[f"first path {i}"].append((tree.get("feature"), first.get("feature"), leaves[0]["label"]))
            if counts:
                found = np.concatenate([leaf["counts"] for leaf in leaves])
                sample[f"records {i}"].append(float(found.sum()))
                sample[f"noise {i}"].append(float(np.abs(found - np.rint(found)).mean()))
    return sample


@cache
def written(name: str) -> Sample:
    """What the package publishes."""
    reading, records = READINGS[name], Records(TABLE, Y, domain=DOMAIN)
    number = reading.single or TREES
    given = {"n_trees": number, "bins": "public", "n_bins": BINS, **reading.written}
    if reading.single:
        given["bags"] = "full"  # which divides the budget among the trees

    def forests() -> Iterator[tuple[Trees, list[int]]]:
        for seed in range(1 if reading.single else FORESTS):
            epsilon = reading.epsilon * (number if reading.single else 1)
            forest = EDPRF.as_written(epsilon=epsilon, max_depth=reading.depth, random_state=seed, **given)
            trees = [node(tree) for tree in forest.fit(records).trees_]
            if reading.single:
                yield from (([tree], []) for tree in trees)
            else:
                yield trees, forest.predict(TABLE).tolist()

    return collected(forests(), counts=name == "counts")


def simple(name: str, *, ends: tuple[float, float] | None = None, **other: Any) -> Sample:
    """What the plain forest publishes, in the same reading but for what ``other`` says."""
    reading = READINGS[name]
    harmonic = 1 / np.arange(reading.depth + 1, 0, -1)
    given = {
        "depth": reading.depth,
        "budget": reading.epsilon,
        "trees": 1 if reading.single else TREES,
        "bags": "disjoint",
        "shares": list(harmonic / harmonic.sum()),
        "aligned": True,
        "utility": "counts",
        "sensitivity": 2.0,
        "pure": True,
        "reuse": False,
        **reading.plain,
        **other,
    }
    forest = plain.edprf.EDPRF(domain=[BINS, 3, 2], classes=2, rng=np.random.default_rng(1), **given)
    X = binned(*(ends or reading.ends))

    def forests() -> Iterator[tuple[Trees, list[int]]]:
        for _ in range(reading.single or FORESTS):
            trees = forest.forest(X, Y)
            yield trees, [] if reading.single else [forest.predict(trees, x) for x in X]

    return collected(forests(), counts=given.get("label") == "laplace")


@pytest.mark.parametrize("reading", READINGS)
def test_the_package_publishes_what_the_plain_forest_does(reading: str) -> None:
    for name, p in chances(written(reading), simple(reading), most=MOST).items():
        assert p > ALARM, (name, p)


def fixed_order(scores: Any, epsilon: float, sensitivity: float, rng: np.random.Generator) -> int:
    for q in range(len(scores)):
        if rng.random() < np.exp(epsilon / (2 * sensitivity) * (scores[q] - max(scores))):
            return q
    raise AssertionError


def exponential(scores: Any, epsilon: float, sensitivity: float, rng: np.random.Generator) -> int:
    weights = np.exp(epsilon / (2 * sensitivity) * (np.array(scores) - max(scores)))
    return int(rng.choice(len(weights), p=weights / weights.sum()))


def without_best(scores: Any, epsilon: float, sensitivity: float, rng: np.random.Generator) -> int:
    for q in rng.permutation(len(scores)):
        if rng.random() < np.exp(epsilon / (2 * sensitivity) * scores[q]):
            break
    return int(q)


flip, gini = plain.edprf.permute_and_flip, plain.edprf.gini
# What else the plain forest does, in which reading; some functions take another's place.
TWINS: dict[str, tuple[str, dict[str, Any]]] = {
    "algorithm 1: the best option": (
        "label",
        {"permute_and_flip": lambda scores, *_: int(np.argmax(scores))},
    ),
    "algorithm 1: the exponential mechanism for a label": ("label", {"permute_and_flip": exponential}),
    "algorithm 1: the exponential mechanism for a split": ("index", {"permute_and_flip": exponential}),
    "algorithm 1, line 2: a fixed order of features": ("split", {"permute_and_flip": fixed_order}),
    "algorithm 1, line 2: a fixed order of labels": ("label", {"permute_and_flip": fixed_order}),
    "algorithm 1, line 3: no best score": ("split", {"permute_and_flip": without_best}),
    "algorithm 1, line 3: half of ε for a label": ("label", {"budget": READINGS["label"].epsilon / 2}),
    "algorithm 1, line 3: half of ε for a split": ("split", {"budget": READINGS["split"].epsilon / 2}),
    "algorithm 1, line 3: another Δ": ("split", {"sensitivity": 1.0}),
    "equation (8): the largest is best": (
        "split",
        {"permute_and_flip": lambda scores, *rest: flip([-s for s in scores], *rest)},
    ),
    "equation (8): no weights": ("split", {"gini_index": lambda groups: np.mean([gini(c) for c in groups])}),
    "equation (8): its index for counts": ("split", {"utility": "index"}),
    "equation (8): counts for its index": ("index", {"utility": "counts"}),
    "theorem 2: a budget divided among the trees": ("counts", {"budget": READINGS["counts"].epsilon / TREES}),
    "theorem 2: bags that overlap": ("counts", {"bags": "bootstrap"}),
    "levels: as much for each": ("counts", {"shares": None}),
    "levels: not aligned": ("counts", {"aligned": False}),
    "nodes: purity not tested": ("default", {"pure": False}),
    "nodes: purity tested": ("pure", {"pure": True}),
    "nodes: features leave": ("pure", {"reuse": False}),
    "nodes: all features": ("one feature", {"tried": None}),
    "leaves: the largest noisy count": ("label", {"label": "laplace"}),
    "bins: within the data": ("default", {"ends": (2.1, 7.4)}),
    "bins: within the domain": ("bins of the node", {"ends": (0.0, 10.0)}),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_misreading_shows(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, other = TWINS[twin]
    functions = {name: f for name, f in other.items() if hasattr(plain.edprf, name)}
    for name, function in functions.items():
        monkeypatch.setattr(plain.edprf, name, function)
    keywords = {name: value for name, value in other.items() if name not in functions}
    assert min(chances(written(reading), simple(reading, **keywords), most=MOST).values()) < ALARM
