"""One-run audit: a single fit with many canaries, each in or out by a coin, and guesses which are in."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression

from dpaudit.fits import Data, seeded
from dpaudit.settings import check_claim, check_levels
from dpnb.arrays import Bools, Floats, Ints
from dpnb.domain import Categorical, Domain
from dpnb.replay import Finding

from .losses import largest

SHARES = (2, 4, 8, 16, 32)  # of the canaries that are guessed where δ asks for a number fixed beforehand
LEAST_LEARNT = 40


def one_run_epsilon(
    correct: int, guesses: int, *, confidence: float, delta: float = 0.0, canaries: int | None = None
) -> float:
    """Lower confidence bound of ε from the number of correct guesses in one run.

    Under ε-DP the number of correct guesses is at most as large as a Binomial(r, e^ε/(1 + e^ε)). With δ two theorems
    bound its tail, and the smaller bound counts. The answer is the ε at which the observed number becomes plausible.

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
    Steinke, Nasr, Jagielski (2023), Privacy auditing with one (1) training run, theorem 5.2; Mahloujifar, Melis,
    Chaudhuri (2024), Auditing f-differential privacy in one run.
    """
    check_levels(confidence, delta)
    canaries = _checked(correct, guesses, canaries)

    def refuted(epsilon: float) -> bool:
        p = _p_value(correct, guesses=guesses, canaries=canaries, epsilon=epsilon, delta=delta)
        if p < 1 - confidence or not delta:
            return p < 1 - confidence
        law = _Approximate(epsilon, delta)
        return not tail_fits(law, correct, guesses=guesses, canaries=canaries, tail=1 - confidence)

    return largest(refuted, within=1e-6)


def one_run_mu(correct: int, guesses: int, *, confidence: float, canaries: int | None = None) -> float:
    """Lower confidence bound of μ from the number of correct guesses in one run, for a claim of μ-GDP.

    Parameters
    ----------
    correct, guesses, confidence, canaries : as of :func:`one_run_epsilon`. Canaries without a guess cost much here.

    Returns
    -------
    The bound, 0 if the guesses show nothing: the subject is not μ'-GDP for any smaller μ'.

    References
    ----------
    Mahloujifar, Melis, Chaudhuri (2024), Auditing f-differential privacy in one run; Dong, Roth, Su (2022), Gaussian
    differential privacy.
    """
    check_levels(confidence, 0.0)
    canaries = _checked(correct, guesses, canaries)

    def refuted(mu: float) -> bool:
        return not tail_fits(_Gaussian(mu), correct, guesses=guesses, canaries=canaries, tail=1 - confidence)

    return largest(refuted, within=1e-6)


def _checked(correct: int, guesses: int, canaries: int | None) -> int:
    canaries = guesses if canaries is None else canaries
    if not 0 <= correct <= guesses <= canaries or guesses < 1:
        raise ValueError(
            f"{correct} correct of {guesses} guesses on {canaries} canaries: "
            "expected 0 <= correct <= guesses <= canaries and at least one guess"
        )
    return canaries


def _p_value(correct: int, *, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Largest probability of at least so many correct guesses under (ε, δ)-DP."""
    law = binom(guesses, 1 / (1 + np.exp(-epsilon)))
    p = float(law.sf(correct - 1))
    if delta > 0 and correct > 0:
        below = law.pmf(np.arange(correct - 1, -1, -1))
        alpha = float(np.max(np.cumsum(below) / np.arange(1, correct + 1)))
        p += alpha * 2 * canaries * delta
    return min(p, 1.0)


# --- The tail of the correct guesses for any trade-off function ---------------------------------------------


class Inverse(Protocol):
    """What is least likely on one side, given how likely an event is on the other."""

    def __call__(self, y: float) -> float:
        """Smallest probability on D of an event that has probability y on D′."""


class _Approximate(NamedTuple):
    """Under (ε, δ)-DP."""

    epsilon: float
    delta: float

    def __call__(self, y: float) -> float:
        up, down = math.exp(self.epsilon), math.exp(-self.epsilon)
        return max(0.0, (y - self.delta) * down, 1 - self.delta - up * (1 - y))


class _Gaussian(NamedTuple):
    """Under μ-GDP."""

    mu: float

    def __call__(self, y: float) -> float:
        return float(ndtr(ndtri(min(y, 1.0)) - self.mu))


