"""eDPRF: repaired and as written, its ablations, and the forest of random splits."""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dpaudit import families
from dpaudit.pairs import DOMAIN as TINY
from dpnb import Categorical, Continuous, Domain, PrivacyLeakWarning, load
from dpnb.papers import edprf
from dpnb.papers.baselines_forest import RandomSplitForest
from dpnb.papers.edprf import ABLATIONS, EDPRF, BuildTree, Stop, default_trees, level_shares
from dpnb.privacy.curator import Curator
from dpnb.privacy.laws import PermuteAndFlip
from dpnb.privacy.ledger import TreeScope
from dpnb.records.bags import parts_bound
from dpnb.records.grid import public_grid
from dpnb.records.splits import BINNED, MULTIWAY, ONE_VS_REST, THRESHOLD
from dpnb.replay import replay
from mixed import MIXED as DOMAIN
from mixed import sample
from private_trees.auditing.fixed import white_box
from private_trees.studies.runs import mean_scores

RATES: dict[str, float] = {"bernoulli": 0.3, "cover": 2}
PER_RECORD = ["disjoint", "cover", "full", "poisson", "bernoulli"]
ONE_LABEL = "one-label stop, tested without noise (Algorithm 5)"
NODE_BINS = "edges of bins made from the data of a node (Algorithm 5)"
VARIANTS: list[dict[str, Any]] = [
    {},
    {"stop": "depth", "levels": "harmonic"},
    {"levels": "geometric", "leaf": "label", "selection": "exponential"},
    {"splits": "multiway", "reuse": False, "levels": "harmonic"},
    {"splits": "multiway", "leaf": "label", "monotone_rate": False, "max_features": 1},
    {"utility": "gini_normalised", "max_features": 2, "reuse": False},
]
PURE, *_ = families()


def fitted(**parameters: Any) -> EDPRF:
    settings: dict[str, Any] = {"domain": DOMAIN, "n_trees": 4, "max_depth": 3, "random_state": 0}
    return EDPRF(**(settings | parameters)).fit(*sample())


def tree_scopes(forest: Any) -> list[TreeScope]:
    return [bag.children[0] for bag in forest.ledger_.root.children[0].children]


def spent_on_paths(forest: Any) -> list[np.ndarray]:
    """Pure ε of the path to each leaf, tree by tree."""
    return [
        scope.path_costs()[0][tree.first_child < 0]
        for scope, tree in zip(tree_scopes(forest), forest.trees_, strict=True)
    ]


# --- Budget -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", edprf.CHOICES["levels"])
def test_level_shares_sum_to_one_and_never_fall(rule: str) -> None:
    for n in range(1, 9):
        shares = level_shares(n, rule)
        assert shares.sum() == pytest.approx(1)
        assert (np.diff(shares) >= -1e-15).all()


def test_harmonic_shares_are_equation_9() -> None:
    np.testing.assert_allclose(level_shares(4, "harmonic"), [0.12, 0.16, 0.24, 0.48])
    np.testing.assert_allclose(level_shares(5, "harmonic"), [0.088, 0.109, 0.146, 0.219, 0.438], atol=5e-4)


def figure_3(**parameters: Any) -> EDPRF:
    """Depth 3: a root A, a branch node B with leaves D and E, and a leaf C on the level of B."""
    domain = Domain((Categorical("p", (0, 1)), Categorical("q", (0, 1))), (0, 1))
    X = pd.DataFrame({"p": [0] * 40 + [1] * 80, "q": [0] * 40 + [0, 1] * 40})
    y = [0] * 40 + [0, 1] * 40
    forest = EDPRF.as_written(
        epsilon=1.0, domain=domain, n_trees=1, max_depth=2, max_features=1, bags="full", **parameters
    )
    for seed in range(100):  # until A is split on p and B on q
        tree: EDPRF = clone(forest).set_params(random_state=seed).fit(X, y)
        if tree.trees_[0].splits.attribute.tolist() == [0, -1, 1, -1, -1]:
            return tree
    raise AssertionError("no tree of the figure's shape")


