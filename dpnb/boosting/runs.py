"""The order in which a booster's stages run, with δ and with pure ε."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..arrays import FIXED_POINT
from ..domain import Domain
from ..privacy.curator import Curator
from ..privacy.ledger import Cost
from ..records.doors import ScoredDoor
from ..records.grid import grid_of, public_cuts
from ..records.shapes import Layout, Shapes, layout_of
from ..settings import (
    A_ROOT_PURELY,
    FEWEST_PURELY,
    FIRST_STEP_PURELY,
    LARGEST_STEP_PURELY,
    MOST_PURELY,
    OF_NUMBER,
    OF_PRODUCTS,
    STEP_OF_A_NUMBER,
)
from .groups import choose_groups, take_products
from .numbers import NumberStages, Off
from .plans import Planner, Settings, evidence, shares_of_a_number
from .stages import Stages, Totals, shrinking


def boost(
    data: ScoredDoor,
    curator: Curator,
    planner: Planner,
    *,
    rho: float,
    epsilon: float,
    uniform: int,
    geometric: int,
) -> tuple[list[Shapes], Off | None]:
    """Run all stages with a budget of ``rho``, and return how far predictions of a number are off too.

    Other parameters are those of :class:`~dpnb.PrivateBooster`.
    """
    stages = Stages(data, curator, planner.domain, rho, planner.settings)
    n = stages.thresholds(uniform=uniform, geometric=geometric)
    plan = planner.plan(evidence(n, epsilon, data.unit))
    curator.ledger.follow(planner.number(plan))
    stages.left -= sum(planner.of_target)
    number = NumberStages(stages, stages.totals, n) if planner.of_target else None
    stages.stumps(plan)
    if number:
        number.narrow()
    more = stages.fine_attributes(plan.level) + choose_groups(stages, plan.level)
    stages.sweeps(plan.level, more)
    off = number.settle() if number else None
    return stages.models(), off


def rounds_purely(known: float, *, n_problems: int) -> tuple[int, float]:
    """Number of stumps and first step where there are only stumps."""
    rounds = min(max(A_ROOT_PURELY * math.sqrt(known), FEWEST_PURELY), MOST_PURELY)
    step = min(FIRST_STEP_PURELY / math.sqrt(rounds), LARGEST_STEP_PURELY)
    return round(rounds * math.sqrt(n_problems)), step


def shares_purely(domain: Domain) -> tuple[float, ...]:
    """Shares of ε for the number of records, and for the sums that only a number needs."""
    return OF_NUMBER, *(shares_of_a_number(sweeps=False) if domain.response else ())


def most_purely(epsilon: float, *, n_rounds: int | None, n_problems: int, shares: tuple[float, ...]) -> Cost:
    """The most that :func:`boost_purely` may cost; its ρ is that of the fewest rounds, which are the dearest."""
    rounds = n_rounds or rounds_purely(0.0, n_problems=n_problems)[0]
    squares = math.fsum(share**2 for share in shares) + (1 - math.fsum(shares)) ** 2 / rounds
    return Cost(epsilon, squares * epsilon**2 / 2)


def totals_purely(share: float, *, curator: Curator, epsilon: float) -> Totals:
    """Release of sums over all records, of which one changes each by at most 1, for a share of ε each."""
    own = share * epsilon

    def release(total: float, what: str) -> float:
        # Where 64 bits do not hold the noise in the finest steps, in coarser ones, of which 1 is a multiple.
        coarser = 2.0 ** math.ceil(math.log2(max(1 / own, 1.0))) / 2.0**50
        unit = min(max(1 / FIXED_POINT, coarser), 1.0)
        whole = np.array([[math.floor(total / unit) * unit]])
        return float(curator.geometric(whole, epsilon=own, sensitivity=1.0, what=what, unit=unit)[0, 0])

    return Totals(release, math.sqrt(2) / own)


def boost_purely(
    data: ScoredDoor,
    curator: Curator,
    planner: Planner,
    *,
    epsilon: float,
    uniform: int,
    geometric: int,
    products_from: float,
) -> tuple[list[Shapes], Off | None]:
    """Release a noisy number of records, choose stumps by permute-and-flip, and products of two in the last rounds.

    There are products if records times ε are at least ``products_from``. ``uniform`` and ``geometric`` are parameters
    of :class:`~dpnb.PrivateBooster`.

    **Privacy**: one more record changes the number by 1, and moves a score ½ Σ r h by at most ½ either way. For a
    number to predict, shares of ε pay for the sums of :class:`~dpnb.boosting.numbers.NumberStages`.
    """
    domain, shares = planner.domain, shares_purely(planner.domain)
    stages = Stages(data, curator, domain, 0.0, Settings())
    stages.grid = grid = grid_of(domain, public_cuts(domain, uniform=uniform, geometric=geometric))
    exact = data.counts(Layout(layout_of(grid).blocks[:1])).sum()
    n = float(
        curator.geometric(exact, epsilon=OF_NUMBER * epsilon, sensitivity=1.0, what="number of records")
    )
    known = evidence(n, epsilon, data.unit)
    totals = partial(totals_purely, curator=curator, epsilon=epsilon)
    number = NumberStages(stages, totals, max(n, 1.0)) if domain.response else None
    rounds, step = rounds_purely(known, n_problems=planner.n_problems)
    step *= STEP_OF_A_NUMBER if number else 1.0
    steps = shrinking((planner.learning_rate or step) * stages.unit, planner.n_rounds or rounds)
    each = (1 - math.fsum(shares)) * epsilon / len(steps)
    last = round(OF_PRODUCTS * len(steps)) if known >= products_from and len(grid.kind) else 0
    choose = partial(stages.signed, curator.permute_and_flip, each)
    stages.take_stumps(steps[: len(steps) - last], choose, at_once=1)
    if last:
        take_products(stages, steps[-last:], each)
    off = number.settle() if number else None
    return stages.models(), off
