"""Everything that is reachable from a fitted object, as numbers and texts by their paths, and random generators."""

from __future__ import annotations

import contextlib
import copyreg
import functools
import inspect
import json
import pickle
import random
import re
import tempfile
import types
import warnings
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dpnb.arrays import Bools
from dpnb.estimators.base import PrivateEstimator

Fact = NDArray[Any]
Steps = Iterator[tuple[str, Any]]  # what is added to a path, and what is there

NUMBERS = (bool, int, float, complex, np.number, np.bool_)
SCALARS = (*NUMBERS, type(None), str, bytes, bytearray, np.generic)
GENERATORS = (
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
    np.random.SeedSequence,
    random.Random,
)
NOT_WALKED = (type, types.ModuleType, types.BuiltinFunctionType, property, random.SystemRandom)
LIBRARIES = {
    "builtins", "abc", "typing", "enum", "types", "functools", "weakref", "collections",
    "sklearn", "numpy", "scipy", "pandas",
}  # fmt: skip
WALKED = (
    np.ndarray, pd.DataFrame, pd.Series, pd.Index, pd.api.extensions.ExtensionArray, Mapping, Set, list, tuple, deque,
    types.FunctionType, types.MethodType, functools.partial, weakref.ref, memoryview,
)  # fmt: skip
"""Types that have entries or parts, and attributes only if a class of the user's is derived from them."""
REDUCERS = ("__reduce_ex__", "__reduce__", "__getstate__")
MOST_OBJECTS = 500_000
EXPORTS = ("to_json", "export", "document")  # methods that write a model
PICKLED = ".__reduce__().state"
TOTALS = ("number of entries", "sum", "smallest", "largest", "sorted values")


@dataclass
class Contents:
    """The contents of an object."""

    # Path → numbers or texts; an array without dimensions for a single one.
    facts: dict[str, Fact] = field(default_factory=dict)
    # Path → random generator, under each path that leads to it.
    generators: dict[str, Any] = field(default_factory=dict)


def contents(model: Any, *, surface: bool = False, only: Collection[str] = ()) -> Contents:
    """Walk everything that a fitted model holds or hands out.

    That is what attributes, slots, containers, arrays and tables hold, also behind closures, defaults, bound methods,
    partials, pickled bytes, views of arrays and attributes of its class; what a pickle has of classes that say it
    themselves, joblib's too, and its length; its ``repr``; and what it is exported as by a method ``to_json``,
    ``export`` or ``document``, or ``release`` of this package, that takes nothing or a file to write. Entries of a path
    with positions, such as ``model.trees_[*].value``, are added up as well, for their total may tell what none of them
    tells.

    Parameters
    ----------
    model : any object; the paths begin with ``model``.
    surface : whether to leave out what takes long: what the model is exported as, its ``repr``, the length of its
        pickle, and what is in pickled bytes.
    only : names of facts, with a star for every position; what does not lead to one of them is not walked. All if none.

    Raises
    ------
    ValueError
        If more than half a million objects are reachable.
    """
    found, wanted = Contents(), {reached(name) for name in only}
    waiting: deque[tuple[str, Any]] = deque([("model", model)])
    waiting.extend(() if surface else _handed_out(model))
    seen: dict[int, Any] = {}  # also keeps what is looked into alive: an id is unique among the living only
    while waiting:
        path, value = waiting.popleft()
        if isinstance(value, GENERATORS) and not isinstance(value, random.SystemRandom):
            found.generators[path] = value
        elif not surface and isinstance(value, bytes) and (inside := _unpickled(value)) is not None:
            waiting.append((f"pickle.loads({path})", inside))
        elif isinstance(value, SCALARS):
            found.facts[path] = single(value)
        elif id(value) not in seen and not isinstance(value, NOT_WALKED):
            seen[id(value)] = value
            if len(seen) > MOST_OBJECTS:
                raise ValueError(
                    f"more than {MOST_OBJECTS} objects are reachable from model, the last one at {path}: expected a "
                    "fitted model; fit a smaller one"
                )
            waiting.extend(
                (path + step, inside)
                for step, inside in _steps(found.facts, path, value)
                if not wanted or _leads(path + step, wanted)
            )
    found.facts |= _totals(found.facts)
    return found


