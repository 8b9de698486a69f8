"""The auditor, with replays, exact laws, attacks, bets, scans, and worst-case neighbours."""

from .adapters import OnDomain, adapted, as_estimator, released
from .assertion import PrivacyViolation, assert_private
from .attack import AttackError, attack, black_box, white_box
from .betting import betting_bound, e_value, least_guesses
from .bounds import compare, epsilon_bound, largest_bound
from .channels import generators
from .exact import exact
from .examine import Examination, examine
from .files import own_pair
from .look import sights
from .pairs import families, pairs
from .replay import replay, replay_mechanism
from .result import Finding
from .scan import scan, scan_by_replay
from .sequential import Monitor, MonitoredFinding, monitor, monitor_mechanism
from .settings import AuditSettings, shared

__all__ = [
    "AttackError",
    "AuditSettings",
    "Examination",
    "Finding",
    "Monitor",
    "MonitoredFinding",
    "OnDomain",
    "PrivacyViolation",
    "adapted",
    "as_estimator",
    "assert_private",
    "attack",
    "betting_bound",
    "black_box",
    "compare",
    "e_value",
    "epsilon_bound",
    "exact",
    "examine",
    "families",
    "generators",
    "largest_bound",
    "least_guesses",
    "monitor",
    "monitor_mechanism",
    "own_pair",
    "pairs",
    "released",
    "replay",
    "replay_mechanism",
    "scan",
    "scan_by_replay",
    "shared",
    "sights",
    "white_box",
]
