"""Composition, conversions and the budget tree; totals cross-checked with dp-accounting."""

from __future__ import annotations

import math
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld, rdp

from dpnb.errors import DataError
from dpnb.estimators.documents import ledger_document, read_ledger
from dpnb.privacy.accounting import Choice, Step, doubled, tight_epsilon
from dpnb.privacy.curator import Curator
from dpnb.privacy.ledger import Cost, Event, Ledger, zcdp_epsilon, zcdp_rho


def curator(ledger: Ledger) -> Curator:
    return Curator(rng=np.random.default_rng(0), ledger=ledger)


def count(c: Curator, epsilon: float, what: str = "count") -> None:
    c.laplace([1.0], epsilon=epsilon, sensitivity=1.0, what=what)


class Recorder(Curator):
    """Keeps the law of every release."""

    def _settle(self, law: Any, event: Event) -> Any:
        self.last = law
        return super()._settle(law, event)


@pytest.mark.parametrize(
    ("mechanism", "budget"), [("laplace", "epsilon"), ("geometric", "epsilon"), ("gaussian", "rho")]
)
@pytest.mark.parametrize("amount", [0.02, 0.7])
def test_noise_is_what_the_ledger_charges_for(mechanism: str, budget: str, amount: float) -> None:
    """At the smaller of two values Δ apart, the log-ratio of Laplace noise is ε, that of normal noise ρ."""
    recorder = Recorder(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0, delta=1e-5))

    def log_ratio(sensitivity: int, *, apart: int) -> float:
        laws = []
        for value in (0, apart):
            noisy = getattr(recorder, mechanism)
            noisy(np.array([value]), **{budget: amount}, sensitivity=sensitivity, what="count")
            laws.append(recorder.last)
        at = np.zeros(1, int if mechanism == "geometric" else float)
        return float(laws[0].log_density(at)[0] - laws[1].log_density(at)[0])

    for sensitivity in (1, 3):
        assert log_ratio(sensitivity, apart=sensitivity) == pytest.approx(amount)
        assert log_ratio(sensitivity, apart=2 * sensitivity) > 1.9 * amount  # broken twin: half of the noise


def test_nested_sequential_and_parallel() -> None:
    ledger = Ledger(claimed=1.0)
    c = curator(ledger)
    with ledger.parallel("shards"):
        for epsilon in (0.25, 0.5):
            with ledger.sequential("shard"):
                count(c, epsilon)
                count(c, epsilon)
    count(c, 0.125)
    assert ledger.epsilon == 1.125
    assert ledger.rho == pytest.approx(2 * 0.125 + 0.125**2 / 2)
    assert len(ledger.events) == 5


def test_cover_adds_the_dearest() -> None:
    ledger = Ledger(claimed=1.0)
    with ledger.cover("forest", each=2):
        for epsilon in (0.1, 0.4, 0.2):
            count(curator(ledger), epsilon)
    assert ledger.epsilon == pytest.approx(0.6)


def test_tree_charges_the_dearest_path() -> None:
    ledger = Ledger(claimed=1.0)
    c = curator(ledger)
    with ledger.tree("tree") as scope:
        c.laplace([[5.0]], epsilon=0.1, sensitivity=1, what="root", parts=np.array([0]))
        children = scope.grow(np.array([0, 0]))
        np.testing.assert_array_equal(children, [1, 2])
        c.laplace([[2.0], [3.0]], epsilon=[0.2, 0.5], sensitivity=1, what="children", parts=children)
        below = scope.grow(np.array([1, 1]))
        c.laplace([[1.0], [1.0]], epsilon=[0.6, 0.05], sensitivity=1, what="leaves", parts=below)
        c.laplace([[1.0]], epsilon=0.1, sensitivity=1, what="twice at one node", parts=below[:1])
    np.testing.assert_allclose(scope.path_costs()[0], [0.1, 0.3, 0.6, 1.0, 0.35])
    np.testing.assert_allclose(ledger.leaf_costs(), [0.6, 1.0, 0.35])
    assert ledger.epsilon == pytest.approx(1.0)


