"""A file is written whole or not at all, and keeps its permissions."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpnb.files import write_whole

Write = Callable[[Path, bytes], object]
OLD, LONG = b"old", b"new" * 10_000


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let every file end at so many bytes: writing more fails half-way."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def faults(write: Write, folder: Path) -> list[str]:
    """What is wrong with a way to write a file."""
    new, kept = folder / "new", folder / "kept"
    plain = folder / "plain"
    plain.touch()
    kept.write_bytes(OLD)
    kept.chmod(0o604)
    with full_disk(1000):
        for path in (new, kept):
            with pytest.raises(OSError, match="too large"):
                write(path, LONG)
    found = ["half a file"] * (new.exists() or kept.read_bytes() != OLD)
    found += ["litter"] * (set(folder.iterdir()) - {new} != {kept, plain})
    for path in (new, kept):
        write(path, LONG)
    found += ["content"] * (new.read_bytes() != LONG or kept.read_bytes() != LONG)
    found += ["mode of a new file"] * (mode(new) != mode(plain))
    return found + ["mode of an old file"] * (mode(kept) != 0o604)


def in_place(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def without_cleaning(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}")
    temporary.write_bytes(content)
    if path.exists():
        temporary.chmod(mode(path))
    temporary.replace(path)


def for_its_owner(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    assert faults(write_whole, tmp_path) == []


@pytest.mark.parametrize(
    ("twin", "expected"),
    [
        (in_place, ["half a file"]),
        (without_cleaning, ["litter"]),
        (for_its_owner, ["mode of a new file", "mode of an old file"]),
        (lambda path, content: write_whole(path, content[1:]), ["content"]),
    ],
)
def test_a_broken_twin_is_caught(twin: Write, expected: list[str], tmp_path: Path) -> None:
    assert faults(twin, tmp_path) == expected


def test_a_text_is_utf_8_with_its_own_line_ends(tmp_path: Path) -> None:
    write_whole(tmp_path / "text", "ε\r\n中\n")
    assert (tmp_path / "text").read_bytes() == b"\xce\xb5\r\n\xe4\xb8\xad\n"
