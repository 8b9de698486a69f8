"""What training through the Spark door costs: seconds of a pass, bytes between machines. A model of measurements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import nnls


def read_scale(folder: Path) -> pd.DataFrame:
    """Measurements of ``benchmarks/scale.py``, one row a fit.

    Returns
    -------
    DataFrame with model, rows, attributes, cores, partitions; seconds ``encode_s``, ``fit_s``, the median ``pass_s`` of
    the passes and each of them in ``pass_list_s``; largest memory in MB of the driver, of Java, of the workers and of
    all together.
    """
    return pd.read_csv(folder / "scale.csv")


@dataclass(frozen=True)
class PassCost:
    """Seconds of a pass as ``fixed + rows · (record + value · attributes) / cores``."""

    fixed: float  # seconds that a pass takes on no records
    record: float  # seconds of one core for each record
    value: float  # seconds of one core for each value of a record

    def seconds(self, *, rows: float, attributes: float, cores: float) -> float:
        """Seconds of one pass."""
        return self.fixed + rows * (self.record + self.value * attributes) / cores


def fit_pass_cost(table: pd.DataFrame) -> PassCost:
    """The cost that fits measured passes best, in the least sum of squared relative errors; nothing is negative.

    Parameters
    ----------
    table : rows of :func:`read_scale` of one model.
    """
    share = (table["rows"] / table["cores"]).to_numpy()
    terms = np.stack([np.ones(len(table)), share, share * table["attributes"].to_numpy()], axis=1)
    seconds = table["pass_s"].to_numpy()
    # Columns of one size, so that the solver does not take seconds a record for nothing.
    scale = terms.max(axis=0)
    found, _ = nnls(terms / scale / seconds[:, None], np.ones(len(table)))
    return PassCost(*(float(v) for v in found / scale))


def table_bytes(*, nodes: int, classes: int, bins: int) -> int:
    """Most bytes of a task's answer about a level of a tree: cells that are 0 are not sent.

    Parameters
    ----------
    nodes : open nodes of the level.
    classes : number of classes.
    bins : bins of all attributes together.
    """
    return nodes * classes * bins * 16  # a cell's number and its count, 8 bytes each
