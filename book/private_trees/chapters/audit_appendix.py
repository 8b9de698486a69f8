"""Appendix to chapter 8: tables of the auditor's studies, exact losses of small trees, and the stored attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats

from dpaudit.pairs import DOMAIN, Pair
from dpnb.arrays import Bools, Floats, Ints
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.replay import Finding

from ..auditing import exact, gaussian_epsilon, largest_bound
from ..auditing.counts import clopper_pearson
from ..site.notebook import integer
from ..site.observations import observe
from ..studies import auditor_own, subjects
from ..studies.runs import wide
from ..tables.audit import by_rule

PARAMETERS = {"seed": integer(low=0), "runs": integer(low=400)}
KINDS = {
    "as written": ["as written"],
    "bounds from the data": ["bounds from"],
    "bootstrap": ["bootstrap"],
    "permute-and-flip": ["permute"],
    "last digits": ["last digits"],
    "Poisson bags, repaired": ["Poisson", "repaired"],
}
"""Kinds of stored attacks → what the names of their subjects begin with."""


def every_subject(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Verdicts and fits of each broken subject, and errors on each honest one; δ where a claim has one."""
    known = subjects.compared(folder)
    found = known.assign(δ=known["delta"].where(known["delta"] > 0))
    words = {name: found[name].map({True: "yes", False: "no"}) for name in ("before", "after")}
    broken = found.assign(**words)[["origin", "kind", "loss", "δ", "before", "after", "fits"]]
    names = {
        "audits": "audits, 99 %",
        "alarms": "alarms, 99 %",
        "audits95": "audits, 95 %",
        "alarms95": "alarms, 95 %",
    }
    honest = found.rename(columns=names)[["origin", "δ", *names.values()]]
    return broken.dropna(subset=["fits"]), honest.dropna(subset=["audits, 99 %"])


def wrong_shares(covered: pd.DataFrame) -> pd.DataFrame:
    """Repetitions and wrong bounds by rule and mechanism, and their share in per cent; of ``covered``."""
    share = 100 * covered["wrong"] / covered["repetitions"]
    return covered.assign(**{"%": share}).set_index(["rule", "mechanism"]).rename_axis(["", ""])


def joining_records(pairs: Sequence[Pair]) -> pd.DataFrame:
    """Number of the records of D, and the one that joins them in D′, a row a pair."""
    rows = {}
    for pair in pairs:
        X, y = pair.second
        rows[pair.name] = len(pair.first[0]), X["x"].iloc[0], int(X["c"].iloc[0]), y.iloc[0]
    return pd.DataFrame(rows, index=["records of D", "x", "c", "class"]).T


def named_defects(searched: Mapping[str, Finding]) -> pd.DataFrame:
    """What replays found of each reading: verdict, loss, release and function."""
    rows = {
        name: {
            "verdict": str(found).splitlines()[0].rpartition(": ")[2].lower(),
            "loss": found.lower_bound,
            "release": found.event.split(":")[0].split(";")[0],
            "place": found.place.split()[-1],
        }
        for name, found in searched.items()
    }
    return pd.DataFrame(rows).T


def exact_loss(first: Any, second: Any, *, depth: int, seed: int) -> float:
    """Exact loss between two data sets of a single tree that claims 1 and takes all records and attributes."""
    tree = DiffPRFs(
        domain=DOMAIN, n_trees=1, max_depth=depth, max_features="all", bags="full", random_state=seed
    )
    return exact(lambda part: tree.fit(*part), first, second, claimed=1.0, subject="").lower_bound


def bounds_and_claims(attacks: pd.DataFrame) -> pd.DataFrame:
    """Claims, fits and lower bounds of the stored attacks, but of those on twins."""
    names = {"epsilon": "claimed", "lower_95": "95 %", "lower_99": "99 %"}
    rows = attacks[~attacks["method"].str.startswith("twin")].set_index("method").rename(columns=names)
    return rows[["claimed", "runs", "95 %", "99 %"]].rename_axis(None)


def ceiling(runs: Ints) -> pd.DataFrame:
    """The most that an attack can show at 95 %, by its fits on each data set."""
    return pd.DataFrame({"runs": runs, "bound": [largest_bound(int(n), confidence=0.95) for n in runs]})


def rows_of_rivals(rival: pd.DataFrame) -> pd.DataFrame:
    """Audits of other people's software in the columns that the chapter shows; of ``rivals``."""
    names = {"relation_tested": "relation", "lower_bound": "bound", "together": "all rows"}
    rows = rival.set_index("learner").rename(columns=names).rename_axis(None)
    return rows[["relation", "claimed", "runs", "bound", "all rows", "pair"]]


