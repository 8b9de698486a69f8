"""The page of the benchmarks, made from their table: ``python benchmarks/run.py page`` writes it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from private_trees.site.templates import environment

RESULTS = Path("results") / "benchmarks.csv"
PAGE = Path("book") / "benchmarks.md"
COLUMNS = [
    "date", "commit", "version", "python", "numpy", "sklearn",
    "case", "peer", "data", "rows", "ratio", "lower", "upper", "pairs", "peer_seconds", "peak_mb",
    "first_seconds",
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
    "booster": "`PrivateBooster(n_rounds=60)`, pure ε: 60 stumps, some of the last ones products of two",
    "booster-delta": "`PrivateBooster(n_rounds=60, delta=1e-5)`: 60 stumps, and all other stages",
    "booster-defaults": "`PrivateBooster()`, pure ε = 1",
    "booster-delta-defaults": "`PrivateBooster(delta=1e-5)`, ε = 1: 150 stumps, up to 8 groups, 20 sweeps",
    "booster-delta-5": "`PrivateBooster(delta=1e-5, epsilon=5)`: up to 16 groups",
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
    "booster-delta-defaults": 1.5,
}


def read(path: Path) -> pd.DataFrame:
    """Rows of all runs in the order in which they were measured; none if there is no file."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(
        path, dtype=dict.fromkeys(WORDS, str), keep_default_na=False, na_values={"first_seconds": ""}
    )


def of_one_commit(history: pd.DataFrame, what: str) -> pd.DataFrame:
    """Rows of the last of the commits that measured most of ``what``: ratios of two commits differ by their code."""
    measured = history.groupby("commit", sort=False)[what].nunique()
    return history[history["commit"] == measured.index[measured == measured.max()][-1]]


def page(history: pd.DataFrame) -> str:
    """MyST of the page."""
    order = {case: place for place, case in enumerate(MEANING)}
    latest = of_one_commit(history, "case").drop_duplicates(["case", "data"], keep="last")
    adult = latest[latest["data"] == "adult"]
    by_size = latest.sort_values(["rows", "case"], key=lambda c: c.map(order) if c.name == "case" else c)
    binning = history[history["case"] == "booster-binning"]
    peer = history.query("peer == 'forest' and data == 'adult'")["peer_seconds"]
    return (
        environment(Path(__file__).parent)
        .get_template("page.md.jinja")
        .render(
            meaning=MEANING,
            targets=TARGETS,
            on_adult=dict(zip(adult["case"], adult["ratio"], strict=True)),
            latest=list(by_size.itertuples()),
            growth=list(of_one_commit(binning, "rows").itertuples()) if len(binning) else [],
            peer=peer,
            runs=history[WORDS[:6]].drop_duplicates().itertuples(),
            history=history.itertuples(),
        )
    )
