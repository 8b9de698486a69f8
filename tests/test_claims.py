"""The claims register: complete, followed to the end, shown as it is; and the tests that its measured claims name."""

from __future__ import annotations

import copy
import math
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import binom, poisson
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import dpnb
from dpnb import Categorical, Continuous, Domain
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.privacy.laws import Exponential
from dpnb.records.memory import Records
from dpnb.trees.scores import INFO_GAIN
from private_trees.lineage.trees import DiffGen, DiffPC45
from private_trees.papers import PAPERS
from private_trees.site import claims
from private_trees.site.claims import ClaimError, Paper, badge, dangling, load, page, text_of
from private_trees.studies import dpada as dpada_study
from private_trees.studies import edprf as edprf_study
from private_trees.studies import pearson as pearson_study
from private_trees.studies import runs

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / "claims").glob("*.yml"))

# --- the register ---------------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "paper": "mu2016diffprfs",
    "title": "Toy",
    "chapter": "notebooks/toy.ipynb",
    "claims": [
        {
            "id": f"toy-{name}",
            "source": "Section 1",
            "claim": "It works",
            "verdict": "fails",
            "kind": "privacy",
            "evidence": ["notes.md#a-heading", "notes.md#toy-theorem", "test_toy.py::test_it"],
            "defects": ["it does nothing", f"it breaks {name}"],
        }
        for name in ("one", "two")
    ],
}
NOTES = "# A heading\n\n```bash\n# no heading\n```\n\n:::{prf:theorem} T\n:label: toy-theorem\n\nx\n:::\n"


BADGE = re.compile(r"\{bdg-ref-\w+\}`[^`<]*<claim-([\w-]+)>`")


def wrong_badges(papers: Sequence[Paper], text: str) -> list[str]:
    """List the badges in a text that name an unknown claim, or show another verdict than the claim's own."""
    right = {claim.id: badge(claim) for paper in papers for claim in paper.claims}
    return [
        f"{match[0]}: expected {right.get(match[1], 'a claim that exists')}"
        for match in BADGE.finditer(text)
        if match[0] != right.get(match[1])
    ]


def register(folder: Path, data: Any = GOOD) -> list[claims.Paper]:
    """Write a register with the files that its evidence names, and load it."""
    (folder / "claims").mkdir()
    (folder / "claims" / "toy.yml").write_text(yaml.safe_dump(data), encoding="utf-8")
    (folder / "notes.md").write_text(NOTES, encoding="utf-8")
    (folder / "test_toy.py").write_text(
        "def test_it():\n    pass\n\n\ndef helper():\n    pass\n", encoding="utf-8"
    )
    return load(folder / "claims")


def uncalled(paper: Paper) -> list[str]:
    """List the checks that a claim rests on and that the paper's notebooks do not run."""
    checks = "".join(path.read_text(encoding="utf-8") for path in claims.notebooks_of(ROOT / paper.chapter))
    called = [f"chapter.{ref.partition('::')[2]}(" for claim in paper.claims for ref in claim.tests]
    return [call for call in called if ".check_" in call and call not in checks]


def test_every_file_loads_and_every_reference_leads_somewhere() -> None:
    papers = load(ROOT / "claims")
    assert len(papers) == len(FILES) > 0
    assert dangling(papers, ROOT) == []
    references = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    for paper in papers:
        assert f"{{{paper.key}," in references
        assert uncalled(paper) == []
        claim = replace(paper.claims[0], evidence=("chapters/x.py::check_nothing",))  # broken twin
        assert uncalled(replace(paper, claims=(claim,))) == ["chapter.check_nothing("]


def test_a_good_register(tmp_path: Path) -> None:
    papers = register(tmp_path)
    assert [claim.id for claim in papers[0].claims] == ["toy-one", "toy-two"]
    assert dangling(papers, tmp_path) == []


