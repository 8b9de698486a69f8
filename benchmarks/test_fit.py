"""Fit times as ratios against scikit-learn's forest in the same run, and peak memory.

Run with ``make bench``. Timings stay out of the tests: they depend on the machine. Uses Adult if the UCI files are at
hand, else the embedded stand-in of the same size.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

import pytest
from sklearn.ensemble import RandomForestClassifier

import dpnb
from dpnb import PrivateBooster
from dpnb.papers.diffprfs import DiffPRFs

NAME = "adult" if os.environ.get("DPNB_DATA") else "adult-standin"
ROUNDS = 15

MEMORY = """
import sys, tracemalloc, dpnb
from dpnb.papers.diffprfs import DiffPRFs
data = dpnb.load(sys.argv[1])
tracemalloc.start()
DiffPRFs(domain=data.domain, random_state=0).fit(*data.train)
print(tracemalloc.get_traced_memory()[1] / 2**20)
"""

SCALE = """
import resource, sys, time, dpnb, pandas as pd
data, times = dpnb.load(sys.argv[1]), int(sys.argv[2])
X, y = (pd.concat([part] * times, ignore_index=True) for part in data.train)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
began = time.perf_counter()
dpnb.PrivateBooster(domain=data.domain, n_rounds=60, random_state=0).fit(X, y)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(len(X), time.perf_counter() - began, (peak - before) / 2**10)
"""
COPIES = (1, 4, 16, 33)  # the last is about a million records


@pytest.fixture(scope="module")
def data() -> dpnb.datasets.Dataset:
    return dpnb.load(NAME)


FORESTS = {
    "repaired": lambda domain: DiffPRFs(domain=domain, random_state=0),
    "repaired, disjoint bags": lambda domain: DiffPRFs(domain=domain, random_state=0, bags="disjoint"),
    "as written": lambda domain: DiffPRFs.as_written(domain=domain, random_state=0),
    "booster, 60 rounds, pure": lambda domain: PrivateBooster(domain=domain, n_rounds=60, random_state=0),
    "booster, 60 rounds, with delta": lambda domain: PrivateBooster(
        domain=domain, n_rounds=60, delta=1e-5, random_state=0
    ),
}


@pytest.mark.parametrize("name", FORESTS)
def test_fit_against_scikit_learn(
    name: str, data: dpnb.datasets.Dataset, benchmark: object, capsys: object
) -> None:
    """25 trees of depth 5, one thread each; the two take turns, so that both see the same machine."""
    codes, labels = data.domain.encode(data.train[0]), data.train[1]
    ratios = []

    def peer() -> None:
        began = time.perf_counter()
        RandomForestClassifier(25, max_depth=5, n_jobs=1, random_state=0).fit(codes, labels)
        ratios.append(time.perf_counter() - began)

    def fit() -> None:
        began = time.perf_counter()
        FORESTS[name](data.domain).fit(*data.train)
        ratios[-1] = (time.perf_counter() - began) / ratios[-1]

    benchmark.pedantic(fit, setup=peer, rounds=ROUNDS, warmup_rounds=1)
    with capsys.disabled():
        low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
        print(
            f"\n{NAME}, {name}: {middle:.2f} x scikit-learn's fit (min {low:.2f}, max {high:.2f}, {ROUNDS} pairs)"
        )


def test_peak_memory_of_a_fit(capsys: object) -> None:
    """Peak of what Python and NumPy allocate during the fit, in a process of its own."""
    run = subprocess.run([sys.executable, "-c", MEMORY, NAME], capture_output=True, text=True, check=True)
    with capsys.disabled():
        print(f"\n{NAME}: peak memory {float(run.stdout):.0f} MB above the loaded data")


def test_the_booster_is_linear_in_the_records(capsys: object) -> None:
    """60 rounds, pure ε, on copies of the data: seconds and peak memory above the loaded frame, for each million."""
    for copies in COPIES:
        command = [sys.executable, "-c", SCALE, NAME, str(copies)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        n, seconds, megabytes = (float(value) for value in run.stdout.split())
        with capsys.disabled():
            rate = f"{1e6 * seconds / n:.1f} s and {1e6 * megabytes / n:.0f} MB for each million"
            print(f"\n{NAME} x {copies}: {n:.0f} records, {seconds:.2f} s, {megabytes:.0f} MB, {rate}")
