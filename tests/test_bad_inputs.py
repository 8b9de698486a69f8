"""What people see who make a mistake: every message names the value, the expectation and the way out.

A case says what is called, and what of the message answers the three questions *what was wrong*, *what was expected*
and *what to do*, by patterns that must be found at places of their own. An error has to come from this package's own
code, not from inside a library. What a fit on a given domain says is the same whatever the records hold.
"""

# ruff: noqa: E501 - a case a line

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import traceback
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

import dpnb
import private_trees
from dpaudit import cli as auditing
from dpnb import Categorical, Continuous, DataError, Domain, DomainError, Ledger, PrivateBooster
from dpnb.papers.baselines_forest import balanced_depth
from dpnb.papers.diffprfs import DiffPRFs
from dpnb.papers.dpada import DPAda, Reading
from dpnb.papers.edprf import EDPRF
from dpnb.privacy.ledger import Budget, BudgetExceededError, zcdp_epsilon, zcdp_rho
from dpnb.records.memory import Records
from dpnb.release import commands
from private_trees import experiments
from private_trees.lineage.trees import DiffPID3
from private_trees.site.notebook import ParameterError, check_parameters, integer, one_of, positive, text
from registered import ENTRIES, Entry

OURS = Path(dpnb.__file__).parent, Path(private_trees.__file__).parent
D = Domain((Continuous("age", 0, 100), Categorical("sex", ("f", "m"))), ("no", "yes"), "default")
DISCRETE = Domain((Categorical("g", ("a", "b")), Categorical("sex", ("f", "m"))), ("no", "yes"), "default")
THREE = Domain(D.attributes, ("no", "yes", "maybe"))
X = pd.DataFrame({"age": [1.0, 2, 3, 4], "sex": ["f", "m", "f", "m"]})
Y = pd.Series(["no", "yes", "no", "yes"])
OTHER = pd.DataFrame(
    {"age": [90.0, 17, 55, 71, 44, 44], "sex": ["m", "m", "m", "f", "f", "f"]}
)  # more, and others
OTHER_Y = pd.Series(["yes", "yes", "yes", "no", "no", "no"])


class Exit1(Exception):  # noqa: N818
    """A command that ends with status 1: the data or the model are not what they should be."""


class Exit2(Exception):  # noqa: N818
    """A command that ends with status 2: wrong words on the command line."""


@dataclass(frozen=True)
class Bad:
    """A mistake."""

    name: str  # in a few words
    call: Callable[[], object]  # what is called, in a folder with the files of :func:`files`
    # value, expected, way_out: patterns of the three parts of the message.
    value: str
    expected: str
    way_out: str
    error: type[BaseException] = ValueError  # its type
    theirs: bool = False  # whether the words are scikit-learn's, by its conventions
    falls_short: str = ""  # why the message is not good yet; empty if it is


# Words of a library that nobody should have to read.
NOISE = re.compile(
    r"codec can't|C error|np\.str_|<unicode string>| at 0x[0-9a-f]|__init__|unhashable type|not supported between|"
    r"could not convert|has no attribute '(?!\w+_' before)|math domain|NoneType'? object|must be real number|\[Errno 2\] No such"
)


def faults(message: str, bad: Bad) -> list[str]:
    """What a message lacks: parts that are not found, or only where another part stands; noise; brevity."""
    found, rest = [], message
    for part, pattern in (("value", bad.value), ("expectation", bad.expected), ("way out", bad.way_out)):
        hit = re.search(pattern, rest, re.DOTALL)
        if hit is None or not hit[0]:
            found.append(f"no {part}")
        else:
            rest = f"{rest[: hit.start()]}\0{rest[hit.end() :]}"
    if noise := NOISE.search(message):
        found.append(f"noise: {noise[0]!r}")
    if len(message) > 1500:
        found.append(f"{len(message)} characters")
    return found


def origin(error: BaseException) -> str:
    """File in which an exception was raised."""
    return traceback.extract_tb(error.__traceback__)[-1].filename


def verdict(error: BaseException | None, bad: Bad) -> list[str]:
    """What is wrong with how a mistake is answered."""
    if error is None:
        return ["accepted in silence"]
    found = faults(str(error), bad)
    if not isinstance(error, bad.error):
        found.append(f"a {type(error).__name__}, expected a {bad.error.__name__}")
    if (
        not bad.theirs
        and not isinstance(error, Exit1 | Exit2)
        and not any(Path(origin(error)).is_relative_to(ours) for ours in OURS)
    ):
        found.append(f"raised in {origin(error)}")
    return found


def answer(call: Callable[[], object]) -> BaseException | None:
    """How a call ends."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except Exception as error:
            return error
    return None


def command(main: Callable[[list[str]], int], line: str, *, stdin: str = "") -> Callable[[], None]:
    """A command line, whose status 1 or 2 and words on standard error become an exception."""

    def run() -> None:
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            try:
                status: Any = main(line.split())
            except SystemExit as error:
                status = error.code
        if status:
            raise {1: Exit1, 2: Exit2}[status](err.getvalue())

    return run


dpnb_ = partial(command, commands.main)
audit_ = partial(command, auditing.main)
grids_ = partial(command, experiments.main)

# --- Files ----------------------------------------------------------------------------------------------------------

YAML = """\
target: default
classes: ["no", "yes"]
attributes:
- name: age
  continuous: [0, 100]
- name: sex
  categorical: [f, m]
"""
ROWS = "age,sex,default\n" + "".join(
    f"{20 + i},{'fm'[i % 2]},{'yes' if i % 3 else 'no'}\n" for i in range(30)
)
MODULE = """\
from dpnb import PrivateBooster
def good(): return PrivateBooster(n_rounds=1)
def nothing(): return None
def kind(): return PrivateBooster
def boom(): raise KeyError("x")
number = 5
made = lambda: PrivateBooster(n_rounds=1)
"""


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, its domain file, two models, and files that are damaged."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "d.yml").write_text(YAML, encoding="utf-8")
    (folder / "t.csv").write_text(ROWS, encoding="utf-8")
    PrivateBooster(domain=D, n_rounds=2, random_state=0).fit(X, Y).release(folder / "m.json")
    DiffPRFs(domain=D, n_trees=1, max_depth=2, random_state=0).fit(X, Y).release(folder / "f.json")
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "made_up.py").write_text(MODULE, encoding="utf-8")
    (folder / "half_written.py").write_text("def f(:\n", encoding="utf-8")
    (folder / "results").mkdir()
    (folder / "results" / "lineage.csv").write_text("garbage\n1,2\n", encoding="utf-8")
    return folder


@pytest.fixture
def inside(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, which the call is made in."""
    folder = tmp_path / "here"
    shutil.copytree(files, folder)
    monkeypatch.chdir(folder)
    return folder


FILES: dict[str, bytes | str] = {
    "empty.csv": "",
    "header.csv": "age,sex,default\n",
    "semicolons.csv": ROWS.replace(",", ";"),
    "short.csv": "sex,default\nf,no\nm,yes\n",
    "ragged.csv": ROWS + "1,2,3,4,5\n",
    "short-row.csv": ROWS + "30\n",
    "quote.csv": ROWS + '30,"f,no\n',
    "outside.csv": ROWS + "500,f,no\n",
    "unknown.csv": ROWS + "50,x,no\n",
    "label.csv": ROWS + "50,f,perhaps\n",
    "word.csv": ROWS + "old,f,no\n",
    "decimal.csv": ROWS + '"20,5",f,no\n',
    "gone.csv": ROWS + ",f,no\n",
    "inf.csv": ROWS + "inf,f,no\n",
    "twice.csv": ROWS.replace("age,sex", "age,age", 1),
    "extra.csv": "id," + ROWS.replace("\n", "\n1,", 30),
    "latin.csv": ROWS.replace("f,", "é,").encode("latin-1"),
    "utf16.csv": ROWS.encode("utf-16"),
    "excel.xlsx": b"PK\x03\x04\x14\x00\x06\x00",
    "parquet.csv": b"PAR1" + bytes(30),
    "half.csv.gz": b"\x1f\x8b\x08\x00abc",
    "taken.csv": "age,sex,prediction\n20,f,1\n",
    "no.parquet": "no",
    "cut.json": '{"format": "dpnb mod',
    "deep.json": "[" * 100_000,
    "latin.txt": b"caf\xe9",
}