def first(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda data: change(data["claims"][0])


TWINS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "missing key": (first(lambda c: c.pop("source")), r"claim 1 \(toy-one\): lacks source"),
    "missing id": (first(lambda c: c.pop("id")), r"claim 1 \(no id\): lacks id"),
    "empty text": (first(lambda c: c.update(claim="")), "lacks claim"),
    "unknown key": (first(lambda c: c.update(verdikt="holds")), "unknown key verdikt; expected id, source"),
    "unknown verdict": (
        first(lambda c: c.update(verdict="true")),
        "verdict 'true'; expected one of holds, holds with repair, fails",
    ),
    "verdict not a word": (first(lambda c: c.update(verdict=True)), "all else a string"),
    "a failure without a defect": (first(lambda c: c.pop("defects")), "names its defects"),
    "a defect without a failure": (first(lambda c: c.update(verdict="holds")), "no other claim has any"),
    "evidence not a list": (first(lambda c: c.update(evidence="notes.md#x")), "must be lists of strings"),
    "repeated id": (first(lambda c: c.update(id="toy-two")), "id 'toy-two' stands for 2 claims"),
    "another file's id": (first(lambda c: c.update(id="tory-one")), "the id must be 'toy-' and"),
    "evidence of no kind": (
        first(lambda c: c["evidence"].append("see above")),
        "evidence 'see above'; expected",
    ),
    "no test": (first(lambda c: c["evidence"].pop()), "needs a place in the book and a test"),
    "no place": (first(lambda c: c.update(evidence=["test_toy.py::test_it"])), "needs a place in the book"),
    "no title": (lambda data: data.pop("title"), "has chapter, claims, paper; expected the keys chapter"),
    "claims not a list": (lambda data: data.update(claims={}), "'claims' must be a list"),
}


@pytest.mark.parametrize("twin", TWINS)
def test_a_broken_file_is_refused(twin: str, tmp_path: Path) -> None:
    spoil, message = TWINS[twin]
    data = copy.deepcopy(GOOD)
    spoil(data)
    with pytest.raises(ClaimError, match=message):
        register(tmp_path, data)


def test_what_cannot_be_checked_needs_no_test(tmp_path: Path) -> None:
    data = copy.deepcopy(GOOD)
    data["claims"][0].update(verdict="cannot be checked", evidence=["notes.md#a-heading"], defects=[])
    assert register(tmp_path, data)[0].claims[0].evidence == ("notes.md#a-heading",)


def test_a_folder_without_claims_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClaimError, match="run from the project's folder"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("notes.md#no-theorem", "no label and no heading"),
        ("notes.md#no-heading", "no label and no heading"),
        ("notebooks/none.ipynb#toy-theorem", "no file notebooks/none.ipynb"),
        ("test_toy.py::test_that", "no test or check"),
        ("test_none.py::test_it", "no file test_none.py"),
    ],
)
def test_a_reference_that_leads_nowhere_is_found(reference: str, message: str, tmp_path: Path) -> None:
    data = copy.deepcopy(GOOD)
    data["claims"][0]["evidence"].append(reference)
    (found,) = dangling(register(tmp_path, data), tmp_path)
    assert found.startswith(f"toy-one: {reference}: ")
    assert message in found


