"""Private tuning, as chapter 9 derives it: the best of a random number of private trials, at the price of a few.

It is a study, not a tool: the defaults beat it in every case that was measured.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from dpnb.boosting.booster import PrivateBooster
from dpnb.data.datasets import Dataset
from dpnb.errors import FewRecordsWarning
from dpnb.estimators.base import PrivateClassifier
from dpnb.privacy.accounting import Step, tight_epsilon, zcdp_epsilon
from dpnb.privacy.curator import Curator
from dpnb.privacy.ledger import Ledger

from ..studies.runs import DELTA, Cell, Study, cells, data_of, records_of
from ..studies.scores import probability_scores

OF_SCORE = 0.1  # share of a trial's budget that pays for its score
ROOTS = np.linspace(0, 7, 20_001)  # √ln(1/s) of tail probabilities s, down to 5e-22


@dataclass(frozen=True)
class Trials:
    """Law of the number K ≥ 1 of trials, truncated negative binomial, and what the best of them costs.

    Notes
    -----
    With γ from the mean, P(K = k) = E K γ^(η+1) (1 − γ)^(k−1) Γ(k + η) / (Γ(1 + η) k!). Chapter 9 derives the prices.

    References
    ----------
    Liu, Talwar (2019), Private selection from private candidates; Papernot, Steinke (2022), Hyperparameter tuning with
    Rényi differential privacy, Theorem 2 and Corollary 3.
    """

    mean: float = 10.0  # expected number of trials, above 1
    # η, at least −1/2: 0 is the logarithmic law, 1 the geometric one of Liu and Talwar. A larger η makes very
    # few trials rarer, and dearer.
    shape: float = 0.0

    @cached_property
    def gamma(self) -> float:
        """The parameter γ in (0, 1) that gives the mean."""

        def excess(log: float) -> float:  # log = ln(1/γ)
            share = -math.expm1(-self.shape * log) / self.shape if self.shape else log
            return math.expm1(log) / share - self.mean

        return math.exp(-float(brentq(excess, 1e-12, 2 * math.log(2 * self.mean) + 5, xtol=1e-14)))

    def draw(self, rng: np.random.Generator) -> int:
        """Draw K by inversion."""
        left, k, mass = rng.random(), 1, self.mean * self.gamma ** (1 + self.shape)
        while left >= mass > 0:
            left -= mass
            mass *= (1 - self.gamma) * (k + self.shape) / (k + 1)
            k += 1
        return k

    def excess(self, rho: float) -> float:
        """The number c of the theorem for trials that are ρ-zCDP: the supremum, bounded from above cell by cell."""
        low = np.append(np.exp(-(ROOTS[1:] ** 2)), 0.0)  # s at the far end of each cell
        high = np.exp(-(np.maximum(ROOTS - math.sqrt(rho), 0.0) ** 2))
        ratio = (self.gamma + (1 - self.gamma) * high) / (self.gamma + (1 - self.gamma) * low)
        return (1 + self.shape) * math.log(float(ratio.max()))

    def price(self, trial: float, *, delta: float | None) -> float:
        """Total ε of the best of K trials that are ``trial``-zCDP each, at some δ; or, without δ, ``trial``-DP."""
        if delta is not None:
            return self.excess(trial) + zcdp_epsilon(rho=trial, delta=delta / self.mean)
        shrunk = math.exp(-trial)
        return trial + (1 + self.shape) * math.log((1 + self.gamma * shrunk) / (shrunk + self.gamma))

    def trial(self, *, epsilon: float, delta: float | None) -> float:
        """Largest ρ of a trial, or without δ its pure ε, for which the best costs no more than a total."""
        low, high = 0.0, epsilon
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.price(middle, delta=delta) <= epsilon else (low, middle)
        return low


class Tuned(NamedTuple):
    """The best trial."""

    model: PrivateClassifier  # its estimator, whose `ledger_` knows this one trial only
    setting: Mapping[str, Any]  # its candidate
    n_right: int  # noisy number of training records that it classifies rightly
    epsilon: float  # what the whole selection costs


def tune(
    make: Callable[..., PrivateClassifier],
    candidates: Sequence[Mapping[str, Any]],
    data: Dataset,
    *,
    epsilon: float,
    delta: float | None,
    trials: Trials,
    random_state: Any,
) -> Tuned:
    """Fit candidate settings privately a random number of times, and keep the best fit only.

    Parameters
    ----------
    make : estimator class.
    candidates : settings as keyword arguments, public.
    data : records and public domain.
    epsilon, delta : total budget; δ in (0, 1) for trials that compose by zCDP, None for pure ε.
    trials : law of the number of trials.
    random_state : seed or Generator.

    Notes
    -----
    **Privacy**: what is returned is (``epsilon``, ``delta``)-DP under add/remove, provided that nothing else gets out,
    neither K nor a trial that lost. A trial draws a candidate, fits it and counts the records that it classifies
    rightly, Δ = 1, with geometric noise: model and count are one private output, ordered by the count. Equal counts
    go to the earlier trial: the trials are alike, so that this is a fair draw.

    This study does not keep what it must to be used on people's records: K shows in its running time, and all of it
    follows from ``random_state``, trials from seeds of 63 bits, so that results can be repeated.
    """
    each, rng = trials.trial(epsilon=epsilon, delta=delta), np.random.default_rng(random_state)
    # Rounding in an estimator's own accounting must not carry a trial past its budget.
    of_fit, of_score = (1 - OF_SCORE) * each * (1 - 1e-9), OF_SCORE * each
    how: dict[str, Any] = {"epsilon": of_fit}
    if delta is not None:  # whoever claims this books no more than that ρ
        claim = tight_epsilon((Step("gaussian", math.sqrt(2 * of_fit)),), delta=delta)
        how, of_score = {"epsilon": claim, "delta": delta}, math.sqrt(2 * of_score)
    best: Tuned | None = None
    for _ in range(trials.draw(rng)):
        setting = candidates[int(rng.integers(len(candidates)))]
        seed, seed_of_score = rng.integers(2**63, size=2).tolist()
        model = make(domain=data.domain, random_state=seed, **how, **setting)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewRecordsWarning)  # it tells the count of a trial that may lose
            model.fit(*data.train)
        n_right = noisy_score(model, data, epsilon=of_score, random_state=seed_of_score)
        if best is None or n_right > best.n_right:
            best = Tuned(model, setting, n_right, trials.price(each, delta=delta))
    assert best is not None
    return best


def noisy_score(model: PrivateClassifier, data: Dataset, *, epsilon: float, random_state: int) -> int:
    """Number of training records that a model classifies rightly, with noise: one record more adds 0 or 1."""
    X, y = data.train
    right = np.array([(model.predict(X) == y).sum()])
    curator = Curator(rng=np.random.default_rng(random_state), ledger=Ledger(claimed=epsilon))
    return int(curator.geometric(right, epsilon=epsilon, sensitivity=1, what="records classified rightly")[0])


PURE = ", pure"
DEFAULTS, TUNED, DRAWN = "defaults", "tuned", "drawn blindly"
ROUNDS = {True: (50, 150, 300), False: (20, 45, 100)}  # with and without δ: numbers of rounds that are tried
RATES = (0.1, 0.2, 0.4)
SETS = ("adult-standin", "adult", "bank")
REPEATS = 10


def candidates(delta: float) -> Sequence[Mapping[str, Any]]:
    """Nine settings of rounds and learning rate, public; the defaults on Adult at ε = 1 are nearly among them."""
    return [{"n_rounds": m, "learning_rate": rate} for m in ROUNDS[delta > 0] for rate in RATES]


def measure_tuning(cell: Cell) -> dict[str, float]:
    """Accuracy, AUC, log loss and calibration error at equal total ε, what was spent in all, and a fit's own ε.

    ``drawn blindly`` fits one of the candidates, drawn at random, with the whole budget: what tuning has to beat where
    no good defaults are known.
    """
    records, codes, labels = records_of(cell.dataset)
    rng, delta = cell.random_state(), delta_of(cell)
    budget: dict[str, Any] = {"epsilon": cell.epsilon, "delta": delta or None, "domain": records.domain}
    method, settings = cell.method.removesuffix(PURE), candidates(delta)
    if method == TUNED:
        how: dict[str, Any] = {"epsilon": cell.epsilon, "delta": delta or None, "trials": Trials()}
        tuned = tune(PrivateBooster, settings, data_of(cell.dataset), random_state=rng, **how)
        model: Any = tuned.model
        spent = tuned.epsilon
    else:
        chosen = settings[int(rng.integers(len(settings)))] if method == DRAWN else {}
        model = PrivateBooster(**budget, random_state=rng, **chosen).fit(records)
        spent = model.ledger_.epsilon
    found = probability_scores(model._votes(codes)[:, 1], labels)
    return found | {"ledger_epsilon": spent, "fit_epsilon": float(model.epsilon)}


def delta_of(cell: Cell) -> float:
    """δ of a method, 0 for pure ε."""
    return 0.0 if cell.method.endswith(PURE) else DELTA


def tuning_grid() -> Study:
    """Defaults, blind draws and private tuning at ε = 1, with δ = 1e-5 and pure."""
    methods = [name + end for end in ("", PURE) for name in (DEFAULTS, TUNED, DRAWN)]
    found = cells(method=methods, dataset=SETS, max_depth=1, epsilon=1.0, seed=range(REPEATS))
    return Study("tuning", found, measure_tuning, delta_of)


GRIDS = {"tuning": tuning_grid}
