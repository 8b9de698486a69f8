"""Appendix to chapter 5: readings, sizes, attacks and full tables of the Pearson tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd

from dpnb.arrays import Floats
from dpnb.records.memory import Records
from dpnb.replay.neighbours import Part

from .. import experiments
from ..exercises import pearson as exercises
from ..site.notebook import integer
from ..site.observations import observe
from ..studies import pearson as grids
from ..studies.runs import INF
from ..studies.targets import MOST_SHOWN, Target
from ..tables import shared as tables
from ..tables.edprf import z_values
from . import pearson

PARAMETERS = pearson.PARAMETERS | {"repeats": integer(low=2)}
ORDER = [
    grids.AS_WRITTEN,
    grids.CHOICES_DRAWN,
    grids.MADE_PRIVATE,
    *(f"S, m = {m}" for m in grids.SHARDS),
    "C",
    "C, h = 6",
    *grids.OTHERS,
]
"""Rows of the tables of the comparison; the first two have no finite ε."""
BY_RECORD, BY_POSITION = "shards by record", "blocks by position"


# --- Exact releases -------------------------------------------------------------------------------------------


def larger_sets(names: Iterable[str]) -> pd.DataFrame:
    """All records of D′ of each target's pair, with their classes, side by side."""
    pairs: dict[str, Part] = {name: grids.TARGETS[name].pair.second for name in names}
    return pd.concat(
        {name: X.assign(label=y).reset_index(drop=True) for name, (X, y) in pairs.items()}, axis=1
    )


def occurrences(target: Target, *, fits: int, seed: int) -> dict[str, pd.Series[float]]:
    """How often each value of what an attack looks at occurs, on both data sets of its pair."""
    found, look = {}, cast(Callable[[Any], Floats], target.observe)
    for side in ("first", "second"):
        own = Records(*getattr(target.pair, side), domain=target.pair.domain)
        trees = [target.make(epsilon=1.0, random_state=seed + s).fit(own) for s in range(fits)]
        values = pd.Series([round(look(tree)[0], 3) for tree in trees])
        found[side] = values.value_counts(normalize=True).sort_index()
    return found


# --- Grids ----------------------------------------------------------------------------------------------------


def rates(p: SimpleNamespace) -> pd.DataFrame:
    """Accuracy of variant S at both rates."""
    named = pearson.NAMES | {"adult-standin": "stand-in"}
    return experiments.points("pearson_rate", p).replace({"dataset": named})


def by_method(points: pd.DataFrame) -> pd.DataFrame:
    """Rows of a grid by method, data set and ε."""
    return points.set_index(["method", "dataset", "epsilon"]).sort_index()


def lead(rows: pd.DataFrame, one: str, other: str) -> tuple[pd.Series[float], pd.Series[float]]:
    """How far the mean of one is above that of another, by cell: as a difference, and in standard errors."""
    x, y = (pd.DataFrame(rows.loc[name]) for name in (one, other))
    return x["mean"] - y["mean"], z_values(x, y)


def accuracies(points: pd.DataFrame, dataset: str) -> tables.Shown:
    """Accuracy on a data set, a row a method, a column an ε."""
    found = points[points["dataset"] == dataset].pivot_table("mean", "method", "epsilon").loc[ORDER]
    found.columns = pd.Index([f"{e:g}" if np.isfinite(e) else "∞" for e in found.columns])
    return tables.shown(found.rename_axis(None), f"{dataset}: test accuracy by claimed ε", formats="{:.3f}")


