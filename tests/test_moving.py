"""Figures that move: their formulas give the package's numbers, their stills are current, and keys reach them.

The scripts run in a real browser. Each check is shown to catch a broken twin: a wrong formula, or a spoiled page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, Route

from dpnb import Categorical, Continuous, Domain
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.edprf import EDPRF, level_shares
from dpnb.privacy import laws
from dpnb.replay import replay
from dpnb.trees.scores import SCORES
from private_trees.auditing.counts import clopper_pearson
from private_trees.board import price, references
from private_trees.exercises.audit import two_limits
from private_trees.site import moving
from private_trees.studies.selection import regrets
from test_site import AXE, FONTS, MODES, ROOT, WIDTHS, browser, context, site, window

__all__ = ["browser", "context", "site", "window"]  # fixtures

pytestmark = pytest.mark.slow

START = np.array([0])
TOLERANCE = 1e-9


class Case(NamedTuple):
    """A JavaScript expression of ``math`` and ``a``, what ``a`` is, and what the package says."""

    expression: str
    argument: dict[str, Any]
    expected: Any


# --- what the package says -------------------------------------------------------------------------------------


def noise_cases() -> Iterator[Case]:
    counts = np.arange(-3, 15)
    for epsilon, bound in ((0.1, 1.11), (0.7, 2.02), (1.0, 2.72), (1.5, 4.49), (3.0, 20.09)):
        yield Case("math.noise.bound(a.epsilon)", {"epsilon": epsilon}, bound)
        masses = {}
        far = np.arange(-1000, 1000)
        for centre in (3, 5, 6):
            law = laws.TwoSidedGeometric(np.full(far.shape, centre), np.array(1 / epsilon))
            masses[centre] = np.exp(law.log_density(far))
            how = {"counts": counts.tolist(), "centre": centre, "epsilon": epsilon}
            for name, values in (("mass", masses[centre]), ("atMost", masses[centre].cumsum())):
                expression = f"a.counts.map(k => math.noise.{name}(k, a.centre, a.epsilon))"
                yield Case(expression, how, values[counts + 1000])
        for ill in (5, 6):
            below = np.concatenate([[0.0], masses[3].cumsum()[:-1]])
            expression = "math.noise.exceeds(a.larger, a.smaller, a.epsilon)"
            yield Case(expression, {"larger": ill, "smaller": 3, "epsilon": epsilon}, masses[ill] @ below)


def selection_cases() -> Iterator[Case]:
    for scores in ([10, 8, 7, 3], [0, 0, 0, 0], [20, 0, 20, 5], [4, 5, 6, 7]):
        for rate in (0.1, 0.5, 2.0):
            values, how = np.array(scores, float), {"scores": scores, "rate": rate}
            law = laws.Exponential(values, START, np.array(rate), np.ones(4))
            yield Case("math.selection.exponential(a.scores, a.rate)", how, np.exp(law.log_probabilities()))
            flip = laws.PermuteAndFlip(values, START, np.array(rate)).probabilities()
            yield Case("math.selection.flip(a.scores, a.rate)", how, flip)
            both = regrets(values, rate=rate)
            for name, key in (("exponential", "EM"), ("flip", "PF")):
                chances = f"math.selection.{name}(a.scores, a.rate)"
                yield Case(f"math.selection.behind(a.scores, {chances})", how, both[key])


AGES = [24, 31, 35, 42, 47, 53, 58, 62, 66, 73]
AGE = Domain((Continuous("age", 16, 80),), ("healthy", "ill"))
SEEDS = 40  # replays, among which is one of the most telling threshold with the most telling noise


def patients(left: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """The records of the figure but one, which keep their keys."""
    X, y = pd.DataFrame({"age": np.array(AGES, float)}), pd.Series(["healthy"] * 9 + ["ill"])
    return X.drop(index=left, errors="ignore"), y.drop(index=left, errors="ignore")


def threshold_law(left: int, rate: float) -> np.ndarray[Any, Any]:
    """Density on each interval between ages."""
    X, y = patients(left)
    edges = np.array([16, *AGES, 80], float)
    below = X["age"].to_numpy() <= edges[:-1, None]
    ill = (y == "ill").to_numpy().astype(float)
    tables = np.stack([[side @ (1 - ill), side @ ill] for side in (below, ~below)]).transpose(2, 0, 1)
    score = SCORES["max"](tables)
    lengths = np.diff(edges)
    law = laws.Exponential(score, START, np.array(rate), lengths)
    density: np.ndarray[Any, Any] = np.exp(law.log_probabilities()) / lengths
    return density


def replayed(left: int, *, stop: str) -> float:
    """Largest loss of a replayed tree when a record leaves."""
    tree = DiffPRFs(
        epsilon=1.0, domain=AGE, n_trees=1, max_depth=1, max_features="all", bags="full", stop=stop
    )
    losses = [replay(tree, patients(-1), patients(left), seed=s).lower_bound for s in range(SEEDS)]
    return max(losses)


def lost_record_cases() -> Iterator[Case]:
    for left in (-1, 0, 4, 9):
        expression = (
            "math.lostRecord.law(math.lostRecord.records(a.left), a.rate).map(piece => piece.density)"
        )
        for rate in (0.5, 1.3):
            yield Case(expression, {"left": left, "rate": rate}, threshold_law(left, rate))
    for left in (0, 9):
        for stop in ("depth", "pure"):
            how = {"left": left, "pure": stop == "pure"}
            yield Case("math.lostRecord.loss(a.left, a.pure, 1)", how, replayed(left, stop=stop))


def path_spent(rule: str, leaf: int, *, align: bool) -> tuple[float, float]:
    """What a path of eDPRF spends and what its leaf does, by the ledger: it ends when its attributes are used up."""
    domain = Domain(tuple(Categorical(f"x{j}", (0, 1)) for j in range(leaf)), (0, 1))
    X, y = pd.DataFrame(0, index=range(8), columns=list(domain.names)), np.arange(8) % 2
    tree = EDPRF(
        epsilon=1.0, domain=domain, n_trees=1, max_depth=5, splits="multiway", reuse=False,
        stop="depth", levels=rule, align=align, bags="full", random_state=0,
    ).fit(X, y)  # fmt: skip
    last = tree.ledger_.events[-1]
    return float(tree.ledger_.leaf_costs().max()), float(np.max(last.epsilon))


def path_cases() -> Iterator[Case]:
    for rule in ("uniform", "geometric", "harmonic"):
        for levels in (1, 3, 6, 8):
            how: dict[str, Any] = {"levels": levels, "rule": rule}
            yield Case("math.pathBudget.shares(a.levels, a.rule)", how, level_shares(levels, rule))
        for leaf in (1, 2, 5):
            for align in (False, True):
                how = {"rule": rule, "leaf": leaf, "align": align}
                parts = "math.pathBudget.spent(6, a.rule, a.leaf, a.align)"
                total = f"{parts}.reduce((sum, part) => sum + part, 0)"
                yield Case(f"[{total}, {parts}.at(-1)]", how, path_spent(rule, leaf, align=align))


def audit_cases() -> Iterator[Case]:
    for confidence in (0.9, 0.99):
        for n in (10, 100, 5000, 100000):
            pairs = [(round(p * n), round(q * n)) for p in (0, 0.05, 0.73, 1) for q in (0, 0.27, 1)]
            for k, other in [*pairs, (1, n - 1)]:
                how = {"k": k, "l": other, "n": n, "confidence": confidence}
                bound = two_limits(k, other, n, confidence=confidence)
                yield Case("math.audit.bound(a.k, a.l, a.n, a.confidence)", how, bound)
                low, high = clopper_pearson(np.array([k]), n, alpha=0.01)
                yield Case("math.audit.interval(a.k, a.n, 0.01)", how, [low[0], high[0]])


def shapes_cases() -> Iterator[Case]:
    data = moving.read("shapes")
    for fits in data["shapes"]:
        for shape in fits:
            how = {"first": shape, "second": data["without"]}
            expected = np.std(np.array(shape) - np.array(data["without"]))
            yield Case("math.shapes.distance(a.first, a.second)", how, expected)


def choose_cases() -> Iterator[Case]:
    counts = np.arange(-1000, 1000)
    for epsilon in (0.05, 0.3, 1.0, 5.0):
        without, own = (
            np.exp(laws.TwoSidedGeometric(np.full(2000, c), np.array(1 / epsilon)).log_density(counts))
            for c in (0, 1)
        )
        right = np.maximum(without, own).sum() / 2  # of even bets; this noise reaches the bound
        yield Case("math.choose.moreRight(a.epsilon)", {"epsilon": epsilon}, 100 * right - 50)
        yield Case("math.choose.moreRight(a.epsilon)", {"epsilon": epsilon}, price.more_right(epsilon))
        for before in (0.01, 0.5):
            odds = before / (1 - before) * own[1001] / without[1001]  # after a released 1
            how: dict[str, Any] = {"before": before, "epsilon": epsilon}
            for expected in (odds / (1 + odds), price.belief(before, epsilon)):
                yield Case("math.choose.belief(a.before, a.epsilon)", how, expected)
    data = moving.read("choose")
    for known in (35.4, 50, 300, 500, 1000, 1508.1, 3000, 15000, 50000, 100000, 144155, 250000):
        how = {"data": data, "known": known}
        for name, kind in (("across", "few"), ("across", "delta"), ("across", "pure"), ("withDelta", "")):
            found = price.across(data[kind], known) if kind else price.with_delta(data, known)
            what = f"math.choose.{name}({f'a.data.{kind}' if kind else 'a.data'}, a.known)"
            expression = f"(found => found ? Object.values(found) : [])({what})"
            yield Case(expression, how, list(found or ()))
    for kind in ("few", "delta", "pure"):
        measured = [at for curve in data[kind].values() for at, _ in curve if price.across(data[kind], at)]
        for known, end in ((10.0, min(measured)), (5e6, max(measured))):
            how = {"sets": data[kind], "known": known}
            expected = [*(price.across(data[kind], end) or ()), end]  # where the data end
            yield Case("Object.values(math.choose.bound(a.sets, a.known))", how, expected)


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "noise": noise_cases,
    "selection": selection_cases,
    "lost-record": lost_record_cases,
    "path-budget": path_cases,
    "audit": audit_cases,
    "shapes": shapes_cases,
    "choose": choose_cases,
}

Change = tuple[str, str]  # a piece of a script, and a wrong one
WRONG: dict[str, list[Change]] = {
    "noise": [
        ("Math.tanh(epsilon / 2) *", "Math.tanh(epsilon) *"),
        ("1 - q ** (count - centre + 1)", "1 - q ** (count - centre)"),
        ("atMost(k - 1, smaller", "atMost(k, smaller"),
        ("Math.ceil(100", "Math.round(100"),
    ],
    "selection": [
        ("weights.map(weight => weight / sum(weights))", "weights.map(weight => weight / (1 + sum(weights)))"),
        ("term / (power + 1)", "term / (power + 2)"),
        ("if (j !== r) terms", "terms"),
        ("Math.max(...scores) - score", "score"),
    ],
    "lost-record": [
        ("larger(below) + larger(above)", "larger(below)"),
        ("isPure(all) !== isPure(kept)", "false"),
        (") + epsilon / 2;", ");"),
        ("return Infinity", "return 0"),
    ],
    "path-budget": [
        ("level / 3", "level / 2"),
        ("1 / (levels - level)", "1 / (level + 1)"),
        ("aligned ? left : all[leaf]", "all[leaf]"),
    ],
    "audit": [
        ("betaInverse(alpha / 2, successes, trials", "betaInverse(alpha, successes, trials"),
        ("interval(count, runs, (1 - confidence) / 2)", "interval(count, runs, 1 - confidence)"),
        ("p[0] / q[1], q[0] / p[1]", "p[0] / q[1], q[1] / p[0]"),
        ("1 / (1188 * square)", "1"),
    ],
    "shapes": [("return Math.sqrt(", "return ("), ("[shape, other].map(centred)", "[shape, other]")],
    "choose": [
        ("((1 - before) / before)", "(1 / before)"),
        ("belief(0.5, epsilon) - 50", "belief(0.5, epsilon) - 49"),
        ("Math.log(known / low)", "(known / low)"),
        ("known < curve[0][0]) return null", "false) return null"),
        ("FEWEST = 4", "FEWEST = 3"),
        ("found[Math.floor(half)]) / 2", "found[Math.ceil(half)]) / 2"),
        ("few.sets > (", "few.sets >= ("),
        ("ends(-1).at(-FEWEST)", "ends(-1).at(1 - FEWEST)"),
        ("known > last ?", "known < last ?"),
    ],
}  # fmt: skip


@cache
def said(name: str) -> list[Case]:
    """What the package says of a figure's formulas."""
    return list(CASES[name]())


