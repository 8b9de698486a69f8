"""The grids of the chapter on the Pearson tree: a comparison, the price of each repair, attacks and replays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from dpaudit.pairs import Pair, pair_of
from dpnb.arrays import Floats
from dpnb.boosting.booster import PrivateBooster
from dpnb.domain import Categorical, Domain
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.edprf import EDPRF
from dpnb.papers.pearson import VARIANTS, PearsonTree

from ..auditing.fixed import white_box
from .runs import INF, MAJORITY, Cell, Study, cells, data_of, ladder, mean_auc, measure_methods, over_repeats
from .targets import ADD, LONELY, PURE, Target, attack_study, largest_threshold, replay_study

REPEATS = 20
BUDGETS = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
SETS = ("adult", "bank", "robot")
DEPTH = 4  # the patent's h, which it leaves open

# --- Comparison ---------------------------------------------------------------------------------------------

DRAWN: dict[str, Any] = {"selection": "exponential"}
PRIVATE_TEXT: dict[str, Any] = DRAWN | {
    "thresholds": "public",
    "stop": "depth",
    "shards": "record",
    "levels": "shared",
    "noise": "geometric",
}
"""The least that makes the text private."""
AS_WRITTEN, CHOICES_DRAWN, MADE_PRIVATE = "as written", "as written, choices drawn", "text, made private"
NO_NOISE, CART = "Pearson tree", "CART"
"""References: the tree that the patent makes private, on one shard with attributes removed per path, and CART."""


def sharded(n_shards: int, **parameters: Any) -> Callable[..., Any]:
    """Variant S with another number of shards."""
    return partial(PearsonTree, **(VARIANTS["S"] | {"n_shards": n_shards} | parameters))


SHARDS = (1, 8, 64, 400)
METHODS: dict[str, Callable[..., Any]] = {
    AS_WRITTEN: PearsonTree.as_written,
    CHOICES_DRAWN: partial(PearsonTree.as_written, **DRAWN),
    MADE_PRIVATE: partial(PearsonTree.as_written, **PRIVATE_TEXT),
    "C": PearsonTree,
    **{f"S, m = {m}": sharded(m) for m in SHARDS},
}
BY_DELTA: dict[str, Any] = {"rate": "sensitivity"}
BY_SHARDS: dict[str, Callable[..., Any]] = {
    **{f"shards, m = {m}": sharded(m, **BY_DELTA) for m in (1, 4, 8, 16, 64, 400)},
    **{f"blocks, m = {m}": sharded(m, shards="position", **BY_DELTA) for m in (4, 8, 16, 64)},
}
"""Shards by record and blocks by position, both at the rate for 2Δ; of one shard both are one."""
OTHERS: dict[str, Callable[..., Any]] = {
    "eDPRF-R": EDPRF,
    "DiffPRFs-R": DiffPRFs,
    "PrivateBooster": PrivateBooster,
}
SLOW = {("S, m = 400", "robot"): 4, ("shards, m = 400", "robot"): 4}
"""Many shards, attributes and classes: so few repeats, at the budgets of ``BY_SHARDS`` only."""


def no_noise(**parameters: Any) -> PearsonTree:
    """The patent's tree without its shards, its order of attributes and its noise."""
    readings: dict[str, Any] = {"n_shards": 1, "attributes": "path", "open_leaves": "counted"}
    return PearsonTree.as_written(**(parameters | readings | {"epsilon": INF}))


def measure_cart(cell: Cell) -> dict[str, float]:
    """Accuracy and AUC of scikit-learn's tree of the cell's depth, as one repeat."""
    data = data_of(cell.dataset)
    (X, y), (X_test, y_test) = data.train, data.test
    tree = DecisionTreeClassifier(max_depth=cell.max_depth, random_state=0)
    tree.fit(data.domain.encode(X), data.domain.encode_labels(y))
    votes = tree.predict_proba(data.domain.encode(X_test, strict=False))
    truth = data.domain.encode_labels(y_test)
    found = over_repeats([np.mean(votes.argmax(axis=1) == truth)])
    return found | {"auc": mean_auc(votes, truth), "leaves": float(tree.get_n_leaves())}


