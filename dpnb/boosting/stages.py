"""Stages of the booster with δ, which are thresholds, stumps, fine attributes, groups, and noisy sweeps over all.

Each stage asks the records door for sums over the cells of a layout, releases something, and moves the scores by what
it released. The docstring of a stage says what one record can change. Budgets are zCDP ρ under add/remove.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from ..arrays import FIXED_POINT, Bools, Floats, Ints
from ..domain import Domain
from ..privacy.curator import Curator
from ..records.doors import ScoredDoor
from ..records.grid import grid_of, public_cuts
from ..records.losses import Loss, fixed
from ..records.shapes import WHOLE, Block, Cuts, Layout, Shapes, category_axis, interval_axis, layout_of
from ..settings import (
    PUBLICLY,
    RESOLUTIONS,
    SHRINKS_TO,
)
from .plans import (
    STEPS_A_SCALE,
    Level,
    Plan,
    Settings,
)

HALVINGS = 8  # largest number for a crowded bin
FINE_STEP = 2.0**-24  # units of the part of a cell in a score, so that sums of 2²⁵ records stay exact
FINE_Z = 3.0  # standard deviations above which a fine bin's residuals count
SHARED = 2  # number of common attributes of two groups that say much the same

Choice = Callable[..., Ints]  # a mechanism that chooses among scores
Chooser = Callable[[Layout, int], list[tuple[int, Floats]]]  # → places of stumps, and ways of the problems


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
        rho, blocks = self.spend(part), len(layout.blocks)
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

    def spend(self, part: float) -> float:
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

    def quantiles(self, attribute: int, shares: Floats) -> Floats:
        """Thresholds below which about these shares of the records lie, by the noisy counts of bins."""
        cuts = np.asarray(self.grid.cuts[attribute])
        counts = np.maximum(self.counted[attribute], 0.0)
        below, total = np.cumsum(counts)[:-1], counts.sum()
        return np.unique(cuts[[np.abs(below - share * total).argmin() for share in shares if len(cuts)]])

    # --- Stumps ---------------------------------------------------------------------------------------------

    def stumps(self, plan: Plan) -> None:
        """Choose stumps, several at a time, and move the scores by a step each.

        The stumps of one pass are as many choices. Each is among stumps of the attributes that earlier ones have left,
        or of all attributes if they have left none.
        """
        rho = self.spend(plan.level.of_stumps) / plan.stumps
        choose: Chooser = partial(self.signed, self.curator.exponential, math.sqrt(8 * rho))
        if len(self.constant) > 1:
            choose = partial(self._directed, rho)
        self.take_stumps(shrinking(plan.step * self.unit, plan.stumps), choose, at_once=plan.at_once)

    def take_stumps(self, steps: Floats, choose: Chooser, *, at_once: int) -> None:
        """Take a stump for each step."""
        grid, layout = self.grid, layout_of(self.grid)
        self.data.keep(layout)
        table = np.zeros((len(self.constant), layout.total))
        self.chosen: dict[int, dict[float, float]] = {a: {} for a in range(self.domain.n_attributes)}
        for some in np.split(steps, range(at_once, len(steps), at_once)):
            added, constant = np.zeros_like(table), np.zeros_like(self.constant)
            for step, (at, direction) in zip(some, choose(layout, len(some)), strict=True):
                way = fixed(step * direction)
                if at == len(grid.kind):
                    constant += way
                    continue
                a, cut = int(grid.attribute[at]), float(grid.cut[at])
                added[:, layout.starts[a] : layout.starts[a] + grid.sizes[a]] -= way[:, None]
                added[:, grid.start[at] : grid.stop[at]] += 2 * way[:, None]
                self.chosen[a][cut] = self.chosen[a].get(cut, 0.0) + float(step)
            self.data.move(layout, added, constant)
            self.constant += constant
            table += added
        self.add(layout, table)

    def signed(
        self, mechanism: Choice, epsilon: float, layout: Layout, times: int
    ) -> list[tuple[int, Floats]]:
        """Stumps that move one problem up or down by a whole step, which a mechanism chooses at ε each.

        **Privacy**: the score of a stump h = ±1 for a problem is ½ Σ r h, which a record moves by at most ½ either way,
        because its residual is in [-1, 1]. So a choice with ε = √(8ρ) is ρ-zCDP.
        """
        scores = self._correlations(layout) / 2
        scores = np.concatenate([scores[:, :-1], -scores[:, :-1], scores[:, -1:], -scores[:, -1:]], axis=1)
        n, width = len(self.grid.kind), scores.shape[1]
        at = np.array([*range(n), *range(n), n, n])
        found = self._unlike(np.tile(at, len(scores)), scores.reshape(-1), times, mechanism, epsilon, 0.5)
        problems, places = np.divmod(found, width)
        sign = np.array([*np.ones(n), *-np.ones(n), 1.0, -1.0])[places]
        ways = sign[:, None] * np.eye(len(scores))[problems]
        return list(zip(at[places].tolist(), ways, strict=True))

    def _directed(self, rho: float, layout: Layout, times: int) -> list[tuple[int, Floats]]:
        """Stumps that move all of several problems, each as far as noisy sums say, at ρ each.

        **Privacy**: the score of a stump h = ±1 is ½ Σ_k |Σ r_k h|, which a record moves by at most half of its Σ|r|,
        either way. The noisy sums are Σ r_k h, which a record changes by its residuals, up to signs.
        """
        sums, half = self._correlations(layout), self.loss.absolute / 2
        share, reach = self.settings.of_directions, math.sqrt(self.loss.square)
        of_way, epsilon = share * rho, math.sqrt(8 * (1 - share) * rho)
        sd = reach / math.sqrt(2 * of_way)
        scores, at = np.abs(sums).sum(axis=0) / 2, np.arange(sums.shape[1])
        found = self._unlike(at, scores, times, self.curator.exponential, epsilon, half)
        what = "residuals on both sides of a stump"
        noisy = [self.noisy(WHOLE, sums[:, [i]], of_way, reach, np.ones(1), what)[:, 0] for i in found]
        return [(i, v / max(math.sqrt(float(np.mean(v**2))), sd)) for i, v in zip(found, noisy, strict=True)]

    def _correlations(self, layout: Layout) -> Floats:
        """Σ r h of the stumps h = ±1 of the grid, and last of h = 1 for all records, (problems, stumps)."""
        sums = self.data.residuals(layout)
        totals = sums[:, : layout.sizes[0]].sum(axis=1, keepdims=True)
        return np.concatenate([2 * self.grid.within(sums) - totals, totals], axis=1)

    def _unlike(
        self, at: Ints, scores: Floats, times: int, mechanism: Choice, epsilon: float, sensitivity: float
    ) -> list[int]:
        """Places of as many scores, for stumps of different attributes while there are."""
        attribute, found = np.append(self.grid.attribute, -1)[at], list[int]()
        for _ in range(times):
            fresh = ~np.isin(attribute, attribute[found])
            left = np.flatnonzero(fresh if fresh.any() else ~fresh)
            chosen = mechanism(
                scores[left],
                starts=np.array([0]),
                epsilon=epsilon,
                sensitivity=sensitivity,
                monotone=False,
                what="stump",
            )
            found.append(int(left[chosen[0]]))
        return found

    def add(self, layout: Layout, table: Floats) -> None:
        """Keep the blocks of a table that say anything."""
        for block, part in zip(layout.blocks, np.split(table, layout.starts[1:], axis=1), strict=True):
            if part.any():
                self.blocks.append(block)
                self.tables.append(part)

    # --- Fine attributes ------------------------------------------------------------------------------------

    def fine_attributes(self, level: Level) -> list[Block]:
        """Choose attributes that gain from fine bins, or none.

        **Privacy**: the score of an attribute is Σ max(|Σ r| − 3 √(Σ r² + 36), 0) over its bins and the problems. A
        record adds at most its |r|, or takes away at most |r| + r²/4, and this is the range of changes. The part of a
        bin is rounded down to a multiple of 2⁻²⁴, so that sums are exact for up to 2²⁵ records. Before rounding, its
        computed value is off by less than 2⁻²⁸, so in each problem the one bin of a record, or each bin of a person,
        changes by at most 2⁻²³ more.
        """
        if not level.fine:
            return []
        options = [
            Block((interval_axis(a, _even(self.domain, a, bins)),))
            for a in np.flatnonzero(self.domain.continuous).tolist()
            for bins in RESOLUTIONS
        ]
        rho = self.spend(level.of_fine) / level.fine
        layout = Layout(tuple(options))
        parts = standing_out(self.data.residuals(layout), self.data.squares(layout), z=FINE_Z)
        up, down = standing_moves(self.loss, touched=self.touched(layout))
        none = 10 * math.sqrt(self.domain.n_attributes / (2 * self.rho))
        scores = np.append(layout.sums(parts.sum(axis=0)), none)
        return self.choose(options, scores, level.fine, rho, down, up + down, "fine attribute")

    def touched(self, layout: Layout) -> int:
        """In how many cells of a block a record is, or a person can be."""
        return 1 if self.data.unit == "record" else int(max(layout.sizes))

    def choose(
        self,
        options: list[Block],
        scores: Floats,
        times: int,
        rho: float,
        sensitivity: float,
        change_range: float,
        what: str,
        found: Sequence[Block] = (),
    ) -> list[Block]:
        """Choose several times, at ρ each, among those unlike earlier ones; the last score stands for no choice.

        Blocks that share an attribute, or groups that share two, are alike. Those that were found before stay.
        """
        found = list(found)
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

    # --- Sweeps ---------------------------------------------------------------------------------------------

    def sweeps(self, level: Level, more: list[Block]) -> None:
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
        curvature, sharp = self._curvatures(layout, self.spend(self.settings.of_curvatures), shares)
        ridges = (
            self.settings.ridge * np.where(fine, np.maximum(sharp, self.settings.sharp), 1.0)[layout.block_of]
        )
        rho, reach = self.spend(self.left) / level.sweeps, math.sqrt(self.loss.square)
        sd = reach / np.sqrt(2 * rho * shares)
        stiff = curvature + ridges * sd
        table = np.zeros_like(curvature)
        for step in self.settings.first_sweep * np.linspace(1, SHRINKS_TO, level.sweeps):
            slope = self.noisy(layout, self.data.residuals(layout), rho, reach, shares, "residuals by cell")
            newton = self.loss.width * slope / np.where(stiff > 0, stiff, np.inf)
            newton -= _mean(layout, newton, curvature) * (curvature > 0)
            constant = self.loss.width * _common(layout, slope, curvature, sd, ridge=self.settings.ridge)
            added, shift = fixed(step * newton), fixed(step * constant)
            self.data.move(layout, added, shift)
            table += added
            self.constant += shift
        self.add(layout, table)

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


def standing_out(residuals: Floats, squares: Floats, *, z: float) -> Floats:
    """What each cell adds to the score of its block, from sums of residuals and of their squares: what stands out."""
    above = np.abs(residuals) - z * np.sqrt(squares + 4 * z**2)
    parts: Floats = np.floor(np.maximum(above, 0) / FINE_STEP) * FINE_STEP
    return parts


def standing_moves(loss: Loss, *, touched: int) -> tuple[float, float]:
    """How far a record, or a person, in so many cells moves that score up, and down."""
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
