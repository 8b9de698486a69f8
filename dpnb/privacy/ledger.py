"""Budget door, where every release is an event, events compose in nested scopes, and the ledger adds them up.

*What happened* (:class:`Event`) is kept apart from *what it costs* (:class:`Cost`). Costs are booked for the add/remove
relation. Under ``neighbours="replace"`` two neighbours are one removal and one addition apart, so group privacy doubles
a pure ε and multiplies ρ by four.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from threading import Lock
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar

import numpy as np

from ..arrays import Floats, Ints
from ..checks import check_choice, check_delta, check_epsilon
from ..domain import Domain
from ..domain.people import UNITS, Unit
from ..errors import visible
from .accounting import Choice, Step, common_steps, covers, doubled, tight_epsilon
from .accounting import zcdp_epsilon as zcdp_epsilon
from .accounting import zcdp_rho as zcdp_rho

Neighbours = Literal["add-remove", "replace"]
BOUNDED_RANGE = ("exponential", "interval exponential")
"""Mechanisms whose ε bounds how far their log-ratios lie apart, not only how large they are."""
SEQUENTIAL = "sequential"


class Cost(NamedTuple):
    """Privacy cost under add/remove: pure ``epsilon`` and zCDP ``rho``, either may be infinite."""

    epsilon: float
    rho: float

    @classmethod
    def pure(cls, epsilon: float) -> Cost:
        """The most that an ε-DP release may cost."""
        return cls(epsilon, epsilon**2 / 2)


@dataclass(frozen=True, kw_only=True)
class Event:
    """One release, possibly made for many disjoint parts of the data at once."""

    what: str  # what the release is for, in words
    mechanism: str  # name of the mechanism, which is `"exact"` for a value published without noise
    # epsilon, rho: cost for a record in each part, as scalars or arrays over `parts`.
    epsilon: Floats
    rho: Floats
    sensitivity: float = math.nan  # declared sensitivity of the query or score; NaN where there is none
    # Declared range g of the changes of a choice's scores; NaN where it follows from the sensitivity.
    change_range: float = math.nan
    parts: Ints | None = None  # node numbers of the disjoint parts, or None when all data are concerned
    # Smallest standard deviation of discrete Gaussian noise in units of its lattice; NaN where unknown.
    lattice_sd: float = math.nan
    # Largest number of entries of a noisy vector that one record changes; `inf` where it follows from the
    # sensitivity.
    changed: float = math.inf

    @property
    def n_parts(self) -> int:
        """Number of disjoint parts."""
        return 1 if self.parts is None else len(self.parts)

    @cached_property
    def worst(self) -> Cost:
        """Cost for the dearest part, because the parts are disjoint and a record pays for one of them."""
        return Cost(float(np.max(self.epsilon, initial=0.0)), float(np.max(self.rho, initial=0.0)))

    @property
    def step(self) -> Step:
        """The step that the release is for the tight rule; where no more is known, it counts by its pure ε."""
        epsilon, rho = self.worst
        if self.parts is None and self.mechanism in BOUNDED_RANGE:
            return Step("selection", epsilon)
        if self.parts is None and self.mechanism == "gaussian":
            return Step("gaussian", math.sqrt(2 * rho))
        if self.parts is None and self.mechanism == "discrete gaussian" and self.lattice_sd > 0:
            return Step("gaussian", math.sqrt(2 * rho), sd=self.lattice_sd, entries=self.changed)
        return Step("ratio", epsilon)


def planned_rule(plans: int) -> str:
    """How a scope with declared plans composes, in words."""
    return f"sequential, the worst of {plans} plans" if plans > 1 else "sequential, as planned"


def _sum(costs: Sequence[Cost]) -> Cost:
    return Cost(math.fsum(c.epsilon for c in costs), math.fsum(c.rho for c in costs))


def _dearest(each: int, costs: Sequence[Cost]) -> Cost:
    epsilons = sorted((c.epsilon for c in costs), reverse=True)[:each]
    rhos = sorted((c.rho for c in costs), reverse=True)[:each]
    return Cost(math.fsum(epsilons), math.fsum(rhos))


def _multiplied(multiply: Callable[[Cost], Cost], costs: Sequence[Cost]) -> Cost:
    return multiply(_sum(costs))


def _booked(most: Cost | None, happened: Cost) -> Cost:
    """The cost of all that was declared beforehand, or of what happened if that is more."""
    if most is None:
        return happened
    over = [cost > limit * (1 + 1e-12) for cost, limit in zip(happened, most, strict=True)]
    return Cost(*(cost if more else limit for cost, limit, more in zip(happened, most, over, strict=True)))


def _at_most(most: Cost, costs: Sequence[Cost]) -> Cost:
    return _booked(most, _sum(costs))


def _capped(cap: Cost, costs: Sequence[Cost]) -> Cost:
    total = _sum(costs)  # a leak stays a leak
    return Cost(
        total.epsilon if math.isinf(total.epsilon) else min(total.epsilon, cap.epsilon),
        total.rho if math.isinf(total.rho) else min(total.rho, cap.rho),
    )


@dataclass(eq=False)
class Scope:
    """A node of the budget tree, which says how its children compose."""

    what: str
    rule: str
    compose: Callable[[Sequence[Cost]], Cost] = field(repr=False)
    children: list[Scope | Event] = field(default_factory=list, repr=False)

    @property
    def cost(self) -> Cost:
        """Cost of everything below, for one record of the scope's input."""
        return self.compose([c.worst if isinstance(c, Event) else c.cost for c in self.children])

    def events(self) -> Iterator[Event]:
        """All events below, in the order in which they happened."""
        for child in self.children:
            if isinstance(child, Event):
                yield child
            else:
                yield from child.events()

    def steps(self) -> Iterator[Step | Choice]:
        """All steps below for the tight rule, in order; a scope that is not sequential counts by its pure ε."""
        yield from _steps(self.children)

    def trees(self) -> Iterator[TreeScope]:
        """All trees below, in the order in which they grew."""
        for child in self.children:
            if isinstance(child, TreeScope):
                yield child
            elif isinstance(child, Scope):
                yield from child.trees()


