"""What a program tells beside its result: on standard output and errors, in its log, and by warnings."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any

LOGGED = logging.INFO  # and above; what is only for developers is no output

_files: list[Any] = []  # one a stream, of this process; a file for each fit would take longer than some fits
if hasattr(os, "register_at_fork"):  # two processes would write at the same place
    os.register_at_fork(after_in_child=_files.clear)


@dataclass
class Heard:
    """What was told, one text a channel; empty where nothing was."""

    kinds: str = ""  # the categories of the warnings
    warned: str = ""
    output: str = ""
    errors: str = ""
    log: str = ""


@contextmanager
def listening() -> Iterator[Heard]:
    """Catch what is told inside; it is known at the end, and does not reach the terminal, a file or a log."""
    heard = Heard()
    with warnings.catch_warnings(record=True) as caught, _logged() as lines, _written() as texts:
        warnings.simplefilter("always")
        yield heard
    heard.output, heard.errors = texts
    heard.log = "\n".join(lines)
    heard.kinds = " and ".join(sorted({one.category.__name__ for one in caught}))
    heard.warned = " and ".join(sorted({f"{one.category.__name__}: {one.message}" for one in caught}))


class _Lines(logging.Handler):
    """Keeps the messages of a log, each with its level and the name of its logger."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):  # a message that cannot be written is lost elsewhere too
            self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()}")


@contextmanager
def _logged() -> Iterator[list[str]]:
    """What reaches the root of all loggers, in place of the handlers that it has."""
    root, own = logging.getLogger(), _Lines()
    kept, root.handlers = root.handlers, [own]
    level = root.level
    if level > LOGGED:
        root.setLevel(LOGGED)
    try:
        yield own.lines
    finally:
        root.handlers = kept
        if level > LOGGED:
            root.setLevel(level)


@contextmanager
def _written() -> Iterator[list[str]]:
    """What is written to both streams, also by compiled code and by processes that start inside."""
    _files.extend(tempfile.TemporaryFile(buffering=0) for _ in range(len(_files), 2))  # noqa: SIM115 - kept
    before, texts = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__), list[str]()
    _flush(*before)
    with ExitStack() as stack:
        for number, (file, redirect) in enumerate(
            zip(_files, (redirect_stdout, redirect_stderr), strict=True), 1
        ):
            stack.enter_context(_diverted(number, file.fileno()))
            own = open(file.fileno(), "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            stack.enter_context(redirect(own))
            stack.callback(_flush, own)
        try:
            yield texts
        finally:
            _flush(*before, sys.stdout, sys.stderr)
            texts += map(_taken, _files)


@contextmanager
def _diverted(number: int, to: int) -> Iterator[None]:
    """Let a stream of the process lead elsewhere; a process without such a stream has nothing to divert."""
    kept = None
    with suppress(OSError):
        kept = os.dup(number)
        os.dup2(to, number)
    try:
        yield
    finally:
        if kept is not None:
            os.dup2(kept, number)
            os.close(kept)


def _flush(*streams: Any) -> None:
    for stream in streams:
        with suppress(AttributeError, OSError, ValueError):  # there is none, or it is closed
            stream.flush()


def _taken(file: Any) -> str:
    """What a file holds; it is empty afterwards."""
    size = os.fstat(file.fileno()).st_size
    if not size:
        return ""
    file.seek(0)
    text = file.read()
    file.seek(0)
    file.truncate()
    return str(text, "utf-8", "replace")
