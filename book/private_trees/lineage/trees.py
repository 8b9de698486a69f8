"""The lineage of DiffPRFs: the seven methods of Table 1 in Mu, Ding, Song, Lu (2016), as compact references.

What Table 1 and section 2.3 say of a method is taken as it stands. What they leave open comes from memory of the
original papers, or from code that cites them, and is marked [INF]; of several readings the private one is the default.
ε-DP is meant for add/remove. Counts have geometric noise where the papers have Laplace noise. The appendix to chapter 4
compares the methods in "The lineage, measured". The steps come first; an estimator names those that it is made of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dpnb.arrays import Bools, Floats, Ints, check_cells
from dpnb.checks import check_count
from dpnb.domain import Domain
from dpnb.estimators.base import PrivateForest, register
from dpnb.privacy.curator import Curator
from dpnb.privacy.lattice import Lattice
from dpnb.privacy.ledger import Cost
from dpnb.records.doors import RecordsDoor, ValueCounts
from dpnb.records.splits import MULTIWAY, THRESHOLD, Splits
from dpnb.trees.candidates import Candidates, binary_candidates, multiway_scores
from dpnb.trees.growth import TreeBuilder, noisy_counts
from dpnb.trees.scores import CONDITIONAL_ENTROPY, GINI, INFO_GAIN, MAX_CLASS_SUM, Score
from dpnb.trees.tree import Tree

from .growth import Choose, Front, Run, grow, on_a_line, pruned, within

BINS = 10  # public bins of equal width for the methods that take discrete attributes only
N_LEAK = "number of records N, read off the data for the Δ of the information gain"
ID3_SCORES = {"info_gain": CONDITIONAL_ENTROPY, "max": MAX_CLASS_SUM, "gini": GINI}
TABLE_SCORES = {"info_gain": INFO_GAIN, "max": MAX_CLASS_SUM}


# --- The interactive line: ID3 by counts ----------------------------------------------------------------------


def equal_shares(
    curator: Curator, domain: Domain, budget: float, *, max_depth: int, delta: float = 1.0, more: int = 0
) -> Run:
    """Step 1 of ID3: d + 1 sizes, d choices (each after ``more`` others) and one leaf lie on a path."""
    share = budget / (2 * (max_depth + 1) + more * max_depth)
    return Run(curator, domain, size=share, choice=share, leaf=share, path=budget, sensitivity=delta)


def id3(run: Run, records: RecordsDoor, choose: Choose, *, max_depth: int) -> tuple[Tree, Floats]:
    """A tree on all records, and the noisy sizes of its nodes."""
    with run.curator.ledger.tree("tree", most=Cost.pure(run.path)) as scope:
        leaves = partial(few_records, max_depth=max_depth)
        return grow(run, TreeBuilder(run.domain, scope, records.cohort()), leaves, choose)


def few_records(run: Run, front: Front, size: Floats, *, max_depth: int) -> Bools:
    """Step 2 of ID3: leaves at full depth, without attributes left, or too small for their noise."""
    branches = np.where(front.unused, np.maximum(run.domain.cardinalities, 2), 0).max(axis=1)
    few = size <= branches * run.domain.n_classes * math.sqrt(2) / run.size
    stop: Bools = few | (branches == 0) | (front.depth == max_depth)
    return stop


def by_noisy_counts(run: Run, front: Front, totals: Floats, *, partition: bool) -> Splits:
    """Step 3 of ID3: the attribute of largest gain by noisy counts."""
    noisy, listed = _noisy_tables(run, front, partition=partition)
    size = np.maximum(noisy[..., 0], 0.0)
    part = np.clip(noisy[..., 1:], 0.0, size[..., None])
    ratio = np.where(part > 0, part, 1.0) / np.where(part > 0, size[..., None], 1.0)
    summed = np.where(listed, (part * np.log2(ratio)).sum(axis=-1), 0.0).sum(axis=-1)
    attribute = np.where(front.unused, summed, -np.inf).argmax(axis=1)
    return Splits(np.full(len(attribute), MULTIWAY), attribute, np.full(len(attribute), np.nan))


def _noisy_tables(run: Run, front: Front, *, partition: bool) -> tuple[Floats, Bools]:
    """Noisy N_j and N_jc, (nodes, attributes, values, 1 + classes), and which of the cells are asked for.

    With ``partition`` the disjoint parts of an attribute cost a record one share; without, every count is a query of
    its own, and the share is divided by their number.
    """
    n_nodes, n_attributes = front.unused.shape
    counts = value_counts(front)
    shape = (n_nodes * n_attributes, int(run.domain.cardinalities.max()), run.domain.n_classes)
    check_cells(math.prod(shape), what=f"the counts of all values at {n_nodes} nodes")
    table = np.zeros(shape)
    table[counts.question, counts.value.astype(np.intp)] = counts.counts
    table = table.reshape(n_nodes, n_attributes, *table.shape[1:])
    both = np.concatenate([table.sum(axis=-1, keepdims=True), table], axis=-1)
    listed = front.unused[..., None] & (np.arange(table.shape[2]) < run.domain.cardinalities[:, None])
    sensitivity = 2.0 * int(front.unused.sum(axis=1).max())  # one N_j and one N_jc of every attribute
    price = np.full(n_nodes, run.choice)
    if not partition:
        price = price / (listed.sum(axis=(1, 2)) * (1 + run.domain.n_classes)) * sensitivity
    noisy = noisy_counts(
        run.curator,
        np.where(listed[..., None], both, 0.0),
        nodes=front.builder.nodes,
        epsilon=price,
        sensitivity=sensitivity,
        what="value and class counts of all attributes",
    )
    return noisy, listed


def value_counts(front: Front) -> ValueCounts:
    """Counts of all attributes at every node; question = node · attributes + attribute."""
    n_nodes, n_attributes = front.unused.shape
    return front.builder.cohort.value_counts(np.tile(np.arange(n_attributes), (n_nodes, 1)))


# --- The interactive line: the exponential mechanism ----------------------------------------------------------


def by_mechanism(run: Run, front: Front, totals: Floats, *, score: Score, drawn: bool = False) -> Splits:
    """Step 3 of DiffP-ID3: an attribute by the exponential mechanism, for a forest among those ``drawn``."""
    n_attributes = front.unused.shape[1]
    counts, totals = value_counts(front), np.repeat(totals, n_attributes, axis=0)
    scores, cuts = multiway_scores(counts, totals=totals, score=score), np.full(len(totals), np.nan)
    if run.domain.continuous.any():
        choose_thresholds(run, front, counts, totals, score, scores, cuts)
    offered = root_of_attributes(run, front) if drawn else front.unused
    measure = offered.astype(float).reshape(-1)
    starts, what = np.arange(0, len(scores), n_attributes), "attribute of a node"
    parts, choose = front.builder.nodes, run.curator.exponential
    attribute = choose(scores, starts=starts, what=what, parts=parts, measure=measure, **run.law)
    kind = np.where(run.domain.continuous[attribute], THRESHOLD, MULTIWAY)
    return Splits(kind, attribute, cuts[starts + attribute])


def choose_thresholds(
    run: Run, front: Front, counts: ValueCounts, totals: Floats, score: Score, scores: Floats, cuts: Floats
) -> None:
    """DiffP-C4.5: a mechanism first chooses a threshold for each continuous attribute; sets its score and cut."""
    domain, (n_nodes, n_attributes) = run.domain, front.unused.shape
    numeric = np.flatnonzero(np.tile(domain.continuous, n_nodes))
    attributes = np.tile(np.arange(n_attributes), n_nodes)
    candidates = binary_candidates(
        counts,
        attributes=attributes,
        totals=totals,
        lattice=Lattice.of(domain.lows, domain.highs),
        domain=domain,
    )
    candidates = within(candidates, front.low.reshape(-1), front.high.reshape(-1))
    parts = np.repeat(front.builder.nodes, int(domain.continuous.sum()))
    cuts[numeric] = interval_choice(run, candidates, score, numeric, parts=parts)
    scores[numeric] = candidates.scores(score)[candidates.locate(numeric, cuts[numeric])]


def interval_choice(
    run: Run, candidates: Candidates, score: Score, questions: Ints, *, parts: Ints | None = None
) -> Floats:
    """Exponential mechanism over the intervals of each of ``questions``, (questions,) thresholds."""
    mine, what = np.isin(candidates.question, questions), "threshold of an attribute"
    scores, intervals = candidates.scores(score)[mine], candidates.intervals(mine, groups=questions)
    return run.curator.exponential_intervals(scores, **intervals, what=what, parts=parts, **run.law).value


def root_of_attributes(run: Run, front: Front) -> Bools:
    """DiffPRF: √(number of attributes) of the attributes left, drawn for each node, (nodes, attributes)."""
    drawn = run.curator.public(lambda rng: rng.random(front.unused.shape), what="attributes of a node")
    rank = np.where(front.unused, drawn, 2.0).argsort(axis=1).argsort(axis=1)
    return front.unused & (rank < max(round(math.sqrt(run.domain.n_attributes)), 1))


def gain_sensitivity(n: int) -> float:
    """Δ of Σ N_j H(C | j) in bits for up to n records: the largest x log₂ x − (x−1) log₂(x−1), rounded up."""
    return math.log2(n + 1) + 1 / math.log(2)


def score_sensitivity(
    score: Score, records: RecordsDoor, curator: Curator, *, max_records: int | None
) -> float:
    """Δ of a score of the exponential mechanism, for at most ``max_records`` records."""
    if max_records is not None:
        check_count("max_records", max_records, low=1)
    n = len(records.keys)
    if score is not CONDITIONAL_ENTROPY:
        return score.sensitivity
    if max_records is None:
        return gain_sensitivity(curator.exact(n, why=N_LEAK))
    if n > max_records:
        raise ValueError(
            f"max_records={max_records}: there are more; state a larger public bound, for a larger Δ"
        )
    return gain_sensitivity(max_records)


# --- The non-interactive line: generalise, then specialise ----------------------------------------------------


class Cut(NamedTuple):
    """A value of the generalised table: a range of an attribute, and where it would be specialised."""

    attribute: int
    low: float
    high: float
    at: float


@dataclass(frozen=True)
class Table:
    """The generalised table: what its values are scored with.

    Parameters
    ----------
    run : doors and shares.
    score : of a specialisation.
    view : domain with every category as a number.
    marginals : counts of all values of all attributes.
    """

    run: Run
    score: Score
    view: Domain
    marginals: ValueCounts

    def candidates(self, values: list[Cut]) -> Candidates:
        """Thresholds in the range of each value, from the records in that range."""
        marginals, view, cells = self.marginals, self.view, []
        for attribute, low, high, _ in values:
            above = (marginals.value > low) | (low == view.lows[attribute])
            inside = above & (marginals.value <= high) & (marginals.question == attribute)
            cells.append(np.flatnonzero(inside))
        cell, question = np.concatenate(cells), np.repeat(np.arange(len(values)), [len(c) for c in cells])
        counts = ValueCounts(question, marginals.value[cell], marginals.counts[cell])
        totals = np.zeros((len(values), self.run.domain.n_classes))
        np.add.at(totals, question, counts.counts)
        attributes, lows, highs, _ = (np.array(column) for column in zip(*values, strict=True))
        found = binary_candidates(
            counts,
            attributes=attributes,
            totals=totals,
            lattice=Lattice.of(view.lows, view.highs),
            domain=view,
        )
        return within(found, lows, highs)


def generalised_table(
    records: RecordsDoor, curator: Curator, *, budget: float, score: Score, h: int, ahead: bool
) -> Tree:
    """Steps 1 to 3 of DiffGen; DT-Diff chooses no threshold ``ahead``. The counts of the groups get half the budget."""
    half, domain, cohort = budget / 2, records.domain, records.cohort()
    choices = int(domain.continuous.sum()) + 2 * h if ahead else h
    share, view = budget / (2 * max(choices, 1)), on_a_line(domain)
    sensitivity = math.log2(domain.n_classes) if score is INFO_GAIN else score.sensitivity
    run = Run(curator, domain, size=0.0, choice=share, leaf=half, path=half, sensitivity=sensitivity)
    # Without continuous attributes the number of choices is public; else it hangs on ranges that cannot be cut.
    most = Cost.pure(half) if domain.continuous.any() else None
    with curator.ledger.adaptive("specialisations", most=most):
        table = Table(run, score, view, cohort.value_counts(np.arange(view.n_attributes)[None]))
        cuts = specialise(table, h, ahead=ahead)
    with curator.ledger.tree("generalised table") as tree:
        final, following = partial(_final, cuts=cuts), partial(_next, cuts=cuts)
        return grow(run, TreeBuilder(domain, tree, cohort), final, following)[0]


def specialise(table: Table, h: int, *, ahead: bool) -> list[Cut]:
    """Steps 1 and 2 of DiffGen: the h specialisations, in order.

    In a range of a few floating-point numbers a threshold may fall on an end: that choice is paid for, in vain.
    """
    view, done = table.view, list[Cut]()
    whole = zip(range(view.n_attributes), view.lows.tolist(), view.highs.tolist(), strict=True)
    values = fresh(table, [Cut(*value, np.nan) for value in whole], ahead=ahead)
    for _ in range(h):
        if not values:
            break
        position, at = choose_value(table, values) if ahead else choose_weighted(table, values)
        old = values.pop(position)._replace(at=at)
        if old.low < at < old.high:
            done.append(old)
        halves = [old._replace(high=at, at=np.nan), old._replace(low=at, at=np.nan)]
        with table.run.curator.ledger.parallel("two halves"):
            values += fresh(table, [half for half in halves if half.low < half.high], ahead=ahead)
    return done


def fresh(table: Table, values: list[Cut], *, ahead: bool) -> list[Cut]:
    """Step 1 of DiffGen: new values that can be specialised, with the place where they would be if that is known."""
    found = []
    for value in values:
        if not table.run.domain.continuous[value.attribute]:
            if value.high - value.low > 1:
                found.append(value._replace(at=value.low + math.ceil((value.high - value.low) / 2)))
        elif ahead:
            at = interval_choice(table.run, table.candidates([value]), table.score, np.array([0]))
            found.append(value._replace(at=float(at[0])))
        else:
            found.append(value)
    return found


def choose_value(table: Table, values: list[Cut]) -> tuple[int, float]:
    """Step 2 of DiffGen: one choice among the values, each with its place."""
    candidates = table.candidates(values)
    at = candidates.locate(np.arange(len(values)), np.array([v.at for v in values]))
    scores, what, run = candidates.scores(table.score)[at], "value to specialise", table.run
    (chosen,) = run.curator.exponential(scores, starts=np.array([0]), what=what, **run.law).tolist()
    return chosen, values[chosen].at


def choose_weighted(table: Table, values: list[Cut]) -> tuple[int, float]:
    """DT-Diff: one choice among the categories' specialisations and all thresholds, weighted by their length."""
    candidates, middle = table.candidates(values), np.array([v.at for v in values])
    nominal = np.flatnonzero(~np.isnan(middle))
    at = middle[candidates.question]
    free = np.isnan(at)
    low, high = np.where(free, candidates.low, at), np.where(free, candidates.high, at)
    weighted = np.where(free, candidates.measure, 1.0)
    offered = free.copy()
    offered[candidates.locate(nominal, middle[nominal])] = True
    candidates = replace(candidates, low=low, high=high, measure=weighted)
    point = table.run.curator.exponential_intervals(
        candidates.scores(table.score)[offered],
        **candidates.intervals(offered, groups=np.array([0])),
        what="value to specialise, and where",
        **table.run.law,
    )
    return int(point.option[0]), float(point.value[0])


