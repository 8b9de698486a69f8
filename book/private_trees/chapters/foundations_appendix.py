"""Appendix to chapters 1 to 3: draws, ledgers, and following the releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dpnb import Ledger
from dpnb.arrays import Floats, Ints
from dpnb.privacy import accounting, ledger

from .. import experiments
from ..board.standings import OURS
from ..site.notebook import text
from ..site.observations import observe
from ..studies.made import VISITS
from ..studies.people import BETS, OF_FIVE, RECORDS, TREE, VOTE, WAYS
from ..studies.runs import wide
from ..studies.votes import PROVED
from . import DRAWS
from .board import HOSPITAL

PARAMETERS = DRAWS | {"results": text()}
SHOWN_WAYS = {f"{number} record{'s' * (k > 1)} each": f"{k} record{'s' * (k > 1)} each"
              for k, number in ((1, "one"), (2, "two"), (5, "five"))} | {RECORDS: "records alone"}  # fmt: skip
Spreads = Mapping[str, tuple[float, float, float]]  # noise → E|X|, standard deviation, P(|X| ≥ 3)


def spread_estimates(noise: Mapping[str, Floats | Ints], theory: Spreads) -> pd.DataFrame:
    """Spread of each noise in theory and in draws, with two standard errors; ``z`` counts standard errors."""
    rows = {}
    for name, x in noise.items():
        samples = {"E|X|": np.abs(x), "sd": x**2, "P(|X|≥3)": np.abs(x) >= 3}
        for exact, (what, sample) in zip(theory[name], samples.items(), strict=True):
            found, error = sample.mean(), sample.std() / np.sqrt(len(x))
            if what == "sd":  # a root: its error is that of the delta method
                found = np.sqrt(found)
                error /= 2 * found
            z = (found - exact) / error
            rows[name, what] = {"theory": exact, "draws": found, "two errors": 2 * error, "z": z}
    return pd.DataFrame(rows).T.rename_axis(["noise", "spread"])


def choices(scores: Floats, law: Mapping[str, Floats], share: Mapping[str, Floats]) -> pd.DataFrame:
    """Probabilities of the candidates and shares of draws, with the expected error of each row."""
    rows = {**law, **{f"{name}, draws": drawn for name, drawn in share.items()}}
    table = pd.DataFrame(rows, index=[f"score {score:g}" for score in scores]).T
    return table.assign(**{"expected error": -(table.to_numpy() @ scores)})


def measured_people(p: SimpleNamespace) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Results of the grids ``people`` and ``patient``, a row a fit."""
    ways, patient = (wide(experiments.results(name, p)) for name in ("people", "patient"))
    return ways, patient


