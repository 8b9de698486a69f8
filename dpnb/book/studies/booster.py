"""Ideas that were tried on the booster, each a variant of its rounds, and the grid ``booster_ideas``.

An idea changes one thing about :class:`~dpnb.booster.PrivateBooster`. Its settings were chosen on the stand-in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import solveh_banded

from ...arrays import Floats
from ...booster import PrivateBooster, RoundBudget, logistic, select_stump
from ...counts import RecordsDoor, WeightedDoor
from ...curator import Curator
from ...domain import Continuous
from ...grid import Additive, Grid, grid_at, grid_of, grid_shares, public_grid, stumps_of
from ...splits import THRESHOLD
from ..runs import DELTA, INF, Cell, Study, cells, records_of
from ..scores import probability_scores

ROUGH, WIDE = 30.0, 3.0  # prior precision of a sweep's steps between neighbouring bins, and of the bins


class Idea(PrivateBooster):
    """The booster's rounds, with the score kept as a table of the grid's bins; a subclass changes one part.

    Each part's docstring says why the privacy argument of :class:`~dpnb.booster.PrivateBooster` still holds.
    """

    at_once = 1

    def _boost(
        self, records: RecordsDoor, curator: Curator, budget: RoundBudget, *, positive: int, rounds: int
    ) -> Additive:
        data = records.weighted(self._grid(), positive=positive)
        score = self._train(data, curator, budget.times(rounds), rounds)
        return Additive(self.domain_, *stumps_of(data.grid, score))

    def _grid(self) -> Grid:
        return public_grid(self.domain_, uniform=self.uniform, geometric=self.geometric)

    def _shares(self, rounds: int) -> Floats:
        """Share of each round in the budget, (rounds,)."""
        return np.full(rounds, 1 / rounds)

    def _train(self, data: WeightedDoor, curator: Curator, total: RoundBudget, rounds: int) -> Floats:
        """Score of each bin, (bins,), from a total budget."""
        score = np.zeros(int(data.grid.sizes.sum()))
        for added in self._moves(data, curator, total, rounds):
            data.add(added)
            score += added
        return score

    def _moves(
        self, data: WeightedDoor, curator: Curator, total: RoundBudget, rounds: int
    ) -> Iterator[Floats]:
        """What each round adds to the score; the weights have followed when the next one is asked for."""
        steps = self._steps(rounds)[:: self.at_once]
        for step, share in zip(steps, self._shares(len(steps)), strict=True):
            yield step * self._learner(data, curator, total.times(float(share)))

    def _learner(self, data: WeightedDoor, curator: Curator, budget: RoundBudget) -> Floats:
        """Answer of the round's learner in each bin, (bins,)."""
        return answers(data.grid, select_stump(curator, data.right(), budget))


def answers(grid: Grid, candidate: int) -> Floats:
    """Answers ±1 of a stump in the bins of its attribute, (bins,); a constant is spread over all attributes."""
    n = len(grid.kind)
    sign = grid.stump(candidate).sign
    if candidate >= 2 * n:
        return np.full(int(grid.sizes.sum()), sign / len(grid.sizes))
    table, at = np.zeros(int(grid.sizes.sum())), candidate % n
    table[_bins(grid, int(grid.attribute[at]))] = -sign
    table[grid.start[at] : grid.stop[at]] = sign
    return table


def _bins(grid: Grid, attribute: int) -> slice:
    first = int(grid.sizes[:attribute].sum())
    return slice(first, first + int(grid.sizes[attribute]))


class GrowingBudget(Idea):
    """The last round gets three times the budget of the first: late rounds have less to find.

    **Privacy**: the shares are public and sum to 1.
    """

    def _shares(self, rounds: int) -> Floats:
        shares = np.linspace(1, 3, rounds)
        return np.asarray(shares / shares.sum(), float)


class SeveralStumps(Idea):
    """The best two stumps of the same weights, half as many times.

    **Privacy**: two choices from one vector of scores are two releases, each at half of the budget. (Durfee and Rogers
    2019 draw them at once; that saves time, not budget.)
    """

    at_once = 2

    def _learner(self, data: WeightedDoor, curator: Curator, budget: RoundBudget) -> Floats:
        right, sum_of = data.right(), np.zeros(int(data.grid.sizes.sum()))
        for _ in range(self.at_once):
            chosen = select_stump(curator, right, budget.times(1 / self.at_once))
            sum_of += answers(data.grid, chosen)
            right[chosen] = 0.0
        return sum_of


