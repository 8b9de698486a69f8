"""Pages that stand by themselves, with their style and pictures in them."""

from base64 import b64encode
from html import escape as escape_marks

from .errors import visible


def escape(text: str) -> str:
    """A text for a page, in which nothing is a mark, hides, or turns other letters around; lines stay lines."""
    return escape_marks("\n".join(map(visible, text.split("\n"))))


def html_page(title: str, *, style: str, body: str) -> str:
    """A page in one file; the body is marks already."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def html_picture(png: bytes, words: str) -> str:
    """A picture, and in words what it shows."""
    return f'<img src="data:image/png;base64,{b64encode(png).decode()}" alt="{escape(words)}">'
