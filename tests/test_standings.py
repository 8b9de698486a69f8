"""What the chapter on the board is made of: corrected tests, paired leads, ranks, choices, stress, tables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from dpnb import PrivateBooster
from dpnb import settings as no_run_chose
from private_trees.board import learners, settings, standings, stress
from private_trees.board.rivals import PUBLIC, RIVALS, best_setting
from private_trees.board.standings import OURS, Source, decisions, leads, over_best, ranking
from private_trees.studies.runs import Cell, read, wide
from private_trees.studies.sets import ONE_SPLIT, SETS, TESTED, split_of
from private_trees.tables import shared as tables


def fits(auc: dict[tuple[str, str], list[float]], *, epsilon: float = 1.0) -> pd.DataFrame:
    """Fits by method and data set, a row a seed."""
    rows = [
        (
            method,
            "as it comes",
            dataset,
            epsilon,
            seed,
            learners.LEARNERS[method].delta,
            False,
            value,
            1 - value,
        )
        for (method, dataset), values in auc.items()
        for seed, value in enumerate(values)
    ]
    columns = ["method", "utility", "dataset", "epsilon", "seed", "delta", "rival", "auc", "log_loss"]
    return pd.DataFrame(rows, columns=columns)


BETWEEN = "1\u202f000\u201310\u202f000"  # name of a row
HARD, EASY = [0.60, 0.65, 0.70, 0.75], [0.90, 0.91, 0.92, 0.93]  # splits differ more than methods
TWO = fits(
    {
        (OURS, "adult"): [a + 0.01 + w for a, w in zip(HARD, (0.0, 0.001, -0.001, 0.0), strict=True)],
        ("random trees", "adult"): HARD,
        ("DiffPRFs-R", "adult"): [a + 0.005 for a in HARD],
        ("PrivateBooster", "adult"): [a - 0.1 for a in HARD],
        (OURS, "bank"): EASY,
        ("random trees", "bank"): [a + w for a, w in zip(EASY, (0.001, -0.001, 0.001, -0.001), strict=True)],
    }
)


def test_a_lead_is_paired_by_seed() -> None:
    table = leads(TWO).set_index(["dataset", "method"])
    rows = table.to_dict("index")
    adult = rows["adult", "random trees"]
    assert adult["mean"] == pytest.approx(0.01)
    assert adult["half"] < 0.002
    assert adult["p"] < 1e-3 < rows["bank", "random trees"]["p"]
    assert (table["p_holm"] >= table["p"]).all()
    shuffled = TWO.assign(seed=TWO["seed"].where(TWO["method"] != OURS, 3 - TWO["seed"]))  # broken twin
    assert leads(shuffled).set_index(["dataset", "method"])["half"]["adult", "random trees"] > 0.05


def test_leads_on_splits_that_share_records_are_not_independent() -> None:
    rng, rows = np.random.default_rng(0), {}
    for name in [f"set {i}" for i in range(400)]:  # where no method is better
        lead = rng.normal(0, np.sqrt(3 / 7)) + rng.normal(size=10)  # a part is common to all splits
        rows[OURS, name], rows["random trees", name] = list(lead), [0.0] * 10
    table = leads(fits(rows))
    alarms, quantile = (table["p"] < 0.05).sum(), stats.t.ppf(0.975, 9)
    assert alarms <= stats.binom.isf(1e-6, 400, 0.05)
    naive = table["mean"].abs() / table["half"] * quantile * np.sqrt(1 + 10 * 3 / 7)  # broken twin: s²/J
    assert (naive > quantile).mean() > 0.25
    one = {(method, "adult"): rows[method, "set 0"] for method in (OURS, "random trees")}
    half = leads(fits(rows | one)).set_index("dataset")["half"]
    assert half["set 0"] / half["adult"] == pytest.approx(np.sqrt(1 + 10 * 3 / 7))  # Adult has one split


@pytest.mark.realdata
@pytest.mark.parametrize("name", [name for name in SETS if name not in ONE_SPLIT])
def test_the_share_for_testing_is_what_the_correction_says(name: str) -> None:
    data = split_of(name, 0)
    tested, records = len(data.test[0]), len(data.test[0]) + len(data.train[0])
    assert abs(tested / records - TESTED) < 5 * np.sqrt(
        TESTED * (1 - TESTED) / records
    )  # records are drawn alone
    assert abs(tested / records - 0.5) > 5 * np.sqrt(TESTED * (1 - TESTED) / records)  # broken twin


def test_a_lead_is_over_others_of_a_guarantee_that_is_as_strict() -> None:
    assert OURS not in set(leads(TWO)["method"])
    more = pd.concat([TWO, fits({(m, "adult"): HARD for m in ("DPAda-R, δ", f"{OURS}, additive")})])
    assert f"{OURS}, additive" in set(leads(more)["method"])  # its own variants count like all others
    assert "DPAda-R, δ" in set(leads(more)["method"])
    assert "DPAda-R, δ" not in set(leads(more, of="PrivateBooster")["method"])
    assert "DPAda-R, δ" in set(leads(more, of="PrivateBooster", delta=1.0)["method"])  # broken twin


def test_less_log_loss_is_a_lead() -> None:
    less = leads(TWO, metric="log_loss").set_index(["dataset", "method"])["mean"]
    assert less["adult", "random trees"] == pytest.approx(0.01)


def test_the_best_other_method_counts() -> None:
    best = over_best(leads(TWO)).set_index("dataset")
    assert best.loc["adult", "method"] == "DiffPRFs-R"
    assert best.loc["adult", "mean"] == pytest.approx(0.005)
    kinds = standings.firsts(best.reset_index(), 1.0)
    assert kinds == {"adult": "first", "bank": "first"}
    behind = best.reset_index().assign(mean=-0.01)
    assert set(standings.firsts(behind, 1.0).values()) == {"behind"}
    level = behind.assign(half=1.0)
    assert set(standings.firsts(level, 1.0).values()) == {"level"}


def test_a_tally_counts_what_is_clear() -> None:
    table = leads(TWO)
    found = standings.tally(table)
    assert found.loc["random trees"].to_dict() == {"ahead": 1, "behind": 0, "open": 1}
    found = standings.tally(table.assign(mean=-table["mean"]))
    assert found.loc["random trees"].to_dict() == {"ahead": 0, "behind": 1, "open": 1}


def test_ranks_are_means_over_data_sets() -> None:
    means = pd.DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.9, 0.6], "c": [0.7, 0.7, 0.5]})
    found = ranking(means)
    assert found.mean.to_dict() == pytest.approx({"a": 4 / 3, "b": 5 / 3, "c": 3.0})
    assert found.sets == 3
    # Demšar's table 5: q = 2.343 for three methods
    assert found.critical == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 3)), abs=1e-3)
    many = pd.concat([means] * 10)
    assert ranking(many).friedman < 1e-3 < found.friedman


def losses(loss: dict[tuple[str, str], float]) -> pd.DataFrame:
    rows = [(m, d, 1.0, 1 - x, 0.0, learners.LEARNERS[m].delta, 1.0, x, 5000.0) for (m, d), x in loss.items()]
    return pd.DataFrame(
        rows, columns=["method", "dataset", "epsilon", "auc", "error", "delta", "top", "loss", "known"]
    )


def test_a_decision_respects_privacy_classes_and_shapes() -> None:
    table = losses(
        {
            **{(OURS, d): 0.01 for d in ("adult", "bank", "robot")},
            **{("PrivateBooster", d): 0.025 for d in ("adult", "bank", "robot")},
            **{("PrivateBooster, additive", d): 0.03 for d in ("adult", "bank", "robot")},
            **{("DiffPRFs-R", d): 0.02 for d in ("adult", "bank", "robot")},
            **{("DPAda-R, δ", d): 0.005 for d in ("adult",)},  # not on bank: no choice for two classes
        }
    )
    found = decisions(table)
    rows = found.to_dict("index")
    row = rows["pure ε", "two", BETWEEN]
    assert (row["method"], row["additive"], row["cells"]) == ("DiffPRFs-R", "PrivateBooster, additive", 2)
    assert rows["(ε, δ)", "more", BETWEEN]["method"] == OURS
    assert ("pure ε", "two", "< 1\u202f000") not in rows


def test_a_choice_on_other_sets_loses_more() -> None:
    table = losses(
        {
            (OURS, "adult"): 0.0,
            (OURS, "bank"): 0.1,
            ("DiffPRFs-R", "adult"): 0.08,
            ("DiffPRFs-R", "bank"): 0.06,
        }
    )
    row = decisions(table).to_dict("index")["(ε, δ)", "two", BETWEEN]
    assert row["loss"] == pytest.approx(0.05)
    assert row["elsewhere"] == pytest.approx((0.08 + 0.1) / 2)  # each set's choice is made on the other


PAPERS = list(standings.REPAIRED)


def as_written(scores: dict[tuple[str, int], float]) -> pd.DataFrame:
    """AUC by paper and seed on Adult at ε = 1; other papers and a metric more are there as well."""
    rows = [(paper, "adult", 1.0, seed, "auc", value) for (paper, seed), value in scores.items()]
    rows += [(paper, "adult", 1.0, 0, "auc", 0.5) for paper in PAPERS if (paper, 0) not in scores]
    rows += [(paper, "adult", 1.0, 0, "accuracy", 0.1) for paper in PAPERS]
    return pd.DataFrame(rows, columns=["method", "dataset", "epsilon", "seed", "metric", "value"])


def test_a_paper_as_written_stands_beside_its_own_repair_and_is_grey() -> None:
    means = pd.DataFrame(
        [(m, "adult", 1.0, 0.9 + i / 100) for i, m in enumerate([OURS, *standings.REPAIRED.values()])],
        columns=["method", "dataset", "epsilon", "auc"],
    )
    beside = standings.beside_written(as_written({("eDPRF", 0): 0.6, ("eDPRF", 1): 0.8}), means)
    row = beside.set_index("method").loc["eDPRF"]
    assert row[["written", "spread", "booster"]].tolist() == pytest.approx([0.7, 0.2, 0.9])
    assert row["repaired"] == 0.9 + (1 + PAPERS.index("eDPRF")) / 100
    table, grey = standings.greyed(beside)
    assert list(table.columns) == ["ε = 1"]
    assert set(grey) == {("adult", f"{paper}, as written") for paper in PAPERS}
    assert table.loc[grey[PAPERS.index("eDPRF")]].item() == pytest.approx(0.7)
    assert table.drop(index=grey)["ε = 1"].tolist() == means["auc"].tolist()
    with pytest.raises(KeyError):  # broken twin: a repair that is not on the board
        standings.beside_written(as_written({}), means[means["method"] != "eDPRF-R"])


def test_each_paper_as_written_has_a_repair_that_claims_as_much() -> None:
    assert {learners.LEARNERS[own].delta for own in standings.REPAIRED.values()} == {0.0}
    assert learners.LEARNERS[OURS].delta > 0  # broken twin


def test_as_written_no_ledger_has_the_claimed_epsilon(root: Path) -> None:
    table = wide(read(learners.AS_WRITTEN, root / "results"))
    assert np.isinf(table["ledger_epsilon"]).all()
    assert np.isfinite(table["epsilon"]).all()
    fits = wide(read(learners.BOARD, root / "results"))
    assert not np.isinf(fits["ledger_epsilon"]).any()  # broken twin: the board's own


def test_settings_are_those_that_were_chosen() -> None:
    some = {"DiffPRFs-R": learners.LEARNERS["DiffPRFs-R"]}
    first, second = list(some["DiffPRFs-R"].settings)[:2]
    rows = [
        ("DiffPRFs-R", "adult", s, 0, e, seed, 0, 0.0, "auc", v)
        for s, v in ((first, 0.7), (second, 0.8))
        for e in some["DiffPRFs-R"].epsilons
        for seed in range(10)
    ]
    columns = [
        "method",
        "dataset",
        "utility",
        "max_depth",
        "epsilon",
        "seed",
        "n_rounds",
        "delta",
        "metric",
        "value",
    ]
    runs = pd.DataFrame(rows, columns=columns)
    chosen = pd.DataFrame(
        [("DiffPRFs-R", "adult", e, second, first if e == 1.0 else "") for e in some["DiffPRFs-R"].epsilons],
        columns=["method", "dataset", "epsilon", "utility", "without_standin"],
    )
    found = standings.board_fits([Source(runs, chosen, some, False)])
    assert found["auc"].unique().tolist() == [0.8]
    other = standings.board_fits([Source(runs, chosen, some, False)], without_standin=True)
    assert other.groupby("epsilon")["auc"].first()[1.0] == 0.7
    lacking = standings.board_fits([Source(runs[runs["seed"] < 9], chosen, some, False)])
    assert lacking.empty
    turned = Source(runs, chosen.assign(utility=first), some, False)
    assert standings.with_hindsight([turned])["auc"].unique().tolist() == [0.8]
    assert standings.board_fits([turned])["auc"].unique().tolist() == [0.7]  # broken twin: what was chosen


def test_the_best_mean_rank_wins() -> None:
    ranks = pd.DataFrame({"bank": [1.0, 2.0], "nursery": [2.0, 1.0], "adult": [1.0, 2.0]}, index=["a", "b"])
    assert best_setting(ranks, {"bank"}) == "a"
    assert best_setting(ranks, {"bank", "adult"}) == "b"


def test_audits_are_told_as_they_came_out(root: Path) -> None:
    told = standings.audited(
        root / "results",
        ["DiffPRFs-R", "diffprivlib forest", "diffprivlib naive Bayes", "DP-EBM", "MST + gradient boosting"],
    )
    assert re.fullmatch(r"holds on \d{3,} replays", told["DiffPRFs-R"])
    assert told["diffprivlib forest"].startswith("add-remove: refuted, ε ≥ ")
    assert re.fullmatch(
        r"add-remove: refuted, ε ≥ 6\.\d+ at 1; replace: refuted, ε ≥ 1\.\d+ at 1",
        told["diffprivlib naive Bayes"],
    )
    assert told["DP-EBM"].startswith("add-remove: refuted")
    assert told["MST + gradient boosting"] == "no"
    rows = {"case": ["a"], "confidence": [0.99], "lower_bound": [1.1], "claimed": [1.0]}
    cases = pd.DataFrame(rows | {"relation_tested": ["replace"]})
    assert standings._attacks(cases, ("a",)) == "replace: refuted, ε ≥ 1.10 at 1"
    assert standings._attacks(cases.assign(lower_bound=0.9), ("a",)) == "replace: not refuted, ε ≥ 0.90 at 1"


# --- Settings and stress --------------------------------------------------------------------------------------


def test_variants_are_judged_together() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (v, d, e, seed, "auc", 0.8 + (0.01 if v == "ridge 3" else 0.0) + rng.normal(0, 0.001))
        for v in (settings.SHIPPED, "ridge 3", "ridge 8")
        for d in PUBLIC
        for e in (0.1, 1.0)
        for seed in range(2)
    ]
    log = pd.DataFrame(rows, columns=["method", "dataset", "epsilon", "seed", "metric", "value"])
    found = settings.judged(log)
    assert found.index.tolist() == ["ridge 3", "ridge 8"]
    assert found["p_holm"]["ridge 3"] < 0.01 < found["p_holm"]["ridge 8"]
    assert (found["least"] <= found["gain"]).all()
    assert (found["gain"] <= found["most"]).all()
    error = settings.gains(log)["error"]
    assert (found["half"] > 2 * error).all()  # wider than an interval for one


def test_variants_change_what_there_is() -> None:
    """Each names what exists, and sets it to something else than the booster has: a twin of it changes nothing."""
    for name, variant in settings.VARIANTS.items():
        changed = [
            *((settings.SETTINGS, key, value) for key, value in variant.settings.items()),
            *((settings.module_of(key), key, value) for key, value in variant.constants.items()),
            *((PrivateBooster(), key, value) for key, value in variant.parameters.items()),
        ]
        assert (changed == []) == (name == settings.SHIPPED)
        assert all(getattr(of, key) != value for of, key, value in changed), name


def test_settings_that_no_run_chose_say_so() -> None:
    """Broken twin: a variant less."""

    def never_varied(variants: Mapping[str, settings.Variant]) -> set[str]:
        return {*settings.Settings._fields} - {name for each in variants.values() for name in each.settings}

    named = {name for name in settings.Settings._fields if hasattr(no_run_chose, name.upper())}
    assert never_varied(settings.VARIANTS) == named
    assert never_varied({"one": settings.VARIANTS["ridge 3"]}) != named


def test_shares_of_the_budget_are_those_of_the_plans() -> None:
    shares = settings.shares_of_budget()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares >= 0).all(axis=None)
    of_few = settings.SETTINGS.levels[0].of_stumps
    assert shares.loc["0", "stumps"] == of_few
    assert shares["groups"].iloc[0] == 0 < shares["groups"].iloc[-1]
    fewer = settings.SETTINGS._replace(**settings.levels(0.1))  # broken twin: other settings
    assert settings.shares_of_budget(fewer).loc["0", "stumps"] != of_few


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in's first records stand for all."""
    whole = split_of("adult-standin", 0)
    (X, y), (X_test, y_test) = whole.train, whole.test
    cut = replace(whole, train=(X[:640], y[:640]), test=(X_test[:300], y_test[:300]))
    monkeypatch.setattr(stress, "split_of", lambda name, seed: cut)
    stress.stressed.cache_clear()