# --- Parameters: every field of every estimator ---------------------------------------------------------------------


def wrong_values(hint: str) -> list[Any]:
    """Values that no parameter of such a type takes; one that takes None, or any number, has fewer."""
    kinds: dict[str, list[Any]] = {
        "bool": ["yes"],
        "int": [-1, 1.5],
        "int | None": [-1],
        "float": ["half", float("nan")],
        "float | None": ["half"],
        "str": ["wrong"],
        "Neighbours": ["both"],
        "int | str": ["log2"],
        "Any": ["secret"],
        "Reading | None": ["literal"],
    }
    return kinds[hint]


WAYS = {  # what follows the expectation
    "bool": r"the default is (True|False)",
    "int": r"of at least \d",
    "int | None": r"of at least \d",
    "float": r"inf for no privacy|in \(0, 1\)|the default is|0\.1 to 1 are usual",
    "float | None": r"None for pure DP|the default is|leave it None|0\.1 to 1 are usual",
    "str": r"'[^']+'(, '[^']+')+",
    "Neighbours": r"'add-remove', 'replace'",
    "int | str": r"'all'",
    "Any": "whose noise comes from the operating system.*NumPy Generator",
    "Reading | None": "the default is None",
}


def fitting(entry: Entry, name: str, value: Any) -> Callable[[], object]:
    kind: Any = entry.estimator
    domain = DISCRETE if kind.discrete_only else entry.domain(D)
    records = X.rename(columns={"age": "g"}).assign(g=["a", "b", "a", "b"]) if kind.discrete_only else X
    return lambda: kind(**{"domain": domain, name: value}).fit(records, entry.labels(Y, D))


def sweep() -> Iterator[Bad]:
    for entry, found in ENTRIES.items():
        for field in fields(found.estimator):  # type: ignore[arg-type]
            hint = str(field.type)
            if field.name == "domain":
                continue
            for value in wrong_values(hint):
                yield Bad(
                    f"{entry}({field.name}={value!r})",
                    fitting(found, field.name, value),
                    rf"^{field.name}={re.escape(repr(value))}",
                    r"expected [\w ,()]+?|has no meaning for bags='\w+'",
                    WAYS[hint],
                )


SWEEP = list(sweep())

# --- Parameters that do not go together, and domain= ----------------------------------------------------------------


def forest(**parameters: Any) -> Callable[[], object]:
    return lambda: DiffPRFs(**({"domain": D, "n_trees": 2} | parameters)).fit(X, Y)


def booster(x: Any = X, y: Any = Y, **parameters: Any) -> Callable[[], object]:
    return lambda: PrivateBooster(**({"domain": D, "n_rounds": 2} | parameters)).fit(x, y)


PARAMETERS = [
    Bad("ε = 0", booster(epsilon=0), "epsilon=0", "expected a positive number", "inf for no privacy"),
    Bad("δ = 0", booster(delta=0.0), "delta=0.0", r"expected a number in \(0, 1\)", "such as 1e-6"),
    Bad("δ as large as a half", booster(delta=0.5), "delta=0.5", "each record with probability δ", "far less than one"),
    Bad("a huge step", booster(learning_rate=1e300), "learning_rate=1e.300", "expected a positive", "0.1 to 1 are usual"),
    Bad("a choice misspelt", forest(utility="maxx"), "utility='maxx'", "expected one of", "did you mean 'max'"),
    Bad("Bernoulli without a rate", forest(bags="bernoulli"), "bag_rate=None", "need a probability", r"in \(0, 1\]"),
    Bad("cover without a number", forest(bags="cover"), "bag_rate=None", "needs a whole number", r"in 1\.\.2 \(n_trees\)"),
    Bad("a rate for full bags", forest(bags="full", bag_rate=0.5), "bag_rate=0.5", "has no meaning for bags='full'", "leave it None"),
    Bad("a stop without its query", forest(stop="noisy"), "stop='noisy'", "reads the noisy size", "set size_query=True"),
    Bad("joint and multiway", forest(categorical="multiway"), "selection='joint'", "needs categorical='one-vs-rest'", "and thresholds='uniform'"),
    Bad("too deep", forest(max_depth=40, n_trees=1), "nodes at depth 40", "more than 1048576", "lower max_depth, or bin"),
    Bad("bins of binary splits", lambda: EDPRF(domain=D, bins="node-width").fit(X, Y), "bins='node-width'", "are of multiway splits", "set splits='multiway'"),
    Bad("filter and δ", lambda: DPAda(domain=D, filter_rounds=2, delta=1e-6).fit(X, Y), "filter_rounds=2", "the filter is for repaired, pure ε", "leave"),
    Bad("δ as written", lambda: DPAda(domain=D, reading=Reading(), delta=1e-6).fit(X, Y), "delta=1e-06", "the algorithm as written knows pure ε only", "None"),
    Bad("a reading's clip as text", lambda: Reading(clip="x"), "clip='x'", "expected a number", "the default is 1e-10"),
    Bad("a reading's clip", lambda: Reading(clip=0.7), "clip=0.7", "expected a number", r"in \(0, 0\.5\)"),
    Bad("a reading's switch", lambda: Reading(noise_in_round_1="no"), "noise_in_round_1='no'", "expected", "True"),
    Bad("three classes", lambda: DPAda(domain=THREE).fit(X, Y), "3 classes", "DPAda is for two", "PrivateBooster takes any number"),
    Bad("continuous attributes", lambda: DiffPID3(domain=D).fit(X, Y), "age are continuous", "takes discrete attributes only", r"fit it on domain.discretise\(10\)"),
    Bad("more records than stated", lambda: DiffPID3(domain=DISCRETE, max_records=2).fit(X.rename(columns={"age": "g"}).assign(g="a"), Y), "max_records=2", "there are more", "state a larger public bound"),
    Bad("a parameter misspelt", lambda: PrivateBooster(n_round=3), "'n_round'", "expected", "n_rounds", error=TypeError, falls_short="Python's own message: a dataclass has no say in it"),
    Bad("a parameter without its name", lambda: PrivateBooster(1.0), r"1\.0", "expected", "epsilon=", error=TypeError, falls_short="Python's own message: a dataclass has no say in it"),
    Bad("set_params misspelt", lambda: PrivateBooster().set_params(n_round=3), "'n_round'", "Invalid parameter", r"Valid parameters are: .*'n_rounds'", theirs=True),
    Bad("a depth from no records", lambda: balanced_depth(0, epsilon=1, n_trees=5), "n=0", "expected", "above 0"),
]  # fmt: skip

DOMAINS = [
    Bad(
        f"domain= {name}",
        booster(domain=domain),
        f"of type {type(domain).__name__}",
        "expected a Domain",
        way,
        TypeError,
    )
    for name, domain, way in (
        ("a path", "d.yml", r"Domain.from_yaml\('d.yml'\) reads a domain file"),
        ("a Path", Path("d.yml"), r"Domain.from_yaml\('d.yml'\) reads"),
        ("a document", D.document(), r"Domain.from_document\(\{...\}\) reads"),
        ("a data set", dpnb.load("adult-standin"), "pass its attribute domain"),
        ("attributes", list(D.attributes), r"Domain\(attributes, classes\) makes one"),
        ("a number", 5, "see dpnb.Domain"),
    )
]

# --- X and y --------------------------------------------------------------------------------------------------------

ROWS_WANTED = "expected a table or a 2-D array of records"
SHAPE = "X must be a table or a 2-D array"


def records(name: str, x: Any, value: str, expected: str, way_out: str, error: Any = ValueError) -> list[Bad]:
    """The same mistake in a fit and in a prediction."""
    model = PrivateBooster(domain=D, n_rounds=1, random_state=0).fit(X, Y)
    return [
        Bad(f"{name}, fit", booster(x), value, expected, way_out, error),
        Bad(f"{name}, predict", lambda: model.predict_proba(x), value, expected, way_out, error),
    ]


