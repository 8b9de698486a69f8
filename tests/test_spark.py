"""The Spark door: the same seed gives the same model as in memory, bit for bit; failures change nothing."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import papermill
import pytest

from registered import ENTRIES

pytest.importorskip("pyspark")

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import TaskContext, cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr, lit

import dpnb
from dpnb import (
    Categorical,
    Continuous,
    DataError,
    Domain,
    DomainError,
    PrivateBooster,
    PrivateBoosterRegressor,
    spark,
)
from dpnb.boosting import groups
from dpnb.boosting.plans import Planner
from dpnb.domain import Attribute, Misfit
from dpnb.domain.encoding import encoded, replaced
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.dpada import DPAda
from dpnb.papers.edprf import EDPRF
from dpnb.papers.pearson import PearsonTree
from dpnb.records.bags import Bags, label_keys
from dpnb.records.doors import CohortDoor, RecordsDoor, ScoredDoor, WeightedDoor
from dpnb.records.grid import public_grid
from dpnb.records.memory import Cohort, Records, ScoredRecords, WeightedRecords
from dpnb.spark import blocks, boosting, columns, trees
from dpnb.spark import table as table_module
from dpnb.spark.session import in_words
from spark_models import DOMAIN, N, check_equal, parts_of, table_of, three_classes
from stage_records import BY_CELLS, EVERYTHING
from test_page_code import ROOT, as_people
from test_page_code import blocks as code_blocks

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


def nightly(*values: object) -> Any:
    """A row that repeats another one elsewhere: it runs once a night."""
    return pytest.param(*values, marks=pytest.mark.nightly)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    own = str(tmp_path_factory.mktemp("spark"))
    found = spark.local_session(cores=2, memory="1g", spark__local__dir=own)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def adult() -> tuple[pd.DataFrame, pd.Series[Any], Domain]:
    data = dpnb.load("adult-standin")
    X, y = (part.iloc[:3000] for part in data.train)
    return X, y.rename(data.domain.target), data.domain


@pytest.fixture(scope="module")
def three() -> tuple[pd.DataFrame, pd.Series[Any], Domain]:
    return three_classes()


@pytest.fixture(scope="module")
def tables(session: SparkSession, adult: Any, three: Any) -> dict[str, dict[int, spark.SparkTable]]:
    return {
        name: {
            parts: spark.SparkTable(table_of(session, X, y, parts=parts), domain, key="id")
            for parts in (1, 2, 7)
        }
        for name, (X, y, domain) in (("adult", adult), ("three", three))
    }


def refuses(model: Any) -> bool:
    """Whether a model is not proved to protect people."""
    try:
        model.check_people()
    except ValueError:
        return True
    return False


MODELS: dict[str, Callable[..., Any]] = {
    f"{name}, {variant}": partial(entry.model, variant)
    for name, entry in ENTRIES.items()
    if entry.in_spark and not entry.numbers  # a number has tests of its own below
    for variant in entry.private
} | {"DiffPRFs, purity, one bag": partial(DiffPRFs, n_trees=2, max_depth=2, stop="pure", bags="full")}
TWO_CLASSES = [name for name in MODELS if ENTRIES[name.split(",")[0]].estimator.two_classes]
MAIN = ("PrivateBooster, pure", "PearsonTree, C", "EDPRF, default", "DiffPRFs, default")


@pytest.mark.parametrize("name", [name for name in MODELS if name not in TWO_CLASSES])
def test_the_same_seed_gives_the_same_model(name: str, three: Any, tables: Any) -> None:
    X, y, domain = three
    check_equal(partial(MODELS[name], epsilon=2.0), Records(X, y, domain=domain), tables["three"][7])


@pytest.mark.parametrize("name", [*MAIN, *TWO_CLASSES])
@pytest.mark.parametrize("parts", [2, nightly(1), nightly(7)])
def test_partitions_and_order_do_not_matter(name: str, parts: int, adult: Any, tables: Any) -> None:
    X, y, domain = adult
    check_equal(MODELS[name], Records(X, y, domain=domain), tables["adult"][parts])


OF_PEOPLE = [name for name, make in MODELS.items() if not refuses(make())]


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("DiffPRFs, default", str),
        ("PrivateBooster, pure", int),
        *(nightly(name, named) for name in OF_PEOPLE for named in (str, int)),
    ],
)
def test_people_vote_the_same(name: str, named: type, session: SparkSession, adult: Any) -> None:
    """Some records are of nobody, by a null or by a marker of missing values."""
    X, y, domain = adult[0][:800], adult[1][:800], replace(adult[2], missing=("?", -9))
    rng = np.random.default_rng(0)
    ids = pd.Series([named(p) for p in rng.integers(0, 200, len(y))], dtype=object, index=X.index)
    ids[rng.random(len(y)) < 0.05] = None
    ids[rng.random(len(y)) < 0.05] = "?" if named is str else -9
    table = spark.SparkTable.from_pandas(session, X, y, domain=domain, people=ids)
    records = Records(X, y, domain=domain, people=ids)
    assert table.unit == records.unit
    assert 650 < len(records.labels) < 750
    check_equal(MODELS[name], records, table)


@pytest.mark.parametrize(
    ("sample", "parts", "relation"), [("three", 7, "add-remove"), nightly("adult", 2, "replace")]
)
def test_every_stage_gives_the_same_document(
    sample: str,
    parts: int,
    relation: str,
    tables: Any,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that the booster can do, whatever the number of records: bins cut up, fine attributes, groups and sweeps."""
    plan = EVERYTHING._replace(stumps=3, level=BY_CELLS.level._replace(fine=1, sweeps=2))
    monkeypatch.setattr(Planner, "plan", lambda self, known: plan)
    offered = groups.offered  # few pairs, so that triples are chosen too
    monkeypatch.setattr(groups, "offered", lambda axes, size: offered(axes, size)[: 1 if size == 2 else None])
    monkeypatch.setattr(groups, "NOTHING", 0.0)
    X, y, domain = request.getfixturevalue(sample)
    make = partial(PrivateBooster, epsilon=8.0, delta=1e-5, neighbours=relation)
    here = make(random_state=3).fit(Records(X, y, domain=domain))
    there = make(random_state=3).fit(tables[sample][parts])
    files = [tmp_path / name for name in ("here.json", "there.json", "twin.json")]
    here.release(files[0])
    there.release(files[1])
    assert files[0].read_bytes() == files[1].read_bytes()
    asked = {event.what for event in there.ledger_.events}
    assert {
        "stump",
        "fine attribute",
        "group of attributes",
        "curvature by cell",
        "residuals by cell",
    } <= asked
    assert 3 in {len(names) for names in there.groups(label=domain.classes[-1])}
    np.testing.assert_array_equal(dpnb.read(files[1]).predict_proba(X), here.predict_proba(X))
    twin = make(random_state=3).fit(Records(X[1:], y[1:], domain=domain))  # broken twin: a record less
    twin.release(files[2])
    assert files[2].read_bytes() != files[1].read_bytes()


