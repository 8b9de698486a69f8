"""What a fitted model holds beside its releases: records, sizes, numbers without noise, generators and seeds.

A number that noise covers takes many values. One that is the same in every fit on D, and another one in every fit on
its neighbour D′, had no noise, or the same noise each time: :func:`constant_on_each` bounds how often a subject that
keeps its claim looks like that.
"""

from __future__ import annotations

import math
import pickle
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from ..arrays import Bools
from .attack import AttackError, Data, seeded
from .bounds import check_claim, check_levels
from .held import PICKLED, TOTALS, Fact, Held, agree, group, held, single
from .releases import follow
from .result import Finding

SURE = 1 - 1e-6
BURN_IN = 3  # fits on each data set that choose what is looked at
MOST_RUNS = 1_000
STATISTICS = ("mean", "min", "max", "sum", "median", "std", "var")
NOTHING = np.empty((), object)  # the fact of a path that leads nowhere
SEEDS = ("random_state", "seed")
FAILS = "the fit"
SHOWN = 60  # characters of a value in a finding

Run = Callable[[int], dict[str, Fact]]


@dataclass(frozen=True, kw_only=True)
class HeldFinding(Finding):
    """What a model holds that its claim does not allow.

    Parameters
    ----------
    path : where, such as ``model.trees_[3].counts``.
    holds : what, such as "the number of records".
    loss : the privacy loss if what was seen is always so.
    chance : probability at most with which a subject that keeps its claim is convicted of anything by that scan.
    """

    path: str = ""
    holds: str = ""
    loss: float = math.inf
    chance: float = 0.0


# --- Numbers without noise -------------------------------------------------------------------------------------------


@dataclass
class Constant:
    """A fact that had one value in every fit on each data set.

    Parameters
    ----------
    path : where.
    on_first, on_second : the values.
    where : entries that differ, True if the facts as wholes do.
    """

    path: str
    on_first: Fact
    on_second: Fact
    where: Bools


def agreement(*, epsilon: float, delta: float = 0.0) -> float:
    """Largest r such that some (ε, δ)-DP mechanism says *a* on D and *b* ≠ *a* on D′, with probability r each.

    It is (e^ε + δ) / (e^ε + 1), reached by randomised response.
    """
    return float(1 / (1 + math.exp(-epsilon)) + delta / (1 + math.exp(epsilon)) if epsilon < 700 else 1.0)


def runs_needed(
    *, claimed: float, delta: float = 0.0, confidence: float = SURE, candidates: int = 1
) -> float:
    """Fits on each data set, after those that chose the candidates, that refute a claim; ``inf`` if none do."""
    r = agreement(epsilon=claimed, delta=delta)
    return (
        math.inf if r >= 1 else math.ceil(math.log(candidates / (1 - confidence)) / (-2 * math.log(r)) + 1e-9)
    )


def constant_bound(runs: int, *, confidence: float, delta: float = 0.0, candidates: int = 1) -> float:
    """Lower confidence bound of ε if one of some candidates never changed in ``runs`` further fits on each data set.

    Parameters
    ----------
    runs : number of fits on D, and of fits on D′, that confirmed the values; the fits that chose them do not count.
    confidence : probability that the bound holds.
    delta : δ of the claim.
    candidates : number of facts that the first fits left.

    Returns
    -------
    The ε at which ``candidates`` · r^(2 ``runs``) = 1 − ``confidence``, for r of :func:`agreement`.

    Notes
    -----
    Let an (ε, δ)-DP output be *a* with probability p on D and *b* ≠ *a* with probability q on D′. Then
    q ≤ 1 − e^−ε (p − δ) and p ≤ 1 − e^−ε (q − δ), and so pq ≤ r². Given the fits that chose *a* and *b*, the others are
    independent: all of them agree with probability (pq)^k ≤ r^2k, and a union bound pays for the candidates.
    """
    if runs < 1:
        return 0.0
    r = ((1 - confidence) / candidates) ** (1 / (2 * runs))
    return max(math.log(max(r - delta, 1e-300) / (1 - r)), 0.0) if r < 1 else math.inf


