"""The cost of a sequence of releases at δ, by conversion of zCDP and by the adaptive worst case step by step.

A sequence is given as :class:`Step` objects in the order in which the releases happen. Each release may depend on all
earlier outputs, but the kinds, the sizes and the number of steps must not. Where these follow from earlier outputs, a
:class:`Choice` declares what they may be.

Notes
-----
Let P and Q be the laws of everything released on two neighbours, and let r = dQ/dP at what is released so far. It
starts at 1 and keeps its mean under P. The least δ for ε is the supremum of E_P[(1 − e^ε r)₊]. Put u = e^ε r and let
U_i(u) be the largest expectation of (1 − u)₊ at the end over whatever steps i + 1, …, k may do. So U_k(u) = (1 − u)₊
and δ(ε) = U_0(e^ε), and one recursion gives the answer for all ε. Each U_i is convex and decreasing, with U_i(0) = 1.

*Selections*. A choice of bounded range η multiplies u by a number in some [a, a e^η], of mean 1. Since U is convex, the
two ends are the worst law for given a. So U_{i−1}(u) is the supremum over t = 1/a in [1, e^η] of [(e^η − t) U_i(u/t) +
(t − 1) U_i(u e^η/t)] / (e^η − 1). *Ratios* of an ε-DP release lie in [e^−ε, e^ε], so its two ends are fixed. *Gaussian*
noise of shift μ multiplies u by exp(μZ − μ²/2); a smaller shift is never worse, and neighbours that follow each other
merge into one of μ² = Σ μ_i². Ratios dP/dQ obey the same bounds, so both orders are covered.

*Choices* among finitely many plans, by outputs so far, are also made by the adversary. So U before a choice is the
largest U of the plans, and it stays convex and decreasing. Plans that begin with the same declared steps part after
these, and only there. Nothing is merged across the place where outputs may choose, because the chooser knows the noise
before it.

*Less than planned.* A release that is left out multiplies u by 1, and a smaller one multiplies u by a number that the
larger one may give too. So both are among the laws of the step. A Gaussian may come later than planned, even after a
choice, because the supremum over selections and plans of a mean over noise is at most the mean of suprema. Outputs may
decide when its parts are spent, because U before a part, with the rest to come, is U before all of it. So
:func:`covers` allows that releases are left out or shrink, and that Gaussians are put off. All this holds along one
plan. If there are several plans, the followed one has to be named first. Otherwise outputs that a plan had not released
yet might have chosen a path whose every step some plan covers.

*Upper bounds only*. A :class:`_Curve` holds values at equally spaced log u. Chords in u of a convex function lie above
it, and so do the chord from (0, 1) on the left and the last value on the right. The recursion is monotone, so it keeps
bounds from above. Between nodes both arguments move along chords and the numerator is A − b t − g/t: its chord in t,
plus g (t − t₁)(t₂ − t) / (t t₁ t₂). With t₁ for t in the last denominator its maximum has a closed form. A step is m
spacings wide, so nodes are met at both ends. A stretch of several spacings may be bounded in one piece; stretches far
from the middle, where the worst a is not, are. All sums have terms of one sign, and each step adds the share ``GUARD``
for rounding.

*Discrete Gaussian* noise of standard deviation s ≥ 2 in units, against a Gaussian that is rounded to units: the
likelihood ratio has second moment at most E exp(xy/s²) · (1 + 10⁻³³) < 1 + 1/(287 s⁴) for x, y uniform on [−½, ½],
by the discrete law's sub-Gaussian moments. Second moments multiply, so n entries in all are off by at most
½ √((1 + 1/(287 s⁴))ⁿ − 1) in total variation. Rounding is post-processing. The distance τ on both neighbours costs
(1 + e^ε) τ of δ. Only entries that differ between the neighbours count, at most (Δ/unit)² of them. For fine noise and
large ε another bound is less: up to 10 s the logarithm of that ratio is at most 100/(24 s²) and the draws are off by a
share of 2⁻⁴²; call both together β. Then δ(ε + 2nβ) is at most e^(nβ) that of Gaussian noise at ε, plus (1 + e^ε) n
times the chance of more than 10 s.

References
----------
Dong, Durfee, Rogers (2020), Optimal differential privacy composition for exponential mechanisms; Dong, Roth, Su (2022),
Gaussian differential privacy; Kairouz, Oh, Viswanath (2015), The composition theorem for differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise, repeat, takewhile
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from ..arrays import Floats
from ..checks import check_choice, check_epsilon

Kind = Literal["selection", "ratio", "gaussian"]
STEP_KINDS = ("selection", "ratio", "gaussian")

SLACK = 1e-12  # relative error of sums; Gaussians are counted as larger by this share
GUARD = 2.0**-46  # share that a step adds for rounding, 64 units in the last place
BEND = 4.2  # more than 100/24
BEYOND = 2.5e-21  # chance of more than 10 standard deviations, less half a unit; see *Discrete Gaussian* above for both
LEAST_SD = 2.0  # in units, for the bound on discrete noise
MOST_STEPS = 4096  # longest sequence that is worked out
MOST_GAUSSIANS = 8  # among selections; more are taken in groups, which costs .5 % of ε at most in the tests
WIDEST = 600.0  # log u that the numbers hold


class Step(NamedTuple):
    """One release, or several of one kind in a row."""

    kind: Kind  # `"selection"` of bounded range, `"ratio"` for any pure ε-DP release, or `"gaussian"` noise
    # Size of each release, which is the range η, the ε, or the shift μ = √(2ρ) in standard deviations.
    size: float
    times: int = 1  # number of releases
    # Standard deviation of discrete Gaussian noise in units of its lattice; `inf` for real numbers.
    sd: float = math.inf
    # Largest number of entries of a vector with discrete noise in which two neighbours differ, if known.
    entries: float = math.inf

    @property
    def variance(self) -> float:
        """Variance of the log-ratio in small steps, which is 2ρ."""
        each = {"selection": 0.25, "ratio": 1.0, "gaussian": 1.0}[self.kind]
        return self.times * each * self.size**2

    @property
    def reach(self) -> float:
        """The most that the log-ratio may move."""
        return math.inf if self.kind == "gaussian" else self.times * self.size


class Share(NamedTuple):
    """Part of a planned sequence."""

    # kind, times, entries: as for :class:`Step`.
    kind: Kind
    share: float  # share of the total ρ, for all of its releases together
    times: int = 1
    # Sensitivity of discrete Gaussian noise in units of its lattice; `inf` for real numbers.
    units: float = math.inf
    entries: float = math.inf
    sd: float = math.inf  # smallest standard deviation in units that the noise may have, if known

    def step(self, rho: float) -> Step:
        """The releases at a total ρ."""
        each = rho * self.share / self.times
        size = math.sqrt((8 if self.kind == "selection" else 2) * each)
        sd = min(self.units / size, self.sd) if self.kind == "gaussian" else math.inf
        return Step(self.kind, size, self.times, sd, self.entries)


Plans = tuple[tuple[Share, ...], ...]
"""Sequences in shares, one of which outputs choose; the shares of the dearest one add up to 1."""


class Choice(NamedTuple):
    """One of several declared plans; outputs decide which one, before the steps in which it differs from others."""

    # Plans, each a sequence of steps. The chooser knows what came before, and the first steps that plans
    # declare alike, and nothing later.
    plans: tuple[tuple[Step, ...], ...]


Sequel = Sequence[Step | Choice]
"""Steps in their order, and choices of what follows."""


# --- Conversion of zCDP ---------------------------------------------------------------------------------------


def zcdp_epsilon(*, rho: float, delta: float) -> float:
    """Smallest ε for which ρ-zCDP gives (ε, δ)-DP by the optimal conversion over Rényi orders.

    Parameters
    ----------
    rho : parameter ρ of zCDP, at least 0.
    delta : in (0, 1).

    References
    ----------
    Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy, Proposition 12.
    """
    if not (rho >= 0 and 0 < delta < 1):
        raise ValueError(
            f"rho={rho!r}, delta={delta!r}: expected rho of at least 0, and delta in (0, 1) such as 1e-6"
        )
    if rho == 0 or math.isinf(rho):
        return rho

    def at(log_excess: float) -> float:
        excess = math.exp(log_excess)  # Rényi order minus 1
        order = 1 + excess
        return rho * order + math.log1p(-1 / order) - math.log(delta * order) / excess

    start = 0.5 * math.log(max(-math.log(delta), 1.0) / rho)
    best = minimize_scalar(at, bounds=(start - 8, start + 8), method="bounded", options={"xatol": 1e-10})
    return max(float(best.fun), 0.0)


@lru_cache(maxsize=256)
def zcdp_rho(*, epsilon: float, delta: float) -> float:
    """Largest ρ whose :func:`zcdp_epsilon` at ``delta`` does not exceed ``epsilon``."""
    low, high = 0.0, check_epsilon(epsilon) + 1.0
    if math.isinf(high):
        return high
    while zcdp_epsilon(rho=high, delta=delta) < epsilon:
        high *= 2
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (middle, high) if zcdp_epsilon(rho=middle, delta=delta) <= epsilon else (low, middle)
    return low


# --- The worst case of a sequence -----------------------------------------------------------------------------


def tight_delta(steps: Sequel, *, epsilon: float) -> float:
    """A δ, close to the least, for which the adaptive worst case of a sequence is (ε, δ)-DP.

    Parameters
    ----------
    steps : in the order in which they happen; a :class:`Choice` stands where outputs decide what follows.
    epsilon : at least 0.

    Returns
    -------
    δ in [0, 1], which is 1 for a sequence that is too long or too dear to be worked out.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon={epsilon!r}: expected a number of at least 0")
    _check(steps)
    return min(_with_lattice(_delta_curve(steps, top=epsilon), steps)(epsilon), 1.0)