def test_leaf_costs_of_a_ledger_go_from_tree_to_tree() -> None:
    ledger = Ledger(claimed=1.0)
    assert len(ledger.leaf_costs()) == 0
    for epsilon in (0.1, 0.7):
        twice = ledger.bag("bag", rule="twice", multiply=lambda cost: Cost(2 * cost.epsilon, cost.rho))
        with twice, ledger.tree("tree") as scope:
            below = scope.grow(np.array([0, 0]))
            for nodes, share in ((np.array([0]), 0.1), (below[1:], epsilon)):
                curator(ledger).laplace([[1.0]], epsilon=share, sensitivity=1, what="w", parts=nodes)
    np.testing.assert_allclose(ledger.leaf_costs(), [0.1, 0.2, 0.1, 0.8])  # of one copy of a record


def test_a_node_named_twice_in_one_event_pays_twice() -> None:
    ledger = Ledger(claimed=1.0)
    with ledger.tree("tree"):
        curator(ledger).laplace([1.0, 2.0], epsilon=0.5, sensitivity=1, what="w", parts=np.array([0, 0]))
    assert ledger.epsilon == 1.0


def test_replace_doubles_epsilon_and_quadruples_rho() -> None:
    add, replace = Ledger(claimed=1.0), Ledger(claimed=1.0, neighbours="replace")
    for ledger in (add, replace):
        count(curator(ledger), 0.5)
    assert replace.epsilon == 2 * add.epsilon
    assert replace.rho == 4 * add.rho


def test_selection_costs() -> None:
    ledger = Ledger(claimed=1.0)
    c = curator(ledger)
    choose = {"starts": np.array([0]), "epsilon": 0.8, "sensitivity": 1.0, "monotone": True, "what": "pick"}
    c.exponential([1.0, 2.0], **choose)
    assert ledger.rho == pytest.approx(0.8**2 / 8)
    c.permute_and_flip([1.0, 2.0], **choose)
    assert ledger.rho == pytest.approx(0.8**2 / 8 + 0.8**2 / 2)
    assert ledger.epsilon == pytest.approx(1.6)


def test_exact_release_is_named() -> None:
    ledger = Ledger(claimed=1.0)
    curator(ledger).exact(3, why="purity (step 7)")
    assert ledger.epsilon == math.inf
    assert ledger.leaks == {"purity (step 7)": 1}
    assert "no noise: purity (step 7)" in str(ledger)
    assert "∞" in str(ledger)


def test_gaussian_has_no_pure_epsilon_but_is_no_leak() -> None:
    ledger = Ledger(claimed=1.0, delta=1e-5)
    curator(ledger).gaussian([0.0], rho=0.02, sensitivity=1.0, what="sum")
    assert ledger.pure_epsilon == math.inf
    assert ledger.leaks == {}
    assert ledger.by_sums(1e-5) == (zcdp_epsilon(rho=0.02, delta=1e-5), "zCDP")
    assert (
        ledger.epsilon
        == tight_epsilon([Step("gaussian", 0.2)], delta=1e-5)
        < zcdp_epsilon(rho=0.02, delta=1e-5)
    )


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.3, 2.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.01])
def test_conversion_against_dp_accounting(rho: float, delta: float) -> None:
    """ρ-zCDP of a Gaussian: our ε lies between the exact one and the Rényi accountant's on its grid of orders."""
    event = dp_accounting.GaussianDpEvent(1 / math.sqrt(2 * rho))
    ours = zcdp_epsilon(rho=rho, delta=delta)
    orders = np.concatenate([1 + np.geomspace(1e-3, 1e4, 800)])
    theirs = rdp.RdpAccountant(list(orders)).compose(event).get_epsilon(delta)
    exact = pld.PLDAccountant().compose(event).get_epsilon(delta)
    assert exact - 1e-4 <= ours <= theirs + 1e-6
    assert ours == pytest.approx(theirs, rel=2e-3, abs=1e-4)
    assert zcdp_epsilon(rho=2 * rho, delta=delta) > theirs  # broken twin: twice the noise variance claimed


@pytest.mark.parametrize("n", [1, 25, 150])
def test_totals_against_dp_accounting(n: int) -> None:
    """n Laplace counts: nothing is left beyond our pure ε, and our (ε, δ) is an upper bound of the exact one."""
    ledger, event = Ledger(claimed=1.0, delta=1e-6), dp_accounting.LaplaceDpEvent(1 / 0.04)
    for _ in range(n):
        count(curator(ledger), 0.04)
    composed = dp_accounting.SelfComposedDpEvent(event, n)
    accountant = pld.PLDAccountant().compose(composed)
    assert accountant.get_delta(ledger.pure_epsilon) < 1e-9
    assert accountant.get_delta(0.3 * ledger.pure_epsilon) > 1e-9  # broken twin: a total that is too small
    exact = accountant.get_epsilon(1e-6)
    assert exact - 1e-3 <= ledger.epsilon <= 1.35 * exact + 1e-3


