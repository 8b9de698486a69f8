"""Claims with δ: the law of the loss agrees with an accountant's, and bets on exact losses refute what is false."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.special import ndtr

from dpaudit import families
from dpaudit.pairs import DOMAIN
from dpnb import Ledger
from dpnb.boosting.booster import PrivateBooster
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.privacy.curator import Curator, open_curator
from private_trees.auditing.deltas import LossSample, exact_delta, replay_delta, replay_mechanism_delta
from private_trees.auditing.losses import excess, loss_laws

SURE = 1 - 1e-6
START = np.array([0])


def door(rng: np.random.Generator) -> Curator:
    return open_curator(rng=rng, ledger=Ledger(claimed=1.0))


def gaussian(data: float, rng: np.random.Generator, *, rho: float = 0.5) -> None:
    door(rng).gaussian([data], rho=rho, sensitivity=1.0, what="a number")


def laplace_twice(data: float, rng: np.random.Generator) -> None:
    door(rng).laplace([data, data, 0], epsilon=1.0, sensitivity=1.0, what="two numbers")


def geometric(data: float, rng: np.random.Generator) -> None:
    door(rng).geometric([3 * data, 5], epsilon=1.0, sensitivity=2.0, what="a count")


def discrete_gaussian(data: float, rng: np.random.Generator) -> None:
    door(rng).discrete_gaussian([4 * data], rho=0.5, sensitivity=4.0, what="a count")


def choice(data: float, rng: np.random.Generator) -> None:
    door(rng).permute_and_flip(
        [-data, data - 2], starts=START, epsilon=1.0, sensitivity=1.0, monotone=False, what="a choice"
    )


def of_gaussian(epsilon: float, mu: float = 1.0) -> float:
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def of_choice(epsilon: float) -> float:
    """P = (½, ½) against (1 − ½e⁻¹, ½e⁻¹)."""
    rare = 0.5 * math.exp(-1)
    pairs = (((0.5, 1 - rare), (0.5, rare)), ((1 - rare, 0.5), (rare, 0.5)))
    return max(sum(max(p - math.exp(epsilon) * q, 0) for p, q in both) for both in pairs)


LAPLACES = pld.from_laplace_mechanism(1.0).compose(pld.from_laplace_mechanism(1.0))
GEOMETRIC = pld.from_discrete_laplace_mechanism(0.5, sensitivity=3)
DISCRETE = pld.from_discrete_gaussian_mechanism(4.0, sensitivity=4)


@pytest.mark.parametrize(
    ("run", "true"),
    [
        (gaussian, of_gaussian),
        (laplace_twice, LAPLACES.get_delta_for_epsilon),
        (geometric, GEOMETRIC.get_delta_for_epsilon),
        (discrete_gaussian, DISCRETE.get_delta_for_epsilon),
        (choice, of_choice),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_the_law_of_the_loss_is_the_accountants(run: Any, true: Any) -> None:
    for epsilon in (0.3, 0.8, 1.4):
        expected = true(epsilon)
        laws = loss_laws(run, 0, 1, step=1e-3)
        low, high = (max(law[way].delta(epsilon) for law in laws) for way in (0, 1))
        assert (
            low - 1e-9 <= expected <= high + 2e-4
        )  # the accountant rounds up, by at most 1e-4 of loss a release
        assert high - low < 1.5e-3
        assert exact_delta(run, 0, 1, claimed=epsilon, delta=expected * 0.97, step=1e-3).violated == (
            expected > 0
        )
        assert not exact_delta(run, 0, 1, claimed=epsilon, delta=expected * 1.02 + 1e-9, step=1e-3).violated


def test_releases_add_up() -> None:
    def both(data: float, rng: np.random.Generator) -> None:
        curator = door(rng)
        curator.gaussian([data], rho=0.5, sensitivity=1.0, what="a number")
        curator.laplace([data, data], epsilon=1.0, sensitivity=1.0, what="two numbers")

    expected = pld.from_gaussian_mechanism(1.0).compose(LAPLACES).get_delta_for_epsilon(2.0)
    found = exact_delta(both, 0, 1, claimed=2.0, delta=0.01, step=1e-3)
    assert found.delta_bound == pytest.approx(expected, abs=1e-3)
    assert found.lower_bound > 2
    alone = exact_delta(laplace_twice, 0, 1, claimed=2.0, delta=0.01)  # broken twin: a release forgotten
    assert alone.delta_bound < expected - 0.1


def test_what_adapts_or_cannot_be_compared_is_told() -> None:
    def adapts(data: float, rng: np.random.Generator) -> None:
        curator = door(rng)
        at = curator.laplace([data], epsilon=1.0, sensitivity=1.0, what="first")
        curator.laplace(at, epsilon=1.0, sensitivity=1.0, what="second")

    def doors(data: float, rng: np.random.Generator) -> None:
        gaussian(data, rng)
        laplace_twice(data, rng)

    def branches(data: float, rng: np.random.Generator) -> None:
        (gaussian if data else laplace_twice)(data, rng)

    def wider(data: float, rng: np.random.Generator) -> None:
        gaussian(0.0, rng, rho=0.5 + data)

    for run, words in (
        (adapts, "depend on earlier ones"),
        (branches, "different releases"),
        (wider, "width"),
    ):
        with pytest.raises((ValueError, KeyError), match=words):
            exact_delta(run, 0, 1, claimed=1.0, delta=0.1)
    reveals = partial(lambda data, rng: door(rng).exact(data, why="a leak"))
    assert exact_delta(reveals, 0, 1, claimed=1.0, delta=0.1).lower_bound == math.inf


def test_excess_is_the_hockey_stick() -> None:
    assert excess([math.inf, 2.0, 1.0, -math.inf], 1.0) == pytest.approx([1, 1 - math.exp(-1), 0, 0])
    rng = np.random.default_rng(0)
    mean = excess(rng.normal(0.5, 1.0, 10**5), 0.7).mean()
    assert mean == pytest.approx(of_gaussian(0.7), abs=0.006)  # 5 standard errors


def test_bets_on_losses_find_the_claim_that_is_false() -> None:
    """Gaussian noise of μ = 1 has δ = .127 at ε = 1."""
    play = partial(replay_mechanism_delta, gaussian, 0, 1, claimed=1.0, confidence=SURE, seed=1)
    false = {delta: play(delta=delta, runs=300) for delta in (0.04, 1e-2, 1e-5)}
    for delta, found in false.items():
        assert found.violated
        assert found.lower_bound > 1
        assert delta < found.delta_bound < of_gaussian(1.0)
    assert false[1e-5].trials < false[1e-2].trials < false[0.04].trials
    honest = play(delta=of_gaussian(1.0), runs=150)
    assert not honest.flagged
    assert 0.3 < honest.lower_bound < 1
    assert 0.03 < honest.delta_bound < of_gaussian(1.0)


def test_both_directions_count_and_infinite_losses_do() -> None:
    for side in (0, 1):
        sample = LossSample(confidence=0.99)
        for _ in range(5):
            sample.add(side, math.inf)
            sample.add(1 - side, -3.0)
        assert sample.refutes(1.0, 1e-5)
        assert sample.epsilon(1e-5) == math.inf
        assert 0.05 < sample.delta(1.0) < 1
    assert LossSample(confidence=0.99).epsilon(0.1) == 0
    mixed = LossSample(confidence=0.99)
    mixed.add(0, 0.7)
    assert (mixed.epsilon(0.0), mixed.refutes(0.6, 0.0), mixed.refutes(0.8, 0.0)) == (0.7, True, False)


def test_wealth_of_losses_keeps_its_mean() -> None:
    """Randomised response, ε = 1, at δ of ε = ½: all outcomes of five replays on D."""
    right = 1 / (1 + math.exp(-1))
    delta = right * -math.expm1(0.5 - 1)

    def average(delta: float) -> float:
        total = 0.0
        for outcomes in np.ndindex(*[2] * 5):
            sample = LossSample(confidence=0.9)
            for wrong in outcomes:
                sample.add(0, -1.0 if wrong else 1.0)
            chance = math.prod((right, 1 - right)[w] for w in outcomes)
            total += chance * math.exp(sample.log_e_value(0.5, delta))
        return total

    assert average(delta) == pytest.approx(1, abs=1e-12)
    assert average(0.9 * delta) > 1.02  # broken twin


def test_one_rare_event_refutes() -> None:
    sample = LossSample(confidence=0.99)
    sample.add(0, math.inf)
    assert sample.log_e_value(1.0, 1e-5) > math.log(1000)


def test_estimators_with_delta_are_replayed() -> None:
    pair = families()[0]
    honest = PrivateBooster(epsilon=1.0, delta=1e-5, domain=DOMAIN, n_rounds=2)
    found = replay_delta(honest, pair.second, pair.first, claimed=1.0, delta=1e-5, runs=6, encoded=True)
    assert not found.flagged
    twin = replay_delta(honest, pair.second, pair.first, claimed=0.002, delta=1e-5, runs=20, encoded=True)
    assert twin.violated
    assert twin.trials < 60
    assert twin.neighbours == "add-remove"


def test_bags_by_position_and_replacements_are_told() -> None:
    written = DiffPRFs.as_written(domain=DOMAIN, n_trees=1, max_depth=0, size_query=False, stop="depth")
    pair = families()[0]
    found = replay_delta(written, pair.second, pair.first, claimed=0.01, delta=1e-3, runs=40)
    assert found.given == "the bags"
    assert found.flagged
    assert not found.violated
    swap = families("replace")[0]
    model = DiffPRFs(domain=DOMAIN, n_trees=1, max_depth=0)
    doubled = replay_delta(model, swap.first, swap.second, claimed=1.0, delta=1e-3, runs=4)
    assert (doubled.claimed, doubled.delta) == pytest.approx((2.0, (1 + math.e) * 1e-3))
    with pytest.raises(ValueError, match="runs=0"):
        replay_delta(model, swap.first, swap.second, claimed=1.0, delta=1e-3, runs=0)
