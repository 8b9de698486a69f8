"""A CSV file of the user's own: what the domain file decides, and what is said when something does not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpnb import Categorical, Continuous, Domain, PrivateBooster, load
from dpnb.data.datasets import Dataset
from dpnb.errors import DataError, DomainError
from dpnb.papers.diffprfs import DiffPRFs

BOOK = Path(__file__).resolve().parent.parent / "book"
DIABETES = BOOK / "_static" / "diabetes-domain.yml"

HEADER = "name,age,smoker,grade,ill"
DOMAIN = """
target: ill
classes: [no, yes]
attributes:
- {name: age, continuous: [0, 120]}
- {name: smoker, categorical: [true, false]}
- {name: grade, categorical: [1, 2, 3]}
csv:
  ignore: name
"""


def row(i: int) -> str:
    return f"p{i},{20 + i % 60},{'true' if i % 3 else 'FALSE'},{1 + i % 3},{'yes' if i % 4 else 'no'}"


ROWS = [row(i) for i in range(60)]

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a CSV file and its domain file into the working directory."""
    monkeypatch.chdir(tmp_path)

    def write_files(
        rows: list[str] = ROWS, *, header: str = HEADER, domain: str = DOMAIN, file: str = "own.csv"
    ) -> str:
        Path(file).write_text("\n".join([header, *rows, ""]), encoding="utf-8")
        Path("domain.yml").write_text(domain, encoding="utf-8")
        return f"csv:{file}"

    return write_files


def read(name: str, **options: Any) -> Dataset:
    return load(name, domain="domain.yml", **options)


def everything(data: Dataset) -> pd.DataFrame:
    return pd.concat([X.assign(label=y) for X, y in (data.train, data.test)]).sort_index()


# What is loaded.


def test_loads(write: Write) -> None:
    data = read(write())
    assert data.name == "csv:own.csv"
    assert data.domain == Domain.from_yaml("domain.yml")
    assert data.domain == Domain(
        (
            Continuous("age", 0, 120),
            Categorical("smoker", (True, False)),
            Categorical("grade", (1, 2, 3)),
        ),
        ("no", "yes"),
        "ill",
    )
    both = everything(data)
    assert both.index.tolist() == list(range(60))
    assert both["age"].tolist() == [20 + i % 60 for i in range(60)]
    assert both["smoker"].tolist() == [i % 3 != 0 for i in range(60)]
    assert both["grade"].tolist() == [1 + i % 3 for i in range(60)]
    assert both["label"].tolist() == ["yes" if i % 4 else "no" for i in range(60)]
    for X, y in (data.train, data.test):
        assert X.index.equals(y.index)
        assert y.name == "ill"
        assert data.domain.encode(X).shape == (len(X), 3)
        assert len(data.domain.encode_labels(y)) == len(X)


NUMBER = DOMAIN.replace("target: ill\nclasses: [no, yes]", "target: {name: ill, range: [0, 300], unit: days}")


def days(*cells: str) -> list[str]:
    """The same records with numbers to predict, the first of them as given."""
    numbers = [*cells, *(f"{i}.25" for i in range(len(cells), 60))]
    return [f"{old.rsplit(',', 1)[0]},{number}" for old, number in zip(ROWS, numbers, strict=True)]


def test_loads_a_number_to_predict(write: Write) -> None:
    data = read(write(days("7", "1e2", " -0", "?"), domain=NUMBER + '  missing: "?"\n'))
    assert data.domain.response == Continuous("ill", 0, 300, unit="days")
    assert (data.domain.target, data.domain.classes) == ("ill", ())
    labels = everything(data)["label"]
    assert labels.dtype == np.float64
    assert labels.iloc[:4].tolist() == [7, 100, 0, 4.25]  # the record without a number is left out
    assert labels.index[:4].tolist() == [0, 1, 2, 4]
    whole = [f"{i}" for i in range(60)]
    assert everything(read(write(days(*whole), domain=NUMBER)))["label"].dtype == np.float64
    assert pd.read_csv("own.csv")["ill"].dtype == np.int64  # broken twin: the type comes from the records
    with pytest.raises(DomainError, match=r"must hold numbers, got '\?'"):  # broken twin: nothing marks a gap
        read(write(days("?"), domain=NUMBER))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            "",
            r"values of column 'ill' hold NaN in 1 of 60 records \(line 2\); drop these records. If a value marks",
        ),
        (
            "much",
            r"column 'ill' must hold numbers, got 'much' in 1 of 60 records \(line 2\); convert them. If",
        ),
        ("7,5", "column 'ill' must hold numbers, got '7,5' .*; convert them. Are these decimal commas"),
        ("1_0", "must hold numbers, got '1_0'"),
        (
            "300.5",
            r"'ill' lies outside \[0 days, 300 days\] in 1 of 60 records \(line 2\): 300.5 days; write `clip: true`",
        ),
        ("inf", r"column 'ill' holds inf in 1 of 60 records \(line 2\); write `clip: true` in the domain"),
    ],
)
def test_a_number_to_predict_that_does_not_fit_is_told(write: Write, cell: str, message: str) -> None:
    with pytest.raises(DomainError, match=message) as error:
        read(write(days(f'"{cell}"'), domain=NUMBER))
    assert "categorical" not in str(error.value)
    assert "missing: true" not in str(error.value)
    read(write(days("300"), domain=NUMBER))  # broken twin: one that fits


