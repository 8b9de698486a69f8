"""The public domain: what a data set's attributes and classes may be, and records as numbers in it."""

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
