"""The auditor of privacy claims: fits on worst-case neighbours, scans, noise drawn again, replays, and bets."""

from dpnb import terminal  # noqa: F401 - first, for it takes charge of a command while the others load

# isort: split
from .adapters import OnDomain, adapted, as_estimator, released
from .assertion import PrivacyViolation, assert_private
from .examine import Examination, examine
from .files import own_pair
from .fits import AttackError
from .generators import generators
from .libraries import library_replay
from .look import black_box, sights
from .monitor import Monitor, MonitoredFinding
from .pairs import families, pairs
from .scan import scan
from .settings import AuditSettings, shared

__all__ = [
    "AttackError",
    "AuditSettings",
    "Examination",
    "Monitor",
    "MonitoredFinding",
    "OnDomain",
    "PrivacyViolation",
    "adapted",
    "as_estimator",
    "assert_private",
    "black_box",
    "examine",
    "families",
    "generators",
    "library_replay",
    "own_pair",
    "pairs",
    "released",
    "scan",
    "shared",
    "sights",
]