def _steps(children: Sequence[Scope | Event]) -> tuple[Step | Choice, ...]:
    """The steps that the children of a sequential scope are for the tight rule."""
    found: list[Step | Choice] = []
    for child in children:
        if isinstance(child, Event):
            found.append(child.step)
        elif isinstance(child, PlannedScope) or (type(child) is Scope and child.rule == SEQUENTIAL):
            found += child.steps()
        else:
            found.append(Step("ratio", child.cost.epsilon))
    return tuple(found)


@dataclass(eq=False)
class PlannedScope(Scope):
    """Scope in which outputs decide what follows, within one of the plans that were declared beforehand."""

    plans: tuple[tuple[Step, ...], ...] = field(default=(), repr=False)  # plans that were declared
    # Number of the plan that is followed, and how many children there were when it was named.
    followed: tuple[int, int] | None = None

    @property
    def cost(self) -> Cost:
        """Cost of the dearest plan, or of what happened if that is more; outputs may have chosen a cheaper plan."""
        epsilon = max(math.fsum(step.reach for step in plan) for plan in self.plans)
        rho = max(0.5 * math.fsum(step.variance for step in plan) for plan in self.plans)
        return _booked(Cost(epsilon, rho), super().cost)

    def steps(self) -> Iterator[Step | Choice]:
        """The choice among the plans, if what happened kept to it; otherwise the tight rule does not apply.

        Until a plan is named, all plans have to allow what happens.
        """
        plan, head = common_steps(self.plans), self.children
        if self.followed is not None:
            number, before = self.followed
            plan, head = self.plans[number], self.children[:before]
        chosen_in_time = covers(common_steps(self.plans), _steps(head))
        kept = chosen_in_time and covers(plan, _steps(self.children))
        yield Choice(self.plans) if kept else Step("ratio", math.inf)


@dataclass(eq=False)
class BagScope(Scope):
    """Scope whose input is a random bag of the records."""


