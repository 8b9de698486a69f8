"""How the booster with δ spends its budget: settings, plans that follow from a number of records, and their shares."""

from __future__ import annotations

import math
import warnings
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..arrays import FIXED_POINT
from ..domain import Domain
from ..domain.people import Unit
from ..errors import FewRecordsWarning
from ..privacy.accounting import Share
from ..records.losses import Softmax
from ..records.shapes import Cuts
from ..settings import (
    CROWDED,
    FIRST_STEP,
    MORE_GROUPS,
    MORE_STUMPS,
    MOST_CELLS_OF_A_GROUP,
    NARROWED,
    OF_A_WIDTH,
    OF_COUNTS,
    OF_CURVATURES,
    OF_ERROR,
    OF_LEVEL,
    OF_MIDDLE,
    OF_SLOPE,
    ROUNDS,
    STEP_OF_A_NUMBER,
)

# Number of steps of noise in its standard deviation, or twice as many; no step is finer than FIXED_POINT's.
STEPS_A_SCALE = 2.0**20
MOST_SD = 2.0**50  # of noise in the finest steps, of which 64 bits hold no more


class Level(NamedTuple):
    """How much of the stages after the stumps there is, and shares of ρ. The sweeps get what the other shares leave."""

    of_stumps: float  # share of ρ for the stumps
    sweeps: int = 20  # number of sweeps
    # groups, of_groups: largest number of groups of attributes by their best product of conditions, and their share.
    groups: int = 0
    of_groups: float = 0.0
    # by_cells, of_cells: largest number of further groups by all their cells, and their share.
    by_cells: int = 0
    of_cells: float = 0.0
    # fine, of_fine: largest number of fine attributes, and their share.
    fine: int = 0
    of_fine: float = 0.0


class Plan(NamedTuple):
    """Number of stumps, their first step, how many are chosen in one pass over the records, and all that follows."""

    stumps: int
    step: float
    at_once: int
    level: Level


# Levels of plans: the first for few records, and one from each number of records times ε of MORE_GROUPS on.
LEVELS = (
    Level(0.75, sweeps=10),
    Level(0.4, groups=1, of_groups=0.05),
    Level(0.4, groups=2, of_groups=0.05),
    Level(0.38, groups=4, of_groups=0.025, by_cells=4, of_cells=0.025, fine=2, of_fine=0.045),
    Level(0.33, groups=8, of_groups=0.04, by_cells=8, of_cells=0.04, fine=2, of_fine=0.045),
)
LEVELS_OF_A_NUMBER = (  # where groups by their cells lose
    *LEVELS[:3],
    *(Level(0.4, groups=most, of_groups=0.05, fine=2, of_fine=0.045) for most in (4, 8)),
)