@pytest.fixture
def blank(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    page.set_default_timeout(180_000)
    yield page
    page.close()


def source(name: str, *changes: Change) -> str:
    """A script, or a broken twin of it."""
    text = (moving.SCRIPTS / f"{name}.js").read_text(encoding="utf-8")
    for right, wrong in changes:
        assert right in text, f"{name}.js has no {right!r}"
        text = text.replace(right, wrong)
    return text


def errors(page: Page, name: str, *changes: Change) -> list[str]:
    """Where a figure's script and the package differ."""
    page.goto("about:blank")
    page.add_script_tag(content=source("moving"))
    page.add_script_tag(content=source(name, *changes))
    cases = said(name)
    code = "cases => cases.map(([expression, a]) => { const {math} = moving; return eval(expression) })"
    answers = page.evaluate(code, [[case.expression, case.argument] for case in cases])
    found = []
    for (expression, argument, expected), answer in zip(cases, answers, strict=True):
        got, want = np.array(answer, float), np.array(expected, float)
        if got.shape != want.shape or not np.allclose(got, want, rtol=0, atol=TOLERANCE):
            found.append(f"{expression} of {argument}: {got} instead of {want}")
    assert len(cases) > 5
    return found


@pytest.mark.parametrize("name", moving.FIGURES)
def test_formulas_give_the_numbers_of_the_package(name: str, blank: Page) -> None:
    assert errors(blank, name) == []


@pytest.mark.parametrize(("name", "change"), [(name, change) for name in WRONG for change in WRONG[name]])
def test_a_wrong_formula_is_caught(name: str, change: Change, blank: Page) -> None:
    assert errors(blank, name, change) != []


# --- data and stills -------------------------------------------------------------------------------------------


def test_committed_counts_are_those_of_the_package() -> None:
    committed = (moving.STILLS / "audit.json").read_text(encoding="utf-8")
    assert committed == moving.written(moving.audit_counts())
    assert committed != moving.written(moving.audit_counts(seed=1))


def test_the_honest_counter_is_not_flagged_and_the_broken_one_is() -> None:
    data = moving.read("audit")

    def bounds(kind: str) -> list[float]:
        rows = zip(data[kind]["first"], data[kind]["second"], data["runs"], strict=True)
        return [two_limits(k, other, n, confidence=0.99) for k, other, n in rows]

    assert 0.9 < max(bounds("honest")) < 1
    assert bounds("broken")[-1] > 9


def test_committed_shapes_are_those_of_the_package() -> None:
    data = moving.read("shapes")
    assert data["epsilons"] == list(moving.EPSILONS)
    for at, seed in ((1, 0), (4, 3), (6, 5)):
        shape = data["shapes"][at][seed]
        assert shape == moving.age_shape(moving.EPSILONS[at], seed=seed)
        assert shape != moving.age_shape(moving.EPSILONS[at], seed=seed + 1)
    assert data["without"] == moving.age_shape(math.inf, seed=0)


def test_committed_losses_are_those_of_the_results() -> None:
    """Each point is the mean of stored fits, in points of AUC below the highest mean of a learner without privacy."""
    data = moving.read("choose")
    assert moving.written(data) == moving.written(moving.price_curves())
    results = moving.ROOT / "results"
    free = pd.read_csv(results / "references.csv").query("dataset == 'bank' and metric == 'auc'")
    top = free.groupby("method")["value"].mean().drop(references.NO_NOISE).max()
    for table, kind, epsilon, known in (("board", "delta", 0.5, 14415.5), ("few", "few", 3.0, 3000.0)):
        fits = pd.read_csv(results / f"{table}.csv").query("dataset == 'bank' and method == @price.OURS")
        for told, same in ((epsilon, True), (epsilon / 5, False)):
            auc = fits[np.isclose(fits["epsilon"], told)]["auc"].mean()
            assert ([known, round(100 * (top - auc), 2)] in data[kind]["bank"]) == same


def test_controls_have_the_values_of_the_data(blank: Page) -> None:
    moving.load_scripts(blank)
    told = blank.evaluate("""() => ['audit', 'shapes'].map(name => {
      const [{min, max, text}] = moving.figures[name].controls;
      return Array.from({length: max - min + 1}, (_, i) => Number(text(min + i).replace(/[^0-9.]/g, '')));
    })""")
    assert told == [moving.read("audit")["runs"], moving.read("shapes")["epsilons"]]


def test_stills_are_current(blank: Page) -> None:
    moving.load_scripts(blank)
    for name in moving.FIGURES:
        committed = (moving.STILLS / f"{name}.html").read_text(encoding="utf-8")
        assert committed == moving.still(blank, name), f"run python -m private_trees.site.moving: {name}"
        blank.evaluate("name => { moving.figures[name].controls[0].value -= 1 }", name)
        assert committed != moving.still(blank, name)


# What is no number, or is missing, where each control goes through its places and the others are at their ends.
NO_NUMBER = """([name, data]) => {
  const {controls, draw} = moving.figures[name], found = [];
  const ends = controls.map(({min, max, value}) => [min, max, value]);
  const corners = ends.reduce((all, some) => all.flatMap(places => some.map(place => [...places, place])), [[]]);
  for (const [i, {min, max, step = 1}] of controls.entries())
    for (let place = min; place <= max; place += step)
      for (const corner of corners) {
        const places = corner.with(i, place), {panels, says} = draw(places, data);
        const words = [...panels, ...says].join(" ").match(/NaN|undefined|Infinity|null|[Nn]o data|are no/g);
        if (words) found.push(`${places}: ${words}`);
      }
  return found;
}"""


@pytest.mark.parametrize("name", moving.FIGURES)
def test_a_figure_shows_numbers_wherever_its_controls_are(name: str, blank: Page) -> None:
    moving.load_scripts(blank)
    assert blank.evaluate(NO_NUMBER, [name, moving.read(name)]) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("choose", ("?? bound(data.pure, known)", "?? { median: NaN, least: 1, most: 1 }")),
        ("choose", ("Math.min(known, 300000)", "undefined")),
        ("noise", ("Math.tanh(epsilon / 2)", "Math.tanh(NaN)")),
    ],
)
def test_a_figure_without_a_number_is_caught(name: str, change: Change, blank: Page) -> None:
    blank.add_script_tag(content=source("moving"))
    blank.add_script_tag(content=source(name, change))
    assert blank.evaluate(NO_NUMBER, [name, moving.read(name)]) != []


