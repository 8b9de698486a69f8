"""What a fit costs: CPU time and memory, each fit in a process of its own, with a limit of CPU time if need be."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from dpnb.privacy.curator import at_home

Model = TypeVar("Model")
Found = TypeVar("Found")


class OutOfTimeError(Exception):
    """A fit did not end within its time limit."""


def costly(
    fit: Callable[[], Model], use: Callable[[Model], Found], *, limit: float | None = None
) -> tuple[Found, dict[str, float]]:
    """Fit in a process of its own, and measure that.

    Parameters
    ----------
    fit : returns a model; only this is measured.
    use : model → what is wanted of it, such as probabilities; must be picklable.
    limit : seconds of CPU time after which fit and use are ended together; by default there is no limit.

    Returns
    -------
    What ``use`` returned; and ``cpu_seconds``, of all threads and child processes, and ``memory_mb``, by how many
    10⁶ bytes the fit raised the peak of the process's resident memory.

    Raises
    ------
    OutOfTimeError
        If the limit was reached.
    RuntimeError
        If the fit failed; with the traceback.

    Notes
    -----
    The process is forked, so that it begins with the data in memory and imports done. What the parent has freed and
    not yet returned can be used again unnoticed. Needs a system that forks, such as Linux.
    """
    fork = multiprocessing.get_context("fork")
    mine, other = fork.Pipe(duplex=False)
    process = fork.Process(target=_report, args=(other, fit, use, limit), daemon=True)
    process.start()
    other.close()
    try:
        reported, failure = pickle.loads(mine.recv_bytes())
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGPROF:
            raise OutOfTimeError(f"the fit did not end within {limit:g} s of CPU time") from None
        raise RuntimeError(
            f"the process of the fit ended with code {process.exitcode} and told nothing"
        ) from None
    finally:
        process.kill()
        process.join()
        mine.close()
    if failure:
        raise RuntimeError(f"the fit failed:\n{failure}")
    found, costs = reported
    return found, costs


def _report(pipe: Connection, fit: Callable[[], Any], use: Callable[[Any], Any], limit: float | None) -> None:
    """Send what was found and what it cost, or a traceback."""
    at_home()  # the parent leaves the Generator of the fit alone
    if limit is not None:
        # The signal ends the process, also in the middle of compiled code; other programs' load does not count.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        cpu, peak = _spent()
        model = fit()
        cpu_after, peak_after = _spent()
        costs = {"cpu_seconds": cpu_after - cpu, "memory_mb": (peak_after - peak) / 1e6}
        message: Any = (use(model), costs), ""
    except BaseException:
        message = None, traceback.format_exc()
    pipe.send_bytes(pickle.dumps(message))


def _spent() -> tuple[float, float]:
    """CPU seconds of this process and its ended children, and the largest peak of resident memory in bytes."""
    import resource

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    unit = 1 if sys.platform == "darwin" else 1024
    return sum(u.ru_utime + u.ru_stime for u in used), unit * max(u.ru_maxrss for u in used)
