"""A model that is wrong by a known amount: what a controller may really know of a mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from setsu.control.arguments import nonnegative
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError
from setsu.mechanism import Mechanism

__all__ = ["mismatched"]


def mismatched(mechanism: Mechanism, masses: float, *, seed: int | None = None) -> Mechanism:
    """Return the mechanism with wrong masses, inertias in proportion.

    Args:
        masses: relative error: 0.1 makes every body 10 % too heavy, -0.1 too light.
        seed: when given, each body's error is drawn between -masses and +masses instead.

    >>> import setsu
    >>> round(mismatched(setsu.sample_mechanisms.planar_arm(2), 0.1).total_mass, 9)
    2.2
    """
    require_mechanism(mechanism, "mismatched")
    size = float(nonnegative(abs(masses), "mismatched masses"))
    if size >= 1.0:
        raise InputError(f"mismatched masses: expected a relative error below 1, got {masses}")
    count = len(mechanism.bodies)
    errors = np.full(count, float(masses))
    if seed is not None:
        errors = np.random.default_rng(seed).uniform(-size, size, count)
    bodies = tuple(
        replace(body, mass=body.mass * (1.0 + e), inertia=tuple(entry * (1.0 + e) for entry in body.inertia))
        for body, e in zip(mechanism.bodies, errors.tolist(), strict=True)
    )
    return replace(mechanism, bodies=bodies)
