"""Table 1 of the DiffPRFs paper: its rows, what they claim and cost, and their grid."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from dpnb.data.datasets import Dataset

from ..lineage.trees import BINS, PINQID3, DiffGen, DiffPC45, DiffPID3, DiffPRF, DTDiff, SuLQID3, _Lineage
from .diffprfs import discretised
from .runs import Cell, Study, cells, data_of, test_scores


class Method(NamedTuple):
    """A row of Table 1."""

    # name, year: of the method.
    name: str
    year: int
    estimator: type[_Lineage]  # its class
    # mechanism, budget, score: what is noised, how ε is divided over the tree, split scores with the Δ used.
    mechanism: str
    budget: str
    score: str
    composition: str  # how the claimed ε adds up
    parameters: dict[str, Any]  # what this row sets of the class

    @property
    def attributes(self) -> str:
        """What it takes."""
        return "discrete" if self.estimator.discrete_only else "discrete, continuous"

    @property
    def utilities(self) -> tuple[str, ...]:
        """Split scores that it may use; one empty name if it has no choice."""
        if "utility" in self.parameters:
            return (self.parameters["utility"],)
        return tuple(self.estimator.scores) or ("",)

    def data(self, data: Dataset) -> Dataset:
        """The data in the form that the method takes: continuous attributes in public bins if it must be."""
        return data.discretised(BINS) if self.estimator.discrete_only else data


_LEVELS = "ε₁ = ε/(2(d+1)): size and choice at each level, class counts at the leaf"
_PATH = "sum along a path, siblings in parallel"
_GAIN = "Σ N_j H(C|j): log₂(N+1) + 1/ln 2"
_SCORES = f"{_GAIN}; max: 1; Gini: 2"
_BOTH = "geometric counts, exponential choice of the attribute"
_HALF = "information gain: log₂|C|; max: 1"
_TABLE = "sum over the steps, groups in parallel"
_TREES = "ε/t for each tree, then as DiffP-ID3"

LINEAGE = (
    Method("SuLQ-ID3", 2005, SuLQID3, "geometric counts", f"{_LEVELS}; a choice divided by its number of counts",
           "gain from noisy counts: 1 a count", "sum over all counts of a node", {}),
    Method("PINQ-ID3", 2010, PINQID3, "geometric counts of a partition",
           f"{_LEVELS}; a choice divided by 2|attributes|", "gain from noisy counts: 1 a partition", _PATH, {}),
    Method("DiffP-ID3", 2010, DiffPID3, _BOTH, _LEVELS, _SCORES, _PATH, {}),
    Method("DiffP-ID3, N from the data", 2010, DiffPID3, _BOTH, _LEVELS, _GAIN, _PATH,
           {"max_records": None, "utility": "info_gain"}),
    Method("DiffP-C4.5", 2010, DiffPC45, f"{_BOTH}, after one for the threshold of each continuous attribute",
           "ε₁ = ε/((2+m)d+2): size, m thresholds and choice at each level, class counts at the leaf", _SCORES, _PATH,
           {}),
    Method("DiffGen", 2011, DiffGen, "exponential choice of thresholds and values, geometric counts",
           "ε/2 for the counts; ε₁ = ε/(2(m+2r)) for m thresholds, r choices, r pairs of thresholds", _HALF, _TABLE,
           {}),
    Method("DT-Diff", 2013, DTDiff, "one exponential choice of value and threshold, geometric counts",
           "ε/2 for the counts; ε₁ = ε/(2r) for r choices", _HALF, _TABLE, {}),
    Method("DiffPRF", 2014, DiffPRF, _BOTH, _TREES, _SCORES, "sum over the trees", {}),
    Method("DiffPRF, 5 trees", 2014, DiffPRF, _BOTH, _TREES, _SCORES, "sum over the trees", {"n_trees": 5}),
    Method("DiffPRF, bootstrap", 2014, DiffPRF, _BOTH, _TREES, _SCORES,
           "sum over the trees, as if each held a record once", {"bags": "bootstrap"}),
)  # fmt: skip


def lineage_table(data: Dataset, *, epsilon: float = 1.0, random_state: Any = 0) -> pd.DataFrame:
    """Table 1 of the DiffPRFs paper, with the ε that each method claims and the ε that its ledger finds.

    Parameters
    ----------
    data : data set to fit each method on, with its default parameters.
    epsilon, random_state : budget and seed of each fit.

    Returns
    -------
    DataFrame with a row for each of ``LINEAGE``: name, year, mechanism, budget, score, composition, attributes,
    claimed, true, relation.

    **Privacy**: each row is a release of its own; the ledgers are those of the rows.
    """
    texts = ("name", "year", "mechanism", "budget", "score", "attributes", "composition")
    rows = []
    for method in LINEAGE:
        own, parameters = (
            method.data(data),
            {"epsilon": epsilon, "random_state": random_state} | method.parameters,
        )
        ledger = method.estimator(domain=own.domain, **parameters).fit(*own.train).ledger_
        found = {"claimed": ledger.claimed, "true": ledger.epsilon, "relation": ledger.neighbours}
        rows.append({name: getattr(method, name) for name in texts} | found)
    return pd.DataFrame(rows)


# --- The grid -----------------------------------------------------------------------------------------------


def measure_lineage(cell: Cell) -> dict[str, float]:
    """As :func:`measure_forest`, for a row of Table 1."""
    method = next(m for m in LINEAGE if m.name == cell.method)
    data = discretised(cell.dataset) if method.estimator.discrete_only else data_of(cell.dataset)
    size = _size(method)
    parameters: dict[str, Any] = {
        "epsilon": cell.epsilon,
        "domain": data.domain,
        "random_state": cell.random_state(),
        size: getattr(cell, size),
    }
    if cell.utility:
        parameters["utility"] = cell.utility
    model: Any = method.estimator(**(parameters | method.parameters)).fit(*data.train)
    return test_scores(model, *data.test) | {"ledger_epsilon": model.ledger_.epsilon}


def _size(method: Method) -> str:
    """What limits the size of a model."""
    return "n_specialisations" if issubclass(method.estimator, DiffGen | DTDiff) else "max_depth"


def lineage_grid() -> Study:
    """Every row of Table 1 with each of its split scores: trees of depth 5, tables of 10 specialisations."""
    shared: dict[str, Any] = {"dataset": "adult", "epsilon": (0.1, 0.5, 1.0, 2.0), "seed": range(10)}
    sizes = {"max_depth": 5, "n_specialisations": 10}
    found = [
        cell
        for method in LINEAGE
        for cell in cells(
            method=method.name, utility=method.utilities, **shared, **{_size(method): sizes[_size(method)]}
        )
    ]
    return Study("lineage", found, measure_lineage)


GRIDS = {"lineage": lineage_grid}
