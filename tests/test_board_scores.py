"""Scores and costs of the board: by hand, on small examples."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from dpnb.errors import DataError
from private_trees.board.costs import OutOfTimeError, costly
from private_trees.studies import sets
from private_trees.studies.scores import calibration_error, class_scores, probability_scores, shares
from private_trees.studies.sets import split_of


def drawn(classes: int, *, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities, and labels that follow them."""
    rng = np.random.default_rng(classes)
    p = rng.dirichlet(np.full(classes, 0.6), size=n)
    return p, np.array([rng.choice(classes, p=row) for row in p])


@pytest.mark.parametrize("classes", [2, 4])
def test_scores_are_those_of_scikit_learn(classes: int) -> None:
    p, y = drawn(classes)
    found = class_scores(p, y)
    area = roc_auc_score(y, p[:, 1]) if classes == 2 else roc_auc_score(y, p, multi_class="ovr")
    assert found["auc"] == pytest.approx(area)
    assert found["accuracy"] == pytest.approx(np.mean(p.argmax(axis=1) == y))
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, p.argmax(axis=1)))
    assert found["log_loss"] == pytest.approx(log_loss(y, p), abs=1e-6)
    twin = class_scores(p[:, ::-1], y)  # classes out of order
    assert twin["auc"] < found["auc"] - 0.1
    assert twin["log_loss"] > found["log_loss"] + 0.1


def test_two_classes_have_the_scores_of_the_second() -> None:
    p, y = drawn(2)
    found = class_scores(p, y)
    alone = probability_scores(p[:, 1], y)
    assert {name: found[name] for name in alone} == pytest.approx(alone)
    assert set(found) - set(alone) == {"balanced_accuracy"}


@pytest.mark.parametrize("classes", [2, 4])
def test_stated_probabilities_that_come_true_are_calibrated(classes: int) -> None:
    p, y = drawn(classes, n=20_000)
    overdone = p**3 / (p**3).sum(axis=1, keepdims=True)
    assert (
        class_scores(p, y)["calibration_error"] < 0.02 < 0.06 < class_scores(overdone, y)["calibration_error"]
    )


def test_the_calibration_error_by_hand() -> None:
    p = np.repeat(np.linspace(0.05, 0.95, 10), 4)
    observed = np.tile([True, False, False, False], 10)
    assert calibration_error(p, observed) == pytest.approx(
        np.mean(np.abs(0.25 - np.linspace(0.05, 0.95, 10)))
    )


def test_a_certain_mistake_has_a_finite_loss() -> None:
    for p, y in ((np.eye(2)[[1, 1, 0] * 5], [0, 1, 0] * 5), (np.eye(3)[[1, 1, 0, 2] * 5], [0, 1, 0, 2] * 5)):
        loss = class_scores(p, np.array(y))["log_loss"]
        assert loss == pytest.approx(-5 * np.log(1e-9) / len(y), rel=1e-6)


def test_rows_without_a_sum_are_equal_shares() -> None:
    p = np.array([[0.0, 0.0], [np.nan, np.nan], [np.inf, np.inf], [3.0, 1.0], [-1.0, 1.0]])
    np.testing.assert_allclose(shares(p)[:, 0], [0.5, 0.5, 0.5, 0.75, 0.0])


# Costs


def work() -> np.ndarray:
    """A third of a second of CPU time, and 100 MB."""
    start = time.process_time()
    while time.process_time() - start < 0.3:
        sum(range(1000))
    return np.ones(12_500_000)


def test_a_fit_costs_its_own_time_and_memory() -> None:
    found, costs = costly(work, lambda model: float(model.sum()))
    assert found == 12_500_000
    assert costs["cpu_seconds"] >= 0.3
    assert costs["memory_mb"] >= 100
    _, idle = costly(lambda: 0, lambda model: work().sum())  # what comes after the fit is no part of it
    assert idle["cpu_seconds"] < 0.3
    assert idle["memory_mb"] < 100


def busy() -> None:
    while True:
        pass


def test_a_fit_beyond_its_limit_is_ended() -> None:
    with pytest.raises(OutOfTimeError, match=r"did not end within 0\.2 s of CPU time"):
        costly(busy, lambda model: model, limit=0.2)
    assert costly(lambda: 1, lambda model: model, limit=60)[0] == 1
    # Broken twin: a limit by the clock would end what waits for its turn.
    assert costly(lambda: time.sleep(0.5), lambda model: 2, limit=0.2)[0] == 2


def test_a_fit_that_fails_tells_why() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        costly(lambda: 1 / 0, lambda model: model)
    with pytest.raises(RuntimeError, match="ended with code 3"):
        costly(lambda: __import__("os")._exit(3), lambda model: model)


# Data sets


def test_another_file_than_the_expected_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split_of.cache_clear()
    monkeypatch.delenv("DPNB_DATA", raising=False)
    with pytest.raises(DataError, match=r"set DPNB_DATA to a folder that holds more/nursery\.csv\.gz"):
        split_of("nursery", 0)
    monkeypatch.setenv("DPNB_DATA", str(tmp_path))
    with pytest.raises(DataError, match="cannot read"):
        split_of("nursery", 0)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "nursery.csv.gz").write_bytes(gzip.compress(b"health,class\n"))
    with pytest.raises(DataError, match="is not the expected file"):
        split_of("nursery", 0)
    (tmp_path / "more" / "nursery.csv.gz").write_bytes(b"health,class\n")
    with pytest.raises(DataError, match="cannot read"):
        split_of("nursery", 0)


def test_adult_has_one_split_for_all_seeds() -> None:
    first, second = split_of("adult-standin", 0), split_of("adult-standin", 1)
    assert first.train[0].index.equals(second.train[0].index)


@pytest.mark.realdata
@pytest.mark.parametrize("name", [name for name in sets.SETS if name != "adult"])
def test_a_seed_is_a_split(name: str) -> None:
    first, second = split_of(name, 0), split_of(name, 1)
    whole = sorted([*first.train[0].index, *first.test[0].index])
    assert whole == sorted([*second.train[0].index, *second.test[0].index])
    assert not first.test[0].index.equals(second.test[0].index)
    assert len(first.test[0]) / len(whole) == pytest.approx(0.3, abs=0.03)
    assert first.name == name
    assert set(first.test[1]) == set(first.train[1]) == set(first.domain.classes)
