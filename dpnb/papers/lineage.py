"""The lineage of DiffPRFs: the seven methods of Table 1 in Mu, Ding, Song, Lu (2016), as compact references.

What Table 1 and section 2.3 say of a method is taken as it stands. What they leave open comes from memory of the
original papers, or from code that cites them, and is marked [INF]; of several readings the private one is the default.
ε-DP is meant for add/remove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..arrays import Bools, Floats, Ints
from ..candidates import Candidates, binary_candidates, multiway_scores
from ..counts import CohortDoor, RecordsDoor, ValueCounts
from ..curator import Curator
from ..domain import Continuous, Domain
from ..estimators import PrivateForest, check_choice, check_count
from ..ledger import TreeScope
from ..scores import CONDITIONAL_ENTROPY, GINI, INFO_GAIN, MAX_CLASS_SUM, Score
from ..splits import MULTIWAY, THRESHOLD, Splits
from ..trees import Tree
from .lineage_growth import Front, Run, grow, on_a_line, pruned, reserve, within

BINS = 10  # public bins of equal width for the methods that take discrete attributes only
N_LEAK = "number of records N, read off the data for the Δ of the information gain"


@dataclass(kw_only=True, eq=False, repr=False)
class _Lineage(PrivateForest):
    """Base: opens the doors, grows the trees of ``_trees`` and lets each name the class of largest noisy count."""

    neighbours = "add-remove"
    vote = "majority"
    discrete_only: ClassVar[bool] = True
    scores: ClassVar[dict[str, Score]] = {}

    epsilon: float = 1.0
    domain: Domain | None = None
    random_state: Any = None

    def fit(self, X: pd.DataFrame | ArrayLike, y: ArrayLike | pd.Series[Any]) -> Self:
        """Train the model.

        Parameters
        ----------
        X : DataFrame (n, attributes), whose index labels are the record keys, or array (positions are keys).
        y : (n,) labels in the domain's classes.

        Raises
        ------
        ValueError
            For records outside the domain, continuous attributes where a method takes none, a parameter out of range.

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

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        raise NotImplementedError


