"""The built book in a real browser: nothing fails, nothing is fetched from elsewhere, every formula shows, and
keys reach all that scrolls, on a wide and a narrow screen and whatever the fonts.

`make book` builds the site first. Each check is shown to catch a broken twin of a page.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
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
WIDTHS = (1280, 390)
MODES = ("light", "dark")
# Letters far apart and close together stand for wide and narrow fonts: no machine has to have them.
FONTS = {"own": "normal", "wide": "0.15em", "narrow": "-0.08em"}
# Only what is wrong is told, and no style sheet is fetched a second time, from an address that may be wrong.
AXE = {"resultTypes": ["violations"], "preload": False}

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

# All that is folded stands open, at once.
UNFOLD = """() => {
  document.head.insertAdjacentHTML('beforeend', '<style>* { transition: none !important }</style>');
  document.querySelectorAll('article details').forEach(details => { details.open = true });
  document.querySelectorAll('article .toggle-button').forEach(button => button.click());
}"""

# What can scroll needs a key and a name even where it is not too wide: with other fonts it will be.
LAYOUT = """() => {
  const found = [];
  const tell = (node, wrong) => found.push(`${wrong}: ${node.outerHTML.slice(0, 120)}`);
  const page = document.scrollingElement;
  if (page.scrollWidth > page.clientWidth) found.push(`the page is ${page.scrollWidth} px wide`);
  for (const node of document.querySelectorAll('body *:not(mjx-container *)')) {
    const {overflowX, overflowY} = getComputedStyle(node);
    if (overflowX === 'visible') continue;
    const tooWide = node.scrollWidth > node.clientWidth + 1;
    if (/auto|scroll/.test(overflowX + overflowY)) {
      if (!node.closest('article')) {
        const reached = node.tabIndex >= 0 || node.querySelector('a[href], button, input, [tabindex="0"]');
        if (!reached && (tooWide || node.scrollHeight > node.clientHeight + 1)) tell(node, 'no key reaches');
        continue;
      }
      const label = document.getElementById(node.getAttribute('aria-labelledby'));
      if (node.tabIndex < 0) tell(node, 'no key reaches');
      if (!(node.ariaLabel || label?.textContent)?.trim()) tell(node, 'scrolls and has no name');
      if (!/^(group|region)$/.test(node.role)) tell(node, 'scrolls and has no role');
    } else if (tooWide && node.clientWidth > 1 && node.closest('article')) tell(node, 'cut off');
  }
  return found;
}"""

# A region with the focus wears an outline that stands out from what is behind it.
OUTLINES = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => colour.map(part => part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + [0.2126, 0.7152, 0.0722][i] * part, 0.05);
  const behind = node => {
    if (!node) return [255, 255, 255];
    const [red, green, blue, opaque = 1] = parts(getComputedStyle(node).backgroundColor);
    const under = opaque < 1 ? behind(node.parentElement) : [0, 0, 0];
    return [red, green, blue].map((part, i) => part * opaque + under[i] * (1 - opaque));
  };
  return [...document.querySelectorAll('article [role=group][tabindex="0"]')].filter(node => {
    node.focus({preventScroll: true});
    const style = getComputedStyle(node);
    const [low, high] = [light(parts(style.outlineColor).slice(0, 3)), light(behind(node))].sort((a, b) => a - b);
    return style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2 || high / low < 3;
  }).map(node => `focus does not show: ${node.outerHTML.slice(0, 120)}`);
}"""


# Axe takes longest on the glyphs of formulas and the words of code. Those in the same place, by the elements, classes
# and styles around them, have the same colours: the first one stands for all.
SAMPLE = """() => {
  const seen = new Set();
  const look = node => [node.tagName, node.className, node.getAttribute('style')].join(' ');
  const place = node => node.tagName === 'ARTICLE' ? '' : look(node) + '<' + place(node.parentElement);
  const again = node => seen.has(place(node)) || !seen.add(place(node));
  document.querySelectorAll('article mjx-math').forEach(formula => { if (again(formula)) formula.replaceChildren() });
  document.querySelectorAll('article pre span[class]:not(.scrolls)').forEach(word => {
    if (again(word)) word.replaceWith(...word.childNodes);
  });
}"""

# They have the same colours at every width, too.
PLAIN = """() => {
  document.querySelectorAll('mjx-math').forEach(formula => formula.replaceChildren());
  document.querySelectorAll('pre > .scrolls').forEach(code => { code.textContent = code.textContent });
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
    context = browser.new_context(viewport={"width": WIDTHS[0], "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(180_000)  # a busy machine is slow, not wrong
    yield context
    context.close()


def visible_searches(page: Page) -> int:
    return sum(element.is_visible() for element in page.locator(SEARCH).all())


def contents(page: Page) -> list[str]:
    """List what is missing or failed to load."""
    return list(page.evaluate(INSPECT))


def layout(page: Page) -> list[str]:
    """List what does not fit, or scrolls out of reach, on some screen with some font."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if (searches := visible_searches(page)) != 1:
            found.append(f"{searches} search boxes at {width} px")
        for font, spacing in FONTS.items():
            page.evaluate("spacing => { document.body.style.letterSpacing = spacing }", spacing)
            found += [f"{width} px, {font} font: {problem}" for problem in page.evaluate(LAYOUT)]
    page.evaluate("document.body.style.letterSpacing = ''")
    return found


