"""Every letter of a chapter's formulas is in the tables of `book/notation.md`, which give each letter one meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
import pytest

from private_trees.papers import BY_CHAPTER

ROOT = Path(__file__).resolve().parent.parent
NOTATION = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
CHAPTERS: dict[str, tuple[str, ...]] = {
    "1–3": ("01_foundations", "02_mechanisms", "03_trees", "03_appendix"),
    **{str(paper.chapter): paper.notebooks for paper in BY_CHAPTER},
}
OTHER_MEANING = "Unlike elsewhere"
ALSO_WITH_AN_INDEX = {"varepsilon", "D", "n", "S"}  # a symbol of its own with an index or a sign

_GREEK = re.compile(
    "[Aa]lpha|beta|[Gg]amma|[Dd]elta|varepsilon|zeta|eta|[Tt]heta|kappa|[Ll]ambda|mu|nu|[Xx]i|[Pp]i|rho|[Ss]igma|tau|"
    "varphi|[Pp]hi|chi|[Pp]si|[Oo]mega"
)
_FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$]+?)\$", re.DOTALL)
_OF_ITS_OWN = re.compile(r"^(:{3,})\{(?:prf:proof|solution|exercise)\}.*?^\1\s*$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_WORDS = re.compile(r"\\(?:text|mathrm|operatorname)\{[^}]*\}|\\(?:begin|end)\{[a-z*]+\}|\\,d(?=[A-Za-z\\])")
_LETTER = re.compile(
    r"\\(tilde|hat|bar|mathbb|mathcal)\s*\{?\s*(\\[A-Za-z]+|[A-Za-z])|\\([A-Za-z]+)|([A-Za-z])"
)


def letters(formula: str) -> Iterator[str]:
    """Yield the letters of a formula, with their accents; not its words, its functions and its differentials."""
    for accent, below, command, letter in _LETTER.findall(_WORDS.sub(" ", formula)):
        if accent:
            yield f"{accent} {below}"
        elif letter or _GREEK.fullmatch(command):
            yield letter or command


def formulas(text: str) -> list[str]:
    """List the formulas of a page, apart from proofs, exercises and solutions, which may name what they need."""
    text = _OF_ITS_OWN.sub(" ", _CODE.sub(" ", text))
    return [shown or inline for shown, inline in _FORMULA.findall(text)]


def tables(text: str) -> tuple[Counter[str], dict[str, Counter[str]], set[tuple[str, str]]]:
    """Read the table of the book, those of the chapters, and which letters a chapter keeps for another meaning."""
    book: Counter[str] = Counter()
    chapters: dict[str, Counter[str]] = {}
    kept = set()
    for row in re.findall(r"^\| (.+) \|$", text.partition("\n## Neighbouring")[0], flags=re.MULTILINE):
        cells = row.split(" | ")
        listed = list(
            dict.fromkeys(entry for shown in _FORMULA.findall(cells[-2]) for entry in _entries(shown[1]))
        )
        if len(cells) == 2:
            book.update(listed)
        elif listed:
            chapters.setdefault(cells[0], Counter()).update(listed)
            kept |= {(cells[0], letter) for letter in listed if OTHER_MEANING in cells[2]}
    return book, chapters, kept


def _entries(formula: str) -> list[str]:
    """List what an entry of a table defines: the letters before an index, a prime or a bracket."""
    named = re.sub(r"_(?:\{[^}]*\}|\\[A-Za-z]+(?:_.)?|.)|\^.|\((?!x,y).*?\)|\\sim.*", "", formula)
    return list(letters(named))


def unlisted(texts: Iterable[str], known: Iterable[str]) -> set[str]:
    """Find letters that no table explains."""
    return {letter for text in texts for formula in formulas(text) for letter in letters(formula)} - set(
        known
    )


def with_two_meanings(text: str) -> set[str]:
    """Find letters that the tables explain twice without a word on it."""
    book, chapters, kept = tables(text)
    twice = {letter for letter, times in book.items() if times > 1 and letter not in ALSO_WITH_AN_INDEX}
    for chapter, own in chapters.items():
        twice |= {
            f"{chapter}: {letter}" for letter in own if letter in book and (chapter, letter) not in kept
        }
    return twice


def sections(chapter: str) -> dict[str, list[str]]:
    """Read the text of a chapter; the sections on following releases have letters of their own."""
    found: dict[str, list[str]] = {chapter: [], "following": []}
    for stem in CHAPTERS[chapter]:
        for cell in nbformat.read(ROOT / "notebooks" / f"{stem}.ipynb", as_version=4).cells:
            if cell.cell_type == "markdown":
                found["following" if cell.id.startswith("follow-") else chapter].append(cell.source)
    return found


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_letter_of_a_chapter_is_explained(chapter: str) -> None:
    book, chapters, _ = tables(NOTATION)
    for scope, texts in sections(chapter).items():
        assert unlisted(texts, [*book, *chapters[scope]]) == set(), scope


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"Let $\Theta_1\le\tilde Y+d$.", {"Theta", "tilde Y"}),
        ("$$\nY=1\n$$ (an-equation)", {"Y"}),
        (r"An integral, $\int_0^1x\,dx$, of $\mathrm{Lap}(b)$ and `$Y$`.", set()),
        (":::{prf:proof}\nLet $Y$ be a number.\n:::", set()),
        (":::{prf:theorem} Of $Y$\nLet it be.\n:::", {"Y"}),
    ],
)
def test_a_letter_without_explanation_is_found(text: str, found: set[str]) -> None:
    book, _, _ = tables(NOTATION)
    assert unlisted([text], book) == found


def test_a_letter_has_one_meaning() -> None:
    assert with_two_meanings(NOTATION) == set()


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("| $t$ | Number of rounds. |", {"t"}),
        ("| 4 | $t_k$ | Number of rounds. |", {"4: t"}),
        ("| 4 | $t$ | Unlike elsewhere: number of rounds. |", set()),
        ("| 4 | $\\Theta$ | Number of rounds. |", set()),
    ],
)
def test_a_letter_with_two_meanings_is_found(row: str, found: set[str]) -> None:
    assert with_two_meanings(f"{row}\n{NOTATION}") == found
