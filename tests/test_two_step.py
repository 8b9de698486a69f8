"""The law of the listing's choice at a root: against enumeration, against the estimator, and on the stand-in."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import dpnb
from dpnb import Categorical, Continuous, Domain
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.privacy.lattice import Lattice
from dpnb.records.memory import Records
from dpnb.trees.candidates import binary_candidates
from dpnb.trees.scores import SCORES
from private_trees.lineage.two_step import Offer, Root, TwoSteps, root_of, two_step_tv

DOMAIN = Domain((Continuous("x", 0, 1), Continuous("y", 0, 1), Categorical("c", ("a", "b", "d"))), (0, 1))


def sample() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.random(60), "y": rng.random(60), "c": rng.choice(["a", "b", "d"], 60)})
    return X, pd.Series((X["x"] > 0.5).astype(int))


def enumerated(root: Root, drawn: tuple[int, ...], rate: float) -> list[np.ndarray]:
    """Step 10 in all its outcomes, and step 11 after each."""
    weights = [np.exp(rate * root.offers[a].score) for a in drawn]
    laws = [root.offers[a].measure * w for a, w in zip(drawn, weights, strict=True)]
    laws = [p / p.sum() for p in laws]
    found = [np.zeros(len(w)) for w in weights]
    for options in product(*(range(len(w)) for w in weights)):
        probability = np.prod([p[o] for p, o in zip(laws, options, strict=True)])
        w = np.array([w[o] for w, o in zip(weights, options, strict=True)])
        for i, o in enumerate(options):
            found[i][o] += probability * w[i] / w.sum()
    return found


@pytest.mark.parametrize("rate", [0.0, 0.3, 4.0])
def test_the_integral_equals_enumeration(rate: float) -> None:
    rng = np.random.default_rng(1)
    offers = [Offer(rng.normal(size=k) * 3, rng.dirichlet(np.ones(k))) for k in (4, 1, 6, 3)]
    root = Root(offers, np.array([True, False, True, True]))
    for drawn in ((0, 1, 2, 3), (1, 2, 3), (1,)):
        law, exact = TwoSteps(root, rate=rate).law(drawn), enumerated(root, drawn, rate)
        for p, q in zip(law, exact, strict=True):
            assert p == pytest.approx(q, abs=1e-9)
    if rate:  # broken twin: the attribute without regard to its threshold
        naive = [root.offers[a].measure / 4 for a in range(4)]
        assert any(abs(p - q).max() > 0.02 for p, q in zip(exact, naive, strict=False))


def test_the_estimator_draws_from_this_law() -> None:
    X, y = sample()
    epsilon, trees = 1.2, 3000
    forest = DiffPRFs.as_written(
        utility="max", domain=DOMAIN, bags="full", stop="depth", max_features="all", n_trees=trees,
        max_depth=1, epsilon=epsilon * trees, random_state=0,
    ).fit(X, y)  # fmt: skip
    drawn = np.bincount([tree.splits.attribute[0] for tree in forest.trees_], minlength=3) / trees
    root, share = root_of(Records(X, y, domain=DOMAIN), "max"), epsilon / 4
    law = [p.sum() for p in TwoSteps(root, rate=share / 3 / 2).law((0, 1, 2))]
    assert drawn == pytest.approx(law, abs=4 * np.sqrt(0.25 / trees))
    assert law != pytest.approx([1 / 3] * 3, abs=8 * np.sqrt(0.25 / trees))  # broken twin: at random


def test_how_far_the_listing_is_from_a_random_split() -> None:
    """On the stand-in: the numbers of the chapter."""
    data = dpnb.load("adult-standin")
    records = Records(*data.train, domain=data.domain)
    root = root_of(records, "max")
    usual, largest = (two_step_tv(root, budget=B, n_trees=25, depth=d, f=4) for B, d in ((1, 5), (2, 3)))
    assert len(usual) == 1001
    assert 0.055 < usual.mean() < 0.07
    assert 0.65 < largest.max() < 0.72
    gain = two_step_tv(root_of(records, "info_gain"), budget=2, n_trees=25, depth=3, f=4)
    assert gain.max() < 0.001
    assert (
        joint_tv(records, 1 / 1800) < 0.03
    )  # broken twin: one joint choice with one category against the rest


def joint_tv(records: Records, rate: float) -> float:
    domain, every, root = records.domain, np.arange(records.domain.n_attributes), records.cohort()
    found = binary_candidates(
        root.value_counts(every[None]), attributes=every, totals=root.class_counts(1).repeat(len(every), axis=0),
        lattice=Lattice.of(domain.lows, domain.highs), domain=domain,
    )  # fmt: skip
    chance = found.measure / len(every)
    law = chance * np.exp(rate * found.scores(SCORES["max"]))
    return float(abs(law / law.sum() - chance).sum() / 2)