class Abstaining(Idea):
    """Learners h that answer ±1 where a condition holds and 0 elsewhere.

    **Privacy**: a record of weight u adds u (1 + y h(x)) / 2, a number in [0, u], to the score of h: monotone, Δ = 1.
    """

    def _learner(self, data: WeightedDoor, curator: Curator, budget: RoundBudget) -> Floats:
        right, n = data.right(), len(data.grid.kind)
        constants = np.repeat(right[-2:], n)  # what the stump's sign would get everywhere
        chosen = select_stump(curator, np.concatenate([(right[: 2 * n] + constants) / 2, right[-2:]]), budget)
        table = answers(data.grid, chosen)
        sign = data.grid.stump(chosen).sign
        return table if chosen >= 2 * n else np.where(table == sign, table, 0.0)


class FinePrior(Idea):
    """Four times as many thresholds; the new ones have a tenth of the others' prior weight (with δ only).

    **Privacy**: a base measure that does not depend on the data changes nothing about the exponential mechanism.
    """

    def _grid(self) -> Grid:
        return public_grid(self.domain_, uniform=127, geometric=96)

    def _learner(self, data: WeightedDoor, curator: Curator, budget: RoundBudget) -> Floats:
        grid = data.grid
        if budget.rho is None:
            raise ValueError("delta=None: the prior is for the exponential mechanism under zCDP")
        shares = grid_shares(uniform=31, geometric=24)
        width = (self.domain_.highs - self.domain_.lows)[grid.attribute]
        where = (grid.cut - self.domain_.lows[grid.attribute]) / np.where(width > 0, width, 1.0)
        old = (grid.kind != THRESHOLD) | np.isin(np.round(where, 9), np.round(shares, 9))
        prior = np.where(np.concatenate([old, old, [True, True]]), 0.0, np.log(0.1))
        chosen = curator.exponential(
            data.right(),
            starts=np.array([0]),
            epsilon=np.sqrt(8 * budget.rho),
            sensitivity=1.0,
            monotone=True,
            what="stump",
            log_measure=prior,
        )
        return answers(grid, int(chosen[0]))


class BothEnds(Idea):
    """Geometric thresholds from both ends of a domain. **Privacy**: they follow from the domain."""

    def _grid(self) -> Grid:
        shares = grid_shares(uniform=31, geometric=24)
        return grid_at(self.domain_, np.unique(np.append(shares, 1 - shares)))


class RoundNumbers(Idea):
    """1, 1.5, 2, 3, 5 and 7 times powers of ten instead of the geometric ones. **Privacy**: from the domain."""

    def _grid(self) -> Grid:
        cuts: list[Floats | None] = []
        for a in self.domain_.attributes:
            if not isinstance(a, Continuous):
                cuts.append(None)
                continue
            width = a.high - a.low
            power = 10.0 ** (np.ceil(np.log10(width)) - np.arange(6))
            steps = np.append(np.outer(power, [1, 1.5, 2, 3, 5, 7]), width * np.arange(1, 32) / 32)
            cuts.append(np.unique(a.low + steps[(steps < width) & (steps >= 1e-4 * width)]))
        return grid_of(self.domain_, tuple(cuts))


class Momentum(Idea):
    """Nesterov's look-ahead: weights are taken at F + (last move) / 2, and half of each move goes on.

    **Privacy**: F and its moves follow from past outputs, so a round costs what it costs without momentum.
    """

    def _train(self, data: WeightedDoor, curator: Curator, total: RoundBudget, rounds: int) -> Floats:
        score = np.zeros(int(data.grid.sizes.sum()))
        move, seen = score, score
        for step in self._steps(rounds):
            ahead = score + 0.5 * move
            data.add(ahead - seen)
            move = 0.5 * move + 0.5 * step * self._learner(data, curator, total.times(1 / rounds))
            score, seen = score + move, ahead
        return score


class Table(NamedTuple):
    """Released weights of a sweep.

    Parameters
    ----------
    signed : (bins,) noisy weight of +1 less that of -1.
    weight : (bins,) noisy weight of both.
    variance : of the noise in either.
    """

    signed: Floats
    weight: Floats
    variance: float


