"""What a chapter says when it is run with other parameters than those that its text was written for.

The sentences of a chapter are checked for its default parameters. The beginning of a run is silent for these. For
others it says so, and that sentences with a mark hold for the defaults.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from types import SimpleNamespace

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
SIGN = "◆"
MARK = f'<sup class="of-defaults">{SIGN}</sup>'
WITHOUT_EFFECT = frozenset({"engine", "jobs", "scale"})  # they say how numbers are computed, not which


class Note:
    """The note at the top of a run with other parameters.

    Parameters
    ----------
    changed : parameter → value of the run and default.
    """

    def __init__(self, changed: Mapping[str, tuple[object, object]]) -> None:
        self.changed = dict(changed)
        self.run = ", ".join(
            f"{name} = {value!r} (default {usual!r})" for name, (value, usual) in self.changed.items()
        )

    def __repr__(self) -> str:
        return (
            f"Other parameters: {self.run}. The text is about the default parameters, and so are its numbers. "
            f"Sentences with {SIGN} are known to hold for the defaults only; whether another one holds in this run, "
            "the lines of “What was checked” at the end say."
        )

    def _repr_html_(self) -> str:
        return (
            "<style>.of-defaults { color: #b00020; font-size: 1em; }</style>"
            f'<div class="admonition warning"><p class="admonition-title">Other parameters</p>'
            f"<p>{escape(repr(self).partition(': ')[2])}</p></div>"
        )


def note(parameters: SimpleNamespace, defaults: Mapping[str, object]) -> Note | None:
    """Say which parameters differ from those that the text was written for; nothing if none does.

    Parameters
    ----------
    parameters : the checked parameters of the run.
    defaults : the chapter's own, by :func:`of_notebook`.

    Examples
    --------
    >>> note(SimpleNamespace(seed=1, draws=500), {"seed": 1, "draws": 500})
    >>> note(SimpleNamespace(seed=1, draws=900), {"seed": 1, "draws": 500}).changed
    {'draws': (900, 500)}
    """
    given = vars(parameters)
    changed = {name: (given[name], usual) for name, usual in defaults.items() if given[name] != usual}
    return Note(changed) if changed else None


def of_notebook(path: Path) -> dict[str, object]:
    """Parameters of a notebook that have an effect on its numbers, as its file sets them."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    (cell,) = (cell for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", []))
    lines = [line for line in ast.parse("".join(cell["source"])).body if isinstance(line, ast.AnnAssign)]
    values = {ast.unparse(line.target): ast.literal_eval(line.value) for line in lines if line.value}
    return {name: value for name, value in values.items() if name not in WITHOUT_EFFECT}
