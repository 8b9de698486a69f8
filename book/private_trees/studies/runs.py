"""Running studies: tidy results that resume, show progress and carry their provenance."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import platform
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from itertools import accumulate, product
from operator import or_
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from tqdm import tqdm

from dpaudit.pairs import NEIGHBOURS
from dpnb.data.datasets import Dataset, load
from dpnb.errors import DataError
from dpnb.files import write_whole
from dpnb.privacy.curator import at_home
from dpnb.records.memory import Records
from dpnb.terminal import as_worker, end_workers

from .made import MADE, VISITS
from .sets import MORE, NUMBERS, PEOPLE, split_of

PACKAGES = ("numpy", "pandas", "scipy", "scikit-learn", "dpnb")
INF = float("inf")
DELTA = 1e-5  # of all studies that have one
MAJORITY = "majority class"
SAVE_EVERY = 30.0  # seconds between checkpoints


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of a study: everything that decides its result.

    The fields are the columns of the results, and their text seeds the run. Where a study means something else by a
    column, the cell has a second name for it, to build it (:func:`cells`) and to read it.
    """

    method: str  # name of the algorithm and reading
    # Name, with the variant after a slash: `adult/merged`; of replays the relation, `neighbours`.
    dataset: str
    # Split score, empty where there is none; of papers that leave things open the `reading`.
    utility: str = ""
    max_depth: int = 0  # depth of the trees, 0 for a method's own; of generalised tables `n_specialisations`
    epsilon: float  # claimed ε, `inf` without privacy
    seed: int = 0  # repeat number
    n_rounds: int = 0  # rounds of boosting, 0 for trees and for a method's own

    @property
    def neighbours(self) -> str:
        """Relation of the neighbours that are replayed."""
        return self.dataset

    @property
    def reading(self) -> str:
        """Reading of a text."""
        return self.utility

    @property
    def n_specialisations(self) -> int:
        """Specialisations of a table."""
        return self.max_depth

    def random_state(self) -> np.random.Generator:
        """Generator of this cell, independent of all others."""
        named = (f"{k}={v!r}" for k, v in vars(self).items() if k != "n_rounds" or v)
        return np.random.default_rng([self.seed, zlib.crc32(f"Cell({', '.join(named)})".encode())])


KEYS = list(Cell.__dataclass_fields__)
FIT = [*KEYS, "delta"]
COLUMNS = [*FIT, "metric", "value"]
SECOND_NAMES = {"neighbours": "dataset", "reading": "utility", "n_specialisations": "max_depth"}


def cells(**axes: Any) -> list[Cell]:
    """Cells of every combination.

    Parameters
    ----------
    axes : field of :class:`Cell`, or its second name → a value or several.

    Returns
    -------
    Cells, the last field changes fastest.
    """
    named = {
        SECOND_NAMES.get(name, name): [values] if isinstance(values, str | float | int) else list(values)
        for name, values in axes.items()
    }
    fields = sorted(named, key=KEYS.index)
    return [Cell(**dict(zip(fields, values, strict=True))) for values in product(*(named[f] for f in fields))]


