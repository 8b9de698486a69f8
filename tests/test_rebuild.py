"""Rebuilding records from forests: exact on hand-made trees, and no better than the bound on private ones."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit

from dpnb import Categorical, Continuous, Domain
from dpnb.audit import rebuild as core
from dpnb.audit.rebuild import Told, cells_of, guess_bound, rebuild, share_right
from dpnb.book.studies import reconstruction as study
from dpnb.papers.baselines_forest import RandomTrees
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.edprf import EDPRF
from dpnb.splits import LEAF, ONE_VS_REST, Splits
from dpnb.trees import Tree

DOMAIN = Domain(tuple(Categorical(name, (0, 1)) for name in "abc"), (0, 1))
CELLS = cells_of(DOMAIN)
FLAT = np.full((8, 2), 1 / 16)
HALVES = Tree(  # a = 0 | a = 1
    Splits(np.array([ONE_VS_REST, LEAF, LEAF]), np.array([0, -1, -1]), np.array([0, np.nan, np.nan])),
    np.array([1, -1, -1]),
    np.array([0, 1, 1]),
    np.array([[np.nan, np.nan], [5.0, 1.0], [0.0, 2.0]]),
)
COLUMNS = core.Columns(np.array([0, 3, 4, 7]), np.array([0, 1, 1, 0]), np.zeros(4))  # a = 0, 0, 1, 1


def told(**changes: Any) -> Told:
    none = np.empty(0, int)
    reach = core.reach_of(HALVES, CELLS)
    one = Told(reach, np.array([1, 2]), HALVES.value[1:], np.array([0.5, 2.0]), none, np.zeros(2, bool))
    return one._replace(**changes)


def sample(n: int, seed: int = 0) -> np.ndarray:
    """Counts of n random records, (cells, classes)."""
    rng = np.random.default_rng(seed)
    return np.bincount(rng.integers(0, 16, n), minlength=16).reshape(8, 2)


def table(counts: np.ndarray) -> tuple[pd.DataFrame, pd.Series]:
    rows = core.Rebuilt(counts, 0.0).records(CELLS).astype(int)
    frame = pd.DataFrame(rows, columns=[*"abc", "y"])
    return frame[list("abc")], frame["y"]


def forest(kind: Any = RandomTrees, *, n: int = 14, **options: Any) -> Any:
    options = {"n_trees": 12, "max_depth": 4, "epsilon": np.inf} | options
    return kind(domain=DOMAIN, random_state=0, **options).fit(*table(sample(n)))


# --- What the trees tell -------------------------------------------------------------------------------------


def test_cells_are_all_records() -> None:
    assert_array_equal(CELLS, list(itertools.product((0, 1), repeat=3)))


def test_a_tree_is_followed_as_it_predicts() -> None:
    model = forest()
    for tree in model.trees_:
        reach = core.reach_of(tree, CELLS)
        assert_array_equal(reach[tree.splits.kind == LEAF].sum(axis=0), 1)
        assert reach[tree.apply(CELLS), np.arange(8)].all()
    assert_array_equal(core.reach_of(HALVES, CELLS)[1:], [CELLS[:, 0] == 0, CELLS[:, 0] == 1])


def test_rates_are_those_of_the_ledger() -> None:
    (one, *_) = core.told_by(forest(epsilon=6.0))
    np.testing.assert_allclose(one.rate, 0.5)
    (one, *_) = core.told_by(forest(DiffPRFs, epsilon=6.0, bags="full"))
    np.testing.assert_allclose(one.rate, 0.1)
    (one, *_) = core.told_by(forest(EDPRF, epsilon=6.0, stop="depth", leaf="label", monotone_rate=False))
    np.testing.assert_allclose(one.rate, 0.6)  # half of the 1.2 that a level gets
    (drawn, *_) = core.told_by(forest(DiffPRFs, epsilon=6.0, bags="bootstrap"))
    assert (drawn.rate < 0.1).all()  # the bag is noise too
    assert (core.told_by(forest())[0].rate == core.LARGEST_RATE).all()


def test_two_noisy_counts_of_a_leaf_count_by_their_variances() -> None:
    model = forest(EDPRF, n_trees=1, epsilon=5.0, stop="noisy")
    (one,) = core.told_by(model)
    early = model.trees_[0].depth[one.leaf] == 0
    assert early.all()
    np.testing.assert_allclose(one.rate, np.hypot(0.2, 4.8))


def test_only_exact_stops_tell_more_than_counts() -> None:
    written = core.told_by(forest(DiffPRFs.as_written, n_trees=3))
    assert any(len(one.split) for one in written)
    assert any(one.pure.any() for one in written)
    repaired = core.told_by(forest(EDPRF, n_trees=3))
    assert not any(len(one.split) or one.pure.any() for one in repaired)


# --- The program ---------------------------------------------------------------------------------------------


def purity_rows_of_counts() -> None:
    rows = core.count_rows(told(), COLUMNS)
    assert_array_equal(rows.records.toarray(), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    assert_array_equal(rows.slack.toarray(), np.hstack([np.eye(4), -np.eye(4)]))
    assert_array_equal(rows.low, [5, 1, 0, 2])
    assert_array_equal(rows.high, rows.low)
    assert_array_equal(rows.cost, [0.5, 0.5, 2, 2] * 2)


def purity_rows_of_labels() -> None:
    rows = core.label_rows(told(), COLUMNS)  # the labels are 0 and 1
    assert_array_equal(rows.records.toarray(), [[0, 0, 0, 0], [-1, 1, 0, 0], [0, 0, -1, 1], [0, 0, 0, 0]])
    assert_array_equal(rows.slack.toarray(), [[-1, 0], [-1, 0], [0, -1], [0, -1]])
    assert_array_equal(rows.high, 0)
    assert_array_equal(rows.cost, [0.5, 2])


@pytest.mark.parametrize("drawn", [False, True])
def purity_rows_of_tests_without_noise(drawn: bool) -> None:
    tested = told(split=np.array([0]), pure=np.array([True, False]))
    rows = core.purity_rows(tested, COLUMNS, n=4, drawn=drawn)
    assert_array_equal(rows.records.toarray(), [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    assert_array_equal(rows.slack.toarray(), [[0, 0, 0], [0, 0, 0], [-4, -1, 0], [4, 0, -1]])
    assert_array_equal(rows.low, [1, 1, -np.inf, -np.inf])
    assert_array_equal(rows.high, [np.inf, np.inf, 0, 4])
    assert_array_equal(rows.whole, [True, False, False])
    assert_array_equal(rows.most, [1, np.inf, np.inf] if drawn else [1, 0, 0])


def test_columns_are_the_likeliest_records_of_each_kind() -> None:
    prior = FLAT.copy()
    prior[0, 0] = 3 / 16
    columns = core.columns_for([told()], n=20, prior=prior)
    kind = 2 * CELLS[columns.cell, 0] + columns.label
    assert_array_equal(np.unique(kind), range(4))
    assert (columns.gain[kind == 0][:2] == np.log([3 / 16, 3 / 32])).all()
    assert np.bincount(kind.astype(int)).tolist() == [33 if k == 0 else 25 for k in range(4)]


# --- Rebuilding ----------------------------------------------------------------------------------------------


def test_exact_counts_rebuild_a_data_set_and_permuted_ones_another() -> None:
    truth, model = sample(14), forest()
    found = rebuild(model, n=14, prior=FLAT)
    assert_array_equal(found.counts, truth)
    assert found.gap < 1e-4
    for tree in model.trees_:
        tree.value[:] = tree.value[:, ::-1]  # broken twin
    assert_array_equal(rebuild(model, n=14, prior=FLAT).counts, truth[:, ::-1])
    assert (truth != truth[:, ::-1]).any()


def test_records_in_one_tree_each_are_rebuilt_tree_by_tree() -> None:
    model = forest(EDPRF, n_trees=2, stop="depth", max_depth=6)
    found = rebuild(model, n=14, prior=FLAT)
    assert found.counts.sum() == 14
    leaves = [tree.value[tree.splits.kind == LEAF] for tree in model.trees_]
    assert_array_equal(found.counts.sum(axis=0), sum(value.sum(axis=0) for value in leaves))


@pytest.mark.parametrize("make", [EDPRF.as_written, DiffPRFs.as_written])
def test_what_was_found_passes_the_tests_without_noise(make: Any) -> None:
    model = forest(make, n_trees=2, max_depth=2, n=30)
    found = rebuild(model, n=30, prior=FLAT)
    assert found.counts.sum() == 30
    root = core.reach_of(model.trees_[0], CELLS)[0]
    assert (found.counts[root].sum(axis=0) >= 1).all()


def test_without_a_budget_the_prior_decides() -> None:
    prior = np.full((8, 2), 1e-6)
    prior[3, 1], prior[5, 0] = 0.7, 0.3
    found = rebuild(forest(epsilon=1e-3), n=10, prior=prior)
    assert_array_equal(np.argwhere(found.counts), [[3, 1], [5, 0]])
    assert found.counts[3, 1] == 7
    told_more = rebuild(forest(), n=14, prior=prior)
    assert len(np.argwhere(told_more.counts)) > 2  # broken twin: a forest without noise decides


def test_misuse_is_told() -> None:
    numbers = Domain((Continuous("x", 0, 1),), (0, 1))
    with pytest.raises(ValueError, match="1 attributes, 0 of them categorical"):
        cells_of(numbers)
    with pytest.raises(ValueError, match="bags='bernoulli'"):
        core.told_by(SimpleNamespace(bags="bernoulli"))
    with pytest.raises(ValueError, match="expected equal ones"):
        share_right(np.zeros((2, 3)), np.zeros((3, 3)))


# --- Measures ------------------------------------------------------------------------------------------------


def purity_rows_are_matched_before_they_are_compared() -> None:
    truth = CELLS[[0, 3, 5]]
    assert share_right(truth[[2, 0, 1]], truth) == 1
    assert (truth[[2, 0, 1]] == truth).mean() < 1  # broken twin
    wrong = truth.copy()
    wrong[1, 0] = 1 - wrong[1, 0]
    assert share_right(wrong, truth) == pytest.approx(8 / 9)
    assert share_right(np.tile(truth[0], (3, 1)), truth) == pytest.approx(5 / 9)


def corners(epsilon: float, prior: float) -> float:
    """Largest success of a guess that calls 0 with probability a on one data set and b on the other."""
    grid = np.linspace(0, 1, 401)
    a, b = np.meshgrid(grid, grid)
    factor = np.exp(epsilon)
    private = (a <= factor * b) & (b <= factor * a) & (1 - a <= factor * (1 - b)) & (1 - b <= factor * (1 - a))
    return float((prior * a + (1 - prior) * (1 - b))[private].max())


@pytest.mark.parametrize(("epsilon", "prior"), itertools.product((0.0, 0.5, 1.0, 3.0), (0.5, 0.2, 0.9)))
def test_no_private_guess_beats_the_bound_and_the_best_attains_it(epsilon: float, prior: float) -> None:
    bound = guess_bound(epsilon, prior=prior)
    assert corners(epsilon, prior) <= bound + 1e-12
    assert corners(epsilon, prior) >= bound - 0.005
    if bound > max(prior, 1 - prior):
        assert corners(2 * epsilon, prior) > bound + 0.005  # broken twin
    assert guess_bound(np.inf) == 1
    assert guess_bound(1.0) == pytest.approx(expit(1.0))


# --- The study -----------------------------------------------------------------------------------------------
