"""What the board says: fits at settings chosen in public, losses, paired leads, ranks, a decision table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from ..auditing.multiplicity import holm
from ..papers import BY_CHAPTER, PAPERS
from ..studies import audit
from ..studies.runs import read, wide
from ..studies.sets import ONE_SPLIT, TESTED
from . import learners, stress
from .references import FOREST, NO_NOISE
from .rivals import BOARD, MANY_CLASSES, RIVALS, TUNING, Rival, choices

OURS = "PrivateBooster, δ"
CELL = ["method", "dataset", "epsilon"]
ADDITIVE = (  # of those on the board
    "PrivateBooster, δ, additive",
    "PrivateBooster, additive",
    "logistic regression, δ",
    "logistic regression by ranks, δ",
    *(name for paper in PAPERS.values() if paper.additive for name in paper.makers(paper.board)),
    "DP-EBM",
    "S-BDT",  # a tree of it splits on one attribute
    "diffprivlib logistic",
    "diffprivlib logistic, norm 1",
    "diffprivlib naive Bayes",
)
SHOWN = (  # in figures with few lines
    OURS,
    "PrivateBooster",
    "logistic regression, δ",
    "DPAda-R, δ",
    "DiffPRFs-R",
    "DP-EBM",
    "diffprivlib logistic",
    "random trees",
)
ABOUT = {  # records, attributes, classes
    "adult": (45222, 14, 2),
    "bank": (41188, 20, 2),
    "robot": (5456, 24, 4),
    "credit-default": (30000, 23, 2),
    "german-credit": (1000, 20, 2),
    "magic-telescope": (19020, 10, 2),
    "nursery": (12958, 8, 4),
    "online-shoppers": (12330, 17, 2),
}
DECISION = {  # columns of the table that readers see
    "method": "take",
    "AUC": "AUC",
    "loss": "loss",
    "elsewhere": "elsewhere",
    "additive": "for shapes take",
    "its loss": "loss, shapes",
}
SHORT = {  # for a narrow table that says elsewhere whether there is δ
    OURS: "booster",
    f"{OURS}, additive": "booster, additive",
    "PrivateBooster": "booster",
    "PrivateBooster, additive": "booster, additive",
    "logistic regression, δ": "logistic",
    "logistic regression by ranks, δ": "logistic, ranks",
}
MUCH = (1e3, 1e4)  # n·ε, ends of its ranges
REPAIRED = {paper.text.name: paper.board for paper in BY_CHAPTER}
"""Paper as written → its repaired version on the board, pure as the paper."""


class Source(NamedTuple):
    """Stored runs of some learners on the board."""

    runs: pd.DataFrame  # tidy results
    chosen: pd.DataFrame  # of :func:`~private_trees.board.rivals.choices`
    learners: Mapping[str, Rival]  # whose
    rival: bool  # whether they are rivals, or the book's own


def sources(folder: Path) -> list[Source]:
    """Stored runs of the book's own learners and of the rivals, from the folder of the results."""
    names = ((learners.BOARD, learners.TUNING, learners.LEARNERS, False), (BOARD, TUNING, RIVALS, True))
    return [
        Source(read(name, folder), choices(read(log, folder), learners=learners), learners, rival)
        for name, log, learners, rival in names
    ]


def board_fits(stored: Sequence[Source], *, without_standin: bool = False) -> pd.DataFrame:
    """One row a fit of every learner on the board, at its setting that was chosen in public.

    Parameters
    ----------
    stored : of :func:`sources`.
    without_standin : whether Adult's settings are those that were chosen without its stand-in.

    Returns
    -------
    DataFrame with ``method``, ``utility`` (the setting), ``dataset``, ``epsilon``, ``seed``, ``delta``, ``rival``, and
    the metrics. A learner counts on a data set when all its runs there are done.
    """
    return pd.concat([_chosen_fits(source, without_standin) for source in stored], ignore_index=True)


