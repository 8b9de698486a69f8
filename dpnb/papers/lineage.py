"""The lineage of DiffPRFs: the seven methods of Table 1 in Mu, Ding, Song, Lu (2016), as compact references.

What that paper says of a method is taken as it stands. What it leaves open comes from memory of the original papers,
or from code that cites them, and is marked [INF]; of several readings the private one is the default.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta

from ..bags import Bags
from ..candidates import Candidates, binary_candidates, multiway_scores
from ..counts import Cohort, Records, ValueCounts
from ..curator import Curator
from ..datasets import Dataset
from ..domain import Continuous, Domain
from ..estimators import PrivateForest, check_choice, check_count, leaf_votes
from ..ledger import Event, Ledger, Neighbours, TreeScope
from ..scores import CONDITIONAL_ENTROPY, GINI, INFO_GAIN, MAX_CLASS_SUM, Score
from ..splits import LEAF, MULTIWAY, THRESHOLD, Floats, Ints, Splits, no_splits
from ..trees import Tree, TreeBuilder

Bools = NDArray[np.bool_]

BINS = 10  # public bins of equal width for the methods that take discrete attributes only
PRUNING_CONFIDENCE = 0.25  # C4.5's
PRUNING_SLACK = 0.1
RESERVE = "kept back for what a longer path would cost"
N_LEAK = "number of records N, read off the data for the Δ of the information gain"


# --- One tree, whatever chooses its splits --------------------------------------------------------------------


@dataclass(frozen=True)
class _Run:
    """What one tree is grown with.

    Parameters
    ----------
    size, choice, leaf : ε of a node's size (0 for no such count), of the choice of its split, of a leaf's class counts.
    path : most that a path may cost.
    sensitivity : Δ of the split score.
    """

    curator: Curator
    cohort: Cohort
    domain: Domain
    size: float
    choice: float
    leaf: float
    path: float
    sensitivity: float

    def sizes(self, counts: Floats, nodes: Ints) -> Floats:
        """Noisy number of records of every node; NaN if none is asked for."""
        if not self.size:
            return np.full(len(nodes), np.nan)
        total, what = counts.sum(axis=1), "size of a node"
        return self.curator.laplace(total, epsilon=self.size, sensitivity=1.0, what=what, parts=nodes)

    def class_counts(self, counts: Floats, nodes: Ints) -> Floats:
        """Noisy class counts of leaves; a record is in one class, so Δ = 1 for all classes together."""
        if not len(nodes):
            return counts
        what = "class counts of a leaf"
        return self.curator.laplace(counts, epsilon=self.leaf, sensitivity=1.0, what=what, parts=nodes)

    def reserve(self, scope: TreeScope, nodes: Ints) -> None:
        """Book what the paths that end here did not spend: where they end is an outcome, and ε holds for all."""
        if len(nodes) and math.isfinite(self.path):
            _reserve(self.curator.ledger, self.path - scope.path_costs()[0][nodes], nodes)


def _reserve(ledger: Ledger, rest: ArrayLike, parts: Ints | None = None) -> None:
    """Book a rest of the budget that no release of this fit costs."""
    epsilon = np.maximum(np.asarray(rest, float), 0.0)
    if np.any(epsilon > 1e-12):
        ledger.book(Event(RESERVE, "none", epsilon, 0.5 * epsilon**2, math.nan, parts))


@dataclass(frozen=True)
class _Front:
    """The open nodes of a level and what the splits above them leave open; all of it has been released.

    Parameters
    ----------
    nodes : (nodes,) numbers on the ledger.
    depth : number of splits above them.
    unused : (nodes, attributes) whether no multiway split above used the attribute.
    low, high : (nodes, attributes) range left by the thresholds above; a category counts as its code ± ½.
    """

    nodes: Ints
    depth: int
    unused: Bools
    low: Floats
    high: Floats

    @classmethod
    def root(cls, domain: Domain) -> _Front:
        view = _on_a_line(domain)
        return cls(
            np.array([0]), 0, np.ones((1, domain.n_attributes), bool), view.lows[None], view.highs[None]
        )

    def keep(self, slots: Ints) -> _Front:
        return replace(
            self,
            nodes=self.nodes[slots],
            unused=self.unused[slots],
            low=self.low[slots],
            high=self.high[slots],
        )

    def below(self, splits: Splits, nodes: Ints, cardinalities: Ints) -> _Front:
        """The level below, once all of these nodes are split."""
        branches = splits.n_branches(cardinalities)
        parent = np.repeat(np.arange(len(branches)), branches)
        branch = np.arange(len(parent)) - (np.cumsum(branches) - branches)[parent]
        kind, attribute, cut = (field[parent] for field in splits)
        unused, low, high = self.unused[parent], self.low[parent], self.high[parent]
        for side, bound in ((0, high), (1, low)):
            rows = np.flatnonzero((kind == THRESHOLD) & (branch == side))
            bound[rows, attribute[rows]] = cut[rows]
        rows = np.flatnonzero(kind == MULTIWAY)
        unused[rows, attribute[rows]] = False
        return _Front(nodes, self.depth + 1, unused, low, high)


def _on_a_line(domain: Domain) -> Domain:
    """The domain with every category as the number of its code, for thresholds between categories."""
    attributes = (
        Continuous(a.name, -0.5, n - 0.5) if n else a
        for a, n in zip(domain.attributes, domain.cardinalities.tolist(), strict=True)
    )
    return replace(domain, attributes=tuple(attributes))


def _grow(
    run: _Run,
    scope: TreeScope,
    *,
    leaves: Callable[[_Front, Floats], Bools],
    choose: Callable[[_Front, Floats], Splits],
) -> tuple[Tree, Floats]:
    """Grow a tree a level at a time.

    Parameters
    ----------
    leaves : open nodes, their noisy sizes → which of them become leaves.
    choose : nodes to split, their class counts → their splits.

    Returns
    -------
    The tree, and the noisy size of each node.
    """
    builder, front, sizes = TreeBuilder(run.domain, scope), _Front.root(run.domain), []
    while True:
        counts = run.cohort.class_counts(len(front.nodes))
        sizes.append(run.sizes(counts, front.nodes))
        leaf = leaves(front, sizes[-1])
        values = np.full(counts.shape, np.nan)
        values[leaf] = run.class_counts(counts[leaf], front.nodes[leaf])
        run.reserve(scope, front.nodes[leaf])
        splits, going = no_splits(len(leaf)), np.flatnonzero(~leaf)
        if not len(going):
            builder.grow(splits, values)
            return builder.finish(), np.concatenate(sizes)
        run.cohort.keep(going)
        front = front.keep(going)
        chosen = choose(front, counts[going])
        for field, own in zip(splits, chosen, strict=True):
            field[going] = own
        first_slot = builder.grow(splits, values)
        run.cohort.descend(chosen, first_slot[going])
        front = front.below(chosen, builder.frontier, run.domain.cardinalities)


def _within(candidates: Candidates, low: Floats, high: Floats) -> Candidates:
    """The thresholds of each question restricted to a public range, (questions,) ends; categories stay as they are."""
    lows, highs = low[candidates.question], high[candidates.question]
    interval = candidates.low != candidates.high
    start = np.where(interval, np.clip(candidates.low, lows, highs), candidates.low)
    stop = np.where(interval, np.clip(candidates.high, lows, highs), candidates.high)
    with np.errstate(divide="ignore"):
        share = np.where(interval, np.log(stop - start) - np.log(highs - lows), candidates.log_measure)
    return replace(candidates, low=start, high=stop, log_measure=share)


class _Lineage(PrivateForest):
    """Base: opens the doors, grows the trees of ``_trees`` and lets each name the class of largest noisy count."""

    neighbours: Neighbours = "add-remove"
    vote = "majority"
    discrete_only = True
    scores: ClassVar[dict[str, Score]] = {}

    def fit(self, X: pd.DataFrame | ArrayLike, y: ArrayLike | pd.Series[Any]) -> Self:
        """Train the model.

        Parameters
        ----------
        X : DataFrame (n, attributes), whose index labels are the record keys, or array (positions are keys).
        y : (n,) labels in the domain's classes.

        Raises
        ------
        ValueError
            For records that do not fit the domain, continuous attributes where the method takes none, or a
            parameter out of range.

        **Privacy**: see the class; every release is on ``ledger_``.
        """
        self._check_parameters()
        records, curator = self._open(X, y)
        continuous = [a.name for a in self.domain_.attributes if isinstance(a, Continuous)]
        if self.discrete_only and continuous:
            raise ValueError(
                f"{type(self).__name__} takes discrete attributes only, and {', '.join(continuous)} are continuous: "
                f"fit it on domain.discretise({BINS}) and domain.discretise_records(X, {BINS})"
            )
        self.trees_ = self._trees(records, curator)
        self.ledger_ = curator.ledger
        return self

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _trees(self, records: Records, curator: Curator) -> list[Tree]:
        raise NotImplementedError


# --- The interactive line: ID3 by counts ----------------------------------------------------------------------


class PINQID3(_Lineage):
    """PINQ-based ID3: information gain from noisy counts, with the Partition operator.

    Parameters
    ----------
    epsilon : total budget ε > 0; ``inf`` gives plain ID3.
    domain : public domain of discrete attributes.
    max_depth : number d ≥ 0 of splits on the longest path.
    random_state : seed, Generator or None; keep it secret.

    Attributes
    ----------
    trees_ : list of one :class:`~dpnb.trees.Tree`, multiway.
    ledger_ : :class:`~dpnb.ledger.Ledger` with the claimed and the true ε.

    Notes
    -----
    With e = ε / (2(d + 1)): every node releases its size N at e. It becomes a leaf at depth d, without attributes
    left, or if N / (t |C|) ≤ √2 / e, where t is the largest number of values of an attribute left; its class counts
    then cost e. Otherwise every attribute A left releases N_j and N_jc for its values j and the classes c at
    e / (2 |attributes|) each, and the split is the A that maximises Σ_j Σ_c N_jc log(N_jc / N_j). Table 1 says:
    disjoint parts, so that a query on all of them costs as much as on one. The division, the stop rule and the score
    are [INF]: as code that cites Friedman and Schuster's first algorithm has them. The table cites Blum et al. for this
    method, its text Friedman and Schuster, whose year is given here.

    **Privacy**: ε-DP for add/remove. Counts of the parts of one partition have Δ = 1 together; a record pays on one
    path for d + 1 sizes, d choices and one leaf, that is for 2(d + 1) shares of e. Where a path ends is an outcome, so
    the ledger books as kept back what an early leaf leaves of ε: its total holds for all outcomes, not for this one.

    References
    ----------
    McSherry (2009), Privacy integrated queries; Friedman, Schuster (2010), Data mining with differential privacy;
    Mu, Ding, Song, Lu (2016), Table 1 and section 2.3.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        domain: Domain | None = None,
        max_depth: int = 5,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.domain = domain
        self.max_depth = max_depth
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_count("max_depth", self.max_depth, low=0)

    def _share(self, budget: float) -> float:
        """ε of one release: d + 1 sizes, d choices and one leaf lie on a path."""
        return budget / (2 * (self.max_depth + 1))

    def _trees(self, records: Records, curator: Curator) -> list[Tree]:
        sensitivity = self._sensitivity(records, curator)
        return [self._tree(self._run(curator, records.cohort(), self._budget, sensitivity))]

    def _sensitivity(self, records: Records, curator: Curator) -> float:
        return 1.0

    def _run(self, curator: Curator, cohort: Cohort, budget: float, sensitivity: float) -> _Run:
        share = self._share(budget)
        return _Run(curator, cohort, self.domain_, share, share, share, budget, sensitivity)

    def _tree(self, run: _Run) -> Tree:
        with run.curator.ledger.tree("tree") as scope:
            choose = partial(self._choose, run)
            return _grow(run, scope, leaves=partial(self._leaves, run), choose=choose)[0]

    def _leaves(self, run: _Run, front: _Front, size: Floats) -> Bools:
        branches = np.where(front.unused, np.maximum(run.domain.cardinalities, 2), 0).max(axis=1)
        few = size <= branches * run.domain.n_classes * math.sqrt(2) / run.size
        stop: Bools = few | (branches == 0) | (front.depth == self.max_depth)
        return stop

    def _choose(self, run: _Run, front: _Front, totals: Floats) -> Splits:
        noisy, listed = self._noisy_tables(run, front)
        size = np.maximum(noisy[..., 0], 0.0)
        part = np.clip(noisy[..., 1:], 0.0, size[..., None])
        ratio = np.where(part > 0, part, 1.0) / np.where(part > 0, size[..., None], 1.0)
        summed = np.where(listed, (part * np.log2(ratio)).sum(axis=-1), 0.0).sum(axis=-1)
        attribute = np.where(front.unused, summed, -np.inf).argmax(axis=1)
        return Splits(np.full(len(attribute), MULTIWAY), attribute, np.full(len(attribute), np.nan))

    def _noisy_tables(self, run: _Run, front: _Front) -> tuple[Floats, Bools]:
        """Noisy N_j and N_jc, (nodes, attributes, values, 1 + classes), and which of the cells are asked for."""
        n_nodes, n_attributes = front.unused.shape
        cardinalities = run.domain.cardinalities
        counts = run.cohort.value_counts(np.tile(np.arange(n_attributes), (n_nodes, 1)))
        table = np.zeros((n_nodes * n_attributes, int(cardinalities.max()), run.domain.n_classes))
        table[counts.question, counts.value.astype(np.intp)] = counts.counts
        table = table.reshape(n_nodes, n_attributes, *table.shape[1:])
        both = np.concatenate([table.sum(axis=-1, keepdims=True), table], axis=-1)
        listed = front.unused[..., None] & (np.arange(table.shape[2]) < cardinalities[:, None])
        sensitivity = 2.0 * int(front.unused.sum(axis=1).max())  # one N_j and one N_jc of every attribute
        noisy = run.curator.laplace(
            np.where(listed[..., None], both, 0.0),
            epsilon=self._cost(run, listed, sensitivity),
            sensitivity=sensitivity,
            what="value and class counts of all attributes",
            parts=front.nodes,
        )
        return noisy, listed

    def _cost(self, run: _Run, listed: Bools, sensitivity: float) -> Floats:
        """What a node's counts cost a record, (nodes,)."""
        return np.full(len(listed), run.choice)