def test_rho_inverts_epsilon() -> None:
    for epsilon in (0.05, 1.0, 8.0):
        rho = zcdp_rho(epsilon=epsilon, delta=1e-5)
        assert zcdp_epsilon(rho=rho, delta=1e-5) == pytest.approx(epsilon, rel=1e-6)


def test_bag_scope_multiplies() -> None:
    ledger = Ledger(claimed=1.0)
    with ledger.bag("bag", rule="twice", multiply=lambda c: Cost(2 * c.epsilon, 4 * c.rho)):
        count(curator(ledger), 0.5)
    assert ledger.epsilon == 1.0
    assert ledger.rho == pytest.approx(0.5)


def test_budget_tree_groups_equal_branches() -> None:
    ledger = Ledger(claimed=1.0)
    with ledger.sequential("forest"):
        for _ in range(4):
            with ledger.sequential("tree"):
                count(curator(ledger), 0.25)
    text = str(ledger)
    assert "4 × tree" in text
    assert text.count("count, laplace") == 1
    assert text.startswith("ε = 1 (pure), add-remove; claimed ε = 1")
    assert "<pre" in ledger._repr_html_()


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), [0.5, 0.0]])
def test_mechanisms_refuse_bad_budgets(epsilon: object) -> None:
    with pytest.raises(ValueError, match="positive budget"):
        curator(Ledger(claimed=1.0)).laplace([1.0, 2.0], epsilon=epsilon, sensitivity=1, what="count")


def test_mechanisms_refuse_bad_sensitivities_and_floats() -> None:
    c = curator(Ledger(claimed=1.0))
    with pytest.raises(ValueError, match="sensitivity"):
        c.laplace([1.0], epsilon=1, sensitivity=0, what="count")
    for sensitivity in (0, -1):
        with pytest.raises(ValueError, match="positive number"):
            c.gaussian([1.0], rho=1, sensitivity=sensitivity, what="count")
    with pytest.raises(TypeError, match="needs multiples of unit=1"):
        c.geometric([1.5], epsilon=1, sensitivity=1, what="count")
    with pytest.raises(TypeError):
        c.laplace([1.0], epsilon=1, what="count")  # no default sensitivity
    assert c.ledger.events == []


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 2.0**62, 2.0**63, 1e19, -1e19])
def test_noise_refuses_values_that_whole_numbers_do_not_hold(value: float) -> None:
    c = curator(Ledger(claimed=1.0))
    for unit in (1.0, 2.0**-28, 4.0):
        with pytest.raises(TypeError, match="of less than 2⁶² units"):
            c.geometric([value * unit], epsilon=1, sensitivity=unit, unit=unit, what="count")
    assert c.ledger.events == []
    most = c.geometric([2**62 - 2**9], epsilon=1e9, sensitivity=1, what="count")
    assert most.tolist() == [2**62 - 2**9]
    with np.errstate(invalid="ignore"):  # broken twin: cast as it is
        assert np.array([2.0**63]).astype(np.int64)[0] < 0


CHOICES = ("exponential", "permute_and_flip")


@pytest.mark.parametrize("mechanism", CHOICES)
def test_choices_of_several_groups_from_the_same_data_add_up(mechanism: str) -> None:
    how: dict[str, Any] = {"epsilon": 0.5, "sensitivity": 1.0, "monotone": True, "what": "choice"}

    def loss(groups: int) -> tuple[float, Ledger]:
        """Log-ratio of the rare outcome in all groups, at two neighbours that differ in each."""
        recorder, laws = Recorder(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0)), []
        for scores in ([0.0, -4.0], [0.0, -3.0]):
            recorder.ledger = Ledger(claimed=1.0)
            getattr(recorder, mechanism)(scores * groups, starts=2 * np.arange(groups), **how)
            laws.append(recorder.last)
        at = np.ones(groups, int)
        return float((laws[1].log_density(at) - laws[0].log_density(at)).sum()), recorder.ledger

    (one, single), (both, ledger) = loss(1), loss(2)
    assert both == pytest.approx(2 * one)
    assert (ledger.epsilon, ledger.rho) == (2 * single.epsilon, 2 * single.rho)
    assert both <= ledger.epsilon
    assert both > single.epsilon  # broken twin: one choice is booked for both
    with pytest.raises(ValueError, match="2 groups for 1 parts"):
        getattr(curator(ledger), mechanism)([0.0, 1.0], starts=np.array([0, 1]), parts=np.array([0]), **how)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_choices_refuse_scores_that_are_no_numbers(score: float) -> None:
    c = curator(Ledger(claimed=1.0))
    how: dict[str, Any] = {"epsilon": 0.5, "sensitivity": 1.0, "monotone": True, "what": "choice"}
    for mechanism in CHOICES:
        with pytest.raises(ValueError, match="NaN or infinite"):
            getattr(c, mechanism)([0.0, score], starts=np.array([0]), **how)
    assert c.ledger.events == []