# --- the page --------------------------------------------------------------------------------------------------

PAGE = "book/moving.html"
FIGURE = "figure.moving"

# All texts can be read: large enough, inside their picture, and not on top of each other.
READABLE = """overlaps => [...document.querySelectorAll('figure.moving')].flatMap(figure => {
  const found = [], name = figure.dataset.moving;
  for (const node of figure.querySelectorAll('text, p, label, output, button, span')) {
    const grown = node.getScreenCTM ? node.getScreenCTM().a : 1;
    const size = parseFloat(getComputedStyle(node).fontSize) * grown;
    if (size < 11) found.push(`${name}: ${size.toFixed(1)} px: ${node.textContent}`);
  }
  for (const picture of figure.querySelectorAll('svg')) {
    const frame = picture.getBoundingClientRect();
    const boxes = [...picture.querySelectorAll('text')].map(node => [node.textContent, node.getBoundingClientRect()]);
    for (const [i, [text, box]] of boxes.entries()) {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
        found.push(`${name}: outside: ${text}`);
      for (const [other, next] of overlaps ? boxes.slice(i + 1) : [])
        if (box.left < next.right && next.left < box.right && box.top + 3 < next.bottom && next.top + 3 < box.bottom)
          found.push(`${name}: ${text} is on top of ${other}`);
    }
  }
  return found;
})"""

