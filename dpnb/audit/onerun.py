"""One-run audit: a single fit with many canaries, each in or out by a coin, and guesses which are in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import binom

from ..arrays import Bools, Floats
from .attack import Data, seeded
from .bounds import check_claim, check_levels
from .result import Finding

PRECISION = 1e-6
LARGEST = 50.0  # no number of guesses in reach shows more


def one_run_epsilon(
    correct: int, guesses: int, *, confidence: float, delta: float = 0.0, canaries: int | None = None
) -> float:
    """Lower confidence bound of ε from the number of correct guesses in one run.

    Under (ε, δ)-DP the number of correct guesses is at most as large as a Binomial(r, e^ε/(1 + e^ε)), up to a
    term α·2·m·δ. The bound is the ε at which the observed number becomes plausible.

    Parameters
    ----------
    correct : correct guesses v, 0..``guesses``.
    guesses : guesses r, at least 1; canaries without a guess do not count.
    confidence : probability in (0, 1) that the bound holds.
    delta : δ of the claim, in [0, 1).
    canaries : number m of canaries, by default as many as guesses; matters for δ > 0 only.

    Returns
    -------
    The bound, 0 if the guesses show nothing.

    References
    ----------
    Steinke, Nasr, Jagielski (2023), Privacy auditing with one (1) training run, theorem 5.2.
    """
    check_levels(confidence, delta)
    canaries = guesses if canaries is None else canaries
    if not 0 <= correct <= guesses <= canaries or guesses < 1:
        raise ValueError(
            f"{correct} correct of {guesses} guesses on {canaries} canaries: "
            "expected 0 <= correct <= guesses <= canaries and at least one guess"
        )

    def refuted(epsilon: float) -> bool:
        p = _p_value(correct, guesses=guesses, canaries=canaries, epsilon=epsilon, delta=delta)
        return p < 1 - confidence

    low, high = 0.0, LARGEST
    if not refuted(low):
        return 0.0
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def _p_value(correct: int, *, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Largest probability of at least so many correct guesses under (ε, δ)-DP."""
    law = binom(guesses, 1 / (1 + np.exp(-epsilon)))
    p = float(law.sf(correct - 1))
    if delta > 0 and correct > 0:
        below = law.pmf(np.arange(correct - 1, -1, -1))
        alpha = float(np.max(np.cumsum(below) / np.arange(1, correct + 1)))
        p += alpha * 2 * canaries * delta
    return min(p, 1.0)


def own_label(model: Any, X: Any, y: Any) -> Floats:
    """Predicted probability of each canary's own label; 0 for labels that the model does not know."""
    known = {label: j for j, label in enumerate(np.asarray(model.classes_).tolist())}
    table = np.asarray(model.predict_proba(X), float)
    labels = np.asarray(y).tolist()
    return np.array([row[known[z]] if z in known else 0.0 for row, z in zip(table, labels, strict=True)])


def one_run(
    factory: Callable[[], Any],
    X: Any,
    y: Any,
    canaries: Data,
    *,
    claimed: float,
    confidence: float = 0.95,
    delta: float = 0.0,
    score: Callable[[Any, Any, Any], ArrayLike] | None = None,
    guesses: int | None = None,
    seed: int = 0,
    subject: str = "",
) -> Finding:
    """Audit with a single fit, for models that are slow to fit; weaker than many fits on one pair.

    Each canary enters the data with probability 1/2. After one fit, the highest scores are guessed to be in, the
    lowest to be out. The audit is for the relation ``"add-remove"``.

    Parameters
    ----------
    factory : returns an unfitted estimator; its ``random_state`` is set from ``seed`` if it has one.
    X, y : records that are always in.
    canaries : (X, y) of the canaries, in the same form; labels of a DataFrame's index must differ from those of ``X``.
    claimed : ε of the claim, positive.
    confidence : probability in (0, 1) that the bound holds.
    delta : δ of the claim, in [0, 1).
    score : (fitted model, canary X, canary y) → one number for each canary, large if the model seems to know it;
        by default :func:`own_label`.
    guesses : number of canaries to guess, even or odd, by default all. Few guesses on the clearest canaries can
        show more; choose the number before the run.
    seed : of the coins and the fit.
    subject : what is audited, by default the estimator's class.

    Returns
    -------
    Finding

    Raises
    ------
    ValueError
        For numbers out of range, canaries that share a key with a record, or scores of the wrong shape.
    """
    check_levels(confidence, delta)
    check_claim(claimed)
    canary_X, canary_y = canaries
    m = len(canary_y)
    r = m if guesses is None else guesses
    if not 1 <= r <= m or len(canary_X) != m:
        raise ValueError(
            f"{r} guesses on {len(canary_X)} canaries with {m} labels: "
            "expected as many labels as canaries, and 1 to that many guesses"
        )
    _check_keys(X, canary_X)
    _check_keys(y, canary_y)
    rng = np.random.default_rng(seed)
    inside = rng.random(m) < 0.5
    model = seeded(factory(), int(rng.integers(2**32)))
    model.fit(_joined(X, _rows(canary_X, inside)), _joined(y, _rows(canary_y, inside)))
    scores = np.asarray((score or own_label)(model, canary_X, canary_y), float)
    if scores.shape != (m,):
        raise ValueError(f"scores have shape {scores.shape}: expected ({m},), one for each canary")
    correct = _correct(scores, inside, guesses=r, rng=rng)
    return Finding(
        instrument="one-run",
        subject=subject or type(model).__name__,
        claimed=claimed,
        lower_bound=one_run_epsilon(correct, r, confidence=confidence, delta=delta, canaries=m),
        confidence=confidence,
        neighbours="add-remove",
        pair=f"one data set, {m} canaries in or out by a coin",
        event=f"{correct} of {r} guesses correct",
        delta=delta,
        trials=1,
    )


def _correct(scores: Floats, inside: Bools, *, guesses: int, rng: np.random.Generator) -> int:
    """Number of right guesses: the highest scores are taken for canaries inside, the lowest for those outside."""
    shuffled = rng.permutation(len(scores))  # ties are broken by chance, not by position
    ranked = shuffled[np.argsort(np.nan_to_num(scores)[shuffled], kind="stable")]
    outside = guesses // 2
    return int((~inside[ranked[:outside]]).sum() + inside[ranked[len(ranked) - (guesses - outside) :]].sum())


def _rows(values: Any, inside: Bools) -> Any:
    if isinstance(values, pd.DataFrame | pd.Series | np.ndarray):
        return values[inside]
    return [value for value, kept in zip(values, inside, strict=True) if kept]


def _check_keys(records: Any, added: Any) -> None:
    if isinstance(records, pd.DataFrame | pd.Series):
        shared = records.index.intersection(added.index)
        if len(shared):
            raise ValueError(
                f"canaries share {len(shared)} index labels with the records, first {shared[0]!r}: "
                "give them labels of their own, for they are the records' keys"
            )


def _joined(records: Any, added: Any) -> Any:
    """Records and canaries in one table, keys kept."""
    if isinstance(records, pd.DataFrame | pd.Series):
        return pd.concat([records, added])
    if isinstance(records, np.ndarray):
        return np.concatenate([records, added])
    return [*records, *added]
