"""What a link to a page shows elsewhere: a description from its first paragraph, and a card with its title.

The cards are drawn when the book is built, with the font that comes with Matplotlib: no page asks another host.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib
from bs4 import BeautifulSoup, Tag
from PIL import Image, ImageDraw, ImageFont
from sphinx.application import Sphinx

CARDS = "_static/cards"
CHINESE = r"[\u3000-\u9fff]"
SIZE = (1200, 630)
SHORTEST, LONGEST = 60, 200  # letters of a description that search engines show, and a few
INK, PAPER, ACCENT = "#16324f", "#ffffff", "#0b57c2"
# The drawing on the left: circles and their parents, a tree whose dashed branch hangs on one record.
TREE = {"root": (210, 170), "left": (120, 320), "right": (300, 320), "a": (60, 470), "b": (180, 470)}
BRANCHES = (("root", "left"), ("root", "right"), ("left", "a"), ("left", "b"))
WORDS = {
    "varepsilon": "ε",
    "delta": "δ",
    "rho": "ρ",
    "alpha": "α",
    "infty": "∞",
    "le": "≤",
    "ge": "≥",
    "times": "×",
    "to": "→",
}

NAMES = ("log", "ln", "exp", "min", "max", "Pr")


def plain(text: str) -> str:
    """Words of a paragraph without citations, its formulas as far as letters can say them."""
    text = re.sub(r" \[[^\]]*\d{4}\w?\]", "", text)
    text = re.sub(
        r"\\([a-zA-Z]+)", lambda found: WORDS.get(found[1], found[1] if found[1] in NAMES else ""), text
    )
    return " ".join(re.sub(r"\\[()\[\],;!]|[{}$]", "", text).split())


def spelt(formula: str) -> str | None:
    """A formula in letters, if all its commands have one."""
    known = all(name in WORDS for name in re.findall(r"\\([a-zA-Z]+)", formula))
    return plain(formula) if known and not re.search(r"[_^]", formula) else None


def description(article: Tag) -> str:
    """The first paragraph of a page that stands in no box and says something, shortened at the end of a word."""
    boxes = (".admonition", ".cell_output", "figure", ".sd-card", "table", "blockquote")
    texts = [plain(p.text) for p in article.find_all("p") if not p.find_parent(lambda tag: _is(tag, boxes))]
    texts = [text for text in texts if text]
    # The book is in English; a chapter may begin with its summary in Chinese.
    english = [
        text for text in texts if len(text) > SHORTEST and len(re.findall(CHINESE, text)) < len(text) / 4
    ]
    words = next(iter(english or texts), "")
    return words if len(words) <= LONGEST else words[:LONGEST].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def _is(tag: Tag, boxes: tuple[str, ...]) -> bool:
    return any(box[1:] in tag.get("class", []) if box[0] == "." else tag.name == box for box in boxes)


def tags(page: dict[str, str]) -> str:
    """The tags of a page's head; ``page`` has a title, description, address and card."""
    found = {
        "og:type": "article",
        "og:site_name": page["site"],
        "og:title": page["title"],
        "og:description": page["description"],
        "og:url": page["address"],
        "og:image": page["card"],
        "og:image:alt": page["title"],
    }
    lines = [f'<meta property="{name}" content="{escape(text)}" />' for name, text in found.items()]
    named = {
        "description": page["description"],
        "twitter:card": "summary_large_image",
        "twitter:title": page["title"],
        "twitter:description": page["description"],
        "twitter:image": page["card"],
    }
    return "\n".join(
        [*lines, *(f'<meta name="{name}" content="{escape(text)}" />' for name, text in named.items())]
    )


def head(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Add the tags to a page that has a source."""
    if doctree is None:
        return
    title = BeautifulSoup(context["title"], "html.parser").text
    base = app.config.html_baseurl.rstrip("/")
    page = {
        "site": app.config.html_title or app.config.project,
        "title": title,
        "description": description(BeautifulSoup(context["body"], "html.parser")) or title,
        "address": f"{base}/{pagename}.html",
        "card": f"{base}/{CARDS}/{pagename.replace('/', '-')}.png",
    }
    context["metatags"] = context.get("metatags", "") + tags(page)
    cards = Path(app.outdir) / CARDS
    cards.mkdir(parents=True, exist_ok=True)
    draw(title, page["site"]).save(cards / f"{pagename.replace('/', '-')}.png", optimize=True)


def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """The font of Matplotlib, which every machine has that can build the book."""
    name = f"DejaVuSans{'-Bold' if bold else ''}.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), size)


def draw(title: str, site: str) -> Image.Image:
    """Draw a card: the tree, the title and the name of the book. The font has no Chinese: the title's is left out."""
    image = Image.new("RGB", SIZE, PAPER)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, SIZE[0], 24), fill=ACCENT)
    for start, end in BRANCHES:
        pen.line((TREE[start], TREE[end]), fill=INK, width=8)
    for name, (x, y) in TREE.items():
        pen.ellipse(
            (x - 34, y - 34, x + 34, y + 34), fill=ACCENT if name == "b" else PAPER, outline=INK, width=8
        )
    words = re.sub(CHINESE, "", title).strip(" ·:")
    lines = wrap(words, 22)
    size = 56 if len(lines) <= 4 else 44
    lines = lines if size == 56 else wrap(words, 28)
    pen.multiline_text((400, 150), "\n".join(lines), font=font(size, bold=True), fill=INK, spacing=16)
    pen.text((400, 530), site, font=font(40), fill=ACCENT)
    return image.quantize(32)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", head, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
