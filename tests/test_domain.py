"""The public domain: what it accepts, what it encodes, and what it says when something does not fit."""

import copy
import pickle
import string
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpnb.domain import Attribute, Categorical, Continuous, Domain
from dpnb.errors import DomainError, PrivacyLeakWarning

COLOURS = ("red", "green", "blue")
DOMAIN = Domain(
    (Continuous("age", 0, 100), Categorical("colour", COLOURS), Categorical("size", (1, 2, 3))),
    classes=("no", "yes"),
)
X = pd.DataFrame(
    {"age": [10, 20, 100], "colour": ["blue", "red", "green"], "size": [3, 1, 1]}, index=[7, 8, 9]
)
CODES = [[10, 2, 2], [20, 0, 0], [100, 1, 0]]


def test_derived_properties() -> None:
    assert DOMAIN.names == ("age", "colour", "size")
    assert (DOMAIN.n_attributes, DOMAIN.n_classes, DOMAIN.target) == (3, 2, "class")
    assert DOMAIN.continuous.tolist() == [True, False, False]
    assert DOMAIN.cardinalities.tolist() == [0, 3, 3]
    np.testing.assert_array_equal(DOMAIN.lows, [0, np.nan, np.nan])
    np.testing.assert_array_equal(DOMAIN.highs, [100, np.nan, np.nan])
    assert DOMAIN["colour"] == Categorical("colour", COLOURS)
    with pytest.raises(ValueError, match="read-only"):
        DOMAIN.lows[0] = -1


def test_is_a_value() -> None:
    DOMAIN.lows  # noqa: B018  (fills the cache, which must not get in the way)
    twin = Domain(DOMAIN.attributes, DOMAIN.classes)
    assert twin == DOMAIN
    assert hash(twin) == hash(DOMAIN)
    assert pickle.loads(pickle.dumps(DOMAIN)) == DOMAIN
    assert copy.deepcopy(DOMAIN) == DOMAIN
    with pytest.raises(AttributeError):
        DOMAIN.target = "other"


def test_lists_and_numpy_scalars_become_plain_tuples() -> None:
    domain = Domain([Categorical("a", np.arange(2))], classes=[np.str_("n"), np.str_("y")])
    assert domain == Domain((Categorical("a", (0, 1)),), ("n", "y"))
    assert [type(v) for v in (*domain["a"].values, *domain.classes)] == [int, int, str, str]


def test_subset_and_drop() -> None:
    assert DOMAIN.subset(["size", "age"]).names == ("size", "age")
    assert DOMAIN.subset("age").names == ("age",)
    assert DOMAIN.drop("colour") == DOMAIN.subset(["age", "size"])
    assert DOMAIN.drop() == DOMAIN


@pytest.mark.parametrize(
    "records",
    [
        X,
        X[["size", "age", "colour"]],
        X.astype({"colour": object}),
        X.astype({"colour": "category", "size": "category"}),
        X.astype({"age": "Int64", "size": "float64"}),
        X.to_numpy(),
        X.to_numpy().tolist(),
    ],
    ids=["frame", "reordered", "object", "category", "nullable", "array", "list"],
)
def test_encode(records: Any) -> None:
    codes = DOMAIN.encode(records)
    assert codes.tolist() == CODES
    assert codes.dtype == np.float64
    assert codes.flags.f_contiguous


def test_encode_of_odd_values() -> None:
    domain = Domain((Categorical("a", ((1, 2), True, "x", 2.5)),), classes=(False, True))
    column = pd.Series([2.5, (1, 2), "x", True], dtype=object)
    assert domain.encode(pd.DataFrame({"a": column}))[:, 0].tolist() == [3, 0, 2, 1]
    assert domain.encode_labels([True, False]).tolist() == [1, 0]


def test_encode_of_no_records() -> None:
    assert DOMAIN.encode(X.iloc[:0]).shape == (0, 3)
    assert DOMAIN.encode(np.empty((0, 3))).shape == (0, 3)


def changed(column: str, *values: object) -> pd.DataFrame:
    """Return the records with a column's first values replaced."""
    frame = X.astype({column: object})
    frame.loc[frame.index[: len(values)], column] = pd.Series(
        values, index=frame.index[: len(values)], dtype=object
    )
    return frame


