"""Importances and cards that do not mislead: noise ranks below what matters, and what nobody knows is not drawn."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from copy import copy
from dataclasses import replace
from datetime import date
from functools import reduce
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from playwright.sync_api import sync_playwright

import dpnb
from dpnb import Categorical, Continuous, Domain, PrivateBooster, PrivateBoosterRegressor
from dpnb.estimators.base import PrivateClassifier, PrivateEstimator
from dpnb.papers.baselines_logistic import LogisticRegression
from dpnb.papers.dpada import DPAda
from dpnb.records.grid import Shape
from dpnb.records.shapes import Axis, Block, GroupShape, Layout, Shapes, category_axis, interval_axis, nearest
from dpnb.release import card, pictures
from private_trees.site import pdf

CODES = tuple(f"K{i:02d}" for i in range(20))
MATTERS = ("age", "diagnosis", "smoking")
DOMAIN = Domain(
    (
        Continuous("age", 0, 120),
        Categorical("diagnosis", CODES),
        Categorical("smoking", ("never", "former", "current")),
        Continuous("balance", 0, 1e6, missing=True, clip=True),
        Continuous("const", 0, 100),
        Continuous("admitted", "1900-01-01", "2025-12-31"),
        Categorical("科室", ("内科", "外科")),
    ),
    ("no", "yes"),
    target="readmitted",
)


def admissions(n: int, *, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Age, three diagnoses and smoking decide; balances, a constant, dates and wards do not."""
    rng = np.random.default_rng(seed)
    balance = rng.lognormal(8, 1.5, n)
    balance[rng.random(n) < 0.1] = np.nan
    X = pd.DataFrame(
        {
            "age": np.clip(rng.normal(55, 18, n), 18, 99).round(),
            "diagnosis": rng.choice(CODES, n, p=np.repeat([0.08, 0.02], 10)),
            "smoking": rng.choice(["never", "former", "current"], n, p=[0.6, 0.25, 0.15]),
            "balance": balance,
            "const": 7.0,
            "admitted": np.datetime_as_string(np.datetime64("2015-01-01") + rng.integers(0, 2900, n)),
            "科室": rng.choice(["内科", "外科"], n),
        }
    )
    score = 0.05 * (X["age"] - 55) + 1.3 * X["diagnosis"].isin(["K03", "K07", "K12"]) - 2.2
    score += X["smoking"].map({"never": 0, "former": 0.3, "current": 0.9})
    return X, pd.Series(np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "yes", "no"))


@pytest.fixture(scope="module")
def model() -> PrivateBooster:
    return PrivateBooster(domain=DOMAIN, delta=1e-5, random_state=0).fit(*admissions(20_000))


def uncounted(model: PrivateBooster, folder: Path) -> PrivateBooster:
    """Write the model as documents were before they held counts, and read it."""
    model.release(folder / "new.json")
    document = json.loads((folder / "new.json").read_text(encoding="utf-8"))
    for shapes in document["model"]["models_"]:
        for name in ("counted", "records", "noise"):
            del shapes[name]
    (folder / "old.json").write_text(json.dumps(document), encoding="utf-8")
    return dpnb.read(folder / "old.json")


# --- The law ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_noise_ranks_below_what_matters(seed: int) -> None:
    model = PrivateBooster(domain=DOMAIN, delta=1e-5, random_state=seed).fit(*admissions(20_000, seed=seed))
    real = [name in MATTERS for name in DOMAIN.names]

    def ranked(sizes: np.ndarray) -> bool:
        return sizes[real].min() > sizes[np.invert(real)].max()

    shares = model.feature_importances_
    assert ranked(shares)
    assert shares.sum() == pytest.approx(1)
    assert shares[DOMAIN.names.index("const")] < 0.05
    ranges = replace(model.models_[0], counted=()).importances()
    assert not ranked(ranges)  # broken twin: the range of a shape, wherever records lie
    assert (ranges / ranges.sum())[DOMAIN.names.index("const")] > 0.05


