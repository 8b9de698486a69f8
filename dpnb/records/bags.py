"""Bags, which say which records each tree of a forest sees, and how often.

Bag membership is a keyed hash of a secret seed, the tree and the record's key, so that adding or removing a
record moves no other record and every backend draws the same bags. The exceptions depend on the number n of
records and are kept for the papers that use them: ``bootstrap``, n draws of positions with replacement, and
``parts``, a random division into parts of equal size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import poisson

from ..arrays import Floats
from ..domain.people import plain_labels
from ..privacy.ledger import Cost, Ledger, Scope

Keys = NDArray[np.uint64]
Copies = NDArray[np.int64]

MODES = ("full", "poisson", "bernoulli", "disjoint", "cover", "bootstrap")
PARTS = "parts"
POSITIONAL = ("bootstrap", PARTS)  # one record more changes the bags of others


def label_keys(labels: pd.Index | NDArray[Any]) -> Keys:
    """64-bit hashes of labels (n,), each by itself, so that no label's hash depends on the types of others.

    Equal whole numbers have equal hashes, and so have equal texts, in memory and on Spark. Different numbers or texts
    have different hashes, and so have 1 and "1". No label raises an error. Odd objects may share a hash, which does no
    harm, because records that agree in hash, values and class are treated as copies, and copies are numbered.
    """
    if isinstance(labels.dtype, np.dtype) and labels.dtype.kind == "i":
        return np.asarray(pd.util.hash_array(np.asarray(labels, np.int64)), np.uint64)
    plain = plain_labels(labels)
    whole = np.array([type(label) is int for label in plain], np.bool_)
    texts = np.array(["" if type(label) is int else label for label in plain], object)
    keys: Keys = np.asarray(pd.util.hash_array(texts, categorize=False), np.uint64)
    keys[whole] = label_keys(np.array([label for label in plain if type(label) is int], np.int64))
    return keys


def record_keys(labels: Keys, columns: Iterable[Floats], classes: NDArray[Any]) -> Keys:
    """64-bit key of every record, from its label, its encoded values and its class; no other record plays a part.

    Parameters
    ----------
    labels : (n,) from :func:`label_keys`.
    columns : (n,) values of each attribute.
    classes : (n,) class codes, or numbers to predict.
    """
    keys = labels
    for column in columns:
        keys = _mix(keys ^ (column + 0.0).view(np.uint64))  # -0.0 becomes 0.0
    numbers = classes.dtype.kind == "f"
    return _mix(keys ^ ((classes + 0.0).view(np.uint64) if numbers else classes.astype(np.uint64)))


def numbered(keys: Keys) -> Keys:
    """Keys in which exact copies of a record are told apart by their number; the first copy keeps its key."""
    if pd.Index(keys).is_unique:
        return keys
    copy: Keys = np.asarray(pd.Series(keys).groupby(keys).cumcount(), np.uint64)
    return np.where(copy > 0, _mix(keys ^ _mix(copy)), keys)


def uniforms(keys: Keys, *, seed: int, stream: int) -> Floats:
    """One uniform number in [0, 1) for each key, by a splitmix64 hash of seed, stream and key.

    Parameters
    ----------
    keys : (n,) record keys.
    seed : 64-bit secret seed.
    stream : number of the purpose, such as the tree's number.
    """
    with np.errstate(over="ignore"):
        x = keys ^ _mix(np.array([seed], np.uint64) + np.uint64(stream) * np.uint64(0x9E3779B97F4A7C15))
        return (_mix(x) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: Keys) -> Keys:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


@dataclass(frozen=True)
class Bags:
    """A rule that hands records to trees, and its effect on the budget.

    Notes
    -----
    **Privacy** (fact F2): if each copy of a record costs a tree ε₀ and a record has K independent copies, the tree is
    ln E exp(ε₀ K)-DP under add/remove. The seed must stay secret, because a record with K copies pays K ε₀ once the
    bags are known.
    """

    # How often a record enters a tree's bag. `full` once in every tree; `poisson` Poisson(1) times,
    # independently for each tree; `bernoulli` once with probability `rate`; `disjoint` in one uniformly
    # chosen tree; `cover` in exactly `rate` uniformly chosen trees; `bootstrap` n draws of positions with
    # replacement (not a per-record rule); `parts` in one tree each, in random parts of sizes that differ by
    # at most one (not a per-record rule).
    mode: str
    n_trees: int  # number of trees
    rate: float | None = None  # q of `bernoulli` in (0, 1], or r of `cover` in 1..n_trees; otherwise None

    def __post_init__(self) -> None:
        if self.mode not in (*MODES, PARTS):
            raise ValueError(f"bags={self.mode!r}: expected one of {', '.join((*MODES, PARTS))}")
        if self.mode == "bernoulli" and not (self.rate is not None and 0 < self.rate <= 1):
            raise ValueError(f"bag_rate={self.rate!r}: Bernoulli bags need a probability in (0, 1]")
        if self.mode == "cover" and self.rate not in range(1, self.n_trees + 1):
            raise ValueError(
                f"bag_rate={self.rate!r}: a cover needs a whole number in 1..{self.n_trees} (n_trees)"
            )
        if self.mode not in ("bernoulli", "cover") and self.rate is not None:
            raise ValueError(f"bag_rate={self.rate!r} has no meaning for bags={self.mode!r}: leave it None")

    @property
    def shares(self) -> float:
        """Number of trees over which a record's budget is divided."""
        if self.mode in ("disjoint", PARTS):
            return 1
        return float(self.rate) if self.mode == "cover" and self.rate is not None else self.n_trees

    def per_copy_epsilon(self, epsilon: float) -> float:
        """The ε₀ that a tree may spend on each copy so that the forest costs ``epsilon`` (F2 inverted).

        For ``bootstrap`` it is the text's ``epsilon / n_trees``, for ``parts`` the text's ``epsilon``; both cost
        more than ``epsilon``.
        """
        tree = epsilon / self.shares
        if self.mode == "poisson":
            return math.log1p(tree)
        if self.mode == "bernoulli" and self.rate is not None and tree < 700:
            return math.log1p(math.expm1(tree) / self.rate)
        return tree

    def cost(self, copy: Cost) -> Cost:
        """Cost of one tree for a record, from the cost of one copy of it."""
        if self.mode == "poisson":
            return Cost(_expm1(copy.epsilon), math.inf if copy.rho else 0.0)
        if self.mode == "bernoulli" and self.rate is not None:
            amplified = math.log1p(self.rate * _expm1(copy.epsilon)) if copy.epsilon < 700 else copy.epsilon
            return Cost(amplified, copy.rho)
        if self.mode == "bootstrap":
            return Cost(bootstrap_bound(copy.epsilon), math.inf if copy.rho else 0.0)
        if self.mode == PARTS:
            return Cost(parts_bound(copy.epsilon, self.n_trees), math.inf if copy.rho else 0.0)
        return copy

    def forest_scope(self, ledger: Ledger, what: str) -> AbstractContextManager[Scope]:
        """Ledger scope in which the trees compose."""
        if self.mode in ("disjoint", PARTS):
            return ledger.parallel(what)
        if self.mode == "cover" and self.rate is not None:
            return ledger.cover(what, each=int(self.rate))
        return ledger.sequential(what)

    def tree_scope(self, ledger: Ledger) -> AbstractContextManager[Scope]:
        """Ledger scope of one tree's bag."""
        return ledger.bag("bag", rule=self._rule(), multiply=self.cost)

    def _rule(self) -> str:
        rules = {
            "poisson": "Poisson(1) copies of each record",
            "bernoulli": f"each record with probability {self.rate}",
            "bootstrap": "n draws with replacement, upper bound",
            PARTS: "random part of n/T records, one more record moves another",
        }
        return rules.get(self.mode, "each record at most once")

    def draw(self, keys: Keys, *, seed: int, tree: int) -> Copies | None:
        """Number of copies of each record in the bag of a tree, (n,); None stands for one copy of each."""
        return _drawing.get()(self, keys, seed, tree)

    def hashed(self, keys: Keys, seed: int, tree: int) -> Copies | None:
        """Numbers of copies by the hash of seed, tree and key, which :meth:`draw` returns outside of an audit."""
        if self.mode == "full":
            return None
        if self.mode == "bootstrap":
            return _with_replacement(len(keys), seed, tree)
        if self.mode == "disjoint":
            home = np.floor(uniforms(keys, seed=seed, stream=0) * self.n_trees)
            return np.asarray(home == tree, np.int64)
        if self.mode == PARTS:
            rank = np.argsort(np.argsort(uniforms(keys, seed=seed, stream=0), kind="stable"))
            return np.asarray(rank % self.n_trees == tree, np.int64)
        own = uniforms(keys, seed=seed, stream=tree)
        if self.mode == "poisson":
            return _poisson_numbers(own)
        assert self.rate is not None
        if self.mode == "bernoulli":
            return (own < self.rate).astype(np.int64)
        # cover: the tree's hash is among the r smallest of the record's hashes of all trees
        smaller = np.zeros(len(keys), np.int64)
        for other in range(self.n_trees):
            smaller += uniforms(keys, seed=seed, stream=other) < own
        return (smaller < self.rate).astype(np.int64)


