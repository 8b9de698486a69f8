"""Black-box attack: fit often on two neighbours, observe every fit, and bound the privacy loss from what was seen."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..arrays import Floats
from .bounds import MIN_RUNS, SampledFinding, check_claim, check_levels, compare

if TYPE_CHECKING:
    from tqdm import tqdm

Observe = Callable[[Any], ArrayLike]
Data = tuple[Any, Any]

MAX_QUERIES = 48
WORKER_DIED = "a worker process died: it ran out of memory, or could not import the factory; use jobs=1"
CORNER_COLUMNS = 4  # all corners of the data up to so many columns, else two


class AttackError(RuntimeError):
    """A fit or an observation failed; the message names the data set, the run and the cause."""


# --- Observations -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlackBox:
    """What a user of a fitted model sees: its answers to fixed queries.

    Calling it with a model gives the class probabilities (codes of the labels where the model has none) of each
    query, and the number of distinct answers.

    Parameters
    ----------
    queries : records, in a form that the model takes.
    classes : labels in a fixed order; a model that does not know one answers NaN for it.
    """

    queries: Any
    classes: tuple[Any, ...]

    def __call__(self, model: Any) -> Floats:
        """Answers of a fitted model, (queries · classes + 1,)."""
        if hasattr(model, "predict_proba"):
            known = list(getattr(model, "classes_", self.classes))
            table = np.asarray(model.predict_proba(self.queries), float)
            answers = np.full((len(table), len(self.classes)), np.nan)
            for j, label in enumerate(self.classes):
                if label in known:
                    answers[:, j] = table[:, known.index(label)]
        else:
            code = {label: float(j) for j, label in enumerate(self.classes)}
            labels = np.asarray(model.predict(self.queries)).ravel().tolist()
            answers = np.array([[code.get(label, np.nan)] for label in labels])
        distinct = len(np.unique(answers, axis=0))
        return np.append(answers.ravel(), float(distinct))

    def names(self, width: int) -> list[str]:
        """Names of ``width`` observed numbers."""
        count = len(self.queries)
        if width == count + 1:
            numbers = [f"label of query {i}" for i in range(count)]
        else:
            numbers = [f"P({label} | query {i})" for i in range(count) for label in self.classes]
        return [*numbers, "number of distinct answers"]


def black_box(first: Data, second: Data) -> BlackBox:
    """Queries at the records of two data sets, those that differ first, and at corners of their range.

    Parameters
    ----------
    first, second : (X, y) of the two neighbours; X a DataFrame, an array or a list.
    """
    labels = [label for _, y in (first, second) for label in np.asarray(y).tolist()]
    try:
        classes = tuple(sorted(set(labels)))
    except TypeError:
        classes = tuple(dict.fromkeys(labels))
    return BlackBox(_queries(first[0], second[0]), classes)


def _queries(a: Any, b: Any) -> Any:
    tables = [pd.DataFrame(X) if isinstance(X, np.ndarray) and X.ndim == 2 else X for X in (a, b)]
    if not all(isinstance(X, pd.DataFrame) for X in tables):
        return [*dict.fromkeys([*a, *b])][:MAX_QUERIES] if _hashable(a, b) else [*a, *b][:MAX_QUERIES]
    rows = pd.concat(tables, ignore_index=True)
    # A record that only one data set holds shows up an odd number of times: ask for it first.
    often = rows.astype(object).groupby(list(rows.columns), dropna=False, sort=False)[rows.columns[0]]
    odd = (often.transform("size") % 2 == 1).to_numpy()
    rows = pd.concat([rows[odd], rows[~odd]]).drop_duplicates().head(MAX_QUERIES)
    queries = pd.concat([rows, _corners(rows)], ignore_index=True).drop_duplicates(ignore_index=True)
    queries = queries.astype(tables[0].dtypes.to_dict())
    return queries if isinstance(a, pd.DataFrame) else queries.to_numpy(np.asarray(a).dtype)


def _hashable(a: Any, b: Any) -> bool:
    try:
        hash((*a, *b))
    except TypeError:
        return False
    return True


def _corners(rows: pd.DataFrame) -> pd.DataFrame:
    ends = []
    for _, column in rows.items():
        values = column.dropna()
        if pd.api.types.is_numeric_dtype(values) and len(values):
            ends.append((values.min(), values.max()))
        else:
            ends.append((column.iloc[0], column.iloc[-1]))
    corners = list(product(*ends)) if len(ends) <= CORNER_COLUMNS else list(zip(*ends, strict=True))
    return pd.DataFrame(corners, columns=rows.columns)


def white_box(model: Any) -> Floats:
    """The released trees of a fitted forest as numbers.

    Parameters
    ----------
    model : estimator with ``trees_``, a list of :class:`~dpnb.trees.Tree`.

    Returns
    -------
    Number of nodes; then node by node in level order, tree by tree: attribute, cut (the first of several), and
    leaf values. NaN where a tree lacks the node, and for what a node does not have.
    """
    trees = model.trees_
    nodes = max(tree.n_nodes for tree in trees)
    classes = trees[0].value.shape[1]
    table = np.full((nodes, len(trees), 2 + classes), np.nan)
    for t, tree in enumerate(trees):
        inner = tree.first_child >= 0
        table[: tree.n_nodes, t, 0] = np.where(inner, tree.splits.attribute, np.nan)
        table[: tree.n_nodes, t, 1] = np.where(inner, tree.splits.cut.reshape(tree.n_nodes, -1)[:, 0], np.nan)
        table[: tree.n_nodes, t, 2:] = tree.value
    return np.append(float(sum(tree.n_nodes for tree in trees)), table.ravel())


def white_names(width: int, *, n_trees: int, classes: Sequence[Any]) -> list[str]:
    """Names of the first ``width`` numbers of :func:`white_box` for forests of ``n_trees`` trees."""
    entries = ["attribute", "cut", *(f"value of class {label}" for label in classes)]
    nodes = -(-width // (n_trees * len(entries)))
    names = product(range(nodes), range(n_trees), entries)
    return ["number of nodes", *(f"tree {t}, node {v}: {what}" for v, t, what in names)][:width]


# --- Fits ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """What a process needs to do any run."""

    factory: Callable[[], Any]
    data: tuple[Data, Data]
    observe: Observe

    def run(self, side: int, seeds: Sequence[int], start: int) -> Iterator[Floats]:
        """Observations of runs ``start``, ``start + 1``, ... on one data set."""
        # Subjects that draw from the global generators would repeat themselves in forked processes.
        python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
        try:
            for number, seed in enumerate(seeds, start):
                try:
                    yield self._observe(side, seed)
                except Exception as error:
                    which = ("first", "second")[side]
                    raise AttackError(
                        f"run {number} on the {which} data set failed: {type(error).__name__}: {error}"
                    ) from error
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002

    def _observe(self, side: int, seed: int) -> Floats:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        model = seeded(self.factory(), seed)
        model.fit(*self.data[side])
        observed = np.asarray(self.observe(model), float)
        if observed.ndim != 1:
            raise ValueError(f"observe returned shape {observed.shape}: expected one-dimensional numbers")
        return observed


def seeded(model: Any, seed: int) -> Any:
    """Set every ``random_state`` among a model's parameters, each to a seed of its own; return the model."""
    if not hasattr(model, "get_params"):
        return model
    names = sorted(n for n in model.get_params() if n == "random_state" or n.endswith("__random_state"))
    states = np.random.SeedSequence(seed).generate_state(len(names)).tolist()
    if names:
        model.set_params(**dict(zip(names, states, strict=True)))
    return model


