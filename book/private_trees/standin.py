"""Make the embedded data set ``adult-standin``: a synthetic Adult, itself a differentially private release.

Run ``python -m private_trees.standin --out dpnb/data`` to make the files again. The model is a Bayesian network in the
manner of PrivBayes (Zhang et al. 2017) with the shape of a tree-augmented classifier (Friedman, Geiger, Goldszmidt
1997): the class is a parent of every attribute, and every attribute but the first has one attribute as a second
parent. The exponential mechanism chooses the tree, geometric noise covers the counts, and all else is
post-processing.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.metadata
import json
import platform
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from dpnb.arrays import Floats, Ints
from dpnb.data import datasets
from dpnb.data.datasets import ADULT_DOMAIN, Dataset, Part, load, part_of
from dpnb.domain import Categorical, Domain
from dpnb.files import write_whole
from dpnb.privacy.curator import Curator
from dpnb.privacy.ledger import Ledger
from dpnb.records.memory import Records
from dpnb.records.splits import MULTIWAY, Splits
from dpnb.terminal import Parser, announce, command

EPSILON = 1.0
"""Total ε of the committed release, add-remove."""
STRUCTURE_SHARE = 0.1
"""Part of ε that chooses the tree; the rest goes to the counts in equal parts."""
DEPENDENCE_SENSITIVITY = 2.0
"""Δ of :func:`dependence` under add-remove."""
ROOT = "relationship"
"""The attribute whose only parent is the class."""
ROWS = {"train": 30162, "test": 15060}
"""Synthetic rows: the sizes of Adult's parts without missing values, taken as public."""
SAMPLE_SEED = 20160101
"""Seed of the synthetic rows, which are post-processing. The noise has no seed that anyone knows."""


@dataclass(frozen=True)
class Bins:
    """Public bins of an attribute."""

    name: str  # the attribute
    # low, high: (bins,) first and last integer of each bin; for a categorical attribute its codes.
    low: Ints
    high: Ints
    group: Ints  # (bins,) coarser group of each bin, 0 .. groups - 1, used when the attribute is a parent.

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1

    def __len__(self) -> int:
        return len(self.low)

    def of(self, values: ArrayLike) -> Ints:
        """Bin of each value, (n,)."""
        bins: Ints = np.searchsorted(self.low, np.asarray(values), side="right") - 1
        return bins


def _numeric(name: str, starts: ArrayLike, *, last: int, group_starts: tuple[int, ...]) -> Bins:
    """Bins of integers that begin at ``starts``; groups begin at ``group_starts``."""
    low = np.asarray(starts, np.intp)
    return Bins(
        name, low, np.append(low[1:] - 1, last), np.searchsorted(np.array(group_starts), low, side="right")
    )


def _categorical(name: str, *groups: str) -> Bins:
    """One bin a category; ``groups`` lists the categories of each group, the last group holds all others."""
    attribute = ADULT_DOMAIN[name]
    assert isinstance(attribute, Categorical)
    found = {value: number for number, group in enumerate(groups) for value in group.split()}
    codes = np.arange(len(attribute.values))
    return Bins(name, codes, codes, np.array([found.get(str(v), len(groups)) for v in attribute.values]))


def _geometric_starts(first: int, last: int, *, ratio: float) -> list[int]:
    """Starts of geometric bins from ``first`` up to ``last``."""
    steps = int(np.log(last / first) / np.log(ratio))
    return [round(first * ratio**step) for step in range(steps + 1)]


