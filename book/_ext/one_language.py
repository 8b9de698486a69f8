"""One language at a time: a button hides the Chinese of a page, or the English that says the same; it is remembered.

What is in Chinese is marked as such, which also tells a browser how to read it aloud. Without scripts, and on paper,
both languages stand.
"""

from __future__ import annotations

import re
from typing import Any

from bs4 import BeautifulSoup
from page_head import CHINESE
from sphinx.application import Sphinx

# Before the page is drawn, or all of it would move.
CHOICE = """<script>
(page => {
  let chosen = null;
  try { chosen = localStorage.getItem("language"); } catch { /* a browser that keeps nothing */ }
  page.language = chosen ?? (/^zh/i.test(navigator.language) ? "zh" : "en");
})(document.documentElement.dataset);
</script>
"""
SWITCH = (
    "(page => { page.language = page.language === 'zh' ? 'en' : 'zh'; "
    "try { localStorage.setItem('language', page.language); } catch { } })(document.documentElement.dataset)"
)
BUTTON = {
    "type": "javascript",
    "javascript": SWITCH,
    "text": "中 / EN",
    "tooltip": "Chinese or English",
    "label": "language",
}


def in_chinese(text: str) -> bool:
    """Tell whether a text is in Chinese, which may name things in English."""
    return 3 * len(re.findall(CHINESE, text)) > len(text)


def mark(soup: BeautifulSoup) -> bool:
    """Mark paragraphs and folded boxes in Chinese, and the English paragraphs that a Chinese one repeats.

    Returns
    -------
    Whether there is Chinese to show or to hide.
    """
    for title in soup.select("details.fold > summary"):
        if in_chinese(title.text):
            title.parent["lang"] = "zh"
    for paragraph in soup.select(":is(section, .sd-card-body) > p"):
        if in_chinese(paragraph.text):
            paragraph["lang"] = "zh"
            for before in paragraph.find_previous_siblings():
                if before.name != "p" or before.get("lang"):
                    break
                before["lang"] = "en"
    return bool(soup.select_one('[lang="zh"]:not(.meaning > *)'))


def choose(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Mark the languages of a page, and give it the button if it has both."""
    soup = BeautifulSoup(context.get("body", ""), "html.parser")
    if mark(soup):
        context["body"] = str(soup)
        context["metatags"] = context.get("metatags", "") + CHOICE
        context["header_buttons"].append(BUTTON)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", choose, priority=950)  # boxes are folded at 900
    return {"parallel_read_safe": True, "parallel_write_safe": True}
