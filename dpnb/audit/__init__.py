"""The auditor: replay, exact enumeration, attack, trade-off curves, one-run audit, and search for worst-case pairs."""

from .attack import attack, black_box, white_box
from .bounds import compare, epsilon_bound, largest_bound
from .curves import Tradeoff, attainable, gaussian_epsilon, tradeoff
from .exact import exact
from .many import e_average, e_bh, e_closed, holm, shared, together
from .onerun import lay_out, one_run, one_run_epsilon, one_run_mu
from .replay import replay, replay_mechanism
from .result import Finding
from .search import families, search

__all__ = [
    "Finding",
    "Tradeoff",
    "attack",
    "attainable",
    "black_box",
    "compare",
    "e_average",
    "e_bh",
    "e_closed",
    "epsilon_bound",
    "exact",
    "families",
    "gaussian_epsilon",
    "holm",
    "largest_bound",
    "lay_out",
    "one_run",
    "one_run_epsilon",
    "one_run_mu",
    "replay",
    "replay_mechanism",
    "search",
    "shared",
    "together",
    "tradeoff",
    "white_box",
]