# Bins and groups come from general knowledge (decades, school levels, working weeks, zero for most capital
# gains and their top code), never from the rows. education-num has none: see _EDUCATION_NUM.
BINS = (
    _numeric("age", [17, *range(20, 90, 5)], last=90, group_starts=(25, 35, 45, 55, 65)),
    _categorical("workclass", "Private", "Self-emp-not-inc Self-emp-inc", "Federal-gov Local-gov State-gov"),
    _numeric(
        "fnlwgt",
        [0, 50_000, 100_000, 150_000, 200_000, 250_000, 300_000, 400_000, 600_000],
        last=1_500_000,
        group_starts=(200_000,),
    ),
    _categorical(
        "education",
        "HS-grad",
        "Some-college Assoc-acdm Assoc-voc",
        "Bachelors",
        "Masters Prof-school Doctorate",
    ),
    _categorical("marital-status", "Married-civ-spouse Married-AF-spouse", "Never-married"),
    _categorical(
        "occupation",
        "Exec-managerial Prof-specialty",
        "Tech-support Sales Adm-clerical Protective-serv Armed-Forces",
        "Craft-repair Machine-op-inspct Transport-moving",
    ),
    _categorical("relationship", "Wife", "Own-child", "Husband", "Not-in-family", "Other-relative"),
    _categorical("race", "White", "Black", "Asian-Pac-Islander"),
    _categorical("sex", "Female"),
    _numeric(
        "capital-gain",
        [0, 1, *_geometric_starts(1000, 99_999, ratio=1.4), 99_999],
        last=99_999,
        group_starts=(1,),
    ),
    _numeric("capital-loss", [0, 1, *_geometric_starts(500, 5000, ratio=1.15)], last=5000, group_starts=(1,)),
    _numeric(
        "hours-per-week", [1, 10, 20, 30, 35, 40, 41, 45, 50, 55, 60, 70, 80], last=99, group_starts=(35, 41)
    ),
    _categorical("native-country", "United-States"),
)
"""The attributes of the model with their public bins."""

# The census numbers school levels in this order (codes 31 to 46): education-num repeats education.
_SCHOOL_LEVELS = (
    "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm Bachelors "
    "Masters Prof-school Doctorate"
)
_EDUCATION_NUM = {level: number for number, level in enumerate(_SCHOOL_LEVELS.split(), start=1)}


@dataclass(frozen=True)
class Link:
    """One attribute of the network: its noisy counts given the class and a parent."""

    # child, parent: positions in :data:`BINS`; the root has no parent.
    child: int
    parent: int | None
    counts: NDArray[np.int64]  # (groups of the parent, bins of the child, classes) noisy counts

    @cached_property
    def distribution(self) -> Floats:
        """(groups, classes, bins) distribution of the child; a row without counts takes that of its class."""
        rows = self.counts.transpose(0, 2, 1).astype(float)
        overall, rows = _without_negatives(rows.sum(axis=0)), _without_negatives(rows)
        overall[overall.sum(axis=1) == 0] = 1.0
        rows = np.where(rows.sum(axis=2, keepdims=True) > 0, rows, overall)
        distribution: Floats = rows / rows.sum(axis=2, keepdims=True)
        return distribution


def _without_negatives(noisy: Floats) -> Floats:
    """Nearest non-negative rows of the same totals; zeros where a total is not positive.

    Clipping at zero alone would keep the noise of the empty cells that went up: most of native-country.
    """
    total = np.maximum(noisy.sum(axis=-1, keepdims=True), 0.0)
    largest = -np.sort(-noisy, axis=-1)
    shift = (largest.cumsum(axis=-1) - total) / np.arange(1, noisy.shape[-1] + 1)
    kept = np.maximum((largest > shift).sum(axis=-1, keepdims=True), 1)
    return np.where(total > 0, np.maximum(noisy - np.take_along_axis(shift, kept - 1, axis=-1), 0.0), 0.0)


