"""Appendix to chapter 6: laws of noise rounds, 24 readings, and what the paper's grid shows in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from dpnb.arrays import Floats, Ints
from dpnb.papers.dpada import READINGS, SCHEDULES

from ..site.observations import observe
from ..studies import dpada as grids
from ..studies.targets import MOST_SHOWN
from .dpada import FIXED, IMPROVED, LETTERS, SETS, STAYS, by_method, by_step

ADULT, BANK = SETS.values()
CURVES = {
    LETTERS + "all": "as written: DPAda",
    LETTERS + "swing": "as written: Swing",
    LETTERS + "improved": "as written: Improved",
    STAYS + "improved": "noise stays: Improved",
    "DP-AdaBoost": "DP-AdaBoost",
    "CART-DPsAdaBoost": "CART-DPsAdaBoost",
    IMPROVED: "repaired: Improved",
    "repaired, fixed α: all": "repaired, fixed α",
    FIXED: "repaired, fixed α, δ = 1e-5",
}
"""Methods of Figures 4 to 6, and their labels."""
BASELINES = ["DP-AdaBoost", "CART-DPsAdaBoost"]
SPACED = ["noise stays: improved", "noise stays: swing"]
TEXT_AND_BASELINES = (
    {LETTERS + s: f"as written: {s}" for s in SCHEDULES}
    | {STAYS + s: f"noise stays: {s}" for s in SCHEDULES}
    | {b: b for b in BASELINES}
)
"""Methods that the paper compares, and their labels."""
PAIRS = (("improved", "swing"), ("improved", "random"), ("swing", "random"), ("random", "all"))
RISE = {
    "literal, first, clip0",
    "flat, first, signed",
    *(f"flat, {t}, clip0" for t in ("same", "indep", "first")),
}
"""Readings that clearly rise with B."""
CHAINED = [name for name in READINGS if not name.endswith("raw")]
"""Readings in which noise stays in the weights."""
STAY = set(CHAINED) - RISE - {"flat, indep, signed"}


def variants(points: pd.DataFrame, reading: str) -> pd.DataFrame:
    """Points of the four variants in one reading, with their ``schedule``."""
    start = f"as written ({reading}): "
    mine = points[points["method"].str.startswith(start)]
    return mine.assign(schedule=mine["method"].str.removeprefix(start)).sort_values(["method", "epsilon"])


def by_variant(variants: pd.DataFrame) -> pd.DataFrame:
    """Means over the budgets of accuracy and of the standard deviation between runs, by data set, variant and m."""
    return variants.pivot_table(["mean", "sd"], ["dataset", "schedule"], "n_rounds")


def with_rounds(readings: pd.DataFrame) -> pd.DataFrame:
    """Change of accuracy from 30 to 100 rounds at B = 1 in points, by reading; a column a data set and variant."""
    few, many = (
        readings[readings["n_rounds"] == m].pivot_table("mean", "utility", ["dataset", "method"])
        for m in (30, 100)
    )
    return 100 * (many - few)


def single_runs(rows: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of single runs, and whether the last stump was trained on noisy weights, with names for readers."""
    table: pd.DataFrame = rows.pivot_table("value", ["method", "dataset", "n_rounds", "seed"], "metric")
    table = table.reset_index()
    return table.assign(dataset=table["dataset"].map(SETS), last=table["last"] == 1)


def noise_round_distribution(m: int, rule: str) -> Floats:
    """Exact distribution of the number R of noise rounds among rounds 2 to m.

    Parameters
    ----------
    m : number of rounds, at least 1.
    rule : ``"random"`` (Definition 6), ``"definition7"`` or ``"causal"``.

    Returns
    -------
    (m,) probabilities of R = 0, …, m − 1, by dynamic programming over the last coin.
    """
    if rule == "random":
        return np.asarray(binom.pmf(np.arange(m), m - 1, 0.5), float)
    # Probability of r runs that count so far, by the last coin; under Definition 7 a run at the front counts in full.
    zero, one, result = np.zeros(m), np.zeros(m), np.zeros(m)
    front = 1.0
    for k in range(1, m + 1):
        next_zero, next_one = (zero + one) / 2, one / 2
        next_one[1:] += zero[:-1] / 2
        front /= 2
        if rule == "definition7":
            next_zero[max(k - 2, 0)] += front  # k − 1 ones, then the first zero
        else:
            next_zero[0] += front
        zero, one = next_zero, next_one
        tail = m - k  # all ones after this zero, which are a run without an end
        if rule == "definition7":
            result[tail:] += zero[: m - tail] * 0.5**tail
    if rule == "definition7":
        result[m - 1] += front
        return result
    result = zero + one
    result[0] += front
    return result


def noise_rounds(sizes: Iterable[int]) -> pd.DataFrame:
    """Exact mean, spread and tail of the number R of noise rounds under each rule, a row a number of rounds."""
    rows = []
    for m in sizes:
        law, causal, coins = (
            noise_round_distribution(m, rule) for rule in ("definition7", "causal", "random")
        )
        r, limit = np.arange(m), m // 2
        mean = r @ law
        rows.append(
            {
                "m": m,
                "Swing": limit,
                "Improved: E R": mean,
                "sd": np.sqrt(r**2 @ law - mean**2),
                "P(R > Swing)": law[limit + 1 :].sum(),
                "causal: E R": r @ causal,
                "causal: P(R > Swing)": causal[limit + 1 :].sum(),
                "Random: P(R > Swing)": coins[limit + 1 :].sum(),
            }
        )
    return pd.DataFrame(rows).set_index("m")


