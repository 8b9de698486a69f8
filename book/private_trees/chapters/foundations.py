"""Chapter 1: what privacy promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from dpnb import Curator
from dpnb.arrays import Floats, Ints

from ..exercises import foundations as exercises
from ..site.observations import observe
from . import DRAWS

PARAMETERS = DRAWS


def noisy_counts(curator: Curator, *, size: int) -> dict[str, Ints]:
    """Answers at ε = 1 to the count of a clinic's ill patients, with the one who is ill and without her."""
    counts = {"with her": 1, "without her": 0}
    return {
        who: curator.geometric(np.full(size, count), epsilon=1.0, sensitivity=1, what="count")
        for who, count in counts.items()
    }


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_trees(tree: DecisionTreeClassifier, smaller: DecisionTreeClassifier) -> None:
    """The clinic's tree, with her and without her."""
    cut, depths = float(tree.tree_.threshold[0]), [tree.get_depth(), smaller.get_depth()]
    observe("foundations-cut", "asks whether somebody is older than {:.2f}, the middle between 66 and 73",
            lambda cut: cut == (66 + 73) / 2, cut, says=[cut])
    observe("foundations-no-split", "The tree has no split", lambda depth: depth == [1, 0], depths)


def check_promise(ratio: Sequence[float]) -> None:
    """The first picture, and the finding."""
    ratios = np.array(ratio)

    def near(r: Floats) -> bool:
        return bool(abs(r.max() / np.e - 1) < 0.1)

    observe("foundations-ratios", r"every ratio is near $e$ or near $\frac1e$, and none is far outside",
            lambda r: np.minimum(np.abs(r / np.e - 1), np.abs(r * np.e - 1)).max() < 0.1, ratios)
    observe("foundations-finding", r"at $\varepsilon=1$ the frequency changes by a factor of up to {:.2f}", near,
            ratios, says=[np.e])
    observe("foundations-zh-finding", r"$\varepsilon=1$ 时可达 {:.2f} 倍", near, ratios, says=[np.e])


def check_relations(worst: Mapping[str, float]) -> None:
    """One record more, or another one."""
    observe("foundations-relations", "a worst loss of {:.0f} for an added record and of {:.0f} for a replaced one",
            lambda w: np.isclose(w["added"], 1) and np.isclose(w["replaced"], 2), worst,
            says=[worst["added"], worst["replaced"]])


def check_beliefs(sure: Mapping[float, float]) -> None:
    """What somebody may conclude."""
    observe("foundations-half-belief", r"at $\varepsilon=0.1$ a belief of one half becomes {:.1f} % at most, "
            r"and {:.1f} % at $\varepsilon=1$", lambda s: 0.5 < s[0.1] < s[1.0] < 0.75, sure,
            says=[100 * sure[0.1], 100 * sure[1.0]])
    observe("foundations-belief-five", r"At $\varepsilon=5$ it may become {:.1f} %", lambda s: s[5.0] > 0.99, sure,
            says=[100 * sure[5.0]])


def check_loss(loss: Floats) -> None:
    """Noise that keeps the promise."""
    on_bound = stats.laplace.cdf(0) + stats.laplace.sf(1)
    observe("foundations-loss", r"the loss fills the interval $[-\varepsilon,\varepsilon]$ and never leaves it",
            lambda x: np.isclose(x.min(), -1) and np.isclose(x.max(), 1) and np.abs(np.diff(x)).max() < 0.1, loss)
    observe("foundations-whole-budget", r"{:.2f} at $\varepsilon=1$, or about two outputs of three",
            lambda share: np.isclose(share, (1 + np.exp(-1)) / 2) and abs(share - 2 / 3) < 0.03, on_bound,
            says=[on_bound])


def check_low_bits(one_in: Mapping[str, float], betrayed: Mapping[float, float]) -> None:
    """What floating point breaks."""
    observe("foundations-most", "about nine in ten outputs of 0 cannot come from 1",
            lambda x: 0.88 < x["Laplace"] < 0.92, one_in)
    observe("foundations-end", "What remains is the end of its range", lambda x: 0 < x["geometric"] < 0.002, one_in)
    observe("foundations-clipped", "Clipping to a public interval is post-processing and removes that too",
            lambda x: x["clipped"] == 0, one_in)
    observe("foundations-one-in-seven", "about one output in seven of count 0 proves that the count is not 1",
            lambda x: 1 / 8 < x[0.0] < 1 / 7 + 0.005, betrayed)
    observe("foundations-none", "Among the outputs of count 1 there is none", lambda x: x[1.0] == 0, betrayed)


def check_exercises(sure: float) -> None:
    """Numbers of the solutions."""
    observe("foundations-ex-insurer", r"$\frac{{e}}{{99}}$ at most, which is a belief of {:.1f} %",
            lambda s: np.isclose(s / (1 - s), np.e / 99), sure, says=[100 * sure])
    observe("foundations-ex-even", r"$\varepsilon=\ln99\approx{:.1f}$",
            lambda e: np.isclose(np.exp(e) / 99, 1), np.log(99), says=[np.log(99)])
    observe("foundations-ex-witness", r"0 and $\frac{{e-1}}{{e+1}}\approx{:.2f}$",
            lambda x: np.isclose(x, np.tanh(0.5)), exercises.careless_count([0, 0, 1], 1), says=[np.tanh(0.5)])
