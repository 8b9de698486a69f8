"""The auditor: replay, exact laws, attacks, bets, curves, one-run audits, scans, and worst-case neighbours."""

from .adapters import adapted, as_estimator, released
from .attack import attack, black_box, white_box
from .bounds import compare, epsilon_bound, largest_bound
from .campaign import Campaign, Plan, campaign
from .channels import LowBits, generators, low_bits, timing
from .exact import exact
from .onerun import one_run, one_run_epsilon
from .pairs import families, own_pair, pairs
from .replay import replay, replay_mechanism
from .result import Finding
from .scan import scan, scan_by_replay
from .search import search

__all__ = [
    "Campaign",
    "Finding",
    "LowBits",
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
    "generators",
    "largest_bound",
    "low_bits",
    "one_run",
    "one_run_epsilon",
    "own_pair",
    "pairs",
    "released",
    "replay",
    "replay_mechanism",
    "scan",
    "scan_by_replay",
    "search",
    "timing",
    "white_box",
]
