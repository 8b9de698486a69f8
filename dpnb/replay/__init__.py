"""Fits whose releases are known: what they would have been worth on a neighbour, exactly."""

from .finding import Finding
from .tape import replay

__all__ = ["Finding", "replay"]
