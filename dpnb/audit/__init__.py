"""The auditor: replay, exact laws, attacks, bets, curves, one-run audits, scans, and worst-case neighbours."""

from .adapters import adapted, as_estimator, released
from .assertion import PrivacyViolation, assert_private
from .attack import AttackError, attack, black_box, white_box
from .betting import betting_bound, e_value, least_guesses
from .bounds import compare, epsilon_bound, largest_bound
from .campaign import Campaign, Plan, campaign
from .channels import LowBits, generators, low_bits, timing
from .curves import Tradeoff, attainable, gaussian_epsilon, tradeoff
from .deltas import DeltaFinding, LossSample, exact_delta, replay_delta, replay_mechanism_delta
from .exact import exact
from .many import e_average, e_bh, e_closed, holm, shared, together
from .monitor import Monitor, MonitoredFinding, monitor, monitor_mechanism
from .onerun import lay_out, one_run, one_run_epsilon, one_run_mu
from .pairs import families, own_pair, pairs
from .rebuild import guess_bound, rebuild, share_right
from .replay import replay, replay_mechanism
from .result import Finding
from .scan import scan, scan_by_replay
from .search import search

__all__ = [
    "AttackError",
    "Campaign",
    "DeltaFinding",
    "Finding",
    "LossSample",
    "LowBits",
    "Monitor",
    "MonitoredFinding",
    "Plan",
    "PrivacyViolation",
    "Tradeoff",
    "adapted",
    "as_estimator",
    "assert_private",
    "attack",
    "attainable",
    "betting_bound",
    "black_box",
    "campaign",
    "compare",
    "e_average",
    "e_bh",
    "e_closed",
    "e_value",
    "epsilon_bound",
    "exact",
    "exact_delta",
    "families",
    "gaussian_epsilon",
    "generators",
    "guess_bound",
    "holm",
    "largest_bound",
    "lay_out",
    "least_guesses",
    "low_bits",
    "monitor",
    "monitor_mechanism",
    "one_run",
    "one_run_epsilon",
    "one_run_mu",
    "own_pair",
    "pairs",
    "rebuild",
    "released",
    "replay",
    "replay_delta",
    "replay_mechanism",
    "replay_mechanism_delta",
    "scan",
    "scan_by_replay",
    "search",
    "share_right",
    "shared",
    "timing",
    "together",
    "tradeoff",
    "white_box",
]