TABLES = [
    *records("no X", None, "X is None", ROWS_WANTED, "pandas.DataFrame makes one", TypeError),
    *records("a file name for X", "t.csv", r"of type str, 't\.csv'", ROWS_WANTED, "pd.read_csv reads a file", TypeError),
    *records("a dict of columns", X.to_dict("list"), "of type dict", ROWS_WANTED, r"pd.DataFrame\(X\) makes", TypeError),
    *records("a pair for X", (X, Y), "X is a pair", ROWS_WANTED, r"fit\(\*data.train\)", TypeError),
    *records("a sparse matrix", sp.csr_matrix(np.zeros((4, 2))), "X is sparse", "expected a table or a dense", "toarray", TypeError),
    *records("a list of dicts", X.to_dict("records"), "a list of dicts", SHAPE, r"pd.DataFrame\(X\) makes"),
    *records("ragged rows", [[1, "f"], [2]], "rows of different lengths", SHAPE, "give each record one value an attribute"),
    *records("one column", X["age"], "one record, of type Series", "expected a table or a 2-D array", "makes a table of it"),
    *records("a column twice", pd.concat([X, X["age"]], axis=1), "repeated columns: 'age'", "X has", "rename or drop"),
    Bad("a lazy table", booster(pl.DataFrame(X.to_dict("list")).lazy()), "X is a lazy table", ":", r"pass X.collect\(\)", TypeError),
    Bad("a column is missing", booster(X[["age"]]), "lacks the columns 'sex'", "it has 'age'", "rename or add"),
    Bad("a column too many", booster(X.assign(z=1)), "the domain does not know: 'z'", "X has columns", "drop them or add them"),
    Bad("three columns of an array", booster(np.zeros((4, 3))), "X has 3 features", "the domain has 2", "in this order: 'age', 'sex'"),
    Bad("no y", booster(y=None), "y is None", "requires y", "pass a label for each record"),
    Bad("y is too short", booster(y=Y[:3]), "inconsistent numbers of samples", "pass one label a record", r"Domain\.check\(X, y\) counts them"),
    Bad("weights", lambda: PrivateBooster(domain=D).fit(X, Y, sample_weight=np.ones(4)), "sample_weight", "expected records that weigh the same", "leave it out", error=TypeError),
    Bad("another argument", lambda: PrivateBooster(domain=D).fit(X, Y, weights=np.ones(4)), "'weights'", "expected X and y alone", "leave it out", error=TypeError),
    Bad("y of two columns", booster(y=np.zeros((4, 2))), "got 2 dimensions", "must be one-dimensional", "pass one a record"),
    *[
        Bad(f"y {name}{where}", booster(y=y, **domain), value, "must be one-dimensional", r"pass a column, such as table\['class'\]")
        for where, domain in (("", {}), (", without a domain", {"domain": None}))
        for name, y, value in (
            ("a column's name", "default", "y of type str, 'default'"),
            ("sparse", sp.csr_matrix([[1, 0, 0, 1]]), "y of type csr_matrix"),
        )
    ],
    Bad("y beside encoded records", lambda: PrivateBooster().fit(Records(X, Y, domain=D), Y), "y given beside encoded records", "they carry their labels", r"call fit\(records\)"),
    Bad("encoded on another domain", lambda: PrivateBooster(domain=THREE).fit(Records(X, Y, domain=D)), "domain differs", "the one that the records were encoded with", "leave it None, or encode them on it"),
    Bad("strict: outside", booster(X.assign(age=500), strict=True), "4 of 4 records: 500", r"outside \[0, 100\]", "`clip: true`"),
    Bad("strict: a label", booster(y=["no", "x", "yes", "no"], strict=True), "first 'x'", "classes are 'no', 'yes'", "add the missing classes"),
    Bad("strict: continuous y", booster(y=np.array([0.5, 1.2, 0.3, 0.1]), strict=True), "first 0.5", "classes are 0, 1", "map the labels"),  # an array of numbers holds codes
    Bad("without a domain: one class", booster(y=["no"] * 4, domain=None), r"one class: \('no',\)", "at least two classes", "list all"),
    Bad("without a domain: a label is missing", booster(y=["no", None, "yes", "no"], domain=None), "in 1 of 4 records", "labels hold NaN", "a name of its own"),
    Bad("without a domain: a number is missing", booster(X.assign(age=[1, None, 2, 3]), domain=None), "in 1 of 4 records", "'age' hold NaN", "drop these records"),
    Bad("without a domain: no records", booster(X[:0], Y[:0], domain=None), "from no records", "cannot infer a domain", "give a Domain"),
    Bad("without a domain: lists in cells", booster(X.assign(sex=[[1], [2], [1], [2]]), domain=None), "values of column 'sex'", r"must be a string or a number, got \[1\]", "convert them to texts", error=TypeError),
    Bad("without a domain: continuous labels", booster(y=[0.5, 1.2, 0.3, 0.1], domain=None), "continuous", "expects discrete classes", "Maybe you are trying to fit a classifier", theirs=True),
]  # fmt: skip

# --- Models that are fitted, or not ---------------------------------------------------------------------------------

MODEL = PrivateBooster(domain=D, n_rounds=2, random_state=0).fit(X, Y)
STRICT = PrivateBooster(domain=D, n_rounds=2, random_state=0, strict=True).fit(X, Y)
MODELS = [
    Bad("predict before fit", lambda: PrivateBooster().predict(X), "PrivateBooster instance", "is not fitted yet", "Call 'fit'", theirs=True),
    Bad("release before fit", lambda: PrivateBooster().release("x.json"), "PrivateBooster instance", "is not fitted yet", "Call 'fit'", theirs=True),
    Bad("importances before fit", lambda: PrivateBooster().feature_importances_, "'feature_importances_'", "expected a fitted model", r"call fit\(X, y\) first", AttributeError),
    Bad("one record in one dimension", lambda: MODEL.predict(np.array([1.0, 0.0])), "X is one-dimensional", "Reshape your data", r"X.reshape\(1, -1\)"),
    Bad("one record as a dict", lambda: MODEL.predict(X.iloc[0].to_dict()), "of type dict", "X is one record", r"pd.DataFrame\(\[X\]\)"),
    Bad("one record as a list", lambda: MODEL.predict([1.0, "f"]), r"1 dimension\(s\)", "Reshape your data", r"\[X\] for one record"),
    Bad("strict predict: a cell of 200 kB", lambda: STRICT.predict(X.assign(sex="x" * 200_000)), r"first 'x{76}\.\.\.", "unknown values", "map them"),
    Bad("predict: columns renamed", lambda: MODEL.predict(X.rename(columns={"sex": "Sex "})), "lacks the columns 'sex'", "it has", "rename 'Sex ' to 'sex'"),
    Bad("score: too few labels", lambda: MODEL.score(X, Y[:3]), r"\[3, 4\]", "inconsistent numbers of samples", "pass", theirs=True, falls_short="scikit-learn's own message"),
    Bad("shape of the other class", lambda: MODEL.shape("age", label="no"), "label='no'", "expected 'yes' or None", "upside down"),
    Bad("shape of no class", lambda: PrivateBooster(domain=THREE, n_rounds=1).fit(X, Y).shape("age"), "label=None", "expected one of", "'no', 'yes', 'maybe'"),
    Bad("explain for no class", lambda: MODEL.explain(X, label="x"), "label='x'", "expected 'yes' or None", "upside down"),
    Bad("release to a folder", lambda: MODEL.release("."), r"'\.'", "it is a folder", "name a file in it", OSError),
    Bad("release to no folder", lambda: MODEL.release("no/x.json"), "'no/x.json'", "there is no folder no", "make it first", OSError),
    Bad("release to a file that is there", lambda: MODEL.release("m.json"), "'m.json'", "there is such a file", "name another or remove it first", OSError),
    Bad("release to an empty name", lambda: MODEL.release(""), "path is empty", "expected a path", "such as 'model.json'", TypeError),
    Bad("release what JSON cannot hold", lambda: PrivateBooster(
        domain=Domain((Categorical("c", ((1, 2), (3, 4))),), (0, 1)), n_rounds=1
    ).fit(pd.DataFrame({"c": [(1, 2), (3, 4)]}), [0, 1]).release("x.json"), r"got \(1, 2\), \(3, 4\)", "hold only str, int, float", "name them by texts"),
]  # fmt: skip

