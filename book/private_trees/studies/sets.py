"""The data sets of the board, and which split a seed means.

Three are those of the papers. Five more are read from the folder ``more`` of the data folder, ``NAME.csv.gz`` with
``NAME.yml``, a domain file. They were chosen before any learner saw them and are no part of the project.
Five have a number to predict. They are read from the folder ``regression``, and their domain files are the book's own.
One has several records of a person. It is read from the folder ``people``, and split by person.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from dpnb import Domain
from dpnb.data.datasets import Dataset, load, part_of
from dpnb.errors import DataError
from dpnb.files import unreadable

from .made import MADE, VISITS, made, made_visits

MORE = {  # name → sha256 of the CSV file, uncompressed
    "credit-default": "1a6bd41544a7a0640f38098a0a731793795343f5489329c297b6bd64f0d92693",
    "german-credit": "ad4c79fa84340e1b540194a820056c43e6b7e061d44cdc3a9da5227afbf30f05",
    "magic-telescope": "300b3c487573cf29a34598837136ede1b6c73de0301f9cd90ab45b964f6622df",
    "nursery": "46cfc0882de633992f9b2b70afa77877d44ddac1f08c2319050dd7a8e620440d",
    "online-shoppers": "bf0263f8e669f1f583a944f439a345616c205b8c78568fc1d17875f6ece92a43",
}
NUMBERS = {  # name → sha256 of the CSV file, compressed
    "abalone": "881b424bede2d69e1ec82d07cc835678da1431c9f81009ff981334643276f462",
    "beijing-pm25": "ae74d528f52cd98c8781f76ed94be9cf4a086cb5e3f6f7cffd804c50c8d96627",
    "california-housing": "f2496158e8cc227b05135090de2ba36f14cbdb1a9c764c75d7a9f845b12712f6",
    "diamonds": "937edfaa3b414fb2599edb49823d87c1f18d1347b744a00072891bc276690a0b",
    "taxis": "8a12613cf15cbd5abb973e6c7729f8383fff6c71822e75e38c65cc9c55561d15",
}
PEOPLE = {  # name → sha256 of the CSV file, compressed, and the column of people
    "diabetes-readmission": ("e721df66ccf460c3e908fc045f1ed633ed9c4c6f8202db1196b8ffb482548b9a", "patient"),
}
DOMAINS = Path(__file__).parents[1] / "board" / "domains"  # of NUMBERS
SETS = ("adult", "bank", "robot", *MORE)
STANDIN = "adult-standin"
ONE_SPLIT = ("adult", STANDIN)  # their seeds differ in the noise alone
TESTED = 0.3  # share of the records for testing, of the sets that are split by seed
TESTED_NUMBERS = 0.25  # the same of NUMBERS
EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
SEEDS = tuple(range(10))


@lru_cache(maxsize=2)
def split_of(name: str, seed: int) -> Dataset:
    """Data set of the board, in the split of a seed.

    Parameters
    ----------
    name : one of ``SETS``, the stand-in of Adult, or one of ``MADE``, ``NUMBERS`` or ``PEOPLE``.
    seed : of the split, 70 % for training, and 75 % of ``NUMBERS``. Adult and its stand-in have one standard split for
        all seeds.

    Raises
    ------
    DataError
        If a file of ``MORE``, ``NUMBERS`` or ``PEOPLE`` is not there, or is another one.
    """
    if name in MORE:
        return _more(name, seed, within="more", expected=MORE[name], content=gzip.decompress)
    if name in PEOPLE:
        expected, person = PEOPLE[name]
        return _more(name, seed, within="people", expected=expected, person=person)
    if name in NUMBERS:
        return _numbers(name, seed)
    if name in MADE:
        return made(name, seed)
    if name == VISITS:
        return made_visits(seed)
    return load(name) if name in ONE_SPLIT else load(name, split_seed=seed)


def _more(
    name: str,
    seed: int,
    *,
    within: str,
    expected: str,
    content: Callable[[bytes], bytes] = bytes,
    **options: str,
) -> Dataset:
    """A set whose domain file lies beside it; ``options`` are those of :func:`dpnb.load`."""
    way_out = f"set DPNB_DATA to a folder that holds {within}/{name}.csv.gz and {within}/{name}.yml"
    path = _path(name, within, expected, way_out, content)
    domain = path.with_suffix("").with_suffix(".yml")
    return replace(load(f"csv:{path}", domain=domain, split_seed=seed, **options), name=name)


def _numbers(name: str, seed: int) -> Dataset:
    """A random split of the records that have a number to predict."""
    way_out = f"set DPNB_DATA to a folder that holds regression/{name}.csv.gz"
    domain = Domain.from_yaml(DOMAINS / f"{name}.yml")
    table = pd.read_csv(_path(name, "regression", NUMBERS[name], way_out)).dropna(subset=[domain.target])
    order = np.random.default_rng(seed).permutation(len(table))
    tested = round(TESTED_NUMBERS * len(table))
    train, test = (part_of(table.iloc[rows], domain) for rows in (order[tested:], order[:tested]))
    return Dataset(name, train, test, domain)


def _path(
    name: str, within: str, expected: str, way_out: str, content: Callable[[bytes], bytes] = bytes
) -> Path:
    """Path of a file that was found to be the expected one.

    Parameters
    ----------
    name, within : of the data set and of its folder.
    expected : sha256 of its ``content``.
    way_out : for errors.
    """
    folder = os.environ.get("DPNB_DATA")
    if not folder:
        raise DataError(f"the data set {name} is in no known folder; {way_out}")
    path = Path(folder) / within / f"{name}.csv.gz"
    try:
        found = hashlib.sha256(content(path.read_bytes())).hexdigest()
    except (OSError, EOFError, zlib.error) as error:
        why = unreadable(path, error) if isinstance(error, OSError) else f"cannot read {path} ({error})"
        raise DataError(f"{why}; {way_out}") from error
    if found != expected:
        raise DataError(f"{path} is not the expected file: sha256 {found} instead of {expected}; {way_out}")
    return path
