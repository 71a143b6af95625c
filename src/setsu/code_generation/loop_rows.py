"""What loops and couplings demand of a motion, and what acts along the free axes of loop joints, on symbols.

| symbol | meaning | frame |
|---|---|---|
| p, R | position and rotation of the joint's half on body b | half on body a |
| V = (u, o), J, b | velocity of b's half relative to a's, its Jacobian, its rate at zero joint accelerations | a |
| c | wrench of a held direction | a |
| G, g, e | G v = 0, G a + g = 0, and position errors e whose slopes at closed states are the rows of G | |
| F, r, h, x | rate r = F v of a free axis, its rate at zero accelerations, its coordinate | |

    row c·J, g = c·b, e = c·p for translations, e = c·(axis x R axis) for turns across the axis,
        e = c·axial(R) where no turn is free                                                              (1)
    helical: c = (axis, -pitch axis);  universal: c = (0, n), n = axis x R second, g = n·b + n'·o,
        e = axis·second - axis·R second                                                                   (2)
    couplings: their factors, g = 0, e = Σ factor q + offset                                              (3)
    torque on the tree by a loop joint's free axis: Fᵀ (armature (F a + h) + damping r + coulomb sign r
        + stiffness (x - rest))                                                                           (4)

Turns x are known where the row F is a constant (planar loops, parallelograms): x = x_0 + F (q - q_0), counted on from
the reference. Refuses springs on other turns, forces in universal loop joints, and to close helical ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.system import constraint_system
from setsu.errors import InputError
from setsu.kernels.interpreter import run
from setsu.kernels.loop_closures import loop_kinematics
from setsu.kernels.vectors import ZERO, Vector, cross, rotate, sign
from setsu.mechanism import Loop, LoopConstraint, Mechanism, Spherical
from setsu.mechanism.tables import Kind
from setsu.minimum_parameters.assembly_branch import branch_points
from setsu.spatial import axis_to_z_rotation
from setsu.symbolic import Expression, Graph, Scalar, evaluate

__all__ = ["FreeAxis", "LoopRows", "dot", "free_axes", "has_joint_forces", "loop_rows", "passive_torques", "total"]

Floats = NDArray[np.float64]
Rows = list[list[Scalar]]

_FORCES = ("armature", "damping", "coulomb", "stiffness")
_ROUNDING = 1e-11


@dataclass(frozen=True)
class LoopRows:
    """G (rows over all rates), g and e; None for e where a joint cannot tell it."""

    G: Rows
    g: list[Scalar]
    e: list[Scalar | None]


@dataclass(frozen=True)
class FreeAxis:
    """A free axis of a loop joint with what acts along it; stretch: coordinate less the spring's rest."""

    F: list[Scalar]
    h: Scalar
    armature: float
    damping: float
    coulomb: float
    stiffness: float
    stretch: Scalar


def has_joint_forces(m: Mechanism) -> bool:
    """Whether a joint that closes a loop has drive inertia, friction or a spring."""
    return any(np.any(np.asarray(getattr(loop.joint, name))) for loop in m.loops for name in _FORCES)


class _Moved:
    """Kinematics of one loop joint on symbols."""

    def __init__(self, m: Mechanism, number: int, found: dict[str, list]) -> None:
        self.loop: Loop = m.loops[number]
        self.joint = self.loop.joint
        placement = found["placement"][16 * number : 16 * number + 16]
        self.p: Vector = (placement[3], placement[7], placement[11])
        self.R = (*placement[0:3], *placement[4:7], *placement[8:11])
        first = 6 * number
        o_x, o_y, o_z = found["twist"][first + 3 : first + 6]
        self.spin: Vector = (o_x, o_y, o_z)
        self.bias = found["bias"][first : first + 6]
        self.J = [found["loop_J"][(first + i) * m.nv : (first + i + 1) * m.nv] for i in range(6)]
        self.axes = axis_to_z_rotation(self.joint.axis)

    def direction(self, letter: str) -> Vector:
        x, y, z = self.axes[:, "xyz".index(letter)].tolist()
        return x, y, z

    def row(self, wrench: Sequence[Scalar]) -> tuple[list[Scalar], Scalar]:
        """Row c·J and c·b."""
        return [dot(wrench, column) for column in zip(*self.J, strict=True)], dot(wrench, self.bias)


