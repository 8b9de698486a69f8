"""Picture and page of an audit: how the wealth of the bets grew, or the event that tells two distributions apart."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..arrays import Floats
from ..files import write_whole
from .bounds import SampledFinding
from .campaign import Tried
from .monitor import MonitoredFinding
from .pairs import Pair
from .result import Finding
from .scan import HeldFinding

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
LEAST_WEALTH, MOST_WEALTH = 1e-6, 1e300  # that are drawn
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


def plot_wealth(finding: MonitoredFinding) -> Figure:
    """Show how the wealth of the bets against the claim and the bound of ε went, run by run.

    Parameters
    ----------
    finding : of bets.

    Returns
    -------
    Figure with two panels: the wealth on a logarithmic axis, with the line that refutes; the bound, with the claim.
    """
    figure = Figure(figsize=(8, 5.2), layout="constrained", dpi=110, facecolor="white")
    above, below = figure.subplots(2, sharex=True, height_ratios=(3, 2))
    runs, bound, wealth = _went(finding).T
    enough = 1 / (1 - finding.confidence)
    above.plot(runs, np.clip(wealth, LEAST_WEALTH, MOST_WEALTH), color=SIDES[0][1], label="wealth")
    above.axhline(enough, color="black", linestyle=":", label=f"1/α = {enough:.4g} refutes the claim")
    above.set(ylabel="wealth", yscale="log")
    above.set_title(finding.pair, parse_math=False)
    below.step(runs, bound, color=SIDES[1][1], where="post", label="lower bound of ε")
    below.axhline(finding.claimed, color="black", linestyle="--", label=f"claimed ε = {finding.claimed:.4g}")
    below.set(xlabel="runs", ylabel="ε", ylim=(0, 1.15 * max(finding.claimed, bound[-1])))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _went(finding: MonitoredFinding) -> Floats:
    """Runs, bound and wealth from before the first bet to the last one, (looks, 3)."""
    ends = [[0.0, 0.0, 1.0]], [[finding.trials, finding.lower_bound, finding.e_value]]
    return np.concatenate([ends[0], finding.path[finding.path[:, 0] < finding.trials], ends[1]])


def plot_words(finding: Finding) -> Figure:
    """A finding that no number of runs draws, such as that of a scan, in its words."""
    lines = [
        line for text in str(finding).splitlines() for line in wrap(text, 84, subsequent_indent=" " * 15)
    ]
    figure = Figure(figsize=(8, 0.5 + 0.17 * len(lines)), dpi=110, facecolor="white")
    figure.text(0.03, 0.95, "\n".join(lines), va="top", family="monospace", fontsize=9, parse_math=False)
    return figure


def _drawn(finding: Finding) -> Figure | None:
    """The picture of a finding, None if it has only words."""
    match finding:
        case MonitoredFinding():
            return plot_wealth(finding)
        case SampledFinding():
            return plot_event(finding)
    return None


def alt_text(finding: Finding) -> str:
    """The picture in words."""
    shown = f"The runs show ε ≥ {finding.lower_bound:.3g}; the claim is ε = {finding.claimed:g}."
    match finding:
        case MonitoredFinding():
            return (
                f"Wealth of bets against the claim over {finding.trials} runs: {finding.e_value:.3g} in the end, and "
                f"{1 / (1 - finding.confidence):.4g} refutes. {finding.event}. {shown}"
            )
        case SampledFinding():
            statistic = finding.shown.statistic
            return (
                f"Histograms of {statistic} over the runs on the data sets D and D′. {finding.event}. {shown}"
            )
    return f"{finding.event}. {shown}"


def page(
    finding: Finding,
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
    finding : what to show first.
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
{_figure(finding)}{_looked_into((finding, *others))}<h2>What it means</h2>
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


def _figure(finding: Finding) -> str:
    if _drawn(finding) is None:
        return ""
    picture, words = base64.b64encode(_png(finding)).decode(), alt_text(finding)
    return (
        f'<figure>\n<img src="data:image/png;base64,{picture}" alt="{escape(words, quote=True)}">\n'
        f"<figcaption>{escape(words)}</figcaption>\n</figure>\n"
    )


def _looked_into(findings: Sequence[Finding]) -> str:
    """What the scans found in the fitted models; nothing where there were no scans."""
    found = [one for one in findings if isinstance(one, HeldFinding)]
    if not found:
        return ""
    rows = [[one.path, one.holds, _bound(one), one.event, one.pair] for one in found]
    table = _table("By the scans", ["where", "what", "ε at least", "why it tells", "pair"], rows)
    return f"<h2>What the fitted models hold</h2>\n{table}"


def _bound(finding: Finding) -> str:
    return "∞" if math.isinf(finding.lower_bound) else f"{finding.lower_bound:.3g}"


def _meaning(finding: Finding) -> str:
    """The bound in one sentence."""
    if math.isinf(finding.lower_bound):
        given = f"Given {finding.given}, some" if finding.given else "Some"
        return f"{given} output is possible on one data set and not on the other. No finite ε allows that."
    times = f"{math.exp(finding.lower_bound):.3g}"
    return (
        f"Some set of outputs, the event, is at least {times} times as likely on one data set as on the other"
        + (f", beyond δ = {finding.delta:g}" if finding.delta else "")
        + f" (with {100 * finding.confidence:.10g} % confidence). "
        f"The claim allows {math.exp(finding.claimed):.3g} times."
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


def _png(finding: Finding) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Description": alt_text(finding), "Software": None}
    (_drawn(finding) or plot_words(finding)).savefig(buffer, format="png", metadata=metadata)
    return buffer.getvalue()


def write_report(
    path: Path,
    finding: Finding,
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
