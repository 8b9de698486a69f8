"""The book's own learners on the board: the grids ``board_tuning``, which chooses settings in public, and ``board``.

Beside them ``board_written``: the four papers as written. Their claims fail, so they are no competitors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from dpnb.arrays import Floats
from dpnb.boosting.booster import PrivateBooster
from dpnb.domain import Domain
from dpnb.errors import FewRecordsWarning
from dpnb.papers.baselines_forest import RandomTrees
from dpnb.papers.baselines_logistic import LogisticRegression
from dpnb.records.memory import Records

from ..papers import PAPERS, settings_of
from ..studies.runs import DELTA, Cell, Study, cells, read, results_folder
from ..studies.scores import class_scores
from ..studies.sets import EPSILONS, split_of
from .costs import costly
from .rivals import Rival, board_study, choices, tuning_study

TUNING, BOARD, AS_WRITTEN = "board_tuning", "board", "board_written"
INNER_SHARE = 0.2  # of a training part, held back to compare settings

# Those with δ first.
_OF_PAPERS = [
    (name, make, paper.settings)
    for paper in sorted(PAPERS.values(), key=lambda paper: not paper.takes_delta)
    for name, make in reversed(paper.makers(paper.board).items())
]
MAKE: dict[str, Callable[..., Any]] = {
    "PrivateBooster, δ": partial(PrivateBooster, delta=DELTA),
    "PrivateBooster, δ, additive": partial(PrivateBooster, delta=DELTA, additive=True),
    "PrivateBooster": PrivateBooster,
    "PrivateBooster, additive": partial(PrivateBooster, additive=True),
    "logistic regression, δ": partial(LogisticRegression, delta=DELTA),
    "logistic regression by ranks, δ": partial(LogisticRegression, delta=DELTA, bins="ranks"),
    **{name: make for name, make, _ in _OF_PAPERS},
    "random trees": RandomTrees,
}


_GRADIENTS = settings_of(
    *("100, rate 4", "100, rate 16", "60, rate 64", "200, rate 4", "100, rate 1", "30, rate 16"),
    n_rounds=(100, 100, 60, 200, 100, 30),
    learning_rate=(4.0, 16.0, 64.0, 4.0, 1.0, 16.0),
    clip=(0.5, 0.5, 0.3, 0.5, 0.5, 0.5),
)
_PLANS: dict[str, Any] = {
    "PrivateBooster, δ": {"as it comes": {}},
    "PrivateBooster, δ, additive": {"as it comes": {}},
    "PrivateBooster": {"as it comes": {}},
    "PrivateBooster, additive": {"as it comes": {}},
    "logistic regression, δ": _GRADIENTS,
    "logistic regression by ranks, δ": _GRADIENTS,
    **{name: found for name, _, found in _OF_PAPERS},
    "random trees": settings_of(
        *(
            "25 trees, depth 8",
            "25 trees, depth 5",
            "10 trees, depth 8",
            "10 trees, depth 5",
            "50 trees, depth 6",
        ),
        n_trees=(25, 25, 10, 10, 50),
        max_depth=(8, 5, 8, 5, 6),
    ),
}
LEARNERS = {
    name: Rival(
        name=name,
        package="dpnb",
        delta=DELTA if "δ" in name else 0.0,
        settings=settings,
        defaults=(next(iter(settings)),),
        two_classes=bool(getattr(getattr(MAKE[name], "func", MAKE[name]), "two_classes", False)),
    )
    for name, settings in _PLANS.items()
}


class Parts(NamedTuple):
    """Records to train on, and codes and classes to test on."""

    records: Records
    codes: Floats
    labels: NDArray[Any]


@lru_cache(maxsize=2)
def parts_of(dataset: str, seed: int, inner: bool) -> Parts:
    """A split of the board, or the inner split of its training part."""
    data = split_of(dataset, seed)
    (X, y), (X_test, y_test) = data.train, data.test
    if inner:
        X, X_test, y, y_test = train_test_split(X, y, test_size=INNER_SHARE, stratify=y, random_state=seed)
    domain = data.domain
    return Parts(
        Records(X, y, domain=domain), domain.encode(X_test, strict=False), domain.encode_labels(y_test)
    )


@cache
def planned(method: str, setting: str, domain: Domain, epsilon: float) -> None:
    """Plan a learner's budget, which is kept for later fits."""
    fit_to_nothing(
        MAKE[method](epsilon=epsilon, random_state=0, **LEARNERS[method].settings[setting]), domain
    )