@dataclass(eq=False)
class TreeScope(Scope):
    """Events on the nodes of a tree. A record pays along its own path, and the scope costs the dearest path.

    Where outputs decide how long paths are, the scope costs the ``most`` that any path might cost, whatever happened,
    because a smaller cost would follow from outputs.
    """

    levels: list[Ints] = field(default_factory=lambda: [np.array([-1])], repr=False)
    most: Cost | None = None

    def grow(self, parents: Ints) -> Ints:
        """Register one new node below each of ``parents``, a level at a time; returns the new nodes' numbers."""
        first = sum(map(len, self.levels))
        self.levels.append(np.asarray(parents))
        return np.arange(first, first + len(parents))

    def path_costs(self) -> tuple[Floats, Floats]:
        """Pure ε and ρ spent on the path from the root to each node, ends included."""
        size = sum(map(len, self.levels))
        epsilon, rho = np.zeros(size), np.zeros(size)
        for event in self.events():
            nodes = np.array([0]) if event.parts is None else event.parts
            np.add.at(epsilon, nodes, event.epsilon)  # a node may be named more than once
            np.add.at(rho, nodes, event.rho)
        first = 1
        for parents in self.levels[1:]:
            level = slice(first, first + len(parents))
            epsilon[level] += epsilon[parents]
            rho[level] += rho[parents]
            first = level.stop
        return epsilon, rho

    def leaf_costs(self) -> Floats:
        """Pure ε spent on the path to each leaf, in the order of the nodes' numbers, (leaves,)."""
        epsilon, _ = self.path_costs()
        parents = np.concatenate(self.levels)
        return np.delete(epsilon, parents[parents >= 0])

    @property
    def cost(self) -> Cost:
        """Cost of the dearest path that there is or might have been."""
        epsilon, rho = self.path_costs()
        return _booked(self.most, Cost(float(epsilon.max()), float(rho.max())))


Opened = TypeVar("Opened", bound=Scope)
Fitted = TypeVar("Fitted", bound=Any)


class Total(NamedTuple):
    """The total that a ledger states, ε and the rule that gave it, ``"pure"``, ``"zCDP"`` or ``"tight"``."""

    epsilon: float
    rule: str


