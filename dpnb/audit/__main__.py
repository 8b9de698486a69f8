"""Audit an estimator from the command line: ``python -m dpnb.audit module:factory --epsilon 1 --runs 20000``.

The factory returns an unfitted estimator; the auditor supplies the data. Exit status: 0 no violation found,
1 violation, 2 misuse.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..domain import Domain
from ..errors import closest
from ..estimators import PrivateClassifier
from ..trees import Tree
from .attack import AttackError, BlackBox, attack, black_box, white_box, white_names
from .bounds import MIN_RUNS, SampledFinding, largest_bound
from .replay import replay
from .result import Finding
from .search import NEIGHBOURS, Pair, families

SCOUT_SHARE = 0.2  # of the runs, spread over the pairs to find the most promising one
MOST_TREE_NUMBERS = 256  # of a forest's numbers, upper levels first


class MisuseError(Exception):
    """The user's request cannot be met; the message says why in one line."""


@dataclass(frozen=True)
class OnDomain:
    """A factory whose estimators know the public domain of the auditor's data."""

    factory: Callable[[], Any]
    domain: Domain

    def __call__(self) -> Any:
        """Return an unfitted estimator."""
        model = self.factory()
        return model.set_params(domain=self.domain) if _lacks_domain(model) else model


@dataclass(frozen=True)
class Released:
    """What a fitted estimator gives away: its answers, and its trees where they are released."""

    answers: BlackBox
    n_trees: int

    def __call__(self, model: Any) -> Any:
        """Observe a fitted model, (numbers,)."""
        seen = self.answers(model)
        trees = getattr(model, "trees_", None)
        if isinstance(trees, list) and trees and all(isinstance(tree, Tree) for tree in trees):
            return np.append(seen, white_box(model)[:MOST_TREE_NUMBERS])
        return seen

    def names(self, width: int) -> list[str]:
        """Names of ``width`` observed numbers."""
        answers = len(self.answers.queries) * len(self.answers.classes) + 1
        known = self.answers.names(min(answers, width))
        rest = width - len(known)
        return known + white_names(rest, n_trees=self.n_trees, classes=self.answers.classes)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise MisuseError(f"{message}; see python -m dpnb.audit --help")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog="python -m dpnb.audit",
        description="Attack an estimator's privacy claim with many fits on worst-case neighbours.",
        epilog="Exit status: 0 no violation found, 1 violation, 2 misuse.",
    )
    parser.add_argument("factory", help="module:function that returns an unfitted estimator")
    parser.add_argument("--epsilon", type=float, required=True, help="claimed ε")
    parser.add_argument(
        "--runs", type=int, default=20_000, help="fits on each data set (default %(default)s)"
    )
    parser.add_argument("--delta", type=float, default=0.0, help="claimed δ (default 0)")
    parser.add_argument("--confidence", type=float, default=0.99, help="of the lower bound (default 0.99)")
    parser.add_argument(
        "--neighbours", choices=NEIGHBOURS, default="add-remove", help="relation of the claim"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default 1)")
    parser.add_argument("--seed", type=int, default=0, help="of all runs (default 0)")
    parser.add_argument("--report", type=Path, help="file to write, .html or .png")
    options = parser.parse_args(arguments)
    checks = (
        (
            0 < options.epsilon < math.inf,
            f"--epsilon {options.epsilon:g}: expected a positive number, such as 1",
        ),
        (options.runs >= MIN_RUNS, f"--runs {options.runs}: expected at least {MIN_RUNS}; 20000 is usual"),
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
            f'--report {path}: the picture needs matplotlib ({error}); pip install "dpnb[plot]"'
        ) from error
    if path.suffix not in SUFFIXES:
        raise MisuseError(f"--report {path}: expected a name that ends in {' or '.join(SUFFIXES)}")
    if not path.resolve().parent.is_dir():
        raise MisuseError(f"--report {path}: there is no such folder, make it first")


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


def _lacks_domain(model: Any) -> bool:
    return hasattr(model, "get_params") and model.get_params(deep=False).get("domain", model) is None


