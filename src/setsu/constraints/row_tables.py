"""A constraint system as flat arrays: constants and work space of the compiled rows (compiled_rows.py).

Paths: velocities that move a body, or that move the two bodies of a loop against each other (+1 those of body b, -1
those of body a; what moves both moves neither against the other and is left out).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints.loop_joints import chain_of, loop_paths
from setsu.constraints.redundancy import redundancy
from setsu.constraints.surface_code import SURFACE_NUMBERS, surface_numbers
from setsu.constraints.system import ConstraintSystem
from setsu.dynamics.catalogue import native_function
from setsu.native.workspace import floats, make

__all__ = ["BoundKernels", "RowState", "RowTables", "bound_kernels", "row_state", "row_tables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Handle = NDArray[np.int64]


class RowTables(NamedTuple):
    """Constants. Bodies as indices, -1 for the world; n loops, k loop rows, f free axes, c couplings, p contacts."""

    INNER = {  # noqa: RUF012
        **dict.fromkeys(("rotation_a", "rotation_b"), (3, 3)),
        **dict.fromkeys(("origin_a", "origin_b", "axis", "second_axis", "normal", "contact_point"), (3,)),
        **dict.fromkeys(("row_wrench", "free_wrench"), (6,)),
    }

    body_a: Ints  # (n,)
    body_b: Ints
    rotation_a: Floats  # (n, 3, 3)
    origin_a: Floats  # (n, 3)
    rotation_b: Floats
    origin_b: Floats
    axis: Floats  # (n, 3)
    second_axis: Floats
    normal: Floats
    turn_locked: Ints  # (n,)
    turn_held: Ints  # (n,) whether a plain row holds a turn
    cross_angle: Floats  # (n, 2) sine and cosine of the angle between the axes of a universal joint
    pitch: Floats
    path_start: Ints  # (n + 1,) into path_velocity and path_sign
    path_velocity: Ints
    path_sign: Floats
    path_column: Ints  # where a velocity of the path stands in rows of G: at its own number, or along the path
    row_start: Ints  # (n + 1,)
    row_kind: Ints  # (k,)
    row_wrench: Floats  # (k, 6)
    row_numbers: Floats  # (k, SURFACE_NUMBERS) and code of varying rows: varying_rows.py
    row_code: Ints  # (k,)
    held: Ints  # rows of loops and couplings that are kept, the others are redundant: redundancy.py
    place: Ints  # (k + c,) place of a row among those kept, or -1
    length: Floats  # (k + c,) what its error is small against, m or 1
    pivot_scale: Floats  # (kept,) one over the square root of a typical pivot; zeros where none is known
    free_start: Ints  # (n + 1,)
    free_kind: Ints  # (f,)
    free_wrench: Floats  # (f, 6)
    damping: Floats  # (f,)
    coulomb: Floats
    stiffness: Floats
    spring_rest: Floats
    armature: Floats
    free_used: Ints  # (1,) 0 where nothing acts along free axes: their rows are then left as they are
    coupling_start: Ints  # (c + 1,) into coupling_velocity and coupling_column
    coupling_velocity: Ints
    coupling_column: Ints
    coupling: Floats  # (c, nv); these as in coupling_rows.py
    coupling_offset: Floats  # (c,)
    coupling_rate: Floats  # (c,) of the offset, and its acceleration
    coupling_acceleration: Floats  # (c,)
    coupling_friction: Floats  # (c,) that a drive overcomes
    coupling_argument: Floats  # (c, nv)
    coupling_polynomial: Floats  # (c, order + 1)
    coupling_reference: Floats  # (c,)
    coupling_power: Ints  # (order + 1,); empty when all are linear
    coordinate: Ints  # (nv,) the coordinate that is the integral of a velocity, -1 where there is none
    contact_body: Ints  # (p,)
    contact_point: Floats  # (p, 3) in the body that carries it
    surface: Floats  # (p, SURFACE_NUMBERS) see surface_code.py
    surface_code: Ints  # (p,) address of the code of an expression, or 0
    friction: Floats  # (p,)
    bilateral: Ints
    contact_path_start: Ints  # (p + 1,)
    contact_path: Ints


class RowState(NamedTuple):
    """A state, what the kernels say of it, and its rows (r = k + c + p); all filled in place."""

    INNER = {  # noqa: RUF012
        **dict.fromkeys(("velocities", "accelerations", "wrench", "free_wrench"), (6,)),
        **dict.fromkeys(("place", "contact_normal", "contact_velocity", "contact_gamma"), (3,)),
        "poses": (16,),
    }

    q: Floats
    v: Floats = floats("nv")
    poses: Floats = floats("bodies", 16)
    velocities: Floats = floats("bodies", 6)
    accelerations: Floats = floats("bodies", 6)
    directions: Floats = floats(9, "nv")
    G: Floats = floats("r", "width")  # all velocities, or the longest path where rows are packed
    gamma: Floats = floats("r")
    error: Floats = floats("r")
    rate: Floats = floats("r")  # of a row at zero velocities: of the drives among couplings
    wrench: Floats = floats("k", 6)  # of each loop row on body b at the joint, world axes
    free: Floats = floats("f", "width")  # rates of the loop joints' own coordinates
    free_wrench: Floats = floats("f", 6)
    free_rate: Floats = floats("f")
    free_gamma: Floats = floats("f")
    free_coordinate: Floats = floats("f")
    place: Floats = floats("p", 3)  # contact points
    contact_normal: Floats = floats("p", 3)
    contact_velocity: Floats = floats("p", 3)
    contact_gamma: Floats = floats("p", 3)  # acceleration of the contact point at zero joint accelerations
    contact_jacobian: Floats = floats("p", 3, "nv")
    column: Floats = floats(6, "nv")  # scratch
    point: Floats = floats(3)  # scratch
    surface: Floats = floats(13)  # scratch


class BoundKernels(NamedTuple):
    """Handles of kernels bound to a state's arrays, and the arrays of their results; b without springs from `rates`."""

    poses: Handle
    world: Handle
    world_and_mass: Handle
    rates: Handle
    mass: Handle
    bias: Handle
    M: Floats  # (nv, nv); none where rows are packed
    b: Floats  # (nv,)