MOVE = """way => document.querySelectorAll('figure.moving input').forEach(input => {
  input.value = input[way];
  input.dispatchEvent(new Event('input'));
})"""


def spoil(page: Page, name: str, *changes: Change) -> None:
    """Serve a broken twin of a script or of the style sheet."""

    def broken(route: Route) -> None:
        text = route.fetch().text()
        for right, wrong in changes:
            assert right in text, f"{name} has no {right!r}"
            text = text.replace(right, wrong)
        route.fulfill(body=text, content_type="text/css" if name.endswith("css") else "text/javascript")

    page.route(f"**/moving/{name}*", broken)


def opened(context: BrowserContext, address: str, changes: dict[str, Change]) -> Page:
    page = context.new_page()
    for name, change in changes.items():
        spoil(page, name, change)
    page.goto(f"{address}/{PAGE}")
    return page


def by_keys(page: Page) -> list[str]:
    """What does not follow the arrow keys, and which focus does not show."""
    found = []
    for figure in page.locator(FIGURE).all():
        name, stage = figure.get_attribute("data-moving"), figure.locator(".moving-stage")
        for i, control in enumerate(figure.locator("input").all()):
            before = stage.inner_html(), control.get_attribute("aria-valuetext")
            control.focus()
            at_its_end = control.evaluate("node => node.value === node.min")
            page.keyboard.press("ArrowRight" if at_its_end else "ArrowLeft")
            after = stage.inner_html(), control.get_attribute("aria-valuetext")
            if before[0] == after[0]:
                found.append(f"{name}, control {i}: the picture stays")
            if before[1] == after[1]:
                found.append(f"{name}, control {i}: the text for readers of the screen stays")
            if control.evaluate("node => getComputedStyle(node).outline").split()[-2:] != ["solid", "3px"]:
                found.append(f"{name}, control {i}: focus does not show")
    return found


