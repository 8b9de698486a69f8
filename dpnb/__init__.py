"""Differentially private decision trees, forests and boosting: the helper package of Private Trees."""

from . import terminal  # noqa: F401 - first, for it takes charge of a command while the others load

# isort: split
from .boosting.booster import PrivateBooster
from .boosting.regressor import PrivateBoosterRegressor
from .data.datasets import load
from .domain import Categorical, Continuous, Domain
from .errors import DataError, DomainError, FewRecordsWarning, PrivacyLeakWarning
from .estimators.base import read
from .privacy.curator import Curator
from .privacy.ledger import Ledger

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
    "PrivateBoosterRegressor",
    "load",
    "read",
]
