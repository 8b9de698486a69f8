"""Checks of the exercises of the chapter on scale: each says which case fails, and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpnb.arrays import Floats, Ints

from .answers import judge


@judge
def check_sum(your_function: Callable[[Floats], float]) -> str:
    """Check a function of weights that returns a number, their sum, the same in any order and over any parts.

    Parameters
    ----------
    your_function : takes (n,) weights in [0, 1] and returns their sum, off by at most n · 2⁻²⁹.
    """
    rng = np.random.default_rng(8)
    weights = np.minimum(1, np.exp(-rng.normal(0.5, 1.0, 50_001)))
    whole = your_function(weights)
    for order in range(10):
        other = your_function(rng.permutation(weights))
        assert other == whole, (
            f"order {order} of the same weights: your sums differ by {abs(other - whole):.1e}; round each "
            "weight before anything is added"
        )
    for parts in (2, 7, 50):
        added = sum(your_function(part) for part in np.array_split(weights, parts))
        assert added == whole, (
            f"{parts} parts: their sums differ from the sum of the whole by {abs(added - whole):.1e}; a sum that "
            "is rounded at the end, as math.fsum is, adds up no better, so round the weights"
        )
    # All rounded down, or all up, weights of these sizes are off by nearly two halves of a step.
    near = {f"weights of {size:g} · 2⁻²⁸": np.full(len(weights), size * 2.0**-28) for size in (0.99, 1.01)}
    for what, given in ({"weights": weights} | near).items():
        off, most = abs(your_function(given) - math.fsum(given)), len(given) * 2.0**-29
        assert off <= most + 1e-9, (
            f"{len(given)} {what}: off by {off:.1e}, allowed are {most:.1e}; use steps that are fine enough, "
            "and round to the nearest"
        )
    return "the same to the last bit in 10 orders and in 2, 7 and 50 parts"


class Attempt(NamedTuple):
    """One attempt of a task."""

    task: int  # number of the task
    ended: bool  # whether the attempt ended; what a failed one counted is not whole
    table: Ints  # (cells,) its counts


@judge
def check_total(your_function: Callable[[Sequence[Attempt]], Ints]) -> str:
    """Check a function of attempts, some failed or run twice, that returns an array with the counts of all records.

    Parameters
    ----------
    your_function : takes the attempts in the order of their ends and returns the counts of all records, each once.
    """
    first, second = Attempt(0, True, np.array([3, 1])), Attempt(1, True, np.array([0, 2]))
    all_attempts: dict[str, tuple[Attempt, ...]] = {
        "no failure": (first, second),
        "a task fails, then ends": (first, Attempt(1, False, np.array([0, 1])), second),
        "a slow task is run twice, and both end": (first, second, first),
        "a copy fails after its task has ended": (first, second, Attempt(1, False, np.array([0, 0]))),
    }
    total = np.array([3, 3])
    for case, attempts in all_attempts.items():
        yours = np.asarray(your_function(attempts))
        assert yours.shape == total.shape, f"{case}: expected {len(total)} counts, one a cell, got {yours}"
        why = (
            "some records count more than once, and so would one of them in the noise's sensitivity"
            if yours.sum() > total.sum()
            else "records are missing: use an attempt that ended"
        )
        assert np.array_equal(yours, total), (
            f"{case}: you count {yours.tolist()}, expected {total.tolist()}; {why}"
        )
    return f"{len(all_attempts)} histories give the same table"


@judge
def check_shards(your_function: Callable[[NDArray[np.uint64], int], Ints]) -> str:
    """Check a function of keys and m that returns an array with the shard of each key, 0 to m − 1.

    Parameters
    ----------
    your_function : takes (n,) keys, all different, and a number m of shards, and returns (n,) shards, 0 to m − 1.
    """
    rng = np.random.default_rng(8)
    keys, m = rng.integers(0, 2**63, 4001).astype(np.uint64), 8
    shards = np.asarray(your_function(keys, m))
    each = shards.shape == keys.shape and set(shards) <= set(range(m))
    assert each, f"{len(keys)} keys: expected as many shards, each from 0 to {m - 1}"
    order = rng.permutation(len(keys))
    assert np.array_equal(your_function(keys[order], m), shards[order]), (
        "shuffled rows: records change their shards; a distributed table has no positions"
    )
    moved = int((np.asarray(your_function(keys[1:], m)) != shards[1:]).sum())
    assert not moved, (
        f"a record is removed: {moved} other records change their shards, so one record changes many counts; "
        "use each key by itself, not its rank"
    )
    sizes = np.bincount(shards, minlength=m)
    assert sizes.max() <= 1.5 * len(keys) / m, (
        f"shards hold {sizes.tolist()} records: expected about {len(keys) // m} each"
    )
    return f"shards follow from the key alone and hold {sizes.min()} to {sizes.max()} records"
