"""Figures in pages: their letters are text, their colours are readable in both modes, and their ids do not clash."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import pytest
from bs4 import BeautifulSoup
from matplotlib.font_manager import get_font

from private_trees.drawings import plots
from private_trees.drawings.colours import contrast, readable, with_contrast
from private_trees.site.figures import NARROW, svg

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_ext"))
vectors: Any = importlib.import_module("vector_figures")
LETTERS, LINES = 4.5, 3.0


@pytest.fixture(autouse=True)
def style() -> Any:
    matplotlib.use("Agg")
    plots.use_style()
    yield
    plt.close("all")
    matplotlib.rcdefaults()


def drawn() -> str:
    """A figure with a clipped line, markers, a hatch and a raster."""
    figure, axis = plt.subplots(figsize=(3, 2))
    axis.plot([0, 1], [0, 1], "o-", color="C0")
    axis.bar([0.5], [1], hatch="//", color="C1")
    axis.scatter([0.1], [0.9], rasterized=True)
    axis.set(xlabel="ε < 0.12345", ylabel="share")
    return svg(figure)


def notebook(folder: Path, *bundles: tuple[str, str | None]) -> Path:
    """A notebook whose cells show figures."""
    outputs = [
        {
            "data": {"image/svg+xml": wide.splitlines(keepends=True)},
            "metadata": {NARROW: other} if other else {},
        }
        for wide, other in bundles
    ]
    path = folder / "a.ipynb"
    path.write_text(json.dumps({"cells": [{"outputs": outputs}]}), encoding="utf-8")
    return path


def test_a_figure_is_the_same_from_run_to_run_and_has_what_a_page_needs() -> None:
    text = drawn()
    assert text == drawn()
    assert "ε &lt; 0.12345" in text  # words keep their digits
    assert not re.findall(r"=\"[^\"]*\d\.\d{3}", text)
    assert not re.search(r"<metadata|<!--|<style|20\d\d-", text)
    references = set(re.findall(r"(?:url\(|href=\")#([\w-]+)", text))
    assert references
    assert references == set(re.findall(r' id="([^"]+)"', text))


def page(tmp_path: Path, *bundles: tuple[str, str | None]) -> BeautifulSoup:
    """The body of a page that shows the figures of a notebook."""
    notebook(tmp_path, *bundles)
    names = [f"{vectors.sha256(wide.encode()).hexdigest()}.svg" for wide, _ in bundles]
    images = {f"/made/{name}": name for name in names}
    builder = SimpleNamespace(images=images)
    context = {"body": "".join(f'<p><img alt="A &lt; B" src="../_images/{name}" /></p>' for name in names)}
    app: Any = SimpleNamespace(srcdir=tmp_path, builder=builder)
    vectors.inline(app, "a", "", context, object())
    assert builder.images == {}
    return BeautifulSoup(context["body"], "html.parser")


def test_figures_of_a_page_have_names_sizes_and_ids_of_their_own(tmp_path: Path) -> None:
    figure = drawn()
    soup = page(tmp_path, (figure, figure), (figure.replace("share", "part"), None))
    found = soup.select("svg.vector-figure")
    assert [tag["class"][1] for tag in found] == ["wide", "narrow", "only"]
    assert {(tag["role"], tag["aria-label"], tag["width"], tag["height"]) for tag in found} == {
        ("img", "A < B", "389", "259")
    }
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(ids) == len(set(ids)) > 3
    assert set(re.findall(r"(?:url\(|href=\")#([\w-]+)", str(soup))) == set(ids)
    assert not re.search(r": #[0-9a-f]{6}", str(soup))  # each colour is a variable


SEEN = re.compile(r'style="([^"]*)"')


def faint(text: str, ground: str, value: dict[str, str]) -> list[str]:
    """Letters and lines of a figure with too little contrast to the ground; ``value`` gives colours another one."""
    found = []
    for tag in re.findall(r"<(?:text|path|use|g)\b[^>]*>", text):
        style = dict(
            pair.split(": ", 1) for pair in (SEEN.findall(tag) or [""])[0].split("; ") if ": " in pair
        )
        letters = tag.startswith("<text")
        colour = style.get("fill" if letters else "stroke", "#000000" if letters else "none")
        opacity = float(style.get("opacity", style.get("stroke-opacity", "1")))
        least = (LETTERS if letters else LINES) - 0.05
        inked = colour.startswith("#") and opacity > 0.5 and colour not in GROUNDS
        inked = inked and (letters or colour != style.get("fill"))  # a band has no edge of its own
        if inked and contrast(value.get(colour, colour), ground) < least:
            found.append(f"{colour} on {ground}")
    return found


GROUNDS = {"#ffffff", "#cccccc", "#000000"}  # paper and its letters on colours, grids; black is never faint


def committed() -> list[str]:
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    found = [text for path in paths for pair in vectors.bundles(path) for text in pair if text]
    assert len(found) > 100
    return found


def dark_values(text: str) -> dict[str, str]:
    css = vectors.dark(set(vectors.COLOUR.findall(text)))
    return {f"#{name}": value for name, value in re.findall(r"--f-(\w{6}):(#\w{6})", css)}


def test_letters_and_lines_can_be_seen_in_both_modes() -> None:
    faults = set()
    for text in committed():
        faults |= {*faint(text, vectors.PAPER, {}), *faint(text, vectors.PAGE, dark_values(text))}
    assert faults == set()


@pytest.mark.parametrize(("colour", "letters"), [("#777777", False), ("#8c8c8c", True), ("#fbafe4", False)])
def test_a_faint_word_or_line_is_noticed(colour: str, letters: bool) -> None:
    kind = f'<text style="fill: {colour}">' if letters else f'<path style="fill: none; stroke: {colour}">'
    expected = colour != "#777777"
    assert bool(faint(kind, vectors.PAPER, {})) is expected
    assert bool(faint(kind, vectors.PAGE, dark_values(kind))) is expected
    assert faint(kind, vectors.PAGE, {colour: vectors.PAGE}) != []  # broken twin


def test_the_dark_keeps_contrasts_and_the_page_gives_the_ground() -> None:
    css = vectors.dark({"#ffffff", "#0173b2", "#000000"})
    assert "--f-ffffff:var(--pst-color-background)" in css
    dark = re.findall(r"--f-0173b2:(#\w+)", css)[0]
    assert contrast(dark, vectors.PAGE) == pytest.approx(contrast("#0173b2", "white") ** 1.15, rel=0.02)
    assert contrast(re.findall(r"--f-000000:(#\w+)", css)[0], vectors.PAGE) > 15


@pytest.mark.parametrize("colour", ["#ece133", "#fbafe4", "#d55e00", "#000000"])
def test_readable_colours(colour: str) -> None:
    assert contrast(readable(colour), "white") >= 4.5
    assert contrast(with_contrast(colour, 3, "white"), "white") == pytest.approx(3, abs=0.1)
    assert readable("#000000") == "#000000"


def test_the_font_has_the_letters_of_the_figures_and_no_others(tmp_path: Path) -> None:
    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    vectors.write_font(font, "aε≤", tmp_path / "part.woff")
    from fontTools.ttLib import TTFont

    has = set(TTFont(tmp_path / "part.woff").getBestCmap())
    assert {ord(letter) for letter in "aε≤"} <= has
    assert len(has) < 6  # a letter may bring its mirror image
    assert (tmp_path / "part.woff").stat().st_size < 5000 < font.stat().st_size
    whole = get_font(str(font))
    text = "".join(re.findall(r">([^<]+)<", "".join(committed())))
    assert {
        letter for letter in text if letter.isprintable() and not whole.get_char_index(ord(letter))
    } == set()


def test_comparing_outputs_skips_figures_but_no_number() -> None:
    """What nbval replaces before it compares."""
    import configparser

    rules = configparser.ConfigParser(interpolation=None)
    rules.read(ROOT / "notebooks" / "sanitize.cfg")

    def cleaned(text: str) -> str:
        for name in rules.sections():
            text = re.sub(rules[name]["regex"], rules[name]["replace"], text)
        return text

    figure = drawn()
    assert cleaned(figure) == cleaned(figure.replace("0", "1")) == "SVG"
    assert cleaned("AUC 0.912 <b>") != cleaned("AUC 0.913 <b>")