def _moved(m: Mechanism, q: Sequence[Scalar], v: Sequence[Scalar]) -> list[_Moved]:
    found = run(loop_kinematics(), m.tables, {"q": q, "v": v})
    return [_Moved(m, number, found) for number in range(len(m.loops))]


def loop_rows(m: Mechanism, q: Sequence[Scalar], v: Sequence[Scalar]) -> LoopRows:
    """Return the rows of all loops and couplings at a state; rows that vanish are left out."""
    rows: list[tuple[list[Scalar], Scalar, Scalar | None]] = []
    for moved in _moved(m, q, v):
        rows += _held(moved)
    place = {
        body.joint.name: (at.start, rate.start) for body, at, rate in zip(m.moving, m.q_slices, m.v_slices, strict=True)
    }
    for coupling in m.couplings:  # (3)
        if coupling.polynomial:
            raise InputError(
                f'generate: coupling "{coupling.name}" of {m.name} is a polynomial, which code cannot have yet; '
                "expected linear couplings"
            )
        row: list[Scalar] = [0.0] * m.nv
        for joint, factor in coupling.factors:
            row[place[joint][1]] = float(factor)
        off = total(float(factor) * q[place[joint][0]] for joint, factor in coupling.factors)
        rows.append((row, 0.0, off + coupling.offset))
    kept = [row for row in rows if any(isinstance(x, Expression) or x != 0.0 for x in row[0])]
    return LoopRows([row for row, _, _ in kept], [g for _, g, _ in kept], [e for _, _, e in kept])


def _held(moved: _Moved) -> list[tuple[list[Scalar], Scalar, Scalar | None]]:
    if isinstance(moved.joint, LoopConstraint):
        raise InputError(
            f'generate: loop "{moved.loop.name}" is closed by {type(moved.joint).__name__}, which code cannot have '
            "yet; expected loops that joints close"
        )
    travel, turn = moved.joint.holds
    axis, R = moved.direction("z"), moved.R
    lean = cross(axis, rotate(R, axis))
    if turn == "xyz":
        lean = (0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1]))
    rows: list[tuple[list[Scalar], Scalar, Scalar | None]] = []
    for letter in travel:
        c = moved.direction(letter)
        rows.append((*moved.row((*c, *ZERO)), dot(c, moved.p)))  # (1)
    for letter in turn:
        c = moved.direction(letter)
        rows.append((*moved.row((*ZERO, *c)), dot(c, lean)))
    if any(kind == "screw" for kind, _ in moved.joint.motions):  # (2)
        pitch = float(moved.joint.pitch)  # type: ignore[attr-defined]
        rows.append((*moved.row((*axis, *(-pitch * x for x in axis))), None))
    if moved.joint.has_cross:
        x, y, z = moved.joint.second_axis  # type: ignore[attr-defined]
        second: Vector = (float(x), float(y), float(z))
        other, spin = rotate(R, second), moved.spin
        row, term = moved.row((*ZERO, *cross(axis, other)))
        turning = dot(cross(axis, cross(spin, other)), spin)
        rows.append((row, term + turning, dot(axis, second) - dot(axis, other)))
    return rows


