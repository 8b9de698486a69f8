"""Chapter 5: the Pearson tree, its blocks, its exact releases, and what its repair costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from dpaudit.pairs import Pair
from dpnb import load
from dpnb.arrays import Floats, Ints
from dpnb.data.datasets import Dataset
from dpnb.papers.pearson import PearsonTree
from dpnb.records.doors import RecordsDoor
from dpnb.records.memory import Records
from dpnb.trees.scores import ABS_PHI, ABS_S_XY, PHI

from .. import experiments
from ..drawings.pearson import DATAFLOW
from ..exercises.pearson import block_losses, numbered_loss
from ..site.notebook import integer, one_of
from ..site.observations import observe
from ..studies import pearson as grids
from ..studies.runs import INF, MAJORITY
from ..tables.shared import labelled
from . import GRID, LIVE

PARAMETERS = (
    LIVE
    | {"max_depth": integer(low=1, high=7), "n_shards": integer(low=1), "engine": one_of("memory", "spark")}
    | GRID
)
NAMES = {"adult": "Adult", "bank": "Bank", "robot": "Robot"}
MANY_SHARDS = "S, m = 400"
REPAIRED = ("S, m = 8", MANY_SHARDS, "C")


def live_data(p: SimpleNamespace) -> tuple[Dataset, RecordsDoor]:
    """Data set of the live cells, and its training records, counted in memory or by Spark."""
    data = load(p.dataset)
    if p.engine == "spark":
        from dpnb.spark import SparkTable, local_session

        return data, SparkTable.from_pandas(local_session(), *data.train, domain=data.domain)
    return data, Records(*data.train, domain=data.domain)


def choice_losses(by_replay: Callable[..., float]) -> pd.DataFrame:
    """Exact losses of one choice from m blocks of two, by the formulas and by replay, and from subsets by record."""
    cases = ((8, 1, 1.0), (8, 1, 0.5), (16, 1, 1.0), (16, 10, 1.0), (64, 1, 0.1))
    rows = [
        (
            *block_losses(m, copies, epsilon),
            m * epsilon,
            *(by_replay(m, copies, epsilon, shards=shards) for shards in ("position", "record")),
        )
        for m, copies, epsilon in cases
    ]
    columns = ["a drawn", "b drawn", "bound", "replay, blocks", "replay, by record"]
    return pd.DataFrame(rows, pd.MultiIndex.from_tuples(cases, names=["m", "copies", "claimed"]), columns)


def classes_where_c_is_0(pair: Pair) -> dict[str, tuple[int, int]]:
    """Records of class 0 and of class 1 that go to the child c = 0 of the root, on both data sets."""
    counts = [np.bincount(y[X["c"] == 0], minlength=2).tolist() for X, y in (pair.first, pair.second)]
    return dict(zip(("D", "D′: one record more"), map(tuple, counts), strict=True))


# --- Real data ----------------------------------------------------------------------------------------------


def comparison(p: SimpleNamespace) -> pd.DataFrame:
    """Accuracy of the patent, its repairs and other learners; where h is not 4, the method says so."""
    points = experiments.points("pearson", p).replace({"dataset": NAMES})
    deep = np.where(points["max_depth"] == 6, ", h = 6", "")
    return points.assign(method=points["method"] + deep)


def by_cell(points: pd.DataFrame, column: str = "mean") -> pd.Series[Any]:
    """A column of results by data set, method and ε."""
    return points.set_index(["dataset", "method", "epsilon"])[column].sort_index()


def levels(points: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Accuracy on each data set of the tree without noise and of the majority class."""
    named = {"Pearson tree, ε = ∞": grids.NO_NOISE, "majority class": MAJORITY}
    exact = by_cell(points).xs(INF, level="epsilon")
    return {n: {label: exact[n, method] for label, method in named.items()} for n in NAMES.values()}


