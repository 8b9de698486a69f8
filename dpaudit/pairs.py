"""Pairs of neighbours over any public domain, with shapes that are hard on trees, and places where leaks hide.

A pair is made of *units*. A unit has a place in [0, 1] for each attribute, and a class. The domain turns units into
records, so that every kind of pair exists for every domain. Where a number is to be predicted, its lower end, its upper
end and the middle stand for classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpnb.arrays import Floats
from dpnb.checks import check_choice
from dpnb.domain import Attribute, Categorical, Continuous, Domain
from dpnb.domain.encoding import decoded
from dpnb.domain.people import UNITS
from dpnb.domain.people import Unit as UnitOfPrivacy
from dpnb.errors import closest
from dpnb.replay.neighbours import Part, Peopled, row_keys

from .words import counted

DOMAIN = Domain((Continuous("x", 0, 1), Categorical("c", (0, 1))), (0, 1), target="label")
NUMBERS = Domain(DOMAIN.attributes, response=Continuous("number", 0, 1))
NEIGHBOURS = ("add-remove", "replace")
LARGE = (63, 256, 1_000)  # common records
LONE = (500, 2_000)  # common records in the other half of the domain
# One more reaches a power of two or ten, or goes beyond; the last three fill a counter of eight or sixteen bits.
COPIES = (1, 3, 4, 7, 9, 15, 16, 31, 32, 127, 255, 32_767)
ONE_CLASS = (1, 4, 16)  # records of one class
ON_BOUND = (1, 4, 16)  # records on each end of the domain
STRATA = 40  # places that a rare value is tried at, over the whole range of every attribute
SHOWN = 3  # attributes of a record in a pair's name
MANY = (2, 10, 50)  # records of a person
SHARERS = 3  # other people with as many


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets."""

    name: str  # words for what is special about the pair
    # first, second: (X, y) with labelled records; for a claim about people (X, y, people).
    first: tuple[Any, ...]
    second: tuple[Any, ...]
    domain: Domain = DOMAIN  # their public domain
    malformed: bool = False  # whether the second data set has a record outside of the domain


Rows = list[tuple[float, int, int]]  # x, c, label


class Unit(NamedTuple):
    """A record by its places: where it lies in each attribute, from 0 to 1, and its class's position."""

    places: tuple[float, ...]
    label: int


