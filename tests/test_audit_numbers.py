"""The auditor on a regressor: bets on predicted numbers, replays, and the most that one record changes of any question.

Each has a broken twin. Bets flag a private regressor with probability 1e-6 at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpaudit import PrivacyViolation, assert_private, families, own_pair, pairs
from dpaudit.cli import main
from dpaudit.look import BlackBox
from dpaudit.pairs import KINDS, NEIGHBOURS, NUMBERS
from dpnb import Continuous, Domain, Ledger, PrivateBoosterRegressor
from dpnb.boosting import numbers
from dpnb.boosting.numbers import NumberStages
from dpnb.boosting.plans import Planner
from dpnb.boosting.runs import most_purely, shares_purely
from dpnb.privacy.ledger import PlannedScope, Scope
from dpnb.records.losses import Huber, fixed
from dpnb.replay import replay
from dpnb.replay.neighbours import split_pair
from dpnb.replay.tape import replay_estimator
from dpnb.settings import OF_NUMBER
from private_trees.auditing.fixed import attack
from stage_records import (
    ATTRIBUTES,
    DELTA,
    EVERYTHING,
    Encoded,
    choices_at,
    half_of_the_sensitivity,
    noise_of_one_block,
    sample,
)
from test_audit_stages import counted
from test_stages import excess, run

PRICES = Domain(NUMBERS.attributes, response=Continuous("price", 0, 20_000, unit="dollars"))
SMALL: dict[str, Any] = {"n_rounds": 4, "uniform": 5, "geometric": 2}
FEW: dict[str, Any] = {"n_rounds": 1, "uniform": 1, "geometric": 0}
MEAN = NumberStages._mean


def of_exact_sums(
    self: NumberStages, measure: Any, share: float, what: str, **where: float
) -> tuple[float, float]:
    """The width and the middle follow from sums without noise; noisy ones are released."""
    exact = self.data.total(partial(measure, **where)) / self.n
    return exact, MEAN(self, measure, share, what, **where)[1]


class ExactWidth(PrivateBoosterRegressor):
    def _boost(self, records: Any, curator: Any) -> Any:
        with mock.patch.object(NumberStages, "_mean", of_exact_sums):
            return super()._boost(records, curator)


class Uncut(PrivateBoosterRegressor):
    def _loss(self) -> Any:
        return Far(self._response.low, self._response.high)


class Far(Huber):
    def residuals(self, score: Any, labels: Any) -> Any:
        return fixed(self._distance(score, labels))


class Thrice(PrivateBoosterRegressor):
    """Spends three times what it claims, and says nothing of it."""

    @property
    def _budget(self) -> float:
        return 3 * super()._budget


# --- Pairs and observations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_every_kind_gives_neighbours_whose_numbers_lie_at_the_ends_and_in_the_middle(relation: str) -> None:
    seen: set[float] = set()
    for kind in KINDS:
        if kind == "missing":  # of this domain nothing may be
            continue
        for pair in pairs(relation, domain=PRICES, kinds=[kind])[:: 1 + 9 * (kind == "rare")]:
            assert split_pair(pair.first, pair.second)[2] == relation
            if not pair.malformed:
                PRICES.check(*pair.second)
                seen |= {*pair.first[1], *pair.second[1]}
                assert pair.second[1].dtype == float
    assert seen == {0.0, 10_000.0, 20_000.0}
    classes = pairs(relation, kinds=["classes"])  # broken twin
    assert {*classes[0].second[1]} != seen


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_misfits_of_a_number_are_among_the_malformed_pairs(relation: str) -> None:
    found = pairs(relation, domain=PRICES, kinds=["malformed"])
    assert {f"price is {what}" for what in ("NaN", "+∞", "above its bounds", "a text")} < {
        p.name for p in found
    }
    model = PrivateBoosterRegressor(domain=PRICES, **SMALL)
    losses = [replay_estimator(model, pair.first, pair.second, seed=0)[0].loss for pair in found]
    assert max(losses) <= 1 * (2 if relation == "replace" else 1)
    (outside,) = (pair for pair in found if pair.name == "price is above its bounds")
    strict = model.set_params(strict=True)  # broken twin: an error tells that the record is there
    with pytest.raises(ValueError, match="price"):
        strict.fit(*outside.second)


def test_the_observations_are_the_predicted_numbers() -> None:
    pair = families(domain=PRICES)[0]
    model = PrivateBoosterRegressor(domain=PRICES, **SMALL, random_state=0).fit(*pair.first)
    box = BlackBox(pair.first[0], ())
    assert (box(model)[:-1] == model.predict(pair.first[0])).all()
    assert box.names(len(box(model)))[0] == "number of query 0"
    assert np.isnan(BlackBox(pair.first[0], (0.0, 1.0))(model)[:-1]).all()  # broken twin: labels of classes
    found = attack(lambda: PrivateBoosterRegressor(domain=PRICES, **FEW), pair.first, pair.second,
                   claimed=1.0, runs=40, confidence=1 - 1e-6, progress=False)  # fmt: skip
    assert not found.violated
    assert "label of query" not in found.event


# --- Bets -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("delta", [None, pytest.param(1e-6, marks=pytest.mark.nightly)])
def test_an_honest_regressor_passes(delta: float | None) -> None:
    for domain in (None, PRICES):
        subject = PrivateBoosterRegressor(domain=domain, delta=delta, **SMALL)
        found = assert_private(
            subject, epsilon=1.0, delta=delta or 0.0, kinds=["structured", "ends", "empty"], runs=60
        )
        assert not any(finding.violated for finding in found)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [None, pytest.param(1e-6, marks=pytest.mark.nightly)])
def test_a_width_that_follows_from_exact_residuals_is_refuted(delta: float | None) -> None:
    subject = ExactWidth(delta=delta, **SMALL)
    with pytest.raises(PrivacyViolation):
        assert_private(subject, epsilon=1.0, delta=delta or 0.0, kinds=["empty"], runs=300)


@pytest.mark.nightly  # replays catch them each day, see questions that pay too little
def test_residuals_that_are_not_cut_are_refuted() -> None:
    how: dict[str, Any] = {"learning_rate": 30.0, "neighbours": "replace", **FEW, "n_rounds": 4}
    asked: dict[str, Any] = {"epsilon": 1.0, "neighbours": "replace", "kinds": ["empty"], "runs": 1500}
    with pytest.raises(PrivacyViolation):
        assert_private(Uncut(**how), **asked)
    assert not assert_private(PrivateBoosterRegressor(**how), **asked | {"runs": 300})[-1].violated


def test_the_command_line_takes_a_regressor(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "numbers_of_mine.py").write_text(
        "from test_audit_numbers import ExactWidth, FEW, PrivateBoosterRegressor\n"
        "def good():\n    return PrivateBoosterRegressor(**FEW)\n"
        "def bad():\n    return ExactWidth(**FEW)\n"
    )
    how = ["--epsilon", "1", "--pairs", "empty", "--runs"]
    assert main(["numbers_of_mine:good", *how, "60"]) == 0
    assert "replay" in capsys.readouterr().out
    assert main(["numbers_of_mine:bad", *how, "300"]) == 1
    assert "tried = pairs('add-remove', domain=own_domain(bad()), kinds=['empty']" in capsys.readouterr().out
    PRICES.to_yaml(tmp_path / "d.yml")
    (tmp_path / "a.csv").write_text("x,c,cost\n0.5,1,7\n0.25,0,20000\n")
    (tmp_path / "b.csv").write_text("x,c,cost\n0.5,1,7\n")
    pair = own_pair("a.csv", "b.csv", domain_file="d.yml", target="cost")
    assert pair.first[1].tolist() == [7.0, 20_000.0]
    assert pair.domain.target == "cost"


# --- Replays --------------------------------------------------------------------------------------------------


def worst_share(model: Any, relation: str) -> float:
    """Largest loss of replays on structured neighbours, as a share of pure ε, or of an unlikely loss with δ."""
    found = []
    for seed, pair in enumerate(
        families(relation, domain=PRICES) + pairs(relation, domain=PRICES, kinds=["empty"])
    ):
        subject = model.set_params(domain=PRICES, neighbours=relation)
        for sides in ((pair.first, pair.second), (pair.second, pair.first)):
            outcome, _ = replay_estimator(subject, *sides, seed=seed, encoded=True)
            ledger = outcome.ledger
            rho = ledger.rho
            most = ledger.pure_epsilon if model.delta is None else rho + 2 * np.sqrt(rho * np.log(1e9))
            found.append(outcome.loss / most)
    return max(found)


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("delta", [None, DELTA])
def test_no_replay_exceeds_the_ledger(
    delta: float | None, relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = PrivateBoosterRegressor(epsilon=2.0, delta=delta, **SMALL)
    assert 0.02 < worst_share(model, relation) <= 1
    book = Ledger.book
    monkeypatch.setattr(  # broken twin: the ledger books a fiftieth
        Ledger, "book", lambda self, e: book(self, replace(e, epsilon=e.epsilon / 50, rho=e.rho / 2500))
    )
    monkeypatch.setattr(PlannedScope, "cost", Scope.cost)
    monkeypatch.setattr("dpnb.privacy.ledger._booked", lambda most, happened: happened)
    assert worst_share(model, relation) > 1


def test_three_times_the_claim_is_refuted_by_a_replay() -> None:
    (pair,) = pairs(domain=PRICES, kinds=["empty"])
    for kind, broken in ((PrivateBoosterRegressor, False), (Thrice, True)):
        model: Any = kind(domain=PRICES, **FEW)
        found = [replay(model, pair.second, pair.first, seed=seed) for seed in range(12)]
        assert any(finding.violated for finding in found) == broken


@pytest.mark.parametrize("n_rounds", [1, 20, 1000])
def test_the_most_that_a_fit_may_cost_is_what_it_costs_or_more(n_rounds: int) -> None:
    model = PrivateBoosterRegressor(domain=PRICES, **SMALL | {"n_rounds": n_rounds}, random_state=0)
    ledger = model.fit(*families(domain=PRICES)[0].first).ledger_
    spent = sum(event.worst.rho for event in ledger.events)
    of_classes, of_numbers = (
        most_purely(1.0, n_rounds=n_rounds, n_problems=1, shares=shares)
        for shares in ((OF_NUMBER,), shares_purely(PRICES))
    )
    assert spent <= of_numbers.rho * (1 + 1e-9)
    assert (spent > of_classes.rho) == (n_rounds == 1000)  # broken twin: without the sums for the width
    assert sum(event.worst.epsilon for event in ledger.events) <= 1 + 1e-9


@pytest.mark.parametrize("delta", [None, DELTA])
def test_without_noise_the_width_may_shrink_to_nothing(
    delta: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = pairs(domain=PRICES, kinds=["large"])[0].second
    model = PrivateBoosterRegressor(epsilon=np.inf, delta=delta, domain=PRICES, **SMALL, random_state=0)
    with np.errstate(invalid="raise"):
        for number in (0.0, 10_000.0, 17_000.0):
            assert model.fit(X, y * 0 + number).predict(X) == pytest.approx(number, abs=1)
        monkeypatch.setattr(numbers, "LEAST_WIDTH", 0.0)  # broken twin
        with pytest.raises(FloatingPointError):
            model.fit(X, y * 0 + 10_000.0)


# --- What one record changes of any question ------------------------------------------------------------------

MANY = Domain(ATTRIBUTES, response=Continuous("y", -20, 80))


class Numbered(Encoded):
    """Records that are encoded already, with numbers to predict."""

    def __init__(self, codes: Any, labels: Any) -> None:
        super().__init__(codes, np.zeros(len(labels)), MANY)
        self.labels = np.asarray(labels, float)


def drawn(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """Records with numbers that follow from the attributes and fill the range, its ends included."""
    codes, classes = sample(rng, n, 5)
    if rng.random() < 0.5:  # two values of each attribute that many have in common
        codes = np.take_along_axis(sample(rng, 2, 5)[0], rng.integers(2, size=codes.shape), axis=0)
    return codes, np.clip(25 * classes - 20 + rng.choice([0.0, 30.0]) * rng.normal(size=n), -20, 80)


def largest(delta: float | None, *, fits: int, neighbours: int = 4) -> tuple[dict[str, float], Counter[str]]:
    """Largest change of each question as a share of its bound, over records more or less, and how many were seen.

    Scores and widths of the past follow from draws at budgets from far too little to more than enough.
    """
    rng, found, n = np.random.default_rng(0), dict[str, float](), Counter[str]()
    for k in range(fits):
        codes, labels = drawn(rng, int(rng.integers(1, 300)))
        how = {
            "epsilon": float(rng.choice([0.3, 3.0, 300.0, 3e4])),
            "delta": delta,
            "seed": k,
            "kind": PrivateBoosterRegressor,
        }
        how |= {"n_rounds": 8} if delta is None else {}
        first = run(Numbered(codes, labels), **how).asked
        for _ in range(neighbours):
            if rng.random() < 0.5:
                at = int(rng.integers(len(labels)))
                other = np.delete(codes, at, axis=0), np.delete(labels, at)
            else:
                code, label = drawn(rng, 1)
                other = np.concatenate([codes, code]), np.append(labels, rng.choice([-20.0, 80.0, label[0]]))
            for one, two in zip(first, run(Numbered(*other), script=first, **how).asked, strict=True):
                what = one.how["what"]
                found[what] = max(found.get(what, 0.0), 1 + excess(one, two, replaced=False))
                n[what] += 1
    return found, n


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stage, however few the records are."""
    monkeypatch.setattr(Planner, "plan", lambda self, known: EVERYTHING)
    monkeypatch.setattr(PrivateBoosterRegressor, "_products_from", 0.0)