def test_products_give_the_same_model(three: Any, tables: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrivateBooster, "_products_from", 0.0)
    X, y, domain = three
    check_equal(
        partial(PrivateBooster, epsilon=8.0, n_rounds=4), Records(X, y, domain=domain), tables["three"][2]
    )


def test_keys_matter(adult: Any, tables: Any) -> None:
    X, y, domain = adult
    moved = Records(X.set_axis(X.index + 1), y, domain=domain)
    one = MODELS["EDPRF, default"](random_state=3).fit(moved)
    assert parts_of(one) != parts_of(MODELS["EDPRF, default"](random_state=3).fit(tables["adult"][2]))


def test_strings_are_keys_as_well(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    named = X.set_axis([f"person {i}" for i in range(N)])
    records = Records(named, y, domain=domain)
    table = spark.SparkTable(table_of(session, named, y.set_axis(named.index), parts=2), domain, key="id")
    check_equal(MODELS["EDPRF, default"], records, table)
    table.check_keys()


def test_without_noise_too(three: Any, tables: Any) -> None:
    X, y, domain = three
    for name in MAIN:
        make = partial(MODELS[name], epsilon=float("inf"))
        one = make(random_state=0).fit(Records(X, y, domain=domain))
        assert parts_of(one) == parts_of(make(random_state=0).fit(tables["three"][2]))


def test_partial_tables_are_added_up_in_a_tree(
    three: Any, tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "FAN_IN", 2)
    X, y, domain = three
    check_equal(MODELS["PearsonTree, C"], Records(X, y, domain=domain), tables["three"][7])


def test_sums_of_tables() -> None:
    ints = partial(np.array, dtype=np.int64)
    cells, counts = blocks.add_up(
        [(ints([5, 1]), ints([2, 3])), (ints([]), ints([])), (ints([1, 9]), ints([4, 2**60]))]
    )
    assert cells.tolist() == [1, 5, 9]
    assert counts.tolist() == [7, 2, 2**60]
    assert [len(part) for part in blocks.add_up([])] == [0, 0]
    assert [len(part) for part in blocks.add_up([(ints([]), ints([]))])] == [0, 0]


# --- Numbers --------------------------------------------------------------------------------------------------


def priced() -> tuple[pd.DataFrame, pd.Series[Any], Domain]:
    """Prices in place of classes, some of them misfits."""
    X, _, domain = three_classes()
    rng = np.random.default_rng(2)
    y = pd.Series(100 + 400 * X["x"] + 200 * (X["c"] == "red") + rng.normal(0, 60, N), name="price")
    y[[1, 2, 3, 4]] = np.nan, np.inf, -5.0, 9000.0
    return X, y, Domain(domain.attributes, response=Continuous("price", 0, 800, unit="dollars"))


@pytest.mark.parametrize("how", [{"n_rounds": 6}, {"delta": 1e-5}], ids=["pure", "with δ"])
def test_a_regressor_is_the_same_to_the_bit(session: SparkSession, how: dict[str, Any]) -> None:
    X, y, domain = priced()
    make = partial(PrivateBoosterRegressor, epsilon=8.0, **how)
    records = partial(Records, X, domain=domain, strict=False)
    table = spark.SparkTable(table_of(session, X, y, parts=3), domain, key="id")
    check_equal(make, records(y), table)
    rounded = make(random_state=3).fit(records(y.round()))  # broken twin: labels are kept as whole numbers
    assert parts_of(rounded) != parts_of(make(random_state=3).fit(table))


def test_numbers_are_predicted_in_spark(session: SparkSession) -> None:
    X, y, domain = priced()
    make = partial(PrivateBoosterRegressor, domain=domain, epsilon=8.0, n_rounds=6)
    model, twin = (make(random_state=seed).fit(X, y) for seed in (0, 1))
    wide = X.assign(id=X.index, probability=0.5)
    found = spark.predict(model, session.createDataFrame(wide).repartition(3)).toPandas().set_index("id")
    assert found.columns.tolist() == [*X.columns, "probability", "prediction"]
    assert found["prediction"].dtype == np.float64
    np.testing.assert_array_equal(found["prediction"].loc[X.index], model.predict(X))
    assert not np.array_equal(found["prediction"].loc[X.index], twin.predict(X))
    with pytest.raises(DomainError, match="has a column prediction already"):
        spark.predict(model, session.createDataFrame(found))


def test_numbers_that_do_not_fit_are_told_as_in_memory(session: SparkSession) -> None:
    X, y, domain = priced()
    frame = table_of(session, X, y, parts=2)
    typed = {kind: frame.withColumn("price", frame["price"].cast(kind)) for kind in ("int", "string")}
    spark.SparkTable(typed["int"], domain)
    with pytest.raises(DomainError, match="'price' must hold numbers, but its Spark type is string; cast it"):
        spark.SparkTable(typed["string"], domain)
    with pytest.raises(DomainError, match="'price' hold NaN in 1 of 900 records; drop these") as here:
        Records(X, y, domain=domain)
    with pytest.raises(DomainError) as there:
        PrivateBoosterRegressor().fit(spark.SparkTable(frame, domain, strict=True))
    assert str(here.value).startswith(
        str(there.value)
    )  # a pass over the table keeps the first kind of misfit


def test_a_target_of_another_kind_is_refused_in_spark(session: SparkSession, three: Any) -> None:
    (X, y, domain), (_, label, classes) = priced(), three
    numbers = spark.SparkTable(table_of(session, X, y, parts=1), domain)
    words = spark.SparkTable(table_of(session, X, label, parts=1), classes)
    with pytest.raises(ValueError, match=r"'price' is a number, .* PrivateBoosterRegressor is for numbers"):
        PrivateBooster().fit(numbers)
    with pytest.raises(ValueError, match=r"'label' is a class, .* PrivateBooster is for classes"):
        PrivateBoosterRegressor().fit(words)


# --- Failures -------------------------------------------------------------------------------------------------


class FailsTwice:
    """Passes batches on; the first two attempts of a task fail after the first batch. Every attempt is noted."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        attempt = context.attemptNumber()
        (self.notes / f"{context.stageId()}-{context.partitionId()}-{attempt}").touch()
        for batch in batches:
            yield batch
            if attempt < 2:
                raise RuntimeError("this task fails twice")


def test_a_task_that_fails_twice_changes_nothing(session: SparkSession, three: Any, tmp_path: Path) -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    X, y, domain = three
    frame = table_of(session, X, y, parts=2)
    flaky = frame.mapInArrow(FailsTwice(tmp_path), frame.schema)
    # Every pass reads, and fails, again; a strict table is checked by a pass of its own.
    table = spark.SparkTable(flaky, domain, key="id", persist=False, strict=True)
    make = partial(EDPRF, n_trees=1, max_depth=1)
    check_equal(make, Records(X, y, domain=domain), table)
    attempts = pd.Series([path.name.rsplit("-", 1)[1] for path in tmp_path.iterdir()]).value_counts()
    assert attempts.to_dict() == dict.fromkeys("012", 2 * (1 + 1 + 1))  # two tasks: check, root, a level


def test_a_block_ends_with_the_batch_that_fills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 26)
    batches = [pa.RecordBatch.from_pydict({"x": [0.0] * 10})] * 7
    assert [len(table) for table in blocks._gathered(iter(batches))] == [30, 30, 10]


def test_a_task_that_always_fails_is_an_error(session: SparkSession, three: Any, tmp_path: Path) -> None:
    X, y, domain = three
    frame = table_of(session, X, y, parts=2)

    def broken(batches: Any) -> Any:
        raise RuntimeError("out of order")

    table = spark.SparkTable(frame.mapInArrow(broken, frame.schema), domain)
    with pytest.raises(DataError, match=r"Spark could not compute the table: RuntimeError: out of order$"):
        PrivateBooster(n_rounds=1, random_state=0).fit(table)


STACK = "An error occurred while calling o1.getResult.\n: a.b.SparkException: Job aborted\n\tat a.b.C(D:1)\n"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            ConnectionRefusedError(),
            "Java, in which Spark runs, has ended, .* local_session.memory='8g'. or so",
        ),
        (Py4JNetworkError("Answer from Java side is empty"), "Java, in which Spark runs, has ended"),
        (
            Py4JError(f"{STACK}Cannot call methods on a stopped SparkContext."),
            "session .* was stopped: start one",
        ),
        (
            Py4JError(STACK),
            "could not compute the table: a.b.SparkException: Job aborted; try without dpnb: frame",
        ),
        (
            Py4JError(f"{STACK}Caused by: x.Y: no space\n\tat z"),
            "could not compute the table: x.Y: no space; try",
        ),
        (Py4JError(""), "it gives no reason; try without dpnb"),
        (PythonException("The worker failed:\n  File x\nValueError: odd"), "the table: ValueError: odd$"),
    ],
)
def test_what_spark_says_comes_in_a_sentence(error: Exception, told: str) -> None:
    with pytest.raises(DataError, match=told) as said, in_words():
        raise error
    assert "\n" not in str(said.value)
    with pytest.raises(ZeroDivisionError), in_words():  # what is no word of Spark's stays as it is
        _ = 1 / 0


ENDED = """
import os, signal
from dpnb import Categorical, Domain
from dpnb.spark import SparkTable, local_session
session = local_session(cores=1, memory="512m")
frame = session.sql("SELECT 1 AS x, 'no' AS y")
domain = Domain((Categorical("x", (0, 1)),), ("no", "yes"), "y")
table = SparkTable(frame, domain)
java = session.sparkContext._gateway.proc
def says(what, use):
    try: use()
    except Exception as error: print(what, type(error).__name__, error, error.__suppress_context__)
session.stop()
says("stopped", lambda: SparkTable(frame, domain))
local_session(cores=1)
says("other", table.all_values)
says("closed", table.close)
os.kill(java.pid, signal.SIGKILL)
java.wait()
says("killed", lambda: SparkTable(frame, domain))
says("session", local_session)
"""


@pytest.mark.nightly  # it starts Java twice
def test_a_session_that_has_ended() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDED], capture_output=True, text=True, check=True, env=os.environ
    )
    stopped = (
        "DataError the session of this Spark table was stopped: start one, such as local_session(), .* True"
    )
    killed = "DataError Java, in which Spark runs, has ended, .*: start Python again, .* True"
    expected = [f"stopped {stopped}", f"other {stopped}", f"killed {killed}", f"session {killed}"]
    assert re.fullmatch("\n".join(expected).replace("()", r"\(\)"), done.stdout.strip()), done.stdout


# --- Names ----------------------------------------------------------------------------------------------------

HOSTILE = (  # of attributes, then of the target and the key
    "emp.var.rate", "a.b", "a", "A", "two words", "back`tick", "quo'te\"s", "com,ma", "Größe 中", "count", "_1", "1",
    " ", "`c.d`", "key.", "Key.",
)  # fmt: skip
BANK = (  # UCI's names, and another one for its "y"
    "job", "marital", "education", "default", "housing", "loan", "contact", "month", "day_of_week", "poutcome", "age",
    "campaign", "pdays", "previous", "emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed",
    "deposit", "id",
)  # fmt: skip


def called(names: tuple[str, ...]) -> tuple[pd.DataFrame, pd.Series[Any], Domain]:
    """Records whose attributes, target and key have these names; every third attribute is a word."""
    rng, (*attributes, target, key) = np.random.default_rng(5), names
    X = pd.DataFrame({name: rng.random(N).round(1) for name in attributes}).rename_axis(key)
    words = attributes[::3]
    X[words] = rng.choice(["red", "blue"], (N, len(words)))
    y = pd.Series(np.where(X[attributes[1]] + rng.normal(0, 0.1, N) > 0.5, "yes", "no"), name=target)
    made = (Categorical(n, ("red", "blue")) if n in words else Continuous(n, 0, 1) for n in attributes)
    return X, y, Domain(tuple(made), ("no", "yes"), target)


@pytest.mark.parametrize("names", [HOSTILE, BANK], ids=["hostile", "Bank's"])
@pytest.mark.parametrize("name", ["PrivateBooster, pure", "DiffPRFs, default"])
def test_columns_have_any_names(session: SparkSession, names: tuple[str, ...], name: str) -> None:
    X, y, domain = called(names)
    plain = X.set_axis(range(X.shape[1]), axis=1).assign(target=y, key=X.index)
    frame = session.createDataFrame(plain).repartition(2).toDF(*names)
    table = spark.SparkTable(frame, domain, key=names[-1])
    check_equal(MODELS[name], Records(X, y, domain=domain), table)
    table.check_keys()
    model = MODELS[name](domain=domain, random_state=0).fit(X, y)
    scored = spark.predict(model, frame)
    assert scored.columns == [*names, "prediction", "probability"]
    found = scored.toPandas().set_index(names[-1]).loc[X.index]
    np.testing.assert_array_equal(np.stack(found["probability"].to_list()), model.predict_proba(X))
    pd.testing.assert_frame_equal(found[[*domain.names]], X, check_dtype=False)


@pytest.mark.realdata
def test_bank_is_the_same_through_spark(session: SparkSession) -> None:
    data = dpnb.load("bank")
    X, y = (part.iloc[:2000] for part in data.train)
    frame = table_of(session, X, y.rename(data.domain.target), parts=2)
    table = spark.SparkTable(frame, data.domain, key="id")
    check_equal(MODELS["PrivateBooster, with δ"], Records(X, y, domain=data.domain), table)
    model = MODELS["EDPRF, default"](domain=data.domain, random_state=0).fit(X, y)
    found = spark.predict(model, frame).select("id", "probability").toPandas().set_index("id").loc[X.index]
    np.testing.assert_array_equal(np.stack(found["probability"].to_list()), model.predict_proba(X))


def test_a_name_that_two_columns_have(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    frame = session.createDataFrame(X.assign(label=y, id=X.index))
    model = PrivateBooster(domain=domain, n_rounds=1, random_state=0).fit(X, y)
    twice, labels = (frame.join(frame.select("id", name), "id") for name in ("x", "label"))
    for use in (lambda: spark.SparkTable(twice, domain), lambda: spark.predict(model, twice)):
        with pytest.raises(DomainError, match="as after a join: 'x'; rename or drop all but one of each"):
            use()
    with pytest.raises(DomainError, match="repeated columns, as after a join: 'label'"):
        spark.SparkTable(labels, domain)
    scored = spark.predict(model, labels)  # needs no label
    assert scored.columns == [*labels.columns, "prediction", "probability"]
    assert len(scored.toArrow()) == N


def test_a_field_of_a_struct_is_no_column(session: SparkSession) -> None:
    domain = Domain((Continuous("a.b", 0, 1),), ("no", "yes"), "y")
    frame = session.sql("SELECT named_struct('b', 0.5D) AS a, 'yes' AS y")
    with pytest.raises(DomainError, match="'a' is a struct: ") as refused:
        spark.SparkTable(frame, domain)
    way_out = str(refused.value).partition("is a struct: ")[2].removesuffix(" takes its field")
    for taken in (eval(way_out), eval(way_out).withColumn("a", frame["a"]["b"] + 1)):
        assert [*spark.SparkTable(taken, domain)._frame.first()] == [0.5, "yes"]


def test_a_table_in_memory_with_the_name_of_the_key(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    wide = X.rename(columns={"x": "record key"})
    renamed = Domain(
        tuple(replace(a, name=n) for a, n in zip(domain.attributes, wide, strict=True)),
        domain.classes,
        domain.target,
    )
    spark.SparkTable.from_pandas(session, wide, y, domain=renamed).check_keys()


# --- Types ----------------------------------------------------------------------------------------------------

KINDS: dict[str, Attribute] = {
    "number": Continuous("v", -1, 3, missing=True),
    "date": Continuous("v", "2019-12-30", "2020-12-31", missing=True),
    "word": Categorical("v", ("0", "a", "true"), missing=True),
    "switch": Categorical("v", (False, True), missing=True),
    "bit": Categorical("v", (0, 1), missing=True),
    "whole": Categorical("v", (5, 2**60 + 1), missing=True),
}
BITS = {"number", "switch", "bit"}
CELLS: list[
    tuple[str, str, str, set[str]]
] = [  # in Spark's words, and the kinds of attributes that read them
    ("true", "false", "true", BITS),
    ("0Y", "1Y", "2Y", {*BITS, "whole"}),
    ("1S", "5S", "9S", {*BITS, "whole"}),
    ("1", "0", "-7", {*BITS, "whole"}),
    ("1L", "1152921504606846977L", "1152921504606846976L", {*BITS, "whole"}),
    ("1.0F", "0.1F", "float('nan')", {*BITS, "whole"}),
    ("1D", "NULL", "double('-inf')", {*BITS, "whole"}),
    ("1.0BD", "0.1BD", "NULL", {*BITS, "whole"}),
    ("1BD", "1152921504606846977BD", "5BD", {*BITS, "whole"}),
    ("'a'", "'2020-01-05'", "NULL", {"date", "word"}),
    ("'a' COLLATE UTF8_LCASE", "'A' COLLATE UTF8_LCASE", "NULL", {"date", "word"}),
    ("date'2020-01-05'", "date'2021-01-01'", "NULL", {"date"}),
    (
        "timestamp'2020-12-31 23:59:59'",
        "timestamp'2020-01-05 00:00:00'",
        "timestamp'2020-06-01 23:00:00'",
        {"date"},
    ),
    ("timestamp_ntz'2020-12-31 23:59:59'", "timestamp_ntz'2020-01-05 00:00:00'", "NULL", {"date"}),
    ("NULL", "NULL", "NULL", {*KINDS}),
    *(
        (cell, "NULL", "NULL", set())
        for cell in (
            "X'61'",
            "array(1)",
            "map(1, 2)",
            "named_struct('v', 1)",
            "parse_json('1')",
            "time'10:00:00'",
            "interval 1 day",
            "interval 1 month",
            "make_interval(1)",
        )
    ),
]


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Pacific/Auckland"])
def test_both_doors_read_each_type_or_spark_refuses_it(session: SparkSession, zone: str) -> None:
    """Memory has the cells that Spark shows; the zone of a session shifts no day."""
    with time_zone(session, zone):
        rows = ", ".join(f"({', '.join(row)})" for row in list(zip(*CELLS, strict=True))[:3])
        cells = session.sql(f"SELECT * FROM VALUES {rows}")
        asked = [
            (column, replace(attribute, name=f"{column} {kind}"), kind in CELLS[place][3])
            for place, column in enumerate(cells.columns)
            for kind, attribute in KINDS.items()
        ]
        for column, attribute, reads in asked:
            frame = cells.select(cells[column].alias(attribute.name))
            with (
                nullcontext() if reads else pytest.raises(DomainError, match=r"its Spark type is .*; cast it")
            ):
                columns.check_columns(frame, Domain((attribute,), (0, 1)))
        read = [(cells[column].alias(a.name), a) for column, a, reads in asked if reads]
        domain = Domain(tuple(attribute for _, attribute in read), (0, 1), "y")
        frame = cells.select(*(column for column, _ in read), lit(1).alias("y")).coalesce(1)
        here = frame.toPandas()
        moved = np.array([replaced(here[a.name], a) for a in domain.attributes])
        cuts = tuple(
            np.unique([row, np.nextafter(row, -np.inf)]) if isinstance(a, Continuous) else None
            for a, row in zip(domain.attributes, moved, strict=True)
        )
        codes = [row if c is None else np.searchsorted(c, row) for row, c in zip(moved, cuts, strict=True)]

        def there(*, strict: bool) -> dict[str, Any]:
            encoder = blocks.Encoder(domain, None, cuts, strict)
            return frame.mapInArrow(encoder, encoder.SCHEMA).toArrow().to_pylist()[0]

        encoder = blocks.Encoder(domain, None, cuts)
        np.testing.assert_array_equal(blocks.EncodedRecords(there(strict=False), encoder).columns, codes)
        told = {p: encoded(here[a.name], a, bounds=True)[1] for p, a in enumerate(domain.attributes)}
        assert pickle.loads(there(strict=True)["misfits"]) == {p: m for p, m in told.items() if m}
    with time_zone(session, "UTC"), pytest.raises(AssertionError):  # broken twin: a zone that shifts days
        np.testing.assert_array_equal(blocks.EncodedRecords(there(strict=False), encoder).columns, codes)


@contextmanager
def time_zone(session: SparkSession, zone: str) -> Iterator[None]:
    name = "spark.sql.session.timeZone"
    before = session.conf.get(name)
    session.conf.set(name, zone)
    yield
    session.conf.set(name, before)


def test_cells_that_python_does_not_have() -> None:
    """Spark has strings that are no texts, and dates beyond Python's; a whole number stays one beside a missing one."""
    days = replace(KINDS["date"], clip=True)
    far = pa.array([3_670_000, -1_000_000, 18266, None], pa.int32()).cast(pa.date32())
    assert columns.replaced_column(far, days, missing=()).tolist() == [days.high, days.low, 18266, days.floor]
    for missing in ([], [None]):
        wholes = pa.array([2**60 + 1, 5, *missing])
        assert columns.replaced_column(wholes, KINDS["whole"], missing=())[:2].tolist() == [1, 0]
    odd = pa.array([b"a", b"a\xff", None]).cast(pa.binary()).view(pa.string())
    assert columns.replaced_column(odd, KINDS["word"], missing=()).tolist() == [
        1,
        3,
        3,
    ]  # what is unknown is missing here
    assert len(set(label_keys(columns.key_column(odd)))) == 3
    for broken in (far, odd):  # broken twin: as pyarrow does it
        with pytest.raises((ValueError, pa.ArrowException)):
            list(broken.to_pandas())


# --- Errors ---------------------------------------------------------------------------------------------------


def spoilt(
    session: SparkSession, three: Any, column: str, value: Any, *, strict: bool = True
) -> Callable[[], Any]:
    X, y, domain = three
    frame = X.assign(label=y, id=range(N)).astype({column: object} if isinstance(value, str) else {})
    frame.loc[[3, 800], column] = value
    return lambda: EDPRF(random_state=0).fit(
        spark.SparkTable(session.createDataFrame(frame), domain, key="id", strict=strict)
    )


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "c",
            "mauve",
            r"unknown values in column 'c': 2 of 900 records, first 'mauve'; write `unknown: other` in the domain",
        ),
        (
            "label",
            "never",
            r"unknown values in the labels: 2 of 900 records, first 'never'; the domain's classes",
        ),
        ("c", None, r"column 'c' hold NaN in 2 of 900 records"),
        (
            "x",
            np.nan,
            r"values of column 'x' hold NaN in 2 of 900 records; write `missing: true` .* drop these records",
        ),
        ("x", np.inf, r"column 'x' holds inf in 2 of 900 records"),
        ("x", 1.5, r"column 'x' lies outside \[0, 1\] in 2 of 900 records: 1.5; write `clip: true`"),
    ],
)
def test_records_outside_the_domain(
    session: SparkSession, three: Any, column: str, value: Any, message: str
) -> None:
    fit = spoilt(session, three, column, value)
    with pytest.raises(DomainError, match=message):
        fit()
    # By default they are moved, as in memory: an error would tell of a record.
    assert spoilt(session, three, column, value, strict=False)().ledger_.epsilon <= 1 + 1e-9