def test_types_come_from_the_domain_not_from_the_records(write: Write) -> None:
    text = DOMAIN.replace("[1, 2, 3]", "[1, 2, unknown]").replace("[no, yes]", "['0', '1', '?']")
    rows = ["a,30,true,1,0", "b,31.5,false,2.0,1"] * 20
    data = read(write(rows, domain=text))
    both = everything(data)
    assert [type(v) for v in both["grade"]] == [int] * 40
    assert set(both["label"]) == {"0", "1"}
    assert both["age"].dtype == np.float64
    with_more = read(write([*rows, "c,32,true,unknown,?"], domain=text))
    assert everything(with_more).dtypes.equals(both.dtypes)


def test_spaces_a_mark_of_utf_8_and_quotes_do_not_matter(write: Write) -> None:
    plain = everything(read(write()))
    rows = [", ".join(f'"{cell}"' for cell in r.split(",")) for r in ROWS]
    assert everything(read(write(rows, header="\ufeffname, age, smoker, grade, ill"))).equals(plain)


def test_order_of_columns_does_not_matter(write: Write) -> None:
    plain = everything(read(write()))
    rows = [",".join(reversed(r.split(","))) for r in ROWS]
    assert everything(read(write(rows, header=",".join(reversed(HEADER.split(",")))))).equals(plain)


