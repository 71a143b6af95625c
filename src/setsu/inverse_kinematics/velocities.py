"""Joint velocities that give frames wanted velocities, within limits, with loops kept: a quadratic program per state.

    least  Σ weight² |J v - wanted|² + damping |v - bias|²                                        (1)
    subject to  G v = 0  (loops and couplings),  lower <= v <= upper                              (2)
    lower = max(-velocity limit, (q_min - q)/dt), upper likewise                                  (3)

Solved by daqp, a dual active-set method. Source: Kanoun, Lamiraux and Wieber 2011; Arnström, Bemporad and Axehill 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setsu.constraints import constraint_system
from setsu.dynamics import center_of_mass_jacobian, frame_jacobian
from setsu.dynamics.catalogue import require_mechanism
from setsu.dynamics.numbers import finite_array
from setsu.errors import InputError
from setsu.inverse_kinematics.tasks import CENTER_OF_MASS
from setsu.mechanism import Mechanism

__all__ = ["VelocityInverseKinematics", "velocity_inverse_kinematics"]

Floats = NDArray[np.float64]

# A slack of daqp's; rows of loops within it are kept.
_OPTIMAL = 1
_EQUALITY = 5


@dataclass(frozen=True)
class VelocityInverseKinematics:
    """Velocities and how well they give what was wanted; leading axes are those of the arguments.

    v: (..., nv). error: (...), largest |J v - wanted| of all tasks, m/s or rad/s. errors: task -> (...), of each.
    feasible: (...), whether limits and loops leave any velocity; v is zero where not.
    """

    v: Floats
    error: Floats
    errors: Mapping[str, Floats]
    feasible: NDArray[np.bool_]


def velocity_inverse_kinematics(
    mechanism: Mechanism,
    q: ArrayLike,
    targets: Mapping[str, ArrayLike],
    *,
    center_of_mass: ArrayLike | None = None,
    weights: Mapping[str, float] | None = None,
    bias: ArrayLike | None = None,
    damping: float = 1e-6,
    limits: bool = True,
    dt: float | None = None,
) -> VelocityInverseKinematics:
    """Return joint velocities that move frames as wanted, or as nearly as limits and loops allow.

    Args:
        q: coordinates (..., nq), loops closed.
        targets: frame name -> velocity [v, ω] (..., 6) of its origin, world axes, or linear part alone (..., 3).
        center_of_mass: its wanted velocity (..., 3), m/s.
        weights: task -> weight ("center_of_mass" too).
        bias: velocities (..., nv) to stay near where tasks leave a choice; 0 when not given.
        damping: how much that counts; it keeps velocities finite at singular postures.
        limits: keep velocity limits, and with `dt` (s) joint limits at the end of a step of that length.

    Raises:
        InputError: bad arguments; daqp is not installed.

    >>> import setsu
    >>> m = setsu.sample_mechanisms.planar_arm(3)
    >>> r = setsu.velocity_inverse_kinematics(m, [0.1, 0.5, 0.7], {"tip": [0.1, 0.0, -0.2]})
    >>> bool(r.feasible), bool(r.error < 1e-5)
    (True, True)
    """
    require_mechanism(mechanism, "velocity_inverse_kinematics")
    m, what = mechanism, "velocity_inverse_kinematics"
    q = finite_array(q, (m.nq,), f"{what}: q")
    if not isinstance(targets, Mapping) or not (targets or center_of_mass is not None):
        raise InputError(f"{what}: targets: expected a dict frame name -> velocity, got {targets!r:.80}")
    wanted: dict[str, Floats] = {}
    for name, value in targets.items():
        m.frame(name)
        numbers = finite_array(value, (), f'{what}: targets["{name}"]')
        if numbers.ndim < 1 or numbers.shape[-1] not in (3, 6):
            raise InputError(f'{what}: targets["{name}"]: expected (..., 6) or (..., 3), got shape {numbers.shape}')
        wanted[name] = numbers
    if center_of_mass is not None:
        wanted[CENTER_OF_MASS] = finite_array(center_of_mass, (3,), f"{what}: center_of_mass")
    given = dict(weights or {})
    unknown = [name for name in given if name not in wanted]
    if unknown:
        raise InputError(f"{what}: weights: expected names of targets, got {unknown[0]!r}")
    rest = np.zeros(m.nv) if bias is None else finite_array(bias, (m.nv,), f"{what}: bias")
    try:
        batch = np.broadcast_shapes(q.shape[:-1], rest.shape[:-1], *(x.shape[:-1] for x in wanted.values()))
    except ValueError:
        raise InputError(f"{what}: leading axes of the arguments do not broadcast against each other") from None

    def flat(part: Floats) -> Floats:
        return np.ascontiguousarray(np.broadcast_to(part, (*batch, part.shape[-1]))).reshape(-1, part.shape[-1])

    states, stay = flat(q), flat(rest)
    tasks = []
    for name, numbers in wanted.items():
        if name == CENTER_OF_MASS:
            J = center_of_mass_jacobian(m, states)
        else:
            J = frame_jacobian(m, states, name)[:, : numbers.shape[-1]]
        tasks.append((name, J, flat(numbers), float(given.get(name, 1.0))))
    G = np.zeros((len(states), 0, m.nv))
    if m.loops or m.couplings:
        G = constraint_system(m).jacobian_and_error(states)[0]
    lower, upper = _bounds(m, states, limits, dt, what)
    v, feasible = np.zeros((len(states), m.nv)), np.zeros(len(states), dtype=bool)
    for row in range(len(states)):
        stacked = np.concatenate([weight * J[row] for _, J, _, weight in tasks])
        aims = np.concatenate([weight * x[row] for _, _, x, weight in tasks])
        solution = _quadratic_program(stacked, aims, stay[row], damping, G[row], lower[row], upper[row])
        if solution is not None:
            v[row], feasible[row] = solution, True
    errors = {
        name: np.abs(np.einsum("nki,ni->nk", J, v) - x).max(axis=1, initial=0.0).reshape(batch)[()]
        for name, J, x, _ in tasks
    }
    worst = np.max([*errors.values()], axis=0)
    return VelocityInverseKinematics(v.reshape(*batch, m.nv), worst[()], errors, feasible.reshape(batch)[()])


def _bounds(m: Mechanism, q: Floats, limits: bool, dt: float | None, what: str) -> tuple[Floats, Floats]:
    """Least and largest velocities (n, nv) (3)."""
    shape = (len(q), m.nv)
    if not limits:
        return np.full(shape, -np.inf), np.full(shape, np.inf)
    lower, upper = np.tile(-m.velocity_limit, (len(q), 1)), np.tile(m.velocity_limit, (len(q), 1))
    if dt is not None:
        if not 0.0 < float(dt) < np.inf:
            raise InputError(f"{what}: dt: expected a positive time in s, got {dt!r}")
        for body, where_q, where_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
            if body.joint.nq == body.joint.nv:
                here = q[:, where_q]
                # A joint beyond its limit may only come back.
                lower[:, where_v] = np.maximum(lower[:, where_v], np.minimum(0.0, (m.lower[where_v] - here) / dt))
                upper[:, where_v] = np.minimum(upper[:, where_v], np.maximum(0.0, (m.upper[where_v] - here) / dt))
    return lower, upper


def _quadratic_program(
    J: Floats, wanted: Floats, stay: Floats, damping: float, G: Floats, lower: Floats, upper: Floats
) -> Floats | None:
    """Solve (1), (2) for one state; None where nothing satisfies (2)."""
    daqp: Any = _package()
    n, far = J.shape[1], 1e30
    H = J.T @ J + max(float(damping), 1e-12) * np.eye(n)
    f = -J.T @ wanted - max(float(damping), 1e-12) * stay
    rows = _independent(G)
    zero = np.zeros(len(rows))
    top = np.concatenate([np.clip(upper, -far, far), zero])
    bottom = np.concatenate([np.clip(lower, -far, far), zero])
    sense = np.concatenate([np.zeros(n, dtype=np.int32), np.full(len(rows), _EQUALITY, dtype=np.int32)])
    x, _, flag, _ = daqp.solve(H, f, np.ascontiguousarray(rows), top, bottom, sense)
    return np.array(x) if flag >= _OPTIMAL else None


def _independent(G: Floats) -> Floats:
    """Rows of full rank that hold what the rows G hold."""
    if not len(G):
        return G
    _, values, rows = np.linalg.svd(G, full_matrices=False)
    return rows[values > 1e-9 * values.max(initial=0.0)]


def _package() -> Any:
    try:
        import daqp
    except ImportError:
        raise InputError("velocity_inverse_kinematics needs daqp: pip install setsu[kinematics]") from None
    return daqp