def audit(factory: Callable[[], Any], options: argparse.Namespace) -> tuple[SampledFinding, list[Finding]]:
    """Scout all pairs, attack the most promising one with fresh runs, and replay where that is possible."""
    pairs = families(options.neighbours)
    n_trees = _trees_of(factory, pairs[0])

    def attacked(pair: Pair, runs: int, seed: int) -> SampledFinding:
        try:
            return attack(
                OnDomain(factory, pair.domain),
                pair.first,
                pair.second,
                claimed=options.epsilon,
                runs=runs,
                confidence=options.confidence,
                delta=options.delta,
                neighbours=options.neighbours,
                pair=pair.name,
                observe=Released(black_box(pair.first, pair.second), n_trees),
                jobs=options.jobs,
                seed=seed,
                progress=sys.stderr.isatty(),
                subject=options.factory,
            )
        except AttackError as error:
            raise AttackError(
                f"pair {pair.name!r}: {error}; a private estimator accepts every data set"
            ) from error

    seeds = np.random.SeedSequence(options.seed).generate_state(len(pairs) + 1).tolist()
    scouting = max(MIN_RUNS, math.ceil(SCOUT_SHARE * options.runs / len(pairs)))
    scouted = [attacked(pair, scouting, seed) for pair, seed in zip(pairs, seeds[1:], strict=True)]
    best = int(np.argmax([finding.margin for finding in scouted]))
    final = attacked(pairs[best], options.runs, seeds[0])
    if options.delta > 0:
        return final, _by_ledger(factory, pairs[best], final, options)
    return final, _replayed(factory, pairs, options)


def _trees_of(factory: Callable[[], Any], pair: Pair) -> int:
    """Number of trees of a model; one that the estimator works out itself shows when it is fitted."""
    model = OnDomain(factory, pair.domain)()
    stated = getattr(model, "n_trees", 1)
    if isinstance(stated, int):
        return stated
    return max(len(getattr(model.fit(*pair.first), "trees_", ())), 1)


def _by_ledger(
    factory: Callable[[], Any], pair: Pair, finding: Finding, options: argparse.Namespace
) -> list[Finding]:
    """What the attack found, held against the ε at δ that the ledger of an estimator of this package states."""
    model = OnDomain(factory, pair.domain)()
    if not isinstance(model, PrivateClassifier):
        return []
    ledger = copy(model.fit(*pair.first).ledger_)
    ledger.neighbours = options.neighbours  # costs are booked for one record more or less
    stated, rule = ledger.at(options.delta)
    if math.isinf(stated):
        return []
    return [replace(finding, claimed=stated, subject=f"{options.factory}, by its ledger ({rule})")]


def _replayed(factory: Callable[[], Any], pairs: list[Pair], options: argparse.Namespace) -> list[Finding]:
    """The worst replay of an estimator of this package; a loss at one output refutes claims with δ = 0 only."""
    if not isinstance(factory(), PrivateClassifier):
        return []
    found = [
        replay(
            OnDomain(factory, pair.domain)(),
            pair.first,
            pair.second,
            seed=options.seed,
            subject=options.factory,
            pair=pair.name,
        )
        for pair in pairs
    ]
    worst = max(found, key=lambda finding: finding.lower_bound)
    return [replace(worst, claimed=options.epsilon)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: attack, report, and say by the exit status whether the claim is refuted."""
    try:
        options = _options(arguments)
        factory = _load(options.factory, jobs=options.jobs)
        finding, others = audit(factory, options)
    except (MisuseError, AttackError, ValueError) as error:
        print(f"dpnb.audit: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except Exception as error:  # an audit that breaks off is no violation, and must not look like one
        why = " ".join(str(error).split())
        print(f"dpnb.audit: unexpected {type(error).__name__}: {why}; no verdict", file=sys.stderr)
        return 2
    settings = {
        "subject": options.factory,
        "claim": f"ε = {options.epsilon:g}, δ = {options.delta:g}, {options.neighbours}",
        "runs": f"{options.runs} fits on each data set",
        "confidence": f"{options.confidence:g}",
        "seed": f"{options.seed}",
    }
    violated = any(found.violated for found in (finding, *others))
    notes = _notes(options, others, violated=violated)
    print("\n".join([*map(str, (finding, *others)), "", *notes]))
    if options.report is not None:
        from .report import write_report

        try:
            write_report(
                options.report, finding, others=others, settings=settings, notes=notes, violated=violated
            )
        except OSError as error:
            print(f"dpnb.audit: cannot write the report: {error}", file=sys.stderr)
            return 2
        print(f"Report: {options.report}")
    return int(violated)


def _notes(options: argparse.Namespace, others: Sequence[Finding], *, violated: bool) -> list[str]:
    limit = largest_bound(options.runs, confidence=options.confidence)
    notes = [
        f"False alarms: the attack flags a private estimator with probability {1 - options.confidence:.3g} at most. "
        f"A replay is exact."
    ]
    if any(found.given for found in others):
        notes.append(
            "The replay took the bootstrap bags as known. With secret bags the loss can be smaller: "
            "a finite loss of this kind does not count against the claim."
        )
    if limit <= options.epsilon:
        notes.append(
            f"{options.runs} runs can show ε ≥ {limit:.3g} at most, less than the claim: take more runs."
        )
    if not violated:
        notes.append(
            "A pass is no proof of privacy: other data sets, other events or more runs may refute the claim. "
            f"With {options.runs} runs no loss above {limit:.3g} can be seen."
        )
    return notes


if __name__ == "__main__":
    sys.exit(main())
