"""Betting: wealth does not grow under a true claim, whenever one looks; leaks convict in tens of runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.special import expit
from scipy.stats import binom, norm

from dpaudit import AttackError, Monitor, betting
from dpaudit.betting import (
    DISTANCES,
    STAKES,
    CoinGame,
    Factors,
    Tally,
    gaussian_delta,
    gaussian_mu,
    gaussian_shares,
    log_e_values,
    log_wealth,
)
from dpaudit.events import OutputEvent
from dpaudit.rules import Graded, Lesson, Rule
from private_trees.auditing.bets import betting_bound, e_value, least_guesses, monitor, monitor_mechanism
from private_trees.auditing.counts import clopper_pearson, epsilon_bound
from private_trees.auditing.twins import TWINS, Twin

SURE = 1 - 1e-6
RESULTS = (True, False, None)


def edge(epsilon: float, delta: float) -> tuple[float, float, float]:
    """Chances of a correct, a wrong and no guess that (ε, δ)-DP just allows."""
    wrong = 0.6 * (1 - delta) / (1 + math.exp(epsilon))
    correct = math.exp(epsilon) * wrong + delta
    return correct, wrong, 1 - correct - wrong


def expected(wealth: Callable[[tuple[Any, ...]], float], chances: tuple[float, ...], rounds: int) -> float:
    """Mean of a wealth over all sequences of results."""
    sequences = itertools.product(range(3), repeat=rounds)
    return sum(
        math.prod(chances[i] for i in one) * wealth(tuple(RESULTS[i] for i in one)) for one in sequences
    )


def counted(results: tuple[Any, ...]) -> Tally:
    return Tally(*(sum(result is kind for result in results) for kind in RESULTS))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.05), (3.0, 0.2)])
def test_wealth_keeps_its_mean_at_the_edge_of_the_claim(epsilon: float, delta: float) -> None:
    def wealth(results: tuple[Any, ...], delta: float = delta) -> float:
        return math.exp(log_e_values(counted(results), epsilon=epsilon, delta=delta))

    assert expected(wealth, edge(epsilon, delta), 6) == pytest.approx(1, abs=1e-12)
    assert expected(wealth, edge(epsilon * 0.9, delta * 0.9), 6) <= 1 + 1e-12
    if delta:  # broken twin: δ forgotten
        assert expected(partial(wealth, delta=0.0), edge(epsilon, delta), 6) > 1.02
    else:  # broken twin: a stake too large
        assert expected(wealth, edge(epsilon + 0.1, delta), 6) > 1.02 - 0.01 * epsilon


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_stakes_that_follow_the_past_keep_the_mean(delta: float) -> None:
    def wealth(results: tuple[Any, ...], known: int = 2) -> float:
        game = CoinGame(confidence=0.9, delta=delta)
        for result in results[:2]:
            game.add(result)
        game.begin(counted(results[:known]))
        for result in results[2:]:
            game.add(result)
        return math.exp(game.log_e_value(1.0))

    assert expected(wealth, edge(1.0, delta), 4) == pytest.approx(1, abs=1e-12)
    assert (
        expected(partial(wealth, known=6), edge(1.0, delta), 6) > 1.005
    )  # broken twin: they know the future


class FromNothing(CoinGame):
    """A broken twin: what is bet anew is taken from nobody."""

    def anew(self) -> None:
        reserve = self._reserve
        super().anew()
        self._reserve = reserve


def moving(
    results: tuple[Any, ...], *, delta: float, stop: bool = False, kind: type[CoinGame] = CoinGame
) -> float:
    """Wealth of who turns to another subject after each wrong guess, and may leave as soon as something is won."""
    game = kind(confidence=0.9, delta=delta, reserve=0.5)
    for i, result in enumerate(results):
        if i and results[i - 1] is False:
            game.anew()
            game.begin(counted(results[:i]))
        game.add(result)
        if stop and game.log_e_value(1.0) > 0:
            break
    return math.exp(game.log_e_value(1.0))


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_wealth_that_moves_between_subjects_keeps_its_mean(delta: float, stop: bool) -> None:
    """At the end, and when one leaves at a time of one's own: E = 1 at the edge of the claim, at most 1 within it."""
    wealth = partial(moving, delta=delta, stop=stop)
    assert expected(wealth, edge(1.0, delta), 5) == pytest.approx(1, abs=1e-12)
    assert expected(wealth, edge(0.8, 0.8 * delta), 5) < 1
    assert expected(partial(wealth, kind=FromNothing), edge(1.0, delta), 5) > 1.02


