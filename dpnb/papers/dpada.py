"""DPAda, the boosting with noise schedules of Zhang, Dong, Xu, Wang (2023), as written and repaired.

Step numbers are those of the listings in chapter 6, which follow the paper's Algorithms 2 to 6; A1 to A10 are the
ambiguities listed in the chapter's appendix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FIXED_POINT, Floats, Ints
from ..boosting.booster import logistic
from ..checks import check_choice, check_delta, check_kinds, check_share, check_step
from ..domain import Domain
from ..estimators.base import PrivateClassifier
from ..privacy.curator import Curator
from ..privacy.ledger import Cost, Neighbours
from ..records.doors import RecordsDoor, WeightedDoor
from ..records.grid import Additive, Grid, Stump, public_grid
from ..settings import LEAST_ERROR
from .stumps import RoundBudget, half_log_odds, half_logistic, publish_stump, round_budget, select_stump

SCHEDULES = ("all", "swing", "random", "improved")
RULES = ("definition7", "causal")
ROUNDING = 1e-12  # of an error, a sum of weights that sum to 1; no run stops for it


class Written:
    """Algorithms 3 to 6 as written (chapter 6, "The algorithm as written"); they differ in which rounds have noise.

    The door's weights are w′, which train and measure; ``_raw`` are w, which have no noise of the round before. Sums of
    weights are floats. Where weights may be negative, some grow to 10⁴⁰ times the median, and a difference of sums
    loses the small ones: in about one round of sixty of the signed readings the stump is not exactly of least error.
    Among equal ones rounding decides.
    """

    def __init__(self, owner: DPAda, reading: Reading, curator: Curator) -> None:
        self.owner = owner
        self.reading = reading
        self.curator = curator

    def boost(self, records: RecordsDoor, grid: Grid) -> Additive:
        """Carry out steps 1 to 9, and return the argument of the sign in step 9 (step 10 in Algorithm 3)."""
        public = self.reading.thresholds == "grid"
        data = records.weighted(grid if public else None)
        self.start(data)
        stumps: list[Stump] = []
        alphas: list[float] = []
        for noise in self.owner.schedule_:  # step 2
            learnt = self.round(data, noise=bool(noise))
            if learnt is None:
                break
            stumps.append(learnt[0])
            alphas.append(learnt[1])
        return Additive(self.owner.domain_, tuple(stumps), np.array(alphas))

    def start(self, data: WeightedDoor) -> None:
        """Step 1."""
        data.weights = self._raw = data.weights / len(data.weights)

    def round(self, data: WeightedDoor, *, noise: bool) -> tuple[Stump, float] | None:
        """Carry out steps 3 to 8, and return G_k and α_k, or None where the text stops."""
        reading, curator = self.reading, self.curator
        best = data.grid.stump(int(np.argmax(data.right())))
        why = "stump G_k, chosen without noise (step 3)"
        stump = publish_stump(curator, best, why=why)
        measured = float(data.outcome(stump, self._raw if reading.error == "raw" else None)[1])  # step 4
        beyond = measured > 0.5 + ROUNDING
        stops = curator.exact(beyond, why="stop at e_k > 0.5, tested without noise (step 5)")
        if stops and reading.stop == "break":
            return None
        error = float(np.clip(measured, reading.clip, 1 - reading.clip))
        alpha = curator.exact(half_log_odds(error), why="weight α_k, without noise (step 6)")
        if reading.update == "raw":
            data.weights = self._raw
        data.reweigh(stump, alpha)
        self._raw = data.weights / data.weights.sum()  # step 7
        data.weights = self.noised(self._raw) if noise else self._raw  # step 8
        return stump, alpha

    def noised(self, weights: Floats) -> Floats:
        """Step 8: Algorithm 2, DPweight_dynamic (chapter 6, "The noise of Algorithm 2"), with its own step numbers."""
        if not len(weights):
            return weights
        mean = 1 / len(weights)
        noised = weights.copy()
        for largest in (True, False):
            extreme = float(weights.max() if largest else weights.min())
            tied = np.flatnonzero(np.abs(weights - extreme) <= 1e-9 * abs(extreme))  # rounding breaks no ties
            if self.reading.ties == "first":
                tied = tied[:1]
            draws = len(tied) if self.reading.ties == "indep" else 1
            gap = abs(extreme - mean)  # steps 1, equations (14) and (15)
            noisy = self._laplace(np.full(draws, extreme), gap, largest=largest)  # steps 2, 3
            noised[tied] = np.maximum(noisy, mean) if largest else np.minimum(noisy, mean)  # steps 4 to 9
        if self.reading.clamp == "clip0":
            noised = np.maximum(noised, 0.0)
        total = float(noised.sum())
        return noised / total if total != 0 else np.full(len(noised), mean)  # step 10

    def _laplace(self, values: Floats, gap: float, *, largest: bool) -> Floats:
        """Steps 2 and 3 of Algorithm 2: noise of scale Δ/ε."""
        owner = self.owner
        what = f"{'largest' if largest else 'smallest'} weight (Algorithm 2)"
        if gap <= 1e-12 * abs(values[0]):
            return self.curator.exact(values, why=f"{what}: noise of scale 0")
        epsilon = float(owner.epsilon) / owner.n_rounds
        if self.reading.scale == "literal":
            epsilon *= max(abs(float(values[0])), 1e-12)
        return self.curator.laplace(values, epsilon=epsilon, sensitivity=gap, what=what)


class Repaired:
    """DPAda-R (chapter 6, "The repair"), with the step numbers there. Only active rounds read the data."""

    def __init__(self, owner: DPAda, curator: Curator) -> None:
        self.owner = owner
        self.curator = curator
        self.active = int(owner.schedule_.sum())  # step 1
        self.budget = owner._of_rounds(owner.filter_rounds or self.active)

    def boost(self, records: RecordsDoor, grid: Grid) -> Additive:
        """Carry out steps 2 to 8, and return the argument of the sign in step 8."""
        data = records.weighted(grid)
        if self.owner.filter_rounds is None:
            return self.rounds(data)
        with self.curator.ledger.filtered("individual filter", epsilon=self.owner._budget):
            return self.rounds(data)

    def rounds(self, data: WeightedDoor) -> Additive:
        """Carry out steps 2 to 7, with the filter of chapter 6, "A budget for each record"."""
        owner, stumps, alphas = self.owner, [], []
        share = 1.0 if owner.learning_rate is not None else owner.selection_share
        for _ in range(self.active):
            with self.curator.ledger.sequential("round"):
                if owner.filter_rounds is not None:
                    data.afford(total=owner.filter_rounds)
                chosen = select_stump(self.curator, data.right(), self.budget, share=share)  # step 4
                stump, alpha = data.grid.stump(chosen), owner.learning_rate
                if alpha is None:
                    alpha = self.noisy_alpha(data.outcome(stump))
            data.advance(stump, alpha)  # steps 7 and 3
            stumps.append(stump)
            alphas.append(alpha)
        return Additive(owner.domain_, tuple(stumps), np.array(alphas))

    def noisy_alpha(self, outcome: Floats) -> float:
        """Steps 5 and 6, α from the noisy weights of right and wrong records; a record is in one of them, so Δ = 1."""
        curator, budget, share = self.curator, self.budget, 1 - self.owner.selection_share
        scale = 1 / (share * budget.epsilon) if budget.rho is None else 1 / np.sqrt(2 * share * budget.rho)
        # Sums of weights are multiples of 2⁻²⁸; where the noise is large, steps of a 2⁴⁰th of its scale are enough.
        unit = 1 / FIXED_POINT
        # With a filter a record pays for its weight, and a person is right and wrong: coarser steps might change more.
        if self.owner.filter_rounds is None and curator.ledger.unit == "record":
            unit = min(max(unit, 2.0 ** np.ceil(np.log2(max(scale, unit))) / 2.0**40), 1.0)
        how: dict[str, Any] = {"sensitivity": 1.0, "unit": unit, "what": "weight of right and wrong records"}
        outcome = np.floor(outcome / unit) * unit  # 1 is a multiple of the step, so Δ stays 1
        if budget.rho is None:
            noisy = curator.geometric(outcome, epsilon=share * budget.epsilon, **how)
        else:
            noisy = curator.discrete_gaussian(outcome, rho=share * budget.rho, **how)
        total = float(noisy.sum())
        return half_log_odds(0.5 if total <= 0 else float(np.clip(noisy[1] / total, LEAST_ERROR, 0.5)))


def swing(m: int) -> Ints:
    """Definition 5, equation (18): 0, 1, 0, 1, … for rounds 1 to m."""
    return np.arange(m) % 2


def random_schedule(m: int, rng: np.random.Generator) -> Ints:
    """Definition 6, equation (20): m independent fair coins."""
    return rng.integers(0, 2, m).astype(np.intp)


def definition7(h: ArrayLike) -> Ints:
    """Definition 7 as printed, by which a run of ones between two zeros keeps only its first one.

    Runs that begin at round 1 or reach round m have no zero on one side and stay as they are. The rule needs the
    coins of later rounds, so all coins must be drawn in advance (A8).

    Examples
    --------
    >>> definition7([0, 1, 1, 1, 0]).tolist(), definition7([0, 1, 1]).tolist()
    ([0, 1, 0, 0, 0], [0, 1, 1])
    """
    coins = np.asarray(h, np.intp)
    zeros = np.flatnonzero(coins == 0)
    updated = coins.copy()
    if len(zeros):
        updated[zeros[0] + 1 : zeros[-1]] = causal(coins)[zeros[0] + 1 : zeros[-1]]
    return updated


def causal(h: ArrayLike) -> Ints:
    """Rule C1, by which a one counts after a zero among the raw coins, never in round 1; it needs no later coins."""
    coins = np.asarray(h, np.intp)
    return np.concatenate([[0], coins[1:] * (1 - coins[:-1])]).astype(np.intp)[: len(coins)]


@dataclass(frozen=True)
class Reading:
    """One reading of the paper's text, for :meth:`DPAda.as_written`."""

    # A1, which records get the noise of "the" largest and smallest weight, by one draw for all tied records
    # (`"same"`), one draw for each (`"indep"`), or for a single record (`"first"`).
    ties: str = "same"
    # A2, `"literal"` for ε = (B/m)·max w and (B/m)·min w, or `"flat"` for ε = B/m. A negative ε (A4) is
    # replaced by its absolute value, or by 1e-12 if that is larger.
    scale: str = "literal"
    # A3, `"signed"` if weights may be negative, or `"clip0"` if no weight may be below 0. A negative sum of
    # all weights (A6) turns their signs, since they are divided by the sum.
    clamp: str = "signed"
    # A5, whether e_k follows from the `"noised"` weights w′ or from the `"raw"` weights w; either way it is
    # cut to [clip, 1 − clip] (A9).
    error: str = "noised"
    # A10, whether step 7 starts from the `"raw"` weights w_k, as its letters say, or from the `"noised"`
    # weights w′_k, so that noise stays in the weights of all later rounds.
    update: str = "raw"
    stop: str = "break"  # `"break"` to stop at e_k > 0.5 before the round counts (step 5), or `"never"`
    # Whether Algorithm 3 adds noise in round 1 as printed, or from round 2 as its text says.
    noise_in_round_1: bool = False
    # A7, whether the exact best stump is taken from midpoints of the `"data"` or from the public `"grid"`.
    thresholds: str = "grid"
    clip: float = 1e-10  # A9, least distance of e_k from 0 and 1, in (0, 0.5)

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, ("same", "indep", "first"))
        check_choice("scale", self.scale, ("literal", "flat"))
        check_choice("clamp", self.clamp, ("signed", "clip0"))
        check_choice("error", self.error, ("noised", "raw"))
        check_choice("update", self.update, ("noised", "raw"))
        check_choice("stop", self.stop, ("break", "never"))
        check_choice("thresholds", self.thresholds, ("data", "grid"))
        check_kinds(self)
        if not 0 < self.clip < 0.5:
            raise ValueError(f"clip={self.clip!r}: expected a number in (0, 0.5)")