def test_a_tree_costs_what_any_path_might() -> None:
    ledger, most = Ledger(claimed=1.0), Cost.pure(1.0)
    with ledger.tree("tree", most=most):
        curator(ledger).laplace([[1.0]], epsilon=0.2, sensitivity=1, what="root", parts=np.array([0]))
    assert (ledger.epsilon, ledger.rho) == (1.0, 0.5)
    with ledger.adaptive("rounds", most=most):
        count(curator(ledger), 0.2)
    assert (ledger.epsilon, ledger.rho) == (2.0, 1.0)
    assert read_ledger(ledger_document(ledger)).epsilon == 2.0
    for epsilon in (1.5, math.inf):  # what passes it is booked
        over = Ledger(claimed=1.0)
        with over.tree("tree", most=most):
            curator(over).laplace([[1.0]], epsilon=epsilon, sensitivity=1, what="w", parts=np.array([0]))
        assert over.epsilon == epsilon


def test_a_filter_caps_the_cost_but_hides_no_leak() -> None:
    ledger, half, infinite = Ledger(claimed=1.0), np.array(0.5), np.array(np.inf)
    with ledger.filtered("filter", epsilon=1.0):
        for _ in range(5):
            ledger.book(
                Event(what="count", mechanism="laplace", epsilon=half, rho=half**2 / 2, sensitivity=1.0)
            )
    assert (ledger.epsilon, ledger.rho) == (1.0, 0.5)
    with ledger.filtered("leaky", epsilon=1.0):
        ledger.book(Event(what="leak", mechanism="exact", epsilon=infinite, rho=infinite))
    assert math.isinf(ledger.epsilon)


def test_where_rho_adds_up_the_costs_are_in_rho() -> None:
    """With δ, no ε of a part may stand above the total that it belongs to."""
    ledger = Ledger(neighbours="add-remove", delta=1e-6, claimed=1.0)
    with ledger.sequential("rounds"):
        for _ in range(250):
            ledger.book(
                Event(
                    what="stump", mechanism="exponential", epsilon=np.array(0.028), rho=np.array(0.028**2 / 8)
                )
            )
    total, rounds, stump = str(ledger).splitlines()
    assert ledger.pure_epsilon > ledger.epsilon
    assert f"(tight, ρ = {ledger.rho:.4g})" in total
    assert f"rounds [sequential]: ρ = {ledger.rho:.4g}" in rounds
    assert "ε" not in rounds + stump
    ledger.delta = None
    assert "rounds [sequential]: ε = 7" in str(ledger)  # broken twin: the pure costs that stood there


# --- Declared plans -------------------------------------------------------------------------------------------

SHIFT = 0.1
PLANS = (
    (Step("gaussian", SHIFT), Step("selection", 0.04, 60), Step("gaussian", 0.1)),
    (Step("gaussian", SHIFT), Step("selection", 0.1, 12)),
)