def played_on(game: Monitor, column: int, rounds: int, rng: np.random.Generator) -> None:
    """Runs whose data set shows in one of two columns, three times in four."""
    for _ in range(rounds):
        side, output = game.side, np.zeros(2)
        output[column] = float((rng.random() < 0.75) == side)
        game.add(side, output)


def test_the_rule_that_is_told_is_one_of_the_pair_that_is_named() -> None:
    def told(again: Callable[[Monitor], None]) -> str:
        game, rng = Monitor(claimed=5.0, seed=0, reserve=0.5), np.random.default_rng(0)
        played_on(game, 0, 400, rng)
        again(game)
        played_on(game, 1, 100, rng)
        return game.finding().event

    turned = told(lambda game: game.turn(([], [])))
    assert "output 1" in turned
    assert "output 0" not in turned
    assert "output 0" in told(lambda game: None)  # broken twin


# --- Claims of normal noise -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "epsilon"), [(0.1, 0.2), (0.5, 2.0), (1.0, 0.0), (3.0, 5.0), (9.0, 30.0)])
def test_what_normal_noise_moves(mu: float, epsilon: float) -> None:
    excess = quad(
        lambda x: max(norm.pdf(x - mu) - math.exp(epsilon) * norm.pdf(x), 0), -12, 12 + mu, limit=500
    )
    delta = float(gaussian_delta(mu, epsilon=epsilon))
    assert delta == pytest.approx(excess[0], rel=1e-5)
    found = gaussian_mu([epsilon, epsilon], delta=delta)
    assert found == pytest.approx(mu, rel=1e-6)
    assert (gaussian_delta(found, epsilon=epsilon) >= delta).all()  # it errs on the claim's side
    assert gaussian_mu(epsilon, delta=2 * delta) > found[0] * (1 + 1e-6)
    shares = [norm.sf(z - mu / 2) + norm.cdf(-z - mu / 2) for z in DISTANCES]
    assert gaussian_shares(mu) == pytest.approx(shares)


def test_wealth_against_normal_noise_keeps_its_mean() -> None:
    """Best guesses against either point of the claim: by the side of the middle, and by events in the two tails."""
    mu, epsilon = 0.8, 1.0
    delta = float(gaussian_delta(mu, epsilon=epsilon))
    right, tail = norm.cdf(mu / 2), mu / 2 + epsilon / mu
    middle = (float(right), float(1 - right), 0.0)
    p, q = float(norm.sf(tail - mu)), float(norm.sf(tail))
    tails = (p, q, 1 - p - q)

    def wealth(results: tuple[Any, ...], *, first: int, claim: float = delta) -> float:
        game = CoinGame(confidence=0.9, delta=claim, gaussian=True, reserve=0.5)
        game.begin(Tally(), against=first)
        for result in results[:2]:
            game.add(result)
        game.anew()
        game.begin(counted(results[:2]), against=1)
        for result in results[2:]:
            game.add(result)
        return math.exp(game.log_e_value(epsilon))

    assert expected(partial(wealth, first=1), middle, 4) == pytest.approx(1, abs=1e-7)
    assert expected(partial(wealth, first=0), tails, 2) == pytest.approx(1, abs=1e-7)
    assert expected(partial(wealth, first=1), tails, 4) < 1
    assert expected(partial(wealth, first=0), middle, 4) < 1
    assert expected(partial(wealth, first=1, claim=delta / 2), middle, 4) > 1.02  # broken twin


# Results of a round against a curve: right and wrong guesses of each strength, and none.
GRADES = [(right, strength) for right in (True, False) for strength in range(len(DISTANCES))] + [(None, 0)]
MU = 0.8
CURVE = [(np.array(z * MU), gaussian_delta(MU, epsilon=z * MU)) for z in DISTANCES]


def chances(mu: float) -> list[float]:
    """Chances of these results by normal noise, where outputs further from the middle get stronger guesses."""
    ends = [*DISTANCES, np.inf]
    steps = itertools.pairwise(ends)
    likely = [(norm.sf(low - m / 2) - norm.sf(high - m / 2)) for low, high in steps for m in (mu, -mu)]
    return [*likely[::2], *likely[1::2], 1 - sum(likely)]


