"""DiffPRFs: repaired and as written, on small data and on Adult's schema."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpnb import Categorical, Continuous, Domain, DomainError, PrivacyLeakWarning
from dpnb.papers.diffprfs import CHOICES, DiffPRFs
from dpnb.records.bags import MODES
from dpnb.records.splits import LEAF, MULTIWAY, ONE_VS_REST, THRESHOLD

DOMAIN = Domain(
    (
        Continuous("x", -5, 20),
        Categorical("c", ("a", "b", "d")),
        Continuous("z", -1, 1),
        Categorical("g", (0, 1)),
    ),
    ("no", "yes"),
)
RATES = {"bernoulli": 0.3, "cover": 2}
PER_RECORD = [m for m in MODES if m != "bootstrap"]


def sample(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.uniform(0, 10, n),
            "c": rng.choice(["a", "b", "d"], n),
            "z": rng.uniform(-1, 1, n),
            "g": rng.integers(0, 2, n),
        }
    )
    return frame, pd.Series(np.where((frame["x"] > 4) & (frame["c"] != "a"), "yes", "no"), name="class")


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


def test_adding_a_record_moves_no_other_records_bag_or_tree() -> None:
    X, y = sample(120)
    bags = DiffPRFs(domain=DOMAIN, bags="disjoint", n_trees=6, random_state=5, epsilon=np.inf, max_depth=0)
    whole, rest = bags.fit(X, y).trees_, clone(bags).fit(X.drop(index=17), y.drop(index=17)).trees_
    moved = [np.abs(a.value - b.value).sum() for a, b in zip(whole, rest, strict=True)]
    assert sorted(moved) == [0, 0, 0, 0, 0, 1]


def test_same_seed_same_forest_and_rows_in_any_order() -> None:
    X, y = sample()
    order = np.random.default_rng(0).permutation(len(X))
    a = fitted()
    b = clone(a).fit(X.iloc[order], y.iloc[order])
    for left, right in zip(a.trees_, b.trees_, strict=True):
        np.testing.assert_array_equal(left.value, right.value)
    assert not np.array_equal(
        a.trees_[0].value, clone(a).set_params(random_state=1).fit(X, y).trees_[0].value
    )


def test_noise_and_accuracy_respond_to_epsilon() -> None:
    X, y = sample(2000)
    accuracy = [
        np.mean(
            [
                DiffPRFs(domain=DOMAIN, epsilon=e, utility="gini", random_state=s).fit(X, y).score(X, y)
                for s in range(4)
            ]
        )
        for e in (0.001, 1.0, np.inf)
    ]
    assert accuracy[0] < accuracy[1] - 0.05
    assert accuracy[2] > 0.9


@pytest.mark.parametrize(
    "reading",
    [
        {"budget_flow": "shrinking"},
        {"categorical": "one-vs-rest"},
        {"max_features": "all"},
        {"thresholds": "midpoint"},
        {"thresholds": "data"},
        {"bounds": "data"},
        {"gain_sensitivity": "log-classes"},
        {"vote": "probability"},
        {"stop": "noisy"},
        {"utility": "max"},
    ],
)
def test_every_reading_fits_and_predicts(reading: dict[str, object]) -> None:
    X, y = sample()
    forest = DiffPRFs.as_written(domain=DOMAIN, n_trees=4, max_depth=3, random_state=0, **reading).fit(X, y)
    p = forest.predict_proba(X)
    assert p.shape == (300, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert set(forest.predict(X)) <= {"no", "yes"}


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


def test_text_and_picture_of_a_tree() -> None:
    import matplotlib.pyplot as plt

    forest = fitted(max_depth=2)
    text = forest.trees_[0].export_text(DOMAIN)
    assert text.count("→") == 4
    assert "yes: " in text
    assert "deeper" in forest.trees_[0].export_text(DOMAIN, max_depth=1)
    figure, ax = plt.subplots()
    forest.trees_[0].plot(DOMAIN, ax=ax)
    labels = [t.get_text() for t in ax.texts]
    assert sum("no: " in t for t in labels) == 4
    plt.close(figure)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": -1.0}, "epsilon=-1.0"),
        ({"epsilon": float("nan")}, "epsilon=nan"),
        ({"epsilon": "1"}, "epsilon='1'"),
        ({"n_trees": 0}, "n_trees=0"),
        ({"max_depth": -1}, "max_depth=-1"),
        ({"max_depth": 2.5}, "max_depth=2.5"),
        ({"max_features": 0}, "max_features=0"),
        ({"utility": "entropy"}, "utility='entropy'"),
        ({"bags": "bagging"}, "bags='bagging'"),
        ({"bags": "cover"}, "bag_rate=None"),
        ({"neighbours": "swap"}, "neighbours='swap'"),
        ({"stop": "noisy"}, "size_query=True"),
        ({"categorical": "multiway"}, "selection='joint'"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(**parameters)


def test_bad_input() -> None:
    X, y = sample(30)
    forest = DiffPRFs(domain=DOMAIN, n_trees=2, random_state=0, strict=True)
    with pytest.raises(DomainError, match=r"c.*1 .*'e'"):
        forest.fit(X.assign(c=["e"] + ["a"] * 29), y)
    with pytest.raises(DomainError, match=r"outside \[-5, 20\] in 1 of 30 records: 99;"):
        forest.fit(X.assign(x=[99.0] + [1.0] * 29), y)
    with pytest.raises(DomainError, match="NaN in 1 of 30"):
        forest.fit(X.assign(x=[np.nan] + [1.0] * 29), y)
    with pytest.raises(DomainError, match="maybe"):
        forest.fit(X, ["maybe"] * 30)
    with pytest.raises(ValueError, match="30 records, y has 29 labels"):
        forest.fit(X, y[:29])
    with pytest.raises(DomainError, match="lacks the columns 'z'"):
        forest.fit(X.drop(columns="z"), y)
    with pytest.warns(PrivacyLeakWarning), pytest.raises(DomainError, match="two classes"):
        DiffPRFs(random_state=0).fit(X, ["no"] * 30)
    forest.fit(X, y)
    with pytest.raises(DomainError, match="'e'"):
        forest.predict(X.assign(c="e"))
    with pytest.raises(DomainError, match=r"outside \[-5, 20\]"):
        forest.predict(X.assign(x=1000.0))
    forest.strict = False
    with pytest.warns(UserWarning, match="x"):
        moved = forest.predict(X.assign(x=1000.0))
    assert (moved == forest.predict(X.assign(x=20.0))).all()  # routed like the bound


def test_nothing_is_fitted_when_input_is_bad() -> None:
    X, y = sample(30)
    forest = DiffPRFs(domain=DOMAIN, n_trees=2, random_state=0, strict=True)
    with pytest.raises(DomainError):
        forest.fit(X.assign(x=np.nan), y)
    assert not hasattr(forest, "trees_")
    with pytest.raises(ValueError, match="not fitted"):
        forest.predict(X)


def test_leaves_have_values_and_inner_nodes_have_none() -> None:
    for tree in fitted().trees_:
        leaf = tree.splits.kind == LEAF
        assert not np.isnan(tree.value[leaf]).any()
        assert np.isnan(tree.value[~leaf]).all()
        assert tree.n_nodes == 2**4 - 1
