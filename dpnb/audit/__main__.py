"""Audit an estimator from the command line: ``python -m dpnb.audit module:factory --epsilon 1``.

The factory returns an unfitted estimator; the auditor supplies the data, or the user does with ``--pair``. The audit is
that of :func:`~dpnb.audit.assertion.assert_private`: scans, then bets that stop when they have refuted the claim. Exit
status: 0 no violation found, 1 violation, 2 misuse or no verdict, 130 interrupted.
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
from typing import Any, NoReturn

from ..domain import Domain
from ..domain.cells import read_layout
from ..errors import DataError, DomainError, closest
from ..estimators.base import PrivateClassifier
from ..files import check_writable
from .assertion import USUAL_RUNS, examined
from .attack import AttackError
from .betting import most_refutable
from .bounds import MIN_RUNS, largest_bound
from .campaign import Campaign, OnDomain, Plan, campaign, measured_by_attack, own_domain, replayed
from .constant import SURE
from .files import own_pair
from .pairs import DOMAIN, KINDS, NEIGHBOURS, ON_REQUEST, Pair, families, kinds_in_words, pairs
from .result import Finding
from .scan import HeldFinding

INTERRUPTED = 130  # the status that shells give to Ctrl-C
SHOWN_TRIED = 3


class MisuseError(Exception):
    """The user's request cannot be met; the message says why in one line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise MisuseError(f"{message}; see python -m dpnb.audit --help")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m dpnb.audit",
        description="Try to refute an estimator's privacy claim with many fits on worst-case neighbours.",
        epilog="Exit status: 0 no violation found, 1 violation, 2 misuse or no verdict, 130 interrupted.",
    )
    parser.add_argument("factory", nargs="?", help="module:function that returns an unfitted estimator")
    parser.add_argument("--epsilon", type=float, help="claimed ε, required")
    parser.add_argument(
        "--runs",
        type=int,
        default=USUAL_RUNS,
        help="most fits on each side, scouting included (default %(default)s)",
    )
    parser.add_argument("--delta", type=float, default=0.0, help="claimed δ (default 0)")
    parser.add_argument(
        "--confidence",
        type=float,
        default=SURE,
        help="with which a private estimator passes (default %(default)s)",
    )
    parser.add_argument(
        "--by",
        choices=("bets", "attack"),
        default="bets",
        help="scans, bets that stop early, and last bits (default), or one attack with all runs, for the largest bound",
    )
    parser.add_argument(
        "--neighbours", choices=NEIGHBOURS, default="add-remove", help="relation of the claim"
    )
    parser.add_argument(
        "--domain", type=Path, metavar="D.yml", help="public domain of the data, by default the auditor's own"
    )
    parser.add_argument(
        "--pair", type=Path, nargs=2, metavar=("A.csv", "B.csv"), help="your own neighbours, with --domain"
    )
    parser.add_argument("--target", help="column of the labels in these files, by default the domain's")
    parser.add_argument(
        "--pairs", default="", metavar="KINDS", help="kinds of pairs, such as structured,rare; list shows all"
    )
    parser.add_argument(
        "--malformed", action="store_true", help="also records outside of the domain, and no records at all"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="of all runs (default 0)")
    parser.add_argument("--report", type=Path, help="file to write, .html or .png")
    options = parser.parse_args(arguments)
    if options.pairs == "list":
        return options
    missing = [name for name in ("factory", "epsilon") if getattr(options, name) is None]
    if missing:
        told = ", ".join({"factory": "module:function", "epsilon": "--epsilon"}[name] for name in missing)
        parser.error(f"the following arguments are required: {told}")
    checks = (
        (
            0 < options.epsilon < math.inf,
            f"--epsilon {options.epsilon:g}: expected a positive number, such as 1",
        ),
        (
            options.runs >= MIN_RUNS,
            f"--runs {options.runs}: expected at least {MIN_RUNS}; {USUAL_RUNS} is usual",
        ),
        (
            0 <= options.delta < 1,
            f"--delta {options.delta:g}: expected a number from 0 to below 1, such as 1e-6",
        ),
        (
            0 < options.confidence < 1,
            f"--confidence {options.confidence:g}: expected between 0 and 1, such as 0.99",
        ),
        (options.jobs >= 1, f"--jobs {options.jobs}: expected at least 1"),
        (options.seed >= 0, f"--seed {options.seed}: expected at least 0"),
        (
            options.pair is None or options.domain is not None,
            "--pair needs --domain, the public domain of both files",
        ),
        (
            options.pair is None or not (options.pairs or options.malformed),
            "--pair stands for all pairs: leave out --pairs and --malformed",
        ),
        (options.target is None or options.pair is not None, "--target names a column of --pair: give both"),
    )
    for holds, complaint in checks:
        if not holds:
            raise MisuseError(complaint)
    if options.report is not None:
        _check_report(options.report)
    return options


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
        raise MisuseError(
            f"{name}() returned {type(model).__name__} with {what}: expected an unfitted estimator"
        )
    made: Callable[[], Any] = factory
    return made


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
    """What an audit found.

    Parameters
    ----------
    finding : what is shown first: a conviction by a scan, else what the runs on the most promising pair measured.
    others : further findings.
    pair : the data sets of the first one.
    held : the runs that measured, None if a scan was enough.
    skipped : scans that could not be made.
    """

    finding: Finding
    others: list[Finding]
    pair: Pair
    held: Campaign[Any] | None
    skipped: tuple[str, ...] = ()

    @property
    def violated(self) -> bool:
        """Whether any finding refutes the claim."""
        return any(found.violated for found in (self.finding, *self.others))