def constant_on_each(
    run: Run,
    *,
    claimed: float,
    delta: float = 0.0,
    confidence: float = SURE,
    seed: int = 0,
    most_runs: int = MOST_RUNS,
) -> tuple[list[Constant], float, int]:
    """Find facts that are the same in all fits on D, and others in all fits on D′.

    Three fits on each data set choose the candidates. As many more as a claim needs confirm them; if no candidate is
    left, no more fits are made.

    Parameters
    ----------
    run : side (0 or 1) → facts of a fresh fit.
    claimed, delta, confidence : of the claim, and probability that a subject which keeps it passes.
    seed : of the order of the fits, which is random, for what changes with time is not a leak.
    most_runs : most fits on each data set.

    Returns
    -------
    The facts, the lower bound of ε that they show, and the number of fits.
    """
    rng = np.random.default_rng(seed)
    fits: list[list[dict[str, Fact]]] = [[], []]
    for side in rng.permutation(np.repeat([0, 1], BURN_IN)).tolist():
        fits[side].append(run(side))
    left = _differing(*fits)
    candidates = sum(int(fact.where.sum()) for fact in left)
    confirmed = 0
    if candidates:
        needed = runs_needed(claimed=claimed, delta=delta, confidence=confidence, candidates=candidates)
        while left and confirmed < min(needed, most_runs - BURN_IN):
            for side in rng.permutation(2).tolist():
                facts = run(side)
                left = [fact for before in left if (fact := _confirmed(before, facts, side)) is not None]
            confirmed += 1
    bound = constant_bound(confirmed, confidence=confidence, delta=delta, candidates=max(candidates, 1))
    return left, bound if left else 0.0, 2 * (BURN_IN + confirmed)


def _differing(first: list[dict[str, Fact]], second: list[dict[str, Fact]]) -> list[Constant]:
    """Facts that are the same in all fits of each list, and differ between the lists."""
    found = []
    for path in dict.fromkeys(path for facts in (*first, *second) for path in facts):
        sides = [[facts[path] for facts in fits if path in facts] for fits in (first, second)]
        a, b = (fits[0] if fits else NOTHING for fits in sides)
        if not sides[0] or not sides[1]:
            # There on one side only, whatever it is: in all fits of that side?
            if len(sides[0]) == len(first) or len(sides[1]) == len(second):
                found.append(Constant(path, a, b, np.asarray(True)))
        elif len(sides[0]) == len(first) and len(sides[1]) == len(second):
            constant = [_all_agree(fits) for fits in sides]
            if a.shape == b.shape and a.dtype == b.dtype:
                where = constant[0] & constant[1] & ~agree(a, b)
            else:
                where = np.asarray(bool(constant[0].all() and constant[1].all()))
            if where.any():
                found.append(Constant(path, a, b, where))
    return found


def _all_agree(facts: list[Fact]) -> Bools:
    """Entry by entry whether all facts are the same."""
    same = np.ones(facts[0].shape, np.bool_)
    for fact in facts[1:]:
        same = same & agree(facts[0], fact)
    return np.asarray(same)


def _confirmed(fact: Constant, facts: dict[str, Fact], side: int) -> Constant | None:
    """What a further fit leaves of a fact."""
    expected, other = (fact.on_first, fact.on_second)[:: 1 - 2 * side]
    there = facts.get(fact.path)
    if expected is NOTHING or other is NOTHING:
        return fact if (there is None) == (expected is NOTHING) else None
    if there is None:
        return None
    same = agree(expected, there)
    where = np.asarray(fact.where & (same if fact.where.ndim else same.all()))
    return replace(fact, where=where) if where.any() else None


# --- What a fact is --------------------------------------------------------------------------------------------------


def _known(data: Data) -> Iterator[tuple[str, Any]]:
    """What can be computed from a data set, in words; the same words in the same order for a neighbour."""
    X, y = data
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    labels = np.asarray(y)
    yield "the number of records", len(labels)
    yield "the records' labels", labels
    yield "the classes that occur", np.unique(labels.astype(str))
    yield "the number of classes that occur", len(np.unique(labels.astype(str)))
    yield "the records", table.to_numpy()
    yield "the records", table.to_numpy().T
    numeric = table.select_dtypes("number")
    for what in STATISTICS:
        yield f"the {what} of the columns", getattr(numeric, what)()
    for name, column in table.items():
        yield f"the values of {name!r}", column.to_numpy()
        if pd.api.types.is_numeric_dtype(column) and len(column):
            for what in STATISTICS:
                yield f"the {what} of {name!r}", getattr(column, what)()
            yield f"the deviation of {name!r}", column.std(ddof=0)
            yield f"the variance of {name!r}", column.var(ddof=0)


def _counts(data: Data) -> dict[str, int]:
    X, y = data
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    found = {f"the number of records of class {label!r}": n for label, n in _often(np.asarray(y).tolist())}
    for name, column in table.items():
        found |= {f"the number of records with {name} = {value!r}": n for value, n in _often(column.tolist())}
    return found


