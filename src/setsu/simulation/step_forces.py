"""Forces of contacts and stops in the contact step just taken, from its impulses: what loads bearings in the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setsu.contact.scene import N_CONTACTS, STOP, Problem, Scene

__all__ = ["contact_wrenches", "stop_forces"]

Floats = NDArray[np.float64]


def contact_wrenches(problem: Problem, poses: Floats, step: float) -> Floats:
    """Return the wrenches on bodies at their origins (n_bodies, 6), world axes; poses (n_bodies, 4, 4), step (s)."""
    c, out = problem.contacts[: problem.counts[N_CONTACTS]], np.zeros((len(poses), 6))
    c = c[c["point"] != STOP]
    force, couple = (np.einsum("ck,cki->ci", c[name], c["axes"]) / step for name in ("impulse", "couple"))
    for which, sign in (("body_a", 1.0), ("body_b", -1.0)):
        body = c[which]
        arm = c["position"] - poses[body, :3, 3]
        wrench = sign * np.concatenate([force, np.cross(arm, force) + couple], axis=1)
        np.add.at(out, body[body >= 0], wrench[body >= 0])
    return out


def stop_forces(scene: Scene, problem: Problem, nv: int, axes: int, step: float) -> tuple[Floats, Floats]:
    """Return the forces of stops along velocities (nv,) and along the free axes of loop joints (axes,); step (s)."""
    c, out = problem.contacts[: problem.counts[N_CONTACTS]], np.zeros(nv + axes)
    c = c[c["point"] == STOP]
    s = scene.stops[c["face"]]
    place = np.where(s["axis"] < 0, s["velocity"], nv + s["axis"])
    np.add.at(out, place, s["sign"] * s["lever"] * c["impulse"][:, 0] / step)
    return out[:nv], out[nv:]