def graded(results: tuple[Any, ...], *, told: int = 1, mu: float = MU) -> float:
    """Wealth against the curve of a claim; the first result teaches the stakes of the others."""
    game = CoinGame(confidence=0.9, delta=float(gaussian_delta(mu, epsilon=1.0)), gaussian=True, reserve=0.5)
    game.begin(Tally(), against=2)
    game.add(results[0][0], strength=results[0][1])
    game.anew()
    seen = results[:told]
    correct, wrong = (np.array([seen.count((right, k)) for k in range(3)]) for right in (True, False))
    game.begin(Tally(correct, wrong, seen.count((None, 0))), against=2)
    for right, strength in results[1:]:
        game.add(right, strength=strength)
    return math.exp(game.log_e_value(1.0))


def chosen_late(results: tuple[Any, ...]) -> float:
    """Broken twin: where there is no guess, stakes are laid on (ε, δ) instead, as no guess costs less there."""
    right, strength = results[0]
    game = CoinGame(confidence=0.9, delta=float(gaussian_delta(MU, epsilon=1.0)), gaussian=True)
    game.begin(Tally(), against=0 if right is None else 2)
    game.add(right, strength=strength)
    return math.exp(game.log_e_value(1.0))


def mean_of(wealth: Callable[[tuple[Any, ...]], float], mu: float, rounds: int) -> float:
    """Mean of a wealth over all sequences of results, by normal noise."""
    law, sequences = chances(mu), itertools.product(range(len(GRADES)), repeat=rounds)
    return sum(math.prod(law[i] for i in one) * wealth(tuple(GRADES[i] for i in one)) for one in sequences)


def test_wealth_against_a_curve_keeps_its_mean() -> None:
    """Normal noise at the claim is at the edge of all points at once; less of it wins, more of it loses."""
    assert mean_of(graded, MU, 3) == pytest.approx(1, abs=1e-7)
    assert mean_of(graded, 0.9 * MU, 2) < 1 - 1e-3
    assert mean_of(graded, 1.1 * MU, 2) > 1 + 1e-3
    assert mean_of(partial(graded, mu=0.9 * MU), MU, 2) > 1 + 1e-3  # broken twin: too narrow a curve
    assert mean_of(partial(graded, told=3), MU, 3) > 1 + 1e-3  # broken twin: stakes know the rounds to come
    assert mean_of(chosen_late, MU, 1) > 1 + 1e-3


def most_won(factors: Factors) -> float:
    """Largest mean, over all pairs of laws within a claim, of what a round multiplies the wealth by, for any stake.

    An output is one of seven: the strengths on either side, and none. A law on D and one on D′ are within the claim if,
    at each point, what one of them exceeds e^ε times the other by adds up to δ at most. This is a linear programme.
    """
    right, wrong, none = (np.exp(logs) for logs in factors)
    k, means = len(right), []
    for stake in range(0, len(STAKES), 12):
        on_first = np.concatenate(
            [right[::-1, stake], none[[stake]], wrong[:, stake]]
        )  # D strongest … D′ strongest
        gain = np.concatenate([on_first, on_first[::-1]]) / 2
        means.append(-_programme(-gain, 2 * k + 1))
    return max(means)


def _programme(cost: Any, outputs: int) -> float:
    """Least cost of two laws on so many outputs; the slacks are what one law exceeds the other by."""
    pairs = [(float(e), float(d), sign) for e, d in CURVE for sign in (1, -1)]
    slacks, one = len(pairs) * outputs, np.eye(outputs)
    rows, limits = [], []
    for i, (epsilon, delta, sign) in enumerate(pairs):
        taken = np.zeros((outputs, slacks))
        taken[:, i * outputs : (i + 1) * outputs] = -one
        sides = [one, -math.exp(epsilon) * one][::sign]
        rows += [
            np.hstack([*sides, taken]),
            np.concatenate([np.zeros(2 * outputs), -taken.sum(axis=0)])[None],
        ]
        limits += [np.zeros(outputs), [delta]]
    total = np.zeros((2, 2 * outputs + slacks))
    total[0, :outputs] = total[1, outputs : 2 * outputs] = 1
    found = linprog(
        np.concatenate([cost, np.zeros(slacks)]), np.vstack(rows), np.concatenate(limits), total, [1, 1]
    )
    return float(found.fun)


