"""DiffPRFs (Mu, Ding, Song, Lu 2016), a random forest."""

from functools import partial

from dpnb.papers.baselines_forest import RandomTrees
from dpnb.papers.diffprfs import DiffPRFs

from ..lineage.trees import PINQID3, DiffGen, DiffPC45, DiffPID3, DiffPRF, DTDiff, SuLQID3
from . import Declaration, Text, settings_of

PAPER = Declaration(
    chapter=4,
    estimator=DiffPRFs,
    beside=(DTDiff, DiffGen, DiffPC45, DiffPID3, DiffPRF, PINQID3, RandomTrees, SuLQID3),
    board="DiffPRFs-R",
    settings=settings_of(
        *(
            "25 trees, depth 5",
            "15 trees, depth 4",
            "10 trees, depth 3",
            "5 trees, depth 5",
            "25 trees, depth 8",
        ),
        n_trees=(25, 15, 10, 5, 25),
        max_depth=(5, 4, 3, 5, 8),
    ),
    text=Text("DiffPRFs", partial(DiffPRFs.as_written, utility="max"), {"utility": "max", "max_depth": 5}),
    small={"n_trees": 2, "max_depth": 2},
    private={
        "default": {},
        "full bags": {"bags": "full", "utility": "info_gain"},
        "Bernoulli bags, Gini": {"bags": "bernoulli", "bag_rate": 0.3, "utility": "gini"},
        "disjoint bags, all attributes": {"bags": "disjoint", "max_features": "all"},
        "cover": {"bags": "cover", "bag_rate": 2, "n_trees": 3},
        "in two steps": {
            "selection": "two-step",
            "size_query": True,
            "stop": "noisy",
            "categorical": "multiway",
        },
    },
    leaking={"bounds from the data": partial(DiffPRFs, bounds="data", selection="two-step")},
    learns={"n_trees": 15, "utility": "gini", "max_features": "all"},
    reruns=({"n_trees": 1, "max_depth": 1, "repeats": 1}, {"n_trees": 100, "max_depth": 10, "repeats": 1}),
    measured=r"figure|table|section (?:4\.2|5)",
)