def _chosen_fits(source: Source, without_standin: bool) -> pd.DataFrame:
    chosen, learners = source.chosen, source.learners.values()
    if without_standin:
        other = chosen["without_standin"]
        chosen = chosen.assign(utility=other.where(other != "", chosen["utility"]))
    single = [
        (r.name, dataset, epsilon, r.defaults[0])
        for r in learners
        if len(r.settings) == 1
        for dataset in r.datasets
        for epsilon in r.epsilons
    ]
    return _fits_at(
        source, pd.concat([chosen[[*CELL, "utility"]], pd.DataFrame(single, columns=[*CELL, "utility"])])
    )


def _fits_at(source: Source, settings: pd.DataFrame) -> pd.DataFrame:
    """Fits at some settings, of the learners whose runs on a data set are all done."""
    learners = source.learners.values()
    fits = wide(source.runs.merge(settings, on=[*CELL, "utility"])).drop(columns=["max_depth", "n_rounds"])
    runs = fits.groupby(["method", "dataset"])["seed"].transform("size")
    wanted = fits["method"].map({r.name: len(r.epsilons) * len(r.seeds) for r in learners})
    delta = fits["method"].map({r.name: r.delta for r in learners})
    return fits.assign(delta=delta, rival=source.rival)[runs == wanted]


def with_hindsight(stored: Sequence[Source]) -> pd.DataFrame:
    """One row a fit, as :func:`board_fits`, of every learner at whichever measured setting is best by mean test AUC.

    Nobody can choose so; it says how much the choice of settings matters.
    """
    found = []
    for source in stored:
        mean = source.runs[source.runs["metric"] == "auc"].groupby([*CELL, "utility"])["value"].mean()
        best = mean.groupby(CELL).idxmax().map(lambda key: key[-1]).rename("utility").reset_index()
        found.append(_fits_at(source, best))
    return pd.concat(found, ignore_index=True)


def tops(references: pd.DataFrame, metric: str = "auc") -> pd.Series[float]:
    """Best mean of learners without privacy on each data set.

    Parameters
    ----------
    references : tidy results of the grid ``references``.
    metric : which.
    """
    part = references[(references["metric"] == metric) & (references["method"] != NO_NOISE)]
    return part.groupby(["method", "dataset"])["value"].mean().groupby("dataset").max()