OPTIONS = Domain(
    (
        Continuous("x", 0, 1, missing=True, clip=True),
        Categorical("c", ("red", "green"), missing=True, unknown="other"),
        Continuous("hours-per-week", 10, 20),
        Categorical("flag", (False, True), missing=True),
        Continuous("day", "2020-01-01", "2020-12-31", missing=True),
    ),
    DOMAIN.classes[:2],
    "label",
)


@pytest.mark.parametrize(
    "name",
    [
        nightly("PrivateBooster, pure"),
        "PrivateBooster, with δ",
        nightly("PearsonTree, C"),
        "EDPRF, default",
        nightly("DiffPRFs, full bags"),
    ],
)
def test_misfits_are_moved_as_in_memory(session: SparkSession, three: Any, name: str) -> None:
    X, y, _ = three
    rng = np.random.default_rng(1)
    day = pd.Series(
        pd.Timestamp("2019-12-01") + pd.to_timedelta(rng.integers(0, 500, N), unit="D"), dtype=object
    )
    X = X.assign(
        x=X["x"].where(rng.random(N) < 0.8, np.nan) * 1.5,
        c=X["c"].where(rng.random(N) < 0.9, None),
        flag=X["flag"].astype(object).where(rng.random(N) < 0.9, None),
        day=[moment.date() for moment in day],
    )
    X.loc[5, "x"] = np.inf
    model: Any = MODELS[name](random_state=0)
    here = model.fit(Records(X, y, domain=OPTIONS, strict=False)).predict_proba(
        X.assign(x=X["x"].clip(-9, 9))
    )
    for parts in (1, 3):
        table = spark.SparkTable(table_of(session, X, y, parts=parts), OPTIONS, key="id")
        there = model.fit(table).predict_proba(X.assign(x=X["x"].clip(-9, 9)))
        np.testing.assert_array_equal(here, there)


