"""The grids of the chapter on the Pearson tree: a comparison, the price of each repair, attacks and replays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from ...arrays import Floats
from ...audit.attack import white_box
from ...audit.search import DOMAIN, NEIGHBOURS, Pair
from ...booster import PrivateBooster
from ...domain import Categorical, Domain
from ...papers.diffprfs import DiffPRFs
from ...papers.edprf import EDPRF
from ...papers.pearson import VARIANTS, PearsonTree
from ..runs import (
    Cell,
    Grid,
    data_of,
    mean_auc,
    measure_forests,
    measure_majority,
    over_repeats,
    steps_up_to,
)
from ..runs import points_of as points_of_cells
from ..targets import (
    ADD,
    LONELY,
    NARROW,
    PURE,
    Target,
    attack_target,
    largest_threshold,
    replay_random_pairs,
)

REPEATS = 20
INF = float("inf")
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
}
"""The least that makes the text private."""
AS_WRITTEN, CHOICES_DRAWN, MADE_PRIVATE = "as written", "as written, choices drawn", "text, made private"
NO_NOISE, CART, MAJORITY = "Pearson tree", "CART", "majority class"
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
BY_SHARDS: dict[str, Callable[..., Any]] = {
    **{f"S, m = {m}": sharded(m) for m in (4, 16)},
    **{f"blocks, m = {m}": sharded(m, shards="position") for m in (4, 8, 16, 64)},
}
"""The same trees with shards by record and with blocks by position; of one shard both are one."""
OTHERS: dict[str, Callable[..., Any]] = {
    "eDPRF-R": EDPRF,
    "DiffPRFs-R": DiffPRFs,
    "PrivateBooster": PrivateBooster,
}
SLOW = {("S, m = 400", "robot"): 4}
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
    if cell.method in (CART, MAJORITY):
        measure = measure_cart if cell.method == CART else measure_majority
        return measure(cell) | {"repeats": 1.0}
    repeats = SLOW.get((cell.method, cell.dataset), REPEATS)
    make = (METHODS | BY_SHARDS | OTHERS | {NO_NOISE: no_noise})[cell.method]
    if cell.max_depth:
        make = partial(make, max_depth=cell.max_depth)
    found = measure_forests(partial(make, epsilon=cell.epsilon), cell, repeats=repeats)
    return found | {"repeats": float(repeats)}


def pearson_grid() -> Grid:
    """The patent, its repairs and the book's other learners; depth 0 stands for a learner's default."""
    cells = []
    for data in SETS:
        cells += [
            Cell(method, data, "", DEPTH, epsilon, 0)
            for method, epsilon in product(METHODS, (*BUDGETS, INF))
            if (method, data) not in SLOW or epsilon in (0.1, 1.0)
        ]
        cells += [Cell("C", data, "", 6, e, 0) for e in (*BUDGETS, INF)]
        cells += [Cell(m, data, "", DEPTH, e, 0) for m, e in product(BY_SHARDS, (0.1, 1.0))]
        cells += [Cell(m, data, "", 0, e, 0) for m, e in product(OTHERS, (*BUDGETS, INF))]
        cells += [Cell(m, data, "", d, INF, 0) for m, d in product((NO_NOISE, CART), (DEPTH, 6))]
        cells.append(Cell(MAJORITY, data, "", 0, INF, 0))
    return Grid("pearson", tuple(cells), measure_pearson, SETS)


def points_of(table: pd.DataFrame) -> pd.DataFrame:
    """One row a cell, as :func:`dpnb.book.runs.points_of`, with each cell's own number of repeats."""
    wide = points_of_cells(table, repeats=1)
    return wide.assign(error=wide["error"] / np.sqrt(wide.get("repeats", REPEATS)))


# --- The price of each step ---------------------------------------------------------------------------------

LADDER: dict[str, dict[str, Any]] = {
    "00 as written": {},
    "01 choices drawn": DRAWN,
    "02 public thresholds": {"thresholds": "public"},
    "03 stop at full depth": {"stop": "depth"},
    "04 shards by record": {"shards": "record"},
    "05 levels share ε₁": {"levels": "shared"},
    "06 open leaves counted": {"open_leaves": "counted"},
    "07 attributes per path": {"attributes": "path"},
    "08 a class against the rest": {"statistic": "phi"},
    "09 less for the leaves": {"leaf_share": 0.3},
    "10 covariation of counts": {"statistic": "s_xy", "n_shards": 1},
    "11 permute-and-flip": {"selection": "permute-and-flip"},
}
NOTES = {
    "00 as written": "eight blocks, h = 4",
    "01 choices drawn": "exponential mechanism, not arg-max",
    "02 public thresholds": "a grid, one category against the rest",
    "03 stop at full depth": "no test for one class",
    "04 shards by record": "a hash of the key, not blocks",
    "05 levels share ε₁": "from here on ε is true",
    "06 open leaves counted": "step 9 forgets them",
    "07 attributes per path": "instead of one set for the tree",
    "08 a class against the rest": "instead of class numbers",
    "09 less for the leaves": "30 % instead of half",
    "10 covariation of counts": "instead of eight correlations",
    "11 permute-and-flip": "variant C, the default",
}


