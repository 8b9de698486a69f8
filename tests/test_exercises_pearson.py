"""The checks of chapter 3's exercises pass a right answer, and name the case in which a wrong one fails."""

from __future__ import annotations

import hmac
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from private_trees.exercises import pearson as ex
from private_trees.studies.pearson import shifted

# --- right answers ----------------------------------------------------------------------------------------------


def pattern(n: int) -> list[ex.Row]:
    return [((i + 1) // 2 % 2, i // 2 % 2, i % 2) for i in range(n)]


def coefficient(table: Any) -> float:
    (_, b), (c, d) = table
    n, ones, class_1 = np.sum(table), c + d, b + d
    below = ones * (n - ones) * class_1 * (n - class_1)
    return 0.0 if below == 0 else float(abs(n * d - ones * class_1) / np.sqrt(below))


def by_key(keys: Any, m: int, secret: bytes) -> list[int]:
    return [int(hmac.new(secret, key.encode(), "sha256").hexdigest(), 16) % m for key in keys]


def own_pair() -> tuple[list[ex.Row], ex.Row]:
    return pattern(8), pattern(9)[-1]


def share(total: float, leaf: float, h: int, m: int, by_position: bool) -> float:
    return (total - leaf) / (h * (m if by_position else 1))


@pytest.mark.parametrize(
    ("check", "mine"),
    [
        (ex.check_phi, coefficient),
        (ex.check_shards, by_key),
        (ex.check_pair, own_pair),
        (ex.check_share, share),
    ],
)
def test_a_right_answer_passes(check: Callable[[Any], str], mine: Callable[..., Any]) -> None:
    assert check(mine) == ex.RIGHT


# --- wrong ones -------------------------------------------------------------------------------------------------


def signed(table: Any) -> float:
    (a, b), (c, d) = table
    return coefficient(table) * float(np.sign(a * d - b * c))


def undefined(table: Any) -> float:
    with np.errstate(all="ignore"):
        return float(abs(np.linalg.det(table)) / np.sqrt(np.prod([*table.sum(0), *table.sum(1)])))


def covariation(table: Any) -> float:
    n = max(float(np.sum(table)), 1.0)
    return float(abs(table[1][1] - table[1].sum() * table[:, 1].sum() / n))


def by_position(keys: Any, m: int, secret: bytes) -> Any:
    return np.arange(len(keys)) % m


def by_block(keys: Any, m: int, secret: bytes) -> Any:
    return np.arange(len(keys)) * m // len(keys)


def by_rank(keys: Any, m: int, secret: bytes) -> Any:
    return np.argsort(np.argsort(keys)) * m // len(keys)


def by_public_hash(keys: Any, m: int, secret: bytes) -> list[int]:
    return [zlib.crc32(key.encode()) % m for key in keys]


def by_number(keys: Any, m: int, secret: bytes) -> list[int]:
    return [int(key.split()[1]) % m for key in keys]


def by_shifted_number(keys: Any, m: int, secret: bytes) -> list[int]:
    return [(int(key.split()[1]) + sum(secret)) % m for key in keys]


def by_salted_checksum(keys: Any, m: int, secret: bytes) -> list[int]:
    return [
        zlib.crc32(secret + key.encode()) % m for key in keys
    ]  # linear: a salt renames the shards of equal lengths


class Drawn:
    """Shards drawn anew each time."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __call__(self, keys: Any, m: int, secret: bytes) -> Any:
        return self.rng.integers(m, size=len(keys))


WRONG: list[tuple[Callable[[Any], str], Callable[..., Any], str]] = [
    (ex.check_phi, signed, "the cut says the opposite"),
    (ex.check_phi, undefined, "all records in one branch.*yours nan, expected 0"),
    (ex.check_phi, covariation, "the cut says the class.*expected 1"),
    (ex.check_shards, by_block, r"one record more at the end: \d+ others"),
    (ex.check_shards, by_position, "one record more in front: 2000 others"),
    (ex.check_shards, by_rank, r"one record more .*\d+ others"),
    (ex.check_shards, Drawn(), "the same keys twice"),
    (ex.check_shards, by_public_hash, "two secrets: 2.. records.*Without the secret anybody"),
    (ex.check_shards, by_number, "two secrets: 250 records"),
    (ex.check_shards, by_shifted_number, "two secrets: 250 records"),
    (ex.check_shards, by_salted_checksum, "two secrets"),
    (ex.check_shards, lambda keys, m, secret: [0] * len(keys), "sizes of the shards"),
    (
        ex.check_shards,
        lambda keys, m, secret: [s + 1 for s in by_key(keys, m, secret)],
        "shards from 1 to 8: expected 0 to 7",
    ),
    (ex.check_shards, lambda keys, m, secret: 0, "the shape"),
    (ex.check_pair, lambda: (pattern(8), (0, 2, 1)), r"row 8 is \(0, 2, 1\)"),
    (ex.check_pair, lambda: ([(1, 1, 1)] * 9, (0, 0, 0)), "a loss of 0.00"),
    (ex.check_pair, lambda: (pattern(3), (0, 0, 0)), "3 rows: expected 4"),
    (ex.check_share, lambda total, leaf, h, m, blocks: (total - leaf) / h, "m = 8, blocks.*books 4.5"),
    (ex.check_share, lambda total, leaf, h, m, blocks: (total - leaf) / (h * m), "m = 8, by record"),
    (ex.check_share, lambda total, leaf, h, m, blocks: total / (h * m), "expected 1"),
]


@pytest.mark.parametrize(("check", "mine", "says"), WRONG)
def test_a_wrong_answer_is_told_its_case(
    check: Callable[[Any], str], mine: Callable[..., Any], says: str
) -> None:
    with pytest.raises(AssertionError, match=says):
        check(mine)


# --- helpers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "copies"), [(2, 1), (8, 1), (16, 1)])
def test_the_law_of_blocks_loses_what_the_formula_says(m: int, copies: int) -> None:
    rows = pattern(2 * m + 1)
    laws = [ex.block_law(part, m, 1.0) for part in (rows[:-1], rows)]
    losses = np.abs(np.log(laws[1] / laws[0]))
    np.testing.assert_allclose(losses, ex.block_losses(m, copies, 1.0))
    assert not np.allclose(losses, ex.block_losses(m, copies + 1, 1.0))  # broken twin


def test_the_pattern_is_that_of_the_attack() -> None:
    X, y = shifted(8).second
    assert [tuple(row) for row in np.column_stack([X, y]).tolist()] == pattern(17)


def test_a_path_of_one_choice_loses_at_most_half_of_its_budget() -> None:
    losses = [ex.path_loss(1.0, n, n - 10, 1) for n in (20, 100, 10_000)]
    assert losses == sorted(losses)
    assert 0.49 < losses[-1] < 0.5
