"""Derivatives of the forces of force_elements.py, for derivatives.py.

| symbol | meaning |
|---|---|
| S, X, V | motion of a velocity, parent's V x S, spatial velocity of a link, about the world origin |
| P, J | end of a piece, J_d = S_l + S_a x P its velocity for unit velocity d |
| r, n, l | of a piece: from end a to end b, its direction and length; f its factor |
| L, t | length of a line, its tension; L_d = ∂L/∂q_d |
| F, D | wrench of a push about the world origin, and how it answers to a motion of its link |

The torques the drives have to give against the elements are tau_d = L_d t for a line, -S_d · F for a push.

    L_d = Σ f n · (J_b - J_a)_d                                               (1)  for a joint coordinate: f
    ∂(dL/dt)/∂q_e = Σ f ((1 - n nᵀ) dr/dt / l · J_r,e + n · ∂(dr/dt)/∂q_e)     (2)
    ∂(dP/dt)/∂q_e = S_a x dP/dt + X_l + X_a x P                               (3)
    ∂tau_d/∂q_e = L_d (k L_e + c ∂(dL/dt)/∂q_e) + t ∂L_d/∂q_e,  ∂tau_d/∂v_e = c L_d L_e       (4)
    ∂L_d/∂q_e = Σ f (J_r,d · (1 - n nᵀ) J_r,e / l + n · ∂J_r,d/∂q_e)           (5)
    ∂J_d/∂q_e = S_a,e x J_d where e is above d or in its joint, else S_a,d x J_e    (6)
    ∂F/∂q_e = S_e x* F + D (X_e + S_e x wind) - (S_a,e x lift at P)           (7)
    ∂F/∂v_e = D S_e                                                           (8)
    spring of a quaternion: ∂(k φ)/∂q = k (1 + ½ [φ]x + (1 - h cot h)/θ² [φ]x²)  (configuration.py (4))    (9)

Where the points of a line with a limit come together (force_elements.py (8)), n = 0 in (1)-(5) and the line is a spring
and a damper in all directions, of k = f² stiffness and c = f² damping:

    ∂tau_d/∂q_e = J_r,d · (k J_r,e + c ∂(dr/dt)/∂q_e) + c dr/dt · ∂J_r,d/∂q_e,  ∂tau_d/∂v_e = c J_r,d · J_r,e    (10)

Within a joint and above it the first term of (7) and the turning of S_d cancel.
"""

from __future__ import annotations

from typing import Any

from setsu.kernels.force_elements import absolute, along_joint, coincide, direction, joint_coordinate, stretch_of
from setsu.kernels.joint_forces import as_scalar_or_tuple, quaternion_spring
from setsu.kernels.program import Loop
from setsu.kernels.vectors import add, cross, dot, multiply, negative, rotate, rotate_back, scale, select_negative, sub
from setsu.kernels.world_motion import cross_force
from setsu.mechanism.tables import Kind

__all__ = ["DOF_FIELDS", "LINK_FIELDS", "element_derivatives", "outward_elements", "start_elements"]

# Kept with the world while one element after the other is worked on.
LINK_FIELDS = {
    "along": 6,
    "coordinate": 1,
    "P_a": 3,
    "P_b": 3,
    "dP_a": 3,
    "dP_b": 3,
    "n_line": 3,
    "bent_rate": 3,
    "pull": 3,
    "across": 1,
    "resist": 1,
    "line_length": 1,
    "line_rate": 1,
    "tension": 1,
    "line_k": 1,
    "line_c": 1,
    "wrench": 6,
    "push_R": 9,
    "answer": 6,
    "lift": 3,
    "wind": 3,
    "P": 3,
}
DOF_FIELDS = {"L": 1, "dL": 1, "J_r": 3, "dJ_r": 3, "W": 6, "DS": 6, "unit": 6, "elastic": 6}


def start_elements(world: Any) -> None:
    """The world has no joint."""
    world.along, world.coordinate = (0.0,) * 6, 0.0


def outward_elements(link: Any) -> None:
    """What the elements ask of a joint: its coordinate, its unit force about the world origin, its spring."""
    along = along_joint(link, link.R)
    link.along = (*along[:3], *add(along[3:], cross(link.x, along[:3])))
    link.coordinate = joint_coordinate(link)
    count = {Kind.SPHERICAL: 3, Kind.FREE: 6}.get(link.kind, 1)
    units = tuple(tuple(1.0 if j == k else 0.0 for j in range(6)) for k in range(count))
    elastic = tuple((0.0,) * 6 for _ in range(count))
    if link.kind in (Kind.SPHERICAL, Kind.FREE):
        # The stiffness on the diagonal is counted with that of all joints.
        elastic = tuple(
            sub(row, scale(unit, k))
            for row, unit, k in zip(quaternion_spring(link)[1], units, link.stiffness, strict=True)
        )
    link.unit, link.elastic = as_scalar_or_tuple(units), as_scalar_or_tuple(elastic)


