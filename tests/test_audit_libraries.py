"""Other people's libraries by replay: what is found in broken subjects, at which line, and nothing in honest ones.

Most tests use a small stand-in with the interface of diffprivlib's mechanisms; those on the libraries themselves are
skipped where they are not installed.
"""

from __future__ import annotations

import importlib
import inspect
import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from dpaudit import AttackError, AuditSettings, adapted, assert_private, examine, library_replay, pairs
from dpaudit.assertion import PrivacyViolation
from dpaudit.libraries import SEEDS, LibraryFinding
from dpaudit.outputs import NoisyNumber, Selected, SideBySide
from dpaudit.primitives import LIBRARIES, of_diffprivlib
from dpaudit.retell import again

NAME = "diffprivlib.mechanisms"


# --- A stand-in -----------------------------------------------------------------------------------------------


class DPMechanism:
    """As the base class of that library: a generator that is shared with the model, and attributes for parameters."""

    def __init__(self, random_state: Any = None, **parameters: Any) -> None:
        vars(self).update({"delta": 0.0, "random_state": random_state, "_rng": random_state}, **parameters)


class Laplace(DPMechanism):
    def randomise(self, value: float) -> float:
        scale = self.sensitivity / self.epsilon
        return float(value + (scale * self._rng.laplace() if scale else 0.0))


class LaplaceTruncated(Laplace):
    def randomise(self, value: float) -> float:
        return float(min(max(super().randomise(value), self.lower), self.upper))  # a call within a call


class LaplaceBoundedDomain(Laplace):
    def _find_scale(self) -> float:
        return 2 * self.sensitivity / self.epsilon

    def randomise(self, value: float) -> float:
        while True:  # takes as many random numbers as it needs
            noisy = float(value + self._find_scale() * self._rng.laplace())
            if self.lower <= noisy <= self.upper:
                return noisy


class Gaussian(DPMechanism):
    @property
    def _scale(self) -> float:
        return float(self.sensitivity * math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon)

    def randomise(self, value: float) -> float:
        return float(value + self._scale * self._rng.standard_normal())


class PermuteAndFlip(DPMechanism):
    measure = candidates = None
    monotonic = False

    def randomise(self) -> int:
        return int(self._rng.choice(len(self.utility)))


class Wishart(DPMechanism):
    """Nobody has written down its law here."""

    def randomise(self, value: Any) -> Any:
        return value + self._rng.standard_normal(value.shape)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType(NAME)
    module.DPMechanism = DPMechanism  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, NAME, module)
    return module


@dataclass
class Subject:
    """A model that releases what a function of the data and a generator says."""

    release: Callable[..., Any]
    random_state: int | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"random_state": self.random_state}

    def set_params(self, random_state: int) -> Subject:
        self.random_state = random_state
        return self

    def fit(self, X: Any, y: Any) -> Subject:
        x = np.clip(np.asarray(X, float)[:, 0], 0, 1)
        self.released_ = self.release(x, np.random.RandomState(self.random_state % 2**31))
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


def replayed(release: Callable[..., Any], first: Any, second: Any, **settings: Any) -> list[LibraryFinding]:
    data = [(np.array(x, float)[:, None], np.zeros(len(x), int)) for x in (first, second)]
    return library_replay(
        partial(Subject, release), *data, **{"claimed": 1.0, "neighbours": "replace"} | settings
    )


def line_of(release: Callable[..., Any], words: str) -> str:
    lines, start = inspect.getsourcelines(release)
    number = next(i for i, line in enumerate(lines) if words in line)
    return f"{release.__module__}:{start + number} {release.__name__}"


FIRST, SECOND = [0.2, 0.4, 0.0], [0.2, 0.4, 1.0]


# --- Honest subjects ------------------------------------------------------------------------------------------


def a_sum(x: Any, rng: Any) -> float:
    return Laplace(rng, epsilon=1.0, sensitivity=1.0).randomise(x.sum())


