"""Pages made from the code are current; a chapter's listing leads to the functions that run it, and to a plain one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from dpnb.estimators.base import PrivateClassifier
from private_trees.site import pages
from private_trees.site.claims import text_of
from registered import ENTRIES

LISTINGS = {page: kind for kind, page in pages.CHAPTERS.items() if pages.steps(kind)}


@pytest.mark.parametrize("name", pages.PAGES)
def test_the_committed_page_is_current(name: str, root: Path) -> None:
    """If not: python -m private_trees.site.pages."""
    assert (root / "book" / f"{name}.md").read_text(encoding="utf-8") == pages.page(name)


def lost(text: str, kind: type) -> list[str]:
    """Links from a chapter into the code that lead nowhere, and lacking ones: any of its steps, and the plain one."""
    plain, labels = f"plain-{pages.stem(kind)}", set(pages.steps(kind).values())
    linked = set(re.findall(r"\{ref\}`[^`<]*<((?:code|plain)-[\w-]+)>`", text))
    lacking = ([] if linked & labels else ["no link"]) + ([] if plain in linked else [plain])
    return sorted(linked - labels - {plain}) + lacking


@pytest.mark.parametrize("page", LISTINGS)
def test_listings_lead_to_their_code(page: str, root: Path) -> None:
    text = text_of(root / f"{page}.ipynb")
    assert lost(text, LISTINGS[page]) == []
    assert lost(text.replace("<code-", "<cod-"), LISTINGS[page]) == ["no link"]  # broken twins
    assert lost(f"{text} {{ref}}`x <code-nowhere>`", LISTINGS[page]) == ["code-nowhere"]
    plain = f"plain-{pages.stem(LISTINGS[page])}"
    assert f"({plain})=" in (root / "book/code.md").read_text(encoding="utf-8")
    assert lost(text.replace("<plain-", "<plai-"), LISTINGS[page]) == [plain]


def test_an_argument_without_a_description_is_an_error() -> None:
    @dataclass(kw_only=True, eq=False, repr=False)
    class Silent(PrivateClassifier):
        """Nothing is said of its argument."""

        surprise: int = 1

    with pytest.raises(KeyError, match="surprise"):
        pages.fields(Silent)


def test_every_estimator_has_its_page() -> None:
    assert {kind.__name__ for kind in pages.CHAPTERS} == set(ENTRIES)


def test_roles_of_docstrings_become_code() -> None:
    assert pages.myst("see :class:`~dpnb.records.bags.Bags`,\n    ``x`` | y") == r"see `Bags`, `x` \| y"
