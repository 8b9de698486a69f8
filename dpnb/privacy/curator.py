"""Release door, which is the only source of randomness and of releases once the data are read.

Every method builds the law of its output, books an event on the ledger, and lets :meth:`Curator._settle` draw the
outcome. An auditor overrides that one method to force outcomes and weigh them on a neighbour.
"""

from __future__ import annotations

import math
import os
import secrets
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FIXED_POINT, Floats, Ints
from .lattice import Lattice
from .laws import (
    DiscreteGaussian,
    Exact,
    Exponential,
    Gaussian,
    IntervalExponential,
    Laplace,
    Law,
    Outcome,
    PermuteAndFlip,
    Point,
    TwoSidedGeometric,
)
from .ledger import BOUNDED_RANGE, Event, Ledger

T = TypeVar("T")

# The part of every ε and ρ that pays for the rounding of weights and probabilities. Their logarithms are off by less
# than 2⁻⁴⁴, because a probability is computed from at most a hundred numbers with a relative error of 2⁻⁵² each.
ROUNDING = 2.0**-40
# A person brings a share of her budget to each node that she is in, but each of up to 2²⁰ nodes rounds in full.
ROUNDING_OF_PEOPLE = 2.0**-22
REAL_NOISE = ("laplace", "gaussian")
"""Mechanisms whose outcomes are floating-point numbers around the value that they hide."""


