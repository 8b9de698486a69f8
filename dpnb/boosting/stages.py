"""Stages of the booster with δ: thresholds, stumps, fine attributes, pairs, and noisy sweeps over all of them.

Each stage asks the records door for sums over the cells of a layout, releases something, and moves the scores by what
was released. A stage's docstring says what one record can change; budgets are zCDP ρ under add/remove.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..domain import Domain
from ..errors import FewRecordsWarning
from ..privacy.accounting import Share
from ..privacy.curator import Curator
from ..privacy.ledger import Cost
from ..records.doors import ScoredDoor
from ..records.grid import grid_of, public_cuts
from ..records.losses import FIXED_POINT, Softmax, fixed
from ..records.shapes import Axis, Block, Cuts, Layout, Shapes, category_axis, interval_axis, layout_of

# Steps of noise in its standard deviation, or twice as many; none is finer than FIXED_POINT's.
STEPS_A_SCALE = 2.0**20
SHRINKS_TO = 0.2  # share of the first step that the last one has, linearly from it; no run chose it


class Plan(NamedTuple):
    """How much of each stage, and its share of ρ; what the shares leave is for the sweeps.

    Parameters
    ----------
    stumps, step : number of stumps, and their first step.
    of_stumps : share of ρ.
    pairs, of_pairs : number of pairs of attributes, and their share.
    fine, of_fine : number of fine attributes, and their share.
    sweeps : number of sweeps.
    """

    stumps: int
    step: float
    of_stumps: float
    pairs: int
    of_pairs: float
    fine: int
    of_fine: float
    sweeps: int


HALVINGS = 8  # most of a crowded bin; the run `settings` has none and 8
RESOLUTIONS = (256, 2048)  # bins of a fine attribute; no run chose them
FINE_STEP = 2.0**-24  # units of what a fine bin adds to a score: sums of 2²⁵ records stay exact
COARSE = 8  # most bins of a continuous attribute in a pair; no run chose it
MOST_CELLS_OF_A_PAIR = 128  # larger pairs are not offered: two coarse axes have 64; no run chose it


class Tier(NamedTuple):
    """What is done from a number of records times ε on, see :func:`evidence`.

    Parameters
    ----------
    known : that number.
    stumps : of a problem, as a share of the settings' number.
    of_stumps : multiple of the settings' share.
    pairs, of_pairs : number of pairs, and the share of each.
    fine : whether there are fine attributes.
    sweeps : share of the settings' number.
    """

    known: float
    stumps: float
    of_stumps: float = 1.0
    pairs: int = 1
    of_pairs: float = 0.03
    fine: bool = False
    sweeps: float = 1.0


# No stored run chose these numbers: the run `settings` varies the numbers of `Settings`, which tiers take shares of.
TIERS = (
    Tier(0, 20 / 150, of_stumps=1.5, pairs=0, sweeps=0.5),
    Tier(500, 20 / 150, of_stumps=1.5, sweeps=0.5),
    Tier(600, 30 / 150, of_stumps=1.5, sweeps=0.5),
    Tier(900, 45 / 150, of_stumps=1.5, sweeps=0.5),
    Tier(1500, 70 / 150, sweeps=0.5),
    Tier(2e3, 100 / 150),
    Tier(3e3, 1.0),
    Tier(5e3, 1.0, pairs=3, of_pairs=0.05 / 3),
    Tier(15e3, 1.0, pairs=5, of_pairs=0.01, fine=True),
    Tier(60e3, 1.0, pairs=8, of_pairs=0.01, fine=True),
)


class Settings(NamedTuple):
    """What is the same for all data; chosen on public data sets, see chapter 7.

    The run ``settings`` compares the numbers of stumps, pairs, fine attributes and sweeps, ``of_stumps``, ``crowded``,
    ``quartiles``, ``first_sweep`` and ``ridge`` with one or two others each. No run chose the shares of counts,
    thresholds and curvatures. In that run AUC without quartiles is .0006 higher, with a standard error of .0008.

    Parameters
    ----------
    stumps : most stumps of a problem; fewer where less is known, see ``TIERS``.
    of_stumps : share of the budget.
    pairs, fine : most pairs and fine attributes; fewer where less is known.
    halvings : of crowded bins, at most 8.
    crowded : share of the records that makes a bin crowded.
    quartiles : shares of the records at which pairs are cut anyway.
    sweeps, first_sweep : number of sweeps, and the first one's share of a Newton step.
    ridge : standard deviations of noise that a cell's curvature is raised by.
    of_counts, of_thresholds, of_curvatures : shares of the budget.
    """

    stumps: float = 150.0
    of_stumps: float = 0.4
    pairs: int = 8
    fine: int = 2
    halvings: int = 8
    crowded: float = 1 / 16
    quartiles: tuple[float, ...] = (0.25, 0.5, 0.75)
    sweeps: int = 20
    first_sweep: float = 0.4
    ridge: float = 5.0
    of_counts: float = 0.02
    of_thresholds: float = 0.08
    of_curvatures: float = 0.04

    def plan(self, known: float, *, n_problems: int) -> Plan:
        """What to spend the budget on.

        Parameters
        ----------
        known : see :func:`evidence`.
        n_problems : 1 for two classes, else their number.
        """
        tier = next(tier for tier in reversed(TIERS) if known >= tier.known)
        rounds = max(round(tier.stumps * self.stumps), 1)
        pairs = min(tier.pairs, self.pairs)
        fine = self.fine if tier.fine else 0
        return Plan(
            stumps=rounds * n_problems,
            step=2.45 / math.sqrt(rounds),  # .2 for 150 stumps; no run chose it
            of_stumps=tier.of_stumps * self.of_stumps,
            pairs=pairs,
            of_pairs=tier.of_pairs * pairs,
            fine=fine,
            of_fine=0.0225 * fine,  # no run chose it
            sweeps=max(round(tier.sweeps * self.sweeps), 1),
        )


def evidence(n: float, epsilon: float) -> float:
    """A noisy number of records times ε: what decides how much can be learnt.

    **Privacy**: the number was released, and so the warning is post-processing.
    """
    known = max(n, 0.0) * min(epsilon, 1e9)
    few = 200  # below it AUC − ½ was less than half of what it can be, on most public data sets
    if known < few:
        warnings.warn(
            f"about {max(n, 0.0):.0f} records, by a noisy count, at ε = {epsilon:g}: their product is below {few}, "
            "where a model finds less than half of what there is to find, on most data; take more records, or a "
            "larger epsilon",
            FewRecordsWarning,
            stacklevel=2,
        )
    return known


@dataclass
class Stages:
    """A booster in the making.

    Parameters
    ----------
    data : the records with their scores.
    curator : releases.
    domain : public domain.
    rho : total budget.
    settings : of all stages.
    """

    data: ScoredDoor
    curator: Curator
    domain: Domain
    rho: float
    settings: Settings

    def __post_init__(self) -> None:
        self.loss = self.data.loss
        self.constant = np.zeros(self.loss.n_problems)
        self.blocks: list[Block] = []
        self.tables: list[Floats] = []
        self.counted: list[Floats] = []
        self.noise = 0.0  # of these counts, the largest standard deviation
        self.left = 1.0  # share of the budget

    def models(self) -> list[Shapes]:
        """What was learnt, one model a problem."""
        table = np.concatenate([np.zeros((len(self.constant), 0)), *self.tables], axis=1)
        blocks, found = tuple(self.blocks), self.records()
        return [
            Shapes(self.domain, float(c), blocks, t, *found)
            for c, t in zip(self.constant, table, strict=True)
        ]

    def records(self) -> tuple[tuple[Block, ...], Floats, float]:
        """Bins of each attribute, noisy numbers of records in them, and the noise's largest standard deviation."""
        if not self.counted:
            return (), np.empty(0), 0.0
        return layout_of(self.grid).blocks, np.rint(np.concatenate(self.counted)), self.noise

    # --- Thresholds -----------------------------------------------------------------------------------------

    def thresholds(self, *, uniform: int, geometric: int) -> float:
        """Noisy counts of a public grid's bins; bins that are crowded are halved, again and again.

        Crowded is a bin of more than a share of the records, and of more than three standard deviations of the counts
        of the round before. A round that halves nothing counts nothing: then the share alone decides.

        Returns
        -------
        Noisy number of records.

        **Privacy**: a record is in one bin of every attribute that is counted, so that the counts of d attributes cost
        d times 1/(2σ²). What is halved follows from counts that are released.
        """
        cuts = public_cuts(self.domain, uniform=uniform, geometric=geometric)
        grid = grid_of(self.domain, cuts)
        noisy, sd = self._count(
            layout_of(grid), self.settings.of_counts, "records in the bins of the public grid"
        )
        self.counted = np.split(noisy, np.cumsum(grid.sizes)[:-1])
        each = np.array([part.sum() for part in self.counted])
        n = max(float(each @ (1 / grid.sizes) / np.sum(1 / grid.sizes)), 1.0)
        found = list(cuts)
        for _ in range(self.settings.halvings):
            sd = self._halve(found, limit=max(self.settings.crowded * n, 3 * sd))
        self.grid = grid_of(self.domain, tuple(found))
        return n

    def _count(self, layout: Layout, part: float, what: str) -> tuple[Floats, float]:
        """Noisy number of records in each cell for a part of the budget, and the noise's standard deviation."""
        rho, blocks = self._spend(part), len(layout.blocks)
        exact, shares = self.data.counts(layout)[None], np.full(layout.total, 1 / blocks)
        noisy, sd = self.noisy(layout, exact, rho, 1.0, shares, what)[0], math.sqrt(blocks / (2 * rho))
        self.noise = max(self.noise, sd)
        return noisy, sd

    def _spend(self, part: float) -> float:
        """ρ of a part of the budget, which is then gone."""
        self.left -= part
        return part * self.rho

    def _halve(self, cuts: list[Floats | None], *, limit: float) -> float:
        """Halve the bins of more records than the limit; returns the noise of their new counts, 0 if there are none."""
        halves = {}
        for a, own in enumerate(cuts):
            if own is not None and len(middle := self._middles(a, own, self.counted[a] > limit)):
                halves[a] = np.union1d(own, middle)
        if not halves:
            return 0.0
        layout = Layout(tuple(Block((interval_axis(a, finer),)) for a, finer in halves.items()))
        each = self.settings.of_thresholds / self.settings.halvings
        noisy, sd = self._count(layout, each, "records in the halves of crowded bins")
        for (a, finer), part in zip(halves.items(), layout.parts(noisy), strict=True):
            coarse = np.asarray(cuts[a])
            old = np.searchsorted(coarse, np.append(finer, np.inf))  # the bin that each new one lies in
            cut_up = np.bincount(old)[old] > 1
            self.counted[a] = np.where(cut_up, part, self.counted[a][old])
            cuts[a] = finer
        return sd

    def _middles(self, attribute: int, cuts: Floats, crowded: Bools) -> Floats:
        """Middles of the bins that are crowded; the bin of missing values has none."""
        low, middle, high = _halves(self.domain, attribute, cuts)
        found: Floats = middle[crowded & (low < middle) & (middle < high)]
        return found

    # --- Stumps ---------------------------------------------------------------------------------------------

    def stumps(self, plan: Plan) -> None:
        """Choose stumps one after the other and move the scores by a public step each.

        **Privacy**: the score of a stump h for a problem is ½ Σ r h, which a record moves by at most ½ either way, for
        its residual is in [-1, 1]: a choice with ε = √(8ρ) is ρ-zCDP.
        """
        rho = self._spend(plan.of_stumps)
        epsilon = math.sqrt(8 * rho / plan.stumps)
        self.take_stumps(plan.stumps, plan.step, self.curator.exponential, epsilon)

    def take_stumps(
        self, rounds: int, first_step: float, mechanism: Callable[..., Ints], epsilon: float
    ) -> None:
        """Stumps that a mechanism chooses at so much ε each."""
        grid, layout = self.grid, layout_of(self.grid)
        self.data.keep(layout)
        table = np.zeros((len(self.constant), layout.total))
        self.chosen: dict[int, dict[float, float]] = {a: {} for a in range(self.domain.n_attributes)}
        for step in fixed(first_step * np.linspace(1, SHRINKS_TO, rounds)):
            problem, candidate = self._choose_stump(layout, mechanism, epsilon)
            stump = grid.stump(candidate)
            added, constant = np.zeros_like(table), np.zeros_like(self.constant)
            if stump.attribute < 0:
                constant[problem] = step * stump.sign
            else:
                at = candidate % len(grid.kind)
                own = slice(
                    layout.starts[stump.attribute],
                    layout.starts[stump.attribute] + grid.sizes[stump.attribute],
                )
                added[problem, own] = -step * stump.sign
                added[problem, grid.start[at] : grid.stop[at]] = step * stump.sign
                steps = self.chosen[stump.attribute]
                steps[stump.cut] = steps.get(stump.cut, 0.0) + float(step)
            self.data.move(layout, added, constant)
            self.constant += constant
            table += added
        self._add(layout, table)

    def _choose_stump(
        self, layout: Layout, mechanism: Callable[..., Ints], epsilon: float
    ) -> tuple[int, int]:
        """Problem, and position of the stump in the order of :meth:`~dpnb.records.grid.Grid.stump`."""
        sums = self.data.residuals(layout)
        totals = sums[:, : layout.sizes[0]].sum(axis=1, keepdims=True)
        half = self.grid.within(sums) - totals / 2
        scores = np.concatenate([half, -half, totals / 2, -totals / 2], axis=1)
        chosen = mechanism(
            scores.reshape(-1),
            starts=np.array([0]),
            epsilon=epsilon,
            sensitivity=0.5,
            monotone=False,
            what="stump",
        )
        problem, candidate = divmod(int(chosen[0]), scores.shape[1])
        return problem, candidate

    def _add(self, layout: Layout, table: Floats) -> None:
        """Keep the blocks of a table that say anything."""
        for block, part in zip(layout.blocks, np.split(table, layout.starts[1:], axis=1), strict=True):
            if part.any():
                self.blocks.append(block)
                self.tables.append(part)

    # --- Fine attributes ------------------------------------------------------------------------------------

    def fine_attributes(self, plan: Plan) -> list[Block]:
        """Choose attributes that have more to say in fine bins, or none.

        **Privacy**: the score of an attribute is Σ max(|Σ r| − 1.5 √(Σ r² + 9), 0) over its bins and the problems. A
        record adds its |r| at most, or takes away |r| + r²/4 at most; that is the range of changes. The part of a bin
        is rounded down to multiples of 2⁻²⁴, so that sums are exact for up to 2²⁵ records. As computed it was off by
        less than 2⁻²⁸ before, so in each problem the one bin of a record changes by at most 2⁻²³ more.
        """
        options = [
            Block((interval_axis(a, _even(self.domain, a, bins)),))
            for a in np.flatnonzero(self.domain.continuous).tolist()
            for bins in RESOLUTIONS
        ]
        if not plan.fine or not options:
            return []
        rho = self._spend(plan.of_fine) / plan.fine
        layout = Layout(tuple(options))
        above = np.abs(self.data.residuals(layout)) - 1.5 * np.sqrt(self.data.squares(layout) + 9)
        parts = np.floor(np.maximum(above, 0) / FINE_STEP) * FINE_STEP
        scores = np.append(layout.sums(parts.sum(axis=0)), self._nothing())
        up = self.loss.absolute + 2 * FINE_STEP * self.loss.n_problems
        down = up + self.loss.square / 4
        chosen = self._choose(scores, plan.fine, rho, down, up + down, "fine attribute")
        return [options[i] for i in chosen if i < len(options)]

    def _nothing(self) -> float:
        """Score of no fine attribute."""
        return 10 * math.sqrt(self.domain.n_attributes / (2 * self.rho))

    def _choose(
        self, scores: Floats, times: int, rho: float, sensitivity: float, change_range: float, what: str
    ) -> list[int]:
        """Choose several times at so much ρ each, and nothing twice."""
        found: list[int] = []
        for _ in range(times):
            chosen = self.curator.exponential(
                scores,
                starts=np.array([0]),
                epsilon=math.sqrt(8 * rho),
                sensitivity=sensitivity,
                monotone=False,
                change_range=change_range,
                measure=np.where(np.isin(np.arange(len(scores)), found), 0.0, 1.0),
                what=what,
            )
            found.append(int(chosen[0]))
        return found

    # --- Pairs ----------------------------------------------------------------------------------------------

    def pairs(self, plan: Plan) -> list[Block]:
        """Choose pairs of attributes by the best product of two conditions.

        **Privacy**: a pair's score is the largest |½ Σ r h| over products h = ±1 of a condition on each attribute, for
        more than two classes the sum of these over the classes. A record moves it by half of its Σ|r|, either way.
        """
        axes = [self._coarse(a) for a in range(self.domain.n_attributes)]
        both = [Block(two) for two in combinations([axis for axis in axes if axis.size > 1], 2)]
        both = [block for block in both if block.size <= MOST_CELLS_OF_A_PAIR]
        times = min(plan.pairs, len(both))
        rho = self._spend(plan.of_pairs) / max(plan.pairs, 1)  # of pairs that there are not: lost
        if not times:
            return []
        layout = Layout(tuple(both))
        sums = self.data.residuals(layout)
        scores = np.sum(
            [
                [_best_product(block, t) for block, t in zip(both, layout.parts(one), strict=True)]
                for one in sums
            ],
            axis=0,
        )
        half = self.loss.absolute / 2
        return [both[i] for i in self._choose(scores, times, rho, half, 2 * half, "pair of attributes")]

    def _coarse(self, attribute: int) -> Axis:
        """An attribute in few bins: cut at its noisy quartiles, and where the stumps moved most."""
        if not self.domain.continuous[attribute]:
            return category_axis(attribute, self.domain.cardinalities[attribute])
        steps = self.chosen[attribute]
        quartiles = self.quantiles(attribute, np.array(self.settings.quartiles))
        largest = [cut for cut in sorted(steps, key=lambda cut: -steps[cut]) if cut not in quartiles]
        return interval_axis(attribute, np.union1d(quartiles, largest[: COARSE - 1 - len(quartiles)]))

    def quantiles(self, attribute: int, shares: Floats) -> Floats:
        """Thresholds below which about these shares of the records are, by the noisy counts of bins."""
        cuts = np.asarray(self.grid.cuts[attribute])
        counts = np.maximum(self.counted[attribute], 0.0)
        below, total = np.cumsum(counts)[:-1], counts.sum()
        return np.unique(cuts[[np.abs(below - share * total).argmin() for share in shares if len(cuts)]])

    # --- Sweeps ---------------------------------------------------------------------------------------------

    def sweeps(self, plan: Plan, more: list[Block]) -> None:
        """Move all scores at once by noisy Newton steps, several times.

        **Privacy**: a record is in one cell of each block. Block b has a share w_b of the budget ρ of a question and
        noise of variance R²/(2ρ w_b), where R bounds a record's residuals (or curvatures) in L2; so a question costs ρ.
        """
        layout = Layout((*self._picked(), *more))
        if not layout.blocks:
            return
        self.data.keep(layout)
        fine = np.array([len(b.axes) == 1 and b.size >= RESOLUTIONS[0] for b in layout.blocks])
        weight = np.where(fine, 2.0, 1.0)
        shares = (weight / weight.sum())[layout.block_of]
        curvature, counted = self._curvatures(
            layout, self._spend(self.settings.of_curvatures), shares, fine[layout.block_of]
        )
        rho = self._spend(self.left) / plan.sweeps
        sd = math.sqrt(self.loss.square / (2 * rho)) / np.sqrt(shares)
        stiff = curvature + self.settings.ridge * sd
        table = np.zeros_like(curvature)
        for step in self.settings.first_sweep * np.linspace(1, SHRINKS_TO, plan.sweeps):
            slope = self.noisy(
                layout,
                self.data.residuals(layout),
                rho,
                math.sqrt(self.loss.square),
                shares,
                "residuals by cell",
            )
            newton = np.where(counted, slope / np.where(stiff > 0, stiff, np.inf), 0.0)
            newton -= _mean(layout, newton, curvature) * (curvature > 0)
            constant = _common(layout, slope, curvature, sd, ridge=self.settings.ridge)
            added, shift = fixed(step * newton), fixed(step * constant)
            self.data.move(layout, added, shift)
            table += added
            self.constant += shift
        self._add(layout, table)

    def _picked(self) -> list[Block]:
        """The attributes that stumps were chosen on: cut where they were, a categorical one as it is."""
        found = []
        for a, steps in self.chosen.items():
            if steps and self.domain.continuous[a]:
                found.append(Block((interval_axis(a, np.sort(list(steps))),)))
            elif steps:
                found.append(Block((category_axis(a, self.domain.cardinalities[a]),)))
        return found

    def noisy(
        self, layout: Layout, sums: Floats, rho: float, reach: float, shares: Floats, what: str
    ) -> Floats:
        """Sums over cells with discrete Gaussian noise, rounded down to its steps first."""
        finest = 1 / FIXED_POINT
        sd = max(reach * math.sqrt(1 / (2 * rho * float(shares.max()))), finest)  # without noise it is 0
        unit = min(max(finest, 2.0 ** math.ceil(math.log2(sd)) / STEPS_A_SCALE), 1.0)
        whole = np.floor(sums / unit) * unit
        # Rounding adds less than a step to a change; a change of whole steps stays one.
        reach = math.ceil(reach / unit) * unit if len(sums) == 1 else reach + math.sqrt(len(sums)) * unit
        noisy = self.curator.discrete_gaussian(
            whole,
            rho=rho,
            sensitivity=reach,
            unit=unit,
            shares=shares[None],
            changed=len(sums) * len(layout.blocks),
            what=what,
        )
        return noisy.astype(float)

    def _curvatures(self, layout: Layout, rho: float, shares: Floats, fine: Bools) -> tuple[Floats, Bools]:
        """Curvature of the loss in each cell, from noisy counts and curvatures; and which cells hold enough records.

        A cell's own number counts by how many records it has, measured in noise; the rest is a share of the block's.
        """
        count = self.noisy(layout, self.data.counts(layout)[None], rho / 2, 1.0, shares, "records by cell")[0]
        own = self.noisy(
            layout, self.data.curvatures(layout), rho / 2, self.loss.curvature, shares, "curvature by cell"
        )
        sd = 1 / np.sqrt(rho * shares)
        records = np.maximum(count, 0.0)
        total = np.maximum(layout.sums(count), 1.0)
        mean = np.maximum(layout.sums(own), 0.01 * total) / total
        trust = records / np.maximum(records + 5 * sd, 1e-300)
        curvature = trust * np.maximum(own, 0.0) + (1 - trust) * mean[:, layout.block_of] * records
        counted = ~fine | (count >= 2 * sd)
        return curvature * counted, counted