def test_figure_3_worked_example() -> None:
    """The paper's numbers: .18 and .27 for the branch nodes, .82 for the early leaf, .55 for the last level."""
    forest = figure_3()
    own = np.zeros(5)
    for event in forest.ledger_.events:
        if event.mechanism != "exact":
            assert event.parts is not None
            np.add.at(own, event.parts, event.epsilon)
    np.testing.assert_allclose(own, np.array([2, 9, 3, 6, 6]) / 11)
    np.testing.assert_array_equal(own.round(2), [0.18, 0.82, 0.27, 0.55, 0.55])


def test_without_alignment_the_early_leaf_wastes_its_rest() -> None:
    """Broken twin of the worked example."""
    spent = [e.worst.epsilon for e in figure_3(align=False).ledger_.events if e.mechanism != "exact"]
    np.testing.assert_allclose(sorted(spent), np.array([2, 3, 3, 6]) / 11)


@pytest.mark.parametrize("levels", edprf.CHOICES["levels"])
def test_alignment_changes_nothing_if_all_leaves_are_at_the_last_level(levels: str) -> None:
    aligned = fitted(stop="depth", levels=levels)
    not_aligned = fitted(stop="depth", levels=levels, align=False)
    np.testing.assert_array_equal(white_box(aligned), white_box(not_aligned))
    assert str(aligned.ledger_) == str(not_aligned.ledger_)
    early = fitted(levels=levels), fitted(levels=levels, align=False)
    assert str(early[0].ledger_) != str(early[1].ledger_)


@pytest.mark.parametrize("mode", PER_RECORD)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_path_spends_exactly_its_trees_budget(variant: dict[str, Any], mode: str) -> None:
    forest = fitted(bags=mode, bag_rate=RATES.get(mode), **variant)
    tree_budget = {"cover": 1 / 2, "full": 1 / 4}.get(mode, 1.0)
    if mode == "poisson":
        tree_budget = math.log1p(1 / 4)
    if mode == "bernoulli":
        tree_budget = math.log1p(math.expm1(1 / 4) / 0.3)
    for spent in spent_on_paths(forest):
        np.testing.assert_allclose(spent, tree_budget, rtol=1e-12)


def test_paths_without_alignment_spend_less() -> None:
    """Broken twin: some path of some tree has an early leaf."""
    spent = np.concatenate(spent_on_paths(fitted(align=False)))
    assert spent.min() < 0.9
    assert spent.max() <= 1 + 1e-12


@pytest.mark.parametrize("mode", PER_RECORD)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_the_repaired_ledger_equals_epsilon(mode: str, neighbours: str, epsilon: float) -> None:
    forest = fitted(bags=mode, bag_rate=RATES.get(mode), neighbours=neighbours, epsilon=epsilon)
    assert forest.ledger_.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert forest.ledger_.claimed == epsilon
    assert forest.ledger_.leaks == {}


def test_number_of_trees_follows_from_the_budget_unless_given() -> None:
    assert [len(fitted(n_trees=None, epsilon=e).trees_) for e in (0.01, 1.0, math.inf)] == [1, 3, 10]
    assert default_trees(0.5) == 2


# --- As written ---------------------------------------------------------------------------------------------


def test_as_written_claims_b_and_totals_infinity() -> None:
    X, y = sample()
    forest = EDPRF.as_written(epsilon=0.7, domain=DOMAIN, random_state=0).fit(X, y)
    assert forest.ledger_.claimed == 0.7
    assert forest.ledger_.epsilon == math.inf
    assert sorted(forest.ledger_.leaks) == [NODE_BINS, ONE_LABEL]
    assert len(forest.trees_) == 5


def test_each_leak_is_repaired_by_its_own_keyword() -> None:
    X, y = sample()

    def ledger(**repairs: Any) -> Any:
        return EDPRF.as_written(epsilon=0.7, domain=DOMAIN, random_state=0, **repairs).fit(X, y).ledger_

    assert list(ledger(stop="depth").leaks) == [NODE_BINS]
    assert list(ledger(bins="public").leaks) == [ONE_LABEL]
    parts = ledger(stop="depth", bins="public")
    assert parts.leaks == {}
    assert parts.epsilon == pytest.approx(parts_bound(0.7, 5))
    assert 0.7 < parts.epsilon < 3 * 0.7
    assert "one more record moves another" in str(parts)
    assert ledger(stop="depth", bins="public", bags="disjoint").epsilon == pytest.approx(0.7)


