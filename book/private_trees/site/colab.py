"""The cell that lets a chapter run on Colab, where a notebook arrives alone: it fetches the project and installs it.

Anywhere else the cell does nothing and prints nothing, so that stored outputs stay what they are. It stands after the
parameters, which have to come first. ``python -m private_trees.site.colab notebooks/*.ipynb`` puts it in, or brings
it up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpnb.domain.yaml_text import parse

from . import cells

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
    get_ipython().system("pip install -q --no-deps -e ./{folder}/book")
    sys.path[:0] = [os.path.abspath("{folder}"), os.path.abspath("{folder}/book")]  # found without a restart
    get_ipython().run_line_magic("cd", "-q {folder}/notebooks")"""


def with_cell(notebook: dict[str, Any], url: str) -> dict[str, Any]:
    """The notebook with the cell after its parameters."""
    return cells.with_cell(
        notebook, source(url), name="colab-install", tags=(UNSEEN, TAG), behind=cells.holds_parameters
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: put the cell into notebooks, from the project's folder."""
    url = address(Path())
    return cells.command(
        "python -m private_trees.site.colab",
        main.__doc__,
        lambda notebook: with_cell(notebook, url),
        arguments,
    )


if __name__ == "__main__":
    sys.exit(main())
