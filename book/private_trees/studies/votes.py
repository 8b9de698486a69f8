"""People who share a vote, made up by the thousand: how far they move each question, beside what a record may."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpnb.arrays import FIXED_POINT, Floats, Ints
from dpnb.boosting.groups import GROUP_Z
from dpnb.boosting.stages import FINE_Z, standing_moves, standing_out
from dpnb.papers.pearson import covariation
from dpnb.records.losses import Clipped, Huber, Loss, Margins, Softmax, fixed
from dpnb.records.people import vote_of, voted
from dpnb.trees import scores

MOST = 64  # records of a person, or of all others
CANDIDATES = 4  # splits to choose from in each node
AT_ONCE = 250
Rng = np.random.Generator


class Crowd(NamedTuple):
    """Records, as tables see them; a row is a person, or all others."""

    votes: Floats  # (people, records) multiples of 2⁻²⁸, 0 where there is no record
    node: Ints  # (people, records)
    branch: Ints  # (people, records, candidates)
    label: Ints  # (people, records)

    def tables(self, nodes: int, classes: int) -> Floats:
        """Weights by candidate, node, branch and class, (people, nodes, candidates, 2, classes)."""
        shape = len(self.votes), nodes, CANDIDATES, 2, classes
        found, row = np.zeros(shape), np.arange(len(self.votes))[:, None]
        for j in range(CANDIDATES):
            cell: Any = (row, self.node, j, self.branch[..., j], self.label)
            np.add.at(found, cell, self.votes)
        return found


def people(rng: Rng, many: int) -> Floats:
    """Votes of people with 1 to 64 records: equal ones, some with less than one vote, some unequal."""
    m = np.where(rng.random(many) < 0.5, rng.choice([1, 2, 10, MOST], many), rng.integers(1, MOST + 1, many))
    on, kind = np.arange(MOST) < m[:, None], rng.random(many)
    votes = np.where(on, vote_of(m)[:, None], 0.0)
    less = np.where(kind < 0.25, 10 ** rng.uniform(-6, 0, many), 1.0)
    uneven = rng.dirichlet(np.full(MOST, 0.2), many) * on
    votes = np.where(kind[:, None] > 0.75, uneven, votes * less[:, None])
    units: Floats = np.floor(votes * FIXED_POINT) / FIXED_POINT
    assert (units.sum(axis=1) <= 1).all()
    return units


def _others(rng: Rng, many: int) -> Floats:
    """Votes of others: none, few, some of them small, some as large as those of many."""
    on = np.arange(MOST) < rng.integers(0, 25, many)[:, None]
    part = rng.choice([1, 1, 1, 2, 3, 10, 64, 4096], (many, MOST))
    crowd = np.where(rng.random((many, MOST)) < 0.1, 2.0 ** rng.integers(0, 8, (many, MOST)), 1.0)
    return np.where(on, vote_of(part) * crowd, 0.0)


def _spread(rng: Rng, votes: Floats, *, nodes: int, classes: int) -> Crowd:
    """Places and labels of records: at random, all in one node, or each in another; some of one class."""
    many, kind, same = len(votes), rng.random(len(votes))[:, None], rng.random(len(votes))[:, None]
    node = rng.integers(nodes, size=votes.shape)
    node = np.where(kind < 0.25, node[:, :1], np.where(kind > 0.7, np.arange(MOST) % nodes, node))
    branch = rng.integers(2, size=(many, MOST, CANDIDATES))
    branch = np.where(same[..., None] < 0.3, branch[:, :1], branch)
    label = rng.integers(classes, size=votes.shape)
    label = np.where(same < 0.15, label[:, :1], np.where(same > 0.8, branch[..., 0], label))
    return Crowd(votes, node, branch, label)


def _drawn(rng: Rng, many: int, *, nodes: int, classes: int) -> tuple[Floats, Floats, Floats]:
    """Tables of others, and of two people each; in three cases of ten one other meets the first one in each node."""
    how: Any = {"nodes": nodes, "classes": classes}
    others = _spread(rng, _others(rng, many), **how).tables(nodes, classes)
    first, second = (_spread(rng, people(rng, many), **how).tables(nodes, classes) for _ in range(2))
    meet, foe = rng.random(many) < 0.3, np.zeros_like(others)
    size = first[:, :, 0].sum(axis=(2, 3)) * rng.choice([0.25, 1, 4], (many, 1))
    for j in range(CANDIDATES):
        foe[:, :, j, j % 2, 0] = np.floor(size * FIXED_POINT) / FIXED_POINT
    others[meet] = foe[meet]
    return others, first, second


# --- Questions --------------------------------------------------------------------------------------------------

Moves = Callable[[Rng, int], tuple[Floats, Floats]]
"""Generator, and how many → the largest part of the bound that a person uses, and of two bounds that two use."""


def _choice(score: Callable[[Floats], Floats], apart: float, nodes: int, classes: int) -> Moves:
    """How far a person moves two candidates apart, over all nodes of a level."""

    def moves(rng: Rng, many: int) -> tuple[Floats, Floats]:
        others, first, second = _drawn(rng, many, nodes=nodes, classes=classes)
        with_first, with_second = score(others + first), score(others + second)
        changes = with_first - score(others), (with_second - with_first) / 2
        one, two = (np.ptp(change, axis=2).sum(axis=1) / apart for change in changes)
        return one, two

    return moves


def _leaves(rng: Rng, many: int) -> tuple[Floats, Floats]:
    """Class counts of all leaves."""
    _, first, second = (table[:, :, 0] for table in _drawn(rng, many, nodes=16, classes=3))
    one, two = (np.abs(change).sum(axis=(1, 2, 3)) for change in (first, (second - first) / 2))
    return one, two


def _sums(rng: Rng, many: int, loss: Loss, classes: int, size: int) -> dict[str, Floats]:
    """Sums of residuals, of their squares and of curvatures in an attribute's cells, (problems, people, cells)."""
    votes = people(rng, many)
    crowd = _spread(rng, votes, nodes=size, classes=classes)
    spread = np.repeat(rng.choice([0, 0.3, 3, 40], many), MOST)
    score = fixed(rng.normal(size=(loss.n_problems, votes.size)) * spread)
    labels: Any = crowd.label.ravel() if classes > 1 else rng.random(votes.size)
    residuals, curvatures = loss.residuals(score, labels), loss.curvatures(score, labels)
    cell = np.repeat(np.arange(many), MOST) * size + crowd.node.ravel()

    def summed(values: Floats) -> Floats:
        rows = [np.bincount(cell, row, minlength=many * size) for row in voted(values, votes.ravel())]
        return np.array(rows, float).reshape(len(rows), many, size)

    return {
        "residuals": summed(residuals),
        "squares": summed(fixed(residuals**2)),
        "curvatures": summed(curvatures),
    }