def over_claims(rival: pd.DataFrame) -> dict[str, float]:
    """Lower bounds as multiples of the claims, by case; of ``rivals``."""
    return dict(zip(rival["case"], rival["lower_bound"] / rival["claimed"], strict=True))


def above_zero() -> Bools:
    """Whether two limits bound ε above 0 at 95 %, by how often an event came out in 200 runs on D and in 200 on D′."""
    low, high = clopper_pearson(np.arange(201), 200, alpha=0.05 / 2)
    return low[:, None] > high


def best_of_thresholds(*, seed: int) -> float:
    """Share of repeats in which one of 1000 thresholds bounds ε above 0, between equal laws of one number."""
    grid = np.linspace(0, 1, 1002)[1:-1]
    sides = np.sort(np.random.default_rng(seed).random((2, 2000, 200)))
    first, second = np.array([[np.searchsorted(row, grid) for row in side] for side in sides])
    above = above_zero()
    return float((above[first, second] | above[second, first]).any(axis=1).mean())


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_games(games: pd.DataFrame) -> None:
    """Bets: how much less, or more, wealth grows in other games."""
    grown = games.pivot(index="method", columns="utility", values="growth")
    more = 100 * (grown.div(grown["coin, events"], axis=0) - 1)
    event, each = -more["pairs, one event"], -more["pairs, a guess for each"]
    ratio = more["coin, stakes by likelihood ratio"]
    observe("audit-games-event", "grows by {:.0f} to {:.0f} % less a run in the five cases",
            lambda x: (x > 0).all() and len(x) == 5, event, says=[event.min(), event.max()])
    observe("audit-games-each", "a guess for each side by {:.0f} to {:.0f} % less", lambda x: (x > 0).all(), each,
            says=[each.min(), each.max()])
    observe("audit-games-ratio", "gain {:.0f} to {:.0f} %", lambda x: (x > 0).all(), ratio,
            says=[ratio.min(), ratio.max()])


def check_delta(bets: Sequence[Finding]) -> None:
    """Replay for δ: audits of one claim with different seeds."""
    trials, bounds = (np.array([getattr(bet, name) for bet in bets]) for name in ("trials", "lower_bound"))
    observe("audit-delta-spread", "the audits stop after {:.0f} to {:.0f} replays, {:.0f} in the median; {:.0f} of "
            "15 refute the claim, with a bound of {:.2f} in the median and {:.2f} at most",
            lambda n, e: 10 * n.min() < n.max() and 3 < np.median(e) < 3.3, trials, bounds,
            says=[*np.quantile(trials, [0, 1, 0.5]), (bounds > 3).sum(), np.median(bounds), bounds.max()])


def check_rules(covered: pd.DataFrame) -> None:
    """One run, the rule that forgets silence; many audits, the smallest p-value."""
    share = 100 * by_rule(covered)["share"]
    silent = share["broken: one run, silence forgotten"]
    twelve = share[["broken: smallest of 12, as it is", "smallest of 12, by Holm"]].to_numpy()
    observe("audit-silence", "the rule fails in {:.1f} % of repetitions at 5 %", lambda x: x > 10, silent,
            says=[silent])
    observe("audit-holm", "the smallest of twelve p-values errs in {:.1f} % of repetitions, by Holm in {:.1f} %",
            lambda x: x[0] > 20 and x[1] < 7, twelve, says=twelve.tolist())


def check_ratios(ratios: pd.DataFrame, power: pd.DataFrame) -> None:
    """Nearness to the truth."""
    many = [f"{name}, 20 000" for name in ("curve", "bets", "split")]
    flip, gauss = ratios.loc["permute-and-flip"], ratios.loc["Gaussian"]
    few = ratios[ratios.index.get_level_values(1) == 1]
    mu = wide(power).query("method == 'Gaussian' and utility == '20000'")["mu"]
    observe("audit-ratio-noise", r"all three show more than .92 of $\varepsilon$", lambda r: (r > 0.92).all(axis=None),
            ratios.loc[["Laplace", "geometric"], many])
    observe("audit-ratio-flip", r"the curve shows {:.2f} and {:.2f} at $\varepsilon=1$ and 2, just below, and {:.2f} "
            "at 4, where {:.2f} is attainable", lambda c, top: (c < top).all() and (c[:2] > 0.87).all()
            and (c[:2] < 0.9).all(), *(flip[f"{x}, 20 000"].to_numpy() for x in ("curve", "attainable")),
            says=[*flip["curve, 20 000"], flip["attainable, 20 000"].iloc[-1]])
    ends = [gauss[f"{name}, 20 000"].agg(["min", "max"]).tolist() for name in ("split", "attainable")]
    observe("audit-ratio-gauss", "sample splitting shows {:.2f} to {:.2f}, where {:.2f} to {:.2f} is attainable",
            lambda r: (r["split, 20 000"] > r[["curve, 20 000", "bets, 20 000"]].max(axis=1)).all(), gauss[many],
            says=[*ends[0], *ends[1]])
    observe("audit-ratio-few", r"With 2000 runs and $\varepsilon=1$, it passes .8 on geometric and Laplace noise "
            "alone; {:.2f} to {:.2f} is attainable",
            lambda f: {name for name, _ in f.index[f > 0.8]} == {"geometric", "Laplace"}, few["split, 2 000"],
            says=few["attainable, 2 000"].agg(["min", "max"]).tolist())
    observe("audit-ratio-mu", "with {:.2f} to {:.2f}", lambda m: (m > 0.9).all(), mu, says=[mu.min(), mu.max()])