def _start_line(line: Any) -> None:
    line.world.line_length = line.world.line_rate = 0.0


def _clear(line: Any, d: Any) -> None:
    d.L = d.dL = 0.0


def _prepare(line: Any, piece: Any) -> None:
    world = line.world
    for end, position, name in ((piece.a, piece.position_a, "a"), (piece.b, piece.position_b, "b")):
        P = add(end.x, rotate(end.R, position))
        setattr(world, f"P_{name}", P)
        setattr(world, f"dP_{name}", add(end.V[:3], cross(end.V[3:], P)))
    n, length, inverse = direction(sub(world.P_b, world.P_a))
    apart = sub(world.dP_b, world.dP_a)
    rate = dot(n, apart)
    # A joint's coordinate grows with the motion of link b against link a along the joint.
    drive = sub(piece.b.V, piece.a.V)
    world.line_length = world.line_length + piece.element_factor * length + piece.element_joint * piece.b.coordinate
    world.line_rate = world.line_rate + piece.element_pull * rate + piece.element_joint * dot(piece.b.along, drive)
    world.n_line = scale(n, piece.element_pull)
    world.bent_rate = scale(sub(apart, scale(n, rate)), inverse * piece.element_pull)
    world.wrench = scale(piece.b.along, piece.element_joint)


def _end(name: str, sign: float) -> Any:
    """Step that adds one end's part to ∂L/∂q and to ∂(dL/dt)/∂q (1), (2), (3)."""

    def part(line: Any, piece: Any, d: Any) -> None:
        world, S, X = d.world, d.S, d.X
        P, dP = getattr(world, f"P_{name}"), getattr(world, f"dP_{name}")
        J = add(S[:3], cross(S[3:], P))
        turned = add(cross(S[3:], dP), add(X[:3], cross(X[3:], P)))
        d.L = d.L + sign * (dot(world.n_line, J) + dot(world.wrench, S))
        d.dL = d.dL + sign * (dot(world.bent_rate, J) + dot(world.n_line, turned))

    return part


def _tighten(line: Any) -> None:
    world = line.world
    stretch = stretch_of(line, world.line_length)
    k = line.line_stiffness
    outside = select_negative(
        world.line_length - line.line_lower, k, select_negative(line.line_upper - world.line_length, k, 0.0)
    )
    # At the rest length of a line without slack either side has the stiffness.
    world.line_k = select_negative(line.line_lower - line.line_upper, outside, k)
    world.line_c = line.line_damping
    world.tension = k * stretch + line.line_damping * world.line_rate


def _hold(line: Any, piece: Any) -> None:
    """Direction, ends and pull of a piece, for (5) and (10)."""
    world = line.world
    for end, position, name in ((piece.a, piece.position_a, "a"), (piece.b, piece.position_b, "b")):
        P = add(end.x, rotate(end.R, position))
        setattr(world, f"P_{name}", P)
        setattr(world, f"dP_{name}", add(end.V[:3], cross(end.V[3:], P)))
    n, _, inverse = direction(sub(world.P_b, world.P_a))
    pull = piece.element_pull * world.tension
    at_once = (piece.element_pull * piece.element_pull) * coincide(piece, inverse)
    world.resist = line.line_damping * at_once
    world.n_line, world.across = n, pull * inverse + line.line_stiffness * at_once
    world.pull = add(scale(n, pull), scale(sub(world.dP_b, world.dP_a), world.resist))


def _clear_end(line: Any, piece: Any, d: Any) -> None:
    d.J_r = d.dJ_r = (0.0, 0.0, 0.0)


def _piece_column(name: str, sign: float) -> Any:
    def part(line: Any, piece: Any, d: Any) -> None:
        S, X, P, dP = d.S, d.X, getattr(d.world, f"P_{name}"), getattr(d.world, f"dP_{name}")
        d.J_r = add(d.J_r, scale(add(S[:3], cross(S[3:], P)), sign))
        d.dJ_r = add(d.dJ_r, scale(add(cross(S[3:], dP), add(X[:3], cross(X[3:], P))), sign))  # (3)

    return part