def _halves(domain: Domain, attribute: int, cuts: Floats) -> tuple[Floats, Floats, Floats]:
    """Ends and middles of the bins between cuts; that of missing values is not halved."""
    edges = np.concatenate([[domain.lows[attribute]], cuts, [domain.highs[attribute]]])
    low, high = edges[:-1], edges[1:]
    middle = low + (high - low) / 2
    if domain.attributes[attribute].missing:
        middle[0] = high[0]
    return low, middle, high


@lru_cache(maxsize=16)
def finest_cuts(domain: Domain, *, uniform: int, geometric: int) -> Cuts:
    """All thresholds that any stage can choose, of each attribute."""
    found: list[Floats | None] = []
    for a, cuts in enumerate(public_cuts(domain, uniform=uniform, geometric=geometric)):
        if cuts is not None:
            for _ in range(HALVINGS):
                low, middle, high = _halves(domain, a, cuts)
                cuts = np.union1d(cuts, middle[(low < middle) & (middle < high)])
            cuts = np.unique(np.concatenate([cuts, *(_even(domain, a, bins) for bins in RESOLUTIONS)]))
        found.append(cuts)
    return tuple(found)


def _even(domain: Domain, attribute: int, bins: int) -> Floats:
    """Cuts of an attribute's domain into so many equal bins, and of the missing values."""
    return np.asarray(public_cuts(domain, uniform=bins - 1, geometric=0)[attribute], float)


