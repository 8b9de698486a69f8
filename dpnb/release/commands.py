"""The command ``dpnb``: fit a model, predict with it, write its card, draft and check domain files."""

from __future__ import annotations

import math
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, Self

import pandas as pd

from ..arrays import Floats
from ..boosting.booster import PrivateBooster
from ..boosting.regressor import PrivateBoosterRegressor
from ..data.datasets import part_of
from ..data.tables import read_all
from ..domain import drafts
from ..domain.misfits import lacking
from ..domain.moves import Move, Moves
from ..domain.rows import LINE, CsvFormat, read_parts
from ..errors import DataError, DomainError
from ..estimators.base import PrivateClassifier, PrivateEstimator, PrivateRegressor, read
from ..files import check_new, unreadable
from ..privacy.ledger import Neighbours
from ..terminal import MisuseError, Parser, announce, command, note, tell
from . import card

CHUNK = 50_000  # records that are held at a time


@command(known=(DataError, ValueError))
def main(arguments: Sequence[str], /) -> int:
    """Command line; returns the exit status, as :mod:`dpnb.terminal` has it."""
    words = list(arguments)
    if words[:1] == ["card"]:
        return card.main(words[1:])
    if words[:1] == ["domain"]:
        return drafts.main(words[1:])
    options, predicts = _options(words), words[:1] == ["predict"]
    try:
        if not predicts:
            fit(**vars(options))
            return 0
        if options.table is None and sys.stdin.isatty():
            note("reading a CSV from standard input; name a file to read that")
        predict(read(options.model), options.table, out=options.out, move=options.move)
    except OSError as error:
        raise DataError(f"cannot write {error.filename or options.out}: {error.strerror or error}") from error
    return 0


def _options(words: list[str]) -> Namespace:
    """Options of ``fit`` or ``predict``; the other commands are listed for the help."""
    parser = Parser(prog="dpnb", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="fit | predict | card | domain")
    commands.add_parser("card", help="write the card of a released model")
    commands.add_parser("domain", help="draft or check a domain file")
    fitting = commands.add_parser("fit", help="fit a booster to a CSV file and release it")
    fitting.add_argument("table", type=Path, help="CSV file; all of its records are learnt from")
    fitting.add_argument(
        "--domain", type=Path, required=True, help="domain file: what is public of the table"
    )
    fitting.add_argument(
        "--person",
        help="column that says whose each record is: protect people (default: as the domain file says)",
    )
    fitting.add_argument("--epsilon", type=float, required=True, help="total budget ε > 0")
    fitting.add_argument("--delta", type=float, help="total δ, far below 1 / records (default: pure ε)")
    fitting.add_argument("--neighbours", default="add-remove", help="add-remove (default) or replace")
    fitting.add_argument("--out", type=Path, required=True, help="document to write")
    predicting = commands.add_parser(
        "predict", help="append classes and probabilities, or numbers, to a table, in a stream"
    )
    predicting.add_argument("model", type=Path, help="document that model.release() wrote")
    predicting.add_argument("table", nargs="?", help="CSV or Parquet file (default: CSV from standard input)")
    predicting.add_argument("--out", help="CSV or Parquet file (default: CSV to standard output)")
    predicting.add_argument(
        "--move",
        action="store_true",
        help="go on at values that the domain has no place for, and say what each counted as (default: stop)",
    )
    if words[:1] == ["predict"]:  # options may stand between the model and the table
        return predicting.parse_intermixed_args(words[1:])
    return parser.parse_args(words)


