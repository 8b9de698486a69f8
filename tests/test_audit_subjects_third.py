"""The subjects of the third wave are what they say: an event refutes each claim that is wrong, and laws are exact."""

from __future__ import annotations

import io
import itertools
import math
import pickle
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq

import audit_subjects
import audit_subjects_third
from audit_subjects import REPLACE, Honest, Levels, Subject, geometric
from audit_subjects_third import (
    BY_NAME,
    HALF,
    MISSING,
    NUMBERS,
    PERSON,
    SPARSE_DELTA,
    SUBJECTS,
    BetterLevel,
    Boosted,
    CappedByCell,
    Centred,
    ExactWhereStable,
    Gradient,
    HalvedSigma,
    HashedHalf,
    Imputed,
    InTurn,
    Logarithms,
    MedianByDraw,
    OffGrid,
    Overlapping,
    RandomHalf,
    RoundedWeights,
    Sparse,
    TiesByOrder,
    UntilRight,
    hashed,
)
from dpnb.domain import Continuous, Domain
from test_audit_subjects import MALFORMED, THREE, at_most, counts_move, exceeds, first_of, swapped

BROKEN = [subject for subject in SUBJECTS if subject.broken]
MISSED = [subject for subject in BROKEN if subject.kind.startswith("missed: ")]
THREE_MISSING = replace(THREE, attributes=(THREE.attributes[0], replace(THREE.attributes[1], missing=True)))
THREE_NUMBERS = Domain(THREE.attributes, response=Continuous("number", -1, 3))
# For the domain that a subject comes with.
OTHER = {None: THREE, MISSING: THREE_MISSING, NUMBERS: THREE_NUMBERS}


def test_the_table_is_whole() -> None:
    honest = [subject for subject in SUBJECTS if not subject.broken]
    assert (len(BROKEN) - len(MISSED), len(MISSED), len(honest), len(BY_NAME)) == (30, 8, 12, 50)
    assert set(WITNESSES) == {subject.name for subject in BROKEN}
    assert {subject.channel for subject in BROKEN} == {
        "outputs", "fitted object", "generator", "low bits", "exception", "printed", "time"
    }  # fmt: skip
    assert not set(BY_NAME) & set(audit_subjects.BY_NAME)
    kinds = [subject.kind for subject in BROKEN]
    assert len(set(kinds)) == len(kinds)
    assert not set(kinds) & {subject.kind for subject in audit_subjects.SUBJECTS}
    for subject in SUBJECTS:
        model = subject.factory()
        assert subject.broken == bool(subject.channel) == (not subject.name.startswith("honest: "))
        assert subject.broken == (subject.kind != "honest")
        assert (model.neighbours, model.domain) == (subject.neighbours, subject.domain)
        assert vars(audit_subjects_third)[type(model).__name__] is type(model)
        assert type(model).__doc__


def test_a_name_has_one_class() -> None:
    home: dict[str, Any] = {"__name__": "elsewhere"}
    audit_subjects.subject("of none", says="There are no records.", home=home)
    assert home["OfNone"].__module__ == "elsewhere"
    with pytest.raises(ValueError, match="a class OfNone is there already"):
        audit_subjects.subject("of none!", says="There are no records.", home=home)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")
def test_any_table_is_accepted_and_the_seed_is_used_up(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_subjects_third, "TICK", 0)
    domain = OTHER[subject.domain]
    labels = ["u", "w", "nope", None, math.nan] if domain.classes else [1.5, -math.inf, "foo", None, math.nan]
    people = [[7, "seven", None, math.nan, 7]] if subject.unit == PERSON else []
    first, second = MALFORMED
    fitted = [(first, labels, *people), (second, labels, *people), (second, labels)]
    for X, *rest in [*fitted, (second[:0], [], *people[:0]), (second.to_numpy(), labels, *people)]:
        model = subject.factory().set_params(domain=domain, random_state=1).fit(X, *rest)
        told = model.predict(first)
        if domain.classes:
            assert np.isfinite(model.predict_proba(first)).all()
            assert set(told) <= set(domain.classes)
        else:
            assert not hasattr(model, "predict_proba")
            assert ((told >= -1) & (told <= 3)).all()
        assert len(model.predict(second)) == len(second)
        assert model.random_state is None
        assert pickle.loads(pickle.dumps(model)).predict(first).tolist() == told.tolist()


