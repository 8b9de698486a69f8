"""Chapter 8: audits, how good their bounds are, and what they found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dpaudit import pairs
from dpnb.replay import Finding

from ..auditing import least_guesses
from ..site.observations import observe
from ..studies import reconstruction
from ..studies.runs import wide
from ..tables.audit import BROKEN
from . import DRAWS

PARAMETERS = DRAWS


def broken_programs(known: pd.DataFrame) -> pd.DataFrame:
    """The broken ones of ``compared``, which have verdicts."""
    return known.dropna(subset=["before"]).astype({"before": bool, "after": bool})


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_finding(climb: pd.DataFrame, coins: Mapping[str, float], rules: pd.DataFrame, soon: pd.DataFrame) -> None:
    """The first figure, and the finding."""
    ends = climb[climb["runs"] == climb["runs"].max()]
    last = ends.groupby("name")["bound"]
    over = (ends["bound"] / ends["name"].map(coins)).to_numpy()
    wrong = rules.loc["bets", ["wrong", "repetitions"]].to_numpy(float)
    percent = [100 * wrong[0] / wrong[1], wrong[1]]
    share = (soon["tenth"] / soon["split"]).to_numpy()
    times = list(np.quantile(share, [0, 1, 0.5]))

    def rare(w: Any) -> bool:
        return bool(w[0] / w[1] < 0.05)

    def similar(s: Any) -> bool:
        return len(s) == 15 and bool(0.7 < np.median(s) < 1.5)

    observe("audit-climbs", r"The bound climbs run by run to the true $\varepsilon$, and for the broken coin it passes "
            "the claim", lambda least, most: least["honest"] > 0.95 and most["honest"] < 1.05
            and least["broken"] > 1.9 and most["broken"] < 2.1, last.min(), last.max())
    observe("audit-one-above", "One of the {:.0f} ends above its truth, by less than a hundredth",
            lambda x: (x > 1).sum() == 1 and x.max() < 1.01, over, says=[len(over)])
    observe("audit-finding", "Bets at 95 % confidence were wrong in {:.1f} % of {:.0f} repetitions", rare, wrong,
            says=percent)
    observe("audit-rarely", "In our trials bets are wrong more rarely than they may be", rare, wrong)
    observe("audit-runs", "to convict in nine audits of ten they took {:.1f} to {:.1f} times the runs of a test whose "
            "number of runs is fixed beforehand, {:.1f} times in the median of fifteen cases", similar, share,
            says=times)
    observe("audit-as-soon", "in the median they convict about as soon as a test that has to know its number of runs "
            "beforehand", similar, share)


def check_bets(played: pd.DataFrame) -> None:
    """Bet on guesses."""
    most = played.groupby(["name", "game"])["wealth"].max()
    paths = played[played["name"] == "broken"].pivot(index="runs", columns="game", values="wealth").median(axis=1)
    tries = [int(np.ceil(np.log(100) / np.log1p(np.exp(-epsilon)))) for epsilon in (1, 2, 4)]
    observe("audit-median", "The median gambler against the broken coin is at 100 after {:.0f} runs, and all fifty get "
            "there", lambda m: len(m) == 50 and (m >= 100).all(), most["broken"], says=[paths.index[paths >= 100][0]])
    observe("audit-luckiest", "Of fifty against the honest coin none does, and the luckiest has {:.1f} once",
            lambda m, enough: len(m) == 50 and (m < enough).all(), most["honest"], 100.0, says=[most["honest"].max()])
    right = float(1 / (1 + np.exp(-1)))
    observe("audit-hand", r"{:.2f} at $\varepsilon=1$", lambda p: np.isclose(p / (1 - p), np.e), right, says=[right])
    observe("audit-least-runs", r"At 99 % that is {:.0f} runs for $\varepsilon=1$, {:.0f} for 2 and {:.0f} for 4",
            lambda n, theirs: n == theirs, tries, [least_guesses(e, confidence=0.99) for e in (1, 2, 4)],
            says=tries)


def check_coverage(covered: pd.DataFrame, rules: pd.DataFrame) -> None:
    """How good are the bounds: how often they are wrong."""
    sound, twins = (rules[rules.index.str.startswith(BROKEN) == broken] for broken in (False, True))
    each = covered[~covered["rule"].str.startswith(BROKEN)]
    chances = stats.binom.sf(each["wrong"] - 1, each["repetitions"], 0.05)
    observe("audit-sound", "No rule is wrong significantly more often than in 5 % on any mechanism, and all ten "
            "broken twins are", lambda low, twin, p: (low <= 0.05).all() and (twin > 0.05).all() and len(twin) == 10
            and p.min() > 0.05, sound["low"], twins["low"], chances)
    observe("audit-worst-twin", "is wrong in {:.1f} %", lambda s: s.idxmax() == "broken: normal noise assumed",
            twins["share"], says=[100 * twins["share"].max()])


def check_conviction(soon: pd.DataFrame) -> None:
    """How good are the bounds: how soon they convict."""
    times = soon[["bets", "tenth", "split"]].div(soon["least"], axis=0)
    observe("audit-times", "Bets need {:.1f} to {:.1f} times the least number on average, and {:.1f} to {:.1f} times "
            "it for nine convictions in ten. For those, sample splitting needs {:.1f} to {:.1f} times it",
            lambda b, t: (b > 1).all() and (b < t).all(), times["bets"].to_numpy(), times["tenth"].to_numpy(),
            says=times.agg(["min", "max"]).T.to_numpy().ravel().tolist())


def check_search(known: pd.DataFrame, attacks: pd.DataFrame) -> None:
    """Where to look, and the last digits."""
    broken = broken_programs(known)
    each = broken.groupby("origin")[["before", "after"]]
    before, after = each.sum().to_numpy().T
    audits = known[["audits", "audits95"]].sum().to_numpy()
    alarms = known[["alarms", "alarms95"]].sum().to_numpy()
    fits = broken.loc[broken["after"], "fits"]
    bounds = wide(attacks).set_index(["method", "epsilon"])["lower_95"]
    laplace, whole = (float(bounds[f"last digits of a leaf, {noise} noise", 1.0]) for noise in ("laplace", "geometric"))
    grown = [len(pair.second[0]) - len(pair.first[0]) for pair in pairs()]
    observe("audit-pairs", "scouts {:.0f} pairs", lambda more: set(more) <= {0, 1}, grown, says=[len(grown)])
    observe("audit-subjects-caught", "Today's auditor convicts {:.0f} of {:.0f} known and {:.0f} of {:.0f} new "
            "programs",
            lambda now, then: (now > then).all(), after, before, says=np.c_[after, each.size()].ravel().tolist())
    observe("audit-subjects-fits", "after {:.0f} to {:.0f} fits", lambda f: (np.diff(f) >= 0).all(),
            fits.sort_values().to_numpy(), says=[fits.min(), fits.max()])
    observe("audit-subjects-before", "the earlier one convicts {:.0f} and {:.0f}", lambda then, of: (then < of).all(),
            before, each.size().to_numpy(), says=before.tolist())
    observe("audit-subjects-honest", "At 99 % {:.0f} of {:.0f} audits of honest programs err, and at 95 % {:.0f} "
            "of {:.0f}",
            lambda share: (share <= [0.01, 0.05]).all(), alarms / audits, says=np.c_[alarms, audits].ravel().tolist())
    observe("audit-digits-laplace", "the bound is {:.2f} at a claim of 1", lambda x: x > 3, laplace, says=[laplace])
    observe("audit-digits-whole", "with whole-number noise it is {:.2f}", lambda x: x == 0, whole, says=[whole])


def check_replays(losses: pd.DataFrame) -> None:
    """Replay: the exact loss."""
    worst = losses.groupby("subject")["loss"].max()
    bags, repaired = worst["bootstrap only, single leaf"], worst["repaired"]
    observe("audit-infinite", "three of the readings have infinite losses", lambda w: np.isinf(w).sum() == 3, worst)
    observe("audit-finite", "the bootstrap finite ones up to {:.0f}", lambda x: 1 < x < np.inf, bags, says=[bags])
    observe("audit-repaired", "the repaired forest none above {:.2f}", lambda x: 0 < x < 1, repaired, says=[repaired])


def check_one_run(found: Mapping[float, Finding], grown: pd.DataFrame, perfect: Mapping[int, float]) -> None:
    """One run."""
    bounds = {spent: finding.lower_bound for spent, finding in found.items()}
    mean = grown[grown["name"] == "spends 4"].groupby("canaries")["bound"].mean()
    observe("audit-one-fit", "a single fit shows {:.2f} of a claim of 1, and {:.2f} where 4 are spent",
            lambda b: 0.5 < b[1.0] < 1 < b[4.0] < 4, bounds, says=[bounds[1.0], bounds[4.0]])
    observe("audit-canaries-share", "the mean bound falls from {:.2f} at 300 to {:.2f}",
            lambda m: m[30] < m[100] < m[300] and m[3000] < m[1000], mean, says=[mean[300], mean[3000]])
    observe("audit-thousand", "A thousand perfect guesses show at most {:.1f}", lambda b: b[100] < b[1000] < 6, perfect,
            says=[perfect[1000]])


def check_many(rules: pd.DataFrame) -> None:
    """The exercise on looking after each run."""
    peeked: Any = rules.loc["broken: looked at after each run"]
    observe("audit-ex-peeked", "this is wrong in {:.0f} % of {:.0f} games", lambda s: s > 0.1, peeked["share"],
            says=[100 * peeked["share"], peeked["repetitions"]])


def check_rebuilt(leaks: pd.DataFrame) -> None:
    """What ε means in records: tables that are rebuilt."""
    none: Any = leaks.xs(("random trees", np.inf))
    one = leaks.xs(1.0, level="epsilon")
    pooled = stats.t.ppf(0.975, 19) * one["excess"].sum() / (one["error"] ** 2).sum() ** 0.5
    observe("audit-rebuilt", "Without noise random trees give {:.1f} % of the trained people's values, and {:.1f} % of "
            "strangers'", lambda x: x["trained"] - x["error"] > x["strangers"] + 0.05, none,
            says=[100 * none["trained"], 100 * none["strangers"]])
    observe("audit-alone", "Statistics alone give {:.1f} %, a constant {:.1f} %",
            lambda x: x["constant"] < x["statistics"] < x["trained"], none,
            says=[100 * none["statistics"], 100 * none["constant"]])
    observe("audit-rebuilt-one", r"At $\varepsilon=1$ the difference is within its error for each of the five; but all "
            "five are positive, and together they come to {:.1f} standard errors",
            lambda x, e: len(x) == 5 and (x < e).all() and (x > 0).all() and e.max() < 0.01,
            one["excess"].to_numpy(), one["error"].to_numpy(), says=[pooled])
    observe("audit-withstands", "eDPRF as written withstands it",
            lambda x: (np.abs(x["excess"]) < x["error"]).all() and len(x) == 6, leaks.loc["eDPRF as written"])


def check_guesses(rebuilt: pd.DataFrame, guesses: pd.DataFrame) -> None:
    """What ε means in records: one value that is guessed."""
    worst: Any = guesses.xs(("eDPRF as written", 0.1))
    private = rebuilt["method"].isin(reconstruction.PRIVATE) & (rebuilt["utility"] == reconstruction.RECORDS)
    attacks = wide(rebuilt[private])
    observe("audit-one-value", r"{:.1f} % at $\varepsilon=0.1$", lambda p: np.isclose(p, 1 / (1 + np.exp(-0.2))),
            float(worst["bound"]), says=[100 * worst["bound"]])
    observe("audit-label-tells", "In eDPRF as written it is right in {:.1f} %",
            lambda x: x["right"] - x["error"] > x["bound"] + 0.3, worst, says=[100 * worst["right"]])
    observe("audit-none-surer", "In none of {:.0f} attacks on the three private forests was a guess surer than "
            "the bound",
            lambda sure, bound: (sure <= bound + 1e-6).all(), attacks["surest"].to_numpy(), attacks["bound"].to_numpy(),
            says=[reconstruction.REPLAYS * len(attacks)])


def check_rivals(rival: pd.DataFrame, disclosure: pd.DataFrame) -> None:
    """Other people's software."""
    both = {name: rival[name].to_numpy() for name in ("lower_bound", "together", "claimed")}
    relation = rival.groupby(rival["version"].str.split().str[0])["relation_documented"].agg(set)
    versions = ["diffprivlib 0.6.6", "dp-random-forest 0+b613fe7", "dp-xgboost 0.2.10", "interpret-core 0.7.8",
                "opendp 0.16.0"]
    observe("audit-versions", "{:.0f} audits of diffprivlib 0.6.6, DP-EBM (interpret-core 0.7.8), dp-xgboost 0.2.10, "
            "Lumberjack at commit b613fe7 and OpenDP 0.16.0", lambda v: v == versions, sorted(set(rival["version"])),
            says=[len(rival)])
    observe("audit-relation", "for the others we found none",
            lambda of: all((of[name] == {"not stated"}) != (name in ("opendp", "dp-random-forest"))
                           for name in of.index), relation)
    observe("audit-above", "{:.0f} of the {:.0f} rows lie above their claims, and none of OpenDP's",
            lambda t: ((t["lower_bound"] > t["claimed"]) == (t["together"] > t["claimed"])).all()
            and not (t["together"] > t["claimed"])[rival["learner"].str.startswith("OpenDP")].any(), both,
            says=[(both["together"] > both["claimed"]).sum(), len(rival)])
    observe("audit-reported", "We have reported none of them so far", lambda reported: set(reported) == {"no"},
            list(disclosure["reported"]))


