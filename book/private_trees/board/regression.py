"""The board for numbers: the study ``regression`` of the book's own learners, its rivals, and what the runs say.

All methods learn from the same ten splits, as they come. Predictions are moved into the public range before they are
scored.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from dpnb.arrays import Floats
from dpnb.boosting.regressor import PrivateBoosterRegressor
from dpnb.domain import Domain
from dpnb.records.memory import Records

from ..studies.runs import DELTA, INF, Cell, Study, read, wide
from ..studies.scores import number_scores
from ..studies.sets import NUMBERS, TESTED_NUMBERS, split_of
from .costs import costly
from .learners import fit_to_nothing
from .ridge import fit_ridge
from .rivals import PUBLISHED, Rival, board_study, not_measured
from .standings import CELL, leads, over_best

BOARD, PEERS = "regression", "regression_peers"
EPSILONS = (0.1, 1.0, 5.0)
OURS, PURE = "PrivateBoosterRegressor, δ", "PrivateBoosterRegressor"
RIDGE, PLAIN = "ridge, δ", "gradient boosting"
_AS_IT_COMES: dict[str, dict[str, Any]] = {"as it comes": {}}


def _rival(name: str, package: str, settings: dict[str, dict[str, Any]], **other: Any) -> Rival:
    where: dict[str, Any] = {"datasets": tuple(NUMBERS), "epsilons": EPSILONS} | other
    return Rival(name=name, package=package, settings=settings, defaults=tuple(settings), **where)


LEARNERS = {
    learner.name: learner
    for learner in (
        _rival(OURS, "dpnb", _AS_IT_COMES, delta=DELTA),
        _rival(PURE, "dpnb", _AS_IT_COMES),
        _rival(RIDGE, "dpnb", {"penalty by noise": {}}, delta=DELTA),
        _rival(PLAIN, "scikit-learn", {"100 rounds": {}}, epsilons=(INF,)),
    )
}
RIVALS = {
    rival.name: rival
    for rival in (
        _rival("DP-EBM regressor", "interpret-core", _AS_IT_COMES, delta=DELTA),
        _rival("diffprivlib linear", "diffprivlib", _AS_IT_COMES),
        _rival(
            "dp-xgboost regressor",
            "dp-xgboost",
            {
                "20 trees, depth 6, as published": PUBLISHED,
                "20 trees, depth 6, leaf 200": PUBLISHED | {"leaf": 200},
                "20 trees, depth 6, leaf 10 %": PUBLISHED | {"leaf": 0.1, "sampled": 0.2},
                "5 trees, depth 6, leaf 10 %": PUBLISHED | {"n_trees": 5, "leaf": 0.1, "sampled": 0.2},
            },
        ),
    )
}
"""They run in an environment of their own, by ``benchmarks/peers/board_peers.py``."""
SHORT = {
    OURS: "booster, δ",
    PURE: "booster",
    "DP-EBM regressor": "DP-EBM, δ",
    "dp-xgboost regressor": "dp-xgboost",
    PLAIN: "no privacy",
}


# --- Runs ---------------------------------------------------------------------------------------------------


class Encoded(NamedTuple):
    """Records to train on, and codes and numbers to test on."""

    records: Records
    codes: Floats
    numbers: NDArray[Any]
    test_codes: Floats
    test_numbers: NDArray[Any]


@lru_cache(maxsize=2)
def parts_of(dataset: str, seed: int) -> Encoded:
    """A split of the board, encoded."""
    data = split_of(dataset, seed)
    domain = data.domain
    encoded = [
        part
        for X, y in (data.train, data.test)
        for part in (domain.encode(X, strict=False), domain.encode_labels(y))
    ]
    return Encoded(Records(*data.train, domain=domain), *encoded)


@cache
def planned(domain: Domain, epsilon: float, delta: float) -> None:
    """Plan the booster's budget, which is kept for later fits."""
    fit_to_nothing(PrivateBoosterRegressor(epsilon=epsilon, delta=delta or None, random_state=0), domain)


# Numbers for the test part, what the ledger says, and the mean absolute error that the model states, or nothing.
Fitted = tuple[Floats, float, dict[str, float]]


def _boosted(parts: Encoded, cell: Cell, delta: float) -> tuple[Callable[[], Any], Callable[[Any], Fitted]]:
    planned(parts.records.domain, cell.epsilon, delta)
    model = PrivateBoosterRegressor(
        epsilon=cell.epsilon, delta=delta or None, random_state=cell.random_state()
    )
    return partial(model.fit, parts.records), lambda fitted: (
        fitted._numbers(parts.test_codes),
        fitted.ledger_.epsilon,
        {"stated_mae": fitted.error_},
    )


def _ridge(parts: Encoded, cell: Cell, delta: float) -> tuple[Callable[[], Any], Callable[[Any], Fitted]]:
    how: dict[str, Any] = {"epsilon": cell.epsilon, "delta": delta, "rng": cell.random_state()}
    fit = partial(fit_ridge, parts.codes, parts.numbers, parts.records.domain, **how)
    return fit, lambda fitted: (fitted.predict(parts.test_codes), fitted.ledger.epsilon, {})


def _plain(parts: Encoded, cell: Cell, delta: float) -> tuple[Callable[[], Any], Callable[[Any], Fitted]]:
    named = ~parts.records.domain.continuous
    model = HistGradientBoostingRegressor(
        categorical_features=named, random_state=cell.seed, early_stopping=False
    )
    return partial(model.fit, parts.codes, parts.numbers), lambda fitted: (
        fitted.predict(parts.test_codes),
        INF,
        {},
    )