class Settings(NamedTuple):
    """Numbers that are the same for all data; the run ``settings`` compares them with others on public data sets.

    It does not compare those that :mod:`dpnb.settings` names.
    """

    # of_counts, of_thresholds, of_curvatures: shares of the budget for counts, thresholds and curvatures.
    of_counts: float = OF_COUNTS
    of_thresholds: float = 0.04
    of_curvatures: float = OF_CURVATURES
    # halvings, halvings_at_once: largest number of halvings of a crowded bin, at most 8, and how many of them
    # come before its parts are counted again.
    halvings: int = 8
    halvings_at_once: int = 2
    crowded: float = CROWDED  # share of the records that makes a bin crowded
    at_once: int = 5  # largest number of stumps of a pass
    # Share of the budget for stumps that pays for how far each of more than two classes moves.
    of_directions: float = 0.5
    levels: tuple[Level, ...] = LEVELS  # what follows the stumps, by what is known
    first_sweep: float = 0.4  # the first sweep's share of a Newton step
    ridge: float = 5.0  # number of standard deviations of noise by which a cell's curvature is raised
    # Share of the ridge for a fine attribute whose records all lie in cells that are counted well.
    sharp: float = 0.14

    def plan(self, known: float) -> Plan:
        """The plan by which the budget is spent, for a noisy number of records times ε, see :func:`evidence`."""
        rounds = ROUNDS[sum(known >= start for start in MORE_STUMPS)]
        return Plan(
            stumps=rounds,
            step=FIRST_STEP / math.sqrt(rounds),
            at_once=1,
            level=self.levels[sum(known >= start for start in MORE_GROUPS)],
        )

    def of_a_pass(self, stumps: int, *, n_attributes: int) -> int:
        """Number of stumps to choose in one pass, which is small where stumps or attributes are few."""
        return max(min(self.at_once, stumps // 20, n_attributes // 3), 1)


def evidence(n: float, epsilon: float, unit: Unit) -> float:
    """A noisy number of records, or of people, times ε, which decides how much can be learnt.

    **Privacy**: the number was released, so the warning is post-processing.
    """
    known, several = max(n, 0.0) * min(epsilon, 1e9), "records" if unit == "record" else "people"
    few = 200  # below it AUC − ½ was less than half of what it can be, on most public data sets
    if known < few:
        warnings.warn(
            f"about {max(n, 0.0):.0f} {several}, by a noisy count, at ε = {epsilon:g}: their product is below {few}, "
            f"where a model finds less than half of what there is to find, on most data; take more {several}, or a "
            "larger epsilon",
            FewRecordsWarning,
            stacklevel=2,
        )
    return known


class Planner(NamedTuple):
    """Plans of a :class:`~dpnb.PrivateBooster`; its public parameters leave open what the number of records decides."""

    settings: Settings  # settings of all stages
    domain: Domain  # public domain
    # 1 for two classes, otherwise the number of classes. n_rounds, learning_rate, additive : as for the
    # booster.
    n_problems: int
    n_rounds: int | None
    learning_rate: float | None
    additive: bool
    touched: int = 1  # largest number of cells of a block in which a record is, or a person

    def plan(self, known: float) -> Plan:
        """The plan for a noisy number of records times ε, see :func:`evidence`."""
        plan = self.settings.plan(known)
        stumps = self.n_rounds or plan.stumps
        at_once = self.settings.of_a_pass(stumps, n_attributes=self.domain.n_attributes)
        step = self.learning_rate or plan.step * (
            STEP_OF_A_NUMBER if self.domain.response is not None else 1.0
        )
        level = plan.level._replace(of_stumps=plan.level.of_stumps * (1 - sum(self.of_target)))
        if self.additive or not pairs_of(self.domain):
            level = level._replace(groups=0, of_groups=0.0, by_cells=0, of_cells=0.0)
        if not self.domain.continuous.any():
            level = level._replace(fine=0, of_fine=0.0)
        return Plan(stumps, step, at_once, level)

    def declared(self) -> tuple[tuple[Share, ...], ...]:
        """All plans that may follow, in shares of the budget."""
        return tuple(sorted({self._shares(self.plan(known)) for known in (0.0, *MORE_STUMPS, *MORE_GROUPS)}))

    def number(self, plan: Plan) -> int:
        """Place of a plan among the declared plans."""
        return self.declared().index(self._shares(plan))

    @property
    def of_target(self) -> tuple[float, ...]:
        """Shares of the budget for the sums that only a number needs."""
        return shares_of_a_number(sweeps=True) if self.domain.response else ()

    def _shares(self, plan: Plan) -> tuple[Share, ...]:
        """Shares of noisy counts, of choices, and of the noise that the rest of the budget pays for."""
        settings, level, d = self.settings, plan.level, self.domain.n_attributes
        first = settings.of_counts + settings.of_thresholds * (settings.halvings > 0) + sum(self.of_target)
        questions = (level.sweeps + 1) * self.n_problems + 1
        of_directions = settings.of_directions * level.of_stumps * (self.n_problems > 1)
        shares = (
            noise_share(
                first,
                entries=d * (1 + settings.halvings // settings.halvings_at_once) + len(self.of_target),
                touched=self.touched,
            ),
            noise_share(of_directions, entries=plan.stumps * self.n_problems, touched=self.touched),
            Share("selection", level.of_stumps - of_directions, plan.stumps),
            Share("selection", level.of_fine, max(level.fine, 1)),
            Share("selection", level.of_groups, max(level.groups, 1)),
            Share("selection", level.of_cells, max(level.by_cells, 1)),
        )
        left = 1 - math.fsum(share.share for share in shares)
        blocks = d + level.fine + level.groups + level.by_cells
        last = noise_share(left, entries=questions * blocks, touched=self.touched)
        return (*(share for share in shares if share.share > 0), last)


def shares_of_a_number(*, sweeps: bool) -> tuple[float, ...]:
    """Shares of the budget for the sums that only a number needs; with sweeps the loss is narrowed once more."""
    widths = [OF_A_WIDTH] * (2 * (NARROWED + sweeps))  # a sum for each move but the first, and for each width
    return OF_MIDDLE, *widths, OF_SLOPE, OF_SLOPE, OF_SLOPE, OF_LEVEL, OF_ERROR


def noise_share(share: float, *, entries: int, touched: int = 1) -> Share:
    """Share of noisy sums over cells of so many blocks in all, in each of which so many cells change.

    Steps of the noise that hides a person are the finest; the others are powers of 2.
    """
    return Share(
        "gaussian",
        share,
        units=Softmax.curvature * FIXED_POINT,  # the smallest reach of any sum over cells
        entries=entries * touched,
        sd=STEPS_A_SCALE / 2 * (1 - 1e-9) if touched == 1 else MOST_SD,
    )


def most_touched(domain: Domain, finest: Cuts, *, unit: Unit) -> int:
    """Largest number of cells of a block in which a record is, or may be a person: all that a block can have."""
    if unit == "record":
        return 1
    pairs = zip(finest, domain.cardinalities, strict=True)
    return max(MOST_CELLS_OF_A_GROUP, *(cards if cuts is None else len(cuts) + 1 for cuts, cards in pairs))


def pairs_of(domain: Domain) -> int:
    """Smallest number of pairs of attributes that there can be to choose from; without a pair there is no triple."""
    least = np.where(domain.continuous, 2, np.asarray(domain.cardinalities))
    return sum(
        1
        for one, other in combinations(least.tolist(), 2)
        if min(one, other) > 1 and one * other <= MOST_CELLS_OF_A_GROUP
    )