class SuLQID3(PINQID3):
    """SuLQ-based ID3: information gain from noisy counts, every count a query of its own.

    Parameters
    ----------
    epsilon, domain, max_depth, random_state : as for :class:`PINQID3`.

    Attributes
    ----------
    trees_, ledger_ : as for :class:`PINQID3`.

    Notes
    -----
    As :class:`PINQID3`, without its Partition: a node's share e is divided by the number Σ_A |A| (1 + |C|) of all
    counts over its attributes, and a leaf's share by |C|. That noise is high because every count pays is what Table 1
    says; the Laplace form and counting the nodes of a level once are [INF] (the original adds Gaussian noise for a
    number of queries fixed in advance, from memory).

    **Privacy**: ε-DP for add/remove by adding up queries; the ledger knows that the cells of a table are disjoint
    and states less than is claimed. The difference is what Partition saves, for the same noise.

    References
    ----------
    Blum, Dwork, McSherry, Nissim (2005), Practical privacy: the SuLQ framework; Mu, Ding, Song, Lu (2016), Table 1
    and section 2.3.
    """

    def _run(self, curator: Curator, cohort: Cohort, budget: float, sensitivity: float) -> _Run:
        domain, share = self.domain_, self._share(budget)
        left = domain.n_attributes - np.arange(min(self.max_depth, domain.n_attributes))
        values = np.cumsum(np.sort(domain.cardinalities))[left - 1]  # fewest, if those of many are used first
        choices = share * float((2 * left / (values * (1 + domain.n_classes))).sum())
        leaf = share / domain.n_classes
        path = (self.max_depth + 1) * share + choices + leaf
        return replace(super()._run(curator, cohort, budget, sensitivity), leaf=leaf, path=path)

    def _cost(self, run: _Run, listed: Bools, sensitivity: float) -> Floats:
        queries = listed.sum(axis=(1, 2)) * (1 + run.domain.n_classes)
        cost: Floats = run.choice / queries * sensitivity
        return cost


