"""Appendix to chapters 1 to 3: draws, ledgers, and following the releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from dpnb import Ledger
from dpnb.arrays import Floats, Ints
from dpnb.privacy import accounting, ledger

from ..site.observations import observe
from ..studies.votes import PROVED
from . import DRAWS

PARAMETERS = DRAWS
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
