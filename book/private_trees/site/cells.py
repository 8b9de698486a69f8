"""Cells that every chapter has and that a command puts in, or brings up to date."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpnb.files import write_whole

Notebook = dict[str, Any]


def with_cell(
    notebook: Notebook,
    source: str,
    *,
    name: str,
    tags: Sequence[str],
    behind: Callable[[dict[str, Any]], bool],
) -> Notebook:
    """The notebook with a code cell in its place, once and current; run, with no output.

    Parameters
    ----------
    notebook : as JSON has it.
    source : text of the cell.
    name : id of the cell.
    tags : tags of the cell; the last one is its own, by which an older version is found.
    behind : whether a cell is the one after which the new one stands.

    Raises
    ------
    ValueError
        If there is not just one cell after which it can stand.
    """
    cells = [cell for cell in notebook["cells"] if tags[-1] not in cell["metadata"].get("tags", [])]
    at = [i for i, cell in enumerate(cells) if behind(cell)]
    if len(at) != 1:
        raise ValueError(f"{len(at)} cells after which '{name}' could stand; expected one")
    counts = [cell["execution_count"] for cell in cells[at[0] :] if cell.get("execution_count")]
    cell = {
        "cell_type": "code",
        "execution_count": 1 + min(counts, default=0),
        "id": name,
        "metadata": {"tags": list(tags)},
        "outputs": [],
        "source": source.splitlines(keepends=True),
    }
    for later in cells[at[0] + 1 :] if len(cells) == len(notebook["cells"]) else []:
        if later.get("execution_count"):
            later["execution_count"] += 1
    return notebook | {"cells": [*cells[: at[0] + 1], cell, *cells[at[0] + 1 :]]}


def holds_parameters(cell: dict[str, Any]) -> bool:
    """Whether a cell is the one that sets the parameters."""
    return "parameters" in cell["metadata"].get("tags", [])


def command(
    program: str,
    description: str | None,
    change: Callable[[Notebook], Notebook],
    arguments: Sequence[str] | None,
) -> int:
    """Command line: change notebooks, from the project's folder."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("notebooks", nargs="+", type=Path)
    for path in parser.parse_args(arguments).notebooks:
        notebook = change(json.loads(path.read_text(encoding="utf-8")))
        text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
        write_whole(path, text + "\n")
    return 0