def _best_product(block: Block, table: Floats) -> float:
    """Largest |½ Σ r h| over products of a condition on each axis."""
    rows, columns = (_conditions(axis) for axis in block.axes)
    both = rows @ table @ columns.T
    first, second = (rows @ table).sum(axis=1)[:, None], (table @ columns.T).sum(axis=0)
    return float(np.abs(table.sum() - 2 * first - 2 * second + 4 * both).max() / 2)


def _conditions(axis: Axis) -> Floats:
    """In which bins each condition holds: up to a threshold, or a category."""
    return np.tri(axis.size)[:-1] if axis.ordered else np.eye(axis.size)


def _mean(layout: Layout, table: Floats, weight: Floats) -> Floats:
    """Weighted mean of a table over each block, for each of its cells."""
    mean = layout.sums(weight * table) / np.maximum(layout.sums(weight), 1e-9)
    return mean[:, layout.block_of]


def _common(layout: Layout, slope: Floats, curvature: Floats, sd: Floats, *, ridge: float) -> Floats:
    """Newton step of the constant: every block's total says the same, each with its noise."""
    precision = 1 / np.maximum(layout.sums(sd**2), 1e-300)
    total = (layout.sums(slope) * precision).sum(axis=1) / precision.sum()
    stiff = layout.sums(curvature).mean(axis=1) + ridge / math.sqrt(precision.sum())
    found: Floats = total / np.maximum(stiff, 1.0)
    return found