def fit_to_nothing(model: Any, domain: Domain) -> None:
    """Fit a model to no records, by which it plans its budget."""
    X = pd.DataFrame({name: pd.Series(dtype=object) for name in domain.names})
    records = Records(X, pd.Series(dtype=object), domain=domain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewRecordsWarning)
        model.fit(records)


def measure(cell: Cell, *, inner: bool = False) -> dict[str, float]:
    """Test scores, costs and the ledger's ε of one fit in a process of its own.

    What is planned before records are seen, once for a domain and a budget, is not among the costs.
    """
    learner, parts = LEARNERS[cell.method], parts_of(cell.dataset, cell.seed, inner)
    planned(cell.method, cell.reading, parts.records.domain, cell.epsilon)
    model = MAKE[cell.method](
        epsilon=cell.epsilon, random_state=cell.random_state(), **learner.settings[cell.reading]
    )
    if inner:
        fitted = model.fit(parts.records)
        return {"auc": class_scores(fitted._votes(parts.codes), parts.labels)["auc"]}
    (p, spent), costs = costly(
        lambda: model.fit(parts.records), lambda fitted: (fitted._votes(parts.codes), fitted.ledger_.epsilon)
    )
    return class_scores(p, parts.labels) | costs | {"ledger_epsilon": spent}


def tuning_grid() -> Study:
    """Settings of the book's own learners on the public sets."""
    return _by_split(tuning_study(partial(measure, inner=True), name=TUNING, learners=LEARNERS))


def chosen() -> pd.DataFrame:
    """Settings chosen in public, from the committed log; none outside of a checkout."""
    try:
        folder = results_folder()
    except FileNotFoundError:
        folder = Path(TUNING)
    return choices(read(TUNING, folder), learners=LEARNERS)


def board_grid() -> Study:
    """Defaults and chosen settings of the book's own learners."""
    return _by_split(board_study(chosen(), measure, name=BOARD, learners=LEARNERS))


def _by_split(study: Study) -> Study:
    """The same, one split after the other, for each is loaded and encoded anew."""
    return replace(study, cells=sorted(study.cells, key=lambda cell: (cell.dataset, cell.seed)))


# --- The papers as written ----------------------------------------------------------------------------------

WRITTEN = {paper.text.name: paper.text for paper in PAPERS.values()}


def measure_written(cell: Cell) -> dict[str, float]:
    """Test scores of one fit as written, and the ledger's ε, which is not the claimed one."""
    parts = parts_of(cell.dataset, cell.seed, False)
    size = {name: value for name in ("max_depth", "n_rounds") if (value := getattr(cell, name))}
    model = WRITTEN[cell.method].make(epsilon=cell.epsilon, random_state=cell.random_state(), **size)
    fitted = model.fit(parts.records)
    return class_scores(fitted._votes(parts.codes), parts.labels) | {"ledger_epsilon": fitted.ledger_.epsilon}


def written_grid() -> Study:
    """The papers as written on Adult and Bank, in the board's splits and at its ε; three seeds."""
    axes: dict[str, Any] = {"dataset": ("adult", "bank"), "epsilon": EPSILONS, "seed": range(3)}
    found = [cell for text in WRITTEN.values() for cell in cells(method=text.name, **text.cell, **axes)]
    found.sort(key=lambda cell: (cell.dataset, cell.seed, cell.epsilon))
    return Study(AS_WRITTEN, found, measure_written, row_a_cell=True)


GRIDS = {"board_tuning": tuning_grid, "board": board_grid, "board_written": written_grid}