def two_halves(x: Any, rng: Any) -> list[float]:
    """The second call takes its bounds from the first one's output, and another number from the generator."""
    first = LaplaceBoundedDomain(rng, epsilon=0.5, sensitivity=1.0, lower=-5.0, upper=9.0).randomise(x.sum())
    upper = first + 5 + rng.random()
    return [
        first,
        LaplaceTruncated(rng, epsilon=0.5, sensitivity=1.0, lower=0.0, upper=upper).randomise(x.sum()),
    ]


def a_vote(x: Any, rng: Any) -> int:
    counts = [float((x < 0.5).sum()), float((x >= 0.5).sum())]
    return PermuteAndFlip(rng, epsilon=1.0, sensitivity=1.0, utility=counts).randomise()


@pytest.mark.parametrize("release", [a_sum, two_halves, a_vote])
def test_nothing_is_found_in_an_honest_subject(library: ModuleType, release: Callable[..., Any]) -> None:
    (finding,) = replayed(release, FIRST, SECOND)
    assert (finding.what, finding.violated, finding.flagged) == ("all calls", False, False)
    assert 0 < finding.lower_bound <= 1 + 1e-9
    assert finding.event.startswith(
        {"a_sum": "1 Laplace", "a_vote": "1 Permute"}.get(release.__name__, "1 Laplace")
    )
    assert finding.calls == (2 if release is two_halves else 1)


def test_the_worst_outputs_cost_what_the_proof_says(library: ModuleType) -> None:
    assert replayed(a_sum, FIRST, SECOND)[0].lower_bound == pytest.approx(1)
    assert replayed(a_sum, FIRST, FIRST)[0].lower_bound == 0
    assert replayed(a_vote, FIRST, SECOND)[0].lower_bound == pytest.approx(
        np.log(9 / 4) if False else 0.5, abs=0.5
    )


def test_a_library_that_is_not_loaded_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for known in LIBRARIES:
        monkeypatch.delitem(sys.modules, known.module, raising=False)

    def never() -> Any:
        raise AssertionError("made")

    assert library_replay(never, (0, 0), (0, 0), claimed=1.0) == []


def test_a_subject_that_calls_nothing_is_fitted_once(library: ModuleType) -> None:
    fits: list[int] = []

    def own(x: Any, rng: Any) -> float:
        fits.append(1)
        return float(x.sum() + rng.laplace())

    assert replayed(own, FIRST, SECOND) == []
    assert len(fits) == 1


# --- Broken twins ---------------------------------------------------------------------------------------------


def sensitivity_from_data(x: Any, rng: Any) -> float:
    return Laplace(rng, epsilon=1.0, sensitivity=x.max() - x.min()).randomise(x.sum())


def too_far(x: Any, rng: Any) -> float:
    return Laplace(rng, epsilon=1.0, sensitivity=1.0).randomise(3 * x.sum())


def one_more(x: Any, rng: Any) -> list[float]:
    small = Laplace(rng, epsilon=0.5, sensitivity=1.0)
    found = [small.randomise(x.sum())]
    if (x > 0.9).any():
        found.append(small.randomise((x > 0.9).sum()))
    return found


def fails(x: Any, rng: Any) -> float:
    noisy = a_sum(x, rng)
    if (x > 0.9).any():
        raise ValueError("above 0.9")
    return noisy


def an_exact_count(x: Any, rng: Any) -> float:
    return a_sum(x, rng) / (x > 0.1).sum()


def four_times(x: Any, rng: Any) -> list[float]:
    return [a_sum(x, rng) for _ in range(4)]


def test_parameters_that_follow_the_data(library: ModuleType) -> None:
    followed, together = replayed(sensitivity_from_data, FIRST, SECOND)
    assert (followed.what, followed.lower_bound, followed.violated) == ("parameters", math.inf, True)
    assert followed.place == line_of(sensitivity_from_data, "Laplace(")
    assert "sensitivity is 0.4 on D and 0.8 on D′" in followed.event
    assert together.what == "all calls"