X4, C3, D2 = interval_axis(0, np.array([1.0, 2.0, 3.0])), category_axis(1, 3), category_axis(2, 2)


def drawn_shapes(rng: np.random.Generator, *group: Axis) -> Shapes:
    """A block of each attribute and one of a group, with random scores and counts."""
    domain = Domain(
        (Continuous("x", 0, 4), Categorical("c", ("a", "b", "d")), Categorical("d", (0, 1))), (0, 1)
    )
    alone = tuple(Block((axis,)) for axis in (X4, C3, D2))
    blocks = (*alone, Block(group or (X4, C3)))
    table = rng.normal(size=Layout(blocks).total)
    return Shapes(domain, 0.5, blocks, table, alone, rng.integers(1, 50, 9).astype(float), 1.0)


@pytest.mark.parametrize("group", [(X4, C3), (X4, D2), (X4, C3, D2)])
def test_importances_are_what_enumeration_gives(group: tuple[Axis, ...]) -> None:
    """Of independent attributes: E|E(F | a) − E F|, and an equal part of E|the rest| for each of the group."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        shapes = drawn_shapes(rng, *group)
        shapes.check(shapes.domain)
        weight = reduce(np.multiply.outer, (part / part.sum() for part in np.split(shapes.records, [4, 7])))
        cells = np.add(list(np.ndindex(4, 3, 2)), [0.5, 0, 0])
        score = shapes.score(cells).reshape(4, 3, 2)
        rest = score - np.sum(weight * score)
        alone = []
        for a in range(3):
            others = tuple({0, 1, 2} - {a})
            own = (weight * score).sum(axis=others, keepdims=True) / weight.sum(axis=others, keepdims=True)
            own -= np.sum(weight * score)
            rest = rest - own
            alone.append(np.sum(weight * np.abs(own)))
        shared = np.sum(weight * np.abs(rest)) / len(group)
        more = [shared * (axis in group) for axis in (X4, C3, D2)]
        np.testing.assert_allclose(shapes.importances(), np.add(alone, more), atol=1e-12)
        free = replace(shapes, counted=()).importances()
        assert free.sum() == pytest.approx(
            sum(np.ptp(part) / 2 for part in shapes.layout.parts(shapes.table))
        )


def test_a_parity_is_interaction_alone() -> None:
    """Where both sides of each attribute have as many records."""
    axes = (interval_axis(0, np.array([2.0])), category_axis(1, 2), category_axis(2, 2))
    domain = Domain((Continuous("x", 0, 4), Categorical("c", (0, 1)), Categorical("d", (0, 1))), (0, 1))
    table = 0.7 * (-1.0) ** np.indices((2, 2, 2)).sum(axis=0)
    alone = tuple(Block((axis,)) for axis in axes)
    shapes = Shapes(domain, 0.0, (Block(axes),), table.ravel(), alone, np.full(6, 10.0), 0.0)
    own, rest = shapes.interaction(*shapes.groups()[0])
    np.testing.assert_allclose(own, np.zeros((3, 2)), atol=1e-15)
    assert rest == pytest.approx(0.7)
    np.testing.assert_allclose(shapes.importances(), np.full(3, 0.7 / 3))
    other = replace(shapes, records=np.array([15.0, 5.0] * 3))  # broken twin: sides that differ
    assert np.abs(other.interaction(*other.groups()[0])[0]).max() > 0.1


def test_counts_are_taken_to_the_nearest_that_can_be() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        noisy = rng.normal(rng.choice([0.0, 30.0], 6), 8.0)
        found = nearest(noisy)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(max(noisy.sum(), 0))
        others = rng.dirichlet(np.full(6, 0.5), 200) * found.sum()
        assert (np.sum((others - noisy) ** 2, axis=1) >= np.sum((found - noisy) ** 2)).all()
    lone = np.append(1000.0, rng.normal(0, 10, 60))  # as a constant has it
    assert nearest(lone)[0] > 0.97 * lone.sum()
    assert np.maximum(lone, 0)[0] < 0.97 * np.maximum(lone, 0).sum()  # broken twin: cut off at 0


def test_a_missing_value_is_a_bin_of_its_own(model: PrivateBooster) -> None:
    shapes, a = model.models_[0], DOMAIN.names.index("balance")
    own = DOMAIN.attributes[a]
    share = shapes.shares(a, np.array([(own.floor + own.low) / 2]))
    assert share[0] == pytest.approx(0.1, abs=0.03)
    assert share.sum() == pytest.approx(1)
    assert shapes.number == pytest.approx(20_000, rel=0.05)


def test_a_model_without_counts_says_so(model: PrivateBooster, tmp_path: Path) -> None:
    old, (X, _) = uncounted(model, tmp_path), admissions(50)
    np.testing.assert_array_equal(old.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(
        dpnb.read(tmp_path / "new.json").feature_importances_, model.feature_importances_
    )
    pure = PrivateBooster(domain=DOMAIN, n_rounds=9, random_state=0).fit(*admissions(500))
    for one in (old, pure):
        assert one.feature_importances_.sum() == pytest.approx(1)
        assert pictures.of_importances(one) is None
        assert "Which attributes matter most is not shown" in card.page(one, versions={})
    assert model.feature_importances_.sum() == pytest.approx(1)
    text = card.page(model, versions={})
    assert "Which attributes matter most is not shown" not in text
    assert "Mean absolute deviation of what each attribute adds" in text


def test_logistic_regression_counts_too() -> None:
    fitted = LogisticRegression(domain=DOMAIN, random_state=0).fit(*admissions(5000))
    assert fitted.models_[0].importances().argmax() == DOMAIN.names.index("age")
    assert fitted.models_[0].number == pytest.approx(5000, rel=0.2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"records": np.ones(1)},
        {"records": np.full(9, np.nan)},
        {"noise": -1.0},
        {"noise": np.nan},
        {"counted": (Block((C3,)), Block((X4,)), Block((D2,)))},
        {"counted": (Block((X4, C3)), Block((D2,))), "records": np.ones(14)},
        {"counted": (Block((X4,)), Block((category_axis(1, 2),)), Block((D2,))), "records": np.ones(8)},
        {"blocks": (Block((X4, C3, D2, D2)),), "table": np.zeros(48)},
    ],
)
def test_counts_of_a_document_are_checked(wrong: dict[str, Any]) -> None:
    shapes = drawn_shapes(np.random.default_rng(0))
    shapes.check(shapes.domain)
    with pytest.raises(ValueError, match=r"expected|fit|size|finite"):
        replace(shapes, **wrong).check(shapes.domain)


# --- Pictures ---------------------------------------------------------------------------------------------------------


def solid(shapes: Shapes, name: str) -> float:
    """Share of an attribute's intervals that are not drawn faintly."""
    a = DOMAIN.names.index(name)
    return float(np.mean(~shapes.empty(a, shapes.counted[a].axes[0].at)))