def fit(
    table: Path,
    *,
    domain: Path,
    out: Path,
    epsilon: float,
    delta: float | None,
    neighbours: Neighbours,
    person: str | None = None,
) -> None:
    """Fit a booster to all records of a CSV file, release it, and print its ledger.

    It is a :class:`~dpnb.PrivateBoosterRegressor` where the domain's target is a number, and a
    :class:`~dpnb.PrivateBooster` where it is a class.

    Parameters
    ----------
    table : CSV file that fits the domain file. The section ``csv`` of that file applies, but nothing is held back for
        testing.
    domain : domain file.
    out : document to write; no file of that name may exist.
    epsilon, delta, neighbours : as for the booster.
    person : column that says whose each record is, instead of the domain file's; with one, people are protected.

    Raises
    ------
    DataError, DomainError If the table does not fit, before any budget is spent. The message shows values of records,
        so it is for the data holder only.
    OSError If there is such a document already, or no folder for it, before a record is read.
    ValueError
        For a parameter out of range, before a record is read.

    **Privacy**: as for the booster; everything that is written and printed follows from the released model.
    """
    check_new(out)
    how: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours}
    try:
        PrivateBooster(**how).worst_cost()
    except ValueError as error:
        raise MisuseError(str(error)) from error
    if math.isinf(epsilon):
        raise MisuseError(
            "epsilon=inf: this model would be exact, and show its records to whoever gets the document; take a number, "
            "such as 1, or fit in Python what stays in the house"
        )
    try:
        model = _released(table, domain=domain, out=out, how=how, person=person)
        announce(str(model.ledger_), done=f"{out} is written, and its budget is spent")
    except BaseException as error:
        # The estimator's note is for who still has the estimator. Here it ends with the process, and what it had drawn
        # was shown to nobody: a fit that is not released has cost nothing.
        whole = f"{out} is written, and its budget is spent: do not fit again"
        error.__notes__ = [whole if out.exists() else "no model was released, so no budget is spent"]
        raise


def _released(
    table: Path, *, domain: Path, out: Path, how: dict[str, Any], person: str | None
) -> PrivateEstimator:
    records, public, person, report = read_all(table, domain=domain, person=person)
    note(f"{report}\n(a local check, which is not private and spends no ε)")
    kind = PrivateBooster if public.response is None else PrivateBoosterRegressor
    people = None if person is None else records[person]
    model = kind(**how, domain=public).fit(*part_of(records, public), people=people)
    model.release(out)
    return model


def predict(model: PrivateEstimator, table: str | None, *, out: str | None, move: bool = False) -> None:
    """Append a column ``prediction``, and for each class a column ``probability CLASS``, to a table, part by part.

    A regressor has no classes, so that its numbers are all that is appended.

    Parameters
    ----------
    model : model that :func:`dpnb.read` gave.
    table : path of a CSV or Parquet file, None for standard input. It may have more columns than the model asks for. A
        CSV file is written as the one that the model was fitted to, by its domain file, and so is what is written here.
    out : path of a CSV or Parquet file, None for standard output. A file appears when it is complete, and no file of
        that name may exist.
    move : whether to go on at a value that the domain has no place for, and count it as the first value or the middle,
        as a fit does. What counts as a bound, or as missing, is no reason to stop, unless the model is ``strict``. A
        note on standard error says at the end what became of which values.

    Raises
    ------
    DataError If the table cannot be read.
    DomainError If it lacks columns of the model's domain, or holds a value at which to stop; nothing of that part of
        the table is written.

    **Privacy**: post-processing of the released model, free.
    """
    if out == "":
        raise DataError("--out is empty: name a file that ends in .csv or .parquet, or leave it out")
    domain, moves = model.domain_, Moves()
    with _Sink(out, domain.written) as sink:
        for part in _parts(table, domain.written):
            _check_names(model, part)
            codes, found = domain.replaced_and_moves(domain.spelt(part[list(domain.names)]))
            if not move and (stops := found if model.strict else found.without_place()):
                are_out = out is None and moves.total
                written = f"{moves.total} records are out already" if are_out else "nothing is written"
                reasons = [
                    _reason(each, part, before=moves.total)
                    for each in sorted(stops, key=lambda each: each.first)
                ]
                what = f"{table or 'standard input'} does not fit the domain; {written}"
                raise DomainError("\n".join([what, *reasons]))
            moves.extend(found)
            sink.write(part.assign(**_added(model, codes)))
    for text in moves.texts():
        note(f"moved into the domain: {text}")


def _reason(stop: Move, part: pd.DataFrame, *, before: int) -> str:
    """Why to stop, and where; ``before`` is the number of records of earlier parts."""
    in_file = part.index.name == LINE
    where = f"line {part.index[stop.first]}" if in_file else f"record {before + stop.first + 1}"
    more = sum(stop.counts.values()) - 1
    others = f", and {more} more in the records up to the {before + len(part)}th" if more else ""
    return (
        f"{where}, column {stop.attribute.name!r}: {stop.value}{others}; {stop.way_out}, drop these records, or write "
        f"--move, which counts them as {stop.became}"
    )


