"""Train through Spark on many records and write how long every pass took and how much memory there was in use.

``python benchmarks/scale.py make --rows 10000000 --out FOLDER`` writes a table of made-up records as Parquet;
``python benchmarks/scale.py run --data FOLDER --rows 10000000 --cores 2 --model booster`` trains on it and adds a line
to ``results/scale.csv``; ``python benchmarks/scale.py all --data FOLDER`` does this for everything that the chapter on
scale shows. Linux only: memory is read from /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

import dpnb
from dpnb import PrivateBooster, spark
from dpnb.boosting.stages import finest_cuts
from dpnb.files import write_whole
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.edprf import EDPRF
from dpnb.papers.pearson import PearsonTree
from dpnb.records.grid import public_grid
from dpnb.records.losses import loss_of
from dpnb.spark import blocks
from dpnb.terminal import Parser, announce, command

FILE_ROWS = 250_000
ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results" / "scale.csv"
MODELS: dict[str, Any] = {
    "booster": lambda: PrivateBooster(n_rounds=20, additive=True, random_state=0),
    "booster with δ": lambda: PrivateBooster(delta=1e-5, random_state=0),
    "Pearson tree": lambda: PearsonTree(random_state=0),
    "eDPRF": lambda: EDPRF(n_trees=3, random_state=0),
    "DiffPRFs": lambda: DiffPRFs(n_trees=2, random_state=0),
}
SIZES = (1_000_000, 2_500_000, 5_000_000, 10_000_000)


def make(rows: int, out: Path) -> None:
    """Records like those of the stand-in: each is a copy of one, a tenth of its values taken from others."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = dpnb.load("adult-standin")
    X, y = data.train
    frame = X.assign(**{data.domain.target: y})
    out.mkdir(parents=True, exist_ok=True)
    for file in tqdm(range(-(-rows // FILE_ROWS)), unit="file"):
        path = out / f"{file:05d}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng([17, file])
        base, other = rng.integers(len(frame), size=(2, FILE_ROWS))
        columns = {}
        for name in frame:
            row = base if name == data.domain.target else np.where(rng.random(FILE_ROWS) < 0.1, other, base)
            columns[str(name)] = frame[name].to_numpy()[row]
        columns["id"] = np.arange(file * FILE_ROWS, (file + 1) * FILE_ROWS)
        part = path.with_suffix(".part")
        pq.write_table(pa.table(columns), part)
        part.rename(path)


class Memory:
    """Largest memory of this process, of Java, and of the Python workers together, in MB, seen every 0.2 s."""

    def __init__(self) -> None:
        self.peak = {"driver_mb": 0.0, "java_mb": 0.0, "workers_mb": 0.0, "all_mb": 0.0}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(0.2):
            now = dict.fromkeys(self.peak, 0.0)
            for pid in descendants(os.getpid()):
                kind = (
                    "driver_mb"
                    if pid == os.getpid()
                    else "java_mb"
                    if name_of(pid) == "java"
                    else "workers_mb"
                )
                now[kind] += resident(pid)
            now["all_mb"] = sum(now.values())
            self.peak = {kind: max(self.peak[kind], now[kind]) for kind in now}


def read(pid: int, file: str) -> str:
    try:
        return Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8")
    except OSError:
        return ""


def name_of(pid: int) -> str:
    return read(pid, "comm").strip()


def resident(pid: int) -> float:
    """Proportional memory of a process: what workers share with their parent counts once."""
    found = [line for line in read(pid, "smaps_rollup").splitlines() if line.startswith("Pss:")]
    return float(found[0].split()[1]) / 1024 if found else 0.0


def descendants(pid: int) -> list[int]:
    children = [int(child) for child in read(pid, f"task/{pid}/children").split()]
    threads = (
        [int(t.name) for t in Path(f"/proc/{pid}/task").iterdir()]
        if Path(f"/proc/{pid}/task").exists()
        else []
    )
    for thread in set(threads) - {pid}:
        children += [int(child) for child in read(pid, f"task/{thread}/children").split()]
    return [pid, *(below for child in children for below in descendants(child))]


def run(data: Path, rows: int, cores: int, model: str, attributes: int) -> dict[str, Any]:
    """Train once through Spark; seconds of the encoding and of every pass, and the largest memory."""
    # Two tasks a core of about equal size, so that all cores are busy to the end.
    megabytes = max(1, round(rows * 13.1 / (2 * cores) / 2**20))
    session = spark.local_session(
        cores=cores,
        memory="2g",
        spark__sql__files__maxPartitionBytes=f"{megabytes}m",
        spark__sql__files__openCostInBytes="0",
    )
    domain = dpnb.load("adult-standin").domain
    domain = domain.subset(domain.names[:attributes])
    files = [str(data / f"{i:05d}.parquet") for i in range(rows // FILE_ROWS)]
    passes: list[float] = []
    asked = blocks.Encoding.run

    def timed(encoding: Any, task: Any, **keys: bool) -> Any:
        began = time.perf_counter()
        answer = asked(encoding, task, **keys)
        passes.append(time.perf_counter() - began)
        return answer

    blocks.Encoding.run = timed  # type: ignore[method-assign]
    with Memory() as memory:
        # A strict table is checked, and with that encoded, before the first pass.
        table = spark.SparkTable(session.read.parquet(*files), domain, key="id", strict=True)
        began = time.perf_counter()
        if model == "DiffPRFs":
            table.all_values()
        elif model.startswith("booster"):
            table.scored(finest_cuts(domain, uniform=31, geometric=24), loss_of(domain.n_classes))
        else:
            table.binned(public_grid(domain))
        encoded = time.perf_counter()
        fitted = MODELS[model]().fit(table)
        done = time.perf_counter()
    partitions = table._encodings[0].partitions
    session.stop()
    return {
        "model": model,
        "rows": rows,
        "cores": cores,
        "partitions": partitions,
        "attributes": attributes,
        "encode_s": round(encoded - began, 2),
        "fit_s": round(done - encoded, 2),
        "passes": len(passes),
        "pass_s": round(float(np.median(passes)), 3),
        "pass_list_s": " ".join(f"{p:.2f}" for p in passes),
        **{kind: round(mb) for kind, mb in memory.peak.items()},
        "epsilon": fitted.ledger_.epsilon,
    }


def add(line: dict[str, Any]) -> None:
    """Add a line to the results, in place of an earlier one of the same run."""
    keys = ["model", "rows", "cores", "attributes"]
    table = pd.DataFrame([line])
    if RESULTS.exists():
        table = pd.concat([pd.read_csv(RESULTS), table]).drop_duplicates(keys, keep="last")
    write_whole(RESULTS, table.sort_values(keys).to_csv(index=False))


def run_all(data: Path) -> None:
    """Every model on the largest table; two of them on all sizes with one core and two, and on half the attributes."""
    studied = ("booster", "Pearson tree")
    wanted = [(model, rows, cores, 14) for model in studied for rows in SIZES for cores in (1, 2)]
    wanted += [(model, rows, 2, 7) for model in studied for rows in (SIZES[0], SIZES[-1])]
    wanted += [(model, SIZES[-1], 2, 14) for model in MODELS if model not in studied]
    for model, rows, cores, attributes in tqdm(wanted, unit="fit"):
        numbers = ["--rows", str(rows), "--cores", str(cores), "--attributes", str(attributes)]
        asked = [sys.executable, __file__, "run", "--data", str(data), "--model", model, *numbers]
        subprocess.run(asked, check=True)


@command()
def main(arguments: Sequence[str], /) -> int:
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("make", "run", "all"))
    parser.add_argument("--data", "--out", type=Path, required=True, help="folder of the Parquet files")
    parser.add_argument("--rows", type=int, default=SIZES[-1], help=f"a multiple of {FILE_ROWS}")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--attributes", type=int, default=14, help="the first so many of 14")
    parser.add_argument("--model", choices=MODELS, default="booster")
    options = parser.parse_args(arguments)
    if options.what == "make":
        make(options.rows, options.data)
    elif options.what == "all":
        run_all(options.data)
    else:
        line = run(options.data, options.rows, options.cores, options.model, options.attributes)
        add(line)
        announce(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
