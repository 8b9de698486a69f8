"""Below the mathematics: low bits of released numbers, and where noise comes from.

A proof speaks of real numbers and of noise that nobody can draw again. A program releases floating-point numbers and
seeds its generators. It also takes time, of which few proofs speak: that is not audited.
"""

from __future__ import annotations

import datetime
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count
from types import ModuleType
from typing import Any, Unpack
from unittest import mock

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from .attack import Data, Observe, kept_generators, names_of, seed_globals
from .constant import MOST_RUNS, constant_on_each
from .features import explained
from .multiplicity import shared
from .scan import ScanFinding, facts_of, sizes_of
from .settings import SURE, AuditSettings, Keywords

# --- Low bits ---------------------------------------------------------------------------------------------------------

BANDS = tuple(2.0**k for k in range(-3, 5))
"""Limits below which the lowest bits of a number are looked at on their own."""
MOST_BITS = 32  # numbers of a model whose last bits are looked at, the first ones


def lowest_bit(values: ArrayLike) -> Floats:
    """Exponent of the lowest bit of a floating-point number: the largest k such that it is a multiple of 2ᵏ.

    Returns
    -------
    Exponents, shaped as ``values``: ``inf`` for 0, NaN for what is not finite.
    """
    numbers = np.asarray(values, float)
    finite = np.isfinite(numbers)
    mantissa, exponent = np.frexp(np.where(finite, numbers, 0.0))
    whole = np.ldexp(np.abs(mantissa), 53).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1)) + exponent - 53
    return np.where(finite, np.where(whole == 0, np.inf, lowest), np.nan)


def low_bits(values: ArrayLike) -> Floats:
    """Columns that show in which last digits floating-point numbers can end.

    In exact arithmetic a noisy count may be any number. As it is computed, ``count + noise`` is a multiple of the last
    place of the larger of the two, so that some numbers come out for one count only: |v| < ½ with bits below 2⁻⁵³
    cannot be 1 + noise, but can be 0 + noise (Mironov 2012).

    Parameters
    ----------
    values : (n, q) or (n,) released numbers, a row a run.

    Returns
    -------
    (n, q · 10) columns. For each number its lowest bit (see :func:`lowest_bit`), then how fine it is, the negative of
    that, where the number is below ⅛, ¼, …, 16 and missing elsewhere, and its distance to the nearest whole number. The
    event "finer than 2⁻ᵏ within a band" is a threshold of one column, "v · 2ᵏ is whole" of the first.

    References
    ----------
    Mironov (2012), On significance of the least significant bits for differential privacy.
    """
    numbers = np.asarray(values, float)
    numbers = numbers[:, None] if numbers.ndim == 1 else numbers
    lowest = lowest_bit(numbers)
    columns = [np.where(np.isposinf(lowest), 1_100.0, lowest)]  # for 0: above any other number's
    columns += [np.where((np.abs(numbers) < band) & (numbers != 0), -lowest, np.nan) for band in BANDS]
    with np.errstate(invalid="ignore"):
        columns.append(np.abs(numbers - np.rint(numbers)))
    return np.stack(columns, axis=2).reshape(len(numbers), -1)


def fine_bits(values: ArrayLike) -> Floats:
    """How fine numbers are that lie between -½ and ½: the exponent of the lowest bit, negated; NaN for all others.

    This column of :func:`low_bits` is enough to tell noisy counts apart: next to 0, a count with floating-point noise
    ends in more bits the smaller the true one is. Whole numbers have no such bits.
    """
    numbers = np.asarray(values, float)
    inside = (np.abs(numbers) < 0.5) & (numbers != 0)
    return np.where(inside, -lowest_bit(np.where(inside, numbers, 1.0)), np.nan)


def low_bit_names(names: Sequence[str]) -> list[str]:
    """Names of the columns of :func:`low_bits`."""
    kinds = ["lowest bit of {}", *(f"fineness of {{}} below {band:g}" for band in BANDS)]
    return [kind.format(name) for name in names for kind in [*kinds, "distance of {} to whole numbers"]]


@dataclass(frozen=True)
class LowBits:
    """An observation with the columns of :func:`low_bits` beside it; for :func:`~dpnb.audit.attack.attack` and others.

    Parameters
    ----------
    observe : fitted model → one-dimensional numbers.
    """

    observe: Observe

    def __call__(self, model: Any) -> Floats:
        """Numbers of a model, then their columns."""
        seen = np.asarray(self.observe(model), float)
        return np.concatenate([seen, low_bits(seen[None])[0]])

    def names(self, width: int) -> list[str]:
        """Names of ``width`` observed numbers."""
        count = width // (3 + len(BANDS))
        named = names_of(self.observe, count)
        return [*named, *low_bit_names(named)]


# --- Generators -------------------------------------------------------------------------------------------------------


