"""Private tuning of chapter 9: the law of K, the theorem held against exact output laws, and broken twins of each."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import chisquare, norm

import dpnb
from dpnb import Categorical, DataError, Domain, FewRecordsWarning, PrivateBooster
from dpnb.data.datasets import Dataset
from dpnb.estimators.base import PrivateClassifier
from dpnb.privacy.curator import Curator
from dpnb.privacy.laws import PermuteAndFlip, TwoSidedGeometric
from dpnb.privacy.ledger import zcdp_epsilon
from private_trees.board import tuning
from private_trees.board.tuning import Trials, Tuned, candidates, noisy_score, tune

LAWS = [Trials(1.5, 1), Trials(3, -0.5), Trials(5, 0), Trials(10, 1), Trials(20, 3), Trials(40, -0.5)]
Series = Callable[[np.ndarray], np.ndarray]


def probability(law: Trials, k: np.ndarray) -> np.ndarray:
    """P(K = k) for whole numbers k ≥ 1: E K γ^(η+1) (1 − γ)^(k−1) Γ(k + η) / (Γ(1 + η) k!)."""
    tail = gammaln(k + law.shape) - math.lgamma(1 + law.shape) - gammaln(k + 1)
    front = math.log(law.mean) + (1 + law.shape) * math.log(law.gamma)
    return np.exp(front + (k - 1) * math.log1p(-law.gamma) + tail)


def generating(law: Trials) -> Series:
    """f(x) = E x^K in closed form, the definition of Papernot and Steinke summed up."""
    eta, gamma = law.shape, law.gamma
    if eta == 0:
        return lambda x: np.log(1 - (1 - gamma) * x) / math.log(gamma)
    return lambda x: ((1 - (1 - gamma) * x) ** -eta - 1) / (gamma**-eta - 1)


def best_of(f: Series, base: np.ndarray) -> np.ndarray:
    """Exact law of the best of K outputs: ``base`` (n,) in increasing order, or (n, tied) with fair draws in a row."""
    rows = base.reshape(len(base), -1)
    up_to = np.minimum(np.cumsum(rows.sum(axis=1)), 1.0)
    level = np.diff(f(np.concatenate([[0.0], up_to])))
    share = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-300)
    return (share * level[:, None]).reshape(base.shape)


def loss(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.abs(np.log(first) - np.log(second)).max())


# The law of K


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_law_of_k_is_the_one_of_the_paper(law: Trials) -> None:
    k = np.arange(1, 300_000)
    found = probability(law, k)
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert found @ k == pytest.approx(law.mean, rel=1e-9)
    x = np.linspace(0, 1, 7)
    np.testing.assert_allclose([found @ z**k for z in x], generating(law)(x), atol=1e-9)
    eta, gamma = law.shape, law.gamma
    for n in (1, 2, 5):  # the definition, term by term
        if eta == 0:
            text = (1 - gamma) ** n / (n * math.log(1 / gamma))
        else:
            text = (1 - gamma) ** n / (gamma**-eta - 1) * math.prod((j + eta) / (j + 1) for j in range(n))
        assert found[n - 1] == pytest.approx(text, rel=1e-9)


@pytest.mark.parametrize("law", [Trials(4, -0.5), Trials(4, 0), Trials(4, 1)], ids=repr)
def test_draws_follow_the_law(law: Trials) -> None:
    rng = np.random.default_rng(0)
    drawn = np.bincount(np.minimum([law.draw(rng) for _ in range(10_000)], 12), minlength=13)[1:]
    share = probability(law, np.arange(1, 12))
    expected = 10_000 * np.append(share, 1 - share.sum())
    assert chisquare(drawn, expected).pvalue > 0.001
    other = probability(Trials(5, law.shape), np.arange(1, 12))
    assert chisquare(drawn, 10_000 * np.append(other, 1 - other.sum())).pvalue < 0.001


# Pure ε


def pure_pair(rng: np.random.Generator, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """A random base mechanism on a few ordered outputs, on two neighbours: ε-DP, with ratios at the limits."""
    first = rng.dirichlet(np.full(rng.integers(2, 7), rng.choice([0.1, 0.5, 1.0]))) + 1e-4
    first /= first.sum()
    up = rng.random(len(first)) < 0.5
    while up.all() or not up.any():
        up = rng.random(len(first)) < 0.5
    gain, fall = first[up].sum(), first[~up].sum()
    grow = min(math.exp(epsilon), (1 - math.exp(-epsilon) * fall) / gain)
    return first, np.where(up, first * grow, first * (1 - grow * gain) / fall)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_pure_bound_holds_exactly_and_is_attained(law: Trials, epsilon: float) -> None:
    rng, f = np.random.default_rng(0), generating(law)
    assert law.price(epsilon, delta=None) <= (2 + law.shape) * epsilon  # Corollary 3
    for _ in range(300):
        first, second = pure_pair(rng, epsilon)
        assert loss(first, second) <= epsilon + 1e-9
        assert loss(best_of(f, first), best_of(f, second)) <= law.price(epsilon, delta=None) + 1e-9
    grown, thin = math.exp(epsilon), 1e-4
    high = np.array([grown / (1 + grown) - thin, thin, 1 / (1 + grown)])
    low = np.array([1 / (1 + grown) - thin / grown, thin / grown, grown / (1 + grown)])
    high, low = high / high.sum(), low / low.sum()
    assert loss(high, low) <= epsilon * 1.001
    assert loss(best_of(f, high), best_of(f, low)) == pytest.approx(law.price(epsilon, delta=None), rel=0.01)


def test_a_fixed_number_of_trials_is_caught() -> None:
    """The twin: the best of exactly 50 trials, booked as if K were geometric with mean 50."""
    rng, booked = np.random.default_rng(0), Trials(50, 1).price(0.5, delta=None)
    assert booked < 3 * 0.5
    pairs = [pure_pair(rng, 0.5) for _ in range(300)]
    worst = max(
        loss(best_of(lambda x: x**50, first), best_of(lambda x: x**50, second)) for first, second in pairs
    )
    assert worst > 3 * 0.5


def test_a_number_of_trials_that_follows_the_data_is_caught() -> None:
    rng, law = np.random.default_rng(0), Trials(10, 1)
    more = generating(Trials(40, 1))  # one record more makes it try four times as often
    pairs = [pure_pair(rng, 0.5) for _ in range(300)]
    losses = [loss(best_of(generating(law), first), best_of(more, second)) for first, second in pairs]
    assert max(losses) > 3 * 0.5 > law.price(0.5, delta=None)


def test_a_single_trials_price_is_not_enough() -> None:
    law = Trials(10, 0)
    first, second = np.array([0.6, 0.001, 0.399]), np.array([0.399, 0.001 * 0.399 / 0.6, 0.6003])
    assert loss(best_of(generating(law), first), best_of(generating(law), second)) > 1.5 * loss(first, second)


# ρ and δ


def range_pair(rng: np.random.Generator, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """A random exponential mechanism on two neighbours: ε-bounded-range, hence ε²/8-zCDP."""
    base = rng.dirichlet(np.full(rng.integers(2, 7), rng.choice([0.1, 0.5, 1.0]))) + 1e-4
    tilted = base * np.exp(epsilon * (rng.random(len(base)) < 0.5))
    return base / base.sum(), tilted / tilted.sum()


def renyi(first: np.ndarray, second: np.ndarray, order: float) -> float:
    logs = order * np.log(first) + (1 - order) * np.log(second)
    return float(np.logaddexp.reduce(logs)) / (order - 1)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_renyi_and_delta_bounds_hold_exactly(law: Trials, epsilon: float) -> None:
    rng, f, rho, delta = np.random.default_rng(0), generating(law), epsilon**2 / 8, 1e-3
    excess, total = law.excess(rho), law.price(rho, delta=delta)
    root = math.sqrt(rho * math.log(1 / law.gamma))
    assert excess <= (1 + law.shape) * (2 * root - rho if root > rho else math.log(1 / law.gamma)) + 1e-3
    for _ in range(100):
        base = range_pair(rng, epsilon)
        tuned = [best_of(f, side) for side in base]
        for first, second in (tuned, tuned[::-1]):
            for order in (1.1, 2.0, 8.0, 64.0):
                divergence = renyi(first, second, order)
                assert divergence <= rho * order + excess + math.log(law.mean) / (order - 1) + 1e-9
            assert np.maximum(first - math.exp(total) * second, 0).sum() <= delta


def ordered_gaussians(rho: float, *, above: float) -> tuple[np.ndarray, np.ndarray]:
    """Normal noise on two neighbours, in cells: ρ-zCDP. The order of the outputs is the worst one for the first side.

    Best of all are the cells that the second side likes most, up to a share ``above`` of the first; then come those
    that the first side likes most.
    """
    cuts = np.concatenate([[-np.inf], np.linspace(-6, 6, 601), [np.inf]])
    first, second = (np.diff(norm.cdf(cuts, centre)) for centre in (0.0, math.sqrt(2 * rho)))
    top = np.cumsum(first[::-1])[::-1] <= above
    order = np.concatenate([np.flatnonzero(~top)[::-1], np.flatnonzero(top)])
    return first[order], second[order]


def test_without_the_number_c_a_selection_is_caught() -> None:
    """The twin: priced like one trial at δ / E K."""
    rho, law, orders = 0.02, Trials(10, 1), np.geomspace(2, 20, 8)
    excess, over = law.excess(rho), []
    for above in (0.03, 0.1, 0.2, 0.4):
        base = ordered_gaussians(rho, above=above)
        assert max(renyi(*base, a) / a for a in orders) <= rho
        first, second = (best_of(generating(law), side) for side in base)
        over += [renyi(first, second, a) - rho * a - math.log(law.mean) / (a - 1) for a in orders]
    assert 0.5 * excess < max(over) <= excess


@pytest.mark.parametrize("law", [Trials(5, 0), Trials(10, 1), Trials(40, 0.5)], ids=repr)
@pytest.mark.parametrize("rho", [0.003, 0.1])
def test_totals_are_below_those_of_dp_accounting(law: Trials, rho: float) -> None:
    rdp, event = pytest.importorskip("dp_accounting.rdp"), pytest.importorskip("dp_accounting.dp_event")
    accountant = rdp.RdpAccountant(1 + np.geomspace(0.01, 3000, 600))
    accountant.compose(event.RepeatAndSelectDpEvent(event.ZCDpEvent(rho), mean=law.mean, shape=law.shape))
    theirs, ours = accountant.get_epsilon(1e-5), law.price(rho, delta=1e-5)
    text = (1 + law.shape) * (2 * math.sqrt(rho * math.log(1 / law.gamma)) - rho)  # Theorem 2, best order
    assert text + zcdp_epsilon(rho=rho, delta=1e-5 / law.mean) == pytest.approx(theirs, rel=2e-3)
    assert 0.5 * theirs < ours < theirs


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_a_trial_gets_all_that_the_total_allows(epsilon: float, delta: float | None) -> None:
    law = Trials(8, 0.5)
    trial = law.trial(epsilon=epsilon, delta=delta)
    assert epsilon * (1 - 1e-9) < law.price(trial, delta=delta) <= epsilon
    assert delta is not None or trial > epsilon / 2.5


# tune()

DOMAIN = Domain((Categorical("g", ("a", "b")),), (0, 1))
LABELS = [0] * 3 + [1] * 5


PART = pd.DataFrame({"g": ["a"] * len(LABELS)}), pd.Series(LABELS)
DATA = Dataset("tiny", PART, PART, DOMAIN)


class Majority(PrivateClassifier):
    """Releases the larger class by permute-and-flip, and answers with it, or with the other one."""

    def __init__(
        self, *, epsilon: float = 1.0, domain: Any = None, contrary: bool = False, random_state: Any = None
    ) -> None:
        self.epsilon, self.domain, self.contrary, self.random_state = epsilon, domain, contrary, random_state
        self.neighbours = "add-remove"

    def _check_parameters(self) -> None:
        pass  # it is no dataclass

    def _fit(self, records: Any, curator: Curator) -> None:
        counts = records.cohort().class_counts(1)[0]
        how: dict[str, Any] = {"starts": np.array([0]), "sensitivity": 1.0, "monotone": True}
        self.larger_ = int(curator.permute_and_flip(counts, epsilon=self.epsilon, what="class", **how)[0])

    def _votes(self, codes: np.ndarray) -> np.ndarray:
        return np.tile(np.eye(2)[self.larger_ ^ self.contrary], (len(codes), 1))


SETTINGS = [{"contrary": False}, {"contrary": True}]
TWO = Trials(2, 0)


@pytest.fixture(autouse=True)
def dear_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "OF_SCORE", 0.4)  # less noise: fewer cells


def run(seed: int) -> Tuned:
    return tune(Majority, SETTINGS, DATA, epsilon=2.0, delta=None, trials=TWO, random_state=seed)


def base_law(labels: list[int], *, noise: bool = True) -> np.ndarray:
    """Exact law of one trial of ``run``: probability by noisy count from -40 to 60, setting, and larger class."""
    trial = TWO.trial(epsilon=2.0, delta=None)
    counts = np.bincount(labels, minlength=2)
    chosen = PermuteAndFlip(counts.astype(float), np.array([0]), np.array(0.6 * trial)).probabilities()
    at = np.arange(-40, 61)
    law = np.empty((len(at), 2, 2))
    for contrary in (0, 1):
        for larger in (0, 1):
            right = counts[larger ^ contrary]
            noisy = TwoSidedGeometric(np.full(len(at), right), np.array(1 / (0.4 * trial)))
            exact = (at == right).astype(float)
            law[:, contrary, larger] = (
                0.5 * chosen[larger] * (np.exp(noisy.log_density(at)) if noise else exact)
            )
    return law


def test_tune_follows_the_exact_law_and_the_law_keeps_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    law = best_of(generating(TWO), base_law(LABELS))
    assert law.sum() == pytest.approx(1, abs=1e-6)
    edges = [(-40, 3), (3, 5), (5, 7), (7, 61)]
    expected = np.concatenate([law[a + 40 : b + 40].sum(axis=0).ravel() for a, b in edges])

    def pvalue(runs: int = 400) -> float:
        found = np.zeros((4, 2, 2))
        for seed in range(runs):
            tuned = run(seed)
            cell = next(i for i, (a, b) in enumerate(edges) if a <= tuned.n_right < b)
            found[cell, int(tuned.setting["contrary"]), tuned.model.larger_] += 1
        return float(chisquare(found.ravel(), expected / expected.sum() * runs).pvalue)

    assert pvalue() > 0.001
    for label in (0, 1):
        more = best_of(generating(TWO), base_law([*LABELS, label]))
        assert 0.7 < loss(law, more) <= 2.0 + 1e-6
        bare = [best_of(generating(TWO), base_law(side, noise=False)) for side in (LABELS, [*LABELS, label])]
        assert (bare[0][bare[1] == 0] > 0.1).any()  # a score without noise: possible on one side only
    monkeypatch.setattr(Trials, "draw", lambda self, rng: 4)
    assert pvalue(150) < 1e-6


def test_a_score_without_noise_shows_in_the_released_count(monkeypatch: pytest.MonkeyPatch) -> None:
    released = {run(seed).n_right for seed in range(40)}
    assert not released <= {3, 5}
    monkeypatch.setattr(Curator, "geometric", lambda self, values, **how: values)
    assert {run(seed).n_right for seed in range(40)} <= {3, 5}


def test_the_score_counts_right_answers() -> None:
    for contrary, right in ((False, 5), (True, 3)):
        model = Majority(epsilon=1000.0, domain=DOMAIN, contrary=contrary, random_state=0).fit(*PART)
        assert noisy_score(model, DATA, epsilon=1000.0, random_state=0) == right
        assert len({noisy_score(model, DATA, epsilon=0.1, random_state=seed) for seed in range(9)}) > 5


def test_same_seed_same_result() -> None:
    first, second = run(3), run(3)
    assert (first.setting, first.n_right) == (second.setting, second.n_right)
    assert first.model.larger_ == second.model.larger_
    assert len({(run(s).n_right, run(s).model.larger_) for s in range(20)}) > 5


def test_trials_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their warnings tell noisy counts that are not released. Broken twin: one fit by itself warns."""
    how: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "trials": Trials(), "random_state": 0}
    with warnings.catch_warnings(record=True) as seen:  # whatever filters are set inside
        warnings.simplefilter("always")
        model = tune(PrivateBooster, candidates(1e-5), DATA, **how).model
    assert not seen
    with pytest.warns(FewRecordsWarning):
        model.fit(*PART)