def test_a_value_that_moves_too_far(library: ModuleType) -> None:
    dear, together = replayed(too_far, FIRST, SECOND)
    assert (dear.what, dear.claimed, dear.flagged, dear.violated) == ("one call", 1.0, True, False)
    assert dear.lower_bound == pytest.approx(3)
    assert "inputs 3 apart" in dear.event
    assert dear.place == together.place == line_of(too_far, "Laplace(")
    assert together.lower_bound == pytest.approx(3)
    assert together.violated  # the output stands in the model as it was drawn


def test_calls_that_one_side_makes_alone(library: ModuleType) -> None:
    astray, together = replayed(one_more, FIRST, SECOND)
    assert (astray.what, astray.lower_bound, astray.flagged, astray.violated) == (
        "calls",
        math.inf,
        True,
        False,
    )
    assert astray.place == line_of(one_more, "append(")
    assert "one Laplace more" in astray.event
    assert together.lower_bound == 0
    assert "no Laplace any more" in replayed(one_more, SECOND, FIRST)[0].event


def test_a_fit_that_fails_on_the_neighbour(library: ModuleType) -> None:
    assert "above 0.9" in replayed(fails, FIRST, SECOND)[0].event
    with pytest.raises(AttackError, match=r"first data set failed with ValueError: above 0\.9"):
        replayed(fails, SECOND, FIRST)


def test_what_follows_the_data_beside_the_outputs(library: ModuleType) -> None:
    beside, together = replayed(an_exact_count, FIRST, SECOND)
    assert (beside.what, beside.flagged, beside.violated) == ("beside", True, False)
    assert "model.released_" in beside.event
    assert not together.flagged
    assert together.given == "the outputs of all calls"  # none stands in the model as it was drawn


def test_losses_of_all_calls_add_up(library: ModuleType) -> None:
    (together,) = replayed(four_times, FIRST, SECOND)
    assert "their own ε are 4 in all" in together.event
    assert (
        together.trials == 6 + 1 + SEEDS
    )  # fits with three kinds of outputs, one that counts, and other seeds
    assert together.lower_bound == pytest.approx(4)
    assert together.violated


def averaged(x: Any, rng: Any) -> float:
    return float(np.mean(four_times(x, rng)))


def a_sample(x: Any, rng: Any) -> float:
    return 2.0 * Laplace(rng, epsilon=1.0, sensitivity=1.0).randomise(3 * x[rng.random(len(x)) < 0.5].sum())


def test_a_loss_on_a_condition_refutes_nothing(library: ModuleType) -> None:
    (together,) = replayed(averaged, FIRST, SECOND)
    assert together.lower_bound == pytest.approx(4)
    assert (together.flagged, together.violated, together.given) == (True, False, "the outputs of all calls")
    more = np.linspace(0, 1, 20).tolist()
    found = [replayed(a_sample, FIRST + more, SECOND + more, seed=seed)[-1] for seed in range(4)]
    assert any(one.flagged for one in found)
    assert not any(one.violated for one in found)
    assert all(one.given.endswith("the fit's other random numbers") for one in found)


