"""Pictures of a model; they need the extra ``plot``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import reduce
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import get_cachedir
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

from ..arrays import Bools, Floats
from ..boosting.regressor import PrivateBoosterRegressor
from ..domain import Attribute, Continuous
from ..estimators.base import PrivateEstimator, PrivateForest
from ..records.grid import Additive, Shape
from ..records.shapes import GroupShape, Shapes
from ..trees.picture import literal

FAINT = 0.3  # opacity where no record may lie


class _What(NamedTuple):
    """A score, in the words of a sentence, and in those of an axis."""

    words: str
    label: str


@contextmanager
def drawn_names(model: PrivateEstimator) -> Iterator[None]:
    """Draw with fonts that have the characters of a model's names and values; warn once if none is installed."""
    domain = model.domain_
    attributes = [*domain.attributes, *([] if domain.response is None else [domain.response])]
    words = [a.name for a in attributes] + list(domain.classes)
    words += [a.unit for a in attributes if isinstance(a, Continuous)]
    words += [level for a in attributes if not isinstance(a, Continuous) for level in a.levels]
    families = _families("".join(map(str, words)))
    with warnings.catch_warnings(), plt.rc_context({"font.family": families}):
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def _families(text: str) -> list[str]:
    """Families that together have all characters of a text, the usual ones first."""
    usual, more = list(plt.rcParams["font.family"]), []
    usual_font = get_font(findfont(FontProperties()))
    lacking = {c for c in text if c.isprintable() and not usual_font.get_char_index(ord(c))}
    plain = [f for f in fontManager.ttflist if f.style == "normal" and f.weight == 400]
    for font in sorted(plain, key=lambda f: ("Sans" not in f.name, "Mono" in f.name, "SC" not in f.name)):
        if not lacking:
            break
        with suppress(OSError, RuntimeError):  # listed, and gone
            has = {c for c in lacking if get_font(font.fname).get_char_index(ord(c))}
            if has and not font.name.startswith("Last Resort"):
                more.append(font.name)
                lacking -= has
    if lacking:
        warnings.warn(
            f"no font that matplotlib knows has {''.join(sorted(lacking))!r}, which are drawn as boxes: install one, "
            "such as Noto Sans CJK (apt install fonts-noto-cjk), and remove the files fontlist-*.json in "
            f"{get_cachedir()}",
            stacklevel=4,
        )
    return [*usual, *more]


