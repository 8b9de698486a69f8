"""PrivateBooster, boosted decision stumps under differential privacy, which makes a product of the repaired DPAda."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arrays import Floats
from ..estimators.base import PrivateClassifier
from ..privacy.curator import Curator
from ..records.doors import RecordsDoor
from ..records.losses import Loss, loss_of, softmax
from ..records.shapes import Shapes
from .boosted import Boosted


def logistic(score: Floats) -> Floats:
    """Probability of the positive class at a score F of bounded weights, ``1 / (1 + exp(−F))``.

    The weights are the slopes of MadaBoost's loss φ(z) = 1 − z for z < 0 and exp(−z) for z ≥ 0. Where a share p is
    positive, p φ(F) + (1 − p) φ(−F) is least at F = ln(p / (1 − p)). AdaBoost's exponential loss is least at half of
    this, see :func:`~dpnb.papers.stumps.half_logistic`.
    """
    return 0.5 * (1 + np.tanh(score / 2))


def probabilities(models: Sequence[Shapes], codes: Floats) -> Floats:
    """Class probabilities (n, classes) that follow from the scores of one model, or of one model for each class."""
    scores = np.stack([model.score(codes) for model in models])
    if len(scores) > 1:
        return softmax(scores).T
    second = logistic(scores[0])
    return np.stack([1 - second, second], axis=1)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateBooster(Boosted, PrivateClassifier):
    """Boosted stumps, with δ also groups of attributes and noisy sweeps; a sum of shapes to plot, ε-DP or (ε, δ)-DP.

    Parameters
    ----------
    delta : total δ in (0, 1) for all stages, or None for pure ε. With pure ε the booster chooses stumps and products of
        two.
    n_rounds : number of stumps m ≥ 1; if None, it follows from a noisy number of records times ε.
    learning_rate : first step λ > 0 of the stumps; the step shrinks linearly to λ/5 in the last round. If None, it
        follows from the number of rounds.
    uniform, geometric : number of thresholds of each continuous attribute before the data are seen, see
        :func:`~dpnb.records.grid.public_cuts`; with δ, bins that hold many records are halved afterwards.
    additive : whether to do without pairs and triples of attributes.

    Attributes
    ----------
    models_ : list of :class:`~dpnb.records.shapes.Shapes`, one for two classes (the second is +1), otherwise one for
        each class.
    feature_importances_ : (attributes,) share of each attribute in the movements of the score; see the property.

    Notes
    -----
    **Privacy**: ``epsilon``-DP, or (``epsilon``, ``delta``)-DP, under ``neighbours`` for a given domain. Given past
    outputs the scores F of all records are fixed, and a record changes sums over cells by its own residual r. This is
    ``y · min(1, exp(−y F))`` for two classes, and ``1[y = k] − p_k`` of each class k for more.

    * The booster releases a noisy number of records with pure ε. With δ it releases noisy counts of the bins of each
      attribute, some of which are halved; a record is in one bin of each attribute.
    * For stumps, and with pure ε for products of two in the last rounds, the score ``½ Σ r h`` moves by at most ½
      either way. Permute-and-flip chooses them, or with δ the exponential mechanism, several times in a pass over the
      records. With δ and more than two classes a stump serves all of them. Its score ``½ Σ_k |Σ r_k h|`` moves by at
      most ½ Σ|r| either way, and noisy sums ``Σ r_k h`` say how far each class moves.
    * For fine attributes, the score ``Σ max(|Σ r| − 3 √(Σ r² + 36), 0)`` over bins moves up by Σ|r| or down by Σ|r| +
      r²/4 at most.
    * For groups, the largest ``|½ Σ r h|`` over products h of a condition on each of two or three attributes moves by
      at most ½ Σ|r|, either way. Where much is known, as many more are chosen by ``Σ max(|Σ r| − 2.5 √(Σ r² + 25), 0)``
      over cells, which moves like the score of fine attributes.
    * For sweeps, a record is in one cell of each block, with a residual of at most 1 (√2 for more than two classes) in
      L2.

    Draws are exact. Sums of residuals, which are multiples of 2⁻²⁸, are exact for up to 2²⁵ records, and scores that
    are added up over bins are exact while records times attributes are at most 2²⁵. The number of rounds, and
    everything else that follows from the noisy number of records, is post-processing; budgets are fixed in advance.
    With δ, all plans that may follow are declared, and ρ is what the worst of them leaves, see
    :mod:`dpnb.privacy.accounting`.

    Call ``print(domain.check(X, y))`` before a fit, because a fit silently moves misfits into the domain, and spends
    its budget.

    You may choose ``n_rounds`` and ``learning_rate`` freely before the data are seen. Every further fit on the private
    records spends its own budget.

    References
    ----------
    Domingo, Watanabe (2000), MadaBoost; McKenna, Sheldon (2020), Permute-and-Flip; Cesar, Rogers (2021), Bounding,
    concentrating, and truncating; Canonne, Kamath, Steinke (2020), The discrete Gaussian for differential privacy.
    """

    _released: ClassVar = ("models_",)

    def _fit(self, records: RecordsDoor, curator: Curator) -> None:
        self.models_, _ = self._boost(records, curator)

    def _loss(self) -> Loss:
        return loss_of(self.domain_.n_classes)

    def _votes(self, codes: Floats) -> Floats:
        return probabilities(self.models_, codes)

    def _model(self, label: Any) -> Shapes:
        if len(self.models_) > 1:
            if label not in self.domain_.classes:
                raise ValueError(
                    f"label={label!r}: expected one of {', '.join(map(repr, self.domain_.classes))}"
                )
            return self.models_[self.domain_.classes.index(label)]
        if label not in (None, second := self.domain_.classes[1]):
            raise ValueError(
                f"label={label!r}: expected {second!r} or None; with two classes the others are these upside down"
            )
        return self.models_[0]
