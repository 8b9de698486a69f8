"""A released model as a JSON document: what was released, what it cost, and nothing else.

The page *Releasing a model* describes the format. Arrays, trees and the like are written by one rule: a named tuple or
a dataclass of this package is an object with its fields. Reading makes nothing but those.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from .accounting import KINDS, Choice, Step
from .arrays import MOST_CELLS
from .domain import Domain
from .errors import DataError
from .files import unreadable, write_whole
from .ledger import Cost, Event, Ledger, PlannedScope, Scope

FORMAT, VERSION = "dpnb model", 1
# Of what a model is made.
_HOMES = ("papers", "booster", "grid", "ledger", "shapes", "splits", "trees")
MOST_ENTRIES = 2**20  # of a ledger: a document that asks for more is not one of ours
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def write_document(path: Path, document: Mapping[str, Any]) -> None:
    """Write a model's document, whole or not at all."""
    head = {"format": FORMAT, "version": VERSION}
    write_whole(path, json.dumps(head | dict(document), ensure_ascii=False, allow_nan=False) + "\n")


def read_document(path: Path) -> dict[str, Any]:
    """Read a model's document.

    Raises
    ------
    DataError
        If the file cannot be read, is no such document, or one of a later version.
    """
    written = "expected a whole document, as model.release(path) writes it"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(unreadable(path, error)) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not a JSON document: it is no text; {written}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not a JSON document: {error}; {written}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f"{path} is not a model: expected format {FORMAT!r}; model.release(path) writes one")
    if (found := document.get("version")) != VERSION:
        later = isinstance(found, int) and found > VERSION
        way_out = "install the dpnb that wrote it, or a later one" if later else written
        raise DataError(f"{path} has version {found!r}: this package reads version {VERSION}; {way_out}")
    for part in ("estimator", "domain", "parameters", "model", "ledger", "versions"):
        if not isinstance(document.get(part), str if part == "estimator" else dict):
            raise DataError(f"{path} is damaged: it lacks {part!r}; {written}")
    return document