def _norm(loss: Loss, classes: int, *, kind: str) -> Moves:
    """Residuals, their squares or curvatures in the cells of an attribute; by absolute sums or by squares."""
    norms: dict[str, tuple[int, float]] = {
        "residuals, absolute": (1, loss.absolute),
        "residuals, squared": (2, loss.square**0.5),
        "squares": (1, loss.square),
        "curvatures": (2, loss.curvature),
    }
    order, bound = norms[kind]

    def moves(rng: Rng, many: int) -> tuple[Floats, Floats]:
        size = int(rng.choice([1, 2, 8, MOST]))
        first, second = (_sums(rng, many, loss, classes, size)[kind.partition(",")[0]] for _ in range(2))
        norms = [np.linalg.norm(np.moveaxis(sums, 1, 0).reshape(many, -1), ord=order, axis=1)
                 for sums in (first, (second - first) / 2)]  # fmt: skip
        return norms[0] / bound, norms[1] / bound

    return moves


def _standing(loss: Loss, classes: int, *, z: float) -> Moves:
    """The score of a block by what stands out in its cells; those of others lie on an edge of counting, or far off."""
    up, down = standing_moves(loss, touched=MOST)

    def moves(rng: Rng, many: int) -> tuple[Floats, Floats]:
        first, second = (_sums(rng, many, loss, classes, MOST) for _ in range(2))
        squares = fixed(np.abs(rng.normal(size=first["squares"].shape)) * rng.choice([0.0, 1.0, 30.0]))
        sign = np.sign(first["residuals"]) * np.where(rng.random((1, many, 1)) < 0.5, 1, -1)
        edge = z * np.sqrt(squares + 4 * z**2)
        others = fixed(sign * np.where(rng.random((1, many, 1)) < 0.5, edge, 500.0))
        scores = [
            standing_out(others + sums["residuals"], squares + sums["squares"], z=z).sum(axis=(0, 2))
            for sums in ({"residuals": 0.0, "squares": 0.0}, first, second)
        ]
        change, apart = scores[1] - scores[0], scores[2] - scores[1]
        return np.maximum(change / up, -change / down), np.abs(apart) / (up + down)

    return moves


LEVEL = 64  # nodes
COUNTING = {"max": "max-class sum", "gini": "Gini", "abs_s_xy": "|S_xy|"}
NORMALISED = {"gini_normalised": "Gini / n", "info_gain": "information gain", "abs_phi": "|φ|"}
LOSSES: dict[str, tuple[Loss, int]] = {
    "two classes": (Margins(), 2),
    "three classes": (Softmax(3), 3),
    "three classes, clipped": (Clipped(3, 0.5), 3),
    "a number": (Huber(0.0, 1.0), 1),
}
QUESTIONS: dict[str, Moves] = {
    **{
        f"{words}, {nodes} node{'s' * (nodes > 1)}": _choice(
            scores.SCORES[name], scores.SCORES[name].change_range(classes=2), nodes, 2
        )
        for name, words in (COUNTING | NORMALISED).items()
        for nodes in ((1, LEVEL) if name in COUNTING else (LEVEL,))
    },
    "|S_xy|, three classes, 16 nodes": _choice(covariation, 2.0, 16, 3),
    "class counts of all leaves": _leaves,
    **{
        f"{kind}, {words}": _norm(loss, classes, kind=kind)
        for words, (loss, classes) in LOSSES.items()
        for kind in ("residuals, absolute", "residuals, squared", "squares", "curvatures")
    },
    **{
        f"{kind}, {words}": _standing(loss, classes, z=z)
        for kind, z in {"fine bins": FINE_Z, "cells of groups": GROUP_Z}.items()
        for words, (loss, classes) in LOSSES.items()
    },
}
PROVED = [name for name in QUESTIONS if not name.startswith(tuple(NORMALISED.values()))]


def searched(*, pairs: int, seed: int) -> pd.DataFrame:
    """The largest share of what a record may move that a person uses, for each question.

    Parameters
    ----------
    pairs : people for each question, and pairs of people who replace each other.
    """
    rng = np.random.default_rng(seed)
    rows = {}
    for name, moves in QUESTIONS.items():
        worst = np.zeros(2)
        for first in range(0, pairs, AT_ONCE):
            found = moves(rng, min(AT_ONCE, pairs - first))
            worst = np.maximum(worst, [share.max() for share in found])
        rows[name] = worst
    return pd.DataFrame(rows, index=["add-remove", "replace"]).T.rename_axis("question")
