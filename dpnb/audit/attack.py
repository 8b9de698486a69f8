"""Black-box attack: fit often on two neighbours, find an event that tells them apart, bound the privacy loss.

The bound is a statement about the sampled outputs only: a subject that passes is not proved private.
"""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..arrays import Floats
from .result import Finding

if TYPE_CHECKING:
    from tqdm import tqdm

Counts = NDArray[np.int_]
Observe = Callable[[Any], ArrayLike]
Data = tuple[Any, Any]

MIN_RUNS = 40
MAX_CUTS = 200  # thresholds tried for each number observed
MAX_QUERIES = 48
CORNER_COLUMNS = 4  # all corners of the data up to so many columns, else two


class AttackError(RuntimeError):
    """A fit or an observation failed; the message names the data set, the run and the cause."""


# --- Bounds -------------------------------------------------------------------------------------------------


def clopper_pearson(successes: int, trials: int, *, alpha: float) -> tuple[float, float]:
    """Exact confidence interval of a probability.

    Parameters
    ----------
    successes : 0..``trials``.
    trials : number of independent trials, at least 1.
    alpha : probability in (0, 1) that the interval misses, half of it on each side.

    Returns
    -------
    Lower and upper end.

    References
    ----------
    Clopper and Pearson (1934), The use of confidence or fiducial limits.
    """
    if not 0 <= successes <= trials or trials < 1:
        raise ValueError(
            f"{successes} successes in {trials} trials: expected 0 <= successes <= trials, trials >= 1"
        )
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha!r}: expected a number between 0 and 1")
    low, high = _intervals(np.array([successes]), trials, alpha)
    return float(low[0]), float(high[0])


def _intervals(successes: Counts, trials: int, alpha: float) -> tuple[Floats, Floats]:
    k = np.asarray(successes, float)
    # The corners k = 0 and k = trials are no Beta distributions; their bounds are 0 and 1.
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), trials - k + 1, alpha / 2))
    high = np.where(k == trials, 1.0, betaincinv(k + 1, np.maximum(trials - k, 1), 1 - alpha / 2))
    return low, high


def _log_ratios(
    first: Counts, second: Counts, n_first: int, n_second: int, *, confidence: float, delta: float
) -> Floats:
    """Lower bound of ε for each pair of counts, better direction; ``-inf`` if the counts show nothing."""
    p_low, p_high = _intervals(first, n_first, (1 - confidence) / 2)
    q_low, q_high = _intervals(second, n_second, (1 - confidence) / 2)
    ratio = np.maximum((p_low - delta) / q_high, (q_low - delta) / p_high)
    with np.errstate(divide="ignore"):
        bounds: Floats = np.log(np.maximum(ratio, 0.0))
    return bounds


def epsilon_bound(k: int, l: int, n_k: int, n_l: int, *, confidence: float, delta: float = 0.0) -> float:  # noqa: E741
    """Lower confidence bound of ε from how often an event fixed in advance occurs on two neighbours.

    Four Clopper–Pearson bounds (two probabilities, two directions) share the error probability equally, and
    ε ≥ ln((p_low − δ) / q_high) holds in the better direction.

    Parameters
    ----------
    k, l : number of outputs in the event, on the first and the second data set.
    n_k, n_l : number of outputs seen on each.
    confidence : probability in (0, 1) that the bound holds.
    delta : δ of the claim, in [0, 1).

    Returns
    -------
    The bound, 0 if the counts show nothing.
    """
    check_levels(confidence, delta)
    for successes, trials in ((k, n_k), (l, n_l)):
        if not 0 <= successes <= trials or trials < 1:
            raise ValueError(
                f"{successes} of {trials} outputs in the event: expected 0 to {trials} of at least 1"
            )
    bound = _log_ratios(np.array([k]), np.array([l]), n_k, n_l, confidence=confidence, delta=delta)
    return max(float(bound[0]), 0.0)


def largest_bound(runs: int, *, confidence: float) -> float:
    """Largest ε that an attack with ``runs`` fits on each data set can show, about ln(n / ln(4 / α))."""
    measured = runs - 2 * _eighth(runs)
    return epsilon_bound(measured, 0, measured, measured, confidence=confidence)


