"""The subjects are what they say, and the auditor convicts the broken ones and no honest one.

On the known ones the auditor runs. Each audit here holds at confidence 1 - 1e-6: an honest subject is convicted with
that probability at most. Of the new ones an event refutes each claim that is wrong, and laws are in closed form.
"""

from __future__ import annotations

import itertools
import math
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import beta

import audit_subjects
from audit_subjects import (
    BY_NAME,
    DELTA,
    REPLACE,
    SUBJECTS,
    GaussianLevels,
    Honest,
    Levels,
    NoisyMax,
    SparseVector,
    Subject,
)
from dpaudit import AttackError, PrivacyViolation, assert_private
from dpaudit.pairs import KINDS
from dpaudit.settings import USUAL_RUNS
from dpnb.domain import Categorical, Continuous, Domain
from dpnb.replay import Finding

KNOWN = [subject for subject in SUBJECTS if not subject.kind]
NEW = [subject for subject in SUBJECTS if subject.kind]
THREE = Domain((Categorical("c", ("a", "b")), Continuous("x", -5, 20)), ("u", "v", "w"))


def test_the_table_is_whole() -> None:
    assert (len(KNOWN), len(NEW), len(BY_NAME)) == (29, 42, 71)
    assert LONGEST < set(RUNS) <= set(BY_NAME)
    assert set(WITNESSES) == {subject.name for subject in NEW if subject.broken}
    assert {s.channel for s in KNOWN if s.broken} == {
        "outputs", "fitted object", "generator", "low bits", "exception"
    }  # fmt: skip
    for subject in SUBJECTS:
        model = subject.factory()
        assert subject.broken == bool(subject.channel) == (not subject.name.startswith("honest"))
        assert subject.kind in ("", "honest") or subject.broken
        assert model.neighbours == subject.neighbours
        assert type(model) in vars(audit_subjects).values()
        assert type(model).__doc__


