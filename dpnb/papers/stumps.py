"""Parts of learners that choose a stump in each of several rounds: equal budgets, the choice, AdaBoost's steps."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..boosting.booster import logistic
from ..privacy.curator import Curator
from ..privacy.ledger import Neighbours, zcdp_rho
from ..records.grid import Stump

# Share of a budget with δ that rounds get, so that rounding in sums does not carry the total past ε.
BELOW = 1 - 1e-12


class RoundBudget(NamedTuple):
    """Budget of one of several equal rounds."""

    epsilon: float  # pure ε of a round
    rho: float | None  # zCDP ρ of a round; None where rounds compose by pure ε

    def times(self, factor: float) -> RoundBudget:
        """Budget of several rounds."""
        if self.rho is None:
            return RoundBudget(self.epsilon * factor, None)
        return RoundBudget(self.epsilon * float(np.sqrt(factor)), self.rho * factor)


@lru_cache(maxsize=256)
def _rho(epsilon: float, delta: float) -> float:
    return zcdp_rho(epsilon=epsilon, delta=delta) * BELOW


def round_budget(
    *, epsilon: float, delta: float | None, rounds: int, neighbours: Neighbours = "add-remove"
) -> RoundBudget:
    """Share a total (ε, δ) equally among rounds that all see the same records.

    With δ, rounds compose by zCDP, unless they are so few that pure ε leaves more for each of them.

    Parameters
    ----------
    epsilon : total ε > 0 under ``neighbours``.
    delta : total δ in (0, 1), or None for pure ε.
    rounds : number of rounds.
    """
    replace = neighbours == "replace"
    pure = epsilon / (2 if replace else 1) / rounds
    if delta is None:
        return RoundBudget(pure, None)
    rho = _rho(epsilon, delta) / (4 if replace else 1) / rounds
    selection = float(np.sqrt(8 * rho))  # the pure ε of a selection that costs ρ
    return RoundBudget(selection, rho) if selection > pure else RoundBudget(pure * BELOW, None)


def select_stump(curator: Curator, right: Floats, budget: RoundBudget, *, share: float = 1.0) -> int:
    """Choose a stump by its weight of rightly classified records.

    Parameters
    ----------
    right : (candidates,) from :meth:`~dpnb.records.memory.WeightedRecords.right`, with weights in [0, 1].
    budget : budget of the round.
    share : part of the budget that the choice may use, in (0, 1].

    **Privacy**: one more record of weight u ≤ 1 adds u to the candidates that are right on it and nothing to the
    others. So the score is monotone with Δ = 1, and by fact F1 the rate is ε itself. With pure ε the mechanism is
    permute-and-flip. With zCDP it is the exponential mechanism with ε = √(8ρ), which is ε²/8 = ρ-zCDP.
    """
    how: dict[str, Any] = {"starts": np.array([0]), "sensitivity": 1.0, "monotone": True, "what": "stump"}
    if budget.rho is None:
        chosen: Ints = curator.permute_and_flip(right, epsilon=share * budget.epsilon, **how)
    else:
        chosen = curator.exponential(right, epsilon=np.sqrt(8 * share * budget.rho), **how)
    return int(chosen[0])


def publish_stump(curator: Curator, stump: Stump, *, why: str) -> Stump:
    """Release a stump that was chosen without noise, which costs ε = ∞; a stump without a condition has cut 0."""
    numbers = np.array([stump.kind, stump.attribute, np.nan_to_num(stump.cut), stump.sign], float)
    kind, attribute, cut, sign = curator.exact(numbers, why=why).tolist()
    return Stump(int(kind), int(attribute), cut, sign)


def half_logistic(score: Floats) -> Floats:
    """Probability of the positive class at a score of AdaBoost, ``1 / (1 + exp(−2F))``, the inverse of half log odds.

    References
    ----------
    Friedman, Hastie, Tibshirani (2000), Additive logistic regression: a statistical view of boosting, Lemma 1.
    """
    return logistic(2 * score)


def half_log_odds(error: float) -> float:
    """AdaBoost's weight of a learner of weighted error e, ``½ ln((1 − e) / e)``."""
    return 0.5 * math.log((1 - error) / error)  # NumPy's last bit depends on the processor
