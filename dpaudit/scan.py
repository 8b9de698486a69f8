"""Things that a fitted model holds beside its releases: records, sizes, numbers without noise, generators and seeds."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np

from dpnb.replay.finding import Finding
from dpnb.replay.neighbours import fitted_on, sizes_of

from .channels import listening
from .contents import PICKLED, Contents, Fact, agree, contents, single
from .fits import CHANNELS, AttackError, Data, kept_generators, seed_globals, seeded
from .meanings import FAILS, explained, in_memory
from .repeats import MOST_RUNS, constant_on_each
from .settings import SURE, AuditSettings, Keywords

SEEDS = ("random_state", "seed")
WITH_SEEDS = ("repr(model)", "len(pickle.dumps(model))")  # facts that tell the seed as well


@dataclass(frozen=True, kw_only=True)
class ScanFinding(Finding):
    """A thing that a model holds although its claim does not allow it."""

    path: str = ""  # path to the thing, such as `model.trees_[3].counts`
    holds: str = ""  # the thing in words, such as "the number of records"
    loss: float = math.inf  # privacy loss if the thing is the same in all fits
    # Largest probability with which the scan convicts a subject that keeps its claim of anything.
    chance: float = 0.0


def scan(
    factory: Callable[[], Any],
    first: Data,
    second: Data,
    *,
    most_runs: int = MOST_RUNS,
    **settings: Unpack[Keywords],
) -> list[ScanFinding]:
    """Look into fitted models for what they should not hold.

    The scan convicts a fact, found by :func:`~dpaudit.contents.contents`, that has one value in every fit on D and
    another one in every fit on D′, each fit with a seed of its own. Such facts are records, sizes, means, classes that
    were read off the data, counts without noise, or an error. The scan also convicts a generator, or a seed, from which
    the noise can be drawn again. A fact that is the same on both data sets is public as far as this pair shows; whether
    it follows from a record that both have, another pair shows.

    Parameters
    ----------
    factory : returns an unfitted estimator. A ``random_state`` of its own is left in place where the model is searched
        for generators and seeds, and replaced by fresh seeds elsewhere.
    first, second : the data sets D and D′, (X, y) or (X, y, people).
    most_runs : largest number of fits on each data set; claims above ε = 5 need more than a thousand.
    settings : settings of :class:`~dpaudit.settings.AuditSettings`. With probability ``confidence`` at least, by
        default 1 − 10⁻⁶, a subject that keeps its claim is not convicted for a number.

    Returns
    -------
    One finding for each attribute, none for a model that holds nothing of that kind. ``lower_bound`` is what the fits
    prove, see :func:`~dpaudit.repeats.constant_bound`; it is infinite for generators and seeds.

    Raises
    ------
    AttackError
        If every fit fails.
    ValueError
        For numbers out of range.
    """
    settings.setdefault("confidence", SURE)
    asked = AuditSettings(**settings).about(subject=type(factory()).__name__, pair=sizes_of(first, second))
    make = partial(asked.finding, ScanFinding, instrument="scan", chance=1 - asked.confidence)
    with kept_generators():
        seeds = np.random.default_rng(np.random.SeedSequence(asked.seed))
        failed: list[Fact] = []

        def run(side: int) -> dict[str, Fact]:
            facts = facts_of(factory, (first, second)[side], int(seeds.integers(2**32)))
            failed.extend([facts[FAILS]] if FAILS in facts else [])
            return facts

        facts, bound, fits = constant_on_each(run, asked, most_runs=most_runs)
        if len(failed) == fits and not facts:
            raise AttackError(f"all {fits} fits failed, the last one with {failed[-1][()]}")
        words = explained(facts, first, second, lambda data: facts_of(factory, data, asked.seed))
        secrets = list(_secrets(factory, first, asked.seed))
    each = fits // 2
    found = [
        make(
            path=path,
            holds=holds,
            event=f"{path} holds {holds}: {values}, in each of {each} fits, whatever the seed; with noise it "
            "would vary",
            lower_bound=bound,
            trials=fits,
        )
        for path, holds, values in words
    ]
    return found + [
        make(path=path, holds=holds, event=event, given=given, lower_bound=math.inf, confidence=1.0)
        for path, holds, event, given in secrets
    ]


def facts_of(factory: Callable[[], Any], data: Data, seed: int | None) -> dict[str, Fact]:
    """Facts of a fit, or of its error, and what it tells beside.

    Parameters
    ----------
    seed : of the model and of the global generators; None to leave them as they are.
    """
    if seed is not None:
        seed_globals(seed)
    model = factory() if seed is None else seeded(factory(), seed)
    facts: dict[str, Fact] = {}
    with listening() as heard:
        try:
            fitted_on(model, data)
        except Exception as error:  # that it fails on one data set only is a release
            facts = {FAILS: single(f"{type(error).__name__}: {error}")}
    channels = zip(CHANNELS[1:], (heard.warned, heard.output, heard.errors, heard.log), strict=True)
    facts |= {f"{FAILS}, {channel}": single(text) for channel, text in channels if text}
    return facts if FAILS in facts else facts | contents(model).facts


def _secrets(factory: Callable[[], Any], first: Data, seed: int) -> Iterator[tuple[str, str, str, str]]:
    """Path, what is there, why it tells the noise, and on what condition."""
    again = "the noise can be drawn again and taken off"
    as_is = _fitted(factory(), first)
    if as_is is None:
        return
    follows = _noise_follows(factory, first, seed)
    for path, generator in _given_away(as_is, as_is.generators) if follows is not False else ():
        kind = type(generator).__name__
        event = f"{path} is a {kind} that can be run back: {again}"
        yield path, "a random generator", event, "that the noise came from it"
    if follows:
        kept = {
            path: fact
            for path, fact in as_is.facts.items()
            if _is_seed(path, SEEDS) and isinstance(fact[()], int | np.integer)
        }
        for path, fact in _given_away(as_is, kept):
            yield path, "a seed", f"{path} = {fact.item()!r}, and the noise follows from it: {again}", ""
        model = seeded(factory(), seed)
        given = {model.get_params()[name] for name in _seeds(model)}
        facts = getattr(_fitted(model, first), "facts", {})
        copies = [p for p, fact in facts.items() if fact.ndim == 0 and fact[()] in given and not _is_seed(p)]
        for path in dict.fromkeys(in_memory(path) for path in copies):
            yield path, "a seed", f"{path} holds the seed, and the noise follows from it: {again}", ""


def _fitted(model: Any, data: Data) -> Contents | None:
    """What a model holds, None if the fit fails."""
    try:
        with listening():
            fitted_on(model, data)
        return contents(model)
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


def _equal(a: Contents, b: Contents) -> bool:
    """Whether two models hold the same, their seeds aside."""
    one, two = (
        {path: fact for path, fact in side.facts.items() if not _is_seed(path) and path not in WITH_SEEDS}
        for side in (a, b)
    )
    return one.keys() == two.keys() and all(agree(one[path], two[path]).all() for path in one)


def _states(found: Contents) -> dict[str, bytes]:
    return {path: pickle.dumps(generator) for path, generator in found.generators.items()}


def _is_seed(path: str, names: tuple[str, ...] = SEEDS[:1]) -> bool:
    return bool(re.search(rf"(?:\.|\[')(?:{'|'.join(names)})(?:'\])?$", path))


def _given_away(found: Contents, secrets: dict[str, Any]) -> list[tuple[str, Any]]:
    """Secrets that leave with the model; those that are in memory and in the pickle once."""
    return [
        (path, secret)
        for path, secret in secrets.items()
        if (in_memory(path) == path or in_memory(path) not in secrets) and not _kept_back(found, path)
    ]


def _kept_back(found: Contents, path: str) -> bool:
    """Whether a parameter of the user's is in the model at hand, and not in its pickle."""
    owner, _, name = path.rpartition(".")
    pickled = f"{owner}{PICKLED}"
    if not any(other.startswith(pickled) for other in found.facts):
        return False
    twin = f"{pickled}[{name!r}]"
    fact = found.facts.get(twin)
    return twin not in found.generators and (fact is None or fact[()] is None)