def check_look(bets: pd.DataFrame) -> None:
    """Where to look: claims of normal noise, by the results of ``betting_power``, and facts that never change."""
    moved = 2 * float(special.expit(1)) - 1
    epsilon = gaussian_epsilon(2 * float(special.ndtri((1 + moved) / 2)), delta=1e-5)
    observe("audit-normal-response", r"moves a probability by {:.2f}, and normal noise that does so has "
            r"$\varepsilon={:.2f}$", lambda e: e > 5, epsilon, says=[moved, epsilon])
    rows = wide(bets).query("method == 'Gaussian, δ = 1e-5' and n_rounds == 20000")
    share = rows.set_index(["utility", "epsilon"])["share of the truth"]
    normal, plain = share["betting on normal noise"].to_numpy(), share["betting"].to_numpy()
    observe("audit-normal-power", "they show {:.2f} to {:.2f} of it with 20 000 runs a side, and {:.2f} to {:.2f} "
            "without", lambda n, p: (n > p + 0.1).all(), normal, plain,
            says=[normal.min(), normal.max(), plain.min(), plain.max()])
    need = int(np.ceil(np.log(1e6) / (-2 * np.log(np.e / (1 + np.e)))))
    observe("audit-agree-fits", r"that takes {:.0f} fits on each side for $\varepsilon=1$", lambda n: n == 23, need,
            says=[need])


def check_replays(replays: pd.DataFrame) -> None:
    """The campaign of replays."""
    observe("audit-ten-thousand", "more than ten thousand replays in each mode and no loss above the ledger",
            lambda n, above: (n > 10_000).all() and (above == 0).all(),
            *(replays[name].to_numpy() for name in ("replays", "above the ledger")))
    observe("audit-well-below", "the shares stay well below 1", lambda w: 0 < w.max() < 0.75,
            replays["worst share"].to_numpy())


def check_own(own: pd.DataFrame) -> None:
    """The book's own estimators."""
    cells, least = wide(own), auditor_own.caught(own)
    honest = cells.loc[cells["method"].isin(list(auditor_own.OWN)), "share"].to_numpy()
    observe("audit-own-none", r"no bound exceeds the ledger's $\varepsilon$; the largest is {:.2f} of it",
            lambda share: 0 < share.max() <= 1 + 1e-9, honest, says=[honest.max()])
    observe("audit-own-twins", "Replays convict twins from {:.1f} times their ledger on in {:.0f} of {:.0f} cases, "
            "from twice on in {:.0f}, from 3 times on in {:.0f}, and from 10 times on for DiffPRFs",
            lambda least: set(least.drop("DiffPRFs")) == {1.5, 2, 3} and least["DiffPRFs"] == 10, least,
            says=[least.min(), (least == least.min()).sum(), len(least), (least == 2).sum(), (least == 3).sum()])


def check_readings(searched: Mapping[str, Finding]) -> None:
    """Five readings of one forest."""
    words = {"as written": "purity", "bounds from the data": "bounds of the thresholds",
             "thresholds at data values": "data point", "bootstrap only, single leaf": "bootstrap multiplicity"}
    places = ["stops", "_threshold_bounds", "choose_thresholds", "noisy_counts"]
    leaf = searched["bootstrap only, single leaf"]
    observe("audit-named", "each defect is found and named, with the function in which it shows",
            lambda events, functions: all(w in events[n] for n, w in words.items())
            and [function.split()[-1] for function in functions] == places,
            {name: found.event for name, found in searched.items()}, [searched[name].place for name in words])
    observe("audit-given", "For the bootstrap the loss is that *given the bags*", lambda given: given == "the bags",
            leaf.given)
    observe("audit-flagged", "Such a finite loss is flagged", lambda x: 1 < x < np.inf, leaf.lower_bound)


