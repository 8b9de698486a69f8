"""Templates of the pages that are made: Jinja, and an error for every name that is missing."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def environment(folder: Path = Path(__file__).parent) -> Environment:
    """Templates of a folder; those of the workshop lie beside this module."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