def losses(fits: pd.DataFrame, references: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC of each method, data set and ε, two standard errors of it, and what is lost against no privacy.

    Returns
    -------
    DataFrame with CELL, ``delta``, ``auc``, ``error``, ``top``, ``loss`` = top − AUC, and ``known`` = n·ε.
    """
    by = fits.groupby(CELL)
    found = by["auc"].agg(["mean", "sem"]).rename(columns={"mean": "auc"}).reset_index()
    found["error"] = 2 * found.pop("sem")
    found["delta"] = by["delta"].first().to_numpy()
    records = references.query("metric == 'records'").groupby("dataset")["value"].mean()
    found["top"] = found["dataset"].map(tops(references))
    found["loss"] = found["top"] - found["auc"]
    found["known"] = found["dataset"].map(records) * found["epsilon"]
    return found


# --- Paired leads -------------------------------------------------------------------------------------------


def leads(
    fits: pd.DataFrame,
    *,
    metric: str = "auc",
    of: str = OURS,
    delta: float | None = None,
    tested: float = TESTED,
) -> pd.DataFrame:
    """Leads of a method over every other one, paired by split and seed.

    Random splits share most of their records, so the leads on them are not independent: for J splits s²/J would be too
    small a variance of their mean. It is (1/J + n_test/n_train) s², as Nadeau and Bengio correct it. Where a data set
    has one split, the seeds differ in their noise alone, and s²/J stays; it is about that split only.

    Parameters
    ----------
    fits : of :func:`board_fits`.
    metric : what is compared; more is better, but for the log loss and errors.
    of : whose leads. Every other row of the board counts, variants of the method among them.
    delta : largest δ of the others; by default that of the method.
    tested : share of the records for testing.

    Returns
    -------
    DataFrame with CELL, ``rival``, ``mean``, ``half`` (of the 95 % interval), ``n`` (pairs), ``p`` of the corrected
    paired t test and ``p_holm``, corrected for the whole table.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the generalization error.
    """
    sign = -1.0 if metric in ("log_loss", "calibration_error", "mae") else 1.0
    keys = ["dataset", "epsilon", "seed"]
    mine = fits.loc[fits["method"] == of, [*keys, metric]].rename(columns={metric: "own"})
    most = fits.loc[fits["method"] == of, "delta"].max() if delta is None else delta
    others = fits[(fits["method"] != of) & (fits["delta"] <= most)]
    both = others.merge(mine, on=keys)
    both["lead"] = sign * (both["own"] - both[metric])
    found = both.groupby([*CELL, "rival"])["lead"].agg(["mean", "std", "count"]).reset_index()
    found = found.rename(columns={"count": "n"})
    shared = np.where(found["dataset"].isin(ONE_SPLIT), 0.0, tested / (1 - tested))
    error = found.pop("std") * np.sqrt(1 / found["n"] + shared)
    found["half"] = error * stats.t.ppf(0.975, found["n"] - 1)
    ratio = found["mean"] / error.clip(lower=1e-12)
    found["p"] = 2 * stats.t.sf(ratio.abs(), found["n"] - 1)
    found["p_holm"] = holm(found["p"].to_numpy())
    return found


def over_best(table: pd.DataFrame) -> pd.DataFrame:
    """Of leads, those over the best other method of each data set and ε, by test score."""
    return table.loc[table.groupby(["dataset", "epsilon"])["mean"].idxmin()].reset_index(drop=True)


def tally(table: pd.DataFrame, *, level: float = 0.05) -> pd.DataFrame:
    """Of leads, how many over each method are clear after correction, how many are clear losses, and the rest."""
    clear = table["p_holm"] < level
    kinds = {"ahead": clear & (table["mean"] > 0), "behind": clear & (table["mean"] < 0), "open": ~clear}
    counts = pd.DataFrame(kinds).groupby(table["method"]).sum().astype(int)
    return counts.sort_values(["behind", "open"], ascending=[False, False]).rename_axis(None)


# --- Ranks --------------------------------------------------------------------------------------------------


class Ranking(NamedTuple):
    """Mean ranks of methods over data sets."""

    mean: pd.Series[float]  # method → mean rank, the best first
    friedman: float  # p-value of Friedman's test that all are alike
    critical: float  # Nemenyi's critical difference of two mean ranks, 5 % over all pairs
    sets: int  # number of data sets


def ranking(means: pd.DataFrame) -> Ranking:
    """Ranks by a table of means.

    Parameters
    ----------
    means : a row a data set, a column a method, complete; more is better.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets.
    """
    sets, methods = means.shape
    ranks = means.rank(axis=1, ascending=False).mean().sort_values()
    friedman = float(stats.friedmanchisquare(*means.to_numpy().T).pvalue)
    quantile = stats.studentized_range.ppf(0.95, methods, np.inf) / np.sqrt(2)
    critical = float(quantile * np.sqrt(methods * (methods + 1) / (6 * sets)))
    return Ranking(ranks, friedman, critical, sets)


def mean_table(table: pd.DataFrame, epsilon: float) -> pd.DataFrame:
    """Mean AUC by data set and method at an ε, of the methods that run on all data sets."""
    return (
        table[table["epsilon"] == epsilon]
        .pivot(index="dataset", columns="method", values="auc")
        .dropna(axis=1)
    )


# --- The decision table -------------------------------------------------------------------------------------


def decisions(table: pd.DataFrame) -> pd.DataFrame:
    """Method of the least mean loss for each kind of task.

    Parameters
    ----------
    table : of :func:`losses`.

    Returns
    -------
    DataFrame, indexed by privacy, classes and range of n·ε, with ``cells`` (pairs of a set and an ε), the method, its
    mean AUC, its mean and worst loss, the mean loss ``elsewhere`` where each set's method is chosen on the others, and
    the additive method with its mean loss.
    """
    rows = {}
    several = table["dataset"].isin(MANY_CLASSES)
    for privacy, most in (("pure ε", 0.0), ("(ε, δ)", 1.0)):
        for classes, kind in (("two", ~several), ("more", several)):
            for name, low, high in _ranges():
                part = table[
                    kind & (table["delta"] <= most) & (table["known"] >= low) & (table["known"] < high)
                ]
                if len(part):
                    rows[privacy, classes, name] = _decision(part)
    return pd.DataFrame(rows).T.rename_axis(["privacy", "classes", "n·ε"])


def _ranges() -> list[tuple[str, float, float]]:
    low, high = (f"{end:,.0f}".replace(",", "\u202f") for end in MUCH)
    return [(f"< {low}", 0.0, MUCH[0]), (f"{low}\u2013{high}", *MUCH), (f"> {high}", MUCH[1], np.inf)]


def _decision(part: pd.DataFrame) -> dict[str, object]:
    by_cell = part.pivot(index=["dataset", "epsilon"], columns="method", values="loss").dropna(axis=1)
    best = str(by_cell.mean().idxmin())
    sets = by_cell.index.get_level_values("dataset")
    others = {name: by_cell[sets != name] for name in sets.unique()}
    elsewhere = [
        by_cell.loc[sets == name, rest.mean().idxmin()] for name, rest in others.items() if len(rest)
    ]
    plain = by_cell[by_cell.columns.intersection(list(ADDITIVE))]
    additive = str(plain.mean().idxmin()) if len(plain.columns) else ""
    return {
        "cells": len(by_cell),
        "method": best,
        "AUC": part.loc[part["method"] == best, "auc"].mean(),
        "loss": by_cell[best].mean(),
        "worst": by_cell[best].max(),
        "elsewhere": pd.concat(elsewhere).mean() if elsewhere else np.nan,
        "additive": additive,
        "its loss": plain[additive].mean() if additive else np.nan,
    }


def firsts(best: pd.DataFrame, epsilon: float) -> dict[str, str]:
    """For each data set whether a method leads at an ε: ``"first"``, ``"level"`` or ``"behind"``.

    Parameters
    ----------
    best : of :func:`over_best`.
    epsilon : which.

    Returns
    -------
    ``"level"`` is a mean below that of the first, by no more than one standard error of their paired difference,
    which is corrected like the leads.
    """
    part = best[best["epsilon"] == epsilon]
    error = part["half"] / stats.t.ppf(0.975, part["n"] - 1)
    kinds = np.where(part["mean"] >= 0, "first", np.where(part["mean"] >= -error, "level", "behind"))
    return dict(zip(part["dataset"], kinds.tolist(), strict=True))


# --- Costs --------------------------------------------------------------------------------------------------


def cost_ratios(
    fits: pd.DataFrame, references: pd.DataFrame, first: pd.DataFrame, *, epsilon: float
) -> pd.DataFrame:
    """Median over data sets of CPU time and memory at an ε, as ratios to a forest without privacy on the same records.

    Parameters
    ----------
    fits : of :func:`board_fits`.
    references : tidy results of the grid ``references``.
    first : tidy results of the grid ``board_first``, with a forest of its own.
    epsilon : which.

    Returns
    -------
    DataFrame with ``cpu_seconds`` and ``memory_mb``; and for the book's own learners, whose budget the board's runs
    plan before the clock starts, ``first``: CPU time of a first fit, which plans it. For the others ``first`` is their
    ``cpu_seconds``, because each fit of theirs is a first one.
    """
    forest = references[references["method"] == FOREST]
    costs = ["cpu_seconds", "memory_mb"]
    peer = forest[forest["metric"].isin(costs)].pivot_table(
        index="dataset", columns="metric", values="value", aggfunc="median"
    )
    mine = fits[fits["epsilon"] == epsilon].groupby(["method", "dataset"])[costs].median()
    ratio = mine.div(peer, level="dataset").groupby("method").median()
    fresh = first[first["metric"] == "cpu_seconds"].groupby(["method", "dataset"])["value"].median()
    own = fresh.div(fresh.loc[FOREST], level="dataset").groupby("method").median()
    return ratio.assign(first=own.drop(FOREST).combine_first(ratio["cpu_seconds"]))


# --- What audits found ----------------------------------------------------------------------------------------

ATTACKS = {  # method → beginnings of the cases that come next to its use on the board
    "diffprivlib forest": ("forest-5-",),
    "diffprivlib logistic": ("logistic-norm-100-",),
    "diffprivlib logistic, norm 1": ("logistic-norm-1-",),
    "diffprivlib naive Bayes": ("bayes-",),
    "DP-EBM": ("booster-size-", "booster-listed-"),
    "dp-xgboost": ("xgboost-split-", "xgboost-noise-"),
}


def audited(folder: Path, methods: Collection[str]) -> pd.Series[str]:
    """In a few words, what stored replays and attacks found of each method.

    Parameters
    ----------
    folder : of the results.
    methods : of the board.
    """
    replays = audit.audited(folder)
    found = {}
    for method in methods:
        if method in replays.index:
            row = replays.loc[method]
            found[method] = f"{row['verdict']} on {row['neighbours']} replays"
        elif method in ATTACKS:
            found[method] = _attacks(pd.read_csv(folder / "audit_peers.csv"), ATTACKS[method])
        else:
            found[method] = "no"
    return pd.Series(found)


def _attacks(cases: pd.DataFrame, beginnings: tuple[str, ...]) -> str:
    """For each relation that was tested the case that goes furthest beyond its claim."""
    mine = cases[cases["case"].str.startswith(beginnings) & (cases["confidence"] == 0.99)]
    worst = mine.loc[(mine["lower_bound"] / mine["claimed"]).groupby(mine["relation_tested"]).idxmax()]
    columns = (worst[name].tolist() for name in ("relation_tested", "lower_bound", "claimed"))
    return "; ".join(
        f"{relation}: {'refuted' if bound > claimed else 'not refuted'}, ε ≥ {bound:.2f} at {claimed:g}"
        for relation, bound, claimed in zip(*columns, strict=True)
    )


# --- Tables of the chapter --------------------------------------------------------------------------------------

STRESS_GROUPS = {
    "bounds": (stress.AS_IT_IS, "bounds × 10", "bounds × 100"),
    "attributes of noise": (stress.AS_IT_IS, "10 attributes of noise", "50 attributes of noise"),
    "records": (stress.AS_IT_IS, *stress.FEW),
}
ELSEWHERE = {
    "federated-boosted-dp-trees: TR Newton IH EBM, 100": "TR Newton IH EBM",
    "federated-boosted-dp-trees: TR Newton, 100 rounds": "TR Newton",
    "federated-boosted-dp-trees: FEVERLESS 25": "FEVERLESS",
    "PrivaTree, depth 4": "PrivaTree (labels: balanced accuracy)",
}


def stress_table(results: pd.DataFrame, *, epsilon: float) -> pd.DataFrame:
    """Mean change of AUC of each stress (rows) for each method, over the data sets to which it applies.

    Parameters
    ----------
    results : tidy results of the grid ``stress``.
    epsilon : which.
    """
    part = results[(results["metric"] == "auc") & (results["epsilon"] == epsilon)]
    mean = part.pivot_table(index=["method", "dataset"], columns="utility", values="value")
    change = mean.sub(mean[stress.AS_IT_IS], axis=0).groupby("method").mean().T
    return change[[name for name in stress.METHODS if name in change]]


def at_one(by_metric: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Leads at ε = 1 with half of their interval, and over whom, as texts by data set.

    Parameters
    ----------
    by_metric : metric → leads by it, of :func:`over_best`.
    """
    columns = {}
    for metric, best in by_metric.items():
        rows, name = best[best["epsilon"] == 1.0].set_index("dataset"), metric.replace("_", " ")
        columns[name] = rows["mean"].map("{:+.4f}".format) + rows["half"].map(" ± {:.4f}".format)
        columns[f"{name}, over"] = rows["method"]
    return pd.DataFrame(columns).rename_axis(None)


def elsewhere(peers: pd.DataFrame, fits: pd.DataFrame) -> pd.DataFrame:
    """AUC on Adult and Bank of the booster and of rivals that were measured in another harness, on the same splits.

    Parameters
    ----------
    peers : table of ``results/peers.csv``; its split of Bank is that of seed 0.
    fits : of :func:`board_fits`.
    """
    budgets, sets = [0.1, 1.0, 5.0], ["adult", "bank"]
    ours = fits[fits["method"].isin([OURS, "PrivateBooster"])]
    ours = ours[ours["dataset"].isin(ONE_SPLIT) | (ours["seed"] == 0)]
    theirs = peers[peers["method"].isin(list(ELSEWHERE))].rename(columns={"auc_mean": "auc"})
    theirs = theirs.assign(method=theirs["method"].map(ELSEWHERE))
    both = pd.concat([ours, theirs])
    both = both[both["epsilon"].isin(budgets) & both["dataset"].isin(sets)]
    table = both.pivot_table(index="method", columns=["dataset", "epsilon"], values="auc").rename_axis(None)
    order = [OURS, "PrivateBooster", *table.index.difference([OURS, "PrivateBooster"], sort=False)]
    table = table.loc[order]
    names = [f"{dataset}, ε = {epsilon:g}" for dataset in sets for epsilon in budgets]
    return table.set_axis(names, axis=1)


def beside_written(written: pd.DataFrame, means: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC of each paper as written, whose ε is claimed only, beside its repaired version and the booster's.

    Parameters
    ----------
    written : tidy results of the grid ``board_written``.
    means : of :func:`losses`.

    Returns
    -------
    DataFrame, a row a paper, data set and ε, with ``written``, the range of its seeds ``spread``, ``repaired`` and
    ``booster``.
    """
    by = written[written["metric"] == "auc"].groupby(CELL)["value"]
    table = pd.DataFrame({"written": by.mean(), "spread": by.max() - by.min()}).reset_index()
    of = means.set_index(CELL)["auc"].to_dict()
    keys = list(table[CELL].itertuples(index=False, name=None))
    table["repaired"] = [of[REPAIRED[method], dataset, epsilon] for method, dataset, epsilon in keys]
    return table.assign(booster=[of[OURS, dataset, epsilon] for _, dataset, epsilon in keys])


def greyed(beside: pd.DataFrame) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """The same as a table for readers, a column an ε, and its rows that are no competitors.

    Parameters
    ----------
    beside : of :func:`beside_written`.
    """
    rows, grey = {}, []
    for dataset, part in beside.groupby("dataset"):
        by = part.pivot(index="method", columns="epsilon")
        rows[str(dataset), OURS] = by["booster"].iloc[0]
        for paper, repaired in REPAIRED.items():
            own = f"{repaired}, repaired" if repaired == paper else repaired
            grey.append((str(dataset), f"{paper}, as written"))
            rows[str(dataset), own] = by["repaired"].loc[paper]
            rows[grey[-1]] = by["written"].loc[paper]
    table = pd.DataFrame(rows).T
    return table.set_axis([f"ε = {epsilon:g}" for epsilon in table.columns], axis=1), grey


def everything(fits: pd.DataFrame, means: pd.DataFrame, costs: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """All methods at ε = 1: data sets, privacy, loss of AUC, calibration, cost, and what audits found.

    Parameters
    ----------
    fits, means, costs : of :func:`board_fits`, :func:`losses` and :func:`cost_ratios`.
    folder : of the results.
    """
    part, one = (
        means[means["epsilon"] == 1.0].groupby("method"),
        fits[fits["epsilon"] == 1.0].groupby("method"),
    )
    table = pd.DataFrame(
        {
            "sets": part.size(),
            "privacy": part["delta"].first().map(lambda delta: "(ε, δ)" if delta else "pure ε"),
            "loss of AUC": part["loss"].mean(),
            "calibration": one["calibration_error"].mean(),
            "CPU": costs["first"],
        }
    )
    return (
        table.assign(audited=audited(folder, list(table.index))).sort_values("loss of AUC").rename_axis(None)
    )