def test_data_folder_has_no_part_in_it(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = everything(read(write()))
    monkeypatch.setenv("DPNB_DATA", str(tmp_path / "nowhere"))
    assert everything(read("csv:own.csv", data_dir=tmp_path / "nowhere")).equals(plain)


def test_records_with_a_missing_value_are_left_out(write: Write) -> None:
    text = DOMAIN + '  missing: ["", "?", -9]\n'
    gaps = ["x,,true,1,no", "x,40,?,1,no", "x,40,true,-9.0,no", "x,40,true,1,?"]
    data = read(write([*gaps, "?,40,true,1,no", *ROWS], domain=text))
    assert everything(data).index.tolist() == list(range(4, 65))


# The split.


def test_same_seed_same_split(write: Write) -> None:
    name = write()
    one, same, other = (read(name, split_seed=seed) for seed in (3, 3, 4))
    assert one.train[0].equals(same.train[0])
    assert one.test[1].equals(same.test[1])
    assert not one.train[0].index.equals(other.train[0].index)


def test_seed_and_share_of_the_domain_file(write: Write) -> None:
    by_option = read(write(domain=DOMAIN + "  test_share: 0.6\n"), split_seed=5)
    by_file = read(write(domain=DOMAIN + "  test_share: 0.6\n  split_seed: 5\n"))
    assert by_file.test[0].equals(by_option.test[0])
    default = read(write(), split_seed=5)
    assert set(default.test[0].index) < set(by_file.test[0].index)
    assert read(write()).test[0].equals(read("csv:own.csv", split_seed=0).test[0])


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_share_is_met_on_average(write: Write, share: float) -> None:
    n = 20_000
    data = read(write([row(i) for i in range(n)], domain=DOMAIN + f"  test_share: {share}\n"))
    assert abs(len(data.test[0]) - share * n) < 5 * np.sqrt(n * share * (1 - share))


def parts(data: Dataset) -> dict[Any, str]:
    """Return the part that each key is in."""
    return {key: part for part in ("train", "test") for key in getattr(data, part)[0].index}


def test_a_further_record_moves_no_other(write: Write) -> None:
    before = parts(read(write()))
    for label in ("yes", "no"):
        after = parts(read(write([*ROWS, f"x,50,true,1,{label}"])))
        assert before.items() < after.items()
        assert len(after) == 61


def test_with_a_key_no_place_in_the_file_matters(write: Write) -> None:
    text = DOMAIN.replace("ignore: name", "key: name")
    before = parts(read(write(domain=text)))
    assert set(before) == {f"p{i}" for i in range(60)}
    after = parts(read(write(["x,50,true,1,no", *reversed(ROWS)], domain=text)))
    assert before.items() < after.items()
    assert parts(read(write(ROWS[1:], domain=text))).items() < before.items()


def test_without_a_key_an_insertion_moves_records(write: Write) -> None:
    """The broken twin of the test above: row numbers are keys only as long as rows are appended."""
    names = pd.Series([r.split(",")[0] for r in ROWS])
    before = set(names[read(write()).test[0].index])
    after = read(write(["x,50,true,1,no", *ROWS])).test[0].index
    assert set(names[after[after > 0] - 1]) != before


def test_a_test_file_of_its_own(write: Write) -> None:
    write(ROWS[40:], file="held-back.csv")
    data = read(write(ROWS[:40]), test="held-back.csv")
    assert data.train[0].index.tolist() == list(range(40))
    assert data.test[0].index.tolist() == list(range(40, 60))
    assert everything(data).equals(everything(read(write())))
    assert everything(load("csv:own.csv", domain="domain.yml", test=Path("own.csv"))).shape[0] == 120


# What is refused.


def test_refuses_values_of_the_test_file_too(write: Write) -> None:
    write(["x,121,true,1,no"], file="held-back.csv")
    with pytest.raises(DomainError, match=r"held-back\.csv: column 'age' lies outside"):
        read(write(), test="held-back.csv")


def test_a_bound_narrower_than_the_data_is_caught(write: Write) -> None:
    """The broken twin of a domain that fits."""
    read(write(domain=DOMAIN.replace("[0, 120]", "[20, 79]")))
    with pytest.raises(
        DomainError, match=r"'age' lies outside \[20, 78\] in 1 of 60 records \(line 61\): 79;"
    ):
        read(write(domain=DOMAIN.replace("[0, 120]", "[20, 78]")))


def test_refuses_a_file_without_the_key(write: Write) -> None:
    with pytest.raises(DomainError, match="lacks the columns 'id'"):
        read(write(domain=DOMAIN + "  key: id\n"))


def test_refuses_repeated_keys(write: Write) -> None:
    text = DOMAIN.replace("ignore: name", "key: name")
    with pytest.raises(DomainError, match=r"'name' repeats a key in 2 of 62 records, first 'p3' \(line 62\)"):
        read(write([*ROWS, row(3), row(4)], domain=text))
    write([row(7)], file="held-back.csv", domain=text)
    with pytest.raises(DomainError, match=r"repeats a key in 1 of 61 records, first 'p7' .*test file"):
        read(write(domain=text), test="held-back.csv")


def test_refuses_an_empty_part(write: Write) -> None:
    with pytest.raises(DataError, match=r"own\.csv leaves no record to test on"):
        read(write(domain=DOMAIN + "  test_share: 0.000001\n"))
    with pytest.raises(DataError, match=r"own\.csv leaves no record to train on"):
        read(write(domain=DOMAIN + "  test_share: 0.999999\n"))
    write([], file="held-back.csv")
    with pytest.raises(DataError, match=r"held-back\.csv leaves no record to test on"):
        read(write(), test="held-back.csv")


# The example of the book.

DIABETES_HEADER = (
    "gender,age,hypertension,heart_disease,smoking_history,bmi,HbA1c_level,blood_glucose_level,diabetes"
)


def diabetes_rows(n: int) -> list[str]:
    """Make up records; nobody is described."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(n):
        ill = int(rng.random() < 0.3)
        smoking = rng.choice(["never", "former", "current", "not current", "ever", "No Info"])
        sugar, long_term = rng.integers(80, 160) + 100 * ill, 5 + 2 * ill + rng.random()
        gender = rng.choice(["Female", "Male", "Other"])
        rows.append(f"{gender},{rng.integers(90)}.0,0,1,{smoking},27.32,{long_term:.1f},{sugar},{ill}")
    return rows


def test_the_domain_file_of_the_book(write: Write) -> None:
    name = write(diabetes_rows(600), header=DIABETES_HEADER)
    data = load(name, domain=DIABETES)
    assert (data.domain.n_attributes, int(data.domain.continuous.sum()), data.domain.classes) == (
        8,
        4,
        (0, 1),
    )
    assert data.train[1].dtype == data.train[0]["hypertension"].dtype == np.int64
    booster = PrivateBooster(epsilon=2.0, delta=1e-5, domain=data.domain, random_state=0).fit(*data.train)
    forest = DiffPRFs(epsilon=2.0, domain=data.domain, n_trees=5, random_state=0).fit(*data.train)
    for model, total in ((booster, 2.0), (forest, 2.0)):
        assert model.ledger_.epsilon <= total * (1 + 1e-9)
        assert not model.ledger_.leaks
        assert 0 <= model.score(*data.test) <= 1
    with pytest.raises(DomainError, match=r"'bmi' lies outside \[5, 120\] in 1 of 601"):
        load(
            write([*diabetes_rows(600), "Male,50,0,0,never,270,5,90,0"], header=DIABETES_HEADER),
            domain=DIABETES,
        )
