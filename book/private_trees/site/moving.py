"""What the figures that move are made of: draws and shapes of the package, and the stills of pages without scripts.

Run ``python -m private_trees.site.moving`` to write ``book/_stills``. The stills need a Chromium: the scripts in
``book/_static/moving`` draw them, so that there is no second drawing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page

from dpnb.boosting.booster import PrivateBooster
from dpnb.data.datasets import load
from dpnb.files import write_whole
from dpnb.privacy import laws
from dpnb.terminal import Parser, command

from ..board import price
from .pdf import new_page

FIGURES = ("noise", "selection", "lost-record", "path-budget", "audit", "shapes", "choose")
ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "book" / "_static" / "moving"
STILLS = ROOT / "book" / "_stills"

RUNS = np.round(10 ** np.linspace(1, 5, 41)).astype(int)
EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
FITS = 6
AGES = np.arange(17, 91)


def audit_counts(*, seed: int = 0) -> dict[str, Any]:
    """How often a count of 1 or more is released from an empty leaf and from a leaf of one record, run by run.

    The honest counter adds two-sided geometric noise for ε = 1, the broken one to counts above 0 only.
    """
    rng = np.random.default_rng(seed)
    empty, one = (np.full(RUNS[-1], count, np.int64) for count in (0, 1))
    scale = np.array(1.0)

    def occurs(released: NDArray[np.int64]) -> list[int]:
        found: list[int] = np.cumsum(released >= 1)[RUNS - 1].tolist()
        return found

    first, second, third = (
        occurs(laws.TwoSidedGeometric(leaf, scale).draw(rng)) for leaf in (empty, one, one)
    )
    return {
        "runs": RUNS.tolist(),
        "honest": {"first": first, "second": second},
        "broken": {"first": occurs(empty), "second": third},
    }


def age_shape(epsilon: float, *, seed: int) -> list[float]:
    """What the booster adds to the score at each age, three decimals; additive, so that it is all that age adds."""
    data = load("adult-standin")
    model = PrivateBooster(epsilon=epsilon, domain=data.domain, additive=True, random_state=seed)
    model.fit(*data.train)
    shape = model.shape("age")
    found: list[float] = shape.score[np.searchsorted(shape.at, AGES)].round(3).tolist()
    return found


def age_shapes() -> dict[str, Any]:
    """Shapes of age by ε, and the one without noise."""
    return {
        "ages": AGES.tolist(),
        "epsilons": list(EPSILONS),
        "shapes": [[age_shape(epsilon, seed=seed) for seed in range(FITS)] for epsilon in EPSILONS],
        "without": age_shape(np.inf, seed=0),
    }


def price_curves() -> dict[str, Any]:
    """What the booster loses by n·ε, from the stored results."""
    return dict(price.curves(ROOT / "results"))


def written(data: dict[str, Any]) -> str:
    """JSON of a figure's data, as short as it can be."""
    return json.dumps(data, separators=(",", ":")) + "\n"


def read(name: str) -> Any:
    """Committed data of a figure; None if it needs none."""
    path = STILLS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def still(page: Page, name: str) -> str:
    """HTML of what a figure shows first, drawn by its script.

    Parameters
    ----------
    page : of a browser; it holds the scripts, see :func:`load_scripts`.
    name : one of :data:`FIGURES`.
    """
    drawn: str = page.evaluate("([name, data]) => moving.still(name, data)", [name, read(name)])
    return drawn


def load_scripts(page: Page) -> None:
    """Load the scripts of all figures into an empty page."""
    for script in ("moving", *FIGURES):
        page.add_script_tag(path=SCRIPTS / f"{script}.js")


def write_stills() -> None:
    """Write the stills of all figures."""
    with new_page() as page:
        load_scripts(page)
        for name in FIGURES:
            write_whole(STILLS / f"{name}.html", still(page, name))


@command()
def main(arguments: Sequence[str], /) -> int:
    """Write data and stills."""
    Parser(prog="python -m private_trees.site.moving", description=__doc__).parse_args(arguments)
    write_whole(STILLS / "audit.json", written(audit_counts()))
    write_whole(STILLS / "shapes.json", written(age_shapes()))
    write_whole(STILLS / "choose.json", written(price_curves()))
    write_stills()
    return 0


if __name__ == "__main__":
    sys.exit(main())