BASES: dict[str, tuple[Rows, tuple[float, int, int]]] = {
    "pure node, one record of the other class": ([(i / 10, i % 2, 0) for i in range(1, 10)], (0.5, 1, 1)),
    "XOR of the two attributes": (
        [(0.2 + 0.6 * a, b, a ^ b) for a in (0, 1) for b in (0, 1)] * 2,
        (0.8, 1, 1),
    ),
    "duplicate rows, one more": ([(0.3, 0, 0)] * 8 + [(0.7, 1, 1)] * 8, (0.3, 0, 1)),
    "a value at the end of the domain": ([(i / 10, 0, i % 2) for i in range(3, 8)], (1.0, 0, 1)),
    "a leaf of one record": ([(0.1 + i / 100, 0, 0) for i in range(12)], (0.95, 1, 1)),
    "a tie, broken by one record": ([(i / 10, i % 2, i % 2) for i in range(10)], (0.45, 0, 1)),
    "blocks of labels, a record in front": ([(i / 20, 0, i // 5 % 2) for i in range(20)], (0.0, 0, 1)),
}


# --- From units to records ------------------------------------------------------------------------------------


def _code(attribute: Attribute, place: float) -> float:
    """The encoded number at a place of an attribute's range, or of no value, where the attribute may have none."""
    if isinstance(attribute, Continuous):
        if math.isnan(place) and attribute.missing:
            return attribute.floor
        return attribute.low + (attribute.high - attribute.low) * (place if math.isfinite(place) else 0.5)
    if not math.isfinite(place):
        return attribute.missing_code if math.isnan(place) else attribute.stand_in
    return min(int(place * len(attribute.values)), len(attribute.values) - 1)


def _cells(codes: Floats, attribute: Attribute) -> Any:
    """Values of encoded numbers as tables have them: None for a missing one, and an unlisted one for "other"."""
    values = decoded(codes, attribute)
    if isinstance(attribute, Continuous) or len(attribute.levels) == len(attribute.values):
        return values
    others = (codes >= len(attribute.values)) & (codes == attribute.stand_in) & (attribute.unknown == "other")
    missing = (codes >= len(attribute.values)) & ~others
    table = values.to_numpy(object, copy=True)
    table[others], table[missing] = unlisted(attribute), None
    return table


def unlisted(attribute: Categorical) -> Any:
    """A value that is none of an attribute's."""
    whole = all(isinstance(v, int) for v in attribute.values)
    return max(v for v in attribute.values if isinstance(v, int)) + 1 if whole else "none of these"


def _codes(unit: Unit, domain: Domain) -> tuple[float, ...]:
    places = (_code(a, p) for a, p in zip(domain.attributes, unit.places, strict=True))
    return (*places, unit.label)


def targets(domain: Domain) -> tuple[Any, ...]:
    """What labels of units stand for: classes, or the lower end, the upper end and the middle of a number's range."""
    if domain.response is None:
        return domain.classes
    low, high = domain.response.low, domain.response.high
    return low, high, low + (high - low) / 2


def _last(domain: Domain) -> int:
    """The label that is farthest from the first one."""
    return domain.n_classes - 1 if domain.response is None else 1


def part_of_units(units: Sequence[Unit], domain: Domain, index: Sequence[int]) -> Part:
    """The records of units; their columns have the same types however many there are."""
    labels = pd.Index(index, dtype=np.int64)
    known_codes = {unit: _codes(unit, domain)[:-1] for unit in dict.fromkeys(units)}
    codes = np.array([known_codes[unit] for unit in units], float)
    codes = codes.reshape(len(units), domain.n_attributes)
    columns = {a.name: _cells(codes[:, j], a) for j, a in enumerate(domain.attributes)}
    known = Categorical(domain.target, targets(domain))
    y = decoded(np.array([unit.label for unit in units], float), known)
    return pd.DataFrame(columns).set_axis(labels, axis=0), pd.Series(y, index=labels, name=domain.target)


def _unit(row: tuple[float, int, int], domain: Domain) -> Unit:
    """A record with ``x`` in the continuous attributes and the first or last value in the others.

    With attributes of one kind only, the last of several stands for the other kind.
    """
    x, c, label = row
    by_x = domain.continuous.tolist()
    if all(by_x) or not any(by_x):
        by_x = [j == 0 or j < len(by_x) - 1 for j in range(len(by_x))]
    return Unit(tuple(x if own else float(c) for own in by_x), label)


def neighbours_of(
    neighbours: str, domain: Domain, name: str, common: Sequence[Unit], record: Unit, *, instead: Unit
) -> Pair:
    """Neighbours made of common records and one of their own.

    Under add/remove the second data set has the record in front. Under replace the first one has ``instead`` there.
    """
    check_choice("neighbours", neighbours, NEIGHBOURS)
    labels = [-1, *range(len(common))]
    second = part_of_units([record, *common], domain, labels)
    if neighbours == "add-remove":
        return Pair(name, part_of_units(common, domain, labels[1:]), second, domain)
    return Pair(name, part_of_units([instead, *common], domain, labels), second, domain)


def pair_of(
    name: str, rows: Rows, record: tuple[float, int, int], *, neighbours: str, domain: Domain = DOMAIN
) -> Pair:
    """Neighbours made of common rows (x, c, label) and one record.

    Under replace both have a record in front, of opposite labels and at opposite ends of the domain of ``c``.

    Parameters
    ----------
    name : what is special about them.
    rows, record : place in the continuous attributes, first or last value in the categorical ones, class's position.
    neighbours : ``"add-remove"`` or ``"replace"``.
    domain : public domain of the records.
    """
    common = [_unit(row, domain) for row in rows]
    return neighbours_of(
        neighbours, domain, name, common, _unit(record, domain), instead=_opposite(record, domain)
    )


def _opposite(record: tuple[float, int, int], domain: Domain) -> Unit:
    """A record of another label, at the opposite end of the domain of ``c``."""
    x, c, label = record
    n = len(targets(domain))
    other = (_last(domain) - label) % n
    return _unit((x, 1 - c, other if other != label else (label + 1) % n), domain)


# --- Kinds ------------------------------------------------------------------------------------------------------


def families(neighbours: str = "add-remove", *, domain: Domain = DOMAIN) -> list[Pair]:
    """The structured pairs."""
    return [
        pair_of(name, rows, record, neighbours=neighbours, domain=domain)
        for name, (rows, record) in BASES.items()
    ]


def random_pair(rng: np.random.Generator, *, neighbours: str = "add-remove", domain: Domain = DOMAIN) -> Pair:
    """A pair of 1 to 12 random common records and one more, on a coarse grid so that values tie."""
    n = int(rng.integers(1, 13))
    places = rng.integers(0, 11, n + 1) / 10
    ends, labels = rng.integers(0, 2, n + 1), rng.integers(0, len(targets(domain)), n + 1)
    rows: Rows = [(float(x), int(c), int(label)) for x, c, label in zip(places, ends, labels, strict=True)]
    return pair_of(f"random, {n} common records", rows[1:], rows[0], neighbours=neighbours, domain=domain)


def _randoms(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """Four, whose records also take values that no shape has."""
    found = [random_pair(rng, neighbours=neighbours, domain=domain) for _ in range(2)]
    for n in (8, 30):
        units = [
            Unit(tuple(rng.random(domain.n_attributes).tolist()), int(label))
            for label in rng.integers(0, len(targets(domain)), n + 2)
        ]
        name = f"random over the whole domain, {n} common records"
        found.append(neighbours_of(neighbours, domain, name, units[2:], units[0], instead=units[1]))
    return found


def _ends(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """A record in the corner that is farthest from all others, of a class of its own."""
    low, high = _unit((0.0, 0, 0), domain), _unit((1.0, 1, _last(domain)), domain)
    name = "all records at the {} end, one at the other"
    return [
        neighbours_of(neighbours, domain, name.format(where), [near] * 6, far, instead=near)
        for where, near, far in (("lower", low, high), ("upper", high, low))
    ]


def _duplicates(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """Copies of one record, up to a round number or beyond it, and one copy more; or one of another class."""
    copy, apart, other = (_unit(row, domain) for row in ((0.5, 1, 1), (0.5, 0, 1), (0.5, 1, 0)))
    return [
        pair_of(f"{counted(n, 'copy')} of one record, one more", [(0.5, 1, 1)] * n, (0.5, 1, 1),
                neighbours=neighbours, domain=domain)
        for n in COPIES
    ] + [
        neighbours_of(
            neighbours, domain, f"{counted(n, 'record')} of one class, one of another",
            [copy] * n, other, instead=apart,
        )
        for n in ONE_CLASS
    ]  # fmt: skip


def _bounds(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """Several records on each end of the domain, and one more on the lower or the upper one."""
    low, high = _unit((0.0, 0, 0), domain), _unit((1.0, 1, _last(domain)), domain)
    between = [_unit((0.5, c, label), domain) for c in (0, 1) for label in (0, 1)]
    return [
        neighbours_of(
            neighbours, domain, f"{counted(n, 'record')} on each bound, one more on the {name} one",
            [*between, *[low, high] * n], record, instead=between[0],
        )
        for n in ON_BOUND
        for name, record in (("lower", low), ("upper", high))
    ]  # fmt: skip


def _meeting(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """Two extreme values that others have one of, and only this record both; with either class.

    Every other attribute takes the second value. The common records meet in two corners, the records in the other two.
    """

    def unit(x: float, z: float, label: int) -> Unit:
        return Unit(tuple(z if j % 2 else x for j in range(domain.n_attributes)), label)

    classes, found = (0, _last(domain)), []
    # What goes with the lower end of the first attribute; where there is no second one both are the same.
    for apart in (0.0, 1.0)[: domain.n_attributes]:
        known = [(0.0, apart), (1.0, 1 - apart), (0.5, 0.0), (0.5, 1.0)]
        common = [unit(x, z, label) for x, z in known for label in classes] * 2
        records = [unit(x, z, label) for x, z in ((0.0, 1 - apart), (1.0, apart)) for label in classes]
        found += [
            neighbours_of(
                neighbours, domain,
                f"common apart, together for once: {_words(record, domain)}, {_labelled(record.label, domain)}",
                common, record, instead=unit(0.5, 0.0, 0),
            )
            for record in records
        ]  # fmt: skip
    return found


def _large(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """More records than the others have, at random on the coarse grid; the record of its own stands apart."""
    found = []
    for n in LARGE:
        drawn = (rng.integers(0, most, n) for most in (15, 2, len(targets(domain))))
        rows: Rows = [(0.1 + 0.05 * int(x), int(c), int(label)) for x, c, label in zip(*drawn, strict=True)]
        found.append(pair_of(f"{n} common records", rows, (0.95, 1, 1), neighbours=neighbours, domain=domain))
    return found


def _lone(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """A lone record of its own class, in the half of the domain where none of many others is."""
    record = Unit((0.9,) * domain.n_attributes, _last(domain))
    found = []
    for n in LONE:
        common = [Unit(tuple(places), 0) for places in (rng.random((n, domain.n_attributes)) / 2).tolist()]
        name = f"{n} records in one half, a lone one in the other"
        found.append(neighbours_of(neighbours, domain, name, common, record, instead=common[0]))
    return found


def _classes(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """A record more of one class where all classes occur: three and four classes, or those of your domain."""
    domains = [replace(domain, classes=tuple(range(k))) for k in (3, 4)] if domain == DOMAIN else [domain]
    found = []
    for public in domains:
        k, what = len(targets(public)), "classes" if public.classes else "numbers"
        rows: Rows = [(0.1 + 0.8 * i / (3 * k), i % 2, i % k) for i in range(3 * k)]
        last = [k - 1] if domain == DOMAIN else list(range(min(k, 6)))
        found += [
            pair_of(f"{k} {what}, a record of {_labelled(label, public)}", rows, (0.95, 1, label),
                    neighbours=neighbours, domain=public)
            for label in last
        ]  # fmt: skip
    return found


def _rare(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """A value far from all others, at each of 40 places of every attribute.

    The common records sit at both ends. The places of the attributes are matched at random, so that 40 pairs meet
    every interval of a fortieth of an attribute's width, and every category if there are at most 40, but the ends'.
    """
    rows: Rows = [(float(c), c, label) for c in (0, 1) for label in (0, 1)] * 2
    common = [_unit(row, domain) for row in rows]
    strata = np.stack(
        [(rng.permutation(STRATA) if j else np.arange(STRATA)) for j in range(domain.n_attributes)], axis=1
    )
    found = []
    instead = _unit((0.0, 0, 0), domain)
    known = {_codes(instead, domain)}
    for i, places in enumerate((strata + 0.5) / STRATA):
        unit = Unit(tuple(places.tolist()), i % len(targets(domain)))
        if _codes(unit, domain) not in known:
            known.add(_codes(unit, domain))
            name = f"a value of its own: {_words(unit, domain)}"
            found.append(neighbours_of(neighbours, domain, name, common, unit, instead=instead))
    return found


def _missing(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """A record without a value, or with an unlisted one, where the domain allows it; extreme records beside such."""
    low, high = _unit((0.0, 0, 0), domain), _unit((1.0, 1, _last(domain)), domain)
    common, found = [low, high, *(_unit((0.5, c, c), domain) for c in (0, 1))] * 2, []
    for j, attribute in enumerate(domain.attributes):
        absent = {"missing": math.nan} if attribute.missing else {}
        if isinstance(attribute, Categorical) and attribute.unknown == "other":
            absent["other"] = math.inf
        for word, place in absent.items():
            lacking = [
                unit._replace(places=(*unit.places[:j], place, *unit.places[j + 1 :])) for unit in common
            ]
            shapes = [
                (f"{attribute.name} is {word} once", common, lacking[0]),
                (f"{attribute.name} is {word} four times, once more", [*common, *lacking[:4]], lacking[1]),
                *((f"{attribute.name} is {word} four times, one more at the {end} end", [*common, *lacking[:4]], unit)
                  for end, unit in (("lower", low), ("upper", high))),
            ]  # fmt: skip
            found += [neighbours_of(neighbours, domain, *shape, instead=common[2]) for shape in shapes]
    return found


def _words(unit: Unit, domain: Domain) -> str:
    shown = []
    for attribute, place in zip(domain.attributes, unit.places, strict=True):
        code = _code(attribute, place)
        value = (
            attribute.shown(code) if isinstance(attribute, Continuous) else repr(attribute.values[int(code)])
        )
        shown.append(f"{attribute.name} = {value}")
    return ", ".join(shown[:SHOWN]) + (", …" if len(shown) > SHOWN else "")


def _labelled(label: int, domain: Domain) -> str:
    value = targets(domain)[label]
    return f"class {value!r}" if domain.response is None else f"{domain.target} = {value:g}"


def _empty(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """No record against one; under replace, one record against another one."""
    if neighbours == "replace":
        return [pair_of("a single record", [], (0.5, 1, 1), neighbours=neighbours, domain=domain)]
    X, y = part_of_units([_unit((0.5, 1, 1), domain)], domain, [0])
    return [Pair("no records, then one", (X[:0], y[:0]), (X, y), domain)]


def _malformed(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """A record that the domain does not allow, among clean ones: a private fit treats it in silence."""
    rows: Rows = [(0.2 + i / 20, i % 2, i // 2 % 2) for i in range(10)]
    clean = pair_of("", rows, (0.5, 1, 1), neighbours=neighbours, domain=domain)
    found = []
    for name, column, value in _misfits(domain):
        X, y = clean.second[0].copy(), clean.second[1].copy()
        table = y if column is None else X[column]
        keeps_type = isinstance(value, float) and pd.api.types.is_float_dtype(table.dtype)
        values = table.copy() if keeps_type else table.astype(object)
        values.iloc[0] = value
        if column is None:
            y = values
        else:
            X[column] = values
        found.append(Pair(name, clean.first, (X, y), domain, malformed=True))
    return found


def _misfits(domain: Domain) -> list[tuple[str, str | None, object]]:
    """Name, column (None for the labels) and value of what may be wrong with a record."""
    found: list[tuple[str, str | None, object]] = []
    continuous = next((a for a in domain.attributes if isinstance(a, Continuous)), None)
    categorical = next((a for a in domain.attributes if isinstance(a, Categorical)), None)
    if continuous is not None and not continuous.is_date:
        found += _no_numbers(continuous, continuous.name)
    if categorical is not None:
        found += [
            (f"{categorical.name} is an unknown category", categorical.name, unlisted(categorical)),
            (f"{categorical.name} is missing", categorical.name, None),
        ]
    if domain.response is not None:
        return [*found, *_no_numbers(domain.response, None)]
    return [*found, ("the label is missing", None, None), ("the label is unknown", None, "none of these")]


def _no_numbers(public: Continuous, column: str | None) -> list[tuple[str, str | None, object]]:
    """What may be wrong with a number."""
    name, width = public.name, public.high - public.low
    return [
        (f"{name} is NaN", column, float("nan")),
        (f"{name} is +∞", column, float("inf")),
        (f"{name} is −∞", column, float("-inf")),
        (f"{name} is below its bounds", column, public.low - 10 * width),
        (f"{name} is above its bounds", column, public.high + 10 * width),
        (f"{name} is a text", column, "n/a"),
        (f"{name} is a number, written as a text", column, f"{public.low + width / 2:g}"),
    ]


def _structured(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """Seven shapes that are hard on trees."""
    return families(neighbours, domain=domain)


# --- People -----------------------------------------------------------------------------------------------------


def people_of_units(people: Mapping[int, Sequence[Unit]], domain: Domain) -> Peopled:
    """The records of people by their names; each record has a label that follows from its person's alone."""
    who = [name for name, units in people.items() for _ in units]
    X, y = part_of_units([unit for units in people.values() for unit in units], domain, range(len(who)))
    index = pd.Index(
        [f"{name}, {i}" for name, units in people.items() for i in range(len(units))], dtype=object
    )
    return X.set_axis(index, axis=0), y.set_axis(index), pd.Series(who, index=index, name="person")


def _person_more(
    neighbours: str,
    domain: Domain,
    name: str,
    others: Sequence[Sequence[Unit]],
    own: Sequence[Unit],
    instead: Unit,
) -> Pair:
    """Neighbours that differ in a person with all records; under replace the first has somebody with one record."""
    common = dict(enumerate(others))
    second = people_of_units({-1: own, **common}, domain)
    without = {} if neighbours == "add-remove" else {-1: [instead]}
    return Pair(name, people_of_units({**without, **common}, domain), second, domain)


def _people(neighbours: str, domain: Domain, rng: np.random.Generator) -> list[Pair]:
    """A person with 2, 10 or 50 records: in one place, all over, of both classes, alone, among others like that."""
    here, other = (_unit((0.9, 1, label), domain) for label in (_last(domain), 0))
    away = _unit((0.1, 0, 0), domain)
    shapes: list[tuple[str, list[list[Unit]], list[Unit], Unit]] = []
    for m in MANY:
        places = [((i + 0.5) / m,) * domain.n_attributes for i in range(m)]
        sharer = [other, *[away] * (m - 1)]
        shapes += [
            (f"in one place, {name}", [[_unit(row, domain)] for row in rows], [_unit(record, domain)] * m,
             _opposite(record, domain))
            for name, (rows, record) in BASES.items()
        ] + [
            ("in every place, one other in each", [[Unit(place, 0)] for place in places],
             [Unit(place, _last(domain)) for place in places], away),
            ("of both classes", [[away], [here], [other]] * 4, [here, other] * (m // 2), other),
            ("alone in one half", [[away]] * LONE[0], [here] * m, away),
            ("with one record among those of others", [sharer] * SHARERS, [here, *[away] * (m - 1)], away),
        ]  # fmt: skip
    return [
        _person_more(neighbours, domain, f"a person {name}, {len(own)} records", others, own, instead)
        for name, others, own, instead in shapes
    ]


def _each_a_person(pair: Pair) -> Pair:
    """The same neighbours, where each record is somebody's only one."""
    parts = [
        (X, y, *(people or [pd.Series(X.index, index=X.index, name="person")]))
        for X, y, *people in (pair.first, pair.second)
    ]
    return replace(pair, first=parts[0], second=parts[1])


Maker = Callable[[str, Domain, np.random.Generator], list[Pair]]
KINDS: dict[str, Maker] = {
    "structured": _structured,
    "ends": _ends,
    "classes": _classes,
    "duplicates": _duplicates,
    "bounds": _bounds,
    "meeting": _meeting,
    "large": _large,
    "lone": _lone,
    "random": _randoms,
    "rare": _rare,
    "missing": _missing,
    "empty": _empty,
    "malformed": _malformed,
}
ON_REQUEST = ("empty", "malformed")  # many honest programs fail there


def kinds_of(unit: UnitOfPrivacy) -> dict[str, Maker]:
    """The kinds of pairs for a unit."""
    return KINDS if unit == "record" else {"people": _people, **KINDS}


def kinds_in_words() -> list[str]:
    """A line for each kind of pairs."""
    asked = dict.fromkeys(ON_REQUEST, " (on request)") | {"people": " (for claims about people)"}
    return [
        f"{name:11}{(make.__doc__ or '').splitlines()[0]}{asked.get(name, '')}"
        for name, make in kinds_of("person").items()
    ]


def pairs(
    neighbours: str = "add-remove",
    *,
    domain: Domain = DOMAIN,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    unit: UnitOfPrivacy = "record",
) -> list[Pair]:
    """Neighbours over a public domain, with those first that show most leaks.

    Pairs whose first data sets are equal have the same one, so that its fits can be shared.

    Parameters
    ----------
    neighbours : ``"add-remove"`` or ``"replace"``.
    domain : public domain of the records.
    kinds : names of kinds: structured, ends, classes, duplicates, bounds, meeting, large, lone, random, rare, missing,
        empty, malformed; by default all but the last two, on which many programs fail that are honest otherwise. For
        people also the kind people, which comes first.
    seed : seed of all that is random in the pairs.
    unit : in what they differ, a ``"record"``, or a ``"person"``; the data sets then have a third part, the person of
        each record. Neighbours by a record are neighbours by a person with one.

    Raises
    ------
    ValueError
        For a relation, a unit or a kind that does not exist.
    """
    check_choice("unit", unit, UNITS)
    known = kinds_of(unit)
    chosen = [kind for kind in known if kind not in ON_REQUEST] if kinds is None else list(kinds)
    for kind in chosen:
        if kind not in known:
            close = closest(kind, known)
            raise ValueError(
                f"no kind of pairs {kind!r}: "
                + (f"did you mean {close!r}?" if close else f"expected some of {', '.join(known)}")
            )
    streams = dict(zip([*KINDS, "people"], np.random.SeedSequence(seed).spawn(len(KINDS) + 1), strict=True))
    made = [
        pair
        for kind, make in known.items()
        if kind in chosen
        for pair in make(neighbours, domain, np.random.default_rng(streams[kind]))
    ]
    if unit == "person":
        made = [_each_a_person(pair) for pair in made]
    if not made:
        raise ValueError(
            f"kinds={chosen}: there is no such pair, for the domain allows no missing or unlisted value"
        )
    firsts: dict[tuple[object, ...], tuple[Any, ...]] = {}
    keys = [(pair.domain, pair.malformed, *row_keys(pair.first, labels=True)) for pair in made]
    return [
        replace(pair, first=firsts.setdefault(key, pair.first)) for pair, key in zip(made, keys, strict=True)
    ]