def check_exact(tight: Finding, chances: Mapping[str, Floats], losses: Mapping[str, Mapping[int, float]]) -> None:
    """Exact enumeration."""
    tie, places = losses["a tie"], losses["two places"]
    observe("audit-tight", "the pair $[0,-4]$, $[-1,-3]$ uses the whole claim", lambda x: np.isclose(x, 1),
            tight.lower_bound)
    observe("audit-e-times", "the second candidate is $e$ times as likely on $D'$", lambda r: abs(r - np.e) < 1e-9,
            float(chances["D′"][1] / chances["D"][1]))
    observe("audit-leaf", "A single leaf uses all of its claim and deeper trees less on the pair with a tie, {:.4f} at "
            "depth 2", lambda t: np.isclose(t[0], 1) and 0.5 < t[2] < t[1] < 0.95, tie, says=[tie[2]])
    observe("audit-depth-pair", "the loss is {:.4f} at depth 1 and {:.4f} at depth 2",
            lambda w: all(0.999 < w[d] <= 1 + 1e-9 for d in (1, 2)), places, says=[places[1], places[2]])


def check_attacks(attacks: pd.DataFrame) -> None:
    """Attacks at full length, and the ceiling of their runs."""
    bound = attacks.set_index(["method", "epsilon"])["lower_95"]
    data, box = (float(bound[name, 1.0]) for name in
                 ("bounds from the data: a threshold", "repaired: predicted probabilities"))
    boot, flip, bags = (bound[name].to_dict() for name in
                        ("bootstrap only: a leaf", "permute-and-flip: its tight pair", "Poisson bags: a leaf"))
    written = attacks[attacks["method"].str.startswith("as written")]
    observe("audit-data-bounds", "refute the claim of 1 with a bound of {:.2f}, far from the ceiling",
            lambda x, top: 1 < x < top - 2, data, largest_bound(20_000, confidence=0.95), says=[data])
    observe("audit-bootstrap", "refutes a claim of 3 by a factor of two, and a claim of 1 by more",
            lambda b: b[3.0] / 3 > 2 and b[1.0] > b[3.0] / 3, boot)
    observe("audit-flip-tenth", "comes within a tenth of its claim up to ε = 2",
            lambda b: all(0.9 * e < b[e] <= e for e in (0.5, 1.0, 2.0)), flip)
    observe("audit-flip-fifth", "at 4, with a telling event that is rarer, within a fifth",
            lambda b: 0.8 < b[4.0] / 4 < 0.9, flip)
    observe("audit-ceiling", "bounds stop less than 1 below the ceiling of their runs",
            lambda x, top: (x > top - 1).all() and (x < top + 1e-5).all(), written["lower_95"].to_numpy(),
            ceiling(written["runs"].to_numpy())["bound"].to_numpy())
    observe("audit-poisson", "the attack reaches {:.2f} of a claim of 1 and {:.2f} of a claim of 3",
            lambda b: all(0.75 * e < x <= e for e, x in b.items()), bags, says=[bags[1.0], bags[3.0]])
    observe("audit-black-box", "shows nothing to a black box here: a bound of {:.2f}", lambda x: 0 <= x < 0.1, box,
            says=[box])


def check_boxes(boxes: Mapping[str, Finding]) -> None:
    """Whole models."""
    bounds = {name: found.lower_bound for name, found in boxes.items()}
    observe("audit-purity", "the purity test shows in the predictions alone", lambda b: b["as written"] > 1, bounds)
    observe("audit-not-told", "The repaired forest is not told apart", lambda b: b["repaired"] == 0, bounds)


def check_twins(twins: pd.DataFrame) -> None:
    """Broken twins."""
    observe("audit-separates", "each of the three instruments separates all of them. The broken ones are above 1, and "
            "the correct ones are at most at 1", lambda x, b: (x[b] > 1).all() and (x[~b] <= 1 + 1e-9).all(),
            twins[["exact", "replay", "attack"]].to_numpy(), twins["truth"].eq("broken").to_numpy())


