"""The kinds of arrays that all modules speak of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

MOST_CELLS = 2**25  # of a table of counts: a quarter of a gigabyte


def check_cells(cells: int, *, what: str) -> None:
    """Raise ValueError, before memory is touched, for a table that would be too large.

    Parameters
    ----------
    cells : their number; it has to follow from what is public or released.
    what : the table, in words.
    """
    if cells > MOST_CELLS:
        raise ValueError(
            f"{what} would have {cells} cells, more than {MOST_CELLS}: lower max_depth, or bin attributes of many "
            "values"
        )
