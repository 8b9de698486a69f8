"""The auditor catches every broken twin, passes every good one, and stays below the ledger of repaired forests."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace as changed
from functools import partial

import numpy as np
import pandas as pd
import pytest

from dpaudit import families
from dpaudit.pairs import DOMAIN, random_pair
from dpnb import Curator, Ledger, PrivacyLeakWarning
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.privacy.curator import ROUNDING, open_curator
from dpnb.records.bags import Bags, drawing
from dpnb.records.memory import Records
from dpnb.replay import Finding, replay
from dpnb.replay.neighbours import split_pair
from dpnb.replay.tape import replay_estimator
from private_trees.auditing.exact import exact
from private_trees.auditing.followed import replay_mechanism
from private_trees.auditing.releases import spent
from private_trees.auditing.search import search
from private_trees.auditing.twins import TWINS, Twin

MODES = {"full": None, "poisson": None, "bernoulli": 0.3, "disjoint": None, "cover": 2}
PURE = families()[0]


def seeded(twin: Twin, seed: int) -> object:
    return lambda data: twin.run(data, np.random.default_rng(seed))


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_exact_decides_every_twin(twin: Twin) -> None:
    found = exact(seeded(twin, 0), twin.first, twin.second, claimed=twin.claimed, subject=twin.name)
    assert found.violated == twin.broken
    assert found.confidence == 1


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_replay_decides_every_twin(twin: Twin) -> None:
    """The rarest telling output, a minority label, has probability .024: 400 seeds miss it with 6e-5, these do not."""
    worst = max(
        (
            replay_mechanism(seeded(twin, seed), *sides, claimed=twin.claimed, subject=twin.name)
            for seed in range(200)
            for sides in ((twin.first, twin.second), (twin.second, twin.first))
        ),
        key=lambda found: found.lower_bound,
    )
    assert worst.violated == twin.broken
    assert worst.event


def test_exact_tight_permute_and_flip() -> None:
    good = TWINS[1]
    found = exact(seeded(good, 0), good.first, good.second, claimed=1.0, subject="permute-and-flip")
    assert found.lower_bound == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("selection", [{}, {"selection": "two-step"}])
@pytest.mark.parametrize("pair", families(), ids=lambda pair: pair.name)
def test_exact_loss_of_tiny_trees_is_within_the_ledger(pair: object, selection: dict[str, str]) -> None:
    forest = DiffPRFs(domain=DOMAIN, n_trees=1, max_depth=1, bags="full", random_state=0, **selection)
    (X, y), (X1, y1) = pair.first, pair.second
    sides = (X[-5:], y[-5:]), (pd.concat([X1[:1], X[-5:]]), pd.concat([y1[:1], y[-5:]]))
    found = exact(lambda part: forest.fit(*part), *sides, claimed=1.0, subject="tree", pair=pair.name)
    assert 0.4 < found.lower_bound <= 1 + 1e-9
    assert not found.violated


def test_exact_catches_a_doubled_rate_in_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin of the estimator itself: every budget is spent twice."""
    forest = DiffPRFs(domain=DOMAIN, n_trees=1, max_depth=0, bags="full", random_state=0)
    sides = PURE.first, PURE.second
    assert not exact(lambda part: forest.fit(*part), *sides, claimed=1.0, subject="leaf").violated
    monkeypatch.setattr(Bags, "per_copy_epsilon", lambda self, epsilon: 2 * epsilon)
    assert (
        exact(lambda part: forest.fit(*part), *sides, claimed=1.0, subject="leaf").lower_bound
        == 2.0 - ROUNDING
    )


def test_replay_names_the_purity_test() -> None:
    forest = DiffPRFs.as_written(domain=DOMAIN, n_trees=3, max_depth=2)
    found = [
        replay(forest, *sides, seed=0) for sides in ((PURE.first, PURE.second), (PURE.second, PURE.first))
    ]
    assert all(math.isinf(f.lower_bound) and f.violated for f in found)
    assert all("purity of a node" in f.event and f.place.endswith(" stops") for f in found)


