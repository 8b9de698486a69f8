"""The view of a fitted model, which is its answers, every number and text that it holds, last bits, and sizes.

A fit shows blocks of numbers, each under the path that leads to them. A :class:`Columns` gives every number of all fits
a column, so that fits whose models differ in shape can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dpnb.arrays import Floats, Ints

from .adapters import OnDomain
from .contents import TOTALS, contents, group
from .fits import NOTED, Data, Sample, Seen, Texts, drawn, number_of, side_by_side
from .pairs import Pair

MOST_ENTRIES = 64  # of an array that are looked at one by one, the first ones
MOST_BITS = 32
MOST_COLUMNS = 1_200  # of a layout; answers and what lies near the surface of a model come first
ANSWERS, NUMBERS = "answers", "numbers in answer"
DISTINCT, LABELS = "number of distinct answers", "type of the predicted labels"
BITS = "last bits of "


class Sight(NamedTuple):
    """What a fit shows: blocks of numbers by path and shape, one after the other, and the texts behind some of them."""

    blocks: tuple[tuple[str, tuple[int, ...]], ...]
    numbers: Floats
    texts: dict[int, str]  # by the position of the number


@dataclass(frozen=True)
class Look:
    """Look at everything that a fitted model releases."""

    answers: BlackBox  # the model's answers to queries

    def __call__(self, model: Any, only: frozenset[str] = frozenset()) -> Sight:
        """What a fitted model shows: its answers, and all else, or what stands under some names with stars."""
        blocks: list[tuple[str, tuple[int, ...]]] = []
        parts: list[Floats] = []
        texts: dict[int, str] = {}
        size = 0

        def add(path: str, shape: tuple[int, ...], numbers: Floats) -> None:
            nonlocal size
            blocks.append((path, shape))
            parts.append(numbers)
            size += len(numbers)

        answers = self.answers(model)
        add(NUMBERS if self.answers.of_numbers(model) else ANSWERS, answers.shape, answers)
        facts = contents(model, surface=True, only=only).facts
        labels = np.asarray(model.predict(self.answers.queries))
        facts[LABELS] = np.asarray(labels.dtype.kind, object)
        for path, fact in facts.items():
            if path.startswith(TOTALS[-1]) or path.endswith("random_state"):
                continue  # a text that says no more than the numbers do, or what the auditor has set itself
            name = group(path + "[0]" * bool(fact.ndim))
            if only and not {name, BITS + name} & only:
                continue
            if fact.dtype.kind in "biuf":
                numbers = fact.reshape(-1)[:MOST_ENTRIES].astype(float)
                add(path, fact.shape, numbers)
                if fact.dtype.kind == "f" and (numbers != np.rint(numbers)).any():
                    bits = fine_bits(numbers[:MOST_BITS])
                    add(BITS + path, bits.shape, bits)
            else:
                entries = [str(entry) for entry in fact.reshape(-1)[:MOST_ENTRIES].tolist()]
                texts |= {size + i: entry for i, entry in enumerate(entries)}
                add(path, fact.shape, np.array([number_of(entry) for entry in entries], float))
        return Sight(tuple(blocks), np.concatenate(parts), texts)

    def names(self, path: str, shape: tuple[int, ...]) -> list[str]:
        """Names of the numbers of a block."""
        if path == ANSWERS:
            return self.answers.names(shape[0])
        if path == NUMBERS:
            each = shape[0] // len(self.answers.queries)
            return [*(f"number {i % each} of query {i // each}" for i in range(shape[0] - 1)), DISTINCT]
        if not shape:
            return [path]
        shown = islice(np.ndindex(shape), MOST_ENTRIES)
        return [f"{path}{list(place)}" for place in shown]


class LookedAt(Sample):
    """A sample of which each fit shows a :class:`Sight`."""

    def _observed(self, model: Any, *only: Any) -> Any:
        return self.observe(model, *only)


@dataclass
class Columns:
    """Columns for what fits show: what they raise and warn first, then every number under a name of its own."""

    names: list[str] = field(default_factory=lambda: list(NOTED))
    texts: Texts = field(default_factory=dict)
    blocks: int = 0  # of a fit, at most; each takes time
    _known: dict[str, int] = field(default_factory=dict)
    _places: dict[tuple[Any, ...], Ints] = field(default_factory=dict)

    def named(self, row: Floats) -> dict[str, Any]:
        """What a row shows, by names; texts as such, and without what is missing."""
        pairs = zip(self.names, row.tolist(), strict=False)
        return {name: self.texts.get((name, value), value) for name, value in pairs if value == value}

    def row(self, seen: Seen, look: Look) -> Floats:
        """A fit as numbers; NaN in the columns of which it shows nothing, and none if it failed."""
        shown, notes = seen
        if not isinstance(shown, Sight):
            return side_by_side((np.empty(0), notes), self.texts)
        self.blocks = max(self.blocks, len(shown.blocks))
        key = shown.blocks, len(look.answers.queries)
        if key not in self._places:
            self._places[key] = self._placed(shown, look)
        places = self._places[key]
        row = np.full(len(self.names), np.nan)
        row[: len(NOTED)] = side_by_side((np.empty(0), notes), self.texts)
        row[places[places >= 0]] = shown.numbers[places >= 0]
        for position, text in shown.texts.items():
            if (column := places[position]) >= 0:
                self.texts[self.names[column], shown.numbers[position]] = text
        return row

    def _placed(self, shown: Sight, look: Look) -> Ints:
        """The column of each number, -1 if there are too many."""
        names = [name for block in shown.blocks for name in look.names(*block)]
        for name in names:
            if name not in self._known and len(self.names) < MOST_COLUMNS:
                self._known[name] = len(self.names)
                self.names.append(name)
        return np.array([self._known.get(name, -1) for name in names], np.int64)


def queries_for(alike: Sequence[Pair]) -> BlackBox:
    """Queries for pairs that share their first data set: at the records that are not in all of them first.

    A malformed record is no query: the fit has to bear it, not the prediction.
    """
    first = alike[0].first
    tables = [pair.second for pair in alike if not pair.malformed] or [first]
    X, y, *_ = (pd.concat(parts) for parts in zip(*tables, strict=True))
    return replace(black_box(first, (X, y)), classes=alike[0].domain.classes)


def sights(
    factory: Callable[[], Any], tried: Sequence[Pair], name: str, *, runs: int = 500, seed: int = 1
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Fit on both data sets of a pair, and see what an audit of these pairs would see: to look at its finding again.

    Parameters
    ----------
    factory : returns an unfitted estimator.
    tried : the pairs of the audit.
    name : of one of them.
    runs : fits on each data set.
    seed : of all fits.

    Returns
    -------
    For each fit on D, and on D′, numbers and texts by name; what a fit did not show is not there.
    """
    pair = next(pair for pair in tried if pair.name == name)
    look, layout = Look(queries_for([other for other in tried if other.first is pair.first])), Columns()
    made = OnDomain(factory, pair.domain)
    samples: list[Any] = [
        LookedAt(made, part, look, name, failures=True, timed=True) for part in (pair.first, pair.second)
    ]
    found = drawn(samples, [runs, runs], seed=seed)
    on_first, on_second = ([layout.named(layout.row(seen, look)) for seen in side] for side in found)
    return on_first, on_second


