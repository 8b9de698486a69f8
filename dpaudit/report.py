"""Picture and page of an audit, which show how the wealth of the bets grew, and what the scans found."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dpnb.files import write_whole
from dpnb.html import escape, html_page, html_picture
from dpnb.replay.finding import Finding

from .hunt import Bets
from .monitor import MonitoredFinding
from .pairs import Pair
from .scan import ScanFinding
from .scout import Tried

SUFFIXES = (".html", ".png")

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
    ends = [[0.0, 0.0, 1.0]], [[finding.trials, finding.lower_bound, finding.e_value]]
    looks = finding.path[finding.path[:, 0] < finding.trials]
    runs, bound, wealth = np.concatenate([ends[0], looks, ends[1]]).T
    enough = 1 / (1 - finding.confidence)
    above.plot(runs, np.clip(wealth, 1e-6, 1e300), color="#0173B2", label="wealth")
    above.axhline(enough, color="black", linestyle=":", label=f"1/α = {enough:.4g} refutes the claim")
    above.set(ylabel="wealth", yscale="log")
    above.set_title(finding.pair, parse_math=False)
    below.step(runs, bound, color="#DE8F05", where="post", label="lower bound of ε")
    below.axhline(finding.claimed, color="black", linestyle="--", label=f"claimed ε = {finding.claimed:.4g}")
    below.set(xlabel="runs", ylabel="ε", ylim=(0, 1.15 * max(finding.claimed, bound[-1])))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def plot_words(finding: Finding) -> Figure:
    """A finding that no number of runs draws, such as that of a scan, in its words."""
    lines = [
        line for text in str(finding).splitlines() for line in wrap(text, 84, subsequent_indent=" " * 15)
    ]
    figure = Figure(figsize=(8, 0.5 + 0.17 * len(lines)), dpi=110, facecolor="white")
    figure.text(0.03, 0.95, "\n".join(lines), va="top", family="monospace", fontsize=9, parse_math=False)
    return figure


def alt_text(finding: Finding) -> str:
    """The picture in words."""
    shown = f"The runs show ε ≥ {finding.lower_bound:.3g}; the claim is ε = {finding.claimed:g}."
    if not isinstance(finding, MonitoredFinding):
        return f"{finding.event}. {shown}"
    return (
        f"Wealth of bets against the claim over {finding.trials} runs: {finding.e_value:.3g} in the end, and "
        f"{1 / (1 - finding.confidence):.4g} refutes. {finding.event}. {shown}"
    )


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a report shows."""

    finding: Finding  # what to show first
    others: Sequence[Finding] = ()  # further findings
    settings: Mapping[str, str] = field(default_factory=dict)  # name → value, in the order to show
    notes: Sequence[str] = ()  # paragraphs on what the result means
    violated: bool  # the verdict
    pair: Pair | None = None  # the data sets of the finding, to show their first rows
    # If some were made: what was tried on all pairs, and the event that tells most plainly.
    bets: Bets | None = None
    code: str = ""  # lines that show the finding again
    not_looked: Sequence[str] = ()  # what was not looked at, in words


def page(report: Report) -> str:
    """Self-contained HTML page."""
    finding, violated = report.finding, report.violated
    verdict = "The claim is refuted" if violated else "No violation found"
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in report.settings.items()
    )
    texts = "\n".join(f"<pre>{escape(str(f))}</pre>" for f in (finding, *report.others))
    paragraphs = "\n".join(f"<p>{escape(note)}</p>" for note in report.notes)
    shown = "" if report.pair is None else _pair_shown(report.pair)
    trials = "" if report.bets is None else _tried_shown(report.bets.tried)
    left = "".join(f"<li>{escape(what)}</li>" for what in report.not_looked)
    title = f"Privacy audit of {finding.subject}"
    body = f"""<h1>{escape(title)}</h1>
<p class="{"violated" if violated else "passed"}"><strong>{verdict}.</strong></p>
{texts}
{_figure(finding)}{_looked_into((finding, *report.others))}<h2>What it means</h2>
<p>{escape(_meaning(finding))}</p>
{paragraphs}
{_again_shown(report)}{shown}{trials}<h2>What was not looked at</h2>
<ul>{left}</ul>
<h2>Settings</h2>
<table>
<caption>What was asked for</caption>
{rows}
</table>"""
    return html_page(title, style=STYLE, body=body)


def _again_shown(report: Report) -> str:
    """The event of a conviction in plain words, and how to see it again; nothing of a pass."""
    if not report.code:
        return ""
    event = "" if report.bets is None else f"<p>Most plainly: {escape(str(report.bets.plain))}.</p>\n"
    return f"<h2>See it again</h2>\n{event}<pre><code>{escape(report.code)}</code></pre>\n"


def _figure(finding: Finding) -> str:
    if not isinstance(finding, MonitoredFinding):  # its words are on the page already
        return ""
    words = alt_text(finding)
    shown = html_picture(_png(finding), words)
    return f"<figure>\n{shown}\n<figcaption>{escape(words)}</figcaption>\n</figure>\n"


def _looked_into(findings: Sequence[Finding]) -> str:
    """What the scans found in the fitted models; nothing where there were no scans."""
    found = [one for one in findings if isinstance(one, ScanFinding)]
    if not found:
        return ""
    rows = [
        [one.path, one.holds, f"{one.lower_bound:.3g}".replace("inf", "∞"), one.event, one.pair]
        for one in found
    ]
    table = _table("By the scans", ["where", "what", "ε at least", "why it tells", "pair"], rows)
    return f"<h2>What the fitted models hold</h2>\n{table}"


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
    rows = 6  # to see what the records are like
    tables = [
        _table(
            f"{name}, the first {min(rows, len(records))} of {len(records)} records",
            [*map(str, records.columns)],
            [[*map(str, row)] for row in records.head(rows).astype(object).to_numpy()],
        )
        for name, part in (("D", pair.first), ("D′", pair.second))
        for records in [pd.concat(part, axis=1)]
    ]
    return f"<h2>The two data sets: {escape(pair.name)}</h2>\n{''.join(tables)}"


def _tried_shown(tried: Sequence[Tried]) -> str:
    """A row for each pair."""
    most = 20  # pairs
    rows = [
        [
            one.pair,
            str(one.runs),
            f"{one.promise.seen:.3g}" if math.isfinite(one.promise.seen) else "none",
            one.note,
        ]
        for one in tried[:most]
    ]
    left = f"; {len(tried) - most} more are left out" if len(tried) > most else ""
    caption = f"Pairs by what a bet would gain, in log wealth, as far as their fits tell{left}. That is no evidence."
    table = _table(caption, ["pair", "fits on D′", "gain of a bet", "failure"], rows)
    return f"<h2>What was tried</h2>\n{table}"


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">\n<table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n"
        "</table>\n</div>\n"
    )


def _png(finding: Finding) -> bytes:
    buffer = io.BytesIO()
    metadata = {"Description": alt_text(finding), "Software": None}
    figure = plot_wealth(finding) if isinstance(finding, MonitoredFinding) else plot_words(finding)
    figure.savefig(buffer, format="png", metadata=metadata)
    return buffer.getvalue()


def write_report(path: Path, report: Report) -> None:
    """Write the page (``.html``) or the picture (``.png``), whole or not at all.

    Raises
    ------
    ValueError
        For another suffix.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"report {path.name!r}: expected a name that ends in {' or '.join(SUFFIXES)}")
    write_whole(path, page(report) if path.suffix == ".html" else _png(report.finding))
