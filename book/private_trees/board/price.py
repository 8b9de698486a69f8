"""What an ε allows an attacker, and what it costs the book's booster: the numbers of the page on choosing ε."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from ..auditing.rebuild import guess_bound
from ..studies.runs import DELTA, read, wide
from .corners import RECORDS
from .standings import ABOUT, OURS, board_fits, losses, sources

FEWEST = 4  # data sets that a median is taken of
Curve = Sequence[tuple[float, float]]  # n·ε and the points of AUC that are lost there, by growing n·ε
Curves = Mapping[str, Mapping[str, Curve]]


class Lost(NamedTuple):
    """Points of AUC that are lost at some n·ε: the median over data sets, the least, the most, and how many sets."""

    median: float
    least: float
    most: float
    sets: int


def belief(before: float, epsilon: float) -> float:
    """Largest belief that one record is there, after an ε-DP release."""
    return float(expit(logit(before) + epsilon))


def more_right(epsilon: float, *, delta: float = 0.0) -> float:
    """By how many more of a hundred even bets an (ε, δ)-DP release lets anybody guess right, at most."""
    right = guess_bound(epsilon)
    return 100 * (right + delta * (1 - right)) - 50


def curves(folder: Path) -> Curves:
    """What the booster loses on each data set, from the folder of the results.

    Returns
    -------
    By data set: ``delta`` and ``pure`` with all records of a set, and ``few`` with δ and a thousand records of each.
    """
    references = read("references", folder)
    whole = losses(board_fits(sources(folder)), references)
    few = losses(wide(read("few", folder)).assign(delta=DELTA), references)
    few["known"] = (few["known"] / few["epsilon"]).clip(upper=RECORDS) * few["epsilon"]
    parts = {"delta": whole[whole["method"] == OURS], "pure": whole[whole["method"] == "PrivateBooster"]}
    parts["few"] = few[few["method"] == OURS]
    return {name: _by_set(part) for name, part in parts.items()}


def _by_set(part: pd.DataFrame) -> dict[str, Curve]:
    points = part.assign(known=part["known"].round(1), loss=(100 * part["loss"]).round(2)).sort_values(
        "known"
    )
    found = points.groupby("dataset")[["known", "loss"]]
    return {str(dataset): list(rows.itertuples(index=False, name=None)) for dataset, rows in found}


def read_off(curve: Curve, known: float) -> float | None:
    """What is lost at some n·ε, by a straight line in its logarithm between two measured points; None beyond them."""
    at, loss = np.array(curve).T
    return float(np.interp(np.log(known), np.log(at), loss)) if at[0] <= known <= at[-1] else None


def across(sets: Mapping[str, Curve], known: float) -> Lost | None:
    """Losses over the data sets that have data at some n·ε; None if these are fewer than :data:`FEWEST`."""
    found = [loss for curve in sets.values() if (loss := read_off(curve, known)) is not None]
    if len(found) < FEWEST:
        return None
    return Lost(float(np.median(found)), min(found), max(found), len(found))


def with_delta(found: Curves, known: float) -> Lost | None:
    """Losses with δ: with all records or with a thousand, whichever has more data sets at this n·ε."""
    both = [loss for name in ("delta", "few") if (loss := across(found[name], known))]
    return max(both, key=lambda loss: loss.sets, default=None)


def few_over_whole(found: Curves) -> pd.Series[float]:
    """How many times as much a thousand records lose as all records of the same set, at equal n·ε.

    Returns
    -------
    By data set and n·ε, over the sets that have more than a thousand records.
    """
    ratios = {}
    for dataset, few in found["few"].items():
        whole = found["delta"][dataset]
        for known, loss in few:
            if ABOUT[dataset][0] > RECORDS and (same := read_off(whole, known)) is not None:
                ratios[dataset, known] = loss / same
    return pd.Series(ratios)