# --- Documents ------------------------------------------------------------------------------------------------------

AGAIN = "fetch it again, or release the model again"
WHOLE = r"as model.release\(path\) writes it"


def document(change: Callable[[Any], Any], name: str = "m.json") -> Callable[[], object]:
    """Read a model whose document was changed."""

    def run() -> object:
        found = json.loads(Path(name).read_text(encoding="utf-8"))
        change(found)
        Path("changed.json").write_text(json.dumps(found), encoding="utf-8")
        return dpnb.read("changed.json")

    return run


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    """Put a value at a place of a document."""

    def change(found: Any) -> None:
        for key in path[:-1]:
            found = found[key]
        found[path[-1]] = value

    return change


AXIS = ("model", "models_", 0, "blocks", 0, "axes", 0)


def cut_short(found: Any) -> None:
    """A score less."""
    table = found["model"]["models_"][0]["table"]
    table["data"].pop()
    table["shape"][0] -= 1


TREE = ("model", "trees_", 0)
DOCUMENTS = [
    Bad(name, lambda file=file: dpnb.read(file), value, expected, way, DataError)
    for name, file, value, expected, way in (
        ("no such model", "n.json", "cannot read n.json", "No such file", r"did you mean 'm\.json'|is the name right"),
        ("a folder for a model", ".", r"cannot read \.", "Is a directory", "name a file in it"),
        ("a model cut short", "cut.json", "cut.json is not a JSON document", "expected a whole document", WHOLE),
        ("JSON a hundred thousand deep", "deep.json", "deep.json is not a model's JSON document", "expected a whole document", WHOLE),
    )
] + [
    Bad("a dict for a path", lambda: dpnb.read({"a": 1}), "path is of type dict", "expected a path", "such as 'model.json'", TypeError),
    Bad("of a later version", document(put("version", value=5)), "has version 5", "reads versions up to 4", "install the dpnb that wrote it", DataError),
    Bad("of a later package", document(lambda d: (put("versions", "dpnb", value="9.1.0")(d), put("parameters", "loss", value="x")(d))),
        "was written by dpnb 9.1.0", "this is dpnb", "install dpnb 9.1.0, or a later one", DataError),
    Bad("of this package, damaged", document(put("parameters", "loss", value="x")), "no parameter 'loss'", "is damaged", "fetch it again", DataError),
    Bad("of another format", document(put("format", value="onnx")), "is not a model", "expected format 'dpnb model'", "release", DataError),
    Bad("without its ledger", document(lambda d: d.pop("ledger")), "it lacks 'ledger'", "expected a whole document", WHOLE, DataError),
    Bad("of a class of the system", document(put("estimator", value="os:system")), "'os:system'", "no class that documents hold", "update dpnb", DataError),
    Bad("of another estimator", document(put("estimator", value="dpnb.papers.dpada:DPAda")), "a DPAda has model_", "damaged", AGAIN, DataError),
    Bad("bounds reversed", document(put("domain", "attributes", 0, "continuous", value=[9, 0])), "low=9, high=0", "must be low < high", "swap them", DataError),
    Bad("a class more", document(lambda d: d["domain"]["classes"].append("maybe")), "for 3 classes", "its model has no probabilities", AGAIN, DataError),
    Bad("a parameter out of range", document(put("parameters", "epsilon", value=-5)), "epsilon=-5", "expected a positive number", AGAIN, DataError),
    Bad("a choice that is none", document(put("parameters", "vote", value="loud"), "f.json"), "vote='loud'", "expected one of", AGAIN, DataError),
    Bad("a score that is no number", document(put("model", "models_", 0, "table", "data", 0, value="nan")), "some scores", "no finite numbers", AGAIN, DataError),
    Bad("a score less", document(cut_short), "a table of", r"for \d+ blocks of another size", AGAIN, DataError),
    Bad("a block on no attribute", document(put(*AXIS, "attribute", value=99)), "attribute=99", "does not fit the domain", AGAIN, DataError),
    Bad("an array of objects", document(put("model", "models_", 0, "table", "array", value="object")), "an array of object", "damaged", AGAIN, DataError),
    Bad("a ledger that says less", document(put("ledger", "epsilon", value=0.01)), "its ledger", "does not add up", AGAIN, DataError),
    Bad("a ledger with a negative cost", document(put("ledger", "entries", 0, "epsilon", value=-1)), "'epsilon': -1", "damaged: an entry of the ledger", AGAIN, DataError),
    *[
        Bad(f"a ledger of another {name}", document(put("parameters", name, value=value)), "its ledger is for", "its parameters are", AGAIN, DataError)
        for name, value in (("epsilon", 2.0), ("delta", 1e-6), ("neighbours", "replace"))
    ],
    Bad("a ledger by another rule", document(put("ledger", "rule", value="zCDP")), "its ledger", "does not add up", AGAIN, DataError),
    Bad("a ledger of nothing", document(lambda d: d["ledger"].update(entries=[], epsilon=0.0)), "ε = 0", "nothing was released", AGAIN, DataError),
    Bad("an object of the system", document(put("model", "models_", 0, "object", value="subprocess:Popen")), "'subprocess:Popen'", "no class that documents hold", "update dpnb", DataError),
    Bad("trees that vote otherwise", document(put("model", "vote", value="majority"), "f.json"), "its trees vote by 'majority'", "not as those of its parameters", AGAIN, DataError),
    Bad("leaks that are hidden", document(put("ledger", "leaks", value={"x": 1})), "its ledger", "does not add up", AGAIN, DataError),
    Bad("no trees", document(put("model", "trees_", value=[]), "f.json"), "for 2 classes", "no probabilities", AGAIN, DataError),
    Bad("a tree that goes in circles", document(put(*TREE, "first_child", "data", 0, value=0), "f.json"), "a tree has nodes", "no child, or children that come before", AGAIN, DataError),
    Bad("a tree on no attribute", document(put(*TREE, "splits", "attribute", "data", 0, value=9), "f.json"), "a tree has splits", "no known kind or attribute", AGAIN, DataError),
    Bad("a leaf without values", document(put(*TREE, "value", "data", -1, value="nan"), "f.json"), "a leaf", "without finite values", AGAIN, DataError),
]  # fmt: skip

# --- Attributes and domains -----------------------------------------------------------------------------------------

