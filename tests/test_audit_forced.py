"""Forced replays of telling outcomes find telling outputs, and none that a private estimator cannot account for."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpaudit import families
from dpaudit.pairs import DOMAIN
from dpnb.papers.dpada import DPAda
from dpnb.papers.edprf import EDPRF
from dpnb.papers.pearson import PearsonTree
from dpnb.privacy.curator import open_curator
from dpnb.privacy.ledger import Ledger
from dpnb.replay.tape import replay_estimator, replay_fit
from private_trees.auditing.forced import forced

PAIRS = families()


def losses(make: Callable[..., Any], *, force: bool, epsilon: float = 1.0) -> list[float]:
    """Losses on all families, in both directions."""
    model, found = make(epsilon=epsilon, domain=DOMAIN), []
    for seed, pair in enumerate(PAIRS * 2):
        sides = (pair.first, pair.second) if seed % 2 else (pair.second, pair.first)
        how: dict[str, Any] = {"force": partial(forced, seed=seed)} if force else {}
        found.append(replay_estimator(model, *sides, seed=seed, encoded=True, **how)[0].log_ratio)
    return found


SUBJECTS = [partial(DPAda, n_rounds=6), PearsonTree, partial(EDPRF, bags="poisson", n_trees=2)]


@pytest.mark.parametrize("make", SUBJECTS, ids=["DPAda", "PearsonTree", "EDPRF"])
def test_a_forced_replay_tells_more_and_never_too_much(make: Callable[..., Any]) -> None:
    forced_losses = losses(make, force=True)
    assert np.mean(forced_losses) > np.mean(losses(make, force=False)) + 0.1
    assert max(forced_losses) <= 1 + 1e-9
    assert max(losses(make, force=True, epsilon=3.0)) > 1  # broken twin: it spends three times what it claims


def test_a_forced_replay_is_the_same_each_time() -> None:
    assert losses(EDPRF, force=True) == losses(EDPRF, force=True)


def count(data: list[int], *, epsilon: float, more: bool = False) -> None:
    curator = open_curator(rng=np.random.default_rng(0), ledger=Ledger(claimed=1.0))
    how: dict[str, Any] = {"epsilon": epsilon, "sensitivity": 1.0}
    curator.geometric(np.array([len(data)]), what="count", **how)
    if more and len(data) > 3:
        curator.geometric(np.array([0]), what="one more", **how)


@pytest.mark.parametrize("sides", [([0] * 3, [0] * 4), ([0] * 4, [0] * 3)])
def test_one_count_is_as_telling_as_its_budget(sides: tuple[list[int], list[int]]) -> None:
    for epsilon in (0.5, 2.0):
        run = partial(count, epsilon=epsilon)
        script = forced(run, *sides, draws=16)
        assert replay_fit(
            run, *sides, common=sides[0], own=(True, True), script=script
        ).loss == pytest.approx(epsilon)


@pytest.mark.parametrize("sides", [([0] * 3, [0] * 4), ([0] * 4, [0] * 3)])
def test_fits_that_part_ways_are_told_apart(sides: tuple[list[int], list[int]]) -> None:
    run = partial(count, epsilon=1.0, more=True)
    script = forced(run, *sides)
    assert len(script) == 1 + (len(sides[0]) > 3)
    assert math.isinf(replay_fit(run, *sides, common=sides[0], own=(True, True), script=script).loss)
