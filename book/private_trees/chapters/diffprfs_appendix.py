"""Appendix to chapter 4: bounds of the bootstrap, tables of the grid, and the methods before DiffPRFs, measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpnb.arrays import Floats
from dpnb.data.datasets import Dataset
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.records.bags import Bags

from ..auditing.multiplicity import apart
from ..drawings.plots import UTILITIES
from ..site.notebook import integer
from ..site.observations import observe
from ..studies.bootstrap import Listing
from ..studies.lineage import LINEAGE
from ..tables.shared import labelled
from . import GRID, LIVE

PARAMETERS = LIVE | {"n_trees": integer(low=1), "max_depth": integer(low=1), "repeats": integer(low=1)} | GRID
PAIRS = (
    ("PINQ-ID3", "SuLQ-ID3"),
    ("DiffP-ID3", "PINQ-ID3"),
    ("DiffP-C4.5", "DiffP-ID3"),
    ("DiffGen", "SuLQ-ID3"),
    ("DiffGen", "DiffP-C4.5"),
    ("DT-Diff", "DiffGen"),
)
"""Methods of the lineage, and those that they are compared with."""


def bounds(bound: Callable[[Listing], float], *, sizes: bool) -> pd.DataFrame:
    """A bound of ε at a claim of 1, by depth (the rows) and number of trees (the columns)."""
    trees = (1, 5, 10, 25)
    of = {d: [bound(Listing(budget=1, n_trees=t, depth=d, sizes=sizes)) for t in trees] for d in range(8)}
    return pd.DataFrame.from_dict(of, orient="index", columns=[*trees]).rename_axis("depth")


def from_to(least: pd.DataFrame, most: pd.DataFrame) -> pd.DataFrame:
    """Two tables of :func:`bounds` as one of texts."""
    both = least.map("{:.3f}".format) + " to " + most.map("{:.3f}".format)
    return both.rename(columns=lambda t: "1 tree" if t == 1 else f"{t} trees")


def bag_prices(forest: DiffPRFs, data: Dataset, *, rates: Mapping[str, float | None]) -> pd.DataFrame:
    """Budget of a copy of a record, and what the ledger of a fit adds up to, by the rule for bags (the rows)."""
    prices = {}
    for bags, rate in rates.items():
        fitted = clone(forest).set_params(bags=bags, bag_rate=rate).fit(*data.train)
        copy = Bags(bags, forest.n_trees, rate).per_copy_epsilon(forest.epsilon)
        prices[bags] = copy, fitted.ledger_.epsilon
    return pd.DataFrame(prices, index=["ε of a copy", "ledger's total ε"]).T


def levels(accuracy: pd.DataFrame) -> dict[str, float]:
    """Accuracies on Adult without noise, of the forest as written at depth 5 and of the majority class."""
    usual = accuracy.query("dataset == 'adult' and max_depth == 5 and epsilon == inf").groupby("method")
    floor = accuracy.query("method == 'majority class'")
    return {
        "forest as written, ε = ∞": usual["value"].mean()["as written"],
        "majority class": floor["value"].item(),
    }


def mean_and_error(results: pd.DataFrame, rows: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mean and standard error of the values over fits, a column for each ε."""
    groups = results.groupby([*rows, "epsilon"])["value"]
    return groups.mean().unstack(), groups.sem().unstack()


def rows_of(name: str | tuple[str, str], *tables: pd.DataFrame) -> Any:
    """What each table has for a method, or for a method and score."""
    return [table.loc[name] for table in tables]


def by_epsilon(table: pd.DataFrame, *rows: str | None) -> pd.DataFrame:
    """A table whose columns are values of ε with the headings "ε = 1", and with names for the levels of its rows."""
    return table.rename(columns="ε = {:g}".format).rename_axis(columns=None).rename_axis([*rows])


