"""The auditor convicts the broken subjects and no honest one.

Each audit here holds at confidence 1 - 1e-6: an honest subject is convicted with that probability at most.
"""

from __future__ import annotations

import itertools
import math
import pickle
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from audit_subjects import SUBJECTS, Honest, Subject
from dpaudit import AttackError, PrivacyViolation, assert_private
from dpaudit.pairs import KINDS
from dpaudit.settings import USUAL_RUNS
from dpnb.domain import Categorical, Continuous, Domain
from dpnb.replay import Finding

RUNS = {  # where the usual number is not enough
    "permute-and-flip at ε": 4_000,
    "Laplace in floating point": 3_000,
    "three times ε/2": 20_000,
    "noise/1.2": 20_000,
}
# Losses of some more than the claim take minutes: "permute-and-flip at ε" and its honest twin stand for them each day.
LONGEST = {"three times ε/2", "noise/1.2"}
LAST_BITS: dict[str, Any] = {"kinds": ("empty",), "runs": 1_000}  # on that pair, 613 convict Laplace noise
ALL_PAIRS: dict[str, Any] = {"runs": 3_000}


class ScaledCounts(Honest):
    """Whole noisy counts, as floating-point shares of each other, of their sum, and divided by three."""

    def learn(self, seen: Any, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.thirds_ = self.value_ / 3
        self.value_ = self.shares_ / self.shares_.sum()


class SeventhsAdded(Honest):
    """Noise on a public grid of sevenths, added in floating point to noisy counts: it tells nothing of these."""

    def learn(self, seen: Any, rng: np.random.Generator) -> None:
        super().learn(seen, rng)
        self.value_ = self.value_ + rng.integers(0, 7, self.value_.shape) / 7


BY_NAME = {subject.name: subject for subject in SUBJECTS}
THREE = Domain((Categorical("c", ("a", "b")), Continuous("x", -5, 20)), ("u", "v", "w"))


def audited(subject: Subject, **how: Any) -> list[Finding]:
    """What is found; malformed records are tried where a subject is about them."""
    usual = {
        "kinds": tuple(KINDS) if subject.channel == "exception" else None,
        "runs": RUNS.get(subject.name, USUAL_RUNS if subject.broken else 400),
    }
    return assert_private(
        subject.factory, epsilon=subject.claimed, neighbours=subject.neighbours, **usual | how
    )


@pytest.mark.parametrize(
    "subject",
    [pytest.param(s, id=s.name, marks=[pytest.mark.nightly] * (s.name in LONGEST)) for s in SUBJECTS],
)
def test_the_verdict_is_right(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(
        time, "time", lambda: 1e9 + next(ticks) / 1_000
    )  # a fit a millisecond, on any machine
    if not subject.broken:
        assert not any(finding.violated for finding in audited(subject))
        return
    with pytest.raises(PrivacyViolation) as caught:
        audited(subject)
    assert caught.value.finding.lower_bound > subject.claimed
    assert "VIOLATED" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (ScaledCounts, LAST_BITS),
        pytest.param(SeventhsAdded, LAST_BITS, marks=pytest.mark.nightly),
        pytest.param(ScaledCounts, ALL_PAIRS, marks=pytest.mark.nightly),
        pytest.param(SeventhsAdded, ALL_PAIRS, marks=pytest.mark.nightly),
    ],
)
def test_honest_floating_point_is_let_pass(kind: Callable[[], Any], how: dict[str, Any]) -> None:
    """As many runs as convict Laplace noise in floating point."""
    assert not audited(Subject("honest", kind, 1.0, ""), **how)[-1].violated


