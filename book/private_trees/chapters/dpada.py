"""Chapter 6: what DPAda's noise does, what leaks in spite of it, and what a repair buys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd

import dpnb
from dpnb.arrays import Floats, Ints
from dpnb.data.datasets import Dataset
from dpnb.papers.dpada import SCHEDULES
from dpnb.papers.stumps import round_budget
from dpnb.records.memory import Records

from .. import experiments
from ..auditing.counts import clopper_pearson
from ..site.notebook import integer
from ..site.observations import observe
from ..studies import dpada as grids
from ..studies import runs
from . import GRID, LIVE

PARAMETERS = LIVE | {"n_rounds": integer(low=4), "repeats": integer(low=2)} | GRID
SETS = {"adult/us": "Adult, US-born", "bank": "Bank"}
LETTERS, STAYS = (f"as written ({reading}): " for reading in (grids.LETTERS, grids.ACCURATE))
TEXT, TEXT_STAYS = ([reading + schedule for schedule in SCHEDULES] for reading in (LETTERS, STAYS))
"""Methods of the text, by its letters, and where noise stays in the weights."""
IMPROVED, FIXED = "repaired: improved", "repaired, fixed α, δ: all"
CURVES = {
    LETTERS + "swing": "Swing as written",
    LETTERS + "improved": "Improved as written",
    STAYS + "improved": "Improved, noise stays",
    "DP-AdaBoost": "DP-AdaBoost",
    "CART-DPsAdaBoost": "CART-DPsAdaBoost",
    IMPROVED: "repaired: Improved",
    FIXED: "repaired, δ",
}


def load(dataset: str) -> tuple[Dataset, Records]:
    """The data of the live cells, and their training part, encoded once for all fits; prints their sizes."""
    data = dpnb.load(dataset)
    print(
        f"{data.name}: {len(data.train[0])} records to train, {len(data.test[0])} to test; "
        f"class +1 is {data.domain.classes[1]!r}"
    )
    return data, Records(*data.train, domain=data.domain)


def side_by_side(alphas: Mapping[str, Sequence[Sequence[float]]]) -> pd.DataFrame:
    """Values of α₁ on D and D′ as text, a row a schedule."""
    table = pd.DataFrame(alphas, index=["D", "D′"]).T
    return table.map(lambda side: ", ".join(f"{alpha:.4f}" for alpha in side))


def shares_of_plus(plus: Mapping[str, Sequence[int]], *, runs: int) -> pd.DataFrame:
    """Shares of runs that give label + on D and on D′, with their intervals at 95 %."""
    rows = [
        (schedule, name, k)
        for schedule, sides in plus.items()
        for name, k in zip(("D", "D′"), sides, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["schedule", "data", "runs"]).set_index("schedule")
    low, high = clopper_pearson(table["runs"].to_numpy(), runs, alpha=0.05)
    return table.assign(share=table["runs"] / runs, low=low, high=high)


def points(study: str, p: SimpleNamespace) -> pd.DataFrame:
    """Cells of a study, with names of data sets for readers."""
    found = experiments.points(study, p)
    return found.assign(dataset=found["dataset"].map(SETS))


def levels(grid: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Accuracy without noise at 50 rounds, and that of the majority class, by data set."""
    mean = grid.query("epsilon == inf").set_index(["method", "dataset", "n_rounds"])["mean"]
    return {
        name: {
            "AdaBoost, no noise": mean[grids.NO_NOISE, name, 50],
            "majority class": mean[runs.MAJORITY, name, 0],
        }
        for name in SETS.values()
    }


def by_method(grid: pd.DataFrame, what: str) -> pd.DataFrame:
    """Means or errors at finite budgets, by data set, number of rounds and ε; a column a method."""
    return grid.query("epsilon < inf").pivot_table(what, ["dataset", "n_rounds", "epsilon"], "method")


def ahead_of_text(grid: pd.DataFrame, text: list[str]) -> pd.DataFrame:
    """Points of each ε at which a repaired variant has a higher mean than all four variants of the paper."""
    mean = by_method(grid, "mean")
    return mean.filter(like="repaired").gt(mean[text].max(axis=1), axis=0).groupby("epsilon").sum()


def lead_over_best(grid: pd.DataFrame) -> pd.DataFrame:
    """Lead of the repaired variant of fixed α and δ over the best of the four by the letters, and two errors of it."""
    mean, error = (by_method(grid, what) for what in ("mean", "error"))
    best = mean[TEXT].eq(mean[TEXT].max(axis=1), axis=0)
    of_best = error[TEXT].where(best).max(axis=1)
    lead = mean[FIXED] - mean[TEXT].max(axis=1)
    return pd.DataFrame({"lead": lead, "two": np.hypot(error[FIXED], of_best)})