def test_a_key_that_is_missing_moves_no_other_record() -> None:
    keys = [columns.key_column(pa.array(part)) for part in ([1, 2**60 + 1], [1, 2**60 + 1, None])]
    np.testing.assert_array_equal(label_keys(keys[0]), label_keys(keys[1])[:2])
    twin = pa.array([1, 2**60 + 1, None]).to_numpy(
        zero_copy_only=False
    )  # broken twin: whole numbers become floats
    assert (label_keys(twin)[:2] != label_keys(keys[0])).any()


def test_keys_of_a_csv_file_are_those_of_a_column_of_texts(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "id,x,y\n" + "".join(f"{7 * i},0,no\n" for i in range(40)), encoding="utf-8"
    )
    (tmp_path / "d.yml").write_text(
        "target: y\nclasses: ['no', 'yes']\nattributes: [{name: x, continuous: [0, 1]}]\ncsv: {key: id}\n",
        encoding="utf-8",
    )
    index = dpnb.load(f"csv:{tmp_path / 't.csv'}", domain=tmp_path / "d.yml").train[0].index
    numbers = pa.array([int(label) for label in index])
    np.testing.assert_array_equal(label_keys(index), label_keys(columns.key_column(numbers.cast("string"))))
    assert (label_keys(index) != label_keys(columns.key_column(numbers))).all()  # broken twin: not cast


