"""Chapter 3: what a tree asks of data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from dpnb import Curator
from dpnb.arrays import Floats
from dpnb.privacy.lattice import Lattice
from dpnb.replay.tape import replay_estimator, replay_fit
from dpnb.trees import scores

from ..site.observations import observe
from ..studies import selection
from . import DRAWS

PARAMETERS = DRAWS


def largest_changes(*, sizes: Collection[int]) -> pd.DataFrame:
    """Largest change of each score at each size: by formula, and over all 2 × 2 tables and neighbours."""
    rows = {
        (name, n): {"formula": score.sensitivity_at(n), **selection.enumerated_changes(score, n)}
        for name, score in scores.SCORES.items()
        for n in sizes
    }
    return pd.DataFrame(rows).T.rename_axis(["score", "n"])


def split_points(curator: Curator, *, ends: Floats, score: Floats, draws: int) -> Floats:
    """Split points at ε = 1, each one drawn by itself: ``score`` holds between neighbouring ``ends``."""
    lattice = Lattice.of(ends[:1], ends[-1:])
    share = np.diff(lattice.up_to(ends)) / lattice.size  # points of the lattice
    return curator.exponential_intervals(
        np.tile(score, draws),
        starts=np.arange(draws) * len(score),
        option=np.zeros(draws * len(score), int),
        low=np.tile(ends[:-1], draws),
        high=np.tile(ends[1:], draws),
        lattice=lattice,
        measure=np.tile(share, draws),
        epsilon=1.0,
        sensitivity=1,
        monotone=True,
        what="split point",
    ).value


def losses_of(
    tree: Any,
    visits: tuple[pd.DataFrame, pd.Series[Any]],
    patient: NDArray[np.int64],
    *,
    fits: int,
    seed: int,
) -> dict[str, float]:
    """Largest loss of fits at their own outputs if all visits of the last patient go: by visits, and with one vote."""
    (X, y), others, people = visits, patient < patient[-1], pd.Series(patient)
    rest, found = (X[others], y[others]), {"visits": 0.0, "patients": 0.0}

    def fit(part: Any, *, number: int) -> Any:
        return clone(tree).set_params(random_state=number).fit(*part)

    for number in range(seed, seed + fits):
        by_visit = replay_fit(partial(fit, number=number), visits, rest, common=rest, own=(True, False))
        by_patient, _ = replay_estimator(tree, (*visits, people), (*rest, people[others]), seed=number)
        found["visits"] = max(found["visits"], by_visit.loss)
        found["patients"] = max(found["patients"], by_patient.loss)
    return found


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_her(added: Mapping[int, Mapping[str, float]], change: Mapping[str, float]) -> None:
    """What the 73-year-old adds to each score, by cut, beside the largest change that any tenth record makes."""
    observe("foundations-her-gini", "At the cut of 50 her record lowers Gini by {:.1f} and leaves the max-class sum as "
            "it is", lambda a: a["gini"] < -1 and a["max"] == 0, added[50], says=[-added[50]["gini"]])
    observe("foundations-her-max", "At the cut of 70 it raises the max-class sum by {:.0f} and leaves Gini as it is",
            lambda a: a["max"] == 1 and a["gini"] == 0, added[70], says=[added[70]["max"]])
    observe("foundations-her-most", "the 73-year-old moves three of the four scores as much as any tenth record can",
            lambda a, most: sum(np.isclose(a[name], most[name]) for name in most) == 3, added[70], change)


def check_first_changes(change: Mapping[str, float]) -> None:
    """The first screen: largest changes at ten records."""
    observe("foundations-ten", "changes of {:.0f} for the max-class sum and {:.1f} for Gini",
            lambda c: np.isclose(c["max"], 1) and np.isclose(c["gini"], 2 * 9 / 10), change,
            says=[change["max"], change["gini"]])
    observe("foundations-ten-normalised", r"{:.3f} for information gain and {:.0f} for $\lvert\phi\rvert$",
            lambda c: c["info_gain"] < c["abs_phi"] <= 1 + 1e-9 and np.isclose(c["abs_phi"], 1), change,
            says=[change["info_gain"], change["abs_phi"]])


def check_sensitivities(compared: pd.DataFrame, gains: Sequence[float]) -> None:
    """Sensitivities of split scores."""
    in_formula, added, replaced = compared.drop(columns="monotone").to_numpy(float).T
    at_two, at_ten = (compared.xs(n, level="n")["monotone"].to_dict() for n in (2, 10))
    observe("foundations-formulas", "formula and enumeration agree in all printed digits, for both relations",
            lambda f, a, r: max(np.abs(f - a).max(), np.abs(f - r).max()) < 5e-5, in_formula, added, replaced)
    observe("foundations-monotone", "at 10 records the column `monotone` is as {prf:ref}`fnd-scores` says",
            lambda t: {n for n, m in t.items() if m == "yes"} == {"max", "gini", "conditional_entropy"}, at_ten)
    observe("foundations-monotone-two", "At 2 records it says yes for four scores more",
            lambda few, more: sum(m == "yes" for m in few.values()) == 4 + sum(m == "yes" for m in more.values()),
            at_two, at_ten)
    observe("foundations-gain", "one replaced record changes the gain by more than 1",
            lambda g: abs(g[1] - g[0]) > 1, gains)


def check_leads(leads: pd.DataFrame, named: Mapping[str, str]) -> None:
    """Count, do not divide: leads by name of the score, and the short names."""
    normalised, at = ["information gain", "|φ|", "normalised Gini"], leads.loc[1000].to_dict()
    flat = np.ptp(leads[normalised].to_numpy(), axis=0)
    of_size = {key: at[name] * scores.SCORES[key].sensitivity / scores.SCORES[key].sensitivity_at(1000)
               for name, key in named.items()}
    observe("foundations-lead", "at 1000 records the max-class sum leads by {:.0f} and Gini by {:.0f}",
            lambda a: a["max-class sum"] > a["Gini"] > 50, at, says=[at["max-class sum"], at["Gini"]])
    observe("foundations-lead-normalised", r"information gain leads by {:.2f}, $\lvert\phi\rvert$ by {:.2f} and "
            "normalised Gini by {:.2f}, whatever $n$ is", lambda a, f: (np.abs(f) < 1e-9).all()
            and all(0.1 <= a[name] <= 1 for name in normalised), at, flat, says=[at[name] for name in normalised])
    observe("foundations-lead-public", "there information gain would lead by {:.0f} and normalised Gini by {:.0f}, as "
            "Gini does", lambda s: s["info_gain"] > 20 and np.isclose(s["gini_normalised"], s["gini"])
            and s["abs_phi"] < 1, of_size, says=[of_size["info_gain"], of_size["gini_normalised"]])


def check_cut(
    density: Mapping[str, Floats], points: Floats, *, ends: Floats, chance: Floats, hers: Floats, with_chance: float
) -> None:
    """Where to cut: ``chance`` of each interval between the ``ends``, and the midpoints that are ``hers`` alone."""
    loss = np.log(density["D, with her"] / density["D′, without her"])
    observe("foundations-histogram", "the histogram follows the density with her",
            lambda x, y: np.abs(x - y).max() < 0.003, np.histogram(points, ends)[0] / len(points), chance)
    observe("foundations-inside", r"the loss stays strictly within $\pm1$", lambda x: np.abs(x).max() < 1, loss)
    observe("foundations-window", "two values are 1 apart", lambda x: np.isclose(np.ptp(x), 1), loss)
    observe("foundations-midpoint", "Two midpoints, {:.1f} and {:.1f}, can come out only with her, and together they "
            "do so with probability {:.3f}", lambda m, c: list(m) == [69.5, 86.5] and 0 < c < 1, hers, with_chance,
            says=[*hers, with_chance])
    observe("foundations-midpoint-age", "Both give her age away",
            lambda m: [2 * m[0] - 66, 2 * m[1] - 100] == [73, 73], hers)


def check_misses(missed: pd.DataFrame, at_six: pd.DataFrame) -> None:
    """What a private choice needs."""
    times = missed["PF"] / missed["least"]
    of_many: Any = at_six.loc[1000, ["PF", "least"]]
    factor = [2 / (1 - np.expm1(epsilon / 2) ** 2) for epsilon in (0.1, 0.5)]
    observe("foundations-twice", "PF misses at most {:.3f} times as often as the best possible private choice",
            lambda t: t.min() > 0.999 and t.max() < factor[0], times, says=[times.max()])
    observe("foundations-two", "With two candidates it *is* the best possible",
            lambda t: np.allclose(t, 1), times[missed["candidates"] == 2].to_numpy())
    observe("foundations-em-larger", "EM needs a larger lead than PF throughout",
            lambda t: (t["EM"] > t["PF"]).all(), missed[["PF", "EM"]])
    observe("foundations-thousand", "PF misses with probability {:.3f}, and no private choice can promise less than "
            "{:.3f}", lambda x: 0 < x["least"] < x["PF"], of_many, says=list(of_many))
    observe("foundations-factor", r"{:.2f} at $\varepsilon=0.1$ and {:.2f} at $\varepsilon=0.5$",
            lambda f: 2 < f[0] < f[1] < 2.2, factor, says=factor)


def check_regret(regret: pd.DataFrame, most: float) -> None:
    """Records for a root; ``most`` is the largest Gini, without its sign, of the clinic's ten patients."""
    part = regret.assign(left=regret["PF"] / regret["random"], ruler=regret["bound"] / regret["random"])
    far = part[part["ruler"] > 3]["left"].to_numpy()
    wake = part[part["ruler"].between(0.5, 2)].sort_values("records")[["records", "epsilon", "left"]].to_numpy()
    late = part.set_index(["records", "epsilon"])["left"].loc[[(3000, 1.0), (30162, 0.1)]].to_numpy()
    observe("foundations-random", "PF keeps at least {:.0f} % of that regret",
            lambda x: (x > 0.9).all() and (x <= 1).all() and len(x) == 6, far, says=[np.floor(100 * far.min())])
    observe("foundations-wakes", r"at 1 000 records for $\varepsilon=1$ and at 10 000 for $\varepsilon=0.1$",
            lambda w: w[:, :2].tolist() == [[1000, 1.0], [10000, 0.1]], wake)
    observe("foundations-begins", "the regret of PF is {:.2f} and {:.2f} of the random one",
            lambda w: (w[:, 2] < 0.6).all() and (w[:, 2] > 0.1).all(), wake, says=list(wake[:, 2]))
    observe("foundations-left", "With three times as many records almost nothing is left, since PF keeps at "
            "most {:.3f} of the random regret",
            lambda x: (x < 0.01).all() and (x > 0).all(), late, says=[late.max()])
    observe("foundations-her-root", "weights that differ by less than a fifth",
            lambda m: 1 < np.exp(m * 1.0 / (6 * 2)) < 1.2, most)