def behind_exact(grid: pd.DataFrame) -> pd.Series[float]:
    """How far Swing by the letters is behind AdaBoost without noise, in points, by data set, m and ε."""
    exact = grid[grid["method"] == grids.NO_NOISE].set_index(["dataset", "n_rounds"])["mean"]
    swing = by_method(grid, "mean")[LETTERS + "swing"]
    return 100 * pd.Series([exact[name, m] for name, m, _ in swing.index] - swing)


def by_step(ladder: pd.DataFrame, what: str) -> list[pd.DataFrame]:
    """Means or errors in points of accuracy on Adult and on Bank: a row a budget, a column a step."""
    ladder = ladder[
        ladder["method"].str[0].str.isdigit()
    ]  # the other is the text once more, in a second reading
    numbered = ladder.assign(step=ladder["method"].str[0].astype(int), points=100 * ladder[what])
    sets = (numbered[numbered["dataset"] == name] for name in SETS.values())
    return [rows.pivot_table("points", "epsilon", "step") for rows in sets]


def main_attacks(attacks: pd.DataFrame) -> pd.DataFrame:
    """Attacks on what is refuted, and on the repaired variants at a claim of 4; all where a record joins."""
    rows = attacks[(attacks["theory"] == "refuted") | (attacks["claim"] == "4")]
    return rows.drop(index="α₁: all, one record replaced")


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_nine_points(first: Mapping[str, Floats]) -> None:
    """The first picture, with values of α₁ of many runs on either side."""
    seen = [sorted(set(alphas.round(4).tolist())) for alphas in first.values()]
    observe("dpada-nine-values", "one value on either side, {:.4f} on $D$ and {:.4f} on $D'$",
            lambda d, d1: len(d) == len(d1) == 1 and d[0] < d1[0] and d[0] == round(np.log(3.5) / 2, 4),
            *seen, says=[value for side in seen for value in side])


def check_clinic(ill: Sequence[int], repaired: Sequence[int], *, epsilon: float) -> None:
    """Models of 200 that call a 73-year-old ill, without her and with her among the ten people of a clinic."""
    observe("dpada-clinic", "{:.0f} of 200 models without her call a 73-year-old ill, and {:.0f} of 200 models with "
            "her do", lambda without, there: without == 0 and 50 < there < 150, *ill, says=ill)
    observe("dpada-clinic-repaired", "{:.0f} of 200 models without her and {:.0f} of 200 models with her say *ill* "
            "at 73",
            lambda without, there, epsilon: 0 < without < there < min(100, np.exp(epsilon) * without),
            *repaired, epsilon, says=repaired)


def check_weights(by_hand: Floats, seen: Floats) -> None:
    """Where the weights come from."""
    observe("dpada-by-hand", "two weights after round 1, {:.4f} and {:.4f}, and the wrong records weigh one half "
            "in total",
            lambda hand, seen: np.allclose(sorted(hand), sorted(seen)) and np.isclose(hand[:2].sum(), 0.5),
            by_hand, seen, says=[by_hand[0], by_hand[-1]])


def check_noise(sizes: Mapping[str, float]) -> None:
    """The noise of Algorithm 2."""
    names = ("smallest weight", "largest weight", "noise, flat", "noise, literal")
    smallest, largest, flat, literal = (sizes[name] for name in names)
    observe("dpada-exceed", "both exceed the weights by orders of magnitude",
            lambda noise, weight: noise > 1000 * weight > 0, literal, largest)
    observe("dpada-sizes-seen", "the literal scale is more than a million times the smallest weight, "
            "and that even the flat one is {:.0f} times the largest",
            lambda big, small: 1e6 < big / small < 2e6, literal, smallest, says=[flat / largest])


def check_jumps(jump: Callable[[int, float], float], steps: Floats, jumps: Floats) -> None:
    """The sensitivities (14) and (15), among a thousand records."""
    observe("dpada-one-record", "one record can raise the largest weight by {:.3f}, to nearly all of it",
            lambda change: change > 0.9, jump(1000, 5), says=[jump(1000, 5)])
    observe("dpada-jump-formula", r"where the paper's $\Delta f_{\max}$ is 0",
            lambda found, A, N: np.allclose(found, np.exp(2 * A) / (N + np.exp(2 * A)) - 1 / N), jumps, steps, 1000)
    observe("dpada-summary-change", "Where (14) is 0 the true change can be nearly 1",
            lambda change: max(change) > 0.9, jumps)
    observe("dpada-delta-note", "It is 0 for uniform weights, where one record can raise the largest weight "
            "to nearly 1", lambda change, N: change + 1 / N > 0.95, jump(1000, 5), 1000)


