"""DiffPRFs: repaired and as written, on small data and on Adult's schema."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpnb import Categorical, Domain, PrivacyLeakWarning
from dpnb.papers.diffprfs import CHOICES, DiffPRFs
from dpnb.records.bags import MODES
from dpnb.records.splits import LEAF, MULTIWAY, ONE_VS_REST, THRESHOLD, Splits
from dpnb.replay import replay
from dpnb.trees.scores import SCORES
from dpnb.trees.tree import Tree
from mixed import MIXED as DOMAIN
from mixed import sample
from private_trees.studies.diffprfs import RANGES, dead_splits

RATES = {"bernoulli": 0.3, "cover": 2}
PER_RECORD = [m for m in MODES if m != "bootstrap"]


def fitted(**parameters: object) -> DiffPRFs:
    X, y = sample()
    return DiffPRFs(**({"domain": DOMAIN, "n_trees": 5, "max_depth": 3, "random_state": 0} | parameters)).fit(
        X, y
    )


@pytest.mark.parametrize("mode", PER_RECORD)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_the_repaired_ledger_equals_epsilon(mode: str, neighbours: str, epsilon: float) -> None:
    forest = fitted(bags=mode, bag_rate=RATES.get(mode), neighbours=neighbours, epsilon=epsilon)
    assert forest.ledger_.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert forest.ledger_.claimed == epsilon
    assert forest.ledger_.leaks == {}


@pytest.mark.parametrize("selection", [{}, {"selection": "two-step"}, {"size_query": True, "stop": "noisy"}])
@pytest.mark.parametrize("utility", CHOICES["utility"])
def test_every_path_of_a_repaired_tree_spends_the_same_at_most(
    selection: dict[str, object], utility: str
) -> None:
    forest = fitted(bags="full", utility=utility, **selection)
    for tree in forest.ledger_.root.children[0].children:
        epsilon, _ = tree.children[0].path_costs()
        assert epsilon.max() <= 1 / 5 * (1 + 1e-12)
    assert forest.ledger_.epsilon <= 1 + 1e-12


def test_as_written_claims_b_and_totals_infinity() -> None:
    X, y = sample()
    forest = DiffPRFs.as_written(epsilon=0.7, domain=DOMAIN, n_trees=3, max_depth=3, random_state=0).fit(X, y)
    assert forest.ledger_.claimed == 0.7
    assert forest.ledger_.epsilon == math.inf
    assert list(forest.ledger_.leaks) == ["purity of a node, tested without noise (step 7)"]


def test_each_leaking_reading_is_named() -> None:
    X, y = sample()
    forest = DiffPRFs.as_written(
        n_trees=2, max_depth=2, bounds="data", thresholds="data", max_features="all", random_state=0
    )
    with pytest.warns(PrivacyLeakWarning, match="bounds of x, z.*categories of c"):
        forest.set_params(domain=None).fit(X.astype({"g": float}), y)
    named = " | ".join(forest.ledger_.leaks)
    for words in ("no domain given", "ambiguity e", "ambiguity d", "step 7"):
        assert words in named


def test_without_purity_test_and_bootstrap_the_text_is_private() -> None:
    """The claim's arithmetic is right once both are gone; half of the budget bought an unused count."""
    X, y = sample()
    forest = DiffPRFs.as_written(
        domain=DOMAIN, stop="depth", bags="full", n_trees=4, max_depth=3, random_state=0
    )
    assert forest.fit(X, y).ledger_.epsilon == pytest.approx(1.0, rel=1e-12)
    bootstrap = clone(forest).set_params(bags="bootstrap").fit(X, y)
    assert 1.5 < bootstrap.ledger_.epsilon < 6
    assert bootstrap.ledger_.leaks == {}


def test_pure_data_do_not_change_the_shape_of_repaired_trees() -> None:
    X, _ = sample(50)
    pure = pd.Series(["no"] * 50)
    repaired = DiffPRFs(domain=DOMAIN, n_trees=4, max_depth=4, random_state=0).fit(X, pure)
    assert all(tree.n_leaves == 2**4 for tree in repaired.trees_)
    written = DiffPRFs.as_written(domain=DOMAIN, n_trees=4, max_depth=4, random_state=0).fit(X, pure)
    assert all(
        tree.n_nodes == 1 for tree in written.trees_
    )  # broken twin: one record of the other class shows


@pytest.mark.parametrize("bounds", ["public", "data"])
def test_thresholds_lie_in_the_public_domain(bounds: str) -> None:
    X, y = sample()
    forest = DiffPRFs(
        domain=DOMAIN,
        n_trees=40,
        max_depth=4,
        epsilon=0.1,
        bounds=bounds,
        selection="two-step",
        random_state=1,
    ).fit(X, y)
    outside_data = 0
    for tree in forest.trees_:
        for kind, a, cut in zip(*tree.splits, strict=True):
            if kind == THRESHOLD:
                assert DOMAIN.lows[a] <= cut <= DOMAIN.highs[a]
                outside_data += a == 0 and not X["x"].min() <= cut <= X["x"].max()
            elif kind == ONE_VS_REST:
                assert cut in range(DOMAIN.cardinalities[a])
    assert (outside_data > 0) == (bounds == "public")