def test_replay_names_data_dependent_bounds() -> None:
    pair = next(p for p in families() if "end of the domain" in p.name)
    forest = DiffPRFs(domain=DOMAIN, n_trees=2, max_depth=2, bounds="data", selection="two-step")
    found = replay(forest, pair.first, pair.second)
    assert math.isinf(found.lower_bound)
    assert "ambiguity e" in found.event
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        inferred = replay(DiffPRFs(n_trees=2, max_depth=2), pair.first, pair.second)
    assert math.isinf(inferred.lower_bound)
    assert "outside" in inferred.event  # the neighbour's record does not fit the domain that was read off


def test_replay_names_thresholds_at_data_values() -> None:
    forest = DiffPRFs.as_written(
        domain=DOMAIN, n_trees=3, max_depth=2, stop="depth", bags="full", thresholds="data"
    )
    pair = next(p for p in families() if "leaf of one record" in p.name)
    found = (replay(forest, pair.second, pair.first, seed=s) for s in range(20))
    worst = max(found, key=lambda f: f.lower_bound)
    assert math.isinf(worst.lower_bound)
    assert "ambiguity d" in worst.event


def test_replay_names_the_bootstrap() -> None:
    """A record drawn twice costs twice: the loss given the bags exceeds the claim, which full bags never do."""
    readings = {
        "domain": DOMAIN,
        "n_trees": 1,
        "max_depth": 0,
        "size_query": False,
        "stop": "depth",
        "epsilon": 2.0,
    }
    worst = {
        bags: max(
            (
                replay(DiffPRFs.as_written(bags=bags, **readings), PURE.second, PURE.first, seed=s)
                for s in range(40)
            ),
            key=lambda f: f.lower_bound,
        )
        for bags in ("bootstrap", "full")
    }
    assert worst["bootstrap"].flagged
    assert not worst["bootstrap"].violated  # it is finite, and given the bags
    assert "bootstrap multiplicity" in worst["bootstrap"].event
    assert "FLAGGED" in str(worst["bootstrap"])
    assert "given the bags" in str(worst["bootstrap"])
    assert not worst["full"].flagged


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("mode", MODES)
def test_repaired_forests_stay_below_the_ledger(mode: str, relation: str) -> None:
    """40 random pairs each here; results/audit_replay.csv holds the campaign of more than 10 000 a mode."""
    rng = np.random.default_rng(0)
    forest = DiffPRFs(
        n_trees=3, max_depth=2, bags=mode, bag_rate=MODES[mode], epsilon=2.0, neighbours=relation
    )
    losses = []
    for seed in range(40):
        pair = random_pair(rng, neighbours=relation)
        sides = (pair.first, pair.second) if seed % 2 else (pair.second, pair.first)
        outcome, found = replay_estimator(forest.set_params(domain=pair.domain), *sides, seed=seed)
        assert found == relation
        assert outcome.loss <= outcome.ledger.epsilon * (1 + 1e-9)
        losses.append(outcome.loss)
    assert max(losses) > 0.2


@pytest.mark.parametrize("mode", ["poisson", "bernoulli", "disjoint"])
def test_replay_averages_over_secret_bags(mode: str) -> None:
    """Single leaves: the averaged loss equals the closed form of the mixture of Laplace densities."""
    from scipy.stats import bernoulli, laplace, poisson

    n_trees = 1 if mode != "disjoint" else 2
    forest = DiffPRFs(
        domain=DOMAIN, n_trees=n_trees, max_depth=0, bags=mode, bag_rate=MODES[mode], random_state=3
    )
    outcome, _ = replay_estimator(forest, PURE.first, PURE.second, seed=3)
    fitted = forest.fit(*PURE.first)
    scale = 1 / Bags(mode, n_trees, MODES[mode]).per_copy_epsilon(1.0)
    ratios = []
    for tree in fitted.trees_:
        released = tree.value[0]

        def density(k: int, y: float = released[1]) -> float:
            return float(laplace(k, scale).pdf(y))

        ratios.append([density(k) / density(0) for k in range(13)])
    if mode == "disjoint":
        expected = math.log(np.mean([r[1] for r in ratios]))
    else:
        law = poisson(1) if mode == "poisson" else bernoulli(0.3)
        expected = math.log(np.sum(law.pmf(np.arange(13)) * ratios[0]))
    assert outcome.log_ratio == pytest.approx(-expected, rel=1e-6)


