"""Claims of the papers: what they say, our verdict, and the evidence; the page and the badges made from them.

Run ``python -m private_trees.site.claims`` to check ``claims/*.yml``, to follow every reference and to write
``book/claims.md``; with ``--badges`` it prints the badges for the chapters.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dpnb.domain.yaml_text import parse
from dpnb.errors import DataError
from dpnb.files import write_whole
from dpnb.terminal import Parser, announce, command

from .templates import environment

# The colour repeats the word; the badge always shows the word.
VERDICTS = {
    "holds": "success",
    "holds with repair": "warning",
    "fails": "danger",
    "not reproduced": "primary",
    "cannot be checked": "info",
}
KINDS = {
    "privacy": "what is protected and what it costs",
    "method": "how the algorithm works, and why",
    "measurement": "what experiments and data show",
}
PAGE = Path("book") / "claims.md"

_PAPER_KEYS = {"paper", "title", "chapter", "claims"}
_REQUIRED = ("id", "source", "claim", "verdict", "kind", "evidence")
_LISTS = ("evidence", "defects")
_FENCE = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,3} +(.+?) *$", re.MULTILINE)  # as many levels as have anchors in the book
_PROOF = re.compile(r"^(?::{3,}|`{3,})\{prf:\w+\}[^\n]*\n:label: *(\S+)", re.MULTILINE)


class ClaimError(ValueError):
    """A file of claims is not what it should be; the message lists every fault."""


@dataclass(frozen=True)
class Claim:
    """One claim of a paper."""

    id: str  # unique name; begins with the name of its file
    source: str  # exact place in the paper
    claim: str  # our wording, MyST
    verdict: str  # one of :data:`VERDICTS`
    kind: str  # one of :data:`KINDS`
    evidence: tuple[
        str, ...
    ]  # places in the book, `page#label`, and tests or chapters' checks, `file.py::name`
    note: str = ""  # reasons and limits of the verdict, MyST; may be empty
    # What a claim that fails rests on, each in the words of all claims that rest on it.
    defects: tuple[str, ...] = ()

    @property
    def tests(self) -> list[str]:
        """Evidence that is a test, or a check that runs with a chapter's notebook."""
        return [reference for reference in self.evidence if "::" in reference]

    @property
    def places(self) -> list[str]:
        """Evidence that is a place in the book."""
        return [reference for reference in self.evidence if "::" not in reference]


@dataclass(frozen=True)
class Paper:
    """A paper and its claims, in the order of its sections."""

    key: str  # key in the bibliography
    title: str  # short name
    chapter: str  # path of the chapter's notebook
    claims: tuple[Claim, ...]  # its claims


def load(folder: Path) -> list[Paper]:
    """Read and check all files of claims in a folder.

    Parameters
    ----------
    folder : holds one ``<name>.yml`` a paper.

    Raises
    ------
    ClaimError
        For missing or unknown keys, unknown verdicts and kinds, repeated ids, or a verdict without a place or a test.
    """
    paths = sorted(folder.glob("*.yml"))
    if not paths:
        raise ClaimError(f"no *.yml in {folder.name!r}: run from the project's folder, which holds claims/")
    faults: list[str] = []
    papers = []
    for path in paths:
        data = parse(path.read_text(encoding="utf-8"))
        wrong = _paper_faults(data)
        faults += [f"{path.name}: {fault}" for fault in wrong]
        if not wrong:
            papers.append(_paper(data, path, faults))
    times = Counter(claim.id for paper in papers for claim in paper.claims)
    faults += [f"id '{name}' stands for {n} claims: give each its own" for name, n in times.items() if n > 1]
    if faults:
        raise ClaimError("\n".join(faults))
    return papers


def dangling(papers: Sequence[Paper], root: Path) -> list[str]:
    """Follow the evidence of all claims below ``root``; returns a line for each reference that leads nowhere."""
    found = []
    for claim in (claim for paper in papers for claim in paper.claims):
        for reference in claim.evidence:
            path, name = _split(reference)
            if not (root / path).is_file():
                found.append(f"{claim.id}: {reference}: there is no file {path}")
            elif "::" in reference and name not in _tests(root / path):
                found.append(f"{claim.id}: {reference}: {path} has no test or check of this name")
            elif "#" in reference and name not in _proofs(root / path) | _headings(root / path).keys():
                found.append(f"{claim.id}: {reference}: {path} has no label and no heading of this name")
    return found


def badge(claim: Claim) -> str:
    """MyST of a badge with the claim's verdict, linked to the claim."""
    return f"{{bdg-ref-{VERDICTS[claim.verdict]}}}`{claim.verdict} <claim-{claim.id}>`"


def page(papers: Sequence[Paper], root: Path) -> str:
    """MyST of the page of all claims, with links into the book below ``root``."""
    shown = environment()
    shown.filters |= {
        "slug": _slug,
        "badge": lambda verdict: f"{{bdg-{VERDICTS[verdict]}}}`{verdict}`",
        "link": lambda reference: _link(reference, root),
    }
    return shown.get_template("claims.md.jinja").render(
        papers=papers, verdicts=VERDICTS, kinds=KINDS, defects=defects_of(papers)
    )