TWO = "must be two numbers or two dates"
WRITE = "write numbers as 2500.5 and dates as 2001-12-31"
LIST = "must be a list such as"
ATTRIBUTES = [
    Bad(name, call, value, expected, way, DomainError)
    for name, call, value, expected, way in (
        ("bounds reversed", lambda: Continuous("a", 1, 0), "low=1, high=0", "must be low < high", "swap them"),
        ("bounds alike", lambda: Continuous("a", 1, 1), "low=1, high=1", "must be low < high", "can be left out"),
        ("a bound that is NaN", lambda: Continuous("a", 0, np.nan), "high=nan", "must be finite", "with clip: true"),
        ("words for bounds", lambda: Continuous("a", "low", "high"), "low='low'", TWO, WRITE),
        ("switches for bounds", lambda: Continuous("a", False, True), "low=False", TWO, WRITE),
        ("1_0 for ten", lambda: Continuous("a", 0, "1_0"), "high='1_0'", TWO, WRITE),
        ("a day that is none", lambda: Continuous("a", "2001-02-30", "2002-01-01"), "low='2001-02-30'", TWO, WRITE),
        ("no name", lambda: Continuous("", 0, 1), "got ''", "must be a non-empty str", "write a text"),
        ("a number for a name", lambda: Continuous(3, 0, 1), "got 3", "must be a non-empty str", "in quotes"),
        ("missing: yes", lambda: Continuous("a", 0, 1, missing="yes"), "got 'yes'", "must be true or false", "write missing: true"),
        ("clip: 1", lambda: Continuous("a", 0, 1, clip=1), "got 1", "must be true or false", "write clip: true"),
        ("a number for a unit", lambda: Continuous("a", 0, 1, unit=5), "got 5", "must be a text", "write unit: years"),
        ("a text for values", lambda: Categorical("a", "yes"), "got 'yes'", LIST, "list all that can occur"),
        ("a set for values", lambda: Categorical("a", {"x"}), "got {'x'}", LIST, "list all that can occur"),
        ("no values", lambda: Categorical("a", ()), r"got \(\)", "must not be empty", "list all that can occur"),
        ("a value twice", lambda: Categorical("a", ("x", "y", "x")), "repeated: 'x'", "must be unique", "list each once"),
        ("1 and True", lambda: Categorical("a", (1, True)), "repeated: True", "must be unique", "are one value"),
        ("None among values", lambda: Categorical("a", ("x", None)), "value None", "must not hold the missing", "give it a name"),
        ("huge whole numbers", lambda: Categorical("a", (2**60, 2**60 + 1)), "1152921504606846976", "less than floats can tell", "as texts"),
        ("unknown: others", lambda: Categorical("a", ("x",), unknown="others"), "got 'others'", "'error' or 'other'", "write unknown: other"),
        ("no attributes", lambda: Domain((), ("a", "b")), "got none", "needs at least one attribute", "keep or list one"),
        ("one attribute, no list", lambda: Domain(Continuous("a", 0, 1), ("a", "b")), "got one, 'a'", "must be a list", r"write \[...\]"),
        ("dicts for attributes", lambda: Domain(({"name": "a"},), ("a", "b")), "got {'name': 'a'}", "Continuous or Categorical", "from_document"),
        ("a name twice", lambda: Domain((D["age"], D["age"]), ("a", "b")), "repeated: 'age'", "must be unique", "rename one"),
        ("the target is an attribute", lambda: Domain(D.attributes, ("a", "b"), "age"), "target 'age'", "name of an attribute", "rename one"),
        ("an attribute misspelt", lambda: D["agee"], "'agee'", "no attribute", "did you mean 'age'"),
        ("edges of categories", lambda: D.edges(1, 3), "'sex' is categorical", "has no edges", "a continuous attribute"),
        ("check tells all", lambda: D.check(X.assign(age=500), ["no", "x", "no", "no"]), "500.*'x'", "the domain's classes", "add the missing classes"),
        ("a path for a document", lambda: Domain.from_document("d.yml"), "it holds 'd.yml'", "expected the keys", "dpnb domain draft"),
    )
] + [
    Bad("no domain file", lambda: Domain.from_yaml("dd.yml"), "dd.yml", "No such file", "did you mean 'd.yml'", DataError),
    Bad("a folder for a domain file", lambda: Domain.from_yaml("."), r"domain file \.", "Is a directory", "name a file", DataError),
    Bad("None for a domain file", lambda: Domain.from_yaml(None), "of type NoneType", "expected a path", "'domain.yml'", TypeError),
    Bad("write to a folder", lambda: D.to_yaml("."), r"'\.'", "it is a folder", "name a file in it", OSError),
]  # fmt: skip

# --- Domain files ---------------------------------------------------------------------------------------------------


def written(content: str | bytes) -> Callable[[], object]:
    """Load the table with another domain file."""

    def run() -> object:
        Path("x.yml").write_bytes(content if isinstance(content, bytes) else content.encode())
        return dpnb.load("csv:t.csv", domain="x.yml")

    return run


def yaml(old: str, new: str) -> Callable[[], object]:
    assert old in YAML
    return written(YAML.replace(old, new))


KEYS = "xpected the keys target, classes, attributes"
BOUNDS = r"must read continuous: \[low, high\]"
READS = "expected {name: ..., continuous"
YAMLS = [
    Bad(f"domain file, {name}", call, value, expected, way, DomainError)
    for name, call, value, expected, way in (
        ("an empty file", written(""), "it is empty", KEYS, "dpnb domain draft"),
        ("a list", written("- 1\n"), r"it holds \[1\]", KEYS, "dpnb domain draft"),
        ("other JSON", written('{"a": 1}'), "an unknown key 'a'", KEYS, "dpnb domain draft"),
        ("bytes", written(b"\x00\xff\x80"), "x.yml", "not a YAML file in UTF-8", "save it as UTF-8"),
        ("tabs", yaml("  continuous", "\tcontinuous"), "line 5: found character", "not a YAML file", "indent with spaces"),
        ("a bracket open", yaml("[0, 100]", "[0, 100"), "line 6", "expected ',' or ']'", "check brackets"),
        ("a tag of Python", yaml("[f, m]", "!!python/tuple [f, m]"), "line 7: .*python/tuple", "not a YAML file", "check"),
        ("no classes", yaml('classes: ["no", "yes"]\n', ""), "it lacks 'classes'", KEYS, "dpnb domain draft"),
        ("class:", yaml("classes", "class"), "an unknown key 'class'", KEYS, "did you mean 'classes'"),
        ("classes with codes", yaml('["no", "yes"]', "{no: 0, yes: 1}"), "got {'no': 0", f"classes {LIST}", "list all"),
        ("a class that is null", yaml('["no", "yes"]', "[no, null]"), "first 'yes'", "classes are 'no', 'null'", "add the missing"),
        ("attributes by name", written("classes: [a, b]\nattributes:\n  age: [0, 100]\n"), "got {'age': ", "attributes must be a list", "- name: "),
        ("attributes without bounds", written("classes: [a, b]\nattributes: [age, sex]\n"), "attribute 1 reads 'age'", READS, "or {name: ..., categorical"),
        ("no name", yaml("name: age\n  cont", "cont"), "attribute 1 reads {'continuous'", READS, "or {name: ..., categorical"),
        ("bounds left empty", yaml("[0, 100]", ""), "got ''", BOUNDS, "bounds of 'age'"),
        ("neither bounds nor values", yaml("\n  continuous: [0, 100]", ""), "attribute 'age' reads {'name': 'age'}", READS, "or {name: ..., categorical"),
        ("bounds and values", yaml("categorical", "continuous: [0, 1]\n  categorical"), "attribute 'sex' reads", READS, "or {name: ..., categorical"),
        ("a number for bounds", yaml("[0, 100]", "3"), "got 3", BOUNDS, "bounds of 'age'"),
        ("1,000", yaml("[0, 100]", "[0, 1,000]"), r"got \[0, 1, '000'\]", BOUNDS, "bounds of 'age'"),
        ("continous:", yaml("continuous", "continous"), "attribute 'age' reads", "xpected {name: ...", "did you mean `continuous:`"),
        ("type: continuous", yaml("continuous: [0, 100]", "type: continuous\n  bounds: [0, 100]"), "'type': 'continuous'", READS, "or {name: ..., categorical"),
        ("clip of categories", yaml("[f, m]", "[f, m]\n  clip: true"), "attribute 'sex' reads", "have no `clip:`", "they may have `missing:`, `unknown:`"),
        ("clipped:", yaml("[0, 100]", "[0, 100]\n  clipped: true"), "'clipped': True", "have no `clipped:`", "did you mean `clip:`"),
        ("unit: date with numbers", yaml("[0, 100]", "[0, 100]\n  unit: date"), r"got \[0, 100\]", "unit of 'age' is 'date'", r"write bounds as \[2001-01-01"),
        ("bounds twice", yaml("[0, 100]", "[0, 100]\n  continuous: [0, 50]"), "the key 'continuous'", "comes twice, again in line 6", "remove one"),
        ("not filled in", yaml("[0, 100]", '["FILL IN", "FILL IN"]'), "'FILL IN'", "has still to be filled in", "for 'age'"),
        ("csv: a list", written(YAML + "csv: [a]\n"), r"got \['a'\]", "csv may hold", "ignore, key, .*missing, separator, decimal"),
        ("csv: ignored", written(YAML + "csv: {ignored: [a]}\n"), "got {'ignored'", "csv may hold", "did you mean 'ignore'"),
        ("csv: sep", written(YAML + "csv: {sep: ';'}\n"), "got {'sep': ';'}", "csv may hold", "did you mean 'separator'"),
        ("csv: ignore an attribute", written(YAML + "csv: {ignore: age}\n"), "'age'", "is an attribute or the target", "name it once"),
        ("csv: 30 %", written(YAML + "csv: {test_share: 30}\n"), "test_share=30", "expected a share in", "such as 0.3"),
        ("csv: a negative seed", written(YAML + "csv: {split_seed: -1}\n"), "got -1", "an integer of at least 0", "0 is the default"),
        ("csv: a number for the key", written(YAML + "csv: {key: 5}\n"), "got 5", "must be the name of a column", "in quotes"),
    )
]  # fmt: skip

