"""Chapter 7: eDPRF, its choices, its budgets, its defects, and its repair."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from math import exp, log
from typing import Any

import numpy as np
import pandas as pd

from dpnb.arrays import Floats, Ints
from dpnb.domain import Categorical, Continuous, Domain
from dpnb.papers.edprf import EDPRF
from dpnb.privacy.ledger import Ledger
from dpnb.records.bags import parts_bound
from dpnb.records.memory import Records
from dpnb.records.splits import BINNED, no_splits
from dpnb.trees.scores import GINI

from ..site.notebook import integer
from ..site.observations import observe
from ..studies.edprf import AS_WRITTEN
from ..studies.targets import MOST_SHOWN
from ..tables.edprf import change, em, pf, z_values
from . import GRID, LIVE

PARAMETERS = (
    LIVE | {"n_trees": integer(low=1), "tree_depth": integer(low=2), "repeats": integer(low=2)} | GRID
)
LINE = Domain((Continuous("x", 0, 1),), (0, 1))
LABEL, COUNTS = "permute-and-flip, rate ε", "larger of two Laplace counts"
LABEL_16, EM_16 = "permute-and-flip, rate ε/2 (16)", "exponential mechanism, rate ε/2"
LEAF_RULES: dict[str, dict[str, Any]] = {
    LABEL: {"leaf": "label"},
    COUNTS: {"leaf": "counts", "noise": "laplace"},
    LABEL_16: {"leaf": "label", "monotone_rate": False},
}


def laws_of_choice(records: Floats, *, epsilon: float) -> dict[str, Floats]:
    """Probability of each class to be named by a leaf with so many records of it, by mechanism."""
    return {
        "permute-and-flip": pf(records, epsilon / 2),
        "exponential mechanism": em(records, epsilon / 2),
    }


def two_candidates(budgets: Iterable[float]) -> pd.DataFrame:
    """What a tight pair of two candidates loses, and the ratio of errors at a gap of 4, a row a claim."""
    rows = {}
    for epsilon in budgets:
        pair = [pf(scores, epsilon / 2)[1] for scores in ([-1.0, -3.0], [0.0, -4.0])]
        gain = em([0.0, -4.0], epsilon / 2)[1] / pair[1]
        rows[f"{epsilon:g}"] = {"lost on the tight pair": log(pair[0] / pair[1]), "errors, EM : PF": gain}
    return pd.DataFrame(rows).T.rename_axis("ε claimed")


def score_of_bins(x: Sequence[float] | Floats, y: Sequence[int] | Ints) -> float:
    """Score −W of one node that is cut into five bins of equal width between its extremes."""
    node = Records(pd.DataFrame({"x": x}), y, domain=LINE).cohort()
    split = no_splits(1, edges=4)
    split.attribute[:], split.kind[:] = 0, BINNED
    split.cut[:] = node.node_edges(0, 1, n_bins=5, quantiles=False)
    return float(GINI(node.branch_counts(split, 5))[0])


def costs_of_parts(cases: Iterable[tuple[float, int]]) -> pd.DataFrame:
    """What labels and counts on parts of equal size cost under add or remove, a row an ε and a number of trees."""
    rows = {}
    for epsilon, trees in cases:
        miss = 0.5 * exp(-epsilon / 2)
        rows[f"ε = {epsilon:g}, {trees} trees"] = {
            "labels, at least": log(2 / trees * ((trees - 1) * (1 - miss) ** 2 / miss + miss)),
            "labels, at most": parts_bound(epsilon / 2, trees),
            "counts, at most": parts_bound(epsilon, trees),
        }
    return pd.DataFrame(rows).T


def spent_in_figure_3(*, align: bool, seed: int) -> Floats:
    """Budgets of the nodes A, C, B, D and E of the paper's Figure 3, from the first fit with its splits."""
    domain = Domain(tuple(Categorical(name, (0, 1)) for name in "pq"), (0, 1))
    X = pd.DataFrame({"p": [0] * 40 + [1] * 80, "q": [0] * 40 + [0, 1] * 40})
    y = np.array([0] * 40 + [0, 1] * 40)
    settings: dict[str, Any] = {"domain": domain, "n_trees": 1, "max_depth": 2, "align": align}
    forests = (EDPRF.as_written(**settings, random_state=s).fit(X, y) for s in count(seed))
    drawn = next(f for f in forests if f.trees_[0].splits.attribute.tolist() == [0, -1, 1, -1, -1])
    spent = np.zeros(5)
    for event in drawn.ledger_.events:
        if event.mechanism != "exact" and event.parts is not None:
            np.add.at(spent, event.parts, event.epsilon)
    return spent


