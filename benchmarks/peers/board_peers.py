"""Measure other people's private classifiers on the data sets of the board, with settings that are chosen in public.

With ``--numbers`` it measures their private regressors, as they come, on the data sets with a number to predict.
Runs in environments of its own (see ``README.md`` beside this file). What is measured stands in
:mod:`private_trees.board.rivals` and :mod:`private_trees.board.regression`, the scores in
:mod:`private_trees.studies.scores`; here is what fits each rival.
A rival is imported where it is used, so that one that cannot be installed leaves the others alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from dpnb import Continuous, Domain
from dpnb.terminal import Parser, announce, command
from private_trees.board import regression
from private_trees.board.costs import OutOfTimeError, costly
from private_trees.board.rivals import (
    BOARD,
    PUBLIC,
    RIVALS,
    TUNING,
    Rival,
    board_study,
    choices,
    tuning_study,
)
from private_trees.studies.runs import PACKAGES, Cell, Study, missing, read, run
from private_trees.studies.scores import class_scores, number_scores
from private_trees.studies.sets import NUMBERS, SETS, split_of

SCRIPT = "python benchmarks/peers/board_peers.py"
INNER_SHARE = 0.2  # of a training part, held back to compare settings
Floats = NDArray[np.float64]


# --- How data are handed over -------------------------------------------------------------------------------


def ordinal(codes: Floats, domain: Domain) -> Floats:
    """Numbers as they are, categories as 0, 1, …"""
    return codes


def bounds(domain: Domain) -> tuple[Floats, Floats]:
    """Public bounds of :func:`ordinal`."""
    return np.nan_to_num(domain.lows), np.where(domain.continuous, domain.highs, domain.cardinalities - 1.0)


def unit(domain: Domain) -> tuple[Floats, Floats]:
    """Public bounds of :func:`one_hot`."""
    width = int(np.where(domain.continuous, 1, domain.cardinalities).sum())
    return np.zeros(width), np.ones(width)


def one_hot(codes: Floats, domain: Domain) -> Floats:
    """Numbers scaled to [0, 1], a column of 0 and 1 for each category."""
    columns = []
    for j in range(domain.n_attributes):
        if domain.continuous[j]:
            columns.append(((codes[:, j] - domain.lows[j]) / (domain.highs[j] - domain.lows[j]))[:, None])
        else:
            columns.append((codes[:, j, None] == np.arange(domain.cardinalities[j])).astype(float))
    return np.hstack(columns)


def without_first(codes: Floats, domain: Domain) -> Floats:
    """:func:`one_hot` without each attribute's first category, so that no columns add up to a constant."""
    widths = np.where(domain.continuous, 1, domain.cardinalities)
    first = (np.cumsum(widths) - widths)[~domain.continuous]
    return np.delete(one_hot(codes, domain), first, axis=1)


def in_ball(codes: Floats, domain: Domain) -> Floats:
    """:func:`one_hot` with a column of ones, scaled so that no record has a norm above 1."""
    X = one_hot(codes, domain)
    return np.hstack([X, np.ones((len(X), 1))]) / np.sqrt(domain.n_attributes + 1)


def named(codes: Floats, domain: Domain) -> pd.DataFrame:
    """Numbers as they are, categories as texts of the public list, without an order."""
    columns: dict[str, Any] = {}
    for j, name in enumerate(domain.names):
        listed = [str(v) for v in range(int(domain.cardinalities[j]))]
        numeric = domain.continuous[j]
        columns[name] = codes[:, j] if numeric else pd.Categorical.from_codes(codes[:, j].astype(int), listed)
    return pd.DataFrame(columns)


# --- The rivals ---------------------------------------------------------------------------------------------


class Task(NamedTuple):
    """What a rival is handed to train."""

    X: Any  # prepared records
    y: NDArray[Any]  # codes of the classes, or numbers
    domain: Domain  # what is public
    bounds: tuple[Floats, Floats]  # public bounds of the columns of `X`, where they are numbers
    # epsilon, delta: of the claim.
    epsilon: float
    delta: float
    seed: int  # for the rival's own generator, where it has one

    @property
    def classes(self) -> list[int]:
        return list(range(self.domain.n_classes))