def test_errors_of_both_doors_agree(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    bad = X.assign(c=X["c"].where(X.index > 2, "mauve"))
    with pytest.raises(DomainError) as here:
        Records(bad, y, domain=domain)
    with pytest.raises(DomainError) as there:
        PrivateBooster().fit(spark.SparkTable(table_of(session, bad, y, parts=2), domain, strict=True))
    assert str(here.value) == str(there.value)


def test_a_strict_estimator_takes_no_table_that_moves_misfits(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    strict = PrivateBooster(strict=True)
    for loose in (
        spark.SparkTable(table_of(session, X, y, parts=1), domain),
        Records(X, y, domain=domain, strict=False),
    ):
        with pytest.raises(ValueError, match="encoded with strict=False: encode them with strict=True"):
            strict.fit(loose)
    strict.fit(Records(X, y, domain=domain))
    bad = X.assign(c=X["c"].where(X.index > 2, None))
    with pytest.raises(DomainError, match="hold NaN"):
        strict.fit(spark.SparkTable(table_of(session, bad, y, parts=1), domain, strict=True))


def test_other_things_than_tables_are_answered_by_name(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    frame, model = table_of(session, X, y, parts=1), PrivateBooster(domain=domain, n_rounds=1).fit(X, y)
    for mistake in (
        lambda: PrivateBooster(domain=domain).fit(frame),
        lambda: PrivateBooster(domain=domain).fit(frame, y),
        lambda: model.predict(frame),
        lambda: domain.check(frame),
    ):
        with pytest.raises(
            TypeError, match=r"X is a Spark table: fit\(SparkTable\(X, domain\)\) trains on it"
        ):
            mistake()
    with pytest.raises(TypeError, match=r"domain is of type str: .* Domain\.from_yaml"):
        spark.SparkTable(frame, "d.yml")  # type: ignore[arg-type]
    for other in (lambda: spark.SparkTable(X, domain), lambda: spark.predict(model, X)):
        with pytest.raises(TypeError, match="frame is of type DataFrame: expected a Spark DataFrame"):
            other()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cores": 0}, "cores=0: expected a number of threads"),
        ({"cores": True}, "cores=True: expected"),
        ({"cores": "many"}, "cores='many': expected"),
        ({"memory": "1x"}, "memory='1x': expected a number and a unit, such as '2g'"),
        ({"memory": 2}, "memory=2: expected"),
        ({"driver_memory": "3g"}, "no option 'driver_memory'; there are cores, memory, and Spark's settings"),
    ],
)
def test_a_session_that_spark_would_not_understand(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        spark.local_session(**options)


def test_dates_are_not_guessed_in_spark_either() -> None:
    days = Continuous("day", "2000-01-01", "2020-12-31", format="%d/%m/%Y")
    texts = pa.array(["03/02/2001", "13/02/2001", "2001-02-03", None])
    numbers, misfit = columns.encode_column(texts, days, missing=())
    assert misfit == Misfit("no number", 1, ("2001-02-03",))
    assert numbers[:2].tolist() == [11356.0, 11366.0]
    middle = (days.low + days.high) / 2
    assert columns.replaced_column(texts, days, missing=()).tolist() == [11356.0, 11366.0, middle, middle]
    assert columns.encode_column(texts, replace(days, format=""), missing=())[1] == Misfit(
        "no number", 2, ("03/02/2001", "13/02/2001")
    )


def test_misfits_of_parts_of_a_table() -> None:
    one, other = Misfit("unknown", 2, ("a", "b")), Misfit("unknown", 3, ("b", "c"))
    assert one.joined(None) == one
    assert one.joined(other) == Misfit("unknown", 5, ("b", "c", "a"))
    missing = Misfit("missing", 1)
    assert missing.joined(one) == one.joined(missing) == missing


def test_columns_are_checked_before_anything_runs(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    frame = session.createDataFrame(X.assign(label=y, id=range(N)))
    with pytest.raises(DomainError, match=r"lacks the columns 'x', 'flag'; it has 'c', 'hours-per-week'"):
        spark.SparkTable(frame.drop("x", "flag"), domain)
    with pytest.raises(DomainError, match="lacks the columns 'customer'"):
        spark.SparkTable(frame, domain, key="customer")
    with pytest.raises(
        DomainError, match="column 'x' must hold numbers, but its Spark type is string; cast it"
    ):
        spark.SparkTable(frame.withColumn("x", frame["x"].cast("string")), domain)
    with pytest.raises(DomainError, match=r"column 'c' must hold values such as 'red', .*type is bigint"):
        spark.SparkTable(frame.withColumn("c", frame["id"]), domain)
    with pytest.raises(DomainError, match=r"target 'label' must hold .* type is boolean"):
        spark.SparkTable(frame.withColumn("label", frame["flag"]), domain)
    with pytest.raises(
        DomainError, match=r"the key 'x' must hold whole numbers or strings, .* type is double"
    ):
        spark.SparkTable(frame, domain, key="x")
    with pytest.raises(DomainError, match=r"lacks the columns 'x', .*; it has none; rename or add columns"):
        spark.SparkTable(frame.select(), domain)
    with pytest.raises(DataError, match=r"frame is a stream, .*: write them to a table, and read that"):
        spark.SparkTable(session.readStream.schema(frame.schema).parquet("."), domain)
    months = frame.withColumn("since", expr("interval 1 month"))
    spark.SparkTable(months, domain)
    model = PrivateBooster(domain=domain, n_rounds=1, random_state=0).fit(X, y)
    with pytest.raises(DomainError, match=r"'since' has the type interval month, .*: drop it, or cast it"):
        spark.predict(model, months)
    with pytest.raises(DomainError, match="has a column Probability already: rename it"):
        spark.predict(model, frame.withColumnRenamed("id", "Probability"))


def test_no_records(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    frame = session.createDataFrame(X.assign(label=y)).where("x > 2")
    for model in (PrivateBooster(n_rounds=3), PearsonTree(), EDPRF(n_trees=2), DiffPRFs(n_trees=2)):
        model.set_params(random_state=0)
        there = model.fit(spark.SparkTable(frame.withColumn("id", frame["hours-per-week"]), domain, key="id"))
        shares = there.predict_proba(X)
        here = model.fit(Records(X[:0], y[:0], domain=domain))
        np.testing.assert_array_equal(here.predict_proba(X), shares)


def test_bags_need_keys(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    frame = table_of(session, X, y, parts=2)
    table = spark.SparkTable(frame, domain)
    PearsonTree(random_state=0).fit(table)  # every record once: no key needed
    with pytest.raises(DataError, match="bags='disjoint' needs a key for each record"):
        EDPRF(n_trees=2).fit(table)
    with pytest.raises(DataError, match="shards needs a key"):
        PearsonTree(n_shards=3).fit(table)
    with pytest.raises(DataError, match=r"check_keys\(\) needs a key"):
        table.check_keys()
    doubled = spark.SparkTable(frame.union(frame), domain, key="id")
    with pytest.raises(ValueError, match="column 'id' has repeated keys, first"):
        doubled.check_keys()
    together = frame.union(frame).coalesce(1)
    with pytest.raises(ValueError, match="column 'id' has at least 900 repeated keys"):
        EDPRF(n_trees=2).fit(spark.SparkTable(together, domain, key="id", strict=True))
    EDPRF(n_trees=2, random_state=0).fit(spark.SparkTable(together, domain, key="id"))  # an error would tell


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DiffPRFs(bags="bootstrap"), "bags='bootstrap' depend on the number and the order"),
        (EDPRF(bags="parts"), "bags='parts' depend on the number and the order"),
        (PearsonTree(n_shards=4, shards="position"), "blocks by position"),
        (
            DiffPRFs(bounds="data", selection="two-step"),
            "asks its records for 'observed_bounds', which only the in-memory",
        ),
        (DPAda(filter_rounds=2), "asks its records for 'afford', which only the in-memory"),
    ],
)
def test_what_only_the_in_memory_door_answers(model: Any, message: str, adult: Any, tables: Any) -> None:
    with pytest.raises(DataError, match=message):
        model.set_params(random_state=0).fit(tables["adult"][1])


DOORS = (
    (spark.SparkTable, Records, RecordsDoor),
    (trees.SparkCohort, Cohort, CohortDoor),
    (boosting.SparkWeighted, WeightedRecords, WeightedDoor),
    (boosting.SparkScored, ScoredRecords, ScoredDoor),
)


def unanswered(implementation: type, door: type) -> set[str]:
    """Questions of a door that a class neither answers nor refuses; two follow from others."""
    methods = {name for name, value in vars(door).items() if callable(value) and not name.startswith("_")}
    return methods - {"part", "condition_tables"} - set(vars(implementation))


@pytest.mark.parametrize(("there", "here", "door"), DOORS)
def test_both_sides_of_a_door_answer_or_refuse_every_question(there: type, here: type, door: type) -> None:
    assert unanswered(there, door) == unanswered(here, door) == set()
    assert unanswered(type("Twin", (door,), {}), door)
    assert not issubclass(there, here)


def test_a_question_of_no_door_is_an_ordinary_error(tables: Any) -> None:
    with pytest.raises(AttributeError):
        _ = tables["three"][1].anything
    with pytest.raises(DataError, match="asks its records for 'keys'"):
        _ = tables["three"][1].keys
    weighted = tables["adult"][1].weighted(public_grid(tables["adult"][1].domain))
    with pytest.raises(DataError, match="asks its records for 'weights'"):
        _ = weighted.weights
    with pytest.raises(DataError, match="asks its records for 'outcome by other weights'"):
        weighted.outcome(weighted.grid.stump(0), np.ones(3))


def test_too_many_values(
    tables: Any, session: SparkSession, three: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, domain = three
    table = spark.SparkTable(table_of(session, X, y, parts=2), domain, key="id")
    monkeypatch.setattr(table_module, "MAX_VALUES", 50)
    with pytest.raises(
        DataError, match="column 'x' has more than 50 different values, and this algorithm looks at"
    ):
        MODELS["DiffPRFs, default"](random_state=0).fit(table)


def test_nothing_is_kept_of_records_that_do_not_fit(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    kept = session.sparkContext._jsc.getPersistentRDDs
    before = kept().size()
    table = spark.SparkTable(table_of(session, X.assign(c="mauve"), y, parts=1), domain, strict=True)
    with pytest.raises(DomainError, match="unknown values"):
        PrivateBooster().fit(table)
    assert kept().size() == before
    PearsonTree(random_state=0).fit(spark.SparkTable(table_of(session, X, y, parts=1), domain))
    assert kept().size() == before + 1  # broken twin: what fits is kept


def test_fits_on_the_same_thresholds_share_their_blocks(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    kept = session.sparkContext._jsc.getPersistentRDDs
    before = kept().size()
    with spark.SparkTable(table_of(session, X, y, parts=1), domain) as table:
        for n_rounds in (1, 2):
            PrivateBooster(n_rounds=n_rounds, random_state=0).fit(table)
        assert kept().size() == before + 1
        PrivateBooster(n_rounds=1, uniform=3, random_state=0).fit(table)
        assert kept().size() == before + 2  # broken twin: others need blocks of their own
    assert kept().size() == before


def test_a_running_session_is_left_as_it_is(session: SparkSession) -> None:
    name = "spark.sql.shuffle.partitions"
    before = session.conf.get(name)
    assert spark.local_session(spark__sql__shuffle__partitions="3") is session
    assert session.conf.get(name) == before != "3"


# --- Java -----------------------------------------------------------------------------------------------------


def fake_java(folder: Path, version: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return folder


def test_java_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spark.check_java() >= 17
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, "21.0.5")))
    assert spark.check_java() == 21


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("11.0.2", "is Java 11, but Spark needs Java 17 or later; install"),
        ("1.8.0_292", "is Java 8, but"),
        ("16", "is Java 16, but"),
        ("?", "-version says"),
        ("", r"JAVA_HOME=.* holds no bin/java; install Java 17"),
        (None, "there is no 'java' on PATH and no JAVA_HOME; install Java 17"),
    ],
)
def test_a_java_that_will_not_do(
    version: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version) if version else tmp_path))
    if version is None:
        monkeypatch.delenv("JAVA_HOME")
    with pytest.raises(DataError, match=told):
        spark.local_session()


