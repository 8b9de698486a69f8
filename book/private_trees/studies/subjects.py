"""The auditor on subjects with a known verdict: after how many fits it convicts, and how often it errs.

They stand in ``tests/audit_subjects.py`` and, the third wave, in ``tests/audit_subjects_third.py``. New are those of
the third wave, which were written before today's auditor, but for eight of kinds that it was known to miss; on all
others it was developed. A cell's reading is the auditor: "before" one that heard nothing of what a fit prints, had no
missing values and no full counters, and left a pair that gained; it is gone, so that its rows are kept; "after"
today's, at 99 %; "after, 95 %" the same at that confidence, on honest subjects alone. Of a broken subject a cell is one
audit, of an honest one a block.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, wraps
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from dpaudit import AttackError, AuditSettings, examine, pairs
from dpaudit.examine import own_domain
from dpaudit.pairs import kinds_of

from .runs import Cell, Study, cells, read, results_folder, wide

NAME = "audit_subjects"
MODULES = ("audit_subjects", "audit_subjects_third")  # the second one imports the first
BEFORE, AFTER, AT_95 = "before", "after", "after, 95 %"
CONFIDENCE = {AFTER: 0.99, AT_95: 0.95}  # of the auditor that can be measured
# Runs at most on each data set, and number of cells, of a broken and of an honest subject. What is measured is first.
BROKEN = {AFTER: (20_000, 1), BEFORE: (20_000, 1)}
HONEST = {AFTER: (1_500, 1), AT_95: (300, 3)}
BLOCK = 20  # audits of an honest subject in a cell
EVENT = "event: "  # a metric that has a text instead of a number


# --- The auditor ----------------------------------------------------------------------------------------------


def convict(subject: Any, *, runs: int, seed: int, confidence: float) -> tuple[bool, int, str]:
    """Audit a subject as :func:`dpaudit.assert_private` does; with malformed records if its defect is an exception.

    Parameters
    ----------
    subject : one of :func:`subjects`; slow ones do not pause, and a clock is no part of the result.
    runs : fits on each data set at most.
    seed : of the audit.
    confidence : an honest subject is convicted with probability 1 - ``confidence`` at most.

    Returns
    -------
    Whether the claim is refuted; the number of fits, of scouting and bets where they were made, else of scans; the
    event and the pair. Scans before bets take some tens more: how many depends on noise that has no seed.
    """
    tried = pairs(
        subject.neighbours,
        domain=own_domain(subject.factory()),
        kinds=[kind for kind in kinds_of(subject.unit) if kind != "missing"]
        if subject.channel == "exception"
        else None,
        seed=seed,
        unit=subject.unit,
    )
    settings = AuditSettings(
        claimed=subject.claimed,
        delta=subject.delta,
        neighbours=subject.neighbours,
        unit=subject.unit,
        time=subject.channel == "time",
        runs=runs,
        confidence=confidence,
        seed=seed,
    )
    ticks = count()
    with (
        counted(type(subject.factory())) as fits,
        patch("audit_subjects.PAUSE", 0.0),
        patch("time.time", lambda: 1e9 + next(ticks) / 1_000),  # a fit a millisecond, on any machine
    ):
        try:
            found = examine(subject.factory, tried, settings)
        except AttackError as error:  # no verdict
            return False, len(fits), " ".join(str(error).split())
    last = found.findings[-1]
    number = found.bets.fits if found.bets else len(fits)
    return last.violated, number, " ".join(f"{last.event}; {last.pair}".split())


@contextmanager
def counted(kind: Any) -> Iterator[list[None]]:
    """Within the block, a list that grows by one entry with every fit of a class; its objects do not change."""
    fits: list[None] = []
    fit = kind.fit

    @wraps(fit)
    def counting(model: Any, *data: Any, **people: Any) -> Any:
        fits.append(None)
        return fit(model, *data, **people)

    with patch.object(kind, "fit", counting):
        yield fits


@cache
def subjects() -> dict[str, Any]:
    """The subjects by name, from a checkout of the project; none where there are no such files."""
    found: dict[str, Any] = {}
    for module in MODULES:
        file = Path(__file__).resolve().parents[3] / "tests" / f"{module}.py"
        if not file.is_file():
            return {}
        if module not in sys.modules:
            spec = importlib.util.spec_from_file_location(module, file)
            assert spec is not None
            assert spec.loader is not None
            sys.modules[module] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[module])
        found |= sys.modules[module].BY_NAME
    return found


def is_new(name: str) -> bool:
    """Whether a subject was written before today's auditor, of a kind that no auditor was known to miss."""
    third = sys.modules[MODULES[-1]].BY_NAME
    return name in third and not third[name].kind.startswith("missed: ")


