"""Test scores of probabilities and of numbers: one function for every learner of the board, own and rival."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

from dpnb import Continuous
from dpnb.arrays import Floats

LEAST = 1e-9  # a probability that is stated enters the log loss as no less than this, and no more than 1 less this
BINS = 10


def probability_scores(p: Floats, labels: NDArray[np.intp]) -> dict[str, float]:
    """Accuracy, AUC, log loss, and mean |observed − stated| share over ten bins of equal size, of P(second class)."""
    return {
        "accuracy": float(np.mean((p > 0.5) == labels)),
        "auc": float(roc_auc_score(labels, p)),
        "log_loss": float(log_loss(labels, np.clip(p, LEAST, 1 - LEAST))),
        "calibration_error": calibration_error(p, labels == 1),
    }


def calibration_error(p: Floats, observed: NDArray[np.bool_]) -> float:
    """Mean |observed − stated| share over ten bins of equal size.

    Parameters
    ----------
    p : (records,) stated probability of an event.
    observed : (records,) whether it happened.
    """
    order = np.argsort(p, kind="stable")
    return float(np.mean([abs(observed[b].mean() - p[b].mean()) for b in np.array_split(order, BINS)]))


def class_scores(p: Floats, labels: NDArray[np.intp]) -> dict[str, float]:
    """Accuracy, balanced accuracy, AUC, log loss and calibration error of stated probabilities.

    Parameters
    ----------
    p : (records, classes) stated probabilities; a row without a finite positive sum counts as equal shares.
    labels : (records,) codes of the classes; each class occurs.

    Returns
    -------
    Of two classes, :func:`probability_scores`. Of more, AUC is the mean of each class against the rest, and so is the
    calibration error; the log loss takes the stated probability of the true class within [1e-9, 1 − 1e-9].
    """
    p = shares(p)
    classes = range(p.shape[1])
    right = p.argmax(axis=1) == labels
    balanced = {"balanced_accuracy": float(np.mean([right[labels == c].mean() for c in classes]))}
    if p.shape[1] == 2:
        return probability_scores(p[:, 1], labels) | balanced
    return balanced | {
        "accuracy": float(np.mean(right)),
        "auc": float(np.mean([roc_auc_score(labels == c, p[:, c]) for c in classes])),
        "log_loss": float(-np.log(np.clip(p[np.arange(len(p)), labels], LEAST, 1 - LEAST)).mean()),
        "calibration_error": float(np.mean([calibration_error(p[:, c], labels == c) for c in classes])),
    }


def shares(p: Floats) -> Floats:
    """Rows scaled to a sum of 1; a row that cannot be is made of equal shares."""
    p = np.clip(np.nan_to_num(p, nan=0.0, posinf=0.0), 0.0, None)
    total = p.sum(axis=1, keepdims=True)
    return np.where(total > 0, p / np.where(total > 0, total, 1.0), 1 / p.shape[1])


def number_scores(predicted: Floats, truth: Floats, response: Continuous) -> dict[str, float]:
    """R², mean absolute error and level of predictions, each moved into the public range first.

    The level is the sum of the predictions over that of the numbers, which are moved into the range for it too.
    """
    inside = np.clip(predicted, response.low, response.high)
    level = inside.sum() / np.clip(truth, response.low, response.high).sum()
    return {
        "r2": float(r2_score(truth, inside)),
        "mae": float(mean_absolute_error(truth, inside)),
        "level": float(level),
    }