class Ledger:
    """Record of every release of a fit, which states what the fit costs.

    Parameters
    ----------
    neighbours : relation of the totals, ``"add-remove"`` or ``"replace"``.
    delta : if given, ``epsilon`` is the least of pure DP, zCDP converted at this δ, and the tight rule of
        :mod:`dpnb.privacy.accounting`, which follows the releases one by one.
    claimed : ε that the algorithm's text promises.
    unit : whose privacy costs are of, a ``"record"``'s, or a ``"person"``'s, whose records share one vote.

    Examples
    --------
    >>> ledger = Ledger(neighbours="add-remove", claimed=1.0)
    >>> with ledger.sequential("two counts"):
    ...     for _ in range(2):
    ...         epsilon, rho = np.array(0.5), np.array(0.125)
    ...         ledger.book(
    ...             Event(what="count", mechanism="laplace", epsilon=epsilon, rho=rho, sensitivity=1.0)
    ...         )
    >>> ledger.epsilon
    1.0
    """

    def __init__(
        self,
        *,
        neighbours: Neighbours = "add-remove",
        delta: float | None = None,
        claimed: float,
        unit: Unit = "record",
    ) -> None:
        check_choice("neighbours", neighbours, ("add-remove", "replace"))
        check_choice("unit", unit, UNITS)
        if delta is not None and not (isinstance(delta, int | float | np.number) and 0 < delta < 1):
            raise ValueError(
                f"delta={delta!r}: expected a number in (0, 1), such as 1e-6, or None for pure DP"
            )
        if not (isinstance(claimed, int | float | np.number) and claimed >= 0):
            raise ValueError(
                f"claimed={claimed!r}: expected a number of at least 0, the ε that the text promises"
            )
        self.neighbours: Neighbours = neighbours
        self.delta = delta
        self.claimed = claimed
        self.unit: Unit = unit
        self.root = Scope("total", SEQUENTIAL, _sum)
        self._open = [self.root]

    def book(self, event: Event) -> None:
        """Add an event to the innermost open scope."""
        if not isinstance(event, Event):
            raise TypeError(
                f"event is of type {type(event).__name__}: expected an Event; Budget.book adds whole ledgers"
            )
        self._open[-1].children.append(event)

    @contextmanager
    def _scope(self, scope: Opened) -> Iterator[Opened]:
        self._open[-1].children.append(scope)
        self._open.append(scope)
        try:
            yield scope
        finally:
            self._open.pop()

    def sequential(self, what: str) -> AbstractContextManager[Scope]:
        """Scope whose children all see the same records, so that their costs add up."""
        return self._scope(Scope(what, SEQUENTIAL, _sum))

    def adaptive(
        self, what: str, *, plans: Sequence[Sequence[Step]] = (), most: Cost | None = None
    ) -> AbstractContextManager[Scope]:
        """Scope whose children all see the same records, and follow from earlier outputs in kind and number.

        The total is fixed and never exceeded. The scope costs this total whatever happens, and the tight rule has to
        know what else might have happened.

        Parameters
        ----------
        what : in words.
        plans : all that may happen under add/remove; see :func:`~dpnb.privacy.accounting.covers` for what may
        differ. Where
            there are several, :meth:`follow` names the one that outputs chose.
        most : the total, if there are no plans; None where nothing is protected.
        """
        if not plans:
            compose = _sum if most is None else partial(_at_most, most)
            return self._scope(Scope(what, "sequential, planned by outputs", compose))
        declared = tuple(map(tuple, plans))
        return self._scope(PlannedScope(what, planned_rule(len(declared)), _sum, plans=declared))

    def follow(self, number: int) -> None:
        """Name the plan that outputs have chosen, before any release with which not all plans begin.

        Parameters
        ----------
        number : place of the plan among those that the innermost open scope declared; if it declared none, nothing is
            noted.

        Raises
        ------
        ValueError If there is no such plan, or if a plan was named already.
        """
        scope = self._open[-1]
        if not isinstance(scope, PlannedScope):
            return
        if not 0 <= number < len(scope.plans) or scope.followed is not None:
            raise ValueError(
                f"number={number!r}: expected the place of one of {len(scope.plans)} declared plans, named once"
            )
        scope.followed = (number, len(scope.children))

    def filtered(self, what: str, *, epsilon: float) -> AbstractContextManager[Scope]:
        """Scope whose rounds drop a record before its own pure ε, given past outputs, exceeds ``epsilon``."""
        rule = f"at most ε = {epsilon:.4g} a record"
        return self._scope(Scope(what, rule, partial(_capped, Cost.pure(epsilon))))

    def parallel(self, what: str) -> AbstractContextManager[Scope]:
        """Scope whose children see disjoint records, assigned record by record, so that the dearest child counts."""
        return self._scope(Scope(what, "parallel", partial(_dearest, 1)))

    def cover(self, what: str, *, each: int) -> AbstractContextManager[Scope]:
        """Scope in which exactly ``each`` children see a record, so that the dearest ``each`` of them count."""
        return self._scope(Scope(what, f"each record in {each}", partial(_dearest, each)))

    def bag(self, what: str, *, rule: str, multiply: Callable[[Cost], Cost]) -> AbstractContextManager[Scope]:
        """Scope fed with a random number of copies of each record (fact F2); ``multiply`` maps the cost of a copy."""
        return self._scope(BagScope(what, rule, partial(_multiplied, multiply)))

    def tree(self, what: str, *, most: Cost | None = None) -> AbstractContextManager[TreeScope]:
        """Scope of a decision tree, where events name nodes and a record pays along its path.

        Parameters
        ----------
        what : in words.
        most : largest cost that a path may have, where outputs decide where paths end; None where all paths cost the
            same.
        """
        rule = "dearest path" if most is None else "dearest path of all that may be"
        return self._scope(TreeScope(what, rule, _sum, most=most))

    @property
    def open_bag(self) -> Scope | None:
        """The innermost open bag scope; None outside of bags."""
        return next((scope for scope in reversed(self._open) if isinstance(scope, BagScope)), None)

    @property
    def pure_epsilon(self) -> float:
        """Total pure ε under ``neighbours``; ``inf`` if anything was released without noise."""
        return self.root.cost.epsilon * (2 if self.neighbours == "replace" else 1)

    @property
    def rho(self) -> float:
        """Total zCDP ρ under ``neighbours``."""
        return self.root.cost.rho * (4 if self.neighbours == "replace" else 1)

    @property
    def epsilon(self) -> float:
        """Total ε, which is pure if ``delta`` is None, and otherwise the least of the three rules at that δ."""
        return self.at(self.delta).epsilon

    @property
    def rule(self) -> str:
        """The rule that gave ``epsilon``: ``"pure"``, ``"zCDP"`` or ``"tight"``."""
        return self.at(self.delta).rule

    def at(self, delta: float | None) -> Total:
        """Total ε at some δ, or pure for None, and the rule that gave it.

        Notes
        -----
        The tight rule follows the mechanisms of releases from all data in sequential scopes, and takes the worst of the
        declared plans. Other releases and scopes count there by their pure ε; if one is infinite, the rule does not
        apply.
        """
        sums = self.by_sums(delta)
        if delta is None or not math.isfinite(sums.epsilon):
            return sums
        return min(sums, Total(self._tight(delta), "tight"), key=lambda total: total.epsilon)

    def of_group(self, size: int) -> float:
        """Total ε at ``delta`` for so many records that come or go together, such as those of one person.

        Notes
        -----
        **Privacy**: k records pay k times a pure ε, and k² times a ρ (Bun and Steinke 2016).
        """
        pure = size * self.pure_epsilon
        if self.delta is None:
            return pure
        return min(pure, zcdp_epsilon(rho=size**2 * self.rho, delta=self.delta))

    def by_sums(self, delta: float | None) -> Total:
        """Total ε by the two rules that know only sums of ε and ρ."""
        pure = Total(self.pure_epsilon, "pure")
        if delta is None:
            return pure
        zcdp = Total(zcdp_epsilon(rho=self.rho, delta=delta), "zCDP")
        return min(pure, zcdp, key=lambda total: total.epsilon)

    def _tight(self, delta: float) -> float:
        steps = tuple(self.root.steps())
        sizes = [step.size for step in steps if not isinstance(step, Choice)]
        if any(map(math.isinf, sizes)) or (len(steps) == len(sizes) == 1 and steps[0][0] == "ratio"):
            return math.inf
        return tight_epsilon(doubled(steps) if self.neighbours == "replace" else steps, delta=delta)

    @property
    def events(self) -> list[Event]:
        """All events, in the order in which they happened."""
        return list(self.root.events())

    def leaf_costs(self) -> Floats:
        """Pure ε that each path of each tree spends from the root to its leaf, (leaves of all trees,).

        Trees come in the order in which they grew, the leaves of each by node number. The costs are those of one copy
        of a record under add/remove, before bags and ``neighbours`` change them.
        """
        return np.concatenate([tree.leaf_costs() for tree in self.root.trees()] or [np.empty(0)])

    @property
    def leaks(self) -> dict[str, int]:
        """The releases without noise, as a mapping from their descriptions to the numbers of events."""
        found: dict[str, int] = {}
        for event in self.events:
            if math.isinf(event.worst.epsilon) and math.isinf(event.worst.rho):
                found[event.what] = found.get(event.what, 0) + 1
        return found

    def _total(self) -> str:
        epsilon, rule = self.at(self.delta)
        total = f"ε = {shown_number(epsilon)}" + (f", δ = {self.delta:g}" if self.delta else "")
        total += f" ({rule}, ρ = {shown_number(self.rho)})" if self._adds_rho(rule) else f" ({rule})"
        return f"{total}, {self.neighbours}" + (", for a person" if self.unit == "person" else "")

    def _adds_rho(self, rule: str) -> bool:
        """Whether parts are shown with their ρ, because no ε of a part adds up to the total."""
        return rule != "pure" and math.isfinite(self.rho)

    def __repr__(self) -> str:
        return f"Ledger({self._total()}, {sum(1 for _ in self.root.events())} releases)"

    def __str__(self) -> str:
        by_rho = self._adds_rho(self.rule)
        head = [f"{self._total()}; claimed ε = {shown_number(self.claimed)}"]
        head += [f"  ! no noise: {visible(what)} (×{n})" for what, n in self.leaks.items()]
        return "\n".join(head + list(_draw(self.root.children, "", by_rho=by_rho)))

    def _repr_html_(self) -> str:
        return f'<pre class="budget-tree">{html.escape(str(self))}</pre>'


