"""Imports go one way, folder by folder and module by module; and a fit needs no picture."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = {
    "dpnb.arrays",
    "dpnb.errors",
    "dpnb.checks",
    "dpnb.files",
    "dpnb.html",
    "dpnb.settings",
    "dpnb.terminal",
}  # what all share
# Folder -> folders that it may import besides what all share; the way of a record and of its budget.
FOLDERS: dict[str, set[str]] = {
    "shared": set(),
    "domain": set(),
    "privacy": {"domain"},
    "records": {"domain", "privacy"},
    "trees": {"domain", "privacy", "records"},
    "estimators": {"domain", "privacy", "records", "trees"},
    "boosting": {"domain", "privacy", "records", "estimators"},
    "papers": {"domain", "privacy", "records", "trees", "estimators", "boosting"},
    "replay": {"domain", "privacy", "records"},
    "spark": {"domain", "records", "estimators"},
    "data": {"domain", "records"},
    "release": {"domain", "privacy", "records", "trees", "estimators", "boosting", "data"},
    "dpnb": {"domain", "privacy", "estimators", "boosting", "data"},  # dpnb/__init__.py
}
FOLDERS["dpaudit"] = {
    "domain",
    "estimators",
    "privacy",
    "replay",
}  # it takes any estimator, and nothing in dpnb knows of it
FOLDERS["private_trees"] = set(FOLDERS)
PAPERS_SHARE = {"dpnb.papers", "dpnb.papers.stumps"}

Modules = Mapping[str, tuple[str, bool]]


def folder(module: str) -> str:
    """Folder of a module: of the book's package all are one, and of the auditor's."""
    top, *rest = module.split(".")
    if top != "dpnb" or not rest:
        return top
    return "shared" if module in SHARED else rest[0]


@cache
def sources(root: Path) -> dict[str, tuple[str, bool]]:
    """Text of every module by its dotted name, and whether it is a package."""
    found = {}
    for top in (root / "dpnb", root / "dpaudit", root / "book" / "private_trees"):
        for path in sorted(top.rglob("*.py")):
            parts = list(path.relative_to(top.parent).with_suffix("").parts)
            package = parts[-1] == "__init__"
            found[".".join(parts[:-1] if package else parts)] = path.read_text(encoding="utf-8"), package
    return found


@cache
def named(module: str, source: str, package: bool) -> frozenset[str]:
    """What a module imports from the project anywhere, but for types alone."""
    here, found = module.split("."), set()
    tree = ast.parse(source)
    typing = {
        id(inner)
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in node.body
    }
    for node in (node for node in ast.walk(tree) if id(node) not in typing):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + package] if node.level else []
            whole = ".".join([*base, *filter(None, [node.module])])
            found |= {f"{whole}.{alias.name}" for alias in node.names}
    return frozenset(name for name in found if name.split(".")[0] in ("dpnb", "dpaudit", "private_trees"))


def known(name: str, modules: Modules) -> str:
    """The longest part of a dotted name that is a module."""
    while name not in modules:
        name = name.rpartition(".")[0]
    return name


def wrong_arrows(modules: Modules) -> list[str]:
    """Imports from a folder that may not know the other, from one paper to another, and circles."""
    arrows = {
        module: {known(name, modules) for name in named(module, *text)} - {module}
        for module, text in modules.items()
    }
    found = []
    for module, targets in arrows.items():
        a = folder(module)
        for target in targets:
            b = folder(target)
            if a != b and b not in FOLDERS[a] | {"shared"}:
                found.append(f"{module} -> {target}: from {a} to {b}")
            elif a == b == "papers" and target not in PAPERS_SHARE:
                found.append(f"{module} -> {target}: from paper to paper")
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        found.append(f"circle: {' -> '.join(error.args[1])}")
    return found


def test_imports_go_one_way() -> None:
    assert wrong_arrows(sources(ROOT)) == []
    assert {folder(module) for module in sources(ROOT)} == set(FOLDERS)
    assert list(TopologicalSorter(FOLDERS).static_order())  # the table itself has no circle


def rises(page: str) -> bool:
    """Whether each folder of the page's table imports only those above it."""
    rows = re.findall(r"^\| `dpnb\.(\w+)` \|", page, re.MULTILINE)
    above = [set(rows[:place]) for place in range(len(rows))]
    return all(FOLDERS.get(row, set()) <= before for row, before in zip(rows, above, strict=True))


def test_the_page_lists_folders_from_the_bottom_up() -> None:
    page = (ROOT / "book" / "api.md").read_text(encoding="utf-8").partition("## What is inside")[2]
    assert rises(page)
    assert not rises(
        page.replace("`dpnb.domain` |", "`dpnb.later` |")
    )  # broken twin: domain is not above the others
    assert all(
        f"| `dpnb.{name}` |" in page for name in {*FOLDERS} - {"shared", "dpnb", "dpaudit", "private_trees"}
    )


def picture(modules: Modules) -> str:
    """The house as a Mermaid chart: who imports whom, without arrows that follow from others, and what all share."""
    edges: dict[str, set[str]] = {}
    for module, text in modules.items():
        targets = {folder(known(name, modules)) for name in named(module, *text)}
        edges.setdefault(folder(module), set()).update(targets - {folder(module), "shared", "dpnb"})
    edges = {a: targets for a, targets in edges.items() if a not in ("shared", "dpnb")}
    below: dict[str, set[str]] = {}
    for a in TopologicalSorter(edges).static_order():
        below[a] = edges.get(a, set()).union(*(below[b] for b in edges.get(a, ())))
    arrows = [
        f"    {a} --> {b}"
        for a in sorted(edges)
        for b in sorted(edges[a])
        if not any(b in below[other] for other in edges[a])
    ]
    return "\n".join(["```mermaid", "flowchart TD", *arrows, "```"])