def check_lines(calls: pd.DataFrame, lines: pd.DataFrame) -> None:
    """Which line it is."""
    given = lines[lines["setting"].str.startswith("as documented") & (lines["relation"] == "replace")]
    nothing = given.groupby(["subject", "setting"])["verdict"].agg(lambda of: set(of) == {"nothing found"})
    verdicts = lines[lines["verdict"] == "refuted"].groupby("subject")["setting"].agg(set)
    silent = given[given["subject"].isin(["LogisticRegression", "tools.quantile"])]
    opendp = lines[lines["library"] == "opendp"].groupby(["setting", "subject"])["verdict"].agg(
        lambda of: set(of) == {"nothing found"})
    observe("audit-lines-refuted", "The other {:.0f} calls are flagged only",
            lambda s: {one for one in s if one.startswith("as documented")}
            == {"as documented, 2 columns in [0, 1], no intercept"}, verdicts["LinearRegression"],
            says=[len(calls) - 1])
    observe("audit-lines-nothing", "In {:.0f} of the {:.0f} settings replay finds nothing",
            lambda b: (b == 0).all(), silent["bound"].to_numpy(float), says=[nothing.sum(), len(nothing)])
    observe("audit-lines-opendp", "It finds nothing in three honest programs on OpenDP, and the fault in each of five "
            "that we broke on purpose", lambda n: n["honest"].tolist() == [True] * 3
            and n["broken on purpose"].tolist() == [False] * 5, opendp)
