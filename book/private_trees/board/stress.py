"""What wide domains, attributes of noise and few records cost: the grid ``stress``.

Learners as they come, on the public sets, whose settings were chosen on narrower bounds and on all records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dpnb.domain import Attribute, Categorical, Continuous
from dpnb.records.memory import Records

from ..studies.runs import Cell, Study, cells
from ..studies.scores import class_scores
from ..studies.sets import split_of
from .learners import LEARNERS, MAKE, Parts
from .rivals import PUBLIC
from .settings import widened

LEVELS = ("a", "b", "c", "d")  # of a categorical attribute of noise
AS_IT_IS = "as it is"
METHODS = (
    "PrivateBooster, δ",
    "PrivateBooster",
    "logistic regression, δ",
    "DPAda-R, δ",
    "DiffPRFs-R",
    "random trees",
)
SEEDS = range(5)


class Stress(NamedTuple):
    """What is made harder."""

    width: float = 1.0  # factor of the bounds
    noise: int = 0  # number of attributes that say nothing, half of them numbers
    share: float = 1.0  # of the training records that are kept


STRESSES = {
    AS_IT_IS: Stress(),
    "bounds × 10": Stress(width=10.0),
    "bounds × 100": Stress(width=100.0),
    "10 attributes of noise": Stress(noise=10),
    "50 attributes of noise": Stress(noise=50),
    "1/4 of the records": Stress(share=1 / 4),
    "1/16 of the records": Stress(share=1 / 16),
    "1/64 of the records": Stress(share=1 / 64),
}
FEW = [name for name, stress in STRESSES.items() if stress.share < 1]


@lru_cache(maxsize=2)
def stressed(name: str, seed: int, stress: Stress) -> Parts:
    """A split of a public set, made harder; what is drawn for it depends on the seed alone."""
    data, rng = split_of(name, seed), np.random.default_rng([seed, 13])
    domain = widened(data.domain, stress.width)
    more = noise_attributes(stress.noise)
    domain = replace(domain, attributes=(*domain.attributes, *more))
    (X, y), (X_test, y_test) = data.train, data.test
    X, X_test = (with_noise(part, more, rng) for part in (X, X_test))
    kept = rng.permutation(len(X))[: round(stress.share * len(X))]
    records = Records(X.iloc[kept], y.iloc[kept], domain=domain)
    return Parts(records, domain.encode(X_test, strict=False), domain.encode_labels(y_test))


def noise_attributes(number: int) -> tuple[Attribute, ...]:
    """Numbers within [0, 1] and categories by turns."""
    return tuple(
        Categorical(f"noise {i}", LEVELS) if i % 2 else Continuous(f"noise {i}", 0.0, 1.0)
        for i in range(number)
    )


def with_noise(X: pd.DataFrame, more: Sequence[Attribute], rng: np.random.Generator) -> pd.DataFrame:
    """The records with values of the attributes of noise."""
    drawn: dict[str, Any] = {
        a.name: rng.random(len(X)) if isinstance(a, Continuous) else rng.choice(LEVELS, len(X)) for a in more
    }
    return pd.concat([X, pd.DataFrame(drawn, index=X.index)], axis=1)


def measure_stress(cell: Cell) -> dict[str, float]:
    """Test scores of a learner as it comes."""
    learner, parts = LEARNERS[cell.method], stressed(cell.dataset, cell.seed, STRESSES[cell.reading])
    settings = learner.settings[learner.defaults[0]]
    rng = np.random.default_rng([cell.seed, int(1000 * cell.epsilon)])  # the same noise for all stresses
    model = MAKE[cell.method](epsilon=cell.epsilon, random_state=rng, **settings).fit(parts.records)
    return class_scores(model._votes(parts.codes), parts.labels)


def applies(cell: Cell) -> bool:
    """Whether the learner takes the set, and whether there are bounds to widen."""
    bounds = STRESSES[cell.reading].width == 1 or cell.dataset != "nursery"
    return bounds and LEARNERS[cell.method].takes(cell.dataset)


def stress_grid() -> Study:
    """Every stress at ε = 1, and few records also at ε = 5."""
    on: dict[str, Any] = {"method": METHODS, "dataset": PUBLIC, "seed": SEEDS}
    found = cells(**on, reading=STRESSES, epsilon=1.0) + cells(**on, reading=[AS_IT_IS, *FEW], epsilon=5.0)
    order = sorted(filter(applies, found), key=lambda c: (c.dataset, c.seed, list(STRESSES).index(c.reading)))
    return Study("stress", order, measure_stress, lambda cell: LEARNERS[cell.method].delta)


GRIDS = {"stress": stress_grid}
