"""How every command starts, prints and ends: no output and no interrupt may change what a status means.

===== ==================================================================================================================
0     Done: for the auditor, no violation was found.
1     What was given is not what it should be, in one line: a table, a document, a file; for the auditor, a violation.
2     Wrong words on the command line, or the command broke off by itself; for the auditor, no verdict.
128+n Signal n ended the command: 130 is Ctrl-C; and 141 is a reader of the output that has gone.
===== ==================================================================================================================

Results are on the disk before anything is printed. A text is written in the encoding of the stream, and what that does
not have is spelt (``epsilon``) or escaped; documents, such as tables, are in UTF-8 always.
"""

from __future__ import annotations

import argparse
import codecs
import errno
import functools
import io
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TextIO

from .errors import DataError, DomainError

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

MISUSE = 2
GONE = 128 + 13  # as if by SIGPIPE, which Windows lacks and Python ignores
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]
SYMBOLS = "εδρμαΔ∞≥≤≠−–—×·±→′‘’“”…²½├└─│"
WORDS = "epsilon delta rho mu alpha Delta infinity >= <= != - - - x * +- -> ' ' ' \" \" ... ^2 1/2 | ` - |"
SPELT = dict(zip(SYMBOLS, WORDS.split(), strict=True))


class MisuseError(Exception):
    """The words on the command line cannot be met; the message says why in one line."""


class UntoldError(Exception):
    """Standard output cannot be written to."""

    @property
    def gone(self) -> bool:
        """Whether somebody read it and has gone; Windows calls that an invalid argument."""
        why = self.__cause__
        return isinstance(why, BrokenPipeError) or (
            os.name == "nt" and getattr(why, "errno", 0) == errno.EINVAL
        )


# --- Signals --------------------------------------------------------------------------------------------------------

_caught: list[int] = []  # signals that this process was sent
_owner = 0  # the process that runs the command, and not one that it started


def _before(number: int, frame: FrameType | None) -> NoReturn:
    """End at once: the packages still load, and the command has not begun."""
    with suppress(OSError):
        os.write(2, b"interrupted before it began: nothing was read, written or spent\n")
    os._exit(128 + number)


def _stop(number: int, frame: FrameType | None) -> None:
    """End the work in hand as Ctrl-C does, so that whatever cleans up after it does so for all signals."""
    if os.getpid() != _owner:  # a worker
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    _caught.append(number)
    raise KeyboardInterrupt


def _broken_off(*error: Any) -> NoReturn:
    """Python's own status for any error is 1, which means something else here."""
    sys.__excepthook__(*error)
    os._exit(MISUSE)


def begin() -> None:
    """Take charge of the process if it was started for a command of this distribution, and of no other process.

    The packages load for seconds. ``python -m`` says ``-m`` until it has found its module.
    """
    module = [
        b.partition(".")[0] for a, b in zip(sys.orig_argv, sys.orig_argv[1:], strict=False) if a == "-m"
    ]
    if (sys.argv[:1] == ["-m"] and module[:1] == ["dpaudit"]) or Path(*sys.argv[:1]).stem == "dpnb":
        sys.excepthook = _broken_off
        _handle(_before)


def _handle(act: Any) -> None:
    """Let signals be handled so, but for those that are ignored, as by ``nohup``."""
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, act)


@contextmanager
def _process(own: bool) -> Iterator[None]:
    """Inside, a process that was started for a command raises KeyboardInterrupt for all signals that ask it to end."""
    global _owner
    if not own:
        yield
        return
    _owner = os.getpid()
    _caught.clear()
    _handle(_stop)
    try:
        yield
    finally:
        _over()


