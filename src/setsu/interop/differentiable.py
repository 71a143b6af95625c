"""Functions of the library with their Jacobians by plain coordinates, as frameworks that differentiate want them.

    dq (nq) → velocity (nv):  ω = 2 vec(q̄ ∘ dq)/|q|² for quaternions, Rᵀ dp for the position of a free joint     (1)
    velocity (nv) → dq (nq):  ½ q ∘ (ω, 0),  R u                                                                (2)

    inertial parameters θ:  ∂τ/∂θ = Y(q, v, a),  ∂a/∂θ = -M⁻¹ Y(q, v, a)                                         (3)

Our derivatives by q are along velocities; (1) makes derivatives by the numbers in q of them, and (2) does so for
results that are configurations. The length of a quaternion changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from setsu.constraints import constrained_dynamics, constrained_dynamics_derivatives
from setsu.dynamics import (
    forward_dynamics,
    forward_dynamics_derivatives,
    forward_dynamics_parameter_derivatives,
    inertial_parameters,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    regressor,
)
from setsu.dynamics.catalogue import require_mechanism
from setsu.errors import InputError, nearest_names
from setsu.identification import with_parameters
from setsu.mechanism import Free, Mechanism, Spherical

__all__ = ["Differentiable", "check_arguments", "differentiable", "refuse_second"]

Floats = NDArray[np.float64]


class Differentiable(NamedTuple):
    """A function of arrays with leading batch axes.

    value(*arrays) -> results; jacobians(*arrays) -> per result and argument (..., size of result, size of argument).
    inputs, outputs: sizes of the last axes.
    """

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    value: Callable[..., tuple[Floats, ...]]
    jacobians: Callable[..., tuple[Floats, ...]]


def differentiable(mechanism: Mechanism, function: str, options: dict[str, Any]) -> Differentiable:
    """Return "forward_dynamics", "inverse_dynamics", "constrained_dynamics" or "step" of a mechanism.

    "step" is one step of a Simulator made with `options`: (q, v, tau) -> (q, v). Others give (nv,). The first two take
    the option `parameters`, names of bodies: their inertial parameters are a fourth argument, ten a body.
    """
    require_mechanism(mechanism, "interop function")
    makers = {
        "forward_dynamics": _forward,
        "inverse_dynamics": _inverse,
        "constrained_dynamics": _constrained,
        "step": _step,
    }
    if function not in makers:
        raise InputError(f"interop: no function {function!r}{nearest_names(str(function), makers)}")
    m = mechanism
    inputs: tuple[int, ...] = (m.nq, m.nv, m.nv)
    outputs = (m.nq, m.nv) if function == "step" else (m.nv,)
    bodies = options.pop("parameters", None)
    if bodies is None:
        return Differentiable(function, inputs, outputs, *makers[function](m, options))
    if function not in ("forward_dynamics", "inverse_dynamics"):
        raise InputError(f"interop: parameters: expected forward_dynamics or inverse_dynamics, got {function}")
    named = (bodies,) if isinstance(bodies, str) else tuple(bodies)
    for name in named:
        if name not in m.body_names:
            raise InputError(
                f"interop: parameters: no moving body {name!r} in {m.name}{nearest_names(name, m.body_names)}"
            )
    pair = _of_parameters(m, function, makers[function], named, options)
    return Differentiable(function, (*inputs, 10 * len(named)), outputs, *pair)


def check_arguments(f: Differentiable, framework: str, shapes: Sequence[tuple[int, ...]]) -> None:
    """Refuse a wrong number of arrays, and arrays of wrong sizes."""
    if len(shapes) != len(f.inputs):
        raise InputError(f"interop.{framework} {f.name}: expected {len(f.inputs)} arrays, got {len(shapes)}")
    for k, (shape, size) in enumerate(zip(shapes, f.inputs, strict=True)):
        if shape[-1:] != (size,):
            raise InputError(f"interop.{framework} {f.name}: argument {k}: expected (..., {size}), got {shape}")


def refuse_second(f: Differentiable, framework: str) -> InputError:
    """Return the error of who differentiates twice."""
    return InputError(f"interop.{framework} {f.name}: second derivatives are not offered; expected first derivatives")


def _forward(m: Mechanism, options: dict[str, Any]) -> tuple[Callable, Callable]:
    def jacobians(q: Floats, v: Floats, tau: Floats) -> tuple[Floats, ...]:
        d = forward_dynamics_derivatives(m, q, v, tau, **options)
        return d.dq @ to_velocity(m, q), d.dv, d.dtau

    return lambda q, v, tau: (forward_dynamics(m, q, v, tau, **options),), jacobians


def _inverse(m: Mechanism, options: dict[str, Any]) -> tuple[Callable, Callable]:
    def jacobians(q: Floats, v: Floats, a: Floats) -> tuple[Floats, ...]:
        d = inverse_dynamics_derivatives(m, q, v, a, **options)
        return d.dq @ to_velocity(m, q), d.dv, d.da

    return lambda q, v, a: (inverse_dynamics(m, q, v, a, **options),), jacobians


def _of_parameters(
    m: Mechanism, function: str, maker: Callable, bodies: tuple[str, ...], options: dict[str, Any]
) -> tuple[Callable, Callable]:
    """A function whose last argument (..., 10 n) are the inertial parameters of bodies, with its Jacobians (3)."""
    places = np.concatenate([10 * m.body_names.index(name) + np.arange(10) for name in bodies])

    @lru_cache(maxsize=8)
    def changed(parameters: bytes) -> tuple[Mechanism, Callable, Callable]:
        theta = inertial_parameters(m)
        theta[places] = np.frombuffer(parameters)
        other = with_parameters(m, theta)
        return other, *maker(other, options)

    def by_group(compute: Callable, *arrays: Floats) -> tuple[Floats, ...]:
        """All rows with the same parameters at once."""
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        flat = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in arrays]
        distinct, group = np.unique(flat[-1], axis=0, return_inverse=True)
        results: list[Floats] = []
        for k, row in enumerate(distinct):
            rows = np.flatnonzero(group.ravel() == k)
            found = compute(changed(row.tobytes()), *(x[rows] for x in flat[:-1]))
            if not results:
                results = [np.empty((len(flat[0]), *part.shape[1:])) for part in found]
            for result, part in zip(results, found, strict=True):
                result[rows] = part
        return tuple(result.reshape(*batch, *result.shape[1:]) for result in results)

    def value(*arrays: Floats) -> tuple[Floats, ...]:
        return by_group(lambda made, *state: made[1](*state), *arrays)

    def jacobians(*arrays: Floats) -> tuple[Floats, ...]:
        def compute(made: tuple[Mechanism, Callable, Callable], q: Floats, v: Floats, x: Floats) -> tuple[Floats, ...]:
            by_parameters = regressor if function == "inverse_dynamics" else forward_dynamics_parameter_derivatives
            return *made[2](q, v, x), by_parameters(made[0], q, v, x)[..., places]

        return by_group(compute, *arrays)

    return value, jacobians


def _constrained(m: Mechanism, options: dict[str, Any]) -> tuple[Callable, Callable]:
    def jacobians(q: Floats, v: Floats, tau: Floats) -> tuple[Floats, ...]:
        d = constrained_dynamics_derivatives(m, q, v, tau, **options)
        return d.dq @ to_velocity(m, q), d.dv, d.dtau

    return lambda q, v, tau: (constrained_dynamics(m, q, v, tau, **options).acceleration,), jacobians


def _step(m: Mechanism, options: dict[str, Any]) -> tuple[Callable, Callable]:
    from setsu.simulation.simulator import Simulator  # which loads a compiler

    simulators: dict[int, Simulator] = {}

    def simulator(q: Floats, v: Floats, tau: Floats) -> tuple[Simulator, tuple[int, ...], Floats]:
        batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
        flat = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v, tau)]
        count = len(flat[0])
        if count not in simulators:
            simulators[count] = Simulator(m, count=count, **options)
        sim = simulators[count]
        sim.reset(flat[0], flat[1])
        return sim, batch, flat[2]

    def value(q: Floats, v: Floats, tau: Floats) -> tuple[Floats, ...]:
        sim, batch, torque = simulator(q, v, tau)
        sim.step(torque)
        if sim.stopped:
            raise InputError(f"interop: a world stopped within the step: {next(iter(sim.stopped.values()))[1]}")
        return sim.q.reshape(*batch, m.nq), sim.v.reshape(*batch, m.nv)

    def jacobians(q: Floats, v: Floats, tau: Floats) -> tuple[Floats, ...]:
        sim, batch, torque = simulator(q, v, tau)
        d = sim.derivatives(torque)
        start, end = to_velocity(m, sim.q), to_rate(m, d.q)
        blocks = [end @ d.dq_dq @ start, end @ d.dq_dv, end @ d.dq_dtau, d.dv_dq @ start, d.dv_dv, d.dv_dtau]
        return tuple(block.reshape(*batch, *block.shape[1:]) for block in blocks)

    return value, jacobians


def to_velocity(m: Mechanism, q: Floats) -> Floats:
    """Return the matrix (..., nv, nq) of (1)."""
    return _coordinate_map(m, q, back=False)


def to_rate(m: Mechanism, q: Floats) -> Floats:
    """Return the matrix (..., nq, nv) of (2)."""
    return _coordinate_map(m, q, back=True)


def _coordinate_map(m: Mechanism, q: Floats, back: bool) -> Floats:
    q = np.asarray(q, dtype=np.float64)
    result = np.zeros((*q.shape[:-1], *((m.nq, m.nv) if back else (m.nv, m.nq))))
    for body, of_q, of_v in zip(m.moving, m.q_slices, m.v_slices, strict=True):
        if not isinstance(body.joint, Spherical | Free):
            rows, columns = (of_q, of_v) if back else (of_v, of_q)
            result[..., rows, columns] = np.eye(body.joint.nv)
            continue
        turn_q, turn_v = slice(of_q.stop - 4, of_q.stop), slice(of_v.stop - 3, of_v.stop)
        E = 0.5 * _quaternion_product(q[..., turn_q])
        if back:
            result[..., turn_q, turn_v] = E
        else:
            square = (q[..., turn_q] ** 2).sum(-1)[..., None, None]
            result[..., turn_v, turn_q] = 4.0 * np.swapaxes(E, -1, -2) / square
        if isinstance(body.joint, Free):
            R = _rotation(q[..., turn_q])
            place_q, place_v = slice(of_q.start, of_q.start + 3), slice(of_v.start, of_v.start + 3)
            if back:
                result[..., place_q, place_v] = R
            else:
                result[..., place_v, place_q] = np.swapaxes(R, -1, -2)
    return result


def _quaternion_product(q: Floats) -> Floats:
    """Matrix (..., 4, 3) of ω → q ∘ (ω, 0), quaternions x y z w."""
    x, y, z, w = (q[..., k] for k in range(4))
    rows = [[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _rotation(q: Floats) -> Floats:
    """Rotations (..., 3, 3) of quaternions x y z w of any length but zero: 1 + 2/|q|² (w [u]x + [u]x²)."""
    u, w = q[..., :3], q[..., 3, None, None]
    K = np.zeros((*u.shape, 3))
    K[..., 0, 1], K[..., 0, 2], K[..., 1, 2] = -u[..., 2], u[..., 1], -u[..., 0]
    K = K - np.swapaxes(K, -1, -2)
    return np.eye(3) + 2.0 / (q * q).sum(-1)[..., None, None] * (w * K + K @ K)