def readable(page: Page) -> list[str]:
    """What cannot be read at some width, with some font, at some end of the sliders."""
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for way in ("defaultValue", "min", "max"):
            page.evaluate(MOVE, way)
            for font, spacing in FONTS.items():
                page.evaluate("spacing => { document.body.style.letterSpacing = spacing }", spacing)
                found += [f"{width} px, {way}, {font}: {x}" for x in page.evaluate(READABLE, font == "own")]
    return found


def barriers(page: Page) -> list[str]:
    """All that axe finds in the figures, of any impact."""
    found = []
    for width, mode in zip(WIDTHS, MODES, strict=True):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("mode => { document.documentElement.dataset.theme = mode }", mode)
        response = Axe().run(page, context=FIGURE, options=AXE).response
        found += [f"{width} px, {mode}: {x['id']}" for x in response["violations"]]
    return found


# A check, changes to files, and what is found then: each for itself, as no change hides what another does.
SPOILT: list[tuple[Callable[[Page], list[str]], dict[str, Change], list[str]]] = [
    (
        by_keys,
        {
            "moving.js": ('input.addEventListener("input", () => set(input.value));', ""),
            "moving.css": ("outline: 3px solid", "outline: 0 solid"),
        },
        ["the picture stays", "focus does not show"],
    ),
    (
        by_keys,
        {"moving.js": ('input.setAttribute("aria-valuetext"', 'input.setAttribute("title"')},
        ["of the screen stays"],
    ),
    (
        readable,
        {
            "moving.css": ("font-size: 12px", "font-size: 9px"),
            "lost-record.js": ("text(at(0), 240", "text(at(0) - 40, 240"),
            "path-budget.js": ("text(10, y - 7", "text(240, y - 7"),
        },
        ["390 px, defaultValue, own: noise: 9", "outside: privacy loss", "is on top of"],
    ),
    (
        barriers,
        {
            "moving.js": ('<label for="${id}">', "<label>"),
            "moving.css": ("--moving-on: #10151c", "--pst-color-text-base: #333"),
        },
        ["1280 px, light: label", "dark: color-contrast"],
    ),
    (
        barriers,
        {"moving.js": ('role: "img", "aria-label": alt', 'role: "img"')},
        ["390 px, dark: svg-img-alt"],
    ),
]