def row_tables(system: ConstraintSystem, packed: bool = False) -> RowTables:
    """Return the constants of a system, made once; packed: rows of G hold the velocities of their paths only."""
    kept = system.__dict__
    if "_row_tables" not in kept:
        kept["_row_tables"] = _made_tables(system)
    t = kept["_row_tables"]
    if not packed:
        return t
    return t._replace(path_column=_along(t.path_start), coupling_column=_along(t.coupling_start))


def _along(starts: Ints) -> Ints:
    """Numbers from 0 within each of some lists."""
    return np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))


def _made_tables(system: ConstraintSystem) -> RowTables:
    m, t = system.mechanism, system.loops
    paths = loop_paths(m, t)
    judged = redundancy(system)
    held = np.flatnonzero(judged.kept)
    contact_paths = [chain_of(m, int(body)) for body in system.contact_body]
    coordinate = np.full(m.nv, -1)
    coordinate[system.single_velocities] = system.single_coordinates
    codes = [surface_numbers(contact.surface) for contact in system.contacts]
    path_velocity = np.concatenate([np.zeros(0, dtype=np.int64), *(path for path, _ in paths)])
    coupled, coupling_velocity = np.nonzero((system.couplings.linear != 0.0) | (system.couplings.argument != 0.0))
    return RowTables(
        **t.constants._asdict(),
        path_start=np.cumsum([0, *(len(path) for path, _ in paths)]).astype(np.int64),
        path_velocity=path_velocity,
        path_column=path_velocity,
        path_sign=np.concatenate([np.zeros(0), *(sign for _, sign in paths)]),
        held=held,
        place=np.where(judged.kept, np.cumsum(judged.kept) - 1, -1),
        length=judged.length,
        pivot_scale=np.zeros(len(held)),
        damping=t.damping,
        coulomb=t.coulomb,
        stiffness=t.stiffness,
        spring_rest=t.spring_rest,
        armature=t.armature,
        free_used=np.ones(1, dtype=np.int64),
        coupling_start=np.searchsorted(coupled, np.arange(len(m.couplings) + 1)).astype(np.int64),
        coupling_velocity=coupling_velocity.astype(np.int64),
        coupling_column=coupling_velocity.astype(np.int64),
        coupling=system.couplings.linear,
        coupling_offset=system.coupling_offset,
        coupling_rate=system.couplings.offset_rate,
        coupling_acceleration=system.couplings.offset_acceleration,
        coupling_friction=system.couplings.friction,
        coupling_argument=system.couplings.argument,
        coupling_polynomial=system.couplings.polynomial,
        coupling_reference=system.couplings.reference,
        coupling_power=np.arange(system.couplings.polynomial.shape[1]),
        coordinate=coordinate.astype(np.int64),
        contact_body=system.contact_body,
        contact_point=system.contact_point,
        surface=np.array([numbers for numbers, _ in codes], dtype=np.float64).reshape(-1, SURFACE_NUMBERS),
        surface_code=np.array([address for _, address in codes], dtype=np.int64),
        friction=system.friction,
        bilateral=system.bilateral.astype(np.int64),
        contact_path_start=np.cumsum([0, *(len(path) for path in contact_paths)]).astype(np.int64),
        contact_path=np.array([d for path in contact_paths for d in path], dtype=np.int64),
    )


def row_state(system: ConstraintSystem, packed: bool = False) -> RowState:
    """Return zeroed work space."""
    m, t, tables = system.mechanism, system.loops, row_tables(system)
    width = m.nv
    if packed:
        width = max(int(np.diff(starts).max(initial=0)) for starts in (tables.path_start, tables.coupling_start))
    lengths = {
        "nv": m.nv, "bodies": m.n_bodies, "width": width, "k": len(t.row_loop), "f": len(t.free_loop),
        "p": len(system.contacts), "r": system.n_rows,
    }  # fmt: skip
    return make(RowState, lengths, q=m.neutral())


def bound_kernels(
    system: ConstraintSystem, state: RowState, specialised: bool = False, packed: bool = False
) -> tuple[BoundKernels, tuple[Any, ...]]:
    """Bind the kernels to a state; also returns what must be kept alive.

    specialised: by code made for the mechanism alone. packed: without the mass matrix as a whole.
    """
    m = system.mechanism
    b, springs = np.zeros(m.nv), " springs" if m.has_force_elements else ""

    def bind(name: str, inputs: list[Floats], outputs: list[Floats]) -> Any:
        return native_function(m, name, specialised=specialised).bind(inputs, outputs)

    poses = bind("body_poses", [state.q], [state.poses])
    world = bind("world_poses", [state.q], [state.poses, state.directions])
    rates = bind("world_rates", [state.q, state.v], [state.velocities, state.accelerations, b])
    M, world_and_mass, mass = np.zeros((0, 0)), world, world
    if not packed:
        M = np.zeros((m.nv, m.nv))
        world_and_mass = bind("world_poses_and_mass", [state.q], [state.poses, state.directions, M])
        mass = bind("mass_matrix", [state.q], [M])
    bias = bind(f"bias_torque{springs}", [state.q, state.v], [b])
    bound = (poses, world, world_and_mass, rates, mass, bias)
    return BoundKernels(*(kernel.handle for kernel in bound), M=M, b=b), bound