# --- Measures -------------------------------------------------------------------------------------------------


def measure(cell: Cell) -> dict[str, float]:
    """Audit the cell's subject with at most ``n_rounds`` runs on each data set.

    Returns
    -------
    Of a broken subject ``convicted`` (1 or 0), ``fits`` in all, and the event as the name of a metric. Of an honest
    one the number of ``audits``, and ``convicted`` of them.

    Raises
    ------
    ValueError
        For an auditor that is gone.
    """
    if cell.reading not in CONFIDENCE:
        raise ValueError(
            f"reading {cell.reading!r} cannot be measured, its auditor is gone: keep its rows in {NAME}.csv"
        )
    subject = subjects()[cell.method]
    how: Any = {"runs": cell.n_rounds, "confidence": CONFIDENCE[cell.reading]}
    if subject.broken:
        violated, fits, event = convict(subject, seed=cell.seed, **how)
        return {"convicted": float(violated), "fits": float(fits), EVENT + event: 1.0}
    # Many honest subjects have the same noise: with the same seeds their audits would agree.
    seeds = cell.random_state().integers(2**32, size=BLOCK).tolist()
    return {
        "audits": float(BLOCK),
        "convicted": float(sum(convict(subject, seed=seed, **how)[0] for seed in seeds)),
    }


# --- The study ------------------------------------------------------------------------------------------------


def subjects_grid() -> Study:
    """Every broken subject with both auditors, every honest one with today's; what can be measured comes first."""
    found: list[Cell] = []
    for subject in sorted(subjects().values(), key=lambda s: s.name != "fixed seed"):  # the cheapest first
        for reading, (runs, blocks) in (BROKEN if subject.broken else HONEST).items():
            found += cells(
                method=subject.name,
                neighbours=subject.neighbours,
                reading=reading,
                epsilon=subject.claimed,
                seed=range(blocks),
                n_rounds=runs,
            )
    return Study(NAME, found, measure, delta=lambda cell: subjects()[cell.method].delta)


def compared(folder: Path | None = None) -> pd.DataFrame:
    """What the earlier auditor and today's say of each subject.

    Returns
    -------
    DataFrame with a row a subject, in the subjects' order: its ``origin``, "known" or "new"; its ``kind`` of defect,
    ``loss`` and ``delta``. Of broken ones ``before`` and ``after``, whether each auditor convicts; ``fits`` in all of
    today's, infinite if it does not, and ``event``, what that audit tells. Of honest ones ``alarms`` of ``audits`` at
    99 %, ``alarms95`` of ``audits95`` at 95 %.
    """
    table = read(NAME, folder or results_folder())
    is_event = table["metric"].str.startswith(EVENT)
    events = table[is_event & (table["utility"] == AFTER)].set_index("method")["metric"]
    rows = wide(table[~is_event])
    broken, honest = rows[rows["audits"].isna()], rows[rows["audits"].notna()]
    convicted = broken.pivot(index="method", columns="utility", values="convicted") == 1
    fits = broken[broken["utility"] == AFTER].set_index("method")["fits"]
    alarms = honest.groupby(["utility", "method"])[["convicted", "audits"]].sum()
    about = {
        name: {
            "origin": "new" if is_new(name) else "known",
            "kind": subject.kind or subject.channel or "honest",
            "loss": subject.loss,
            "delta": subject.delta,
        }
        for name, subject in subjects().items()
    }
    found = pd.DataFrame.from_dict(about, orient="index").rename_axis("subject")
    return found.assign(
        before=convicted[BEFORE],
        after=convicted[AFTER],
        fits=fits.where(convicted[AFTER], np.inf),
        event=events.str.removeprefix(EVENT),
        alarms=alarms.loc[AFTER]["convicted"],
        audits=alarms.loc[AFTER]["audits"],
        alarms95=alarms.loc[AT_95]["convicted"],
        audits95=alarms.loc[AT_95]["audits"],
    )


GRIDS = {NAME: subjects_grid}