def check_levels(confidence: float, delta: float) -> None:
    """Raise ValueError unless the confidence and δ are in range."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r}: expected a number between 0 and 1, such as 0.99")
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r}: expected a number from 0 to below 1")


# --- Events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event:
    """A set of outputs: what is looked at, and how it compares with a number.

    Parameters
    ----------
    statistic : what is looked at, in words.
    relation : ``">"``, ``"≤"``, ``"="`` or ``"≠"``; ``"≤"`` and ``"≠"`` are the complements, missing values included.
    value : the number; NaN stands for "missing" in ``"="`` and ``"≠"``.
    """

    statistic: str
    relation: str
    value: float

    def holds(self, values: Floats) -> NDArray[np.bool_]:
        """Whether each value is in the event."""
        if self.relation in (">", "≤"):
            inside = values > self.value
        else:
            inside = np.isnan(values) if math.isnan(self.value) else values == self.value
        return inside if self.relation in (">", "=") else ~inside

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"{self.statistic} is {'missing' if self.relation == '=' else 'present'}"
        return f"{self.statistic} {self.relation} {self.value:.6g}"


@dataclass(frozen=True, kw_only=True)
class SampledFinding(Finding):
    """The finding of an attack, with the numbers that it rests on.

    Parameters
    ----------
    shown : the event that tells the data sets apart.
    on_first, on_second : (n,) the event's statistic in the runs that measured it, on D and D′.
    margin : the bound before it is cut off at 0, to rank pairs.
    """

    shown: Event = Event("", "=", math.nan)
    on_first: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    on_second: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    margin: float = -math.inf


def _cuts(a: Floats, b: Floats) -> Floats:
    """Thresholds worth trying: all values if few, else spread over the ranks and dense in the tails."""
    pooled = np.unique(np.concatenate([a, b]))
    if len(pooled) <= MAX_CUTS:
        return pooled
    ranks = np.geomspace(1, len(pooled) // 2, MAX_CUTS // 3).astype(int)
    even = np.linspace(0, len(pooled) - 1, MAX_CUTS // 3).astype(int)
    spread = pooled[np.concatenate([ranks - 1, len(pooled) - 1 - ranks, even])]
    # The largest values of each side are where disjoint supports part.
    ends = [edge(side) for side in (a, b) if len(side) for edge in (np.min, np.max)]
    return np.unique(np.concatenate([spread, ends]))


def _above(values: Floats, cuts: Floats) -> Counts:
    return len(values) - np.searchsorted(values, cuts, side="right")


def _equal(values: Floats, points: Floats) -> Counts:
    return np.searchsorted(values, points, side="right") - np.searchsorted(values, points, side="left")


def _best_event(name: str, a: Floats, b: Floats, *, confidence: float, delta: float) -> tuple[float, Event]:
    """Event of one statistic with the largest bound on the values ``a`` and ``b``."""
    x, y = np.sort(a[~np.isnan(a)]), np.sort(b[~np.isnan(b)])
    cuts = _cuts(x, y)
    points, often = np.unique(np.concatenate([x, y]), return_counts=True)
    points, often = points[often > 1], often[often > 1]
    points = points[np.argsort(-often, kind="stable")[:MAX_CUTS]]
    value = np.concatenate([cuts, points, [np.nan]])
    relation = [">"] * len(cuts) + ["="] * (len(points) + 1)
    first, second = (
        np.concatenate([_above(z, cuts), _equal(z, points), [n - len(z)]])
        for z, n in ((x, len(a)), (y, len(b)))
    )
    inside = _log_ratios(first, second, len(a), len(b), confidence=confidence, delta=delta)
    outside = _log_ratios(len(a) - first, len(b) - second, len(a), len(b), confidence=confidence, delta=delta)
    best = int(np.argmax(np.maximum(inside, outside)))
    chosen = relation[best]
    if outside[best] > inside[best]:
        chosen = {">": "≤", "=": "≠"}[chosen]
    return float(max(inside[best], outside[best])), Event(name, chosen, float(value[best]))


Statistic = Callable[[Floats], Floats]


def _column(j: int) -> Statistic:
    return lambda outputs: outputs[:, j]


def _classifiers(a: Floats, b: Floats, *, seed: int) -> Iterator[tuple[str, Statistic]]:
    """Statistics learnt from outputs on the two data sets: log-odds of the second one."""
    X, z = np.concatenate([a, b]), np.repeat([0, 1], [len(a), len(b)])
    finite = np.where(np.isfinite(X), X, np.nan)
    kept = np.flatnonzero([len(np.unique(column[~np.isnan(column)])) > 1 for column in finite.T])
    if not len(kept):
        return
    low, high = np.nanmin(finite[:, kept], axis=0), np.nanmax(finite[:, kept], axis=0)
    centre, spread = np.nanmean(finite[:, kept], axis=0), np.nanstd(finite[:, kept], axis=0)

    def bounded(outputs: Floats) -> Floats:
        inside: Floats = np.clip(outputs[:, kept], low, high)
        return inside

    def scaled(outputs: Floats) -> Floats:
        # Tails count: do not clip what the training part happened not to reach.
        units: Floats = (outputs[:, kept] - centre) / spread
        return np.nan_to_num(units, nan=0.0, posinf=1e3, neginf=-1e3)

    linear = LogisticRegression(max_iter=500).fit(scaled(X), z)
    boosted = HistGradientBoostingClassifier(
        max_iter=50, max_leaf_nodes=8, early_stopping=False, random_state=seed
    ).fit(bounded(X), z)
    yield "log-odds of D′ by logistic regression", lambda x: np.asarray(linear.decision_function(scaled(x)))
    yield "log-odds of D′ by boosted trees", lambda x: np.asarray(boosted.decision_function(bounded(x)))


def _split(outputs: Floats) -> list[Floats]:
    """The parts that learn, choose and measure."""
    eighth = _eighth(len(outputs))
    return np.split(outputs, [eighth, 2 * eighth])


def _eighth(runs: int) -> int:
    return math.ceil(runs / 8)


def _as_outputs(values: ArrayLike, which: str) -> Floats:
    outputs = np.asarray(values, float)
    if outputs.ndim == 1:
        outputs = outputs[:, None]
    if outputs.ndim != 2 or len(outputs) < MIN_RUNS or not outputs.shape[1]:
        raise ValueError(
            f"outputs on the {which} data set have shape {outputs.shape}: expected (runs >= {MIN_RUNS}, q)"
        )
    return outputs


def compare(
    first: ArrayLike,
    second: ArrayLike,
    *,
    claimed: float,
    confidence: float = 0.99,
    delta: float = 0.0,
    neighbours: str = "add-remove",
    subject: str = "",
    pair: str = "",
    names: Sequence[str] | None = None,
    seed: int = 0,
) -> SampledFinding:
    """Bound ε from independent outputs on two neighbours D and D′.

    An eighth of the outputs trains two classifiers, an eighth chooses one event (a threshold or a frequent value
    of one number, or a threshold of a classifier's score), and the rest measures that event. Since no output
    takes part in both choice and measurement, the bound holds with the stated confidence.

    Parameters
    ----------
    first, second : (n, q) or (n,) outputs on D and D′, a row a run; NaN where an output lacks a number.
    claimed : ε of the claim.
    confidence : probability in (0, 1) that the bound holds.
    delta : δ of the claim, in [0, 1).
    neighbours : relation of the claim, ``"add-remove"`` or ``"replace"``.
    subject, pair : what is audited, and the two data sets, in words.
    names : (q,) names of the numbers, for the event.
    seed : of the split and of the classifiers.

    Returns
    -------
    Finding, with the numbers behind it.

    Raises
    ------
    ValueError
        For fewer than 40 outputs on a data set, or numbers out of range.

    References
    ----------
    Bichsel, Steffen, Bogunovic, Vechev (2021), DP-Sniper; Jagielski, Ullman, Oprea (2020), Auditing DP-SGD.
    """
    check_levels(confidence, delta)
    check_claim(claimed)
    a, b = _as_outputs(first, "first"), _as_outputs(second, "second")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"outputs have {a.shape[1]} and {b.shape[1]} columns: expected as many on both")
    names = [f"output {j}" for j in range(a.shape[1])] if names is None else list(names)
    if len(names) != a.shape[1]:
        raise ValueError(f"{len(names)} names for {a.shape[1]} columns of outputs: expected one each")
    rng = np.random.default_rng(seed)
    learn, choose, measure = zip(*(_split(rng.permutation(side)) for side in (a, b)), strict=True)
    statistics = [(name, _column(j)) for j, name in enumerate(names)]
    # One thread: the answer does not depend on the machine, and processes forked later inherit no thread pool.
    with threadpool_limits(1):
        statistics += _classifiers(*learn, seed=int(rng.integers(2**31)))
        offers = [
            _best_event(name, statistic(choose[0]), statistic(choose[1]), confidence=confidence, delta=delta)
            for name, statistic in statistics
        ]
        best = int(np.argmax([bound for bound, _ in offers]))
        event = offers[best][1]
        on_first, on_second = (statistics[best][1](side) for side in measure)
    n_first, n_second = len(on_first), len(on_second)
    k, l = (event.holds(side).sum(keepdims=True) for side in (on_first, on_second))  # noqa: E741
    margin = float(_log_ratios(k, l, n_first, n_second, confidence=confidence, delta=delta)[0])
    return SampledFinding(
        instrument="attack",
        subject=subject,
        claimed=claimed,
        lower_bound=max(margin, 0.0),
        confidence=confidence,
        neighbours=neighbours,
        pair=pair,
        event=f"{event}: {k[0]} of {n_first} on D, {l[0]} of {n_second} on D′",
        delta=delta,
        trials=len(a) + len(b),
        shown=event,
        on_first=on_first,
        on_second=on_second,
        margin=margin,
    )


def check_claim(claimed: float) -> None:
    """Raise ValueError unless the claim is a positive ε."""
    if isinstance(claimed, bool) or not claimed > 0:
        raise ValueError(f"claimed={claimed!r}: expected a positive ε")


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


def _run_in_processes(
    task: _Task, seeds: list[list[int]], found: list[list[Any]], jobs: int, bar: tqdm[Any]
) -> None:
    try:
        pickle.dumps(task)
    except Exception as error:
        raise AttackError(
            f"jobs={jobs} needs a factory and an observation that can be pickled, such as functions of a module; "
            f"use jobs=1 or move them: {error}"
        ) from error
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
            raise AttackError(
                "a worker process died: it ran out of memory, or could not import the factory; use jobs=1"
            ) from error
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
    claimed : ε of the claim, positive.
    runs : number of fits on each data set, at least 40. They can show ε up to about ln(runs / 6) only.
    confidence : probability in (0, 1) that the bound holds: a private subject is flagged with probability
        1 − ``confidence`` at most.
    delta : δ of the claim, in [0, 1).
    neighbours : relation of the claim, which the pair must fit; not checked.
    pair : the two data sets, in words.
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
