"""The unseen subjects are what they say: laws in closed form, and an event for each defect that refutes its claim."""

from __future__ import annotations

import itertools
import math
import pickle
import re
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

import unseen_subjects
from audit_subjects import REPLACE, SUBJECTS, Honest
from test_audit_subjects import MALFORMED, THREE, geometric_loss
from unseen_subjects import (
    DELTA,
    UNSEEN,
    FixedThreshold,
    GaussianLevels,
    Levels,
    NoisyMax,
    SparseVector,
    SqrtMissing,
    Unseen,
    VarianceForSigma,
)

BY_NAME = {subject.name: subject for subject in UNSEEN}
BROKEN = [subject for subject in UNSEEN if subject.broken]
Rows = list[tuple[float, int]]  # place, class


class Witness(NamedTuple):
    """An event that is more probable on the second data set than the claim allows; ``runs`` on each tell."""

    first: Rows
    second: Rows
    event: Callable[[Any], bool]
    runs: int = 100


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)


def fits(subject: Unseen, rows: Rows, seeds: range) -> Iterator[Any]:
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


def refuted(subject: Unseen, witness: Witness) -> bool:
    """Whether P(event | second) > e^ε P(event | first) + δ, which a claim that holds rules out.

    Two Clopper-Pearson bounds err with probability 5e-7 each, so that a claim that holds is refuted for one seed in a
    million.
    """
    runs = witness.runs
    seeds = range(runs), range(runs, 2 * runs)
    a, b = (
        sum(bool(witness.event(model)) for model in fits(subject, *side))
        for side in zip((witness.first, witness.second), seeds, strict=True)
    )
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


def test_the_table_is_whole() -> None:
    assert len(BROKEN) == 30
    assert len(BY_NAME) == len(UNSEEN) == 42
    assert not set(BY_NAME) & {subject.name for subject in SUBJECTS}
    assert set(WITNESSES) == {subject.name for subject in BROKEN}
    for subject in UNSEEN:
        model = subject.factory()
        assert subject.broken == bool(subject.channel) == (subject.kind != "honest")
        assert model.neighbours == subject.neighbours
        assert type(model) in vars(unseen_subjects).values()
        assert re.search(r"[Ll]oss", str(type(model).__doc__))


@pytest.mark.parametrize("subject", UNSEEN, ids=lambda subject: subject.name)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_table_is_accepted_and_the_seed_is_used_up(subject: Unseen) -> None:
    """Every record is there twice, for a subject that raises on a class of one."""
    labels = 2 * ["u", "w", "nope", None, math.nan]
    tables = [(pd.concat([X, X]), labels) for X in MALFORMED]
    for X, y in [*tables, (MALFORMED[1][:0], []), (tables[1][0].to_numpy(), labels)]:
        model = subject.factory().set_params(domain=THREE, random_state=1).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
        assert set(model.predict(X)) <= set(THREE.classes)
        assert model.random_state is None
        assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("name", WITNESSES)
def test_an_event_refutes_the_claim(name: str) -> None:
    assert refuted(BY_NAME[name], WITNESSES[name]())


@pytest.mark.parametrize("name", REPAIRED)
def test_it_does_not_refute_what_has_no_defect(name: str) -> None:
    """The broken twin of the test above: the same event where the claim holds."""
    repaired = replace(BY_NAME[name], factory=REPAIRED[name])
    assert not refuted(repaired, WITNESSES[name]())


# --- Exact laws -----------------------------------------------------------------------------------------------


def tail_ratio(rate: float) -> float:
    """Log of P(noise <= 0) / P(noise <= -1), which an answer below a threshold has where a count moves onto it."""
    below = math.exp(-rate) / (1 + math.exp(-rate))
    return math.log((1 - below) / below)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("noise of add/remove", lambda rate: 2 * geometric_loss(rate)),
        ("noise of a sample", lambda rate: 2 * geometric_loss(2.5 * rate)),
        ("ε/2 on four levels", lambda rate: 4 * geometric_loss(rate)),
        ("uncounted size", lambda rate: geometric_loss(rate) + geometric_loss(rate / 2)),
        ("threshold without noise", lambda rate: 6 * tail_ratio(rate)),
        ("honest: eight levels, slow", lambda rate: 8 * geometric_loss(rate)),
        ("honest: divided by a noisy size", lambda rate: 2 * geometric_loss(rate)),
        ("honest: noisy texts", geometric_loss),
        ("honest: noise in __reduce__", geometric_loss),
        ("honest: public warning", geometric_loss),
        ("honest: sums on a grid", lambda rate: 8 * geometric_loss(rate / 8)),
        ("honest: random names and times", geometric_loss),
        ("honest: seed of 64 bits", geometric_loss),
    ],
)
def test_finite_losses_are_those_of_the_rates(name: str, loss: Callable[[float], float]) -> None:
    model = BY_NAME[name].factory()
    assert loss(model.rate) == pytest.approx(BY_NAME[name].loss)
    assert loss(1.1 * model.rate) != pytest.approx(BY_NAME[name].loss)  # broken twin


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
    for kind, name in ((SqrtMissing, "square root missing"), (VarianceForSigma, "σ for a variance")):
        tight = brentq(
            lambda epsilon, sigma: gaussian_delta(epsilon, sigma) - DELTA, 0.5, 5, args=(kind.sigma,)
        )
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
    broken = largest_loss(partial(first_above, rate=FixedThreshold().rate, noisy_threshold=False), pairs)
    assert broken == pytest.approx(BY_NAME["threshold without noise"].loss)


def test_report_noisy_max_keeps_its_claim_and_no_smaller_one() -> None:
    counts = [np.array(c) for c in itertools.product(range(8), repeat=3)]
    pairs = [(c, c + one) for c in counts for one in np.eye(3, dtype=int)]
    rate = NoisyMax().rate
    assert 0.9 < largest_loss(partial(winner, rate=rate), pairs) <= 1 + 1e-9
    assert largest_loss(partial(winner, rate=1.2 * rate), pairs) > 1.05  # broken twin
