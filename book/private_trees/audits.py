"""What the audit chapter measures while it runs: bounds that climb, replays of many pairs, canaries, twins, rivals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from dpaudit import families
from dpnb.arrays import Floats, Ints
from dpnb.domain import Continuous, Domain
from dpnb.replay import replay

from .auditing import betting_bound, e_value, epsilon_bound, exact, one_run, replay_mechanism
from .auditing.twins import TWINS, Twin

LINE = Domain((Continuous("x", 0, 1),), (0, 1), target="label")
"""Domain of the canaries: one number in [0, 1] and two classes."""
FIRST = pd.DataFrame({"x": [0.5]}, index=[-1]), pd.Series([0], index=[-1], name="label")
"""The only record that is always in."""


def climbing(epsilons: Mapping[str, float], *, most: int, audits: int, seed: int) -> pd.DataFrame:
    """Lower bounds for ε of coins by bets, as the coins are flipped.

    Parameters
    ----------
    epsilons : name → true ε of a coin that names the data set rightly with probability e^ε / (1 + e^ε).
    most : flips in the end.
    audits : number of audits of each coin.
    seed : of the flips.

    Returns
    -------
    DataFrame with the columns name, audit, runs and bound; an audit's bounds hold together with 95 % confidence.
    """
    rows = []
    for name, one, n, correct in _guessed(epsilons, most=most, games=audits, looks=24, seed=seed):
        bounds = [betting_bound(int(k), int(m), confidence=0.95) for k, m in zip(correct, n, strict=True)]
        rows += [(name, one, int(m), b) for m, b in zip(n, np.maximum.accumulate(bounds), strict=True)]
    return pd.DataFrame(rows, columns=["name", "audit", "runs", "bound"])


def games(epsilons: Mapping[str, float], *, claim: float, most: int, repeats: int, seed: int) -> pd.DataFrame:
    """Wealth of gamblers who bet against a claim on coins, as the coins are flipped.

    Parameters
    ----------
    epsilons, most, seed : as of :func:`climbing`.
    claim : the ε that they bet against.
    repeats : number of games with each coin.

    Returns
    -------
    DataFrame with the columns name, game, runs and wealth.
    """
    rows = []
    for name, one, n, correct in _guessed(epsilons, most=most, games=repeats, looks=most, seed=seed):
        wealth = [e_value(int(k), int(m), epsilon=claim) for k, m in zip(correct, n, strict=True)]
        rows += [(name, one, int(m), w) for m, w in zip(n, wealth, strict=True)]
    return pd.DataFrame(rows, columns=["name", "game", "runs", "wealth"])


def _guessed(
    epsilons: Mapping[str, float], *, most: int, games: int, looks: int, seed: int
) -> Iterator[tuple[str, int, Ints, Ints]]:
    """Games with each coin: its name, the game, numbers of runs, and how many guesses were right by then."""
    rng = np.random.default_rng(seed)
    sizes = (
        np.unique(np.geomspace(min(10, most), most, looks).astype(int))
        if looks < most
        else np.arange(1, most + 1)
    )
    steps = np.diff(sizes, prepend=0)
    for name, epsilon in epsilons.items():
        for one in range(games):
            yield name, one, sizes, rng.binomial(steps, 1 / (1 + np.exp(-epsilon))).cumsum()


def replays(subjects: Mapping[str, Any], *, seeds: Sequence[int]) -> pd.DataFrame:
    """Losses of replays on all structured pairs, in both directions.

    Parameters
    ----------
    subjects : name → estimator of this package.
    seeds : of the fits on each pair.

    Returns
    -------
    DataFrame with the columns subject and loss.
    """
    rows = [
        (name, replay(subject.set_params(domain=pair.domain), *sides, seed=seed).lower_bound)
        for name, subject in subjects.items()
        for pair in families()
        for sides in ((pair.first, pair.second), (pair.second, pair.first))
        for seed in seeds
    ]
    return pd.DataFrame(rows, columns=["subject", "loss"])


# --- Canaries -----------------------------------------------------------------------------------------------


def canaries(count: int) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Records at equal distances in [0, 1], their classes in turn 0 and 1."""
    labels = range(count)
    x = (np.arange(count) + 0.5) / count
    return pd.DataFrame({"x": x}, index=labels), pd.Series(np.arange(count) % 2, index=labels, name="label")


def leaf_count(model: Any, X: pd.DataFrame, y: pd.Series[Any]) -> Floats:
    """Released count of each record's own class in its leaf of a fitted forest's first tree."""
    tree, domain = model.trees_[0], model.domain_
    counts: Floats = tree.value[tree.apply(domain.encode(X)), domain.encode_labels(y)]
    return counts


def canary_scores(forest: Callable[..., Any], *, count: int, seed: int) -> tuple[Floats, Floats]:
    """Scores of the canaries that were in one fit, and of those that were out.

    Parameters
    ----------
    forest : returns an unfitted tree of random splits; takes ``random_state``.
    count : number of canaries.
    seed : of the coins and the fit.
    """
    (X, y), (more_X, more_y) = FIRST, canaries(count)
    inside = np.random.default_rng(seed).random(count) < 0.5
    model = forest(random_state=seed)
    model.fit(pd.concat([X, more_X[inside]]), pd.concat([y, more_y[inside]]))
    scores = leaf_count(model, more_X, more_y)
    return scores[inside], scores[~inside]


