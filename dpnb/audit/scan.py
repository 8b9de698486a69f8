"""What a fitted model holds beside its releases: records, sizes, numbers without noise, generators and seeds."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from .attack import AttackError, Data, kept_generators, seed_globals, seeded
from .bounds import check_claim, check_levels
from .constant import MOST_RUNS, SURE, constant_on_each, differing
from .described import FAILS, in_memory, told
from .held import PICKLED, Fact, Held, agree, held, single
from .releases import follow
from .result import Finding

SEEDS = ("random_state", "seed")


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
    most_runs : most fits on each data set; claims above ε = 5 need more than a thousand.
    subject : what is audited, by default the estimator's class.

    Returns
    -------
    One finding for each attribute, none for a model that holds nothing of that kind. ``lower_bound`` is what the fits
    prove, see :func:`~dpnb.audit.constant.constant_bound`; it is infinite for generators and seeds.

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


def facts_of(factory: Callable[[], Any], data: Data, seed: int | None) -> dict[str, Fact]:
    """Facts of a fit, or of its error.

    Parameters
    ----------
    seed : of the model and of the global generators; None to leave them as they are.
    """
    if seed is not None:
        seed_globals(seed)
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
        facts = getattr(_fitted(model, first), "facts", {})
        copies = [p for p, fact in facts.items() if fact.ndim == 0 and fact[()] in given and not _is_seed(p)]
        for path in dict.fromkeys(in_memory(path) for path in copies):
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
    found = told(differing([published], [other]), first, second)
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