def test_no_law_within_the_claim_wins() -> None:
    """Whatever outputs get which guess: the curve's points alone bound the mean, and are attained."""
    assert most_won(Factors.against(CURVE)) == pytest.approx(1, abs=1e-9)
    for i in range(len(CURVE)):  # broken twins: δ of one point forgotten
        forgotten = [(epsilon, delta * (j != i)) for j, (epsilon, delta) in enumerate(CURVE)]
        assert most_won(Factors.against(forgotten)) > 1 + 1e-3


def test_what_is_lost_is_at_most_what_was_staked(monkeypatch: pytest.MonkeyPatch) -> None:
    def least() -> Any:
        return np.min([np.exp(logs).min() for logs in Factors.against(CURVE)])

    assert least() == 0  # the last stake is all
    whole = np.exp(Factors.against(CURVE).wrong[-1])
    assert whole == pytest.approx(1 - STAKES)  # wrong at all points
    assert (np.diff(np.exp(Factors.against(CURVE).wrong), axis=0) < 0).all()
    monkeypatch.setattr(betting, "STAKES", len(CURVE) * STAKES)  # broken twin: each point gets a whole stake
    with np.errstate(invalid="ignore"):
        assert np.isnan(least())


def test_graded_rules_guess_as_strongly_as_the_log_odds_say() -> None:
    rng = np.random.default_rng(0)
    lesson = Graded(1.0, 4.6, 1e-5, math.inf, gaussian_shares(0.8))
    first, second = rng.normal(size=(400, 3)), rng.normal(size=(400, 3)) + 0.4
    rule, tally = lesson.learn(first, second, ["a", "b", "c"], seed=0)
    sides, strengths = rule.guessed(np.concatenate([first, second]))
    for k, share in enumerate(gaussian_shares(0.8)):
        assert np.mean((sides >= 0) & (strengths >= k)) == pytest.approx(share, abs=0.002)
    right = np.asarray(tally.correct) / (np.asarray(tally.correct) + tally.wrong)
    assert (np.diff(right) > 0).all()
    assert sum(tally.plain) == pytest.approx(800 + 3 * 0.5)
    assert rule.sides(np.full((1, 3), 5.0)) == [1]
    assert str(rule).startswith("D if log-odds of D′ by logistic regression ≤ -")
    # Of two values the more telling one gets the strongest guess, on either side; a constant tells nothing.
    for sides, told in (((first, second), [0, 1]), ((second, first), [1, 0])):
        answers = [(side[:, :1] > cut).astype(float) for side, cut in zip(sides, (1, 0), strict=True)]
        found = Graded(1.0, 4.6, 1e-5, math.inf, [0.8, 0.1]).learn(*answers[:: told[1] or -1], ["a"], seed=0)[
            0
        ]
        assert [one.tolist() for one in found.guessed(np.array([[0.0], [1.0]]))] == [told, [0, 1]]
    assert lesson.learn(first * 0, second * 0, ["a", "b", "c"], seed=0)[0] == Rule()


def runs_of(mu: float, seed: int, *, most: int = 3_000, **settings: Any) -> int:
    """Runs until (1, .001) of normal noise is refuted at 99 %."""
    game = Monitor(claimed=1.0, delta=1e-3, gaussian=True, seed=seed, **settings)
    rng = np.random.default_rng(seed)
    while game.runs < most and not game.refuted:
        game.add(game.side, rng.normal() + mu * game.side)
    return game.runs


def test_the_curve_takes_fewer_runs_than_two_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise is half of what is claimed."""
    mu = 2 * float(gaussian_mu(1.0, delta=1e-3))
    by_curve = [runs_of(mu, seed) for seed in range(6)]
    better, lost = CoinGame.better, Tally(0, np.full(3, 1e9))
    monkeypatch.setattr(CoinGame, "better", lambda game, tallies, e: better(game, [*tallies[:2], lost], e))
    by_points = [runs_of(mu, seed) for seed in range(6)]
    assert sum(by_curve) < 0.75 * sum(by_points)
    assert max(by_curve) < 3_000


def test_noise_at_its_claim_is_seldom_refuted() -> None:
    """By Ville's inequality each of 16 games ends so with probability 1/20 at most; more than 7, below 1e-6."""
    assert binom.sf(7, 16, 1 / 20) < 1e-6
    mu = float(gaussian_mu(1.0, delta=1e-3))
    play = partial(runs_of, most=150, confidence=0.95)
    assert sum(play(mu, seed) < 150 for seed in range(16)) <= 7
    assert sum(play(5 * mu, seed) < 150 for seed in range(10)) > 7  # broken twin


