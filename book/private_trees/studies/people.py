"""People who have several records each: the grids ``people``, protected in several ways, and ``patient``, one of them.

A person's records share one vote; or each person has at most so many records, and the noise protects a group of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.metrics import log_loss, roc_auc_score

from dpaudit import as_estimator, released
from dpaudit.settings import SURE
from dpnb.arrays import Floats, Ints
from dpnb.boosting.booster import PrivateBooster
from dpnb.data.datasets import Dataset
from dpnb.domain import Domain
from dpnb.domain.people import people_of
from dpnb.papers.edprf import EDPRF
from dpnb.records.memory import Records
from dpnb.records.people import vote_of
from dpnb.replay.tape import Replay, replay_fit

from ..auditing.bets import monitor
from ..board.learners import LEARNERS, MAKE, fit_to_nothing
from .made import MOST_VISITS, VISITS
from .runs import DELTA, Cell, Study, cells
from .scores import LEAST
from .sets import PEOPLE, split_of

METHODS = ("PrivateBooster, δ", "PrivateBooster", "DiffPRFs-R", "eDPRF-R")
SEEDS = range(10)
PEOPLE_EPSILONS = (0.1, 1.0, 5.0)
MOST = {"diabetes-readmission": 40, VISITS: MOST_VISITS}
"""Largest number of records of a person, which is taken as public."""


class Way(NamedTuple):
    """A way to protect people."""

    most: float = np.inf  # records that are kept of a person, drawn at random
    votes: bool = False  # whether a person's records share a vote; else the noise protects ``most`` records
    at_least: int = 1  # a record's weight is that of somebody with so many records at least


VOTE, OF_FIVE, RECORDS = "one vote", "one vote, of 5 records at least", "records"
WAYS = {
    VOTE: Way(votes=True),
    OF_FIVE: Way(votes=True, at_least=5),
    "one record each": Way(1),
    "two records each": Way(2),
    "five records each": Way(5),
    "group privacy": Way(),
    RECORDS: Way(),  # protects a record, and promises a person nothing
}


class ByPerson(NamedTuple):
    """A split of a set by people, as a fit and its test need it."""

    data: Dataset
    codes: Floats  # of the test part
    labels: NDArray[np.intp]  # of the test part
    shares: Floats  # of a test record on average over people


@lru_cache(maxsize=1)
def _split(dataset: str, seed: int) -> ByPerson:
    data = split_of(dataset, seed)
    assert data.people is not None
    (X, y), people = data.test, people_of(data.people[1])
    shares = 1 / people.counts[people.person]
    return ByPerson(data, data.domain.encode(X, strict=False), data.domain.encode_labels(y), shares)


def _records(data: Dataset, way: Way, rng: np.random.Generator) -> Records:
    """The training records, as a way has them."""
    assert data.people is not None
    (X, y), people = data.train, data.people[0]
    if way.votes:
        records = Records(X, y, domain=data.domain, people=people)
        assert records.votes is not None
        records.votes = np.minimum(records.votes, vote_of(np.array([way.at_least])))
        return records
    kept = _numbers(people, rng) < way.most
    return Records(X[kept], y[kept], domain=data.domain)


def _numbers(people: pd.Series[Any], rng: np.random.Generator) -> Ints:
    """Numbers of records among their person's, in a random order, from 0."""
    order = rng.permutation(len(people))
    numbers = np.empty(len(people), np.intp)
    numbers[order] = people.iloc[order].groupby(people.iloc[order]).cumcount().to_numpy()
    return numbers


@cache
def share_of(method: str, epsilon: float, domain: Domain, size: float) -> float:
    """The ε at which a learner's noise on records protects a group of them at ``epsilon``.

    Without δ that is ε / size. With one it is where the learner plans to spend ρ / size² of what it would plan for one
    record; all its noise is then as much larger as if sensitivities were.
    """
    if size == 1 or "δ" not in method:
        return epsilon / size

    def planned(at: float) -> float:
        model = _model(method, at, 0)
        fit_to_nothing(model, domain)
        return float(model.ledger_.rho)

    wanted = planned(epsilon) / size**2
    solved = brentq(
        lambda log: np.log(planned(np.exp(log)) / wanted),
        np.log(epsilon / size / 4),
        np.log(epsilon),
        xtol=1e-3,
    )
    return float(np.exp(solved))


def _model(method: str, epsilon: float, random_state: Any) -> Any:
    """A learner of the board with the first of its settings."""
    return MAKE[method](
        epsilon=epsilon, random_state=random_state, **next(iter(LEARNERS[method].settings.values()))
    )


