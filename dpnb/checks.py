"""Rules for the values of parameters, one for each kind; a message names the value and what is expected."""

from __future__ import annotations

import os
import types
import typing
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields
from functools import lru_cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from .errors import closest

TINIEST = 1e-100  # ε and δ: their squares, and shares of those, are above 0 in floating point


def check_epsilon(epsilon: object) -> float:
    """Return ε as a float; raise ValueError unless it is a positive number (``inf`` switches privacy off)."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.number) or not epsilon > 0:
        raise ValueError(f"epsilon={epsilon!r}: expected a positive number, or inf for no privacy")
    if epsilon < TINIEST:
        raise ValueError(
            f"epsilon={epsilon!r}: expected at least {TINIEST:g}, or shares of it vanish; 0.1 is small"
        )
    return float(epsilon)


def check_delta(delta: object) -> None:
    """Raise ValueError unless δ is None or a number in (0, 1) that protects."""
    if delta is not None and not (isinstance(delta, float | np.floating) and TINIEST <= delta < 1):
        raise ValueError(
            f"delta={delta!r}: expected a number in (0, 1), of 1e-100 at least, such as 1e-6, or None for pure DP"
        )
    if delta is not None and delta > 0.01:  # a hundredth of the records may be published, on average
        raise ValueError(
            f"delta={delta!r}: to publish each record with probability δ would be allowed; take far less than one in "
            "the number of records, such as 1e-6"
        )


def check_step(name: str, value: object) -> None:
    """Raise ValueError unless a step is a positive number that sums of steps survive."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    most = 1e6  # far beyond any use; sums of thousands of such steps keep their digits
    if not (number and 0 < value <= most):  # type: ignore[operator]
        raise ValueError(
            f"{name}={value!r}: expected a positive number, at most {most:g}; 0.1 to 1 are usual"
        )


def check_share(name: str, value: object) -> None:
    """Raise ValueError unless a share is a number between 0 and 1, and more than a trace."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 1e-9 <= value < 1:
        raise ValueError(f"{name}={value!r}: expected a share in (0, 1), of 1e-9 at least, such as 0.3")


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise ValueError unless ``value`` is one of ``choices``."""
    if not (isinstance(value, str) and value in choices) and not any(value is choice for choice in choices):
        close = closest(value, map(str, choices)) if isinstance(value, str) else None
        hint = f"; did you mean {close!r}?" if close else ""
        raise ValueError(f"{name}={value!r}: expected one of {', '.join(map(repr, choices))}{hint}")


def check_count(name: str, value: object, *, low: int, words: Sequence[str] = ()) -> None:
    """Raise ValueError unless ``value`` is a whole number of at least ``low``, or one of ``words``."""
    if isinstance(value, str) and value in words:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        rest = "".join(f", or {word!r}" for word in words)
        raise ValueError(f"{name}={value!r}: expected a whole number of at least {low}{rest}")


def check_seed(random_state: object) -> None:
    """Raise ValueError unless a source of randomness is None, a seed or a Generator."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return
    if isinstance(random_state, int) and not isinstance(random_state, bool) and random_state >= 0:
        return  # as every fit of an attack has it, without a generator made for nothing
    with suppress(TypeError, ValueError):
        if not isinstance(random_state, bool):
            np.random.default_rng(random_state)  # type: ignore[arg-type]
            return
    raise ValueError(
        f"random_state={random_state!r}: expected None, whose noise comes from the operating system, a whole number "
        "of at least 0, or a NumPy Generator"
    )


def check_no_weights(others: Mapping[str, object]) -> None:
    """Raise TypeError for any further argument of ``fit``, except weights that are None."""
    for name, value in others.items():
        if name != "sample_weight":
            raise TypeError(
                f"fit() got an unexpected keyword argument {name!r}: expected X and y alone; leave it out"
            )
        if value is not None:
            raise TypeError(
                "fit() got sample_weight: expected records that weigh the same, since a weight multiplies what one of "
                "them may change, and the budget is for a weight of 1; leave it out"
            )


def check_path(name: str, value: object, *, such: str) -> Path:
    """Return a path; raise TypeError unless ``value`` is one, ``such`` as the example."""
    if isinstance(value, str | os.PathLike) and str(value):
        return Path(value)
    what = "empty" if value == "" else f"of type {type(value).__name__}"
    raise TypeError(f"{name} is {what}: expected a path, such as {such!r}")


def check_kinds(model: Any, *, but: Sequence[str] = ()) -> None:
    """Raise ValueError unless switches, numbers and objects among a dataclass's fields are such.

    Parameters
    ----------
    model : the object; the types are those that its class declares.
    but : names of the fields that have a rule of their own.
    """
    words: dict[Any, str] = {bool: "True or False", float: "a number", type(None): "None"}
    for field, kinds in _declared(typing.cast(Hashable, type(model))):
        value = getattr(model, field.name)
        if field.name in but or any(_is(value, kind) for kind in kinds):
            continue
        default = "" if field.default is MISSING else f"; the default is {field.default!r}"
        expected = " or ".join(words.get(kind) or f"a {kind.__name__}" for kind in kinds)
        raise ValueError(f"{field.name}={value!r}: expected {expected}{default}")


@lru_cache
def _declared(kind: Hashable) -> list[tuple[Field[Any], tuple[Any, ...]]]:
    """Fields of a dataclass that are not open to any value, and the types that each allows."""
    of = typing.cast(type, kind)
    hints = typing.get_type_hints(of)
    declared = [(field, _kinds(hints[field.name])) for field in fields(of)]
    return [(field, kinds) for field, kinds in declared if kinds != (object,)]


def _kinds(hint: Any) -> tuple[Any, ...]:
    """Types that a declared type allows; of whole numbers, texts and choices other checks tell more."""
    union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
    kinds = typing.get_args(hint) if union else (hint,)
    loose = any(kind in (int, str, Any, object) or not isinstance(kind, type) for kind in kinds)
    return (object,) if loose else kinds


def _is(value: object, kind: type) -> bool:
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is float:
        return isinstance(value, Real | Integral) and not isinstance(value, bool | np.bool_)
    return isinstance(value, kind)