@dataclass(frozen=True)
class Study:
    """A named grid of cells and what measures one of them."""

    name: str  # name of the results file
    cells: Sequence[Cell]  # all runs
    measure: Callable[[Cell], dict[str, float]]  # cell → metrics by name
    delta: Callable[[Cell], float] = lambda cell: 0.0  # cell → claimed δ, 0 for pure ε
    repeats: int = 1  # fits a cell, where there is noise
    # Whether the results file has a row a cell, its metrics as columns, and not a row a metric.
    row_a_cell: bool = False
    # Cell → metrics that show at a small part of the cost whether the code still gives what is stored; by
    # default all of them.
    early: Callable[[Cell], dict[str, float]] | None = None

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets that the runs load; those of replays and attacks are drawn."""
        return sorted({cell.dataset for cell in self.cells} - set(NEIGHBOURS))


def results_folder() -> Path:
    """The project's ``results`` folder, looked for from the current folder upwards, and then from this file.

    Raises
    ------
    FileNotFoundError
        If neither lies in a checkout of the project.
    """
    for folder in (Path.cwd(), *Path.cwd().parents, *Path(__file__).resolve().parents):
        if (folder / "results").is_dir() and (folder / "_toc.yml").is_file():
            return folder / "results"
    raise FileNotFoundError(
        f"no results folder above {Path.cwd().name!r}: run from the project's folder, or name a folder of your own, "
        "with --results"
    )


def read(name: str, folder: Path) -> pd.DataFrame:
    """Read a results file of either form, with a row a metric or a row a cell; an empty table if there is none.

    Returns
    -------
    DataFrame with the columns method, dataset, utility, max_depth, epsilon, seed, n_rounds, delta, metric, value.

    Raises
    ------
    DataError
        If the file is no such table, or was cut short.
    """
    path = folder / f"{name}.csv"
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    way_out = "move it away, and what it held is computed again"
    try:
        text = path.read_bytes().decode("utf-8")
        header, *rows = [*csv.reader(io.StringIO(text), strict=True)] or [[]]
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise DataError(
            f"{path} is no table of results: {' '.join(str(error).split())}; {way_out}"
        ) from error
    metrics = header[len(FIT) :]
    if header[: len(FIT)] != FIT or not metrics or "" in metrics or len(set(metrics)) < len(metrics):
        raise DataError(
            f"{path} is no table of results: its columns are not {', '.join(COLUMNS)}, "
            f"nor {', '.join(FIT)} and one for each metric; {way_out}"
        )
    table, line = _tidy(header, rows)
    if line or not text.endswith("\n"):
        where = line or len(rows) + 1
        raise DataError(
            f"{path} is damaged in line {where}, or was cut short: remove that line, or {way_out}"
        )
    return table


def _tidy(header: list[str], rows: list[list[str]]) -> tuple[pd.DataFrame, int]:
    """A row a metric of the texts of either form, and the number of the first damaged line, or 0."""
    short = [line for line, row in enumerate(rows, 2) if len(row) != len(header)]
    tidy = [(line, *row) for line, row in enumerate(rows, 2) if len(row) == len(header)]
    if header != COLUMNS:
        first = 1 + len(FIT)
        tidy = [
            (*row[:first], metric, value)
            for row in tidy
            for metric, value in zip(header[len(FIT) :], row[first:], strict=True)
            if value  # where a cell lacks a metric, there is none
        ]
    table = pd.DataFrame(tidy, columns=["line", *COLUMNS])
    bad = table["metric"] == ""
    for column in [*FIT[3:], "value"]:  # the first three of a fit, and the metric, are texts
        numbers = pd.to_numeric(table[column], errors="coerce")
        bad |= numbers.isna() & ~table[column].isin(["", "nan"] if column == "value" else [])
        table[column] = numbers
    return table[COLUMNS], min([*short, *table["line"][bad]], default=0)


def over_repeats(accuracy: ArrayLike) -> dict[str, float]:
    """Mean, sample standard deviation and range of the accuracy of a cell's repeats, as metrics."""
    found = np.asarray(accuracy, float)
    return {
        "accuracy": float(found.mean()),
        "sd": float(found.std(ddof=1)) if len(found) > 1 else 0.0,
        "lowest": float(found.min()),
        "highest": float(found.max()),
    }


def measure_majority(cell: Cell) -> dict[str, float]:
    """Test accuracy of the training set's largest class, as one repeat."""
    records, _, labels = records_of(cell.dataset)
    return over_repeats([np.mean(labels == np.argmax(records.cohort().class_counts(1)[0]))])


def measure_methods(
    methods: Mapping[str, Callable[..., Any]], cell: Cell, *, repeats: int
) -> dict[str, float]:
    """:func:`measure_forests` of a cell's method; the majority class is a method of every study."""
    if cell.method == MAJORITY:
        return measure_majority(cell)
    return measure_forests(methods[cell.method], cell, repeats=repeats)


def measure_forests(make: Callable[..., Any], cell: Cell, *, repeats: int) -> dict[str, float]:
    """Accuracy over repeats, mean AUC (one against the rest), and the ledger's ε; of trees also the mean leaves of one.

    Parameters
    ----------
    make : unfitted estimator from ``epsilon``, ``domain``, ``random_state`` and, if the cell has one, ``max_depth``.
    """
    records, codes, truth = records_of(cell.dataset)
    rng = cell.random_state()
    size = {"max_depth": cell.max_depth} if cell.max_depth else {}
    make = partial(make, epsilon=cell.epsilon, domain=records.domain, random_state=rng, **size)
    fits = [make().fit(records, None) for _ in range(repeats)]
    votes = [fit._votes(codes) for fit in fits]
    leaves = [tree.n_leaves for fit in fits for tree in getattr(fit, "trees_", [])]
    return (
        over_repeats([np.mean(v.argmax(axis=1) == truth) for v in votes])
        | {"auc": float(np.mean([mean_auc(v, truth) for v in votes]))}
        | ({"leaves": float(np.mean(leaves))} if leaves else {})
        | {"ledger_epsilon": max(fit.ledger_.epsilon for fit in fits)}
    )


