"""Whether a mechanism and another engine's model are the same machine: bodies are in the same places."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from setsu.dynamics import body_poses
from setsu.errors import InputError
from setsu.interop.state_map import StateMap

__all__ = ["require_same_poses"]

Floats = NDArray[np.float64]

_STATES = 3
_TOLERANCE = 1e-9


def require_same_poses(made: StateMap, peer_poses: Callable[[Floats], Floats]) -> None:
    """Raise an InputError unless every body is where the other engine has it, in a few configurations.

    peer_poses: placements (n_bodies, 4, 4) of the mechanism's bodies for coordinates of the other engine; NaN for
    bodies that it does not have.
    """
    m, rng = made.mechanism, np.random.default_rng(0)
    for _ in range(_STATES):
        q = m.random_configuration(rng)
        here, there = body_poses(m, q), peer_poses(made.q_to(q))
        scale = 1.0 + float(np.abs(here[:, :3, 3]).max(initial=0.0))
        error = np.nan_to_num(np.abs(here - there)).max(axis=(1, 2))
        if error.max(initial=0.0) > _TOLERANCE * scale:
            first = int(np.argmax(error > _TOLERANCE * scale))
            raise InputError(
                f'interop: body "{m.body_names[first]}" of {m.name} is {error[first]:.3g} (m, or of its rotation) away '
                f"from where {made.engine} has it; expected models of the same machine with the same frames"
            )