BROKEN = [
    (
        changed("age", -1, 101),
        r"'age' lies outside \[0, 100\] in 2 of 3 records: -1, 101; write `clip: true`",
    ),
    (changed("age", np.nan), "'age' hold NaN in 1 of 3 records"),
    (changed("age", None), "'age' hold NaN in 1 of 3 records"),
    (changed("age", np.inf, -np.inf), "'age' holds inf in 2 of 3 records"),
    (changed("age", "old"), "'age' must hold numbers, got 'old'"),
    (changed("age", 1j), "'age' must hold numbers, got 1j"),
    (X.assign(age=X["age"] + 1j), r"'age' must hold numbers, got \(10"),
    (
        changed("colour", "pink", "pink"),
        "'colour': 2 of 3 records, first 'pink'; write `unknown: other` .*add them .*map them .*drop",
    ),
    (changed("colour", "a", "b", "c"), "3 of 3 records, first 'a', 'b', 'c';"),
    (changed("colour", None), "'colour' hold NaN in 1 of 3 records"),
    (changed("colour", np.nan).astype({"colour": "category"}), "'colour' hold NaN in 1 of 3"),
    (changed("colour", "pink").astype({"colour": "category"}), "'colour': 1 of 3 records, first 'pink'"),
    (changed("colour", ["red"]), r"unknown values in column 'colour': 1 of 3 records, first \['red'\]"),
    (changed("size", 2.5), "'size': 1 of 3 records, first 2.5"),
    (X.drop(columns=["age", "size"]), "lacks the columns 'age', 'size'"),
    (X.assign(weight=1, height=2), "does not know: 'weight', 'height'"),
    (pd.concat([X, X[["age"]]], axis=1), "repeated columns: 'age'"),
    (np.zeros((3, 2)), "X has 2 features, but the domain has 3"),
    (np.zeros(3), "2-D array, got 1 dimension.*reshape"),
    (np.zeros((1, 1, 1)), "got 3 dimension"),
    (pd.DataFrame(index=range(3)), "lacks the columns .*it has none"),
    ([[1, "red", 1], [1]], "2-D array, got 1 dimension"),
]


