"""Imports go one way: core <- data, spark, audit, papers <- book; and a fit needs no picture."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# The core from the bottom up: a module imports only what stands before it.
CORE = [
    "arrays", "errors", "checks", "files", "yaml_text", "domain.attributes", "domain.misfits",
    "domain.encoding", "domain.hints", "domain.frames", "domain.domain", "domain", "domain.cells", "domain.drafts",
    "domain.__main__", "splits", "accounting", "ledger", "lattice", "samplers", "laws", "curator", "scores",
    "grid", "shapes", "bags", "trees", "counts", "candidates", "growth", "documents", "estimators", "stages",
    "booster", "rounds", "registry", "pictures", "card",
]  # fmt: skip
ROOMS = {  # room -> rooms that it may import besides itself
    "core": set(),
    "data": {"core"},
    "spark": {"core"},
    "audit": {"core"},
    "papers": {"core"},
    "book": {"core", "data", "spark", "audit", "papers", "front"},
    "front": {"core", "data"},  # dpnb/__init__.py and the command line
    "entry": {"book"},  # python -m dpnb.experiments and python -m dpnb.standin
}
ENTRIES = ("experiments", "standin")
FRONT = ("", "commands")
FAMILIES = {"lineage_growth": "lineage"}  # papers in more than one module


def room(module: str) -> str:
    """Room of ``a.b`` in ``dpnb.a.b``; "" is the package itself, which is in the front with the command line."""
    first = module.partition(".")[0]
    if first in ENTRIES:
        return "entry"
    return "front" if first in FRONT else first if first in ROOMS else "core"


def imported(source: str, module: str, *, package: bool) -> set[str]:
    """Modules of the package that a source imports anywhere, without the leading ``dpnb``."""
    found = set()
    here = ["dpnb", *filter(None, module.split("."))]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + package] if node.level else []
            whole = ".".join([*base, *filter(None, [node.module])])
            found |= {f"{whole}.{alias.name}" for alias in node.names}
    return {name.removeprefix("dpnb").removeprefix(".") for name in found if name.split(".")[0] == "dpnb"}


def known(name: str, modules: set[str]) -> str:
    """The longest part of a dotted name that is a module."""
    while name not in modules:
        name = name.rpartition(".")[0]
    return name


def sources(root: Path) -> dict[str, tuple[str, bool]]:
    found = {}
    for path in sorted((root / "dpnb").rglob("*.py")):
        parts = list(path.relative_to(root / "dpnb").with_suffix("").parts)
        package = parts[-1] == "__init__"
        found[".".join(parts[:-1] if package else parts)] = path.read_text(encoding="utf-8"), package
    return found


def wrong_arrows(modules: dict[str, tuple[str, bool]]) -> list[str]:
    """Imports that go up, or from one paper to another."""
    found = []
    for module, (source, package) in modules.items():
        for name in imported(source, module, package=package):
            target = known(name, set(modules))
            a, b = room(module), room(target)
            if a == b == "core" and CORE.index(target) >= CORE.index(module):
                found.append(f"{module} -> {target}: up in the core")
            elif a == b == "papers" and target != "papers":
                ends = {FAMILIES.get(end, end) for end in (module.split(".")[-1], target.split(".")[-1])}
                if len(ends) > 1:
                    found.append(f"{module} -> {target}: from paper to paper")
            elif a != b and b not in ROOMS[a]:
                found.append(f"{module} -> {target}: from {a} to {b}")
    return found


def test_imports_go_one_way() -> None:
    assert wrong_arrows(sources(ROOT)) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("counts", "from .estimators import check_count"),
        ("estimators", "from .commands import main"),
        ("counts", "def f():\n    from .booster import logistic"),
        ("audit.exact", "from ..papers.edprf import EDPRF"),
        ("papers.dpada", "from .edprf import leaf_labels"),
        ("booster", "import dpnb.book.plots"),
        ("data.datasets", "from ..book import runs"),
        ("spark.table", "from .. import book"),
        ("errors", "from . import book"),
    ],
)
def test_an_arrow_that_goes_up_is_caught(module: str, line: str) -> None:
    modules = sources(ROOT)
    source, package = modules[module]
    found = wrong_arrows(modules | {module: (f"{line}\n{source.partition('annotations')[2]}", package)})
    assert len(found) == 1, found


def test_every_core_module_has_its_place() -> None:
    assert {name for name in sources(ROOT) if room(name) == "core"} == set(CORE)


FIT = """
import sys, dpnb
from dpnb.papers import {papers}
data = dpnb.load("adult-standin")
for X, y in [(data.train[0].head(200), data.train[1].head(200))]:
    for kind in (dpnb.PrivateBooster, diffprfs.DiffPRFs, edprf.EDPRF, pearson.PearsonTree, dpada.DPAda):
        kind(epsilon=1.0, domain=data.domain, random_state=0).fit(X, y).predict(X)
print(sorted(name for name in {heavy} if name in sys.modules))
"""


def test_a_fit_imports_nothing_for_pictures_files_or_bars() -> None:
    heavy = ["matplotlib", "seaborn", "tqdm", "yaml", "dpnb.book", "IPython", "pyspark"]
    code = FIT.format(papers="diffprfs, dpada, edprf, pearson", heavy=heavy)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    twin = subprocess.run(
        [sys.executable, "-c", "import matplotlib\n" + code], capture_output=True, text=True, check=True
    )
    assert twin.stdout.strip() == "['matplotlib']"
