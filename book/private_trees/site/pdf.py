"""The book on paper: the built pages in one document, printed to PDF by a browser without a window.

Run ``python -m private_trees.site.pdf`` after ``make book``, or ``make pdf``. Single pages: name them, as in
``python -m private_trees.site.pdf notebooks/04_diffprfs book/claims --out two.pdf``. What is printed, and how, says
``book/_static/print.css``.
"""

from __future__ import annotations

import argparse
import posixpath
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Page, sync_playwright

from dpnb.domain.yaml_text import parse

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu")
SHEET = Path("book") / "on-paper.html"  # as deep as the pages, so that their pictures are found
# Folded things open; what waits for a screen is loaded.
OPEN = """() => {
  document.querySelectorAll('article details').forEach(details => { details.open = true });
  document.querySelectorAll('img[loading]').forEach(image => { image.loading = 'eager' });
  document.documentElement.dataset.theme = 'light';
}"""


def contents(root: Path) -> list[str]:
    """Names of all pages, in the order of the table of contents."""
    toc = parse((root / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *(page["file"] for own in chapters for page in (own, *own.get("sections", ())))]


def assemble(site: Path, pages: Sequence[str]) -> str:
    """HTML of one document that holds the articles of several pages, whose links lead within it where they can.

    Parameters
    ----------
    site : folder of the built book.
    pages : names without ending, such as ``book/claims``.
    """
    missing = [name for name in pages if not (site / f"{name}.html").is_file()]
    if missing:
        raise FileNotFoundError(
            f"no page {', '.join(missing)} in {site}: run `make book`; names are those of _toc.yml"
        )
    sheet = BeautifulSoup((site / f"{pages[0]}.html").read_text(encoding="utf-8"), "html.parser")
    frame = sheet.find("article")
    assert isinstance(frame, Tag)
    articles = []
    for name in pages:
        page = BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
        article = page.find("article")
        assert isinstance(article, Tag)
        _rename(article, name, pages)
        article.name = "div"
        article.attrs = {"class": "printed-page", "id": _anchor(name)}
        articles.append(article)
    frame.clear()
    frame.extend([*articles[:1], *_list(sheet, articles), *articles[1:]])
    return str(sheet)


def _list(sheet: BeautifulSoup, articles: Sequence[Tag]) -> list[Tag]:
    """The contents, after the first page, if there is more than one."""
    found = BeautifulSoup("<div class='printed-page'><h1>Contents</h1><ul></ul></div>", "html.parser")
    for article in articles if len(articles) > 1 else []:
        title = article.find("h1")
        link = sheet.new_tag("a", attrs={"href": f"#{article['id']}"})
        link.string = title.get_text().removesuffix("#") if title else str(article["id"])
        entry = sheet.new_tag("li")
        entry.append(link)
        found.ul.append(entry)  # type: ignore[union-attr]
    return list(found.find_all("div")) if len(articles) > 1 else []


def _anchor(page: str, within: str = "") -> str:
    return f"{page.replace('/', '-')}--{within}"


def _rename(article: Tag, name: str, pages: Sequence[str]) -> None:
    """Give ids that are unique in the whole document, and let links follow."""
    for tag in article.find_all(id=True):
        tag["id"] = _anchor(name, str(tag["id"]))
    for link in article.find_all("a", href=True):
        path, _, place = str(link["href"]).partition("#")
        if "://" in path:
            continue
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else f"{name}.html"
        if target.removesuffix(".html") in pages:
            link["href"] = "#" + _anchor(target.removesuffix(".html"), place)


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


def print_pages(site: Path, pages: Sequence[str], out: Path) -> None:
    """Print pages of the built book to one PDF file."""
    sheet = site / SHEET
    sheet.write_text(assemble(site, pages), encoding="utf-8")
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with new_page() as page:
            page.set_default_timeout(60_000 * 15)
            page.emulate_media(media="print", color_scheme="light")
            page.goto(sheet.resolve().as_uri())
            page.evaluate(OPEN)
            page.evaluate("Promise.all([...document.images].map(image => image.decode().catch(() => 0)))")
            page.pdf(path=out, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
    finally:
        sheet.unlink()


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: print the book, or some of its pages, from the project's folder."""
    parser = argparse.ArgumentParser(prog="python -m private_trees.site.pdf", description=main.__doc__)
    parser.add_argument("pages", nargs="*", help="as in _toc.yml; default: all")
    parser.add_argument("--out", type=Path, default=Path("_build/pdf/private-trees.pdf"))
    options = parser.parse_args(arguments)
    pages = options.pages or contents(Path())
    try:
        print_pages(Path("_build/html"), pages, options.out)
    except FileNotFoundError as error:
        parser.error(str(error))
    print(f"{options.out}: {len(pages)} pages of the book, {options.out.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