@pytest.mark.parametrize(("records", "message"), BROKEN)
def test_encode_refuses_broken_records(records: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DOMAIN.encode(records)


def test_prediction_lets_only_bounds_go() -> None:
    assert DOMAIN.encode(changed("age", -1, 101), strict=False)[:, 0].tolist() == [-1, 101, 100]
    for records in (
        changed("age", np.nan),
        changed("age", np.inf),
        changed("colour", "pink"),
        changed("size", None),
    ):
        with pytest.raises(DomainError):
            DOMAIN.encode(records, strict=False)


def test_encode_labels() -> None:
    expected = [1, 0, 1]
    for labels in (
        ["yes", "no", "yes"],
        np.array(["yes", "no", "yes"]),
        pd.Series(["yes", "no", "yes"], index=[3, 1, 2]),
    ):
        codes = DOMAIN.encode_labels(labels)
        assert codes.tolist() == expected
        assert codes.dtype == np.intp


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["yes", "maybe", "perhaps"],
            "in the labels: 2 of 3 .*'maybe', 'perhaps'; .*classes are 'no', 'yes'",
        ),
        (["yes", None], "the labels hold NaN in 1 of 2 records"),
        ([0.5, np.nan], "the labels"),
        ([["yes"], ["no"]], r"one-dimensional, got 2 dimensions"),
        ("yes", "one-dimensional, got y of type str, 'yes'; pass a column"),
    ],
)
def test_encode_labels_refuses(labels: Any, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        DOMAIN.encode_labels(labels)


def test_discretise() -> None:
    domain = DOMAIN.discretise(4)
    assert domain["age"] == Categorical("age", (0, 1, 2, 3))
    assert domain["colour"] == DOMAIN["colour"]
    frame = pd.DataFrame(
        {"age": [0, 24.9, 25, 50, 99, 100], "colour": ["red"] * 6, "size": [1] * 6}, index=range(10, 16)
    )
    binned = DOMAIN.discretise_records(frame, 4)
    assert binned["age"].tolist() == [0, 0, 1, 2, 3, 3]
    assert binned.index.equals(frame.index)
    assert domain.encode(binned)[:, 0].tolist() == [0, 0, 1, 2, 3, 3]
    with pytest.raises(DomainError, match="outside"):
        DOMAIN.discretise_records(changed("age", -1), 4)
    assert DOMAIN.discretise_records(changed("age", -1, 101), 4, strict=False)["age"].tolist() == [0, 3, 3]


def test_infer_names_every_leak() -> None:
    with pytest.warns(
        PrivacyLeakWarning, match="bounds of age, size; categories of colour; classes"
    ) as caught:
        domain = Domain.infer(X, pd.Series(["b", "a", "b"], name="label"))
    assert caught[0].filename == __file__
    assert domain == Domain(
        (
            Continuous("age", 10, 100),
            Categorical("colour", ("blue", "green", "red")),
            Continuous("size", 1, 3),
        ),
        ("a", "b"),
        "label",
    )


@pytest.mark.filterwarnings("ignore::dpnb.errors.PrivacyLeakWarning")
def test_infer_of_arrays_and_odd_columns() -> None:
    domain = Domain.infer(np.array([[1, 5.0], [3, 5.0]]), [1, 0])
    assert domain == Domain((Continuous("x0", 1, 3), Continuous("x1", 4.5, 5.5)), (0, 1))
    mixed = Domain.infer([[1, "a", True, 1e20], [2, 3, False, 1e20]], ["n", "y"])
    assert mixed.names == ("x0", "x1", "x2", "x3")
    assert mixed["x0"] == Continuous("x0", 1, 2)
    assert mixed["x1"] == Categorical("x1", (3, "a"))
    assert mixed["x2"] == Categorical("x2", (False, True))
    assert isinstance(mixed["x3"], Continuous)
    assert mixed["x3"].low < 1e20 < mixed["x3"].high
    clash = Domain.infer(pd.DataFrame({"class": [1, 2]}), pd.Series([0, 1], name="class"))
    assert clash.target not in clash.names


def test_yaml_file_by_hand(tmp_path: Any) -> None:
    path = tmp_path / "domain.yml"
    path.write_text(
        """
classes: [no, yes]
attributes:
- {name: age, continuous: [17, 9e1]}
- name: loan
  categorical: [yes, no, on, "1", 1, 010, 12:30, 2020-01-01, true, "?"]
""",
        encoding="utf-8",
    )
    values = ("yes", "no", "on", "1", 1, "010", "12:30", "2020-01-01", "?")
    with pytest.raises(DomainError, match="repeated: True"):
        Domain.from_yaml(path)
    path.write_text(path.read_text(encoding="utf-8").replace("true, ", ""), encoding="utf-8")
    assert Domain.from_yaml(path) == Domain(
        (Continuous("age", 17, 90), Categorical("loan", values)), ("no", "yes")
    )


PRICED = Domain(DOMAIN.attributes, response=Continuous("price", 0, 20_000, unit="dollars", clip=True))


def test_a_number_to_predict_comes_back_from_a_file(tmp_path: Any) -> None:
    path = tmp_path / "domain.yml"
    PRICED.to_yaml(path)
    text = path.read_text(encoding="utf-8")
    assert "target:\n  name: price\n  range: [0.0, 20000.0]\n  clip: true\n  unit: dollars\n" in text
    again = Domain.from_yaml(path)
    assert again == PRICED
    assert hash(again) == hash(PRICED)
    assert (again.target, again.classes) == ("price", ())
    path.write_text(text.replace("  clip: true\n", ""), encoding="utf-8")
    assert Domain.from_yaml(path) != PRICED  # broken twin: an option is lost


RANGE = {"name": "price", "range": [0, 1]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": RANGE | {"range": [1, 0]}}, "bounds of 'price' must be low < high, .*; swap them"),
        ({"target": RANGE | {"range": [1, 1]}}, "bounds of 'price' must be low < high"),
        ({"classes": [0, 1]}, "a number, which has no classes: leave out one of both"),
        ({"classes": None}, "a number, which has no classes: leave out one of both"),
        (
            {"target": RANGE | {"range": ["2001-01-01", "2002-01-01"]}},
            r"without dates and missing .* \{name: ..., range: \[low, high\]\}",
        ),
        ({"target": RANGE | {"unit": "date"}}, "without dates and missing values"),
        (
            {"target": RANGE | {"missing": True}},
            r"target reads .* expected \{name: ..., range: \[low, high\]\}",
        ),
        ({"target": {"range": [0, 1]}}, "target reads .* expected"),
        ({"target": {"name": "price"}}, "target reads .* expected"),
        ({"target": RANGE | {"range": [0]}}, "target reads .* expected"),
        ({"target": RANGE | {"range": "0 to 1"}}, "target reads .* expected"),
        ({"target": RANGE | {"range": [0, "much"]}}, "bounds of 'price' must be two numbers"),
        ({"target": RANGE | {"name": "age"}}, "target 'age' is also the name of an attribute"),
        ({"target": RANGE | {"name": ["price"]}}, "name"),
        ({"target": "price"}, "lacks 'classes'"),
    ],
)
def test_a_number_without_a_range_is_refused(change: dict[str, Any], message: str) -> None:
    document = {"target": RANGE, "attributes": [{"name": "age", "continuous": [0, 100]}]}
    assert Domain.from_document(document).response == Continuous("price", 0, 1)  # broken twin
    with pytest.raises(DomainError, match=message):
        Domain.from_document(document | change)


