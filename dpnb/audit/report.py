"""Picture and page of an attack: the two output distributions and the event that tells them apart."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..arrays import Floats
from ..files import write_whole
from .bounds import SampledFinding
from .campaign import Tried
from .pairs import Pair
from .result import Finding

SUFFIXES = (".html", ".png")
SIDES = (("D", "#0173B2", "-", "//"), ("D′", "#DE8F05", "--", ".."))  # colour, line and hatch tell them apart
MAX_BARS = 20
MAX_BINS = 60

STYLE = """
:root { color-scheme: light dark; --text: #222; --page: #fff; --box: #f2f2f2; --line: #767676; --bad: #b00020;
  --good: #0b5c8f; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8e8; --page: #161616; --box: #262626; --line: #8f8f8f; --bad: #ff8a8a; --good: #7cc4f5; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--text); background: var(--page); }
img { max-width: 100%; height: auto; }
pre { white-space: pre-wrap; background: var(--box); padding: 0.8rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
caption { text-align: left; padding: 0.4rem 0; }
th, td { text-align: left; padding: 0.1rem 1rem 0.1rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
.violated { border-left: 0.5rem solid var(--bad); padding-left: 0.8rem; }
.passed { border-left: 0.5rem solid var(--good); padding-left: 0.8rem; }
"""
SHOWN_ROWS = 6  # of each data set
SHOWN_TRIED = 20


def plot_event(finding: SampledFinding) -> Figure:
    """Show the event's statistic in the runs that measured it, on D and on D′, with the event's threshold.

    Parameters
    ----------
    finding : of an attack.

    Returns
    -------
    Figure with one panel; shares of runs on a logarithmic axis, because tails decide.
    """
    figure = Figure(figsize=(8, 4.2), layout="constrained", dpi=110, facecolor="white")
    axis = figure.subplots()
    values = (finding.on_first, finding.on_second)
    finite = [side[np.isfinite(side)] for side in values]
    points = np.unique(np.concatenate(finite))
    for place, side, shown, (name, colour, line, hatch) in zip(
        (-0.2, 0.2), values, finite, SIDES, strict=True
    ):
        left_out = len(side) - len(shown)
        label = f"{name} ({len(side)} runs" + (f", {left_out} without a number)" if left_out else ")")
        weight = 1 / max(len(side), 1)
        style: dict[str, Any] = {
            "edgecolor": colour,
            "hatch": hatch,
            "label": label,
            "alpha": 0.7,
            "facecolor": "none",
        }
        if len(points) <= MAX_BARS:
            shares = [weight * np.sum(shown == point) for point in points]
            axis.bar(np.arange(len(points)) + place, shares, 0.4, **style)
        else:
            bins = min(MAX_BINS, math.isqrt(len(side)) + 1)
            edges = np.linspace(points[0], points[-1], bins + 1).tolist()
            axis.hist(
                shown,
                edges,
                weights=np.full(len(shown), weight),
                histtype="stepfilled",
                linestyle=line,
                **style,
            )
    _mark_event(finding, points, axis)
    axis.set(xlabel=finding.shown.statistic, ylabel="share of runs", yscale="log")
    axis.set_ylim(0.5 / max(map(len, values)), 1.5)
    axis.set_title(f"Event: {finding.shown}")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def _mark_event(finding: SampledFinding, points: Floats, axis: Axes) -> None:
    value = finding.shown.value
    if math.isnan(value):
        return
    few = len(points) <= MAX_BARS
    at = value
    if few:
        ticks = np.arange(len(points))
        axis.set_xticks(ticks, [f"{p:.4g}" for p in points])
        at = float(np.searchsorted(points, value, side="right")) - 0.5
    if finding.shown.relation in (">", "≤") or not few:
        axis.axvline(at, color="black", linestyle=":", label=f"threshold {value:.4g}")


def alt_text(finding: SampledFinding) -> str:
    """The picture in words."""
    return (
        f"Histograms of {finding.shown.statistic} over the runs on the data sets D and D′. {finding.event}. "
        f"The runs show ε ≥ {finding.lower_bound:.3g}; the claim is ε = {finding.claimed:g}."
    )


def page(
    finding: SampledFinding,
    *,
    others: Sequence[Finding],
    settings: Mapping[str, str],
    notes: Sequence[str],
    violated: bool,
    pair: Pair | None = None,
    tried: Sequence[Tried] = (),
) -> str:
    """Self-contained HTML page.

    Parameters
    ----------
    finding : the attack to show.
    others : further findings.
    settings : name → value, in the order to show.
    notes : paragraphs on what the result means.
    violated : the verdict.
    pair : the data sets of the finding, to show their first rows.
    tried : what was tried on all pairs, the most promising first.
    """
    verdict = "The claim is refuted" if violated else "No violation found"
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in settings.items()
    )
    texts = "\n".join(f"<pre>{escape(str(f))}</pre>" for f in (finding, *others))
    paragraphs = "\n".join(f"<p>{escape(note)}</p>" for note in notes)
    shown = "" if pair is None else _pair_shown(pair)
    trials = "" if not tried else _tried_shown(tried)
    picture = base64.b64encode(_png(finding)).decode()
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Privacy audit of {escape(finding.subject)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>Privacy audit of {escape(finding.subject)}</h1>
<p class="{"violated" if violated else "passed"}"><strong>{verdict}.</strong></p>
{texts}
<figure>
<img src="data:image/png;base64,{picture}" alt="{escape(alt_text(finding), quote=True)}">
<figcaption>{escape(alt_text(finding))}</figcaption>
</figure>
<h2>What it means</h2>
<p>{escape(_meaning(finding))}</p>
{paragraphs}
{shown}{trials}<h2>Settings</h2>
<table>
<caption>What was asked for</caption>
{rows}
</table>
</main>
</body>
</html>
"""


def _meaning(finding: SampledFinding) -> str:
    """The bound in one sentence."""
    times = f"{math.exp(finding.lower_bound):.3g}"
    return (
        f"Some set of outputs, the event, is at least {times} times as likely on one data set as on the other"
        + (f", beyond δ = {finding.delta:g}" if finding.delta else "")
        + f" (with {100 * finding.confidence:g} % confidence). The claim allows {math.exp(finding.claimed):.3g} times."
    )


def _pair_shown(pair: Pair) -> str:
    """The first rows of both data sets."""
    tables = [
        _table(
            f"{name}, the first {min(SHOWN_ROWS, len(X))} of {len(X)} records",
            [*map(str, X.columns), str(y.name)],
            [
                [*map(str, row), str(label)]
                for row, label in zip(X.head(SHOWN_ROWS).to_numpy(), y.head(SHOWN_ROWS), strict=True)
            ],
        )
        for name, (X, y) in (("D", pair.first), ("D′", pair.second))
    ]
    return f"<h2>The two data sets: {escape(pair.name)}</h2>\n{''.join(tables)}"


def _tried_shown(tried: Sequence[Tried]) -> str:
    """A row for each pair."""
    rows = [
        [one.pair, str(one.runs), f"{one.margin:.3g}" if math.isfinite(one.margin) else "none", one.note]
        for one in tried[:SHOWN_TRIED]
    ]
    left = f"; {len(tried) - SHOWN_TRIED} more are left out" if len(tried) > SHOWN_TRIED else ""
    caption = (
        f"Pairs by what scouting promised, the measured one first{left}. The promise is no confidence bound."
    )
    table = _table(caption, ["pair", "scouting fits on D′", "promised ε", "failure"], rows)
    return f"<h2>What was tried</h2>\n{table}"


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption, quote=True)}">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n"
        "</table>\n</div>\n"
    )


def _png(finding: SampledFinding) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Description": alt_text(finding), "Software": None}
    plot_event(finding).savefig(buffer, format="png", metadata=metadata)
    return buffer.getvalue()


def write_report(
    path: Path,
    finding: SampledFinding,
    *,
    others: Sequence[Finding],
    settings: Mapping[str, str],
    notes: Sequence[str],
    violated: bool,
    pair: Pair | None = None,
    tried: Sequence[Tried] = (),
) -> None:
    """Write the page (``.html``) or the picture (``.png``), whole or not at all; parameters as in :func:`page`.

    Raises
    ------
    ValueError
        For another suffix.
    """
    if path.suffix == ".html":
        text = page(
            finding,
            others=others,
            settings=settings,
            notes=notes,
            violated=violated,
            pair=pair,
            tried=tried,
        )
        write_whole(path, text)
    elif path.suffix == ".png":
        write_whole(path, _png(finding))
    else:
        raise ValueError(f"report {path.name!r}: expected a name that ends in {' or '.join(SUFFIXES)}")
