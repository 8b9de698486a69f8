"""Appendix to chapter 7: readings, ablations and prices of eDPRF."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from dpnb.arrays import Ints
from dpnb.papers.edprf import default_trees

from ..site.observations import observe
from ..studies.edprf import AS_WRITTEN, BUDGETS, READINGS, REPEATS
from ..tables import edprf as tables
from ..tables.edprf import change, z_values
from ..tables.shared import Shown, shown
from . import GRID

PARAMETERS = GRID
VARIANTS = {
    "tradition": "tradition",
    "tradition_spl_imp": "spl_imp",
    "tradition_leaf_imp": "leaf_imp",
    AS_WRITTEN: "as written",
}
"""Methods of Figures 5 and 6, and what the text calls them."""


def main_grid(p: SimpleNamespace) -> tuple[pd.DataFrame, dict[str, float]]:
    """Cells of the main grid, and the share of the majority class by data set; prints what there is."""
    points = tables.grid(p)
    majority = tables.majority(points)
    levels = ", ".join(f"{name} {level:.3f}" for name, level in majority.items())
    print(f"{len(points)} cells of {REPEATS} repeats; majority class: {levels}")
    return points, majority


def by_budget(cells: pd.DataFrame, metric: str, *, rows: list[str], caption: str) -> Shown:
    """A metric in a table with a column for each ε and a row for each combination of some columns."""
    named = cells.assign(row=cells[rows].astype(str).agg(", ".join, axis=1))
    table = named.pivot_table(metric, "row", "epsilon", sort=False).rename(columns="ε = {:g}".format)
    return shown(table.rename_axis(index=None, columns=None), caption, formats="{:.3f}")


def counted(leads: Mapping[str, pd.Series[float]]) -> pd.DataFrame:
    """In how many settings a lead is above and below 0, and by two standard errors, by comparison and data set."""
    counts = {
        f"{pair}, {name}": {
            "cells": len(z),
            "ahead": (z > 0).sum(),
            "behind": (z < 0).sum(),
            "ahead by 2 se": (z > 2).sum(),
            "behind by 2 se": (z < -2).sum(),
        }
        for pair, lead in leads.items()
        for name, z in lead.groupby("dataset", sort=False)
    }
    return pd.DataFrame(counts).T


def over_sets(settings: pd.DataFrame, pair: str, *sets: str) -> pd.Series[Any]:
    """Numbers of settings of one comparison, as :func:`counted` gives them, over some data sets."""
    return settings.loc[[f"{pair}, {name}" for name in sets]].sum()


def by_reading(readings: pd.DataFrame) -> Shown:
    """Accuracy on the robot data, a row a reading, a column a variant."""
    columns = list(readings["label"].unique())
    table = readings.pivot_table("mean", "utility", "label").loc[list(READINGS), columns]
    two = readings["error"].median()
    caption = f"Robot, ε = 1, treeDepth 6: test accuracy by reading; two standard errors {two:.3f} (median)"
    return shown(table.rename_axis(index=None, columns=None), caption, formats="{:.3f}")


def without_noise(points: pd.DataFrame, forests: pd.DataFrame) -> Shown:
    """Accuracy without noise at treeDepth 6, a row a data set; the caption has the ledgers' ε of all forests."""
    exact = points.query("epsilon == inf and tree_depth == 6").pivot_table("mean", "dataset", "method")
    table = exact[["repaired", AS_WRITTEN]].add_suffix(", ε = ∞").loc[list(tables.NAMES.values())]
    table["majority class"] = pd.Series(tables.majority(points))
    truth = forests.query("epsilon == 1").groupby("label", sort=False)["ledger_epsilon"].max()
    ledgers = ", ".join(f"{name} {value:g}" for name, value in truth.items())
    caption = f"Accuracy without noise; the ledger's ε for a claim of 1 is {ledgers}"
    return shown(table.rename_axis(index=None, columns=None), caption, formats="{:.3f}")


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_theory(zcdp: pd.DataFrame, shares: Mapping[str, pd.Series[float]], samples: Mapping[int, Ints],
                 attack: Mapping[str, Any]) -> None:
    """What permute-and-flip gives up, shares of the levels, and undersampling with an attack on a leaf."""
    observe("edprf-zcdp", r"every row needs more than $\frac{\varepsilon^2}8$",
            lambda needed, bound: (needed > bound).all(), zcdp["ρ needed"], zcdp["ε²/8"])
    growth = {name: float(share.iloc[-1] / share.iloc[0]) for name, share in shares.items()}
    observe("edprf-harmonic", "the harmonic rule gives the last level treeDepth times the share of the first, "
            "that is {:.1f} times at treeDepth 8",
            lambda growth: all(np.isclose(growth[f"treeDepth {depth}, harmonic"], depth) for depth in (3, 6, 8)),
            growth, says=[growth["treeDepth 8, harmonic"]])
    observe("edprf-geometric", "the geometric rule gives it {:.1f} times there",
            lambda g: 1 < g["treeDepth 8, geometric"] < g["treeDepth 8, harmonic"], growth,
            says=[growth["treeDepth 8, geometric"]])
    observe("edprf-sample", "one person changes the sample by two records, one of them somebody else's",
            lambda before, after: (after - before == 1).all() and len(before) == 2, *samples.values())
    times = attack["lower_95"] / float(attack["claim"])
    observe("edprf-certified", "certifies {:.2f} times the claim", lambda bound: 1 < bound < 2, times, says=[times])