def test_shrinking_budget_is_the_product_of_the_shares() -> None:
    X, y = sample()
    forest = DiffPRFs.as_written(
        domain=DOMAIN, n_trees=1, max_depth=2, max_features="all", stop="depth", bags="full",
        budget_flow="shrinking", categorical="one-vs-rest", random_state=0,
    ).fit(X, y)  # fmt: skip
    sizes = [e for e in forest.ledger_.events if e.what == "size of a node"]
    np.testing.assert_allclose([e.worst.epsilon for e in sizes], [1 / 6, 1 / 18, 1 / 54])
    assert forest.ledger_.leaf_costs().max() < 1 == forest.ledger_.epsilon  # other attributes may be drawn


def test_multiway_nodes_have_one_child_a_value() -> None:
    X, y = sample()
    forest = DiffPRFs.as_written(domain=DOMAIN, n_trees=6, max_depth=2, epsilon=np.inf, random_state=0).fit(
        X, y
    )
    seen = False
    for tree in forest.trees_:
        for node in np.flatnonzero(tree.splits.kind == MULTIWAY):
            seen = True
            assert len(tree.children(node, DOMAIN)) == DOMAIN.cardinalities[tree.splits.attribute[node]]
    assert seen


@pytest.mark.parametrize("utility", ["max", "gini"])
def test_the_sensitivity_of_a_split_is_what_it_costs(utility: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record of another class makes one of thirty attributes better than the others by nearly Δ."""
    names = [f"a{i}" for i in range(30)]
    domain = Domain(tuple(Categorical(name, (0, 1)) for name in names), (0, 1))
    X, y = pd.DataFrame(0, index=range(41), columns=names), pd.Series([0] * 40 + [1])
    X.loc[40, "a3"] = 1
    forest = DiffPRFs(
        domain=domain, epsilon=4.0, n_trees=1, max_depth=1, max_features="all", bags="full", utility=utility
    )

    def worst() -> float:
        return max(replay(forest, (X, y), (X[:40], y[:40]), seed=s).lower_bound for s in range(40))

    assert 2 < worst() <= 4
    halved = replace(SCORES[utility], sensitivity=SCORES[utility].sensitivity / 2)
    monkeypatch.setitem(SCORES, utility, halved)
    assert worst() > 4.2


def test_exact_forest_is_greedy() -> None:
    """ε = ∞, one tree, all attributes: the root split is the best of all candidates by brute force."""
    X, y = sample(80)
    tree = DiffPRFs(
        domain=DOMAIN, epsilon=np.inf, n_trees=1, max_depth=1, max_features="all", bags="full", random_state=0
    ).fit(X, y).trees_[0]  # fmt: skip
    codes, labels = DOMAIN.encode(X), DOMAIN.encode_labels(y)

    def score(first: np.ndarray) -> int:
        return sum(np.bincount(labels[side], minlength=2).max() for side in (first, ~first))

    best = max(
        score(codes[:, a] == v if DOMAIN.cardinalities[a] else codes[:, a] <= v)
        for a in range(4)
        for v in np.unique(codes[:, a])
    )
    assert score(tree.apply(codes) == 1) == best
    np.testing.assert_array_equal(tree.value[1:].sum(axis=0), np.bincount(labels))


def test_splits_that_part_nothing_are_counted() -> None:
    inner = {  # node → kind, attribute, cut and first child
        0: (THRESHOLD, 0, 4.0, 1),
        1: (THRESHOLD, 0, 6.0, 3),  # no x is at most 4 and above 6
        2: (THRESHOLD, 0, 6.0, 5),
        3: (ONE_VS_REST, 1, 0.0, 7),
        4: (ONE_VS_REST, 1, 0.0, 9),  # no record gets here
        7: (MULTIWAY, 1, np.nan, 11),  # one category is left
        8: (ONE_VS_REST, 1, 0.0, 14),  # it went the other way
    }
    rows = [inner.get(node, (LEAF, -1, np.nan, -1)) for node in range(16)]
    kind, attribute, cut, first = map(np.array, zip(*rows, strict=True))
    tree = Tree(Splits(kind, attribute, cut), first, np.zeros(16, int), np.zeros((16, 2)))
    assert dead_splits(tree, DOMAIN) == {"splits": 7, "dead": 4, "cuts": 2, "outside": 1}


@pytest.mark.parametrize("name", RANGES)
def test_narrowed_ranges_hold_all_thresholds_at_the_same_cost(name: str) -> None:
    X, y = sample()
    forest = RANGES[name](domain=DOMAIN, max_depth=4, epsilon=0.7, random_state=0).fit(X, y)
    outside = sum(dead_splits(tree, DOMAIN)["outside"] for tree in forest.trees_)
    assert (outside == 0) == name.endswith("narrowed")
    assert forest.ledger_.epsilon == (math.inf if name.startswith("as written") else pytest.approx(0.7))
    assert forest.ledger_.claimed == 0.7