def test_it_is_the_last_bits_that_convict(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = BY_NAME["Laplace in floating point"]
    with pytest.raises(PrivacyViolation) as caught:
        audited(subject, **LAST_BITS)
    assert "last bits of model.value_" in caught.value.finding.event
    look = sys.modules["dpaudit.look"]
    monkeypatch.setattr(look, "fine_bits", lambda numbers: np.full(len(numbers), math.nan))  # broken twin
    assert not audited(subject, **LAST_BITS)[-1].violated


def test_an_audit_that_breaks_off_is_no_conviction() -> None:
    class Raising(Honest):
        def fit(self, X: Any, y: Any) -> Any:
            raise RuntimeError("no licence")

    with pytest.raises(AttackError, match="no licence"):
        audited(Subject("raising", Raising, 1.0, ""))


def test_the_table_is_whole() -> None:
    assert len(BY_NAME) == len(SUBJECTS) >= 23
    assert LONGEST < set(RUNS) <= set(BY_NAME)
    assert {s.channel for s in SUBJECTS if s.broken} == {
        "outputs", "fitted object", "generator", "low bits", "exception"
    }  # fmt: skip
    for subject in SUBJECTS:
        assert subject.broken == bool(subject.channel) == (not subject.name.startswith("honest"))
        assert subject.factory().neighbours == subject.neighbours
        assert len(subject.defect) > 10


MALFORMED = [
    pd.DataFrame({"c": ["a", "zz", None, 3, ["q"]], "x": [np.nan, np.inf, -1e300, "foo", None]}),
    pd.DataFrame({"c": ["b"] * 5, "x": [-np.inf, 1e300, 20, 19.5, 0]}),
]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_any_table_is_accepted_and_the_seed_is_used_up(subject: Subject) -> None:
    labels = ["u", "w", "nope", None, math.nan]
    tables = [*((X, labels) for X in MALFORMED), (MALFORMED[1][:0], []), (MALFORMED[1].to_numpy(), labels)]
    for X, y in tables[subject.channel == "exception" :]:
        model = subject.factory().set_params(domain=THREE, random_state=1).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
        assert set(model.predict(X)) <= set(THREE.classes)
        assert model.random_state is None
        assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()


def test_the_one_that_raises_does_so_for_a_missing_value_only() -> None:
    make = BY_NAME["raises on a missing value"].factory
    with pytest.raises(ValueError, match="NaN"):
        make().set_params(domain=THREE).fit(MALFORMED[0], ["u"] * 5)
    assert make().set_params(domain=THREE).fit(MALFORMED[1], ["u"] * 5)


def geometric_loss(rate: float) -> float:
    """Exact loss of two-sided geometric noise on counts 0 and 1: of the event that the noisy count is at least 1."""
    tail = math.exp(-rate) / (1 + math.exp(-rate))
    return math.log((1 - tail) / tail)


def flip_loss(rate: float) -> float:
    """Exact loss of permute-and-flip where a distance of 3 becomes one of 1."""
    rarer = [math.exp(-rate * gap) / 2 for gap in (3, 1)]
    return math.log(rarer[1] / rarer[0])


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("noise/1.2", geometric_loss),
        ("three times ε/2", lambda rate: 3 * geometric_loss(rate)),
        ("honest: geometric counts", geometric_loss),
        ("honest: geometric counts, replace", lambda rate: 2 * geometric_loss(rate)),
        ("honest: data-free forest", lambda rate: 3 * geometric_loss(rate)),
        ("honest: many attributes", geometric_loss),
        ("permute-and-flip at ε", flip_loss),
        ("honest: permute-and-flip at ε/2", flip_loss),
    ],
)
def test_finite_losses_are_those_of_the_rates(name: str, loss: Callable[[float], float]) -> None:
    model = BY_NAME[name].factory()
    assert loss(model.rate) == pytest.approx(BY_NAME[name].loss)
    assert loss(1.1 * model.rate) != pytest.approx(BY_NAME[name].loss)  # broken twin


def frequency(name: str, side: Any, event: Callable[[Any], bool], *, runs: int = 4_000) -> float:
    make = BY_NAME[name].factory
    return float(np.mean([event(make().set_params(random_state=i).fit(*side)) for i in range(runs)]))


def test_the_flip_has_the_probabilities_of_its_proof() -> None:
    """Three records of class 0 and two, one: of 4000 draws a share is within .04 but for 1e-6 of all seeds."""
    X = pd.DataFrame({"x": [0.1] * 3, "c": [0] * 3})
    for labels, gap in (([0, 0, 0], 3), ([0, 0, 1], 1)):
        for name, rate in (("permute-and-flip at ε", 1.0), ("honest: permute-and-flip at ε/2", 0.5)):
            share = frequency(name, (X, labels), lambda model: bool(model.shares_[0, 1] == 1))
            assert share == pytest.approx(math.exp(-rate * gap) / 2, abs=0.04)