def test_a_forced_output_leaves_the_generator_where_it_was(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def numbers(x: Any, rng: Any) -> list[float]:
        return [*two_halves(x, rng), rng.random()]

    assert [one.what for one in replayed(numbers, FIRST, SECOND)] == ["all calls"]
    monkeypatch.setattr("dpaudit.recorder.set_back", lambda *_: None)  # broken twin
    assert len(replayed(numbers, FIRST, SECOND)) > 1


def test_a_law_that_is_not_known_is_said_so(library: ModuleType) -> None:
    def spread(x: Any, rng: Any) -> Any:
        return Wishart(rng, epsilon=1.0, sensitivity=0.5).randomise(np.outer(x, x))

    dear, together = replayed(spread, FIRST, SECOND)
    assert "inputs 1.171" in dear.event
    assert "what that costs is not known" in dear.event
    assert "1 of them of unknown loss" in together.event
    assert not dear.violated
    assert not together.flagged


@pytest.mark.parametrize(("factor", "times"), [(1.0, 1), (2.0, 2)])
def test_a_call_with_a_delta_is_judged_by_its_own(library: ModuleType, factor: float, times: int) -> None:
    def noisy(x: Any, rng: Any) -> float:
        return Gaussian(rng, epsilon=0.5, delta=1e-3, sensitivity=1.0).randomise(factor * x.sum())

    found = replayed(noisy, FIRST, SECOND, delta=1e-3)
    assert len(found) == times
    assert "losses are not added up at a δ" in found[-1].event
    if factor > 1:
        sd, epsilon = math.sqrt(2 * math.log(1250)) / 0.5, found[0].lower_bound
        a, b = factor / sd / 2, epsilon * sd / factor
        assert ndtr(a - b) - math.exp(epsilon) * ndtr(-a - b) == pytest.approx(1e-3, rel=1e-3)


# --- In an audit ----------------------------------------------------------------------------------------------


def test_an_audit_replays_before_it_bets(library: ModuleType) -> None:
    settings = AuditSettings(claimed=1.0, neighbours="replace", runs=100)
    found = examine(partial(Subject, too_far), pairs("replace"), settings)
    assert found.bets is None
    assert found.findings[-1].violated
    assert found.findings[-1].place == line_of(too_far, "Laplace(")
    shown = again(found.findings[-1], None, subject="mine:factory", pairs="pairs('replace', seed=0)")
    assert "found = library_replay(factory, pair.first, pair.second, claimed=1.0" in shown
    with pytest.raises(PrivacyViolation, match=r"test_audit_libraries:\d+ too_far"):
        assert_private(partial(Subject, too_far), epsilon=1.0, neighbours="replace", runs=100)


def test_an_audit_of_an_honest_subject_tells_what_was_replayed(library: ModuleType) -> None:
    settings = AuditSettings(claimed=1.0, neighbours="replace", runs=100)
    found = examine(partial(Subject, a_sum), pairs("replace"), settings)
    shown = [one for one in found.findings if one.instrument == "library"]
    assert len(shown) == 1
    assert not any(one.violated for one in found.findings)


# --- Laws -----------------------------------------------------------------------------------------------------

LAWS = [
    NoisyNumber(1.3, 0.7, "laplace"),
    NoisyNumber(1.3, 0.7, "laplace", "truncated", 0.0, 2.0),
    NoisyNumber(2.5, 0.7, "laplace", "truncated", 0.0, 2.0),
    NoisyNumber(1.3, 0.7, "laplace", "folded", 0.0, 2.0),
    NoisyNumber(1.3, 0.7, "laplace", "folded", 0.0, math.inf),
    NoisyNumber(1.3, 0.7, "laplace", "bounded", 0.0, 2.0),
    NoisyNumber(2.5, 0.7, "laplace", "bounded", 0.0, 2.0),
    NoisyNumber(1.3, 0.7, "laplace", "clipped", -math.inf, 1.1),
    NoisyNumber(1.3, 0.7, "normal"),
    NoisyNumber(1.3, 0.7, "staircase", shape=(0.8, 0.3)),
    NoisyNumber(1.3, 0.7, "uniform", "clipped", -math.inf, 0.7),
    NoisyNumber(3, 1.7, "geometric"),
    NoisyNumber(3, 1.7, "geometric", "truncated", 0, 7),
    NoisyNumber(9, 1.7, "geometric", "truncated", 0, 7),
    NoisyNumber(3, 1.7, "geometric", "folded", 0.5, math.inf),
    NoisyNumber(3, 1.7, "geometric", "folded", 0, 7),
    NoisyNumber(3, 1.7, "discrete normal"),
]


def outcomes(law: NoisyNumber) -> Any:
    return range(-200, 201) if law._step() else np.linspace(-8, 10, 5001)


def mass(law: NoisyNumber) -> float:
    if law._step():
        return sum(math.exp(law.log_density(k)) for k in outcomes(law))
    edges = sorted({-40.0, 40.0, *law.points(law), *np.arange(-20, 20, 0.07)})
    ends = [law.low, law.high] if law.form == "truncated" else []
    inside = [(a, b) for a, b in pairwise(edges) if b - a > 1e-9]

    def density(x: float) -> float:
        return 0.0 if x in ends else math.exp(law.log_density(x))

    return sum(quad(density, a, b)[0] for a, b in inside) + sum(
        math.exp(law.log_density(end)) for end in ends
    )


@pytest.mark.parametrize("law", LAWS)
def test_probabilities_add_up_to_one(law: NoisyNumber) -> None:
    if (law.noise, law.form) == (
        "laplace",
        "clipped",
    ):  # ratios only: what is cut off is the same for all centres
        law = replace(law, form="plain")
    assert mass(law) == pytest.approx(1, abs=2e-3 if law.noise in ("staircase", "uniform") else 1e-6)


@pytest.mark.parametrize("law", LAWS)
def test_the_largest_loss_is_the_largest_on_a_grid(law: NoisyNumber) -> None:
    other = replace(law, centre=law.centre + 1)
    seen = [abs(law.ratio(other, x)) for x in outcomes(law)]
    if law.noise.endswith("normal") or law.form == "clipped":
        assert law.loss(other) == math.inf
    else:
        assert max(seen) <= law.loss(other) + 1e-9
        assert max(seen) == pytest.approx(law.loss(other), rel=0.02)


def test_another_scale_has_no_largest_loss_without_bounds() -> None:
    law = NoisyNumber(0.0, 1.0, "laplace")
    assert law.loss(replace(law, scale=1.1)) == math.inf
    within = replace(law, form="truncated", low=-1.0, high=1.0)
    assert 0 < within.loss(replace(within, scale=1.1)) < 1
    assert within.loss(replace(within, high=1.1)) == math.inf
    point = replace(law, scale=0.0)
    assert point.loss(replace(point, centre=1.0)) == math.inf


def test_choices_and_outputs_side_by_side() -> None:
    law = Selected(("a", "b", "c"), (1.0, 0.0, 0.0), 0.5)
    other = replace(law, scores=(0.0, 0.0, 1.0))
    assert np.exp(law.logs).sum() == pytest.approx(1)
    assert law.loss(other) == pytest.approx(0.5)
    assert law.log_density("d") == -math.inf
    flips = replace(law, flips=True)
    assert np.exp(flips.logs).sum() == pytest.approx(1)
    assert flips.loss(replace(flips, scores=(0.0, 0.0, 1.0))) <= 1
    assert replace(law, rate=math.inf).loss(replace(other, rate=math.inf)) == math.inf
    one = NoisyNumber(0.0, 1.0, "laplace")
    both = SideBySide((one, replace(one, scale=2.0)))
    moved = SideBySide((replace(one, centre=1.0), NoisyNumber(1.0, 2.0, "laplace")))
    assert both.loss(moved) == pytest.approx(1.5)
    assert both.loss(SideBySide((one,))) == math.inf
    assert both.log_density([0.0]) == -math.inf


# --- The libraries themselves ---------------------------------------------------------------------------------

PEERS = Path("benchmarks") / "peers"
BOUNDS = (np.array([17.0, 1.0]), np.array([90.0, 99.0]))
CLASSES = np.arange(12) % 2


@pytest.fixture
def script(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(root / PEERS))
    return importlib.import_module("replay_libraries")


def two_columns(rows: int) -> Any:
    return np.linspace(BOUNDS[0], BOUNDS[1], rows)


def of_model(name: str, first: Any, second: Any, **options: Any) -> dict[str, LibraryFinding]:
    """What is found in a model of diffprivlib, by kind and line."""
    models = pytest.importorskip("diffprivlib.models")
    accountant = importlib.import_module("diffprivlib.accountant").BudgetAccountant

    def made(random_state: int) -> Any:
        return getattr(models, name)(random_state=random_state, accountant=accountant(), **options)

    factory = adapted(made, arrays=True, seed="random_state")
    found = library_replay(factory, first, second, claimed=1.0, neighbours="replace", subject=name)
    return {f"{one.what} {one.place.partition(' ')[0].removeprefix('diffprivlib.')}": one for one in found}


def test_sums_of_naive_bayes_move_by_more_than_the_width_of_the_bounds() -> None:
    X, other = two_columns(12), CLASSES.copy()
    other[-1] = 0  # the oldest record has the other class
    found = of_model("GaussianNB", (X, CLASSES), (X, other), bounds=BOUNDS)
    one = found["one call models.naive_bayes:258"]
    assert "with a sensitivity of 73, is given inputs 90 apart" in one.event
    assert one.lower_bound == pytest.approx(90 / 73 / 6)


def test_squares_of_linear_regression_take_the_lower_bound_twice() -> None:
    X, other = np.array([[0.0], [0.5], [0.5]]), np.array([[1.0], [0.5], [0.5]])
    y = np.array([0.0, 1.0, 1.0])
    options = {"bounds_X": (0, 1), "bounds_y": (0, 1), "fit_intercept": False}
    found = of_model("LinearRegression", (X, y), (other, y), **options)
    one = found["one call models.linear_regression:147"]
    assert one.lower_bound == math.inf
    assert "sensitivity of 0, is given inputs 1 apart" in one.event
    assert found[
        "all calls models.linear_regression:147"
    ].violated  # the model keeps all outputs as they were drawn


def test_clusters_of_many_columns_cost_more_than_epsilon() -> None:
    ends = np.repeat([0.0, 1.0], 200)[:, None] * np.ones(10)
    sides = [(np.vstack([np.full((1, 10), end), ends]), np.zeros(401, int)) for end in (0.0, 1.0)]
    more = of_model("KMeans", (ends, np.zeros(400, int)), sides[1], n_clusters=2, bounds=(0, 1))
    share = np.cbrt(4 * 10 * 0.225**2)  # that each column gets, and the count should
    together = next(one for kind, one in more.items() if kind.startswith("all calls"))
    assert together.lower_bound == pytest.approx((1 + 10 * share) / (10 + share), rel=1e-6)
    assert together.flagged
    assert not together.violated  # a model shows the last centres only
    assert "model.model_.inertia_" in more["beside "].event


def test_a_scaler_of_diffprivlib_keeps_its_claim() -> None:
    X = np.tile(BOUNDS[0], (12, 1))
    other = X.copy()
    other[0] = BOUNDS[1]
    (together,) = of_model("StandardScaler", (X, CLASSES), (other, CLASSES), bounds=BOUNDS).values()
    assert 0.9 < together.lower_bound <= 1 + 1e-9
    bare = of_model("StandardScaler", (X, CLASSES), (other, CLASSES))
    assert any(one.what == "parameters" for one in bare.values())


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("LaplaceTruncated", {"sensitivity": 1, "lower": 0, "upper": 2}, 2.3),
        ("LaplaceFolded", {"sensitivity": 1, "lower": 0, "upper": 2}, 0.3),
        ("LaplaceBoundedDomain", {"sensitivity": 1, "lower": 0, "upper": 2}, 0.3),
        ("Staircase", {"sensitivity": 1}, 0.3),
        ("GeometricTruncated", {"sensitivity": 1, "lower": 1, "upper": 5}, 3),
        ("GeometricFolded", {"sensitivity": 1, "lower": 0.5, "upper": math.inf}, 3),
        ("PermuteAndFlip", {"sensitivity": 1, "utility": [3.0, 1.0, 0.0], "monotonic": True}, None),
        ("Exponential", {"sensitivity": 1, "utility": [3.0, 1.0, 0.0]}, None),
        ("Binary", {"value0": "a", "value1": "b"}, "a"),
    ],
)
def test_laws_are_those_that_diffprivlib_draws_from(name: str, options: dict[str, Any], value: Any) -> None:
    """The share of draws in each of ten ranges, with a tolerance of five standard errors."""
    mechanisms, n = pytest.importorskip("diffprivlib.mechanisms"), 5_000
    mechanism = getattr(mechanisms, name)(epsilon=0.7, random_state=np.random.RandomState(0), **options)
    law = of_diffprivlib(mechanism, value, "").law
    drawn = [mechanism.randomise(*[value] * (value is not None)) for _ in range(n)]
    values = sorted(set(drawn))
    if len(values) > 100:
        atoms = [end for end in (law.low, law.high) if drawn.count(end) > 1]
        grid = np.linspace(np.quantile(drawn, 0.02), np.quantile(drawn, 0.98), 11)
        shares = [
            (
                np.mean([a < x < b and x not in atoms for x in drawn]),
                quad(lambda x: math.exp(law.log_density(x)), a, b),
            )
            for a, b in pairwise(grid)
        ]
        shown = [(seen, found[0]) for seen, found in shares]
        shown += [(drawn.count(end) / n, math.exp(law.log_density(end))) for end in atoms]
    else:
        shown = [(drawn.count(x) / n, math.exp(law.log_density(x))) for x in values]
    assert all(abs(seen - expected) < 5 * math.sqrt(0.25 / n) for seen, expected in shown)