# Hypothesis: random domains with random records that fit them, the same ones in every run.
REPEATABLE = settings(max_examples=300, deadline=None, derandomize=True)
NAMES = st.text(string.ascii_letters + "-._ é", min_size=1, max_size=8)
VALUES = st.one_of(
    st.text(max_size=6),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.booleans(),
)


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    attributes: list[Attribute] = []
    for name in names[1:]:
        if draw(st.booleans()):
            low = draw(st.floats(-1e6, 1e6))
            attributes.append(Continuous(name, low, low + draw(st.floats(0.01, 1e6))))
        else:
            attributes.append(
                Categorical(name, tuple(draw(st.lists(VALUES, min_size=1, max_size=4, unique=True))))
            )
    classes = draw(st.lists(VALUES, min_size=2, max_size=3, unique=True))
    return Domain(tuple(attributes), tuple(classes), names[0])


@st.composite
def records(draw: st.DrawFn) -> tuple[Domain, pd.DataFrame, list[list[float]]]:
    domain = draw(domains())
    n = draw(st.integers(0, 5))
    columns, codes = {}, []
    for attribute in domain.attributes:
        if isinstance(attribute, Continuous):
            column = draw(st.lists(st.floats(attribute.low, attribute.high), min_size=n, max_size=n))
            codes.append(column)
            columns[attribute.name] = pd.Series(column, dtype=float)
        else:
            positions = draw(st.lists(st.integers(0, len(attribute.values) - 1), min_size=n, max_size=n))
            codes.append([float(p) for p in positions])
            columns[attribute.name] = pd.Series([attribute.values[p] for p in positions], dtype=object)
    return domain, pd.DataFrame(columns), codes


@REPEATABLE
@given(case=records())
def test_round_trip(case: tuple[Domain, pd.DataFrame, list[list[float]]]) -> None:
    domain, frame, codes = case
    assert domain.encode(frame).T.tolist() == codes
    assert domain.encode(frame.iloc[:, ::-1]).T.tolist() == codes
    assert domain.encode(frame.to_numpy(dtype=object)).T.tolist() == codes
    assert domain.discretise(3).encode(domain.discretise_records(frame, 3)).shape == (len(frame), len(codes))


@REPEATABLE
@given(domain=domains())
@example(domain=Domain((Continuous("a", 0, 1),), ("", "\x85", "\u2028", " \n", "1e3", "\0", "~", "\ufeff")))
def test_yaml_round_trip(domain: Domain, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip.yml"
    domain.to_yaml(path)
    again = Domain.from_yaml(path)
    assert again == domain
    assert repr(again) == repr(domain)  # tells 1 from True and 1.0


@REPEATABLE
@given(data=st.data())
def test_label_round_trip(data: st.DataObject) -> None:
    domain = data.draw(domains())
    codes = data.draw(st.lists(st.integers(0, domain.n_classes - 1), max_size=5))
    labels = pd.Series([domain.classes[c] for c in codes], dtype=object)
    assert domain.encode_labels(labels).tolist() == codes


def test_nothing_but_infer_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DOMAIN.encode(X)
        DOMAIN.encode_labels(["yes"])
        DOMAIN.discretise_records(X, 3)


def test_an_unknown_category_is_no_missing_one() -> None:
    attribute = Categorical("c", ("a", "b"), missing=True, unknown="other")
    domain = Domain((attribute,), ("n", "y"))
    table = pd.DataFrame({"c": ["b", "never seen", None]})
    for codes in (domain.replaced(table), domain.encode(table)):
        assert [attribute.levels[int(code)] for code in codes[:, 0]] == ["b", "other", "missing"]
