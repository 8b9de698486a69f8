"""The built book in a real browser: nothing fails, nothing is fetched from elsewhere, every formula shows.

`make book` builds the site first. Each check is shown to catch a broken twin of a page.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SEARCH = "button.search-button, button.search-button-field, input[type=search]"
WIDTHS = {"wide": 1280, "narrow": 400}

pytestmark = pytest.mark.slow

# What a page looks like once its scripts have run; each entry is a problem in words.
INSPECT = """() => {
  const found = [];
  for (const math of document.querySelectorAll('.math'))
    if (!math.querySelector('mjx-container')) found.push('formula not rendered: ' + math.textContent.slice(0, 60));
  for (const error of document.querySelectorAll('mjx-merror'))
    found.push('formula with an error: ' + (error.dataset.mjxError || error.textContent));
  const prose = document.querySelector('article').cloneNode(true);
  prose.querySelectorAll('pre, code, script, .math').forEach(node => node.remove());
  if (prose.textContent.includes('$$')) found.push('raw $$ in the text');
  for (const image of document.querySelectorAll('article img')) {
    const alt = image.alt.trim();
    if (!alt || /\\.(png|svg|jpe?g)$/.test(alt)) found.push('image without a text: ' + image.src);
    if (!image.complete || !image.naturalWidth) found.push('image does not load: ' + image.src);
  }
  if (!document.documentElement.lang) found.push('page without a language');
  return found;
}"""


def unavailable(reason: str) -> NoReturn:
    """Skip on a reader's machine, fail in continuous integration."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def toc() -> list[str]:
    """List the pages of the table of contents."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [chapter["file"] for part in contents["parts"] for chapter in part["chapters"]]
    return [f"{name}.html" for name in (contents["root"], *files)]


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    index = SITE / "searchindex.js"  # what a build writes last
    if not index.is_file():
        unavailable("the book is not built: run `make book`")
    sources = [
        ROOT / "_config.yml",
        ROOT / "_toc.yml",
        *ROOT.glob("book/**/*.*"),
        *ROOT.glob("notebooks/*.ipynb"),
    ]
    newer = [str(s.relative_to(ROOT)) for s in sources if s.stat().st_mtime > index.stat().st_mtime]
    newer = [name for name in newer if "__pycache__" not in name]
    if newer:
        unavailable(f"the built book is older than {newer[0]}: run `make book`")
    with serve(SITE) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        unavailable(f"no browser: install one of {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    # Without transitions a colour is at once what it will be.
    context = browser.new_context(viewport={"width": WIDTHS["wide"], "height": 900}, reduced_motion="reduce")
    yield context
    context.close()


def visible_searches(page: Page) -> int:
    return sum(element.is_visible() for element in page.locator(SEARCH).all())


def problems(context: BrowserContext, address: str) -> list[str]:
    """Open a page and list all that is wrong with it."""
    host = urlsplit(address).netloc
    found: list[str] = []
    page = context.new_page()
    # Requests to other hosts are listed and stopped, so that the test itself never leaves the machine.
    page.route(
        lambda url: urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc != host,
        lambda route: (found.append(f"request to another host: {route.request.url}"), route.abort())[-1],
    )
    page.on("console", lambda m: found.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda error: found.append(f"script: {error}"))
    page.on("response", lambda r: found.append(f"status {r.status}: {r.url}") if r.status >= 400 else None)
    page.goto(address)
    page.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise")
    found += page.evaluate(INSPECT)
    for name, width in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 900})
        if (searches := visible_searches(page)) != 1:
            found.append(f"{searches} search boxes in the {name} layout")
    page.close()
    return found


@pytest.mark.parametrize("name", toc())
def test_page(name: str, site: str, context: BrowserContext) -> None:
    assert problems(context, f"{site}/{name}") == []


def test_index_leads_to_the_root(site: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{site}/index.html")
    page.wait_for_url(f"{site}/{toc()[0]}")


@pytest.mark.parametrize("name", toc())
def test_accessibility(name: str, site: str, context: BrowserContext) -> None:
    """No page keeps a reader out: axe finds nothing critical or serious, in light and dark mode."""
    page = context.new_page()
    page.goto(f"{site}/{name}")
    page.evaluate("window.MathJax && MathJax.startup && MathJax.startup.promise")
    found = []
    for mode in ("light", "dark"):
        page.evaluate("mode => { document.documentElement.dataset.theme = mode }", mode)
        found += [
            f"{mode}, {violation['id']}: {node['html'][:120]}"
            for violation in Axe().run(page).response["violations"]
            if violation["impact"] in ("critical", "serious")
            for node in violation["nodes"]
        ]
    assert found == []


def test_figures_keep_their_paper_in_the_dark(site: str, context: BrowserContext) -> None:
    """A figure's background is white in dark mode too, or its black axes vanish."""
    page = context.new_page()
    page.goto(f"{site}/{toc()[0]}")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.evaluate(
        "document.querySelector('article').insertAdjacentHTML('beforeend', '<div class=cell_output><img></div>')"
    )
    colour = page.locator(".cell_output img").evaluate("image => getComputedStyle(image).backgroundColor")
    assert colour == "rgb(255, 255, 255)"


@pytest.mark.parametrize(("words", "some"), [("permute-and-flip", True), ("zyzzyva", False)])
def test_search(words: str, some: bool, site: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{site}/search.html?q={words}")
    page.wait_for_function("document.querySelector('#search-results .search-summary')?.textContent.trim()")
    page.wait_for_function("!document.querySelector('#search-results h2')?.textContent.includes('Searching')")
    assert (page.locator("#search-results li").count() > 0) is some


MATHJAX = "<script defer"
BUTTON = '<button class="btn search-button">Search</button>'
TWINS = {
    "undefined macro": (
        "</article>",
        r'<p class="math">\(\nosuchmacro\)</p></article>',
        "formula with an error",
    ),
    "raw formula": ("</article>", '<p class="mathjax_ignore">so $$x^2$$</p></article>', "raw $$"),
    "no MathJax": (MATHJAX, "<script type=none", "formula not rendered"),
    "other host": (
        "</article>",
        '<script src="https://example.org/a.js"></script></article>',
        "another host",
    ),
    "script error": ("</article>", "<script>throw Error('no')</script></article>", "script: no"),
    "missing file": ("</article>", '<script src="nothing.js"></script></article>', "status 404"),
    "missing image": ("</article>", '<img src="no.png" alt="A tree"></article>', "image does not load"),
    "no alt": ("</article>", '<img src="../_static/logo.svg"></article>', "image without a text"),
    "file as alt": (
        "</article>",
        '<img src="../_static/logo.svg" alt="a/b.png"></article>',
        "image without a text",
    ),
    "two searches": ("</article>", f"{BUTTON}</article>", "2 search boxes"),
    "no language": ("<html lang", "<html data-lang", "page without a language"),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_page_is_caught(twin: str, site: str, context: BrowserContext, tmp_path: Path) -> None:
    right, wrong, expected = TWINS[twin]
    page = (SITE / "book" / "intro.html").read_text(encoding="utf-8")
    assert right in page
    (tmp_path / "_static").symlink_to(SITE / "_static")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "intro.html").write_text(page.replace(right, wrong), encoding="utf-8")
    with serve(tmp_path) as address:
        found = problems(context, f"{address}/book/intro.html")
    assert any(expected in problem for problem in found), found
