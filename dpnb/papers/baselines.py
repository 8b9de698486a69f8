"""Boosting baselines: AdaBoost without noise, and two papers that add noise to its stumps, as far as we know them.

Points marked [INF] are inferred: the sources do not state them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..domain import Domain
from ..estimators.base import PrivateClassifier
from ..privacy.curator import Curator
from ..privacy.ledger import Cost
from ..records.doors import RecordsDoor, WeightedDoor
from ..records.grid import Additive, Stump, grid_of, public_grid
from ..records.splits import LEAF
from .stumps import half_log_odds, half_logistic, publish_stump

DRAWS = 100  # draws of a noisy count, which is their mean, as in the published demo
EVERYWHERE = Stump(LEAF, -1, np.nan, 1.0)


class _Round(NamedTuple):
    """The doors of a fit, and the largest weight that a record may have, given what was published."""

    curator: Curator
    data: WeightedDoor
    bound: float


@dataclass(kw_only=True, eq=False, repr=False)
class _Boosted(PrivateClassifier):
    """Rounds of AdaBoost for two classes; the subclass says what a round learns."""

    domain: Domain | None = None
    n_rounds: int = 30
    random_state: Any = None

    neighbours = "add-remove"
    thresholds = "data"
    demo = False
    two_classes = True
    _choices: ClassVar = {"thresholds": ("data", "grid")}
    _least: ClassVar = {"n_rounds": 1}
    _released: ClassVar = ("model_",)

    def worst_cost(self) -> Cost:
        """Infinite: stumps and their weights have no noise."""
        self._check_parameters()
        return Cost(math.inf, math.inf)

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        with curator.ledger.sequential(f"{type(self).__name__}, {self.n_rounds} rounds"):
            self.model_ = self._boost(self._data(records, curator), curator)

    def _data(self, records: RecordsDoor, curator: Curator) -> WeightedDoor:
        public = self.thresholds == "grid"
        return records.weighted(public_grid(self.domain_) if public else None)

    def _boost(self, data: WeightedDoor, curator: Curator) -> Additive:
        unit = 0.0  # log of the factor that makes the weights sum to n
        stumps: list[Stump] = []
        alphas: list[float] = []
        for _ in range(self.n_rounds):
            if alphas:  # in round 1 all weights are 1
                total = data.weights.sum()
                to_n = math.log(len(data.weights) / total) if total > 0 else 0.0
                if np.isfinite(self.epsilon):  # noise of a fixed scale
                    to_n = curator.exact(to_n, why="normaliser of the weights, without noise")
                data.weights = data.weights * math.exp(to_n)
                unit += to_n
            # A larger sensitivity than e³⁰⁰ would overflow in the ledger, and tell a reader nothing more.
            bound = math.exp(min(unit + sum(map(abs, alphas)), 300.0))
            learnt, released = self._learn(_Round(curator, data, bound))
            right, wrong = data.outcome(learnt)
            share = (
                wrong / (right + wrong) if right + wrong > 0 else 0.5
            )  # without records, or weights, a tie
            error = float(np.clip(share, 1e-10, 1 - 1e-10))  # [INF], since a perfect stump would weigh ∞
            alpha = half_log_odds(error) / (math.log(10) if self.demo else 1)
            alpha = curator.exact(alpha, why="weight α_t of a stump, from its exact weighted error")
            data.reweigh(learnt, alpha)
            stumps.append(released)
            alphas.append(alpha)
        return Additive(self.domain_, tuple(stumps), np.array(alphas))

    def _learn(self, now: _Round) -> tuple[Stump, Stump]:
        """The stump with which the iteration goes on, and the stump that enters the model."""
        raise NotImplementedError

    def _votes(self, codes: Floats) -> Floats:
        positive = half_logistic(self.model_.score(codes))
        return np.stack([1 - positive, positive], axis=1)


@dataclass(kw_only=True, eq=False, repr=False)
class AdaBoost(_Boosted):
    """Discrete AdaBoost for two classes, with stumps of least weighted error and without any privacy.

    Parameters
    ----------
    domain : public domain with two classes, of which the second is +1; if None, it is read off the records, with a
        warning.
    n_rounds : number of stumps m ≥ 1.
    thresholds : ``"data"`` for midpoints between the values that occur, or ``"grid"`` for a public grid.
    random_state : has no effect, since nothing is drawn; every estimator of the package has this parameter.

    Attributes
    ----------
    model_ : :class:`~dpnb.records.grid.Additive`, with ``α = ½ ln((1 − e) / e)`` (scikit-learn has twice that).

    Notes
    -----
    **Privacy**: The estimator claims no privacy and has none, so ε = ∞. Each stump and each α is released without
    noise. Errors are cut to [1e-10, 1 − 1e-10]. Both signs of a stump compete, so the stop of step 5, e > ½, does not
    occur. Source: Zhang, Dong, Xu, Wang (2023), AdaBoost algorithm based on target perturbation, Algorithm 1.
    """

    thresholds: str = "data"
    epsilon = np.inf

    def _learn(self, now: _Round) -> tuple[Stump, Stump]:
        stump = _exact_stump(now)
        return stump, stump


@dataclass(kw_only=True, eq=False, repr=False)
class DPAdaBoost(_Boosted):
    """Reconstruction of DP-AdaBoost (Shen 2017), with noise on the leaf counts of exact stumps; it is not ε-DP.

    Parameters
    ----------
    epsilon : budget ε > 0, which the thesis distributes in advance; ``inf`` for no noise.
    domain, n_rounds, thresholds : as for :class:`AdaBoost`.
    random_state : seed, Generator or None. Attributes are as for :class:`AdaBoost`.

    Notes
    -----
    **Privacy**: The text claims ``epsilon``. In truth ε = ∞, because stumps, α and the normaliser of the weights have
    no noise, as ``ledger_.leaks`` shows. The noise is Lap(m/ε), which fits a sensitivity of 1. From round 2 on, one
    record may weigh more than that, and the ledger books its real weight.

    We know the abstract of the thesis and what later papers say about it. The counts of the weak learner get noise that
    does not enter the iteration. The budget is distributed in advance and shrinks with m. [INF]: ε/m for each round;
    the exact stump of least weighted error; weights that sum to n; leaf labels by noisy weighted counts; weights and α
    follow from the stump without noise. Source: Shen (2017), master's thesis, Nanjing University of Aeronautics and
    Astronautics.
    """

    epsilon: float = 1.0
    thresholds: str = "data"

    def _learn(self, now: _Round) -> tuple[Stump, Stump]:
        stump = _exact_stump(now)
        share = float(self.epsilon) / self.n_rounds
        return stump, _labelled(stump, _noisy(now.data.leaves(stump), now, share, what="leaf counts"))


@dataclass(kw_only=True, eq=False, repr=False)
class CARTDPsAdaBoost(_Boosted):
    """CART-DPsAdaBoost (Jia, Qiu 2020) with stumps, after its abstract or its published demo; neither is ε-DP.

    Parameters
    ----------
    epsilon : budget ε > 0 that the paper states; ``inf`` for no noise.
    domain, n_rounds : as for :class:`AdaBoost`.
    demo : whether to behave like the published demo code.
    random_state : seed, Generator or None. Attributes are as for :class:`AdaBoost`.

    Notes
    -----
    **Privacy**: The text claims ``epsilon``. In truth ε = ∞, as ``ledger_.leaks`` shows. According to the abstract, the
    exponential mechanism chooses the split points of continuous attributes, the Gini index chooses the partition of
    discrete ones, counts get Laplace noise, and each round sees a random subset of the features. [INF]: ⌈√d⌉ features
    and ε/m a round, half of it for the leaf counts, half shared by the split points; sensitivity 2 of Gini; candidates
    of the public grid (the best case); one category against the rest; the best attribute and α without noise; weights
    that sum to n.

    ``demo=True`` does what the demo's code does: candidates are midpoints of the values that occur; each count in each
    candidate's Gini index, and each leaf count, gets the mean of 100 draws of Lap(1/ε), the full ε every time; the
    plain argmin wins; ``α = ½ log10((1 − e) / e)``. The ledger books all 100 draws. [INF]: depth 1, no pruning,
    weights and features as above, noisy counts below 0 are 0, a stump with e > ½ has α < 0.

    Zhang, Dong, Xu, Wang (2023) compare DPAda with a CART-DPsAdaBoost that puts noise on the inner nodes and leaves of
    CART trees, of a depth that they do not give. A stump is such a tree with one inner node, and deeper trees may do
    better or worse.
    Source: Jia, Qiu (2020), IEEE Access 8, 93499–93513; demo: qiu-wanyong/CART-DPsAdaboost on GitHub.
    """

    epsilon: float = 1.0
    demo: bool = False

    def _data(self, records: RecordsDoor, curator: Curator) -> WeightedDoor:
        if not self.demo:
            return records.weighted(public_grid(self.domain_))
        why = "candidate thresholds: midpoints of the values that occur"
        found = records.weighted(None).grid
        attribute, cut = curator.exact(np.stack([found.attribute, found.cut]), why=why)
        cuts = tuple(cut[attribute == a] if c else None for a, c in enumerate(self.domain_.continuous))
        return records.weighted(grid_of(self.domain_, cuts))

    def _learn(self, now: _Round) -> tuple[Stump, Stump]:
        d, grid = self.domain_.n_attributes, now.data.grid
        subspace = now.curator.public(lambda rng: rng.permutation(d), what="random subspace")
        asked = np.flatnonzero(np.isin(grid.attribute, subspace[: int(np.ceil(np.sqrt(d)))]))
        best, epsilon = EVERYWHERE, float(self.epsilon) / (1 if self.demo else 2 * self.n_rounds)
        draws = DRAWS if self.demo else 1
        if len(asked) and self.demo:
            table = _noisy(now.data.tables()[asked], now, epsilon, what="counts in Gini indices", draws=draws)
            best = grid.stump(int(asked[np.argmin(_gini(np.maximum(table, 0.0)))]))
        elif len(asked):
            best = grid.stump(self._chosen(now, asked))
        stump = _labelled(best, _noisy(now.data.leaves(best), now, epsilon, what="leaf counts", draws=draws))
        return stump, stump

    def _chosen(self, now: _Round, asked: Ints) -> int:
        """Choose one split point of each continuous attribute by the exponential mechanism, then the plain best."""
        gini, attribute = _gini(now.data.tables()[asked]), now.data.grid.attribute[asked]
        continuous = np.array(self.domain_.continuous)[attribute]
        finalists, drawn = list(np.flatnonzero(~continuous)), np.unique(attribute[continuous])
        share = now.bound * float(self.epsilon) / self.n_rounds / 2 / max(len(drawn), 1)
        how: dict[str, Any] = {"starts": np.array([0]), "sensitivity": 2 * now.bound, "monotone": False}
        how |= {"epsilon": share, "what": "split point of a continuous attribute"}
        for a in drawn:
            mine = np.flatnonzero(attribute == a)
            finalists.append(mine[int(now.curator.exponential(-gini[mine], **how)[0])])
        best = int(asked[min(finalists, key=lambda j: gini[j])])
        return now.curator.exact(best, why="attribute and partition of least Gini index, without noise")


def _exact_stump(now: _Round) -> Stump:
    best = now.data.grid.stump(int(np.argmax(now.data.right())))
    return publish_stump(now.curator, best, why="stump of least weighted error, without noise")


def _gini(table: Floats) -> Floats:
    """Weighted Gini index ``Σ_children W (1 − Σ p²)``; one more record of weight u adds at most 2u."""
    plus, minus = table[:, ::2], table[:, 1::2]
    return np.asarray((2 * plus * minus / np.maximum(plus + minus, 1e-300)).sum(axis=1), float)


def _noisy(table: Floats, now: _Round, epsilon: float, *, what: str, draws: int = 1) -> Floats:
    """Add a mean of draws of scale 1/ε, as if Δ were 1; the ledger books what a record adds to each row."""
    delta, copies = draws * len(table) * now.bound, np.repeat(table[None], draws, axis=0)
    noisy = now.curator.laplace(copies, epsilon=delta * epsilon, sensitivity=delta, what=what)
    return np.asarray(noisy.mean(axis=0), float)


def _labelled(stump: Stump, noisy: Floats) -> Stump:
    """The condition with labels from the noisy counts of its leaves; equal labels leave no condition."""
    inside, outside = np.where(noisy[0, ::2] > noisy[0, 1::2], 1.0, -1.0)
    return (EVERYWHERE if inside == outside else stump)._replace(sign=float(inside))
