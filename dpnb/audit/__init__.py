"""The auditor: replay, exact enumeration, attack, one-run audit, and search for worst-case neighbours."""

from .attack import attack, black_box, white_box
from .bounds import compare, epsilon_bound, largest_bound
from .exact import exact
from .onerun import one_run, one_run_epsilon
from .rebuild import guess_bound, rebuild, share_right
from .replay import replay, replay_mechanism
from .result import Finding
from .search import families, search

__all__ = [
    "Finding",
    "attack",
    "black_box",
    "compare",
    "epsilon_bound",
    "exact",
    "families",
    "guess_bound",
    "largest_bound",
    "one_run",
    "one_run_epsilon",
    "rebuild",
    "replay",
    "replay_mechanism",
    "search",
    "share_right",
    "white_box",
]