def tight_epsilon(steps: Sequel, *, delta: float) -> float:
    """An ε, close to the least, for which the adaptive worst case of a sequence is (ε, δ)-DP.

    Parameters
    ----------
    steps : in the order in which they happen; a :class:`Choice` stands where outputs decide what follows.
    delta : in (0, 1).

    Returns
    -------
    ε, which is ``inf`` for a sequence that is too long or too dear to be worked out.
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta={delta!r}: expected a number in (0, 1), such as 1e-6")
    _check(steps)
    return _epsilon(tuple(steps), delta)


@lru_cache(maxsize=256)
def _epsilon(steps: tuple[Step | Choice, ...], delta: float) -> float:
    rho = 0.5 * _most(steps, lambda step: step.variance)
    top = rho + 2 * math.sqrt(-rho * math.log(delta / 2))  # zCDP at δ/2 has no larger ε
    if not top < WIDEST:
        return math.inf
    value = _with_lattice(_delta_curve(steps, top=top), steps)
    tried = np.linspace(0.0, top, 65).tolist()
    first = next((i for i, epsilon in enumerate(tried) if value(epsilon) <= delta), None)
    if first is None:
        return math.inf
    return _least(lambda epsilon: value(epsilon) <= delta, low=tried[max(first - 1, 0)], high=tried[first])


def _least(holds: Callable[[float], bool], *, low: float, high: float) -> float:
    """A number between ``low`` and ``high``, close to the least, for which a condition holds; it holds at ``high``."""
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def doubled(steps: Sequel) -> tuple[Step | Choice, ...]:
    """The steps for pairs that are a removal and an addition apart, with ranges, ε and shifts twice as large."""
    return tuple(
        Choice(tuple(tuple(map(_doubled, plan)) for plan in step.plans))
        if isinstance(step, Choice)
        else _doubled(step)
        for step in steps
    )


def _doubled(step: Step) -> Step:
    return step._replace(size=2 * step.size, entries=2 * step.entries)


def _check(steps: Sequel) -> None:
    for step in _all_steps(steps):
        check_choice("kind", step.kind, STEP_KINDS)
        if not (step.size >= 0 and step.times >= 1 and step.sd > 0 and step.entries >= 0):
            raise ValueError(
                f"{step}: expected size and entries of at least 0, times of at least 1 and a positive sd"
            )


def _all_steps(steps: Sequel) -> Iterator[Step]:
    for step in steps:
        if not isinstance(step, Choice):
            yield step
        elif not step.plans:
            raise ValueError("a choice of no plans: expected one plan at least, which may be empty")
        else:
            for plan in step.plans:
                yield from plan


def _most(steps: Sequel, of: Callable[[Step], float]) -> float:
    """Largest sum of something over all that may happen."""
    return math.fsum(
        max(math.fsum(map(of, plan)) for plan in step.plans) if isinstance(step, Choice) else of(step)
        for step in steps
    )


# --- Discrete noise -------------------------------------------------------------------------------------------


def _changed(step: Step) -> float:
    """Entries with discrete noise in which neighbours differ."""
    if math.isinf(step.sd):
        return 0.0
    # A planned sd is the least that it may be, and more steps of a finer lattice fit into the sensitivity: what is
    # known of the entries comes first.
    entries = step.entries if math.isfinite(step.entries) else (step.size * step.sd) ** 2 * (1 + 1e-9)
    return step.times * entries


def _log_moment(step: Step) -> float:
    """What the entries add to the logarithm of the second moment."""
    coarse = step.sd < LEAST_SD
    return math.inf if coarse else _changed(step) * math.log1p(1 / (287 * step.sd**4))


def _bend(step: Step) -> float:
    """What the entries add to nβ."""
    return math.inf if step.sd < LEAST_SD else _changed(step) * (BEND / step.sd**2 + 2.0**-42)


def _lattice_cost(steps: Sequel, epsilon: float) -> float:
    """The part of δ that pays for counting discrete Gaussian noise as Gaussian, by total variation."""
    log_moment = _most(steps, _log_moment)
    if log_moment > 1:
        return math.inf
    # A draw is 2⁻⁴⁴ in total variation from its law: the chances of its digits are rounded.
    distance = 0.5 * math.sqrt(math.expm1(log_moment)) + _most(steps, _changed) * 2.0**-44
    return (1 + math.exp(epsilon)) * distance * (1 + 1e-12)


def _with_lattice(value: Callable[[float], float], steps: Sequel) -> Callable[[float], float]:
    """δ as a function of ε with discrete noise, from the function for Gaussian noise; the lesser of two bounds."""
    bend, changed = _most(steps, _bend) * (1 + 1e-12), _most(steps, _changed)

    def delta(epsilon: float) -> float:
        by_distance = value(epsilon) + _lattice_cost(steps, epsilon)
        if changed == 0 or bend > 1:
            return by_distance
        tails = (1 + math.exp(epsilon)) * changed * BEYOND
        return min(by_distance, math.exp(bend) * value(epsilon - 2 * bend) * (1 + 1e-12) + tails)

    return delta


# --- What plans cover -----------------------------------------------------------------------------------------


def common_steps(plans: Sequence[Sequence[Step]]) -> tuple[Step, ...]:
    """The steps with which all plans begin, which may be released before one of the plans is chosen."""
    return tuple(
        alike[0] for alike in takewhile(lambda steps: len(set(steps)) == 1, zip(*plans, strict=False))
    )


def covers(plan: Sequence[Step], happened: Sequence[Step | Choice]) -> bool:
    """Whether what happened follows from a plan by leaving out, shrinking, and putting off Gaussians.

    Parameters
    ----------
    plan : a sequence of steps that was declared, or named before any of them happened.
    happened : what happened, in order. Choices in it are not looked into, and not covered.
    """
    steps = [step for step in happened if not isinstance(step, Choice)]
    return len(steps) == len(happened) and _covers(plan, steps)


def _covers(plan: Sequence[Step], happened: Sequence[Step]) -> bool:
    """Each release takes the first free place after those taken; Gaussians take what they need of all places before."""
    if any(_most(happened, of) > _most(plan, of) * (1 + SLACK) for of in (_log_moment, _bend, _changed)):
        return False
    places, left, passed = _one_by_one(plan), 0.0, 0.0
    for step in _one_by_one(happened):
        noise = step.variance if step.kind == "gaussian" else math.inf
        while not noise <= left + SLACK * passed:
            place = next(places, None)
            if place is None:
                return False
            if place.kind == "gaussian":
                left += place.variance
                passed += place.variance
            elif place.kind == step.kind and step.size <= place.size:
                break
        left -= noise if step.kind == "gaussian" else 0.0
    return True


def _one_by_one(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield from repeat(step, 1) if step.kind == "gaussian" else repeat(step._replace(times=1), step.times)


# --- The recursion --------------------------------------------------------------------------------------------


def _arranged(steps: Sequence[Step]) -> tuple[Step, ...]:
    """A sequence with the same worst case, or a dearer one, and fewer entries.

    Between two selections the others have fixed laws and may change places, and Gaussians merge. What comes earlier
    is known to a selection, so a Gaussian that is taken earlier makes the worst case no cheaper.
    """
    steps = [step for step in steps if step.size > 0]
    runs: list[Step] = []
    for selections, part in groupby(steps, key=lambda step: step.kind == "selection"):
        if selections:
            runs += part
            continue
        fixed = sorted(part, key=lambda step: (step.kind == "gaussian", step.size))
        runs += [step for step in fixed if step.kind == "ratio"]
        gaussians = [step for step in fixed if step.kind == "gaussian"]
        runs += [_merged(gaussians)] if gaussians else []
    runs = list(_joined(runs))
    return _fewer_gaussians(runs)


def _fewer_gaussians(runs: list[Step]) -> tuple[Step, ...]:
    """Gaussians among selections, joined in groups; each group is taken all at once where its first one stands."""
    inner = [i for i, run in enumerate(runs[:-1]) if run.kind == "gaussian"]
    if len(inner) <= MOST_GAUSSIANS:
        return tuple(runs)
    groups = np.array_split(inner, MOST_GAUSSIANS)
    merged = {int(group[0]): _merged([runs[i] for i in group.tolist()]) for group in groups}
    kept = (merged.get(i, run) for i, run in enumerate(runs) if i not in inner or i in merged)
    return tuple(_joined(kept))


def _merged(gaussians: Sequence[Step]) -> Step:
    """One Gaussian for several in a row."""
    return Step("gaussian", math.sqrt(math.fsum(step.variance for step in gaussians)) * (1 + SLACK))


def _joined(runs: Iterable[Step]) -> Iterator[Step]:
    """Runs of the same kind and size that follow each other as one."""
    for (kind, size), same in groupby(runs, key=lambda run: (run.kind, run.size)):
        yield Step(kind, size, sum(run.times for run in same))


def _delta_curve(steps: Sequel, *, top: float) -> Callable[[float], float]:
    """δ as a function of ε, best up to ε = ``top``."""
    deviation = math.sqrt(_most(steps, lambda step: step.variance))
    if deviation == 0:
        return lambda epsilon: max(-math.expm1(epsilon), 0.0)
    count = _most(steps, lambda step: step.times * (step.kind != "gaussian" and step.size > 0))
    reach = _most(steps, lambda step: step.reach if step.size > 0 else 0.0)
    low, high = max(-4 * deviation, -reach), min(top + 2 * deviation, reach)
    if count > MOST_STEPS or not max(high, -low) < WIDEST:
        return lambda epsilon: 1.0
    # Spacing of a step in deviations of all steps, times the root of their number, and the width of a selection along
    # which δ falls by about 0.8 in the exponent: tests/test_accounting.py says how closely exact cases are met so.
    window = _Window(low, high, 0.063 * deviation, 0.8 * deviation**2 / max(top, 1e-9))
    first = _backwards(steps, _Later(None, 0.0, 0.0, 0), window)
    return lambda epsilon: float(first.at(np.array([epsilon]))[0])


class _Window(NamedTuple):
    """Where and how finely a curve is needed, and from which width on selections are looked at everywhere.

    ``spacing`` is that of one step; it shrinks with the root of their number.
    """

    low: float
    high: float
    spacing: float
    narrow: float


class _Later(NamedTuple):
    """The rest of a sequence, by U, its variance, and its number of steps that are no Gaussians.

    As long as there are no such steps, ``curve`` is None, and one Gaussian of the given shift is all.
    """

    curve: _Curve | None
    shift: float
    variance: float
    steps: int

    def at(self, y: Floats) -> Floats:
        """U at some log u."""
        if self.curve is not None:
            return self.curve.at(y)
        return _gaussian_end(self.shift, y) if self.shift else np.maximum(-np.expm1(y), 0.0)

    def on(self, step: float, window: _Window) -> _Curve:
        """U on a grid."""
        if self.curve is not None:
            return self.curve.regrid(step, window.low, window.high)
        first, nodes = _nodes(step, window.low, window.high)
        return _Curve(step, first, nodes).become(self.at(nodes))


def _backwards(steps: Sequel, later: _Later, window: _Window) -> _Later:
    """What is left before steps and choices."""
    for choice, part in groupby(reversed(steps), key=lambda step: isinstance(step, Choice)):
        if not choice:
            later = _through(
                _arranged([step for step in part if not isinstance(step, Choice)][::-1]), later, window
            )
            continue
        for one in part:
            if isinstance(one, Choice):
                later = _before(sorted(set(one.plans)), later, window)
    return later


def _before(plans: Sequence[tuple[Step, ...]], later: _Later, window: _Window) -> _Later:
    """What is left before a choice; plans that begin alike, as they are declared, are chosen among behind that."""
    if len(plans) == 1:
        return _through(_arranged(plans[0]), later, window)
    found = []
    for head, alike in groupby(plans, key=lambda plan: plan[:1]):
        rest = _before([plan[1:] for plan in alike], later, window)
        found.append(_through(_arranged(head), rest, window))
    return _worst(found, window)


def _worst(found: Sequence[_Later], window: _Window) -> _Later:
    """The largest U of several."""
    variance, steps = max(each.variance for each in found), max(each.steps for each in found)
    curves = [each.curve for each in found if each.curve is not None]
    if not curves:
        return _Later(None, max(each.shift for each in found), variance, steps)
    spacing = min(curve.step for curve in curves)
    first, nodes = _nodes(spacing, window.low, window.high)
    values = np.max([each.at(nodes) for each in found], axis=0)
    return _Later(_Curve(spacing, first, values).become(values), 0.0, variance, steps)


def _through(runs: Sequence[Step], later: _Later, window: _Window) -> _Later:
    """What is left before steps that are arranged."""
    curve, shift, left, after = later
    number = sum(run.times for run in runs if run.kind != "gaussian") + after
    spacing = window.spacing / math.sqrt(min(max(number, 64), 300))  # as far as the number decides
    for run in reversed(runs):
        left += run.variance
        if run.kind == "gaussian":
            if curve is None:
                shift = math.hypot(shift, run.size)
            else:
                curve = _spread(curve, run.size)
            continue
        width = max(run.size if run.kind == "selection" else 2 * run.size, 2 * spacing)
        parts = 2 ** max(1, round(math.log2(width / spacing)))
        curve = _Later(curve, shift, 0.0, 0).on(math.nextafter(width / parts, math.inf), window)
        follows = left - run.variance
        for _ in range(run.times):
            if run.kind == "ratio":
                curve = _two_point(curve, parts)
            else:
                rough = width > min(window.narrow, 0.31 * math.sqrt(follows))  # in deviations of what follows
                curve = _selected(curve, _cuts(parts, rough=rough))
            follows += run.variance / run.times
    return _Later(curve, shift, left, number)


@dataclass(frozen=True)
class _Curve:
    """Upper bounds of a convex, decreasing U at u = e^y."""

    step: float  # spacing of the nodes y
    first: int  # number of the first node; node j is at y = j · step
    values: Floats  # (nodes,) in [0, 1]

    def at(self, y: Floats) -> Floats:
        """Upper bounds at any y: along chords in u, from (0, 1) on the left, and the last value on the right."""
        last, start = len(self.values) - 1, self.first * self.step
        j = np.clip(np.floor(y / self.step).astype(np.intp) - self.first, 0, last - 1)
        beyond = np.clip(y - (self.first + j) * self.step, 0.0, self.step)
        doubt = 2.0**-48 * (1 + np.abs(y) / self.step)  # of the place between two nodes
        part = np.maximum(np.expm1(beyond) / math.expm1(self.step) - doubt, 0.0)
        inside = (1 - part) * self.values[j] + part * self.values[j + 1]
        values: Floats = np.where(y < start, _towards_one(self.values[0], start - y), inside) * (1 + GUARD)
        return np.minimum(values, 1.0)

    def regrid(self, step: float, low: float, high: float) -> _Curve:
        """The curve on another grid; chords lie above chords of a finer one."""
        if step == self.step:
            return self
        first, nodes = _nodes(step, low, high)
        return _Curve(step, first, self.at(nodes))

    def padded(self, parts: int) -> Floats:
        """Values with so many nodes more on either side."""
        before = _towards_one(self.values[0], self.step * np.arange(parts, 0, -1, dtype=float))
        return np.concatenate([before, self.values, np.full(parts, self.values[-1])])

    def become(self, values: Floats) -> _Curve:
        """A curve on the same nodes, its values rounded up."""
        return _Curve(self.step, self.first, np.minimum(values * (1 + GUARD), 1.0))


def _towards_one(value: float, distance: Floats) -> Floats:
    """Chord in u from (0, 1) to a value at some y, so far to the left of that y."""
    distance = np.maximum(distance, 0.0)
    chord: Floats = value * np.exp(-distance) - np.expm1(-distance)
    return chord


def _nodes(step: float, low: float, high: float) -> tuple[int, Floats]:
    first, last = math.floor(low / step), math.ceil(high / step)
    return first, step * np.arange(first, max(last, first + 1) + 1, dtype=float)


def _gaussian_end(shift: float, y: Floats) -> Floats:
    """Expectation of (1 − u)₊ after Gaussian noise, with what rounding may take."""
    above, below = 0.5 * shift - y / shift, -0.5 * shift - y / shift
    first = ndtr(above)
    value = first - np.exp(np.minimum(y, WIDEST)) * ndtr(below)
    bound: Floats = np.clip(value, 0.0, None) + first * 2.0**-50 * (8 + above**2 + below**2)
    return bound


def _cuts(parts: int, *, rough: bool) -> list[int]:
    """Where the stretches of a step end: everywhere, or halving towards the middle."""
    if rough or parts < 16:
        return list(range(parts + 1))
    distances = [parts // 2] + [parts // 2**i for i in range(3, parts.bit_length())]
    left = [parts // 2 - distance for distance in distances]
    return [*left, parts // 2, *(parts - cut for cut in reversed(left))]


def _selected(curve: _Curve, cuts: Sequence[int]) -> _Curve:
    """One selection earlier: the supremum over the worst two-point laws, stretch by stretch between cuts.

    The numerator at a cut t is (e^η − t) U(u/t) + (t − 1) U(u e^η/t), and g (t₂ − t₁)² / (t₁² t₂) is at most
    (t₂ − t₁)/t₁ · (e^η D − D′), for D and D′ what U loses along the lower and the upper chord.
    """
    parts, n, step = cuts[-1], len(curve.values), curve.step
    values, scale = curve.padded(parts), math.expm1(parts * step)
    steep = math.exp(parts * step) * (1 + GUARD)

    def at(cut: int) -> tuple[Floats, Floats, Floats]:
        lower, upper = values[parts - cut :][:n], values[2 * parts - cut :][:n]
        likely, rare = math.exp(cut * step) * math.expm1((parts - cut) * step), math.expm1(cut * step)
        return lower, upper, likely / scale * lower + rare / scale * upper

    best = np.zeros(n)
    for (first, known), (second, found) in pairwise((cut, at(cut)) for cut in cuts):
        (lower, upper, start), (lower_next, upper_next, end) = known, found
        lost = steep * (lower_next - lower) - (upper_next - upper)
        bend = np.maximum(lost * (math.expm1((second - first) * step) / scale), 1e-300)
        rise = np.maximum(bend - np.abs(end - start), 0.0)
        np.maximum(best, np.maximum(start, end) + 0.25 * rise * rise / bend, out=best)
    return curve.become(best)


def _two_point(curve: _Curve, parts: int) -> _Curve:
    """One ε-DP release earlier: ratios e^−ε and e^ε, half of ``parts`` nodes away."""
    values, n = curve.padded(parts // 2), len(curve.values)
    half = 0.5 * parts * curve.step
    likely = 1 / (1 + math.exp(-half))  # p of e^−ε
    return curve.become(likely * values[:n] + math.exp(-half) * likely * values[parts : parts + n])


def _spread(curve: _Curve, shift: float) -> _Curve:
    """Gaussian noise earlier: U is its last value and ramps along its chords, each averaged in closed form."""
    n, step = len(curve.values), curve.step
    edges = step * np.arange(1 - n, n)
    above, below = edges / shift + 0.5 * shift, edges / shift - 0.5 * shift
    under = ndtr(above)
    doubt = under * 2.0**-48 * (8 + above**2 + below**2)
    put = under - np.exp(-edges) * ndtr(below)  # E(1 − X/K)₊ at K = e^edge
    grow = math.exp(step)
    ramps = (grow * put[1:] - put[:-1] + (grow * doubt[1:] + doubt[:-1])) / math.expm1(step)
    ramps = np.clip(ramps, 0.0, under[1:] * (1 + GUARD))
    left = np.clip(put + doubt, 0.0, under)[n - 1 :: -1]
    lost = np.maximum(curve.values[:-1] - curve.values[1:], 0.0)
    along = np.correlate(ramps, lost, "valid")[::-1]
    total = curve.values[-1] + (1 - curve.values[0]) * left + along * (1 + n * 2.0**-52)
    return curve.become(total)


# --- Planning -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def tight_rho(
    plans: Plans, *, epsilon: float, delta: float, neighbours: str = "add-remove", near: float = 1e-5
) -> float:
    """Largest total ρ that is found for plans in shares of ρ, so that their tight ε at δ is at most a claim.

    Parameters
    ----------
    plans : one of them follows, as outputs choose.
    epsilon, delta : the claim under ``neighbours``.
    neighbours : ``"add-remove"`` or ``"replace"``.
    near : share of the claim that the ε found may stay below it.

    Returns
    -------
    ρ to book for one record more or less, under either relation; never below what :func:`zcdp_rho` allows.
    """
    shares = [math.fsum(part.share for part in plan) for plan in plans]
    if abs(max(shares, default=0.0) - 1) > 1e-9:
        raise ValueError(f"shares {shares}: expected numbers that add up to 1 in the dearest plan")
    check_choice("neighbours", neighbours, ("add-remove", "replace"))
    replace = neighbours == "replace"
    factor = 4 if replace else 1
    least = zcdp_rho(epsilon=epsilon, delta=delta) / factor * (1 - 1e-12)
    if math.isinf(least):
        return least
    target = epsilon * (1 - 1e-7)  # the last digits of a ledger's sizes may differ from these
    aim = gaussian_rho(epsilon=target * (1 - 0.6 * near), delta=delta)
    tried, found = aim / factor, least
    for _ in range(8):
        steps = (Choice(planned(plans, tried)),)
        cost = tight_epsilon(doubled(steps) if replace else steps, delta=delta)
        if math.isinf(cost) or cost <= 0:
            break
        if cost <= target:
            found = max(found, tried)
            if cost > target * (1 - near):
                break
        tried *= aim / gaussian_rho(epsilon=cost, delta=delta)
    return found


def budgeted(
    plans: Plans, *, epsilon: float, delta: float, neighbours: str = "add-remove"
) -> tuple[float, tuple[tuple[Step, ...], ...]]:
    """The ρ that whichever of several plans may spend, and the plans to declare; none where nothing is protected.

    It is never above that of Gaussian noise, so that a claim bounds what will be booked for it.

    Parameters
    ----------
    plans : in shares, see :func:`tight_rho`.
    epsilon, delta, neighbours : the claim.
    """
    # Several plans take longer to work out: .3 % of ε may be left.
    rho = tight_rho(plans, epsilon=epsilon, delta=delta, neighbours=neighbours, near=3e-3)
    if math.isinf(rho):
        return rho, ()
    rho = min(rho, gaussian_rho(epsilon=epsilon, delta=delta) / (4 if neighbours == "replace" else 1))
    declared = rho * (1 - 1e-10)  # between what may be spent and the claim, whatever is rounded
    return rho * (1 - 1e-9), planned(plans, declared)


def planned(plans: Plans, rho: float) -> tuple[tuple[Step, ...], ...]:
    """The releases of plans at a total ρ."""
    return tuple(tuple(part.step(rho) for part in plan) for plan in plans)


@lru_cache(maxsize=256)
def gaussian_rho(*, epsilon: float, delta: float) -> float:
    """Largest ρ at which Gaussian noise alone is (ε, δ)-DP."""
    least = zcdp_rho(epsilon=epsilon, delta=delta)
    if math.isinf(least):
        return least
    low = high = math.log(least)
    at = np.array([epsilon])

    def holds(log_rho: float) -> bool:
        return float(_gaussian_end(math.exp(0.5 * (log_rho + math.log(2))), at)[0]) <= delta

    while holds(high):
        low, high = high, high + 0.1
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return math.exp(low)
