"""The MapReduce-Pearson tree, written from its text alone: 王金艳, 颜奇, 李先贤, patent application of 2020.

Whoever wrote this file had not seen the package's version, and nothing here is shared with it; the exact mean came
after the comparison. Steps have the text's numbers. The copy at hand has lost its formulas: its words decide, and
keywords say where they do not.
"""

from fractions import Fraction

import numpy as np


def coefficient(v, d):
    """Return Pearson's coefficient of two integer vectors, squared but with its sign: exact, and in the same order."""
    n, v, d = len(v), [int(i) for i in v], [int(i) for i in d]
    cov = n * sum(a * b for a, b in zip(v, d, strict=True)) - sum(v) * sum(d)
    var = (n * sum(a * a for a in v) - sum(v) ** 2) * (n * sum(b * b for b in d) - sum(d) ** 2)
    return Fraction(cov * abs(cov), var) if var else None  # A constant vector has none.


def best_split(values, d, *, measure="absolute", undefined="zero", equal="first"):
    """Step 3: a subset's greatest coefficient for one attribute, and the value c that it belongs to.

    measure: "the greatest coefficient". "signed": by the letter; "absolute": by its size.
    undefined: the greatest value c, which no record is above, and a subset of one class have no coefficient.
        "zero": it counts as 0; "out": c is left out (0 and the smallest value if no c is left).
    equal: which of equally good values c is best, the "first" (smallest) or the "last".
    """
    scores = [(coefficient(np.where(values <= c, 1, 2), d), c) for c in np.unique(values)]
    if undefined == "zero" or all(p is None for p, _ in scores):
        scores = [(p or Fraction(0), c) for p, c in scores]
    scores = [(abs(p) if measure == "absolute" else p, c) for p, c in scores if p is not None]
    top = max(p for p, _ in scores)
    best = [c for p, c in scores if p == top]
    return np.sign(float(top)) * abs(float(top)) ** 0.5, float(best[0 if equal == "first" else -1])


def mean(values):
    """Step 4: the mean, rounded once only, so that equal values have themselves for a mean."""
    return float(sum(map(Fraction, values)) / len(values))


def pearson_tree(x, d, *, classes, h, m, epsilon_1, epsilon_2, rng, choice="drawn", sensitivity=1.0,
                 divide="rows", order="first", spent="tree", unfinished="none",
                 three=best_split, four=mean):  # fmt: skip
    """Return {place: (attribute, cut)} and {place: noisy class counts}; a place is its path of 0s and 1s.

    choice: step 5 lets the exponential mechanism pick the attribute "with the greatest probability of output".
        "drawn": it is drawn with that probability; "taken": the greatest is taken, the first of equals.
    divide: how to divide into m subsets. "rows": consecutive records; "dealt": record i goes to subset i mod m;
        "shuffled": at random. Empty subsets are left out: where there are some, no subset has two records, and all
        coefficients are 0.
    order: which data set of omega_j comes next, the "first" (<j,0>) or the "last" (<j,1>).
    spent: an attribute once used leaves the set of attributes, and an empty set ends everything. "tree": one
        set for the whole tree, as printed; "path": one for each path, whose end is then a leaf.
    unfinished: data sets that wait when the set runs empty get no counts ("none", as printed) or are leaves ("leaf").
    three, four: the functions above; a reading of step 3 is bound to the first.
    """
    splits, leaves = {}, {}
    # 1) All omega_j stand in one list, the deepest at its end.
    waiting = [((), np.arange(len(d)), list(range(x.shape[1])))]
    while waiting:  # 7), 8)
        deepest = [i for i, (place, _, _) in enumerate(waiting) if len(place) == len(waiting[-1][0])]
        place, rows, left = waiting.pop(deepest[0 if order == "first" else -1])  # 2)
        if len(set(d[rows])) <= 1 or len(place) == h or not left:  # 6)
            leaves[place] = rows
            continue
        parts = rng.permutation(rows) if divide == "shuffled" else rows
        parts = [parts[i::m] for i in range(m)] if divide == "dealt" else np.array_split(parts, m)
        best = [[three(x[part, a], d[part]) for part in parts if len(part)] for a in left]  # 3)
        cut = [four([c for _, c in b]) for b in best]  # 4)
        quality = np.mean([[p for p, _ in b] for b in best], axis=1)  # 5)
        p = np.exp(epsilon_1 * (quality - quality.max()) / (2 * sensitivity))
        k = np.argmax(np.round(quality, 12)) if choice == "taken" else rng.choice(len(left), p=p / p.sum())
        splits[place] = (left[k], cut[k])
        above = x[rows, left[k]] > cut[k]
        rest = [a for a in left if a != left[k]]
        waiting = [(other, r, rest if spent == "tree" else own) for other, r, own in waiting]
        waiting += [((*place, 0), rows[~above], rest), ((*place, 1), rows[above], rest)]
        if spent == "tree" and not rest:
            break
    if unfinished == "leaf":
        leaves |= {place: rows for place, rows, _ in waiting}
    exact = {place: np.bincount(d[rows], minlength=classes) for place, rows in leaves.items()}
    return splits, {place: c + rng.laplace(0.0, 1 / epsilon_2, classes) for place, c in exact.items()}  # 9)
