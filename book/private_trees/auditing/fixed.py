"""Attacks with a fixed number of fits: an eighth learns, an eighth chooses an event, and the rest measures it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from dpaudit import AttackError, AuditSettings, black_box
from dpaudit.events import Counts, OutputEvent, Statistic, classifiers, column, events
from dpaudit.fits import NOTED, Data, Sample, Seen, Texts, drawn, side_by_side, table
from dpaudit.settings import MIN_RUNS, Keywords
from dpaudit.words import words_of
from dpnb.arrays import Floats
from dpnb.checks import check_count
from dpnb.replay import Finding

from .counts import _Limits, _shown, epsilon_bound

Observe = Callable[[Any], ArrayLike]


def white_box(model: Any) -> Floats:
    """The released trees of a fitted forest as numbers.

    Parameters
    ----------
    model : estimator with ``trees_``, a list of :class:`~dpnb.trees.tree.Tree`.

    Returns
    -------
    The number of nodes, and then, node by node in level order and tree by tree, attribute, cut (the first of several),
    and leaf values. NaN where a tree lacks the node, and for numbers that a node does not have.
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


def two_samples(
    factory: Callable[[], Any], first: Data, second: Data, observe: Observe, *, failures: bool = False
) -> list[Sample]:
    """An estimator on the data sets D and D′; parameters are those of :class:`Sample`."""
    sides = (first, "first"), (second, "second")
    return [Sample(factory, data, observe, name, failures) for data, name in sides]


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

    Raises
    ------
    AttackError
        If a fit or an observation fails.
    """
    check_count("runs", runs, low=MIN_RUNS)
    check_count("jobs", jobs, low=1)
    samples = two_samples(factory, first, second, observe)
    found = drawn(samples, [runs, runs], jobs=jobs, seed=seed, progress=progress)
    width = max(len(row) for rows in found for row, _ in rows)
    a, b = (table([row for row, _ in rows], width) for rows in found)
    return a, b


def with_notes(sides: Sequence[Sequence[Seen]]) -> tuple[list[Floats], Texts]:
    """Observations of several data sets as tables, with exceptions and warnings in four columns in front.

    Returns
    -------
    A table for each data set, and the text of each number in the columns in front.
    """
    texts: Texts = {}
    rows = [[side_by_side(seen, texts) for seen in side] for side in sides]
    width = max(len(row) for side in rows for row in side)
    return [table(side, width) for side in rows], texts


def check_some_succeed(sides: Sequence[Sequence[Seen]]) -> None:
    """Raise AttackError if no run on any data set gave an observation."""
    if not any(len(row) for rows in sides for row, _ in rows):
        why = next(
            (notes.texts[1] for rows in sides for _, notes in rows if notes.texts[1]), "nothing was observed"
        )
        raise AttackError(f"all {sum(map(len, sides))} runs failed on both data sets: {why}")


def attack(
    factory: Callable[[], Any],
    first: Data,
    second: Data,
    *,
    observe: Observe | None = None,
    **settings: Unpack[Keywords],
) -> SampledFinding:
    """Attack any scikit-learn-like estimator on one pair of neighbours.

    An exception or a warning of a run is an output like any other: if it tells the data sets apart, it is the event.

    Parameters
    ----------
    factory : returns an unfitted estimator; every parameter ``random_state`` of it gets a fresh seed for each run.
    first, second : (X, y) of the data sets D and D′.
    observe : function from a fitted model to one-dimensional numbers, by default the model's answers
        (:func:`black_box`); :func:`white_box` reads the trees of a forest. Its attribute ``names``, if it has one,
        names the numbers.
    settings : settings of :class:`~dpaudit.settings.AuditSettings`, by default with a progress bar. ``runs``, at
        least 40, can only show ε up to about ln(runs / 6).

    Raises
    ------
    AttackError
        If every run fails, or ``factory`` cannot be sent to a process.
    ValueError
        For numbers out of range.
    """
    settings.setdefault("progress", True)
    asked = AuditSettings(**settings).about(subject=type(factory()).__name__)
    check_count("runs", asked.runs, low=MIN_RUNS)
    check_count("jobs", asked.jobs, low=1)
    if observe is None:
        box = black_box(first, second)
        observe = replace(box, classes=()) if isinstance(factory(), RegressorMixin) else box
    samples = two_samples(factory, first, second, observe, failures=True)
    found = drawn(
        samples, [asked.runs, asked.runs], jobs=asked.jobs, seed=asked.seed, progress=asked.progress
    )
    check_some_succeed(found)
    (a, b), texts = with_notes(found)
    result = compare(a, b, names=noted_names(observe, a.shape[1]), **vars(asked))
    where = result.event.removeprefix(str(result.shown))
    return replace(result, event=f"{words_of(result.shown, texts)}{where}")


def noted_names(observe: Observe, width: int) -> list[str]:
    """Names of ``width`` numbers: what the runs raise and warn, and what an observation sees."""
    seen, name_them = width - len(NOTED), getattr(observe, "names", None)
    return [*NOTED, *(name_them(seen) if callable(name_them) else [f"output {j}" for j in range(seen)])]


CHOICE_LEVEL = 0.999  # of limits that choose an event: at a lower level luck decides, at a higher one nothing


def largest_bound(runs: int, *, confidence: float) -> float:
    """Largest ε that an attack with ``runs`` fits on each data set can show, about ln(n / ln(1 / α))."""
    measured = runs - 2 * _eighth(runs)
    return epsilon_bound(measured, 0, measured, measured, confidence=confidence)


NO_EVENT = OutputEvent("", "=", math.nan)


@dataclass(frozen=True, kw_only=True)
class SampledFinding(Finding):
    """The finding of an attack, with the numbers that it rests on."""

    shown: OutputEvent = NO_EVENT  # the event that tells the data sets apart
    # on_first, on_second: (n,) the event's statistic in the runs that measured it, on D and D′.
    on_first: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    on_second: Floats = field(default_factory=lambda: np.empty(0), repr=False, compare=False)


def _best_event(name: str, a: Floats, b: Floats, *, delta: float) -> tuple[float, OutputEvent]:
    """Event of one statistic that shows most on the values ``a`` and ``b``, and the ratio that it shows."""
    offered = events(a, b)

    def shown(k: Counts, l: Counts) -> Floats:  # noqa: E741
        counts = (_Limits(side, len(z), alpha=1 - CHOICE_LEVEL) for side, z in ((k, a), (l, b)))
        return _shown(*counts, delta=delta)

    inside = shown(offered.first, offered.second)
    outside = shown(len(a) - offered.first, len(b) - offered.second)
    best = int(np.argmax(np.maximum(inside, outside)))
    event = offered.event(name, best, complement=bool(outside[best] > inside[best]))
    return float(max(inside[best], outside[best])), event


def _chosen(
    statistics: Sequence[tuple[str, Statistic]], first: Floats, second: Floats, *, delta: float
) -> tuple[OutputEvent, Statistic]:
    """The event that shows most on these outputs, and its statistic."""
    offers = [
        _best_event(name, statistic(first), statistic(second), delta=delta) for name, statistic in statistics
    ]
    best = int(np.argmax([shown for shown, _ in offers]))
    return offers[best][1], statistics[best][1]


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


def as_outputs(
    first: ArrayLike, second: ArrayLike, names: Sequence[str] | None
) -> tuple[Floats, Floats, list[str]]:
    """Outputs on two data sets as tables of the same columns, and the columns' names."""
    a, b = _as_outputs(first, "first"), _as_outputs(second, "second")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"outputs have {a.shape[1]} and {b.shape[1]} columns: expected as many on both")
    names = [f"output {j}" for j in range(a.shape[1])] if names is None else list(names)
    if len(names) != a.shape[1]:
        raise ValueError(f"{len(names)} names for {a.shape[1]} columns of outputs: expected one each")
    return a, b, names