def gained(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Points of accuracy, a row a setting, that a forest gains with the test records in its training set."""
    means = accuracy.pivot_table("value", ["method", "utility", "max_depth", "epsilon"], "dataset").dropna()
    gain = 100 * (means["adult/merged"] - means["adult"])
    points = gain.rename("points").reset_index()
    return points.assign(privacy=np.where(points["epsilon"] < np.inf, "private", "ε = ∞"))


def by_range(ranges: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Mean and standard error over fits of what reading i changes, a row a forest."""
    groups = ranges.groupby(["method", "metric"])["value"]
    shown = {"outside": "cuts outside", "dead": "splits that part nothing", "accuracy": "accuracy"}
    mean, error = (part.unstack()[[*shown]].rename(columns=shown) for part in (groups.mean(), groups.sem()))
    return mean.rename_axis(index=None, columns=None), error


def scored(lineage: pd.DataFrame) -> pd.DataFrame:
    """Results of the lineage with the ``score`` in words: the first two methods take the gain from noisy counts."""
    return lineage.assign(score=lineage["utility"].map(UTILITIES).fillna("noisy counts"))


def proved_and_reached(lineage: pd.DataFrame) -> pd.DataFrame:
    """Largest ε that ledgers prove for a claim of 1, and accuracies as mean ± sd, by method and score, as texts."""
    by = ["method", "score"]
    reached = lineage.query("metric == 'accuracy'").groupby([*by, "epsilon"])["value"]
    proved = lineage.query("metric == 'ledger_epsilon' and epsilon == 1").groupby(by)["value"]
    shown = by_epsilon(reached.agg(lambda v: f"{v.mean():.3f} ± {v.std():.3f}").unstack(), *by)
    shown.insert(0, "ledger, claim 1", proved.max().map("{:.3f}".format))
    return shown.reindex([method.name for method in LINEAGE], level=0).rename_axis([None, None])


def usual_rows(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Rows of the figure of the lineage: the max-class sum where a method has a choice, no unusual variants."""
    names = [method.name for method in LINEAGE if not method.name.endswith(("data", "bootstrap"))]
    return labelled(accuracy[accuracy["score"].isin(["max-class sum", "noisy counts"])], names)


def leads(mean: pd.DataFrame, error: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By pair and score: how far the first method is ahead at each ε, and as ``noise`` two standard errors of it."""
    means, errors, found = mean.T, error.T, {}
    for first, second in PAIRS:
        for score in mean.loc[first].index:
            a = first, score
            b = second, score if (second, score) in mean.index else "noisy counts"
            noise = 2 * np.hypot(errors[a], errors[b])
            name = f"{first} − {second}, {score}"
            found[name] = pd.DataFrame({"lead": means[a] - means[b], "noise": noise})
    return found


def leads_in_words(ahead: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The leads as texts such as "+1.2 ± 0.4", a row a pair and score."""
    words = {
        name: by["lead"].map("{:+.1f} ± ".format) + by["noise"].map("{:.1f}".format)
        for name, by in ahead.items()
    }
    return by_epsilon(pd.DataFrame(words).T, None)


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_ln2(loss: Mapping[int, float]) -> None:
    """Sensitivities: the rate ln |C| for bits."""
    observe("diffprfs-loss-of-ln2", "a loss of {:.4f} between two attributes, within the claim, and of {:.4f} with "
            "three copies", lambda by: by[1] <= 1 and by[2] <= 1 < by[3], loss, says=[loss[1], loss[3]])
    observe("diffprfs-loss-limit", "With a hundred copies it is {:.4f}, close to the limit",
            lambda by: 0 < 1 / log(2) - by[100] < 0.02, loss, says=[loss[100]])


def check_ranges(mean: pd.DataFrame, error: pd.DataFrame) -> None:
    """Ambiguities: ranges below the root."""
    outside, dead, accuracy = (mean[name] for name in mean)
    forests = ["repaired", "as written"]
    wide, narrow = accuracy[forests].to_numpy(), accuracy[[f"{name}, narrowed" for name in forests]].to_numpy()
    noise = [2 * np.hypot(*error["accuracy"][[name, f"{name}, narrowed"]]) for name in forests]
    observe("diffprfs-cuts-outside", "of the cuts of an attribute that was cut above on their path, {:.2f} lie outside "
            "the range that is left there in the repaired forest and {:.2f} in the paper's",
            lambda o: o.filter(like="narrowed").eq(0).all() and (o[forests] > 0.4).all(), outside,
            says=outside[forests].tolist())
    observe("diffprfs-dead", "{:.3f} of the splits of the repaired forest part nothing, and {:.3f} of the paper's; "
            "with narrowed ranges it is {:.3f} and {:.3f}",
            lambda d: all(d[f"{name}, narrowed"] < d[name] - 0.01 for name in forests), dead,
            says=[*dead[forests], *(dead[f"{name}, narrowed"] for name in forests)])
    observe("diffprfs-narrowed", "by {:.4f} ± {:.4f} in the repaired forest and by {:.4f} ± {:.4f} in the paper's",
            lambda d, e: (abs(d) < e).all(), narrow - wide, np.array(noise),
            says=np.column_stack([narrow - wide, noise]).ravel().tolist())


def check_leaves(least: Mapping[bool, pd.DataFrame], most: Mapping[bool, pd.DataFrame]) -> None:
    """Bags drawn with replacement: single leaves, and the forest alone."""
    single: dict[bool, Any] = {sizes: table.loc[0] for sizes, table in most.items()}
    alone = most[False].loc[1:].to_numpy().max()
    observe("diffprfs-leaves-equal", "The two bounds are equal", lambda low, high:
            all(np.allclose(low[s].loc[0], high[s].loc[0], atol=1e-12) for s in (True, False)), least, most)
    observe("diffprfs-leaves-above", "With the sizes they exceed the claim for every number of trees, in the table "
            "by {:.3f} to {:.3f}", lambda loss: (loss > 1).all(), single[True],
            says=[single[True].min() - 1, single[True].max() - 1])
    observe("diffprfs-leaf-alone", "Without the sizes a single tree loses {:.3f}; from five trees on the forest alone "
            "stays below", lambda loss: loss[1] > 1 > loss[[5, 10, 25]].max(), single[False], says=[single[False][1]])
    observe("diffprfs-alone-below", "stay below the claim, at most at {:.3f}",
            lambda high: high.loc[1:].max(axis=None) < 1, most[False], says=[alone])


def check_deeper(with_sizes: pd.DataFrame, most: pd.DataFrame) -> None:
    """Bags drawn with replacement: deeper trees with the sizes."""
    deeper, gain = with_sizes.loc[1:], bounds(Listing.lower, sizes=True).loc[1:]
    two = [Listing(budget=1, n_trees=5, depth=d).lower_by_max(2) for d in deeper.index]
    observe("diffprfs-one-tree", "One tree exceeds the claim at every depth of the table, with either score",
            lambda low: (low[1] > 1).all(), gain)
    observe("diffprfs-few-trees", "Five trees do so with the max-class sum and many classes; for two classes this is "
            "shown up to depth 2, and with information gain at depth 1 only", lambda low, two, gain: (low[5] > 1).all()
            and [x > 1 for x in two] == [True] * 2 + [False] * 5
            and (gain[5] > 1).tolist() == [True] + [False] * 6, deeper, two, gain)
    observe("diffprfs-many-shallow", "10 or 25 trees exceed it at depths 1 and 2, with either score. From depth 3 on "
            "it is open for them", lambda low, gain, high:
            all((b[t] > 1).tolist() == [True] * 2 + [False] * 5 for t in (10, 25) for b in (low, gain))
            and (high.loc[3:, [10, 25]] > 1).all(axis=None), deeper, gain, most)


def check_profile(tail: Mapping[bool, tuple[float, float]]) -> None:
    """Bags with a δ."""
    observe("diffprfs-delta-small", r"a claim of 1 is kept with a $\delta$ of at most $4.7\cdot10^{-7}$",
            lambda by: 4.65e-7 < by[True][0] < 4.75e-7 and by[False][0] == 0, tail)
    observe("diffprfs-delta-epsilon", r"at $\delta=10^{{-5}}$ the loss is at most {:.3f}; for the forest alone it is "
            "at most {:.3f}", lambda by: by[False][1] < by[True][1] < 1, tail, says=[tail[True][1], tail[False][1]])


def check_first_comparison(table: pd.DataFrame, *, epsilon: float) -> None:
    """A first comparison."""
    finite: Any = table.loc[table.index.get_level_values(1) < np.inf]
    low = finite.loc["repaired, max-class sum", "accuracy"]
    text = "as written, max-class sum", epsilon
    bare = table.loc[[(name, np.inf) for name in ("as written, max-class sum", "repaired, max-class sum")]]
    accuracy, auc = (bare[column].tolist() for column in ("accuracy", "auc"))
    observe("diffprfs-first-look", "the repaired forest with the max-class sum has a higher AUC than the paper with "
            "either score", lambda auc: all((auc["repaired, max-class sum"] > auc[name]).all()
            for name in auc.index.levels[0] if name.startswith("as written")), finite["auc"])
    observe("diffprfs-first-close", r"Its accuracy is higher too, except against the paper with the same score at "
            r"$\varepsilon=1$, where it is {:.3f} against {:.3f}, a gap smaller than the standard deviation over the "
            "fits", lambda t, low: [(name, e) for name, e in t.index if name.startswith("as written")
            and t.loc[(name, e), "accuracy"] >= low[e]] == [text]
            and t.loc[text, "accuracy"] - low[epsilon] < t.loc[text, "sd"], finite, low,
            says=[low[epsilon], finite.loc[text, "accuracy"]])
    observe("diffprfs-first-true", r"although its $\varepsilon$ is real", lambda t: all(abs(e - b) < 1e-9
            for b, e in t.loc["repaired, max-class sum", "true epsilon"].items()), finite)
    observe("diffprfs-first-exact", "with an accuracy of {:.3f} against {:.3f}, and an AUC of {:.3f} against {:.3f}",
            lambda a, auc: a[0] > a[1] + 0.005 and auc[0] > auc[1], accuracy, auc, says=[*accuracy, *auc])


def check_by_epsilon(mean: pd.DataFrame, error: pd.DataFrame, *, floor: float) -> None:
    """Figure 1: how accuracy of the paper depends on ε."""
    wrote, noise = rows_of("as written", mean, error)
    overall = wrote.mean()
    rise, spread = wrote[2.0] - wrote[0.05], np.hypot(noise[2.0], noise[0.05])
    observe("diffprfs-rises", "rises at each step, from {:.3f} to {:.3f}", lambda m: m.is_monotonic_increasing and
            m.iloc[0] > 0.5, overall, says=[overall.iloc[0], overall.iloc[-1]])
    observe("diffprfs-below", r"At $\varepsilon=0.05$ every curve but that of information gain at depth 3 lies below "
            "the majority class", lambda a, b: a.index[a >= b].tolist() == [("info_gain", 3)], wrote[0.05], floor)
    observe("diffprfs-deeper-lower", "the deeper the trees are, the lower it is",
            lambda a: all(a[score].is_monotonic_decreasing for score in ("info_gain", "max")), wrote[0.05])
    observe("diffprfs-nine-rise", "From 0.05 to 2 nine of the ten curves rise by more than two standard errors",
            lambda r, e: r.index[r <= 2 * e].tolist() == [("info_gain", 3)], rise, spread)


def check_by_depth(mean: pd.DataFrame, error: pd.DataFrame) -> None:
    """Figure 1: how accuracy of the paper depends on depth."""
    wrote, noise = rows_of("as written", mean, error)
    falls = [wrote.loc[(score, depth), 0.1] for score in ("info_gain", "max") for depth in (3, 7)]

    def growth(low: int, high: int) -> Any:
        """Standard errors by which accuracy grows from one depth to another."""
        a, b, c, d = (part.xs(k, level="max_depth") for part in (wrote, noise) for k in (low, high))
        return (b - a) / np.hypot(c, d)

    observe("diffprfs-depth-hurts", r"falls by more than two standard errors for $\varepsilon\le0.25$", lambda z:
            (z.loc[:, :0.25] < -2).all(axis=None) and (z.loc[:, 0.5:] > -2.5).all(axis=None), growth(3, 7))
    observe("diffprfs-depth-helps", r"rises by more than that for $\varepsilon\ge1$, with either score",
            lambda z: (z.loc[:, 1.0:] > 2).all(axis=None), growth(3, 7))
    observe("diffprfs-depth-seven", r"With the max-class sum depth 7 stays behind depth 5 at every $\varepsilon$",
            lambda z: (z.loc["max"] < 0).all(), growth(5, 7))
    observe("diffprfs-depth-numbers", "from {:.3f} to {:.3f} and from {:.3f} to {:.3f}",
            lambda a: a[0] > a[1] and a[2] > a[3], falls, says=falls)


def scores_apart(figure_1: pd.DataFrame) -> Floats:
    """Corrected p-values that the two scores differ as written, one a setting, by the book's rule for likeness."""
    wrote = figure_1[(figure_1["method"] == "as written") & np.isfinite(figure_1["epsilon"])]
    runs = wrote.pivot(index=["max_depth", "epsilon"], columns=["utility", "seed"], values="value")
    return apart(runs["max"], runs["info_gain"])


def check_scores(mean: pd.DataFrame, figure_1: pd.DataFrame) -> None:
    """Figure 1: how far apart the two scores are."""
    (wrote,), (repaired,) = rows_of("as written", mean), rows_of("repaired", mean)
    lead, chances = wrote.loc["max"] - wrote.loc["info_gain"], scores_apart(figure_1)
    far, wake = lead.abs(), (repaired.loc["max"] - repaired.loc["info_gain"])[[1.0, 2.0]]
    observe("diffprfs-scores-close", "over all 35 settings their means differ by {:.3f} on average", lambda a:
            a.size == 35 and a.abs().mean(axis=None) < 0.02 and a[2.0].min() > 0, lead, says=[far.mean(axis=None)])
    observe("diffprfs-scores-apart", r"and by {:.3f} at most; after Holm's correction the difference is clear in "
            r"{:.0f} of the 35; at $\varepsilon=2$ the max-class sum leads at every depth", lambda a, p: min(p) < 0.05
            and a[2.0].min() > 0, lead, chances, says=[far.max(axis=None), (chances < 0.05).sum()])
    observe("diffprfs-scores-lead", r"At $\varepsilon=2$ the max-class sum leads by {:.3f} to {:.3f}",
            lambda a: a[2.0].min() > 0, lead, says=[lead[2.0].min(), lead[2.0].max()])
    observe("diffprfs-scores-repaired", r"repaired, the max-class sum leads by {:.3f} to {:.3f} at $\varepsilon=1$ "
            "and 2", lambda w: w.min(axis=None) > 0, wake, says=[wake.min(axis=None), wake.max(axis=None)])


def check_repaired(mean: pd.DataFrame, error: pd.DataFrame, *, floor: float) -> None:
    """Figure 1: the repaired forest."""
    repaired, noise = rows_of("repaired", mean, error)
    observe("diffprfs-repaired-floor", "is with neither score below the majority class by more than two standard "
            "errors", lambda a, e, b: (a >= b - 2 * e).all(axis=None), repaired, noise, floor)
    observe("diffprfs-repaired-gain", "With information gain it stays within half a point of it",
            lambda a, b: ((a.loc["info_gain"] - b).abs() < 0.005).all(axis=None), repaired, floor)


def check_merged(points: pd.DataFrame) -> None:
    """The training set that holds the test set; of :func:`gained`."""
    noisy = points.query("privacy == 'private' and method == 'as written'").set_index("epsilon")["points"]
    parts = noisy[noisy.index <= 0.25].mean(), noisy[noisy.index > 0.25].mean()
    exact = points.query("privacy != 'private'")
    most = exact.groupby("method")["points"].max()
    observe("diffprfs-merged-noisy", r"{:.1f} points on average up to $\varepsilon=0.25$ and {:.1f} points above",
            lambda a: a[0] > 2 * a[1] > 0, parts, says=parts)
    observe("diffprfs-merged-deep", "the multiway trees gain more on average the deeper they are, up to {:.1f} "
            "points", lambda b: all(b.loc[m].is_monotonic_increasing for m in ("as written", "discretised")),
            exact.pivot_table("points", "method", "max_depth"), says=[most.drop("scikit-learn forest").max()])
    observe("diffprfs-merged-sklearn", "scikit-learn's forest at most {:.1f}",
            lambda m: m["scikit-learn forest"] < m.drop("scikit-learn forest").min(), most,
            says=[most["scikit-learn forest"]])


def check_ledgers(lineage: pd.DataFrame, *, scale: Mapping[str, float], nodes: Sequence[int]) -> None:
    """The lineage: what ledgers prove, noise of counts, and trees that do not grow."""
    proved = lineage.query("metric == 'ledger_epsilon' and epsilon == 1").groupby("method")["value"].max()
    observe("diffprfs-sulq-ledger", "The ledger finds {:.3f} where SuLQ-ID3 claims 1", lambda q: q < 0.6,
            proved["SuLQ-ID3"], says=[proved["SuLQ-ID3"]])
    observe("diffprfs-id3-n", r"the ledger proves no finite $\varepsilon$, because it books the number as released",
            lambda q: np.isinf(q), proved["DiffP-ID3, N from the data"])
    observe("diffprfs-bootstrap-ledger", "the ledger can prove no more than {:.3f} for a claim of 1", lambda q: q > 1,
            proved["DiffPRF, bootstrap"], says=[proved["DiffPRF, bootstrap"]])
    observe("diffprfs-count-noise", "their noise falls from a scale of {:.0f} to {:.0f}",
            lambda s: s["SuLQID3"] > s["PINQID3"] > 0, scale, says=[scale["SuLQID3"], scale["PINQID3"]])
    observe("diffprfs-count-factor", "falls by a factor of {:.0f} on Adult",
            lambda s: s["SuLQID3"] > 16 * s["PINQID3"] > 0, scale, says=[scale["SuLQID3"] / scale["PINQID3"]])
    observe("diffprfs-single-leaves", r"the stopping rule leaves every tree a single leaf at $\varepsilon=1$",
            lambda n: set(n) == {1}, nodes)


def check_levels(mean: pd.DataFrame, error: pd.DataFrame, *, floor: float, bare: float) -> None:
    """The lineage: points of accuracy beside the majority class, and beside the forest without noise."""
    sulq, noise = rows_of(("SuLQ-ID3", "noisy counts"), mean, error)
    few, few_noise = rows_of("DiffPRF, 5 trees", mean, error)
    lost = [100 * bare - sulq[e] for e in (0.5, 0.1)]
    observe("diffprfs-sulq-majority", r"Below $\varepsilon=1$ SuLQ-ID3 reaches {:.3f} and {:.3f}, against {:.3f} of "
            "the majority class, and the forest without noise reaches {:.3f}",
            lambda a, e, b, top: (abs(a - 100 * b) < 2 * e).tolist()[:2] == [True, False]
            and 100 * b < a[0.5] < 100 * top, sulq, noise, floor, bare,
            says=[sulq[0.1] / 100, sulq[0.5] / 100, floor, bare])
    observe("diffprfs-no-thirty", "On Adult no method drops that far", lambda m, b: m.min(axis=None) > 70 * b,
            mean, bare)
    observe("diffprfs-sulq-loss", "loses {:.0f} to {:.0f} points on a forest without noise",
            lambda x: 0 < x[0] < x[1], lost, says=lost)
    observe("diffprfs-names-majority", "up to there the forest names the majority class",
            lambda m, b: (abs(m.loc[:, :1.0] - 100 * b) < 0.05).all(axis=None), mean.loc["DiffPRF"], floor)
    observe("diffprfs-five-learn", "Five trees learn", lambda m, e, b: (m[1.0] > 100 * b + 2 * e[1.0]).all(),
            few, few_noise, floor)


def check_id3(mean: pd.DataFrame, error: pd.DataFrame, ahead: Mapping[str, pd.DataFrame]) -> None:
    """The lineage: PINQ and ID3; leads are those of :func:`leads`."""
    pinq = ahead["PINQ-ID3 − SuLQ-ID3, noisy counts"]
    over = {score: ahead[f"DiffP-ID3 − PINQ-ID3, {score}"].loc[[0.5, 1.0]] for score in UTILITIES.values()}
    gain, others = over["information gain"]["lead"], pd.concat([over["max-class sum"], over["Gini"]])
    counted, its_noise = rows_of(("DiffP-ID3, N from the data", "information gain"), mean, error)
    public, noise = rows_of(("DiffP-ID3", "information gain"), mean, error)
    moved = counted - public
    observe("diffprfs-partition-two", r"by more than two standard errors at $\varepsilon=1$ and 2, by {:.1f} and "
            "{:.1f} points", lambda d: d.index[d["lead"] > d["noise"]].tolist() == [1.0, 2.0], pinq,
            says=pinq["lead"][[1.0, 2.0]].tolist())
    observe("diffprfs-id3-leads", r"leads PINQ-ID3 by {:.1f} to {:.1f} points at $\varepsilon=0.5$ and 1 with the "
            "max-class sum and Gini", lambda d: (d["lead"] > d["noise"]).all(), others,
            says=[others["lead"].min(), others["lead"].max()])
    observe("diffprfs-id3-gain", "with information gain it leads by {:.1f} points at 1, and by {:.1f} at 0.5, which "
            "is within two standard errors", lambda d: (d["lead"] > d["noise"]).tolist() == [False, True]
            and (d["lead"] > 0).all(), over["information gain"], says=[gain[1.0], gain[0.5]])
    observe("diffprfs-id3-counted", r"Accuracy moves by −{:.1f} to +{:.1f} points, by more than two standard errors at "
            r"$\varepsilon=2$ only, where it gains {:.1f}", lambda d, e:
            (abs(d) > 2 * e).tolist() == [False] * 3 + [True] and d[2.0] > 0 > d.min(),
            moved, np.hypot(its_noise, noise), says=[-moved.min(), moved.max(), moved[2.0]])


def check_later(ahead: Mapping[str, pd.DataFrame]) -> None:
    """The lineage: C4.5, DiffGen and DT-Diff; leads are those of :func:`leads`."""
    c45 = pd.concat([by for name, by in ahead.items() if name.startswith("DiffP-C4.5")])
    most, gain = ({pair: ahead[f"{pair}, {score}"] for pair in ("DiffGen − SuLQ-ID3", "DiffGen − DiffP-C4.5",
                   "DT-Diff − DiffGen")} for score in ("max-class sum", "information gain"))
    two = most["DT-Diff − DiffGen"]
    observe("diffprfs-c45-behind", r"On average DiffP-C4.5 is behind DiffP-ID3 on public bins with every score at "
            r"each $\varepsilon$, by more than two standard errors in nine of twelve cases", lambda d:
            len(d) == 12 and (d["lead"] < 0).all() and (d["lead"] < -d["noise"]).sum() == 9, c45)
    observe("diffprfs-diffgen-max", r"With the max-class sum DiffGen leads SuLQ-ID3 throughout and DiffP-C4.5 at "
            r"$\varepsilon=0.1$ and 0.5", lambda a, b: (a["lead"] > a["noise"]).all()
            and (b["lead"] > b["noise"]).tolist() == [True] * 2 + [False] * 2, *[*most.values()][:2])
    observe("diffprfs-diffgen-gain", r"it falls behind both at $\varepsilon=2$", lambda a, b:
            all(d.loc[2.0, "lead"] < -d.loc[2.0, "noise"] for d in (a, b)), *[*gain.values()][:2])
    observe("diffprfs-dtdiff-max", r"gains {:.1f} and {:.1f} points on DiffGen with the max-class sum at "
            r"$\varepsilon=0.5$ and 1; at 0.1 and 2 it is ahead by no more than two standard errors", lambda d:
            (d["lead"] > d["noise"]).tolist() == [False, True, True, False] and (d["lead"] > 0).all(), two,
            says=two["lead"][[0.5, 1.0]].tolist())
    observe("diffprfs-dtdiff-gain", "With information gain, the score that section 2.3 names for these methods, there "
            "is no difference to see", lambda d: (abs(d["lead"]) < d["noise"]).all(), gain["DT-Diff − DiffGen"])
    observe("diffprfs-larger-shares", "fewer and larger shares win on average", lambda a, b:
            (a["lead"] < 0).all() and (b["lead"] > 0).all(), ahead["DiffP-C4.5 − DiffP-ID3, max-class sum"], two)


def check_random(auc: pd.DataFrame, fixed: pd.DataFrame) -> None:
    """Random trees at fixed depths, and those of 25 trees by depth beside the rule."""
    own = auc["max_depth"].eq(0) | ~auc["method"].str.startswith("random")
    tables = mean_and_error(auc[own], ["method", "dataset"])
    others, noise = rows_of("DiffPRFs-R", *tables)
    few, few_noise = rows_of("random, 5 trees", *tables)
    depths = fixed.drop("rule", level=1)
    missed = (depths.groupby(level=0).max() - fixed.xs("rule", level=1)).to_numpy().max()
    ahead = pd.concat({data: depths.loc[data] - others.loc[data] for data in ("adult", "bank")})
    behind, doubt = (others - few).loc["adult"], 2 * np.hypot(noise, few_noise).loc["adult"]
    observe("diffprfs-random-hindsight", "with hindsight one could gain at most {:.3f} of AUC over the rule",
            lambda m: 0 < m < 0.03, missed, says=[missed])
    observe("diffprfs-random-fixed", "lead DiffPRFs-R with the max-class sum in {:.0f} of 40 cells, at depth 12 in all "
            "eight", lambda a: a.size == 40 and (a > 0).sum().sum() == 32 and (a.xs(12, level=1) > 0).all(axis=None),
            ahead, says=[32])
    observe("diffprfs-random-few", r"On Adult five random trees at the depth of the rule are behind DiffPRFs-R at "
            r"$\varepsilon=0.5$ and 1 by more than two standard errors; at 2 the two are within two standard errors",
            lambda d, e: (d > e)[[0.5, 1.0, 2.0]].tolist() == [True, True, False] and abs(d[2.0]) <= e[2.0],
            behind, doubt)
