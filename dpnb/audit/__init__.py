"""The auditor: replay, exact enumeration, attack, betting, one-run audit, and search for worst-case neighbours."""

from .attack import attack, black_box, white_box
from .betting import betting_bound, e_value, least_guesses
from .bounds import compare, epsilon_bound, largest_bound
from .deltas import DeltaFinding, LossSample, exact_delta, replay_delta, replay_mechanism_delta
from .exact import exact
from .monitor import Monitor, MonitoredFinding, monitor, monitor_mechanism
from .onerun import one_run, one_run_epsilon
from .replay import replay, replay_mechanism
from .result import Finding
from .search import families, search

__all__ = [
    "DeltaFinding",
    "Finding",
    "LossSample",
    "Monitor",
    "MonitoredFinding",
    "attack",
    "betting_bound",
    "black_box",
    "compare",
    "e_value",
    "epsilon_bound",
    "exact",
    "exact_delta",
    "families",
    "largest_bound",
    "least_guesses",
    "monitor",
    "monitor_mechanism",
    "one_run",
    "one_run_epsilon",
    "replay",
    "replay_delta",
    "replay_mechanism",
    "replay_mechanism_delta",
    "search",
    "white_box",
]