def dependence(table: ArrayLike) -> Floats:
    r"""Records out of place if two attributes were independent within each class.

    For a class with ``n`` records, counts ``N_gx``, and margins ``r_g``, ``s_x`` it adds up
    :math:`U = \sum_{g,x} (N_{gx} - r_g s_x / n)_+`, which is ``n`` times the total variation distance between the
    joint distribution and the product of the margins: the R function of PrivBayes on the scale of counts.

    Parameters
    ----------
    table : (..., groups, bins, classes) counts.

    Returns
    -------
    (...) sum of U over the classes.

    Notes
    -----
    **Privacy.** Sensitivity 2 under add-remove (:data:`DEPENDENCE_SENSITIVITY`), not monotone. A record added to
    the cell ``(a, b)`` of a class moves that class's differences ``N - r s / n`` by ``+q`` in the cell itself, by
    ``-q`` in all in the rest of its row, by ``-q`` in the rest of its column, and by ``+q`` in the remaining cells,
    where ``q = (n - r_a)(n - s_b) / (n (n + 1)) < 1``. Positive parts therefore change by at most ``2 q < 2``.
    """
    counts = np.asarray(table, float)
    n = np.maximum(counts.sum(axis=(-3, -2), keepdims=True), 1.0)
    product = counts.sum(axis=-2, keepdims=True) * counts.sum(axis=-3, keepdims=True) / n
    score: Floats = np.maximum(counts - product, 0.0).sum(axis=(-3, -2, -1))
    return score


def _binned_domain(bins: tuple[Bins, ...]) -> Domain:
    """Domain of all bins, then of all groups, with Adult's classes."""
    fine = [Categorical(b.name, tuple(range(len(b)))) for b in bins]
    coarse = [Categorical(f"group of {b.name}", tuple(range(b.n_groups))) for b in bins]
    return Domain((*fine, *coarse), ADULT_DOMAIN.classes, ADULT_DOMAIN.target)


def _tables(records: Records, bins: tuple[Bins, ...], parent: int | None) -> list[NDArray[np.int64]]:
    """Count every attribute by class and by the parent's groups: (groups, bins of the child, classes) each."""
    cohort = records.cohort()
    groups = 1 if parent is None else bins[parent].n_groups
    if parent is not None:
        split = Splits(np.array([MULTIWAY]), np.array([len(bins) + parent]), np.array([np.nan]))
        cohort.descend(split, np.array([0]))
    found = cohort.value_counts(np.tile(np.arange(len(bins)), (groups, 1)))
    group, child = np.divmod(found.question, len(bins))
    tables = []
    for position, child_bins in enumerate(bins):
        table = np.zeros((groups, len(child_bins), records.domain.n_classes), np.int64)
        here = child == position
        table[group[here], found.value[here].astype(np.intp)] = found.counts[here].astype(np.int64)
        tables.append(table)
    return tables


def release(
    X: pd.DataFrame,
    y: pd.Series[Any],
    *,
    epsilon: float,
    curator: Curator,
    bins: tuple[Bins, ...] = BINS,
    structure_share: float = STRUCTURE_SHARE,
) -> list[Link]:
    """Learn the network: its links, parents before children.

    Parameters
    ----------
    X, y : records and labels of Adult's form; only the attributes of ``bins`` are used.
    epsilon : total budget, > 0.
    curator : source of noise; its ledger books ``2 A - 1`` releases for ``A`` attributes.
    bins : public bins, those of :data:`ROOT` among them.
    structure_share : part of ``epsilon`` for the choice of the tree, in (0, 1).

    Raises
    ------
    DomainError
        If records or labels are outside the domain.
    ValueError
        If there are no records, ``epsilon`` or ``structure_share`` leaves a mechanism without a positive budget, or
        the ``bins`` lack the root.

    Notes
    -----
    **Privacy.** ε-DP under add-remove. Each of the ``A - 1`` rounds of selection has the sensitivity of
    :func:`dependence`; a record is in one cell of each of the ``A`` tables, so that these have sensitivity 1.
    """
    names = [b.name for b in bins]
    codes = ADULT_DOMAIN.subset(names).encode(X[names])
    fine = np.stack([b.of(column) for b, column in zip(bins, codes.T, strict=True)], axis=1)
    coarse = np.stack([b.group[column] for b, column in zip(bins, fine.T, strict=True)], axis=1)
    records = Records(np.hstack([fine, coarse]), y, domain=_binned_domain(bins))
    epsilon_choice = structure_share * epsilon / (len(bins) - 1)
    epsilon_counts = (1 - structure_share) * epsilon / len(bins)

    chosen: list[tuple[int, int | None]] = [(names.index(ROOT), None)]
    tables = {None: _tables(records, bins, None)} | {p: _tables(records, bins, p) for p in range(len(bins))}
    with curator.ledger.sequential("tree over the attributes"):
        for _ in names[1:]:
            inside = [child for child, _ in chosen]
            edges = [(c, p) for c in range(len(bins)) if c not in inside for p in inside]
            gains = [
                float(dependence(tables[p][c])) - _noise_price(bins[c], bins[p], epsilon=epsilon_counts)
                for c, p in edges
            ]
            (position,) = curator.exponential(
                gains,
                starts=np.array([0]),
                epsilon=epsilon_choice,
                sensitivity=DEPENDENCE_SENSITIVITY,
                monotone=False,
                what="next edge",
            )
            chosen.append(edges[position])
    links = []
    with curator.ledger.sequential("counts by class"):
        for child, parent in chosen:
            given = "" if parent is None else f" given {names[parent]}"
            counts = curator.geometric(
                tables[parent][child], epsilon=epsilon_counts, sensitivity=1, what=f"{names[child]}{given}"
            )
            links.append(Link(child, parent, counts))
    return links