def curves(points: pd.DataFrame) -> pd.DataFrame:
    """Rows of the figure of accuracy against ε, with a label for each line."""
    methods = (grids.MADE_PRIVATE, *REPAIRED, "PrivateBooster")
    labels = {grids.CHOICES_DRAWN: "text, choices drawn"} | {name: name for name in methods}
    return labelled(points.query("epsilon < inf"), labels)


def at_one(points: pd.DataFrame) -> pd.DataFrame:
    """Accuracy for a claim of ε = 1, a row a method, and the largest ε of its ledgers in words."""
    order = [grids.AS_WRITTEN, grids.CHOICES_DRAWN, grids.MADE_PRIVATE, *REPAIRED, *grids.OTHERS]
    one = points.query("epsilon == 1 and method in @order")
    table = one.pivot_table("mean", "method", "dataset").loc[order].rename_axis(index=None, columns=None)
    truth = one.groupby("method")["ledger_epsilon"].max()
    table.insert(0, "ε, at most", truth.map(lambda e: "∞" if np.isinf(e) else f"{e:.1f}"))
    return table


def price(p: SimpleNamespace) -> pd.DataFrame:
    """Accuracy after each step from the patent to variant C."""
    return experiments.points("pearson_ladder", p).replace({"dataset": NAMES})


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_opener(loss: Floats, points: pd.DataFrame) -> None:
    """The first figure, and the finding."""
    reached = by_cell(points)["Adult"].xs(1.0, level="epsilon")[[MANY_SHARDS, "C", grids.AS_WRITTEN]]

    def near(r: pd.Series[Any]) -> bool:
        return bool(r.iloc[2] > r.iloc[0] > r.iloc[1] > r.iloc[2] - 0.012)

    observe("pearson-opener", r"A choice advertised at $\varepsilon=1$ really costs {:.2f} when it picks $b$, "
            "and {:.2f} when it picks $a$", lambda loss: loss[1] > -loss[0] > 3, loss, says=[loss[1], -loss[0]])
    observe("pearson-finding", "the repair that averages over 400 random parts of the data reaches an accuracy of "
            "{:.3f}, and the one that counts all records together {:.3f}; the patent as written, read with 8 subsets, "
            "has {:.3f}", near, reached, says=reached.tolist())
    observe("pearson-nearly", r"they are nearly as accurate at $\varepsilon=1$ as the patent as written", near, reached)


def check_dataflow(data: Dataset, p: SimpleNamespace) -> None:
    """The patent's idea: what leaves a node is drawn as the ledger has it."""
    tree = PearsonTree.as_written(max_depth=2, domain=data.domain, epsilon=p.epsilon, random_state=p.seed)
    exact = {event.what: event.mechanism == "exact" for event in tree.fit(*data.train).ledger_.events}
    observe("pearson-one-noisy", "one noisy release among four; the three dashed ones are the leaks",
            lambda by, drawn: len(by) == 4 and sum(by.values()) == drawn.count("exact") == 3
            and drawn.count("noise") == 1, exact, [kind for _, _, kind in DATAFLOW.values()])


def check_correlations(by_numpy: float, summed: float, moved: pd.DataFrame) -> None:
    """Correlation from counts, and sensitivities."""
    ten = [[4, 2], [1, 3]]
    observe("pearson-sums", "the summed counts give the coefficient of the whole node",
            lambda a, b: abs(a - b) < 1e-9, by_numpy, summed)
    observe("pearson-by-hand", r"it is $\phi={:.3f}$", lambda s: abs(s - 1) < 1e-9, float(ABS_S_XY(ten)),
            says=[float(PHI(ten))])
    observe("pearson-balanced-only", "only the balanced case falls with $n$",
            lambda t: t.columns[(t.iloc[-1] < t.iloc[0]).to_numpy()].tolist() == ["|φ|, balanced"]
            and t["|φ|, balanced"].is_monotonic_decreasing, moved)
    observe("pearson-covariation-one", "The surplus $S_{xy}$ moves by no more",
            lambda t: t["|S_xy|, worst"].max() <= t["|φ|, worst"].min() and t["|S_xy|, worst"].iloc[-1] > 0.99, moved)


