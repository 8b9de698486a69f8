"""The auditor: replay, exact enumeration, attack, one-run audit, search for worst-case neighbours, and scans."""

from .attack import attack, black_box, white_box
from .bounds import compare, epsilon_bound, largest_bound
from .channels import LowBits, generators, low_bits, timing
from .exact import exact
from .onerun import one_run, one_run_epsilon
from .replay import replay, replay_mechanism
from .result import Finding
from .scan import scan, scan_by_replay
from .search import families, search

__all__ = [
    "Finding",
    "LowBits",
    "attack",
    "black_box",
    "compare",
    "epsilon_bound",
    "exact",
    "families",
    "generators",
    "largest_bound",
    "low_bits",
    "one_run",
    "one_run_epsilon",
    "replay",
    "replay_mechanism",
    "scan",
    "scan_by_replay",
    "search",
    "timing",
    "white_box",
]
