"""The machinery of the book Private Trees: studies, figures, tables, exercises and pages."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def modules_of(package: str) -> list[Any]:
    """The modules of a package in the order of their names: what stands in a folder needs no list of its own."""
    return [
        import_module(f"{package}.{found.name}") for found in iter_modules(import_module(package).__path__)
    ]
