"""Mechanisms of other people's libraries: what a call of one was given, and the law of its output.

The registry at the end says which methods of which classes are primitives, and turns a call of one into a
:class:`Call`. Laws are those of the mechanisms' definitions. Where there is none in closed form (``Bingham``,
``Snapping``, ``Vector``, a choice among intervals that the data cut), the law is None, and what the call was given is
all that can be compared.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpnb.replay.finding import exceeds

from .outputs import NoisyNumber, OutputLaw, Selected, SideBySide


@dataclass(frozen=True, kw_only=True, eq=False)
class Call:
    """What a primitive was asked for."""

    kind: str  # name of the mechanism
    place: str  # module, line and function that asked
    parameters: Mapping[str, Any]  # what a proof takes to be public: ε, sensitivity, bounds, sizes
    value: Any  # what came of the data
    law: OutputLaw | None  # of the output; None where it is not known in closed form
    sensitivity: float = math.inf  # declared; infinite where the library has none
    epsilon: float = math.inf  # that the call states for itself; infinite where it states none
    delta: float = 0.0
    # Whether its output meets the data later on, as a function does, or an index of intervals between records.
    meets_data: bool = False
    primitive: Any = None  # the object that was called, if it can tell what distances cost

    def asked_as(self, other: Call) -> bool:
        """Whether the same line asks for the same mechanism."""
        return (self.kind, self.place) == (other.kind, other.place)

    def differing(self, other: Call) -> list[tuple[str, Any, Any]]:
        """Parameters that are not the same, with both values."""
        names = dict.fromkeys((*self.parameters, *other.parameters))
        pairs = [(name, self.parameters.get(name), other.parameters.get(name)) for name in names]
        return [pair for pair in pairs if not _same(*pair[1:])]

    def same(self, other: Call) -> bool:
        """Whether another call was given the same."""
        return self.asked_as(other) and _same(self.value, other.value) and not self.differing(other)

    def laws(self, other: Call) -> tuple[OutputLaw, OutputLaw] | None:
        """Both laws, if they can be compared."""
        a, b = self.law, other.law
        return None if a is None or b is None or type(a) is not type(b) else (a, b)

    def ratio(self, other: Call, output: Any) -> float:
        """Log ratio of the likelihoods of an output; 0 where it is not known."""
        laws = self.laws(other)
        return 0.0 if laws is None or laws[0] == laws[1] else laws[0].ratio(laws[1], output)

    def telling(self, other: Call, output: Any, sign: int) -> Any:
        """The output that speaks most for this call (sign 1) or for the other one; the given one if none does."""
        laws = self.laws(other)
        if laws is None or laws[0] == laws[1]:
            return output
        found = laws[0].extreme(laws[1], sign)
        return type(output)(found) if isinstance(output, int | float | np.number) else found

    def moved(self, other: Call) -> float:
        """How far two inputs are apart, in the unit of the sensitivity; NaN where there is no such distance."""
        try:
            a, b = (np.asarray(call.value, float) for call in (self, other))
        except (TypeError, ValueError):
            return math.nan
        if a.shape != b.shape or not a.size:
            return math.nan
        return float(np.linalg.norm(a - b, 2) if a.ndim == 2 else np.abs(a - b).max())

    def cost(self, other: Call) -> float:
        """Loss of the output at worst, at the call's δ; NaN where it is not known."""
        laws = self.laws(other)
        if laws is None:
            return 0.0 if self.same(other) else math.nan
        if laws[0] == laws[1] or not self.delta:
            return 0.0 if laws[0] == laws[1] else laws[0].loss(laws[1])
        if math.isfinite(self.sensitivity) and not exceeds(self.moved(other), self.sensitivity):
            return 0.0  # as far as the library's proof for this δ goes
        a, b = laws
        return (
            a.loss_beyond(b, self.delta)
            if isinstance(a, NoisyNumber) and isinstance(b, NoisyNumber)
            else math.nan
        )

    def under(self, epsilon: float, delta: float) -> Call:
        """The same call, held against a claim if it states none of its own."""
        return self if math.isfinite(self.epsilon) else replace(self, epsilon=epsilon, delta=delta)

    def excess(self, other: Call) -> float:
        """How much the output costs beyond the call's ε, or else how far the input moves beyond its sensitivity."""
        cost, moved = self.cost(other), self.moved(other)
        most = (cost, self.epsilon) if not math.isnan(cost) else (moved, self.sensitivity)
        return most[0] - most[1] if exceeds(*most) else 0.0


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray | list | tuple) and isinstance(b, np.ndarray | list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    try:
        return bool(a is b or a == b or (a != a and b != b))
    except ValueError:  # tables have no single truth
        return repr(a) == repr(b)


# --- diffprivlib ------------------------------------------------------------------------------------------------

NOISES = {  # name → noise and form
    "Laplace": ("laplace", "plain"),
    "LaplaceTruncated": ("laplace", "truncated"),
    "LaplaceFolded": ("laplace", "folded"),
    "LaplaceBoundedDomain": ("laplace", "bounded"),
    "LaplaceBoundedNoise": ("laplace", "clipped"),
    "Gaussian": ("normal", "plain"),
    "GaussianAnalytic": ("normal", "plain"),
    "GaussianDiscrete": ("discrete normal", "plain"),
    "Geometric": ("geometric", "plain"),
    "GeometricTruncated": ("geometric", "truncated"),
    "GeometricFolded": ("geometric", "folded"),
    "Staircase": ("staircase", "plain"),
    "Uniform": ("uniform", "clipped"),
}
SELECTIONS = ("Exponential", "PermuteAndFlip")
INPUTS = (
    "random_state",
    "utility",
    "measure",
    "candidates",
)  # attributes of mechanisms that are no parameters


def of_diffprivlib(mechanism: Any, value: Any, place: str) -> Call:
    """A call of ``randomise``; the value of a selection are its scores.

    With a ``measure`` the candidates are intervals between records, and an index says nothing without them: their
    number, their sizes and the loss are left out.
    """
    kind, has = type(mechanism).__name__, vars(mechanism)
    parameters = {n: v for n, v in has.items() if not n.startswith("_") and n not in INPUTS}
    if kind in SELECTIONS:
        value = [*map(float, has["utility"])]
        if has.get("measure") is None:
            parameters["candidates"] = tuple(has.get("candidates") or range(len(value)))
    law: OutputLaw | None = None
    with contextlib.suppress(
        AttributeError, TypeError, ValueError, ArithmeticError
    ):  # a class of the user's may differ
        law = _diffprivlib_law(mechanism, kind, value, parameters)
    return Call(
        kind=kind,
        place=place,
        parameters=parameters,
        value=kept(value),
        law=law,
        meets_data=callable(value) or has.get("measure") is not None,
        **{n: float(has[n]) for n in ("sensitivity", "epsilon", "delta") if n in has},
    )


def _diffprivlib_law(
    mechanism: Any, kind: str, value: Any, parameters: Mapping[str, Any]
) -> OutputLaw | None:
    if kind in NOISES:
        return _noisy(mechanism, value, *NOISES[kind])
    if kind in SELECTIONS and "candidates" in parameters:
        sensitivity = mechanism.sensitivity * (2 - mechanism.monotonic)
        rate = mechanism.epsilon / sensitivity if sensitivity else math.inf
        return Selected(parameters["candidates"], tuple(value), rate, flips=kind == "PermuteAndFlip")
    if kind == "Binary":
        labels = (mechanism.value0, mechanism.value1)
        return Selected(labels, tuple(float(value == label) for label in labels), mechanism.epsilon)
    if kind in ("ExponentialCategorical", "ExponentialHierarchical"):
        labels = tuple(mechanism._domain_values)
        with np.errstate(divide="ignore"):
            scores = np.log([mechanism._get_prob(value, label) for label in labels])
        return Selected(labels, tuple(scores.tolist()), 1.0)
    return None


def _noisy(mechanism: Any, value: Any, noise: str, form: str) -> NoisyNumber | None:
    high, shape = math.inf, (0.0, 0.0)
    if value != value:  # the library gives NaN back
        return None
    if noise == "uniform":
        scale = high = mechanism.sensitivity / mechanism.delta / 2
    elif noise == "staircase":
        scale, shape = mechanism.sensitivity, (mechanism.epsilon, mechanism.gamma)
    elif noise.endswith("normal"):
        scale = mechanism._scale
    elif form == "bounded":
        scale = mechanism._find_scale()
    elif form == "clipped":
        scale = mechanism.sensitivity / mechanism.epsilon
        high = scale * math.log1p(math.expm1(mechanism.epsilon) / 2 / mechanism.delta)
    else:
        scale = mechanism.sensitivity / (mechanism.epsilon - math.log1p(-mechanism.delta))
    low, high = getattr(mechanism, "lower", -math.inf), getattr(mechanism, "upper", high)
    return NoisyNumber(float(value), float(scale), noise, form, float(low), float(high), shape)


def _mechanisms() -> Iterator[tuple[type, str]]:
    kinds = [sys.modules["diffprivlib.mechanisms"].DPMechanism]
    for kind in kinds:
        kinds += [below for below in kind.__subclasses__() if below not in kinds]
    yield from ((kind, "randomise") for kind in kinds[1:] if "randomise" in vars(kind))


def _shared_generator(mechanism: Any) -> Any:
    return getattr(mechanism, "_rng", None)


# --- OpenDP -----------------------------------------------------------------------------------------------------

SAME_OUTPUT = (
    "make_fix_delta", "make_zCDP_to_approxDP", "make_pureDP_to_zCDP", "make_approximate",
    "make_fixed_approxDP_to_approxDP",
)  # fmt: skip
COMPOSITIONS = ("make_composition", "make_basic_composition")
INTERACTIVE = (
    "adaptive_composition",
    "sequential_composition",
    "privacy_filter",
)  # these release nothing yet
RANDOM = ("make_impute_uniform_float", "make_ordered_random")  # transformations that draw themselves
ADDED = {  # for numbers with a fraction, and for whole ones
    "make_laplace": ("laplace", "geometric"),
    "make_geometric": ("geometric", "geometric"),
    "make_gaussian": ("normal", "discrete normal"),
}
NORMS = {"AbsoluteDistance": 1, "L1Distance": 1, "L2Distance": 2, "LInfDistance": np.inf}


def of_opendp(primitive: Any, value: Any, place: str) -> Call | None:
    """A call of a measurement, or of a queryable with one; what it is made of are its parameters.

    A queryable has the data that its composition was given. Transformations are public functions, so the noise is
    added to what they make of the argument. A composition that only makes a queryable releases nothing.
    """
    if hasattr(primitive, "query_type"):
        primitive, value = value, getattr(primitive, "behind", None)
    name, _, _ = peeled(primitive, None)
    if not hasattr(primitive, "invoke") or any(part in name for part in INTERACTIVE):
        return None
    parameters: dict[str, Any] = {}
    for words, argument in _constructed(primitive):
        known = sum(one.partition(" (")[0] == words for one in parameters)
        parameters[words + f" ({known + 1})" * bool(known)] = argument
    random = any(word in words for words in parameters for word in RANDOM)
    law = None
    with contextlib.suppress(
        Exception
    ):  # the call itself fails on an argument that the library does not take
        law = None if random else _opendp_law(primitive, value)
    return Call(
        kind=name, place=place, parameters=parameters, value=kept(value), law=law, primitive=primitive
    )


def _constructed(built: Any) -> Iterator[tuple[str, str]]:
    """The plain arguments of the constructors of an object of OpenDP, in words; functions are left out."""
    how = getattr(built, "__opendp_dict__", None) or {"__function__": "unknown", "__kwargs__": {}}
    for name, argument in how["__kwargs__"].items():
        inner = [*argument] if isinstance(argument, list | tuple) else [argument]
        if any(hasattr(one, "invoke") for one in inner):
            for one in inner:
                yield from _constructed(one)
        elif not callable(argument):
            yield f"{name} of {how['__function__']}", str(argument)


def peeled(measurement: Any, value: Any) -> tuple[str, Mapping[str, Any], Any]:
    """What adds the noise, by name and arguments, and what the transformations before it give it (None for None)."""
    how = getattr(measurement, "__opendp_dict__", None) or {"__function__": "unknown", "__kwargs__": {}}
    name, given = how["__function__"], how["__kwargs__"]
    if name == "make_chain_mt":
        return peeled(given["measurement1"], None if value is None else given["transformation0"](value))
    return peeled(given["measurement"], value) if name in SAME_OUTPUT else (name, given, value)


def _opendp_law(measurement: Any, value: Any) -> OutputLaw | None:
    name, given, inner = peeled(measurement, value)
    if name in COMPOSITIONS:
        laws = [_opendp_law(part, inner) for part in given["measurements"]]
        return SideBySide(tuple(law for law in laws if law is not None)) if None not in laws else None
    if name == "make_randomized_response_bool":
        given = {"categories": [False, True], **given}
    if name.startswith("make_randomized_response") and "categories" in given:
        labels, right = tuple(given["categories"]), given["prob"]
        wrong = (1 - right) / (len(labels) - 1) if inner in labels else 1.0
        with np.errstate(divide="ignore"):
            scores = np.log([right if label == inner else wrong for label in labels])
        return Selected(labels, tuple(scores.tolist()), 1.0)
    if name not in ADDED or given.get("k") is not None or inner is None:
        return None
    bounds = given.get("bounds")
    scale, (low, high) = float(given["scale"]), bounds or (-math.inf, math.inf)
    form = "truncated" if bounds else "plain"
    numbers = np.atleast_1d(np.asarray(inner)).tolist()
    parts = [NoisyNumber(x, scale, ADDED[name][isinstance(x, int)], form, low, high) for x in numbers]
    return SideBySide(tuple(parts)) if isinstance(inner, list | np.ndarray) else parts[0]


def priced(a: Call, b: Call) -> str:
    """What the distance of two arguments costs by a measurement's own map, in words; empty where there is none."""
    metric, stated = str(getattr(a.primitive, "input_metric", "")).partition("(")[0], None
    distance = _distance(metric, a.value, b.value)
    for number in (distance, int(distance) if float(distance).is_integer() else distance):
        with contextlib.suppress(Exception):  # a map takes whole numbers or others, and may have none for it
            stated = a.primitive.map(number)
    return "" if stated is None else f"a {metric} of {distance:g} costs {stated} by the measurement's own map"


def _distance(metric: str, a: Any, b: Any) -> float:
    """Distance of two inputs in a metric of OpenDP; NaN for a metric that is not known here."""
    if metric in ("SymmetricDistance", "InsertDeleteDistance", "ChangeOneDistance"):
        left, right = [*map(repr, a)], [*map(repr, b)]
        lone = sum(abs(left.count(one) - right.count(one)) for one in {*left, *right})
        halved = lone / 2 if len(left) == len(right) else math.inf
        return halved if metric == "ChangeOneDistance" else lone
    if metric == "HammingDistance":
        return sum(x != y for x, y in zip(a, b, strict=True)) if len(a) == len(b) else math.inf
    if metric == "DiscreteDistance":
        return float(a != b)
    if metric not in NORMS:
        return math.nan
    return float(np.linalg.norm(np.atleast_1d(np.asarray(a, float) - np.asarray(b, float)), NORMS[metric]))


def _measurements() -> Iterator[tuple[type, str]]:
    module = sys.modules["opendp.mod"]
    yield from (
        (module.Measurement, "__call__"),
        (module.Measurement, "invoke"),
        (module.Queryable, "__call__"),
    )


def _remembered(primitive: Any, value: Any, answer: Any) -> Any:
    """A queryable, after the data were noted that its composition was given."""
    if hasattr(answer, "query_type"):
        asked = (value, primitive.behind) if hasattr(primitive, "behind") else (primitive, value)
        answer.behind = peeled(*asked)[2]
    return answer


# --- The registry -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Library:
    """A library whose primitives are known."""

    module: str  # that is loaded if the library is used
    inside: str  # beginning of the names of modules that only pass a call on
    primitives: Callable[[], Iterator[tuple[type, str]]]  # classes, and their methods that draw
    call: Callable[
        [Any, Any, str], Call | None
    ]  # primitive, argument, place → what was asked for; None for nothing
    generator: Callable[[Any], Any] = lambda primitive: None  # that a primitive shares with others
    passed: Callable[[Any, Any, Any], Any] = lambda primitive, value, answer: (
        answer
    )  # of what releases nothing


LIBRARIES = (
    Library(
        "diffprivlib.mechanisms", "diffprivlib.mechanisms", _mechanisms, of_diffprivlib, _shared_generator
    ),
    Library("opendp.mod", "opendp.", _measurements, of_opendp, passed=_remembered),
)


def loaded() -> list[Library]:
    """The libraries that somebody has imported; none is imported here."""
    return [library for library in LIBRARIES if library.module in sys.modules]


def kept(value: Any) -> Any:
    """A value that nobody else can change: a copy of an array or of a list."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return [kept(one) for one in value] if isinstance(value, list) else value