class Planner(NamedTuple):
    """What public parameters leave open, of :class:`~dpnb.PrivateBooster`; the rest follows from the records' number.

    Parameters
    ----------
    settings : of all stages.
    domain : public domain.
    n_problems : 1 for two classes, else their number.
    n_rounds, learning_rate, additive : as of the booster.
    """

    settings: Settings
    domain: Domain
    n_problems: int
    n_rounds: int | None
    learning_rate: float | None
    additive: bool

    def plan(self, known: float) -> Plan:
        """What to do where so much is known, see :func:`evidence`."""
        plan = self.settings.plan(known, n_problems=self.n_problems)
        plan = plan._replace(stumps=self.n_rounds or plan.stumps, step=self.learning_rate or plan.step)
        pairs = 0 if self.additive else min(plan.pairs, most_pairs(self.domain))
        if pairs < plan.pairs:
            plan = plan._replace(pairs=pairs, of_pairs=plan.of_pairs / plan.pairs * pairs)
        return plan if self.domain.continuous.any() else plan._replace(fine=0, of_fine=0.0)

    def declared(self) -> tuple[tuple[Share, ...], ...]:
        """All plans, in shares of the budget."""
        return tuple(sorted({self._shares(self.plan(tier.known)) for tier in TIERS}))

    def number(self, plan: Plan) -> int:
        """Place of a plan among those that are declared."""
        return self.declared().index(self._shares(plan))

    def _shares(self, plan: Plan) -> tuple[Share, ...]:
        """Noisy counts, choices, and whatever noise they leave the budget for."""
        settings, d = self.settings, self.domain.n_attributes
        first = settings.of_counts + settings.of_thresholds * (settings.halvings > 0)
        questions = (settings.sweeps + 1) * self.n_problems + 1
        shares = (
            noise_share(first, entries=d * (1 + settings.halvings)),
            Share("selection", plan.of_stumps, plan.stumps),
            Share("selection", plan.of_fine, max(plan.fine, 1)),
            Share("selection", plan.of_pairs, max(plan.pairs, 1)),
        )
        left = 1 - math.fsum(share.share for share in shares)
        last = noise_share(left, entries=questions * (d + plan.fine + plan.pairs))
        return (*(share for share in shares if share.share > 0), last)


