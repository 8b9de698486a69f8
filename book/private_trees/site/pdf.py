"""The book on paper: the reading edition, and the slides of one lecture, printed by a browser without a window.

Run ``python -m private_trees.site.pdf`` after ``make book``, or ``make pdf``. ``paper`` and ``slides`` choose what is
printed, ``book/_static/print.css`` and ``slides.css`` say how it looks.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from playwright.sync_api import Page, sync_playwright
from pypdfium2 import PdfDocument

from dpnb.errors import DataError
from dpnb.terminal import Parser, announce, command

from . import paper, slides

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu")
SITE = Path("_build") / "html"
FILES: dict[str, Callable[[Path, Path], str]] = {
    "private-trees.pdf": paper.edition,
    "lecture.pdf": slides.lecture,
}
HEADINGS = "h1, h2, h3, h4, h5, h6"
NUMBERS = """places => document.querySelectorAll('.contents a').forEach(link => {
  link.nextSibling.textContent = places[link.hash.slice(1)];
})"""


@contextmanager
def new_page() -> Iterator[Page]:
    """A page of a browser without a window."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise FileNotFoundError(f"no browser: install one of {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        window = playwright.chromium.launch(executable_path=path, args=[*ARGUMENTS])
        yield window.new_page()
        window.close()


def show(page: Page, site: Path, html: str) -> None:
    """Show a document whose links start from ``book/``, as for printing, once all pictures are there."""
    with NamedTemporaryFile("w", dir=site / "book", suffix=".html", encoding="utf-8") as sheet:
        sheet.write(html)
        sheet.flush()
        page.set_default_timeout(60_000 * 15)  # a slow machine takes its time
        page.emulate_media(media="print", color_scheme="light")
        page.goto(Path(sheet.name).resolve().as_uri())
        page.evaluate("Promise.all([...document.images].map(image => image.decode().catch(() => 0)))")


def outline(path: Path) -> list[int]:
    """Number of the page of each heading, in their order."""
    with PdfDocument(path) as file:
        return [mark.get_dest().get_index() + 1 for mark in file.get_toc()]


def save(page: Page, out: Path) -> int:
    """Print what is shown, twice: the contents' numbers are known after the first time. Returns the number of pages."""
    out.parent.mkdir(parents=True, exist_ok=True)
    ids = page.locator(HEADINGS).evaluate_all("headings => headings.map(heading => heading.id)")
    for _ in range(2):
        page.pdf(path=out, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
        page.evaluate(NUMBERS, dict(zip(ids, outline(out), strict=True)))
    with PdfDocument(out) as file:
        return len(file)


@command()
def main(arguments: Sequence[str], /) -> int:
    """Command line: print the reading edition and the slides, from the project's folder."""
    parser = Parser(prog="python -m private_trees.site.pdf", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path("_build/pdf"))
    options = parser.parse_args(arguments)
    try:
        with new_page() as page:
            for name, make in FILES.items():
                show(page, SITE, make(SITE, Path()))
                out = options.out / name
                announce(f"{out}: {save(page, out)} pages, {out.stat().st_size / 1e6:.1f} MB")
    except FileNotFoundError as error:
        raise DataError(str(error)) from error
    return 0


if __name__ == "__main__":
    sys.exit(main())