def forest(task: Task, **setting: Any) -> Any:
    from diffprivlib.models import RandomForestClassifier

    return RandomForestClassifier(
        epsilon=task.epsilon,
        bounds=task.bounds,
        classes=task.classes,
        random_state=task.seed,
        **setting,
    ).fit(task.X, task.y)


def logistic(task: Task, **setting: Any) -> Any:
    """With the intercept as by default. Each attribute adds at most 1 to a record's squared norm."""
    norm = float(np.sqrt(task.domain.n_attributes))
    return _logistic(task, data_norm=norm, **setting)


def logistic_in_ball(task: Task, *, over_n: float = 0.0, **setting: Any) -> Any:
    """With norm 1 and the intercept as a column: where an audit found nothing against the claim.

    The records are divided by √(d + 1), so a C over n has that many times more to do.
    """
    over_n *= task.domain.n_attributes + 1
    return _logistic(task, data_norm=1.0, fit_intercept=False, over_n=over_n, **setting)


def _logistic(task: Task, *, over_n: float = 0.0, **how: Any) -> Any:
    """Its C is against a sum over the records; in the examples of its authors C is 1/n and 10/n."""
    from diffprivlib.models import LogisticRegression

    if over_n:
        how["C"] = over_n / len(task.y)
    return LogisticRegression(epsilon=task.epsilon, random_state=task.seed, max_iter=1000, **how).fit(
        task.X, task.y
    )


def bayes(task: Task) -> Any:
    from diffprivlib.models import GaussianNB

    return GaussianNB(epsilon=task.epsilon, bounds=task.bounds, random_state=task.seed).fit(task.X, task.y)


def booster(task: Task, **setting: Any) -> Any:
    from interpret.privacy import DPExplainableBoostingClassifier

    return DPExplainableBoostingClassifier(**_public(task), **setting).fit(task.X, task.y)


def _public(task: Task) -> dict[str, Any]:
    """What DP-EBM is told."""
    domain = task.domain
    inside = {
        name: (domain.lows[j], domain.highs[j]) for j, name in enumerate(domain.names) if domain.continuous[j]
    }
    return {
        "feature_names": list(domain.names),
        "feature_types": ["continuous" if c else "nominal" for c in domain.continuous],
        "privacy_bounds": inside,
        "epsilon": task.epsilon,
        "delta": task.delta,
        "random_state": task.seed,
        "n_jobs": 1,
    }


def budget_per_tree(epsilon: float, n_trees: int, *, sampled: float) -> float:
    """ε of each tree, so that trees on samples of the records cost ε together, by the formula of its README."""
    return float(np.log1p(np.expm1(epsilon / n_trees) / sampled))


def boosted_trees(task: Task, *, loss: str, **how: Any) -> Any:
    """By the logistic loss, or on 0 and 1 as numbers by the squared error, as in the examples of its authors."""
    most = 0.25 if loss == "binary:logistic" else 1.0  # a record's second derivative at the start
    return _trees(task, task.y.astype(float), {"objective": loss, "base_score": 0.5}, most=most, **how)


def _trees(
    task: Task,
    y: Floats,
    of_the_loss: Mapping[str, Any],
    *,
    most: float,
    n_trees: int,
    max_depth: int,
    leaf: float,
    sampled: float,
) -> Any:
    """Trees on samples of the records; ``leaf`` is the least weight of a leaf, as a share of a sample if below 1.

    Its noise is seeded with the second of the clock, not with ``seed``: fits wait for a second of their own.
    """
    dp_xgboost = _dp_xgboost()
    _next_second()
    lows, highs = task.bounds
    # Other types of numbers it would copy by a call that NumPy 2 refuses.
    records = dp_xgboost.DMatrix(single(task.X), label=y, feature_min=lows, feature_max=highs)
    in_records = leaf * sampled * len(y) if leaf < 1 else leaf
    options = {
        "tree_method": "approxDP",
        "dp_epsilon_per_tree": budget_per_tree(task.epsilon, n_trees, sampled=sampled),
        "learning_rate": 0.3,
        "lambda": 0.1,
        "max_depth": max_depth,
        "subsample": sampled,
        "min_child_weight": most * in_records,
        "nthread": 1,
        "seed": task.seed,
        "verbosity": 0,
        **of_the_loss,
    }
    return dp_xgboost.train(options, records, num_boost_round=n_trees)


