"""Fits on data sets, in this process or in several, and what is seen of each: numbers, exceptions and warnings."""

from __future__ import annotations

import pickle
import random
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpnb.arrays import Floats
from dpnb.checks import check_count
from dpnb.replay.neighbours import fitted_on
from dpnb.terminal import as_worker, end_workers

Data = tuple[Any, ...]
"""(X, y), as `fit` takes them, or (X, y, people) with the person of each record."""


class AttackError(RuntimeError):
    """A fit or an observation failed; the message names the data set, the run and the cause."""


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
    data: Data  # as `fit` takes them
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
        fitted_on(model, self.data)
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
        texts = sorted({f"{one.category.__name__}: {brief(one.message)}" for one in heard})
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
    return kind, f"{kind}: {brief(error)}"


def brief(message: object) -> str:
    """A message on one line, or two."""
    text = " ".join(str(message).split())
    return text if len(text) <= 160 else text[:160] + "…"


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


def number_of(text: str) -> float:
    """A number that follows from the text alone, so that no run has a say in how another one is seen; 0 for none."""
    return float(zlib.crc32(text.encode(errors="surrogatepass")))


def side_by_side(seen: Seen, texts: Texts) -> Floats:
    """Exception and warnings of a fit as numbers, in front of what was observed; their texts go into ``texts``."""
    row, notes = seen
    numbers = [number_of(note) for note in notes]
    whole = notes[1], notes[1], notes[3], notes[3]  # a kind is told by its message, if it has one only
    for key, note, full in zip(zip(NOTED, numbers, strict=True), notes, whole, strict=True):
        texts[key] = full if texts.get(key, full) == full else note
    return np.concatenate([numbers, row])