# --- The interactive line: the exponential mechanism ----------------------------------------------------------


class DiffPID3(PINQID3):
    """DiffP-ID3: the exponential mechanism chooses the attribute.

    Parameters
    ----------
    epsilon, domain, max_depth, random_state : as for :class:`PINQID3`.
    utility : ``"info_gain"``, −Σ_j N_j H(C | j) with Δ = log₂(N + 1) + 1 / ln 2; ``"max"``, the sum of the largest
        class counts, Δ = 1; ``"gini"``, −Σ_j N_j Gini(j), Δ = 2.
    max_records : public bound N on the number of records, for that Δ: a promise, as the domain is. None takes the
        number of the training records, as in the original [INF, from memory], and leaks it.

    Attributes
    ----------
    trees_, ledger_ : as for :class:`PINQID3`.

    Notes
    -----
    Sizes, stop and leaves as :class:`PINQID3`. One exponential mechanism at e chooses among the attributes left, with
    probability ∝ exp(e u / (2Δ)). That one split takes one share is what Table 1 says; the three scores with their Δ
    are [INF], from memory. The gain leaves out what all attributes share, the entropy of the node, and is not divided
    by its size: with a gain in bits and Δ = 1 the choice would be all but uniform.

    **Privacy**: ε-DP for add/remove, with the same shares as :class:`PINQID3`, if there are at most ``max_records``
    records. With ``max_records=None`` the noise depends on N: ε = ∞ for add/remove.

    References
    ----------
    Friedman, Schuster (2010), Data mining with differential privacy; Mu, Ding, Song, Lu (2016), Table 1.
    """

    scores: ClassVar[dict[str, Score]] = {
        "info_gain": CONDITIONAL_ENTROPY,
        "max": MAX_CLASS_SUM,
        "gini": GINI,
    }

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        domain: Domain | None = None,
        max_depth: int = 5,
        utility: str = "info_gain",
        max_records: int | None = 1_000_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(epsilon=epsilon, domain=domain, max_depth=max_depth, random_state=random_state)
        self.utility = utility
        self.max_records = max_records

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("utility", self.utility, tuple(self.scores))
        if self.max_records is not None:
            check_count("max_records", self.max_records, low=1)

    def _sensitivity(self, records: Records, curator: Curator) -> float:
        score, n = self.scores[self.utility], len(records.keys)
        if score is not CONDITIONAL_ENTROPY:
            return score.sensitivity
        if self.max_records is None:
            return _gain_sensitivity(curator.exact(n, why=N_LEAK))
        if n > self.max_records:
            raise ValueError(
                f"max_records={self.max_records}: there are {n} records; state a larger public bound, for a larger Δ"
            )
        return _gain_sensitivity(self.max_records)

    def _choose(self, run: _Run, front: _Front, totals: Floats) -> Splits:
        n_nodes, n_attributes = front.unused.shape
        counts = run.cohort.value_counts(np.tile(np.arange(n_attributes), (n_nodes, 1)))
        scores, cuts = self._scored(run, front, counts, np.repeat(totals, n_attributes, axis=0))
        with np.errstate(divide="ignore"):
            offered = np.log(self._offered(run, front).astype(float))
        starts = np.arange(0, len(scores), n_attributes)
        attribute = run.curator.exponential(
            scores,
            starts=starts,
            epsilon=run.choice,
            sensitivity=run.sensitivity,
            monotone=False,
            what="attribute of a node",
            parts=front.nodes,
            log_measure=offered.reshape(-1),
        )
        return Splits(
            np.where(run.domain.continuous[attribute], THRESHOLD, MULTIWAY),
            attribute,
            cuts[starts + attribute],
        )

    def _scored(self, run: _Run, front: _Front, counts: ValueCounts, totals: Floats) -> tuple[Floats, Floats]:
        """Score of every attribute at every node, and its threshold if it has one, (nodes · attributes,)."""
        scores = multiway_scores(counts, totals=totals, score=self.scores[self.utility])
        return scores, np.full(len(scores), np.nan)

    def _offered(self, run: _Run, front: _Front) -> Bools:
        """Attributes among which a node may choose, (nodes, attributes)."""
        return front.unused