def paths_of_figure_3(spent: Mapping[bool, Floats]) -> dict[str, dict[str, list[tuple[str, float]]]]:
    """Nodes and budgets of two paths, with and without alignment, as :func:`spent_in_figure_3` found them."""
    return {
        "aligned" if align else "without alignment": {
            "to C": [("A", a), ("C", c)],
            "to D or E": [("A", a), ("B", b), ("D", d)],
        }
        for align, (a, c, b, d, _) in spent.items()
    }


def wrong_labels(x: Floats) -> pd.DataFrame:
    """Probability of a wrong label of a leaf with two classes, a column a mechanism, by ε times the gap."""
    wrong = {LABEL: np.exp(-x) / 2, COUNTS: np.exp(-x) / 2 * (1 + x / 2)}
    return pd.DataFrame(wrong | {LABEL_16: np.exp(-x / 2) / 2, EM_16: 1 / (1 + np.exp(x / 2))}, index=x)


def at_equal_cost(x: Floats) -> pd.DataFrame:
    """The same of labels and counts that cost the same, under either relation."""
    one, half = wrong_labels(x), wrong_labels(x / 2)
    columns = {"label, ε under add or remove": one[LABEL], "counts, the same": one[COUNTS]}
    other = {"label, ε under replace": half[LABEL], "counts, the same again": half[COUNTS]}
    return pd.DataFrame({name: column.to_numpy() for name, column in (columns | other).items()}, index=x)


def drawn_errors(x: Floats, *, seed: int) -> Floats:
    """How often the larger of two Laplace counts is the wrong one, in 200 000 draws."""
    noise = np.random.default_rng(seed).laplace(size=(2, 200_000))
    return np.array([(noise[0] - noise[1] > gap).mean() for gap in x])


def panels_of_errors(x: Floats) -> dict[str, pd.DataFrame]:
    """Errors at equal declared ε and at equal cost, with one name for what is one mechanism."""
    label, noisy = "label by permute-and-flip", "larger of two Laplace counts"
    exponential = "label by the exponential mechanism"
    wrong = wrong_labels(x)
    declared = wrong[[LABEL_16, COUNTS, EM_16]].set_axis([label, noisy, exponential], axis=1)
    equal = (
        wrong[[LABEL, COUNTS]].set_axis([label, noisy], axis=1).assign(**{exponential: 1 / (1 + np.exp(x))})
    )
    return {"at equal declared ε": declared, "at equal cost, add or remove": equal}


def leaf_of(rule: Mapping[str, Any]) -> Callable[[tuple[int, int]], EDPRF]:
    """A fit of a single leaf by a rule, on so many records of each class."""

    def run(sizes: tuple[int, int]) -> EDPRF:
        X = pd.DataFrame({"x": np.zeros(sum(sizes))})
        one = EDPRF(domain=LINE, n_trees=1, max_depth=0, bags="full", random_state=0, **rule)
        return one.fit(X, np.repeat([0, 1], sizes))

    return run


def ledger_of_one_tree(ledger: Ledger) -> str:
    """Lines of a forest's ledger up to the end of its first tree."""
    lines = str(ledger).splitlines()
    ends = [at for at, line in enumerate(lines) if line[:4] in ("   ├", "   └")][1:]
    return "\n".join([*(lines[: ends[0]] if ends else lines), "   … and the other trees"])


def leads_of_repaired(forests: pd.DataFrame) -> pd.DataFrame:
    """Leads of the repaired forest in standard errors, a column a rival, a row a data set and an ε."""
    of = {
        name: rows.set_index(["dataset", "epsilon"]).sort_index()
        for name, rows in forests.groupby("label", sort=False)
    }
    ours = of.pop("repaired")
    return pd.DataFrame({name: z_values(ours, theirs) for name, theirs in of.items()})


# What the text says, and the test of it. Calls of `observe` are rows of a table, two lines each or so.
# fmt: off


