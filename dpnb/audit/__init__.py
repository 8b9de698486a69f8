"""The auditor: replay, exact enumeration, attack, one-run audit, and search for worst-case neighbours."""

from .adapters import adapted, as_estimator, released
from .attack import attack, black_box, white_box
from .bounds import compare, epsilon_bound, largest_bound
from .campaign import Campaign, Plan, campaign
from .exact import exact
from .onerun import one_run, one_run_epsilon
from .pairs import families, own_pair, pairs
from .replay import replay, replay_mechanism
from .result import Finding
from .search import search

__all__ = [
    "Campaign",
    "Finding",
    "Plan",
    "adapted",
    "as_estimator",
    "attack",
    "black_box",
    "campaign",
    "compare",
    "epsilon_bound",
    "exact",
    "families",
    "largest_bound",
    "one_run",
    "one_run_epsilon",
    "own_pair",
    "pairs",
    "released",
    "replay",
    "replay_mechanism",
    "search",
    "white_box",
]
