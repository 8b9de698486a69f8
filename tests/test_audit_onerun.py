"""One-run audits: the theorems by simulation, canaries for any estimator, guesses that are learnt; each with a twin.

Private subjects are audited at confidence 1 - 1e-6; levels are counted as in the tests of curves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

from dpnb import Categorical, Continuous, Domain
from private_trees.auditing import onerun
from private_trees.auditing.curves import gaussian_epsilon
from private_trees.auditing.onerun import lay_out, one_run, one_run_epsilon, one_run_mu, own_label, tail_fits

SURE = 1 - 1e-6
SIDE = 64
DOMAIN = Domain((Continuous("a", 0, 1), Continuous("b", 0, 10), Categorical("c", ("u", "v"))), ("no", "yes"))
EMPTY = pd.DataFrame({"a": [0.5], "b": [5.0], "c": ["u"]}), pd.Series(["no"])


class Grid:
    """A tree whose splits are public: 8 192 cells, class counts with Laplace noise of scale 1/ε each."""

    classes_ = ("no", "yes")

    def __init__(self, epsilon: float = 1.0, random_state: int | None = None) -> None:
        self.epsilon, self.random_state = epsilon, random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return vars(self)

    def set_params(self, **given: Any) -> Grid:
        vars(self).update(given)
        return self

    def cells(self, X: Any) -> np.ndarray:
        a, b = (
            np.minimum(np.asarray(X[name]) / top * SIDE, SIDE - 1).astype(int)
            for name, top in (("a", 1), ("b", 10))
        )
        return (a * SIDE + b) * 2 + (np.asarray(X["c"]) == "v")

    def fit(self, X: Any, y: Any) -> Grid:
        counts = np.zeros((2 * SIDE**2, 2))
        np.add.at(counts, (self.cells(X), (np.asarray(y) == "yes").astype(int)), 1)
        rng = np.random.default_rng(self.random_state)
        vars(self)["table"] = np.maximum(
            counts + rng.laplace(scale=1 / self.epsilon, size=counts.shape), 1e-9
        )
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        table = vars(self)["table"][self.cells(X)]
        return table / table.sum(axis=1, keepdims=True)


class Labels(Grid):
    """Tells labels only."""

    predict_proba = None

    def __getattribute__(self, name: str) -> Any:
        if name == "predict_proba":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def predict(self, X: Any) -> np.ndarray:
        return np.where(np.argmax(vars(self)["table"][self.cells(X)], axis=1), "yes", "no")


def audited(kind: type[Grid], epsilon: float, *, n: int = 4_000, seed: int = 0, **more: Any) -> Any:
    canaries, alternates = lay_out(DOMAIN, n, seed=seed)
    settings = {"claimed": 1.0, "confidence": SURE, "guesses": "learnt", "seed": seed} | more
    if settings.pop("replace", False):
        settings["alternates"] = alternates
    return one_run(lambda: kind(epsilon), *EMPTY, canaries, **settings)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("kind", [Grid, Labels])
def test_a_third_of_the_noise_is_convicted_in_one_fit(kind: type[Grid], replace: bool) -> None:
    factor = 0.5 if replace else 1.0  # a record that changes its class changes two counts
    broken = audited(kind, 3 * factor, replace=replace, confidence=0.99)
    assert broken.violated
    assert broken.neighbours == ("replace" if replace else "add-remove")
    assert broken.trials == 1
    for seed in range(2):
        assert not audited(kind, factor, replace=replace, seed=seed).violated


def test_learnt_guesses_show_more_than_all_of_them() -> None:
    learnt, forced = (
        np.mean(
            [audited(Grid, 3.0, confidence=0.95, guesses=how, seed=seed).lower_bound for seed in range(3)]
        )
        for how in ("learnt", None)
    )
    assert learnt > 1.5 * forced


def test_delta_asks_for_fixed_numbers_of_guesses() -> None:
    pure = audited(Grid, 3.0, confidence=0.95)
    approximate = audited(Grid, 3.0, confidence=0.95, delta=1e-6)
    assert approximate.violated
    assert approximate.lower_bound <= pure.lower_bound + 0.3
    assert audited(Grid, 3.0, confidence=0.95, delta=0.05).lower_bound < approximate.lower_bound


def test_a_reference_removes_what_all_models_say() -> None:
    reference = Grid(1.0, random_state=9).fit(*EMPTY)
    assert audited(Grid, 20.0, reference=reference, confidence=0.99).violated
    with pytest.raises(ValueError, match="learnt'"):
        audited(Grid, 1.0, guesses="some")
    with pytest.raises(ValueError, match="at least 40"):
        audited(Grid, 1.0, n=20)


def test_canaries_are_spread_over_the_public_domain() -> None:
    (X, y), (same, other) = lay_out(DOMAIN, 1_000, seed=1)
    DOMAIN.check(X, y)
    DOMAIN.check(same, other)
    assert (y != other).all()
    assert X["a"].nunique() == X["b"].nunique() == 1_000
    assert X["c"].value_counts().tolist() == [500, 500]
    assert abs(np.corrcoef(X["a"], X["b"])[0, 1]) < 0.1
    cells = pd.Series(Grid().cells(X))
    assert cells.nunique() > 900
    assert not X.index.isin(EMPTY[0].index).any()
    with pytest.raises(ValueError, match="is a date"):
        lay_out(Domain((Continuous("day", "2001-01-01", "2001-12-31"),), (0, 1)), 10)


def test_alternates_are_as_many() -> None:
    canaries, alternates = lay_out(DOMAIN, 50)
    short = alternates[0][:10], alternates[1][:10]
    with pytest.raises(ValueError, match="10 alternates"):
        one_run(Grid, *EMPTY, canaries, claimed=1.0, alternates=short)


def test_scores_of_labels() -> None:
    (X, y), _ = lay_out(DOMAIN, 50)
    assert set(own_label(Labels(1.0, 0).fit(X, y), X, y)) <= {0.0, 1.0}


# --- Theorems -----------------------------------------------------------------------------------------------


def plausible(failures: int, repetitions: int, *, level: float) -> bool:
    return bool(binom.sf(failures - 1, repetitions, level) > 1e-6)


def gaussian_guesses(mu: float, m: int, r: int, rng: np.random.Generator) -> int:
    """Correct guesses at both ends, of one number with Gaussian noise a canary."""
    inside = rng.random(m) < 0.5
    ranked = inside[np.argsort(mu * inside + rng.normal(size=m))]
    return int((~ranked[: r // 2]).sum() + ranked[m - (r - r // 2) :].sum())


@pytest.mark.parametrize(("m", "r"), [(200, 200), (2_000, 40)])
def test_mu_bounds_have_their_level(m: int, r: int) -> None:
    mu, alpha, repetitions = 1.0, 0.1, 400
    rng = np.random.default_rng(m)
    found = [gaussian_guesses(mu, m, r, rng) for _ in range(repetitions)]
    bounds = {v: one_run_mu(v, r, canaries=m, confidence=1 - alpha) for v in set(found)}
    assert plausible(sum(bounds[v] > mu for v in found), repetitions, level=alpha)
    assert np.mean([bounds[v] for v in found]) > 0.3
    if r < m:  # broken twin: forgets who abstained
        forgot = {v: one_run_mu(v, r, confidence=1 - alpha) for v in set(found)}
        assert not plausible(sum(forgot[v] > mu for v in found), repetitions, level=alpha)


def revealed(epsilon: float, delta: float, m: int, rng: np.random.Generator) -> int:
    """Correct guesses of randomised response that tells the truth for certain with probability δ a canary."""
    right = rng.random(m) < 1 / (1 + math.exp(-epsilon))
    return int((right | (rng.random(m) < delta)).sum())


def test_bounds_with_delta_have_their_level() -> None:
    epsilon, delta, m, alpha, repetitions = 1.0, 0.05, 300, 0.05, 2_000
    rng = np.random.default_rng(3)
    found = [revealed(epsilon, delta, m, rng) for _ in range(repetitions)]
    bounds = {v: one_run_epsilon(v, m, confidence=1 - alpha, delta=delta) for v in set(found)}
    assert plausible(sum(bounds[v] > epsilon for v in found), repetitions, level=alpha)
    forgot = {v: one_run_epsilon(v, m, confidence=1 - alpha) for v in set(found)}  # broken twin: no δ
    assert not plausible(sum(forgot[v] > epsilon for v in found), repetitions, level=alpha)


def test_both_theorems_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of the two tails is smaller depends on δ; the bound is never below that of the first alone."""
    cases = [(800, 1_000, 1_000, 1e-6), (800, 1_000, 1_000, 0.02), (95, 100, 1_000, 1e-3)]
    both = [one_run_epsilon(v, r, canaries=m, delta=delta, confidence=0.95) for v, r, m, delta in cases]
    monkeypatch.setattr(onerun, "tail_fits", lambda *_, **__: True)
    first = [one_run_epsilon(v, r, canaries=m, delta=delta, confidence=0.95) for v, r, m, delta in cases]
    assert all(a >= b for a, b in zip(both, first, strict=True))
    assert both[0] == first[0]
    assert both[1] > first[1] + 0.1


