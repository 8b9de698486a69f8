"""Black-box attack, which fits often on two neighbours, observes every fit, and bounds the privacy loss from this."""

from __future__ import annotations

import pickle
import random
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from ..arrays import Floats
from ..checks import check_count
from ..terminal import as_worker, end_workers
from .bounds import MIN_RUNS, OutputEvent, SampledFinding, compare
from .settings import AuditSettings, Keywords

Observe = Callable[[Any], ArrayLike]
Data = tuple[Any, Any]

MOST_QUERIES = 48  # records that a model is asked for, beside corners; each is a column of a class or more


class AttackError(RuntimeError):
    """A fit or an observation failed; the message names the data set, the run and the cause."""


# --- Observations -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlackBox:
    """The view of a user of a fitted model, which is its answers to fixed queries.

    Calling it with a model gives the class probabilities (codes of the labels where the model has none, and numbers
    where it predicts numbers) of each query, and the number of distinct answers.
    """

    queries: Any  # records, in a form that the model takes
    # Labels in a fixed order; a model that does not know a label answers NaN for it. Empty if the model
    # predicts numbers.
    classes: tuple[Any, ...]

    def __call__(self, model: Any) -> Floats:
        """Answers of a fitted model, (queries · classes + 1,)."""
        if not self.classes:
            answers = np.asarray(model.predict(self.queries), float).reshape(-1, 1)
        elif hasattr(model, "predict_proba"):
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
            numbers = [f"{'label' if self.classes else 'number'} of query {i}" for i in range(count)]
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
        try:
            return [*dict.fromkeys([*a, *b])][:MOST_QUERIES]
        except TypeError:  # some cannot be looked up
            return [*a, *b][:MOST_QUERIES]
    rows = pd.concat(tables, ignore_index=True)
    # A record that only one data set holds shows up an odd number of times: ask for it first.
    often = rows.astype(object).groupby(list(rows.columns), dropna=False, sort=False)[rows.columns[0]]
    odd = (often.transform("size") % 2 == 1).to_numpy()
    rows = pd.concat([rows[odd], rows[~odd]]).drop_duplicates().head(MOST_QUERIES)
    queries = pd.concat([rows, _corners(rows)], ignore_index=True).drop_duplicates(ignore_index=True)
    queries = queries.astype(tables[0].dtypes.to_dict())
    return queries if isinstance(a, pd.DataFrame) else queries.to_numpy(np.asarray(a).dtype)


def _corners(rows: pd.DataFrame) -> pd.DataFrame:
    ends = []
    for _, column in rows.items():
        values = column.dropna()
        if pd.api.types.is_numeric_dtype(values) and len(values):
            ends.append((values.min(), values.max()))
        else:
            ends.append((column.iloc[0], column.iloc[-1]))
    # All 2^d corners of up to four columns, else the two where all are smallest or largest.
    corners = list(product(*ends)) if len(ends) <= 4 else list(zip(*ends, strict=True))
    return pd.DataFrame(corners, columns=rows.columns)


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


# --- Fits ---------------------------------------------------------------------------------------------------


@contextmanager
def kept_generators() -> Iterator[None]:
    """Leave the global generators of Python and NumPy as they were."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002


def seed_globals(seed: int) -> None:
    """Seed the global generators of Python and NumPy."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


