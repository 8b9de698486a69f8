"""What studies say of the auditor's bounds: how often they are wrong, how near they come, how soon they convict."""

from __future__ import annotations

import pandas as pd

from ..auditing.counts import clopper_pearson
from ..studies.runs import wide

BROKEN = "broken: "
"""What the names of rules that are wrong on purpose begin with."""
RULES = {
    "betting": "bets",
    "betting on normal noise": "bets on normal noise",
    "curve": "curve",
    "curve, μ": "curve, of μ",
    "compare": "sample splitting",
    "one run, ε": "one run, ε",
    "one run, ε and δ": "one run, ε and δ",
    "one run, μ, all guessed": "one run, μ",
    "one run, μ, 40 of 2 000 guessed": "one run, μ, 40 of 2 000 guesses",
    "band of both sides": "band of a curve",
    "Holm's smallest of 12": "smallest of 12, by Holm",
    "twin: an interval for one look": BROKEN + "looked at after each run",
    "twin: a rule learned on its own outputs": BROKEN + "learned on its own runs",
    "twin: chosen on the same outputs": BROKEN + "chosen on its own runs",
    "twin: δ forgotten": BROKEN + "δ forgotten",
    "twin: normal noise assumed": BROKEN + "normal noise assumed",
    "twin: one run, δ forgotten": BROKEN + "one run, δ forgotten",
    "twin: one run, μ, abstention forgotten": BROKEN + "one run, silence forgotten",
    "twin: DKW without a union": BROKEN + "band of one side for two",
    "twin: every threshold as if alone": BROKEN + "each threshold as if alone",
    "twin: the smallest of 12": BROKEN + "smallest of 12, as it is",
}
"""Readings of the studies → what the chapter calls them."""


def covered(curves: pd.DataFrame, bets: pd.DataFrame) -> pd.DataFrame:
    """How often bounds at 95 % were wrong, by rule and mechanism.

    Parameters
    ----------
    curves, bets : results of the studies ``auditor_coverage`` and ``betting_coverage``.

    Returns
    -------
    DataFrame with the columns rule, mechanism, repetitions and wrong, in the order of ``RULES``.
    """
    one, two = wide(curves), wide(bets)
    name = one["method"].str.split(": ")
    known = ~one["method"].isin(RULES)
    one = one.assign(
        rule=one["method"].where(~known, name.str[0]),
        mechanism=name.str[-1].where(known, ""),
        wrong=one["failures"],
    )
    two = two.assign(rule=two["utility"], mechanism=two["method"])
    both = pd.concat([one, two])[["rule", "mechanism", "repetitions", "wrong"]]
    both = both.assign(rule=pd.Categorical(both["rule"].map(RULES), list(RULES.values()), ordered=True))
    found = both.groupby(["rule", "mechanism"], observed=True, sort=True).sum().astype(int)
    return found.reset_index().astype({"rule": str})


def by_rule(table: pd.DataFrame) -> pd.DataFrame:
    """Shares of wrong bounds over all mechanisms, with their intervals at 95 %.

    Parameters
    ----------
    table : of :func:`covered`.

    Returns
    -------
    DataFrame with a row for each rule and the columns repetitions, wrong, share, low and high.
    """
    found = table.groupby("rule", sort=False)[["repetitions", "wrong"]].sum()
    ends = [
        clopper_pearson(k, n, alpha=0.05) for k, n in found[["wrong", "repetitions"]].to_numpy(int).tolist()
    ]
    low, high = ([float(end[i]) for end in ends] for i in (0, 1))
    return found.assign(share=found["wrong"] / found["repetitions"], low=low, high=high)


def ratios(curves: pd.DataFrame, bets: pd.DataFrame) -> pd.DataFrame:
    """Bounds over the exact ε at equal runs, beside what is attainable.

    Parameters
    ----------
    curves, bets : results of the studies ``auditor_power`` and ``betting_power``.

    Returns
    -------
    DataFrame by mechanism and claimed ε; columns by runs a side and attainable, curve, split and bets. The bets are on
    a pair of their own where the mechanism is a choice, and of the Gaussian at δ = .01.
    """
    one = wide(curves).set_index(["method", "epsilon", "utility"])[["attainable", "curve", "compare"]]
    two = wide(bets)
    two = two[(two["utility"] == "betting") & (two["method"] != "Gaussian, δ = 1e-5")]
    two = two.assign(method=two["method"].str.split(",").str[0], utility=two["n_rounds"].astype(str))
    share = two.set_index(["method", "epsilon", "utility"])["share of the truth"].rename("bets")
    found = pd.DataFrame(one.rename(columns={"compare": "split"}).join(share).unstack())
    order = [(name, runs) for runs in ("2000", "20000") for name in ("attainable", "curve", "split", "bets")]
    names = [f"{name}, {int(runs):,}".replace(",0", " 0") for name, runs in order]
    return found[order].set_axis(names, axis=1)


def convicted(results: pd.DataFrame) -> pd.DataFrame:
    """Runs until a claim of half the truth is refuted at 99 %.

    Parameters
    ----------
    results : of the study ``betting_conviction``.

    Returns
    -------
    DataFrame by mechanism and ε with the columns least (what no test of guesses can beat on average), bets (mean over
    games), tenth (by which 9 of 10 games convict), longest (of these games) and split (9 of 10 convict).
    """
    names = {"best guesses known": "least", "betting": "bets", "compare": "split"}
    rows = wide(results).set_index(["method", "epsilon", "utility"])
    found = pd.DataFrame(rows["runs"].unstack())[list(names)].rename(columns=names)
    games = rows.xs("betting", level="utility")
    return found.assign(tenth=games["nine of ten"], longest=games["most"])
