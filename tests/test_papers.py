"""A paper is declared once, and has a file of its stem wherever the book looks for one."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from dpnb import papers
from private_trees.papers import PAPERS, Declaration
from private_trees.site.claims import load

FILES = (
    "book/private_trees/chapters/{0}.py",
    "book/private_trees/drawings/{0}.py",
    "book/private_trees/exercises/{0}.py",
    "book/private_trees/studies/{0}.py",
    "claims/{0}.yml",
    "tests/cases/{0}.py",
    "tests/plain/{0}.py",
    "tests/test_plain_{0}.py",
)


def lacking(paper: Declaration, root: Path) -> list[str]:
    """Files that are not there, and notebooks that are not in the contents."""
    files = [file.format(paper.stem) for file in FILES]
    files += [f"notebooks/{name}.ipynb" for name in paper.notebooks]
    contents = (root / "_toc.yml").read_text(encoding="utf-8").split()
    named = [f"notebooks/{name}" for name in paper.notebooks]
    return [file for file in files if not (root / file).is_file()] + [n for n in named if n not in contents]


def undeclared(known: Iterable[str]) -> set[str]:
    """Modules of papers with an estimator that has a text, and no declaration."""
    modules = [import_module(f"dpnb.papers.{m.name}") for m in pkgutil.iter_modules(papers.__path__)]
    texts = {kind.__module__ for m in modules for kind in vars(m).values() if hasattr(kind, "as_written")}
    return {name.rpartition(".")[2] for name in texts} - set(known)


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_a_paper_has_its_files(paper: Declaration, root: Path) -> None:
    assert lacking(paper, root) == []
    moved = replace(paper, chapter=99)  # broken twin
    assert lacking(moved, root) == [f"notebooks/{n}{end}" for end in (".ipynb", "") for n in moved.notebooks]


def test_every_paper_is_declared_and_its_claims_name_its_chapter(root: Path) -> None:
    assert undeclared(PAPERS) == set()
    assert undeclared([*PAPERS][1:]) == {next(iter(PAPERS))}  # broken twin
    chapters = [claims.chapter for claims in load(root / "claims")]
    assert chapters == [f"{paper.page}.ipynb" for paper in PAPERS.values()]
