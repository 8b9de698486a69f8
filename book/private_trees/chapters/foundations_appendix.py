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
    observe("foundations-narrower", "The geometric noise is a little narrower than the Laplace noise",
            lambda g, x: all(0.8 < i / j < 1 for i, j in zip(g[:2], x[:2], strict=True)),
            theory["geometric"], theory["Laplace"])


def check_choices(share: Mapping[str, Floats], law: Mapping[str, Floats], ratio: Floats) -> None:
    """Permute-and-flip by experiment: shares of draws, their laws, and the ratio of the expected errors."""
    observe("foundations-same-law", "the largest with exponential noise and the literal algorithm are the same law",
            lambda s, p: max(np.abs(s[n] - p["PF"]).max() for n in ("PF", "PF, noise")) < 0.0045, share, law)
    observe("foundations-draws-em", "the draws agree with the formulas to {:.4f}",
            lambda s, p: np.abs(s["EM"] - p["EM"]).max() < 0.0045, share, law, says=[0.0045])
    observe("foundations-between", "every ratio lies between 1 and 2, as proved",
            lambda r: r.min() >= 1 - 1e-9 and r.max() <= 2 + 1e-9, ratio)
    observe("foundations-ends-near", "The smallest is {:.3f}, and the largest {:.3f}",
            lambda r: 1 <= r.min() < r.max() <= 2 + 1e-9, ratio, says=[ratio.min(), ratio.max()])


def check_zcdp(needed: Mapping[str, float], window: Mapping[str, float]) -> None:
    """Permute-and-flip in zCDP: the ρ that a pair needs, and the window of its losses."""
    observe("foundations-em-below", r"EM stays below $\varepsilon^2/8$", lambda n: 0 < n["EM"] < 1 / 8, needed)
    observe("foundations-pf-twice", "PF needs about twice as much",
            lambda n: 1.8 < n["PF"] / n["EM"] < 2.2 and n["EM"] > 0, needed)
    observe("foundations-no-window", r"its losses do not fit into a window of length $\varepsilon$",
            lambda w: w["PF"] > 1, window)


def check_shorter(shorter: Mapping[int, int]) -> None:
    """Which mechanism with a δ: in how many cases PF needs the shorter lead, by number of choices."""
    observe("foundations-few-choices", "PF needs the shorter lead in all twelve cases for one choice and for three",
            lambda s: s[1] == s[3] == 12, shorter)
    observe("foundations-many-choices", "For five choices it does in five cases, for ten in one, and for thirty in "
            "none", lambda s: [s[k] for k in (5, 10, 30)] == [5, 1, 0], shorter)


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
