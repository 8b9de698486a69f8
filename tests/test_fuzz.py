"""Fits of everything on anything: what a fit on a given domain raises or warns of follows from parameters alone.

``python tests/test_fuzz.py 20000 1`` runs that many fits from a seed and counts how they end; the tests run less.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpnb import Categorical, Continuous, Domain
from dpnb.domain.encoding import decoded
from dpnb.errors import FewRecordsWarning
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.dpada import READINGS, DPAda
from dpnb.papers.edprf import EDPRF
from dpnb.records import memory as counts
from dpnb.records.bags import MODES
from private_trees.papers import BY_CHAPTER
from registered import ENTRIES, seen

FITS = 1800  # of the tests; as many as take half a minute
WRITTEN = [paper.estimator for paper in BY_CHAPTER]
# fmt: off
ODD: tuple[Any, ...] = (
    None, np.nan, np.inf, -np.inf, 1e300, -3, "?", "1_0", "", "7", b"7", 1j, [1], {"a": 1}, (1, 2), 10**400,
    Decimal("NaN"), Decimal(3), pd.NaT, pd.NA, True, object(), np.datetime64("NaT"), pd.Timestamp("2020-02-02"),
)
BOUNDS: tuple[tuple[Any, Any], ...] = (
    (0, 1), (0, 100), (-5.5, 3), (-1e300, 1e300), (0, 1e-307), (1e15, 1e15 + 8), (0, 5e-324), (-1e-5, 1e9),
    ("2001-01-01", "2026-12-31"),
)
# fmt: on
NUMBERS: dict[str, Callable[[np.random.Generator], Any]] = {
    "n_trees": lambda rng: int(rng.integers(1, 5)),
    "max_depth": lambda rng: int(rng.integers(0, 4)),
    "n_rounds": lambda rng: int(rng.integers(1, 9)),
    "uniform": lambda rng: int(rng.integers(0, 6)),
    "geometric": lambda rng: int(rng.integers(0, 4)),
    "n_bins": lambda rng: int(rng.integers(2, 7)),
    "n_shards": lambda rng: int(rng.integers(1, 6)),
    "n_specialisations": lambda rng: int(rng.integers(0, 9)),
    "max_features": lambda rng: ["all", 1, 2, 50][rng.integers(4)],
    "learning_rate": lambda rng: float(rng.uniform(0.05, 2)),
    "selection_share": lambda rng: float(rng.uniform(0.05, 0.95)),
    "stop_share": lambda rng: float(rng.uniform(0.05, 0.95)),
    "leaf_share": lambda rng: float(rng.uniform(0.05, 0.95)),
    "delta": lambda rng: float(10 ** rng.uniform(-12, -2)),
    "filter_rounds": lambda rng: int(rng.integers(1, 9)),
    "monotone_rate": lambda rng: bool(rng.integers(2)),
    "size_query": lambda rng: bool(rng.integers(2)),
    "reuse": lambda rng: bool(rng.integers(2)),
    "align": lambda rng: bool(rng.integers(2)),
}
ALWAYS = ("n_trees", "n_rounds", "max_depth", "n_specialisations")  # so that a fit is short


@dataclass
class Case:
    """A model, the records that it is to learn from, and how to tell of it."""

    model: Any
    X: pd.DataFrame
    y: pd.Series[Any]

    def __str__(self) -> str:
        words = {name: v for name, v in self.model.get_params().items() if name != "domain"}
        public = [
            len(a.values) if isinstance(a, Categorical) else (a.low, a.high)
            for a in self.model.domain.attributes
        ]
        return f"{type(self.model).__name__}({words}) n={len(self.X)}, {public}, {self.model.domain.n_classes} classes"


@lru_cache(maxsize=64)
def categories(name: str, size: int, kind: int, missing: bool, other: bool) -> Categorical:
    values: Any = range(size) if kind == 0 else [f"v{i}" for i in range(size)]
    return Categorical(name, tuple(values), missing=missing, unknown="other" if other else "error")


def attribute(rng: np.random.Generator, name: str, *, discrete: bool) -> Categorical | Continuous:
    missing, moved = bool(rng.integers(2)), bool(rng.integers(2))
    if discrete or rng.random() < 0.5:
        largest = 20_000 if rng.random() < 0.15 else 12
        return categories(name, int(largest ** rng.random()), int(rng.integers(2)), missing, moved)
    low, high = BOUNDS[rng.integers(len(BOUNDS))]
    return Continuous(name, low, high, missing=missing, clip=moved)


def column(rng: np.random.Generator, public: Categorical | Continuous, n: int) -> pd.Series[Any]:
    if isinstance(public, Categorical):
        values = np.array(public.values, dtype=object)[rng.integers(0, min(len(public.values), 5), n)]
    elif public.is_date:
        values = (np.datetime64("2001-01-01") + rng.integers(0, 9000, n)).astype(object)
    else:
        values = public.low + rng.choice([0, 0.3, rng.random(), 1], n) * (public.high - public.low)
    if rng.random() < 0.4:
        values = values.astype(object)
        for place in np.flatnonzero(rng.random(n) < 0.4):
            values[place] = ODD[rng.integers(len(ODD))]
    return pd.Series(values)


def parameters(rng: np.random.Generator, kind: Any, *, written: bool) -> dict[str, Any]:
    """Parameters of an estimator that mostly go together."""
    names = {field.name for field in fields(kind)}
    chosen: dict[str, Any] = {}
    for name, choices in kind._choices.items():
        if name in names and not written and rng.random() < 0.4:
            chosen[name] = choices[rng.integers(len(choices))]
    for name, draw in NUMBERS.items():
        if name in names and (name in ALWAYS or (not written and rng.random() < 0.3)):
            chosen[name] = draw(rng)
    if "epsilon" in names:
        chosen["epsilon"] = np.inf if rng.random() < 0.02 else float(10 ** rng.uniform(-6, 6))
    if "neighbours" in names and rng.random() < 0.3:
        chosen["neighbours"] = "replace"
    if rng.random() < 0.05:  # as they come
        return chosen
    if chosen.get("stop") == "noisy" and kind is DiffPRFs:
        chosen["size_query"] = True
    if kind is DiffPRFs and (
        chosen.get("categorical", "one-vs-rest") != "one-vs-rest"
        or chosen.get("thresholds", "uniform") != "uniform"
    ):
        chosen["selection"] = "two-step"
    if kind is EDPRF and chosen.get("bins", "public") != "public":
        chosen["splits"] = "multiway"
    if chosen.get("delta") is not None:
        chosen.pop("filter_rounds", None)
    if "bag_rate" in names:
        mode = chosen.get("bags")
        trees = chosen["n_trees"]
        rates = {"cover": int(rng.integers(1, trees + 1)), "bernoulli": float(rng.uniform(0.01, 1))}
        chosen["bag_rate"] = rates.get(str(mode))
    return chosen


def case(rng: np.random.Generator) -> Case:
    """Anything that a fit may be given: tiny data, odd values, large cardinalities, extreme budgets."""
    entry = list(ENTRIES.values())[rng.integers(len(ENTRIES))]
    kind = entry.estimator
    written = kind in WRITTEN and rng.random() < 0.1
    many = not kind.two_classes or rng.random() < 0.05
    classes = int(rng.choice([2, 2, 2, 3, 5, 50])) if many else 2
    discrete = kind.discrete_only and rng.random() < 0.97
    attributes = tuple(attribute(rng, f"a{i}", discrete=discrete) for i in range(rng.integers(1, 5)))
    domain = entry.domain(Domain(attributes, tuple(range(classes))))
    n = int(rng.choice([0, 0, 1, 2, 3, 5, 10, 30, 30, 200]))
    X = pd.DataFrame({a.name: column(rng, a, n) for a in attributes})
    X.index = pd.RangeIndex(n) if rng.random() < 0.8 else pd.Index([f"r{i}" for i in range(n)])
    y = pd.Series(rng.integers(0, int(rng.choice([1, classes])), n), index=X.index, dtype=object)
    for place in np.flatnonzero(rng.random(n) < 0.05):
        y.iloc[place] = "?"
    chosen = parameters(rng, kind, written=written)
    if written and kind is DPAda and rng.random() < 0.5:
        chosen["reading"] = list(READINGS.values())[rng.integers(len(READINGS))]
    make = kind.as_written if written else kind
    return Case(make(domain=domain, random_state=int(rng.integers(2**31)), **chosen), X, y)


def ending(given: Case) -> str:
    """How a fit ends: ``"model"``, or ``"parameters"`` refused; an AssertionError tells what depends on the records."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", FewRecordsWarning)  # follows from a noisy number
        try:
            model = given.model.fit(given.X, given.y)
        except ValueError as error:
            if by_parameters(given, error):
                return "parameters"
            raise AssertionError(f"{given}: {error}") from error
        except Exception as error:
            raise AssertionError(f"{given}: {type(error).__name__}: {error}") from error
        # What is predicted for records of the domain; prediction refuses others.
        domain = given.model.domain
        ends = zip(domain.attributes, np.nan_to_num(domain.lows), strict=True)
        try:
            seen(model, pd.DataFrame({a.name: decoded(np.array([low]), a) for a, low in ends}))
        except Exception as error:
            raise AssertionError(f"{given}: prediction: {type(error).__name__}: {error}") from error
    assert not np.isnan(model.ledger_.epsilon), f"{given}: the ledger"
    return "model"


