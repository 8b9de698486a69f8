"""Files that are written whole or not at all."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file in one step: no reader finds half of it, and an error leaves the old one and no litter.

    Parameters
    ----------
    path : the file, in a folder that exists. Its permissions stay; a new file gets those that are usual.
    content : a text is written in UTF-8 with its line ends as they are.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