def test_bins_of_a_node_leak_even_if_another_attribute_is_chosen() -> None:
    X = pd.DataFrame({"x": np.zeros(60), "c": ["a", "b"] * 30, "z": np.zeros(60), "g": [0] * 60})

    def tree(domain: Domain, bins: str) -> EDPRF:
        forest = EDPRF.as_written(
            epsilon=50.0, domain=domain, n_trees=1, max_depth=1, stop="depth", bins=bins, random_state=0
        ).fit(X[list(domain.names)], ["no", "yes"] * 30)
        assert domain.names[forest.trees_[0].splits.attribute[0]] == "c"
        return forest

    assert tree(DOMAIN, "node-width").ledger_.leaks == {NODE_BINS: 1}
    assert tree(DOMAIN, "public").ledger_.leaks == {}
    assert tree(DOMAIN.subset(["c", "g"]), "node-width").ledger_.leaks == {}  # broken twin: nothing to bin


def test_pure_data_do_not_change_the_shape_of_trees_that_stop_at_full_depth() -> None:
    X, _ = sample(50)
    pure = pd.Series(["no"] * 50)
    repaired = EDPRF(domain=DOMAIN, max_depth=4, stop="depth", random_state=0).fit(X, pure)
    assert all(tree.n_leaves == 2**4 for tree in repaired.trees_)
    written = EDPRF.as_written(domain=DOMAIN, random_state=0).fit(X, pure)
    assert all(tree.n_nodes == 1 for tree in written.trees_)  # broken twin


@pytest.mark.parametrize("bins", edprf.CHOICES["bins"])
def test_multiway_splits_use_each_attribute_once_a_path(bins: str) -> None:
    X, y = sample()
    tree = EDPRF.as_written(
        epsilon=np.inf, domain=DOMAIN, n_trees=1, max_depth=5, bins=bins, n_bins=3, stop="depth", bags="full",
        random_state=0,
    ).fit(X, y).trees_[0]  # fmt: skip
    assert set(tree.splits.kind) == {-1, MULTIWAY, BINNED}
    children = tree.splits.n_branches(DOMAIN.cardinalities)
    assert set(children[tree.splits.kind == BINNED]) == {3}
    used = [frozenset[int]()]
    for node in range(tree.n_nodes):
        attribute = int(tree.splits.attribute[node])
        assert attribute not in used[node]
        used += [used[node] | {attribute}] * int(children[node])
    assert tree.depth.max() == 4  # all attributes are used up above full depth


@pytest.mark.parametrize("bins", edprf.CHOICES["bins"])
def test_training_and_prediction_agree_on_bins(bins: str) -> None:
    """At ε = ∞ leaf counts are those of the training records routed by the finished tree."""
    X, y = sample()
    tree = EDPRF.as_written(
        epsilon=np.inf, domain=DOMAIN, n_trees=1, bins=bins, leaf="counts", bags="full", random_state=0
    ).fit(X, y).trees_[0]  # fmt: skip
    counted = np.zeros_like(tree.value)
    np.add.at(counted, (tree.apply(DOMAIN.encode(X)), DOMAIN.encode_labels(y)), 1)
    leaf = tree.first_child < 0
    np.testing.assert_array_equal(tree.value[leaf], counted[leaf])


