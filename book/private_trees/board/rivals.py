"""Rivals of the board that run live: their settings, how these are chosen in public, and what has to be measured.

What fits them is ``benchmarks/peers/board_peers.py``, in an environment of its own; nothing here needs it. In the cells
``method`` is a rival and ``utility``, under its second name ``reading``, a setting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import pandas as pd

from ..studies.runs import DELTA, Cell, Study, cells, missing
from ..studies.sets import EPSILONS, MORE, SEEDS, SETS, STANDIN

BOARD, TUNING = "board_peers", "board_peers_tuning"
PUBLIC = (STANDIN, *MORE)  # what settings are chosen on
MANY_CLASSES = ("robot", "nursery")


@dataclass(frozen=True, kw_only=True)
class Rival:
    """A rival and its settings."""

    name: str  # as in the column `method`
    package: str  # distribution that it comes from
    requirements: str = "requirements.txt"  # file in `benchmarks/peers` that pins its environment
    delta: float = 0.0  # of its claim, 0 for pure ε
    output: str = "probabilities"  # what its scores are made from
    # Name of a setting → what it hands to the rival; where there are several, one is chosen in public.
    settings: Mapping[str, Mapping[str, Any]]
    defaults: tuple[str, ...]  # settings that are measured whatever the choice
    two_classes: bool = False  # whether it takes no more than two
    # datasets, epsilons, seeds: what it is measured on, where that is less than the board's.
    datasets: tuple[str, ...] = SETS
    epsilons: tuple[float, ...] = EPSILONS
    seeds: tuple[int, ...] = SEEDS
    limit: float | None = None  # seconds of CPU time for a fit, where there is a limit

    def takes(self, dataset: str) -> bool:
        """Whether it can be trained on a data set."""
        return not (self.two_classes and dataset in MANY_CLASSES)

    def chosen(
        self, log: pd.DataFrame, dataset: str, epsilon: float, *, leave_out: Collection[str] = ()
    ) -> str:
        """Setting for a data set: the one of the best mean rank by AUC on the public sets but this one.

        Parameters
        ----------
        log : tidy results of :func:`tuning_study`.
        dataset : what the setting is for; of a tie, the first setting wins.
        leave_out : public sets that do not count, besides the data set.
        """
        return best_setting(self.ranks(log, epsilon), {dataset, *leave_out})

    def ranks(self, log: pd.DataFrame, epsilon: float) -> pd.DataFrame:
        """Rank of each setting on each public set of the log by mean AUC, (settings, sets)."""
        part = log[(log["method"] == self.name) & (log["metric"] == "auc") & (log["epsilon"] == epsilon)]
        mean = part.pivot_table(index="utility", columns="dataset", values="value", aggfunc="mean")
        on = [name for name in PUBLIC if self.takes(name) and name in mean]
        return mean.loc[list(self.settings), on].rank(ascending=False)


def best_setting(ranks: pd.DataFrame, leave_out: Collection[str]) -> str:
    """Setting of the best mean of :meth:`Rival.ranks` over the data sets that are not left out."""
    return str(ranks.drop(columns=list(leave_out), errors="ignore").mean(axis=1).idxmin())


def _of(names: Mapping[str, tuple[Any, ...]], *keys: str) -> dict[str, dict[str, Any]]:
    """Settings from tuples of values."""
    return {name: dict(zip(keys, values, strict=True)) for name, values in names.items()}


PUBLISHED = {"n_trees": 20, "max_depth": 6, "leaf": 50, "sampled": 0.1}
"""dp-xgboost as in its paper, on sets of fewer than 100 000 records; ``leaf`` is the weight of a leaf in records, or
below 1 as a share of a sample."""
_SQUARED, _LOGISTIC = "reg:squarederror", "binary:logistic"
_LOSSES = {_SQUARED: "squared", _LOGISTIC: "logistic"}
_PENALTIES = {f"C = {c:g}": {"C": c} for c in (1.0, 10.0, 0.1, 0.01, 0.001)} | {
    f"C = {c:g}/n": {"over_n": c} for c in (1.0, 10.0)
}
RIVALS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        Rival(
            name="diffprivlib forest",
            package="diffprivlib",
            output="shares of hard votes",
            settings=_of(
                {
                    f"{trees} trees, depth {depth}{', one-hot' * wide}": (trees, depth, wide)
                    for trees, depth, wide in (
                        *((10, 5, False), (5, 3, False), (5, 6, False), (25, 3, False), (25, 5, False)),
                        *((25, 8, False), (100, 5, False), (25, 8, True), (100, 5, True)),
                    )
                },
                "n_estimators",
                "max_depth",
                "one_hot",
            ),
            defaults=("10 trees, depth 5",),
        ),
        Rival(
            name="diffprivlib logistic",
            package="diffprivlib",
            settings=_PENALTIES,
            defaults=("C = 1",),
        ),
        Rival(
            name="diffprivlib logistic, norm 1",
            package="diffprivlib",
            settings=_PENALTIES,
            defaults=("C = 1",),
        ),
        Rival(
            name="diffprivlib naive Bayes",
            package="diffprivlib",
            settings={"ordinal": {}, "one-hot": {"one_hot": True}},
            defaults=("ordinal",),
        ),
        Rival(
            name="DP-EBM",
            package="interpret-core",
            delta=DELTA,
            settings=_of(
                {
                    f"{rounds} rounds, rate {rate:g}, {bins} bins": (rounds, rate, bins)
                    for rounds, rate, bins in (
                        (300, 0.01, 32),
                        (1000, 0.01, 32),
                        (1000, 0.01, 16),
                        (300, 0.05, 32),
                        (100, 0.05, 16),
                        (100, 0.01, 64),
                        (300, 0.01, 64),
                        (300, 0.01, 128),
                    )
                },
                "max_rounds",
                "learning_rate",
                "max_bins",
            ),
            defaults=("300 rounds, rate 0.01, 32 bins",),
            two_classes=True,
        ),
        Rival(
            name="dp-xgboost",
            package="dp-xgboost",
            output="probabilities, or numbers cut to [0, 1]",
            settings={"20 trees, depth 6, as published": PUBLISHED | {"loss": _SQUARED}}
            | _of(
                {
                    f"{trees} trees, depth {depth}, {_LOSSES[loss]}": (trees, depth, leaf, sampled, loss)
                    for trees, depth, leaf, sampled, loss in (
                        (20, 6, 0.03, 0.2, _SQUARED),
                        (5, 6, 0.1, 0.2, _SQUARED),
                        (2, 6, 0.1, 0.2, _SQUARED),
                        (20, 4, 0.1, 0.2, _LOGISTIC),
                        (20, 2, 0.1, 0.2, _LOGISTIC),
                        (5, 6, 0.1, 0.1, _LOGISTIC),
                        (5, 4, 0.1, 0.2, _LOGISTIC),
                        (5, 2, 0.1, 0.2, _LOGISTIC),
                        (2, 2, 0.1, 0.2, _LOGISTIC),
                    )
                },
                "n_trees",
                "max_depth",
                "leaf",
                "sampled",
                "loss",
            ),
            defaults=("20 trees, depth 6, as published",),
            two_classes=True,
        ),
        Rival(
            name="S-BDT",
            package="sbdt",
            requirements="requirements-sbdt.txt",
            delta=DELTA,
            settings=_of(
                {
                    "200 trees, depth 6": (200, 6, 0.1, 1.0, 0.8, 0.1, 5.0, 0.04, True, 0),
                    "400 trees, depth 6": (400, 6, 0.1, 1.0, 0.3, 0.1, 10.0, 0.04, True, 0),
                    "100 trees, depth 6": (100, 6, 0.1, 1.0, 0.3, 0.1, 10.0, 0.1, False, 0),
                    "200 trees, depth 3, refined": (200, 3, 0.3, 1.0, 0.3, 0.25, 1.0, 0.5, False, 5),
                    "400 trees, depth 6, sampled": (400, 6, 0.1, 0.01, 0.3, 0.1, 10.0, 0.04, True, 0),
                    "50 trees, depth 5": (50, 5, 0.1, 1.0, 0.5, 0.1, 10.0, 0.1, True, 0),
                },
                "nb_trees",
                "max_depth",
                "learning_rate",
                "subsampling_ratio",
                "l2_threshold",
                "hess_l2_threshold",
                "l2_lambda",
                "leaf_denom_noise_weight",
                "ignore_split_constraints",
                "refine_splits_rounds",
            ),
            defaults=(),
            two_classes=True,
        ),
        Rival(
            name="MST + gradient boosting",
            package="dpmm",
            requirements="requirements-mst.txt",
            delta=DELTA,
            output="probabilities of a learner on synthetic records",
            settings={"16 bins": {"bins": 16}},
            defaults=("16 bins",),
            datasets=("adult", "magic-telescope"),
            epsilons=(0.1, 1.0, 5.0),
            seeds=(0, 1, 2),
            limit=300.0,
        ),
    )
}


def not_measured(cell: Cell) -> dict[str, float]:
    """Stands for what measures a rival, where it is not at hand."""
    raise NotImplementedError(
        f"{cell.method} runs in an environment of its own: see benchmarks/peers/README.md"
    )


def tuning_study(
    measure: Callable[[Cell], dict[str, float]] = not_measured,
    *,
    name: str = TUNING,
    learners: Mapping[str, Rival] = RIVALS,
) -> Study:
    """AUC of every setting on the public sets, in an inner part of their training parts.

    Parameters
    ----------
    measure : cell → scores.
    name : of the study.
    learners : whose settings are chosen.
    """
    found = [
        cell
        for rival in learners.values()
        if len(rival.settings) > 1
        for cell in cells(
            method=rival.name,
            dataset=[name for name in PUBLIC if rival.takes(name)],
            reading=rival.settings,
            epsilon=rival.epsilons,
            seed=(0, 1),
        )
    ]
    order = partial(_turn, learners=learners)
    return Study(name, sorted(found, key=order), measure, partial(delta_of, learners=learners))


def choices(log: pd.DataFrame, *, learners: Mapping[str, Rival] = RIVALS) -> pd.DataFrame:
    """Chosen settings: columns method, dataset, epsilon, ``utility``, and ``without_standin`` where it is another one.

    The stand-in is a private release of Adult's training part. For Adult the choice is made without it as well. A rival
    whose runs the log does not hold in full is left out.
    """
    lacking = {cell.method for cell in missing(tuning_study(learners=learners), log)}
    rows = []
    for rival in (r for r in learners.values() if len(r.settings) > 1 and r.name not in lacking):
        ranks = {epsilon: rival.ranks(log, epsilon) for epsilon in rival.epsilons}
        for dataset, epsilon in product(filter(rival.takes, rival.datasets), rival.epsilons):
            setting = best_setting(ranks[epsilon], {dataset})
            other = best_setting(ranks[epsilon], {dataset, STANDIN} if dataset == "adult" else {dataset})
            rows.append((rival.name, dataset, epsilon, setting, "" if other == setting else other))
    return pd.DataFrame(rows, columns=["method", "dataset", "epsilon", "utility", "without_standin"])


def board_study(
    chosen: pd.DataFrame,
    measure: Callable[[Cell], dict[str, float]] = not_measured,
    *,
    name: str = BOARD,
    learners: Mapping[str, Rival] = RIVALS,
) -> Study:
    """Defaults and chosen settings of every learner.

    Parameters
    ----------
    chosen : of :func:`choices`.
    measure : cell → test scores and costs.
    name : of the study.
    learners : which.
    """
    found: dict[Cell, None] = {}
    for rival in learners.values():
        on = [name for name in rival.datasets if rival.takes(name)]
        found |= dict.fromkeys(
            cells(
                method=rival.name,
                dataset=on,
                reading=rival.defaults,
                epsilon=rival.epsilons,
                seed=rival.seeds,
            )
        )
    for column in ("utility", "without_standin"):
        for row in chosen[chosen[column] != ""].to_dict("records"):
            found |= dict.fromkeys(
                cells(
                    method=row["method"],
                    dataset=row["dataset"],
                    reading=row[column],
                    epsilon=row["epsilon"],
                    seed=learners[row["method"]].seeds,
                )
            )
    order = partial(_turn, learners=learners)
    delta = partial(delta_of, learners=learners)
    return Study(name, sorted(found, key=order), measure, delta, row_a_cell=True)


def _turn(cell: Cell, *, learners: Mapping[str, Rival]) -> tuple[Any, ...]:
    """Order of the runs: by rival and setting, then one split after the other."""
    settings = list(learners[cell.method].settings)
    return (
        list(learners).index(cell.method),
        settings.index(cell.reading),
        cell.dataset,
        cell.seed,
        cell.epsilon,
    )


def delta_of(cell: Cell, *, learners: Mapping[str, Rival] = RIVALS) -> float:
    """δ of a learner's claim."""
    return learners[cell.method].delta
