"""Files that are written whole or not at all, and messages for files that cannot be read or written."""

from __future__ import annotations

import errno
import secrets
import shutil
from pathlib import Path

from .errors import closest


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file in one step, so that no reader finds half of it, and an error leaves the old file and no litter.

    Parameters
    ----------
    path : the file, in a folder that exists. Its permissions stay; a new file gets those that are usual.
    content : bytes, or a text, which is written in UTF-8 with its line ends as they are.

    Raises
    ------
    OSError
        If it cannot be written; it names the path and what to do.
    """
    check_writable(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raise OSError, with the way out, if a path is a folder, or in none."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder, name a file in it", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {path.parent}, make it first", str(path))


def check_new(path: Path) -> None:
    """Raise OSError, with the way out, if there is such a file already, or no folder for it."""
    check_writable(path)
    if path.exists():
        raise FileExistsError(
            errno.EEXIST, "there is such a file, name another or remove it first", str(path)
        )


def unreadable(path: Path, error: OSError) -> str:
    """Why a file cannot be read, where it was looked for, and which one may have been meant."""
    problem = f"cannot read {path}: {error.strerror or error}"
    folder = path.absolute().parent
    if isinstance(error, IsADirectoryError):
        return f"{problem}; name a file in it"
    if not isinstance(error, FileNotFoundError):
        return problem
    if not folder.is_dir():
        return f"{problem}; there is no folder {folder}"
    alike = [p for p in sorted(folder.iterdir()) if path.suffix == p.suffix or path.stem == p.stem]
    stems = {entry.stem: entry.name for entry in alike}
    close = stems.get(closest(path.stem, stems) or "")
    return f"{problem}; {f'did you mean {close!r}' if close else 'is the name right'}, in {folder}?"
