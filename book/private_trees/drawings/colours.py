"""Colours of figures: contrasts, and the lightness in OKLCH that gives a colour a contrast."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from numpy.typing import ArrayLike

from dpnb.arrays import Floats

_CONES = np.array([[0.4122214708, 0.5363325363, 0.0514459929],
                   [0.2119034982, 0.6806995451, 0.1073969566],
                   [0.0883024619, 0.2817188376, 0.6299787005]])  # fmt: skip
_LAB = np.array([[0.2104542553, 0.7936177850, -0.0040720468],
                 [1.9779984951, -2.4285922050, 0.4505937099],
                 [0.0259040371, 0.7827717662, -0.8086757660]])  # fmt: skip


def _linear(colour: str) -> Floats:
    s = np.asarray(to_rgb(colour))
    return np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)


def _luminance(rgb: ArrayLike) -> float:
    return float(np.dot(rgb, [0.2126, 0.7152, 0.0722]))


def contrast(first: str, second: str) -> float:
    """Contrast of two colours by WCAG, 1 to 21."""
    light = [_luminance(_linear(colour)) + 0.05 for colour in (first, second)]
    return max(light) / min(light)


def with_contrast(colour: str, wanted: float, ground: str) -> str:
    """The colour of the same hue that has a contrast with a ground, or the most that it can have.

    On a dark ground it is lighter than the ground, on a light one darker.

    Parameters
    ----------
    colour, ground : as Matplotlib writes them.
    wanted : contrast.
    """
    _, a, b = _LAB @ np.cbrt(_CONES @ _linear(colour))
    up = _luminance(_linear(ground)) < 0.18
    low, high = 0.0, 1.0  # lightness
    for _ in range(30):
        middle = (low + high) / 2
        enough = contrast(_in_gamut(middle, a, b), ground) >= wanted
        lighter = _luminance(_linear(_in_gamut(middle, a, b))) > _luminance(_linear(ground))
        if (enough and lighter) if up else not enough or lighter:
            high = middle
        else:
            low = middle
    return _in_gamut(high if up else low, a, b)


def _in_gamut(lightness: float, a: float, b: float) -> str:
    """The colour with this lightness and hue, as strong as a screen can show it."""
    for share in np.linspace(1, 0, 41):
        lms = (np.linalg.inv(_LAB) @ [lightness, share * a, share * b]) ** 3
        rgb = np.linalg.inv(_CONES) @ lms
        if share == 0 or (rgb.min() >= -1e-4 and rgb.max() <= 1 + 1e-4):
            break
    rgb = np.clip(rgb, 0, 1)
    return to_hex(np.where(rgb <= 0.0031308, 12.92 * rgb, 1.055 * rgb ** (1 / 2.4) - 0.055))


def readable(colour: str, wanted: float = 4.5) -> str:
    """The colour, or one of its hue that is dark enough to be seen on white: 4.5 is for letters, 3 for lines."""
    return (
        to_hex(colour)
        if contrast(colour, "white") >= wanted
        else with_contrast(colour, wanted + 0.02, "white")
    )
