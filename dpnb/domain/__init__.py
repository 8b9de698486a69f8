"""The public domain, which states what attributes and classes a data set may have, and records as numbers in it."""

from .attributes import Attribute, Categorical, Continuous
from .domain import Domain, read_domain_file
from .frames import as_frame, as_series
from .misfits import Misfit

__all__ = [
    "Attribute",
    "Categorical",
    "Continuous",
    "Domain",
    "Misfit",
    "as_frame",
    "as_series",
    "read_domain_file",
]