def _gain_sensitivity(n: int) -> float:
    """Δ of Σ N_j H(C | j) in bits for up to n records: the largest x log₂ x − (x−1) log₂(x−1), rounded up."""
    return math.log2(n + 1) + 1 / math.log(2)


class DiffPC45(DiffPID3):
    """DiffP-C4.5: DiffP-ID3 with continuous attributes, whose thresholds an exponential mechanism chooses first.

    Parameters
    ----------
    epsilon, domain, max_depth, utility, max_records, random_state : as for :class:`DiffPID3`; attributes may be
        continuous.

    Attributes
    ----------
    trees_ : list of one :class:`~dpnb.trees.Tree`, binary at continuous attributes, multiway at others, pruned.
    ledger_ : as for :class:`PINQID3`.

    Notes
    -----
    At each node a mechanism over intervals chooses a threshold for each of the n continuous attributes, then another
    one chooses among all attributes: what Table 1 and section 2.3 say, and blame for the use of budget. Equal shares
    e = ε / ((2 + n) d + 2), as d + 1 sizes, d (n + 1) choices and one leaf lie on a path; thresholds within the range
    that the path leaves; and C4.5's pruning by a bound on the errors at confidence 0.25, from the released numbers
    alone: sizes fitted from the root down, class counts from the leaves up. These three are [INF], as in the authors'
    code.

    **Privacy**: ε-DP for add/remove under the condition of :class:`DiffPID3`; pruning is free.

    References
    ----------
    Friedman, Schuster (2010), Data mining with differential privacy; Mu, Ding, Song, Lu (2016), Table 1 and
    section 2.3.
    """

    discrete_only = False

    def _share(self, budget: float) -> float:
        return budget / ((2 + int(self.domain_.continuous.sum())) * self.max_depth + 2)

    def _scored(self, run: _Run, front: _Front, counts: ValueCounts, totals: Floats) -> tuple[Floats, Floats]:
        scores, cuts = super()._scored(run, front, counts, totals)
        domain, (n_nodes, n_attributes) = run.domain, front.unused.shape
        numeric = np.flatnonzero(np.tile(domain.continuous, n_nodes))
        if not len(numeric):
            return scores, cuts
        attributes = np.tile(np.arange(n_attributes), n_nodes)
        candidates = binary_candidates(
            counts, attributes=attributes, totals=totals, lows=domain.lows, highs=domain.highs, domain=domain
        )
        candidates = _within(candidates, front.low.reshape(-1), front.high.reshape(-1))
        each = candidates.scores(self.scores[self.utility])
        parts = np.repeat(front.nodes, int(domain.continuous.sum()))
        cuts[numeric] = _thresholds(run, candidates, each, numeric, parts=parts)
        scores[numeric] = each[candidates.locate(numeric, cuts[numeric])]
        return scores, cuts

    def _tree(self, run: _Run) -> Tree:
        with run.curator.ledger.tree("tree") as scope:
            choose = partial(self._choose, run)
            return _pruned(*_grow(run, scope, leaves=partial(self._leaves, run), choose=choose), run.domain)