def compare(
    first: ArrayLike,
    second: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    **settings: Unpack[Keywords],
) -> SampledFinding:
    """Bound ε from independent outputs on two neighbours D and D′.

    An eighth of the outputs trains two classifiers, an eighth chooses one event (a threshold or a frequent value of one
    number, or a threshold of a classifier's score), and the rest measures that event. Since no output takes part in
    both choice and measurement, the bound holds with the stated confidence, however the event is chosen. We choose it
    by the statistic of :func:`epsilon_bound`'s test with limits at 0.999, whatever the stated confidence is. At a lower
    level rare outputs are taken by luck, and at 1 − 10⁻⁶ the few outputs that choose show next to nothing.

    Parameters
    ----------
    first, second : (n, q) or (n,) outputs on D and D′, with a row for each run; NaN where an output lacks a number.
    names : (q,) names of the numbers, for the event.
    settings : settings of :class:`~dpaudit.settings.AuditSettings`; the seed is that of the split and of the
        classifiers.

    Raises
    ------
    ValueError
        For fewer than 40 outputs on a data set, or numbers out of range.

    References
    ----------
    Bichsel, Steffen, Bogunovic, Vechev (2021), DP-Sniper; Jagielski, Ullman, Oprea (2020), Auditing DP-SGD.
    """
    asked = AuditSettings(**settings)
    a, b, names = as_outputs(first, second, names)
    rng = np.random.default_rng(asked.seed)
    learn, choose, measure = zip(*(_split(rng.permutation(side)) for side in (a, b)), strict=True)
    columns = [(name, column(j)) for j, name in enumerate(names)]
    # One thread: the answer does not depend on the machine, and processes forked later inherit no thread pool.
    with threadpool_limits(1):
        statistics = [*columns, *classifiers(*learn, seed=int(rng.integers(2**31)))]
        event, statistic = _chosen(statistics, *choose, delta=asked.delta)
        on_first, on_second = (statistic(side) for side in measure)
    runs = len(on_first), len(on_second)
    k, l = (int(event.holds(side).sum()) for side in (on_first, on_second))  # noqa: E741
    bound = epsilon_bound(k, l, *runs, confidence=asked.confidence, delta=asked.delta)
    return asked.finding(
        SampledFinding,
        instrument="attack",
        lower_bound=bound,
        event=f"{event}: {k} of {runs[0]} on D, {l} of {runs[1]} on D′",
        trials=len(a) + len(b),
        shown=event,
        on_first=on_first,
        on_second=on_second,
    )