def release_table(curator: Curator, data: WeightedDoor, budget: RoundBudget) -> Table:
    """Release the weight of +1 and of -1 in every bin of every attribute.

    Parameters
    ----------
    data : weights in [0, 1].
    budget : of the release.

    **Privacy**: one more record of weight u ≤ 1 adds u to one entry for each of the d attributes, a change of at most
    d in L1 and √d in L2. Pure ε: Laplace noise of scale d/ε. zCDP: Gaussian noise of variance d/(2ρ).
    """
    exact, d = data.by_bin(), len(data.grid.sizes)
    what = "weight by bin and class"
    if budget.rho is None:
        noisy = curator.laplace(exact, epsilon=budget.epsilon, sensitivity=d, what=what)
        variance = 4 * (d / budget.epsilon) ** 2
    else:
        noisy = curator.gaussian(exact, rho=budget.rho, sensitivity=np.sqrt(d), what=what)
        variance = d / budget.rho
    return Table(noisy[0] - noisy[1], noisy[0] + noisy[1], float(variance))


def shape_step(table: Table, grid: Grid) -> Floats:
    """Step of all shapes towards the least loss, small where noise hides it.

    In a bin of weight W the loss has the slope −S and a curvature of at most W, so a step t = S / W would do; the noise
    in S has a variance v. With a normal prior of precision Q on t, neighbouring bins tied together, the most likely
    step solves ``(W² / v + Q) t = W S / v``. Its mean over each attribute gives way to one common constant.

    Parameters
    ----------
    grid : bins of the table.

    Returns
    -------
    (bins,) step.

    **Privacy**: post-processing, free.
    """
    weight, last = np.maximum(table.weight, 1e-3), np.cumsum(grid.sizes) - 1
    tied = np.repeat([cuts is not None for cuts in grid.cuts], grid.sizes)
    tied[last] = False  # to the bin that follows
    above = np.where(tied, ROUGH, 0.0)
    below = np.roll(above, 1)
    diagonal = weight**2 + table.variance * (WIDE + above + below)
    step = solveh_banded(np.stack([-table.variance * below, diagonal]), weight * table.signed)
    first = last - grid.sizes + 1
    mean = np.add.reduceat(weight * step, first) / np.add.reduceat(weight, first)
    constant = np.clip(table.signed.sum() / weight.sum(), -1.0, 1.0)
    return np.asarray(step - np.repeat(mean, grid.sizes) + constant / len(first), float)


class LastSweep(PrivateBooster):
    """After the stumps, a sweep over all shapes with half of the budget, or with 0.3 of a pure one.

    **Privacy**: the stumps cost their share, :func:`release_table` the rest.
    """

    def _boost(
        self, records: RecordsDoor, curator: Curator, budget: RoundBudget, *, positive: int, rounds: int
    ) -> Additive:
        grid = public_grid(self.domain_, uniform=self.uniform, geometric=self.geometric)
        data, steps = records.weighted(grid, positive=positive), self._steps(rounds)
        swept = 0.3 if budget.rho is None else 0.5
        stumps = []
        for step in steps:
            stump = grid.stump(select_stump(curator, data.right(), budget, share=1 - swept))
            data.advance(stump, step)
            stumps.append(stump)
        table = release_table(curator, data, budget.times(swept * rounds))
        more, alpha = stumps_of(grid, shape_step(table, grid))
        return Additive(self.domain_, (*stumps, *more), np.concatenate([steps, alpha]))


class Sweeps(Idea):
    """No stumps: ten sweeps over all shapes, each 0.4 of a whole step.

    **Privacy**: :func:`release_table`, with a tenth of the budget each.
    """

    def _moves(
        self, data: WeightedDoor, curator: Curator, total: RoundBudget, rounds: int
    ) -> Iterator[Floats]:
        for _ in range(10):
            yield 0.4 * shape_step(release_table(curator, data, total.times(0.1)), data.grid)


def release_groups(curator: Curator, exact: Floats, budget: RoundBudget) -> Floats:
    """Noisy weights of groups of records.

    **Privacy**: a record of weight u ≤ 1 is in one group, so the sensitivity is 1 in L1 and in L2.
    """
    how: dict[str, Any] = {"sensitivity": 1.0, "what": "weight of each group"}
    if budget.rho is None:
        return curator.laplace(exact, epsilon=budget.epsilon, **how)
    return curator.gaussian(exact, rho=budget.rho, **how)


class NewtonStep(Idea):
    """The step follows from noisy weights of the records on which the chosen stump is right and wrong.

    **Privacy**: the choice and :func:`release_groups` have half of the round each.
    """

    def _moves(
        self, data: WeightedDoor, curator: Curator, total: RoundBudget, rounds: int
    ) -> Iterator[Floats]:
        for step in self._steps(rounds):
            half = total.times(0.5 / rounds)
            chosen = select_stump(curator, data.right(), half)
            right, wrong = release_groups(curator, data.outcome(data.grid.stump(chosen)), half)
            newton = 0.5 * (right - wrong) / max(right + wrong, 1.0)
            yield float(np.clip(newton, step / 4, 4 * step)) * answers(data.grid, chosen)