def _often(values: list[Any]) -> list[tuple[Any, int]]:
    return [(value, n) for value, n in Counter(map(repr, values)).items()]


def _is(fact: Fact, value: Any) -> bool:
    """Whether a fact is a value, whatever the types; arrays in any shape."""
    wanted = np.asarray(value)
    if fact.size != wanted.size or fact is NOTHING:
        return False
    flat, other = fact.reshape(-1), wanted.reshape(-1)
    if flat.dtype.kind in "biuf" and other.dtype.kind in "biuf":
        return bool(np.allclose(flat.astype(float), other.astype(float), rtol=1e-12, atol=0, equal_nan=True))
    return [str(v) for v in flat.tolist()] == [str(v) for v in other.tolist()]


def _length(fact: Fact, path: str) -> int:
    """Number of rows of an array, or of the array that a shape or a length belongs to; -1 if there is none."""
    if path.endswith(".shape") and fact.ndim:
        return int(fact[0]) if fact.size else -1
    if path.startswith("len("):
        return int(fact)
    return len(fact) if fact.ndim else -1


def describe(fact: Constant, first: Data, second: Data) -> str:
    """What a fact is, in words: the records, their number, a mean, or just a number without noise."""
    if fact.path == FAILS:
        return "an error"
    if fact.on_first is NOTHING or fact.on_second is NOTHING:
        return "what is there for one data set only"
    sizes, facts = [len(data[1]) for data in (first, second)], (fact.on_first, fact.on_second)
    rows = [_length(part, fact.path) for part in facts]
    for (words, a), (_, b) in zip(_known(first), _known(second), strict=False):
        if _is(facts[0], a) and _is(facts[1], b):
            return words
    if rows == sizes and sizes[0] != sizes[1]:
        return "an entry for each record"
    if fact.where.ndim == 0 and all(part.size == 1 for part in facts):
        counts = [_counts(data) for data in (first, second)]
        for words in dict.fromkeys((*counts[0], *counts[1])):
            if all(_is(part, count.get(words, 0)) for part, count in zip(facts, counts, strict=True)):
                return words
    return "texts" if facts[0].dtype.kind == "O" else "numbers without noise"


PLAIN = ("numbers without noise", "texts", "what is there for one data set only")


def _place(path: str) -> str:
    """The attribute that a fact belongs to: a total, a length, a shape or a column of it."""
    path = next((path.removeprefix(f"{what} of ") for what in TOTALS if path.startswith(f"{what} of ")), path)
    path = path.removeprefix("len(").removesuffix(")") if path.startswith("len(") else path
    return re.split(r"\.(?:shape|dtype|base|iloc|index|columns|to_numpy\(\))(?![\w])", path)[0]


def _shown(fact: Fact, where: Bools) -> str:
    """A fact, or the first entry that matters, in a few words."""
    if fact is NOTHING:
        return "not there"
    entry = fact[where].flat[0] if where.ndim and where.shape == fact.shape else fact
    if isinstance(entry, np.ndarray):
        entry = entry.reshape(-1)[:4].tolist() if entry.ndim else entry.item()
    text = f"{entry:.6g}" if isinstance(entry, float | np.floating) else repr(entry)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def told(facts: list[Constant], first: Data, second: Data) -> list[tuple[str, str, str]]:
    """Path, what is there, and its two values, for each attribute that is convicted."""
    places: dict[str, list[Constant]] = defaultdict(list)
    for fact in [fact for fact in facts if fact.path == FAILS] or facts:
        place = re.sub(r"\.__getstate__\(\)\['(\w+)'\]", r".\1", _place(fact.path))  # once, if in both
        places[group(place)].append(fact)
    found = []
    for members in places.values():
        words = [describe(fact, first, second) for fact in members]
        telling = min(range(len(words)), key=lambda i: (words[i] in PLAIN, "*" in members[i].path))
        fact = members[telling]
        paths = {_place(m.path) for m in members if "*" not in m.path and PICKLED not in m.path}
        values = f"{_shown(fact.on_first, fact.where)} on D, {_shown(fact.on_second, fact.where)} on D′"
        named = fact.path if fact.path.startswith(TOTALS) else _place(fact.path)
        if fact.where.ndim:
            named += str(np.argwhere(fact.where)[0].tolist())
        more = f" (and {len(paths) - 1} more such)" if len(paths) > 1 else ""
        found.append((named + more, words[telling], values))
    return found