def measure_people(cell: Cell) -> dict[str, float]:
    """Test scores over visits and over people, mean predictions, and the ε of the fit for its unit."""
    split, way, rng = _split(cell.dataset, cell.seed), WAYS[cell.reading], cell.random_state()
    size = 1 if way.votes or cell.reading == RECORDS else min(way.most, MOST[cell.dataset])
    epsilon = share_of(cell.method, cell.epsilon, split.data.domain, size)
    model = _model(cell.method, epsilon, rng).fit(_records(split.data, way, rng))
    votes = model._votes(split.codes)
    p = votes[:, 1] / votes.sum(axis=1)
    found = {"fit_epsilon": epsilon, "ledger_epsilon": model.ledger_.epsilon}
    for over, shares in (("visits", None), ("people", split.shares)):
        found[f"auc_{over}"] = float(roc_auc_score(split.labels, p, sample_weight=shares))
        inside = np.clip(p, LEAST, 1 - LEAST)
        found[f"log_loss_{over}"] = float(log_loss(split.labels, inside, sample_weight=shares))
        found[f"predicted_{over}"] = float(np.average(p, weights=shares))
        found[f"observed_{over}"] = float(np.average(split.labels, weights=shares))
    return found


def people_grid() -> Study:
    """A table of visits of patients, and a made one; one split after the other, for each is read and encoded anew."""
    found = cells(
        method=METHODS, dataset=(*PEOPLE, VISITS), reading=tuple(WAYS), epsilon=PEOPLE_EPSILONS, seed=SEEDS
    )
    found.sort(key=lambda cell: (cell.dataset, cell.seed, cell.reading))
    return Study("people", found, measure_people, lambda cell: DELTA * ("δ" in cell.method), row_a_cell=True)


# --- One patient ----------------------------------------------------------------------------------------------

TREE, BETS = "eDPRF, one tree", "bets on eDPRF, one tree"
PATIENT: dict[str, Callable[..., Any]] = {
    TREE: partial(EDPRF, n_trees=1, bags="full"),
    "PrivateBooster": PrivateBooster,
    "PrivateBooster, δ": partial(PrivateBooster, delta=DELTA),
}
MOST_BETS = 150


@lru_cache(maxsize=2)
def sides_of(dataset: str, votes: bool) -> tuple[Records, Records]:
    """All records, and all but those of the person who has most."""
    data = split_of(dataset, 0)
    assert data.people is not None
    X, y, people = (
        pd.concat(parts)
        for parts in ((data.train[0], data.test[0]), (data.train[1], data.test[1]), data.people)
    )
    rest = people != people.value_counts().index[0]
    full, without = (
        Records(X[rows], y[rows], domain=data.domain, people=people[rows] if votes else None)
        for rows in (rest | True, rest)
    )
    return full, without


def measure_patient(cell: Cell) -> dict[str, float]:
    """Loss of a fit at its own outputs if the patient's records go, and what is booked; or the bound of bets on it."""
    full, rest = sides_of(cell.dataset, cell.reading == VOTE)
    make = partial(PATIENT[cell.method.removeprefix("bets on ")], epsilon=cell.epsilon, domain=full.domain)

    def replayed(first: Records, second: Records, seed: int) -> Replay:
        def fit(part: Records) -> Any:
            return make(random_state=seed).fit(part)

        return replay_fit(fit, first, second, common=rest, own=(first is full, second is full))

    def ratio(records: Any, rng: np.random.Generator) -> list[float]:
        """Log-likelihood ratio of the outputs, which anybody who knows the records can tell from them."""
        of_full = records is full
        found = replayed(*((full, rest) if of_full else (rest, full)), int(rng.integers(2**31)))
        return [found.log_ratio if of_full else -found.log_ratio]

    if cell.method == BETS:
        asked: Any = {"claimed": cell.epsilon, "confidence": SURE, "seed": cell.seed, "observe": released}
        found = monitor(as_estimator(ratio), (full, None), (rest, None), most_runs=MOST_BETS, **asked)
        return {"runs": float(found.trials), "bound": found.lower_bound, "refuted": float(found.violated)}
    one = replayed(full, rest, cell.seed)
    return {"loss": one.loss, "booked": one.ledger.epsilon}


def patient_grid() -> Study:
    """The patient of most visits in the table of visits."""
    shared: dict[str, Any] = {"dataset": tuple(PEOPLE), "reading": (RECORDS, VOTE), "epsilon": 1.0}
    found = [*cells(method=tuple(PATIENT), seed=range(10), **shared), *cells(method=BETS, seed=0, **shared)]
    return Study(
        "patient", found, measure_patient, lambda cell: DELTA * ("δ" in cell.method), row_a_cell=True
    )


GRIDS = {"people": people_grid, "patient": patient_grid}
