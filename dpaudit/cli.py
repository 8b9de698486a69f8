"""Audit an estimator from the command line: ``python -m dpaudit module:factory --epsilon 1``.

The factory returns an unfitted estimator; the auditor supplies the data, or the user does with ``--pair``. The audit is
that of :func:`~dpaudit.assertion.assert_private`: scans, then bets that stop when they have refuted the claim, when
time is over, or with Ctrl-C. Exit status: 0 no violation found, 1 violation, 2 misuse or no verdict, 130 interrupted;
:mod:`dpnb.terminal` has the others. What a fit prints and logs is looked at and goes nowhere else; what the subject
prints at other times goes to standard error.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from dpnb.domain import Domain
from dpnb.domain.cells import read_layout
from dpnb.domain.people import UNITS
from dpnb.errors import DataError, DomainError, closest
from dpnb.estimators.base import PrivateEstimator
from dpnb.files import check_writable
from dpnb.replay.finding import Finding, relation_in_words
from dpnb.replay.neighbours import fitted_on, takes_people
from dpnb.terminal import MisuseError, Parser, UntoldError, aside, command, note, stopped, tell

from .adapters import OnDomain
from .betting import most_refutable
from .examine import Examination, examine, own_domain, replayed
from .files import own_pair
from .fits import AttackError
from .hunt import Bets
from .pairs import DOMAIN, NEIGHBOURS, ON_REQUEST, Pair, kinds_in_words, kinds_of, pairs
from .retell import again, not_looked_at, spent
from .scan import ScanFinding
from .settings import MIN_RUNS, SURE, UNLIMITED, USUAL_RUNS, AuditSettings

MINUTES = 5.0
MOST_BESIDE = 4  # findings that stand beside the first one on a screen


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = Parser(
        prog="python -m dpaudit",
        description="Try to refute an estimator's privacy claim with many fits on worst-case neighbours.",
        epilog="Exit status: 0 no violation found, 1 violation, 2 misuse or no verdict, 130 interrupted.",
    )
    add = parser.add_argument
    add("factory", nargs="?", help="module:function that returns an unfitted estimator")
    add("--epsilon", type=float, help="claimed ε, required")
    add(
        "--minutes",
        type=float,
        default=MINUTES,
        help="most time (default %(default)g); Ctrl-C ends it before",
    )
    add("--runs", type=int, default=UNLIMITED, help="most fits on each side (default: what time allows)")
    add("--delta", type=float, default=0.0, help="claimed δ (default 0)")
    normal = "the claim is that of normal noise with this ε and δ: bet against its δ at several ε"
    add("--gaussian", action="store_true", help=normal)
    sure = "with which a private estimator passes (default %(default)s)"
    add("--confidence", type=float, default=SURE, help=sure)
    add("--neighbours", choices=NEIGHBOURS, default="add-remove", help="relation of the claim")
    whom = "whom the claim protects (default record); a person has several records, and the fit is given whose they are"
    add("--unit", choices=UNITS, default="record", help=whom)
    own = "public domain of the data, by default the auditor's own"
    add("--domain", type=Path, metavar="D.yml", help=own)
    files = ("A.csv", "B.csv")
    add("--pair", type=Path, nargs=2, metavar=files, help="your own neighbours, with --domain")
    add("--target", help="column of the labels in these files, by default the domain's")
    kinds = "kinds of pairs, such as structured,rare; list shows all"
    add("--pairs", default="", metavar="KINDS", help=kinds)
    malformed = "also records outside of the domain, and no records at all"
    add("--malformed", action="store_true", help=malformed)
    add("--jobs", type=int, default=1, help="number of processes (default 1)")
    add("--seed", type=int, default=0, help="of all runs (default 0)")
    clock = "also look at how long fits take, on a machine that does nothing else"
    add("--time", action="store_true", help=clock)
    add("--report", type=Path, help="file to write, .html or .png")
    options = parser.parse_args(arguments)
    if options.pairs != "list":
        _check(parser, options)
    return options


def _check(parser: Parser, options: argparse.Namespace) -> None:
    """Raise MisuseError unless all options are in range and fit together."""
    required = {"module:function": options.factory, "--epsilon": options.epsilon}
    missing = [name for name, value in required.items() if value is None]
    if missing:
        parser.error(f"the following arguments are required: {', '.join(missing)}")
    o = options
    checks = (
        (0 < o.epsilon < math.inf, f"--epsilon {o.epsilon:g}: expected a positive number, such as 1"),
        (o.runs >= MIN_RUNS, f"--runs {o.runs}: expected at least {MIN_RUNS}; {USUAL_RUNS} is usual"),
        (o.minutes > 0, f"--minutes {o.minutes:g}: expected a positive number, such as {MINUTES:g}"),
        (0 <= o.delta < 1, f"--delta {o.delta:g}: expected a number from 0 to below 1, such as 1e-6"),
        (
            o.delta > 0 or not o.gaussian,
            "--gaussian needs --delta above 0, the δ of the normal noise at --epsilon",
        ),
        (0 < o.confidence < 1, f"--confidence {o.confidence:g}: expected between 0 and 1, such as 0.99"),
        (o.jobs >= 1, f"--jobs {o.jobs}: expected at least 1"),
        (o.seed >= 0, f"--seed {o.seed}: expected at least 0"),
        (o.pair is None or o.domain is not None, "--pair needs --domain, the public domain of both files"),
        (
            o.pair is None or not (o.pairs or o.malformed),
            "--pair stands for all pairs: leave out --pairs and --malformed",
        ),
        (o.target is None or o.pair is not None, "--target names a column of --pair: give both"),
    )
    for holds, complaint in checks:
        if not holds:
            raise MisuseError(complaint)
    if options.report is not None:
        _check_report(options.report)


def _check_report(path: Path) -> None:
    try:
        from .report import SUFFIXES
    except ImportError as error:
        raise MisuseError(
            f'--report {path}: the picture needs matplotlib ({error}); pip install ".[plot]" in the project\'s folder'
        ) from error
    if path.suffix not in SUFFIXES:
        raise MisuseError(f"--report {path}: expected a name that ends in {' or '.join(SUFFIXES)}")
    if not path.resolve().parent.is_dir():
        raise MisuseError(f"--report {path}: there is no such folder, make it first")
    try:
        check_writable(path)
    except OSError as error:
        raise MisuseError(f"--report {path}: {error.strerror}") from error
    if not os.access(path.resolve().parent, os.W_OK):
        raise MisuseError(f"--report {path}: the folder cannot be written to, name another")


def _load(name: str, *, jobs: int) -> Callable[[], Any]:
    """Import a factory by its name and check what it makes."""
    module_name, colon, attribute = name.partition(":")
    if not (module_name and colon and attribute) or module_name.endswith(".py"):
        raise MisuseError(f"{name!r}: expected module:function, such as my_models:forest for my_models.py")
    sys.path.insert(0, os.getcwd())
    with _misused(f"cannot import {module_name!r}, looked for in {os.getcwd()} first"):
        module = importlib.import_module(module_name)
    if not hasattr(module, attribute):
        close = closest(attribute, vars(module))
        hint = (
            f"did you mean {close!r}?" if close else "expected a function that returns an unfitted estimator"
        )
        raise MisuseError(f"module {module_name!r} has no {attribute!r}: {hint}")
    factory: Any = getattr(module, attribute)
    if not callable(factory):
        raise MisuseError(
            f"{name} is {type(factory).__name__}, expected a function that returns an estimator"
        )
    if jobs > 1:
        with _misused(f"{name} cannot be sent to other processes, use --jobs 1 or a plain function"):
            pickle.dumps(factory)
    with _misused(f"{name}() failed, expected a function without arguments that returns an estimator"):
        model = factory()
    lacking = [method for method in ("fit", "predict") if not callable(getattr(model, method, None))]
    if lacking or isinstance(model, type):
        what = "a class, not an object" if isinstance(model, type) else f"no {' and no '.join(lacking)}"
        hint = "" if isinstance(model, type) else _adapter(type(model).__name__, model)
        raise MisuseError(
            f"{name}() returned {type(model).__name__} with {what}: expected an unfitted estimator{hint}"
        )
    made: Callable[[], Any] = factory
    return made


def _adapter(kind: str, model: Any) -> str:
    """The line that makes an estimator of what is none."""
    named = {"predict": "transform", "fit": "train"}
    lacking = [
        f"{method}={other!r}"
        for method, other in named.items()
        if not callable(getattr(model, method, None)) and callable(getattr(model, other, None))
    ]
    line = (
        f"adapted({kind}, {', '.join(lacking)})"
        if lacking
        else f"adapted({kind}, predict=…), with its own names"
    )
    return f"; for another one, dpaudit.{line}"


@contextmanager
def _misused(complaint: str) -> Iterator[None]:
    """Tell an error inside the block as a misuse."""
    try:
        yield
    except Exception as error:
        why = re.sub(r" at 0x[0-9a-f]+", "", str(error))
        raise MisuseError(f"{complaint}: {type(error).__name__}: {why}") from error


@dataclass(frozen=True)
class Audited:
    """What an audit found."""

    finding: Finding  # what is shown first: what convicts, else what the bets showed
    others: list[Finding]  # further findings
    pair: Pair  # the data sets of the first one
    offered: list[Pair]  # all pairs
    domain: Domain  # that they were made for
    examined: Examination  # what the instruments say of their work
    nameless: bool  # whether the claim is about people, and the fit takes no names of them

    @property
    def violated(self) -> bool:
        """Whether any finding refutes the claim."""
        return any(found.violated for found in (self.finding, *self.others))


def audited(factory: Callable[[], Any], options: argparse.Namespace) -> Audited:
    """Examine the estimator as a test does, and replay it or read its ledger where that is possible."""
    domain, offered = _pairs(factory, options)
    names = (
        "runs",
        "minutes",
        "confidence",
        "delta",
        "gaussian",
        "neighbours",
        "unit",
        "jobs",
        "seed",
        "time",
    )
    settings = AuditSettings(
        claimed=options.epsilon,
        progress=sys.stderr.isatty(),
        subject=options.factory,
        **{name: getattr(options, name) for name in names},
    )
    found = examine(factory, offered, settings)
    # What convicts comes first, else the bets, which are the last.
    ordered = sorted(reversed(found.findings), key=lambda finding: not finding.violated)
    pair = next(pair for pair in offered if pair.name == ordered[0].pair)
    more: list[Finding] = []
    try:
        if options.gaussian:
            more = []  # neither replays nor ledgers speak of it
        elif options.delta > 0:
            more = _by_ledger(factory, pair, found.bets, settings)
        elif not found.interrupted:
            kinds = ["structured", *["people"] * (options.unit == "person")]
            made = pairs(options.neighbours, domain=domain, kinds=kinds, unit=options.unit)
            more = replayed(factory, offered if options.pair else made, settings)
    except KeyboardInterrupt:  # what was found out counts without them
        found = replace(found, interrupted=True)
    nameless = options.unit == "person" and not takes_people(factory())
    return Audited(ordered[0], [*ordered[1:], *more], pair, offered, domain, found, nameless)


def _pairs(factory: Callable[[], Any], options: argparse.Namespace) -> tuple[Domain, list[Pair]]:
    """The public domain, and the pairs that the options ask for."""
    if options.pair:
        first, second = options.pair
        pair = own_pair(
            first,
            second,
            domain_file=options.domain,
            neighbours=options.neighbours,
            target=options.target,
            unit=options.unit,
        )
        return pair.domain, [pair]
    domain = read_layout(options.domain)[0] if options.domain else own_domain(factory())
    kinds = _kinds(options)
    return domain, pairs(options.neighbours, domain=domain, kinds=kinds, seed=options.seed, unit=options.unit)


def _kinds(options: argparse.Namespace) -> list[str]:
    """Kinds of pairs, in the order of the options."""
    kinds = [kind.strip() for kind in options.pairs.split(",") if kind.strip()]
    kinds = kinds or [kind for kind in kinds_of(options.unit) if kind not in ON_REQUEST]
    return [*dict.fromkeys([*ON_REQUEST, *kinds])] if options.malformed else kinds


def _by_ledger(
    factory: Callable[[], Any], pair: Pair, bets: Bets | None, settings: AuditSettings
) -> list[Finding]:
    """What the bets found, held against the ε at δ that the ledger of an estimator of this package states."""
    model = OnDomain(factory, pair.domain)()
    if bets is None or not isinstance(model, PrivateEstimator):
        return []
    ledger = copy(fitted_on(model, pair.first).ledger_)
    relation: Any = settings.neighbours
    if ledger.unit != settings.unit:
        return []
    ledger.neighbours = relation  # costs are booked for one record more or less
    stated, rule = ledger.at(settings.delta)
    if math.isinf(stated):
        return []
    measured = {field.name: getattr(bets.finding, field.name) for field in fields(Finding)}
    by_ledger = {"claimed": stated, "subject": f"{settings.subject}, by its ledger ({rule})"}
    return [Finding(**measured | by_ledger)]


def _one_line(complaint: str) -> str:
    return f"dpaudit: {' '.join(complaint.split())}"


@command(failed=2, known=(AttackError, DataError, DomainError, ValueError), say=_one_line)
def main(arguments: Sequence[str], /) -> int:
    """Command line: audit, report, and say by the exit status whether the claim is refuted."""
    options = _options(arguments)
    if options.pairs == "list":
        tell("\n".join(kinds_in_words()))
        return 0
    try:
        with aside():
            found = audited(_load(options.factory, jobs=options.jobs), options)
    except SystemExit:  # with whatever status: 0 is no pass
        raise MisuseError("the subject ended the program; no verdict") from None
    except BaseException as error:
        error.add_note("no verdict")
        raise
    code = _code(options, found) if found.finding.violated else ""
    notes = _notes(options, found)
    lines = [
        str(found.finding),
        *_beside(found),
        *_work(found, timed=options.time),
        *(["", code] if code else []),
        "",
        *(str(one) for one in found.others if not isinstance(one, ScanFinding)),
        *notes,
    ]
    trouble, halted = "", "nothing refutes the claim by then" if found.examined.interrupted else ""
    try:
        trouble = "" if options.report is None else _report(options, found, notes=notes, code=code)
    except KeyboardInterrupt:  # the verdict is known, and has to be told
        trouble, halted = "there is no report", "nothing refuted the claim before"
    if options.report is not None and not trouble:
        lines.append(f"Report: {options.report}")
    try:
        tell("\n".join(lines))
    except UntoldError as error:
        if not found.violated:
            raise
        trouble = trouble or f"the claim is refuted, but standard output cannot be written to: {error}"
    if trouble:
        note(_one_line(trouble))
    if halted and not found.violated:
        note(_one_line(f"interrupted; {halted}"))
        return stopped()
    return 1 if found.violated else 2 * bool(trouble)


def _report(options: argparse.Namespace, found: Audited, *, notes: list[str], code: str) -> str:
    """Write the report, before anything is told; returns why it could not be written, else nothing."""
    from .report import Report, write_report

    report = Report(
        finding=found.finding,
        others=found.others,
        settings=_settings(options, found),
        notes=notes,
        violated=found.violated,
        pair=found.pair,
        bets=found.examined.bets,
        code=code,
        not_looked=not_looked_at(found.examined, found.offered, timed=options.time),
    )
    try:
        write_report(options.report, report)
    except Exception as error:  # the verdict is known, and has to be told
        return f"cannot write the report: {error or type(error).__name__}"
    return ""


def _code(options: argparse.Namespace, found: Audited) -> str:
    """Lines that reproduce the finding."""
    unit = ", unit='person'" if options.unit == "person" else ""
    if options.pair:
        files = ", ".join(repr(str(path)) for path in options.pair)
        target = f", target={options.target!r}" if options.target else ""
        public = f"domain_file={str(options.domain)!r}"
        made = f"[own_pair({files}, {public}, neighbours={options.neighbours!r}{target}{unit})]"
    else:
        domain = (
            "" if found.domain == DOMAIN else f", domain=own_domain({options.factory.partition(':')[2]}())"
        )
        domain = f", domain=read_domain_file({str(options.domain)!r})[0]" if options.domain else domain
        kinds = f"kinds={_kinds(options)!r}, " if options.pairs or options.malformed else ""
        made = f"pairs({options.neighbours!r}{domain}, {kinds}seed={options.seed}{unit})"
    return again(found.finding, found.examined.bets, subject=options.factory, pairs=made)


def _settings(options: argparse.Namespace, found: Audited) -> dict[str, str]:
    return {
        "subject": options.factory,
        "claim": f"ε = {options.epsilon:g}, δ = {options.delta:g}{', normal noise' * options.gaussian}, "
        f"{relation_in_words(options.neighbours, options.unit)}",
        "spent": spent(found.examined),
        "confidence": f"{options.confidence:.10g}",
        "seed": f"{options.seed}",
    }


def _beside(found: Audited) -> list[str]:
    """What else the scans found, a line each; a report has it all."""
    events = [one.event for one in found.others if isinstance(one, ScanFinding)]
    left = [f"  and          {len(events) - MOST_BESIDE} more"] if len(events) > MOST_BESIDE else []
    return [*(f"  also         {event}" for event in events[:MOST_BESIDE]), *left]


def _work(found: Audited, *, timed: bool) -> list[str]:
    """What was tried, and what was not."""
    bets = found.examined.bets
    lines = [f"  plainly      {bets.plain}"] if bets and bets.finding.violated else []
    lines += [f"  tried        {spent(found.examined)}"]
    return [
        *lines,
        *(f"  not tried    {what}" for what in not_looked_at(found.examined, found.offered, timed=timed)),
    ]


def _notes(options: argparse.Namespace, found: Audited) -> list[str]:
    """What the findings mean, and what they do not."""
    findings = (found.finding, *found.others)
    notes = [
        "False alarms: the audit flags a private estimator with probability "
        f"{1 - options.confidence:.3g} at most. A replay is exact."
    ]
    if found.nameless:
        notes.append("The fit takes no people: it was not given whose the records are.")
    if any(one.instrument == "replay" and one.given for one in found.others):
        notes.append(
            "The replay took the bootstrap bags as known. With secret bags the loss can be smaller: "
            "a finite loss of this kind does not count against the claim."
        )
    if any(one.instrument == "library" and one.flagged and one.given for one in findings):
        notes.append(
            "What was found in the calls of a library's mechanisms holds for somebody who sees what it is given. It "
            "shows what a proof overlooks, or which line is wrong, and does not count against the claim by itself."
        )
    if not any(isinstance(one, ScanFinding) for one in findings):
        notes.append("The scans found nothing in the fitted models that the claim does not allow.")
    bets = found.examined.bets
    if bets is None or found.violated:
        return notes
    limit = most_refutable(bets.finding.trials, confidence=bets.finding.confidence)
    notes.append(
        "A pass is no proof of privacy: other data sets, other events or more runs may refute the claim. "
        f"With {bets.finding.trials} bets no loss above {limit:.3g} can be seen."
    )
    if limit <= options.epsilon:
        notes.append("That is less than the claim: take more time.")
    return notes
