"""Gaussian noise that is a function of its place: (seeds, sample, entry) -> number, with the same bits everywhere.

No generator runs along: any number can be asked for alone, in any order, in Python or inside compiled steps.

    h = mix(... mix(mix(seed_1) + seed_2) ...)        a chain of finalisers of SplitMix64                   (1)
    n = sqrt(-2 ln u) cos(2π w)                       u, w from mix of h, sample and entry (Box and Muller)  (2)

Source: Steele, Lea and Flood 2014, Fast splittable pseudorandom number generators.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from setsu.elementary import cos_sin, log

__all__ = ["noise_key", "standard_normal", "two_uniforms"]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(x: int) -> int:
    x = (x + _GOLDEN) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def noise_key(*seeds: int) -> int:
    """Return one whole number for several (1), below 2**63.

    >>> noise_key(1, 2) != noise_key(2, 1)
    True
    """
    h = 0
    for seed in seeds:
        h = _mix(h ^ (int(seed) & _MASK))
    return h >> 1


def two_uniforms(key: int, sample: int, entry: int) -> tuple[float, float]:
    """Return u in (0, 1] and w in [0, 1) of 53 bits each."""
    h = _mix(_mix(_mix(key) ^ (sample & _MASK)) ^ (entry & _MASK))
    return ((h >> 11) + 1) * 2.0**-53, (_mix(h) >> 11) * 2.0**-53


def standard_normal(key: int, sample: int, count: int, first: int = 0) -> NDArray[np.float64]:
    """Return the entries first, first + 1, ... of a sample, (count,), with mean 0 and deviation 1 (2).

    >>> standard_normal(noise_key(7), 3, 2).tolist() == standard_normal(noise_key(7), 3, 3)[:2].tolist()
    True
    """
    out = np.empty(count)
    for k in range(count):
        u, w = two_uniforms(key, sample, first + k)
        out[k] = math.sqrt(-2.0 * log(u)) * cos_sin(2.0 * math.pi * w)[0]
    return out
