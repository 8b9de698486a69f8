"""Replay the calls that diffprivlib's models and programs on OpenDP make of their libraries' mechanisms.

Runs in the environment of ``audit_peers.py`` (see ``README.md`` beside this file); a library that is not there is left
out. Each subject is set up as its documentation asks, and again as it warns against, or broken on purpose. Every row is
a finding of ``library_replay`` at one line, on the pair where it is worst.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from dpaudit import AttackError, adapted, library_replay, pairs
from dpaudit.libraries import LibraryFinding
from dpaudit.pairs import Pair, Unit, neighbours_of
from dpnb.domain import Continuous, Domain
from dpnb.files import write_whole
from dpnb.terminal import Parser, command, note

SCRIPT = "python benchmarks/peers/replay_libraries.py"
RELATIONS = ("replace", "add-remove")
PACKAGES = ("diffprivlib", "opendp", "scikit-learn", "numpy", "scipy")
COLUMNS = [
    "library", "version", "subject", "setting", "relation", "what", "verdict", "bound", "claim", "found", "line",
    "given", "pair", "pairs", "calls", "milliseconds",
]  # fmt: skip
AGES = Domain((Continuous("age", 17, 90), Continuous("hours", 1, 99)), (0, 1), target="income")
UNIT = Domain((Continuous("x", 0, 1), Continuous("z", 0, 1)), (0, 1), target="y")
WIDE = Domain(tuple(Continuous(f"x{i}", 0, 1) for i in range(10)), (0, 1), target="y")
YEARS = Domain((Continuous("born", 1930, 2010),), (0, 1), target="income")
LOW, HIGH = (np.array([getattr(one, end) for one in AGES.attributes]) for end in ("low", "high"))
KINDS = ("structured", "ends", "bounds")
AT_EACH_END = 200  # records at each end of the domain, in a pair of clusters that no noise takes for empty


@dataclass(frozen=True)
class Subject:
    """A subject that claims ε = 1."""

    package: str
    name: str
    setting: str  # `"as documented"`, or what was left out or done wrong
    factory: Callable[[], Any]
    domain: Domain = AGES
    holes: bool = False  # whether half of the common records have no first value


# --- diffprivlib ----------------------------------------------------------------------------------------------


def model(name: str, *, random_state: int | None = None, **options: Any) -> Any:
    """A model of diffprivlib whose fit does not add to the budget of earlier ones."""
    from diffprivlib import models
    from diffprivlib.accountant import BudgetAccountant

    BudgetAccountant().set_default()
    return getattr(models, name)(epsilon=1.0, random_state=random_state, **options)


class Tool:
    """A function of ``diffprivlib.tools`` on the first column."""

    def __init__(self, name: str, *, random_state: int | None = None, **options: Any) -> None:
        self.name, self.seed, self.options = name, random_state, options

    def fit(self, X: Any, y: Any) -> Tool:
        from diffprivlib import tools
        from diffprivlib.accountant import BudgetAccountant

        values = X[:, 0] > LOW[0] if self.name == "count_nonzero" else X[:, 0]
        random = np.random.RandomState(self.seed)
        how = {"epsilon": 1.0, "random_state": random, "accountant": BudgetAccountant(), **self.options}
        self.released_ = getattr(tools, self.name)(values, **how)
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


def diffprivlib_subjects() -> Iterator[Subject]:
    bounds = (LOW, HIGH)
    norm = float(np.linalg.norm(HIGH))
    known: dict[str, dict[str, Any]] = {
        "GaussianNB": {"bounds": bounds},
        "KMeans": {"n_clusters": 2, "bounds": bounds},
        "LinearRegression": {"bounds_X": bounds, "bounds_y": (0, 1)},
        "LogisticRegression": {"data_norm": norm},
        "PCA": {"bounds": bounds, "data_norm": norm},
        "StandardScaler": {"bounds": bounds},
        "DecisionTreeClassifier": {"max_depth": 3, "bounds": bounds, "classes": [0, 1]},
        "RandomForestClassifier": {"n_estimators": 3, "max_depth": 3, "bounds": bounds, "classes": [0, 1]},
    }
    public = ("bounds", "bounds_X", "bounds_y", "data_norm", "classes")
    made = partial(adapted, arrays=True, seed="random_state")
    for name, options in known.items():
        bare = {key: value for key, value in options.items() if key not in public}
        yield Subject("diffprivlib", name, "as documented", made(partial(model, name, **options)))
        yield Subject("diffprivlib", name, "bounds missing", made(partial(model, name, **bare)))
    unit: dict[str, Any] = {"bounds_X": (0, 1), "bounds_y": (0, 1)}
    for name, domain, words, options in (
        ("GaussianNB", YEARS, "years from 1930 to 2010", {"bounds": (1930, 2010)}),
        ("KMeans", WIDE, "10 columns in [0, 1]", {"n_clusters": 2, "bounds": (0, 1)}),
        ("LinearRegression", UNIT, "2 columns in [0, 1]", unit),
        ("LinearRegression", UNIT, "2 columns in [0, 1], no intercept", {**unit, "fit_intercept": False}),
    ):
        factory = made(partial(model, name, **options))
        yield Subject("diffprivlib", name, f"as documented, {words}", factory, domain)
    ends = (float(LOW[0]), float(HIGH[0]))
    tools: dict[str, dict[str, Any]] = {
        "mean": {"bounds": ends},
        "var": {"bounds": ends},
        "sum": {"bounds": ends},
        "histogram": {"bins": 5, "range": ends},
        "quantile": {"quant": 0.5, "bounds": ends},
        "count_nonzero": {},
        "nanmean": {"bounds": ends},
    }
    for name, options in tools.items():
        bare = {key: value for key, value in options.items() if key not in ("bounds", "range")}
        tool = made(partial(Tool, name, **options))
        words = "as documented" + ", half of the values missing" * name.startswith("nan")
        yield Subject("diffprivlib", f"tools.{name}", words, tool, holes=name.startswith("nan"))
        if bare != options and not name.startswith("nan"):
            yield Subject("diffprivlib", f"tools.{name}", "bounds missing", made(partial(Tool, name, **bare)))


# --- OpenDP ---------------------------------------------------------------------------------------------------


@dataclass
class Program:
    """A program on OpenDP, which releases what a function of the ages says."""

    release: Callable[[Any, list[int]], Any]

    def fit(self, X: Any, y: Any) -> Program:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        self.released_ = self.release(dp, [int(age) for age in X[:, 0]])
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros(len(X))


def ages(dp: Any) -> Any:
    return dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()


def clamped_sum(dp: Any, data: list[int], *, low: int = 17, high: int = 90, scale: float = 90.0) -> Any:
    return (ages(dp) >> dp.t.then_clamp((low, high)) >> dp.t.then_sum() >> dp.m.then_laplace(scale))(data)


def counts(dp: Any, data: list[int]) -> Any:
    decades = [age // 10 for age in data]
    count = dp.t.then_count_by_categories(categories=list(range(1, 10)))
    return (ages(dp) >> count >> dp.m.then_laplace(1.0))(decades)


def noisy_mean(dp: Any, data: list[int]) -> float:
    """A noisy sum and a noisy count, by a context that splits the budget."""
    context = dp.Context.compositor(
        data=data,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=2,
        domain=dp.vector_domain(dp.atom_domain(T=int)),
    )
    total = context.query().clamp((17, 90)).sum().laplace().release()
    return float(total / max(context.query().count().laplace().release(), 1))


def mean_with_exact_count(dp: Any, data: list[int]) -> float:
    return float(clamped_sum(dp, data) / max(len(data), 1))


def sum_of_unclamped(dp: Any, data: list[int]) -> float:
    """Ages in decades, which nobody clamps to the one decade that the scale is for."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return float(dp.m.make_laplace(*space, scale=1.0)(sum(data) / 10))


