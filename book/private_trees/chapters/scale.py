"""Chapter 10: the same models at scale, and what a pass over ten million records costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from dpnb.arrays import FIXED_POINT, Floats
from dpnb.boosting.groups import offered
from dpnb.domain import Domain
from dpnb.records.grid import grid_of, public_cuts
from dpnb.records.shapes import layout_of
from dpnb.settings import PUBLICLY

from ..site.notebook import integer, one_of, positive, text
from ..site.observations import observe
from ..studies.scale import PassCost, table_bytes

PARAMETERS = {
    "engine": one_of("memory", "spark"),
    "epsilon": positive(),
    "seed": integer(low=0),
    "results": text(),
}
COLUMNS = {  # of the measurements: name and format in the table
    "encode_s": ("encode, s", "{:.1f}"),
    "passes": ("passes", "{:.0f}"),
    "pass_s": ("a pass, s", "{:.2f}"),
    "fit_s": ("all passes, s", "{:.1f}"),
    "driver_mb": ("driver, MB", "{:,.0f}"),
    "all_mb": ("together, MB", "{:,.0f}"),
}
Seconds = Mapping[tuple[str, int, int], float]  # of a pass, by model, rows and cores


def round_bytes(bins: int) -> int:
    """Most bytes of a task's answer to a round of the booster that chooses a stump."""
    return table_bytes(nodes=1, classes=1, bins=bins + 2)


def product_cells(domain: Domain) -> int:
    """Cells of all pairs of attributes, which a round asks for that chooses among products of two stumps, at most."""
    coarse = layout_of(grid_of(domain, public_cuts(domain, **PUBLICLY)))
    return sum(pair.size for pair in offered([block.axes[0] for block in coarse.blocks], 2))


def answer_sizes(*, bins: int, classes: int, products: int) -> pd.DataFrame:
    """Most KB of a task's answer, at four levels of a tree and in rounds of the booster.

    Parameters
    ----------
    bins, classes : of the data.
    products : of :func:`product_cells`.
    """
    passes = {
        f"level {k} of a tree": (2**k, table_bytes(nodes=2**k, classes=classes, bins=bins)) for k in range(4)
    }
    passes["a round of stumps"] = 1, round_bytes(bins)
    passes["a round of stumps and products"] = 1, round_bytes(bins + products)
    table = pd.DataFrame(passes, index=["nodes", "bytes"]).T
    table["KB a task, at most"] = (table.pop("bytes") / 1024).round(1)
    return table


def largest_on_two_cores(full: pd.DataFrame) -> pd.DataFrame:
    """Measurements of the fits on the most records with two cores, a row a model."""
    return full.query("rows == rows.max() and cores == 2").set_index("model").rename_axis(index=None)


def fit_costs(largest: pd.DataFrame) -> pd.DataFrame:
    """Seconds, passes and memory of each fit, in the columns of the table."""
    names = {column: name for column, (name, _) in COLUMNS.items()}
    return largest.filter(list(names)).rename(columns=names)


def cost_numbers(costs: Mapping[str, PassCost]) -> pd.DataFrame:
    """The cost model's numbers, a row a model."""
    columns = ("fixed, s a pass", "ns a record", "ns a value")
    rows = {name: (cost.fixed, 1e9 * cost.record, 1e9 * cost.value) for name, cost in costs.items()}
    return pd.DataFrame(rows, index=columns).T


def relative_errors(measured: pd.DataFrame, costs: Mapping[str, PassCost]) -> dict[str, Floats]:
    """How far the cost model is off each measurement of a model, as a share of what was measured."""
    errors = {}
    for name, cost in costs.items():
        own = measured[measured["model"] == name]
        runs = own[["rows", "attributes", "cores"]].to_numpy()
        guess = np.array([cost.seconds(rows=n, attributes=a, cores=c) for n, a, c in runs])
        errors[name] = np.abs(guess / own["pass_s"].to_numpy() - 1)
    return errors


