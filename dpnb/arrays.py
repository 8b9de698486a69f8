"""Names for the kinds of arrays that all modules use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

FIXED_POINT = (
    2.0**28
)  # units in a score, or a vote, of 1, so that sums of 2²⁵ of them are below 2⁵³ units and exact
MOST_CELLS = 2**25  # of a table of counts: a quarter of a gigabyte


def check_cells(cells: int, *, what: str) -> None:
    """Raise ValueError, before memory is touched, for a table that would be too large.

    Parameters
    ----------
    cells : number of cells, which has to follow from public or released values.
    what : the table, in words.
    """
    if cells > MOST_CELLS:
        raise ValueError(
            f"{what} would have {cells} cells, more than {MOST_CELLS}: lower max_depth, or bin attributes of many "
            "values"
        )


def cells_of(column: Any) -> list[Any]:
    """Cells of a series, index or array as Python has them; one that it has no type for is replaced by an Ellipsis."""

    def cell(place: int) -> Any:
        try:
            return column.array[place]
        except Exception:  # such as Arrow's year 10000
            return ...

    try:
        found: list[Any] = column.tolist()
    except Exception:
        return [cell(place) for place in range(len(column))]
    return found