def check_diffprivlib(rival: pd.DataFrame) -> None:
    """Other people's software: diffprivlib."""
    times = over_claims(rival)
    twice = ("forest-1-replace-0.5", "forest-1-replace-1", "forest-1-replace-2", "tree-replace-1")
    large, little = ([n for n in times if n.startswith(f"logistic-norm-{norm}")] for norm in ("100", "1-"))
    observe("audit-several", "Without shuffling the bound is several times the claim",
            lambda t: all(t[f"forest-5-add-remove-{e}"] > 3 for e in ("0.5", "1", "2")), times)
    observe("audit-shuffled", "with shuffling and two trees it is still above",
            lambda t: 1 < t["forest-2-shuffled-add-remove-1"] < 3, times)
    observe("audit-twice", "Under replace the bounds are close to twice the claim",
            lambda t: all(1.9 < t[n] <= 2 for n in twice), times)
    observe("audit-tree-below", "under add or remove, where we tested the decision tree, close below it",
            lambda t: 0.9 < t["tree-add-remove-1"] <= 1, times)
    observe("audit-norm", "With `data_norm=100` the bounds lie above the claim under both relations; with "
            "`data_norm=1`, under replace and with the same classes on both sides, we found nothing above it",
            lambda t: all(t[n] > 1 for n in large) and all(0 < t[n] <= 1 for n in little) and len(large) == 5, times)
    observe("audit-steps", "The number of the solver's steps, an attribute, tells a record at 0 from one at 1",
            lambda t: t["logistic-steps-replace-1"] > 5, times)
    observe("audit-classes", "Classes are read off the data, which a third class shows",
            lambda t: t["logistic-classes-replace-1"] > 5, times)
    observe("audit-bayes", "under replace the bound is {:.2f} times the claim", lambda t: 1 < t["bayes-replace-1"] < 2
            and t["bayes-add-remove-1"] > 5, times, says=[times["bayes-replace-1"]])
    observe("audit-seeds", "Each tree of diffprivlib's fitted forest keeps the number that seeds its noise",
            lambda t: t["forest-seeds-replace-1"] > 4, times)


def check_others(rival: pd.DataFrame) -> None:
    """Other people's software: all rows, and the other packages."""
    both = {name: rival[name].to_numpy() for name in ("lower_bound", "together", "claimed")}
    times, delta = over_claims(rival), dict(zip(rival["case"], rival["delta"], strict=True))
    observe("audit-above-together", "The rows above their claims are the same in both columns",
            lambda t: ((t["lower_bound"] > t["claimed"]) == (t["together"] > t["claimed"])).all(), both)
    observe("audit-ebm", "it keeps the number of records exactly", lambda t: t["booster-size-add-remove-1"] > 5, times)
    observe("audit-ebm-listed", "even if the categories were listed",
            lambda t: min(t["booster-nominal-replace-1"], t["booster-listed-replace-1"]) > 5, times)
    observe("audit-ebm-continuous", "On continuous attributes we found nothing above the claim under replace",
            lambda t: 0 < t["booster-continuous-replace-1"] <= 1, times)
    observe("audit-xgboost", "one record at that limit decides whether a tree splits",
            lambda t: all(t[f"xgboost-{n}-1"] > 5 for n in ("split-add-remove", "cover-add-remove", "noise-replace")),
            times)
    observe("audit-lumberjack", r"more often than its $\delta$ allows",
            lambda t: t["lumberjack-split-add-remove-1"] > 2, times)
    observe("audit-lumberjack-label", "On predictions we found nothing above the claim",
            lambda t: t["lumberjack-label-add-remove-1"] <= 1 < t["lumberjack-split-add-remove-1"], times)
    observe("audit-lumberjack-delta", r"shown at $\delta={:.2f}$", lambda t, d: t > 1 > d > 0,
            *(of["lumberjack-split-add-remove-1"] for of in (times, delta)),
            says=[delta["lumberjack-split-add-remove-1"]])
    observe("audit-opendp", "comes close to its claim under both relations and does not pass it; with zCDP it stays "
            "below", lambda t: all(0.9 < t[f"opendp-max-{n}-1"] <= 1 for n in ("replace", "add-remove"))
            and t["opendp-max-zcdp-replace"] < 0.9, times)


def check_same_runs(*, seed: int) -> None:
    """Exercise: why not the same runs?"""
    heads = stats.binom.pmf(np.arange(201), 200, 0.5)
    one, best = float(2 * heads @ above_zero() @ heads), best_of_thresholds(seed=seed)
    observe("audit-ex-one", "exceeds 0 in {:.1f} % of repeats", lambda x: 0 < x < 0.05, one, says=[100 * one])
    observe("audit-ex-best", "The best of 1000 does in {:.0f} %", lambda x: 1 - (1 - x) ** 1000 > 0.5, one,
            says=[100 * (1 - (1 - one) ** 1000)])
    observe("audit-ex-thresholds", "in about {:.0f} % only", lambda x: 0.01 < x < 0.05, best, says=[100 * best])