def measure_pearson(cell: Cell) -> dict[str, float]:
    """A cell of the comparison; ``repeats`` is the number of fits."""
    if cell.method == CART:
        return measure_cart(cell) | {"repeats": 1.0}
    repeats = 1 if cell.method == MAJORITY else SLOW.get((cell.method, cell.dataset), REPEATS)
    methods = METHODS | BY_SHARDS | OTHERS | {NO_NOISE: no_noise}
    return measure_methods(methods, cell, repeats=repeats) | {"repeats": float(repeats)}


def pearson_grid() -> Study:
    """The patent, its repairs and the book's other learners; depth 0 stands for a learner's default."""
    found = []
    for data in SETS:
        on = partial(cells, dataset=data)
        for method in METHODS:
            budgets = (0.1, 1.0) if (method, data) in SLOW else (*BUDGETS, INF)
            found += on(method=method, max_depth=DEPTH, epsilon=budgets)
        found += on(method="C", max_depth=6, epsilon=(*BUDGETS, INF))
        found += on(method=BY_SHARDS, max_depth=DEPTH, epsilon=(0.1, 1.0))
        found += on(method=OTHERS, epsilon=(*BUDGETS, INF))
        found += on(method=(NO_NOISE, CART), max_depth=(DEPTH, 6), epsilon=INF)
        found += on(method=MAJORITY, epsilon=INF)
    return Study("pearson", found, measure_pearson, repeats=REPEATS)


# --- The price of each step ---------------------------------------------------------------------------------

STEPS: dict[str, tuple[dict[str, Any], str]] = {
    "00 as written": ({}, "eight blocks, h = 4"),
    "01 choices drawn": (DRAWN, "exponential mechanism, not arg-max"),
    "02 public thresholds": ({"thresholds": "public"}, "a grid, one category against the rest"),
    "03 stop at full depth": ({"stop": "depth"}, "no test for one class"),
    "04 shards by record": ({"shards": "record"}, "a hash of the key, not blocks"),
    "05 levels share ε₁": ({"levels": "shared"}, "from here on ε is true"),
    "06 open leaves counted": (
        {"open_leaves": "counted", "noise": "geometric"},
        "step 9 forgets them; noise in whole numbers",
    ),
    "07 attributes per path": ({"attributes": "path"}, "instead of one set for the tree"),
    "08 a class against the rest": ({"statistic": "phi"}, "instead of class numbers"),
    "09 less for the leaves": ({"leaf_share": 0.3}, "30 % instead of half"),
    "10 covariation of counts": (
        {"statistic": "s_xy", "n_shards": 1},
        "instead of eight correlations",
    ),
    "11 permute-and-flip": (
        {"selection": "permute-and-flip", "rate": "range"},  # the range of S_xy is 2Δ: the same rate
        "variant C, the default",
    ),
}
LADDER = ladder(PearsonTree.as_written, {step: change for step, (change, _) in STEPS.items()})


def pearson_ladder_grid() -> Study:
    """What each step from the text to variant C costs or brings."""
    found = cells(method=LADDER, dataset=("adult", "robot"), max_depth=DEPTH, epsilon=(0.1, 1.0))
    measure = partial(measure_methods, LADDER, repeats=REPEATS)
    return Study("pearson_ladder", found, measure, repeats=REPEATS)


# --- The price of the sensitivity -----------------------------------------------------------------------------

RATES: dict[str, Callable[..., Any]] = {
    "S, rate by 2Δ": sharded(400, **BY_DELTA),
    "S, rate by the range": sharded(400),
}


def pearson_rate_grid() -> Study:
    """Variant S at the rate that the sensitivity allows, and at the one that the range of the changes allows."""
    sets, budgets = ("adult-standin", "adult"), (0.25, 0.5, 1.0, 2.0)
    found = cells(method=RATES, dataset=sets, max_depth=DEPTH, epsilon=budgets)
    return Study("pearson_rate", found, partial(measure_methods, RATES, repeats=REPEATS), repeats=REPEATS)


