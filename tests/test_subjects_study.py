"""The study of subjects: parts of it again, what it says of all of them, and twins that it must tell apart."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import audit_subjects
from dpaudit import AttackError
from private_trees.studies import subjects as study
from private_trees.studies.runs import Cell, missing, read
from test_experiments import assert_measured_again


@pytest.fixture(scope="module")
def table(root: Path) -> pd.DataFrame:
    return study.compared(root / "results")


def cells_of(name: str, reading: str = study.AFTER) -> list[Cell]:
    return [cell for cell in study.subjects_grid().cells if (cell.method, cell.reading) == (name, reading)]


# --- Results --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clock seed", "order of labels", "one noise twice, slow"])
def test_a_cheap_cell_again(name: str, root: Path) -> None:
    assert_measured_again(study.subjects_grid(), cells_of(name), root / "results")


def test_every_subject_has_its_row(table: pd.DataFrame) -> None:
    counts = table.groupby("origin")[["before", "after", "fits", "event", "audits", "audits95"]].count()
    assert counts.to_numpy().tolist() == [[60] * 4 + [19] * 2, [30] * 4 + [12] * 2]
    acquitted = table["after"] == False  # noqa: E712 honest ones have no verdict
    assert (np.isinf(table["fits"]) == acquitted).all()
    assert not acquitted.all()


def most_alarms(audits: int, level: float) -> int:
    """Convictions that are exceeded in one of 10⁶ series of audits that each convict with this chance."""
    return int(binom.isf(1e-6, audits, level))


def alarms_are_rare(table: pd.DataFrame, suffix: str, level: float) -> bool:
    """Whether those of each honest subject are, and of all together."""
    counts = table[[f"alarms{suffix}", f"audits{suffix}"]].dropna()
    alarms, audits = np.vstack([counts, counts.sum()]).T
    return bool((alarms <= [most_alarms(int(n), level) for n in audits]).all())


@pytest.mark.parametrize(("suffix", "level", "audits"), [("", 0.01, 620), ("95", 0.05, 1_860)])
def test_honest_subjects_are_convicted_as_rarely_as_stated(
    suffix: str, level: float, audits: int, table: pd.DataFrame
) -> None:
    each = table[f"audits{suffix}"]
    assert each.sum() == audits
    assert alarms_are_rare(table, suffix, level)
    bounds = each.map(lambda n: most_alarms(int(n), level), na_action="ignore")
    for alarms in (each / 2, bounds):  # broken twins, the second one by the sum
        assert not alarms_are_rare(table.assign(**{f"alarms{suffix}": alarms}), suffix, level)


def test_the_bound_of_alarms_is_exact() -> None:
    assert most_alarms(100, 0.01) == 8
    assert binom.sf(8, 100, 0.01) < 1e-6 < binom.sf(7, 100, 0.01)


def test_cells_of_an_auditor_that_is_gone_are_kept_and_not_measured(root: Path) -> None:
    grid, rows = study.subjects_grid(), read(study.NAME, root / "results")
    assert missing(grid, rows) == []
    assert missing(grid, rows[rows["utility"] != study.BEFORE])  # broken twin
    with pytest.raises(ValueError, match="its auditor is gone"):
        study.measure(cells_of("fixed seed", study.BEFORE)[0])


def deltas_are_right(rows: pd.DataFrame) -> bool:
    deltas = rows["method"].map({name: s.delta for name, s in study.subjects().items()})
    return bool((rows["delta"] == deltas).all())


def test_results_hold_the_delta_of_each_claim(root: Path) -> None:
    rows = read(study.NAME, root / "results")
    assert deltas_are_right(rows)
    assert not deltas_are_right(rows.assign(delta=0.0))  # broken twin


# --- Audits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "delta"), [("square root missing", audit_subjects.DELTA), ("fixed seed", 0)]
)
def test_the_claim_is_audited_with_its_delta(
    name: str, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fails(factory: Any, tried: Any, settings: Any) -> Any:
        asked.append(settings)
        raise AttackError("no\n licence")

    monkeypatch.setattr(study, "examine", fails)
    assert study.convict(study.subjects()[name], runs=7, seed=3, confidence=0.9) == (False, 0, "no licence")
    assert [(s.delta, s.runs, s.seed, s.confidence) for s in asked] == [(delta, 7, 3, 0.9)]


def test_honest_subjects_and_blocks_share_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[int] = []

    def acquits(subject: Any, *, seed: int, **how: Any) -> tuple[bool, int, str]:
        seeds.append(seed)
        return False, 5, ""

    monkeypatch.setattr(study, "convict", acquits)
    blocks = [
        *cells_of("honest: geometric counts"),
        *cells_of("honest: geometric counts", study.AT_95),
        *cells_of("honest: noisy texts", study.AT_95),
    ]
    for cell in blocks:
        assert study.measure(cell) == {"audits": 20, "convicted": 0}
    assert len(blocks) == 7
    assert len(set(seeds)) == len(seeds) == 7 * study.BLOCK
    study.measure(blocks[0])  # broken twin: a block again
    assert len(set(seeds)) < len(seeds)


def test_a_slow_subject_does_not_pause_in_an_audit_and_does_again_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    subject = study.subjects()["one noise twice, slow"]
    assert study.convict(subject, runs=20, seed=0, confidence=0.99)[0]
    assert set(pauses) == {0}
    subject.factory().fit(np.zeros((2, 2)), [0, 1])
    assert pauses[-1] == audit_subjects.PAUSE > 0  # broken twin


def test_fits_are_counted_and_the_class_is_left_as_it_was() -> None:
    subject = study.subjects()["noise/1.2"]
    kind = type(subject.factory())
    with study.counted(kind) as fits:
        for _ in range(3):
            subject.factory().fit(np.zeros((2, 2)), [0, 1])
    assert len(fits) == 3
    subject.factory().fit(np.zeros((2, 2)), [0, 1])
    assert len(fits) == 3
    assert "fit" not in vars(kind)