# --- The scan --------------------------------------------------------------------------------------------------------


def scan(
    factory: Callable[[], Any],
    first: Data,
    second: Data,
    *,
    claimed: float,
    delta: float = 0.0,
    confidence: float = SURE,
    neighbours: str = "add-remove",
    pair: str = "",
    seed: int = 0,
    most_runs: int = MOST_RUNS,
    subject: str = "",
) -> list[HeldFinding]:
    """Look into fitted models for what they should not hold.

    Convicted is a fact, found by :func:`~dpnb.audit.held.held`, that has one value in every fit on D and another one in
    every fit on D′, each fit with a seed of its own: records, sizes, means, classes that were read off the data, counts
    without noise, an error. So is a generator, or a seed, from which the noise can be drawn again. What is the same on
    both data sets is public as far as this pair shows; what a record tells that both have, another pair shows.

    Parameters
    ----------
    factory : returns an unfitted estimator. A ``random_state`` of its own is left in place where the model is searched
        for generators and seeds, and replaced by fresh seeds elsewhere.
    first, second : (X, y) of the data sets D and D′.
    claimed, delta, neighbours, pair : the claim, and the two data sets in words.
    confidence : probability at least with which a subject that keeps its claim is not convicted for a number.
    seed : decides all runs of subjects that take a seed.
    most_runs : most fits on each data set; claims above ε = 4 need more than a thousand.
    subject : what is audited, by default the estimator's class.

    Returns
    -------
    One finding for each attribute, none for a model that holds nothing of that kind. ``lower_bound`` is what the fits
    prove, see :func:`constant_bound`; it is infinite for generators and seeds.

    Raises
    ------
    AttackError
        If every fit fails.
    ValueError
        For numbers out of range.
    """
    check_levels(confidence, delta)
    check_claim(claimed)
    make = partial(
        HeldFinding,
        instrument="scan",
        subject=subject or type(factory()).__name__,
        claimed=claimed,
        delta=delta,
        neighbours=neighbours,
        pair=pair or f"{len(first[1])} and {len(second[1])} records",
        chance=1 - confidence,
    )
    with kept_generators():
        seeds = np.random.default_rng(np.random.SeedSequence(seed))

        failed: list[Fact] = []

        def run(side: int) -> dict[str, Fact]:
            facts = facts_of(factory, (first, second)[side], int(seeds.integers(2**32)))
            failed.extend([facts[FAILS]] if FAILS in facts else [])
            return facts

        facts, bound, fits = constant_on_each(
            run, claimed=claimed, delta=delta, confidence=confidence, seed=seed, most_runs=most_runs
        )
        if len(failed) == fits and not facts:
            raise AttackError(f"all {fits} fits failed, the last one with {failed[-1][()]}")
        secrets = list(_secrets(factory, first, seed))
    each = fits // 2
    found = [
        make(
            path=path,
            holds=holds,
            event=f"{path} holds {holds}: {values}, in all {each} fits on each, whatever the seed: a release without "
            "noise, of infinite loss if it is always so",
            lower_bound=bound,
            confidence=confidence,
            trials=fits,
        )
        for path, holds, values in told(facts, first, second)
    ]
    return found + [
        make(path=path, holds=holds, event=event, given=given, lower_bound=math.inf, confidence=1.0)
        for path, holds, event, given in secrets
    ]


