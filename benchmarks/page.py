"""The page of the benchmarks, made from their table: ``python benchmarks/run.py page`` writes it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

RESULTS = Path("results") / "benchmarks.csv"
PAGE = Path("book") / "benchmarks.md"
COLUMNS = [
    "date", "commit", "version", "python", "numpy", "sklearn",
    "case", "peer", "data", "rows", "ratio", "lower", "upper", "pairs", "peer_seconds", "peak_mb",
]  # fmt: skip
KEY = ["case", "data", "commit"]
WORDS = ["date", "commit", "version", "python", "numpy", "sklearn", "case", "peer", "data"]

MEANING = {
    "diffprfs": "`DiffPRFs()`, repaired: 25 trees of depth 5 on Poisson bags",
    "diffprfs-disjoint": "`DiffPRFs(bags=\"disjoint\")`: each record in one of the 25 trees",
    "diffprfs-as-written": "`DiffPRFs.as_written()`: 25 trees on bootstrap bags",
    "edprf": "`EDPRF()`, repaired: 3 trees of depth 6 on disjoint bags",
    "pearson-c": "`PearsonTree`, variant C: one tree of depth 4, covariation",
    "pearson-s": "`PearsonTree`, variant S: one tree of depth 4, mean correlation over 400 shards",
    "booster": "`PrivateBooster(n_rounds=60)`, pure ε",
    "booster-delta": "`PrivateBooster(n_rounds=60, delta=1e-5)`",
    "booster-binning": "the same fit as `booster`, against the other peer",
    "door-bins": "records door: encode the frame and find every value's bin on the public grid",
    "door-level": "records door: counts of one level of 8 nodes, for every condition of the grid and class",
}  # fmt: skip
TARGETS = {
    "diffprfs": 1.0,
    "diffprfs-disjoint": 1.0,
    "edprf": 1.0,
    "pearson-c": 0.5,
    "pearson-s": 0.5,
    "booster": 0.3,
    "booster-delta": 0.3,
}

HEAD = """\
# Benchmarks

<!-- Made from results/benchmarks.csv by `python benchmarks/run.py page`. Do not change this page by hand. -->

How fast the estimators are. A *ratio* is the CPU time of ours divided by the CPU time of a peer from scikit-learn, on
the same records in the same run: below 1, ours takes less.

There are two peers, and all run on one thread:

- **forest**: the fit of `RandomForestClassifier(25, max_depth=5)`, which is not private;
- **binning**: what every fit of `HistGradientBoostingClassifier` begins with, at most 255 bins an attribute. It
  looks for thresholds in 200,000 records at most, so on more records it takes less than its share.

Ours begins with the data frame as users hold it: its time has all checks and the encoding of categories in it. The
peers get a matrix of numbers that is encoded already; the forest gets the labels as they are.

Ours and the peer take turns. A row holds the median of the ratios of all pairs, and their quartiles. Peak memory is
the most that Python and NumPy allocate at a time during the fit, above the loaded data, in a process of its own.

`make bench` measures on your machine, adds rows to `results/benchmarks.csv` and writes this page again;
`python benchmarks/run.py --help` lists the options.

## What is timed

"""
TAIL = """\
## What is not measured

- Prediction, audits, plots and the notebooks.
- More than one thread. {doc}`../notebooks/08_scale` measures the records door on Spark.
- Waiting for a disk or a download: CPU time leaves it out.
- Memory that libraries allocate past Python and NumPy, and the data frame itself.
- Accuracy: {doc}`../notebooks/07_leaderboard` compares it at equal budgets.
- Other machines. A ratio depends on caches and versions: compare rows of one machine and the same versions.
- A million different records. `x33` stands for 33 copies of the same ones under new keys.
"""


def read(path: Path) -> pd.DataFrame:
    """Rows of all runs in the order in which they were measured; none if there is no file."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(path, dtype=dict.fromkeys(WORDS, str), keep_default_na=False)


def page(history: pd.DataFrame) -> str:
    """MyST of the page."""
    latest = history.drop_duplicates(["case", "data"], keep="last")
    return "\n".join(
        [
            HEAD + _table(["Case", "What"], [[f"`{name}`", what] for name, what in MEANING.items()]),
            "## Targets\n\nOn Adult, against the forest, for the latest measurement of each case.\n",
            _targets(latest[latest["data"] == "adult"]),
            "## Latest measurements\n",
            _latest(latest),
            "## Growth with the records\n\nThe fit of `booster`; seconds are its ratio times those of the peer.\n",
            _growth(latest[latest["case"] == "booster-binning"]),
            "## History\n\nOne line for each commit and case, in the order of the measurements.\n",
            _runs(history),
            _history(history),
            TAIL,
        ]
    )


def _targets(latest: pd.DataFrame) -> str:
    ratios = dict(zip(latest["case"], latest["ratio"], strict=True))
    rows = [
        [
            f"`{case}`",
            f"≤ {target}",
            f"{ratios[case]:.2f}",
            "met" if ratios[case] <= target else "**not met**",
        ]
        for case, target in TARGETS.items()
        if case in ratios
    ]
    return _table(["Case", "Target", "Ratio", "Verdict"], rows)


def _latest(latest: pd.DataFrame) -> str:
    order = {case: place for place, case in enumerate(MEANING)}
    latest = latest.sort_values(["rows", "case"], key=lambda c: c.map(order) if c.name == "case" else c)
    rows = [
        [
            f"`{r.case}`",
            r.peer,
            r.data,
            f"{r.rows:,}",
            _ratio(r),
            r.pairs,
            f"{r.peer_seconds:.2f}",
            _mb(r.peak_mb),
        ]
        for r in latest.itertuples()
    ]
    head = ["Case", "Peer", "Data", "Records", "Ratio (quartiles)", "Pairs", "Peer, s", "Peak, MB"]
    return _table(head, rows)


def _growth(latest: pd.DataFrame) -> str:
    rows = [
        [
            r.data,
            f"{r.rows:,}",
            f"{1e6 * r.ratio * r.peer_seconds / r.rows:.1f}",
            _mb(1e6 * r.peak_mb / r.rows),
        ]
        for r in latest.sort_values("rows").itertuples()
    ]
    return _table(["Data", "Records", "Seconds a million", "Peak MB a million"], rows)


def _runs(history: pd.DataFrame) -> str:
    runs = history[WORDS[:6]].drop_duplicates()
    head = ["Date", "Commit", "`dpnb`", "Python", "NumPy", "scikit-learn"]
    return _table(
        head, [[date, f"`{name}`", *versions] for date, name, *versions in runs.itertuples(index=False)]
    )


def _history(history: pd.DataFrame) -> str:
    rows = [
        [f"`{r.commit}`", f"`{r.case}`", r.data, _ratio(r), _mb(r.peak_mb)]
        for r in history.itertuples(index=False)
    ]
    return _table(["Commit", "Case", "Data", "Ratio (quartiles)", "Peak, MB"], rows)


def _ratio(row: object) -> str:
    return f"{row.ratio:.2f} ({row.lower:.2f}–{row.upper:.2f})"  # type: ignore[attr-defined]


def _mb(value: float) -> str:
    return f"{value:.0f}"


def _table(head: list[str], rows: list[list[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(map(str, cells)) + " |\n" for cells in lines)
