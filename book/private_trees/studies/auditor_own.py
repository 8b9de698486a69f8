"""The book's own estimators under the auditor, with the settings that they come with.

The data are small pairs of the auditor's own that are hard on trees, and for the booster with δ, which takes more
stages the more records there are, also a pair with many records. Replays look inside, so that a bound is as large as
the losses that were met; of pure ε outputs that tell much are forced.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpaudit import pairs, scan
from dpaudit.pairs import DOMAIN, NEIGHBOURS, Pair, pair_of
from dpnb.boosting.booster import PrivateBooster
from dpnb.domain import Categorical, Domain
from dpnb.replay.finding import exceeds
from dpnb.replay.tape import replay_estimator

from ..auditing.deltas import LossSample
from ..auditing.exact import exact
from ..auditing.followed import scan_by_replay
from ..auditing.forced import forced
from ..papers import BY_CHAPTER
from .runs import DELTA, Cell, Study, cells, wide
from .targets import ADD

CONFIDENCE = 0.99
EPSILON = 1.0
WITH_DELTA = ", δ"
OWN: dict[str, Callable[..., Any]] = {
    "PrivateBooster": PrivateBooster,
    "PrivateBooster" + WITH_DELTA: partial(PrivateBooster, delta=DELTA),
    **{n: make for paper in BY_CHAPTER for n, make in paper.makers(paper.estimator.__name__).items()},
}
REPLAY, MANY, EXACT, SCAN = "replay", "replay, many records", "exact", "scan"

TWIN = "twin"
TWINS = {"twin: ": 1.5, "twin × 2: ": 2.0, "twin × 3: ": 3.0, "twin × 10: ": 10.0}
"""Beginnings of twins' names, and times what their ledgers say is what they spend."""
COMMON = 20_000  # records, on which the booster takes more of its stages
SLOW = "DiffPRFs"  # a fit takes a tenth of a second
ON_BEST, SLOW_ON_BEST, ON_BEST_WITH_DELTA = 24, 4, 168  # replays, after one on each pair
ON_MANY = 4
YES_OR_NO = Domain((Categorical("a", (0, 1)), Categorical("b", (0, 1))), (0, 1), target="label")


def _name(cell: Cell) -> str:
    return cell.method.rpartition(": ")[2]


def _spent(method: str) -> float:
    """Times what the ledger says: more than once for a twin."""
    return next((times for twin, times in TWINS.items() if method.startswith(twin)), 1.0)


def _delta_of(cell: Cell) -> float:
    return DELTA if WITH_DELTA in cell.method else 0.0


def _model(cell: Cell, domain: Domain) -> Any:
    """The cell's estimator; a twin spends more than its claim."""
    spent = cell.epsilon * _spent(cell.method)
    return OWN[_name(cell)](epsilon=spent, neighbours=cell.neighbours, domain=domain)


def _ledger(cell: Cell) -> float:
    """The ledger's ε at the cell's δ; that of a twin does not know how much is spent."""
    booked: float = (
        _model(cell, DOMAIN).set_params(random_state=0).fit(*_clean(cell)[0].first).ledger_.epsilon
    )
    return booked / _spent(cell.method)


def _clean(cell: Cell) -> list[Pair]:
    """Pairs on the auditor's own domain."""
    return [pair for pair in pairs(cell.neighbours) if pair.domain == DOMAIN]


# --- Instruments --------------------------------------------------------------------------------------------