def mean_auc(votes: NDArray[np.float64], truth: NDArray[np.intp]) -> float:
    """Area under the ROC curve, for more than two classes the mean of one against the rest."""
    if votes.shape[1] == 2:
        return float(roc_auc_score(truth, votes[:, 1] / votes.sum(axis=1)))
    shares = votes / votes.sum(axis=1, keepdims=True)
    return float(roc_auc_score(truth, shares, multi_class="ovr"))


def test_scores(forest: Any, X: Any, y: pd.Series[Any]) -> dict[str, float]:
    """Accuracy, and the area under the ROC curve of the second class, of a fitted two-class estimator."""
    p = forest.predict_proba(X)
    right = forest.classes_[p.argmax(axis=1)] == y.to_numpy()
    return {
        "accuracy": float(np.mean(right)),
        "auc": float(roc_auc_score(y == forest.classes_[1], p[:, 1])),
    }


def mean_scores(
    estimator: Any, data: Dataset, *, repeats: int, seed: int, records: Any = None
) -> dict[str, float]:
    """Scores of clones of an estimator, with the seeds ``seed``, ``seed + 1``, ...

    Parameters
    ----------
    records : what they are trained on instead of the data's training part, such as a table in Spark.

    Returns
    -------
    Mean accuracy, its standard deviation ``sd`` (NaN of one repeat), mean AUC, and the ledger's ε.
    """
    part = data.train if records is None else (records,)
    fits = [clone(estimator).set_params(random_state=seed + r).fit(*part) for r in range(repeats)]
    scores = [test_scores(fit, *data.test) for fit in fits]
    accuracy, auc = (np.array([score[metric] for score in scores]) for metric in ("accuracy", "auc"))
    return {
        "accuracy": float(accuracy.mean()),
        "sd": float(accuracy.std(ddof=1)) if repeats > 1 else float("nan"),
        "auc": float(auc.mean()),
        "true epsilon": max(fit.ledger_.epsilon for fit in fits),
    }


def majority_accuracy(data: Dataset) -> float:
    """Test accuracy of the training part's largest class."""
    return float(np.mean(data.test[1] == data.train[1].mode()[0]))


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """One row a cell of tidy results: the cell's keys, and its metrics as columns."""
    return table.set_index([*KEYS, "metric"])["value"].unstack().reset_index().rename_axis(columns=None)


def points_of(table: pd.DataFrame, *, repeats: int) -> pd.DataFrame:
    """One row a cell of results with :func:`over_repeats`, as of :func:`wide`.

    Parameters
    ----------
    table : tidy results.
    repeats : fits a cell, where there is noise and the cell does not say it.

    Returns
    -------
    DataFrame that also has ``mean``, the accuracy, and ``error``, two standard errors of it.
    """
    points = wide(table)
    fits: Any = points.get("repeats", repeats)
    return points.assign(mean=points["accuracy"], error=2 * points["sd"] / np.sqrt(fits))


def ladder(make: Callable[..., Any], steps: Mapping[str, Mapping[str, Any]]) -> dict[str, Callable[..., Any]]:
    """The estimator after each step of a ladder: with the changes of this step and of all above it."""
    return {
        step: partial(make, **changes)
        for step, changes in zip(steps, accumulate(steps.values(), or_), strict=True)
    }


def missing(study: Study, table: pd.DataFrame) -> list[Cell]:
    """Cells of the study that the table does not hold."""
    done = {Cell(**dict(zip(KEYS, row, strict=True))) for row in set(table[KEYS].itertuples(index=False))}
    return [cell for cell in study.cells if cell not in done]


def run(
    study: Study,
    *,
    folder: Path,
    jobs: int = 1,
    command: str = "",
    only: Callable[[Cell], bool] = lambda cell: True,
    about: Mapping[str, Any] = MappingProxyType({}),
) -> pd.DataFrame:
    """Measure the missing cells of a study and save the table as it grows.

    Parameters
    ----------
    study : what to run.
    folder : where ``<name>.csv`` and ``<name>.json`` lie; made if need be.
    jobs : number of processes.
    command : how the run was asked for, for the provenance.
    only : which of the cells to measure now; the provenance is that of the whole study, and says what is missing.
    about : more for the provenance.

    Returns
    -------
    The complete table, rows of the study in a fixed order.
    """
    table = read(study.name, folder)
    todo = [cell for cell in missing(study, table) if only(cell)]
    if not todo:
        return table
    check_writable(folder)
    began = saved = time.monotonic()
    rows: list[dict[str, Any]] = []
    for cell, metrics in tqdm(_measured(study, todo, jobs), total=len(todo), desc=study.name, unit="fit"):
        keys = asdict(cell) | {"delta": study.delta(cell)}
        rows += [keys | {"metric": m, "value": round(v, 6)} for m, v in metrics.items()]
        if time.monotonic() - saved > SAVE_EVERY:
            _save(study, table, rows, folder)
            saved = time.monotonic()
    table = _save(study, table, rows, folder)
    record = _provenance(study, folder, began, command) | dict(about) | _lacking(missing(study, table))
    write_whole(folder / f"{study.name}.json", json.dumps(record, indent=2) + "\n")
    return table


