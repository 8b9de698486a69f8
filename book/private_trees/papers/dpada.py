"""DPAda (Zhang, Dong, Xu, Wang 2023), an AdaBoost with noise on sample weights."""

from dpnb.papers.baselines import AdaBoost, CARTDPsAdaBoost, DPAdaBoost
from dpnb.papers.dpada import DPAda

from ..studies.dpada import ACCURATE, STEPS
from . import Declaration, Text, settings_of

PAPER = Declaration(
    chapter=6,
    estimator=DPAda,
    beside=(AdaBoost, CARTDPsAdaBoost, DPAdaBoost),
    board="DPAda-R",
    settings=settings_of(
        *("30, α by noise", "30, rate 0.4", "60, rate 0.4", "150, rate 0.2", "250, rate 0.2", "15, rate 0.5"),
        n_rounds=(30, 30, 60, 150, 250, 15),
        learning_rate=(None, 0.4, 0.4, 0.2, 0.2, 0.5),
    ),
    additive=True,
    text=Text("DPAda, Improved", STEPS["0 as written"][0], {"reading": ACCURATE + ", raw", "n_rounds": 50}),
    said=(0, 2),
    small={"n_rounds": 4, "uniform": 5, "geometric": 2},
    private={
        "default": {},
        "swing": {"schedule": "swing"},
        "random": {"schedule": "random"},
        "improved, with δ": {"schedule": "improved", "delta": 1e-5, "n_rounds": 12},
        "fixed step": {"learning_rate": 0.3},
    },
    learns={"n_rounds": 60, "learning_rate": 0.5},
    reruns=({"n_rounds": 4, "repeats": 2}, {"n_rounds": 200, "repeats": 2}),
    measured=r"^(?:figures?|tables?|section 4)\b",
)
