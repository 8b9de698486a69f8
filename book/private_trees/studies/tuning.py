"""What private tuning finds and costs: the grid ``tuning`` of the chapter on the booster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpnb.boosting.booster import PrivateBooster

from ..runs import DELTA, Cell, Study, cells, data_of, records_of
from ..scores import probability_scores
from ..tuning import Trials, tune

PURE = ", pure"
DEFAULTS, TUNED, DRAWN = "defaults", "tuned", "drawn blindly"
ROUNDS = {DELTA: (50, 150, 300), 0.0: (20, 45, 100)}  # δ → numbers of rounds that are tried
RATES = (0.1, 0.2, 0.4)
SETS = ("adult-standin", "adult", "bank")
REPEATS = 10


def candidates(delta: float) -> Sequence[Mapping[str, Any]]:
    """Nine settings of rounds and learning rate, public; the defaults on Adult at ε = 1 are nearly among them."""
    return [{"n_rounds": m, "learning_rate": rate} for m in ROUNDS[delta] for rate in RATES]


def measure_tuning(cell: Cell) -> dict[str, float]:
    """Accuracy, AUC, log loss and calibration error at equal total ε, what was spent in all, and a fit's own ε.

    ``drawn blindly`` fits one of the candidates, drawn at random, with the whole budget: what tuning has to beat where
    no good defaults are known.
    """
    records, codes, labels = records_of(cell.dataset)
    rng, delta = cell.random_state(), delta_of(cell)
    budget: dict[str, Any] = {"epsilon": cell.epsilon, "delta": delta or None, "domain": records.domain}
    method, settings = cell.method.removesuffix(PURE), candidates(delta)
    if method == TUNED:
        how: dict[str, Any] = {"epsilon": cell.epsilon, "delta": delta or None, "trials": Trials()}
        tuned = tune(PrivateBooster, settings, data_of(cell.dataset), random_state=rng, **how)
        model: Any = tuned.model
        spent = tuned.epsilon
    else:
        chosen = settings[int(rng.integers(len(settings)))] if method == DRAWN else {}
        model = PrivateBooster(**budget, random_state=rng, **chosen).fit(records)
        spent = model.ledger_.epsilon
    found = probability_scores(model._votes(codes)[:, 1], labels)
    return found | {"ledger_epsilon": spent, "fit_epsilon": float(model.epsilon)}


def delta_of(cell: Cell) -> float:
    """δ of a method, 0 for pure ε."""
    return 0.0 if cell.method.endswith(PURE) else DELTA


def tuning_grid() -> Study:
    """Defaults, blind draws and private tuning at ε = 1, with δ = 1e-5 and pure."""
    methods = [name + end for end in ("", PURE) for name in (DEFAULTS, TUNED, DRAWN)]
    found = cells(method=methods, dataset=SETS, max_depth=1, epsilon=1.0, seed=range(REPEATS))
    return Study("tuning", found, measure_tuning, delta_of)


GRIDS = {"tuning": tuning_grid}