class BinByBin(Idea):
    """Choose an attribute by its best stump and move all of its bins, as DP-EBM does, but with bounded weights.

    **Privacy**: 0.3 of a round for the choice of a stump, 0.7 for :func:`release_groups` by bin and class.
    """

    def _moves(
        self, data: WeightedDoor, curator: Curator, total: RoundBudget, rounds: int
    ) -> Iterator[Floats]:
        grid = data.grid
        for damping in 0.7 * np.linspace(1, 0.2, rounds):
            part = total.times(1 / rounds)
            chosen = grid.stump(select_stump(curator, data.right(), part, share=0.3))
            a = max(chosen.attribute, 0)
            budget, mine = part.times(0.7), _bins(grid, a)
            positive, negative = release_groups(curator, data.by_bin()[:, mine], budget)
            variance = 4 / budget.epsilon**2 if budget.rho is None else 1 / budget.rho
            noisy = Table(positive - negative, positive + negative, variance)
            added = np.zeros(int(grid.sizes.sum()))
            added[mine] = damping * shape_step(noisy, grid.only(a))
            yield added


class ChosenRate(Idea):
    """Three boosters with learning rates 0.1, 0.2 and 0.4, and a choice of the one that is right most often.

    **Privacy**: 0.3 of the budget for each booster and 0.1 for the choice. One more record adds 0 or 1 to the number of
    records that a booster, given its past outputs, gets right: monotone, Δ = 1.
    """

    def _train(self, data: WeightedDoor, curator: Curator, total: RoundBudget, rounds: int) -> Floats:
        scores, right = [], []
        for rate in (0.1, 0.2, 0.4):
            self.learning_rate_ = rate
            score = super()._train(data, curator, total.times(0.3), rounds)
            right.append(data.n_right())
            data.add(-score)
            scores.append(score)
        return scores[select_stump(curator, np.array(right), total.times(0.1))]

    def _steps(self, rounds: int) -> Floats:
        return np.asarray(self.learning_rate_ * np.linspace(1, 0.2, rounds), float)


# --- The booster as it comes --------------------------------------------------------------------------------

PRODUCT = {"pure": None, "δ = 1e-5": DELTA, "δ = 5e-8": 5e-8}  # the last is S-BDT's
FIRST_SEED = 100  # seeds 0 to 99 were used while the booster was built


def measure_product(cell: Cell) -> dict[str, float]:
    """Accuracy, AUC, log loss and calibration error of :class:`PrivateBooster` with its defaults."""
    return measure_probabilities(partial(PrivateBooster, delta=PRODUCT[cell.method]), cell)


def measure_probabilities(make: Callable[..., PrivateBooster], cell: Cell) -> dict[str, float]:
    """:func:`probability_scores` of a booster, and the ledger's ε."""
    records, codes, labels = records_of(cell.dataset)
    seed = FIRST_SEED + cell.seed
    model = make(epsilon=cell.epsilon, domain=records.domain, random_state=seed).fit(records)
    found = probability_scores(logistic(model.models_[0].score(codes)), labels)
    return found | {"ledger_epsilon": model.ledger_.epsilon}


def booster_grid() -> Study:
    """The booster as it comes, on the standard splits."""
    budgets = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
    found = cells(method=PRODUCT, dataset=("adult", "bank"), max_depth=1, epsilon=budgets, seed=range(10))
    fewer = [cell for cell in found if cell.method != "δ = 5e-8" or cell.seed < 5]
    return Study("booster", fewer, measure_product, lambda cell: PRODUCT[cell.method] or 0.0)


# --- Rivals ------------------------------------------------------------------------------------------------

GUARANTEES = {"pure": 0.0, "5e-8": 5e-8, "1e-6": 1e-6, "1e-5": DELTA}  # privacy of a rival → its δ


def rivals_at(peers: pd.DataFrame, *, dataset: str, delta: float) -> pd.DataFrame:
    """All settings of all rivals whose guarantee is at least as strict: a smaller δ, or none, promises more.

    Parameters
    ----------
    peers : table of ``results/peers.csv``, with ``privacy`` as text.
    dataset : name.
    delta : of the guarantee that is compared, 0 for pure ε.
    """
    return peers[(peers["privacy"].map(GUARANTEES) <= delta) & (peers["dataset"] == dataset)]


