"""What bags drawn with replacement cost DiffPRFs: the formulas against enumeration of all small data sets."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy.stats import binom, laplace, multinomial, poisson

from dpnb.arrays import Floats
from dpnb.records.bags import bootstrap_bound
from private_trees.studies import bootstrap
from private_trees.studies.bootstrap import Listing, backward, either, forward

LEAF = tuple((y,) for y in (0, 1))  # kinds of records at depth 0: the class
FORCED = tuple(product((0, 1), (0, 1)))  # one attribute and the class
CHOSEN = tuple(product((0, 1), (0, 1), (0, 1)))  # two attributes and the class
Observed = tuple[Floats, Floats]  # queries (bags, queries), and how far the chosen score leads (bags,)
Query = Callable[[Floats], Observed]


def leaf(bags: Floats) -> Observed:
    """Class counts."""
    return bags, np.zeros(len(bags))


def forced(bags: Floats) -> Observed:
    """A split on the only attribute: sizes of both children, and their class counts."""
    cells = bags.reshape(-1, 2, 2)
    return np.concatenate([cells.sum(axis=2), bags], axis=1), np.zeros(len(bags))


def chosen(bags: Floats) -> Observed:
    """A split on the first attribute, while endlessly many copies of the second were offered; max-class sum."""
    cells = bags.reshape(-1, 2, 2, 2)
    first, second = (cells.sum(axis=axis).max(axis=2).sum(axis=1) for axis in (2, 1))
    queries, _ = forced(cells.sum(axis=2).reshape(-1, 4))
    return queries, first - second


def bags_of(data: Floats) -> tuple[Floats, Floats]:
    """All bags of as many draws as there are records, and their probabilities."""
    n = int(data.sum())
    drawn = combinations_with_replacement(np.flatnonzero(data), n)
    bags = np.array([np.bincount(d, minlength=len(data)) for d in drawn], float).reshape(-1, len(data))
    return bags, multinomial(n, data / n).pmf(bags)


def log_density(query: Query, data: Floats, outputs: Floats, rate: float) -> Floats:
    bags, probability = bags_of(data)
    queries, lead = query(bags)
    distance = np.abs(queries[:, None] - outputs).sum(axis=2)
    return np.log(probability @ np.exp(rate * (lead[:, None] / 2 - distance)))


def losses(query: Query, kinds: int, n: int, rate: float) -> tuple[float, float]:
    """Largest log-ratio in both directions, over all data sets of n records and one less.

    In each output the ratio is a Möbius function of ``exp(2 rate y)`` between two whole numbers, and constant beyond
    all counts: so its extremes are at whole numbers.
    """
    width = query(np.zeros((1, kinds)))[0].shape[1]
    outputs = np.array(list(product(range(n + 1), repeat=width)), float)
    found = []
    for cells in combinations_with_replacement(range(kinds), n - 1):
        smaller = np.bincount(cells, minlength=kinds).astype(float)
        below = log_density(query, smaller, outputs, rate)
        for z in np.eye(kinds):
            ratio = log_density(query, smaller + z, outputs, rate) - below
            found.append((ratio.max(), -ratio.min()))
    return max(f for f, _ in found), max(b for _, b in found)


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.5, 1.5])
@pytest.mark.parametrize("n", range(2, 7))
def test_a_single_leaf_loses_exactly_what_the_formulas_say(n: int, rate: float) -> None:
    """All data sets with two classes; either direction has its own formula."""
    up, down = losses(leaf, 2, n, rate)
    assert up == pytest.approx(forward(rate, n), abs=1e-12)
    assert down == pytest.approx(backward(rate, n), abs=1e-12)
    assert down > math.log(
        np.sum(binom(n, 1 / n).pmf(np.arange(n + 1)) * np.exp(rate * np.arange(n + 1)))
    ) or (rate > 0.1)  # broken twin: as if a bag of D' had z's copies in addition


@pytest.mark.parametrize("n", [2, 3, 4])
def test_three_classes_change_nothing(n: int) -> None:
    up, down = losses(leaf, 3, n, 0.3)
    assert (up, down) == pytest.approx((forward(0.3, n), backward(0.3, n)), abs=1e-12)


@pytest.mark.parametrize(
    ("budget", "trees", "exact"), [(1, 1, 1.718), (1, 5, 1.323), (1, 10, 1.344), (1, 25, 1.358)]
)
def test_the_table_of_single_leaves(budget: float, trees: int, exact: float) -> None:
    with_sizes = Listing(budget=budget, n_trees=trees, depth=0)
    alone = Listing(budget=budget, n_trees=trees, depth=0, sizes=False)
    assert with_sizes.exact() == pytest.approx(exact, abs=6e-4)
    assert with_sizes.exact() - alone.exact() == pytest.approx(budget / 2)
    assert with_sizes.exact() > budget
    if trees > 1:  # broken twin: outputs that are likelier on the larger data set only
        assert trees * math.expm1(budget / trees) < exact - 0.2


@pytest.mark.parametrize("share", [0.04, 1.0])
@pytest.mark.parametrize(("query", "kinds"), [(forced, FORCED), (chosen, CHOSEN)])
def test_trees_of_depth_one_lie_between_the_bounds(
    query: Query, kinds: tuple[object, ...], share: float
) -> None:
    """All data sets of three records with two classes and one or two attributes."""
    tree = Listing(budget=share, n_trees=1, depth=1, n=3)
    loss = tree.root + max(losses(query, len(kinds), 3, tree.share))
    assert tree.lower() - 1e-12 <= loss <= tree.upper() + 1e-12
    twin = tree.root + forward(tree.share, 3)  # as if only one count saw the record
    assert loss > twin + 0.1 * share


def test_with_one_attribute_the_lower_bound_is_attained_at_depth_one() -> None:
    tree = Listing(budget=0.04, n_trees=1, depth=1, n=4)
    assert tree.root + max(losses(forced, 4, 4, tree.share)) == pytest.approx(tree.lower(), abs=1e-12)
    assert tree.lower() == pytest.approx(1.0598 * 0.04, abs=1e-5)


@pytest.mark.parametrize("depth", [1, 5])
def test_the_lower_bound_by_the_max_class_sum_is_approached(depth: int) -> None:
    """The data of the proof with groups of 80 and 30 records beside endlessly many."""
    tree = Listing(budget=1, n_trees=1, depth=depth)
    away = (1 + math.exp(-tree.share * depth / 2)) / 2
    g = math.exp(-tree.counts) * away
    u, v, k = np.ix_(np.arange(300), np.arange(200), np.arange(30))
    law = poisson(80).pmf(u) * poisson(30).pmf(v)
    root = np.maximum(u + k, v) - (u + v)
    below = np.maximum(u + k, v) - (u + np.maximum(v, k))
    h = np.exp(tree.share / 2 * (root + (depth - 1) * below) + tree.counts * (u + v + k)) * g ** -(u + v + k)
    loss = tree.root + math.log(g * (law * poisson(1).pmf(k) * h).sum() / (law[..., 0] * h[..., 0]).sum())
    assert loss == pytest.approx(tree.lower_by_max(2), abs=2e-3)
    assert loss < tree.lower_by_max() - 0.1  # more classes lose more
    assert tree.lower() < loss - 0.4


def test_the_functions_grow_with_the_number_of_records() -> None:
    for rate, f in product((0.02, 0.3, 2.0), (forward, backward, either)):
        values = [f(rate, n) for n in (2, 3, 5, 10, 100, 30_162)]
        assert values == sorted(values)
        assert values[-1] < f(rate) < values[-1] * 1.001
        assert f(rate) <= either(rate) == pytest.approx(bootstrap_bound(rate))


def test_where_the_budget_is_exceeded() -> None:
    """At B = 1 and 25 trees with the sizes: proved at depths 0 to 2, open from 3 on; the forest alone stays below."""
    at = partial(Listing, budget=1, n_trees=25)
    assert [at(depth=d).lower_by_max() > 1 for d in range(8)] == [True] * 3 + [False] * 5
    assert all(at(depth=d).upper() > 1 for d in range(8))
    assert at(depth=5).lower_by_max() == pytest.approx(0.9415, abs=5e-5)
    assert at(depth=5).upper() == pytest.approx(1.3334, abs=5e-5)
    assert at(depth=5, sizes=False).upper() == pytest.approx(0.510, abs=5e-4)
    assert all(Listing(budget=1, n_trees=1, depth=d).lower() > 1 for d in range(8))
    with pytest.raises(ValueError, match="exact loss is known for depth 0"):
        at(depth=1).exact()


def library_profile(tree: Listing) -> privacy_loss_distribution.PrivacyLossDistribution:
    """The same dominating pairs, composed by dp-accounting."""
    k = np.arange(41)
    c, p = np.where(k == 0, 1, 2 * k - 1), binom(tree.n, 1 / tree.n).pmf(k)
    edges = np.unique([0.0, *(1 / (1 + np.exp(tree.copy * c))), 1.0])
    u, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    ratio = [sum(p * np.exp(np.where(x < 1 / (1 + np.exp(tree.copy * c)), 1, -1) * tree.copy * c)) for x in u]
    step = 2e-5
    pair = privacy_loss_distribution.from_two_probability_mass_functions(
        {i: math.log(r * w) for i, (r, w) in enumerate(zip(ratio, width, strict=True))},
        {i: math.log(w) for i, w in enumerate(width)},
        value_discretization_interval=step,
        symmetric=False,
    )
    size = privacy_loss_distribution.from_laplace_mechanism(
        1 / tree.share, value_discretization_interval=step
    )
    return pair.compose(size).self_compose(tree.n_trees) if tree.sizes else pair.self_compose(tree.n_trees)


def test_delta_equals_that_of_dp_accounting() -> None:
    tree = Listing(budget=1, n_trees=25, depth=5, n=30_162)
    ours, library = tree.profile(), library_profile(tree)
    for epsilon in (0.5, 0.8, 1.0):
        assert ours.delta(epsilon) == pytest.approx(library.get_delta_for_epsilon(epsilon), rel=0.02)
    assert ours.delta(1.0) == pytest.approx(4.7e-7, rel=0.01)
    assert ours.epsilon(1e-5) == pytest.approx(0.856, abs=5e-4)
    assert ours.delta(1.0) < 1e-2 * Listing(budget=1.3, n_trees=25, depth=5, n=30_162).profile().delta(
        1.0
    )  # twin
    with pytest.raises(ValueError, match="name it"):
        Listing(budget=1, n_trees=25, depth=5).profile()


def tail(y: float, counts: Floats, rate: float) -> Floats:
    return laplace(counts, 1 / rate).sf(y)


@pytest.mark.parametrize("n", [3, 200])
def test_no_event_of_a_leaf_exceeds_delta(n: int) -> None:
    """Thresholds of the count of z's class, of which D has no record."""
    tree = Listing(budget=1.5, n_trees=1, depth=0, sizes=False, n=n)
    profile, k = tree.profile(), np.arange(min(n, 40) + 1)
    law, worst = binom(n, 1 / n).pmf(k), {}
    for y, epsilon in product(np.linspace(-2, 6, 17), (0.2, 0.5, 0.9)):
        larger, smaller = float(law @ tail(y, k, tree.counts)), float(tail(y, np.zeros(1), tree.counts)[0])
        gap = max(larger - math.exp(epsilon) * smaller, 1 - smaller - math.exp(epsilon) * (1 - larger))
        worst[epsilon] = max(worst.get(epsilon, 0.0), gap)
    assert all(0 < gap <= profile.delta(epsilon) for epsilon, gap in worst.items())
    small = Listing(budget=0.5, n_trees=1, depth=0, sizes=False, n=n).profile()
    assert any(
        gap > small.delta(epsilon) for epsilon, gap in worst.items()
    )  # broken twin: a third of the budget


def test_the_grid_of_losses_only_rounds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = Listing(budget=1, n_trees=5, depth=1, n=100)
    fine = tree.profile().delta(0.6)
    monkeypatch.setattr(bootstrap, "STEP", 1e-3)
    assert fine < tree.profile().delta(0.6) < 1.5 * fine