def test_stress_changes_what_it_says(small: None) -> None:
    plain = stress.stressed("adult-standin", 0, stress.Stress())
    few = stress.stressed("adult-standin", 0, stress.Stress(share=1 / 64))
    noisy = stress.stressed("adult-standin", 0, stress.Stress(noise=10))
    wide = stress.stressed("adult-standin", 0, stress.Stress(width=100.0))
    assert [len(part.records.keys) for part in (plain, few, noisy, wide)] == [640, 10, 640, 640]
    assert noisy.codes.shape[1] == plain.codes.shape[1] + 10
    np.testing.assert_array_equal(noisy.codes[:, : plain.codes.shape[1]], plain.codes)
    assert (wide.records.domain.highs[0], plain.records.domain.highs[0]) == (9000.0, 90.0)
    for part in (few, noisy, wide):
        np.testing.assert_array_equal(part.labels, plain.labels)
    again = stress.stressed.__wrapped__("adult-standin", 0, stress.Stress(noise=10))
    np.testing.assert_array_equal(again.codes, noisy.codes)
    other = stress.stressed.__wrapped__("adult-standin", 1, stress.Stress(noise=10))
    assert (other.codes[:, -10:] != noisy.codes[:, -10:]).any()


def test_a_stressed_learner_is_scored(small: None) -> None:
    cell = Cell(method="random trees", dataset="adult-standin", utility="bounds × 10", epsilon=1.0)
    found = stress.measure_stress(cell)
    assert 0.3 < found["auc"] < 1
    assert found == stress.measure_stress(cell)


