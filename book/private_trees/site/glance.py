"""What the front page shows at a glance: two pictures and a table, from the stored results and the claims.

The pictures are plain SVG that takes its colours from the page, so that one file serves light and dark.
``python -m private_trees.site.pages`` writes them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

import pandas as pd

from ..board import standings
from ..papers import PAPERS
from ..studies import runs
from . import claims

WIDTH, HEIGHT = 400, 270  # of a picture; a telephone shows it at nearly this size
LEFT, RIGHT, TOP, BOTTOM = 52, 388, 34, 222  # of its plot
EPSILON = 1.0  # of the table
LINES = {  # on the picture of AUC: name there → on the board
    "this book's booster": "PrivateBooster, δ",
    "DPAda, repaired": "DPAda-R",
    "eDPRF, repaired": "eDPRF-R",
    "diffprivlib logistic": "diffprivlib logistic",
}


def _text(
    x: float, y: float, words: str, *, anchor: str = "middle", size: int = 13, bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"{weight}>{escape(words)}</text>'
    )


def _upwards(words: str) -> str:
    """The label of the axis that goes up."""
    return f'<g transform="rotate(-90 14 {(TOP + BOTTOM) / 2:g})">{_text(14, (TOP + BOTTOM) / 2, words)}</g>'


def _svg(title: str, label: str, parts: Sequence[str]) -> str:
    lines = [
        f'<svg class="glance" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}" '
        'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" style="fill: currentColor">',
        _text(WIDTH / 2, 18, title, size=16, bold=True),
        f'<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" style="fill: none; stroke: currentColor"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def exposed(folder: Path) -> pd.Series[float]:
    """Mean number of Adult's training records that a forest as written exposes, by ε."""
    found = runs.read("exposed", folder).query("method == 'as written' and utility == 'info_gain'")
    return found[found["metric"] == "either"].groupby("epsilon")["value"].mean()


def trained(folder: Path) -> str:
    """How many training records Adult has, in words."""
    found = runs.read("exposed", folder).query("metric == 'records'")
    return f"{found['value'].max():,.0f}".replace(",", " ")


def adult(folder: Path) -> pd.DataFrame:
    """Mean AUC on Adult and the ``setting`` that was chosen in public, by method on the board and ε."""
    fits = standings.board_fits(standings.sources(folder)).query("dataset == 'adult'")
    return fits.groupby(["method", "epsilon"]).agg(auc=("auc", "mean"), setting=("utility", "first"))


def top(folder: Path) -> float:
    """Best mean AUC on Adult without privacy."""
    return float(standings.tops(runs.read("references", folder))["adult"])


def exposed_picture(folder: Path) -> str:
    """Bars: records that a forest as written gives away, whatever its ε."""
    counts, total = exposed(folder), f"of {trained(folder)}"
    parts = [_text(LEFT - 6, BOTTOM + 4, "0", anchor="end"), _upwards("people given away")]
    for i, (epsilon, count) in enumerate(counts.items()):
        x = LEFT + (i + 0.5) * (RIGHT - LEFT) / len(counts)
        y = BOTTOM - (BOTTOM - TOP) * 0.8 * count / counts.max()
        parts += [
            f'<rect x="{x - 35:g}" y="{y:.1f}" width="70" height="{BOTTOM - y:.1f}" '
            'style="fill: var(--pst-color-danger, #b3261e)"/>',
            _text(x, y - 22, f"{count:.0f}", bold=True),
            _text(x, y - 6, total),
            _text(x, BOTTOM + 18, f"ε = {epsilon:g}"),
        ]
    parts.append(_text(WIDTH / 2, HEIGHT - 10, "what a forest as published claims"))
    said = ", ".join(f"{count:.0f} {total} at ε = {epsilon:g}" for epsilon, count in counts.items())
    return _svg("As published, ε does not help", f"People given away by a forest as written: {said}", parts)