def _open_cuts(cuts: list[Cut], front: Front) -> Bools:
    """Whether a node is a group that a specialisation splits, (nodes, cuts)."""
    attribute, low, high, _ = np.array(cuts).reshape(-1, 4).T
    at = attribute.astype(np.intp)
    found: Bools = (front.low[:, at] == low) & (front.high[:, at] == high)
    return found


def _final(run: Run, front: Front, size: Floats, *, cuts: list[Cut]) -> Bools:
    """Groups that no specialisation splits any more."""
    final: Bools = np.logical_not(_open_cuts(cuts, front).sum(axis=1))
    return final


def _next(run: Run, front: Front, totals: Floats, *, cuts: list[Cut]) -> Splits:
    """The first specialisation that splits each group."""
    attribute, _, _, at = np.array(cuts)[_open_cuts(cuts, front).argmax(axis=1)].T
    return Splits(np.full(len(at), THRESHOLD), attribute.astype(np.intp), at)


# --- The estimators -------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class _Lineage(PrivateForest):
    """Base: trees that let each leaf name the class of largest noisy count.

    Parameters
    ----------
    max_depth : number d ≥ 0 of splits on the longest path.
    """

    neighbours = "add-remove"
    vote = "majority"
    discrete_only: ClassVar[bool] = True
    scores: ClassVar[dict[str, Score]] = {}
    _least: ClassVar = {"max_depth": 0}

    epsilon: float = 1.0
    domain: Domain | None = None
    random_state: Any = None

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        self.trees_ = self._trees(records, curator)

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class PINQID3(_Lineage):
    """PINQ-based ID3: information gain from noisy counts, with the Partition operator.

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

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        run = equal_shares(curator, self.domain_, self._budget, max_depth=self.max_depth)
        choose = partial(by_noisy_counts, partition=True)
        return [id3(run, records, choose, max_depth=self.max_depth)[0]]


@dataclass(kw_only=True, eq=False, repr=False)
class SuLQID3(_Lineage):
    """SuLQ-based ID3: as :class:`PINQID3`, but every count is a query of its own.

    Notes
    -----
    A node's share e is divided by the number Σ_A |A| (1 + |C|) of its counts, a leaf's by |C|. Stated: the gain comes
    from noisy counts, the noise is high and uses up the budget. [INF]: geometric noise (the original adds Gaussian
    noise for a number of queries fixed in advance), and counting the nodes of a level once.

    **Privacy**: ε-DP by adding up queries. The ledger knows that the cells of a table are disjoint and states less;
    the difference is what Partition saves, for the same noise.

    **Source**: Blum, Dwork, McSherry, Nissim (2005); Mu, Ding, Song, Lu (2016), Table 1, section 2.3.
    """

    max_depth: int = 5

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        domain, run = (
            self.domain_,
            equal_shares(curator, self.domain_, self._budget, max_depth=self.max_depth),
        )
        left = domain.n_attributes - np.arange(min(self.max_depth, domain.n_attributes))
        values = np.cumsum(np.sort(domain.cardinalities))[left - 1]  # fewest, if those of many are used first
        queries = float((2 * left / (values * (1 + domain.n_classes))).sum())
        choices = run.choice * queries if queries else 0.0  # ∞ · 0 is no cost
        leaf = run.leaf / domain.n_classes
        run = replace(run, leaf=leaf, path=(self.max_depth + 1) * run.size + choices + leaf)
        choose = partial(by_noisy_counts, partition=False)
        return [id3(run, records, choose, max_depth=self.max_depth)[0]]


@dataclass(kw_only=True, eq=False, repr=False)
class DiffPID3(_Lineage):
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

    max_depth: int = 5
    utility: str = "info_gain"
    max_records: int | None = 1_000_000

    scores: ClassVar = ID3_SCORES
    _choices: ClassVar = {"utility": tuple(ID3_SCORES)}
    _beyond: ClassVar = {"max_records": (None,)}

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        return [self._grown(records, curator)[0]]

    def _grown(self, records: RecordsDoor, curator: Curator, *, more: int = 0) -> tuple[Tree, Floats]:
        """A tree on all records, whose choices come after ``more`` others, and the noisy sizes of its nodes."""
        score, depth, delta = self.scores[self.utility], self.max_depth, self._delta(records, curator)
        run = equal_shares(curator, self.domain_, self._budget, max_depth=depth, delta=delta, more=more)
        return id3(run, records, partial(by_mechanism, score=score), max_depth=depth)

    def _delta(self, records: RecordsDoor, curator: Curator) -> float:
        return score_sensitivity(self.scores[self.utility], records, curator, max_records=self.max_records)


@dataclass(kw_only=True, eq=False, repr=False)
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

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        n = int(self.domain_.continuous.sum())
        return [pruned(*self._grown(records, curator, more=n), self.domain_)]


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
    forest of ID3 trees on discrete attributes. [INF]: the equal division, the attributes drawn, and
    ``bags="full"``, which departs from section 2.2.1 and keeps the claim.

    **Privacy**: with ``"full"`` ε-DP under the condition of :class:`DiffPID3`: the trees add up. A bootstrap holds
    some records several times, which pay as often: the ledger then exceeds the claim.

    **Source**: Patil, Singh (2014); Mu, Ding, Song, Lu (2016), Table 1, section 2.2.1.
    """

    n_trees: int = 25
    bags: str = "full"

    bag_rate = None
    _choices: ClassVar = {"utility": tuple(ID3_SCORES), "bags": ("full", "bootstrap")}
    _beyond: ClassVar = {"max_records": (None,), "bags": ("bootstrap",)}
    _least: ClassVar = {"max_depth": 0, "n_trees": 1}

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        score, depth, delta = self.scores[self.utility], self.max_depth, self._delta(records, curator)
        leaves = partial(few_records, max_depth=depth)
        choose = partial(by_mechanism, score=score, drawn=True)

        def build(builder: TreeBuilder, per_copy: float) -> Tree:
            run = equal_shares(curator, self.domain_, per_copy, max_depth=depth, delta=delta)
            return grow(run, builder, leaves, choose)[0]

        return self._plant(records, curator, build, alike=False)


