"""Rebuilding records from forests: exact on hand-made trees, and no better than the bound on private ones."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from numpy.testing import assert_array_equal
from scipy.special import expit

from dpnb import Categorical, Continuous, Domain
from dpnb.papers.baselines_forest import RandomTrees
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.edprf import EDPRF
from dpnb.records.splits import LEAF, ONE_VS_REST, Splits
from dpnb.trees.tree import Tree
from private_trees.auditing.rebuild import (
    GAP,
    LARGEST_RATE,
    Kinds,
    Rebuilt,
    TreeReport,
    cells_of,
    count_rows,
    guess_bound,
    kinds_of,
    label_rows,
    purity_rows,
    reach_of,
    rebuild,
    records_for,
    reports_of,
    share_right,
    shared_out,
    stacked,
)
from private_trees.drawings import plots
from private_trees.drawings import rebuild as drawings_rebuild
from private_trees.site import figures
from private_trees.studies import reconstruction as study
from private_trees.studies.runs import KEYS, cells, read, wide

DOMAIN = Domain(tuple(Categorical(name, (0, 1)) for name in "abc"), (0, 1))
CELLS = cells_of(DOMAIN)
FLAT = np.full((8, 2), 1 / 16)
HALVES = Tree(  # a = 0 | a = 1
    Splits(np.array([ONE_VS_REST, LEAF, LEAF]), np.array([0, -1, -1]), np.array([0, np.nan, np.nan])),
    np.array([1, -1, -1]),
    np.array([0, 1, 1]),
    np.array([[np.nan, np.nan], [5.0, 1.0], [0.0, 2.0]]),
)
KINDS = Kinds(np.array([0, 3, 4, 7]), np.array([0, 1, 1, 0]), np.zeros((8, 2), int))  # a = 0, 0, 1, 1


def told(**changes: Any) -> TreeReport:
    none = np.empty(0, int)
    reach = reach_of(HALVES, CELLS)
    one = TreeReport(reach, np.array([1, 2]), HALVES.value[1:], np.array([0.5, 2.0]), none, np.zeros(2, bool))
    return one._replace(**changes)


def sample(n: int, seed: int = 0) -> np.ndarray:
    """Counts of n random records, (cells, classes)."""
    rng = np.random.default_rng(seed)
    return np.bincount(rng.integers(0, 16, n), minlength=16).reshape(8, 2)


def table(counts: np.ndarray) -> tuple[pd.DataFrame, pd.Series]:
    rows = Rebuilt(counts, 0.0).records(CELLS).astype(int)
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
        reach = reach_of(tree, CELLS)
        assert_array_equal(reach[tree.splits.kind == LEAF].sum(axis=0), 1)
        assert reach[tree.apply(CELLS), np.arange(8)].all()
    assert_array_equal(reach_of(HALVES, CELLS)[1:], [CELLS[:, 0] == 0, CELLS[:, 0] == 1])


def test_rates_are_those_of_the_ledger() -> None:
    (one, *_) = reports_of(forest(epsilon=6.0))
    np.testing.assert_allclose(one.rate, 0.5)
    (one, *_) = reports_of(forest(DiffPRFs, epsilon=6.0, bags="full"))
    np.testing.assert_allclose(one.rate, 0.1)
    (one, *_) = reports_of(forest(EDPRF, epsilon=6.0, stop="depth", leaf="label", monotone_rate=False))
    np.testing.assert_allclose(one.rate, 0.6)  # half of the 1.2 that a level gets
    (drawn, *_) = reports_of(forest(DiffPRFs, epsilon=6.0, bags="bootstrap"))
    assert (drawn.rate < 0.1).all()  # the bag is noise too
    assert (reports_of(forest())[0].rate == LARGEST_RATE).all()


def test_two_noisy_counts_of_a_leaf_count_by_their_variances() -> None:
    model = forest(EDPRF, n_trees=1, epsilon=5.0, stop="noisy")
    (one,) = reports_of(model)
    early = model.trees_[0].depth[one.leaf] == 0
    assert early.all()
    np.testing.assert_allclose(one.rate, np.hypot(0.2, 4.8))


def test_only_exact_stops_tell_more_than_counts() -> None:
    written = reports_of(forest(DiffPRFs.as_written, n_trees=3))
    assert any(len(one.split) for one in written)
    assert any(one.pure.any() for one in written)
    repaired = reports_of(forest(EDPRF, n_trees=3))
    assert not any(len(one.split) or one.pure.any() for one in repaired)


# --- The program ---------------------------------------------------------------------------------------------


def purity_rows_of_counts() -> None:
    rows = count_rows(told(), KINDS)
    assert_array_equal(rows.seen.toarray(), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    assert_array_equal(rows.slack.toarray(), np.hstack([np.eye(4), -np.eye(4)]))
    assert_array_equal(rows.low, [5, 1, 0, 2])
    assert_array_equal(rows.high, rows.low)
    assert_array_equal(rows.cost, [0.5, 0.5, 2, 2] * 2)


def purity_rows_of_labels() -> None:
    rows = label_rows(told(), KINDS)  # the labels are 0 and 1
    assert_array_equal(rows.seen.toarray(), [[0, 0, 0, 0], [-1, 1, 0, 0], [0, 0, -1, 1], [0, 0, 0, 0]])
    assert_array_equal(rows.slack.toarray(), [[-1, 0], [-1, 0], [0, -1], [0, -1]])
    assert_array_equal(rows.high, 0)
    assert_array_equal(rows.cost, [0.5, 2])


@pytest.mark.parametrize("drawn", [False, True])
def purity_rows_of_tests_without_noise(drawn: bool) -> None:
    tested = told(split=np.array([0]), pure=np.array([True, False]))
    rows = purity_rows(tested, KINDS, n=4, drawn=drawn)
    assert_array_equal(rows.seen.toarray(), [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    assert_array_equal(rows.slack.toarray(), [[0, 0, 0], [0, 0, 0], [-4, -1, 0], [4, 0, -1]])
    assert_array_equal(rows.low, [1, 1, -np.inf, -np.inf])
    assert_array_equal(rows.high, [np.inf, np.inf, 0, 4])
    assert_array_equal(rows.whole, [True, False, False])
    assert_array_equal(rows.most, [1, np.inf, np.inf] if drawn else [1, 0, 0])


def test_kinds_are_what_the_trees_tell_apart() -> None:
    kinds = kinds_of([told()])
    assert_array_equal(CELLS[kinds.cell, 0], [0, 0, 1, 1])
    assert_array_equal(kinds.of, np.stack([2 * CELLS[:, 0], 2 * CELLS[:, 0] + 1], axis=1))
    assert len(kinds_of(reports_of(forest())).cell) == 16  # all of them


def test_records_are_the_likeliest_of_each_kind() -> None:
    prior = FLAT.copy()
    prior[0, 0] = 3 / 16
    kinds = kinds_of([told()])
    records = records_for(kinds, n=20, prior=prior)
    kind = kinds.of[records.cell, records.label]
    np.testing.assert_allclose(records.gain[kind == 0][:2], np.log([3 / 16, 3 / 32]))
    assert np.bincount(kind).tolist() == [33, 25, 25, 25]


def test_records_of_trees_that_share_them_out() -> None:
    rows = stacked([count_rows(told(), KINDS)] * 2, apart=True)
    out = shared_out(rows, trees=2, n=9)
    assert out.seen.shape == (12, 4)
    assert_array_equal(out.seen.toarray()[8:], -np.eye(4))
    assert_array_equal(out.slack.toarray()[8:, :8], np.hstack([np.eye(4), np.eye(4)]))
    assert_array_equal(out.slack.toarray()[:8, :8], rows.seen.toarray())
    assert out.whole[:8].all()
    assert not out.whole[8:].any()


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
    root = reach_of(model.trees_[0], CELLS)[0]
    assert (found.counts[root].sum(axis=0) >= 1).all()


def log_posterior(model: Any, counts: np.ndarray, shared_by: Any, prior: np.ndarray) -> float:
    """Of a data set, record by record: what the noise says of it, and the prior; records are where they are said."""
    held = np.concatenate([np.full(k, i) for i, k in enumerate(counts.reshape(-1))])
    cell, label = held // 2, held % 2
    total = -sum(math.lgamma(k + 1) for k in counts.reshape(-1)) + np.log(prior[cell, label]).sum()
    for number, one in enumerate(reports_of(model)):
        mine = np.ones(len(held), bool) if shared_by is None else np.array(shared_by) == number
        for leaf, value, rate in zip(one.leaf, one.value, one.rate, strict=True):
            here = one.reach[leaf, cell] & mine
            count = np.bincount(label[here], minlength=2)
            behind = count.max() - count[value.argmax()]
            off = behind if getattr(model, "leaf", "counts") == "label" else np.abs(count - value).sum()
            total -= rate * off
    return total


def best_of_all(model: Any, counts: Any, prior: np.ndarray, *, n: int) -> float:
    """The largest over all ways in which records may be shared out among the trees."""
    ways: Any = [None] if model.bags == "full" else itertools.product(range(len(model.trees_)), repeat=n)
    return max(log_posterior(model, counts, way, prior) for way in ways)


@pytest.mark.parametrize("leaf", ["counts", "label"])
@pytest.mark.parametrize("bags", ["full", "disjoint"])
@pytest.mark.parametrize("epsilon", [2.0, 12.0])
def test_no_data_set_is_likelier_than_the_one_found(leaf: str, bags: str, epsilon: float) -> None:
    small, n, rng = DOMAIN.subset(["a", "b"]), 3, np.random.default_rng(7)
    X, y = table(sample(n, seed=1))
    model = EDPRF(domain=small, random_state=1, epsilon=epsilon, n_trees=2, max_depth=2, bags=bags, leaf=leaf)
    model.set_params(stop="depth").fit(X[["a", "b"]], y)
    prior = rng.dirichlet(np.ones(8)).reshape(4, 2)
    multisets = [
        np.bincount(chosen, minlength=8).reshape(4, 2)
        for chosen in itertools.combinations_with_replacement(range(8), n)
    ]
    scores = [best_of_all(model, counts, prior, n=n) for counts in multisets]
    found = best_of_all(model, rebuild(model, n=n, prior=prior).counts, prior, n=n)
    assert found >= max(scores) - GAP * abs(max(scores)) - 1e-9
    assert np.sort(scores)[-2] < found - 1e-6  # broken twin: any other data set


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
        reports_of(SimpleNamespace(bags="bernoulli"))
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
    private = (
        (a <= factor * b) & (b <= factor * a) & (1 - a <= factor * (1 - b)) & (1 - b <= factor * (1 - a))
    )
    return float((prior * a + (1 - prior) * (1 - b))[private].max())


@pytest.mark.parametrize(("epsilon", "prior"), list(itertools.product((0.0, 0.5, 1.0, 3.0), (0.5, 0.2, 0.9))))
def test_no_private_guess_beats_the_bound_and_the_best_attains_it(epsilon: float, prior: float) -> None:
    bound = guess_bound(epsilon, prior=prior)
    assert corners(epsilon, prior) <= bound + 1e-12
    assert corners(epsilon, prior) >= bound - 0.005
    if bound > max(prior, 1 - prior):
        assert corners(2 * epsilon, prior) > bound + 0.005  # broken twin
    assert guess_bound(np.inf) == 1
    assert guess_bound(1.0) == pytest.approx(expit(1.0))


# --- The study -----------------------------------------------------------------------------------------------


def stored(root: Path) -> pd.DataFrame:
    return read("reconstruction", root / "results")


def test_guesses_from_statistics_alone() -> None:
    law = np.full((256, 2), 1e-9)
    law[7, 1], law[6, 0] = 0.6, 0.4
    assert_array_equal(
        np.unique(study.likeliest(law, 10), axis=0), [[*[0] * 5, 1, 1, 0, 0], [*[0] * 5, 1, 1, 1, 1]]
    )
    assert study.likeliest(law, 10)[:, -1].sum() == 6
    assert_array_equal(study.usual(law), np.tile([*[0] * 5, 1, 1, 1, 1], (study.N, 1)))


def test_people_are_the_same_for_all_attacks_and_others_for_another_seed() -> None:
    first, again, other = (study.people("adult-standin", seed) for seed in (3, 3, 4))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert (first.trained != other.trained).any()
    assert len({len(rows) for rows in first}) == 1


@pytest.mark.parametrize("reading", [study.RECORDS, study.STATISTICS])
def test_the_stored_study_is_what_the_code_gives(reading: str, root: Path) -> None:
    """On the stand-in, without the files of UCI."""
    (cell,) = cells(method="random trees", dataset="adult-standin", reading=reading, max_depth=3, epsilon=5.0)
    table = stored(root)
    mine = table[(table[KEYS] == list(vars(cell).values())).all(axis=1)].set_index("metric")["value"]
    again = pd.Series(study.measure_reconstruction(cell)).drop("cpu_seconds", errors="ignore").round(6)
    assert again.to_dict() == pytest.approx(mine[again.index].to_dict(), abs=2e-6)


def above_the_bound(table: pd.DataFrame, methods: Sequence[str]) -> int:
    """Attacks in which some guess is surer than the claim allows, whatever the attacker knows."""
    rows = wide(table[table["utility"] == study.RECORDS])
    return int((rows["surest"] > rows["bound"] + 1e-6)[rows["method"].isin(methods)].sum())


def test_no_guess_about_a_private_forest_is_surer_than_the_bound(root: Path) -> None:
    table = stored(root)
    assert above_the_bound(table, study.PRIVATE) == 0
    assert above_the_bound(table, sorted(set(study.SUBJECTS) - set(study.PRIVATE))) > 20  # broken twins


def test_the_summary_and_its_figure(root: Path) -> None:
    leaks, guesses = study.leaks(stored(root), study.STATISTICS), study.guesses(stored(root))
    assert len(leaks) == len(guesses) == len(study.SUBJECTS) * len(study.EPSILONS)
    assert (leaks["trained"] - leaks["strangers"] - leaks["excess"]).abs().max() < 1e-9
    plots.use_style()
    figure = drawings_rebuild.plot_rebuilt(leaks, guesses)
    figure.canvas.draw()
    assert figures.faults(figure) == []
    assert figure.get_figwidth() <= drawings_rebuild.WIDTH
    small = [t.get_text() for t in figure.findobj(Text) if t.get_text() and t.get_fontsize() < 8]
    plt.close(figure)
    assert small == []