DrawRule = Callable[[Bags, Keys, int, int], Copies | None]
_drawing: ContextVar[DrawRule] = ContextVar("draw_bags", default=Bags.hashed)


@contextmanager
def drawing(rule: DrawRule) -> Iterator[None]:
    """Let fits inside the block draw their bags by ``rule(bags, keys, seed, tree)``, as an auditor needs it."""
    token = _drawing.set(rule)
    try:
        yield
    finally:
        _drawing.reset(token)


def _poisson_numbers(uniform: Floats) -> Copies:
    """A Poisson(1) number for each uniform one, which counts the cumulative probabilities that are not above it."""
    limits = poisson.cdf(np.arange(20), 1.0)  # 20 copies and more have a probability below 2⁻⁵³
    numbers = np.zeros(len(uniform), np.int8)
    for limit in limits[uniform.max(initial=0.0) >= limits]:
        numbers += uniform >= limit
    return numbers.astype(np.int64)


def _with_replacement(n: int, seed: int, tree: int) -> Copies:
    rng = np.random.default_rng([seed, tree])
    return np.bincount(rng.integers(n, size=n), minlength=n)


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 700 else math.inf


def bootstrap_bound(epsilon: float) -> float:
    """Pure ε of a tree on n draws with replacement from n records, for any n; ``epsilon`` is its cost per copy.

    Bags of neighbours can be coupled at distance c(K), c(0) = 1 and c(k) = 2k − 1, where K ~ Bin(n, 1/n) is the
    record's number of copies; the tree costs at most ln E exp(ε c(K)), bounded here over all n.
    """
    if math.isinf(epsilon):
        return epsilon
    if 2 * epsilon > 6:  # exp(exp(6)) is beyond floats: the logarithm of the first term is enough
        return _expm1(2 * epsilon) - epsilon + math.log(2)
    at_least_once = math.exp(math.expm1(2 * epsilon) - epsilon)
    return math.log(at_least_once + math.exp(-1) * 2 * math.sinh(epsilon))


def parts_bound(epsilon: float, n_parts: int) -> float:
    """Pure ε of a forest on random parts of equal size, for any n; ``epsilon`` is the cost of one tree.

    One more record z makes one of the T parts, part r, longer by one. With probability at least 1/T the record z falls
    into part r, and only that tree changes. Otherwise z falls into a part j, and a record w that would be in j is in r.
    Then tree r has one more record, and tree j has z instead of w. The losses are ε and ε + 2ε. Two trees of Laplace
    counts, on one record and on two, attain the bound. Replacing a record changes one tree and costs 2ε, less than the
    ledger books for it.
    """
    if epsilon > 200:  # exp(3 ε) is near the end of floats
        return 3 * epsilon if n_parts > 1 else epsilon
    return math.log((math.exp(epsilon) + (n_parts - 1) * math.exp(3 * epsilon)) / n_parts)