def ladder_tree(step: str, **parameters: Any) -> PearsonTree:
    """The tree after ``step`` of the ladder of repairs and all steps above it."""
    return PearsonTree.as_written(**(parameters | steps_up_to(step, LADDER)))


def measure_step(cell: Cell) -> dict[str, float]:
    """A step of the ladder over 20 repeats."""
    return measure_forests(partial(ladder_tree, cell.method, epsilon=cell.epsilon), cell, repeats=REPEATS)


def pearson_ladder_grid() -> Grid:
    """What each step from the text to variant C costs or brings."""
    sets = ("adult", "robot")
    cells = product(LADDER, sets, ("",), (DEPTH,), (0.1, 1.0), (0,))
    return Grid("pearson_ladder", tuple(Cell(*cell) for cell in cells), measure_step, sets)


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


def binary(X: pd.DataFrame) -> Domain:
    """Domain of attributes and classes that are 0 or 1."""
    return Domain(tuple(Categorical(name, (0, 1)) for name in X.columns), (0, 1))


def overtaken() -> Pair:
    """Six records in which a has the larger correlation, and a seventh with which b has it."""
    table = pd.DataFrame(
        [(0, 1, 0)] * 2 + [(1, 1, 0)] * 3 + [(0, 1, 1), (1, 0, 1)], columns=["a", "b", "label"]
    )
    X, y = table[["a", "b"]], table["label"]
    return Pair("the last record decides", (X[:-1], y[:-1]), (X, y), binary(X))


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


RUNS = 20_000
ONE_CHOICE: dict[str, Any] = {"max_depth": 1, "leaf_share": 1e-9}
"""A tree that spends all but a trifle on one choice."""
_TEXT = partial(PearsonTree.as_written, **(PRIVATE_TEXT | {"attributes": "path", "open_leaves": "counted"}))
TARGETS: dict[str, Target] = {
    **{
        f"blocks by position, m = {m}": Target(
            sharded(m, shards="position", **ONE_CHOICE),
            shifted(m),
            root_attribute,
            RUNS,
            (1.0,),
            encoded=True,
        )
        for m in (8, 16)
    },
    "a budget for each level, h = 4": Target(
        partial(_TEXT, n_shards=1, levels="whole", leaf_share=1e-9),
        separated(),
        separations,
        RUNS,
        (1.0, 2.0),
        encoded=True,
    ),
    "arg-max: the attribute": Target(
        partial(_TEXT, n_shards=1, max_depth=1, selection="arg-max"),
        overtaken(),
        root_attribute,
        RUNS,
        (1.0,),
        encoded=True,
    ),
    "points of the records: a threshold": Target(
        partial(_TEXT, n_shards=1, max_depth=1, thresholds="data"),
        NARROW,
        largest_threshold,
        RUNS,
        (1.0,),
        encoded=True,
    ),
    "one class below the root: nodes": Target(
        partial(_TEXT, n_shards=1, max_depth=2, stop="one-class"),
        pure_child(),
        nodes_below_c,
        RUNS,
        (1.0,),
        encoded=True,
    ),
    "repaired, tight: a leaf": Target(
        partial(PearsonTree, max_depth=0), LONELY, white_box, RUNS, (1.0,), encoded=True
    ),
    "repaired: C": Target(partial(PearsonTree, max_depth=2), PURE, white_box, RUNS, (1.0,), encoded=True),
    "repaired: S, m = 8": Target(
        sharded(8, **ONE_CHOICE), shifted(8), root_attribute, RUNS, (1.0,), encoded=True
    ),
}
PRIVATE = tuple(name for name in TARGETS if name.startswith("repaired"))


def measure_pearson_attack(cell: Cell) -> dict[str, float]:
    """Attack a target of the chapter; metrics as of :func:`~dpnb.book.studies.audit.measure_attack`."""
    return attack_target(TARGETS[cell.method], cell)


def pearson_attack_grid() -> Grid:
    """Attacks on single defects of the text and on the repair, 20 000 runs a side."""
    cells = [Cell(name, ADD, "", 0, claim, 0) for name, target in TARGETS.items() for claim in target.claims]
    return Grid("pearson_attack", tuple(cells), measure_pearson_attack)


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
TRIPLES = 50


def measure_pearson_replay(cell: Cell) -> dict[str, float]:
    """Replay a private variant on random neighbours; metrics as of ``audit_replay``."""
    model = REPLAYED[cell.method](
        epsilon=cell.epsilon, max_depth=cell.max_depth, neighbours=cell.dataset, domain=DOMAIN
    )
    return replay_random_pairs(model, cell, triples=TRIPLES)


def pearson_replay_grid() -> Grid:
    """Replays of every private variant: both relations, depths and budgets."""
    cells = product(REPLAYED, NEIGHBOURS, ("",), (1, 2), (0.5, 3.0), (0,))
    return Grid("pearson_replay", tuple(Cell(*cell) for cell in cells), measure_pearson_replay)


GRIDS: dict[str, Callable[[], Grid]] = {
    "pearson": pearson_grid,
    "pearson_ladder": pearson_ladder_grid,
    "pearson_attack": pearson_attack_grid,
    "pearson_replay": pearson_replay_grid,
}