def test_figures_follow_keys_and_can_be_read_by_all(site: str, context: BrowserContext) -> None:
    page = opened(context, site, {})
    assert page.locator(f"{FIGURE} input").count() == 11
    assert [problem for check in (by_keys, readable, barriers) for problem in check(page)] == []


@pytest.mark.parametrize(("check", "changes", "expected"), SPOILT)
def test_a_spoilt_figure_is_caught(
    check: Callable[[Page], list[str]],
    changes: dict[str, Change],
    expected: list[str],
    site: str,
    context: BrowserContext,
) -> None:
    found = check(opened(context, site, changes))
    assert [fault for fault in expected if not any(fault in problem for problem in found)] == [], found


def without_scripts(page: Page) -> list[str]:
    """Figures that show no picture, or controls that nothing answers to."""
    found = []
    for figure in page.locator(FIGURE).all():
        name = figure.get_attribute("data-moving")
        pictures = figure.locator("svg").all()
        if len(pictures) != 2 or not all(
            x.is_visible() and x.bounding_box()["height"] > 90 for x in pictures
        ):
            found.append(f"{name}: no picture")
        if not figure.locator(".moving-says").inner_text().strip():
            found.append(f"{name}: no words")
        if any(x.is_visible() for x in figure.locator("input, button, .moving-try").all()):
            found.append(f"{name}: a control that does nothing")
    return found


