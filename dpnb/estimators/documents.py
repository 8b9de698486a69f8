"""A released model as a JSON document: what was released, what it cost, and nothing else.

The page *Releasing a model* describes the format. Arrays, trees and the like are written by one rule: a named tuple or
a dataclass that :data:`PARTS` names is an object with its fields. Reading makes nothing but those, and counts what a
document asks for before any of it is made.
"""

from __future__ import annotations

import importlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import groupby, repeat
from pathlib import Path
from typing import Any

import numpy as np

from ..domain import Domain
from ..errors import DataError
from ..files import unreadable
from ..privacy.accounting import MOST_STEPS, STEP_KINDS, Choice, Step
from ..privacy.ledger import Cost, Event, Ledger, PlannedScope, Scope

VERSION = 4  # of the format; a higher one says that earlier packages cannot read it
PEOPLE = 4  # the version of models that protect people; those that protect records stay as they were
MARKERS = 3  # the first version whose domains have markers of missing values; documents without any stay as they were
WRITTEN = "expected a whole document, as model.release(path) writes it"

# What stands in documents by its name, and the module that defines it today: a class may move, its name stays.
PARTS = {
    "Additive": ".records.grid",
    "Axis": ".records.shapes",
    "Block": ".records.shapes",
    "Cost": ".privacy.ledger",
    "Reading": ".papers.dpada",
    "Shapes": ".records.shapes",
    "Splits": ".records.splits",
    "Stump": ".records.grid",
    "Tree": ".trees.tree",
}
EARLIER: dict[str, dict[str, Any]] = {"Reading": {"update": "noised"}}
"""What objects of earlier documents meant where they lack a field."""
ESTIMATORS = {
    "AdaBoost": ".papers.baselines",
    "CARTDPsAdaBoost": ".papers.baselines",
    "DPAda": ".papers.dpada",
    "DPAdaBoost": ".papers.baselines",
    "DiffPRFs": ".papers.diffprfs",
    "EDPRF": ".papers.edprf",
    "LogisticRegression": ".papers.baselines_logistic",
    "PearsonTree": ".papers.pearson",
    "PrivateBooster": ".boosting.booster",
    "PrivateBoosterRegressor": ".boosting.regressor",
    "RandomSplitForest": ".papers.baselines_forest",
    "RandomTrees": ".papers.baselines_forest",
}
"""Estimators of the package; :func:`dpnb.estimators.base.register` adds others."""

_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # as documents write what JSON has not


@dataclass(frozen=True)
class Limits:
    """Most of what a document may ask for; a model that asks for more is not released.

    Within these, reading keeps to the seconds and megabytes of tests/test_hostile_documents.py.
    """

    bytes: int = 2**24
    braces: int = 2**17  # lists and objects: an empty one takes thirty times the memory of its text
    entries: int = 2**17  # of a ledger, each as often as it is there
    nodes: int = 2**24  # that they name
    steps: int = MOST_STEPS  # of plans, in all that the accountant works out
    depth: int = 32  # of scopes in scopes
    classes: int = 2**10
    letters: int = 2**12  # of a class: an array of texts has room for the longest in each place


MOST = Limits()


def text_of(document: Mapping[str, Any]) -> str:
    """A model's document as it stands in a file."""
    needed = MARKERS - 1
    if "csv" in document["domain"]:
        needed = MARKERS
    if "unit" in document["ledger"]:
        needed = PEOPLE
    head = {"format": "dpnb model", "version": needed}
    return json.dumps(head | dict(document), ensure_ascii=False, allow_nan=False) + "\n"


def read_document(path: Path) -> dict[str, Any]:
    """Read a model's document.

    Raises
    ------
    DataError
        If the file cannot be read, is no such document, one of a later version, or asks for too much.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST.bytes + 1)
    except OSError as error:
        raise DataError(unreadable(path, error)) from error
    try:
        return parsed(content)
    except DataError as error:
        raise DataError(f"{path} {error}") from error


def parsed(content: bytes) -> dict[str, Any]:
    """The document that a file's content is; errors say what the file is instead."""
    document = _loaded(content)
    if document.get("format") != "dpnb model":
        raise DataError("is not a model: expected format 'dpnb model'; model.release(path) writes one")
    found = document.get("version")
    if type(found) is not int or not 1 <= found <= VERSION:
        later = type(found) is int and found > VERSION
        way_out = (
            f"install {later_writer(document) or 'the dpnb that wrote it'}, or a later one"
            if later
            else WRITTEN
        )
        raise DataError(f"has version {found!r}: this package reads versions up to {VERSION}; {way_out}")
    for part in ("estimator", "domain", "parameters", "model", "ledger", "versions"):
        if not isinstance(document.get(part), str if part == "estimator" else dict):
            raise DataError(f"is damaged: it lacks {part!r}; {WRITTEN}")
    return document


