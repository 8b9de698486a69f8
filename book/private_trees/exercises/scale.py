"""Checks of the exercises of the chapter on scale: each says which case fails, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpnb.arrays import Floats, Ints


class WrongAnswerError(AssertionError):
    """An answer that is not right; the message names the case and says why."""


# --- Sums that do not depend on the order -------------------------------------------------------------------


def check_sum(your_function: Callable[[Floats], float]) -> None:
    """Check a sum of weights that is the same in any order and adds up over parts.

    Parameters
    ----------
    your_function : takes (n,) weights in [0, 1] and returns their sum, off by at most n · 2⁻²⁹.

    Raises
    ------
    WrongAnswerError
        If it depends on the order or on the division into parts, or is too coarse.
    """
    rng = np.random.default_rng(8)
    weights = np.minimum(1, np.exp(-rng.normal(0.5, 1.0, 50_001)))
    whole = your_function(weights)
    for order in range(10):
        other = your_function(rng.permutation(weights))
        if other != whole:
            raise WrongAnswerError(
                f"order {order} of the same weights: your sums differ by {abs(other - whole):.1e}; round each "
                "weight before anything is added"
            )
    for parts in (2, 7, 50):
        added = sum(your_function(part) for part in np.array_split(weights, parts))
        if added != whole:
            raise WrongAnswerError(
                f"{parts} parts: their sums add up to {abs(added - whole):.1e} more or less than the whole; a sum "
                "that is rounded at the end, as math.fsum is, adds up no better: round the weights"
            )
    # All rounded down, or all up, weights of these sizes are off by nearly two halves of a step.
    near = {f"weights of {size:g} · 2⁻²⁸": np.full(len(weights), size * 2.0**-28) for size in (0.99, 1.01)}
    for what, given in ({"weights": weights} | near).items():
        off, most = abs(your_function(given) - math.fsum(given)), len(given) * 2.0**-29
        if off > most + 1e-9:
            raise WrongAnswerError(
                f"{len(given)} {what}: off by {off:.1e}, allowed are {most:.1e}; use steps that are fine enough, "
                "and round to the nearest"
            )
    print("The same to the last bit in 10 orders and in 2, 7 and 50 parts.")


# --- Tasks that fail, and tasks that run twice ---------------------------------------------------------------


class Attempt(NamedTuple):
    """One attempt of a task.

    Parameters
    ----------
    task : number of the task.
    ended : whether the attempt ended; what a failed one counted is not whole.
    table : (cells,) its counts.
    """

    task: int
    ended: bool
    table: Ints


ATTEMPTS: dict[str, tuple[Attempt, ...]] = {
    "no failure": (Attempt(0, True, np.array([3, 1])), Attempt(1, True, np.array([0, 2]))),
    "a task fails, then ends": (
        Attempt(0, True, np.array([3, 1])),
        Attempt(1, False, np.array([0, 1])),
        Attempt(1, True, np.array([0, 2])),
    ),
    "a slow task is run twice, and both end": (
        Attempt(0, True, np.array([3, 1])),
        Attempt(1, True, np.array([0, 2])),
        Attempt(0, True, np.array([3, 1])),
    ),
    "a copy fails after its task has ended": (
        Attempt(0, True, np.array([3, 1])),
        Attempt(1, True, np.array([0, 2])),
        Attempt(1, False, np.array([0, 0])),
    ),
}
TOTAL = np.array([3, 3])


def check_total(your_function: Callable[[Sequence[Attempt]], Ints]) -> None:
    """Check a sum of tables over tasks, some of which failed or ran twice.

    Parameters
    ----------
    your_function : takes the attempts in the order of their ends and returns the counts of all records, each once.

    Raises
    ------
    WrongAnswerError
        At the first history that it counts wrongly, by name.
    """
    for case, attempts in ATTEMPTS.items():
        yours = np.asarray(your_function(attempts))
        if not np.array_equal(yours, TOTAL):
            more = yours.sum() > TOTAL.sum()
            why = (
                "some records count more than once, and so would one of them in the noise's sensitivity"
                if more
                else "records are missing: use an attempt that ended"
            )
            raise WrongAnswerError(f"{case}: you count {yours.tolist()}, expected {TOTAL.tolist()}; {why}")
    print(f"{len(ATTEMPTS)} histories give the same table.")


# --- Shards by key ------------------------------------------------------------------------------------------


def check_shards(your_function: Callable[[NDArray[np.uint64], int], Ints]) -> None:
    """Check a rule that gives each record its shard.

    Parameters
    ----------
    your_function : takes (n,) keys, all different, and a number m of shards, and returns (n,) shards, 0 to m − 1.

    Raises
    ------
    WrongAnswerError
        If a shard follows from anything but the record's own key, or the shards are far from equal.
    """
    rng = np.random.default_rng(8)
    keys, m = rng.integers(0, 2**63, 4001).astype(np.uint64), 8
    shards = np.asarray(your_function(keys, m))
    if shards.shape != keys.shape or shards.min() < 0 or shards.max() >= m:
        raise WrongAnswerError(f"{len(keys)} keys: expected as many shards, each from 0 to {m - 1}")
    order = rng.permutation(len(keys))
    if not np.array_equal(your_function(keys[order], m), shards[order]):
        raise WrongAnswerError(
            "shuffled rows: records change their shards; a distributed table has no positions"
        )
    moved = int((np.asarray(your_function(keys[1:], m)) != shards[1:]).sum())
    if moved:
        raise WrongAnswerError(
            f"a record is removed: {moved} other records change their shards, so one record changes many counts; "
            "use each key by itself, not its rank"
        )
    sizes = np.bincount(shards, minlength=m)
    if sizes.max() > 1.5 * len(keys) / m:
        raise WrongAnswerError(f"shards hold {sizes.tolist()} records: expected about {len(keys) // m} each")
    print(f"Shards follow from the key alone and hold {sizes.min()} to {sizes.max()} records.")