def speedups(at: Seconds, *, sizes: Sequence[int], models: Sequence[str]) -> pd.DataFrame:
    """Strong and weak scaling from one core to two, a column a model."""
    found = {}
    for name in models:
        strong = {f"two cores for one, {n / 1e6:g} M": at[name, n, 1] / at[name, n, 2] for n in sizes}
        weak = {
            f"both doubled, {n / 1e6:g} to {n / 5e5:g} M": at[name, n, 1] / at[name, 2 * n, 2]
            for n in sizes
            if 2 * n in sizes
        }
        found[name] = strong | weak
    return pd.DataFrame(found)


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_finding(measured: pd.DataFrame, largest: pd.DataFrame, blocks: Sequence[Floats], records: int) -> None:
    """The finding, and the first picture."""
    numbers = [largest["pass_s"].min(), largest["pass_s"].max(), measured["all_mb"].max() / 1024]
    observe("scale-pass", "On ten million records and two cores one reading of them takes {:.2f} to {:.2f} s, the "
            "largest fit needs {:.1f} GB", lambda n: 0 < n[0] < n[1] < n[2], numbers, says=numbers)
    observe("scale-second", "Ten million records are read in about a second by two cores",
            lambda s: 0.5 < s[0] < s[1] < 2, numbers[:2])
    observe("scale-records", "30 162 records in seven blocks", lambda n, of: n == 30_162 and of == 7, records,
            len(blocks))


def check_driver(full: pd.DataFrame) -> None:
    """Memory of the process that draws the noise."""
    driver = full.set_index(["rows", "model", "cores"])["driver_mb"]
    few, many = (driver[rows] for rows in (1_000_000, 10_000_000))

    def flat(few: pd.Series[float], many: pd.Series[float]) -> bool:
        return bool((many[few.index] < 1.02 * few).all()) and len(few) == 4  # two models on one core and on two

    observe("scale-flat", "the memory of the process that draws the noise does not grow with the records",
            flat, few, many)
    observe("scale-zh-flat", "产生噪声的进程所占内存不随记录数增长", flat, few, many)
    observe("scale-driver", "on two cores that of the booster is {:.0f} MB with one million and {:.0f} MB with ten "
            "million", flat, few, many, says=[few["booster", 2], many["booster", 2]])


def check_sums(sums: Mapping[str, Floats], raw: Floats, fixed_point: Floats) -> None:
    """Weights that add up exactly."""
    different = {name: len(set(values.tolist())) for name, values in sums.items()}
    observe("scale-orders", "{:.0f} different sums of the weights as computed, but a single sum of the rounded weights",
            lambda d: d["multiples of 2⁻²⁸"] == 1 < d["as computed"], different, says=[different["as computed"]])
    observe("scale-half-unit", "Rounding moves a weight by at most half a unit", lambda units: 0.4 < units <= 0.5,
            float(np.abs(raw - fixed_point).max()) * FIXED_POINT)


def check_passes(passes: Mapping[str, Floats], largest: pd.DataFrame) -> None:
    """Every pass of the five fits."""
    levels = passes["Pearson tree"][1:]
    observe("scale-levels", "apart from the pass at the root, its slowest takes {:.2f} times as long as its fastest, "
            "and it is the first one", lambda levels: levels.argmax() == 0, levels, says=[levels.max() / levels.min()])
    number, seconds = largest["passes"], largest["pass_s"]
    observe("scale-delta", "With δ the booster takes {:.0f} passes where 20 rounds without it take {:.0f}, and its "
            "median pass is {:.2f} times as long",
            lambda n, s: all(of["booster with δ"] > of["booster"] for of in (n, s)), number, seconds,
            says=[number["booster with δ"], number["booster"], seconds["booster with δ"] / seconds["booster"]])