def test_a_session_needs_no_address_of_its_host(session: SparkSession) -> None:
    """Java would look the host's name up, which some containers have no address for."""
    assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert (
        session.conf.get("spark.driver.host") == session.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    )


# --- Prediction -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["PrivateBooster, pure", "EDPRF, default", "PearsonTree, C"])
def test_prediction_in_spark(name: str, session: SparkSession, three: Any) -> None:
    X, y, domain = three
    model = MODELS[name](domain=domain, random_state=0).fit(X, y)
    wide = X.assign(id=X.index, note="kept")
    wide.loc[5, "x"] = 7.0  # beyond the bounds: routed like them
    found = (
        spark.predict(model, session.createDataFrame(wide).repartition(3))
        .toPandas()
        .set_index("id")
        .loc[X.index]
    )
    with pytest.warns(UserWarning, match=r"column 'x': .* counted as"):
        expected = model.predict_proba(wide[X.columns])
    np.testing.assert_array_equal(np.stack(found["probability"].to_list()), expected)
    assert found["prediction"].tolist() == model.classes_[expected.argmax(axis=1)].tolist()
    assert found.columns.tolist() == [*X.columns, "note", "prediction", "probability"]


def test_predictions_are_checked(session: SparkSession, three: Any) -> None:
    X, y, domain = three
    model = PrivateBooster(domain=domain, n_rounds=1, random_state=0).fit(X, y)
    strict = PrivateBooster(domain=domain, n_rounds=1, random_state=0, strict=True).fit(X, y)
    frame = session.createDataFrame(X)
    with pytest.raises(DomainError, match="lacks the columns 'c'"):
        spark.predict(model, frame.drop("c"))
    with pytest.raises(DomainError, match="has a column prediction already"):
        spark.predict(model, frame.withColumn("prediction", frame["x"]))
    odd = X.assign(c="mauve")
    with pytest.warns(UserWarning, match=r"'mauve' \(\d+\) counted as .* map them to one of"):
        expected = model.predict_proba(odd)
    with pytest.raises(
        Exception, match=r"'mauve' \(\d+\) counted as .*; predict\(model, frame, move=True\) counts"
    ):
        spark.predict(model, session.createDataFrame(odd)).collect()
    found = spark.predict(model, session.createDataFrame(odd), move=True).toPandas()
    np.testing.assert_array_equal(np.stack(found["probability"].to_list()), expected)
    with pytest.raises(Exception, match=r"unknown values in column 'c': .* first 'mauve'"):
        spark.predict(strict, session.createDataFrame(odd)).collect()