def check_first_choice(laws: Sequence[Floats], by_hand: Sequence[Floats], short: Floats) -> None:
    """The first picture: permute-and-flip, then the exponential mechanism."""
    errors = [float(law @ short) for law in by_hand]
    observe("edprf-open", "permute-and-flip falls short by {:.2f} records on average, the exponential mechanism by "
            "{:.2f}", lambda first, share: first < share, *errors, says=errors)
    observe("edprf-open-laws", "The computation by hand and the package agree",
            lambda a, b, c, d: np.allclose(a, b) and np.allclose(c, d), by_hand[0], laws[0], by_hand[1], laws[1])


def check_finding(readings: pd.DataFrame, forests: pd.DataFrame) -> None:
    """The finding: what alignment brings; and the six forests on real data."""
    means = readings.set_index(["utility", "method"])["mean"]
    aligned, unaligned = (means[reading, AS_WRITTEN] for reading in ("plain", "not aligned"))
    observe("edprf-finding-align", "accuracy on the robot data falls from {:.3f} to {:.3f}", lambda a, b: a > b,
            aligned, unaligned, says=[aligned, unaligned])
    leads = leads_of_repaired(forests)
    for name, sentence in (
            ("", "it is the most accurate of six forests at each of six budgets on each of three data sets"),
            ("-zh", "在三个数据集、六个预算下，准确率都是六种森林中最高的")):
        observe(f"edprf-finding-best{name}", sentence, lambda z: (z > 0).all(axis=None) and z.shape == (18, 5), leads)
    observe("edprf-best", r"the repaired forest has the best accuracy at each of six $\varepsilon$ on each of the "
            "three data sets, ahead of each other one by more than two standard errors",
            lambda z: (z > 2).all(axis=None) and z.shape == (18, 5), leads)
    robot = forests.query("dataset == 'Robot' and epsilon >= 0.25")
    mean = robot.pivot(index="epsilon", columns="label", values="mean")
    far = mean.pop("repaired") - mean.max(axis=1)
    observe("edprf-by-far", r"on Robot by at least {:.1f} points from $\varepsilon=0.25$ on",
            lambda lead: lead.min() > 0, far, says=[100 * far.min()])


def check_two_candidates(pairs: pd.DataFrame) -> None:
    """Permute-and-flip."""
    claimed, ratios, gains = pairs.index.astype(float).to_numpy(), *pairs.to_numpy().T
    observe("edprf-tight", r"a log-ratio of exactly $\varepsilon$", np.allclose, ratios, claimed)
    observe("edprf-gain", "a gain that grows from {:.2f} to {:.3f}, just below its limit 2",
            lambda gains: (np.diff(gains) > 0).all() and 1.99 < gains[-1] < 2, gains, says=[*gains[[0, -1]]])


def check_cut(chosen: Mapping[str, Floats], *, epsilon: float) -> None:
    """Sensitivity of the Gini score: the cut that names an age, for the people without and with the one who is ill."""
    without, with_her = (law[-1] for law in chosen.values())
    observe("edprf-cut", "chosen with probability {:.3f} instead of {:.3f}",
            lambda without, more, epsilon: without < more < without * exp(epsilon / 2), without, with_her, epsilon,
            says=[with_her, without])


def check_bins(changes: Mapping[int, float]) -> None:
    """Sensitivity of the Gini score."""
    observe("edprf-half", r"a change of $\frac n2$",
            lambda changes: all(np.isclose(change, n / 2) for n, change in changes.items()), changes)


def check_parts(parts: pd.DataFrame) -> None:
    """Disjoint training subsets."""
    five, twenty = parts["labels, at least"][["ε = 0.1, 5 trees", "ε = 1, 20 trees"]]
    observe("edprf-parts-labels", r"the paper's own labels exceed the claim: at $\varepsilon=0.1$ with five trees they "
            r"lose at least {:.3f}, at $\varepsilon=1$ with twenty at least {:.3f}",
            lambda five, twenty: five > 0.1 and twenty > 1, five, twenty, says=[five, twenty])


def check_figure_3(spent: Mapping[bool, Floats]) -> None:
    """Budget of a path."""
    a, c, b, d, e = spent[True]
    observe("edprf-figure-3", "the four numbers of the paper's Figure 3, {:.2f}, {:.2f}, {:.2f} and {:.2f}",
            lambda d, e: d == e, d, e, says=[a, b, c, d])
    observe("edprf-wasted", "without alignment the path to C leaves more than half of its budget unspent",
            lambda spent: spent[0] + spent[1] < 0.5, spent[False])