def check_blocks(losses: pd.DataFrame, declared: pd.DataFrame, a: Ints, b: Ints) -> None:
    """Blocks by position, and what the declared sensitivity buys."""
    share = losses["replay, blocks"] / losses["bound"]
    by_claim = losses["replay, by record"] / losses.index.get_level_values("claimed")
    records, _ = grids.shifted(8).second
    with_one, million = declared["δq = 1, a million"], declared["δq = 1/m, a million"]
    observe("pearson-blocks-half", "lose about half of $m$ times the claim where $b$ is not copied",
            lambda s: ((s > 0.4) & (s <= 0.5)).all(), share.xs(1, level="copies"))
    observe("pearson-blocks-copies", "{:.2f} of $m$ times the claim with ten copies",
            lambda s: s.max() == s[3] > 0.6, share.to_numpy(), says=[share.max()])
    observe("pearson-blocks-record", "the same data lose less than the claim, at most {:.2f} of it",
            lambda s: (s < 1).all() and s.max() > 0.2, by_claim, says=[by_claim.max()])
    observe("pearson-same-records", "Blocks by position break it, as the first figure shows", all,
            [np.array_equal(records["a"], a), np.array_equal(records["b0"], b)])
    observe("pearson-declared", "the loss stays below the claim and reaches {:.3f}",
            lambda t: t.max() < 1 and t.iloc[-1] == t.max() > 0.99, with_one, says=[with_one.max()])
    observe("pearson-declared-blocks", "it is {:.3f} at eight blocks and a million copies",
            lambda t: 7 < t[8] < 8, million, says=[million[8]])


def check_ranges(ranges: pd.DataFrame) -> None:
    """How far two cuts move apart."""
    phi, gain, surplus = (ranges[name] for name in ("|φ|", "information gain", "|S_xy|"))
    observe("pearson-range-phi", "the coefficient is at {:.4f} with four records and at {:.4f} from ten records on",
            lambda r: abs(r[4] - 0.5 - 3**-0.5) < 1e-9 and (abs(r[r.index >= 10] - 1) < 1e-9).all()
            and r.idxmax() == 4 and r[6] > 1.04, phi, says=[phi[4], phi[80]])
    observe("pearson-range-gain", "a range of {:.4f} with two records and {:.4f} with eighty",
            lambda r: r.max() < 1 + 1e-9 and r[80] < r[2] - 0.5, gain, says=[gain[2], gain[80]])
    observe("pearson-range-sxy", "grows towards 2 and is {:.4f} with eighty records",
            lambda r: r.is_monotonic_increasing and r[80] < 2, surplus, says=[surplus[80]])


def check_exact_releases(
    drawn: Mapping[str, Floats], points_of: Mapping[str, Sequence[float]], inside: Mapping[str, tuple[int, int]],
    queried: Sequence[float],
) -> None:
    """The choice without a draw; split points, the test for one class, and crafted queries."""
    of_a = [drawn["D"][0], drawn["D'"][0]]
    observe("pearson-drawn", "takes $a$ with probability {:.3f} without the last record and {:.3f} with it, a "
            "log-ratio of {:.2f}", lambda a: 0.4 < a[1] < a[0] < 0.6, of_a, says=[*of_a, np.log(of_a[0] / of_a[1])])
    observe("pearson-argmax", "The arg-max, which takes the larger one, is $a$ without it and $b$ with it",
            lambda d: d["D"].argmax() == 0 and d["D'"].argmax() == 1, drawn)
    observe("pearson-queries", "{:.4f} without the last record and {:.4f} with it",
            lambda q, a, b: np.allclose(q, [np.mean(a), np.mean(b)]) and q[1] > q[0], queried, *points_of.values(),
            says=queried)
    observe("pearson-one-class", "The test for one class does so too, below the root",
            lambda n: n["D"][1] == 0 and list(n.values())[1][1] == 1, inside)