@dataclass(kw_only=True, eq=False, repr=False)
class DiffGen(_Lineage):
    """DiffGen: everything generalised, then h values specialised by the exponential mechanism, then noisy counts.

    Parameters
    ----------
    domain : public domain. Its order of the categories is the taxonomy: a range of categories is specialised into its
        two halves, down to single ones.
    n_specialisations : number h ≥ 0.
    utility : ``"info_gain"`` in bits, Δ = log₂ |C|, or ``"max"``, the sum of the largest class counts, Δ = 1.

    Notes
    -----
    1. A value v stands for the records D_v in its range. A mechanism over intervals gives each range of a continuous
       attribute its threshold, once.
    2. h times: choose a value by the score of its two parts of D_v, and split all groups of the table that have it.
    3. Release the counts of group and class: a binary tree.

    Stated: these rules, in brief. [INF]: ε / 2 for the counts, e = ε / (2 (n + 2h)) for each choice with n continuous
    attributes, as code that cites the paper has it; the scores; the taxonomy, as none is given.

    **Privacy**: ε-DP: n thresholds, then h choices and at most h pairs of thresholds on disjoint records at e each
    (the last pair is never used), then counts with Δ = 1 at ε / 2. Categories have no thresholds to pay for.

    **Source**: Mohammed, Chen, Fung, Yu (2011); Mu, Ding, Song, Lu (2016), Table 1, section 2.3.
    """

    n_specialisations: int = 10
    utility: str = "info_gain"

    scores: ClassVar = TABLE_SCORES
    discrete_only = False
    ahead: ClassVar[bool] = True  # whether thresholds are chosen before the values
    _choices: ClassVar = {"utility": tuple(TABLE_SCORES)}
    _least: ClassVar = {"n_specialisations": 0}

    def _trees(self, records: RecordsDoor, curator: Curator) -> list[Tree]:
        score, h = self.scores[self.utility], self.n_specialisations
        how: dict[str, Any] = {"score": score, "h": h, "ahead": self.ahead}
        return [generalised_table(records, curator, budget=self._budget, **how)]


@dataclass(kw_only=True, eq=False, repr=False)
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

    ahead = False


for _method in (SuLQID3, PINQID3, DiffPID3, DiffPRF, DiffPC45, DiffGen, DTDiff):
    register(_method)