def test_without_scripts_the_still_is_there(site: str, browser: Browser) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{site}/{PAGE}")
    assert page.locator(FIGURE).count() == len(moving.FIGURES)
    assert without_scripts(page) == []
    page.route("**/moving.html", lambda route: route.fulfill(body=route.fetch().text().replace("<svg", "<b")))
    page.goto(f"{site}/{PAGE}")
    assert len(without_scripts(page)) == len(moving.FIGURES)
    page.close()


def heights(context: BrowserContext, address: str, *changes: Change) -> list[list[int]]:
    """Heights of the figures before their scripts have run and afterwards, at each width."""
    found = []
    for scripts in (False, True):
        page = context.new_page()
        if not scripts:
            page.route("**/moving/*.js*", lambda route: route.abort())
        if changes:
            spoil(page, "moving.css", *changes)
        page.goto(f"{address}/{PAGE}")
        found.append([])
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            found[-1] += page.locator(FIGURE).evaluate_all("all => all.map(figure => figure.offsetHeight)")
    return found


def test_a_figure_keeps_its_height_when_its_script_runs(site: str, context: BrowserContext) -> None:
    before, after = heights(context, site)
    assert before == after
    before, after = heights(context, site, ("visibility: hidden", "display: none"))
    assert all(low < high for low, high in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("name", "count"),
    [(PAGE, 8), ("book/choose-epsilon.html", 2), ("book/intro.html", 2), ("book/glossary.html", 0)],
)
def test_only_pages_with_figures_load_scripts(name: str, count: int, site: str) -> None:
    text = (ROOT / "_build" / "html" / name).read_text(encoding="utf-8")
    assert text.count('src="../_static/moving/') == count
    assert text.count("_static/moving/moving.css") == (count > 0)


def test_nothing_moves_unless_asked(site: str, browser: Browser) -> None:
    """A button plays the audit; readers who ask for less motion have none."""
    for motion, buttons in (("no-preference", 1), ("reduce", 0)):
        page = browser.new_page(reduced_motion=motion)
        page.goto(f"{site}/{PAGE}")
        assert sum(button.is_visible() for button in page.locator(f"{FIGURE} button").all()) == buttons
        page.close()
    page = browser.new_page(reduced_motion="no-preference")
    page.clock.install(time=0)
    page.goto(f"{site}/{PAGE}")
    page.clock.pause_at(3_600_000)  # an installed clock runs on between two clicks unless it is paused
    control = page.locator("#moving-audit-0")
    page.clock.run_for(5000)
    assert control.input_value() == "40"
    page.locator(f"{FIGURE} button").click()
    page.clock.run_for(1210)
    assert control.input_value() == "10"
    page.locator(f"{FIGURE} button").click()
    page.clock.run_for(1210)
    assert control.input_value() == "10"
    page.close()


def test_every_figure_has_its_words_and_its_script() -> None:
    scripts = {path.stem for path in moving.SCRIPTS.glob("*.js")} - {"moving"}
    words = (ROOT / "book" / "_ext" / "moving.py").read_text(encoding="utf-8")
    assert scripts == set(moving.FIGURES) == set(CASES) == set(WRONG)
    assert all(f'"{name}": Words(' in words for name in moving.FIGURES)
    assert all(json.loads(path.read_text(encoding="utf-8")) for path in moving.STILLS.glob("*.json"))
