"""Pages made from the code: what every registered estimator takes and promises, and the papers' steps as they stand.

Run ``python -m private_trees.site.pages`` to write ``book/estimators.md``, ``book/code.md``, ``book/rivals.md`` and
what the front page includes.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpnb import PrivateBooster, PrivateBoosterRegressor
from dpnb.estimators.base import PrivateEstimator
from dpnb.files import write_whole
from dpnb.papers.baselines_logistic import LogisticRegression
from dpnb.terminal import Parser, command

from ..board.rivals import BOARD, RIVALS, Rival
from ..papers import BY_CHAPTER
from ..studies.runs import results_folder
from . import glance
from .templates import environment

PAGES = ("estimators", "code", "rivals")
CHAPTERS: dict[type[PrivateEstimator], str] = {
    **{kind: paper.page for paper in BY_CHAPTER for kind in paper.estimators},
    **dict.fromkeys(
        (LogisticRegression, PrivateBooster, PrivateBoosterRegressor), "notebooks/09_leaderboard"
    ),
}
"""Every estimator and the page of the book that treats it, in the order of the pages."""
# A field of a numpydoc section: "names : meaning", lines below it further in.
_FIELD = re.compile(r"^(\w+(?:, \w+)*) : (.*(?:\n +.*)*)", re.MULTILINE)


def page(name: str) -> str:
    """MyST of one of :data:`PAGES`."""
    shown = environment()
    shown.filters |= {
        "myst": myst,
        "fields": fields,
        "privacy": privacy,
        "people": people,
        "steps": steps,
        "stem": stem,
    }
    shown.filters["version"] = measured_version
    return shown.get_template(f"{name}.md.jinja").render(chapters=CHAPTERS, rivals=RIVALS.values())


def measured_version(rival: Rival) -> str:
    """Version of a rival's package that the board was measured with."""
    run = json.loads((results_folder() / f"{BOARD}.json").read_text(encoding="utf-8"))
    return str(run["rivals"][rival.name]["versions"][rival.package])


def myst(text: str) -> str:
    """A piece of a docstring in MyST, on one line."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?([\w]+)`", r"`\1`", text.replace("``", "`"))
    return " ".join(text.replace("|", r"\|").split())


def fields(kind: type) -> list[tuple[str, str, str]]:
    """Name, default and meaning of an estimator's arguments, from the docstrings of the class and of its bases."""
    text = "\n".join(inspect.cleandoc(base.__doc__ or "") for base in reversed(kind.__mro__))
    said = {name: said for names, said in _FIELD.findall(text) for name in names.split(", ")}
    arguments = inspect.signature(kind).parameters.values()
    return [(a.name, repr(a.default).replace("'", '"'), myst(said[a.name])) for a in arguments]


def privacy(kind: type) -> str:
    """The privacy statement of a class, in MyST."""
    found = re.search(
        r"\*\*Privacy\*\*: (.*?)(?=\n\s*\n|\Z)", inspect.cleandoc(kind.__doc__ or ""), re.DOTALL
    )
    assert found is not None
    return myst(found[1])


def people(kind: type[PrivateEstimator]) -> str:
    """Whether an estimator takes people, and but for which parameters."""
    if kind._people is None:
        return "no, records only"
    refused = [
        f"`{option}`"
        + "".join(f' `"{value}"`' for value in kind._choices.get(option, ()) if value not in values)
        for option, values in kind.proved_for_people().items()
    ]
    return "yes" + (f", but for {'; '.join(refused)}" if refused else "")


def steps(kind: type) -> dict[str, str]:
    """Functions before the estimator in the module of a paper that the book follows, its algorithm: name → anchor."""
    if not hasattr(kind, "as_written"):
        return {}
    module: Any = inspect.getmodule(kind)
    names = _before(ast.parse(inspect.getsource(module)))
    return {name: f"code-{stem(kind)}-{name}".lower().replace("_", "-").replace(".", "-") for name in names}


def stem(kind: type) -> str:
    """Name of a paper in its module, in the anchor of its plain implementation, and in that one's file and test."""
    return kind.__module__.rpartition(".")[2]


def _before(tree: ast.Module) -> Iterator[str]:
    ends = {kind.__name__ for kind in CHAPTERS}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            if node.name in ends:
                return
            functions = [f.name for f in node.body if isinstance(f, ast.FunctionDef)]
            yield from (f"{node.name}.{name}" for name in functions if not name.startswith("__"))


@command()
def main(arguments: Sequence[str], /) -> int:
    """Write the pages, from the project's folder."""
    Parser(prog="python -m private_trees.site.pages", description=main.__doc__).parse_args(arguments)
    for name in PAGES:
        write_whole(Path("book") / f"{name}.md", page(name))
    for path, text in glance.files(Path()).items():
        write_whole(path, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
