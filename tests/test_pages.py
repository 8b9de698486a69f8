"""Pages made from the code are current, and each chapter's listing leads to the functions that run it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dpnb import papers
from dpnb.book import pages
from dpnb.book.claims import text_of
from dpnb.estimators import PrivateClassifier

ENTRIES = papers.estimators()
LISTINGS = {entry.page: entry for entry in ENTRIES.values() if pages.steps(entry)}


@pytest.mark.parametrize("name", pages.PAGES)
def test_the_committed_page_is_current(name: str, root: Path) -> None:
    """If not: python -m dpnb.book.pages."""
    assert (root / "book" / f"{name}.md").read_text(encoding="utf-8") == pages.page(name)


def lost(text: str, entry: Any) -> list[str]:
    """Links from a chapter into the code that lead nowhere, and a listing that has none."""
    labels = set(pages.steps(entry).values())
    linked = re.findall(r"\{ref\}`[^`<]*<(code-[\w-]+)>`", text)
    return sorted(set(linked) - labels) or ([] if linked else ["no link"])


@pytest.mark.parametrize("page", LISTINGS)
def test_listings_lead_to_their_code(page: str, root: Path) -> None:
    text = text_of(root / f"{page}.ipynb")
    assert lost(text, LISTINGS[page]) == []
    assert lost(text.replace("<code-", "<cod-"), LISTINGS[page]) == ["no link"]  # broken twins
    assert lost(f"{text} {{ref}}`x <code-nowhere>`", LISTINGS[page]) == ["code-nowhere"]


def test_an_argument_without_a_description_is_an_error() -> None:
    @dataclass(kw_only=True, eq=False, repr=False)
    class Silent(PrivateClassifier):
        """Nothing is said of its argument."""

        surprise: int = 1

    with pytest.raises(KeyError, match="surprise"):
        pages.fields(replace(ENTRIES["DiffPRFs"], estimator=Silent))


def test_roles_of_docstrings_become_code() -> None:
    assert pages.myst("see :class:`~dpnb.bags.Bags`,\n    ``x`` | y") == r"see `Bags`, `x` \| y"