def _measured(study: Study, cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, dict[str, float]]]:
    if jobs == 1:
        yield from ((cell, study.measure(cell)) for cell in cells)
        return
    with ProcessPoolExecutor(jobs, initializer=_as_worker) as pool:
        running = {pool.submit(study.measure, cell): cell for cell in cells}
        try:
            for done in as_completed(running):
                yield running[done], done.result()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                end_workers(pool)
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def check_writable(folder: Path) -> None:
    """Make a folder if need be; raises DataError, before anything is computed, if results cannot be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError as error:
        raise DataError(f"cannot write results to {folder}: it is a file; name a folder") from error
    except OSError as error:
        way_out = "name a folder that you may write to"
        raise DataError(f"cannot write results to {folder}: {error.strerror}; {way_out}") from error


def _as_worker() -> None:
    at_home()  # a cell makes its own Generator
    as_worker()


def _save(study: Study, table: pd.DataFrame, rows: list[dict[str, Any]], folder: Path) -> pd.DataFrame:
    grown = (
        pd.concat([table, pd.DataFrame(rows, columns=COLUMNS)])
        if len(table)
        else pd.DataFrame(rows, columns=COLUMNS)
    )
    grown = grown.sort_values([*KEYS, "metric"], ignore_index=True)
    stored = _row_a_cell(grown) if study.row_a_cell else grown
    write_whole(folder / f"{study.name}.csv", stored.to_csv(index=False))
    return grown


def _row_a_cell(table: pd.DataFrame) -> pd.DataFrame:
    """Texts of the values, a row a cell and a column a metric; where a cell lacks a metric, none."""
    values = [str(value) for value in table["value"].tolist()]
    return table.assign(value=values).set_index([*FIT, "metric"])["value"].unstack().reset_index()


def _provenance(study: Study, folder: Path, began: float, command: str) -> dict[str, Any]:
    """How a results file came about; run time adds up over resumed runs."""
    path = folder / f"{study.name}.json"
    before = json.loads(path.read_text())["seconds"] if path.exists() else 0.0
    cells = pd.DataFrame([asdict(c) for c in study.cells])
    return {
        "grid": study.name,
        "command": command,
        "cells": len(study.cells),
        "parameters": {name: [f"{v}" for v in sorted(cells[name].unique())] for name in KEYS},
        "data_sha256": {name: _checksum(name) for name in study.datasets},
        "versions": {name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "seconds": round(before + time.monotonic() - began, 1),
    }


def _lacking(cells: Sequence[Cell]) -> dict[str, dict[str, int]]:
    """For the provenance: how many cells are missing, by method and data set; nothing where none is."""
    count = Counter(f"{cell.method} on {cell.dataset}" for cell in cells)
    return {"missing": dict(count)} if count else {}


@lru_cache
def _checksum(dataset: str) -> str:
    """SHA-256 of the training and test tables as they are used, whatever files they came from."""
    digest = hashlib.sha256()
    for X, y in (data_of(dataset).train, data_of(dataset).test):
        digest.update(X.to_csv(index=True).encode())
        digest.update(y.to_csv(index=True).encode())
    return digest.hexdigest()


@lru_cache(maxsize=4)
def data_of(name: str) -> Dataset:
    """Data set of a cell, kept in memory: a name, or a name and a split such as ``adult/merged``.

    The sets of :mod:`private_trees.studies.sets` that are split by seed come in their first split.

    ``adult/us`` is the standard split of the US-born records without ``fnlwgt``; ``adult/10`` has its continuous
    attributes in ten public bins.
    """
    base, _, variant = name.partition("/")
    if base in (*MORE, *MADE, *NUMBERS, *PEOPLE, VISITS) or variant == "few":
        return split_of(base, 0)
    if variant == "us":
        return load(base, us_only=True, drop=("fnlwgt",))
    if variant.isdigit():
        return load(base).discretised(int(variant))
    return load(base, split=variant) if variant else load(base)


@lru_cache(maxsize=4)
def records_of(name: str) -> tuple[Records, NDArray[np.float64], NDArray[np.intp]]:
    """Encoded data of :func:`data_of`: training records, test codes (n, attributes), test label codes (n,)."""
    data = data_of(name)
    test, y = data.test
    records = Records(*data.train, domain=data.domain)
    return records, data.domain.encode(test, strict=False), data.domain.encode_labels(y)