def by_rounds(curves: Mapping[tuple[str, str], pd.DataFrame], exact: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of learning curves and of one without noise, a row a case and budget, a column a number of rounds."""
    named = {", ".join(case): curve for case, curve in curves.items()}
    table = pd.concat({**named, "no noise": pd.concat({"": exact})})["accuracy"].unstack()
    table.index.names = [None, "budget"]
    return table.rename_axis(columns="rounds")


def pooled(cells: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean of the means of all cells that agree in some columns, and its standard error."""
    groups = cells.assign(variance=(cells["error"] / 2) ** 2).groupby(by)
    error = groups["variance"].sum() ** 0.5 / groups.size()
    return pd.DataFrame({"mean": groups["mean"].mean(), "error": error})


def lead(cells: pd.DataFrame, column: str, *, of: object, over: object, by: list[str]) -> pd.DataFrame:
    """How far the pooled mean at one value of a column is above that at another: points, and standard errors."""
    means = pooled(cells, [*by, column])
    x, y = (means.xs(value, level=column) for value in (of, over))
    gap = x["mean"] - y["mean"]
    return pd.DataFrame({"points": 100 * gap, "standard errors": gap / np.hypot(x["error"], y["error"])})


def responses(readings: pd.DataFrame, *, majority: float) -> pd.DataFrame:
    """Accuracy of each reading, its rise in standard errors, the lead of its best variant, and spreads of runs."""
    means = pooled(readings, ["utility", "epsilon"])["mean"].unstack()
    spread = readings.pivot_table("sd", "utility", "epsilon").agg(["min", "max"], axis=1)
    table = means.rename(columns={0.1: "B = 0.1", 1.0: "1", 5.0: "5"}).assign(
        rise=lead(readings, "epsilon", of=5.0, over=0.1, by=["utility"])["standard errors"],
        best=readings.groupby("utility")["mean"].max() - majority,
    )
    return table.join(spread).sort_values("rise").rename_axis(index=None, columns=None)


def leads(variants: pd.DataFrame) -> pd.DataFrame:
    """Leads of one variant over another on the whole grid, a row a pair."""
    rows = [lead(variants.assign(pair=f"{x} - {y}"), "schedule", of=x, over=y, by=["pair"]) for x, y in PAIRS]
    return pd.concat(rows).rename_axis(None)


def falls(variants: pd.DataFrame) -> pd.DataFrame:
    """Falls of a mean curve between neighbouring ε, added up, and the standard error of a point, by variant."""
    curves = variants.pivot_table("mean", ["schedule", "dataset", "n_rounds"], "epsilon")
    added = curves.diff(axis=1).clip(upper=0).abs().sum(axis=1).groupby("schedule").mean()
    error = variants.groupby("schedule")["error"].mean() / 2
    return pd.DataFrame({"falls": added, "error": error}).rename_axis(None)


def percents(curves: pd.DataFrame, exact: pd.Series[Any]) -> pd.DataFrame:
    """Accuracy in percent at 50, 70 and 90 rounds, a row a method, a column an ε, and AdaBoost without noise."""
    few = curves[curves["n_rounds"].isin((50, 70, 90))]
    table = few.pivot_table("mean", ["dataset", "n_rounds", "label"], "epsilon", sort=False)
    table = table.mul(100).sort_index(level=[0, 1], sort_remaining=False).rename(columns="{:g}".format)
    table["no noise"] = [100 * exact[name, m] for name, m, _ in table.index]
    table.index.names = [None, "m", None]
    return table.rename_axis(columns=None)


def trends(
    cells: pd.DataFrame, exact: pd.Series[Any], *, with_epsilon: pd.Series[Any], with_m: pd.Series[Any]
) -> pd.DataFrame:
    """How often accuracy clearly rises or falls, the gap to AdaBoost, and the spread of runs, by method and data set.

    Changes with ε and with m are given in standard errors.
    """
    by = ["label", "dataset"]
    clear = {"ε up": with_epsilon > 3, "m up": with_m > 3, "m down": with_m < -3}
    table = pd.DataFrame({name: often.groupby(by).sum() for name, often in clear.items()})
    gap = cells["dataset"].map(exact.groupby("dataset").mean()) - cells["mean"]
    means = cells.assign(gap=gap).groupby(by)[["gap", "sd"]].mean()
    return table.join(means).rename_axis(["method", "data"])


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_algorithm_2(uniform: Mapping[str, float], law: float, moved: Mapping[float, Floats]) -> None:
    """Ten ambiguities, Algorithm 2 alone, and a literal reading in which B cancels."""
    observe("dpada-fifty", "in half of the draws a fifty times larger budget, from 0.1 to 5, moves no weight by more "
            "than {:.4f} of a total of 1; in a tenth of them it moves one by more than {:.2f}",
            lambda moves: np.mean(moves <= 3e-4) >= 0.5 and np.mean(moves > 0.31) >= 0.1, moved[5.0],
            says=np.quantile(moved[5.0], [0.5, 0.9]).tolist())
    observe("dpada-far-below", "Far below the paper's range a weight moves by more than {:.4f} in fewer than a tenth",
            lambda moves: 0 < np.mean(moves > 1e-4) < 0.1, moved[1e-3], says=[1e-4])
    ratios = np.divide.outer(grids.BUDGETS, grids.ROUNDS)
    observe("dpada-ratio", r"$\frac Bm$ goes up to {:.2f} on the paper's grid",
            lambda r: 0.1 < r.max() < 1, ratios, says=[ratios.max()])
    fields = ("literal", "flat"), ("same", "indep", "first"), ("signed", "clip0"), (", raw", "")
    observe("dpada-all-readings", "all {:.0f} combinations of A1 to A3 and A10",
            lambda names: set(names) == {", ".join(values[:3]) + values[3] for values in product(*fields)},
            list(READINGS), says=[len(READINGS)])
    observe("dpada-negation", r"a negative $\alpha$ for the second gives the smaller loss",
            lambda e: 2 * (e[1] * (1 - e[1]))**0.5 < 2 * (e[0] * (1 - e[0]))**0.5, [0.40, 0.95])
    observe("dpada-uniform-share", "uniform weights in all runs on $D$ and in a quarter of them on $D'$",
            lambda share, law: share["D"] == 1 and abs(share["D'"] - law) < 4 * (law * (1 - law) / 2000)**0.5
            and abs(law - 0.25) < 0.002, uniform, law)


def check_noise_rounds(noisy: pd.DataFrame, counts: Ints, law: Floats, drawn: Sequence[int],
                       laws: Mapping[str, Floats], by_rule: pd.DataFrame) -> None:
    """Theorem 1 in numbers, and coins that are known."""
    observe("dpada-enumerated", "Enumeration of all $2^m$ coins and a simulation agree",
            lambda counts, law, drawn, mean: np.allclose(counts / counts.sum(), law)
            and abs(np.mean(drawn) - mean) < 4 * np.std(drawn) / len(drawn)**0.5,
            counts, law, drawn, noisy.loc[30, "Improved: E R"])
    observe("dpada-on-average", "It is true on average, with high probability for large $m$",
            lambda t: (t["Improved: E R"] <= t["Swing"]).all() and t["P(R > Swing)"].is_monotonic_decreasing
            and t["P(R > Swing)"].iloc[-1] < 1e-8, noisy)
    observe("dpada-always-causal", "if a one after a one does not count, it is true always",
            lambda t: (t["causal: P(R > Swing)"].abs() < 1e-15).all(), noisy)
    beyond = {name: law[len(law) // 2 + 1:].sum() for name, law in laws.items()}
    share = beyond["Improved, Definition 7"]
    observe("dpada-beyond", "keeps to the limit nearly always, and goes beyond it with probability {:.4f}",
            lambda share: 0 < share < 0.01, share, says=[share])
    observe("dpada-causal-surely", "The causal rule keeps it surely",
            lambda share: 0 <= share < 1e-12, beyond["Improved, causal"])
    most: Any = by_rule["largest R"]
    observe("dpada-c1-c2", r"C1 and C2 keep to Swing's $\lfloor m/2\rfloor$ for all coins",
            lambda most: all(r <= m // 2 for (m, _), r in most.items()) and most[10, "C1"] == most[10, "C2"] == 5,
            most.drop("C3", level=1))
    observe("dpada-c3", r"C3 reaches $m-1$, and exceeds $\lfloor m/2\rfloor$ with probability "
            "{:.3f}, {:.3f}, {:.3f} and {:.3f}", lambda most: all(r == m - 1 for m, r in most.items()),
            most.xs("C3", level=1), says=by_rule["P(R > Swing)"].xs("C3", level=1).tolist())


def check_scales(scales: Floats) -> None:
    """Which weight gets the larger noise, with (rounds, 2) scales for the largest and the smallest weight."""
    observe("dpada-smaller-scale", "in each of the {:.0f} noise rounds of 24 literal fits, with noise in earlier "
            "rounds as well, the largest weight had the smaller scale",
            lambda sizes: (sizes[:, 0] < sizes[:, 1]).all() and (sizes > 0).all(), scales, says=[len(scales)])
    low = 0.5 * np.exp(-max(grids.BUDGETS) / min(grids.ROUNDS))
    observe("dpada-become-mean", "this lies between {:.2f} and {:.2f} as long as no weight is negative",
            lambda low: 0.4 < low < 0.5, low, says=[low, 0.5])


def check_convergence(curves: Mapping[tuple[str, str], pd.DataFrame], exact: pd.DataFrame) -> None:
    """Does boosting converge, with changes in units of two standard errors."""
    def change(curve: Any, after: tuple[str, int], before: tuple[str, int]) -> float:
        x, y = curve.loc[after], curve.loc[before]
        return float((x["accuracy"] - y["accuracy"]) / np.hypot(x["two"], y["two"]))

    observe("dpada-no-noise-rises", "without noise accuracy rises from round 10 to round 50, from {:.3f} to {:.3f}",
            lambda a: a[10] < a[30] < a[50], exact["accuracy"], says=exact["accuracy"][[10, 50]].tolist())
    rise = {(case, division): change(curve, (division, 50), (division, 10))
            for case, curve in curves.items() for division in grids.DIVISIONS}
    swing = ("Swing", grids.LETTERS)
    observe("dpada-swing-converges", "By the letters Swing rises as well, from {:.3f} to {:.3f}",
            lambda z: min(z[swing, d] for d in grids.DIVISIONS) > 2, rise,
            says=[curves[swing].loc[("by weight", k), "accuracy"] for k in (10, 50)])
    observe("dpada-no-rise", "Improved by the letters, and both where noise stays, do not rise by two standard errors, "
            "whether the budget goes by weight or in halves",
            lambda z: len(z) == 6 and max(z.values()) < 1, {k: v for k, v in rise.items() if k[0] != swing})
    apart = [change(curve, ("by weight", 50), ("in halves", 50)) for curve in curves.values()]
    observe("dpada-not-apart", "the two ways are not told apart after 50 rounds",
            lambda z: 0 < np.abs(z).max() < 1, apart)


def check_letters_pay(readings: pd.DataFrame, response: pd.DataFrame, change: pd.DataFrame, *, exact: float) -> None:
    """24 readings: what step 7 starts from, and what none of them shows."""
    at = ["B = 0.1", "1", "5"]
    by_letters = response.loc[[f"{name}, raw" for name in CHAINED], at].set_axis(CHAINED)
    gain = 100 * (by_letters - response.loc[CHAINED, at])
    observe("dpada-letters-pay", "each of the twelve is more accurate by the letters than where noise stays, at each "
            "$B$, by {:.0f} to {:.0f} points", lambda t: (t > 0).all(axis=None) and len(t) == 12, gain,
            says=[gain.min(axis=None), gain.max(axis=None)])
    near = {f"flat, {words}, raw" for words in ("same, clip0", "first, clip0", "first, signed")}
    behind = 100 * (exact - response[at])
    observe("dpada-near", "three of them are within a point of AdaBoost without noise at each $B$, namely "
            "`flat, same, clip0, raw`, `flat, first, clip0, raw` and `flat, first, signed, raw`; no other reading is",
            lambda t, near: set(t.index[(t < 1).all(axis=1)]) == near, behind, near)
    flat = change.loc["flat, first, clip0, raw"]
    observe("dpada-flat-up", "all four variants of `flat, first, clip0, raw` are more accurate at $m=100$ than at 30 "
            "on both data sets", lambda c: (c > 0).all() and len(c) == 8, flat)
    means: Any = readings.pivot_table("mean", "utility", ["method", "epsilon"])
    dpada: Any = change.xs("all", axis=1, level=1)
    spaced = ["improved", "swing"]
    shown = pd.DataFrame({
        "DPAda falls": (dpada < 0).all(axis=1),
        "both rise with m": (change.loc[:, (slice(None), spaced)] > 0).all(axis=1),
        "both rise with B": (means.xs(5.0, axis=1, level=1) > means.xs(0.1, axis=1, level=1))[spaced].all(axis=1)})
    observe("dpada-none-shows-all", "In none of the {:.0f} does DPAda fall with $m$ while Swing and Improved rise with "
            "$m$ and with $B$", lambda t: t.any().all() and not t.all(axis=1).any(), shown, says=[len(shown)])
    observe("dpada-note-flat-up", "and both rise with $m$ in `flat, first, clip0, raw`",
            lambda c: (c.loc[:, ["improved", "swing"]] > 0).all(), flat)


def check_readings(readings: pd.DataFrame, response: pd.DataFrame, *, majority: float) -> None:
    """The twelve readings in which noise stays."""
    response = response.loc[CHAINED]
    z: Any = response["rise"]
    observe("dpada-five-rise", "Five readings rise with $B$ by more than four standard errors, namely "
            "`literal, first, clip0`, `flat, first, signed`, and the three flat ones with weights cut off at 0",
            lambda z: set(z[z > 4].index) == RISE, z)
    observe("dpada-one-rises", "`flat, indep, signed` rises by two",
            lambda z: round(z["flat, indep, signed"]) == 2, z)
    observe("dpada-six-do-not", "The other six rise or fall by less than two, among them the three that are literal "
            "and signed", lambda z: set(z[z.abs() < 2].index) == STAY
            and sum("signed" in n for n in STAY & set(z.index[z.index.str.startswith("literal")])) == 3, z)
    observe("dpada-same-five", "The same five exceed the majority class in some variant and at some $B$; "
            "no other reading does in any", lambda lead: set(lead[lead > 0].index) == RISE, response["best"])
    flat = readings.query("utility == 'flat, first, signed'").pivot_table("mean", "epsilon", "method")
    observe("dpada-flat-signed", "still passes the majority class in all four variants at $B=5$, though in none at "
            r"$B\le1$", lambda t, floor: (t.loc[5.0] > floor).all() and (t.loc[:1.0] < floor).all(axis=None),
            flat, majority)
    luck = response.loc[sorted(STAY), ["min", "max"]]
    observe("dpada-luck", "Runs of the six readings that rise or fall by less than two standard errors differ by "
            "a standard deviation of {:.2f} to {:.2f}",
            lambda s: (s["min"] > 0.08).all() and (s["max"] < 0.3).all(), luck,
            says=[luck["min"].min(), luck["max"].max()])
    observe("dpada-most-accurate", "`flat, first, clip0` has the highest accuracy of the twelve at each $B$",
            lambda t: (t.idxmax() == grids.ACCURATE).all(), response[["B = 0.1", "1", "5"]])
    observe("dpada-zh-readings",
            "噪声留在权值中的十二种解读里，有五种的准确率随 $B$ 明显上升，一种略升，"
            "六种在十次重复中的升幅不到两个标准误",
            lambda z: (sum(z > 4), sum((z > 2) & (z <= 4)), sum(z.abs() < 2)) == (5, 1, 6), z)
    observe("dpada-text-literal", "at ten repeats the literal, signed readings rise with $B$ by less than two standard "
            "errors; a literal reading with weights cut off at 0 and noise on a single record rises by more than four",
            lambda z: z["literal, first, clip0"] > 4
            and all(abs(z[f"literal, {t}, signed"]) < 2 for t in ("same", "indep", "first")), z)
    observe("dpada-note-readings", "so do four more of the twelve readings clearly, by more than four standard errors",
            lambda z: (z.drop(grids.ACCURATE) > 4).sum() == 4, z)


def check_plainest(grid: pd.DataFrame) -> None:
    """Two of the readings in which noise stays on the grid of the figures."""
    cells = (grid[grid["method"].str.startswith(f"as written ({name})")] for name in (grids.PLAIN, grids.ACCURATE))
    plainest, nearest = (lead(rows, "epsilon", of=5.0, over=0.1, by=["dataset"]) for rows in cells)
    points, z = plainest["points"], plainest["standard errors"]
    observe("dpada-plainest-grid", "the plainest of these rises by {:.1f} points on Adult, {:.1f} standard errors, and "
            "by {:.1f} on Bank, {:.1f}",
            lambda a, b: (a["standard errors"] < 3).all() and (b["standard errors"] > 10).all()
            and (b["points"] > 3 * a["points"]).all(), plainest, nearest, says=plainest.to_numpy().ravel().tolist())
    both = points.sum() / ((points / z)**2).sum()**0.5
    observe("dpada-plainest-both", "the mean of both rises by {:.1f} standard errors", lambda z: z > 2, both,
            says=[both])
    observe("dpada-zh-both", "两个数据集的平均升幅为 {:.1f} 个标准误", lambda z: z > 2, both, says=[both])
    observe("dpada-accurate-grid", "`flat, first, clip0` rises by {:.1f} and {:.1f} points",
            lambda rise: (rise > 0).all(), nearest["points"], says=nearest["points"].tolist())


def check_letters(letters: pd.DataFrame, stays: pd.DataFrame, ahead: pd.DataFrame, fallen: pd.DataFrame) -> None:
    """Figures 2 and 3 by the letters, beside those where noise stays."""
    table = by_variant(letters)
    mean, sd = table["mean"], letters.pivot_table("sd", "schedule", "n_rounds")
    by = ["schedule", "dataset", "n_rounds"]
    up, other = (lead(cells, "epsilon", of=5.0, over=0.1, by=by)["standard errors"].unstack(0)
                 for cells in (letters, stays))
    swing = letters[letters["schedule"] == "swing"].pivot_table("mean", ["dataset", "n_rounds"], "epsilon")
    observe("dpada-l-flat", r"Accuracy of Swing hardly depends on $\varepsilon$: at 5 it differs from that at 0.1 by "
            "at most {:.2f} points", lambda a, b: (a.abs() < 4).all() and (b > 3).all(), up["swing"], other["swing"],
            says=[100 * (swing[5.0] - swing[0.1]).abs().max()])
    observe("dpada-l-improved-flat", "in none of the forty curves it is above by four standard errors",
            lambda a, b: (a < 4).all(axis=None) and a.size == 40 and (b > 3).all(axis=None), up, other)
    rise = lead(letters, "n_rounds", of=100, over=30, by=["schedule", "dataset", "epsilon"])["standard errors"]
    observe("dpada-l-swing-up", "Swing rises with $m$ at every $\\varepsilon$ on both data sets, by {:.0f} standard "
            "errors and more", lambda z: (z > 5).all() and len(z) == 16, rise["swing"],
            says=[np.floor(rise["swing"].min())])
    observe("dpada-zh-rounds", r"Swing 的准确率在每个 $\varepsilon$ 下、在两个数据集上都随轮数上升",
            lambda z: (z > 5).all() and len(z) == 16, rise["swing"])
    observe("dpada-note-own", "By the letters Swing, not Improved, is the closest and the most stable of the four",
            lambda t, s: t.groupby("schedule").mean().mean(axis=1).idxmax() == "swing"
            and s.mean(axis=1).idxmin() == "swing", mean, sd)
    observe("dpada-l-improved-m", "Improved does not, and neither does Random",
            lambda a, b, c: (a < 3).all() and (b < 3).all() and (c > 5).all(),
            rise["improved"], rise["random"], rise["swing"])
    observe("dpada-l-lowest", "DPAda is the lowest of the four at every $m$ on both data sets",
            lambda t: (t.groupby("dataset").idxmin().map(lambda where: where[1]) == "all").all(axis=None), mean)
    low = mean.xs("all", level="schedule")
    observe("dpada-l-low", "it falls from {:.2f} at $m=30$ to {:.2f} at 100 on Adult, from {:.2f} to {:.2f} on Bank",
            lambda t: (t[100] < t[30]).all(), low, says=low.loc[[ADULT, BANK], [30, 100]].to_numpy().ravel().tolist())
    observe("dpada-l-spread", "runs of Random differ more than those of Improved at every $m$, and those of Improved "
            "more than those of Swing", lambda s: (s.loc["random"] > s.loc["improved"]).all()
            and (s.loc["improved"] > s.loc["swing"]).all(), sd)
    down = fallen["falls"]
    observe("dpada-l-falls", r"falls between neighbouring $\varepsilon$ add up to {:.3f} a curve for Random, {:.3f} "
            "for Improved and {:.3f} for Swing", lambda f: f["random"] > f["improved"] > 10 * f["swing"], down,
            says=down[["random", "improved", "swing"]].tolist())
    observe("dpada-l-small-m", "for Random it is {:.2f} at $m=30$ and at $m=100$",
            lambda s, t: abs(s[30] - s[100]) < 0.005 < t[100] - t[30], sd.loc["random"], sd.loc["improved"],
            says=[sd.loc["random"][30]])
    observe("dpada-l-behind", "Improved is behind Swing by {:.1f} points on average",
            lambda z: z["improved - swing"] < -10, ahead["standard errors"],
            says=[-ahead["points"]["improved - swing"]])


def check_runs(runs: pd.DataFrame, exact: pd.Series[Any]) -> None:
    """Single runs by the letters, and what trained their last stump."""
    behind = runs.assign(gap=100 * (runs["dataset"].map(exact.xs(90, level="n_rounds")) - runs["accuracy"]))
    improved = behind[behind["method"] == "improved"]
    clean, noisy = (improved[improved["last"] == last]["gap"] for last in (False, True))
    observe("dpada-runs-clean", "All {:.0f} runs of Improved whose last stump was trained on clean weights are within "
            "a point of AdaBoost without noise, and {:.0f} of the {:.0f} others are",
            lambda a, b: (a < 1).all() and (b < 1).mean() < 0.5, clean, noisy,
            says=[len(clean), (noisy < 1).sum(), len(noisy)])
    others = behind[behind["last"] == 0].groupby("method")["gap"].max()
    observe("dpada-runs-random", "some runs of Random with a clean last stump are far below as well",
            lambda gap: gap["random"] > 20 > 2 > gap["improved"], others)
    swing = runs[runs["method"] == "swing"].pivot_table("accuracy", "dataset", "n_rounds")
    observe("dpada-runs-odd", "its mean falls from {:.3f} to {:.3f} on Adult and from {:.3f} to {:.3f} on Bank",
            lambda t: (t[91] < t[90] - 0.1).all(), swing, says=swing.loc[[ADULT, BANK]].to_numpy().ravel().tolist())
    at_90 = behind[(behind["n_rounds"] == 90) & (behind["last"] == 0)].pivot_table("accuracy", "dataset", "method")
    observe("dpada-runs-ahead", "the runs of Improved with a clean last stump are more accurate on average than those "
            "of Swing, on both data sets", lambda t: (t["improved"] > t["swing"]).all() and len(t) == 2, at_90)
    observe("dpada-even", r"All of the paper's $m$ are even",
            lambda sizes: all(m % 2 == 0 for m in sizes), grids.ROUNDS)


def check_order(variants: pd.DataFrame, ahead: pd.DataFrame, by_m: pd.DataFrame) -> None:
    """Figures 2 and 3: which variant is ahead, on the whole grid and for each m."""
    observe("dpada-forty", r"accuracy at $\varepsilon=5$ is above that at 0.1 in all forty curves",
            lambda t: len(t) == 40 and (t[5.0] > t[0.1]).all(),
            variants.pivot_table("mean", ["schedule", "dataset", "n_rounds"], "epsilon"))
    observe("dpada-order", "Improved is ahead of Swing and Random, and all three are ahead of DPAda",
            lambda z: z["improved - swing"] > 2 and z["improved - random"] > 2 and z["swing - random"] > 0
            and z["random - all"] > 2, ahead["standard errors"])
    observe("dpada-random-between", "Random, which lies between Swing and DPAda on average, is left out",
            lambda z: z["swing - random"] > 0 and z["random - all"] > 0, ahead["points"])
    first = list(ahead.loc["improved - swing"])
    observe("dpada-half-point", "Improved leads Swing by {:.2f} points on average, {:.1f} standard errors",
            lambda points, z: points > 0 and z > 2, *first, says=first)
    observe("dpada-note-half", "Improved leads on average by half a point, about three standard errors",
            lambda points, z: 0.4 < points < 0.6 and 2.5 < z < 3.5, *first)
    observe("dpada-single-m", "it exceeds two of them once (Bank, $m=100$), and once Improved is behind (Bank, $m=90$)",
            lambda z: list(z[z > 2].index) == [("Bank", 100)] and list(z[z < 0].index) == [("Bank", 90)],
            by_m["standard errors"])


def check_spread(sd: pd.DataFrame, fallen: pd.DataFrame, by_m: pd.DataFrame) -> None:
    """Figures 2 and 3: how much curves of means fall, how much single runs differ, and means by number of rounds."""
    down, error, total = fallen["falls"], fallen["error"], sd["All"]
    observe("dpada-falls-least", "Here its curves of means fall the least; their falls between neighbouring "
            r"$\varepsilon$ add up to {:.3f} a curve, against {:.3f} to {:.3f} for the others",
            lambda f: f.idxmin() == "random" and f.drop("random").min() > 2 * f["random"], down,
            says=[down["random"], *down.drop("random").agg(["min", "max"])])
    observe("dpada-one-mean", "One mean has a standard error of {:.3f} to {:.3f}, so falls of this size are within "
            "chance", lambda e, f: 0 < f.max() < 2 * e.min(), error, down, says=[error.min(), error.max()])
    observe("dpada-note-least", "Random's fall the least of the four, within their error",
            lambda f, e: f.idxmin() == "random" and f.max() < 2 * e.min(), down, error)
    observe("dpada-single-runs", "differ more from each other, {:.3f} against {:.3f} of Swing and {:.3f} of Improved",
            lambda s: s["random"] > max(s["swing"], s["improved"]), total,
            says=total[["random", "swing", "improved"]].tolist())
    observe("dpada-small-m", "in all four variants runs differ more at $m=100$ than at $m=30$",
            lambda s: (s[100] > s[30]).all() and len(s) == 4, sd)
    observe("dpada-note-small-m", "runs of Random differ more at $m=100$ than at $m=30$",
            lambda s: s[100] > s[30], sd.loc["random"])
    observe("dpada-fall-with-m", "Accuracy is lower at $m=100$ than at $m=30$ in all four variants on both data sets",
            lambda t: len(t) == 8 and (t[100] < t[30]).all(), by_m)
    fall: Any = 100 * (by_m[30] - by_m[100])
    observe("dpada-fall-note", "Where noise stays they fall with $m$, by two to four points from 30 to 100 rounds",
            lambda f: f.round().between(2, 4).all(), fall.loc[:, ["improved", "swing"]])
    observe("dpada-lowest", "DPAda is the lowest of the four at every number of rounds",
            lambda t: (t.groupby("dataset").idxmin().map(lambda where: where[1]) == "all").all(axis=None), by_m)
    observe("dpada-note-others", "The other variants fall with $m$ as well", lambda t: (t[100] < t[30]).all(),
            by_m.drop(index="all", level="schedule"))


def check_trends(with_epsilon: pd.Series[Any], with_m: pd.Series[Any]) -> None:
    """Figures 4 to 6: changes with ε and with m, in standard errors."""
    observe("dpada-rise-by-three", r"Swing and Improved rise with $\varepsilon$ at every $m$, by more than three "
            "standard errors, and so do our reconstructions of both baselines",
            lambda t: len(t) == 8 and (t > 3).all(axis=None), with_epsilon.unstack().loc[[*SPACED, *BASELINES]])
    cart, boost = ([with_m[name, on] for on in SETS.values()] for name in ("CART-DPsAdaBoost", "DP-AdaBoost"))
    observe("dpada-cart-up", r"Our CART-DPsAdaBoost also rises with $m$, at every $\varepsilon$",
            lambda a, b: (a > 2).all() and (b > 2).all(), *cart)
    observe("dpada-note-cart", "It does as we reconstruct it", lambda a, b: (a > 2).all() and (b > 2).all(), *cart)
    observe("dpada-dpadaboost-down", r"Our DP-AdaBoost falls with $m$ at $\varepsilon=0.1$ and 0.3 on both data sets, "
            "and on Bank also at 0.5",
            lambda a, b: list(a[a < -2].index) == [0.1, 0.3] and list(b[b < -2].index) == [0.1, 0.3, 0.5], *boost)
    observe("dpada-dpadaboost-up", "It rises from 0.7 on for Adult and from 1 on for Bank",
            lambda a, b: list(a[a > 2].index) == [0.7, 0.9, 1.0, 3.0, 5.0]
            and list(b[b > 2].index) == [1.0, 3.0, 5.0], *boost)
    observe("dpada-note-falls", "It falls at small budgets (0.1 and 0.3, on Bank also 0.5) and rises at large ones",
            lambda a, b: max(*a[[0.1, 0.3]], *b[[0.1, 0.3, 0.5]]) < -2 < 2 < min(a[1.0], b[1.0]), *boost)
    others = with_m.unstack().loc[["as written: improved", "as written: swing", "CART-DPsAdaBoost"]]
    observe("dpada-note-only", r"By the letters, none of the other three falls by two standard errors at any "
            r"$\varepsilon$", lambda z, boost: (z > -2).all(axis=None) and z.shape == (6, 8) and boost.min() < -2,
            others, boost[0])
    observe("dpada-lower-at-100", "the accuracy of both is lower at $m=100$ than at $m=30$ for every "
            r"$\varepsilon$ on both data sets", lambda t: len(t) == 4 and (t < 0).all(axis=None),
            with_m.unstack().loc[SPACED])


def check_baselines(grid: pd.DataFrame, exact: pd.Series[Any], trend: pd.DataFrame) -> None:
    """Figures 4 to 6: beside the baselines, and AdaBoost without noise."""
    mean: Any = by_method(grid, "mean")
    both = {name: {(s, b): int((mean[name + s] < mean[b]).sum()) for s in ("improved", "swing") for b in BASELINES}
            for name in (LETTERS, STAYS)}
    behind, letters = both[STAYS], both[LETTERS]
    observe("dpada-l-baselines", "By the letters Swing is behind our DP-AdaBoost at {:.0f} of the {:.0f} points and "
            "behind our CART-DPsAdaBoost at {:.0f}, and Improved is behind both at all",
            lambda n, most: n["improved", BASELINES[0]] == n["improved", BASELINES[1]] == most, letters, len(mean),
            says=[letters["swing", BASELINES[0]], len(mean), letters["swing", BASELINES[1]]])
    observe("dpada-behind-both", "They are behind our DP-AdaBoost at all {:.0f} points, behind our CART-DPsAdaBoost at "
            "{:.0f} and {:.0f} of them",
            lambda n: n["improved", "DP-AdaBoost"] == n["swing", "DP-AdaBoost"] == 80, behind,
            says=[len(mean), behind["swing", "CART-DPsAdaBoost"], behind["improved", "CART-DPsAdaBoost"]])
    sd, gap = trend["sd"].unstack(), trend["gap"].unstack()
    observe("dpada-ten-times", "their runs differ more than ten times as much",
            lambda t: (t.loc[SPACED].min() > 10 * t.loc[BASELINES].max()).all(), sd)
    observe("dpada-note-closer", "both baselines vary less and come closer, as we reconstruct them",
            lambda s, g: all((t.loc[SPACED].min() > t.loc[BASELINES].max()).all() for t in (s, g)), sd, gap)
    observe("dpada-reach-adaboost", r"the repaired algorithm reaches AdaBoost of the same $m$ on Bank from "
            r"$\varepsilon=1$ on",
            lambda t, e: t.loc[:, 1.0:].ge(e, axis=0).all(axis=None) and not t[0.9].ge(e).all(),
            mean["repaired, fixed α, δ: all"][BANK].unstack(), exact[BANK])


def check_audit(attack: pd.DataFrame, replays: pd.DataFrame) -> None:
    """Attacks and replays."""
    observe("dpada-attack-most", "No attack of that length can show more than {:.2f} at 95 %",
            lambda bounds, top: 8 < bounds.max() < top + 0.005, attack["lower_95"], MOST_SHOWN,
            says=[MOST_SHOWN])
    observe("dpada-shares", "shares of at most {:.3f}, so no loss is above the ledger",
            lambda share: share.max() <= 1, replays["worst_share"], says=[replays["worst_share"].max()])


def check_steps(shaken: pd.DataFrame, filtered: pd.DataFrame, ladder: pd.DataFrame) -> None:
    """Clean weights in the repair, the filter, measured, and steps of the ladder."""
    observe("dpada-shaken", "accuracy is {:.3f} on clean weights, {:.3f} if the noise is drawn anew, and {:.3f} if it "
            "stays", lambda t: (-t["accuracy"].diff().dropna() > t["two"].iloc[1:]).all(), shaken,
            says=shaken["accuracy"].tolist())
    observe("dpada-filter-grows", "accuracy grows with $R_0$ and stays below that without a filter",
            lambda a: a[1:].is_monotonic_increasing and a.iloc[1:].max() < a.iloc[0], filtered["accuracy"])
    sets = by_step(ladder, "mean")
    finite = [t.drop(index=np.inf) for t in sets]
    gain = [float(t[3][np.inf] - t[2][np.inf]) for t in sets]
    observe("dpada-bounded-bank", "on Bank they are {:.2f} points better than exponential weights with the same "
            "thresholds", lambda gain: gain[0] >= 0 and gain[1] > 0.3, gain, says=[gain[1]])
    two = by_step(ladder, "error")[0].drop(index=np.inf)
    observe("dpada-alpha-open", r"*A noisy $\alpha$* makes no clear difference on Adult at $\varepsilon=0.5$ and 5",
            lambda z: list(z[z.abs() < 1].index) == [0.5, 5.0],
            (finite[0][4] - finite[0][5]) / np.hypot(two[4], two[5]))
    observe("dpada-filter-costs", r"*The individual filter* costs accuracy at every $\varepsilon$, compared with step "
            "4", lambda a, b: all((t[7] < t[4]).all() for t in (a, b)), *finite)


def check_booster(ladder: pd.DataFrame, exact: pd.Series[Any]) -> None:
    """The booster beside AdaBoost of 50 and of 100 rounds."""
    def passes(table: Any, level: float) -> list[float]:
        return list(table.index[table[9] > level])

    sets = [t.drop(index=np.inf) for t in by_step(ladder, "mean")]
    observe("dpada-booster-50", r"it passes AdaBoost of 50 rounds from $\varepsilon=0.5$ on, on both data sets",
            lambda a, b, e: passes(a, e[ADULT, 50]) == [0.5, 1.0, 5.0] and passes(b, e[BANK, 50]) == [0.5, 1.0, 5.0],
            *sets, 100 * exact)
    observe("dpada-booster-100", "AdaBoost of 100 rounds it passes on Bank from 0.5 on, too, and on Adult from 1 on",
            lambda a, b, e: passes(a, e[ADULT, 100]) == [1.0, 5.0] and passes(b, e[BANK, 100]) == [0.5, 1.0, 5.0],
            *sets, 100 * exact)