@contextmanager
def clock_stopped(*modules: ModuleType) -> Iterator[None]:
    """Let the clock show the same time always, for programs that read it by ``time`` or ``datetime``.

    Clocks that measure durations go on, so that nothing waits forever.

    Parameters
    ----------
    modules : where functions of the clock may have been imported by name.
    """
    here, start = datetime.datetime, 1_700_000_000  # any time would do
    methods = {
        "now": classmethod(lambda cls, tz=None: here.fromtimestamp(start, tz)),
        "utcnow": classmethod(lambda cls: here.fromtimestamp(start, datetime.UTC).replace(tzinfo=None)),
        "today": classmethod(lambda cls: here.fromtimestamp(start)),
    }
    stopped = type("datetime", (here,), methods)
    clocks = [(time.time, lambda: float(start)), (time.time_ns, lambda: start * 10**9), (here, stopped)]
    with _replaced(clocks, modules):
        yield


_processes = count(4_321)


def process_changed(*modules: ModuleType) -> AbstractContextManager[None]:
    """Let the process have a number of its own, as if each fit were one."""
    number = next(_processes)
    return _replaced([(os.getpid, lambda: number), (os.getppid, lambda: number + 1)], modules)


@contextmanager
def _replaced(changes: Sequence[tuple[Any, Any]], modules: Sequence[ModuleType]) -> Iterator[None]:
    """Put functions in the place of others, in the modules of the system and where they were imported by name."""
    others = {id(old): new for old, new in changes}
    with ExitStack() as stack:
        for module in dict.fromkeys((time, os, datetime, *modules)):
            for name, value in list(vars(module).items()):
                if id(value) in others:
                    stack.enter_context(mock.patch.object(module, name, others[id(value)]))
        yield


@contextmanager
def globals_reset(*_: ModuleType) -> Iterator[None]:
    """Let the global generators of Python and NumPy be in the same state."""
    with kept_generators():
        seed_globals(0)
        yield


@dataclass(frozen=True)
class Circumstance:
    """Something that may decide the noise of a fit.

    Parameters
    ----------
    words : what is held fixed, for the finding.
    holding : context in which it is; takes the modules of the subject.
    secret : what the loss is conditional on, if it need not be known to anybody.
    means : what a conviction says.
    """

    words: str
    holding: Callable[..., AbstractContextManager[None]]
    means: str
    secret: str = ""


CIRCUMSTANCES = (
    Circumstance(
        "as they come, each in a process of its own",
        process_changed,
        "the noise is the same in each fit: who has the program can take it off",
    ),
    Circumstance(
        "in one process",
        lambda *_: nullcontext(),
        "the noise follows from the number of the process, of which there are few",
    ),
    Circumstance(
        "with the clock stopped",
        clock_stopped,
        "the noise follows from the time of the fit, which can be known or tried out",
    ),
    Circumstance(
        "with the global generators reset",
        globals_reset,
        "the noise comes from the global generators of Python or NumPy: who knows or sets their seed can take it off",
        secret="the state of the global generators",
    ),
)
"""From each to the next something more is held fixed, or something else."""


def generators(
    factory: Callable[[], Any],
    first: Data,
    second: Data,
    *,
    most_runs: int = MOST_RUNS,
    circumstances: Sequence[Circumstance] = CIRCUMSTANCES,
    **settings: Unpack[Keywords],
) -> list[ScanFinding]:
    """Fit without a seed and see whether the noise repeats itself, as fits come or while clock and globals stay.

    Noise that repeats is none. Where something that the model holds has one value in all fits on D and another one in
    all fits on D′, the bound is that of :func:`~dpnb.audit.constant.constant_on_each`, with the error probability
    shared by the circumstances. A fact is convicted in the first circumstance in which it repeats. In that of fits as
    they come, numbers without any noise are convicted as well: :func:`~dpnb.audit.scan.scan` tells them apart. Noise
    that repeats itself, but gives the same model on both data sets, shows nothing on that pair.

    Parameters
    ----------
    factory : returns an unfitted estimator, with its ``random_state`` as it would be used; None is what should be safe.
    first, second, most_runs, settings : as of :func:`~dpnb.audit.scan.scan`; the seed is that of the order of the fits.
    circumstances : what is held fixed.

    Returns
    -------
    A finding for each attribute and circumstance. One about the global generators is given their state: by itself it
    refutes the claim only for somebody who knows it.
    """
    settings.setdefault("confidence", SURE)
    kind = type(factory())
    asked = AuditSettings(**settings).about(subject=kind.__name__, pair=sizes_of(first, second))
    names = [*(base.__module__ for base in kind.__mro__), getattr(factory, "__module__", "")]
    modules = [sys.modules[name] for name in dict.fromkeys(names) if name in sys.modules]
    level = shared(asked.confidence, len(circumstances))
    found: list[ScanFinding] = []
    for number, circumstance in enumerate(circumstances):

        def run(side: int, held_fixed: Circumstance = circumstance) -> dict[str, Any]:
            with held_fixed.holding(*modules):
                return facts_of(factory, (first, second)[side], None)

        each = replace(asked, confidence=level, seed=asked.seed + number)
        facts, bound, fits = constant_on_each(run, each, most_runs=most_runs)
        known = {finding.path for finding in found}
        found += [
            each.finding(
                ScanFinding,
                instrument="generators",
                lower_bound=bound,
                event=f"fits {circumstance.words}: {path} is {values}, in all {fits // 2} fits on each; "
                f"{circumstance.means}",
                trials=fits,
                given=circumstance.secret,
                path=path,
                holds=holds,
                chance=1 - asked.confidence,
            )
            for path, holds, values in explained(facts, first, second)
            if path not in known
        ]
    return found
