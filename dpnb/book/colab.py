"""The cell that lets a chapter run on Colab, where a notebook arrives alone: it fetches the project and installs it.

Anywhere else the cell does nothing and prints nothing, so that stored outputs stay what they are. It stands after the
parameters, which have to come first. ``python -m dpnb.book.colab notebooks/*.ipynb`` puts it in, or brings it up to
date.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..files import write_whole
from ..yaml_text import parse

TAG = "colab"
UNSEEN = "remove-cell"
# What chapters need besides the package's own; Colab has the rest. Not pinned: Colab's own packages must stay.
EXTRAS = ("seaborn", "papermill", "nbclient", "jinja2")


def address(root: Path) -> str:
    """Address of the repository, from the one place that has it."""
    configuration = parse((root / "_config.yml").read_text(encoding="utf-8"))
    return str(configuration["repository"]["url"])


def source(url: str) -> str:
    """Text of the cell; it leaves no variable, which the check of the parameters would take for one of them.

    Parameters
    ----------
    url : address of the repository.
    """
    folder = url.rstrip("/").rpartition("/")[2]
    return f"""import os
import sys

if "google.colab" in sys.modules:  # a fresh machine there; elsewhere nothing happens
    get_ipython().system("git clone -q --depth 1 {url}")
    get_ipython().system("pip install -q -e './{folder}[plot]' {" ".join(EXTRAS)}")
    sys.path.insert(0, os.path.abspath("{folder}"))  # found without a restart
    get_ipython().run_line_magic("cd", "-q {folder}/notebooks")"""


def with_cell(notebook: dict[str, Any], url: str) -> dict[str, Any]:
    """The notebook with the cell after its parameters, current; run, with no output."""
    cells = [cell for cell in notebook["cells"] if TAG not in cell["metadata"].get("tags", [])]
    at = [i for i, cell in enumerate(cells) if "parameters" in cell["metadata"].get("tags", [])]
    if len(at) != 1:
        raise ValueError(f"{len(at)} cells tagged 'parameters'; expected one, after which the cell can stand")
    counts = [cell["execution_count"] for cell in cells[at[0] :] if cell.get("execution_count")]
    cell = {
        "cell_type": "code",
        "execution_count": 1 + min(counts, default=0),
        "id": "colab-install",
        "metadata": {"tags": [UNSEEN, TAG]},
        "outputs": [],
        "source": source(url).splitlines(keepends=True),
    }
    for later in cells[at[0] + 1 :] if len(cells) == len(notebook["cells"]) else []:
        if later.get("execution_count"):
            later["execution_count"] += 1
    return notebook | {"cells": [*cells[: at[0] + 1], cell, *cells[at[0] + 1 :]]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: put the cell into notebooks, from the project's folder."""
    parser = argparse.ArgumentParser(prog="python -m dpnb.book.colab", description=main.__doc__)
    parser.add_argument("notebooks", nargs="+", type=Path)
    url = address(Path())
    for path in parser.parse_args(arguments).notebooks:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        text = json.dumps(with_cell(notebook, url), ensure_ascii=False, indent=1, sort_keys=True)
        write_whole(path, text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