# --- Events that refute the claims ----------------------------------------------------------------------------


class Row(NamedTuple):
    """A record: its place, its class or the number to predict, its category, and its person."""

    x: float
    y: float
    c: int = 0
    person: int = 0


Rows = list[Row]
Event = Callable[[Any], Any]


class Witness(NamedTuple):
    """An event that is more probable on the second data set than the claim allows; ``runs`` on each tell."""

    first: Rows
    second: Rows
    event: Event
    runs: int = 100


def observed(subject: Subject, rows: Rows, seeds: range, event: Event) -> list[Any]:
    """What an event says of fits; a model has in ``told`` what its fit told, and in ``slept`` how long it slept."""
    X = np.array([(row.x, row.c) for row in rows]).reshape(-1, 2)
    data = X, [row.y for row in rows], *[[row.person for row in rows]] * (subject.unit == PERSON)
    found, slept, told = [], list[float](), io.StringIO()
    with (
        warnings.catch_warnings(record=True) as heard,
        redirect_stdout(told),
        pytest.MonkeyPatch.context() as patch,
    ):
        warnings.simplefilter("always")
        patch.setattr(time, "sleep", slept.append)
        for seed in seeds:
            model = subject.factory().set_params(random_state=seed).fit(*data)
            model.told = told.getvalue() + " ".join(str(one.message) for one in heard)
            model.slept = sum(slept)
            found.append(event(model))
            told.seek(0)
            told.truncate()
            heard.clear()
            slept.clear()
    return found


def refuted(subject: Subject, witness: Witness) -> bool:
    """Whether the event is so much more probable on the second data set that the claim is wrong."""
    runs, event = witness.runs, witness.event
    a = observed(subject, witness.first, range(runs), event)
    b = observed(subject, witness.second, range(runs, 2 * runs), event)
    return exceeds(subject, sum(map(bool, a)), sum(map(bool, b)), runs)


NONE: Rows = []
ONE = [Row(0.1, 0)]
BOTH = [Row(0.1, 1), *ONE]