MALFORMED = [
    pd.DataFrame({"c": ["a", "zz", None, 3, ["q"]], "x": [np.nan, np.inf, -1e300, "foo", None]}),
    pd.DataFrame({"c": ["b"] * 5, "x": [-np.inf, 1e300, 20, 19.5, 0]}),
]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_table_is_accepted_and_the_seed_is_used_up(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every record is there twice, for a subject that raises on a class of one."""
    monkeypatch.setattr(audit_subjects, "PAUSE", 0)
    labels = 2 * ["u", "w", "nope", None, math.nan]
    first, second = (pd.concat([X, X]) for X in MALFORMED)
    tables = [(first, labels), (second, labels), (second[:0], []), (second.to_numpy(), labels)]
    for X, y in tables[subject.name == "raises on a missing value" :]:
        model = subject.factory().set_params(domain=THREE, random_state=1).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
        assert set(model.predict(X)) <= set(THREE.classes)
        assert model.random_state is None
        assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()


# --- The auditor on known ones --------------------------------------------------------------------------------

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
    [pytest.param(s, id=s.name, marks=[pytest.mark.nightly] * (s.name in LONGEST)) for s in KNOWN],
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


def test_the_one_that_raises_does_so_for_a_missing_value_only() -> None:
    make = BY_NAME["raises on a missing value"].factory
    with pytest.raises(ValueError, match="NaN"):
        make().set_params(domain=THREE).fit(MALFORMED[0], ["u"] * 5)
    assert make().set_params(domain=THREE).fit(MALFORMED[1], ["u"] * 5)


# --- Events that refute the claims of new ones ----------------------------------------------------------------

Rows = list[tuple[float, int]]  # place, class


class Witness(NamedTuple):
    """An event that is more probable on the second data set than the claim allows; ``runs`` on each tell."""

    first: Rows
    second: Rows
    event: Callable[[Any], bool]
    runs: int = 100


def fits(subject: Subject, rows: Rows, seeds: range) -> Iterator[Any]:
    """Models with all that their fits told in ``told``; of a fit that raises there is nothing else."""
    X = pd.DataFrame({"x": [float(x) for x, _ in rows], "c": [0] * len(rows)})
    y = [label for _, label in rows]
    for seed in seeds:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                model = subject.factory().set_params(random_state=seed).fit(X, y)
            except ValueError as error:
                model = SimpleNamespace(told=str(error))
            else:
                model.told = " ".join(str(one.message) for one in seen)
        yield model


def refuted(subject: Subject, witness: Witness) -> bool:
    """Whether the event is so much more probable on the second data set that the claim is wrong."""
    runs = witness.runs
    seeds = range(runs), range(runs, 2 * runs)
    a, b = (
        sum(bool(witness.event(model)) for model in fits(subject, *side))
        for side in zip((witness.first, witness.second), seeds, strict=True)
    )
    return exceeds(subject, a, b, runs)


def exceeds(subject: Subject, a: int, b: int, runs: int) -> bool:
    """Whether P(event | second) > e^ε P(event | first) + δ, which a claim that holds rules out.

    Two Clopper-Pearson bounds, for b and a of so many runs, err with probability 5e-7 each, so that a claim that holds
    is refuted for one seed in a million.
    """
    upper = beta.isf(5e-7, a + 1, runs - a) if a < runs else 1.0
    lower = beta.ppf(5e-7, b, runs - b + 1) if b else 0.0
    return bool(lower > math.exp(subject.claimed) * upper + subject.delta)


NONE: Rows = []
ONE: Rows = [(0.1, 0)]


def first_of(levels: list[Any]) -> Any:
    """The count of the first class in the first cell of each level."""
    return np.array([level[0, 0] for level in levels])


def outputs_of(name: str, rows: Rows) -> Callable[[Any], bool]:
    """Whether an output is one that a data set had before: all 64 or 256 are seen in so many fits."""
    known = {model.value_.tobytes() for model in fits(BY_NAME[name], rows, range(10_000, 12_000))}
    return lambda model: model.value_.tobytes() in known


def low_bits(model: Any) -> bool:
    """A number near 0 that is a multiple of 2⁻⁵³, as one is that was added to 1; other floats there are finer."""
    value = model.tree_["leaves"][0]["counts"][0]
    return bool(abs(value) < 1 / 16 and (value * 2**53).is_integer())


def swapped(rows: int) -> Callable[[Any], bool]:
    return lambda m: m.value_[0, 1] >= 1 and m.value_[0, 0] < rows


WITNESSES: dict[str, Callable[[], Witness]] = {
    "noise of add/remove": lambda: Witness([(0.1, 0)], [(0.1, 1)], swapped(1), 400),
    "noise of a sample": lambda: Witness(ONE * 160, [*ONE * 159, (0.1, 1)], swapped(160), 400),
    "square root missing": lambda: Witness(NONE, ONE, lambda m: first_of(m.levels_).sum() >= 11, 12_000),
    "σ for a variance": lambda: Witness(NONE, ONE, lambda m: first_of(m.levels_).sum() >= 10, 8_000),
    "cut noise": lambda: Witness(NONE, ONE, lambda m: m.value_[0, 0] == 4, 4_000),
    "one noise twice, slow": lambda: Witness(NONE, [(0.9, 0)], lambda m: m.totals_[0] > m.value_[0, 0]),
    "ε/2 on four levels": lambda: Witness(NONE, ONE, lambda m: first_of(m.levels_).min() >= 1, 5_000),
    "uncounted size": lambda: Witness(NONE, ONE, lambda m: m.value_[0, 0] >= 1 and m.size_ >= 1, 4_000),
    "threshold without noise": lambda: Witness(ONE * 10, ONE * 9, lambda m: m.first_ == 6, 4_000),
    "exact early stop": lambda: Witness(ONE * 9, ONE * 10, lambda m: len(m.levels_) > 1),
    "counts clipped at n": lambda: Witness(ONE, ONE * 2, lambda m: m.value_[0, 0] == 2),
    "lower end from the data": lambda: Witness([(0.5, 0)], [(0.5, 0), *ONE], lambda m: m.low_ < 0.5),
    "empty cells left out": lambda: Witness(NONE, ONE, lambda m: bool(m.counts_)),
    "large counts without noise, slow": lambda: Witness(ONE * 50, ONE * 51, lambda m: m.value_[0, 0] == 51),
    "rare place and class": lambda: Witness(NONE, [(0.42, 1)], lambda m: abs(m.value_).sum() == 1),
    "five on the lower end": lambda: Witness([(0, 1)] * 4, [(0, 1)] * 5, lambda m: len(m.value_) == 5),
    "empty cell of a large table": lambda: Witness(
        ONE * 500, [*ONE * 500, (0.9, 0)], lambda m: m.value_[3].any()
    ),
    "order of labels": lambda: Witness(ONE, [(0.1, 1), *ONE], lambda m: m.classes_[0] == 1),
    "response for add/remove": lambda: Witness(ONE, ONE * 2, lambda m: m.value_.sum() == 2),
    "seed of eight bits": lambda: Witness(NONE, ONE, outputs_of("seed of eight bits", ONE)),
    "64 noises in turn": lambda: Witness(NONE, ONE, outputs_of("64 noises in turn", ONE)),
    "counts in __reduce__": lambda: Witness(NONE, ONE, lambda m: m.__reduce__()[1][2].any()),
    "size in __getstate__": lambda: Witness(NONE, ONE, lambda m: m.__getstate__()["n"] == 1),
    "size of a buffer": lambda: Witness(ONE * 16, ONE * 17, lambda m: len(m.buffer_) > 16),
    "size in a text": lambda: Witness(NONE, ONE, lambda m: " 1 " in m.summary_),
    "size in a rate": lambda: Witness(ONE * 100, ONE * 101, lambda m: m.learning_rate_ < 0.1),
    "digits by n": lambda: Witness(ONE * 9, ONE * 10, lambda m: (m.shares_ != m.shares_.round(1)).any()),
    "Laplace in a dictionary": lambda: Witness(NONE, ONE, low_bits, 16_000),
    "raises on a class of one": lambda: Witness(ONE * 2, ONE, lambda m: "only 1 member" in m.told),
    "size in a warning": lambda: Witness(ONE, ONE * 2, lambda m: "2 records" in m.told),
}
# Without their defects the same events tell too little.
REPAIRED: dict[str, Callable[..., Any]] = {
    "noise of add/remove": partial(Honest, neighbours=REPLACE),
    "square root missing": GaussianLevels,
    "threshold without noise": SparseVector,
    "ε/2 on four levels": type("Quarters", (Levels,), {"noise": 1 / 4}),
    "rare place and class": Honest,
}


@pytest.mark.parametrize("name", WITNESSES)
def test_an_event_refutes_the_claim(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_subjects, "PAUSE", 0)
    assert refuted(BY_NAME[name], WITNESSES[name]())


@pytest.mark.parametrize("name", REPAIRED)
def test_it_does_not_refute_what_has_no_defect(name: str) -> None:
    """The broken twin of the test above: the same event where the claim holds."""
    repaired = replace(BY_NAME[name], factory=REPAIRED[name])
    assert not refuted(repaired, WITNESSES[name]())


# --- Exact laws -----------------------------------------------------------------------------------------------


def geometric_loss(rate: float) -> float:
    """Exact loss of two-sided geometric noise on counts 0 and 1: of the event that the noisy count is at least 1."""
    tail = math.exp(-rate) / (1 + math.exp(-rate))
    return math.log((1 - tail) / tail)


def flip_loss(rate: float) -> float:
    """Exact loss of permute-and-flip where a distance of 3 becomes one of 1."""
    rarer = [math.exp(-rate * gap) / 2 for gap in (3, 1)]
    return math.log(rarer[1] / rarer[0])


def counts_move(times: int, share: float = 1) -> Callable[[float], float]:
    """So many counts, or answers below a threshold, move by one, each with noise of this share of the rate."""
    return lambda rate: times * geometric_loss(share * rate)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("noise/1.2", counts_move(1)),
        ("three times ε/2", counts_move(3)),
        ("permute-and-flip at ε", flip_loss),
        ("honest: geometric counts", counts_move(1)),
        ("honest: geometric counts, replace", counts_move(2)),
        ("honest: data-free forest", counts_move(3)),
        ("honest: many attributes", counts_move(1)),
        ("honest: permute-and-flip at ε/2", flip_loss),
        ("noise of add/remove", counts_move(2)),
        ("noise of a sample", counts_move(2, 2.5)),
        ("ε/2 on four levels", counts_move(4)),
        ("uncounted size", lambda rate: geometric_loss(rate) + geometric_loss(rate / 2)),
        ("threshold without noise", counts_move(6)),
        ("honest: eight levels, slow", counts_move(8)),
        ("honest: divided by a noisy size", counts_move(2)),
        ("honest: noisy texts", counts_move(1)),
        ("honest: noise in __reduce__", counts_move(1)),
        ("honest: public warning", counts_move(1)),
        ("honest: sums on a grid", counts_move(8, 1 / 8)),
        ("honest: random names and times", counts_move(1)),
        ("honest: seed of 64 bits", counts_move(1)),
    ],
)
def test_finite_losses_are_those_of_the_rates(name: str, loss: Callable[[float], float]) -> None:
    model = BY_NAME[name].factory()
    assert loss(model.rate) == pytest.approx(BY_NAME[name].loss)
    assert loss(1.1 * model.rate) != pytest.approx(BY_NAME[name].loss)  # broken twin


def test_the_flip_has_the_probabilities_of_its_proof() -> None:
    """Three records of class 0 and two, one: of 4000 draws a share is within .04 but for 1e-6 of all seeds."""
    for name, rate in (("permute-and-flip at ε", 1.0), ("honest: permute-and-flip at ε/2", 0.5)):
        for labels, gap in (([0, 0, 0], 3), ([0, 0, 1], 1)):
            models = fits(BY_NAME[name], [(0.1, label) for label in labels], range(4_000))
            share = np.mean([model.shares_[0, 1] == 1 for model in models])
            assert share == pytest.approx(math.exp(-rate * gap) / 2, abs=0.04)


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """Least δ of four discrete Gaussian counts that all move by one.

    For noise x the loss is Σ ((x + 1)² - x²) / 2σ² = (s + 2) / σ² with s = Σ x, so the law of s is enough.
    """
    support = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
    weights = np.exp(-((support / sigma) ** 2) / 2)
    two = np.convolve(weights, weights) / weights.sum() ** 2
    law = np.convolve(two, two)
    s = np.arange(len(law)) - len(law) // 2
    return float(law @ np.maximum(0, -np.expm1(epsilon - (s + 2) / sigma**2)))


def test_gaussian_losses_are_those_of_their_exact_law() -> None:
    assert 0.999 * DELTA < gaussian_delta(1.0, GaussianLevels.sigma) <= DELTA
    for name in ("square root missing", "σ for a variance"):
        sigma = BY_NAME[name].factory().sigma
        tight = brentq(lambda epsilon, sigma: gaussian_delta(epsilon, sigma) - DELTA, 0.5, 5, args=(sigma,))
        assert tight == pytest.approx(BY_NAME[name].loss, abs=0.005)


def noise_law(rate: float) -> tuple[Any, Any]:
    """Whole numbers from -80 to 80, and their probabilities as two-sided geometric noise."""
    k = np.arange(-80, 81)
    return k, math.tanh(rate / 2) * np.exp(-rate * abs(k))


def at_most(k: Any, rate: float) -> Any:
    """P(noise <= k) for two-sided geometric noise."""
    tail = np.exp(-rate * (abs(k) + (k >= 0))) / (1 + math.exp(-rate))
    return np.where(k >= 0, 1 - tail, tail)


def first_above(left: Any, rate: float, *, noisy_threshold: bool) -> Any:
    """Probabilities of each answer of sparse vector on exact counts, the last for none."""
    k, law = noise_law(rate) if noisy_threshold else (np.zeros(1, int), np.ones(1))
    below = at_most(10 + k[:, None] - left - 1, rate)
    so_far = np.cumprod(np.c_[np.ones(len(k)), below], axis=1)
    return law @ (so_far * np.c_[1 - below, np.ones(len(k))])


def winner(counts: Any, rate: float) -> Any:
    """Probabilities of each class in report noisy max; of equal ones the first wins."""
    k, law = noise_law(rate)
    found = []
    for i, own in enumerate(counts):
        others = [at_most(own + k - c - (j < i), rate) for j, c in enumerate(counts) if j != i]
        found.append(law @ np.prod(others, axis=0))
    return np.array(found)


def largest_loss(law: Callable[[Any], Any], pairs: list[tuple[Any, Any]]) -> float:
    return max(float(abs(np.log(law(a) / law(b))).max()) for a, b in pairs)


def test_sparse_vector_keeps_its_claim_and_needs_noise_on_the_threshold() -> None:
    """All counts from 6 to 13 to the left of six cuts, in steps, and one record more anywhere."""
    steps = np.triu(np.ones((6, 6), int))
    counts = [np.array(c) for c in itertools.combinations_with_replacement((6, 8, 9, 10, 13), 6)]
    pairs = [(c, c + step) for c in counts for step in steps]
    rate = SparseVector().rate
    assert largest_loss(partial(first_above, rate=rate, noisy_threshold=True), pairs) <= 1 + 1e-9
    wrong = BY_NAME["threshold without noise"]
    broken = largest_loss(partial(first_above, rate=wrong.factory().rate, noisy_threshold=False), pairs)
    assert broken == pytest.approx(wrong.loss)


def test_report_noisy_max_keeps_its_claim_and_no_smaller_one() -> None:
    counts = [np.array(c) for c in itertools.product(range(8), repeat=3)]
    pairs = [(c, c + one) for c in counts for one in np.eye(3, dtype=int)]
    rate = NoisyMax().rate
    assert 0.9 < largest_loss(partial(winner, rate=rate), pairs) <= 1 + 1e-9
    assert largest_loss(partial(winner, rate=1.2 * rate), pairs) > 1.05  # broken twin