def check_theorem_2(alphas: Mapping[str, list[list[float]]], plus: Mapping[str, Sequence[int]]) -> None:
    """Theorem 2, from inside and from outside."""
    observe("dpada-one-value", r"one value on each side, and on $D$ it is $\frac12\ln3$",
            lambda found: all(len(D) == len(D1) == 1 and D != D1 and D[0] == round(np.log(3) / 2, 4)
                              for D, D1 in found.values()), {s: alphas[s] for s in SCHEDULES})
    observe("dpada-replaced", "Replacing a record instead of adding one does the same",
            lambda found: sorted(found) == [[0.5493], [0.973]], alphas["all, a record replaced"])
    there = [with_her for _, with_her in plus.values()]
    observe("dpada-plus-only", "label $+$ on $D'$ only, there in {:.0f} to {:.0f} of 100 runs",
            lambda n: all(D == 0 and D1 > 0 for D, D1 in n.values()), plus, says=[min(there), max(there)])


def check_schedules(schedules: Mapping[str, Ints], kept: Ints, swing: Ints) -> None:
    """Theorem 1: how many rounds have noise."""
    R = {name: int(h[1:].sum()) for name, h in schedules.items()}
    observe("dpada-twelve", "{:.0f} noise rounds under Definition 7 and {:.0f} in Swing",
            lambda R: R["Definition 7"] > R["Swing"] > R["known coins"], R, says=[R["Definition 7"], R["Swing"]])
    observe("dpada-three-coins", "Three rounds decide it", lambda a, b: a[1:].sum() > b[1:].sum() > 0, kept, swing)


def check_repair(live: pd.DataFrame, *, epsilon: float) -> None:
    """The repair with δ, and what it buys live."""
    rate = round_budget(epsilon=epsilon, delta=1e-5, rounds=250).epsilon
    observe("dpada-rates", r"At 250 rounds and $\delta=10^{{-5}}$ the rate is {:.1f} times that of pure $\varepsilon$",
            lambda with_delta, pure: with_delta > 5 * pure, rate, epsilon / 250, says=[rate / (epsilon / 250)])
    bare = live.rename(index=lambda name: name.removeprefix("as written: "), level=0)
    observe("dpada-one-algorithm", r"without noise ($\varepsilon=\infty$) the readings are one algorithm",
            lambda a: a.nunique() == 1 and a.iloc[0] > 0.8, bare["accuracy"].xs(np.inf, level="epsilon")[:-1])
    noisy = bare.xs(epsilon, level="epsilon")
    observe("dpada-plainest", "the runs of the plainest reading have a standard deviation of {:.2f}, "
            "and those of the repaired algorithm one of {:.3f}", lambda sd: 0 < 10 * sd["repaired"] < sd[grids.LETTERS],
            noisy["sd"], says=noisy["sd"][[grids.LETTERS, "repaired"]].tolist())
    observe("dpada-within", "The mean of `flat, first, clip0` is within a point of the repaired one",
            lambda a: 0 < a["repaired"] - a[grids.ACCURATE] < 0.01, noisy["accuracy"])
    observe("dpada-only-private", "Only the repaired one is private",
            lambda truth: set(truth[truth < np.inf].index) == {"repaired"}, noisy["true epsilon"])


def check_lead(grid: pd.DataFrame) -> None:
    """The finding: Swing by the letters beside AdaBoost without noise, and the private variant beside all four."""
    behind, lead = behind_exact(grid), lead_over_best(grid)
    many = behind[behind.index.get_level_values("n_rounds") >= 50]
    observe("dpada-finding", r"comes within a point of boosting without noise at 50, 70, 90 and 100 rounds, at "
            r"$\varepsilon=0.1$ as at 5", lambda gap: gap.between(0, 1).all() and len(gap) == 64, many)
    observe("dpada-nearly", r"from fifty rounds on its variant Swing is then nearly as accurate as boosting without "
            r"noise at each $\varepsilon$ of the paper", lambda gap: gap.between(0, 1).all(), many)
    ahead = [(lead["lead"] > 0).sum(), len(lead)]
    observe("dpada-most", r"with a small $\delta$ it is more accurate than all four variants at most points of the "
            "paper's grid", lambda t: (t["lead"] > 0).mean() > 0.6, lead)
    observe("dpada-private-ahead", r"With fixed steps and a small $\delta$ it has a higher mean accuracy than all four "
            "variants at {:.0f} of the {:.0f} points of the paper's grid",
            lambda t: (t["lead"] > 0).mean() > 0.6, lead, says=ahead)
    observe("dpada-clear-cells", "leads the best of the four by more than two standard errors in {:.0f} of the {:.0f} "
            "cells, and is behind by as much in {:.0f}", lambda t: (t["lead"] > t["two"]).mean() > 0.5, lead,
            says=[(lead["lead"] > lead["two"]).sum(), len(lead), (lead["lead"] < -lead["two"]).sum()])