def accessibility(page: Page) -> list[str]:
    """List what keeps a reader out: all that axe calls critical or serious, and a focus that does not show."""
    found = []
    page.evaluate(SAMPLE)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for mode in MODES:
            page.evaluate("mode => { document.documentElement.dataset.theme = mode }", mode)
            page.keyboard.press("Tab")
            wrong = page.evaluate(OUTLINES)
            wrong += [
                f"{violation['id']}: {node['html'][:120]}"
                for violation in Axe().run(page, options=AXE).response["violations"]
                if violation["impact"] in ("critical", "serious")
                for node in violation["nodes"]
            ]
            found += [f"{width} px, {mode}: {problem}" for problem in wrong]
        page.evaluate(PLAIN)
    return found


CHECKS = (contents, layout, accessibility)
Check = Callable[[Page], list[str]]


def problems(context: BrowserContext, address: str, *checks: Check) -> list[str]:
    """Open a page once and list all that is wrong with it."""
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
    page.evaluate(UNFOLD)
    for check in checks:
        found += check(page)
    page.close()
    return found


@pytest.mark.parametrize("name", toc())
def test_page(name: str, site: str, context: BrowserContext) -> None:
    assert problems(context, f"{site}/{name}", *CHECKS) == []


def test_index_leads_to_the_root(site: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{site}/index.html")
    page.wait_for_url(f"{site}/{toc()[0]}")


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
END = "</article>"
BUTTON = '<button class="btn search-button">Search</button>'
GROUP = "role=group aria-label=Table tabindex=0"
SCROLLS = "style='overflow: auto'"
WIDE = "<div style='width: 700px'>wide</div>"
TWINS: dict[Check, dict[str, tuple[str, str, str]]] = {
    contents: {
        "undefined macro": (END, rf'<p class="math">\(\nosuchmacro\)</p>{END}', "formula with an error"),
        "raw formula": (END, f'<p class="mathjax_ignore">so $$x^2$$</p>{END}', "raw $$"),
        "no MathJax": (MATHJAX, "<script type=none", "formula not rendered"),
        "other host": (END, f'<script src="https://example.org/a.js"></script>{END}', "another host"),
        "script error": (END, f"<script>throw Error('no')</script>{END}", "script: no"),
        "missing file": (END, f'<script src="nothing.js"></script>{END}', "status 404"),
        "missing image": (END, f'<img src="no.png" alt="A tree">{END}', "image does not load"),
        "no alt": (END, f'<img src="../_static/logo.svg">{END}', "image without a text"),
        "file as alt": (END, f'<img src="../_static/logo.svg" alt="a/b.png">{END}', "image without a text"),
        "no language": ("<html lang", "<html data-lang", "page without a language"),
    },
    layout: {
        "two searches": (END, f"{BUTTON}{END}", "2 search boxes"),
        "no focus": (END, f"<div role=group aria-label=Table {SCROLLS}>{WIDE}</div>{END}", "no key reaches"),
        "no focus yet": (
            END,
            f"<div role=group aria-label=Table {SCROLLS}>short</div>{END}",
            "no key reaches",
        ),
        "folded": (
            END,
            f"<details><summary>More</summary><div role=group aria-label=Code {SCROLLS}>{WIDE}</div></details>{END}",
            "no key reaches",
        ),
        "sidebar": ("<body", f"<body><div {SCROLLS}>{WIDE * 9}</div", "no key reaches"),
        "no name": (END, f"<div role=group tabindex=0 {SCROLLS}>{WIDE}</div>{END}", "has no name"),
        "empty name": (
            END,
            f"<div role=group tabindex=0 aria-label=' ' {SCROLLS}>{WIDE}</div>{END}",
            "has no name",
        ),
        "no role": (END, f"<div tabindex=0 aria-label=Table {SCROLLS}>{WIDE}</div>{END}", "has no role"),
        "cut off": (END, f"<div style='overflow: hidden'>{WIDE}</div>{END}", "390 px, own font: cut off"),
        "wide page": (END, f"<div style='width: 1300px'>wide</div>{END}", "1280 px, own font: the page is"),
        "wide page on a phone": (END, f"{WIDE}{END}", "390 px, own font: the page is"),
        "wide font": (
            END,
            f"<p style='font: 12px monospace; width: 300px; white-space: nowrap'>{'w' * 40}</p>{END}",
            "390 px, wide font: the page is",
        ),
    },
    accessibility: {
        "empty link": (END, f'<a href="index.html"></a>{END}', "1280 px, light: link-name"),
        "dark on dark": (END, f"<p style='color: #222'>hidden</p>{END}", "1280 px, dark: color-contrast"),
        "a pale word of code": (
            END,
            f"<pre><b class='k'>x</b><span class='k'>if</span><span class='k' style='color: #eee'>if</span></pre>{END}",
            "1280 px, light: color-contrast",
        ),
        "pale on a phone": (
            END,
            f"<style>@media (max-width: 400px) {{ article p {{ color: #eee }} }}</style>{END}",
            "390 px, light: color-contrast",
        ),
        "no outline": (
            END,
            f"<div {GROUP} style='outline: none'>{WIDE}</div>{END}",
            "light: focus does not show",
        ),
        "dark outline": (
            END,
            f"<div {GROUP} style='outline: 3px solid #222'>short</div>{END}",
            "dark: focus does not show",
        ),
    },
}


@pytest.mark.parametrize(("check", "twin"), [(check, twin) for check in TWINS for twin in TWINS[check]])
def test_a_broken_page_is_caught(
    check: Check, twin: str, site: str, context: BrowserContext, tmp_path: Path
) -> None:
    right, wrong, expected = TWINS[check][twin]
    page = (SITE / "book" / "intro.html").read_text(encoding="utf-8")
    assert right in page
    (tmp_path / "_static").symlink_to(SITE / "_static")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "intro.html").write_text(page.replace(right, wrong), encoding="utf-8")
    with serve(tmp_path) as address:
        found = problems(context, f"{address}/book/intro.html", check)
    assert any(expected in problem for problem in found), found
