"""Colours of the studio: one per joint, the same for its curve, its arrows, its slider's mark and, paler, its link."""

from __future__ import annotations

import colorsys

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CONTACT",
    "GROUND",
    "LOOP",
    "SURFACE",
    "WELD",
    "contact_color",
    "hex_color",
    "joint_color",
    "linear_light",
    "paler",
]

Color = tuple[int, int, int]

# Hues that stay apart on white and for most kinds of colour blindness; after ten they repeat darker.
_BASE: tuple[Color, ...] = (
    (31, 119, 180), (230, 120, 20), (44, 150, 60), (200, 40, 50), (130, 90, 190),
    (140, 86, 75), (215, 90, 170), (100, 110, 120), (150, 150, 20), (20, 165, 190),
)  # fmt: skip
CONTACT: Color = (205, 30, 100)
LOOP: Color = (120, 30, 160)
WELD: Color = (60, 60, 66)
SURFACE: Color = (150, 170, 190)
GROUND: Color = (205, 210, 216)


def joint_color(index: int) -> Color:
    """Return the colour (red, green, blue; 0 to 255) of a joint and of all that belongs to it.

    >>> joint_color(0) == joint_color(10)
    False
    """
    base = _BASE[index % len(_BASE)]
    times = index // len(_BASE) % 4
    if times == 0:
        return base
    hue, light, saturation = colorsys.rgb_to_hls(*(part / 255 for part in base))
    red, green, blue = colorsys.hls_to_rgb(hue, max(0.18, light * (1 - 0.2 * times)), saturation)
    return round(red * 255), round(green * 255), round(blue * 255)


def contact_color(index: int) -> Color:
    """Return the colour of a contact: of its point, its arrow and its curves. The first has CONTACT, others follow.

    >>> contact_color(0) == CONTACT
    True
    """
    hue, light, saturation = colorsys.rgb_to_hls(*(part / 255 for part in CONTACT))
    # Steps of the golden ratio stay apart for any number of contacts; every third is lighter, every third darker.
    turned = (hue + 0.618034 * index) % 1.0
    red, green, blue = colorsys.hls_to_rgb(turned, light + (0.0, 0.08, -0.1)[index % 3], saturation)
    return round(red * 255), round(green * 255), round(blue * 255)


def paler(color: Color, part: float = 0.55) -> Color:
    """Mix a colour with light grey: part 0 keeps it, 1 is grey."""
    red, green, blue = (round(entry + part * (222 - entry)) for entry in color)
    return red, green, blue


def linear_light(colors: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return colours (n, 3) as light: viser takes those of arrows for it, of everything else for what a screen shows.

    >>> linear_light(np.array([[0, 128, 255]], dtype=np.uint8)).tolist()
    [[0, 56, 255]]
    """
    return np.round(255.0 * (colors / 255.0) ** 2.2).astype(np.uint8)


def hex_color(color: Color) -> str:
    """Return #rrggbb."""
    return "#{:02x}{:02x}{:02x}".format(*color)
