"""Pictures of a model; they need the extra ``plot``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from .arrays import Floats
from .booster import PrivateBooster
from .domain import Attribute, Continuous
from .estimators import PrivateClassifier, PrivateForest
from .grid import Additive, Shape
from .shapes import PairShape, Shapes
from .trees import literal

LEAST_SHOWN = 1e-5  # of a logarithmic axis, as a share of its upper end


def plot_shapes(
    shapes: Mapping[str, tuple[Attribute, Shape]],
    *,
    log: Sequence[str] = (),
    bars: int | None = None,
    columns: int = 2,
) -> Figure:
    """What attributes add to an additive score: steps over a continuous domain, bars for categories.

    Parameters
    ----------
    shapes : panel title → the public attribute and its shape.
    log : titles of the panels with a logarithmic axis.
    bars : most categories in a panel, those of the largest scores; None for all.
    columns : panels a row.
    """
    rows, size = -(-len(shapes) // columns), (4.75 * columns, 3.2 * -(-len(shapes) // columns))
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axis, (title, (attribute, shape)) in zip(axes.flat, shapes.items(), strict=False):
        if isinstance(attribute, Continuous):
            edges = np.concatenate([[attribute.floor], shape.at, [attribute.high]])
            axis.stairs(shape.score, edges, baseline=None, color="C0", linewidth=1.8)
            axis.set(xlabel=literal(f"{attribute.name}, from {attribute.span}"))
            if title in log:
                least = max(float(np.diff(edges).min()), attribute.high * LEAST_SHOWN)
                axis.set_xscale("symlog", linthresh=10.0 ** np.ceil(np.log10(least)))
            axis.set_ylabel("added to the score")
        else:
            shown = np.sort(np.argsort(-np.abs(shape.score), kind="stable")[:bars])
            axis.barh([literal(attribute.levels[k]) for k in shown], shape.score[shown], color="C0")
            axis.invert_yaxis()
            axis.axvline(0, color="black", linewidth=0.8)
            some = f", {len(shown)} of {len(attribute.levels)}" if len(shown) < len(attribute.levels) else ""
            axis.set(xlabel="added to the score", ylabel=literal(f"{attribute.name}{some}"))
        axis.set_title(literal(title))
    for axis in axes.flat[len(shapes) :]:
        figure.delaxes(axis)
    return figure


def plot_pair(names: tuple[Attribute, Attribute], pair: PairShape) -> Figure:
    """What the cells of two attributes add to an additive score, as a heat map.

    Parameters
    ----------
    names : the public attributes of its rows and columns.
    pair : thresholds or codes of both, and scores.
    """
    figure, axis = plt.subplots(figsize=(4.75, 3.6), layout="constrained")
    most = max(float(np.abs(pair.score).max()), 1e-12)
    image = axis.imshow(pair.score, cmap="PuOr", vmin=-most, vmax=most, aspect="auto")
    rows, columns = (
        _bin_names(attribute, at) for attribute, at in zip(names, (pair.rows, pair.columns), strict=True)
    )
    axis.set_yticks(range(len(rows)), rows)
    axis.set_xticks(range(len(columns)), columns, rotation=90)
    axis.set(ylabel=literal(names[0].name), xlabel=literal(names[1].name))
    axis.grid(visible=False)
    figure.colorbar(image, label="added to the score")
    return figure


def _bin_names(attribute: Attribute, at: Floats) -> list[str]:
    """Names of categories, or upper ends of intervals."""
    if isinstance(attribute, Continuous):
        return [literal(f"≤ {cut:.4g}") for cut in at] + [literal(f"≤ {attribute.high:.4g}")]
    return [literal(level) for level in attribute.levels]


def plot_importances(shares: Mapping[str, float], *, xlabel: str, width: float = 7.5) -> Figure:
    """Bars of the attributes' shares, the largest on top.

    Parameters
    ----------
    shares : attribute → share.
    xlabel : what a share is of.
    width : of the figure, in inches.
    """
    ordered = sorted(shares.items(), key=lambda item: item[1])
    figure, axis = plt.subplots(figsize=(width, 0.6 + 0.28 * len(ordered)), layout="constrained")
    axis.barh([literal(name) for name, _ in ordered], [share for _, share in ordered], color="C0")
    axis.margins(y=0.01)
    axis.set_xlabel(xlabel)
    return figure


def of_model(model: PrivateClassifier, *, shapes: int = 6) -> Iterator[tuple[Figure, str]]:
    """Pictures of a released model, each with its words: importances, and the largest shapes or the first tree.

    Parameters
    ----------
    model : a fitted estimator.
    shapes : most attributes whose shapes are drawn.

    **Privacy**: post-processing, free.
    """
    names = model.domain_.names
    if isinstance(model, PrivateForest):
        split = np.concatenate([tree.splits.attribute for tree in model.trees_])
        counts = np.bincount(split[split >= 0], minlength=len(names))
        shares = dict(zip(names, (counts / max(counts.sum(), 1)).tolist(), strict=True))
        yield (
            plot_importances(shares, xlabel="share of the splits", width=4.75),
            "Share of the splits by attribute.",
        )
        figure, axis = plt.subplots(figsize=(5.5, 4), layout="constrained")
        model.trees_[0].plot(model.domain_, ax=axis, max_depth=2)
        yield figure, "The upper levels of the first tree."
        return
    boosters = model.models_ if isinstance(model, PrivateBooster) else [getattr(model, "model_", None)]
    for booster, label in zip(boosters, model.classes_[-len(boosters) :], strict=True):
        if not isinstance(booster, Additive | Shapes):
            return
        of = "steps" if isinstance(booster, Additive) else "distances from lowest to highest score"
        sizes = booster.importances()
        shares = dict(zip(names, (sizes / max(float(sizes.sum()), 1e-300)).tolist(), strict=True))
        yield (
            plot_importances(shares, xlabel=f"share of the {of}", width=4.75),
            f"Share of the {of} by attribute, class {label}.",
        )
        largest = sorted(range(len(names)), key=lambda a: -sizes[a])[:shapes]
        for a in sorted(a for a in largest if sizes[a] > 0):
            drawn = {names[a]: (model.domain_.attributes[a], booster.shape(a))}
            words = f"What {names[a]} adds to the score of class {label}."
            yield plot_shapes(drawn, bars=12, columns=1), words
        pairs = booster.pairs() if isinstance(booster, Shapes) else []
        for block, score in sorted(pairs, key=lambda pair: -float(np.ptp(pair[1])))[: shapes // 2]:
            one, other = block.axes
            both = (model.domain_.attributes[one.attribute], model.domain_.attributes[other.attribute])
            words = f"What {both[0].name} and {both[1].name} add together to the score of class {label}."
            yield plot_pair(both, PairShape(one.at, other.at, score)), words