class Curator:
    """Holder of the random generator and the ledger; the mechanisms are its methods.

    Parameters
    ----------
    rng : source of all noise. A copy of the curator, in a forked process or pickled, takes another one, of the
        operating system.
    ledger : ledger on which every release is booked.

    Notes
    -----
    ``epsilon`` may be a scalar or one value per part; ``parts`` are node numbers of the open tree scope, whose
    records are disjoint. With ``epsilon=inf`` the value is released exactly, and the cost is infinite.
    """

    def __init__(self, *, rng: np.random.Generator, ledger: Ledger) -> None:
        self._source, self._process = rng, os.getpid()
        self.ledger = ledger

    @property
    def _rng(self) -> np.random.Generator:
        """Source of noise, which no other process draws from."""
        if self._process != os.getpid():
            self._source, self._process = source_of_noise(None), os.getpid()
        return self._source

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_source": None, "_process": None}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(ledger={self.ledger!r})"

    def _settle(self, law: Law[Outcome], event: Event) -> Outcome:
        """Book the event and draw its outcome."""
        self.ledger.book(event)
        return law.draw(self._rng)

    def _net(self, budget: Floats) -> Floats:
        """The part of a budget that the noise may use, once rounding is paid for."""
        kept = ROUNDING if self.ledger.unit == "record" else ROUNDING_OF_PEOPLE
        net: Floats = np.maximum(budget - kept, budget / 2)
        return net

    def _step(self, unit: float | None) -> float:
        """Step of noise; it may not follow from the values, which are whole where nobody has two records."""
        finest = 1.0 if self.ledger.unit == "record" else 1 / FIXED_POINT
        return finest if unit is None else unit

    def laplace(
        self,
        values: ArrayLike,
        *,
        epsilon: ArrayLike,
        sensitivity: float,
        what: str,
        parts: Ints | None = None,
    ) -> Floats:
        """Add Laplace noise of scale ``sensitivity / epsilon`` to every entry.

        Parameters
        ----------
        values : (...) or (parts, ...) exact query values.
        epsilon : > 0, scalar or (parts,).
        sensitivity : L1 sensitivity of the whole vector of one part.
        what : purpose of the release, for the ledger.
        parts : node numbers of the rows of ``values``.

        **Privacy**: ε-DP for a record of each part (Dwork, McSherry, Nissim, Smith 2006), for real numbers. Use it only
        to follow a text, because the last digits of floating-point numbers betray their centre. For releases, take
        whole numbers and :meth:`geometric`.
        """
        centre = np.asarray(values, float)
        event = _pure("laplace", epsilon=epsilon, sensitivity=sensitivity, what=what, parts=parts)
        scale = _by_row(sensitivity / event.epsilon, centre)
        return self._settle(Laplace(centre=centre, scale=scale), event)

    def geometric(
        self,
        values: ArrayLike,
        *,
        epsilon: ArrayLike,
        sensitivity: float,
        what: str,
        parts: Ints | None = None,
        unit: float | None = None,
    ) -> NDArray[Any]:
        """Add two-sided geometric (discrete Laplace) noise of scale ``sensitivity / epsilon`` to whole numbers.

        Parameters
        ----------
        values : (...) or (parts, ...) multiples of ``unit``.
        epsilon, sensitivity, what, parts : as for :meth:`laplace`.
        unit : step of the values and of the noise; by default 1, or 2⁻²⁸ where people's records share a vote.

        Returns
        -------
        Multiples of ``unit``, shaped as ``values``.

        **Privacy**: ε-DP for a record of each part (Ghosh, Roughgarden, Sundararajan 2009), also as computed, because
        the draws are exact, and 2⁻⁴⁰ of ε pays for the rounding of their probabilities.
        """
        unit = self._step(unit)
        centre = _whole(values, unit)
        event = _pure("geometric", epsilon=epsilon, sensitivity=sensitivity, what=what, parts=parts)
        centre, scale = _held(centre, _by_row(sensitivity / unit / self._net(event.epsilon), centre))
        return self._settle(TwoSidedGeometric(centre=centre, scale=scale), event) * unit

    def gaussian(
        self, values: ArrayLike, *, rho: ArrayLike, sensitivity: float, what: str, parts: Ints | None = None
    ) -> Floats:
        """Add normal noise of variance ``sensitivity² / (2 rho)``.

        **Privacy**: ρ-zCDP for L2 sensitivity ``sensitivity``; no finite pure ε (Bun and Steinke 2016). This holds for
        real numbers. For releases, take :meth:`discrete_gaussian`.
        """
        centre = np.asarray(values, float)
        event = _concentrated("gaussian", rho=rho, sensitivity=sensitivity, what=what, parts=parts)
        sd = _by_row(sensitivity / np.sqrt(2 * event.rho), centre)
        return self._settle(Gaussian(centre=centre, sd=sd), event)

    def discrete_gaussian(
        self,
        values: ArrayLike,
        *,
        rho: ArrayLike,
        sensitivity: float,
        what: str,
        parts: Ints | None = None,
        unit: float | None = None,
        shares: Floats | None = None,
        changed: float | None = None,
    ) -> NDArray[Any]:
        """Add discrete Gaussian noise of variance about ``sensitivity² / (2 rho)`` to whole numbers.

        Parameters
        ----------
        values, unit : as for :meth:`geometric`.
        rho : > 0, scalar or (parts,).
        sensitivity : L2 sensitivity of the whole vector of one part; with ``shares``, of each of its blocks.
        shares : share in ρ of the block to which each value belongs, shaped as ``values`` or broadcast to them. The
            shares of all blocks add up to 1.
        changed : largest number of entries that one record changes, if known; by default what the sensitivity allows.

        **Privacy**: ρ-zCDP (Canonne, Kamath, Steinke 2020), up to rounding, for which 2⁻⁴⁰ of ρ is kept back.
        """
        unit = self._step(unit)
        centre = _whole(values, unit)
        event = _concentrated("discrete gaussian", rho=rho, sensitivity=sensitivity, what=what, parts=parts)
        sd = sensitivity / unit / np.sqrt(2 * self._net(event.rho))
        centre, sd = _held(centre, _by_row(sd, centre) if shares is None else sd / np.sqrt(shares))
        # Each entry that a record changes moves by at least one whole step.
        most = min(float(centre.size), (sensitivity / unit) ** 2) if changed is None else changed
        event = replace(event, lattice_sd=float(np.min(sd)), changed=most)
        return self._settle(DiscreteGaussian(centre=centre, sd=sd), event) * unit

    def exponential(
        self,
        scores: ArrayLike,
        *,
        starts: Ints,
        epsilon: ArrayLike,
        sensitivity: float,
        monotone: bool,
        what: str,
        parts: Ints | None = None,
        change_range: float | None = None,
        measure: Floats | None = None,
    ) -> Ints:
        """Choose one candidate in each group with probability ∝ measure · exp(rate · score).

        Parameters
        ----------
        scores : (candidates,) scores, of which larger ones are better.
        starts : (groups,) first candidate of each group. Without ``parts`` the choices of all groups add up.
        epsilon : ε of each choice, > 0, scalar or (groups,).
        sensitivity : Δ, the most that one record changes any score.
        monotone : whether adding a record moves all scores in the same direction.
        change_range : g, the most by which one added record moves two scores apart, where a proof gives less than Δ
            (monotone) or 2Δ; see :meth:`~dpnb.trees.scores.Score.change_range`.
        measure : (candidates,) public base measure; uniform if None.

        Returns
        -------
        (groups,) position of the chosen candidate within its group.

        Notes
        -----
        Draws are exact, and 2⁻⁴⁰ of ε pays for the rounding of the weights. Scores are taken as they are computed.

        **Privacy**: ε-DP and ε²/8-zCDP under add/remove, with rate ε/g, where g is ``change_range`` if it is given, Δ
        for monotone scores and 2Δ otherwise (fact F1; McSherry and Talwar 2007; Cesar and Rogers 2021 for zCDP).
        """
        event = _pure("exponential", epsilon=epsilon, sensitivity=sensitivity, what=what, parts=parts)
        event, groups = _choices(
            event, scores, starts, net=self._net(event.epsilon), monotone=monotone, change_range=change_range
        )
        if measure is None:
            measure = np.ones(len(groups["scores"]))
        return self._settle(Exponential(**groups, measure=np.asarray(measure, float)), event)

    def exponential_intervals(
        self,
        scores: ArrayLike,
        *,
        starts: Ints,
        option: Ints,
        low: Floats,
        high: Floats,
        lattice: Lattice,
        measure: Floats,
        epsilon: ArrayLike,
        sensitivity: float,
        monotone: bool,
        what: str,
        parts: Ints | None = None,
        change_range: float | None = None,
    ) -> Point:
        """Exponential mechanism over thresholds on public lattices, and atoms; see :meth:`exponential`.

        The score must be constant on each candidate interval ``low < value ≤ high`` of its ``option``, and the measure
        of an interval proportional to its number of points of the option's ``lattice``, (options,). An interval without
        such points has measure 0.

        Returns
        -------
        :class:`Point` with (groups,) chosen options and uniform lattice points inside the chosen intervals.

        **Privacy**: as for :meth:`exponential`, with the score as a function on the public lattice.
        """
        event = _pure(
            "interval exponential", epsilon=epsilon, sensitivity=sensitivity, what=what, parts=parts
        )
        event, groups = _choices(
            event, scores, starts, net=self._net(event.epsilon), monotone=monotone, change_range=change_range
        )
        choice = Exponential(**groups, measure=measure)
        law = IntervalExponential(choice=choice, option=option, low=low, high=high, lattice=lattice)
        return self._settle(law, event)

    def permute_and_flip(
        self,
        scores: ArrayLike,
        *,
        starts: Ints,
        epsilon: ArrayLike,
        sensitivity: float,
        monotone: bool,
        what: str,
        parts: Ints | None = None,
        change_range: float | None = None,
    ) -> Ints:
        """Choose one candidate in each group by permute-and-flip; the arguments are those of :meth:`exponential`.

        **Privacy**: ε-DP under add/remove (fact F1; McKenna and Sheldon 2020). It is not ε-bounded-range, so its
        zCDP cost is the generic ε²/2.
        """
        event = _pure("permute-and-flip", epsilon=epsilon, sensitivity=sensitivity, what=what, parts=parts)
        event, groups = _choices(
            event, scores, starts, net=self._net(event.epsilon), monotone=monotone, change_range=change_range
        )
        return self._settle(PermuteAndFlip(**groups), event)

    def public(self, draw: Callable[[np.random.Generator], T], *, what: str) -> T:
        """Draw randomness that does not depend on the data (bags, schedules, attribute subsets), which is free."""
        return draw(self._rng)

    def exact(self, value: T, *, why: str, parts: Ints | None = None) -> T:
        """Publish a data-dependent value without noise, as a paper's text does; this costs ε = ∞.

        Parameters
        ----------
        value : value that is published.
        why : the release and its place in the text, for the ledger.
        """
        infinite = np.array(np.inf)
        event = Event(what=why, mechanism="exact", epsilon=infinite, rho=infinite, parts=parts)
        outcome: T = self._settle(Exact(value), event)
        return outcome


