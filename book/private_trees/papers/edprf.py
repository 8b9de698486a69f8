"""eDPRF (Wang, Qiu, Zhao, Zou, Wang 2025), a random forest with permute-and-flip."""

from dpnb.papers.baselines_forest import RandomSplitForest
from dpnb.papers.edprf import EDPRF

from . import Declaration, Text, settings_of

PAPER = Declaration(
    chapter=7,
    estimator=EDPRF,
    beside=(RandomSplitForest,),
    board="eDPRF-R",
    settings=settings_of(
        *("as it comes", "depth 4", "stop by depth", "one tree", "10 trees"),
        n_trees=(None, None, None, 1, 10),
        max_depth=(6, 4, 6, 6, 6),
        stop=("noisy", "noisy", "depth", "noisy", "noisy"),
    ),
    text=Text("eDPRF", EDPRF.as_written, {}),
    said=(2, 4),
    code=1,
    small={"n_trees": 2, "max_depth": 2},
    private={
        "default": {},
        "trees by the budget": {"n_trees": None},
        "Poisson bags, full depth": {"bags": "poisson", "stop": "depth"},
        "cover, labels": {
            "bags": "cover",
            "bag_rate": 2,
            "n_trees": 3,
            "leaf": "label",
            "levels": "geometric",
        },
        "exponential mechanism, normalised Gini": {
            "selection": "exponential",
            "utility": "gini_normalised",
        },
        "text, made private": {"splits": "multiway", "reuse": False, "stop": "depth", "leaf": "label"},
    },
    learns={},
    reruns=({"n_trees": 1, "tree_depth": 2, "repeats": 2}, {"n_trees": 20, "tree_depth": 10, "repeats": 2}),
    measured=r"^section 4, (?:figures?|tables?)\b",
)
