"""CPU time of every fit as a ratio against scikit-learn in the same run, and peak memory; the history is kept.

Run ``make bench``. It appends a row for each case to ``results/benchmarks.csv`` and writes ``book/benchmarks.md``. A
case that the table holds for this data and commit is not measured again. Timings stay out of the tests: they depend
on the machine. Uses Adult if ``DPNB_DATA`` names the UCI files, else the embedded stand-in of the same size.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from page import COLUMNS, KEY, PAGE, RESULTS, page, read
from sklearn.ensemble import RandomForestClassifier
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import dpnb
from dpnb import PrivateBooster
from dpnb.files import write_whole
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.edprf import EDPRF
from dpnb.papers.pearson import VARIANTS, PearsonTree
from dpnb.records.grid import public_grid
from dpnb.records.memory import Records
from dpnb.terminal import Parser, command, tell

ROOT = Path(__file__).resolve().parent.parent
Work = Callable[[], object]
NODES = 8  # of the one level that is counted
SMALL, LARGE = 15, 3  # pairs on the data as they are, and on copies
QUICK = 5


@dataclass(frozen=True)
class Data:
    """A training set as users hold it, and the encoded matrix that the peer gets."""

    domain: dpnb.Domain
    X: pd.DataFrame
    y: pd.Series
    codes: NDArray[np.float64]

    @classmethod
    def load(cls, name: str, copies: int) -> Data:
        """Load the training part of a data set, repeated so many times under new keys."""
        data = dpnb.load(name)
        X, y = (pd.concat([part] * copies, ignore_index=copies > 1) for part in data.train)
        return cls(data.domain, X, y, np.ascontiguousarray(data.domain.encode(X)))


@dataclass(frozen=True)
class TimedCase:
    """One measurement."""

    name: str  # short name; the page says what it means
    peer: str  # name of the peer, see `PEERS`
    prepare: Callable[[Data], Work]  # data → what is timed, without its preparation
    copies: tuple[int, ...] = (1, 33)  # sizes of the data that it runs on


def fit(estimator: Callable[..., Any], **parameters: Any) -> Callable[[Data], Work]:
    """Time a fit from the frame on: checks, encoding and training."""
    return lambda data: (
        lambda: estimator(domain=data.domain, random_state=0, **parameters).fit(data.X, data.y)
    )


def bins_of_the_door(data: Data) -> Work:
    """Encode the frame and find every value's bin on the public grid."""
    return lambda: Records(data.X, data.y, domain=data.domain).binned(public_grid(data.domain))


def level_of_the_door(data: Data) -> Work:
    """Count one level of eight nodes: every condition of the public grid by class."""
    records = Records(data.X, data.y, domain=data.domain)
    binned, level = records.binned(public_grid(data.domain)), records.cohort().divided(NODES, seed=0)
    return lambda: level.condition_tables(binned, NODES)


def forest(data: Data) -> Work:
    return lambda: RandomForestClassifier(25, max_depth=5, n_jobs=1, random_state=0).fit(data.codes, data.y)


def binning(data: Data) -> Work:
    return lambda: _BinMapper(n_bins=256, random_state=0, n_threads=1).fit_transform(data.codes)


PEERS = {"forest": forest, "binning": binning}
ROUNDS = {"n_rounds": 60}
CASES = (
    TimedCase("diffprfs", "forest", fit(DiffPRFs)),
    TimedCase("diffprfs-disjoint", "forest", fit(DiffPRFs, bags="disjoint")),
    TimedCase("diffprfs-as-written", "forest", fit(DiffPRFs.as_written)),
    TimedCase("edprf", "forest", fit(EDPRF)),
    TimedCase("pearson-c", "forest", fit(PearsonTree, **VARIANTS["C"])),
    TimedCase("pearson-s", "forest", fit(PearsonTree, **VARIANTS["S"])),
    TimedCase("booster", "forest", fit(PrivateBooster, **ROUNDS)),
    TimedCase("booster-delta", "forest", fit(PrivateBooster, **ROUNDS, delta=1e-5)),
    TimedCase("booster-defaults", "forest", fit(PrivateBooster), copies=(1,)),
    TimedCase("booster-delta-defaults", "forest", fit(PrivateBooster, delta=1e-5), copies=(1,)),
    TimedCase("booster-delta-5", "forest", fit(PrivateBooster, delta=1e-5, epsilon=5.0), copies=(1,)),
    TimedCase("booster-binning", "binning", fit(PrivateBooster, **ROUNDS), copies=(1, 4, 16, 33)),
    TimedCase("door-bins", "binning", bins_of_the_door),
    TimedCase("door-level", "binning", level_of_the_door),
)


def seconds(work: Work) -> float:
    """CPU time of this process, which other programs on the machine disturb less than they do a clock."""
    began = time.process_time()
    work()
    return time.process_time() - began


def pairs(case: TimedCase, name: str, copies: int, n: int) -> Iterator[tuple[float, float]]:
    """Seconds of the case and of its peer, taking turns; both run once before, on the data as they are."""
    data = Data.load(name, 1)
    for prepare in (case.prepare, PEERS[case.peer]):
        prepare(data)()
    if copies > 1:
        data = Data.load(name, copies)
    ours, theirs = case.prepare(data), PEERS[case.peer](data)
    for turn in range(n):
        first, second = (ours, theirs) if turn % 2 else (theirs, ours)
        taken = {first: seconds(first), second: seconds(second)}
        yield taken[ours], taken[theirs]


