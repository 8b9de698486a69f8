"""The directive ``moving``: a figure that moves, with the still that stands in the page before any script runs.

Its scripts and its style sheet are loaded by the pages that use it only. Stills and data are committed in
``book/_stills``; ``python -m private_trees.site.moving`` makes them.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

STILLS = Path(__file__).parent.parent / "_stills"


class Words(NamedTuple):
    """What stands around a figure, in English and in Chinese.

    Parameters
    ----------
    title : what it shows.
    attempt : what to try.
    note : what it takes for granted.
    """

    title: tuple[str, str]
    attempt: tuple[str, str]
    note: tuple[str, str]


FIGURES = {
    "noise": Words(
        ("Noise on the counts of a leaf", "叶节点计数上的噪声"),
        (
            "Try: make ε small until the bars of both laws are level, then look at what the leaf still answers.",
            "试一试：把 ε 调小，直到两个分布难以分辨，再看叶节点还能怎样回答。",
        ),
        (
            "Two-sided geometric noise on each class count; of two equal counts the first class wins.",
            "各类计数加双边几何噪声；计数相同时取第一类。",
        ),
    ),
    "selection": Words(
        ("Two private ways to choose", "两种私有选择机制"),
        (
            "Try: bring all scores level, then let one of them lead, and see which mechanism finds it more often.",
            "试一试：先让得分相同，再让其中一个领先，看哪种机制更常找到它。",
        ),
        (
            "ε = 0.5 for both; scores are counts of records, monotone under add or remove.",
            "两者 ε = 0.5；得分为记录数，在增删关系下单调。",
        ),
    ),
    "lost-record": Words(
        ("A tree that loses one person", "少了一个人的树"),
        (
            "Try: let the people leave one after another, and find the one whom the first tree gives away.",
            "试一试：让这十个人逐一离开，找出第一棵树泄露的那一位。",
        ),
        (
            "Circles are people by age; a filled circle is ill. The shaded curve shows how likely each threshold is. "
            "The trees differ only in when they stop; both spend half of ε on the split and half on noise.",
            "圆圈是按年龄排列的人，实心为患病。阴影曲线表示各分裂点的可能性。"
            "两棵树只有停止规则不同；各用一半 ε 选择分裂，一半给计数加噪。",
        ),
    ),
    "path-budget": Words(
        ("The budget of a path", "一条路径的预算"),
        (
            "Try: let the leaf come early, and see what the left side leaves unspent.",
            "试一试：让叶更早出现，看左边剩下多少预算。",
        ),
        (
            "Numbers in the bars are levels; a tree of six. Alignment is private if the outputs, and not the records, "
            "decide where a path ends.",
            "条中的数字为层号，树有六层。只有路径的终点由已发布的结果而非记录决定时，对齐才是私有的。",
        ),
    ),
    "audit": Words(
        ("An audit that grows run by run", "逐次增长的审计"),
        (
            "Try: move the runs from 10 upwards, and find when the broken counter is caught.",
            "试一试：从 10 次开始增加运行次数，看有缺陷的计数器何时被发现。",
        ),
        (
            "An empty leaf against a leaf of one record; the event is a released count of 1 or more. Each bound holds "
            "with 99 % confidence at a number of runs fixed in advance, not at all of them together.",
            "空叶与含一条记录的叶相比；事件为发布的计数不小于 1。"
            "每个下界在事先固定的运行次数上以 99 % 置信度成立，并非同时成立。",
        ),
    ),
    "shapes": Words(
        ("What a private booster learns of age", "私有提升模型学到的年龄效应"),
        (
            "Try: raise ε until the fits agree on where the score rises and where it falls.",
            "试一试：增大 ε，直到各次训练在得分升降之处上一致。",
        ),
        (
            "PrivateBooster with pure ε and additive=True on the stand-in data, one seed a fit; each shape is drawn "
            "around its mean.",
            "PrivateBooster，纯 ε，additive=True，替身数据，每次训练一个种子；各形状以其平均值为中心。",
        ),
    ),
    "choose": Words(
        ("What an ε gives to both sides", "一个 ε 给双方什么"),
        (
            "Try: set n to a public estimate of the number of your records, and ε to the largest that you can answer "
            "for; read the loss.",
            "试一试：把 n 设为记录数的公开估计，把 ε 设为你能负责的最大值，再读出损失。",
        ),
        (
            "Left: the most that one record can give away with pure ε, under add-remove. Right: dots are the "
            "eight data sets of chapter 9, curves are medians where at least four of them have data, the two bars "
            "go from the least to the largest loss at your n·ε; δ = 10⁻⁵.",
            "左：纯 ε 在增删关系下，一条记录至多泄露多少。"
            "右：圆点为第 9 章的八个数据集，曲线为中位数（至少四个数据集有数据处），"
            "两条竖线从你的 n·ε 处最小的损失到最大的损失；δ = 10⁻⁵。",
        ),
    ),
}


def both(words: tuple[str, str]) -> str:
    """HTML of a text in two languages."""
    english, chinese = map(escape, words)
    return f'{english} <span lang="zh">{chinese}</span>'


def html(name: str) -> str:
    """HTML of a figure as it stands without scripts."""
    words, data = FIGURES[name], STILLS / f"{name}.json"
    inside = (
        f'<script type="application/json" class="moving-data">{data.read_text()}</script>'
        if data.exists()
        else ""
    )
    return (
        f'<figure class="moving" id="moving-{name}" data-moving="{name}">\n'
        f'<p class="moving-title">{both(words.title)}</p>\n'
        f'<p class="moving-try">{both(words.attempt)}</p>\n'
        f"{(STILLS / f'{name}.html').read_text(encoding='utf-8')}"
        f'<figcaption><p class="moving-note">{both(words.note)}</p></figcaption>\n{inside}</figure>'
    )


class Moving(SphinxDirective):
    """``{moving} name``: one of :data:`FIGURES`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in FIGURES:
            raise self.error(f"moving figure {name!r}: expected one of {', '.join(FIGURES)}")
        for path in (*STILLS.glob(f"{name}.*"), Path(__file__)):
            self.env.note_dependency(str(path))
        return [nodes.raw("", html(name), format="html", moving=name)]


def load(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Load scripts and style sheet on the pages that have such figures."""
    names = [node["moving"] for node in doctree.findall(nodes.raw) if "moving" in node] if doctree else []
    if names:
        app.add_css_file("moving/moving.css")
        for script in dict.fromkeys(("moving", *names)):
            app.add_js_file(f"moving/{script}.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("moving", Moving)
    app.connect("html-page-context", load)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