def planned_by_a_count(
    choices: int, size: float, *, neighbours: Any = "add-remove", plans: Any = PLANS, followed: int = 1
) -> Ledger:
    """A noisy count, and choices that follow from it."""
    ledger = Ledger(claimed=1.0, delta=1e-6, neighbours=neighbours)
    c = curator(ledger)
    with ledger.adaptive("planned", plans=plans):
        c.gaussian([1.0], rho=SHIFT**2 / 2, sensitivity=1.0, what="count")
        if len(plans) > 1:
            ledger.follow(followed)
        how: dict[str, Any] = {
            "starts": np.array([0]),
            "sensitivity": 1.0,
            "monotone": True,
            "what": "choice",
        }
        with ledger.sequential("choices"):
            for _ in range(choices):
                c.exponential([1.0, 2.0], epsilon=size, **how)
    return ledger


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_what_outputs_decide_costs_the_worst_of_the_declared_plans(neighbours: Any) -> None:
    """Broken twin: the plan that was followed."""
    ledger = planned_by_a_count(12, 0.1, neighbours=neighbours)
    steps: Any = (Choice(PLANS),)
    plan: Any = PLANS[1]
    if neighbours == "replace":
        steps, plan = doubled(steps), doubled(plan)
    assert ledger.rule == "tight"
    assert ledger.epsilon == tight_epsilon(steps, delta=1e-6) > 1.02 * tight_epsilon(plan, delta=1e-6)
    factor = 4 if neighbours == "replace" else 1
    dearest = SHIFT**2 / 2 + 60 * 0.04**2 / 8 + 0.1**2 / 2
    assert ledger.rho == pytest.approx(factor * dearest)
    happened = factor * sum(event.worst.rho for event in ledger.events)
    assert (
        zcdp_epsilon(rho=happened, delta=1e-6) < ledger.by_sums(1e-6).epsilon
    )  # broken twin: what was followed
    assert planned_by_a_count(3, 0.04, neighbours=neighbours, followed=0)._tight(1e-6) == ledger.epsilon
    assert "planned [sequential, the worst of 2 plans]" in str(ledger)
    assert "planned [sequential, as planned]" in str(planned_by_a_count(12, 0.1, plans=PLANS[1:]))


@pytest.mark.parametrize(
    ("choices", "size", "plans", "followed"),
    [
        (13, 0.1, PLANS, 1),
        (12, 0.1001, PLANS, 1),
        (61, 0.04, PLANS, 0),
        (12, 0.1, PLANS, 0),
        (12, 0.1, PLANS[:1], 0),
        (12, 0.1, (), 0),
    ],
    ids=["one more", "larger", "longer", "not the named one", "another plan", "nothing declared"],
)
def test_what_was_not_declared_gets_no_tight_rule(
    choices: int, size: float, plans: Any, followed: int
) -> None:
    ledger = planned_by_a_count(choices, size, plans=plans, followed=followed)
    assert (ledger.rule, ledger.epsilon) == ("zCDP", zcdp_epsilon(rho=ledger.rho, delta=1e-6))


def test_declared_plans_compose_with_what_comes_before_and_after() -> None:
    ledger = planned_by_a_count(12, 0.1)
    count(curator(ledger), 0.02)
    both = (Choice(PLANS), Step("ratio", 0.02))
    assert ledger.epsilon == tight_epsilon(both, delta=1e-6) > tight_epsilon(both[:1], delta=1e-6)
    outer = Ledger(claimed=1.0, delta=1e-6)
    with outer.adaptive("outer", plans=PLANS) as scope:
        scope.children += planned_by_a_count(2, 0.04).root.children
    assert outer.rule == "zCDP"  # what an inner scope declared may be more than happened


def test_a_document_keeps_the_plans() -> None:
    fine = (Step("gaussian", SHIFT), Step("gaussian", 0.03, 3, sd=2.0**19, entries=60), *PLANS[1][1:])
    for plans in (PLANS, (*PLANS, fine)):
        ledger = planned_by_a_count(12, 0.1, plans=plans)
        written = ledger_document(ledger)
        again = read_ledger(written)
        assert (again.epsilon, again.rule, str(again)) == (ledger.epsilon, "tight", str(ledger))
        assert list(again.root.steps()) == list(ledger.root.steps()) == [Choice(plans)]
        assert ledger_document(again) == written
    (entry,) = written["entries"]
    for changed in (
        [],  # broken twins: a document without its plans, and with others
        entry["plans"][1:2],
        [[dict(step, times=0) for step in plan] for plan in entry["plans"]],
        [[dict(step, kind="laplace") for step in plan] for plan in entry["plans"]],
        [[dict(step, size="nan") for step in plan] for plan in entry["plans"]],
        [[dict(step, times=2**40) for step in plan] for plan in entry["plans"]],
    ):
        with pytest.raises(DataError, match="ledger"):
            read_ledger(written | {"entries": [entry | {"plans": changed}]})