def test_no_bounds_no_width() -> None:
    cell = Cell(method="PrivateBooster", dataset="nursery", utility="bounds × 10", epsilon=1.0)
    assert not stress.applies(cell)
    assert stress.applies(Cell(method="PrivateBooster", dataset="nursery", utility="as it is", epsilon=1.0))
    assert not stress.applies(Cell(method="DPAda-R, δ", dataset="nursery", utility="as it is", epsilon=1.0))


def test_a_change_is_against_the_set_as_it_is() -> None:
    rows = [
        (OURS, d, u, 1.0, "auc", v)
        for d, base in (("one", 0.9), ("two", 0.7))
        for u, v in ((stress.AS_IT_IS, base), ("bounds × 10", base - 0.1))
    ]
    results = pd.DataFrame(rows, columns=["method", "dataset", "utility", "epsilon", "metric", "value"])
    found = standings.stress_table(results, epsilon=1.0)[OURS]
    assert found.to_dict() == pytest.approx({stress.AS_IT_IS: 0.0, "bounds × 10": -0.1})


# --- Tables of a page -----------------------------------------------------------------------------------------


def test_a_table_is_the_same_each_time() -> None:
    table = pd.DataFrame({"auc": [0.81234, np.nan], "name": ["a", "b"]})
    both = [tables.shown(table, "Test AUC", formats={"auc": "{:.3f}"}) for _ in range(2)]
    assert both[0] == both[1]
    page = both[0]._repr_html_()
    assert ">0.812<" in page
    assert "nan" not in page
    assert "<caption>Test AUC</caption>" in page
    assert repr(both[0]) == "[table: Test AUC]"
    assert table.style.to_html() != table.style.to_html()  # broken twin: a random id