def check_path(path: pd.DataFrame, worst: float, at_two: float) -> None:
    """Budget of a path."""
    observe("pearson-levels-formula", "replay finds the formula's loss",
            lambda a, b: abs(a - b) < 1e-6 and a > 0, float(path["16 attributes"][4]), worst)
    observe("pearson-levels-above", r"with sixteen attributes and four levels it is {:.4f}, above $\varepsilon_1=1$",
            lambda a: a > 1, worst, says=[worst])
    observe("pearson-levels-thousand", "the loss is {:.3f} at eight levels, under a bound of {:.3f}",
            lambda t: 0.9 * t["proved bound"] < t["1000 attributes"] < t["proved bound"], path.loc[8],
            says=[path[name][8] for name in ("1000 attributes", "proved bound")])
    observe("pearson-levels-two", "two levels already lose {:.4f} with the numbers of three classes and ten copies",
            lambda a: 1 < a < 1 + np.sqrt(3) / 4 and abs(a - numbered_loss(1.0, 10)) < 1e-6, at_two, says=[at_two])


def check_repair(paths: Mapping[str, Floats], models: Mapping[str, PearsonTree], *, budget: float) -> None:
    """The repair."""
    root = models["S"].ledger_.events[0]
    observe("pearson-paths", "every path of both variants spends the whole budget",
            lambda found, budget: all(np.allclose(costs, budget) for costs in found.values()), paths, budget)
    observe("pearson-root-range", "the range of the root's choice is {:.4f} times its",
            lambda g, delta: 1 < g / delta < 1.1, root.change_range, root.sensitivity,
            says=[root.change_range / root.sensitivity])


def check_text(points: pd.DataFrame, table: pd.DataFrame) -> None:
    """Accuracy and budget: the patent as written and made private."""
    mean = by_cell(points)
    spread = mean.xs(grids.AS_WRITTEN, level=1).drop(INF, level=1).groupby(level=0).agg(np.ptp)
    lead = [mean[n, grids.MADE_PRIVATE, budget] - mean[n, MAJORITY, INF]
            for n in ("Adult", "Bank") for budget in grids.BUDGETS]
    booked = ABS_PHI.change_range(classes=2) / 2 * 0.5 + 0.5  # h choices of .5/h each, and the leaves
    observe("pearson-flat", "less than .001 on Adult and Bank and by {:.3f} on Robot",
            lambda s: s["Adult"] < 0.001 and s["Bank"] < 0.001 < s["Robot"], spread, says=[spread["Robot"]])
    observe("pearson-text-majority", "stays within a point of the majority class on Adult and Bank at every budget",
            lambda t: (abs(t) < 0.01).all() and t[0] > 0, np.array(lead))
    observe("pearson-text-less", "proves {:.2f} for the patent made private on two classes",
            lambda e, ledger: 0.5 < e < float(ledger), booked, table.loc[grids.MADE_PRIVATE, "ε, at most"],
            says=[booked])


def check_repaired(points: pd.DataFrame, table: pd.DataFrame) -> None:
    """Accuracy and budget: the repaired trees beside other private learners."""
    mean = by_cell(points)
    by_coefficient = pd.Series({n: mean[n, "S, m = 1", INF] - mean[n, "C", INF] for n in NAMES.values()})
    observe("pearson-c-close", "within a point of its own tree without noise at every budget",
            lambda c: (c - c[np.inf]).abs().max() < 0.01 and c[0.1] > 0.8, mean["Adult", "C"])
    observe("pearson-booster-leads", r"ahead of every other private method in the table on Adult and Bank at "
            r"$\varepsilon=1$", lambda t: len(t) == 7 and (t.loc["PrivateBooster"] > t.drop("PrivateBooster").max())
            .all(), table[table["ε, at most"] == "1.0"][["Adult", "Bank"]])
    observe("pearson-better", "without noise the coefficient makes the better tree", lambda t: (t > 0).all(),
            by_coefficient)