def audited(factory: Callable[[], Any], options: argparse.Namespace) -> Audited:
    """Examine the estimator or attack it, and replay it where that is possible."""
    domain, offered = _pairs(factory, options)
    plan = Plan(
        claimed=options.epsilon,
        runs=options.runs,
        confidence=options.confidence,
        delta=options.delta,
        neighbours=options.neighbours,
        jobs=options.jobs,
        seed=options.seed,
        progress=sys.stderr.isatty(),
        subject=options.factory,
    )
    found = (_by_bets if options.by == "bets" else _by_attack)(factory, offered, plan)
    if options.delta > 0:
        more = _by_ledger(factory, found, options)
    else:
        structured = offered if options.pair else families(options.neighbours, domain=domain)
        more = replayed(
            factory, structured, claimed=options.epsilon, seed=options.seed, subject=options.factory
        )
    return replace(found, others=[*found.others, *more])


def _by_bets(factory: Callable[[], Any], offered: Sequence[Pair], plan: Plan) -> Audited:
    """The examination of :func:`~dpnb.audit.assertion.assert_private`."""
    found = examined(factory, offered, plan)
    # What convicts comes first, else the bets, which are the last.
    told = sorted(reversed(found.findings), key=lambda finding: not finding.violated)
    pair = next(pair for pair in offered if pair.name == told[0].pair)
    return Audited(told[0], told[1:], pair, found.held, found.skipped)


def _by_attack(factory: Callable[[], Any], offered: Sequence[Pair], plan: Plan) -> Audited:
    held = campaign(factory, offered, plan, measure=measured_by_attack)
    return Audited(held.finding, [], held.pair, held)


def _pairs(factory: Callable[[], Any], options: argparse.Namespace) -> tuple[Domain, list[Pair]]:
    """The public domain, and the pairs that the options ask for."""
    if options.pair:
        first, second = options.pair
        pair = own_pair(
            first, second, domain_file=options.domain, neighbours=options.neighbours, target=options.target
        )
        return pair.domain, [pair]
    domain = read_layout(options.domain)[0] if options.domain else own_domain(factory()) or DOMAIN
    kinds = [kind.strip() for kind in options.pairs.split(",") if kind.strip()] or [
        kind for kind in KINDS if kind not in ON_REQUEST
    ]
    if options.malformed:  # first, so that few runs suffice for them
        kinds = [*dict.fromkeys([*ON_REQUEST, *kinds])]
    return domain, pairs(options.neighbours, domain=domain, kinds=kinds, seed=options.seed)


