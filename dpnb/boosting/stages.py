"""Stages of the booster with δ, which are thresholds, stumps, fine attributes, groups, and noisy sweeps over all.

Each stage asks the records door for sums over the cells of a layout, releases something, and moves the scores by what
it released. The docstring of a stage says what one record can change. Budgets are zCDP ρ under add/remove.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..arrays import FIXED_POINT, Bools, Floats, Ints
from ..domain import Domain
from ..privacy.curator import Curator
from ..records.doors import ScoredDoor
from ..records.grid import grid_of, public_cuts
from ..records.losses import Loss, fixed
from ..records.shapes import WHOLE, Axis, Block, Cuts, Layout, Shapes, category_axis, interval_axis, layout_of
from ..settings import (
    MOST_CELLS_OF_A_GROUP,
    PUBLICLY,
    RESOLUTIONS,
    SHRINKS_TO,
)
from .plans import (
    STEPS_A_SCALE,
    Plan,
    Settings,
)

HALVINGS = 8  # largest number for a crowded bin
FINE_STEP = 2.0**-24  # units of the part of a fine bin in a score, so that sums of 2²⁵ records stay exact
FINE_Z = 3.0  # standard deviations above which a fine bin's residuals count
QUARTILES = np.array([0.25, 0.5, 0.75])  # shares of the records at which groups are cut
MORE_CUTS = 4  # largest number of further cuts of an attribute in a pair, where stumps moved most
MOST_COMBINED = 14  # attributes of triples, and of products with pure ε, which stumps moved most
SHARED = 2  # number of common attributes of two groups that say much the same
NOTHING = 1.0  # score of no group, in square roots of the number of records


class Totals(NamedTuple):
    """Release of sums over all records, of which a record changes each by 1 at most."""

    release: Callable[[float, str], float]  # from a sum, and what it is, to the noisy sum
    sd: float  # standard deviation of the noise


@dataclass
class Stages:
    """A booster in the making."""

    data: ScoredDoor  # records with their scores
    curator: Curator  # release door
    domain: Domain  # public domain
    rho: float  # total budget
    settings: Settings  # settings of all stages

    def __post_init__(self) -> None:
        self.loss = self.data.loss
        self.constant = np.zeros(self.loss.n_problems)
        self.blocks: list[Block] = []
        self.tables: list[Floats] = []
        self.counted: list[Floats] = []
        self.noise = 0.0  # largest standard deviation of these counts
        self.left = 1.0  # share of the budget that is left
        self.unit = self.loss.width  # how far a step of 1 moves a score

    def models(self) -> list[Shapes]:
        """The models that were learnt, one for each problem."""
        table = np.concatenate([np.zeros((len(self.constant), 0)), *self.tables], axis=1)
        blocks, found = tuple(self.blocks), self.records()
        return [
            Shapes(self.domain, float(c), blocks, t, *found)
            for c, t in zip(self.constant, table, strict=True)
        ]

    def turn(self, slope: float, *, about: float) -> None:
        """Add a share of its distance from a number to every score."""
        added = [fixed(slope * table) for table in self.tables]
        shift = fixed(slope * (self.constant - about))
        layout = Layout(tuple(self.blocks))
        self.data.move(layout, np.concatenate([np.zeros((1, 0)), *added], axis=1), shift)
        self.tables = [table + more for table, more in zip(self.tables, added, strict=True)]
        self.constant += shift

    def records(self) -> tuple[tuple[Block, ...], Floats, float]:
        """Bins of each attribute, noisy numbers of records in them, and the noise's largest standard deviation."""
        if not self.counted:
            return (), np.empty(0), 0.0
        return layout_of(self.grid).blocks, np.rint(np.concatenate(self.counted)), self.noise

    # --- Thresholds -----------------------------------------------------------------------------------------

    def thresholds(self, *, uniform: int, geometric: int) -> float:
        """Take noisy counts of a public grid's bins, and halve crowded bins again and again.

        A bin is crowded if it holds more than a share of the records, and more than three standard deviations of the
        counts of the round before. A round that cuts nothing counts nothing, and then the share alone decides.

        Returns
        -------
        Noisy number of records.

        **Privacy**: a record is in one bin of every attribute that is counted, so the counts of d attributes cost d
        times 1/(2σ²). The cuts follow from counts that are released.
        """
        cuts = public_cuts(self.domain, uniform=uniform, geometric=geometric)
        grid = grid_of(self.domain, cuts)
        noisy, sd = self._count(
            layout_of(grid), self.settings.of_counts, "records in the bins of the public grid"
        )
        self.counted = np.split(noisy, np.cumsum(grid.sizes)[:-1])
        each = np.array([part.sum() for part in self.counted])
        self.n = max(float(each @ (1 / grid.sizes) / np.sum(1 / grid.sizes)), 1.0)
        found = list(cuts)
        for _ in range(self.settings.halvings // self.settings.halvings_at_once):
            sd = self._cut(found, limit=max(self.settings.crowded * self.n, 3 * sd))
        self.grid = grid_of(self.domain, tuple(found))
        return self.n

    def _count(self, layout: Layout, part: float, what: str) -> tuple[Floats, float]:
        """Noisy number of records in each cell for a part of the budget, and the noise's standard deviation."""
        rho, blocks = self._spend(part), len(layout.blocks)
        exact, shares = self.data.counts(layout)[None], np.full(layout.total, 1 / blocks)
        noisy, sd = self.noisy(layout, exact, rho, 1.0, shares, what)[0], math.sqrt(blocks / (2 * rho))
        self.noise = max(self.noise, sd)
        return noisy, sd

    def totals(self, share: float) -> Totals:
        """Release of sums over all records for a share of the budget each, which :func:`boost` sets aside."""
        rho = share * self.rho

        def release(total: float, what: str) -> float:
            return float(self.noisy(WHOLE, np.array([[total]]), rho, 1.0, np.ones(1), what)[0, 0])

        return Totals(release, 1 / math.sqrt(2 * rho))

    def _spend(self, part: float) -> float:
        """Spend a part of the budget, and return its ρ."""
        self.left -= part
        return part * self.rho

    def _cut(self, cuts: list[Floats | None], *, limit: float) -> float:
        """Halve bins with more records than the limit, and their halves; return the noise of the new counts, or 0."""
        found, settings = {}, self.settings
        for a, own in enumerate(cuts):
            if own is not None:
                crowded = self.counted[a] > limit
                finer = _finer(self.domain, a, own, crowded, times=settings.halvings_at_once)
                if len(finer) > len(own):
                    found[a] = finer
        if not found:
            return 0.0
        layout = Layout(tuple(Block((interval_axis(a, finer),)) for a, finer in found.items()))
        each = settings.of_thresholds * settings.halvings_at_once / settings.halvings
        noisy, sd = self._count(layout, each, "records in parts of crowded bins")
        for (a, finer), part in zip(found.items(), layout.parts(noisy), strict=True):
            coarse = np.asarray(cuts[a])
            old = np.searchsorted(coarse, np.append(finer, np.inf))  # the bin that each new one lies in
            cut_up = np.bincount(old)[old] > 1
            self.counted[a] = np.where(cut_up, part, self.counted[a][old])
            cuts[a] = finer
        return sd

    # --- Stumps ---------------------------------------------------------------------------------------------

    def stumps(self, plan: Plan) -> None:
        """Choose stumps, several at a time, and move the scores by a public step each.

        **Privacy**: the score of a stump h for a problem is ½ Σ r h, which a record moves by at most ½ either way,
        because its residual is in [-1, 1]. So a choice with ε = √(8ρ) is ρ-zCDP. The stumps of one pass are as many
        choices. Each choice is among stumps of the attributes that earlier choices have left, or of all attributes if
        they have left none.
        """
        rho = self._spend(plan.of_stumps)
        epsilon = math.sqrt(8 * rho / plan.stumps)
        steps = shrinking(plan.step * self.unit, plan.stumps)
        self.take_stumps(steps, self.curator.exponential, epsilon, at_once=plan.at_once)

    def take_stumps(
        self, steps: Floats, mechanism: Callable[..., Ints], epsilon: float, *, at_once: int
    ) -> None:
        """Take stumps that a mechanism chooses, at ε each."""
        grid, layout = self.grid, layout_of(self.grid)
        self.data.keep(layout)
        table = np.zeros((len(self.constant), layout.total))
        self.chosen: dict[int, dict[float, float]] = {a: {} for a in range(self.domain.n_attributes)}
        for some in np.split(steps, range(at_once, len(steps), at_once)):
            added, constant = np.zeros_like(table), np.zeros_like(self.constant)
            for step, (problem, candidate) in zip(
                some, self._choose_stumps(layout, len(some), mechanism, epsilon), strict=True
            ):
                stump = grid.stump(candidate)
                if stump.attribute < 0:
                    constant[problem] += step * stump.sign
                    continue
                at = candidate % len(grid.kind)
                start = layout.starts[stump.attribute]
                added[problem, start : start + grid.sizes[stump.attribute]] -= step * stump.sign
                added[problem, grid.start[at] : grid.stop[at]] += 2 * step * stump.sign
                moved = self.chosen[stump.attribute]
                moved[stump.cut] = moved.get(stump.cut, 0.0) + float(step)
            self.data.move(layout, added, constant)
            self.constant += constant
            table += added
        self._add(layout, table)

    def _choose_stumps(
        self, layout: Layout, times: int, mechanism: Callable[..., Ints], epsilon: float
    ) -> list[tuple[int, int]]:
        """Problems of the chosen stumps, and their positions in the order of :meth:`~dpnb.records.grid.Grid.stump`."""
        sums = self.data.residuals(layout)
        totals = sums[:, : layout.sizes[0]].sum(axis=1, keepdims=True)
        half = self.grid.within(sums) - totals / 2
        scores = np.concatenate([half, -half, totals / 2, -totals / 2], axis=1)
        attribute = np.tile([*self.grid.attribute, *self.grid.attribute, -1, -1], len(scores))
        found: list[int] = []
        for _ in range(times):
            fresh = ~np.isin(attribute, attribute[found])
            left = np.flatnonzero(fresh if fresh.any() else ~fresh)
            chosen = mechanism(
                scores.reshape(-1)[left],
                starts=np.array([0]),
                epsilon=epsilon,
                sensitivity=0.5,
                monotone=False,
                what="stump",
            )
            found.append(int(left[chosen[0]]))
        return [divmod(one, scores.shape[1]) for one in found]

    def take_products(self, steps: Floats, epsilon: float) -> None:
        """Take stumps and products of conditions on two attributes, by permute-and-flip at ε each.

        **Privacy**: ½ Σ r h moves by at most ½ either way for a product h = ±1 as for a stump.
        """
        coarse = layout_of(grid_of(self.domain, public_cuts(self.domain, **PUBLICLY))).blocks
        pairs = offered([coarse[a].axes[0] for a in self._most_moved()], 2)
        layout = Layout((*layout_of(self.grid).blocks, *pairs))
        signs = [_products(block) for block in layout.blocks]
        ends = np.cumsum([one.shape[1] for one in signs])
        self.data.keep(layout)
        table = np.zeros((len(self.constant), layout.total))
        for step in steps:
            half = [
                part.reshape(-1) @ one / 2
                for sums in self.data.residuals(layout)
                for part, one in zip(layout.parts(sums), signs, strict=True)
            ]
            scores = np.concatenate([*half, *(-one for one in half)])
            chosen = self.curator.permute_and_flip(
                scores,
                starts=np.array([0]),
                epsilon=epsilon,
                sensitivity=0.5,
                monotone=False,
                what="stump or product",
            )
            sign, place = divmod(int(chosen[0]), len(scores) // 2)
            problem, place = divmod(place, int(ends[-1]))
            block = int(np.searchsorted(ends, place, side="right"))
            added = np.zeros_like(table)
            cells = slice(layout.starts[block], layout.starts[block] + layout.sizes[block])
            added[problem, cells] = (-step if sign else step) * signs[block][:, place - ends[block]]
            self.data.move(layout, added, np.zeros_like(self.constant))
            table += added
        self._add(layout, table)

    def _most_moved(self) -> list[int]:
        """The attributes that stumps moved most."""
        moved = sorted(self.chosen, key=lambda a: -sum(self.chosen[a].values()))
        return sorted(moved[:MOST_COMBINED])

    def _add(self, layout: Layout, table: Floats) -> None:
        """Keep the blocks of a table that say anything."""
        for block, part in zip(layout.blocks, np.split(table, layout.starts[1:], axis=1), strict=True):
            if part.any():
                self.blocks.append(block)
                self.tables.append(part)

    # --- Fine attributes ------------------------------------------------------------------------------------

    def fine_attributes(self, plan: Plan) -> list[Block]:
        """Choose attributes that gain from fine bins, or none.

        **Privacy**: the score of an attribute is Σ max(|Σ r| − 3 √(Σ r² + 36), 0) over its bins and the problems. A
        record adds at most its |r|, or takes away at most |r| + r²/4, and this is the range of changes. The part of a
        bin is rounded down to a multiple of 2⁻²⁴, so that sums are exact for up to 2²⁵ records. Before rounding, its
        computed value is off by less than 2⁻²⁸, so in each problem the one bin of a record, or each bin of a person,
        changes by at most 2⁻²³ more.
        """
        if not plan.fine:
            return []
        options = [
            Block((interval_axis(a, _even(self.domain, a, bins)),))
            for a in np.flatnonzero(self.domain.continuous).tolist()
            for bins in RESOLUTIONS
        ]
        rho = self._spend(plan.of_fine) / plan.fine
        layout = Layout(tuple(options))
        parts = fine_parts(self.data.residuals(layout), self.data.squares(layout))
        touched = 1 if self.data.unit == "record" else max(layout.sizes)
        up, down = fine_moves(self.loss, touched=touched)
        none = 10 * math.sqrt(self.domain.n_attributes / (2 * self.rho))
        scores = np.append(layout.sums(parts.sum(axis=0)), none)
        return self._choose(options, scores, plan.fine, rho, down, up + down, "fine attribute")

    def _choose(
        self,
        options: list[Block],
        scores: Floats,
        times: int,
        rho: float,
        sensitivity: float,
        change_range: float,
        what: str,
    ) -> list[Block]:
        """Choose several times, at ρ each, among those unlike earlier ones; the last score stands for no choice.

        Blocks that share an attribute, or groups that share two, are alike.
        """
        found: list[Block] = []
        for _ in range(times):
            left = [i for i, block in enumerate(options) if not any(_alike(block, other) for other in found)]
            chosen = self.curator.exponential(
                scores[[*left, -1]],
                starts=np.array([0]),
                epsilon=math.sqrt(8 * rho),
                sensitivity=sensitivity,
                monotone=False,
                change_range=change_range,
                what=what,
            )
            found += [options[i] for i in left[int(chosen[0]) :][:1]]
        return found

    # --- Groups ---------------------------------------------------------------------------------------------

    def groups(self, plan: Plan) -> list[Block]:
        """Choose pairs and triples of attributes by the best product of a condition on each, or none.

        Pairs are in up to eight bins, triples of the attributes that stumps moved most, in quarters of the records.

        **Privacy**: the score of a group is the largest |½ Σ r h| over products h = ±1 of conditions, or for more than
        two classes the sum of these over the classes. A record moves it by at most half of its Σ|r|, either way. The
        score of choosing no group follows from the noisy number of records.
        """
        pairs = offered([self._coarse(a, MORE_CUTS) for a in self.chosen], 2)
        options = pairs + offered([self._coarse(a, 0) for a in self._most_moved()], 3)
        rho = self._spend(plan.of_groups) / max(plan.groups, 1)  # lost where all would have too many cells
        if not plan.groups or not options:
            return []
        layout = Layout(tuple(options))
        best = [
            [
                np.abs(part.reshape(-1) @ _products(block)).max() / 2
                for block, part in zip(options, layout.parts(one), strict=True)
            ]
            for one in self.data.residuals(layout)
        ]
        scores = np.append(np.sum(best, axis=0), NOTHING * math.sqrt(self.n * len(best)))
        half = self.loss.absolute / 2
        return self._choose(options, scores, plan.groups, rho, half, 2 * half, "group of attributes")

    def _coarse(self, attribute: int, more: int) -> Axis:
        """An attribute in few bins, cut at its noisy quartiles, and at some more places where the stumps moved most."""
        if not self.domain.continuous[attribute]:
            return category_axis(attribute, self.domain.cardinalities[attribute])
        steps, quartiles = self.chosen[attribute], self.quantiles(attribute, QUARTILES)
        largest = [cut for cut in sorted(steps, key=lambda cut: -steps[cut]) if cut not in quartiles]
        return interval_axis(attribute, np.union1d(quartiles, largest[:more]))

    def quantiles(self, attribute: int, shares: Floats) -> Floats:
        """Thresholds below which about these shares of the records lie, by the noisy counts of bins."""
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
        curvature, sharp = self._curvatures(layout, self._spend(self.settings.of_curvatures), shares)
        ridges = (
            self.settings.ridge * np.where(fine, np.maximum(sharp, self.settings.sharp), 1.0)[layout.block_of]
        )
        rho, reach = self._spend(self.left) / plan.sweeps, math.sqrt(self.loss.square)
        sd = reach / np.sqrt(2 * rho * shares)
        stiff = curvature + ridges * sd
        table = np.zeros_like(curvature)
        for step in self.settings.first_sweep * np.linspace(1, SHRINKS_TO, plan.sweeps):
            slope = self.noisy(layout, self.data.residuals(layout), rho, reach, shares, "residuals by cell")
            newton = self.loss.width * slope / np.where(stiff > 0, stiff, np.inf)
            newton -= _mean(layout, newton, curvature) * (curvature > 0)
            constant = self.loss.width * _common(layout, slope, curvature, sd, ridge=self.settings.ridge)
            added, shift = fixed(step * newton), fixed(step * constant)
            self.data.move(layout, added, shift)
            table += added
            self.constant += shift
        self._add(layout, table)

    def _picked(self) -> list[Block]:
        """The attributes of the chosen stumps, cut where the stumps were; a categorical one stays as it is."""
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
        """Sums over cells with discrete Gaussian noise, rounded down to its steps first.

        A record is in one cell of a block, where rounding adds less than a step to a change, and a change of whole
        steps stays one. A person is in many, so that there steps are the finest, and nothing is rounded.
        """
        unit = finest = 1 / FIXED_POINT
        if self.data.unit == "record":
            sd = max(reach * math.sqrt(1 / (2 * rho * float(shares.max()))), finest)  # without noise it is 0
            unit = min(max(finest, 2.0 ** math.ceil(math.log2(sd)) / STEPS_A_SCALE), 1.0)
            reach = math.ceil(reach / unit) * unit if len(sums) == 1 else reach + math.sqrt(len(sums)) * unit
        whole = np.floor(sums / unit) * unit
        noisy = self.curator.discrete_gaussian(
            whole,
            rho=rho,
            sensitivity=reach,
            unit=unit,
            shares=shares[None],
            changed=len(sums) * (len(layout.blocks) if self.data.unit == "record" else layout.total),
            what=what,
        )
        return noisy.astype(float)

    def _curvatures(self, layout: Layout, rho: float, shares: Floats) -> tuple[Floats, Floats]:
        """Curvature of the loss in each cell, from noisy counts and curvatures, and how sharply each block is counted.

        A cell's own number has more weight, the more records the cell holds, measured in noise; the rest is a share of
        the block's. A block's number is 0 where its records lie in cells whose counts stand out from their noise, and 1
        where a third of them or more do not.
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
        hidden = layout.sums(np.where(count < 3.5 * sd, count, 0.0)) / total
        return curvature, np.clip(3 * hidden, 0.0, 1.0)


def fine_parts(residuals: Floats, squares: Floats) -> Floats:
    """What each fine bin adds to the score of an attribute, from its sums of residuals and of their squares."""
    above = np.abs(residuals) - FINE_Z * np.sqrt(squares + 4 * FINE_Z**2)
    parts: Floats = np.floor(np.maximum(above, 0) / FINE_STEP) * FINE_STEP
    return parts


def fine_moves(loss: Loss, *, touched: int) -> tuple[float, float]:
    """How far a record, or a person, in so many bins moves that score up, and down."""
    up = loss.absolute + 2 * FINE_STEP * loss.n_problems * touched
    return up, up + loss.square / 4


def _alike(one: Block, other: Block) -> bool:
    """Whether two blocks share an attribute, or two attributes if they are groups."""
    both = {axis.attribute for axis in one.axes} & {axis.attribute for axis in other.axes}
    return len(both) >= min(len(one.axes), len(other.axes), SHARED)


def _finer(domain: Domain, attribute: int, cuts: Floats, which: Bools, *, times: int) -> Floats:
    """Cuts after the given bins are halved several times; the bin of missing values is not cut."""
    for _ in range(times):
        low, middle, high = _halves(domain, attribute, cuts)
        finer = np.union1d(cuts, middle[which & (low < middle) & (middle < high)])
        which = which[np.searchsorted(cuts, np.append(finer, np.inf))]
        cuts = finer
    return cuts


def shrinking(first: float, times: int) -> Floats:
    """Steps that shrink linearly."""
    return fixed(first * np.linspace(1, SHRINKS_TO, times))


def _halves(domain: Domain, attribute: int, cuts: Floats) -> tuple[Floats, Floats, Floats]:
    """Ends and middles of the bins between cuts; the bin of missing values is not halved."""
    edges = np.concatenate([[domain.lows[attribute]], cuts, [domain.highs[attribute]]])
    low, high = edges[:-1], edges[1:]
    middle = low + (high - low) / 2
    if domain.attributes[attribute].missing:
        middle[0] = high[0]
    return low, middle, high


@lru_cache(maxsize=16)
def finest_cuts(domain: Domain, *, uniform: int, geometric: int) -> Cuts:
    """All thresholds of each attribute that any stage can choose."""
    found: list[Floats | None] = []
    for a, cuts in enumerate(public_cuts(domain, uniform=uniform, geometric=geometric)):
        if cuts is not None:
            cuts = _finer(domain, a, cuts, np.ones(len(cuts) + 1, bool), times=HALVINGS)
            more = [_even(domain, a, bins) for bins in RESOLUTIONS]
            cuts = np.unique(np.concatenate([cuts, *more, np.asarray(public_cuts(domain, **PUBLICLY)[a])]))
        found.append(cuts)
    return tuple(found)


def _even(domain: Domain, attribute: int, bins: int) -> Floats:
    """Cuts of an attribute's domain into equal bins, with a cut for the missing values."""
    return np.asarray(public_cuts(domain, uniform=bins - 1, geometric=0)[attribute], float)


def offered(axes: list[Axis], size: int) -> list[Block]:
    """Groups of a given number of axes, with conditions on each and not too many cells."""
    every = map(Block, combinations([axis for axis in axes if axis.size > 1], size))
    return [block for block in every if block.size <= MOST_CELLS_OF_A_GROUP]


def _products(block: Block) -> Floats:
    """All products h = ±1 of a condition on each axis, (cells, products)."""
    products: Floats = np.ones((1, 1))
    for axis in block.axes:
        products = np.asarray(np.kron(products, _conditions(axis)), float)
    return products


def _conditions(axis: Axis) -> Floats:
    """1 in the bins where a condition holds, else −1, (bins, conditions): up to a threshold, or a category."""
    holds = np.tri(axis.size)[:-1] if axis.ordered else np.eye(axis.size)
    signs: Floats = 2 * holds.T - 1
    return signs


def _mean(layout: Layout, table: Floats, weight: Floats) -> Floats:
    """Weighted mean of a table over each block, for each of its cells."""
    mean = layout.sums(weight * table) / np.maximum(layout.sums(weight), 1e-9)
    return mean[:, layout.block_of]


def _common(layout: Layout, slope: Floats, curvature: Floats, sd: Floats, *, ridge: float) -> Floats:
    """Newton step of the constant; every block's total estimates the same number, each with its own noise."""
    precision = 1 / np.maximum(layout.sums(sd**2), 1e-300)
    total = (layout.sums(slope) * precision).sum(axis=1) / precision.sum()
    stiff = layout.sums(curvature).mean(axis=1) + ridge / math.sqrt(precision.sum())
    found: Floats = total / np.maximum(stiff, 1.0)
    return found
