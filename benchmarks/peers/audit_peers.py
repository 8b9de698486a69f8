"""Audit the privacy claims of other people's software by black-box and attribute attacks on chosen neighbours.

Runs in an environment of its own (see ``README.md`` beside this file). Every bound comes from
:mod:`dpaudit.fits`: many fits on two data sets that differ in one record, and an exact test of how often an
event occurs on each. The attacks stand in the modules beside this file, one for each package.
"""

from __future__ import annotations

import csv
import io
import json
import platform
import sys
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import audit_diffprivlib
import audit_interpret
import audit_lumberjack
import audit_opendp
import audit_xgboost
from audit_case import Case
from tqdm import tqdm

from dpnb.files import write_whole
from dpnb.terminal import Parser, command, note
from private_trees.auditing.counts import epsilon_bound
from private_trees.auditing.fixed import compare, observations

MODULES = (audit_diffprivlib, audit_interpret, audit_xgboost, audit_lumberjack, audit_opendp)
CONFIDENCES = (0.95, 0.99)
PACKAGES = (
    "diffprivlib", "interpret-core", "dp-xgboost", "dp-random-forest", "opendp", "scikit-learn", "numpy", "scipy",
    "dpnb",
)  # fmt: skip
QUICK = 1_000  # runs of a quick case
SCRIPT = "python benchmarks/peers/audit_peers.py"
COLUMNS = [
    "case", "subject", "version", "relation_documented", "relation_tested", "claimed", "delta", "runs",
    "confidence", "lower_bound", "pair", "event", "command",
]  # fmt: skip


def cases() -> Iterator[Case]:
    """All attacks, in the order of the table."""
    for module in MODULES:
        yield from module.cases()


def installed(package: str) -> str | None:
    """Version of a distribution; None if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def measure(case: Case, *, jobs: int, progress: bool = True) -> list[dict[str, Any]]:
    """Rows of one case, one for each confidence; the same fits serve both."""
    seed = zlib.crc32(case.name.encode())
    first, second = observations(
        case.factory,
        case.first,
        case.second,
        runs=case.runs,
        observe=case.observe,
        jobs=jobs,
        seed=seed,
        progress=progress,
    )
    rows = []
    for confidence in CONFIDENCES:
        if case.event:
            k, l = int(first.sum()), int(second.sum())  # noqa: E741
            bound = epsilon_bound(k, l, case.runs, case.runs, confidence=confidence, delta=case.delta)
            event = f"{case.event}: {k} of {case.runs} on D, {l} of {case.runs} on D′"
        else:
            finding = compare(
                first,
                second,
                claimed=case.claimed,
                confidence=confidence,
                delta=case.delta,
                names=case.names,
                seed=seed,
            )
            bound, event = finding.lower_bound, f"chosen on a part of the runs: {finding.event}"
        values = (
            case.name, case.subject, f"{case.package} {version(case.package)}", case.documented, case.relation,
            case.claimed, case.delta, case.runs, confidence, round(bound, 4), case.pair, event,
            f"{SCRIPT} --out rerun --only {case.name}",
        )  # fmt: skip
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of the table so far."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_done(case: Case, rows: Sequence[dict[str, Any]]) -> bool:
    """Whether the table holds this case, at this number of runs and this version of the subject."""
    wanted = (case.name, str(case.runs), f"{case.package} {version(case.package)}")
    return any((row["case"], str(row["runs"]), row["version"]) == wanted for row in rows)


def save(rows: Sequence[dict[str, Any]], seconds: dict[str, float], folder: Path) -> None:
    """Write the table in the order of the cases, and its provenance, each whole or not at all."""
    order = {case.name: i for i, case in enumerate(cases())}
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: (order[row["case"]], float(row["confidence"]))))
    write_whole(folder / "audit_peers.csv", text.getvalue())
    provenance = {
        "command": f"{SCRIPT} --out results",
        "cases": len(seconds),
        "versions": {name: installed(name) for name in PACKAGES} | {"python": platform.python_version()},
        "seconds_by_case": {name: seconds[name] for name in order if name in seconds},
        "seconds": round(sum(seconds.values()), 1),
    }
    write_whole(folder / "audit_peers.json", json.dumps(provenance, indent=2) + "\n")


def strict() -> None:
    """The subjects must be used as their documentation asks: a warning of theirs about a leak stops the run."""
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", message="Possible privacy violation")
    if installed("diffprivlib"):
        from diffprivlib.utils import PrivacyLeakWarning

        warnings.filterwarnings("error", category=PrivacyLeakWarning)


@command()
def main(arguments: Sequence[str], /) -> int:
    """Command line: run the cases that the table lacks."""
    known = {case.name: case for case in cases()}
    parser = Parser(prog=SCRIPT, description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of audit_peers.csv and .json")
    parser.add_argument("--only", nargs="+", choices=known, metavar="CASE", help=f"of {', '.join(known)}")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default 2)")
    parser.add_argument("--quick", action="store_true", help=f"no more than {QUICK} fits on each data set")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    strict()
    rows = read(options.out / "audit_peers.csv")
    log = options.out / "audit_peers.json"
    seconds: dict[str, float] = json.loads(log.read_text())["seconds_by_case"] if log.exists() else {}
    absent = sorted({case.package for case in known.values() if installed(case.package) is None})
    if absent:
        note(f"not installed, and left out: {', '.join(absent)}")
    wanted = [known[name] for name in options.only or known if known[name].package not in absent]
    if options.quick:
        wanted = [replace(case, runs=min(case.runs, QUICK)) for case in wanted]
    todo = [case for case in wanted if not is_done(case, rows)]
    for case in tqdm(todo, desc="cases", unit="case"):
        began = time.monotonic()
        fresh = measure(case, jobs=options.jobs)
        seconds[case.name] = round(time.monotonic() - began, 1)
        rows = [row for row in rows if row["case"] != case.name] + fresh
        save(rows, seconds, options.out)
        for row in fresh:
            tqdm.write(
                f"{case.name}: claimed {case.claimed:g}, ε ≥ {row['lower_bound']} "
                f"({100 * row['confidence']:g} %, {case.relation})"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
