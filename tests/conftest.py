"""Settings that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

# As in the Makefile, and before NumPy is loaded: stored results hold to the last bit of a dot product.
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# The same examples in every run: a failure is a failure for everyone, and a slow machine is not one.
settings.register_profile("dpnb", derandomize=True, deadline=None)
settings.load_profile("dpnb")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the real data where they are not at hand."""
    if os.environ.get("DPNB_DATA"):
        return
    skip = pytest.mark.skip(
        reason="set DPNB_DATA to a folder with the UCI files to run the tests on real data"
    )
    for item in items:
        if item.get_closest_marker("realdata"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the repository."""
    return ROOT