def test_a_forest_that_forgets_fact_f2_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twin: Poisson bags at ε₀ = B/t, as if each record came once."""
    monkeypatch.setattr(Bags, "per_copy_epsilon", lambda self, epsilon: epsilon / self.shares)
    forest = DiffPRFs(domain=DOMAIN, n_trees=1, max_depth=0, epsilon=2.0)
    worst = max(replay(forest, PURE.second, PURE.first, seed=s).lower_bound for s in range(60))
    assert worst > 2.0 * 1.2


def test_search_finds_the_hardest_family() -> None:
    worst = search(DiffPRFs.as_written(n_trees=2, max_depth=2), trials=10, subject="DiffPRFs as written")
    assert math.isinf(worst.lower_bound)
    fine = search(DiffPRFs(n_trees=2, max_depth=2), trials=20)
    assert 0 < fine.lower_bound <= 1
    assert not search(DiffPRFs(n_trees=2, max_depth=1), trials=7, neighbours="replace").violated
    with pytest.raises(ValueError, match="trials=0"):
        search(DiffPRFs(), trials=0)
    with pytest.raises(ValueError, match="neighbours='swap'"):
        families("swap")


def test_replace_counts_an_add_remove_claim_twice() -> None:
    pair = families("replace")[0]
    assert replay(DiffPRFs(domain=DOMAIN, n_trees=1), pair.first, pair.second).claimed == 2.0
    own = replay(DiffPRFs(domain=DOMAIN, n_trees=1, neighbours="replace"), pair.first, pair.second)
    assert (own.claimed, own.neighbours) == (1.0, "replace")


def test_pairs_must_be_neighbours() -> None:
    X, y = PURE.second
    with pytest.raises(ValueError, match="first has 0 records of its own and second has 2"):
        split_pair((X[2:], y[2:]), (X, y))
    with pytest.raises(ValueError, match="0 records of its own and second has 0"):
        split_pair((X, y), (X, y))


def test_a_branch_past_the_door_is_a_divergence() -> None:
    """The data decide how much is released; the error names the release that is missing or too much."""

    def branchy(data: list[int], *, extra: bool) -> None:
        curator: Curator = open_curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0))
        curator.laplace([len(data)], epsilon=1.0, sensitivity=1.0, what="size")
        if extra == (len(data) > 3):
            curator.laplace([sum(data)], epsilon=1.0, sensitivity=1.0, what="sum")

    for extra, words in ((True, "one release more: sum"), (False, "sum .* is not asked for any more")):
        found = replay_mechanism(
            partial(branchy, extra=extra), [1, 1, 1], [1, 1, 1, 1], claimed=2.0, subject="branchy"
        )
        assert math.isinf(found.lower_bound)
        assert re.search(words, found.event)
        assert found.place.startswith(f"{__name__}:")
        assert found.place.endswith(" branchy")


@pytest.mark.parametrize("purpose", ["other", "same"])
def test_another_purpose_is_a_divergence_even_by_the_same_mechanism(purpose: str) -> None:
    def renamed(data: list[int]) -> None:
        curator: Curator = open_curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0))
        what = "sum" if purpose == "other" and len(data) > 3 else "size"
        curator.laplace([len(data)], epsilon=1.0, sensitivity=1.0, what=what)

    found = replay_mechanism(renamed, [1, 1, 1], [1, 1, 1, 1], claimed=1.0, subject="renamed")
    assert math.isinf(found.lower_bound) == (purpose == "other")
    assert ("sum (laplace, 1 parts)" in found.event) == (purpose == "other")


def test_a_fit_that_fails_on_the_neighbour_has_no_place() -> None:
    def picky(data: list[int]) -> None:
        open_curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0))
        if len(data) > 3:
            raise ValueError("looked at 4 records, 3 is not less")

    found = replay_mechanism(picky, [1, 1, 1], [1, 1, 1, 1], claimed=2.0, subject="picky")
    assert "the fit fails on the neighbour: looked at 4 records" in found.event
    assert found.place == ""


def test_a_subject_that_goes_round_the_doors_is_refused() -> None:
    """It publishes the records, and no curator saw it."""
    with pytest.raises(ValueError, match="the subject opened no curator"):
        exact(
            lambda data: sum(data),
            [1],
            [1, 1],
            claimed=1.0,
            subject="round the door",
            neighbours="add-remove",
        )
    with pytest.raises(ValueError, match="the subject opened no curator"):
        spent(lambda data: "the same", [1], [1, 1])
    with pytest.raises(ValueError, match="the subject opened no curator"):
        replay_mechanism(lambda data: sum(data), [1], [1, 1], claimed=1.0, subject="round the door")


def test_hooks_are_gone_after_an_audit() -> None:
    replay(DiffPRFs(domain=DOMAIN, n_trees=1), PURE.first, PURE.second)
    curator = open_curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0))
    assert type(curator) is Curator
    with drawing(lambda bags, keys, seed, tree: None):
        assert Bags("poisson", 2).draw(np.arange(3, dtype=np.uint64), seed=0, tree=0) is None
    assert Bags("poisson", 2).draw(np.arange(3, dtype=np.uint64), seed=0, tree=0) is not None


def test_findings_read_well() -> None:
    found = Finding(
        instrument="attack",
        subject="toy",
        claimed=1.0,
        lower_bound=2.5,
        confidence=0.99,
        neighbours="add-remove",
        pair="9 and 10 records",
        event="label of x is 1",
        delta=1e-5,
    )
    text = str(found)
    assert "VIOLATED" in text
    assert "ε ≥ 2.5 (99 % confidence, attack" in text
    assert "δ = 1e-05" in text
    assert "no violation found" in str(changed(found, lower_bound=1.0))


# --- Records that share a label -----------------------------------------------------------------------------------


def labelled(labels: list[object], classes: list[int]) -> tuple[pd.DataFrame, pd.Series]:
    index = pd.Index(labels, dtype=object)
    return pd.DataFrame({"x": [0.5] * len(labels), "c": 0}, index=index), pd.Series(classes, index=index)


SHARED = {
    "1 and '1'": ([1, "1"], [0, 1]),
    "None and NaN": ([None, math.nan], [0, 1]),
    "one label twice": ([7, 7], [0, 1]),
    "an exact copy": ([7, 7], [1, 1]),
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_records_that_share_a_label_are_in_bags_of_their_own(name: str, epsilon: float) -> None:
    """With bags in common, one record more would cost e^{2ε₀} − e^{ε₀} of a leaf: 12 of a claim of 3."""
    labels, classes = SHARED[name]
    sides = labelled(labels[:1], classes[:1]), labelled(labels, classes)
    model = DiffPRFs(domain=DOMAIN, n_trees=1, max_depth=0, epsilon=epsilon)
    for first, second in (sides, sides[::-1]):
        losses = [replay_estimator(model, first, second, seed=seed)[0].loss for seed in range(25)]
        assert max(losses) <= epsilon
    keys = Records(*sides[1], domain=DOMAIN).keys
    copies = np.array([Bags("poisson", 1).hashed(keys, seed, 0) for seed in range(200)])
    assert abs(np.corrcoef(copies.T)[0, 1]) < 0.4  # 5.6 standard errors
    twin = np.array([Bags("poisson", 1).hashed(keys[[0, 0]], seed, 0) for seed in range(200)])
    assert np.corrcoef(twin.T)[0, 1] > 0.99  # broken twin: keys that collide