class BudgetExceededError(ValueError):
    """A fit might cost more than is left, or has cost more than its estimator stated."""


def _stated(stated: Cost, costs: Sequence[Cost]) -> Cost:
    """Cost that was stated before a fit, or the booked cost if that is more; a release of pure ε has a ρ of ε²/2."""
    booked = _sum(costs)
    rho = min(booked.rho, booked.epsilon * booked.epsilon / 2)
    return Cost(max(stated.epsilon, booked.epsilon), max(stated.rho, rho))


def unfinished(model: Any) -> Scope:
    """Scope of a fit that has not come to its end: it costs what its estimator states, or what is booked if more."""
    what = f"{type(model).__name__}, which did not come to its end"
    return Scope(what, "at least what was stated", partial(_stated, model.worst_cost()))


class _Sums(Ledger):
    """Ledger of fits that somebody chooses one after the other, by earlier outputs, so that sums of ε and ρ count.

    ``alone`` is the claim of a first fit after which nothing follows.
    """

    alone = math.inf

    def at(self, delta: float | None) -> Total:
        sums = self.by_sums(delta)
        whole = delta is not None and self.delta is not None and delta >= self.delta
        return Total(self.alone, "claim") if whole and self.alone < sums.epsilon else sums

    def and_then(self, scope: Scope) -> _Sums:
        """The ledger of these fits and one more."""
        after = _Sums(neighbours=self.neighbours, delta=self.delta, claimed=self.claimed, unit=self.unit)
        after.root.children = [*self.root.children, scope]
        return after