def by_parameters(given: Case, error: ValueError) -> bool:
    """Whether other records raise the same error, none and many; a tree's size follows from what was released."""
    if "nodes at depth" in str(error) or "cells, more than" in str(error):
        return True
    domain, rng = given.model.domain, np.random.default_rng(0)
    many = pd.DataFrame({a.name: column(rng, a, 64) for a in domain.attributes})
    labels = pd.Series(rng.integers(0, max(domain.n_classes, 2), 64), dtype=object)
    for X, y in ((given.X[:0], given.y[:0]), (many, labels)):
        try:
            given.model.fit(X, y)
        except ValueError as other:
            if str(other) == str(error):
                continue
        return False
    return True


def run(n: int, *, seed: int) -> Counter[str]:
    """Endings of that many fits; the first that depends on records raises an AssertionError."""
    return Counter(ending(case(np.random.default_rng([seed, i]))) for i in range(n))


@pytest.mark.parametrize("seed", range(6))
def test_no_fit_raises_or_warns_for_what_records_hold(seed: int) -> None:
    found = run(FITS // 6, seed=seed)
    assert found["model"] >= 0.9 * (FITS // 6), found


def test_a_fit_that_depends_on_the_records_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twins: an empty bag raises, a misfit warns."""
    replaced = Domain.replaced

    def warns(self: Domain, X: Any) -> Any:
        codes = replaced(self, X)
        if (codes < np.nan_to_num(self.lows + 1e-300)).any():
            warnings.warn("a value at the lower end", stacklevel=2)
        return codes

    tally = counts._tally

    def raises(keys: Any, copies: Any, **sizes: int) -> Any:
        if not len(keys):
            raise ValueError("an empty bag")
        return tally(keys, copies, **sizes)

    for twin in (
        lambda patch: patch.setattr(Domain, "replaced", warns),
        lambda patch: patch.setattr(counts, "_tally", raises),
    ):
        with monkeypatch.context() as patch:
            twin(patch)
            with pytest.raises(AssertionError):
                run(300, seed=0)


def test_all_bags_and_estimators_are_drawn() -> None:
    cases = [case(np.random.default_rng([0, i])) for i in range(FITS)]
    assert {type(c.model).__name__ for c in cases} == set(ENTRIES)
    assert {getattr(c.model, "bags", "full") for c in cases} >= set(MODES)


def main(n: int, seed: int = 1) -> int:
    """Run many fits, print every case that depends on its records, and count."""
    found: Counter[str] = Counter()
    by_kind: Counter[tuple[str, str]] = Counter()
    for i in range(n):
        given, start = case(np.random.default_rng([seed, i])), time.perf_counter()
        try:
            how = ending(given)
        except AssertionError as error:
            how = "depends on records"
            print(i, error, flush=True)
        found[how] += 1
        by_kind[type(given.model).__name__, how] += 1
        if (seconds := time.perf_counter() - start) > 5:
            print(f"{i} took {seconds:.0f} s: {given}", flush=True)
        if (i + 1) % 1000 == 0:
            print(i + 1, dict(found), flush=True)
    for (kind, how), times in sorted(by_kind.items()):
        print(f"{kind:20} {how:20} {times}")
    return int(bool(found["depends on records"]) or found["model"] < 0.9 * n)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:] or ["20000"])))