def agree(a: Fact, b: Fact) -> Bools:
    """Entry by entry whether two facts are the same; a single no if they differ in shape or type."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return np.asarray(False)
    with np.errstate(invalid="ignore"):
        same = np.asarray(a == b, np.bool_)
        if a.dtype.kind in "fcO":
            same = same | (np.asarray(a != a, np.bool_) & np.asarray(b != b, np.bool_))
    return same if same.shape == a.shape else np.asarray(bool(same.all()))


def group(path: str) -> str:
    """The path with a star for every position."""
    return re.sub(r"\[\d+(?:, \d+)*\]", "[*]", path)


def reached(name: str) -> str:
    """The path that leads to a fact, of which it may be a total, a length or the last bits."""
    path = name.rpartition(" of ")[2]
    return path.removeprefix("len(")


def _leads(path: str, wanted: Collection[str]) -> bool:
    begun = group(path)
    return any(one.startswith(begun) for one in wanted)


def _handed_out(model: Any) -> Steps:
    """What leaves the process: the text of the model, the length of its pickle, and its document."""
    with contextlib.suppress(Exception):  # it has no text
        yield "repr(model)", repr(model)
    with contextlib.suppress(Exception):  # it has no pickle
        yield "len(pickle.dumps(model))", len(pickle.dumps(model))
    if callable(fitted := getattr(model, "__sklearn_is_fitted__", None)):
        yield "model.__sklearn_is_fitted__()", fitted()
    for name in (*EXPORTS, *["release"] * isinstance(model, PrivateEstimator)):
        if not isinstance(model, type) and callable(export := getattr(model, name, None)):
            yield from ((f"model.{name}()", written) for written in _exported(export))


def _exported(export: Callable[..., Any]) -> Iterator[Any]:
    """What a method returns, or writes into a file; nothing if it takes more than that file, or fails."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a model of ε = ∞ says so, with the name of the file
        file = Path(folder) / "model.json"
        try:
            asked = [
                name
                for name, parameter in inspect.signature(export).parameters.items()
                if parameter.default is parameter.empty
                and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            ]
            returned = export(*[file][: len(asked)])
            written = file.read_bytes() if file.is_file() else returned
        except Exception:  # it cannot be exported in this way
            return
    with contextlib.suppress(TypeError, ValueError):  # not JSON
        written = json.loads(written)
    yield written