MAKE = {OURS: _boosted, PURE: _boosted, RIDGE: _ridge, PLAIN: _plain}


def measure(cell: Cell) -> dict[str, float]:
    """Test scores, costs and the ledger's ε of one fit in a process of its own."""
    parts = parts_of(cell.dataset, cell.seed)
    response = parts.records.domain.response
    assert response is not None
    (p, spent, stated), costs = costly(*MAKE[cell.method](parts, cell, LEARNERS[cell.method].delta))
    return number_scores(p, parts.test_numbers, response) | costs | stated | {"ledger_epsilon": spent}


def regression_grid() -> Study:
    """The book's own learners."""
    return _grid(BOARD, LEARNERS, measure)


def peers_grid(measure: Callable[[Cell], dict[str, float]] = not_measured) -> Study:
    """The rivals.

    Parameters
    ----------
    measure : cell → test scores and costs.
    """
    return _grid(PEERS, RIVALS, measure)


def _grid(name: str, learners: dict[str, Rival], measure: Callable[[Cell], dict[str, float]]) -> Study:
    nothing = pd.DataFrame(columns=["method", "dataset", "epsilon", "utility", "without_standin"])
    return board_study(nothing, measure, name=name, learners=learners)


GRIDS = {BOARD: regression_grid}


# --- What the runs say --------------------------------------------------------------------------------------


def number_fits(folder: Path) -> pd.DataFrame:
    """One row a fit of every method, with its metrics, ``delta``, and whether it is a ``rival``.

    A rival of several settings has, for each table and ε, the one of the highest mean R² on the test parts. Nobody can
    choose so; it favours the rival.

    Parameters
    ----------
    folder : of the results.
    """
    found = []
    for name, learners in ((BOARD, LEARNERS), (PEERS, RIVALS)):
        fits = wide(read(name, folder))
        mean = fits.groupby([*CELL, "utility"])["r2"].mean()
        fits = fits.set_index([*CELL, "utility"]).loc[mean.groupby(CELL).idxmax()].reset_index()
        delta = fits["method"].map({r.name: r.delta for r in learners.values()})
        found.append(fits.assign(delta=delta, rival=learners is RIVALS))
    return pd.concat(found, ignore_index=True)


def number_means(fits: pd.DataFrame) -> pd.DataFrame:
    """Mean of R² and of the mean absolute error by data set, ε and method, and standard errors of them.

    Returns
    -------
    DataFrame with CELL, ``r2``, ``r2_error``, ``mae`` and ``mae_error``. The errors are those of the mean over ten
    splits that share most of their records.
    """
    by = fits.groupby(CELL)[["r2", "mae"]]
    return by.mean().join(by.sem().add_suffix("_error")).reset_index()


def number_table(means: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Means ± standard errors as texts, a row a data set and ε, a column a method.

    Parameters
    ----------
    means : of :func:`number_means`.
    metric : ``"r2"``, or ``"mae"`` in the unit of the target.
    """
    digits = means[metric].abs().map(lambda value: 3 if value < 10 else 2 if value < 100 else 0)
    texts = [
        f"{mean:.{n}f} ± {error:.{n}f}"
        for mean, error, n in zip(means[metric], means[f"{metric}_error"], digits, strict=True)
    ]
    order = [SHORT.get(name, name) for name in (*LEARNERS, *RIVALS)]
    named = means.assign(method=means["method"].replace(SHORT), text=texts)
    table = named.pivot(index=["dataset", "epsilon"], columns="method", values="text")
    return table.reindex(columns=[name for name in order if name in table]).rename_axis(columns=None)


def number_points(means: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, dict[str, float]]]:
    """Points of :func:`~private_trees.drawings.board.plot_by_epsilon`, and what is reached without privacy.

    Parameters
    ----------
    means : of :func:`number_means`.
    """
    named = means.assign(label=means["method"].replace(SHORT), mean=means["r2"], error=2 * means["r2_error"])
    plain = named[named["method"] == PLAIN]
    levels = {str(d): {SHORT[PLAIN]: float(r)} for d, r in zip(plain["dataset"], plain["r2"], strict=True)}
    order = [SHORT.get(name, name) for name in (*LEARNERS, *RIVALS)]
    private = named[named["method"] != PLAIN].sort_values("label", key=lambda names: names.map(order.index))
    return private[["dataset", "label", "epsilon", "mean", "error"]], levels


def number_leads(fits: pd.DataFrame, *, metric: str = "r2", of: str = OURS) -> pd.DataFrame:
    """:func:`~private_trees.board.standings.leads` on these splits, over methods with a guarantee that is as strict."""
    private = fits[np.isfinite(fits["epsilon"])]
    return leads(private, metric=metric, of=of, tested=TESTED_NUMBERS)


def verdicts(table: pd.DataFrame, *, level: float = 0.05) -> pd.DataFrame:
    """Whether a method is first, tied or behind, a row a data set and a column an ε.

    Parameters
    ----------
    table : of :func:`number_leads`.
    level : of the tests, corrected for the whole table.

    Returns
    -------
    ``"first"`` is a clear lead over the best other method by its mean, ``"behind"`` a clear loss to it, and ``"tied"``
    the rest.
    """
    best = over_best(table)
    sign = np.where(best["p_holm"] < level, np.sign(best["mean"]), 0.0)
    words = best.assign(word=[{1.0: "first", 0.0: "tied", -1.0: "behind"}[s] for s in sign])
    return words.pivot(index="dataset", columns="epsilon", values="word")
