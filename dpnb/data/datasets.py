"""The data sets of the papers, with their public domains.

:func:`load` reads a data set's file from a folder that the user names, or from the cache, or downloads it from UCI.
Every file is checked against its sha256 before use. Bounds and category lists come from the data sets' own
documentation, never from the rows. A table of the user's own comes with a domain file.
"""

from __future__ import annotations

import gzip
import hashlib
import inspect
import io
import json
import logging
import os
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd
from sklearn.model_selection import train_test_split

from ..checks import check_choice, check_path
from ..domain import Categorical, Domain
from ..domain.cells import check_split_seed
from ..errors import DataError, closest
from ..files import write_whole
from .tables import load_csv

Part = tuple[pd.DataFrame, "pd.Series[Any]"]
_Values = tuple[Hashable, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set, split for training and testing."""

    name: str  # name by which :func:`load` knows the data set
    # train, test: attributes, in the order of `domain`, and labels, or numbers to predict. The index labels
    # are the records' keys: unique, and the same for the same record whatever rows or columns the options of
    # :func:`load` leave out.
    train: Part
    test: Part
    domain: Domain  # public domain
    # The person of each record of `train`, and of `test`; None if each record stands for itself.
    people: tuple[pd.Series[Any], pd.Series[Any]] | None = None

    def __repr__(self) -> str:
        parts = " + ".join(str(len(y)) for _, y in (self.train, self.test))
        return f"Dataset({self.name!r}, {parts} records, {self.domain.n_attributes} attributes)"

    def discretised(self, bins: int) -> Dataset:
        """The data with each continuous attribute in ``bins`` public bins of equal width, at least 1.

        Notes
        -----
        **Privacy.** As for :meth:`Domain.discretise_records <dpnb.Domain.discretise_records>`, which costs nothing.
        """
        train, test = ((self.domain.discretise_records(X, bins), y) for X, y in (self.train, self.test))
        return replace(self, train=train, test=test, domain=self.domain.discretise(bins))


@dataclass(frozen=True)
class _File:
    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class _Source:
    """A zip file at UCI and the files that we need of it."""

    path: str
    files: tuple[_File, ...]

    @property
    def url(self) -> str:
        return f"https://archive.ics.uci.edu/static/public/{self.path}"


_SOURCES = {
    "adult": _Source(
        "2/adult.zip",
        (
            _File("adult.data", 3974305, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
            _File("adult.test", 2003153, "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
        ),
    ),
    "bank": _Source(
        "222/bank+marketing.zip",
        (
            _File(
                "bank-additional-full.csv",
                5834924,
                "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
            ),
        ),
    ),
    "robot": _Source(
        "194/wall+following+robot+navigation+data.zip",
        (
            _File(
                "sensor_readings_24.data",
                870422,
                "1108cbbcac9c119519a3c493358d3084bc619b5aaa688212aa75a777aa7bd5fd",
            ),
        ),
    ),
}
_HERE = Path(__file__).parent
_STANDIN_FILE = _HERE / "adult-standin.csv.gz"
ADULT_DOMAIN, BANK_DOMAIN, ROBOT_DOMAIN = (
    Domain.from_document(json.loads((_HERE / f"{name}-domain.json").read_text(encoding="utf-8")))
    for name in ("adult", "bank", "robot")
)


def load(
    name: str, *, data_dir: str | os.PathLike[str] | None = None, drop: Iterable[str] = (), **options: Any
) -> Dataset:
    """Load a data set with its public domain.

    Parameters
    ----------
    name : ``"adult"`` (14 attributes, 2 classes), ``"bank"`` (Bank Marketing; 20, 2), ``"robot"`` (the wall-following
        robot; 24, 4), ``"adult-standin"`` (a synthetic stand-in for Adult that comes with the package), or
        ``"csv:FILE"`` (a CSV file of your own).
    data_dir : folder with the uncompressed or gzip-compressed files; by default the environment variable ``DPNB_DATA``.
        Files that it lacks are taken from the cache, or downloaded. The stand-in does not need it, nor does a CSV file,
        whose path is taken as it is.
    drop : attributes to leave out.
    missing : Adult only. With ``"drop"``, the default, records with a missing value are dropped. With ``"keep"``, "?"
        is one more public category of workclass, occupation and native-country.
    us_only : Adult and its stand-in only. Whether to keep only the records whose native-country is United-States. The
        attribute stays, with this one value; name it in ``drop`` to remove it.
    split : Adult and its stand-in only. ``"standard"``, the default, or ``"merged"``, where the training part contains
        the test part too, as a misprint in the literature says. The test part stays the same.
    split_seed : for bank and robot, seed of their stratified split with 70 % for training, by default 0; for a CSV
        file, seed of its split by the records' keys, by default the seed of the domain file.
    domain : for a CSV file only, which needs it. Path of the YAML file that states what is public, see
        :mod:`dpnb.data.tables`.
    test : for a CSV file only. Path of another CSV file that holds the test part; then nothing is split.
    person : for a CSV file only. Column that says whose each record is, instead of the domain file's; a person's
        records all come into one part.

    Raises
    ------
    ValueError
        If there is no such data set, attribute to drop, or value of an option.
    TypeError
        If the data set does not have such an option, or a CSV file comes without `domain`.
    DataError
        If a file is missing and cannot be downloaded, has the wrong checksum, or cannot be read as CSV.
    DomainError
        If a CSV file does not fit its domain file, or the domain file makes no sense.

    Notes
    -----
    Each record's index label is its row number in the data set's file, from 0. Rows of Adult's test file count on from
    the 32561 rows of its training file; so do those of ``test``. A domain file may name a column of keys instead. The
    robot's readings are clipped to its bounds.

    **Privacy.** The domain is public knowledge. The records' keys are taken as public too. Errors show values of
    records, so only the data holder may see them.
    """
    loader = _loader(name)
    known = [p for p in inspect.signature(loader).parameters if p not in ("data_dir", "path")]
    for option in options:
        if option not in known:
            raise TypeError(f"data set {name!r} has no option {option!r}{_hint(option, ['drop', *known])}")
    if data_dir is not None:
        data_dir = check_path("data_dir", data_dir, such="data")
    folder = data_dir if data_dir is not None else os.environ.get("DPNB_DATA") or None
    train, test, domain, *person = loader(data_dir=None if folder is None else Path(folder), **options)
    if not isinstance(drop, Iterable):
        raise TypeError(f"drop={drop!r}: expected names of attributes, such as {list(domain.names[:2])}")
    domain = domain.drop(*([drop] if isinstance(drop, str) else drop))
    people = (train[person[0]], test[person[0]]) if person and person[0] is not None else None
    return Dataset(name, part_of(train, domain), part_of(test, domain), domain, people)


_Frames = tuple[pd.DataFrame, pd.DataFrame, Domain]


def _load_adult(
    *, data_dir: Path | None, missing: str = "drop", us_only: bool = False, split: str = "standard"
) -> _Frames:
    check_choice("missing", missing, ("drop", "keep"))
    columns = [*ADULT_DOMAIN.names, ADULT_DOMAIN.target]
    contents = _read("adult", data_dir)
    train = read_csv(contents["adult.data"], names=columns, skipinitialspace=True)
    test = read_csv(contents["adult.test"], names=columns, skipinitialspace=True, skiprows=1)
    test["income"] = test["income"].str.removesuffix(".")
    # A shared numbering keeps the keys unique when the two are merged.
    test.index += len(train)
    if missing == "drop":
        train, test = (frame[~(frame == "?").any(axis=1)] for frame in (train, test))
        domain = ADULT_DOMAIN
    else:
        may_miss = ("workclass", "occupation", "native-country")
        domain = _with_values(ADULT_DOMAIN, may_miss, lambda values: (*values, "?"))
    return _adult_options(train, test, domain, us_only=us_only, split=split)


def _load_standin(*, data_dir: Path | None, us_only: bool = False, split: str = "standard") -> _Frames:
    remedy = "make it again with `python -m private_trees.standin`"
    try:
        frame = read_csv(gzip.decompress(_STANDIN_FILE.read_bytes()))
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"cannot read the stand-in {_STANDIN_FILE.name} ({error!r}); {remedy}") from error
    expected = {*ADULT_DOMAIN.names, ADULT_DOMAIN.target, "split"}
    if set(frame.columns) != expected or not set(frame["split"]) <= {"train", "test"}:
        raise DataError(f"{_STANDIN_FILE.name} lacks the columns of a stand-in; {remedy}")
    train, test = (frame[frame["split"] == part] for part in ("train", "test"))
    return _adult_options(train, test, ADULT_DOMAIN, us_only=us_only, split=split)


def _load_bank(*, data_dir: Path | None, split_seed: int = 0) -> _Frames:
    (content,) = _read("bank", data_dir).values()
    return _seeded_split(read_csv(content, sep=";"), BANK_DOMAIN, split_seed=split_seed)


def _load_robot(*, data_dir: Path | None, split_seed: int = 0) -> _Frames:
    (content,) = _read("robot", data_dir).values()
    frame = read_csv(content, names=[*ROBOT_DOMAIN.names, ROBOT_DOMAIN.target])
    # 48 readings reach up to 5.09 where the documentation ends at 5.
    frame[list(ROBOT_DOMAIN.names)] = frame[list(ROBOT_DOMAIN.names)].clip(0, 5)
    return _seeded_split(frame, ROBOT_DOMAIN, split_seed=split_seed)


_LOADERS: dict[str, Callable[..., Any]] = {
    "adult": _load_adult,
    "bank": _load_bank,
    "robot": _load_robot,
    "adult-standin": _load_standin,
}


def read_csv(content: bytes, **how: Any) -> pd.DataFrame:
    """Read a public file, in which a category such as "?" or "None" stays what it is."""
    frame: pd.DataFrame = pd.read_csv(io.BytesIO(content), na_filter=False, **how)
    return frame


def _loader(name: str) -> Callable[..., Any]:
    if isinstance(name, str) and name.startswith("csv:"):
        return partial(load_csv, path=Path(name.removeprefix("csv:")))
    if not isinstance(name, str) or name not in _LOADERS:
        raise ValueError(f"no data set {name!r}{_file_hint(name) or _hint(name, [*_LOADERS, 'csv:FILE'])}")
    return _LOADERS[name]


def _file_hint(name: object) -> str | None:
    """What to write for what looks like a file."""
    file = str(name) if isinstance(name, str | os.PathLike) else ""
    file = file[4:] if file.lower().startswith("csv:") else file
    if file.endswith((".parquet", ".feather", ".xlsx")):
        return "; expected csv:FILE: pandas reads other files, whose columns a fit takes with Domain.from_yaml(...)"
    if isinstance(name, os.PathLike) or file.endswith((".csv", ".csv.gz", ".data", ".txt")):
        return f"; expected {f'csv:{file}'!r} for a file of your own, with domain=..."
    return None


def _hint(name: object, known: list[str]) -> str:
    close = closest(name, known)
    return f"; {f'did you mean {close!r}? There' if close else 'there'} are {', '.join(known)}"


def part_of(frame: pd.DataFrame, domain: Domain) -> Part:
    """Attributes of a domain and labels, from a frame that may have more columns."""
    return frame[list(domain.names)], frame[domain.target]


def _with_values(domain: Domain, names: Collection[str], change: Callable[[_Values], _Values]) -> Domain:
    """The domain with other values of some categorical attributes."""
    attributes = (
        replace(a, values=change(a.values)) if isinstance(a, Categorical) and a.name in names else a
        for a in domain.attributes
    )
    return replace(domain, attributes=tuple(attributes))


def _adult_options(
    train: pd.DataFrame, test: pd.DataFrame, domain: Domain, *, us_only: bool, split: str
) -> _Frames:
    check_choice("us_only", us_only, (False, True))
    check_choice("split", split, ("standard", "merged"))
    if us_only:
        train, test = (frame[frame["native-country"] == "United-States"] for frame in (train, test))
        domain = _with_values(domain, ["native-country"], lambda _: ("United-States",))
    if split == "merged":
        train = pd.concat([train, test])
    return train, test, domain


def _seeded_split(frame: pd.DataFrame, domain: Domain, *, split_seed: int) -> _Frames:
    check_split_seed(split_seed)
    train, test = train_test_split(
        frame, test_size=0.3, stratify=frame[domain.target], random_state=int(split_seed)
    )
    return train, test, domain


def _pooch() -> Any:
    """The package pooch, silent: its notes, and tqdm's of a missing widget, would end up in outputs of notebooks."""
    with warnings.catch_warnings(action="ignore"):
        import pooch
    pooch.get_logger().setLevel(logging.WARNING)
    return pooch


def _cache_folder() -> Path:
    return Path(_pooch().os_cache("dpnb"))


def _fetch(url: str, folder: Path) -> Path:
    """Download a file into a folder; the only place that uses the network."""
    return Path(_pooch().retrieve(url, known_hash=None, fname="download.zip", path=folder))


def _read(name: str, data_dir: Path | None) -> dict[str, bytes]:
    """Verified contents of a data set's files, by name."""
    source = _SOURCES[name]
    folders = [_cache_folder()] if data_dir is None else [data_dir, _cache_folder()]
    contents = {file.name: _find(file, folders) for file in source.files}
    if missing := [file for file in source.files if contents[file.name] is None]:
        contents |= _download(source, missing, folders)
    return {name: content for name, content in contents.items() if content is not None}


def _find(file: _File, folders: list[Path]) -> bytes | None:
    """Verified content of a file from the first folder that has it."""
    for folder in folders:
        for path in (folder / file.name, folder / f"{file.name}.gz"):
            if not path.is_file():
                continue
            try:
                content = path.read_bytes()
                content = gzip.decompress(content) if path.suffix == ".gz" else content
            except (OSError, EOFError, zlib.error) as error:
                raise DataError(f"cannot read {path} ({error}); replace or remove it") from error
            return _verified(content, file, found_in=str(path))
    return None


def _verified(content: bytes, file: _File, *, found_in: str) -> bytes:
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise DataError(
            f"{found_in} is not the expected {file.name}: sha256 {found} ({len(content)} bytes) instead of "
            f"{file.sha256} ({file.size} bytes, uncompressed). Replace it or remove it. {_ways(file)}"
        )
    return content


def _ways(file: _File) -> str:
    return (
        f"Three ways to provide the file: set DPNB_DATA (or data_dir) to a folder that holds {file.name} or "
        f"{file.name}.gz; put it into the cache folder {_cache_folder()}; or allow the download from "
        "archive.ics.uci.edu"
    )


def _download(source: _Source, missing: list[_File], folders: list[Path]) -> dict[str, bytes]:
    """Download a source's zip file and put the missing files into the cache."""
    contents = {}
    try:
        with tempfile.TemporaryDirectory() as temporary:
            archive = _fetch(source.url, Path(temporary)).read_bytes()
        for file in missing:
            content = _unzip(archive, file.name)
            if content is None:
                raise DataError(f"{source.url} does not hold {file.name}. {_ways(file)}")
            contents[file.name] = _verified(content, file, found_in=f"{file.name} of {source.url}")
            folder = _cache_folder()
            folder.mkdir(parents=True, exist_ok=True)
            write_whole(folder / file.name, content)
    except (OSError, zipfile.BadZipFile, zlib.error) as error:
        file = missing[0]
        raise DataError(
            f"{file.name} (sha256 {file.sha256}) is not in {' nor in '.join(map(str, folders))}, "
            f"and fetching {source.url} failed: {error!r}. {_ways(file)}"
        ) from None  # the chain of a network's errors says no more, on ninety lines
    return contents


def _unzip(archive: bytes, name: str) -> bytes | None:
    """The file of that name from a zip file or from one inside it."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        entries = opened.namelist()
        for entry in entries:
            if PurePosixPath(entry).name == name:
                return opened.read(entry)
        for entry in entries:
            if entry.endswith(".zip") and (content := _unzip(opened.read(entry), name)) is not None:
                return content
    return None