def check_model(errors: Mapping[str, Floats]) -> None:
    """How far the cost model is off."""
    worst = 100 * max(off.max() for off in errors.values())

    def within(errors: Mapping[str, Floats], worst: float) -> bool:
        return all((100 * off <= worst).all() for off in errors.values()) and worst < 50

    observe("scale-off", "it is off by {:.0f} % in the median for the booster and by {:.0f} % for the tree, and by "
            "{:.0f} % at most", within, errors, worst, says=[*(100 * np.median(off) for off in errors.values()), worst])
    observe("scale-off-zh", "与实测最多相差 {:.0f}%", within, errors, worst, says=[worst])
    observe("scale-off-summary", "to within {:.0f} %", within, errors, worst, says=[worst])


def check_cores(at: Seconds, costs: Mapping[str, PassCost]) -> None:
    """The second core."""
    one, ten = 1_000_000, 10_000_000
    gain = {(name, n): at[name, n, 1] / at[name, n, 2] for name in costs for n in (one, ten)}
    most = [gain[name, ten] for name in costs]
    observe("scale-strong", "on ten million records the second core makes the booster {:.2f} times as fast and the "
            "tree {:.2f} times", lambda most: 1 < min(most) <= max(most) < 2, most, says=most)
    weak = [at[name, ten // 2, 1] / at[name, ten, 2] for name in costs]
    observe("scale-weak", "weak scaling reaches {:.2f} and {:.2f}",
            lambda w: 0.5 < min(w) <= max(w) < 1.05, weak, says=weak)
    observe("scale-small", "On one million records the second core brings {:.2f} times to the booster and {:.2f} to "
            "the tree", lambda g: 1 < min(g) <= max(g) < 2, [gain[name, one] for name in costs],
            says=[gain[name, one] for name in costs])
    seconds = {c: [cost.seconds(rows=ten, attributes=14, cores=c) for cost in costs.values()] for c in (1, 2)}
    expected = np.divide(seconds[1], seconds[2]).tolist()
    observe("scale-expected", "The cost model expects {:.2f} and {:.2f} times",
            lambda model, seen: (np.array(model) > seen).all(), expected, most, says=expected)
    fixed = [cost.fixed / at[name, one, 2] for name, cost in costs.items()]
    observe("scale-fixed", "a pass is mostly its fixed part, {:.2f} and {:.2f} of the time of two cores",
            lambda fixed: (np.array(fixed) > 0.5).all(), fixed, says=fixed)


def check_billion(guesses: pd.DataFrame, at: Seconds) -> None:
    """What the model predicts for a billion records."""
    far = guesses[guesses["machines"] == 100]
    seconds = ((far["reading, s"] + far["waiting, s"]) / far["passes"]).tolist()
    here = [at[name, 10_000_000, 2] for name in far["model"]]
    observe("scale-billion", "a pass takes {:.1f} s for the tree and {:.1f} s for the booster",
            lambda s: 0 < s[0] < s[1], seconds, says=seconds)
    observe("scale-five", "no more to each core than five million here", lambda rows: rows / 200 <= 5e6, 1e9)
    observe("scale-same-load", "with ten million records on two cores a pass took {:.2f} and {:.2f} s, so the model is "
            "too quick there", lambda here, model: (np.array(here) > model).all(), here, seconds, says=here)


def check_answers(answers: pd.DataFrame, bins: int) -> None:
    """What tasks answer with."""
    tasks = 1e9 / 3.3e6  # a task for 3.3 million records
    observe("scale-tasks", "The answers of {:.0f} tasks, one for 3.3 million records, to a round of stumps are "
            "{:.1f} MB", lambda n: np.isclose(3.3e6 * n, 1e9), tasks, says=[tasks, tasks * round_bytes(bins) / 2**20])
    observe("scale-answers", "On a public grid a task answers with kilobytes",
            lambda kb: ((kb > 1) & (kb < 1000)).all(), answers["KB a task, at most"])
