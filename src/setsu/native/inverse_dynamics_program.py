"""Inverse dynamics with few operations: Newton-Euler in link frames, written out for one mechanism.

| symbol | meaning | frame |
|---|---|---|
| w, dw, acc | angular velocity and acceleration; acceleration of the link origin, gravity counted in | link |
| U | [dw]x + [w]x²: a point at r accelerates by U r relative to the origin | link |
| m, s, E | mass, first and second moments, regrouped: m = s_z = E_zz = 0 behind a revolute joint | link |
| f, n | force and moment by the parent on the link, at its origin | link |
| φ | sum of the angles along parallel axes in a row | |
| b, C | link before the first of these axes; constant rotation from b to that axis' frame | |

    w_j = Rz(φ)ᵀ Cᵀ w_b + z Σ v                                                                            (1)
    third column of U_j = Rz(φ)ᵀ Cᵀ U_b C z: points on the axis belong to both links                        (2)
    U_xy, U_yx = x y ∓ dw_z;  U_zx = 2 x z - U_xz, U_zy = 2 y z - U_yz  (x, y, z: entries of w)             (3)
    U_xx = -(yy + zz),  U_yy = U_zz - (zz - yy)                                                            (4)
    acc_j = Rᵀ (acc_i + U_i p)                                                                             (5)
    f = m acc + U s,   n = s x acc + axial(U E)                                                            (6)
    f_i += R f_j,  n_i += p x R f_j,  n_b += C Rz(φ) (n_x, n_y, 0)                                          (7)
    tau of a joint = Σ n_z over its link and the links on parallel axes behind it; n_b += C z tau           (8)
    drives: τ = Nᵀ tau for q = N u + b, sums of n_z that cancel never made                                  (9)

Sources: kawasaki1995 for minimum parameters, loops and the count; Khalil and Kleinfinger 1987 for U and regrouping. The
last link of a chain may be turned about its axis until s_y = 0. Cost O(N). Refuses nothing; springs between points and
external wrenches are not part of it.

Two aims. `setsu.generate` wants few operations: φ and that turn are tried, each way is simplified, the shortest is
kept. `setsu.compile` wants little time, and there values that wait in registers count for more than operations: it
takes one way as written, without φ (another sine and cosine), without the turn, and without simplification, whose
shared sums wait long (`docs/generated_code.md` has the times).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from setsu.elementary import arctan2, cos_sin, length
from setsu.kernels.joint_forces import joint_torque
from setsu.kernels.joints import joint_motion, joint_pose
from setsu.kernels.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    Scalar,
    Vector,
    acceleration_matrix,
    add,
    column,
    cross,
    multiply,
    negative,
    rotate,
    rotate_back,
    scale,
    transpose,
    unit_axis_of,
)
from setsu.mechanism.tables import Inertias, Kind, Tables
from setsu.native.linear_coordinates import Drives, Form, Inputs
from setsu.symbolic import Graph, OperationCount
from setsu.symbolic.simplification import simplified
from setsu.symbolic.substitution import substituted

__all__ = ["Program", "inverse_dynamics_program"]

_FLIP: Matrix = (1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0)
_REST = (0.0,) * 9


@dataclass(frozen=True)
class Program:
    """A program on a graph: torques as expressions of the inputs ("q", k), ("v", k), ("a", k)."""

    graph: Graph
    torques: list[Scalar]

    @property
    def operations(self) -> OperationCount:
        """Operations of all torques together."""
        return self.graph.count(self.torques)


@dataclass
class _Link:
    """What is known of a link while the program is written; attributes that joint functions ask for among them."""

    number: int
    kind: Kind
    parent: int
    rotation: Matrix
    translation: Vector
    pitch: float
    mass: float
    s: Vector
    E: Matrix
    form: Form | None
    sign: float
    q: Any
    v: Any
    a: Any
    w: Vector = ZERO
    dw: Vector = ZERO
    U: Matrix = _REST
    differences: Vector | None = None
    acc: Vector = ZERO
    f: Vector = ZERO
    n: Vector = ZERO
    R: Matrix = IDENTITY
    p: Vector = ZERO
    base: int = -1
    to_axis: Matrix = IDENTITY
    direction: Form | None = None
    turned: Matrix = IDENTITY
    torques: list[dict[int, float]] = field(default_factory=list)
    own: list[Scalar] = field(default_factory=list)


@dataclass(frozen=True)
class _Way:
    """A way to write the recursion.

    absolute: with sums φ of angles. turn: with the last links turned. together: a link's moment is handed on whole, at
    once with that of its force, and not in parts along and across the axis; without φ only.
    """

    absolute: bool
    turn: bool
    together: bool = False


_SHORT = [_Way(absolute, turn) for absolute in (True, False) for turn in (True, False)]
_SEARCHED = 3000
"""Operations up to which every way is simplified; of longer programs the shortest one as written is."""

_QUICK = _Way(absolute=False, turn=False, together=True)


def inverse_dynamics_program(
    tables: Tables,
    inertias: Inertias,
    drives: Drives,
    *,
    passive: bool = True,
    bias: bool = False,
    shortest: bool = True,
    progress: Callable[[str, float], None] = lambda text, part: None,
) -> Program:
    """Return a program for the torques of the drives.

    inertias: regrouped ones, or others with the same torques. passive: with drive inertia, friction, joint springs.
    bias: with all accelerations zero. shortest: with the fewest operations that were found; else as compiled code runs
    quickest. progress: called with what is being done and the part of it that is done.
    """

    def written(way: _Way) -> Program:
        graph = Graph()
        torques = _Writer(tables, inertias, drives, graph, way).torques(passive)
        if bias:
            torques = substituted(graph, torques, {("a", k): 0.0 for k in range(len(drives.v))})
        return Program(graph, torques)

    if not shortest:
        return written(_QUICK)
    best: Program | None = None
    least = math.inf
    programs = [written(way) for way in _SHORT]
    fewest = min(program.operations.total for program in programs)
    if fewest > _SEARCHED:
        programs = [min(programs, key=lambda program: program.operations.total)]
    for number, program in enumerate(programs):
        progress("fewest operations", number / len(programs))
        if program.operations.total > 1.25 * least:
            continue
        program = Program(*simplified(program.graph, program.torques))
        if program.operations.total < least:
            best, least = program, program.operations.total
    assert best is not None
    return best


class _Writer:
    def __init__(self, tables: Tables, inertias: Inertias, drives: Drives, graph: Graph, way: _Way) -> None:
        self.tables, self.drives, self.graph, self.way = tables, drives, graph, way
        self.inputs = Inputs(graph, drives.places(tables))
        self.world = _world(tables)
        self.links: list[_Link] = []
        for number in range(tables.n_links):
            self.links.append(self._link(number, inertias))
        self._straighten()
        if way.turn:
            self._turn_last_links()

    def _link(self, number: int, inertias: Inertias) -> _Link:
        t = self.tables
        kind = Kind(t.kind[number])
        d, k = int(t.v_index[number]), int(t.q_index[number])
        form = self.drives.forms[d] if kind.nv == 1 else None
        if form is not None:
            q = self.inputs.coordinate(form)
            v, a = (self.inputs.rate(name, form) for name in "va")
        else:
            q = tuple(self.graph.input(("q", self.drives.q.index(k + i))) for i in range(kind.nq))
            rates = [self.drives.v.index(d + i) for i in range(kind.nv)]
            v, a = (tuple(self.graph.input((name, rate)) for rate in rates) for name in "va")
        xx, xy, xz, yy, yz, zz = inertias.second_moment[number].tolist()
        return _Link(
            number, kind, int(t.parent[number]), tuple(t.rotation[number].ravel().tolist()),
            tuple(t.translation[number].tolist()), float(t.pitch[number]), float(inertias.mass[number]),
            tuple(inertias.moment[number].tolist()), (xx, xy, xz, xy, yy, yz, xz, yz, zz), form, 1.0, q, v, a,
        )  # fmt: skip

    def at(self, number: int) -> _Link:
        return self.links[number] if number >= 0 else self.world

    def children(self, number: int) -> list[_Link]:
        return [link for link in self.links if link.parent == number]

    def _straighten(self) -> None:
        """Turn links over whose axis points against the parallel one before it; name rows of parallel axes."""
        for link in self.links:
            before = self.at(link.parent)
            turning = link.kind is Kind.REVOLUTE
            along = turning and before.kind is Kind.REVOLUTE and before.number >= 0
            if along and column(link.rotation, 2) == (0.0, 0.0, -1.0):
                self._turn(link, _FLIP)
                assert link.form is not None
                link.form, link.sign = -link.form, -1.0
                link.v, link.a = -link.v, -link.a
            link.base, link.to_axis, link.direction = link.parent, link.rotation, link.form
            if self.way.absolute and along and column(link.rotation, 2) == (0.0, 0.0, 1.0):
                assert before.direction is not None
                assert link.form is not None
                link.base, link.to_axis = before.base, before.to_axis
                constant = arctan2(link.rotation[3], link.rotation[0])
                link.direction = (before.direction + link.form).turned(constant)

    def _turn(self, link: _Link, K: Matrix) -> None:
        """Give a link other axes: x_old = K x_new."""
        link.rotation = multiply(link.rotation, K)
        link.s = rotate_back(K, link.s)
        link.E = multiply(multiply(transpose(K), link.E), K)
        for child in self.children(link.number):
            child.rotation = multiply(transpose(K), child.rotation)
            child.translation = rotate_back(K, child.translation)

    def _turn_last_links(self) -> None:
        """Turn links that carry nothing about their axis until s_y = 0: the coordinate changes by a constant."""
        for link in self.links:
            x, y, _ = link.s
            if link.kind is Kind.REVOLUTE and not self.children(link.number) and x != 0.0 and y != 0.0:
                angle = arctan2(y, x)
                c, s = cos_sin(angle)
                K = (c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)
                rotation = link.rotation
                self._turn(link, K)
                link.rotation = rotation
                link.s = (length((x, y)), 0.0, link.s[2])
                assert link.form is not None
                assert link.direction is not None
                link.form, link.direction = link.form.turned(angle), link.direction.turned(angle)

    def torques(self, passive: bool) -> list[Scalar]:
        for link in self.links:
            self._move(link)
            self._need(link)
        for link in reversed(self.links):
            self._hand_on(link)
        return self._driven(passive)

    def _move(self, link: _Link) -> None:
        before = self.at(link.parent)
        if link.kind is not Kind.REVOLUTE:
            self._move_otherwise(link, before)
            return
        assert link.form is not None
        assert link.direction is not None
        base = self.at(link.base)
        link.turned = _about_z(*self.inputs.cos_sin(link.direction))
        link.R, link.p = multiply(link.rotation, _about_z(*self.inputs.cos_sin(link.form))), link.translation
        rate_v, rate_a = (self.inputs.rate(name, link.direction) for name in "va")
        w = rotate_back(link.turned, rotate_back(link.to_axis, base.w))
        link.w = (w[0], w[1], w[2] + rate_v)  # (1)
        axis = column(link.to_axis, 2)
        link.acc = rotate_back(link.R, add(before.acc, rotate(before.U, link.p)))  # (5)
        if unit_axis_of(axis) is None:
            dw = rotate_back(link.turned, rotate_back(link.to_axis, base.dw))
            dw = add(add(dw, cross(w, (0.0, 0.0, rate_v))), (0.0, 0.0, rate_a))
            link.dw, link.U = dw, acceleration_matrix(link.w, dw)
            return
        dw_z = rotate_back(link.to_axis, base.dw)[2] + rate_a
        third = rotate_back(link.turned, rotate_back(link.to_axis, rotate(base.U, axis)))  # (2)
        self._matrix(link, dw_z, third)

    def _matrix(self, link: _Link, dw_z: Scalar, third: Vector) -> None:
        """U from its third column (3), (4); what other links ask of dw decides how."""
        x, y, z = link.w
        f, e, Uzz = third
        yy, zz, xy = y * y, z * z, x * y
        asked = {unit_axis_of(column(other.to_axis, 2)) for other in self.links if other.base == link.number} | (
            {None} if any(o.kind is not Kind.REVOLUTE for o in self.children(link.number)) else set()
        )
        double = z + z
        dw_x = y * z - e
        dw_y = f - x * z
        Uzx = x * z - dw_y if asked & {1, None} else x * double - f
        Uzy = y * z + dw_x if asked & {0, None} else y * double - e
        link.dw = (dw_x, dw_y, dw_z)
        far = zz - yy
        Uxx, Uyy = -(yy + zz), Uzz - far
        link.U = (Uxx, xy - dw_z, f, xy + dw_z, Uyy, e, Uzx, Uzy, Uzz)
        link.differences = (far, Uxx - Uzz, Uyy - Uxx)

    def _move_otherwise(self, link: _Link, before: _Link) -> None:
        """Joints that slide, or turn about several axes."""
        link.R, link.p = joint_pose(link)
        vj, wj = joint_motion(link, link.v)
        dvj, dwj = joint_motion(link, link.a)
        w = rotate_back(link.R, before.w)
        link.w = add(w, wj)
        link.dw = add(add(rotate_back(link.R, before.dw), cross(w, wj)), dwj)
        acc = rotate_back(link.R, add(before.acc, rotate(before.U, link.p)))
        link.acc = add(add(acc, dvj), cross(add(link.w, w), vj))
        if wj == ZERO and all(unit_axis_of(column(link.R, k)) is not None for k in range(3)):
            link.U = multiply(multiply(transpose(link.R), before.U), link.R)
        else:
            link.U = acceleration_matrix(link.w, link.dw)

    def _need(self, link: _Link) -> None:
        U, E = link.U, link.E
        link.f = add(scale(link.acc, link.mass), rotate(U, link.s))  # (6)
        zy, xz, yx = link.differences or (U[8] - U[4], U[0] - U[8], U[4] - U[0])
        xx, xy, xz_, _, yy, yz, _, _, zz = E
        moment = (
            U[6] * xy + U[7] * yy + zy * yz - U[3] * xz_ - U[5] * zz,
            xz * xz_ + U[1] * yz - U[6] * xx - U[7] * xy + U[2] * zz,
            U[3] * xx - U[1] * yy + yx * xy + U[5] * xz_ - U[2] * yz,
        )
        link.n = add(cross(link.s, link.acc), moment)

    def _hand_on(self, link: _Link) -> None:
        before = self.at(link.parent)
        link.own = _along(link)
        link.torques = [{k: 1.0} for k in self._own_numbers(link)]
        f = rotate(link.R, link.f)
        before.f = add(before.f, f)  # (7)
        if self.way.together:
            before.n = add(before.n, add(rotate(link.R, link.n), cross(link.p, f)))
            return
        before.n = add(before.n, cross(link.p, f))
        if link.kind is not Kind.REVOLUTE:
            before.n = add(before.n, rotate(link.R, link.n))
            return
        base = self.at(link.base)
        flat = rotate(link.turned, (link.n[0], link.n[1], 0.0))
        base.n = add(base.n, rotate(link.to_axis, flat))
        behind = [other for other in self.children(link.number) if other.base != link.number]
        for other in behind:
            link.torques[0].update(other.torques[0])
        if link.base == link.parent:
            total: Scalar = 0.0
            for k in sorted(link.torques[0]):
                total = total + self._own_value(k)
            base.n = add(base.n, rotate(link.to_axis, (0.0, 0.0, total)))  # (8)

    def _own_numbers(self, link: _Link) -> range:
        first = int(self.tables.v_index[link.number])
        return range(first, first + link.kind.nv)

    def _own_value(self, dof: int) -> Scalar:
        link = self.links[int(self.tables.dof_link[dof])]
        return link.own[dof - int(self.tables.v_index[link.number])]

    def _driven(self, with_passive: bool) -> list[Scalar]:
        t = self.tables
        results: list[Scalar] = []
        for weights in self.drives.weights:
            needed: dict[int, float] = {}
            passive: Scalar = 0.0
            for dof, weight in enumerate(weights):
                if weight == 0.0:
                    continue
                link = self.links[int(t.dof_link[dof])]
                k = dof - int(t.v_index[link.number])
                for own, factor in link.torques[k].items():
                    needed[own] = needed.get(own, 0.0) + weight * factor * link.sign
                if with_passive:
                    passive = passive + self._passive(link, k) * weight
            total: Scalar = 0.0
            for own in sorted(needed):
                total = total + self._own_value(own) * needed[own]  # (9)
            results.append(total + passive)
        return results

    def _passive(self, link: _Link, k: int) -> Scalar:
        """Drive inertia, friction and spring of a joint: its torque without any wrench."""
        joint = _Joint(self.tables, link, self.inputs)
        torque = joint_torque(joint, ZERO, ZERO)
        return torque[k] if isinstance(torque, tuple) else torque


class _Joint:
    """A joint as `joint_torque` sees it, in the coordinate of the mechanism whatever the link's axes are here."""

    def __init__(self, tables: Tables, link: _Link, inputs: Inputs) -> None:
        first = int(tables.v_index[link.number])
        for name in ("armature", "damping", "coulomb", "stiffness", "spring_rest"):
            values = tuple(getattr(tables, name)[first : first + link.kind.nv].tolist())
            setattr(self, name, values[0] if len(values) == 1 else values)
        self.kind, self.pitch, self.q = link.kind, link.pitch, link.q
        self.v, self.a = (link.v * link.sign, link.a * link.sign) if link.sign < 0 else (link.v, link.a)


def _along(link: _Link) -> list[Scalar]:
    """Parts of the wrench along the joint's free axes."""
    match link.kind:
        case Kind.REVOLUTE:
            return [link.n[2]]
        case Kind.PRISMATIC:
            return [link.f[2]]
        case Kind.HELICAL:
            return [link.f[2] * link.pitch + link.n[2]]
        case Kind.SPHERICAL:
            return list(link.n)
        case _:
            return [*link.f, *link.n]


def _about_z(c: Scalar, s: Scalar) -> Matrix:
    return (c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)


def _world(tables: Tables) -> _Link:
    """The world rests and accelerates against gravity."""
    none = Form(())
    link = _Link(-1, Kind.FREE, -1, IDENTITY, ZERO, 0.0, 0.0, ZERO, _REST, none, 1.0, 0.0, 0.0, 0.0)
    link.acc = negative(tuple(tables.gravity.tolist()))
    return link
