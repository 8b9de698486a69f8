"""Audits that the chapters show and the auditor does not need: curves, one-run audits, reconstruction, losses."""

from .curves import attainable, gaussian_epsilon, tradeoff
from .deltas import exact_delta, replay_delta, replay_mechanism_delta
from .multiplicity import e_bh, e_closed, holm
from .onerun import lay_out, one_run, one_run_epsilon, one_run_mu
from .rebuild import guess_bound, rebuild, share_right
from .releases import spent
from .search import search

__all__ = [
    "attainable",
    "e_bh",
    "e_closed",
    "exact_delta",
    "gaussian_epsilon",
    "guess_bound",
    "holm",
    "lay_out",
    "one_run",
    "one_run_epsilon",
    "one_run_mu",
    "rebuild",
    "replay_delta",
    "replay_mechanism_delta",
    "search",
    "share_right",
    "spent",
    "tradeoff",
]
