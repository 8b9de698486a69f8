"""Chapter 2: mechanisms and budgets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from dpnb.arrays import Floats, Ints
from dpnb.privacy import laws

from ..site.observations import observe
from . import DRAWS

PARAMETERS = DRAWS
START = np.array([0])  # of one choice
Pair = tuple[Sequence[float], Sequence[float]]  # scores on two neighbours


def em(scores: Floats, rate: float) -> Floats:
    """Probability of each candidate under the exponential mechanism."""
    return np.exp(laws.Exponential(scores, START, np.array(rate), np.ones(len(scores))).log_probabilities())


def pf(scores: Floats, rate: float) -> Floats:
    """Probability of each candidate under permute-and-flip."""
    return laws.PermuteAndFlip(scores, START, np.array(rate)).probabilities()


def losses_of_choices(*, general: Pair, monotone: Pair, epsilons: Collection[float]) -> pd.DataFrame:
    """Privacy loss of a choice on either pair at its usual rates, a column an ε."""

    def loss(mechanism: Callable[[Floats, float], Floats], pair: Pair, rate: float) -> float:
        before, after = (mechanism(np.array(scores), rate) for scores in pair)
        return float(np.abs(np.log(before / after)).max())

    cases = {
        "any score, rate ε/2: EM": (em, general, 1 / 2),
        "any score, rate ε/2: PF": (pf, general, 1 / 2),
        "monotone, rate ε/2: PF": (pf, monotone, 1 / 2),
        "monotone, rate ε: PF": (pf, monotone, 1),
    }
    return pd.DataFrame(
        {
            f"ε = {e:g}": {
                name: loss(mechanism, pair, share * e) for name, (mechanism, pair, share) in cases.items()
            }
            for e in epsilons
        }
    )


def noise_losses(outputs: Floats) -> dict[str, Floats]:
    """Privacy loss of two noises by output, for a count of 1 against one of 0."""
    zero, one = np.array(0.0), np.array(1.0)
    laplace, gaussian = laws.Laplace(zero, one).log_density, laws.Gaussian(zero, one).log_density
    return {
        "Laplace noise, ε = 1": laplace(outputs - 1) - laplace(outputs),
        "Gaussian noise, ρ = 1/2": gaussian(outputs - 1) - gaussian(outputs),
    }


def bag_losses(outputs: Floats, law_of_k: Mapping[str, Floats], *, epsilon: float) -> dict[str, Floats]:
    """Privacy loss by output of a count with Laplace noise of scale 1/ε, for laws of the copies of a record."""
    copies = np.arange(len(next(iter(law_of_k.values()))), dtype=float)
    log_density = laws.Laplace(copies[:, None], np.array(1 / epsilon)).log_density(outputs)
    return {name: np.log(pmf @ np.exp(log_density)) - log_density[0] for name, pmf in law_of_k.items()}


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_spending(pure_epsilon: float) -> None:
    """The first screen."""
    observe("foundations-spend", r"two releases of $\varepsilon=0.4$ and $0.6$ cost {:.0f}",
            lambda e: np.isclose(e, 1.0), pure_epsilon, says=[pure_epsilon])


def check_parts(moved: Mapping[str, int], before: Ints, after: Ints) -> None:
    """Branches cost as much as the dearest: records by position, and without the first one."""
    whole = [set(np.flatnonzero(before == part)) == set(1 + np.flatnonzero(after == part)) for part in range(8)]
    observe("foundations-borders", "positions move a record across every border between parts, and the hash moves none",
            lambda m: m["by position"] == 7 and m["by hash"] == 0, moved)
    observe("foundations-eight", "With positions all eight parts change", lambda same: not any(same), whole)


def check_forests(cost: Mapping[tuple[str, str], float]) -> None:
    """Both rules put together."""
    same, apart = cost["same records", "add-remove"], [cost["a part each", n] for n in ("add-remove", "replace")]
    observe("foundations-path", "A path through a tree costs $0.1+0.15=0.25$",
            lambda x: np.isclose(x["split"] + x["leaf"], x["forest"]) and np.isclose(x["forest"], 0.25),
            {"split": 0.1, "leaf": 0.15, "forest": same / 4})
    observe("foundations-four", "Four trees on the same records cost {:.0f}",
            lambda c: np.isclose(c, 1), same, says=[same])
    observe("foundations-disjoint", "four trees on disjoint records {:.2f}, or {:.1f} under replace",
            lambda c: np.isclose(2 * c[0], c[1]) and c[0] > 0, apart, says=apart)


def check_cuts(scores: Mapping[str, Ints]) -> None:
    """Choosing one of several candidates: the clinic's cuts."""
    chances = [em(scores[who].astype(float), 1.0)[-1] for who in ("with her", "without her")]
    observe("foundations-cuts", "With her the cut at 70 leads by one, and without her all cuts are level",
            lambda s: s["with her"][-1] == s["with her"][:-1].max() + 1 and np.ptp(s["without her"]) == 0, scores)
    observe("foundations-cut-at-70", r"$\frac e{3+e}$ with her and with $\frac14$ without her",
            lambda c: np.allclose(c, [np.e / (3 + np.e), 1 / 4]), chances)
    observe("foundations-cut-odds", "The two probabilities differ by a factor below 2, where the promise allows $e$",
            lambda r: 1.5 < r < 2, chances[0] / chances[1])


