"""Attacks on OpenDP's selections: the largest of a few counts, by permute-and-flip and by the exponential mechanism.

Its noise comes from the operating system and takes no seed, so counts differ a little from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from audit_case import Case, at_one, without_first

DOCUMENTED = "stated by the user, as a distance of the scores"
DELTA = 0.1  # of the claim that follows from zCDP


@lru_cache
def measurement(scale: float, *, monotonic: bool, concentrated: bool) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.linf_distance(T=int, monotonic=monotonic),
        dp.zero_concentrated_divergence() if concentrated else dp.max_divergence(),
        scale=scale,
    )


class Selection:
    """The class of the most records, chosen by OpenDP. One record changes each count by 1 at most.

    Parameters
    ----------
    scale : of the noise.
    monotonic : whether all counts change in one direction.
    concentrated : whether the claim is zCDP, for which OpenDP uses the exponential mechanism.
    """

    def __init__(self, scale: float, *, monotonic: bool = False, concentrated: bool = False):
        self.measurement = measurement(scale, monotonic=monotonic, concentrated=concentrated)

    def fit(self, X: Any, y: Any) -> Selection:
        self.chosen_ = self.measurement(np.bincount(y, minlength=2).tolist())
        return self

    def loss(self, delta: float = 0.0) -> float:
        """ε that OpenDP states, at this δ."""
        if delta == 0:
            return float(self.measurement.map(1))
        import opendp.prelude as dp

        return float(dp.c.make_zCDP_to_approxDP(self.measurement).map(1).epsilon(delta))


def second(model: Selection) -> list[bool]:
    return [model.chosen_ == 1]


def cases() -> Iterator[Case]:
    """All attacks, in the order of the table."""
    even, moved = at_one([0] * 5 + [1] * 5), at_one([0] * 6 + [1] * 4)
    moves = "5 records of class 0 and 5 of class 1; in D′ one of class 1 has class 0"
    more = at_one([0] * 6 + [1] * 5)
    lacks = "6 records of class 0 and 5 of class 1; D′ lacks one of class 0"
    for relation, pair, words in (
        ("replace", (even, moved), moves),
        ("add-remove", (more, without_first(more)), lacks),
    ):
        monotonic = relation == "add-remove"
        yield Case(
            f"opendp-max-{relation}-1",
            f"make_noisy_max, pure ε, {'monotonic' if monotonic else 'not monotonic'}",
            "opendp",
            relation,
            1.0,
            20_000,
            partial(Selection, 1.0 if monotonic else 2.0, monotonic=monotonic),
            *pair,
            words,
            second,
            "the second class is chosen",
            documented=DOCUMENTED,
        )
    yield Case(
        "opendp-max-zcdp-replace",
        "make_noisy_max, zCDP with ρ = 0.5 as (ε, δ)",
        "opendp",
        "replace",
        1.656,
        20_000,
        partial(Selection, 1.0, concentrated=True),
        even,
        moved,
        moves,
        second,
        "the second class is chosen",
        delta=DELTA,
        documented=DOCUMENTED,
    )