def check_labels(x: Floats, drawn: Floats, costs: pd.DataFrame) -> None:
    """The label of a leaf."""
    wrong, fair = wrong_labels(x), at_equal_cost(x)
    label, noisy = wrong[LABEL_16].to_numpy(), wrong[COUNTS].to_numpy()
    observe("edprf-label-behind", "the label by (16) is wrong more often than the larger of two noisy counts of the "
            r"same declared $\varepsilon$, at every gap above 0",
            lambda label, noisy: (label[1:] > noisy[1:]).all(), label, noisy)
    times = float(wrong[LABEL_16][4] / wrong[COUNTS][4])
    observe("edprf-label-times", r"for a gap $s$ with $\varepsilon s=4$ it is {:.1f} times as often",
            lambda times: times > 2, times, says=[times])
    observe("edprf-draws", "The draws agree with the formula to within .002",
            lambda drawn, formula: np.abs(drawn - formula).max() < 0.002, drawn, noisy)
    observe("edprf-cost-16", "a label by (16) loses {:.1f} times what it declares under add or remove and {:.1f} times "
            "under replace", lambda cost: np.allclose(cost, [0.5, 1]), costs.loc[LABEL_16], says=[*costs.loc[LABEL_16]])
    observe("edprf-cost-counts", r"lose {:.1f} times and {:.1f} times", lambda cost: np.allclose(cost, [1, 2]),
            costs.loc[COUNTS], says=[*costs.loc[COUNTS]])
    observe("edprf-fair", "At equal cost the label is wrong less often than the counts at every gap above 0, "
            "under both relations",
            lambda t: (t.iloc[1:, 0] < t.iloc[1:, 1]).all() and (t.iloc[1:, 2] < t.iloc[1:, 3]).all(), fair)
    observe("edprf-fair-2", r"At $\varepsilon s=2$ it is {:.3f} against {:.3f} under add or remove, and {:.3f} against "
            "{:.3f} under replace", lambda p: p[0] < p[1] and p[2] < p[3], [*fair.loc[2]], says=[*fair.loc[2]])


def check_stop(splitting: Mapping[str, Sequence[float]], *, drawn: float) -> None:
    """The one-label stop; ``drawn`` is the exact share of fits with a split where each record draws its tree."""
    observe("edprf-event", "Without her no tree ever splits; with her some tree splits in {:.3f} of the fits with "
            "parts and in {:.3f} with disjoint bags",
            lambda parts, bags, drawn: list(parts) == [0, 1] and bags[0] == 0 and abs(bags[1] - drawn) < 0.05,
            splitting["parts"], splitting["disjoint"], drawn,
            says=[more for _, more in splitting.values()])


def check_ledger(costs: Mapping[str, float], *, claim: float) -> None:
    """What is right."""
    observe("edprf-ledger", "the ledger is finite once stop and bins are repaired, and keeps the claim only with "
            "disjoint bags", lambda costs, claim: np.isinf(costs[:2]).all() and claim < costs[2] < np.inf
            and np.isclose(costs[3], claim), np.array(list(costs.values())), claim)


def check_repair(spans: Mapping[float, Sequence[float]], repaired: EDPRF) -> None:
    """The repair: its paths and its leaves."""
    observe("edprf-whole", "Every path spends the whole budget, whether its leaf is early or not, and the total "
            "equals the claim",
            lambda spans: all(np.allclose(span, budget) for budget, span in spans.items()), spans)
    leaves = [tree.n_leaves for tree in repaired.trees_]
    observe("edprf-leaves", "few leaves, at most {:.0f} in a tree where depth 6 allows 64",
            lambda n: 1 < max(n) < 32, leaves, says=[max(leaves)])