def check_improvements(settings: pd.DataFrame, variants: pd.DataFrame) -> None:
    """Figures 5 and 6, with the numbers of settings as :func:`counted` gives them."""
    robot, others = (over_sets(settings, "spl_imp over tradition", *sets) for sets in (["Robot"], ["Adult", "Bank"]))
    wins = ["ahead", "ahead by 2 se", "behind by 2 se"]
    observe("edprf-fig5-robot", "On the robot data it is ahead in {:.0f} of 30 settings, "
            "by more than two standard errors in {:.0f} and behind by that in {:.0f}",
            lambda cells: cells == 30, robot["cells"], says=[*robot[wins]])
    observe("edprf-fig5-others", "On Adult and Bank it is ahead in {:.0f} of 60, "
            "by more than two standard errors in {:.0f} and behind by that in {:.0f}",
            lambda cells: cells == 60, others["cells"], says=[*others[wins]])
    mean = variants[variants["dataset"] == "Robot"].groupby("label")["mean"].mean()
    points = float(100 * (mean["spl_imp"] - mean["tradition"]))
    observe("edprf-fig5-points", "The mean lead is {:.1f} points", lambda more: 0 < more < 0.5, points, says=[points])
    robot, others = (over_sets(settings, "leaf_imp over tradition", *sets) for sets in (["Robot"], ["Adult", "Bank"]))
    observe("edprf-fig6-robot", "are behind the tradition in {:.0f} of {:.0f} settings of the robot data, "
            "by more than two standard errors in {:.0f}", lambda behind, cells: behind == cells > 0, robot["behind"],
            robot["cells"], says=[*robot[["behind", "cells", "behind by 2 se"]]])
    observe("edprf-fig6-others", "on Adult and Bank in {:.0f} of {:.0f}, by more than two standard errors in {:.0f}, "
            "and ahead by that in {:.0f}", lambda behind, ahead: behind > ahead, others["behind by 2 se"],
            others["ahead by 2 se"], says=[*others[["behind", "cells", "behind by 2 se", "ahead by 2 se"]]])


def check_written(z: pd.Series[float], settings: pd.DataFrame, variants: pd.DataFrame) -> None:
    """EDPRF as written, with its leads over the tradition in standard errors."""
    observe("edprf-deep", "ahead of the tradition in the deepest trees on all three data sets, "
            r"from $\varepsilon=0.25$ on by more than two standard errors",
            lambda z: (z > 0).all() and (z.drop(0.1, level="epsilon") > 2).all(), z.xs(8, level="tree_depth"))
    mine = variants.query("label == 'as written' and dataset == 'Robot'").groupby("epsilon")["mean"]
    ends = [float(100 * end[budget]) for budget in (1.0, 2.0) for end in (mine.min(), mine.max())]
    observe("edprf-range", r"between {:.0f} and {:.0f} % at $\varepsilon=1$ and between {:.0f} and {:.0f} % "
            r"at $\varepsilon=2$",
            lambda ends: all(np.diff(ends) > 0), ends, says=ends)
    low = z.loc[["Robot"]][lambda z: z < -2]
    observe("edprf-shallow", "It is behind by that in {:.0f} settings of the robot data, all with treeDepth 4 to 6 "
            r"and $\varepsilon\le1$", lambda depth, budget: depth.max() == 6 and budget.max() == 1,
            low.index.get_level_values("tree_depth").to_numpy(), low.index.get_level_values("epsilon").to_numpy(),
            says=[len(low)])
    observe("edprf-shallow-others", "and in none of Adult and Bank",
            lambda z: len(z) == 60 and (z >= -2).all(), z.drop("Robot", level="dataset"))
    both = over_sets(settings, "as written over leaf_imp", *tables.NAMES.values())
    counts = both[["ahead by 2 se", "cells", "behind by 2 se"]]
    observe("edprf-aligned", "It is ahead of `leaf_imp` by more than two standard errors in {:.0f} of {:.0f} settings, "
            "and behind by that in {:.0f}", lambda ahead, cells, behind: ahead > cells / 2 and behind == 0,
            *counts, says=[*counts])