@pytest.mark.parametrize(
    ("bins", "expected"), [("public", 7.5), ("node-width", 50.0), ("node-quantile", 2.0)]
)
def test_bins_of_a_node(bins: str, expected: float) -> None:
    domain = Domain((Continuous("x", -5, 20),), (0, 1)) if bins == "public" else None
    X = pd.DataFrame({"x": [0.0, 1, 2, 3, 10] if bins == "public" else [0.0, 1, 2, 3, 100]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        tree = EDPRF.as_written(
            domain=domain, n_trees=1, max_depth=1, n_bins=2, bins=bins, bags="full", random_state=0
        ).fit(X, [0, 1, 0, 1, 1]).trees_[0]  # fmt: skip
    assert tree.splits.cut[0, 0] == expected


def test_text_and_picture_of_a_binned_tree() -> None:
    import matplotlib.pyplot as plt

    X, y = sample()
    forest = EDPRF.as_written(
        domain=DOMAIN.subset(["x"]), n_trees=1, max_depth=1, bins="public", random_state=0
    ).fit(X[["x"]], y)
    lines = forest.trees_[0].export_text(DOMAIN.subset(["x"])).splitlines()
    assert [line.split(" → ")[0] for line in lines] == [
        "|-- x ≤ 0", "|-- 0 < x ≤ 5", "|-- 5 < x ≤ 10", "|-- 10 < x ≤ 15", "|-- x > 15",
    ]  # fmt: skip
    figure, ax = plt.subplots()
    forest.trees_[0].plot(DOMAIN.subset(["x"]), ax=ax)
    assert {"5 < x ≤ 10", "x > 15", "x"} <= {t.get_text() for t in ax.texts}
    plt.close(figure)


def test_labels_beat_laplace_counts_at_the_monotone_rate_only() -> None:
    """Two classes, gap g, x = εg: a wrong label has ½ e^(−x/2) at the paper's rate, ½ e^(−x) at the monotone one.

    The larger of two counts with Laplace noise 1/ε is wrong with ½ e^(−x) (1 + x/2), in between for all x > 0.
    """
    noise = np.random.default_rng(0).laplace(size=(2, 400_000))
    for x in (0.1, 0.5, 1.0, 2.0, 4.0):
        paper, monotone = (
            PermuteAndFlip(np.array([0.0, -x]), np.array([0]), np.array(rate)).probabilities()[1]
            for rate in (0.5, 1.0)
        )
        assert (paper, monotone) == pytest.approx((math.exp(-x / 2) / 2, math.exp(-x) / 2))
        laplace = math.exp(-x) * (1 + x / 2) / 2
        assert np.mean(noise[0] - noise[1] > x) == pytest.approx(laplace, abs=0.004)
        assert monotone < laplace < paper


@pytest.mark.parametrize("name", ABLATIONS)
def test_ablations_use_the_mechanisms_that_they_name(name: str) -> None:
    X, y = sample()
    forest = EDPRF.as_written(domain=DOMAIN, random_state=0, **ABLATIONS[name]).fit(X, y)
    used = {(e.what.split()[0], e.mechanism) for e in forest.ledger_.events if e.mechanism != "exact"}
    split = "permute-and-flip" if name in ("all", "tradition_spl_imp") else "exponential"
    label = name in ("all", "tradition_leaf_imp")
    assert used == {("split", split), ("label", "permute-and-flip") if label else ("class", "laplace")}
    spent = np.concatenate([s[np.isfinite(s)] for s in spent_on_paths(clone(forest).set_params(
        stop="depth", bins="public", max_depth=2).fit(X, y))])  # fmt: skip
    np.testing.assert_allclose(spent, 1.0)
    private = EDPRF(domain=DOMAIN, random_state=0, **ABLATIONS[name]).fit(X, y)
    assert private.ledger_.epsilon <= 1 + 1e-12
    assert private.ledger_.leaks == {}


# --- Audit --------------------------------------------------------------------------------------------------


def test_replay_catches_levels_that_each_spend_the_whole_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: budgets of a path that do not add up to the tree's."""
    forest = EDPRF(domain=TINY, n_trees=1, max_depth=2, stop="depth", bags="full")

    def worst() -> float:
        pairs = [(p.first, p.second) for p in families()]
        return max(replay(forest, *pair, seed=s).lower_bound for s in range(8) for pair in pairs)

    assert worst() <= 1
    monkeypatch.setattr(edprf, "level_shares", lambda n, rule: np.ones(n))
    assert worst() > 1.2


def test_the_sensitivity_of_a_split_is_not_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """One record of another class makes thirty attributes worse by nearly 2, and one not at all."""
    names = [f"a{i}" for i in range(30)]
    domain = Domain(tuple(Categorical(name, (0, 1)) for name in names), (0, 1), "y")
    X, y = pd.DataFrame(0, index=range(41), columns=names), pd.Series([0] * 40 + [1])
    X.loc[40, "a3"] = 1
    large, small = (X, y), (X[:40], y[:40])
    forest = EDPRF(domain=domain, epsilon=2.0, n_trees=1, max_depth=1, stop="depth", bags="full")

    def worst() -> float:
        return max(replay(forest, large, small, seed=s).lower_bound for s in range(30))

    assert 1.7 < worst() <= 2
    monkeypatch.setattr(edprf, "SPLIT_SENSITIVITY", 1.0)  # broken twin
    assert worst() > 2.5


def test_replay_names_the_one_label_stop() -> None:
    forest = EDPRF.as_written(domain=TINY, n_trees=3, max_depth=2, bins="public", bags="disjoint")
    for sides in ((PURE.first, PURE.second), (PURE.second, PURE.first)):
        found = replay(forest, *sides)
        assert math.isinf(found.lower_bound)
        assert ONE_LABEL in found.event
        assert found.place.endswith(" stops")


@pytest.mark.parametrize("bins", ["node-width", "node-quantile"])
def test_replay_names_bins_made_from_data(bins: str) -> None:
    pair = next(p for p in families() if "end of the domain" in p.name)
    forest = EDPRF.as_written(
        domain=TINY, n_trees=2, max_depth=2, stop="depth", bags="disjoint", bins=bins, n_bins=3
    )
    worst = max(
        (replay(forest, pair.second, pair.first, seed=s) for s in range(10)), key=lambda f: f.lower_bound
    )
    assert math.isinf(worst.lower_bound)
    assert NODE_BINS in worst.event
    public = clone(forest).set_params(bins="public")
    assert max(replay(public, pair.second, pair.first, seed=s).lower_bound for s in range(10)) <= 1


def test_replay_of_parts_is_given_the_bags() -> None:
    found = replay(EDPRF(domain=TINY, n_trees=2, bags="parts"), PURE.first, PURE.second)
    assert "parts of equal size" in found.event
    assert found.given == "the bags"


# --- Behaviour ----------------------------------------------------------------------------------------------


def test_exact_forest_is_greedy() -> None:
    """ε = ∞, one tree: the root split is the best of the public grid by brute force."""
    X, y = sample(80)
    tree = EDPRF(
        domain=DOMAIN, epsilon=np.inf, n_trees=1, max_depth=1, bags="full", stop="depth", random_state=0
    ).fit(X, y).trees_[0]  # fmt: skip
    codes, labels = DOMAIN.encode(X), DOMAIN.encode_labels(y)

    def gini(first: np.ndarray) -> float:
        total = 0.0
        for side in (first, ~first):
            p = labels[side].mean() if side.any() else 0.0
            total += side.sum() * 2 * p * (1 - p)
        return total

    grid = public_grid(DOMAIN)
    best = min(
        gini(codes[:, a] <= cut if kind == THRESHOLD else codes[:, a] == cut)
        for kind, a, cut in zip(grid.kind, grid.attribute, grid.cut, strict=True)
    )
    assert gini(tree.apply(codes) == 1) == pytest.approx(best)
    np.testing.assert_array_equal(tree.value[1:].sum(axis=0), np.bincount(labels))


def test_splits_lie_on_the_public_grid() -> None:
    grid = public_grid(DOMAIN)
    public = set(zip(grid.kind, grid.attribute, grid.cut, strict=True))
    for tree in fitted(epsilon=0.1, n_trees=20, max_depth=4).trees_:
        inner = tree.first_child >= 0
        assert set(zip(*(field[inner] for field in tree.splits), strict=True)) <= public


def test_noisy_counts_are_combined_by_inverse_variance() -> None:
    """Root of depth 0 never asks; an early root leaf has both counts: their mean beats each."""
    X, _ = sample(400)
    pure = pd.Series(["no"] * 400)
    errors = []
    for seed in range(300):
        tree = EDPRF(
            domain=DOMAIN, n_trees=1, max_depth=1, epsilon=0.2, stop_share=0.6, bags="full", random_state=seed
        ).fit(X, pure).trees_[0]  # fmt: skip
        if tree.n_nodes == 1:
            errors.append(tree.value[0] - [400, 0])
    shares = np.array([0.3, 0.7]) * 0.2
    assert len(errors) > 100
    # Stopping favours small counts of "yes", so only the error of "no" is free of selection.
    assert np.std(np.array(errors)[:, 0]) == pytest.approx(math.sqrt(2 / (shares**2).sum()), rel=0.2)
    assert np.std(np.array(errors)[:, 0]) < math.sqrt(2) / shares.max()


def test_adding_a_record_moves_no_other_record_unless_parts_are_equal() -> None:
    X, y = sample(120)

    def moved(bags: str) -> list[float]:
        forest = EDPRF(domain=DOMAIN, bags=bags, n_trees=6, random_state=5, epsilon=np.inf, max_depth=0)
        whole, rest = forest.fit(X, y).trees_, clone(forest).fit(X.drop(index=17), y.drop(index=17)).trees_
        return sorted(float(np.abs(a.value - b.value).sum()) for a, b in zip(whole, rest, strict=True))

    assert moved("disjoint") == [0, 0, 0, 0, 0, 1]
    assert moved("parts") != [0, 0, 0, 0, 0, 1]  # broken twin


def test_attributes_of_a_single_value_are_never_split_on() -> None:
    domain = Domain((Categorical("one", (0,)), Categorical("two", (0, 1))), (0, 1))
    X, y = pd.DataFrame({"one": [0] * 40, "two": [0, 1] * 20}), [0, 1] * 20
    forest = EDPRF(domain=domain, n_trees=30, max_depth=2, max_features=1, stop="depth", random_state=0).fit(
        X, y
    )
    chosen = np.concatenate([tree.splits.attribute for tree in forest.trees_])
    assert set(chosen) == {-1, 1}
    assert forest.ledger_.epsilon == pytest.approx(1.0)


# --- Random splits ------------------------------------------------------------------------------------------


def test_random_thresholds_lie_in_their_nodes_part_of_the_domain() -> None:
    X, y = sample(30)
    forest = RandomSplitForest(domain=DOMAIN, n_trees=20, max_depth=6, random_state=0).fit(X, y)
    kinds = set()
    for tree in forest.trees_:
        boxes = [(DOMAIN.lows, DOMAIN.highs)]
        for node in range(tree.n_nodes):
            kind, a, cut = (field[node] for field in tree.splits)
            low, high = boxes[node]
            kinds.add(int(kind))
            if kind == THRESHOLD:
                assert low[a] <= cut <= high[a]
                below, above = high.copy(), low.copy()
                below[a] = above[a] = cut
                boxes += [(low, below), (above, high)]
            elif kind == ONE_VS_REST:
                assert cut in range(DOMAIN.cardinalities[a])
                boxes += [(low, high)] * 2
    assert {THRESHOLD, ONE_VS_REST} <= kinds


def test_replay_of_random_splits_is_tight_and_catches_a_doubled_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A label of one record, and of that record and one of the other class."""
    forest = RandomSplitForest(domain=TINY, n_trees=1, max_depth=0, epsilon=2.0)
    X = pd.DataFrame({"x": [0.5, 0.5], "c": [0, 0]})
    y = pd.Series([0, 1])
    one, two = (X[:1], y[:1]), (X, y)

    def worst() -> float:
        return max(replay(forest, two, one, seed=s).lower_bound for s in range(20))

    assert worst() == pytest.approx(2.0)
    law = Curator.permute_and_flip

    def doubled(self: Any, *arguments: Any, epsilon: Any, **how: Any) -> Any:
        return law(self, *arguments, epsilon=2 * epsilon, **how)

    monkeypatch.setattr(Curator, "permute_and_flip", doubled)
    assert worst() == pytest.approx(4.0)


# --- Real data ----------------------------------------------------------------------------------------------


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("epsilon", "accuracy"), [(0.1, 0.7905), (0.5, 0.8219), (1.0, 0.8217), (5.0, 0.8230)]
)
def test_adult_above_the_measured_rivals(epsilon: float, accuracy: float) -> None:
    """Accuracy of PrivaTree, AUC of diffprivlib's forest; each is the better of the two there."""
    data = load("adult")
    scores = mean_scores(EDPRF(domain=data.domain, epsilon=epsilon), data, repeats=5, seed=0)
    assert scores["accuracy"] > accuracy
    assert scores["auc"] > 0.764


def test_two_noisy_counts_of_a_leaf_weigh_by_their_variances(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variances are as 1/ε²: three times the budget weighs nine times as much."""
    monkeypatch.setattr(edprf, "leaf_counts", lambda *_, **__: np.array([[10.0, 0.0]]))
    builder: Any = SimpleNamespace(domain=DOMAIN, nodes=np.array([0]))
    doors: dict[str, Any] = {"curator": None, "builder": builder, "binned": None, "per_copy": 1.0}
    stop = Stop(np.array([True]), np.array([[0.0, 5.0]]), 0.25)
    leaf = BuildTree(EDPRF(), **doors).build_leaf(np.zeros((1, 2)), stop, 0.75)
    np.testing.assert_allclose(leaf, [[9.0, 0.5]])