def tail_fits(inverse: Inverse, correct: int, *, guesses: int, canaries: int, tail: float) -> bool:
    """Whether so many correct guesses may have so large a probability under a trade-off function.

    Parameters
    ----------
    inverse : the trade-off function, told as the least probability on one side.
    correct, guesses, canaries : v, r and m.
    tail : probability of at least v correct guesses that is tried.

    Notes
    -----
    Let p_j be the chance of j correct guesses, R_j = Σ_{i≥j} i p_i / m and H_j = Σ_{i≥j} (r − i) p_i / m. For a random
    canary, R_j is the chance that it is guessed right and at least j are, and H_{j−1} the one that it is guessed wrong
    and at least j − 1 are right. Turning its coin turns one into the other, so H_{j−1} ≥ inverse(R_j) by convexity.
    From the tail down, R and H are least where all of the tail lies at v, and R_0 + H_0 must come out at r/m.

    References
    ----------
    Mahloujifar, Melis, Chaudhuri (2024), Auditing f-differential privacy in one run.
    """
    right, wrong = tail * correct / canaries, tail * (guesses - correct) / canaries
    if inverse(right) < wrong:  # no more right guesses than are to be expected
        return True
    for j in range(correct - 1, -1, -1):
        least = max(inverse(right), wrong)
        right += j / (guesses - j) * (least - wrong)
        wrong = least
        if right + wrong > guesses / canaries * (1 + 1e-12):
            return False
    return True


# --- The audit ------------------------------------------------------------------------------------------------


def own_label(model: Any, X: Any, y: Any) -> Floats:
    """Predicted probability of each canary's own label; 0 for labels that the model does not know.

    A model without ``predict_proba`` counts as sure of the label that it predicts.
    """
    labels = np.asarray(y).tolist()
    if not hasattr(model, "predict_proba"):
        return np.array(
            [
                float(guess == label)
                for guess, label in zip(np.asarray(model.predict(X)).tolist(), labels, strict=True)
            ]
        )
    known = {label: j for j, label in enumerate(np.asarray(model.classes_).tolist())}
    table = np.asarray(model.predict_proba(X), float)
    return np.array([row[known[z]] if z in known else 0.0 for row, z in zip(table, labels, strict=True)])


def lay_out(domain: Domain, n: int, *, seed: int = 0) -> tuple[Data, Data]:
    """Canaries for tree learners, from the public domain alone, and an alternate of each.

    Each attribute takes as many different values as it can, at even distances in its bounds or each category as often
    as any other, in an order of its own: few canaries share a cell. Classes come in turn.

    Parameters
    ----------
    domain : public domain, without dates.
    n : number of canaries.
    seed : of the orders.

    Returns
    -------
    (X, y) of the canaries and (X, y) of their alternates, which have the next class. Labels of the index are texts.
    """
    rng = np.random.default_rng(seed)
    keys = [f"canary {i}" for i in range(n)]
    columns: dict[str, Any] = {}
    for attribute in domain.attributes:
        order = rng.permutation(n)
        if isinstance(attribute, Categorical):
            columns[attribute.name] = [attribute.values[i % len(attribute.values)] for i in order]
        elif attribute.is_date:
            raise ValueError(f"{attribute.name!r} is a date: give canaries of your own")
        else:
            share = (order + 0.5) / n
            columns[attribute.name] = attribute.low + share * (attribute.high - attribute.low)
    X = pd.DataFrame(columns, index=keys)
    codes = rng.permutation(n) % domain.n_classes
    y, other = (
        pd.Series([domain.classes[c] for c in turned], index=keys, name=domain.target)
        for turned in (codes, (codes + 1) % domain.n_classes)
    )
    return (X, y), (X, other)