def test_markers_of_missing_values_are_the_same_through_spark(session: SparkSession, three: Any) -> None:
    """In training and prediction, of values and labels; an unknown value is missing where that is allowed."""
    X, y, domain = three
    attributes = tuple(replace(a, missing=True) for a in domain.attributes)
    marked = replace(domain, attributes=attributes, missing=("?", -99, "none"))
    X, y = X.copy(), y.copy()
    X.loc[X.index[::5], "x"], X.loc[X.index[1::5], "c"], y.iloc[::7] = -99.0, "?", "none"
    frame = table_of(session, X, y.rename(domain.target), parts=2)
    check_equal(
        MODELS["PrivateBooster, with δ"],
        Records(X, y, domain=marked, strict=False),
        spark.SparkTable(frame, marked, key="id"),
    )
    model = PrivateBooster(domain=marked, n_rounds=5, random_state=0).fit(X, y)
    empty = X.assign(x=X["x"].mask(X["x"] == -99), c=X["c"].mask(X["c"] == "?", None))
    expected = model.predict_proba(empty)
    for table in (X, empty, X.assign(c=X["c"].replace("?", "mauve"))):
        found = spark.predict(model, session.createDataFrame(table)).toPandas()
        np.testing.assert_array_equal(np.stack(found["probability"].to_list()), expected)
    twin = replace(marked, missing=())
    assert np.array_equal(marked.replaced(X), marked.replaced(empty))
    assert not np.array_equal(twin.replaced(X), twin.replaced(empty))