def check_shards(points: pd.DataFrame) -> None:
    """Accuracy and budget: variant S with 400 shards against variant C, in standard errors of their difference."""
    rows = points.query("dataset == 'Adult' and method in [@MANY_SHARDS, 'C'] and epsilon < inf")
    mean, error = (rows.pivot_table(column, "epsilon", "method") for column in ("mean", "error"))
    z = 2 * (mean[MANY_SHARDS] - mean["C"]) / (error**2).sum(axis=1) ** 0.5
    observe("pearson-s-adult", r"ahead of C on Adult from $\varepsilon=1$ on, by more than two standard errors",
            lambda z: (z[[1.0, 2.0, 5.0]] > 2).all(), z)
    observe("pearson-s-level", r"level with C at $\varepsilon=.5$ ({:.3f} and {:.3f}) and behind at smaller budgets",
            lambda z: abs(z[0.5]) < 1 and (z[[0.1, 0.25]] < -2).all(), z,
            says=[mean[method][0.5] for method in (MANY_SHARDS, "C")])
    observe("pearson-summary", r"covariation is the more accurate choice up to $\varepsilon=.25$; with 400 shards the "
            "mean coefficient is level with it at .5 and ahead from 1 on",
            lambda z: abs(z[0.5]) < 1 and (z[[1.0, 2.0, 5.0]] > 2).all() and (z[[0.1, 0.25]] < -2).all(), z)


def check_notes(points: pd.DataFrame) -> None:
    """What other pages say: how far a method goes from the majority class to the tree without noise."""
    mean = by_cell(points).unstack("dataset")
    low, high = (mean.xs((method, INF)) for method in (MAJORITY, grids.NO_NOISE))
    way = (mean - low) / (high - low)
    observe("pearson-note-text", "goes less than a quarter of the way from the majority class to the tree without "
            r"noise, on three data sets and up to $\varepsilon=2$; at $\varepsilon=5$ it goes {:.2f} of it on Bank, "
            "and less than a quarter on the other two",
            lambda t: (t.loc[:2.0] < 0.25).all().all() and (t.loc[5.0] < 0.25).tolist() == [True, False, True],
            way.loc[grids.MADE_PRIVATE], says=[way["Bank"][grids.MADE_PRIVATE, 5.0]])
    observe("pearson-note-repaired", "goes more than 60 % of the way, and so does variant C",
            lambda t: (t > 0.6).all().all(), way.xs(1.0, level=1).loc[[MANY_SHARDS, "C"]])


def check_ladder(ladder: pd.DataFrame) -> None:
    """The price of each step."""
    mean, error, ledger = (ladder.pivot_table(column, "method", ["dataset", "epsilon"])
                           for column in ("mean", "error", "ledger_epsilon"))
    step, booked = mean.diff(), ledger["Adult", 1.0].to_numpy()
    z = 2 * step / np.hypot(error, error.shift())
    back = (mean.iloc[10] - mean.iloc[9]) / (mean.iloc[0] - mean.iloc[9])
    observe("pearson-step-1", "costs first: {:.3f} and {:.3f} on Adult, {:.3f} and {:.3f} on Robot",
            lambda s: (s.iloc[1] < -0.05).all(), step, says=(-step.iloc[1]).tolist())
    observe("pearson-step-2", "cost again, by more than two standard errors in each panel",
            lambda z: (z.iloc[2] < -2).all(), z)
    observe("pearson-steps-epsilon", r"At $\varepsilon=1$ it falls from {:.1f} to {:.1f} by the shards and to {:.1f} "
            "by the levels", lambda b: np.isinf(b[2]) and np.isfinite(b[3]) and b[3] > b[4] > b[5]
            and abs(b[5] - 1) < 1e-6, booked, says=booked[3:6].tolist())
    observe("pearson-steps-3-5", "None of these steps, unlike the two before, costs as much as two standard errors",
            lambda z: (z.iloc[3:6] > -2).all().all() and (z.iloc[1:3] < -2).all().all(), z)
    observe("pearson-step-10", r"brings back {:.2f} of what was lost on Adult and {:.2f} on Robot at $\varepsilon=1$",
            lambda b: (b > 0.3).all() and b["Adult", 1.0] > b["Adult", 0.1], back,
            says=[back[d, 1.0] for d in ("Adult", "Robot")])
