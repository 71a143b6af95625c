"""Closed loops in MuJoCo: `connect` equalities at points, default solver, its own steps.

A revolute joint is closed by two points on its axis, a ball joint by one; springs are tendons. Equalities are soft;
they are set as stiff as MuJoCo allows at a step: a time constant of two steps and the highest impedance.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.benchmarks.engines import NotMeasuredError
from setsu.benchmarks.loops_problems import SAMPLING, Motion, Problem, loop_offsets, motion_of_states
from setsu.mechanism import Body, Mechanism, Prismatic, Revolute, Universal

__all__ = ["WAYS", "accelerations", "run", "version"]

Floats = NDArray[np.float64]

# Loaded by name: its compiled module ships no types.
mujoco: Any = import_module("mujoco")

WAYS = ("RK4", "implicit", "Euler", "implicitfast")
LEAST_INERTIA = 1e-12
"""Added to all three moments of inertia (kg m²): far below what the comparison can see."""


def version() -> str:
    """Version of the package."""
    return mujoco.__version__


def run(problem: Problem, way: str, step: float, duration: float) -> Motion:
    """Simulate a problem."""
    m = problem.tree
    model, data, columns = _start(m, m.neutral(), problem.tree_velocity, way, step)
    every, steps = round(SAMPLING / step), round(duration / step)
    states = [(data.qpos[columns], data.qvel[columns])]
    warnings: list[str] = []
    before = mujoco.get_mju_user_warning()
    # Without this MuJoCo writes its warnings into a file of the current folder.
    mujoco.set_mju_user_warning(warnings.append)
    try:
        start = time.perf_counter()
        for k in range(1, steps + 1):
            mujoco.mj_step(model, data)
            if k % every == 0:
                states.append((data.qpos[columns], data.qvel[columns]))
        seconds = time.perf_counter() - start
    finally:
        mujoco.set_mju_user_warning(before)
    if warnings:
        raise NotMeasuredError(warnings[0].strip())
    q, v = (np.array(part) for part in zip(*states, strict=True))
    return motion_of_states(m, problem.tree_points, q, v, steps, seconds)


def accelerations(problem: Problem) -> dict[str, Callable[[Floats, Floats], Floats]]:
    """Functions of q, v that return a constrained acceleration: `mj_forward`, without help of an earlier solution."""
    m = problem.tree
    model, data, columns = _start(m, m.neutral(), problem.tree_velocity, WAYS[0], 1e-3)

    def forward(q: Floats, v: Floats) -> Floats:
        data.qpos[columns], data.qvel[columns] = q, v
        data.qacc_warmstart[:] = 0.0
        mujoco.mj_forward(model, data)
        return data.qacc[columns]

    return {"forward": forward}


def _start(m: Mechanism, q: Floats, v: Floats, way: str, step: float) -> tuple[Any, Any, list[int]]:
    """Model and data in a state, and where MuJoCo, which orders joints depth first, has our coordinates."""
    model = mujoco.MjModel.from_xml_string(_mjcf(m, way, step))
    data = mujoco.MjData(model)
    columns = [
        int(model.jnt_dofadr[model.joint(f"{body.joint.name}_{k}").id])
        for body in m.moving
        for k in range(body.joint.nv)
    ]
    data.qpos[columns], data.qvel[columns] = q, v
    return model, data, columns


def _mjcf(m: Mechanism, way: str, step: float) -> str:
    children: dict[str, list[Body]] = {}
    for body in m.moving:
        children.setdefault(body.parent, []).append(body)
    connects = []
    for loop in m.loops:
        second = "" if loop.body_b == "world" else f' body2="{loop.body_b}"'
        # The anchor is given on the first body, which cannot be the world; the second follows from q = 0.
        for offset in loop_offsets(loop.joint):
            anchor = (loop.pose_a.matrix @ [*offset, 1.0])[:3]
            connects.append(
                f'<connect body1="{loop.body_a}"{second} anchor="{_text(anchor)}" solref="{2.0 * step!r} 1" '
                'solimp="0.9999 0.9999 0.001"/>'
            )
    sites: dict[str, str] = {}
    tendons = ""
    for spring in m.springs:
        for end, body, point in (("a", spring.body_a, spring.point_a), ("b", spring.body_b, spring.point_b)):
            sites[body] = sites.get(body, "") + f'<site name="{spring.name}_{end}" pos="{_text(point)}"/>'
        tendons += (
            f'<spatial stiffness="{spring.stiffness!r}" damping="{spring.damping!r}" '
            f'springlength="{spring.rest_length!r}">'
            f'<site site="{spring.name}_a"/><site site="{spring.name}_b"/></spatial>'
        )
    return (
        f'<mujoco><compiler angle="radian" inertiafromgeom="false" boundmass="0" boundinertia="0"/>'
        f'<option timestep="{step!r}" integrator="{way}" gravity="{_text(m.gravity)}"/>'
        f"<worldbody>{sites.get('world', '')}"
        f"{''.join(_body(body, children, sites) for body in children['world'])}</worldbody><tendon>{tendons}</tendon>"
        f"<equality>{''.join(connects)}</equality></mujoco>"
    )


def _body(body: Body, children: dict[str, list[Body]], sites: dict[str, str]) -> str:
    """A body with joints, inertia, sites and children; frames are parallel to their parents' in these mechanisms."""
    if isinstance(body.joint, Universal):
        axes, kind = (body.joint.axis, body.joint.second_axis), "hinge"
    else:
        assert isinstance(body.joint, Revolute | Prismatic)
        axes, kind = (body.joint.axis,), "hinge" if isinstance(body.joint, Revolute) else "slide"
    joints = "".join(
        f'<joint name="{body.joint.name}_{k}" type="{kind}" axis="{_text(axis)}"/>' for k, axis in enumerate(axes)
    )
    xx, xy, xz, yy, yz, zz = body.inertia
    # MuJoCo refuses a thin rod, which has no inertia about its own line.
    xx, yy, zz = xx + LEAST_INERTIA, yy + LEAST_INERTIA, zz + LEAST_INERTIA
    return (
        f'<body name="{body.name}" pos="{_text(body.pose.translation)}">{joints}'
        f'<inertial pos="{_text(body.center_of_mass)}" mass="{body.mass!r}" '
        f'fullinertia="{_text((xx, yy, zz, xy, xz, yz))}"/>'
        f"{sites.get(body.name, '')}"
        f"{''.join(_body(child, children, sites) for child in children.get(body.name, ()))}</body>"
    )


def _text(numbers: ArrayLike) -> str:
    return " ".join(repr(float(x)) for x in np.asarray(numbers))
