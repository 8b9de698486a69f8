"""Mend what the theme gets wrong on every page: a script run twice, an unset colour mode, two ARIA roles."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

# Both roles are wrong where docutils puts them: a list without list items, and a deprecated role.
ARIA = ((' role="list" class="citation-list"', ' class="citation-list"'), (' role="doc-biblioentry"', ""))


def mend(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object) -> None:
    """Change the page's context before the template is filled in."""
    # Jupyter Book loads Thebe even when no button starts it, and twice: the second time is a script error.
    context["script_files"] = [
        script
        for script in context.get("script_files", [])
        if "thebe" not in str(script.filename) and "THEBE_JS_URL" not in script.attributes.get("body", "")
    ]
    context.setdefault("default_mode", "auto")
    for wrong, right in ARIA:
        context["body"] = context.get("body", "").replace(wrong, right)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", mend, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
