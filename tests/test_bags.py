"""Bags: per-record, reproducible, correctly distributed, and priced by fact F2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, chisquare, poisson

from dpnb.domain import Continuous, Domain
from dpnb.privacy.ledger import Cost
from dpnb.records.bags import (
    MODES,
    Bags,
    bootstrap_bound,
    label_keys,
    numbered,
    parts_bound,
    record_keys,
    uniforms,
)
from dpnb.records.memory import Records

RATES = {"bernoulli": 0.3, "cover": 3}
PER_RECORD = [m for m in MODES if m != "bootstrap"]
FALSE_ALARM = 1e-9


def make(mode: str, n_trees: int = 8) -> Bags:
    return Bags(mode, n_trees, RATES.get(mode))


@pytest.mark.parametrize("mode", PER_RECORD)
def test_removing_any_record_moves_no_other(mode: str) -> None:
    index = pd.Index([f"person {i}" for i in range(60)])
    keys = label_keys(index)
    for tree in range(8):
        whole = make(mode).draw(keys, seed=7, tree=tree)
        for gone in range(60):
            rest = make(mode).draw(np.delete(keys, gone), seed=7, tree=tree)
            if whole is None:
                assert rest is None
            else:
                np.testing.assert_array_equal(rest, np.delete(whole, gone))


def test_the_bootstrap_moves_other_records() -> None:
    """Broken twin: draws of positions are not per record."""
    keys = label_keys(pd.RangeIndex(60))
    whole = make("bootstrap").draw(keys, seed=7, tree=0)
    rest = make("bootstrap").draw(keys[1:], seed=7, tree=0)
    assert not np.array_equal(rest, whole[1:])
    assert whole.sum() == 60


@pytest.mark.parametrize("mode", ["poisson", "bernoulli", "disjoint", "cover"])
def test_copies_have_the_stated_law(mode: str) -> None:
    n, bags = 40_000, make(mode)
    keys = label_keys(pd.RangeIndex(n))
    copies = np.stack([bags.draw(keys, seed=3, tree=b) for b in range(8)])
    if mode == "disjoint":
        assert np.all(copies.sum(axis=0) == 1)
    if mode == "cover":
        assert np.all(copies.sum(axis=0) == 3)
    law = {
        "poisson": poisson(1),
        "bernoulli": binom(1, 0.3),
        "disjoint": binom(1, 1 / 8),
        "cover": binom(1, 3 / 8),
    }
    expected = law[mode].pmf(np.arange(6)) * n
    expected[-1] += n - expected.sum()
    for tree in copies:
        seen = np.bincount(np.minimum(tree, 5), minlength=6)
        kept = expected > 0
        assert chisquare(seen[kept], expected[kept]).pvalue > FALSE_ALARM
        assert chisquare(seen[:2], np.array([0.2, 0.8]) * seen[:2].sum()).pvalue < FALSE_ALARM  # broken twin
    if mode in ("poisson", "bernoulli"):  # trees are independent of each other
        assert abs(np.corrcoef(copies[0], copies[1])[0, 1]) < 6 / math.sqrt(n)


def test_hashes_are_uniform_and_depend_on_seed_and_stream() -> None:
    keys = label_keys(pd.RangeIndex(50_000))
    u = uniforms(keys, seed=1, stream=0)
    assert chisquare(np.histogram(u, 50, (0, 1))[0]).pvalue > FALSE_ALARM
    for other in (uniforms(keys, seed=2, stream=0), uniforms(keys, seed=1, stream=1)):
        assert abs(np.corrcoef(u, other)[0, 1]) < 6 / math.sqrt(len(u))


LABELS = [1, 2, "1", "2", 1.5, None, math.nan, True, pd.Timestamp("2020-01-01"), ("a", 1), 2**70, "x"]


def test_labels_of_any_kind_have_keys_of_their_own() -> None:
    keys = label_keys(pd.Index(LABELS, dtype=object))
    assert len(set(keys.tolist())) == len(LABELS)
    twin = pd.util.hash_array(
        np.array([str(label) for label in LABELS], object)
    )  # broken twin: 1 is "1", None and NaN fall together
    assert len(set(twin.tolist())) < len(LABELS)


@pytest.mark.parametrize("more", ["a", 2.5, None, 2**70, ("a", 1)])
def test_one_label_more_changes_no_other_key(more: object) -> None:
    """It may change the type of the whole index."""
    for others in ([1, 2, 3], [0, -7, 2**60]):
        alone = label_keys(pd.Index(others))
        np.testing.assert_array_equal(alone, label_keys(pd.Index([*others, more], dtype=object))[:3])
    np.testing.assert_array_equal(label_keys(pd.Index([1, 2])), label_keys(pd.Index([1, 2, 2.5]))[:2])
    strings = label_keys(pd.Index(["p", "q"]))
    np.testing.assert_array_equal(strings, label_keys(pd.Index(["p", "q", more], dtype=object))[:2])
    twin = pd.util.hash_array(
        pd.Index([1, 2, 2.5]).to_numpy()
    )  # broken twin: the index as numbers of one type
    assert (twin[:2] != label_keys(pd.Index([1, 2]))).all()


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


class Broken:
    def __repr__(self) -> str:
        return "\ud800"


def nested(depth: int) -> tuple[Any, ...]:
    return (nested(depth - 1),) if depth else ()


HOSTILE = ["\ud800", "\ud801", 10**5000, 10**5000 + 1, -(10**5000), (10**5000,), Silent(), Broken(), [1], {}]


@pytest.mark.parametrize("hostile", [[label] for label in HOSTILE] + [[nested(100)] * 2, HOSTILE])
def test_a_hostile_label_raises_nothing_and_changes_no_other_key(hostile: list[Any]) -> None:
    labels = np.empty(3 + len(hostile), object)
    labels[:] = [1, "1", "中", *hostile]
    keys = label_keys(labels)
    np.testing.assert_array_equal(keys[:3], label_keys(pd.Index([1, "1", "中"], dtype=object)))
    for label, key in zip(hostile, keys[3:], strict=True):
        alone = np.empty(1, object)
        alone[0] = label
        assert label_keys(alone)[0] == key
    if hostile is HOSTILE:
        assert len(set(keys.tolist())) == len(keys)


def test_texts_that_are_none_raised_before() -> None:
    """Broken twin: what pandas says to half a surrogate, and Python to 5000 digits."""
    with pytest.raises(UnicodeEncodeError):
        pd.util.hash_array(np.array(["\ud800"], object), categorize=False)
    with pytest.raises(ValueError, match="4300 digits"):
        repr(10**5000)


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]"])
def test_whole_numbers_of_any_type_have_one_key_beside_a_missing_one(kind: Any) -> None:
    keys = label_keys(pd.Index(pd.array([1, 2**60 + 1, None], dtype=kind)))
    np.testing.assert_array_equal(keys[:2], label_keys(pd.Index([1, 2**60 + 1])))


def test_keys_of_today_stay() -> None:
    """Bags of published seeds follow from them."""
    keys = label_keys(pd.Index([0, 1, -7, "p", "人", 2**63, 1.5, None, ("a", 1)], dtype=object))
    assert keys.tolist() == [
        0,
        6238072747940578789,
        15824578273388328691,
        14324726286286127884,
        16857441430208387742,
        5689473808134057659,
        13487599029424358104,
        4627503563384547188,
        14145539558688818164,
    ]


LABELLED = label_keys(pd.Index([5, 5, 5, 5, 6]))
COLUMNS = [np.array([0.0, 1.0, 0.0, 0.0, 0.0]), np.array([2.0, 2.0, 3.0, 2.0, 2.0])]
CLASSES = np.array([0, 0, 0, 1, 0])


def test_records_of_one_label_are_told_apart_by_their_values_and_class() -> None:
    keys = record_keys(LABELLED, COLUMNS, CLASSES)
    assert len(set(keys.tolist())) == 5
    assert (
        len(set(record_keys(LABELLED, COLUMNS[:1], CLASSES).tolist())) == 4
    )  # broken twin: a column left out
    np.testing.assert_array_equal(keys, record_keys(LABELLED, [-0.0 + COLUMNS[0], COLUMNS[1]], CLASSES))
    for gone in range(5):
        rest = [np.delete(part, gone) for part in (LABELLED, *COLUMNS, CLASSES)]
        np.testing.assert_array_equal(record_keys(rest[0], rest[1:3], rest[3]), np.delete(keys, gone))


def test_an_exact_copy_has_a_key_of_its_own_and_moves_no_other() -> None:
    keys = np.array([11, 12, 11, 13, 11], np.uint64)
    apart = numbered(keys)
    assert len(set(apart.tolist())) == 5
    np.testing.assert_array_equal(apart[[0, 1, 3]], keys[[0, 1, 3]])
    for gone in (0, 2, 4):  # whichever copy goes, the same keys are left
        assert set(numbered(np.delete(keys, gone)).tolist()) == set(apart[:4].tolist())
    np.testing.assert_array_equal(numbered(keys[1:4:2]), keys[1:4:2])


def test_labels_that_repeat_need_no_error() -> None:
    """One record less is one key less, whatever labels records share: the proof for bags asks for no more."""
    public = Domain((Continuous("x", 0, 9),), (0, 1))
    X = pd.DataFrame({"x": [1.0, 1, 1, 2, 2, np.nan]}, index=[7, 7, 7, 7, 8, 8])
    y = np.array([0, 0, 1, 0, 0, 0])
    keys = Records(X, y, domain=public, strict=False).keys.tolist()
    assert len(set(keys)) == len(keys)
    for gone in range(len(X)):
        kept = np.arange(len(X)) != gone
        rest = Records(X[kept], y[kept], domain=public, strict=False).keys.tolist()
        assert len(set(keys) - set(rest)) == 1
        assert set(rest) < set(keys)
    twin = numbered(
        label_keys(X.index)
    ).tolist()  # broken twin: labels alone, records that differ are renumbered
    assert twin[1] == numbered(label_keys(X.index[1:])).tolist()[1]


@pytest.mark.parametrize("mode", PER_RECORD)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_per_copy_budget_inverts_the_cost(mode: str, epsilon: float) -> None:
    bags = make(mode)
    tree = bags.cost(Cost(bags.per_copy_epsilon(epsilon), 0.0)).epsilon
    assert tree * bags.shares == pytest.approx(epsilon, rel=1e-12)


def sup_ratio(copies: np.ndarray, epsilon: float) -> float:
    """Numeric sup over y of the log-ratio of Σ p_k Laplace(k, 1/ε₀) and Laplace(0, 1/ε₀) at y."""
    k = np.arange(len(copies))

    def negative(y: float) -> float:
        return -math.log(np.sum(copies * np.exp(-epsilon * (np.abs(y - k) - abs(y)))))

    return -min(
        float(minimize_scalar(negative, bounds=(-5, 60), method="bounded").fun),
        negative(60.0),
        negative(-5.0),
    )


@pytest.mark.parametrize(
    ("law", "epsilon", "value"),
    [(poisson(1), 0.5, 0.6487), (binom(20, 1 / 20), 0.5, 0.6384), (binom(1, 0.2), 0.5, 0.1220)],
)
def test_fact_f2_is_attained(law: object, epsilon: float, value: float) -> None:
    copies = law.pmf(np.arange(40))
    formula = math.log(np.sum(copies * np.exp(epsilon * np.arange(40))))
    assert formula == pytest.approx(value, abs=5e-5)
    assert sup_ratio(copies, epsilon) == pytest.approx(formula, abs=1e-4)


def test_formulas_of_the_modes() -> None:
    assert make("poisson").cost(Cost(0.5, 0.0)).epsilon == pytest.approx(0.6487, abs=5e-5)
    assert Bags("bernoulli", 4, 0.2).cost(Cost(0.5, 0.0)).epsilon == pytest.approx(0.1220, abs=5e-5)
    assert make("poisson").cost(Cost(0.5, 0.1)).rho == math.inf
    assert make("bernoulli").cost(Cost(0.5, 0.1)).rho == 0.1


@pytest.mark.parametrize(
    ("budget", "trees", "total"), [(1, 1, 5.39), (1, 10, 1.85), (1, 25, 1.78), (5, 25, 9.92)]
)
def test_bootstrap_bound_equals_the_table(budget: float, trees: int, total: float) -> None:
    """General upper bound t ln E exp((B/t) c(K)), here with the supremum over n."""
    assert trees * bootstrap_bound(budget / trees) == pytest.approx(total, abs=0.02)
    for n in (2, 5, 50, 5000):
        k = np.arange(60)
        c = np.where(k == 0, 1, 2 * k - 1)
        finite = math.log(np.sum(binom(n, 1 / n).pmf(k) * np.exp(budget / trees * c)))
        assert finite <= bootstrap_bound(budget / trees) + 1e-12


def test_bootstrap_bound_is_continuous_and_infinite_at_infinity() -> None:
    assert bootstrap_bound(3.0) == pytest.approx(bootstrap_bound(3.0 + 1e-9), rel=1e-2)
    assert bootstrap_bound(math.inf) == math.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bagging", 3), "bags='bagging'"),
        (("bernoulli", 3), "bag_rate=None"),
        (("bernoulli", 3, 1.5), "bag_rate=1.5"),
        (("cover", 3, 4), r"bag_rate=4: a cover needs a whole number in 1..3"),
        (("cover", 3, 1.5), "bag_rate=1.5"),
        (("full", 3, 0.5), "no meaning"),
    ],
)
def test_bad_bags(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bags(*arguments)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100])
def test_parts_are_of_equal_size_and_one_more_record_makes_one_part_longer(n: int) -> None:
    keys = label_keys(pd.RangeIndex(n + 1))
    bags = Bags("parts", 4)
    sizes = np.zeros((2, 4), int)
    for tree in range(4):
        for row, own in enumerate((keys[:n], keys)):
            drawn = bags.draw(own, seed=3, tree=tree)
            assert drawn is not None
            sizes[row, tree] = drawn.sum()
    assert sizes.sum(axis=1).tolist() == [n, n + 1]
    assert sizes[0].max() - sizes[0].min() <= 1
    assert sorted(sizes[1] - sizes[0]) == [0, 0, 0, 1]
    assert (np.diff(sizes) <= 0).all()  # the longer parts first, as the theorem wants it


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_two_parts_of_one_and_two_records_attain_their_bound(epsilon: float) -> None:
    """Laplace counts of both trees, at outputs far out: 1 record of class 0 against it and one of class 1."""

    def density(counts: tuple[int, int], output: tuple[float, float]) -> float:
        return float(np.exp(-epsilon * sum(abs(o - c) for o, c in zip(output, counts, strict=True))))

    none, w, z = (0, 0), (1, 0), (0, 1)
    first, second = (-5.0, 5.0), (5.0, 5.0)
    before = density(w, first) * density(none, second)
    after = (density(w, first) * density(z, second) + density(z, first) * density(w, second)) / 2
    assert math.log(after / before) == pytest.approx(parts_bound(epsilon, 2))
    assert parts_bound(epsilon, 2) > epsilon  # the claim
    drawn = (
        before + density(none, first) * density(w, second)
    ) / 2  # broken twin: the longer part is at any place
    assert math.log(after / drawn) == pytest.approx(epsilon)
    assert parts_bound(epsilon, 1) == pytest.approx(epsilon)


def test_parts_cost_at_most_three_times_the_tree() -> None:
    for epsilon in (1e-3, 1.0, 199.0, 201.0, 1e6, math.inf):
        assert epsilon <= parts_bound(epsilon, 5) <= 3 * epsilon