def test_a_model_goes_to_the_workers_without_ledger_and_seed(three: Any, session: SparkSession) -> None:
    X, y, domain = three
    model = PrivateBooster(domain=domain, n_rounds=1, random_state=np.random.default_rng(0)).fit(X, y)
    spark.predict(model, session.createDataFrame(X)).count()
    assert model.ledger_.epsilon == pytest.approx(1.0)
    assert isinstance(model.random_state, np.random.Generator)


def test_blocks_know_bins_as_the_memory_does() -> None:
    grid = public_grid(DOMAIN)
    encoder = blocks.Encoder(DOMAIN, None, grid.cuts)
    cuts = grid.cuts[0]
    assert cuts is not None
    values = np.sort(np.concatenate([cuts, cuts + 1e-9, [0.0, 1.0]]))
    numbers, misfit = columns.encode_column(pa.array(values.clip(0, 1)), DOMAIN.attributes[0], missing=())
    assert misfit is None
    np.testing.assert_array_equal(
        np.searchsorted(encoder.cuts[0], numbers), np.searchsorted(cuts, values.clip(0, 1))
    )


@pytest.mark.nightly
@pytest.mark.parametrize("chapter", ["05_pearson", "10_scale"])
@pytest.mark.filterwarnings("ignore::UserWarning:papermill", "ignore::DeprecationWarning")
def test_chapters_print_the_same_through_spark(chapter: str, root: Path, tmp_path: Path) -> None:
    committed = root / "notebooks" / f"{chapter}.ipynb"
    out = tmp_path / "out.ipynb"
    papermill.execute_notebook(
        committed,
        out,
        parameters={"engine": "spark"},
        cwd=str(committed.parent),
        progress_bar=False,
        log_output=False,
    )
    before, after = (printed(nbformat.read(path, as_version=4)) for path in (committed, out))
    assert before == after
    assert sum(map(len, before.values())) > 1000


def printed(notebook: Any) -> dict[str, str]:
    """What each code cell prints, warnings and errors included."""
    cells = [
        cell for cell in notebook.cells if cell.cell_type == "code" and "injected" not in str(cell.metadata)
    ]
    return {
        cell.id: "".join(str(o.get("text") or o.get("traceback") or "") for o in cell.outputs)
        for cell in cells
    }


def test_root_counts_of_a_forest_take_one_pass(
    three: Any, tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[Any] = []
    run = blocks.Encoding.run
    monkeypatch.setattr(
        blocks.Encoding, "run", lambda self, task, **keys: passes.append(task) or run(self, task, **keys)
    )
    EDPRF(n_trees=3, max_depth=2, stop="depth", random_state=0).fit(tables["three"][1])
    assert len(passes) == 1 + 3 * 2  # the roots of all trees, then a pass a level of each
    passes.clear()
    PrivateBooster(n_rounds=4, random_state=0).fit(tables["adult"][1])
    assert len(passes) == 1 + 4  # the number of records, then a pass a stump
    passes.clear()
    DPAda(n_rounds=4, schedule="all", random_state=0).fit(tables["adult"][1])
    assert len(passes) == 2 * 4  # scores of the stumps, then the weight that the chosen one is right on


def test_cached_roots_are_those_of_their_seed(three: Any, tables: Any) -> None:
    X, y, domain = three
    table, records = tables["three"][1], Records(X, y, domain=domain)
    for seed in (1, 2):
        bags = Bags("poisson", 2)
        for tree in (0, 1):
            here = records.bag(bags, seed=seed, tree=tree).class_counts(1)
            np.testing.assert_array_equal(table.bag(bags, seed=seed, tree=tree).class_counts(1), here)


@pytest.mark.parametrize(
    ("page", "domain", "made"),
    [("README.md", "people", ()), ("book/cluster.md", "people-domain", ["scored.parquet"])],
)
@pytest.mark.filterwarnings("ignore:about 300 records")
def test_a_page_runs_as_printed(
    session: SparkSession,
    page: str,
    domain: str,
    made: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # of Python; Java keeps the folder in which it was started
    files = session._jvm.org.apache.hadoop.fs
    system = files.FileSystem.get(session._jsc.hadoopConfiguration())
    system.setWorkingDirectory(files.Path(str(tmp_path)))
    as_people(tmp_path)
    shutil.move("people.yml", f"{domain}.yml")
    names: dict[str, Any] = {"PrivateBooster": PrivateBooster}  # README imports it further up
    codes = [code for language, code in code_blocks((ROOT / page).read_text("utf-8")) if language == "python"]
    run = [code for code in codes if page != "README.md" or "dpnb.spark" in code]
    assert run
    for code in run:
        exec(compile(code, page, "exec"), names)
    assert names["model"].ledger_.epsilon <= 1 + 1e-9
    assert [len(pd.read_parquet(name)) for name in made] == [300] * len(made)


def test_the_package_does_not_need_spark() -> None:
    code = """
import sys
sys.modules["pyspark"] = None
import dpnb, dpnb.papers.edprf
try:
    import dpnb.spark
except ImportError as error:
    print(error)
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert "pip install '.[spark]'" in found.stdout