def auc_picture(folder: Path) -> str:
    """Lines: AUC against ε for a few methods, and the best without privacy."""
    # Colours of the theme; dashes tell as well.
    looks = ("primary", "success", "warning", "danger")
    dashes = ("", "8 3", "3 3", "9 3 2 3")
    curves, best = adult(folder)["auc"].unstack("epsilon"), top(folder)
    low, high = 0.65, 0.95
    epsilons = curves.columns.astype(float).tolist()
    ends = math.log(min(epsilons)), math.log(max(epsilons))

    def x(epsilon: float) -> float:
        return LEFT + 8 + (RIGHT - LEFT - 16) * (math.log(epsilon) - ends[0]) / (ends[1] - ends[0])

    def y(auc: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (auc - low) / (high - low)

    parts = [_text(LEFT - 6, y(tick) + 4, f"{tick:.1f}", anchor="end") for tick in (0.7, 0.8, 0.9)]
    parts += [_text(x(epsilon), BOTTOM + 16, f"{epsilon:g}") for epsilon in (0.05, 0.25, 1, 5)]
    parts += [
        _upwards("AUC on Adult"),
        _text(WIDTH / 2, HEIGHT - 10, "ε (smaller is more private)"),
        f'<path d="M{LEFT} {y(best):.1f}H{RIGHT}" stroke-width="1.5" style="fill: none; stroke: currentColor"/>',
        _text(RIGHT, y(best) - 5, "no privacy", anchor="end"),
    ]
    for i, (name, method) in enumerate(LINES.items()):
        points = [(x(epsilon), y(auc)) for epsilon, auc in zip(epsilons, curves.loc[method], strict=True)]
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
        colour = f"var(--pst-color-{looks[i]}, #333)"
        line = f'stroke-width="2.5" stroke-dasharray="{dashes[i]}" style="fill: none; stroke: {colour}"'
        at = BOTTOM - 66 + 17 * i
        parts += [
            f'<path d="M{path}" {line}/>',
            f'<path d="M{RIGHT - 178} {at}h30" {line}/>',
            _text(RIGHT - 142, at + 4, name, anchor="start"),
        ]
    said = ", ".join(f"{name} {curves[EPSILON][method]:.3f}" for name, method in LINES.items())
    label = f"AUC on Adult by ε; at ε = {EPSILON:g}: {said}; without privacy {best:.3f}"
    return _svg("Private and still accurate", label, parts)


def verdict_line(papers: Sequence[claims.Paper]) -> str:
    """How many claims got which verdict."""
    counts = Counter(claim.verdict for paper in papers for claim in paper.claims)
    said = ", ".join(f"*{verdict}* {counts[verdict]}" for verdict in claims.VERDICTS)
    return (
        f"{{doc}}`All {counts.total()} claims <claims>` of these texts and of our repairs have a verdict: {said}. "
        f"The claims that fail rest on {len(claims.defects_of(papers))} defects."
    )


def table(root: Path) -> str:
    """MyST: what became of each text's privacy claim, and the AUC on Adult of what satisfies one."""
    papers, found = claims.load(root / "claims"), adult(root / "results").xs(EPSILON, level="epsilon")

    def cells(method: str) -> tuple[str, str]:
        return str(found["setting"][method]), f"{found['auc'][method]:.3f}"

    rows = []
    for paper in papers:
        stem = paper.claims[0].id.partition("-")[0]
        claim = next(c for c in paper.claims if c.id == f"{stem}-privacy")
        link = f"[{paper.title}](../{paper.chapter})"
        rows.append((link, claims.badge(claim), *cells(PAPERS[stem].board)))
    booster = "[PrivateBooster](../notebooks/09_leaderboard.ipynb)"
    rows += [
        (f"{booster}, pure ε", "this book's own", *cells("PrivateBooster")),
        (f"{booster}, with δ", "this book's own", *cells("PrivateBooster, δ")),
        ("without privacy", "", "", f"{top(root / 'results'):.3f}"),
    ]
    head = (
        "System",
        "Its privacy claim, as written",
        "Setting of the repair",
        f"AUC on Adult at ε = {EPSILON:g}",
    )
    lines = [head, ("---", "---", "---", "--:"), *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{body}\n\n{verdict_line(papers)}\n"


def files(root: Path) -> dict[Path, str]:
    """All that the front page includes: path below ``root`` → text."""
    results = root / "results"
    return {
        Path("book/_static/exposed.svg"): exposed_picture(results),
        Path("book/_static/auc.svg"): auc_picture(results),
        Path("book/glance.txt"): table(root),
    }