# --- Tables ---------------------------------------------------------------------------------------------------------


def table(file: str, **options: Any) -> Callable[[], object]:
    return lambda: dpnb.load(f"csv:{file}", **({"domain": "d.yml"} | options))


COMMAS = "put cells that hold ',' in quotes"
MARKER = "csv: missing"
LOADS = [
    Bad("no such table", table("tt.csv"), r"cannot read tt\.csv", "No such file", "did you mean 't.csv'", DataError),
    Bad("a folder for a table", table("."), r"cannot read \.", "Is a directory", "name a file in it", DataError),
    Bad("an empty table", table("empty.csv"), "empty.csv is empty", "expected a line of column names", "a line for each record", DataError),
    Bad("a header only", table("header.csv"), "leaves no record to train on: it holds column names only", "expected a line for each record", "below them", DataError),
    Bad("semicolons", table("semicolons.csv"), "separated by ';'", "it has 'age;sex;default'", 'write `separator: ";"`', DomainError),
    Bad("a column is missing", table("short.csv"), "lacks the columns 'age'", "it has 'sex', 'default'", "rename or add columns", DomainError),
    Bad("a column twice", table("twice.csv"), "more than one column 'age'", "twice.csv has", "rename or remove", DomainError),
    Bad("a column too many", table("extra.csv"), "'id'", "does not mention", "list them under csv: ignore", DomainError),
    Bad("a line too long", table("ragged.csv"), "line 32 has 5 cells", "expected 3, as line 1 has", COMMAS, DataError),
    Bad("a line too short", table("short-row.csv"), "line 32 has 1 cell", "expected 3, as line 1 has", "was the file cut there", DataError),
    Bad("an unknown value", table("unknown.csv"), "first 'x'", "unknown values in column 'sex'", "`unknown: other`", DomainError),
    Bad("an unknown label", table("label.csv"), "first 'perhaps'", "classes are 'no', 'yes'", "map the labels", DomainError),
    Bad("a word for a number", table("word.csv"), "got 'old'", "must hold numbers", MARKER, DomainError),
    Bad("a decimal comma", table("decimal.csv"), "got '20,5'", "must hold numbers", 'Write `decimal: ","`', DomainError),
    Bad("an empty cell", table("gone.csv"), "column 'age' hold NaN", "in 1 of 31 records", "`missing: true`", DomainError),
    Bad("an infinite number", table("inf.csv"), "'age' holds inf", "in 1 of 31 records", "`clip: true`", DomainError),
    Bad("Latin letters", table("latin.csv"), "byte 0xe9", "is not a CSV file in UTF-8", "save it in UTF-8", DataError),
    Bad("UTF-16", table("utf16.csv"), "text in UTF-16", "is not a CSV file in UTF-8", "save it in UTF-8", DataError),
    Bad("Parquet", table("parquet.csv"), "a Parquet file", "is not a CSV file", "to_csv", DataError),
    Bad("half a gzip file", table("half.csv.gz"), "half.csv.gz", "damaged gzip file", "compress the table again", DataError),
    Bad("no domain", table("t.csv", domain=None), "got None", "needs domain=, the path of a YAML file", "dpnb domain draft", TypeError),
    Bad("a Domain for its file", table("t.csv", domain=D), "got an object of type Domain", "the path of a YAML file", "dpnb domain draft", TypeError),
    Bad("a domain file for a table", table("d.yml"), "d.yml: a cell in line 2", "goes on after its closing quote", "double the quotes", DataError),
    Bad("a number for the test table", table("t.csv", test=5), "test is of type int", "expected a path", "such as 'test.csv'", TypeError),
    Bad("test table and seed", table("t.csv", test="t.csv", split_seed=1), "with a test file", "nothing is split", "leave out test or split_seed"),
    Bad("an option that is none", table("t.csv", sep=";"), "'sep'", "has no option", "there are drop, domain, test", TypeError),
    Bad("a file without csv:", lambda: dpnb.load("t.csv", domain="d.yml"), "no data set 't.csv'", "expected 'csv:t.csv'", "with domain="),
    Bad("a Parquet file", lambda: dpnb.load("t.parquet"), "no data set 't.parquet'", "expected csv:FILE", "pandas reads other files"),
    Bad("a data set misspelt", lambda: dpnb.load("adlt"), "no data set 'adlt'", "There are adult, bank", "did you mean 'adult'"),
    Bad("us_only: yes", lambda: dpnb.load("adult-standin", us_only="yes"), "us_only='yes'", "expected one of", "False, True"),
    Bad("a split that is none", lambda: dpnb.load("adult-standin", split="half"), "split='half'", "expected one of", "'standard', 'merged'"),
    Bad("drop a number", table("t.csv", drop=5), "drop=5", "expected names of attributes", r"such as \['age', 'sex'\]", TypeError),
    Bad("a number for the folder", lambda: dpnb.load("bank", data_dir=5), "data_dir is of type int", "expected a path", "such as 'data'", TypeError),
    Bad("no bins of a data set", lambda: dpnb.load("adult-standin").discretised(0), "bins=0", "a whole number", "of at least 1"),
]  # fmt: skip

# --- The command dpnb -----------------------------------------------------------------------------------------------

COMMANDS = [
    Bad(line or "dpnb", dpnb_(line, stdin=stdin), value, expected, way, Exit1 if status == 1 else Exit2)
    for status, line, stdin, value, expected, way in (
        (2, "", "", "fit | predict", "arguments are required", "see dpnb --help"),
        (2, "foo", "", "invalid choice: 'foo'", "choose from", "'card', 'domain', 'fit', 'predict'"),
        (2, "domain draft t.csv", "", "--target", "arguments are required", "see dpnb domain draft --help"),
        (1, "predict m.json", "", "standard input is empty", "expected a line of column names", "a line for each record"),
        (1, "predict t.csv t.csv", "", "t.csv is not a model's JSON document: it begins with 'age,sex,", "expected a whole document", WHOLE),
        (1, "predict m.json tt.csv", "", "cannot read tt.csv", "No such file", "did you mean 't.csv'"),
        (1, "predict m.json quote.csv", "", "a quote in line 32", "never closed", "close it"),
        (1, "predict m.json excel.xlsx", "", "an Excel file", "is not a CSV file", "save the table as CSV"),
        (1, "predict m.json no.parquet", "", "no.parquet", "is not a Parquet file", "write it again"),
        (1, "predict m.json taken.csv", "", "column 'prediction' already", "is to be added", "rename or remove it"),
        (1, "predict m.json t.csv --out .", "", r"cannot write \.", "it is a folder", "name a file in it"),
        (1, "predict m.json t.csv --out no/x.csv", "", "cannot write no/x.csv", "there is no folder no", "make it first"),
        (1, "predict m.json t.csv --out x.xlsx", "", "cannot write x.xlsx", "expected a name that ends in", r"\.csv or \.parquet"),
        (1, "predict m.json t.csv --out t.csv", "", "cannot write t.csv", "there is such a file", "name another"),
        (1, "card m.json --report c.pdf", "", "cannot write c.pdf", "expected a name that ends in", r"\.html"),
        (1, "card m.json --report no/c.html", "", "cannot write no/c.html", "there is no folder", "make it first"),
        (1, "card m.json --report c.html --audit noo.txt", "", "cannot read noo.txt", "No such file", "is the name right"),
        (1, "card m.json --report c.html --audit latin.txt", "", "latin.txt", "is not the text of an audit", "python -m dpaudit"),
        (1, "domain draft t.csv --target defalt", "", "no column 'defalt'", "it has 'age'", "is 'default' one of them"),
        (1, "domain draft t.csv --target default --out d.yml", "", "cannot write d.yml", "there is such a file", "name another"),
        (1, "domain check t.csv d.yml", "", "t.csv: it holds", KEYS, "dpnb domain draft"),
        *(
            (status, f"fit t.csv --domain d.yml --out n.json {words}", "", value, expected, way)
            for status, words, value, expected, way in (
                (2, "--epsilon -1", "epsilon=-1.0", "expected a positive number", "or inf"),
                (1, "--epsilon 1 --out no/n.json", "cannot write no/n.json", "there is no folder", "make it first"),
                (1, "--epsilon 1 --domain dd.yml", "dd.yml", "No such file", "did you mean 'd.yml'"),
            )
        ),
        (1, "domain check d.yml outside.csv", "", r"records \(line 32\): 500", r"outside \[0, 100\]", "`clip: true`"),
    )
]  # fmt: skip