def check_grid(grid: pd.DataFrame) -> None:
    """What else the paper's grid shows, by the letters and where noise stays."""
    mean = by_method(grid, "mean")
    by_m, stays = (mean[text].groupby(["dataset", "n_rounds"]).mean() for text in (TEXT, TEXT_STAYS))
    observe("dpada-swing-best", "Swing is the best of the four in all {:.0f} cells",
            lambda t, best: (t.idxmax(axis=1) == best).all(), mean[TEXT], LETTERS + "swing", says=[len(mean)])
    low = mean.xs(50, level="n_rounds")[TEXT]
    observe("dpada-below", "DPAda itself lies below, between {:.2f} and {:.2f}",
            lambda t, name: (t[name] < t.drop(columns=name).min(axis=1)).all(), low, LETTERS + "all",
            says=low[LETTERS + "all"].agg(["min", "max"]).tolist())
    swing = mean[LETTERS + "swing"].unstack("n_rounds")
    observe("dpada-swing-up", r"It rises with $m$ at every $\varepsilon$ on both data sets",
            lambda t: (t[100] > t[30]).all() and len(t) == 16, swing)
    sd = grid.query("epsilon < inf").groupby("method")["sd"].mean()[TEXT].rename(lambda name: name.split(": ")[1])
    observe("dpada-sds", "runs of Swing differ by {:.3f}, those of Improved, Random and DPAda by {:.2f}, {:.2f} and "
            "{:.2f}", lambda s: 20 * s["swing"] < s["improved"] < s["random"] < s["all"], sd,
            says=sd[["swing", "improved", "random", "all"]].tolist())
    swing_behind = int((mean[LETTERS + "swing"] < mean["DP-AdaBoost"]).sum())
    observe("dpada-behind", "Swing is behind our DP-AdaBoost at {:.0f} of the points",
            lambda n, most: most > n > most / 2, swing_behind, len(mean), says=[swing_behind])
    private = grid.query("epsilon < inf")  # or claimed to be
    truth = (private["ledger_epsilon"] / private["epsilon"]).groupby(private["method"]).max()
    observe("dpada-true-as-claimed", "the repaired variants, the only private ones",
            lambda t, text: {name.split(":")[0].split(",")[0] for name in t[t <= 1 + 1e-9].index} == {"repaired"}
            and not t[t == np.inf].index.str.startswith("repaired").any() and (t > 1).sum() == text,
            truth, 3 + len(SCHEDULES) * len(grids.SHOWN))
    ahead = ahead_of_text(grid, TEXT_STAYS)
    observe("dpada-repaired-above", r"are above all four variants at every $m$ and every $\varepsilon$ up to 1",
            lambda t: (t.loc[:1.0] == 10).all(axis=None) and t.shape == (8, 6), ahead)
    observe("dpada-all-fall", "all four are lower at $m=100$ than at $m=30$",
            lambda t: (t.xs(100, level=1) < t.xs(30, level=1)).all(axis=None), stays)
    observe("dpada-all-low", "DPAda is the lowest of the four at every $m$ on both data sets, and lower at $m=100$ "
            "than at $m=30$", lambda t, low: (t.idxmin(axis=1) == low).all()
            and (t[low].xs(100, level=1) < t[low].xs(30, level=1)).all(), by_m, LETTERS + "all")