def _noise_price(child: Bins, parent: Bins, *, epsilon: float) -> float:
    """Half the expected noise in the cells that a parent adds: public, and on the scale of :func:`dependence`."""
    extra = ADULT_DOMAIN.n_classes * len(child) * (parent.n_groups - 1)
    return 0.5 * extra / epsilon


def sample(
    links: list[Link],
    n: int,
    *,
    rng: np.random.Generator,
    bins: tuple[Bins, ...] = BINS,
) -> pd.DataFrame:
    """Draw synthetic rows, attributes and label, from the network: post-processing, free.

    A continuous value is a uniform integer of its bin.

    Parameters
    ----------
    links : the network.
    n : number of rows, at least 0.
    rng : source of the rows' randomness.
    bins : those of :func:`release`.
    """
    by_class = np.maximum(links[0].counts, 0).sum(axis=(0, 1)) + 1e-9  # never all zero
    label = rng.choice(ADULT_DOMAIN.n_classes, size=n, p=by_class / by_class.sum())
    drawn: dict[int, Ints] = {}
    columns: dict[str, Any] = {}
    for link in links:
        child = bins[link.child]
        group = 0 if link.parent is None else bins[link.parent].group[drawn[link.parent]]
        cumulative = link.distribution.cumsum(axis=2)[group, label]
        bin_ = np.minimum((rng.random((n, 1)) >= cumulative).sum(axis=1), len(child) - 1)
        drawn[link.child] = bin_
        attribute = ADULT_DOMAIN[child.name]
        columns[child.name] = (
            np.array(attribute.values, dtype=object)[bin_]
            if isinstance(attribute, Categorical)
            else rng.integers(child.low[bin_], child.high[bin_], endpoint=True)
        )
    columns[ADULT_DOMAIN.target] = np.array(ADULT_DOMAIN.classes, dtype=object)[label]
    return pd.DataFrame({name: columns[name] for name in (*(b.name for b in bins), ADULT_DOMAIN.target)})


def to_adult(rows: pd.DataFrame) -> pd.DataFrame:
    """Complete synthetic rows to the schema of Adult: education-num follows from education."""
    complete = rows.assign(**{"education-num": rows["education"].map(_EDUCATION_NUM)})
    return complete[[*ADULT_DOMAIN.names, ADULT_DOMAIN.target]]


def quality(train: Part, test: Part) -> dict[str, float]:
    """What models trained on one part of Adult's form reach on the other, with scikit-learn and without privacy.

    The AUC of histogram gradient boosting, and the accuracy of AdaBoost with 50 stumps, both in [0, 1].
    """
    (X, y), (X_test, y_test) = (
        (ADULT_DOMAIN.encode(part[0]), ADULT_DOMAIN.encode_labels(part[1])) for part in (train, test)
    )
    boosting = HistGradientBoostingClassifier(random_state=0).fit(X, y)
    stumps = AdaBoostClassifier(n_estimators=50, random_state=0).fit(X, y)
    auc = roc_auc_score(y_test, boosting.predict_proba(X_test)[:, 1])
    return {
        "hist_gradient_boosting_auc": round(float(auc), 4),
        "adaboost_accuracy": round(float(stumps.score(X_test, y_test)), 4),
    }