def plot_shapes(
    shapes: Mapping[str, tuple[Attribute, Shape]],
    *,
    log: Sequence[str] = (),
    bars: int | None = None,
    columns: int = 2,
    empty: Mapping[str, Bools] | None = None,
    added: str = "added to the score",
) -> Figure:
    """Plot the parts of a score that attributes add, as steps over a continuous domain, or bars for categories.

    Parameters
    ----------
    shapes : mapping from panel titles to a public attribute and its shape.
    log : titles of the panels with a logarithmic axis.
    bars : largest number of categories in a panel, which shows those with the largest scores; None for all.
    columns : number of panels in a row.
    empty : mapping from panel titles to the places where a shape is drawn faintly, as
        :meth:`~dpnb.records.shapes.Shapes.empty` says.
    added : label of the axis of the parts.
    """
    rows, size = -(-len(shapes) // columns), (4.75 * columns, 3.2 * -(-len(shapes) // columns))
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axis, (title, (attribute, shape)) in zip(axes.flat, shapes.items(), strict=False):
        faint = (empty or {}).get(title, np.zeros(len(shape.score), bool))
        if isinstance(attribute, Continuous):
            _plot_steps(axis, attribute, shape, faint, log=title in log)
            axis.set_ylabel(literal(added))
        else:
            shown = np.sort(np.lexsort((-np.abs(shape.score), faint))[:bars])
            names = [literal(attribute.levels[k]) for k in shown]
            for bar, k in zip(axis.barh(names, shape.score[shown], color="C0"), shown, strict=True):
                bar.set_alpha(FAINT if faint[k] else None)
            axis.invert_yaxis()
            axis.axvline(0, color="black", linewidth=0.8)
            some = f", {len(shown)} of {len(attribute.levels)}" if len(shown) < len(attribute.levels) else ""
            axis.set(xlabel=literal(added), ylabel=literal(f"{attribute.name}{some}"))
        axis.set_title(literal(title))
    for axis in axes.flat[len(shapes) :]:
        figure.delaxes(axis)
    return figure


def _plot_steps(axis: Axes, attribute: Continuous, shape: Shape, faint: Bools, *, log: bool) -> None:
    """Plot steps over a domain, and the missing value beside it."""
    given = np.append(shape.at >= attribute.low, True)  # intervals that hold a value
    edges = np.concatenate([[attribute.low], shape.at[given[:-1]], [attribute.high]])
    for opacity, score in ((FAINT, shape.score), (1.0, np.where(faint, np.nan, shape.score))):
        how: dict[str, Any] = {"color": "C0", "linewidth": 1.8, "alpha": None if opacity == 1 else opacity}
        if opacity == 1 or faint.any():
            axis.stairs(score[given], edges, baseline=None, **how)
            if attribute.missing:
                axis.hlines(score[0], attribute.floor, attribute.low, **how)
    if attribute.missing:
        where = ((attribute.floor + attribute.low) / 2, 0.5)
        axis.axvspan(attribute.floor, attribute.low, color="0.93", linewidth=0)
        axis.annotate(
            "missing", where, xycoords=axis.get_xaxis_transform(), rotation=90, ha="center", va="center"
        )
    if attribute.is_date:
        axis.set_xticks(*_days(attribute))
    if log:
        least = max(float(np.diff(edges).min()), attribute.high * 1e-5)  # five decades are drawn at most
        axis.set_xscale("symlog", linthresh=10.0 ** np.ceil(np.log10(least)))
    axis.set_xlabel(literal(f"{attribute.name}, from {attribute.span}"))


def _days(attribute: Continuous) -> tuple[list[float], list[str]]:
    """Places and texts of the ticks on the axis of a date."""
    low, high = (datetime(1970, 1, 1) + timedelta(days=day) for day in (attribute.low, attribute.high))
    locator: Any = AutoDateLocator
    ticks = [float(tick) for tick in locator(minticks=2, maxticks=5).tick_values(low, high)]
    ticks = [tick for tick in ticks if tick.is_integer() and attribute.low <= tick <= attribute.high]
    words = [attribute.shown(tick) for tick in ticks]
    years = all(word.endswith("-01-01") for word in words)
    return ticks, [word.removesuffix("-01-01") if years else word for word in words]


def plot_group(
    names: Sequence[Attribute],
    group: GroupShape,
    *,
    empty: Bools | None = None,
    added: str = "added to the score",
) -> Figure:
    """Plot the parts of a score that the cells of two or three attributes add, as a heat map, or one for each bin.

    Parameters
    ----------
    names : the public attributes. Of three, the one with the fewest bins has a panel for each bin.
    group : thresholds or codes of each attribute, and scores.
    empty : cells that are drawn faintly.
    added : label of the scale of the parts.
    """
    order, high = _panels(group.score.shape)
    names, score = [names[place] for place in order], group.score.transpose(order)
    bins = [_bin_names(attribute, group.at[place]) for attribute, place in zip(names, order, strict=True)]
    panels = score.reshape(-1, *score.shape[-2:])
    faint = np.zeros(panels.shape, bool) if empty is None else empty.transpose(order).reshape(panels.shape)
    down, across = -(-len(panels) // 2), min(len(panels), 2)
    size = (4.75 if across == 1 else 7.5, 1.1 + high * down)
    figure, axes = plt.subplots(
        down, across, figsize=size, layout="constrained", sharex=True, sharey=True, squeeze=False
    )
    most = max(float(np.abs(score).max()), 1e-12)
    how: dict[str, Any] = {"cmap": "PuOr", "vmin": -most, "vmax": most, "aspect": "auto"}
    for place, (axis, panel) in enumerate(zip(axes.flat, panels, strict=False)):
        image = axis.imshow(panel, alpha=np.where(faint[place], FAINT, 1.0), **how)
        axis.set_yticks(range(len(bins[-2])), bins[-2])
        axis.set_xticks(range(len(bins[-1])), bins[-1], rotation=90)
        axis.grid(visible=False)
        if len(panels) > 1:
            axis.set_title(f"{literal(names[0].name)} {bins[0][place]}", fontsize="small")
        if place >= len(panels) - across:  # the last panel of its column
            axis.tick_params(labelbottom=True)
            axis.set_xlabel(literal(names[-1].name))
        if place % across == 0:
            axis.set_ylabel(literal(names[-2].name))
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    figure.colorbar(image, ax=axes, label=literal(added))
    return figure


def _panels(shape: tuple[int, ...]) -> tuple[list[int], float]:
    """The order of a group's attributes, of which the last two are a panel's rows and columns, and a panel's height.

    The one with the fewest bins of three comes first, with a panel for each bin.
    """
    least = int(np.argmin(shape)) if len(shape) > 2 else 0
    order = [least, *(place for place in range(len(shape)) if place != least)]
    most_names = max(shape[place] for place in order[-2:])
    if most_names <= 25:
        return order, 2.5
    # So many names stand below each other only, and need more inches.
    return [*order[:-2], *sorted(order[-2:], key=lambda place: -shape[place])], 0.19 * most_names


def _bin_names(attribute: Attribute, at: Floats) -> list[str]:
    """Names of categories, or upper ends of intervals."""
    if isinstance(attribute, Continuous):
        ends = np.append(at, attribute.high)
        named = [f"≤ {attribute.shown(end) if attribute.is_date else format(end, '.4g')}" for end in ends]
        return [
            literal("missing" if end < attribute.low else name) for end, name in zip(ends, named, strict=True)
        ]
    return [literal(level) for level in attribute.levels]


def plot_importances(shares: Mapping[str, float], *, xlabel: str, width: float = 7.5) -> Figure:
    """Plot bars of the twelve largest shares of attributes, with the largest on top.

    Parameters
    ----------
    shares : mapping from attributes to shares.
    xlabel : label that says of what the bars are shares.
    width : width of the figure, in inches.
    """
    ordered = sorted(shares.items(), key=lambda item: item[1])[-12:]
    figure, axis = plt.subplots(figsize=(width, 0.6 + 0.22 * len(ordered)), layout="constrained")
    axis.barh([literal(name) for name, _ in ordered], [share for _, share in ordered], color="C0")
    axis.margins(y=0.01)
    axis.set_xlabel(xlabel)
    return figure


def of_importances(model: PrivateEstimator) -> Figure | None:
    """Bars of the attributes' importances; None if the model released no counts that say where records lie."""
    models = getattr(model, "models_", [])
    if not models or not all(isinstance(one, Shapes) and one.counted for one in models):
        return None
    sizes = np.sum([one.importances() for one in models], axis=0)
    shares = dict(zip(model.domain_.names, (sizes / max(float(sizes.sum()), 1e-300)).tolist(), strict=True))
    moved = "the score" if model.domain_.response is None else literal(model.domain_.target)
    return plot_importances(shares, xlabel=f"share of what attributes move {moved} by", width=4.75)


def of_model(model: PrivateEstimator) -> Iterator[tuple[Figure, str]]:
    """Pictures of a fitted model, each with its words: the six largest shapes and three groups, or the first tree.

    **Privacy**: post-processing, free.
    """
    if isinstance(model, PrivateForest):
        figure, axis = plt.subplots(figsize=(5.5, 4), layout="constrained")
        model.trees_[0].plot(model.domain_, ax=axis, max_depth=2)
        yield figure, "The upper levels of the first tree."
        return
    for booster, what in _scores(model):
        if not isinstance(booster, Additive | Shapes):
            return
        sizes = booster.importances()
        least = 0.01 * float(sizes.sum())  # an attribute that moves the score by less is not drawn
        largest = sorted(np.flatnonzero(sizes > least).tolist(), key=lambda a: -sizes[a])[:6]
        for a in sorted(largest):
            yield _of_attribute(booster, a, what)
        if isinstance(booster, Shapes):
            yield from _of_groups(booster, what, least=least, most=3)


def _scores(model: PrivateEstimator) -> Iterator[tuple[Any, _What]]:
    """The scores that a model adds up, each with its words."""
    if isinstance(model, PrivateBoosterRegressor):
        yield model._model(None), _What(model.domain_.target, _added(model))
        return
    boosters = getattr(model, "models_", None) or [getattr(model, "model_", None)]
    for booster, label in zip(boosters, model.classes_[-len(boosters) :], strict=True):
        yield booster, _What(f"the score of class {label}", "added to the score")


def _added(model: PrivateBoosterRegressor) -> str:
    """The label of an axis in the target's unit."""
    response = model._response
    return f"added to {response.name}" + (f", {response.unit}" if response.unit else "")


def _of_attribute(booster: Additive | Shapes, attribute: int, what: _What) -> tuple[Figure, str]:
    own, (at, score) = booster.domain.attributes[attribute], booster.shape(attribute)
    mean, empty = score.mean(), np.zeros(len(score), bool)
    if isinstance(booster, Shapes) and booster.counted:
        mean, empty = booster.shares(attribute, at) @ score, booster.empty(attribute, at)
    words = f"What {own.name} adds to {what.words}, against the mean{_faint(empty)}."
    shape = {own.name: (own, Shape(at, score - mean))}
    return plot_shapes(shape, bars=12, columns=1, empty={own.name: empty}, added=what.label), words


def _of_groups(booster: Shapes, what: _What, *, least: float, most: int) -> Iterator[tuple[Figure, str]]:
    """Groups that add something to the parts that their attributes add by themselves."""
    sizes = [
        (booster.interaction(block, score)[-1] if booster.counted else float(np.ptp(score)) / 2, block, score)
        for block, score in booster.groups()
    ]
    for _, block, score in sorted((g for g in sizes if g[0] > least), key=lambda group: -group[0])[:most]:
        own = [booster.domain.attributes[axis.attribute] for axis in block.axes]
        empty = np.zeros(score.shape, bool)
        if booster.counted:
            each = [booster.empty(axis.attribute, axis.at) for axis in block.axes]
            empty = reduce(np.logical_or.outer, each)
        named = " and ".join([", ".join(one.name for one in own[:-1]), own[-1].name])
        words = f"What {named} add together to {what.words}{_faint(empty)}."
        group = GroupShape(tuple(axis.at for axis in block.axes), score)
        yield plot_group(own, group, empty=empty, added=what.label), words


def _faint(empty: Bools) -> str:
    return "; faint where noisy counts do not tell of any record" if empty.any() else ""