OLD = pd.DataFrame({"age": [17, 40, 63, 88], "hours": [1, 40, 40, 20]})


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("clamped_sum", {"all calls": (1.0, False)}),
        ("counts", {"all calls": (1.0, False)}),
        ("noisy_mean", {"all calls": (1.0, False)}),
        ("mean_with_exact_count", {"beside": (math.inf, False), "all calls": (1.0, False)}),
        ("sum_of_unclamped", {"one call": (9.0, False), "all calls": (9.0, True)}),
        ("bounds_from_data", {"parameters": (math.inf, False), "all calls": (1.0, False)}),
        ("scale_from_data", {"parameters": (math.inf, True), "all calls": (1.0, True)}),
        ("skips_rare_decades", {"calls": (math.inf, False), "all calls": (0.0, False)}),
    ],
)
def test_programs_on_opendp(
    script: ModuleType, release: str, expected: dict[str, tuple[float, bool]]
) -> None:
    pytest.importorskip("opendp.prelude")
    factory = adapted(partial(script.Program, getattr(script, release)), arrays=True)
    labels = pd.Series([0, 1, 0, 1])
    more = pd.concat([OLD, pd.DataFrame({"age": [90], "hours": [1]})], ignore_index=True)
    second = more, pd.Series([0, 1, 0, 1, 0])
    found = {one.what: one for one in library_replay(factory, (OLD, labels), second, claimed=1.0)}
    assert found.keys() == expected.keys()
    for what, (least, violated) in expected.items():
        assert found[what].lower_bound >= least - 1e-9, what
        assert found[what].violated == violated, what
    honest = len(expected) == 1
    assert honest == (
        found["all calls"].lower_bound <= 1 + 1e-9 and "beside" not in found and len(found) == 1
    )
    if not honest and release not in ("mean_with_exact_count", "bounds_from_data", "scale_from_data"):
        assert found["all calls"].place or found["calls"].place


