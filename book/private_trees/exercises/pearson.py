"""Helpers and checks of the exercises of the chapter on the Pearson tree.

A check takes the reader's function. It prints "all right", or raises an ``AssertionError`` that names the case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpnb.arrays import Floats, Ints
from dpnb.trees.scores import ABS_PHI, Score

from .answers import judge

Row = tuple[int, int, int]


def counts_of(x: ArrayLike, y: ArrayLike) -> Floats:
    """Count the records of each branch and class, (2, 2), from columns of zeros and ones."""
    table = np.zeros((2, 2))
    np.add.at(table, (np.asarray(x, int), np.asarray(y, int)), 1)
    return table


def phi(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's coefficient of two columns of zeros and ones, without its sign; 0 where one column is constant."""
    return float(ABS_PHI(counts_of(x, y)))


def moved_apart(score: Score, n: int) -> float:
    """Range of a score's changes over all cuts, when a record of class 1 joins n - 1 others of two classes."""
    worst = 0.0
    for ones in range(n):
        a, b = np.meshgrid(range(ones + 1), range(n - ones), indexing="ij")
        right, left = np.stack([b, a], -1), np.stack([n - 1 - ones - b, ones - a], -1)
        before = np.stack([left, right], -2).astype(float)
        after = before.copy()
        after[..., 1, 1] += 1  # the record is on the right
        worst = max(worst, float(np.ptp(score(after) - score(before))))
    return worst


def block_losses(m: int, copies: int, epsilon: float) -> tuple[float, float]:
    """Exact losses of a choice from m blocks of two to which a record is added, if a or if a copy of b is drawn."""
    rate = epsilon / 2
    of_a = np.log1p(copies * np.exp((m - 1) * rate)) - np.log1p(copies * np.exp(-m * rate))
    of_b = np.log(copies + np.exp(m * rate)) - np.log(copies + np.exp(-(m - 1) * rate))
    return float(of_a), float(of_b)


def path_loss(epsilon: float, attributes: int, apart: int, h: int) -> float:
    """Exact loss of h choices that leave a record with the others, though ``apart`` attributes tell it from them."""
    kept = (attributes - apart - np.arange(h)) / (attributes - np.arange(h))
    return float(np.log(kept + (1 - kept) * np.exp(epsilon / 2)).sum())


def numbered_loss(epsilon: float, copies: int) -> float:
    """Exact loss of the two choices of the proof of `pcc-levels` with three class numbers."""
    root = np.exp(epsilon / 2) / (np.exp(epsilon / 2) + copies + 1)
    root *= copies * np.exp(np.sqrt(3) / 2 * epsilon / 2) + 2
    return float(np.log(root * (copies * np.exp(epsilon / 2) + 1) / (copies + 1)))


@judge
def check_phi(mine: Callable[[Floats], float]) -> None:
    """Check a function of a (2, 2) table of counts, branch by class, that gives the coefficient without its sign."""
    phi_cases = {
        "the cut says the class": [[5, 0], [0, 7]],
        "the cut says the opposite": [[0, 4], [6, 0]],
        "all records in one branch": [[3, 2], [0, 0]],
        "all records of one class": [[3, 0], [4, 0]],
        "branches that do not help": [[2, 4], [3, 6]],
        "some help": [[30, 10], [5, 15]],
        "no record": [[0, 0], [0, 0]],
    }
    for name, table in phi_cases.items():
        said, right = float(mine(np.array(table, float))), float(ABS_PHI(table))
        assert np.isclose(said, right, atol=1e-9), f"{name}, {table}: yours {said:.4f}, expected {right:.4f}"


