"""eDPRF written once from one page of its text, page 2932 of the journal (page 11 of the e-book edition), 2025.

The page gives algorithm 1, equations (7) and (8), bootstrap bags and the plan of section 3: a budget that
parallel composition aligns, trees whose nodes ask by permute and flip, and a forest of them. All else is
a reading, and a keyword. A domain names the number v of the values 0, 1, ..., v - 1 of each feature, as
definition 6 has it; of continuous features the page says nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


def permute_and_flip(scores, epsilon, sensitivity, rng):
    """Algorithm 1: the index of an option."""
    best = max(scores)  # (1)
    for q in rng.permutation(len(scores)):  # (2)
        p = np.exp(epsilon / (2 * sensitivity) * (scores[q] - best))  # (3)
        if rng.random() < p:  # (4)
            return int(q)  # (5)


def gini(counts):
    """Equation (7), from the counts of the classes; an empty set is pure."""
    return 1 - np.sum((counts / counts.sum()) ** 2) if counts.sum() else 0.0


def gini_index(groups):
    """Equation (8); a row of class counts for each of the v values."""
    return sum(counts.sum() * gini(counts) for counts in groups) / max(groups.sum(), 1)


@dataclass(kw_only=True)
class EDPRF:
    domain: list
    classes: int
    budget: float
    trees: int
    depth: int
    rng: Any
    bags: str = "bootstrap"  # 2.2; or "disjoint", to which theorem 2 applies
    shares: list | None = None  # of a tree's epsilon for each level from the root; or all the same
    aligned: bool = False  # "aligns the budget" is `bags`; or a leaf takes what its path has left
    tried: int | None = None  # features that a node looks at, drawn at random; or all of them
    utility: str = "index"  # u is -(8), from 0 to -1; or "counts": |D| times that, a sum of |D_k| Gini(D_k)
    sensitivity: float = 1.0  # of u for a feature, which the page does not tell; 1 for a count
    pure: bool = False  # a node whose labels agree is a leaf
    reuse: bool = True  # a feature may come again below itself
    label: str = "flip"  # permute and flip on the counts of classes; or "laplace": the largest noisy count

    def forest(self, X, y):
        """Bags, theorem 1 for those that overlap, theorem 2 for those that do not, and a tree for each."""
        if self.bags == "disjoint":
            bags, epsilon = np.array_split(self.rng.permutation(len(y)), self.trees), self.budget
        else:
            bags, epsilon = self.rng.integers(len(y), size=(self.trees, len(y))), self.budget / self.trees
        shares = self.shares or [1 / (self.depth + 1)] * (self.depth + 1)
        features = list(range(len(self.domain)))
        return [self.build(X[b], y[b], features, [epsilon * s for s in shares]) for b in bags]

    def build(self, X, y, features, epsilons):
        """A node: its feature or its label. `epsilons` are those of its level and the levels below."""
        if len(epsilons) == 1 or not features or (self.pure and len(set(y)) <= 1):
            counts = np.bincount(y, minlength=self.classes)
            epsilon = sum(epsilons) if self.aligned else epsilons[0]
            if self.label == "laplace":
                counts = counts + self.rng.laplace(scale=1 / epsilon, size=self.classes)
                return {"label": int(counts.argmax()), "counts": counts}
            return {"label": permute_and_flip(counts, epsilon, 1, self.rng)}
        scores = []
        looked = np.sort(self.rng.permutation(features)[: self.tried])
        for k in looked:
            D = [y[X[:, k] == value] for value in range(self.domain[k])]
            groups = np.array([np.bincount(D_k, minlength=self.classes) for D_k in D])
            scores.append(-gini_index(groups) * (len(y) if self.utility == "counts" else 1))
        k = int(looked[permute_and_flip(scores, epsilons[0], self.sensitivity, self.rng)])
        below = features if self.reuse else [i for i in features if i != k]
        sets = [X[:, k] == value for value in range(self.domain[k])]
        return {"feature": k, "children": [self.build(X[D], y[D], below, epsilons[1:]) for D in sets]}

    def predict(self, grown, x):
        """The majority of the trees; of equal votes the first class."""
        votes = np.zeros(self.classes)
        for node in grown:
            while "children" in node:
                node = node["children"][int(x[node["feature"]])]
            votes[node["label"]] += 1
        return int(votes.argmax())
