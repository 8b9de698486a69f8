"""Tables that several chapters print, and the rows that their figures show."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dpnb.data.datasets import Dataset
from dpnb.records.memory import Records

from ..studies.runs import mean_scores, wide
from ..studies.targets import Target

GREY = "color: var(--pst-color-text-muted, grey); font-style: italic"  # of rows that do not count


def compare(
    subjects: Mapping[str, Any],
    data: Dataset,
    *,
    budgets: Collection[float],
    repeats: int,
    seed: int,
    records: Any = None,
) -> pd.DataFrame:
    """Scores of estimators at several budgets.

    Parameters
    ----------
    subjects : name → estimator; its ``epsilon``, ``domain`` and ``random_state`` are set.
    budgets : values of ε; one that is given twice is measured once.
    repeats, seed, records : as of :func:`~private_trees.studies.runs.mean_scores`; by default the training part.

    Returns
    -------
    DataFrame with a row for each subject and ε, and the columns accuracy, sd, auc and true epsilon.
    """
    table = Records(*data.train, domain=data.domain) if records is None else records
    rows = {}
    for name, subject in subjects.items():
        for epsilon in sorted(set(budgets)):
            model = clone(subject).set_params(epsilon=epsilon, domain=data.domain)
            rows[name, epsilon] = mean_scores(model, data, repeats=repeats, seed=seed, records=table)
    return pd.DataFrame(rows).T.rename_axis(["", "epsilon"])


def attack_table(results: pd.DataFrame, targets: Mapping[str, Target]) -> pd.DataFrame:
    """Lower bounds of attacks beside the claims, and what theory says about them.

    Parameters
    ----------
    results : of a study of attacks.
    targets : its targets, in the order of the rows.
    """
    table = wide(results).set_index("method").loc[list(targets)].rename_axis(None)
    theory = ["holds" if targets[name].private else "refuted" for name in table.index]
    table = table.assign(claim=table["epsilon"].map("{:g}".format), theory=theory)
    return table[["claim", "runs", "lower_95", "lower_99", "theory"]].astype({"runs": int}).round(2)


def replay_table(results: pd.DataFrame) -> pd.DataFrame:
    """Replays of each variant, the largest loss as a share of the ledger's ε, also by relation, and losses above it."""
    table = wide(results)
    by = table.groupby("method").agg(
        replays=("triples", "sum"), worst_share=("worst_share", "max"), above_the_ledger=("excess", "sum")
    )
    relation = table.groupby(["method", "dataset"])["worst_share"].max().unstack()
    return by.join(relation).rename_axis("variant")


@dataclass(frozen=True)
class Shown:
    """A table as a page shows it, and its caption where there is no page."""

    caption: str
    page: str

    def _repr_html_(self) -> str:
        return self.page

    def __repr__(self) -> str:
        return f"[table: {self.caption}]"


def shown(
    table: pd.DataFrame, caption: str, *, formats: Mapping[str, str] | str, grey: Collection[Any] = ()
) -> Shown:
    """A table as a page shows it, with a caption and the same each time.

    Parameters
    ----------
    table : what to show.
    caption : what it is, with units.
    formats : column → format such as ``"{:.3f}"``, or one for all columns; empty cells stay empty.
    grey : labels of rows that do not count; they are in grey and slanted.
    """
    styled = table.style.set_uuid(f"{zlib.crc32(caption.encode()):08x}").set_caption(caption)
    each: Any = formats if isinstance(formats, str) else dict(formats)
    styled = styled.format(each, na_rep="").set_table_attributes('class="dataframe"')
    if grey:
        look = [GREY if row in grey else "" for row in table.index]
        last = table.index.nlevels - 1  # the names before it may stand for other rows too
        styled = styled.apply(lambda column: look).apply_index(lambda names: look, level=last)
    return Shown(caption, str(styled.to_html()))


def labelled(points: pd.DataFrame, labels: Mapping[str, str] | Iterable[str]) -> pd.DataFrame:
    """Rows of some methods with a ``label``, in the order of the labels and of ε.

    Parameters
    ----------
    labels : method → label, or the methods alone.
    """
    names = dict(labels) if isinstance(labels, Mapping) else {name: name for name in labels}
    rows = points.assign(label=points["method"].map(names)).dropna(subset=["label"])
    rows["order"] = rows["label"].map(list(names.values()).index)
    return rows.sort_values(["order", "epsilon"]).drop(columns="order")


def true_epsilon(points: pd.DataFrame) -> dict[str, str]:
    """Largest ε that the ledgers of each method prove for a claim of 1, as text: the true one is at most this."""
    truth = points.query("epsilon == 1").groupby("method")["ledger_epsilon"].max()
    return {str(name): "∞" if np.isinf(value) else f"{value:.2f}" for name, value in truth.items()}