@judge
def check_shards(mine: Callable[[Sequence[str], int, bytes], Any], *, m: int = 8, n: int = 2_000) -> None:
    """Check a function of keys, m and a secret that gives each record a shard, 0 to m - 1, by its key and the secret.

    Nobody without the secret may be able to tell which records are together. So with another secret, only about one
    pair in m stays together.
    """
    keys = [f"patient {i}" for i in range(n)]

    def asked(which: Sequence[str], secret: bytes = b"drawn once") -> Ints:
        found = np.asarray(mine(which, m, secret))
        usable = found.shape == (len(which),) and found.dtype.kind in "iu"
        assert usable, (
            f"{len(which)} keys: yours gives the shape {found.shape} of the type {found.dtype}, expected a list of one "
            "whole number for each key"
        )
        return found.astype(np.int64)

    first = asked(keys)
    low, high = int(first.min()), int(first.max())
    assert 0 <= low <= high < m, f"shards from {low} to {high}: expected 0 to {m - 1}"
    assert np.array_equal(first, asked(keys)), "the same keys twice: yours gives other shards"
    for place, at in (("at the end", n), ("in front", 0), ("in the middle", n // 2)):
        more = [*keys[:at], f"patient {n}", *keys[at:]]
        moved = int((np.delete(asked(more), at) != first).sum())
        assert moved == 0, f"one record more {place}: {moved} others change their shard"
    moved = int((asked(keys[::-1])[::-1] != first).sum())
    assert moved == 0, f"the file in reverse order: {moved} records change their shard"
    sizes = np.bincount(first, minlength=m)
    even = n / m
    assert abs(sizes - even).max() < 6 * np.sqrt(even), (
        f"sizes of the shards {sizes.tolist()}: expected about {even:g} each"
    )
    for other in (b"drawn again", b"and once more"):
        both = int(np.bincount(first * m + asked(keys, other), minlength=m * m).max())
        assert both < even / m + 6 * np.sqrt(even / m), (
            f"two secrets: {both} records are in one shard with either, expected about {even / m:.0f}. Without the "
            "secret anybody can tell which records are together"
        )


BLOCKS, LOSS = 4, 1.5


def block_law(rows: Sequence[Row], m: int, epsilon: float) -> Floats:
    """Probabilities that a and b are drawn, from m blocks by position, at the rate for a sensitivity of 1/m."""
    a, b, y = np.array(rows, int).reshape(-1, 3).T
    blocks = np.array_split(np.arange(len(y)), m)
    q = np.array([np.mean([phi(x[i], y[i]) for i in blocks]) for x in (a, b)])
    weights = np.exp(epsilon * m / 2 * q)
    return np.asarray(weights / weights.sum(), float)


@judge
def check_pair(mine: Callable[[], tuple[Sequence[Row], Row]]) -> None:
    """Check a function that gives rows (a, b, class), and one row more with which four blocks lose more than 1.5."""
    before, record = mine()
    for number, row in enumerate([*before, record]):
        good = len(row) == 3 and set(row) <= {0, 1}
        assert good, f"row {number} is {tuple(row)}: expected a, b and the class, each 0 or 1"
    assert len(before) >= BLOCKS, f"{len(before)} rows: expected {BLOCKS} or more, one a block at least"
    laws = [block_law(rows, BLOCKS, 1.0) for rows in (before, [*before, record])]
    losses = np.abs(np.log(laws[1] / laws[0]))
    most = float(losses.max())
    assert most > LOSS, (
        f"a is drawn with {laws[0][0]:.3f} before and {laws[1][0]:.3f} after: a loss of {most:.2f}, "
        f"expected more than {LOSS}"
    )


@judge
def check_share(mine: Callable[[float, float, int, int, bool], float]) -> None:
    """Check a function that gives the budget of one choice, so that the total is what the ledger books."""
    budgets = [  # total, epsilon_2, h, m, blocks by position
        (1.0, 0.5, 4, 8, True),
        (1.0, 0.5, 4, 8, False),
        (2.0, 0.6, 1, 16, True),
        (0.5, 0.1, 6, 1, True),
    ]
    for total, leaf, h, m, by_position in budgets:
        case = (
            f"total {total:g}, leaves {leaf:g}, h = {h}, m = {m}, {'blocks' if by_position else 'by record'}"
        )
        said = float(mine(total, leaf, h, m, by_position))
        booked = (m if by_position else 1) * h * said + leaf
        assert np.isclose(booked, total), (
            f"{case}: with your ε₁ = {said:g} the ledger books {booked:g}, expected {total:g}"
        )
