"""What surgery does with the elements that name bodies, joints and states: carried, or dropped by name.

A drive, a keyframe or a tendon that would mean something else in the new mechanism is dropped, and one `ModelWarning`
names all that was; what has a counterpart is carried with the numbers that keep its meaning.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.errors import ModelWarning
from setsu.mechanism.actuators import Actuator, Keyframe
from setsu.mechanism.force_elements import Fluid, Tendon
from setsu.mechanism.record import Mechanism

__all__ = [
    "Dropped",
    "independent_left",
    "kept_actuators",
    "kept_fluid",
    "locked_tendons",
    "moved_keys",
    "projected_state",
]

Array = NDArray[np.float64]
State = tuple[Array, Array]


class Dropped:
    """Gathers what a function leaves out, for one warning."""

    def __init__(self, function: str) -> None:
        self.function, self.texts = function, []

    def add(self, kind: str, name: str, why: str) -> None:
        self.texts.append(f'{kind} "{name}" ({why})')

    def warn(self, stacklevel: int = 3) -> None:
        if self.texts:
            warnings.warn(f"{self.function}: left out {'; '.join(self.texts)}", ModelWarning, stacklevel=stacklevel)


def kept_actuators(
    old: Mechanism,
    joints: Collection[str],
    tendons: Collection[str],
    sites: Collection[str],
    dropped: Dropped,
    shifts: Mapping[str, float] | None = None,
) -> tuple[Actuator, ...]:
    """Return the actuators whose joint, tendon or site is still there.

    shifts: tendon name -> what its length has lost; a servo on it counts from the new length.
    """
    kept = []
    for one in old.actuators:
        for kind, name, known in (
            ("joint", one.joint, joints),
            ("tendon", one.tendon, tendons),
            ("site", one.site, sites),
        ):
            if name and name not in known:
                dropped.add("actuator", one.name, f"its {kind} {name} is not driven any more")
                break
        else:
            lost = (shifts or {}).get(one.tendon, 0.0) * one.gear[0]
            if lost:
                gain = (one.gain[0] + one.gain[1] * lost, *one.gain[1:])
                bias = (one.bias[0] + one.bias[1] * lost, *one.bias[1:])
                one = dataclasses.replace(one, gain=gain, bias=bias)
            kept.append(one)
    return tuple(kept)


def independent_left(old: Mechanism, new: Mechanism) -> tuple[str, ...]:
    """Return those of the independent joints of a model file that still move."""
    return tuple(joint for joint in old.independent if joint in new.joint_names)


def kept_fluid(fluid: Fluid | None, bodies: Collection[str]) -> Fluid | None:
    """Return the fluid with the boxes of bodies that are still there."""
    if fluid is None:
        return None
    return dataclasses.replace(fluid, boxes=tuple(box for box in fluid.boxes if box.body in bodies))


def locked_tendons(
    tendons: tuple[Tendon, ...], values: Mapping[str, Array], dropped: Dropped
) -> tuple[tuple[Tendon, ...], dict[str, float]]:
    """Return tendons whose joints are locked at `values` as shorter ones, and by how much each became shorter.

    What a locked joint contributed to the length moves into the slack range and the limits.
    """
    result, lost = [], {}
    for tendon in tendons:
        shift = sum(factor * float(values[joint][0]) for joint, factor in tendon.joints if joint in values)
        joints = tuple((joint, factor) for joint, factor in tendon.joints if joint not in values)
        if len(joints) == len(tendon.joints):
            result.append(tendon)
        elif not joints and not tendon.segments:
            dropped.add("tendon", tendon.name, "all its joints are locked")
        else:
            lost[tendon.name] = shift
            result.append(
                dataclasses.replace(
                    tendon,
                    joints=joints,
                    rest=(tendon.rest[0] - shift, tendon.rest[1] - shift),
                    lower=tendon.lower - shift,
                    upper=tendon.upper - shift,
                )
            )
    return tuple(result), lost


def moved_keys(
    old: Mechanism,
    actuators: tuple[Actuator, ...],
    state: Callable[[Array, Array], State | str],
    dropped: Dropped,
) -> dict[str, Any]:
    """Return `keys` and `reference` of the new mechanism.

    state: turns q and v of the old mechanism into those of the new one, or says why there is no such state.
    """
    names = [one.name for one in old.actuators]
    kept_controls = [names.index(one.name) for one in actuators]
    keys = []
    for key in old.keys:
        found = state(key.q, key.v)
        if isinstance(found, str):
            dropped.add("keyframe", key.name, found)
            continue
        controls = tuple(key.controls[k] for k in kept_controls) if key.controls else ()
        keys.append(Keyframe(key.name, tuple(found[0].tolist()), tuple(found[1].tolist()), controls))
    reference: tuple[float, ...] = ()
    if old.reference:
        found = state(old.reference_configuration(), np.zeros(old.nv))
        if isinstance(found, str):
            dropped.add("reference configuration", old.name, found)
        else:
            reference = tuple(found[0].tolist())
    return {"keys": tuple(keys), "reference": reference}


def projected_state(old: Mechanism, new: Mechanism, q: Array, v: Array) -> State:
    """Return coordinates and velocities of the joints that both mechanisms have; neutral and at rest elsewhere."""
    new_q, new_v = new.neutral(), np.zeros(new.nv)
    for k, name in enumerate(new.joint_names):
        if name in old.joint_names:
            source = old.joint_index(name)
            if old.moving[source].joint.nq == new.moving[k].joint.nq:
                new_q[new.q_slices[k]] = q[old.q_slices[source]]
                new_v[new.v_slices[k]] = v[old.v_slices[source]]
    return new_q, new_v
