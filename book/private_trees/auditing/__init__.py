"""Audits that the chapters show and the auditor does not need: curves, one-run audits, reconstruction, losses."""

from .bets import betting_bound, e_value, least_guesses, monitor, monitor_mechanism
from .counts import epsilon_bound
from .curves import attainable, gaussian_epsilon, tradeoff
from .deltas import exact_delta, replay_delta, replay_mechanism_delta
from .exact import exact
from .fixed import attack, compare, largest_bound, white_box
from .followed import replay_mechanism, scan_by_replay
from .multiplicity import e_bh, e_closed, holm
from .onerun import lay_out, one_run, one_run_epsilon, one_run_mu
from .rebuild import guess_bound, rebuild, share_right
from .releases import spent
from .search import search

__all__ = [
    "attack",
    "attainable",
    "betting_bound",
    "compare",
    "e_bh",
    "e_closed",
    "e_value",
    "epsilon_bound",
    "exact",
    "exact_delta",
    "gaussian_epsilon",
    "guess_bound",
    "holm",
    "largest_bound",
    "lay_out",
    "least_guesses",
    "monitor",
    "monitor_mechanism",
    "one_run",
    "one_run_epsilon",
    "one_run_mu",
    "rebuild",
    "replay_delta",
    "replay_mechanism",
    "replay_mechanism_delta",
    "scan_by_replay",
    "search",
    "share_right",
    "spent",
    "tradeoff",
    "white_box",
]
