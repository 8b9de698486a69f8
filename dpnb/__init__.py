"""Differentially private decision trees, forests and boosting: the helper package of Private Trees."""

from .booster import PrivateBooster
from .curator import Curator
from .data.datasets import load
from .domain import Categorical, Continuous, Domain
from .errors import DataError, DomainError, FewRecordsWarning, PrivacyLeakWarning
from .estimators import read
from .ledger import Ledger

__version__ = "0.1.0"

__all__ = [
    "Categorical",
    "Continuous",
    "Curator",
    "DataError",
    "Domain",
    "DomainError",
    "FewRecordsWarning",
    "Ledger",
    "PrivacyLeakWarning",
    "PrivateBooster",
    "load",
    "read",
]
