"""The auditor: replay, exact laws, attacks, bets, scans, and worst-case neighbours."""

from .adapters import OnDomain, adapted, as_estimator, released
from .assertion import PrivacyViolation, assert_private
from .attack import AttackError, attack, black_box, white_box
from .betting import betting_bound, e_value, least_guesses
from .bounds import compare, epsilon_bound, largest_bound
from .channels import LowBits, generators, low_bits
from .exact import exact
from .examine import Examination, examine
from .files import own_pair
from .look import sights
from .multiplicity import e_average, e_bh, e_closed, holm, shared, together
from .pairs import families, pairs
from .replay import replay, replay_mechanism
from .result import Finding
from .scan import scan, scan_by_replay
from .sequential import Monitor, MonitoredFinding, monitor, monitor_mechanism
from .settings import AuditSettings

__all__ = [
    "AttackError",
    "AuditSettings",
    "Examination",
    "Finding",
    "LowBits",
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
    "e_average",
    "e_bh",
    "e_closed",
    "e_value",
    "epsilon_bound",
    "exact",
    "examine",
    "families",
    "generators",
    "holm",
    "largest_bound",
    "least_guesses",
    "low_bits",
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
    "together",
    "white_box",
]