@pytest.mark.parametrize("delta", [None, 1e-5])
def test_a_booster_is_tuned_within_its_budget(delta: float | None) -> None:
    """A trial books at most its share of the total, and all of it with many rounds."""
    law, made = Trials(), list[PrivateBooster]()

    def make(**how: Any) -> PrivateBooster:
        made.append(PrivateBooster(**how))
        return made[-1]

    tuned = tune(make, candidates(delta or 0.0), DATA, epsilon=4.0, delta=delta, trials=law, random_state=0)
    trial = law.trial(epsilon=4.0, delta=delta)
    assert tuned.epsilon == pytest.approx(law.price(trial, delta=delta))
    assert tuned.epsilon <= 4.0
    for model in made:
        booked = model.ledger_.pure_epsilon if delta is None else model.ledger_.rho
        assert 0.9 * trial < booked / (1 - tuning.OF_SCORE) <= trial
    assert len(made) > 1


# What the chapter says


@pytest.mark.parametrize("k", [2, 5])
def test_a_fixed_number_of_trials_costs_all_of_them(k: int) -> None:
    """The trial of `board-ex-fixed`: three outputs, ε₁-DP, and the best of k loses nearly kε₁."""
    epsilon, u, tau = 0.5, 0.05, 1e-7
    grown = math.exp(epsilon)
    first = np.array([grown * u - tau, tau, 1 - grown * u])  # worst output first
    second = np.array([u - tau / grown, tau / grown, 1 - u])
    assert loss(first, second) == pytest.approx(epsilon)
    assert loss(best_of(lambda x: x**k, first), best_of(lambda x: x**k, second)) == pytest.approx(
        k * epsilon, rel=1e-3
    )
    assert Trials(k, 0).price(epsilon, delta=None) < 2 * epsilon  # the twin: a random number does not


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_derivative_of_the_generating_function(law: Trials) -> None:
    """Equation `board-law` against the law of K."""
    k = np.arange(1, 300_000)
    mass = probability(law, k)
    for s in (0.05, 0.3, 0.9):
        stated = law.mean * (law.gamma / (law.gamma + (1 - law.gamma) * s)) ** (1 + law.shape)
        assert mass @ (k * (1 - s) ** (k - 1)) == pytest.approx(stated, rel=1e-9)
        other = law.mean * (law.gamma / (law.gamma + (1 - law.gamma) * s)) ** (0.9 + law.shape)
        assert other != pytest.approx(stated, rel=1e-3)