def _thresholds(
    run: _Run, candidates: Candidates, scores: Floats, questions: Ints, *, parts: Ints | None
) -> Floats:
    """Exponential mechanism over the intervals of each of ``questions``, (questions,) thresholds."""
    mine = np.isin(candidates.question, questions)
    point = run.curator.exponential_intervals(
        scores[mine],
        starts=np.searchsorted(np.flatnonzero(mine), candidates.starts[questions]),
        option=candidates.question[mine],
        low=candidates.low[mine],
        high=candidates.high[mine],
        log_measure=candidates.log_measure[mine],
        epsilon=run.choice,
        what="threshold of an attribute",
        parts=parts,
        sensitivity=run.sensitivity,
        monotone=False,
    )
    return point.value


def _pruned(tree: Tree, sizes: Floats, domain: Domain) -> Tree:
    """Turn inner nodes into leaves where that lowers C4.5's bound on the errors: a function of what was released."""
    branches = tree.splits.n_branches(domain.cardinalities)
    parent = np.repeat(np.arange(tree.n_nodes), branches)  # of the nodes 1, 2, ...
    depths = range(1, int(tree.depth.max()) + 1)
    size = np.maximum(sizes, 0.0)
    shared = np.bincount(parent, size[1:])
    for depth in depths:
        level = np.flatnonzero(tree.depth == depth)
        above = parent[level - 1]
        even, total = 1 / branches[above], shared[above]
        share = np.where(total > 0, size[level] / np.where(total > 0, total, 1.0), even)
        size[level] = share * size[above]
    counts = np.zeros(tree.value.shape)
    leaf = tree.splits.kind == LEAF
    counts[leaf] = leaf_votes(tree.value[leaf], vote="probability") * size[leaf, None]
    for depth in reversed(depths):
        level = np.flatnonzero(tree.depth == depth)
        np.add.at(counts, parent[level - 1], counts[level])
    errors = _error_bound(counts)
    below = np.where(leaf, errors, 0.0)
    for depth in reversed(depths):
        level = np.flatnonzero(tree.depth == depth)
        np.add.at(below, parent[level - 1], np.minimum(below, errors)[level])
    cut = ~leaf & (errors <= below + PRUNING_SLACK)
    return _without_subtrees(tree, cut, np.where(cut[:, None], counts, tree.value), parent)


def _error_bound(counts: Floats) -> Floats:
    """Upper confidence limit of a leaf's number of errors: C4.5's N · U(E, N)."""
    n = counts.sum(axis=1)
    errors = np.clip(n - counts.max(axis=1), 0.0, None)
    right = np.maximum(n - errors, 1e-9)
    bound: Floats = n * beta.ppf(1 - PRUNING_CONFIDENCE, errors + 1, right)
    return bound


def _without_subtrees(tree: Tree, cut: Bools, value: Floats, parent: Ints) -> Tree:
    """The tree with the nodes of ``cut`` as leaves and nothing below them."""
    kept = np.ones(tree.n_nodes, bool)
    for node, above in enumerate(parent.tolist(), start=1):
        kept[node] = kept[above] and not cut[above]
    kind, attribute, at = (field[kept] for field in tree.splits)
    ends = cut[kept]
    splits = Splits(np.where(ends, LEAF, kind), np.where(ends, -1, attribute), np.where(ends, np.nan, at))
    number = np.cumsum(kept) - 1
    first = np.where(cut | (tree.first_child < 0), -1, number[tree.first_child])
    return Tree(splits, first[kept], tree.depth[kept], value[kept])


