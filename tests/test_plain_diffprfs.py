"""DiffPRFs as the package has it as written, beside one that was written from the text alone.

Both train forests of three trees on twelve records, and all that they publish is compared: attributes, cuts, shapes,
labels, noisy sizes and counts, votes. False alarms of the whole file have a probability of at most 10⁻⁶, since each
reading makes at most MOST comparisons, and each of them is made at the rate ALARM.
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

from dpnb import Categorical, Continuous, Domain
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.records.memory import Records
from dpnb.records.splits import LEAF, MULTIWAY, ONE_VS_REST
from dpnb.replay.questions import Question, answering, ordinary_answer
from dpnb.trees.tree import Tree
from plain.diffprfs import DiffPRFs as Plain
from two_samples import chances

FORESTS, TREES = 110, 3
# The classes differ by x, between 4.5 and 5.5, and hardly by the others; the domains are wider than the records.
TABLE = pd.DataFrame(
    {
        "x": [3.0, 3.3, 3.6, 3.9, 4.2, 4.5, 5.5, 5.8, 6.1, 6.4, 6.7, 7.0],
        "c": [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2],
        "z": [0.4, 0.7, 0.5, 0.8, 0.6, 0.2, 0.7, 0.3, 0.5, 0.4, 0.6, 0.8],
    }
)
Y = np.array([0] * 6 + [1] * 6)
DOMAIN = Domain((Continuous("x", 0, 10), Categorical("c", (0, 1, 2)), Continuous("z", 0, 1)), (0, 1))
PUBLIC = {"x": (0.0, 10.0), "c": 3, "z": (0.0, 1.0)}


@dataclass(frozen=True)
class Reading:
    """A reading that both have, and the forest on which it shows."""

    written: dict[str, Any] = field(default_factory=dict)  # keywords of as_written
    plain: dict[str, Any] = field(default_factory=dict)  # and of the plain forest
    attributes: str = "xcz"
    depth: int = 1
    tree: float = 64.0  # budget of a tree


ALONE: dict[str, Any] = {"attributes": "x", "depth": 2, "tree": 36.0}  # cuts of x below cuts of x
NEVER = {"stop": lambda labels, noisy: False}
DATA = [(3.0, 7.0), 3, (0.2, 0.8)]
READINGS = {
    "default": Reading(),
    "max": Reading({"utility": "max", "max_features": "all"}, {"quality": "max", "tried": 3}, tree=12.0),
    "shrinking": Reading(
        {"budget_flow": "shrinking", "max_features": 1},
        {"inherited": True, "tried": 1},
        attributes="xc",
        depth=2,
    ),
    "data": Reading({"bounds": "data", "thresholds": "midpoint"}, {"domain": DATA, "middle": True}),
    "alone": Reading({"stop": "depth"}, NEVER, **ALONE),
    "all": Reading(
        {"max_features": "all", "gain_sensitivity": "log-classes"}, {"tried": 3, "sensitivity": np.log(2)}
    ),
    "rest": Reading(
        {"categorical": "one-vs-rest", "vote": "probability"},
        {"pairs": True, "probabilities": True},
        tree=3.0,
    ),
}
MOST = 13
ALARM = 1e-6 / (MOST * len(READINGS))


def node(tree: Tree, sizes: dict[int, float], number: int = 0) -> dict[str, Any]:
    """A tree of the package as the plain one has it."""
    kind, first = tree.splits.kind[number], int(tree.first_child[number])
    if kind == LEAF:
        counts = tree.value[number]
        return {"count": sizes[number], "counts": counts, "label": int(counts.argmax())}
    children = [node(tree, sizes, first + i) for i in range(3 if kind == MULTIWAY else 2)]
    return {
        "count": sizes[number],
        "attribute": int(tree.splits.attribute[number]),
        "at": None if kind == MULTIWAY else float(tree.splits.cut[number]),
        "children": children[::-1] if kind == ONE_VS_REST else children,  # there the category itself is first
    }


Trees = list[dict[str, Any]]
Sample = dict[str, list[Any]]


def shape(node: dict[str, Any], leaves: Trees) -> Any:
    """Attributes and categories by which a tree divides; its leaves go to a list."""
    if "children" in node:
        return (
            node["attribute"],
            node["attribute"] == 1 and node["at"],
            *(shape(c, leaves) for c in node["children"]),
        )
    leaves.append(node)
    return ()


def label(tree: dict[str, Any], x: np.ndarray) -> int:
    """The label of a record's leaf."""
    while "children" in tree:
        value, at, category = x[tree["attribute"]], tree["at"], tree["attribute"] == 1
        side = value if at is None else value == at if category else value > at
        tree = tree["children"][int(side)]
    return int(tree["label"])