def test_shapes_are_faint_where_there_is_no_record(model: PrivateBooster) -> None:
    shapes = model.models_[0]
    assert solid(shapes, "const") < 0.1
    assert solid(shapes, "diagnosis") > 0.9
    assert solid(replace(shapes, noise=0.0), "const") > 0.2  # broken twin: noise is taken for records


def words_of(figure: Figure) -> list[str]:
    figure.canvas.draw()
    axis = figure.axes[0]
    labels = [*axis.get_xticklabels(), *axis.get_yticklabels(), *axis.texts]
    return [label.get_text() for label in labels]


def test_axes_speak_as_the_attribute_does() -> None:
    """Dates are dates, missing values are named, empty categories come last and are faint."""
    day, shape = DOMAIN["admitted"], Shape(np.array([16_436.0]), np.array([0.0, 1.0]))
    words = words_of(pictures.plot_shapes({"day": (day, shape)}))
    assert {"1920", "1960", "2000"} <= set(words)
    assert "15000" not in words
    gap = DOMAIN["balance"]
    shape = Shape(np.array([(gap.floor + gap.low) / 2, 500.0]), np.array([0.5, 0.0, 1.0]))
    assert "missing" in words_of(pictures.plot_shapes({"balance": (gap, shape)}))
    assert "missing" not in words_of(pictures.plot_shapes({"a": (replace(gap, missing=False), shape)}))
    ward, empty = Categorical("ward", ("a", "b", "c")), np.array([False, True, False])
    drawn = {"ward": (ward, Shape(np.arange(3.0), np.array([0.1, -5.0, 0.2])))}
    few = pictures.plot_shapes(drawn, bars=2, empty={"ward": empty})
    assert {"a", "c"} <= set(words_of(few))
    bars = pictures.plot_shapes(drawn, empty={"ward": empty}).axes[0].patches
    assert [bar.get_alpha() for bar in bars] == [None, pictures.FAINT, None]
    pair = GroupShape((np.array([16_436.0]), np.array([gap.floor / 2])), np.zeros((2, 2)))
    assert {"≤ 2015-01-01", "missing"} <= set(words_of(pictures.plot_group((day, gap), pair)))
    plt.close("all")


