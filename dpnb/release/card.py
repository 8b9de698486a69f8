"""The card of a released model, which a privacy officer signs; it says what was released, at what price, on whose word.

``dpnb card model.json --report card.html --data "admissions 2024" --purpose "planning of beds"``
"""

from __future__ import annotations

import codecs
import hashlib
import io
import locale
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

from ..boosting.regressor import PrivateBoosterRegressor
from ..domain import Attribute, Continuous, Domain
from ..domain.people import Unit
from ..errors import DataError
from ..estimators.base import PrivateEstimator, PrivateForest, read
from ..estimators.documents import read_document
from ..files import check_new, unreadable, write_whole
from ..html import escape, html_page, html_picture
from ..privacy.curator import REAL_NOISE
from ..privacy.ledger import Event, Ledger, Neighbours, Scope, shown_number
from ..terminal import Parser, announce, command

RELATIONS: dict[tuple[Neighbours, Unit], str] = {
    ("add-remove", "record"): "Two data sets are neighbours if one has one record more than the other.",
    ("replace", "record"): (
        "Two data sets are neighbours if they differ in the values of one record; their number is public."
    ),
    ("add-remove", "person"): (
        "Two data sets are neighbours if one has one person more than the other, with all records of that person."
    ),
    ("replace", "person"): (
        "Two data sets are neighbours if they differ in the records of one person; the number of people is public."
    ),
}
ONE: dict[Unit, str] = {
    "record": "One person has at most one record; to whoever has more, the promise is the weaker one stated here.",
    "person": "The column of people names each person once, and nobody has two names.",
}
SEVERAL = (2, 3, 5, 10)  # records of a person
PROMISES = (
    "The domain (bounds, values, classes) was stated without looking at the records.",
    "The parameters were chosen without looking at these records, or their choice is on a ledger of its own.",
    "No other model, table or statistic was released from the same records; else the budgets add up.",
    "The fit drew its noise from the operating system (random_state=None), and no seed of it was kept.",
)
LIMITS = (
    "The guarantee is about what the model adds to what is known. It does not make true facts about groups secret.",
    "Error messages, logs and running times of the training are not part of the release: nobody else should see them.",
    "Accuracy on test records was measured by the data holder, if at all; it is not on this card.",
)
FINDING = re.compile(
    r".+: (VIOLATED|FLAGGED|no violation found)\r?\n  claimed +(ε|epsilon) = .+\n  lower bound +(ε|epsilon) (≥|>=) .+"
)  # of an audit, in words, also where the terminal has no ε
STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.4 system-ui, sans-serif; max-width: 76rem; margin: 0.4rem auto; padding: 0 1rem;
  color: #1c1c1c; background: #fff; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 0.8rem 0 0.2rem; }