def provenance(links: list[Link], rows: pd.DataFrame, ledger: Ledger, *, adult: Dataset) -> dict[str, Any]:
    """Describe a release, for JSON: its ledger, its network and how well it serves.

    Parameters
    ----------
    links : the network.
    rows : the synthetic rows with their column ``split``.
    ledger : of the release.
    adult : the real data, for the comparison only.

    Notes
    -----
    **Privacy.** The part ``quality`` uses the real records without noise and is not covered by the ledger.
    """
    made = {name: part_of(rows[rows["split"] == name], ADULT_DOMAIN) for name in ROWS}
    return {
        "name": "adult-standin",
        "command": "python -m private_trees.standin --out dpnb/data",
        "source": {
            "name": "Adult, UCI Machine Learning Repository, Barry Becker and Ronny Kohavi, 1996",
            "doi": "10.24432/C5XW20",
            "licence": "CC BY 4.0",
            "used": "the rows of adult.data without a missing value; adult.test only for the part quality",
        },
        "privacy": {
            "neighbours": ledger.neighbours,
            "epsilon": round(ledger.epsilon, 12),
            "noise_seed": "from the operating system, not kept",
            "not_covered": ["the part quality", "the choice of epsilon, bins and groups by their authors"],
            "ledger": str(ledger).splitlines(),
            "events": [
                {
                    "what": event.what,
                    "mechanism": event.mechanism,
                    "sensitivity": event.sensitivity,
                    "epsilon": event.worst.epsilon,
                }
                for event in ledger.events
            ],
        },
        "rows": {**ROWS, "seed": SAMPLE_SEED},
        "parents": {
            BINS[link.child].name: None if link.parent is None else BINS[link.parent].name for link in links
        },
        "quality": {
            "adult to adult": quality(adult.train, adult.test),
            "standin to adult": quality(made["train"], adult.test),
            "standin to standin": quality(made["train"], made["test"]),
            "positive rate": {
                "adult": _positive_rate(adult.train[1]),
                "standin": _positive_rate(made["train"][1]),
            },
        },
        "versions": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in ("numpy", "pandas", "scikit-learn")},
    }


def _positive_rate(y: pd.Series[Any]) -> float:
    return round(float((y == ADULT_DOMAIN.classes[1]).mean()), 4)


@command()
def main(arguments: Sequence[str], /) -> int:
    """Make the stand-in from Adult's training part and write it with its provenance."""
    parser = Parser(
        prog="python -m private_trees.standin",
        description="Make the embedded data set adult-standin again from Adult's training part. "
        "The noise is new in every run, so the files differ; each set that is published costs its ε again.",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(datasets.__file__).parent,
        help="folder of the files (default: %(default)s)",
    )
    out: Path = parser.parse_args(arguments).out
    adult = load("adult")
    # Who knows the seed of the noise can subtract it: nobody does.
    curator = Curator(rng=np.random.default_rng(secrets.randbits(256)), ledger=Ledger(claimed=EPSILON))
    links = release(*adult.train, epsilon=EPSILON, curator=curator)
    rows = to_adult(sample(links, sum(ROWS.values()), rng=np.random.default_rng(SAMPLE_SEED)))
    rows["split"] = np.repeat(list(ROWS), list(ROWS.values()))
    content = gzip.compress(rows.to_csv(index=False).encode(), mtime=0)
    record = provenance(links, rows, curator.ledger, adult=adult)
    record["sha256"] = hashlib.sha256(content).hexdigest()
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "adult-standin.csv.gz", content)
    write_whole(out / "adult-standin.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    announce(f"{curator.ledger}\n{json.dumps(record['quality'], indent=2)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