# --- Audits and grids -----------------------------------------------------------------------------------------------

HELP = "see python -m dpaudit --help"
AUDITS = [
    Bad(f"audit {line}", audit_(line), value, expected, way, Exit2)
    for line, value, expected, way in (
        ("made_up:good", "--epsilon", "arguments are required", HELP),
        ("made_up:good --epsilon 0", "--epsilon 0", "expected a positive number", "such as 1"),
        ("made_up:good --epsilon nan", "--epsilon nan", "expected a positive number", "such as 1"),
        ("made_up:good --epsilon 1 --runs 5", "--runs 5", "expected at least 40", "1000 is usual"),
        ("made_up:good --epsilon 1 --delta 2", "--delta 2", "from 0 to below 1", "such as 1e-6"),
        ("made_up:good --epsilon 1 --confidence 99", "--confidence 99", "expected between 0 and 1", "such as 0.99"),
        ("made_up:good --epsilon 1 --neighbours both", "'both'", "choose from 'add-remove', 'replace'", HELP),
        ("made_up:good --epsilon 1 --jobs 0", "--jobs 0", "expected", "at least 1"),
        ("made_up:good --epsilon 1 --report x.pdf", "--report x.pdf", "expected a name that ends in", r"\.html or \.png"),
        ("made_up:good --epsilon 1 --report no/x.html", "--report no/x.html", "there is no such folder", "make it first"),
        ("made_up --epsilon 1", "'made_up'", "expected module:function", "such as my_models:forest"),
        ("made_up.py:good --epsilon 1", "'made_up.py:good'", "expected module:function", "such as my_models:forest"),
        ("made_up:god --epsilon 1", "'god'", "has no", "did you mean 'good'"),
        ("no_such_module:f --epsilon 1", "cannot import 'no_such_module'", "No module named", "looked for in .* first"),
        ("half_written:f --epsilon 1", "cannot import 'half_written'", "invalid syntax", r"half_written.py, line 1"),
        ("made_up:number --epsilon 1", "made_up:number is int", "expected a function", "that returns an estimator"),
        ("made_up:nothing --epsilon 1", "returned NoneType", "no fit and no predict", "expected an unfitted estimator"),
        ("made_up:kind --epsilon 1", "returned type with a class", "not an object", "expected an unfitted estimator"),
        ("made_up:boom --epsilon 1", "KeyError: 'x'", "expected a function without arguments", "that returns an estimator"),
    )
] + [
    Bad(
        "audit of a lambda in two processes", audit_("made_up:made --epsilon 1 --jobs 2"), "made_up:made",
        "cannot be sent to other processes", "use --jobs 1 or a plain function", Exit2,
    ),
    *[
        Bad(f"grids {line}", grids_(line), value, expected, way, Exit1 if status == 1 else Exit2)
        for status, line, value, expected, way in (
            (2, "", "grid", "arguments are required", "see python -m private_trees.experiments --help"),
            (2, "diffprf", "invalid choice: 'diffprf'", "choose from", "'diffprfs'"),
            (2, "lineage --jobs 0", "--jobs 0", "expected", "at least 1"),
            (1, "lineage --results t.csv", "results to t.csv", "it is a file", "name a folder"),
            (1, "lineage --results /proc/x", "results to /proc/x", "No such file", "name a folder that you may write to"),
            (1, "lineage --results results", r"results/lineage\.csv", "its columns are not method, dataset", "move it away"),
        )
    ],
]  # fmt: skip

# --- Ledgers, budgets, notebooks -------------------------------------------------------------------------------------

REPLACE = PrivateBooster(domain=D, neighbours="replace")

BUDGETS = [
    Bad("a relation that is none", lambda: Ledger(neighbours="both", claimed=1), "neighbours='both'", "expected one of", "'add-remove'"),
    Bad("a ledger's δ", lambda: Ledger(delta=2, claimed=1), "delta=2", r"a number in \(0, 1\)", "None for pure DP"),
    Bad("a ledger's claim", lambda: Ledger(claimed="x"), "claimed='x'", "a number of at least 0", "that the text promises"),
    Bad("book a text", lambda: Ledger(claimed=1).book("x"), "of type str", "expected an Event", "Budget.book adds whole ledgers", TypeError),
    Bad("δ = 0 for zCDP", lambda: zcdp_epsilon(rho=1, delta=0), "delta=0", r"delta in \(0, 1\)", "such as 1e-6"),
    Bad("a negative ε for zCDP", lambda: zcdp_rho(epsilon=-1, delta=1e-6), "epsilon=-1", "a positive number", "or inf"),
    Bad("a budget of nothing", lambda: Budget(epsilon=0), "epsilon=0", "expected a positive number", "or inf"),
    Bad("a budget with a large δ", lambda: Budget(epsilon=1, delta=0.5), "delta=0.5", "each record with probability δ", "such as 1e-6"),
    Bad("a budget's relation", lambda: Budget(epsilon=1, neighbours="x"), "neighbours='x'", "expected one of", "'add-remove'"),
    Bad("ask for a negative ε", lambda: Budget(epsilon=1).check(PrivateBooster(domain=D, epsilon=-2)), "epsilon=-2", "a positive number", "or inf"),
    Bad("a budget's copy", lambda: copy(Budget(epsilon=1)), "a Budget is not copied", "expected threads that share it", "budget.book", TypeError),
    Bad("a strict fit", lambda: Budget(epsilon=5).fit(PrivateBooster(domain=D, strict=True), X, Y), "ε = 1 more", "the total is 5", "beyond its claim: see Privacy", BudgetExceededError),
    Bad("more than is left", lambda: Budget(epsilon=0.5).fit(PrivateBooster(domain=D), X, Y), "ε = 1 more", "the total is 0.5", "0.5 is left", BudgetExceededError),
    Bad("δ in a pure budget", lambda: Budget(epsilon=5).fit(PrivateBooster(domain=D, delta=1e-6), X, Y), "δ = 1e-06 more", "might make ε = ∞", "state a delta for the budget", BudgetExceededError),
    Bad("a fit without a domain", lambda: Budget(epsilon=5).fit(PrivateBooster(n_rounds=1), X, Y), "domain=None", "expected a Domain", "pass it to the estimator", BudgetExceededError),
    Bad("a model of scikit-learn", lambda: Budget(epsilon=5).fit(DecisionTreeClassifier(), X, Y), "of type DecisionTreeClassifier", "expected an estimator of this package", "PrivateBooster", TypeError),
    Bad("book a model", lambda: Budget(epsilon=5).book(MODEL), "of type PrivateBooster", "expected a Ledger", "pass its ledger_", TypeError),
    Bad("book another relation", lambda: Budget(epsilon=5).book(Ledger(neighbours="replace", claimed=1)), "a ledger for 'replace'", "a budget for 'add-remove'", "fit with the same"),
    Bad("a notebook's ε", lambda: check_parameters({"epsilon": -1}, epsilon=positive()), "'epsilon' is -1", "must be a finite number above 0", "-p epsilon VALUE", ParameterError),
    Bad("a notebook's parameter misspelt", lambda: check_parameters({"eps": 1}, epsilon=positive()), "'eps'", "not a parameter", "Did you mean 'epsilon'", ParameterError),
    Bad("a notebook's data set", lambda: check_parameters({"dataset": "adlt"}, dataset=one_of("adult", "bank")), "'adlt'", "must be one of", "Did you mean 'adult'", ParameterError),
    Bad("a notebook's seed", lambda: check_parameters({"seed": 1.5}, seed=integer(low=0)), "'seed' is 1.5", "an integer of 0 or more", "-p seed VALUE", ParameterError),
    Bad("a notebook's results", lambda: check_parameters({"results": "/no"}, results=text()), "results = '/no'", "expected 'committed'", "or a folder that holds results", ParameterError),
]  # fmt: skip