@pytest.mark.parametrize("bins", [2, 3, 4])
def test_a_triple_is_a_panel_for_each_bin(bins: int) -> None:
    names = (
        Continuous("age", 0, 90),
        Categorical("shift", tuple("abcde")),
        Categorical("ward", tuple("pqrstu")),
    )
    at = (np.array([30.0, 50.0, 70.0][: bins - 1]), np.arange(5.0), np.arange(6.0))
    score = np.random.default_rng(0).normal(size=(bins, 5, 6))
    empty = np.indices(score.shape)[0] == 0

    def panels(n: int) -> list[Any]:
        """Of the last n attributes, where the first ones are in their first bins."""
        part = (0,) * (3 - n)
        shape = GroupShape(at[-n:], score[part])
        figure = pictures.plot_group(names[-n:], shape, empty=empty[part])
        figure.canvas.draw()
        return [axis for axis in figure.axes if axis.images and axis.get_visible()]

    found, most = panels(3), np.abs(score).max()
    assert [panel.get_title() for panel in found][:: bins - 1] == ["age ≤ 30", "age ≤ 90"]
    for panel, part, faint in zip(found, score, empty, strict=True):
        (image,) = panel.images
        np.testing.assert_array_equal(image.get_array(), part)
        assert (image.get_alpha() == np.where(faint, pictures.FAINT, 1.0)).all()
        assert image.get_clim() == (-most, most)  # one scale for all
    for lowest in found[-2:]:
        assert [tick.get_text() for tick in lowest.get_xticklabels()] == list("pqrstu")
        assert lowest.get_xlabel() == "ward"
    assert [panel.get_title() for panel in panels(2)] == [""]  # broken twin: a pair
    turned = GroupShape(
        (at[2], at[1], at[0]), score.transpose(2, 1, 0)
    )  # the fewest bins make panels anywhere
    again = pictures.plot_group(names[::-1], turned, empty=empty.transpose(2, 1, 0)).axes
    assert [axis.get_title() for axis in again if axis.images and axis.get_visible()] == [
        panel.get_title() for panel in found
    ]
    plt.close("all")


def test_all_three_of_a_triple_are_named(model: PrivateBooster) -> None:
    triple = Block((interval_axis(0, np.array([50.0])), category_axis(2, 3), category_axis(6, 2)))
    one, odd = copy(model), np.indices((2, 3, 2)).sum(axis=0).ravel() % 2.0
    one.models_ = [replace(model.models_[0], blocks=(triple,), table=odd)]
    told = "What age, smoking and 科室 add together to the score of class yes"
    assert [text.startswith(told) for _, text in pictures.of_model(one)].count(True) == 1
    assert not any(text.startswith(told) for _, text in pictures.of_model(model))  # broken twin
    plt.close("all")