def plain(value: Any) -> Any:
    """A value as JSON has it.

    Raises
    ------
    TypeError
        If it is neither a plain value, an array, nor an object of this package made of such.
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
    if names := _field_names(value):
        kind = type(value)
        written = {name: plain(getattr(value, name)) for name in names}
        return {"object": f"{kind.__module__}:{kind.__qualname__}"} | written
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    raise TypeError(f"{value!r} cannot be written: it is no part of a released model")


def unplain(value: Any, domain: Domain | None) -> Any:
    """The value that :func:`plain` wrote; lists stay lists."""
    if isinstance(value, list):
        return [unplain(part, domain) for part in value]
    if isinstance(value, str) and value in _NUMBERS:
        return _NUMBERS[value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        dtype, data = np.dtype(value["array"]), [_NUMBERS.get(number, number) for number in value["data"]]
        if dtype.kind not in "biuf":
            raise DataError(f"damaged: an array of {dtype}")
        return np.array(data, dtype=dtype).reshape(value["shape"])
    if "the" in value:
        return domain
    kind = find_class(value["object"], is_data=True)
    parts = {name: unplain(part, domain) for name, part in value.items() if name != "object"}
    return kind(**{name: tuple(part) if isinstance(part, list) else part for name, part in parts.items()})


def find_class(name: str, *, is_data: bool = False) -> Any:
    """A class of this package by ``module:name``.

    Raises
    ------
    DataError
        If the name leads out of the package, nowhere, or to something that documents do not hold.
    """
    module, _, path = str(name).partition(":")
    package, home, *_ = (*module.split("."), "")
    try:
        if package != __name__.partition(".")[0] or home not in _HOMES or "_" in (module[0], path[:1]):
            raise ImportError
        found = getattr(importlib.import_module(module), path)
    except (ImportError, AttributeError) as error:
        raise DataError(
            f"{name!r} is no class of this package; was the model written by a later one? Update dpnb"
        ) from error
    if not isinstance(found, type) or (is_data and not (is_dataclass(found) or hasattr(found, "_fields"))):
        raise DataError(f"{name!r} is not what a model's document holds")
    return found


def _field_names(value: Any) -> tuple[str, ...]:
    if not type(value).__module__.startswith(__name__.split(".")[0]):
        return ()
    if is_dataclass(value):
        return tuple(field.name for field in fields(value))
    return tuple(getattr(value, "_fields", ()))


def ledger_document(ledger: Ledger) -> dict[str, Any]:
    """A ledger with its totals; entries that look alike and follow each other are written once, with their number."""
    return {
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
        bounds |= {"lattice_sd": plain(child.lattice_sd), "moved": plain(float(child.moved))}
    return entry | {"mechanism": child.mechanism, **bounds, "nodes": nodes}


def _step_entry(step: Step) -> dict[str, Any]:
    noise = {} if math.isinf(step.sd) else {"sd": plain(step.sd), "entries": plain(float(step.entries))}
    return {"kind": step.kind, "size": plain(step.size), "times": step.times, **noise}


def _step(entry: Mapping[str, Any]) -> Step:
    """A step of a declared plan."""
    numbers = [float(entry.get(name, math.inf)) for name in ("size", "sd", "entries")]
    times = entry["times"]
    if not (
        entry["kind"] in KINDS
        and isinstance(times, int)
        and 1 <= times <= MOST_ENTRIES
        and numbers[0] >= 0
        and numbers[1] > 0
        and numbers[2] >= 0
    ):
        raise DataError(f"damaged: a plan of the ledger says {dict(entry)}")
    return Step(entry["kind"], numbers[0], times, numbers[1], numbers[2])


def read_ledger(document: Mapping[str, Any]) -> Ledger:
    """The ledger that :func:`ledger_document` wrote: same totals, same text."""
    if "selection" in document:
        raise DataError(
            "its settings were chosen by private tuning, whose totals only the dpnb that wrote it reads"
        )
    claimed = float(document["claimed"])
    ledger = Ledger(neighbours=document["neighbours"], delta=document["delta"], claimed=claimed)
    if _size(document["entries"]) > MOST_ENTRIES:
        raise DataError(f"damaged: its ledger has more than {MOST_ENTRIES} entries")
    ledger.root.children = list(_children(document["entries"]))
    known = "rule" in document  # an earlier document says what sums of ε and ρ give
    total = ledger.at(ledger.delta) if known else ledger.by_sums(ledger.delta)
    if (
        not np.isclose(total.epsilon, float(document["epsilon"]), rtol=1e-9)
        or document.get("rule", total.rule) != total.rule
        or ledger.leaks != document["leaks"]
    ):
        raise DataError("damaged: its ledger does not add up")
    return ledger


def _size(entries: Sequence[Mapping[str, Any]]) -> int:
    """Number of entries, each as often as it is there: known before any of them is made."""
    return sum(max(entry["times"], 0) * (1 + _size(entry.get("entries", ()))) for entry in entries)


def _children(entries: Sequence[Mapping[str, Any]]) -> Iterator[Scope | Event]:
    """Entries of a ledger, each as often as it is there."""
    for entry in entries:
        cost, times, nodes = (
            Cost(float(entry["epsilon"]), float(entry["rho"])),
            entry["times"],
            entry.get("nodes"),
        )
        if not (cost.epsilon >= 0 and cost.rho >= 0 and times >= 1 and 0 <= (nodes or 0) <= MOST_CELLS):
            raise DataError(f"damaged: an entry of the ledger says {dict(entry, entries=None)}")
        words = [entry[name] for name in ("what", "rule" if "entries" in entry else "mechanism")]
        if not all(isinstance(word, str) for word in words):
            raise DataError(f"damaged: an entry of the ledger is called {words}")
        for _ in range(times):
            if "entries" in entry:
                below = list(_children(entry["entries"]))
                parts = (entry["what"], entry["rule"], partial(_fixed, cost), below)
                plans = tuple(tuple(map(_step, plan)) for plan in entry.get("plans", ()))
                yield _planned(PlannedScope(*parts, plans=plans), entry) if plans else Scope(*parts)
            else:
                yield Event(
                    what=entry["what"],
                    mechanism=entry["mechanism"],
                    epsilon=np.array(cost.epsilon),
                    rho=np.array(cost.rho),
                    sensitivity=float(entry["sensitivity"]),
                    change_range=float(entry["change_range"]),
                    parts=None if nodes is None else np.arange(nodes),
                    lattice_sd=float(entry.get("lattice_sd", math.nan)),
                    moved=float(entry.get("moved", math.inf)),
                )


def _planned(scope: PlannedScope, entry: Mapping[str, Any]) -> PlannedScope:
    """A scope that follows one of its plans; earlier documents do not say which, nor when it was chosen."""
    size = len(scope.children)
    if "followed" not in entry:
        tried = ((number, before) for number in range(len(scope.plans)) for before in range(size + 1))
        ways = (replace(scope, followed=way) for way in tried)
        return next((way for way in ways if isinstance(next(way.steps()), Choice)), scope)
    if entry["followed"] is not None:
        number, before = map(int, entry["followed"])
        if not (0 <= number < len(scope.plans) and 0 <= before <= size):
            raise DataError(f"damaged: a scope of the ledger follows {entry['followed']}")
        scope.followed = (number, before)
    return scope


def _fixed(cost: Cost, costs: Sequence[Cost]) -> Cost:
    """What a scope costs whose rule is known by name only."""
    return cost