def leads(ours: pd.DataFrame, peers: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean of the booster less that of the best rival, a row for each data set and guarantee, a column for each ε.

    Parameters
    ----------
    ours : columns method (as in ``PRODUCT``), dataset, epsilon, metric, mean.
    peers : as for :func:`rivals_at`.
    metric : ``"accuracy"`` or ``"auc"``.

    Returns
    -------
    DataFrame; a rival counts with its best setting by test score, at every ε anew.
    """
    found = {}
    mine = ours[ours["metric"] == metric]
    for (dataset, name), part in mine.groupby(["dataset", "method"]):
        them = rivals_at(peers, dataset=str(dataset), delta=PRODUCT[str(name)] or 0.0)
        best = them.groupby("epsilon")[f"{metric}_mean"].max()
        own = part.set_index("epsilon")["mean"]
        found[dataset, name] = own - best.reindex(own.index)
    return pd.DataFrame(found).T


def area_error(area: float, *, positive: float, negative: float) -> float:
    """Standard error of an AUC that comes from the test records.

    Parameters
    ----------
    area : AUC.
    positive, negative : numbers of test records of either class.

    References
    ----------
    Hanley, McNeil (1982), The meaning and use of the area under a receiver operating characteristic curve.
    """
    both_positive, both_negative = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (positive - 1) * (both_positive - area**2)
    spread += (negative - 1) * (both_negative - area**2)
    return float(np.sqrt(spread / (positive * negative)))


# --- Ideas -----------------------------------------------------------------------------------------------

FINE: dict[str, Any] = {"uniform": 127, "geometric": 96}
IDEAS: dict[str, Callable[..., PrivateBooster]] = {
    "as it comes": PrivateBooster,
    "a sweep at the end": LastSweep,
    "a sweep at the end, finer grid": partial(LastSweep, **FINE),
    "finer grid": partial(PrivateBooster, **FINE),
    "finer grid, prior on the coarse one": FinePrior,
    "geometric thresholds at both ends": BothEnds,
    "thresholds at round numbers": RoundNumbers,
    "more, smaller steps": partial(PrivateBooster, n_rounds=400, learning_rate=0.15),
    "growing budget": GrowingBudget,
    "momentum": Momentum,
    "two stumps a round": SeveralStumps,
    "learners that abstain": Abstaining,
    "noisy Newton steps": NewtonStep,
    "bin by bin": BinByBin,
    "sweeps alone": Sweeps,
    "learning rate chosen privately": ChosenRate,
}
NOT_PURE = ("finer grid, prior on the coarse one", "more, smaller steps")
PURE = ", pure"
MEASURED_PURE = ("as it comes", "a sweep at the end", "finer grid", "momentum")
GRIDS_WITHOUT_NOISE = {"31 + 24 thresholds": (31, 24), "127 + 96": (127, 96), "511 + 384": (511, 384)}


def measure_idea(cell: Cell) -> dict[str, float]:
    """Accuracy, AUC and calibration of an idea, and the ledger's ε; at ε = ∞ of 1000 stumps on a grid."""
    if cell.method in GRIDS_WITHOUT_NOISE:
        uniform, geometric = GRIDS_WITHOUT_NOISE[cell.method]
        size: dict[str, Any] = {"uniform": uniform, "geometric": geometric}
        return measure_probabilities(partial(PrivateBooster, n_rounds=1000, learning_rate=0.2, **size), cell)
    idea = IDEAS[cell.method.removesuffix(PURE)]
    return measure_probabilities(partial(idea, delta=_delta(cell) or None), cell)


def _delta(cell: Cell) -> float:
    return 0.0 if cell.method.endswith(PURE) or cell.epsilon == INF else DELTA


def ideas_grid() -> Study:
    """Every idea with δ = 1e-5, some with pure ε = 1 as well, and what grids reach without noise."""
    on = partial(cells, dataset=("adult-standin", "adult", "bank"), max_depth=1)
    pure = [idea + PURE for idea in MEASURED_PURE]
    found = on(method=GRIDS_WITHOUT_NOISE, epsilon=INF)
    found += on(method=IDEAS, epsilon=(0.1, 1.0, 5.0), seed=range(10))
    found += on(method=pure, epsilon=1.0, seed=range(10))
    return Study("booster_ideas", found, measure_idea, _delta)


GRIDS = (booster_grid, ideas_grid)
