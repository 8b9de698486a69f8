"""The view of a fitted model, which is its answers, every number and text that it holds, last bits, and sizes.

A fit shows blocks of numbers, each under the path that leads to them. A :class:`Columns` gives every number of all fits
a column, so that fits whose models differ in shape can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from .adapters import OnDomain
from .attack import NOTED, BlackBox, Sample, Seen, Texts, drawn, number_of, side_by_side
from .channels import fine_bits
from .contents import TOTALS, contents
from .pairs import Pair, asked

MOST_ENTRIES = 64  # of an array that are looked at one by one, the first ones
MOST_BITS = 32
MOST_COLUMNS = 1_200  # of a layout; answers and what lies near the surface of a model come first
ANSWERS = "answers"
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

    def __call__(self, model: Any) -> Sight:
        """What a fitted model shows."""
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
        add(ANSWERS, answers.shape, answers)
        facts = contents(model, surface=True).facts
        labels = np.asarray(model.predict(self.answers.queries))
        facts["type of the predicted labels"] = np.asarray(labels.dtype.kind, object)
        for path, fact in facts.items():
            if path.startswith(TOTALS[-1]) or path.endswith("random_state"):
                continue  # a text that says no more than the numbers do, or what the auditor has set itself
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
        if not shape:
            return [path]
        shown = islice(np.ndindex(shape), MOST_ENTRIES)
        return [f"{path}{list(place)}" for place in shown]


class LookedAt(Sample):
    """A sample of which each fit shows a :class:`Sight`."""

    def _observed(self, model: Any) -> Any:
        return self.observe(model)


@dataclass
class Columns:
    """Columns for what fits show: what they raise and warn first, then every number under a name of its own."""

    names: list[str] = field(default_factory=lambda: list(NOTED))
    texts: Texts = field(default_factory=dict)
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
    look, layout = Look(asked([other for other in tried if other.first is pair.first])), Columns()
    made = OnDomain(factory, pair.domain)
    samples: list[Any] = [
        LookedAt(made, part, look, name, failures=True) for part in (pair.first, pair.second)
    ]
    found = drawn(samples, [runs, runs], seed=seed)
    on_first, on_second = ([layout.named(layout.row(seen, look)) for seen in side] for side in found)
    return on_first, on_second