READINGS = {
    f"{scale}, {ties}, {clamp}{end}": Reading(scale=scale, ties=ties, clamp=clamp, update=update)
    for (update, end), scale, ties, clamp in product(
        (("raw", ", raw"), ("noised", "")),
        ("literal", "flat"),
        ("same", "indep", "first"),
        ("signed", "clip0"),
    )
}
"""All combinations of A1, A2, A3 and A10; a name ends in ``raw`` where step 7 starts from weights without noise."""


@dataclass(kw_only=True, eq=False, repr=False)
class DPAda(PrivateClassifier):
    """Differentially private AdaBoost with a noise schedule, for two classes; by default the repaired DPAda-R.

    Parameters
    ----------
    epsilon : total budget B > 0; ``inf`` releases everything exactly.
    delta : total δ in (0, 1) for composition by zCDP, or None for pure ε.
    domain : public domain with two classes, of which the second is +1; if None, it is read off the records, with a
        warning and an infinite ε on the ledger.
    schedule : which rounds are active: ``"all"``, ``"swing"``, ``"random"`` or ``"improved"``. In the repaired
        algorithm, the other rounds do not touch the data, and round 1 is always active. In the algorithm as written,
        active rounds add noise, and the others read the data without any.
    improved_rule : rule of ``schedule="improved"`` (A8), ``"causal"`` (C1) or ``"definition7"`` as printed.
    n_rounds : number of rounds m ≥ 1.
    learning_rate : fixed α > 0, or None for a noisy α.
    selection_share : share ρ in (0, 1) of a round's budget that pays for the stump when α is noisy.
    filter_rounds : None, or the number R0 of rounds that the budget pays for a record of weight 1; every round then
        costs a record B/R0 times its weight, and records that cannot pay are left out (pure ε only).
    uniform, geometric : number of thresholds of each continuous attribute, see :func:`~dpnb.records.grid.public_grid`.
    reading : None for the repaired algorithm, or the :class:`Reading` of the algorithm as written.

    Attributes
    ----------
    model_ : :class:`~dpnb.records.grid.Additive`.
    schedule_ : (m,) active rounds, drawn before the data are read.

    Notes
    -----
    **Privacy**: With ``reading=None`` and a given domain the model is ``epsilon``-DP, or (``epsilon``, ``delta``)-DP,
    under ``neighbours``. The schedule is drawn in advance. R rounds are active, and each gets 1/R of the budget.
    Weights ``u = min(1, exp(−y F(x)))`` follow from a record and past outputs. One more record adds u ∈ [0, 1] to the
    weight that a stump gets right or to the weight that it gets wrong, never to both. So the choice costs ρ of the
    round (fact F1), and the two noisy weights, with Δ = 1 together, cost the rest. With ``filter_rounds`` a round costs
    the record that differs u·B/R0, given past outputs. That record takes part while the sum of its costs is at most B,
    and whether another record takes part follows from that other record and past outputs. Draws are exact. Sums of the
    weights, which are multiples of 2⁻²⁸, are exact as long as records times attributes are at most 2²⁵.

    References
    ----------
    Zhang, Dong, Xu, Wang (2023), AdaBoost algorithm based on target perturbation, Algorithms 2 to 6; Domingo,
    Watanabe (2000), MadaBoost.
    """

    epsilon: float = 1.0
    delta: float | None = None
    domain: Domain | None = None
    schedule: str = "all"
    improved_rule: str = "causal"
    n_rounds: int = 30
    learning_rate: float | None = None
    selection_share: float = 0.5
    filter_rounds: int | None = None
    uniform: int = 31
    geometric: int = 24
    reading: Reading | None = None
    neighbours: Neighbours = "add-remove"
    random_state: Any = None

    two_classes = True
    _choices: ClassVar = {"schedule": SCHEDULES, "improved_rule": RULES}
    _least: ClassVar = {"n_rounds": 1, "filter_rounds": 1, "uniform": 0, "geometric": 0}
    _released: ClassVar = ("model_",)
    _people: ClassVar = {"reading": (None,)}

    @classmethod
    def as_written(cls, *, reading: Reading | None = None, **parameters: Any) -> Self:
        """Make the paper's algorithm to the letter; it is not ε-DP, as its ledger shows.

        Parameters
        ----------
        reading : how the ambiguities are read; the plainest reading if None. :data:`READINGS` has all readings of A1 to
            A3 and A10.
        parameters : parameters of the class. ``improved_rule`` is ``"definition7"`` unless given.

        Notes
        -----
        **Privacy**: The text claims ε-DP. Stumps, their weights α and the stop have no noise, so ε = ∞.
        """
        text: dict[str, Any] = {"improved_rule": "definition7"}
        return cls(reading=Reading() if reading is None else reading, **(text | parameters))

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        self.schedule_ = curator.public(self._draw_schedule, what="schedule of the rounds")
        grid = public_grid(self.domain_, uniform=self.uniform, geometric=self.geometric)
        with curator.ledger.sequential(f"DPAda, {self.n_rounds} rounds"):
            how = Repaired(self, curator) if self.reading is None else Written(self, self.reading, curator)
            self.model_ = how.boost(records, grid)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_delta(self.delta)
        if self.learning_rate is not None:
            check_step("learning_rate", self.learning_rate)
        check_share("selection_share", self.selection_share)
        if self.filter_rounds is not None and (self.delta is not None or self.reading is not None):
            raise ValueError(
                f"filter_rounds={self.filter_rounds}: the filter is for repaired, pure ε; leave it None"
            )
        if self.reading is not None and self.delta is not None:
            raise ValueError(
                f"delta={self.delta!r}: the algorithm as written knows pure ε only; set delta=None"
            )

    def worst_cost(self) -> Cost:
        """As for every estimator, and infinite as written; with δ, few rounds compose by pure ε, and cost more ρ."""
        stated = super().worst_cost()
        if self.reading is not None:
            return Cost(math.inf, math.inf)
        if self.delta is None or math.isinf(stated.rho):
            return stated
        drawn = self.schedule in ("random", "improved")
        numbers = (1, self.n_rounds) if drawn else (int(self._draw_schedule(np.random.default_rng(0)).sum()),)
        budgets = [(n, self._of_rounds(n)) for n in numbers]
        costs = [
            stated if each.rho is not None else Cost(n * each.epsilon, n * each.epsilon * each.epsilon / 2)
            for n, each in budgets
        ]
        return Cost(max(cost.epsilon for cost in costs), max(cost.rho for cost in costs))

    def _of_rounds(self, number: int) -> RoundBudget:
        """Budget of each round, if there are so many."""
        return round_budget(epsilon=self.epsilon, delta=self.delta, rounds=number, neighbours=self.neighbours)

    def _draw_schedule(self, rng: np.random.Generator) -> Ints:
        """The schedule h_1, …, h_m of either listing."""
        m = self.n_rounds
        if self.schedule == "all":
            drawn = np.ones(m, np.intp)
        elif self.schedule == "swing":
            drawn = swing(m)
        else:
            drawn = random_schedule(m, rng)
            if self.schedule == "improved":
                drawn = causal(drawn) if self.improved_rule == "causal" else definition7(drawn)
        if self.reading is None:
            drawn[0] = 1
        else:
            drawn[0] = self.schedule == "all" and self.reading.noise_in_round_1
        return drawn

    def _votes(self, codes: Floats) -> Floats:
        link = logistic if self.reading is None else half_logistic
        positive = link(self.model_.score(codes))
        return np.stack([1 - positive, positive], axis=1)