def without_noise(points: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of the patent's tree without noise and of CART, a row a tree and depth, a column a data set."""
    trees = [f"{tree}{h}" for tree in (grids.NO_NOISE, grids.CART) for h in ("", ", h = 6")]
    exact = points.query("epsilon == inf").pivot_table("mean", "method", "dataset")
    return exact.loc[trees].rename_axis(index=None, columns=None)


def spreads(points: pd.DataFrame) -> pd.DataFrame:
    """Mean, spread and range of the accuracy at a claim of 1, and AUC, by data set and method."""
    one = points.query("epsilon == 1").set_index(["dataset", "method"])
    rows = [(name, method) for name in one.index.unique("dataset") for method in ORDER]
    return one[["mean", "sd", "lowest", "highest", "auc"]].loc[rows].rename_axis(["", ""])


def by_number(points: pd.DataFrame) -> pd.DataFrame:
    """Rows at a claim of 1 of shards by record and of blocks by position, in the order of their number."""
    one = points.query("epsilon == 1")
    one = one[one["method"].str.fullmatch(r"(shards|blocks), m = \d+")]
    kind = one["method"].str.partition(", m = ")
    label = kind[0].map({"shards": BY_RECORD, "blocks": BY_POSITION})
    return one.assign(shards=kind[2].astype(int), label=label).sort_values("shards")


def shards_table(divided: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by the number of shards and of blocks, and the ledger's ε of the blocks."""
    table = divided.pivot_table("mean", "shards", ["label", "dataset"])
    blocks = divided[divided["label"] == BY_POSITION]
    table["ledger's ε", ""] = blocks.groupby("shards")["ledger_epsilon"].max()
    return table.rename_axis(["", ""], axis=1)


def steps_table(ladder: pd.DataFrame) -> pd.DataFrame:
    """Accuracy and AUC after each step, by data set and ε."""
    steps = ladder.pivot_table(["mean", "auc"], "method", ["dataset", "epsilon"])
    steps.index = pd.Index([f"{step} ({grids.STEPS[step][1]})" for step in steps.index])
    steps = steps.rename(columns="ε = {:g}".format, level="epsilon")
    return steps.rename(columns={"mean": "accuracy", "auc": "AUC"}).rename_axis(["", "", ""], axis=1)


def rates_table(rated: pd.DataFrame) -> pd.DataFrame:
    """Accuracy, its spread and AUC at both rates, by data set and ε."""
    wide = rated.pivot_table(["mean", "sd", "auc"], ["dataset", "epsilon"], "method").swaplevel(axis=1)
    wide = wide.sort_index(axis=1)[list(grids.RATES)].rename_axis(["", ""], axis=1)
    return wide.rename(columns={"mean": "accuracy"})


def booked_for_one(*, seed: int) -> dict[tuple[int, int], float]:
    """The ledger's ε for a claim of 1 of the last two variants that are replayed, at one level and at two."""
    pair, last = grids.separated(), list(grids.REPLAYED)
    how: dict[str, Any] = {"epsilon": 1.0, "domain": pair.domain, "random_state": seed}
    return {
        (k, h): grids.REPLAYED[last[k]](max_depth=h, **how).fit(*pair.first).ledger_.epsilon
        for k in (-2, -1)
        for h in (1, 2)
    }


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_codes(coded: Mapping[int, float], numbered: Mapping[int, float], averaged: Mapping[str, float]) -> None:
    """Class numbers; codes and averaged points."""
    observe("pearson-class-numbers", "has the coefficient {:.0f} or {:.3f}",
            lambda c: c[1] < 1e-12 and c[2] > 0.8, coded, says=[coded[1], coded[2]])
    observe("pearson-category-numbers", "reaches the coefficient {:.3f} or only {:.3f}",
            lambda n: n[2] > 1 - 1e-9 and n[1] < 0.51, numbered, says=[numbered[2], numbered[1]])
    observe("pearson-mean-point", "has a coefficient of {:.3f}, while the best cut has {:.3f}",
            lambda a: 0 < a["mean"] < a["best"] / 4, averaged, says=[averaged["mean"], averaged["best"]])


def check_floor(floor: pd.DataFrame) -> None:
    """The floor of a mean."""
    observe("pearson-floor", "grows with $m$; from 64 subsets on the means lie within three per cent of it",
            lambda f: f["floor"].is_monotonic_increasing
            and (abs(f["mean |φ|"] / f["floor"] - 1)[[64, 400]] < 0.03).all(), floor)


def check_exact(occurred: Mapping[str, Mapping[str, pd.Series[float]]]) -> None:
    """Exact releases, with all choices drawn."""
    observe("pearson-one-side",
            "outputs that occur on one data set only, in both tables: half of the time or nearly so",
            lambda tables: all(0.4 < t[a][~t[a].index.isin(t[b].index)].sum() < 0.6
                               for t in tables for a, b in (("first", "second"), ("second", "first"))),
            list(occurred.values()))


def check_size(grown: Mapping[int, tuple[int, int]], attributes: int, leaves: int, depth: int) -> None:
    """Order and size of the tree; the top of variant C."""
    observe("pearson-run-out", "from $h=4$ on the attributes run out, and some leaves are forgotten",
            lambda g, n: g[2] == (3, 0) and all(g[h][0] == n and g[h][1] > 0 for h in (4, 6)), grown, attributes)
    observe("pearson-full", "with {:.0f} leaves at depth {:.0f}", lambda leaves, depth: leaves == 2**depth,
            leaves, depth, says=[leaves, depth])


def check_live(live: pd.DataFrame, majority: float) -> None:
    """Live comparison."""
    seen = live["accuracy"].unstack()
    behind = seen.loc["as written"] - seen
    observe("pearson-live-text", "stays within two points of the majority class at both budgets, while without noise "
            "it is nearly nine points ahead",
            lambda t: abs(t[0.1]) < 0.02 and 0.085 < t[np.inf] < 0.09 and abs(t[1.0]) < 0.02,
            seen.loc["text, made private"] - majority)
    observe("pearson-live-repaired", r"at $\varepsilon=0.1$ variant C still is, and variant S is not",
            lambda c, s: (c < 0.02).all() and s[1.0] < 0.02 and s[0.1] > 0.03, behind.loc["C"], behind.loc["S"])


def check_comparison(points: pd.DataFrame) -> None:
    """Full tables of the comparison: the patent, and both variants."""
    rows, mean = by_method(points.query("epsilon < inf")), by_method(points)["mean"]
    cost = {n: mean[grids.AS_WRITTEN, n, 1.0] - mean[grids.CHOICES_DRAWN, n, 1.0] for n in pearson.NAMES.values()}
    observe("pearson-draw-costs", r"costs {:.3f} on Adult and {:.3f} on Robot at $\varepsilon=1$",
            lambda c: min(c.values()) > 0, cost, says=[cost["Adult"], cost["Robot"]])
    gap = mean[grids.NO_NOISE, "Robot", INF] - mean[grids.MADE_PRIVATE, "Robot", 1.0]
    observe("pearson-text-robot", "stays {:.2f} below the tree without noise on Robot", lambda g: g > 0.4, gap,
            says=[gap])
    _, z = lead(rows, "S, m = 400", "C")
    observe("pearson-s-bank", "C is ahead on average at every budget, by more than two standard errors at "
            r"$\varepsilon=2$ and 5 only",
            lambda z: (z < 0).all() and z.index[z < -2].tolist() == [2.0, 5.0], z["Bank"])
    observe("pearson-s-robot", "on Robot at the two budgets that were run, by more than two standard errors at "
            r"$\varepsilon=.1$ only",
            lambda z: len(z) == 2 and (z < 0).all() and z.index[z < -2].tolist() == [0.1], z["Robot"])
    exact = mean.xs("Adult", level="dataset").xs(INF, level="epsilon")
    own, grid_top, top = exact[["C", "S, m = 1", grids.NO_NOISE]]
    observe("pearson-c-top", "has {:.3f} on Adult. On the same grid the coefficient has {:.3f} without noise (S with "
            "one shard): the difference of {:.3f} is the price of a criterion that prefers balanced cuts. The patent's "
            "tree without noise, which cuts at values of the records, has {:.3f}",
            lambda c, on_grid, top: c + 0.01 < on_grid < top, own, grid_top, top,
            says=[own, grid_top, grid_top - own, top])


def check_depth_and_others(points: pd.DataFrame) -> None:
    """Full tables of the comparison: six levels, and the other private learners."""
    rows = by_method(points.query("epsilon < inf"))
    six, six_z = lead(rows, "C, h = 6", "C")
    z = six_z.unstack("dataset")
    observe("pearson-six", r"at $\varepsilon=5$ by {:.3f} on Adult and {:.3f} on Robot",
            lambda z: (z.loc[5.0] > 2).all(), z, says=[six["Adult", 5.0], six["Robot", 5.0]])
    observe("pearson-four", r"At $\varepsilon=.1$ four levels are better on Robot; on Adult and Bank the difference "
            "is within two standard errors",
            lambda z: z["Robot"] < -2 and (z[["Adult", "Bank"]].abs() < 2).all(), z.loc[0.1])
    private = rows["mean"].unstack("method")[ORDER[2:]]
    observe("pearson-booster-each", "the booster is ahead of every other private one on Adult and Bank at each budget",
            lambda t: (t["PrivateBooster"] > t.drop(columns="PrivateBooster").max(axis=1)).all(),
            private.loc[["Adult", "Bank"]])
    observe("pearson-c-robot", r"variant C leads on average up to $\varepsilon=1$",
            lambda t: (t["C"] > t.drop(columns=["C", "C, h = 6"]).max(axis=1)).all(), private.loc["Robot"].loc[:1.0])


def check_shards(divided: pd.DataFrame) -> None:
    """How many shards?"""
    _, apart = lead(divided.set_index(["label", "dataset", "shards"]).sort_index(), BY_RECORD, BY_POSITION)
    observe("pearson-blocks-same", "differ in accuracy by less than two standard errors everywhere",
            lambda z: len(z) == 12 and (z.abs() < 2).all(), apart)
    booked = shards_table(divided)["ledger's ε", ""].dropna()
    observe("pearson-blocks-ledger", "a ledger that grows with $m$, to {:.1f} at 64 blocks",
            lambda t: t.is_monotonic_increasing, booked, says=[booked[64]])
    own = divided[divided["label"] == BY_RECORD].astype({"shards": str}).set_index(["shards", "dataset"])
    gains = {m: lead(own, f"{m}", "1") for m in (4, 8, 16, 400)}
    rise = gains[400][0]
    observe("pearson-sixteen", "no gain over one shard is as large as two standard errors; at 400 it is {:.3f} "
            "higher than with one on Adult and {:.3f} on Robot",
            lambda z: (z[[4, 8, 16]] < 2).all().all() and (z[400] > 2).all(),
            pd.DataFrame({m: z for m, (_, z) in gains.items()}), says=[rise["Adult"], rise["Robot"]])


def check_steps(ladder: pd.DataFrame) -> None:
    """The price of each step, in numbers."""
    rows, steps = by_method(ladder), list(grids.STEPS)
    drawn, _ = lead(rows, steps[1], steps[0])
    observe("pearson-step-1-cost", "the draw costs {:.3f} on Adult", lambda s: s < -0.05, drawn["Adult", 1.0],
            says=[-drawn["Adult", 1.0]])
    lost, lost_z = lead(rows, steps[2], steps[5])
    observe("pearson-steps-together", "lose no two standard errors either: the most is {:.3f}, on Robot at "
            r"$\varepsilon=1$", lambda t, lost: (t < 2).all() and lost.idxmax() == ("Robot", 1.0), lost_z, lost,
            says=[lost.max()])
    mended, mended_z = lead(rows, steps[9], steps[5])
    observe("pearson-steps-6-9", r"On Adult all four together bring {:.3f} at $\varepsilon=0.1$, just over two "
            r"standard errors, and cannot be told from 0 at $\varepsilon=1$",
            lambda z: 2 < z["Adult", 0.1] < 2.2 and abs(z["Adult", 1.0]) < 2, mended_z, says=[mended["Adult", 0.1]])
    observe("pearson-steps-6-9-robot", "on Robot they lose {:.3f} and win {:.3f}, both within two standard errors",
            lambda z: -2 < z["Robot", 0.1] < 0 < z["Robot", 1.0] < 2, mended_z,
            says=[-mended["Robot", 0.1], mended["Robot", 1.0]])
    back = lead(rows, steps[10], steps[9])[0] / lead(rows, steps[0], steps[9])[0]
    observe("pearson-step-10-small", "brings back {:.2f} of what was lost on Adult and {:.2f} on Robot at "
            r"$\varepsilon=0.1$", lambda b: (b > 0.3).all() and b["Adult", 0.1] > b["Robot", 0.1], back,
            says=[back[d, 0.1] for d in ("Adult", "Robot")])
    observe("pearson-step-11", "what it gains is within two standard errors here",
            lambda z: (z.abs() < 2).all() and z.max() > 1, lead(rows, steps[11], steps[10])[1])


def check_rates(rated: pd.DataFrame) -> None:
    """The price of the sensitivity alone."""
    rows, (loose, tight), both = by_method(rated), grids.RATES, ("Adult", "stand-in")
    ahead, z = lead(rows, tight, loose)
    observe("pearson-rate-small", r"by {:.3f} on Adult and {:.3f} on the stand-in at $\varepsilon=.25$, and by {:.3f} "
            r"and {:.3f} at $\varepsilon=.5$, each by more than two standard errors",
            lambda z: all(z[d, e] > 2 for d in both for e in (0.25, 0.5)), z,
            says=[ahead[d, e] for e in (0.25, 0.5) for d in both])
    auc = rows.loc[tight]["auc"] - rows.loc[loose]["auc"]
    observe("pearson-rate-auc", r"in AUC by {:.3f} and {:.3f} at $\varepsilon=.25$", lambda a: (a > 0).all(), auc,
            says=[auc[d, 0.25] for d in both])
    observe("pearson-rate-large", "the lead is {:.3f} on Adult and cannot be told from 0 on the stand-in; at "
            r"$\varepsilon=2$ it cannot on either", lambda z: z["Adult", 1.0] > 2
            and abs(z["stand-in", 1.0]) < 2 and all(abs(z[d, 2.0]) < 2 for d in both), z, says=[ahead["Adult", 1.0]])


def check_attacks(attacks: pd.DataFrame) -> None:
    """Audit: attacks on single defects."""
    observe("pearson-attack-most", "No attack of that length can show more than {:.2f} at 95 %",
            lambda bounds, top: 8 < bounds.max() < top + 0.005, attacks["lower_95"], MOST_SHOWN, says=[MOST_SHOWN])
    claimed = attacks.set_index("claim", append=True)
    low = claimed["lower_95"]
    worst_b = [exercises.block_losses(m, 1, 1.0)[1] for m in (8, 16)]
    of_blocks = [low[f"blocks by position, m = {m}", "1"] for m in (8, 16)]
    observe("pearson-attack-blocks", "says, {:.2f} for $m=8$ and {:.2f} for $m=16$ where $b$ is chosen: the attacks "
            "certify {:.2f} and {:.2f}",
            lambda b, w: all(0.85 * y < x <= y for x, y in zip(b, w, strict=True)) and b[0] > 1, of_blocks, worst_b,
            says=[*worst_b, *of_blocks])
    observe("pearson-attack-record", "shards by record show {:.2f}", lambda b: abs(b) < 0.005,
            low["repaired: S, m = 8", "1"], says=[low["repaired: S, m = 8", "1"]])
    levels, surer = (claimed[bound]["a budget for each level, h = 4"] for bound in ("lower_95", "lower_99"))
    observe("pearson-attack-two", r"At $\varepsilon_1=2$ the attack certifies a violation, with {:.2f} at 95 % and "
            "{:.2f} at 99 % confidence", lambda u: u["2"] > 2, surer, says=[levels["2"], surer["2"]])
    exact = exercises.path_loss(1.0, 16, 8, 4)
    observe("pearson-attack-one", "the exact loss, {:.2f} by the formula, is so little above the claim that 20 000 "
            "runs show {:.2f} at 95 % and no violation at 99 %: {:.2f}",
            lambda d, t, u: d > t["1"] >= 1 > u["1"], exact, levels, surer, says=[exact, levels["1"], surer["1"]])
    endless = attacks["lower_95"][attacks.index.str.contains("arg-max|points|one class")]
    observe("pearson-attack-endless", "bounds from {:.2f} to {:.2f}", lambda e: len(e) == 3 and e.min() > 5, endless,
            says=[endless.min(), endless.max()])
    good = attacks[attacks["theory"] == "holds"]["lower_95"]
    observe("pearson-attack-repaired", "keep to their claims, and the tight case, with {:.2f} of 1",
            lambda g: g.max() <= 1 and g["repaired, tight: a leaf"] > 0.9, good, says=[good["repaired, tight: a leaf"]])


def check_replays(replays: pd.DataFrame, booked: Mapping[tuple[int, int], float]) -> None:
    """Audit: replays of variants with a finite ledger."""
    largest = ["class numbers", "S, m = 3"]
    others = replays["worst_share"].drop(largest)
    observe("pearson-replays-none", r"There are none in any variant; the largest is {:.2f} of the ledger's "
            r"$\varepsilon$, with class numbers and likewise with three shards",
            lambda t: (t["above_the_ledger"] == 0).all() and 0.5 < t["worst_share"].max() <= 1
            and t["worst_share"].nlargest(2).index.tolist() == largest
            and t["worst_share"].nlargest(2).round(2).nunique() == 1, replays, says=[replays["worst_share"].max()])
    observe("pearson-replays-nine", "In the other nine variants the largest is {:.2f}",
            lambda t: len(t) == 9 and t.max() < 0.8, others, says=[others.max()])
    observe("pearson-replays-last", "The last two rows are booked at more than they claim, but for the last at one "
            "level, and keep to that", lambda t, b: t["worst_share"].iloc[-2:].between(0.01, 1).all()
            and abs(b[-1, 1] - 1) < 1e-9 and min(b[-2, 1], b[-2, 2], b[-1, 2]) > 1.1, replays, booked)


def check_shuffle(shuffled: Mapping[int, int]) -> None:
    """MapReduce."""
    observe("pearson-shuffle", "a shuffle of variant S is $m$ times that of variant C",
            lambda c: all(counts == m * c[1] > 0 for m, counts in c.items()), shuffled)