class Budget:
    """A total for several fits on the same records, which refuses a fit that might exceed it.

    The budget reserves what a fit may cost before the fit begins. The fit counts by what its estimator stated before
    it, see ``worst_cost``, whether or not the fit came to its end, because nobody knows what a fit had released when it
    raised an error. Threads may share a budget. A budget cannot be copied, because copies would know nothing of each
    other.

    Parameters
    ----------
    epsilon : total ε > 0.
    delta : total δ in (0, 1), or None for pure ε. With δ, fits compose by zCDP where that is cheaper.
    neighbours, unit : relation and unit of the totals; the fits have to state the same.

    Notes
    -----
    **Privacy**: (``epsilon``, ``delta``)-DP for all that is fitted and booked here, even if earlier outputs decide
    which fit is next. Given the past, a fit is ε_i-DP and ε_i²/2-zCDP, or ρ_i-zCDP, as stated. Outputs that end with Σ
    ε_i within the total have no larger loss. Outputs that end with Σ ρ_i within the ρ that converts to the total are
    bounded by the filter of zCDP, and only these need δ. A fit's own δ plays no part in this, because it only says
    which ρ_i its noise has. There is one exception. A first fit whose sums would exceed the total, while its claim does
    not, is taken alone. Nothing can follow it, whatever it gives, and so its claim is the whole cost.

    References
    ----------
    Rogers, Roth, Ullman, Vadhan (2016), Privacy odometers and filters; Feldman, Zrnic (2021), Individual privacy
    accounting via a Rényi filter.

    Examples
    --------
    >>> budget = Budget(epsilon=1.0)
    >>> budget.left
    1.0
    """

    def __init__(
        self,
        *,
        epsilon: float,
        delta: float | None = None,
        neighbours: Neighbours = "add-remove",
        unit: Unit = "record",
    ) -> None:
        self.total = check_epsilon(epsilon)
        check_delta(delta)
        self._ledger = _Sums(neighbours=neighbours, delta=delta, claimed=epsilon, unit=unit)
        self._lock = Lock()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Budget is not copied, as no copy would know of the other's fits: expected threads that share it, or "
            "fits elsewhere whose ledgers are booked here, budget.book(model.ledger_)"
        )

    @property
    def spent(self) -> Ledger:
        """Ledger of all fits so far; its totals are sums of ε and ρ, because a fit may follow from earlier outputs."""
        return self._ledger

    @property
    def left(self) -> float:
        """The ε that is left of the total, by sums of ε and ρ; 0 where nothing may follow."""
        return max(self.total - self._ledger.epsilon, 0.0) if math.isinf(self._ledger.alone) else 0.0

    def check(self, model: Any) -> None:
        """Raise the errors that :meth:`fit` would raise before it looks at records; nothing is reserved.

        Parameters
        ----------
        model : estimator of this package.
        """
        self._admitted(model)

    def _admitted(self, model: Any) -> tuple[_Sums, Scope]:
        """The ledger with a fit in it that has not come to its end, and its scope."""
        if isinstance(model, type) or not hasattr(model, "worst_cost"):
            kind = type(model).__name__
            what = f"the class {model.__name__}" if isinstance(model, type) else f"of type {kind}"
            raise TypeError(
                f"model is {what}: expected an estimator of this package, such as PrivateBooster(epsilon=0.5)"
            )
        scope, spent = unfinished(model), self._ledger
        if model.neighbours != spent.neighbours:
            raise ValueError(
                f"neighbours={model.neighbours!r} in a budget for {spent.neighbours!r}: fit with the same"
            )
        after, most = spent.and_then(scope), self.total * (1 + 1e-12)
        by_sums, first = after.epsilon, not spent.root.children
        if first and (model.delta or 1) <= (spent.delta or 0) and most < by_sums < math.inf:
            after.alone = float(model.epsilon)
        if after.epsilon > most:
            more = f"ε = {shown_number(model.epsilon)}" + (f", δ = {model.delta:g}" if model.delta else "")
            hint = ""
            if model.delta and spent.delta is None:
                hint = "; state a delta for the budget too"
            elif math.isinf(scope.cost.rho) > math.isinf(model.epsilon):
                hint = "; an option of this model goes beyond its claim: see Privacy in its docstring, and strict"
            raise BudgetExceededError(
                f"{more} more might make ε = {shown_number(by_sums)}, and the total is {shown_number(self.total)}; "
                f"after {len(spent.root.children)} fits {shown_number(self.left)} is left. No record was read{hint}"
            )
        return after, scope

    def _check_unit(self, unit: Unit) -> None:
        """Raise ValueError for what costs a person in a budget of records, or the other way round."""
        if unit != self._ledger.unit:
            raise ValueError(
                f"a fit that protects a {unit} in a budget that adds up what a {self._ledger.unit} pays: costs of "
                f"records and of people do not add up; make a Budget(..., unit={unit!r}) for it"
            )

    def fit(self, model: Fitted, X: Any, y: Any = None, *, people: Any = None) -> Fitted:
        """Fit an estimator if its worst cost stays within the total; the cost stays reserved if the fit raises.

        Parameters
        ----------
        model : estimator of this package.
        X, y, people : as for its ``fit``.

        Raises
        ------
        BudgetExceededError If the fit might exceed the total, in which case no record is read. Also after the fit, if
            it booked more than its estimator stated, which is a defect of the estimator; the fit then counts by what it
            booked.
        ValueError For a parameter out of range or another relation, in which case no record is read and nothing is
            reserved.
        """
        with self._lock:
            after, scope = self._admitted(model)
            if model.domain is None and not isinstance(getattr(X, "domain", None), Domain):
                raise BudgetExceededError(
                    "domain=None reads bounds and categories off the records, ε = ∞: expected a Domain, pass it to "
                    "the estimator. No record was read"
                )
            before, self._ledger = self._ledger, after
            try:
                self._check_unit(getattr(X, "unit", "record") if people is None else "person")
            except ValueError:
                self._ledger = before
                raise
        stated, claim = scope.cost, float(model.epsilon)
        model.fit(X, y, **({} if people is None else {"people": people}))
        scope.what, scope.rule = type(model).__name__, SEQUENTIAL
        scope.children = model.ledger_.root.children
        self._hold((*stated, claim if math.isfinite(stated.rho) else math.inf), scope, model.ledger_.epsilon)
        return model

    def _hold(self, stated: tuple[float, float, float], scope: Scope, total: float) -> None:
        """Raise :class:`BudgetExceededError` if a fit booked more ε or ρ, or in total more ε, than was stated."""
        booked = (*scope.cost, total)
        if all(was <= most * (1 + 1e-9) for was, most in zip(booked, stated, strict=True)):
            return
        with self._lock:
            self._ledger.alone = math.inf  # its claim does not hold: sums count
        was, most = (
            "ε = {}, ρ = {}, in all ε = {}".format(*map(shown_number, three)) for three in (booked, stated)
        )
        raise BudgetExceededError(
            f"{scope.what} booked {was}, and had stated {most}: its worst_cost is wrong, report it. The fit counts by "
            f"what it booked, and {shown_number(self.left)} is left"
        )

    def book(self, ledger: Ledger, *, what: str = "fit") -> None:
        """Add the ledger of a fit that was made elsewhere; it counts by what is booked there.

        Raises
        ------
        ValueError If it is for another relation. A fit that exceeds the total is booked all the same, because it
            happened.
        """
        if not isinstance(ledger, Ledger):
            way_out = "pass its ledger_" if hasattr(ledger, "ledger_") else "a fitted model has one, ledger_"
            raise TypeError(f"ledger is of type {type(ledger).__name__}: expected a Ledger; {way_out}")
        if ledger.neighbours != self._ledger.neighbours:
            raise ValueError(
                f"a ledger for {ledger.neighbours!r} in a budget for {self._ledger.neighbours!r}: fit with the same"
            )
        self._check_unit(ledger.unit)
        nothing = Cost(0.0, 0.0)
        scope = Scope(what, SEQUENTIAL, partial(_stated, nothing), list(ledger.root.children))
        with self._lock:
            self._ledger = self._ledger.and_then(scope)

    def __repr__(self) -> str:
        fits = len(self._ledger.root.children)
        return f"Budget({shown_number(self.left)} is left of ε = {shown_number(self.total)}, {fits} fits)"

    def __str__(self) -> str:
        return f"{shown_number(self.left)} is left of ε = {shown_number(self.total)}\n{self._ledger}"


