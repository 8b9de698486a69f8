"""How the booster's settings were chosen: variants of it on public data sets, the grid ``settings`` of chapter 9.

Nothing here reads a test part, nor Adult, Bank or the robot. The stand-in was made from Adult's training part, with
ε = 1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from dpnb.arrays import Floats
from dpnb.boosting import groups, stages
from dpnb.boosting.booster import PrivateBooster
from dpnb.boosting.plans import LEVELS, LEVELS_OF_A_NUMBER, Level, Settings
from dpnb.domain import Continuous, Domain
from dpnb.records.memory import Records
from dpnb.settings import MORE_GROUPS, MORE_STUMPS

from ..auditing.multiplicity import holm
from ..studies.made import MADE
from ..studies.runs import DELTA, Cell, Study, cells
from ..studies.scores import class_scores
from ..studies.sets import MORE, STANDIN, split_of

SETTINGS = Settings()
SHIPPED = "as it comes"
WIDE = "/×100"  # the same records on bounds a hundred times as wide
FEW = "/few"  # a thousand of the records
PUBLIC = (
    STANDIN,
    *MORE,
    *(f"{name}{WIDE}" for name in ("credit-default", "magic-telescope", "online-shoppers")),
    *(f"{name}{FEW}" for name in (STANDIN, *MORE) if name != "german-credit"),  # it has 1 000 records
    *MADE,
)
EPSILONS = (0.1, 1.0, 5.0)
SEEDS = range(4)


def levels(few: float | None = None, /, **fields: Callable[[Any], Any]) -> dict[str, tuple[Level, ...]]:
    """Levels whose fields are changed where there are groups, and the share of stumps where records are few."""
    first, *others = LEVELS
    if few is not None:
        first = first._replace(of_stumps=few)
    other = [one._replace(**{name: of(getattr(one, name)) for name, of in fields.items()}) for one in others]
    return {"levels": (first, *other)}


def times(factor: float) -> Callable[[Any], Any]:
    """So many times the value."""
    return lambda value: type(value)(factor * value)


NONE = times(0)
NO_CELLS = {"by_cells": NONE, "of_cells": NONE}
NO_GROUPS = {"groups": NONE, "of_groups": NONE} | NO_CELLS


class Variant(NamedTuple):
    """What is changed: settings of the stages, constants of theirs, and parameters."""

    settings: Mapping[str, Any] = {}
    constants: Mapping[str, Any] = {}
    parameters: Mapping[str, Any] = {}


VARIANTS = {
    SHIPPED: Variant(),
    "thresholds 8 %": Variant({"of_thresholds": 0.08}),
    "no halving": Variant({"halvings": 0}),
    "halvings one by one": Variant({"halvings_at_once": 1}),
    "stumps ¾": Variant(levels(of_stumps=times(3 / 4))),
    "stumps 5/4": Variant(levels(of_stumps=times(5 / 4))),
    "stumps of few 40 %": Variant(levels(0.4)),
    "stumps of few 85 %": Variant(levels(0.85)),
    "one stump a pass": Variant({"at_once": 1}),
    "directions 30 %": Variant({"of_directions": 0.3}),
    "directions 70 %": Variant({"of_directions": 0.7}),
    "no groups": Variant(levels(**NO_GROUPS)),
    "no groups by cells": Variant(levels(**NO_CELLS)),
    "as for numbers": Variant({"levels": LEVELS_OF_A_NUMBER}),
    "budget of groups ×2": Variant(levels(of_groups=times(2), of_cells=times(2))),
    "twice as many by cells": Variant(levels(by_cells=times(2))),
    "half as many by cells": Variant(levels(by_cells=times(1 / 2))),
    "cells above 2 sd": Variant({}, {"GROUP_Z": 2.0}),
    "cells above 3 sd": Variant({}, {"GROUP_Z": 3.0}),
    "cells against √n": Variant({}, {"OF_NOISE": 0.0}),
    "cells against 35 sd": Variant({}, {"OF_NOISE": 35.0}),
    "groups of 256 cells": Variant({}, {"MOST_CELLS_OF_A_GROUP": 256}),
    "pairs alone": Variant({}, {"MOST_COMBINED": 0}),
    "always a group": Variant({}, {"NOTHING": 0.0}),
    "groups against 1.5 √n": Variant({}, {"NOTHING": 1.5}),
    "pairs in quarters": Variant({}, {"MORE_CUTS": 0}),
    "pairs in 16 bins": Variant({}, {"MORE_CUTS": 12}),
    "no fine attributes": Variant(levels(fine=NONE, of_fine=NONE)),
    "4 fine attributes": Variant(levels(fine=times(2))),
    "fine bins above 2 sd": Variant({}, {"FINE_Z": 2.0}),
    "a ridge for all": Variant({"sharp": 1.0}),
    "half as many sweeps": Variant(levels(sweeps=times(1 / 2))),
    "twice as many sweeps": Variant(levels(sweeps=times(2))),
    "first sweep 0.6": Variant({"first_sweep": 0.6}),
    "ridge 3": Variant({"ridge": 3.0}),
    "ridge 8": Variant({"ridge": 8.0}),
    "groups alike": Variant({}, {"SHARED": 3}),
    "63 + 48 thresholds": Variant({}, {}, {"uniform": 63, "geometric": 48}),
    "15 + 12 thresholds": Variant({}, {}, {"uniform": 15, "geometric": 12}),
}


class Split(NamedTuple):
    """Records to train on, and encoded records and classes to try the model on, both of a training part."""

    records: Records
    codes: Floats
    labels: NDArray[np.intp]


@lru_cache(maxsize=4)
def inner_split(name: str, seed: int) -> Split:
    """A fifth of the training part of a public set is held back; few records are taken from the rest."""
    data = split_of(name.removesuffix(WIDE).removesuffix(FEW), seed)
    X, y = data.train
    rng = np.random.default_rng([seed, 5])
    back = rng.random(len(X)) < 0.2
    domain = widened(data.domain, 100.0) if name.endswith(WIDE) else data.domain
    rest = np.flatnonzero(~back)
    if name.endswith(FEW):
        rest = rng.choice(rest, min(1000, len(rest)), replace=False)
    records = Records(X.iloc[rest], y.iloc[rest], domain=domain)
    return Split(records, domain.encode(X[back], strict=False), domain.encode_labels(y[back]))


def widened(domain: Domain, factor: float) -> Domain:
    """Bounds so many times as far from 0; a low end of 0 or more stays."""
    attributes = [
        replace(a, low=min(a.low, a.low * factor), high=max(a.high, a.high * factor))
        if isinstance(a, Continuous)
        else a
        for a in domain.attributes
    ]
    return replace(domain, attributes=tuple(attributes))


def booster_with(variant: Variant) -> type[PrivateBooster]:
    """The booster with other settings."""
    return type("Varied", (PrivateBooster,), {"_settings": Settings(**variant.settings)})


def module_of(constant: str) -> ModuleType:
    """The module of the stages that reads a constant."""
    return groups if hasattr(groups, constant) else stages


def measure_settings(cell: Cell) -> dict[str, float]:
    """Scores of a variant on a held-back fifth."""
    split, variant = inner_split(cell.dataset, cell.seed), VARIANTS[cell.method]
    rng = np.random.default_rng([cell.seed, int(1000 * cell.epsilon)])  # the same noise for all variants
    model: Any = booster_with(variant)(
        epsilon=cell.epsilon, delta=DELTA, random_state=rng, **variant.parameters
    )
    with ExitStack() as changed:
        for name, value in variant.constants.items():
            changed.enter_context(mock.patch.object(module_of(name), name, value))
        model.fit(split.records)
    return class_scores(model._votes(split.codes), split.labels)


def settings_grid() -> Study:
    """Variants on public sets."""
    found = cells(method=VARIANTS, dataset=PUBLIC, epsilon=EPSILONS, seed=SEEDS)
    found.sort(key=lambda c: (c.dataset, c.seed))
    return Study("settings", found, measure_settings, lambda cell: DELTA, row_a_cell=True)


def origin(name: str) -> str:
    """The set that a wide twin, or a set of few records, is made of."""
    return name.removesuffix(WIDE).removesuffix(FEW)


def gains(log: pd.DataFrame, *, leave_out: Collection[str] = (), metric: str = "auc") -> pd.DataFrame:
    """Mean gain of each variant over the booster as it comes, and its standard error over data sets and budgets.

    Parameters
    ----------
    log : results of the grid.
    leave_out : data sets that do not count; their wide twins do not either.
    """
    gain = by_cell(log[~log["dataset"].map(origin).isin(list(leave_out))], metric=metric)
    return pd.DataFrame({"gain": gain.mean(), "error": gain.sem()})


def by_cell(log: pd.DataFrame, *, metric: str = "auc") -> pd.DataFrame:
    """Mean gain of each variant (columns) over the booster as it comes, for each data set and budget."""
    part = log[log["metric"] == metric]
    mean = part.pivot_table(index=["dataset", "epsilon"], columns="method", values="value", aggfunc="mean")
    return mean.drop(columns=SHIPPED).sub(mean[SHIPPED], axis=0)


def judged(log: pd.DataFrame, *, metric: str = "auc", level: float = 0.05) -> pd.DataFrame:
    """Gains of all variants with intervals for all of them at once, and what they are without each data set in turn.

    Returns
    -------
    DataFrame of variants with ``gain``, ``half`` (of a Bonferroni interval over the variants), ``p_holm``, and
    ``least`` and ``most``, the smallest and the largest gain when one data set and its wide twin are left out.
    """
    found = gains(log, metric=metric)
    cells = len(log[["dataset", "epsilon"]].drop_duplicates())
    found["half"] = found["error"] * stats.t.ppf(1 - level / 2 / len(found), cells - 1)
    found["p_holm"] = holm(2 * stats.t.sf((found["gain"] / found["error"]).abs(), cells - 1))
    apart = [gains(log, leave_out=[name], metric=metric)["gain"] for name in (STANDIN, *MORE, *MADE)]
    found["least"], found["most"] = pd.concat(apart, axis=1).min(axis=1), pd.concat(apart, axis=1).max(axis=1)
    return found.sort_values("gain", ascending=False)


def shares_of_budget(settings: Settings = SETTINGS) -> pd.DataFrame:
    """Share of each stage in ρ for two classes, a row for each number of records times ε from which on it holds."""
    rows = {}
    for known in (0.0, *sorted({*MORE_STUMPS, *MORE_GROUPS})):
        level = settings.plan(known).level
        parts = {
            "counts": settings.of_counts,
            "thresholds": settings.of_thresholds,
            "stumps": level.of_stumps,
            "fine attributes": level.of_fine,
            "groups": level.of_groups + level.of_cells,
        }
        rows[f"{known:,.0f}".replace(",", " ")] = parts | {"sweeps": 1 - sum(parts.values())}
    return pd.DataFrame(rows).T


GRIDS = {"settings": settings_grid}
