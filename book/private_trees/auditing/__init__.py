"""Audits that the chapters show and the auditor does not need: curves, one-run audits, reconstruction, losses."""

from .bets import betting_bound, e_value, least_guesses, monitor
from .counts import epsilon_bound
from .curves import gaussian_epsilon, tradeoff
from .deltas import exact_delta, replay_mechanism_delta
from .exact import exact
from .fixed import attack, compare, largest_bound
from .followed import replay_mechanism
from .multiplicity import e_bh, e_closed, holm
from .onerun import one_run, one_run_epsilon
from .rebuild import rebuild
from .search import search

__all__ = [
    "attack",
    "betting_bound",
    "compare",
    "e_bh",
    "e_closed",
    "e_value",
    "epsilon_bound",
    "exact",
    "exact_delta",
    "gaussian_epsilon",
    "holm",
    "largest_bound",
    "least_guesses",
    "monitor",
    "one_run",
    "one_run_epsilon",
    "rebuild",
    "replay_mechanism",
    "replay_mechanism_delta",
    "search",
    "tradeoff",
]