def bounds_from_data(dp: Any, data: list[int]) -> Any:
    return clamped_sum(dp, data, low=min(data), high=max(data))


def scale_from_data(dp: Any, data: list[int]) -> Any:
    return clamped_sum(dp, data, scale=float(max(data)))


def skips_rare_decades(dp: Any, data: list[int]) -> list[int]:
    one = ages(dp) >> dp.t.then_count() >> dp.m.then_laplace(1.0)
    parts = [[age for age in data if age // 10 == decade] for decade in range(1, 10)]
    return [one(part) for part in parts if part]


def opendp_subjects() -> Iterator[Subject]:
    honest = (clamped_sum, counts, noisy_mean)
    broken = (mean_with_exact_count, sum_of_unclamped, bounds_from_data, scale_from_data, skips_rare_decades)
    for release in (*honest, *broken):
        setting = "honest" if release in honest else "broken on purpose"
        factory = adapted(partial(Program, release), arrays=True)
        yield Subject("opendp", release.__name__.replace("_", " "), setting, factory)


# --- The table ------------------------------------------------------------------------------------------------


def subjects() -> list[Subject]:
    """All subjects, in the order of the table."""
    return [*diffprivlib_subjects(), *opendp_subjects()]


def installed(package: str) -> str | None:
    """Version of a distribution; None if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def with_holes(pair: Pair) -> tuple[Any, Any]:
    """Both data sets without the first value of every second common record."""
    parts = []
    for X, y in (pair.first, pair.second):
        X = X.copy()
        X.iloc[:, 0] = X.iloc[:, 0].where((X.index < 0) | (X.index % 2 == 0))
        parts.append((X, y))
    return parts[0], parts[1]


def relations(subject: Subject) -> Sequence[str]:
    """Both where the documentation states none; a user of OpenDP states it, here as one record more or less.

    Where bounds are missing the number of records stays the same, for it would hide what follows the bounds.
    """
    if subject.package == "opendp":
        return RELATIONS[1:]
    return RELATIONS[:1] if subject.setting == "bounds missing" else RELATIONS


def two_clusters(relation: str, domain: Domain) -> Pair:
    """As many records at the lower end as at the upper one, where the second data set has one more."""
    low, high = (Unit((end,) * domain.n_attributes, 0) for end in (0.0, 1.0))
    name = f"{AT_EACH_END} records at each end, one more at the upper one"
    return neighbours_of(relation, domain, name, [low, high] * AT_EACH_END, high, instead=low)


def measure(subject: Subject, relation: str) -> list[dict[str, Any]]:
    """A row for each kind of finding and line, where it is worst; one row where nothing is found."""
    importlib.import_module(
        {"opendp": "opendp.prelude"}.get(subject.package, f"{subject.package}.mechanisms")
    )
    found: dict[tuple[str, str], list[LibraryFinding]] = {}
    tried, seconds = 0, []
    for pair in [
        *pairs(relation, domain=subject.domain, kinds=KINDS),
        two_clusters(relation, subject.domain),
    ]:
        data = with_holes(pair) if subject.holes else (pair.first, pair.second)
        began = time.perf_counter()
        try:
            findings = library_replay(
                subject.factory, *data, claimed=1.0, neighbours=relation, subject=subject.name, pair=pair.name
            )
        except AttackError:  # some models take no data with one class, or too few records
            continue
        seconds.append(time.perf_counter() - began)
        tried += 1
        for one in findings:
            line = one.place if one.what != "all calls" else ""
            found.setdefault((one.what, line), []).append(one)
    shown = {key: all_of for key, all_of in found.items() if any(one.flagged for one in all_of)}
    last = {key: all_of for key, all_of in found.items() if key[0] == "all calls"}
    shown = shown or last
    return [row(subject, relation, all_of, tried, seconds) for all_of in shown.values()]


def row(
    subject: Subject, relation: str, all_of: list[LibraryFinding], tried: int, seconds: list[float]
) -> dict[str, Any]:
    """The row of findings of one kind at one line."""
    worst = max(all_of, key=lambda one: (one.violated, one.flagged, one.lower_bound))
    flagged = [one for one in all_of if one.flagged]
    verdict = "refuted" if worst.violated else "flagged" if worst.flagged else "nothing found"
    bound = "inf" if math.isinf(worst.lower_bound) else f"{worst.lower_bound:.4g}"
    values = (
        subject.package, version(subject.package), subject.name, subject.setting, relation, worst.what, verdict,
        bound, f"{worst.claimed:.4g}", worst.event, worst.place, worst.given, worst.pair,
        f"{len(flagged)} of {tried}", worst.calls, f"{1000 * float(np.median(seconds)):.0f}",
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def save(rows: Sequence[dict[str, Any]], seconds: float, folder: Path) -> None:
    """Write the table and its provenance, each whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder / "library_replay.csv", text.getvalue())
    provenance = {
        "command": f"{SCRIPT} --out results",
        "versions": {name: installed(name) for name in PACKAGES} | {"python": platform.python_version()},
        "subjects": len({(row["library"], row["subject"], row["setting"]) for row in rows}),
        "seconds": round(seconds, 1),
    }
    write_whole(folder / "library_replay.json", json.dumps(provenance, indent=2) + "\n")


@command()
def main(arguments: Sequence[str], /) -> int:
    """Command line: replay all subjects, or those whose name or setting contains a word."""
    parser = Parser(prog=SCRIPT, description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of library_replay.csv and .json")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="words in a library, a name or a setting")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    absent = sorted({one.package for one in subjects() if installed(one.package) is None})
    if absent:
        note(f"not installed, and left out: {', '.join(absent)}")
    wanted = [
        one
        for one in subjects()
        if one.package not in absent
        and (
            not options.only
            or any(word in f"{one.package} {one.name} {one.setting}" for word in options.only)
        )
    ]
    began, rows = time.perf_counter(), []
    for subject in tqdm(wanted, desc="subjects", unit="subject"):
        for relation in relations(subject):
            rows += measure(subject, relation)
    save(rows, time.perf_counter() - began, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