def one_run(
    factory: Callable[[], Any],
    X: Any,
    y: Any,
    canaries: Data,
    *,
    claimed: float,
    confidence: float = 0.95,
    delta: float = 0.0,
    alternates: Data | None = None,
    score: Callable[[Any, Any, Any], ArrayLike] | None = None,
    reference: Any = None,
    guesses: int | Literal["learnt"] | None = None,
    seed: int = 0,
    subject: str = "",
) -> Finding:
    """Audit with a single fit, for models that are slow to fit; weaker than many fits on one pair.

    Each canary enters the data with probability 1/2. After one fit the auditor guesses which are in. The audit is for
    the relation ``"add-remove"``; with ``alternates``, one of which takes the place of each canary that stays out, it
    is for ``"replace"``.

    Parameters
    ----------
    factory : returns an unfitted estimator; its ``random_state`` is set from ``seed`` if it has one.
    X, y : records that are always in.
    canaries : (X, y) of the canaries, in the same form, such as from :func:`lay_out`; labels of a DataFrame's index
        must differ from those of ``X``.
    claimed : ε of the claim, positive.
    confidence : probability in (0, 1) that the bound holds.
    delta : δ of the claim, in [0, 1).
    alternates : (X, y) of as many records.
    score : (fitted model, canary X, canary y) → one number for each canary, large if the model seems to know it;
        by default :func:`own_label`.
    reference : a model fitted without canaries, whose scores are subtracted.
    guesses : number of canaries to guess, half of them in and half out, by default all. Few guesses on the clearest
        canaries can show more; choose the number before the run. ``"learnt"`` gives away the coins of half of the
        canaries, learns from them what scores mean, and guesses those of the others that are clear enough.
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
    m = len(canaries[1])
    _check_canaries((X, y), canaries, alternates, guesses)
    rng = np.random.default_rng(seed)
    inside = rng.random(m) < 0.5
    model = seeded(factory(), int(rng.integers(2**32)))
    added = [_rows(part, inside) for part in canaries]
    if alternates is not None:
        added = [_joined(part, _rows(other, ~inside)) for part, other in zip(added, alternates, strict=True)]
    model.fit(_joined(X, added[0]), _joined(y, added[1]))
    scores = _scores(score or own_label, model, canaries, alternates)
    if reference is not None:
        scores = scores - _scores(score or own_label, reference, canaries, alternates)
    if guesses == "learnt":
        bound, event = _learnt(scores, inside, confidence=confidence, delta=delta, rng=rng)
    else:
        r = m if guesses is None else guesses
        correct = _correct(scores, inside, guesses=r, rng=rng)
        bound = one_run_epsilon(correct, r, confidence=confidence, delta=delta, canaries=m)
        event = f"{correct} of {r} guesses correct"
    return Finding(
        instrument="one-run",
        subject=subject or type(model).__name__,
        claimed=claimed,
        lower_bound=bound,
        confidence=confidence,
        neighbours="add-remove" if alternates is None else "replace",
        pair=f"one data set, {m} canaries in or {'out' if alternates is None else 'replaced'} by a coin",
        event=event,
        delta=delta,
        trials=1,
    )


def _check_canaries(
    records: Data, canaries: Data, alternates: Data | None, guesses: int | str | None
) -> None:
    m = len(canaries[1])
    if isinstance(guesses, str) and guesses != "learnt":
        raise ValueError(f"guesses={guesses!r}: expected a number, or 'learnt'")
    r = guesses if isinstance(guesses, int) else m
    if not 1 <= r <= m or len(canaries[0]) != m:
        raise ValueError(
            f"{r} guesses on {len(canaries[0])} canaries with {m} labels: "
            "expected as many labels as canaries, and 1 to that many guesses"
        )
    if guesses == "learnt" and m < LEAST_LEARNT:
        raise ValueError(f"{m} canaries: expected at least {LEAST_LEARNT} to learn from half of them")
    if alternates is not None and not len(alternates[0]) == len(alternates[1]) == m:
        raise ValueError(
            f"{len(alternates[0])} alternates with {len(alternates[1])} labels for {m} canaries: expected as many"
        )
    for side in (canaries, alternates or canaries):
        _check_keys(records[0], side[0])
        _check_keys(records[1], side[1])


def _scores(score: Callable[..., ArrayLike], model: Any, canaries: Data, alternates: Data | None) -> Floats:
    scores = np.asarray(score(model, *canaries), float)
    if scores.shape != (len(canaries[1]),):
        raise ValueError(
            f"scores have shape {scores.shape}: expected ({len(canaries[1])},), one for each canary"
        )
    return scores if alternates is None else scores - _scores(score, model, alternates, None)


def _learnt(
    scores: Floats, inside: Bools, *, confidence: float, delta: float, rng: np.random.Generator
) -> tuple[float, str]:
    """The bound from guesses on half of the canaries by what the other half says about scores, and what was guessed.

    Given the coins of one half, the subject is private for those of the other half, whatever is learnt. Under pure ε
    the number of guesses may follow from the outputs too: the binomial law holds given them. With δ it may not, so that
    each number of a fixed list gets its share of the error probability.
    """
    shown, hidden = np.split(rng.permutation(len(scores)), [len(scores) // 2])
    reliable, says_in, worth = _calibrated(scores, inside, shown, hidden, confidence=confidence)
    order = np.lexsort((rng.random(len(hidden)), -reliable))
    right = np.cumsum((says_in == inside[hidden])[order])
    m = len(hidden)
    numbers = [worth] if delta == 0 else [max(m // share, 1) for share in SHARES]
    level = 1 - (1 - confidence) / len(numbers)
    found = [
        (one_run_epsilon(int(right[r - 1]), r, confidence=level, delta=delta, canaries=m), r) for r in numbers
    ]
    bound, r = max(found)
    return bound, f"{right[r - 1]} of {r} guesses correct on {m} canaries, learnt from {len(shown)} others"


def _calibrated(
    scores: Floats, inside: Bools, shown: Ints, hidden: Ints, *, confidence: float
) -> tuple[Floats, Bools, int]:
    """How clear each hidden canary is, what is guessed, and how many guesses promise the largest bound."""
    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores[shown], inside[shown])
    levels, at = np.unique(fitted.predict(scores[shown]), return_inverse=True)
    known = np.bincount(at)
    chance = (np.bincount(at, weights=inside[shown]) + 1) / (known + 2)
    clear = np.abs(chance - 0.5)
    best, guessed, right = (-1.0, 0.0), 0.0, 0.0
    for block in np.argsort(-clear, kind="stable"):
        guessed, right = guessed + known[block], right + known[block] * (0.5 + clear[block])
        worth = one_run_epsilon(int(right), int(guessed), confidence=confidence)
        best = max(best, (worth, clear[block]))
    nearest = np.abs(fitted.predict(scores[hidden])[:, None] - levels).argmin(axis=1)
    reliable = clear[nearest]
    return reliable, chance[nearest] > 0.5, max(int((reliable >= best[1]).sum()), 1)


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
