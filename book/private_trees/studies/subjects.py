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
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpnb.audit.attack import AttackError
from dpnb.audit.examine import examine
from dpnb.audit.pairs import KINDS, pairs
from dpnb.audit.settings import AuditSettings

from .runs import Cell, Study, cells, read, results_folder, wide

NAME = "audit_subjects"
USUAL = 1_000  # runs on each data set, as of assert_private
LADDER = (20, 40, 60, 100, 200, 400, 1_000, 2_000, 4_000, 10_000, 20_000)  # runs tried; "before" began at 40
SHORT = 2_000
CONVICTIONS, ACQUITTALS = 9, 2  # of ten seeds; whichever comes first decides
HONEST_RUNS, BLOCK = 100, 20  # an honest subject is audited in blocks of so many seeds
CONFIDENCE = 0.99
EVENT = "event: "  # a metric that has a text instead of a number


class Edition(NamedTuple):
    """What was asked of an edition of the auditor: usual runs, runs on honest subjects, and blocks of those audits."""

    usual: int
    honest: int
    blocks: int


# Cells that take too long: edition, subject, runs. They are not measured, which is no verdict.
LEFT_OUT = {
    ("before", "Laplace in floating point", 20_000),
    ("before", "generator on the model", 20_000),
}
EDITIONS = {
    "before": Edition(20_000, 2_000, 0),
    "after": Edition(USUAL, HONEST_RUNS, 5),
}  # the last is measured


# --- The auditor ----------------------------------------------------------------------------------------------


def convict(subject: Any, *, runs: int, seed: int, confidence: float = CONFIDENCE) -> tuple[bool, int, str]:
    """Audit a subject as :func:`dpnb.audit.assert_private` does; with malformed records if its defect is an exception.

    Parameters
    ----------
    subject : of ``tests/audit_subjects.py``.
    runs : fits on each data set at most.
    seed : of the audit.
    confidence : an honest subject is convicted with probability 1 - ``confidence`` at most.

    Returns
    -------
    Whether the claim is refuted; the number of fits in all, of scans and of scouting too; the event and the pair.
    """
    with counted(type(subject.factory())) as fits:
        try:
            tried = pairs(
                subject.neighbours, kinds=tuple(KINDS) if subject.channel == "exception" else None, seed=seed
            )
            settings = AuditSettings(
                claimed=subject.claimed,
                neighbours=subject.neighbours,
                runs=runs,
                confidence=confidence,
                seed=seed,
            )
            last = examine(subject.factory, tried, settings).findings[-1]
        except AttackError as error:  # no verdict
            return False, len(fits), " ".join(str(error).split())
    return last.violated, len(fits), " ".join(f"{last.event}; {last.pair}".split())


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
    if cell.reading != [*EDITIONS][-1]:
        raise ValueError(
            f"edition {cell.reading!r} cannot be measured, its auditor is gone: keep its rows in {NAME}.csv"
        )
    subject = subjects()[cell.method]
    if not subject.broken:
        return false_alarms(subject, runs=cell.n_rounds, block=cell.seed)
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


def false_alarms(subject: Any, *, runs: int, block: int) -> dict[str, float]:
    """Convictions of an honest subject: ``audits``, ``convicted`` of them, and ``fits`` of one on average."""
    seeds = range(BLOCK * block, BLOCK * (block + 1))
    found = [convict(subject, runs=runs, seed=seed) for seed in seeds]
    return {
        "audits": float(BLOCK),
        "convicted": float(sum(violated for violated, _, _ in found)),
        "fits": float(np.mean([fits for _, fits, _ in found])),
    }


# --- The study ------------------------------------------------------------------------------------------------


def subjects_grid() -> Study:
    """Every subject in every edition of the auditor, the last one first."""
    known = sorted(subjects().values(), key=lambda s: s.name != "fixed seed")  # the cheapest first
    broken, honest = ([s for s in known if s.broken is verdict] for verdict in (True, False))
    found: list[Cell] = []
    for edition, asked in reversed(EDITIONS.items()):
        found += _asked(broken, edition, runs=0) + _asked(broken, edition, runs=asked.usual)
        for subject, block in product(honest, range(asked.blocks)):  # one after the other
            found += _asked([subject], edition, runs=asked.honest, block=block)
    return Study(NAME, found, measure)


def _asked(some: Sequence[Any], edition: str, *, runs: int, block: int = 0) -> list[Cell]:
    asked = [
        cells(
            method=subject.name,
            neighbours=subject.neighbours,
            reading=edition,
            epsilon=subject.claimed,
            seed=block,
            n_rounds=runs,
        )
        for subject in some
        if (edition, subject.name, runs) not in LEFT_OUT
    ]
    return [cell for one in asked for cell in one]


def compared(folder: Path | None = None) -> pd.DataFrame:
    """What each subject costs the earlier auditor and today's, at the same confidence.

    Returns
    -------
    DataFrame with a row a subject, in the subjects' order: ``loss``, ``channel``; of broken ones ``before`` and
    ``after``, the fits in all of an audit with the least number of runs that convicts 9 of 10 seeds, ``inf`` where
    the longest audits acquit and NaN where it was not measured; their ``ratio``; ``convicted``, whether today's audit
    with the usual number of runs does; ``event``, what it tells; of honest ones ``alarms`` of ``audits`` by today's.

    Notes
    -----
    The earlier auditor takes no fewer than 40 runs on each data set, today's is tried from 20. Fits are means over the
    audits with that number of runs, convicting or not; they count scouting, for which the earlier auditor takes 560 at
    least. Least numbers of runs are from before today's bet on last bits as well, which is one game more where nothing
    else convicts; but for Laplace noise, noise/1.2 and three times ε/2.
    """
    table = read(NAME, folder or results_folder())
    is_event = table["metric"].str.startswith(EVENT)
    rows = wide(table[~is_event])
    least = rows[rows["n_rounds"] == 0].pivot(index="method", columns="utility", values="fits")
    today = [*EDITIONS][-1]
    now, events = rows[rows["utility"] == today], table[is_event & (table["utility"] == today)]
    honest = now["method"].map({name: not subject.broken for name, subject in subjects().items()})
    usual = now[~honest & (now["n_rounds"] == EDITIONS[today].usual)].set_index("method")
    alarms = now[honest].groupby("method")[["convicted", "audits"]].sum()
    found = pd.DataFrame(
        {name: (s.loss, s.channel) for name, s in subjects().items()}, index=["loss", "channel"]
    ).T.rename_axis("subject")
    return found.assign(
        before=least["before"],
        after=least[today],
        ratio=least["before"] / least[today],
        convicted=usual["convicted"] == 1,
        event=events.set_index("method")["metric"].str.removeprefix(EVENT),
        alarms=alarms["convicted"],
        audits=alarms["audits"],
    )


GRIDS = {"audit_subjects": subjects_grid}