def _over() -> None:
    """The command has ended, and only says so: no signal may break that off with a traceback."""
    if _owner == os.getpid():
        _handle(signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def stopped() -> int:
    """The status of a command that a signal has ended."""
    return 128 + (_caught or [signal.SIGINT])[-1]


def as_worker() -> None:
    """Let a worker process leave Ctrl-C to its parent, and end with it, also if that is killed."""
    import multiprocessing  # here, so that a command starts fast

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in SIGNALS[1:]:
        signal.signal(number, signal.SIG_DFL)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def end_workers(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool in the middle of their work, so that an interrupt need not wait for it."""
    for worker in [*(pool._processes or {}).values()]:
        worker.terminate()


# --- Streams --------------------------------------------------------------------------------------------------------


def _spelt(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that an encoding lacks; letters of a word in a script are escaped, not spelt."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, words = error.object, []
    for i in range(error.start, error.end):
        around = text[max(i - 1, 0) : i] + text[i + 1 : i + 2]
        in_word = text[i].isalpha() and any(c.isalpha() and not c.isascii() for c in around)
        escaped = text[i].encode("ascii", "backslashreplace").decode()
        words.append(escaped if in_word else SPELT.get(text[i], escaped))
    return "".join(words), error.end


codecs.register_error("dpnb.spelt", _spelt)


@contextmanager
def _streams() -> Iterator[None]:
    """Inside, text of any script can be printed, and a stream that is closed is none that the next file takes."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    if sys.stdout is None:  # whoever writes to it must hear of it
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    changed = [(s, s.errors) for s in (sys.stdout, sys.stderr) if isinstance(s, io.TextIOWrapper)]
    for stream, _ in changed:
        stream.reconfigure(errors="dpnb.spelt")
    try:
        yield
    finally:
        for stream, errors in changed:
            with suppress(OSError, ValueError):
                stream.reconfigure(errors=errors)


@contextmanager
def _telling() -> Iterator[None]:
    """Inside, nothing but standard output may be written to.

    Raises
    ------
    UntoldError
        If it cannot be written to.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        _drop(sys.stdout)
        raise UntoldError(error.strerror or str(error)) from error


def _drop(stream: TextIO) -> None:
    """Forget what a stream could not write, else Python tries again when it ends, and changes the status."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def tell(text: str, *, document: bool = False) -> None:
    """Print what a command was asked for; a document is in UTF-8, whatever the stream's encoding.

    Raises
    ------
    UntoldError
        If standard output cannot be written to.
    """
    with _telling():
        if document and hasattr(sys.stdout, "buffer"):
            sys.stdout.flush()
            sys.stdout.buffer.write(text.encode())
        else:
            print(text, end="" if document else "\n")


def announce(text: str, *, done: str = "") -> None:
    """Print what a command has done; that it cannot be printed is a note, for done is done.

    Parameters
    ----------
    text : to print.
    done : what to note instead, by default the text.
    """
    try:
        tell(text)
    except UntoldError as error:
        note(f"{done or text} (standard output cannot be written to: {error})")


def note(text: str) -> None:
    """Print to standard error, if that is possible."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _drop(sys.stderr)


class _Aside(io.BufferedIOBase):
    """Standard error for others, whom it shall not concern whether it can be written to."""

    name = "<stderr>"

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return os.isatty(2)

    def write(self, content: Any) -> int:
        with suppress(OSError):
            os.write(2, content)
        return len(content)


@contextmanager
def aside() -> Iterator[None]:
    """What others print inside goes to standard error, also from compiled code and from processes that they start."""
    sys.stdout.flush()
    stream = io.TextIOWrapper(_Aside(), sys.stderr.encoding, "backslashreplace", write_through=True)
    kept = None
    with suppress(OSError):
        kept = os.dup(1)
        os.dup2(2, 1)
    try:
        with redirect_stdout(stream), redirect_stderr(stream):
            yield
    finally:
        if kept is not None:
            os.dup2(kept, 1)
            os.close(kept)


# --- Commands -------------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    """A parser that tells its version, and a mistake in one line."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.add_argument("--version", action="version", version=f"dpnb {_version()}")

    def error(self, message: str) -> NoReturn:
        """Raise MisuseError."""
        raise MisuseError(f"{message}; see {self.prog} --help")


def _version() -> str:
    """The version, and the commit if it was installed from one."""
    number: str = sys.modules["dpnb"].__version__
    with suppress(metadata.PackageNotFoundError):
        origin = json.loads(metadata.distribution("dpnb").read_text("direct_url.json") or "{}")
        if commit := origin.get("vcs_info", {}).get("commit_id"):
            return f"{number}+g{commit[:9]}"
    return number


class Main(Protocol):
    """The function that a command is."""

    def __call__(self, arguments: Sequence[str], /) -> int: ...  # noqa: D102


class Command(Protocol):
    """A command that always ends with a status."""

    def __call__(self, arguments: Sequence[str] | None = None, /) -> int: ...  # noqa: D102


def command(
    *,
    failed: int = 1,
    known: tuple[type[Exception], ...] = (DataError, DomainError),
    say: Callable[[str], str] = str,
) -> Callable[[Main], Command]:
    """Decorate the main function of a command, which returns a status, so that it ends as this module says.

    Parameters
    ----------
    failed : status for an error that is known.
    known : errors whose message tells the user all there is to know.
    say : how messages are put.
    """

    def decorated(main: Main) -> Command:
        @functools.wraps(main)
        def run(arguments: Sequence[str] | None = None, /) -> int:
            own = arguments is None  # the process ends with the command
            with _streams(), _process(own):
                try:
                    try:
                        status = main(sys.argv[1:] if arguments is None else list(arguments))
                    except SystemExit as end:  # --help, --version
                        status = end.code if isinstance(end.code, int) else 0
                    with _telling():
                        return status
                except BaseException as error:
                    _over()
                    status, words = _end(error, failed=failed, known=known)
                    if words:
                        note(say(words))
                    return status

        return run

    return decorated


def _end(error: BaseException, *, failed: int, known: tuple[type[Exception], ...]) -> tuple[int, str]:
    """The status for an error, and what to say of it."""
    more = "".join(f"; {line}" for line in getattr(error, "__notes__", []))
    # Compiled code turns an interrupt into errors of its own, such as that of a table that cannot be read.
    if isinstance(error, KeyboardInterrupt) or _caught:
        return stopped(), f"interrupted{more}"
    if isinstance(error, MisuseError):
        return MISUSE, str(error)
    if isinstance(error, UntoldError):
        return (GONE, "") if error.gone else (failed, f"cannot write standard output: {error}")
    if isinstance(error, known):
        return failed, str(error)
    note("".join(traceback.format_exception(error)).rstrip())
    return MISUSE, f"unexpected {type(error).__name__}: {error}{more}"


begin()