p, ul { margin: 0.2rem 0 0.5rem; }
code { overflow-wrap: anywhere; }
figure { margin: 0 0 1rem; break-inside: avoid; }
figcaption { font-size: 0.9em; }
img { max-width: 100%; height: auto; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 0 2rem; }
.sides figure { margin: 0; }
.sides img { max-height: 17rem; }
.pictures { columns: 2 27rem; column-gap: 2rem; }
table { border-collapse: collapse; width: 100%; margin: 0.3rem 0 0.8rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.8rem 0.25rem 0; border-bottom: 1px solid #8886; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.total { border-left: 0.5rem solid #0173b2; padding: 0.2rem 0.8rem; font-size: 1.1rem; }
.leak, .caution { border-left: 0.5rem solid #b00020; }
.caution { padding: 0.2rem 0.8rem; }
.boxes { list-style: none; padding-left: 1.4rem; }
.boxes li { text-indent: -1.4rem; }
.folds { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: 0 2rem; }
details { border-top: 1px solid #8886; min-width: 0; }
details[open] { grid-column: 1 / -1; }
summary { cursor: pointer; padding: 0.3rem 0; }
summary h2 { display: inline; }
.sign tbody th, .sign tbody td { height: 1.9rem; vertical-align: bottom; border-bottom-color: currentcolor; }
.sign tbody th { width: 20%; font-weight: normal; }
.wide { overflow-x: auto; }
@media (prefers-color-scheme: dark) {
  body { color: #e8e8e8; background: #161616; }
  img { filter: invert(0.915) hue-rotate(180deg); }
}
@media print {
  body { max-width: none; margin: 0; }
  h2 { break-after: avoid; }
  details { grid-column: 1 / -1; }
  details::details-content { content-visibility: visible; height: auto; }
}
"""


def page(
    model: PrivateEstimator,
    *,
    versions: dict[str, str],
    audit: str = "",
    document: Path | None = None,
    day: date | None = None,
    data: str = "",
    purpose: str = "",
) -> str:
    """The card as a self-contained HTML page: one screen, and the rest folded.

    Parameters
    ----------
    model : model that :func:`dpnb.read` gave.
    versions : versions of the packages that made the model.
    audit : findings of an audit, as text; empty if there was none.
    document : the file that was read, whose name and checksum the card holds.
    day : day on which the card was written.
    data, purpose : name of the training data, and purpose of the model, in the data holder's words.
    """
    model._check_unchanged()
    title = f"Card of a model: {type(model).__name__} for {model.domain_.target}"
    first, pictures = _drawn(model)
    ledger = model.ledger_
    relation = RELATIONS[ledger.neighbours, ledger.unit]
    private = [_section("Whose privacy", [_paragraph(relation), _paragraph(_unit(ledger))])]
    promises = _section("What the data holder promises", [_list((ONE[ledger.unit], *PROMISES), box=True)])
    sections = [
        f"<h1>{escape(title)}</h1>",
        _identity(document, {"Written on": str(day or ""), "Data:": data, "Purpose:": purpose}),
        _total(model),
        *_cautions(model),
        _sides([*private, promises], [_section(f"What moves {_moved(model)}", [first, *_predicted(model)])]),
        _section("Signed", [_signature()]),
        '<div class="folds">',
        _folded("What was released", [_releases(model)]),
        _folded("What is public, by promise", [_domain(model.domain_)]),
        _folded("What the guarantee does not say", [_list(LIMITS), _others()]),
        _folded("What the model looks like", _looks(model, pictures)),
        _folded("Audit", [f"<pre>{escape(audit)}</pre>" if audit else _paragraph("No audit was attached.")]),
        _folded("How it was made", [_made(model, versions)]),
        "</div>",
    ]
    return html_page(title, style=STYLE, body="\n".join(sections))


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _section(title: str, parts: Iterable[str]) -> str:
    return "\n".join([f"<h2>{escape(title)}</h2>", *parts])


def _folded(title: str, parts: Iterable[str]) -> str:
    return "\n".join([f"<details><summary><h2>{escape(title)}</h2></summary>", *parts, "</details>"])


def _sides(*columns: Iterable[str]) -> str:
    """Parts of the page beside each other, where there is room."""
    return '<div class="sides">' + "".join(f"<div>{''.join(parts)}</div>" for parts in columns) + "</div>"


def _list(texts: Sequence[str], *, box: bool = False) -> str:
    mark = "☐ " if box else ""
    return (
        ('<ul class="boxes">' if box else "<ul>")
        + "".join(f"<li>{mark}{escape(text)}</li>" for text in texts)
        + "</ul>"
    )


def _identity(document: Path | None, words: dict[str, str]) -> str:
    """The day, the purpose and the document of the card, because a signature holds for that document only."""
    parts = [f"{escape(head)} {escape(text)}." for head, text in words.items() if text]
    if document is not None:
        digest = hashlib.sha256(document.read_bytes()).hexdigest()
        parts.append(f"Of the document <code>{escape(document.name)}</code>, SHA-256 <code>{digest}</code>.")
    return f"<p>{' '.join(parts)}</p>"


def _total(model: PrivateEstimator) -> str:
    ledger = model.ledger_
    delta = f", δ = {ledger.delta:g}" if ledger.delta else ""
    claim = f"ε = {shown_number(ledger.epsilon)}{delta}"
    if math.isinf(ledger.epsilon):
        leaks = "".join(f"<li>{escape(what)} ({n} times)</li>" for what, n in ledger.leaks.items())
        return f'<div class="total leak"><strong>Not differentially private: {claim}.</strong><ul>{leaks}</ul></div>'
    kind = "(ε, δ)-differential privacy" if ledger.delta else "ε-differential privacy"
    factor = (
        f"{math.exp(ledger.epsilon):.3g}" if ledger.epsilon < 700 else f"exp({shown_number(ledger.epsilon)})"
    )
    rest = f", and by {ledger.delta:g} beside that" if ledger.delta else ""
    total = (
        f'<p class="total"><strong>{claim}</strong>: {kind}, by the ledger of all releases below. '
        f"One {ledger.unit} changes the probability of anything the model shows by a factor of {factor} at most{rest}."
        "</p>"
    )
    alone = (
        "The total is of the releases on this ledger alone. A model that was chosen as the best of k fits on these "
        "records (by GridSearchCV, say) costs what all k ledgers add up to, and a card cannot tell."
    )
    return total + _digits(model) + _paragraph(alone)


def _cautions(model: PrivateEstimator) -> Iterator[str]:
    """The weak points of a promise that a reader should know."""
    ledger = model.ledger_
    many = "people" if ledger.unit == "person" else "records"
    found = []
    if 10 < ledger.epsilon < math.inf:  # "weak to no formal privacy guarantees", in the words of that paper
        found.append(
            "ε is above 10, where the formal promise by itself is weak to none "
            "(Ponomareva et al., 2023, How to DP-fy ML)"
        )
    if ledger.delta:
        number = getattr((getattr(model, "models_", None) or [None])[0], "number", math.nan)
        if math.isnan(number):
            found.append(
                f"compare δ = {ledger.delta:g} with one over the number of {many}, which was not released"
            )
        # A mechanism with this δ may publish a tenth of a record on average. Below 100 noise decides what is counted.
        elif ledger.delta * max(number, 100) > 0.1:
            found.append(
                f"δ is not far below one over the number of {many}, {number:.0f} by noisy counts: what publishes each "
                f"{ledger.unit} with probability {ledger.delta:g}, {ledger.delta * number:.2g} of them on average, "
                "keeps this promise"
            )
    for words in found:
        yield f'<p class="caution"><strong>Caution</strong>: {escape(words)}.</p>'


def _digits(model: PrivateEstimator) -> str:
    """The caution about noise in floating-point numbers."""
    found = [event.what for event in model.ledger_.events if event.mechanism in REAL_NOISE]
    if not found:
        return ""
    names = ", ".join(dict.fromkeys(found))
    return (
        '<p class="total leak"><strong>Do not publish this model.</strong> The last digits of noise in floating-point '
        f"numbers betray what they hide: {escape(names)} ({len(found)} times). Whole-number noise does not.</p>"
    )


def _unit(ledger: Ledger) -> str:
    """The unit of protection, and what is promised to people with several records where it is a record."""
    if ledger.unit == "person":
        return (
            "The unit of protection is one person, with all records; each counts 1/m of a person who has m."
        )
    unit = "The unit of protection is one record of the training table."
    if math.isinf(ledger.epsilon):
        return unit
    costs = ", ".join(shown_number(ledger.of_group(k)) for k in SEVERAL)
    return f"{unit} A person with {', '.join(map(str, SEVERAL))} records is promised ε = {costs}, by group privacy."


def _releases(model: PrivateEstimator) -> str:
    ledger, rows = model.ledger_, []
    by_rho = ledger.rule != "pure" and math.isfinite(ledger.rho)  # then no ε of a part adds up to the total
    for depth, times, entry in _entries(ledger.root.children, 0):
        cost = entry.worst if isinstance(entry, Event) else entry.cost
        how = entry.mechanism if isinstance(entry, Event) else entry.rule
        delta = f"{entry.sensitivity:g}" if isinstance(entry, Event) and entry.sensitivity > 0 else ""
        delta += (
            f", range {entry.change_range:.4g}" if isinstance(entry, Event) and entry.change_range > 0 else ""
        )
        indent = "&nbsp;" * 4 * depth
        what = f"{indent}{f'{times} × ' if times > 1 else ''}{escape(entry.what)}"
        numbers = "".join(
            f'<td class="number">{n}</td>'
            for n in (delta, shown_number(cost.rho if by_rho else cost.epsilon))
        )
        rows.append(f"<tr><td>{what}</td><td>{escape(how)}</td>{numbers}</tr>")
    total = f" They add up to {_sum(ledger)}."
    if ledger.neighbours == "replace":
        total += " A replacement is a removal and an addition."
    head = "".join(f'<th class="number" scope="col">{name}</th>' for name in ("Δ", "ρ" if by_rho else "ε"))
    return (
        _paragraph(f"Costs are for one {ledger.unit} and for each of the releases that look alike." + total)
        + '<div class="wide" role="group" aria-label="Releases" tabindex="0"><table><thead><tr>'
        + f'<th scope="col">release</th><th scope="col">mechanism, or how releases add up</th>{head}</tr></thead>'
        + f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _sum(ledger: Ledger) -> str:
    """The sum of the releases, by the rule that gave the total."""
    if ledger.rule == "pure":
        return f"ε = {shown_number(ledger.pure_epsilon)}"
    cost = f"ρ = {shown_number(ledger.rho)} of zero-concentrated differential privacy"
    if ledger.rule == "zCDP":
        return f"{cost}, which is ε = {shown_number(ledger.epsilon)} at δ = {ledger.delta:g}"
    return (
        f"{cost}; the worst case of all of them, one after the other, is ε = {shown_number(ledger.epsilon)} at "
        + (f"δ = {ledger.delta:g} (tight accounting)")
    )


def _entries(children: Sequence[Scope | Event], depth: int) -> Iterator[tuple[int, int, Scope | Event]]:
    """Entries of a ledger from the top; consecutive ones that look alike are shown once, with their number."""
    for _, same in groupby(children, key=_look):
        *others, child = same
        yield depth, 1 + len(others), child
        if isinstance(child, Scope):
            yield from _entries(child.children, depth + 1)


def _look(entry: Scope | Event) -> tuple[object, ...]:
    """The text of an entry; levels of a tree look alike, because a record pays for one node of each, however many."""
    if isinstance(entry, Event):
        return entry.what, entry.worst
    return entry.what, entry.cost, len(entry.children)


def _domain(domain: Domain) -> str:
    alike = groupby(domain.attributes, key=lambda a: (_public(a), _rule(a)))
    rows = "".join(
        f"<tr><td>{', '.join(escape(a.name) for a in group)}</td><td>{escape(public)}</td><td>{escape(rule)}</td></tr>"
        for (public, rule), group in alike
    )
    return (
        _paragraph(_target(domain))
        + '<div class="wide" role="group" aria-label="Public domain" tabindex="0"><table><thead><tr>'
        + '<th scope="col">attribute</th><th scope="col">public values</th>'
        + f'<th scope="col">a record that does not fit</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _target(domain: Domain) -> str:
    """What is public of the target, and what becomes of a record that does not fit."""
    if domain.response is not None:
        return (
            f"{domain.target!r} is a number in the public range from {domain.response.span}, and so is a prediction. "
            "A number outside counts as the next bound, and what is missing or no number counts as the middle."
        )
    classes = ", ".join(map(str, domain.classes))
    return f"Classes of {domain.target!r}: {classes}. A label that is none of them counts as the first."


def _public(attribute: Attribute) -> str:
    if isinstance(attribute, Continuous):
        return attribute.span
    shown = ", ".join(map(str, attribute.levels[:12]))
    return shown + (f", … ({len(attribute.levels)} in all)" if len(attribute.levels) > 12 else "")


def _rule(attribute: Attribute) -> str:
    if isinstance(attribute, Continuous):
        missing = "a place of its own" if attribute.missing else "the middle"
        return f"outside: the next bound; missing: {missing}"
    stand_in = attribute.levels[attribute.stand_in]
    return f"unknown: {stand_in}; missing: {attribute.levels[attribute.missing_code]}"


def _drawn(model: PrivateEstimator) -> tuple[str, list[str]]:
    """The importances, and the other pictures."""
    try:
        from . import pictures
    except ImportError:
        none = _paragraph(
            'No pictures: they need the extra "plot"; pip install ".[plot]" in the project\'s folder.'
        )
        return none, [none]
    with pictures.drawn_names(model):
        figure = pictures.of_importances(model)
        if figure is None:
            first = _paragraph(
                "Which attributes matter most is not shown: that takes noisy counts of the records by value, which "
                "this model has not released. What is drawn of it below may lie where there is no record."
            )
        else:
            words = (
                f"Mean absolute deviation of what each attribute adds to {_moved(model)}, as shares of their sum, "
                "over records that lie where the model's noisy counts say."
            )
            first = _picture(figure, words)
        return first, [_picture(*drawn) for drawn in pictures.of_model(model)]


def _moved(model: PrivateEstimator) -> str:
    """What attributes move."""
    return "the score" if model.domain_.response is None else model.domain_.target


def _picture(figure: Any, words: str) -> str:
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    plt.close(figure)
    shown = html_picture(buffer.getvalue(), words)
    return f"<figure>{shown}<figcaption>{escape(words)}</figcaption></figure>"


def _looks(model: PrivateEstimator, pictures: list[str]) -> Iterator[str]:
    if isinstance(model, PrivateBoosterRegressor):
        yield _paragraph(_off(model))
    yield f'<div class="pictures">{"".join(pictures)}</div>'
    if isinstance(model, PrivateForest):
        yield "<h3>The first tree in words</h3>"
        yield f"<pre>{escape(model.trees_[0].export_text(model.domain_, max_depth=6))}</pre>"


def _predicted(model: PrivateEstimator) -> Iterator[str]:
    """What a prediction of a number is, and how far off it is if noise does not hide that."""
    if isinstance(model, PrivateBoosterRegressor):
        known = model.error_ > 2 * model.error_noise_
        off = f"; it is off by {_shown(model, model.error_)} on average" if known else ""
        yield _paragraph(
            f"A prediction estimates the mean of {model.domain_.target} among records with the same attributes{off}."
        )


def _off(model: PrivateBoosterRegressor) -> str:
    """How far off predictions are, and what that number is."""
    if math.isnan(model.error_):
        return "How far off predictions are was not measured by the version that wrote this model."
    mean, two, most = (
        _shown(model, number) for number in (model.error_, 2 * model.error_noise_, model.error_cut_)
    )
    if model.error_ <= 2 * model.error_noise_:
        return f"The noise hides how far off predictions are: it hides a mean distance of up to {mean}."
    return (
        f"Predictions for the training records are off by {mean} on average, where noise moves this mean by {two} or "
        f"less in 19 of 20 fits, and a distance above {most} counts as that. New records may lie further away, and it "
        "is no bound for any single record."
    )


def _shown(model: PrivateBoosterRegressor, distance: float) -> str:
    """A distance, which is no longer than the target's range, with its unit."""
    most = model._response.high - model._response.low
    return model._response.shown(float(f"{min(distance, most):.3g}"))


def _made(model: PrivateEstimator, versions: dict[str, str]) -> str:
    parameters = model.get_params(deep=False)
    rows = {name: value for name, value in parameters.items() if name not in ("domain", "random_state")}
    rows |= {f"version of {package}": number for package, number in versions.items()}
    cells = "".join(
        f'<tr><th scope="row">{escape(k)}</th><td>{escape("by default" if v is None else str(v))}</td></tr>'
        for k, v in rows.items()
    )
    return f"<table><tbody>{cells}</tbody></table>"


def _others() -> str:
    """The line for what no ledger knows of."""
    asked = "Other releases from the same records, the fits of a search among them, and their ε (fill in)"
    return f'<table class="sign"><tbody><tr><th scope="row">{asked}</th><td></td></tr></tbody></table>'


def _signature() -> str:
    head = "".join(f'<th scope="col">{word}</th>' for word in ("for", "name", "date", "signature"))
    rows = "".join(
        f'<tr><th scope="row">{who}</th><td></td><td></td><td></td></tr>'
        for who in ("data holder", "privacy officer")
    )
    return f'<table class="sign"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


@command()
def main(arguments: Sequence[str], /) -> int:
    """Write the card of a released model."""
    parser = Parser(prog="dpnb card", description=main.__doc__)
    parser.add_argument("model", type=Path, help="document that model.release() wrote")
    parser.add_argument("--report", type=Path, required=True, help="HTML file to write")
    parser.add_argument("--audit", type=Path, help="text of an audit, to be shown on the card")
    parser.add_argument("--data", default="", help="name of the training data")
    parser.add_argument("--purpose", default="", help="what the model is for")
    options = parser.parse_args(arguments)
    if options.report.suffix not in (".html", ".htm"):
        raise DataError(f"cannot write {options.report}: expected a name that ends in .html")
    try:
        check_new(options.report)
        versions = read_document(options.model)["versions"]
        audit = "" if options.audit is None else _audit(options.audit)
        words = {"data": options.data, "purpose": options.purpose, "day": date.today()}
        text = page(read(options.model), versions=versions, audit=audit, document=options.model, **words)
        write_whole(options.report, text)
    except OSError as error:
        raise DataError(f"cannot write {options.report}: {error.strerror or error}") from error
    announce(f"card in {options.report}")
    return 0


def _audit(path: Path) -> str:
    """The text of an audit, which begins with a verdict, the claim and a bound, as any finding does."""
    expected = "expected what `python -m dpaudit` prints, with > audit.txt"
    try:
        content = path.read_bytes()
        text = content.decode(
            "utf-16" if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
        )
    except OSError as error:
        raise DataError(unreadable(path, error)) from error
    except UnicodeDecodeError:  # as the terminal has it; only what is not ASCII may be read amiss
        text = content.decode(locale.getpreferredencoding(False), "backslashreplace")
    if not FINDING.match(text):
        raise DataError(f"{path} is not the text of an audit: it begins with {text[:20]!r}; {expected}")
    return text
