"""Figures show what they are given: no faults, labelled axes, white paper, letters that a telephone can show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogLocator

from cases import EPSILONS, LEVELS, LINES, TWO, points
from cases.diffprfs import SETS, trees
from cases.dpada import first_steps, rounds
from dpnb import Categorical, Continuous
from dpnb.records.grid import Shape
from dpnb.release import pictures
from private_trees import drawings, modules_of
from private_trees.auditing import tradeoff
from private_trees.auditing.fixed import compare
from private_trees.board import standings
from private_trees.drawings import (
    audit,
    bets,
    board,
    diffprfs,
    edprf,
    foundations,
    pearson,
    plots,
    rebuild,
    scale,
)
from private_trees.drawings.common import label_ends
from private_trees.exercises.pearson import phi
from private_trees.papers import PAPERS
from private_trees.site import figures
from private_trees.site.figures import NARROW, faults, show
from private_trees.site.narrow import narrow
from private_trees.studies import selection
from private_trees.studies.scale import PassCost
from private_trees.tables import edprf as tables_edprf

LETTERS, WIDEST = 8.0, 5.3  # points; inches, of which a telephone of 390 px shows 60 % or more
WIDER = "pictures.plot_shapes"  # of a reader's own models
RNG = np.random.default_rng(0)

# --- what the figures are given ---------------------------------------------------------------------------------


X, HALF, DRAWS = np.linspace(-2.0, 2.0, 41), np.full(41, 0.25), np.random.default_rng(0).normal(size=500)
PRIOR = np.linspace(0.01, 0.99, 50)
ANSWERS = {"with": np.repeat(np.arange(3), 10), "without": np.repeat(np.arange(3), [20, 5, 5])}
BOARD = points(method=["a", "b"], dataset=["one", "three", "two"], epsilon=EPSILONS).assign(loss=0.1)
LEADS = BOARD.query("method == 'a'").assign(mean=0.01, half=0.02)
RANKING = standings.Ranking(pd.Series({"a": 1.2, "b": 1.8}), 0.01, 0.7, 5)
CLIMB = pd.DataFrame({"name": ["a", "b"] * 4, "audit": 0, "runs": np.repeat([1, 2, 3, 4], 2), "bound": 0.5})
TWINS = pd.DataFrame(
    {"mechanism": ["x", "y"], "truth": ["broken", "correct"], "exact": [np.inf, 1], "replay": 1, "attack": 1}
)
RIVALS = pd.DataFrame({"learner": ["p", "q"], "relation_tested": ["replace", "add-remove"]}).assign(
    claimed=1.0, together=[0.5, 2]
)
GUESSES = pd.DataFrame(
    {"model": ["a", "a", "b"], "machines": [1, 10, 1], "reading, s": 2.0, "waiting, s": 1.0}
)
BOUNDS = pd.DataFrame({"name": ["a", "b"], "canaries": [10, 10], "bound": [0.1, 1.0]})
SCORES = dict.fromkeys("ab", (np.ones(3), np.zeros(3)))
GAMES = pd.DataFrame(
    {"name": ["a", "b"] * 4, "game": [0, 0, 1, 1] * 2, "runs": np.repeat([1, 2], 4), "wealth": 1.0}
)
RULES = pd.DataFrame(
    {"share": [0.01, 0.5], "low": [0.005, 0.4], "high": [0.02, 0.6]},
    index=["bets", "broken: looked at twice"],
)
SOON = pd.DataFrame(
    [[50.0, 100, 150, 300, 200], [60, 110, 160, 400, 210]],
    columns=["least", "bets", "tenth", "split", "longest"],
    index=[("Laplace", 1.0), ("Laplace", 2.0)],
)
CURVE = tradeoff(RNG.normal(size=200), 2 + RNG.normal(size=200))
REBUILT = points(method=["a", "b"], epsilon=[0.1, np.inf]).assign(excess=0.1, right=0.6)
REBUILT = REBUILT.set_index(["method", "epsilon"])
FIGURES = [
    partial(foundations.draw_promise, ANSWERS, epsilon=1.0, low=0, high=2),
    partial(foundations.draw_neighbours),
    partial(foundations.draw_beliefs, PRIOR, {0.1: (PRIOR / 2, PRIOR), 1.0: (PRIOR / 3, PRIOR)}),
    partial(foundations.draw_budget_tree, [0.25, 0.75], ["split", "leaf counts"]),
    partial(foundations.draw_parts, {"by position": (np.array([0, 0, 1, 1]), np.array([0, 1, 1]))}),
    partial(foundations.draw_noise_losses, X, {"a": X, "b": -X}, epsilon=1.0),
    partial(foundations.draw_totals, LINES),
    partial(foundations.draw_split_table, np.array([[3, 1], [0, 1]]), branch=1, label=1),
    partial(foundations.draw_signal, LINES),
    partial(foundations.draw_tree_flow),
    *(figure for stem in PAPERS for figure in import_module(f"cases.{stem}").FIGURES),
    partial(audit.draw_instruments),
    partial(audit.plot_climbing, CLIMB, {"a": 1.0, "b": 2.0}, claim=1.0),
    partial(
        audit.plot_losses, pd.DataFrame({"subject": ["a", "b"], "loss": [0.5, np.inf]}), claim=1.0, beyond=4
    ),
    partial(
        audit.plot_exact,
        {"D": np.array([0.9, 0.1]), "D′": np.array([0.8, 0.2])},
        {"one": {0: 1.0, 1: 0.8}, "two": {0: 1.0, 1: 0.9}},
    ),
    partial(audit.plot_events, {"a": compare(RNG.integers(0, 3, 80), RNG.integers(0, 3, 80), claimed=1.0)}),
    partial(
        audit.plot_ceiling,
        pd.DataFrame({"method": ["a", "b"], "runs": [100, 200], "lower_95": [1.0, 2.0]}),
        pd.DataFrame({"runs": [100, 200], "bound": [3.0, 4.0]}),
        {"one": ["a"], "two": ["b"]},
    ),
    partial(audit.plot_canaries, SCORES, BOUNDS, {10: 1.0, 20: 2.0}),
    partial(audit.plot_twins, TWINS, beyond=200),
    partial(audit.plot_rivals, RIVALS),
    partial(bets.plot_games, GAMES, enough=100),
    partial(bets.plot_coverage, RULES, stated=0.05),
    partial(bets.plot_conviction, SOON),
    partial(
        bets.plot_subjects,
        pd.DataFrame(
            {
                "before": [True, False, True, False],
                "fits": [60, 40, 400, np.inf],
            },
            index=list("abcd"),
        ),
        beyond=1e5,
    ),
    partial(bets.plot_tradeoff, CURVE, (np.array([0.0, 1.0]), np.array([1.0, 0.0])), {"claim": 1.0}),
    partial(scale.draw_pass),
    partial(scale.plot_sums, {"a": np.arange(6.0), "b": np.zeros(6)}),
    partial(scale.plot_passes, {"a": np.arange(6.0), "b": np.zeros(3)}),
    partial(scale.plot_billion, GUESSES),
    partial(rebuild.plot_rebuilt, REBUILT, REBUILT),
    partial(
        plots.plot_scaling,
        pd.DataFrame(
            {"model": "a", "rows": [1e6, 2e6] * 2, "cores": [1, 1, 2, 2], "pass_s": [1.0, 2.0, 0.5, 1.0]}
        ),
        {"a": PassCost(fixed=0.1, record=1e-7, value=5e-8)},
        attributes=14,
    ),
    partial(plots.plot_noise_rounds, {"a": np.array([0.2, 0.8])}, limit=1),
    partial(
        plots.plot_privacy_loss,
        X,
        {"D": HALF, "D'": 2 * HALF},
        epsilon=1.0,
        outcome_label="output",
        draws=DRAWS,
        records=X[:3],
    ),
    partial(
        plots.plot_noise,
        [
            plots.NoisePanel("smooth", DRAWS, X, HALF),
            plots.NoisePanel("whole", DRAWS.round(), np.arange(-2.0, 3), HALF[:5], discrete=True),
        ],
    ),
    partial(
        plots.plot_selection,
        [0, -1],
        {"EM": HALF[:2], "PF": HALF[:2]},
        {"EM": HALF[:2], "PF": HALF[:2]},
        draws=10,
    ),
    partial(plots.plot_error_ratio, {"PF": HALF, "EM": 2 * HALF}),
    partial(plots.plot_loss_curves, X, {"K": HALF}, {"K": 0.3}, outcome_label="output"),
    partial(
        pictures.plot_shapes,
        {
            "age": (Continuous("age", 17, 90), Shape(np.array([30.0, 50.0]), np.array([-0.1, 0.2, 0.1]))),
            "gain": (Continuous("gain", 0, 99999), Shape(np.array([10.0, 5e3]), np.array([0.0, 0.2, 1.0]))),
            "c": (Categorical("c", ("a", "b")), Shape(np.arange(2.0), np.array([0.5, -0.5]))),
        },
        log=("gain",),
    ),
    partial(board.plot_losses, BOARD, ["a", "b"], label="loss"),
    partial(
        board.plot_by_epsilon,
        points(dataset=TWO, label=["a", "b"], epsilon=EPSILONS),
        levels=LEVELS,
        label="R²",
        limits=(0, 1),
    ),
    partial(board.plot_leads, LEADS, [0.1, 1.0], label="lead"),
    partial(board.plot_ranks, {0.1: RANKING, 1.0: RANKING}),
    partial(
        board.plot_costs,
        pd.DataFrame({"first": [0.5, 2.0], "loss": [0.1, 0.2]}, index=["a", "b"]),
        named=["a"],
    ),
    partial(
        board.plot_stress,
        pd.DataFrame({"a": [0.0, -0.1]}, index=["as it is", "bounds × 10"]),
        {"bounds": ["as it is", "bounds × 10"]},
        label="change",
    ),
    partial(
        board.plot_budget, pd.DataFrame({"a": [0.4, 0.5], "b": [0.6, 0.5]}, index=["0", "500"]), label="from"
    ),
    partial(plots.plot_reachable, {"a": X, "b": X + 1}, low=0, high=1),
    partial(plots.plot_misses, selection.misses([2, 10], epsilon=0.5, signal=3.0), epsilon=0.5),
    partial(
        plots.plot_regret,
        pd.DataFrame(
            {"records": [10, 10, 100, 100], "epsilon": EPSILONS * 2, "PF": 0.1, "EM": 0.2, "random": 0.3}
        ).assign(bound=0.4),
    ),
]


def name(make: partial[Figure]) -> str:
    return f"{make.func.__module__.rpartition('.')[2]}.{make.func.__name__}"


def drawn(of: str, number: int = 0) -> Figure:
    """The figure of a function, the first one in the table or a later one."""
    return [make for make in FIGURES if name(make) == of][number]()


@pytest.fixture(autouse=True)
def style() -> Iterator[None]:
    matplotlib.use("Agg")
    plots.use_style()
    yield
    plt.close("all")
    matplotlib.rcdefaults()


# --- every figure -----------------------------------------------------------------------------------------------


def words(figure: Figure) -> list[Text]:
    """Texts that a reader sees."""
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


def unreadable(figure: Figure) -> list[str]:
    """Texts that are too small or not in the picture, and a figure that is too wide or not on white paper."""
    figure.canvas.draw()
    found = [text.get_text() for text in words(figure) if text.get_fontsize() < LETTERS]
    for axis in figure.axes:
        for text in axis.texts:
            box, inside = text.get_window_extent(), figure.bbox
            if min(box.x0, box.y0) < 0 or box.x1 > inside.x1 or box.y1 > inside.y1:
                found.append(text.get_text())
    if figure.get_figwidth() > WIDEST + 1e-9:
        found.append(f"{figure.get_figwidth()} inches")
    return found + ["paper"] * (figure.get_facecolor() != (1, 1, 1, 1))


@pytest.mark.parametrize("make", [pytest.param(make, id=name(make)) for make in FIGURES])
def test_a_figure_can_be_read_and_does_not_mislead(make: partial[Figure]) -> None:
    figure = make()
    assert faults(figure) == []
    assert [problem for problem in unreadable(figure) if name(make) != WIDER] == []
    assert all(axis.has_data() for axis in figure.axes if axis.axison)
    if narrow(figure):
        assert faults(figure) == []
        assert figure.get_figwidth() < 4


def test_every_figure_is_in_the_table() -> None:
    made = {
        f"{module.__name__.rpartition('.')[2]}.{of}"
        for module in modules_of(drawings.__name__)
        for of, function in vars(module).items()
        if of.startswith(("plot_", "draw_")) and function.__module__ == module.__name__
        if function.__annotations__["return"] == "Figure"
    }
    assert made - {name(make) for make in FIGURES} == {"scale.draw_one_pass"}


@pytest.mark.parametrize("spoil", ["small", "outside", "wide", "dark"])
def test_an_unreadable_figure_is_noticed(spoil: str) -> None:
    figure = drawn("dpada.plot_sizes")
    assert unreadable(figure) == []
    figure.set_layout_engine("none")
    match spoil:
        case "wide":
            figure.set_figwidth(9.0)
        case "small":
            figure.axes[0].set_title("tiny", fontsize=6)
        case "outside":
            figure.axes[0].text(1e9, 0, "far")
        case "dark":
            figure.set_facecolor("black")
    assert unreadable(figure) != []


def good() -> Figure:
    """A figure with two lines, their bands, a level, and points."""
    figure, axis = plt.subplots()
    x = np.linspace(0.1, 1.0, 7)
    for i in (0, 1):
        axis.plot(x, x * (i + 1), color=f"C{i}", label=f"line {i}")
        axis.fill_between(x, x * (i + 1) - 0.1, x * (i + 1) + 0.1, color=f"C{i}", alpha=0.2)
    axis.axhline(0.5, color="black", label="level")
    axis.plot(x[::-1], x, "o", color="C2", label="points")
    axis.set(xlabel="ε", ylabel="test accuracy")
    axis.legend()
    return figure


MISLEADS: list[tuple[Callable[[Axes], object], str]] = [
    (lambda axis: axis.lines[0].set_xdata([3, 1, 2, 4, 5, 6, 7]), "'line 0' runs backwards in x"),
    (lambda axis: axis.lines[1].set_ydata(np.arange(5.0, 12)), "is not around a line of that colour"),
    (lambda axis: axis.lines[1].set_color("C0"), "'line 0' and 'line 1' look the same"),
    (lambda axis: axis.set_ylabel(""), "no label on the axis y"),
    (lambda axis: axis.get_legend().remove(), "no legend explains"),
    (lambda axis: axis.plot([0, 1], [0, -1], color="C5"), "no legend explains"),
]


@pytest.mark.parametrize(("spoil", "message"), MISLEADS, ids=[message for _, message in MISLEADS])
def test_a_figure_that_may_mislead_is_shown_with_a_sentence(
    spoil: Callable[[Axes], object],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr(figures, "display", lambda data, metadata, raw: shown.append(data | metadata))
    good()
    show()
    assert capsys.readouterr() == ("", "")
    figure = good()
    assert faults(figure) == []
    spoil(figure.axes[0])
    assert any(message in fault for fault in faults(figure)), faults(figure)
    show()
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("This figure may mislead: ")
    assert message in said
    assert len(shown) == 2
    assert all({"image/svg+xml", NARROW} < set(outputs) for outputs in shown)


def test_a_sentence_names_three_faults_and_those_that_a_telephone_alone_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figures, "display", lambda *_, **__: None)
    found = iter([["a", "b"], ["a", "b", "c", "d"]])
    monkeypatch.setattr(figures, "faults", lambda figure: next(found))
    good()
    show()
    assert capsys.readouterr().err == "This figure may mislead: a; b; on a telephone, c; and 1 more.\n"


def worded() -> Figure:
    """A panel with a line, a word of its own, one in a box on the line, and one on white paper over it."""
    figure, axis = plt.subplots(figsize=(5.3, 3))
    axis.plot([0, 1], [0, 1], color="C0")
    axis.set(xlabel="ε", ylabel="test accuracy")
    axis.text(0.2, 0.8, "free")
    axis.text(0.5, 0.5, "on paper", ha="center", bbox={"facecolor": "white", "edgecolor": "none"})
    axis.annotate("", (0.9, 0.1), (0.6, 0.1), arrowprops={"arrowstyle": "->", "color": "black"})
    return figure


HIDES: list[tuple[Callable[[Axes], object], str]] = [
    (lambda axis: axis.text(0.5, 0.5, "late", zorder=1), "'late' is struck through"),
    (lambda axis: axis.texts[0].set_position((0.25, 0.25)), "'free' is struck through"),
    (lambda axis: axis.texts[0].set_position((0.7, 0.08)), "'free' is struck through"),  # by the arrow
    (lambda axis: axis.plot(0.25, 0.83, "o", color="C0"), "'free' is struck through"),
    (lambda axis: axis.texts[1].set_bbox(None), "'on paper' is struck through"),
    (lambda axis: axis.text(0.22, 0.8, "other"), "'free' is on 'other'"),
    (lambda axis: axis.text(0.24, 0.78, "turned", rotation=45), "'free' is on 'turned'"),
    (lambda axis: axis.text(2, 0.5, "far", in_layout=False), "'far' leaves the canvas"),
    (lambda axis: axis.texts[0].set_fontsize(5), "smaller than 6.1 points: 'free'"),
]


@pytest.mark.parametrize(("spoil", "message"), HIDES, ids=[message for _, message in HIDES])
def test_words_that_cannot_be_read_are_noticed(spoil: Callable[[Axes], object], message: str) -> None:
    figure = worded()
    assert faults(figure) == []
    spoil(figure.axes[0])
    assert message in faults(figure)


def test_a_drawing_needs_larger_letters_than_a_figure_with_a_narrow_layout() -> None:
    figure = worded()
    figure.axes[0].texts[0].set_fontsize(8)
    assert faults(figure) == []
    figure.axes[0].axis("off")
    assert not narrow(figure)
    assert any(fault.startswith("smaller than 9.6 points") for fault in faults(figure))


def test_panels_stand_below_each_other_on_a_telephone() -> None:
    figure, axes = plt.subplots(2, 2, figsize=(5.3, 4), sharex=True, sharey=True)
    axes[0, 0].set_ylabel("test accuracy")
    axes[1, 1].set_xlabel("ε")
    assert narrow(figure)
    figure.canvas.draw()
    left = {round(axis.get_position().x0, 6) for axis in axes.flat}
    assert len(left) == 1
    assert figure.get_figheight() == pytest.approx(8)
    assert axes[0, 1].get_ylabel() == "test accuracy"
    assert [axis.xaxis.label.get_visible() for axis in axes.flat] == [False, False, False, True]


def test_names_at_ends_do_not_touch() -> None:
    figure, axis = plt.subplots(figsize=(5.3, 3))
    for i in range(6):
        axis.plot([0, 1], [i, 1 + 0.001 * i], color=f"C{i}", label=f"line number {i}")
    axis.set(xlabel="ε", ylabel="test accuracy")
    assert any("no legend explains" in fault for fault in faults(figure))
    label_ends(figure)
    assert faults(figure) == []
    assert [text.get_text() for text in axis.texts] == [f"line number {i}" for i in range(6)]
    axis.texts[2].xyann = axis.texts[1].xyann  # broken twin
    assert "'line number 1' is on 'line number 2'" in faults(figure)


# --- what single figures say ------------------------------------------------------------------------------------


def texts(figure: Figure) -> list[list[str]]:
    return [[text.get_text() for text in axis.texts] for axis in figure.axes]


def test_the_loss_panel_shows_the_log_ratio() -> None:
    loss = drawn("plots.plot_privacy_loss").axes[1].lines[0].get_ydata()
    np.testing.assert_allclose(np.asarray(loss), -np.log(2))


def test_points_of_draws_are_densities() -> None:
    points = drawn("plots.plot_noise").axes[1].containers[0].lines[0]  # type: ignore[attr-defined]
    shares = [(DRAWS.round() == k).mean() for k in range(-2, 3)]
    np.testing.assert_allclose(np.asarray(points.get_ydata()), shares)


def test_lines_that_end_below_0_have_no_name() -> None:
    made = points(dataset=["one"], label=["a", "b"], epsilon=EPSILONS)
    below = made.assign(mean=made["mean"].mask(made["label"] == "b", -3.0))
    how: Any = {"levels": {"one": {"floor": 0.6}}, "label": "R²", "limits": (0, 1)}
    named = [board.plot_by_epsilon(table, **how) for table in (below, made)]
    assert [sorted(texts(figure)[0]) for figure in named] == [
        ["a", "floor"],
        ["a", "b", "floor"],
    ]  # the second: twin


def test_comparisons_need_two_sides() -> None:
    with pytest.raises(ValueError, match="1 densities given"):
        plots.plot_privacy_loss(X, {"D": HALF}, epsilon=1.0, outcome_label="output")
    with pytest.raises(ValueError, match="3 mechanisms given"):
        plots.plot_error_ratio(dict.fromkeys("abc", HALF))


def test_infinite_losses_stand_at_the_edge() -> None:
    (line,) = [line for line in drawn("audit.plot_twins").axes[0].lines if line.get_label() == "exact"]
    assert np.array_equal(line.get_xdata(), [200, 1])


def test_hollow_is_what_was_acquitted_before_and_what_still_is_stands_at_the_edge() -> None:
    (axis,) = drawn("bets.plot_subjects").axes
    shown = {line.get_fillstyle(): np.asarray(line.get_xdata()).tolist() for line in axis.lines}
    assert shown == {"full": [60, 400], "none": [40, 1e5]}


def test_rivals_stand_with_what_became_of_their_claims() -> None:
    both = pd.concat(
        [RIVALS, RIVALS.assign(learner="r, one setting"), RIVALS[1:].assign(learner="q, another")]
    )
    figure = audit.plot_rivals(both)
    names = {
        axis.get_title(loc="left"): [label.get_text() for label in axis.get_yticklabels()]
        for axis in figure.axes
    }
    assert names == {"above the claim in every audit": ["q"], "in some audits": ["r"], "in no audit": ["p"]}


def test_the_gauges_say_what_a_path_has_paid() -> None:
    (shown,) = texts(drawn("foundations.draw_budget_tree"))
    assert [shown.count(paid) for paid in ("0.25", "1.00")] == [1, 2]


def test_a_record_that_moves_is_crossed_and_no_other() -> None:
    before = np.array([0, 0, 1, 1])
    for after, crosses in (([0, 1, 0], 1), (before[1:], 0)):
        ((*shown,),) = texts(foundations.draw_parts({"a rule": (before, np.array(after))}))
        assert shown.count("✕") == crosses


def test_the_new_record_enters_its_cell() -> None:
    (shown,) = texts(drawn("foundations.draw_split_table"))
    assert [text for text in shown if "→" in text] == ["1 → 2"]


def test_the_band_holds_what_is_allowed() -> None:
    top, bottom = drawn("foundations.draw_promise").axes
    assert [label.get_text() for label in bottom.get_yticklabels()] == ["$e^{-ε}$", "1", "$e^{ε}$"]
    assert sum(bar.get_height() for bar in top.patches) == pytest.approx(2)


def test_the_trees_of_the_opener_are_those_that_were_fitted() -> None:
    grown = trees()
    left, right = texts(diffprfs.plot_two_trees(SETS, grown))
    assert "splits: 0" in left
    assert "splits: 1" in right
    assert f"x ≤ {grown[1].splits.cut[0]:.2f} ?" in right
    left, right = texts(diffprfs.plot_two_trees(SETS, grown[::-1]))  # broken twin
    assert "splits: 1" in left


@pytest.mark.parametrize("repaired", [False, True])
def test_only_the_text_has_leaks(repaired: bool) -> None:
    (axis,) = diffprfs.plot_dataflow(repaired=repaired).axes
    boxes = [text.get_bbox_patch() for text in axis.texts]
    dashed = [box for box in boxes if box is not None and box.get_linestyle() == "--"]
    assert len(dashed) == (0 if repaired else 2)


def test_bars_divide_the_whole_into_equal_parts() -> None:
    (axis,) = drawn("diffprfs.plot_shares").axes
    widths = [bar.get_width() for container in axis.containers for bar in container]  # type: ignore[attr-defined]
    assert widths == [0.25] * 4 + [0.5] * 2


def test_the_blocks_show_what_their_coefficients_are() -> None:
    a, b = np.array([0, 1, 1, 0] * 4 + [0]), np.array([0, 0, 1, 1] * 4 + [0])
    figure = pearson.draw_blocks({"a": a, "b": b}, np.array([0, 1] * 8 + [0]), m=8, score=phi)
    means = [text for panel in texts(figure) for text in panel if text.startswith("mean")]
    assert means == ["mean 1.00", "mean 0.00", "mean 0.06", "mean 0.94"]


def test_three_rounds_are_those_of_the_listing() -> None:
    first, second, third = rounds()
    assert first.weights == pytest.approx(np.full(9, 1 / 9))
    assert first.alpha == pytest.approx(np.log(3.5) / 2)  # two of nine are wrong
    assert sorted(second.weights) == pytest.approx([1 / 14] * 7 + [1 / 4] * 2)
    assert second.weights == pytest.approx(second.exact)  # Swing: no noise after round 1
    factor = third.weights / third.exact
    assert (~np.isclose(factor, np.median(factor))).sum() == 2  # one largest, one smallest
    assert [seen.weights.sum() for seen in (first, second, third)] == pytest.approx([1, 1, 1])


def test_the_noise_does_not_reach_the_first_step() -> None:
    seeds = [rounds(seed) for seed in range(5)]
    assert len({seen[0].alpha for seen in seeds}) == 1
    assert len({tuple(seen[2].weights) for seen in seeds}) > 3  # broken twin: later weights have it
    on = first_steps(20)
    assert {name: np.unique(found.round(9)).size for name, found in on.items()} == {"D": 1, "D′": 1}
    assert on["D′"][0] - on["D"][0] == pytest.approx((np.log(4) - np.log(3.5)) / 2)


def test_a_schedule_counts_rounds_from_the_second_on() -> None:
    shown = drawn("dpada.draw_schedules").axes[0].texts
    counts = {t.get_text(): t.get_weight() for t in shown if t.get_text().startswith("R")}
    assert counts == {"R = 1": "normal", "R = 2": "bold"}


def test_a_path_that_leaves_budget_says_so() -> None:
    for budget, left in ((0.3, True), (0.8, False)):
        (shown,) = texts(edprf.draw_paths({"rule": {"to C": [("A", 0.2), ("C", budget)]}}))
        assert ("unspent" in shown) is left


def test_only_a_tree_with_nodes_has_branches() -> None:
    for sizes, branches in (([1, 1, 1], 0), ([1, 6, 1], 5)):
        assert len(edprf.draw_roots({"D": sizes}).axes[0].lines) == branches


def test_coins_after_the_best_one_are_grey() -> None:
    grey = [
        text.get_text() for text in drawn("edprf.draw_orders").axes[0].texts if text.get_color() == "0.45"
    ]
    assert sorted(grey) == ["B", "B", "B", "C", "C", "C"]


# --- tables of the chapter on eDPRF -----------------------------------------------------------------------------

PARAMETERS = SimpleNamespace(results="committed", scale="default", jobs=1)


def test_changes_are_those_of_the_results() -> None:
    ladder = tables_edprf.ladder(PARAMETERS)
    of = ladder.set_index(["step", "dataset", "epsilon"])["mean"]
    change = tables_edprf.change(ladder, 8, 9)
    assert change["points"]["Robot", 1.0] == pytest.approx(100 * (of[9, "Robot", 1.0] - of[8, "Robot", 1.0]))
    assert np.allclose(change["z"], -tables_edprf.change(ladder, 9, 8)["z"])


# --- numbers along axes ----------------------------------------------------------------------------------------


def numbers_on(axis: Axes) -> int:
    """How many numbers stand along a horizontal axis."""
    axis.figure.canvas.draw()
    low, high = axis.get_xlim()
    return sum(bool(t.get_text()) and low <= t.get_position()[0] <= high for t in axis.get_xticklabels())


def test_costs_over_several_decades_have_numbers_on_their_axis() -> None:
    names = ["PrivateBooster, δ", "logistic regression by ranks, δ", "MST + gradient boosting"]
    costs = pd.DataFrame({"first": [0.05, 1, 370], "loss": [0.1, 0.2, 0.3]}, names)
    (axis,) = board.plot_costs(costs, named=names[:1]).axes
    assert numbers_on(axis) >= 3
    assert axis.get_legend_handles_labels()[1] == ["other methods", *names[:1]]
    axis.xaxis.set_major_locator(LogLocator(subs=(3,), numticks=2))  # broken twin
    assert numbers_on(axis) < 3
