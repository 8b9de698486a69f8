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
    OF_FINE,
    OF_LEVEL,
    OF_MIDDLE,
    OF_SLOPE,
    ROUNDS,
    STEP_OF_A_NUMBER,
)

# Number of steps of noise in its standard deviation, or twice as many; no step is finer than FIXED_POINT's.
STEPS_A_SCALE = 2.0**20
MOST_SD = 2.0**50  # of noise in the finest steps, of which 64 bits hold no more


class Plan(NamedTuple):
    """How much of each stage there is, and its share of ρ. The sweeps get what the other shares leave."""

    # stumps, step: number of stumps, and their first step.
    stumps: int
    step: float
    at_once: int  # number of stumps chosen in one pass over the records
    of_stumps: float  # share of ρ for the stumps
    # groups, of_groups: largest number of groups of attributes, and their share.
    groups: int
    of_groups: float
    # fine, of_fine: largest number of fine attributes, and their share.
    fine: int
    of_fine: float
    sweeps: int  # number of sweeps


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
    # of_stumps, of_few: share of the budget for the stumps, and this share where records are too few for
    # groups.
    of_stumps: float = 0.4
    of_few: float = 0.75
    at_once: int = 5  # largest number of stumps of a pass
    # groups, of_groups: largest number of groups of attributes, which is smaller where less is known, and
    # their share.
    groups: int = 8
    of_groups: float = 0.05
    # fine, of_fine: largest number of fine attributes, which is 0 where less is known, and their share.
    fine: int = 2
    of_fine: float = OF_FINE
    # sweeps, first_sweep: number of sweeps, which is half as large for few records, and the first sweep's
    # share of a Newton step.
    sweeps: int = 20
    first_sweep: float = 0.4
    ridge: float = 5.0  # number of standard deviations of noise by which a cell's curvature is raised
    # Share of the ridge for a fine attribute whose records all lie in cells that are counted well.
    sharp: float = 0.14

    def plan(self, known: float, *, n_problems: int) -> Plan:
        """The plan by which the budget is spent.

        Parameters
        ----------
        known : noisy number of records times ε, see :func:`evidence`.
        n_problems : 1 for two classes, else their number.
        """
        rounds = ROUNDS[sum(known >= start for start in MORE_STUMPS)]
        groups = (0, 1, 2, 4, 8)[sum(known >= start for start in MORE_GROUPS)]
        few, many = groups == 0, groups >= 4
        return Plan(
            stumps=rounds * n_problems,
            step=FIRST_STEP / math.sqrt(rounds),
            at_once=1,
            of_stumps=self.of_few if few else self.of_stumps,
            groups=min(groups, self.groups),
            of_groups=self.of_groups if min(groups, self.groups) else 0.0,
            fine=self.fine * many,
            of_fine=self.of_fine if self.fine and many else 0.0,
            sweeps=max(self.sweeps // 2, 1) if few else self.sweeps,
        )

    def of_a_pass(self, stumps: int, *, n_problems: int, n_attributes: int) -> int:
        """Number of stumps to choose in one pass, which is small where stumps or attributes are few."""
        return max(min(self.at_once, stumps // (20 * n_problems), n_attributes // 3), 1)


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
        plan = self.settings.plan(known, n_problems=self.n_problems)
        stumps = self.n_rounds or plan.stumps
        size = {"n_problems": self.n_problems, "n_attributes": self.domain.n_attributes}
        at_once = self.settings.of_a_pass(stumps, **size)
        step = plan.step * (STEP_OF_A_NUMBER if self.domain.response is not None else 1.0)
        of_stumps = plan.of_stumps * (1 - sum(self.of_target))
        plan = plan._replace(
            stumps=stumps, step=self.learning_rate or step, at_once=at_once, of_stumps=of_stumps
        )
        if self.additive or not pairs_of(self.domain):
            plan = plan._replace(groups=0, of_groups=0.0)
        return plan if self.domain.continuous.any() else plan._replace(fine=0, of_fine=0.0)

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
        settings, d = self.settings, self.domain.n_attributes
        first = settings.of_counts + settings.of_thresholds * (settings.halvings > 0) + sum(self.of_target)
        questions = (plan.sweeps + 1) * self.n_problems + 1
        shares = (
            noise_share(
                first,
                entries=d * (1 + settings.halvings // settings.halvings_at_once) + len(self.of_target),
                touched=self.touched,
            ),
            Share("selection", plan.of_stumps, plan.stumps),
            Share("selection", plan.of_fine, max(plan.fine, 1)),
            Share("selection", plan.of_groups, max(plan.groups, 1)),
        )
        left = 1 - math.fsum(share.share for share in shares)
        blocks = d + plan.fine + plan.groups
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