def check_steps(ladder: pd.DataFrame) -> None:
    """From the paper to the repair: privacy, the monotone rate, the noisy stop, and a step without it."""
    private = change(ladder, 0, 3)
    z = private["z"]["Robot"]
    observe("edprf-steps-robot", "together raise Robot clearly in {:.0f} of 6 settings and lower it clearly in {:.0f}, "
            r"by {:.1f} points at $\varepsilon=0.1$", lambda z: list(z.index[z < -2]) == [0.1], z,
            says=[(z > 2).sum(), (z < -2).sum(), -private["points"]["Robot", 0.1]])
    observe("edprf-steps-adult", "they lower Adult by at most {:.2f} points", lambda rise: -1 < rise.min() < 0,
            private["points"]["Adult"], says=[-private["points"]["Adult"].min()])
    points = pd.Series({step: change(ladder, step - 1, step)["points"]["Robot", 1.0] for step in range(1, 12)})
    observe("edprf-step-7", r"at $\varepsilon=1$ it brings {:.1f} points on Robot, the most of all steps",
            lambda points: points.idxmax() == 7, points, says=[points[7]])
    stop, without = change(ladder, 8, 9), change(ladder, 10, 11)
    observe("edprf-step-9", "accuracy falls in {:.0f} of {:.0f} settings, clearly in {:.0f}",
            lambda points: (points < 0).all(), stop["points"],
            says=[(stop["points"] < 0).sum(), len(stop), (stop["z"] < -2).sum()])
    leaves = ladder.groupby("step")["leaves"].max()
    observe("edprf-smaller", "of at most {:.0f} leaves on average instead of {:.0f}",
            lambda full: (full == 64).all(), leaves[[8, 11]].to_numpy(),
            says=[leaves[[9, 10]].max(), leaves[[8, 11]].max()])

    def only_robot(z: pd.Series[float]) -> bool:
        return not (z.xs("Adult") > 2).any() and bool((z.xs("Robot") > 2).any())

    ahead = [(without["points"] > 0).sum(), (without["z"] > 2).sum()]
    observe("edprf-abstract", "12 组设置中有 {:.0f} 组更准确，其中 {:.0f} 组的差异超过两个标准误差，都在机器人数据上",
            only_robot, without["z"], says=ahead)
    observe("edprf-summary", "without it the same forest is more accurate in {:.0f} of 12 settings, "
            "by more than two standard errors in {:.0f}, all of them on Robot", only_robot, without["z"], says=ahead)


def check_live(table: pd.DataFrame, named: Floats) -> None:
    """Experiment: the live data."""
    ours, written = (table.xs(name)[["accuracy", "auc"]] for name in ("repaired", "as written"))
    true = table.xs("repaired")["true epsilon"]
    observe("edprf-ahead", r"the repaired forest is ahead of the paper at each $\varepsilon$ in accuracy and AUC",
            lambda ours, text: (ours > text).to_numpy().all(), ours, written)
    observe("edprf-true", r"although its $\varepsilon$ is true",
            lambda truth, claims: np.allclose(truth[:-1], claims[:-1]), true.to_numpy(), true.index.to_numpy())
    observe("edprf-random", "The forest of random splits stays at one accuracy, because it names the majority class "
            "for {:.3f} of the test records, rounded", lambda a: a.round(3).nunique() == 1 and a.iloc[0] > 0.5,
            table.xs("random splits")["accuracy"], says=[named.mean()])


def check_attacks(attacks: pd.DataFrame) -> None:
    """Audit."""
    bounds, allowed = attacks["lower_95"], [parts_bound(1.0, 2), 2.0]
    stop, bins, two_parts, under, tight, tree = attacks.index
    observe("edprf-attack-most", "None can show more than {:.2f} at 95 %",
            lambda bounds, top: 8 < bounds.max() < top + 0.005, bounds, MOST_SHOWN, says=[MOST_SHOWN])
    observe("edprf-endless", "bounds above 7 for the one-label stop, which claims 0.1, "
            "and for bins of the node, which claim 1",
            lambda bounds, claims: (bounds > 7).all() and list(claims) == ["0.1", "1"],
            bounds[[stop, bins]], attacks["claim"][[stop, bins]])
    observe("edprf-allowed", "allow, here {:.2f} and {:.0f}",
            lambda bounds, allowed: ((bounds > 1) & (bounds < allowed)).all(),
            bounds[[two_parts, under]].to_numpy(), np.array(allowed), says=allowed)
    observe("edprf-keeps", "The repaired forest keeps to its claim",
            lambda bounds: (bounds <= 1).all(), bounds[[tight, tree]])
    observe("edprf-sees", "The tight case reaches {:.2f} of it", lambda bound: 0.9 < bound <= 1, bounds[tight],
            says=[bounds[tight]])