# --- The interactive line: ID3 by counts ----------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class PINQID3(_Lineage):
    """PINQ-based ID3: information gain from noisy counts, with the Partition operator.

    Parameters
    ----------
    epsilon : total budget ε > 0; ``inf`` releases everything exactly.
    domain : public domain of discrete attributes.
    max_depth : number d ≥ 0 of splits on the longest path.
    random_state : seed, Generator or None; keep it secret.

    Attributes
    ----------
    trees_ : list of :class:`~dpnb.trees.Tree`.
    ledger_ : :class:`~dpnb.ledger.Ledger` with the claimed and the true ε.

    Notes
    -----
    1. e ← ε / (2(d + 1)); every node releases its size N at e.
    2. A leaf at depth d, without attributes left, or if N / (t |C|) ≤ √2 / e, t the largest number of values left; its
       class counts cost e.
    3. Else release N_j and N_jc of every attribute A left, at e / (2 |attributes|) each, and split by the A of largest
       Σ_j Σ_c N_jc log(N_jc / N_j).

    Stated: a query on disjoint parts costs as much as on one. [INF]: division, stop and score. Table 1 cites Blum et
    al. for it, its text Friedman and Schuster, whose year is given here.

    **Privacy**: ε-DP. The parts of one partition have Δ = 1 together; d + 1 sizes, d choices, one leaf lie on a path.

    **Source**: McSherry (2009); Friedman, Schuster (2010); Mu, Ding, Song, Lu (2016), Table 1, section 2.3.
    """

    max_depth: int = 5

    def _check_parameters(self) -> None:
        check_count("max_depth", self.max_depth, low=0)

    def _share(self, budget: float) -> float:
        """ε of one release: d + 1 sizes, d choices and one leaf lie on a path."""
        return budget / (2 * (self.max_depth + 1))

    def _sensitivity(self, records: RecordsDoor, curator: Curator) -> float:
        return 1.0

    def _run(self, curator: Curator, cohort: CohortDoor, budget: float, sensitivity: float) -> Run:
        share = self._share(budget)
        return Run(curator, cohort, self.domain_, share, share, share, budget, sensitivity)

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        run = self._run(curator, records.cohort(), self._budget, self._sensitivity(records, curator))
        with curator.ledger.tree("tree") as scope:
            return [self._tree(run, scope)]

    def _tree(self, run: Run, scope: TreeScope) -> Tree:
        return grow(run, scope, leaves=self._leaves, choose=self._choose)[0]

    def _leaves(self, run: Run, front: Front, size: Floats) -> Bools:
        branches = np.where(front.unused, np.maximum(run.domain.cardinalities, 2), 0).max(axis=1)
        few = size <= branches * run.domain.n_classes * math.sqrt(2) / run.size
        stop: Bools = few | (branches == 0) | (front.depth == self.max_depth)
        return stop

    def _choose(self, run: Run, front: Front, totals: Floats) -> Splits:
        noisy, listed = self._noisy_tables(run, front)
        size = np.maximum(noisy[..., 0], 0.0)
        part = np.clip(noisy[..., 1:], 0.0, size[..., None])
        ratio = np.where(part > 0, part, 1.0) / np.where(part > 0, size[..., None], 1.0)
        summed = np.where(listed, (part * np.log2(ratio)).sum(axis=-1), 0.0).sum(axis=-1)
        attribute = np.where(front.unused, summed, -np.inf).argmax(axis=1)
        return Splits(np.full(len(attribute), MULTIWAY), attribute, np.full(len(attribute), np.nan))

    def _noisy_tables(self, run: Run, front: Front) -> tuple[Floats, Bools]:
        """Noisy N_j and N_jc, (nodes, attributes, values, 1 + classes), and which of the cells are asked for."""
        n_nodes, n_attributes = front.unused.shape
        counts = run.cohort.value_counts(np.tile(np.arange(n_attributes), (n_nodes, 1)))
        table = np.zeros((n_nodes * n_attributes, int(run.domain.cardinalities.max()), run.domain.n_classes))
        table[counts.question, counts.value.astype(np.intp)] = counts.counts
        table = table.reshape(n_nodes, n_attributes, *table.shape[1:])
        both = np.concatenate([table.sum(axis=-1, keepdims=True), table], axis=-1)
        listed = front.unused[..., None] & (np.arange(table.shape[2]) < run.domain.cardinalities[:, None])
        sensitivity = 2.0 * int(front.unused.sum(axis=1).max())  # one N_j and one N_jc of every attribute
        noisy = run.curator.laplace(
            np.where(listed[..., None], both, 0.0),
            epsilon=self._cost(run, listed, sensitivity),
            sensitivity=sensitivity,
            what="value and class counts of all attributes",
            parts=front.nodes,
        )
        return noisy, listed

    def _cost(self, run: Run, listed: Bools, sensitivity: float) -> Floats:
        """What a node's counts cost a record, (nodes,)."""
        return np.full(len(listed), run.choice)


class SuLQID3(PINQID3):
    """SuLQ-based ID3: as :class:`PINQID3`, but every count is a query of its own.

    Notes
    -----
    A node's share e is divided by the number Σ_A |A| (1 + |C|) of its counts, a leaf's by |C|. Stated: the gain comes
    from noisy counts, the noise is high and uses up the budget. [INF]: Laplace noise (the original adds Gaussian noise
    for a number of queries fixed in advance), and counting the nodes of a level once.

    **Privacy**: ε-DP by adding up queries. The ledger knows that the cells of a table are disjoint and states less;
    the difference is what Partition saves, for the same noise.

    **Source**: Blum, Dwork, McSherry, Nissim (2005); Mu, Ding, Song, Lu (2016), Table 1, section 2.3.
    """

    def _run(self, curator: Curator, cohort: CohortDoor, budget: float, sensitivity: float) -> Run:
        domain, share = self.domain_, self._share(budget)
        left = domain.n_attributes - np.arange(min(self.max_depth, domain.n_attributes))
        values = np.cumsum(np.sort(domain.cardinalities))[left - 1]  # fewest, if those of many are used first
        choices = share * float((2 * left / (values * (1 + domain.n_classes))).sum())
        leaf = share / domain.n_classes
        path = (self.max_depth + 1) * share + choices + leaf
        return replace(super()._run(curator, cohort, budget, sensitivity), leaf=leaf, path=path)

    def _cost(self, run: Run, listed: Bools, sensitivity: float) -> Floats:
        cost: Floats = run.choice / (listed.sum(axis=(1, 2)) * (1 + run.domain.n_classes)) * sensitivity
        return cost


