"""Settings of a scenario that would have no effect: said with their lines before the run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from setsu.errors import nearest_names
from setsu.mechanism import Mechanism
from setsu.scenario import schema
from setsu.simulation.plotting import QUANTITIES

__all__ = ["note_idle_settings"]

_TOLERANCE = schema.Simulation(duration=1.0).tolerance
Note = Callable[[tuple[str | int, ...], str], None]


def note_idle_settings(scenario: schema.Scenario, m: Mechanism, driven: bool, note: Note) -> None:
    """Note every setting that changes nothing; driven: whether some joint has one coordinate."""
    model, start, world, torque = scenario.model, scenario.start, scenario.environment, scenario.torque
    simulation = scenario.simulation
    if model.file is None:
        for key in ("floating_base", "repair", "package_folders"):
            if getattr(model, key):
                note(("model", key), "has no effect on a sample; expected it with file")
    elif model.sample_arguments:
        note(("model", "sample_arguments"), "has no effect on a file; expected it with sample")
    for name, change in model.joints.items():
        alone = change.spring_rest is not None and change.stiffness is None and name in m.joint_names
        if alone and not np.any(m.moving[m.joint_index(name)].joint.stiffness):
            note(("model", "joints", name, "spring_rest"), "has no effect; expected a stiffness beside it")
    if model.material is not None and not m.contact_points:
        note(("model", "material"), f"has no effect: {m.name} has no contact points")
    if start.fixed and not start.close_loops:
        note(("start", "fixed"), "has no effect; expected close_loops = true beside it")
    if start.close_loops and not (m.loops or m.couplings):
        note(("start", "close_loops"), f"has no effect: {m.name} has neither loops nor couplings")
    if start.velocity_spread and start.seed is None:
        note(("start", "velocity_spread"), "has no effect; expected a seed beside it")
    given = [name in start.q and (name in start.v or not start.velocity_spread) for name in m.joint_names]
    if start.seed is not None and all(given):
        note(("start", "seed"), "has no effect: the state of every joint is given")
    if world is not None and not world.floor:
        for key in ("height", "slope"):
            if getattr(world, key):
                note(("environment", key), "has no effect; expected floor = true beside it")
    if simulation.tolerance != _TOLERANCE and simulation.integrator != "adaptive":
        note(("simulation", "tolerance"), 'has no effect; expected integrator = "adaptive" beside it')
    if simulation.joint_stops and not _has_limits(m):
        note(("simulation", "joint_stops"), f"has no effect: no joint of {m.name} has limits")
    if isinstance(torque, schema.JointFeedbackTorque):
        for name in torque.target:
            stiffness = torque.stiffness.get(name, 0.0) if isinstance(torque.stiffness, Mapping) else torque.stiffness
            if not stiffness:
                note(("torque", "target", name), "has no effect; expected a stiffness of this joint beside it")
    if isinstance(torque, schema.JointFeedbackTorque) and not driven:
        for key in ("stiffness", "damping"):
            if getattr(torque, key):
                note(("torque", key), f"has no effect: {m.name} has no joint with one coordinate")
    tables: list[Mapping[str, Any]] = [getattr(torque, key, {}) for key in ("values", "control", "target")]
    formulas = [value for table in tables for value in table.values()]
    # Names that are no functions.
    words = {word for text in formulas if isinstance(text, str) for word in re.findall(r"\b\w+\b(?!\s*\()", text)}
    for name in getattr(torque, "parameters", {}):
        if name == "t":
            note(("torque", "parameters", "t"), "has no effect: t is the time; expected another name")
        elif name not in words:
            note(("torque", "parameters", name), "has no effect: no formula uses it")
    for index, quantity in enumerate(scenario.output.plots):
        if quantity not in QUANTITIES:
            note(("output", "plots", index), f"unknown quantity {quantity!r}{nearest_names(quantity, QUANTITIES)}")


def _has_limits(m: Mechanism) -> bool:
    """Whether some joint, or joint of a loop, ends somewhere."""
    joints = [part.joint for part in (*m.moving, *m.loops)]
    return any(bool(np.isfinite(np.hstack([joint.lower, joint.upper])).any()) for joint in joints)