def test_the_script_replays_what_is_installed(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opendp.prelude")
    assert script.main(["--out", str(tmp_path), "--only", "clamped", "GaussianNB"]) == 0
    table = pd.read_csv(tmp_path / "library_replay.csv", keep_default_na=False)
    assert {"clamped sum", "sum of unclamped"} <= set(table["subject"])
    assert list(table.columns) == script.COLUMNS
    if script.installed("diffprivlib") is None:
        assert "not installed, and left out: diffprivlib" in capsys.readouterr().err


def test_the_stored_table_has_all_subjects(script: ModuleType, root: Path) -> None:
    table = pd.read_csv(root / "results" / "library_replay.csv", keep_default_na=False)
    provenance = json.loads((root / "results" / "library_replay.json").read_text(encoding="utf-8"))
    named = {(one.package, one.name, one.setting) for one in script.subjects()}
    assert {tuple(row) for row in table[["library", "subject", "setting"]].to_numpy()} == named
    assert provenance["subjects"] == len(named)
    pinned = (root / PEERS / "requirements.txt").read_text(encoding="utf-8").split()
    assert all(f"{name}=={provenance['versions'][name]}" in pinned for name in ("diffprivlib", "opendp"))
    nothing, honest = table["verdict"] == "nothing found", table["setting"] == "honest"
    assert nothing[honest].all()
    assert not nothing[table["setting"] == "broken on purpose"].any()