def noise_share(share: float, *, entries: int) -> Share:
    """Share of noisy sums over cells, of which a record changes so many in all."""
    return Share(
        "gaussian",
        share,
        units=Softmax.curvature * FIXED_POINT,  # the least reach of what is added up in cells
        entries=entries,
        sd=STEPS_A_SCALE / 2 * (1 - 1e-9),  # units are powers of 2
    )


def most_pairs(domain: Domain) -> int:
    """How many pairs of attributes there can be to choose from."""
    least = np.where(domain.continuous, 2, np.asarray(domain.cardinalities))
    return sum(
        1
        for one, other in combinations(least.tolist(), 2)
        if min(one, other) > 1 and one * other <= MOST_CELLS_OF_A_PAIR
    )


def boost(
    data: ScoredDoor,
    curator: Curator,
    planner: Planner,
    *,
    rho: float,
    epsilon: float,
    uniform: int,
    geometric: int,
) -> list[Shapes]:
    """All stages with a budget of ``rho``; other parameters as of :class:`~dpnb.PrivateBooster`."""
    stages = Stages(data, curator, planner.domain, rho, planner.settings)
    n = stages.thresholds(uniform=uniform, geometric=geometric)
    plan = planner.plan(evidence(n, epsilon))
    curator.ledger.follow(planner.number(plan))
    stages.stumps(plan)
    more = stages.fine_attributes(plan) + stages.pairs(plan)
    stages.sweeps(plan, more)
    return stages.models()