@pytest.mark.parametrize("days", [("0001-01-01", "9999-12-31"), ("2024-02-28", "2024-02-29")])
def test_any_dates_have_an_axis(days: tuple[str, str]) -> None:
    day = Continuous("day", *days, missing=True)
    words = words_of(pictures.plot_shapes({"day": (day, Shape(np.empty(0), np.zeros(1)))}))
    assert any(re.fullmatch(r"\d{4}(-\d\d-\d\d)?", word) for word in words)
    plt.close("all")


def test_names_in_chinese_are_drawn_or_a_font_is_asked_for(
    model: PrivateBooster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def drawn(model: PrivateBooster) -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            card.page(model, versions={})
        return [str(warning.message) for warning in found]

    if any("CJK" in font.name for font in fontManager.ttflist):
        assert drawn(model) == []
    monkeypatch.setattr(fontManager, "ttflist", [f for f in fontManager.ttflist if "DejaVu" in f.name])
    (told,) = drawn(model)
    assert re.search("'内外室科'.*fonts-noto-cjk", told)
    figure = pictures.of_importances(model)
    assert figure is not None
    with pytest.warns(UserWarning, match="Glyph"):  # broken twin: without a look at the fonts
        figure.canvas.draw()
    plt.close("all")


# --- Numbers ----------------------------------------------------------------------------------------------------------

PRICED = Domain(DOMAIN.attributes, response=Continuous("price", 0, 20_000, unit="$_{"))


@pytest.fixture(scope="module")
def priced() -> PrivateBoosterRegressor:
    """Thousands for a diagnosis, hundreds for a year, and nothing for a balance."""
    X, _ = admissions(20_000)
    price = 2000 + 100 * X["age"] + 4000 * X["diagnosis"].isin(["K03", "K07"])
    price += np.random.default_rng(1).normal(0, 500, len(X))
    return PrivateBoosterRegressor(domain=PRICED, epsilon=4.0, delta=1e-5, random_state=0).fit(X, price)


def axes_of(model: PrivateEstimator) -> tuple[list[str], list[str]]:
    """Words under the pictures, and the labels of their axes."""
    words, labels = [], []
    for figure, told in pictures.of_model(model):
        figure.canvas.draw()
        words.append(told)
        labels += [label for axis in figure.axes for label in (axis.get_xlabel(), axis.get_ylabel())]
    plt.close("all")
    return words, labels


def test_shapes_of_a_number_are_in_its_unit(priced: PrivateBoosterRegressor, model: PrivateBooster) -> None:
    words, labels = axes_of(priced)
    assert (
        "What age adds to price, against the mean; faint where noisy counts do not tell of any record."
        in words
    )
    assert r"added to price, \$_{" in labels
    assert not any("score" in text for text in (*words, *labels))
    twin = axes_of(model)  # broken twin: a class has a score
    assert "added to the score" in twin[1]
    assert all("the score of class yes" in text for text in twin[0])
    age = next(figure for figure, told in pictures.of_model(priced) if told.startswith("What age adds"))
    low, high = age.axes[0].get_ylim()
    plt.close("all")
    assert high - low > 5000  # the score itself goes from -1 to 1
    assert "added to price" in axes_of(unitless(priced))[1]


def unitless(model: PrivateBoosterRegressor) -> PrivateBoosterRegressor:
    """The model, whose target has no unit."""
    other = copy(model)
    other.domain_ = Domain(DOMAIN.attributes, response=Continuous("price", 0, 20_000))
    return other


def test_a_card_of_a_number_says_what_is_public_and_how_far_off_it_is(
    priced: PrivateBoosterRegressor,
) -> None:
    text = card.page(priced, versions={})
    said = (
        "Card of a model: PrivateBoosterRegressor for price",
        "<h2>What moves price</h2>",
        "each attribute adds to price, as shares",
        "&#x27;price&#x27; is a number in the public range from 0 to 20000 $_{, and so is a prediction.",
        "A number outside counts as the next bound, and what is missing or no number counts as the middle.",
        "A prediction estimates the mean of price among records with the same attributes; it is off by",
        f"Predictions for the training records are off by {float(f'{priced.error_:.3g}'):.6g} $_{{ on average",
        "no bound for any single record",
    )
    assert [part for part in said if part not in text] == []
    assert "the score" not in text
    assert "Classes of" not in text
    assert 200 < priced.error_ < 1000
    other = copy(priced)
    other.error_noise_ = other.error_ / 2
    assert "it hides a mean distance of up to" in (hidden := card.page(other, versions={}))
    assert "off by" not in hidden
    other.error_, other.error_noise_ = 90_000.0, 45_000.0
    assert "up to 20000 $_{." in card.page(other, versions={})  # no further than the range
    X, _ = admissions(500)
    pure = PrivateBoosterRegressor(domain=PRICED, n_rounds=9, random_state=0).fit(X, 100 * X["age"])
    assert "Which attributes matter most is not shown" in card.page(pure, versions={})


def test_a_card_of_classes_says_nothing_of_numbers(model: PrivateBooster) -> None:
    text = card.page(model, versions={})
    assert "<h2>What moves the score</h2>" in text
    assert "Classes of" in text
    assert not any(part in text for part in ("public range", "are off by", "counts as the middle"))


# --- Cards ------------------------------------------------------------------------------------------------------------


def cautions(model: PrivateClassifier) -> str:
    return " ".join(card._cautions(model))


def test_a_weak_promise_has_a_caution() -> None:
    parts = admissions(1000)

    def of(epsilon: float, delta: float | None) -> str:
        how: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "n_rounds": 2}
        return cautions(PrivateBooster(domain=DOMAIN, random_state=0, **how).fit(*parts))

    assert of(5.0, 1e-9) == of(10.0, None) == ""
    assert "above 10" in of(10.5, None)
    both = of(1000.0, 0.01)
    assert "above 10" in both
    assert re.search(r"\b(99\d|100\d) by noisy counts", both)
    assert "10 of them on average" in both
    assert "not far below" in of(5.0, 2e-4)
    rounds = DPAda(domain=DOMAIN, delta=1e-9, n_rounds=3, random_state=0)
    assert "was not released" in cautions(rounds.fit(*parts))