def _next_second() -> None:
    time.sleep(1 - time.time() % 1)


def _dp_xgboost() -> Any:
    """The package, with a name that it looks up in NumPy and that NumPy 2 dropped."""
    setattr(np, "cfloat", np.complex128)  # noqa: B010
    import dp_xgboost

    return dp_xgboost


def single(values: NDArray[Any]) -> NDArray[np.float32]:
    """Records as dp-xgboost holds them."""
    return np.ascontiguousarray(values, np.float32)


def positive(model: Any, X: Any, domain: Domain) -> Floats:
    """Probabilities of dp-xgboost, which states that of the second class, or a number that stands for it."""
    p = np.clip(np.asarray(model.predict(_dp_xgboost().DMatrix(single(X))), float), 0, 1)
    return np.column_stack([1 - p, p])


NUDGE = 1e-9


def in_border(codes: Floats, domain: Domain) -> Floats:
    """Numbers scaled to (0, 1), categories as 0, 1, …

    S-BDT compares by ``<`` while it trains and by ``<=`` when it predicts, so numbers are kept off its candidates.
    """
    X = np.array(codes, float, order="C")
    on = domain.continuous
    X[:, on] = NUDGE + (1 - 2 * NUDGE) * (X[:, on] - domain.lows[on]) / (domain.highs[on] - domain.lows[on])
    return X


AS_ON_ADULT: dict[str, Any] = {  # what its authors' runs on Adult have in common; the wrapper has no defaults
    "newton_boosting": True, "balance_partition": False, "lambda_reg_mode": 1, "reg_delta": 2.0,
    "min_samples_split": 0, "max_features": 0, "max_feature_values": 0, "criterion": 1, "reuse_attr": True,
    "use_dp": True, "privacy_budget_init_score_ratio": 0.0, "privacy_budget_gain_ratio": 0.0,
    "init_score_threshold": 0.0, "numeric_feature_weight": 1.0, "leaf_noise": 1,
    "use_privacy_filter": False, "approximate_privacy_filter": False, "pf_additional_nb_trees": 0,
    "pf_l2_threshold": 0.8, "pf_hess_l2_threshold": 0.1, "pf_subsampling_ratio_factor": 1.0,
    "additional_nb_trees": 0, "refine_splits_subsample": 1.0, "num_split_candidates": 32,
    "gradient_filtering": False, "leaf_clipping": False, "cyclical_feature_interactions": True,
    "random_splits_from_candidates": True, "cut_off_leaf_denom": True, "custom_noise_scale": -1.0,
    "verbosity": 4, "task": "BinaryClassification", "feature_val_border": (0.0, 1.0),
    "continuous_learning": False, "scale_y": False,
}  # fmt: skip


def noisy_newton_trees(task: Task, **setting: Any) -> Any:
    """S-BDT. Its noise comes from the operating system and its samples from the clock, not from ``seed``."""
    import sbdt

    numeric, sizes = task.domain.continuous, task.domain.cardinalities.tolist()
    model = sbdt.S_BDT(
        **AS_ON_ADULT,
        **setting,
        refine_splits=setting["refine_splits_rounds"] > 0,
        privacy_budget=task.epsilon,
        cat_idx=np.flatnonzero(~numeric).tolist(),
        num_idx=np.flatnonzero(numeric).tolist(),
        cat_values=[[] if c else [float(v) for v in range(n)] for c, n in zip(numeric, sizes, strict=True)],
    )
    model.train(np.ascontiguousarray(task.X), np.asarray(task.y, float), "board")
    if model.real_eps > task.epsilon * (1 + 1e-9):
        raise RuntimeError(f"its accountant reports ε = {model.real_eps} where {task.epsilon} was asked for")
    return model


def from_log_odds(model: Any, X: Any, domain: Domain) -> Floats:
    """Probabilities of S-BDT, which states log odds."""
    p = 1 / (1 + np.exp(-np.asarray(model.predict(np.ascontiguousarray(X)), float)))
    return np.column_stack([1 - p, p])