class DiffPRF(DiffPID3):
    """DiffPRF: a random forest of DiffP-ID3 trees.

    Parameters
    ----------
    epsilon, domain, max_depth, utility, max_records, random_state : as for :class:`DiffPID3`.
    n_trees : number t ≥ 1 of trees.
    bags : ``"full"``, every tree sees all records; ``"bootstrap"``, n draws with replacement, as section 2.2.1 of
        the DiffPRFs paper describes forests.

    Attributes
    ----------
    trees_, ledger_ : as for :class:`PINQID3`, with t trees.

    Notes
    -----
    Each tree is a :class:`DiffPID3` with ε / t that chooses among √(number of attributes) attributes left, drawn for
    each node. A forest of ID3 trees on discrete attributes is what Table 1 says; the equal division, the number of
    attributes and ``bags="full"`` are [INF].

    **Privacy**: with ``"full"`` ε-DP for add/remove under the condition of :class:`DiffPID3`: the trees add up. A
    bootstrap holds some records several times, which pay as often: the ledger then exceeds the claim.

    References
    ----------
    Patil, Singh (2014), Differential private random forest; Mu, Ding, Song, Lu (2016), Table 1 and section 2.2.1.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        domain: Domain | None = None,
        n_trees: int = 25,
        max_depth: int = 5,
        utility: str = "info_gain",
        max_records: int | None = 1_000_000,
        bags: str = "full",
        random_state: Any = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            domain=domain,
            max_depth=max_depth,
            utility=utility,
            max_records=max_records,
            random_state=random_state,
        )
        self.n_trees = n_trees
        self.bags = bags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_trees", self.n_trees, low=1)
        check_choice("bags", self.bags, ("full", "bootstrap"))

    def _trees(self, records: Records, curator: Curator) -> list[Tree]:
        bags, sensitivity = Bags(self.bags, self.n_trees), self._sensitivity(records, curator)
        seed = curator.public(lambda rng: int(rng.integers(2**63)), what="seed of the bags")
        per_copy, trees = bags.per_copy_epsilon(self._budget), []
        with bags.forest_scope(curator.ledger, f"forest of {self.n_trees} trees"):
            for b in range(self.n_trees):
                with bags.tree_scope(curator.ledger):
                    cohort = records.cohort(bags.draw(records.keys, seed=seed, tree=b))
                    trees.append(self._tree(self._run(curator, cohort, per_copy, sensitivity)))
        return trees

    def _offered(self, run: _Run, front: _Front) -> Bools:
        drawn = run.curator.public(lambda rng: rng.random(front.unused.shape), what="attributes of a node")
        rank = np.where(front.unused, drawn, 2.0).argsort(axis=1).argsort(axis=1)
        n_drawn = max(round(math.sqrt(run.domain.n_attributes)), 1)
        return front.unused & (rank < n_drawn)


# --- The non-interactive line: generalise, then specialise ----------------------------------------------------


class _Cut(NamedTuple):
    """A value of the generalised table: a range of an attribute, and where it would be specialised."""

    attribute: int
    low: float
    high: float
    at: float


class DiffGen(_Lineage):
    """DiffGen: everything generalised, then h values specialised by the exponential mechanism, then noisy counts.

    Parameters
    ----------
    epsilon : total budget ε > 0; ``inf`` releases everything exactly.
    domain : public domain. Its order of the categories is the taxonomy: a range of categories is specialised into its
        two halves, down to single ones. Another binary taxonomy is stated by another order.
    n_specialisations : number h ≥ 0.
    utility : ``"info_gain"`` in bits, Δ = log₂ |C|, or ``"max"``, the sum of the largest class counts, Δ = 1.
    random_state : seed, Generator or None; keep it secret.

    Attributes
    ----------
    trees_ : list of one :class:`~dpnb.trees.Tree`: the generalised table as a binary tree.
    ledger_ : :class:`~dpnb.ledger.Ledger` with the claimed and the true ε.

    Notes
    -----
    A value v stands for the records D_v in its range, in all groups of the table; specialising it splits each of these
    groups. A mechanism over intervals gives each range of a continuous attribute its threshold, once. Every step
    chooses one of the values by the score of its two parts of D_v. These rules are Table 1's in brief; [INF]: half of ε
    for the counts of group and class, e = ε / (2 (n + 2h)) for each choice with n continuous attributes, as code that
    cites the paper has it, the scores from memory, and the taxonomy, as none is given.

    **Privacy**: ε-DP for add/remove: n thresholds, then h choices and at most h pairs of thresholds on disjoint
    records at e each (the last pair is never used), then counts with Δ = 1 at ε / 2. Less is spent where categories
    are specialised; the ledger books the rest as kept back.

    References
    ----------
    Mohammed, Chen, Fung, Yu (2011), Differentially private data release for data mining; Mu, Ding, Song, Lu (2016),
    Table 1 and section 2.3.
    """

    scores: ClassVar[dict[str, Score]] = {"info_gain": INFO_GAIN, "max": MAX_CLASS_SUM}
    discrete_only = False

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        domain: Domain | None = None,
        n_specialisations: int = 10,
        utility: str = "info_gain",
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.domain = domain
        self.n_specialisations = n_specialisations
        self.utility = utility
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_count("n_specialisations", self.n_specialisations, low=0)
        check_choice("utility", self.utility, tuple(self.scores))

    def _share(self, budget: float) -> float:
        """ε of one choice."""
        choices = int(self.domain_.continuous.sum()) + 2 * self.n_specialisations
        return budget / (2 * max(choices, 1))

    def _trees(self, records: Records, curator: Curator) -> list[Tree]:
        budget = self._budget
        sensitivity = math.log2(self.domain_.n_classes) if self.utility == "info_gain" else 1.0
        run = _Run(
            curator,
            records.cohort(),
            self.domain_,
            size=0.0,
            choice=self._share(budget),
            leaf=budget / 2,
            path=budget / 2,
            sensitivity=sensitivity,
        )
        with curator.ledger.sequential("specialisations") as scope:
            cuts = self._specialise(run)
            if math.isfinite(budget) and self.domain_.continuous.any():
                _reserve(curator.ledger, budget / 2 - scope.cost.epsilon)
        with curator.ledger.tree("generalised table") as scope:
            return [_grow(run, scope, leaves=partial(_final, cuts), choose=partial(_next, cuts))[0]]

    def _specialise(self, run: _Run) -> list[_Cut]:
        """The h specialisations, in order."""
        view, done = _on_a_line(run.domain), []
        marginals = run.cohort.value_counts(np.arange(view.n_attributes)[None])
        ranges = zip(range(view.n_attributes), view.lows.tolist(), view.highs.tolist(), strict=True)
        values = [
            value
            for a, low, high in ranges
            for value in self._fresh(run, marginals, [_Cut(a, low, high, np.nan)])
        ]
        for _ in range(self.n_specialisations):
            if not values:
                break
            position, at = self._choose(run, self._candidates(run, marginals, values), values)
            old = values.pop(position)._replace(at=at)
            done.append(old)
            halves = [old._replace(high=at, at=np.nan), old._replace(low=at, at=np.nan)]
            with run.curator.ledger.parallel("two halves"):
                values += self._fresh(run, marginals, halves)
        return done

    def _fresh(self, run: _Run, marginals: ValueCounts, values: list[_Cut]) -> list[_Cut]:
        """New values that can be specialised, with the place where they would be."""
        found = []
        for value in values:
            if run.domain.continuous[value.attribute]:
                found.append(value._replace(at=self._threshold(run, marginals, value)))
            elif value.high - value.low > 1:
                found.append(value._replace(at=value.low + math.ceil((value.high - value.low) / 2)))
        return found

    def _threshold(self, run: _Run, marginals: ValueCounts, value: _Cut) -> float:
        candidates = self._candidates(run, marginals, [value])
        scores = candidates.scores(self.scores[self.utility])
        return float(_thresholds(run, candidates, scores, np.array([0]), parts=None)[0])

    def _candidates(self, run: _Run, marginals: ValueCounts, values: list[_Cut]) -> Candidates:
        """Thresholds in the range of each value, from the records in that range."""
        view = _on_a_line(run.domain)
        cells = []
        for attribute, low, high, _ in values:
            above = (marginals.value > low) | (low == view.lows[attribute])
            cells.append(
                np.flatnonzero((marginals.question == attribute) & above & (marginals.value <= high))
            )
        cell, question = np.concatenate(cells), np.repeat(np.arange(len(values)), [len(c) for c in cells])
        attributes = np.array([v.attribute for v in values])
        counts = ValueCounts(question, marginals.value[cell], marginals.counts[cell])
        totals = np.zeros((len(values), run.domain.n_classes))
        np.add.at(totals, question, counts.counts)
        found = binary_candidates(
            counts, attributes=attributes, totals=totals, lows=view.lows, highs=view.highs, domain=view
        )
        return _within(found, np.array([v.low for v in values]), np.array([v.high for v in values]))

    def _choose(self, run: _Run, candidates: Candidates, values: list[_Cut]) -> tuple[int, float]:
        """The value to specialise, and where."""
        at = candidates.locate(np.arange(len(values)), np.array([v.at for v in values]))
        chosen = run.curator.exponential(
            candidates.scores(self.scores[self.utility])[at],
            starts=np.array([0]),
            epsilon=run.choice,
            sensitivity=run.sensitivity,
            monotone=False,
            what="value to specialise",
        )
        return int(chosen[0]), values[int(chosen[0])].at


class DTDiff(DiffGen):
    """DT-Diff: DiffGen with one choice among the categories' specialisations and all weighted thresholds.

    Parameters
    ----------
    epsilon, domain, n_specialisations, utility, random_state : as for :class:`DiffGen`.

    Attributes
    ----------
    trees_, ledger_ : as for :class:`DiffGen`.

    Notes
    -----
    Each step runs one exponential mechanism over the specialisations of the ranges of categories, with weight 1, and
    the intervals of thresholds of all ranges of continuous attributes, each weighted with its share of that range. One
    call of weighted candidates is what Table 1 and section 2.3 say; the weight and the rest of :class:`DiffGen` are
    [INF], with e = ε / (2h).

    **Privacy**: ε-DP for add/remove: h choices at e, then counts with Δ = 1 at ε / 2.

    References
    ----------
    Zhu, Xiong, Xiang, Zhou (2013), An effective deferentially private data releasing algorithm for decision tree; Mu,
    Ding, Song, Lu (2016), Table 1 and section 2.3.
    """

    def _share(self, budget: float) -> float:
        return budget / (2 * max(self.n_specialisations, 1))

    def _threshold(self, run: _Run, marginals: ValueCounts, value: _Cut) -> float:
        return math.nan  # chosen together with the value

    def _choose(self, run: _Run, candidates: Candidates, values: list[_Cut]) -> tuple[int, float]:
        at = np.array([v.at for v in values])[candidates.question]
        offered = np.isnan(at)
        nominal = np.flatnonzero([not math.isnan(v.at) for v in values])
        offered[candidates.locate(nominal, np.array([values[i].at for i in nominal]))] = True
        point = run.curator.exponential_intervals(
            candidates.scores(self.scores[self.utility])[offered],
            starts=np.array([0]),
            option=candidates.question[offered],
            low=np.where(np.isnan(at), candidates.low, at)[offered],
            high=np.where(np.isnan(at), candidates.high, at)[offered],
            log_measure=np.where(np.isnan(at), candidates.log_measure, 0.0)[offered],
            epsilon=run.choice,
            sensitivity=run.sensitivity,
            monotone=False,
            what="value to specialise, and where",
        )
        return int(point.option[0]), float(point.value[0])


def _open_cuts(cuts: list[_Cut], front: _Front) -> Bools:
    """Whether a node is a group that a specialisation splits, (nodes, cuts)."""
    attribute = np.array([cut.attribute for cut in cuts], np.intp)
    low, high = np.array([cut.low for cut in cuts]), np.array([cut.high for cut in cuts])
    found: Bools = (front.low[:, attribute] == low) & (front.high[:, attribute] == high)
    return found


def _final(cuts: list[_Cut], front: _Front, size: Floats) -> Bools:
    """Groups that no specialisation splits any more."""
    if front.depth == len(cuts):
        return np.ones(len(size), bool)
    split: Bools = np.logical_or.reduce(_open_cuts(cuts, front), axis=1)
    return ~split


def _next(cuts: list[_Cut], front: _Front, totals: Floats) -> Splits:
    """The first specialisation that splits each group."""
    first = _open_cuts(cuts, front).argmax(axis=1)
    attribute, at = np.array([cut.attribute for cut in cuts]), np.array([cut.at for cut in cuts])
    return Splits(np.full(len(first), THRESHOLD), attribute[first], at[first])


# --- Table 1 --------------------------------------------------------------------------------------------------


class Method(NamedTuple):
    """A row of Table 1.

    Parameters
    ----------
    name, year : of the method.
    estimator : its class.
    parameters : what this row sets of it.
    mechanism : what is noised, and how.
    budget : how ε is divided over the tree.
    score : split scores with the Δ used.
    attributes : ``"discrete"`` or ``"discrete, continuous"``.
    composition : how the claimed ε adds up.
    """

    name: str
    year: int
    estimator: type[_Lineage]
    parameters: dict[str, Any]
    mechanism: str
    budget: str
    score: str
    attributes: str
    composition: str

    @property
    def utilities(self) -> tuple[str, ...]:
        """Split scores that it may use; one empty name if it has no choice."""
        if "utility" in self.parameters:
            return (self.parameters["utility"],)
        return tuple(self.estimator.scores) or ("",)

    def data(self, data: Dataset) -> Dataset:
        """The data in the form that the method takes: continuous attributes in public bins if it must be."""
        return data.discretised(BINS) if self.estimator.discrete_only else data


_LEVELS = "e = ε/(2(d+1)): size and choice at each level, class counts at the leaf"
_PATH = "sum along a path, siblings in parallel"
_GAIN = "Σ N_j H(C|j): log₂(N+1) + 1/ln 2; max: 1; Gini: 2"
_BOTH = "Laplace counts, exponential choice of the attribute"
_HALF = "information gain: log₂|C|; max: 1"
_TABLE = "sum over the steps, groups in parallel"
_ANY = "discrete, continuous"

LINEAGE = (
    Method(
        "SuLQ-ID3", 2005, SuLQID3, {}, "Laplace counts", f"{_LEVELS}; a choice divided by its number of counts",
        "gain from noisy counts: 1 a count", "discrete", "sum over all counts of a node",
    ),
    Method(
        "PINQ-ID3", 2010, PINQID3, {}, "Laplace counts of a partition",
        f"{_LEVELS}; a choice divided by 2|attributes|", "gain from noisy counts: 1 a partition", "discrete", _PATH,
    ),
    Method("DiffP-ID3", 2010, DiffPID3, {}, _BOTH, _LEVELS, _GAIN, "discrete", _PATH),
    Method(
        "DiffP-ID3, N from the data", 2010, DiffPID3, {"max_records": None, "utility": "info_gain"}, _BOTH, _LEVELS,
        "Σ N_j H(C|j): log₂(N+1) + 1/ln 2", "discrete", _PATH,
    ),
    Method(
        "DiffP-C4.5", 2010, DiffPC45, {}, f"{_BOTH}, after one for the threshold of each continuous attribute",
        "e = ε/((2+n)d+2): size, n thresholds and choice at each level, class counts at the leaf", _GAIN, _ANY, _PATH,
    ),
    Method(
        "DiffGen", 2011, DiffGen, {}, "exponential choice of thresholds and values, Laplace counts",
        "ε/2 for the counts; e = ε/(2(n+2h)) for n thresholds, h choices, h pairs of thresholds", _HALF, _ANY, _TABLE,
    ),
    Method(
        "DT-Diff", 2013, DTDiff, {}, "one exponential choice of value and threshold, Laplace counts",
        "ε/2 for the counts; e = ε/(2h) for h choices", _HALF, _ANY, _TABLE,
    ),
    Method(
        "DiffPRF", 2014, DiffPRF, {}, _BOTH, "ε/t for each tree, then as DiffP-ID3", _GAIN, "discrete",
        "sum over the trees",
    ),
    Method(
        "DiffPRF, 5 trees", 2014, DiffPRF, {"n_trees": 5}, _BOTH, "ε/t for each tree, then as DiffP-ID3", _GAIN,
        "discrete", "sum over the trees",
    ),
    Method(
        "DiffPRF, bootstrap", 2014, DiffPRF, {"bags": "bootstrap"}, _BOTH, "ε/t for each tree, then as DiffP-ID3",
        _GAIN, "discrete", "sum over the trees, as if each held a record once",
    ),
)  # fmt: skip


def lineage_table(data: Dataset, *, epsilon: float = 1.0, random_state: Any = 0) -> pd.DataFrame:
    """Table 1 of the DiffPRFs paper, with the ε that each method claims and the ε that its ledger finds.

    Parameters
    ----------
    data : data set to fit each method on, with its default parameters.
    epsilon : budget of each fit.
    random_state : seed of each fit.

    Returns
    -------
    DataFrame with one row for each of ``LINEAGE`` and the columns name, year, mechanism, budget, score, attributes,
    composition, claimed, true, relation.

    **Privacy**: each row is a release of its own; the ledgers are those of the rows.
    """
    rows = []
    for method in LINEAGE:
        own = method.data(data)
        model = method.estimator(
            epsilon=epsilon, domain=own.domain, random_state=random_state, **method.parameters
        ).fit(*own.train)
        ledger = model.ledger_
        text = method._asdict()
        del text["estimator"], text["parameters"]
        rows.append(text | {"claimed": ledger.claimed, "true": ledger.epsilon, "relation": ledger.neighbours})
    return pd.DataFrame(rows)
