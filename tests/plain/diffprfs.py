"""DiffPRFs written once from its text alone: Mu, Ding, Song and Lu, 2016, section 3.

Numbers such as 10) are the steps of section 3.1. The domain names a pair (low, high) for a continuous
attribute, and the number v of the values 0, 1, ..., v - 1 for a discrete one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(kw_only=True)
class DiffPRFs:
    domain: list  # of the attributes F
    classes: int  # |C|
    budget: float  # B
    trees: int  # t
    depth: int  # d
    tried: int  # f
    rng: Any
    # Readings of the text; each default is what its steps say word for word.
    replacement: bool = True  # 3) with replacement, or not
    stop: Any = lambda labels, noisy: len(set(labels)) <= 1  # 6) says not what its noisy count is for
    inherited: bool = True  # 10) leaves the children the smaller epsilon; in 3.3 each level has the same
    quality: str = "gain"  # or "max": 3.2, 3)
    sensitivity: float = 1.0  # 3.2: ln|C| in 2); lb m, 1 for two classes, in 3); 1 for "max"
    narrowed: bool = False  # 10) the |R_i| fill the domain; or what the cuts of the path leave of it
    middle: bool = False  # 10) chooses an interval: the cut is drawn from it, or is its middle
    pairs: bool = False  # 12) a child for each value of a discrete attribute; or "2": one value, the others
    reuse: bool = True  # 12) hands on F; or F without a discrete attribute that it divided by
    # "All attributes" in 11) are the f of 8), as in its formula: with `tried` as large as F they are all.
    # "The budget is gone" never, as 4) has a share for each of d + 1 levels.

    def forest(self, X, y):
        share = self.budget / self.trees  # 1)
        grown = []
        for _ in range(self.trees):  # 2)
            bag = self.rng.choice(len(y), len(y), replace=self.replacement)  # 3), |S| is exact
            epsilon = share / (2 * (self.depth + 1))  # 4)
            F = list(range(len(self.domain)))
            grown.append(self.build_tree(X[bag], y[bag], self.domain, F, self.depth, epsilon))  # 5)
        return grown

    def build_tree(self, X, y, domain, F, d, epsilon):
        count = len(y) + self.rng.laplace(scale=1 / epsilon)  # 6)
        if d == 0 or not F or self.stop(y, count):  # 7)
            counts = np.bincount(y, minlength=self.classes)
            counts = counts + self.rng.laplace(scale=1 / epsilon, size=self.classes)
            return {"count": count, "counts": counts, "label": int(counts.argmax())}
        f = self.rng.choice(F, min(self.tried, len(F)), replace=False)  # 8)
        less = epsilon / (1 + sum(isinstance(domain[k], tuple) for k in f))  # 9), 10)
        ways = [(k, *way) for k in f for way in self.ways(X[:, k], y, domain[k], less)]
        scores = [self.q(y, side(X[:, k])) for k, _, side, _ in ways]
        k, at, side, number = ways[self.exponential(scores, less)]  # 11)
        below = [list(domain) for _ in range(number)]
        if isinstance(domain[k], tuple) and self.narrowed:
            below[0][k], below[1][k] = (domain[k][0], at), (at, domain[k][1])
        F = [i for i in F if i != k or self.reuse or isinstance(domain[k], tuple)]
        handed = less if self.inherited else epsilon
        sets = [side(X[:, k]) == i for i in range(number)]  # 12)
        children = [self.build_tree(X[S], y[S], below[i], F, d - 1, handed) for i, S in enumerate(sets)]
        return {"count": count, "attribute": int(k), "at": at, "side": side, "children": children}

    def ways(self, x, y, values, epsilon):
        """How one attribute can divide: (cut or value, side of a record, number of sides)."""
        if isinstance(values, tuple):  # 10)
            ends = np.unique([*values, *np.clip(x, *values)])
            scores = [self.q(y, x > middle) for middle in (ends[1:] + ends[:-1]) / 2]
            i = self.exponential(scores, epsilon, sizes=np.diff(ends))
            cut = ends[i : i + 2].mean() if self.middle else self.rng.uniform(*ends[i : i + 2])
            return [(cut, lambda x: x > cut, 2)]
        if self.pairs:
            return [(value, lambda x, value=value: x == value, 2) for value in range(values)]
        return [(None, lambda x: x, values)]

    def exponential(self, scores, epsilon, sizes=1.0):
        weights = sizes * np.exp(epsilon / (2 * self.sensitivity) * np.array(scores))
        return self.rng.choice(len(weights), p=weights / weights.sum())

    def q(self, y, sides):
        groups = [np.bincount(y[sides == side]) for side in np.unique(sides)]
        if self.quality == "max":
            return sum(counts.max() for counts in groups)
        return info(np.bincount(y)) - sum(counts.sum() / len(y) * info(counts) for counts in groups)

    def predict(self, grown, x, *, probabilities=False):
        """Classify one record: by "majority vote", or by "the largest sum of probabilities"."""
        votes = np.zeros(self.classes)
        for node in grown:
            while "children" in node:
                node = node["children"][int(node["side"](x[node["attribute"]]))]
            shares = np.maximum(node["counts"], 1e-9)  # noisy counts may lie below 0: the text is silent
            votes += shares / shares.sum() if probabilities else np.eye(self.classes)[node["label"]]
        return int(votes.argmax())


def info(counts):
    p = counts[counts > 0] / counts.sum()
    return -(p * np.log2(p)).sum()