MOST_QUERIES = 48  # records that a model is asked for, beside corners; each is a column of a class or more


# --- Observations -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlackBox:
    """The view of a user of a fitted model, which is its answers to fixed queries.

    Calling it with a model gives the class probabilities (codes of the labels where the model has none, and numbers
    where it predicts numbers) of each query, and the number of distinct answers.
    """

    queries: Any  # records, in a form that the model takes
    # Labels in a fixed order; a model that does not know a label answers NaN for it. Empty if the model
    # predicts numbers.
    classes: tuple[Any, ...]

    def __call__(self, model: Any) -> Floats:
        """Answers of a fitted model, (queries · classes + 1,)."""
        if self.of_numbers(model):
            answers = np.asarray(model.predict(self.queries), float).reshape(len(self.queries), -1)
        elif hasattr(model, "predict_proba"):
            known = list(getattr(model, "classes_", self.classes))
            table = np.asarray(model.predict_proba(self.queries), float)
            answers = np.full((len(table), len(self.classes)), np.nan)
            for j, label in enumerate(self.classes):
                if label in known:
                    answers[:, j] = table[:, known.index(label)]
        else:
            code = {label: float(j) for j, label in enumerate(self.classes)}
            labels = np.asarray(model.predict(self.queries)).ravel().tolist()
            answers = np.array([[code.get(label, np.nan)] for label in labels])
        distinct = len(np.unique(answers, axis=0))
        return np.append(answers.ravel(), float(distinct))

    def of_numbers(self, model: Any) -> bool:
        """Whether a model answers by numbers, one a query where they are predicted, more if it transforms records."""
        if not self.classes or hasattr(model, "predict_proba"):
            return not self.classes
        return np.ndim(model.predict(self.queries)) == 2

    def names(self, width: int) -> list[str]:
        """Names of ``width`` observed numbers."""
        count = len(self.queries)
        if width == count + 1:
            numbers = [f"{'label' if self.classes else 'number'} of query {i}" for i in range(count)]
        else:
            numbers = [f"P({label} | query {i})" for i in range(count) for label in self.classes]
        return [*numbers, DISTINCT]