def test_a_card_says_when_and_what_for(model: PrivateBooster) -> None:
    told = {"data": "admissions <2024>", "purpose": "planning & beds", "day": date(2026, 1, 31)}
    text = card.page(model, versions={}, **told)
    assert "Written on 2026-01-31. Data: admissions &lt;2024&gt;. Purpose: planning &amp; beds." in text
    assert "costs what all k ledgers add up to, and a card cannot tell" in text
    bare = card.page(model, versions={})
    assert not any(word in bare for word in ("Written on", "Data:", "Purpose:"))


@pytest.mark.parametrize("name", ["model", "priced"])
def test_a_card_is_one_screen_and_prints_whole(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    model = request.getfixturevalue(name)
    path = next(filter(None, map(shutil.which, pdf.BROWSERS)), None)
    if path is None:
        pytest.skip("no browser")
    file = tmp_path / "card.html"
    told = {"data": "admissions 2024", "purpose": "planning of beds", "day": date(2026, 1, 31)}
    file.write_text(card.page(model, versions={}, **told), encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=pdf.ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(file.as_uri())
        height = "document.documentElement.scrollHeight"
        assert page.evaluate(height) <= 900
        hidden = "[...document.querySelectorAll('details > *')].filter(e => !e.checkVisibility()).length"
        assert page.evaluate(hidden) > 5
        page.emulate_media(media="print")
        assert page.evaluate(hidden) == 0
        page.emulate_media(media="screen")
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.evaluate(height) > 900  # broken twin: nothing folded
        browser.close()