@contextmanager
def kept_generators() -> Iterator[None]:
    """Leave the global generators of Python and NumPy as they were."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002


def facts_of(factory: Callable[[], Any], data: Data, seed: int | None) -> dict[str, Fact]:
    """Facts of a fit, or of its error.

    Parameters
    ----------
    seed : of the model and of the global generators; None to leave them as they are.
    """
    if seed is not None:
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
    model = factory() if seed is None else seeded(factory(), seed)
    try:
        model.fit(*data)
    except Exception as error:  # that it fails on one data set only is a release
        return {FAILS: single(f"{type(error).__name__}: {error}")}
    return held(model).facts


def _secrets(factory: Callable[[], Any], first: Data, seed: int) -> Iterator[tuple[str, str, str, str]]:
    """Path, what is there, why it tells the noise, and on what condition."""
    again = "the noise can be drawn again and taken off"
    as_is = _fitted(factory(), first)
    if as_is is None:
        return
    follows = _noise_follows(factory, first, seed)
    for path, generator in as_is.generators.items():
        if not _kept_back(as_is, path) and follows is not False:
            kind = type(generator).__name__
            event = f"{path} is a {kind} that can be run back: {again}"
            yield path, "a random generator", event, "that the noise came from it"
    if follows:
        for path, fact in as_is.facts.items():
            if (
                _is_seed(path, SEEDS)
                and isinstance(fact[()], int | np.integer)
                and not _kept_back(as_is, path)
            ):
                yield path, "a seed", f"{path} = {fact.item()!r}, and the noise follows from it: {again}", ""
        model = seeded(factory(), seed)
        given = {model.get_params()[name] for name in _seeds(model)}
        for path, fact in getattr(_fitted(model, first), "facts", {}).items():
            if fact.ndim == 0 and fact[()] in given and not _is_seed(path):
                yield path, "a seed", f"{path} holds the seed, and the noise follows from it: {again}", ""


def _fitted(model: Any, data: Data) -> Held | None:
    """What a model holds, None if the fit fails."""
    try:
        return held(model.fit(*data))
    except Exception:  # which the search for constant facts judges
        return None


def _noise_follows(factory: Callable[[], Any], data: Data, seed: int) -> bool | None:
    """Whether what a model holds follows from its seed, and changes with it; None if there is no telling."""
    if not _seeds(factory()):
        return None
    same, again, other = (_fitted(seeded(factory(), s), data) for s in (seed, seed, seed + 1))
    if same is None or again is None or other is None:
        return None
    if not _equal(same, again):
        # The noise has another source, unless the generators have it too.
        return None if _states(same) != _states(again) else False
    return not _equal(same, other)


def _seeds(model: Any) -> list[str]:
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    return [name for name in parameters if name.rpartition("__")[2] == SEEDS[0]]


def _equal(a: Held, b: Held) -> bool:
    """Whether two models hold the same, their seeds aside."""
    one, two = (
        {
            path: fact
            for path, fact in side.facts.items()
            if not _is_seed(path) and not path.startswith("repr(")
        }
        for side in (a, b)
    )
    return one.keys() == two.keys() and all(agree(one[path], two[path]).all() for path in one)


def _states(found: Held) -> dict[str, bytes]:
    return {path: pickle.dumps(generator) for path, generator in found.generators.items()}


def _is_seed(path: str, names: tuple[str, ...] = SEEDS[:1]) -> bool:
    return bool(re.search(rf"(?:\.|\[')(?:{'|'.join(names)})(?:'\])?$", path))


def _kept_back(found: Held, path: str) -> bool:
    """Whether a parameter of the user's is in the model at hand, and not in its pickle."""
    owner, _, name = path.rpartition(".")
    pickled = f"{owner}{PICKLED}"
    if not any(other.startswith(pickled) for other in found.facts):
        return False
    twin = f"{pickled}[{name!r}]"
    fact = found.facts.get(twin)
    return twin not in found.generators and (fact is None or fact[()] is None)


def scan_by_replay(
    estimator: Any, first: Data, second: Data, *, seed: int = 0, subject: str = "", pair: str = ""
) -> list[HeldFinding]:
    """Scan an estimator of this package with its releases held fixed: what still differs is not on the ledger.

    The outcomes of all releases and public draws of a fit on D are forced on a fit on D′. Whatever the models hold then
    follows from these, and is the same, or it was released past the curator.

    Parameters
    ----------
    estimator : any estimator of this package, with a domain; it is cloned.
    first, second : (X, y) of neighbours.
    seed : of the fit.
    subject, pair : names for the report.

    Returns
    -------
    One finding for each attribute that differs, of infinite loss, with certainty.
    """

    def publish(part: Data) -> dict[str, Fact]:
        return held(clone(estimator).set_params(random_state=seed).fit(*part)).facts

    here, published = follow(publish, first, None)
    _, other = follow(publish, second, iter(here.outcomes))
    if not isinstance(other, dict):
        other = {FAILS: single(f"{type(other).__name__}: {other}")}
    assert isinstance(published, dict)
    found = told(_differing([published], [other]), first, second)
    return [
        HeldFinding(
            instrument="scan",
            subject=subject or type(estimator).__name__,
            claimed=float(estimator.epsilon),
            lower_bound=math.inf,
            confidence=1.0,
            neighbours=estimator.neighbours,
            pair=pair or f"{len(first[1])} and {len(second[1])} records",
            event=f"{path} holds {holds}: {values}, though all releases came out the same; it is not on the ledger",
            delta=estimator.delta or 0.0,
            trials=2,
            path=path,
            holds=holds,
        )
        for path, holds, values in found
    ]
