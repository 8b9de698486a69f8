"""Number chapters and their sections, but not the pages under a chapter: its sittings and its appendix.

Sphinx counts such a page as one more section of the chapter's first page, so that an appendix comes out as 2.11. The
numbers of theorems and figures are made before, and keep the number of their chapter.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def unnumber(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Take the numbers from the pages under a numbered page, and from their sections."""
    below = {page for chapter in list(env.toc_secnumbers) for page in env.toctree_includes.get(chapter, [])}
    for page in below:
        env.toc_secnumbers[page] = {}
        env.titles[page].attributes.pop("secnumber", None)
        for entry in env.tocs[page].findall(nodes.reference):
            entry.attributes.pop("secnumber", None)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, after what gives the numbers."""
    app.connect("env-get-updated", unnumber, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