def _loaded(content: bytes) -> dict[str, Any]:
    """The JSON object that a file's content is."""
    if len(content) > MOST.bytes:
        raise DataError(f"is no model: it has more than {MOST.bytes} bytes; {WRITTEN}")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"is not a JSON document: it is no text in UTF-8; {WRITTEN}") from error
    if not text.lstrip().startswith("{"):
        what = f"it begins with {text[:20]!r}" if text.strip() else "it is empty"
        raise DataError(f"is not a model's JSON document: {what}; {WRITTEN}")
    if text.count("[") + text.count("{") > MOST.braces:
        raise DataError(f"is no model: it has more than {MOST.braces} lists and objects; {WRITTEN}")
    try:
        document: dict[str, Any] = json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_finite,
            # Asking for each number takes a while: only where one may be too large for a float.
            parse_float=_finite if re.search(r"[eE]\+?\d{3}|(?<!\d)\d{300}", text) else None,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise DataError(f"is not a JSON document, or cut short: {error.msg}, {where}; {WRITTEN}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not a JSON document: {error}; {WRITTEN}") from error
    _check_letters(document, text)
    return document


def later_writer(document: Mapping[str, Any]) -> str | None:
    """The version of the package that wrote a document, if it is later than this one."""
    versions = document.get("versions")
    words = [str(versions.get("dpnb")) if isinstance(versions, dict) else "", version("dpnb")]
    found, own = (re.match(r"(\d{1,6})\.(\d{1,6})\.?(\d{1,6})?", word) for word in words)
    if found is None or own is None or _numbers(found) <= _numbers(own):
        return None
    return f"dpnb {found[0]}"


def _numbers(found: re.Match[str]) -> list[int]:
    return [int(number or 0) for number in found.groups()]


def _check_letters(document: object, text: str) -> None:
    """Raise DataError for half a surrogate pair, which no file in UTF-8 can hold."""
    try:
        if "\\u" in text:
            json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"is not a JSON document: it holds half a letter, {error.object[error.start]!r}"
        ) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of two entries of one name Python would take the last one, other readers the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(n for n in names if names.count(n) > 1)!r} comes twice")
    return found


def _finite(word: str) -> float:
    """A number, which JSON has no infinite ones of; Python would take ``NaN``, and 1e999 for ``inf``."""
    if not math.isfinite(number := float(word)):
        raise ValueError(f"{word[:20]} is no number of JSON")
    return number