def watched(draw: Callable[[np.random.Generator, int], float], *, seed: int, **settings: Any) -> Monitor:
    """Up to 6 000 runs against (1, 10⁻⁵) at 1 − 10⁻⁶."""
    game, rng = (
        Monitor(claimed=1.0, delta=1e-5, confidence=SURE, seed=seed, **settings),
        np.random.default_rng(seed),
    )
    while game.runs < 6_000 and not game.refuted:
        game.add(game.side, draw(rng, game.side))
    return game


def moved(mu: float) -> Callable[[np.random.Generator, int], float]:
    return lambda rng, side: rng.normal() + mu * side


def responded(rng: np.random.Generator, side: int) -> float:
    """Randomised response at ε = 1, which keeps (1, δ) for any δ, and is no normal noise with 10⁻⁵."""
    return float((rng.random() < expit(1)) != side)


@pytest.mark.parametrize(("draw", "told"), [(moved(0.26), False), (moved(0.6), True), (responded, True)])
def test_a_claim_of_normal_noise_says_more(draw: Callable[..., float], told: bool) -> None:
    """Normal noise has (1, 10⁻⁵) at μ = .268. Twice as much takes (1, 10⁻⁵) alone more than 6 000 runs."""
    assert gaussian_delta(0.268, epsilon=1.0) < 1e-5 < gaussian_delta(0.269, epsilon=1.0)
    assert watched(draw, seed=0, gaussian=True).refuted == told
    assert not watched(draw, seed=0).refuted


def test_a_claim_of_normal_noise_needs_its_delta() -> None:
    with pytest.raises(ValueError, match="gaussian=True, delta=0"):
        Monitor(claimed=1.0, gaussian=True)


def test_the_bound_is_that_of_the_wealth_with_what_was_laid_aside() -> None:
    """The grid is refuted as far as the wealth of some earlier time reaches, whatever began anew by then."""
    rng = np.random.default_rng(0)
    game, step, refuted = CoinGame(confidence=0.9, reserve=0.5), 0.001, -1
    for i in range(80):
        if i in (10, 20, 50):
            game.anew()
        if i % 5 == 0:
            game.begin(Tally(*rng.integers(1, 9, 3).tolist()))
        game.add(bool(rng.random() < 0.95))
        while game.log_e_value((refuted + 1) * step) >= math.log(10):
            refuted += 1
        assert game.bound == pytest.approx(max(refuted, 0) * step)
    assert game.bound > 0.2
    assert sum(game.total) == 80
    assert math.exp(game.log_present(1.0)) != pytest.approx(math.exp(game.log_e_value(1.0)))


def test_a_loss_is_not_for_good() -> None:
    """After two hundred lost bets forty are won: by what was laid aside, for nothing else is left."""
    lost = [False] * 200

    def e_value_of(kind: Callable[[CoinGame], None]) -> float:
        game = CoinGame(confidence=0.9, reserve=0.5)
        for result in lost:
            game.add(result)
        kind(game)
        for _ in range(40):
            game.add(True)
        return game.log_e_value(1.0)

    assert e_value_of(CoinGame.anew) > math.log(20)
    assert e_value_of(lambda game: None) < math.log(20)  # broken twin


def ever_wrong(bound: Callable[[int, int], float], epsilon: float, rounds: int) -> float:
    """Exact chance that a bound passes ε after some round of randomised response, each of which has a guess."""
    right = 1 / (1 + math.exp(-epsilon))
    alive, lost = np.array([1.0]), 0.0  # by the number of correct guesses
    for n in range(1, rounds + 1):
        alive = np.append(alive * (1 - right), 0) + np.append(0, alive * right)
        wrong = np.array([chance > 0 and bound(v, n) > epsilon for v, chance in enumerate(alive)])
        lost += alive[wrong].sum()
        alive[wrong] = 0
    return float(lost)


