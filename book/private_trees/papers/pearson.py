"""The Pearson tree (Wang, Yan, Li 2020), a patent on MapReduce."""

from functools import partial

from dpnb.papers.pearson import VARIANTS, PearsonTree

from ..studies.pearson import DEPTH
from . import Declaration, Text

PAPER = Declaration(
    chapter=5,
    estimator=PearsonTree,
    board="Pearson tree",
    settings={f"C, depth {depth}": {"max_depth": depth} for depth in (6, 4, 8)}
    | {"S, depth 4": VARIANTS["S"] | {"max_depth": 4}},
    text=Text("Pearson tree", PearsonTree.as_written, {"max_depth": DEPTH}),
    code=1,
    small={"max_depth": 2},
    private={
        "C": {},
        "S": VARIANTS["S"] | {"n_shards": 30},
        "class codes": {"statistic": "phi-codes", "selection": "exponential", "n_shards": 3},
        "signed": {"statistic": "phi-signed"},
    },
    leaking={"one class": partial(PearsonTree, stop="one-class")},
    learns={"max_depth": 8},
    reruns=(
        {"max_depth": 1, "n_shards": 1, "repeats": 2},
        {"max_depth": 7, "n_shards": 1000, "repeats": 2},
        {"engine": "spark", "dataset": "bank", "max_depth": 2},
    ),
)