def synthetic(task: Task, *, bins: int) -> Any:
    """Gradient boosting on as many synthetic records as there are; a tenth of ε is for the bins of numbers."""
    from dpmm.pipelines import MSTPipeline
    from sklearn.ensemble import HistGradientBoostingClassifier

    public: dict[str, Any] = {"y": {"categories": task.classes}}
    for name, low, high, numeric in zip(task.domain.names, *task.bounds, task.domain.continuous, strict=True):
        public[name] = (
            {"lower": low, "upper": high}
            if numeric
            else {"categories": [str(v) for v in range(int(high) + 1)]}
        )
    model = MSTPipeline(
        epsilon=0.9 * task.epsilon, delta=task.delta, proc_epsilon=0.1 * task.epsilon, n_bins=bins, n_jobs=1
    )
    records = task.X.assign(y=pd.Categorical(task.y, categories=task.classes))
    model.fit(records, public, random_state=task.seed)
    made = model.generate(n_records=len(records), random_state=task.seed)
    learner = HistGradientBoostingClassifier(
        categorical_features=~task.domain.continuous, random_state=task.seed
    )
    return learner.fit(numbers(made.drop(columns="y")), made["y"].astype(int))


def numbers(table: pd.DataFrame) -> Floats:
    """A table of :func:`named` as numbers."""
    return np.asarray(table.astype(float), float)


def probabilities(model: Any, X: Any, domain: Domain) -> Floats:
    """Probabilities as scikit-learn has them; a class that a model never saw has none."""
    p = np.zeros((len(X), domain.n_classes))
    p[:, np.asarray(model.classes_, int)] = model.predict_proba(X)
    return p


def of_numbers(model: Any, X: Any, domain: Domain) -> Floats:
    """:func:`probabilities` of a learner on :func:`numbers`."""
    return probabilities(model, numbers(X), domain)


# --- Rivals for numbers -------------------------------------------------------------------------------------


def range_of(domain: Domain) -> Continuous:
    """The number to predict, with its public bounds."""
    assert domain.response is not None
    return domain.response


def linear(task: Task) -> Any:
    from diffprivlib.models import LinearRegression

    target = range_of(task.domain)
    return LinearRegression(
        epsilon=task.epsilon,
        bounds_X=(0.0, 1.0),
        bounds_y=(target.low, target.high),
        random_state=task.seed,
    ).fit(task.X, task.y)


def booster_of_numbers(task: Task) -> Any:
    from interpret.privacy import DPExplainableBoostingRegressor

    target = range_of(task.domain)
    return DPExplainableBoostingRegressor(
        privacy_target_min=target.low, privacy_target_max=target.high, **_public(task)
    ).fit(task.X, task.y)


def trees_of_numbers(task: Task, **how: Any) -> Any:
    """With targets in [-1, 1], as in its examples."""
    target = range_of(task.domain)
    y = 2 * (task.y - target.low) / (target.high - target.low) - 1
    return _trees(task, y, {"objective": "reg:squarederror", "base_score": 0.0}, most=1.0, **how)


def predicted(model: Any, X: Any, domain: Domain) -> Floats:
    """Numbers that a rival predicts."""
    return np.asarray(model.predict(X), float)


def predicted_by_trees(model: Any, X: Any, domain: Domain) -> Floats:
    """The same of dp-xgboost, from [-1, 1] back to the target's range."""
    target = range_of(domain)
    share = (np.asarray(model.predict(_dp_xgboost().DMatrix(single(X))), float) + 1) / 2
    return target.low + share * (target.high - target.low)


class Way(NamedTuple):
    """How a rival is trained: what prepares records, what trains, and what states probabilities or numbers."""

    prepare: Callable[[Floats, Domain], Any]
    train: Callable[..., Any]
    state: Callable[[Any, Any, Domain], Floats] = probabilities