def peak_memory(case: TimedCase, name: str, copies: int) -> float:
    """Most MB that Python and NumPy allocate at a time for the case, above its prepared data."""
    work = case.prepare(Data.load(name, copies))
    tracemalloc.start()
    work()
    return tracemalloc.get_traced_memory()[1] / 2**20


def first_fit(case: TimedCase, name: str, copies: int) -> float:
    """Seconds of the case where nothing ran before it, so that plans of the budget are made as well."""
    return seconds(case.prepare(Data.load(name, copies)))


ALONE = {"memory": peak_memory, "first": first_fit}


def own_process(what: str, case: TimedCase, name: str, copies: int) -> float:
    """A measurement of :data:`ALONE` in a process of its own."""
    command = [sys.executable, __file__, what, case.name, name, str(copies)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def commit() -> str:
    """Short name of the commit, with "-dirty" if the measured code differs from it."""

    def git(*arguments: str) -> str:
        run = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        return run.stdout.strip()

    dirty = git("status", "--porcelain", "--", "dpnb", "benchmarks")
    return git("rev-parse", "--short=7", "HEAD") + ("-dirty" if dirty else "")


def about() -> dict[str, Any]:
    """What all rows of a run share."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "version": version("dpnb"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "sklearn": version("scikit-learn"),
    }


def measure(case: TimedCase, name: str, copies: int, n: int, bar: tqdm[Any]) -> dict[str, Any]:
    """Columns of one row that are measured."""
    label = name if copies == 1 else f"{name} x{copies}"
    bar.set_description(f"{case.name}, {label}")
    taken = []
    for pair in pairs(case, name, copies, n):
        taken.append(pair)
        bar.update()
    ours, theirs = np.array(taken).T
    lower, middle, upper = np.quantile(ours / theirs, (0.25, 0.5, 0.75)).round(4)
    return {
        "case": case.name,
        "peer": case.peer,
        "data": label,
        "rows": len(dpnb.load(name).train[1]) * copies,
        "ratio": middle,
        "lower": lower,
        "upper": upper,
        "pairs": n,
        "peer_seconds": np.median(theirs).round(4),
        "peak_mb": round(own_process("memory", case, name, copies), 1),
        "first_seconds": round(own_process("first", case, name, copies), 4),
    }


def append(row: dict[str, Any], path: Path) -> None:
    """Add one row to the table, whose rows so far stay as they are."""
    before = path.read_text(encoding="utf-8") if path.exists() else ",".join(COLUMNS) + "\n"
    write_whole(path, before + pd.DataFrame([row], columns=COLUMNS).to_csv(index=False, header=False))


def run(options: argparse.Namespace) -> None:
    """Measure what the table lacks."""
    name = "adult" if os.environ.get("DPNB_DATA") else "adult-standin"
    shared = about()
    done = set(read(ROOT / RESULTS)[KEY].itertuples(index=False, name=None))
    todo = [
        (case, copies, options.pairs or (QUICK if options.quick else SMALL if copies == 1 else LARGE))
        for case in CASES
        for copies in case.copies
        if re.fullmatch(options.only, case.name) and not (options.quick and copies > 1)
        if (case.name, name if copies == 1 else f"{name} x{copies}", shared["commit"]) not in done
    ]
    with tqdm(total=sum(n for *_, n in todo), unit="pair") as bar:
        for case, copies, n in todo:
            row = shared | measure(case, name, copies, n, bar)
            bar.write("{case}, {data}: {ratio:.3f} ({lower:.3f}-{upper:.3f}), {peak_mb:.0f} MB".format(**row))
            if not options.dry:
                append(row, ROOT / RESULTS)


@command()
def main(arguments: Sequence[str], /) -> int:
    """Run the benchmarks and write their page."""
    parser = Parser(prog="python benchmarks/run.py", description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="the data as they are only, and few pairs")
    parser.add_argument("--only", metavar="NAME", default=".*", help="case, or a pattern for whole names")
    parser.add_argument("--pairs", type=int, help=f"pairs of fits; by default {SMALL}, and {LARGE} on copies")
    parser.add_argument("--dry", action="store_true", help="print, and keep the table as it is")
    commands = parser.add_subparsers(dest="command", metavar="[page]")
    commands.add_parser("page", help="write the page from the table, without a measurement")
    for what in ALONE:
        alone = commands.add_parser(what)
        for argument in ("case", "data"):
            alone.add_argument(argument)
        alone.add_argument("copies", type=int)
    options = parser.parse_args(arguments)
    names = [case.name for case in CASES]
    if not any(re.fullmatch(options.only, name) for name in names):
        parser.error(f"--only {options.only}: expected one of {', '.join(names)}")
    if options.command in ALONE:
        tell(str(ALONE[options.command](CASES[names.index(options.case)], options.data, options.copies)))
        return 0
    if options.command is None:
        run(options)
    write_whole(ROOT / PAGE, page(read(ROOT / RESULTS)))
    return 0


if __name__ == "__main__":
    with threadpool_limits(1):  # ours and the peer alike
        sys.exit(main())
