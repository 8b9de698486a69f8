"""A plain rival, logistic regression by noisy gradient descent, with each attribute one-hot encoded in bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arrays import Floats
from ..boosting.booster import probabilities
from ..boosting.plans import Settings, most_touched, noise_share
from ..boosting.stages import HALVINGS, Stages, finest_cuts
from ..checks import check_delta, check_share, check_step
from ..domain import Domain
from ..estimators.base import PrivateClassifier
from ..privacy.accounting import budgeted
from ..privacy.curator import Curator
from ..privacy.ledger import Neighbours
from ..records.doors import RecordsDoor
from ..records.losses import Clipped, fixed
from ..records.shapes import Block, Layout, Shapes, category_axis, interval_axis
from ..settings import LOGISTIC_COUNTS


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(PrivateClassifier):
    """Logistic regression by full-batch gradient descent with Gaussian noise, (ε, δ)-DP; additive in its attributes.

    Parameters
    ----------
    delta : total δ in (0, 1).
    n_rounds : number of gradients T ≥ 1.
    learning_rate : step along a mean gradient.
    clip : largest L2 norm of a record's residuals, in (0, 1).
    bins : ``"public"`` for public thresholds, or ``"ranks"`` for bins with about as many records each, found by noisy
        counts.
    uniform, geometric : number of public thresholds of each continuous attribute, see
        :func:`~dpnb.records.grid.public_cuts`.

    Attributes
    ----------
    models_ : list of :class:`~dpnb.records.shapes.Shapes`, one for two classes, otherwise one for each class.

    Notes
    -----
    **Privacy**: (``epsilon``, ``delta``)-DP. A record is in one bin of each of d attributes, so it changes a gradient
    by at most ``clip`` · √d in L2. Noisy counts of the bins give the number of records, and cost a tenth of ρ.
    Momentum, the mean of the second half of the weights, and everything else is post-processing.

    References
    ----------
    Song, Chaudhuri, Sarwate (2013), Stochastic gradient descent with differentially private updates; Bassily, Smith,
    Thakurta (2014), Private empirical risk minimization.
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    domain: Domain | None = None
    n_rounds: int = 100
    learning_rate: float = 2.0
    clip: float = 0.5
    bins: str = "public"
    uniform: int = 16
    geometric: int = 12
    neighbours: Neighbours = "add-remove"
    random_state: Any = None

    _choices: ClassVar = {"bins": ("public", "ranks")}
    _least: ClassVar = {"n_rounds": 1, "uniform": 0, "geometric": 0}
    _released: ClassVar = ("models_",)
    _people: ClassVar = {}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.delta is None:
            raise ValueError(
                "delta=None: expected a number in (0, 1), such as 1e-6, for Gaussian noise has no pure ε"
            )
        check_delta(self.delta)
        check_step("learning_rate", self.learning_rate)
        check_share("clip", self.clip)

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        how = {"uniform": self.uniform, "geometric": self.geometric}
        loss = Clipped(self.domain_.n_classes, self.clip)
        finest = finest_cuts(self.domain_, **how)
        data, touched = records.scored(finest, loss), most_touched(self.domain_, finest, unit=records.unit)
        ranks, d = self.bins == "ranks", self.domain_.n_attributes
        plan = (
            noise_share(LOGISTIC_COUNTS, entries=d * (1 + HALVINGS), touched=touched),
            noise_share(
                1 - LOGISTIC_COUNTS, entries=d * data.loss.n_problems * self.n_rounds, touched=touched
            ),
        )
        rho, plans = budgeted((plan,), epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)
        settings = Settings(of_counts=LOGISTIC_COUNTS, halvings=0)
        if ranks:
            settings = Settings(
                of_counts=LOGISTIC_COUNTS / 2, of_thresholds=LOGISTIC_COUNTS / 2, halvings_at_once=1
            )
        with curator.ledger.adaptive(f"logistic regression, {self.n_rounds} gradients", plans=plans):
            stages = Stages(data, curator, self.domain_, rho, settings)
            n = stages.thresholds(**how)
            self.models_ = self._descend(stages, layout_by(stages, ranks=ranks), n)

    def _descend(self, stages: Stages, layout: Layout, n: float) -> list[Shapes]:
        """Run gradient descent with momentum, and return the mean of the second half of the weights."""
        data, d = stages.data, len(layout.blocks)
        data.keep(layout)
        each = (1 - LOGISTIC_COUNTS) * stages.rho / self.n_rounds
        shares = np.full(layout.total, 1 / d)
        table = np.zeros((data.loss.n_problems, layout.total))
        speed, mean = np.zeros_like(table), np.zeros_like(table)
        half, momentum = self.n_rounds // 2, 0.9  # the usual one
        for k in range(self.n_rounds):
            slope = stages.noisy(
                layout, data.residuals(layout), each, math.sqrt(data.loss.square), shares, "gradient"
            )
            speed = momentum * speed + slope / n
            added = fixed(self.learning_rate * (1 - momentum) * speed)
            data.move(layout, added, np.zeros(len(table)))
            table += added
            mean += table * (k >= half) / (self.n_rounds - half)
        found = stages.records()
        return [Shapes(self.domain_, 0.0, layout.blocks, weights, *found) for weights in mean]

    def _votes(self, codes: Floats) -> Floats:
        return probabilities(self.models_, codes)


def layout_by(stages: Stages, *, ranks: bool) -> Layout:
    """A block for each attribute, with its own bins, or with a twentieth of the records in each."""
    blocks = []
    for a, cuts in enumerate(stages.grid.cuts):
        if cuts is None:
            blocks.append(Block((category_axis(a, stages.domain.cardinalities[a]),)))
        else:
            chosen = stages.quantiles(a, np.arange(1, 20) / 20) if ranks else cuts
            blocks.append(Block((interval_axis(a, chosen),)))
    return Layout(tuple(blocks))