# --- Rivals that cannot run here ------------------------------------------------------------------------------

PRIVATE = {"pure", "5e-8", "1e-6", "1e-5"}
BUDGETS = [0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0]


def peers(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "results" / "peers.csv", dtype={"privacy": str})


def left_out(table: pd.DataFrame, listed: list[str]) -> list[str]:
    """Settings that were measured and are not in the table, on both data sets and at all budgets; and the reverse."""
    private = table[table["privacy"].isin(PRIVATE)]
    found = {
        (method, dataset): sorted(set(rows["epsilon"]) & set(BUDGETS))
        for (method, dataset), rows in private.groupby(["method", "dataset"])
    }
    wanted = {(method, dataset): BUDGETS for method in listed for dataset in ("adult", "bank")}
    on_both = {key: value for key, value in found.items() if key[1] in ("adult", "bank")}
    return sorted(
        {key[0] for key in wanted if on_both.get(key) != wanted[key]}
        | {key[0] for key in on_both if key not in wanted}
    )


def test_the_table_holds_every_setting_that_was_measured(root: Path) -> None:
    table = peers(root)
    about = json.loads((root / "results" / "peers.json").read_text(encoding="utf-8"))
    assert about["rows"] == len(table)
    assert set(table["privacy"]) == {*PRIVATE, "floor", "ceiling"}
    assert left_out(table, about["settings"]) == []
    best_pure = "diffprivlib LogisticRegression, C = 0.01"  # broken twins
    assert left_out(table[table["method"] != best_pure], about["settings"]) == [best_pure]
    assert left_out(table, [m for m in about["settings"] if m != best_pure]) == [best_pure]
    assert left_out(table.drop(index=table.index[table["method"] == "S-BDT"][:1]), about["settings"]) == [
        "S-BDT"
    ]