def source_of_noise(random_state: Any) -> np.random.Generator:
    """Generator of a fit's noise.

    Parameters
    ----------
    random_state : None for the stream cipher ChaCha20 with a key of 256 bits from the operating system, whose output
        reveals nothing about later or earlier output. A seed or a Generator, for tests and books, repeats the noise,
        and anyone who knows or guesses it can subtract the noise. A forked process has copies of its parent's
        Generators, and cannot tell them from its own; there a Generator is left alone, as if it were None.

    Warns
    -----
    UserWarning For a Generator in a forked process.
    """
    if isinstance(random_state, STREAMS) and os.getpid() != _HOME:
        warnings.warn(
            "random_state is a Generator in a forked process, whose parent may have the same one: the noise comes from "
            "the operating system; give None, or a whole number to repeat the noise",
            stacklevel=2,
        )
        random_state = None
    if random_state is None:
        from randomgen import ChaCha

        return np.random.Generator(ChaCha(key=secrets.randbits(256)))
    return np.random.default_rng(random_state)


_HOME = os.getpid()  # of the process that imported the package; others were forked from it


def at_home() -> None:
    """State, in a forked process, that it makes all its Generators itself, so that these may repeat their noise."""
    global _HOME
    _HOME = os.getpid()


STREAMS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState)
"""Sources of noise that go on from draw to draw: a copy of one would draw the same again."""