def test_the_picture_of_the_house_is_made_of_its_imports() -> None:
    shared = [f"`{module.partition('.')[2]}`" for module in sorted(SHARED)]
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    modules = sources(ROOT)
    assert f"{', '.join(shared[:-1])} and {shared[-1]}. Names" in page
    assert picture(modules) in page, f"draw this in CONTRIBUTING.md:\n{picture(modules)}"
    more = dict(modules) | {"dpnb.spark.more": ("import dpnb.papers.edprf", False)}  # broken twin
    assert picture(more) not in page


def test_the_rooms_to_read_first_are_there() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("Read these first")[2]
    named_there = re.findall(r"`([\w/]+\.py)`", page.partition("##")[0])
    assert len(named_there) == 5
    assert [name for name in named_there if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("dpnb.records.memory", "from ..estimators.base import check_count"),
        ("dpnb.estimators.base", "from ..release.commands import main"),
        ("dpnb.records.losses", "def f():\n    from .memory import Records"),
        ("dpnb.replay.tape", "from ..papers.edprf import EDPRF"),
        ("dpnb.papers.dpada", "from .edprf import leaf_labels"),
        ("dpnb.boosting.booster", "import private_trees.drawings.plots"),
        ("dpnb.data.datasets", "from ..spark import session"),
        ("dpnb.spark.table", "import dpaudit"),
        ("dpnb.errors", "from . import domain"),
    ],
)
def test_an_arrow_that_goes_up_is_caught(module: str, line: str) -> None:
    modules = sources(ROOT)
    source, package = modules[module]
    found = wrong_arrows(modules | {module: (f"{line}\n{source.partition('annotations')[2]}", package)})
    assert any(module in one for one in found), found


def given(source: str) -> set[str]:
    """Names that a module gives: to functions, classes, parameters and variables."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


FORBIDDEN = {"held", "told", "steer", "described", "Ways", "campaign"}  # they do not say what they are


def test_names_say_what_they_are() -> None:
    found = {
        f"{module}: {name}"
        for module, (source, _) in sources(ROOT).items()
        for name in FORBIDDEN & {*given(source), module.rpartition(".")[2]}
    }
    assert sorted(found) == []
    twin = "def f(told):\n    for held in told:\n        pass\nclass Ways:\n    steer: int = 0"
    assert FORBIDDEN & given(twin) == {"held", "told", "steer", "Ways"}


def twice(modules: Modules) -> set[str]:
    """Names of classes that two modules define."""
    names = [
        node.name
        for source, _ in modules.values()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    ]
    return {name for name in names if names.count(name) > 1}


def test_no_class_name_stands_for_two_things() -> None:
    """But `BuildTree`, which the texts of three papers call their procedure."""
    modules = sources(ROOT)
    assert twice(modules) == {"BuildTree"}
    assert twice(modules | {"dpnb.more": ("class Ledger:\n    pass", False)}) == {"BuildTree", "Ledger"}


def test_few_words_are_the_project_s_own() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Words\n")[2]
    words = [line.split(" | ")[0].strip("| ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert 30 < len(words) <= 40
    assert len(set(words)) == len(words)


REFERENCE = re.compile(r":(?:meth|func|class|mod|data):`~?((?:dpnb|dpaudit|private_trees)[\w.]*)`")


def leads_nowhere(references: set[str]) -> list[str]:
    """Dotted names that are neither a module nor something in one."""
    modules, lost = {**sources(ROOT), "": ("", False)}, []
    for reference in sorted(references):
        home = known(reference, modules)
        found: Any = importlib.import_module(home) if home else None
        for name in filter(None, reference.removeprefix(home).split(".")):
            found = getattr(found, name, None)
        lost += [reference] if found is None else []
    return lost


def test_docstrings_refer_to_what_is_there() -> None:
    references = {name for source, _ in sources(ROOT).values() for name in REFERENCE.findall(source)}
    if find_spec("pyspark") is None:  # an extra that needs Java
        references = {name for name in references if not name.startswith("dpnb.spark")}
    assert leads_nowhere(references) == []
    assert len(references) > 50
    twins = {"dpnb.Domain.move", "dpnb.nowhere.Domain"}
    assert leads_nowhere({"dpnb.Domain.replaced", *twins}) == sorted(twins)


FIT = """
import dpnb
from dpnb.papers import diffprfs, dpada, edprf, pearson
data = dpnb.load("adult-standin")
X, y = (part.head(200) for part in data.train)
for kind in (dpnb.PrivateBooster, diffprfs.DiffPRFs, edprf.EDPRF, pearson.PearsonTree, dpada.DPAda):
    kind(epsilon=1.0, domain=data.domain, random_state=0).fit(X, y).predict(X)
"""
HEAVY = ["dpaudit", "matplotlib", "seaborn", "tqdm", "yaml", "private_trees", "IPython", "pyspark"]
LOADED = f"\nimport sys\nprint(*(name for name in {HEAVY} if name in sys.modules))"


@pytest.mark.parametrize(("code", "loaded"), [(FIT, ""), ("import matplotlib", "matplotlib")])
def test_a_fit_imports_nothing_for_pictures_files_or_bars(code: str, loaded: str) -> None:
    run = subprocess.run([sys.executable, "-c", code + LOADED], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == loaded


def test_numbers_that_no_run_chose_stand_in_one_table() -> None:
    said = re.compile(r"no (stored )?run chose", re.IGNORECASE)
    where = {module for module, (text, _) in sources(ROOT).items() if said.search(text)}
    assert where == {"dpnb.settings"}
