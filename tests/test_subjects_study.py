"""The study of unseen subjects: a part of it again, what it says of all of them, and twins that it must tell apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from private_trees.studies import subjects as study
from private_trees.studies.runs import Cell, missing, read


@pytest.fixture(scope="module")
def table(root: Path) -> pd.DataFrame:
    return study.compared(root / "results")


def least(name: str, table: pd.DataFrame) -> None:
    """The committed cost of a conviction is what the code gives."""
    found = study.least_runs(study.subjects()[name], ladder=study.LADDER[:2])
    assert found["fits"] == pytest.approx(table.loc[name, "after"], abs=1e-6)


@pytest.mark.xfail(strict=True, reason="the auditor has learned since; to be measured again")
def test_a_part_of_the_study_again(table: pd.DataFrame) -> None:
    least("fixed seed", table)
    with pytest.raises(AssertionError):
        least("fixed seed", table.assign(after=table["after"] + 1))  # broken twin


def test_an_honest_subject_is_not_convicted_on_the_short_ladder() -> None:
    found = study.least_runs(study.subjects()["honest: geometric counts"], ladder=study.LADDER[:2])
    assert found == {"least_runs": np.inf, "fits": np.inf}


def most_alarms(audits: int) -> int:
    """Convictions that an honest subject exceeds in one of 10⁶ series, where an audit convicts it with chance 1 %."""
    return int(binom.isf(1e-6, audits, 1 - study.CONFIDENCE))


def alarms_are_rare(table: pd.DataFrame) -> bool:
    honest = table[table["channel"] == ""].dropna(subset=["audits"])
    bounds = [most_alarms(int(audits)) for audits in honest["audits"]]
    return len(honest) > 0 and bool((honest["alarms"] <= bounds).all())


def test_honest_subjects_are_convicted_as_rarely_as_stated(table: pd.DataFrame) -> None:
    assert most_alarms(100) == 8
    assert binom.sf(8, 100, 0.01) < 1e-6 < binom.sf(7, 100, 0.01)
    assert alarms_are_rare(table)
    assert not alarms_are_rare(table.assign(alarms=table["audits"] / 2))  # broken twin


def test_cells_of_an_auditor_that_is_gone_are_kept_and_not_measured(root: Path) -> None:
    grid, rows = study.subjects_grid(), read(study.NAME, root / "results")
    assert missing(grid, rows) == []
    assert missing(grid, rows[rows["utility"] != "before"])  # broken twin
    with pytest.raises(ValueError, match="its auditor is gone"):
        study.measure(Cell(method="fixed seed", dataset="add-remove", utility="before", epsilon=1.0))


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