WAYS: dict[str, Way] = {
    "diffprivlib forest": Way(ordinal, forest),
    "diffprivlib logistic": Way(one_hot, logistic),
    "diffprivlib logistic, norm 1": Way(in_ball, logistic_in_ball),
    "diffprivlib naive Bayes": Way(ordinal, bayes),
    "DP-EBM": Way(named, booster),
    "dp-xgboost": Way(ordinal, boosted_trees, positive),
    "S-BDT": Way(in_border, noisy_newton_trees, from_log_odds),
    "MST + gradient boosting": Way(named, synthetic, of_numbers),
}
NUMBER_WAYS: dict[str, Way] = {
    "DP-EBM regressor": Way(named, booster_of_numbers, predicted),
    "diffprivlib linear": Way(without_first, linear, predicted),
    "dp-xgboost regressor": Way(ordinal, trees_of_numbers, predicted_by_trees),
}


# --- Measuring ----------------------------------------------------------------------------------------------


class Parts(NamedTuple):
    """Prepared records and codes of the classes, or numbers, to train and to test on."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    domain: Domain


@lru_cache(maxsize=2)
def prepared(dataset: str, seed: int, inner: bool, prepare: Callable[[Floats, Domain], Any]) -> Parts:
    """A split of the board, or the inner split of its training part."""
    data = split_of(dataset, seed)
    domain = data.domain
    (X, y), (X_test, y_test) = data.train, data.test
    if inner:
        X, X_test, y, y_test = train_test_split(X, y, test_size=INNER_SHARE, stratify=y, random_state=seed)
    encoded = [prepare(domain.encode(part, strict=False), domain) for part in (X, X_test)]
    labels = [domain.encode_labels(part) for part in (y, y_test)]
    return Parts(encoded[0], labels[0], encoded[1], labels[1], domain)


def measure(cell: Cell, *, inner: bool = False) -> dict[str, float]:
    """Test scores and costs of one fit in a process of its own; ``out_of_time`` alone where it did not end."""
    rival, way = (RIVALS | regression.RIVALS)[cell.method], (WAYS | NUMBER_WAYS)[cell.method]
    setting = dict(rival.settings[cell.reading])
    prepare = one_hot if setting.pop("one_hot", False) else way.prepare
    parts = prepared(cell.dataset, cell.seed, inner, prepare)
    within = (unit if prepare is one_hot else bounds)(parts.domain)
    seed = int(cell.random_state().integers(2**31 - 1))
    task = Task(parts.X, parts.y, parts.domain, within, cell.epsilon, rival.delta, seed)
    try:
        p, costs = costly(
            partial(way.train, task, **setting),
            lambda model: way.state(model, parts.X_test, parts.domain),
            limit=rival.limit,
        )
    except OutOfTimeError:
        return {"out_of_time": 1.0}
    response = parts.domain.response
    scores = class_scores(p, parts.y_test) if response is None else number_scores(p, parts.y_test, response)
    return scores | costs


def measure_inner(cell: Cell) -> dict[str, float]:
    """AUC of a setting on a held-back part of a training part."""
    return {"auc": measure(cell, inner=True)["auc"]}


# --- Runs ---------------------------------------------------------------------------------------------------


def about(
    name: str,
    folder: Path,
    now: Collection[str],
    chosen: pd.DataFrame | None = None,
    learners: Mapping[str, Rival] | None = None,
) -> dict[str, Any]:
    """More about a run, for the provenance.

    Rivals have environments of their own, so each has its versions; what is stored of those that do not run now stays.

    Parameters
    ----------
    name : of the study.
    folder : of the results.
    now : rivals that run now.
    chosen : settings that were chosen.
    learners : the rivals of the study, by default those that classify.
    """
    path = folder / f"{name}.json"
    before = json.loads(path.read_text(encoding="utf-8"))["rivals"] if path.exists() else {}
    told: dict[str, Any] = {
        "versions": {"dpnb": version("dpnb"), "python": platform.python_version()},
        "rivals": {
            rival.name: described(rival)
            | (_environment(rival) if rival.name in now else _kept(before, rival))
            for rival in (learners or RIVALS).values()
        },
        "machine": {"system": platform.system(), "architecture": platform.machine(), "cores": os.cpu_count()},
    }
    if chosen is not None:
        told["chosen"] = chosen.to_dict("records")
    return told


def described(rival: Rival) -> dict[str, Any]:
    """What is used of a rival, and how."""
    return {
        "package": rival.package,
        "requirements": rival.requirements,
        "relation": "not stated",
        "delta": rival.delta,
        "data": ((WAYS | NUMBER_WAYS)[rival.name].prepare.__doc__ or "").partition("\n")[0],
        "defaults": list(rival.defaults),
        "settings": {name: dict(setting) for name, setting in rival.settings.items()},
        "data sets": [name for name in rival.datasets if rival.takes(name)],
        "limit_seconds": rival.limit,
    }


def _environment(rival: Rival) -> dict[str, Any]:
    """Versions of a rival and of what it stands on, here and now."""
    return {"versions": {name: version(name) for name in (rival.package, *PACKAGES) if name != "dpnb"}}


def _kept(before: dict[str, Any], rival: Rival) -> dict[str, Any]:
    return {"versions": before.get(rival.name, {}).get("versions", {})}


def wanted(cell: Cell, *, only: Sequence[tuple[str, str]]) -> bool:
    """Whether a cell is asked for; all are if nothing was."""
    return not only or any(method == cell.method and name in ("", cell.dataset) for method, name in only)


def one_of(text: str) -> tuple[str, str]:
    """A rival, or a rival and a data set after the last comma, of the command line."""
    method, _, name = text.rpartition(",")
    known = RIVALS | regression.RIVALS
    if text in known:
        return text, ""
    if method not in known or name not in {*SETS, *PUBLIC, *NUMBERS}:
        raise argparse.ArgumentTypeError(
            f"{text!r}: expected a rival of {', '.join(map(repr, known))}, alone or with a comma and a data set of "
            f"{', '.join((*SETS, *NUMBERS))}"
        )
    return method, name


def strict() -> None:
    """A warning of a rival about a leak stops the run: each must be used as its documentation asks."""
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", message="Possible privacy violation")
    try:
        from diffprivlib.utils import PrivacyLeakWarning
    except ImportError:
        return
    warnings.filterwarnings("error", category=PrivacyLeakWarning)


def run_classifiers(only: Sequence[tuple[str, str]], go: Mapping[str, Any]) -> None:
    """Fill in what is missing of the tuning, then of the board."""
    methods = {method for method, _ in only} or set(RIVALS)
    tuning = tuning_study(measure_inner, learners=RIVALS)
    now = {cell.method for cell in missing(tuning, read(TUNING, go["folder"]))} & methods
    log = run(tuning, only=lambda cell: cell.method in now, about=about(TUNING, go["folder"], now), **go)
    chosen = choices(log, learners=RIVALS)
    run_board(board_study(chosen, measure, learners=RIVALS), RIVALS, only, go, chosen)


def run_board(
    board: Study,
    learners: Mapping[str, Rival],
    only: Sequence[tuple[str, str]],
    go: Mapping[str, Any],
    chosen: pd.DataFrame | None = None,
) -> None:
    """Fill in what is missing of a board, one rival after the other."""
    methods = {method for method, _ in only} or set(learners)
    for method in [name for name in learners if name in methods]:
        run(
            board,
            only=lambda cell, method=method: cell.method == method and wanted(cell, only=only),
            about=about(board.name, go["folder"], {method}, chosen, learners),
            **go,
        )
    lacking = missing(board, read(board.name, go["folder"]))
    announce(f"{board.name}: {len(lacking)} of {len(board.cells)} cells are missing")


@command()
def main(arguments: Sequence[str], /) -> int:
    """Command line: fill in what is missing of the tuning and then of the board, or of the board for numbers."""
    parser = Parser(prog=SCRIPT, description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help=f"folder of {BOARD}.csv and {TUNING}.csv")
    parser.add_argument(
        "--only", nargs="+", type=one_of, default=[], metavar="RIVAL[,DATASET]", help="what to run now"
    )
    parser.add_argument(
        "--numbers", action="store_true", help=f"run the regressors, for {regression.PEERS}.csv"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default 1)")
    options = parser.parse_args(arguments)
    strict()
    command = f"{SCRIPT} --out results{' --numbers' * options.numbers}"
    go: dict[str, Any] = {"folder": options.out, "jobs": options.jobs, "command": command}
    if options.numbers:
        run_board(regression.peers_grid(measure), regression.RIVALS, options.only, go)
    else:
        run_classifiers(options.only, go)
    return 0


if __name__ == "__main__":
    sys.exit(main())