def _check_names(model: PrivateEstimator, part: pd.DataFrame) -> None:
    """Raise DomainError if a table lacks columns, or has some that are to be added."""
    domain = model.domain_
    if problem := lacking(domain.names, part):
        raise DomainError(f"the table {problem}")
    added = ("prediction", "probability ") if domain.classes else ("prediction",)
    if taken := [name for name in map(str, part) if name == added[0] or name.startswith(added[1:])]:
        raise DomainError(
            f"the table has a column {taken[0]!r} already, which is to be added: rename or remove it"
        )


def _added(model: PrivateEstimator, codes: Floats) -> dict[str, Any]:
    """The columns that are appended for encoded records."""
    if isinstance(model, PrivateRegressor):
        return {"prediction": model._numbers(codes)}
    assert isinstance(model, PrivateClassifier)
    probabilities = model._probabilities(codes)
    shares = {f"probability {label}": probabilities[:, k] for k, label in enumerate(model.domain_.classes)}
    return {"prediction": model.classes_[probabilities.argmax(axis=1)]} | shares


def _parts(table: str | None, written: CsvFormat) -> Iterator[pd.DataFrame]:
    try:
        if table is not None and table.endswith(".parquet"):
            from pyarrow.parquet import ParquetFile

            file = ParquetFile(table)
            yield _pandas(file.schema_arrow.empty_table())
            for batch in file.iter_batches(CHUNK):
                yield _pandas(batch)
            return
        how: dict[str, Any] = {"written": written, "size": CHUNK, "name": table or "standard input"}
        if table is None:
            yield from read_parts(sys.stdin.buffer, **how)
            return
        with open(table, "rb") as source:
            yield from read_parts(source, **how)
    except ImportError as error:
        raise DataError(f"Parquet files need pyarrow: pip install pyarrow ({error})") from error
    except OSError as error:
        raise DataError(unreadable(Path(table or "standard input"), error)) from error
    except DomainError:
        raise
    except ValueError as error:
        raise DataError(f"{table} is not a Parquet file: {error}; write it again") from error


def _pandas(table: Any) -> pd.DataFrame:
    """An Arrow table whose columns keep their types, with or without missing values."""
    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


class _Sink:
    """Destination of predictions; the first part writes header or schema, and a file gets its name at the end."""

    def __init__(self, out: str | None, written: CsvFormat) -> None:
        self._written = written
        self._path = None if out is None else Path(out)
        if self._path is not None:
            check_new(self._path)
            if self._path.suffix not in (".csv", ".parquet"):
                raise DataError(f"cannot write {out}: expected a name that ends in .csv or .parquet")
        self._part = (
            None if self._path is None else self._path.with_name(f".{self._path.name}.{token_hex(4)}")
        )
        self._file: Any = None
        self._parquet: Any = None
        self._first = True

    def __enter__(self) -> Self:
        if self._part is not None and self._path is not None:
            text = {"encoding": self._written.encoding, "newline": ""} if self._path.suffix == ".csv" else {}
            self._file = open(self._part, "w" if text else "wb", **text)  # type: ignore[call-overload]
        return self

    def write(self, part: pd.DataFrame) -> None:
        if self._path is not None and self._path.suffix == ".parquet":
            import pyarrow as pa
            from pyarrow.parquet import ParquetWriter

            try:
                schema = None if self._parquet is None else self._parquet.schema
                rows = pa.Table.from_pandas(part, schema=schema, preserve_index=False)
                self._parquet = self._parquet or ParquetWriter(self._file, rows.schema)
                self._parquet.write_table(rows)
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise DataError(f"cannot write {self._path}: {error}") from error
        else:
            how: dict[str, Any] = {
                "sep": self._written.separator,
                "decimal": self._written.decimal,
                "header": self._first,
            }
            text = part.to_csv(index=False, **how)
            if self._file is None:
                tell(text, document=True)
            else:
                self._file.write(text)
        self._first = False

    def __exit__(self, kind: object, *_: object) -> None:
        if self._part is None or self._path is None:
            return
        try:
            with self._file:
                if self._parquet is not None:
                    self._parquet.close()
            if kind is None:
                self._part.replace(self._path)
        finally:
            self._part.unlink(missing_ok=True)