def free_axes(m: Mechanism, q: Sequence[Scalar], v: Sequence[Scalar], reference: Floats) -> list[FreeAxis]:
    """Return the free axes of loop joints along which something acts.

    q, v: all coordinates and rates as expressions. reference: (nq,) closed configuration on the branch.
    """
    system = constraint_system(m)
    coordinates = iter(system.linearise(reference, np.zeros(m.nv)).loop_poses.coordinate.tolist())
    found: list[FreeAxis] = []
    for moved in _moved(m, q, v) if has_joint_forces(m) else []:
        joint = moved.joint
        for k in range(joint.nv):
            at_reference = next(coordinates)
            forces = {name: float(np.asarray(getattr(joint, name))[k]) for name in _FORCES}
            if not any(forces.values()):
                continue
            if joint.has_cross:
                acting = " and ".join(name for name, value in forces.items() if value)
                raise InputError(
                    f"generate: loop joint {moved.loop.name} of {m.name}: no code for {acting} in a "
                    f"{type(joint).__name__} joint that closes a loop"
                )
            F, h = moved.row(_free_wrench(moved, k))
            stretch: Scalar = 0.0
            if forces["stiffness"]:
                stretch = _coordinate(m, moved, k, q, reference, at_reference) - float(np.asarray(joint.spring_rest)[k])
            found.append(FreeAxis(F, h, stretch=stretch, **forces))
    return found


def _free_wrench(moved: _Moved, k: int) -> list[Scalar]:
    if isinstance(moved.joint, Spherical):
        # Its rates are those about the axes of the half on body b.
        return [*ZERO, *moved.R[k::3]]
    kind, letter = moved.joint.motions[k]
    c = moved.direction(letter)
    return [*c, *ZERO] if kind == "travel" else [*ZERO, *c]


def _coordinate(
    m: Mechanism, moved: _Moved, k: int, q: Sequence[Scalar], reference: Floats, at_reference: float
) -> Scalar:
    """The joint's own coordinate x."""
    if moved.joint.travels[k]:
        return dot(moved.direction(moved.joint.motions[k][1]), moved.p)
    F = _constant_turn(m, m.loops.index(moved.loop), k, reference)
    if F is None:
        raise InputError(
            f"generate: loop joint {moved.loop.name} of {m.name}: no code for a spring on a turn that is no sum of "
            "joint angles"
        )
    places = [int(m.tables.q_index[link]) for link in m.tables.dof_link]
    turned = (f * (q[place] - float(reference[place])) for f, place in zip(F.tolist(), places, strict=True) if f)
    return total(turned) + at_reference


def _constant_turn(m: Mechanism, number: int, k: int, reference: Floats) -> Floats | None:
    """The row F of a free turn where it is the same everywhere and its joints have one coordinate each."""
    graph = Graph()
    q = [graph.input(("q", i)) for i in range(m.nq)]
    moved = _moved(m, q, [0.0] * m.nv)[number]
    F = moved.row(_free_wrench(moved, k))[0]
    inputs = {("q", i): column for i, column in enumerate(branch_points(m, reference, 4, 0).T)}
    values = np.array([np.broadcast_to(x, (4,)) for x in evaluate(graph, F, inputs)], dtype=float)
    single = np.array([Kind(m.tables.kind[link]).nv == 1 for link in m.tables.dof_link])
    if np.abs(values - values[:, :1]).max(initial=0.0) > _ROUNDING or np.abs(values[~single]).max(initial=0.0) > 0.0:
        return None
    first = values[:, 0]
    return np.where(np.abs(first - np.round(first)) < _ROUNDING, np.round(first), first)


def passive_torques(axes: Sequence[FreeAxis], v: Sequence[Scalar], a: Sequence[Scalar], nv: int) -> list[Scalar]:
    """Return what drives of the tree's joints have to overcome in the loop joints (4), one per rate."""
    torques: list[Scalar] = [0.0] * nv
    for axis in axes:
        rate = dot(axis.F, v)
        force = axis.damping * rate + axis.stiffness * axis.stretch
        if axis.armature:
            force = force + axis.armature * (dot(axis.F, a) + axis.h)
        if axis.coulomb:
            force = force + axis.coulomb * sign(rate)
        torques = [torque + f * force for torque, f in zip(torques, axis.F, strict=True)]
    return torques


def total(values: Any) -> Scalar:
    """Sum of scalars of any kind."""
    result: Scalar = 0.0
    for value in values:
        result = result + value
    return result


def dot(a: Any, b: Any) -> Scalar:
    """Sum of products."""
    return total(x * y for x, y in zip(a, b, strict=True))