def test_rivals_from_elsewhere_stand_below_ours(root: Path) -> None:
    ours = pd.DataFrame(
        [
            (m, d, e, seed, a + (0.02 if seed else 0.0))
            for m, a in ((OURS, 0.9), ("PrivateBooster", 0.8))
            for d in ("adult", "bank")
            for e in BUDGETS
            for seed in (0, 1)
        ],
        columns=["method", "dataset", "epsilon", "seed", "auc"],
    )
    found = standings.elsewhere(peers(root), ours)
    assert found.index[:2].tolist() == [OURS, "PrivateBooster"]
    assert sorted(found.index[2:]) == sorted(standings.ELSEWHERE.values())
    assert found.notna().all(axis=None)
    assert found.loc[OURS, "bank, ε = 5"] == 0.9  # the rivals' split, and no other
    assert found.loc[OURS, "adult, ε = 5"] == pytest.approx(0.91)  # one split, all draws of the noise
    table = peers(root).set_index(["method", "dataset", "epsilon"])["auc_mean"]
    name = "federated-boosted-dp-trees: TR Newton IH EBM, 100"
    assert found.loc[standings.ELSEWHERE[name], "adult, ε = 0.1"] == table[name, "adult", 0.1]


def test_the_history_holds_what_its_grids_gave(root: Path) -> None:
    table = pd.read_csv(root / "results" / "booster_history.csv")
    about = json.loads((root / "results" / "booster_history.json").read_text(encoding="utf-8"))
    assert about["rows"] == len(table)
    ideas = table[table["metric"] == "gain in AUC"]
    assert ideas["idea"].nunique() == 15
    assert len(ideas) == 15 * 9 + 3 * 3
    first = table[table["idea"] == "first edition"]
    assert len(first) == 4 * 2 * 3 * 7 + 1  # and nursery
    second = table[table["idea"] == "second edition"]
    assert len(second) == 3 * 8 * 2 * 7
    assert set(second["metric"]) == {"accuracy", "auc", "log_loss"}
    assert set(second["dataset"]) == set(SETS)
    assert (second["seeds"] == 10).all()
    third = table[table["idea"] == "third edition"]
    numbers = third[third["metric"].isin(["mae", "r2"])]
    assert len(numbers) == 5 * 3 * 2 * 2
    assert len(third) - len(numbers) == len(second)
    assert (third["seeds"] == 10).all()
    assert len(ideas) + len(first) + len(second) + len(third) == len(table)
    assert not table.duplicated(["idea", "dataset", "epsilon", "delta", "metric"]).any()


def test_names_of_methods_are_those_of_the_board() -> None:
    known: set[object] = {*learners.LEARNERS, *RIVALS}
    assert {*standings.SHORT, *standings.SHOWN, *standings.ADDITIVE, *standings.ATTACKS} <= known
    assert set(standings.ABOUT) == set(learners.LEARNERS[OURS].datasets)


def test_the_boosters_for_shapes_are_additive() -> None:
    boosters = [name for name in learners.LEARNERS if name.startswith("PrivateBooster")]
    additive = [name for name in boosters if learners.MAKE[name](epsilon=1.0).additive]
    assert additive == [name for name in boosters if name in standings.ADDITIVE]
    assert 0 < len(additive) < len(boosters)  # broken twin: those with groups or products