def ways_by_epsilon(ways: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC over people of the booster with δ by way of protecting them, with two standard errors."""
    found = ways[(ways["method"] == OURS) & (ways["utility"] != OF_FIVE)]
    by = found.groupby(["dataset", "utility", "epsilon"])["auc_people"].agg(["mean", "sem"]).reset_index()
    order = [name for name in WAYS if name != OF_FIVE]
    named = by.assign(label=by["utility"].replace(SHOWN_WAYS), error=2 * by["sem"])
    return named.sort_values("utility", key=lambda names: names.map(order.index), kind="stable")


def ways_at(ways: pd.DataFrame, dataset: str, epsilon: float) -> pd.DataFrame:
    """Scores of the booster with δ at one ε by way of protecting people, over people and over visits."""
    some = ways[(ways["method"] == OURS) & (ways["dataset"] == dataset) & (ways["epsilon"] == epsilon)]
    scores = [f"{what}_{over}" for what in ("auc", "log_loss", "predicted") for over in ("people", "visits")]
    means = some.groupby("utility")[scores].mean().loc[list(WAYS)]
    means.loc["as observed", ["predicted_people", "predicted_visits"]] = (
        some[["observed_people", "observed_visits"]].mean().to_numpy()
    )
    words = {"auc": "AUC", "log_loss": "log loss", "predicted": "mean prediction"}
    columns = [f"{words[name.rpartition('_')[0]]}, {name.rpartition('_')[2]}" for name in scores]
    return means.set_axis(columns, axis=1).rename(SHOWN_WAYS).rename_axis(None)


def losses_of_patient(patient: pd.DataFrame) -> pd.DataFrame:
    """Losses of ten fits at their own outputs if the patient of most visits goes, and what is booked."""
    found = patient.dropna(subset="loss")
    by = {
        f"{'by visits' if way == RECORDS else way}, {what}": found[found["utility"] == way]
        .groupby("method")["loss"]
        .agg(what)
        for way in (RECORDS, VOTE)
        for what in ("median", "max")
    }
    return pd.DataFrame(by | {"booked": found.groupby("method")["booked"].max()}).rename_axis(None)


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_noise(noise: Mapping[str, Floats | Ints], theory: Spreads, estimates: pd.DataFrame) -> None:
    """Draws against laws."""
    near = {"Laplace": stats.laplace(), "Gaussian": stats.norm()}
    edges = np.linspace(-6, 6, 26)  # the bins of the figure; the one in the middle is at 0
    off = {name: np.histogram(noise[name], edges)[0] / len(noise[name]) / np.diff(edges)
           - law.pdf((edges[1:] + edges[:-1]) / 2) for name, law in near.items()}
    a, whole = np.exp(-1.0), np.arange(-6, 7)
    tally = np.array([np.mean(noise["geometric"] == k) for k in whole])
    off["geometric"] = tally - a ** np.abs(whole) * (1 - a) / (1 + a)
    peak, off["Laplace"] = off["Laplace"][12], np.delete(off["Laplace"], 12)
    observe("foundations-on-the-laws", "the points lie on the laws",
            lambda d: max(np.abs(x).max() for x in d.values()) < 0.01, off)
    observe("foundations-peak", "Only at the peak of the Laplace law the point is lower",
            lambda x: -0.1 < x < -0.03, peak)
    observe("foundations-nine", "all nine estimates are within two standard errors of the theory",
            lambda f, x, e: len(f) == 9 and (np.abs(f - x) < e).all(),
            *estimates[["draws", "theory", "two errors"]].to_numpy().T)
    observe("foundations-narrower", "has a smaller mean size and standard deviation than the Laplace noise of the same "
            r"$\varepsilon$, but it is 3 or more away from 0 more often",
            lambda g, x: g[0] < x[0] and g[1] < x[1] and g[2] > x[2], theory["geometric"], theory["Laplace"])


def check_choices(
    share: Mapping[str, Floats], law: Mapping[str, Floats], ratio: Floats, *, draws: int
) -> None:
    """Permute-and-flip by experiment: shares of draws, their laws, and the ratio of the expected errors."""
    apart = {name: np.abs(drawn - law["EM" if name == "EM" else "PF"]).max() for name, drawn in share.items()}
    error = 4 * max(np.sqrt(p * (1 - p) / draws).max() for p in law.values())
    observe("foundations-same-law", "the largest with exponential noise and the literal algorithm have the same law",
            lambda a, e: a["PF"] < e and a["PF, noise"] < e, apart, error)
    observe("foundations-draws-em", "no share of draws is further from its formula than {:.4f}",
            lambda a, e: max(a.values()) < e, apart, error, says=[max(apart.values())])
    observe("foundations-between", "every ratio lies between 1 and 2, as proved",
            lambda r: r.min() >= 1 - 1e-9 and r.max() <= 2 + 1e-9, ratio)
    observe("foundations-ends-near", "The smallest is {:.3f}, and the largest {:.3f}",
            lambda r: 1 <= r.min() < r.max() <= 2 + 1e-9, ratio, says=[ratio.min(), ratio.max()])


def check_zcdp(needed: Mapping[float, Mapping[str, float]]) -> None:
    """Permute-and-flip in zCDP: the ρ that a pair needs, by ε and mechanism."""
    times = {epsilon: rho["PF"] / rho["EM"] for epsilon, rho in needed.items()}
    share = {name: np.array([rho[name] / e**2 for e, rho in needed.items()]) for name in ("EM", "PF")}
    observe("foundations-pf-times", r"PF needs {:.2f} times the $\rho$ of EM at $\varepsilon=1$, {:.2f} times at 0.5 "
            "and {:.2f} times at 0.1", lambda t: 1 < t[1.0] < t[0.5] < t[0.1] < 4, times,
            says=[times[e] for e in (1.0, 0.5, 0.1)])
    observe("foundations-pf-limit", "The factor tends to 4", lambda t: 3.95 < t[0.01] < 4, times)
    observe("foundations-pf-generic", r"while $\frac{\varepsilon^2}8$ is enough for EM", lambda s:
            (s["EM"] < 1 / 8).all() and (s["PF"] < 1 / 2).all() and s["PF"][-1] > 0.49, share)


def check_shorter(shorter: pd.DataFrame) -> None:
    """Which mechanism with a δ: in how many of twelve cases PF needs the shorter lead."""
    observe("foundations-few-choices", "EM needs the shorter lead in most cases from one choice on at "
            r"$\varepsilon=0.1$ and $\delta=10^{-3}$, and only from ten on at $\varepsilon=10$ and $\delta=10^{-6}$",
            lambda s: s.loc[(0.1, 1e-3)].max() < 6 and (s.loc[(10.0, 1e-6)] > 6).tolist() == [True] * 4 + [False] * 2,
            shorter)
    observe("foundations-many-choices", "For thirty choices it does in all twelve cases at each of the five totals",
            lambda s: len(s) == 5 and (s["30 choices"] == 0).all(), shorter)


def check_ledgers(all_records: Ledger, a_part: Ledger, book: Ledger) -> None:
    """Ledgers line by line."""
    totals, by_sums = [all_records.pure_epsilon, a_part.pure_epsilon], book.by_sums(book.delta).epsilon
    observe("foundations-lines", "totals of {:.0f} on the same records, and of {:.1f} under replace",
            lambda t: np.allclose(t, [1, 0.5]), totals, says=totals)
    observe("foundations-rho", r"it adds $\rho=0.01$ and $\rho=0.2^2/8=0.005$ and converts the sum at "
            r"$\delta=10^{{-6}}$. That gives {:.3f}", lambda rho, e: np.isclose(rho, 0.01 + 0.2**2 / 8)
            and np.isclose(e, ledger.zcdp_epsilon(rho=0.015, delta=1e-6)), book.rho, by_sums, says=[by_sums])
    observe("foundations-first-line", "The ledger's first line is lower",
            lambda tight, sums: tight < sums, book.epsilon, by_sums)


def check_followed(
    followed: float, steps: Sequence[accounting.Step], delta: float, more: Mapping[float, float]
) -> None:
    """Follow the releases one by one: ε of the steps, and by what factor ρ may be larger, by ε."""
    rho = sum(step.variance for step in steps) / 2
    observe("foundations-followed", r"250 equal choices, which cost $\varepsilon=1$ at $\delta=10^{{-5}}$ by the sum "
            r"of their $\rho$, cost {:.3f} when they are followed one by one",
            lambda e, steps, d: e < ledger.zcdp_epsilon(rho=rho, delta=d) <= 1 + 1e-9
            and accounting.tight_delta(steps, epsilon=e) <= d * (1 + 1e-6), followed, steps, delta, says=[followed])
    observe("foundations-more-rho", r"they may spend {:.0f} % more $\rho$ at $\varepsilon=1$, and {:.0f} % more at 0.1",
            lambda more: more[0.1] > more[1.0] > more[5.0] > 1, more, says=[100 * (more[e] - 1) for e in (1.0, 0.1)])


def check_plans(each: Sequence[float], worst: float, *, late: float, early: Sequence[float]) -> None:
    """When outputs decide what follows: two plans and the choice among them, twice."""
    observe("foundations-plans", "the choice among the two plans costs as much as the dearer one, to four digits",
            lambda each, worst: max(each) <= worst * (1 + 1e-9) and worst < max(each) + 5e-5, each, worst)
    observe("foundations-plans-late", "a choice by the first outcome needs a larger δ than either plan does",
            lambda late, early: late > 1.05 * max(early), late, early)


def check_votes(found: pd.DataFrame) -> None:
    """A person and each question, searched: largest shares by question and relation."""
    proved, refused = found.loc[PROVED].max(axis=None), found.drop(PROVED)["add-remove"]
    observe("foundations-votes", "the largest share of what is proved is {:.3f}",
            lambda x: 0.999 < x <= 1 + 1e-9, proved, says=[proved])
    observe("foundations-votes-refused", "Normalised scores, which are refused for people, reach {:.1f} to {:.1f} "
            "under add-remove", lambda x: (x > 1).all(), refused, says=[refused.min(), refused.max()])


def check_measured(ways: pd.DataFrame, patient: pd.DataFrame) -> None:
    """Several records a person, measured; ``ways`` has a row a fit, and ``patient`` too."""
    ours = ways[ways["method"] == OURS]
    check_ways(ours.groupby(["dataset", "epsilon", "utility"])["auc_people"].mean().unstack())
    check_average(ours[ours["dataset"] == HOSPITAL], ways_at(ways, HOSPITAL, 1.0)["mean prediction, visits"])
    check_five(ours.pivot_table(index=["dataset", "epsilon", "seed"], columns="utility", values="log_loss_visits"))
    check_patient(losses_of_patient(patient), patient.set_index(["method", "utility"]).loc[BETS])


def check_ways(auc: pd.DataFrame) -> None:
    """AUC over people by data set, ε and way."""
    at: Any = auc.loc[HOSPITAL].loc[1.0]
    observe("foundations-people-hospital", r"At $\varepsilon=1$ one vote has an AUC of {:.3f} on the hospital's "
            "visits, and the fit that protects visits alone {:.3f}. Five records each have {:.3f}, and group privacy "
            "{:.3f}",
            lambda a: a[VOTE] > a["five records each"] > a["group privacy"], at,
            says=[at[VOTE], at[RECORDS], at["five records each"], at["group privacy"]])
    observe("foundations-people-caps", "One vote has the higher mean in all six pairs of a table and an "
            r"$\varepsilon$ against two and five records each and against group privacy",
            lambda a: len(a) == 6 and all((a[VOTE] > a[way]).all()
                                          for way in ("two records each", "five records each", "group privacy")), auc)
    gap = auc[VOTE] - auc["one record each"]
    most = [gap[HOSPITAL].abs().max(), gap[VISITS].min(), gap[VISITS].max()]
    observe("foundations-people-one", "a single record of each person, drawn at random, is as good on the hospital's "
            "visits, within {:.4f}, and on the made ones it is behind by {:.3f} to {:.3f}",
            lambda m: m[0] < 1e-3 < m[1], most, says=most)


def check_average(ours: pd.DataFrame, predicted: pd.Series[float]) -> None:
    """Whose average is learnt on the hospital's visits; and mean predictions over visits, by way."""
    people, visits = (float(ours[f"observed_{over}"].mean()) for over in ("people", "visits"))
    observe("foundations-people-average", "{:.0f} % of the visits were followed by another one, but the mean over "
            "patients is {:.0f} %", lambda v, p: v > p + 0.1, visits, people, says=[100 * visits, 100 * people])
    log: Any = ours[ours["epsilon"] == 1].groupby("utility")[["log_loss_people", "log_loss_visits"]].mean()
    said = [log.loc[way, f"log_loss_{over}"] for over in ("people", "visits") for way in (VOTE, RECORDS)]
    observe("foundations-people-log", "One vote has a log loss of {:.3f} over people, less than the {:.3f} of a fit to "
            "all visits, and over visits {:.3f}, more than its {:.3f}",
            lambda s: s[0] < s[1] and s[2] > s[3], said, says=said)
    near = (predicted - people).abs() < (predicted - visits).abs()
    observe("foundations-people-mean", "In the table the mean predictions of one vote and of one record each are "
            "nearer to the mean over people, and all others to the mean over visits",
            lambda n: n.index[n].tolist() == [VOTE, "1 record each"], near)


def check_five(log: pd.DataFrame) -> None:
    """Log loss over visits of weights by five records at least, beside five records each."""
    at: Any = log.loc[HOSPITAL].loc[1.0].mean()
    apart = (log[OF_FIVE] - log["five records each"]).groupby(["dataset", "epsilon"]).agg(["mean", "sem"])
    observe("foundations-people-five", "a log loss over visits of {:.3f}, and five records each have {:.3f}. In all "
            "six pairs the two are within {:.3f} of each other",
            lambda m: (m["mean"].abs() < 3 * m["sem"]).all(), apart,
            says=[at[OF_FIVE], at["five records each"], apart["mean"].abs().max()])


def check_patient(loss: pd.DataFrame, bets: Any) -> None:
    """The patient of most visits: losses by learner, and bets by way."""
    most: Any = loss[["by visits, max", f"{VOTE}, max"]]
    observe("foundations-people-patient", "If the fit protects visits, the loss of the tree is {:.1f} in one of ten "
            "fits, and with one vote it is {:.2f} at most", lambda t: t.iloc[0] > 5 and t.iloc[1] < 1, most.loc[TREE],
            says=most.loc[TREE].tolist())
    boosters = most.loc[[OURS, "PrivateBooster"]].iloc[:, 0]
    observe("foundations-people-booster", r"The booster's noise hides more, with losses of up to {:.1f} with $\delta$ "
            "and {:.1f} without", lambda x: (x > 1).all(), boosters, says=boosters.tolist())
    observe("foundations-people-bets", "Bets on the same tree refute the claim for people after {:.0f} fits by visits, "
            "and with one vote {:.0f} fits refute nothing",
            lambda b: b.loc[RECORDS, "refuted"] == 1 and b.loc[VOTE, "refuted"] == 0, bets,
            says=bets.loc[[RECORDS, VOTE], "runs"].tolist())