def canary_bounds(
    forests: Mapping[str, Callable[..., Any]], *, counts: Sequence[int], seeds: Sequence[int]
) -> pd.DataFrame:
    """Bounds of one-run audits by number of canaries.

    Parameters
    ----------
    forests : name → what returns an unfitted tree of random splits.

    Returns
    -------
    DataFrame with the columns name, canaries, seed and bound, at 95 % confidence each.
    """
    rows = []
    for name, forest in forests.items():
        for count, seed in product(counts, seeds):
            found = one_run(
                forest, *FIRST, canaries(count), claimed=1.0, confidence=0.95, score=leaf_count, seed=seed
            )
            rows.append((name, count, seed, found.lower_bound))
    return pd.DataFrame(rows, columns=["name", "canaries", "seed", "bound"])


# --- Twins and rivals ---------------------------------------------------------------------------------------


def run_of(twin: Twin, seed: int) -> Callable[[Any], Floats]:
    """A twin as a function of the data alone, which draws the same every time."""
    return lambda data: twin.run(data, np.random.default_rng(seed))


def twin_table(attacks: pd.DataFrame, *, seed: int, replays: int) -> pd.DataFrame:
    """Bounds of the three instruments for each twin.

    Parameters
    ----------
    attacks : stored attacks, one row a method, with the column lower_sure.
    seed : of the replays.
    replays : number of replayed outputs in each direction.

    Returns
    -------
    DataFrame with the columns mechanism, truth, exact, replay and attack.
    """
    stored = attacks.set_index("method")["lower_sure"]
    rows = []
    for twin in TWINS:
        sides = twin.first, twin.second
        loss = exact(run_of(twin, seed), *sides, claimed=1.0, subject="")
        losses = [
            replay_mechanism(run_of(twin, seed + s), *pair, claimed=1.0, subject="").lower_bound
            for s in range(replays)
            for pair in (sides, sides[::-1])
        ]
        truth = "broken" if twin.broken else "correct"
        rows.append((twin.name, truth, loss.lower_bound, max(losses), stored[f"twin: {twin.name}"]))
    return pd.DataFrame(rows, columns=["mechanism", "truth", "exact", "replay", "attack"])


BRIEF = {
    "DPExplainableBoostingClassifier": "DP-EBM", "DPSparseExtraTreesClassifier": "Lumberjack",
    "approxDP": "dp-xgboost", "make_noisy_max": "OpenDP noisy max", "Classifier": "", "GaussianNB": "naive Bayes",
    "LogisticRegression": "logistic regression", "RandomForest": "random forest", "DecisionTree": "decision tree",
    ", fit_intercept=False": "", "feature_types=['nominal']": "nominal", "feature_types=['continuous']": "continuous",
    " in feature_types": "", "shuffle=False": "not shuffled", "shuffle=True": "shuffled",
}  # fmt: skip


def rivals(peers: pd.DataFrame) -> pd.DataFrame:
    """Audits of other people's software, with bounds that hold for all rows together.

    Parameters
    ----------
    peers : the stored audits, the counts of the event in the column event.

    Returns
    -------
    The rows at 95 % with the columns ``together``, the bound that holds for all rows at once (Bonferroni), and
    ``learner``.
    """
    rows = peers[peers["confidence"] == 0.95].reset_index(drop=True)
    counts = rows["event"].str.extract(r": (\d+) of (\d+) on D, (\d+) of (\d+) on D′$").astype(int)
    level = 1 - 0.05 / len(rows)
    together = [
        epsilon_bound(first, second, runs, others, confidence=level, delta=delta)
        for (first, runs, second, others), delta in zip(
            counts.to_numpy().tolist(), rows["delta"], strict=True
        )
    ]
    learner = rows["subject"]
    for long, brief in BRIEF.items():
        learner = learner.str.replace(long, brief)
    return rows.assign(together=together, learner=learner)


def given_too_much(replayed: pd.DataFrame) -> pd.DataFrame:
    """Calls of a library's mechanisms whose inputs move by more than their sensitivity, as replay found them.

    Parameters
    ----------
    replayed : the stored table ``library_replay``.

    Returns
    -------
    A row a call of learners with bounds given, under replace: module and line as ``call``, the declared
    sensitivity ``Δ``, how far the inputs are ``apart``, the ``ε`` that the call is to keep, and its ``loss``.
    """
    those = replayed["setting"].str.startswith("as documented") & (replayed["relation"] == "replace")
    rows = replayed[those & (replayed["what"] == "one call")].reset_index(drop=True)
    learner = rows["subject"] + rows["setting"].str.removeprefix("as documented")
    numbers = rows["found"].str.extract(r"sensitivity of (\S+), is given inputs (\S+) apart").astype(float)
    return pd.DataFrame(
        {
            "learner": learner,
            "call": rows["line"].str.extract(r"(\w+:\d+) ")[0],
            "Δ": numbers[0],
            "apart": numbers[1],
            "ε": rows["claim"],
            "loss": rows["bound"],
        }
    )