def seen(tree: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What one tree shows, by name."""
    leaves: Trees = []
    yield "shape", shape(tree, leaves)
    yield "labels", tuple(leaf["label"] for leaf in leaves)
    yield "size", float(tree["count"])
    yield "size of the first leaf", float(leaves[0]["count"])
    yield "a count of the last leaf", float(leaves[-1]["counts"][0])
    yield "counts of a class", float(sum(leaf["counts"][1] for leaf in leaves))
    counts = np.concatenate([leaf["counts"] for leaf in leaves])
    yield "noise", float(np.abs(counts - np.rint(counts)).mean())  # it is what whole numbers are not
    if "children" not in tree or tree["attribute"] == 1:
        return
    k, at = tree["attribute"], float(tree["at"])
    yield f"cut of {k}", at
    yield f"place of the cut of {k}", (int(np.searchsorted([3, 4.5, 5.5, 7], at)), (20 * at).is_integer())
    for side, child in zip("<>", tree["children"], strict=True):
        if child.get("attribute") == k:
            yield f"cut {side} cut of {k}", float(child["at"] - at)


def collected(X: np.ndarray, forests: Iterator[tuple[Trees, list[int]]]) -> Sample:
    """All that is seen, each tree and each forest by itself."""
    sample: Sample = defaultdict(list)
    for trees, votes in forests:
        most = [2 * sum(label(tree, x) for tree in trees) > len(trees) for x in X]
        sample["votes"].append(sum(votes))
        sample["votes against most trees"].append(sum(np.not_equal(votes, most)))
        for name, value in (pair for tree in trees for pair in seen(tree)):
            sample[name].append(value)
    return sample


@cache
def written(name: str) -> Sample:
    """What the package publishes."""
    reading, sizes = READINGS[name], list[dict[int, float]]()
    table = TABLE[list(reading.attributes)]
    domain = (
        DOMAIN
        if len(reading.attributes) == 3
        else Domain(DOMAIN.attributes[: len(reading.attributes)], DOMAIN.classes)
    )
    records = Records(table, Y, domain=domain)

    def answer(question: Question) -> Any:
        outcome, event = ordinary_answer(question), question.event
        if event is not None and event.what == "size of a node":
            if 0 in event.parts:
                sizes.append({})
            sizes[-1].update(zip(event.parts.tolist(), outcome.tolist(), strict=True))
        return outcome

    def forests() -> Iterator[tuple[Trees, list[int]]]:
        for seed in range(FORESTS):
            sizes.clear()
            given = {"n_trees": TREES, "max_depth": reading.depth, "max_features": 2, **reading.written}
            forest = DiffPRFs.as_written(epsilon=TREES * reading.tree, random_state=seed, **given)
            with answering(answer):
                forest.fit(records)
            trees = [node(*pair) for pair in zip(forest.trees_, sizes, strict=True)]
            yield trees, forest.predict(table).tolist()

    return collected(table.to_numpy(float), forests())


def plain(name: str, kind: type[Plain] = Plain, **other: Any) -> Sample:
    """What the plain forest publishes, in the same reading but for what ``other`` says."""
    reading = READINGS[name]
    given = {
        "domain": [PUBLIC[a] for a in reading.attributes],
        "depth": reading.depth,
        "budget": TREES * reading.tree,
        "tried": 2,
        "inherited": False,
        **reading.plain,
        **other,
    }
    how = {"probabilities": given.pop("probabilities", False)}
    forest = kind(classes=2, trees=TREES, rng=np.random.default_rng(1), **given)
    X = TABLE[list(reading.attributes)].to_numpy(float)

    def forests() -> Iterator[tuple[Trees, list[int]]]:
        for _ in range(FORESTS):
            trees = forest.forest(X, Y)
            yield trees, [forest.predict(trees, x, **how) for x in X]

    return collected(X, forests())


@pytest.mark.parametrize("reading", READINGS)
def test_the_package_publishes_what_the_plain_forest_does(reading: str) -> None:
    for name, p in chances(written(reading), plain(reading), most=MOST).items():
        assert p > ALARM, (name, p)


class WithoutNoise(Plain):
    """Step 7 without noise."""

    def build_tree(self, *node: Any) -> dict[str, Any]:
        tree: dict[str, Any] = super().build_tree(*node)
        return {**tree, "counts": np.rint(tree["counts"])} if "counts" in tree else tree


class WithoutWidths(Plain):
    """Step 10 without |R_i|."""

    def exponential(self, scores: Any, epsilon: float, sizes: Any = 1.0) -> int:
        return super().exponential(scores, epsilon)


class UndividedForCuts(Plain):
    """Step 10 with all of ε for each of two cuts."""

    def ways(self, x: Any, y: Any, values: Any, epsilon: float) -> Any:
        return super().ways(x, y, values, 3 * epsilon)


class Undivided(Plain):
    """Steps 10 and 11 with all of ε for each of three choices."""

    def exponential(self, scores: Any, epsilon: float, sizes: Any = 1.0) -> int:
        return super().exponential(scores, 3 * epsilon, sizes)


# What else the plain forest does, in which reading: misreadings, and readings that are not the package's there.
TWINS: dict[str, tuple[str, dict[str, Any]]] = {
    "step 1: a budget for every tree": ("default", {"budget": READINGS["default"].tree * TREES**2}),
    "step 3: without replacement": ("default", {"replacement": False}),
    "step 4: levels forgotten": ("default", {"budget": READINGS["default"].tree * TREES * 2}),
    "step 4: d levels": ("alone", {"budget": READINGS["alone"].tree * TREES * 3 / 2}),
    "step 7: no noise": ("default", {"kind": WithoutNoise}),
    "step 7: purity not tested": ("shrinking", NEVER),
    "step 7: purity tested": ("alone", {"stop": Plain.stop}),
    "step 8: all attributes": ("shrinking", {"tried": 2}),
    "step 10: half of the exponent": ("all", {"sensitivity": 2 * np.log(2)}),
    "step 10: twice the exponent": ("max", {"sensitivity": 0.5}),
    "step 10: no widths": ("alone", {"kind": WithoutWidths}),
    "step 10: cuts with all of ε": ("alone", {"kind": UndividedForCuts}),
    "step 10: ε not divided": ("max", {"kind": Undivided}),
    "step 10: cuts within the data": ("alone", {"domain": DATA[:1]}),
    "step 10: middles": ("default", {"middle": True}),
    "step 10: ranges end at the path": ("alone", {"narrowed": True}),
    "step 11: gain for the sum of largest classes": ("max", {"quality": "gain"}),
    "step 12: ε of step 10 for children": ("default", {"inherited": True}),
    "step 12: ε of before step 10": ("shrinking", {"inherited": False}),
    "step 12: two children": ("default", {"pairs": True}),
    "step 12: a child for each value": ("rest", {"pairs": False}),
    "step 12: attributes leave": ("shrinking", {"reuse": False}),
    "votes of labels": ("rest", {"probabilities": False}),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_misreading_shows(twin: str) -> None:
    reading, other = TWINS[twin]
    assert min(chances(written(reading), plain(reading, **other), most=MOST).values()) < ALARM