def black_box(first: Data, second: Data) -> BlackBox:
    """Queries at the records of two data sets, those that differ first, and at corners of their range.

    Parameters
    ----------
    first, second : the two neighbours, (X, y) or (X, y, people); X a DataFrame, an array or a list.
    """
    labels = [label for _, y, *_ in (first, second) for label in np.asarray(y).tolist()]
    try:
        classes = tuple(sorted(set(labels)))
    except TypeError:
        classes = tuple(dict.fromkeys(labels))
    return BlackBox(_queries(first[0], second[0]), classes)


def _queries(a: Any, b: Any) -> Any:
    tables = [pd.DataFrame(X) if isinstance(X, np.ndarray) and X.ndim == 2 else X for X in (a, b)]
    if not all(isinstance(X, pd.DataFrame) for X in tables):
        try:
            return [*dict.fromkeys([*a, *b])][:MOST_QUERIES]
        except TypeError:  # some cannot be looked up
            return [*a, *b][:MOST_QUERIES]
    rows = pd.concat(tables, ignore_index=True)
    # A record that only one data set holds shows up an odd number of times: ask for it first.
    often = rows.astype(object).groupby(list(rows.columns), dropna=False, sort=False)[rows.columns[0]]
    odd = (often.transform("size") % 2 == 1).to_numpy()
    rows = pd.concat([rows[odd], rows[~odd]]).drop_duplicates().head(MOST_QUERIES)
    queries = pd.concat([rows, _corners(rows)], ignore_index=True).drop_duplicates(ignore_index=True)
    queries = queries.astype(tables[0].dtypes.to_dict())
    return queries if isinstance(a, pd.DataFrame) else queries.to_numpy(np.asarray(a).dtype)


def _corners(rows: pd.DataFrame) -> pd.DataFrame:
    ends = []
    for _, column in rows.items():
        values = column.dropna()
        if pd.api.types.is_numeric_dtype(values) and len(values):
            ends.append((values.min(), values.max()))
        else:
            ends.append((column.iloc[0], column.iloc[-1]))
    # All 2^d corners of up to four columns, else the two where all are smallest or largest.
    corners = list(product(*ends)) if len(ends) <= 4 else list(zip(*ends, strict=True))
    return pd.DataFrame(corners, columns=rows.columns)


# --- Last bits --------------------------------------------------------------------------------------------------------


def fine_bits(values: ArrayLike) -> Floats:
    """How fine numbers are that lie between -½ and ½: the least k such that 2ᵏ times one is whole; NaN for all others.

    In exact arithmetic a noisy count may be any number. As it is computed, ``count + noise`` is a multiple of the last
    place of the larger of the two, so that some numbers come out for one count only: |v| < ½ with bits below 2⁻⁵³
    cannot be 1 + noise, but can be 0 + noise. Next to 0 a count ends in more bits the smaller the true one is. Whole
    numbers have no such bits.

    References
    ----------
    Mironov (2012), On significance of the least significant bits for differential privacy.
    """
    numbers = np.asarray(values, float)
    inside = (np.abs(numbers) < 0.5) & (numbers != 0)
    mantissa, exponent = np.frexp(np.where(inside, numbers, 1.0))
    whole = np.ldexp(np.abs(mantissa), 53).astype(np.int64)
    return np.where(inside, 53 - exponent - np.log2(whole & -whole), np.nan)