def spawned(random_state: Any) -> Any:
    """A ``random_state`` for a clone; a seed stays, a stream gives another one, or None if NumPy cannot spawn it."""
    if not isinstance(random_state, STREAMS):
        return random_state
    try:
        return np.random.default_rng(random_state).spawn(1)[0]
    except TypeError:  # it was not made of a SeedSequence
        return None


_open: ContextVar[Callable[..., Curator]] = ContextVar("open_curator", default=Curator)


def open_curator(*, rng: np.random.Generator, ledger: Ledger) -> Curator:
    """Curator for a fit. Every estimator opens the release door here, so that an auditor can replace the curator."""
    return _open.get()(rng=rng, ledger=ledger)


@contextmanager
def opening(make: Callable[..., Curator]) -> Iterator[None]:
    """Let fits inside the block get their curator from ``make(rng=..., ledger=...)``."""
    token = _open.set(make)
    try:
        yield
    finally:
        _open.reset(token)


def _budget(epsilon: ArrayLike, *, name: str = "epsilon") -> Floats:
    values = np.asarray(epsilon, float)
    if not np.all(values > 0):  # NaN fails too
        raise ValueError(f"{name}={epsilon!r}: a mechanism needs a positive budget")
    return values


def _whole(values: ArrayLike, unit: float) -> NDArray[np.int64]:
    """Values as multiples of a unit.

    Raises
    ------
    TypeError If they are no multiples, or infinite, which is a mistake of the program. Our sums have at most 2²⁸ units
        for each record, so they become too large only from 2³⁴ records on.
    """
    given = np.asarray(values)
    whole = np.rint(given / unit)
    # Below 2⁶², so that a value and its noise together are whole numbers of 64 bits.
    if not (np.array_equal(whole * unit, given) and (np.abs(whole) < 2.0**62).all()):
        raise TypeError(
            f"values of dtype {given.dtype}: discrete noise needs multiples of unit={unit!r} of less than 2⁶² units"
        )
    return whole.astype(np.int64)


