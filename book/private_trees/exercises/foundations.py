"""Checks of the exercises of chapters 1 to 3: each says which case fails, and why.

A check takes the reader's function, tries it on cases with a known answer, and prints "all right" or raises
an :class:`AssertionError` that names the first case that fails. Draws are judged at five standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from dpnb.arrays import Floats
from dpnb.privacy import laws
from dpnb.trees import scores

from .answers import judge

DRAWS = 20_000
FAR = 5.0  # standard errors that a right answer does not stray
START = np.array([0])


def _compare_share(case: str, found: float, expected: float, draws: int, hint: str) -> None:
    """Refuse a share of draws that is too far from its probability."""
    error = np.sqrt(expected * (1 - expected) / draws)
    assert abs(found - expected) <= FAR * error, (
        f"{case}: {found:.3f} of {draws} draws, expected {expected:.3f} ± {FAR * error:.3f}. {hint}"
    )


def _refuse_no_number(case: str, found: object) -> None:
    """Refuse what cannot be compared with a number."""
    assert isinstance(found, int | float | np.number), f"{case}: {found!r} is returned, expected a number"


@judge
def check_geometric(draw: Callable[[np.random.Generator, int, float], ArrayLike]) -> None:
    """Check ``draw(rng, size, epsilon)``, which returns ``size`` draws of two-sided geometric noise."""
    for epsilon in (0.5, 1.0, 2.0):
        values = np.asarray(draw(np.random.default_rng(0), DRAWS, epsilon))
        case = f"ε = {epsilon:g}"
        assert values.shape == (DRAWS,), (
            f"{case}: an array of shape {values.shape} is returned, expected {DRAWS} draws"
        )
        assert np.array_equal(values, np.round(values)), (
            f"{case}: {values[values != np.round(values)][:1]} is drawn, expected whole numbers only"
        )
        assert values.min() < 0, f"{case}: no draw is below 0, expected both signs: noise has two sides"
        law = laws.TwoSidedGeometric(np.zeros(5, int), np.full(5, 1 / epsilon))
        for k, log_share in zip(range(-2, 3), law.log_density(np.arange(-2, 3)), strict=True):
            hint = f"Neighbouring whole numbers differ by the factor e^-ε = {np.exp(-epsilon):.3f}."
            _compare_share(
                f"{case}, noise {k}", float(np.mean(values == k)), float(np.exp(log_share)), DRAWS, hint
            )
        ratio = np.exp(-epsilon)
        # A hundred draws or more lie beyond this end, on either side.
        end = int(np.log(100 / DRAWS * (1 + ratio)) / -epsilon)
        for side, beyond in (("from {} on", values >= end), ("up to -{}", values <= -end)):
            hint = "The law has no last number: where noise ends, an output gives the count away."
            share = float(ratio**end / (1 + ratio))
            _compare_share(f"{case}, noise {side.format(end)}", float(beyond.mean()), share, DRAWS, hint)


def careless_count(records: Sequence[int], output: int, *, epsilon: float = 1.0) -> float:
    """Probability of an output of a counter of ones that adds geometric noise, but none where the count is 0.

    Parameters
    ----------
    records : a data set of zeros and ones.
    output : a whole number that may be released.
    epsilon : what the counter claims.
    """
    count = sum(records)
    if count == 0:
        return float(output == 0)
    ratio = np.exp(-epsilon)
    return float((1 - ratio) / (1 + ratio) * ratio ** abs(output - count))


@judge
def check_witness(witness: Callable[[], tuple[Sequence[int], Sequence[int], int]]) -> None:
    """Check ``witness()``, which returns two neighbours and an output that refute ``careless_count`` outright."""
    answer = witness()
    three = isinstance(answer, tuple | list) and len(answer) == 3
    assert three, f"{answer!r} is returned, expected three things: two lists of zeros and ones, and an output"
    first, second, output = answer
    for name, records in (("first", first), ("second", second)):
        assert set(records) <= {0, 1}, f"the {name} data set is {list(records)}, expected only zeros and ones"
    smaller, larger = sorted((list(first), list(second)), key=len)
    whole = isinstance(output, int | float | np.integer) and output % 1 == 0
    assert whole, f"the output is {output!r}, expected a whole number: the counter releases nothing else"
    rest = list(larger)
    for record in smaller:
        if record in rest:
            rest.remove(record)
    assert (len(larger) - len(smaller), len(rest)) == (1, 1), (
        f"{list(first)} and {list(second)} are no neighbours under add-remove: expected one with one record more"
    )
    chances = [careless_count(records, output) for records in (first, second)]
    assert max(chances) > 0, f"the output {output} comes from neither data set"
    assert min(chances) == 0, (
        f"the output {output} has the probabilities {chances[0]:.3f} and {chances[1]:.3f}: expected one of them to be "
        "0, so that the loss is infinite"
    )


@judge
def check_permute_and_flip(choose: Callable[[Floats, float, np.random.Generator], int]) -> None:
    """Check ``choose(scores, rate, rng)``, which returns the position of the score that permute-and-flip draws."""
    cases: Mapping[str, tuple[list[float], float]] = {
        "scores 0, -1, -3 at rate 1": ([0.0, -1.0, -3.0], 1.0),
        "the same scores plus 100": ([100.0, 99.0, 97.0], 1.0),
        "the best one last, at rate 1/2": ([-2.0, -2.0, 0.0], 0.5),
        "two equal scores": ([5.0, 5.0], 2.0),
    }
    draws = DRAWS // 4
    for case, (values, rate) in cases.items():
        given, rng = np.array(values), np.random.default_rng(0)
        chosen = [choose(given.copy(), rate, rng) for _ in range(draws)]
        strange = [c for c in chosen if not (isinstance(c, int | np.integer) and 0 <= c < len(values))]
        assert not strange, (
            f"{case}: {strange[0]!r} is returned, expected a position from 0 to {len(values) - 1}, a whole number"
        )
        exact = laws.PermuteAndFlip(given, START, np.array(rate)).probabilities()
        for j, expected in enumerate(exact):
            hint = "Look in random order; accept with probability exp(rate · (score − best score))."
            _compare_share(f"{case}, candidate {j}", chosen.count(j) / draws, float(expected), draws, hint)


@judge
def check_bag_price(price: Callable[[NDArray[np.float64], float], float]) -> None:
    """Check ``price(pmf, epsilon_0)``, the cost of a tree in whose bag a record is ``k`` times with ``pmf[k]``."""
    copies = np.arange(40)
    cases = {
        "always once": (np.array([0.0, 1.0]), 0.3, 0.3),
        "always twice": (np.array([0.0, 0.0, 1.0]), 0.3, 0.6),
        "one record in five": (np.array([0.8, 0.2]), 0.5, np.log1p(0.2 * np.expm1(0.5))),
        "a Poisson bag": (stats.poisson.pmf(copies, 1), 0.5, np.expm1(0.5)),
    }
    for case, (pmf, epsilon_0, expected) in cases.items():
        found = price(pmf.copy(), epsilon_0)
        _refuse_no_number(case, found)
        assert np.isclose(found, expected, rtol=1e-6), (
            f"{case}, ε0 = {epsilon_0:g}: {found:.4f}, expected {expected:.4f}. The price is ln E exp(ε0 K)."
        )


SPREAD = scores.Score(  # unlike the others it changes most where its table is spread out
    "the root of max",
    lambda table: np.sqrt(scores.MAX_CLASS_SUM(table)),
    sensitivity=1.0,
    sensitivity_at=lambda n: np.sqrt(n // 2 + 1) - np.sqrt(n // 2),
    monotone=True,
)


@judge
def check_sensitivity(largest: Callable[[scores.Score, int], float]) -> None:
    """Check ``largest(score, n)``, which returns the most that an ``n``-th record changes a score of a 2 × 2 table."""
    named = (scores.SCORES[name] for name in ("max", "info_gain", "gini", "gini_normalised"))
    for score in (*named, SPREAD):
        for n in (2, 5):
            found, expected, case = largest(score, n), score.sensitivity_at(n), f"{score.name}, n = {n}"
            _refuse_no_number(case, found)
            assert np.isclose(found, expected), (
                f"{case}: {found:.4f}, expected {expected:.4f}. Try all tables of n − 1 records, and one record more "
                "in each of the four cells. A fall counts as much as a rise."
            )


def records_needed(
    candidates: int, *, lead: float, miss: float, epsilon: float, depth: int, sensitivity: float
) -> float:
    """Return the number of records with which a node misses its best split with probability ``miss`` at most.

    Parameters
    ----------
    candidates : their number, at least 2.
    lead : by which the best leads all others, as a share of the records.
    miss : probability, above 0.
    epsilon : budget of the tree, in ``depth`` + 1 equal shares.
    depth : of the tree.
    sensitivity : of the score, which is monotone.
    """
    return float((depth + 1) * sensitivity / (epsilon * lead) * np.log((candidates - 1) / (2 * miss)))


@judge
def check_records_needed(needed: Callable[..., float]) -> None:
    """Check ``needed(candidates, lead=…, miss=…, epsilon=…, depth=…, sensitivity=…)``, the records that are enough."""
    base = {"lead": 0.01, "miss": 0.1, "epsilon": 1.0, "depth": 5, "sensitivity": 2.0}
    cases: Mapping[str, dict[str, float]] = {
        "the exercise's node": {},
        "a tenth of the budget": {"epsilon": 0.1},
        "a tree of one node": {"depth": 0},
        "a score of sensitivity 1": {"sensitivity": 1.0},
        "a miss of one in a thousand": {"miss": 0.001},
    }
    for case, changed in cases.items():
        asked = base | changed
        expected = records_needed(428, **asked)  # type: ignore[arg-type]  # depth is whole in all cases
        found = needed(428, **asked)
        _refuse_no_number(case, found)
        assert np.isclose(found, expected, rtol=1e-6), (
            f"{case}: {found:.0f} records, expected {expected:.0f}. The budget has depth + 1 equal shares, and the "
            "rate of a choice with a monotone score is its share divided by the sensitivity."
        )