def shown_number(value: float) -> str:
    """Four digits, as a ledger and a card show costs."""
    return "∞" if math.isinf(value) else f"{value:.4g}"


def _price(cost: Cost, *, by_rho: bool) -> str:
    """ε of a cost, or its ρ where that adds up to the total, or where it has no pure ε (Gaussian noise)."""
    by_rho = by_rho or math.isinf(cost.epsilon) > math.isinf(cost.rho)
    return f"ρ = {shown_number(cost.rho)}" if by_rho else f"ε = {shown_number(cost.epsilon)}"


def _label(child: Scope | Event, *, by_rho: bool) -> str:
    if isinstance(child, Scope):
        return f"{visible(child.what)} [{visible(child.rule)}]: {_price(child.cost, by_rho=by_rho)}"
    delta = "" if math.isnan(child.sensitivity) else f", Δ = {child.sensitivity:g}"
    delta += "" if math.isnan(child.change_range) else f", range {child.change_range:.4g}"
    parts = "" if child.parts is None else f", {child.n_parts} node{'s' * (child.n_parts != 1)}"
    return f"{visible(child.what)}, {visible(child.mechanism)}{delta}{parts}: {_price(child.worst, by_rho=by_rho)}"


def _draw(children: Sequence[Scope | Event], indent: str, *, by_rho: bool) -> Iterator[str]:
    """Draw a budget tree; siblings that look alike and follow each other are drawn once, with their number."""
    shown = (
        [_label(child, by_rho=by_rho), *_draw(getattr(child, "children", ()), "", by_rho=by_rho)]
        for child in children
    )
    drawn = [(lines, len(list(same))) for lines, same in groupby(shown)]
    for i, (lines, times) in enumerate(drawn):
        last = i == len(drawn) - 1
        yield indent + ("└─ " if last else "├─ ") + (f"{times} × " if times > 1 else "") + lines[0]
        for line in lines[1:]:
            yield indent + ("   " if last else "│  ") + line
