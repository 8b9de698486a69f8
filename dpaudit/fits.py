"""Fits on data sets, in this process or in several, and what is seen of each: numbers, and what it tells beside."""

from __future__ import annotations

import math
import pickle
import random
import re
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpnb.arrays import Floats
from dpnb.checks import check_count
from dpnb.replay.neighbours import fitted_on
from dpnb.terminal import as_worker, end_workers

from .channels import Heard, listening

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
    # Whether what a run raises and tells is part of the observation; otherwise an exception ends the runs.
    failures: bool = False
    timed: bool = False  # whether the seconds that a fit takes are part of it as well

    def run(self, seed: int, number: int, *only: Any) -> Seen:
        """What is seen of a fit; its number is for errors, and more is for what observes it."""
        with kept_generators():
            seed_globals(seed)  # subjects that draw from them would repeat themselves in forked processes
            try:
                if self.failures:
                    return self._noted(seed, *only)
                return self._observed(self._fitted(seed), *only), SILENT
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

    def _noted(self, seed: int, *only: Any) -> Seen:
        """What is observed of one fit, nothing if it failed, and what it raised and told."""
        observed: Any = np.empty(0)
        what, raised, began, seconds = "fit", ("", ""), time.perf_counter(), math.nan
        with listening() as heard:
            try:
                model = self._fitted(seed)
                seconds = time.perf_counter() - began
                what = "the fitted model"
                observed = self._observed(model, *only)
            except AttackError:
                raise
            except Exception as error:
                kind = f"{what} raised {type(error).__name__}"
                raised = kind, f"{kind}: {brief(error)}"
        return observed, Notes(_told(raised, heard), seconds if self.timed else math.nan)

    def _observed(self, model: Any, *only: Any) -> Any:
        observed = np.asarray(self.observe(model), float)
        if observed.ndim != 1:
            raise AttackError(f"observe returned shape {observed.shape}: expected one-dimensional numbers")
        return observed


class Notes(NamedTuple):
    """What a run tells beside its model."""

    texts: tuple[str, ...] = ("",) * 10  # a kind and a text of each channel; empty for none
    seconds: float = math.nan  # that the fit took, if somebody asks


Seen = tuple[Any, Notes]  # what is observed of a fit, and what it tells beside
SILENT = Notes()
Texts = dict[tuple[str, float], str]  # the text of each number in columns of texts, such as those of CHANNELS
CHANNELS = ("the run's exception", "the run's warnings", "standard output", "standard error", "the log")
RAISED = CHANNELS[0]
COUNTED = 4  # numbers in the text of a channel, the first ones
SECONDS = "seconds that the fit takes"
NOTED = (
    *(name for channel in CHANNELS for name in (f"{channel} by kind", channel)),
    *(f"number {i} of {channel}" for channel in CHANNELS for i in range(1, COUNTED + 1)),
    SECONDS,
)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def _told(raised: tuple[str, str], heard: Heard) -> tuple[str, ...]:
    """Kind and text of each channel; what was written and logged is of a kind with what differs in its numbers only."""
    warned = [f"warned {text}" if text else "" for text in (heard.kinds, heard.warned)]
    written = [(NUMBER.sub("#", text), text) for text in (heard.output, heard.errors, heard.log)]
    return (*raised, *warned, *(text for both in written for text in both))


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


def _run(place: int, *run: Any) -> Seen:
    return _samples[place].run(*run)


Runs = Sequence[
    tuple[Any, ...]
]  # place of the sample, seed and number of each run, and what else `run` takes


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
        yield lambda runs: (samples[place].run(*run) for place, *run in runs)
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
    """What a fit tells as numbers, in front of what was observed; texts go into ``texts``."""
    row, (notes, seconds) = seen
    numbers = [number_of(note) for note in notes]
    for place, (name, number, note) in enumerate(zip(NOTED, numbers, notes, strict=False)):
        full = notes[place | 1]  # a kind is told by its text, if it has one only
        texts[name, number] = full if texts.get((name, number), full) == full else note
    for text in notes[1::2]:
        inside = [float(number) for number in NUMBER.findall(text)[:COUNTED]] if text else []
        numbers += inside + [math.nan] * (COUNTED - len(inside))
    return np.concatenate([numbers, [seconds], row])