@dataclass(frozen=True)
class Sample:
    """An estimator on one data set, which is fitted many times, and the observation of each fit."""

    factory: Callable[[], Any]  # returns an unfitted estimator
    data: Data  # (X, y), as `fit` takes them
    observe: Callable[[Any], Any]  # function from a fitted model to numbers
    name: str  # name of the data set, for errors
    # Whether exceptions and warnings of a fit are part of the observation; otherwise an exception ends the
    # runs.
    failures: bool = False

    def run(self, seed: int, number: int) -> Seen:
        """What is seen of a fit; its number is for errors."""
        with kept_generators():
            seed_globals(seed)  # subjects that draw from them would repeat themselves in forked processes
            try:
                return self._noted(seed) if self.failures else (self._observed(self._fitted(seed)), SILENT)
            except AttackError:
                raise
            except Exception as error:
                raise AttackError(
                    f"run {number} on the {self.name} data set failed: {type(error).__name__}: {error}"
                ) from error

    def _fitted(self, seed: int) -> Any:
        model = seeded(self.factory(), seed)
        model.fit(*self.data)
        return model

    def fit(self, seed: int) -> tuple[Any, Notes]:
        """The fitted model, None if the fit failed, and the fit's exception and warnings."""
        model, raised = None, ("", "")
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                model = self._fitted(seed)
            except Exception as error:
                raised = _raised("fit", error)
        kinds = sorted({one.category.__name__ for one in heard})
        texts = sorted({f"{one.category.__name__}: {_text(one.message)}" for one in heard})
        warned = [f"fit warned {' and '.join(names)}" if names else "" for names in (kinds, texts)]
        return model, (*raised, warned[0], warned[1])

    def _noted(self, seed: int) -> Seen:
        """The numbers of one fit, none if it failed, and its exception and warnings."""
        model, notes = self.fit(seed)
        if model is None:
            return np.empty(0), notes
        try:
            return self._observed(model), notes
        except AttackError:
            raise
        except Exception as error:
            return np.empty(0), (*_raised("the fitted model", error), *notes[2:])

    def _observed(self, model: Any) -> Any:
        observed = np.asarray(self.observe(model), float)
        if observed.ndim != 1:
            raise AttackError(f"observe returned shape {observed.shape}: expected one-dimensional numbers")
        return observed


def two_samples(
    factory: Callable[[], Any], first: Data, second: Data, observe: Observe, *, failures: bool = False
) -> list[Sample]:
    """An estimator on the data sets D and D′; parameters are those of :class:`Sample`."""
    sides = (first, "first"), (second, "second")
    return [Sample(factory, data, observe, name, failures) for data, name in sides]


Notes = tuple[str, str, str, str]  # as NOTED names them; empty for none
Seen = tuple[Any, Notes]  # what is observed of a fit, and what it raised and warned
SILENT: Notes = ("", "", "", "")
Texts = dict[tuple[str, float], str]  # the text of each number in columns of texts, such as those of NOTED
NOTED = (
    "the run's exception by kind",
    "the run's exception",
    "the fit's warnings by kind",
    "the fit's warnings",
)


def _raised(what: str, error: Exception) -> tuple[str, str]:
    kind = f"{what} raised {type(error).__name__}"
    return kind, f"{kind}: {_text(error)}"


def _text(message: object) -> str:
    text = " ".join(str(message).split())
    return text if len(text) <= 160 else text[:160] + "…"  # two lines


def seeded(model: Any, seed: int) -> Any:
    """Set every ``random_state`` among a model's parameters, each to a seed of its own; return the model."""
    if not hasattr(model, "get_params"):
        return model
    names = sorted(n for n in model.get_params() if n == "random_state" or n.endswith("__random_state"))
    states = np.random.SeedSequence(seed).generate_state(len(names)).tolist()
    if names:
        model.set_params(**dict(zip(names, states, strict=True)))
    return model


_samples: Sequence[Sample] = ()  # of a worker process, sent once


def _prepare(samples: Sequence[Sample]) -> None:
    global _samples
    as_worker()  # Ctrl-C is for the process that tells the verdict
    _samples = samples


def _run(place: int, seed: int, number: int) -> Seen:
    return _samples[place].run(seed, number)


Runs = Sequence[tuple[int, int, int]]  # place of the sample, seed and number of each run