def check_readings(readings: pd.DataFrame) -> None:
    """Readings."""
    cells: Any = readings.set_index(["label", "utility"])
    z = z_values(cells.loc["leaf_imp"], cells.loc["tradition"])
    observe("edprf-readings", "`leaf_imp` is behind the tradition by more than two standard errors in every reading "
            "but one", lambda z: (z.drop("monotone rate") < -2).all() and len(z) == 8, z)
    observe("edprf-monotone", "it is ahead by {:.1f} standard errors", lambda z: z > 2, z["monotone rate"],
            says=[z["monotone rate"]])
    by = cells.swaplevel().sort_index()
    better = {other: z_values(by.loc["public bins"], by.loc[other]) for other in ("plain", "bins of equal size")}
    observe("edprf-public", "public bins are better than bins from the node for all three variants",
            lambda better: all((z > 2).all() and len(z) == 3 for z in better.values()), better)
    observe("edprf-normalised", r"The normalised index with $\Delta=2$ is behind the weighted one for all three",
            lambda z: (z < -2).all() and len(z) == 3, z_values(by.loc["normalised Gini"], by.loc["plain"]))
    mean = cells["mean"]
    kept, lost, rival = (mean[cell] for cell in (
        ("as written", "plain"), ("as written", "not aligned"), ("tradition", "not aligned")))
    observe("edprf-unaligned", "eDPRF falls from {:.3f} to {:.3f}, below the tradition",
            lambda lost, rival: lost < rival, lost, rival, says=[kept, lost])


def check_forests(forests: pd.DataFrame, majority: Mapping[str, float]) -> None:
    """A wider comparison."""
    cells: Any = forests.set_index(["label", "dataset", "epsilon"]).sort_index()
    z: Any = pd.DataFrame({name: z_values(cells.loc["as written"], cells.loc[name])
                           for name in ("DiffPRF, 25 trees", "DiffPRF, 5 trees")})
    observe("edprf-diffprf", r"ahead of DiffPRF from $\varepsilon=1$ on, on all three data sets and with 5 or 25 "
            r"trees; by more than two standard errors everywhere but on Bank at $\varepsilon=1$ against 5 trees",
            lambda z: len(z) == 18 and (z > 0).all() and list(z.index[z <= 2]) == [("Bank", 1.0, "DiffPRF, 5 trees")],
            z[z.index.get_level_values("epsilon") >= 1].stack())
    observe("edprf-diffprf-small", r"At $\varepsilon=0.1$ it is not; on Bank it is behind",
            lambda z, bank: not (z > 2).any(axis=None) and (bank < 0).all(),
            z.xs(0.1, level="epsilon"), z.loc["Bank", 0.1])
    low = cells["mean"]["as written", "Bank"].loc[:0.25]
    observe("edprf-bank", r"On Bank it is behind both by more than two standard errors at $\varepsilon=0.1$ and "
            "$0.25$, where it falls below the majority class",
            lambda z, low, floor: (z < -2).all(axis=None) and (low < floor).all() and len(low) == 2,
            z.loc["Bank"].loc[:0.25], low, majority["Bank"])
    next_best = cells.drop("repaired").groupby(level=["dataset", "epsilon"])[["mean", "auc"]].max()
    over = cells.loc["repaired", ["mean", "auc"]] - next_best
    observe("edprf-auc", r"Its AUC is the best in every column, but on Robot at $\varepsilon=0.1$ by {:.3f} only, "
            "ahead of random splits",
            lambda lead, rival: (lead > 0).all() and lead.idxmin() == ("Robot", 0.1) and rival == "random splits",
            over["auc"], cells["auc"].drop("repaired")[:, "Robot", 0.1].idxmax(), says=[over["auc"]["Robot", 0.1]])
    observe("edprf-more-auc", "On Adult and Bank its lead over the next is larger in AUC than in accuracy",
            lambda lead: (lead["auc"] > lead["mean"]).all(), over.drop("Robot"))