def single(value: Any) -> Fact:
    """A fact of one entry; texts as objects, for arrays of texts drop zeros at their end."""
    if isinstance(value, NUMBERS):
        return np.asarray(value)
    fact = np.empty((), object)
    fact[()] = bytes(value) if isinstance(value, bytearray) else value
    return fact


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python, which a path shows as one would type it."""
    return value.item() if isinstance(value, np.generic) else value


def _unpickled(value: bytes) -> Any:
    if value[:1] == b"\x80" and value[-1:] == b".":
        with contextlib.suppress(Exception):  # else these are other bytes
            return pickle.loads(value)
    return None


def _steps(facts: dict[str, Fact], path: str, value: Any) -> Steps:
    """What an object leads to; arrays and plain lists are facts themselves."""
    walked = isinstance(value, WALKED)
    if walked:
        yield from _parts(facts, path, value)
    if not walked or not _of_library(type(value)):
        yield from _of_object(value, walked=walked)


def _parts(facts: dict[str, Fact], path: str, value: Any) -> Steps:
    if isinstance(value, np.ndarray):
        yield from _of_array(facts, path, value)
    elif isinstance(value, pd.DataFrame):
        yield from ((f".iloc[:, {j}]", value.iloc[:, j]) for j in range(value.shape[1]))
        yield from ((".index", value.index), (".columns", value.columns), (".attrs", value.attrs))
    elif isinstance(value, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        yield ".to_numpy()", np.asarray(value)
        yield from (
            (f".{name}", part)
            for name in ("index", "name")
            if (part := getattr(value, name, None)) is not None
        )
    elif isinstance(value, Mapping):
        facts[f"len({path})"] = np.asarray(len(value))
        yield from ((f"[{_plain(key)!r}]", part) for key, part in value.items())
    elif isinstance(value, Set):
        yield "", sorted(repr(_plain(entry)) for entry in value)
    elif isinstance(value, list | tuple | deque):
        yield from _of_sequence(facts, path, value)
    elif isinstance(value, memoryview):
        yield ".obj", value.obj
    else:
        yield from _of_function(value)


def _of_array(facts: dict[str, Fact], path: str, array: Fact) -> Steps:
    if array.dtype.names:
        yield from ((f"[{name!r}]", np.asarray(array[name])) for name in array.dtype.names)
    elif array.dtype.kind != "O" or all(isinstance(entry, SCALARS) for entry in array.flat):
        facts[path] = np.array(array, subok=False)  # a copy: a later fit may write to the same place
        facts[f"{path}.shape"], facts[f"{path}.dtype"] = np.array(array.shape, int), single(str(array.dtype))
    else:
        yield from ((f"[{i}]", entry) for i, entry in enumerate(array.flat))
    if isinstance(array.base, np.ndarray | bytes | memoryview):
        yield ".base", array.base


def _of_sequence(facts: dict[str, Fact], path: str, values: Any) -> Steps:
    facts[f"len({path})"] = np.asarray(len(values))
    if names := getattr(values, "_fields", ()):
        yield from ((f".{name}", part) for name, part in zip(names, values, strict=True))
    elif len(values) and len(kinds := set(map(type, values))) == 1 and kinds <= {bool, int, float, str}:
        facts[path] = np.array(values, dtype=object if kinds & {int, str} else None)
    else:
        yield from ((f"[{i}]", part) for i, part in enumerate(values))


def _of_function(value: Any) -> Steps:
    if isinstance(value, weakref.ref):
        yield "()", value()
    elif isinstance(value, functools.partial):
        yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))
    elif isinstance(value, types.MethodType):
        yield from ((".__self__", value.__self__), (".__func__", value.__func__))
    else:
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                yield f".{name} (closure)", cell.cell_contents
            except ValueError:  # nothing in it yet
                continue
        yield from ((f".{name}", getattr(value, name)) for name in ("__defaults__", "__kwdefaults__"))
        yield ".__dict__", vars(value)


def _of_library(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in LIBRARIES


def _of_object(value: Any, *, walked: bool) -> Steps:
    """Attributes, and what a pickle has if it has something else, or is all there is to see."""
    kind, known = type(value), walked
    for name, part in getattr(value, "__dict__", {}).items():
        known = True
        yield f".{name}", part
    own = kind in copyreg.dispatch_table
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                known = True
                yield f".{name}", getattr(value, name)
        if not _of_library(base):
            own = own or any(name in base.__dict__ for name in REDUCERS)
            for name, part in vars(base).items():
                code = callable(part) or hasattr(type(part), "__get__")
                if not (code or name.startswith("__")):
                    yield f".{base.__name__}.{name}", part
    if own or not known:
        yield from _reduced(value)


def _reduced(value: Any) -> Steps:
    """What an object is made of, as a pickle has it."""
    registered = copyreg.dispatch_table.get(type(value))
    try:
        parts = registered(value) if registered else value.__reduce_ex__(4)
    except Exception:  # what cannot be pickled hands out nothing that way
        return
    if isinstance(parts, tuple):
        for name, part in zip(("callable", "arguments", "state", "items", "entries"), parts, strict=False):
            if part is not None and part is not copyreg.__newobj__:  # type: ignore[attr-defined]
                yield f".__reduce__().{name}", list(part) if name in ("items", "entries") else part


def _totals(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Totals of the numbers at each path with stars."""
    groups: dict[str, list[Fact]] = defaultdict(list)
    for path, fact in facts.items():
        numbers = _as_numbers(fact)
        if numbers is not None and not (path.endswith(".shape") or path.startswith("len(")):
            groups[group(path)].append(numbers)
    found: dict[str, Fact] = {}
    for path, parts in groups.items():
        ordered = np.sort(np.concatenate(parts))
        if len(ordered) > 1:
            digest = blake2b(ordered.tobytes()).hexdigest()
            sums = len(ordered), float(ordered.sum()), ordered[0], ordered[-1], digest
            found |= {f"{what} of {path}": single(value) for what, value in zip(TOTALS, sums, strict=True)}
    return found


def _as_numbers(fact: Fact) -> NDArray[np.float64] | None:
    kind = fact.dtype.kind
    whole = kind == "O" and fact.ndim and all(type(entry) is int for entry in fact.flat)
    return fact.reshape(-1).astype(float) if whole or kind in "biuf" else None
