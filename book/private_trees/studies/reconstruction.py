"""What a released forest tells of its training records: rebuilt by integer programming, and one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import t

from dpnb.arrays import Floats, Ints
from dpnb.domain import Categorical, Domain
from dpnb.papers.baselines_forest import RandomTrees
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.edprf import EDPRF
from dpnb.replay.tape import replay_estimator

from ..auditing.rebuild import cells_of, guess_bound, rebuild, share_right
from .runs import INF, Cell, Study, cells, data_of, wide

N = 50  # records of a forest
DEPTH = 3
SHARED: dict[str, Any] = {"n_trees": 10, "max_depth": DEPTH}
APART: dict[str, Any] = {"n_trees": 5, "max_depth": DEPTH}
EPSILONS = (0.1, 1.0, 5.0, 20.0, 100.0, INF)
SEEDS = tuple(range(10))
DATASETS = ("adult-standin", "adult")
FOREST, STATISTICS, RECORDS = "forest alone", "forest and statistics", "all other records"
REPLAYS = 10
NODES, SECONDS = 10, 600.0  # of the branch and bound; no run takes that long, so that machines agree

SUBJECTS: dict[str, Callable[..., Any]] = {
    "random trees": partial(RandomTrees, **SHARED),
    "DiffPRFs as written": partial(DiffPRFs.as_written, **SHARED),
    "DiffPRFs repaired": partial(DiffPRFs, **SHARED),
    "eDPRF as written": partial(EDPRF.as_written, **APART),
    "eDPRF repaired": partial(EDPRF, **APART),
}

PRIVATE = ("random trees", "DiffPRFs repaired", "eDPRF repaired")

DESK = ("Exec-managerial", "Prof-specialty", "Adm-clerical", "Sales", "Tech-support")
VIEW: dict[str, Callable[[pd.DataFrame], pd.Series[bool]]] = {
    "over 40": lambda X: X["age"] > 40,
    "private sector": lambda X: X["workclass"] == "Private",
    "beyond school": lambda X: X["education-num"] > 9,
    "married": lambda X: X["marital-status"].str.startswith("Married"),
    "at a desk": lambda X: X["occupation"].isin(DESK),
    "white": lambda X: X["race"] == "White",
    "male": lambda X: X["sex"] == "Male",
    "over 40 hours": lambda X: X["hours-per-week"] > 40,
}
"""Yes or no questions to the records of Adult, fixed beforehand."""
DOMAIN = Domain(tuple(Categorical(name, (0, 1)) for name in VIEW), (0, 1), target="class")


class People(NamedTuple):
    """Records of the view, attributes and class as codes, (n, attributes + 1) each."""

    # trained, sampled: the training records of a forest, and another sample of the same size.
    trained: Ints
    sampled: Ints
    strangers: Ints  # as many again, which the attacks on the forest are held against


@lru_cache(maxsize=2)
def viewed(dataset: str) -> tuple[Ints, Ints]:
    """Training and test part of a data set in the view, (n, attributes + 1) each."""
    data = data_of(dataset)
    parts = [
        np.column_stack([*(ask(X).to_numpy() for ask in VIEW.values()), data.domain.encode_labels(y)])
        for X, y in (data.train, data.test)
    ]
    return parts[0].astype(int), parts[1].astype(int)


@lru_cache(maxsize=2)
def law_of(dataset: str) -> Floats:
    """How often each record occurs in the test part, (cells, classes): what statistics can tell of the population."""
    rows, levels = viewed(dataset)[1], [2] * (len(VIEW) + 1)
    counts = np.bincount(np.ravel_multi_index(tuple(rows.T), levels), minlength=2 ** len(levels)) + 0.1
    law: Floats = (counts / counts.sum()).reshape(-1, 2)
    return law


def people(dataset: str, seed: int) -> People:
    """The same people for all subjects, budgets and attacks of a seed."""
    rng = Cell(method="people", dataset=dataset, epsilon=0.0, seed=seed).random_state()
    train, test = viewed(dataset)
    drawn, others = rng.choice(len(train), 2 * N, replace=False), rng.choice(len(test), N, replace=False)
    return People(train[drawn[:N]], train[drawn[N:]], test[others])


def part_of(rows: Ints) -> tuple[pd.DataFrame, pd.Series]:
    """Attributes and labels as estimators take them."""
    table = pd.DataFrame(rows, columns=[*VIEW, "class"])
    return table[list(VIEW)], table["class"]


def likeliest(prior: Floats, n: int) -> Ints:
    """The most probable data set without any forest, (n, attributes + 1)."""
    gain = np.log(prior[:, :, None] / np.arange(1, n + 1))
    cell, label, _ = np.unravel_index(np.argsort(-gain, axis=None, kind="stable")[:n], gain.shape)
    return np.column_stack([cells_of(DOMAIN)[cell], label]).astype(int)


def usual(law: Floats) -> Ints:
    """The more frequent value of every attribute and of the class, for all records, (n, attributes + 1)."""
    shares = law.reshape(-1) @ np.column_stack(
        [cells_of(DOMAIN).repeat(2, axis=0), np.tile((0, 1), len(law))]
    )
    return np.tile(shares > 0.5, (N, 1)).astype(int)


def measure_rebuilt(cell: Cell) -> dict[str, float]:
    """Rebuild the training records of one forest.

    Returns
    -------
    Share of values right after matching: of the rebuilt records against those ``trained`` on and against
        ``strangers``; against the former also of another ``sample``, of the likeliest records by ``statistics`` alone,
        and of the ``constant`` guess. ``gap`` and time of the solver.
    """
    who, law, rng = people(cell.dataset, cell.seed), law_of(cell.dataset), cell.random_state()
    model = SUBJECTS[cell.method](epsilon=cell.epsilon, domain=DOMAIN, random_state=rng)
    model.fit(*part_of(who.trained))
    blank = 1 + 1e-3 * rng.random(law.shape)  # no record is likelier than another; ties fall as they may
    prior = law if cell.reading == STATISTICS else blank / blank.sum()
    began = process_time()
    found = rebuild(model, n=N, prior=prior, nodes=NODES, seconds=SECONDS)
    seconds = process_time() - began
    rebuilt = found.records(cells_of(DOMAIN))
    guesses = {"sample": who.sampled, "statistics": likeliest(law, N), "constant": usual(law)}
    return {
        "trained": share_right(rebuilt, who.trained),
        "strangers": share_right(rebuilt, who.strangers),
        **{name: share_right(guess, who.trained) for name, guess in guesses.items()},
        "gap": found.gap,
        "cpu_seconds": seconds,
    }


def measure_known(cell: Cell) -> dict[str, float]:
    """Guess one attribute of one record whose other values, and all other records, are known: exact, by replay.

    Returns
    -------
    ``right``, the probability that the best guess is right, a priori 1/2, as the mean over some records, attributes and
        forests; ``surest``, its largest value given a forest; ``bound`` of the former by the claim, which is for
        records that are added or removed and counts twice.
    """
    rows, rng = people(cell.dataset, cell.seed).trained, cell.random_state()
    model = SUBJECTS[cell.method](epsilon=cell.epsilon, domain=DOMAIN)
    sure = []
    for _ in range(REPLAYS):
        other, at = rows.copy(), (rng.integers(N), rng.integers(len(VIEW)))
        other[at] = 1 - other[at]
        pair = part_of(rows), part_of(other)
        sides = pair if rng.random() < 0.5 else pair[::-1]
        found, _ = replay_estimator(model, *sides, seed=int(rng.integers(2**31)), encoded=True)
        sure.append(expit(found.loss))
    return {"right": float(np.mean(sure)), "surest": float(max(sure)), "bound": guess_bound(2 * cell.epsilon)}


def measure_reconstruction(cell: Cell) -> dict[str, float]:
    """One attack on one forest."""
    return (measure_known if cell.reading == RECORDS else measure_rebuilt)(cell)


def reconstruction_grid() -> Study:
    """Forests with leaf counts or labels, as written and repaired; three attacks, six budgets, ten seeds."""
    axes = {"method": SUBJECTS, "dataset": DATASETS, "max_depth": DEPTH}
    found = cells(**axes, reading=(RECORDS, STATISTICS, FOREST), epsilon=EPSILONS, seed=SEEDS)
    return Study("reconstruction", found, measure_reconstruction)


# --- What the results say -------------------------------------------------------------------------------------


def leaks(table: pd.DataFrame, reading: str) -> pd.DataFrame:
    """What rebuilt records get right, by subject and ε, over data sets and seeds.

    Parameters
    ----------
    table : tidy results of the study.
    reading : what the attacker knows, ``FOREST`` or ``STATISTICS``.

    Returns
    -------
    DataFrame with a row for each subject and ε: means of the measures, ``excess`` of trained over strangers, and
    ``error``, half of its 95 % confidence interval by Student's t.
    """
    rows = wide(table[table["utility"] == reading])
    return _by_subject(rows.assign(excess=rows["trained"] - rows["strangers"]), "excess")


def guesses(table: pd.DataFrame) -> pd.DataFrame:
    """How often one value is guessed by who knows all else; as of :func:`leaks`, ``error`` that of ``right``."""
    return _by_subject(wide(table[table["utility"] == RECORDS]), "right")


def _by_subject(rows: pd.DataFrame, about: str) -> pd.DataFrame:
    groups = rows.drop(columns=["dataset", "utility", "max_depth", "seed", "n_rounds"]).groupby(
        ["method", "epsilon"]
    )
    number = groups.size()
    error = t.ppf(0.975, number - 1) * groups[about].std() / np.sqrt(number)
    return groups.mean().dropna(axis=1, how="all").assign(error=error).loc[list(SUBJECTS)]


def summary(table: pd.DataFrame, epsilons: Sequence[float] = (1.0, 20.0, INF)) -> pd.DataFrame:
    """What the attacks say of each subject at some ε, in per cent; tables are rebuilt with statistics at hand."""
    found = leaks(table, STATISTICS).join(guesses(table), rsuffix=" of a guess")
    found = 100 * found.loc[found.index.isin(epsilons, level="epsilon")]
    columns = ["trained", "strangers", "excess", "error", "right"]
    shown = found[columns].set_axis(["trained", "strangers", "difference", "±", "one value"], axis=1)
    names = ["none" if np.isinf(epsilon) else f"{epsilon:g}" for epsilon in shown.index.get_level_values(1)]
    return shown.set_axis([shown.index.get_level_values(0), names], axis=0).rename_axis(["", "ε"])


GRIDS = {"reconstruction": reconstruction_grid}
