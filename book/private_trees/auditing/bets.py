"""Bets on one pair of neighbours, of estimators, of mechanisms, and by counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dpaudit import AttackError, AuditSettings, Monitor, MonitoredFinding, black_box
from dpaudit.betting import CoinGame, Tally, exp, log_e_values
from dpaudit.fits import NOTED, Data, Texts, fitting, progress_bar, side_by_side
from dpaudit.settings import Keywords, check_levels
from dpaudit.words import words_of
from dpnb.checks import check_count

from .fixed import Observe, noted_names, two_samples


def _tally(correct: int, guesses: int, rounds: int | None) -> Tally:
    rounds = guesses if rounds is None else rounds
    if not 0 <= correct <= guesses <= rounds:
        raise ValueError(
            f"{correct} correct of {guesses} guesses in {rounds} rounds: expected 0 <= correct <= guesses <= rounds"
        )
    return Tally(correct, guesses - correct, rounds - guesses)


def e_value(
    correct: int, guesses: int, *, epsilon: float, delta: float = 0.0, rounds: int | None = None
) -> float:
    """Evidence of the coin game against (ε, δ)-DP.

    Under the claim the e-value, as the rounds go on, is the wealth of a gambler in an unfair game. It ever reaches c
    with a probability of at most 1/c, however often one looks.

    Parameters
    ----------
    correct : number of correct guesses, 0..``guesses``.
    guesses : number of rounds with a guess.
    epsilon, delta : the claim, ε ≥ 0 and δ in [0, 1).
    rounds : number of all rounds, by default as many as guesses; rounds without a guess count only for δ > 0.

    Returns
    -------
    The e-value, ``inf`` above 10³⁰⁸.

    Raises
    ------
    ValueError
        For numbers out of range.

    References
    ----------
    Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting.
    """
    tally = _tally(correct, guesses, rounds)
    check_levels(0.5, delta)
    if not epsilon >= 0:
        raise ValueError(f"epsilon={epsilon!r}: expected a number of at least 0")
    return exp(float(log_e_values(tally, epsilon=epsilon, delta=delta)))


def betting_bound(
    correct: int, guesses: int, *, confidence: float, delta: float = 0.0, rounds: int | None = None
) -> float:
    """Lower confidence bound of ε from the counts of the coin game, valid at any stopping time.

    Parameters
    ----------
    correct, guesses, rounds : as for :func:`e_value`.
    confidence : probability in (0, 1) that the bound holds, for all numbers of rounds at once.
    delta : δ of the claim, in [0, 1).

    Returns
    -------
    The largest ε of a grid of step .001 such that the e-value is at least 1/(1 − ``confidence``) at this and all
    smaller ones; 0 if the counts show nothing.
    """
    game = CoinGame(confidence=confidence, delta=delta)
    game.now = _tally(correct, guesses, rounds)
    return game.look()


def least_guesses(epsilon: float, *, confidence: float) -> int:
    """Smallest number of runs, all guessed correctly, by which a valid test can refute ε, ln(1/α) / ln(1 + e^−ε).

    Randomised response is ε-DP and passes for a subject that gives its data away with probability σ(ε) a run, so a test
    that convicts after n such runs errs with probability σ(ε)ⁿ.
    """
    check_levels(confidence, 0.0)
    return math.ceil(-math.log(1 - confidence) / math.log1p(math.exp(-epsilon)))


Outputs = Callable[[Sequence[int]], Iterator[ArrayLike]]
"""Outputs of the next runs, on these data sets."""


def _play(game: Monitor, run: Outputs, *, most_runs: int, stop: bool, at_once: int = 1) -> MonitoredFinding:
    """Play until the claim is refuted, or for ``most_runs`` runs."""
    with progress_bar(most_runs, title="betting", unit="run", shown=game.asked.progress) as bar:
        while game.runs < most_runs and not (stop and game.refuted):
            sides = game.ahead(min(at_once, most_runs - game.runs))
            for side, output in zip(list(sides), run(sides), strict=True):
                game.add(side, output)
                bar.update()
                if stop and game.refuted:
                    break
    return game.finding()


def monitor(
    factory: Callable[[], Any],
    first: Data,
    second: Data,
    *,
    most_runs: int,
    observe: Observe | None = None,
    stop: bool = True,
    **settings: Unpack[Keywords],
) -> MonitoredFinding:
    """Audit any scikit-learn-like estimator on one pair of neighbours; stop as soon as the claim is refuted.

    An exception or a warning of a run is an output like any other, as in :func:`~private_trees.auditing.fixed.attack`.

    Parameters
    ----------
    factory, first, second, observe : as for :func:`~private_trees.auditing.fixed.attack`.
    most_runs : largest number of fits, each on one of the data sets by a coin.
    stop : whether to stop when the claim is refuted; otherwise all runs go for the largest bound.
    settings : of :class:`~dpaudit.settings.AuditSettings`; the bound holds however long the audit went on.

    Returns
    -------
    MonitoredFinding, whose ``trials`` are the number of runs that it took.

    Raises
    ------
    AttackError
        If every run fails, or ``factory`` cannot be sent to a process.
    ValueError
        For numbers out of range.

    References
    ----------
    Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting; González, Dulce-Rubio,
    Ramdas, Ribero (2025), Sequentially auditing differential privacy, who bet on pairs of runs.
    """
    asked = AuditSettings(**settings).about(subject=type(factory()).__name__)
    check_count("most_runs", most_runs, low=1)
    observe = black_box(first, second) if observe is None else observe
    texts: Texts = {}
    game = Monitor(
        names=partial(noted_names, observe),
        tell=lambda event: words_of(event, texts),
        best=not stop,
        most_runs=most_runs,
        **vars(asked),
    )
    samples = two_samples(factory, first, second, observe, failures=True)
    seeds, asked_for = np.random.default_rng([asked.seed, 1]), 0  # apart from the coin's
    with fitting(samples, jobs=asked.jobs) as made:

        def outputs(sides: Sequence[int]) -> Iterator[ArrayLike]:
            nonlocal asked_for
            runs = [(side, int(seeds.integers(2**32)), asked_for + i) for i, side in enumerate(sides)]
            asked_for += len(runs)
            return (side_by_side(seen, texts) for seen in made(runs))

        at_once = 1 if asked.jobs == 1 else 16 * asked.jobs  # what is fitted in vain when the claim falls
        found = _play(game, outputs, most_runs=most_runs, stop=stop, at_once=at_once)
    if not game.seen_beside(len(NOTED)):
        why = next((text for text in texts.values() if text), "nothing was observed")
        raise AttackError(f"all {game.runs} runs failed on both data sets: {why}")
    return found


def monitor_mechanism(
    run: Callable[[Any, np.random.Generator], ArrayLike],
    first: Any,
    second: Any,
    *,
    most_runs: int,
    stop: bool = True,
    **settings: Unpack[Keywords],
) -> MonitoredFinding:
    """:func:`monitor` for a plain mechanism.

    Parameters
    ----------
    run : data set, random generator → released numbers, one-dimensional or a single one.
    first, second : the neighbours.
    most_runs, stop, settings : as for :func:`monitor`.
    """
    asked = AuditSettings(**settings).about(subject=getattr(run, "__name__", type(run).__name__))
    check_count("most_runs", most_runs, low=1)
    game = Monitor(best=not stop, most_runs=most_runs, **vars(asked))
    rng = np.random.default_rng([asked.seed, 1])

    def outputs(sides: Sequence[int]) -> Iterator[ArrayLike]:
        for side in sides:
            try:
                yield run((first, second)[side], rng)
            except Exception as error:
                which = ("first", "second")[side]
                raise AttackError(
                    f"run {game.runs} on the {which} data set failed: {type(error).__name__}: {error}"
                ) from error

    return _play(game, outputs, most_runs=most_runs, stop=stop)
