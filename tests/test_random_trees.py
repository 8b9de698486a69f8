"""Trees whose splits read no data: what they read, what noise they add, and how deep they grow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpnb import Categorical, Continuous, Domain
from dpnb.papers.baselines_forest import RandomSplitForest, RandomTrees, balanced_depth
from dpnb.papers.diffprfs import DiffPRFs

DOMAIN = Domain((Continuous("x", 0, 1), Categorical("c", ("a", "b", "d"))), (0, 1))


def sample(seed: int, n: int = 200) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"x": rng.random(n) ** 2, "c": rng.choice(["a", "b", "d"], n)})
    return X, pd.Series((X["x"] > 0.2).astype(int))


def splits_of(kind: type, data: tuple[pd.DataFrame, pd.Series], epsilon: float) -> list[bytes]:
    """Attributes and thresholds of a small forest."""
    forest = kind(domain=DOMAIN, n_trees=3, max_depth=4, epsilon=epsilon, random_state=5).fit(*data)
    return [tree.splits.attribute.tobytes() + tree.splits.cut.tobytes() for tree in forest.trees_]


@pytest.mark.parametrize("kind", [RandomTrees, RandomSplitForest])
def test_no_split_depends_on_the_data_or_the_budget(kind: type) -> None:
    assert splits_of(kind, sample(0), 100.0) == splits_of(kind, sample(1, n=50), 1.0)
    assert splits_of(DiffPRFs, sample(0), 100.0) != splits_of(DiffPRFs, sample(1), 100.0)  # broken twin


def test_without_privacy_the_leaves_hold_the_class_counts() -> None:
    X, y = sample(2)
    (tree,) = (
        RandomTrees(domain=DOMAIN, n_trees=1, max_depth=3, epsilon=np.inf, random_state=0).fit(X, y).trees_
    )
    at = tree.apply(DOMAIN.encode(X))
    for leaf in np.unique(at):
        assert tree.value[leaf].tolist() == np.bincount(y[at == leaf], minlength=2).tolist()


def test_the_noise_of_a_leaf_has_scale_t_over_epsilon() -> None:
    X, y = sample(3)
    noise = []
    for seed in range(20):
        forest = RandomTrees(domain=DOMAIN, n_trees=5, max_depth=4, epsilon=0.5, random_state=seed).fit(X, y)
        for tree in forest.trees_:
            at = tree.apply(DOMAIN.encode(X))
            leaves = np.flatnonzero(tree.first_child < 0)
            exact = [np.bincount(y[at == leaf], minlength=2) for leaf in leaves]
            noise += (tree.value[leaves] - exact).ravel().tolist()
    scale = np.mean(np.abs(noise))  # of Laplace: the mean of |noise|, whose standard deviation is the scale
    assert abs(scale - 10) < 4 * 10 / np.sqrt(len(noise))
    assert abs(scale - 2) > 4 * 10 / np.sqrt(
        len(noise)
    )  # broken twin: 1/ε, as if records were in one tree each
    assert forest.ledger_.epsilon == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("n", "epsilon", "n_trees", "depth"),
    [(30_000, 1.0, 25, 10), (30_000, 0.1, 25, 6), (30_000, 1.0, 100, 8), (10, 0.1, 25, 0)],
)
def test_depth_from_public_numbers(n: int, epsilon: float, n_trees: int, depth: int) -> None:
    """At this depth a leaf holds at least as many records as the scale of its noise, one level further fewer."""
    assert balanced_depth(n, epsilon=epsilon, n_trees=n_trees) == depth
    assert n / 2 ** (depth + 1) < n_trees / epsilon
    assert depth == 0 or n / 2**depth >= n_trees / epsilon