def test_the_tail_by_hand() -> None:
    """One canary, one guess: being right has at most the probability at which the curve meets its diagonal."""
    for mu in (0.5, 2.0):
        most = norm.cdf(mu / 2)
        law = onerun._Gaussian(mu)
        assert tail_fits(law, 1, guesses=1, canaries=1, tail=most - 1e-6)
        assert not tail_fits(law, 1, guesses=1, canaries=1, tail=most + 1e-6)
    law = onerun._Approximate(1.0, 0.1)
    most = (math.exp(1) + 0.1) / (1 + math.exp(1))
    assert tail_fits(law, 1, guesses=1, canaries=1, tail=most - 1e-6)
    assert not tail_fits(law, 1, guesses=1, canaries=1, tail=most + 1e-6)


def test_the_tail_contains_all_that_randomised_response_does() -> None:
    epsilon, r = 1.0, 40
    law = onerun._Approximate(epsilon, 0.0)
    for v in range(r + 1):
        exact = float(binom.sf(v - 1, r, 1 / (1 + math.exp(-epsilon))))
        assert tail_fits(law, v, guesses=r, canaries=r, tail=exact * (1 - 1e-9))
        assert tail_fits(law, v, guesses=r, canaries=5 * r, tail=exact * (1 - 1e-9))
    assert not tail_fits(law, 38, guesses=r, canaries=r, tail=0.05)


def test_a_gaussian_claim_is_refuted_where_epsilon_alone_is_not() -> None:
    m, mu = 2_000, 2.0
    v = gaussian_guesses(mu, m, m, np.random.default_rng(1))
    bound = one_run_mu(v, m, confidence=0.95)
    assert 0.3 * mu < bound < mu
    assert gaussian_epsilon(bound, delta=1e-5) > 1.5 * one_run_epsilon(v, m, confidence=0.95, delta=1e-5)