def test_looking_after_every_round_costs_nothing() -> None:
    alpha, epsilon = 0.05, 1.0

    def by_betting(v: int, n: int) -> float:
        point = 1.001  # the first point of the grid beyond: with it all smaller ones
        return point if e_value(v, n, epsilon=point) >= 1 / alpha else 0.0

    def by_intervals(v: int, n: int) -> float:
        low, _ = clopper_pearson(np.array([v]), n, alpha=2 * alpha)
        return math.log(low[0] / (1 - low[0])) if low[0] > 0 else -math.inf

    assert 0.005 < ever_wrong(by_betting, epsilon, 150) <= alpha
    assert ever_wrong(by_intervals, epsilon, 150) > 3 * alpha  # broken twin: made for one look


@pytest.mark.parametrize(("correct", "wrong"), [(20, 0), (100, 7), (900_000, 100_000), (3, 9)])
def test_bounds_are_refuted_up_to_themselves(correct: int, wrong: int) -> None:
    bound = betting_bound(correct, correct + wrong, confidence=0.99)
    grid = np.arange(0, 6, 0.01)
    logs = log_e_values(Tally(correct, wrong), epsilon=grid)
    assert (np.diff(logs) <= 0).all()
    enough = math.log(100)
    assert ((logs >= enough) == (grid <= bound)).all() or bound == 0
    assert bound <= max(math.log(correct / max(wrong, 0.5)), 0)


def test_bounds_are_nearly_those_of_one_look() -> None:
    """Laplace noise, ε = 2, 20 000 rounds: what looking at any time costs."""
    k, l = 5000, round(5000 * math.exp(-2))  # noqa: E741
    once = epsilon_bound(k, l, 10_000, 10_000, confidence=0.95)
    always = betting_bound(2 * k, 2 * (k + l), confidence=0.95)
    assert always > 0.98 * once


def test_numbers_out_of_range_are_told() -> None:
    for bad in ((3, 2, None), (-1, 2, None), (1, 2, 1)):
        with pytest.raises(ValueError, match="0 <= correct <= guesses <= rounds"):
            e_value(bad[0], bad[1], epsilon=1.0, rounds=bad[2])
        with pytest.raises(ValueError, match="0 <= correct"):
            betting_bound(bad[0], bad[1], confidence=0.9, rounds=bad[2])
    with pytest.raises(ValueError, match="epsilon=-1"):
        e_value(1, 2, epsilon=-1)
    with pytest.raises(ValueError, match="delta=1"):
        e_value(1, 2, epsilon=1, delta=1)
    with pytest.raises(ValueError, match="confidence=1"):
        betting_bound(1, 2, confidence=1)
    assert e_value(10**6, 10**6, epsilon=0.0) == math.inf
    assert e_value(0, 0, epsilon=1.0) == pytest.approx(1)
    assert betting_bound(0, 0, confidence=0.99) == 0


def test_the_least_number_of_guesses_is_what_randomised_response_allows() -> None:
    for epsilon, least in ((1.0, 15), (2.0, 37), (4.0, 254)):
        assert least_guesses(epsilon, confidence=0.99) == least
        assert (1 + math.exp(-epsilon)) ** -least <= 0.01 < (1 + math.exp(-epsilon)) ** -(least - 1)
        needed = math.ceil(1.35 * least)
        assert e_value(needed, needed, epsilon=epsilon) > 100 > e_value(least - 1, least - 1, epsilon=epsilon)


def test_rounds_without_a_guess_count_with_delta_only() -> None:
    assert e_value(50, 60, epsilon=1, rounds=500) == e_value(50, 60, epsilon=1)
    assert e_value(50, 60, epsilon=1, rounds=500, delta=0.01) < e_value(50, 60, epsilon=1, delta=0.01)


# --- The monitor --------------------------------------------------------------------------------------------


def laplace(data: float, rng: np.random.Generator, *, epsilon: float = 1.0) -> float:
    return float(data + rng.laplace() / epsilon)


def reveal(data: float, rng: np.random.Generator) -> float:
    return data


def uniform(data: float, rng: np.random.Generator) -> float:
    return float(10 * data + rng.random())


@pytest.mark.parametrize("run", [reveal, uniform])
def test_blatant_leaks_convict_in_tens_of_runs(run: Any) -> None:
    runs = [
        monitor_mechanism(run, 0.0, 1.0, claimed=1.0, most_runs=200, seed=seed).trials for seed in range(10)
    ]
    assert max(runs) <= 40
    assert min(runs) >= 8 + least_guesses(1.0, confidence=0.99)