_task: _Task | None = None


def _prepare(task: _Task) -> None:
    global _task
    _task = task


def _chunk(side: int, seeds: Sequence[int], start: int) -> list[Floats]:
    assert _task is not None
    return list(_task.run(side, seeds, start))


def observations(
    factory: Callable[[], Any],
    first: Data,
    second: Data,
    *,
    runs: int,
    observe: Observe,
    jobs: int = 1,
    seed: int = 0,
    progress: bool = True,
) -> tuple[Floats, Floats]:
    """Fit ``runs`` times on each of two data sets and observe each fit; parameters as in :func:`attack`.

    Returns
    -------
    Two (runs, q) arrays; shorter observations are padded with NaN.
    """
    for name, value, low in (("runs", runs, MIN_RUNS), ("jobs", jobs, 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
            raise ValueError(f"{name}={value!r}: expected a whole number of at least {low}")
    task = _Task(factory, (first, second), observe)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    seeds = rng.choice(2**32, size=(2, runs), replace=False).tolist()
    found: list[list[Any]] = [[None] * runs, [None] * runs]
    from tqdm import tqdm

    with tqdm(total=2 * runs, desc="attack", unit="fit", disable=not progress) as bar:
        if jobs == 1:
            for side in (0, 1):
                for number, observed in enumerate(task.run(side, seeds[side], 0)):
                    found[side][number] = observed
                    bar.update()
        else:
            _run_in_processes(task, seeds, found, jobs, bar)
    width = max(len(row) for rows in found for row in rows)
    a, b = (np.full((runs, width), np.nan) for _ in range(2))
    for array, rows in zip((a, b), found, strict=True):
        for row, observed in zip(array, rows, strict=True):
            row[: len(observed)] = observed
    return a, b


def check_pickles(task: object, jobs: int) -> None:
    """Raise AttackError unless a task can be sent to a process."""
    try:
        pickle.dumps(task)
    except Exception as error:
        raise AttackError(
            f"jobs={jobs} needs a factory and an observation that can be pickled, such as functions of a module; "
            f"use jobs=1 or move them: {error}"
        ) from error


def _run_in_processes(
    task: _Task, seeds: list[list[int]], found: list[list[Any]], jobs: int, bar: tqdm[Any]
) -> None:
    check_pickles(task, jobs)
    size = max(1, min(200, len(seeds[0]) // (4 * jobs)))
    with ProcessPoolExecutor(jobs, initializer=_prepare, initargs=(task,)) as pool:
        try:
            running = {
                pool.submit(_chunk, side, seeds[side][start : start + size], start): (side, start)
                for start in range(0, len(seeds[0]), size)
                for side in (0, 1)
            }
            for done in as_completed(running):
                side, start = running[done]
                rows = done.result()
                found[side][start : start + len(rows)] = rows
                bar.update(len(rows))
        except BrokenProcessPool as error:
            raise AttackError(WORKER_DIED) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def attack(
    factory: Callable[[], Any],
    first: Data,
    second: Data,
    *,
    claimed: float,
    runs: int,
    confidence: float = 0.99,
    delta: float = 0.0,
    neighbours: str = "add-remove",
    pair: str = "",
    observe: Observe | None = None,
    jobs: int = 1,
    seed: int = 0,
    progress: bool = True,
    subject: str = "",
) -> SampledFinding:
    """Attack any scikit-learn-like estimator on one pair of neighbours.

    Parameters
    ----------
    factory : returns an unfitted estimator; every parameter ``random_state`` of it gets a fresh seed for each run.
    first, second : (X, y) of the data sets D and D′.
    claimed, confidence, delta, neighbours, pair : as of :func:`~dpnb.audit.bounds.compare`; whether the pair fits the
        relation is not checked.
    runs : number of fits on each data set, at least 40. They can show ε up to about ln(runs / 6) only.
    observe : fitted model → one-dimensional numbers, by default the model's answers (:func:`black_box`);
        :func:`white_box` reads the trees of a forest. Its attribute ``names``, if it has one, names the numbers.
    jobs : number of processes.
    seed : decides all runs of subjects that take a seed.
    progress : whether to show a progress bar.
    subject : what is audited, by default the estimator's class.

    Returns
    -------
    Finding

    Raises
    ------
    AttackError
        If a fit or an observation fails, or ``factory`` cannot be sent to a process.
    ValueError
        For numbers out of range.
    """
    check_levels(confidence, delta)
    check_claim(claimed)
    observe = black_box(first, second) if observe is None else observe
    a, b = observations(
        factory, first, second, runs=runs, observe=observe, jobs=jobs, seed=seed, progress=progress
    )
    name_them = getattr(observe, "names", None)
    return compare(
        a,
        b,
        claimed=claimed,
        confidence=confidence,
        delta=delta,
        neighbours=neighbours,
        subject=subject or type(factory()).__name__,
        pair=pair,
        names=name_them(a.shape[1]) if callable(name_them) else None,
        seed=seed,
    )