QUESTIONS = {
    DELTA: {
        "records in the bins of the public grid", "records in parts of crowded bins", "residuals",
        "squares of residuals", "stump", "fine attribute", "group of attributes", "records by cell",
        "places", "squares of places", "residuals by place", "distances",
        "curvature by cell", "residuals by cell",
    },
    None: {"number of records", "residuals", "squares of residuals", "stump", "stump or product",
           "places", "squares of places", "residuals by place", "distances"},
}  # fmt: skip


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize("delta", QUESTIONS)
@pytest.mark.parametrize("fits", [25, pytest.param(330, marks=pytest.mark.nightly)])
def test_no_record_changes_more_than_a_question_pays_for(fits: int, delta: float | None) -> None:
    found, n = largest(delta, fits=fits)
    assert set(found) == QUESTIONS[delta]
    assert max(found.values()) <= 1 + 1e-9
    assert n.total() >= 60 * fits  # by night 20 000 of each δ


def uncut(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Huber, "residuals", Far.residuals)


def twice(patch: pytest.MonkeyPatch) -> None:
    missed = Huber.missed
    patch.setattr(Huber, "missed", lambda self, score, labels: 2 * missed(self, score, labels))


TWINS: dict[str, tuple[float | None, Callable[[pytest.MonkeyPatch], None], set[str]]] = {
    "residuals that are not cut": (
        DELTA,
        uncut,
        {
            "residuals",
            "squares of residuals",
            "stump",
            "group of attributes",
            "residuals by cell",
        },
    ),
    "the same, pure": (
        None,
        uncut,
        {"residuals", "squares of residuals", "stump", "stump or product"},
    ),
    "misses that count twice": (None, twice, {"residuals by place", "distances"}),
    "noise of one attribute": (DELTA, noise_of_one_block, {"records by cell", "curvature by cell"}),
    "counted twice": (None, partial(counted, 2), {"number of records"}),
    "a range too narrow": (DELTA, partial(choices_at, 0.3), {"fine attribute", "group of attributes"}),
    "half of the sensitivity": (DELTA, half_of_the_sensitivity, {"stump"}),
}


@pytest.mark.usefixtures("everything")
@pytest.mark.parametrize("twin", TWINS)
def test_questions_that_pay_too_little_are_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    delta, broken, caught = TWINS[twin]
    broken(monkeypatch)
    found, _ = largest(delta, fits=25)
    assert {what for what, share in found.items() if share > 1.05} >= caught