FREQUENT = [
    twin for twin in TWINS if twin.name in ("halved noise", "domain from the data", "mean of 100 draws")
]
HONEST = [
    twin for twin in TWINS if twin.name in ("noise as proved", "public domain", "label by permute-and-flip")
]


@pytest.mark.parametrize("twin", [*FREQUENT, *HONEST], ids=lambda twin: twin.name)
def test_twins_are_told_apart(twin: Twin) -> None:
    found = monitor_mechanism(
        twin.run, twin.first, twin.second, claimed=twin.claimed, confidence=SURE, most_runs=700, seed=2
    )
    assert found.violated == twin.broken
    assert found.violated == (found.trials < 700)
    assert found.instrument == "betting"


def test_a_monitor_goes_on_and_keeps_its_best_bound() -> None:
    found = monitor_mechanism(
        partial(laplace, epsilon=2.0), 0, 1, claimed=1.0, most_runs=2000, seed=1, stop=False
    )
    runs, bounds, evidence = found.path.T
    assert found.trials == 2000
    assert (np.diff(runs) > 0).all()
    assert (np.diff(bounds) >= 0).all()
    assert 1.2 < found.lower_bound <= 2
    assert found.e_value > 1e6
    assert evidence[0] == pytest.approx(1)
    assert "output 0" in found.event


def test_a_monitor_may_be_fed_for_ever() -> None:
    game, rng, sides = Monitor(claimed=1.0, seed=0), np.random.default_rng(1), []
    for _ in range(400):
        sides.append(game.side)
        game.add(game.side, [laplace(game.side, rng, epsilon=3.0)])
    assert game.refuted
    assert game.bound > 1
    assert 140 < sum(sides) < 260
    assert game.finding().trials == 400
    with pytest.raises(ValueError, match="the coin says"):
        game.add(1 - game.side, [0.0])
    with pytest.raises(ValueError, match="shape"):
        game.add(game.side, [[0.0, 1.0]])


def test_a_monitor_turns_to_another_pair_with_what_was_laid_aside() -> None:
    game, rng = Monitor(claimed=1.0, seed=1, reserve=0.5), np.random.default_rng(0)
    for _ in range(60):
        game.add(game.side, [rng.random()])
    game.turn(([], []))
    assert game.gain == pytest.approx(1)
    for _ in range(60):
        game.add(game.side, [float(game.side)])
    assert game.refuted
    assert game.runs == game.finding().trials == 120
    bare = Monitor(claimed=1.0, seed=1)  # broken twin: nothing was laid aside
    bare.add(bare.side, [0.0])
    with pytest.raises(ValueError, match="reserve=0: expected some of the wealth to be laid aside"):
        bare.turn(([], []))


def test_outputs_may_differ_in_length_and_lack_numbers() -> None:
    game, rng = Monitor(claimed=1.0, seed=3), np.random.default_rng(0)
    for _ in range(60):
        side = game.side
        game.add(side, rng.random(3 + side))
    assert game.refuted
    assert "there is no output 3" in game.finding().event


def test_noise_is_not_convicted_by_what_was_learned_on_itself() -> None:
    """Twenty numbers that say nothing: the same outputs must not teach a rule and be guessed by it."""
    rng = np.random.default_rng(0)
    outputs, sides = rng.random((100, 20)), rng.integers(2, size=100)
    game = Monitor(claimed=0.1, confidence=SURE, seed=0)
    for output in outputs:
        game.add(game.side, output)
    assert not game.refuted
    lesson = Lesson(0.1, math.log(1e6), 0.0, 1e4)
    rule, _ = lesson.learn(outputs[sides == 0], outputs[sides == 1], [str(j) for j in range(20)], seed=0)
    guesses = rule.sides(outputs)
    made = guesses >= 0
    broken = e_value(int((guesses == sides)[made].sum()), int(made.sum()), epsilon=0.1)
    assert broken > 10 * game.e_value
    assert broken > 20