@contextmanager
def fitting(
    samples: Sequence[Sample], *, jobs: int, at_once: int = 1
) -> Iterator[Callable[[Runs], Iterator[Seen]]]:
    """A function that makes runs in this process or in several and tells what is seen, in the order of the runs.

    Parameters
    ----------
    at_once : number of runs that a process is handed at a time.

    Raises
    ------
    AttackError
        If samples cannot be sent to a process, or one dies.
    """
    check_count("jobs", jobs, low=1)
    if jobs == 1:
        yield lambda runs: (samples[place].run(seed, number) for place, seed, number in runs)
        return
    try:
        pickle.dumps(samples)
    except Exception as error:
        raise AttackError(
            f"jobs={jobs} needs a factory and an observation that can be pickled, such as functions of a module; "
            f"use jobs=1 or move them: {error}"
        ) from error
    with ProcessPoolExecutor(jobs, initializer=_prepare, initargs=(samples,)) as pool:
        try:
            yield lambda runs: pool.map(_run, *zip(*runs, strict=True), chunksize=at_once)
        except BrokenProcessPool as error:
            raise AttackError(
                "a worker process died: it ran out of memory, or could not import the factory; use jobs=1"
            ) from error
        except KeyboardInterrupt:
            end_workers(pool)
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def progress_bar(total: float, *, title: str, unit: str, shown: bool) -> Any:
    """A bar that is updated with every run."""
    from tqdm import tqdm  # here, so that the package is imported fast

    return tqdm(total=total, desc=title, unit=unit, disable=not shown)


def drawn(
    samples: Sequence[Sample],
    runs: Sequence[int],
    *,
    jobs: int = 1,
    seed: int = 0,
    progress: bool = False,
    title: str = "attack",
) -> list[list[Seen]]:
    """Fit each sample as often as ``runs`` says, every fit with a seed of its own, and return what is seen of them."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    seeds = rng.choice(2**32, size=sum(runs), replace=False).tolist()
    places = [(place, number) for place, count in enumerate(runs) for number in range(count)]
    asked = [(place, own, number) for (place, number), own in zip(places, seeds, strict=True)]
    found: list[list[Seen]] = [[] for _ in samples]
    # Few enough hand-outs to cost little, and four a process at least, so that none waits long for the others.
    at_once = max(1, min(200, max(runs) // (4 * jobs)))
    with (
        progress_bar(len(asked), title=title, unit="fit", shown=progress) as bar,
        fitting(samples, jobs=jobs, at_once=at_once) as made,
    ):
        for (place, _), seen in zip(places, made(asked), strict=True):
            found[place].append(seen)
            bar.update()
    return found


def table(rows: Sequence[Floats], width: int) -> Floats:
    """Observations as rows of one width; shorter ones are padded with NaN."""
    filled = np.full((len(rows), width), np.nan)
    for row, observed in zip(filled, rows, strict=True):
        row[: len(observed)] = observed
    return filled


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


def number_of(text: str) -> float:
    """A number that follows from the text alone, so that no run has a say in how another one is seen; 0 for none."""
    return float(zlib.crc32(text.encode(errors="surrogatepass")))


def words_of(event: OutputEvent, texts: Texts) -> str:
    """An event in words: by the texts in it, if it is one of texts, such as exceptions and warnings."""
    inside = texts_in(event, texts)
    if inside is None:
        return str(event)
    inside = [_text(text) or "none" for text in inside]
    listed = "” or “".join(inside[:3]) + ("” or others" if len(inside) > 3 else "”")  # enough for a line
    return f"{event.statistic}: “{listed}"


def texts_in(event: OutputEvent, texts: Texts) -> list[str] | None:
    """The texts in an event, None if its numbers are numbers."""
    column = sorted((number, text) for (name, number), text in texts.items() if name == event.statistic)
    return [text for number, text in column if event.holds(np.array([number]))[0]] if column else None


def side_by_side(seen: Seen, texts: Texts) -> Floats:
    """Exception and warnings of a fit as numbers, in front of what was observed; their texts go into ``texts``."""
    row, notes = seen
    numbers = [number_of(note) for note in notes]
    whole = notes[1], notes[1], notes[3], notes[3]  # a kind is told by its message, if it has one only
    for key, note, full in zip(zip(NOTED, numbers, strict=True), notes, whole, strict=True):
        texts[key] = full if texts.get(key, full) == full else note
    return np.concatenate([numbers, row])


def check_some_succeed(sides: Sequence[Sequence[Seen]]) -> None:
    """Raise AttackError if no run on any data set gave an observation."""
    if not any(len(row) for rows in sides for row, _ in rows):
        why = next((notes[1] for rows in sides for _, notes in rows if notes[1]), "nothing was observed")
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
    settings : settings of :class:`~dpnb.audit.settings.AuditSettings`, by default with a progress bar. ``runs``, at
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