def check_people(loss: Mapping[str, float], level: Mapping[str, float]) -> None:
    """A patient of ten visits, and what 64 parts of a vote cost."""
    counting = max(level[name] for name in ("max", "gini", "abs_s_xy"))
    observe("foundations-ten-visits", "By visits the largest loss of 20 trees is {:.1f}",
            lambda x: 9.9 < x["visits"] <= 10 + 1e-6, loss, says=[loss["visits"]])
    observe("foundations-one-vote", "and its loss is {:.1f}",
            lambda x: 0.9 < x["patients"] <= 1 + 1e-6, loss, says=[loss["patients"]])
    observe("foundations-homogeneous", "The scores that count cost at most {:.2f} of the level's budget",
            lambda x: 0 < x <= 1 + 1e-9, counting, says=[counting])
    observe("foundations-not-homogeneous", "Information gain costs {:.1f} times the budget, and "
            r"$\lvert\phi\rvert$ {:.1f} times", lambda x: x["info_gain"] > 2 and x["abs_phi"] > 2, level,
            says=[level["info_gain"], level["abs_phi"]])


def check_exercises(root: float) -> None:
    """Numbers of the solutions: ``root`` is the largest change of the root of the max-class sum."""
    need = np.log(427 / 0.2)
    fall = np.log2(6) / 7 + (np.log2(7) - 6 / 7 * np.log2(6))  # log2(n - 1)/n + H2(1/n) at n = 7
    observe("foundations-ex-records", r"1200\cdot{:.2f}\approx{:.0f}",
            lambda x: abs(1200 * x - 9200) < 50, need, says=[need, round(1200 * need, -2)])
    observe("foundations-ex-gain", "This is {:.2f} for $n=7$", lambda x: 0 < x < 1, fall, says=[fall])
    observe("foundations-ex-root", r"at $n=10$ it is $\sqrt6-\sqrt5={:.4f}$",
            lambda x: np.isclose(x, np.sqrt(6) - np.sqrt(5)), root, says=[root])