WRITTEN = [
    *PARAMETERS,
    *DOMAINS,
    *TABLES,
    *MODELS,
    *DOCUMENTS,
    *ATTRIBUTES,
    *YAMLS,
    *LOADS,
    *COMMANDS,
    *AUDITS,
    *BUDGETS,
]
CASES = [*WRITTEN, *SWEEP]


def params(cases: list[Bad]) -> list[Any]:
    """The cases; those that fall short are expected to, and noticed when they no longer do."""
    short = {
        bad: [pytest.mark.xfail(strict=True, reason=bad.falls_short)] for bad in cases if bad.falls_short
    }
    return [pytest.param(bad, id=bad.name, marks=short.get(bad, [])) for bad in cases]


@pytest.mark.parametrize("bad", params(CASES))
def test_a_mistake_is_answered(bad: Bad, inside: Path) -> None:
    before = sorted(path.name for path in inside.iterdir())
    error = answer(bad.call)
    assert verdict(error, bad) == [], f"{type(error).__name__}: {error}"
    if bad in COMMANDS:  # in a line, and nothing half written
        assert bad.error is Exit2 or str(error).count("\n") == 1
        assert sorted(path.name for path in inside.iterdir()) == before
    message = str(error)
    for pattern in (
        bad.value,
        bad.expected,
        bad.way_out,
    ):  # broken twins: the message without one of its parts
        assert faults(re.sub(pattern, "", message, flags=re.DOTALL), bad), pattern


def test_every_estimator_is_asked() -> None:
    assert sum(bool(bad.falls_short) for bad in WRITTEN) < 0.05 * len(WRITTEN)
    named = {bad.name.partition("(")[0] for bad in SWEEP}
    assert named == set(ENTRIES)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (None, "accepted in silence"),
        (ValueError("epsilon=-1"), "no expectation"),
        (KeyError("epsilon=-1: expected a positive number, or inf for no privacy"), "a KeyError, expected a ValueError"),
        (ValueError("epsilon=-1: expected a positive number, or inf for no privacy, <object at 0x7f>"), "noise: ' at 0x7'"),
        (ValueError("epsilon=-1: expected a positive number, or inf for no privacy" + " at all" * 500), "3561 characters"),
    ],
)  # fmt: skip
def test_the_judge_is_strict(error: Exception | None, fault: str) -> None:
    bad = Bad("", lambda: None, "epsilon=-1", "expected a positive number", "or inf for no privacy")

    def call() -> None:
        if error is not None:
            raise error

    assert fault in verdict(answer(call), bad)
    good = "epsilon=-1: expected a positive number, or inf for no privacy"
    assert faults(good, bad) == []
    assert faults(good, Bad("", call, "epsilon", "expected", "expected")) == [
        "no way out"
    ]  # one word is no two answers


def test_an_error_from_inside_a_library_is_convicted() -> None:
    bad = Bad("", lambda: None, "could", "convert", "float", ValueError)
    raw = answer(lambda: np.array(["x"]).astype(float))
    assert any(fault.startswith("raised in ") for fault in verdict(raw, bad))
    assert any(fault.startswith("noise") for fault in verdict(raw, bad))


# --- What a fit says does not depend on the records -----------------------------------------------------------------

People = tuple[pd.DataFrame, "pd.Series[Any]"]
PEOPLE: tuple[People, People] = ((X, Y), (OTHER, OTHER_Y))
GIVEN: dict[str, tuple[dict[str, Any], Callable[[pd.DataFrame, Any], tuple[Any, Any]]]] = {
    "as they are": ({}, lambda x, y: (x, y)),
    "ε": ({"epsilon": -1}, lambda x, y: (x, y)),
    "a seed": ({"random_state": "x"}, lambda x, y: (x, y)),
    "a domain's path": ({"domain": "d.yml"}, lambda x, y: (x, y)),
    "a column is missing": ({}, lambda x, y: (x[["age"]], y)),
    "a column too many": ({}, lambda x, y: (x.assign(z=x["age"]), y)),
    "a column twice": ({}, lambda x, y: (pd.concat([x, x["age"]], axis=1), y)),
    "a dict": ({}, lambda x, y: (x.to_dict("list"), y)),
    "a list of dicts": ({}, lambda x, y: (x.to_dict("records"), y)),
    "one column": ({}, lambda x, y: (x["age"], y)),
    "a flat array": ({}, lambda x, y: (x["age"].to_numpy(), y)),
    "a deep array": ({}, lambda x, y: (x.to_numpy()[:, None], y)),
    "no columns": ({}, lambda x, y: (x[[]], y)),
    "an array without columns": ({}, lambda x, y: (x[[]].to_numpy(), y)),
    "labels in a flat frame": ({}, lambda x, y: (x, np.array([y, y]))),
    "ragged rows": ({}, lambda x, y: ([row[: 1 + i % 2] for i, row in enumerate(x.values.tolist())], y)),
    "a pair": ({}, lambda x, y: ((x, y), y)),
    "a set": ({}, lambda x, y: (set(x["age"]), y)),
    "no labels": ({}, lambda x, y: (x, None)),
    "labels in a dict": ({}, lambda x, y: (x, dict(enumerate(y)))),
    "labels in a set": ({}, lambda x, y: (x, set(y) | {x["age"][0]})),
    "labels in a frame": ({}, lambda x, y: (x, y.to_frame().assign(more=0))),
    "labels in one column": ({}, lambda x, y: (x, y.to_frame())),
    "labels too few": ({}, lambda x, y: (x, y[:3])),
    "values outside": ({}, lambda x, y: (x.assign(age=-x["age"]), y)),
    "unknown values": ({}, lambda x, y: (x.assign(sex=x["age"].astype(str)), y)),
    "missing values": ({}, lambda x, y: (x.where(x["age"] != x["age"][0]), y)),
    "unknown labels": ({}, lambda x, y: (x, x["age"].astype(str))),
}


TAKEN = "as they are", "unknown labels", "labels in one column"


def told(kind: Any, given: str, people: People) -> str:
    """How a fit on a given domain ends."""
    parameters, change = GIVEN[given]
    error = answer(lambda: kind(**({"domain": D} | parameters)).fit(*change(*people)))
    return "a model" if error is None else f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize(
    "kind", [PrivateBooster, partial(DiffPRFs, n_trees=1, max_depth=1)], ids=["stumps", "trees"]
)
def test_what_a_fit_says_does_not_depend_on_the_records(kind: Any, given: str) -> None:
    first, second = (told(kind, given, people) for people in PEOPLE)
    assert first == second
    if GIVEN[given][0] == {} and "values" not in given and given not in TAKEN:
        assert first != "a model"


def test_words_that_depend_on_the_records_are_found() -> None:
    """Broken twin: a strict fit tells what it found, and to whom it belongs."""
    for given in ("values outside", "unknown values", "unknown labels", "labels too few"):
        kind = partial(PrivateBooster, strict=True)
        assert told(kind, given, PEOPLE[0]) != told(kind, given, PEOPLE[1])
