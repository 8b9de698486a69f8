"""Checks of the exercises of the chapter on eDPRF: each says which case fails and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import permutations
from math import isclose
from typing import Any

import numpy as np
import pandas as pd

from dpnb.arrays import Floats
from dpnb.domain import Continuous, Domain
from dpnb.papers.edprf import EDPRF, level_shares
from dpnb.privacy.laws import PermuteAndFlip

from .answers import judge

Flip = Callable[[Sequence[float], float, Callable[[int], list[int]], Callable[[float], bool]], int]


class _Tape:
    """Random choices that follow a prefix, then take the first way; it remembers all ways at each choice."""

    def __init__(self, prefix: Sequence[int]) -> None:
        self.prefix = prefix
        self.taken: list[int] = []
        self.ways: list[int] = []
        self.probability = 1.0

    def choose(self, weights: Sequence[float]) -> int:
        possible = [i for i, weight in enumerate(weights) if weight > 0]
        at = len(self.taken)
        way = self.prefix[at] if at < len(self.prefix) else 0
        self.taken.append(way)
        self.ways.append(len(possible))
        self.probability *= weights[possible[way]]
        return possible[way]

    def shuffled(self, n: int) -> list[int]:
        orders = list(permutations(range(n)))
        return list(orders[self.choose([1 / len(orders)] * len(orders))])

    def coin(self, heads: float) -> bool:
        assert 0 <= heads <= 1, (
            f"coin({heads:.3g}): the probability of heads lies between 0 and 1; "
            "subtract the best score, and mind the sign"
        )
        return self.choose([heads, 1 - heads]) == 0


def law_of(run: Callable[[_Tape], int], n: int, case: str) -> Floats:
    """Probabilities of the outcomes 0 to n − 1 of a run, over all ways that its coins can fall."""
    most_runs = 5000  # of an enumeration; four coins in all orders need far fewer
    law, runs = np.zeros(n), 0
    open_prefixes = deque[tuple[int, ...]]([()])
    while open_prefixes:
        tape = _Tape(open_prefixes.popleft())  # short runs first: some answers have runs without end
        outcome, runs = run(tape), runs + 1
        assert outcome in range(n), (
            f"{case}: you return {outcome!r}; expected the position of a candidate, 0 to {n - 1}"
        )
        assert runs <= most_runs, (
            f"{case}: the flips never end; a candidate that was refused must not come back. "
            "With replacement the same coins give the exponential mechanism"
        )
        law[outcome] += tape.probability
        for at in range(len(tape.prefix), len(tape.taken)):
            open_prefixes += [(*tape.taken[:at], way) for way in range(1, tape.ways[at])]
    return law


@judge
def check_permute_and_flip(your_function: Flip) -> str:
    """Check ``permute_and_flip(scores, rate, shuffled, coin)``, which returns the position of the chosen candidate.

    Parameters
    ----------
    your_function : takes ``(scores, rate, shuffled, coin)`` and returns the position of the chosen candidate.
        ``shuffled(n)`` is 0 to n − 1 in random order, ``coin(p)`` is true with probability p.
    """
    choices = (((6, 4, 2), 0.5), ((0, -2, -4), 0.5), ((3, 3), 1.0), ((-1,), 0.3), ((5, 6, 4, 5), 0.7))
    for scores, rate in choices:
        case = f"scores {scores} at rate {rate}"

        def run(tape: _Tape, scores: Any = scores, rate: float = rate) -> int:
            return your_function(scores, rate, tape.shuffled, tape.coin)

        law = law_of(run, len(scores), case)
        right = PermuteAndFlip(np.array(scores, float), np.array([0]), np.array(rate)).probabilities()
        assert np.allclose(law, right, atol=1e-9), (
            f"{case}: your law is {law.round(4)}, permute-and-flip has {right.round(4)}"
        )
    return f"{len(choices)} cases agree, each over all orders and all falls of the coins"


@judge
def check_path_budgets(your_function: Callable[[int, int, float], Sequence[float]]) -> str:
    """Check ``path_budgets(leaf_level, n_levels, epsilon)``, which returns a number for each node of the path.

    Parameters
    ----------
    your_function : takes ``(leaf_level, n_levels, epsilon)``, levels from 1, and returns a budget for each node of the
        path, the leaf's last.
    """
    paths = ((3, 3, 1.0), (2, 3, 1.0), (1, 3, 1.0), (4, 6, 0.5), (8, 8, 2.0))
    for leaf, levels, epsilon in paths:
        case = f"leaf on level {leaf} of {levels}, epsilon {epsilon:g}"
        budgets = np.asarray(your_function(leaf, levels, epsilon), float)
        assert budgets.shape == (leaf,), f"{case}: {budgets.size} budgets; the path has {leaf} nodes"
        above = epsilon * level_shares(levels, "harmonic")[: leaf - 1]
        for level, (yours, right) in enumerate(zip(budgets, above, strict=False), 1):
            assert isclose(yours, right), (
                f"{case}: level {level} has {yours:.4f}; equation (9) gives it {right:.4f}"
            )
        assert isclose(budgets.sum(), epsilon), (
            f"{case}: the path spends {budgets.sum():.4f}; "
            "by equation (10) the leaf takes all that the path has not spent"
        )
    return f"{len(paths)} paths spend exactly their budget"


@judge
def check_broken_stop(your_function: Callable[[int], tuple[Sequence[int], int]]) -> str:
    """Check ``broken_stop(n_trees)``, which returns the labels of D, each 0 or 1, and the label of the record added.

    Parameters
    ----------
    your_function : takes the number of trees; returns the labels of D, each 0 or 1, and the label of the record that D′
        has besides.
    """
    seeds = 10
    line = Domain((Continuous("x", 0, 1),), (0, 1))
    for trees in (2, 3, 5):
        labels, more = your_function(trees)
        strange = [label for label in (*labels, more) if label not in (0, 1)]
        assert not strange, f"{trees} trees: {strange[0]!r} is no label; each label is the number 0 or 1"
        for name, y in (("D", [*labels]), ("D'", [*labels, more])):
            X = pd.DataFrame({"x": np.linspace(0, 1, len(y))})
            for seed in range(seeds):
                forest = EDPRF.as_written(
                    domain=line, n_trees=trees, bags="parts", bins="public", epsilon=0.1, random_state=seed
                )
                split = any(tree.n_nodes > 1 for tree in forest.fit(X, np.array(y)).trees_)
                wrong = f"{trees} trees, seed {seed}: "
                if name == "D":
                    assert not split, f"{wrong}some tree splits on D; its nodes must hold one label only"
                else:
                    assert split, (
                        f"{wrong}no tree splits on D'; the new record must meet another label in its part"
                    )
    return f"On D no tree split, on D' some tree did: 2, 3 and 5 trees, {seeds} seeds each"


@judge
def check_right_label(your_function: Callable[[float, float, int], float]) -> str:
    """Check ``right_label(gap, rate, n_classes)``, which returns the probability that the largest class is named.

    Parameters
    ----------
    your_function : takes ``(gap, rate, n_classes)``; all classes but one have ``gap`` records less than the largest.
    """
    cases = [(gap, rate, classes) for classes in (2, 3, 6) for gap in (1.0, 4.0, 0.0) for rate in (0.5, 1.0)]
    for gap, rate, classes in cases:
        counts = np.array([gap] + [0.0] * (classes - 1))
        right = PermuteAndFlip(counts, np.array([0]), np.array(rate)).probabilities()[0]
        assert isclose(yours := your_function(gap, rate, classes), right, abs_tol=1e-9), (
            f"{classes} classes, gap {gap:g}, rate {rate:g}: you say {yours:.4f}, "
            f"the right label has probability {right:.4f}"
        )
    return f"{len(cases)} cases agree"