# --- The interactive line: the exponential mechanism ----------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class DiffPID3(PINQID3):
    """DiffP-ID3: as :class:`PINQID3`, but the exponential mechanism chooses the attribute.

    Parameters
    ----------
    utility : ``"info_gain"``, −Σ_j N_j H(C | j) with Δ = log₂(N + 1) + 1 / ln 2; ``"max"``, the sum of the largest
        class counts, Δ = 1; ``"gini"``, −Σ_j N_j Gini(j), Δ = 2.
    max_records : public bound N on the number of records, for that Δ: a promise, as the domain is. None takes the
        number of the training records, as in the original [INF, from memory], and leaks it.

    Notes
    -----
    Step 3 becomes: choose an attribute left with probability ∝ exp(e u / (2Δ)). Stated: one split takes one share.
    [INF]: the three scores with their Δ. The gain leaves out the entropy of the node, which all attributes share, and
    is not divided by its size: with a gain in bits and Δ = 1 the choice would be all but uniform.

    **Privacy**: ε-DP with the shares of :class:`PINQID3`, if there are at most ``max_records`` records. With
    ``max_records=None`` the noise depends on N: ε = ∞ for add/remove.

    **Source**: Friedman, Schuster (2010); Mu, Ding, Song, Lu (2016), Table 1, section 2.3.
    """

    utility: str = "info_gain"
    max_records: int | None = 1_000_000

    scores: ClassVar[dict[str, Score]] = {
        "info_gain": CONDITIONAL_ENTROPY,
        "max": MAX_CLASS_SUM,
        "gini": GINI,
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("utility", self.utility, tuple(self.scores))
        if self.max_records is not None:
            check_count("max_records", self.max_records, low=1)

    def _sensitivity(self, records: RecordsDoor, curator: Curator) -> float:
        score, n = self.scores[self.utility], len(records.keys)
        if score is not CONDITIONAL_ENTROPY:
            return score.sensitivity
        if self.max_records is None:
            return _gain_sensitivity(curator.exact(n, why=N_LEAK))
        if n > self.max_records:
            why = f"there are {n} records; state a larger public bound, for a larger Δ"
            raise ValueError(f"max_records={self.max_records}: {why}")
        return _gain_sensitivity(self.max_records)

    def _choose(self, run: Run, front: Front, totals: Floats) -> Splits:
        n_nodes, n_attributes = front.unused.shape
        counts = run.cohort.value_counts(np.tile(np.arange(n_attributes), (n_nodes, 1)))
        scores, cuts = self._scored(run, front, counts, np.repeat(totals, n_attributes, axis=0))
        with np.errstate(divide="ignore"):
            offered = np.log(self._offered(run, front).astype(float))
        starts = np.arange(0, len(scores), n_attributes)
        what, offered = "attribute of a node", offered.reshape(-1)
        attribute = run.select(scores, starts=starts, what=what, parts=front.nodes, log_measure=offered)
        kind = np.where(run.domain.continuous[attribute], THRESHOLD, MULTIWAY)
        return Splits(kind, attribute, cuts[starts + attribute])

    def _scored(self, run: Run, front: Front, counts: ValueCounts, totals: Floats) -> tuple[Floats, Floats]:
        """Score of every attribute at every node, and its threshold if it has one, (nodes · attributes,)."""
        scores = multiway_scores(counts, totals=totals, score=self.scores[self.utility])
        return scores, np.full(len(scores), np.nan)

    def _offered(self, run: Run, front: Front) -> Bools:
        """Attributes among which a node may choose, (nodes, attributes)."""
        return front.unused


def _gain_sensitivity(n: int) -> float:
    """Δ of Σ N_j H(C | j) in bits for up to n records: the largest x log₂ x − (x−1) log₂(x−1), rounded up."""
    return math.log2(n + 1) + 1 / math.log(2)


class DiffPC45(DiffPID3):
    """DiffP-C4.5: as :class:`DiffPID3`, but an exponential mechanism first chooses thresholds.

    Notes
    -----
    At each node a mechanism over intervals chooses a threshold for each of the n continuous attributes, then another
    one chooses among all attributes. Stated: just that, and blame for the use of budget. [INF]: equal shares
    e = ε / ((2 + n) d + 2); thresholds within the range that the path leaves; C4.5's pruning by a bound on the errors
    at confidence 0.25, from the released numbers alone, sizes fitted from the root down, class counts from the leaves
    up, as in the authors' code.

    **Privacy**: ε-DP under the condition of :class:`DiffPID3`: d + 1 sizes, d (n + 1) choices and one leaf lie on a
    path; pruning is free.

    **Source**: Friedman, Schuster (2010); Mu, Ding, Song, Lu (2016), Table 1, section 2.3.
    """

    discrete_only = False

    def _share(self, budget: float) -> float:
        return budget / ((2 + int(self.domain_.continuous.sum())) * self.max_depth + 2)

    def _scored(self, run: Run, front: Front, counts: ValueCounts, totals: Floats) -> tuple[Floats, Floats]:
        scores, cuts = super()._scored(run, front, counts, totals)
        domain, (n_nodes, n_attributes) = run.domain, front.unused.shape
        numeric = np.flatnonzero(np.tile(domain.continuous, n_nodes))
        if not len(numeric):
            return scores, cuts
        attributes = np.tile(np.arange(n_attributes), n_nodes)
        candidates = binary_candidates(
            counts, attributes=attributes, totals=totals, lows=domain.lows, highs=domain.highs, domain=domain
        )
        candidates = within(candidates, front.low.reshape(-1), front.high.reshape(-1))
        score, parts = self.scores[self.utility], np.repeat(front.nodes, int(domain.continuous.sum()))
        cuts[numeric] = _thresholds(run, candidates, score, numeric, parts=parts)
        scores[numeric] = candidates.scores(score)[candidates.locate(numeric, cuts[numeric])]
        return scores, cuts

    def _tree(self, run: Run, scope: TreeScope) -> Tree:
        return pruned(*grow(run, scope, leaves=self._leaves, choose=self._choose), run.domain)


def _thresholds(
    run: Run, candidates: Candidates, score: Score, questions: Ints, *, parts: Ints | None = None
) -> Floats:
    """Exponential mechanism over the intervals of each of ``questions``, (questions,) thresholds."""
    mine, what = np.isin(candidates.question, questions), "threshold of an attribute"
    return run.select_point(candidates, score, offered=mine, groups=questions, what=what, parts=parts).value


@dataclass(kw_only=True, eq=False, repr=False)
class DiffPRF(DiffPID3):
    """DiffPRF: a random forest of :class:`DiffPID3` trees.

    Parameters
    ----------
    n_trees : number t ≥ 1 of trees.
    bags : ``"full"``, every tree sees all records; ``"bootstrap"``, n draws with replacement, as section 2.2.1 of
        the DiffPRFs paper describes forests.

    Notes
    -----
    Each tree gets ε / t and chooses among √(number of attributes) attributes left, drawn for each node. Stated: a
    forest of ID3 trees on discrete attributes. [INF]: the equal division, the attributes drawn, ``bags="full"``.

    **Privacy**: with ``"full"`` ε-DP under the condition of :class:`DiffPID3`: the trees add up. A bootstrap holds
    some records several times, which pay as often: the ledger then exceeds the claim.

    **Source**: Patil, Singh (2014); Mu, Ding, Song, Lu (2016), Table 1, section 2.2.1.
    """

    n_trees: int = 25
    bags: str = "full"
    bag_rate = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_trees", self.n_trees, low=1)
        check_choice("bags", self.bags, ("full", "bootstrap"))

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        sensitivity = self._sensitivity(records, curator)

        def grow(cohort: CohortDoor, scope: TreeScope, per_copy: float) -> Tree:
            return self._tree(self._run(curator, cohort, per_copy, sensitivity), scope)

        return self._plant(records, curator, grow, n_trees=self.n_trees)

    def _offered(self, run: Run, front: Front) -> Bools:
        drawn = run.curator.public(lambda rng: rng.random(front.unused.shape), what="attributes of a node")
        rank = np.where(front.unused, drawn, 2.0).argsort(axis=1).argsort(axis=1)
        return front.unused & (rank < max(round(math.sqrt(run.domain.n_attributes)), 1))


# --- The non-interactive line: generalise, then specialise ----------------------------------------------------


class _Cut(NamedTuple):
    """A value of the generalised table: a range of an attribute, and where it would be specialised."""

    attribute: int
    low: float
    high: float
    at: float


@dataclass(kw_only=True, eq=False, repr=False)
class DiffGen(_Lineage):
    """DiffGen: everything generalised, then h values specialised by the exponential mechanism, then noisy counts.

    Parameters
    ----------
    epsilon, random_state : as for :class:`PINQID3`.
    domain : public domain. Its order of the categories is the taxonomy: a range of categories is specialised into its
        two halves, down to single ones.
    n_specialisations : number h ≥ 0.
    utility : ``"info_gain"`` in bits, Δ = log₂ |C|, or ``"max"``, the sum of the largest class counts, Δ = 1.

    Attributes
    ----------
    trees_ : list of one :class:`~dpnb.trees.Tree`: the generalised table as a binary tree.
    ledger_ : as for :class:`PINQID3`.

    Notes
    -----
    1. A value v stands for the records D_v in its range. A mechanism over intervals gives each range of a continuous
       attribute its threshold, once.
    2. h times: choose a value by the score of its two parts of D_v, and split all groups of the table that have it.
    3. Release the counts of group and class.

    Stated: these rules, in brief. [INF]: ε / 2 for the counts, e = ε / (2 (n + 2h)) for each choice with n continuous
    attributes, as code that cites the paper has it; the scores; the taxonomy, as none is given.

    **Privacy**: ε-DP: n thresholds, then h choices and at most h pairs of thresholds on disjoint records at e each
    (the last pair is never used), then counts with Δ = 1 at ε / 2. Categories have no thresholds to pay for.

    **Source**: Mohammed, Chen, Fung, Yu (2011); Mu, Ding, Song, Lu (2016), Table 1, section 2.3.
    """

    n_specialisations: int = 10
    utility: str = "info_gain"

    scores: ClassVar[dict[str, Score]] = {"info_gain": INFO_GAIN, "max": MAX_CLASS_SUM}
    discrete_only = False

    def _check_parameters(self) -> None:
        check_count("n_specialisations", self.n_specialisations, low=0)
        check_choice("utility", self.utility, tuple(self.scores))

    def _share(self, budget: float) -> float:
        """ε of one choice."""
        choices = int(self.domain_.continuous.sum()) + 2 * self.n_specialisations
        return budget / (2 * max(choices, 1))

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        half, share, domain = self._budget / 2, self._share(self._budget), self.domain_
        sensitivity = math.log2(domain.n_classes) if self.utility == "info_gain" else 1.0
        run = Run(curator, records.cohort(), domain, 0.0, share, half, half, sensitivity)
        with curator.ledger.sequential("specialisations") as scope:
            cuts = self._specialise(run)
            if math.isfinite(half) and domain.continuous.any():
                reserve(curator.ledger, half - scope.cost.epsilon)
        with curator.ledger.tree("generalised table") as table:
            return [grow(run, table, leaves=partial(_final, cuts), choose=partial(_next, cuts))[0]]

    def _specialise(self, run: Run) -> list[_Cut]:
        """The h specialisations, in order."""
        view, done = on_a_line(run.domain), list[_Cut]()
        marginals = run.cohort.value_counts(np.arange(view.n_attributes)[None])
        whole = zip(range(view.n_attributes), view.lows.tolist(), view.highs.tolist(), strict=True)
        values = self._fresh(run, marginals, [_Cut(*value, np.nan) for value in whole])
        while values and len(done) < self.n_specialisations:
            position, at = self._choose(run, self._candidates(run, marginals, values), values)
            old = values.pop(position)._replace(at=at)
            done.append(old)
            halves = [old._replace(high=at, at=np.nan), old._replace(low=at, at=np.nan)]
            with run.curator.ledger.parallel("two halves"):
                values += self._fresh(run, marginals, halves)
        return done

    def _fresh(self, run: Run, marginals: ValueCounts, values: list[_Cut]) -> list[_Cut]:
        """New values that can be specialised, with the place where they would be."""
        found = []
        for value in values:
            if run.domain.continuous[value.attribute]:
                found.append(value._replace(at=self._threshold(run, marginals, value)))
            elif value.high - value.low > 1:
                found.append(value._replace(at=value.low + math.ceil((value.high - value.low) / 2)))
        return found

    def _threshold(self, run: Run, marginals: ValueCounts, value: _Cut) -> float:
        candidates = self._candidates(run, marginals, [value])
        return float(_thresholds(run, candidates, self.scores[self.utility], np.array([0]))[0])

    def _candidates(self, run: Run, marginals: ValueCounts, values: list[_Cut]) -> Candidates:
        """Thresholds in the range of each value, from the records in that range."""
        view, cells = on_a_line(run.domain), []
        for attribute, low, high, _ in values:
            above = (marginals.value > low) | (low == view.lows[attribute])
            inside = above & (marginals.value <= high) & (marginals.question == attribute)
            cells.append(np.flatnonzero(inside))
        cell, question = np.concatenate(cells), np.repeat(np.arange(len(values)), [len(c) for c in cells])
        counts = ValueCounts(question, marginals.value[cell], marginals.counts[cell])
        totals = np.zeros((len(values), run.domain.n_classes))
        np.add.at(totals, question, counts.counts)
        attributes, lows, highs, _ = (np.array(column) for column in zip(*values, strict=True))
        found = binary_candidates(
            counts, attributes=attributes, totals=totals, lows=view.lows, highs=view.highs, domain=view
        )
        return within(found, lows, highs)

    def _choose(self, run: Run, candidates: Candidates, values: list[_Cut]) -> tuple[int, float]:
        """The value to specialise, and where."""
        at = candidates.locate(np.arange(len(values)), np.array([v.at for v in values]))
        scores = candidates.scores(self.scores[self.utility])[at]
        (chosen,) = run.select(scores, starts=np.array([0]), what="value to specialise").tolist()
        return chosen, values[chosen].at


class DTDiff(DiffGen):
    """DT-Diff: as :class:`DiffGen`, but one choice among the categories' specialisations and all weighted thresholds.

    Notes
    -----
    Each step runs one exponential mechanism over the specialisations of the ranges of categories, with weight 1, and
    the intervals of thresholds of all ranges of continuous attributes, each weighted with its share of that range.
    Stated: one call on weighted candidates. [INF]: the weight, e = ε / (2h), and the rest of :class:`DiffGen`.

    **Privacy**: ε-DP: h choices at e, then counts with Δ = 1 at ε / 2.

    **Source**: Zhu, Xiong, Xiang, Zhou (2013); Mu, Ding, Song, Lu (2016), Table 1, section 2.3.
    """

    def _share(self, budget: float) -> float:
        return budget / (2 * max(self.n_specialisations, 1))

    def _threshold(self, run: Run, marginals: ValueCounts, value: _Cut) -> float:
        return math.nan  # chosen together with the value

    def _choose(self, run: Run, candidates: Candidates, values: list[_Cut]) -> tuple[int, float]:
        middle = np.array([v.at for v in values])
        nominal = np.flatnonzero(~np.isnan(middle))
        at = middle[candidates.question]
        free = np.isnan(at)
        low, high = np.where(free, candidates.low, at), np.where(free, candidates.high, at)
        weighted = np.where(free, candidates.log_measure, 0.0)
        offered = free.copy()
        offered[candidates.locate(nominal, middle[nominal])] = True
        point = run.select_point(
            replace(candidates, low=low, high=high, log_measure=weighted),
            self.scores[self.utility],
            offered=offered,
            groups=np.array([0]),
            what="value to specialise, and where",
        )
        return int(point.option[0]), float(point.value[0])


def _open_cuts(cuts: list[_Cut], front: Front) -> Bools:
    """Whether a node is a group that a specialisation splits, (nodes, cuts)."""
    attribute, low, high, _ = np.array(cuts).reshape(-1, 4).T
    at = attribute.astype(np.intp)
    found: Bools = (front.low[:, at] == low) & (front.high[:, at] == high)
    return found


def _final(cuts: list[_Cut], run: Run, front: Front, size: Floats) -> Bools:
    """Groups that no specialisation splits any more."""
    final: Bools = np.logical_not(_open_cuts(cuts, front).sum(axis=1))
    return final


def _next(cuts: list[_Cut], run: Run, front: Front, totals: Floats) -> Splits:
    """The first specialisation that splits each group."""
    attribute, _, _, at = np.array(cuts)[_open_cuts(cuts, front).argmax(axis=1)].T
    return Splits(np.full(len(at), THRESHOLD), attribute.astype(np.intp), at)