# --- Pure ε ---------------------------------------------------------------------------------------------------

OF_NUMBER = 0.02  # share of ε for the number of records; no run chose it


def rounds_purely(known: float, *, n_problems: int) -> tuple[int, float]:
    """Number of stumps and first step where the stumps are all there is."""
    rounds = min(max(0.26 * math.sqrt(known), 5.0), 100.0)  # no run that is stored chose these numbers
    return round(rounds * math.sqrt(n_problems)), min(2.7 / math.sqrt(rounds), 0.6)


def most_purely(epsilon: float, *, n_rounds: int | None, n_problems: int) -> Cost:
    """What :func:`boost_purely` may cost, by ρ where rounds are fewest and so dearest."""
    rounds = n_rounds or rounds_purely(0.0, n_problems=n_problems)[0]
    parts = (OF_NUMBER * epsilon) ** 2 + ((1 - OF_NUMBER) * epsilon) ** 2 / rounds
    return Cost(epsilon, parts / 2)


def boost_purely(
    data: ScoredDoor,
    curator: Curator,
    domain: Domain,
    *,
    epsilon: float,
    uniform: int,
    geometric: int,
    n_rounds: int | None,
    learning_rate: float | None,
) -> list[Shapes]:
    """A noisy number of records, and stumps by permute-and-flip.

    **Privacy**: one record more changes the number by 1; a stump's score ½ Σ r h moves by at most ½ either way.
    """
    grid = grid_of(domain, public_cuts(domain, uniform=uniform, geometric=geometric))
    stages = Stages(data, curator, domain, 0.0, Settings())
    stages.grid = grid
    exact = data.counts(Layout(layout_of(grid).blocks[:1])).sum()
    n = curator.geometric(exact, epsilon=OF_NUMBER * epsilon, sensitivity=1.0, what="number of records")
    rounds, step = rounds_purely(evidence(float(n), epsilon), n_problems=data.loss.n_problems)
    rounds = n_rounds or rounds
    each = (1 - OF_NUMBER) * epsilon / rounds
    stages.take_stumps(rounds, learning_rate or step, curator.permute_and_flip, each)
    return stages.models()
