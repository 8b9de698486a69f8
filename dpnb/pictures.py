"""Pictures of a model; they need the extra ``plot``: ``pip install "dpnb[plot]"``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .domain import Attribute, Continuous
from .grid import Shape


def plot_shapes(shapes: Mapping[str, tuple[Attribute, Shape]], *, log: Sequence[str] = ()) -> Figure:
    """What attributes add to an additive score: steps over a continuous domain, bars for categories.

    Parameters
    ----------
    shapes : panel title → the public attribute and its shape.
    log : titles of the panels with a logarithmic axis.

    Returns
    -------
    Figure with two panels a row.
    """
    rows = (len(shapes) + 1) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(9.5, 3.2 * rows), layout="constrained", squeeze=False)
    for axis, (title, (attribute, shape)) in zip(axes.flat, shapes.items(), strict=False):
        if isinstance(attribute, Continuous):
            edges = np.concatenate([[attribute.floor], shape.at, [attribute.high]])
            axis.stairs(shape.score, edges, baseline=None, color="C0", linewidth=1.8)
            axis.set(
                xlabel=f"{attribute.name}, from {attribute.shown(attribute.low)} to {attribute.shown(attribute.high)}"
            )
            if title in log:
                axis.set_xscale("symlog", linthresh=float(np.diff(edges).min()))
            axis.set_ylabel("added to the score")
        else:
            axis.barh([str(value) for value in attribute.levels], shape.score, color="C0")
            axis.invert_yaxis()
            axis.axvline(0, color="black", linewidth=0.8)
            axis.set(xlabel="added to the score", ylabel=attribute.name)
        axis.set_title(title)
    for axis in axes.flat[len(shapes) :]:
        figure.delaxes(axis)
    return figure