def plain(value: Any) -> Any:
    """A value as JSON has it.

    Raises
    ------
    TypeError
        If it is neither a plain value, an array, nor one of :data:`PARTS` made of such.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, np.ndarray):
        data = [plain(number) for number in value.reshape(-1).tolist()]
        return {"array": value.dtype.name, "shape": list(value.shape), "data": data}
    if isinstance(value, Domain):
        return {"the": "domain"}
    kind = type(value)
    if kind.__name__ in PARTS and find_class(kind.__name__, PARTS) is kind:
        names = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
        return {"object": kind.__name__} | {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    raise TypeError(
        f"{value!r} cannot be written: expected plain values, arrays, and {', '.join(PARTS)}; pickle the model"
    )


def unplain(value: Any, domain: Domain | None) -> Any:
    """The value that :func:`plain` wrote; lists stay lists."""
    if isinstance(value, list):
        return [unplain(part, domain) for part in value]
    if isinstance(value, str) and value in _NUMBERS:
        return _NUMBERS[value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return _array(value)
    if "the" in value:
        return domain
    kind = find_class(value["object"], PARTS)
    parts = EARLIER.get(kind.__name__, {}) | {
        name: unplain(part, domain) for name, part in value.items() if name != "object"
    }
    return kind(**{name: tuple(part) if isinstance(part, list) else part for name, part in parts.items()})


def domain_of(document: Mapping[str, Any]) -> Domain:
    """The domain of a document, whose classes an array of texts can hold.

    Raises
    ------
    DataError, DomainError
        If there are too many classes, or one is too long; if it is no domain.
    """
    domain = Domain.from_document(document)
    longest = max((len(str(c)) for c in domain.classes), default=0)
    if domain.n_classes > MOST.classes or longest > MOST.letters:
        raise DataError(f"more than {MOST.classes} classes, or one of more than {MOST.letters} characters")
    return domain


def _array(written: Mapping[str, Any]) -> Any:
    """An array; nothing in it is taken for what it is not, as NumPy takes texts for numbers, and 1.5 for 1."""
    dtype, data = np.dtype(written["array"]), [_NUMBERS.get(n, n) for n in written["data"]]
    kinds: dict[str, set[type]] = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}
    if not set(map(type, data)) <= kinds.get(dtype.kind, set()):
        raise DataError(f"an array of {dtype} that holds something else")
    array = np.array(data, dtype=dtype)
    if [array.size] != written["shape"]:
        array = array.reshape(written["shape"])
    if list(array.shape) != written["shape"]:
        raise DataError(f"an array of shape {written['shape']}")
    return array


def find_class(name: object, among: Mapping[str, str]) -> Any:
    """The class of a name in documents; those of version 1 have ``module:`` before it.

    Parameters
    ----------
    among : :data:`PARTS` or :data:`ESTIMATORS`.

    Raises
    ------
    DataError
        If it is none of these.
    """
    module, _, short = str(name).rpartition(":")
    home = among.get(short) if module.partition(".")[0] in ("", "dpnb") else None
    if home is None:
        raise DataError(
            f"{name!r} is no class that documents hold: update dpnb if a later one wrote it, or import what registers "
            "an estimator of your own"
        )
    return getattr(importlib.import_module(home, "dpnb"), short)


def ledger_document(ledger: Ledger) -> dict[str, Any]:
    """A ledger with its totals; entries that look alike and follow each other are written once, with their number."""
    unit = {} if ledger.unit == "record" else {"unit": ledger.unit}
    return unit | {
        "neighbours": ledger.neighbours,
        "delta": ledger.delta,
        "claimed": plain(ledger.claimed),
        "epsilon": plain(ledger.epsilon),
        "rule": ledger.rule,
        "leaks": ledger.leaks,
        "entries": list(_entries(ledger.root.children)),
    }


def _entries(children: Sequence[Scope | Event]) -> Iterator[dict[str, Any]]:
    for entry, same in groupby(map(_entry, children)):
        yield entry | {"times": len(list(same))}


def _entry(child: Scope | Event) -> dict[str, Any]:
    cost = child.worst if isinstance(child, Event) else child.cost
    entry = {"what": child.what, "epsilon": plain(cost.epsilon), "rho": plain(cost.rho)}
    if isinstance(child, PlannedScope):
        entry["plans"] = [[_step_entry(step) for step in plan] for plan in child.plans]
        entry["followed"] = child.followed and list(child.followed)
    if isinstance(child, Scope):
        return entry | {"rule": child.rule, "entries": list(_entries(child.children))}
    nodes = None if child.parts is None else child.n_parts
    bounds = {"sensitivity": plain(child.sensitivity), "change_range": plain(child.change_range)}
    if child.lattice_sd > 0:
        bounds |= {"lattice_sd": plain(child.lattice_sd), "moved": plain(float(child.changed))}
    return entry | {"mechanism": child.mechanism, **bounds, "nodes": nodes}


def _step_entry(step: Step) -> dict[str, Any]:
    noise = {} if math.isinf(step.sd) else {"sd": plain(step.sd), "entries": plain(float(step.entries))}
    return {"kind": step.kind, "size": plain(step.size), "times": step.times, **noise}


def _step(entry: Mapping[str, Any]) -> Step:
    """A step of a declared plan."""
    numbers = [float(entry.get(name, math.inf)) for name in ("size", "sd", "entries")]
    if not (entry["kind"] in STEP_KINDS and numbers[0] >= 0 and numbers[1] > 0 and numbers[2] >= 0):
        raise DataError(f"a plan of the ledger says {dict(entry)}")
    return Step(entry["kind"], numbers[0], _times(entry), numbers[1], numbers[2])


def read_ledger(document: Mapping[str, Any]) -> Ledger:
    """The ledger that :func:`ledger_document` wrote: same totals, same text."""
    if "selection" in document:
        raise DataError(
            "its settings were chosen by private tuning, whose totals only the dpnb that wrote it reads"
        )
    claimed = float(document["claimed"])
    ledger = Ledger(
        neighbours=document["neighbours"],
        delta=document["delta"],
        claimed=claimed,
        unit=document.get("unit", "record"),
    )
    _check_size(document["entries"])
    ledger.root.children = list(_children(document["entries"]))
    known = "rule" in document  # an earlier document says what sums of ε and ρ give
    total = ledger.at(ledger.delta) if known else ledger.by_sums(ledger.delta)
    if (
        not np.isclose(total.epsilon, float(document["epsilon"]), rtol=1e-9)
        or document.get("rule", total.rule) != total.rule
        or ledger.leaks != document["leaks"]
    ):
        raise DataError("its ledger does not add up")
    return ledger


def _check_size(entries: Sequence[Mapping[str, Any]]) -> None:
    """Raise DataError, before any entry is made, for a ledger that takes too much memory or time."""
    limits = {"entries": MOST.entries, "nodes": MOST.nodes, "steps of plans": MOST.steps}
    for (what, most), number in zip(limits.items(), _size(entries), strict=True):
        if number > most:
            raise DataError(f"its ledger has {number} {what}, more than {most}")


def _size(entries: Sequence[Mapping[str, Any]], depth: int = 0) -> tuple[int, int, int]:
    """Entries, nodes, and steps of plans for the tight rule to work out, each as often as it is there."""
    if depth > MOST.depth:
        raise DataError(f"its ledger has more than {MOST.depth} scopes in each other")
    total = (0, 0, 0)
    for entry in entries:
        times, nodes = _times(entry), entry.get("nodes") or 0
        if type(nodes) is not int or nodes < 0:
            raise DataError(f"an entry of the ledger has nodes {nodes!r}")
        below, named, steps = _size(entry.get("entries", ()), depth + 1)
        own = (1 + below, nodes + named, steps + _work(entry.get("plans", ()), below))
        total = (total[0] + times * own[0], total[1] + times * own[1], total[2] + times * own[2])
    return total


def _work(plans: Sequence[Sequence[Mapping[str, Any]]], below: int) -> int:
    """What plans take the accountant, in steps: alike beginnings are worked out once, releases compared with each."""
    run = 16  # steps that take as long as to begin with other ones
    least = run * sum(map(len, plans))
    if least > MOST.steps:
        return least
    heads = {repr(plan[: i + 1]): max(_times(plan[i]), run) for plan in plans for i in range(len(plan))}
    return sum(heads.values()) + len(plans) * below // (4 * run)


def _times(entry: Mapping[str, Any]) -> int:
    times = entry["times"]
    if type(times) is not int or times < 1:
        raise DataError(f"an entry of the ledger is there {times!r} times")
    return times


def _children(entries: Sequence[Mapping[str, Any]]) -> Iterator[Scope | Event]:
    """Entries of a ledger, each as often as it is there; those that look alike are one object."""
    for entry in entries:
        cost = Cost(float(entry["epsilon"]), float(entry["rho"]))
        if not (cost.epsilon >= 0 and cost.rho >= 0):
            raise DataError(f"an entry of the ledger says {dict(entry, entries=None)}")
        words = [entry[name] for name in ("what", "rule" if "entries" in entry else "mechanism")]
        if not all(isinstance(word, str) for word in words):
            raise DataError(f"an entry of the ledger is called {words}")
        yield from repeat(_child(entry, cost), entry["times"])


def _child(entry: Mapping[str, Any], cost: Cost) -> Scope | Event:
    if "entries" in entry:
        below = list(_children(entry["entries"]))
        parts = (entry["what"], entry["rule"], partial(_fixed, cost), below)
        plans = tuple(tuple(map(_step, plan)) for plan in entry.get("plans", ()))
        return _planned(PlannedScope(*parts, plans=plans), entry) if plans else Scope(*parts)
    return Event(
        what=entry["what"],
        mechanism=entry["mechanism"],
        epsilon=np.array(cost.epsilon),
        rho=np.array(cost.rho),
        sensitivity=float(entry["sensitivity"]),
        change_range=float(entry["change_range"]),
        parts=None if entry.get("nodes") is None else np.arange(entry["nodes"]),
        lattice_sd=float(entry.get("lattice_sd", math.nan)),
        changed=float(entry.get("moved", math.inf)),
    )


def _planned(scope: PlannedScope, entry: Mapping[str, Any]) -> PlannedScope:
    """A scope that follows one of its plans; earlier documents do not say which, and any that covers it will do."""
    if "followed" not in entry:
        ways = (replace(scope, followed=(number, 0)) for number in range(len(scope.plans)))
        return next((way for way in ways if isinstance(next(way.steps()), Choice)), scope)
    if entry["followed"] is not None:
        number, before = map(int, entry["followed"])
        if not (0 <= number < len(scope.plans) and 0 <= before <= len(scope.children)):
            raise DataError(f"a scope of the ledger follows {entry['followed']}")
        scope.followed = (number, before)
    return scope


def _fixed(cost: Cost, costs: Sequence[Cost]) -> Cost:
    """What a scope costs whose rule is known by name only."""
    return cost
