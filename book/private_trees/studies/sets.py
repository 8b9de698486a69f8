"""The data sets of the board, and which split a seed means.

Three are those of the papers. Five more are read from the folder ``more`` of the data folder, ``NAME.csv.gz`` with
``NAME.yml``, a domain file. They were chosen before any learner saw them and are no part of the project.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from dpnb.data.datasets import Dataset, load
from dpnb.errors import DataError
from dpnb.files import unreadable

from .made import MADE, made

MORE = {  # name → sha256 of the CSV file, uncompressed
    "credit-default": "1a6bd41544a7a0640f38098a0a731793795343f5489329c297b6bd64f0d92693",
    "german-credit": "ad4c79fa84340e1b540194a820056c43e6b7e061d44cdc3a9da5227afbf30f05",
    "magic-telescope": "300b3c487573cf29a34598837136ede1b6c73de0301f9cd90ab45b964f6622df",
    "nursery": "46cfc0882de633992f9b2b70afa77877d44ddac1f08c2319050dd7a8e620440d",
    "online-shoppers": "bf0263f8e669f1f583a944f439a345616c205b8c78568fc1d17875f6ece92a43",
}
SETS = ("adult", "bank", "robot", *MORE)
STANDIN = "adult-standin"
ONE_SPLIT = ("adult", STANDIN)  # their seeds differ in the noise alone
TESTED = 0.3  # share of the records for testing, of the sets that are split by seed
EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
SEEDS = tuple(range(10))


@lru_cache(maxsize=2)
def split_of(name: str, seed: int) -> Dataset:
    """Data set of the board, in the split of a seed.

    Parameters
    ----------
    name : one of ``SETS``, the stand-in of Adult, or one of ``MADE``.
    seed : of the split, 70 % for training. Adult and its stand-in have one standard split for all seeds.

    Raises
    ------
    DataError
        If a file of ``MORE`` is not there, or is another one.
    """
    if name in MORE:
        return _more(name, seed)
    if name in MADE:
        return made(name, seed)
    return load(name) if name in ONE_SPLIT else load(name, split_seed=seed)


def _more(name: str, seed: int) -> Dataset:
    folder = os.environ.get("DPNB_DATA")
    way_out = f"set DPNB_DATA to a folder that holds more/{name}.csv.gz and more/{name}.yml"
    if not folder:
        raise DataError(f"the data set {name} is in no known folder; {way_out}")
    path = Path(folder) / "more" / f"{name}.csv.gz"
    try:
        found = hashlib.sha256(gzip.decompress(path.read_bytes())).hexdigest()
    except (OSError, EOFError, zlib.error) as error:
        why = unreadable(path, error) if isinstance(error, OSError) else f"cannot read {path} ({error})"
        raise DataError(f"{why}; {way_out}") from error
    if found != MORE[name]:
        raise DataError(f"{path} is not the expected file: sha256 {found} instead of {MORE[name]}; {way_out}")
    return replace(
        load(f"csv:{path}", domain=path.with_suffix("").with_suffix(".yml"), split_seed=seed), name=name
    )
