"""What the search finds: Chinese words, ε by its name, and pages whose titles say what was asked before others.

Chinese has no spaces, so the English splitter takes a whole clause for one word. With pairs of neighbouring characters,
in the index and in what a reader types, 重排 is found in 重排翻转机制.
"""

from __future__ import annotations

import json
import re

from sphinx.application import Sphinx
from sphinx.search import SearchEnglish, languages

CHINESE = r"\u3400-\u9fff"
NAMES = {"ε": "epsilon", "δ": "delta", "ρ": "rho"}
ASIDE = (
    "a|an|can|do|does|how|i|me|my|our|should|the|to|we|what|you|your"  # words of a question that find nothing
)

# The same as split() below, in the browser; the first pattern is that of Sphinx's own splitter. The names are for
# search-scores.js.
SPLITTER = rf"""
var letterNames = {json.dumps(NAMES)};
var splitQuery = (query) => query
  .split(/[^\p{{Letter}}\p{{Number}}_\p{{Emoji_Presentation}}]+/gu)
  .filter((word) => !/^(?:{ASIDE})$/i.test(word))
  .flatMap((word) => word.match(/[{CHINESE}]+|[^{CHINESE}]+/g) || [])
  .flatMap((part) => /[{CHINESE}]/.test(part) && part.length > 1
    ? [...part].slice(1).map((after, i) => part[i] + after)
    : [part]);
"""


def pairs(word: str) -> list[str]:
    """Pairs of neighbours of a Chinese word, and its characters for a search by one; another word as it is."""
    if not re.match(f"[{CHINESE}]", word):
        return [word, NAMES[word]] if word in NAMES else [word]
    return [word[i : i + 2] for i in range(len(word) - 1)] + list(word)


class Bilingual(SearchEnglish):
    """English, with Chinese in pairs of characters."""

    js_splitter_code = SPLITTER

    def split(self, input: str) -> list[str]:
        """List the words of a text."""
        words = re.findall(rf"[{CHINESE}]+|[^\W{CHINESE}]+", input)
        return [part for word in words for part in pairs(word)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    languages["en"] = Bilingual
    return {"parallel_read_safe": True, "parallel_write_safe": True}
