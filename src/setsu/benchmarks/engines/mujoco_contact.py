"""A floating tree of revolute joints in MuJoCo, loops closed by pins; boxes or balls where ours has contact points."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.mechanism import Body, Free, Mechanism

__all__ = ["MujocoHumanoid"]

Floats = NDArray[np.float64]


class MujocoHumanoid:
    """The same bodies, joints and servos in MuJoCo."""

    def __init__(self, mechanism: Mechanism, q: Floats) -> None:
        # Its names are made at run time: annotations do not know them.
        mujoco: Any = import_module("mujoco")
        self._mujoco, self._q = mujoco, q
        self.model = mujoco.MjModel.from_xml_string(_mjcf(mechanism))
        self.data = mujoco.MjData(self.model)

    def begin(self, v: Floats, *, driven: bool) -> None:
        """Set the state and switch the servos."""
        data: Any = self.data
        self._mujoco.mj_resetData(self.model, data)
        x, y, z, w = self._q[3:7]
        data.qpos[:] = np.concatenate([self._q[:3], [w, x, y, z], self._q[7:]])
        data.qvel[:] = v
        data.ctrl[:] = self._q[7:]
        self.model.actuator_gainprm[:, 0] = 300.0 if driven else 0.0
        self.model.actuator_biasprm[:, 1] = -300.0 if driven else 0.0
        self.model.actuator_biasprm[:, 2] = -4.0 if driven else 0.0
        self._mujoco.mj_forward(self.model, data)

    def steps(self, count: int) -> None:
        """Take steps of 1 ms in MuJoCo's own loop."""
        self._mujoco.mj_step(self.model, self.data, count)

    def deepest(self, v: Floats, count: int, *, driven: bool) -> float:
        """Return the largest penetration of so many steps (m)."""
        self.begin(v, driven=driven)
        depth = 0.0
        for _ in range(count):
            self.steps(1)
            depth = max(depth, -min((contact.dist for contact in self.data.contact), default=0.0))
        return depth


def _mjcf(m: Mechanism) -> str:
    children: dict[str, list[Body]] = {}
    for body in m.bodies:
        children.setdefault(body.parent, []).append(body)
    actuators = "".join(f'<general joint="{n}" biastype="affine"/>' for n in m.joint_names[1:])
    # Pins of planar loops: a point of both bodies; MuJoCo's equalities are soft, so that the third row does no harm.
    pins = "".join(
        f'<connect body1="{p.body_a}" body2="{p.body_b}" anchor="{_numbers(p.pose_a.matrix[:3, 3])}"/>' for p in m.loops
    )
    return (
        '<mujoco><option timestep="0.001" integrator="implicitfast"/>'
        '<worldbody><geom type="plane" size="0 0 1" contype="1" conaffinity="2"/>'
        + "".join(_body(m, children, body) for body in children.get("world", []))
        + f"</worldbody><actuator>{actuators}</actuator><equality>{pins}</equality></mujoco>"
    )


def _body(m: Mechanism, children: dict[str, list[Body]], body: Body) -> str:
    T = body.pose.matrix
    joint = body.joint
    xx, xy, xz, yy, yz, zz = body.inertia
    text = f'<body name="{body.name}" pos="{_numbers(T[:3, 3])}" xyaxes="{_numbers([*T[:3, 0], *T[:3, 1]])}">'
    if isinstance(joint, Free):
        text += f'<freejoint name="{joint.name}"/>'
    elif joint.nv:
        text += (
            f'<joint name="{joint.name}" axis="{_numbers(joint.axis)}" armature="{joint.armature[0]}" '  # type: ignore[index]
            f'damping="{joint.damping[0]}"/>'  # type: ignore[index]
        )
    if body.mass > 0.0:
        text += (
            f'<inertial pos="{_numbers(body.center_of_mass)}" mass="{body.mass}" '
            f'fullinertia="{_numbers([xx, yy, zz, xy, xz, yz])}"/>'
        )
    mine = [point for point in m.contact_points if point.body == body.name]
    text += "".join(_geom("sphere", [point.radius], point.position, point) for point in mine if point.radius > 0.0)
    corners = [point for point in mine if not point.radius > 0.0]
    if corners:
        points = np.array([point.position for point in corners])
        low, high = points.min(axis=0), points.max(axis=0)
        half = np.maximum(0.5 * (high - low), 1e-3)
        center = 0.5 * (low + high) + [0.0, 0.0, half[2] - 0.5 * (high - low)[2]]
        text += _geom("box", half, center, corners[0])
    return text + "".join(_body(m, children, child) for child in children.get(body.name, [])) + "</body>"


def _geom(kind: str, size: Any, center: Any, point: Any) -> str:
    return (
        f'<geom type="{kind}" size="{_numbers(size)}" pos="{_numbers(center)}" '
        f'friction="{point.material.static_friction} 0.005 0.0001" contype="2" conaffinity="1"/>'
    )


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.17g}" for value in values)