def defects_of(papers: Sequence[Paper]) -> set[tuple[str, str]]:
    """Defects that the failing claims rest on, each once with the key of its paper."""
    return {(paper.key, defect) for paper in papers for claim in paper.claims for defect in claim.defects}


def notebooks_of(chapter: Path) -> list[Path]:
    """A chapter's notebook, and its appendix if it has one."""
    appendix = chapter.with_name(f"{chapter.name[:2]}_appendix.ipynb")
    return [chapter, appendix] if appendix.is_file() else [chapter]


def text_of(path: Path) -> str:
    """Markdown of a page: a Markdown file, or the Markdown cells of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


@command()
def main(arguments: Sequence[str], /) -> int:
    """Command line: check the claims and write their page."""
    parser = Parser(prog="python -m private_trees.site.claims", description=main.__doc__)
    parser.add_argument("--badges", action="store_true", help="print the badges for the chapters")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    try:
        papers = load(root / "claims")
    except ClaimError as error:
        raise DataError(str(error)) from error
    if lost := dangling(papers, root):
        raise DataError("\n".join(lost))
    write_whole(root / PAGE, page(papers, root))
    for paper in papers:
        badges = [f"  {claim.id}: {badge(claim)}" for claim in paper.claims] if options.badges else []
        announce("\n".join([f"{paper.title}: {len(paper.claims)} claims in {PAGE.as_posix()}", *badges]))
    return 0


def _paper_faults(data: Any) -> list[str]:
    if not isinstance(data, dict) or set(data) != _PAPER_KEYS:
        given = ", ".join(map(str, data)) if isinstance(data, dict) else type(data).__name__
        return [f"has {given}; expected the keys {', '.join(sorted(_PAPER_KEYS))}"]
    if not isinstance(data["claims"], list) or not all(isinstance(claim, dict) for claim in data["claims"]):
        return ["'claims' must be a list of mappings"]
    return [
        f"claim {number} ({claim.get('id', 'no id')}): {fault}"
        for number, claim in enumerate(data["claims"], 1)
        for fault in _key_faults(claim)
    ]


def _key_faults(claim: dict[Any, Any]) -> list[str]:
    missing = [key for key in _REQUIRED if not claim.get(key)]
    unknown = [str(key) for key in claim if key not in (*_REQUIRED, "note", "defects")]
    lists = [claim[key] for key in _LISTS if key in claim]
    listed = all(isinstance(one, list) and all(isinstance(e, str) for e in one) for one in lists)
    words = all(isinstance(value, str) for key, value in claim.items() if key not in _LISTS)
    return (
        [f"lacks {', '.join(missing)}"] * bool(missing)
        + [f"unknown key {', '.join(unknown)}; expected {', '.join(_REQUIRED)}, note, defects"]
        * bool(unknown)
        + ["'evidence' and 'defects' must be lists of strings, all else a string"] * (not (listed and words))
    )


def _paper(data: dict[str, Any], path: Path, faults: list[str]) -> Paper:
    claims = []
    for entry in data["claims"]:
        claim = Claim(**(entry | {key: tuple(entry.get(key, ())) for key in _LISTS}))
        faults += [f"{path.name}: {claim.id}: {fault}" for fault in _claim_faults(claim, path.stem)]
        claims.append(claim)
    return Paper(data["paper"], data["title"], data["chapter"], tuple(claims))


def _claim_faults(claim: Claim, stem: str) -> list[str]:
    faults = []
    if not re.fullmatch(rf"{re.escape(stem)}(-[a-z0-9]+)+", claim.id):
        faults.append(f"the id must be '{stem}-' and small letters, digits and hyphens")
    if claim.verdict not in VERDICTS:
        faults.append(f"verdict '{claim.verdict}'; expected one of {', '.join(VERDICTS)}")
    if claim.kind not in KINDS:
        faults.append(f"kind '{claim.kind}'; expected one of {', '.join(KINDS)}")
    for reference in claim.evidence:
        if not re.fullmatch(r"[\w/.-]+\.(?:(?:ipynb|md)#[^\s`]+|py::(?:test|check)_\w+)", reference):
            faults.append(
                f"evidence '{reference}'; expected page.ipynb#label, page.md#label, file.py::test_name or ::check_name"
            )
    if claim.verdict != "cannot be checked" and not (claim.places and claim.tests):
        faults.append("a verdict needs a place in the book and a test as evidence")
    if (claim.verdict == "fails") != bool(claim.defects):
        faults.append("a claim that fails names its defects, and no other claim has any")
    return faults


def _split(reference: str) -> tuple[str, str]:
    path, _, name = reference.partition("::" if "::" in reference else "#")
    return path, name


@cache
def _tests(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@cache
def _proofs(path: Path) -> frozenset[str]:
    return frozenset(_PROOF.findall(text_of(path)))


@cache
def _headings(path: Path) -> dict[str, str]:
    """Titles of a page's headings by their anchors."""
    return {_slug(title): title for title in _HEADING.findall(_FENCE.sub("", text_of(path)))}


def _slug(title: str) -> str:
    """Anchor that MyST gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower().replace(" ", "-"))


def _link(reference: str, root: Path) -> str:
    path, name = _split(reference)
    if name in _proofs(root / path):
        return f"{{prf:ref}}`{name}`"
    return f"[{_headings(root / path)[name]}](../{path}#{name})"


if __name__ == "__main__":
    sys.exit(main())