def test_the_allowed_pairs_of_part_2_hold_for_normal_noise() -> None:
    """√ln(1/s′) ≥ √ln(1/s) − √ρ for every event of a ρ-zCDP trial; not with half of √ρ."""
    rho = 0.3
    cut = np.linspace(-3, 8, 200)
    s, more = norm.sf(cut), norm.sf(cut, math.sqrt(2 * rho))
    left, right = np.sqrt(-np.log(more)), np.sqrt(-np.log(s))
    assert (left >= right - math.sqrt(rho)).all()
    assert (left < right - 0.5 * math.sqrt(rho)).any()


def test_a_document_of_a_tuned_model_is_one_clear_error(tmp_path: Path) -> None:
    """As ``dpnb.tune`` wrote it. Broken twin: the same document without the law of the trials is read."""
    path = tmp_path / "model.json"
    PrivateBooster(domain=DOMAIN, n_rounds=2, random_state=0).fit(*PART).release(path)
    dpnb.read(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    law = {"object": "dpnb.tune:Trials", "mean": 10.0, "shape": 0.0}
    trial = {"object": "dpnb.privacy.ledger:Cost", "epsilon": 0.5, "rho": 0.1}
    document["ledger"]["selection"] = {"object": "dpnb.tune:Selection", "trials": law, "trial": trial}
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DataError, match="private tuning, whose totals only the dpnb that wrote it reads"):
        dpnb.read(path)


def test_every_delta_has_candidates() -> None:
    assert candidates(1e-12) == candidates(1e-5) == candidates(0.5) != candidates(0.0)
