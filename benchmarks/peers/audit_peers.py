"""Audit the privacy claims of other people's software by black-box and attribute attacks on chosen neighbours.

Runs in an environment of its own (see ``README.md`` beside this file). Every bound comes from
:mod:`dpnb.audit.attack`: many fits on two data sets that differ in one record, and Clopper-Pearson intervals.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import platform
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from diffprivlib.accountant import BudgetAccountant
from diffprivlib.models import DecisionTreeClassifier, GaussianNB, LogisticRegression, RandomForestClassifier
from diffprivlib.utils import PrivacyLeakWarning
from interpret.privacy import DPExplainableBoostingClassifier
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from dpnb.audit.attack import observations
from dpnb.audit.bounds import compare, epsilon_bound
from dpnb.files import write_whole

Data = tuple[NDArray[Any], NDArray[Any]]
CONFIDENCES = (0.95, 0.99)
PACKAGES = ("diffprivlib", "interpret-core", "scikit-learn", "numpy", "scipy", "dpnb")
SCRIPT = "python benchmarks/peers/audit_peers.py"
# Looked for in the docstrings of the class and its module, and in the README of the release.
DOCUMENTED = "not stated"
COLUMNS = [
    "case", "subject", "version", "relation_documented", "relation_tested", "claimed", "delta", "runs",
    "confidence", "lower_bound", "pair", "event", "command",
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One attack: a subject, two neighbours and what is looked at.

    Parameters
    ----------
    name : short name for the command line.
    subject : class and settings, in words.
    package : distribution that the subject comes from.
    relation : how the two data sets differ, ``"add-remove"`` or ``"replace"``.
    claimed, delta : the claim.
    runs : number of fits on each data set.
    factory : returns the unfitted subject.
    first, second : (X, y) of D and D′.
    pair : the two data sets, in words.
    observe : fitted model → numbers; a single 0 or 1 if ``event`` names an event that was fixed in advance.
    event : that event in words; empty if a part of the runs shall choose one.
    names : names of the numbers, where there is no such event.
    """

    name: str
    subject: str
    package: str
    relation: str
    claimed: float
    runs: int
    factory: Callable[[], Any]
    first: Data
    second: Data
    pair: str
    observe: Callable[[Any], ArrayLike]
    event: str = ""
    names: tuple[str, ...] = ()
    delta: float = 0.0


# --- What is looked at --------------------------------------------------------------------------------------

QUERY = np.array([[1.0]])


def one_vote_for_each_class_but_the_first(forest: Any) -> list[bool]:
    votes = np.rint(forest.predict_proba(QUERY)[0] * forest.n_estimators)
    return [votes.tolist() == [0, 1, 1, 1, 1, 1]]


def class_1_gets_a_vote(forest: Any) -> list[bool]:
    return [forest.predict_proba(QUERY)[0, 1] > 0]


def first_tree_says_0_and_second_1(forest: Any) -> list[bool]:
    return [[tree.predict(QUERY)[0] for tree in forest.estimators_] == [0, 1]]


def label_1(tree: Any) -> list[bool]:
    return [tree.predict(QUERY)[0] == 1]


def undecided(model: Any, *, x: float) -> list[bool]:
    return [0.05 <= model.predict_proba(np.array([[x]]))[0, 1] <= 0.95]


def slope(model: Any) -> list[float]:
    return [model.coef_[0, 0]]


def three_columns(model: Any) -> list[bool]:
    return [model.predict_proba(QUERY).shape[1] == 3]


def counts_add_up_to(model: Any, *, total: int) -> list[bool]:
    return [model.class_count_.sum() == total]


def moments(model: Any) -> list[float]:
    return [*model.class_count_, *model.theta_[:, 0], *model.var_[:, 0]]


def answers_differ(model: Any, *, queries: tuple[str, str]) -> list[bool]:
    first, second = model.predict_proba(np.array([[q] for q in queries], dtype=object))[:, 1]
    return [first != second]


def bag_weighs(model: Any, *, weight: int) -> list[bool]:
    return [model.bag_weights_[0] == weight]


def log_odds(model: Any) -> list[float]:
    p = model.predict_proba(np.array([[0.0], [0.5], [1.0]]))[:, 1]
    return [*np.log(p / (1 - p)), model.intercept_[0]]


# --- The neighbours -----------------------------------------------------------------------------------------


def at_one(labels: Sequence[int]) -> Data:
    """Records at x = 1, where each tree with bounds (0, 1) and depth 1 has them all in one leaf."""
    return np.ones((len(labels), 1)), np.array(labels)


def without_first(data: Data) -> Data:
    return data[0][1:], data[1][1:]


