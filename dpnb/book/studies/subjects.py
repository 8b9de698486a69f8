"""The auditor on subjects that it has not seen: verdicts, fits, and the least number of runs that convicts.

The subjects are in ``tests/audit_subjects.py``. A study has editions, of which the last is today's auditor: rows of
earlier ones are kept, for what measured them is gone.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from ...audit.assertion import examined
from ...audit.attack import AttackError
from ...audit.pairs import DOMAIN, KINDS
from ...audit.result import Finding
from ..runs import Cell, Study, cells, read, results_folder, wide

NAME = "audit_subjects"
EDITIONS = ("before",)  # of the auditor; the last one is measured
USUAL = 20_000  # runs on each data set
LADDER = (200, 400, 1_000, 2_000, 4_000, 10_000, 20_000)  # runs tried for the least number
SHORT = 2_000
CONVICTIONS, ACQUITTALS = 9, 2  # of ten seeds; whichever comes first decides
HONEST_RUNS, HONEST_SEEDS = 2_000, 100
CONFIDENCE = 0.99
EVENT = "event: "  # a metric that has a text instead of a number


# --- The auditor ----------------------------------------------------------------------------------------------


def convict(subject: Any, *, runs: int, seed: int, confidence: float = CONFIDENCE) -> tuple[bool, int, str]:
    """Audit a subject as :func:`~dpnb.audit.assertion.assert_private` does.

    Parameters
    ----------
    subject : of ``tests/audit_subjects.py``.
    runs : fits on each data set in the bets.
    seed : of the audit.
    confidence : an honest subject is convicted with probability 1 - ``confidence`` at most.

    Returns
    -------
    Whether the claim is refuted; the number of fits in all, scouting included; the event and the pair.
    """
    found: list[Finding] = []
    with counted(type(subject.factory())) as fits:
        try:
            for finding in examined(
                subject.factory,
                epsilon=subject.claimed,
                delta=0.0,
                neighbours=subject.neighbours,
                domain=DOMAIN,
                kinds=tuple(KINDS) if subject.channel == "exception" else None,
                runs=runs,
                confidence=confidence,
                seed=seed,
            ):
                found.append(finding)
        except AttackError as error:  # no verdict
            return False, len(fits), " ".join(str(error).split())
    last = found[-1]
    return last.violated, len(fits), f"{last.event}; {last.pair}"


@contextmanager
def counted(kind: type) -> Iterator[list[None]]:
    """Within the block, a list that grows by one entry with every fit of a class; its objects do not change."""
    fits: list[None] = []
    fit, own = kind.fit, vars(kind).get("fit")  # type: ignore[attr-defined]

    def counting(model: Any, X: Any, y: Any = None) -> Any:
        fits.append(None)
        return fit(model, X, y)

    kind.fit = counting  # type: ignore[attr-defined]
    try:
        yield fits
    finally:
        if own is None:
            del kind.fit  # type: ignore[attr-defined]
        else:
            kind.fit = own  # type: ignore[attr-defined]


@cache
def subjects() -> dict[str, Any]:
    """The subjects by name, from a checkout of the project; none where there is no such file."""
    file = Path(__file__).resolve().parents[3] / "tests" / "audit_subjects.py"
    if not file.is_file():
        return {}
    if file.stem not in sys.modules:
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[file.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[file.stem])
    return {subject.name: subject for subject in sys.modules[file.stem].SUBJECTS}


# --- Measures -------------------------------------------------------------------------------------------------


def measure(cell: Cell) -> dict[str, float]:
    """One question about one subject: cells with ``n_rounds`` runs ask for verdicts, those with 0 for the least number.

    Raises
    ------
    ValueError
        For an edition of the auditor that is gone.
    """
    if cell.reading != EDITIONS[-1]:
        raise ValueError(
            f"edition {cell.reading!r} cannot be measured, its auditor is gone: keep its rows in {NAME}.csv"
        )
    subject = subjects()[cell.method]
    if not subject.broken:
        return false_alarms(subject, runs=cell.n_rounds)
    return verdict(subject, runs=cell.n_rounds) if cell.n_rounds else least_runs(subject)


def verdict(subject: Any, *, runs: int) -> dict[str, float]:
    """``convicted`` (1 or 0) in one audit, ``fits`` in all, and the event as the name of a metric."""
    violated, fits, event = convict(subject, runs=runs, seed=0)
    return {"convicted": float(violated), "fits": float(fits), EVENT + event: 1.0}


def least_runs(subject: Any, *, ladder: Sequence[int] = LADDER) -> dict[str, float]:
    """Least number of runs on each data set with at least 9 convictions in 10 seeds.

    Before the long audits the longest one is tried: a subject that it acquits twice is not looked for between.

    Returns
    -------
    ``least_runs``, and ``fits`` of one such audit on average; both infinite if the whole ladder is not enough.
    """
    audited = cache(partial(convict, subject))
    for runs in ladder:
        if runs > SHORT and not any(audited(runs=ladder[-1], seed=seed)[0] for seed in range(ACQUITTALS)):
            break
        fits: list[int] = []
        convicted = 0
        while convicted < CONVICTIONS and len(fits) - convicted < ACQUITTALS:
            violated, needed, _ = audited(runs=runs, seed=len(fits))
            fits.append(needed)
            convicted += violated
        if convicted == CONVICTIONS:
            return {"least_runs": float(runs), "fits": float(np.mean(fits))}
    return {"least_runs": np.inf, "fits": np.inf}


def false_alarms(subject: Any, *, runs: int, seeds: int = HONEST_SEEDS) -> dict[str, float]:
    """Convictions of an honest subject: ``audits``, ``convicted`` of them, and ``fits`` of one on average."""
    found = [convict(subject, runs=runs, seed=seed) for seed in range(seeds)]
    return {
        "audits": float(seeds),
        "convicted": float(sum(violated for violated, _, _ in found)),
        "fits": float(np.mean([fits for _, fits, _ in found])),
    }


def most_alarms(seeds: int = HONEST_SEEDS, *, risk: float = 1e-6) -> int:
    """Convictions of an honest subject that more than ``risk`` of all series of audits do not exceed.

    At the confidence of the study, each audit of an honest subject convicts with probability at most 1 %.
    """
    return int(binom.isf(risk, seeds, 1 - CONFIDENCE))


# --- The study ------------------------------------------------------------------------------------------------


def subjects_grid() -> Study:
    """Every subject in every edition of the auditor, the last one first."""
    found: list[Cell] = []
    for edition in reversed(EDITIONS):
        for broken, runs in ((True, 0), (True, USUAL), (False, HONEST_RUNS)):
            for subject in sorted(subjects().values(), key=lambda s: s.name != "fixed seed"):  # it is cheap
                if subject.broken == broken:
                    found += cells(
                        method=subject.name,
                        neighbours=subject.neighbours,
                        reading=edition,
                        epsilon=subject.claimed,
                        n_rounds=runs,
                    )
    return Study(NAME, found, measure)


def compared(folder: Path | None = None) -> pd.DataFrame:
    """What the study says of each subject in each edition.

    Returns
    -------
    DataFrame with a row a subject and edition, in the subjects' order: ``loss``, ``channel``; of broken ones
    ``convicted`` with the usual number of runs, ``fits`` of that audit, ``event``, ``least_runs`` and ``least_fits``;
    of honest ones ``alarms`` and ``audits``.
    """
    table = read(NAME, folder or results_folder())
    told = table["metric"].str.startswith(EVENT)
    keys = ["method", "utility"]
    rows = wide(table[~told]).assign(event="")
    parts = {
        "usual": rows[rows["n_rounds"] == USUAL].set_index(keys)[["convicted", "fits"]],
        "least": rows[rows["n_rounds"] == 0].set_index(keys)[["least_runs", "fits"]],
        "honest": rows[rows["n_rounds"] == HONEST_RUNS].set_index(keys)[["convicted", "audits"]],
    }
    found = parts["usual"].join(parts["least"].rename(columns={"fits": "least_fits"}), how="outer")
    found = found.join(parts["honest"].rename(columns={"convicted": "alarms"}), how="outer")
    found["event"] = table[told].set_index(keys)["metric"].str.removeprefix(EVENT)
    known = pd.DataFrame(
        [(s.name, s.loss, s.channel) for s in subjects().values()], columns=["method", "loss", "channel"]
    ).set_index("method")
    found = known.join(found.reset_index("utility")).rename(columns={"utility": "edition"})
    return found.rename_axis("subject")


GRIDS = (subjects_grid,)
