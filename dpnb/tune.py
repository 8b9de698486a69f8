"""Private hyperparameter tuning: the best of a random number of private trials, at the price of a few of them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import gammaln

from .accounting import Step, tight_epsilon
from .arrays import Floats, Ints
from .checks import check_delta, check_epsilon, check_kinds, check_seed, check_share
from .counts import Records
from .curator import Curator, open_curator
from .domain import Categorical, Domain
from .errors import closest
from .estimators import PrivateClassifier, check_domain
from .ledger import Cost, Event, Ledger, Total, zcdp_epsilon

BELOW = 1 - 1e-9  # rounding in an estimator's own accounting must not carry a trial past its budget
ROOTS = np.linspace(0, 7, 20_001)  # √ln(1/s) of tail probabilities s, down to 5e-22


@dataclass(frozen=True)
class Trials:
    """Law of the number K ≥ 1 of trials, truncated negative binomial, and what a selection of the best costs.

    Parameters
    ----------
    mean : expected number of trials, above 1.
    shape : η, at least −1/2: 0 is the logarithmic law, 1 the geometric one of Liu and Talwar. A larger η makes very
        few trials rarer, and dearer.

    Notes
    -----
    With γ from the mean, P(K = k) = E K γ^(η+1) (1 − γ)^(k−1) Γ(k + η) / (Γ(1 + η) k!). Its generating function f has
    f′(1 − s) = E K (γ / (γ + (1 − γ) s))^(1+η).

    The best of K independent outputs is y with probability q f′(1 − s), where q is a trial's probability of y, and s
    that of a better output; the mean over how y itself is cut between "better" and not makes this exact. Data enter by
    q, which every trial bounds, and by s. A neighbour has s′, hence f′ changes by at most the factor

        exp(c),  c = (1 + η) · sup ln (γ + (1 − γ) s′) / (γ + (1 − γ) s).

    Theorem 2 of Papernot and Steinke bounds s′ and s apart. Here the supremum is over pairs (s, s′) that a trial's own
    guarantee allows, which leaves more to each trial.

    Examples
    --------
    >>> law = Trials(mean=10, shape=1)
    >>> round(law.gamma, 9), law.pure(0.5) < 3 * 0.5
    (0.1, True)

    References
    ----------
    Liu, Talwar (2019), Private selection from private candidates; Papernot, Steinke (2022), Hyperparameter tuning with
    Rényi differential privacy, Theorem 2 and Corollary 3.
    """

    mean: float = 10.0
    shape: float = 0.0

    def __post_init__(self) -> None:
        check_kinds(self)
        if not 1 < self.mean < math.inf:
            raise ValueError(f"mean={self.mean!r}: expected a number of trials above 1")
        if not -0.5 <= self.shape < math.inf:
            raise ValueError(f"shape={self.shape!r}: expected at least -0.5; 0 is logarithmic, 1 geometric")

    def __str__(self) -> str:
        return f"negative binomial trials, mean {self.mean:g}, shape {self.shape:g}"

    @cached_property
    def gamma(self) -> float:
        """The parameter γ in (0, 1) that gives the mean."""

        def excess(log: float) -> float:  # log = ln(1/γ)
            share = -math.expm1(-self.shape * log) / self.shape if self.shape else log
            return math.expm1(log) / share - self.mean

        return math.exp(-float(brentq(excess, 1e-12, 2 * math.log(2 * self.mean) + 5, xtol=1e-14)))

    def probability(self, k: Ints) -> Floats:
        """P(K = k) for whole numbers k ≥ 1, (n,)."""
        tail = gammaln(k + self.shape) - math.lgamma(1 + self.shape) - gammaln(k + 1)
        front = math.log(self.mean) + (1 + self.shape) * math.log(self.gamma)
        found: Floats = np.exp(front + (k - 1) * math.log1p(-self.gamma) + tail)
        return found

    def draw(self, rng: np.random.Generator) -> int:
        """Draw K by inversion."""
        left, k = rng.random(), 1
        mass = float(self.probability(np.array([1]))[0])
        while left >= mass > 0:
            left -= mass
            mass *= (1 - self.gamma) * (k + self.shape) / (k + 1)
            k += 1
        return k

    def pure(self, epsilon: float) -> float:
        """Total pure ε of the best of K trials that are ``epsilon``-DP each.

        **Privacy**: pairs with s′ ≤ e^ε s and 1 − s ≤ e^ε (1 − s′) have the supremum at s = 1 / (1 + e^ε), s′ = 1 − s.
        The total ε + (1 + η) ln ((e^ε + γ) / (1 + γ e^ε)) is below the (2 + η) ε of Corollary 3, and no smaller number
        will do: mechanisms of three outputs come as close as one likes.
        """
        shrunk = math.exp(-epsilon)
        return epsilon + (1 + self.shape) * math.log((1 + self.gamma * shrunk) / (shrunk + self.gamma))

    def _excess(self, rho: float) -> float:
        """The number c for trials that are ρ-zCDP: a bound from above, cell by cell, of the supremum.

        Rényi order a gives s′^a s^(1−a) ≤ exp((a − 1) a ρ). The best a is √(ln(1/s) / ρ), and then √ln(1/s′) is at
        least √ln(1/s) − √ρ.
        """
        low = np.append(np.exp(-(ROOTS[1:] ** 2)), 0.0)  # s at the far end of each cell
        high = np.exp(-(np.maximum(ROOTS - math.sqrt(rho), 0.0) ** 2))
        ratio = (self.gamma + (1 - self.gamma) * high) / (self.gamma + (1 - self.gamma) * low)
        return (1 + self.shape) * math.log(float(ratio.max()))

    def approximate(self, rho: float, *, delta: float) -> float:
        """Total ε at δ of the best of K trials that are ``rho``-zCDP each.

        **Privacy**: by convexity of Rényi divergence the best is (a, ρ a + c + ln(E K) / (a − 1))-Rényi DP for every
        order a > 1. In the conversion to (ε, δ) the last term joins ln δ: the total is c, and the ε of a single trial
        at δ / E K.
        """
        return self._excess(rho) + zcdp_epsilon(rho=rho, delta=delta / self.mean)

    def zcdp(self, rho: float) -> float:
        """A zCDP ρ of the best of K trials that are ``rho``-zCDP each, to compose with; dearer than the total at δ.

        **Privacy**: the Rényi bound of :meth:`approximate` is least, ρ + c + 2 √(ρ ln E K), at some order. It holds
        for all orders below, and above it the bound grows slower than the order.
        """
        return rho + self._excess(rho) + 2 * math.sqrt(rho * math.log(self.mean))


class Selection(NamedTuple):
    """What the total of a selection follows from.

    Parameters
    ----------
    trials : law of the number of trials.
    trial : cost of each; its ρ counts if there is a δ, else its ε.
    """

    trials: Trials
    trial: Cost

    def ledger(self, *, delta: float | None, claimed: float) -> TunedLedger:
        """Ledger of the selection."""
        return TunedLedger(*self, delta=delta, claimed=claimed)


class TunedLedger(Ledger):
    """Ledger of a selection: one event, and with δ the total of the theorem, which no ρ can express.

    Parameters
    ----------
    trials, trial : as of :class:`Selection`.
    """

    def __init__(self, trials: Trials, trial: Cost, *, delta: float | None, claimed: float) -> None:
        super().__init__(delta=delta, claimed=claimed)
        self.trials, self.trial = trials, trial
        self.selection = Selection(trials, trial)
        total = math.inf if delta else trials.pure(trial.epsilon)
        rho = trials.zcdp(trial.rho) if delta else total**2 / 2
        what, how = "best of a secret number of trials", f"private selection, {trials}"
        self.book(Event(what=what, mechanism=how, epsilon=np.array(total), rho=np.array(rho)))

    def at(self, delta: float | None) -> Total:
        """Total ε at some δ; events that are booked later compose with the selection by its zCDP cost."""
        if delta is None or len(self.root.children) > 1:
            return super().at(delta)
        return Total(self.trials.approximate(self.trial.rho, delta=delta), "zCDP")


class Tuned(NamedTuple):
    """What :func:`tune` releases.

    Parameters
    ----------
    model : the best trial's fitted estimator, with the whole selection on its ``ledger_``.
    parameters : its candidate setting.
    n_right : noisy number of training records that it classifies rightly.
    """

    model: PrivateClassifier
    parameters: dict[str, Any]
    n_right: int


def tune(
    make: Callable[..., PrivateClassifier],
    candidates: Sequence[Mapping[str, Any]],
    *,
    X: pd.DataFrame,
    y: pd.Series[Any],
    domain: Domain,
    epsilon: float,
    delta: float | None = None,
    trials: Trials | None = None,
    score_share: float = 0.1,
    random_state: Any = None,
) -> Tuned:
    """Fit candidate settings privately a random number of times, and release the best fit only.

    Parameters
    ----------
    make : estimator class, or function; called with ``epsilon``, ``domain``, ``random_state``, a candidate's
        parameters, and ``delta`` if given.
    candidates : settings as keyword arguments, public. A setting that is listed twice is tried twice as often.
    X, y : training records, (n, attributes) and (n,).
    domain : public domain.
    epsilon, delta : total budget of all trials together; δ in (0, 1) for trials that compose by zCDP, None for pure ε.
    trials : law of the number of trials; :class:`Trials` with its defaults if None.
    score_share : part of a trial's budget that pays for its score, in (0, 1).
    random_state : seed, Generator or None. Number of trials and noise follow from it: keep it secret.

    Returns
    -------
    :class:`Tuned`. A trial's own budget is ``model.epsilon`` and what it paid for the score; the total of the
    selection is ``model.ledger_.epsilon``.

    Raises
    ------
    ValueError, TypeError
        For no candidates or none that ``make`` takes, a budget or share out of range, and an estimator that spends more
        than its budget; never for what the records hold: misfits are moved into the domain, as by a fit.

    Notes
    -----
    **Privacy**: ``epsilon``-DP, or (``epsilon``, ``delta``)-DP, under add/remove. A trial draws a candidate, fits it,
    and counts the records that it classifies rightly, Δ = 1, with geometric noise: model and count are one private
    output, ordered by the count. :class:`Trials` bounds what the best of K such outputs costs. Equal counts go to the
    earlier trial: the trials are independent and alike, so this is a fair draw. K, the other trials and their counts
    are not released; the running time tells of K, hide it where others can see it.
    """
    _check_candidates(make, candidates, delta=delta)
    check_share("score_share", score_share)
    check_delta(delta)
    check_seed(random_state)
    if domain is None:
        raise TypeError(
            "domain is None: expected a Domain, since what a trial reads off the records is not private"
        )
    check_domain(domain)
    trials = Trials() if trials is None else trials
    if not isinstance(trials, Trials):
        raise TypeError(f"trials={trials!r}: expected Trials(mean=10), the law of their number")
    trial = trial_cost(trials, epsilon=check_epsilon(epsilon), delta=delta)
    fit, score = _shares(trial, score_share=score_share, delta=delta)
    budget = {"epsilon": fit.epsilon, "domain": domain} | ({} if delta is None else {"delta": delta})
    records = Records(X, y, domain=domain, strict=False)
    codes = domain.move(X)
    ledger = TunedLedger(trials, trial, delta=delta, claimed=epsilon)
    curator = open_curator(rng=np.random.default_rng(random_state), ledger=ledger)
    best: Tuned | None = None
    for _ in range(curator.public(trials.draw, what="number of trials")):
        at = curator.public(lambda rng: int(rng.integers(len(candidates))), what="candidate")
        fit_seed, score_seed = curator.public(lambda rng: rng.integers(2**63, size=2).tolist(), what="seeds")
        model = make(**budget, random_state=fit_seed, **candidates[at])
        _check_spent(model.fit(records), fit, delta=delta)
        scratch = Ledger(claimed=score)
        door = open_curator(rng=np.random.default_rng(score_seed), ledger=scratch)
        n_right = _noisy_score(door, model, codes, y, epsilon=score)
        if best is None or n_right > best.n_right:
            best = Tuned(model, dict(candidates[at]), n_right)
    assert best is not None
    best.model.set_params(random_state=None).ledger_ = ledger  # the seed would give the noise away
    return best


def _check_candidates(make: object, candidates: object, *, delta: object) -> None:
    """Raise unless ``make`` can be called with each of the candidates."""
    if not callable(make):
        raise TypeError(
            f"make is of type {type(make).__name__}: expected an estimator class, such as PrivateBooster, or a function"
        )
    if isinstance(candidates, Mapping) or not isinstance(candidates, Sequence):
        grid = "list(sklearn.model_selection.ParameterGrid(candidates)) makes one of a grid"
        raise TypeError(f"candidates={candidates!r}: expected a list of dicts of parameters; {grid}")
    if not candidates:
        raise ValueError("candidates is empty: give at least one setting, {} stands for the defaults")
    takes = inspect.signature(make).parameters.values()
    known = [p.name for p in takes]
    anything = any(p.kind is p.VAR_KEYWORD for p in takes)
    if delta is not None and not anything and "delta" not in known:
        name = getattr(make, "__name__", make)
        raise ValueError(f"delta={delta!r}: {name} takes none; expected None for pure DP, or PrivateBooster")
    for setting in candidates:
        if not isinstance(setting, Mapping):
            raise TypeError(
                f"candidate {setting!r}: expected a dict of parameters, such as {{'max_depth': 3}}"
            )
        if not anything and (unknown := [name for name in setting if name not in known]):
            close = closest(unknown[0], known)
            hint = f"did you mean {close!r}?" if close else f"there are {', '.join(known)}"
            raise ValueError(f"candidate {dict(setting)}: expected parameters, got {unknown[0]!r}; {hint}")


def trial_cost(trials: Trials, *, epsilon: float, delta: float | None) -> Cost:
    """Largest budget of a single trial for which the selection costs no more than a total.

    Parameters
    ----------
    trials : law of the number of trials.
    epsilon, delta : the total, finite; with δ trials are measured by ρ, without by pure ε.

    Returns
    -------
    Cost with ε and ε²/2, or with ρ and an infinite ε.
    """
    if math.isinf(epsilon):
        raise ValueError("epsilon=inf: without privacy, tune by scikit-learn's GridSearchCV")
    if delta is None:
        best = _largest(trials.pure, total=epsilon)
        return Cost(best, best**2 / 2)
    rho = _largest(lambda rho: trials.approximate(rho, delta=delta), total=epsilon)
    return Cost(math.inf, rho)


def _largest(price: Callable[[float], float], *, total: float) -> float:
    """Largest budget in (0, total) whose increasing price does not exceed the total."""
    low, high = 0.0, total
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if price(middle) <= total else (low, middle)
    if low == 0.0:
        raise ValueError(f"epsilon={total!r} is too small for any trial: raise epsilon or delta")
    return low


def _shares(trial: Cost, *, score_share: float, delta: float | None) -> tuple[Cost, float]:
    """What a trial may spend on its fit, and the ε of its score."""
    if delta is None:
        own = (1 - score_share) * trial.epsilon * BELOW
        return Cost(own, own**2 / 2), score_share * trial.epsilon
    rho = (1 - score_share) * trial.rho * BELOW
    claim = tight_epsilon((Step("gaussian", math.sqrt(2 * rho)),), delta=delta)  # no fit books more ρ for it
    return Cost(claim, rho), math.sqrt(2 * score_share * trial.rho)


def _check_spent(model: PrivateClassifier, budget: Cost, *, delta: float | None) -> None:
    """Raise ValueError if an estimator's own ledger exceeds what the trial was booked for."""
    ledger: Ledger = model.ledger_
    unit, spent, allowed = (
        ("ε", ledger.pure_epsilon, budget.epsilon) if delta is None else ("ρ", ledger.rho, budget.rho)
    )
    if not spent * BELOW <= allowed:
        raise ValueError(
            f"{type(model).__name__} spent {unit} = {spent:.6g} of {allowed:.6g}: a trial must keep to its budget; "
            "take a private variant, and with delta one that composes by zCDP over many rounds"
        )


def _noisy_score(
    curator: Curator, model: PrivateClassifier, codes: Floats, y: pd.Series[Any], *, epsilon: float
) -> int:
    """Number of encoded records that a model classifies rightly, with geometric noise.

    **Privacy**: ``epsilon``-DP and ε²/2-zCDP given the model: one record more adds 0 or 1.
    """
    classes = model.domain_.classes
    answers = pd.DataFrame({"answer": model.classes_[model._probabilities(codes).argmax(axis=1)]})
    public = Domain((Categorical("answer", classes),), classes)
    cohort = Records(answers, y, domain=public, strict=False).cohort()
    found = cohort.value_counts(np.array([[0]]))
    right = found.counts[np.arange(len(found.value)), found.value.astype(np.intp)].sum()
    noisy = curator.geometric(
        np.array([right], int), epsilon=epsilon, sensitivity=1, what="records classified rightly"
    )
    return int(noisy[0])