@pytest.mark.parametrize("label", ["diffprfs-purity", "the-papers-experiments"])
def test_a_changed_label_of_a_notebook_is_found(label: str, tmp_path: Path) -> None:
    """Broken twin of the real register: the notebook loses one label or one heading."""
    for name in ("notebooks", "tests", "claims", "book/private_trees/chapters"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    papers = load(tmp_path / "claims")
    notebook = tmp_path / "notebooks" / "04_diffprfs.ipynb"
    text = notebook.read_text(encoding="utf-8")
    assert ":label: diffprfs-purity\\n" in text
    assert "## The paper's experiments" in text
    text = text.replace(":label: diffprfs-purity\\n", ":label: diffprfs-pure\\n")
    notebook.write_text(text.replace("## The paper's experiments", "## Our experiments"), encoding="utf-8")
    found = dangling(papers, tmp_path)
    assert any(label in line and "no label and no heading" in line for line in found)
    assert all("diffprfs-purity" in line or "the-papers-experiments" in line for line in found)


# --- the page and the badges ----------------------------------------------------------------------------------


def test_the_page_is_current() -> None:
    """If not: python -m private_trees.site.claims."""
    papers = load(ROOT / "claims")
    shown = (ROOT / claims.PAGE).read_text(encoding="utf-8")
    assert shown == page(papers, ROOT)
    assert shown != page(papers, ROOT).replace("`fails`", "`holds`", 1)  # broken twin
    for claim in (claim for paper in papers for claim in paper.claims):
        for words in (claim.id, claim.claim, claim.source, f"`{claim.verdict}`", claim.note):
            assert words in shown


def test_a_changed_verdict_changes_the_page(tmp_path: Path) -> None:
    data = copy.deepcopy(GOOD)
    data["claims"][0].update(verdict="holds", defects=[])
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    before, after = (
        page(register(tmp_path / "a"), tmp_path / "a"),
        page(register(tmp_path / "b", data), tmp_path / "b"),
    )
    assert "| [Toy](#toy) | 0 | 0 | 2 | 0 | 0 | 2 |" in before
    assert "| [Toy](#toy) | 1 | 0 | 1 | 0 | 0 | 2 |" in after
    assert (
        "{bdg-success}`holds` It works\n:name: claim-toy-one\n:class-container: claim holds privacy" in after
    )
    assert "The 2 claims that fail rest on 3 defects" in before  # one of them is that of both claims
    assert "The 1 claims that fail rest on 2 defects" in after
    assert "*Rests on:* it does nothing; it breaks one." in before
    assert "{prf:ref}`toy-theorem`" in after
    assert "[A heading](../notes.md#a-heading)" in after


def test_badges_of_the_chapters_show_the_verdicts() -> None:
    papers = load(ROOT / "claims")
    for path in [*ROOT.glob("notebooks/*.ipynb"), *ROOT.glob("book/*.md")]:
        assert wrong_badges(papers, text_of(path)) == []


ROW = re.compile(r"^\| (.+) \| \{bdg-ref-\w+\}`[^`<]*<claim-([\w-]+)>` \|$", re.MULTILINE)


def other_words(papers: Sequence[Paper], text: str) -> list[str]:
    """Claims that a table of them does not state in the words of the register."""
    said = {claim.id: " ".join(claim.claim.split()) for paper in papers for claim in paper.claims}
    return [name for words, name in ROW.findall(text) if words != said[name]]


def test_tables_of_claims_state_them_as_the_register_does() -> None:
    papers = load(ROOT / "claims")
    texts = {paper.chapter: text_of(ROOT / paper.chapter) for paper in papers}
    assert sum(len(ROW.findall(text)) for text in texts.values()) > 50
    assert other_words(papers, "\n".join(texts.values())) == []
    twin = "\n".join(texts.values()).replace("The budget is divided evenly", "The budget is divided")
    assert other_words(papers, twin) == ["diffprfs-trees"]


def test_every_claim_has_its_badge_in_the_chapter() -> None:
    for paper in load(ROOT / "claims"):
        chapter = "\n".join(map(text_of, claims.notebooks_of(ROOT / paper.chapter)))
        bare = [claim.id for claim in paper.claims if claims.badge(claim) not in chapter]
        assert bare == []
        without = chapter.replace(claims.badge(paper.claims[0]), "")  # broken twin
        assert claims.badge(paper.claims[0]) not in without


def test_a_wrong_badge_is_found(tmp_path: Path) -> None:
    papers = register(tmp_path)
    right = claims.badge(papers[0].claims[0])
    assert right == "{bdg-ref-danger}`fails <claim-toy-one>`"
    assert wrong_badges(papers, f"So {right} and {right}.") == []
    for wrong in (
        right.replace("fails", "holds"),
        right.replace("danger", "success"),
        right.replace("one", "three"),
    ):
        assert len(wrong_badges(papers, f"So {wrong}.")) == 1


def test_every_verdict_is_a_word_and_has_a_colour_of_its_own() -> None:
    """The words are those of the page on how to read; a badge shows its word."""
    text = (ROOT / "book" / "how-to-read.md").read_text(encoding="utf-8")
    assert all(f"| `{verdict}` |" in text for verdict in claims.VERDICTS)
    assert len(set(claims.VERDICTS.values())) == len(claims.VERDICTS)


MEASURED = {  # places of the papers that tell experiments; the patent has none
    name: re.compile(paper.measured, re.IGNORECASE) for name, paper in PAPERS.items() if paper.measured
}


def not_of_measurements(paper: Paper, places: re.Pattern[str]) -> list[str]:
    """List claims about what experiments show whose verdict is one that only mathematics can give."""
    return [claim.id for claim in paper.claims if places.search(claim.source) and claim.verdict == "fails"]


@pytest.mark.parametrize("name", MEASURED)
def test_measurements_have_verdicts_of_measurements(name: str, tmp_path: Path) -> None:
    (paper,) = [paper for paper in load(ROOT / "claims") if paper.claims[0].id.startswith(f"{name}-")]
    assert not_of_measurements(paper, MEASURED[name]) == []
    assert any(MEASURED[name].search(claim.source) for claim in paper.claims)
    assert any(claim.verdict in ("not reproduced", "cannot be checked") for claim in paper.claims)
    data = copy.deepcopy(GOOD)  # broken twin
    data["claims"][0]["source"] = "Section 4, figure 1" if name == "edprf" else "Section 4.2, figure 1"
    assert not_of_measurements(register(tmp_path, data)[0], MEASURED[name]) == ["toy-one"]


UNSEEN = re.compile(r"not on the (?:pages|part)|not known to us|not available to us|known to us by name only")


def test_a_measurement_with_settings_that_we_did_not_see_cannot_be_checked() -> None:
    (paper,) = [paper for paper in load(ROOT / "claims") if paper.claims[0].id.startswith("edprf-")]
    unseen = [c for c in paper.claims if c.kind == "measurement" and UNSEEN.search(c.note)]
    assert {"edprf-fig5", "edprf-fig6", "edprf-levels", "edprf-table-diffprf"} <= {c.id for c in unseen}
    assert {c.verdict for c in unseen} == {"cannot be checked"}


def test_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    register(tmp_path)
    (tmp_path / "book").mkdir()
    monkeypatch.chdir(tmp_path)
    assert claims.main(["--badges"]) == 0
    assert "toy-two: {bdg-ref-danger}`fails <claim-toy-two>`" in capsys.readouterr().out
    written = (tmp_path / "book" / "claims.md").read_text(encoding="utf-8")
    assert written == page(load(tmp_path / "claims"), tmp_path)
    (tmp_path / "claims" / "toy.yml").write_text("[]", encoding="utf-8")
    assert claims.main([]) == 1
    assert "toy.yml: has list; expected the keys" in capsys.readouterr().err


# --- what the claims about attacks rest on ---------------------------------------------------------------------

STUDIES = {"edprf": edprf_study, "pearson": pearson_study, "dpada": dpada_study}
ENDLESS = {"edprf": "one-label|bins of", "pearson": "arg-max|points|one class", "dpada": ""}


def attacks(paper: str, *, private: bool) -> pd.DataFrame:
    """Stored bounds of a paper's attacks, a row a target and claim."""
    table = runs.read(f"{paper}_attack", ROOT / "results").pivot_table(
        "value", ["method", "epsilon"], "metric"
    )
    targets = STUDIES[paper].TARGETS
    assert set(table.index.unique("method")) == set(targets)
    table = table.reset_index()
    return table[table["method"].map(lambda name: targets[name].private == private)]


@pytest.mark.parametrize(("paper", "number"), [("edprf", 4), ("pearson", 7), ("dpada", 15)])
def test_attacks_refute_what_the_theorems_refute(paper: str, number: int) -> None:
    broken = attacks(paper, private=False)
    assert len(broken) == number
    assert (broken["runs"] == 20_000).all()
    assert (broken["lower_95"] > broken["epsilon"]).all()
    endless = broken[broken["method"].str.contains(ENDLESS[paper])]
    assert (endless["lower_99"] > 5 * endless["epsilon"]).all()


@pytest.mark.parametrize("paper", STUDIES)
def test_attacks_on_private_variants_stay_below_the_claim(paper: str) -> None:
    """Chapters check that the attacks are not blind: a tight case comes close to its claim."""
    private = attacks(paper, private=True)
    assert (private[["lower_95", "lower_sure"]].max(axis=1) <= private["epsilon"]).all()


@pytest.mark.parametrize(("paper", "triples"), [("edprf", 3_600), ("pearson", 4_400), ("dpada", 14_400)])
def test_replays_stay_below_the_ledger(paper: str, triples: int) -> None:
    table = runs.read(f"{paper}_replay", ROOT / "results")
    wide = table.set_index([*runs.KEYS, "metric"])["value"].unstack()
    assert set(wide.index.unique("method")) == set(STUDIES[paper].REPLAYED)
    assert (wide["triples"].sum(), wide["excess"].sum()) == (triples, 0)
    assert 0.5 < wide["worst_share"].max() <= 1 + 1e-9


# --- what the claims about DiffPRFs rest on -------------------------------------------------------------------

LINE = Domain((Continuous("x", 0, 1), Categorical("c", ("a", "b"))), (0, 1))
TRAINING_SETS = ("adult", "adult/merged")
Curves = tuple[pd.DataFrame, pd.DataFrame]  # means and their standard errors, (utility, depth) by epsilon


@cache
def accuracy() -> pd.DataFrame:
    return runs.read("diffprfs", ROOT / "results").query("metric == 'accuracy'")


def curves(method: str, dataset: str) -> Curves:
    """Mean accuracy of the private forests of the grid over its five repeats, with standard errors."""
    rows = accuracy().query(
        "method == @method and dataset == @dataset and epsilon < inf and utility != 'gini'"
    )
    groups = rows.groupby(["utility", "max_depth", "epsilon"])["value"]
    assert (groups.size() == 5).all()
    return groups.mean().unstack(), (groups.std() / math.sqrt(5)).unstack()


def lead(a: Any, b: Any, error_a: Any, error_b: Any) -> tuple[Any, Any]:
    """Difference of means, and two standard errors of it."""
    return a - b, 2 * np.sqrt(error_a**2 + error_b**2)


@pytest.mark.parametrize("dataset", TRAINING_SETS)
def test_depth_lowers_accuracy_at_small_epsilon(dataset: str) -> None:
    mean, error = curves("as written", dataset)
    deep, shallow = (mean.xs(d, level="max_depth") for d in (7, 3))
    growth, noise = lead(deep, shallow, error.xs(7, level="max_depth"), error.xs(3, level="max_depth"))
    assert (growth < -noise)[[0.05, 0.1]].all(axis=None)
    assert (growth > noise)[2.0].all()
    if dataset == "adult":
        np.testing.assert_allclose(shallow[0.1].round(3), [0.759, 0.762])
        np.testing.assert_allclose(deep[0.1].round(3), [0.653, 0.648])
        mean, error = curves("as written, shrinking ε", dataset)
        parts = [table.xs(d, level="max_depth") for table in (mean, error) for d in (7, 3)]
        growth, noise = lead(*parts)
        assert (growth < -noise).loc[:, 0.25:].all(axis=None)


def test_the_text_is_below_the_majority_class_at_a_small_budget() -> None:
    """At depth 5 and ε = 0.1, by more than two standard errors; the repaired forest is not."""
    majority = accuracy().query("method == 'majority class'")["value"].item()
    for dataset, method in product(TRAINING_SETS, ("as written", "repaired")):
        mean, error = (table.xs(5, level="max_depth")[0.1] for table in curves(method, dataset))
        assert (mean < majority - 2 * error).tolist() == [method == "as written"] * 2


def test_information_gain_rises_without_better_splits() -> None:
    """A perfect split is hardly likelier than a useless one at the largest ε of the paper and its largest share."""
    share = 2.0 / (25 * 2 * (3 + 1))  # B = 2, depth 3, no continuous attribute drawn
    law = Exponential(np.array([0.0, 1.0]), np.array([0]), np.array(share / 2), np.ones(2))
    useless, perfect = np.exp(law.log_probabilities())
    assert perfect / useless < 1.006
    law = Exponential(
        np.array([0.0, 1000.0]), np.array([0]), np.array(share / 2), np.ones(2)
    )  # broken twin: a score in records
    assert np.exp(law.log_probabilities())[1] > 0.99


@pytest.mark.parametrize("utility", ["max", "info_gain"])
def test_fewer_trees_do_better_as_written_with_the_max_class_sum_only(utility: str) -> None:
    data = dpnb.load("adult-standin")
    found = []
    for trees in (5, 25):
        forest = DiffPRFs.as_written(
            epsilon=0.5, domain=data.domain, n_trees=trees, max_depth=5, utility=utility
        )
        scores = [runs.mean_scores(forest, data, repeats=1, seed=s)["accuracy"] for s in range(5)]
        found.append((np.mean(scores), np.std(scores, ddof=1) / math.sqrt(5)))
    gain, noise = lead(found[0][0], found[1][0], found[0][1], found[1][1])
    assert (gain > noise, abs(gain) < noise) == ((True, False) if utility == "max" else (False, True))


def test_only_drawn_attributes_are_scored() -> None:
    """f = √F = 4 of 16 continuous attributes at the root; all 16 in the other reading of ambiguity c."""
    rng = np.random.default_rng(0)
    domain = Domain(tuple(Continuous(f"x{a}", 0, 1) for a in range(16)), (0, 1))
    X = pd.DataFrame(rng.uniform(size=(50, 16)), columns=domain.names)
    scored = {}
    for features in ("sqrt", "all"):
        forest = DiffPRFs.as_written(
            domain=domain, n_trees=1, max_depth=1, max_features=features, stop="depth", random_state=0
        ).fit(X, rng.integers(2, size=50))
        (event,) = [e for e in forest.ledger_.events if e.what == "threshold of an attribute"]
        scored[features] = event.n_parts
    assert scored == {"sqrt": 4, "all": 16}


def test_the_text_chooses_twice_as_the_method_that_it_criticises() -> None:
    """Thresholds, then an attribute, at a share 1/(n + 1) each; the repaired forest chooses once at the whole share."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(size=200), "c": rng.choice(["a", "b"], 200)})
    y = rng.integers(2, size=200)
    options: dict[str, Any] = {"domain": LINE, "n_trees": 1, "max_depth": 1, "max_features": "all"}

    def choices(model: Any) -> dict[str, float]:
        events = model.fit(X, y).ledger_.events
        return {e.what: e.worst.epsilon for e in events if "exponential" in e.mechanism}

    share = 1 / (2 * 2)  # of half a level, as a level pays for a size, too
    written = DiffPRFs.as_written(**options, bags="full", stop="depth", random_state=0)
    assert choices(written) == pytest.approx(
        {"threshold of an attribute": share / 2, "attribute of a node": share / 2}
    )
    criticised = DiffPC45(domain=LINE, max_depth=1, utility="max", random_state=0)
    assert set(choices(criticised)) == set(choices(written))
    repaired = DiffPRFs(**options, bags="full", random_state=0)
    assert choices(repaired) == pytest.approx({"split of a node": 2 * share})  # broken twin


def test_categories_take_no_share_of_diffgen() -> None:
    """The largest ε of a choice depends on the continuous attributes only, and the claim is kept."""
    rng = np.random.default_rng(0)

    def choice(n_continuous: int, n_categorical: int) -> float:
        parts = [Continuous(f"x{a}", 0, 1) for a in range(n_continuous)]
        parts += [Categorical(f"c{a}", ("a", "b", "d")) for a in range(n_categorical)]
        domain = Domain(tuple(parts), (0, 1))
        X = pd.DataFrame(
            {
                name: rng.uniform(size=100) if whole else rng.choice(["a", "b", "d"], 100)
                for name, whole in zip(domain.names, domain.continuous, strict=True)
            }
        )
        ledger = DiffGen(domain=domain, n_specialisations=3, utility="max", random_state=0)
        found = ledger.fit(X, rng.integers(2, size=100)).ledger_
        assert found.epsilon <= 1 + 1e-9
        return max(e.worst.epsilon for e in found.events if "exponential" in e.mechanism)

    assert choice(1, 1) == pytest.approx(choice(1, 30)) == pytest.approx(1 / (2 * (1 + 2 * 3)))
    assert choice(4, 1) < 0.8 * choice(1, 1)  # broken twin


def test_a_forest_predicts_steps_within_the_range_of_the_data() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(300, 1))
    forest = RandomForestRegressor(20, max_depth=4, random_state=0).fit(x, x[:, 0])
    far = np.linspace(-5, 6, 20001)[:, None]
    predicted = forest.predict(far)
    assert x.min() <= predicted.min() < predicted.max() <= x.max()
    assert len(np.unique(predicted)) <= 20 * 2**4
    line = LinearRegression().fit(x, x[:, 0]).predict(far)  # broken twin
    assert line.max() > x.max() + 1
    assert len(np.unique(line)) > 20 * 2**4


def test_a_record_changes_one_class_count_by_one() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.uniform(size=30), "c": rng.choice(["a", "b"], 30)})
    y = rng.integers(2, size=30)
    whole = Records(X, y, domain=LINE).cohort().class_counts(1)
    for gone in range(30):
        rest = Records(X.drop(index=gone), np.delete(y, gone), domain=LINE).cohort().class_counts(1)
        assert np.abs(whole - rest).sum() == 1
    copies = np.ones(30, int)
    copies[3] = 2  # broken twin: in a bag a record may count twice
    twice = Records(X, y, domain=LINE).cohort(copies).class_counts(1)
    assert (
        np.abs(twice - Records(X.drop(index=3), np.delete(y, 3), domain=LINE).cohort().class_counts(1)).sum()
        == 2
    )


def test_ln_classes_is_a_sensitivity_in_nats_only() -> None:
    """From one record to two the gain rises by 1 bit: more than ln 2, and exactly ln 2 nats."""
    change = INFO_GAIN([[1, 0], [0, 1]]) - INFO_GAIN([[1, 0], [0, 0]])
    assert change == pytest.approx(1)
    assert change > math.log(2) + 0.3
    assert change * math.log(2) == pytest.approx(math.log(2))


def log_ratio_of_a(copies: int, gamma: float) -> float:
    """Exact log-ratio of the probabilities of attribute a on the pair of the ln |C| theorem, at the rate ``gamma``."""
    a = INFO_GAIN(np.array([[[1, 1], [0, 0]], [[1, 0], [0, 1]]]))  # on D and on D'
    b = INFO_GAIN(np.array([[[1, 0], [0, 1]], [[1, 1], [0, 0]]]))
    law = [
        Exponential(np.r_[x, np.full(copies, y)], np.array([0]), np.array(gamma), np.ones(copies + 1))
        for x, y in zip(a, b, strict=True)
    ]
    before, after = (float(one.log_probabilities()[0]) for one in law)
    return after - before


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 1.0, 2.0])
def test_ln_classes_breaks_the_claim_from_three_copies_on(epsilon: float) -> None:
    gamma = epsilon / (2 * math.log(2))
    for copies in (1, 2, 3, 100):
        factor = math.exp(gamma) * (1 + copies * math.exp(gamma)) / (math.exp(gamma) + copies)
        assert log_ratio_of_a(copies, gamma) == pytest.approx(math.log(factor), rel=1e-9)
    assert log_ratio_of_a(1, gamma) == pytest.approx(gamma, rel=1e-9)
    assert log_ratio_of_a(2, gamma) < epsilon < log_ratio_of_a(3, gamma)
    assert 2 < math.sinh(epsilon / 2) / math.sinh(gamma - epsilon / 2) < 2.58
    assert 1.44 * epsilon < log_ratio_of_a(10**5, gamma) < 2 * gamma
    assert log_ratio_of_a(10**5, epsilon / 2) < epsilon  # broken twin: at Δ = 1 copies do no harm
    assert log_ratio_of_a(3, 5 / (2 * math.log(2))) < 5  # and at ε = 5 three are not enough


def log_ratio(copies: np.ndarray, sizes: np.ndarray, size: int, epsilon: float) -> float:
    """Log-ratio of the densities at one output of a leaf: noisy size and class counts, each with half of ``epsilon``.

    The bag of D' holds ``sizes[k]`` records, k of them copies of the only record of class 1, with probability
    ``copies[k]``; the bag of D holds ``size`` records of class 0.
    """
    k, high = (
        np.arange(len(copies)),
        1000.0,
    )  # an output beyond all counts: the ratio is the same on the whole corner
    change = np.abs(high - sizes) - np.abs(high - size)  # of the noisy size
    change = change + np.abs(-high - (sizes - k)) - np.abs(-high - size)  # of the count of class 0
    change = change + np.abs(high - k) - high  # of the count of class 1
    return math.log(np.sum(copies * np.exp(-epsilon / 2 * change)))


@pytest.mark.parametrize("share", [0.04, 0.5, 1.0])
@pytest.mark.parametrize("n", [2, 20, 200])
def test_a_bootstrap_tree_costs_more_than_its_share(share: float, n: int) -> None:
    """One leaf on a bag of n draws with replacement; a Poisson bag at the repaired budget keeps to the share."""
    k = np.arange(min(n, 80) + 1)
    bootstrap = log_ratio(binom(n, 1 / n).pmf(k), np.full(len(k), n), n - 1, share)
    assert bootstrap > share * 1.009
    assert log_ratio(poisson(1).pmf(k), n - 1 + k, n - 1, math.log1p(share)) <= share + 1e-12
