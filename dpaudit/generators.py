"""Noise that repeats itself, because of where it comes from: seeds, the clock, the process, global generators.

A proof speaks of noise that nobody can draw again; a program seeds its generators. It also takes time, of which few
proofs speak, and this is not audited.
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

from dpnb.replay.neighbours import sizes_of

from .fits import Data, kept_generators, seed_globals
from .meanings import explained
from .repeats import MOST_RUNS, constant_on_each
from .scan import ScanFinding, facts_of
from .settings import SURE, AuditSettings, Keywords, shared

# --- Generators -------------------------------------------------------------------------------------------------------


@contextmanager
def clock_stopped(*modules: ModuleType) -> Iterator[None]:
    """Stop the clock, for programs that read it by ``time`` or ``datetime``.

    Clocks that measure durations go on, so that nothing waits forever.

    Parameters
    ----------
    modules : modules into which functions of the clock may have been imported by name.
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
    """A circumstance that may decide the noise of a fit."""

    words: str  # the circumstance that is held fixed, in words, for the finding
    # Context that holds it fixed; takes the modules of the subject.
    holding: Callable[..., AbstractContextManager[None]]
    means: str  # meaning of a conviction, in words
    secret: str = ""  # condition of the loss, if nobody needs to know the circumstance


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
    all fits on D′, the bound is that of :func:`~dpaudit.repeats.constant_on_each`, with the error probability
    shared by the circumstances. A fact is convicted in the first circumstance in which it repeats. In that of fits as
    they come, numbers without any noise are convicted as well: :func:`~dpaudit.scan.scan` tells them apart. Noise
    that repeats itself, but gives the same model on both data sets, shows nothing on that pair.

    Parameters
    ----------
    factory : returns an unfitted estimator, with its ``random_state`` as it would be used; None is what should be safe.
    first, second, most_runs, settings : as of :func:`~dpaudit.scan.scan`; the seed is that of the order of the fits.
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
                event=f"fits {circumstance.words}: {path} is {values}, in each of {fits // 2} fits; "
                f"{circumstance.means}",
                trials=fits,
                given=circumstance.secret,
                path=path,
                holds=holds,
                chance=1 - asked.confidence,
            )
            for path, holds, values in explained(
                facts, first, second, lambda data: facts_of(factory, data, None)
            )
            if path not in known
        ]
    return found