def chained_blocks(trees: int, spread: int) -> Data:
    """A block of records for each tree: class k first, then ``spread`` of class k and of class k + 1.

    Without the very first record every block starts one record later: each tree loses a record of class k and
    gains one of class k + 1, so that the majority of each of them changes.
    """
    blocks = [[k] + spread * [k, k + 1] for k in range(trees)]
    return at_one([label for block in blocks for label in block])


def with_last(x: float, y: int) -> Data:
    """Records (0, 0) and (0, 1), which do not depend on the slope, and one of interest."""
    return np.array([[0.0], [0.0], [x]]), np.array([0, 1, y])


def independent(model: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """A model of diffprivlib whose fit does not add to the budget of earlier ones."""
    BudgetAccountant().set_default()  # else the record of spent budgets grows, and every fit adds it up
    return model(*values, **options)


def forest(trees: int, epsilon: float, classes: int, **options: Any) -> Callable[[], Any]:
    return partial(
        independent,
        RandomForestClassifier,
        trees,
        epsilon=epsilon,
        bounds=(0, 1),
        classes=list(range(classes)),
        max_depth=1,
        **options,
    )


def booster(**options: Any) -> Callable[[], Any]:
    return partial(
        DPExplainableBoostingClassifier, epsilon=1.0, delta=1e-5, max_rounds=5, n_jobs=1, **options
    )


def cases() -> Iterator[Case]:
    """All attacks, in the order of the table."""
    chain = chained_blocks(5, 10)
    for epsilon in (0.5, 1.0, 2.0):
        yield Case(
            f"forest-5-add-remove-{epsilon:g}",
            "RandomForestClassifier, 5 trees, shuffle=False",
            "diffprivlib",
            "add-remove",
            epsilon,
            10_000,
            forest(5, epsilon, 6),
            chain,
            without_first(chain),
            "105 equal points; labels k, k+1 alternate in the block of tree k; D′ lacks the first record",
            one_vote_for_each_class_but_the_first,
            "predict_proba at the point: one vote for each of the classes 1 to 5, none for class 0",
        )
    yield Case(
        "forest-2-shuffled-add-remove-1",
        "RandomForestClassifier, 2 trees, shuffle=True",
        "diffprivlib",
        "add-remove",
        1.0,
        20_000,
        forest(2, 1.0, 2, shuffle=True),
        at_one([0, 1, 1, 1]),
        at_one([1, 1, 1]),
        "4 equal points, one of class 0 and three of class 1; D′ lacks the one of class 0",
        first_tree_says_0_and_second_1,
        "estimators_ at the point: the first tree says 0 and the second 1",
    )
    for epsilon in (0.5, 1.0, 2.0):
        yield Case(
            f"forest-1-replace-{epsilon:g}",
            "RandomForestClassifier, 1 tree",
            "diffprivlib",
            "replace",
            epsilon,
            20_000,
            forest(1, epsilon, 2),
            at_one([0, 0]),
            at_one([0, 1]),
            "2 equal points of class 0; in D′ one of them has class 1",
            label_1,
            "predict at the point: class 1",
        )
    others = [2] * 40
    yield Case(
        "forest-5-replace-1",
        "RandomForestClassifier, 5 trees, shuffle=False",
        "diffprivlib",
        "replace",
        1.0,
        10_000,
        forest(5, 1.0, 3),
        at_one([0, *[0] * 5, *[1] * 4, *others]),
        at_one([1, *[0] * 5, *[1] * 4, *others]),
        "50 equal points; the first tree gets 6 of class 0 and 4 of class 1, in D′ 5 and 5",
        class_1_gets_a_vote,
        "predict_proba at the point: class 1 gets a vote",
    )
    for relation, first, second, words in (
        ("add-remove", [0, 0, 1], [0, 1], "3 equal points of classes 0, 0, 1; D′ lacks one of class 0"),
        ("replace", [0, 0], [0, 1], "2 equal points of class 0; in D′ one of them has class 1"),
    ):
        yield Case(
            f"tree-{relation}-1",
            "DecisionTreeClassifier",
            "diffprivlib",
            relation,
            1.0,
            20_000,
            partial(independent, DecisionTreeClassifier, 1, epsilon=1.0, bounds=(0, 1), classes=[0, 1]),
            at_one(first),
            at_one(second),
            words,
            label_1,
            "predict at the point: class 1",
        )
    yield from logistic_cases()
    yield from bayes_cases()
    yield from booster_cases()


def logistic_cases() -> Iterator[Case]:
    """diffprivlib's LogisticRegression: the data norm, and the classes.

    Most cases go without the intercept, which the objective does not regularise.
    """
    bare: dict[str, Any] = {"fit_intercept": False}
    for name, relation, epsilon, options in (
        ("replace-0.5", "replace", 0.5, bare),
        ("replace-1", "replace", 1.0, bare),
        ("replace-2", "replace", 2.0, bare),
        ("add-remove-1", "add-remove", 1.0, bare),
        ("defaults-replace-1", "replace", 1.0, {}),
    ):
        second = with_last(0.0, 1) if relation == "replace" else (np.zeros((2, 1)), np.array([0, 1]))
        change = "is at 0" if relation == "replace" else "is missing"
        yield Case(
            f"logistic-norm-100-{name}",
            f"LogisticRegression, data_norm=100, {'fit_intercept=False' if options else 'else defaults'}",
            "diffprivlib",
            relation,
            epsilon,
            20_000,
            partial(independent, LogisticRegression, epsilon=epsilon, data_norm=100.0, **options),
            with_last(100.0, 1),
            second,
            f"records (0, class 0), (0, class 1) and (100, class 1); in D′ the last one {change}",
            partial(undecided, x=100.0),
            "predict_proba at 100: between 0.05 and 0.95",
        )
    for name, last, words in (("flipped", (1.0, 0), "has class 0"), ("moved", (0.0, 1), "is at 0")):
        yield Case(
            f"logistic-norm-1-{name}-replace-1",
            "LogisticRegression, data_norm=1, fit_intercept=False",
            "diffprivlib",
            "replace",
            1.0,
            20_000,
            partial(independent, LogisticRegression, epsilon=1.0, data_norm=1.0, **bare),
            with_last(1.0, 1),
            with_last(*last),
            f"records (0, class 0), (0, class 1) and (1, class 1); in D′ the last one {words}",
            slope,
            names=("coef_",),
        )
    yield Case(
        "logistic-classes-replace-1",
        "LogisticRegression, data_norm=1, classes from the data",
        "diffprivlib",
        "replace",
        1.0,
        2_000,
        partial(independent, LogisticRegression, epsilon=1.0, data_norm=1.0),
        with_last(1.0, 2),
        with_last(1.0, 1),
        "3 records of classes 0, 1 and 2; in D′ the last one has class 1",
        three_columns,
        "predict_proba has three columns",
    )


def bayes_cases() -> Iterator[Case]:
    """diffprivlib's GaussianNB."""
    naive = partial(independent, GaussianNB, epsilon=1.0, bounds=(0, 1))
    X = np.array([0.0, 0.0, 1.0, 0.0, 0.0])[:, None]
    y = np.array([0, 0, 0, 1, 1])
    yield Case(
        "bayes-add-remove-1",
        "GaussianNB",
        "diffprivlib",
        "add-remove",
        1.0,
        2_000,
        naive,
        (X, y),
        without_first((X, y)),
        "5 records, 3 of class 0; D′ lacks one of class 0",
        partial(counts_add_up_to, total=5),
        "class_count_ adds up to 5",
    )
    X = np.repeat([1.0, 0.0], [6, 5])[:, None]
    y = np.repeat([0, 1], [6, 5])
    yield Case(
        "bayes-replace-1",
        "GaussianNB",
        "diffprivlib",
        "replace",
        1.0,
        20_000,
        naive,
        (X, y),
        (X, np.repeat([0, 1], [5, 6])),
        "6 records at 1 of class 0 and 5 at 0 of class 1; in D′ one at 1 has class 1",
        moments,
        names=tuple(f"{name}[{c}]" for name in ("class_count_", "theta_", "var_") for c in (0, 1)),
    )


def booster_cases() -> Iterator[Case]:
    """interpret's DPExplainableBoostingClassifier, 5 rounds."""
    y = np.arange(20) % 2
    common = np.array([["common"]] * 20, dtype=object)
    rare = common.copy()
    rare[-1] = "rare"
    for name, kind, types, queries in (
        ("nominal", "feature_types=['nominal']", ["nominal"], ("rare", "never seen")),
        ("listed", "categories listed in feature_types", [["common", "rare", "unused"]], ("rare", "unused")),
    ):
        yield Case(
            f"booster-{name}-replace-1",
            f"DPExplainableBoostingClassifier, {kind}",
            "interpret-core",
            "replace",
            1.0,
            20_000,
            booster(feature_types=types),
            (rare, y),
            (common, y),
            "20 records, 19 of category 'common' and one 'rare'; in D′ all are 'common'",
            partial(answers_differ, queries=queries),
            f"predict_proba differs between '{queries[0]}' and '{queries[1]}'",
            delta=1e-5,
        )
    continuous = booster(feature_types=["continuous"], privacy_bounds={0: (0.0, 1.0)})
    X = np.zeros((20, 1))
    yield Case(
        "booster-size-add-remove-1",
        "DPExplainableBoostingClassifier, feature_types=['continuous']",
        "interpret-core",
        "add-remove",
        1.0,
        2_000,
        continuous,
        (X, y),
        without_first((X, y)),
        "20 records at 0; D′ lacks one",
        partial(bag_weighs, weight=20),
        "bag_weights_ is 20",
        delta=1e-5,
    )
    moved = X.copy()
    moved[0] = 1.0
    yield Case(
        "booster-continuous-replace-1",
        "DPExplainableBoostingClassifier, feature_types=['continuous']",
        "interpret-core",
        "replace",
        1.0,
        20_000,
        continuous,
        (X, y),
        (moved, np.where(np.arange(20) == 0, 1 - y, y)),
        "20 records at 0; in D′ the first is at 1 and has the other class",
        log_odds,
        names=("log-odds at 0", "log-odds at 0.5", "log-odds at 1", "intercept_"),
        delta=1e-5,
    )


# --- Runs ---------------------------------------------------------------------------------------------------


def measure(case: Case, *, jobs: int, progress: bool = True) -> list[dict[str, Any]]:
    """Rows of one case, one for each confidence; the same fits serve both."""
    seed = zlib.crc32(case.name.encode())
    first, second = observations(
        case.factory,
        case.first,
        case.second,
        runs=case.runs,
        observe=case.observe,
        jobs=jobs,
        seed=seed,
        progress=progress,
    )
    rows = []
    for confidence in CONFIDENCES:
        if case.event:
            k, l = int(first.sum()), int(second.sum())  # noqa: E741
            bound = epsilon_bound(k, l, case.runs, case.runs, confidence=confidence, delta=case.delta)
            event = f"{case.event}: {k} of {case.runs} on D, {l} of {case.runs} on D′"
        else:
            finding = compare(
                first,
                second,
                claimed=case.claimed,
                confidence=confidence,
                delta=case.delta,
                names=case.names,
                seed=seed,
            )
            bound, event = finding.lower_bound, f"chosen on a part of the runs: {finding.event}"
        values = (
            case.name, case.subject, f"{case.package} {version(case.package)}", DOCUMENTED, case.relation,
            case.claimed, case.delta, case.runs, confidence, round(bound, 4), case.pair, event,
            f"{SCRIPT} --out rerun --only {case.name}",
        )  # fmt: skip
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of the table so far."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_done(case: Case, rows: Sequence[dict[str, Any]]) -> bool:
    """Whether the table holds this case, at this number of runs and this version of the subject."""
    wanted = (case.name, str(case.runs), f"{case.package} {version(case.package)}")
    return any((row["case"], str(row["runs"]), row["version"]) == wanted for row in rows)


def save(rows: Sequence[dict[str, Any]], seconds: dict[str, float], folder: Path) -> None:
    """Write the table in the order of the cases, and its provenance, each whole or not at all."""
    order = {case.name: i for i, case in enumerate(cases())}
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: (order[row["case"]], float(row["confidence"]))))
    write_whole(folder / "audit_peers.csv", text.getvalue())
    provenance = {
        "command": f"{SCRIPT} --out results",
        "cases": len(seconds),
        "versions": {name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "seconds_by_case": {name: seconds[name] for name in order if name in seconds},
        "seconds": round(sum(seconds.values()), 1),
    }
    write_whole(folder / "audit_peers.json", json.dumps(provenance, indent=2) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line: run the cases that the table lacks."""
    known = {case.name: case for case in cases()}
    parser = argparse.ArgumentParser(prog=SCRIPT, description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of audit_peers.csv and .json")
    parser.add_argument("--only", nargs="+", choices=known, metavar="CASE", help=f"of {', '.join(known)}")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default 2)")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    # The subjects must be used as their documentation asks: a warning of theirs about a leak stops the run.
    warnings.simplefilter("ignore")
    warnings.filterwarnings("error", category=PrivacyLeakWarning)
    warnings.filterwarnings("error", message="Possible privacy violation")

    rows = read(options.out / "audit_peers.csv")
    log = options.out / "audit_peers.json"
    seconds: dict[str, float] = json.loads(log.read_text())["seconds_by_case"] if log.exists() else {}
    todo = [known[name] for name in options.only or known if not is_done(known[name], rows)]
    for case in tqdm(todo, desc="cases", unit="case"):
        began = time.monotonic()
        fresh = measure(case, jobs=options.jobs)
        seconds[case.name] = round(time.monotonic() - began, 1)
        rows = [row for row in rows if row["case"] != case.name] + fresh
        save(rows, seconds, options.out)
        for row in fresh:
            tqdm.write(
                f"{case.name}: claimed {case.claimed:g}, ε ≥ {row['lower_bound']} "
                f"({100 * row['confidence']:g} %, {case.relation})"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
