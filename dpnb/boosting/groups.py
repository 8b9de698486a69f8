"""Groups of attributes of a booster: which say more together than alone, with δ, and products of two with pure ε."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from ..arrays import Floats
from ..records.grid import grid_of, public_cuts
from ..records.shapes import Axis, Block, Layout, category_axis, interval_axis, layout_of
from ..settings import MOST_CELLS_OF_A_GROUP, PUBLICLY
from .plans import Level
from .stages import Stages, standing_moves, standing_out

QUARTILES = np.array([0.25, 0.5, 0.75])  # shares of the records at which groups are cut
MORE_CUTS = 4  # largest number of further cuts of an attribute in a pair, where stumps moved most
MOST_COMBINED = 14  # attributes of triples, and of products with pure ε, which stumps moved most
NOTHING = 1.0  # score of no group, in square roots of the number of records
GROUP_Z = 2.5  # standard deviations above which a cell's residuals count, where cells are scored
OF_NOISE = 25.0  # standard deviations of a cell's noise that are part of the score of no group there


def choose_groups(stages: Stages, level: Level) -> list[Block]:
    """Choose pairs and triples of attributes, or none: by products of conditions, and where much is known by cells too.

    Pairs are in up to eight bins, triples of the attributes that stumps moved most, in quarters of the records.

    **Privacy**: by products, the score of a group is the largest |½ Σ r h| over products h = ±1, summed over the
    problems, which a record moves by at most half of its Σ|r|, either way. By cells it is that of a fine attribute. The
    scores of no group follow from the noisy number of records.
    """
    pairs = offered([_coarse(stages, a, MORE_CUTS) for a in stages.chosen], 2)
    options = pairs + offered([_coarse(stages, a, 0) for a in _most_moved(stages)], 3)
    rho = stages.spend(level.of_groups) / max(level.groups, 1)  # lost where all would have too many cells
    of_cells = stages.spend(level.of_cells) / max(level.by_cells, 1)
    if not level.groups + level.by_cells or not options:
        return []
    layout, name = Layout(tuple(options)), "group of attributes"
    sums, problems, half = stages.data.residuals(layout), stages.loss.n_problems, stages.loss.absolute / 2
    scores = np.append(_largest_products(layout, sums), NOTHING * math.sqrt(problems * stages.n))
    found = stages.choose(options, scores, level.groups, rho, half, 2 * half, name)
    if not level.by_cells:
        return found
    parts = standing_out(sums, stages.data.squares(layout), z=GROUP_Z)
    up, down = standing_moves(stages.loss, touched=stages.touched(layout))
    noise = OF_NOISE**2 * stages.domain.n_attributes / (2 * stages.rho)
    scores = np.append(layout.sums(parts.sum(axis=0)), NOTHING * math.sqrt(problems * (stages.n + noise)))
    return stages.choose(options, scores, level.by_cells, of_cells, down, up + down, name, found=found)


def _largest_products(layout: Layout, sums: Floats) -> Floats:
    """The largest |½ Σ r h| of each block, summed over the problems."""
    best = [
        [
            np.abs(part.reshape(-1) @ _products(block)).max() / 2
            for block, part in zip(layout.blocks, layout.parts(one), strict=True)
        ]
        for one in sums
    ]
    total: Floats = np.sum(best, axis=0)
    return total


def _coarse(stages: Stages, attribute: int, more: int) -> Axis:
    """An attribute in few bins, cut at its noisy quartiles, and at some more places where the stumps moved most."""
    domain = stages.domain
    if not domain.continuous[attribute]:
        return category_axis(attribute, domain.cardinalities[attribute])
    steps, quartiles = stages.chosen[attribute], stages.quantiles(attribute, QUARTILES)
    largest = [cut for cut in sorted(steps, key=lambda cut: -steps[cut]) if cut not in quartiles]
    return interval_axis(attribute, np.union1d(quartiles, largest[:more]))


def _most_moved(stages: Stages) -> list[int]:
    """The attributes that stumps moved most."""
    moved = sorted(stages.chosen, key=lambda a: -sum(stages.chosen[a].values()))
    return sorted(moved[:MOST_COMBINED])


def take_products(stages: Stages, steps: Floats, epsilon: float) -> None:
    """Take stumps and products of conditions on two attributes, by permute-and-flip at ε each.

    **Privacy**: ½ Σ r h moves by at most ½ either way for a product h = ±1 as for a stump.
    """
    coarse = layout_of(grid_of(stages.domain, public_cuts(stages.domain, **PUBLICLY))).blocks
    pairs = offered([coarse[a].axes[0] for a in _most_moved(stages)], 2)
    layout = Layout((*layout_of(stages.grid).blocks, *pairs))
    signs = [_products(block) for block in layout.blocks]
    ends = np.cumsum([one.shape[1] for one in signs])
    stages.data.keep(layout)
    table = np.zeros((len(stages.constant), layout.total))
    for step in steps:
        half = [
            part.reshape(-1) @ one / 2
            for sums in stages.data.residuals(layout)
            for part, one in zip(layout.parts(sums), signs, strict=True)
        ]
        scores = np.concatenate([*half, *(-one for one in half)])
        chosen = stages.curator.permute_and_flip(
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
        stages.data.move(layout, added, np.zeros_like(stages.constant))
        table += added
    stages.add(layout, table)


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