def _held(centre: NDArray[np.int64], spread: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Centre and spread of noise that 64 bits hold.

    Where they do not hold it, the outcome does not follow from the value at all: 0 takes its place, with as much noise
    as they hold. So no budget is too small, and no fit stops for that in its middle.
    """
    most = 2.0**51  # outcomes, up to 745 scales, are whole numbers of 62 bits
    if not np.any(over := spread > most):
        return centre, spread
    return np.where(over, 0, centre), np.minimum(spread, most)


def _check_sensitivity(sensitivity: float) -> None:
    if not sensitivity > 0:
        raise ValueError(f"sensitivity={sensitivity!r}: expected a positive number")


def _by_row(scale: Floats, values: NDArray[Any]) -> Floats:
    """Shape a scale per row (or a scalar) so that it broadcasts over the rest of ``values``."""
    return scale if scale.ndim == 0 else scale.reshape(scale.shape + (1,) * (values.ndim - scale.ndim))


def _pure(mechanism: str, *, epsilon: ArrayLike, sensitivity: float, what: str, parts: Ints | None) -> Event:
    """Event of an ε-DP mechanism, whose ρ is ε²/2 (Bun and Steinke 2016), or ε²/8 if ε bounds its range."""
    epsilons = _budget(epsilon)
    _check_sensitivity(sensitivity)
    return Event(
        what=what,
        mechanism=mechanism,
        epsilon=epsilons,
        rho=(0.125 if mechanism in BOUNDED_RANGE else 0.5) * epsilons**2,
        sensitivity=sensitivity,
        parts=parts,
    )


def _concentrated(
    mechanism: str, *, rho: ArrayLike, sensitivity: float, what: str, parts: Ints | None
) -> Event:
    """Event of a mechanism that is ρ-zCDP and has no pure ε."""
    rhos = _budget(rho, name="rho")
    _check_sensitivity(sensitivity)
    epsilon = np.full_like(rhos, np.inf)
    return Event(
        what=what, mechanism=mechanism, epsilon=epsilon, rho=rhos, sensitivity=sensitivity, parts=parts
    )


def _choices(
    event: Event,
    scores: ArrayLike,
    starts: ArrayLike,
    *,
    net: Floats,
    monotone: bool,
    change_range: float | None,
) -> tuple[Event, dict[str, Any]]:
    """Event of a private choice in each group, and scores, starts and rates for its law; ``net`` is the ε of the draw.

    Without ``parts`` all groups are choices from the same data, and their costs add up.

    Raises
    ------
    ValueError If there are not as many parts as groups, or if scores are no numbers. Only a mistake of the program
        leads to this, because our scores are made of finite counts and residuals, whatever the records hold.
    """
    values, first = np.asarray(scores, float), np.asarray(starts)
    if not np.isfinite(values).all():
        raise ValueError("scores that are NaN or infinite: expected finite numbers, mend the score")
    if event.parts is not None and event.n_parts != len(first):
        raise ValueError(f"{len(first)} groups for {event.n_parts} parts: expected a part for each group")
    if change_range is not None:
        most = 2 * event.sensitivity
        if not 0 < change_range <= most:
            raise ValueError(f"change_range={change_range!r}: expected a number in (0, {most:g}]")
        event = replace(event, change_range=change_range)
    groups = {"scores": values, "starts": first, "rate": _rate(event, net, monotone=monotone)}
    if event.parts is None and len(first) > 1:
        epsilons, rhos = (np.broadcast_to(cost, first.shape) for cost in (event.epsilon, event.rho))
        event = replace(event, epsilon=np.asarray(epsilons.sum()), rho=np.asarray(rhos.sum()))
    return event, groups


def _rate(event: Event, epsilon: Floats, *, monotone: bool) -> Floats:
    """Exponent per unit of score that a selection may use, by fact F1."""
    if not math.isnan(event.change_range):
        return epsilon / event.change_range
    return epsilon / (event.sensitivity if monotone else 2 * event.sensitivity)