def test_what_a_rule_is_worth_is_told_by_outputs_that_it_was_not_learned_from() -> None:
    """Guesses on noise are right as often as wrong; on the outputs that taught them they look better."""
    rng, names = np.random.default_rng(0), [str(j) for j in range(20)]
    lesson = Lesson(0.1, math.log(1e6), 0.0, 1e4)
    shares: list[list[float]] = [[], []]
    for seed in range(12):
        first, second = (rng.random((40, 20)) for _ in range(2))
        doubled = [np.repeat(side, 2, axis=0) for side in (first, second)]  # each half has all of them
        for share, sides in zip(shares, ((first, second), doubled), strict=True):
            _, tally = lesson.learn(*sides, names, seed=seed)
            share.append(tally.correct / max(tally.correct + tally.wrong, 1.0))
    assert np.mean(shares[0]) < 0.6
    assert np.mean(shares[1]) > 0.75  # broken twin


def test_delta_must_not_be_forgotten() -> None:
    def sometimes(data: int, rng: np.random.Generator) -> float:
        """Randomised response that tells the truth, and says so, with probability δ = .1."""
        if rng.random() < 0.1:
            return 10.0 + data
        return float(data ^ int(rng.random() > 1 / (1 + math.exp(-1))))

    play = partial(monitor_mechanism, sometimes, 0, 1, claimed=1.0, confidence=SURE, most_runs=3000, seed=0)
    assert not play(delta=0.1).flagged
    assert play().flagged  # broken twin


def test_rules_say_what_they_guess() -> None:
    assert str(Rule()) == "no guess"
    assert Rule().sides(np.zeros((3, 2))).tolist() == [-1, -1, -1]
    lesson = Lesson(1.0, 4.6, 0.0, 1e4)
    first, second = np.zeros((20, 1)), np.repeat([[0.0], [5.0]], 10, axis=0)
    rule, tally = lesson.learn(first, second, ["leaf"], seed=0)
    assert rule.guesses[0].event == OutputEvent("leaf", "≠", 0.0)
    assert rule.sides(np.array([[0.0], [5.0]])).tolist() == [-1, 1]
    assert tally == pytest.approx((10, 0.5, 30))
    assert log_wealth(tally, epsilon=1.0).shape == (97,)


class Noisy:
    """A count with noise."""

    def __init__(self, *, epsilon: float = 1.0, random_state: Any = None) -> None:
        self.epsilon, self.random_state = epsilon, random_state

    def get_params(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "random_state": self.random_state}

    def set_params(self, **params: Any) -> Noisy:
        vars(self).update(params)
        return self

    def fit(self, X: Any, y: Any) -> Noisy:
        if len(X) > 90:
            raise RuntimeError("too many")
        self.count_ = len(X) + np.random.default_rng(self.random_state).laplace() / self.epsilon
        return self


def count_of(model: Noisy) -> list[float]:
    return [model.count_]


SIDES = ([0] * 9, [0] * 9), ([0] * 10, [0] * 10)


def test_estimators_are_monitored() -> None:
    play = partial(monitor, partial(Noisy, epsilon=3.0), *SIDES, claimed=1.0, observe=count_of, seed=4)
    found = play(most_runs=500)
    assert found.violated
    assert found.subject == "Noisy"
    assert found.trials < 500
    assert not monitor(Noisy, *SIDES, claimed=1.0, observe=count_of, most_runs=500, confidence=SURE).flagged
    again = play(most_runs=500, jobs=2)
    assert (again.trials, again.lower_bound, again.event) == (found.trials, found.lower_bound, found.event)


def test_failures_are_told() -> None:
    crowd = [0] * 91, [0] * 91
    found = monitor(Noisy, SIDES[0], crowd, claimed=1.0, observe=count_of, most_runs=50)
    assert found.violated  # on one side only: an output like any other
    assert "fit raised RuntimeError" in found.event
    with pytest.raises(AttackError, match="all 50 runs failed on both data sets: fit raised RuntimeError"):
        monitor(Noisy, crowd, crowd, claimed=1.0, observe=count_of, most_runs=50)
    with pytest.raises(AttackError, match="first data set failed: ZeroDivisionError"):
        monitor_mechanism(lambda data, rng: 1 / data, 0, 1, claimed=1.0, most_runs=50)
    with pytest.raises(AttackError, match="jobs=2 needs a factory"):
        monitor(lambda: Noisy(), *SIDES, claimed=1.0, observe=count_of, most_runs=50, jobs=2)
    for bad in ({"most_runs": 0}, {"most_runs": 5, "jobs": 0}, {"most_runs": 5, "claimed": -1.0}):
        with pytest.raises(ValueError, match="expected"):
            monitor(Noisy, *SIDES, **{"claimed": 1.0, "observe": count_of} | bad)