# --- Audit --------------------------------------------------------------------------------------------------


def shifted(m: int, *, copies: int = 1) -> Pair:
    """Blocks of two records, m of them, in which a says the class; with a record at the end b does.

    Records come in pairs of the classes 0 and 1. Inside a pair a differs and b is the same; across the border
    between pairs it is the other way round. The last record makes the first block longer and shifts all others.
    """
    i = np.arange(2 * m + 1)
    a, b, label = (i + 1) // 2 % 2, i // 2 % 2, i % 2
    X = pd.DataFrame({"a": a} | dict.fromkeys([f"b{k}" for k in range(copies)], b))
    y = pd.Series(label)
    return Pair("blocks of two, a record at the end", (X[:-1], y[:-1]), (X, y), binary(X))


def separated(attributes: int = 16) -> Pair:
    """Records of one class, all alike, and one of the other class that every second attribute tells apart."""
    names = [f"a{k}" for k in range(attributes)]
    X = pd.DataFrame(np.zeros((20, attributes), int), columns=names)
    z = pd.DataFrame([[k % 2 for k in range(attributes)]], columns=names, index=[-1])
    y, more = pd.Series(0, index=X.index), pd.concat([X, z])
    one = pd.Series([0] * 20 + [1], index=more.index)
    return Pair("half of the attributes", (X, y), (more, one), binary(X))


def numbered(*, copies: int) -> Pair:
    """Two records of classes 1 and 2, and one of class 0: copies of an attribute, another one, and a constant."""
    names = [*(f"a{k}" for k in range(copies)), "b", "c"]
    rows = [(0, 0, 1), (0, 1, 2), (1, 1, 0)]  # a, b, class
    X = pd.DataFrame([[a] * copies + [b, 0] for a, b, _ in rows], columns=names)
    y = pd.Series([label for *_, label in rows])
    return Pair("three class numbers", (X[:-1], y[:-1]), (X, y), binary(X, classes=(0, 1, 2)))


def binary(X: pd.DataFrame, *, classes: tuple[int, ...] = (0, 1)) -> Domain:
    """Domain of attributes that are 0 or 1."""
    return Domain(tuple(Categorical(name, (0, 1)) for name in X.columns), classes)


def overtaken() -> Pair:
    """Six records in which a has the larger correlation, and a seventh with which b has it."""
    table = pd.DataFrame(
        [(0, 1, 0)] * 2 + [(1, 1, 0)] * 3 + [(0, 1, 1), (1, 0, 1)], columns=["a", "b", "label"]
    )
    X, y = table[["a", "b"]], table["label"]
    return Pair("the last record decides", (X[:-1], y[:-1]), (X, y), binary(X))


def between() -> Pair:
    """Records whose class follows from x, and one between the classes, whose own value is then the best cut."""
    rows = [(i / 20, i % 2, int(i > 6)) for i in range(2, 11)]
    return pair_of("a value between the classes", rows, (0.32, 0, 0), neighbours=ADD)


