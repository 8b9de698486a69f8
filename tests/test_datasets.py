"""Loading the data sets: where the files come from, what is checked, and what the options do."""

import dataclasses
import gzip
import hashlib
import io
import os
import sys
import threading
import warnings
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpnb.data import datasets
from dpnb.data.datasets import ADULT_DOMAIN, BANK_DOMAIN, ROBOT_DOMAIN, load
from dpnb.domain import Categorical
from dpnb.errors import DataError

DATA = os.environ.get("DPNB_DATA")
NAMES = ("adult", "bank", "robot")


def realdata(function: Any) -> Any:
    """Mark a test that reads the original files, and skip it where there are none."""
    skip = pytest.mark.skipif(not DATA, reason="needs the original data files: set DPNB_DATA to their folder")
    return pytest.mark.realdata(skip(function))


# Small files of the originals' form.
ADULT_ROW = (
    "{age}, Private, 77516, Bachelors, 13, Divorced, {job}, Husband, White, Male, "
    "0, 0, 40, {country}, {income}"
)


def adult_row(age: int, income: str, *, job: str = "Sales", country: str = "United-States") -> str:
    return ADULT_ROW.format(age=age, job=job, country=country, income=income)


ADULT_DATA = "\n".join(
    [
        adult_row(39, "<=50K"),
        adult_row(40, ">50K", job="?"),
        adult_row(41, ">50K", country="Cuba"),
        adult_row(42, "<=50K", country="?"),
        "",
        "",
    ]
)
ADULT_TEST = "\n".join(
    [
        "|1x3 Cross validator",
        adult_row(50, "<=50K."),
        adult_row(51, ">50K.", job="?"),
        adult_row(52, ">50K."),
        "",
        "",
    ]
)
BANK_HEADER = ";".join(f'"{name}"' for name in (*BANK_DOMAIN.names, "y"))
BANK_ROW = (
    '{age};"admin.";"single";"unknown";"no";"yes";"no";"cellular";"may";"mon";261;1;999;0;"nonexistent";'
    '1.1;93.994;-36.4;4.857;5191;"{y}"'
)
BANK = "\r\n".join(
    [BANK_HEADER, *(BANK_ROW.format(age=20 + i, y="no" if i % 2 else "yes") for i in range(20)), ""]
)
ROBOT = "\n".join(",".join(["5.021", *["0.5"] * 23, ROBOT_DOMAIN.classes[i % 4]]) for i in range(40))
FILES = {
    "adult.data": ADULT_DATA.encode(),
    "adult.test": ADULT_TEST.encode(),
    "bank-additional-full.csv": BANK.encode(),
    "sensor_readings_24.data": ROBOT.encode(),
}


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


ARCHIVES = {
    "2/adult.zip": zipped(
        {"Index": b"", "adult.data": FILES["adult.data"], "adult.test": FILES["adult.test"]}
    ),
    "222/bank+marketing.zip": zipped(
        {
            "bank.zip": zipped({"bank-full.csv": b""}),
            "bank-additional.zip": zipped(
                {
                    "bank-additional/": b"",
                    "bank-additional/bank-additional-full.csv": FILES["bank-additional-full.csv"],
                    "__MACOSX/bank-additional/._bank-additional-full.csv": b"noise",
                }
            ),
        }
    ),
    "194/wall+following+robot+navigation+data.zip": zipped(
        {"sensor_readings_24.data": FILES["sensor_readings_24.data"]}
    ),
}


REAL_FETCH = datasets._fetch


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let every download fail, and keep the user's cache and folder out of sight."""

    def fail(url: str, folder: Path) -> Path:
        raise ConnectionError("no route to host")

    monkeypatch.setattr(datasets, "_fetch", fail)
    monkeypatch.setattr(datasets, "_cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv("DPNB_DATA", raising=False)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expect the small files instead of the originals."""
    for name, source in datasets._SOURCES.items():
        files = tuple(
            dataclasses.replace(f, sha256=hashlib.sha256(FILES[f.name]).hexdigest()) for f in source.files
        )
        monkeypatch.setitem(datasets._SOURCES, name, dataclasses.replace(source, files=files))


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch, small_files: None) -> list[str]:
    """Serve the small archives; the list fills with the addresses asked for."""
    asked: list[str] = []

    def serve(url: str, folder: Path) -> Path:
        asked.append(url)
        path = folder / "download.zip"
        path.write_bytes(ARCHIVES[url.removeprefix("https://archive.ics.uci.edu/static/public/")])
        return path

    monkeypatch.setattr(datasets, "_fetch", serve)
    return asked


