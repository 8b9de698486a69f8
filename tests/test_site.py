"""The built book in a real browser: nothing fails, nothing is fetched from elsewhere, every formula shows, and
keys reach all that scrolls, on a wide and a narrow screen and whatever the fonts.

`make book` builds the site first. Each check is shown to catch a broken twin of a page.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup, SoupStrainer, Tag
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from private_trees.site import claims, observations, pdf

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
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
WIDTHS = (1280, 390)
DESK = 1200  # wide, and narrower than what the figures and the code were made for
MODES = ("light", "dark")
PAPER = 665  # px between the margins of A4
HEAVIEST = 1_500_000  # bytes of a page as transferred, without what the first page has brought
PACKED = (".html", ".js", ".css", ".svg")  # what a server sends compressed
# Letters far apart and close together stand for wide and narrow fonts: no machine has to have them.
FONTS = {"own": "normal", "wide": "0.15em", "narrow": "-0.08em"}
# Only what is wrong is told, and no style sheet is fetched a second time, from an address that may be wrong.
# The rule on names is one of those that axe has not made usual yet.
NAMES = "label-content-name-mismatch"
AXE = {"resultTypes": ["violations"], "preload": False}
MARKED = "data-stands-for-all"
COLOURS = {
    "color-contrast": f"[{MARKED}]",
    "link-in-text-block": f"a[href][{MARKED}]",
}  # what the rules look at

pytestmark = pytest.mark.slow

# All that is folded stands open, at once, and both languages stand.
UNFOLD = """() => {
  delete document.documentElement.dataset.language;
  document.head.insertAdjacentHTML('beforeend', '<style>* { transition: none !important }</style>');
  document.querySelectorAll('article details').forEach(details => { details.open = true });
}"""

# What can scroll has the class `scrolls`, with a key, a role and a name; nothing else may be too wide. Axe tells what
# scrolls otherwise and cannot be reached.
LAYOUT = """() => {
  const found = [];
  const page = document.scrollingElement;
  if (page.scrollWidth > page.clientWidth) found.push(`the page is ${page.scrollWidth} px wide`);
  for (const node of document.querySelectorAll('article *:not(mjx-container *, .scrolls[role=group][tabindex="0"])')) {
    const hidden = !['visible', ''].includes(getComputedStyle(node).overflowX);
    if (hidden && node.clientWidth > 1 && node.scrollWidth > node.clientWidth + 1)
      found.push(`cut off: ${node.outerHTML.slice(0, 120)}`);
  }
  for (const node of document.querySelectorAll('.scrolls:not([role=group][tabindex="0"][aria-label])'))
    found.push(`no key, role or name: ${node.outerHTML.slice(0, 120)}`);
  return found;
}"""

# Lines of code that have to be scrolled to be read.
CUT = """() => [...document.querySelectorAll('.cell_input pre > .scrolls')]
  .filter(code => code.scrollWidth > code.clientWidth + 1)
  .map(code => `code is cut: ${code.textContent.slice(0, 80)}`)"""

# A formula keeps together: in one line if half of the screen or, outside of tables, half of its paragraph holds it, and
# in its box.
TORN = """() => {
  const found = [];
  for (const formula of document.querySelectorAll('article mjx-math')) {
    const lines = formula.getClientRects();
    if (!lines.length) continue;
    const tell = wrong => found.push(`${wrong}: ${formula.closest('.math')?.parentElement.textContent.slice(0, 60)}`);
    const width = [...lines].reduce((sum, line) => sum + line.width, 0);
    const cell = formula.closest('td, th');
    const box = cell || formula.closest('p, li, dd, dt, summary, h1, h2, h3, h4, div, section');
    if (lines.length > 1 && width < (cell ? innerWidth : box.clientWidth) / 2) tell('formula is torn');
    const inside = formula.closest('.scrolls[tabindex="0"]') && !cell;
    const right = box.getBoundingClientRect().right + 1;
    if (!inside && [...lines].some(line => line.right > right)) tell('formula sticks out');
  }
  return found;
}"""

# A region with the focus wears an outline, in the colour of links, whose contrast axe measures.
OUTLINES = """() => [...document.querySelectorAll('article [role=group][tabindex="0"]')].filter(node => {
    node.focus({preventScroll: true});
    const style = getComputedStyle(node), primary = style.getPropertyValue('--pst-color-primary').trim();
    const [red, green, blue] = primary.match(/[0-9a-f]{2}/gi).map(part => parseInt(part, 16));
    const shown = style.outlineStyle === 'solid' && parseFloat(style.outlineWidth) >= 2;
    return !shown || style.outlineColor !== `rgb(${red}, ${green}, ${blue})`;
  }).map(node => `focus does not show: ${node.outerHTML.slice(0, 120)}`)"""


# Axe takes longest on the glyphs of formulas, the words of code and the signs on buttons. Of those in the same place,
# by the elements, classes and styles around them, the first one stands for all. Lines of a drawing say nothing to axe.
SAMPLE = """() => {
  const seen = new Set();
  const look = node => [node.tagName, node.className, node.getAttribute('style')].join(' ');
  const known = new Map();
  const place = node => {
    if (node.tagName === 'ARTICLE') return '';
    if (!known.has(node)) known.set(node, look(node) + '<' + place(node.parentElement));
    return known.get(node);
  };
  const again = node => seen.has(place(node)) || !seen.add(place(node));
  for (const kind of ['mjx-container', 'mjx-math, mjx-assistive-mml', 'button svg'])
    document.querySelectorAll(`article :is(${kind})`).forEach(node => {
      if (again(node)) node.replaceChildren(...node.querySelectorAll('title'));
    });
  const told = '[role], [tabindex], [aria-label], [aria-labelledby]';
  document.querySelectorAll(`article svg :is(defs, path, use):not(${told})`).forEach(line => line.remove());
  for (const group of [...document.querySelectorAll(`article svg g:not(${told})`)].reverse())
    if (!group.children.length) group.remove();
  document.querySelectorAll('article pre span[class]:not(.scrolls)').forEach(word => {
    if (again(word)) word.replaceWith(...word.childNodes);
  });
}"""

# Of all words with the same colour, size and weight, on the same layers of background, the first ones are marked, on
# whatever page they are; it returns the looks that were not seen before.
MARK = """([mark, screen, before]) => {
  const CLEAR = 'rgba(0, 0, 0, 0) none 1;';
  const known = new Map();
  const layers = node => {
    if (!node) return '';
    if (!known.has(node)) {
      const {backgroundColor, backgroundImage, opacity} = getComputedStyle(node);
      const layer = [backgroundColor, backgroundImage, opacity].join(' ') + ';';
      known.set(node, (layer === CLEAR ? '' : layer) + layers(node.parentElement));
    }
    return known.get(node);
  };
  const seen = new Set(before), fresh = [];
  for (const node of document.querySelectorAll('body *')) {
    const words = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
    if (!words || !node.checkVisibility()) continue;
    const {color, fontSize, fontWeight, textDecorationLine, textShadow} = getComputedStyle(node);
    const link = node.closest('a[href]');
    const around = link && [getComputedStyle(link.parentElement).color, getComputedStyle(link).textDecorationLine];
    const drawn = [color, fontSize, fontWeight, textDecorationLine, textShadow];
    const look = [screen, node.tagName, ...drawn, around, layers(node)].join('|');
    if (seen.has(look)) continue;
    seen.add(look);
    fresh.push(look);
    for (const marked of [node, link]) marked?.setAttribute(mark, '');
  }
  return fresh;
}"""

# Blocks without such words are emptied, not taken away: rows keep the colours that they have by their number.
EMPTY = """mark => {
  const inline = node => node.tagName !== 'MJX-CONTAINER' && getComputedStyle(node).display.startsWith('inline');
  for (const node of [...document.querySelectorAll('article :not(style, script)')])
    if (!node.closest(`[${mark}]`) && !node.querySelector(`[${mark}]`) && !inline(node)) node.replaceChildren();
}"""


def unavailable(reason: str) -> NoReturn:
    """Skip on a reader's machine, fail in continuous integration."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def toc() -> list[str]:
    """List the pages of the table of contents."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in contents["parts"] for chapter in part["chapters"]]
    pages = [page["file"] for own in chapters for page in (own, *own.get("sections", ()))]
    return [f"{name}.html" for name in (contents["root"], *pages)]


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def translate_path(self, path: str) -> str:
            """Styles and scripts are those of the sources, so that no change of them asks for a new build."""
            place = urlsplit(path).path
            own = ROOT / "book" / place.lstrip("/")
            return (
                str(own) if place.startswith("/_static/") and own.is_file() else super().translate_path(path)
            )

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
    newer = [name for name in newer if "__pycache__" not in name and not name.startswith("book/_static/")]
    if newer:
        unavailable(f"the built book is older than {newer[0]}: run `make book`")
    with serve(SITE) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, pdf.BROWSERS)), None)
    if path is None:
        unavailable(f"no browser: install one of {', '.join(pdf.BROWSERS)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@cache
def parsed(name: str) -> BeautifulSoup:
    """A built page, to be read only: parsing takes a second, and several tests look at it."""
    return BeautifulSoup((SITE / name).read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A reader's browser, which keeps the files that pages share."""
    # Without transitions a colour is at once what it will be.
    context = browser.new_context(viewport={"width": WIDTHS[0], "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(180_000)  # a busy machine is slow, not wrong
    context.add_init_script(SHIFT)
    yield context
    context.close()


@pytest.fixture
def context(window: BrowserContext) -> Iterator[BrowserContext]:
    """The reader's browser, without pages and detours of other tests."""
    yield window
    for page in window.pages:
        page.close()
    window.unroute_all()


def contents(name: str, page: BeautifulSoup) -> list[str]:
    """List formulas that are not set, and images without words; axe sees to the language and to other names."""
    found = [
        f"{name}: not set: {math.text[:60]}"
        for math in page.select(".math")
        if not math.find("mjx-container")
    ]
    found += [f"{name}: wrong: {error.get('data-mjx-error')}" for error in page.select("mjx-merror")]
    raw = (text for text in page.article.find_all(string=re.compile(r"\$\$")))  # type: ignore[union-attr]
    found += [f"{name}: raw: {text[:60]}" for text in raw if not text.find_parent(["pre", "code", "script"])]
    alts = [str(image.get("alt", "")).strip() for image in page.select("article img")]
    return found + [
        f"{name}: image: {alt}" for alt in alts if not alt or re.search(r"\.(png|svg|jpe?g)$", alt)
    ]


def layout(page: Page, widths: Sequence[int] = (*WIDTHS, DESK), fonts: Collection[str] = FONTS) -> list[str]:
    """List what does not fit, breaks, or scrolls out of reach, on some screen with some font."""
    found = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        for font in fonts:
            if width == max(WIDTHS) and font != "own":
                continue  # what fits at ``DESK`` fits here
            page.evaluate("spacing => { document.body.style.letterSpacing = spacing }", FONTS[font])
            cut = [CUT] if width != WIDTHS[0] and font == "own" else []
            wrong = [problem for script in (LAYOUT, *cut, TORN) for problem in page.evaluate(script)]
            found += [f"{width} px, {font} font: {problem}" for problem in wrong]
    page.evaluate("document.body.style.letterSpacing = ''")
    return found


def axe(page: Page, **options: object) -> list[str]:
    """List what axe finds, of whatever impact, colours on marked words only."""
    rules = [{"id": rule, "selector": selector} for rule, selector in COLOURS.items()]
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    page.evaluate("rules => axe.configure({rules})", rules)
    violations = page.evaluate("options => axe.run(options)", {**AXE, **options})["violations"]
    return [f"{found['id']}: {node['html'][:120]}" for found in violations for node in found["nodes"]]


def screens(page: Page, widths: Sequence[int], modes: Sequence[str]) -> Iterator[str]:
    """Show the page in each width and mode."""
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        for mode in modes:
            page.evaluate("mode => { document.documentElement.dataset.theme = mode }", mode)
            yield f"{width} px, {mode}"


def accessibility(
    page: Page,
    seen: set[str] | None = None,
    *,
    widths: Sequence[int] = WIDTHS,
    modes: Sequence[str] = MODES,
) -> list[str]:
    """List what keeps a reader out: all that axe finds, and a focus that does not show.

    Colours are looked at where words look unlike those ``seen`` before on the same screen, which they join.
    """
    found = []
    seen = set() if seen is None else seen
    page.evaluate(SAMPLE)
    page.keyboard.press("Tab")  # from here on a focus shows as it does to whom uses keys
    for screen in screens(page, widths, modes):
        wrong = page.evaluate(OUTLINES)
        seen.update(page.evaluate(MARK, [MARKED, screen, list(seen)]))
        if screen.endswith(modes[0]):
            wrong += axe(page, rules={rule: {"enabled": rule == NAMES} for rule in (*COLOURS, NAMES)})
        found += [f"{screen}: {problem}" for problem in wrong]
    page.evaluate(EMPTY, MARKED)
    for screen in screens(page, widths, modes):
        found += [f"{screen}: {problem}" for problem in axe(page, runOnly=list(COLOURS))]
    return found


# Pages of chapters have few bars that fold something away; appendices may have more.
BARS, APPENDIX_BARS = 15, 25
MOST_SHIFT = 0.1  # of a page's contents while it loads, by the measure of browsers
SHIFT = """new PerformanceObserver(list => list.getEntries().forEach(entry => {
  window.shift = (window.shift || 0) + entry.value;
})).observe({type: 'layout-shift', buffered: true})"""
WIDE_TABLES = """() => [...document.querySelectorAll('article .scrolls')]
  .filter(place => place.querySelector('table') && place.scrollWidth > place.clientWidth + 1)
  .map(place => `table is cut, ${place.scrollWidth} in ${place.clientWidth} px: ${place.ariaLabel}`)"""


def bars(name: str, page: BeautifulSoup) -> list[str]:
    """Count the folds of a page that are no menu of a figure."""
    found = page.select("article :is(details:not(.figure-menu), .dropdown)")
    most = APPENDIX_BARS if "_appendix" in name else BARS
    return [f"{name}: {len(found)} bars, at most {most}"] * (len(found) > most)


# With all fonts there, once a picture has been painted and nothing is left to do.
SETTLED = """() => document.fonts.ready.then(() => new Promise(resolve =>
  requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(() => resolve(window.shift || 0))))))"""


def moves(page: Page) -> list[str]:
    """Tell if what is on the page has moved since it began to load."""
    shift = page.evaluate(SETTLED)
    return [f"contents move: {shift:.3f}"] * (shift > MOST_SHIFT)


def tables_fit(page: Page) -> list[str]:
    """List tables that have to be scrolled on a wide screen."""
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    return list(page.evaluate(WIDE_TABLES))


Check = Callable[[Page], list[str]]


@cache
def transferred(path: Path) -> int:
    """Bytes of a file as a server sends it."""
    data = path.read_bytes() if path.is_file() else b""
    return len(gzip.compress(data, 6)) if path.suffix in PACKED else len(data)


def problems(
    context: BrowserContext,
    address: str,
    *checks: Check,
    folder: Path = SITE,
    cached: Collection[str] = (),
    asked: set[str] | None = None,
    width: int = WIDTHS[0],
) -> list[str]:
    """Open a page once and list all that is wrong with it; its files in ``folder`` that are not cached have a limit."""
    asked = set() if asked is None else asked
    host = urlsplit(address).netloc
    found: list[str] = []
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    # Requests to other hosts are listed and stopped, so that the test itself never leaves the machine.
    page.route(
        lambda url: urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc != host,
        lambda route: (found.append(f"request to another host: {route.request.url}"), route.abort())[-1],
    )
    page.on("request", lambda request: asked.add(urlsplit(request.url).path))
    page.on("console", lambda m: found.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda error: found.append(f"script: {error}"))
    page.on("response", lambda r: found.append(f"status {r.status}: {r.url}") if r.status >= 400 else None)
    page.goto(address)
    found += moves(page)
    page.evaluate(UNFOLD)
    for check in checks:
        found += check(page)
    page.close()
    brought = sum(transferred(folder / path.lstrip("/")) for path in asked.difference(cached))
    return found + [f"{brought} bytes are transferred"] * (brought > HEAVIEST)


@pytest.fixture(scope="module")
def first(site: str, window: BrowserContext) -> set[str]:
    """What the first page asks for: the others find it in the reader's browser."""
    problems(window, f"{site}/{toc()[0]}", asked=(asked := set[str]()))
    return asked


@pytest.fixture(scope="module")
def seen() -> set[str]:
    """How words look that pages have shown so far: colours are looked at where they are new."""
    return set()


# Each page has one of the screens in turn; at night all pages have all.
SCREENS = [
    (width, mode, font)
    for font, mode, width in product(FONTS, MODES, (*WIDTHS, DESK))
    if font == "own" or width != max(WIDTHS)
]
IN_TURN = sorted(
    toc(), key=lambda name: "_appendix" in name
)  # else all appendices would be on the same screens
ON_A_SCREEN = [(name, *SCREENS[number % len(SCREENS)]) for number, name in enumerate(IN_TURN)]


@pytest.mark.parametrize(("name", "width", "mode", "font"), ON_A_SCREEN)
def test_page(
    name: str,
    width: int,
    mode: str,
    font: str,
    site: str,
    first: set[str],
    seen: set[str],
    context: BrowserContext,
) -> None:
    layouts = partial(layout, widths=[width], fonts=[font])
    reach = partial(accessibility, seen=seen, widths=[width], modes=[mode])
    found = problems(context, f"{site}/{name}", layouts, tables_fit, reach, cached=first, width=width)
    assert [*found, *contents(name, parsed(name))] == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", toc())
def test_page_on_all_screens(
    name: str, site: str, first: set[str], seen: set[str], context: BrowserContext
) -> None:
    checks = (layout, partial(accessibility, seen=seen))
    for width, on_it in zip(WIDTHS, (checks, ()), strict=True):
        assert problems(context, f"{site}/{name}", *on_it, cached=first, width=width) == []


def test_all_kinds_of_screens_are_seen_by_chapters_and_by_others() -> None:
    for chapters in (True, False):
        pages = [page for page in ON_A_SCREEN if page[0].startswith("notebooks/") == chapters]
        assert {each for _, *screen in pages for each in screen} == {*WIDTHS, DESK, *MODES, *FONTS}


def test_colours_seen_before_are_passed_and_others_are_not(context: BrowserContext, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<article><p>Some words.</p></article>", encoding="utf-8")
    seen = set[str]()
    paint = "colour => { document.querySelector('article p').style.color = colour }"

    def painted(page: Page, colour: str) -> list[str]:
        page.evaluate(paint, colour)
        return accessibility(page, seen, widths=WIDTHS[:1], modes=MODES[:1])

    with serve(tmp_path) as address:
        for colour, caught in (("#777", True), ("#777", False), ("#888", True)):
            found = problems(context, f"{address}/a.html", partial(painted, colour=colour))
            assert any("light: color-contrast" in problem for problem in found) is caught


def test_a_heavy_page_is_caught(context: BrowserContext, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<img src='b.png'>", encoding="utf-8")
    (tmp_path / "b.png").write_bytes(bytes(HEAVIEST + 1))
    with serve(tmp_path) as address:
        for cached, heavy in (((), True), (("/b.png",), False)):
            found = problems(context, f"{address}/a.html", folder=tmp_path, cached=cached)
            assert any("bytes are transferred" in problem for problem in found) is heavy


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


def languages(page: Page) -> tuple[bool, bool]:
    """Whether English words that have a Chinese twin are shown, and whether Chinese words are, all alike."""
    shown = [
        {block.is_visible() for block in page.locator(f'article section > p[lang="{code}"]').all()}
        for code in ("en", "zh")
    ]
    (english,), (chinese,) = shown
    return english, chinese


BOTH, ENGLISH, CHINESE = (True, True), (True, False), (False, True)


@pytest.mark.parametrize(
    ("locale", "at_first", "then"), [("en-GB", ENGLISH, CHINESE), ("zh-CN", CHINESE, ENGLISH)]
)
def test_one_language_at_a_time_is_remembered(
    locale: str, at_first: tuple[bool, bool], then: tuple[bool, bool], site: str, browser: Browser
) -> None:
    context = browser.new_context(locale=locale)
    page = context.new_page()
    for name in ("book/intro.html", "notebooks/08_audit.html"):
        page.goto(f"{site}/{name}")
        assert languages(page) == at_first
    assert page.locator("#moving-audit .moving-title [lang=zh]").is_visible() == at_first[1]
    page.locator(".btn-language").click()
    assert languages(page) == then
    page.goto(f"{site}/book/intro.html")
    assert languages(page) == then
    assert page.locator("text.strong [lang=zh]").first.is_visible() == then[1]
    page.emulate_media(media="print")
    assert languages(page) == BOTH
    context.close()


def test_both_languages_stand_without_scripts(site: str, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/intro.html")
    assert languages(page) == BOTH
    assert not page.locator(".btn-language").is_visible()
    context.close()


def test_what_is_in_chinese_is_marked(site: str) -> None:
    """Summaries, which begin with a word in bold, and the boxes with longer ones."""
    pages = {name: parsed(name) for name in toc()}
    found = [
        (name, block.name, block.get("lang"))
        for name, page in pages.items()
        for block in (
            *page.select("article section > p:has(> strong:first-child)"),
            *page.select("details.fold"),
        )
        if re.match(r"结论|中文", block.text.strip())
    ]
    assert len(found) > 15
    assert {lang for *_, lang in found} == {"zh"}
    assert not parsed("book/releasing.html").select("[lang=zh]:not(.meaning > *), .btn-language")


@pytest.mark.parametrize(
    ("words", "some"),
    [
        ("permute-and-flip", True),
        ("zyzzyva", False),
        ("重排", True),  # the beginning of a longer word, its middle, all of it, and with an English word
        ("排翻转", True),
        ("重排翻转机制", True),
        ("eDPRF 重排", True),
        ("龘龘", False),
    ],
)
def test_search(words: str, some: bool, site: str, context: BrowserContext) -> None:
    page = searched(words, site, context)
    assert (page.locator("#search-results li").count() > 0) is some


def searched(words: str, site: str, context: BrowserContext, *, scores: bool = True) -> Page:
    """The page of results, also without scores of our own."""
    page = context.new_page()
    if not scores:
        script = (SITE / "_static" / "language_data.js").read_text(encoding="utf-8")
        assert "var Scorer" in script
        page.route(
            "**/language_data.js*", lambda route: route.fulfill(body=script.replace("var Scorer", "var none"))
        )
    page.goto(f"{site}/search.html?q={words}")
    page.wait_for_function("document.querySelector('#search-results .search-summary')?.textContent.trim()")
    page.wait_for_function("!document.querySelector('#search-results h2')?.textContent.includes('Searching')")
    return page


FOUND = "#search-results ul.search > li > a"


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("epsilon", "Choose your ε"),
        ("how do I choose epsilon", "Choose your ε"),
        ("audit my estimator", "Audit your estimator"),
        ("publish a model", "Publish a model this month"),
        ("limitations", "Limitations"),
    ],
)
def test_pages_that_say_in_their_titles_what_is_asked_come_first(
    words: str, title: str, site: str, context: BrowserContext
) -> None:
    page = searched(words, site, context)
    assert page.locator(FOUND).first.text_content() == title
    assert "i" not in {word.casefold() for word in page.locator(".highlighted").all_text_contents()}


def test_without_scores_of_our_own_other_pages_come_first(site: str, context: BrowserContext) -> None:
    page = searched("how do I choose epsilon", site, context, scores=False)
    assert page.locator(FOUND).first.text_content() != "Choose your ε"


def test_what_moves_and_a_table_that_is_cut_are_caught(site: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{site}/book/limitations.html")
    late = "<p style='height: 400px'>Late.</p>"
    late += f"<div class=scrolls style='overflow: auto'><table><tr><td>{WIDE}</td></tr></table></div>"
    page.evaluate("late => document.querySelector('article').insertAdjacentHTML('afterbegin', late)", late)
    assert moves(page)
    assert tables_fit(page)


def heads(pages: dict[str, BeautifulSoup]) -> list[str]:
    """List pages without a description or a card of their own, and those whose links do not lead to the repository."""
    found, said = [], dict[str, str]()
    for name, head in pages.items():
        tags = {
            tag.get("name") or tag.get("property"): tag.get("content", "") for tag in head.find_all("meta")
        }
        for key in ("description", "og:description", "og:title", "og:url", "twitter:card"):
            found += [] if tags.get(key) else [f"{name}: no {key}"]
        card = urlsplit(str(tags.get("og:image", ""))).path.rpartition("/_static/cards/")[2]
        found += [] if card and (SITE / "_static" / "cards" / card).is_file() else [f"{name}: no card {card}"]
        words = str(tags.get("description"))
        found += [f"{name}: described like {said[words]}"] if words in said else []
        said[words] = name
        links = [str(link["href"]) for link in head.select("a[href]")]
        for part in ("/edit/main/", "/issues/new"):
            found += [] if any(part in link for link in links) else [f"{name}: no link {part}"]
    return found


def test_every_page_has_a_description_and_a_card(site: str) -> None:
    texts = {name: (SITE / name).read_text(encoding="utf-8") for name in toc()}

    def read(text: str) -> BeautifulSoup:
        return BeautifulSoup(text, "html.parser", parse_only=SoupStrainer(["meta", "a"]))

    assert heads({name: read(text) for name, text in texts.items()}) == []
    name = toc()[0]
    twin = texts[name].replace('name="description"', 'name="none"').replace("cards/", "card/")
    found = heads({name: read(twin.replace("/edit/main/", "/"))})
    assert [problem.partition(": ")[2][:7] for problem in found] == ["no desc", "no card", "no link"]


def unmarked(page: Tag) -> list[str]:
    """List checks whose sentence stands in the text without a mark, and links that lead nowhere."""
    checks = page.select(".checks li")
    sentences = {str(check["id"]): observations.plain(check.text.partition(": ")[2]) for check in checks}
    aside = {id(word) for part in page.select(".checks, .meaning") for word in part.strings}
    text = "".join(word for word in page.strings if id(word) not in aside)
    text = observations.plain(text.replace("✓", ""))
    marks = {str(link["href"])[1:] for link in page.select(".marks a")}
    found = [name for name, sentence in sentences.items() if sentence in text and name not in marks]
    back = {str(link["href"])[1:] for check in checks for link in check.select('a[href^="#said-"]')}
    return found + sorted(marks - set(sentences)) + [name for name in back if not page.find(id=name)]


def defined(name: str, page: BeautifulSoup) -> list[str]:
    """List what is wrong with the terms of a page: none, one twice, or one without its definition."""
    links, named = page.select("article a.defined"), {tag["id"]: tag for tag in page.find_all(id=True)}
    said = [named.get(link["aria-describedby"]) for link in links]
    words = [span.get_text() if span else "" for span in said]
    places = [str(link["href"]) for link in links]
    found = [f"{name}: {place} twice" for place in set(places) if places.count(place) > 2]  # ε, and its name
    found += [
        f"{name}: {link.text} has no definition" for link, word in zip(links, words, strict=True) if not word
    ]
    found += [
        f"{name}: a link in the wrong place"
        for link in page.select(":is(h1, h2, h3, a, pre, code) a.defined")
    ]
    return found + [f"{name}: no terms"] * (not links)


def undrawn(name: str, page: BeautifulSoup) -> list[str]:
    """List figures of a chapter without the code that draws them, and ways to download it that lead nowhere."""
    figures = [cell for cell in page.select("article div.cell_output") if cell.select_one("img, svg")]
    found = [f"{name}: no code" for cell in figures if not cell.select_one("details.figure-menu pre")]
    links = {str(link["href"]) for link in page.select("a[href]")}
    paths = [f"_sources/{name.removesuffix('.html')}{ending}" for ending in (".ipynb", ".py")]
    found += [f"{name}: no link {path}" for path in paths if f"../{path}" not in links]
    return found + [f"{name}: no {path}" for path in paths if not (SITE / path).is_file()]


@pytest.mark.parametrize("name", [name for name in toc() if name.startswith("notebooks/")])
def test_a_chapter_is_marked_defined_and_can_be_drawn_again(name: str, site: str) -> None:
    page = parsed(name)
    assert page.article
    assert page.article.select_one(".marks a[id]")
    assert unmarked(page.article) == []
    assert [*bars(name, page), *defined(name, page), *undrawn(name, page)] == []


def test_a_spoilt_chapter_is_caught(site: str) -> None:
    name = "notebooks/04_diffprfs.html"
    page = copy(parsed(name))
    assert page.article
    lost = page.select(".marks a[id]")[0]["href"]
    for link in page.select(f'.marks a[href="{lost}"]'):
        link.decompose()
    assert len(unmarked(page.article)) == 2  # a sentence without its mark, and a way back that leads nowhere
    page.select(".meaning")[0].extract()
    page.h1.append(page.select("a.defined")[1].extract())
    assert len(defined(name, page)) == 2
    page.select("mjx-container")[0].extract()
    page.article.append(
        BeautifulSoup("<p>so $$x^2$$</p><mjx-merror></mjx-merror><img><img alt='b.png'>", "html.parser")
    )
    assert len(contents(name, page)) == 5
    page.select("details.figure-menu")[0].decompose()
    for link in page.select('a[href$=".py"]'):
        link.decompose()
    assert len(undrawn(name, page)) == 2
    more = "<details></details>" * APPENDIX_BARS + "<p class=dropdown></p>"
    assert bars(name, BeautifulSoup(f"<article>{more}</article>", "html.parser"))


def test_the_glossary_defines_and_links_to_no_definition(site: str) -> None:
    glossary = parsed("book/glossary.html")
    assert not glossary.select("a.defined")
    assert defined("twin", glossary) == ["twin: no terms"]


def test_a_mark_opens_what_was_checked(site: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{site}/notebooks/04_diffprfs.html")
    check = page.locator(".checks li:has(a)").first
    assert not check.is_visible()
    name = str(check.get_attribute("id"))
    page.locator(f'.marks a[href="#{name}"]').first.click()
    assert check.is_visible()
    check.locator("a").click()
    assert page.url.endswith(f"#said-{name.removeprefix('check-')}")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_definition_is_shown_whole_and_hidden_by_escape(
    width: int, site: str, context: BrowserContext
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{site}/notebooks/01_foundations.html")
    links = page.locator("article a.defined")
    for number in range(links.count()):
        link = links.nth(number)
        link.evaluate("link => link.scrollIntoView({behavior: 'instant', block: 'center'})")
        link.focus()
        shown = page.locator(f"#{link.get_attribute('aria-describedby')}")
        box = shown.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900
        page.keyboard.press("Escape")
        assert not shown.is_visible()
    links.first.hover()
    assert page.locator(".meaning:visible").count() == 1


SHOWN = "() => [...document.querySelectorAll('details.claim')].filter(row => row.checkVisibility()).length"


def test_claims_are_filtered(site: str, context: BrowserContext) -> None:
    papers = claims.load(ROOT / "claims")
    failed = [claim.id for paper in papers for claim in paper.claims if claim.verdict == "fails"]
    of_dpada = [name for name in failed if name.startswith("dpada")]
    page = context.new_page()
    page.goto(f"{site}/book/claims.html")
    assert page.evaluate(SHOWN) == 0  # folded by paper
    page.locator(".claim-filter input[value=fails]").focus()
    page.keyboard.press("Space")
    assert page.evaluate(SHOWN) == len(failed)
    assert page.url.endswith("#verdict=fails")
    label = page.locator(".claim-filter label", has=page.locator("input[value=dpada]"))
    assert label.inner_text().split() == ["DPAda", str(len(of_dpada))]
    label.click()
    assert page.locator("[role=status]", has_text=f"{len(of_dpada)} of").count() == 1
    address = page.url
    page.close()
    page = context.new_page()
    page.goto(address)  # a filtered list can be linked
    assert page.evaluate(SHOWN) == len(of_dpada)
    page.goto(f"{site}/book/claims.html#claim-{failed[0]}")
    assert page.locator(f"#claim-{failed[0]}").evaluate("row => row.open && row.checkVisibility()")
    page.goto(f"{site}/book/claims.html#verdict=nothing")  # an unknown word filters nothing
    assert page.locator("[role=status]", has_text=f"{sum(len(p.claims) for p in papers)} of").count() == 1


def test_without_a_script_all_claims_are_shown(site: str, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/book/claims.html")
    rows = page.locator("details.claim")
    assert rows.count() == sum(len(paper.claims) for paper in claims.load(ROOT / "claims"))
    assert all(row.is_visible() for row in (rows.first, rows.last))
    context.close()


# On paper nothing scrolls: what is wider than its box is lost.
LOST = """() => [...document.querySelectorAll('article *')]
  .filter(node => !node.closest('mjx-container, svg, .headerlink') && node.checkVisibility() && node.clientWidth > 1)
  .filter(node => getComputedStyle(node).display !== 'inline')
  .filter(node => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(node => `off the paper: ${node.outerHTML.slice(0, 100)}`)"""


def off_paper(page: Page) -> list[str]:
    """List what is folded or does not fit on paper."""
    page.set_viewport_size({"width": PAPER, "height": 900})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    folded = page.locator("article details:not([open])").count()
    found = [f"{folded} folded"] * bool(folded) + list(page.evaluate(LOST))
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    return found


@pytest.mark.parametrize("name", ["book/claims.html", "book/intro.html", "notebooks/04_diffprfs.html"])
def test_paper_holds_all(name: str, site: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{site}/{name}")
    assert off_paper(page) == []
    wide = "<details><summary>More</summary><div style='width: 900px'>wide</div></details>"  # broken twin
    page.evaluate("wide => document.querySelector('article').insertAdjacentHTML('beforeend', wide)", wide)
    assert any("off the paper" in problem for problem in off_paper(page))


TWIN = "limitations.html"  # a page of which broken twins are made; it has formulas
END = "</article>"
SCROLLS = "style='overflow: auto'"
WIDE = "<div style='width: 700px'>wide</div>"
GROUP = "role=group aria-label=Table tabindex=0"
CODE = (
    "<div class=cell_input><pre><code class=scrolls style='display: block; overflow: auto; white-space: pre'>"
    "{}</code></pre></div>"
)
Changes = dict[str, str]  # a piece of the page, and what comes before it in the twin
# A check, what is put in front of pieces of the page, and what has to be found, each fault for itself.
TWINS: list[tuple[Check, Changes, list[str]]] = [
    (
        tables_fit,
        {
            END: '<script src="https://example.org/a.js"></script><script>throw Error("no")</script>'
            '<script src="nothing.js"></script><img src="no.png" alt="A tree">'
        },
        ["another host", "script: no", "status 404: ", "no.png"],
    ),
    (
        layout,
        {
            END: f"{CODE.format('w' * 400)}{CODE.format('v' * 90)}"
            f"<div id=a class=scrolls role=group aria-label=Table {SCROLLS}>short</div>"
            f"<div id=b class=scrolls role=group tabindex=0 {SCROLLS}>short</div>"
            f"<div id=c class=scrolls tabindex=0 aria-label=Table {SCROLLS}>short</div>"
            f"<div id=d {SCROLLS}>{WIDE}</div><div id=e style='overflow: hidden'>{WIDE}</div>",
        },
        [
            *("1200 px, own font: code is cut: www", "390 px, own font: code is cut: vvv"),
            *(f'no key, role or name: <div id="{name}"' for name in "abc"),
            *(f'390 px, own font: cut off: <div id="{name}"' for name in "de"),
        ],
    ),
    (layout, {END: "<div style='width: 1300px'>wide</div>"}, ["1280 px, own font: the page is"]),
    (layout, {END: WIDE}, ["390 px, own font: the page is"]),
    (
        layout,
        {END: f"<p style='font: 12px monospace; width: 300px; white-space: nowrap'>{'w' * 40}</p>"},
        ["390 px, wide font: the page is"],
    ),
    (
        accessibility,
        {
            END: '<a id=a href="index.html"></a><p id=b style="color: #222">hidden</p><p>words</p>'
            "<p id=c style='background: #555'>words</p><pre><b class='k'>x</b><span class='k'>if</span>"
            "<span id=d class='k' style='color: #eee'>if</span></pre>"
            "<style>@media (max-width: 400px) { article #e { color: #eee } }</style><p id=e>pale</p>"
            "<table><tr><th></th><th>a</th></tr><tr><td>1</td><td>2</td></tr></table>"
            "<button aria-label='Toggle'>Show code</button>"
            "<svg><g><path id=i role=img d='M0 0'></path><path d='M0 0'></path></g></svg>"
            f"<div id=g {GROUP} style='outline: none'>{WIDE}</div>"
            f"<div id=h {GROUP} style='outline: 3px solid #222'>short</div>",
            '<div class="bd-container': "<p id=f>Some words</p>",
        },
        [
            *('1280 px, light: link-name: <a id="a"', '1280 px, dark: color-contrast: <p id="b"'),
            *('1280 px, light: color-contrast: <p id="c"', '1280 px, light: color-contrast: <span id="d"'),
            *('390 px, light: color-contrast: <p id="e"', '1280 px, light: region: <p id="f"'),
            *("1280 px, light: label-content-name", "light: empty-table-header"),
            *("390 px, light: label-content-name", 'light: focus does not show: <div id="g"'),
            'dark: focus does not show: <div id="h"',
            'light: svg-img-alt: <path id="i"',
        ],
    ),
]


@pytest.mark.parametrize(("check", "changes", "expected"), TWINS)
def test_a_broken_page_is_caught(
    check: Check, changes: Changes, expected: list[str], site: str, context: BrowserContext, tmp_path: Path
) -> None:
    page = (SITE / "book" / TWIN).read_text(encoding="utf-8")
    for piece, before in changes.items():
        assert piece in page
        page = page.replace(piece, before + piece, 1)
    (tmp_path / "_static").symlink_to(SITE / "_static")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / TWIN).write_text(page, encoding="utf-8")
    with serve(tmp_path) as address:
        found = problems(context, f"{address}/book/{TWIN}", check)
    assert [fault for fault in expected if not any(fault in problem for problem in found)] == [], found


# A copy of a formula of the page where it does not keep together.
TEAR = """([frame, style]) => {
  const wide = [...document.querySelectorAll('article td span.math')].find(f => f.textContent.includes('z=(x'));
  const formula = wide.cloneNode(true);
  formula.classList.remove('whole');
  formula.replaceChildren(formula.querySelector('mjx-container'));
  document.getElementById('frame')?.remove();
  document.querySelector('article').insertAdjacentHTML('beforeend', `<div id=frame>${frame}</div>`);
  const place = document.getElementById('place');
  place.append(formula);
  place.setAttribute('style', style);
}"""
APART = [
    ("formula is torn", "<table><tr><td id=place></td></tr></table>", "width: 1em"),
    ("formula is torn", "<style>#place .math { width: 1em }</style><p id=place></p>", ""),
    (
        "formula sticks out",
        "<style>#place * { white-space: nowrap !important }</style><p id=place></p>",
        "width: 2em",
    ),
]


def test_a_torn_formula_is_caught(site: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": WIDTHS[1], "height": 900})
    page.goto(f"{site}/book/notation.html")
    for wrong, frame, style in APART:
        page.evaluate(TEAR, [frame, style])
        found = layout(page, WIDTHS[1:], ["own"])
        assert any(problem.startswith(f"390 px, own font: {wrong}") for problem in found), wrong


FADES = "nodes => nodes.map(node => [node.scrollWidth > node.clientWidth, getComputedStyle(node).maskImage !== 'none'])"


def test_what_goes_on_to_the_right_fades_there(site: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": WIDTHS[1], "height": 900})
    page.goto(f"{site}/notebooks/04_appendix.html")
    page.evaluate(UNFOLD)
    regions = page.locator("article .scrolls")
    seen = regions.evaluate_all(FADES)
    assert all(wide == fades for wide, fades in seen)
    assert {wide for wide, _ in seen} == {True, False}
    page.evaluate("document.querySelectorAll('.scrolls').forEach(node => node.scrollBy(5000, 0))")
    page.evaluate(SETTLED)  # whether a region is at its end is told with the next picture
    assert not any(fades for _, fades in regions.evaluate_all(FADES))  # at its end nothing is hidden