def pure_child() -> Pair:
    """Records of one class where c is 0, of both where it is 1; and one of the other class more where it is 0."""
    i = np.arange(8)
    rows = [
        *zip(0 * i, i % 2, 0 * i, strict=True),
        *zip(0 * i + 1, i % 2, i // 2 % 2, strict=True),
        (0, 0, 1),
    ]
    table = pd.DataFrame(rows, columns=["c", "g", "label"])
    X, y = table[["c", "g"]], table["label"]
    return Pair("one class where c = 0, then two", (X[:-1], y[:-1]), (X, y), binary(X))


def root_attribute(tree: PearsonTree) -> Floats:
    """Number of the attribute that the root is split on."""
    return tree.trees_[0].splits.attribute[:1].astype(float)


def nodes_below_c(tree: PearsonTree) -> Floats:
    """Number of nodes of a tree whose root is split on the first attribute, else 0."""
    own = tree.trees_[0]
    return np.array([float(own.n_nodes) if own.splits.attribute[0] == 0 else 0.0])


def separations(tree: PearsonTree) -> Floats:
    """Splits on an odd attribute on the path of the record that is 0 everywhere."""
    own, node, found = tree.trees_[0], 0, 0
    while own.first_child[node] >= 0:
        attribute, cut = own.splits.attribute[node], own.splits.cut[node]
        found += int(attribute % 2)
        node = own.first_child[node] + int(cut != 0)  # one category, here 0 or 1, comes first
    return np.array([float(found)])


ONE_CHOICE: dict[str, Any] = {"max_depth": 1, "leaf_share": 1e-9}
"""A tree that spends all but a trifle on one choice."""
_TEXT = partial(
    PearsonTree.as_written,
    **(PRIVATE_TEXT | {"attributes": "path", "open_leaves": "counted", "n_shards": 1}),
)
_encoded = partial(Target, encoded=True)
_private = partial(_encoded, private=True)
TARGETS: dict[str, Target] = {
    **{
        f"blocks by position, m = {m}": _encoded(
            sharded(m, shards="position", **ONE_CHOICE), shifted(m), root_attribute
        )
        for m in (8, 16)
    },
    "a budget for each level, h = 4": _encoded(
        partial(_TEXT, levels="whole", leaf_share=1e-9), separated(), separations, claims=(1.0, 2.0)
    ),
    "arg-max: the attribute": _encoded(
        partial(_TEXT, max_depth=1, selection="arg-max"), overtaken(), root_attribute
    ),
    "points of the records: a threshold": _encoded(
        partial(_TEXT, max_depth=1, thresholds="data"), between(), largest_threshold
    ),
    "one class below the root: nodes": _encoded(
        partial(_TEXT, max_depth=2, stop="one-class"), pure_child(), nodes_below_c
    ),
    "repaired, tight: a leaf": _private(partial(PearsonTree, max_depth=0), LONELY, white_box),
    "repaired: C": _private(partial(PearsonTree, max_depth=2), PURE, white_box),
    "repaired: S, m = 8": _private(sharded(8, **ONE_CHOICE), shifted(8), root_attribute),
}


def pearson_attack_grid() -> Study:
    """Attacks on single defects of the text and on the repair, 20 000 runs a side."""
    return attack_study("pearson_attack", TARGETS)


REPLAYED: dict[str, Callable[..., Any]] = {
    "C": PearsonTree,
    "C, exponential mechanism": partial(PearsonTree, selection="exponential"),
    "S, m = 3": sharded(3),
    "S, m = 3, permute-and-flip": sharded(3, selection="permute-and-flip"),
    "S, m = 400": sharded(400),
    "class numbers": sharded(3, statistic="phi-codes"),
    "signed correlation": sharded(3, statistic="phi-signed"),
    "one set of attributes": partial(PearsonTree, attributes="tree"),
    MADE_PRIVATE: METHODS[MADE_PRIVATE],
    "blocks by position, as booked": sharded(3, shards="position"),
    "a budget for each level, as booked": partial(PearsonTree, levels="whole"),
}
"""Variants whose ledger has a finite ε; that of the last two is larger than their claim."""


def replayed(cell: Cell) -> PearsonTree:
    """A variant with a finite ε."""
    model: PearsonTree = REPLAYED[cell.method](epsilon=cell.epsilon, max_depth=cell.max_depth)
    return model


def pearson_replay_grid() -> Study:
    """Replays of every private variant: both relations, depths and budgets."""
    axes: dict[str, Any] = {"method": REPLAYED, "max_depth": (1, 2), "epsilon": (0.5, 3.0)}
    return replay_study("pearson_replay", replayed, triples=50, **axes)


GRIDS = {
    "pearson": pearson_grid,
    "pearson_ladder": pearson_ladder_grid,
    "pearson_rate": pearson_rate_grid,
    "pearson_attack": pearson_attack_grid,
    "pearson_replay": pearson_replay_grid,
}