@pytest.fixture
def folder(tmp_path: Path, small_files: None) -> Path:
    """A folder with the small files, half of them compressed."""
    path = tmp_path / "data"
    path.mkdir()
    for i, (name, content) in enumerate(FILES.items()):
        if i % 2:
            (path / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (path / name).write_bytes(content)
    return path


# Where files come from.


@pytest.mark.parametrize("name", NAMES)
def test_reads_plain_and_compressed_files(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_argument = load(name, data_dir=folder)
    monkeypatch.setenv("DPNB_DATA", str(folder))
    by_variable = load(name)
    for one, two in zip(
        (*by_argument.train, *by_argument.test), (*by_variable.train, *by_variable.test), strict=True
    ):
        assert one.equals(two)


@pytest.mark.parametrize("name", NAMES)
def test_downloads_once_into_the_cache(
    name: str, downloads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("DPNB_DATA", str(tmp_path / "empty"))
    first = load(name)
    second = load(name)
    assert len(downloads) == 1
    assert first.train[0].equals(second.train[0])
    cached = {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()}
    assert cached
    assert cached.items() <= FILES.items()


def test_downloads_only_what_is_missing(downloads: list[str], folder: Path, tmp_path: Path) -> None:
    (folder / "adult.data").unlink()
    load("adult", data_dir=folder)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["adult.data"]


def test_without_file_or_network_names_three_ways(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load("bank", data_dir=tmp_path / "nowhere")
    message = str(caught.value)
    for part in (
        "bank-additional-full.csv",
        "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
        str(tmp_path / "nowhere"),
        str(tmp_path / "cache"),
        "archive.ics.uci.edu/static/public/222/bank+marketing.zip",
        "no route to host",
        "DPNB_DATA",
        "bank-additional-full.csv.gz",
        "allow the download",
    ):
        assert part in message


@pytest.mark.parametrize(
    ("name", "harm", "compressed"),
    [(name, "changed", False) for name in FILES]
    + [("sensor_readings_24.data", harm, True) for harm in ("truncated", "longer", "empty")],
)
def test_damaged_files_are_refused(name: str, harm: str, compressed: bool, folder: Path) -> None:
    content = FILES[name]
    harmed = {
        "truncated": content[:-1],
        "changed": content.replace(b"5", b"6", 1),
        "longer": content + b"\n",
        "empty": b"",
    }[harm]
    (folder / name).unlink(missing_ok=True)
    path = folder / (f"{name}.gz" if compressed else name)
    path.write_bytes(gzip.compress(harmed) if compressed else harmed)
    dataset = "bank" if "bank" in name else "robot" if "sensor" in name else "adult"
    with pytest.raises(DataError, match="instead of") as caught:
        load(dataset, data_dir=folder)
    message = str(caught.value)
    assert str(path) in message
    assert hashlib.sha256(harmed).hexdigest() in message
    assert hashlib.sha256(content).hexdigest() in message
    assert f"({len(harmed)} bytes)" in message
    assert "Three ways" in message


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (b"<html>not a zip file</html>", "BadZipFile"),
        (zipped({"other.data": b""}), "does not hold sensor_readings_24.data"),
        (zipped({"sensor_readings_24.data": b"other"}), "instead of"),
    ],
)
def test_wrong_downloads_leave_no_file(
    archive: bytes, message: str, downloads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ARCHIVES, "194/wall+following+robot+navigation+data.zip", archive)
    with pytest.raises(DataError, match=message):
        load("robot")
    assert not (tmp_path / "cache").exists()


def test_full_disk_leaves_no_file(
    downloads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(DataError, match="No space left"):
        load("robot")
    assert list((tmp_path / "cache").iterdir()) == []


def test_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The real download, from a server in this process."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "a.zip").write_bytes(b"content")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=tmp_path / "served")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        assert REAL_FETCH(f"{address}/a.zip", tmp_path).read_bytes() == b"content"
        (tmp_path / "download.zip").unlink()
        with pytest.raises(OSError, match="404"):
            REAL_FETCH(f"{address}/b.zip", tmp_path)
        server.shutdown()
    with pytest.raises(OSError, match="refused"):
        REAL_FETCH(f"{address}/a.zip", tmp_path)
    assert capfd.readouterr() == ("", "")


# What the options do.


def test_adult(folder: Path) -> None:
    data = load("adult", data_dir=folder)
    (X, y), (X_test, y_test) = data.train, data.test
    assert data.name == "adult"
    assert data.domain == ADULT_DOMAIN
    assert X["age"].tolist() == [39, 41]
    assert X.index.tolist() == y.index.tolist() == [0, 2]
    assert y.tolist() == ["<=50K", ">50K"]
    assert y.name == "income"
    assert y_test.tolist() == ["<=50K", ">50K"]
    assert X_test.index.tolist() == [4, 6]
    data.domain.encode(X)
    data.domain.encode_labels(y_test)


def test_adult_missing_keep(folder: Path) -> None:
    data = load("adult", data_dir=folder, missing="keep")
    assert data.train[0].index.tolist() == [0, 1, 2, 3]
    assert data.test[0].index.tolist() == [4, 5, 6]
    with_question_mark = [
        a.name for a in data.domain.attributes if isinstance(a, Categorical) and "?" in a.values
    ]
    assert with_question_mark == ["workclass", "occupation", "native-country"]
    data.domain.encode(data.train[0])


def test_adult_us_only(folder: Path) -> None:
    data = load("adult", data_dir=folder, us_only=True, drop=("fnlwgt",), missing="keep")
    assert data.train[0].index.tolist() == [0, 1]
    assert data.domain["native-country"] == Categorical("native-country", ("United-States",))
    assert data.domain.n_attributes == data.train[0].shape[1] == 13
    assert "fnlwgt" not in data.domain.names
    data.domain.encode(data.train[0])


def test_adult_merged(folder: Path) -> None:
    standard = load("adult", data_dir=folder)
    merged = load("adult", data_dir=folder, split="merged")
    assert merged.train[0].index.tolist() == [0, 2, 4, 6]
    assert merged.train[0].loc[standard.test[0].index].equals(standard.test[0])
    assert merged.test[0].equals(standard.test[0])


@pytest.mark.parametrize(("name", "n"), [("bank", 20), ("robot", 40)])
def test_seeded_split(name: str, n: int, folder: Path) -> None:
    one, same, other = (load(name, data_dir=folder, split_seed=seed) for seed in (3, 3, 4))
    (X, y), (X_test, y_test) = one.train, one.test
    assert (len(X), len(X_test)) == (0.7 * n, 0.3 * n)
    assert sorted([*X.index, *X_test.index]) == list(range(n))
    assert X.index.equals(y.index)
    assert X.equals(same.train[0])
    assert not X.index.equals(other.train[0].index)
    assert y.value_counts(normalize=True).to_dict() == y_test.value_counts(normalize=True).to_dict()
    one.domain.encode(X)
    one.domain.encode_labels(y_test)


# The stand-in.


def standin(path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    frame.to_csv(path, index=False)
    monkeypatch.setattr(datasets, "_STANDIN_FILE", path)


@pytest.fixture
def standin_frame(folder: Path) -> pd.DataFrame:
    parts = []
    data = load("adult", data_dir=folder)
    for part, (X, y) in (("train", data.train), ("test", data.test)):
        parts.append(X.assign(income=y, split=part))
    return pd.concat(parts)


def test_standin(standin_frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    standin(tmp_path / "adult-standin.csv.gz", standin_frame, monkeypatch)
    data = load("adult-standin")
    assert data.name == "adult-standin"
    assert data.domain == ADULT_DOMAIN
    assert data.train[0].index.tolist() == [0, 1]
    assert data.test[0].index.tolist() == [2, 3]
    assert load("adult-standin", us_only=True, drop="fnlwgt").train[0].shape == (1, 13)
    assert load("adult-standin", split="merged").train[0].index.tolist() == [0, 1, 2, 3]
    data.domain.encode(data.train[0])


def test_missing_or_damaged_standin(
    standin_frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "adult-standin.csv.gz"
    monkeypatch.setattr(datasets, "_STANDIN_FILE", path)
    for content in (
        None,
        b"",
        b"not gzip",
        gzip.compress(b"a" * 100)[:-3],
        gzip.compress(b""),
        gzip.compress(b"a,b\n"),
    ):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(DataError, match=r"adult-standin\.csv\.gz.*python -m private_trees\.standin"):
            load("adult-standin")
    standin(path, standin_frame.drop(columns="age"), monkeypatch)
    with pytest.raises(DataError, match="columns"):
        load("adult-standin")


# The originals.


def test_domains_have_the_documented_shape() -> None:
    assert ADULT_DOMAIN.cardinalities.tolist() == [0, 8, 0, 16, 0, 7, 14, 6, 5, 2, 0, 0, 0, 41]
    assert (BANK_DOMAIN.n_attributes, int(BANK_DOMAIN.continuous.sum())) == (20, 10)
    assert (ROBOT_DOMAIN.n_attributes, int(ROBOT_DOMAIN.continuous.sum()), ROBOT_DOMAIN.n_classes) == (
        24,
        24,
        4,
    )


@realdata
@pytest.mark.parametrize(
    ("name", "options", "train", "test"),
    [
        ("adult", {}, (22654, 7508), (11360, 3700)),
        ("adult", {"missing": "keep"}, (24720, 7841), (12435, 3846)),
        ("adult", {"split": "merged"}, (34014, 11208), (11360, 3700)),
        ("adult", {"us_only": True}, (20509, 6995), (10335, 3453)),
        ("adult", {"us_only": True, "missing": "keep"}, (21999, 7171), (11139, 3523)),
        ("bank", {}, (25583, 3248), (10965, 1392)),
        ("robot", {}, (1543, 578, 1468, 230), (662, 248, 629, 98)),
    ],
)
def test_real_counts(
    name: str, options: dict[str, Any], train: tuple[int, ...], test: tuple[int, ...]
) -> None:
    data = load(name, data_dir=DATA, **options)
    for (X, y), counts in ((data.train, train), (data.test, test)):
        assert tuple(np.bincount(data.domain.encode_labels(y))) == counts
        assert data.domain.encode(X).shape == (sum(counts), data.domain.n_attributes)
        assert X.index.is_unique
        assert X.index.equals(y.index)
    both = data.train[0].index.union(data.test[0].index)
    assert len(both) == len(data.train[0]) + (0 if options.get("split") == "merged" else len(data.test[0]))


@realdata
@pytest.mark.parametrize("name", NAMES)
def test_real_categories_are_all_seen(name: str) -> None:
    """Only a misspelt value, or one of three documented ones, is borne by no record."""
    data = load(name, data_dir=DATA)
    everything = pd.concat([data.train[0], data.test[0]])
    unseen = {
        value
        for a in data.domain.attributes
        if isinstance(a, Categorical)
        for value in set(a.values) - set(everything[a.name])
    }
    assert unseen == {"adult": {"Never-worked"}, "bank": {"jan", "feb"}, "robot": set()}[name]


@realdata
def test_real_keys_are_row_numbers_of_the_file() -> None:
    assert DATA
    path = next(
        p
        for p in Path(DATA).iterdir()
        if p.name in ("bank-additional-full.csv", "bank-additional-full.csv.gz")
    )
    original = pd.read_csv(path, sep=";", na_filter=False)
    X, y = load("bank", data_dir=DATA).train
    assert original.loc[X.index, list(X.columns)].equals(X)
    assert original.loc[y.index, "y"].equals(y)


def test_the_package_that_downloads_is_imported_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a notebook without widgets its import warns of them, and the warning would stand on the page."""
    warned = "import warnings; warnings.warn('IProgress not found')"
    (tmp_path / "pooch.py").write_text(
        f"{warned}\nfrom logging import getLogger as get_logger\nos_cache = str\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "pooch", None)  # so that it is put back, whatever is there
    monkeypatch.delitem(sys.modules, "pooch")
    with warnings.catch_warnings(action="error"):
        assert datasets._pooch().os_cache("dpnb") == "dpnb"