def check_steps(ladder: pd.DataFrame) -> None:
    """All steps and budgets, up to uniform levels."""
    each = {step: change(ladder, step - 1, step) for step in range(1, 7)}
    points, z = (pd.DataFrame({step: table[what] for step, table in each.items()}) for what in ("points", "z"))
    robot: Any = z.loc["Robot"]
    observe("edprf-step-1", "Disjoint bags (step 1) change nothing clearly", lambda z: (abs(z) < 2).all(), z[1])
    observe("edprf-step-2", r"Public bins (step 2) are clearly better on Robot from $\varepsilon=0.5$ on",
            lambda z: (z.loc[0.5:] > 2).all() and len(z) == 6, robot[2])
    one: Any = points.loc["Robot"].loc[1.0]
    observe("edprf-step-3", r"costs {:.1f} points on Robot at $\varepsilon=1$, and at most {:.1f} points on Adult",
            lambda z: z < -2, robot[3][1.0], says=[-one[3], -points.loc["Adult"][3].min()])
    signs = np.sign(z[4].where(abs(z[4]) > 2, 0))
    observe("edprf-step-4", r"are clearly better on Adult from $\varepsilon=1$ on and clearly worse below. "
            r"On Robot they are clearly better at $\varepsilon=0.1$ and 5 and clearly worse at 0.5 and 1",
            lambda adult, robot: (list(adult), list(robot)) == ([-1, -1, -1, 1, 1, 1], [1, 0, -1, -1, 0, 1]),
            signs["Adult"], signs["Robot"])
    observe("edprf-steps-5-6", r"costs {:.1f} points on Robot at $\varepsilon=1$ as long as the shares are those of "
            "(9); *uniform levels* (step 6) bring {:.1f} back",
            lambda z: z[0] < -2 and z[1] > 2, robot.loc[1.0, [5, 6]].tolist(), says=[-one[5], one[6]])
    observe("edprf-step-6", r"On Robot uniform levels are clearly better from $\varepsilon=1$ on and clearly worse "
            "below", lambda z: (z.loc[1:] > 2).all() and (z.loc[:0.5] < -2).all() and len(z) == 6, robot[6])


def check_last_steps(ladder: pd.DataFrame) -> None:
    """All steps and budgets: the counts in leaves, the trees, and the forest without a stop."""
    each = {step: change(ladder, step - 1, step) for step in range(1, 12)}
    auc = pd.DataFrame({step: table["auc"]["Adult"] for step, table in each.items()})
    observe("edprf-step-8", r"bring {:.2f} to {:.2f} of AUC on Adult, at each $\varepsilon$ the most of all steps",
            lambda auc: (auc.idxmax(axis=1) == 8).all(), auc, says=[auc[8].min(), auc[8].max()])
    ten, last = each[10], each[11]
    few = {budget: default_trees(budget) for budget in BUDGETS}
    observe("edprf-step-10", r"fewer trees are clearly better on both sets up to $\varepsilon=1$",
            lambda few, z: max(few[e] for e in few if e <= 1) < 5 and (z[z.index.get_level_values(1) <= 1] > 2).all(),
            few, ten["z"])
    observe("edprf-step-10-most", r"At $\varepsilon=5$ there are more, {:.0f}, and on Robot they cost {:.1f} points",
            lambda most, z: most > 5 and z < -2, few[5.0], ten["z"]["Robot", 5.0],
            says=[few[5.0], -ten["points"]["Robot", 5.0]])
    observe("edprf-step-11-robot", r"clearly ahead of our own default, step 10, on Robot from $\varepsilon=0.5$ on, "
            "and on Adult no difference is clear",
            lambda z: (z["Robot"].loc[0.5:] > 2).all() and (abs(z["Adult"]) < 2).all() and len(z) == 12, last["z"])
    observe("edprf-step-11", "it is ahead in {:.0f} of {:.0f} settings, clearly in {:.0f}, "
            "and clearly behind in {:.0f}", lambda z: (z > 2).any() and not (z < -2).any(), last["z"],
            says=[(last["points"] > 0).sum(), len(last), (last["z"] > 2).sum(), (last["z"] < -2).sum()])
    observe("edprf-step-11-auc", "Its AUC is higher in {:.0f} of {:.0f}", lambda auc: (auc > 0).mean() > 0.5,
            last["auc"], says=[(last["auc"] > 0).sum(), len(last)])


def check_replays(replays: pd.DataFrame) -> None:
    """Replays."""
    used = replays["worst_share"]
    observe("edprf-none", "no loss above the ledger in any variant",
            lambda above: (above == 0).all(), replays["above_the_ledger"])
    observe("edprf-half-used", "The paper, made private, uses {:.3f} of what its ledger allows",
            lambda share: share <= 0.5, used["text, made private"], says=[used["text, made private"]])
    observe("edprf-close", "six come within a twentieth of all of it, the repaired forest with {:.3f}",
            lambda used: ((used >= 0.95) & (used <= 1 + 1e-9)).sum() == 6, used.to_numpy(), says=[used["repaired"]])