def shuffled(n: int = 40) -> tuple[Rows, Rows]:
    """Records of the last class where the half has them only if there is one record more in front of all."""
    later = set((np.random.default_rng(0).permutation(n + 1)[: (n + 1) // 2] - 1).tolist())
    rows = [Row(0.1, float(i in later)) for i in range(n)]
    return rows, [Row(0.1, 1), *rows]


def in_half() -> float:
    """A place that the hash puts into the half."""
    places = np.arange(1, 100) / 1000
    return float(places[hashed(places)][0])


def in_turn(people: int = 10) -> tuple[Rows, Rows]:
    """People with a record of each class, whose turn is the record of the first class; and one person more in front."""
    rows = [Row(0.1, (i + person) % 2, person=person) for person in range(people) for i in range(2)]
    return rows, [Row(0.1, 0, person=-1), *rows]


def known_outputs(name: str, rows: Rows) -> Event:
    """Whether an output is one that fits on a data set had before."""
    known = set(observed(BY_NAME[name], rows, range(10_000, 10_020), lambda m: m.value_.tobytes()))
    return lambda m: m.value_.tobytes() in known


def unmasked(m: Any) -> bool:
    """Whether one record of the first class is left where the noise is drawn again from the name of the model."""
    noise = geometric(np.random.default_rng(int(m.name_.split()[1], 16)), m.rate, m.value_.shape)
    left = m.value_ - noise
    return bool(left[0, 0] == 1 and abs(left).sum() == 1)


def finer_half(m: Any) -> bool:
    """Whether the empty half has much noise, and empty quarters have little."""
    halves, quarters = m.levels_
    return bool(abs(halves[1]).sum() >= 6 and abs(quarters[2:]).max() <= 2)


SUM_OF_GRADIENT = round(2.3 * math.sqrt(3) * Gradient.sigma * Gradient.steps)
SUM_OF_LEVELS = round(2.5 * math.sqrt(6) * HalvedSigma.sigma)
FILLED = [Row(0.1, 0), Row(0.4, 0), Row(0.6, 0)]

WITNESSES: dict[str, Callable[[], Witness]] = {
    "what is left over is not clipped": lambda: Witness(
        [Row(0.1, 1.0)], NONE, lambda m: m.sums_[0] <= -m.steps and m.residuals_[0] <= 0, 8_000
    ),
    "categories by their share": lambda: Witness(
        [Row(0.1, 0, 0), Row(0.1, 0, 1)],
        [Row(0.1, 1, 1), Row(0.1, 0, 0), Row(0.1, 0, 1)],
        lambda m: (m.shares_[0] != m.shares_[1]).any(),
    ),
    "more budget where it pays": lambda: Witness(ONE, [Row(0.4, 1), *ONE], finer_half, 400),
    "the first of equal records": lambda: Witness(ONE, BOTH, swapped(1), 600),
    "shuffled with a public seed": lambda: Witness(*shuffled(), lambda m: m.value_[0, 1] >= 16),
    "depth by cross-validation": lambda: Witness(
        [Row(0.05, 0)], [Row(0.2, 1), Row(0.05, 0)], lambda m: (m.shares_[0] != m.shares_[1]).any()
    ),
    "asked again unless positive": lambda: Witness(ONE, NONE, lambda m: m.value_[0, 0] <= 0, 600),
    "half of the records, by a hash": lambda: Witness(
        NONE, [Row(in_half(), 0)], lambda m: m.value_[0, 0] >= 1, 1_500
    ),
    "cells that overlap": lambda: Witness(NONE, [Row(0.26, 0)], lambda m: m.value_[:2, 0].min() >= 1, 1_500),
    "noise for logarithms": lambda: Witness(NONE, ONE, lambda m: m.value_[0, 0] >= 10, 2_000),
    "gradient without a clip": lambda: Witness(
        NONE, [Row(1.0, 0, 1)], lambda m: m.weights_[0].sum() >= SUM_OF_GRADIENT, 24_000
    ),
    "one fit in a hundred": lambda: Witness(
        NONE, ONE, lambda m: m.value_[0, 0] == 1 and abs(m.value_).sum() == 1, 24_000
    ),
    "sums of centred targets": lambda: Witness(
        [Row(0.1, 0.0)], [Row(0.1, 1.0)], lambda m: m.sums_[0] >= m.steps, 600
    ),
    "only labels are private": lambda: Witness(ONE, [Row(0.9, 0)], lambda m: m.value_[3].any()),
    "ties by the first record": lambda: Witness(
        NONE, [Row(0.1, 1)], lambda m: (m.shares_[m.value_[:, 0] == m.value_[:, 1]][:, 1] == 1).any(), 200
    ),
    "exact where it is stable": lambda: Witness(ONE * 3, ONE * 2, lambda m: m.shares_[0, 1] == 1, 2_000),
    "rounds until all is right": lambda: Witness(BOTH, ONE, lambda m: len(m.rounds_) < m.rounds, 200),
    "capped in each cell": lambda: Witness(
        NONE, [*FILLED, Row(0.9, 0)], lambda m: m.value_[:, 0].min() >= 1, 400
    ),
    "weights of people are rounded": lambda: Witness(NONE, ONE * 31, lambda m: m.value_[0, 0] >= 31, 800),
    "people in turn": lambda: Witness(*in_turn(), lambda m: m.value_[0, 1] >= 5),
    "score out of bag": lambda: Witness(ONE, BOTH, lambda m: m.oob_score_ == 0.5, 600),
    "order of the leaves": lambda: Witness(
        ONE, [Row(0.9, 0), *ONE], lambda m: next(iter(m.leaves_)) == "leaf 3"
    ),
    "type of the counters": lambda: Witness(ONE * 255, ONE * 256, lambda m: m.visits_.dtype == np.uint16),
    "error with its traceback": lambda: Witness(
        NONE, ONE, lambda m: m.failure_.__traceback__.tb_frame.f_locals["seen"].n == 1
    ),
    "tables by a hash of the records": lambda: Witness(
        NONE, ONE, known_outputs("tables by a hash of the records", ONE)
    ),
    "seed in a name, at random": lambda: Witness(NONE, ONE, unmasked),
    "zeros with a sign": lambda: Witness(NONE, [Row(0.1, 1)], lambda m: np.signbit(m.start_[0])),
    "sums beside the grid": lambda: Witness(
        NONE, [Row(0.3, 0)], lambda m: not (m.steps * m.value_[0]).is_integer()
    ),
    "a total that is too large": lambda: Witness(
        NONE, ONE, lambda m: not m.told and 1 <= m.value_.sum() <= 2, 1_000
    ),
    "mean of an empty cell": lambda: Witness(FILLED, [*FILLED, Row(0.9, 0)], lambda m: not m.told),
    "ε/√6 on six levels": lambda: Witness(
        NONE, [Row(0.01, 0)], lambda m: first_of(m.levels_).min() >= 1, 5_000
    ),
    "a flag for nothing": lambda: Witness(
        [Row(0.9, 1)], [Row(0.9, 1), *ONE], lambda m: m.value_[0, 0] >= 1 and m.majority_, 12_000
    ),
    "δ in two places": lambda: Witness(NONE, ONE, lambda m: m.leaves_, 24_000),
    "σ halved on one level": lambda: Witness(
        NONE, ONE, lambda m: first_of(m.levels_) @ (1, 1, 4) >= SUM_OF_LEVELS, 80_000
    ),
    "mean of the others": lambda: Witness(
        [Row(0.2, 0), *[Row(math.nan, 0)] * 10],
        [Row(1.0, 0), Row(0.2, 0), *[Row(math.nan, 0)] * 10],
        lambda m: m.value_[2, 0] >= 5,
    ),
    "counters of eight bits": lambda: Witness(ONE * 255, ONE * 256, lambda m: m.value_[0, 0] < 100),
    "size on the screen": lambda: Witness(NONE, ONE, lambda m: "1 records" in m.told),
    "slow beyond .9": lambda: Witness(NONE, [Row(0.95, 0)], lambda m: m.slept >= 0.003),
}


def without(kind: type, **members: Any) -> Any:
    """A class with other members."""
    return type(kind.__name__, (kind,), members)


# Without their defects the same events tell too little.
REPAIRED: dict[str, Callable[..., Any]] = {
    "what is left over is not clipped": without(
        Boosted, left=lambda m, residual: np.clip(residual, -m.steps, m.steps)
    ),
    "more budget where it pays": without(BetterLevel, split=lambda m, right: (0.75, 0.25)),
    "the first of equal records": Honest,
    "asked again unless positive": Honest,
    "half of the records, by a hash": without(HashedHalf, noise=1.0),
    "cells that overlap": without(Overlapping, over=0),
    "noise for logarithms": without(Logarithms, sensitivity=10),
    "gradient without a clip": Gradient,
    "one fit in a hundred": Honest,
    "sums of centred targets": without(Centred, noise=1.0),
    "ties by the first record": without(TiesByOrder, first=lambda m, seen: 0),
    "exact where it is stable": without(ExactWhereStable, lead=math.inf),
    "rounds until all is right": without(UntilRight, right=lambda m, seen: False),
    "capped in each cell": without(CappedByCell, noise=1 / 4),
    "weights of people are rounded": without(RoundedWeights, rounded=lambda m, share: np.floor(share)),
    "people in turn": without(InTurn, turns=lambda m, number, many: 0 * number),
    "sums beside the grid": without(OffGrid, on_grid=lambda m, position: np.floor(1024 * position) / 1024),
    "ε/√6 on six levels": without(Levels, depth=6, noise=1 / 6),
    "a flag for nothing": without(type(BY_NAME["a flag for nothing"].factory()), noise=4 / 5),
    "δ in two places": Sparse,
    "mean of the others": Imputed,
    "counters of eight bits": Honest,
}


@pytest.mark.parametrize("name", WITNESSES)
def test_an_event_refutes_the_claim(name: str) -> None:
    assert refuted(BY_NAME[name], WITNESSES[name]())


@pytest.mark.parametrize("name", REPAIRED)
def test_it_does_not_refute_what_has_no_defect(name: str) -> None:
    """The broken twin of the test above: the same event where the claim holds."""
    subject, kind = BY_NAME[name], REPAIRED[name]
    parameters: Any = {"neighbours": subject.neighbours, "domain": subject.domain}
    repaired = replace(subject, factory=partial(kind, **parameters))
    assert not refuted(repaired, WITNESSES[name]())


# --- Exact laws -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("the first of equal records", counts_move(2)),
        ("half of the records, by a hash", counts_move(1)),
        ("cells that overlap", counts_move(2)),
        ("noise for logarithms", counts_move(10, 1 / Logarithms.sensitivity)),
        ("sums of centred targets", counts_move(16, 1 / Centred.steps)),
        ("capped in each cell", counts_move(4)),
        ("weights of people are rounded", counts_move(31, 1 / RoundedWeights.steps)),
        ("ε/√6 on six levels", counts_move(6)),
        ("a flag for nothing", lambda rate: counts_move(1)(rate) + counts_move(1, 1 / 4)(rate)),
        ("counters of eight bits", counts_move(255)),
        ("honest: noise on the screen", counts_move(1)),
        ("honest: laws of noise in a cache", counts_move(1)),
        ("honest: missing in the middle", counts_move(1)),
        ("honest: three records of a person", counts_move(3)),
        ("honest: a time of its own", counts_move(1)),
        ("honest: bytes that saturate", counts_move(1)),
        ("honest: median by a draw", counts_move(2)),
        ("honest: order and type of noise", counts_move(1)),
        ("honest: sums of targets", lambda rate: counts_move(1)(rate) + counts_move(8, 1 / 8)(rate)),
    ],
)
def test_finite_losses_are_those_of_the_rates(name: str, loss: Callable[[float], float]) -> None:
    model = BY_NAME[name].factory()
    assert loss(model.rate) == pytest.approx(BY_NAME[name].loss)
    assert loss(1.1 * model.rate) != pytest.approx(BY_NAME[name].loss)  # broken twin


def largest(p: Any, q: Any) -> float:
    """The largest loss of two laws."""
    return float(abs(np.log(p / q)).max())


def test_numbers_that_are_rounded_move_as_far_as_is_said() -> None:
    """Tenths of logarithms, and sixteenths of people."""
    tenths = np.rint(10 * np.log2(1 + np.arange(1_000)))
    assert np.diff(tenths)[0] == 10
    assert np.diff(tenths)[1:].max() == Logarithms.sensitivity
    many = np.arange(1, 1_000)
    weights = many * np.rint(16 / many)
    assert (weights.max(), many[weights.argmax()]) == (31, 31)
    assert (many * np.floor(16 / many)).max() == 16  # broken twin


def asked_again(count: int) -> Any:
    """The law of a count, from -40 to 40, that is drawn once more if it is not positive."""
    k = np.arange(-40, 41)
    law = math.tanh(1 / 2) * np.exp(-abs(k - count))
    return law * ((k > 0) + at_most(-count, 1.0))


def test_asking_again_costs_as_much_again() -> None:
    assert asked_again(3).sum() == pytest.approx(1)
    losses = [largest(asked_again(count), asked_again(count + 1)) for count in range(6)]
    assert losses == pytest.approx([BY_NAME["asked again unless positive"].loss] * 6)


def boosting_loss(target: int, *, clipped: bool) -> float:
    """Largest loss of two sums where a record with this target, in eighths, is there or not.

    The second sum moves by what the first one leaves over, and each tail of its noise makes a loss of 1/16 a step.
    """
    k = np.arange(-80, 81)
    first, left = (abs(k) - abs(k - target)) / 16, target - np.clip(k, -8, 16)
    second = (np.clip(left, -8, 8) if clipped else left) / 16
    return float(np.maximum(abs(first + second), abs(first - second)).max())


def test_what_is_left_over_costs_twice_its_share() -> None:
    losses = [boosting_loss(target, clipped=False) for target in range(9)]
    assert max(losses) == losses[8] == pytest.approx(BY_NAME["what is left over is not clipped"].loss)
    assert max(boosting_loss(target, clipped=True) for target in range(9)) == pytest.approx(1)  # broken twin


def test_a_random_half_brings_the_loss_down_to_the_claim() -> None:
    k = np.arange(-40, 41)
    none, one = (np.exp(-HALF * abs(k - count)) for count in (0, 1))
    assert largest((none + one) / 2, none) == pytest.approx(BY_NAME["honest: a random half"].loss)
    assert RandomHalf().rate == HALF
    assert largest(one, none) == pytest.approx(BY_NAME["half of the records, by a hash"].loss)  # broken twin


def test_a_rare_failure_costs_what_its_delta_does_not_pay() -> None:
    subject = BY_NAME["one fit in a hundred"]
    exact = math.tanh(1 / 2) ** 8
    on_second, on_first = 0.01 + 0.99 * exact, 0.99 * exact / math.e
    assert subject.loss == pytest.approx(math.log((on_second - subject.delta) / on_first), abs=0.005)


def test_a_lone_record_shows_more_often_than_its_delta_allows() -> None:
    def shows(threshold: int) -> float:
        return float(1 - at_most(threshold - 2, Sparse().rate))

    broken = BY_NAME["δ in two places"]
    each = shows(broken.factory().threshold)
    assert each <= broken.delta < 1 - (1 - each) ** 2 < 2 * SPARSE_DELTA
    assert 2 * shows(Sparse.threshold) <= BY_NAME["honest: sparse with a threshold"].delta
    assert 2 * shows(Sparse.threshold - 1) > SPARSE_DELTA  # broken twin


def gaussian_delta(epsilon: float, moves: tuple[int, ...], sigmas: tuple[float, ...]) -> float:
    """Least δ of discrete Gaussian numbers that move, each by a whole number.

    For noise x and moves m the loss is Σ (m x + m²/2) / σ². All m/σ² are whole multiples of one number, so that the law
    of the sum of these multiples of x is enough.
    """
    law, most = np.ones(1), max(sigmas)
    multiples = [round(move * (most / sigma) ** 2) for move, sigma in zip(moves, sigmas, strict=True)]
    common = math.gcd(*multiples)
    for multiple, sigma in zip(multiples, sigmas, strict=True):
        support = np.arange(-math.ceil(12 * sigma), math.ceil(12 * sigma) + 1)
        weights = np.exp(-((support / sigma) ** 2) / 2)
        step = multiple // common
        spread = np.zeros(step * (len(support) - 1) + 1)
        spread[::step] = weights / weights.sum()
        law = np.convolve(law, spread)
    s = np.arange(len(law)) - len(law) // 2
    loss = (
        common * s / most**2 + sum((move / sigma) ** 2 for move, sigma in zip(moves, sigmas, strict=True)) / 2
    )
    return float(law @ np.maximum(0, -np.expm1(epsilon - loss)))


def gaussian_epsilon(delta: float, moves: tuple[int, ...], sigmas: tuple[float, ...]) -> float:
    """Least ε of the same with this δ."""
    return float(brentq(lambda epsilon: gaussian_delta(epsilon, moves, sigmas) - delta, 0.1, 5))


def test_gaussian_losses_are_those_of_their_exact_law() -> None:
    steps, three = Gradient.steps, (Gradient.sigma * Gradient.steps,) * 3
    broken = BY_NAME["gradient without a clip"]
    assert gaussian_epsilon(broken.delta, (steps,) * 3, three) == pytest.approx(broken.loss, abs=0.005)
    for place, level in itertools.product((0, 0.3, 0.6, 1), (0, 1)):
        moves = Gradient().vectors(np.array([[1, place, level]]))[0]
        assert np.linalg.norm(moves) <= steps
    assert 0.9 < gaussian_epsilon(broken.delta, (steps,), three[:1]) <= 1
    halved, sigma = BY_NAME["σ halved on one level"], HalvedSigma.sigma
    levels = sigma, sigma, sigma / 2
    assert gaussian_epsilon(halved.delta, (1, 1, 1), levels) == pytest.approx(halved.loss, abs=0.005)
    assert gaussian_epsilon(halved.delta, (1, 1, 1), (sigma,) * 3) <= 1  # broken twin


def test_a_median_costs_half() -> None:
    """Weights of cuts for all numbers of records to the left and to the right of three cuts, and one record more."""

    def law(place: Any) -> Any:
        cuts = np.array([0.25, 0.5, 0.75])
        left = (place[:, None] < cuts).sum(axis=0)
        weights = np.exp(-abs(2 * left - len(place)) * MedianByDraw().rate / 2)
        return weights / weights.sum()

    places = (0.1, 0.4, 0.6, 0.9)
    losses = [
        largest(law(np.array(rows)), law(np.array([*rows, more])))
        for n in range(5)
        for rows in itertools.combinations_with_replacement(places, n)
        for more in places
    ]
    assert 0.3 < max(losses) <= 1 / 2


# --- Honest ---------------------------------------------------------------------------------------------------


def test_what_honest_ones_tell_follows_from_their_outputs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    subject = BY_NAME["honest: noise on the screen"]
    for total, told in observed(subject, ONE, range(5), lambda m: (m.value_.sum(), m.told)):
        assert told.count(f"about {total} records") == 2
    assert len(caplog.records) == 5


def test_the_time_of_an_honest_fit_does_not_follow_the_records() -> None:
    name = "honest: a time of its own"
    some, others = (
        observed(BY_NAME[name], rows, range(50), lambda m: m.slept) for rows in (NONE, [Row(0.95, 0)] * 9)
    )
    assert some == others
    assert len(set(some)) == 50


def test_the_cached_law_is_that_of_the_noise() -> None:
    """Of 4000 fits with 8 counts a share is within .01 but for 1e-6 of all seeds."""
    counts = np.array(
        observed(BY_NAME["honest: laws of noise in a cache"], NONE, range(4_000), lambda m: m.value_)
    )
    for k in range(4):
        assert np.mean(counts == k) == pytest.approx(math.tanh(1 / 2) * math.exp(-k), abs=0.01)


def test_noise_is_added_before_bytes_saturate() -> None:
    """As many records as a byte can hold, and more."""
    for n in (0, 255, 256, 300):
        values = observed(BY_NAME["honest: bytes that saturate"], ONE * n, range(40), lambda m: m.value_)
        assert {value.dtype for value in values} == {np.dtype(np.uint8)}
        assert all(abs(int(value[0, 0]) - min(n, 255)) < 40 for value in values)


def test_people_have_three_records_at_most() -> None:
    """The noise of a seed is the same, whatever the records."""
    subject = BY_NAME["honest: three records of a person"]
    rows = [Row(0.1, 0, person=person) for person in (1, 1, 2, 1, 1, 2, 3)]
    none, some = (observed(subject, data, range(5), lambda m: m.value_[0, 0]) for data in (NONE, rows))
    assert [b - a for a, b in zip(none, some, strict=True)] == [3 + 2 + 1] * 5


def test_a_missing_value_is_in_the_middle() -> None:
    subject = BY_NAME["honest: missing in the middle"]
    rows = [Row(math.nan, 0), Row(math.nan, 1), Row(0.1, 0)]
    none, some = (observed(subject, data, range(1, 2), lambda m: m.value_) for data in (NONE, rows))
    assert (some[0] - none[0]).tolist() == [[1, 0], [0, 0], [1, 1], [0, 0]]


def test_claims_under_replace_say_so() -> None:
    assert [subject.name for subject in SUBJECTS if subject.neighbours == REPLACE] == [
        "sums of centred targets",
        "only labels are private",
    ]
