"""One module for each paper, which registers its estimators; none imports another."""

from importlib import import_module
from pkgutil import iter_modules

from ..registry import ENTRIES, Entry


def estimators() -> dict[str, Entry]:
    """Every estimator of the package and of all papers by the name of its class, in the order of the chapters."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return dict(sorted(ENTRIES.items(), key=lambda item: (item[1].page, item[0])))