def _by_ledger(factory: Callable[[], Any], found: Audited, options: argparse.Namespace) -> list[Finding]:
    """What the runs found, held against the ε at δ that the ledger of an estimator of this package states."""
    model = OnDomain(factory, found.pair.domain)()
    if found.held is None or not isinstance(model, PrivateClassifier):
        return []
    ledger = copy(model.fit(*found.pair.first).ledger_)
    ledger.neighbours = options.neighbours  # costs are booked for one record more or less
    stated, rule = ledger.at(options.delta)
    if math.isinf(stated):
        return []
    measured = {field.name: getattr(found.held.finding, field.name) for field in fields(Finding)}
    return [
        Finding(**measured | {"claimed": stated, "subject": f"{options.factory}, by its ledger ({rule})"})
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: attack, report, and say by the exit status whether the claim is refuted."""
    try:
        status = _main(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever reads the output has gone; the verdict was not told
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - else Python complains again when it ends
        return 2
    except KeyboardInterrupt:
        return _told("interrupted; no verdict", INTERRUPTED)


def _main(arguments: Sequence[str] | None) -> int:
    try:
        options = _options(arguments)
    except MisuseError as error:
        return _told(str(error))
    except SystemExit:  # --help; what the subject does comes later
        return 0
    try:
        if options.pairs == "list":
            print("\n".join(kinds_in_words()))
            return 0
        factory = _load(options.factory, jobs=options.jobs)
        found = audited(factory, options)
    except (MisuseError, AttackError, DataError, DomainError, ValueError) as error:
        return _told(str(error))
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except SystemExit:  # with whatever status: 0 is no pass
        return _told("the subject ended the program; no verdict")
    except BaseException as error:  # an audit that breaks off is no violation, and must not look like one
        return _told(f"unexpected {type(error).__name__}: {error}; no verdict")
    notes = _notes(options, found)
    print("\n".join([*map(str, (found.finding, *found.others)), _tried(found), "", *notes]))
    if options.report is not None:
        from .report import write_report

        try:
            write_report(
                options.report,
                found.finding,
                others=found.others,
                settings=_settings(options, found),
                notes=notes,
                violated=found.violated,
                pair=found.pair,
                tried=found.held.tried if found.held else (),
            )
        except OSError as error:
            return _told(f"cannot write the report: {error}")
        print(f"Report: {options.report}")
    return int(found.violated)


def _told(complaint: str, status: int = 2) -> int:
    print(f"dpnb.audit: {' '.join(complaint.split())}", file=sys.stderr)
    return status


def _settings(options: argparse.Namespace, found: Audited) -> dict[str, str]:
    return {
        "subject": options.factory,
        "claim": f"ε = {options.epsilon:g}, δ = {options.delta:g}, {options.neighbours}",
        "runs": _runs(options, found),
        "confidence": f"{options.confidence:.10g}",
        "seed": f"{options.seed}",
    }


def _runs(options: argparse.Namespace, found: Audited) -> str:
    """What was spent."""
    held = found.held
    if held is None:
        return f"{found.finding.trials} fits of the scan that convicts; no bets were needed"
    if options.by == "attack":
        return f"{held.fits} fits in all, {held.measured} on each data set of the measurement"
    bets = held.finding.trials
    spent = f"{held.fits - bets} fits to scout, then {bets} of at most {2 * held.measured} to bet"
    return f"{spent}, beside those of the scans and of the game on last bits"


def _tried(found: Audited) -> str:
    """How many pairs were tried, and which failed."""
    if found.held is None:
        return "  tried        scans only; a fitted model shows enough"
    fitted = [one for one in found.held.tried if one.runs]
    told = f"  tried        {len(fitted) or 1} of {len(found.held.tried)} pairs, {found.held.fits} fits"
    failed = [one for one in fitted if one.note]
    if failed:
        told += f"; {len(failed)} pairs failed in every run, first {failed[0].pair!r}: {failed[0].note}"
    return told


def _notes(options: argparse.Namespace, found: Audited) -> list[str]:
    notes = [
        f"False alarms: the {'audit' if options.by == 'bets' else 'attack'} flags a private estimator with probability "
        f"{1 - options.confidence:.3g} at most. A replay is exact."
    ]
    if any(one.instrument == "replay" and one.given for one in found.others):
        notes.append(
            "The replay took the bootstrap bags as known. With secret bags the loss can be smaller: "
            "a finite loss of this kind does not count against the claim."
        )
    if options.by == "bets" and not any(
        isinstance(one, HeldFinding) for one in (found.finding, *found.others)
    ):
        notes.append("The scans found nothing in the fitted models that the claim does not allow.")
    notes += [f"Not looked at: {note}" for note in found.skipped]
    if found.held is None:
        return notes
    runs, limit = _limit(found.held)
    if limit <= options.epsilon:
        notes.append(
            f"{runs} measured runs can show ε ≥ {limit:.3g} at most, less than the claim: take more runs."
        )
    if not found.violated:
        notes.append(
            "A pass is no proof of privacy: other data sets, other events or more runs may refute the claim. "
            f"With {runs} measured runs no loss above {limit:.3g} can be seen."
        )
    return notes


def _limit(held: Campaign[Any]) -> tuple[int, float]:
    """Number of runs that measured, on each data set or in all for bets, and the largest loss that they can show."""
    confidence = held.finding.confidence
    if held.finding.instrument == "attack":
        return held.measured, largest_bound(held.measured, confidence=confidence)
    return 2 * held.measured, most_refutable(2 * held.measured, confidence=confidence)


if __name__ == "__main__":
    sys.exit(main())