def _lines(sign: float) -> Loop:
    def pair(line: Any, d: Any, e: Any) -> None:
        world = d.world
        d.dq[e] = d.dq[e] + sign * (d.L * (world.line_k * e.L + world.line_c * e.dL))  # (4)
        d.dv[e] = d.dv[e] + sign * (world.line_c * (d.L * e.L))

    def across(line: Any, piece: Any, d: Any, e: Any) -> None:
        n, J, resist = d.world.n_line, e.J_r, d.world.resist
        sideways = sub(J, scale(n, dot(n, J)))
        d.dq[e] = d.dq[e] + sign * (d.world.across * dot(d.J_r, sideways) + resist * dot(d.J_r, e.dJ_r))  # (5), (10)
        d.dv[e] = d.dv[e] + sign * (resist * dot(d.J_r, J))  # (10)

    def bent(name: str, side: float) -> tuple[Loop, Loop]:
        """How the pull meets the change of one end's columns (6)."""

        def change(d: Any, e: Any) -> Any:
            S = d.S
            J = add(S[:3], cross(S[3:], getattr(d.world, f"P_{name}")))
            return (sign * side) * dot(d.world.pull, cross(e.S[3:], J))

        def above(line: Any, piece: Any, d: Any, e: Any) -> None:
            value = change(d, e)
            d.dq[e] = d.dq[e] + value
            e.dq[d] = e.dq[d] + value

        def own(line: Any, piece: Any, d: Any, e: Any) -> None:
            d.dq[e] = d.dq[e] + change(d, e)

        return Loop("above_joint", (above,), of=2), Loop("joint_dofs", (own,), of=2)

    return Loop(
        "lines",
        (
            _start_line,
            Loop("dofs", (_clear,)),
            Loop(
                "pieces",
                (_prepare, Loop("a_dofs", (_end("a", -1.0),), of=1), Loop("b_dofs", (_end("b", 1.0),), of=1)),
            ),
            _tighten,
            Loop("dofs", (Loop("dofs", (pair,)),)),
            Loop(
                "pieces",
                (
                    _hold,
                    Loop("dofs", (_clear_end,)),
                    Loop("a_dofs", (_piece_column("a", -1.0),), of=1),
                    Loop("b_dofs", (_piece_column("b", 1.0),), of=1),
                    Loop("dofs", (Loop("dofs", (across,)),)),
                    Loop("a_dofs", bent("a", -1.0), of=1),
                    Loop("b_dofs", bent("b", 1.0), of=1),
                ),
            ),
        ),
    )


def _prepare_push(push: Any) -> None:
    world, a, drag = push.world, push.a, push.push_drag
    R = multiply(a.R, push.rotation_a)
    P = add(a.x, rotate(a.R, push.position_a))
    v = rotate_back(R, sub(add(a.V[:3], cross(a.V[3:], P)), push.push_wind))
    w = rotate_back(R, a.V[3:])
    force = tuple(-((drag[0] + drag[2 + k] * absolute(v[k])) * v[k]) for k in range(3))
    moment = tuple(-((drag[1] + drag[5 + k] * absolute(w[k])) * w[k]) for k in range(3))
    f = add(push.push_lift, rotate(R, force))  # type: ignore[arg-type]
    world.wrench = (*f, *add(rotate(R, moment), cross(P, f)))  # type: ignore[arg-type]
    by_v = tuple(-(drag[0] + 2.0 * drag[2 + k] * absolute(v[k])) for k in range(3))
    by_w = tuple(-(drag[1] + 2.0 * drag[5 + k] * absolute(w[k])) for k in range(3))
    world.answer, world.push_R, world.P = (*by_v, *by_w), R, P
    world.lift, world.wind = push.push_lift, push.push_wind


def _answer(world: Any, motion: tuple) -> tuple:
    """D times a motion about the world origin."""
    R, P, gain = world.push_R, world.P, world.answer
    v = rotate_back(R, add(motion[:3], cross(motion[3:], P)))
    w = rotate_back(R, motion[3:])
    f = rotate(R, tuple(gain[k] * v[k] for k in range(3)))  # type: ignore[arg-type]
    n = rotate(R, tuple(gain[3 + k] * w[k] for k in range(3)))  # type: ignore[arg-type]
    return (*f, *add(n, cross(P, f)))


def _columns(push: Any, e: Any) -> None:
    world, S, X = e.world, e.S, e.X
    turned = negative(cross(S[3:], world.lift))
    with_wind = (*add(X[:3], cross(S[3:], world.wind)), *X[3:])
    e.W = add(_answer(world, with_wind), (*turned, *cross(world.P, turned)))  # (7)
    e.DS = _answer(world, S)  # (8)


def _pushes(sign: float) -> Loop:
    def pair(push: Any, d: Any, e: Any) -> None:
        d.dq[e] = d.dq[e] - sign * dot(d.S, e.W)
        d.dv[e] = d.dv[e] - sign * dot(d.S, e.DS)

    def above(push: Any, e: Any, d: Any) -> None:
        d.dq[e] = d.dq[e] - sign * dot(d.S, cross_force(e.S, e.world.wrench))

    return Loop(
        "pushes",
        (
            _prepare_push,
            Loop("a_dofs", (_columns,)),
            Loop("a_dofs", (Loop("a_dofs", (pair,)),)),
            Loop("a_dofs", (Loop("above_joint", (above,), of=1),)),
        ),
    )


def _quaternion_springs(sign: float) -> Loop:
    def entry(d: Any, e: Any) -> None:
        d.dq[e] = d.dq[e] + sign * dot(d.unit, e.elastic)  # (9)

    return Loop("dofs", (Loop("joint_dofs", (entry,)),))


def element_derivatives(sign: float) -> tuple[Loop, ...]:
    """Phases that add sign times the derivatives of the elements' torques to the results dq and dv."""
    return (_lines(sign), _pushes(sign), _quaternion_springs(sign))