class _Replays:
    """Replays of a cell's estimator on pairs; telling outputs are forced where ε is pure."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self._rng, self.runs = cell, cell.random_state(), 0
        self.delta = _delta_of(cell)

    def loss(self, pair: Pair, side: int) -> float:
        """Log-likelihood ratio of D (D′ if side is 1) to the other, at outputs that are possible on it."""
        seed = int(self._rng.integers(2**31))
        sides = (pair.second, pair.first) if side else (pair.first, pair.second)
        how: dict[str, Any] = {} if self.delta else {"force": partial(forced, seed=seed)}
        found, _ = replay_estimator(_model(self.cell, pair.domain), *sides, seed=seed, encoded=True, **how)
        self.runs += 1
        return found.log_ratio

    def bound(self, pair: Pair, runs: int) -> float:
        """Lower bound of ε at the cell's δ: certain for pure ε, else at the study's confidence."""
        sample = LossSample(confidence=CONFIDENCE)
        for number in range(runs):
            sample.add(number % 2, self.loss(pair, number % 2))
        return sample.epsilon(self.delta)


def _by_replay(cell: Cell) -> dict[str, float]:
    """Replays on all pairs but those with rare values, then on the one with the largest loss."""
    replays, slow = _Replays(cell), _name(cell) == SLOW
    tried = [pair for pair in _clean(cell) if not pair.name.startswith("a value of its own")]
    tried = tried[:4] if slow else tried
    seen = [replays.loss(pair, i % 2) for i, pair in enumerate(tried)]
    more = SLOW_ON_BEST if slow else ON_BEST_WITH_DELTA if replays.delta else ON_BEST
    bound = replays.bound(tried[int(np.argmax(seen))], more)
    return {"bound": bound if replays.delta else max(bound, *seen), "runs": replays.runs}


def _by_replay_of_many(cell: Cell) -> dict[str, float]:
    """Replays on many records and one that stands apart."""
    rng = np.random.default_rng(0)
    rows = [
        (0.1 + 0.05 * int(x), int(c), int(label))
        for x, c, label in rng.integers(0, (15, 2, 2), (COMMON, 3)).tolist()
    ]
    pair = pair_of("many records", rows, (0.95, 1, 1), neighbours=cell.neighbours)
    return {"bound": _Replays(cell).bound(pair, ON_MANY), "runs": ON_MANY}


def _by_enumeration(cell: Cell) -> dict[str, float]:
    """All that can be released on two yes-or-no attributes, exactly."""
    tried = [
        pair_of("", rows, (x, c, label), neighbours=cell.neighbours, domain=YES_OR_NO)
        for rows in ([(0.0, 0, 0)], [(0.0, 1, 0), (0.0, 0, 1)] * 20, [(0.0, 1, 0)] * 20 + [(0.0, 1, 1)] * 20)
        for x, c, label in product((0.0, 1.0), (0, 1), (0, 1))
    ]

    def run(part: Any) -> None:
        clone(_model(cell, YES_OR_NO)).set_params(random_state=0).fit(*part)

    found = [exact(run, p.first, p.second, claimed=cell.epsilon, subject=cell.method) for p in tried]
    best = max(found, key=lambda finding: finding.lower_bound)
    return {"bound": best.lower_bound, "runs": sum(finding.trials for finding in found)}


def _by_scan(cell: Cell) -> dict[str, float]:
    """Scans of the fitted object, by fits and by replays."""
    made: list[Any] = []

    def factory() -> Any:
        made.append(_model(cell, DOMAIN))
        return made[-1]

    tried, bounds = _clean(cell), [0.0]
    for pair in (tried[0], tried[-1]):
        sides = pair.first, pair.second
        said: dict[str, Any] = {"claimed": cell.epsilon, "delta": _delta_of(cell)}
        bounds += [finding.lower_bound for finding in scan(factory, *sides, confidence=CONFIDENCE, **said)]
        bounds += [finding.lower_bound for finding in scan_by_replay(factory(), *sides)]
    return {"bound": max(bounds), "runs": len(made)}


INSTRUMENTS = {
    REPLAY: _by_replay,
    MANY: _by_replay_of_many,
    EXACT: _by_enumeration,
    SCAN: _by_scan,
}


def measure_own(cell: Cell) -> dict[str, float]:
    """One instrument on one estimator.

    Returns
    -------
    ``bound`` of ε at the estimator's δ, ``ledger``, its ε there, ``share`` of the one in the other, and ``runs``, the
    number of replays, transcripts or fits.
    """
    found, ledger = INSTRUMENTS[cell.reading](cell), _ledger(cell)
    return {**found, "ledger": ledger, "share": found["bound"] / ledger}


def own_grid() -> Study:
    """All guarantees of these estimators, both relations, all instruments that apply; and twins."""
    axes = {"neighbours": NEIGHBOURS, "epsilon": EPSILON}
    found = cells(method="PearsonTree", reading=EXACT, **axes)
    found += cells(method=OWN, reading=(REPLAY, SCAN), **axes)
    found += cells(method="PrivateBooster" + WITH_DELTA, reading=MANY, **axes)
    twins = [twin + name for twin, name in product(TWINS, OWN)]
    found += cells(method=twins, neighbours=ADD, reading=REPLAY, epsilon=EPSILON)
    replayed = [twin + "PrivateBooster" + WITH_DELTA for twin in TWINS]
    found += cells(method=replayed, neighbours=ADD, reading=MANY, epsilon=EPSILON)
    return Study("auditor_own", found, measure_own, delta=_delta_of)


# --- What the results say -----------------------------------------------------------------------------------


def above(table: pd.DataFrame) -> pd.DataFrame:
    """Cells whose bound exceeds the ledger's ε, from tidy results."""
    rows = wide(table)
    return rows[[exceeds(bound, ledger) for bound, ledger in zip(rows["bound"], rows["ledger"], strict=True)]]


def caught(table: pd.DataFrame) -> pd.Series[float]:
    """The least of the twins' factors that replays convict, by estimator; NaN where they miss all."""
    found = above(table)["method"]
    least = found.map(_spent).groupby(found.str.rpartition(": ")[2]).min()
    return least.reindex(list(OWN))


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """The largest bounds, a row an estimator, guarantee and relation.

    Parameters
    ----------
    table : tidy results.

    Returns
    -------
    DataFrame indexed by estimator, guarantee and relation: the ``ledger``'s ε, a column of bounds for each instrument,
    NaN where it does not apply; ``of the ledger``, the largest bound as a share of that ε; and ``twin caught``, how
    many times its ledger a twin spends that replays convict (:func:`caught`; they were tried for add or remove).
    """
    rows, twins = wide(table), caught(table)
    rows = rows[rows["method"].isin(list(OWN))]
    rows = rows.replace({"utility": {MANY: REPLAY}, "dataset": {ADD: "add or remove"}})
    keys = ["method", "dataset"]
    order = [(name, relation) for name in OWN for relation in ("add or remove", "replace")]
    bounds = rows.pivot_table("bound", keys, "utility", aggfunc="max")[[REPLAY, EXACT, SCAN]]
    grouped = rows.groupby(keys)
    bounds.insert(0, "ledger", grouped["ledger"].min())
    bounds["of the ledger"] = grouped["share"].max()
    bounds = bounds.loc[pd.MultiIndex.from_tuples(order)]
    bounds["twin caught"] = [
        twins[name] if relation == "add or remove" else np.nan for name, relation in order
    ]
    names = [name.removesuffix(WITH_DELTA) for name, _ in bounds.index]
    guarantee = ["with δ" if WITH_DELTA in name else "pure" for name, _ in bounds.index]
    relation = [relation for _, relation in bounds.index]
    labels = [names, guarantee, relation]
    bounds.index = pd.MultiIndex.from_arrays(labels, names=["estimator", "guarantee", ""])
    bounds.columns.name = None
    return bounds


GRIDS = {"auditor_own": own_grid}