def check_first_steps(ladder: pd.DataFrame) -> None:
    """The price of each step, up to the private stump."""
    sets = by_step(ladder, "mean")
    finite = [t.drop(index=np.inf) for t in sets]
    price, gain = ([float(t[a][np.inf] - t[b][np.inf]) for t in sets] for a, b in ((1, 2), (3, 2)))
    observe("dpada-thresholds", "cost AdaBoost {:.2f} points on Adult and {:.2f} on Bank",
            lambda cost: min(cost) > 0, price, says=price)
    observe("dpada-bounded", "*Bounded weights* with a fixed step cost nothing",
            lambda gain: gain[0] >= 0 and gain[1] > 0.3, gain)
    cost = [t[3][np.inf] - t[4] for t in sets]
    observe("dpada-private-stump", r"costs {:.2f} points on Adult at $\varepsilon=1$ and {:.1f} at $0.1$, "
            "and less on Bank",
            lambda a, b: (b[[0.1, 1.0]] < a[[0.1, 1.0]]).all() and (b[[0.1, 1.0]] > 0).all(),
            *cost, says=[float(cost[0][e]) for e in (1.0, 0.1)])
    stays = ladder[ladder["method"] == "as written, noise stays"].pivot_table("mean", "epsilon", "dataset")
    lead = [t[4] - 100 * stays[name] for t, name in zip(finite, SETS.values(), strict=True)]
    observe("dpada-above-text", r"Even so it is above the paper at every $\varepsilon$ if noise stays in the paper's "
            "weights", lambda a, b: (a > 0).all() and (b > 0).all() and len(a) == 4, *lead)
    moved = [float(np.ptp(t[0])) for t in finite]
    observe("dpada-step-0", r"*The paper*, by the letters, moves by {:.2f} points on Adult and {:.2f} on Bank as "
            r"$\varepsilon$ goes from 0.1 to 5",
            lambda moved, a, b: max(moved) < 0.25 < min(np.ptp(a[4]), np.ptp(b[4])), moved, *finite, says=moved)


def check_last_steps(ladder: pd.DataFrame) -> None:
    """The price of each step from the noisy α on, and the summary."""
    sets, errors = by_step(ladder, "mean"), by_step(ladder, "error")
    finite = [t.drop(index=np.inf) for t in sets]
    lower = [(t[4] - t[5]) / np.hypot(e[4], e[5])[t.index] for t, e in zip(finite, errors, strict=True)]
    observe("dpada-noisy-alpha", r"*A noisy $\alpha$* lowers accuracy by more than two standard errors in six of the "
            "eight cells", lambda a, b: list(a[a > 1].index) == [0.1, 1.0] and (a.abs() < 1).sum() == 2
            and (b > 1).all() and len(b) == 4, *lower)
    observe("dpada-fewer", r"*Fewer, dearer rounds* help at $\varepsilon=0.1$ and hurt at 1 and 5",
            lambda a, b: all(t[6][0.1] > t[5][0.1] and (t[6][[1.0, 5.0]] < t[5][[1.0, 5.0]]).all() for t in (a, b)),
            *finite)
    observe("dpada-zcdp", "comes within a quarter of a point of step 3, which has no noise, from "
            r"$\varepsilon=0.5$ on", lambda a, b: all((t[8].loc[0.5:5.0] > t[3][np.inf] - 0.25).all() for t in (a, b)),
            *sets)
    observe("dpada-booster-ahead", r"is ahead of step 8 at every $\varepsilon$",
            lambda a, b: all((t[9] > t[8]).all() for t in (a, b)), *finite)
    observe("dpada-summary-booster", r"The private booster at $\varepsilon=0.5$, with $\delta$, is more accurate than "
            "the paper's Improved at a claimed 5",
            lambda a, b: all(t[9][0.5] > t[0][5.0] for t in (a, b)), *finite)


def check_audit(attacks: pd.DataFrame, replays: pd.DataFrame) -> None:
    """Audit."""
    observe("dpada-more-than-7", "bounds of more than 7, at 95 % confidence, for everything as written",
            lambda t: (t["lower_95"] > 7).all() and len(t) == 15, attacks[attacks["theory"] == "refuted"])
    observe("dpada-below-claims", "The repaired variants stay below their claims of 1 and 4",
            lambda t: (t["lower_95"] < t["claim"]).all() and set(t["claim"]) == {1.0, 4.0},
            attacks[attacks["theory"] == "holds"].astype({"claim": float}))
    one_round = float(attacks.query("claim == '4'")["lower_95"]["repaired, fixed α, one round"])
    observe("dpada-not-blind", r"One round with a fixed $\alpha$ comes to {:.2f} of its claim of 4",
            lambda bound: 3 < bound < 4, one_round, says=[one_round])
    observe("dpada-no-loss", "no loss above the ledger in any variant",
            lambda t: (t["above_the_ledger"] == 0).all() and (t["worst_share"] <= 1).all(), replays)