def check_choice(scores: Floats, law: Mapping[str, Floats], drawn: Mapping[str, Floats]) -> None:
    """The example of permute-and-flip."""
    error = {name: -float(shares @ scores) for name, shares in law.items()}
    observe("foundations-pf-best", "PF takes the best candidate with probability {:.3f}, EM with {:.3f}",
            lambda p: p["PF"][0] > p["EM"][0], law, says=[law["PF"][0], law["EM"][0]])
    observe("foundations-draws", "the draws agree with the formulas",
            lambda s, p: all(np.abs(s[n] - p[n]).max() < 0.02 for n in ("EM", "PF")), drawn, law)
    observe("foundations-pf-error", "The expected error falls from {:.3f} to {:.3f}",
            lambda e: e["PF"] < e["EM"], error, says=[error["EM"], error["PF"]])
    observe("foundations-third", "the expected error fell by about a third",
            lambda e: 0.3 < 1 - e["PF"] / e["EM"] < 0.36, error)


def check_rates(lost: pd.DataFrame) -> None:
    """How tight the price of a choice is."""
    epsilon = np.array([0.5, 1.0, 2.0])
    em_general, pf_general, half, whole = lost.to_numpy()
    share = em_general / epsilon
    observe("foundations-exactly", r"on the first pair PF loses exactly $\varepsilon$",
            lambda x: np.allclose(x, epsilon), pf_general)
    observe("foundations-em-less", r"EM loses less, from {:.2f} to {:.2f} of $\varepsilon$ here",
            lambda x: ((x > 0) & (x < 1)).all(), share, says=[share.min(), share.max()])
    observe("foundations-half", r"PF with the usual rate $\varepsilon/2$ costs $\varepsilon/2$",
            lambda x: np.allclose(x, epsilon / 2), half)
    observe("foundations-whole", r"PF with the rate $\varepsilon$ costs $\varepsilon$",
            lambda x: np.allclose(x, epsilon), whole)


def check_gaussian(loss: Floats) -> None:
    """What δ buys: the loss of Gaussian noise."""
    beyond = [stats.norm.sf(limit - 0.5) + stats.norm.cdf(-limit - 0.5) for limit in (1, 3)]
    observe("foundations-leaves", "the loss of Gaussian noise leaves every band", lambda x: x.max() > 4, np.abs(loss))
    observe("foundations-seldom", r"in {:.2f} of all draws for the band $\pm1$, and in {:.4f} for $\pm3$",
            lambda x: 0.5 > x[0] > 10 * x[1], beyond, says=beyond)


def check_totals(totals: pd.DataFrame) -> None:
    """What δ buys: many choices."""
    of_count = [0.5 + 2 * np.sqrt(0.5 * np.log(1 / delta)) for delta in (1e-6, 1e-9)]
    observe("foundations-cheaper", "pure accounting is cheaper than zCDP for one release, and zCDP for ten and more",
            lambda t: t.loc[1, "pure"] < t.loc[1, "zCDP"] and (t["zCDP"] < t["pure"]).loc[10:].all(), totals)
    observe("foundations-root", r"the other at first like $\sqrt k$",
            lambda s: abs(s[1] / s[0] / np.sqrt(10) - 1) < 0.11, totals.loc[[10, 100], "zCDP"].to_numpy())
    observe("foundations-one-by-one", "Following the releases is never dearer than zCDP here",
            lambda t: (t["one by one"] <= t["zCDP"]).all(), totals)
    observe("foundations-convert", r"has $\varepsilon={:.2f}$ at $\delta=10^{{-6}}$, and a $\delta$ a thousand times "
            "smaller raises this to {:.2f} only", lambda e: e[0] < e[1] < 1.5 * e[0], of_count, says=of_count)


def check_bags(losses: Mapping[str, Floats], bounds: Mapping[str, float], epsilon: float) -> None:
    """Random bags."""
    growth = np.expm1(epsilon)
    formula = {"Poisson(1)": growth, "Bin(20, 1/20)": 20 * np.log1p(growth / 20),
               "Bernoulli(0.2)": np.log1p(0.2 * growth)}
    end = np.array([curve[-1] for curve in losses.values()])
    top = np.array([curve.max() for curve in losses.values()])
    observe("foundations-level", "each curve levels off at its bound",
            lambda x, y: np.abs(x - y).max() < 1e-3, end, np.array(list(bounds.values())))
    observe("foundations-four-digits", "the largest losses equal the formulas in four digits",
            lambda x, y: np.abs(x - y).max() < 5e-5, top, np.array(list(formula.values())))
    observe("foundations-one-in-five", "cuts the cost of a tree to about a quarter",
            lambda f, e: 0.23 < f["Bernoulli(0.2)"] / e < 0.27, formula, epsilon)
    observe("foundations-poisson", r"A Poisson bag costs more than $\varepsilon_0$",
            lambda f, e: f["Poisson(1)"] > e, formula, epsilon)


def check_exercises() -> None:
    """Numbers of the solutions."""
    observe("foundations-ex-bag", r"$\ln(1+0.04)={:.4f}$, about 2 % less", lambda x: 0.975 < x / 0.04 < 0.985,
            np.log(1.04), says=[np.log(1.04)])
    observe("foundations-ex-one-tree", r"it is $5$ against $\ln6={:.2f}$",
            lambda x: np.isclose(np.expm1(x), 5), np.log(6), says=[np.log(6)])
